#include "properties/engine/trials/offer_asking.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "properties/engine/cases/case_inputs.hpp"
#include "properties/engine/cases/description.hpp"
#include "properties/engine/cases/generate.hpp"
#include "properties/engine/error.hpp"
#include "properties/engine/processes/contain.hpp"
#include "properties/engine/shrinking/shrink_steps.hpp"
#include "properties/engine/trials/call_observer.hpp"
#include "properties/engine/trials/run_case.hpp"
#include "properties/engine/trials/size_inquiry.hpp"

namespace warpcheck::engine {
namespace {

constexpr int64_t k_least_cases_of_property = 4;
constexpr int64_t k_least_questions = 64;  // each property asks the same share of them
constexpr uint64_t k_seed = 1;
constexpr double k_nan = std::numeric_limits<double>::quiet_NaN();
constexpr int64_t k_large_extents[] = {0, 1, 3, 1025, 5000, 70000};

std::vector<unread_inputs>& all_unread_inputs() {
  static std::vector<unread_inputs> all;
  return all;
}

std::vector<double> values_of(const tensor_map& results) {
  std::vector<double> values;
  for (const auto& [name, t] : results)
    for (int64_t row = 0; row < t.spec.rows(); ++row)
      for (const double v : t.row(row)) values.push_back(v);
  return values;
}

class inquiry : public size_inquiry {
 public:
  using size_inquiry::size_inquiry;

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
        return std::ranges::all_of(traits, [&](const trait& t) { return has(one, t); });
      };
      const bool is_stated = std::ranges::find(stated.lacks, traits) != stated.lacks.end();
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
  // that would take longer than most_seconds, if time grows in proportion to the extent. A call whose rows no limit
  // forbids (limit_rows) takes less; the emulated device is slow.
  void ask_sizes(const std::function<void()>& next) {
    constexpr double k_short_seconds = 0.5;
    const double most_seconds = plainest_.knob("device") == "emulated" ? 22 : 2;
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
        if (seconds_of_one * static_cast<double>(size) > most_seconds) break;
        next();
        const auto begin = std::chrono::steady_clock::now();
        ask(c);
        double seconds = seconds_since(begin);
        if (size <= k_small || known_.missing(c)) continue;
        if (seconds < k_short_seconds) seconds = std::min(seconds_of_call(c), seconds_of_call(c));  // a busy host
        seconds_of_one = std::max(0.0, seconds - least_seconds) / static_cast<double>(size);
      }
      if (e.name == "rows") seconds_of_row_ = seconds_of_one;
    }
  }

  // Asks about scalars with whose value an input is not read. A textbook kernel multiplies by a factor of 0, too: its
  // results depend on no finite value of the input, but are NaN if the input holds NaN. It does not offer the value.
  void ask_unread(const std::function<void()>& next) {
    for (const unread_inputs& unread : all_unread_inputs()) {
      trial_case c = plainest_;
      if (c.op != unread.op) continue;
      const trait value{trait::equal, unread.scalar, format_number(unread.value), 0};
      set_knob(c, value.name, value.value);
      if (known_.missing(c) || !what_is_wrong(*find_description(c.op), c, false).empty()) continue;
      const auto results_with = [&](double input) {
        for (const std::string& tensor : unread.tensors) c.find(tensor)->fill = make_recipe("constant", {input});
        next();
        tensor_map results;
        status_of(c, inputs_of(c), &results);
        return values_of(results);
      };
      const std::vector<double> all = results_with(k_nan);
      if (std::ranges::any_of(all, [](double v) { return std::isnan(v); }) && results_with(0) == results_with(1))
        known_.lacks.push_back({value});
    }
  }

  // Runs the check of a case, which may make calls of forms that no drawn case has.
  void ask_forms(trial_case c) {
    if (std::vector<std::string> taken; !bring_within(known_, c, taken)) return;
    call_observer watch;
    watch.begun = [&](const trial_case& call, const tensor_map& inputs) {
      if (answered_forms_.count(form_name(call)) > 0 || known_.missing(call) || !has_work(call)) return;
      const bool is_refused = status_of(call, inputs) == WARPCHECK_UNSUPPORTED;
      (is_refused ? refused_forms_ : answered_forms_).insert(form_name(call));
    };
    observing = &watch;
    run_judged(run_case, c, format(c));
    observing = nullptr;
  }

  // True if a call of each form was answered, or lacks what distinguishes the form.
  bool knows_all_forms(const description& d) const {
    return std::ranges::all_of(
        d.forms, [&](const call_form& form) { return answered_forms_.count(form.name) > 0 || is_lacked(form); });
  }

  // Returns the offer, in which forms whose calls were all refused lack the tensors that distinguish them from others.
  offer known() const {
    offer o = known_;
    if (plainest_.op.empty()) return o;
    const description& d = *find_description(plainest_.op);
    for (const call_form& form : d.forms) {
      if (answered_forms_.count(form.name) > 0 || refused_forms_.count(form.name) == 0) continue;
      for (const tensor_rule& t : form.tensors) {
        const bool is_elsewhere = std::ranges::any_of(d.forms, [&](const call_form& other) {
          return answered_forms_.count(other.name) > 0 && other.find(t.name);
        });
        if (t.is_optional || is_elsewhere) continue;
        const trait_set lacked = {{trait::present, t.name, "", 0}};
        if (std::ranges::find(o.lacks, lacked) == o.lacks.end()) o.lacks.push_back(lacked);
        break;
      }
    }
    return o;
  }

  void forget_mistakes() {
    std::erase_if(known_.lacks, [&](const trait_set& traits) { return is_answered(traits); });
  }

  double seconds_of_row() const { return seconds_of_row_; }
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

  bool is_lacked(const call_form& form) const {
    return std::ranges::any_of(known_.lacks, [&](const trait_set& traits) {
      const trait& t = traits.front();
      if (traits.size() > 1) return false;
      if (t.kind == trait::present) return form.find(t.name) && !form.find(t.name)->is_optional;
      return t.kind == trait::equal && t.name == form.when.scalar && t.value == format_number(form.when.value);
    });
  }

  double seconds_of_call(const trial_case& c) const {
    const auto begin = std::chrono::steady_clock::now();
    is_refused(c);
    return seconds_since(begin);
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
      return gap.kind == trait::apart &&
             std::ranges::any_of(all, [&](const trait& t) { return t.kind == trait::distant && t.name == gap.name; });
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
      return gap.kind == trait::apart &&
             std::ranges::any_of(found, [&](const trait& t) { return t.kind == trait::uneven && t.name == gap.name; });
    };
    if (!is_answered(found)) std::erase_if(needed, is_gap);
    needed.insert(needed.begin(), found.begin(), found.end());
  }

  bool was_refused_ = false;    // a call with something to do
  bool has_asked_far_ = false;  // about rows that lie far apart
  double seconds_of_row_ = 0;
  std::map<std::string, int> tries_alone_;  // by the text of the lack
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

unread_registration::unread_registration(unread_inputs unread) { all_unread_inputs().push_back(std::move(unread)); }

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
  const description& d = *find_description(t.op);
  for_each_question([&](const property& p, int64_t i) {
    if (i > 0 || asking.knows_all_forms(d)) return;
    if (trial_case c; draw_question(p, t, i, most_elements, c)) asking.ask_forms(c);
  });
  if (first <= question) asking.ask_sizes([&] { answered(question, asking.known()); });
  asking.forget_mistakes();
  if (first <= question && !of.offered.has_our_plan) asking.ask_unread([&] { answered(question, asking.known()); });
  if (asking.refuses_everything()) return std::nullopt;
  return asked_offer{asking.known(), asking.answered_traits(), asking.seconds_of_row()};
}

}  // namespace warpcheck::engine
