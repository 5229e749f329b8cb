// Streams and events of a foreign program: their operations, and happens-before among these and the host. Rules: CUDA
// C++ Programming Guide, "Streams" and "Implicit Synchronization"; CUDA Runtime API, "API
// synchronization behavior" and "Stream synchronization behavior".
#pragma once

#include <bits/std_function.h>  // see launch.hpp

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "simt/emulated/kernel_api.hpp"
#include "simt/emulated/stream_clocks.hpp"

namespace simt::import {
struct captured_graph;
}

struct CUstream_st {
  uint32_t timeline = 0, position = 0;
  bool is_blocking = true;  // it and the legacy default stream wait for each other
  unsigned flags = 0;
  int priority = 0;
  ::simt::stream_clock known;  // its operations, and all that happened before them
  // During capture: the graph, and the nodes that the next one follows.
  ::simt::import::captured_graph* capture = nullptr;
  std::vector<size_t> after;
};
struct CUevent_st {
  bool recorded = false;
  ::simt::stream_clock at;
  ::simt::import::captured_graph* capture = nullptr;
  std::vector<size_t> after;
};
using cudaStream_t = CUstream_st*;
using cudaEvent_t = CUevent_st*;
#define cudaStreamLegacy (reinterpret_cast<cudaStream_t>(uintptr_t{1}))
#define cudaStreamPerThread (reinterpret_cast<cudaStream_t>(uintptr_t{2}))
// Streams of kernels alone.
#define cudaStreamTailLaunch (reinterpret_cast<cudaStream_t>(uintptr_t{3}))
#define cudaStreamFireAndForget (reinterpret_cast<cudaStream_t>(uintptr_t{4}))

namespace simt::import {

using site = ::simt::emu::call_site;

// Returns the stream that a null handle names (nvcc --default-stream).
static inline cudaStream_t on(cudaStream_t stream) {
#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
  return stream == nullptr ? cudaStreamPerThread : stream;
#else
  return stream;
#endif
}

// Enqueues an operation. The schedule chooses when it runs, at the latest when something depends on it. Until then the
// host and other streams continue.
struct stream_call {
  const char* name;
  site where;
  cudaStream_t stream;
  bool may_wait = false;
};

// Runs the operation in the stream, or records it if the stream is being captured or a kernel asks.
void enqueue(const stream_call& call, std::function<void()> work);
// From now on operations run at their call: host code of Thrust's algorithms accesses device memory without a call.
void work_never_waits();
// True while an operation runs for which the host waits and which no other waiting operation follows.
bool host_waits_for_the_last_work();
// The result of the program may depend on something besides the order of its kernels' threads: on the order of
// operations of several streams, or on the time of the host's own actions.
inline constexpr const char* k_query = "a query of a stream or an event";
inline constexpr const char* k_host_function = "the time of a host function";
void host_chooses(const char* what);
// The place of the call of the function that uses it.
#define SIMT_CALLER __builtin_extract_return_addr(__builtin_return_address(0))
// The host reads a clock, on whose time later launches may depend; `pc`: where. The second form is for functions that
// are inlined.
void host_reads_time(const void* pc);
void host_reads_time();
// Empty if no launch follows a time that the host read after an earlier launch.
std::string assumption_on_time();
const std::vector<const char*>& host_choices();
// Runs all waiting operations, at the program's end.
void run_waiting();
// Like enqueue(), for a call that returns when the operation is complete.
void enqueue_and_wait(const stream_call& call, std::function<void()> work);
// Like enqueue(), for a call that returns when everything before the operation is complete.
void wait_and_enqueue(const stream_call& call, std::function<void()> work);

cudaStream_t create_stream(unsigned flags, int priority, const site& where);
void destroy_stream(cudaStream_t stream);
unsigned flags_of(cudaStream_t stream);
int priority_of(cudaStream_t stream);
void wait_for_stream(cudaStream_t stream);
void wait_for_all();
void record_event(CUevent_st& event, cudaStream_t stream);
void wait_for_event(const CUevent_st& event);
void make_wait(cudaStream_t stream, const CUevent_st& event);

// Memory that the program allocated, including managed and pinned host memory.
void follow_memory(const void* p, bool is_shared_with_host);
// From now on, races of streams are findings: reports of the program, or in a trial of the call.
void report_races_of_streams();
// True if the program's API calls are tracked; those of a trial are not, because it owns its tensors.
bool follows_streams();

// A trial's call of a candidate. Work in streams of the candidate's own waits until the call's stream depends on it, so
// that a join which is missing leaves results unwritten. Its own memory is followed from its first stream on.
void begin_call();
cudaStream_t stream_of_call();
// Runs what happens before the end of the call's stream, or all work.
void end_call(bool waits_for_all);

// A capture: its nodes in the order of the calls, each with the predecessors that streams and events require.
struct captured_node {
  stream_call call;
  std::function<void()> work;
  std::vector<size_t> after;
};
struct captured_graph {
  std::vector<captured_node> nodes;
  std::vector<cudaStream_t> streams;
};
// Null if the stream is already being captured, and if it is not captured.
captured_graph* begin_capture(cudaStream_t stream);
std::unique_ptr<captured_graph> end_capture(cudaStream_t stream);
bool is_captured(cudaStream_t stream);

// A node of a running graph, in a topological order.
struct graph_step {
  stream_call call;
  std::function<void()> work;
  std::vector<size_t> after;  // earlier steps
  uint32_t timeline = 0;      // of its branch; 0 if it has none yet
};
void run_graph(cudaStream_t stream, std::vector<graph_step>& steps);

// Handles of conditions of graphs. The end of its node gives a condition its initial value back, if it `resets`.
unsigned long long new_condition(unsigned initial, bool resets);
unsigned condition(unsigned long long handle);
void set_condition(unsigned long long handle, unsigned value);  // by a kernel
void end_condition(unsigned long long handle);

}  // namespace simt::import
