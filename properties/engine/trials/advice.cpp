#include "properties/engine/trials/advice.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "properties/engine/cases/description.hpp"
#include "properties/engine/shrinking/shrink_steps.hpp"
#include "properties/engine/trials/run_case.hpp"
#include "properties/engine/trials/verdict.hpp"
#include "reference/numerics/stated_sums.hpp"

namespace warpcheck::engine {
namespace {

// True if the case passes for a candidate that states this, or is not asked of it.
bool passes_for(const trial_case& c, const offer& stated) {
  try {
    return run_case_stating(c, stated).result <= verdict::skipped;
  } catch (const std::exception&) {
    return false;
  }
}

// The traits as a statement that lacks each of them has them.
std::string texts_of(const trait_set& traits) {
  std::vector<std::string> texts;
  for (const trait& t : traits) texts.push_back(text_of(trait_set{t}));
  return fmt::format("{}", fmt::join(texts, ", "));
}

}  // namespace

std::string advice_on_accuracy(const trial_case& c, const offer& stated, double error_ratio) {
  const statement_rules allowed = statements_of(c.op);
  const bool has_logistic = allowed.logistic && allowed.logistic(c);
  offer more = stated;
  // A chain of n terms errs by at most n times the bound of a chain of at least one addition, up to second order, so a
  // larger error needs no second trial.
  const bool may_be_a_chain =
      !stated.has_our_plan && !stated.sum_depth && error_ratio <= 2 * static_cast<double>(c.tensors.front().cols());
  more.sum_depth = reference::k_longest_stated_chain;
  if (may_be_a_chain && passes_for(c, more))
    return fmt::format(
        "; it passes where sums may be added in any order: a single f32 chain of {} additions is not accurate enough "
        "for this contract: state 'sums chain' to be judged as a chain (docs/bring_your_own)",
        std::max<int64_t>(0, c.tensors.front().cols() - 1));
  if (!may_be_a_chain) more.sum_depth = stated.sum_depth;
  more.takes_log_of_sum = allowed.log_of_sum;
  more.lets_exp_overflow = has_logistic;
  if (allowed.log_of_sum && !stated.has_our_plan && !stated.takes_log_of_sum && passes_for(c, more))
    return fmt::format(
        "; it passes for the logarithm of the whole sum, which loses the digits of results near the maximum: state "
        "'{}'{} to be judged so (docs/bring_your_own)",
        k_log_of_sum, more.sum_depth == stated.sum_depth ? "" : " and, for long rows, 'sums chain'");
  if (has_logistic && !stated.has_our_plan && !stated.lets_exp_overflow && passes_for(c, more))
    return fmt::format(
        "; it passes for 1 / (1 + exp(-z)), whose exponential overflows below z = -88.72, where the result is below "
        "2^-128: state '{}' to be judged so (docs/bring_your_own)",
        k_exp_overflows);
  more.is_unstable = true;
  if (allowed.ties && !stated.is_unstable && passes_for(c, more))
    return fmt::format(
        "; the keys are in order, but equal ones are not in that of their columns, which the contract demands: state "
        "'{}' if the sort need not be stable (docs/bring_your_own)",
        k_unstable);
  return "";
}

namespace {

// Returns the case without these traits, as far as it can lose them within the offer.
trial_case without_all(trial_case c, const std::vector<trait>& all) {
  const offer* const o = known_offer(c);
  for (const trait& t : all) {
    if (!has(c, t)) continue;
    std::vector<trial_case> others = without(c, t);
    if (o) std::erase_if(others, [&](const trial_case& other) { return o->missing(other) != nullptr; });
    if (!others.empty()) c = std::move(others.front());
  }
  return c;
}

// Returns the case, whose tensors are aligned, with the tensor one element off or its rows one element further apart.
trial_case misplaced(trial_case c, const trait& t) {
  const tensor_spec& tensor = c.at(t.name);
  const std::string owner = !tensor.in_place.empty() ? tensor.in_place : tensor.same.empty() ? t.name : tensor.same;
  const int64_t ld = c.at(owner).ld, offset = c.at(owner).offset;
  if (t.kind == trait::misaligned)
    set_layout(c, owner, ld, offset + 1);
  else
    set_layout(c, owner, ld + 1, offset);
  return c;
}

bool is_allowed(const trial_case& c) {
  const offer* const o = known_offer(c);
  return is_legal(c) && !(o && o->missing(c));
}

}  // namespace

std::string advice_on_alignment(const trial_case& c, const offer& stated) {
  const std::vector<trait> all = alignments_of(c);
  // Only the detector sees every misaligned access, because the compiler may have split it.
  const auto passes = [&](trial_case other) {
    const bool is_unwatched = is_emulated(other) && other.knob("detect") == "off";
    if (!passes_for(other, stated)) return false;
    if (is_unwatched) other.knobs["detect"] = "only";
    return !is_unwatched || passes_for(other, stated);
  };
  if (all.empty() || stated.has_our_plan) return "";
  const trial_case aligned = without_all(c, all);
  if (!passes(aligned)) return "";
  // Every tensor is asked for, so that one statement is enough for a kernel that needs several of them aligned.
  trait_set needed;
  for (const trait::kind_type kind : {trait::misaligned, trait::uneven})
    for (const tensor_spec& tensor : c.tensors) {
      trait t{kind, tensor.name, "", all.front().size};
      const trial_case one = misplaced(aligned, t);
      if (has(aligned, t) || !has(one, t) || !is_allowed(one) || passes(one)) continue;
      const int64_t full = t.size;
      t.size = least_alignment(one, t, passes);
      // No vector is so long. The case passes because its distances are equal, as a kernel with a wrong one needs it.
      if (t.size == full) return "";
      needed.push_back(std::move(t));
    }
  if (std::ranges::none_of(needed, [&](const trait& t) { return has(c, t); })) return "";
  return fmt::format("; it passes with aligned tensors: state 'lacks {}' if callers align them (docs/bring_your_own)",
                     texts_of(needed));
}

namespace {

using extent_sizes = std::map<std::string, int64_t>;

// Searches for the extents of a failing case that must be multiples, or at least 1, for the case to pass.
class sizes_search {
 public:
  sizes_search(trial_case c, const offer& stated) : case_(std::move(c)), stated_(stated) {
    for (const extent_info& e : find_description(case_.op)->extents)
      if (const auto other = sized({{e.name, k_largest}}); other && is_allowed(*other)) names_.push_back(e.name);
  }

