// The GPU's tensor cores, and other tools of warp-specialised kernels (PTX ISA 9.0). mma and ldmatrix are of sm_80; the
// rest is of sm_90, wgmma and set_max_registers of sm_90a. Elsewhere such a call traps.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>

#include "simt/tensor_types.hpp"

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define SIMT_SM_90(...) __VA_ARGS__
#else
#define SIMT_SM_90(...) ::simt::gpu::detail::need_sm_90()
#endif
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
#define SIMT_SM_90A(...) __VA_ARGS__
#else
#define SIMT_SM_90A(...) ::simt::gpu::detail::need_sm_90a()
#endif

namespace simt {
inline namespace gpu {

namespace detail {

__device__ __forceinline__ void need_sm_90a() {
#ifdef __CUDA_ARCH__
  __trap();
#endif
}

template <class T>
constexpr bool is_16_bit = std::is_same_v<T, f16> || std::is_same_v<T, bf16>;

}  // namespace detail

// x as the nearest tf32, ties away from zero.
__device__ __forceinline__ float round_tf32(float x) {
  uint32_t bits;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
  return __uint_as_float(bits);
}

// Two neighbours of a fragment of 16-bit elements.
template <class T>
__device__ __forceinline__ uint32_t pack(T low, T high) {
  static_assert(detail::is_16_bit<T>, "f16 or bf16");
  uint16_t halves[2];
  memcpy(&halves[0], &low, 2);
  memcpy(&halves[1], &high, 2);
  return halves[0] | static_cast<uint32_t>(halves[1]) << 16;
}

// d = a b + c by the warp, which calls it as one: m16n8k8 of tf32 (fragments hold the bits of f32), m16n8k16 of f16 and
// bf16. Fragments as the PTX ISA lays them out.
template <int M, int N, int K, class TA, class TB>
__device__ __forceinline__ void mma(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2],
                                    const float (&c)[4]) {
  static_assert(std::is_same_v<TA, TB>, "operands of one type");
  static_assert(M == 16 && N == 8 && K == (detail::is_16_bit<TA> ? 16 : 8), "m16n8k16 of f16 or bf16, m16n8k8 of tf32");
#define SIMT_MMA(shape)                                                                                             \
  asm volatile("mma.sync.aligned." shape " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};"     \
               : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])                                                     \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(c[0]), "f"(c[1]), "f"(c[2]), \
                 "f"(c[3]))
  if constexpr (std::is_same_v<TA, f16>)
    SIMT_MMA("m16n8k16.row.col.f32.f16.f16.f32");
  else if constexpr (std::is_same_v<TA, bf16>)
    SIMT_MMA("m16n8k16.row.col.f32.bf16.bf16.f32");
  else
    SIMT_MMA("m16n8k8.row.col.f32.tf32.tf32.f32");
#undef SIMT_MMA
}

// Count (1, 2 or 4) matrices of 8 x 8 16-bit elements from shared memory; lane 8 i + r names the 16 bytes of row r of
// matrix i. Lane l gets elements 2 (l % 4) and the next of row l / 4; of a transposed one, of column l / 4.
template <int Count, bool Transposed = false>
__device__ __forceinline__ void ldmatrix(uint32_t (&d)[Count], const void* row) {
  static_assert(Count == 1 || Count == 2 || Count == 4, "1, 2 or 4 matrices");
  const uint32_t from = detail::shared_address(row);
#define SIMT_LDMATRIX(trans)                                                                                           \
  if constexpr (Count == 1)                                                                                            \
    asm volatile("ldmatrix.sync.aligned.m8n8.x1" trans ".shared.b16 {%0}, [%1];" : "=r"(d[0]) : "r"(from) : "memory"); \
  else if constexpr (Count == 2)                                                                                       \
    asm volatile("ldmatrix.sync.aligned.m8n8.x2" trans ".shared.b16 {%0, %1}, [%2];"                                   \
                 : "=r"(d[0]), "=r"(d[1])                                                                              \
                 : "r"(from)                                                                                           \
                 : "memory");                                                                                          \
  else                                                                                                                 \
    asm volatile("ldmatrix.sync.aligned.m8n8.x4" trans ".shared.b16 {%0, %1, %2, %3}, [%4];"                           \
                 : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])                                                      \
                 : "r"(from)                                                                                           \
                 : "memory")
  if constexpr (Transposed) {
    SIMT_LDMATRIX(".trans");
  } else {
    SIMT_LDMATRIX("");
  }
