#include "command/run_emulated.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <new>
#include <nlohmann/json.hpp>
#include <optional>
#include <regex>

#include "command/commands.hpp"
#include "command/ptx_launches.hpp"
#include "command/support.hpp"
#include "command/terminal.hpp"
#include "command/translator/importer.hpp"
#include "properties/engine/error.hpp"
#include "properties/engine/processes/contain.hpp"
#include "properties/engine/trials/cpu_features.hpp"
#include "properties/engine/trials/verdict.hpp"
#include "simt/emulation.hpp"
#include "simt/import/run.h"

namespace warpcheck::cli {
namespace {

using engine::environment_error;
using engine::usage_error;
using engine::verdict;

// The library's interface. The symbol replaces main's: the program keeps its main, with the return value that C++
// implies. An exception that it does not catch ends the program there, with the message of the program's own library.
constexpr const char* k_epilogue = R"(
extern "C" int simt_import_main(int, char**) __asm__("main");
extern "C" __attribute__((visibility("default"))) int simt_import_run(const simt_import_options* options, int argc,
                                                                     char** argv) {
#ifdef SIMT_INCLUDES_THRUST
  ::simt::import::work_never_waits();
  ::simt::import::the_program().host_writes_unseen = true;
#endif
  return ::simt::import::run_program([=]() noexcept { return simt_import_main(argc, argv); }, *options);
}
)";

constexpr const char* k_benign = "benign";

// Facts about a run: the hash of its control flow, and of the addresses that kernels accessed.
struct run_trace {
  unsigned long long kernels = 0, host = 0;
  bool operator==(const run_trace&) const = default;
};

// A record that survives the process that writes it: the last data of the program's process before it dies or exits.
class shared_record {
 public:
  shared_record() : lines_(memfd_create("record", MFD_CLOEXEC)) {
    void* p = mmap(nullptr, sizeof(page), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED || lines_ < 0)
      throw environment_error(fmt::format("no memory for a record: {}", std::strerror(errno)));
    page_ = new (p) page;
  }
  ~shared_record() {
    munmap(page_, sizeof(page));
    close(lines_);
  }
  shared_record(const shared_record&) = delete;
  shared_record& operator=(const shared_record&) = delete;

  void clear() {
    page_->written = 0;
    page_->exit_status.reset();
    page_->trace[0] = page_->trace[1] = page_->launches = 0;
  }
  void add(const nlohmann::json& j) {
    const std::string line = j.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
    if (pwrite(lines_, line.data(), line.size(), page_->written) != static_cast<ssize_t>(line.size())) std::abort();
    page_->written += static_cast<off_t>(line.size());
  }
  // Marks that the process ends by itself after this.
  void end(int exit_status) { page_->exit_status = exit_status; }

  std::string text() const {
    std::string text(static_cast<size_t>(page_->written), '\0');
    return pread(lines_, text.data(), text.size(), 0) == page_->written ? text : "";
  }
  unsigned long long* trace() { return page_->trace; }
  unsigned long long* launches() { return &page_->launches; }
  // Empty if the process has died.
  std::optional<int> exit_status() const { return page_->exit_status; }

