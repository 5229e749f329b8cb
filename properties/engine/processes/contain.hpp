// Processes around candidates: a crash, a hang or an exit of the code on trial ends a child process and becomes a
// verdict, never the end of the run.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "properties/engine/cases/case.hpp"
#include "properties/engine/trials/verdict.hpp"

namespace warpcheck::engine {

// How a message ends where the device has failed (a CUDA context with a sticky error, say): for people. What is done
// about it follows from the report's field.
inline constexpr std::string_view k_process_unusable = "process is unusable";
// True if the next case must not run in the process that made this report: its device has failed, or its verdict means
// that memory of the process may be corrupt.
bool corrupts_process(const case_report& r);
// True if a failure of the device, which may be another process's doing, can be what this report is of.
bool may_be_the_device(const case_report& r);

inline double seconds_since(std::chrono::steady_clock::time_point t) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - t).count();
}

// How long a case may take where `seconds` are given: as long as that with up to 2^24 elements, and in proportion
// beyond, since what a large case waits for is copies and the device, which others may use at the same time. `line`:
// the case.
double time_limit(double seconds, std::string_view line);

// Runs one case in a process of its own. What happens to that process is the verdict: `crash` when it dies (by a
// signal, by exit, or by an exception that escapes `run`), `timeout` when no report came within `timeout_seconds`,
// as time_limit has it, not counting time that it spent waiting for a processor. The last 2 KiB that it wrote to stdout
// and stderr go into the message. Rethrows a usage_error or environment_error of `run`. Everything the child started is
// killed with it.
case_report run_contained(const std::function<case_report(const trial_case&)>& run, const trial_case& c,
                          double timeout_seconds);
// The same; nothing where `stop` was true before there was a report.
std::optional<case_report> run_contained(const std::function<case_report(const trial_case&)>& run, const trial_case& c,
                                         double timeout_seconds, const std::function<bool()>& stop);

// The same for any computation whose result is a text.
struct child_outcome {
  bool finished = false;  // `text` is what `body` returned
  bool timed_out = false;
  bool stopped = false;  // otherwise the child died
  std::string text;
  std::string death;  // one clause: "it was killed by signal 11 (Segmentation fault); its last output: ..."
};
// Once `stop` is true, the child is killed: `finished` and `timed_out` are then false, and `stopped` is true.
child_outcome run_in_child(const std::function<std::string()>& body, double timeout_seconds,
                           const std::function<bool()>& stop = {});

// What was thrown, as a message says it: "std::runtime_error: no such luck".
std::string thrown_text(const std::exception_ptr& thrown);

// `run` with every exception of the code on trial turned into the verdict `crash`; usage_error and environment_error
// pass through.
case_report run_guarded(const std::function<case_report(const trial_case&)>& run, const trial_case& c,
                        const std::string& line);
// The same where one case of many must not end the others: usage_error and environment_error are its verdict,
// `suite_error`, and no_case_fits is `skipped`.
case_report run_judged(const std::function<case_report(const trial_case&)>& run, const trial_case& c,
                       const std::string& line);

// A child process in a process group of its own, which dies with its parent and whose stdout and stderr come here.
class child_process {
 public:
  child_process() = default;
  // Forks; the child runs `body` and exits with status 0. Throws environment_error when no process can be started.
  explicit child_process(const std::function<void()>& body);
  child_process(child_process&& other) noexcept { *this = std::move(other); }
  child_process& operator=(child_process&& other) noexcept;
  ~child_process() { kill_and_reap(); }

  bool running() const { return pid_ > 0; }
  pid_t pid() const { return pid_; }
  int output() const { return output_; }  // read end of the child's stdout and stderr, non-blocking
  // Takes what the child has written so far; only the last 2 KiB since the last mark are kept.
  void drain();
  // Called in the child: output before the mark is forgotten, so that a message shows one case's output only.
  static void mark_output();
  // True once the child is dead; its group and its orphans are then killed and it is reaped. Does not wait.
  bool reap();
  // Kills the child, its group and its orphans, and waits for it.
  void kill_and_reap();

  // Seconds that the running child has stood in line for a processor. They count against no time limit, so that a
  // loaded machine turns no slow case into a hang.
  double seconds_in_line() const;

  int status() const { return status_; }  // of wait(2), once reaped
  std::string death() const;              // how it ended, with its last output
  const std::string& last_output() const { return tail_; }

 private:
  void finish();

  pid_t pid_ = -1;
  int output_ = -1;
  int status_ = 0;
  std::string tail_;
};

// While one lives, processes orphaned by dead children come to this process, and child_process kills and reaps them;
// children that this process had before are left alone.
class orphan_collector {
 public:
  orphan_collector();
  ~orphan_collector();
  orphan_collector(const orphan_collector&) = delete;
  orphan_collector& operator=(const orphan_collector&) = delete;

 private:
  int previous_ = 0;
};

}  // namespace warpcheck::engine
