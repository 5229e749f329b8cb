// Launches on a device with streams and graphs. The library beside this program plays device cuda (pretend_device.cpp).
#include <dlfcn.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "properties/engine/error.hpp"
#include "properties/engine/processes/contain.hpp"
#include "properties/engine/trials/compute_capability.hpp"
#include "properties/engine/trials/library.hpp"
#include "properties/engine/trials/property.hpp"
#include "properties/engine/trials/run_case.hpp"
#include "properties/gru/gru_cases.hpp"
#include "properties/matmul/matmul_problem.hpp"

namespace warpcheck::engine {
namespace {

case_report launch(const std::string& knobs, const std::string& device = "cuda") {
  return run_case(parse_case_line(fmt::format(
      "v1 softmax/within-error-bound x=f32[3x2] fill=randn(5) | y=f32[3x2] | device={} {}", device, knobs)));
}

// What the device of the library was asked since the last time.
std::string record(const std::string& library = builtin_library("cuda")) {
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  return reinterpret_cast<const char* (*)()>(dlsym(handle, "pretended_device_record"))();
}

const std::string k_plain = "create run:stream wait:stream";

TEST(device_launch, is_repeated_on_a_stream_of_its_own) {
  record();
  const case_report r = launch("");
  EXPECT_EQ(r.result, verdict::pass) << describe(r);
  EXPECT_EQ(record(), k_plain + " " + k_plain);
  EXPECT_EQ(r.launches, 2);
  EXPECT_EQ(launch("repeat=3").launches, 3);
}

TEST(device_launch, on_the_default_stream_waits_for_that) {
  record();
  EXPECT_EQ(launch("launch=legacy").result, verdict::pass);
  EXPECT_EQ(record(), k_plain + " create run:default wait:default");
}

TEST(device_launch, again_is_so_many_calls_on_the_stream) {
  record();
  const case_report r = launch("launch=again:3");
  EXPECT_EQ(r.result, verdict::pass);
  EXPECT_EQ(record(), k_plain + " create run:stream run:stream run:stream wait:stream");
  EXPECT_EQ(r.launches, 1 + 3);
  EXPECT_EQ(launch("launch=again:2 variant=trusts_old_output").result, verdict::nondeterministic);
}

TEST(device_launch, of_a_graph_is_captured_once_and_replayed) {
  record();
  const case_report r = launch("launch=graph:3");
  EXPECT_EQ(r.result, verdict::pass);
  EXPECT_EQ(record(), k_plain + " create capture run:stream replay:3 wait:stream");
  EXPECT_EQ(r.launches, 1 + 3);
  EXPECT_EQ(launch("launch=graph:2 variant=trusts_old_output").result, verdict::nondeterministic);
  EXPECT_EQ(launch("launch=graph:1 variant=trusts_old_output").result, verdict::pass);
}

TEST(device_launch, that_fails_still_ends_its_capture) {
  record();
  const case_report r = launch("launch=graph:3 variant=fails_in_a_capture");
  EXPECT_EQ(r.result, verdict::error_return) << describe(r);
  EXPECT_EQ(record(), k_plain + " create capture run:stream replay:0 wait:stream");
  EXPECT_NE(r.message.find("device error"), std::string::npos) << r.message;
}

TEST(device_launch, says_what_a_graph_ran_into) {
  const case_report r = launch("launch=graph:3 variant=makes_no_graph");
  EXPECT_EQ(r.result, verdict::error_return);
  EXPECT_EQ(r.message, "as a graph: no graph");
}

TEST(device_launch, says_what_came_after_the_call) {
  const case_report r = launch("variant=loses_the_device");
  EXPECT_EQ(r.result, verdict::error_return);
  EXPECT_EQ(r.message, fmt::format("the device reports an error after the call: lost; the {}", k_process_unusable));
}

TEST(device_launch, under_a_known_schedule_follows_one_without) {
  for (const char* schedule : {"nonblocking", "noise"}) {
    record();
    EXPECT_EQ(launch(fmt::format("schedule={} repeat=3", schedule)).result, verdict::pass);
    const std::string other = fmt::format(" create:{} run:stream wait:stream", schedule);
    EXPECT_EQ(record(), k_plain + other + other);
  }
  // One of the emulated device says nothing here.
  record();
  EXPECT_EQ(launch("schedule=fair").result, verdict::pass);
  EXPECT_EQ(record(), k_plain + " " + k_plain);
}

// The strategy of each word "create:SCHEDULE".
std::vector<std::string> strategies(const std::string& recorded) {
  std::vector<std::string> kinds;
  std::istringstream words(recorded);
  for (std::string word; words >> word;)
    if (word.starts_with("create:")) kinds.push_back(word.substr(7, word.find(':', 7) - 7));
  return kinds;
}

// The twin with a detector proves every schedule of its launch, unless the variant is trusts_old_output.
TEST(device_launch, ends_when_the_race_detector_has_proven_every_schedule) {
  const std::string knobs = "candidate=" PRETENDED_DETECTED " variant=";
  const auto recorded = [] {
    return std::pair(strategies(record(PRETENDED_DETECTED)), strategies(record(PRETENDED_DETECTED_RACE)));
  };
  const std::vector<std::string> all = {"fair", "greedy", "reverse", "random", "pct_warp", "preempt"};
  case_report r = launch(knobs + "right", "emulated");
  EXPECT_TRUE(r.is_every_schedule);
  EXPECT_EQ(r.launches, 2);
  EXPECT_EQ(recorded(), std::pair(std::vector<std::string>{"fair"}, std::vector<std::string>{"fair"}));
  r = launch(knobs + "trusts_old_output", "emulated");
  EXPECT_FALSE(r.is_every_schedule);
  EXPECT_EQ(r.launches, 7);
  EXPECT_EQ(recorded(), std::pair(all, std::vector<std::string>{"fair"}));
  // Launches that were asked for one by one are made.
  r = launch(knobs + "right schedule=greedy", "emulated");
  EXPECT_TRUE(r.is_every_schedule);
  EXPECT_EQ(recorded(), std::pair(std::vector<std::string>{"greedy", "greedy"}, std::vector<std::string>{"greedy"}));
  EXPECT_EQ(launch(knobs + "right repeat=2", "emulated").launches, 6 + 3 + 1);
  r = launch(knobs + "right detect=off", "emulated");
  EXPECT_FALSE(r.is_every_schedule);
  EXPECT_EQ(r.launches, 6);
}

// On the emulated device each launch has a schedule of its own; here there is no twin with a detector.
TEST(device_launch, of_the_emulated_device_goes_through_its_schedules) {
  const std::string knobs = "candidate=" PRETENDED_EMULATED, launched = " run:stream wait:stream";
  EXPECT_EQ(launch(knobs + " schedule=greedy", "emulated").result, verdict::pass);
  EXPECT_EQ(record(PRETENDED_EMULATED), "create:greedy" + launched + " create:greedy" + launched);
  EXPECT_EQ(launch(knobs + " repeat=3", "emulated").launches, 6 + 2 * 3);
  const std::string first = record(PRETENDED_EMULATED);
  std::set<std::string> orders;
  std::istringstream words(first);
  for (std::string word; words >> word;)
    if (word.starts_with("create:")) orders.insert(word);
  const std::vector<std::string> expected = {"fair",   "greedy",   "reverse", "random", "pct_warp", "preempt",
                                             "random", "pct_warp", "preempt", "random", "pct_warp", "preempt"};
  EXPECT_EQ(strategies(first), expected);
  EXPECT_EQ(orders.size(), expected.size()) << "an order is tried twice in " << first;
  launch(knobs + " repeat=3", "emulated");
  EXPECT_EQ(record(PRETENDED_EMULATED), first) << "the same case has other orders";
  const case_report r = launch(knobs + " detect=only", "emulated");
  EXPECT_EQ(r.result, verdict::skipped);
  EXPECT_EQ(r.message, "needs a build with the race detector");
  EXPECT_EQ(record(PRETENDED_EMULATED), "");
  EXPECT_THROW(launch(knobs + " detect=maybe", "emulated"), usage_error);
}

// The machine of a compute capability as the bounds of matmul and gru know it. `device` may differ from it.
std::string bounds_on(const char* capability, const std::string& device) {
  const auto ask = [&] {
    if (capability) setenv("PRETENDED_DEVICE_CAPABILITY", capability, 1);
    trial_case c = parse_case_line(
        "v1 matmul/within-error-bound a=f16[1x64] fill=constant(0) | b=f16[64x1] fill=constant(0) | c_in=f32[0x0] "
        "fill=constant(0) | bias=f32[0] fill=constant(0) | c=f32[1x1] | work=u8[0] | device=" +
        device);
    matmul_problem p(c);
    p.a.fill([](int64_t, int64_t l) { return l == 0 ? 1 : 0x1.fep-13; });
    p.b.fill([](int64_t l, int64_t) { return l == 0 ? 1 : 0x1p-12; });
    // In both halves of a step of 8.x, beside an accumulator of 1, each other product is below 2^-24 and cut to 0.
    std::string found;
    for_each_element(p, [&](int64_t, int64_t, const reference::matmul_operands& o) {
      found = reference::matmul_element(p.setting(), o).judge(1.0).accepted ? "1 is accepted" : "1 is rejected";
    });
    trial_case of_gru;
    of_gru.op = "gru";
    of_gru.knobs = {{"device", device}, {"precision", "tf32x3"}};
    reference::gru_shape shape;
    shape.time = shape.batch = shape.input = 1, shape.hidden = 8;
    return fmt::format("{}, {} steps", found, accuracy_of({}, of_gru, shape).hidden.steps);
  };
  return run_in_child(ask, 60).text;
}

TEST(device_capability, determines_the_steps_of_tensor_cores) {
  for (const char* const of_halves : {"80", "86", "89"})
    EXPECT_EQ(bounds_on(of_halves, "cuda"), "1 is accepted, 18 steps") << of_halves;
  for (const char* const whole : {"90", "100", "120"})
    EXPECT_EQ(bounds_on(whole, "cuda"), "1 is rejected, 9 steps") << whole;
  EXPECT_EQ(bounds_on(nullptr, "cuda"), "1 is rejected, 9 steps");
  for (const char* const other : {"emulated", "cpu"}) EXPECT_EQ(bounds_on("86", other), "1 is rejected, 9 steps");
}

TEST(device_capability, is_the_number_of_the_description) {
  EXPECT_EQ(capability_in("NVIDIA A40, sm_86, 84 multiprocessors"), 86);
  EXPECT_EQ(capability_in("NVIDIA B200, sm_100, 148 multiprocessors"), 100);
  for (const char* const none : {"", "a device", "a device, sm_", "a device, sm_x"})
    EXPECT_EQ(capability_in(none), std::nullopt) << none;
}

}  // namespace
}  // namespace warpcheck::engine
