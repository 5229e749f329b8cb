// Computes one step of a tensor core to the bit. Plain host code, for the emulated device and for models of it.
//
// A step of K products with c of f32, as the hardware does it (Xie et al., MMA-Sim, arXiv 2511.10909; Khattak and
// Mikaitis, arXiv 2512.07004; test self.cuda.tensor_core): products and c are aligned to the largest exponent among
// them, -133 at least, that of a product being the sum of its operands'; each is cut towards zero to `fraction_bits`
// behind the point, all are added exactly, and the sum is cut towards zero to 24 bits or, below 2^-126, to multiples of
// 2^-149. From 2^128 on it is infinite; where it is 0, it is +0. A zero has no exponent, a subnormal operand its type's
// least. docs/numerics.md has the terms.
#pragma once

#include <cstdint>

namespace simt {

enum class tensor_type : uint8_t { f16, bf16, tf32, e4m3, e5m2, s8, u8 };
// The types of both operands; those of 8 bits may differ.
struct tensor_types {
  tensor_type a, b;
  constexpr tensor_types(tensor_type left, tensor_type right) : a(left), b(right) {}
  constexpr tensor_types(tensor_type both) : a(both), b(both) {}
  friend constexpr bool operator==(tensor_types x, tensor_types y) { return x.a == y.a && x.b == y.b; }
};

// Bytes of an element in memory.
constexpr int tensor_bytes(tensor_type type) {
  return type == tensor_type::tf32 ? 4 : type == tensor_type::f16 || type == tensor_type::bf16 ? 2 : 1;
}
// Products of a step.
constexpr int tensor_depth(tensor_type type) { return 32 / tensor_bytes(type); }
constexpr bool is_integer(tensor_type type) { return type == tensor_type::s8 || type == tensor_type::u8; }

struct tensor_rules {
  int fraction_bits;
  int parts;             // a step is as many, one after the other: each takes its share of k, in order
  int result_bits = 23;  // of a sum of f32, behind the point
};
// Returns the machine of compute capability 8.0, 8.6, 8.9 (80, 86, 89), 9.0 and 10.0 (90, 100). Throws device_error for
// any other.
tensor_rules tensor_rules_of(unsigned sm_arch);

// The type of c and d. Of f16 the sum is rounded once, to the nearest f16 with ties to even, and the exponent of a
// subnormal c is f16's least; the elements are floats here, too. Of s32 it is exact: modulo 2^32, or the nearest s32.
enum class tensor_sum : uint8_t { f32, f16, s32, saturated_s32 };

// Returns the machine of wgmma with operands of 8 bits (MMA-Sim): they are added to 13 bits behind the point, and so is
// a sum of f32 kept.
constexpr tensor_rules k_rules_of_8_bits = {13, 1, 13};

// d = a b + c for `rows` (at most 64) by `cols` (a multiple of 8). Elements are bits: a[row * depth + k] and
// b[col * depth + k]; of tf32 the low 13 do not count. c and d, which may be one, are [row * cols + col].
void tensor_step(tensor_types types, tensor_rules rules, int rows, int cols, const uint32_t* a, const uint32_t* b,
                 const float* c, float* d, tensor_sum sum = tensor_sum::f32);
// The same of s8 and u8.
void tensor_step(tensor_types types, int rows, int cols, const uint32_t* a, const uint32_t* b, const int32_t* c,
                 int32_t* d, bool saturates);

}  // namespace simt
