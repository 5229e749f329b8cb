// Tensors of three and four dimensions, absent ones and workspaces, and libraries of the version before.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "properties/engine/cases/generate.hpp"
#include "properties/engine/cases/refusals.hpp"
#include "properties/engine/error.hpp"
#include "properties/engine/processes/contain.hpp"
#include "properties/engine/trials/library.hpp"
#include "properties/engine/trials/run_case.hpp"
#include "properties/engine/trials/trial.hpp"

namespace warpcheck::engine {
namespace {

void check_sums(trial& t) {
  const run_result r = t.run();
  t.require(r.tensors.size() == 2, "there are {} results, must be sum and last", r.tensors.size());
  const host_tensor &a = t.input("a"), &b = t.input("b"), &sum = r.at("sum"), &last = r.at("last");
  const int64_t of_slice = a.spec.rows() / a.spec.shape[0];
  for (int64_t row = 0; row < a.spec.rows(); ++row)
    for (int64_t c = 0; c < a.spec.cols(); ++c) {
      const double expected = a.value(row, c) + (b.spec.elements() > 0 ? b.value(row, c) : 0);
      t.judge("sum", row, c, a.value(row, c), sum.value(row, c),
              reference::judge_fixed(dtype::f32, sum.value(row, c), expected));
    }
  for (int64_t d = 0; d < a.spec.shape[0]; ++d)
    t.require(last.value(d, 0) == a.value((d + 1) * of_slice - 1, a.spec.cols() - 1), "last[{}] is {}", d,
              last.value(d, 0));
}

const property_registration registration([] {
  property p;
  p.op = "tensors_test";
  p.name = "sums";
  p.sentence = "a test";
  p.types = {dtype::f32};
  p.check = check_sums;
  p.generate = [](const target& t, draw& d) {
    const int64_t depth = d.between(1, 3), rows = d.between(1, 3), cols = d.between(1, 40);
    trial_case c;
    c.op = t.op;
    c.knobs["device"] = t.device;
    tensor_spec a = input_matrix("a", t.type, rows, cols, make_recipe("integers", {d.seed(), -9, 9}));
    a.shape = {depth, rows, cols};
    a.ld = cols + d.between(0, 2);
    tensor_spec sum = a;
    sum.name = "sum";
    sum.is_input = false;
    sum.fill = {};
    tensor_spec last = output_vector("last", t.type, 1);
    last.shape = {depth, 1, 1, 1};
    c.tensors = {a, input_vector("b", t.type, 0, make_recipe("constant", {0})), sum, last};
    return c;
  };
  property refusals = p;
  refusals.name = "rejects-invalid-calls";
  refusals.check = [](trial& t) { refuse_workspaces(t); };
  refusals.may_break_contract = true;
  return std::vector<property>{p, refusals};
}());

trial_case tensors_case(const std::string& variant, const std::string& b = "b=f32[2x3x4] fill=integers(2,-9,9)",
                        const std::string& layout = "") {
  return parse_case_line(
      fmt::format("v1 tensors_test/sums a=f32[2x3x4] {} fill=integers(1,-9,9) edit=5,3:7 | {} | sum=f32[2x3x4] {} | "
                  "last=f32[2x1x1x1] | work=u8[64] offset=16 | candidate={} device=cpu variant={}",
                  layout, b, layout, TEST_TENSORS, variant));
}

TEST(tensors, of_three_and_four_dimensions_are_written_as_they_are_read) {
  const trial_case c = tensors_case("right", "b=f32[0] fill=constant(0)", "ld=6 offset=1");
  EXPECT_EQ(parse_case_line(format(c)), c);
  EXPECT_EQ(c.at("a").rows(), 6);
  EXPECT_EQ(c.at("last").elements(), 2);
  target t;
  t.op = "tensors_test";
  t.device = "cpu";
  t.candidate = TEST_TENSORS;
  for (int64_t i = 0; i < 20; ++i) {
    const trial_case drawn = generate_case(find_property("tensors_test", "sums"), t, 1, i);
    EXPECT_EQ(parse_case_line(format(drawn)), drawn);
  }
}

struct wrong_tensors {
  const char* variant;
  const char* layout;
  verdict expected;
};

class tensors_verdict : public testing::TestWithParam<wrong_tensors> {};

TEST_P(tensors_verdict, is_the_one_of_the_misbehaviour) {
  const auto& [variant, layout, expected] = GetParam();
  const case_report r = run_case(tensors_case(variant, "b=f32[2x3x4] fill=integers(2,-9,9)", layout));
  EXPECT_EQ(name_of(r.result), name_of(expected)) << describe(r);
  if (expected == verdict::pass) {
    EXPECT_EQ(r.compared, 24);
  }
}

INSTANTIATE_TEST_SUITE_P(all, tensors_verdict,
                         testing::Values(wrong_tensors{"right", "", verdict::pass},
                                         wrong_tensors{"right", "ld=7 offset=3", verdict::pass},
                                         wrong_tensors{"uses_work", "", verdict::pass},
                                         wrong_tensors{"reads_work_first", "", verdict::nondeterministic},
                                         wrong_tensors{"writes_past_work", "", verdict::out_of_bounds},
                                         wrong_tensors{"writes_row_gap", "ld=6", verdict::out_of_bounds},
                                         wrong_tensors{"swaps_dimensions", "", verdict::violation}),
                         [](const auto& info) { return fmt::format("{}_{}", info.param.variant, info.index); });

TEST(tensors, that_are_absent_cannot_be_read) {
  const std::string absent = "b=f32[0] fill=constant(0)";
  EXPECT_EQ(run_case(tensors_case("right", absent)).result, verdict::pass);
  EXPECT_EQ(
      run_contained([](const trial_case& c) { return run_case(c); }, tensors_case("reads_absent", absent), 60).result,
      verdict::crash);
}

TEST(workspaces, that_are_too_small_or_misaligned_are_refused) {
  const auto refusals_of = [](const std::string& variant) {
    trial_case c = tensors_case(variant);
    c.property = "rejects-invalid-calls";
    return run_case(c);
  };
  EXPECT_EQ(refusals_of("needs_work").result, verdict::pass) << describe(refusals_of("needs_work"));
  for (const auto& [variant, what] : {std::pair{"takes_any_work", "work of a byte less: expected"},
                                      std::pair{"needs_half_the_work", "work of a byte less: expected"},
                                      std::pair{"takes_one_byte", "work of one byte: expected"},
                                      std::pair{"takes_any_address", "work is off by a byte: expected"},
                                      std::pair{"writes_work_first", "refused, yet output work was written"}}) {
    const case_report r = refusals_of(variant);
    EXPECT_EQ(r.result == verdict::error_return || r.result == verdict::violation, true) << describe(r);
    EXPECT_NE(r.message.find(what), std::string::npos) << r.message;
  }
}

TEST(candidates, list_their_extents_by_name) {
  const std::vector<target> targets = find_targets(TEST_TENSORS, "tensors_test", "cpu");
  ASSERT_EQ(targets.size(), 1u);
  EXPECT_EQ(targets[0].extents, (std::vector<std::string>{"depth", "rows", "cols"}));
  EXPECT_EQ(targets[0].boundaries, (std::vector<std::vector<int64_t>>{{}, {32}, {}}));
  ASSERT_FALSE(targets[0].variants.empty());
  EXPECT_EQ(targets[0].variants[0].ranges.size(), 3u);
  const auto of_rows = critical_extents(targets[0], 100, 1), of_cols = critical_extents(targets[0], 100, 2);
  EXPECT_EQ(of_rows, of_cols) << "32 is everybody's boundary";
}

}  // namespace
}  // namespace warpcheck::engine
