#include "properties/engine/processes/run_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string_view>

namespace warpcheck::engine {
namespace {

constexpr int64_t k_first_cases = 5;  // of each job of cost 0

}  // namespace

run_plan::run_plan(const std::vector<job>& jobs, const supervise_options& options)
    : shard_index_(options.shard_index), shard_count_(options.shard_count), first_(options.first) {
  if (!first_.empty()) {
    const auto count = static_cast<int64_t>(first_.size());
    jobs_.push_back({k_first_job, [this](int64_t i) { return first_[static_cast<size_t>(i)]; }, count});
    jobs_.back().cost = std::numeric_limits<int>::min();
  }
  jobs_.insert(jobs_.end(), jobs.begin(), jobs.end());
  segments_of_.resize(jobs_.size());
  std::vector<size_t> order(jobs_.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, [&](size_t a, size_t b) { return jobs_[a].cost < jobs_[b].cost; });
  for (const size_t j : order)
    if (jobs_[j].cost < 0) add(j, 0, jobs_[j].count);
  for (const size_t j : order)
    if (jobs_[j].cost == 0) add(j, 0, std::min(k_first_cases, jobs_[j].count));
  first_items_ = items_;
  // Long cases begun last would leave most workers idle at the end; begun first, they would delay most verdicts.
  const auto half = [&](size_t j) { return std::max(k_first_cases, jobs_[j].count / 2); };
  for (const size_t j : order)
    if (jobs_[j].cost == 0) add(j, k_first_cases, std::min(half(j), jobs_[j].count));
  for (auto j = order.rbegin(); j != order.rend(); ++j)
    if (jobs_[*j].cost > 0) add(*j, 0, jobs_[*j].count);
  for (const size_t j : order)
    if (jobs_[j].cost == 0) add(j, half(j), jobs_[j].count);
}

void run_plan::add(size_t job, int64_t first, int64_t end) {
  if (first >= end) return;
  segments_of_[job].push_back(segments_.size());
  segments_.push_back({static_cast<int64_t>(job), first, end - first, items_});
  items_ += end - first;
}

run_plan::item run_plan::at(int64_t position) const {
  const int64_t g = shard_index_ + position * shard_count_;
  const auto after = std::upper_bound(segments_.begin(), segments_.end(), g,
                                      [](int64_t item, const segment& s) { return item < s.begin; });
  const segment& s = *(after - 1);
  return {s.job, s.first + g - s.begin};
}

int64_t run_plan::position(int64_t job, int64_t index) const {
  if (job >= static_cast<int64_t>(jobs_.size())) return -1;
  for (const size_t i : segments_of_[static_cast<size_t>(job)]) {
    const segment& s = segments_[i];
    if (index < s.first || index >= s.first + s.count) continue;
    const int64_t g = s.begin + index - s.first - shard_index_;
    return g >= 0 && g % shard_count_ == 0 ? g / shard_count_ : -1;
  }
  return -1;
}

int64_t run_plan::cases(size_t job, int64_t last) const {
  int64_t sum = 0;
  for (const size_t i : segments_of_[job]) {
    const segment& s = segments_[i];
    const int64_t n = last == k_no_limit ? s.count : std::clamp<int64_t>(last + 1 - s.first, 0, s.count);
    sum += positions_before(s.begin + n) - positions_before(s.begin);
  }
  return sum;
}

std::string run_plan::fingerprint(const supervise_options& options) const {
  uint64_t h = 0xcbf29ce484222325ull;  // FNV-1a
  const auto add = [&](std::string_view text) {
    for (unsigned char c : text) h = (h ^ c) * 0x100000001b3ull;
    h = (h ^ 0xff) * 0x100000001b3ull;  // no text holds this byte: {"a","b"} is not {"ab"}
  };
  add(options.fingerprint);
  add(fmt::format("{}/{} {}", shard_index_, shard_count_, options.max_failures_per_job));
  for (const job& j : jobs_) add(fmt::format("{} {} {}", j.count, j.cost, j.id));
  for (const trial_case& c : first_) add(format(c));
  return fmt::format("{:016x}", h);
}

worker_control::worker_control(size_t jobs) : jobs_(jobs), words_(jobs + 1, k_no_limit) { set_leave(false); }

}  // namespace warpcheck::engine
