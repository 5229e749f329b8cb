// The published scheme of the gradients of gated recurrent units: repaired it must pass, with one flaw it must be
// rejected for that flaw.
#include <gtest/gtest.h>

#include <string>

#include "properties/controls/known_bad/known_bad_test.hpp"
#include "properties/gru/gru_cases.hpp"

namespace warpcheck {
namespace {

const char* const k_every_output = "every-output-element-is-written-and-nothing-else";
const char* const k_slope = "each-gradient-of-the-kernel-is-a-difference-quotient";
const char* const k_slope_of_two = "each-gradient-of-two-directions-and-padded-rows-is-a-difference-quotient";

struct flawed {
  const char* variant;
  const char* property;
  reference::gru_shape shape;
  verdict result = verdict::violation;
  const char* text = "outside their bound";  // of the message or a finding
  bool detect = false;                       // only the race flavour sees it
};

const flawed k_flaws[] = {
    {"dy_index_uses_unit_as_time", k_every_output, {2, 1, 3, 9, 1}, verdict::out_of_bounds, "", true},
    {"dy_index_uses_unit_as_time", k_slope, {3, 2, 1, 3, 1}},
    {"seed_dy_one_address_for_all_units", k_slope, {2, 2, 1, 3, 1}},
    {"seed_dy_stride_ignores_direction", k_slope_of_two, {2, 2, 1, 2, 2}},
    {"seed_hn_offset_zero", k_slope, {2, 2, 1, 3, 1}},
    {"seed_r_t_is_preactivation", k_slope, {2, 2, 1, 3, 1}},
    {"history_stride_3h", k_slope, {3, 2, 1, 3, 1}},
    {"seed_state_array_not_prefixed", k_slope, {2, 2, 1, 3, 1}},
    {"recursion_without_w_hh", k_slope, {2, 2, 1, 3, 1}},
    {"state_gradient_never_updated", k_slope, {3, 2, 1, 3, 1}},
    {"seed_gate_gradients_overwritten", k_slope, {3, 2, 1, 2, 1}},
    {"seed_grid_axes_swapped", k_every_output, {2, 3, 2, 4, 1}, verdict::violation, "was not written"},
    {"units_beyond_the_block_skipped", k_every_output, {2, 1, 2, 40, 1}, verdict::violation, "was not written"},
    {"seed_reverse_is_forward", k_slope_of_two, {3, 2, 1, 2, 2}},
    {"seed_history_7h", k_every_output, {2, 2, 2, 3, 1}, verdict::error_return, "must be 84"},
    {"w_ih_read_transposed", "forward-matches-the-reference", {2, 2, 3, 5, 1}},
    {"dw_by_atomics", "same-input-same-bits", {3, 5, 2, 4, 1}, verdict::nondeterministic, "under schedules"},
    {"seed_dw_unsynchronised_add", "no-hazard", {3, 5, 2, 4, 1}, verdict::race, "", true},
    {"seed_index_counts_up", k_slope, {3, 2, 1, 3, 1}},
    {"dhn_ignored", "dhn-equals-dy-on-the-last-visited-step", {2, 2, 2, 3, 1}, verdict::violation, ""},
};

case_report judge(const flawed& f, const std::string& variant) {
  gru_data d;
  d.shape() = f.shape;
  const reference::gru_shape& s = f.shape;
  each_input(d, [&](const char* name, auto& values) {
    if (std::string_view(name) == "reset" || std::string_view(name).ends_with("_in") ||
        std::string_view(name) == "lengths")
      return;
    int64_t size = 1;
    for (const char axis : axes_of(name)) size *= extent(s, axis);
    values.resize(static_cast<size_t>(size));
  });
  engine::trial_case c = bare_gru_case(d, gru_outputs());
  double seed = 1;
  for (engine::tensor_spec& t : c.tensors)
    if (t.is_input && t.elements() > 0) t.fill = engine::make_recipe("uniform", {seed++, -1, 1});
  c.property = f.property;
  c.knobs["device"] = "emulated";
  c.knobs["candidate"] = known_bad_library("gru_seed");
  c.knobs["variant"] = variant;
  c.knobs["detect"] = f.detect ? "only" : "off";
  return judge_line(engine::format(c));
}

TEST(GruKnownBad, EachFlawIsRejectedForItsReason) { expect_flaws(k_flaws, judge); }

TEST(GruKnownBad, RepairedPassesWhereTheFlawsShow) {
  for (const flawed& f : k_flaws) expect_pass(judge(f, "repaired"), f.variant);
}

}  // namespace
}  // namespace warpcheck
