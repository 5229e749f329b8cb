// The schedule certificate: who gets one, what denies it, and that certified kernels give the same bits under random
// schedules. The first argument is their number for each kernel.
#include <gtest/gtest.h>

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include "simt/emulated/notices.hpp"
#include "simt/emulated/vector_clock.hpp"
#include "tests/simt/certificate_kernels.hpp"
#include "tests/simt/device_array.hpp"

namespace warpcheck::self {
namespace {

unsigned schedules = 60;

std::vector<int> outcome(const certificate_trial& trial, const std::string& schedule, simt::emulation& stream) {
  device_array<int> out(k_certificate_words);
  stream.schedule = simt::schedule::parse(schedule);
  try {
    trial.run(out.data(), &stream);
  } catch (const simt::device_error&) {  // the stream has the finding
  }
  return {out.data(), out.data() + out.size()};
}

std::string text_of(const simt::emulation& stream) {
  std::string text;
  for (const simt::schedule_choice& c : stream.choices) text += c.what + "; ";
  return text;
}

class certificates : public testing::TestWithParam<certificate_trial> {
 protected:
  void SetUp() override { simt::tolerate(simt::tolerance::benign); }
  void TearDown() override {
    simt::take_notices();
    simt::tolerate(simt::tolerance::none);
  }
};

TEST_P(certificates, are_given_and_denied) {
  for (const char* schedule : {"fair", "greedy", "reverse", "random:1", "pct_warp:1", "preempt:1"}) {
    simt::emulation stream;
    outcome(GetParam(), schedule, stream);
    const bool is_first = std::string(schedule) == "fair";
    const std::string choice = GetParam().choice;
    // Another schedule than the first may show a flaw.
    if (is_first || choice.empty()) {
      EXPECT_TRUE(stream.ok()) << stream.findings.front().text;
    }
    if (choice.empty()) {
      EXPECT_EQ(stream.certified, stream.launches) << schedule << ": " << text_of(stream);
      EXPECT_TRUE(stream.choices.empty()) << text_of(stream);
    } else {
      EXPECT_EQ(stream.certified, 0u) << schedule;
      EXPECT_TRUE(!stream.ok() || text_of(stream).find(choice) != std::string::npos)
          << schedule << ": " << text_of(stream);
    }
    stream.clear();
    EXPECT_EQ(stream.certified, 0u);
    EXPECT_TRUE(stream.choices.empty());
  }
}

// The certificate counts, not the trial's list: a kernel that gets one wrongly shows it by its bits.
TEST_P(certificates, promise_the_same_bits_under_every_schedule) {
  simt::emulation first;
  const std::vector<int> expected = outcome(GetParam(), "fair", first);
  if (first.certified < first.launches) return;
  for (unsigned seed = 0; seed < schedules; ++seed) {
    const char* const strategies[] = {"random:", "pct_warp:", "preempt:", "pct:"};
    simt::emulation stream;
    stream.resident_blocks = 1 + seed % 5;
    const std::string schedule = strategies[seed % 4] + std::to_string(seed);
    ASSERT_EQ(outcome(GetParam(), schedule, stream), expected) << schedule;
    ASSERT_TRUE(stream.ok()) << schedule << ": " << stream.findings.front().text;
    ASSERT_EQ(stream.certified, stream.launches) << schedule << ": " << text_of(stream);
  }
}

std::string name_of(const testing::TestParamInfo<certificate_trial>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(kernels, certificates, testing::ValuesIn(certificate_trials()), name_of);
INSTANTIATE_TEST_SUITE_P(asking, certificates, testing::ValuesIn(asking_trials()), name_of);

certificate_trial trial_named(const std::string& name) {
  for (const certificate_trial& t : certificate_trials())
    if (t.name == name) return t;
  throw std::invalid_argument(name);
}

TEST(certificate, needs_the_detector) {
  simt::emulation stream;
  stream.detect = false;
  outcome(trial_named("plain"), "fair", stream);
  EXPECT_EQ(stream.certified, 0u);
}

// What was forgotten cannot be compared with what comes.
TEST(certificate, is_lost_with_the_launchs_history) {
  simt::limit_names(1);
  simt::emulation stream;
  stream.resident_blocks = 1;
  outcome(trial_named("plain"), "fair", stream);
  simt::limit_names(simt::k_max_instance / 2);
  EXPECT_EQ(stream.certified, 0u);
  EXPECT_NE(text_of(stream).find("too large to remember"), std::string::npos) << text_of(stream);
}

}  // namespace
}  // namespace warpcheck::self

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc > 1) warpcheck::self::schedules = static_cast<unsigned>(std::atoi(argv[1]));
  return RUN_ALL_TESTS();
}
