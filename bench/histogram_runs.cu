#include "bench/histogram_runs.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

#include "bench/limits.hpp"
#include "kernels/histogram/byte_tile.hpp"
#include "kernels/histogram/histogram.hpp"
#include "kernels/histogram/updates.hpp"

namespace warpcheck::bench {
namespace {

constexpr int k_largest_integer = 32767;  // of quantised gradients

__device__ unsigned hashed(uint64_t i) {
  i = (i ^ (i >> 33)) * 0xff51afd7ed558ccdull;
  i = (i ^ (i >> 33)) * 0xc4ceb9fe1a85ec53ull;
  return static_cast<unsigned>(i >> 32);
}

__global__ void make_bins(uint8_t* bins, int64_t count, int num_bins, int heavy) {
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += static_cast<int64_t>(gridDim.x) * blockDim.x) {
    const unsigned h = hashed(static_cast<uint64_t>(i));
    bins[i] = static_cast<uint8_t>(static_cast<int>(h % 100) < heavy ? 0 : (h >> 8) % num_bins);
  }
}

__global__ void make_gradients(float* g, float* h, int16_t* gh, int64_t rows) {
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < rows;
       i += static_cast<int64_t>(gridDim.x) * blockDim.x) {
    const unsigned a = hashed(static_cast<uint64_t>(i) + (1ull << 40)),
                   b = hashed(static_cast<uint64_t>(i) + (1ull << 41));
    g[i] = static_cast<float>(a) * 0x1p-31f - 1.0f;
    h[i] = static_cast<float>(b) * 0x1p-32f;
    gh[2 * i] = static_cast<int16_t>(static_cast<int>(a % (2 * k_largest_integer + 1)) - k_largest_integer);
    gh[2 * i + 1] = static_cast<int16_t>(b % (k_largest_integer + 1));
  }
}

// List k of `parts`: the rows k, k + parts, ... in an order that jumps.
__global__ void make_lists(int32_t* lists, int64_t length, int parts) {
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < length * parts;
       i += static_cast<int64_t>(gridDim.x) * blockDim.x) {
    const int64_t at = i % length;
    lists[i] = static_cast<int32_t>(at * 7919 % length * parts + i / length);
  }
}

// Words of four random bins as the kernel for bytes takes them, but from registers.
template <class Updates>
__global__ void __launch_bounds__(k_byte_threads, 1)
    update_slots(Updates updates, int64_t words_of_lane, int cols, typename Updates::change change, unsigned* sink) {
  using word = typename Updates::word;
  SIMT_DYN_SHARED(unsigned, tile);
  constexpr int k_words = k_byte_bank_tiles<Updates> * k_bank_tile_bytes / 4;
  for (int i = static_cast<int>(threadIdx.x); i < k_words; i += k_byte_threads) tile[i] = 0;
  __syncthreads();
  const byte_lane lane(cols, sizeof(word));
  unsigned state = hashed(static_cast<uint64_t>(blockIdx.x) * k_byte_threads + threadIdx.x);
  for (int64_t i = 0; lane.row < lane.rows && i < words_of_lane; ++i) {
    state = state * 1664525u + 1013904223u;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      auto* const slot = reinterpret_cast<unsigned char*>(tile) + lane.place(lane.turned(state), k);
      updates.add_to_tile(byte_slot<word>{reinterpret_cast<word*>(slot)}, change);
    }
  }
  __syncthreads();
  if (threadIdx.x == 0 && tile[0] == 0x5bd1e995u) *sink = 1;
}

template <class T>
T* device_array(int64_t count) {
  T* data = nullptr;
  check(cudaMalloc(&data, static_cast<size_t>(std::max<int64_t>(count, 1)) * sizeof(T)), "histogram buffers");
  return data;
}

}  // namespace

const char* histogram_shape::mode_name() const {
  static constexpr const char* k_modes[] = {"fixed64", "float32", "float64", "quantised"};
  return k_modes[static_cast<int>(mode)];
}

std::string histogram_shape::name() const {
  std::string text = std::string("histogram/") + mode_name() + "/" + std::to_string(rows) + "x" + std::to_string(cols) +
                     "x" + std::to_string(bins);
  if (heavy > 0) text += "/heavy:" + std::to_string(heavy);
  if (leaf_part > 1) text += "/leaf:1:" + std::to_string(leaf_part);
  return text;
}

struct histogram_run::memory {
  uint8_t* bins;
  float *g, *h;
  int16_t* gh;
  int32_t* lists;
  hist_column* cols;
  fixed_scale* scale;
  double* hist;  // or int64
  void* ws;
  unsigned* sink;
  size_t ws_bytes;
  dense_bins dense;
};

