// Random formulas and calls, for tests of the bound.
#pragma once

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reference/formula/bounded.hpp"
#include "reference/formula/parser.hpp"
#include "reference/formula/program.hpp"

namespace warpcheck::formula_test {

using namespace warpcheck::formula;

using draws = std::mt19937_64;

inline double drawn_value(draws& g, int recipe) {
  std::normal_distribution<double> normal;
  const double x = normal(g);
  const auto wide = [&](int n) { return std::ldexp(x, static_cast<int>(g() % static_cast<uint64_t>(2 * n)) - n); };
  switch (recipe) {
    case 0: return static_cast<float>(x);
    case 1: return static_cast<float>(std::round(4 * x));
    case 2: return static_cast<float>(30 * x);
    case 3: return static_cast<float>(wide(30));
    case 4: return static_cast<float>(wide(145));
    default: {
      const double special[] = {0, 1, -1, k_inf, -k_inf, std::nan(""), 3.4e38, 1e-45, -0.0};
      return g() % 4 == 0 ? static_cast<float>(special[g() % 9]) : static_cast<float>(x);
    }
  }
}

// A random expression over x[i, j] and w[j], with the index that may be reduced.
inline expr drawn_tree(draws& g, int depth) {
  const auto inner = [&] { return drawn_tree(g, depth - 1); };
  const char* const leaves[] = {"x[i, j]", "w[j]", "x[i, 0]", "s", "0.3", "2", "x[j, i] outside 1"};
  if (depth == 0 || g() % 8 == 0) return parse_expression(leaves[g() % 7]);
  switch (g() % 13) {
    case 0: return make_binary(kind::add, inner(), inner());
    case 1: return make_binary(kind::subtract, inner(), inner());
    case 2:
    case 3: return make_binary(kind::multiply, inner(), inner());
    case 4: return make_binary(kind::divide, inner(), inner());
    case 5: return make_binary(kind::power, inner(), make_number(static_cast<int64_t>(g() % 3 + 2)));
    case 6: {
      const char* const one[] = {"exp", "log", "log1p", "expm1", "sqrt",  "rsqrt", "tanh",
                                 "erf", "sin", "cos",   "abs",   "floor", "round"};
      return make_call(one[g() % 13], {inner()});
    }
    case 7: {
      const char* const two[] = {"max", "min", "fmax", "fmin"};
      return make_call(two[g() % 4], {inner(), inner()});
    }
    case 8: {
      const char* const which[] = {"sum", "max", "mean", "prod", "min", "fmax", "fmin", "sum"};
      const expr body = substitute(inner(), {{"j", make_name("k")}});
      const expr where = g() % 3 == 0 ? parse_expression("k <= j") : nullptr;
      return make_reduction(which[g() % 8], {{"k", make_name("n")}}, where, body);
    }
    case 9: return make_choice(make_binary(kind::less, inner(), inner()), inner(), inner());
    case 10: return make_unary(kind::negate, inner());
    case 11: return make_call("pow", {make_call("abs", {inner()}), inner()});
    default: return make_cast(inner(), g() % 2 ? number_type::bf16 : number_type::f16);
  }
}

inline expr replaced(const expr& e, const expr& what, const expr& by) {
  if (!e || same(e, what)) return e ? by : e;
  return with_children(e, [&](const expr& a) { return replaced(a, what, by); });
}

// Reductions within each other get indices of their own.
inline expr with_own_indices(const expr& e, int& bound) {
  if (!e) return e;
  const expr inside = with_children(e, [&](const expr& a) { return with_own_indices(a, bound); });
  if (inside->what != kind::reduce) return inside;
  const std::string fresh = "k" + std::to_string(bound++);
  const replacements names = {{"k", make_name(fresh)}};
  return make_reduction(inside->text, {{fresh, make_name("n")}}, substitute(inside->other, names),
                        substitute(inside->args[0], names));
}

// One definition, or two of which the first may be stored in 16 bits; the output may have 16 bits, too.
inline formula_operator drawn_operator(draws& g, const char* contract = "") {
  const char* const types[] = {"", "", "", ": bf16", ": f16"};
  while (true) {
    std::string text = "operator f(x[m, n], w[n], s = 0.7 in [0, 1]) -> y" + std::string(types[g() % 5]) + "[m, n]\n";
    const bool has_two = g() % 3 == 0;
    if (has_two) text += "  h" + std::string(types[g() % 5]) + "[i, j] = x[i, j]\n";
    text += "  y[i, j] = x[i, j]\n";
    formula_operator op = parse_file(text)[0];
    op.contract = contract;
    try {
      int bound = 0;
      for (definition& d : op.definitions) {
        expr tree = drawn_tree(g, static_cast<int>(g() % 5) + 1);
        // The first element of a row becomes that of the definition before.
        if (has_two && d.name == "y") tree = replaced(tree, parse_expression("x[i, 0]"), parse_expression("h[i, 0]"));
        d.value = with_own_indices(tree, bound);
        d.extents.clear();
      }
      check(op);
      return op;
    } catch (const formula_error&) {
    }
  }
}

// The factors of a product, and its divisors.
struct drawn_product {
  std::vector<expr> over, under;
};

inline expr reordered(draws& g, const expr& e);

inline void add_factors(draws& g, const expr& e, drawn_product& into) {
  if (e->what == kind::multiply || e->what == kind::divide) {
    add_factors(g, e->args[0], into);
    if (e->what == kind::multiply)
      add_factors(g, e->args[1], into);
    else
      into.under.push_back(reordered(g, e->args[1]));
  } else if (e->what == kind::power && e->args[1]->what == kind::number) {
    for (int k = std::stoi(e->args[1]->text); k > 0; --k) add_factors(g, e->args[0], into);
  } else {
    // A kernel multiplies floats: many integer factors may exceed 64 bits.
    into.over.push_back(e->what == kind::number ? parse_expression((e->text + "e0").c_str()) : reordered(g, e));
  }
}

inline bool binds_one_of(const expr& e, const std::vector<binder>& indices) {
  bool does = false;
  walk(e, [&](const expr& inner) {
    for (const binder& b : inner->bound)
      for (const binder& other : indices) does |= b.index == other.index;
  });
  return does;
}

// Multiplies two factors, or divides by the second, each term of a sum if need be.
inline expr joined_factors(draws& g, const expr& a, const expr& b, bool is_divisor) {
  const bool is_sum = a->what == kind::reduce && a->text == "sum" && !binds_one_of(b, a->bound);
  if (is_sum && g() % 2) {
    drawn_product inside;
    add_factors(g, a->args[0], inside);
    (is_divisor ? inside.under : inside.over).push_back(b);
    expr body = inside.over[0];
    for (size_t i = 1; i < inside.over.size(); ++i) body = make_binary(kind::multiply, inside.over[i], body);
    for (const expr& u : inside.under) body = make_binary(kind::divide, body, u);
    return make_reduction("sum", a->bound, a->other, body);
  }
  return make_binary(is_divisor ? kind::divide : kind::multiply, a, b);
}

// The same value as other kernels compute it: products in another order, early divisions, reciprocals.
inline expr reordered(draws& g, const expr& e) {
  if (!e) return e;
  if (e->what == kind::at) return e;
  if (e->what != kind::multiply && e->what != kind::divide && e->what != kind::power)
    return with_children(e, [&](const expr& a) { return reordered(g, a); });
  drawn_product p;
  add_factors(g, e, p);
  while (p.over.size() + p.under.size() > 1) {
    std::shuffle(p.over.begin(), p.over.end(), g);
    std::shuffle(p.under.begin(), p.under.end(), g);
    if (!p.under.empty() && g() % 4 == 0) {
      p.over.push_back(make_binary(kind::divide, make_number(1), p.under.back()));
      p.under.pop_back();
    } else if (p.over.size() < 2 || (!p.under.empty() && g() % 2)) {
      p.over.back() = joined_factors(g, p.over.back(), p.under.back(), true);
      p.under.pop_back();
    } else {
      const expr last = p.over.back();
      p.over.pop_back();
      p.over.back() = joined_factors(g, p.over.back(), last, false);
    }
  }
  return p.over[0];
}

inline formula_operator reordered(draws& g, const formula_operator& op) {
  formula_operator other = op;
  try {
    for (definition& d : other.definitions) {
      d.value = reordered(g, d.value);
      // Not those that its first subscripts have now.
      for (size_t k = 0; k < d.indices.size() && !op.find_output(d.name); ++k) d.indices[k].extent = d.extents[k];
    }
    check(other);
    return other;
  } catch (const formula_error&) {
    return op;  // it became too large
  }
}

inline call_data drawn_call(draws& g, int recipe) {
  const int64_t m = static_cast<int64_t>(g() % 3) + 1, n = static_cast<int64_t>(g() % 6) + 1;
  call_data c;
  for (const auto& [name, shape] : {std::pair<const char*, std::vector<int64_t>>{"x", {m, n}}, {"w", {n}}}) {
    array a{shape};
    const int64_t elements = name[0] == 'x' ? m * n : n;
    for (int64_t i = 0; i < elements; ++i) a.values.push_back(drawn_value(g, recipe));
    c.inputs.emplace(name, std::move(a));
  }
  return c;
}

// The operators of formulas/.
inline std::vector<formula_operator> library_of_formulas() {
  std::vector<std::filesystem::path> files;
  for (const auto& e : std::filesystem::directory_iterator(WARPCHECK_FORMULAS))
    if (e.path().extension() == ".op") files.push_back(e.path());
  std::ranges::sort(files);
  std::vector<formula_operator> all;
  for (const auto& path : files) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    for (formula_operator& op : parse_file(text.str(), path.filename().string())) all.push_back(std::move(op));
  }
  return all;
}