#undef SIMT_LDMATRIX
}

// The descriptor of an operand that begins at `base`, in the block's shared memory and 16-byte aligned; strides are in
// bytes, multiples of 16.
__device__ __forceinline__ matrix_descriptor make_matrix_descriptor(const void* base, unsigned leading, unsigned stride,
                                                                    swizzle s) {
  return detail::descriptor_of(detail::shared_address(base), leading, stride, s);
}

// Keeps the compiler from moving reads and writes of the registers across this point.
template <int Registers>
__device__ __forceinline__ void compiler_barrier(float (&d)[Registers]) {
#pragma unroll
  for (int i = 0; i < Registers; ++i) asm volatile("" : "+f"(d[i])::"memory");
}

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
#define SIMT_TEXT_4 "%0, %1, %2, %3"
#define SIMT_TEXT_8 \
  SIMT_TEXT_4       \
  ", %4, %5, %6, %7"
#define SIMT_TEXT_16 \
  SIMT_TEXT_8        \
  ", %8, %9, %10, %11, %12, %13, %14, %15"
#define SIMT_TEXT_32 \
  SIMT_TEXT_16       \
  ", %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define SIMT_TEXT_48 \
  SIMT_TEXT_32       \
  ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47"
#define SIMT_TEXT_64 \
  SIMT_TEXT_48       \
  ", %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define SIMT_TEXT_96                                                                                  \
  SIMT_TEXT_64                                                                                        \
  ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, " \
  "%83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
#define SIMT_TEXT_128                                                                                    \
  SIMT_TEXT_96                                                                                           \
  ", %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, %112, " \
  "%113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
#define SIMT_REGISTERS_4(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define SIMT_REGISTERS_8(i) SIMT_REGISTERS_4(i), SIMT_REGISTERS_4(i + 4)
#define SIMT_REGISTERS_16(i) SIMT_REGISTERS_8(i), SIMT_REGISTERS_8(i + 8)
#define SIMT_REGISTERS_32(i) SIMT_REGISTERS_16(i), SIMT_REGISTERS_16(i + 16)
#define SIMT_REGISTERS_48(i) SIMT_REGISTERS_32(i), SIMT_REGISTERS_16(i + 32)
#define SIMT_REGISTERS_64(i) SIMT_REGISTERS_32(i), SIMT_REGISTERS_32(i + 32)
#define SIMT_REGISTERS_96(i) SIMT_REGISTERS_64(i), SIMT_REGISTERS_32(i + 64)
#define SIMT_REGISTERS_128(i) SIMT_REGISTERS_64(i), SIMT_REGISTERS_64(i + 64)
// X(type, N, registers, the numbers of the operands that follow them)
#define SIMT_WGMMA_SIZES(X, type)                 \
  X(type, 8, 4, 4, 5, 6, 7, 8, 9, 10)             \
  X(type, 16, 8, 8, 9, 10, 11, 12, 13, 14)        \
  X(type, 32, 16, 16, 17, 18, 19, 20, 21, 22)     \
  X(type, 64, 32, 32, 33, 34, 35, 36, 37, 38)     \
  X(type, 96, 48, 48, 49, 50, 51, 52, 53, 54)     \
  X(type, 128, 64, 64, 65, 66, 67, 68, 69, 70)    \
  X(type, 192, 96, 96, 97, 98, 99, 100, 101, 102) \
  X(type, 256, 128, 128, 129, 130, 131, 132, 133, 134)
#define SIMT_WGMMA_TEXT(type, n, k, r, predicate, operands)                                                            \
  "{ .reg .pred p; setp.ne.b32 p, " predicate ", 0; wgmma.mma_async.sync.aligned.m64n" #n "k" #k ".f32." type "." type \
  " {" SIMT_TEXT_##r "}, " operands "; }"
