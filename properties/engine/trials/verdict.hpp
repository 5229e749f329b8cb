// The verdicts of a trial in order of severity; the worst one decides.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace warpcheck::engine {

enum class verdict : uint8_t {
  pass,
  skipped,           // with a reason; green only if the device was not requested by name
  suite_error,       // the suite itself failed on the case, for the reason in its message; the candidate is not judged
  violation,         // a value outside its bound, or a broken invariant
  nondeterministic,  // bits differ between launches or schedules that must agree
  uninitialized,     // from here to out_of_bounds all are hazards except input_modified
  race,
  divergence,
  deadlock,
  livelock,
  launch_limit,
  input_modified,
  out_of_bounds,
  broken_offer,  // a legal call within the offer was answered with unsupported
  error_return,  // a legal call was refused, or an illegal one accepted
  timeout,
  crash
};
std::string_view name_of(verdict v);
std::optional<verdict> verdict_from_name(std::string_view name);

// The element that came closest to its bound, or exceeded it most.
struct worst_element {
  std::string tensor;
  int64_t row = 0;
  int64_t col = 0;
  double input = 0;  // the input element that belongs to it, NaN if there is none
  double actual = 0;
  double expected = 0;        // nearest double of the exact value
  std::string expected_text;  // more digits of it, for people
  double error = 0;           // |actual - exact|
  double bound = 0;           // what the contract allows
  double error_ulp = 0;
};

double error_ratio_of(const worst_element& w);  // error / bound; +Inf if the bound is 0 or the error NaN

// Error ratios of compared elements.
struct ratio_histogram {
  std::map<int, int64_t> thousandths;  // error / bound rounded up to thousandths -> elements; 1001: beyond the bound
  double max = 0;

  void add(double ratio);
  void add(const ratio_histogram& other);
  int64_t elements() const;
  // The least multiple of 1/1000 that `part` of the elements do not exceed; 0 if there are none.
  double quantile(double part) const;
};

// Errors of compared elements, in few enough bins for every report.
struct error_histogram {
  static constexpr int k_share_bins = 22, k_ulp_bins = 21;
  std::array<int64_t, k_share_bins> shares{};  // elements by error / bound
  std::array<int64_t, k_ulp_bins> ulps{};      // elements by error in ulp

  // The upper edge of a bin, which belongs to it. Shares: 0, 1/20, 2/20, ... 1, +Inf; ulps: 0, 2^-8, 2^-7, ... 2^10,
  // +Inf. NaN is in the last bin.
  static double share_edge(int bin);
  static double ulp_edge(int bin);

  void add(double ratio, double error_ulp);
  void add(const error_histogram& other);
  int64_t elements() const;
};
// {"shares": [[edge, elements], ...], "ulps": [[edge, elements], ...]}, without empty bins; null if there are no
// elements.
nlohmann::json to_json(const error_histogram& h);

// The result of one case: everything a report needs, and nothing that depends on the machine's speed.
struct case_report {
  std::string line;  // the case; after a violation under one schedule, narrowed to that schedule
  verdict result = verdict::pass;
  std::string message;            // one sentence; empty for pass
  bool device_failed = false;     // the device reported an error that may persist in the process
  bool is_drawn_in_vain = false;  // skipped because the property has nothing to judge in this case: not in to_json
  std::string neighbour;  // after shrinking: the nearest passing case, in words ("fails at cols=33, passes at 32")
  int64_t compared = 0;   // output elements that were compared
  int64_t launches = 0;
  bool is_every_schedule = false;     // proven of all its calls (docs/emulated_device.md)
  int64_t needed_multiprecision = 0;  // comparisons that needed more than double precision
  double max_error_ratio = 0;         // max error / bound
  double max_ulp = 0;
  double sum_squared_ulp = 0;
  std::optional<worst_element> worst;
  std::vector<worst_element> departing;  // of a user's arrays: a few elements beyond their bounds, worst first
  std::vector<std::string> findings;     // texts of hazards
  std::vector<std::string> variants;     // dispatch variants that ran
  std::vector<std::string> classes;      // of the case (classes.hpp)
  error_histogram errors;
  ratio_histogram error_ratios;  // only of run_case_with_ratios
};

std::string to_json(const case_report& r);  // one line
// Throws usage_error on anything that to_json does not write.
case_report report_from_json(std::string_view text);
// Returns the report as text of several lines; the last one replays the case.
std::string describe(const case_report& r);

}  // namespace warpcheck::engine
