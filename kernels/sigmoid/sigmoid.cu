// Sigmoid: see the contract in sigmoid.hpp. Each element is read and written once.
#include "kernels/sigmoid/sigmoid.hpp"

#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "kernels/candidate_support.hpp"
#include "kernels/primitives/arguments.hpp"
#include "kernels/primitives/grid.hpp"
#include "kernels/primitives/logistic.hpp"
#include "kernels/rows/row_access.hpp"
#include "kernels/rows/row_tiling.hpp"
#include "kernels/sigmoid/contract.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {
namespace {

constexpr int k_flat_threads = 128;

// A block takes a tile of `Vectors` vectors a thread, in a grid of one wave after the other: even for data that fill
// the memory the grid stays far below its limit of 2^31 - 1 blocks.
template <class T, row_access Access, int Vectors>
__global__ void __launch_bounds__(k_flat_threads) sigmoid_flat(const T* x, T* y, int64_t n, float mu, float sigma) {
  using slice_type = row_slice<T, Access, Vectors>;
  constexpr int k_tile_size = k_flat_threads * Vectors * slice_type::k_width;
  const row_tile<T> tile(x, n, blockIdx.x, k_tile_size);
  if (tile.cols <= 0) return;
  const slice_type slice(x + tile.begin, tile.cols, static_cast<int>(threadIdx.x), k_flat_threads);
  float value[slice_type::k_values];
  slice.template load<load_policy<T>>(value);
#pragma unroll
  for (int k = 0; k < slice_type::k_values; ++k) value[k] = logistic(value[k], mu, sigma);
  slice.store(value, y + tile.begin);
}

// Aligned vectors, one a thread, for so few that the search for tiles would be visible beside reading them.
template <class T>
__global__ void __launch_bounds__(k_flat_threads) sigmoid_small(const T* x, T* y, int vectors, float mu, float sigma) {
  constexpr int k_width = row_vector<T>::k_width;
  const int i = static_cast<int>(blockIdx.x) * k_flat_threads + static_cast<int>(threadIdx.x);
  if (i >= vectors) return;
  row_vector<T> vector = load_vector(x + i * k_width);
#pragma unroll
  for (int k = 0; k < k_width; ++k)
    vector.element[k] = simt::from_float<T>(logistic(widen(vector.element[k]), mu, sigma));
  store_vector(y + i * k_width, vector);
}

template <row_access Access, int Vectors, class T>
void launch_flat(const T* x, T* y, int64_t n, float mu, float sigma, simt::stream_t stream) {
  const int64_t tiles = tiles_of_rows(x, n, 1, n, k_flat_threads * Vectors * row_vector<T>::k_width);
  const simt::launch_config config{static_cast<unsigned>(tiles), k_flat_threads, 0, stream};
  simt::launch(config, sigmoid_flat<T, Access, Vectors>, x, y, n, mu, sigma);
}

// Below this size, one vector a thread spreads the work over more multiprocessors.
constexpr int64_t k_small = int64_t{1} << 21;

template <class T>
void launch(const T* x, T* y, int64_t n, float mu, float sigma, simt::stream_t stream) {
  constexpr int k_width = row_vector<T>::k_width;
  const bool aligned = misalignment_of(x) == 0 && n % k_width == 0;
  if (n >= k_small) {
    if (aligned) return launch_flat<row_access::aligned, 2>(x, y, n, mu, sigma, stream);
    return launch_flat<row_access::peeled, 2>(x, y, n, mu, sigma, stream);
  }
  if (!aligned || misalignment_of(y) != 0) return launch_flat<row_access::peeled, 1>(x, y, n, mu, sigma, stream);
  const int vectors = static_cast<int>(n / k_width);
  const simt::launch_config config{static_cast<unsigned>(ceil_div(vectors, k_flat_threads)), k_flat_threads, 0, stream};
  simt::launch(config, sigmoid_small<T>, x, y, vectors, mu, sigma);
}

constexpr uint32_t k_dtypes = WARPCHECK_F32 | WARPCHECK_F16 | WARPCHECK_BF16;
constexpr warpcheck_variant k_variants[] = {row_variant("sigmoid_flat", 1, -1, 1, -1, k_dtypes)};

template <class T>
void run(const T* x, T* y, int64_t n, float mu, float sigma, simt::stream_t stream) {
  if (n < 0) throw std::invalid_argument("n is " + std::to_string(n) + ", must be >= 0");
  const row_block x_row{"x", x, sizeof(T), 1, n, n, nullptr};
  const row_block y_row{"y", y, sizeof(T), 1, n, n, nullptr};
  check_rows(x_row);
  check_rows(y_row);
  if (static_cast<const void*>(x) != y) check_disjoint(x_row, y_row);
  if (n > 0) launch(x, y, n, mu, sigma, stream);
}

}  // namespace

void sigmoid(const float* x, float* y, int64_t n, float mu, float sigma, simt::stream_t stream) {
  run(x, y, n, mu, sigma, stream);
}
void sigmoid(const simt::f16* x, simt::f16* y, int64_t n, float mu, float sigma, simt::stream_t stream) {
  run(x, y, n, mu, sigma, stream);
}
void sigmoid(const simt::bf16* x, simt::bf16* y, int64_t n, float mu, float sigma, simt::stream_t stream) {
  run(x, y, n, mu, sigma, stream);
}

namespace {

warpcheck_status run_sigmoid(warpcheck_call* call) {
  return candidate_call(call, [&] {
    const checked_call checked = check_call(sigmoid_contract(), *call);
    const tensor_view &x = checked.at("x"), &y = checked.at("y");
    const auto mu = static_cast<float>(checked.scalar("mu"));
    const auto sigma = static_cast<float>(checked.scalar("sigma"));
    find_variant(call, k_variants, x.cols);
    with_type<float, simt::f16, simt::bf16>(x.type, [&](auto type) {
      using T = typename decltype(type)::type;
      sigmoid(x.as<T>(), y.as<T>(), x.cols, mu, sigma, static_cast<simt::stream_t>(call->stream));
    });
    if (x.cols > 0) call->used_variant = k_variants[0].name;
  });
}

const char* pick_sigmoid(const warpcheck_call* call) {
  return candidate_pick(call, k_variants,
                        [&](simt::stream_t) { return check_call(sigmoid_contract(), *call).at("x").cols > 0 ? 1 : 0; });
}

// Lengths at which blocks or vectors per thread change.
constexpr int64_t k_boundaries[] = {4, 8, 1024, 2048, 4096, 1 << 20, 1 << 21};

constexpr const char* k_extents[] = {"n"};
constexpr warpcheck_operator k_operator =
    own_operator("sigmoid", k_dtypes, k_variants, k_boundaries, run_sigmoid, pick_sigmoid, k_extents);

}  // namespace
}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck

WARPCHECK_OPERATOR(sigmoid) { return &warpcheck::k_operator; }
