// The reference of gated recurrent units on trial: its forward pass by a known answer, its gradients by differences of
// that pass and by dual numbers. gru_flaws.hpp, made from reference.mutants, holds the same gradients with planted
// bugs: each must be seen.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "gru_flaws.hpp"
#include "reference/gru/gru.hpp"
#include "reference/gru/gru_backward.hpp"
#include "reference/gru/gru_tangent.hpp"
#include "reference/numerics/multiprecision.hpp"
#include "tests/gru/gru_problems.hpp"

namespace warpcheck::self {
namespace {

using reference::mp100;
using reference::mp50;

// One or two directions; ragged and empty rows; marks at the first, a middle and the last step, and beyond the row.
template <class S>
gru_case<S> ragged(int directions, uint64_t seed) {
  const std::vector<uint8_t> marks = {0, 1, 0, /**/ 1, 0, 0, /**/ 0, 1, 1, /**/ 0, 1, 0};
  return random_gru<S>({4, 3, 3, 2, directions}, {4, 3, 0}, marks, seed);
}

template <class S>
double norm(const std::vector<S>& v) {
  return std::sqrt(static_cast<double>(dot(v, v)));
}

template <class S>
using backward_function = reference::gru_gradients<S> (*)(const reference::gru_problem<S>&,
                                                          const reference::gru_states<S>&, const std::vector<S>&,
                                                          const std::vector<S>&);

// The largest |difference - <gradient, v>| / (|gradient| |v|) of any tensor: along one direction of +-1 each, and, if
// wanted, along every coordinate (relative to the gradient of its tensor).
template <class S>
double worst_difference(const gru_case<S>& c, backward_function<S> backward, int digits, bool coordinates,
                        std::string* where) {
  const S step = pow(S(10), -(digits / 3));
  const auto gradients = backward(c.problem, reference::gru_forward(c.problem), c.dy, c.dhn);
  double worst = 0;
  gru_draw draw(99);
  const auto judge = [&](const gru_tensor<S>& tensor, const std::vector<S>& v) {
    const std::vector<S>& gradient = gradients.*tensor.gradient;
    const S difference = abs(S(gru_difference(c, tensor, v, step) - dot(gradient, v)));
    const double error = static_cast<double>(difference) / (norm(gradient) * norm(v));
    if (error <= worst) return;
    worst = error;
    *where = tensor.name;
  };
  for (const gru_tensor<S>& tensor : gru_tensors<S>()) {
    std::vector<S> v((c.problem.*tensor.value).size());
    for (S& element : v) element = draw.sign();
    judge(tensor, v);
    for (size_t i = 0; coordinates && i < v.size(); ++i) {
      std::vector<S> unit(v.size(), S(0));
      unit[i] = 1;
      judge(tensor, unit);
    }
  }
  return worst;
}

// Truncation and rounding are both near 10^-66 with steps of 10^-33 and 100 digits, near 10^-32 with 10^-16 and 50.
TEST(gru_reference, gradients_are_differences_of_the_forward_pass) {
  for (const int directions : {1, 2}) {
    std::string where;
    const auto c = ragged<mp100>(directions, 10);
    EXPECT_LE(worst_difference<mp100>(c, reference::gru_backward<mp100>, 100, true, &where), 1e-60)
        << where << ", directions " << directions;
  }
}

TEST(gru_reference, gradients_of_more_units_are_differences_along_directions) {
  std::vector<uint8_t> marks(15 * 3);
  marks[7] = marks[20] = marks[22] = 1;
  const auto c = random_gru<mp50>({15, 3, 4, 5, 2}, {15, 9, 1}, marks, 11, 3);
  std::string where;
  EXPECT_LE(worst_difference<mp50>(c, reference::gru_backward<mp50>, 50, false, &where), 1e-30) << where;
}

TEST(gru_reference, every_planted_bug_is_seen_by_differences) {
  ASSERT_EQ(flawed_backwards<mp50>().size(), 8u);
  const auto c = ragged<mp50>(2, 12);
  std::string where;
  EXPECT_LE(worst_difference<mp50>(c, reference::gru_backward<mp50>, 50, false, &where), 1e-30) << where;
  for (const auto& flaw : flawed_backwards<mp50>())
    EXPECT_GT(worst_difference<mp50>(c, flaw.backward, 50, false, &where), 1e-3) << flaw.name;
}

// <dy, J v> + <dhn, J_n v> = the sum of <gradient, v> over all tensors.
template <class S>
double adjoint_gap(const gru_case<S>& c, backward_function<S> backward) {
  const auto gradients = backward(c.problem, reference::gru_forward(c.problem), c.dy, c.dhn);
  reference::gru_problem<S> v;
  gru_draw draw(98);
  S of_gradients(0), size(0);
  for (const gru_tensor<S>& tensor : gru_tensors<S>()) {
    for (size_t i = 0; i < (c.problem.*tensor.value).size(); ++i) (v.*tensor.value).push_back(S(draw.sign()));
    of_gradients += dot(gradients.*tensor.gradient, v.*tensor.value);
    for (const S& g : gradients.*tensor.gradient) size += g < 0 ? S(-g) : g;
  }
  const auto [y, hn] = reference::gru_tangent(c.problem, v);
  S of_slopes(0);
  for (size_t i = 0; i < y.size(); ++i) of_slopes += c.dy[i] * y[i].slope;
  for (size_t i = 0; i < hn.size(); ++i) of_slopes += c.dhn[i] * hn[i].slope;
  const S gap = of_slopes - of_gradients;
  return std::fabs(static_cast<double>(gap)) / static_cast<double>(size);
}

TEST(gru_reference, the_adjoint_identity_holds) {
  EXPECT_LE(adjoint_gap<mp50>(ragged<mp50>(2, 13), reference::gru_backward<mp50>), 1e-46);
  std::vector<uint8_t> marks(40 * 3);
  marks[7] = marks[20] = marks[61] = 1;
  const auto large = random_gru<double>({40, 3, 33, 30, 2}, {40, 17, 0}, marks, 14, 1);
  EXPECT_LE(adjoint_gap<double>(large, reference::gru_backward<double>), 1e-14);
  for (const auto& flaw : flawed_backwards<double>())
    EXPECT_GT(adjoint_gap<double>(large, flaw.backward), 1e-6) << flaw.name;
}

// The inputs are these decimals, not the nearest f32. Every printed digit is right: half a unit of the last.
void expect_digits(const mp100& actual, const std::string& printed, const char* what) {
  const size_t point = printed.find('.');
  const int decimals = static_cast<int>(printed.size() - point - 1);
  const mp100 half_unit = mp100("0.5") * pow(mp100(10), -decimals);
  EXPECT_LE(abs(mp100(actual - mp100(printed))), half_unit) << what << " is " << actual.str(40) << ", not " << printed;
}

TEST(gru_reference, reproduces_the_known_answer) {
  const auto numbers = [](std::initializer_list<const char*> texts) {
    std::vector<mp100> v;
    for (const char* text : texts) v.emplace_back(text);
    return v;
  };
  reference::gru_problem<mp100> p;
  p.shape = {2, 1, 1, 1, 1};
  p.w_ih = numbers({".5", "-.25", ".75"});
  p.w_hh = numbers({".25", ".5", "-.5"});
  p.b_ih = numbers({".1", "-.1", ".2"});
  p.b_hh = numbers({"-.2", ".3", ".4"});
  p.x = numbers({"1", "-.5"});
  p.h0 = numbers({".25"});
  const auto states = reference::gru_forward(p);
  const auto g = reference::gru_backward(p, states, numbers({"1", "2"}), numbers({".5"}));
  const std::vector<std::pair<const char*, std::pair<std::vector<mp100>, std::vector<const char*>>>> answers = {
      {"y", {states.y, {"0.51812412986630023091906389445186", "0.2926127985815097389508244864843"}}},
      {"hn", {states.hn, {"0.2926127985815097389508244864843"}}},
      {"history",
       {states.history,
        {"0.613607077804778291", "0.518741215878535238", "0.807130879918917930", "0.275", "0.445104933248402458",
         "0.642001550849994952", "-0.111798518737964853", "0.140937935066849885"}}},
      {"dw_ih",
       {g.dw_ih,
        {"0.013019521156843528926997458757769", "-0.54217876138080331527490154241884",
         "-0.0062940109828177878643346993542874"}}},
      {"dw_hh",
       {g.dw_hh,
        {"0.023040730566991143069007196683354", "0.097231876786704938770939368466015",
         "0.27064730251003118354247172912387"}}},
      {"db_ih",
       {g.db_ih,
        {"0.059167339343731251350136301318951", "0.00074108019075598670941838094153886",
         "1.3194204609661843972149013257034"}}},
      {"db_hh",
       {g.db_hh,
        {"0.059167339343731251350136301318951", "0.00074108019075598670941838094153886",
         "0.6606819123874071343222555469026"}}},
      {"trace_e", {g.trace_e, {"2.59697444349888785792009", "2.5"}}},
      {"dx", {g.dx, {"0.43121054357394447722561191021248", "0.58775320177487044968327763948919"}}},
      {"dh0", {g.dh0, {"1.0400085327898022622839406597932"}}}};
  for (const auto& [what, values] : answers) {
    ASSERT_EQ(values.first.size(), values.second.size()) << what;
    for (size_t i = 0; i < values.first.size(); ++i) expect_digits(values.first[i], values.second[i], what);
  }
}

// Both passes agree on the values, too.
TEST(gru_reference, two_forward_passes_agree) {
  const auto c = ragged<mp50>(2, 15);
  const auto states = reference::gru_forward(c.problem);
  const auto [y, hn] = reference::gru_tangent(c.problem, c.problem);
  for (size_t i = 0; i < y.size(); ++i) EXPECT_LE(abs(mp50(y[i].value - states.y[i])), mp50(1e-47)) << i;
  for (size_t i = 0; i < hn.size(); ++i) EXPECT_LE(abs(mp50(hn[i].value - states.hn[i])), mp50(1e-47)) << i;
}

}  // namespace
}  // namespace warpcheck::self
