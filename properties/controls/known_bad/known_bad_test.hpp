// What tests of known-bad kernels have in common.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "properties/engine/processes/contain.hpp"
#include "properties/engine/trials/property.hpp"
#include "properties/engine/trials/run_case.hpp"

namespace warpcheck {

using engine::case_report;
using engine::verdict;

// The folder of the libraries or their sources; another one if the build folder was copied elsewhere.
inline std::string folder(const char* variable, const char* built) {
  const char* moved = std::getenv(variable);
  return moved != nullptr ? moved : built;
}
inline std::string known_bad_library(const std::string& candidate) {
  return fmt::format("{}/{}.so", folder("WARPCHECK_KNOWN_BAD", KNOWN_BAD_FOLDER), candidate);
}

inline case_report judge_line(const std::string& line) {
  return engine::run_contained(engine::run_case, engine::parse_case_line(line), 60);
}

// "softmax_slot_reuse.cu:28" for the line of the source that carries the mark.
inline std::string place(const std::string& candidate, const std::string& mark) {
  std::ifstream file(fmt::format("{}/{}.cu", folder("WARPCHECK_KNOWN_BAD_SOURCES", KNOWN_BAD_SOURCES), candidate));
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (line.find("// @" + mark) != std::string::npos) return fmt::format("{}.cu:{}", candidate, number);
  }
  ADD_FAILURE() << candidate << " has no line marked " << mark;
  return "";
}

inline std::string findings(const case_report& r) {
  std::string text;
  for (const std::string& f : r.findings) text += f + "\n";
  return text;
}

inline void expect_pass(const case_report& r, const std::string& name) {
  EXPECT_EQ(r.result, verdict::pass) << name << "\n" << describe(r);
}

// Each flaw has its verdict and a part of its message or finding.
template <class Flaws, class Judge>
void expect_flaws(const Flaws& flaws, const Judge& judge) {
  for (const auto& f : flaws) {
    const case_report r = judge(f, f.variant);
    EXPECT_EQ(r.result, f.result) << f.variant << "\n" << describe(r);
    EXPECT_NE((r.message + "\n" + findings(r)).find(f.text), std::string::npos) << f.variant << "\n" << describe(r);
  }
}

}  // namespace warpcheck
