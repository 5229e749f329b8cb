// `warpcheck run-emulated` on what orders less than it seems to: each mode of orders.cu is clean, and with -D BUG gets
// its verdict and its line.
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "tests/import/program.hpp"

namespace {

using result = warpcheck::self::command_result;

result run(const std::string& arguments) { return warpcheck::self::run_program("orders.cu " + arguments); }

// Returns the position of the last word of a comment `// word ... mode ...`, as reports write it.
std::string place_of(const std::string& mode) {
  std::ifstream source(warpcheck::self::programs() + "/orders.cu");
  int number = 0;
  for (std::string line; std::getline(source, line);) {
    ++number;
    const size_t comment = line.find("  // ");
    if (comment != std::string::npos && (line.substr(comment + 4) + " ").find(" " + mode + " ") != std::string::npos)
      return "orders.cu:" + std::to_string(number);
  }
  return "no such marker";
}

struct weakness {
  const char* mode;
  const char* verdict;
  const char* marker;  // on the line that the finding names; nullptr: none
  const char* text;
};
void PrintTo(const weakness& w, std::ostream* out) { *out << w.mode; }

class Weakness : public testing::TestWithParam<weakness> {};

TEST_P(Weakness, IsFoundAtItsLine) {
  const weakness& w = GetParam();
  const result r = run(std::string("-D BUG --schedule fair -- ") + w.mode);
  EXPECT_TRUE(ended(r, 1, {std::string("orders.cu: ") + w.verdict + " under 1 schedule", w.text}));
  if (w.marker) {
    EXPECT_TRUE(r.has(place_of(w.marker))) << place_of(w.marker) << "\n" << r.output;
  }
}

TEST_P(Weakness, IsCleanWithoutIt) {
  EXPECT_TRUE(ended(run(std::string("--seeds 1 -- ") + GetParam().mode), 0, {"orders.cu: clean under 6 schedules"}));
}

// g++ notes the write of a copy before its read, and expands some copies in place.
INSTANTIATE_TEST_SUITE_P(OfCopies, Weakness,
                         testing::Values(weakness{"struct-copy", "race", "struct-copy", "and write by"},
                                         weakness{"pair-copy", "race", "struct-copy", "and write by"},
                                         weakness{"big-copy", "race", "struct-copy", "and write by"},
                                         weakness{"shared-struct-copy", "race", "shared-struct-copy",
                                                  "a shared array of 32 bytes"},
                                         weakness{"memcpy", "race", "memcpy", "byte 4 of a buffer"},
                                         weakness{"memmove", "race", "memmove", "byte 4 of a buffer"},
                                         weakness{"memset", "race", "memset", "byte 4 of a buffer"},
                                         weakness{"memset-of-a-word", "race", "memset-of-a-word", "byte 2 of a buffer"},
                                         weakness{"clear", "race", "clear", "byte 4 of a buffer"}));

INSTANTIATE_TEST_SUITE_P(
    OfQualifiers, Weakness,
    testing::Values(weakness{"cluster-arrive", "race", "cluster-arrive", "read by"},
                    weakness{"fenced-arrive", "race", "fenced-arrive", "read by"},
                    weakness{"init-fence", "race", "init-fence", "atomic access by"},
                    weakness{"remote-relaxed", "race", "remote-relaxed", "read by"},
                    weakness{"remote-cta", "race", "remote-cta", "read by"},
                    weakness{"remote-wait", "race", "remote-wait", "read by"},
                    weakness{"remote-relaxed-wait", "race", "remote-relaxed-wait", "read by"},
                    weakness{"local-arrive", "out_of_bounds", "local-arrive", "by an address of rank 1 of its cluster"},
                    weakness{"generic-address", "out_of_bounds", "generic-address",
                             "by a generic address, at orders.cu:"},
                    weakness{"store-scope", "race", nullptr, "are not ordered"},
                    weakness{"atomic-order", "race", "atomic-order", "read by"},
                    weakness{"ldg", "race", "ldg", "through the read-only cache"},
                    weakness{"nc", "race", "nc", "through the read-only cache"},
                    weakness{"shared-volatile", "race", "shared-volatile", "a shared array of 4 bytes"}));

INSTANTIATE_TEST_SUITE_P(Of, Weakness,
                         testing::Values(weakness{"active-masks", "error_return", nullptr, "the program returned 1"},
                                         weakness{"turns", "livelock", nullptr,
                                                  "56 of 64 blocks have not started, and will when one of the 8"},
                                         weakness{"far", "out_of_bounds", "far", "to an invalid address"}));

// By the letter of PTX two volatile accesses do not race.
TEST(Volatile, IsPlainOnlyWhereThatIsAskedFor) {
  const result plain = run("--schedule fair --volatile plain -- volatile-count");
  EXPECT_TRUE(ended(plain, 1, {"orders.cu: race under", place_of("volatile-count")}));
  EXPECT_TRUE(run("--schedule fair -- volatile-count").has("orders.cu: clean under"));
  EXPECT_EQ(run("--volatile often -- volatile-count").status, 2);
}

TEST(Exchange, ReadsWhatNobodyWroteWhereItsResultIsUsed) {
  EXPECT_TRUE(says(run("--schedule fair -- exchange"), {"orders.cu: uninitialized under", place_of("exchange")}));
  EXPECT_TRUE(says(run("--schedule fair -- exchange-unused"), {"orders.cu: clean under"}));
}

}  // namespace
