// $op: see the contract in $op.hpp. The simplest variant first, each opened by its one idea and its cost.
#include "kernels/$op/$op.hpp"

#include "kernels/$op/contract.hpp"
#include "kernels/candidate_support.hpp"
#include "kernels/primitives/arguments.hpp"
#include "kernels/primitives/grid.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {
namespace {

constexpr int k_threads = 256;

struct ${op}_arguments {
  const float* x;
  int64_t ldx;
  float* y;
  int64_t ldy, rows, cols;
};

// A block takes a row.
__global__ void __launch_bounds__(k_threads) ${op}_block(${op}_arguments a) {
  for (int64_t row = blockIdx.x; row < a.rows; row += gridDim.x) {
#error "kernels/$op/$op.cu: write the kernel (step 2)"
  }
}

constexpr warpcheck_variant k_variants[] = {row_variant("${op}_block", 1, -1, 1, -1, WARPCHECK_F32)};

void check(const ${op}_arguments& a) {
  const row_block x{"x", a.x, sizeof *a.x, a.rows, a.cols, a.ldx, "ldx"};
  const row_block y{"y", a.y, sizeof *a.y, a.rows, a.cols, a.ldy, "ldy"};
  check_rows(x);
  check_rows(y);
  check_disjoint(x, y);
}

}  // namespace

void $op(const float* x, int64_t ldx, float* y, int64_t ldy, int64_t rows, int64_t cols, simt::stream_t stream) {
  const ${op}_arguments a{x, ldx, y, ldy, rows, cols};
  check(a);
  if (rows == 0 || cols == 0) return;
  simt::launch(simt::launch_config{grid_size(rows, stream), k_threads, 0, stream}, ${op}_block, a);
}

namespace {

warpcheck_status run_$op(warpcheck_call* call) {
  return candidate_call(call, [&] {
    const checked_call checked = check_call(${op}_contract(), *call);
    const tensor_view &x = checked.at("x"), &y = checked.at("y");
    find_variant(call, k_variants, x.cols);
    $op(x.as<float>(), x.ld, y.as<float>(), y.ld, x.rows, x.cols, static_cast<simt::stream_t>(call->stream));
    if (x.rows > 0 && x.cols > 0) call->used_variant = k_variants[0].name;
  });
}

// The dispatch itself asks this where there is more than one variant.
const char* pick_$op(const warpcheck_call* call) {
  return candidate_pick(call, k_variants, [&](simt::stream_t) {
    return check_call(${op}_contract(), *call).at("x").is_empty() ? 0 : 1;
  });
}

// Row lengths at which the code path changes.
constexpr int64_t k_boundaries[] = {k_threads};
constexpr warpcheck_operator k_operator =
    own_operator("$op", WARPCHECK_F32, k_variants, k_boundaries, run_$op, pick_$op);

}  // namespace
}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck

WARPCHECK_OPERATOR($op) { return &warpcheck::k_operator; }
