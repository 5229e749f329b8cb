#include "bench/time_elsewhere.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <stdexcept>

namespace warpcheck::bench {
namespace {

// Of a turn: two messages. Of a call: its launch by the candidate, and reading a part of its result.
constexpr double k_of_turn_us = 400, k_of_call_us = 20;

std::vector<std::string> contents(const std::vector<engine::peeked>& parts) {
  std::vector<std::string> all;
  for (const engine::peeked& p : parts) all.emplace_back(static_cast<const char*>(p.place), p.bytes);
  return all;
}

}  // namespace

int slots_elsewhere(const traffic& moved) {
  constexpr size_t k_bytes = size_t{1} << 28;
  return static_cast<int>(std::clamp<size_t>(k_bytes / std::max<size_t>(1, moved.in + moved.out), 2, 256));
}

time_elsewhere measure_elsewhere(const engine::description& d, const engine::bench_row& row, const bench_device& device,
                                 const engine::listed_operator& callee) {
  constexpr int k_turns = 3;  // the first one loads the kernels
  timed_call call(d, row, device);
  std::mt19937_64 random(std::random_device{}());
  std::vector<int> order(static_cast<size_t>(call.memory().count));
  std::iota(order.begin(), order.end(), 0);
  time_elsewhere least{std::numeric_limits<double>::infinity(),
                       k_of_call_us + k_of_turn_us / static_cast<double>(order.size())};
  for (int turn = 0; turn < k_turns; ++turn) {
    std::shuffle(order.begin(), order.end(), random);
    for (const int slot : order) {
      call.draw_inputs(random());
      call.prepare(slot);
    }
    std::vector<engine::peeked> parts;
    const double us = engine::time_batch(
        device.api,
        [&] {
          for (const int slot : order) call.run(callee, slot);
        },
        [&] { return parts = call.parts_of_results(random()); });
    const std::vector<std::string> read = contents(parts);
    device.wait();
    if (contents(parts) != read)
      throw std::runtime_error(fmt::format("{}: a result changed after it was read", bench::name_of(d, row)));
    call.keep(order.back());
    call.judge_kept({order.begin(), order.end()}, random());
    least.us = std::min(least.us, us / static_cast<double>(order.size()));
  }
  return least;
}

}  // namespace warpcheck::bench
