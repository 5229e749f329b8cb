// How many small cases a second one core puts on trial: softmax f32 up to 4 x 257 on the emulated device, as `verify
// --max-rows 4 --max-cols 257` generates them, each under its default schedules. Processes and journal are not in it:
// `verify` prints the rate with them.
#include <benchmark/benchmark.h>

#include <vector>

#include "properties/engine/generate.hpp"
#include "properties/engine/run_case.hpp"

namespace warpcheck::bench {
namespace {

using namespace engine;

void small_cases(benchmark::State& state, const char* property_name, const char* detect) {
  const property& p = find_property("softmax", property_name);
  target t;
  for (const target& offered : find_targets("builtin", "softmax", "emulated"))
    if (offered.type == dtype::f32) t = offered;
  t.size = 1;
  t.max_rows = 4;
  t.max_cols = 257;
  constexpr int64_t k_cases = 200;
  std::vector<trial_case> list;
  for (int64_t i = 0; i < k_cases; ++i) {
    list.push_back(generate_case(p, t, 1, i));
    list.back().knobs["detect"] = detect;
  }
  int64_t launches = 0;
  for (auto _ : state)
    for (const trial_case& c : list) {
      const case_report r = run_case(c);
      launches += r.launches;
      if (r.result != verdict::pass) state.SkipWithError(r.message.c_str());
    }
  state.counters["cases/s"] =
      benchmark::Counter(static_cast<double>(k_cases), benchmark::Counter::kIsIterationInvariantRate);
  state.counters["launches/s"] = benchmark::Counter(static_cast<double>(launches), benchmark::Counter::kIsRate);
}
BENCHMARK_CAPTURE(small_cases, bound_plain, "component-bound", "off")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(small_cases, bound_race, "component-bound", "on")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(small_cases, permutation_plain, "permutation", "off")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(small_cases, permutation_race, "permutation", "on")->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace warpcheck::bench

BENCHMARK_MAIN();
