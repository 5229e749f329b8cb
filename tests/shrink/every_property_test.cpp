// Every property of every operator has cases, a failure shrinks to a line that can be replayed, and nothing on the way
// throws.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "golden/check.hpp"
#include "properties/engine/cases/generate.hpp"
#include "properties/engine/error.hpp"
#include "properties/engine/processes/contain.hpp"
#include "properties/engine/shrinking/shrink.hpp"
#include "properties/engine/trials/explanation.hpp"
#include "properties/engine/trials/property.hpp"
#include "properties/engine/trials/run_case.hpp"

namespace warpcheck::engine {
namespace {

// Cases of more elements are taken for failures unseen: the reference would take long.
constexpr int64_t k_most_elements = 1 << 14;
constexpr size_t k_starts = 4;       // cases of each property and element type
constexpr int k_runs = 60;           // for shrinking a failure
constexpr double k_seconds = 1;      // the same
constexpr double k_patience = 60.0;  // for one explanation

int64_t elements_of(const trial_case& c) {
  int64_t sum = 0;
  for (const tensor_spec& t : c.tensors) sum += t.elements();
  return sum;
}

// The case for a kernel that writes zeros, on the host.
trial_case with_zeros(trial_case c) {
  c.knobs["candidate"] = "null:zeros";
  c.knobs["device"] = "cpu";
  return c;
}

// Zeros are wrong nearly everywhere; a property that they pass is taken for one that they fail, since its check has run
// all the same. What the suite throws stays suite_error.
case_report failing(const trial_case& c) {
  case_report r;
  if (elements_of(c) <= k_most_elements) r = run_judged(run_case, with_zeros(c), format(c));
  if (r.result != verdict::skipped && r.result != verdict::suite_error && r.result != verdict::crash)
    r.result = verdict::violation;
  r.line = format(c);
  return r;
}

// The smallest target that has a case of the property.
std::vector<target> targets_of(const property& p) {
  std::vector<target> targets;
  for (target& t : find_targets("builtin", p.op, "emulated"))
    if (std::ranges::find(p.types, t.type) != p.types.end()) targets.push_back(std::move(t));
  return targets;
}

trial_case small_case(const property& p, target t, int64_t index) {
  for (const int64_t most : {int64_t{64}, int64_t{4096}}) {
    t.max_rows = t.max_cols = most;
    try {
      return generate_case(p, t, 1, index);
    } catch (const no_case_fits&) {
      continue;
    }
  }
  t.max_rows = t.max_cols = target().max_rows;
  return generate_case(p, t, 1, index);
}

// The line reads back, describes a case of the property, and fails again.
void expect_replayable(const property& p, const shrunk& s) {
  trial_case c;
  ASSERT_NO_THROW(c = parse_case_line(s.report.line)) << s.report.line;
  EXPECT_TRUE(!p.holds || p.holds(c)) << s.report.line;
  EXPECT_EQ(failing(c).result, s.report.result) << s.report.line;
}

void expect_explained(const shrunk& s) {
  if (elements_of(s.smallest) > k_most_elements) return;
  const explanation e = explain(with_zeros(s.smallest), s.report, k_patience);
  ASSERT_FALSE(e.sections.empty()) << s.report.line;
  for (const explanation_section& section : e.sections)
    for (const std::string& sentence : section.sentences)
      EXPECT_EQ(sentence.find("There is no further explanation"), std::string::npos) << s.report.line << "\n"
                                                                                     << sentence;
}

void shrink_a_failure(const property& p, const target& t, int64_t index) {
  const trial_case start = small_case(p, t, index);
  ASSERT_NO_THROW(parse_case_line(format(start))) << format(start);
  ASSERT_TRUE(!p.holds || p.holds(start)) << format(start);
  const case_report first = failing(start);
  if (first.result == verdict::skipped) return;
  ASSERT_EQ(first.result, verdict::violation) << first.message << "\n" << first.line;
  const auto run = [&](const trial_case& c) {
    case_report r = failing(c);
    EXPECT_NE(r.result, verdict::suite_error) << r.message << "\n" << r.line << "\nfrom " << first.line;
    EXPECT_NE(r.result, verdict::crash) << r.message << "\n" << r.line << "\nfrom " << first.line;
    return r;
  };
  const auto begin = std::chrono::steady_clock::now();
  const auto enough = [&] { return seconds_since(begin) > k_seconds; };
  const shrunk s = shrink(first, start, run, p.holds, {k_runs, enough, {}});
  EXPECT_NO_THROW(describe(s.report));
  EXPECT_NO_THROW(to_json(s.report));
  expect_replayable(p, s);
  expect_explained(s);
}

class every_property : public testing::TestWithParam<std::string> {};

TEST_P(every_property, shrinks_to_a_line_that_replays) {
  ASSERT_FALSE(golden::all_operators().empty());  // the call links the properties of known answers
  int properties = 0;
  bool has_golden = false;
  for (const property& p : all_properties()) {
    if (p.op != GetParam()) continue;
    ++properties;
    has_golden |= p.name == "golden";
    SCOPED_TRACE(p.op + "/" + p.name);
    const std::vector<target> targets = targets_of(p);
    ASSERT_FALSE(targets.empty());
    for (size_t i = 0; i < targets.size(); ++i)
      for (size_t k = 0; k < k_starts; ++k) shrink_a_failure(p, targets[i], static_cast<int64_t>(k_starts * i + k));
  }
  EXPECT_GT(properties, 5);
  EXPECT_TRUE(has_golden);
}

INSTANTIATE_TEST_SUITE_P(of, every_property, testing::ValuesIn(operators_with_properties()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace warpcheck::engine
