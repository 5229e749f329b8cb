// The judge's side of a runner: requests that it sends, and the state of the runner's device as far as it is known.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "properties/engine/isolation/arena.hpp"
#include "properties/engine/isolation/isolated_library.hpp"
#include "properties/engine/isolation/tape.hpp"

namespace warpcheck::engine {

// A block of the arena: a buffer and its surroundings.
struct arena_block {
  size_t size, payload;  // bytes; offset at which the buffer begins
  int64_t damage = INT64_MIN;
};

// Defined in isolated_library.cpp.
class runner_process {
 public:
  explicit runner_process(std::string path) : path_(std::move(path)) {}
  runner_process(const runner_process&) = delete;
  runner_process& operator=(const runner_process&) = delete;

  ~runner_process();
  std::string start();

  void* alloc(size_t bytes, size_t misalign, size_t element);
  void release(void* p);
  int64_t check_guards(const void* p);
  void forget(void* p, size_t bytes) { queue_range(request::forget, p, bytes); }
  int copy_in(void* to, const void* from, size_t bytes);
  void* create_stream(const warpcheck_stream_options& options);
  void destroy_stream(void* stream);
  int renew_stream(void* stream, const warpcheck_stream_options& options);
  int capture_begin(void* stream);
  int capture_replay(void* stream, int32_t times);
  int synchronize(void* stream, warpcheck_finding_fn report, void* user);
  int32_t accepts(uint32_t op, uint32_t variant, const warpcheck_call& call);
  int64_t reserve_bytes(uint32_t op, const warpcheck_call& call);
  warpcheck_status run(uint32_t op, warpcheck_call& call, void* reserve = nullptr, int64_t reserve_bytes = 0);
  double time_batch(const std::function<void()>& calls, const std::function<std::vector<peeked>()>& peeks);
  void read_back(const std::vector<peeked>& parts);
  const char* picks(const warpcheck_call& call) const {
    const auto picked = picked_.find(&call);
    return picked == picked_.end() ? nullptr : picked->second.c_str();
  }
  std::optional<page_touch> take_touch() { return std::exchange(touch_, std::nullopt); }
  const char* last_error() const { return error_.c_str(); }
  int32_t is_usable();

 private:
  using blocks = std::map<size_t, arena_block>;  // by the first byte

  // The answer of a call.
  struct call_answer {
    explicit call_answer(tape_reader& in);
    warpcheck_status status;
    std::string message, thrown;
    bool has_used;
    std::string used, picked;
    unsigned controls;
    uint64_t touched;
    int64_t offset;
  };

  tape_writer& queue(request what);
  void queue_stream(request what, uint64_t number, const warpcheck_stream_options& options);
  void queue_range(request what, const void* p, size_t bytes);
  void queue_call(const warpcheck_call& call);
  void queue_tensor(const DLTensor& t);
  // Sends the queued requests; `read` takes from the answer all values that they return.
  template <class Read>
  auto ask(const Read& read);
  void ask();
  int ask_status();
  template <class Read>
  auto read_answer(const Read& read);
  static tape_reader opened(const std::string& answer);
  void wait_for_answer();
  [[noreturn]] void fail(const std::string& problem);
  blocks::iterator find(const void* p);
  size_t free_place(size_t size) const;
  static uint64_t id_of(blocks::iterator b) { return b->first + b->second.payload; }
  static uint64_t number_of(void* stream) { return reinterpret_cast<uintptr_t>(stream); }

  std::string path_;
  pid_t owner_ = 0, pid_ = -1;
  std::unique_ptr<arena> arena_;
  uint64_t message_ = 0;
  tape_writer queued_;
  blocks blocks_;
  uint64_t streams_ = 0;
  bool is_batch_ = false;  // calls are queued, and nobody waits for their answers
  size_t batched_ = 0;
  std::string error_;
  const char* last_ = "";                                // what the next answer answers
  std::string problem_;                                  // why there is no runner any more
  std::map<const warpcheck_call*, std::string> picked_;  // by the calls since a stream was created
  std::optional<page_touch> touch_;
  std::set<std::string> variants_;  // texts that outlive the call
};

}  // namespace warpcheck::engine
