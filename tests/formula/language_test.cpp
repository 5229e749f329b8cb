// The language of formulas: what is read, how it is printed, and what the errors point at.
#include <gtest/gtest.h>

#include "reference/formula/contract.hpp"
#include "reference/formula/parser.hpp"
#include "reference/formula/polynomial.hpp"
#include "reference/formula/printer.hpp"

namespace {

using namespace warpcheck::formula;

std::string canonical(std::string_view text) { return to_text(parse_expression(text)); }

// The message of a file that is none.
std::string error_of(const std::string& text) {
  try {
    parse_file(text, "f.op");
  } catch (const formula_error& e) {
    return e.what();
  }
  return "no error";
}
// Of an operator with x[rows, cols], w[cols], ids[rows] of cols, eps and whole size, whose output is y[rows, cols].
std::string error_in(const std::string& lines) {
  return error_of(
      "operator f(x[rows, cols], w[cols], ids[rows] of cols, eps = 1 in [0, 2], size = 3 in 1..5)"
      " -> y[rows, cols]\n" +
      lines);
}

constexpr const char* k_operators = R"(# rows
operator rms_norm(x[rows, cols], w[cols], eps = 1e-6 in [1e-12, 1]) -> y[rows, cols]
  arithmetic f32: division 1, sums of depth 32 + 2 * ceil(log2(n))
  # of a row
  mean_square[r] = sum(c) x[r, c]^2 / cols
  y[r, c] = x[r, c] * w[c] / sqrt(mean_square[r] + eps)
operator pool(x[h, w], size = 3 in 1..5, stride = 2 in 1..3) -> y[p, q]
  extent p = (h - size) / stride + 1
  extent q = (w - size) / stride + 1
  y[i, j] = max(a < size, b < size) x[i * stride + a, j * stride + b] outside -inf
operator rope(x[n, half, two], base = 10000 in [2, 1e6]) -> y: bf16[n, half, two]
  angle[t < n, i < half] = t * pow(base, -(i / half))
  y[t, i, s] = if s == 0 then x[t, i, 0] * cos(angle[t, i]) else x[t, i, 1] * sin(angle[t, i]) as bf16
operator gather(table[words, d], ids: i64[n] of words, scale: f16[words] in [0, 1]) -> y[n, d], which: i32[n]
  p: bf16[i, e] = table[ids[i], e] * scale[ids[i]]
  y[i, e] = if any(k) p[i, k] < 0 then silu(p[i, e]) else max(p[i, e], 0)
  which[i] = argmax(e) p[i, e]
)";

TEST(FormulaText, PrintedOperatorsReadBackAsTheSameTrees) {
  std::string text;
  for (const formula_operator& op : parse_file(k_operators)) text += to_text(op);
  std::string again;
  const std::vector<formula_operator> first = parse_file(k_operators), second = parse_file(text);
  ASSERT_EQ(first.size(), second.size());
  for (size_t i = 0; i < first.size(); ++i) {
    again += to_text(second[i]);
    ASSERT_EQ(first[i].definitions.size(), second[i].definitions.size());
    for (size_t j = 0; j < first[i].definitions.size(); ++j)
      EXPECT_TRUE(same(first[i].definitions[j].value, second[i].definitions[j].value)) << first[i].definitions[j].name;
  }
  EXPECT_EQ(text, again);
  EXPECT_EQ(text, k_operators);
}

TEST(FormulaText, ParenthesesAreThoseThatAreNeeded) {
  for (const char* text : {"a - (b - c)",
                           "a - b - c",
                           "-(a + b) * c",
                           "(-a)^2",
                           "-a^2",
                           "a^b^c",
                           "(a^b)^c",
                           "a / (b * c)",
                           "(a + b) as f16",
                           "(a as f16)^2",
                           "not (a < b and b < c)",
                           "(a < b) * c",
                           "if a < b then a else b",
                           "(if a < b then a else b) + 1",
                           "a * (sum(i) x[i] * b)",
                           "sum(i) x[i] * y[i] / n",
                           "(sum(i) x[i]) * y[i]",
                           "sum(i) (x[i] + y[i])",
                           "sum(i where i < n) x[i] * (b / y[i])",
                           "mean(i) (x[i] * n)",
                           "max(i) x[i] * n",
                           "(max(i) x[i]) * n",
                           "any(i) x[i] < 0 and y[i] < 0",
                           "(any(i) x[i] < 0) and b < 0",
                           "sum(i < n, j) x[i, j]",
                           "x[i] outside 0 + 1",
                           "x[i + 1] outside -inf",
                           "sum(i) x[i + 1] outside none * y[i]",
                           "max(a + b, 0)",
                           "a % b * c",
                           "sum(i) (max(j) x[i, j])"})
    EXPECT_EQ(canonical(text), text);
}

