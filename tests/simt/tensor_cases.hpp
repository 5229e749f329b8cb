// Operands on which models of tensor cores differ: random ones of every kind, from a seed.
#pragma once

#include <cstdint>
#include <cstring>
#include <iterator>
#include <vector>

#include "simt/tensor_step.hpp"
#include "tests/simt/tensor_kernels.hpp"

namespace warpcheck::self {

enum class operand_kind {
  all_exponents,      // of f16 all it has, else 2^-60 to 2^60
  near_one,           // of similar size: what is cut off decides
  zeros_among,        // a third are zeros of either sign
  zero_beside_large,  // 0 x 2^100 beside small products: has a zero an exponent?
  subnormal,          // a's are, b's are large
  below_one,          // c = 1, products near its last bit and below
  signed_zeros,       // nothing but zeros: which sign has the sum?
  cancelling,         // products come in pairs that cancel, c is zero or tiny
  near_overflow,      // sums about 2^128 (f16: c does it)
  tiny_sums,          // sums below 2^-126, and to nothing (f16: c does it)
  any_bits,           // all bit patterns
  special_among,      // one in 16 is infinite or NaN
  vanishing,          // sums below 2^-149: with which sign do they vanish? (f16 has none)
  low_payload,        // tf32: what is a NaN before its low 13 bits are cut
  count
};

inline const char* name_of(operand_kind kind) {
  constexpr const char* names[] = {"all exponents", "near 1",        "zeros among", "0 beside large", "subnormal",
                                   "below 1",       "signed zeros",  "cancelling",  "near overflow",  "tiny sums",
                                   "any bits",      "special among", "vanishing",   "payload of NaN"};
  static_assert(std::size(names) == static_cast<size_t>(operand_kind::count));
  return names[static_cast<int>(kind)];
}

// splitmix64 (Steele, Lea, Flood, OOPSLA 2014).
class bit_stream {
 public:
  explicit bit_stream(uint64_t seed) : state_(seed) {}
  uint32_t next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return static_cast<uint32_t>((z ^ (z >> 31)) >> 32);
  }
  int between(int low, int high) { return low + static_cast<int>(next() % static_cast<uint32_t>(high - low + 1)); }

 private:
  uint64_t state_;
};

class operand_source {
 public:
  operand_source(simt::tensor_type type, operand_kind kind, uint64_t seed) : type_(type), kind_(kind), bits_(seed) {}

  // Element k of a row of a, or of a column of b.
  uint32_t a(int k) { return element(k, true); }
  uint32_t b(int k) { return element(k, false); }
  float c() {
    switch (kind_) {
      case operand_kind::all_exponents: return number(-60, 60);
      case operand_kind::below_one: return 1.0f;
      case operand_kind::zero_beside_large:
      case operand_kind::subnormal: return 0.0f;
      case operand_kind::vanishing:
      case operand_kind::signed_zeros: return bits_.next() & 1 ? -0.0f : 0.0f;
      case operand_kind::cancelling: return bits_.next() & 1 ? from_bits(bits_.next() & 0x80000007u) : -0.0f;
      case operand_kind::near_overflow: return number(126, 127);
      case operand_kind::tiny_sums: return from_bits(bits_.next() & 0x807fffffu);
      case operand_kind::any_bits: return from_bits(bits_.next());
      case operand_kind::special_among:
        if (bits_.next() % 16 == 0) return from_bits(0x7f800000u | (bits_.next() & 0x80400000u));
        return number(-3, 3);
      default: return number(-3, 3);
    }
  }

 private:
  static float from_bits(uint32_t b) {
    float x;
    std::memcpy(&x, &b, sizeof x);
    return x;
  }
  float number(int low, int high) {
    const uint32_t field = static_cast<uint32_t>(127 + bits_.between(low, high));
    return from_bits((bits_.next() & 0x807fffffu) | field << 23);
  }
  // All fields of the type: 5 or 8 bits of exponent.
  uint32_t of_fields(uint32_t sign, int exponent, uint32_t fraction) const {
    if (type_ == simt::tensor_type::f16) {
      const int field = exponent + 15 < 0 ? 0 : exponent + 15 > 30 ? 30 : exponent + 15;
      return sign << 15 | static_cast<uint32_t>(field) << 10 | (fraction & 0x3ff);
    }
    const uint32_t bits = sign << 31 | static_cast<uint32_t>(exponent + 127) << 23 | (fraction & 0x7fffff);
    return type_ == simt::tensor_type::bf16 ? bits >> 16 : bits;
  }
  uint32_t value(int low, int high) {
    const uint32_t sign = bits_.next() & 1;
    const int exponent = bits_.between(low, high);
    return of_fields(sign, exponent, bits_.next());
  }
  uint32_t zero() { return of_fields(0, is_f16() ? -15 : -127, 0) | sign_bit(bits_.next() & 1); }
  uint32_t sign_bit(uint32_t sign) const { return sign << (type_ == simt::tensor_type::tf32 ? 31 : 15); }
  bool is_f16() const { return type_ == simt::tensor_type::f16; }

