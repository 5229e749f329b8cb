#include "properties/engine/trials/offer_asking.hpp"

#include <algorithm>
#include <deque>
#include <set>
#include <span>
#include <utility>

#include "properties/engine/cases/description.hpp"
#include "properties/engine/cases/generate.hpp"
#include "properties/engine/cases/host_tensor.hpp"
#include "properties/engine/shrinking/shrink_steps.hpp"
#include "properties/engine/trials/library.hpp"
#include "properties/engine/trials/trial_launch.hpp"
#include "properties/engine/trials/trial_plan.hpp"

namespace warpcheck::engine {
namespace {

constexpr int64_t k_cases_of_property = 4;
constexpr uint64_t k_seed = 1;
constexpr int64_t k_most_elements = int64_t{1} << 14;          // of a drawn case
constexpr int64_t k_most_elements_of_long = int64_t{1} << 20;  // of one that has one large extent
constexpr int64_t k_large_extents[] = {0, 1, 3, 1025, 5000, 70000};
constexpr int64_t k_most_multiple = 256;

bool is_usual(const trial_case& c, const trait& t) {
  const scalar_info* const s = t.kind == trait::equal ? find_scalar(c, t.name) : nullptr;
  return s && passed_value(*s, t.value) == passed_value(*s, s->fallback);
}

class inquiry {
 public:
  inquiry(const target& t, offer known)
      : candidate_(open_candidate(t.candidate, t.op, t.device)), known_(std::move(known)) {}

  // Learns of everything that keeps the case from being answered.
  void ask(trial_case c) {
    constexpr int k_most_reasons = 16;
    for (int i = 0; i < k_most_reasons; ++i) {
      std::vector<std::string> taken;
      if (!bring_within(known_, c, taken)) return;
      if (!is_refused(c)) {
        keep_plainest(c);
        return;
      }
      trait_set traits = least_refused(c);
      if (trial_case small = smallest(c); traits.empty() && !(small == c) && is_refused(small))
        traits = least_refused(small);
      if (traits.empty()) traits = refused_extent(c);
      if (traits.size() == 1 && !is_confirmed(traits.front())) return;
      if (traits.empty() || is_answered(traits)) {
        refused_forms_.insert(form_name(c));
        return;
      }
      known_.lacks.push_back(std::move(traits));
    }
  }

  // Sizes that drawn cases do not have, of one extent after the other.
  void ask_sizes() {
    if (plainest_.op.empty()) return;
    const description& d = *find_description(plainest_.op);
    constexpr int64_t k_small = 3;
    trial_case plain = plainest_;
    for (const auto& [name, size] : sizes_of(d, plain))
      if (trial_case c = resized(plain, {name}, k_small);
          !d.find(name)->derived && size > k_small && what_is_wrong(d, c, false).empty() && !is_refused(c))
        plain = std::move(c);
    for (const extent_info& e : d.extents) {
      if (e.derived) continue;
      for (const int64_t size : k_large_extents) {
        trial_case c = resized(plain, {e.name}, size);
        if (c.elements() <= k_most_elements_of_long && what_is_wrong(d, c, false).empty()) ask(std::move(c));
      }
    }
  }

  // Of forms of which no call was answered, the tensors that tell them from others.
  void note_forms(const description& d) {
    for (const call_form& form : d.forms) {
      if (answered_forms_.count(form.name) > 0 || refused_forms_.count(form.name) == 0) continue;
      for (const tensor_info& t : form.tensors) {
        const bool is_elsewhere = std::any_of(d.forms.begin(), d.forms.end(), [&](const call_form& other) {
          return answered_forms_.count(other.name) > 0 && other.find(t.name);
        });
        if (t.is_optional || is_elsewhere) continue;
        known_.lacks.push_back({{trait::present, t.name, "", 0}});
        break;
      }
    }
  }

  // A call with all of these was answered: what a refused one held must have been the reason.
  bool is_answered(const trait_set& traits) const {
    return std::any_of(answered_.begin(), answered_.end(), [&](const trial_case& c) {
      return std::all_of(traits.begin(), traits.end(), [&](const trait& t) { return has(c, t); });
    });
  }
  void forget_mistakes() {
    std::erase_if(known_.lacks, [&](const trait_set& traits) { return is_answered(traits); });
  }

  const offer& known() const { return known_; }
  bool is_answered() const { return !answered_.empty(); }

 private:
  static std::string form_name(const trial_case& c) { return find_description(c.op)->form_of(c)->name; }

  bool is_refused(const trial_case& c) const {
    std::deque<host_tensor> given;
    const auto values = [&](const tensor_spec& spec) -> const host_tensor& {
      return given.emplace_back(materialize(spec));
    };
    const launch_spec once = refused_launch_spec(candidate_);
    const launch_group launched(c, std::span(&once, 1), 0, values);
    return launched.call(0).status == WARPCHECK_UNSUPPORTED;
  }

