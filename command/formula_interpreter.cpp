#include "command/formula_interpreter.hpp"

#include <cmath>
#include <deque>
#include <stdexcept>
#include <utility>

#include "command/candidates/contract.hpp"
#include "command/candidates/described_contract.hpp"
#include "properties/engine/trials/library.hpp"
#include "reference/formula/contract.hpp"
#include "reference/formula/machine.hpp"

namespace warpcheck::cli {
namespace {

using formula_trial::shared_formula;

struct interpreter {
  shared_formula f;
  formula::formula_operator op;  // without functions that are formulas themselves
  contract rules;
  formula::machine_options options;

  interpreter(const shared_formula& of, const formula::formula_operator& computed)
      : f(of), op(formula::expanded(computed)), rules(contract_of(*engine::find_description(of->engine_name()))) {
    options.format = options.accumulate = formula::parse_contract(op.contract).format;
  }
  warpcheck_status run(warpcheck_call& call) const;
};

// Address of an element, by its number in a tensor without gaps.
char* element_of(const tensor_view& v, int64_t i) { return v.data + (i / v.cols * v.ld + i % v.cols) * v.element; }

formula::array array_of(const tensor_view& v, const formula::tensor& t) {
  formula::array a;
  if (!t.shape.empty()) a.shape.assign(v.tensor->shape, v.tensor->shape + v.tensor->ndim);
  const dtype type = formula_trial::memory_type(t);
  for (int64_t i = 0; !v.is_empty() && i < v.rows * v.cols; ++i) {
    a.values.push_back(engine::decode(type, engine::load_bits(type, element_of(v, i))));
    if (formula::is_integer(t.type) || t.of) a.integers.push_back(static_cast<int64_t>(a.values.back()));
  }
  return a;
}

void store_output(const tensor_view& v, const formula::tensor& t, const std::vector<double>& values) {
  const dtype type = formula_trial::memory_type(t);
  for (size_t i = 0; i < values.size(); ++i)
    engine::store_bits(type, element_of(v, static_cast<int64_t>(i)),
                       engine::encode(type, formula::is_integer(t.type) ? std::trunc(values[i]) : values[i]));
}

warpcheck_status interpreter::run(warpcheck_call& call) const {
  call.used_variant = nullptr;
  try {
    const checked_call checked = check_whole_call(rules, call);
    formula::call_data data;
    for (const auto& [name, size] : checked.extents) data.sizes[name] = size;
    for (const formula::derived_extent& e : op.derived) data.sizes.erase(e.name);
    for (const auto& [rule, value] : checked.scalars) data.scalars[rule->name] = value;
    const auto view_of = [&](const formula::tensor& t) -> const tensor_view& {
      for (const tensor_view& v : checked.tensors)
        if (v.rule->name == t.name) return v;
      throw std::logic_error(t.name + ": the contract has no such tensor");
    };
    for (const formula::tensor& t : op.inputs) data.inputs.emplace(t.name, array_of(view_of(t), t));
    // An index list may refer to an extent that no tensor has.
    for (const std::string& e : op.free_extents()) data.sizes.emplace(e, int64_t{1} << 31);
    formula::program program(op, data);
    formula::walker<formula::machine_algebra> walker(program, formula::machine_algebra(options));
    // Computes all values before writing, because an output may lie in the memory of an input.
    std::vector<std::vector<double>> results;
    for (const formula::tensor& t : op.outputs) {
      const formula::definition_code& d = *program.find(t.name);
      std::vector<double> values;
      for (int64_t i = 0; i < d.elements; ++i) values.push_back(walker.element(d, i));
      results.push_back(std::move(values));
    }
    for (size_t k = 0; k < results.size(); ++k) store_output(view_of(op.outputs[k]), op.outputs[k], results[k]);
    return WARPCHECK_OK;
  } catch (...) {
    return answer_exception(&call);
  }
}

}  // namespace

void name_interpreter(const shared_formula& f) { name_changed_interpreter(f, f->op, "builtin"); }

void name_changed_interpreter(const shared_formula& f, const formula::formula_operator& changed,
                              const std::string& name) {
  static std::deque<engine::listed_operator> listed;
  const auto own = std::make_shared<const interpreter>(f, changed);
  listed.emplace_back(f->engine_name(), WARPCHECK_DEVICE_CPU, own->rules.dtypes(), own->rules.extents,
                      [own](warpcheck_call& call) { return own->run(call); });
  engine::name_candidate(name, listed.back());
}

}  // namespace warpcheck::cli
