#include "golden/answers.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "golden/decimal.hpp"
#include "properties/engine/error.hpp"

namespace warpcheck::golden {

golden_file answer_of(const std::string& op, std::string name, std::string source,
                      std::map<std::string, std::string> knobs) {
  golden_file f;
  f.op = f.the_case.op = op;
  f.name = std::move(name);
  f.generator = fmt::format("golden/{0}/{0}_golden.cpp", op);
  f.source = std::move(source);
  f.the_case.property = "golden";
  f.the_case.knobs = std::move(knobs);
  return f;
}

golden_file known_answer(const std::string& op, std::string name, std::string generator, std::string source,
                         const engine::sizes& of, const std::map<std::string, std::vector<double>>& inputs,
                         std::map<std::string, std::string> knobs, std::vector<expected_output> outputs) {
  const engine::description* d = engine::find_description(op);
  if (!d) throw engine::usage_error(fmt::format("{}: operator '{}' is not described", name, op));
  golden_file f = answer_of(op, std::move(name), std::move(source));
  f.generator = std::move(generator);
  std::map<std::string, engine::recipe> fills;
  const auto all_equal = [](const std::vector<double>& v) { return !v.empty() && v == std::vector(v.size(), v[0]); };
  for (const auto& [tensor, values] : inputs)
    fills[tensor] = engine::make_recipe("constant", {all_equal(values) ? values[0] : 0});
  engine::target t;
  if (const auto types = engine::types_of(d->forms.front().tensors.front()); !types.empty()) t.type = types.front();
  f.the_case = engine::make_case(*d, t, of, std::move(fills));
  f.the_case.property = "golden";
  f.the_case.knobs = std::move(knobs);  // device and candidate are the check's
  const auto require_count = [&](const std::string& tensor, size_t count) {
    if (const int64_t elements = f.the_case.at(tensor).elements(); static_cast<int64_t>(count) != elements)
      throw engine::usage_error(fmt::format("{}: {} has {} values, must have {}", f.name, tensor, count, elements));
  };
  for (const engine::tensor_spec& s : f.the_case.tensors) {
    const auto given = inputs.find(s.name);
    if (given == inputs.end()) continue;
    require_count(s.name, given->second.size());
    if (!all_equal(given->second)) list_values(f, s.name, s.type, given->second);
  }
  for (const expected_output& o : outputs) require_count(o.tensor, o.values.size());
  f.outputs = std::move(outputs);
  return f;
}

std::vector<std::string> disagreements_with(const golden_file& f, const output_model& model) {
  constexpr int k_reference_digits = 20;
  std::vector<std::string> found;
  for (const expected_output& o : f.outputs) {
    const engine::tensor_spec& s = f.the_case.at(o.tensor);
    for (size_t k = 0; k < o.values.size(); ++k) {
      const auto i = static_cast<int64_t>(k);
      const std::string place = s.shape.size() == 2 ? fmt::format("{}[{},{}]", o.tensor, i / s.cols(), i % s.cols())
                                                    : fmt::format("{}[{}]", o.tensor, i);
      const std::string& exact = o.values[k];
      const std::string text = model.text(o.tensor, i);
      if (is_float(s.type) ? !agrees(exact, f.digits, text, k_reference_digits) : exact != text) {
        found.push_back(fmt::format("{}: the file has {}, the reference {}", place, exact, text));
        continue;
      }
      if (!is_float(s.type)) continue;
      // The nearest value of the output's type is what a perfect kernel returns: it must pass.
      const double nearest = engine::decode(s.type, engine::encode(s.type, nearest_double(exact)));
      if (!model.judge(o.tensor, i, nearest).accepted)
        found.push_back(fmt::format("{}: the reference rejects {:a}, the nearest {} of {}", place, nearest,
                                    warpcheck::name_of(s.type), exact));
    }
  }
  return found;
}

namespace {

const std::vector<golden_file>& answers_of(const std::string& op, std::vector<golden_file> (*known_answers)()) {
  static std::map<std::string, std::vector<golden_file>> of_operator;
  std::vector<golden_file>& answers = of_operator[op];
  if (!answers.empty()) return answers;
  answers = known_answers();
  for (golden_file& f : answers) {
    f.the_case = replay_case(f);  // with the listed inputs, once
    f.inputs.clear();
  }
  return answers;
}

}  // namespace

bool is_known_answer(const engine::trial_case& c, std::vector<golden_file> (*known_answers)()) {
  const std::vector<golden_file>& answers = answers_of(c.op, known_answers);
  return std::ranges::any_of(answers, [&](const golden_file& f) { return f.the_case.tensors == c.tensors; });
}

engine::property golden_property(std::string op, std::vector<dtype> types, std::vector<golden_file> (*known_answers)(),
                                 std::function<void(engine::trial&)> check) {
  engine::property p;
  p.op = std::move(op);
  p.name = "golden";
  p.sentence = "known answers come out within the bound";
  p.types = std::move(types);
  p.generate = [known_answers](const engine::target& t, engine::draw& d) {
    std::vector<const golden_file*> of_type;
    for (const golden_file& f : answers_of(t.op, known_answers))
      if (f.the_case.tensors.front().type == t.type) of_type.push_back(&f);
    if (of_type.empty())
      throw engine::usage_error(fmt::format("{}/golden: it has no answer of {}", t.op, name_of(t.type)));
    return candidate_case(*of_type[static_cast<size_t>(d.index()) % of_type.size()], t.device, t.candidate);
  };
  p.check = std::move(check);
  p.share_percent = 10;
  return p;
}

}  // namespace warpcheck::golden
