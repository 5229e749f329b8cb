#include "bench/matmul_cutlass.hpp"

#include <stdexcept>
#include <string>

#ifdef WARPCHECK_HAS_CUTLASS

#include <cutlass/gemm/device/gemm.h>
#include <cutlass/version.h>

namespace warpcheck::bench {
namespace {

using row_major = cutlass::layout::RowMajor;
// Operands of f32, each split into two of tf32; three products on tensor cores, summed in f32.
using multiply_3xtf32 = cutlass::gemm::device::Gemm<
    float, row_major, float, row_major, float, row_major, float, cutlass::arch::OpClassTensorOp, cutlass::arch::Sm80,
    cutlass::gemm::GemmShape<128, 128, 16>, cutlass::gemm::GemmShape<64, 32, 16>, cutlass::gemm::GemmShape<16, 8, 8>,
    cutlass::epilogue::thread::LinearCombination<float, 4, float, float>,
    cutlass::gemm::threadblock::GemmIdentityThreadblockSwizzle<>, 4, 4, 4, false, cutlass::arch::OpMultiplyAddFastF32>;

}  // namespace

bool cutlass_takes(const product_shape& s) { return !s.ta && !s.tb && s.m % 4 == 0 && s.n % 4 == 0 && s.k % 4 == 0; }

std::string cutlass_text() {
  return "CUTLASS " + std::to_string(CUTLASS_MAJOR) + "." + std::to_string(CUTLASS_MINOR) + "." +
         std::to_string(CUTLASS_PATCH);
}

void multiply_by_cutlass(const product_shape& s, const float* a, const float* b, float* c, cudaStream_t stream) {
  const auto extent = [](int64_t x) { return static_cast<int>(x); };
  multiply_3xtf32 multiply;
  const cutlass::Status status = multiply({{extent(s.m), extent(s.n), extent(s.k)},
                                           {a, extent(s.k)},
                                           {b, extent(s.n)},
                                           {c, extent(s.n)},
                                           {c, extent(s.n)},
                                           {1.0f, 0.0f}},
                                          nullptr, stream);
  if (status != cutlass::Status::kSuccess)
    throw std::runtime_error(std::string("CUTLASS: ") + cutlassGetStatusString(status));
}

}  // namespace warpcheck::bench

#else

namespace warpcheck::bench {

bool cutlass_takes(const product_shape&) { return false; }
std::string cutlass_text() { return "built without CUTLASS"; }
void multiply_by_cutlass(const product_shape&, const float*, const float*, float*, cudaStream_t) {
  throw std::runtime_error("matmul_bench was built without CUTLASS");
}

}  // namespace warpcheck::bench

#endif
