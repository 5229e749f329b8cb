// The matrix product on a GPU: results of calls on host data, and times beside cuBLAS.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace warpcheck::self {

// Types of A and B, and of C.
enum class matmul_types : uint8_t { f32, f16, f16_to_f32, bf16, bf16_to_f32 };

// One call on matrices of the host, whose gaps between rows and margins before and after are NaN on the device.
struct matmul_call {
  matmul_types types = matmul_types::f32;
  int mode = 0;  // matmul_mode
  bool ta = false, tb = false;
  int64_t m = 0, n = 0, k = 0;
  float alpha = 1, beta = 0;
  std::vector<float> a, b, c,
      bias;  // as stored, dense, values of their types; c empty where beta is 0; bias empty for none
  int64_t gap_a = 0, gap_b = 0, gap_c = 0;  // elements between the rows
  int64_t offset = 0;                       // elements past a multiple of 256 bytes at which each matrix begins
  bool sigmoid = false;
  float mu = 0, sigma = 1;
  bool rows_alone = false;
  int variant = 0;  // matmul_variant
  unsigned work_pattern = 0x7fc00000;
};

struct matmul_answer {
  std::vector<float> c;
  int64_t slices = 0, length = 0;  // matmul_plan
  int variant = 0;                 // the one that ran
  int64_t damaged = 0;             // elements outside C, or of gaps in it, that changed
};
matmul_answer run_matmul(const matmul_call& call);

// x, each rounded to the type of A and B, or of C.
void round_to_type(matmul_types types, bool of_c, std::vector<float>& x);

// How many elements are wrong of a product with k = 1 of which one operand and C have more than 2^31 elements: C is a
// row (m = 1) or a column (n = 1).
int64_t wrong_beyond_32_bits(bool row);

// Median microseconds of ours (matmul_variant `variant`, 0: the dispatch's) and of cuBLAS where its library loads, in
// turns on random data; the L2 cache is flushed before each.
struct matmul_times {
  double ours_us = 0, cublas_us = 0;  // 0: not measured; cuBLAS in f32
  double same_us = 0;                 // cuBLAS in the types of A and B, where they are of 16 bits; else in tf32
  int variant = 0;
  int64_t slices = 0;
};
struct matmul_timing {
  bool ta = false, tb = false;
  int64_t m = 0, n = 0, k = 0;
  matmul_types types = matmul_types::f32;
  int mode = 0, variant = 0;
  bool layer = false;
  int repeats = 21;
};
matmul_times time_matmul(const matmul_timing& timing);

// The variants' names, by number.
const char* matmul_variant_name(int variant);
std::string gpu_name();

}  // namespace warpcheck::self