TEST(FormulaText, FactorsWithoutTheIndicesStandOutsideOfASum) {
  const expr e = parse_expression("sum(c) x[c]^2 / cols");
  ASSERT_EQ(e->what, kind::divide);
  EXPECT_EQ(e->args[0]->what, kind::reduce);
  EXPECT_EQ(parse_expression("sum(c) x[c] * n * y[c]")->what, kind::reduce);
  EXPECT_EQ(parse_expression("sum(c) (x[c] / cols)")->what, kind::reduce);
  EXPECT_EQ(parse_expression("prod(c) x[c] / cols")->what, kind::reduce);
}

TEST(FormulaText, ChainsOfComparisonsHoldAllOfThem) { EXPECT_EQ(canonical("a < b <= c"), "a < b and b <= c"); }

TEST(FormulaText, MaxOfIndicesIsAReductionAndOfValuesAFunction) {
  EXPECT_EQ(parse_expression("max(i, j) x[i, j]")->what, kind::reduce);
  EXPECT_EQ(parse_expression("max(x[i], 0)")->what, kind::call);
  EXPECT_EQ(error_in("y[r, c] = max(eps, w[c])"), "no error");
  EXPECT_EQ(error_in("y[r, c] = x[max(r - 1, 0), c]"), "no error");
}

TEST(FormulaText, ExtentsFollowFromLoneSubscripts) {
  const formula_operator op = parse_file(k_operators)[0];
  ASSERT_EQ(op.definitions[0].extents.size(), 1U);
  EXPECT_EQ(to_text(op.definitions[0].extents[0]), "rows");
  EXPECT_EQ(op.free_extents(), (std::vector<std::string>{"rows", "cols"}));
}

TEST(FormulaErrors, AnExtentThatNoCallGivesIsRefused) {
  const std::string line = " -> y[n]\n  y[i] = x[i, 0]\n";
  EXPECT_NO_THROW(parse_file("operator f(x[n, 2 * d], w[d])" + line));
  try {
    parse_file("operator f(x[n, 2 * d])" + line, "f.op");
    ADD_FAILURE();
  } catch (const formula_error& e) {
    EXPECT_EQ(std::string(e.what()),
              "f.op:1:12: d: no dimension is this extent alone, so a call cannot give it; write two dimensions for a "
              "product");
  }
}

