// Classes of cases, and the coverage minimums that name a class which a generator never draws.
#include "properties/engine/cases/classes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "properties/engine/cases/recipe.hpp"
#include "properties/engine/processes/supervisor.hpp"

namespace warpcheck::engine {
namespace {

trial_case case_of(int64_t rows, int64_t cols, const std::string& fill) {
  trial_case c;
  c.op = "self";
  c.property = "classes";
  c.tensors = {input_matrix("x", dtype::f32, rows, cols, parse_recipe(fill)),
               output_matrix("y", dtype::f32, rows, cols)};
  return c;
}

std::string text_of(const trial_case& c) { return combination_of(classes_of(c), "some_variant"); }

TEST(classes, are_those_of_shape_and_recipe) {
  EXPECT_EQ(text_of(case_of(0, 0, "constant(1)")), "none x none x equal x some_variant");
  EXPECT_EQ(text_of(case_of(1, 1, "randn(7)")), "one x one x range x some_variant");
  EXPECT_EQ(text_of(case_of(2, 31, "integers(1,-3,3)")), "few x below-warp x exact x some_variant");
  EXPECT_EQ(text_of(case_of(31, 32, "bits(1)")), "few x warp x special x some_variant");
  EXPECT_EQ(text_of(case_of(32, 33, "duplicates(1,3)")), "many x power+1 x ties x some_variant");
  EXPECT_EQ(text_of(case_of(1, 1024, "spike(3,1,0)")), "one x power x peaked x some_variant");
  EXPECT_EQ(text_of(case_of(1, 1023, "near_overflow(3)")), "one x power-1 x huge x some_variant");
  EXPECT_EQ(text_of(case_of(1, 96, "masked(1,2,3)")), "one x multiple x masked x some_variant");
  EXPECT_EQ(text_of(case_of(1, 100, "cancellation(3,4)")), "one x tail x cancelling x some_variant");
}

TEST(classes, of_values_follow_edits_and_arguments) {
  trial_case c = case_of(1, 8, "randn(7)");
  c.tensors[0].fill.edits = {{0, 1, -HUGE_VAL}};
  EXPECT_EQ(classes_of(c)[2], "values:masked");
  c.tensors[0].fill.edits.push_back({0, 2, HUGE_VAL});
  EXPECT_EQ(classes_of(c)[2], "values:special");
  EXPECT_EQ(classes_of(case_of(1, 8, "alternating(3,-inf)"))[2], "values:masked");
  EXPECT_EQ(classes_of(case_of(1, 8, "constant(nan)"))[2], "values:special");
  // Of several inputs the most unusual one decides.
  trial_case two = case_of(1, 8, "near_underflow(7)");
  two.tensors.insert(two.tensors.begin(), input_matrix("w", dtype::f32, 1, 8, parse_recipe("randn(7)")));
  EXPECT_EQ(classes_of(two)[2], "values:tiny");
}

TEST(classes, know_every_distribution) {
  // A distribution that nobody classified would count as the most usual class.
  for (const distribution_info& d : distributions()) {
    trial_case c = case_of(1, 8, "constant(0)");
    c.tensors[0].fill.distribution = d.name;
    c.tensors[0].fill.arguments = {1, 1};
    EXPECT_EQ(classes_of(c)[2] == "values:range",
              d.name == "randn" || d.name == "uniform" || d.name == "half_ulp" || d.name == "derived")
        << d.name;
  }
}

job cases_of(const std::vector<trial_case>& cases) {
  return {"self/classes", [cases](int64_t i) { return cases[static_cast<size_t>(i) % cases.size()]; }, 120};
}

// The unmet coverage minimums of a run that draws these cases in turn.
std::vector<std::string> unmet(const std::vector<trial_case>& cases) {
  supervise_options options;
  options.workers = 1;
  options.run = [](const trial_case& c) {
    case_report r;
    r.classes = classes_of(c);
    r.variants = {"only"};
    return r;
  };
  const job_result r = supervise({cases_of(cases)}, options).jobs.at(0);
  return unmet_coverage_minimums("self", r.classes, r.cases);
}

std::vector<trial_case> everything() {
  std::vector<trial_case> cases;
  for (const int64_t rows : {0, 1, 5, 40})
    for (const int64_t cols : {0, 1, 9, 32, 64, 65, 63, 96, 100}) cases.push_back(case_of(rows, cols, "randn(1)"));
  for (const char* fill :
       {"constant(1)", "integers(1,0,2)", "finite_bits(1)", "near_overflow(1)", "near_underflow(1)",
        "cancellation(1,2)", "ascending(0,1)", "spike(0,1,0)", "masked(0,1,2)", "duplicates(1,2)", "special(1)"})
    cases.push_back(case_of(3, 9, fill));
  return cases;
}

TEST(coverage_minimums, are_met_where_every_class_is_drawn) {
  EXPECT_EQ(unmet(everything()), std::vector<std::string>{});
}

TEST(coverage_minimums, name_the_class_that_is_never_drawn) {
  for (const std::string& name : required_classes()) {
    std::vector<trial_case> cases = everything();
    std::erase_if(cases, [&](const trial_case& c) {
      const std::vector<std::string> of = classes_of(c);
      return std::ranges::find(of, name) != of.end();
    });
    const std::vector<std::string> sentences = unmet(cases);
    const std::string expected = "0 of 120 cases are of the class " + name + "; the coverage minimum is 1";
    EXPECT_EQ(std::ranges::count(sentences, expected), 1) << name;
  }
}

TEST(coverage_minimums, of_rows_are_owed_where_an_input_has_rows) {
  std::vector<trial_case> cases = everything();
  for (trial_case& c : cases) c.tensors[0] = c.tensors[1] = output_vector("x", dtype::f32, c.tensors[0].cols());
  std::vector<trial_case> recipes = everything();
  for (size_t i = 0; i < cases.size(); ++i) {
    cases[i].tensors[0].is_input = true;
    cases[i].tensors[0].fill = recipes[i].tensors[0].fill;
  }
  EXPECT_EQ(unmet(cases), std::vector<std::string>{});
  cases.push_back(case_of(1, 9, "randn(1)"));
  EXPECT_EQ(unmet(cases).size(), 3u) << "none, few, many";
}

const coverage_exemption_registration waived({{"waiving", "values:cancelling", "a test"}});

TEST(coverage_minimums, grow_with_the_run_and_can_be_waived_by_an_operator) {
  EXPECT_EQ(coverage_minimum(1), 1);
  EXPECT_EQ(coverage_minimum(3000), 3);
  std::map<std::string, int64_t> reached;
  for (const std::string& name : required_classes()) reached[name] = 3;
  reached["rows:many"] = 2;
  EXPECT_EQ(unmet_coverage_minimums("self", reached, 3000),
            std::vector<std::string>{"2 of 3000 cases are of the class rows:many; the coverage minimum is 3"});
  EXPECT_EQ(unmet_coverage_minimums("self", reached, 2999), std::vector<std::string>{});
  reached.erase("values:cancelling");
  EXPECT_EQ(unmet_coverage_minimums("waiving", reached, 1000), std::vector<std::string>{});
  EXPECT_EQ(unmet_coverage_minimums("self", reached, 1000).size(), 1u);
}

TEST(combinations, are_those_that_variants_accept) {
  // 3 classes of rows, 12 of values; columns of 1..31 are of two classes, any of eight, none of none.
  EXPECT_EQ(combinations({{1, 31}}), 3 * 12 * 2);
  EXPECT_EQ(combinations({{1, -1}}), 3 * 12 * 8);
  EXPECT_EQ(combinations({{2049, -1}}), 3 * 12 * 5);
  EXPECT_EQ(combinations({{1, 31}, {32, 32}}), 3 * 12 * 3);
  EXPECT_EQ(combinations({}), 0);
}

TEST(shape_class, is_coarse_between_powers_of_two_and_exact_beside_them) {
  EXPECT_EQ(shape_class(case_of(1, 33, "randn(1)")), "x[1x2^5+1]");
  EXPECT_EQ(shape_class(case_of(3, 31, "randn(1)")), "x[3x2^5-1]");
  EXPECT_EQ(shape_class(case_of(64, 100, "randn(1)")), "x[2^6x2^6..]");
  EXPECT_EQ(shape_class(case_of(0, 2049, "randn(1)")), "x[0x2^11+1]");
  EXPECT_NE(shape_class(case_of(1, 127, "randn(1)")), shape_class(case_of(1, 126, "randn(1)")));
}

}  // namespace
}  // namespace warpcheck::engine