#define SIMT_WGMMA_SHARED_16(type, n, r, i, j, k, l, m, o, q)                                             \
  if constexpr (N == n)                                                                                   \
    asm volatile(SIMT_WGMMA_TEXT(type, n, 16, r, "%" #k, "%" #i ", %" #j ", p, 1, 1, %" #l ", %" #m)      \
                 : SIMT_REGISTERS_##r(0)                                                                  \
                 : "l"(a.bits), "l"(b.bits), "r"(static_cast<int>(accumulate)), "n"(MajorA == major::mn), \
                   "n"(MajorB == major::mn)                                                               \
                 : "memory");
#define SIMT_WGMMA_SHARED_32(type, n, r, i, j, k, l, m, o, q)                        \
  if constexpr (N == n)                                                              \
    asm volatile(SIMT_WGMMA_TEXT(type, n, 8, r, "%" #k, "%" #i ", %" #j ", p, 1, 1") \
                 : SIMT_REGISTERS_##r(0)                                             \
                 : "l"(a.bits), "l"(b.bits), "r"(static_cast<int>(accumulate))       \
                 : "memory");
#define SIMT_WGMMA_REGISTERS_16(type, n, r, i, j, k, l, m, o, q)                                                \
  if constexpr (N == n)                                                                                         \
    asm volatile(                                                                                               \
        SIMT_WGMMA_TEXT(type, n, 16, r, "%" #o, "{%" #i ", %" #j ", %" #k ", %" #l "}, %" #m ", p, 1, 1, %" #q) \
        : SIMT_REGISTERS_##r(0)                                                                                 \
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b.bits), "r"(static_cast<int>(accumulate)),           \
          "n"(MajorB == major::mn)                                                                              \
        : "memory");
#define SIMT_WGMMA_REGISTERS_32(type, n, r, i, j, k, l, m, o, q)                                                  \
  if constexpr (N == n)                                                                                           \
    asm volatile(SIMT_WGMMA_TEXT(type, n, 8, r, "%" #o, "{%" #i ", %" #j ", %" #k ", %" #l "}, %" #m ", p, 1, 1") \
                 : SIMT_REGISTERS_##r(0)                                                                          \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b.bits), "r"(static_cast<int>(accumulate))     \
                 : "memory");
#endif

// By the 4 warps of a warpgroup: orders their accesses to registers before later products. The compiler does not move
// the named accumulators.
template <class... Accumulators>
__device__ __forceinline__ void wgmma_fence(Accumulators&... d) {
  (compiler_barrier(d), ...);
  SIMT_SM_90A(asm volatile("wgmma.fence.sync.aligned;" ::: "memory"));
}
// Ends the caller's open group of products.
__device__ __forceinline__ void wgmma_commit() {
  SIMT_SM_90A(asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"));
}
// Waits until at most the Groups youngest groups are in flight. Accumulators of the others, which the caller names, may
// be read after this, and their operands in shared memory be overwritten.
template <int Groups, class... Accumulators>
__device__ __forceinline__ void wgmma_wait(Accumulators&... d) {
  SIMT_SM_90A(asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Groups) : "memory"));
  (compiler_barrier(d), ...);
}

// d = a b + d (or a b, where `accumulate` is false) by a warpgroup, whose 4 warps call it as one; a is 64 x K, b is
// K x N, K is 8 for tf32 and 16 for f16 and bf16. In flight until the wait for its group: until then d is nobody's, and
// the asynchronous proxy reads the operands in shared memory. Lane l of warp w has in d[i] row
// 16 w + l / 4 + 8 (i / 2 % 2), column 8 (i / 4) + 2 (l % 4) + i % 2.
template <int N, class T, major MajorA = major::k, major MajorB = major::k>
__device__ __forceinline__ void wgmma(float (&d)[N / 2], matrix_descriptor a, matrix_descriptor b,
                                      bool accumulate = true) {
  static_assert(detail::is_wgmma_size(N), "N is 8, 16, 32, 64, 96, 128, 192 or 256");
  static_assert(detail::is_16_bit<T> || (MajorA == major::k && MajorB == major::k), "tf32 operands are K-major");
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  if constexpr (std::is_same_v<T, f16>) {
    SIMT_WGMMA_SIZES(SIMT_WGMMA_SHARED_16, "f16")
  } else if constexpr (std::is_same_v<T, bf16>) {
    SIMT_WGMMA_SIZES(SIMT_WGMMA_SHARED_16, "bf16")
  } else {
    static_assert(std::is_same_v<T, tf32>, "f16, bf16 or tf32");
    SIMT_WGMMA_SIZES(SIMT_WGMMA_SHARED_32, "tf32")
  }
#else
  detail::need_sm_90a();
#endif
}

// The same with a in registers, of which each warp holds its 16 rows as mma's fragment.
template <int N, class T, major MajorB = major::k>
__device__ __forceinline__ void wgmma(float (&d)[N / 2], const uint32_t (&a)[4], matrix_descriptor b,
                                      bool accumulate = true) {
  static_assert(detail::is_wgmma_size(N), "N is 8, 16, 32, 64, 96, 128, 192 or 256");
  static_assert(detail::is_16_bit<T> || MajorB == major::k, "tf32 operands are K-major");
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  if constexpr (std::is_same_v<T, f16>) {
    SIMT_WGMMA_SIZES(SIMT_WGMMA_REGISTERS_16, "f16")
  } else if constexpr (std::is_same_v<T, bf16>) {
    SIMT_WGMMA_SIZES(SIMT_WGMMA_REGISTERS_16, "bf16")
  } else {
    static_assert(std::is_same_v<T, tf32>, "f16, bf16 or tf32");
    SIMT_WGMMA_SIZES(SIMT_WGMMA_REGISTERS_32, "tf32")
  }
#else
  detail::need_sm_90a();
#endif
}

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
#undef SIMT_WGMMA_TEXT
#undef SIMT_WGMMA_SHARED_16
#undef SIMT_WGMMA_SHARED_32
#undef SIMT_WGMMA_REGISTERS_16
#undef SIMT_WGMMA_REGISTERS_32
#undef SIMT_WGMMA_SIZES
#undef SIMT_TEXT_4
#undef SIMT_TEXT_8
#undef SIMT_TEXT_16
#undef SIMT_TEXT_32
#undef SIMT_TEXT_48
#undef SIMT_TEXT_64
#undef SIMT_TEXT_96
#undef SIMT_TEXT_128
#undef SIMT_REGISTERS_4
#undef SIMT_REGISTERS_8
#undef SIMT_REGISTERS_16
#undef SIMT_REGISTERS_32
#undef SIMT_REGISTERS_48
#undef SIMT_REGISTERS_64
#undef SIMT_REGISTERS_96
#undef SIMT_REGISTERS_128
#endif

// Orders the caller's accesses to memory before it, and those that happened before them, with what the asynchronous
// proxy (bulk copies, wgmma) does after it. own_shared: in the shared memory of the caller's block alone.
template <proxy_space Space = proxy_space::all>
__device__ __forceinline__ void fence_proxy_async() {
  if constexpr (Space == proxy_space::own_shared)
    SIMT_SM_90(asm volatile("fence.proxy.async.shared::cta;" ::: "memory"));
  else
    SIMT_SM_90(asm volatile("fence.proxy.async;" ::: "memory"));
}
// Makes mbarriers that the caller initialised visible to the cluster and to the asynchronous proxy. mbarrier::init
// contains it.
__device__ __forceinline__ void fence_mbarrier_init() {
  SIMT_SM_90(asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"));
}

// A barrier among `count` threads of the block (a multiple of 32, whole warps): those who sync wait for those who
// arrive. Id 0 is __syncthreads'.
template <int Id>
struct named_barrier {
  static_assert(Id >= 1 && Id <= 15, "named barriers are 1 to 15");
  __device__ __forceinline__ static void sync(unsigned count) {
    asm volatile("bar.sync %0, %1;" ::"n"(Id), "r"(count) : "memory");
  }
  __device__ __forceinline__ static void arrive(unsigned count) {
    asm volatile("bar.arrive %0, %1;" ::"n"(Id), "r"(count) : "memory");
  }
};

// True for one lane of the warp, which calls it as one.
__device__ __forceinline__ bool elect_one() {
  unsigned elected = 0;
  SIMT_SM_90(asm volatile("{ .reg .pred p; elect.sync _|p, 0xffffffff; selp.u32 %0, 1, 0, p; }"
                          : "=r"(elected)::"memory"));
  return elected != 0;
}

// Sets the number of registers per thread of the warpgroup, which calls it as one: 24 to 256, a multiple of 8.
template <int Count, register_change Change>
__device__ __forceinline__ void set_max_registers() {
  static_assert(Count >= 24 && Count <= 256 && Count % 8 == 0, "24 to 256 registers, a multiple of 8");
  if constexpr (Change == register_change::raise)
    SIMT_SM_90A(asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(Count)));
  else
    SIMT_SM_90A(asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(Count)));
}

// Copies `bytes` (a multiple of 16; both sides 16-byte aligned) from own shared to global memory, in the caller's open
// group of bulk stores.
__device__ __forceinline__ void bulk_store(void* destination, const void* source, unsigned bytes) {
  SIMT_SM_90(asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(destination),
                          "r"(detail::shared_address(source)), "r"(bytes)
                          : "memory"));
}
__device__ __forceinline__ void bulk_store_commit() {
  SIMT_SM_90(asm volatile("cp.async.bulk.commit_group;" ::: "memory"));
}
// Waits until at most the Groups youngest groups of the caller are in flight.
template <int Groups>
__device__ __forceinline__ void bulk_store_wait() {
  SIMT_SM_90(asm volatile("cp.async.bulk.wait_group %0;" ::"n"(Groups) : "memory"));
}
// The same, but they may still be writing: their sources have been read.
template <int Groups>
__device__ __forceinline__ void bulk_store_wait_read() {
  SIMT_SM_90(asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(Groups) : "memory"));
}
// bulk_copy from own shared memory to that of another block of the cluster, where it completes on that block's
// `barrier` (both mapped addresses: map_shared_rank).
__device__ __forceinline__ void bulk_copy_remote(void* destination, const void* source, unsigned bytes,
                                                 mbarrier* barrier) {
  SIMT_SM_90(
      asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, "
                   "[%3];" ::"r"(detail::shared_address(destination)),
                   "r"(detail::shared_address(source)), "r"(bytes), "r"(detail::shared_address(barrier))
                   : "memory"));
}
// bulk_copy into the blocks of the cluster whose ranks are set in `ranks`, at the same place of each; completes on the
// mbarrier at the same place of each.
__device__ __forceinline__ void bulk_copy_multicast(void* destination, const void* source, unsigned bytes,
                                                    mbarrier* barrier, uint16_t ranks) {
  SIMT_SM_90(asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, [%3], "
      "%4;" ::"r"(detail::shared_address(destination)),
      "l"(source), "r"(bytes), "r"(detail::shared_address(barrier)), "h"(ranks)
      : "memory"));
}

