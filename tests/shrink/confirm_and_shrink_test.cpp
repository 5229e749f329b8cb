// The ladder of what is done about a failure.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <stdexcept>

#include "properties/engine/cases/description.hpp"
#include "properties/engine/error.hpp"
#include "properties/engine/shrinking/shrink.hpp"
#include "tests/scratch_folder.hpp"

namespace warpcheck::engine {
namespace {

const std::string k_start =
    "v1 self/confirm_and_shrink x=f32[40x900] ld=903 fill=randn(7,1,3) edit=2,8:5 | y=f32[40x900] | mode=2 "
    "schedule=pct:3";
const std::string k_smallest = "v1 self/confirm_and_shrink x=f32[1x33] fill=constant(0) | y=f32[1x33] | schedule=fair";

trial_case start() { return parse_case(k_start, {{"mode", "1", ""}}); }

const description_registration described({"self",
                                          {{"rows"}, {"cols"}},
                                          {{"rows", {{"x", true, "rows, cols"}, {"y", false, "rows, cols"}}}}});

bool is_wrong(const trial_case& c) { return c.at("x").rows() > 0 && c.at("x").cols() > 32; }

case_report report(const trial_case& c, verdict v, const std::string& message = "") {
  case_report r;
  r.line = format(c);
  r.result = v;
  r.message = message;
  return r;
}

confirm_options options(std::function<case_report(const trial_case&)> run) {
  confirm_options o;
  o.run = std::move(run);
  return o;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(confirm_and_shrink, a_violation_is_repeated_and_shrunk_in_one_process) {
  // The processes that ran cases leave their ids in a file: this process must not be among them.
  const self::scratch_folder folder;
  const std::string file = folder.path("runs");
  const auto run = [&](const trial_case& c) {
    std::ofstream(file, std::ios::app) << getpid() << "\n";
    return report(c, is_wrong(c) ? verdict::violation : verdict::pass, is_wrong(c) ? "y[0,0] is wrong" : "");
  };
  const case_report r = confirm_and_shrink(report(start(), verdict::violation, "first"), start(), options(run));
  EXPECT_EQ(r.line, k_smallest);
  EXPECT_EQ(r.result, verdict::violation);
  EXPECT_TRUE(has(r.message, "y[0,0] is wrong; it failed in 3 of 3 fresh processes, and was shrunk in ")) << r.message;
  EXPECT_TRUE(has(r.neighbour, "fails at cols=33, passes at 32")) << r.neighbour;
  std::ifstream ids(file);
  std::set<pid_t> processes;
  for (pid_t pid = 0; ids >> pid;) processes.insert(pid);
  EXPECT_EQ(processes.count(getpid()), 0u);
  EXPECT_EQ(processes.size(), 3u + 1 + 1) << "three repeats, one search, one run under the detector";
}

TEST(confirm_and_shrink, a_crash_is_shrunk_case_by_case) {
  const auto run = [](const trial_case& c) {
    if (is_wrong(c)) std::abort();
    return report(c, verdict::pass);
  };
  const case_report r = confirm_and_shrink(report(start(), verdict::crash), start(), options(run));
  EXPECT_EQ(r.line, k_smallest);
  EXPECT_EQ(r.result, verdict::crash);
  EXPECT_TRUE(has(r.message, "killed by signal 6")) << r.message;
  EXPECT_TRUE(has(r.neighbour, "fails at cols=33, passes at 32")) << r.neighbour;
}

TEST(confirm_and_shrink, a_hang_is_repeated_once_and_shrunk_within_its_time) {
  const auto run = [](const trial_case& c) {
    while (is_wrong(c)) pause();
    return report(c, verdict::pass);
  };
  confirm_options o = options(run);
  o.timeout_seconds = 2;  // also for the harmless ones, on a busy machine
  o.shrink_seconds = 5;
  const case_report r = confirm_and_shrink(report(start(), verdict::timeout), start(), o);
  EXPECT_EQ(r.result, verdict::timeout);
  EXPECT_TRUE(has(r.message, "failed in 1 of 1 fresh process, and was shrunk in ")) << r.message;
  EXPECT_TRUE(is_wrong(parse_case(r.line, {{"mode", "1", ""}})));
  EXPECT_NE(r.line, k_start);
}

TEST(confirm_and_shrink, a_crash_on_the_way_does_not_end_the_search) {
  // Cases of few columns kill the process that searches.
  const auto run = [](const trial_case& c) {
    if (c.at("x").cols() < 20) std::_Exit(3);
    return report(c, is_wrong(c) ? verdict::violation : verdict::pass);
  };
  const case_report r = confirm_and_shrink(report(start(), verdict::violation), start(), options(run));
  EXPECT_EQ(r.line, k_smallest);
  EXPECT_EQ(r.result, verdict::violation);
}

TEST(confirm_and_shrink, what_does_not_fail_again_is_called_flaky_and_not_shrunk) {
  const auto passes = [](const trial_case& c) { return report(c, verdict::pass); };
  const case_report once =
      confirm_and_shrink(report(start(), verdict::violation, "y is wrong"), start(), options(passes));
  EXPECT_EQ(once.line, k_start);
  EXPECT_EQ(once.result, verdict::violation);
  EXPECT_TRUE(has(once.message, "y is wrong; it did not fail in 3 fresh processes: it is flaky, or depends on"))
      << once.message;

  const self::scratch_folder folder;
  const std::string file = folder.path("runs");
  const auto every_second = [&](const trial_case& c) {
    std::ofstream(file, std::ios::app) << "x";
    const auto times = std::filesystem::file_size(file);
    return report(c, times % 2 ? verdict::violation : verdict::pass, times % 2 ? "y is wrong" : "");
  };
  const case_report often =
      confirm_and_shrink(report(start(), verdict::violation, "y is wrong"), start(), options(every_second));
  EXPECT_EQ(often.line, k_start);
  EXPECT_TRUE(has(often.message, "flaky: it failed in 2 of 3 fresh processes")) << often.message;
}

TEST(confirm_and_shrink, the_detector_has_the_last_word) {
  const auto run = [](const trial_case& c) {
    if (!is_wrong(c)) return report(c, verdict::pass);
    if (c.knob("detect") != "only") return report(c, verdict::violation, "y is wrong");
    case_report r = report(c, verdict::race, "two threads write y[0]");
    r.findings = {"softmax.cu:12 and softmax.cu:15"};
    return r;
  };
  const case_report r = confirm_and_shrink(report(start(), verdict::violation), start(), options(run));
  EXPECT_EQ(r.result, verdict::violation);
  EXPECT_EQ(r.line, k_smallest);
  EXPECT_TRUE(has(r.message, "the detector reports race: two threads write y[0]")) << r.message;
  EXPECT_EQ(r.findings, std::vector<std::string>{"softmax.cu:12 and softmax.cu:15"});
  const trial_case on_gpu = [] {
    trial_case c = start();
    c.knobs["device"] = "cuda";
    return c;
  }();
  const case_report gpu = confirm_and_shrink(report(on_gpu, verdict::violation), on_gpu, options(run));
  EXPECT_FALSE(has(gpu.message, "detector")) << gpu.message;
}

TEST(confirm_and_shrink, the_detector_names_the_reason_of_a_refused_access) {
  const auto run = [](const trial_case& c) {
    if (!is_wrong(c)) return report(c, verdict::pass);
    case_report r = report(c, verdict::out_of_bounds, "under schedule fair");
    r.findings = {c.knob("detect") == "only" ? "misaligned: write of a 'float4'" : "access to an invalid address"};
    return r;
  };
  const case_report r = confirm_and_shrink(report(start(), verdict::out_of_bounds), start(), options(run));
  EXPECT_EQ(r.findings, std::vector<std::string>{"misaligned: write of a 'float4'"});
  EXPECT_FALSE(has(r.message, "the detector reports")) << r.message;
}

TEST(confirm_and_shrink, the_smallest_case_has_advice_unless_it_has_some_already) {
  std::string message = "y is wrong";
  const auto run = [&](const trial_case& c) {
    return is_wrong(c) ? report(c, verdict::violation, message) : report(c, verdict::pass);
  };
  confirm_options o = options(run);
  o.advise = [](const trial_case& c) { return format(c) == k_smallest ? "; state 'lacks cols%4'" : "; too early"; };
  const case_report advised = confirm_and_shrink(report(start(), verdict::violation), start(), o);
  EXPECT_TRUE(has(advised.message, "y is wrong; state 'lacks cols%4'; it failed in 3 of 3")) << advised.message;
  message = "y is wrong: state 'sums chain' (docs/bring_your_own)";
  const case_report known = confirm_and_shrink(report(start(), verdict::violation), start(), o);
  EXPECT_FALSE(has(known.message, "lacks")) << known.message;
}

TEST(confirm_and_shrink, what_a_case_throws_is_its_verdict) {
  // Neither the case itself nor one on the way to the smallest ends the search.
  const auto always = [](const trial_case&) -> case_report { throw environment_error("device cuda: none"); };
  const case_report r = confirm_and_shrink(report(start(), verdict::violation), start(), options(always));
  EXPECT_EQ(r.result, verdict::suite_error);
  EXPECT_TRUE(has(r.message, "device cuda: none; it failed in 3 of 3 fresh processes")) << r.message;
  const auto sometimes = [](const trial_case& c) {
    if (c.at("x").cols() < 20) throw usage_error("place: '' is not a number");
    if (c.at("x").cols() < 30) throw std::logic_error("no such row");
    return report(c, is_wrong(c) ? verdict::violation : verdict::pass);
  };
  const case_report found = confirm_and_shrink(report(start(), verdict::violation), start(), options(sometimes));
  EXPECT_EQ(found.line, k_smallest);
  EXPECT_EQ(found.result, verdict::violation);
}

double seconds_of(const std::function<void()>& body) {
  const auto begin = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

TEST(confirm_and_shrink, no_case_goes_beyond_the_time) {
  // A case whose one run takes longer than the time for all of them.
  confirm_options o = options([](const trial_case& c) {
    sleep(60);
    return report(c, verdict::violation);
  });
  o.shrink_seconds = 1;
  case_report r;
  EXPECT_LT(seconds_of([&] { r = confirm_and_shrink(report(start(), verdict::violation, "first"), start(), o); }), 20);
  EXPECT_EQ(r.line, k_start);
  EXPECT_EQ(r.message, "first; it was not repeated: a run takes longer than 1 s");
  // One that hangs once it is small.
  o.run = [](const trial_case& c) {
    while (c.at("x").cols() < 200) pause();
    return report(c, verdict::violation);
  };
  o.shrink_seconds = 3;
  EXPECT_LT(seconds_of([&] { r = confirm_and_shrink(report(start(), verdict::violation), start(), o); }), 30);
  EXPECT_EQ(r.result, verdict::violation);
  EXPECT_TRUE(has(r.message, ", until the 3 s for it were over")) << r.message;
  EXPECT_TRUE(simpler_than(parse_case(r.line, {{"mode", "1", ""}}), start())) << "what was found before counts";
}

TEST(confirm_and_shrink, an_interruption_ends_it_with_what_is_known) {
  const self::scratch_folder folder;
  const std::string file = folder.path("runs");
  confirm_options o = options([&](const trial_case& c) {
    std::ofstream(file, std::ios::app) << "x";
    if (std::filesystem::file_size(file) > 6) sleep(60);
    return report(c, verdict::violation);
  });
  o.stop = [&] { return std::filesystem::exists(file) && std::filesystem::file_size(file) > 6; };
  case_report r;
  EXPECT_LT(seconds_of([&] { r = confirm_and_shrink(report(start(), verdict::violation), start(), o); }), 30);
  EXPECT_TRUE(has(r.message, ", until it was interrupted")) << r.message;
  EXPECT_NE(r.line, k_start);
}

}  // namespace
}  // namespace warpcheck::engine
