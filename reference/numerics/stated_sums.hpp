// What a candidate states of its sums, in place of what the contract grants each.
#pragma once

#include <cstdint>
#include <optional>

namespace warpcheck::reference {

struct sum_statement {
  std::optional<int64_t> depth;  // the longest chain of additions that a term passes through
  bool any_order = false;        // where no depth is stated: sums of products may be added in any order
};

// Holds for the bounds that this thread computes while the object lives.
class stated_sums {
 public:
  explicit stated_sums(sum_statement s);
  ~stated_sums();
  stated_sums(const stated_sums&) = delete;
  stated_sums& operator=(const stated_sums&) = delete;

  static const sum_statement& now();

 private:
  sum_statement before_;
};

// Beyond, gamma of f32 sums says nothing any more.
inline constexpr int64_t k_longest_stated_chain = int64_t{1} << 22;

// The chain of a sum of n terms for which the contract grants `granted`.
int64_t stated_chain(int64_t n, int64_t granted);

}  // namespace warpcheck::reference
