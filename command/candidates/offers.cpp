#include "command/candidates/offers.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <new>
#include <optional>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "properties/engine/cases/description.hpp"
#include "properties/engine/cases/generate.hpp"
#include "properties/engine/error.hpp"
#include "properties/engine/processes/contain.hpp"
#include "properties/engine/trials/null_kernels.hpp"
#include "properties/engine/trials/offer_asking.hpp"
#include "properties/engine/trials/run_case.hpp"
#include "properties/engine/trials/trial.hpp"

namespace warpcheck::cli {

using namespace engine;

namespace {

constexpr double k_patience_seconds = 20;       // for a question
constexpr double k_slow_patience_seconds = 40;  // on the emulated device
constexpr double k_long_patience_seconds = 60;  // if the question has to start a GPU's context first
constexpr double k_patient_cases = 4;           // a question takes at most as long as this many cases may
constexpr double k_calls_of_question = 20;      // a question of short calls ends by itself, however busy the host is
constexpr double k_most_patience = 10;          // all questions of one process take at most as long as this many may
constexpr int64_t k_fewer_elements = 64;        // if a question takes too long, the next ones have so many times fewer
constexpr int k_most_processes = 8;             // all of which except the last ended at a question

// Facts that a child found, stored where its parent sees them however the child ends.
struct shared_notes {
  int64_t question = 0;
  std::chrono::steady_clock::time_point since, call;  // the beginnings of the question and of its last call
  char text[1 << 16] = "";
};

class note_pad {
 public:
  note_pad() {
    void* const memory = mmap(nullptr, sizeof(shared_notes), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw environment_error("offer: there is no memory to share with another process");
    notes_ = new (memory) shared_notes;
  }
  ~note_pad() { munmap(notes_, sizeof(shared_notes)); }
  note_pad(const note_pad&) = delete;
  note_pad& operator=(const note_pad&) = delete;

  void write(int64_t question, const std::string& text) {
    notes_->question = question;
    notes_->since = notes_->call = std::chrono::steady_clock::now();
    std::snprintf(notes_->text, sizeof notes_->text, "%s", text.c_str());
  }
  int64_t question() const { return notes_->question; }
  void begin_call() { notes_->call = std::chrono::steady_clock::now(); }
  double seconds_of_question() const { return seconds_since(notes_->since); }
  double seconds_of_call() const { return seconds_since(notes_->call); }
  std::string text() const { return notes_->text; }

 private:
  shared_notes* notes_;
};

// The answer of a child: LACKS in the first line, SECONDS of a row in the second one, then a NAME in each line.
std::string format_answer(const asked_offer& o) {
  return fmt::format("{}\n{}\n{}", text_of(o.found), o.seconds_of_row, fmt::join(o.answered, "\n"));
}

asked_offer parse_answer(std::string_view op, std::string_view text) {
  const std::vector<std::string_view> lines = trimmed_parts(text, "\n");
  asked_offer o{parse_offer(op, lines.at(0)), {}, std::stod(std::string(lines.at(1)))};
  for (const std::string_view line : std::span(lines).subspan(2))
    if (!line.empty()) o.answered.emplace(line);
  return o;
}

struct answers {
  offer found;
  double seconds_of_row = 0;                      // as in asked_offer
  std::optional<std::set<std::string>> answered;  // as in asked_offer; nothing if no single process found all of them
};

// Returns nothing if the candidate answered no call at all.
std::optional<answers> answers_of(const target& t, const std::vector<const property*>& properties,
                                  double timeout_seconds, bool& hangs) {
  const double patience = std::min(t.device == "cuda"       ? k_long_patience_seconds
                                   : t.device == "emulated" ? k_slow_patience_seconds
                                                            : k_patience_seconds,
                                   k_patient_cases * timeout_seconds);
  const double longest = k_most_patience * patience;
  note_pad notes;
  notes.write(0, text_of(t.offered));
  int64_t first = 0, most_elements = k_most_elements_of_question;
  for (int i = 0; i < k_most_processes; ++i) {
    notes.write(notes.question(), notes.text());  // the question's time begins
    const child_outcome outcome = run_in_child(
        [&]() -> std::string {
          const auto o = ask_offer(
              t, properties, first, most_elements, parse_offer(t.op, notes.text()),
              [&](int64_t question, const offer& known) { notes.write(question, text_of(known)); },
              [&] { notes.begin_call(); });
          return o ? "+" + format_answer(*o) : "-";
        },
        longest,
        [&] {
          return notes.seconds_of_question() > patience && notes.seconds_of_call() > patience / k_calls_of_question;
        });
    if (outcome.finished && outcome.text == "-" && i == 0) return std::nullopt;
    if (outcome.finished && outcome.text.starts_with('+')) {
      asked_offer o = parse_answer(t.op, outcome.text.substr(1));
      hangs = false;
      if (i > 0) return answers{std::move(o.found), o.seconds_of_row, std::nullopt};
      return answers{std::move(o.found), o.seconds_of_row, std::move(o.answered)};
    }
    hangs = outcome.stopped;
    if (outcome.finished || outcome.timed_out || (outcome.stopped && most_elements < k_fewer_elements)) break;
    if (outcome.stopped) most_elements /= k_fewer_elements;
    first = notes.question() + 1;  // the run itself judges the question that ended the process
  }
  return answers{parse_offer(t.op, notes.text()), 0, std::nullopt};
}

// A call with many rows should not take minutes, as it does if a candidate calls a library for each row. Lowers the
// target's limit; returns what to print. On the emulated device, which is slow, cases have longer to end.
std::string limit_rows(target& t, double seconds_of_row) {
  constexpr double k_many_rows = 1 << 16;
  const double most_seconds = t.device == "emulated" ? 20 : 1;
  if (seconds_of_row * k_many_rows <= most_seconds) return "";
  t.max_rows = std::max<int64_t>(1, static_cast<int64_t>(most_seconds / seconds_of_row));
  return fmt::format("; gets at most {} rows, because each takes {:.2g} ms", t.max_rows, 1000 * seconds_of_row);
}

// The offered optional tensors and choices of the description, for people; only those that occurred in a call, if that
// is known.
std::string offered_text(const target& t, const std::optional<std::set<std::string>>& answered) {
  std::vector<std::string> names;
  const auto add = [&](const std::string& name) {
    if (answered && answered->count(name) == 0) return;
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  };
  // Without a value: of a number, one value does not count.
  const auto is_lacked = [&](const std::string& name, const std::string& value, bool is_number = false) {
    return std::ranges::any_of(t.offered.lacks, [&](const trait_set& traits) {
      return std::ranges::any_of(traits, [&](const trait& one) {
        if (one.name != name) return false;
        if (one.kind == trait::equal) return value.empty() ? !is_number : one.value == value;
        return one.kind == trait::unequal || (one.kind == trait::present && value.empty());
      });
    });
  };
  for (const call_form& form : find_description(t.op)->forms) {
    for (const tensor_rule& info : form.tensors)
      if (info.is_optional && info.name != "work" && !is_lacked(info.name, "")) add(info.name);
    for (const scalar_rule& s : form.scalars) {
      if (s.names.empty() && !is_lacked(s.name, "", !s.is_integer)) add(s.name);
      for (const std::string& value : s.names)
        if (value != usual_text(s) && !is_lacked(s.name, value)) add(fmt::format("{}={}", s.name, value));
    }
  }
  return names.empty() ? "the plain call" : fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

asking ask_offer_of(target& t, const std::vector<const property*>& properties, double timeout_seconds) {
  if (t.candidate == "builtin" || t.candidate.starts_with(k_null_prefix) || !find_description(t.op))
    return asking::answered;
  bool hangs = false;
  const auto o = answers_of(t, properties, timeout_seconds, hangs);
  if (o) {
    t.offered.lacks = o->found.lacks;
    remember_offer(t.candidate, t.op, t.device, t.type, t.offered);
    fmt::print("{} {}: offers {}{}{}{}\n", t.op, name_of(t.type), offered_text(t, o->answered),
               t.offered.is_everything() ? "" : "; does not offer " + text_of(t.offered),
               t.offered.is_batch_invariant ? "; states batch-invariant" : "", limit_rows(t, o->seconds_of_row));
  } else {
    fmt::print("{} {}: offers nothing: every call was answered by unsupported\n", t.op, name_of(t.type));
    t.offered.lacks.clear();
  }
  std::fflush(stdout);
  return hangs ? asking::hung : o ? asking::answered : asking::refused;
}

namespace {

constexpr int k_cases_of_need = 2;

// Returns nothing if no case of the property has this index within the limits of the run.
std::optional<trial_case> made_case(const planned_property& q, int64_t index) {
  try {
    return q.make(index);
  } catch (const no_case_fits&) {
    return std::nullopt;
  }
}

// Runs in this process.
std::string unmet_need(const planned_property& q, uint64_t seed) {
  constexpr int64_t k_draws = 20;
  // Elements. To judge a wrong long row takes minutes, too long for a question. Some properties have no smaller case.
  constexpr int64_t k_cheap = 1 << 14, k_costly = 1 << 17;
  std::string named, lacked;  // a need that the check names; a trait without which the property has no case
  int asked = 0;
  bool fails = false;
  for (const int64_t most_elements : {k_cheap, k_costly}) {
    for (int64_t i = 0; i < k_draws && asked < k_cases_of_need; ++i) {
      const std::optional<trial_case> made = made_case(q, i);
      if (!made || elements_without_workspaces(*made) > most_elements) continue;
      trial_case c = *made;
      ++asked;
      c.knobs.insert({"schedule", "fair"});
      if (c.knob("detect") != "only") c.knobs["detect"] = "off";
      c.knobs.erase("repeat");
      const case_report r = run_judged(run_case, c, format(c));
      if (r.result == verdict::pass) return "";
      // A check skips a case that has lost its subject.
      if (r.result != verdict::skipped)
        fails = true;
      else if (r.message.starts_with(k_needs))
        named = r.message;
      else
        lacked = missing_trait(*q.p, q.t, seed);
    }
    if (asked > 0) break;
  }
  return !named.empty() || fails ? named : lacked;  // "" without a cheap case
}

}  // namespace

std::vector<std::string> unmet_needs(const std::vector<planned_property>& list, uint64_t seed, double timeout_seconds) {
  const double patience = k_cases_of_need * std::min(k_long_patience_seconds, timeout_seconds);
  std::vector<std::string> needs(list.size());
  note_pad notes;
  size_t first = 0;
  for (int i = 0; i < k_most_processes && first < list.size(); ++i) {
    notes.write(0, "");
    const child_outcome outcome = run_in_child(
        [&] {
          std::string all;
          for (size_t j = first; j < list.size(); ++j) {
            notes.write(static_cast<int64_t>(j - first), all);
            all += unmet_need(list[j], seed) + "\n";
          }
          return all;
        },
        patience * static_cast<double>(list.size()), [&] { return notes.seconds_of_question() > patience; });
    std::istringstream lines(outcome.finished ? outcome.text : notes.text());
    for (size_t j = first; j < list.size() && std::getline(lines, needs[j]);) ++j;
    // The run's own cases show why the process ended there.
    first = outcome.finished ? list.size() : first + static_cast<size_t>(notes.question()) + 1;
  }
  return needs;
}

}  // namespace warpcheck::cli
