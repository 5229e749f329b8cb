#include "simt/shrink.hpp"

#include <algorithm>
#include <utility>

namespace simt {
namespace {

using deviations = std::vector<deviation>;

deviations without(const deviations& all, size_t begin, size_t end) {
  deviations rest(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(begin));
  rest.insert(rest.end(), all.begin() + static_cast<std::ptrdiff_t>(end), all.end());
  return rest;
}

}  // namespace

shrunk_schedule shrink_schedule(const schedule& failing, const std::function<bool(const schedule&)>& still_fails,
                                int max_runs) {
  shrunk_schedule result{failing, 0};
  const auto fails = [&](const schedule& candidate) {
    ++result.runs;
    return still_fails(candidate);
  };
  if (!fails(failing)) throw std::invalid_argument("shrink_schedule: the schedule passes, a failing one is needed");
  for (const strategy fixed : {strategy::fair, strategy::reverse, strategy::greedy}) {
    schedule candidate;
    candidate.strategy = fixed;
    if (fails(candidate)) {
      result.schedule = candidate;
      return result;
    }
  }
  if (failing.strategy != strategy::replay) return result;
  deviations& best = result.schedule.deviations;
  for (size_t parts = 2; !best.empty();) {
    const size_t size = (best.size() + parts - 1) / parts;
    bool smaller = false;
    for (size_t begin = 0; begin < best.size() && !smaller; begin += size) {
      if (result.runs >= max_runs) return result;
      schedule candidate = result.schedule;
      candidate.deviations = without(best, begin, std::min(begin + size, best.size()));
      smaller = fails(candidate);
      if (smaller) best = std::move(candidate.deviations);
    }
    if (smaller) {
      parts = std::max<size_t>(parts - 1, 2);
    } else {
      if (size == 1) break;
      parts = std::min(parts * 2, best.size());
    }
  }
  return result;
}

}  // namespace simt
