// A product of a warpgroup in the forms that PTX has for it: the types of operands and accumulators, A in shared memory
// or in registers, operands negated, integers saturated. An operand comes as 32 bytes of each row, K-major.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace wgmma_forms {

constexpr int k_rows = 64, k_cols = 8, k_bytes = 32, k_threads = 128;

#define WGMMA_WORDS_2(constraint) constraint(d[0]), constraint(d[1])
#define WGMMA_WORDS_4(constraint) WGMMA_WORDS_2(constraint), constraint(d[2]), constraint(d[3])
// The words, A, B and the predicate; the words, A's four registers, B and the predicate.
#define WGMMA_SHARED_2 "p, %4, 0; ", "{%0, %1}, %2, %3, p"
#define WGMMA_SHARED_4 "p, %6, 0; ", "{%0, %1, %2, %3}, %4, %5, p"
#define WGMMA_REGISTERS_2 "p, %7, 0; ", "{%0, %1}, {%2, %3, %4, %5}, %6, p"
#define WGMMA_REGISTERS_4 "p, %9, 0; ", "{%0, %1, %2, %3}, {%4, %5, %6, %7}, %8, p"
#define WGMMA_TEXT(form, ends, operands) WGMMA_JOINED(form, ends, operands)
#define WGMMA_JOINED(form, ends, scale, operands) \
  "{ .reg .pred p; setp.ne.b32 " scale "wgmma.mma_async.sync.aligned." form " " operands ends "; }"
