// Limits of copying or reading rows if the blocks that share a row must exchange a word in between.
#include <functional>
#include <memory>
#include <string>

#include "bench/limits.hpp"
#include "simt/simt.hpp"

namespace warpcheck::bench {
namespace {

constexpr unsigned k_never = 0x9e3779b9u;  // random data never mix to this value, but the compiler does not know that

// Again: loads with the hint that makes long copies, and some others, faster (row_access.hpp).
template <bool Again, int Loads>
__device__ unsigned load_tile(const uint4* x, unsigned tile, uint4 (&value)[Loads]) {
  const size_t base = static_cast<size_t>(tile) * blockDim.x * Loads + threadIdx.x;
  unsigned mix = 0;
#pragma unroll
  for (int k = 0; k < Loads; ++k) {
    const uint4* const address = x + base + k * blockDim.x;
    value[k] = Again ? simt::load_keep_in_l2(address) : __ldcs(address);
  }
#pragma unroll
  for (int k = 0; k < Loads; ++k) mix ^= value[k].x ^ value[k].y ^ value[k].z ^ value[k].w;
  return mix;
}

// Stores those of the thread's vectors whose index is `first` under `mask`.
template <int Loads>
__device__ void store_tile(uint4* y, unsigned tile, const uint4 (&value)[Loads], unsigned first = 0,
                           unsigned mask = 0) {
  const size_t base = static_cast<size_t>(tile) * blockDim.x * Loads + threadIdx.x;
#pragma unroll
  for (unsigned k = 0; k < Loads; ++k)
    if ((k & mask) == first) __stcs(y + base + k * blockDim.x, value[k]);
}

// 2^log2_clusters clusters share a row. Each of them reads the whole row and writes a share of it: each block writes a
// word to the other blocks of its cluster and waits for theirs. Without `copies` it writes one word of each row.
template <bool Again, int Loads>
__global__ void exchange_by_cluster(const uint4* x, uint4* y, int log2_size, int log2_clusters, bool copies) {
  SIMT_SHARED(words, unsigned[16]);
  // Faster than reading the cluster's number, which is a quotient.
  const unsigned size = 1u << log2_size, rank = blockIdx.x & (size - 1), id = blockIdx.x >> log2_size;
  const unsigned tile = (id >> log2_clusters) * size + rank, mask = (1u << log2_clusters) - 1;
  uint4 value[Loads];
  const unsigned mix = load_tile<Again>(x, tile, value);
  simt::cluster_arrive_relaxed();
  const bool found = mix == k_never;
  const auto word = static_cast<unsigned>(__syncthreads_or(found));
  simt::cluster_wait();
  if (size > 1) {
    if (threadIdx.x < size) *simt::map_shared_rank(&words[rank], threadIdx.x) = word;
    simt::cluster_sync();
    value[0].x ^= words[threadIdx.x % size];
  } else {
    value[0].x ^= word;
  }
  if (copies)
    store_tile(y, tile, value, id & mask, mask);
  else if (rank == 0 && threadIdx.x == 0)
    y[id].x = value[0].x;
}

// Two launches: the first writes a word of each block; the second reads its data and waits for the words of its row.
template <int Loads>
__global__ void leave_word(const uint4* x, unsigned* words) {
  simt::trigger_dependents();
  uint4 value[Loads];
  const int word = __syncthreads_or(load_tile<false>(x, blockIdx.x, value) == k_never);
  if (threadIdx.x == 0) words[blockIdx.x] = static_cast<unsigned>(word);
}
template <int Loads>
__global__ void copy_after_words(const uint4* x, uint4* y, const unsigned* words, unsigned of_row) {
  uint4 value[Loads];
  load_tile<false>(x, blockIdx.x, value);
  simt::grid_dependency_wait();
  unsigned any = 0;
  for (unsigned i = threadIdx.x % 32; i < of_row; i += 32) any |= __ldcg(words + blockIdx.x / of_row * of_row + i);
  value[0].x ^= __reduce_or_sync(0xffffffffu, any);
  store_tile(y, blockIdx.x, value);
}
__global__ void wait_for_partials(unsigned* y, const unsigned* words, unsigned of_row) {
  simt::grid_dependency_wait();
  unsigned any = 0;
  for (unsigned i = threadIdx.x; i < of_row; i += 32) any |= __ldcg(words + blockIdx.x * of_row + i);
  any = __reduce_or_sync(0xffffffffu, any);
  if (threadIdx.x == 0) y[blockIdx.x] = any;
}

class exchanges {
 public:
  exchanges(const buffer_ring& ring, size_t bytes, size_t row_bytes, bool copies, int repeats, cudaStream_t stream)
      : bytes_(bytes), row_bytes_(row_bytes), copies_(copies), stream_(stream), search_(ring, repeats, stream) {
    unsigned* words = nullptr;
    check(cudaMalloc(&words, bytes / sizeof(uint4)), "words of blocks");
    words_ = {words, cudaFree};
  }

