// The C++ API of scan: workspaces and paths.
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "kernels/scan/scan.hpp"
#include "simt/emulation.hpp"

namespace warpcheck {
namespace {

constexpr auto k_inclusive = scan_kind::inclusive;

std::vector<int64_t> numbers(int64_t n) {
  std::vector<int64_t> x(static_cast<size_t>(n));
  std::iota(x.begin(), x.end(), int64_t{-5});
  return x;
}

std::vector<int64_t> prefixes(const std::vector<int64_t>& x, int64_t cols) {
  std::vector<int64_t> y(x.size());
  for (size_t i = 0; i < x.size(); ++i) y[i] = x[i] + (i % static_cast<size_t>(cols) ? y[i - 1] : 0);
  return y;
}

TEST(scan_api, workspace_is_asked_for_only_where_blocks_share_a_row) {
  EXPECT_EQ(scan_workspace_bytes(1000, 100, scan_path::automatic), 0u);
  EXPECT_EQ(scan_workspace_bytes(3, 1 << 20, scan_path::block), 0u);
  EXPECT_EQ(scan_workspace_bytes(k_scan_few_rows, 1 << 20, scan_path::automatic), 0u);
  EXPECT_EQ(scan_workspace_bytes(0, 1 << 20, scan_path::multi_block), 0u);
  EXPECT_EQ(scan_workspace_bytes(1, 0, scan_path::multi_block), 0u);
  EXPECT_GT(scan_workspace_bytes(k_scan_few_rows - 1, 1 << 20, scan_path::automatic), 0u);
  EXPECT_GT(scan_workspace_bytes(1, 1, scan_path::multi_block), 0u);
  EXPECT_THROW(scan_workspace_bytes(-1, 1, scan_path::block), std::invalid_argument);
  EXPECT_THROW(scan_workspace_bytes(1, -1, scan_path::block), std::invalid_argument);
  EXPECT_THROW(scan_workspace_bytes(int64_t{1} << 40, int64_t{1} << 40, scan_path::block), std::invalid_argument);
  EXPECT_THROW(scan_workspace_bytes(1, 1, static_cast<scan_path>(3)), std::invalid_argument);
}

TEST(scan_api, any_workspace_contents_give_the_same_result) {
  constexpr int64_t rows = 2, cols = 5000;
  const std::vector<int64_t> x = numbers(rows * cols), expected = prefixes(x, cols);
  const size_t bytes = scan_workspace_bytes(rows, cols, scan_path::multi_block);
  std::vector<uint64_t> ws(bytes / 8);
  simt::emulation stream;
  // All ones looks like results that are there; the last round is what the one before left.
  for (const int fill : {0x00, 0xff, 0x5c, -1}) {
    if (fill >= 0) std::memset(ws.data(), fill, bytes);
    std::vector<int64_t> y(x.size());
    scan(x.data(), y.data(), rows, cols, k_inclusive, scan_path::multi_block, ws.data(), bytes, &stream);
    EXPECT_EQ(y, expected) << fill;
  }
}

TEST(scan_api, paths_agree_in_place) {
  constexpr int64_t cols = 20000;
  const std::vector<int64_t> x = numbers(cols), expected = prefixes(x, cols);
  simt::emulation stream;
  for (const scan_path path : {scan_path::automatic, scan_path::block, scan_path::multi_block}) {
    std::vector<uint64_t> ws(scan_workspace_bytes(1, cols, path) / 8);
    std::vector<int64_t> y = x;
    scan(y.data(), y.data(), 1, cols, k_inclusive, path, ws.data(), ws.size() * 8, &stream);
    EXPECT_EQ(y, expected) << static_cast<int>(path);
  }
}

TEST(scan_api, mistakes_are_refused) {
  constexpr int64_t cols = 5000;
  std::vector<float> x(2 * cols), y(cols);
  const size_t bytes = scan_workspace_bytes(1, cols, scan_path::multi_block);
  std::vector<uint64_t> ws(bytes / 8 + 1);
  simt::emulation stream;
  const auto call = [&](const float* from, float* to, scan_kind kind, scan_path path, void* space, size_t size) {
    scan(from, to, 1, cols, kind, path, space, size, &stream);
  };
  constexpr auto multi = scan_path::multi_block;
  EXPECT_NO_THROW(call(x.data(), y.data(), k_inclusive, multi, ws.data(), bytes));
  EXPECT_THROW(call(x.data(), y.data(), k_inclusive, multi, ws.data(), bytes - 1), std::invalid_argument);
  EXPECT_THROW(call(x.data(), y.data(), k_inclusive, multi, nullptr, bytes), std::invalid_argument);
  EXPECT_THROW(call(x.data(), y.data(), k_inclusive, multi, reinterpret_cast<char*>(ws.data()) + 4, bytes),
               std::invalid_argument);
  EXPECT_THROW(call(x.data(), y.data(), k_inclusive, multi, y.data(), bytes), std::invalid_argument);
  EXPECT_THROW(call(x.data(), y.data(), k_inclusive, multi, x.data(), bytes), std::invalid_argument);
  EXPECT_THROW(call(x.data(), x.data() + 1, k_inclusive, multi, ws.data(), bytes), std::invalid_argument);
  EXPECT_THROW(call(x.data(), y.data(), static_cast<scan_kind>(2), multi, ws.data(), bytes), std::invalid_argument);
  EXPECT_THROW(call(x.data(), y.data(), k_inclusive, static_cast<scan_path>(3), ws.data(), bytes),
               std::invalid_argument);
  EXPECT_THROW(scan<float>(nullptr, nullptr, int64_t{1} << 40, int64_t{1} << 40, k_inclusive, scan_path::block, nullptr,
                           0, &stream),
               std::invalid_argument);
}

}  // namespace
}  // namespace warpcheck