// The layout of a matrix in global memory for tensor_load; a kernel takes it as `const __grid_constant__ tensor_map`.
using tensor_map = CUtensorMap;

// The map of `rows` rows of `cols` elements, `pitch` bytes apart, that is fetched in boxes. Throws device_error where a
// rule of the driver is broken: data is aligned to 16 bytes, pitch a multiple of 16 below 2^40, extents are 1 to 2^32,
// a box has at most 256 rows, and its rows swizzle_bytes(s) at most.
template <class T>
tensor_map make_tensor_map(const T* data, int64_t rows, int64_t cols, int64_t pitch, unsigned box_rows,
                           unsigned box_cols, swizzle s) {
  static_assert(detail::is_16_bit<T>, "f16 or bf16");
  static const auto encode = [] {
    void* function = nullptr;
    cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
    detail::check(
        cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000, cudaEnableDefault, &found),
        "cuTensorMapEncodeTiled");
    if (function == nullptr) throw device_error("the driver has no cuTensorMapEncodeTiled");
    return reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(function);
  }();
  constexpr CUtensorMapSwizzle patterns[] = {CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                                             CU_TENSOR_MAP_SWIZZLE_64B, CU_TENSOR_MAP_SWIZZLE_32B};
  const cuuint64_t sizes[] = {static_cast<cuuint64_t>(cols), static_cast<cuuint64_t>(rows)};
  const cuuint64_t strides[] = {static_cast<cuuint64_t>(pitch)};
  const cuuint32_t box[] = {box_cols, box_rows}, steps[] = {1, 1};
  tensor_map map;
  const CUresult status =
      encode(&map, std::is_same_v<T, f16> ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16 : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2,
             const_cast<T*>(data), sizes, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
             patterns[static_cast<int>(s)], CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (status != CUDA_SUCCESS)
    throw device_error("cuTensorMapEncodeTiled refuses a matrix: error " + std::to_string(static_cast<int>(status)));
  return map;
}

// Copies the box whose first element is (row, col) to `destination` (aligned to 128 bytes; swizzled ones to 8 times
// swizzle_bytes); what lies outside of the matrix becomes 0. The box's rows begin at multiples of 16 bytes of a row.
// Completes on `barrier`, whose phase must expect the bytes of the whole box.
__device__ __forceinline__ void tensor_load(void* destination, const tensor_map& map, int32_t row, int32_t col,
                                            mbarrier* barrier) {
  SIMT_SM_90(asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(
          detail::shared_address(destination)),
      "l"(&map), "r"(col), "r"(row), "r"(detail::shared_address(barrier))
      : "memory"));
}

#undef SIMT_SM_90
#undef SIMT_SM_90A

}  // namespace gpu
}  // namespace simt
