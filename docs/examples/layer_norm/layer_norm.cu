// Layer normalisation: see the contract in layer_norm.hpp. Sums are f64: of f32 elements they neither overflow nor lose
// what the mean is subtracted for.
#include "layer_norm.hpp"

#include <cmath>

#include "kernels/candidate_support.hpp"
#include "kernels/primitives/grid.hpp"
#include "kernels/primitives/reduce.hpp"

namespace layer_norm {
inline namespace SIMT_DEVICE_NS {
using namespace warpcheck;
namespace {
constexpr int k_warp_cols = 1024, k_threads = 256;

struct arguments {
  const float *x, *gamma, *beta;
  float *y, *mean, *rstd;
  int64_t ldx, ldy, rows, cols;
  double eps;
};

struct add_f64 {
  static constexpr double k_neutral = 0.0;
  __device__ double operator()(double a, double b) const { return a + b; }
};

// A warp, or a block, takes a row and reads it three times, of which the cache serves two. Two barriers of a block.
template <bool Block>
__global__ void __launch_bounds__(k_threads) layer_norm_rows(arguments a) {
  SIMT_SHARED(of_sum, double[k_max_warps]);
  SIMT_SHARED(of_squares, double[k_max_warps]);
  constexpr int k_team = Block ? k_threads : k_warp_size;
  const auto total = [](double value, double* scratch) {
    if constexpr (Block) return block_reduce(value, add_f64(), scratch);
    return lane_reduce<k_warp_size>(value, add_f64());
  };
  const int first = static_cast<int>(threadIdx.x) % k_team;
  const int64_t teams = k_threads / k_team;
  for (int64_t row = blockIdx.x * teams + threadIdx.x / k_team; row < a.rows; row += gridDim.x * teams) {
    const float* x = a.x + row * a.ldx;
    double sum = 0, squares = 0;
    for (int64_t i = first; i < a.cols; i += k_team) sum += x[i];
    const double mean = total(sum, of_sum) / static_cast<double>(a.cols);
    for (int64_t i = first; i < a.cols; i += k_team) squares += (x[i] - mean) * (x[i] - mean);
    const double rstd = 1 / sqrt(total(squares, of_squares) / static_cast<double>(a.cols) + a.eps);
    for (int64_t i = first; i < a.cols; i += k_team)
      a.y[row * a.ldy + i] = static_cast<float>((x[i] - mean) * rstd * a.gamma[i] + a.beta[i]);
    if (first == 0) a.mean[row] = static_cast<float>(mean), a.rstd[row] = static_cast<float>(rstd);
  }
}

// `warp` takes rows of up to 1024 columns.
enum class variant { automatic, warp, block };
// The dispatch, which is published, too.
variant pick(int64_t cols) { return cols <= k_warp_cols ? variant::warp : variant::block; }

// In the order of `variant`, without `automatic`.
constexpr warpcheck_variant k_variants[] = {
    row_variant("layer_norm_warp", 0, k_warp_cols, 0, k_warp_cols, WARPCHECK_F32),
    row_variant("layer_norm_block", 0, -1, k_warp_cols + 1, -1, WARPCHECK_F32)};

// Returns the variant that ran.
variant run(const arguments& a, variant v, simt::stream_t stream) {
  if (v == variant::automatic) v = pick(a.cols);
  if (a.rows == 0) return v;
  const bool block = v == variant::block;
  const int64_t blocks = block ? a.rows : ceil_div(a.rows, k_threads / k_warp_size);
  const simt::launch_config config{grid_size(blocks, stream), k_threads, 0, stream};
  simt::launch(config, block ? layer_norm_rows<true> : layer_norm_rows<false>, a);
  return v;
}

arguments read_call(const warpcheck_call* call) {
  const checked_call c = check_call(the_contract(), *call);
  check_memory(c);
  const auto data = [&](const char* tensor) { return c.data<float>(tensor); };
  return {data("x"), data("gamma"), data("beta"), data("y"), data("mean"), data("rstd"),
          c.at("x").ld, c.at("y").ld, c.extent("rows"), c.extent("cols"), c.scalar("eps")};
}

warpcheck_status run_call(warpcheck_call* call) {
  return candidate_call(call, [&] {
    const arguments a = read_call(call);
    const auto forced = static_cast<variant>(find_variant(call, k_variants, a.cols) + 1);
    const variant ran = run(a, forced, static_cast<simt::stream_t>(call->stream));
    if (a.rows > 0) call->used_variant = k_variants[static_cast<int>(ran) - 1].name;
  });
}

const char* pick_call(const warpcheck_call* call) {
  return candidate_pick(call, k_variants, [&](simt::stream_t) {
    const arguments a = read_call(call);
    return a.rows > 0 ? pick(a.cols) : variant::automatic;
  });
}

constexpr int64_t k_boundaries[] = {k_warp_size, k_threads, k_warp_cols};
constexpr warpcheck_operator k_operator =
    own_operator("layer_norm", WARPCHECK_F32, k_variants, k_boundaries, run_call, pick_call);

}  // namespace
}  // namespace SIMT_DEVICE_NS
}  // namespace layer_norm

WARPCHECK_OPERATOR(layer_norm) { return &layer_norm::k_operator; }
