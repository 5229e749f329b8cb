// Generators of gated recurrent units: sizes, regimes, precisions, omitted tensors.
#include <algorithm>
#include <utility>

#include "properties/engine/cases/description.hpp"
#include "properties/gru/gru_cases.hpp"

namespace warpcheck {

using namespace engine;
using reference::gru_shape;

gru_shape draw_shape(draw& d, const target& t, int most_directions) {
  const bool gpu = t.device == "cuda";
  gru_shape s;
  s.directions = static_cast<int>(d.between(1, most_directions));
  s.time = d.one_of({1, 2, 3, 4, 5, gpu ? 100 : 6});
  s.batch = d.one_of({1, 2, 3, 5, gpu ? 33 : 4});
  s.hidden = d.between(1, 12);
  if (d.index() % 8 == 3 || gpu) {
    s.hidden = d.one_of({31, 32, 33, 63, 64, 65, 127, 128, 129, 130});
    if (t.size == 2 && d.chance(30)) s.hidden = d.one_of({255, 256, 257});
    s.time = std::min<int64_t>(s.time, gpu ? 20 : 3);
    s.batch = std::min<int64_t>(s.batch, gpu ? 9 : 2);
  }
  const int64_t any = d.between(1, 40);
  s.input = d.one_of({int64_t{1}, int64_t{2}, int64_t{3}, s.hidden, s.hidden + 1, any});
  // One of every class of columns by turns, and many rows.
  constexpr int64_t k_inputs[] = {1, 5, 32, 64, 63, 33, 96, 70};
  if (d.index() % 4 == 2) s.input = k_inputs[d.index() / 4 % 8];
  if (d.index() % 16 == 5) s.time = s.batch = 6;
  return s;
}

void draw_variant(draw& d, trial_case& c) {
  if (d.index() % 8 == 1) c.knobs["variant"] = "gru_cluster";
  if (d.index() % 8 == 3 && c.find("w_hh")->cols() <= 8) c.knobs["variant"] = "gru_grid";  // of one multiprocessor, too
  if (d.index() % 8 == 5) c.knobs["variant"] = "gru_product";
}

void draw_precision(draw& d, trial_case& c, int of) {
  const int64_t place = d.index() % 8, round = d.index() / 8;
  if (place >= of) return;
  constexpr const char* k_precisions[] = {"tf32x3", "tf32", "bf16"};
  set_knob(c, "precision", k_precisions[(place + round) % 3]);
}

trial_case usual_gru(const target& t, draw& d) {
  const gru_choice choice{draw_shape(d, t), d.one_of({0.5, 1.0, 2.0})};
  trial_case c = gru_case_of(t, d, choice);
  if (!t.variants.empty()) draw_variant(d, c);
  if (d.chance(25)) set_knob(c, "history_mode", "recompute"), leave_out(c, "history");
  for (const char* optional : {"h0", "h_reset", "lengths", "reset", "dhn"})
    if (d.chance(10)) leave_out(c, optional);
  if (d.chance(10)) leave_out(c, "b_ih"), leave_out(c, "db_ih");
  if (d.chance(10)) leave_out(c, "b_hh"), leave_out(c, "db_hh");
  if (d.chance(40))
    for (tensor_spec& s : c.tensors) s.offset = s.name == "work" ? 0 : d.between(0, 3);
  return c;
}

trial_case small_gru(const target& t, draw& d) {
  gru_shape s = draw_shape(d, t);
  s.hidden = std::min<int64_t>(s.hidden, 9);
  s.input = std::min<int64_t>(s.input, 9);
  trial_case c = gru_case_of(t, d, {s});
  if (!t.variants.empty()) draw_variant(d, c);
  return c;
}

void give_history(draw& d, trial_case& c) {
  const double seed = d.seed();
  const bool saved = c.knob("history_mode") == "save";
  set_knob(c, "pass", "backward");
  const tensor_spec y = c.at("y"), history = c.at("history");
  const auto give = [&](const char* name, const tensor_spec& like, recipe fill) {
    tensor_spec& t = *c.find(name);
    t.shape = like.shape;
    t.ld = like.ld;
    t.fill = std::move(fill);
  };
  give("y_in", y, make_recipe("uniform", {seed, -1, 1}));
  if (saved) give("history_in", history, make_recipe("uniform", {seed + 1, 0, 1}));
  for (const char* name : {"y", "hn", "history"}) leave_out(c, name);
}

}  // namespace warpcheck