TEST(FormulaErrors, PointAtLineAndColumnAndNameWhatIsAllowed) {
  const std::pair<const char*, const char*> errors[] = {
      {"y[r, c] = x[r, c] +", "f.op:2:20: expected a value, found the end of the line"},
      {"y[r, c] = x[r, k]",
       "f.op:2:16: 'k' is unknown; a name is an input, scalar, extent, index or earlier definition"},
      {"y[r, c] = x[r, c] * col", "f.op:2:21: 'col' is unknown; did you mean 'cols'?"},
      {"y[r, c] = x[r, c + 1] outside none",
       "f.op:2:11: x: 'outside none' leaves out a term, so it stands in a reduction"},
      {"y[r, c] = sum(k where x[r, k] outside none > 0) x[r, k]",
       "f.op:2:23: x: 'outside none' leaves out a term, so it stands in a reduction"},
      {"y[r, none] = 0", "f.op:2:1: none: an index cannot have this name, which is that of a value outside"},
      {"y[r, c] = x[r]", "f.op:2:11: x: it has 1 subscripts, must have 2"},
      {"y[r, c] = eps[r]", "f.op:2:11: eps: it is a scalar, no tensor"},
      {"y[r, c] = y[r, c]",
       "f.op:2:11: y: it uses itself; a recurrence cannot be said, only 'sum(k where k <= j)' and "
       "alike"},
      {"y[r, c] = z[r]\nz[r] = x[r, 0]", "f.op:2:11: z: it is used before its definition"},
      {"z[r] = sum(k) z[k] * x[r, 0]\ny[r, c] = z[r]",
       "f.op:2:15: z: it uses itself; a recurrence cannot be said, only 'sum(k where k <= j)' and alike"},
      {"z[r] = max(k) u[k]\nu[r] = max(k) z[k]\ny[r, c] = z[r]", "f.op:2:15: u: it is used before its definition"},
      {"y[r, c] = sum(c) x[r, c]", "f.op:2:11: c: the index is bound already; use another name"},
      {"y[r, c] = sum(k) x[r, k + 1]",
       "f.op:2:11: k: no dimension has this index alone as its subscript; write its extent, 'k < n'"},
      {"y[r, c] = x[r, eps]", "f.op:2:16: subscript: 'eps' is not a whole number"},
      {"y[r, c] = dropout(x[r, c])",
       "f.op:2:11: dropout: random numbers have no exact value; give the mask as an input"},
      {"y[r, c] = frob(x[r, c])", "f.op:2:11: 'frob' is not a function; a tensor's subscripts stand in [ ]"},
      {"y[r, c] = sigmiod(x[r, c])", "f.op:2:11: 'sigmiod' is not a function; did you mean 'sigmoid'?"},
      {"y[r, c] = summ(k) x[r, k]", "f.op:2:11: 'summ' is not a function; did you mean 'sum'?"},
      {"y[r, c] = exp(x[r, c], 1)", "f.op:2:11: exp: it has 2 arguments, must have 1"},
      {"y[r] = x[r, 0]", "f.op:2:1: y: it has 1 indices, the output has 2 dimensions"},
      {"y[r, c] = x[r, c] @ 2", "f.op:2:19: the character '@' begins nothing of a formula"},
      {"y[r, c] = 1e999", "f.op:2:11: the number '1e999' is beyond the range of f64"},
      {"z[r] = x[r, 0]", "f.op:1:95: y: this output is never defined"},
      {"arithmetic f32: sum 2u",
       "f.op:2:17: expected a statement: functions K ulp, pow K ulp, division N, slack N, sums "
       "in any order, sums of depth D, sums 2u, rescales N, exp by exp2, exact, flush or "
       "overflow free, found 'sum'"},
      {"extent n = x[0, 0]",
       "f.op:2:12: extent: it depends on 'x'; shapes that depend on data cannot be said, only "
       "extents and whole scalars can"}};
  for (const auto& [line, message] : errors) EXPECT_EQ(error_in(line), message) << line;
  EXPECT_EQ(error_of(""), "f.op:1:1: the file has no operator; 'operator NAME(inputs) -> outputs' begins one");
  EXPECT_EQ(error_of("operator f(x[n]) -> x[n]\n"), "f.op:1:21: x: the name is used twice; it is already an input");
  EXPECT_EQ(error_of("operator f(x[n], eps = 3 in [0, 1]) -> y[n]\n"),
            "f.op:1:18: eps: its value must lie in its range");
}

TEST(FormulaErrors, LimitsAreSaid) {
  std::string deep, wide = "x[r, c]";
  for (int i = 0; i < 300; ++i) deep += "(";
  EXPECT_EQ(error_in("y[r, c] = " + deep), "f.op:2:211: brackets are nested too deeply, at most 200 within each other");
  for (int i = 0; i < 2000; ++i) wide += " + 1";
  EXPECT_NE(error_in("y[r, c] = " + wide).find("it has more than 4000 nodes"), std::string::npos);
  // silu has its argument twice: written out, 40 of them within each other are 2^40 nodes.
  std::string nested = "x[r, c]";
  for (int i = 0; i < 40; ++i) nested = "silu(" + nested + ")";
  EXPECT_NE(error_in("y[r, c] = " + nested).find("it has more than 4000 nodes"), std::string::npos);
}

