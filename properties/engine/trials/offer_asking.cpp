#include "properties/engine/trials/offer_asking.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <numeric>
#include <utility>

#include "properties/engine/cases/case_inputs.hpp"
#include "properties/engine/cases/description.hpp"
#include "properties/engine/cases/generate.hpp"
#include "properties/engine/error.hpp"
#include "properties/engine/processes/contain.hpp"
#include "properties/engine/shrinking/shrink_steps.hpp"
#include "properties/engine/trials/library.hpp"
#include "properties/engine/trials/size_rules.hpp"
#include "properties/engine/trials/trial_launch.hpp"
#include "properties/engine/trials/trial_plan.hpp"

namespace warpcheck::engine {
namespace {

constexpr int64_t k_least_cases_of_property = 4;
constexpr int64_t k_least_questions = 64;  // each property asks the same share of them
constexpr uint64_t k_seed = 1;
constexpr int64_t k_most_elements_of_long = int64_t{1} << 20;  // of one that has one large extent
constexpr double k_most_addresses = 0x1p36;                    // bytes, of a case with rows that lie far apart
constexpr int64_t k_large_extents[] = {0, 1, 3, 1025, 5000, 70000};
constexpr size_t k_most_vain_answers = 300;

// True if the call has an output with elements. A candidate may answer any other call, which is therefore not made.
bool has_results(const trial_case& c) {
  return std::any_of(c.tensors.begin(), c.tensors.end(),
                     [](const tensor_spec& t) { return !t.is_input && !t.is_workspace() && t.elements() > 0; });
}

// True if the first tensor has elements, too: otherwise a candidate may have nothing to do.
bool has_work(const trial_case& c) { return c.tensors.front().elements() > 0 && has_results(c); }

bool is_usual(const trial_case& c, const trait& t) {
  const scalar_rule* const s = t.kind == trait::equal ? find_scalar(c, t.name) : nullptr;
  return s && passed_value(*s, t.value) == s->usual;
}

trait different_extents(const axis& extents) {
  return {trait::different, fmt::format("{}", fmt::join(extents, k_differs)), "", 0};
}

// False if the sizes, or other values, of the case do not fit its tables.
bool has_inputs(const trial_case& c) {
  try {
    if (completes_inputs(c)) inputs_of(c);
    return true;
  } catch (const usage_error&) {
    return false;
  }
}

// False for a case that takes too long or too many addresses for a question.
bool can_be_asked(const trial_case& c) {
  double bytes = 0;
  for (const tensor_spec& s : c.tensors)
    bytes += static_cast<double>(s.rows()) * static_cast<double>(s.ld) * static_cast<double>(size_of(s.type));
  return c.elements() <= k_most_elements_of_long && bytes <= k_most_addresses && has_inputs(c);
}

class inquiry {
 public:
  inquiry(const target& t, offer known, const std::function<void()>& calls)
      : candidate_(open_candidate(t.candidate, t.op, t.device)), known_(std::move(known)), calls_(calls) {}

  // Finds everything that keeps the case from being answered.
  void ask(trial_case c) {
    constexpr int k_most_reasons = 16;
    for (const trait& t : traits_of(c)) has_asked_far_ |= t.kind == trait::distant;
    for (int i = 0; i < k_most_reasons; ++i) {
      std::vector<std::string> taken;
      if (!bring_within(known_, c, taken)) return;
      if (!is_refused(c)) return keep_plainest(c);
      was_refused_ |= has_work(c);
      trait_set traits = least_refused(c);
      if (trial_case small = smallest(c); traits.empty() && !(small == c) && is_refused(small))
        traits = least_refused(small);
      if (traits.empty()) traits = refused_relation(plainest_.op.empty() ? c : plainest_, c);
      if (traits.empty() && plainest_.op.empty()) {
        find_tiles(c);
        traits = least_refused(c);
      }
      if (traits.empty()) traits = refused_extent(c);
      if (traits.size() == 1 && !is_confirmed(traits.front())) traits.clear();
      if (!traits.empty() && is_answered(traits)) add_form(c, traits);
      if (traits.empty() || is_answered(traits)) {
        refused_forms_.insert(form_name(c));
        return;
      }
      known_.lacks.push_back(std::move(traits));
    }
  }