 private:
  struct page {
    off_t written = 0;
    std::optional<int> exit_status;
    unsigned long long trace[2] = {};
    unsigned long long launches = 0;
  };
  page* page_;
  int lines_;
};

struct hazard {
  std::string kind, text;
  std::string known;  // the reason why it is suppressed, or ""
  bool counts() const { return kind != k_benign && known.empty(); }
};
struct program_run {
  std::string schedule;
  std::string result = "pass";  // a verdict's name
  run_trace trace;              // of a library that traces its control flow
  std::vector<hazard> hazards;  // known and benign ones do not change the verdict
  std::vector<std::string> notes;
  std::vector<std::string> approximated;  // constructs that ran and whose results differ from a GPU's
  bool is_every_schedule = false;         // proven: the launches have this outcome under each schedule
  std::vector<std::string> choices;       // what the launches' results may depend on
  std::string explored;                   // the number of classes of schedules that ran; empty: not requested
  std::vector<std::string> unsupported;   // constructs that ran and are not modelled, with their lines
  int exit_status = 0;
};

// A finding that the user knows: its kind, one of its places as in reports, and the reason to keep it.
struct suppression {
  std::string kind, place, reason;
};

// Lines of "KIND FILE:LINE REASON"; blank lines and those that begin with # are ignored.
std::vector<suppression> read_suppressions(const std::string& path) {
  std::vector<suppression> list;
  if (path.empty()) return list;
  std::istringstream text(read_text(path));
  int number = 0;
  for (std::string line; std::getline(text, line);) {
    ++number;
    std::istringstream words(line);
    suppression s;
    if (!(words >> s.kind) || s.kind[0] == '#') continue;
    words >> s.place >> std::ws;
    std::getline(words, s.reason);
    const size_t colon = s.place.rfind(':');
    if (s.reason.empty() || colon == std::string::npos || colon + 1 == s.place.size() ||
        s.place.find_first_not_of("0123456789", colon + 1) != std::string::npos)
      throw usage_error(
          fmt::format("suppress: line {} of '{}' is '{}', must be KIND FILE:LINE REASON", number, path, line));
    list.push_back(s);
  }
  return list;
}

// The reason why the finding is known, or "".
std::string reason_of(const hazard& h, const std::vector<suppression>& known) {
  for (const suppression& s : known) {
    if (s.kind != h.kind) continue;
    for (size_t at = 0; (at = h.text.find(s.place, at)) != std::string::npos; ++at) {
      const size_t end = at + s.place.size();
      const bool whole_name = at == 0 || h.text[at - 1] == ' ' || h.text[at - 1] == '/' || h.text[at - 1] == '(';
      if (whole_name && (end == h.text.size() || !std::isdigit(static_cast<unsigned char>(h.text[end]))))
        return s.reason;
    }
  }
  return "";
}

// Severity of a hazard's kind; kinds that are no verdict themselves count as out_of_bounds.
verdict severity(const std::string& kind) { return engine::verdict_from_name(kind).value_or(verdict::out_of_bounds); }

std::vector<std::string> schedules_of(const run_emulated_options& o) {
  std::vector<std::string> list = o.schedules;
  if (o.explore) list = {"explore:10000"};
  if (list.empty()) {
    list = {"fair", "greedy", "reverse"};
    for (int seed = 1; seed <= o.seeds; ++seed)
      for (const char* strategy : {"random", "pct_warp", "preempt"})
        list.push_back(fmt::format("{}:{}", strategy, seed));
  }
  for (const std::string& token : list) {
    try {
      simt::schedule::parse(token);
    } catch (const std::invalid_argument& e) {
      throw usage_error(fmt::format("schedule: {}", e.what()));
    }
  }
  return list;
}

struct program_request {
  std::string library, schedule;
  bool traced = false;    // the library traces its control flow
  std::string disturbed;  // the approximated construct that returns other values; empty: none
  int output = -1;        // descriptor for the program's output, if any
};

// Runs in the program's process: loads the library and calls main().
void run_main(const program_request& request, const run_emulated_options& o, shared_record& record) {
  const std::string& library = request.library;
  if (const std::string problem = engine::emulated_problem(); !problem.empty())
    throw environment_error("device emulated: " + problem);
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) throw environment_error(fmt::format("'{}' does not load: {}", library, dlerror()));
  const auto run = reinterpret_cast<simt_import_run_fn>(dlsym(handle, "simt_import_run"));
  if (!run) throw environment_error(fmt::format("'{}' does not export simt_import_run", library));
  // exit() from anywhere ends the run as a return from main() does.
  on_exit(
      [](int status, void* user) {
        static_cast<shared_record*>(user)->end(status);
        std::fflush(nullptr);
        _exit(0);
      },
      &record);
  simt_import_options options = {};
  options.schedule = request.schedule.c_str();
  options.trace = record.trace();
  options.launches = record.launches();
  options.disturbed = request.disturbed.empty() ? nullptr : request.disturbed.c_str();
  options.step_limit = o.step_limit;
  options.user = &record;
  options.plain_volatile = o.volatile_as == "plain";
  options.keep_going = o.keep_going || !o.suppress.empty();
  options.report = [](void* user, const char* kind, const char* text, int fatal) {
    auto& record = *static_cast<shared_record*>(user);
    record.add({{"kind", kind}, {"text", text}});
    if (!fatal) return;
    record.end(0);
    std::fflush(nullptr);
    _exit(0);
  };
  std::vector<std::string> words = {o.file};
  words.insert(words.end(), o.arguments.begin(), o.arguments.end());
  std::vector<char*> argv;
  for (std::string& w : words) argv.push_back(w.data());
  argv.push_back(nullptr);
  record.end(run(&options, static_cast<int>(words.size()), argv.data()));
}

