#include "bench/time_elsewhere.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <stdexcept>
#include <string>

namespace warpcheck::bench {
namespace {

constexpr size_t k_bytes = size_t{1} << 28;  // of all slots

std::vector<std::string> contents(const std::vector<engine::peeked>& parts) {
  std::vector<std::string> all;
  for (const engine::peeked& p : parts) all.emplace_back(static_cast<const char*>(p.place), p.bytes);
  return all;
}

}  // namespace

int slots_elsewhere(const traffic& moved) {
  return static_cast<int>(std::clamp<size_t>(k_bytes / std::max<size_t>(1, moved.in + moved.out), 2, 256));
}

size_t bytes_alike(const traffic& moved) { return std::min(moved.in + moved.out, k_bytes / 2); }

turns_elsewhere::turns_elsewhere(const engine::description& d, const engine::bench_row& row, const bench_device& device,
                                 const engine::listed_operator& callee)
    : described_(d),
      row_(row),
      device_(device),
      callee_(callee),
      call_(d, row, device),
      order_(static_cast<size_t>(call_.memory().count)),
      random_(std::random_device{}()) {
  std::iota(order_.begin(), order_.end(), 0);
  call_.poison_outputs();  // the device maps memory when something is written
}

double turns_elsewhere::turn() {
  const std::shared_ptr<void> end(nullptr, [this](void*) { device_.limit->end(); });
  std::shuffle(order_.begin(), order_.end(), random_);
  const uint64_t seed = random_();
  call_.draw_inputs(random_());
  for (const int slot : order_) {
    call_.give_inputs(slot, random_());
    call_.poison_parts(slot, seed);
  }
  std::vector<engine::peeked> parts;
  const double us = engine::time_batch(
      device_.api,
      [&] {
        for (const int slot : order_) call_.run(callee_, slot);
      },
      [&] { return parts = call_.parts_of_results(random_()); });
  const std::vector<std::string> read = contents(parts);
  // Several if they are small, each by fewer slices: the callee may have left out some of the calls.
  constexpr int64_t k_most = 8, k_bytes_judged = 1 << 25, k_elements = 1 << 16;
  const auto bytes = static_cast<int64_t>(call_.memory().input_stride + call_.memory().output_stride);
  const int64_t count = std::clamp<int64_t>(k_bytes_judged / std::max<int64_t>(1, bytes), 1, k_most);
  std::vector<int> judged;
  std::ranges::sample(order_, std::back_inserter(judged), count, random_);
  std::vector<engine::peeked> again = call_.judged_parts(judged, seed);
  again.insert(again.end(), parts.begin(), parts.end());
  engine::read_back(device_.api, again);
  if (contents(parts) != read)
    throw std::runtime_error(fmt::format("{}: a result changed after it was read", bench::name_of(described_, row_)));
  for (const int slot : judged) {
    call_.keep(slot);
    call_.judge_kept({order_.begin(), order_.end()}, seed, k_elements / count);
  }
  return us / static_cast<double>(order_.size());
}

}  // namespace warpcheck::bench
