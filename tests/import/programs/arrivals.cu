// Arrivals at mbarriers by copies and stores, threads that leave a barrier, votes at block barriers, numbers of 8 bits.
#include "tensor_copies.cuh"

__device__ void copy_16(void* to, const void* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(to)), "l"(from) : "memory");
}

// Every thread copies four numbers, and reads those of another thread when all copies have arrived.
template <bool Counts>
__global__ void copies(const int* from, int* to) {
  __shared__ alignas(16) int s[4 * k_threads];
  __shared__ uint64_t full;
  if (threadIdx.x == 0)
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(&full)), "r"(k_threads) : "memory");
  __syncthreads();
  copy_16(s + 4 * threadIdx.x, from + 4 * threadIdx.x);
#ifndef NO_ARRIVAL_OF_COPIES
  if (Counts)
    asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(shared_address(&full)) : "memory");
  else
    asm volatile("cp.async.mbarrier.arrive.shared::cta.b64 [%0];" ::"r"(shared_address(&full)) : "memory");
#endif
#ifdef OWN_BEFORE_WAIT
  to[threadIdx.x] = s[4 * threadIdx.x];
#endif
  bool arrives = !Counts;
#ifdef NO_ARRIVAL_OF_COPIES
  arrives = true;
#endif
  if (arrives) asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(&full)) : "memory");
  wait_for(&full, 0);
  for (int i = 0; i < 4; ++i) to[4 * threadIdx.x + i] = s[4 * (threadIdx.x ^ 1) + i];
}

bool copies_arrive(bool counts) {
  std::vector<int> data(4 * k_threads), right(data);
  for (int i = 0; i < 4 * k_threads; ++i) data[i] = 7 * i, right[i] = 7 * (i ^ 4);
  const on_device<int> in(data), out(data.size());
  if (counts)
    copies<true><<<1, k_threads>>>(in.p, out.p);
  else
    copies<false><<<1, k_threads>>>(in.p, out.p);
  return out.host() == right;
}

// Shared address of the same place in the other block of the pair.
__device__ uint32_t address_there(const void* here, uint32_t rank) {
  uint32_t there;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(shared_address(here)), "r"(rank ^ 1));
  return there;
}

// Each block sends a pair of numbers to the other one, whose barrier expects eight bytes.
__global__ void send(int* out) {
  __shared__ alignas(16) int s[2];
  __shared__ uint64_t full;
  uint32_t rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  if (threadIdx.x == 0) {
    init_barrier(&full);
#ifndef NO_EXPECTATION
    asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], 8;" ::"r"(shared_address(&full)) : "memory");
#endif
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(&full)) : "memory");
  }
  asm volatile("barrier.cluster.arrive.aligned;\n barrier.cluster.wait.aligned;" ::: "memory");
  if (threadIdx.x == 0) {
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [%0], {%1, %2}, [%3];" ::"r"(
                     address_there(s, rank)),
                 "r"(10 * rank + 1), "r"(10 * rank + 2), "r"(address_there(&full, rank))
                 : "memory");
  }
  wait_for(&full, 0);
  if (threadIdx.x < 2) out[2 * rank + threadIdx.x] = s[threadIdx.x];
  asm volatile("barrier.cluster.arrive.aligned;\n barrier.cluster.wait.aligned;" ::: "memory");
}

bool sends() {
  const on_device<int> out(4);
  launch_pair(send, out.p);
  return out.host() == std::vector<int>{11, 12, 1, 2};
}

// Each thread adds numbers to those of the other block, whose barrier expects their bytes.
__global__ void add(int* out) {
  __shared__ int s[4];
  __shared__ uint64_t full;
  uint32_t rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  if (threadIdx.x == 0) {
    s[0] = 0, s[1] = -1000, s[2] = 0, s[3] = 7;
    init_barrier(&full);
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(&full)),
                 "r"(16 * k_threads)
                 : "memory");
  }
  asm volatile("barrier.cluster.arrive.aligned;\n barrier.cluster.wait.aligned;" ::: "memory");
  const uint32_t there = address_there(s, rank), barrier_there = address_there(&full, rank);
#define ADD(OPERATION, PLACE, VALUE)                                                               \
  asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes." OPERATION \
               " [%0], %1, [%2];" ::"r"(there + 4 * PLACE),                                        \
               "r"(VALUE), "r"(barrier_there)                                                      \
               : "memory")
  ADD("add.u32", 0, threadIdx.x + 100 * rank);
  ADD("max.s32", 1, static_cast<int>(threadIdx.x) - 500);
  ADD("or.b32", 2, 1u << threadIdx.x % 32);
  ADD("inc.u32", 3, 9);
#undef ADD
  wait_for(&full, 0);
  if (threadIdx.x < 4) out[4 * rank + threadIdx.x] = s[threadIdx.x];
  asm volatile("barrier.cluster.arrive.aligned;\n barrier.cluster.wait.aligned;" ::: "memory");
}

bool adds() {
  const on_device<int> out(8);
  launch_pair(add, out.p);
  constexpr int sum = k_threads * (k_threads - 1) / 2, turns = (7 + k_threads) % 10;
  return out.host() ==
         std::vector<int>{sum + 100 * k_threads, k_threads - 501, -1, turns, sum, k_threads - 501, -1, turns};
}

