// `warpcheck run-emulated` names lines of the program for accesses and waits in functions of the toolkit's headers.
#include <gtest/gtest.h>

#include <string>

#include "tests/import/program.hpp"

namespace {

using namespace warpcheck::self;
using result = command_result;

TEST(Lines, OfCallersAreNamedIfFunctionsOfHeadersAccessMemory) {
  for (const char* mode :
       {"half-sum", "pair-sum", "tile-load", "tile-store", "group-copy", "barrier-copy", "block-load", "block-store",
        "texel-fetch", "texel-sample", "surface-read", "surface-write"}) {
    const result r = run_program(std::string("lines.cu --schedule fair --no-trace -- ") + mode);
    EXPECT_TRUE(ended(r, 1, {"at " + place_of("lines.cu", mode)})) << mode;
  }
}

TEST(Lines, OfWaitsForALatchAreNamed) {
  EXPECT_TRUE(says(run_program("waiting.cu --schedule fair --no-trace -- latch"),
                   {"a loop that waits for other threads at " + place_of("waiting.cu", "arrive") + " ("}));
}

}  // namespace
