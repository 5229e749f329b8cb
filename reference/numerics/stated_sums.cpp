#include "reference/numerics/stated_sums.hpp"

#include <algorithm>
#include <utility>

namespace warpcheck::reference {
namespace {

sum_statement& current() {
  thread_local sum_statement statement;
  return statement;
}

}  // namespace

stated_sums::stated_sums(sum_statement s) : before_(std::exchange(current(), s)) {}

stated_sums::~stated_sums() { current() = before_; }

const sum_statement& stated_sums::now() { return current(); }

int64_t stated_chain(int64_t n, int64_t allowed) {
  if (!current().depth) return allowed;
  return std::min({std::max<int64_t>(n - 1, 0), *current().depth, k_longest_stated_chain});
}

int64_t stated_chain_of_plain_sum(int64_t n, int64_t allowed) {
  if (current().depth || !current().any_order) return stated_chain(n, allowed);
  return std::min(std::max<int64_t>(n - 1, 0), k_longest_stated_chain);
}

}  // namespace warpcheck::reference