// One thread fewer takes part in each turn; a copy of no thread's completes 16 bytes that the last turn expects.
__global__ void leave(int* out) {
  __shared__ int s[k_threads];
  __shared__ uint64_t turn;
  if (threadIdx.x == 0)
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(&turn)), "r"(k_threads) : "memory");
  __syncthreads();
  s[threadIdx.x] = 1;
  if (threadIdx.x != 0) {
    asm volatile("mbarrier.arrive_drop.shared::cta.b64 _, [%0];" ::"r"(shared_address(&turn)) : "memory");
    return;
  }
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(&turn)) : "memory");
  wait_for(&turn, 0);
  for (int i = 1; i < k_threads; ++i) s[0] += s[i];
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 16;" ::"r"(shared_address(&turn)) : "memory");
  asm volatile("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%0], 16;" ::"r"(shared_address(&turn)) : "memory");
  wait_for(&turn, 1);
  *out = s[0];
}

bool leaves() {
  const on_device<int> out(1);
  leave<<<1, k_threads>>>(out.p);
  return out.host()[0] == k_threads;
}

__global__ void vote(int* out) {
  int count, any, all;
  asm volatile(
      "{ .reg .pred p, q; setp.lt.u32 p, %3, 5; barrier.cta.red.popc.aligned.u32 %0, 0, p;\n"
      "barrier.cta.red.or.aligned.pred q, 0, p; selp.s32 %1, 1, 0, q;\n"
      "bar.red.and.pred q, 0, p; selp.s32 %2, 1, 0, q; }"
      : "=r"(count), "=r"(any), "=r"(all)
      : "r"(threadIdx.x));
  if (threadIdx.x == 0) *out = 100 * count + 10 * any + all;
}

// The same by each warp, and by the whole block at a barrier of another number; and arrivals that a phase waits for.
__global__ void vote_by_warps(int* out) {
  __shared__ uint64_t turn;
  int count, all, any, left;
  asm volatile("{ .reg .pred p; setp.lt.u32 p, %2, 5; barrier.cta.red.popc.u32 %0, %1, 32, !p; }"
               : "=r"(count)
               : "r"(1 + threadIdx.x / 32), "r"(threadIdx.x));
  asm volatile(
      "{ .reg .pred p, q; setp.lt.u32 p, %2, 32; bar.red.and.pred q, %3, 32, p; selp.s32 %0, 1, 0, q;\n"
      "bar.red.or.pred q, 7, %4, p; selp.s32 %1, 1, 0, q; }"
      : "=r"(all), "=r"(any)
      : "r"(threadIdx.x), "r"(1 + threadIdx.x / 32), "r"(k_threads));
  out[threadIdx.x] = 100 * count + 10 * all + any;
  if (threadIdx.x != 0) return;
  uint64_t state;
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 6;" ::"r"(shared_address(&turn)) : "memory");
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0], 2;" ::"r"(shared_address(&turn)) : "memory");
  asm volatile("mbarrier.arrive.shared::cta.b64 %0, [%1];" : "=l"(state) : "r"(shared_address(&turn)) : "memory");
  asm("mbarrier.pending_count.b64 %0, %1;" : "=r"(left) : "l"(state));
  out[k_threads] = left;
}

bool votes_by_warps() {
  const on_device<int> out(k_threads + 1);
  vote_by_warps<<<1, k_threads>>>(out.p);
  const std::vector<int> n = out.host();
  for (int i = 0; i < k_threads; ++i)
    if (n[i] != (i < 32 ? 2711 : 3201)) return std::printf("vote %d is %d\n", i, n[i]), false;
  return n[k_threads] == 4;
}

bool votes() {
  const on_device<int> out(1);
  vote<<<1, k_threads>>>(out.p);
  return out.host()[0] == 510;
}

__global__ void narrow(const float* from, unsigned* to) {
  const float high = from[2 * threadIdx.x + 1], low = from[2 * threadIdx.x];
  unsigned short a, b, c;
  unsigned back, cut, halves;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(a) : "f"(high), "f"(low));
  asm("cvt.rn.satfinite.relu.e5m2x2.f32 %0, %1, %2;" : "=h"(b) : "f"(high), "f"(low));
  asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(back) : "h"(a));
  asm("cvt.rn.relu.f16x2.e4m3x2 %0, %1;" : "=r"(cut) : "h"(a));
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(halves) : "f"(high), "f"(low));
  asm("cvt.rn.satfinite.e4m3x2.f16x2 %0, %1;" : "=h"(c) : "r"(halves));
  unsigned* const out = to + 5 * threadIdx.x;
  out[0] = a, out[1] = b, out[2] = back, out[3] = cut, out[4] = c;
}

bool narrows() {
  const on_device<float> in(std::vector<float>{1.0f, -2.5f, 1000.0f, 0.001953125f, -0.0625f, 464.0f});
  const unsigned right[] = {0xc238, 0x003c, 0xc1003c00, 0x00003c00, 0xc238,
                            0x017e, 0x1864, 0x18005f00, 0x18005f00, 0x017e,   // 448 is the largest number
                            0x7e98, 0x5f00, 0x5f00ac00, 0x5f000000, 0x7e98};  // 464 is a tie
  const on_device<unsigned> out(15);
  narrow<<<1, 3>>>(in.p, out.p);
  const std::vector<unsigned> got = out.host();
  bool is_right = true;
  for (int i = 0; i < 15; ++i)
    if (const unsigned x = got[i]; x != right[i])
      std::printf("number %d is %#x, right is %#x\n", i, x, right[i]), is_right = false;
  return is_right;
}

int main(int argc, char** argv) {
  const mode modes[] = {{"copies", [] { return copies_arrive(false) && copies_arrive(true); }},
                        {"sends", sends},
                        {"leaves", leaves},
                        {"adds", adds},
                        {"votes", votes},
                        {"votes by warps", votes_by_warps},
                        {"narrows", narrows}};
  return run_modes(argc, argv, modes);
}
