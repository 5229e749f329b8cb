// cuDNN's gated recurrent units, called directly: the library is loaded at run time, where it is present.
#pragma once

#include <cuda_runtime.h>

#include <memory>
#include <string>
#include <vector>

#include "bench/gru_runs.hpp"

namespace warpcheck::bench {

struct cudnn_time {
  double us = 0;   // 0: no algorithm took the shape, or there is no cuDNN
  std::string by;  // that algorithm, or why there is none
};

class gru_cudnn {
 public:
  gru_cudnn();
  ~gru_cudnn();
  gru_cudnn(const gru_cudnn&) = delete;
  gru_cudnn& operator=(const gru_cudnn&) = delete;

  std::string name() const;  // "cuDNN 9.13.0", or why it is absent
  // The fastest algorithm, without tensor cores or, where the cell rounds operands, also in tf32: a training forward
  // pass, or gradients of x and all parameters. Throws where it gives another y than `ours` [time, batch, directions *
  // hidden].
  cudnn_time fastest(const gru_cell& c, const gru_values& v, const std::vector<float>& ours, bool backward, int repeats,
                     cudaStream_t stream);

 private:
  struct library;
  std::unique_ptr<library> library_;
  std::string problem_;
};

}  // namespace warpcheck::bench
