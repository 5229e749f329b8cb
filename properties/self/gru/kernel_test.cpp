// The kernels of gated recurrent units against their reference: by steps, by trajectory, by differences of the
// reference's forward pass; and what the contract says of edges, padding, chunks and order.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "kernels/gru.hpp"
#include "kernels/simt/emulated_memory.hpp"
#include "kernels/simt/emulation.hpp"
#include "properties/self/gru/gru_problems.hpp"
#include "reference/gru_bound.hpp"
#include "reference/numerics/multiprecision.hpp"

namespace warpcheck::self {
namespace {

using reference::gru_gradients;
using reference::gru_problem;
using reference::gru_shape;
using reference::gru_states;
using reference::mp50;

constexpr float k_nan = std::numeric_limits<float>::quiet_NaN();

// Device memory that begins `offset` elements beside a boundary of 256 bytes and holds what it is given.
template <class T>
class device_vector {
 public:
  explicit device_vector(const std::vector<T>& values, size_t offset = 1)
      : size_(values.size()),
        data_(static_cast<T*>(simt::device_alloc(size_ * sizeof(T), offset * sizeof(T), sizeof(T)))) {
    if (size_ > 0) std::memcpy(data_, values.data(), size_ * sizeof(T));
  }
  ~device_vector() {
    EXPECT_EQ(simt::device_check(data_), INT64_MIN);
    simt::device_free(data_);
  }
  device_vector(const device_vector&) = delete;
  device_vector& operator=(const device_vector&) = delete;
  T* data() const { return data_; }
  std::vector<T> values() const { return std::vector<T>(data_, data_ + size_); }

