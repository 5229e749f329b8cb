// Parts of cooperative groups and of the libraries beside them, each in a mode of its own.
#include <cooperative_groups.h>
#include <cooperative_groups/details/scan.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include <cstring>
#include <cuda/atomic>

#include "on_device.cuh"

namespace cg = cooperative_groups;

// A group of which kind is known when the kernel runs.
__device__ int sum(cg::thread_group g, int* s, int v) {
  const int rank = g.thread_rank();
  for (int offset = g.size() / 2; offset > 0; offset /= 2) {
    s[rank] = v;
    g.sync();
    if (rank < offset) v += s[rank + offset];
    g.sync();
  }
  return v;
}
__global__ void any_group(int* y) {
  __shared__ int s[64];
  const int all = sum(cg::this_thread_block(), s, 1);
  const cg::thread_group tile = cg::tiled_partition(cg::this_thread_block(), 16);
  const int of_tile = sum(tile, s + threadIdx.x / 16 * 16, 1);
  y[threadIdx.x] = threadIdx.x == 0 ? 1000 * all + of_tile : tile.thread_rank();
}

// The functions beside the members of the same meaning.
__global__ void free_functions(int* y) {
  const cg::thread_block_tile<16> tile = cg::tiled_partition<16>(cg::this_thread_block());
  y[cg::thread_rank(cg::this_thread_block())] = 100 * cg::group_size(tile) + cg::thread_rank(tile);
  cg::sync(cg::this_thread_block());
  if (cg::thread_rank(cg::this_thread_block()) == 0) y[0] = 10000 * cg::group_size(cg::this_thread_block()) + y[63];
}

// Values of 16 bytes.
__global__ void wide_shuffle(int* y) {
  cg::thread_block_tile<32> warp = cg::tiled_partition<32>(cg::this_thread_block());
  const int4 v = warp.shfl(make_int4(threadIdx.x, 1, 2, threadIdx.x + 3), 5);
  y[threadIdx.x] = 1000 * v.x + v.w;
}

// Lanes of one label, and those for which a predicate holds.
__global__ void parts(int* y) {
  auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  auto same = cg::labeled_partition(warp, (int)(warp.thread_rank() % 3));
  auto chosen = cg::binary_partition(warp, warp.thread_rank() > 7);
  const int first = chosen.shfl((int)warp.thread_rank(), 0);
  y[threadIdx.x] = 10000 * same.size() + 100 * chosen.size() + 10 * first + cg::reduce(same, 1, cg::plus<int>()) % 10;
}

__global__ void scans(int* y) {
  auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  const int before = cg::exclusive_scan(warp, (int)warp.thread_rank());
  const int through = cg::inclusive_scan(warp, (int)warp.thread_rank(), cg::greater<int>());
  y[31 - threadIdx.x % 32 + threadIdx.x / 32 * 32] = 100 * before + through;
}

__global__ void group_copy(int* y) {
  __shared__ int s[65];
  auto block = cg::this_thread_block();
  cg::memcpy_async(block, s, y, 65 * sizeof(int));
  cg::wait(block);
  y[threadIdx.x] = s[64 - threadIdx.x] + s[threadIdx.x];
}

__global__ void pipeline_copy(int* y) {
  __shared__ int s[64];
  __pipeline_memcpy_async(&s[threadIdx.x], &y[threadIdx.x + 1], 4);
  __pipeline_commit();
  __pipeline_wait_prior(0);
#ifndef NO_BARRIER
  __syncthreads();
#endif
  y[threadIdx.x] = s[63 - threadIdx.x];  // no-barrier
}

// A tile of two warps, with the memory that GPUs before compute capability 8.0 need, and one without.
__global__ void wide_tiles(int* y) {
  __shared__ cg::block_tile_memory<64> memory;
  auto block = cg::this_thread_block(memory);
  const cg::thread_block_tile<64> tile = cg::tiled_partition<64>(block);
  const int rank = tile.thread_rank();
  y[rank] = cg::reduce(tile, rank, cg::plus<int>()) + tile.shfl(rank, 5) + tile.any(rank == 63);
}
__global__ void wide_scan(int* y) {
  const auto tile = cg::tiled_partition<64>(cg::this_thread_block());
  const auto warp = cg::tiled_partition<32>(tile);
  const int rank = tile.thread_rank();
  const int before = cg::exclusive_scan(tile, rank), through = cg::inclusive_scan(tile, rank);
  y[63 - rank] = rank;
#ifndef NO_BARRIER
  tile.sync();
#endif
  y[rank] = 100 * (before + through) + y[rank] + warp.meta_group_rank();  // no-tile-barrier
}

// The place of a group among the parts of the one that was divided.
__global__ void places(int* y) {
  const auto block = cg::this_thread_block();
  const auto warp = cg::tiled_partition<32>(block);
  const auto eighth = cg::tiled_partition<4>(warp);
  const cg::thread_block_tile<4> of_any_parent = eighth;
  const auto same = cg::labeled_partition(warp, (int)(5 - warp.thread_rank() % 3));
  const auto late = cg::binary_partition(warp, warp.thread_rank() > 7);
  const auto pair = cg::tiled_partition(late, 16);
  const int of_tiles = 10 * warp.meta_group_rank() + eighth.meta_group_rank() + of_any_parent.meta_group_size();
  const int of_labels = 10 * same.meta_group_rank() + same.meta_group_size();
  const int of_halves = 100 * late.meta_group_rank() + 10 * pair.meta_group_rank() + pair.size();
  y[threadIdx.x] = 1000000 * of_tiles + 1000 * of_labels + of_halves;
}
__global__ void whole_grid(int* y) {
  const auto grid = cg::this_grid();
  const auto cluster = cg::this_cluster();
  y[grid.thread_rank()] = 1000 * grid.dim_threads().x + 10 * grid.thread_index().x + grid.is_valid() +
                          cluster.thread_index().x / 64 + grid.num_clusters() - cluster.num_blocks();
}

