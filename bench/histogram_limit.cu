#include <cmath>
#include <memory>
#include <type_traits>

#include "bench/limits.hpp"
#include "bench/own_runs.hpp"
#include "kernels/candidate_support.hpp"
#include "kernels/histogram/byte_tile.hpp"
#include "kernels/histogram/contract.hpp"
#include "kernels/histogram/histogram.hpp"
#include "kernels/histogram/updates.hpp"

namespace warpcheck::bench {
namespace {

// The arguments of a call of stage 0 or 3 (histogram.hpp).
struct shape {
  explicit shape(const checked_call& call)
      : is_quantised(call.scalar("stage") == 3),
        accum(static_cast<hist_accum>(call.scalar("accum"))),
        max_rows(static_cast<int64_t>(call.scalar("max_rows"))),
        rows(call.at("bins").rows),
        cols(call.at("bins").cols),
        listed(call.at("rows").tensor ? call.at("rows").cols : rows) {}

  bool is_quantised;
  hist_accum accum;
  int64_t max_rows, rows, cols, listed;
};

__device__ unsigned hashed(uint64_t i) {
  i = (i ^ (i >> 33)) * 0xff51afd7ed558ccdull;
  i = (i ^ (i >> 33)) * 0xc4ceb9fe1a85ec53ull;
  return static_cast<unsigned>(i >> 32);
}

// Words of four random bins in the form that the kernel for bytes takes, but from registers.
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

void update_tiles(const shape& s, unsigned* sink, cudaStream_t stream) {
  const int blocks = simt::device_properties(stream).sm_count, words = static_cast<int>(s.cols + 3) / 4;
  const int lanes = 4 * (k_banks / 4 / words) * words * k_byte_threads / k_warp_size;
  const auto each =
      static_cast<int64_t>(std::ceil(static_cast<double>(s.listed) * words / (static_cast<double>(blocks) * lanes)));
  const auto start = [&](const auto& updates, auto change) {
    using Updates = std::decay_t<decltype(updates)>;
    simt::launch({static_cast<unsigned>(blocks), k_byte_threads,
                  static_cast<size_t>(k_byte_bank_tiles<Updates>) * k_bank_tile_bytes, stream},
                 update_slots<Updates>, updates, each, static_cast<int>(s.cols), change, sink);
  };
  if (s.is_quantised) return start(quantised_updates{}, quantised_updates::change{-63, 64});
  switch (s.accum) {
    case hist_accum::fixed64: {
      fixed64_updates updates{};
      updates.low_bits = fixed64_updates::low_bits_for(s.max_rows);
      return start(updates, fixed64_updates::change{-12345678, 23456789, 0});
    }
    case hist_accum::float32: return start(float_updates<float>{}, float_updates<float>::change{-0.3f, 0.7f});
    case hist_accum::float64: return start(float_updates<double>{}, float_updates<double>::change{-0.3f, 0.7f});
  }
}

template <class T>
std::shared_ptr<T> on_device() {
  T* data = nullptr;
  check(cudaMalloc(&data, sizeof(T)), "histogram limits");
  return {data, [](T* each) { cudaFree(each); }};
}

}  // namespace

std::vector<own_run> histogram_runs(const std::vector<const warpcheck_call*>& calls, cudaStream_t stream) {
  const shape s(check_call(histogram_contract(), *calls.front()));
  std::vector<own_run> runs;
  if (calls.front()->inputs[0]->dtype.bits == 8 && s.cols <= k_banks)
    runs.push_back(
        {"updates", [s, stream, sink = on_device<unsigned>()](int) { update_tiles(s, sink.get(), stream); }});
  if (!s.is_quantised && s.accum == hist_accum::fixed64)
    runs.push_back({"scale", [s, stream, calls, scale = on_device<fixed_scale>()](int i) {
                      const DLTensor* const* const inputs = calls[static_cast<size_t>(i) % calls.size()]->inputs;
                      histogram_scale(static_cast<const float*>(inputs[2]->data),
                                      static_cast<const float*>(inputs[3]->data), s.rows, s.max_rows, scale.get(),
                                      stream);
                    }});
  return runs;
}

}  // namespace warpcheck::bench
