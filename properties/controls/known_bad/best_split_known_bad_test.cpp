// The published scheme of a numerical split kernel: repaired it must pass, with one flaw it must be rejected for that
// flaw.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <string>

#include "properties/controls/known_bad/known_bad_test.hpp"

namespace warpcheck {
namespace {

struct flawed {
  const char* variant;
  const char* property;
  int slots, features;
  const char* fill;
  const char* knobs;
  const char* text = "expected";  // of the message or a finding
  verdict result = verdict::violation;
  bool detect = false;  // only the race flavour sees it
};

case_report judge(const flawed& f, const std::string& variant) {
  const std::string derived = "fill=derived()";
  const std::string tensors = fmt::format(
      "hist=f64[{}x2] fill={} | count=i64[{}] {} | feature=i64[{}x7] {} | used=u8[0x0] {} | leaf=f64[1x7] {} | "
      "value=f64[1x9] | field=i64[1x6] | cat=u32[1x32]",
      f.slots, f.fill, std::string(f.knobs).find("exact=0") == std::string::npos ? f.slots : 0, derived, f.features,
      derived, derived, derived);
  const std::string line = fmt::format("v1 best_split/{} {} | candidate={} device=emulated {} variant={} {}",
                                       f.property, tensors, known_bad_library("best_split_walkthrough256"), f.knobs,
                                       variant, f.detect ? "detect=only" : "detect=off");
  return judge_line(line);
}

const flawed k_flaws[] = {
    {"shared_scratch", "routing-reproduces-sums", 255, 1, "dyadic(1,1024,6)", "missing=2 encoding=1", "are not ordered",
     verdict::race, true},
    // Repaired, the scheme is right up to 256 bins; here the 257th is dropped.
    {"bins_257", "routing-reproduces-sums", 256, 1, "dyadic(1,1024,6)", "missing=2 encoding=1"},
    {"unwritten_draw", "split-is-maximal", 2, 1, "dyadic(3,1024,6)", "extra_trees=1", "", verdict::uninitialized, true},
    {"shifted_draw", "split-is-maximal", 5, 1, "dyadic(4,1024,6)", "extra_trees=1 missing=2 encoding=1 seed=4"},
    {"unordered_argmax", "split-tie-matrix", 64, 1, "dyadic(1,1024,6)", "at=1 to=2"},
    {"doubled_epsilon", "sides-add-up", 6, 1, "dyadic(1,64,6)", "min_hessian=0", "do not add up"},
    {"gate_with_epsilon", "split-is-maximal", 4, 1, "uniform(2,1e-16,3e-15)",
     "exact=0 min_hessian=0 min_data=8 parent=0", "its own sums make it inadmissible"},
    {"nan_is_zero", "non-finite-rejected", 32, 2, "alternating(1,1)", "at=0 to=0 lambda_l1=1", "expected no split"},
    {"unsigned_wrap", "no-stale-fields", 1, 1, "dyadic(1,1024,6)", "parent=0 min_data=0 min_hessian=1e-16",
     "expected no split"},
    {"stale_record", "no-stale-fields", 1, 1, "dyadic(1,1024,6)", "", "", verdict::uninitialized, true},
    {"partial_warp", "routing-reproduces-sums", 79, 1, "dyadic(1,1024,6)", "missing=2 encoding=1",
     "routing its rows gives"},
    {"zero_without_bin_0", "encoding-invariance", 12, 1, "dyadic(5,1024,6)", "missing=1 default_bin=5"},
    {"no_stride", "split-every-optimum", 600, 1, "dyadic(1,1024,6)", "at=400 to=1 min_data=0"},
    {"unchecked_leaf", "split-is-maximal", 8, 1, "alternating(1,0)", "min_hessian=0 parent=0", "expected no split"},
    {"epsilon_for_l2", "record-self-consistent", 40, 1, "dyadic(1,1024,6)", "lambda_l2=8",
     "is not what the sums of the left side give"},
    {"missing_is_bin_0", "routing-reproduces-sums", 40, 1, "dyadic(2,1024,6)", "missing=2 encoding=1",
     "routing its rows gives"},
};

TEST(BestSplitKnownBad, EachFlawIsRejectedForItsReason) { expect_flaws(k_flaws, judge); }

TEST(BestSplitKnownBad, RepairedPassesWhereTheFlawsShow) {
  for (const flawed& f : k_flaws)
    if (f.slots <= 255) expect_pass(judge(f, "repaired"), f.variant);  // a thread per bin
}

}  // namespace
}  // namespace warpcheck
