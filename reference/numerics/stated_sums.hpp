// A candidate's statements about its sums and what it makes of them, which replace the allowances of the contract.
#pragma once

#include <cstdint>
#include <optional>

namespace warpcheck::reference {

struct sum_statement {
  std::optional<int64_t> depth;  // the longest chain of additions that a term passes through
  bool any_order = false;        // no depth is stated and no plan is published: plain sums may be added in any order
  bool log_of_sum = false;       // logarithms are taken of a row's whole sum, with its maximum's term
  bool exp_overflows = false;    // the logistic function is 1 / (1 + exp(-z)) of every z
};

// Applies to the bounds that this thread computes while the object lives.
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

// For longer chains gamma_h of f32 bounds nothing.
inline constexpr int64_t k_longest_stated_chain = int64_t{1} << 22;

// Returns the longest chain of additions that a sum of n terms may have, where the contract allows `allowed`: the
// stated depth, if there is one.
int64_t stated_chain(int64_t n, int64_t allowed);
// The same for an operator that is a plain sum (reduce, scan): any order, unless a depth is stated or a plan is
// published.
int64_t stated_chain_of_plain_sum(int64_t n, int64_t allowed);

}  // namespace warpcheck::reference
