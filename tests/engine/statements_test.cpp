// Statements of candidates: each is accepted for the operators whose verdicts it reaches, and refused for others.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "properties/engine/cases/description.hpp"
#include "properties/engine/cases/offer.hpp"
#include "properties/engine/error.hpp"
#include "properties/engine/trials/property.hpp"

namespace warpcheck::engine {
namespace {

using names = std::set<std::string, std::less<>>;

const names k_all = {"softmax", "log_softmax", "logsumexp", "sigmoid",    "reduce", "argmax",
                     "argsort", "scan",        "histogram", "best_split", "matmul", "gru"};
const names k_sums = {"softmax", "log_softmax", "logsumexp", "reduce", "scan", "matmul"};
const std::map<std::string, names> k_of = {{"sums chain", k_sums},
                                           {"sums <= 1", k_sums},
                                           {"gates <= 100", {"gru"}},
                                           {"log of sum", {"log_softmax", "logsumexp"}},
                                           {"exp overflows", {"sigmoid", "matmul"}},
                                           {"unstable", {"argsort"}},
                                           {"plan", k_all}};

// What the command says to the statement; "" if it takes it.
std::string refusal(std::string_view op, std::string_view statement) {
  try {
    parse_statements(op, statement);
    return "";
  } catch (const usage_error& e) {
    return e.what();
  }
}

bool is_tested(std::string_view op) {
  const auto& all = all_properties();
  return std::ranges::any_of(all, [&](const property& p) { return p.op == op && p.needs_batch_invariance; });
}

TEST(statements, are_taken_by_the_operators_that_they_reach) {
  for (const std::string& op : k_all) {
    for (const auto& [statement, ops] : k_of)
      EXPECT_EQ(refusal(op, statement).empty(), ops.contains(op)) << op << ": " << statement;
    EXPECT_EQ(refusal(op, "batch-invariant").empty(), is_tested(op)) << op;
    EXPECT_FALSE(refusal(op, "sums").empty()) << op;
  }
  EXPECT_EQ(refusal("gru", "gates <= 8; sums chain"),
            "states: 'sums chain' is not a statement of a candidate of gru; allowed are 'lacks ...', 'gates <= N', "
            "'plan' and 'batch-invariant'");
  EXPECT_EQ(refusal("argmax", "batch-invariant"),
            "states: 'batch-invariant' is not a statement of a candidate of argmax; allowed are 'lacks ...' and "
            "'plan'");
}

TEST(statements, of_a_formula_concern_no_sums) {
  description d;
  d.op = "stated.op";
  d.statements = {.sums = false, .plan = false};
  describe_operator(d);
  EXPECT_EQ(refusal(d.op, "sums chain"),
            "states: 'sums chain' is not a statement of a candidate of stated.op; allowed are 'lacks ...' and "
            "'batch-invariant'");
  EXPECT_FALSE(refusal(d.op, "plan").empty());
  EXPECT_EQ(refusal(d.op, "batch-invariant"), "");
  // The reference of a plug-in may use what is stated of sums.
  d.op = "plugged";
  d.statements = {};
  describe_operator(d);
  EXPECT_EQ(refusal(d.op, "sums <= 8; plan"), "");
}

}  // namespace
}  // namespace warpcheck::engine
