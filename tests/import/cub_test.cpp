// Calls of CUB whose arrays must not overlap are refused at their line; layouts beside them, which CUB allows, pass.
#include <gtest/gtest.h>

#include <ostream>
#include <string>

#include "tests/import/program.hpp"

namespace {

using warpcheck::self::place_of, warpcheck::self::run_program;

struct call {
  const char* mode;
  const char* function;  // "" where the call is allowed
  const char* arrays = "";
};
void PrintTo(const call& c, std::ostream* out) { *out << c.mode; }

class Cub : public testing::TestWithParam<call> {};

TEST_P(Cub, RefusesArraysThatOverlapAndNoOthers) {
  const call& c = GetParam();
  const auto r = run_program(std::string("cub_overlap.cu --schedule fair -- ") + c.mode);
  if (*c.function == 0) {
    EXPECT_TRUE(ended(r, 0, {"reached the end"}));
    return;
  }
  EXPECT_TRUE(ended(r, 1,
                    {"cub_overlap.cu: error_return under 1 schedule",
                     std::string("cub::") + c.function + " at " + place_of("cub_overlap.cu", c.mode) + ": " + c.arrays +
                         " overlap, which CUB does not allow"}));
}

INSTANTIATE_TEST_SUITE_P(
    Of, Cub,
    testing::Values(call{"reduce", "DeviceReduce", "the input and the output"}, call{"reduce-behind", ""},
                    call{"exclusive-scan", "DeviceScan", "parts of input and output"},
                    call{"inclusive-scan", "DeviceScan", "parts of input and output"}, call{"scan-in-place", ""},
                    call{"scan-behind", ""}, call{"select", "DeviceSelect::If", "the input, the output or the count"},
                    call{"select-count", "DeviceSelect::If", "the input, the output or the count"},
                    call{"flagged", "DeviceSelect::Flagged", "the flags and the output"},
                    call{"unique", "DeviceSelect::Unique", "the input, the output or the count"},
                    call{"select-apart", ""}, call{"keys", "DeviceRadixSort::SortKeys", "the keys' input and output"},
                    call{"keys-in-part", "DeviceRadixSort::SortKeysDescending", "the keys' input and output"},
                    call{"values", "DeviceRadixSort::SortPairs", "the values' input and output"},
                    call{"keys-and-values", "DeviceRadixSort::SortPairsDescending", "arrays of keys and of values"},
                    call{"sort-apart", ""}),
    [](const auto& info) {
      std::string name = info.param.mode;
      for (char& c : name)
        if (c == '-') c = '_';
      return name;
    });

TEST(CubArrays, AreSortedAndCounted) { EXPECT_TRUE(ended(run_program("cub_arrays.cu --schedule fair --no-trace"), 0)); }

TEST(CubTransposes, UseTheirStorage) {
  EXPECT_TRUE(ended(run_program("cub_transposes.cu --seeds 1 --no-trace"), 0));
  EXPECT_TRUE(ended(
      run_program("cub_transposes.cu --schedule fair -D NO_BARRIER"), 1,
      {"cub_transposes.cu: race under", place_of("cub_transposes.cu", "load"), place_of("cub_transposes.cu", "scan")}));
}

}  // namespace
