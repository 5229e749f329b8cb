// Runs of an imported program, each under one schedule and in a process of its own.
#pragma once

#include <sys/types.h>

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "command/run_emulated.hpp"
#include "command/translator/module_source.hpp"
#include "properties/engine/files/memory_file.hpp"
#include "properties/engine/processes/contain.hpp"
#include "properties/engine/trials/verdict.hpp"

namespace warpcheck::cli {

inline constexpr const char* k_benign = "benign";

// Facts about a run: the hash of its control flow, and of the addresses that kernels accessed.
struct run_trace {
  unsigned long long kernels = 0, host = 0;
  bool operator==(const run_trace&) const = default;
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
  std::string assumed;                    // by this proof, besides the input; empty: nothing
  std::vector<std::string> choices;       // what the launches' results may depend on
  std::string explored;                   // the number of classes of schedules that ran; empty: not requested
  std::vector<std::string> unsupported;   // constructs that ran and are not modelled, with their lines
  int exit_status = 0;
  std::vector<module_source> modules;  // that it loaded and its library does not contain
  bool needs_module = false;           // it ended where it needed one of them
};

// A finding that the user knows: its kind, one of its places as in reports, and the reason to keep it.
struct suppression {
  std::string kind, place, reason;
};

// Lines of "KIND FILE:LINE REASON"; blank lines and those that begin with # are ignored.
std::vector<suppression> read_suppressions(const std::string& path);

// Severity of a hazard's kind; kinds that are no verdict themselves count as out_of_bounds.
engine::verdict severity(const std::string& kind);

// A record that survives the process that writes it: the last data of the program's process before it dies or exits.
class shared_record {
 public:
  shared_record();
  ~shared_record();
  shared_record(const shared_record&) = delete;
  shared_record& operator=(const shared_record&) = delete;

  void clear();
  void add(const nlohmann::json& j);
  // Marks that the process ends by itself after this.
  void end(int exit_status) { page_->exit_status = exit_status; }

  std::string text() const;
  unsigned long long* trace() { return page_->trace; }
  const unsigned long long* trace() const { return page_->trace; }
  unsigned long long* launches() { return &page_->launches; }
  const unsigned long long* launches() const { return &page_->launches; }
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
  engine::memory_file lines_{"record"};
};

struct program_request {
  std::string library, schedule;
  bool traced = false;         // the library traces its control flow
  std::string disturbed = {};  // the approximated construct that returns other values; empty: none
  int output = -1;             // descriptor for the program's output, if any
  unsigned processes = 1;      // that a launch may use at once
};

// Lines of a PTX module and where they come from: "FILE.ptx:LINE", "FILE:LINE".
using line_origins = std::map<std::string, std::string, std::less<>>;

// If this process's standard input is a file, each later run reads it from its beginning; otherwise it reads nothing.
void keep_input();

// Runs the program once. The run's findings among `known` do not count.
program_run run_once(const program_request& request, const run_emulated_options& o,
                     const std::vector<suppression>& known, shared_record& record, const line_origins& origins = {});

// A run in progress, beside others.
class parallel_run {
 public:
  parallel_run(const program_request& request, const run_emulated_options& o);
  // Waits for its end.
  program_run result(const run_emulated_options& o, const std::vector<suppression>& known, const line_origins& origins);

 private:
  std::string schedule_;
  shared_record record_;
  engine::child_process process_;
};

}  // namespace warpcheck::cli
