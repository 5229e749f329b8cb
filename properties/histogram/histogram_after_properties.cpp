// histogram_fix and histogram_subtract on trial.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "properties/engine/trials/property_list.hpp"
#include "properties/histogram/histogram_problem.hpp"
#include "properties/rows/row_inputs.hpp"

namespace warpcheck {
namespace {

using namespace engine;

// The bins have no part in this: cases of u8 take f64 and i64 by turns.
dtype type_of(const draw& d) { return d.index() % 2 ? dtype::i64 : dtype::f64; }

recipe draw_slots(draw& d) {
  if (type_of(d) == dtype::i64) {
    const double seed = d.seed();
    // Every other time sums beyond 2^53, where doubles do not distinguish neighbours; 1300 slots stay below 2^63.
    const double most = d.index() / 2 % 2 ? 0x1p52 : 0x1p40;
    return make_recipe("integers", {seed, -most, most});
  }
  switch (d.between(0, 5)) {
    case 0: return make_recipe("randn", {d.seed()});
    case 1: return make_recipe("log_uniform", {d.seed(), -100, 100});
    case 2: return make_recipe("cancellation", {d.seed(), 1e12});
    case 3: return make_recipe("uniform", {d.seed(), 0, 1});
    case 4: return make_recipe("dyadic", {d.seed(), 0x1p30, 6});
    default: return make_recipe("alternating", {1e16 + 2 * static_cast<double>(d.between(1, 99)), -1e16});
  }
}

trial_case fix_case(const target& t, draw& d) {
  const std::string widths = d.one_of({"1", "2", "3,1,16", "255,17", "256", "257", "513", "600", "1025,3"});
  const int64_t slots = d.one_of({int64_t{1030}, int64_t{1300}});
  trial_case c =
      row_case(t, {input_matrix("before", type_of(d), slots, 2, draw_slots(d)),
                   input_matrix("entries", dtype::i64, 0, 2, make_recipe("derived", {})),
                   input_vector("leaf", type_of(d), 2, draw_slots(d)), output_matrix("hist", type_of(d), slots, 2)});
  if (d.chance(70)) c.find("hist")->in_place = "before";
  if (d.chance(40)) c.find("before")->offset = d.between(1, 7);
  set_knob(c, "stage", format_number(static_cast<int>(histogram_stage::fix)));
  set_knob(c, "widths", widths);
  set_knob(c, "gap", d.one_of({"0", "2"}));
  if (d.index() % 8 == 2) {
    // Slots that a sum loses one by one beside a large one.
    tensor_spec& before = *c.find("before");
    const int64_t slots = d.index() / 8 % 2 == 0 ? 65536 : 16500;
    before.shape[0] = slots;
    before.fill = make_recipe("constant", {0x1.fp-54});
    for (const int64_t part : {0, 1}) before.fill.edits.push_back({1, part, 1.0});
    set_knob(c, "widths", fmt::format("{}", slots));
    set_knob(c, "gap", "0");
  }
  if (d.index() % 8 == 5) {
    // The lower halves of two slots add up to 2^32 and nothing else to anything: one carry, which may be lost.
    tensor_spec& before = *c.find("before");
    before.fill = make_recipe("constant", {0});
    c.find("leaf")->fill = make_recipe("constant", {0});
    const int64_t width = 600, a = d.between(1, width - 1), b = a == width - 1 ? 1 : a + 1;
    for (const int64_t part : {0, 1}) {
      before.fill.edits.push_back({a, part, 0x1p32 - 1});
      before.fill.edits.push_back({b, part, 1.0});
    }
    set_knob(c, "widths", "600");
  }
  if (d.index() % 8 == 6) {
    // Slots of no column are not read, and not a bit of them changes.
    set_knob(c, "widths", "255,17");
    set_knob(c, "gap", "2");
    for (const int64_t part : {0, 1})
      c.find("before")->fill.edits.push_back({255 + part, part, -std::numeric_limits<double>::quiet_NaN()});
  }
  follow(c);
  return c;
}

struct fix_problem {
  host_tensor before, leaf;
  std::vector<fix_slots> entries;
  bool in_place;
  explicit fix_problem(trial& t)
      : before(t.input("before")),
        leaf(t.input("leaf")),
        entries(entries_of(t.input("entries"))),
        in_place(!t.the_case().at("hist").in_place.empty()) {}
  host_tensor run(trial& t) const {
    t.keep_nan_bits();
    return ask_fix(t, before, entries, leaf, in_place);
  }
};

bool is_restored(const std::vector<fix_slots>& entries, int64_t slot) {
  return std::ranges::any_of(entries, [&](const fix_slots& e) { return slot == e.first + e.mfb; });
}

void judge_fix(trial& t, const fix_problem& p, const host_tensor& hist) {
  judge_fix(t, p.before, p.entries, p.leaf, hist);
}

void check_restores(trial& t) {
  const fix_problem p(t);
  judge_fix(t, p, p.run(t));
}

void check_idempotent(trial& t) {
  fix_problem p(t);
  const host_tensor once = p.run(t);
  judge_fix(t, p, once);
  p.before.bytes = once.bytes;
  require_same(t, once, p.run(t), "restored twice");
}

void check_old_slot(trial& t) {
  fix_problem p(t);
  const host_tensor first = p.run(t);
  judge_fix(t, p, first);
  const uint64_t poison = p.before.spec.type == dtype::i64
                              ? 0x7fff0000ffff1234
                              : encode(dtype::f64, std::numeric_limits<double>::quiet_NaN());
  for (const fix_slots& e : p.entries)
    for (int part = 0; part < 2; ++part) p.before.set_bits(e.first + e.mfb, part, poison);
  require_same(t, first, p.run(t), "the old slot poisoned");
}

trial_case subtract_case(const target& t, draw& d) {
  const int64_t slots =
      d.index() % 40 == 33
          ? 0
          : d.one_of({d.between(1, 40), int64_t{127}, int64_t{128}, int64_t{129}, int64_t{513}, int64_t{2100}});
  trial_case c = row_case(
      t, {input_matrix("parent", type_of(d), slots, 2, draw_slots(d)),
          input_matrix("smaller", type_of(d), slots, 2, draw_slots(d)), output_matrix("larger", type_of(d), slots, 2)});
  if (d.chance(40)) c.find("parent")->offset = d.between(1, 7);
  if (d.chance(40)) c.find("smaller")->offset = d.between(1, 7);
  if (d.chance(40)) c.find("larger")->offset = d.between(1, 7);
  set_knob(c, "stage", format_number(static_cast<int>(histogram_stage::subtract)));
  return c;
}

void check_difference(trial& t) {
  const host_tensor parent = t.input("parent"), smaller = t.input("smaller");
  judge_difference(t, parent, smaller, t.run().at("larger"));
  // Itself taken away leaves nothing.
  host_tensor itself = parent;
  itself.spec = smaller.spec;
  judge_difference(t, parent, itself, ask_subtract(t, parent, itself));
}

void check_in_place(trial& t) {
  const host_tensor parent = t.input("parent"), smaller = t.input("smaller");
  const host_tensor apart = t.run().at("larger");
  judge_difference(t, parent, smaller, apart);
  require_same(t, apart, ask_subtract(t, parent, smaller, true), "in place of the parent");
}

void check_refusals(trial& t) {
  if (t.the_case().at("parent").rows() < 2) return t.skip("it takes two slots to break the contract in every way");
  for (size_t i = 0; i < 3; ++i) {
    const std::string& name = t.the_case().tensors[i].name;
    t.expect_refusal(name + " = null", [i](auto& v) { v[i].data = nullptr; });
    t.expect_refusal(name + " of -1 slots", [i](auto& v) { v[i].shape[0] = -1; });
    t.expect_refusal(name + " of one slot less", [i](auto& v) { --v[i].shape[0]; });
    t.expect_refusal(name + " misaligned", [i](auto& v) { v[i].data = static_cast<char*>(v[i].data) + 1; });
  }
  t.expect_refusal("larger lies in smaller", [](auto& v) { v[2].data = v[1].data; });
  t.expect_refusal("larger overlaps parent by all but one element",
                   [](auto& v) { v[2].data = static_cast<char*>(v[0].data) + 8; });
}

const property_registration registration([] {
  property_list list("histogram", {dtype::u8});
  list.add("fix-restores-total", "the restored slot is the leaf's sum less the other slots", fix_case, check_restores,
           50);
  list.add("fix-idempotent", "restoring twice changes nothing", fix_case, check_idempotent, 20);
  list.add("fix-ignores-old-slot", "the previous contents of the restored slot change nothing", fix_case,
           check_old_slot, 20);
  list.add("subtract", "the larger leaf is the parent less the smaller leaf, to the bit", subtract_case,
           check_difference, 50);
  list.add("subtract-in-place", "the larger leaf may take the parent's place", subtract_case, check_in_place, 20);
  list.add("rejects-invalid-subtractions",
           "calls that break the contract are refused with a sentence and write nothing", subtract_case, check_refusals,
           5);
  std::vector<property> all = list.take();
  for (property& p : all) p.holds = [](const trial_case& each) { return !each.find("before") || has_entries(each); };
  return all;
}());

}  // namespace

void judge_fix(trial& t, const host_tensor& before, const std::vector<fix_slots>& entries, const host_tensor& leaf,
               const host_tensor& hist) {
  for (int part = 0; part < 2; ++part)
    for (const fix_slots& e : entries) {
      const int64_t at = e.first + e.mfb;
      if (hist.spec.type == dtype::i64) {
        uint64_t rest = leaf.bits(0, part);
        for (int64_t s = 0; s < e.count; ++s)
          if (s != e.mfb) rest -= before.bits(e.first + s, part);
        // Beyond 2^53 doubles do not distinguish neighbours: bits decide, and the report counts the element.
        t.require(hist.bits(at, part) == rest, "hist[{},{}] is {}, expected {} modulo 2^64", at, part,
                  static_cast<int64_t>(hist.bits(at, part)), static_cast<int64_t>(rest));
        t.judge("hist", at, part, 0, hist.value(at, part),
                reference::judge_fixed(dtype::f64, hist.value(at, part), hist.value(at, part)));
        continue;
      }
      reference::judged_sum sum;
      sum.add(leaf.value(0, part));
      for (int64_t s = 0; s < e.count; ++s)
        if (s != e.mfb) sum.subtract(before.value(e.first + s, part));
      const double actual = hist.value(at, part);
      t.judge("hist", at, part, leaf.value(0, part), actual, sum.judge_fix(actual),
              [&] { return sum.expected_text(); });
    }
  for (int64_t slot = 0; slot < hist.spec.rows(); ++slot)
    for (int part = 0; part < 2 && !is_restored(entries, slot); ++part)
      t.require(hist.bits(slot, part) == before.bits(slot, part),
                "hist[{},{}] changes from {:a} to {:a}, and is not restored", slot, part, before.value(slot, part),
                hist.value(slot, part));
}

void judge_difference(trial& t, const host_tensor& parent, const host_tensor& smaller, const host_tensor& larger) {
  const dtype type = parent.spec.type;
  for (int64_t slot = 0; slot < parent.spec.rows(); ++slot)
    for (int part = 0; part < 2; ++part) {
      const double a = parent.value(slot, part), b = smaller.value(slot, part), actual = larger.value(slot, part);
      // Below 2^53 an i64 is its double.
      const double expected = type == dtype::i64 ? static_cast<double>(static_cast<int64_t>(parent.bits(slot, part)) -
                                                                       static_cast<int64_t>(smaller.bits(slot, part)))
                                                 : a - b;
      t.judge("larger", slot, part, a, actual, reference::judge_fixed(dtype::f64, actual, expected));
    }
}

}  // namespace warpcheck
