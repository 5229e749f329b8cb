// Operations of tensor cores, each alone in a kernel: what goes into registers and shared memory comes from the host,
// and what is in the registers afterwards goes back, lane by lane.
#pragma once

#include <cstdint>
#include <vector>

#include "simt/tensor_step.hpp"

namespace warpcheck::self {

// An operand of a product of a warpgroup: the bytes of shared memory from the tile's start, and what the descriptor
// says.
struct tile {
  std::vector<uint8_t> bytes;  // of all products, one after the other
  unsigned leading, stride;    // bytes
  unsigned pattern;            // simt::swizzle
  unsigned start;              // bytes from the tile's start
  bool mn_major;
};

inline constexpr unsigned k_tile_a_bytes = 16384, k_tile_b_bytes = 34816;

struct warpgroup_run {
  simt::tensor_type type;
  int n, count;  // products, a block each
  tile a, b;
  std::vector<uint32_t> a_registers;  // 4 of each thread; not empty: they are in place of a
  std::vector<float> c;               // n / 2 of each thread
  bool accumulate;
};

// Results are [product][lane][register].
struct tensor_functions {
  // As many products as there are fragments.
  std::vector<float> (*mma)(simt::tensor_type, const std::vector<uint32_t>& a, const std::vector<uint32_t>& b,
                            const std::vector<float>& c, unsigned sm_arch);
  // One load of `count` matrices from 512 bytes; lane l names 16 bytes from place 16 * row[l] on.
  std::vector<uint32_t> (*ldmatrix)(int count, bool transposed, const std::vector<uint8_t>& bytes,
                                    const std::vector<uint32_t>& row);
  std::vector<float> (*wgmma)(const warpgroup_run&);
  std::vector<float> (*round_tf32)(const std::vector<float>&);
};

namespace emulated {
tensor_functions tensor_core();
}
namespace cuda {
tensor_functions tensor_core();
unsigned sm_arch();  // of the current GPU, as 90
}  // namespace cuda

}  // namespace warpcheck::self