  // A refused call may have had several reasons. Each lack that is not stated is tried alone, by a call that has this
  // trait and no other one.
  void ask_alone(const trial_case& c, const offer& stated) {
    constexpr int k_most_tries = 4;
    bool is_mistaken = false;
    for (size_t i = 0; i < known_.lacks.size(); ++i) {
      const trait_set traits = known_.lacks[i];
      const auto has_all = [&](const trial_case& one) {
        return std::all_of(traits.begin(), traits.end(), [&](const trait& t) { return has(one, t); });
      };
      const bool is_stated = std::find(stated.lacks.begin(), stated.lacks.end(), traits) != stated.lacks.end();
      if (is_stated || !has_all(c) || tries_alone_[text_of(traits)] >= k_most_tries) continue;
      offer others = known_;
      others.lacks.erase(others.lacks.begin() + static_cast<std::ptrdiff_t>(i));
      trial_case alone = c;
      if (std::vector<std::string> taken; !bring_within(others, alone, taken) || !has_all(alone)) continue;
      ++tries_alone_[text_of(traits)];
      if (is_refused(alone)) continue;
      keep_plainest(alone);
      is_mistaken = true;
    }
    if (is_mistaken) forget_mistakes();
  }

  // Asks about values of scalars that no drawn case had, by changes of answered calls; next() begins a question.
  void ask_values(const std::function<void()>& next) {
    constexpr int k_most_tries = 3;
    const std::vector<trial_case> bases = answered_;
    std::map<std::string, int> tries;
    for (const trial_case& base : bases)
      for (const auto& [value, c] : of_other_values(base)) {
        if (is_answered({value}) || known_.missing(c) || !can_be_asked(c)) continue;
        if (++tries[text_of(trait_set{value})] > k_most_tries) continue;
        next();
        ask(c);
      }
  }

  // Asks about sizes that drawn cases do not have, one extent after another; next() begins a question. It makes no call
  // that would take longer than k_most_seconds, if time grows in proportion to the extent.
  void ask_sizes(const std::function<void()>& next) {
    constexpr double k_most_seconds = 2;
    if (plainest_.op.empty()) return;
    const description& d = *find_description(plainest_.op);
    constexpr int64_t k_small = 3;
    trial_case plain = plainest_;
    for (const auto& [name, size] : sizes_of(d, plain))
      if (trial_case c = resized(plain, {name}, k_small);
          !d.find(name)->derived && size > k_small && what_is_wrong(d, c, false).empty() && !is_refused(c))
        plain = std::move(c);
    if (has_asked_far_) ask_distances(plain, next);
    const double least_seconds = seconds_of_call(plain);
    for (const extent_info& e : d.extents) {
      if (e.derived) continue;
      double seconds_of_one = 0;
      for (const int64_t size : k_large_extents) {
        const trial_case c = resized(plain, {e.name}, size);
        if (!can_be_asked(c) || !what_is_wrong(d, c, false).empty()) continue;
        if (seconds_of_one * static_cast<double>(size) > k_most_seconds) break;
        next();
        ask(c);
        if (size > k_small) seconds_of_one = (seconds_of_call(c) - least_seconds) / static_cast<double>(size);
      }
    }
  }

  // For forms whose calls were all refused: the tensors that distinguish them from other forms.
  void note_forms(const description& d) {
    for (const call_form& form : d.forms) {
      if (answered_forms_.count(form.name) > 0 || refused_forms_.count(form.name) == 0) continue;
      for (const tensor_rule& t : form.tensors) {
        const bool is_elsewhere = std::any_of(d.forms.begin(), d.forms.end(), [&](const call_form& other) {
          return answered_forms_.count(other.name) > 0 && other.find(t.name);
        });
        if (t.is_optional || is_elsewhere) continue;
        known_.lacks.push_back({{trait::present, t.name, "", 0}});
        break;
      }
    }
  }

