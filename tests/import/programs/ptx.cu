// Inline PTX, each kind of it in a mode of its own; the results are compared with plain loops.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "on_device.cuh"

constexpr int k_threads = 128, k_values = 1024;

__device__ uint32_t shared_address(const void* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }

__global__ void scalar(const float*, float* y) {
  const int t = threadIdx.x;
  uint32_t lane, r, majority, distance;
  uint64_t wide;
  float f, g = 0.5f;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  asm("{\n .reg .pred q;\n .reg .b32 a<2>;\n mad.lo.s32 a0, %1, 3, %2; // a comment\n setp.gt.s32 q, a0, 40;\n"
      " selp.b32 a1, 7, 9, q;\n @q add.s32 a1, a1, 100;\n xor.b32 %0, a0, a1;\n}"
      : "=r"(r)
      : "r"(t), "n"(5));
  asm("lop3.b32 %0, %1, %2, %3, 0xE8;" : "=r"(majority) : "r"(t), "r"(t >> 1), "r"(t << 1));
  asm("vabsdiff4.u32.u32.u32.add %0, %1, %2, %3;" : "=r"(distance) : "r"(0x05020001 + t), "r"(0x01040100), "r"(t));
  asm("mov.b64 %0, {%1, %2};" : "=l"(wide) : "r"(t), "r"(1));
  asm("fma.rn.f32 %0, %1, 0f40000000, %0;" : "+f"(g) : "f"(1.5f));
  asm("cvt.rn.f32.s32 %0, %1;" : "=f"(f) : "r"(-t));
  const int a = 3 * t + 5, b = a > 40 ? 107 : 9;
  const bool right = lane == t % 32 && r == (a ^ b) && majority == ((t & t >> 1) | (t & t << 1) | (t >> 1 & t << 1)) &&
                     wide == ((uint64_t{1} << 32) | t) && g == 3.5f && f == -t && distance == 8 + 2 * t;
  y[t] = right ? 1 : 0;
}

__global__ void memory(const float* x, float* y) {
  __shared__ __align__(16) float s[4 * k_threads];
  const int t = threadIdx.x;
  float a, b, c, d, e;
  asm volatile("ld.global.nc.L1::no_allocate.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(a), "=f"(b), "=f"(c), "=f"(d)
               : "l"(x + 4 * t));
  asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(shared_address(s + 4 * t)), "f"(d), "f"(c), "f"(b),
               "f"(a)
               : "memory");
  asm volatile("bar.sync 0;");
  asm volatile("ld.shared.f32 %0, [%1 + 4];" : "=f"(e) : "r"(shared_address(s) + 16 * (k_threads - 1 - t)));
  asm volatile("red.global.add.f32 [%0], %1;" ::"l"(y + t % 2 + k_threads), "f"(1.0f) : "memory");
  y[t] = e == x[4 * (k_threads - 1 - t) + 2] ? 1 : 0;
}

__global__ void warp(const float*, float* y) {
  const int t = threadIdx.x;
  int v = t;
  for (int lanes = 16; lanes > 0; lanes /= 2) {
    int other;
    asm volatile("shfl.sync.bfly.b32 %0, %1, %2, 0x1f, 0xffffffff;" : "=r"(other) : "r"(v), "r"(lanes));
    v += other;
  }
  uint32_t odd, chosen;
  asm volatile("{ .reg .pred p; setp.eq.u32 p, %1, 1; vote.sync.ballot.b32 %0, p, 0xffffffff; }"
               : "=r"(odd)
               : "r"(t & 1));
  asm volatile("{ .reg .pred P; elect.sync _|P, 0xffffffff; selp.u32 %0, 1, 0, P; }" : "=r"(chosen));
  int count = __popc(__ballot_sync(0xffffffff, chosen));
  y[t] = v == 32 * (t / 32 * 32) + 496 && odd == 0xaaaaaaaau && count == 1;
}

// The halves of the block meet at two lines, at a barrier whose number one half has in a register.
__global__ void barrier(const float*, float* y) {
  __shared__ float s[k_threads];
  const int t = threadIdx.x;
  s[t] = 1;
  if (t < k_threads / 2)
    asm volatile("bar.sync 0;" ::: "memory");
  else
#ifdef OTHER
    asm volatile("bar.sync %0;" ::"r"(t / k_threads + 1) : "memory");
#else
    asm volatile("bar.sync %0;" ::"r"(t / k_threads) : "memory");
#endif
  if (t < k_threads / 2) {
    y[t] = s[k_threads - 1 - t];
    return;
  }
  asm volatile("bar.sync 3;" ::: "memory");  // of the threads that have not exited
  y[t] = s[k_threads - 1 - t];
}

__global__ void cp_async(const float* x, float* y) {
  __shared__ __align__(16) float s[4 * k_threads];
  const int t = threadIdx.x;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(s + 4 * t)), "l"(x + 4 * t));
  asm volatile("cp.async.commit_group;\n" ::);
