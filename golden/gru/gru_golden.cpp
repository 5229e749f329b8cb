// gru: small nets whose results the definition gives with 100 digits, among them published field bugs; closed forms are
// recognised by their names.
#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "golden/answers.hpp"
#include "golden/check.hpp"
#include "golden/decimal.hpp"
#include "golden/format.hpp"
#include "properties/engine/cases/description.hpp"
#include "properties/engine/trials/property.hpp"
#include "properties/gru/gru_cases.hpp"

namespace warpcheck::golden {
namespace {

// A reference of so many digits decides those of any file.
constexpr int k_reference_digits = 80;

using answers = std::map<std::string, std::vector<real>>;

answers evaluate(const gru_data& d) {
  gru_case<real> c;
  const auto widened = [](const std::vector<double>& v) { return std::vector<real>(v.begin(), v.end()); };
  c.problem.shape = d.shape();
  c.problem.lengths = d.problem.lengths;
  c.problem.reset = d.problem.reset;
  const auto exact = gru_tensors<real>();
  const auto given = gru_tensors<double>();
  for (size_t k = 0; k < exact.size(); ++k) c.problem.*exact[k].value = widened(d.problem.*given[k].value);
  struct {
    reference::gru_states<real> states;
    reference::gru_gradients<real> gradients;
  } exact_answer;
  exact_answer.states = reference::gru_forward(c.problem);
  exact_answer.gradients = reference::gru_backward(c.problem, exact_answer.states, widened(d.dy), widened(d.dhn));
  answers values;
  each_output(exact_answer, [&](const char* name, const auto& v) { values[name] = v; });
  return values;
}

golden_file file_of(const std::string& name, const std::string& source, const gru_data& d,
                    const std::string& precision = "ieee") {
  golden_file f = answer_of("gru", name, source);
  answers values = evaluate(d);
  if (d.problem.b_ih.empty()) values.erase("db_ih");
  if (d.problem.b_hh.empty()) values.erase("db_hh");
  std::vector<std::string> outputs;
  for (const auto& [output, unused] : values) outputs.push_back(output);
  f.the_case = bare_gru_case(d, outputs);
  f.the_case.property = "golden";
  engine::set_knob(f.the_case, "precision", precision);
  each_input(d, [&](const char* tensor, const auto& list) {
    if (list.empty()) return;
    list_values(f, tensor, f.the_case.at(tensor).type, list);
  });
  for (const engine::tensor_spec& t : f.the_case.tensors) {
    if (t.is_input) continue;
    expected_output expected{t.name, {}};
    if (t.elements() > 0)
      for (const real& v : values.at(t.name)) expected.values.push_back(v == 0 ? "0" : rounded(v));
    f.outputs.push_back(std::move(expected));
  }
  return f;
}

// Multiples of 1/16 up to 1 in a fixed order, all tensors there.
gru_data pattern(const reference::gru_shape& s, std::vector<int64_t> lengths = {}, std::vector<uint8_t> reset = {}) {
  gru_data d;
  int64_t at = 5;
  const auto fill = [&](std::vector<double>& v, int64_t size) {
    for (int64_t i = 0; i < size; ++i, at += 37) v.push_back(static_cast<double>(at % 33 - 16) / 16);
    at += 11;
  };
  d.shape() = s;
  fill(d.problem.x, s.x_size());
  fill(d.problem.w_ih, s.w_ih_size());
  fill(d.problem.w_hh, s.w_hh_size());
  fill(d.problem.b_ih, s.bias_size());
  fill(d.problem.b_hh, s.bias_size());
  fill(d.problem.h0, s.state_size());
  fill(d.problem.h_reset, s.state_size());
  fill(d.dy, s.y_size());
  fill(d.dhn, s.state_size());
  d.problem.lengths = std::move(lengths);
  d.problem.reset = std::move(reset);
  return d;
}

std::vector<double> as_f32(std::initializer_list<double> values) {
  std::vector<double> v;
  for (const double x : values) v.push_back(static_cast<float>(x));
  return v;
}

gru_data printed() {
  gru_data d;
  d.shape() = {2, 1, 1, 1, 1};
  d.problem.w_ih = as_f32({.5, -.25, .75});
  d.problem.w_hh = as_f32({.25, .5, -.5});
  d.problem.b_ih = as_f32({.1, -.1, .2});
  d.problem.b_hh = as_f32({-.2, .3, .4});
  d.problem.x = as_f32({1, -.5});
  d.problem.h0 = {.25};
  d.dy = {1, 2};
  d.dhn = {.5};
  return d;
}

// No weights and biases: r = z = 1/2, n = 0, and a step halves the state.
gru_data halving() {
  gru_data d = pattern({4, 2, 2, 2, 2}, {4, 3});
  for (auto* v : {&d.problem.w_ih, &d.problem.w_hh, &d.problem.b_ih, &d.problem.b_hh}) v->assign(v->size(), 0);
  return d;
}

// z = 1 to within e^-200: a state stays to every digit of the file.
gru_data open_update_gate() {
  gru_data d = pattern({3, 2, 2, 3, 1});
  for (auto* v : {&d.problem.w_ih, &d.problem.w_hh, &d.problem.b_hh}) v->assign(v->size(), 0);
  d.problem.b_ih = {0, 0, 0, 200, 200, 200, 0, 0, 0};
  return d;
}

gru_data without(gru_data d, std::initializer_list<std::vector<double> reference::gru_problem<double>::*> tensors) {
  for (const auto tensor : tensors) (d.problem.*tensor).clear();
  return d;
}

std::vector<golden_file> known_answers() {
  using problem = reference::gru_problem<double>;
  const std::string definition = "definition (Cho et al. 2014, variant reset_after), evaluated with 100 digits";
  const auto field = [&](const char* bug) { return "field bug " + std::string(bug) + "; " + definition; };
  gru_data short_row = pattern({4, 2, 2, 2, 1}, {1, 4});
  short_row.dy.assign(short_row.dy.size(), 0);
  gru_data candidate_bias = pattern({2, 1, 1, 2, 1});
  for (size_t i = 4; i < 6; ++i) candidate_bias.problem.b_hh[i] = 3;
  return {
      file_of("printed", definition, printed()),
      file_of("halved-states", "closed form: h0 / 2^t", halving()),
      file_of("kept-states", "closed form: z = 1, h0", open_update_gate()),
      file_of("every-tensor", definition, pattern({3, 2, 3, 2, 2}, {3, 2}, {0, 1, 1, 0, 0, 1})),
      file_of("resets", definition, pattern({4, 3, 1, 2, 2}, {4, 3, 2}, {1, 0, 0, 0, 1, 0, 1, 0, 1, 0, 1, 0})),
      file_of("field-reverse-padding", field("pytorch#1811, pytorch#517 (padding in the reverse direction)"),
              pattern({4, 2, 2, 2, 2}, {4, 2})),
      file_of("field-empty-rows", field("tensorflow#36139, tensorflow#43103 (rows without a step)"),
              pattern({2, 3, 2, 2, 2}, {0, 2, 0})),
      file_of("field-no-first-state", field("mlx#3252 (no h0 is not a zero h0)"),
              without(pattern({2, 2, 2, 3, 2}), {&problem::h0, &problem::h_reset})),
      file_of("field-three-rows-no-bias", field("onnxruntime#3797, onnxruntime#3893 (an output that is not cleared)"),
              without(pattern({2, 3, 2, 2, 1}), {&problem::b_ih, &problem::b_hh, &problem::h0, &problem::h_reset})),
      file_of("field-dhn-of-a-short-row", field("OpenNMT#306 (dhn enters at the last step of the batch)"), short_row),
      file_of("field-odd-hidden", field("pytorch#54307 (hidden units that are no multiple of 4)"),
              pattern({2, 2, 3, 7, 1})),
      file_of("field-bias-inside", field("onnxscript#2852 (the variant is lost: b_hn outside of r)"), candidate_bias),
      file_of("field-state-gradients", field("pytorch#619 (gradients of both directions' last states)"),
              pattern({3, 1, 2, 2, 2})),
      file_of("field-reset-in-the-update",
              field("hgru4rec#11 (the state that was reset is not the one that is blended)"),
              pattern({3, 1, 1, 2, 1}, {}, {0, 1, 0})),
      // Weights and inputs have so few bits that every precision keeps them; states and gradients have not.
      file_of("precision-tf32x3", definition, pattern({3, 2, 3, 4, 2}, {3, 2}), "tf32x3"),
      file_of("precision-tf32", definition, pattern({3, 2, 4, 3, 2}, {3, 2}), "tf32"),
      file_of("precision-bf16", definition, pattern({2, 3, 5, 3, 1}), "bf16"),
  };
}

std::vector<std::string> disagreements(const golden_file& f) {
  const answers expected = evaluate(data_of(replay_case(f)));
  std::vector<std::string> found;
  for (const expected_output& output : f.outputs)
    for (size_t i = 0; i < output.values.size(); ++i) {
      const real& v = expected.at(output.tensor)[i];
      const std::string text = v == 0 ? "0" : rounded(v, k_reference_digits);
      if (!agrees(output.values[i], f.digits, text, k_reference_digits))
        found.push_back(output.tensor + "[" + std::to_string(i) + "]: the file has " + output.values[i] +
                        ", the reference " + text);
    }
  return found;
}

const engine::property_registration registration([] {
  // With every output, so that steps can be followed, and with those of the file alone.
  const auto check = [](engine::trial& t) {
    const gru_data d = data_of(t);
    const gru_answer all = ask(t, d, {.all = true});
    judge_steps(t, d, all);
    const gru_answer listed = ask(t, d);
    gru_answer wanted = all;
    std::vector<size_t> sizes;
    each_output(listed, [&](const char*, const auto& v) { sizes.push_back(v.size()); });
    size_t k = 0;
    each_output(wanted, [&](const char*, auto& v) {
      if (sizes[k++] == 0) v.clear();
    });
    require_same(t, "with every output wanted", listed, wanted, ~0u);
  };
  engine::property p = golden_property("gru", {dtype::f32}, known_answers, check);
  p.sentence = "known answers, published field bugs and torch's results come out within their bounds";
  p.holds = [](const engine::trial_case& c) { return is_known_answer(c, known_answers); };
  p.share_percent = 25;
  return std::vector<engine::property>{p};
}());

}  // namespace

operator_golden gru_golden() { return {"gru", known_answers, disagreements}; }

}  // namespace warpcheck::golden
