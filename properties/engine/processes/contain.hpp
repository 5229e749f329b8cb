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

// End of the message if the device has failed, for example by a sticky error of a CUDA context. It is for people; the
// code uses the field of the report.
inline constexpr std::string_view k_process_unusable = "process is unusable";
// True if the next case must not run in the process that made this report: its device has failed, or its verdict means
// that memory of the process may be corrupt.
bool corrupts_process(const case_report& r);
// True if the report may be the effect of a failed device, which another process may have caused.
bool may_be_the_device(const case_report& r);

inline double seconds_since(std::chrono::steady_clock::time_point t) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - t).count();
}

// Returns the time limit of a case: `seconds` up to 2^24 elements, and in proportion more beyond, because a large case
// waits for copies and for a device that others may share. `line`: the case.
double time_limit(double seconds, std::string_view line);

// Runs one case in a separate process, whose end determines the verdict: `crash` if it dies (by a signal, by exit, or
// by an exception that escapes `run`), `timeout` if no report came within the time_limit of `timeout_seconds`, not
// counting the time that it waited for a processor. The last 2 KiB that it wrote to stdout and stderr go into the
// message. Rethrows a usage_error or environment_error of `run`. Everything the child started is killed with it.
case_report run_contained(const std::function<case_report(const trial_case&)>& run, const trial_case& c,
                          double timeout_seconds);
// The same; returns nothing if `stop` was true before there was a report.
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

// Returns the text of an exception for a message: "std::runtime_error: no such luck".
std::string thrown_text(const std::exception_ptr& thrown);

// `run` with every exception of the code on trial turned into the verdict `crash`; usage_error and environment_error
// pass through.
case_report run_guarded(const std::function<case_report(const trial_case&)>& run, const trial_case& c,
                        const std::string& line);
// The same for one case of many, which must not end the others: usage_error and environment_error become its verdict
// `suite_error`, and no_case_fits becomes `skipped`.
case_report run_judged(const std::function<case_report(const trial_case&)>& run, const trial_case& c,
                       const std::string& line);

// A child process in its own process group. It dies with its parent, and this object reads its stdout and stderr.
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
  // Reads the child's output so far; keeps only the last 2 KiB since the last mark.
  void drain();
  // Called in the child: output before the mark is dropped, so that a message shows the output of one case only.
  static void mark_output();
  // True once the child is dead; its group and its orphans are then killed and it is reaped. Does not wait.
  bool reap();
  // Kills the child, its group and its orphans, and waits for it.
  void kill_and_reap();

  // Returns the seconds that the running child has waited for a processor. No time limit counts them, so that a slow
  // case on a loaded machine does not become a hang.
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

// While an object of this class exists, this process adopts the orphans of dead children, and child_process kills and
// reaps them. Earlier children of this process are not touched.
class orphan_collector {
 public:
  orphan_collector();
  ~orphan_collector();
  orphan_collector(const orphan_collector&) = delete;
  orphan_collector& operator=(const orphan_collector&) = delete;

 private:
  int previous_ = 0;
};

// Kills and reaps all children of this process, and while there is an orphan_collector also those that they leave.
void end_children();

}  // namespace warpcheck::engine
