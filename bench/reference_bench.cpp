// Elements per second and core that the reference judges on softmax rows of 4096: adaptive precision beside plain
// evaluation with 100 digits. Actual values are the correctly rounded ones moved by a few ulp, like a kernel's.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <random>
#include <vector>

#include "reference/numerics/float_value.hpp"
#include "reference/numerics/multiprecision.hpp"
#include "reference/softmax/softmax.hpp"

namespace {

using warpcheck::dtype;
namespace reference = warpcheck::reference;

constexpr int64_t k_columns = 4096;

struct judged_row {
  std::vector<double> x;
  std::vector<double> y;
};

judged_row make_row(double low, double high) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<float> value(static_cast<float>(low), static_cast<float>(high));
  judged_row row;
  for (int64_t i = 0; i < k_columns; ++i) row.x.push_back(value(random));
  const reference::softmax_row model(row.x, dtype::f32);
  for (int64_t i = 0; i < k_columns; ++i) {
    double y = reference::round_to(dtype::f32, model.expected(i));
    for (uint64_t steps = random() % 4; steps > 0; --steps) y = reference::next_up(dtype::f32, y);
    row.y.push_back(y);
  }
  return row;
}

void judge(benchmark::State& state, reference::precision policy, double low, double high) {
  const judged_row row = make_row(low, high);
  reference::tally total;
  for (auto _ : state) {
    const reference::softmax_row model(row.x, dtype::f32, policy);
    for (int64_t i = 0; i < k_columns; ++i) total.add(i, model.judge(i, row.y[static_cast<size_t>(i)]));
    benchmark::DoNotOptimize(total);
  }
  if (total.rejected > 0) state.SkipWithError("the reference rejected a correct value");
  state.SetItemsProcessed(state.iterations() * k_columns);
  state.counters["needed_multiprecision"] =
      static_cast<double>(total.needed_50_digits + total.needed_100_digits) / static_cast<double>(total.compared);
  state.counters["error ratio"] = total.max_error_ratio;
}

void adaptive_narrow(benchmark::State& state) { judge(state, reference::precision::adaptive, -5, 5); }
void adaptive_wide(benchmark::State& state) { judge(state, reference::precision::adaptive, -104, 0); }
void digits100_narrow(benchmark::State& state) { judge(state, reference::precision::digits100, -5, 5); }
void digits100_wide(benchmark::State& state) { judge(state, reference::precision::digits100, -104, 0); }

// The least work of any evaluation in 100 digits: one sum of exponentials, then exp and a quotient per element; no
// bound and no verdict.
void digits100_values_only(benchmark::State& state) {
  using reference::mp100;
  const judged_row row = make_row(-5, 5);
  for (auto _ : state) {
    mp100 sum = 0;
    for (const double x : row.x) sum += exp(mp100(x));
    for (const double x : row.x) benchmark::DoNotOptimize(mp100(exp(mp100(x)) / sum));
  }
  state.SetItemsProcessed(state.iterations() * k_columns);
}

BENCHMARK(adaptive_narrow)->Unit(benchmark::kMicrosecond);
BENCHMARK(adaptive_wide)->Unit(benchmark::kMicrosecond);
BENCHMARK(digits100_narrow)->Unit(benchmark::kMicrosecond);
BENCHMARK(digits100_wide)->Unit(benchmark::kMicrosecond);
BENCHMARK(digits100_values_only)->Unit(benchmark::kMicrosecond);

}  // namespace

BENCHMARK_MAIN();