histogram_run::histogram_run(const histogram_shape& shape, cudaStream_t stream)
    : shape_(shape), stream_(stream), memory_(new memory) {
  memory& m = *memory_;
  const int64_t total = static_cast<int64_t>(shape.cols) * shape.bins;
  m.bins = device_array<uint8_t>(shape.rows * shape.cols);
  m.g = device_array<float>(shape.rows);
  m.h = device_array<float>(shape.rows);
  m.gh = device_array<int16_t>(2 * shape.rows);
  m.lists = device_array<int32_t>(shape.leaf_rows() * shape.leaf_part);
  m.cols = device_array<hist_column>(shape.cols);
  m.scale = device_array<fixed_scale>(1);
  m.hist = device_array<double>(2 * total);
  m.sink = device_array<unsigned>(1);
  std::vector<hist_column> columns;
  for (int c = 0; c < shape.cols; ++c) columns.push_back({static_cast<int64_t>(c) * shape.bins, shape.bins, 0});
  check(cudaMemcpy(m.cols, columns.data(), columns.size() * sizeof(hist_column), cudaMemcpyHostToDevice), "columns");
  m.dense = {m.bins, bin_type::u8, shape.rows, shape.cols, shape.cols, m.cols};
  m.ws_bytes = histogram_workspace_bytes(m.dense, total);
  m.ws = device_array<unsigned char>(static_cast<int64_t>(m.ws_bytes));
  make_bins<<<2048, 256, 0, stream>>>(m.bins, shape.rows * shape.cols, shape.bins, shape.heavy);
  make_gradients<<<2048, 256, 0, stream>>>(m.g, m.h, m.gh, shape.rows);
  make_lists<<<2048, 256, 0, stream>>>(m.lists, shape.leaf_rows(), shape.leaf_part);
  histogram_scale(m.g, m.h, shape.rows, shape.rows, m.scale, stream);
  check(cudaStreamSynchronize(stream), "histogram inputs");
}

histogram_run::~histogram_run() {
  for (void* data : {static_cast<void*>(memory_->bins), static_cast<void*>(memory_->g), static_cast<void*>(memory_->h),
                     static_cast<void*>(memory_->gh), static_cast<void*>(memory_->lists),
                     static_cast<void*>(memory_->cols), static_cast<void*>(memory_->scale),
                     static_cast<void*>(memory_->hist), memory_->ws, static_cast<void*>(memory_->sink)})
    cudaFree(data);
}

size_t histogram_run::bytes() const {
  const size_t row = static_cast<size_t>(shape_.cols) + (shape_.mode == histogram_mode::quantised ? 4 : 8) +
                     (shape_.leaf_part > 1 ? sizeof(int32_t) : 0);
  return static_cast<size_t>(shape_.leaf_rows()) * row;
}

void histogram_run::run(int i) {
  memory& m = *memory_;
  last_ = i;
  const int64_t n = shape_.leaf_rows(), total = static_cast<int64_t>(shape_.cols) * shape_.bins;
  const int32_t* const list = shape_.leaf_part > 1 ? m.lists + i % shape_.leaf_part * n : nullptr;
  if (shape_.mode == histogram_mode::quantised) {
    histogram_quantised(m.dense, list, n, m.gh, reinterpret_cast<int64_t*>(m.hist), total, hist_place::automatic, m.ws,
                        m.ws_bytes, stream_);
    return;
  }
  const hist_options options{static_cast<hist_accum>(shape_.mode), hist_place::automatic};
  histogram(m.dense, list, n, m.g, m.h, m.scale, shape_.rows, m.hist, total, options, m.ws, m.ws_bytes, stream_);
}

void histogram_run::update_tiles(int) {
  const int blocks = simt::device_properties(stream_).sm_count, words = (shape_.cols + 3) / 4;
  const int lanes = 4 * (k_banks / 4 / words) * words * k_byte_threads / k_warp_size;
  const auto each = static_cast<int64_t>(
      std::ceil(static_cast<double>(shape_.leaf_rows()) * words / (static_cast<double>(blocks) * lanes)));
  const auto start = [&](const auto& updates, auto change) {
    using Updates = std::decay_t<decltype(updates)>;
    simt::launch({static_cast<unsigned>(blocks), k_byte_threads,
                  static_cast<size_t>(k_byte_bank_tiles<Updates>) * k_bank_tile_bytes, stream_},
                 update_slots<Updates>, updates, each, shape_.cols, change, memory_->sink);
  };
  switch (shape_.mode) {
    case histogram_mode::fixed64: {
      fixed64_updates updates{};
      updates.low_bits = fixed64_updates::low_bits_for(shape_.rows);
      return start(updates, fixed64_updates::change{-12345678, 23456789, 0});
    }
    case histogram_mode::float32: return start(float_updates<float>{}, float_updates<float>::change{-0.3f, 0.7f});
    case histogram_mode::float64: return start(float_updates<double>{}, float_updates<double>::change{-0.3f, 0.7f});
    case histogram_mode::quantised: return start(quantised_updates{}, quantised_updates::change{-63, 64});
  }
}

histogram_data histogram_run::fetch() const {
  const memory& m = *memory_;
  check(cudaStreamSynchronize(stream_), "histogram");
  const auto fetched = [](const auto* data, int64_t count) {
    std::vector<std::remove_const_t<std::remove_pointer_t<decltype(data)>>> host(static_cast<size_t>(count));
    check(cudaMemcpy(host.data(), data, host.size() * sizeof host[0], cudaMemcpyDeviceToHost), "verification");
    return host;
  };
  const int64_t n = shape_.leaf_rows();
  const fixed_scale scale = fetched(m.scale, 1)[0];
  histogram_data d;
  d.bins = fetched(m.bins, shape_.rows * shape_.cols);
  d.g = fetched(m.g, shape_.rows);
  d.h = fetched(m.h, shape_.rows);
  d.gh = fetched(m.gh, 2 * shape_.rows);
  if (shape_.leaf_part > 1) d.rows = fetched(m.lists + last_ % shape_.leaf_part * n, n);
  d.e_g = scale.e_g;
  d.e_h = scale.e_h;
  d.sums = fetched(m.hist, 2 * static_cast<int64_t>(shape_.cols) * shape_.bins);
  return d;
}

}  // namespace warpcheck::bench
