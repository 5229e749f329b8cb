// A case line means the same data on every machine and in every version, and a seed the same choices: what each
// distribution and each choice yields is recorded here, as the hash of many of them. A change of a hash is a change of
// every replay line that was ever written down; who means it says so in docs and records the new one.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "properties/engine/cases/draw.hpp"
#include "properties/engine/cases/generate.hpp"
#include "properties/engine/cases/recipe.hpp"
#include "properties/rows/row_inputs.hpp"

namespace warpcheck::engine {
namespace {

std::string data_hash(const std::string& text, dtype type) {
  uint64_t hash = 0;
  for (const int64_t cols : {1, 7, 33}) {
    const value_source source(parse_recipe(text), type, cols);
    for (int64_t row = 0; row < 40; ++row)
      for (int64_t col = 0; col < cols; ++col) {
        // The sign and the payload of a NaN are nobody's.
        const uint64_t bits = source.bits(row, col);
        hash = hash64(hash, std::isnan(decode(type, bits)) ? 0 : bits + 1);
      }
  }
  return fmt::format("{:016x}", hash);
}

// Of f32, f16 and i32.
const std::map<std::string, std::array<const char*, 3>> k_data = {
    {"half_ulp(3,11)", {"269ad61123e8a76b", "a5b798e9e658da98", "1d0426d007c389d2"}},
    {"constant(2.5)", {"e97579da4b14c764", "ce903f261f3346dc", "2f535be0fe89189d"}},
    {"constant(-inf)", {"c516970000e9fbfb", "ac195e5dfe8fc385", "c36794340918ea2c"}},
    {"integers(9,-3,3)", {"5d996021c9eb122e", "e4c957dc6f4ae050", "d71a81a01fdbc28c"}},
    {"integers(9,5,5)", {"33022ff4a7298eae", "d66dd31381517f52", "79b4ed94bc8d0c33"}},
    {"dyadic(9,24,3)", {"8c58df38fead6455", "02c06f55614324e9", "c4630c90ed067304"}},
    {"randn(7)", {"a8826a0126b40889", "4a1b96d26a67f56c", "38f5063c8db06dd1"}},
    {"randn(7,2)", {"4ea73f7d3d32bca5", "042e38cfee7e049b", "847d1f36427198c4"}},
    {"randn(7,2,0.5)", {"542f2d195dbbed79", "f2dffeb836ea8b12", "2cbd0fe9d9ff9f5f"}},
    {"uniform(3,-60,60)", {"aab61fb52d974a7f", "ce48dfdafc204300", "a1f8b0716bde3cf2"}},
    {"bits(5)", {"8cc436f45b86ce84", "fb63a6f49b1736dc", "e8637c91b794119b"}},
    {"finite_bits(5)", {"478f881f32ef5a9a", "1ce1f72208774c98", "e8637c91b794119b"}},
    {"log_uniform(5,-20,3)", {"a03f2102cc55f53e", "cd84023b112e617d", "cc794e51a15a0afc"}},
    {"near_overflow(5)", {"7b706790200a1802", "f3629d4e4b241eea", "893910dd039ed2fb"}},
    {"near_underflow(5)", {"bdd95ba88cdb6945", "245c7241a1fb87bf", "3f084b9857d8de32"}},
    {"cancellation(5,100)", {"8ccdd19f9ec4a578", "8ffc892c7d728149", "b888a8ed89777ef8"}},
    {"ascending(-20,20)", {"c97d8a84352c889d", "971ff0659487977c", "a7e1ddf149881f15"}},
    {"descending(-20,20)", {"f6e6b430c6c6136f", "2706795878a24ad7", "d6d52a12cde58572"}},
    {"alternating(3,-7)", {"e1dce3f3812680d9", "39b2a7bd39b9d8c7", "a54e3b0f89d6d747"}},
    {"sawtooth(4,-10,10)", {"0a8aa2dd4365a243", "6cea59e5ff1d59c8", "2e3f8041587bb6f9"}},
    {"sawtooth(0.5,-10,10)", {"bde3dfa37f2a6098", "60f04b83b1e8133d", "98e0b1bcf2cde0f8"}},
    {"spike(6,1,-30)", {"a6db0536d7e964f2", "8c6a0ad5822e48ef", "d434548cf77c9526"}},
    {"diagonal(1,2,7,0)", {"022870135ee388c2", "e2902239780ba09a", "924ea985dd086899"}},
    {"diagonal(40,3,7,0)", {"7bf4a84aa9ddc3a9", "86ec3479d21cde4e", "b18d57831ccb8e57"}},
    {"masked(2,5,8)", {"03027cb92a911a5b", "5c3e087a1931e705", "7c4489daf11f9f24"}},
    {"unmasked(2,5,8)", {"ecc17e113675735e", "30be64eedb0c858a", "effcf64bdeb1d605"}},
    {"duplicates(4,3)", {"05426f4aa8f243e9", "6e2a018c19db8c51", "05c7ff33796d5831"}},
    {"duplicates(4,0)", {"ab772b7cf90ee661", "ab772b7cf90ee661", "ab772b7cf90ee661"}},
    {"one_hot(4,9,-1)", {"d2555fd062c1cf8e", "f487ed21a30ccaa0", "3bd9c0cbcba1bfb5"}},
    {"special(4)", {"9fe044a21dc698de", "68bacb86c6e162ce", "73c76b60a20d5b03"}},
    {"nan_bits(4)", {"948ed422a0b1d6e9", "15abd1a54a2f6220", "42f3401a2651282e"}},
    {"stagnation(2,-16.64)", {"45f4932f529da9d5", "5c19509e66626eca", "8daf8de3c8127813"}},
    {"permutation(5,33)", {"7deac6900925711c", "9c0018bc5cc33dbd", "9d1e09eb75c25a1e"}},
    // The step of row 0 is drawn from within `count` of 2^64.
    {"permutation(2252625050,4294967291)", {"a9eb644307a08e62", "e2a0a67b522e61ce", "1c11da12c4ffd45f"}},
    {"late_rise(3,80,2)", {"b2eea4fc8c450559", "5502500bcb3220de", "ec06248051dbfc7d"}},
    {"levels(3,-900,900)", {"d2d5606ae41e1a7f", "5c0923f0ec9ca312", "b766f8f46b6cb09c"}},
    {"levels(3,-900,900,0.25)", {"c67d00db51096562", "9686312af638ee58", "ecaeae229f8f73e1"}},
};

TEST(recorded, data_of_every_distribution) {
  for (const distribution_info& d : distributions()) {
    if (d.name == "npy" || d.name == "derived") continue;
    int recorded = 0;
    for (const auto& [text, hashes] : k_data) {
      if (!text.starts_with(fmt::format("{}(", d.name))) continue;
      ++recorded;
      const std::array<std::string, 3> now = {data_hash(text, dtype::f32), data_hash(text, dtype::f16),
                                              data_hash(text, dtype::i32)};
      EXPECT_TRUE(std::ranges::equal(now, hashes))
          << fmt::format("{{\"{}\", {{\"{}\"}}}},", text, fmt::join(now, "\", \""));
    }
    EXPECT_GT(recorded, 0) << d.name;
  }
}

target three_variants() {
  target t;
  t.op = "softmax";
  t.device = "emulated";
  t.type = dtype::f32;
  t.variants = {{"a", {{1, 64, 1, 64}}}, {"b", {{1, 2048, 65, 2048}}}, {"c", {{1, -1, 2049, -1}}}};
  t.boundaries = {{96, 512}};
  t.size = 1;
  return t;
}

TEST(recorded, choices_of_a_generator) {
  const target t = three_variants();
  target bare = t;
  bare.variants.clear();
  uint64_t hash = 0;
  const auto add = [&](int64_t value) { hash = hash64(hash, static_cast<uint64_t>(value)); };
  for (const int64_t most : {1, 40, 5000, 100000})
    for (const int64_t e : critical_extents(t, most)) add(e);
  EXPECT_EQ(fmt::format("{:016x}", hash), "d4e522fdb4a9eb9e");
  for (int64_t i = 0; i < 300; ++i) {
    draw d(rc::Random(static_cast<uint64_t>(i)), i);
    add(static_cast<int64_t>(d.bits()));
    add(d.between(-5, 5));
    add(d.chance(30));
    add(static_cast<int64_t>(d.seed()));
    add(d.one_of({1, 2, 3}));
    add(draw_extent(d, t, 500, 70000));
    add(draw_extent(d, t, 500, 300));
    add(draw_extent_of_variant(d, t, i, 33000));
    add(draw_extent_of_variant(d, t, i, 1000));
    add(draw_extent_of_variant(d, bare, i, 1000));
  }
  EXPECT_EQ(fmt::format("{:016x}", hash), "b232ea61879a479d");
}

// What the row operators' generators make of a seed, on each device, at each size, with and without limits.
TEST(recorded, cases_of_the_row_generators) {
  property p;
  p.op = "recorded";
  p.name = "rows";
  p.generate = [](const target& t, draw& d) {
    const row_length length = draw_row_length(d, t, most_cols(t));
    const int64_t rows = draw_rows(d, t, length);
    trial_case c = row_case(t, {input_matrix("x", t.type, rows, length.cols, draw_row_fill(d, t, length.cols)),
                                output_matrix("y", t.type, rows, length.cols)});
    force_variant(c, length);
    draw_layout(d, c);
    return c;
  };
  const std::vector<std::pair<std::string, std::string>> recorded = {
      {"emulated 0 f32", "9f96853c820bacd1"}, {"emulated 0 f16", "4090afd637b9b0df"},
      {"emulated 1 f32", "56d2c5c0b8ef218f"}, {"emulated 1 f16", "a4cb37e8fb65de09"},
      {"emulated 2 f32", "a00884474dd58337"}, {"emulated 2 f16", "adccf1117df27794"},
      {"cuda 0 f32", "4d7fb25e742af324"},     {"cuda 0 f16", "042d2434c745b547"},
      {"cuda 1 f32", "4d7fb25e742af324"},     {"cuda 1 f16", "042d2434c745b547"},
      {"cuda 2 f32", "8f6c606daae46219"},     {"cuda 2 f16", "f1d5e85fa3fe5b06"},
  };
  std::vector<std::pair<std::string, std::string>> now;
  for (const char* device : {"emulated", "cuda"})
    for (const int size : {0, 1, 2})
      for (const dtype type : {dtype::f32, dtype::f16}) {
        target t = three_variants();
        t.device = device;
        t.size = size;
        t.type = type;
        uint64_t hash = 0;
        for (int64_t i = 0; i < 150; ++i) {
          if (i == 100) t.candidate = "other.so";
          if (i == 110) t.variants.clear();
          if (i == 120) t.max_rows = 3;
          if (i == 130) t.max_cols = 50;
          for (const char ch : format(generate_case(p, t, 5, i))) hash = hash64(hash, static_cast<unsigned char>(ch));
        }
        now.emplace_back(fmt::format("{} {} {}", device, size, name_of(type)), fmt::format("{:016x}", hash));
      }
  for (const auto& [name, hash] : now)
    EXPECT_TRUE(std::ranges::find(recorded, std::pair(name, hash)) != recorded.end())
        << fmt::format("{{\"{}\", \"{}\"}},", name, hash);
}

}  // namespace
}  // namespace warpcheck::engine
