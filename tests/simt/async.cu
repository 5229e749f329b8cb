// Defects of clusters, the grid barrier, asynchronous copies, mbarriers and launches that overlap, each (Bug = true)
// beside its correct twin.
#include "simt/simt.hpp"

namespace warpcheck::self {
inline namespace SIMT_DEVICE_NS {

// ---- clusters

// Sums a value over the cluster's blocks through their shared memory. Flaw 1: no barrier before reading the peers';
// flaw 2: none after, so that a peer may be gone; flaw 3: reads between arrive and wait.
template <int Flaw>
__global__ void cluster_sum(int* out) {
  SIMT_SHARED(value, int);
  if (threadIdx.x == 0) value = static_cast<int>(simt::cluster_rank()) + 1;  // @cluster_no_barrier @cluster_before_wait
  if (Flaw == 3)
    simt::cluster_arrive();
  else if (Flaw != 1)
    simt::cluster_sync();
  int sum = 0;
  if (threadIdx.x == 0)
    for (unsigned r = 0; r < simt::cluster_size(); ++r)
      sum += *simt::map_shared_rank(&value, r);  // @cluster_no_barrier @cluster_before_wait @cluster_lifetime
  if (Flaw == 3) simt::cluster_wait();
  if (Flaw != 2) simt::cluster_sync();
  if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

// Block 1 leaves early; block 0 then writes into its shared memory.
template <bool Bug>
__global__ void write_after_exit(int* out) {
  SIMT_SHARED(inbox, int);
  if (threadIdx.x == 0) inbox = 0;
  simt::cluster_sync();
  if (simt::cluster_rank() == 0 && threadIdx.x == 0) *simt::map_shared_rank(&inbox, 1) = 7;  // @write_after_exit
  if (!Bug) simt::cluster_sync();
  if (!Bug && simt::cluster_rank() == 1 && threadIdx.x == 0) out[0] = inbox;
}

template <bool Bug>
__global__ void rank_outside(int* out) {
  SIMT_SHARED(value, int);
  if (threadIdx.x == 0) value = 3;
  simt::cluster_sync();
  if (threadIdx.x == 0) out[blockIdx.x] = *simt::map_shared_rank(&value, Bug ? 2 : 1);  // @rank_outside
  simt::cluster_sync();
}

// The barrier of a cluster orders its own blocks, not those that had the same places before. Bug: all clusters write to
// one place.
template <bool Bug>
__global__ void cluster_marks(int* out) {
  const unsigned cluster = simt::cluster_id();
  simt::cluster_sync();
  if (simt::cluster_rank() == 0 && threadIdx.x == 0) out[Bug ? 0 : cluster] = 1;  // @cluster_marks
  simt::cluster_sync();
  simt::cluster_sync();
}

__global__ void fill(int* out) { out[blockIdx.x] = 1; }

// ---- grid barrier

// Each block publishes, then reads its neighbour's. Flaw 1: a block barrier in the grid barrier's place; flaw 2: one
// block skips it.
template <int Flaw>
__global__ void grid_exchange(int* values, int* out) {
  if (threadIdx.x == 0) values[blockIdx.x] = static_cast<int>(blockIdx.x) * 10;  // @grid_block_barrier
  if (Flaw == 2 && blockIdx.x == 1) return;
  if (Flaw == 1)
    __syncthreads();
  else
    simt::grid_sync();                                                           // @grid_skipped
  if (threadIdx.x == 0) out[blockIdx.x] = values[(blockIdx.x + 1) % gridDim.x];  // @grid_block_barrier
}

// ---- cp.async

// Reverses a tile that arrives asynchronously. Flaw 1: no wait; flaw 2: waits, but for all groups except the newest;
// flaw 3: no barrier, so that only the own elements are safe.
template <int Flaw>
__global__ void async_tile(const float* in, float* out) {
  SIMT_SHARED(tile, float[64]);
  const int t = static_cast<int>(threadIdx.x);
  simt::cp_async<4>(&tile[t], in + t);  // @cp_async_no_wait @cp_async_wait_too_few @cp_async_no_barrier
  simt::cp_async_commit();
  if (Flaw == 2)
    simt::cp_async_wait<1>();
  else if (Flaw != 1)
    simt::cp_async_wait<0>();
  if (Flaw != 3) __syncthreads();
  out[t] = tile[63 - t];  // @cp_async_no_wait @cp_async_wait_too_few @cp_async_no_barrier
}

// Two stages. Bug: the next tile is fetched into the stage that others still read.
template <bool Bug>
__global__ void async_pipeline(const float* in, float* out, int tiles) {
  SIMT_SHARED(stage, float[2][64]);
  const int t = static_cast<int>(threadIdx.x);
  simt::cp_async<4>(&stage[0][t], in + t);
  simt::cp_async_commit();
  float sum = 0.0f;
  for (int k = 0; k < tiles; ++k) {
    if (k + 1 < tiles) simt::cp_async<4>(&stage[(k + 1) % 2][t], in + 64 * (k + 1) + t);  // @async_pipeline
    simt::cp_async_commit();
    simt::cp_async_wait<1>();
    __syncthreads();
    sum += stage[k % 2][63 - t];  // @async_pipeline
    if (!Bug) __syncthreads();
  }
  out[t] = sum;
}

// Overwrites the source before the copy is known to have read it.
template <bool Bug>
__global__ void overwritten_source(float* data, float* out) {
  SIMT_SHARED(tile, float[64]);
  const int t = static_cast<int>(threadIdx.x);
  simt::cp_async<4>(&tile[t], data + t);  // @overwritten_source
  simt::cp_async_commit();
  if (!Bug) simt::cp_async_wait<0>();
  data[t] = -1.0f;  // @overwritten_source
  simt::cp_async_wait<0>();
  out[t] = tile[t];
}

template <bool Bug>
__global__ void async_bounds(const float* in, float* out) {
  SIMT_SHARED(tile, float[64]);
  const int t = static_cast<int>(threadIdx.x);
  simt::cp_async<4>(&tile[t], in + (Bug ? t + 1 : t));  // @async_bounds
  simt::cp_async_commit();
  simt::cp_async_wait<0>();
  out[t] = tile[t];
}

// ---- mbarriers and bulk copies

// One thread fetches 64 floats, all read them. Flaws: 1 no wait; 2 the wrong parity; 3 init not ordered before use;
// 4 the phase expects fewer bytes than come; 5 never initialised; 6 misaligned; 7 nobody waits and the block exits.
template <int Flaw>
__global__ void bulk_tile(const float* in, float* out) {
  SIMT_SHARED(full, simt::mbarrier);
  SIMT_DYN_SHARED(float, tile);
  const int t = static_cast<int>(threadIdx.x);
  if (Flaw != 5 && t == 0) full.init(1);  // @mbarrier_init_unordered
  if (Flaw != 3) __syncthreads();
  if (t == 0) {
    full.arrive_expect_tx(Flaw == 4 ? 128 : 256);  // @mbarrier_uninitialised
    const float* source = in + (Flaw == 6 ? 1 : 0);
    simt::bulk_copy(tile, source, 256, &full);  // @bulk_no_wait @mbarrier_parity @bulk_misaligned @bulk_outlives_block
  }
  if (Flaw == 7) return;
  if (Flaw != 1) full.wait(Flaw == 2 ? 1 : 0);  // @mbarrier_bytes @mbarrier_init_unordered @mbarrier_uninitialised
  out[t] = tile[63 - t];                        // @bulk_no_wait @mbarrier_parity
}

// A hint to fetch what is read then. Flaw 1: of bytes that no prefetch takes; flaw 2: from where none begins.
template <int Flaw>
__global__ void prefetched_tile(const float* in, float* out) {
  const int t = static_cast<int>(threadIdx.x);
  if (t == 0) simt::bulk_prefetch(in + (Flaw == 2 ? 1 : 0), Flaw == 1 ? 248 : 256);  // @prefetch_bytes @prefetch_start
  out[t] = in[63 - t];
}

// Two stages with full and empty mbarriers; one producer thread, 64 consumers. Bug: the producer does not wait for
// empty.
template <bool Bug>
__global__ void bulk_pipeline(const float* in, float* out, int tiles) {
  SIMT_SHARED(full, simt::mbarrier[2]);
  SIMT_SHARED(empty, simt::mbarrier[2]);
  SIMT_DYN_SHARED(float, stage);
  const int t = static_cast<int>(threadIdx.x);
  if (t < 2) {
    full[t].init(1);
    empty[t].init(64);
  }
  __syncthreads();
  if (t == 64) {
    for (int k = 0; k < tiles; ++k) {
      const int s = k % 2;
      if (!Bug && k >= 2) empty[s].wait(static_cast<unsigned>(k / 2 - 1) & 1);
      full[s].arrive_expect_tx(256);                                // @bulk_pipeline
      simt::bulk_copy(stage + 64 * s, in + 64 * k, 256, &full[s]);  // @bulk_pipeline
    }
  } else if (t < 64) {
    float sum = 0.0f;
    for (int k = 0; k < tiles; ++k) {
      const int s = k % 2;
      full[s].wait(static_cast<unsigned>(k / 2) & 1);
      sum += stage[64 * s + 63 - t];  // @bulk_pipeline
      simt::fence_proxy_async();
      empty[s].arrive();
    }
    out[t] = sum;
  }
}

// Bug: a second arrival at a phase that expects one, and is still waiting for bytes.
template <bool Bug>
__global__ void too_many_arrivals(const float* in, float* out) {
  SIMT_SHARED(gate, simt::mbarrier);
  SIMT_DYN_SHARED(float, tile);
  const int t = static_cast<int>(threadIdx.x);
  if (t == 0) gate.init(Bug ? 1 : 2);
  __syncthreads();
  if (t == 0) gate.arrive_expect_tx(256);
  __syncthreads();
  if (t == 1) gate.arrive();  // @too_many_arrivals
  if (t == 0) simt::bulk_copy(tile, in, 256, &gate);
  gate.wait(0);  // @too_many_arrivals
  out[t] = tile[63 - t];
}

template <bool Bug>
__global__ void too_few_arrivals(int* out) {
  SIMT_SHARED(gate, simt::mbarrier);
  if (threadIdx.x == 0) gate.init(Bug ? 33 : 32);
  __syncthreads();
  gate.arrive();
  gate.wait(0);  // @too_few_arrivals
  out[threadIdx.x] = 1;
}

// Block 0 stores into block 1, which must wait for the mbarrier before reading. Flaw 1: it does not wait; flaw 2: the
// store completes on the mbarrier of another block than it goes to.
template <int Flaw>
__global__ void remote_store(int* out) {
  SIMT_SHARED(arrived, simt::mbarrier);
  SIMT_SHARED(inbox, int[32]);
  if (threadIdx.x == 0) {
    arrived.init(1);
    if (simt::cluster_rank() == 1) arrived.arrive_expect_tx(128);
  }
  simt::cluster_sync();
  if (simt::cluster_rank() == 0) {
    simt::mbarrier* barrier = simt::map_shared_rank(&arrived, Flaw == 2 ? 0 : 1);
    int* target = simt::map_shared_rank(&inbox[threadIdx.x], 1);
    simt::store_remote(barrier, target, static_cast<int>(threadIdx.x));  // @remote_store @remote_store_barrier
  } else {
    if (Flaw != 1) arrived.wait(0);
    out[threadIdx.x] = inbox[threadIdx.x];  // @remote_store
  }
  simt::cluster_sync();
}

// Two blocks store into each other. What a block has waited for keeps its shared memory alive until it has landed.
template <bool Bug>
__global__ void remote_exchange(int* out) {
  SIMT_SHARED(arrived, simt::mbarrier);
  SIMT_SHARED(inbox, int[32]);
  if (threadIdx.x == 0) {
    arrived.init(1);
    arrived.arrive_expect_tx(128);
  }
  simt::cluster_arrive_relaxed();
  simt::cluster_wait();
  const unsigned peer = 1 - simt::cluster_rank();
  simt::store_remote(simt::map_shared_rank(&arrived, peer), simt::map_shared_rank(&inbox[threadIdx.x], peer),
                     static_cast<int>(threadIdx.x));
  if (Bug) return;
  arrived.wait(0);
  out[simt::cluster_rank() * 32 + threadIdx.x] = inbox[threadIdx.x];
}

// A thread of many epochs writes and leaves; its block hands that to the cluster. Bug: without waiting for it.
template <bool Bug>
__global__ void exit_before_cluster_barrier(int* data, int* out) {
  if (simt::cluster_rank() == 0 && threadIdx.x == 1) {
    for (int i = 0; i < 5000; ++i) __threadfence();
    data[0] = 42;  // @exit_before_cluster_barrier
  }
  if (!Bug) __syncthreads();
  if (threadIdx.x == 1) return;
  simt::cluster_sync();
  if (simt::cluster_rank() == 1 && threadIdx.x == 0) out[0] = data[0];  // @exit_before_cluster_barrier
}

// A counter of arrivals across the cluster.
__global__ void remote_arrival(int* out) {
  SIMT_SHARED(gate, simt::mbarrier);
  SIMT_SHARED(value, int[4]);
  if (threadIdx.x == 0) gate.init(4);
  simt::cluster_sync();
  if (threadIdx.x == 0) {
    value[0] = static_cast<int>(simt::cluster_rank());
    *simt::map_shared_rank(&value[simt::cluster_rank()], 0) = static_cast<int>(simt::cluster_rank()) * 5;
    gate.arrive_remote(0);
  }
  if (simt::cluster_rank() == 0 && threadIdx.x == 0) {
    while (!gate.try_wait(0)) {
    }
    out[0] = value[0] + value[1] + value[2] + value[3];
  }
  simt::cluster_sync();
}

// ---- launches that overlap

__global__ void write_ranks(int* x) {
  const int t = static_cast<int>(threadIdx.x);
  simt::trigger_dependents();
  x[t] = t;  // @overlap_no_wait @overlap_one_waits @overlap_overwrites @overlap_chain
}

// Adds to what the launch before wrote. Flaw 1: nobody waits for it; flaw 2: one thread does, and no barrier follows;
// flaw 3: writes to the same place before it waits.
template <int Flaw>
__global__ void add_to_ranks(int* x, int* out) {
  const unsigned t = threadIdx.x;
  if (Flaw == 3) x[t] = 1;  // @overlap_overwrites
  if (Flaw != 1 && t == 0) simt::grid_dependency_wait();
  if (Flaw == 0) __syncthreads();
  out[t] = x[t] + 1;  // @overlap_no_wait @overlap_one_waits @overlap_chain
}

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck::self

#ifndef __CUDACC__

#include <vector>

#include "tests/simt/device_array.hpp"
#include "tests/simt/trial.hpp"

namespace warpcheck::self {
namespace {

using stream = simt::emulation*;

simt::launch_config clustered(stream s, unsigned blocks, unsigned threads, unsigned cluster) {
  simt::launch_config config{dim3(blocks), dim3(threads), 0, s};
  config.cluster = cluster;
  return config;
}

template <int Flaw>
bool run_cluster_sum(stream s) {
  device_array<int> out(16);
  simt::launch(clustered(s, 16, 64, 4), cluster_sum<Flaw>, out.data());
  for (size_t b = 0; b < 16; ++b)
    if (out[b] != 10) return false;
  return true;
}

template <bool Bug>
bool run_write_after_exit(stream s) {
  device_array<int> out(1);
  simt::launch(clustered(s, 2, 32, 2), write_after_exit<Bug>, out.data());
  return out[0] == 7;
}

template <bool Bug>
bool run_rank_outside(stream s) {
  device_array<int> out(2);
  simt::launch(clustered(s, 2, 32, 2), rank_outside<Bug>, out.data());
  return out[0] == 3;
}

template <bool Bug>
bool run_cluster_marks(stream s) {
  device_array<int> out(5);
  s->resident_blocks = 2;
  simt::launch(clustered(s, 10, 32, 2), cluster_marks<Bug>, out.data());
  return out[4] == 1;
}

template <bool Bug>
bool run_exit_before_cluster_barrier(stream s) {
  device_array<int> data(1), out(1);
  simt::launch(clustered(s, 2, 64, 2), exit_before_cluster_barrier<Bug>, data.data(), out.data());
  return out[0] == 42;
}

template <unsigned Blocks, unsigned Cluster>
bool run_fill(stream s) {
  device_array<int> out(Blocks);
  simt::launch(clustered(s, Blocks, 1, Cluster), fill, out.data());
  return out[Blocks - 1] == 1;
}

template <int Flaw, bool Cooperative = true, unsigned Blocks = 6>
bool run_grid_exchange(stream s) {
  device_array<int> values(Blocks), out(Blocks);
  simt::launch_config config{dim3(Blocks), dim3(64), 0, s};
  config.cooperative = Cooperative;
  simt::launch(config, grid_exchange<Flaw>, values.data(), out.data());
  return out[0] == 10 && out[Blocks - 1] == 0;
}

template <class Kernel>
bool run_tiles(stream s, Kernel kernel, size_t dynamic, unsigned threads = 64) {
  device_array<float> in(68), out(64);
  for (size_t i = 0; i < 68; ++i) in[i] = static_cast<float>(i);
  simt::launch({dim3(1), dim3(threads), dynamic, s}, kernel, static_cast<const float*>(in.data()), out.data());
  for (size_t i = 0; i < 64; ++i)
    if (out[i] != static_cast<float>(63 - i)) return false;
  return true;
}

template <class Kernel>
bool run_pipeline(stream s, Kernel kernel, size_t dynamic, unsigned threads) {
  constexpr int k_tiles = 7;
  device_array<float> in(64 * k_tiles), out(64);
  for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i);
  simt::launch({dim3(1), dim3(threads), dynamic, s}, kernel, static_cast<const float*>(in.data()), out.data(), k_tiles);
  for (size_t i = 0; i < 64; ++i)
    if (out[i] != static_cast<float>(64 * 21 + k_tiles * (63 - i))) return false;
  return true;
}

template <bool Bug>
bool run_overwritten_source(stream s) {
  device_array<float> data(64), out(64);
  for (size_t i = 0; i < 64; ++i) data[i] = 2.0f;
  simt::launch({dim3(1), dim3(64), 0, s}, overwritten_source<Bug>, data.data(), out.data());
  return out[63] == 2.0f;
}

template <bool Bug>
bool run_async_bounds(stream s) {
  device_array<float> in(64), out(64);
  simt::launch({dim3(1), dim3(64), 0, s}, async_bounds<Bug>, static_cast<const float*>(in.data()), out.data());
  return out[63] == 0.0f;
}

template <bool Bug>
bool run_too_few_arrivals(stream s) {
  device_array<int> out(32);
  simt::launch({dim3(1), dim3(32), 0, s}, too_few_arrivals<Bug>, out.data());
  return out[31] == 1;
}

template <int Flaw>
bool run_remote_store(stream s) {
  device_array<int> out(32);
  simt::launch(clustered(s, 2, 32, 2), remote_store<Flaw>, out.data());
  return out[31] == 31;
}

template <bool Bug>
bool run_remote_exchange(stream s) {
  device_array<int> out(64);
  simt::launch(clustered(s, 2, 32, 2), remote_exchange<Bug>, out.data());
  return out[31] == 31 && out[63] == 31;
}

bool run_remote_arrival(stream s) {
  device_array<int> out(1);
  simt::launch(clustered(s, 4, 32, 4), remote_arrival, out.data());
  return out[0] == 30;
}

simt::launch_config overlapping(stream s) {
  simt::launch_config config{1, 64, 0, s};
  config.programmatic_launch = true;
  return config;
}

template <int Flaw>
bool run_overlap(stream s) {
  device_array<int> x(64), out(64);
  simt::launch({1, 64, 0, s}, write_ranks, x.data());
  simt::launch(overlapping(s), add_to_ranks<Flaw>, x.data(), out.data());
  return out[63] == 64;
}

// The third launch reads what the second wrote, after waiting; Bug: what the first wrote, for which the second waited.
template <bool Bug>
bool run_overlap_chain(stream s) {
  device_array<int> x(64), y(64), out(64);
  simt::launch({1, 64, 0, s}, write_ranks, x.data());
  simt::launch(overlapping(s), add_to_ranks<0>, x.data(), y.data());
  simt::launch(overlapping(s), add_to_ranks<int{Bug}>, Bug ? x.data() : y.data(), out.data());
  return out[63] == 65;
}

// A launch that waits for nobody is ordered after what comes before a copy (0), an ordinary launch (1) or the end of an
// allocation, whose memory may be used anew (2).
template <int Between>
bool run_overlap_settled(stream s) {
  device_array<int> out(64), other(64);
  const auto ranks = [] { return static_cast<int*>(simt::device_alloc(256, 0, sizeof(int))); };
  int* x = ranks();
  simt::launch({1, 64, 0, s}, write_ranks, x);
  if (Between == 0) simt::memcpy_async(other.data(), x, 256, s);
  if (Between == 1) simt::launch({1, 64, 0, s}, write_ranks, other.data());
  if (Between == 2) {
    const int* const before = x;
    simt::device_free(x);
    for (int attempt = 0; attempt < 64 && (x = ranks()) != before; ++attempt) simt::device_free(x);
    for (int i = 0; i < 64; ++i) x[i] = i;
  }
  simt::launch(overlapping(s), add_to_ranks<1>, x, out.data());
  simt::device_free(x);
  return out[63] == 64;
}

const std::vector<trial> k_trials = {
    {"cluster_no_barrier", "race", run_cluster_sum<1>},
    {"cluster_lifetime", "race|out_of_bounds", run_cluster_sum<2>},
    {"cluster_before_wait", "race", run_cluster_sum<3>},
    {"cluster_sum", "", run_cluster_sum<0>},
    {"write_after_exit", "race|out_of_bounds", run_write_after_exit<true>, run_write_after_exit<false>},
    {"rank_outside", "out_of_bounds", run_rank_outside<true>, run_rank_outside<false>},
    {"cluster_marks", "race", run_cluster_marks<true>, run_cluster_marks<false>},
    {"exit_before_cluster_barrier", "race", run_exit_before_cluster_barrier<true>,
     run_exit_before_cluster_barrier<false>},
    {"cluster_does_not_divide", "launch_limit", run_fill<6, 4>},
    {"cluster_divides", "", run_fill<8, 4>},
    {"cluster_too_large", "launch_limit", run_fill<32, 32>},
    {"cluster_of_sixteen", "", run_fill<32, 16>},
    {"grid_block_barrier", "race", run_grid_exchange<1>},
    {"grid_skipped", "deadlock", run_grid_exchange<2>},
    {"grid_exchange", "", run_grid_exchange<0>},
    {"grid_not_cooperative", "launch_limit", run_grid_exchange<0, false>},
    {"grid_too_large", "launch_limit", run_grid_exchange<0, true, 129>},
    {"grid_full", "", run_grid_exchange<0, true, 128>},
    {"cp_async_no_wait", "race", [](stream s) { return run_tiles(s, async_tile<1>, 0); }},
    {"cp_async_wait_too_few", "race", [](stream s) { return run_tiles(s, async_tile<2>, 0); }},
    {"cp_async_no_barrier", "race", [](stream s) { return run_tiles(s, async_tile<3>, 0); }},
    {"cp_async", "", [](stream s) { return run_tiles(s, async_tile<0>, 0); }},
    {"async_pipeline", "race", [](stream s) { return run_pipeline(s, async_pipeline<true>, 0, 64); },
     [](stream s) { return run_pipeline(s, async_pipeline<false>, 0, 64); }},
    {"overwritten_source", "race", run_overwritten_source<true>, run_overwritten_source<false>},
    {"async_bounds", "out_of_bounds", run_async_bounds<true>, run_async_bounds<false>},
    {"bulk_no_wait", "race", [](stream s) { return run_tiles(s, bulk_tile<1>, 256); }},
    {"mbarrier_parity", "race", [](stream s) { return run_tiles(s, bulk_tile<2>, 256); }},
    {"mbarrier_init_unordered", "race|uninitialized", [](stream s) { return run_tiles(s, bulk_tile<3>, 256); }},
    {"mbarrier_bytes", "deadlock", [](stream s) { return run_tiles(s, bulk_tile<4>, 256); }},
    {"mbarrier_uninitialised", "uninitialized", [](stream s) { return run_tiles(s, bulk_tile<5>, 256); }},
    {"bulk_misaligned", "misaligned", [](stream s) { return run_tiles(s, bulk_tile<6>, 256); }},
    {"bulk_outlives_block", "race", [](stream s) { return run_tiles(s, bulk_tile<7>, 256); }},
    {"bulk_tile", "", [](stream s) { return run_tiles(s, bulk_tile<0>, 256); }},
    {"prefetch_bytes", "misaligned", [](stream s) { return run_tiles(s, prefetched_tile<1>, 0); }},
    {"prefetch_start", "misaligned", [](stream s) { return run_tiles(s, prefetched_tile<2>, 0); }},
    {"prefetch", "", [](stream s) { return run_tiles(s, prefetched_tile<0>, 0); }},
    {"bulk_pipeline", "race|divergence", [](stream s) { return run_pipeline(s, bulk_pipeline<true>, 512, 96); },
     [](stream s) { return run_pipeline(s, bulk_pipeline<false>, 512, 96); }},
    {"too_many_arrivals", "divergence|deadlock", [](stream s) { return run_tiles(s, too_many_arrivals<true>, 256); },
     [](stream s) { return run_tiles(s, too_many_arrivals<false>, 256); }},
    {"too_few_arrivals", "deadlock", run_too_few_arrivals<true>, run_too_few_arrivals<false>},
    {"remote_store", "race", run_remote_store<1>, run_remote_store<0>},
    {"remote_store_barrier", "out_of_bounds", run_remote_store<2>},
    {"remote_exchange", "race|out_of_bounds", run_remote_exchange<true>, run_remote_exchange<false>},
    {"remote_arrival", "", run_remote_arrival},
    {"overlap_no_wait", "race", run_overlap<1>},
    {"overlap_one_waits", "race", run_overlap<2>},
    {"overlap_overwrites", "race", run_overlap<3>},
    {"overlap", "", run_overlap<0>},
    {"overlap_chain", "race", run_overlap_chain<true>, run_overlap_chain<false>},
    {"overlap_after_copy", "", run_overlap_settled<0>},
    {"overlap_after_launch", "", run_overlap_settled<1>},
    {"overlap_after_free", "", run_overlap_settled<2>},
};

}  // namespace

std::vector<trial> async_trials() { return k_trials; }

}  // namespace warpcheck::self

#endif
