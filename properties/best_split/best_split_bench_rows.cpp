// The timed rows of best_split: one leaf whose features store every bin and have a NaN bin.
#include <fmt/format.h>

#include "properties/best_split/best_split_cases.hpp"

namespace warpcheck {

using namespace engine;

namespace {

// The variant that forces a path. `known`: the caller knows which tasks are long (best_split.hpp).
std::string variant_of(const std::string& path, int64_t features, int64_t bins) {
  constexpr int64_t k_of_warp = 256;
  if (path == "automatic") return "";
  if (path != "known") return "best_split_" + path;
  return features > 1 ? "best_split_mixed" : bins <= k_of_warp ? "best_split_block" : "best_split_cluster";
}

// The last feature has `last_bins`, where that is not 0.
bench_row timed(int64_t features, int64_t bins, const std::string& path, int64_t last_bins = 0) {
  bench_row row;
  row.of = {
      {"slots", (features - 1) * bins + (last_bins > 0 ? last_bins : bins)}, {"features", features}, {"leaves", 1}};
  row.type = dtype::f64;
  row.name = fmt::format("{}x{}{}/{}", features, bins, last_bins > 0 ? fmt::format("_and_{}", last_bins) : "", path);
  row.variant = variant_of(path, features, bins);
  row.scalars = {{"missing", "2"}, {"exact", "0"}};
  if (last_bins > 0) row.scalars["last_bins"] = format_number(static_cast<double>(last_bins));
  if (row.variant == "best_split_mixed") row.scalars["long_features"] = "1";
  row.fills = {{"hist", make_recipe("dyadic", {1, 1024, 6})}};
  return row;
}

}  // namespace

bench_list best_split_bench_list() {
  bench_list list;
  list.property = "split-is-maximal";
  list.rows = {timed(1000, 255, "automatic"), timed(1, 65536, "automatic")};
  list.rows[0].target_us = 15;
  list.rows[1].target_us = 60;
  for (const int64_t features : {1, 28, 132, 500, 2000}) list.rows.push_back(timed(features, 255, "automatic"));
  for (const int64_t bins : {256, 1024, 4096, 16384})
    for (const char* path : {"block", "cluster"}) list.rows.push_back(timed(1, bins, path));
  for (const int64_t bins : {255, 1024}) list.rows.push_back(timed(1, bins, "known"));
  for (const int64_t bins : {4096, 16384, 65536})
    for (const char* path : {"automatic", "known"}) list.rows.push_back(timed(1000, 255, path, bins));
  list.rows.push_back(timed(24, 255, "known", 4096));  // small enough for the emulated device
  return list;
}

}  // namespace warpcheck
