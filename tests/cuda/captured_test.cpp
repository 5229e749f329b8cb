// A call allocates nothing, reads nothing back and leaves no value on the host: a graph of it is right for other
// inputs, lengths and marks.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "properties/engine/cases/description.hpp"
#include "properties/engine/cases/draw.hpp"
#include "properties/engine/cases/host_tensor.hpp"
#include "properties/engine/trials/call.hpp"
#include "properties/engine/trials/device_tensor.hpp"
#include "properties/engine/trials/library.hpp"
#include "properties/gru/gru_cases.hpp"
#include "tests/cuda/gpu_array.hpp"

namespace warpcheck::self {
namespace {

using namespace engine;

struct captured {
  reference::gru_shape shape;
  bool full = false;  // no lengths, no marks, and gates that are made anew
  std::string variant = "auto", precision = "ieee";
  int64_t limit = 0;
};

trial_case call_of(const captured& of, uint64_t seed) {
  target t;
  t.op = "gru";
  t.device = "cuda";
  t.type = dtype::f32;
  draw d(rc::Random(seed), 0);
  gru_choice choice{of.shape};
  choice.ragged = choice.marked = !of.full;
  trial_case c = gru_case_of(t, d, choice);
  if (of.full) {
    leave_out(c, "lengths");
    leave_out(c, "history");
    set_knob(c, "history_mode", "recompute");
  }
  set_knob(c, "variant", of.variant);
  set_knob(c, "precision", of.precision);
  set_knob(c, "workspace_limit", std::to_string(of.limit));
  tensor_spec& work = *c.find("work");
  work.shape = {gru_work_bytes(of.shape, of.limit, of.precision == "ieee")};
  work.ld = work.cols();
  return c;
}

// A call's tensors on the device, and a graph of the call.
class captured_call {
 public:
  explicit captured_call(const trial_case& c)
      : kernels_(open_candidate(WARPCHECK_TEST_CUDA, c.op, "cuda")), views_(views_of(c)) {
    require(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
    call_ = std::make_unique<prepared_call>(c, views_, stream_);
    cudaGraph_t graph = nullptr;
    require(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
    run();
    require(cudaStreamEndCapture(stream_, &graph), "cudaStreamEndCapture");
    require(cudaGraphInstantiate(&graph_, graph, 0), "cudaGraphInstantiate");
    require(cudaGraphDestroy(graph), "cudaGraphDestroy");
  }
  ~captured_call() {
    cudaGraphExecDestroy(graph_);
    cudaStreamDestroy(stream_);
  }
  captured_call(const captured_call&) = delete;
  captured_call& operator=(const captured_call&) = delete;

  void run() {
    if (call_->run(*kernels_.op) != WARPCHECK_OK) throw std::runtime_error(call_->message());
  }
  void replay() { require(cudaGraphLaunch(graph_, stream_), "cudaGraphLaunch"); }
  // The inputs of the case, and outputs of NaN.
  void write(const trial_case& c) {
    for (size_t i = 0; i < memory_.size(); ++i) {
      host_tensor values(c.tensors[i]);
      std::ranges::fill(values.bytes, std::byte{0xff});
      memory_[i]->write(c.tensors[i].is_input ? materialize(c.tensors[i]) : values);
    }
  }
  // What the outputs hold, one behind the other.
  std::vector<std::byte> read() {
    require(cudaStreamSynchronize(stream_), "a call");
    std::vector<std::byte> all;
    for (const auto& tensor : memory_) {
      if (tensor->spec().is_input || tensor->spec().is_workspace()) continue;
      int64_t touched = -1;
      const host_tensor values = tensor->read(touched);
      all.insert(all.end(), values.bytes.begin(), values.bytes.end());
    }
    return all;
  }

 private:
  std::vector<DLTensor> views_of(const trial_case& c) {
    std::vector<DLTensor> views;
    for (const tensor_spec& t : c.tensors) {
      memory_.push_back(std::make_unique<device_tensor>(t, *kernels_.api, 0xff));
      views.push_back(memory_.back()->view(dl_device(*kernels_.op)));
    }
    return views;
  }

  candidate kernels_;
  std::vector<std::unique_ptr<device_tensor>> memory_;
  std::vector<DLTensor> views_;
  cudaStream_t stream_ = nullptr;
  cudaGraphExec_t graph_ = nullptr;
  std::unique_ptr<prepared_call> call_;
};

class a_captured_call : public testing::TestWithParam<captured> {};

TEST_P(a_captured_call, is_right_for_other_inputs) {
  captured_call call(call_of(GetParam(), 1));
  std::vector<std::vector<std::byte>> replayed;
  for (const uint64_t seed : {1, 2, 1}) {
    const trial_case c = call_of(GetParam(), seed);
    call.write(c);
    call.replay();
    replayed.push_back(call.read());
    call.write(c);
    call.run();
    EXPECT_TRUE(replayed.back() == call.read()) << "seed " << seed;
  }
  EXPECT_TRUE(replayed[0] == replayed[2]);
  EXPECT_FALSE(replayed[0] == replayed[1]);
}

std::vector<captured> calls_to_capture() {
  std::vector<captured> all = {{{40, 30, 5, 24, 2}, false, "auto", "ieee", 1 << 18}};
  for (const char* precision : {"ieee", "tf32"})
    for (const char* variant : {"gru_registers", "gru_cluster", "gru_grid", "gru_product"})
      for (const bool full : {false, true}) all.push_back({{6, 5, 7, 40, 2}, full, variant, precision});
  return all;
}

INSTANTIATE_TEST_SUITE_P(gru, a_captured_call, testing::ValuesIn(calls_to_capture()));

}  // namespace
}  // namespace warpcheck::self
