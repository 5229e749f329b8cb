#include "properties/engine/trials/size_inquiry.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

#include "properties/engine/cases/case_inputs.hpp"
#include "properties/engine/error.hpp"
#include "properties/engine/trials/size_rules.hpp"
#include "properties/engine/trials/trial_plan.hpp"

namespace warpcheck::engine {
namespace {

constexpr int64_t k_most_elements_of_long = int64_t{1} << 20;  // of one that has one large extent
constexpr double k_most_addresses = 0x1p36;                    // bytes, of a case with rows that lie far apart
constexpr size_t k_most_vain_answers = 300;

}  // namespace

bool has_results(const trial_case& c) {
  return std::ranges::any_of(c.tensors,
                             [](const tensor_spec& t) { return !t.is_input && !t.is_workspace() && t.elements() > 0; });
}

bool has_work(const trial_case& c) { return c.tensors.front().elements() > 0 && has_results(c); }

bool has_inputs(const trial_case& c) {
  try {
    if (completes_inputs(c)) inputs_of(c);
    return true;
  } catch (const usage_error&) {
    return false;
  }
}

bool can_be_asked(const trial_case& c) {
  double bytes = 0;
  for (const tensor_spec& s : c.tensors)
    bytes += static_cast<double>(s.rows()) * static_cast<double>(s.ld) * static_cast<double>(size_of(s.type));
  return c.elements() <= k_most_elements_of_long && bytes <= k_most_addresses && has_inputs(c);
}

bool is_usual(const trial_case& c, const trait& t) {
  const scalar_rule* const s = t.kind == trait::equal ? find_scalar(c, t.name) : nullptr;
  return s && passed_value(*s, t.value) == s->usual;
}

trait different_extents(const axis& extents) {
  return {trait::different, fmt::format("{}", fmt::join(extents, k_differs)), "", 0};
}

size_inquiry::size_inquiry(const target& t, offer known, const std::function<void()>& calls)
    : known_(std::move(known)), candidate_(open_candidate(t.candidate, t.op, t.device)), calls_(calls) {}

bool size_inquiry::is_answered(const trait_set& traits) const {
  return std::ranges::any_of(answered_, [&](const trial_case& c) {
    return std::ranges::all_of(
        traits, [&](const trait& t) { return has(c, t) && (t.kind != trait::distant || c.at(t.name).rows() > 1); });
  });
}

warpcheck_status size_inquiry::status_of(const trial_case& c, const tensor_map& inputs, tensor_map* results) const {
  const auto values = [&](const tensor_spec& spec) -> const host_tensor& { return inputs.at(spec.name); };
  const launch_spec once = refused_launch_spec(candidate_);
  calls_();
  const launch_group launched(c, std::span(&once, 1), 0, values);
  if (results) *results = launched.memory(0).outputs;
  return launched.call(0).status;
}

bool size_inquiry::is_refused(const trial_case& c) const { return status_of(c, inputs_of(c)) == WARPCHECK_UNSUPPORTED; }

void size_inquiry::keep_plainest(const trial_case& c) {
  if (!has_work(c)) return;
  answered_.push_back(c);
  answered_forms_.insert(form_name(c));
  if (plainest_.op.empty() || traits_of(c).size() < traits_of(plainest_).size()) plainest_ = c;
}

std::string size_inquiry::form_name(const trial_case& c) { return find_description(c.op)->form_of(c)->name; }

void size_inquiry::find_tiles(const trial_case& refused) {
  if (++tries_of_tiles_ > 3) return;
  const description& d = *find_description(refused.op);
  trial_case plain = refused;
  for (const trait& t : traits_of(refused)) {
    if (!has(plain, t) || is_usual(plain, t)) continue;
    if (std::vector<trial_case> others = without(plain, t); !others.empty()) plain = std::move(others.front());
  }
  for (int64_t size = 8; size <= k_most_multiple; size *= 2) {
    trial_case c = plain;
    for (const auto& [name, of] : sizes_of(d, plain))
      if (!d.find(name)->derived) c = resized(c, {name}, size);
    if (!can_be_asked(c) || !what_is_wrong(d, c, false).empty() || known_.missing(c) || is_refused(c)) continue;
    return keep_plainest(c);
  }
}

bool size_inquiry::is_confirmed(const trait& t) const {
  int64_t size = 0;
  switch (t.kind) {
    case trait::more: size = t.size + 1; break;
    case trait::fewer: size = t.size - 1; break;
    case trait::not_multiple: size = t.size + 1; break;
    default: return true;
  }
  if (plainest_.op.empty()) return true;
  const trial_case other = resized(plainest_, {t.name}, size);
  return !what_is_wrong(*find_description(other.op), other, false).empty() || !has_results(other) ||
         !has_inputs(other) || is_refused(other);
}

trait_set size_inquiry::refused_relation(const trial_case& base, const trial_case& refused) {
  if (answered_.empty() && answers_.size() > k_most_vain_answers) return {};
  const description& d = *find_description(base.op);
  axis extents;
  for (const auto& [name, size] : sizes_of(d, base))
    if (!d.find(name)->derived) extents.push_back(name);
  trait_set found;
  const auto keep = [&](trait t) {
    if (found.empty() && has(refused, t)) found.push_back(std::move(t));
  };
  for (size_t i = 0; i < extents.size(); ++i)
    for (size_t j = i + 1; j < extents.size(); ++j) {
      const axis pair = {extents[i], extents[j]};
      if (must_be_equal(base, pair)) keep(different_extents(pair));
      if (const int64_t n = multiple_of_product(base, pair); n > 1)
        keep({trait::not_multiple, fmt::format("{}*{}", pair[0], pair[1]), "", n});
    }
  if (extents.size() > 2 && must_be_equal(base, extents)) keep(different_extents(extents));
  return found;
}

// True if the answers show it for small multiples of some power of two.
bool size_inquiry::must_be_equal(const trial_case& base, const axis& extents) {
  for (int64_t unit = 1; unit <= k_most_multiple; unit *= 2) {
    const auto answer = [&](int64_t usual, const std::string& other, int64_t size) {
      sizes of;
      for (const std::string& name : extents) of[name] = name == other ? size : usual;
      return answer_of_sizes(base, of);
    };
    const auto is_equal_answered = [&](int64_t n) { return answer(n * unit, "", 0) == true; };
    if (!is_equal_answered(1) || !is_equal_answered(2) || !is_equal_answered(3)) continue;
    return std::ranges::all_of(extents, [&](const std::string& name) {
      return answer(unit, name, 2 * unit) == false && answer(2 * unit, name, unit) == false;
    });
  }
  return false;
}

// Returns the power of two of which the product of two extents must be a multiple, as the answers show; or 1.
int64_t size_inquiry::multiple_of_product(const trial_case& base, const axis& pair) {
  const auto answer = [&](int64_t first, int64_t second) {
    return answer_of_sizes(base, {{pair[0], first}, {pair[1], second}});
  };
  for (int64_t n = 1; n <= k_most_multiple; n *= 2) {
    if (answer(1, n) != true) continue;
    return n > 1 && answer(n, 1) == true && answer(2, n / 2) == true && answer(3, n) == true &&
                   answer(1, n + 1) == false && answer(n - 1, 1) == false && answer(3, n / 2) == false
               ? n
               : 1;
  }
  return 1;
}

trait_set size_inquiry::refused_extent(const trial_case& c) {
  const sizes all = sizes_of(*find_description(c.op), c);
  bool is_known = false;
  // An extent is the reason if its size alone makes the candidate refuse the plainest answered case.
  if (!plainest_.op.empty())
    for (const auto& [name, size] : all) {
      if (answer_of_size(plainest_, name, size).value_or(true)) continue;
      is_known = true;
      if (trait_set found = rule_of_extent(plainest_, name, size); !found.empty()) return found;
    }
  // If a candidate answers nothing, the questions about sizes end.
  if (is_known || (answered_.empty() && answers_.size() > k_most_vain_answers)) return {};
  for (const auto& [name, size] : all)
    if (trait_set found = rule_of_extent(c, name, size); !found.empty()) return found;
  return {};
}

trait_set size_inquiry::rule_of_extent(const trial_case& c, const std::string& extent, int64_t size) {
  const int64_t unit = known_multiple(extent);
  if (find_description(c.op)->find(extent)->derived || size % unit != 0) return {};
  const size_rule rule = rule_of([&](int64_t of) { return answer_of_size(c, extent, of * unit); }, size / unit);
  return rule.kind ? trait_set{{*rule.kind, extent, "", rule.size * unit}} : trait_set();
}

// Returns the number of which the extent is known to be a multiple, or 1.
int64_t size_inquiry::known_multiple(const std::string& extent) const {
  int64_t multiple = 1;
  for (const trait_set& traits : known_.lacks)
    if (traits.size() == 1 && traits.front().kind == trait::not_multiple && traits.front().name == extent)
      multiple = std::lcm(multiple, traits.front().size);
  return multiple;
}

// True if the case is answered at another size of the extent and of those that must be equal to it.
std::optional<bool> size_inquiry::answer_of_size(const trial_case& c, const std::string& extent, int64_t size) {
  sizes of = {{extent, size}};
  for (const trait_set& traits : known_.lacks)
    if (traits.size() == 1 && traits.front().kind == trait::different)
      for (const auto all = trimmed_parts(traits.front().name, k_differs); const std::string_view other : all)
        if (std::ranges::find(all, extent) != all.end()) of.emplace(other, size);
  return answer_of_sizes(c, of);
}

// True if the case is answered with these sizes; nothing if that is no call, or known not to be offered.
std::optional<bool> size_inquiry::answer_of_sizes(trial_case c, const sizes& of) {
  for (const auto& [name, size] : of) {
    if (size < 0) return std::nullopt;
    c = resized(c, {name}, size);
  }
  // A tensor to which the size gave elements may be one that is not offered.
  if (std::vector<std::string> taken; !bring_within(known_, c, taken)) return std::nullopt;
  const description& d = *find_description(c.op);
  const sizes all = sizes_of(d, c);
  const bool has_sizes = std::ranges::all_of(of, [&](const auto& wanted) {
    const auto found = all.find(wanted.first);
    return found != all.end() && found->second == wanted.second;
  });
  if (!can_be_asked(c) || !has_sizes || !what_is_wrong(d, c, false).empty()) return std::nullopt;
  const auto [found, is_new] = answers_.try_emplace(format(c));
  if (is_new) found->second = !is_refused(c);
  return found->second;
}

}  // namespace warpcheck::engine