TEST(FormulaContract, StatementsChangeOneNumberEach) {
  EXPECT_EQ(to_text(parse_contract("")), "");
  EXPECT_EQ(to_text(parse_contract("arithmetic f32: functions 2 ulp, division 2, slack 1, sums in any order")), "");
  for (const char* line : {"arithmetic f64", "arithmetic f32: functions 0.5 ulp", "arithmetic f32: pow 8 ulp",
                           "arithmetic f32: division 1", "arithmetic f32: slack 0", "arithmetic f32: sums of depth 64",
                           "arithmetic f32: sums 2u", "arithmetic f32: rescales 2",
                           "arithmetic f32: exp by exp2, exact, flush, overflow free"})
    EXPECT_EQ(to_text(parse_contract(line)), line);
  EXPECT_EQ(depth_of(parse_contract("arithmetic f32: sums of depth 32 + 2 * ceil(log2(n)) + ceil(n / 16384)"), 1000),
            53);
  EXPECT_EQ(depth_of(parse_contract("arithmetic f32: sums of depth 64"), 10), 9);
  EXPECT_EQ(depth_of(parse_contract(""), 1000), 999);
}

TEST(FormulaTree, SubstitutionLeavesBoundIndicesAlone) {
  const expr e = parse_expression("x[i] + sum(i) x[i] * j");
  EXPECT_EQ(to_text(substitute(e, {{"i", make_name("k")}, {"j", make_number(-2)}})), "x[k] + sum(i) x[i] * -2");
  EXPECT_EQ(names_in(e), (std::set<std::string>{"i", "j", "x"}));
}

TEST(FormulaTree, FunctionsThatAreFormulasAreWrittenOut) {
  EXPECT_EQ(to_text(expanded(parse_expression("silu(a) + relu(b)"))), "a / (1 + exp(-a)) + max(b, 0)");
}

// The degree of the outputs, 0 for what is no polynomial, and the majorant's last definition.
std::pair<int, std::string> polynomial_of(const std::string& parameters, const std::string& lines) {
  const std::optional<polynomial> p =
      as_polynomial(parse_file("operator f(" + parameters + ") -> y[n]\n" + lines + "\n", "f.op").front());
  return p ? std::pair(p->degree, to_text(p->majorant.definitions.back().value)) : std::pair(0, std::string());
}

TEST(FormulaPolynomial, DegreesAndMajorants) {
  using found = std::pair<int, std::string>;
  const std::string x = "x[n], f[m], a = 2, eps = 0.5, ids[n] of n", none;
  EXPECT_EQ(polynomial_of(x, "  y[i] = 3 - x[i]"), found(1, "3 + x[i]"));
  EXPECT_EQ(polynomial_of(x, "  y[i] = sum(j) x[i + j] outside -1 * f[j] - x[i]^3"),
            found(3, "sum(j) x[i + j] outside 1 * f[j] + x[i]^3"));
  EXPECT_EQ(polynomial_of(x, "  z[i < n] = -x[i] * x[ids[i]]\n  y[i] = z[i] * a"), found(2, "z[i] * 2"));
  EXPECT_EQ(polynomial_of(x, "  y[i] = if i < 3 then x[i] else 0 - f[0]"),
            found(1, "if i < 3 then x[i] else 0 + f[0]"));
  for (const char* value : {"x[i] / 2", "x[i] * eps", "max(x[i], 0)", "exp(x[i])", "if x[i] > 0 then x[i] else 0",
                            "prod(j) f[j]", "x[i] as bf16", "x[i] * 0.5", "4"})
    EXPECT_EQ(polynomial_of(x, std::string("  y[i] = ") + value), found(0, none)) << value;
  EXPECT_EQ(polynomial_of(x, "  z: f16[i < n] = x[i] + 1\n  y[i] = z[i]"), found(0, none));
  EXPECT_EQ(polynomial_of("x[n] in [0, 1]", "  y[i] = x[i] * 2"), found(0, none));
}

}  // namespace
