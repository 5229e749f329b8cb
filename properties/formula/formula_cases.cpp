#include "properties/formula/formula_cases.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "properties/engine/cases/case_inputs.hpp"
#include "properties/engine/error.hpp"
#include "reference/formula/evaluate.hpp"
#include "reference/formula/mutation.hpp"

namespace warpcheck::formula_trial {

using namespace engine;

namespace {

// Operations that the largest case may take: on the emulated device each costs many steps of a thread.
double cost_limit(const target& t) {
  const double usual = t.device == "emulated" ? 0x1p15 : 0x1p18;
  return t.size == 0 ? usual / 4 : t.size == 1 ? usual : usual * 8;
}

int64_t longest(const target& t) { return t.device == "emulated" ? 4200 : 70000; }

std::vector<std::string> free_extents_of(const description& d) {
  std::vector<std::string> names;
  for (const extent_info& e : d.extents)
    if (!e.derived) names.push_back(e.name);
  return names;
}

// True if the sizes give every tensor a shape, and every output elements.
bool has_elements(const named_formula& f, const sizes& of, const trial_case& c) {
  const formula::whole_values all = values_of(f, of, c);
  for (const auto* list : {&f.op.inputs, &f.op.outputs})
    for (const formula::tensor& t : *list)
      for (const formula::expr& e : t.shape) {
        try {
          if (formula::whole_value(e, all) < 1) return false;
        } catch (const formula::formula_error&) {
          return false;
        }
      }
  return true;
}

double cost_by(const named_formula& f, const sizes& of, const trial_case& c) {
  return cost_of(f.op, values_of(f, of, c));
}

// The small extents that are not small, the largest first; then the long one, while it is; then the largest of all.
int64_t& next_to_shrink(sizes& of, const std::string& long_one) {
  constexpr int64_t k_small = 8;
  const auto is_less = [](const auto& a, const auto& b) { return a.second < b.second; };
  auto largest = of.end();
  for (auto i = of.begin(); i != of.end(); ++i)
    if (i->first != long_one && (largest == of.end() || is_less(*largest, *i))) largest = i;
  if (largest != of.end() && largest->second > k_small) return largest->second;
  if (of.at(long_one) > k_small) return of.at(long_one);
  return std::ranges::max_element(of, is_less)->second;
}

// A window that is larger than its image has no case: from some attempt on every extent is small, then windows are
// least and images 16, then 32, though the smallest image may cost more than usual.
constexpr int k_long_attempts = 10, k_small_attempts = 60, k_usual_attempts = 500, k_attempts = 1000;

int64_t draw_size(const target& t, draw& d, const std::string& name, const case_options& how, bool is_long,
                  int attempt) {
  if (attempt >= k_small_attempts) return d.one_of({1, 1, attempt < k_usual_attempts ? 16 : 32});
  if (how.is_few) return d.between(1, 2);
  if (!is_long || attempt >= k_long_attempts) return d.one_of({1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 31, 32, 33});
  const int64_t most = how.most > 0 ? how.most : longest(t);
  const auto published = std::ranges::find(t.extents, name) - t.extents.begin();
  return draw_extent(d, t, std::min<int64_t>(most, 300), most, static_cast<size_t>(published));
}

// One extent, another one in each case, is long; the others are small.
sizes draw_formula_sizes(const named_formula& f, const target& t, draw& d, const trial_case& scalars,
                         const case_options& how) {
  const std::vector<std::string> names = free_extents_of(*find_description(t.op));
  const size_t long_one = names.empty() ? 0 : static_cast<size_t>(d.index()) % names.size();
  sizes of;
  for (int attempt = 0; attempt < k_attempts; ++attempt) {
    const double limit = attempt < k_usual_attempts ? cost_limit(t) : 64 * cost_limit(t);
    for (size_t i = 0; i < names.size(); ++i)
      of[names[i]] = std::max(how.least, draw_size(t, d, names[i], how, i == long_one, attempt));
    for (int64_t steps = 0; steps < 400 && cost_by(f, of, scalars) > limit; ++steps) {
      int64_t& shrunk = next_to_shrink(of, names[long_one]);
      if (shrunk <= how.least) break;
      shrunk = std::max(how.least, shrunk - (shrunk + 3) / 4);
    }
    for (const auto& [name, size] : how.fixed) of[name] = size;
    if (has_elements(f, of, scalars)) return of;
  }
  throw no_case_fits("formula: no sizes were found by which every output of " + f.op.name + " has elements");
}

recipe draw_free_fill(draw& d, int64_t kind, dtype type) {
  const double seed = d.seed();
  const double top = type == dtype::e4m3 ? 8 : type == dtype::f16 || type == dtype::e5m2 ? 15 : 60;
  // An input of 8 bits may hold every value.
  if (size_of(type) == 1 && d.chance(50)) return make_recipe("finite_bits", {seed});
  switch (kind % 20) {
    case 0: return make_recipe("randn", {seed});
    case 1: return make_recipe("integers", {seed, -9, 9});
    case 2: return make_recipe("log_uniform", {seed, -top / 2, top / 4});
    case 3: return make_recipe("near_underflow", {seed});
    case 4: return make_recipe("ascending", {-5, 5});
    case 5: return make_recipe("half_ulp", {seed, static_cast<double>(d.one_of({8, 11}))});
    case 6: return make_recipe("cancellation", {seed, 16});
    case 7: return make_recipe("one_hot", {seed, 50, 0});
    case 8: return make_recipe("stagnation", {0, -16.64});
    case 9: return make_recipe("randn", {seed, 1000, 0.05});
    case 10: return make_recipe("uniform", {seed, -top, top});
    case 11: return make_recipe("near_overflow", {seed});
    case 12: return make_recipe("constant", {static_cast<double>(d.between(1, 8))});
    case 13: return make_recipe("duplicates", {seed, 3});
    case 14: return make_recipe("uniform", {seed, 0, 1});
    case 15: return make_recipe("descending", {-20, 20});
    case 16: return make_recipe("alternating", {3, -3});
    case 17: return make_recipe("finite_bits", {seed});
    case 18: return make_recipe("levels", {seed, -100, 100});
    default: return make_recipe("sawtooth", {32, -10, 10});
  }
}

recipe draw_ranged_fill(draw& d, double least, double most, bool is_whole) {
  const double seed = d.seed();
  const double low = is_whole ? std::ceil(least) : least, near = std::min(most, std::max(least, 0.0) + 1);
  switch (d.between(0, 6)) {
    case 0: return make_recipe("constant", {low});
    case 1: return make_recipe("constant", {is_whole ? std::floor(most) : most});
    case 6:
      if (!is_whole && least <= 0 && most > 0) return make_recipe("one_hot", {seed, near, 0});
      [[fallthrough]];
    case 2:
      if (!is_whole && least <= 1 && most >= 2) return make_recipe("half_ulp", {seed, 11});
      [[fallthrough]];
    case 3:
      if (!is_whole)
        return make_recipe("uniform", {seed, std::max(least, -1.0) > near ? least : std::max(least, -1.0), near});
      [[fallthrough]];
    default:
      return is_whole ? make_recipe("integers", {seed, low, std::floor(most)})
                      : make_recipe("uniform", {seed, least, most});
  }
}

recipe draw_fill(const named_formula& f, const formula::tensor& t, draw& d, int64_t kind, const sizes& of,
                 const trial_case& c) {
  if (t.of) {
    const auto n = static_cast<double>(formula::whole_value(t.of, values_of(f, of, c)));
    const double seed = d.seed();
    const double last = std::max(0.0, n - 1);
    switch (d.between(0, 4)) {
      case 0: return make_recipe("constant", {last});
      case 1: return make_recipe("constant", {0});
      default: return make_recipe("integers", {seed, 0, last});
    }
  }
  const dtype type = memory_type(t);
  if (t.range) return draw_ranged_fill(d, t.range->first, t.range->second, formula::is_integer(t.type));
  if (formula::is_integer(t.type)) {
    const double seed = d.seed(), least = type == dtype::u8 ? 0 : -9;
    if (size_of(type) > 1 || d.chance(50)) return make_recipe("integers", {seed, least, 9});
    return make_recipe("integers", {seed, decode(type, encode(type, -1e3)), decode(type, encode(type, 1e3))});
  }
  return draw_free_fill(d, kind, type);
}

std::string draw_scalar(const formula::scalar& s, draw& d) {
  const int64_t way = d.between(0, 5);
  const double random = static_cast<double>(d.between(0, 1 << 20)) * 0x1p-20;
  double v = s.fallback;
  if (s.is_integer)
    v = s.least + std::floor(random * (s.most - s.least + 0.999));
  else if (s.has_range && way == 3)
    v = s.least;
  else if (s.has_range && way == 4)
    v = s.most;
  else if (way == 5)
    v = s.has_range ? s.least + random * (std::min(s.most, s.least + 1e6) - s.least) : 4 * random - 2;
  return format_number(v);
}

void draw_scalars(const named_formula& f, draw& d, trial_case& c) {
  for (const formula::scalar& s : f.op.scalars) {
    const std::string text = draw_scalar(s, d);
    if (text != format_number(s.fallback)) c.knobs[s.name] = text;
  }
}

constexpr int64_t k_far_elements = int64_t{1} << 31;
constexpr double k_exact = 0x1p24;  // whole numbers up to here are exact in f32

// The largest element of the polynomial's majorant for inputs of ones.
double largest_sum_of_ones(const named_formula& f, const formula::polynomial& p, trial_case c) {
  for (const formula::tensor& x : f.op.inputs)
    if (is_free_input(x)) c.find(x.name)->fill = make_recipe("constant", {1});
  const formula::call_data call = call_of(f, c, inputs_of(c));
  formula::evaluation sums(p.majorant, call);
  double largest = 1;
  for (const formula::tensor& y : f.op.outputs)
    for (int64_t i = 0; i < c.find(y.name)->elements(); ++i)
      largest = std::max(largest, sums.demand_of(y.name, i).expected);
  return largest;
}

int64_t last_of(const tensor_spec& t) { return std::max<int64_t>(0, t.cols() - 1); }

}  // namespace

bool is_free_input(const formula::tensor& t) { return !t.of && !t.range && !formula::is_integer(t.type); }

trial_case draw_case(const named_formula& f, const target& t, draw& d, const case_options& how) {
  trial_case scalars;
  scalars.op = t.op;
  if (how.draws_scalars) draw_scalars(f, d, scalars);
  const sizes of = draw_formula_sizes(f, t, d, scalars, how);
  // Half of the inputs have a recipe of the same kind as the first.
  constexpr int64_t k_plain[] = {0, 1, 10, 14};
  const int64_t first = how.is_plain ? k_plain[d.index() % 4] : d.index();
  std::map<std::string, recipe> fills;
  for (const formula::tensor& x : f.op.inputs) {
    const bool is_alike = d.chance(50);
    const int64_t other = d.one_of({0, 1, 5, 12, 14});
    fills[x.name] = draw_fill(f, x, d, fills.empty() || is_alike ? first : other, of, scalars);
  }
  trial_case c = make_case(*find_description(t.op), t, of, std::move(fills));
  c.knobs.insert(scalars.knobs.begin(), scalars.knobs.end());
  follow(c);
  return c;
}

trial_case draw_value_case(const named_formula& f, const target& t, draw& d) {
  constexpr int64_t k_every = 21;  // one more than the recipes of a free input
  const std::vector<double> numbers = formula::numbers_of(f.op);
  if (numbers.empty() || d.index() % k_every != k_every - 1) return draw_case(f, t, d);
  // The change of one element must exceed the rounding of a sum.
  trial_case c = draw_case(f, t, d, {.is_few = true});
  const auto which = static_cast<size_t>(d.index() / k_every);
  const double beside = numbers[which / 2 % numbers.size()] * (which % 2 == 0 ? 1 + 0x1p-10 : 1 - 0x1p-10);
  bool is_beside = true;
  for (const formula::tensor& x : f.op.inputs) {
    if (!is_free_input(x)) continue;
    c.find(x.name)->fill = make_recipe("constant", {is_beside ? beside : 0});
    is_beside = !is_beside;
  }
  for (const formula::scalar& s : f.op.scalars)
    if (s.has_range && !s.is_integer && s.least != s.fallback) c.knobs[s.name] = format_number(s.least);
  return c;
}

trial_case draw_special_case(const named_formula& f, const target& t, draw& d) {
  case_options how;
  how.most = 300;
  how.is_plain = true;
  trial_case c = draw_case(f, t, d, how);
  const double infinity = std::numeric_limits<double>::infinity();
  for (const formula::tensor& x : f.op.inputs) {
    tensor_spec& s = *c.find(x.name);
    const int64_t edits = d.between(0, 2);
    for (int64_t k = 0; is_free_input(x) && k < std::max<int64_t>(x.name == f.op.inputs.front().name, edits); ++k) {
      const double big = s.type == dtype::f16 ? 6e4 : 3e38;
      const double v = d.one_of({std::nan(""), infinity, -infinity, big, -big, 1e-30, -0.0});
      const int64_t row = d.between(0, std::max<int64_t>(0, s.rows() - 1)), col = d.between(0, last_of(s));
      s.fill.edits.push_back({row, col, v});
    }
  }
  return c;
}

trial_case draw_spike_case(const named_formula& f, const target& t, draw& d) {
  trial_case c = draw_case(f, t, d, {.most = 1100, .least = 1, .is_plain = true, .draws_scalars = false});
  const int64_t place = d.index();
  for (const formula::tensor& x : f.op.inputs) {
    tensor_spec& s = *c.find(x.name);
    if (!is_free_input(x)) continue;
    const int64_t which = d.between(0, 2);
    const auto first = static_cast<double>(which == 0 ? last_of(s) : place % std::max<int64_t>(1, s.cols()));
    s.fill = which < 2 ? make_recipe("diagonal", {first, 1, 50, 0.5}) : make_recipe("spike", {first, 50, 0.5});
  }
  return c;
}

trial_case draw_exact_case(const named_formula& f, const formula::polynomial& p, const target& t, draw& d) {
  trial_case c = draw_case(f, t, d, {.most = 300, .is_plain = true});
  double m = 0x1p12;
  for (const formula::scalar& s : f.op.scalars)
    if (!s.is_integer) c.knobs.erase(s.name);
  for (const formula::tensor& x : f.op.inputs)
    if (is_free_input(x)) m = std::min(m, std::ldexp(1, formula::range_of(x.type).digits));  // the type holds these
  m = std::clamp(std::floor(std::pow(k_exact / largest_sum_of_ones(f, p, c), 1.0 / p.degree)), 1.0, m);
  for (const formula::tensor& x : f.op.inputs)
    if (is_free_input(x)) c.find(x.name)->fill = make_recipe("integers", {static_cast<double>(d.seed()), -m, m});
  return c;
}

bool is_exact_case(const named_formula& f, const formula::polynomial& p, const trial_case& c) {
  double m = 1;
  for (const formula::tensor& x : f.op.inputs) {
    const recipe& fill = c.find(x.name)->fill;
    if (!is_free_input(x)) continue;
    if (fill.distribution != "integers" || !fill.edits.empty()) return false;
    m = std::max({m, -fill.arguments[1], fill.arguments[2]});
  }
  const bool has_usual_scalars = std::ranges::none_of(
      f.op.scalars, [&](const formula::scalar& s) { return !s.is_integer && c.knobs.count(s.name) > 0; });
  return has_usual_scalars && largest_sum_of_ones(f, p, c) * std::pow(m, p.degree) <= k_exact;
}

trial_case draw_empty_case(const named_formula& f, const target& t, draw& d, const std::vector<std::string>& extents) {
  trial_case c = draw_case(f, t, d, {.most = 40, .least = 1, .is_plain = true, .draws_scalars = false});
  const description& described = *find_description(t.op);
  sizes of = sizes_of(described, c);
  of[extents[static_cast<size_t>(d.index()) % extents.size()]] = 0;
  reshape(described, c, of);
  for (tensor_spec& s : c.tensors) s.fill.edits.clear();
  return c;
}

std::vector<formula::tensor> tensors_of_rows(const formula::formula_operator& op) {
  const std::vector<std::string> free = op.free_extents();
  std::vector<formula::tensor> found;
  for (const auto* list : {&op.inputs, &op.outputs})
    for (const formula::tensor& t : *list) {
      std::set<std::string> names;
      for (size_t k = 0; k + 1 < t.shape.size(); ++k)
        if (t.shape[k]->what == formula::kind::name && std::ranges::count(free, t.shape[k]->text) > 0)
          names.insert(t.shape[k]->text);
      if (t.shape.size() > 1 && names.size() + 1 == t.shape.size()) found.push_back(t);
    }
  return found;
}

trial_case draw_far_case(const named_formula& f, const target& t, draw& d) {
  const std::vector<formula::tensor> list = tensors_of_rows(f.op);
  const formula::tensor& far = list[static_cast<size_t>(d.index()) % list.size()];
  const auto last = static_cast<int64_t>(far.shape.size()) - 2;
  case_options how = {.most = 40, .is_plain = true};
  for (int64_t k = 0; k <= last; ++k) how.fixed[far.shape[static_cast<size_t>(k)]->text] = 1;
  how.fixed[far.shape[static_cast<size_t>(d.between(0, last))]->text] = 2;
  trial_case c = draw_case(f, t, d, how);
  tensor_spec& s = *c.find(far.name);
  s.ld = d.one_of({k_far_elements + 3, k_far_elements + 4, 2 * k_far_elements + 1});
  c.knobs["schedule"] = "fair";
  return c;
}

bool has_far_rows(const trial_case& c) {
  return std::ranges::any_of(c.tensors, [](const tensor_spec& s) { return s.rows() > 1 && s.ld >= k_far_elements; });
}

}  // namespace warpcheck::formula_trial
