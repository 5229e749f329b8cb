// A device played on the host (`cuda`, or what PRETENDED_DEVICE says): an interface that does what a GPU's does, late
// and stream by stream, and keeps a record of what it was asked. What the engine does with streams and graphs is
// thereby tried without a GPU.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "abi/candidate_table.hpp"
#include "abi/host_memory.hpp"

#ifdef PRETENDED_RACE
constexpr bool k_detects = true;
#else
constexpr bool k_detects = false;
#endif
#ifndef PRETENDED_DEVICE
#define PRETENDED_DEVICE WARPCHECK_DEVICE_CUDA
#endif

namespace {

constexpr DLDeviceType k_memory = PRETENDED_DEVICE == WARPCHECK_DEVICE_CUDA ? kDLCUDA : kDLCPU;

std::string record;
void note(const std::string& text) { record += (record.empty() ? "" : " ") + text; }

// Appends the GPU that this process may use to the file that a test names, and gives other workers time to take a case.
void note_gpu() {
  const char *path = std::getenv("PRETENDED_DEVICE_GPUS"), *gpu = std::getenv("CUDA_VISIBLE_DEVICES");
  if (!path) return;
  std::ofstream(path, std::ios::app) << (gpu ? gpu : "all") + std::string("\n");
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
}

// True in the runner of the library that the variable names: there a test has it slower, or wrong.
bool is_in_runner(const char* variable) {
  const char* const library = std::getenv(variable);
  if (!library) return false;
  std::string command;
  std::getline(std::ifstream("/proc/self/cmdline"), command);
  return command.find("__runner") != std::string::npos && command.find(library) != std::string::npos;
}

struct stream {
  bool captures = false, is_spoiled = false;
  std::vector<std::function<void()>> work, captured;
};
stream default_stream;
stream* capturing = nullptr;
stream& stream_of(void* handle) { return handle ? *static_cast<stream*>(handle) : default_stream; }
std::string name_of(void* handle) { return handle ? "stream" : "default"; }
std::set<stream*> streams;
void work_off(stream& s) {
  for (const auto& one : s.work) one();
  s.work.clear();
}

std::string error;
bool is_proven = false;  // whatever the variant, but "trusts_old_output"

// The variable is the compute capability that a test plays.
const char* describe() {
  static std::string text;
  const char* const capability = std::getenv("PRETENDED_DEVICE_CAPABILITY");
  text = "a pretended device" + (capability ? std::string(", sm_") + capability : "");
  return text.c_str();
}
const char* last_error() { return error.c_str(); }

void* alloc(size_t bytes, size_t misalign, size_t) {
  auto* base = static_cast<unsigned char*>(std::aligned_alloc(256, (bytes + misalign + 511) / 256 * 256));
  return std::memset(base + misalign, 0xff, bytes + 1);
}
void release(void* p) { std::free(reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(p) / 256 * 256)); }
int64_t check_guards(const void*) { return INT64_MIN; }

void* stream_create(const warpcheck_stream_options* options) {
  const bool named = options->schedule && *options->schedule;
  note(named ? std::string("create:") + options->schedule : "create");
  return *streams.insert(new stream).first;
}
void stream_destroy(void* handle) {
  streams.erase(static_cast<stream*>(handle));
  delete static_cast<stream*>(handle);
}
int stream_synchronize(void* handle, warpcheck_finding_fn report, void* user) {
  note("wait:" + name_of(handle));
  if (k_detects && is_proven) report(user, "every schedule", "");
  work_off(stream_of(handle));
  return error == "lost" ? 700 : 0;
}
int capture_begin(void* handle) {
  note("capture");
  capturing = &stream_of(handle);
  capturing->captures = true;
  return 0;
}
int capture_replay(void* handle, int32_t times) {
  note("replay:" + std::to_string(times));
  stream& s = stream_of(handle);
  s.captures = false;
  for (int32_t i = 0; i < times; ++i) s.work.insert(s.work.end(), s.captured.begin(), s.captured.end());
  s.captured.clear();
  capturing = nullptr;
  if (s.is_spoiled) error = "the capture was invalidated";
  return s.is_spoiled || error == "no graph" ? 900 : 0;
}
// Waits for the device, which ends a capture.
int usable() {
  if (capturing) capturing->is_spoiled = true;
  for (stream* const s : streams) work_off(*s);
  return error != "lost";
}

