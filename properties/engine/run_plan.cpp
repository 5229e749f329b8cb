#include "properties/engine/run_plan.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <string_view>

#include "properties/engine/error.hpp"

namespace warpcheck::engine {

run_plan::run_plan(const std::vector<job>& jobs, const supervise_options& options)
    : shard_index_(options.shard_index), shard_count_(options.shard_count), first_(options.first) {
  if (!first_.empty()) {
    const auto count = static_cast<int64_t>(first_.size());
    jobs_.push_back({k_first_job, [this](int64_t i) { return first_[static_cast<size_t>(i)]; }, count});
  }
  jobs_.insert(jobs_.end(), jobs.begin(), jobs.end());
  for (const job& j : jobs_) {
    begins_.push_back(items_);
    items_ += j.count;
  }
}

run_plan::item run_plan::at(int64_t position) const {
  const int64_t g = shard_index_ + position * shard_count_;
  const auto after = std::upper_bound(begins_.begin(), begins_.end(), g);
  const int64_t j = after - begins_.begin() - 1;
  return {j, g - begins_[static_cast<size_t>(j)]};
}

int64_t run_plan::position(int64_t job, int64_t index) const {
  if (job >= static_cast<int64_t>(jobs_.size()) || index >= jobs_[static_cast<size_t>(job)].count) return -1;
  const int64_t g = begins_[static_cast<size_t>(job)] + index - shard_index_;
  return g >= 0 && g % shard_count_ == 0 ? g / shard_count_ : -1;
}

int64_t run_plan::cases(size_t job, int64_t last) const {
  const int64_t n = std::min(jobs_[job].count, last == k_no_limit ? k_no_limit : last + 1);
  return positions_before(begins_[job] + n) - positions_before(begins_[job]);
}

std::string run_plan::fingerprint(const supervise_options& options) const {
  uint64_t h = 0xcbf29ce484222325ull;  // FNV-1a
  const auto add = [&](std::string_view text) {
    for (unsigned char c : text) h = (h ^ c) * 0x100000001b3ull;
    h = (h ^ 0xff) * 0x100000001b3ull;  // no text holds this byte: {"a","b"} is not {"ab"}
  };
  add(options.fingerprint);
  add(fmt::format("{}/{} {}", shard_index_, shard_count_, options.max_failures_per_job));
  for (const job& j : jobs_) add(fmt::format("{} {}", j.count, j.id));
  for (const trial_case& c : first_) add(format(c));
  return fmt::format("{:016x}", h);
}

worker_control::worker_control(size_t jobs) : jobs_(jobs) {
  void* memory = mmap(nullptr, (jobs + 1) * sizeof(word), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw environment_error(fmt::format("cannot map memory: {}", std::strerror(errno)));
  words_ = static_cast<word*>(memory);
  for (size_t i = 0; i < jobs; ++i) new (&words_[i]) word(k_no_limit);
  new (&words_[jobs]) word(0);
}

worker_control::~worker_control() { munmap(words_, (jobs_ + 1) * sizeof(word)); }

void worker_control::make_read_only() { mprotect(words_, (jobs_ + 1) * sizeof(word), PROT_READ); }

}  // namespace warpcheck::engine
