// What an honest call may take in another process, by calls of ours that took turns with it there.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

namespace warpcheck::bench {

// Turns of a set, after the first one, which loads the kernels. If an honest call's excess in another process has the
// distribution of ours, its least of a set is above the middle one of ours (the fourth of eight) in
// C(12, 8) / C(16, 8) = 3.8 % of the sets: k_sets sets in a row refuse it once in 17,000 rows.
inline constexpr int k_turns_of_set = 8, k_sets = 3;

// A call of our own whose time by the device's clock is known, and its times elsewhere.
struct known_call {
  double device_us = 0;
  std::vector<double> us;  // of each turn of a set
};

// Launches, messages and reading results take as long as those of a tiny call, and the clocks of two processes agree as
// far as they do for a call that moves as many bytes.
struct yardstick {
  known_call tiny, alike;

  // Returns the most that a call of this time by the device's clock may take elsewhere.
  double most_us(double device_us) const {
    std::vector<double> launch_us, share;
    for (size_t turn = 0; turn < tiny.us.size(); ++turn) {
      const double of_tiny = tiny.us[turn] - tiny.device_us, of_alike = alike.us[turn] - alike.device_us;
      launch_us.push_back(of_tiny);
      share.push_back(std::abs(of_alike - of_tiny) / alike.device_us);
    }
    return middle(launch_us) + (1 + middle(share)) * device_us;
  }

 private:
  static double middle(std::vector<double> values) {
    const auto at = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
    std::nth_element(values.begin(), at, values.end());
    return *at;
  }
};

// The time that a candidate's process reported, and its turns elsewhere.
class claimed_time {
 public:
  explicit claimed_time(double us) : us_(us) {}

  void add(double elsewhere_us) { least_us_ = std::min(least_us_, elsewhere_us); }
  // Ends a set of turns.
  void judge(const yardstick& measure) {
    most_us_ = measure.most_us(us_);
    is_confirmed_ = least_us_ <= most_us_;
  }
  bool is_confirmed() const { return is_confirmed_; }
  double us() const { return us_; }
  double least_us() const { return least_us_; }
  double most_us() const { return most_us_; }

 private:
  double us_, most_us_ = 0, least_us_ = std::numeric_limits<double>::infinity();
  bool is_confirmed_ = false;
};

}  // namespace warpcheck::bench
