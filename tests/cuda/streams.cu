#include "tests/cuda/streams.hpp"

#include <algorithm>
#include <cmath>
#include <future>
#include <memory>
#include <thread>
#include <vector>

#include "kernels/logsumexp/logsumexp.hpp"
#include "tests/cuda/gpu_array.hpp"

namespace warpcheck::self {
namespace {

constexpr int64_t k_cols = int64_t{1} << 18;
constexpr int k_launches_at_once = 20;

class stream {
 public:
  stream() { require(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate"); }
  ~stream() { cudaStreamDestroy(stream_); }
  stream(const stream&) = delete;
  stream& operator=(const stream&) = delete;
  cudaStream_t get() const { return stream_; }
  void wait() const { require(cudaStreamSynchronize(stream_), "cudaStreamSynchronize"); }

 private:
  cudaStream_t stream_ = nullptr;
};

// Holds streams back until it opens, so that what they were given until then runs side by side.
class gate {
 public:
  gate() {
    require(cudaEventCreateWithFlags(&opened_, cudaEventDisableTiming), "cudaEventCreate");
    const auto wait = [](void* open) { static_cast<std::promise<void>*>(open)->get_future().wait(); };
    require(cudaLaunchHostFunc(waits_.get(), wait, &open_), "cudaLaunchHostFunc");
    require(cudaEventRecord(opened_, waits_.get()), "cudaEventRecord");
  }
  ~gate() {
    open_.set_value();
    cudaStreamSynchronize(waits_.get());
    cudaEventDestroy(opened_);
  }
  gate(const gate&) = delete;
  gate& operator=(const gate&) = delete;
  void hold(const stream& waiting) const {
    require(cudaStreamWaitEvent(waiting.get(), opened_), "cudaStreamWaitEvent");
  }

 private:
  stream waits_;
  std::promise<void> open_;
  cudaEvent_t opened_ = nullptr;
};

// A row of one value, and room for `calls` results.
class caller {
 public:
  caller(float value, int calls)
      : expected_(value + std::log(static_cast<double>(k_cols))),
        x_(std::vector<float>(static_cast<size_t>(k_cols), value)),
        y_(static_cast<size_t>(calls)) {
    call(0, nullptr);  // loads the kernels, which may wait for streams that a gate holds
    y_.fill_bytes(0xff);
    // Other streams do not wait for these, and a copy from pageable memory may still be under way.
    require(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  }

  void call(int i, cudaStream_t s) const { logsumexp(x_.data(), k_cols, y_.data() + i, 1, k_cols, s); }
  int64_t wrong() const {
    int64_t count = 0;
    for (const float y : y_.read()) count += !(std::fabs(y - expected_) < 1e-3);  // NaN, too
    return count;
  }

 private:
  double expected_;
  gpu_array<float> x_, y_;
};

}  // namespace

int64_t wrong_on_a_stream_of_threads(int threads, int calls) {
  std::vector<std::unique_ptr<caller>> all;
  for (int t = 0; t < threads; ++t) all.push_back(std::make_unique<caller>(static_cast<float>(t), calls));
  const stream shared;
  std::vector<std::thread> running;
  for (const auto& one : all)
    running.emplace_back([&shared, &one, calls] {
      for (int i = 0; i < calls; ++i) one->call(i, shared.get());
    });
  for (std::thread& t : running) t.join();
  shared.wait();
  int64_t wrong = 0;
  for (const auto& one : all) wrong += one->wrong();
  return wrong;
}

int64_t wrong_on_streams(int streams, int calls) {
  std::vector<std::unique_ptr<caller>> all;
  std::vector<std::unique_ptr<stream>> own;
  for (int s = 0; s < streams; ++s) {
    all.push_back(std::make_unique<caller>(static_cast<float>(s), calls));
    own.push_back(std::make_unique<stream>());
  }
  for (int i = 0; i < calls; ++i) {
    const gate closed;
    for (const auto& one : own) closed.hold(*one);
    for (size_t s = 0; s < own.size(); ++s) all[s]->call(i, own[s]->get());
  }
  int64_t wrong = 0;
  for (size_t s = 0; s < own.size(); ++s) {
    own[s]->wait();
    wrong += all[s]->wrong();
  }
  return wrong;
}

int64_t wrong_beside_a_graph(int launches) {
  const caller captured(1.0f, 1), direct(2.0f, launches);
  const stream first, second;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  require(cudaStreamBeginCapture(first.get(), cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  captured.call(0, first.get());
  require(cudaStreamEndCapture(first.get(), &graph), "cudaStreamEndCapture");
  require(cudaGraphInstantiate(&executable, graph, 0), "cudaGraphInstantiate");
  for (int i = 0; i < launches;) {
    const gate closed;
    closed.hold(first);
    closed.hold(second);
    for (const int end = std::min(i + k_launches_at_once, launches); i < end; ++i) {
      require(cudaGraphLaunch(executable, second.get()), "cudaGraphLaunch");
      direct.call(i, first.get());
    }
  }
  first.wait();
  second.wait();
  const int64_t wrong = direct.wrong() + captured.wrong();
  require(cudaGraphExecDestroy(executable), "cudaGraphExecDestroy");
  require(cudaGraphDestroy(graph), "cudaGraphDestroy");
  return wrong;
}

}  // namespace warpcheck::self
