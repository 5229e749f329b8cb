#include "reference/formula/polynomial.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

namespace warpcheck::formula {
namespace {

// The absolute value of an expression's terms, and their largest degree.
struct term {
  expr size;
  int degree = 0;
};

bool is_at_least_f32(number_type t) { return t == number_type::f32 || t == number_type::f64; }

bool is_variable(const tensor& t) { return !is_integer(t.type) && !t.of && !t.range; }

class terms {
 public:
  explicit terms(const formula_operator& op) : op_(op) {}

  std::optional<term> of(const expr& e) const {
    switch (e->what) {
      case kind::number:
        return e->text.find_first_of(".eE") == std::string::npos ? std::optional(term{e}) : std::nullopt;
      case kind::name: return of_name(e);
      case kind::at: return of_element(e);
      case kind::negate: return of(e->args[0]);
      case kind::add:
      case kind::subtract:
      case kind::multiply: return of_two(e);
      case kind::power: return of_power(e);
      case kind::choose: return of_choice(e);
      case kind::cast: return is_at_least_f32(e->type) ? of(e->args[0]) : std::nullopt;
      case kind::reduce: return of_sum(e);
      default: return std::nullopt;
    }
  }

  std::map<std::string, int> degrees;  // of the definitions so far

 private:
  // True if no value of a floating-point input can change e.
  bool is_fixed(const expr& e) const {
    const std::set<std::string> names = names_in(e);
    return std::ranges::none_of(names, [&](const std::string& n) {
      const tensor* const input = op_.find_input(n);
      return op_.find_definition(n) || (input && !is_integer(input->type) && !input->of);
    });
  }

  std::optional<int> degree_of_tensor(const std::string& name) const {
    if (const auto found = degrees.find(name); found != degrees.end()) return found->second;
    const tensor* const input = op_.find_input(name);
    return input && is_variable(*input) ? std::optional(1) : std::nullopt;
  }

  std::optional<term> of_name(const expr& e) const {
    if (op_.shape_of(e->text)) {
      const auto degree = degree_of_tensor(e->text);
      return degree ? std::optional(term{e, *degree}) : std::nullopt;
    }
    const scalar* const s = op_.find_scalar(e->text);
    if (!s) return term{e};  // an index or an extent
    if (s->is_integer) return s->least >= 0 ? std::optional(term{e}) : std::nullopt;
    const double value = std::fabs(s->fallback);
    if (value != std::floor(value) || value > 1000) return std::nullopt;
    return term{make_number(static_cast<int64_t>(value))};
  }

  std::optional<term> of_element(const expr& e) const {
    const auto degree = degree_of_tensor(e->text);
    if (!degree || !std::ranges::all_of(e->args, [&](const expr& s) { return is_fixed(s); })) return std::nullopt;
    if (!e->other) return term{e, *degree};
    const std::optional<term> outside = of(e->other);
    if (!outside) return std::nullopt;
    return term{make_at(e->text, e->args, outside->size), std::max(*degree, outside->degree)};
  }

  std::optional<term> of_two(const expr& e) const {
    const std::optional<term> a = of(e->args[0]), b = of(e->args[1]);
    if (!a || !b) return std::nullopt;
    if (e->what == kind::multiply) return term{make_binary(kind::multiply, a->size, b->size), a->degree + b->degree};
    return term{make_binary(kind::add, a->size, b->size), std::max(a->degree, b->degree)};
  }

  std::optional<term> of_power(const expr& e) const {
    const std::optional<term> base = of(e->args[0]);
    const expr& exponent = e->args[1];
    if (!base || exponent->what != kind::number || exponent->text.size() != 1) return std::nullopt;
    const int n = exponent->text[0] - '0';
    return n >= 1 ? std::optional(term{make_binary(kind::power, base->size, exponent), base->degree * n})
                  : std::nullopt;
  }

  std::optional<term> of_choice(const expr& e) const {
    const std::optional<term> then = of(e->args[1]), otherwise = of(e->args[2]);
    if (!is_fixed(e->args[0]) || !then || !otherwise) return std::nullopt;
    return term{make_choice(e->args[0], then->size, otherwise->size), std::max(then->degree, otherwise->degree)};
  }

  std::optional<term> of_sum(const expr& e) const {
    const std::optional<term> body = of(e->args[0]);
    if (e->text != "sum" || !body || (e->other && !is_fixed(e->other))) return std::nullopt;
    return term{make_reduction("sum", e->bound, e->other, body->size), body->degree};
  }

  const formula_operator& op_;
};

}  // namespace

std::optional<polynomial> as_polynomial(const formula_operator& op) {
  polynomial p{0, with_guards(expanded(op))};
  for (const tensor& y : op.outputs)
    if (!is_at_least_f32(y.type)) return std::nullopt;
  terms found(p.majorant);
  for (definition& d : p.majorant.definitions) {
    const std::optional<term> t = d.type && !is_at_least_f32(*d.type) ? std::nullopt : found.of(d.value);
    if (!t) return std::nullopt;
    d.value = t->size;
    found.degrees[d.name] = t->degree;
    if (op.find_output(d.name)) p.degree = std::max(p.degree, t->degree);
  }
  return p.degree > 0 ? std::optional(std::move(p)) : std::nullopt;
}

}  // namespace warpcheck::formula
