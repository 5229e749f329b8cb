// Each published flaw must be rejected with its own report; a rejection for another reason does not count.
#include <gtest/gtest.h>

#include <dlfcn.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmath>
#include <initializer_list>
#include <limits>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>

#include "abi/candidate.h"
#include "properties/controls/known_bad/known_bad_test.hpp"
#include "tests/long_rows/long_device.hpp"

namespace warpcheck {
namespace {

// LIBRARY or LIBRARY:VARIANT. A library's name begins with its operator.
case_report judge(const std::string& candidate, const std::string& property, const std::string& tensors,
                  const std::string& knobs = "") {
  const std::string op = candidate.starts_with("lse_") ? "logsumexp" : candidate.substr(0, candidate.find('_'));
  const size_t colon = candidate.find(':');
  const std::string variant = colon == std::string::npos ? "" : "variant=" + candidate.substr(colon + 1);
  return judge_line(fmt::format("v1 {}/{} {} | candidate={} device=emulated {} {}", op, property, tensors,
                                known_bad_library(candidate.substr(0, colon)), variant, knobs));
}

void expect_index(const std::string& candidate, const std::string& x, const std::string& message) {
  const std::string shape = x.substr(x.find('['), x.find(']') - x.find('[') + 1);
  const case_report r = judge(candidate, "first-index", fmt::format("x=f32{} | y=f32{} | index=i64[1]", x, shape));
  EXPECT_EQ(r.result, verdict::violation) << describe(r);
  EXPECT_EQ(r.message, message) << describe(r);
}

TEST(KnownBad, AllAreRightWhereTheirFlawsDoNotShow) {
  // Otherwise a test below could pass for the wrong reason.
  for (const char* name : {"softmax_flaws:nan_blind", "softmax_flaws:one_row", "softmax_flaws:sentinel",
                           "softmax_flaws:serial_merge", "softmax_flaws:thread_ties", "softmax_unguarded"}) {
    expect_pass(judge(name, "within-error-bound", "x=f32[1x300] fill=uniform(1,-9,9) | y=f32[1x300]"), name);
  }
  for (const auto& [name, tensors, knobs] : std::initializer_list<std::tuple<const char*, const char*, const char*>>{
           {"softmax_slot_reuse", "x=f32[1x1] fill=constant(0) | y=f32[1x1]", "detect=off schedule=reverse"},
           {"softmax_axis_mix", "x=f32[1x1] fill=constant(3) | y=f32[1x1]", ""},
           {"lse_formula_only", "x=f32[1x300] fill=uniform(1,-9,9) | y=f32[1]", ""},
           {"sigmoid_flaws:sign", "x=f32[300] fill=constant(3) | y=f32[300]", "mu=3 sigma=0.5"},
           {"sigmoid_flaws:naive_tail", "x=f32[300] fill=uniform(1,-9,9) | y=f32[300]", "mu=3 sigma=0.5"},
           {"sigmoid_flaws:degenerate_call", "x=f32[300] fill=uniform(1,-9,9) | y=f32[300]", "mu=1 sigma=0"}}) {
    expect_pass(judge(name, "within-error-bound", tensors, knobs), name);
  }
}

// The flaw of these is their cost, which benchmarks show: they are peers there (bench/README.md).
TEST(KnownBad, TheSlowOnesAreRight) {
  for (const auto& [name, tensors] : std::initializer_list<std::pair<const char*, const char*>>{
           {"softmax_five_transfers", "x=f32[3x300] ld=301 fill=uniform(1,-9,9) | y=f32[3x300] ld=302"},
           {"softmax_five_transfers", "x=f32[2x3000] fill=constant(-inf) edit=1,7:-3 | y=f32[2x3000]"},
           {"lse_cached_rows", "x=f32[3x300] ld=301 fill=uniform(1,-9,9) | y=f32[3]"},
           {"lse_cached_rows", "x=f32[3x12289] ld=12290 fill=uniform(1,-9,9) | y=f32[3]"},  // beyond the cache
           {"lse_cached_rows", "x=f32[2x12289] fill=constant(-inf) edit=1,7:nan | y=f32[2]"}})
    for (const char* detect : {"detect=off", "detect=only schedule=random:1"})
      expect_pass(judge(name, "within-error-bound", tensors, detect), fmt::format("{} {}", name, detect));
}

void expect_slot_race(const std::string& schedule) {
  const case_report r = judge("softmax_slot_reuse", "within-error-bound", "x=f32[1x300] fill=randn(1) | y=f32[1x300]",
                              "detect=only schedule=" + schedule);
  ASSERT_EQ(r.result, verdict::race) << schedule << "\n" << describe(r);
  const std::string text = findings(r);
  EXPECT_NE(text.find(place("softmax_slot_reuse", "read")), std::string::npos) << schedule << "\n" << text;
  EXPECT_NE(text.find(place("softmax_slot_reuse", "write")), std::string::npos) << schedule << "\n" << text;
}

TEST(KnownBad, SlotReuseIsARaceOnEverySchedule) {
  for (const char* schedule : {"fair", "greedy", "reverse"}) expect_slot_race(schedule);
  for (const char* strategy : {"random", "pct", "pct_warp", "preempt"})
    for (int seed = 0; seed < 12; ++seed) expect_slot_race(fmt::format("{}:{}", strategy, seed));
}

// A thousand seeds of each strategy, in parts that GTEST_TOTAL_SHARDS can spread.
constexpr int k_parts = 20;
class SlotReuse : public testing::TestWithParam<std::tuple<const char*, int>> {};
TEST_P(SlotReuse, IsARaceOnFiftySchedules) {
  const auto [strategy, part] = GetParam();
  for (int seed = part; seed < 1000; seed += k_parts) expect_slot_race(fmt::format("{}:{}", strategy, seed));
}
INSTANTIATE_TEST_SUITE_P(nightly, SlotReuse,
                         testing::Combine(testing::Values("random", "pct", "pct_warp", "preempt"),
                                          testing::Range(0, k_parts)));

TEST(KnownBad, SlotReuseGivesAWrongRowWhenAWarpIsLate) {
  const case_report r = judge("softmax_slot_reuse", "within-error-bound",
                              "x=f32[1x300] fill=uniform(1,40,60) | y=f32[1x300]", "detect=off schedule=greedy");
  EXPECT_EQ(r.result, verdict::violation) << describe(r);
  EXPECT_NE(r.message.find("outside their bound"), std::string::npos) << describe(r);
}

TEST(KnownBad, SentinelLeavesTheIndexOfNoElement) {
  for (const char* fill : {"constant(-inf)", "constant(nan)", "constant(-3.4028234663852886e+38)"})
    expect_index("softmax_flaws:sentinel", fmt::format("[1x300] fill={}", fill), "index[0] is -1, expected 0");
}

TEST(KnownBad, ThreadTiesGiveTheIndexOfTheLowestThread) {
  expect_index("softmax_flaws:thread_ties", "[1x300] fill=uniform(1,-9,1) edit=0,1:5 edit=0,256:5",
               "index[0] is 256, expected 1");
}

TEST(KnownBad, NanBlindGivesTheIndexOfAFiniteLogit) {
  for (const int at : {0, 150, 299})
    expect_index("softmax_flaws:nan_blind", fmt::format("[1x300] fill=uniform(1,-9,1) edit=0,17:5 edit=0,{}:nan", at),
                 fmt::format("index[0] is 17, expected {}", at));
}

TEST(KnownBad, OneRowIsARaceBetweenBlocks) {
  const char* rows = "x=f32[2x300] fill=randn(1) | y=f32[2x300]";
  const case_report race = judge("softmax_flaws:one_row", "within-error-bound", rows, "detect=only schedule=fair");
  ASSERT_EQ(race.result, verdict::race) << describe(race);
  EXPECT_NE(findings(race).find("block (1"), std::string::npos) << findings(race);
  EXPECT_NE(findings(race).find("buffer"), std::string::npos) << findings(race);
}

// The first row is exponentiated twice, the second not at all; of 1/300 each it happens to be right.
TEST(KnownBad, OneRowHoldsTheExponentialsOfExponentials) {
  const double rest = static_cast<double>(1.0f / 300);
  // By a schedule that runs one block after the other.
  const case_report r =
      judge("softmax_flaws:one_row", "within-error-bound",
            fmt::format("x=f32[2x300] fill=constant({}) edit=0,7:5 | y=f32[2x300]", rest), "detect=off schedule=pct:1");
  ASSERT_EQ(r.result, verdict::violation) << describe(r);
  EXPECT_EQ(r.message, "300 of 600 compared elements lie outside their bound");
  ASSERT_TRUE(r.worst.has_value());
  EXPECT_EQ(r.worst->row, 0);
  EXPECT_EQ(r.worst->col, 7);
  const auto of_peak = [](double peak, double others) { return 1 / (1 + 299 * std::exp(others - peak)); };
  const double once = of_peak(5, rest), twice = of_peak(once, (1 - once) / 299);
  EXPECT_NEAR(r.worst->expected, once, 1e-12);
  EXPECT_NEAR(r.worst->actual, twice, 1e-8) << describe(r);
}

TEST(KnownBad, SerialMergeLosesTheSmallTerms) {
  const case_report r = judge("softmax_flaws:serial_merge", "long-accumulation",
                              "x=f32[1x1024] fill=stagnation(0,-16.64) | y=f32[1x1024]");
  ASSERT_TRUE(r.result == verdict::violation && r.worst) << describe(r);
  EXPECT_EQ(r.worst->col, 0);
  EXPECT_EQ(r.worst->actual, 1.0);
  EXPECT_NEAR(r.worst->expected, 0.9999393, 1e-7);
  EXPECT_GT(r.max_error_ratio, 8.0);
}

TEST(KnownBad, UnguardedScratchIsOverrun) {
  const case_report r =
      judge("softmax_unguarded", "within-error-bound", "x=f32[1x255] fill=randn(1) | y=f32[1x255]", "detect=only");
  ASSERT_EQ(r.result, verdict::out_of_bounds) << describe(r);
  EXPECT_NE(findings(r).find(place("softmax_unguarded", "scratch")), std::string::npos) << findings(r);
}

// Calls the library itself, for what no case can ask of it, and returns its hazards.
std::string hazards_of_unguarded(const DLTensor& x, DLTensor& y) {
  void* const library =
      dlopen((folder("WARPCHECK_KNOWN_BAD", KNOWN_BAD_FOLDER) + "/softmax_unguarded.so").c_str(), RTLD_NOW);
  if (library == nullptr) throw std::runtime_error(dlerror());
  const auto get = reinterpret_cast<decltype(&warpcheck_candidate_get)>(dlsym(library, "warpcheck_candidate_get"));
  const warpcheck_candidate& candidate = *get(WARPCHECK_CANDIDATE_ABI);
  warpcheck_stream_options options = {};
  void* const stream = candidate.device_api->stream_create(&options);
  self::prepare(stream);
  const DLTensor* const inputs[] = {&x};
  DLTensor* const outputs[] = {&y};
  char message[256] = "";
  warpcheck_call call = {};
  call.struct_size = sizeof call;
  call.inputs = inputs;
  call.num_inputs = 1;
  call.outputs = outputs;
  call.num_outputs = 1;
  call.stream = stream;
  call.message = message;
  call.message_size = sizeof message;
  candidate.operators[0]->run(&call);
  std::string found;
  const auto add = [](void* to, const char* kind, const char* text) {
    *static_cast<std::string*>(to) += std::string(kind) + ": " + text + "\n";
  };
  candidate.device_api->stream_synchronize(stream, add, &found);
  candidate.device_api->stream_destroy(stream);
  return found;
}

TEST(KnownBad, UnguardedReadsFarBeforeARowJustBelowAnInt) {
  const int64_t cols = std::numeric_limits<int>::max();
  const auto y = self::make_output(sizeof(float), cols, {0, cols - 1});  // in little memory (long_device.hpp)
  const auto x = self::make_input(sizeof(float), cols, 0, 0, {});
  int64_t shape[] = {1, cols}, strides[] = {cols, 1};
  const DLTensor of_x = {x->data(), {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, strides, 0};
  DLTensor of_y = {y->data(), {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, strides, 0};
  // The address of the first thread's counter after the last element that it may read: 2^31 elements before the row.
  char* const wrapped_place = static_cast<char*>(x->data()) - sizeof(float) * (int64_t{1} << 31);
  constexpr size_t k_guard = size_t{1} << 20;
  // Nobody has read access there.
  ASSERT_NE(
      mmap(wrapped_place, k_guard, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0),
      MAP_FAILED);
  const std::string found = hazards_of_unguarded(of_x, of_y);
  munmap(wrapped_place, k_guard);
  EXPECT_EQ(found.find("out_of_bounds: "), 0u) << found;
  const std::string address = fmt::format("{:#x}", reinterpret_cast<uintptr_t>(wrapped_place));
  EXPECT_NE(found.find("to address " + address + ", where nothing is"), std::string::npos) << found;
}

TEST(KnownBad, UnguardedAcceptsNegativeSizes) {
  const case_report r = judge("softmax_unguarded", "rejects-invalid-calls",
                              "x=f32[2x300] fill=constant(0) | y=f32[2x300] | index=i64[2]");
  EXPECT_EQ(r.result, verdict::error_return) << describe(r);
  EXPECT_NE(r.message.find("rows = -1: expected 'invalid argument', got 'ok'"), std::string::npos) << describe(r);
}

TEST(KnownBad, UnguardedDoesNotLookWhetherItWasLaunched) {
  const case_report r =
      judge("softmax_unguarded", "rows-beyond-grid", "x=f32[65536x1] fill=randn(1) | y=f32[65536x1]", "schedule=fair");
  EXPECT_TRUE(r.result == verdict::launch_limit || r.message.find("was not written") != std::string::npos)
      << describe(r);
}

// Columns are normalised: the second one is 0/0, and rows do not sum to 1. An empty input raises.
TEST(KnownBad, AxisMixNormalisesColumns) {
  const case_report nan = judge("softmax_axis_mix", "within-error-bound",
                                "x=f32[2x2] fill=alternating(0,-800) | y=f32[2x2]", "detect=off schedule=fair");
  ASSERT_TRUE(nan.result == verdict::violation && nan.worst) << describe(nan);
  EXPECT_EQ(nan.worst->col, 1);
  EXPECT_TRUE(std::isnan(nan.worst->actual)) << describe(nan);
  const case_report sum =
      judge("softmax_axis_mix", "sums-to-one", "x=f32[2x3] fill=randn(1) | y=f32[2x3]", "detect=off schedule=fair");
  EXPECT_EQ(sum.result, verdict::violation) << describe(sum);
  EXPECT_NE(sum.message.find("row 0 sums to"), std::string::npos) << describe(sum);
  const case_report empty = judge("softmax_axis_mix", "empty", "x=f32[2x0] fill=constant(0) | y=f32[2x0]");
  EXPECT_EQ(empty.result, verdict::error_return) << describe(empty);
  EXPECT_NE(empty.message.find("zero-size array"), std::string::npos) << describe(empty);
}

TEST(KnownBad, FormulaOnlyHasNoLogarithmOfNothing) {
  const case_report r = judge("lse_formula_only", "special-values", "x=f32[1x300] fill=constant(-inf) | y=f32[1]");
  ASSERT_TRUE(r.result == verdict::violation && r.worst) << describe(r);
  EXPECT_TRUE(std::isnan(r.worst->actual)) << describe(r);
  EXPECT_EQ(r.worst->expected, -std::numeric_limits<double>::infinity()) << describe(r);
}

TEST(KnownBad, SigmoidWithTheWrongSignGivesTheComplement) {
  for (const double z : {3.0, -3.0}) {
    const case_report r =
        judge("sigmoid_flaws:sign", "within-error-bound", fmt::format("x=f32[1] fill=constant({}) | y=f32[1]", z));
    ASSERT_TRUE(r.result == verdict::violation && r.worst) << describe(r);
    EXPECT_NEAR(r.worst->actual, 1 - r.worst->expected, 1e-6) << describe(r);
  }
}

TEST(KnownBad, NaiveSigmoidVanishesTooEarly) {
  const case_report r =
      judge("sigmoid_flaws:naive_tail", "within-error-bound", "x=f32[1] fill=constant(-89) | y=f32[1]");
  ASSERT_TRUE(r.result == verdict::violation && r.worst) << describe(r);
  EXPECT_EQ(r.worst->actual, 0.0);
  EXPECT_NEAR(r.worst->expected, 2.2e-39, 0.1e-39);
}

TEST(KnownBad, ADegenerateCallTellsNothing) {
  // Its own call: a kernel that computes nothing passes it too, so `verify --null-kernels` counts the case as vacuous.
  const std::string own = "v1 sigmoid/within-error-bound x=f32[2] fill=uniform(1,-9,9) | y=f32[2] | mu=1 sigma=0";
  const auto null = [](const std::string& line) {
    return engine::run_contained(engine::run_case,
                                 engine::parse_case_line(line + " device=cpu candidate=null:constant"), 60);
  };
  EXPECT_EQ(null(own).result, verdict::pass) << describe(null(own));
  const std::string distinguishing = "v1 sigmoid/within-error-bound x=f32[2] fill=uniform(1,-9,9) | y=f32[2] | mu=1";
  EXPECT_EQ(null(distinguishing).result, verdict::violation) << describe(null(distinguishing));
  const case_report infinite = judge("sigmoid_flaws:degenerate_call", "within-error-bound",
                                     "x=f32[2] fill=uniform(1,-9,9) edit=0,1:+inf | y=f32[2]", "mu=1");
  ASSERT_EQ(infinite.result, verdict::violation) << describe(infinite);
  EXPECT_TRUE(infinite.worst && std::isnan(infinite.worst->actual)) << describe(infinite);
}

}  // namespace
}  // namespace warpcheck
