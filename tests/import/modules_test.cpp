// Kernels that a program loads at run time: by the driver API from PTX, and from sources for NVRTC.
#include <gtest/gtest.h>

#include <string>

#include "tests/import/program.hpp"

namespace {

using warpcheck::self::place_of;
using warpcheck::self::run_program;
using result = warpcheck::self::command_result;

// The name of a PTX text that the marked line loads: "modules.cu.33.ptx".
std::string name_of_text(const char* marker) {
  std::string place = place_of("modules.cu", marker);
  return place.replace(place.find(':'), 1, ".") + ".ptx";
}

TEST(Modules, OfFilesTextsAndSourcesRunUnderAllSchedules) {
  const result r = run_program("modules.cu --seeds 1");
  EXPECT_TRUE(ended(r, 0, {"begin\nreached the end", "modules.cu: clean under 6 schedules"}, {"begin\nbegin"}));
}

TEST(Modules, AreCertifiedAsOtherKernels) {
  EXPECT_TRUE(ended(run_program("modules.cu -- file"), 0,
                    {"every schedule: not proven; it may depend on an atomic", "ptx/kernels.ptx:157 (kernels.cu:19)"}));
  const result proven = run_program("modules.cu -- sources");
  EXPECT_TRUE(ended(proven, 0, {"every schedule: proven for this input", "clean under 1 schedule"}));
}

TEST(Modules, RaceInASourceOfNvrtcIsFoundAtItsLine) {
  const result r = run_program("modules.cu -D MISSING_BARRIER --schedule fair -- sources");
  EXPECT_TRUE(ended(r, 1, {"race: ", "at reverse.cu:8 ", "at reverse.cu:12 ", "modules.cu: race under 1 schedule"}));
}

TEST(Modules, AccessPastTheEndIsFoundAtTheLineOfTheText) {
  const result r = run_program("modules.cu -D PAST_THE_END --schedule fair -- text");
  EXPECT_TRUE(ended(r, 1,
                    {"out_of_bounds: read of 4 bytes by block (0,0,0) thread 50 at " + name_of_text("text") + ":20",
                     "at byte 200 of a buffer of 200 bytes"}));
}

TEST(Modules, CopyThatDoesNotWaitForTheStreamIsARace) {
  const result r = run_program("modules.cu -D NO_WAIT --schedule fair -- text");
  EXPECT_TRUE(ended(r, 1, {"race: ", "cuLaunchKernelEx", place_of("modules.cu", "early-copy")}));
}

TEST(Modules, BlockBeyondMaxntidIsAMisuse) {
  EXPECT_TRUE(ended(run_program("modules.cu -D LARGE_BLOCK --schedule fair -- text"), 1,
                    {"error_return: cuLaunchKernelEx at " + place_of("modules.cu", "large-block") +
                     ": the block of 'add' is 128x1x1, larger than .maxntid allows"}));
}

TEST(Modules, MachineCodeAndTextsWithErrorsAreRefused) {
  const result machine = run_program("modules.cu --schedule fair -- machine-code");
  EXPECT_TRUE(ended(machine, 2,
                    {"unsupported: " + place_of("modules.cu", "machine-code") +
                     ": a module of machine code (cubin, fatbin), given to 'cuModuleLoadData'"}));
  const result text = run_program("modules.cu --schedule fair -- wrong-text");
  EXPECT_TRUE(ended(text, 2, {name_of_text("wrong-text") + ":2: '.entri' is no directive of a module"}));
  EXPECT_TRUE(ended(run_program("modules.cu --schedule fair -- wrong-source"), 2, {"wrong.cu:2:", "undeclared"}));
}

}  // namespace
