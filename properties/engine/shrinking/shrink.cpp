#include "properties/engine/shrinking/shrink.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "properties/engine/cases/description.hpp"
#include "properties/engine/cases/offer.hpp"
#include "properties/engine/shrinking/shrink_steps.hpp"

namespace warpcheck::engine {

std::vector<knob_info> knobs_of(const trial_case& c) {
  std::vector<knob_info> names;
  for (const auto& [name, value] : c.knobs) names.push_back({name, "", ""});
  return names;
}

namespace {

class search {
 public:
  search(const case_report& failing, const trial_case& c, const std::function<case_report(const trial_case&)>& run,
         const std::function<bool(const trial_case&)>& holds, const search_limits& limits)
      : now_(c), report_(failing), run_(run), holds_(holds), limits_(limits) {
    failed_[format(c)] = true;
  }

  shrunk minimize() {
    narrow();
    extents(true);
    settle();
    jump();
    settle();
    const std::string neighbour = neighbours();
    shrunk result = smallest();
    result.report.neighbour = result.neighbour = neighbour;
    return result;
  }

 private:
  // Reduces a user's array to the row of the worst element, which bisection from the end finds only by luck.
  void narrow() {
    if (!report_.worst) return;
    const worst_element w = *report_.worst;
    for (size_t t = 0; t < now_.tensors.size(); ++t) {
      const tensor_spec& x = now_.tensors[t];
      if (!x.is_input || x.fill.distribution != "npy" || x.shape.size() != 2) continue;
      // Outputs of one element per row are vectors.
      for (const int64_t row : {w.row, w.col})
        if (x.rows() > 1 && row < x.rows() && attempt(part_of(now_, t, 0, row, 1))) return;
    }
  }

  // Runs reserved from shrinking, so that the result has its neighbour.
  static constexpr int k_reserve = 6;

  // True if the suite may run the case and print its line: the description allows it, the property has it, and the line
  // reads back. If one of these throws, it is no case.
  bool is_case(const trial_case& c) const {
    try {
      parse_case(format(c), knobs_of(c));
      return is_legal(c) && is_offered(c) && (!holds_ || holds_(c));
    } catch (const std::exception&) {
      return false;
    }
  }
  // A candidate that does not offer the case may answer it in any way, unless the original case was such a case.
  bool is_offered(const trial_case& c) const {
    const offer* const o = known_offer(c);
    return !o || !o->missing(c) || o->missing(now_);
  }
  bool spent(int reserve) const { return runs_ + reserve >= limits_.max_runs || (limits_.enough && limits_.enough()); }

  shrunk smallest() const {
    shrunk s;
    s.report = report_;
    s.smallest = now_;
    s.runs = runs_;
    return s;
  }

  // True if the case fails in the same way, known or by a new run; nullopt if it is no case or no runs are left.
  std::optional<bool> fails(const trial_case& c, int reserve, case_report* report = nullptr) {
    if (!is_case(c)) return std::nullopt;
    const std::string line = format(c);
    if (const auto known = failed_.find(line); known != failed_.end()) return known->second;
    if (spent(reserve)) return std::nullopt;
    ++runs_;
    case_report r = run_(c);
    const bool alike = r.result == report_.result;
    failed_[line] = alike;
    // A case with another failure is not a neighbour that passes.
    if (r.result == verdict::pass) passed_.insert(line);
    if (report) *report = std::move(r);
    return alike;
  }

  bool attempt(trial_case c) {
    if (!simpler_than(c, now_) || !is_case(c)) return false;
    case_report r;
    if (failed_.count(format(c)) || !fails(c, k_reserve, &r).value_or(false)) return false;
    now_ = std::move(c);
    report_ = std::move(r);
    if (limits_.smaller) limits_.smaller(smallest());
    return true;
  }

  // Takes steps of one kind until no step fails in the same way.
  bool descend(steps (*kind)(const trial_case&)) {
    bool any = false;
    for (bool again = true; again && !spent(k_reserve);) {
      again = false;
      for (trial_case& c : only_simpler(now_, kind(now_)))
        if (attempt(std::move(c))) {
          again = any = true;
          break;
        }
    }
    return any;
  }

  void settle() {
    for (bool again = true; again && !spent(k_reserve);) {
      // A few steps each, so that the limit of runs does not leave these out.
      again = descend(simpler_layouts);
      again |= descend(simpler_knobs);
      again |= descend(simpler_fills);
      again |= descend(simpler_parts);
      again |= descend(simpler_edits);
      again |= extents(false);
    }
  }

  bool extents(bool thorough) {
    bool any = false;
    for (const axis& a : axes(now_)) any |= shorten(a, thorough);
    // Extents that were equal may differ now, and the other way round.
    if (any)
      for (const axis& a : axes(now_)) shorten(a, false);
    return any;
  }

