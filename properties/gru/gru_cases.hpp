// Cases of gated recurrent units: the meaning of a case's tensors, calls of a candidate, and judgement of its
// results. Every case has all tensors of the contract (kernels/gru/contract.hpp); one without elements is a null
// pointer.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "properties/engine/cases/description.hpp"
#include "properties/engine/trials/property_list.hpp"
#include "properties/engine/trials/trial.hpp"
#include "properties/gru/gru_differences.hpp"
#include "reference/gru/gru_bound.hpp"

namespace warpcheck {

// The inputs of a call. y and history are those of a backward pass from given ones.
struct gru_data : gru_case<double> {
  std::vector<double> y, history;

  reference::gru_shape& shape() { return problem.shape; }
  const reference::gru_shape& shape() const { return problem.shape; }
  int64_t length(int64_t b) const { return reference::gru_walk(problem, 0, b).length; }
  bool is_padding(int64_t t, int64_t b) const { return t >= length(b); }
};
// The outputs of a call; tensors that were not requested are empty.
struct gru_answer {
  reference::gru_states<double> states;
  reference::gru_gradients<double> gradients;
};

// Calls f(name, values) for each tensor.
template <class Data, class F>
void each_input(Data& d, F&& f) {
  for (const auto& tensor : gru_tensors<double>()) f(tensor.name, d.problem.*tensor.value);
  f("lengths", d.problem.lengths);
  f("reset", d.problem.reset);
  f("dy", d.dy);
  f("dhn", d.dhn);
  f("y_in", d.y);
  f("history_in", d.history);
}
// Of the states and gradients of a gru_answer, or of one in other numbers.
template <class Answer, class F>
void each_output(Answer& a, F&& f) {
  f("y", a.states.y);
  f("hn", a.states.hn);
  f("history", a.states.history);
  using number = typename std::remove_reference_t<decltype(a.states.y)>::value_type;
  for (const auto& tensor : gru_tensors<number>()) f(tensor.gradient_name, a.gradients.*tensor.gradient);
  f("trace_e", a.gradients.trace_e);
}

// The axes of a tensor, in the order of the contract. An axis is a letter: D direction, T time, B batch, I input, H
// hidden, J hidden as columns, 3 and 4 gates.
std::string axes_of(std::string_view tensor);

// The elements of `values` whose index along `axis` is listed, in the list's order.
template <class T>
std::vector<T> taken(const std::vector<T>& values, const reference::gru_shape& s, std::string_view axes, char axis,
                     const std::vector<int64_t>& list);
// The same of every tensor that has the axis; H is J, too.
gru_data taken(gru_data d, char axis, const std::vector<int64_t>& list);
gru_answer taken(gru_answer a, const reference::gru_shape& s, char axis, const std::vector<int64_t>& list);
std::vector<int64_t> range(int64_t begin, int64_t end);  // begin, begin + 1, ..., end - 1

gru_data data_of(engine::trial& t);
gru_data data_of(const engine::trial_case& c);

// How a call differs from the case's own.
struct gru_request {
  std::string pass = {}, history = {};  // by name; empty: those of the case
  std::string variant = {}, precision = {};
  int64_t workspace_limit = -1;
  std::vector<std::string> only = {};  // of the outputs that the case has; empty: all
  bool all = false;                    // outputs that the case does not have, too
};
gru_answer ask(engine::trial& t, const gru_data& d, const gru_request& r = {});

// The largest workspace that the contract allows.
int64_t gru_work_bytes(const reference::gru_shape& s, int64_t workspace_limit, bool is_ieee = true);
// The chains that a candidate may have, in the case's precision.
reference::gru_accuracy accuracy_of(const engine::offer& stated, const engine::trial_case& c,
                                    const reference::gru_shape& s);

// Ends the case of a candidate that does not offer one of these outputs.
void need_outputs(engine::trial& t, std::initializer_list<const char*> outputs);
// The same for the gradients of all inputs that the case has.
void need_gradients(engine::trial& t, const gru_data& d);

// Judges every element of the answer by the step before it; gradients without e (trace_e) by the whole trajectory.
// `pass` and history are the case's unless asked otherwise.
void judge_steps(engine::trial& t, const gru_data& d, const gru_answer& a, const gru_request& r = {});
// Asks for the case's own call, and judges that.
void check_steps(engine::trial& t);
// How far an answer of both passes may be from the exact one. Skips the case where first order is not enough.
reference::gru_radii radii_of(engine::trial& t, const gru_data& d, const gru_request& r = {});
// Judges every output by the bounds of the whole trajectory.
void judge_trajectory(engine::trial& t, const gru_data& data, const gru_answer& a, const reference::gru_radii& radii);
// Asks for both passes of the case, and judges them by steps and by the bounds of the whole trajectory.
void judge_whole(engine::trial& t);
// Judges one element of a tensor.
void judge_near(engine::trial& t, const char* tensor, size_t i, double actual, double expected, double bound);

// Groups of outputs.
enum gru_group : unsigned { of_states = 1, of_history = 2, of_inputs = 4, of_weights = 8, of_trace = 16, of_rows = 23 };
unsigned group_of(std::string_view output);
// Every element of these groups has the same bits.
void require_same(engine::trial& t, const char* what, const gru_answer& a, const gru_answer& b, unsigned groups);
// Judges the answer to a call that is a part of another one, or has its rows in another order: it has the same bits
// there if the candidate states batch-invariant, otherwise it lies within its own bounds.
inline void judge_part(engine::trial& t, const char* what, const gru_data& part, const gru_answer& a,
                       const gru_answer& of_whole, unsigned groups) {
  if (t.stated().is_batch_invariant) return require_same(t, what, a, of_whole, groups);
  judge_steps(t, part, a);
}
// Every gradient of weights and biases of `whole` is the sum of those of the parts, within all of their bounds.
struct gru_part {
  const gru_data& data;
  const gru_answer& answer;
  double factor = 1;
};
void judge_sums(engine::trial& t, const gru_part& whole, const std::vector<gru_part>& parts,
                unsigned groups = of_weights);

// ---- cases ----

struct gru_choice {
  reference::gru_shape shape;
  double weights = 1;  // over sqrt(hidden)
  int steps = 0;       // bits behind the point of parameters that lie on a grid; 0: they do not
  bool ragged = true, marked = true;
};
// All tensors there, pass both, history saved.
engine::trial_case gru_case_of(const engine::target& t, engine::draw& d, const gru_choice& choice);
// Takes a tensor away.
void leave_out(engine::trial_case& c, std::string_view tensor);
void drop_absent(engine::trial_case& c);  // leaves out what the case's pass and history do not have
// A case of these inputs, all zeros, without a device: for files that list the values.
engine::trial_case bare_gru_case(const gru_data& d, const std::vector<std::string>& outputs);
std::vector<std::string> gru_outputs();  // all
// Sizes that properties are usually asked at: small, and every eighth at a border of the hidden units.
reference::gru_shape draw_shape(engine::draw& d, const engine::target& t, int most_directions = 2);
// Every regime by turns, where it takes these sizes on any device.
void draw_variant(engine::draw& d, engine::trial_case& c);
// tf32x3, tf32 and bf16 by turns, in `of` cases of eight; in the others ieee.
void draw_precision(engine::draw& d, engine::trial_case& c, int of = 8);
engine::trial_case usual_gru(const engine::target& t, engine::draw& d);
engine::trial_case small_gru(const engine::target& t, engine::draw& d);

// Makes it a pass backward whose history is no forward pass's: gradients are right for any.
void give_history(engine::draw& d, engine::trial_case& c);
// Its properties check cases whose inputs are numbers; of others they judge every step.
class gru_property_list : public engine::property_list {
 public:
  explicit gru_property_list(int share = 100);
  engine::property& add(std::string name, std::string sentence, generator generate, void (*check)(engine::trial&),
                        std::optional<int> share = std::nullopt);
};

engine::bench_list gru_bench_list();

// Properties in the files of these names; gru_properties.cpp registers all.
std::vector<engine::property> gru_precision_properties();
std::vector<engine::property> gru_gradient_properties();
std::vector<engine::property> gru_algebra_properties();
std::vector<engine::property> gru_symmetry_properties();
std::vector<engine::property> gru_special_properties();

// ---- definitions ----

int64_t extent(const reference::gru_shape& s, char axis);

template <class T>
std::vector<T> taken(const std::vector<T>& values, const reference::gru_shape& s, std::string_view axes, char axis,
                     const std::vector<int64_t>& list) {
  const size_t at = axes.find(axis);
  if (at == std::string_view::npos || values.empty()) return values;
  int64_t before = 1, after = 1;
  for (size_t i = 0; i < axes.size(); ++i) (i < at ? before : after) *= i == at ? 1 : extent(s, axes[i]);
  std::vector<T> out;
  for (int64_t i = 0; i < before; ++i)
    for (const int64_t index : list)
      for (int64_t j = 0; j < after; ++j)
        out.push_back(values[static_cast<size_t>((i * extent(s, axis) + index) * after + j)]);
  return out;
}

}  // namespace warpcheck
