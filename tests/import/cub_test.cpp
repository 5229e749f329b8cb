// Calls of CUB whose arrays must not overlap are refused at their line; layouts beside them, which CUB allows, pass.
#include <gtest/gtest.h>

#include <fstream>
#include <ostream>
#include <string>

#include "tests/run_command.hpp"

namespace {

using warpcheck::self::environment;

std::string programs() { return environment("WARPCHECK_TEST_PROGRAMS"); }

// The line of the comment `// marker`.
std::string place_of(const std::string& marker) {
  std::ifstream source(programs() + "/cub_overlap.cu");
  int number = 0;
  for (std::string line; std::getline(source, line);) {
    ++number;
    if (line.ends_with("// " + marker)) return "cub_overlap.cu:" + std::to_string(number);
  }
  return "no such marker";
}

struct call {
  const char* mode;
  const char* function;  // "" where the call is allowed
  const char* arrays = "";
};
void PrintTo(const call& c, std::ostream* out) { *out << c.mode; }

class Cub : public testing::TestWithParam<call> {};

TEST_P(Cub, RefusesArraysThatOverlapAndNoOthers) {
  const call& c = GetParam();
  const auto r = warpcheck::self::run_command("cd " + programs() + " && '" + environment("WARPCHECK_TEST_COMMAND") +
                                              "' run-emulated cub_overlap.cu --schedule fair -- " + c.mode);
  if (*c.function == 0) {
    EXPECT_EQ(r.status, 0) << r.output;
    EXPECT_TRUE(r.has("reached the end")) << r.output;
    return;
  }
  EXPECT_EQ(r.status, 1) << r.output;
  EXPECT_TRUE(r.has("cub_overlap.cu: error_return under 1 schedules")) << r.output;
  EXPECT_TRUE(r.has(std::string("cub::") + c.function + " at " + place_of(c.mode) + ": " + c.arrays +
                    " overlap, which CUB does not allow"))
      << r.output;
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

TEST(CubArrays, AreSortedAndCounted) {
  const auto r = warpcheck::self::run_command("cd " + programs() + " && '" + environment("WARPCHECK_TEST_COMMAND") +
                                              "' run-emulated cub_arrays.cu --schedule fair --no-trace");
  EXPECT_EQ(r.status, 0) << r.output;
}

}  // namespace
