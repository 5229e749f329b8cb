// cuDNN's gated recurrent units, called directly: the library is loaded at run time, where it is present.
#pragma once

#include <cuda_runtime.h>

#include <memory>
#include <string>
#include <vector>

#include "bench/gru_runs.hpp"

namespace warpcheck::bench {

struct cudnn_result {
  std::string by;  // the algorithm
  double us = 0;
  bool is_tf32 = false;
  std::vector<float> y, dx;  // dx of a backward pass
};

class gru_cudnn {
 public:
  gru_cudnn();
  ~gru_cudnn();
  gru_cudnn(const gru_cudnn&) = delete;
  gru_cudnn& operator=(const gru_cudnn&) = delete;

  std::string name() const;  // "cuDNN 9.13.0", or why it is absent
  // Every algorithm that takes the shape, without tensor cores and, where the cell rounds operands, also in tf32: a
  // training forward pass, or gradients of x and all parameters. None where there is no cuDNN.
  std::vector<cudnn_result> run_all(const gru_cell& c, const gru_values& v, bool backward, int repeats,
                                    cudaStream_t stream);

 private:
  struct library;
  std::unique_ptr<library> library_;
  std::string problem_;
};

}  // namespace warpcheck::bench
