#include "properties/engine/processes/job_summary.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <vector>

#include "properties/engine/cases/classes.hpp"
#include "properties/engine/trials/case_notes.hpp"

namespace warpcheck::engine {

bool is_failure(verdict v) { return v != verdict::pass && v != verdict::skipped; }

void job_summary::add(int64_t index, const case_report& r, double seconds, int most) {
  ++result.cases;
  result.launches += r.launches;
  result.compared += r.compared;
  result.needed_multiprecision += r.needed_multiprecision;
  result.seconds += seconds;
  result.worst = std::max(result.worst, r.result);
  result.every_schedule += r.is_every_schedule && r.result != verdict::skipped;
  for (const std::string& v : r.variants) {
    ++result.variants[v];
    if (r.is_every_schedule) ++result.proven[v];
  }
  std::vector<std::string> classes;
  for (const std::string& name : r.classes) {
    if (const auto note = note_of_class(name)) {
      summed_note& noted = result.notes[note->first];
      noted.sum += note->second;
      noted.greatest = std::max(noted.greatest, note->second);
    } else {
      ++result.classes[name];
      classes.push_back(name);
    }
  }
  if (!classes.empty())
    for (const std::string& v : r.variants) ++result.combinations[combination_of(classes, v)];
  if (r.errors.elements() > 0)
    result.errors[r.variants.empty() ? "" : r.variants.size() == 1 ? r.variants[0] : "several"].add(r.errors);
  if (r.variants.size() == 1 && !r.error_ratios.thousandths.empty())
    result.error_ratios[r.variants[0]].add(r.error_ratios);
  // NaN counts as worse than any number.
  const double ratio = std::isnan(r.max_error_ratio) ? HUGE_VAL : r.max_error_ratio;
  result.max_ulp = std::max(result.max_ulp, std::isnan(r.max_ulp) ? HUGE_VAL : r.max_ulp);
  const bool earlier = index < worst_index;
  if (r.compared > 0 && (!result.worst_error_ratio_case || ratio > result.max_error_ratio ||
                         (ratio == result.max_error_ratio && earlier))) {
    result.worst_error_ratio_case = r;
    result.max_error_ratio = ratio;
    worst_index = index;
  }
  if (r.result == verdict::skipped) {
    ++result.skipped;
    if (!result.first_skipped || index < skipped_index) {
      result.first_skipped = r;
      skipped_index = index;
    }
  }
  if (!is_failure(r.result)) return;
  failures.emplace(index, r);
  if (most > 0 && failures.size() > static_cast<size_t>(most)) failures.erase(std::prev(failures.end()));
}

int64_t job_summary::last(int most) const {
  return most > 0 && failures.size() == static_cast<size_t>(most) ? failures.rbegin()->first : k_no_limit;
}

}  // namespace warpcheck::engine