 private:
  size_t size_;
  T* data_;
};
using output_vector = std::unique_ptr<device_vector<float>>;
// NaN, which nothing survives that is read before it is written; the race flavour reports the read itself.
output_vector poisoned(int64_t size) {
  auto v = std::make_unique<device_vector<float>>(std::vector<float>(static_cast<size_t>(size), k_nan));
  simt::mark_uninitialized(v->data(), static_cast<size_t>(size) * sizeof(float));
  return v;
}

struct gru_result {
  std::vector<float> y, hn, history, dx, dh0, dh_reset, dw_ih, dw_hh, db_ih, db_hh, trace_e;
  bool operator==(const gru_result&) const = default;
};

std::vector<double> widened(const std::vector<float>& v) { return {v.begin(), v.end()}; }
std::vector<float> narrowed(const std::vector<double>& v) { return {v.begin(), v.end()}; }

gru_states<double> states_of(const gru_result& r) { return {widened(r.y), widened(r.hn), widened(r.history)}; }
gru_gradients<double> gradients_of(const gru_result& r) {
  return {widened(r.dx),    widened(r.dh0),   widened(r.dh_reset), widened(r.dw_ih),
          widened(r.dw_hh), widened(r.db_ih), widened(r.db_hh),    widened(r.trace_e)};
}

gru_config config_of(const gru_shape& s, gru_history history, int64_t limit = 0) {
  return {s.time, s.batch, s.input, s.hidden, s.directions, history, limit};
}

// A null pointer where there are no elements and the contract allows one.
template <class T>
const T* pointer_or_null(const device_vector<T>& v) {
  return v.values().empty() ? nullptr : v.data();
}

// Both passes. `values` may differ from the problem's tensors (NaN in padding); an empty tensor is a null pointer.
gru_result run(const gru_case<double>& c, gru_history history, simt::emulation* stream, int64_t limit = 0,
               const std::function<void(gru_case<double>&)>& change = nullptr) {
  gru_case<double> changed = c;
  if (change) change(changed);
  const gru_problem<double>& p = changed.problem;
  const gru_shape& s = p.shape;
  const gru_config config = config_of(s, history, limit);
  const device_vector<float> x(narrowed(p.x)), w_ih(narrowed(p.w_ih)), w_hh(narrowed(p.w_hh), 3),
      b_ih(narrowed(p.b_ih));
  const device_vector<float> b_hh(narrowed(p.b_hh)), h0(narrowed(p.h0), 2), h_reset(narrowed(p.h_reset));
  const device_vector<float> dy(narrowed(changed.dy)), dhn(narrowed(changed.dhn));
  const device_vector<int64_t> lengths(p.lengths, 1);
  const device_vector<uint8_t> reset(p.reset, 1);
  const auto y = poisoned(s.y_size()), hn = poisoned(s.state_size());
  const auto saved = poisoned(gru_history_bytes(config) / 4);
  gru_params params;
  const int64_t ih = s.w_ih_size() / s.directions, hh = s.w_hh_size() / s.directions, bias = 3 * s.hidden;
  for (int d = 0; d < s.directions; ++d) {
    params.w_ih[d] = w_ih.data() + d * ih;
    params.w_hh[d] = w_hh.data() + d * hh;
    params.b_ih[d] = p.b_ih.empty() ? nullptr : b_ih.data() + d * bias;
    params.b_hh[d] = p.b_hh.empty() ? nullptr : b_hh.data() + d * bias;
  }
  const gru_inputs inputs{x.data(), pointer_or_null(h0), pointer_or_null(h_reset), pointer_or_null(lengths),
                          pointer_or_null(reset)};
  gru_result r;
  {
    const int64_t bytes = gru_forward_workspace_bytes(config);
    const auto workspace = poisoned(bytes / 4);
    gru_forward(config, params, inputs, {y->data(), hn->data(), saved->data()}, workspace->data(), bytes, stream);
  }
  r.y = y->values();
  r.hn = hn->values();
  r.history = saved->values();
  if (history == gru_history::none) return r;
  const auto dx = poisoned(s.x_size()), dh0 = poisoned(s.state_size()), dh_reset = poisoned(s.state_size());
  const auto dw_ih = poisoned(s.w_ih_size()), dw_hh = poisoned(s.w_hh_size());
  const auto db_ih = poisoned(p.b_ih.empty() ? 0 : s.bias_size()), db_hh = poisoned(p.b_hh.empty() ? 0 : s.bias_size());
  const auto trace = poisoned(s.trace_size());
  gru_grads grads{dx->data(), dh0->data(), dh_reset->data(), {}, {}, {}, {}, trace->data()};
  for (int d = 0; d < s.directions; ++d) {
    grads.dw_ih[d] = dw_ih->data() + d * ih;
    grads.dw_hh[d] = dw_hh->data() + d * hh;
    grads.db_ih[d] = p.b_ih.empty() ? nullptr : db_ih->data() + d * bias;
    grads.db_hh[d] = p.b_hh.empty() ? nullptr : db_hh->data() + d * bias;
  }
  const int64_t bytes = gru_backward_workspace_bytes(config);
  const auto workspace = poisoned(bytes / 4);
  gru_backward(config, params, inputs, y->data(), saved->data(), pointer_or_null(dy), pointer_or_null(dhn), grads,
               workspace->data(), bytes, stream);
  EXPECT_EQ(y->values(), r.y);
  EXPECT_EQ(saved->values(), r.history);
  r.dx = dx->values();
  r.dh0 = dh0->values();
  r.dh_reset = dh_reset->values();
  r.dw_ih = dw_ih->values();
  r.dw_hh = dw_hh->values();
  r.db_ih = db_ih->values();
  r.db_hh = db_hh->values();
  r.trace_e = trace->values();
  return r;
}

reference::gru_accuracy accuracy_of(const gru_plan& plan) {
  return {reference::dot_arithmetic::ieee, {plan.depth_i, 0}, {plan.depth_h, 0}, {plan.depth_tb, 0}};
}

void expect_steps(const gru_case<double>& c, const gru_result& r, gru_history history, int64_t limit,
                  const char* what) {
  const gru_config config = config_of(c.problem.shape, history, limit);
  const auto states = states_of(r);
  const auto forward = judge_gru_steps(c.problem, states, accuracy_of(gru_forward_plan(config)));
  EXPECT_TRUE(forward.accepted()) << what << ": " << forward.where;
  if (history == gru_history::none) return;
  const auto backward =
      judge_gru_gradient_steps(c.problem, states, c.dy, c.dhn, gradients_of(r), accuracy_of(gru_backward_plan(config)));
  EXPECT_TRUE(backward.accepted()) << what << ": " << backward.where;
  testing::Test::RecordProperty(what, std::to_string(forward.worst) + " " + std::to_string(backward.worst));
}

std::vector<uint8_t> marks_at(const gru_shape& s, std::initializer_list<std::pair<int64_t, int64_t>> places) {
  std::vector<uint8_t> marks(static_cast<size_t>(s.time * s.batch));
  for (const auto& [t, b] : places) marks[static_cast<size_t>(t * s.batch + b)] = 1;
  return marks;
}

// Rows of every kind: full, empty, of one step, ragged, longer than there are steps; marks at 0, in the middle, at the
// last step, beyond the row.
gru_case<double> all_kinds(int64_t time, int64_t input, int64_t hidden, int directions, uint64_t seed) {
  const gru_shape s{time, 5, input, hidden, directions};
  return random_gru<double>(s, {time, 0, 1, time - 1, time + 3},
                            marks_at(s, {{0, 0}, {2, 0}, {1, 2}, {time - 2, 3}, {time - 1, 3}, {time - 1, 4}}), seed);
}

class gru_kernels : public testing::Test {
 protected:
  ~gru_kernels() override {
    for (const simt::finding& f : stream.findings) ADD_FAILURE() << f.kind << ": " << f.text;
  }
  simt::emulation stream;
};

#if defined(GRU_TEST_PLAIN)
constexpr bool k_is_plain = true;
#else
constexpr bool k_is_plain = false;
#endif

// A size of each regime; in the slow flavours only the first, where both have been looked at for races.
std::vector<int64_t> sizes_of_regimes() { return k_is_plain ? std::vector<int64_t>{6, 130} : std::vector<int64_t>{6}; }

// Both sides of every border between instances and regimes.
TEST_F(gru_kernels, every_step_follows_from_the_step_before) {
  const std::vector<int64_t> sizes =
      k_is_plain ? std::vector<int64_t>{1, 7, 32, 33, 64, 65, 128, 129, 150} : std::vector<int64_t>{5, 130};
  for (const int64_t hidden : sizes)
    for (const int directions : {1, 2}) {
      const auto c = all_kinds(hidden > 40 ? 3 : 5, hidden == 7 ? 40 : 3, hidden, directions, 20 + hidden);
      for (const gru_history history : {gru_history::save, gru_history::recompute}) {
        const std::string what = "H " + std::to_string(hidden) + ", D " + std::to_string(directions) + ", history " +
                                 std::to_string(static_cast<int>(history));
        expect_steps(c, run(c, history, &stream), history, 0, what.c_str());
      }
    }
}

TEST_F(gru_kernels, history_none_and_recompute_give_the_bits_of_save) {
  for (const int64_t hidden : sizes_of_regimes()) {
    const auto c = all_kinds(4, 3, hidden, 2, 30);
    const gru_result saved = run(c, gru_history::save, &stream);
    for (const gru_history history : {gru_history::none, gru_history::recompute}) {
      const gru_result other = run(c, history, &stream);
      EXPECT_EQ(other.y, saved.y);
      EXPECT_EQ(other.hn, saved.hn);
      EXPECT_TRUE(other.history.empty());
    }
  }
}

// A row's state does not care about chunks; sums over rows are cut by them.
TEST_F(gru_kernels, chunks_of_time_change_no_state) {
  for (const int64_t hidden : sizes_of_regimes())
    for (const int directions : {1, 2}) {
      const auto c = all_kinds(5, 3, hidden, directions, 40);
      const gru_result whole = run(c, gru_history::recompute, &stream);
      for (const int64_t steps : {1, 2, 4}) {
        gru_config config = config_of(c.problem.shape, gru_history::recompute, 1);
        const int64_t least = gru_backward_workspace_bytes(config);
        const int64_t step_bytes = 16 * directions * 5 * hidden;
        config.workspace_limit = least + (steps - 1) * step_bytes;
        ASSERT_EQ(gru_backward_plan(config).chunk_steps, steps);
        ASSERT_LE(gru_backward_workspace_bytes(config), config.workspace_limit);
        const gru_result cut = run(c, gru_history::recompute, &stream, config.workspace_limit);
        EXPECT_EQ(cut.y, whole.y);
        EXPECT_EQ(cut.hn, whole.hn);
        EXPECT_EQ(cut.dh0, whole.dh0);
        EXPECT_EQ(cut.dh_reset, whole.dh_reset);
        EXPECT_EQ(cut.trace_e, whole.trace_e);
        expect_steps(c, cut, gru_history::recompute, config.workspace_limit, "chunks");
      }
    }
}

// A forward pass in chunks, too.
TEST_F(gru_kernels, a_forward_pass_in_chunks_gives_the_same_bits) {
  const auto c = all_kinds(5, 3, 6, 2, 41);
  const gru_result whole = run(c, gru_history::none, &stream);
  ASSERT_EQ(gru_forward_plan(config_of(c.problem.shape, gru_history::none, 1)).chunk_steps, 1);
  const gru_result cut = run(c, gru_history::none, &stream, 1);
  EXPECT_EQ(cut.y, whole.y);
  EXPECT_EQ(cut.hn, whole.hn);
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
#endif

TEST_F(gru_kernels, results_are_within_the_trajectorys_bounds) {
  const gru_shape s{20, 2, 4, 12, 2};
  const auto c = random_gru<double>(s, {20, 13}, marks_at(s, {{7, 0}}), 60, 1);
  const auto exact = reference::gru_forward(c.problem);
  const auto exact_gradients = reference::gru_backward(c.problem, exact, c.dy, c.dhn);
  const gru_config config = config_of(s, gru_history::save);
  const gru_result r = run(c, gru_history::save, &stream);
  const auto radii = reference::gru_trajectory(c.problem, c.dy, c.dhn, accuracy_of(gru_forward_plan(config)),
                                               accuracy_of(gru_backward_plan(config)), reference::gru_gates::saved);
  ASSERT_TRUE(radii.usable()) << radii.largest;
  reference::gru_verdict verdict;
  const auto judge = [&](const char* name, const std::vector<double>& expected, const std::vector<double>& radius,
                         const std::vector<float>& actual) {
    ASSERT_EQ(actual.size(), expected.size());
    for (size_t i = 0; i < actual.size(); ++i)
      verdict.take(name, i, actual[i], expected[i], reference::gru_radii::bound(radius[i]));
  };
  judge("y", exact.y, radii.y, r.y);
  judge("hn", exact.hn, radii.hn, r.hn);
  judge("history", exact.history, radii.history, r.history);
  judge("dx", exact_gradients.dx, radii.gradients.dx, r.dx);
  judge("dh0", exact_gradients.dh0, radii.gradients.dh0, r.dh0);
  judge("dh_reset", exact_gradients.dh_reset, radii.gradients.dh_reset, r.dh_reset);
  judge("dw_ih", exact_gradients.dw_ih, radii.gradients.dw_ih, r.dw_ih);
  judge("dw_hh", exact_gradients.dw_hh, radii.gradients.dw_hh, r.dw_hh);
  judge("db_ih", exact_gradients.db_ih, radii.gradients.db_ih, r.db_ih);
  judge("db_hh", exact_gradients.db_hh, radii.gradients.db_hh, r.db_hh);
  judge("trace_e", exact_gradients.trace_e, radii.gradients.trace_e, r.trace_e);
  EXPECT_TRUE(verdict.accepted()) << verdict.where;
  EXPECT_GT(verdict.worst, 0.01) << "the bounds say little";
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
  for (const int64_t hidden : sizes_of_regimes())
    for (const gru_history history : {gru_history::save, gru_history::recompute}) {
      const auto c = all_kinds(4, 3, hidden, 2, 80);
      const gru_result clean = run(c, history, &stream);
      const gru_result dirty = run(c, history, &stream, 0, [](gru_case<double>& changed) {
        const gru_shape& s = changed.problem.shape;
        for (int64_t b = 0; b < s.batch; ++b)
          for (int64_t t = changed.problem.lengths[static_cast<size_t>(b)]; t < s.time; ++t) {
            for (int64_t i = 0; i < s.input; ++i) changed.problem.x[s.x(t, b, i)] = k_nan;
            for (int d = 0; d < s.directions; ++d)
              for (int64_t k = 0; k < s.hidden; ++k)
                changed.dy[s.y(t, b, d, k)] = std::numeric_limits<float>::infinity();
          }
      });
      EXPECT_TRUE(clean == dirty) << hidden;
    }
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
  for (const int64_t hidden : sizes_of_regimes()) {
    const auto c = all_kinds(3, 3, hidden, 2, 110);
    for (const gru_history history : {gru_history::save, gru_history::recompute}) {
      if (hidden > 100 && history == gru_history::recompute) continue;  // the same steps, and a product
      const gru_result fair = run(c, history, &stream);
      for (const char* schedule : k_schedules) {
        simt::emulation other;
        other.schedule = simt::schedule::parse(schedule);
        EXPECT_TRUE(run(c, history, &other) == fair) << schedule << ", H " << hidden;
        EXPECT_TRUE(other.ok()) << schedule;
      }
    }
  }
}

// A row's results depend on nothing beside it: more rows, directions and multiprocessors, so other blocks.
TEST_F(gru_kernels, a_row_alone_has_the_bits_of_a_row_among_others) {
  for (const int64_t hidden : sizes_of_regimes()) {
    const gru_shape s{3, 19, 2, hidden, 1};
    const auto many = random_gru<double>(s, {}, {}, 120);
    ASSERT_GT(gru_forward_plan(config_of(s, gru_history::save)).rows_per_block, 1);
    const gru_result of_many = run(many, gru_history::save, &stream);
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
    const gru_result alone = run(one, gru_history::save, &stream);
    std::vector<double> y = widened(of_many.y), dh0 = widened(of_many.dh0), dx = widened(of_many.dx);
    pick(y, s.time, hidden);
    pick(dh0, 1, hidden);
    pick(dx, s.time, s.input);
    EXPECT_EQ(widened(alone.y), y);
    EXPECT_EQ(widened(alone.dh0), dh0);
    EXPECT_EQ(widened(alone.dx), dx);
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
