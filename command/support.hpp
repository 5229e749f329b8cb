// Shared parts of the commands: queries of candidates in a child process, file output, options.
#pragma once

#include <signal.h>

#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "properties/engine/trials/property.hpp"

namespace warpcheck::cli {

// Thrown by a command that SIGINT or SIGTERM ends; main returns the exit code for it.
struct interrupted : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Sends SIGINT and SIGTERM to `handler` while it exists.
class signal_handler {
 public:
  explicit signal_handler(void (*handler)(int));
  ~signal_handler();
  signal_handler(const signal_handler&) = delete;
  signal_handler& operator=(const signal_handler&) = delete;

 private:
  struct sigaction interrupt_ = {}, terminate_ = {};
};

// Records SIGINT and SIGTERM while it exists; the process does not die from them.
class interrupt_watch {
 public:
  interrupt_watch();
  ~interrupt_watch();
  static bool seen();

 private:
  signal_handler handler_;
};

// Runs `question` in a forked child and returns its answer, so that a candidate library that crashes while it loads,
// and the CUDA context that loading may create, never reach this process. Errors of the child are thrown again here. A
// child that takes longer than `patience_seconds` counts as hung; a CUDA context needs less than the default.
std::string ask_child(const std::function<std::string()>& question, std::string_view what,
                      double patience_seconds = 60);

// `auto` becomes cuda if a GPU is usable, otherwise emulated; `cuda:N` selects GPU N for this process and its children.
// `cuda:all` is all GPUs that CUDA_VISIBLE_DEVICES leaves, or all that nvidia-smi lists: workers spread over them
// (choose_gpu), and this process and its other children use the first. `note` gets one sentence on the choice. Throws
// environment_error if a device that was requested by name is missing.
std::string resolve_device(const std::string& asked, std::string& note);
// Returns the number of GPUs that `cuda:all` spreads workers over; 1 otherwise.
int gpus_in_use();
// Lets this process, worker number `worker` of a run, use GPU `worker` modulo gpus_in_use(). Without `cuda:all` it does
// nothing.
void choose_gpu(int worker);

// Returns the candidate's offer, asked in a child process.
std::vector<engine::target> ask_targets(const std::string& candidate, const std::string& op, const std::string& device);

// A file of this process that is removed with the object.
struct removed_file {
  explicit removed_file(std::string p) : path(std::move(p)) {}
  removed_file(const removed_file&) = delete;
  removed_file& operator=(const removed_file&) = delete;
  ~removed_file();
  const std::string path;
};

// Writes the whole text. A regular file, also the target of a link, is replaced through a temporary file and rename, so
// that a reader or a full disk never sees half of it; a device, a FIFO or a descriptor of this process is written
// directly.
void write_file(const std::string& path, const std::string& text);

// Called before a run whose result goes to the path. Throws usage_error for an empty path, environment_error if
// write_file would find no folder, no permission or no file to write.
void check_writable(const std::string& path);

// The operators of the tree that this build was configured without (WARPCHECK_ONLY).
std::vector<std::string> operators_left_out();

// Returns the line of `list` that names the operators missing from a partial build, and how to add them; "" for a
// complete build.
std::string left_out_text(const std::vector<std::string>& left_out);

// Returns the sentence for an operator that does not exist, or is not part of this build.
std::string unknown_operator(const std::string& op, const std::vector<std::string>& left_out = operators_left_out());

// Parses a 64-bit seed or "random".
uint64_t parse_seed(const std::string& text);
// Throws usage_error if this number of cases per (property, dtype) proves nothing, or is too large to count: a run has
// a bit for each case of all its jobs.
void check_cases(int64_t cases);
// Throws usage_error unless the timeout is positive.
void check_timeout(std::optional<double> seconds);
// Returns the checked timeout of a case; the default is 60 seconds, and 300 on the emulated device, which is slow.
double timeout_of(std::optional<double> asked, std::string_view device);
// Throws usage_error unless the time for shrinking is positive.
void check_shrink_seconds(double seconds);
// Parses i/n with 0 <= i < n.
std::pair<int, int> parse_shard(const std::string& text);

// Cuts quotations of more than 120 characters, such as parts of a case line, in the middle.
std::string with_short_quotations(std::string text);

}  // namespace warpcheck::cli
