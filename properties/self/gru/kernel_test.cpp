// The kernels of gated recurrent units against their reference: by steps, by trajectory, by differences of the
// reference's forward pass; and what the contract says of edges, padding, chunks and order.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernels/gru/gru.hpp"
#include "properties/self/gru/gru_problems.hpp"
#include "properties/self/gru/gru_run.hpp"
#include "properties/self/gru/gru_steps.hpp"
#include "reference/gru_bound.hpp"
#include "reference/numerics/multiprecision.hpp"
#include "simt/emulation.hpp"

namespace warpcheck::self {
namespace {

using reference::mp50;

void expect_every_step(const gru_case<double>& c, const gru_size& size, simt::emulation* stream) {
  for (const gru_history history : {gru_history::save, gru_history::recompute}) {
    const std::string what = size.name() + ", D " + std::to_string(c.problem.shape.directions) + ", history " +
                             std::to_string(static_cast<int>(history));
    const gru_way way(history, size.regime);
    const auto [forward, backward] = expect_steps(c, run(c, way, stream), way, 0, what);
    // Bounds that no error comes near would accept anything.
    EXPECT_GT(forward, 0.02) << what;
    EXPECT_GT(backward, history == gru_history::save ? 0.04 : 0.005) << what;
  }
}

// Both sides of every border between instances and regimes.
TEST_F(gru_kernels, every_step_follows_from_the_step_before) {
  using enum gru_regime;
  const std::vector<gru_size> sizes =
      k_is_plain ? std::vector<gru_size>{{1},           {7},           {32},         {33},      {64},      {65},
                                         {128},         {129},         {150},        {256},     {257},     {1, cluster},
                                         {33, cluster}, {64, cluster}, {1, grid},    {8, grid}, {9, grid}, {31, grid},
                                         {1, product},  {33, product}, {70, product}}
                 : k_regimes;
  for (const gru_size& size : sizes)
    for (const int directions : {1, 2}) {
      if (size.hidden > 200 && directions == 2) continue;
      const int64_t time = size.hidden > 40 ? 3 : 5;
      expect_every_step(all_kinds(time, size.hidden == 7 ? 40 : 3, size.hidden, directions, 20 + size.hidden), size,
                        &stream);
    }
}

#if defined(GRU_TEST_PLAIN)
// More rows than a tile, than a block's lane groups take at a time, and in a grid than it takes at once.
TEST_F(gru_kernels, many_rows_keep_their_steps) {
  const auto expect = [&](int64_t batch, const gru_size& size) {
    const gru_shape s{2, batch, 2, size.hidden, 2};
    std::vector<int64_t> lengths;
    for (int64_t b = 0; b < batch; ++b) lengths.push_back(b % 7 == 2 ? 0 : b % 3 == 1 ? 1 : 2);
    expect_every_step(random_gru<double>(s, lengths, marks_at(s, {{1, 0}, {1, batch - 1}}), 25), size, &stream);
  };
  expect(31, {100, gru_regime::cluster});
  expect(101, {9, gru_regime::grid});
  expect(517, {4, gru_regime::grid});
  expect(67, {5, gru_regime::product});
}
#endif

TEST_F(gru_kernels, history_none_and_recompute_give_the_bits_of_save) {
  for (const gru_size& size : k_regimes) {
    const auto c = all_kinds(4, 3, size.hidden, 2, 30);
    const gru_result saved = run(c, {gru_history::save, size.regime}, &stream);
    for (const gru_history history : {gru_history::none, gru_history::recompute}) {
      const gru_result other = run(c, {history, size.regime}, &stream);
      EXPECT_EQ(other.y, saved.y);
      EXPECT_EQ(other.hn, saved.hn);
      EXPECT_TRUE(other.history.empty());
    }
  }
}

// A row's state does not care about chunks; sums over rows are cut by them.
TEST_F(gru_kernels, chunks_of_time_change_no_state) {
  for (const gru_size& size : k_regimes)
    for (const int directions : {1, 2}) {
      const auto c = all_kinds(5, 3, size.hidden, directions, 40);
      const gru_way way(gru_history::recompute, size.regime);
      const gru_result whole = run(c, way, &stream);
      for (const int64_t steps : {1, 2, 4}) {
        gru_config config = config_of(c.problem.shape, way, 1);
        const int64_t least = gru_backward_workspace_bytes(config);
        const int64_t step_bytes = 16 * directions * 5 * size.hidden;
        config.workspace_limit = least + (steps - 1) * step_bytes;
        ASSERT_EQ(gru_backward_plan(config).chunk_steps, steps) << size.name();
        ASSERT_LE(gru_backward_workspace_bytes(config), config.workspace_limit);
        const gru_result cut = run(c, way, &stream, config.workspace_limit);
        EXPECT_EQ(cut.y, whole.y);
        EXPECT_EQ(cut.hn, whole.hn);
        EXPECT_EQ(cut.dh0, whole.dh0);
        EXPECT_EQ(cut.dh_reset, whole.dh_reset);
        EXPECT_EQ(cut.trace_e, whole.trace_e);
        expect_steps(c, cut, way, config.workspace_limit, "chunks, " + size.name());
      }
    }
}

// Without lengths and marks weight gradients are products of matrices, which add to those of earlier chunks.
TEST_F(gru_kernels, chunks_of_full_rows_keep_their_steps) {
  for (const int directions : {1, 2}) {
    const auto c = random_gru<double>({5, 3, 4, 6, directions}, {}, {}, 42);
    gru_config config = config_of(c.problem.shape, gru_history::recompute, 1);
    const int64_t least = gru_backward_workspace_bytes(config), step_bytes = 16 * directions * 3 * 6;
    for (const int64_t steps : {1, 2, 3, 5}) {
      config.workspace_limit = least + (steps - 1) * step_bytes;
      ASSERT_EQ(gru_backward_plan(config).chunk_steps, steps);
      expect_steps(c, run(c, gru_history::recompute, &stream, config.workspace_limit), gru_history::recompute,
                   config.workspace_limit, "full rows in chunks");
    }
  }
  // More rows than one product takes.
  if (!k_is_plain) return;
  const auto many = random_gru<double>({2731, 3, 1, 1, 1}, {}, {}, 43);
  expect_steps(many, run(many, gru_history::save, &stream), gru_history::save, 0, "many full rows");
}

// A forward pass in chunks, too.
TEST_F(gru_kernels, a_forward_pass_in_chunks_gives_the_same_bits) {
  for (const gru_size& size : k_regimes) {
    const gru_way way(gru_history::none, size.regime);
    const auto c = all_kinds(5, 3, size.hidden, 2, 41);
    const gru_result whole = run(c, way, &stream);
    ASSERT_EQ(gru_forward_plan(config_of(c.problem.shape, way, 1)).chunk_steps, 1);
    const gru_result cut = run(c, way, &stream, 1);
    EXPECT_EQ(cut.y, whole.y) << size.name();
    EXPECT_EQ(cut.hn, whole.hn) << size.name();
  }
}

#if defined(GRU_TEST_PLAIN)  // the bits are the same in the slow flavours
// The slope of the reference's forward pass alone, at the kernel's inputs, against each gradient that the kernel wrote.
// The error of a difference of width 10^-16 is measured by halving it.
TEST_F(gru_kernels, each_gradient_of_the_kernel_is_a_difference_quotient) {
  for (const int directions : {1, 2}) {
    const gru_shape s{3, 3, 3, 2, directions};
    const auto c = random_gru<double>(s, {3, 2, 1}, marks_at(s, {{1, 0}, {0, 1}, {2, 1}}), 50, 3);
    const auto exact = random_gru<mp50>(s, {3, 2, 1}, marks_at(s, {{1, 0}, {0, 1}, {2, 1}}), 50, 3);
    for (const gru_history history : {gru_history::save, gru_history::recompute}) {
      const gru_result r = run(c, history, &stream);
      const auto gradients = gradients_of(r);
      const gru_config config = config_of(s, history);
      const auto radii = reference::gru_trajectory(
          c.problem, c.dy, c.dhn, accuracy_of(gru_forward_plan(config)), accuracy_of(gru_backward_plan(config)),
          history == gru_history::save ? reference::gru_gates::saved : reference::gru_gates::recomputed);
      ASSERT_TRUE(radii.usable()) << radii.largest;
      const auto tensors = gru_tensors<mp50>();
      const auto narrow = gru_tensors<double>();
      for (size_t tensor = 0; tensor < tensors.size(); ++tensor) {
        const std::vector<double>& actual = gradients.*narrow[tensor].gradient;
        ASSERT_EQ(actual.size(), (exact.problem.*tensors[tensor].value).size());
        for (size_t i = 0; i < actual.size(); ++i) {
          std::vector<mp50> unit(actual.size(), mp50(0));
          unit[i] = 1;
          const mp50 slope = gru_difference(exact, tensors[tensor], unit, mp50("1e-16"));
          const mp50 half = gru_difference(exact, tensors[tensor], unit, mp50("5e-17"));
          const double bound = reference::gru_radii::bound((radii.gradients.*narrow[tensor].gradient)[i]) +
                               2 * static_cast<double>(abs(mp50(slope - half)));
          const double error = static_cast<double>(abs(mp50(slope - actual[i])));
          EXPECT_LE(error, bound) << tensors[tensor].name << " " << i << ", history " << static_cast<int>(history);
        }
      }
    }
  }
}
// Nothing of the slope is the reference's: differences of the kernel's own forward pass against its own gradients.
// Parameters are multiples of 2^-10 and v of +-1, so that p +- c v and p +- 2 c v are exact in f32 for c = 2^-7. The
// reference says how large errors may be: the forward pass's at the four points, the gradient's, and the truncation of
//   slope = (4 s(c) - s(2c)) / 3,   s(c) = (L(p + c v) - L(p - c v)) / 2c,   L = <dy, y> + <dhn, hn>.
TEST_F(gru_kernels, the_kernels_gradient_is_the_kernels_slope) {
  constexpr double k_step = 0x1p-7;
  for (const int directions : {1, 2}) {
    const gru_shape s{3, 2, 3, 2, directions};
    const auto on_grid = [&](auto c) {
      for (const auto& tensor : gru_tensors<std::decay_t<decltype(c.dy[0])>>())
        for (auto& value : c.problem.*tensor.value) value = std::nearbyint(static_cast<double>(value) * 1024) / 1024;
      return c;
    };
    const auto c = on_grid(random_gru<double>(s, {3, 2}, marks_at(s, {{1, 0}, {2, 1}}), 150 + directions, 2));
    const auto exact = on_grid(random_gru<mp50>(s, {3, 2}, marks_at(s, {{1, 0}, {2, 1}}), 150 + directions, 2));
    gru_draw draw(151);
    gru_problem<double> v;
    for (const auto& tensor : gru_tensors<double>())
      for (size_t i = 0; i < (c.problem.*tensor.value).size(); ++i) (v.*tensor.value).push_back(draw.sign());
    const auto moved = [&](auto changed, auto by) {
      const auto narrow = gru_tensors<double>();
      const auto tensors = gru_tensors<std::decay_t<decltype(by)>>();
      for (size_t tensor = 0; tensor < tensors.size(); ++tensor)
        for (size_t i = 0; i < (v.*narrow[tensor].value).size(); ++i)
          (changed.problem.*tensors[tensor].value)[i] += by * (v.*narrow[tensor].value)[i];
      return changed;
    };
    const gru_config config = config_of(s, gru_history::save);
    const auto forward = accuracy_of(gru_forward_plan(config)), backward = accuracy_of(gru_backward_plan(config));
    const auto radii_at = [&](const gru_case<double>& at) {
      return reference::gru_trajectory(at.problem, c.dy, c.dhn, forward, backward, reference::gru_gates::saved);
    };
    // L of the kernel, and how far it may be from the exact one.
    const auto kernels = [&](double by, double* error) {
      const auto at = moved(c, by);
      const gru_result r = run(at, gru_history::none, &stream);
      const auto radii = radii_at(at);
      for (size_t i = 0; i < r.y.size(); ++i) *error += std::fabs(c.dy[i]) * reference::gru_radii::bound(radii.y[i]);
      for (size_t i = 0; i < r.hn.size(); ++i) *error += std::fabs(c.dhn[i]) * reference::gru_radii::bound(radii.hn[i]);
      return dot(c.dy, widened(r.y)) + dot(c.dhn, widened(r.hn));
    };
    double near = 0, far = 0;
    const double of_near = (kernels(k_step, &near) - kernels(-k_step, &near)) / (2 * k_step);
    const double of_far = (kernels(2 * k_step, &far) - kernels(-2 * k_step, &far)) / (4 * k_step);
    const double slope = (4 * of_near - of_far) / 3;
    const auto exactly = [&](const mp50& by) {
      return mp50((gru_objective(moved(exact, by)) - gru_objective(moved(exact, mp50(-by)))) / (2 * by));
    };
    const mp50 extrapolated = (4 * exactly(mp50(k_step)) - exactly(mp50(2 * k_step))) / 3;
    double allowed = 1.5 * std::max(near, far) / (2 * k_step) +
                     static_cast<double>(abs(mp50(extrapolated - exactly(mp50("1e-16")))));
    const auto gradients = gradients_of(run(c, gru_history::save, &stream));
    const auto radii = radii_at(c);
    double along = 0;
    for (const auto& tensor : gru_tensors<double>()) {
      along += dot(gradients.*tensor.gradient, v.*tensor.value);
      for (const double r : radii.gradients.*tensor.gradient) allowed += reference::gru_radii::bound(r);
    }
    EXPECT_LE(allowed, std::fabs(along) / 50) << "the case says too little";
    EXPECT_LE(std::fabs(along - slope), allowed);
  }
}

#endif

// A backward pass with its own history, one that made the gates anew, and one whose y and history are data.
TEST_F(gru_kernels, results_are_within_the_trajectorys_bounds) {
  using reference::gru_gates;
  const gru_shape s{20, 2, 4, 12, 2};
  const auto c = random_gru<double>(s, {20, 13}, marks_at(s, {{7, 0}}), 60, 1);
  const auto exact = reference::gru_forward(c.problem);
  for (const gru_gates gates : {gru_gates::saved, gru_gates::recomputed, gru_gates::given_history}) {
    const gru_history history = gates == gru_gates::recomputed ? gru_history::recompute : gru_history::save;
    const gru_config config = config_of(s, history);
    const gru_result r = run(c, history, &stream);
    const auto expected =
        reference::gru_backward(c.problem, gates == gru_gates::given_history ? states_of(r) : exact, c.dy, c.dhn);
    const auto radii = reference::gru_trajectory(c.problem, c.dy, c.dhn, accuracy_of(gru_forward_plan(config)),
                                                 accuracy_of(gru_backward_plan(config)), gates);
    ASSERT_TRUE(radii.usable()) << radii.largest;
    reference::gru_verdict states, gradients;
    const auto judge = [](reference::gru_verdict& verdict, const char* name, const std::vector<double>& exactly,
                          const std::vector<double>& radius, const std::vector<double>& actual) {
      ASSERT_EQ(actual.size(), exactly.size()) << name;
      for (size_t i = 0; i < actual.size(); ++i)
        verdict.take(name, i, actual[i], exactly[i], reference::gru_radii::bound(radius[i]));
    };
    judge(states, "y", exact.y, radii.y, widened(r.y));
    judge(states, "hn", exact.hn, radii.hn, widened(r.hn));
    if (history == gru_history::save) judge(states, "history", exact.history, radii.history, widened(r.history));
    const auto actual = gradients_of(r);
    for (const auto& tensor : gru_tensors<double>())
      judge(gradients, tensor.name, expected.*tensor.gradient, radii.gradients.*tensor.gradient,
            actual.*tensor.gradient);
    judge(gradients, "trace_e", expected.trace_e, radii.gradients.trace_e, actual.trace_e);
    EXPECT_TRUE(states.accepted()) << states.where;
    EXPECT_TRUE(gradients.accepted()) << gradients.where;
    EXPECT_GT(states.worst, 0.05);
    EXPECT_GT(gradients.worst, 0.005);
  }
}

// Saturated gates: 1 - z, 1 - n^2 and s far out in its tail.
TEST_F(gru_kernels, steep_gates_keep_their_steps) {
  const gru_shape s{4, 3, 3, 9, 2};
  for (const double scale : {30.0, 100.0}) {
    const auto c = random_gru<double>(s, {}, {}, 70, scale);
    for (const gru_history history : {gru_history::save, gru_history::recompute})
      expect_steps(c, run(c, history, &stream), history, 0, "steep");
  }
}

TEST_F(gru_kernels, padding_content_changes_nothing) {
  for (const gru_size& size : k_regimes)
    for (const gru_history history : {gru_history::save, gru_history::recompute}) {
      const auto c = all_kinds(4, 3, size.hidden, 2, 80);
      const gru_result clean = run(c, {history, size.regime}, &stream);
      const gru_result dirty = run(c, {history, size.regime}, &stream, 0, [](gru_case<double>& changed) {
        const gru_shape& s = changed.problem.shape;
        for (int64_t b = 0; b < s.batch; ++b)
          for (int64_t t = changed.problem.lengths[static_cast<size_t>(b)]; t < s.time; ++t) {
            for (int64_t i = 0; i < s.input; ++i) changed.problem.x[s.x(t, b, i)] = k_nan;
            for (int d = 0; d < s.directions; ++d)
              for (int64_t k = 0; k < s.hidden; ++k)
                changed.dy[s.y(t, b, d, k)] = std::numeric_limits<float>::infinity();
          }
      });
      EXPECT_TRUE(clean == dirty) << size.name();
    }
}

// Not 0 * Inf.
TEST_F(gru_kernels, dx_of_padding_is_zero_beside_infinite_weights) {
  const auto c = all_kinds(4, 3, 6, 2, 85);
  const gru_shape& s = c.problem.shape;
  const gru_result r = run(c, gru_history::save, &stream, 0, [](gru_case<double>& changed) {
    changed.problem.w_ih[4] = changed.problem.w_ih.back() = std::numeric_limits<double>::infinity();
  });
  for (int64_t b = 0; b < s.batch; ++b)
    for (int64_t t = c.problem.lengths[static_cast<size_t>(b)]; t < s.time; ++t)
      for (int64_t i = 0; i < s.input; ++i) EXPECT_EQ(r.dx[s.x(t, b, i)], 0.0f) << t << " " << b;
}

TEST_F(gru_kernels, null_pointers_are_zeros) {
  const auto c = all_kinds(4, 3, 6, 2, 90);
  const auto zero = [](gru_case<double>& changed) {
    for (auto* v : {&changed.problem.h0, &changed.problem.h_reset, &changed.dhn, &changed.dy})
      v->assign(v->size(), 0.0);
  };
  const auto null = [](gru_case<double>& changed) {
    for (auto* v : {&changed.problem.h0, &changed.problem.h_reset, &changed.dhn, &changed.dy}) v->clear();
  };
  EXPECT_TRUE(run(c, gru_history::save, &stream, 0, zero) == run(c, gru_history::save, &stream, 0, null));
  auto without_biases = c;
  without_biases.problem.b_ih.clear();
  without_biases.problem.b_hh.clear();
  without_biases.problem.lengths.clear();
  without_biases.problem.reset.clear();
  for (const gru_history history : {gru_history::save, gru_history::recompute})
    expect_steps(without_biases, run(without_biases, history, &stream), history, 0, "without biases");
}

TEST_F(gru_kernels, a_subset_of_gradients_equals_the_full_run) {
  const auto c = all_kinds(4, 3, 6, 2, 95);
  const gru_result full = run(c, gru_history::save, &stream);
  const gru_result inputs = run(c, gru_history::save, &stream, 0, nullptr, [](gru_grads& g) {
    const gru_grads all = g;
    g = {};
    g.dx = all.dx;
    g.dh0 = all.dh0;
  });
  EXPECT_EQ(inputs.dx, full.dx);
  EXPECT_EQ(inputs.dh0, full.dh0);
  const gru_result weights = run(c, gru_history::save, &stream, 0, nullptr, [](gru_grads& g) {
    g.dx = g.dh0 = g.dh_reset = g.trace_e = nullptr;
    g.dw_ih[0] = nullptr;
  });
  EXPECT_EQ(weights.dw_hh, full.dw_hh);
  EXPECT_EQ(weights.db_ih, full.db_ih);
  EXPECT_EQ(weights.db_hh, full.db_hh);
  const size_t half = full.dw_ih.size() / 2;
  for (size_t i = 0; i < full.dw_ih.size(); ++i)
    EXPECT_TRUE(i < half ? std::isnan(weights.dw_ih[i]) : weights.dw_ih[i] == full.dw_ih[i]) << i;
}

// No steps, no rows, no inputs, no units.
TEST_F(gru_kernels, empty_extents) {
  const auto expect_zeros = [](const std::vector<float>& v) {
    for (const float e : v) EXPECT_EQ(e, 0.0f);
  };
  const auto no_steps = random_gru<double>({0, 3, 2, 4, 2}, {}, {}, 100);
  const gru_result r = run(no_steps, gru_history::save, &stream);
  EXPECT_EQ(widened(r.hn), no_steps.problem.h0);
  EXPECT_EQ(widened(r.dh0), no_steps.dhn);
  for (const auto* v : {&r.dw_ih, &r.dw_hh, &r.db_ih, &r.db_hh, &r.dh_reset}) expect_zeros(*v);
  const gru_result no_rows = run(random_gru<double>({3, 0, 2, 4, 2}, {}, {}, 101), gru_history::save, &stream);
  for (const auto* v : {&no_rows.dw_ih, &no_rows.dw_hh, &no_rows.db_ih, &no_rows.db_hh}) expect_zeros(*v);
  const auto no_input = all_kinds(4, 0, 5, 2, 102);
  for (const gru_history history : {gru_history::save, gru_history::recompute})
    expect_steps(no_input, run(no_input, history, &stream), history, 0, "no input");
  expect_zeros(run(random_gru<double>({3, 2, 4, 0, 2}, {}, {}, 103), gru_history::save, &stream).dx);
}

const std::vector<const char*> k_schedules =
    k_is_plain ? std::vector<const char*>{"greedy", "reverse", "random:1", "random:2", "pct_warp:3", "preempt:4"}
               : std::vector<const char*>{"random:1", "preempt:4"};

TEST_F(gru_kernels, schedules_change_nothing) {
  for (const gru_size& size : k_regimes) {
    const auto c = all_kinds(3, 3, size.hidden, 2, 110);
    for (const gru_history history : {gru_history::save, gru_history::recompute}) {
      if (size.hidden > 7 && history == gru_history::recompute) continue;  // the same steps, and a product
      const gru_result fair = run(c, {history, size.regime}, &stream);
      for (const char* schedule : k_schedules) {
        simt::emulation other;
        other.schedule = simt::schedule::parse(schedule);
        EXPECT_TRUE(run(c, {history, size.regime}, &other) == fair) << schedule << ", " << size.name();
        EXPECT_TRUE(other.ok()) << schedule;
      }
    }
  }
}

// A row's results depend on nothing beside it: more rows, directions and multiprocessors, so other blocks.
TEST_F(gru_kernels, a_row_alone_has_the_bits_of_a_row_among_others) {
  for (const gru_size& size : k_regimes) {
    const int64_t hidden = size.hidden;
    const gru_shape s{3, 19, 2, hidden, 1};
    const gru_way way(gru_history::save, size.regime);
    const auto many = random_gru<double>(s, {}, {}, 120);
    if (size.regime != gru_regime::product) {
      ASSERT_GT(gru_forward_plan(config_of(s, way)).rows_per_block, 1);
    }
    const gru_result of_many = run(many, way, &stream);
    gru_case<double> one = many;
    const int64_t row = 17;
    const auto pick = [&](std::vector<double>& v, int64_t steps, int64_t width) {
      std::vector<double> picked;
      for (int64_t t = 0; t < steps; ++t)
        for (int64_t i = 0; i < width; ++i) picked.push_back(v[static_cast<size_t>((t * s.batch + row) * width + i)]);
      v = picked;
    };
    one.problem.shape.batch = 1;
    pick(one.problem.x, s.time, s.input);
    pick(one.problem.h0, 1, hidden);
    pick(one.problem.h_reset, 1, hidden);
    pick(one.dy, s.time, hidden);
    pick(one.dhn, 1, hidden);
    const gru_result alone = run(one, way, &stream);
    std::vector<double> y = widened(of_many.y), dh0 = widened(of_many.dh0), dx = widened(of_many.dx);
    pick(y, s.time, hidden);
    pick(dh0, 1, hidden);
    pick(dx, s.time, s.input);
    EXPECT_EQ(widened(alone.y), y);
    EXPECT_EQ(widened(alone.dh0), dh0);
    EXPECT_EQ(widened(alone.dx), dx);
  }
}

// Every argument is an x of its own, with weights of 1 and no state: r = z = s(x), n = tanh(x).
TEST_F(gru_kernels, gates_keep_their_error_and_their_special_values) {
  std::vector<float> arguments = {0.0f,   0x1p-149f, 0x1p-126f, 0x1p-24f,        0.5f,    0.55f, 1.0f,
                                  9.0f,   16.5f,     17.0f,     17.99f,          18.0f,   87.5f, 88.75f,
                                  103.5f, 104.0f,    1e10f,     0x1.fffffep127f, INFINITY};
  gru_draw draw(130);
  while (arguments.size() < 2000) {
    const float a =
        static_cast<float>(std::ldexp(1 + std::fabs(draw.uniform(1)), static_cast<int>(draw.bits() % 24) - 16));
    arguments.push_back(a);
  }
  const size_t half = arguments.size();
  for (size_t i = 0; i < half; ++i) arguments.push_back(-arguments[i]);
  gru_case<double> c;
  c.problem.shape = {static_cast<int64_t>(half), 2, 1, 1, 1};
  c.problem.w_ih = {1, 1, 1};
  c.problem.w_hh = {0, 0, 0};
  for (size_t i = 0; i < half; ++i) {
    c.problem.x.push_back(arguments[i]);
    c.problem.x.push_back(arguments[half + i]);
  }
  c.problem.reset.assign(2 * half, 1);  // no step has a state
  const gru_result r = run(c, gru_history::save, &stream);
  const auto gate = [&](size_t i, int block) {
    return r.history[c.problem.shape.history(0, static_cast<int64_t>(i % half), i < half ? 0 : 1, block, 0)];
  };
  for (size_t i = 0; i < arguments.size(); ++i) {
    const double a = arguments[i], s = 1 / (1 + std::exp(-a)), n = std::tanh(a);
    for (const int block : {0, 1}) {
      const double actual = gate(i, block);
      EXPECT_LE(std::fabs(actual - s), 8 * 0x1p-24 * s + 0x1p-126) << a;
      EXPECT_TRUE(actual >= 0 && actual <= 1) << a;
      EXPECT_TRUE(a > -104 || actual == 0) << a;
      EXPECT_TRUE(a < 18 || actual == 1) << a;
      EXPECT_TRUE(a != 0 || actual == 0.5);
    }
    EXPECT_LE(std::fabs(gate(i, 2) - n), 8 * 0x1p-24 * std::fabs(n) + 0x1p-126) << a;
    EXPECT_LE(std::fabs(gate(i, 2)), 1) << a;
    EXPECT_TRUE(i >= half || gate(i, 2) == -gate(half + i, 2)) << a;
  }
}

// A NaN in x is its row's affair, from its step on in each direction's order.
TEST_F(gru_kernels, a_nan_stays_in_its_row) {
  for (const gru_size& size : k_regimes) {
    const int64_t hidden = size.hidden;
    const gru_shape s{4, 3, 2, hidden, 2};
    const gru_way way(gru_history::save, size.regime);
    const auto c = random_gru<double>(s, {4, 4, 4}, {}, 140);
    const gru_result clean = run(c, way, &stream);
    const gru_result dirty =
        run(c, way, &stream, 0, [&](gru_case<double>& changed) { changed.problem.x[s.x(2, 1, 0)] = k_nan; });
    for (int64_t b = 0; b < s.batch; ++b)
      for (int d = 0; d < 2; ++d)
        for (int64_t k = 0; k < hidden; ++k) {
          for (int64_t t = 0; t < s.time; ++t) {
            const float actual = dirty.y[s.y(t, b, d, k)];
            if (b == 1 && (d == 0 ? t >= 2 : t <= 2))
              EXPECT_TRUE(std::isnan(actual)) << t;
            else
              EXPECT_EQ(actual, clean.y[s.y(t, b, d, k)]) << t;
          }
          const size_t state = s.state(d, b, k);
          if (b == 1) continue;
          EXPECT_EQ(dirty.hn[state], clean.hn[state]);
          EXPECT_EQ(dirty.dh0[state], clean.dh0[state]);
        }
    for (int64_t t = 0; t < s.time; ++t)
      for (const int64_t b : {0, 2})
        for (int64_t i = 0; i < s.input; ++i) EXPECT_EQ(dirty.dx[s.x(t, b, i)], clean.dx[s.x(t, b, i)]);
  }
}

std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
  return "nothing was thrown";
}

TEST_F(gru_kernels, mistakes_are_refused_in_a_sentence) {
  const auto plan = [](gru_config c) { return message_of([&] { gru_forward_plan(c); }); };
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
  const auto memory = poisoned(4096);
  float* const m = memory->data();
  const gru_config c{2, 3, 4, 5};
  gru_params params;
  params.w_ih[0] = m;
  params.w_hh[0] = m + 100;
  const gru_inputs inputs{m + 200};
  const int64_t bytes = gru_forward_workspace_bytes(c);
  const auto forward = [&](gru_inputs in, gru_outputs out, int64_t workspace_bytes) {
    return message_of([&] { gru_forward(c, params, in, out, m + 2000, workspace_bytes, &stream); });
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
    return message_of([&] {
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
}  // namespace warpcheck::self
