// gru on trial: sequences and gradients that somebody has in hand.
#include <utility>

#include "properties/engine/cases/description.hpp"
#include "properties/engine/trials/in_hand.hpp"
#include "properties/gru/gru_call.hpp"

namespace warpcheck {
namespace {

using namespace engine;

// By the bounds of the whole sequence, whatever the steps before were.
void judge_sequence_in_hand(trial& t) {
  const gru_data d = data_of(t.the_case(), inputs_of(t));
  if (t.the_case().knob("pass") == "backward")
    return t.skip("a backward pass alone is judged together with its forward pass");
  judge_trajectory(t, d, answer_of(t.run().tensors), radii_of(t, d));
}

bool is_given(const trial_case& c, const char* tensor) { return c.at(tensor).elements() > 0; }

void want(trial_case& c, const std::string& output) {
  tensor_spec& t = *c.find(output);
  t.shape = shape_by(c, output, sizes_of(*find_description("gru"), c));
  t.ld = t.cols();
}

// Without gradients it is a forward pass. Where no outputs were given, all are asked for that belong to given inputs.
void complete_sequence(trial_case& c, const tensor_map&, bool has_outputs) {
  bool has_gradients = is_given(c, "dy") || is_given(c, "dhn");
  for (const tensor_rule& info : find_description("gru")->forms[0].tensors)
    for (const scalar_value& never : info.never_with)
      has_gradients = has_gradients || (never.scalar == "pass" && never.value == 0 && is_given(c, info.name.c_str()));
  if (!c.knobs.contains("pass") && !has_gradients) set_knob(c, "pass", "forward");
  if (!c.knobs.contains("history_mode") && !is_given(c, "history"))
    set_knob(c, "history_mode", c.knob("pass") == "forward" ? "none" : "recompute");
  if (has_outputs) return;
  if (c.knob("pass") != "backward") want(c, "y"), want(c, "hn");
  if (c.knob("pass") == "forward") return;
  for (const tensor_rule& info : find_description("gru")->forms[0].tensors)
    if (const std::string gradient = "d" + info.name; info.is_input && is_given(c, info.name.c_str()))
      if (const tensor_spec* const of = c.find(gradient); of && !of->is_input) want(c, gradient);
}

const in_hand_registration of_sequence({"gru", "forward-matches-the-reference", judge_sequence_in_hand,
                                        complete_sequence});

}  // namespace
}  // namespace warpcheck
