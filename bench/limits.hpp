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

// Throws std::runtime_error with CUDA's text and `what` unless the call succeeded.
void check(cudaError_t status, const char* what);

// "NVIDIA H200, driver 13.0, runtime 13.0"; throws if there is no GPU.
std::string describe_gpu();

// Microseconds of each of `repeats` executions of run(i), which enqueues work on the stream. They run back to back
// between events, so that the launch latency of the host stays outside. i counts on from one call of this and the next
// to another: what uses slot i of a ring finds it as cold as if the ring had just been gone through.
std::vector<double> time_each(cudaStream_t stream, int repeats, const std::function<void(int)>& run);

// The same of several, in turns of some executions each, so that what disturbs the device disturbs all.
std::vector<std::vector<double>> time_in_turn(cudaStream_t stream, int repeats, const std::vector<timed_run>& runs);

// Two device areas cut into slots, so that successive executions touch memory that is no longer in the L2 cache.
class buffer_ring {
 public:
  // Slots for `input_bytes` and `output_bytes`, as many as together exceed `flush_bytes`, at least two.
  buffer_ring(size_t input_bytes, size_t output_bytes, size_t flush_bytes);
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

// The fastest way found to do something with slots of a ring, its name, and execution i of it.
struct limit {
  double us = 0;
  std::string by;
  std::function<void(const buffer_ring&, int)> run;
};

// Finds it among what is offered.
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

// Copying (or reading) `bytes` by rows of `row_bytes`, with the blocks that share a row hearing from each other before
// they write: by clusters, or by two launches of which the second reads while it waits. Or a block a row. Powers of
// two.
limit fastest_exchange(const buffer_ring& ring, size_t bytes, size_t row_bytes, bool copies, int repeats,
                       cudaStream_t stream);

// An empty kernel, back to back in one stream.
double launch_us(int repeats, cudaStream_t stream);

}  // namespace warpcheck::bench