// The same in a separate thread. Its heap is new and lies at the address of the last such run's heap, whatever this
// process has allocated in between, so that equal runs access equal addresses.
void run_main_in_new_heap(const program_request& request, const run_emulated_options& o, shared_record& record) {
  const std::function<void()> body = [&] { run_main(request, o, record); };
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, size_t{256} << 20);
  pthread_t thread;
  const auto start = [](void* f) -> void* { return (*static_cast<const std::function<void()>*>(f))(), nullptr; };
  if (pthread_create(&thread, &attributes, start, const_cast<std::function<void()>*>(&body)) == 0)
    pthread_join(thread, nullptr);
}

// Lines of a PTX module and where they come from: "FILE.ptx:LINE", "FILE:LINE".
using line_origins = std::map<std::string, std::string, std::less<>>;

// "./a.cu:3" becomes the user's "a.cu:3". The line of its source follows a line of a PTX module.
std::string tidy(const std::string& text, const line_origins& origins) {
  static const std::regex here(R"((^|[ (])\./)"), line(R"([^ /(]+\.ptx:[0-9]+)");
  std::string plain = std::regex_replace(text, here, "$1"), all;
  if (origins.empty()) return plain;
  std::smatch match;
  for (; std::regex_search(plain, match, line); plain = match.suffix()) {
    all += match.prefix().str() + match.str();
    if (const auto at = origins.find(match.str()); at != origins.end()) all += fmt::format(" ({})", at->second);
  }
  return all + plain;
}

program_run run_once(const program_request& request, const run_emulated_options& o,
                     const std::vector<suppression>& known, shared_record& record, const line_origins& origins = {}) {
  record.clear();
  const engine::child_outcome outcome = engine::run_in_child(
      [&]() -> std::string {
        if (request.output >= 0) {
          dup2(request.output, STDOUT_FILENO);
          dup2(request.output, STDERR_FILENO);
        }
        request.traced ? run_main_in_new_heap(request, o, record) : run_main(request, o, record);
        return "";
      },
      o.timeout);
  program_run r;
  r.schedule = request.schedule;
  r.trace = {record.trace()[0], record.trace()[1]};
  std::istringstream lines(record.text());
  for (std::string line; std::getline(lines, line);) {
    const nlohmann::json j = nlohmann::json::parse(line);
    if (j["kind"] == "note") {
      r.notes.push_back(tidy(j["text"], origins));
    } else if (j["kind"] == "approximated") {
      r.approximated.push_back(j["text"]);
    } else if (j["kind"] == "every schedule") {
      r.is_every_schedule = true;
    } else if (j["kind"] == "explored") {
      r.explored = j["text"];
    } else if (j["kind"] == "choice") {
      r.choices.push_back(tidy(j["text"], origins));
    } else if (j["kind"] == "unsupported") {
      r.unsupported.push_back(tidy(j["text"], origins));
    } else {
      r.hazards.push_back({j["kind"], tidy(j["text"], origins), ""});
      r.hazards.back().known = reason_of(r.hazards.back(), known);
    }
  }
  const std::optional<int> ended = record.exit_status();
  r.exit_status = ended.value_or(0);
  if (outcome.timed_out) {
    r.hazards.push_back({"timeout", fmt::format("main() did not return within {:g} s", o.timeout), ""});
    r.notes.push_back(fmt::format("launches that ended before the program was stopped: {}", *record.launches()));
  } else if (!outcome.finished && !ended)
    r.hazards.push_back({"crash", "the program died: " + outcome.death, ""});
  else if (r.exit_status != 0 && std::none_of(r.hazards.begin(), r.hazards.end(), [](auto& h) { return h.counts(); }))
    r.hazards.push_back({"error_return", fmt::format("the program returned {}", r.exit_status), ""});
  else if (r.exit_status != 0)  // a hazard explains it
    r.notes.push_back(fmt::format("the program returned {}", r.exit_status));
  for (const hazard& h : r.hazards)
    if (h.counts() && (r.result == "pass" || severity(h.kind) > severity(r.result))) r.result = h.kind;
  return r;
}

