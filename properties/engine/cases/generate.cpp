#include "properties/engine/cases/generate.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "properties/engine/cases/description.hpp"
#include "properties/engine/shrinking/shrink.hpp"
#include "properties/engine/trials/library.hpp"

namespace warpcheck::engine {
namespace {

constexpr int64_t k_most_draws = 1000;

// Sizes at which code without published boundaries may change its path; generators also try their neighbours. They
// exceed 16, 17 and 20 bits, and one length is no power of two. A generator uses them as far as its size allows.
constexpr int64_t k_usual_boundaries[] = {65536, 131072, 170000, 1 << 18, 1 << 19, 1 << 20};

// A seed is mixed with the place of an element type in this list. New types come last, so that seeds keep their cases.
constexpr dtype k_seeded_types[] = {dtype::f16, dtype::bf16, dtype::f32, dtype::f64,  dtype::i32,  dtype::i64,
                                    dtype::u8,  dtype::u16,  dtype::u32, dtype::e4m3, dtype::e5m2, dtype::i8};

// If the candidate lacks the technique that the case forces, the case is for the candidate's own dispatch.
void take_own_dispatch(const target& t, trial_case& c) {
  const auto forced = c.knobs.find("variant");
  if (forced != c.knobs.end() && std::none_of(t.variants.begin(), t.variants.end(),
                                              [&](const target::variant& v) { return v.name == forced->second; }))
    c.knobs.erase(forced);
}

bool fits(const trial_case& c, const target& t) {
  return std::all_of(c.tensors.begin(), c.tensors.end(), [&](const tensor_spec& s) {
    return !s.is_input || (s.rows() <= t.max_rows && s.cols() <= t.max_cols);
  });
}

// Reduces the case to the offer, and adds the traits that it loses to `taken`; returns false if it is no case of the
// property then.
bool is_offered(const property& p, const offer& o, trial_case& c, std::vector<std::string>& taken) {
  return bring_within(o, c, taken) && (!p.holds || p.holds(c));
}

// Returns the lacked traits that keep the case from being one of the property: those of which one more would be enough,
// if there are any, or else all that it loses.
std::set<std::string> missing_of(const property& p, const offer& o, const trial_case& c) {
  std::vector<std::string> taken;
  std::set<std::string> enough;
  trial_case reduced = c;
  if (!is_offered(p, o, reduced, taken))
    for (const trait_set& traits : o.lacks) {
      offer more = o;
      std::erase(more.lacks, traits);
      trial_case other = c;
      if (std::vector<std::string> lost; is_offered(p, more, other, lost)) enough.insert(text_of(traits));
    }
  return enough.empty() ? std::set<std::string>(taken.begin(), taken.end()) : enough;
}

// Launches some cases in another way than usual; the circumstances of a run must not change a bit.
void draw_launch(draw& d, trial_case& c) {
  // A property that chose a schedule or repetitions has a reason, often that the case is large.
  if (c.knobs.count("schedule") || c.knobs.count("repeat")) return;
  const int64_t way = d.between(0, 19);
  if (c.knob("device") != "cuda") {
    if (way == 0) c.knobs["launch"] = "again:2";
    return;
  }
  switch (way) {
    case 0: c.knobs["launch"] = "legacy"; break;
    case 1: c.knobs["launch"] = "again:3"; break;
    case 2:
    case 3: c.knobs["launch"] = "graph:2"; break;
    case 4: c.knobs["schedule"] = "nonblocking"; break;
    case 5: c.knobs["schedule"] = "noise"; break;
    default: break;
  }
}

}  // namespace

rc::Gen<trial_case> cases(const property& p, const target& t, int64_t index) {
  const rc::Gen<trial_case> plain([&p, t, index](const rc::Random& random, int) {
    draw d(random, index);
    trial_case c = p.generate(t, d);
    c.property = p.name;
    take_own_dispatch(t, c);
    draw_launch(d, c);
    return rc::shrinkable::just(std::move(c));
  });
  return with_shrinking(plain, p.holds);
}

trial_case generate_case(const property& p, const target& t, uint64_t seed, int64_t index, int64_t attempt) {
  // The device is left out on purpose: the same seed tries the same data on every device.
  const auto type = std::find(std::begin(k_seeded_types), std::end(k_seeded_types), t.type) - k_seeded_types;
  uint64_t key = hash64(seed, static_cast<uint64_t>(index), static_cast<uint64_t>(type));
  for (const char ch : p.op + "/" + p.name) key = hash64(key, static_cast<unsigned char>(ch));
  if (attempt > 0) key = hash64(key, static_cast<uint64_t>(attempt), 1);
  for (int64_t k = 0; k < k_most_draws; ++k) {
    trial_case c =
        cases(p, t, index + k)(rc::Random(k == 0 ? key : hash64(key, static_cast<uint64_t>(k))), 100).value();
    std::vector<std::string> taken;
    if (is_offered(p, t.offered, c, taken) && fits(c, t)) return c;
  }
  throw no_case_fits(fmt::format("{}/{}: no case was found with inputs of at most {} x {}, and within the offer", p.op,
                                 p.name, t.max_rows, t.max_cols));
}

std::string missing_trait(const property& p, const target& t, uint64_t seed) {
  constexpr int64_t k_draws = 8;
  std::set<std::string> always, ever;
  for (int64_t i = 0; i < k_draws; ++i) {
    const trial_case c = cases(p, t, i)(rc::Random(hash64(seed, static_cast<uint64_t>(i))), 100).value();
    const std::set<std::string> here = missing_of(p, t.offered, c);
    if (i == 0) always = here;
    ever.insert(here.begin(), here.end());
    std::erase_if(always, [&](const std::string& text) { return here.count(text) == 0; });
  }
  if (!always.empty()) return fmt::format("{}{}", k_needs, fmt::join(always, ", "));
  return ever.empty() ? "" : fmt::format("{}{}", k_needs, fmt::join(ever, " or "));
}

std::vector<target> find_targets(std::string_view name, std::string_view op, std::string_view device) {
  const candidate c = open_candidate(name, op, device);
  std::vector<target> targets;
  for (const dtype type : {dtype::f32, dtype::f16, dtype::bf16, dtype::f64, dtype::e4m3, dtype::e5m2, dtype::i8,
                           dtype::i32, dtype::i64, dtype::u8, dtype::u16, dtype::u32}) {
    if (!(c.op->dtypes & dtype_bit(type))) continue;
    target t;
    t.op = op;
    t.device = device;
    t.candidate = name;
    t.type = type;
    t.extents = c.op->extents;
    t.offered = parse_statements(op, c.op->states);
    for (const listed_variant& v : c.op->variants)
      if (v.dtypes & dtype_bit(type)) t.variants.push_back({v.name, v.ranges});
    t.boundaries = c.op->boundaries;
    if (c.op->variants.empty() && t.boundaries.front().empty())
      t.boundaries.front().assign(std::begin(k_usual_boundaries), std::end(k_usual_boundaries));
    targets.push_back(std::move(t));
  }
  return targets;
}

}  // namespace warpcheck::engine
