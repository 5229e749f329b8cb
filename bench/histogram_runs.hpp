// Histograms of made-up data on the GPU, for histogram_bench.cpp, which is no CUDA source.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace warpcheck::bench {

enum class histogram_mode { fixed64, float32, float64, quantised };

struct histogram_shape {
  histogram_mode mode = histogram_mode::fixed64;
  int64_t rows = 0;
  int cols = 0;
  int bins = 255;     // of every column, u8
  int heavy = 0;      // percent of the rows that lie in bin 0 of a column; 0: all bins alike
  int leaf_part = 1;  // the leaf has every leaf_part-th row, in a shuffled list; 1: all rows, without a list
  std::string name() const;
  const char* mode_name() const;
  int64_t leaf_rows() const { return rows / leaf_part; }
  double updates() const { return static_cast<double>(leaf_rows()) * cols; }
};

// What the last execution read and wrote.
struct histogram_data {
  std::vector<uint8_t> bins;  // row by row
  std::vector<float> g, h;
  std::vector<int16_t> gh;    // quantised, by row g and h
  std::vector<int32_t> rows;  // of the leaf; none: all
  int e_g = 0, e_h = 0;       // exponents of fixed64
  std::vector<double> sums;   // by slot g and h; bits of int64 where quantised
};

class histogram_run {
 public:
  histogram_run(const histogram_shape& shape, cudaStream_t stream);
  ~histogram_run();
  histogram_run(const histogram_run&) = delete;
  histogram_run& operator=(const histogram_run&) = delete;

  // Bytes that execution reads: bins, gradients and list of the leaf.
  size_t bytes() const;
  // Executions with another leaf each, where there are several, and the scale made before.
  void run(int i);
  // As many updates of tiles in shared memory by the same code, of bins and values made in registers.
  void update_tiles(int i);
  histogram_data fetch() const;

 private:
  struct memory;
  histogram_shape shape_;
  cudaStream_t stream_;
  std::unique_ptr<memory> memory_;
  int last_ = 0;
};

}  // namespace warpcheck::bench