// Values of a warp into shared variables, a place for what each thread needs, and calls by one thread.
__global__ void updates(int* y) {
  __shared__ cuda::atomic<int, cuda::thread_scope_block> sum, least, used;
  __shared__ int product, calls[2];
  auto block = cg::this_thread_block();
  auto warp = cg::tiled_partition<32>(block);
  const int rank = threadIdx.x;
  if (rank == 0) {
    sum = 0, least = 1000, used = 5;
    product = 1, calls[0] = calls[1] = 0;
  }
  block.sync();
  cg::reduce_update_async(warp, sum, rank, cg::plus<int>());
  cg::reduce_update_async(warp, least, 7 + rank, cg::less<int>());
  cg::reduce_update_async(warp, cuda::atomic_ref<int, cuda::thread_scope_block>(product), 1 + rank / 32,
                          [](int a, int b) { return a * b % 1009; });
  const int place = cg::exclusive_scan_update(warp, used, 1 + rank % 2);
  cg::invoke_one(
      warp, [&](int n) { calls[rank / 32] = n; }, 3);
  const int of_first = cg::invoke_one_broadcast(warp, [&] { return rank + 1; });
  block.sync();
  // Either warp may come first. Its first place is 5, that of the other one 53.
  const bool is_right = sum == 2016 && least == 7 && product == 4294967296 % 1009 && used == 101 &&
                        calls[rank / 32] == 3 && of_first == 1 + rank / 32 * 32 &&
                        (place - rank % 32 / 2 * 3 - rank % 2 == 5 || place - rank % 32 / 2 * 3 - rank % 2 == 53);
  __shared__ cuda::atomic<int, cuda::thread_scope_block> stored;
  cg::reduce_store_async(warp, stored, rank, cg::greater<int>());
  block.sync();
  const int last = cg::inclusive_scan_update(warp, used, 1);
  const bool is_last_right = (stored == 31 || stored == 63) && (last - rank % 32 == 102 || last - rank % 32 == 134);
  y[rank] = is_right && is_last_right;
}

// A block's barrier in two parts.
__global__ void block_barrier(int* y) {
  __shared__ int s[64];
  const auto block = cg::this_thread_block();
  s[threadIdx.x] = threadIdx.x;
  auto arrived = block.barrier_arrive();
#ifndef NO_BARRIER
  block.barrier_wait(static_cast<decltype(arrived)&&>(arrived));
#endif
  y[threadIdx.x] = s[63 - threadIdx.x];  // no-wait
}

// Whether all lanes of a group have the same value.
__global__ void one_value(int* y) {
  const auto tile = cg::tiled_partition<16>(cg::this_thread_block());
  const auto odd = cg::binary_partition(tile, threadIdx.x % 2 == 1);
  int same = -1, different = -1, of_odd = -1;
  const unsigned all = tile.match_all(7, same), none = tile.match_all(threadIdx.x, different);
  const unsigned half = odd.match_all(threadIdx.x % 2, of_odd);
  if (all == 0xffff && same == 1 && none == 0 && different == 0 && half == 0xff && of_odd == 1) atomicAdd(y, 1);
}

// A counter and a message, with the orders that C++ gives them.
__global__ void atomics(int* y) {
  cuda::atomic_ref<int, cuda::thread_scope_device> count(y[0]), flag(y[1]);
  count.fetch_add(1);
  if (threadIdx.x == 0) {
    y[2] = 41;
    flag.store(1, cuda::memory_order_release);
  } else if (threadIdx.x == 63) {
    while (flag.load(cuda::std::memory_order_acquire) == 0) {
    }
    y[2] += 1;
  }
}

int main(int argc, char** argv) {
  const struct {
    const char* name;
    void (*kernel)(int*);
    int place, value;
  } modes[] = {{"any-group", any_group, 0, 64016},
               {"wide-shuffle", wide_shuffle, 0, 5008},
               {"free-functions", free_functions, 0, 641615},
               {"parts", parts, 9, 112481},
               {"scans", scans, 0, 46531},
               {"group-copy", group_copy, 0, 64},
               {"pipeline-copy", pipeline_copy, 0, 64},
               {"atomics", atomics, 2, 42},
               {"updates", updates, 40, 1},
               {"block-barrier", block_barrier, 0, 63},
               {"one-value", one_value, 0, 64},
               {"wide-tiles", wide_tiles, 0, 2022},
               {"wide-scan", wide_scan, 60, 360004},
               {"places", places, 61, 25023118},
               {"whole-grid", whole_grid, 63, 64630}};
  return run_modes(argc, argv, modes, [](const auto& m) {
    std::vector<int> numbers(65);
    for (int i = 0; std::strstr(m.name, "copy") && i < 65; ++i) numbers[i] = i;
    const on_device<int> y(numbers);
    m.kernel<<<1, 64>>>(y.p);
    return y.host()[m.place] == m.value;
  });
}
