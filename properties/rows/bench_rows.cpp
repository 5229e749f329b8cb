#include "properties/rows/bench_rows.hpp"

namespace warpcheck {

using engine::bench_row;

bench_row& bench_rows::add(int64_t rows, int64_t cols, dtype type) {
  bench_row& row = rows_.emplace_back();
  row.of = {{"rows", rows}, {"cols", cols}};
  row.target = target_;
  row.type = type;
  return row;
}

bench_row& bench_rows::add_vector(int64_t elements, dtype type) {
  bench_row& row = add(0, elements, type);
  row.of.erase("rows");
  return row;
}

void bench_rows::add_listed() {
  constexpr int64_t k_listed[][2] = {{2097152, 32}, {262144, 256}, {65536, 1000}, {65536, 1024}, {65536, 1025},
                                     {16384, 4096}, {8192, 8192},  {4096, 16384}, {2048, 32768}, {1024, 65536},
                                     {512, 131072}, {512, 128256}, {64, 1048576}};
  for (const auto& shape : k_listed) add(shape[0], shape[1]);
}

void bench_rows::add_few() {
  add(4, 16777216);
  add(1, 67108864);
}

void bench_rows::add_longest() {
  constexpr double k_target = 0.70;
  add(16, 4194304);
  add(4, 16777216).target = k_target;
  add(1, 67108864).target = k_target;
}

void bench_rows::add_small() {
  for (const int64_t cols : {32, 1024, 16384, 262144}) add((int64_t{1} << 18) / cols, cols);
}

void bench_rows::add_misaligned() {
  for (const int64_t cols : {256, 1024, 4096, 32768, 4194304, 16777216})
    add((int64_t{1} << 26) / cols, cols).offset = 1;
}

void bench_rows::add_half_types() {
  for (const dtype type : {dtype::f16, dtype::bf16})
    for (const int64_t cols : {32, 1024, 4096, 32768}) add((int64_t{1} << 27) / cols, cols, type);
}

std::vector<bench_row> reduction_bench_rows(bool half_types) {
  bench_rows rows(0.95);
  rows.add_listed();
  rows.add_few();
  rows.add_small();
  rows.add_misaligned();
  if (half_types) rows.add_half_types();
  return rows.take();
}

}  // namespace warpcheck
