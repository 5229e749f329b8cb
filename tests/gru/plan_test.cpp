// Workspaces of gated recurrent units keep what the contract promises of them (kernels/gru/gru.hpp), for every shape.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/gru/gru.hpp"
#include "properties/gru/gru_cases.hpp"

namespace warpcheck::self {
namespace {

std::vector<gru_config> configurations() {
  std::vector<gru_config> all;
  for (const int64_t time : {0, 1, 3, 100, 4096})
    for (const int64_t batch : {0, 1, 8, 33, 2048})
      for (const int64_t input : {0, 1, 64, 1025})
        for (const int64_t hidden : {0, 1, 31, 32, 33, 127, 128, 129, 255, 257, 1024, 1025})
          for (const int directions : {1, 2})
            for (const int64_t limit : {int64_t{0}, int64_t{1}, int64_t{1} << 24})
              all.push_back({time, batch, input, hidden, directions, gru_history::recompute, limit});
  return all;
}

std::string text_of(const gru_config& c) {
  return std::to_string(c.T) + " x " + std::to_string(c.B) + " x " + std::to_string(c.I) + " x " + std::to_string(c.H) +
         " x " + std::to_string(c.D) + ", limit " + std::to_string(c.workspace_limit);
}

TEST(gru_plans, workspaces_are_no_larger_than_the_contract_allows) {
  int64_t number = 0;
  for (gru_config c : configurations())
    for (const gru_history history : {gru_history::none, gru_history::save, gru_history::recompute}) {
      c.history = history;
      c.precision = static_cast<gru_precision>(number++ / 3 % 4);
      const int64_t allowed =
          gru_work_bytes({c.T, c.B, c.I, c.H, c.D}, c.workspace_limit, c.precision == gru_precision::ieee);
      EXPECT_LE(gru_forward_workspace_bytes(c), allowed) << text_of(c);
      if (history != gru_history::none) {
        EXPECT_LE(gru_backward_workspace_bytes(c), allowed) << text_of(c);
      }
      EXPECT_EQ(gru_history_bytes(c), history == gru_history::save ? 16 * c.D * c.T * c.B * c.H : 0);
    }
}

}  // namespace
}  // namespace warpcheck::self