// `scales` and the transpositions of A and B, of those in shared memory alone, end the instruction.
#define WGMMA_FORM(name, form, word_type, constraint, count, scales, of_a, of_b)                             \
  struct name {                                                                                              \
    using word = word_type;                                                                                  \
    static constexpr int words = count;                                                                      \
    static __device__ void multiply(word (&d)[count], uint64_t a, uint64_t b, int accumulates) {             \
      asm volatile(WGMMA_TEXT(form, scales of_a of_b, WGMMA_SHARED_##count)                                  \
                   : WGMMA_WORDS_##count(constraint)                                                         \
                   : "l"(a), "l"(b), "r"(accumulates)                                                        \
                   : "memory");                                                                              \
    }                                                                                                        \
    static __device__ void multiply(word (&d)[count], const uint32_t (&a)[4], uint64_t b, int accumulates) { \
      asm volatile(WGMMA_TEXT(form, scales of_b, WGMMA_REGISTERS_##count)                                    \
                   : WGMMA_WORDS_##count(constraint)                                                         \
                   : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(accumulates)                    \
                   : "memory");                                                                              \
    }                                                                                                        \
  };

WGMMA_FORM(f16_f32, "m64n8k16.f32.f16.f16", float, "+f", 4, ", 1, 1", ", 0", ", 0")
WGMMA_FORM(bf16_f32, "m64n8k16.f32.bf16.bf16", float, "+f", 4, ", 1, 1", ", 0", ", 0")
WGMMA_FORM(tf32_f32, "m64n8k8.f32.tf32.tf32", float, "+f", 4, ", 1, 1", "", "")
WGMMA_FORM(e4m3_e4m3_f32, "m64n8k32.f32.e4m3.e4m3", float, "+f", 4, ", 1, 1", "", "")
WGMMA_FORM(e4m3_e5m2_f32, "m64n8k32.f32.e4m3.e5m2", float, "+f", 4, ", 1, 1", "", "")
WGMMA_FORM(e5m2_e4m3_f32, "m64n8k32.f32.e5m2.e4m3", float, "+f", 4, ", 1, 1", "", "")
WGMMA_FORM(e5m2_e5m2_f32, "m64n8k32.f32.e5m2.e5m2", float, "+f", 4, ", 1, 1", "", "")
WGMMA_FORM(f16_f16, "m64n8k16.f16.f16.f16", uint32_t, "+r", 2, ", 1, 1", ", 0", ", 0")
WGMMA_FORM(e4m3_e4m3_f16, "m64n8k32.f16.e4m3.e4m3", uint32_t, "+r", 2, ", 1, 1", "", "")
WGMMA_FORM(e4m3_e5m2_f16, "m64n8k32.f16.e4m3.e5m2", uint32_t, "+r", 2, ", 1, 1", "", "")
WGMMA_FORM(e5m2_e4m3_f16, "m64n8k32.f16.e5m2.e4m3", uint32_t, "+r", 2, ", 1, 1", "", "")
WGMMA_FORM(e5m2_e5m2_f16, "m64n8k32.f16.e5m2.e5m2", uint32_t, "+r", 2, ", 1, 1", "", "")
WGMMA_FORM(s8_s8, "m64n8k32.s32.s8.s8", uint32_t, "+r", 4, "", "", "")
WGMMA_FORM(s8_u8, "m64n8k32.s32.s8.u8", uint32_t, "+r", 4, "", "", "")
WGMMA_FORM(u8_s8, "m64n8k32.s32.u8.s8", uint32_t, "+r", 4, "", "", "")
WGMMA_FORM(u8_u8, "m64n8k32.s32.u8.u8", uint32_t, "+r", 4, "", "", "")
WGMMA_FORM(s8_s8_saturated, "m64n8k32.s32.s8.s8.satfinite", uint32_t, "+r", 4, "", "", "")
WGMMA_FORM(f16_f32_minus_a, "m64n8k16.f32.f16.f16", float, "+f", 4, ", -1, 1", ", 0", ", 0")
WGMMA_FORM(tf32_f32_minus_b, "m64n8k8.f32.tf32.tf32", float, "+f", 4, ", 1, -1", "", "")
WGMMA_FORM(e4m3_f16_minus_both, "m64n8k32.f16.e4m3.e4m3", uint32_t, "+r", 2, ", -1, -1", "", "")

// Calls visit(form(), name) for each.
template <class Visit>
void each_form(const Visit& visit) {
#define WGMMA_VISIT(name) visit(name(), #name);
  WGMMA_VISIT(f16_f32)
  WGMMA_VISIT(bf16_f32)
  WGMMA_VISIT(tf32_f32)
  WGMMA_VISIT(e4m3_e4m3_f32)
  WGMMA_VISIT(e4m3_e5m2_f32)
  WGMMA_VISIT(e5m2_e4m3_f32)
  WGMMA_VISIT(e5m2_e5m2_f32)
  WGMMA_VISIT(f16_f16)
  WGMMA_VISIT(e4m3_e4m3_f16)
  WGMMA_VISIT(e4m3_e5m2_f16)
  WGMMA_VISIT(e5m2_e4m3_f16)
  WGMMA_VISIT(e5m2_e5m2_f16)
  WGMMA_VISIT(s8_s8)
  WGMMA_VISIT(s8_u8)
  WGMMA_VISIT(u8_s8)
  WGMMA_VISIT(u8_u8)
  WGMMA_VISIT(s8_s8_saturated)
  WGMMA_VISIT(f16_f32_minus_a)
  WGMMA_VISIT(tf32_f32_minus_b)
  WGMMA_VISIT(e4m3_f16_minus_both)
#undef WGMMA_VISIT
}

// Where a byte of an operand lies: in core matrices of 8 rows and 16 bytes, 128 bytes to the next along k, 256 along
// the rows.
__device__ inline int place_of(int row, int byte) { return row / 8 * 256 + byte / 16 * 128 + row % 8 * 16 + byte % 16; }
__device__ inline uint64_t descriptor_of(const void* p) {
  const auto address = static_cast<uint32_t>(__cvta_generic_to_shared(p));
  return (address & 0x3ffff) >> 4 | uint64_t{128 >> 4} << 16 | uint64_t{256 >> 4} << 32;
}

// One product of each block. Operands are rows of 32 bytes; accumulators are the words of each thread.
template <class Form, bool InRegisters>
__global__ void multiply(const uint8_t* a, const uint8_t* b, const typename Form::word* c, typename Form::word* d,
                         int accumulates) {
  __shared__ alignas(128) uint8_t tile_a[k_rows * k_bytes], tile_b[k_cols * k_bytes];
  const int t = threadIdx.x;
  a += blockIdx.x * k_rows * k_bytes;
  b += blockIdx.x * k_cols * k_bytes;
  for (int i = t; i < k_rows * k_bytes; i += k_threads) tile_a[place_of(i / k_bytes, i % k_bytes)] = a[i];
  for (int i = t; i < k_cols * k_bytes; i += k_threads) tile_b[place_of(i / k_bytes, i % k_bytes)] = b[i];
  uint32_t fragment[4];
  for (int r = 0; r < 4; ++r) {
    const int row = t / 32 * 16 + t % 32 / 4 + r % 2 * 8, byte = t % 4 * 4 + r / 2 * 16;
    fragment[r] = *reinterpret_cast<const uint32_t*>(a + row * k_bytes + byte);
  }
  typename Form::word sum[Form::words];
  const int first = (blockIdx.x * k_threads + t) * Form::words;
  for (int i = 0; i < Form::words; ++i) sum[i] = c[first + i];
#ifndef NO_PROXY_FENCE
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
  __syncthreads();
#ifndef NO_REGISTER_FENCE
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#endif
  if constexpr (InRegisters)
    Form::multiply(sum, fragment, descriptor_of(tile_b), accumulates);
  else
    Form::multiply(sum, descriptor_of(tile_a), descriptor_of(tile_b), accumulates);
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
#ifdef EARLY_WRITE
  if (t < k_cols * k_bytes / 4) reinterpret_cast<uint32_t*>(tile_b)[t] = 0;
#endif
#ifndef NO_WAIT
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
#endif
  for (int i = 0; i < Form::words; ++i) d[first + i] = sum[i];
}

}  // namespace wgmma_forms