// Two reports of the same kind about the same source lines are one finding, whichever threads caused it.
std::string identity(const hazard& h) {
  static const std::regex place(R"([^ ]+:[0-9]+)");
  std::string key = h.kind;
  bool any = false;
  for (std::sregex_iterator it(h.text.begin(), h.text.end(), place), end; it != end; ++it, any = true)
    key += " " + it->str();
  return any ? key : key + " " + h.text;
}

void show_output(int fd) {
  constexpr size_t k_shown = 64 * 1024;
  lseek(fd, 0, SEEK_SET);
  std::string text(k_shown, '\0');
  const ssize_t n = read(fd, text.data(), text.size());
  text.resize(n > 0 ? static_cast<size_t>(n) : 0);
  fmt::print("{}{}", text, text.empty() || text.back() == '\n' ? "" : "\n");
  if (text.size() == k_shown) fmt::print("(the rest of the output is not shown)\n");
}

// Constructs that ran and are not modelled, each once.
std::vector<std::string> unsupported_of(const std::vector<program_run>& runs) {
  std::vector<std::string> all;
  for (const program_run& r : runs)
    for (const std::string& what : r.unsupported)
      if (std::find(all.begin(), all.end(), what) == all.end()) all.push_back(what);
  return all;
}

// The schedules that are left after a run that reached a construct which is not modelled: none. Exception: a kernel
// that waits for the host may wait in vain, which shows if work is done as late as CUDA allows.
std::deque<std::string> left_after(const program_run& run, const std::deque<std::string>& left) {
  const bool waits_for_host = std::any_of(run.unsupported.begin(), run.unsupported.end(), [](const std::string& what) {
    return what.starts_with("a kernel that waits for the host");
  });
  if (!waits_for_host || std::find(left.begin(), left.end(), "reverse") == left.end()) return {};
  return {"reverse"};
}

void print_findings(const std::vector<program_run>& runs) {
  struct seen {
    const hazard* first;
    std::vector<std::string> schedules;
  };
  std::vector<std::string> order;
  std::map<std::string, seen> found;
  for (const program_run& r : runs)
    for (const hazard& h : r.hazards) {
      const auto [at, added] = found.try_emplace(identity(h), seen{&h, {}});
      if (added) order.push_back(at->first);
      if (at->second.schedules.empty() || at->second.schedules.back() != r.schedule)
        at->second.schedules.push_back(r.schedule);
    }
  for (const std::string& key : order) {
    const seen& s = found.at(key);
    if (!s.first->known.empty()) fmt::print("known ({}): ", s.first->known);
    fmt::print("{}: {}\n    in {} of {} runs; schedules {}\n", s.first->kind, s.first->text, s.schedules.size(),
               runs.size(), fmt::join(s.schedules, ", "));
  }
  if (!runs.empty())
    for (const std::string& note : runs.front().notes) fmt::print("note: {}\n", note);
}

bool is_proven(const program_run& r) { return r.is_every_schedule && r.result == "pass" && r.hazards.empty(); }

void print_choices(const program_run& r) {
  if (!r.explored.empty()) fmt::print("explored: {}\n", r.explored);
  if (is_proven(r))
    fmt::print("every schedule: proven for this input\n");
  else if (!r.choices.empty())
    fmt::print("every schedule: not proven; it may depend on {}\n", fmt::join(r.choices, "; "));
}

// A construct that ran and whose results differ from a GPU's.
struct approximation {
  std::string what;
  std::string reached;  // where its values went; empty: not traced
};

