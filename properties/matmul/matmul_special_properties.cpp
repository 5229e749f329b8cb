// matmul on trial: special values of what follows the sum, and of scalars. Those of A and B:
// matmul_shape_properties.cpp.
#include <limits>
#include <string>
#include <vector>

#include "properties/matmul/matmul_problem.hpp"

namespace warpcheck {
namespace {

using namespace engine;

// A special value in what follows the sum, or a whole tensor of special values.
struct scalar_place {
  const char* where;
  double value;
  std::string fill = "";  // of the tensor
};

const std::vector<scalar_place>& special_scalars() {
  static const std::vector<scalar_place> places = [] {
    constexpr double k_nan = std::numeric_limits<double>::quiet_NaN(), k_inf = std::numeric_limits<double>::infinity();
    std::vector<scalar_place> list;
    for (const char* where : {"c_in", "bias", "alpha", "beta", "mu", "sigma"})
      for (const double value : {k_nan, k_inf, -k_inf, 3e38}) list.push_back({where, value});
    for (const char* where : {"a", "b", "c_in", "bias"})
      for (const char* fill : {"near_underflow", "nan_bits"}) list.push_back({where, 0, fill});
    for (const char* where : {"alpha", "beta"})
      for (const double value : {0x1p-149, -0x1p-126, -0.0}) list.push_back({where, value});
    for (const char* where : {"bias", "alpha", "beta", "mu", "sigma"}) list.push_back({where, -k_nan});
    return list;
  }();
  return places;
}

trial_case special_scalar_case(const target& t, draw& d) {
  const scalar_place& place = special_scalars()[static_cast<size_t>(d.index()) % special_scalars().size()];
  const std::string where = place.where;
  const product_sizes of{d.between(1, 20), d.between(1, 20), d.between(1, 40)};
  const double seed = static_cast<double>(d.between(2, 999997));
  trial_case c =
      product_case(t, d, of, make_recipe("uniform", {seed, -2, 2}), make_recipe("uniform", {seed + 1, -2, 2}));
  if (t.type != dtype::f32) set_output(c, d.chance(50) ? dtype::f32 : t.type);
  draw_storage(d, c);
  // Beside products and other terms, subnormal ones would be lost in a rounding.
  const bool is_alone = place.fill == "near_underflow" && (where == "c_in" || where == "bias");
  if (!is_alone) draw_scalars(d, c, layers::linear);
  if (where == "alpha") set_knob(c, "alpha", format_number(place.value));
  if (where == "c_in" || where == "beta")
    set_scalars(c, 1.5f, where == "beta" ? static_cast<float>(place.value) : -0.75f,
                make_recipe("uniform", {seed + 2, -3, 3}));
  if (where == "bias") set_bias(c, make_recipe("uniform", {seed + 2, -2, 2}));
  const bool is_layer = where == "mu" || where == "sigma" || d.index() % 5 == 3;
  if (is_layer) set_knob(c, "sigmoid", "1");
  if (where == "mu" || where == "sigma") set_knob(c, where, format_number(place.value));
  if (tensor_spec* const to = c.find(where); to && to->elements() > 0) {
    if (!place.fill.empty()) {
      to->fill = make_recipe(place.fill, {seed + 3});
      if (is_alone) c.find("a")->fill = make_recipe("constant", {0});
    } else {
      to->fill.edits.push_back({d.between(0, to->rows() - 1), d.between(0, to->cols() - 1), place.value});
    }
  }
  follow(c);
  if (d.index() % 4 == 1) force_a_variant(d, t, c);
  run_once(c);
  return c;
}

const property_registration registration([] {
  property_list list = matmul_list();
  list.add("special-values-of-every-input",
           "a NaN, an infinity, a huge or a tiny number in c, bias or a scalar has the effect that IEEE 754 defines",
           special_scalar_case, check_product);
  return list.take();
}());

}  // namespace
}  // namespace warpcheck