#ifndef NO_WAIT
  asm volatile("cp.async.wait_group %0;" ::"n"(0));
#endif
  __syncthreads();
  y[t] = s[4 * (k_threads - 1 - t)] == x[4 * (k_threads - 1 - t)] ? 1 : 0;
}

// One thread brings a tile, all wait for it.
__global__ void bulk(const float* x, float* y) {
  __shared__ __align__(128) float s[k_values];
  __shared__ __align__(8) uint64_t full;
  const int t = threadIdx.x;
  const uint32_t barrier = shared_address(&full);
  if (t == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(1));
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  if (t == 0) {
#ifdef SHORT
    const int bytes = sizeof s + 16;
#else
    const int bytes = sizeof s;
#endif
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                     shared_address(s)),
                 "l"(x), "r"((int)sizeof s), "r"(barrier)
                 : "memory");
  }
#ifndef NO_WAIT
  asm volatile(
      "{\n"
      ".reg .pred done;\n"
      "AGAIN:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@done bra THROUGH;\n"
      "bra AGAIN;\n"
      "THROUGH:\n"
      "}" ::"r"(barrier),
      "r"(0));
#endif
  y[t] = s[8 * t] == x[8 * t] ? 1 : 0;
}

// A small integer for row and column of a matrix.
__host__ __device__ float small(int row, int col) { return static_cast<float>((row * 7 + col * 3) % 9 - 4); }

__global__ void mma(const float*, float* y) {
  __shared__ __align__(16) __nv_bfloat16 a[16][16], b[8][16];  // b is stored by columns
  const int t = threadIdx.x, lane = t % 32;
  for (int i = t; i < 256; i += k_threads) a[i / 16][i % 16] = small(i / 16, i % 16);
  for (int i = t; i < 128; i += k_threads) b[i / 16][i % 16] = small(i % 16, i / 16 + 20);
  __syncthreads();
  if (t >= 32) {
    y[t] = 1;
    return;
  }
  uint32_t ra[4], rb[2];
  float d[4] = {1, 1, 1, 1};
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(ra[0]), "=r"(ra[1]), "=r"(ra[2]), "=r"(ra[3])
               : "r"(shared_address(&a[lane % 16][lane / 16 * 8])));
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
               : "=r"(rb[0]), "=r"(rb[1])
               : "r"(shared_address(&b[lane % 8][lane / 8 % 2 * 8])));
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]));
  bool right = true;
  for (int i = 0; i < 4; ++i) {
    const int row = lane / 4 + i / 2 * 8, col = lane % 4 * 2 + i % 2;
    float sum = 1;
    for (int k = 0; k < 16; ++k) sum += small(row, k) * small(k, col + 20);
    right &= d[i] == sum;
  }
  y[t] = right;
}

// Operands in core matrices of 8 rows and 16 bytes: 128 bytes to the next along k, 256 along the rows.
__device__ int core_offset(int row, int k) { return row / 8 * 128 + k / 8 * 64 + row % 8 * 8 + k % 8; }
__device__ uint64_t descriptor(const void* p) {
  return (shared_address(p) & 0x3ffff) >> 4 | uint64_t{128 >> 4} << 16 | uint64_t{256 >> 4} << 32;
}

__global__ void wgmma(const float*, float* y) {
  __shared__ __align__(128) __nv_bfloat16 a[64 * 16], b[8 * 16];
  const int t = threadIdx.x;
  for (int i = t; i < 64 * 16; i += k_threads) a[core_offset(i / 16, i % 16)] = small(i / 16, i % 16);
  for (int i = t; i < 8 * 16; i += k_threads) b[core_offset(i / 16, i % 16)] = small(i % 16, i / 16 + 20);
#ifndef NO_PROXY_FENCE
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
  __syncthreads();
  float d[4] = {};
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "setp.ne.b32 p, %6, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0, %1, %2, %3}, %4, %5, p, 1, 1, 0, 0;\n"
      "}\n"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "l"(descriptor(a)), "l"(descriptor(b)), "r"(0));
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
#ifndef NO_WAIT
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(0) : "memory");
#endif
  bool right = true;
  for (int i = 0; i < 4; ++i) {
    const int row = t / 32 * 16 + t % 32 / 4 + i / 2 * 8, col = t % 4 * 2 + i % 2;
    float sum = 0;
    for (int k = 0; k < 16; ++k) sum += small(row, k) * small(k, col + 20);
    right &= d[i] == sum;
  }
  y[t] = right;
}

int main(int argc, char** argv) {
  const kernel_mode modes[] = {{"scalar", scalar},     {"memory", memory, k_threads / 2},
                               {"warp", warp},         {"barrier", barrier},
                               {"cp-async", cp_async}, {"bulk", bulk},
                               {"mma", mma},           {"wgmma", wgmma}};
  return run_kernels(argc, argv, modes, k_threads, k_values);
}