  // Finds the smallest size of the axis by bisection, which is right if a larger size never helps.
  bool shorten(const axis& a, bool thorough) {
    const int64_t before = extent(now_, a);
    int64_t passes = -1;
    if (thorough || before <= 3) {
      for (int64_t n : {0, 1, 2}) {
        if (n >= before) return extent(now_, a) < before;
        if (attempt(resized(now_, a, n))) return true;
        passes = n;
      }
    } else if (!attempt(resized(now_, a, before - 1))) {
      return attempt(resized(now_, a, before / 2)) && (shorten(a, false), true);
    }
    bisect(a, passes);
    return extent(now_, a) < before;
  }

  void bisect(const axis& a, int64_t passes) {
    while (extent(now_, a) - passes > 1 && !spent(k_reserve)) {
      const int64_t middle = passes + (extent(now_, a) - passes) / 2;
      if (!attempt(resized(now_, a, middle))) passes = middle;
    }
  }

  // Tries sizes that bisection cannot find: failures that come and go with the size.
  void jump() {
    for (const axis& a : axes(now_)) {
      int64_t passes = 2;
      for (int64_t n : turning_points(extent(now_, a))) {
        if (spent(k_reserve)) return;
        if (attempt(resized(now_, a, n))) {
          bisect(a, passes);
          break;
        }
        passes = n;
      }
    }
  }

  bool passes(const trial_case& c) {
    const auto failed = fails(c, 0);
    return failed && passed_.count(format(c));
  }

  // Adds the sizes one below that pass; size 0 only if requested.
  void sizes_below(bool to_nothing, std::vector<std::string>& texts) {
    std::set<std::string> covered;
    for (const axis& a : axes(now_)) {
      const int64_t n = extent(now_, a);
      if (n == 0 || (n == 1) != to_nothing || covered.count(a.front())) continue;
      if (!passes(resized(now_, a, n - 1))) continue;
      covered.insert(a.begin(), a.end());
      texts.push_back(fmt::format("fails at {}={}, passes at {}", fmt::join(a, "="), n, n - 1));
    }
  }

  std::string neighbours() {
    std::vector<std::string> texts;
    sizes_below(false, texts);
    for (const tensor_spec& t : now_.tensors) {
      if (t.is_in_memory_of_another()) continue;
      const auto with = [&](int64_t ld, int64_t offset) {
        trial_case c = now_;
        set_layout(c, t.name, ld, offset);
        return passes(c);
      };
      if (t.offset > 0 && with(t.ld, t.offset - 1))
        texts.push_back(fmt::format("fails at {} offset={}, passes at {}", t.name, t.offset, t.offset - 1));
      if (t.ld > t.cols() && with(t.ld - 1, t.offset))
        texts.push_back(fmt::format("fails at {} ld={}, passes at {}", t.name, t.ld, t.ld - 1));
    }
    for (const tensor_spec& t : now_.tensors) {
      if (!t.is_in_memory_of_another()) continue;
      trial_case c = now_;
      move_apart(c, t.name);
      if (passes(c)) texts.push_back(fmt::format("passes with {} in memory of its own", t.name));
    }
    for (const auto& [name, value] : now_.knobs) {
      if (is_fixed_knob(name) || (name == "schedule" && value == "fair")) continue;
      trial_case c = without_knob(now_, name);
      std::string instead = c.knob(name);
      if (name == "schedule") c.knobs[name] = instead = "fair";
      if (passes(c))
        texts.push_back(fmt::format("fails with {}={}, passes {}", name, value,
                                    instead.empty() ? "without it" : "with " + instead));
    }
    for (const tensor_spec& t : now_.tensors)
      for (size_t i = 0; t.same.empty() && i < t.fill.edits.size(); ++i) {
        trial_case c = now_;
        std::vector<edit>& edits = c.find(t.name)->fill.edits;
        const edit e = edits[i];
        edits.erase(edits.begin() + static_cast<ptrdiff_t>(i));
        settle_memory(c);
        if (passes(c))
          texts.push_back(fmt::format("passes without {} edit {},{}:{}", t.name, e.row, e.col, format_number(e.value)));
      }
    sizes_below(true, texts);
    constexpr size_t k_most = 3;
    std::string text;
    for (size_t i = 0; i < std::min(k_most, texts.size()); ++i) text += (i ? "; " : "") + texts[i];
    return text;
  }

  trial_case now_;      // the smallest case so far that fails in the same way
  case_report report_;  // its report
  const std::function<case_report(const trial_case&)>& run_;
  const std::function<bool(const trial_case&)>& holds_;
  const search_limits& limits_;
  int runs_ = 0;
  std::map<std::string, bool> failed_;  // every case that ran, and if it failed in the same way
  std::set<std::string> passed_;
};

}  // namespace

shrunk shrink(const case_report& failing, const trial_case& c, const std::function<case_report(const trial_case&)>& run,
              const std::function<bool(const trial_case&)>& holds, const search_limits& limits) {
  return search(failing, c, run, holds, limits).minimize();
}

}  // namespace warpcheck::engine
