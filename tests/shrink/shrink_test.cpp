// Planted bugs shrink to their smallest case, in few runs, by our own search and by RapidCheck's.
#include "properties/engine/shrinking/shrink.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "properties/engine/cases/description.hpp"
#include "properties/engine/cases/offer.hpp"
#include "properties/engine/cases/recipe.hpp"

namespace warpcheck::engine {
namespace {

using bug = std::function<bool(const trial_case&)>;  // true: the output would be wrong

struct planted {
  std::string name;
  bug fails;
  std::string start;
  std::string smallest;
  std::string neighbour;  // a part of it
};

trial_case parse(const std::string& line) { return parse_case(line, {{"axis", "1", ""}, {"ta", "none", ""}}); }

// y is like x, s has an element per row; p is a times b, and sum like its two inputs. Only an optional input is listed.
const description_registration rows_described(
    {"planted",
     {{"rows"}, {"cols"}},
     {{"rows",
       {{"x", true, "rows, cols"}, {"y", false, "rows, cols", {}, true}, {"s", false, "rows", WARPCHECK_I64, true}}}}});
const description_registration product_described({"planted_product",
                                                  {{"m"}, {"n"}, {"k"}},
                                                  {{"product",
                                                    {{"a", true, "m, k", {}, false, {{"ta", 1, "k, m"}}},
                                                     {"b", true, "k, 2*n"},
                                                     {"h", true, "n", {}, true},
                                                     {"p", false, "m, 2*n"}},
                                                    {enumeration("ta", {"none", "yes"}, 0, "a is transposed")}}}});

const description_registration square_described(
    {"planted_square",
     {{"m"}, {"n"}, {"k"}},
     {{"square", {{"a", true, "m, k"}, {"b", true, "k, n", {}, false, {}, {"a"}}, {"p", false, "m, n"}}}}});

const description_registration list_described(
    {"planted_list",
     {{"rows"}, {"listed"}},
     {{"list", {{"x", true, "rows"}, {"chosen", true, "listed", WARPCHECK_I64, true}, {"y", false, "rows"}}}}});

double element(const trial_case& c, int64_t row, int64_t col) {
  const tensor_spec& x = c.at("x");
  return decode(x.type, value_source(x.fill, x.type, x.cols()).bits(row, col));
}

bool any_element(const trial_case& c, const std::function<bool(double)>& is) {
  const tensor_spec& x = c.at("x");
  const value_source source(x.fill, x.type, x.cols());
  for (int64_t i = 0; i < x.rows(); ++i)
    for (int64_t k = 0; k < x.cols(); ++k)
      if (is(decode(x.type, source.bits(i, k)))) return true;
  return false;
}

bool any_row(const trial_case& c, const std::function<bool(const std::vector<double>&)>& is) {
  const tensor_spec& x = c.at("x");
  const value_source source(x.fill, x.type, x.cols());
  for (int64_t i = 0; i < x.rows(); ++i) {
    std::vector<double> row;
    for (int64_t k = 0; k < x.cols(); ++k) row.push_back(decode(x.type, source.bits(i, k)));
    if (is(row)) return true;
  }
  return false;
}

int64_t rows(const trial_case& c) { return c.at("x").rows(); }
int64_t cols(const trial_case& c) { return c.at("x").cols(); }
bool any(const trial_case& c) { return c.at("x").elements() > 0; }

const std::string k_plain =
    "v1 planted/any x=f32[7x1000] ld=1007 offset=3 fill=randn(7,1,3) edit=2,900:5 edit=6,3:-0.25 | "
    "y=f32[7x1000] ld=1003 offset=1 | s=i64[7] | axis=0 repeat=3 schedule=pct:42 variant=warp";

std::string tensors(const std::string& shape, const std::string& fill, const std::string& rows) {
  return "v1 planted/any x=f32[" + shape + "] " + fill + " | y=f32[" + shape + "] | s=i64[" + rows + "] |";
}

const std::vector<planted> k_bugs = {
    {"drops the tail of a vector of four",
     [](const trial_case& c) {
       for (int64_t i = 0; i < rows(c); ++i)
         for (int64_t k = cols(c) - cols(c) % 4; k < cols(c); ++k)
           if (element(c, i, k) != 0) return true;
       return false;
     },
     "v1 planted/any x=f32[7x1001] ld=1007 offset=3 fill=randn(7,1,3) | y=f32[7x1001] | s=i64[7] | "
     "variant=warp",
     tensors("1x1", "fill=constant(1)", "1") + " schedule=fair", "fails at rows=cols=1, passes at 0"},
    {"wrong beyond a warp", [](const trial_case& c) { return any(c) && cols(c) > 32; }, k_plain,
     tensors("1x33", "fill=constant(0)", "1") + " schedule=fair", "fails at cols=33, passes at 32"},
    {"wrong beyond a block", [](const trial_case& c) { return any(c) && cols(c) > 1024; },
     "v1 planted/any x=f32[300x70001] fill=log_uniform(3,-20,20) | y=f32[300x70001] | s=i64[300] |",
     tensors("1x1025", "fill=constant(0)", "1") + " schedule=fair", "fails at cols=1025, passes at 1024"},
    {"wrong in one column after each full warp",
     [](const trial_case& c) { return any(c) && cols(c) > 32 && cols(c) % 32 == 1; },
     "v1 planted/any x=f32[5x993] fill=randn(1) | y=f32[5x993] | s=i64[5] |",
     tensors("1x33", "fill=constant(0)", "1") + " schedule=fair", "fails at cols=33, passes at 32"},
    {"one row is wrong", [](const trial_case& c) { return rows(c) > 5 && cols(c) > 0; }, k_plain,
     tensors("6x1", "fill=constant(0)", "6") + " schedule=fair", "fails at rows=6, passes at 5"},
    {"rows beyond the grid are not done", [](const trial_case& c) { return any(c) && rows(c) > 65535; },
     "v1 planted/any x=f32[100003x3] fill=randn(1) | y=f32[100003x3] | s=i64[100003] |",
     tensors("65536x1", "fill=constant(0)", "65536") + " schedule=fair", "fails at rows=65536, passes at 65535"},
    {"NaN is dropped", [](const trial_case& c) { return any_element(c, [](double v) { return std::isnan(v); }); },
     "v1 planted/any x=f32[20x300] fill=special(3) | y=f32[20x300] | s=i64[20] |",
     tensors("1x1", "fill=constant(nan)", "1") + " schedule=fair", "fails at"},
    {"a row of -Inf only",
     [](const trial_case& c) {
       return any_row(c, [](const std::vector<double>& r) {
         return !r.empty() && std::ranges::all_of(r, [](double v) { return v == -HUGE_VAL; });
       });
     },
     "v1 planted/any x=f32[4x300] fill=masked(0,300,5) | y=f32[4x300] | s=i64[4] |",
     tensors("1x1", "fill=constant(-inf)", "1") + " schedule=fair", "fails at"},
    {"only large values",
     [](const trial_case& c) { return any_element(c, [](double v) { return std::abs(v) > 2e30; }); },
     "v1 planted/any x=f32[9x257] fill=near_overflow(4) | y=f32[9x257] | s=i64[9] |",
     tensors("1x1", "fill=constant(1e+31)", "1") + " schedule=fair", "fails at"},
    {"subnormals are flushed",
     [](const trial_case& c) { return any_element(c, [](double v) { return v != 0 && std::abs(v) < 0x1p-126; }); },
     "v1 planted/any x=f32[9x257] fill=near_underflow(4) | y=f32[9x257] | s=i64[9] |",
     tensors("1x1", "fill=constant(1e-38)", "1") + " schedule=fair", "fails at"},
    {"a misaligned base", [](const trial_case& c) { return any(c) && c.at("x").offset % 4 != 0; }, k_plain,
     "v1 planted/any x=f32[1x1] offset=1 fill=constant(0) | y=f32[1x1] | s=i64[1] | schedule=fair",
     "fails at x offset=1, passes at 0"},
    {"rows with gaps", [](const trial_case& c) { return any(c) && c.at("x").ld > cols(c); }, k_plain,
     "v1 planted/any x=f32[1x1] ld=2 fill=constant(0) | y=f32[1x1] | s=i64[1] | schedule=fair",
     "fails at x ld=2, passes at 1"},
    {"in place", [](const trial_case& c) { return any(c) && c.at("y").in_place == "x"; },
     "v1 planted/any x=f32[8x77] ld=80 offset=2 fill=randn(3) | y=f32[8x77] ld=80 offset=2 in_place=x | "
     "s=i64[8] |",
     "v1 planted/any x=f32[1x1] fill=constant(0) | y=f32[1x1] in_place=x | s=i64[1] | schedule=fair", "fails at"},
    {"rows in the gaps of the input", [](const trial_case& c) { return c.at("y").beside == "x"; },
     "v1 planted/any x=f32[8x77] ld=160 offset=2 fill=randn(3) | y=f32[8x77] ld=160 beside=x | s=i64[8] |",
     "v1 planted/any x=f32[1x1] ld=2 fill=constant(0) | y=f32[1x1] beside=x | s=i64[1] | schedule=fair",
     "passes with y in memory of its own"},
    {"rows in the gaps of the input do not matter",
     [](const trial_case& c) { return any(c) && c.at("x").ld > cols(c); },
     "v1 planted/any x=f32[8x77] ld=160 offset=2 fill=randn(3) | y=f32[8x77] ld=160 beside=x | s=i64[8] |",
     "v1 planted/any x=f32[1x1] ld=2 fill=constant(0) | y=f32[1x1] | s=i64[1] | schedule=fair", "fails at x ld=2"},
    {"two inputs in one memory", [](const trial_case& c) { return c.at("p").elements() > 0 && c.at("b").same == "a"; },
     "v1 planted_square/any a=f32[40x40] ld=41 fill=randn(1) edit=3,4:5 | b=f32[40x40] ld=41 same=a | p=f32[40x40] |",
     "v1 planted_square/any a=f32[1x1] fill=constant(0) | b=f32[1x1] same=a | p=f32[1x1] | schedule=fair",
     "passes with b in memory of its own"},
    {"ties of the maximum",
     [](const trial_case& c) {
       return any_row(c, [](const std::vector<double>& r) {
         return !r.empty() && std::ranges::count(r, *std::ranges::max_element(r)) > 1;
       });
     },
     "v1 planted/any x=f32[30x200] fill=duplicates(3,9) | y=f32[30x200] | s=i64[30] |",
     tensors("1x2", "fill=constant(0)", "1") + " schedule=fair", "fails at cols=2, passes at 1"},
    {"a maximum that comes first",
     [](const trial_case& c) {
       return any_row(c, [](const std::vector<double>& r) {
         return r.size() > 1 && std::all_of(r.begin() + 1, r.end(), [&](double v) { return v < r[0]; });
       });
     },
     "v1 planted/any x=f32[30x200] fill=descending(-4,4) | y=f32[30x200] | s=i64[30] |",
     tensors("1x2", "fill=constant(0) edit=0,0:1", "1") + " schedule=fair", "fails at cols=2, passes at 1"},
    {"more rows than columns", [](const trial_case& c) { return any(c) && rows(c) > cols(c); },
     "v1 planted/any x=f32[900x40] fill=randn(3) | y=f32[900x40] | s=i64[900] |",
     tensors("2x1", "fill=constant(0)", "2") + " schedule=fair", "fails at rows=2, passes at 1"},
    {"square matrices", [](const trial_case& c) { return rows(c) == cols(c) && rows(c) > 1; },
     "v1 planted/any x=f32[64x64] fill=randn(3) | y=f32[64x64] | s=i64[64] |",
     tensors("2x2", "fill=constant(0)", "2") + " schedule=fair", "fails at rows=cols=2, passes at 1"},
    {"rows without columns", [](const trial_case& c) { return rows(c) > 0 && cols(c) == 0; },
     "v1 planted/any x=f32[77x0] fill=randn(3) | y=f32[77x0] | s=i64[77] |",
     tensors("1x0", "fill=constant(0)", "1") + " schedule=fair", "fails at rows=1, passes at 0"},
    {"one variant", [](const trial_case& c) { return any(c) && c.knob("variant") == "warp"; }, k_plain,
     tensors("1x1", "fill=constant(0)", "1") + " schedule=fair variant=warp",
     "fails with variant=warp, passes with auto"},
    {"a knob of the property", [](const trial_case& c) { return any(c) && c.knob("axis") == "0"; }, k_plain,
     tensors("1x1", "fill=constant(0)", "1") + " axis=0 schedule=fair", "fails with axis=0, passes without it"},
    {"any unfair schedule", [](const trial_case& c) { return cols(c) > 8 && c.knob("schedule") != "fair"; }, k_plain,
     tensors("0x9", "fill=constant(0)", "0") + " schedule=greedy", "fails at cols=9, passes at 8"},
    {"one schedule token and a second launch",
     [](const trial_case& c) { return any(c) && c.knob("schedule") == "pct:42" && c.knob("repeat") == "3"; }, k_plain,
     tensors("1x1", "fill=constant(0)", "1") + " repeat=3 schedule=pct:42", "fails with repeat=3, passes with 1"},
    {"both infinities in one row",
     [](const trial_case& c) {
       return any_row(c, [](const std::vector<double>& r) {
         return std::ranges::count(r, HUGE_VAL) && std::ranges::count(r, -HUGE_VAL);
       });
     },
     "v1 planted/any x=f32[9x500] fill=randn(3) edit=1,7:+inf edit=3,499:-inf edit=3,20:1 "
     "edit=3,250:+inf edit=8,0:-inf | y=f32[9x500] | s=i64[9] |",
     tensors("1x2", "fill=constant(+inf) edit=0,0:-inf", "1") + " schedule=fair", "fails at cols=2, passes at 1"},
    {"the last column of a long row",
     [](const trial_case& c) { return any(c) && cols(c) >= 96 && element(c, rows(c) - 1, cols(c) - 1) > 100; },
     "v1 planted/any x=f32[9x500] fill=spike(499,1000,0.5) | y=f32[9x500] | s=i64[9] |",
     tensors("1x96", "fill=constant(0) edit=0,95:101", "1") + " schedule=fair", "fails at cols=96, passes at 95"},
    {"a long inner dimension", [](const trial_case& c) { return c.at("p").elements() > 0 && c.at("a").cols() > 16; },
     "v1 planted_product/any a=f32[40x100] ld=104 fill=randn(1) | b=f32[100x40] offset=1 fill=randn(2) | "
     "p=f32[40x40] |",
     "v1 planted_product/any a=f32[1x17] fill=constant(0) | b=f32[17x2] fill=constant(0) | p=f32[1x2] | "
     "schedule=fair",
     "fails at k=17, passes at 16"},
    // Extents that are equal by chance.
    {"one extent alone", [](const trial_case& c) { return c.at("p").elements() > 0 && c.at("a").rows() > 20; },
     "v1 planted_product/any a=f32[40x40] fill=randn(1) | b=f32[40x80] fill=randn(2) | h=f32[40] fill=randn(3) | "
     "p=f32[40x80] |",
     "v1 planted_product/any a=f32[21x0] fill=constant(0) | b=f32[0x2] fill=constant(0) | h=f32[1] "
     "fill=constant(0) | p=f32[21x2] | schedule=fair",
     "fails at m=21, passes at 20"},
    {"transposed", [](const trial_case& c) { return c.at("p").rows() > 3 && c.knob("ta") == "yes"; },
     "v1 planted_product/any a=f32[100x40] ld=44 fill=randn(1) | b=f32[100x40] fill=randn(2) | p=f32[40x40] | ta=yes",
     "v1 planted_product/any a=f32[0x4] fill=constant(0) | b=f32[0x0] fill=constant(0) | p=f32[4x0] | schedule=fair "
     "ta=yes",
     "fails at m=4, passes at 3"},
};

case_report judged(const trial_case& c, verdict result) {
  case_report r;
  r.line = format(c);
  r.compared = 1;
  r.result = result;
  return r;
}

case_report judge(const planted& b, const trial_case& c) {
  return judged(c, b.fails(c) ? verdict::violation : verdict::pass);
}

class planted_bug : public testing::TestWithParam<size_t> {};

TEST_P(planted_bug, shrinks_to_its_smallest_case_in_under_200_runs) {
  const planted& b = k_bugs[GetParam()];
  const trial_case start = parse(b.start);
  const case_report failing = judge(b, start);
  ASSERT_EQ(failing.result, verdict::violation) << "the start does not fail";
  int calls = 0;
  std::set<std::string> lines;
  const auto run = [&](const trial_case& c) {
    ++calls;
    EXPECT_EQ(parse(format(c)), c) << "no case line: " << format(c);
    EXPECT_TRUE(lines.insert(format(c)).second) << "ran twice: " << format(c);
    return judge(b, c);
  };
  const shrunk s = shrink(failing, start, run, {});
  EXPECT_EQ(format(s.smallest), b.smallest);
  EXPECT_EQ(s.report.line, b.smallest);
  EXPECT_EQ(s.report.result, verdict::violation);
  EXPECT_EQ(s.runs, calls);
  EXPECT_LT(s.runs, 200);
  EXPECT_NE(s.neighbour.find(b.neighbour), std::string::npos) << s.neighbour;
  EXPECT_EQ(s.report.neighbour, s.neighbour);
  RecordProperty("runs", s.runs);
}

INSTANTIATE_TEST_SUITE_P(all, planted_bug, testing::Range<size_t>(0, k_bugs.size()), [](const auto& test) {
  std::string name = k_bugs[test.param].name;
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return name;
});

TEST(shrink, there_are_many_bugs) { EXPECT_GE(k_bugs.size(), 20u); }

TEST(shrink, keeps_the_kind_of_failure) {
  const trial_case start = parse(k_plain);
  // Small cases crash; only those of more than 12 rows race.
  const auto run = [](const trial_case& c) {
    return judged(c, rows(c) < 3 ? verdict::crash : cols(c) > 12 ? verdict::race : verdict::pass);
  };
  const shrunk s = shrink(judged(start, verdict::race), start, run, {});
  EXPECT_EQ(format(s.smallest), tensors("3x13", "fill=constant(0)", "3") + " schedule=fair");
  EXPECT_EQ(s.report.result, verdict::race);
  EXPECT_NE(s.neighbour.find("fails at cols=13, passes at 12"), std::string::npos) << s.neighbour;
  EXPECT_EQ(s.neighbour.find("rows"), std::string::npos) << "a case that crashes is not a passing neighbour";
}

TEST(shrink, keeps_to_its_limit_of_runs_and_stops_early) {
  const trial_case start = parse(k_plain);
  const case_report failing = judged(start, verdict::violation);
  for (int most : {0, 1, 10, 25}) {
    int calls = 0;
    const auto run = [&](const trial_case& c) {
      ++calls;
      return judge(k_bugs[1], c);
    };
    const shrunk s = shrink(failing, start, run, {}, {.max_runs = most});
    EXPECT_LE(calls, most);
    EXPECT_TRUE(judge(k_bugs[1], s.smallest).result == verdict::violation);
    calls = 0;
    shrink(failing, start, run, {}, {.enough = [&] { return calls >= most; }});
    EXPECT_EQ(calls, most);
  }
}

TEST(shrink, what_is_no_case_of_the_property_is_not_run) {
  const trial_case start = parse(k_plain);
  const case_report failing = judged(start, verdict::violation);
  const auto multiples_of_eight = [](const trial_case& c) { return cols(c) % 8 == 0 && rows(c) > 0; };
  const auto run = [&](const trial_case& c) {
    EXPECT_EQ(cols(c) % 8, 0);
    return judged(c, cols(c) > 20 ? verdict::violation : verdict::pass);
  };
  const shrunk s = shrink(failing, start, run, multiples_of_eight);
  EXPECT_EQ(format(s.smallest), tensors("1x24", "fill=constant(0)", "1") + " schedule=fair");
}

TEST(shrink, an_input_that_is_left_out_takes_its_extent_along) {
  const trial_case start =
      parse("v1 planted_list/b x=f32[7] fill=randn(1) | chosen=i64[7] fill=constant(0) | y=f32[7] | schedule=fair");
  const case_report failing = judged(start, verdict::violation);
  const auto run = [](const trial_case& c) { return judged(c, verdict::violation); };
  const shrunk s = shrink(failing, start, run, {});
  EXPECT_EQ(format(s.smallest),
            "v1 planted_list/b x=f32[0] fill=constant(0) | chosen=i64[0] fill=constant(0) | y=f32[0] | schedule=fair");
}

TEST(shrink, every_step_is_simpler_so_that_every_chain_ends) {
  for (const planted& b : k_bugs) {
    trial_case c = parse(b.start);
    for (int step = 0;; ++step) {
      ASSERT_LT(step, 3000) << b.name;
      EXPECT_FALSE(simpler_than(c, c));
      const std::vector<trial_case> next = simpler(c);
      for (const trial_case& n : next) {
        ASSERT_TRUE(simpler_than(n, c));
        ASSERT_FALSE(simpler_than(c, n));
      }
      if (next.empty()) break;
      c = next[hash64(1, static_cast<uint64_t>(step)) % next.size()];
    }
  }
}

TEST(shrink, edits_beyond_the_edge_move_to_it) {
  const trial_case c =
      parse("v1 planted/b x=f32[2x9] fill=constant(0) edit=0,7:1 edit=0,8:2 edit=1,3:4 | y=f32[2x9] |");
  std::set<std::string> lines;
  for (const trial_case& s : simpler(c)) lines.insert(format(s));
  EXPECT_TRUE(lines.count("v1 planted/b x=f32[2x4] fill=constant(0) edit=0,2:1 edit=0,3:2 edit=1,3:4 | y=f32[2x4] |"));
  EXPECT_TRUE(lines.count("v1 planted/b x=f32[2x1] fill=constant(0) edit=0,0:2 edit=1,0:4 | y=f32[2x1] |"));
  EXPECT_TRUE(lines.count("v1 planted/b x=f32[1x9] fill=constant(0) edit=0,3:4 edit=0,7:1 edit=0,8:2 | y=f32[1x9] |") ||
              lines.count("v1 planted/b x=f32[1x9] fill=constant(0) edit=0,7:1 edit=0,8:2 edit=0,3:4 | y=f32[1x9] |"));
}

TEST(shrink, rapidcheck_drives_it) {
  // Everything RapidCheck finds by itself shrinks to the same case.
  const auto cases = rc::gen::map(rc::gen::pair(rc::gen::inRange<int64_t>(0, 300), rc::gen::inRange<int64_t>(0, 2000)),
                                  [](const std::pair<int64_t, int64_t>& shape) {
                                    recipe fill;
                                    fill.distribution = "randn";
                                    fill.arguments = {5};
                                    trial_case c;
                                    c.op = "planted";
                                    c.property = "any";
                                    c.tensors = {input_matrix("x", dtype::f32, shape.first, shape.second, fill),
                                                 output_matrix("y", dtype::f32, shape.first, shape.second),
                                                 output_vector("s", dtype::i64, shape.first)};
                                    return c;
                                  });
  const rc::Gen<trial_case> shrinking = with_shrinking(rc::gen::noShrink(cases), {});
  int failures = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    rc::Shrinkable<trial_case> found = shrinking(rc::Random(seed), 100);
    const planted& b = k_bugs[1];
    if (!b.fails(found.value())) continue;
    ++failures;
    for (bool smaller = true; smaller;) {
      smaller = false;
      auto shrinks = found.shrinks();
      for (auto next = shrinks.next(); next && !smaller;
           next = smaller ? rc::Maybe<rc::Shrinkable<trial_case>>() : shrinks.next())
        if (b.fails(next->value())) {
          found = *next;
          smaller = true;
        }
    }
    EXPECT_EQ(format(found.value()), b.smallest);
  }
  EXPECT_GT(failures, 10);
}

TEST(shrink, stays_within_what_the_candidate_offers) {
  const trial_case c = parse("v1 planted/any x=f32[7x64] fill=constant(1) | y=f32[7x64] | candidate=odd device=cpu");
  remember_offer("odd", "planted", "cpu", dtype::f32, parse_offer("planted", "cols<5, rows<2"));
  const case_report failing = judged(c, verdict::violation);
  const auto fails_always = [&](const trial_case&) { return failing; };
  const shrunk s = shrink(failing, c, fails_always, {});
  EXPECT_EQ(rows(s.smallest), 2) << format(s.smallest);
  EXPECT_EQ(cols(s.smallest), 5) << format(s.smallest);
}

}  // namespace
}  // namespace warpcheck::engine
