// CUTLASS' 3xTF32 (the arithmetic of its example 27) as a candidate for matmul: each f32 operand is split into two of
// tf32, and three products on tensor cores are summed in f32. Its vectors of four require extents and pitches that are
// multiples of 4.
#include <cutlass/gemm/device/gemm.h>
#include <cutlass/version.h>

#include <string>
#include <type_traits>

#include "abi/candidate_library.hpp"
#include "bench/peers/multiply_peer.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {
namespace {

using row_major = cutlass::layout::RowMajor;
using multiply_3xtf32 = cutlass::gemm::device::Gemm<
    float, row_major, float, row_major, float, row_major, float, cutlass::arch::OpClassTensorOp, cutlass::arch::Sm80,
    cutlass::gemm::GemmShape<128, 128, 16>, cutlass::gemm::GemmShape<64, 32, 16>, cutlass::gemm::GemmShape<16, 8, 8>,
    cutlass::epilogue::thread::LinearCombination<float, 4, float, float>,
    cutlass::gemm::threadblock::GemmIdentityThreadblockSwizzle<>, 4, 4, 4, false, cutlass::arch::OpMultiplyAddFastF32>;

void multiply(const matmul_call& c, cudaStream_t stream) {
  for (const int64_t size : {c.m, c.n, c.k, c.a.ld, c.b.ld, c.c.ld})
    if (size % 4 != 0) throw unsupported_call("CUTLASS' vectors want sizes that are multiples of 4");
  if (c.ta == trans::yes || c.tb == trans::yes)
    throw unsupported_call("CUTLASS' product is of rows as they are stored");
  const auto extent = [](int64_t x) { return static_cast<int>(x); };
  float* const out = c.c.as<float>();
  multiply_3xtf32 run;
  const cutlass::Status status = run({{extent(c.m), extent(c.n), extent(c.k)},
                                      {c.a.as<float>(), extent(c.a.ld)},
                                      {c.b.as<float>(), extent(c.b.ld)},
                                      {out, extent(c.c.ld)},
                                      {out, extent(c.c.ld)},
                                      {c.alpha, c.beta}},
                                     nullptr, stream);
  if (status != cutlass::Status::kSuccess)
    throw simt::device_error(std::string("CUTLASS: ") + cutlassGetStatusString(status));
}

warpcheck_status run_matmul(warpcheck_call* call) {
  return run_product(call, "CUTLASS", [](const matmul_call& c, auto type, auto, cudaStream_t stream) {
    if (!std::is_same_v<typename decltype(type)::type, float> || c.options.mode != matmul_mode::tf32x3)
      throw unsupported_call("CUTLASS' 3xTF32 is of f32 in mode tf32x3");
    multiply(c, stream);
  });
}

constexpr warpcheck_operator k_matmul = product_operator(WARPCHECK_F32, run_matmul);

}  // namespace
}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck

extern "C" __attribute__((visibility("default"))) const warpcheck_candidate* warpcheck_candidate_get(
    uint32_t abi_version) {
  static const warpcheck_operator* const operators[] = {&warpcheck::k_matmul};
  return warpcheck::candidate_library(abi_version, "cutlass",
                                      "CUTLASS " + std::to_string(CUTLASS_MAJOR) + "." + std::to_string(CUTLASS_MINOR),
                                      operators);
}