inline formula_operator library_formula(std::string_view name) {
  for (const formula_operator& op : library_of_formulas())
    if (op.name == name) return op;
  throw std::logic_error("no such formula");
}

// An input whose floating-point elements are value(tensor, place); integers are indices below `below`, or drawn.
template <class Value>
array drawn_input(draws& g, const tensor& t, const std::vector<int64_t>& shape, int64_t below, Value value) {
  array a{shape};
  int64_t elements = 1;
  for (const int64_t n : shape) elements *= n;
  for (int64_t i = 0; i < elements; ++i) {
    if (!is_integer(t.type)) {
      a.values.push_back(value(t, i));
      continue;
    }
    const auto [least, most] = t.range.value_or(std::pair(-100.0, 100.0));
    const auto spread = static_cast<uint64_t>(most - least) + 1;
    a.integers.push_back(t.of ? static_cast<int64_t>(g() % static_cast<uint64_t>(below))
                              : static_cast<int64_t>(least) + static_cast<int64_t>(g() % spread));
    a.values.push_back(static_cast<double>(a.integers.back()));
  }
  return a;
}

// A call whose outputs are not empty and that `accept` takes, with extents of 2 to `largest + 1`, and up to 6 where
// those do not fit. Extents of inputs are names.
template <class Value, class Accept>
std::optional<call_data> drawn_call_of(draws& g, const formula_operator& op, uint64_t largest, Value value,
                                       Accept accept) {
  for (int attempt = 0; attempt < 500; ++attempt) {
    call_data c;
    for (const scalar& s : op.scalars)
      c.scalars[s.name] =
          s.is_integer ? s.least + static_cast<double>(g() % static_cast<uint64_t>(s.most - s.least + 1)) : s.fallback;
    for (const std::string& e : op.free_extents())
      c.sizes[e] = e == "two" ? 2 : static_cast<int64_t>(g() % (attempt < 100 ? largest : 5)) + 2;
    try {
      whole_values known = c.sizes;
      for (const scalar& s : op.scalars)
        if (s.is_integer) known[s.name] = static_cast<int64_t>(c.scalars.at(s.name));
      for (const tensor& t : op.inputs) {
        std::vector<int64_t> shape;
        for (const expr& e : t.shape) shape.push_back(whole_value(e, known));
        c.inputs.emplace(t.name, drawn_input(g, t, shape, t.of ? c.sizes.at(t.of->text) : 1, value));
      }
      program p(op, c);
      int64_t least = 1;
      for (const tensor& t : op.outputs) least = std::min(least, p.find(t.name)->elements);
      if (least > 0 && accept(c)) return c;
    } catch (const formula_error&) {
    }
  }
  return std::nullopt;
}

}  // namespace warpcheck::formula_test