std::vector<approximation> approximations_of(const std::vector<program_run>& runs) {
  std::vector<approximation> all;
  for (const program_run& r : runs)
    for (const std::string& what : r.approximated)
      if (std::none_of(all.begin(), all.end(), [&](const approximation& a) { return a.what == what; }))
        all.push_back({what, ""});
  return all;
}

// Finds where the values of each construct went: the program runs once more for each, with values far from its own in
// their place (simt/import/trace.hpp), and is compared with the original. This needs two equal runs to be equal.
void follow(std::vector<approximation>& all, import_request request, const std::string& schedule,
            const run_emulated_options& o, shared_record& record) {
  request.flavour = "plain";
  request.traced = true;
  program_request again = {"", schedule, true, "", -1};
  try {
    again.library = import_library(toolchain::load(), request);
  } catch (const interrupted&) {
    throw;
  } catch (const std::runtime_error& e) {  // the program itself has compiled and run, so this is not its error
    for (approximation& a : all) a.reached = "unknown where to: the program does not compile with the trace";
    fmt::print(stderr, "warpcheck: --no-trace leaves out what failed here: {}\n", e.what());
    return;
  }
  const program_run base = run_once(again, o, {}, record), same = run_once(again, o, {}, record);
  for (approximation& a : all) {
    if (base.trace == run_trace{}) {
      a.reached = "unknown where to: the program did not start";
    } else if (base.result == "timeout" || same.result == "timeout") {
      a.reached = "unknown where to: the program did not end in time";
    } else if (base.trace != same.trace) {
      a.reached = "unknown where to: two equal runs differ";
    } else {
      again.disturbed = a.what;
      const run_trace other = run_once(again, o, {}, record).trace;
      a.reached = other.kernels != base.trace.kernels ? "reached a branch or an address of a kernel"
                  : other.host != base.trace.host     ? "reached a branch of the host"
                                                      : "reached no branch and no address";
    }
  }
}

// Prints the results of the runs that differ from a GPU's.
void print_fidelity(const std::vector<approximation>& all) {
  std::vector<std::string> words;
  for (const approximation& a : all)
    words.push_back(a.reached.empty() ? a.what : fmt::format("{} ({})", a.what, a.reached));
  fmt::print("fidelity: {}\n", words.empty()
                                   ? "nothing that ran is approximated"
                                   : fmt::format("approximated are {}; all else is exact", fmt::join(words, ", ")));
}

nlohmann::json to_json(const run_emulated_options& o, const std::vector<program_run>& runs,
                       const std::vector<approximation>& approximated, const std::string& worst, int code) {
  nlohmann::json fidelity = nlohmann::json::array();
  for (const approximation& a : approximated) fidelity.push_back({{"approximated", a.what}, {"reached", a.reached}});
  nlohmann::json list = nlohmann::json::array();
  for (const program_run& r : runs) {
    nlohmann::json hazards = nlohmann::json::array();
    for (const hazard& h : r.hazards) hazards.push_back({{"kind", h.kind}, {"text", h.text}, {"known", h.known}});
    list.push_back({{"schedule", r.schedule},
                    {"verdict", r.result},
                    {"findings", hazards},
                    {"notes", r.notes},
                    {"approximated", r.approximated},
                    {"every_schedule", r.is_every_schedule},
                    {"choices", r.choices},
                    {"explored", r.explored},
                    {"unsupported", r.unsupported},
                    {"exit_status", r.exit_status}});
  }
  return {{"schema", "warpcheck-run-emulated-1"},
          {"version", WARPCHECK_VERSION},
          {"file", o.file},
          {"verdict", worst},
          {"exit_code", code},
          {"fidelity", fidelity},
          {"runs", list}};
}

import_request import_request_of(const run_emulated_options& o) {
  import_request request;
  request.file = o.file;
  request.others = o.others;
  request.epilogue = k_epilogue;
  request.defines = o.defines;
  request.includes = o.includes;
  // Our headers need C++17; the compilers of this build use the older name of C++23.
  request.standard = o.standard == "c++23" ? "c++2b" : o.standard == "c++20" ? o.standard : "c++17";
  request.needs_main = true;
  return request;
}

