// The tests are in a library, which a flavour has compiled.
#include <gtest/gtest.h>

#include "tests/simt/arguments.hpp"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  warpcheck::self::arguments.assign(argv + 1, argv + argc);
  return RUN_ALL_TESTS();
}
