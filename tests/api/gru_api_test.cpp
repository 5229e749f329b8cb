// The C++ API of gated recurrent units: plans, sizes and the sentences of refusals.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/gru/gru.hpp"
#include "kernels/matmul/matmul.hpp"
#include "simt/emulation.hpp"
#include "simt/simt.hpp"

namespace warpcheck {
namespace {

constexpr gru_regime k_regimes[] = {gru_regime::automatic, gru_regime::registers, gru_regime::cluster, gru_regime::grid,
                                    gru_regime::product};

// run(configuration, what it is) for shapes on both sides of every border, in every regime that takes them.
template <class Run>
void for_plans(const Run& run) {
  for (const int64_t hidden : {0, 1, 8, 9, 31, 32, 33, 127, 128, 129, 255, 256, 257, 511, 512, 513, 1024, 1025, 4096})
    for (const int64_t batch : {0, 1, 3, 33, 129, 2048})
      for (const int directions : {1, 2})
        for (const gru_regime regime : k_regimes) {
          const gru_config c{7, batch, 5, hidden, directions, gru_history::save, 0, regime};
          const std::string what = "H " + std::to_string(hidden) + ", B " + std::to_string(batch) + ", D " +
                                   std::to_string(directions) + ", regime " + std::to_string(static_cast<int>(regime));
          try {
            run(c, what);
          } catch (const std::invalid_argument&) {
            EXPECT_NE(regime, gru_regime::automatic) << what;
            EXPECT_NE(regime, gru_regime::product) << what;
          }
        }
}

// A block that waits for another is resident together with it, or the launch would never end.
TEST(gru_api, plans_fit_the_device) {
  const auto device = simt::device_properties(nullptr);
  for_plans([&](const gru_config& c, const std::string& what) {
    for (const gru_plan& plan : {gru_forward_plan(c), gru_backward_plan(c)}) {
      EXPECT_LE(plan.blocks_per_cluster, device.max_cluster) << what;
      // A cluster has at most a block of its own on each multiprocessor of a part of the device.
      EXPECT_LE(plan.coresident_blocks,
                plan.regime == gru_regime::cluster ? device.max_cluster : int64_t{device.sm_count})
          << what;
      EXPECT_EQ(plan.blocks % plan.blocks_per_cluster, 0) << what;
      EXPECT_NE(plan.regime, gru_regime::automatic) << what;
    }
  });
}

// Every row of every direction, and every unit, is some block's.
TEST(gru_api, plans_cover_rows_and_units) {
  for_plans([&](const gru_config& c, const std::string& what) {
    for (const gru_plan& plan : {gru_forward_plan(c), gru_backward_plan(c)}) {
      if (plan.regime == gru_regime::product) {
        EXPECT_EQ(plan.blocks, 0) << what;
        continue;
      }
      EXPECT_GE(plan.rows_per_block, 1) << what;
      const int64_t groups = c.D * ((c.B + plan.rows_per_block - 1) / plan.rows_per_block);
      if (plan.regime == gru_regime::grid) {
        EXPECT_EQ(plan.blocks, (c.H + 7) / 8) << what;
        continue;
      }
      EXPECT_EQ(plan.blocks, groups * plan.blocks_per_cluster) << what;
      if (plan.regime == gru_regime::cluster) {
        EXPECT_GE(32 * plan.blocks_per_cluster, c.H) << what;
      }
    }
  });
}

// The order of additions of a row is that of its regime: neither rows, directions nor steps change the chains.
TEST(gru_api, chains_of_a_row_depend_on_the_layer_alone) {
  for_plans([&](const gru_config& c, const std::string& what) {
    gru_config other = c;
    other.B = 1, other.D = 1, other.T = 3;
    EXPECT_EQ(gru_forward_plan(c).regime, gru_forward_plan(other).regime) << what;
    EXPECT_EQ(gru_forward_plan(c).depth_h, gru_forward_plan(other).depth_h) << what;
    if (c.B > 0) {
      EXPECT_EQ(gru_backward_plan(c).depth_h, gru_backward_plan(other).depth_h) << what;
    }
    // What lets a verdict tell an approximate tanh from rounding.
    if (c.H <= 1024 && gru_forward_plan(c).regime != gru_regime::product) {
      EXPECT_LE(gru_forward_plan(c).depth_h, 128) << what;
      EXPECT_LE(gru_backward_plan(c).depth_h, 128) << what;
    }
  });
}

// What gi and dx rely on: with the option no product is cut, however few tiles it has.
TEST(gru_api, unsplit_products_are_one_chain) {
  for (const int64_t rows : {1, 64, 5000}) {
    const matmul_slices slices = matmul_plan<float, float>({matmul_mode::ieee, false, true}, rows, 96, 4096);
    EXPECT_EQ(slices.count, 1) << rows;
    EXPECT_EQ(slices.length, 4096) << rows;
    EXPECT_EQ((matmul_work_bytes<float, float>({matmul_mode::ieee, false, true}, rows, 96, 4096)), 0) << rows;
  }
  EXPECT_GT((matmul_plan<float, float>({}, 64, 96, 4096).count), 1);
}

TEST(gru_api, automatic_takes_the_first_regime_that_holds_the_weights) {
  const auto regime = [](int64_t hidden) { return gru_forward_plan({7, 3, 5, hidden}).regime; };
  EXPECT_EQ(regime(128), gru_regime::registers);
  EXPECT_EQ(regime(129), gru_regime::cluster);
  EXPECT_EQ(regime(512), gru_regime::cluster);
  EXPECT_EQ(regime(513), gru_regime::product);  // four multiprocessors hold 32 units
}

TEST(gru_api, a_workspace_keeps_to_its_limit_or_has_one_step) {
  for_plans([&](const gru_config& c, const std::string& what) {
    gru_config limited = c;
    const int64_t whole = gru_backward_workspace_bytes(c);
    limited.workspace_limit = std::max<int64_t>(1, whole / 2);
    const gru_plan plan = gru_backward_plan(limited);
    EXPECT_TRUE(plan.chunk_steps == 1 || gru_backward_workspace_bytes(limited) <= limited.workspace_limit) << what;
    EXPECT_LE(gru_backward_workspace_bytes(limited), whole) << what;
  });
}

std::string gru_refusal_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
  return "nothing was thrown";
}

TEST(gru_api, configurations_that_break_the_contract_are_refused) {
  const auto plan = [](gru_config c) { return gru_refusal_of([&] { gru_forward_plan(c); }); };
  EXPECT_EQ(plan({-1, 1, 1, 1}), "T is -1, must be >= 0");
  EXPECT_EQ(plan({1, 1, 1, -4}), "H is -4, must be >= 0");
  EXPECT_EQ(plan({1, 1, 1, 1, 3}), "D is 3, must be 1 or 2");
  EXPECT_EQ(plan({1, 1, 1, 129, 1, gru_history::save, 0, gru_regime::registers}),
            "H is 129, must be at most 128 in regime 1 on this device");
  EXPECT_EQ(plan({1, 1, 1, 513, 1, gru_history::save, 0, gru_regime::cluster}),
            "H is 513, must be at most 512 in regime 2 on this device");
  EXPECT_EQ(plan({1, 1, 1, 33, 1, gru_history::save, 0, gru_regime::grid}),
            "H is 33, must be at most 32 in regime 3 on this device");
  EXPECT_EQ(plan({1, 1, 1, 1, 1, gru_history::save, 0, static_cast<gru_regime>(5)}),
            "regime is 5, must be 0 (automatic), 1 (registers), 2 (cluster), 3 (grid) or 4 (product)");
  EXPECT_EQ(plan({1, 1, 1, 1, 1, gru_history::save, 0, gru_regime::automatic, static_cast<gru_precision>(4)}),
            "precision is 4, must be 0 (ieee), 1 (tf32x3), 2 (tf32) or 3 (bf16)");
  EXPECT_EQ(plan({int64_t{1} << 30, int64_t{1} << 30, 1, 1}),
            "T, B, I, H are 1073741824, 1073741824, 1, 1, their tensors must have fewer than 2^62 bytes");
}

TEST(gru_api, calls_that_break_the_contract_are_refused) {
  std::vector<float> memory(4096);
  float* const m = memory.data();
  simt::emulation stream;
  const gru_config c{2, 3, 4, 5};
  gru_params params;
  params.w_ih[0] = m;
  params.w_hh[0] = m + 100;
  const gru_inputs inputs{m + 200};
  const int64_t bytes = gru_forward_workspace_bytes(c);
  const auto forward = [&](gru_inputs in, gru_outputs out, int64_t workspace_bytes) {
    return gru_refusal_of([&] { gru_forward(c, params, in, out, m + 2000, workspace_bytes, &stream); });
  };
  EXPECT_EQ(forward({}, {m + 400, nullptr, m + 500}, bytes), "x is null, must point to 1 x 24 elements");
  EXPECT_EQ(forward(inputs, {nullptr, nullptr, m + 500}, bytes), "y is null, must point to 1 x 30 elements");
  EXPECT_EQ(forward(inputs, {m + 400, nullptr, nullptr}, bytes), "history is null, must point to 1 x 120 elements");
  EXPECT_EQ(forward(inputs, {m + 400, nullptr, m + 500}, bytes - 1),
            "workspace_bytes is " + std::to_string(bytes - 1) + ", must be at least " + std::to_string(bytes));
  EXPECT_EQ(forward(inputs, {m + 210, nullptr, m + 500}, bytes),
            "y overlaps x, must be disjoint from it or, where the operator allows, the same with equal strides");
  EXPECT_EQ(forward(inputs, {m + 400, m + 429, m + 500}, bytes),
            "hn overlaps y, must be disjoint from it or, where the operator allows, the same with equal strides");
  const auto backward = [&](gru_config config, gru_grads grads) {
    return gru_refusal_of([&] {
      gru_backward(config, params, inputs, m + 400, m + 500, nullptr, nullptr, grads, m + 2000,
                   gru_backward_workspace_bytes(config), &stream);
    });
  };
  gru_config none = c;
  none.history = gru_history::none;
  EXPECT_EQ(backward(none, {}), "history is 0 (none), a backward pass needs 1 (save) or 2 (recompute)");
  gru_grads grads;
  grads.db_hh[0] = m + 700;
  EXPECT_EQ(backward(c, grads), "db_hh is wanted and b_hh is null, must be null too");
}

}  // namespace
}  // namespace warpcheck
