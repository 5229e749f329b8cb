// The C++ API of histogram: workspaces, options, and bins and slots out of range, which end the process.
#include <gtest/gtest.h>

#include <cstring>
#include <stdexcept>
#include <vector>

#include "kernels/histogram/histogram.hpp"
#include "simt/emulation.hpp"

namespace warpcheck {
namespace {

constexpr int64_t k_rows = 5, k_cols = 3, k_bins = 4;
constexpr hist_place k_places[] = {hist_place::shared, hist_place::global};

// Bins (row + column) % 4, g = row, h = 1.
template <class Bin>
struct dense_problem {
  std::vector<Bin> bins = std::vector<Bin>(k_rows * k_cols);
  std::vector<hist_column> cols;
  std::vector<float> g, h = std::vector<float>(k_rows, 1.0f);
  std::vector<double> hist = std::vector<double>(2 * k_cols * k_bins, -1);
  fixed_scale scale{};
  simt::emulation stream;

  dense_problem() {
    for (int64_t c = 0; c < k_cols; ++c) cols.push_back({c * k_bins, k_bins, 0});
    for (int64_t r = 0; r < k_rows; ++r) {
      g.push_back(static_cast<float>(r));
      for (int64_t c = 0; c < k_cols; ++c) bins[static_cast<size_t>(r * k_cols + c)] = static_cast<Bin>((r + c) % 4);
    }
    histogram_scale(g.data(), h.data(), k_rows, k_rows, &scale, &stream);
  }
  dense_bins view() const {
    const bin_type type = sizeof(Bin) == 1 ? bin_type::u8 : sizeof(Bin) == 2 ? bin_type::u16 : bin_type::u32;
    return {bins.data(), type, k_rows, k_cols, k_cols, cols.data()};
  }
  void run(hist_place place, void* ws, size_t ws_bytes) {
    histogram(view(), static_cast<const int32_t*>(nullptr), k_rows, g.data(), h.data(), &scale, k_rows, hist.data(),
              k_cols * k_bins, {hist_accum::fixed64, place}, ws, ws_bytes, &stream);
  }
  void run(hist_place place) {
    std::vector<int> ws(histogram_workspace_bytes(view(), k_cols * k_bins) / sizeof(int));
    run(place, ws.data(), ws.size() * sizeof(int));
  }
};

struct csr_problem {
  std::vector<int64_t> row_ptr = {0, 2, 2, 3};
  std::vector<uint16_t> slots = {0, 6, 3};
  std::vector<float> g = {1, 2, 4}, h = {1, 1, 1};
  std::vector<double> hist = std::vector<double>(14, -1);

  void run(hist_place place) {
    simt::emulation stream;
    fixed_scale scale{};
    histogram_scale(g.data(), h.data(), 3, 3, &scale, &stream);
    const csr_bins view{row_ptr.data(), slots.data(), bin_type::u16, 3};
    std::vector<int> ws(histogram_workspace_bytes(view, 7) / sizeof(int));
    histogram(view, static_cast<const int64_t*>(nullptr), 3, g.data(), h.data(), &scale, 3, hist.data(), 7,
              {hist_accum::fixed64, place}, ws.data(), ws.size() * sizeof(int), &stream);
  }
};

TEST(histogram_api, any_workspace_contents_give_the_same_result) {
  dense_problem<uint8_t> p;
  std::vector<int> ws(histogram_workspace_bytes(p.view(), k_cols * k_bins) / sizeof(int));
  std::vector<double> first;
  for (const int fill : {0x00, 0xff, 0x5c, -1}) {
    if (fill >= 0) std::memset(ws.data(), fill, ws.size() * sizeof(int));
    for (const hist_place place : k_places) {
      p.run(place, ws.data(), ws.size() * sizeof(int));
      if (first.empty()) first = p.hist;
      EXPECT_EQ(p.hist, first) << fill;
    }
  }
  // Rows 0 and 4 are in bin 0 of column 0.
  EXPECT_EQ(first[0], 4);
  EXPECT_EQ(first[1], 2);
}

TEST(histogram_api, mistakes_are_refused) {
  dense_problem<uint8_t> p;
  const size_t bytes = histogram_workspace_bytes(p.view(), k_cols * k_bins);
  std::vector<int> ws(bytes / sizeof(int));
  const auto call = [&](const dense_bins& bins, hist_options options, int64_t max_rows, void* space, size_t size) {
    histogram(bins, static_cast<const int32_t*>(nullptr), k_rows, p.g.data(), p.h.data(), &p.scale, max_rows,
              p.hist.data(), k_cols * k_bins, options, space, size, &p.stream);
  };
  EXPECT_NO_THROW(call(p.view(), {}, k_rows, ws.data(), bytes));
  EXPECT_THROW(call(p.view(), {}, k_rows, ws.data(), bytes - 1), std::invalid_argument);
  EXPECT_THROW(call(p.view(), {}, k_rows, nullptr, bytes), std::invalid_argument);
  EXPECT_THROW(call(p.view(), {}, k_rows, p.hist.data(), bytes), std::invalid_argument);
  EXPECT_THROW(call(p.view(), {}, k_rows - 1, ws.data(), bytes), std::invalid_argument);
  EXPECT_THROW(call(p.view(), {static_cast<hist_accum>(3), hist_place::automatic}, k_rows, ws.data(), bytes),
               std::invalid_argument);
  EXPECT_THROW(call(p.view(), {hist_accum::fixed64, static_cast<hist_place>(3)}, k_rows, ws.data(), bytes),
               std::invalid_argument);
  dense_bins bins = p.view();
  bins.type = static_cast<bin_type>(3);
  EXPECT_THROW(call(bins, {}, k_rows, ws.data(), bytes), std::invalid_argument);
  bins = p.view();
  bins.row_stride = k_cols - 1;
  EXPECT_THROW(call(bins, {}, k_rows, ws.data(), bytes), std::invalid_argument);
  bins = p.view();
  bins.num_rows = bins.row_stride = int64_t{1} << 31;
  EXPECT_THROW(call(bins, {}, k_rows, ws.data(), bytes), std::invalid_argument);
}

template <class Bin>
void expect_death_of_bins() {
  for (const hist_place place : k_places) {
    dense_problem<Bin> p;
    p.bins[4] = k_bins - 1;
    EXPECT_NO_THROW(p.run(place));
    p.bins[4] = k_bins;
    EXPECT_DEATH(p.run(place), "");
  }
}

// The precondition that the GPU does not check.
TEST(histogram_api_death_test, bins_and_slots_out_of_range_end_the_process) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  expect_death_of_bins<uint8_t>();
  expect_death_of_bins<uint16_t>();
  expect_death_of_bins<uint32_t>();
  for (const hist_place place : k_places) {
    csr_problem p;
    EXPECT_NO_THROW(p.run(place));
    p.slots[1] = 7;
    EXPECT_DEATH(p.run(place), "");
  }
}

}  // namespace
}  // namespace warpcheck