  void keep_plainest(const trial_case& c) {
    if (c.tensors.front().elements() == 0) return;  // there was nothing to do
    answered_.push_back(c);
    answered_forms_.insert(form_name(c));
    if (plainest_.op.empty() || traits_of(c).size() < traits_of(plainest_).size()) plainest_ = c;
  }

  // Neighbours without the trait that are not known to be refused.
  std::vector<trial_case> offered_without(const trial_case& c, const trait& t) const {
    std::vector<trial_case> others = without(c, t);
    std::erase_if(others, [&](const trial_case& other) { return known_.missing(other) != nullptr; });
    return others;
  }

  // Extents of 1, as far as these are legal: several reasons may keep a case from being answered.
  static trial_case smallest(const trial_case& c) {
    const description& d = *find_description(c.op);
    trial_case small = c;
    for (const auto& [name, size] : sizes_of(d, c))
      if (trial_case one = resized(small, {name}, 1);
          !d.find(name)->derived && size > 1 && what_is_wrong(d, one, false).empty())
        small = std::move(one);
    return small;
  }

  // Makes a refused case plainer; the traits without any of which it would be answered.
  trait_set least_refused(trial_case& c) const {
    trait_set needed;
    for (const trait& t : traits_of(c)) {
      if (!has(c, t) || is_usual(c, t)) continue;  // or it went with another
      const std::vector<trial_case> others = offered_without(c, t);
      if (others.empty()) continue;
      if (is_refused(others.front()))
        c = others.front();
      else
        needed.push_back(t);
    }
    std::erase_if(needed, [&](const trait& t) { return !has(c, t); });
    if (!needed.empty()) return needed;
    // The plainest case of all: one of its usual values is not offered.
    for (const trait& t : traits_of(c))
      for (const trial_case& other : offered_without(c, t))
        if (!is_refused(other)) return {t};
    return {};
  }

  // Whether the plainest case is refused, too, once it has an extent like this: what a call holds may be the reason.
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
    return !what_is_wrong(*find_description(other.op), other, false).empty() || is_refused(other);
  }

  // The extent of a refused case that is too large, too small or no multiple.
  trait_set refused_extent(const trial_case& c) const {
    const description& d = *find_description(c.op);
    const auto refused = [&](const std::string& extent, int64_t size) {
      const trial_case other = resized(c, {extent}, size);
      return !what_is_wrong(d, other, false).empty() || is_refused(other);
    };
    for (const auto& [name, size] : sizes_of(d, c)) {
      if (d.find(name)->derived) continue;
      for (int64_t m = 2; m <= k_most_multiple; m *= 2)
        if (size % m != 0 && !refused(name, (size / m + 1) * m) && refused(name, size + 2 * k_most_multiple))
          return {{trait::not_multiple, name, "", m}};
      for (const int64_t more : {size + 1, size + 2, size + 4, size + 16, size + 64})
        if (size < 64 && !refused(name, more)) {
          int64_t least = more;
          while (least > size + 1 && !refused(name, least - 1)) --least;
          return {{trait::fewer, name, "", least}};
        }
      if (size < 2 || refused(name, 1)) continue;
      int64_t taken = 1, most = size;
      while (most - taken > 1) {
        const int64_t middle = taken + (most - taken) / 2;
        (refused(name, middle) ? most : taken) = middle;
      }
      return {{trait::more, name, "", taken}};
    }
    return {};
  }

  candidate candidate_;
  offer known_;
  trial_case plainest_;               // of the cases that were answered
  std::vector<trial_case> answered_;  // that had something to do
  std::set<std::string> answered_forms_, refused_forms_;
};

// A case for the question, or none.
bool draw_question(const property& p, const target& t, int64_t index, trial_case& c) {
  try {
    c = generate_case(p, t, k_seed, index);
  } catch (const no_case_fits&) {
    return false;
  }
  return c.elements() <= k_most_elements && what_is_wrong(*find_description(c.op), c, false).empty();
}

}  // namespace

std::optional<offer> ask_offer(const target& of, int64_t first, offer known,
                               const std::function<void(int64_t question, const offer&)>& answered) {
  target t = of;
  t.size = 0;
  t.offered = {};
  inquiry asking(t, std::move(known));
  int64_t question = 0;
  for (const property& p : all_properties()) {
    if (p.op != t.op || std::find(p.types.begin(), p.types.end(), t.type) == p.types.end()) continue;
    for (int64_t i = 0; i < k_cases_of_property; ++i, ++question) {
      if (question < first) continue;
      answered(question, asking.known());
      if (trial_case c; draw_question(p, t, i, c)) asking.ask(std::move(c));
    }
  }
  answered(question, asking.known());
  if (first <= question) asking.ask_sizes();
  asking.forget_mistakes();
  asking.note_forms(*find_description(t.op));
  if (!asking.is_answered()) return std::nullopt;
  return asking.known();
}

}  // namespace warpcheck::engine
