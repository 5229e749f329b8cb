// Limits of the GPU, measured in the same run as the operators: copies, reads and launches.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "bench/statistics.hpp"
#include "bench/timed_run.hpp"

namespace warpcheck::bench {

// Throws std::runtime_error with CUDA's text and `what` if the call failed.
void check(cudaError_t status, const char* what);

// Returns a text such as "NVIDIA H200, driver 13.0, runtime 13.0"; throws if there is no GPU.
std::string describe_gpu();

// Returns the microseconds of each of `repeats` executions of run(i), which enqueues work on the stream. They run back
// to back between events, which excludes the host's launch latency. i continues from one call of this function or the
// next to another, so an execution finds slot i of a ring as cold as after a full round.
std::vector<double> time_each(cudaStream_t stream, int repeats, const std::function<void(int)>& run);

// The same for several runs, in turns of some executions each, so that a disturbance of the device affects all of them.
std::vector<std::vector<double>> time_in_turn(cudaStream_t stream, int repeats, const std::vector<timed_run>& runs);

// Two device areas cut into slots, so that successive executions use memory that is no longer in the L2 cache.
class buffer_ring {
 public:
  // Makes slots of `input_bytes` and `output_bytes`, at least two, which together exceed `flush_bytes`; and as many as
  // wanted, if a quarter of the free memory has room for them.
  buffer_ring(size_t input_bytes, size_t output_bytes, size_t flush_bytes, size_t wanted_slots = 2);
  ~buffer_ring();
  buffer_ring(const buffer_ring&) = delete;
  buffer_ring& operator=(const buffer_ring&) = delete;

  int slots() const { return slots_; }
  void* input(int i) const { return input_ + static_cast<size_t>(i % slots_) * input_stride_; }
  void* output(int i) const { return output_ + static_cast<size_t>(i % slots_) * output_stride_; }
  size_t input_bytes() const { return input_bytes_; }
  size_t output_bytes() const { return output_bytes_; }

 private:
  size_t input_bytes_;
  size_t output_bytes_;
  size_t input_stride_;
  size_t output_stride_;
  int slots_;
  char* input_ = nullptr;
  char* output_ = nullptr;
};

// The fastest way found for an operation on the slots of a ring, its name, and execution i of it.
struct limit {
  double us = 0;
  std::string by;
  std::function<void(const buffer_ring&, int)> run;
};

// Finds the fastest of the offered ways.
class limit_search {
 public:
  limit_search(const buffer_ring& ring, int repeats, cudaStream_t stream)
      : ring_(ring), repeats_(repeats), stream_(stream) {}
  void offer(const std::string& by, const std::function<void(const buffer_ring&, int)>& run) {
    const double us = median(time_each(stream_, repeats_, [&](int i) { run(ring_, i); }));
    if (best_.us == 0 || us < best_.us) best_ = {us, by, run};
  }
  const limit& best() const { return best_; }

 private:
  const buffer_ring& ring_;
  int repeats_;
  cudaStream_t stream_;
  limit best_;
};

// Copying `bytes` from each input slot to the output slot: cudaMemcpyAsync against copy kernels of several shapes.
limit fastest_copy(const buffer_ring& ring, size_t bytes, int repeats, cudaStream_t stream);

// Reading `bytes` of each input slot.
limit fastest_read(const buffer_ring& ring, size_t bytes, int repeats, cudaStream_t stream);

// Copies (or reads) `bytes` by rows of `row_bytes`, where the blocks that share a row exchange a word before they
// write: by clusters, or by two launches, the second of which reads while it waits; or one block per row. Sizes are
// powers of two.
limit fastest_exchange(const buffer_ring& ring, size_t bytes, size_t row_bytes, bool copies, int repeats,
                       cudaStream_t stream);

// An empty kernel, back to back in one stream.
double launch_us(int repeats, cudaStream_t stream);

}  // namespace warpcheck::bench
