// Products of a warpgroup of every form of operands and accumulators: the GPU and the model that the emulated device
// computes by give the same bits.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>

#include "simt/half_types.hpp"
#include "simt/tensor_step.hpp"
#include "tests/cuda/wgmma_forms.hpp"
#include "tests/simt/tensor_cases.hpp"

namespace warpcheck::self {
namespace {

using simt::tensor_sum;
using simt::tensor_type;

constexpr int k_rows = 64, k_cols = 8, k_bytes = 32, k_threads = 128, k_products = 1200;  // 614,400 results

struct form {
  std::string name;
  simt::tensor_types types;
  tensor_sum sum;
  bool negates_a, negates_b;
};

form form_of(const std::string& name) {
  const auto type_at = [&](size_t at, tensor_type otherwise) {
    constexpr std::pair<const char*, tensor_type> all[] = {{"f16", tensor_type::f16},   {"bf16", tensor_type::bf16},
                                                           {"tf32", tensor_type::tf32}, {"e4m3", tensor_type::e4m3},
                                                           {"e5m2", tensor_type::e5m2}, {"s8", tensor_type::s8},
                                                           {"u8", tensor_type::u8}};
    for (const auto& [text, type] : all)
      if (name.compare(at, std::strlen(text), text) == 0) return type;
    return otherwise;
  };
  const auto has = [&](const char* part) { return name.find(part) != std::string::npos; };
  const tensor_type left = type_at(0, tensor_type::f16), second = type_at(name.find('_') + 1, left);
  const bool is_pair = simt::tensor_bytes(second) == 1;
  const tensor_sum sum = simt::is_integer(left) ? has("saturated") ? tensor_sum::saturated_s32 : tensor_sum::s32
                         : has("_f16")          ? tensor_sum::f16
                                                : tensor_sum::f32;
  return {name, {left, is_pair ? second : left}, sum, has("minus_a") || has("both"), has("minus_b") || has("both")};
}

// What operands are like: any bits; of similar size; mostly zeros.
enum class bytes_kind { any, similar, sparse };
constexpr const char* k_kind_names[] = {"any bits", "similar", "sparse"};

uint32_t element(bit_stream& bits, tensor_type type, bytes_kind kind) {
  const int size = 8 * simt::tensor_bytes(type);
  const uint32_t all = bits.next() & (size == 32 ? ~0u : (1u << size) - 1);
  if (kind == bytes_kind::sparse && bits.next() % 3 != 0) return all & 1u << (size - 1);
  if (kind == bytes_kind::any || simt::is_integer(type)) return all;
  const int fraction = type == tensor_type::f16    ? 10
                       : type == tensor_type::bf16 ? 7
                       : type == tensor_type::tf32 ? 23
                       : type == tensor_type::e4m3 ? 3
                                                   : 2;
  const uint32_t bias = (1u << (size - fraction - 2)) - 1, field = bias + bits.next() % 7 - 3;
  return (all & (1u << (size - 1) | ((1u << fraction) - 1))) | field << fraction;
}

uint32_t word(bit_stream& bits, tensor_sum sum, bytes_kind kind) {
  if (kind == bytes_kind::any || (sum != tensor_sum::f32 && sum != tensor_sum::f16)) return bits.next();
  if (sum == tensor_sum::f32) return (bits.next() & 0x807fffffu) | (124 + bits.next() % 10) << 23;
  return (bits.next() & 0x83ff83ffu) | (12 + bits.next() % 10) << 10 | (12 + bits.next() % 10) << 26;
}

// The products of the model, from the same bytes and words.
class model {
 public:
  model(const form& f, bool accumulates) : f_(f), accumulates_(accumulates), words_(f.sum == tensor_sum::f16 ? 2 : 4) {}

  void multiply(const uint8_t* a, const uint8_t* b, const uint32_t* c, uint32_t* d) const {
    const int size = simt::tensor_bytes(f_.types.a), depth = simt::tensor_depth(f_.types.a);
    std::vector<uint32_t> left(static_cast<size_t>(k_rows * depth)), right(static_cast<size_t>(k_cols * depth));
    const auto take = [&](std::vector<uint32_t>& to, const uint8_t* from, bool negates) {
      for (size_t i = 0; i < to.size(); ++i) {
        std::memcpy(&to[i], from + i * static_cast<size_t>(size), static_cast<size_t>(size));
        if (negates) to[i] ^= 1u << (8 * size - 1);
      }
    };
    take(left, a, f_.negates_a);
    take(right, b, f_.negates_b);
    uint32_t sums[k_rows * k_cols] = {};
    each_element([&](int at, int row, int col, int half) {
      if (accumulates_) sums[row * k_cols + col] = taken(c[at], half);
    });
    if (simt::is_integer(f_.types.a)) {
      int32_t whole[k_rows * k_cols];
      std::memcpy(whole, sums, sizeof sums);
      simt::tensor_step(f_.types, k_rows, k_cols, left.data(), right.data(), whole, whole,
                        f_.sum == tensor_sum::saturated_s32);
      std::memcpy(sums, whole, sizeof sums);
    } else {
      float reals[k_rows * k_cols];
      std::memcpy(reals, sums, sizeof sums);
      simt::tensor_step(f_.types, size == 1 ? simt::k_rules_of_8_bits : simt::tensor_rules_of(90), k_rows, k_cols,
                        left.data(), right.data(), reals, reals, f_.sum);
      std::memcpy(sums, reals, sizeof sums);
    }
    each_element([&](int at, int row, int col, int half) {
      const uint32_t bits = given(sums[row * k_cols + col]);
      d[at] = half == 0 ? bits : d[at] | bits << 16;
    });
  }

