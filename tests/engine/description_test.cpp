// Descriptions: what follows from one, and one clear sentence for what does not fit it.
#include "properties/engine/cases/description.hpp"

#include <gtest/gtest.h>

#include <set>

#include "properties/engine/error.hpp"
#include "properties/engine/trials/property.hpp"

namespace warpcheck::engine {
namespace {

const description_registration described([] {
  description d;
  d.op = "described_test";
  d.extents = {{"time"}, {"batch"}, {"hidden"}, {"bytes", [](const sizes& of, const trial_case&) {
                                                   return 16 * of.at("hidden");
                                                 }}};
  d.forms = {{"forward",
              {{"x", true, "time, batch, directions*hidden", WARPCHECK_F32 | WARPCHECK_F16},
               {"bias", true, "3*hidden", WARPCHECK_F32, true},
               {"y", false, "time, batch, hidden", 0, false, {{"order", 1, "batch, time, hidden"}}},
               {"work", false, "bytes", WARPCHECK_U8, true}},
              {{"directions", 1, "one or two", 1, 2, true},
               enumeration("order", {"time_first", "batch_first"}, 0, "of y"),
               {"scale", 1, "any number"}}}};
  d.illegal = [](const sizes& of, const trial_case&) {
    return of.at("hidden") == 13 ? std::string("hidden: 13 is not legal") : std::string();
  };
  return d;
}());

const property_registration registration([] {
  property p;
  p.op = "described_test";
  p.name = "any";
  p.types = {dtype::f32};
  p.generate = [](const target& t, draw& d) {
    const description& of = *find_description("described_test");
    sizes drawn = draw_sizes(d, t, of, {{"time", 40}, {"batch", 9}, {"hidden", 70}});
    if (drawn["hidden"] == 13) drawn["hidden"] = 12;
    return make_case(of, t, drawn, {{"x", make_recipe("randn", {d.seed()})}});
  };
  p.check = [](trial&) {};
  property refusals = p;
  refusals.name = "rejects-invalid-calls";
  refusals.may_break_contract = true;
  return std::vector<property>{p, refusals};
}());

trial_case made(const sizes& of) {
  target t;
  t.op = "described_test";
  t.device = "emulated";
  return make_case(*find_description("described_test"), t, of, {{"x", make_recipe("randn", {1})}});
}

TEST(descriptions, make_the_tensors_of_their_extents_and_scalars) {
  trial_case c = made({{"time", 2}, {"batch", 3}, {"hidden", 4}});
  EXPECT_EQ(format(c), "v1 described_test/ x=f32[2x3x4] fill=randn(1) | y=f32[2x3x4] | device=emulated");
  c.knobs["directions"] = "2";
  c.knobs["order"] = "batch_first";
  reshape(*find_description("described_test"), c, {{"time", 2}, {"batch", 3}, {"hidden", 4}});
  add_tensor(c, "bias", dtype::f32, make_recipe("constant", {0}));
  EXPECT_EQ(format(c),
            "v1 described_test/ x=f32[2x3x8] fill=randn(1) | bias=f32[12] fill=constant(0) | y=f32[3x2x4] | "
            "device=emulated directions=2 order=batch_first");
  EXPECT_EQ(sizes_of(*find_description("described_test"), c),
            (sizes{{"time", 2}, {"batch", 3}, {"hidden", 4}, {"bytes", 64}}));
  EXPECT_EQ(scalars_of(c), (std::vector<std::pair<const char*, double>>{
                               {scalars_of(c)[0].first, 2}, {scalars_of(c)[1].first, 1}, {scalars_of(c)[2].first, 1}}));
  EXPECT_STREQ(scalars_of(c)[1].first, "order");
  EXPECT_EQ(c.knob("scale"), "1");
}

TEST(descriptions, reshape_every_tensor_that_mentions_an_extent_and_no_other) {
  trial_case c = made({{"time", 4}, {"batch", 4}, {"hidden", 4}});
  add_tensor(c, "bias", dtype::f32, make_recipe("constant", {0}));
  c.find("x")->ld = 7;
  sizes of = sizes_of(*find_description("described_test"), c);
  of["hidden"] = 2;
  reshape(*find_description("described_test"), c, of);
  EXPECT_EQ(c.at("x").shape, (std::vector<int64_t>{4, 4, 2}));
  EXPECT_EQ(c.at("x").ld, 5);
  EXPECT_EQ(c.at("bias").shape, (std::vector<int64_t>{6}));
  EXPECT_EQ(c.at("y").shape, (std::vector<int64_t>{4, 4, 2}));
}

TEST(descriptions, draw_every_extent_at_boundaries_and_at_nothing) {
  target t;
  t.op = "described_test";
  t.device = "emulated";
  t.extents = {"hidden", "time"};
  t.boundaries = {{48}, {}};
  t.variants = {{"a", {{1, 24, 1, 24}, {0, -1, 0, -1}}}};
  std::set<int64_t> hidden, batch, time;
  for (int64_t i = 0; i < 600; ++i) {
    draw d(rc::Random(static_cast<uint64_t>(i)), i);
    const sizes of =
        draw_sizes(d, t, *find_description("described_test"), {{"hidden", 70}, {"time", 40}, {"batch", 9}});
    EXPECT_EQ(of.count("bytes"), 0u);
    hidden.insert(of.at("hidden"));
    batch.insert(of.at("batch"));
    time.insert(of.at("time"));
  }
  for (const int64_t n : {0, 1, 23, 24, 25, 31, 47, 48, 49, 64}) EXPECT_TRUE(hidden.count(n)) << n;
  EXPECT_LE(*hidden.rbegin(), 70);
  EXPECT_LE(*batch.rbegin(), 9);
  EXPECT_LE(*time.rbegin(), 40);
  EXPECT_TRUE(batch.count(0) && batch.count(1) && time.count(0));
}

struct unfit {
  const char* line;
  const char* sentence;
};

class unfit_line : public testing::TestWithParam<unfit> {};

TEST_P(unfit_line, is_refused_with_the_sentence) {
  try {
    parse_case_line(GetParam().line);
    FAIL() << "accepted";
  } catch (const usage_error& e) {
    EXPECT_STREQ(e.what(), GetParam().sentence);
  }
}

INSTANTIATE_TEST_SUITE_P(
    all, unfit_line,
    testing::Values(
        unfit{"v1 described_test/any x=f32[2x3] fill=randn(1) | y=f32[2x3x4] |",
              "tensor x: rank 2 is not 3, that of [time, batch, directions*hidden]"},
        unfit{"v1 described_test/any x=f32[2x3x4] fill=randn(1) | y=f32[2x5x4] |",
              "tensor y: dimension 1 is 5, must be batch = 3"},
        unfit{"v1 described_test/any x=f32[2x3x8] fill=randn(1) | y=f32[2x3x8] | directions=2",
              "tensor y: dimension 2 is 8, must be hidden = 4"},
        unfit{"v1 described_test/any x=f64[2x3x4] fill=randn(1) | y=f64[2x3x4] |",
              "tensor x: the dtype is f64, must be one of f32, f16"},
        unfit{"v1 described_test/any x=f16[2x3x4] fill=randn(1) | y=f32[2x3x4] |",
              "tensor y: the dtype is f32, must be f16, as of tensor x"},
        unfit{
            "v1 described_test/any x=f32[2x3x4] fill=randn(1) | z=f32[2x3x4] |",
            "case line: its tensors are not those of described_test, which are x, bias (optional), y, work (optional)"},
        unfit{"v1 described_test/any x=f32[2x3x4] fill=randn(1) | y=f32[2x3x4] fill=randn(1) |",
              "tensor y: it is an output, and has no fill"},
        unfit{"v1 described_test/any y=f32[2x3x4] | x=f32[2x3x4] fill=randn(1) |",
              "tensor x: it comes too late, behind tensor y"},
        unfit{"v1 described_test/any x=f32[2x3x4] fill=derived() | y=f32[2x3x4] |",
              "tensor x: nothing determines its values; fill=derived() is not allowed"},
        unfit{"v1 described_test/any x=f32[2x3x4] fill=randn(1) | y=f32[2x3x4] | directions=3",
              "directions: '3' is not an integer in [1, 2]"},
        unfit{"v1 described_test/any x=f32[2x3x4] fill=randn(1) | y=f32[2x3x4] | directions=1.5",
              "directions: '1.5' is not an integer in [1, 2]"},
        unfit{"v1 described_test/any x=f32[2x3x4] fill=randn(1) | y=f32[2x3x4] | order=sideways",
              "order: 'sideways' is not one of time_first, batch_first"},
        unfit{"v1 described_test/any x=f32[2x3x4] fill=randn(1) | y=f32[2x3x4] | scale=much",
              "scale: 'much' is not a number in [-inf, +inf]"},
        unfit{"v1 described_test/any x=f32[2x3x13] fill=randn(1) | y=f32[2x3x13] |", "hidden: 13 is not legal"}));

TEST(descriptions, let_properties_of_refusals_break_the_contract) {
  EXPECT_NO_THROW(parse_case_line(
      "v1 described_test/rejects-invalid-calls x=f32[2x3x4] fill=randn(1) | y=f32[2x3x4] | directions=1.5 scale=nan"));
  EXPECT_NO_THROW(parse_case_line("v1 described_test/any x=f32[2x3x4] fill=randn(1) | y=f32[2x3x4] | scale=nan"));
}

std::string refused(description d) {
  try {
    describe_operator(std::move(d));
  } catch (const usage_error& e) {
    return e.what();
  }
  return "accepted";
}

TEST(descriptions, that_are_wrong_are_refused_with_a_sentence) {
  EXPECT_EQ(refused({"described_test", {}, {}}), "operator: 'described_test' is described twice");
  EXPECT_EQ(refused({"other_test", {{"rows"}}, {{"any", {{"x", true, "rows, 2*width"}}}}}),
            "operator other_test: tensor x [rows, 2*width] names 'width', which is neither an extent nor a scalar");
}

std::string refused(bench_row row, const char* slices = "rows") {
  description d{"other_test", {{"rows"}, {"cols"}}, {{"any", {{"x", true, "rows, cols"}}, {{"kind", 0, "of sum"}}}}};
  d.bench = {slices, {std::move(row)}};
  return refused(std::move(d));
}

TEST(descriptions, with_wrong_bench_rows_are_refused_with_a_sentence) {
  const sizes of = {{"rows", 3}, {"cols", 4}};
  EXPECT_EQ(refused(bench_row{.of = {{"rows", 3}}}),
            "operator other_test: bench row 0: it has no size of extent 'cols'");
  EXPECT_EQ(refused(bench_row{.of = {{"rows", 3}, {"cols", 4}, {"width", 5}}}),
            "operator other_test: bench row 0: 'width' is not an extent");
  EXPECT_EQ(refused(bench_row{.of = of, .tensors = {{"y", dtype::f32}}}),
            "operator other_test: bench row 0: 'y' is not a tensor");
  EXPECT_EQ(refused(bench_row{.of = of, .scalars = {{"order", "1"}}}),
            "operator other_test: bench row 0: 'order' is not a scalar");
  EXPECT_EQ(refused(bench_row{.of = of, .fills = {{"y", recipe{}}}}),
            "operator other_test: bench row 0: 'y' is not a tensor");
  EXPECT_EQ(refused(bench_row{.of = of, .form = 1}), "operator other_test: bench row 0: there is no form 1");
  EXPECT_EQ(refused(bench_row{.of = of}, "width"),
            "operator other_test: bench rows are sliced by 'width', which is not an extent");
}

TEST(descriptions, are_there_for_every_operator_with_properties) {
  for (const std::string& op : operators_with_properties())
    EXPECT_TRUE(find_description(op) || op == "tensors_test") << op;
}

}  // namespace
}  // namespace warpcheck::engine