  template <bool Again, int Loads>
  void by_clusters() {
    for (const unsigned threads : {128u, 256u, 512u, 1024u})
      for (int log2_size = 0; log2_size <= 4; ++log2_size) {
        const unsigned size = 1u << log2_size;
        if (size_t{size} * threads * Loads * sizeof(uint4) != row_bytes_) continue;
        const auto rows = static_cast<unsigned>(bytes_ / row_bytes_);
        for (int log2_clusters = 0; 1 << log2_clusters <= (copies_ ? Loads : 1); ++log2_clusters) {
          const std::string name = "cluster<" + std::to_string(size) + ">*" + std::to_string(1 << log2_clusters);
          const simt::launch_config config{rows * size << log2_clusters, threads, 0, stream_, size};
          offer(name, threads, Loads, [=, copies = copies_](const buffer_ring& r, int i) {
            simt::launch(config, exchange_by_cluster<Again, Loads>, input(r, i), output(r, i), log2_size, log2_clusters,
                         copies);
          });
        }
      }
  }
  template <int Loads>
  void by_clusters() {
    by_clusters<false, Loads>();
    by_clusters<true, Loads>();
  }
  template <int Loads>
  void by_launches() {
    for (const unsigned threads : {128u, 256u, 512u, 1024u}) {
      const size_t tile = threads * Loads * sizeof(uint4);
      if (row_bytes_ % tile != 0) continue;
      const auto blocks = static_cast<unsigned>(bytes_ / tile), of_row = static_cast<unsigned>(row_bytes_ / tile);
      const simt::launch_config first{blocks, threads, 0, stream_};
      simt::launch_config second{copies_ ? blocks : blocks / of_row, copies_ ? threads : 32, 0, stream_};
      second.programmatic_launch = true;
      offer("launches<" + std::to_string(of_row) + ">", threads, Loads,
            [=, copies = copies_, words = words_](const buffer_ring& r, int i) {
              simt::launch(first, leave_word<Loads>, input(r, i), words.get());
              const unsigned* const left = words.get();
              if (copies)
                simt::launch(second, copy_after_words<Loads>, input(r, i), output(r, i), left, of_row);
              else
                simt::launch(second, wait_for_partials, reinterpret_cast<unsigned*>(output(r, i)), left, of_row);
            });
    }
  }
  const limit& best() const { return search_.best(); }

 private:
  void offer(const std::string& name, unsigned threads, int loads,
             const std::function<void(const buffer_ring&, int)>& run) {
    search_.offer(name + "(" + std::to_string(threads) + ")x" + std::to_string(loads), run);
  }
  static const uint4* input(const buffer_ring& r, int i) { return static_cast<const uint4*>(r.input(i)); }
  static uint4* output(const buffer_ring& r, int i) { return static_cast<uint4*>(r.output(i)); }

  size_t bytes_;
  size_t row_bytes_;
  bool copies_;
  cudaStream_t stream_;
  std::shared_ptr<unsigned> words_;  // lives as long as the run that uses it
  limit_search search_;
};

}  // namespace

limit fastest_exchange(const buffer_ring& ring, size_t bytes, size_t row_bytes, bool copies, int repeats,
                       cudaStream_t stream) {
  exchanges s(ring, bytes, row_bytes, copies, repeats, stream);
  s.by_clusters<1>();
  s.by_clusters<2>();
  s.by_clusters<4>();
  s.by_clusters<8>();
  s.by_launches<1>();
  s.by_launches<2>();
  s.by_launches<4>();
  check(cudaStreamSynchronize(stream), "exchanges");
  return s.best();
}

}  // namespace warpcheck::bench