 private:
  // The word, row and column of each thread's elements, and which half of the word it is.
  template <class Visit>
  void each_element(const Visit& visit) const {
    for (int t = 0; t < k_threads; ++t)
      for (int i = 0; i < 4; ++i)
        visit(t * words_ + (words_ == 2 ? i / 2 : i), t / 32 * 16 + t % 32 / 4 + i / 2 * 8, t % 4 * 2 + i % 2,
              words_ == 2 ? i % 2 : 0);
  }
  uint32_t taken(uint32_t bits, int half) const {
    if (words_ == 4) return bits;
    const float x = simt::to_float(simt::f16{static_cast<uint16_t>(bits >> 16 * half)});
    std::memcpy(&bits, &x, sizeof bits);
    return bits;
  }
  uint32_t given(uint32_t bits) const {
    if (words_ == 4) return bits;
    float x;
    std::memcpy(&x, &bits, sizeof x);
    return simt::from_float<simt::f16>(x).bits;
  }

  const form& f_;
  bool accumulates_;
  int words_;
};

// Runs one form on one kind of operands; returns how many words differ.
size_t differences(const form& f, bytes_kind kind, bool in_registers, bool accumulates) {
  const int words = k_threads * (f.sum == tensor_sum::f16 ? 2 : 4);
  bit_stream bits(static_cast<uint64_t>(kind) * 4 + in_registers * 2 + accumulates);
  std::vector<uint8_t> a(size_t{k_products} * k_rows * k_bytes), b(size_t{k_products} * k_cols * k_bytes);
  std::vector<uint32_t> c(static_cast<size_t>(k_products * words)), expected(c.size());
  const auto size = static_cast<size_t>(simt::tensor_bytes(f.types.a));
  for (size_t i = 0; i < a.size(); i += size) {
    const uint32_t x = element(bits, f.types.a, kind);
    std::memcpy(&a[i], &x, size);
  }
  for (size_t i = 0; i < b.size(); i += size) {
    const uint32_t x = element(bits, f.types.b, kind);
    std::memcpy(&b[i], &x, size);
  }
  for (uint32_t& x : c) x = word(bits, f.sum, kind);
  const model m(f, accumulates);
  for (size_t i = 0; i < k_products; ++i)
    m.multiply(&a[i * k_rows * k_bytes], &b[i * k_cols * k_bytes], &c[i * static_cast<size_t>(words)],
               &expected[i * static_cast<size_t>(words)]);
  const std::vector<uint32_t> actual = multiply_on_gpu(f.name, in_registers, accumulates, a, b, c);
  EXPECT_EQ(actual.size(), expected.size());
  size_t differ = 0, first = 0;
  for (size_t i = 0; i < actual.size() && i < expected.size(); ++i)
    if (actual[i] != expected[i] && differ++ == 0) first = i;
  std::printf("wgmma %s, %s, A in %s, %s: %zu words, %zu differ", f.name.c_str(), k_kind_names[static_cast<int>(kind)],
              in_registers ? "registers" : "memory", accumulates ? "accumulated" : "alone", actual.size(), differ);
  if (differ > 0) std::printf("; the first is number %zu: GPU %08x, model %08x", first, actual[first], expected[first]);
  std::printf("\n");
  return differ;
}

TEST(TensorCore, EveryFormOfAWarpgroupsProductGivesTheSameBits) {
  if (cuda::sm_arch() != 90) GTEST_SKIP() << "WARPCHECK_SKIP: this GPU has no wgmma";
  for (const std::string& name : wgmma_form_names()) {
    const form f = form_of(name);
    for (const bytes_kind kind : {bytes_kind::any, bytes_kind::similar, bytes_kind::sparse})
      for (const bool in_registers : {false, true})
        for (const bool accumulates : {false, true}) EXPECT_EQ(differences(f, kind, in_registers, accumulates), 0u);
  }
}

}  // namespace
}  // namespace warpcheck::self
