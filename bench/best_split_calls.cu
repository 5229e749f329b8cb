#include "bench/best_split_calls.hpp"

#include <cstring>
#include <stdexcept>
#include <vector>

#include "bench/limits.hpp"
#include "kernels/best_split/best_split.hpp"

namespace warpcheck::bench {

// Defined in best_split_bench.cpp, which may include the reference (C++20).
void verify_split(const split_case& c, const std::vector<double>& hist, const double* values, const int64_t* fields);

namespace {

// Dyadic numbers: every sum is exact, and one record is right.
std::vector<double> draw_histogram(int64_t slots, uint64_t seed) {
  std::vector<double> hist(static_cast<size_t>(2 * slots));
  uint64_t state = seed * 0x9e3779b97f4a7c15ull + 1;
  for (size_t i = 0; i < hist.size(); ++i) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    const auto k = static_cast<int64_t>(state >> 53);  // 11 bits
    hist[i] = static_cast<double>(i % 2 == 0 ? k - 1024 : k + 1) / 64;
  }
  return hist;
}

template <class T>
T* to_device(const std::vector<T>& values) {
  T* data = nullptr;
  check(cudaMalloc(&data, values.size() * sizeof(T)), "benchmark buffer");
  check(cudaMemcpy(data, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice), "benchmark data");
  return data;
}

}  // namespace

struct split_calls::state {
  split_case shape;
  split_config config;
  int64_t slots = 0;
  std::vector<std::vector<double>> histograms;
  std::vector<double*> hist;
  std::vector<split_leaf*> leaf;
  split_task* tasks = nullptr;
  int64_t num_tasks = 0;
  split_record* record = nullptr;
  uint32_t* categories = nullptr;
  void* ws = nullptr;
  size_t ws_bytes = 0;
  int last = 0;
  split_path used = split_path::automatic;
};

split_calls::split_calls(const split_case& c, size_t flush_bytes) : state_(new state) {
  state& s = *state_;
  s.shape = c;
  s.slots = (c.features - 1) * c.bins + c.bins_of(c.features - 1);
  s.config.path = c.path == "block"     ? split_path::block
                  : c.path == "cluster" ? split_path::cluster
                                        : split_path::automatic;
  s.config.min_data_in_leaf = 1;
  std::vector<feature_meta> features;
  for (int64_t f = 0; f < c.features; ++f)
    features.push_back({static_cast<int32_t>(f), static_cast<int32_t>(c.bins_of(f)), 0, f * c.bins, 0,
                        c.missing ? missing_kind::nan : missing_kind::none, false});
  std::vector<split_task> tasks = make_split_tasks(features.data(), c.features, s.config);
  if (c.path == "known") s.config.known = long_tasks_last(tasks);
  s.num_tasks = static_cast<int64_t>(tasks.size());
  s.tasks = to_device(tasks);
  const size_t copies = 2 + flush_bytes / static_cast<size_t>(bytes());
  // A few are different; the others repeat them at other addresses.
  for (size_t i = 0; i < copies; ++i) {
    if (i < 3) {
      std::vector<double> hist = draw_histogram(s.slots, i + 1);
      // All features divide the same rows: the last bin of each makes up for the rest.
      double g = 0, h = 0;
      for (int64_t f = 0; f < c.features; ++f) {
        double of_g = 0, of_h = 0;
        const int64_t first = f * c.bins, last = first + c.bins_of(f) - 1;
        for (int64_t b = first; b <= last; ++b) of_g += hist[2 * b], of_h += hist[2 * b + 1];
        // So much that no feature has more of its own: hessians are 16 on average, up to 32.
        if (f == 0) g = of_g, h = of_h + 1024 + static_cast<double>(c.last_bins) * 32;
        hist[2 * last] += g - of_g;
        hist[2 * last + 1] += h - of_h;
      }
      s.histograms.push_back(std::move(hist));
    }
    const std::vector<double>& hist = s.histograms[i % 3 < s.histograms.size() ? i % 3 : 0];
    double g = 0, h = 0;
    for (int64_t b = 0; b < c.bins_of(0); ++b) g += hist[2 * b], h += hist[2 * b + 1];
    const split_leaf leaf{0, g, h, static_cast<int64_t>(h), leaf_gain(g, h, s.config), 0, 1};
    s.hist.push_back(to_device(hist));
    s.leaf.push_back(to_device(std::vector<split_leaf>{leaf}));
  }
  s.ws_bytes = best_split_workspace_bytes(s.num_tasks, 1, s.config);
  check(cudaMalloc(&s.ws, s.ws_bytes), "workspace");
  check(cudaMalloc(&s.record, sizeof(split_record)), "record");
  check(cudaMalloc(&s.categories, static_cast<size_t>(s.config.max_cat_threshold) * sizeof(uint32_t)), "categories");
}

split_calls::~split_calls() {
  for (double* p : state_->hist) cudaFree(p);
  for (split_leaf* p : state_->leaf) cudaFree(p);
  cudaFree(state_->tasks);
  cudaFree(state_->ws);
  cudaFree(state_->record);
  cudaFree(state_->categories);
}

int64_t split_calls::bytes() const { return state_->slots * 16; }

std::string split_calls::path() const {
  return state_->used == split_path::cluster ? "cluster" : state_->used == split_path::mixed ? "mixed" : "block";
}

void split_calls::run(int i, cudaStream_t stream) {
  state& s = *state_;
  s.last = i % static_cast<int>(s.hist.size());
  s.used = best_split(s.hist[static_cast<size_t>(s.last)], nullptr, s.tasks, s.num_tasks,
                      s.leaf[static_cast<size_t>(s.last)], 1, nullptr, s.config, s.record, s.categories, s.ws,
                      s.ws_bytes, stream);
}

void split_calls::verify(cudaStream_t stream) const {
  check(cudaStreamSynchronize(stream), "best_split");
  split_record r;
  check(cudaMemcpy(&r, state_->record, sizeof r, cudaMemcpyDeviceToHost), "record");
  const double values[] = {r.gain,        r.left.sum_g,  r.left.sum_h, r.left.gain,  r.left.value,
                           r.right.sum_g, r.right.sum_h, r.right.gain, r.right.value};
  const int64_t fields[] = {r.is_valid, r.default_left, r.feature, r.threshold, r.left.count, r.right.count};
  verify_split(state_->shape, state_->histograms[static_cast<size_t>(state_->last % 3)], values, fields);
}

}  // namespace warpcheck::bench
