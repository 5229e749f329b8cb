// The timed rows of matmul: products in each arithmetic, some stored transposed, some as layers.
#include <fmt/format.h>

#include <algorithm>

#include "properties/matmul/matmul_problem.hpp"

namespace warpcheck {

using namespace engine;

namespace {

struct timed_arithmetic {
  const char* name;
  dtype type;
  product_mode mode = product_mode::ieee;
};
constexpr timed_arithmetic k_arithmetics[] = {{"ieee", dtype::f32},
                                              {"tf32x3", dtype::f32, product_mode::tf32x3},
                                              {"bf16x6", dtype::f32, product_mode::bf16x6},
                                              {"f16", dtype::f16},
                                              {"bf16", dtype::bf16}};

// Tensor cores multiply f16 as fast as bf16.
product_work work_of(const bench_row& row) {
  const std::string& mode = row.scalars.at("mode");
  const product_rate rate = mode == "tf32x3"                             ? product_rate::tf32
                            : mode == "bf16x6" || row.type != dtype::f32 ? product_rate::bf16
                                                                         : product_rate::f32;
  return {
      rate, row.of.at("m"), row.of.at("n"), row.of.at("k"), 1, mode == "tf32x3" ? 3.0 : mode == "bf16x6" ? 6.0 : 1.0};
}

bench_row timed(const timed_arithmetic& a, const product_sizes& of) {
  bench_row row;
  row.of = {{"m", of.m}, {"n", of.n}, {"k", of.k}};
  row.type = a.type;
  row.name = fmt::format("{}/{}x{}x{}", a.name, of.m, of.n, of.k);
  row.tensors = {{"c", dtype::f32}, {"work", dtype::u8}};
  row.scalars = {{"mode", std::string(name_of(a.mode))}};
  return row;
}

bench_row transposed(bench_row row, bool ta, bool tb) {
  row.name += fmt::format("/{}{}", ta ? 'T' : 'N', tb ? 'T' : 'N');
  if (ta) row.scalars["ta"] = "yes";
  if (tb) row.scalars["tb"] = "yes";
  return row;
}

bench_row layer(bench_row row) {
  row.name += "/layer";
  row.tensors["bias"] = dtype::f32;
  row.scalars["sigmoid"] = "1";
  row.scalars["sigma"] = "0.0009765625";  // so that it does not saturate
  return row;
}

// Blocks of C with their rows and columns.
std::vector<bench_part> blocks_of(const bench_row& row, uint64_t seed, int count) {
  constexpr int64_t k_elements = 144, k_side = 12;
  const int64_t m = row.of.at("m"), n = row.of.at("n"), k = row.of.at("k");
  const int64_t rows = std::min(m, k_elements / std::min(n, k_side)), cols = std::min(n, k_elements / rows);
  const bool ta = row.scalars.contains("ta"), tb = row.scalars.contains("tb");
  std::vector<bench_part> parts;
  for (int p = 0; p < count; ++p) {
    const int64_t i = place_of_part(p, count, m - rows, seed, 0), j = place_of_part(p, count, n - cols, seed, 1);
    bench_part& part = parts.emplace_back();
    part.name = fmt::format("block [{},{}]", i, j);
    part.row = row;
    part.row.of = {{"m", rows}, {"n", cols}, {"k", k}};
    using ints = std::vector<int64_t>;
    part.boxes = {{"a", "a", ta ? ints{0, i} : ints{i, 0}, ta ? ints{k, rows} : ints{rows, k}},
                  {"b", "b", tb ? ints{j, 0} : ints{0, j}, tb ? ints{cols, k} : ints{k, cols}},
                  {"c", "c", {i, j}, {rows, cols}}};
    if (row.tensors.contains("bias")) part.boxes.push_back({"bias", "bias", {j}, {cols}});
  }
  return parts;
}

}  // namespace

bench_list matmul_bench_list() {
  constexpr product_sizes k_sizes[] = {{512, 512, 512},    {1024, 1024, 1024}, {2048, 2048, 2048}, {4096, 4096, 4096},
                                       {8192, 8192, 8192}, {4097, 4095, 4093}, {64, 4096, 4096},   {8192, 64, 8192},
                                       {8192, 8192, 64},   {1, 4096, 4096},    {4096, 1, 4096},    {1, 50000, 8192},
                                       {64, 64, 64}};  // the last one is small enough for the emulated device
  bench_list list;
  list.parts = blocks_of;
  list.work = work_of;
  for (const product_sizes& of : k_sizes)
    for (const timed_arithmetic& a : k_arithmetics) list.rows.push_back(timed(a, of));
  for (const int64_t side : {2048, 4096})
    for (const int stored : {1, 2, 3})
      for (const timed_arithmetic& a : k_arithmetics)
        list.rows.push_back(transposed(timed(a, {side, side, side}), stored % 2 == 1, stored >= 2));
  for (const int64_t side : {64, 1024, 4096})
    for (const timed_arithmetic& a : k_arithmetics) list.rows.push_back(layer(timed(a, {side, side, side})));
  return list;
}

}  // namespace warpcheck
