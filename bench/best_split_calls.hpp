// best_split through its C++ API, as a benchmark calls it: histograms, tasks and leaves in device memory, ready.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <memory>
#include <string>

namespace warpcheck::bench {

// One leaf of `features` features with `bins` bins each, every bin stored, a NaN bin where `missing`; the last one may
// have more.
struct split_case {
  int64_t features = 1;
  int64_t bins = 2;
  bool missing = true;
  std::string path = "automatic";  // or block, cluster; known: automatic, told of the tasks
  int64_t last_bins = 0;           // 0: as many as the others

  int64_t bins_of(int64_t feature) const { return feature + 1 == features && last_bins > 0 ? last_bins : bins; }
};

class split_calls {
 public:
  // Histograms of several leaves that together exceed `flush_bytes`.
  split_calls(const split_case& c, size_t flush_bytes);
  ~split_calls();
  split_calls(const split_calls&) = delete;
  split_calls& operator=(const split_calls&) = delete;

  // Enqueues the best split of leaf i % (number of leaves).
  void run(int i, cudaStream_t stream);
  // Throws unless the last record is the reference's, to the bit.
  void verify(cudaStream_t stream) const;
  std::string path() const;  // that ran
  int64_t bytes() const;     // of one leaf's histogram

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace warpcheck::bench
