// Special values in every input of gated recurrent units: a NaN, an infinity, the largest and the smallest numbers, in
// the rows of each gate.
#include <limits>
#include <string>

#include "properties/engine/cases/description.hpp"
#include "properties/gru/gru_cases.hpp"

namespace warpcheck {
namespace {

using namespace engine;
using reference::gru_shape;

// The place of a special value: in a row of this gate, or block of a history; -1: anywhere.
struct special_place {
  std::string tensor;
  int gate;
  double value;
  std::string fill = "";  // of the whole tensor
};

const std::vector<special_place>& special_places() {
  static const std::vector<special_place> places = [] {
    constexpr double k_nan = std::numeric_limits<double>::quiet_NaN(), k_inf = std::numeric_limits<double>::infinity();
    std::vector<special_place> list;
    for (const char* tensor : {"w_ih", "w_hh", "b_ih", "b_hh"})
      for (int gate = 0; gate < 3; ++gate) {
        list.push_back({tensor, gate, k_nan});
        list.push_back({tensor, gate, (list.size() / 2 + static_cast<size_t>(gate)) % 2 == 0 ? k_inf : -k_inf});
      }
    const auto each = [](const auto& f) {
      for (const tensor_rule& info : find_description("gru")->forms[0].tensors)
        if (info.is_input && info.types == WARPCHECK_F32) f(info.name);
    };
    each([&](const std::string& tensor) {
      if (tensor.ends_with("_ih") || tensor.ends_with("_hh") || tensor == "history_in") return;
      for (const double value : {k_nan, k_inf, -k_inf}) list.push_back({tensor, -1, value});
    });
    for (int block = 0; block < 4; ++block) list.push_back({"history_in", block, k_nan});
    each([&](const std::string& tensor) {
      if (tensor == "history_in") return;
      list.push_back({tensor, -1, 0, "near_underflow"}), list.push_back({tensor, -1, 3e38});
    });
    each([&](const std::string& tensor) {
      if (tensor != "x") list.push_back({tensor, -1, k_nan, "nan_bits"});
    });
    list.push_back({"x", -1, -k_nan});  // their number is odd, so that every regime meets every one
    return list;
  }();
  return places;
}

void place_special_value(draw& d, trial_case& c, const special_place& place) {
  tensor_spec& to = *c.find(place.tensor);
  if (!place.fill.empty()) {
    to.fill = make_recipe(place.fill, {d.seed()});
    return;
  }
  int64_t row = d.between(0, to.rows() - 1), col = d.between(0, to.cols() - 1);
  const int64_t hidden = c.at("h0").cols(), unit = d.between(0, hidden - 1);
  if (place.tensor == "history_in") col = place.gate * hidden + unit;
  if (place.gate >= 0 && place.tensor.starts_with("w")) row = place.gate * hidden + unit;
  if (place.gate >= 0 && place.tensor.starts_with("b")) col = place.gate * hidden + unit;
  to.fill.edits.push_back({row, col, place.value});
}

trial_case special_gru(const target& t, draw& d) {
  const auto& places = special_places();
  const special_place& place = places[static_cast<size_t>(d.index()) % places.size()];
  const gru_shape s{d.between(2, 4), d.between(1, 3), d.between(1, 5), d.between(1, 8),
                    static_cast<int>(d.between(1, 2))};
  gru_choice choice{s};
  choice.ragged = choice.marked = d.chance(50);
  trial_case c = gru_case_of(t, d, choice);
  if (!t.variants.empty()) draw_variant(d, c);
  const bool given = place.tensor.ends_with("_in");
  if (!given && d.index() % 3 == 1) set_knob(c, "history_mode", "recompute"), leave_out(c, "history");
  if (given) give_history(d, c);
  // State and gradient beyond a step: rows as long as the sequence is.
  if (choice.ragged) c.find("lengths")->fill.edits.clear();
  place_special_value(d, c, place);
  if (d.index() % 5 == 2 && place.value != 3e38) draw_precision(d, c);
  run_once(c);
  return c;
}

}  // namespace

std::vector<property> gru_special_properties() {
  gru_property_list list;
  list.add("special-values-of-every-input",
           "a NaN, an infinity, a huge or a tiny number in any input has the effect that IEEE 754 defines", special_gru,
           check_steps);
  return list.take();
}

}  // namespace warpcheck
