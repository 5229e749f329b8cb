// The GPU's tensor cores and the emulated device's give the same bits: every step of random and directed operands,
// every fragment and every layout of shared memory, lane by lane.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>

#include "tests/simt/async_world.hpp"
#include "tests/simt/tensor_cases.hpp"
#include "tests/simt/tensor_kernels.hpp"

namespace warpcheck::self {
namespace {

using simt::tensor_type;

constexpr int k_kinds = static_cast<int>(operand_kind::count);

template <class T>
uint32_t bits_of(T x) {
  static_assert(sizeof(T) == 4);
  uint32_t b;
  std::memcpy(&b, &x, sizeof b);
  return b;
}

float float_of(uint32_t b) {
  float x;
  std::memcpy(&x, &b, sizeof x);
  return x;
}

// Prints how many of the GPU's results differ, and the first; returns whether none does.
template <class T>
bool agree(const std::string& what, const std::vector<T>& gpu, const std::vector<T>& emulated) {
  size_t differ = 0, first = 0;
  for (size_t i = 0; i < gpu.size(); ++i)
    if (bits_of(gpu[i]) != bits_of(emulated[i]) && differ++ == 0) first = i;
  std::printf("%s: %zu results, %zu differ", what.c_str(), gpu.size(), differ);
  if (differ > 0)
    std::printf("; the first is number %zu: GPU %08x, emulated %08x", first, bits_of(gpu[first]),
                bits_of(emulated[first]));
  std::printf("\n");
  return differ == 0 && gpu.size() == emulated.size() && !gpu.empty();
}

bool has_wgmma() { return cuda::sm_arch() == 90; }

TEST(TensorCore, AMillionStepsOfEachKindOfOperandGiveTheSameBits) {
  constexpr uint64_t k_products = 8192;  // of 128 steps
  for (const tensor_type type : k_tensor_types)
    for (int kind = 0; kind < k_kinds; ++kind) {
      std::vector<uint32_t> a, b;
      std::vector<float> c;
      for (uint64_t i = 0; i < k_products; ++i)
        add_fragments(type, make_operands(type, static_cast<operand_kind>(kind), 16, 8, i + 1), a, b, c);
      EXPECT_TRUE(agree(std::string("mma ") + name_of(type) + ", " + name_of(static_cast<operand_kind>(kind)),
                        cuda::tensor_core().mma(type, a, b, c, cuda::sm_arch()),
                        emulated::tensor_core().mma(type, a, b, c, cuda::sm_arch())));
    }
}

TEST(TensorCore, LdmatrixGivesEachLaneTheSame) {
  bit_stream bits(1);
  std::vector<uint8_t> bytes(512);
  for (uint8_t& x : bytes) x = static_cast<uint8_t>(bits.next());
  std::vector<uint32_t> row(32);
  for (uint32_t& r : row) r = bits.next() % 32;
  for (const int count : {1, 2, 4})
    for (const bool transposed : {false, true})
      EXPECT_TRUE(agree("ldmatrix x" + std::to_string(count) + (transposed ? " transposed" : ""),
                        cuda::tensor_core().ldmatrix(count, transposed, bytes, row),
                        emulated::tensor_core().ldmatrix(count, transposed, bytes, row)));
}

TEST(TensorCore, RoundingToTf32GivesTheSame) {
  bit_stream bits(2);
  std::vector<float> x;
  for (const uint32_t b :
       {0x7f800000u, 0x7f800001u, 0x7f800fffu, 0x7f801000u, 0x7f801fffu, 0x7f802000u, 0x7f803000u, 0x7fbfffffu,
        0x7fc00000u, 0x7fc01000u, 0x7fffefffu, 0x7ffff000u, 0x7fffffffu, 0xff800001u, 0xff801000u, 0xffffffffu})
    x.push_back(float_of(b));
  const size_t directed = x.size();
  x.resize(1 << 20);
  for (size_t i = directed; i < x.size(); ++i) {
    const uint32_t b = i % 4 == 0   ? bits.next()
                       : i % 4 == 1 ? (bits.next() & 0xffffe000u) | 0x1000u
                       : i % 4 == 2 ? (bits.next() & 0x807fffffu)
                                    : 0x7f000000u | (bits.next() & 0x80ffffffu);
    std::memcpy(&x[i], &b, sizeof b);
  }
  const std::vector<float> gpu = cuda::tensor_core().round_tf32(x), emulated = emulated::tensor_core().round_tf32(x);
  EXPECT_TRUE(agree("cvt.rna.tf32", gpu, emulated));
  for (size_t i = 0; i < directed; ++i)
    EXPECT_EQ(bits_of(gpu[i]), bits_of(emulated[i])) << std::hex << "of " << bits_of(x[i]);
}

void fill_tile(tile& t, tensor_type type, unsigned bytes, int count, operand_source& source) {
  const unsigned size = type == tensor_type::tf32 ? 4 : 2;
  t.bytes.resize(static_cast<size_t>(bytes) * static_cast<unsigned>(count));
  for (size_t i = 0; i < t.bytes.size() / size; ++i) {
    const uint32_t element = source.a(static_cast<int>(i % 2));
    std::memcpy(&t.bytes[i * size], &element, size);
  }
}

std::string describe(const warpgroup_run& r) {
  const auto of = [](const tile& t) {
    return std::string(t.mn_major ? "MN" : "K") + " pattern " + std::to_string(t.pattern) + " leading " +
           std::to_string(t.leading) + " stride " + std::to_string(t.stride) + " start " + std::to_string(t.start);
  };
  return std::string("wgmma ") + name_of(r.type) + " n" + std::to_string(r.n) + ", a " +
         (r.a_registers.empty() ? of(r.a) : "in registers") + ", b " + of(r.b) +
         (r.accumulate ? "" : ", without accumulators");
}

bool both_agree(const warpgroup_run& r, const std::string& note = "") {
  return agree(describe(r) + note, cuda::tensor_core().wgmma(r), emulated::tensor_core().wgmma(r));
}

TEST(TensorCore, EveryLayoutOfAWarpgroupsOperandsGivesEachLaneTheSame) {
  if (!has_wgmma()) GTEST_SKIP() << "WARPCHECK_SKIP: this GPU has no wgmma";
  uint64_t seed = 1;
  for (const tensor_type type : k_tensor_types)
    for (const int n : {8, 16, 32, 64, 96, 128, 192, 256})
      for (const bool a_mn : {false, true})
        for (const bool b_mn : {false, true})
          for (const bool registers : {false, true}) {
            const bool transposable = n == 64 || n == 256;
            if ((a_mn || b_mn) && (type == tensor_type::tf32 || !transposable)) continue;
            if (registers && a_mn) continue;
            const std::vector<tile> of_a = places(a_mn, type), of_b = places(b_mn, type);
            for (size_t i = 0; i < std::max(of_a.size(), of_b.size()); ++i) {
              operand_source source(type, operand_kind::near_one, seed++);
              warpgroup_run r = {type, n, 2, of_a[i % of_a.size()], of_b[i % of_b.size()], {}, {}, i % 4 != 3};
              fill_tile(r.a, type, k_tile_a_bytes, r.count, source);
              fill_tile(r.b, type, k_tile_b_bytes, r.count, source);
              for (int j = 0; j < 64 * n * r.count; ++j) r.c.push_back(source.c());
              if (registers)
                for (int j = 0; j < 4 * 128 * r.count; ++j) {
                  const uint32_t low = source.a(0);
                  r.a_registers.push_back(type == tensor_type::tf32 ? low : low | source.a(1) << 16);
                }
              EXPECT_TRUE(both_agree(r));
            }
          }
}

TEST(TensorCore, CorrectKernelsOfTheAsynchronousWorldGiveWhatTheyMust) {
  if (!has_wgmma()) GTEST_SKIP() << "WARPCHECK_SKIP: this GPU has no wgmma";
  const std::vector<float> in = async_inputs();
  for (const async_twin& twin : cuda::async_twins())
    for (int i = 0; i < 20; ++i) EXPECT_EQ(twin.run(in), twin.expected(in)) << twin.name << ", run " << i;
}

TEST(TensorCore, AMillionStepsOfAWarpgroupOfEachKindGiveTheSameBits) {
  if (!has_wgmma()) GTEST_SKIP() << "WARPCHECK_SKIP: this GPU has no wgmma";
  constexpr int k_products = 256;  // of 4096 steps
  for (const tensor_type type : k_tensor_types)
    for (int kind = 0; kind < k_kinds; ++kind) {
      const int depth = simt::tensor_depth(type);
      const size_t size = type == tensor_type::tf32 ? 4 : 2, piece = 16 / size;
      warpgroup_run r = {type, 64, k_products, {{}, 128, 256, 0, 0, false}, {{}, 128, 256, 0, 0, false}, {}, {}, true};
      r.a.bytes.resize(size_t{k_tile_a_bytes} * k_products);
      r.b.bytes.resize(size_t{k_tile_b_bytes} * k_products);
      for (size_t product = 0; product < k_products; ++product) {
        const step_operands o = make_operands(type, static_cast<operand_kind>(kind), 64, 64, product + 1);
        for (size_t i = 0; i < 64; ++i)
          for (size_t k = 0; k < static_cast<size_t>(depth); ++k) {
            const size_t at = i / 8 * 256 + k / piece * 128 + i % 8 * 16 + k % piece * size;
            std::memcpy(&r.a.bytes[product * k_tile_a_bytes + at], &o.a[i * static_cast<size_t>(depth) + k], size);
            std::memcpy(&r.b.bytes[product * k_tile_b_bytes + at], &o.b[i * static_cast<size_t>(depth) + k], size);
          }
        r.c.insert(r.c.end(), o.c.begin(), o.c.end());  // in whatever order
      }
      EXPECT_TRUE(both_agree(r, std::string(", ") + name_of(static_cast<operand_kind>(kind))));
    }
}

}  // namespace
}  // namespace warpcheck::self