  // Returns the traits to lack, all of which a kernel needs; none if no sizes help.
  trait_set traits() const {
    trait_set found = of_empty();
    if (found.empty()) found = of_product();
    if (found.empty()) found = of_extents();
    return std::ranges::any_of(found, [&](const trait& t) { return has(case_, t); }) ? found : trait_set{};
  }

 private:
  static constexpr int64_t k_largest = 128;      // of tiles
  static constexpr double k_most_work = 0x1p22;  // the product of the extents

  // Returns nothing if the case cannot have these sizes.
  std::optional<trial_case> sized(const extent_sizes& sizes) const {
    trial_case c = case_;
    double work = 1;
    for (const auto& [name, size] : sizes) {
      c = resized(c, {name}, size);
      work *= static_cast<double>(size);
    }
    for (const auto& [name, size] : sizes)
      if (extent(c, {name}) != size) return std::nullopt;
    return work <= k_most_work ? std::optional(c) : std::nullopt;
  }
  bool passes(const extent_sizes& sizes, verdict most = verdict::pass) const {
    try {
      const std::optional<trial_case> c = sized(sizes);
      return c && is_allowed(*c) && run_case_stating(*c, stated_).result <= most;
    } catch (const std::exception&) {
      return false;
    }
  }

  extent_sizes all(int64_t size) const {
    extent_sizes sizes;
    for (const std::string& name : names_) sizes[name] = size;
    return sizes;
  }
  static extent_sizes with(extent_sizes sizes, const std::string& name, int64_t size) {
    sizes[name] = size;
    return sizes;
  }

  // A property of empty calls is not asked of others, so a skipped case counts as passed.
  trait_set of_empty() const {
    extent_sizes ones;
    for (const std::string& name : names_)
      if (extent(case_, {name}) == 0) ones[name] = 1;
    if (ones.empty() || !passes(ones, verdict::skipped)) return {};
    trait_set found;
    for (const auto& one : ones)
      if (!passes(with(ones, one.first, 0), verdict::skipped)) found.push_back({trait::fewer, one.first, "", 1});
    return found;
  }

  // A kernel that takes a matrix for a vector needs a product of extents that is a multiple.
  trait_set of_product() const {
    if (names_.size() < 2 || passes(all(3))) return {};
    for (int64_t n = 2; n <= k_largest; n *= 2)
      if (std::ranges::all_of(names_, [&](const std::string& name) { return passes(with(all(3), name, n)); }))
        return {{trait::not_multiple, fmt::format("{}", fmt::join(names_, "*")), "", n}};
    return {};
  }

  trait_set of_extents() const {
    int64_t common = 2;
    while (common <= k_largest && !passes(all(common))) common *= 2;
    if (names_.empty() || common > k_largest) return {};
    trait_set found;
    for (const std::string& name : names_) {
      if (passes(with(all(common), name, common + 1))) continue;
      int64_t own = 2;
      while (own <= common && !passes(with(all(common), name, 3 * own))) own *= 2;
      if (own > common) return {};
      found.push_back({trait::not_multiple, name, "", own});
    }
    return passes(unequal(found)) ? found : trait_set{};
  }

  // Different multiples, because the case may have passed for another reason, such as equal extents.
  extent_sizes unequal(const trait_set& units) const {
    extent_sizes sizes;
    int64_t factor = 1;
    for (const std::string& name : names_) {
      const auto own = std::ranges::find(units, name, &trait::name);
      sizes[name] = (own == units.end() ? 1 : own->size) * factor;
      factor += 2;
    }
    return sizes;
  }

  trial_case case_;
  const offer& stated_;
  std::vector<std::string> names_;  // of the extents that can change
};

// Returns the case with values around 0 in all inputs, or in the constant ones, with which a kernel may pass that
// leaves something out.
trial_case varied(trial_case c, bool all) {
  int64_t seed = 1;
  for (tensor_spec& t : c.tensors)
    if (t.is_input && is_float(t.type) && t.same.empty() && (all || t.fill.distribution == "constant"))
      t.fill = make_recipe("uniform", {static_cast<double>(seed++), -1, 1});
  return c;
}

}  // namespace

std::string advice_on_sizes(const trial_case& c, const offer& stated) {
  if (stated.has_our_plan) return "";
  const trial_case usual = varied(c, true), other = varied(c, false);
  const trial_case& tried = is_allowed(other) ? other : c;
  if (is_allowed(usual) && passes_for(usual, stated)) return "";  // the values make the case fail
  const trait_set found = sizes_search(tried, stated).traits();
  if (found.empty()) return "";
  return fmt::format("; it passes with other sizes: state 'lacks {}' if callers have only those (docs/bring_your_own)",
                     texts_of(found));
}

}  // namespace warpcheck::engine