  // True if a call with all of these traits was answered: the reason of a refusal must then be the call's contents.
  // A large distance of a single row shows nothing of several rows.
  bool is_answered(const trait_set& traits) const {
    return std::any_of(answered_.begin(), answered_.end(), [&](const trial_case& c) {
      return std::all_of(traits.begin(), traits.end(), [&](const trait& t) {
        return has(c, t) && (t.kind != trait::distant || c.at(t.name).rows() > 1);
      });
    });
  }
  void forget_mistakes() {
    std::erase_if(known_.lacks, [&](const trait_set& traits) { return is_answered(traits); });
  }

  const offer& known() const { return known_; }
  std::set<std::string> answered_traits() const {
    std::set<std::string> names;
    for (const trial_case& c : answered_)
      for (const trait& t : traits_of(c)) {
        if (t.kind == trait::present || t.kind == trait::unequal) names.insert(t.name);
        if (t.kind != trait::equal || is_usual(c, t)) continue;
        names.insert(find_scalar(c, t.name)->names.empty() ? t.name : text_of(trait_set{t}));
      }
    return names;
  }
  bool refuses_everything() const { return answered_.empty() && was_refused_; }

 private:
  // A candidate may answer only sizes that all are multiples of its tiles, so that no change of one size of a refused
  // call makes it an answered one. Tries the plain call at powers of two.
  void find_tiles(const trial_case& refused) {
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

  // If one tensor may have rows that lie far apart, the few drawn cases need not show whether each other one may.
  void ask_distances(const trial_case& plain, const std::function<void()>& next) {
    for (const tensor_spec& t : plain.tensors) {
      if (t.rows() < 2 || t.cols() == 0 || !t.in_place.empty()) continue;
      trial_case c = plain;
      set_layout(c, t.name, (int64_t{1} << 31) + 64, 0);
      if (!can_be_asked(c) || !what_is_wrong(*find_description(c.op), c, false).empty()) continue;
      next();
      ask(c);
    }
  }

  static std::string form_name(const trial_case& c) { return find_description(c.op)->form_of(c)->name; }

  bool is_refused(const trial_case& c) const {
    const tensor_map inputs = inputs_of(c);
    const auto values = [&](const tensor_spec& spec) -> const host_tensor& { return inputs.at(spec.name); };
    const launch_spec once = refused_launch_spec(candidate_);
    calls_();
    const launch_group launched(c, std::span(&once, 1), 0, values);
    return launched.call(0).status == WARPCHECK_UNSUPPORTED;
  }

  double seconds_of_call(const trial_case& c) const {
    const auto begin = std::chrono::steady_clock::now();
    is_refused(c);
    return seconds_since(begin);
  }

  void keep_plainest(const trial_case& c) {
    if (!has_work(c)) return;
    answered_.push_back(c);
    answered_forms_.insert(form_name(c));
    if (plainest_.op.empty() || traits_of(c).size() < traits_of(plainest_).size()) plainest_ = c;
  }

  // Another form of call may be answered with these traits; adds the value that distinguishes this form.
  static void add_form(const trial_case& c, trait_set& traits) {
    const scalar_value& when = find_description(c.op)->form_of(c)->when;
    if (!when.scalar.empty()) traits.push_back({trait::equal, when.scalar, format_number(when.value), 0});
  }

  // Neighbours without the trait that are not known to be refused.
  std::vector<trial_case> offered_without(const trial_case& c, const trait& t) const {
    std::vector<trial_case> others = without(c, t);
    std::erase_if(others, [&](const trial_case& other) {
      return known_.missing(other) != nullptr || !has_inputs(other) || (has_work(c) && !has_work(other)) ||
             (has_results(c) && !has_results(other));
    });
    return others;
  }

  // Extents of 1, as far as these are legal, because several reasons may keep a case from being answered.
  static trial_case smallest(const trial_case& c) {
    const description& d = *find_description(c.op);
    trial_case small = c;
    for (const auto& [name, size] : sizes_of(d, c))
      if (trial_case one = resized(small, {name}, 1);
          !d.find(name)->derived && size > 1 && what_is_wrong(d, one, false).empty() && has_inputs(one))
        small = std::move(one);
    return small;
  }

  // Makes a refused case plainer; returns the traits of which any one keeps it from being answered.
  trait_set least_refused(trial_case& c) const {
    trait_set needed;
    for (const trait& t : traits_of(c)) {
      if (!has(c, t) || is_usual(c, t)) continue;  // or it was removed together with another one
      const std::vector<trial_case> others = offered_without(c, t);
      if (others.empty()) continue;
      if (is_refused(others.front()))
        c = others.front();
      else
        needed.push_back(t);
    }
    std::erase_if(needed, [&](const trait& t) { return !has(c, t); });
    // A gap is no reason by itself if a smaller one is answered.
    const trait_set all = needed;
    std::erase_if(needed, [&](const trait& gap) {
      return gap.kind == trait::apart && std::any_of(all.begin(), all.end(), [&](const trait& t) {
               return t.kind == trait::distant && t.name == gap.name;
             });
    });
    add_alignments(c, needed);
    if (!needed.empty()) return needed;
    // This is the plainest case, so one of its usual values is not offered.
    for (const trait& t : traits_of(c))
      for (const trial_case& other : offered_without(c, t))
        if (!is_refused(other)) return {t};
    trait_set absence = refused_absence(c);
    return absence.empty() ? refused_number(c) : absence;
  }

  // Returns the number of the refused case that has one value in all answered calls, if the case is answered with it.
  trait_set refused_number(const trial_case& c) const {
    if (answered_.empty()) return {};
    for (const scalar_rule& s : find_description(c.op)->form_of(c)->scalars) {
      const trait other{trait::unequal, s.name, plainest_.knob(s.name), 0};
      if (s.names.empty() && has(c, other) && !is_answered({other}))
        for (const trial_case& near : offered_without(c, other))
          if (!is_refused(near)) return {other};
    }
    return {};
  }

  // Returns the optional tensor that the refused case lacks, and without which no case was answered.
  trait_set refused_absence(const trial_case& c) const {
    const description& d = *find_description(c.op);
    trait_set absent;
    for (const tensor_rule& info : d.form_of(c)->tensors)
      if (const trait t{trait::absent, info.name, "", 0}; has(c, t) && !is_answered({t})) absent.push_back(t);
    const auto with_all_but = [&](const trait* left) {
      trial_case other = c;
      for (const trait& t : absent)
        if (&t != left)
          if (std::vector<trial_case> others = without(other, t); !others.empty()) other = std::move(others.front());
      return other;
    };
    if (absent.empty() || answered_.empty() || is_refused(with_all_but(nullptr))) return {};
    for (const trait& t : absent)
      if (is_refused(with_all_but(&t))) return {t};
    return {};
  }

  // Adds the alignments of which any one keeps the case from being answered. They come first, because a case with an
  // alignment is closer to the drawn one than a case without gaps between rows.
  void add_alignments(trial_case& c, trait_set& needed) const {
    trial_case even = c;
    trait_set found;
    for (const trait& t : alignments_of(c)) {
      if (!has(even, t)) continue;
      const std::vector<trial_case> others = offered_without(even, t);
      if (others.empty()) continue;
      if (is_refused(others.front())) {
        even = others.front();
        continue;
      }
      // Found now, because an even distance between rows makes a gap, which may be another reason.
      found.push_back(t);
      found.back().size = least_alignment(even, t, [&](const trial_case& other) { return !is_refused(other); });
    }
    std::erase_if(found, [&](const trait& t) { return !has(even, t); });
    if (found.empty()) return;
    c = std::move(even);
    // A gap is then no reason by itself, unless rows without gaps may have an uneven distance.
    const auto is_gap = [&](const trait& gap) {
      return gap.kind == trait::apart && std::any_of(found.begin(), found.end(), [&](const trait& t) {
               return t.kind == trait::uneven && t.name == gap.name;
             });
    };
    if (!is_answered(found)) std::erase_if(needed, is_gap);
    needed.insert(needed.begin(), found.begin(), found.end());
  }

  // True if the plainest case is refused, too, once it has an extent like this; otherwise the call's contents may be
  // the reason.
  bool is_confirmed(const trait& t) const {
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

  // Returns the relation of extents that the candidate requires and the refused case lacks, as far as the answers to
  // sizes of `base` show one.
  trait_set refused_relation(const trial_case& base, const trial_case& refused) {
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
  bool must_be_equal(const trial_case& base, const axis& extents) {
    for (int64_t unit = 1; unit <= k_most_multiple; unit *= 2) {
      const auto answer = [&](int64_t usual, const std::string& other, int64_t size) {
        sizes of;
        for (const std::string& name : extents) of[name] = name == other ? size : usual;
        return answer_of_sizes(base, of);
      };
      const auto is_equal_answered = [&](int64_t n) { return answer(n * unit, "", 0) == true; };
      if (!is_equal_answered(1) || !is_equal_answered(2) || !is_equal_answered(3)) continue;
      return std::all_of(extents.begin(), extents.end(), [&](const std::string& name) {
        return answer(unit, name, 2 * unit) == false && answer(2 * unit, name, unit) == false;
      });
    }
    return false;
  }

  // Returns the power of two of which the product of two extents must be a multiple, as the answers show; or 1.
  int64_t multiple_of_product(const trial_case& base, const axis& pair) {
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

  // Returns the extent of a refused case that is no multiple, too small or too large. Nothing if the sizes beside it
  // show no such rule: the refusal then stands alone, and nothing follows for other calls.
  trait_set refused_extent(const trial_case& c) {
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

  trait_set rule_of_extent(const trial_case& c, const std::string& extent, int64_t size) {
    const int64_t unit = known_multiple(extent);
    if (find_description(c.op)->find(extent)->derived || size % unit != 0) return {};
    const size_rule rule = rule_of([&](int64_t of) { return answer_of_size(c, extent, of * unit); }, size / unit);
    return rule.kind ? trait_set{{*rule.kind, extent, "", rule.size * unit}} : trait_set();
  }

  // Returns the number of which the extent is known to be a multiple, or 1.
  int64_t known_multiple(const std::string& extent) const {
    int64_t multiple = 1;
    for (const trait_set& traits : known_.lacks)
      if (traits.size() == 1 && traits.front().kind == trait::not_multiple && traits.front().name == extent)
        multiple = std::lcm(multiple, traits.front().size);
    return multiple;
  }

  // True if the case is answered at another size of the extent and of those that must be equal to it.
  std::optional<bool> answer_of_size(const trial_case& c, const std::string& extent, int64_t size) {
    sizes of = {{extent, size}};
    for (const trait_set& traits : known_.lacks)
      if (traits.size() == 1 && traits.front().kind == trait::different)
        for (const auto all = trimmed_parts(traits.front().name, k_differs); const std::string_view other : all)
          if (std::find(all.begin(), all.end(), extent) != all.end()) of.emplace(other, size);
    return answer_of_sizes(c, of);
  }

  // True if the case is answered with these sizes; nothing if that is no call, or known not to be offered.
  std::optional<bool> answer_of_sizes(trial_case c, const sizes& of) {
    for (const auto& [name, size] : of) {
      if (size < 0) return std::nullopt;
      c = resized(c, {name}, size);
    }
    // A tensor to which the size gave elements may be one that is not offered.
    if (std::vector<std::string> taken; !bring_within(known_, c, taken)) return std::nullopt;
    const description& d = *find_description(c.op);
    const sizes all = sizes_of(d, c);
    const bool has_sizes = std::all_of(of.begin(), of.end(), [&](const auto& wanted) {
      const auto found = all.find(wanted.first);
      return found != all.end() && found->second == wanted.second;
    });
    if (!can_be_asked(c) || !has_sizes || !what_is_wrong(d, c, false).empty()) return std::nullopt;
    const auto [found, is_new] = answers_.try_emplace(format(c));
    if (is_new) found->second = !is_refused(c);
    return found->second;
  }

  candidate candidate_;
  offer known_;
  const std::function<void()>& calls_;
  trial_case plainest_;               // of the cases that were answered
  std::vector<trial_case> answered_;  // that had something to do
  bool was_refused_ = false;          // a call with something to do
  bool has_asked_far_ = false;        // about rows that lie far apart
  int tries_of_tiles_ = 0;
  std::set<std::string> answered_forms_, refused_forms_;
  std::map<std::string, int> tries_alone_;  // by the text of the lack
  std::map<std::string, bool> answers_;     // to questions about sizes, by the case's line
};

// Halves the largest extents until the case is cheap to ask.
void make_cheap(trial_case& c, int64_t most_elements) {
  const description& d = *find_description(c.op);
  while (elements_without_workspaces(c) > most_elements) {
    std::optional<std::pair<int64_t, std::string>> largest;
    for (const auto& [name, size] : sizes_of(d, c))
      if (!d.find(name)->derived && size > 1) largest = std::max(largest, std::optional(std::pair(size, name)));
    if (!largest) return;
    c = resized(c, {largest->second}, largest->first / 2);
  }
}

// A case for the question, or none.
bool draw_question(const property& p, const target& t, int64_t index, int64_t most_elements, trial_case& c) {
  try {
    c = generate_case(p, t, k_seed, index);
  } catch (const no_case_fits&) {
    return false;
  }
  make_cheap(c, most_elements);
  return elements_without_workspaces(c) <= k_most_elements_of_question &&
         what_is_wrong(*find_description(c.op), c, false).empty();
}

}  // namespace

int64_t elements_without_workspaces(const trial_case& c) {
  int64_t elements = 0;
  for (const tensor_spec& t : c.tensors)
    if (!t.is_workspace()) elements += t.elements();
  return elements;
}

std::optional<asked_offer> ask_offer(const target& of, std::span<const property* const> properties, int64_t first,
                                     int64_t most_elements, offer known,
                                     const std::function<void(int64_t question, const offer&)>& answered,
                                     const std::function<void()>& calls) {
  target t = of;
  t.size = 0;
  t.offered = {};
  inquiry asking(t, std::move(known), calls);
  int64_t question = 0;
  const int64_t cases_of_property =
      std::max(k_least_cases_of_property, k_least_questions / std::max<int64_t>(1, std::ssize(properties)));
  const auto for_each_question = [&](const std::function<void(const property&, int64_t index)>& ask) {
    for (const property* const p : properties)
      for (int64_t i = 0; i < cases_of_property; ++i, ++question) {
        if (question < first) continue;
        answered(question, asking.known());
        ask(*p, i);
      }
  };
  for_each_question([&](const property& p, int64_t i) {
    if (trial_case c; draw_question(p, t, i, most_elements, c)) asking.ask(std::move(c));
  });
  for_each_question([&](const property& p, int64_t i) {
    if (asking.known().lacks == of.offered.lacks) return;  // all are stated
    if (trial_case c; draw_question(p, t, i, most_elements, c)) asking.ask_alone(c, of.offered);
  });
  if (first <= question) asking.ask_values([&] { answered(question, asking.known()); });
  if (first <= question) asking.ask_sizes([&] { answered(question, asking.known()); });
  asking.forget_mistakes();
  asking.note_forms(*find_description(t.op));
  if (asking.refuses_everything()) return std::nullopt;
  return asked_offer{asking.known(), asking.answered_traits()};
}

}  // namespace warpcheck::engine
