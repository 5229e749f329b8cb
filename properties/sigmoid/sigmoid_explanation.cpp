// sigmoid explained step by step. Bound: reference/sigmoid/sigmoid.hpp.
#include <fmt/format.h>

#include <cmath>

#include "properties/rows/explanation_support.hpp"
#include "properties/rows/row_properties.hpp"
#include "reference/sigmoid/sigmoid.hpp"

namespace warpcheck {
namespace {

using namespace engine;

std::string departure(double z, double actual, double exact) {
  if (std::isnan(actual))
    return "NaN stands there: outputs hold NaN before the call, so the store may be missing; else a step made Inf / "
           "Inf or 0 * Inf.";
  if (z < 0 && actual == 0)
    return "The exponential is the first wrong step: the result is that of 1 / (1 + e^-z) with an e^-z that "
           "overflowed.";
  if (!(actual > 0 && actual < 1)) return "The quotient is the first wrong step: it is not a value between 0 and 1.";
  const double implied = std::log(actual / (1 - actual));
  return fmt::format("The argument or its exponential is the first wrong step: {} is the sigmoid of {}, and z is {}.",
                     digits(actual), digits(implied), digits(z)) +
         (std::fabs(actual - (1 - exact)) < 1e-6 * std::fabs(exact) ? " The sign of z is turned." : "");
}

explained_row explain_sigmoid(const row_call& call) {
  const double mu = knob_or(call.c, "mu", 0), sigma = knob_or(call.c, "sigma", 1);
  const reference::sigmoid_model model(mu, sigma, call.output);
  explained_row t;
  for (const double x : call.x) {
    t.exact.push_back(model.expected(x));
    t.bound.push_back(model.bound(x));
  }
  const auto i = static_cast<size_t>(call.i);
  const double x = call.x[i], z = (x - mu) * sigma;
  t.formula = fmt::format("y[{0}] = 1 / (1 + e^-z), z = (x[{0}] - mu) sigma.", call.i);
  t.numbers = fmt::format("z = ({} - {}) * {} = {}, y[{}] = {}.", digits(x), digits(mu), digits(sigma), digits(z),
                          call.i, digits(t.exact[i]));
  t.terms = model.bound_terms(x);
  if (t.terms.empty()) return t;
  t.bound_formula =
      "y ((1 + u)/(1 - u)(1 + (1 - y) t/(1 - t)) - 1) + 4 eta, u = 2^-24, t what the exponential may err by "
      "(docs/numerics.md).";
  const double actual = call.actual.empty() ? std::nan("") : call.actual[i];
  t.steps = model.steps(x, actual);
  if (!columns_outside(t, call.actual).empty() && !(std::fabs(actual - t.exact[i]) <= t.bound[i]))
    t.departs = departure(z, actual, t.exact[i]);
  return t;
}

const explainer_registration sigmoid("sigmoid", explain_sigmoid);

}  // namespace
}  // namespace warpcheck
