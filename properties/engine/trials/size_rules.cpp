#include "properties/engine/trials/size_rules.hpp"

#include <algorithm>
#include <cstdlib>
#include <initializer_list>

namespace warpcheck::engine {
namespace {

// True if the answer for all of these sizes is `expected`, as far as there is one.
bool all_are(const size_answers& answers, bool expected, std::initializer_list<int64_t> sizes) {
  return std::ranges::all_of(sizes, [&](int64_t size) { return answers(size) != !expected; });
}

// Bisects between a refused and an answered size, down to neighbours; returns the answered one.
int64_t answered_border(const size_answers& answers, int64_t refused, int64_t answered) {
  while (std::abs(answered - refused) > 1) {
    const int64_t middle = refused + (answered - refused) / 2;
    (answers(middle).value_or(false) ? answered : refused) = middle;
  }
  return answered;
}

// Returns the first size above `from` that is answered: tried one by one at first, then by bisection.
std::optional<int64_t> next_answered(const size_answers& answers, int64_t from) {
  constexpr int64_t k_long = 4096, k_farthest = int64_t{1} << 16;
  const int64_t near = from < k_long ? k_most_multiple : 16;
  for (int64_t size = from + 1; size <= from + near; ++size)
    if (answers(size).value_or(false)) return size;
  for (int64_t step = 2 * near; step <= k_farthest; step *= 2)
    if (answers(from + step).value_or(false)) return answered_border(answers, from + step / 2, from + step);
  return std::nullopt;
}

// The bound of a grid's second dimension is tried first, and below it one size only: an answer may take seconds.
size_rule upper_bound_of(const size_answers& answers, int64_t size) {
  constexpr int64_t k_grid = 65535;
  if (size > k_grid && answers(k_grid + 1) == false && answers(k_grid) == true) return {trait::more, k_grid};
  for (int64_t step = 1; step < size; step = std::min(2 * step, std::max(step + 1, size - 1))) {
    if (!answers(size - step).value_or(false)) continue;
    const int64_t most = answered_border(answers, size, size - step);
    const bool is_bound = all_are(answers, true, {std::max<int64_t>(1, most - 1), std::max<int64_t>(1, most - 2)}) &&
                          all_are(answers, false, {most + 2, most + 3, most + 5, 2 * most + 1});
    return is_bound ? size_rule{trait::more, most} : size_rule{};
  }
  return {};
}

}  // namespace

size_rule rule_of(const size_answers& answers, int64_t size) {
  const std::optional<int64_t> first = next_answered(answers, size);
  if (!first) return upper_bound_of(answers, size);
  const int64_t a = *first, m = next_answered(answers, a).value_or(a) - a;
  if (m > 1 && m <= k_most_multiple && a % m == 0 && all_are(answers, true, {a + 2 * m, a + 3 * m}) &&
      all_are(answers, false, {a - 1, a + m + 1, a + 2 * m - 1, a + 2 * m + m / 2, a + 3 * m + 1}))
    return {trait::not_multiple, m};
  // A candidate with a least size may answer a call of no elements.
  const auto below = [&](int64_t other) { return std::clamp(other, std::min<int64_t>(size, 1), a - 1); };
  if (all_are(answers, true, {a + 1, a + 2, a + 3}) &&
      all_are(answers, false, {below(1), below(size / 2), below(size - 3), below(size - 2), below(size - 1), a - 1}))
    return {trait::fewer, a};
  return {};
}

}  // namespace warpcheck::engine
