#include "command/run_emulated.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <regex>
#include <thread>

#include "command/commands.hpp"
#include "command/program_run.hpp"
#include "command/ptx_launches.hpp"
#include "command/support.hpp"
#include "command/terminal.hpp"
#include "command/translator/importer.hpp"
#include "properties/engine/error.hpp"
#include "properties/engine/processes/contain.hpp"
#include "properties/engine/trials/verdict.hpp"
#include "simt/emulation.hpp"

namespace warpcheck::cli {
namespace {

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

std::vector<std::string> schedules_of(const run_emulated_options& o) {
  std::vector<std::string> list = o.schedules;
  if (o.explore) list = {"explore:10000"};
  if (list.empty()) {
    list = {"fair", "greedy", "reverse"};
    for (int seed = 1; seed <= o.seeds.value_or(3); ++seed)
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

// Two reports of the same kind about the same source lines are one finding, whichever threads caused it.
std::string identity(const hazard& h) {
  static const std::regex place(R"([^ ]+:[0-9]+)");
  std::string key = h.kind;
  bool any = false;
  for (std::sregex_iterator it(h.text.begin(), h.text.end(), place), end; it != end; ++it, any = true)
    key += " " + it->str();
  return any ? key : key + " " + h.text;
}

std::string bytes_of(int fd, off_t begin, size_t count) {
  std::string text(count, '\0');
  const ssize_t n = pread(fd, text.data(), count, begin);
  text.resize(n > 0 ? static_cast<size_t>(n) : 0);
  return text;
}

// Prints what the program printed; of a long output the begin and the end, where it says how it failed.
void show_output(int fd) {
  constexpr off_t k_part = 32 * 1024;
  const off_t size = lseek(fd, 0, SEEK_END);
  std::string text = bytes_of(fd, 0, static_cast<size_t>(std::min(size, 2 * k_part)));
  if (size > 2 * k_part)
    text = fmt::format("{}\n({} bytes of the output are not shown)\n{}", bytes_of(fd, 0, k_part), size - 2 * k_part,
                       bytes_of(fd, size - k_part, k_part));
  fmt::print("{}{}", text, text.empty() || text.back() == '\n' ? "" : "\n");
}

// Constructs that ran and are not modelled, each once.
std::vector<std::string> unsupported_of(const std::vector<program_run>& runs) {
  std::vector<std::string> all;
  for (const program_run& r : runs)
    for (const std::string& what : r.unsupported)
      if (std::ranges::find(all, what) == all.end()) all.push_back(what);
  return all;
}

// The schedules that are left after a run that reached a construct which is not modelled: none. Exception: a kernel
// that waits for the host may wait in vain, which shows if work is done as late as CUDA allows.
std::deque<std::string> left_after(const program_run& run, const std::deque<std::string>& left) {
  const bool waits_for_host = std::ranges::any_of(
      run.unsupported, [](const std::string& what) { return what.starts_with("a kernel that waits for the host"); });
  if (!waits_for_host || std::ranges::find(left, "reverse") == left.end()) return {};
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
    fmt::print("every schedule: proven for this input{}{}\n", r.assumed.empty() ? "" : " and ", r.assumed);
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
      if (std::ranges::none_of(all, [&](const approximation& a) { return a.what == what; })) all.push_back({what, ""});
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
  const progress_line waiting(fmt::format("following {} approximated results", all.size()));
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

// A finding, and what its text says: the threads with their lines, and the memory.
nlohmann::json to_json(const hazard& h) {
  static const std::regex who(R"(block \((\d+),(\d+),(\d+)\) thread (\d+)(?: at ([^ ]+):(\d+))?)");
  static const std::regex where(R"(byte (-?\d+) of (an? [a-z ]+ of \d+ bytes[^,;]*))");
  nlohmann::json threads = nlohmann::json::array();
  for (std::sregex_iterator it(h.text.begin(), h.text.end(), who), end; it != end; ++it) {
    nlohmann::json t = {{"block", {std::stoul(it->str(1)), std::stoul(it->str(2)), std::stoul(it->str(3))}},
                        {"thread", std::stoul(it->str(4))}};
    if (it->length(5) > 0) t.update({{"file", it->str(5)}, {"line", std::stoul(it->str(6))}});
    threads.push_back(t);
  }
  nlohmann::json all = {{"kind", h.kind}, {"text", h.text}, {"known", h.known}, {"threads", threads}};
  if (std::smatch m; std::regex_search(h.text, m, where))
    all["memory"] = {{"byte", std::stoll(m.str(1))}, {"of", m.str(2)}};
  return all;
}

nlohmann::json to_json(const run_emulated_options& o, const std::vector<program_run>& runs,
                       const std::vector<approximation>& approximated, const std::string& worst, int code) {
  nlohmann::json fidelity = nlohmann::json::array();
  for (const approximation& a : approximated) fidelity.push_back({{"approximated", a.what}, {"reached", a.reached}});
  nlohmann::json list = nlohmann::json::array();
  for (const program_run& r : runs) {
    nlohmann::json hazards = nlohmann::json::array();
    for (const hazard& h : r.hazards) hazards.push_back(to_json(h));
    list.push_back({{"schedule", r.schedule},
                    {"verdict", r.result},
                    {"findings", hazards},
                    {"notes", r.notes},
                    {"approximated", r.approximated},
                    {"every_schedule", r.is_every_schedule},
                    {"assumed", r.assumed},
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

void add_origins(line_origins& all, const ptx_module& module) {
  const std::string name = std::filesystem::path(module.file).filename().string();
  for (const auto& [line, origin] : module.origins()) all.emplace(fmt::format("{}:{}", name, line), origin);
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
  add_origins(part.origins, module);
  return part;
}

// The program, compiled with the modules that its runs loaded.
class loading_program {
 public:
  loading_program(const import_request& request, line_origins origins)
      : request_(request), origins_(std::move(origins)), library_(import_library(toolchain::load(), request_)) {}
  const import_request& request() const { return request_; }
  const std::string& library() const { return library_; }
  const line_origins& origins() const { return origins_; }

  // Compiles the program again with the modules that the run loaded. Equal texts have one name in reports.
  void add_modules_of(const program_run& r) {
    const size_t before = request_.modules.size();
    for (const module_source& loaded : r.modules) {
      module_source m = loaded;
      const auto is_same = [&](const module_source& other) { return other.key == m.key; };
      if (std::ranges::any_of(request_.modules, is_same)) continue;
      if (m.is_ptx) add_origins(origins_, parse_ptx(m.text, m.name));
      request_.modules.push_back(std::move(m));
    }
    if (request_.modules.size() == before || request_.modules.size() > k_most_modules)
      throw usage_error(
          fmt::format("{}: the program loads more than {} modules of different text, or others in each "
                      "run, which is not modelled",
                      request_.file, k_most_modules));
    library_ = import_library(toolchain::load(), request_);
  }

 private:
  static constexpr size_t k_most_modules = 100;
  import_request request_;
  line_origins origins_;
  std::string library_;
};

// An array with other bits than expected is a violation.
void compare_arrays(const ptx_launches& launches, program_run& r) {
  for (const std::string& difference : launches.differences()) {
    r.hazards.push_back({"violation", difference, ""});
    if (r.result == "pass") r.result = "violation";
  }
}

// The next run's output begins here.
void empty(const engine::memory_file& output) {
  output.resize(0);
  lseek(output.descriptor(), 0, SEEK_SET);
}

// Runs the program under each schedule, several at a time. If the user leaves the schedules to this command, a first
// run that proves the outcome of every schedule is the only one.
std::vector<program_run> run_schedules(const std::vector<std::string>& schedules, loading_program& program,
                                       const run_emulated_options& o, const std::vector<suppression>& known,
                                       const ptx_part& ptx, shared_record& record) {
  const engine::memory_file output("program output");
  const engine::orphan_collector orphans;
  // Runs of a module share its arrays.
  const unsigned processors = std::max(1u, std::thread::hardware_concurrency());
  const size_t at_once = ptx.launches ? 1 : processors;
  // A launch in parts may miss a race with a launch that overlaps it, which then has no proof: other runs follow.
  const bool may_be_only = o.schedules.empty() && !o.seeds;
  program_request alone = {program.library(), schedules.front(), false, "", output.descriptor()};
  if (may_be_only) alone.processes = processors;
  std::vector<program_run> runs;
  std::deque<parallel_run> started;  // those of `left`, in its order
  for (std::deque<std::string> left(schedules.begin(), schedules.end()); !left.empty();) {
    const progress_line waiting(fmt::format("schedule {} of {}, {}", runs.size() + 1, schedules.size(), left.front()));
    // The output of one run stands for all, because runs differ in schedule only.
    const bool first = runs.empty();
    if (!first) alone = {program.library(), left.front()};
    if (first || at_once == 1) {
      runs.push_back(run_once(alone, o, known, record, program.origins()));
    } else {
      while (started.size() < std::min(at_once, left.size()))
        started.emplace_back(program_request{program.library(), left[started.size()]}, o);
      runs.push_back(started.front().result(o, known, program.origins()));
      started.pop_front();
    }
    while (runs.back().needs_module) {
      program.add_modules_of(runs.back());
      if (first) empty(output);
      alone.library = program.library();
      runs.back() = run_once(alone, o, known, record, program.origins());
    }
    left.pop_front();
    if (ptx.launches && first) ptx.launches->write_arrays();
    if (ptx.launches) compare_arrays(*ptx.launches, runs.back());
    if (first && !o.quiet) show_output(output.descriptor());
    if (!runs.back().unsupported.empty()) {
      started.clear();
      left = left_after(runs.back(), left);
    } else if (first && may_be_only && is_proven(runs.front())) {
      left.clear();  // the proof is for all of them
    }
  }
  return runs;
}

}  // namespace

int run_emulated(const run_emulated_options& given) {
  run_emulated_options o = given;
  if (o.seeds && (*o.seeds < 0 || *o.seeds > 1000000))
    throw usage_error(fmt::format("seeds: {} is not an integer in [0, 1000000]", *o.seeds));
  check_timeout(o.timeout);
  if (o.step_limit == 0) throw usage_error("step-limit: 0 is not an integer of at least 1");
  const std::vector<std::string> schedules = schedules_of(o);
  const std::vector<suppression> known = read_suppressions(o.suppress);
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(o.file, ignored))
    throw usage_error(fmt::format("file: '{}' not found", o.file));
  const ptx_part ptx = ptx_part_of(o);
  if (ptx.launches) o.arguments = ptx.launches->arguments();
  log_progress();
  loading_program program(import_request_of(o), ptx.origins);
  keep_input();

  shared_record record;
  const std::vector<program_run> runs = run_schedules(schedules, program, o, known, ptx, record);
  print_findings(runs);
  const std::vector<std::string> unsupported = unsupported_of(runs);
  std::vector<approximation> approximated = approximations_of(runs);
  if (!approximated.empty() && !o.no_trace && unsupported.empty())
    follow(approximated, program.request(), schedules.front(), o, record);

  std::string worst = "pass";
  for (const program_run& r : runs)
    if (r.result != "pass" && (worst == "pass" || severity(r.result) > severity(worst))) worst = r.result;
  const int code = worst != "pass" ? k_violation : unsupported.empty() ? k_pass : k_usage;
  print_fidelity(approximated);
  if (worst == "pass") print_choices(runs.front());
  for (const std::string& what : unsupported) fmt::print("unsupported: {}; docs/run_emulated.md lists what is\n", what);
  fmt::print("{}: {} under {} {} on the emulated device{}\n", o.file,
             colored_verdict(worst != "pass"       ? worst
                             : unsupported.empty() ? "clean"
                                                   : "not run to its end"),
             runs.size(), runs.size() == 1 ? "schedule" : "schedules",
             worst != "pass" && !unsupported.empty() ? ", and not run to its end" : "");
  if (!o.json.empty()) write_file(o.json, to_json(o, runs, approximated, worst, code).dump(1) + "\n");
  return code;
}

}  // namespace warpcheck::cli
