#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>

#include "properties/engine/files/memory_file.hpp"
#include "properties/engine/processes/contain.hpp"
#include "properties/engine/shrinking/shrink.hpp"
#include "properties/engine/shrinking/shrink_steps.hpp"

namespace warpcheck::engine {
namespace {

bool is_hazard(verdict v) {
  return v >= verdict::uninitialized && v <= verdict::out_of_bounds && v != verdict::input_modified;
}

std::string line_of(const shrunk& s) {
  return nlohmann::json({to_json(s.report), format(s.smallest), s.runs}).dump() + "\n";
}

// The progress of a search in another process, which outlives that process: an unnamed file with a line for each
// smaller case.
class search_record {
 public:
  void add(const shrunk& s) const {
    const std::string line = line_of(s);
    for (size_t done = 0; done < line.size();) {
      const ssize_t n = write(file_.descriptor(), line.data() + done, line.size() - done);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return;  // the case before this one is the smallest known
      done += static_cast<size_t>(n);
    }
  }

  // The last whole line; nothing if there is none, or if the code on trial wrote into the file.
  std::optional<shrunk> last(const std::vector<knob_info>& knobs) const {
    const std::string text = file_.text();
    const size_t end = text.rfind('\n');
    if (end == std::string::npos) return std::nullopt;
    const size_t before = end == 0 ? std::string::npos : text.rfind('\n', end - 1);
    const size_t begin = before == std::string::npos ? 0 : before + 1;
    try {
      const nlohmann::json j = nlohmann::json::parse(text.substr(begin, end - begin));
      shrunk s;
      s.report = report_from_json(j.at(0).get<std::string>());
      s.smallest = parse_case(j.at(1).get<std::string>(), knobs);
      s.runs = j.at(2);
      return s;
    } catch (const std::exception&) {
      return std::nullopt;
    }
  }

 private:
  memory_file file_{"warpcheck-shrink"};
};

class confirmation {
 public:
  explicit confirmation(const confirm_options& options) : options_(options) {}

  case_report of(const case_report& failing, const trial_case& c) const {
    // A hang takes its whole time limit each time.
    const int processes = failing.result == verdict::timeout ? 1 : 3;
    int tried = 0, failures = 0;
    case_report fresh;
    for (; tried < processes; ++tried) {
      std::optional<case_report> r = contained(c);
      if (!r) break;
      if (r->result == verdict::pass || r->result == verdict::skipped) continue;
      ++failures;
      if (failures == 1 || r->result == failing.result) fresh = std::move(*r);
    }
    if (failures < std::max(tried, 1)) {
      case_report r = failing;
      r.message += not_confirmed(tried, failures);
      return r;
    }
    const shrunk smallest = shrink_contained(fresh, c);
    case_report r = smallest.report;
    r.message += advice(r, smallest.smallest);
    r.message += fmt::format("; it failed in {} of {} fresh process{}, and was shrunk in {} runs{}", failures, tried,
                             tried == 1 ? "" : "es", smallest.runs, over() ? ending() : "");
    watch(r, smallest.smallest);
    return r;
  }

 private:
  bool stopped() const { return options_.stop && options_.stop(); }
  bool over() const { return stopped() || seconds_since(begin_) > options_.shrink_seconds; }
  // The reason why the search ended.
  std::string ending() const {
    return stopped() ? ", until it was interrupted"
                     : fmt::format(", until the {:g} s for it were over", options_.shrink_seconds);
  }

  std::string not_confirmed(int tried, int failures) const {
    const char* plural = tried == 1 ? "" : "es";
    if (tried == 0)
      return stopped() ? "; it was not repeated: interrupted"
                       : fmt::format("; it was not repeated: a run takes longer than {:g} s", options_.shrink_seconds);
    if (failures) return fmt::format("; flaky: it failed in {} of {} fresh process{}", failures, tried, plural);
    return fmt::format(
        "; it did not fail in {} fresh process{}: it is flaky, or depends on the cases before it in its process", tried,
        plural);
  }

  case_report judged(const trial_case& c) const { return run_judged(options_.run, c, format(c)); }

  // Returns nothing if the time is over first.
  std::optional<case_report> contained(const trial_case& c) const {
    const auto run = [&](const trial_case& x) { return judged(x); };
    const auto end = [&] { return over(); };
    return over() ? std::nullopt : run_contained(run, c, options_.timeout_seconds, end);
  }

  // Runs the whole search in one process, which is many times faster than one process for each case, unless the failure
  // corrupts the process or the search does not finish.
  shrunk shrink_contained(const case_report& failing, const trial_case& c) const {
    const auto end = [&] { return over(); };
    shrunk smallest;
    smallest.report = failing;
    smallest.smallest = c;
    if (!corrupts_process(failing)) {
      const search_record record;
      const auto search = [&] {
        const auto run = [&](const trial_case& x) { return judged(x); };
        const auto smaller = [&](const shrunk& s) { record.add(s); };
        record.add(shrink(failing, c, run, options_.holds, {options_.max_runs, end, smaller}));
        return std::string("done");
      };
      const child_outcome outcome =
          run_in_child(search, options_.shrink_seconds + time_limit(options_.timeout_seconds, format(c)), end);
      if (std::optional<shrunk> found = record.last(knobs_of(c))) smallest = std::move(*found);
      if (outcome.finished || over()) return smallest;
    }
    const auto run = [&](const trial_case& x) {
      case_report none;
      none.result = verdict::skipped;
      return contained(x).value_or(none);
    };
    const int before = smallest.runs;
    smallest = shrink(smallest.report, smallest.smallest, run, options_.holds, {options_.max_runs, end, {}});
    smallest.runs += before;
    return smallest;
  }

  // Returns the advice on the smallest case, unless its message has one already.
  std::string advice(const case_report& r, const trial_case& smallest) const {
    const bool has_advice = r.message.find("(docs/bring_your_own)") != std::string::npos;
    if (!options_.advise || has_advice || r.result == verdict::timeout || over()) return "";
    const auto end = [&] { return over(); };
    return run_in_child([&] { return options_.advise(smallest); }, options_.shrink_seconds, end).text;
  }

  // Runs the emulated device's detector on a failure that it has not seen. It also names the reason of an access that
  // the processor refused.
  void watch(case_report& r, const trial_case& smallest) const {
    if (!is_emulated(smallest) || smallest.knob("detect") == "only") return;
    if (!r.findings.empty() && r.result != verdict::out_of_bounds) return;
    trial_case watched = smallest;
    watched.knobs["detect"] = "only";
    const std::optional<case_report> found = contained(watched);
    if (!found || !is_hazard(found->result)) return;
    if (found->result == r.result && !found->findings.empty()) r.findings.clear();
    if (found->result != r.result || !r.message.starts_with(found->message))
      r.message += fmt::format("; the detector reports {}: {}", name_of(found->result), found->message);
    r.findings.insert(r.findings.end(), found->findings.begin(), found->findings.end());
  }

  const confirm_options& options_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace

case_report confirm_and_shrink(const case_report& failing, const trial_case& c, const confirm_options& options) {
  return confirmation(options).of(failing, c);
}

}  // namespace warpcheck::engine