void softmax(const DLTensor& x, const DLTensor& y, bool trusts_old_output) {
  const auto* in = static_cast<const float*>(x.data);
  auto* out = static_cast<float*>(y.data);
  const bool was_there = out[0] >= 0 && out[0] <= 1;
  const int64_t rows = x.shape[0], cols = x.shape[1];
  for (int64_t r = 0; r < rows; ++r) {
    const float* const row = in + r * cols;
    const double most = *std::max_element(row, row + cols);
    double sum = 0;
    for (int64_t c = 0; c < cols; ++c) sum += std::exp(static_cast<double>(row[c]) - most);
    for (int64_t c = 0; c < cols; ++c)
      out[r * cols + c] = static_cast<float>(std::exp(static_cast<double>(row[c]) - most) / sum);
  }
  if (trusts_old_output && was_there) out[0] += 1e-6f;
}

warpcheck_status run(warpcheck_call* call) {
  const std::string variant = call->variant ? call->variant : "right";
  const DLTensor x = *call->inputs[0], y = *call->outputs[0];
  note("run:" + name_of(call->stream));
  note_gpu();
  if (is_in_runner("PRETENDED_DEVICE_SLOW_RUNNER")) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  if (is_in_runner("PRETENDED_DEVICE_IDLE_RUNNER")) return WARPCHECK_OK;
  error.clear();
  if (x.device.device_type != k_memory || y.device.device_type != k_memory) return WARPCHECK_INTERNAL_ERROR;
  if (variant == "loses_the_device") error = "lost";
  if (variant == "makes_no_graph") error = "no graph";
  is_proven = variant != "trusts_old_output";
  stream& s = stream_of(call->stream);
  if (variant == "fails_in_a_capture" && s.captures) return WARPCHECK_DEVICE_ERROR;
  (s.captures ? s.captured : s.work).push_back([=] { softmax(x, y, variant == "trusts_old_output"); });
  return WARPCHECK_OK;
}

const warpcheck_device_api& device_api() {
  static const warpcheck_device_api api = [] {
    warpcheck_device_api a =
        warpcheck::host_memory::api_of(PRETENDED_DEVICE, describe, last_error, alloc, release, check_guards);
    a.stream_create = stream_create;
    a.stream_destroy = stream_destroy;
    a.stream_synchronize = stream_synchronize;
    a.capture_begin = capture_begin;
    a.capture_replay = capture_replay;
    a.usable = usable;
    a.stream_renew = nullptr;
    return a;
  }();
  return api;
}

constexpr uint32_t k_types = WARPCHECK_F32;
const warpcheck_variant k_variants[] = {warpcheck::row_variant("right", 0, -1, 0, -1, k_types),
                                        warpcheck::row_variant("fails_in_a_capture", 0, -1, 1, 0, k_types),
                                        warpcheck::row_variant("loses_the_device", 0, -1, 1, 0, k_types),
                                        warpcheck::row_variant("makes_no_graph", 0, -1, 1, 0, k_types),
                                        warpcheck::row_variant("trusts_old_output", 0, -1, 1, 0, k_types)};
const warpcheck_operator k_softmax =
    warpcheck::operator_of_rows("softmax", PRETENDED_DEVICE, k_types, run, k_variants, std::size(k_variants));
const warpcheck_operator* const k_operators[] = {&k_softmax};
const warpcheck_candidate k_candidate = {
    WARPCHECK_CANDIDATE_ABI, sizeof(warpcheck_candidate), "pretended", "test", k_operators, 1, &device_api()};

}  // namespace

extern "C" __attribute__((visibility("default"))) const warpcheck_candidate* warpcheck_candidate_get(
    uint32_t abi_version) {
  return abi_version == WARPCHECK_CANDIDATE_ABI ? &k_candidate : nullptr;
}

// What the device was asked since the last call of this.
extern "C" __attribute__((visibility("default"))) const char* pretended_device_record() {
  static std::string text;
  text = std::move(record);
  record.clear();
  return text.c_str();
}
