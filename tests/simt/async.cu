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
__global__ void async_pipeline(const float* in, int tiles, float* out) {
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
__global__ void bulk_pipeline(const float* in, int tiles, float* out) {
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

#include "tests/simt/launched.hpp"

namespace warpcheck::self {
namespace {

simt::launch_config clusters(unsigned blocks, unsigned threads, unsigned cluster) {
  return {blocks, threads, 0, nullptr, cluster};
}

simt::launch_config grid_of(unsigned blocks, bool cooperative = true) {
  return {blocks, 64, 0, nullptr, 1, cooperative};
}

template <bool Bug>
bool run_cluster_marks(stream s) {
  device_array<int> out(5);
  s->resident_blocks = 2;
  simt::launch({10, 32, 0, s, 2}, cluster_marks<Bug>, out.data());
  return out[4] == 1;
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

// Each block gets the next one's number of tens.
template <class Kernel>
auto exchanged(simt::launch_config config, Kernel* kernel) {
  const int blocks = static_cast<int>(config.grid.x);
  return launched(
      config, kernel, blocks, [=](int b) { return (b + 1) % blocks * 10; }, std::vector<int>(config.grid.x));
}

template <class Kernel>
auto tile(Kernel* kernel, size_t dynamic) {
  return launched(
      {1, 64, dynamic}, kernel, 64, [](int i) { return 63 - i; }, made<float>(68, identity));
}

template <class Kernel>
auto tiles(Kernel* kernel, unsigned threads, size_t dynamic) {
  return launched(
      {1, threads, dynamic}, kernel, 64, [](int i) { return 64 * 21 + 7 * (63 - i); }, made<float>(64 * 7, identity),
      7);
}

const simt::launch_config k_pair = clusters(2, 32, 2);

const std::vector<trial> k_trials = {
    {"cluster_no_barrier", "race", launched(clusters(16, 64, 4), cluster_sum<1>, 16, 10)},
    {"cluster_lifetime", "race|out_of_bounds", launched(clusters(16, 64, 4), cluster_sum<2>, 16, 10)},
    {"cluster_before_wait", "race", launched(clusters(16, 64, 4), cluster_sum<3>, 16, 10)},
    {"cluster_sum", "", launched(clusters(16, 64, 4), cluster_sum<0>, 16, 10)},
    twins("write_after_exit", "race|out_of_bounds", k_pair, write_after_exit<true>, write_after_exit<false>, 1, 7),
    twins("rank_outside", "out_of_bounds", k_pair, rank_outside<true>, rank_outside<false>, 2, 3),
    {"cluster_marks", "race", run_cluster_marks<true>, run_cluster_marks<false>},
    twins("exit_before_cluster_barrier", "race", clusters(2, 64, 2), exit_before_cluster_barrier<true>,
          exit_before_cluster_barrier<false>, 1, 42, std::vector<int>(1)),
    {"cluster_does_not_divide", "launch_limit", launched(clusters(6, 1, 4), fill, 6, 1)},
    {"cluster_divides", "", launched(clusters(8, 1, 4), fill, 8, 1)},
    {"cluster_too_large", "launch_limit", launched(clusters(32, 1, 32), fill, 32, 1)},
    {"cluster_of_sixteen", "", launched(clusters(32, 1, 16), fill, 32, 1)},
    {"grid_block_barrier", "race", exchanged(grid_of(6), grid_exchange<1>)},
    {"grid_skipped", "deadlock", exchanged(grid_of(6), grid_exchange<2>)},
    {"grid_exchange", "", exchanged(grid_of(6), grid_exchange<0>)},
    {"grid_not_cooperative", "launch_limit", exchanged(grid_of(6, false), grid_exchange<0>)},
    {"grid_too_large", "launch_limit", exchanged(grid_of(129), grid_exchange<0>)},
    {"grid_full", "", exchanged(grid_of(128), grid_exchange<0>)},
    {"cp_async_no_wait", "race", tile(async_tile<1>, 0)},
    {"cp_async_wait_too_few", "race", tile(async_tile<2>, 0)},
    {"cp_async_no_barrier", "race", tile(async_tile<3>, 0)},
    {"cp_async", "", tile(async_tile<0>, 0)},
    {"async_pipeline", "race", tiles(async_pipeline<true>, 64, 0), tiles(async_pipeline<false>, 64, 0)},
    twins("overwritten_source", "race", {1, 64}, overwritten_source<true>, overwritten_source<false>, 64, 2,
          std::vector<float>(64, 2.0f)),
    twins("async_bounds", "out_of_bounds", {1, 64}, async_bounds<true>, async_bounds<false>, 64, 0,
          std::vector<float>(64)),
    {"bulk_no_wait", "race", tile(bulk_tile<1>, 256)},
    {"mbarrier_parity", "race", tile(bulk_tile<2>, 256)},
    {"mbarrier_init_unordered", "race|uninitialized", tile(bulk_tile<3>, 256)},
    {"mbarrier_bytes", "deadlock", tile(bulk_tile<4>, 256)},
    {"mbarrier_uninitialised", "uninitialized", tile(bulk_tile<5>, 256)},
    {"bulk_misaligned", "misaligned", tile(bulk_tile<6>, 256)},
    {"bulk_outlives_block", "race", tile(bulk_tile<7>, 256)},
    {"bulk_tile", "", tile(bulk_tile<0>, 256)},
    {"prefetch_bytes", "misaligned", tile(prefetched_tile<1>, 0)},
    {"prefetch_start", "misaligned", tile(prefetched_tile<2>, 0)},
    {"prefetch", "", tile(prefetched_tile<0>, 0)},
    {"bulk_pipeline", "race|divergence", tiles(bulk_pipeline<true>, 96, 512), tiles(bulk_pipeline<false>, 96, 512)},
    {"too_many_arrivals", "divergence|deadlock", tile(too_many_arrivals<true>, 256),
     tile(too_many_arrivals<false>, 256)},
    twins("too_few_arrivals", "deadlock", {1, 32}, too_few_arrivals<true>, too_few_arrivals<false>, 32, 1),
    twins("remote_store", "race", k_pair, remote_store<1>, remote_store<0>, 32, identity),
    {"remote_store_barrier", "out_of_bounds", launched(k_pair, remote_store<2>, 32, identity)},
    twins("remote_exchange", "race|out_of_bounds", k_pair, remote_exchange<true>, remote_exchange<false>, 64,
          [](int i) { return i % 32; }),
    {"remote_arrival", "", launched(clusters(4, 32, 4), remote_arrival, 1, 30)},
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
