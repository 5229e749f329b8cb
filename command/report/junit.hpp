// Results as JUnit XML, which CI systems read.
#pragma once

#include <string>
#include <vector>

namespace warpcheck::cli {

struct junit_case {
  std::string suite;  // the operator
  std::string name;   // "within-error-bound f32 emulated"
  double seconds = 0;
  std::string failure;  // the kind: a verdict, "coverage"; empty: passed or skipped
  std::string message;  // one sentence; of a skip, the reason
  std::string details;
  bool skipped = false;
};

// The whole file; suites in the order of their first case. Bytes that XML cannot carry become '?'.
std::string junit_xml(const std::vector<junit_case>& cases);

}  // namespace warpcheck::cli