  uint32_t element(int k, bool of_a) {
    switch (kind_) {
      case operand_kind::all_exponents: return is_f16() ? value(-15, 15) : value(-60, 60);
      case operand_kind::near_one: return value(-3, 3);
      case operand_kind::zeros_among: return bits_.next() % 3 == 0 ? zero() : value(-3, 3);
      case operand_kind::zero_beside_large:
        if (k == 0) return of_a ? zero() : value(is_f16() ? 15 : 100, is_f16() ? 15 : 100);
        return is_f16() ? value(-12, -12) : value(-30, -30);
      case operand_kind::subnormal:
        if (of_a) return value(is_f16() ? -15 : -127, is_f16() ? -15 : -127);
        return is_f16() ? value(10, 15) : value(100, 120);
      case operand_kind::below_one: return value(-14, -12);
      case operand_kind::signed_zeros: return bits_.next() % 4 != 0 && !of_a ? value(-3, 3) : zero();
      case operand_kind::cancelling:
        // Neighbours in k are equal in a, and in b up to their signs.
        if (k % 2 == 0) {
          (of_a ? last_a_ : last_b_) = bits_.next() % 4 == 0 && of_a ? zero() : value(-3, 3);
          return of_a ? last_a_ : last_b_;
        }
        return of_a ? last_a_ : last_b_ ^ sign_bit(1);
      case operand_kind::near_overflow: return is_f16() ? value(13, 15) : value(60, 63);
      case operand_kind::tiny_sums: return is_f16() ? value(-15, -13) : value(-80, -60);
      case operand_kind::vanishing: return is_f16() ? value(-15, -15) : value(-85, -70);
      case operand_kind::any_bits: return type_ == simt::tensor_type::tf32 ? bits_.next() : bits_.next() & 0xffff;
      case operand_kind::special_among:
        if (bits_.next() % 16 != 0) return bits_.next() % 8 == 0 ? zero() : value(-3, 3);
        return special();
      case operand_kind::low_payload:
        if (bits_.next() % 16 != 0) return value(-3, 3);
        return type_ == simt::tensor_type::tf32 ? 0x7f800000u | (bits_.next() & 0x80003fffu) : special();
      default: return 0;
    }
  }
  uint32_t special() {
    const uint32_t sign = sign_bit(bits_.next() & 1), payload = bits_.next() & 1;
    switch (type_) {
      case simt::tensor_type::f16: return sign | 0x7c00 | payload << 9;
      case simt::tensor_type::bf16: return sign | 0x7f80 | payload << 6;
      default: return sign | 0x7f800000u | payload << 22;
    }
  }

  simt::tensor_type type_;
  operand_kind kind_;
  bit_stream bits_;
  uint32_t last_a_ = 0, last_b_ = 0;
};

// Row-major a [rows][depth], b [cols][depth] and c [rows][cols] of one step.
struct step_operands {
  std::vector<uint32_t> a, b;
  std::vector<float> c;
};
inline step_operands make_operands(simt::tensor_type type, operand_kind kind, int rows, int cols, uint64_t seed) {
  operand_source source(type, kind, seed);
  const int depth = simt::tensor_depth(type);
  step_operands o;
  for (int i = 0; i < rows; ++i)
    for (int k = 0; k < depth; ++k) o.a.push_back(source.a(k));
  for (int i = 0; i < cols; ++i)
    for (int k = 0; k < depth; ++k) o.b.push_back(source.b(k));
  for (int i = 0; i < rows * cols; ++i) o.c.push_back(source.c());
  return o;
}

inline constexpr simt::tensor_type k_tensor_types[] = {simt::tensor_type::f16, simt::tensor_type::bf16,
                                                       simt::tensor_type::tf32};
inline const char* name_of(simt::tensor_type type) {
  return type == simt::tensor_type::f16 ? "f16" : type == simt::tensor_type::bf16 ? "bf16" : "tf32";
}

// A product's matrices as fragments of a warp (PTX ISA, "Matrix Fragments for mma.m16n8k8" and ".m16n8k16").
inline void add_fragments(simt::tensor_type type, const step_operands& o, std::vector<uint32_t>& a,
                          std::vector<uint32_t>& b, std::vector<float>& c) {
  const auto pair = [](const std::vector<uint32_t>& m, int at) {
    return m[static_cast<size_t>(at)] | m[static_cast<size_t>(at) + 1] << 16;
  };
  for (int lane = 0; lane < 32; ++lane) {
    const int group = lane / 4, place = lane % 4;
    for (int i = 0; i < 4; ++i) {
      const int row = group + 8 * (i % 2);
      a.push_back(type == simt::tensor_type::tf32 ? o.a[static_cast<size_t>(row * 8 + place + 4 * (i / 2))]
                                                  : pair(o.a, row * 16 + 2 * place + 8 * (i / 2)));
      c.push_back(o.c[static_cast<size_t>((group + 8 * (i / 2)) * 8 + 2 * place + i % 2)]);
    }
    for (int i = 0; i < 2; ++i)
      b.push_back(type == simt::tensor_type::tf32 ? o.b[static_cast<size_t>(group * 8 + place + 4 * i)]
                                                  : pair(o.b, group * 16 + 2 * place + 8 * i));
  }
}

// The places that a tile may be given: `leading` counts without a pattern or for MN-major ones.
inline std::vector<tile> places(bool mn_major, simt::tensor_type type) {
  std::vector<tile> all;
  const auto add = [&](unsigned pattern, unsigned leading, unsigned stride, unsigned start) {
    all.push_back({{}, leading, stride, pattern, start, mn_major});
  };
  if (!mn_major) {
    add(0, 128, 256, 0);
    add(0, 4096, 128, 0);
    add(0, 128, 256, 256);
    add(3, 16, 256, 0);
    add(2, 16, 512, 0);
    add(2, 16, 512, 32);
    for (const unsigned start : {0u, 32u, 64u, 96u, 1024u}) add(1, 16, 1024, start);
    return all;
  }
  if (type == simt::tensor_type::tf32) return all;
  add(0, 128, 256, 0);
  add(0, 4096, 128, 0);
  add(3, 512, 256, 0);
  add(3, 256, 4096, 0);
  add(2, 1024, 512, 0);
  add(2, 512, 4096, 0);
  add(1, 2048, 1024, 0);
  add(1, 1024, 8192, 0);
  return all;
}

}  // namespace warpcheck::self
