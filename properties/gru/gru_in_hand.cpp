// gru on trial: sequences and gradients that somebody has in hand.
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

// Without gradients it is a forward pass, and without an output its y is asked for.
void complete_sequence(trial_case& c, const tensor_map&, bool has_outputs) {
  bool has_gradients = is_given(c, "dy") || is_given(c, "dhn");
  for (const char* gradient : {"dx", "dh0", "dh_reset", "dw_ih", "dw_hh", "db_ih", "db_hh", "trace_e"})
    has_gradients = has_gradients || is_given(c, gradient);
  if (!c.knobs.contains("pass") && !has_gradients) set_knob(c, "pass", "forward");
  if (!c.knobs.contains("history_mode") && !is_given(c, "history"))
    set_knob(c, "history_mode", c.knob("pass") == "forward" ? "none" : "recompute");
  if (c.knob("pass") == "backward" || has_outputs) return;
  const tensor_spec &x = c.at("x"), &w_hh = c.at("w_hh");
  tensor_spec& y = *c.find("y");
  y.shape = {x.shape[0], x.shape[1], w_hh.shape[0] * w_hh.shape[2]};
  y.ld = y.cols();
}

const in_hand_registration of_sequence({"gru", "forward-matches-the-reference", judge_sequence_in_hand,
                                        complete_sequence});

}  // namespace
}  // namespace warpcheck
