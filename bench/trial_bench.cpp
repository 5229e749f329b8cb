// Small cases per second that one core judges: softmax f32 up to 4 x 257 on the emulated device, drawn as `verify
// --max-rows 4 --max-cols 257` draws them, each under its default schedules, without and with the race detector. In
// `dispatched` cases the kernel's own dispatch picks the variant; in `forced` cases the case does, and some then run
// blocks of 1024 threads for a row of a few elements. Processes and journal are not included: `verify` prints the rate
// with them.
#include <benchmark/benchmark.h>

#include <vector>

#include "properties/engine/cases/generate.hpp"
#include "properties/engine/trials/run_case.hpp"

namespace warpcheck::bench {
namespace {

using namespace engine;

void small_cases(benchmark::State& state, bool forced, const char* detect) {
  const property& p = find_property("softmax", "within-error-bound");
  target t;
  for (const target& offered : find_targets("builtin", "softmax", "emulated"))
    if (offered.type == dtype::f32) t = offered;
  t.size = 1;
  t.max_rows = 4;
  t.max_cols = 257;
  constexpr size_t k_cases = 200;
  std::vector<trial_case> list;
  for (int64_t i = 0; list.size() < k_cases; ++i) {
    trial_case c = generate_case(p, t, 1, i);
    if ((c.knob("variant") != "auto") != forced) continue;
    c.knobs["detect"] = detect;
    list.push_back(std::move(c));
  }
  int64_t launches = 0;
  for (auto _ : state)
    for (const trial_case& c : list) {
      const case_report r = run_case(c);
      launches += r.launches;
      if (r.result != verdict::pass) state.SkipWithError(r.message.c_str());
    }
  state.counters["cases"] =
      benchmark::Counter(static_cast<double>(k_cases), benchmark::Counter::kIsIterationInvariantRate);
  state.counters["launches"] = benchmark::Counter(static_cast<double>(launches), benchmark::Counter::kIsRate);
}
BENCHMARK_CAPTURE(small_cases, dispatched_plain, false, "off")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(small_cases, dispatched_race, false, "on")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(small_cases, forced_plain, true, "off")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(small_cases, forced_race, true, "on")->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace warpcheck::bench

BENCHMARK_MAIN();
