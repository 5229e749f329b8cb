// Every form of a product of a warpgroup, of integers so small that each sum is exact, with A in shared memory and in
// registers, with accumulators and without.
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "on_device.cuh"
#include "wgmma_forms.cuh"

using namespace wgmma_forms;

// An integer of -8 to 8 in the bits of a floating type with `exponent` and `fraction` bits.
uint32_t real_bits(int x, int exponent, int fraction) {
  if (x == 0) return 0;
  const int magnitude = x < 0 ? -x : x, power = magnitude >= 8 ? 3 : magnitude >= 4 ? 2 : magnitude >= 2 ? 1 : 0;
  const uint32_t field = power + (1 << (exponent - 1)) - 1;
  const uint32_t bits = field << fraction | ((magnitude << fraction >> power) & ((1 << fraction) - 1));
  return (x < 0 ? 1u << (exponent + fraction) : 0) | bits;
}

struct element_type {
  const char* name;
  int bytes, exponent, fraction;  // of integers no exponent
};
const element_type k_types[] = {{"tf32", 4, 8, 23}, {"bf16", 2, 8, 7}, {"f16", 2, 5, 10}, {"e4m3", 1, 4, 3},
                                {"e5m2", 1, 5, 2},  {"s8", 1, 0, 0},   {"u8", 1, 0, 0}};

// The type that begins at `text`, or nullptr.
const element_type* find_type(const char* text) {
  for (const element_type& t : k_types)
    if (std::strncmp(text, t.name, std::strlen(t.name)) == 0) return &t;
  return nullptr;
}
uint32_t bits_of(int x, const element_type& t) {
  return t.exponent == 0 ? static_cast<uint8_t>(x) : real_bits(x, t.exponent, t.fraction);
}

// An operand's element: e5m2 has three bits, and u8 no sign.
int element(int row, int k, const element_type& t) {
  const int x = (row * 5 + k * 3 + row * k) % 7;
  return std::strcmp(t.name, "u8") == 0 ? 250 + x % 6 : x % 4 == 3 ? -4 : x - 3;
}
int addend(int row, int col, bool integers) { return integers ? (row - col) * 1000 : (row + 2 * col) % 17 - 8; }

template <class Form, bool InRegisters>
int wrong_results(const std::string& name, bool accumulates) {
  const bool integers = name[0] == 's' || name[0] == 'u', sums_f16 = Form::words == 2;
  const element_type& left = *find_type(name.c_str());
  const element_type* second = find_type(name.c_str() + std::strlen(left.name) + 1);
  const element_type& right = second != nullptr && second->bytes == left.bytes ? *second : left;
  const auto has = [&](const char* part) { return name.find(part) != std::string::npos; };
  const bool minus_a = has("minus_a") || has("both");
  const bool minus_b = has("minus_b") || has("both");
  std::vector<uint8_t> a(k_rows * k_bytes), b(k_cols * k_bytes);
  const int depth = k_bytes / left.bytes;
  for (int row = 0; row < k_rows; ++row)
    for (int k = 0; k < depth; ++k) {
      const uint32_t bits = bits_of(element(row, k, left), left);
      std::memcpy(&a[row * k_bytes + k * left.bytes], &bits, left.bytes);
    }
  for (int col = 0; col < k_cols; ++col)
    for (int k = 0; k < depth; ++k) {
      const uint32_t bits = bits_of(element(col + 3, k, right), right);
      std::memcpy(&b[col * k_bytes + k * right.bytes], &bits, right.bytes);
    }
  std::vector<uint32_t> c(k_threads * Form::words), expected(c.size());
  const auto encode = [&](int x) {
    if (integers) return static_cast<uint32_t>(x);
    float f = static_cast<float>(x);
    uint32_t bits;
    std::memcpy(&bits, &f, sizeof bits);
    if (!sums_f16 || x == 0) return bits;
    return (bits >> 16 & 0x8000) | ((bits & 0x7fffffff) - (112u << 23)) >> 13;
  };
  for (int t = 0; t < k_threads; ++t)
    for (int i = 0; i < 4; ++i) {
      const int row = t / 32 * 16 + t % 32 / 4 + i / 2 * 8, col = t % 4 * 2 + i % 2;
      const int at = t * Form::words + (sums_f16 ? i / 2 : i), shift = sums_f16 ? i % 2 * 16 : 0;
      int sum = accumulates ? addend(row, col, integers) : 0;
      for (int k = 0; k < depth; ++k)
        sum += element(row, k, left) * element(col + 3, k, right) * (minus_a != minus_b ? -1 : 1);
      c[at] |= encode(addend(row, col, integers)) << shift;
      expected[at] |= encode(sum) << shift;
    }
  const on_device<uint8_t> on_a(a), on_b(b);
  const on_device<uint32_t> on_c(c), on_d(c.size());
  using word = typename Form::word;
  multiply<Form, InRegisters><<<1, k_threads>>>(on_a.p, on_b.p, reinterpret_cast<const word*>(on_c.p),
                                                reinterpret_cast<word*>(on_d.p), accumulates);
  const std::vector<uint32_t> d = on_d.host();
  int wrong = 0;
  for (size_t i = 0; i < d.size(); ++i) wrong += d[i] != expected[i];
  if (wrong > 0) std::printf("%s, A in %s: %d wrong\n", name.c_str(), InRegisters ? "registers" : "memory", wrong);
  return wrong;
}

int main(int argc, char** argv) {
  int wrong = 0, forms = 0;
  each_form([&](auto form, const char* name) {
    if (argc > 1 && std::strcmp(argv[1], name) != 0) return;
    ++forms;
    for (const bool accumulates : {false, true})
      wrong += wrong_results<decltype(form), false>(name, accumulates) +
               wrong_results<decltype(form), true>(name, accumulates);
  });
  return wrong == 0 && forms > 0 ? 0 : 1;
}
