#include "bench/confirmation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <list>

#include "bench/statistics.hpp"
#include "bench/time_elsewhere.hpp"
#include "bench/yardstick.hpp"

namespace warpcheck::bench {
namespace {

using engine::bench_row;
using engine::description;

const description& known_operator() { return *engine::find_description(k_known_operator); }

// Returns a row of the known operator that moves about as many bytes.
bench_row row_of(size_t bytes) {
  constexpr int64_t k_least = 16, k_cols = 1024;
  bench_row row = known_operator().bench.rows.front();
  const int64_t elements = std::max(k_least, static_cast<int64_t>(bytes / 2 / sizeof(float)));
  const int64_t cols = std::min(elements, k_cols);
  row.of = {{"rows", elements / cols}, {"cols", cols}};
  return row;
}

// A kernel's turns for a row, and the device that they use.
class distant_turns {
 public:
  // Slots have room for `least` bytes of each kind.
  distant_turns(const description& d, const bench_row& row, const distant_kernel& k, int slots, const traffic& least)
      : device_{*k.api, engine::dl_device(*k.op), k.stream, host_timing(*k.api, slots), k.limit} {
    device_.timing.allocate = [allocate = device_.timing.allocate, least](size_t in, size_t out) {
      return allocate(std::max(in, least.in), std::max(out, least.out));
    };
    turns_.emplace(d, row, device_, *k.op);
  }
  double turn() { return turns_->turn(); }

 private:
  bench_device device_;
  std::optional<turns_elsewhere> turns_;
};

// The turns of a call of ours, whose time by the device's clock is measured first.
class known_turns {
 public:
  known_turns(const bench_row& row, const known_kernel& k, int slots, const traffic& least)
      : row_(row), elsewhere_(known_operator(), row_, k.elsewhere, slots, least) {
    timed_call call(known_operator(), row_, *k.device);
    timed_run run;
    run.run = [&](int i) { call.run(*k.here, i); };
    run.wait = [&] { k.device->wait(); };
    times_.device_us = median(k.device->timing.in_turn({run}).front());
  }
  void begin_set() { times_.us.clear(); }
  void turn(bool counts) {
    const double us = elsewhere_.turn();
    if (counts) times_.us.push_back(us);
  }
  const known_call& times() const { return times_; }

 private:
  bench_row row_;
  distant_turns elsewhere_;
  known_call times_;
};

// A kernel and its claim.
class claim_on_trial {
 public:
  claim_on_trial(const description& d, const bench_row& row, const distant_kernel& k, int slots, double us)
      : name_(k.name), claim_(us), turns_(d, row, k, slots, traffic{}) {}

  bool is_open() const { return problem_.empty() && !claim_.is_confirmed(); }
  // A result that is wrong ends the turns.
  void turn() {
    if (!is_open()) return;
    try {
      claim_.add(turns_.turn());
    } catch (const std::exception& e) {
      problem_ = e.what();
    }
  }
  void judge(const yardstick& measure) {
    if (is_open()) claim_.judge(measure);
  }

  // Prints a line.
  bool is_confirmed(const std::string& row) const {
    if (!problem_.empty()) {
      fmt::print("{}, {}: in a process of its own it fails: {}\n", row, name_, problem_);
      return false;
    }
    fmt::print(
        "{}, {}: {:.2f} us with its launch in a process of its own, by the clock of another: this {} {:.2f} us, for "
        "which an honest call takes up to {:.2f} us there\n",
        row, name_, claim_.least_us(), claim_.is_confirmed() ? "confirms" : "does not confirm", claim_.us(),
        claim_.most_us());
    return claim_.is_confirmed();
  }

 private:
  std::string name_, problem_;
  claimed_time claim_;
  distant_turns turns_;
};

}  // namespace

bool confirm_row(const description& d, const bench_row& row, const times_by_name& claims,
                 const std::vector<distant_kernel>& kernels, const known_kernel& known) {
  const traffic moved = traffic_of(d, row), alike = {bytes_alike(moved) / 2, bytes_alike(moved) / 2};
  const int slots = slots_elsewhere(moved);
  known_turns tiny(row_of(0), known, slots, alike), as_large(row_of(bytes_alike(moved)), known, slots, alike);
  std::list<claim_on_trial> all;
  for (const distant_kernel& k : kernels)
    if (claims.contains(k.name)) all.emplace_back(d, row, k, slots, claims.at(k.name));
  for (int set = 0; set < k_sets && std::ranges::any_of(all, &claim_on_trial::is_open); ++set) {
    tiny.begin_set();
    as_large.begin_set();
    for (int turn = 0; turn <= k_turns_of_set; ++turn) {
      tiny.turn(turn > 0);
      as_large.turn(turn > 0);
      for (claim_on_trial& each : all) each.turn();
    }
    for (claim_on_trial& each : all) each.judge({tiny.times(), as_large.times()});
  }
  bool are_confirmed = true;
  for (const claim_on_trial& each : all) are_confirmed = each.is_confirmed(name_of(d, row)) && are_confirmed;
  return are_confirmed;
}

}  // namespace warpcheck::bench
