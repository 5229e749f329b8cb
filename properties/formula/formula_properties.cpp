#include "properties/formula/formula_properties.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

#include "properties/engine/cases/classes.hpp"
#include "properties/engine/cases/refusals.hpp"
#include "properties/engine/error.hpp"
#include "properties/engine/trials/checks.hpp"
#include "properties/engine/trials/explanation.hpp"
#include "properties/engine/trials/in_hand.hpp"
#include "properties/engine/trials/polynomial_identity.hpp"
#include "properties/engine/trials/property_list.hpp"
#include "properties/engine/trials/reused_storage.hpp"
#include "properties/engine/trials/trial.hpp"
#include "properties/formula/formula_cases.hpp"
#include "properties/formula/formula_explanation.hpp"
#include "properties/formula/formula_structure.hpp"
#include "reference/formula/evaluate.hpp"

namespace warpcheck::formula_trial {

using namespace engine;

namespace {

std::map<std::string, shared_formula, std::less<>>& registered_formulas() {
  static std::map<std::string, shared_formula, std::less<>> formulas;
  return formulas;
}

trial_case with_knob(trial_case c, const std::string& name, const std::string& value) {
  c.knobs[name] = value;
  return c;
}

// The place of an element in a dimension of its tensor.
int64_t place_in(const tensor_spec& s, int64_t element, size_t dimension) {
  for (size_t k = s.shape.size() - 1; k > dimension; --k) element /= s.shape[k];
  return element % s.shape[dimension];
}

// Writes NaN to the elements of a tensor that `chosen` says, by their place in the dimension.
template <class Chosen>
void poison_places(host_tensor& x, size_t dimension, Chosen&& chosen) {
  const uint64_t nan = encode(x.spec.type, std::numeric_limits<double>::quiet_NaN());
  for (int64_t i = 0; i < x.spec.elements(); ++i)
    if (chosen(place_in(x.spec, i, dimension))) x.set_bits(i / x.spec.cols(), i % x.spec.cols(), nan);
}

// Requires equal bits of an output's elements that `kept` says, by their place in the dimension.
template <class Kept>
void require_kept(trial& t, const host_tensor& before, const host_tensor& after, size_t dimension, Kept&& kept,
                  const std::string& why) {
  const tensor_spec& s = before.spec;
  for (int64_t i = 0; i < s.elements(); ++i) {
    if (!kept(place_in(s, i, dimension))) continue;
    const int64_t row = i / s.cols(), col = i % s.cols();
    t.require(before.bits(row, col) == after.bits(row, col), "{}[{},{}] changes from {:a} to {:a} {}", s.name, row, col,
              before.value(row, col), after.value(row, col), why);
  }
}

bool is_dimension(const formula::expr& e, const std::string& extent) {
  return e->what == formula::kind::name && e->text == extent;
}

// NaN throughout one slice changes no bit of the others.
void check_slices(trial& t, const named_formula& f, const std::vector<std::string>& extents) {
  const run_result before = t.run();
  judge_outputs(t, before, f);
  const sizes of = sizes_of(*find_description(t.the_case().op), t.the_case());
  bool is_tried = false;
  for (const std::string& extent : extents) {
    const int64_t n = of.at(extent), victim = n / 2;
    tensor_map changed;
    for (const formula::tensor& x : f.op.inputs) {
      if (!is_free_input(x)) continue;
      for (size_t k = 0; k < x.shape.size(); ++k) {
        if (!is_dimension(x.shape[k], extent)) continue;
        host_tensor values = t.input(x.name);
        poison_places(values, k, [&](int64_t i) { return i == victim; });
        changed.insert_or_assign(x.name, std::move(values));
      }
    }
    if (n < 2 || changed.empty()) continue;
    is_tried = true;
    const run_result after = t.run(t.the_case(), changed);
    for (const formula::tensor& y : f.op.outputs)
      for (size_t k = 0; k < y.shape.size(); ++k)
        if (is_dimension(y.shape[k], extent))
          require_kept(
              t, before.at(y.name), after.at(y.name), k, [&](int64_t i) { return i != victim; },
              fmt::format("when slice {} of {} becomes NaN", victim, extent));
  }
  if (!is_tried) t.skip("no extent has another slice");
}

// NaN behind a place changes no bit of what comes before it.
void check_causality(trial& t, const named_formula& f, const std::vector<causal_dimension>& causal) {
  const run_result before = t.run();
  judge_outputs(t, before, f);
  bool is_tried = false;
  for (const causal_dimension& d : causal) {
    host_tensor values = t.input(d.input);
    const int64_t last = values.spec.shape[d.input_dimension] / 2;
    if (values.spec.shape[d.input_dimension] < 2 || !is_free_input(*f.op.find_input(d.input))) continue;
    is_tried = true;
    poison_places(values, d.input_dimension, [&](int64_t i) { return i > last; });
    const run_result after = t.run(t.the_case(), {{d.input, values}});
    require_kept(
        t, before.at(d.output), after.at(d.output), d.output_dimension, [&](int64_t i) { return i <= last; },
        fmt::format("when {} becomes NaN behind place {} of dimension {}", d.input, last, d.input_dimension));
  }
  if (!is_tried) t.skip("no element comes later");
}

// A tensor whose slices along a dimension change places: slice i is that of order[i].
host_tensor permuted(const host_tensor& x, size_t dimension, const std::vector<int64_t>& order) {
  host_tensor y(x.spec);
  int64_t inner = 1;
  for (size_t k = dimension + 1; k < x.spec.shape.size(); ++k) inner *= x.spec.shape[k];
  const int64_t cols = std::max<int64_t>(1, x.spec.cols());
  for (int64_t i = 0; i < x.spec.elements(); ++i) {
    const int64_t place = place_in(x.spec, i, dimension), from = i + (order[place] - place) * inner;
    y.set_bits(i / cols, i % cols, x.bits(from / cols, from % cols));
  }
  return y;
}

// Every tensor of the list that has the extent, permuted along all of its dimensions of that extent.
void permute(tensor_map& tensors, const std::vector<formula::tensor>& list, const std::string& extent,
             const std::vector<int64_t>& order) {
  for (const formula::tensor& t : list)
    for (size_t k = 0; k < t.shape.size(); ++k)
      if (is_dimension(t.shape[k], extent)) {
        host_tensor& x = tensors.find(t.name)->second;
        x = permuted(x, k, order);
      }
}

// The bound does not depend on the order of places, so outputs that are put back in order have the case's own.
void check_permutation(trial& t, const named_formula& f, const std::vector<std::string>& extents) {
  judge_outputs(t, t.run(), f);
  const sizes of = sizes_of(*find_description(t.the_case().op), t.the_case());
  bool is_tried = false;
  for (const std::string& extent : extents) {
    const int64_t n = of.at(extent);
    if (n < 2) continue;
    is_tried = true;
    std::vector<int64_t> order(static_cast<size_t>(n)), back(order.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::sort(order, [](int64_t a, int64_t b) {
      return hash64(7, static_cast<uint64_t>(a)) < hash64(7, static_cast<uint64_t>(b));
    });
    if (std::ranges::is_sorted(order)) std::ranges::reverse(order);
    for (int64_t i = 0; i < n; ++i) back[static_cast<size_t>(order[static_cast<size_t>(i)])] = i;
    tensor_map changed = inputs_of(t);
    permute(changed, f.op.inputs, extent, order);
    run_result after = t.run(t.the_case(), changed);
    permute(after.tensors, f.op.outputs, extent, back);
    judge_outputs(t, after, f);
  }
  if (!is_tried) t.skip("no extent has two places");
}

// Every element is the exact value, which is a whole number.
void check_exact(trial& t, const named_formula& f) {
  const run_result r = t.run();
  const formula::call_data call = call_of(f, t.the_case(), inputs_of(t));
  formula::evaluation reference(f.op, call);
  for (const formula::tensor& out : f.op.outputs) {
    const host_tensor& y = r.at(out.name);
    const int64_t cols = std::max<int64_t>(1, y.spec.cols());
    for (int64_t i = 0; i < y.spec.elements(); ++i) {
      const double actual = y.value(i / cols, i % cols), exact = reference.demand_of(out.name, i).expected;
      t.require(actual == exact, "{}[{},{}] = {:.9g}, and the sum of whole numbers is {:.9g}", out.name, i / cols,
                i % cols, actual, exact);
      t.judge(out.name, i / cols, i % cols, 0, actual, warpcheck::reference::judge_fixed(y.spec.type, actual, actual));
    }
  }
}

// Adds the properties of one formula.
class planner {
 public:
  explicit planner(const shared_formula& f)
      : f_(f), structure_(study(f->op)), type_(memory_type(f->op.inputs.front())) {}

  formula_trial_plan plan() {
    add_values();
    add_identity();
    add_structure();
    add_permutation();
    add_memory();
    plan_.properties = list_.take();
    return std::move(plan_);
  }

 private:
  using generator = property_list::generator;

  property& add(const char* name, std::string sentence, int share, generator generate,
                std::function<void(trial&)> check) {
    return list_.add(name, std::move(sentence), std::move(generate), std::move(check), share);
  }
  void leave_out(const char* name, std::string why) { plan_.unasked.push_back({name, std::move(why)}); }

  generator any(case_options how = {}) const {
    return [f = f_, how](const target& t, draw& d) { return draw_case(*f, t, d, how); };
  }
  std::function<void(trial&)> judged() const {
    return [f = f_](trial& t) { judge_outputs(t, t.run(), *f); };
  }

  void add_values() {
    add(
        "within-error-bound", "every element of every output lies within the bound that follows from the formula", 100,
        [f = f_](const target& t, draw& d) { return draw_value_case(*f, t, d); }, judged());
    add(
        "every-element-used", "an element that stands out, at any place of an input, is in the results", 30,
        [f = f_](const target& t, draw& d) { return draw_spike_case(*f, t, d); }, judged());
    const bool is_any_free = std::ranges::any_of(f_->op.inputs, is_free_input);
    if (is_any_free)
      add(
          "special-values", "NaN, infinities and extremes of inputs give what IEEE 754 makes of the formula", 40,
          [f = f_](const target& t, draw& d) { return draw_special_case(*f, t, d); }, judged());
    else
      leave_out("special-values", "no input may hold every value: each has a range, or is a list of whole numbers");
  }

  void add_identity() {
    const std::optional<formula::polynomial> p = formula::as_polynomial(f_->op);
    if (!p) return leave_out("polynomial-identity", "no polynomials with whole coefficients in f32 are the outputs");
    if (!f_->op.contract.empty())
      return leave_out("polynomial-identity", "the contract may admit rounding where f32 needs none");
    const auto draw_exact = [f = f_, p = *p](const target& t, draw& d) { return draw_exact_case(*f, p, t, d); };
    property& exact = add("usual", "", 30, draw_exact, [f = f_](trial& t) { check_exact(t, *f); });
    exact.holds = [f = f_, p = *p](const trial_case& c) { return is_exact_case(*f, p, c); };
    make_polynomial_identity(exact, p->degree);
  }

  bool has_free_input_of(const std::string& extent) const {
    return std::ranges::any_of(f_->op.inputs, [&](const formula::tensor& x) {
      const auto is_this = [&](const formula::expr& e) { return is_dimension(e, extent); };
      return is_free_input(x) && std::ranges::any_of(x.shape, is_this);
    });
  }

  void add_structure() {
    const std::string unknown = structure_.is_known ? "" : "the formula is too large to be inlined";
    // NaN is written to inputs that may hold it.
    std::vector<std::string> batch = structure_.batch_extents;
    std::erase_if(batch, [&](const std::string& extent) { return !has_free_input_of(extent); });
    std::vector<causal_dimension> causal = structure_.causal;
    std::erase_if(causal, [&](const causal_dimension& d) { return !is_free_input(*f_->op.find_input(d.input)); });
    if (!batch.empty())
      add("slice-isolation",
          fmt::format("NaN in one slice of {} changes no bit of another slice", fmt::join(batch, ", ")), 15,
          any({.most = 80, .least = 2, .is_plain = true}), [f = f_, batch](trial& t) { check_slices(t, *f, batch); });
    else
      leave_out("slice-isolation",
                unknown.empty() ? "no input that may hold NaN has an extent whose slices are independent" : unknown);
    if (structure_.batch_extents.empty())
      leave_out("batch-invariance", unknown.empty() ? "no extent has slices that are independent" : unknown);
    else
      add_batch_invariance(structure_.batch_extents.front());
    if (!causal.empty())
      add("causality", "NaN at later places changes no bit of what comes before", 15,
          any({.most = 80, .least = 2, .is_plain = true}),
          [f = f_, causal](trial& t) { check_causality(t, *f, causal); });
    else
      leave_out("causality",
                unknown.empty() ? "no input that may hold NaN is read only up to an index of the output" : unknown);
    if (!structure_.in_place.empty())
      add(
          "in-place",
          fmt::format("{} may lie in the memory of {}", structure_.in_place.front().first,
                      structure_.in_place.front().second),
          10,
          [f = f_, pairs = structure_.in_place](const target& t, draw& d) {
            trial_case c = draw_case(*f, t, d, {.most = 300});
            const auto& [output, input] = pairs[static_cast<size_t>(d.index()) % pairs.size()];
            c.find(output)->in_place = input;
            return c;
          },
          judged());
    else
      leave_out("in-place",
                unknown.empty() ? "an element of the output needs other elements of each input of its shape" : unknown);
    if (!structure_.emptying_extents.empty())
      add(
          "empty-extents",
          fmt::format("calls without elements of {} do nothing", fmt::join(structure_.emptying_extents, ", ")), 5,
          [f = f_, extents = structure_.emptying_extents](const target& t, draw& d) {
            return draw_empty_case(*f, t, d, extents);
          },
          [](trial& t) { t.run(); });
    else
      leave_out("empty-extents", "no extent is a dimension of every output, so none empties them all");
  }

  void add_permutation() {
    if (!structure_.permutable_extents.empty())
      add("permutation",
          fmt::format("inputs in another order along {} give the outputs in that order, or the same",
                      fmt::join(structure_.permutable_extents, ", ")),
          10, any({.most = 80, .least = 2, .is_plain = true}),
          [f = f_, extents = structure_.permutable_extents](trial& t) { check_permutation(t, *f, extents); });
    else
      leave_out("permutation", "every extent has an index whose value, and not only its element, is used");
  }

  // Candidates may state that they hold it.
  void add_batch_invariance(const std::string& extent) {
    list_.append(batch_invariance(f_->engine_name(), {type_}, extent, any({.most = 80, .least = 2, .is_plain = true}),
                                  [f = f_](trial& t, const run_result& r) { judge_outputs(t, r, *f); }));
  }

  void add_memory() {
    add(
        "misalignment", "inputs and outputs may begin at any element", 15,
        [f = f_](const target& t, draw& d) {
          trial_case c = draw_case(*f, t, d, {.most = 300});
          for (tensor_spec& s : c.tensors) s.offset = d.between(0, 7);
          return c;
        },
        judged())
        .holds = engine::is_misaligned;
    const auto has_rows = [](const formula::tensor& t) { return t.shape.size() > 1; };
    if (std::ranges::any_of(f_->op.inputs, has_rows) || std::ranges::any_of(f_->op.outputs, has_rows))
      add(
          "layout", "leading dimensions and offsets change no bit", 10,
          [f = f_](const target& t, draw& d) {
            trial_case c = draw_case(*f, t, d, {.most = 80});
            draw_gaps_and_offsets(d, c);
            return c;
          },
          [f = f_](trial& t) { check_layout(t, [&](trial& u, const run_result& r) { judge_outputs(u, r, *f); }); });
    else
      leave_out("layout", "no tensor has rows, between which there could be gaps");
    add_large_offset();
    add("dispatch-boundaries", "every variant that takes a call is right, and what is published is what runs", 10,
        any({.most = 300, .is_plain = true}),
        [f = f_](trial& t) { check_dispatch(t, [&](trial& u, const run_result& r) { judge_outputs(u, r, *f); }); });
    add(
        "repeatability", "the same call gives the same bits, again and again", 5,
        [f = f_](const target& t, draw& d) {
          return with_knob(draw_case(*f, t, d, {.most = 80, .is_plain = true}), "repeat", "3");
        },
        judged());
    make_reused_storage(add("usual", "", 5, any({.most = 80, .is_plain = true}), judged()));
    add(
        "no-hazard", "no race, uninitialised read, out-of-bounds access or divergent barrier", 15,
        [f = f_](const target& t, draw& d) {
          trial_case c = draw_case(*f, t, d, {.most = 300, .is_plain = true});
          return t.device == "emulated" ? with_knob(std::move(c), "detect", "only") : c;
        },
        judged());
    add("rejects-invalid-calls", "calls that break the contract are refused with a sentence and write nothing", 3,
        any({.most = 8, .least = 2, .is_plain = true}), [](trial& t) { refuse_common(t); });
  }

  void add_large_offset() {
    if (tensors_of_rows(f_->op).empty())
      return leave_out("large-offset",
                       "no tensor has rows, one for each place of other extents, that could lie far apart");
    property& far = add(
        "large-offset", "rows that lie more than 2^31 elements apart are right", 5,
        [f = f_](const target& t, draw& d) { return draw_far_case(*f, t, d); }, judged());
    far.holds = has_far_rows;
  }

  shared_formula f_;
  formula_structure structure_;
  dtype type_;
  formula_trial_plan plan_;
  property_list list_{f_->engine_name(), {type_}};
};

}  // namespace

formula_trial_plan plan_of(const shared_formula& f) { return planner(f).plan(); }

void register_formula(const named_formula& f) {
  const std::string op = f.engine_name();
  if (const shared_formula known = formula_of(op)) {
    if (known->identity() == f.identity()) return;
    throw usage_error(fmt::format("formula: operator {} of '{}' is named like that of '{}'; give one of them",
                                  f.op.name, f.file, known->file));
  }
  describe_operator(describe(f));
  const auto shared = std::make_shared<const named_formula>(f);
  registered_formulas()[op] = shared;
  property_registration{plan_of(shared).properties};
  explainer_registration{op, [shared](const observed_call& call) { return explain_formula(*shared, call); }};
  std::vector<coverage_exemption> exemptions;
  for (const std::string& name : required_classes())
    exemptions.push_back({op, name, "a formula's cases follow from its own extents"});
  coverage_exemption_registration{std::move(exemptions)};
}

shared_formula formula_of(std::string_view op) {
  const auto found = registered_formulas().find(op);
  return found == registered_formulas().end() ? nullptr : found->second;
}

}  // namespace warpcheck::formula_trial
