#include "properties/engine/cases/generate.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "properties/engine/cases/description.hpp"
#include "properties/engine/shrinking/shrink.hpp"
#include "properties/engine/trials/call.hpp"
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
  if (forced != c.knobs.end() &&
      std::ranges::none_of(t.variants, [&](const target::variant& v) { return v.name == forced->second; }))
    c.knobs.erase(forced);
}

bool fits(const trial_case& c, const target& t) {
  return std::ranges::all_of(c.tensors, [&](const tensor_spec& s) {
    return !s.is_input || (s.rows() <= t.max_rows && s.cols() <= t.max_cols);
  });
}

// Reduces the case to the offer, and adds the traits that it loses to `taken`; returns false if it is no case of the
// property then.
bool is_offered(const property& p, const offer& o, trial_case& c, std::vector<std::string>& taken) {
  return bring_within(o, c, taken) && (!p.holds || p.holds(c));
}

// Returns the fewest lacked traits with which the case would be one of the property; all that it loses if it is one
// nevertheless, so that only its check can say what it needs.
std::set<std::string> missing_of(const property& p, const offer& o, const trial_case& c) {
  std::vector<std::string> taken;
  const auto is_case_of = [&](const offer& some) {
    taken.clear();
    trial_case reduced = c;
    return is_offered(p, some, reduced, taken);
  };
  if (is_case_of(o)) return {taken.begin(), taken.end()};
  offer more = o;
  while (!is_case_of(more)) {
    const size_t lost = std::erase_if(
        more.lacks, [&](const trait_set& traits) { return std::ranges::find(taken, text_of(traits)) != taken.end(); });
    if (lost == 0) return {};
  }
  std::set<std::string> needed;
  for (const trait_set& traits : o.lacks) {
    if (std::ranges::find(more.lacks, traits) != more.lacks.end()) continue;
    more.lacks.push_back(traits);
    if (is_case_of(more)) continue;
    more.lacks.pop_back();
    needed.insert(text_of(traits));
  }
  return needed;
}

// Names two of the traits at most: "needs a, b and 3 others". `word` is "and" or "or".
std::string need_of(const std::set<std::string>& traits, std::string_view word) {
  constexpr std::ptrdiff_t k_most = 2;
  const std::ptrdiff_t others = std::ssize(traits) - k_most;
  const auto end = std::next(traits.begin(), std::min(k_most, std::ssize(traits)));
  const std::string named =
      fmt::format("{}", fmt::join(traits.begin(), end, others > 0 ? std::string(", ") : fmt::format(" {} ", word)));
  if (others <= 0) return shortened(fmt::format("{}{}", k_needs, named));
  return shortened(
      fmt::format("{}{} {} {}", k_needs, named, word, others == 1 ? "another" : fmt::format("{} others", others)));
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

std::string missing_statement(const property& p, const target& t) {
  if (p.needs_our_plan && !t.offered.has_our_plan)
    return fmt::format("{}the order of sums and the workspaces of our own kernels", k_needs);
  if (p.needs_batch_invariance && !t.offered.is_batch_invariant)
    return fmt::format("{}the statement 'batch-invariant'", k_needs);
  return "";
}

std::string missing_trait(const property& p, const target& t, uint64_t seed) {
  constexpr int64_t k_draws = 8;
  std::set<std::string> always, ever;
  target everything = t;
  everything.offered = {};
  for (int64_t i = 0; i < k_draws; ++i) {
    std::set<std::string> here;
    try {
      here = missing_of(p, t.offered, generate_case(p, everything, seed, i));
    } catch (const no_case_fits&) {
      return "";
    }
    if (i == 0) always = here;
    ever.insert(here.begin(), here.end());
    std::erase_if(always, [&](const std::string& text) { return here.count(text) == 0; });
  }
  if (!always.empty()) return need_of(always, "and");
  return ever.empty() ? "" : need_of(ever, "or");
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