// The further data of a file that is a PTX module.
struct ptx_part {
  std::optional<ptx_launches> launches;
  line_origins origins;
};
ptx_part ptx_part_of(const run_emulated_options& o) {
  ptx_part part;
  if (!is_ptx_source(o.file)) {
    if (!o.launches.empty() || !o.arrays.empty() || !o.writes.empty() || !o.expects.empty())
      throw usage_error(
          fmt::format("launch: '{}' is no .ptx file; --launch, --array, --write and --expect are for the "
                      "kernels of one, and a program launches its own",
                      o.file));
    return part;
  }
  const ptx_module module = parse_ptx(read_text(o.file), o.file);
  part.launches.emplace(o, module);
  const std::string name = std::filesystem::path(o.file).filename().string();
  for (const auto& [line, origin] : module.origins()) part.origins.emplace(fmt::format("{}:{}", name, line), origin);
  return part;
}

// An array with other bits than expected is a violation.
void compare_arrays(const ptx_launches& launches, program_run& r) {
  for (const std::string& difference : launches.differences()) {
    r.hazards.push_back({"violation", difference, ""});
    if (r.result == "pass") r.result = "violation";
  }
}

}  // namespace

int run_emulated(const run_emulated_options& given) {
  run_emulated_options o = given;
  if (o.seeds < 0 || o.seeds > 1000000)
    throw usage_error(fmt::format("seeds: {} is not an integer in [0, 1000000]", o.seeds));
  check_timeout(o.timeout);
  if (o.step_limit == 0) throw usage_error("step-limit: 0 is not an integer of at least 1");
  const std::vector<std::string> schedules = schedules_of(o);
  const std::vector<suppression> known = read_suppressions(o.suppress);
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(o.file, ignored))
    throw usage_error(fmt::format("file: '{}' not found", o.file));
  const ptx_part ptx = ptx_part_of(o);
  if (ptx.launches) o.arguments = ptx.launches->arguments();
  const import_request request = import_request_of(o);
  const std::string library = import_library(toolchain::load(), request);

  const int output = memfd_create("program output", MFD_CLOEXEC);
  shared_record record;
  std::vector<program_run> runs;
  for (std::deque<std::string> left(schedules.begin(), schedules.end()); !left.empty();) {
    const std::string schedule = left.front();
    left.pop_front();
    const progress_line waiting(fmt::format("schedule {} of {}, {}", runs.size() + 1, schedules.size(), schedule));
    // The output of one run stands for all, because runs differ in schedule only.
    const bool first = runs.empty();
    runs.push_back(run_once({library, schedule, false, "", first ? output : -1}, o, known, record, ptx.origins));
    if (ptx.launches && first) ptx.launches->write_arrays();
    if (ptx.launches) compare_arrays(*ptx.launches, runs.back());
    if (first && !o.quiet && output >= 0) show_output(output);
    if (!runs.back().unsupported.empty()) left = left_after(runs.back(), left);
  }
  if (output >= 0) close(output);
  print_findings(runs);
  const std::vector<std::string> unsupported = unsupported_of(runs);
  std::vector<approximation> approximated = approximations_of(runs);
  if (!approximated.empty() && !o.no_trace && unsupported.empty())
    follow(approximated, request, schedules.front(), o, record);

  std::string worst = "pass";
  for (const program_run& r : runs)
    if (r.result != "pass" && (worst == "pass" || severity(r.result) > severity(worst))) worst = r.result;
  const int code = worst != "pass" ? k_violation : unsupported.empty() ? k_pass : k_usage;
  print_fidelity(approximated);
  if (worst == "pass") print_choices(runs.front());
  for (const std::string& what : unsupported) fmt::print("unsupported: {}; docs/run_emulated.md lists what is\n", what);
  fmt::print("{}: {} under {} schedules on the emulated device{}\n", o.file,
             colored_verdict(worst != "pass"       ? worst
                             : unsupported.empty() ? "clean"
                                                   : "not run to its end"),
             runs.size(), worst != "pass" && !unsupported.empty() ? ", and not run to its end" : "");
  if (!o.json.empty()) write_file(o.json, to_json(o, runs, approximated, worst, code).dump(1) + "\n");
  return code;
}

}  // namespace warpcheck::cli
