// Streams and events of a foreign program: what they are asked for, and what happens before what among them and the
// host. Rules: CUDA C++ Programming Guide, "Streams" and "Implicit Synchronization"; CUDA Runtime API, "API
// synchronization behavior" and "Stream synchronization behavior".
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
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
  bool is_blocking = true;  // the legacy default stream waits for it, and it for that one
  unsigned flags = 0;
  int priority = 0;
  ::simt::stream_clock known;  // its operations, and what happened before them
  // While it is captured: into what, and behind which nodes its next one comes.
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

namespace simt::import {

using site = ::simt::emu::call_site;

// The stream that a null handle names (nvcc --default-stream).
static inline cudaStream_t on(cudaStream_t stream) {
#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
  return stream == nullptr ? cudaStreamPerThread : stream;
#else
  return stream;
#endif
}

// A call that asks a stream for work. Work that may wait runs when something demands it, or sooner: the schedule
// chooses. Until then the host goes on, and other streams do.
struct stream_call {
  const char* name;
  site where;
  cudaStream_t stream;
  bool may_wait = false;
};

// Does the work in the stream, or records it where the stream is captured or a kernel asks.
void enqueue(const stream_call& call, std::function<void()> work);
// Work runs at its call from now on: the host's code of Thrust's algorithms accesses device memory without a call.
void work_never_waits();
// True while work runs for which the host waits, and behind which no other work is left.
bool host_waits_for_the_last_work();
// False once operations of two streams may overlap: then the schedule chooses their order, too.
bool has_one_stream();
// Runs what waits, at the program's end.
void run_waiting();
// The same as enqueue() for a call that returns when the work is done.
void enqueue_and_wait(const stream_call& call, std::function<void()> work);
// The same for one that returns when everything before the work is done.
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

// Memory that the program has allocated: the host's, too, where it is managed or pinned.
void follow_memory(const void* p, bool is_shared_with_host);
// Whether the calls of the program are followed; those of a trial, whose tensors are its own, are not.
bool follows_streams();

// A capture: its nodes in the order of the calls, each behind those that the streams and events demand.
struct captured_node {
  stream_call call;
  std::function<void()> work;
  std::vector<size_t> after;
};
struct captured_graph {
  std::vector<captured_node> nodes;
  std::vector<cudaStream_t> streams;
};
// Null where the stream is captured already, and where it is not.
captured_graph* begin_capture(cudaStream_t stream);
std::unique_ptr<captured_graph> end_capture(cudaStream_t stream);
bool is_captured(cudaStream_t stream);

// A node of a graph that runs, in an order of which each comes behind those that it waits for.
struct graph_step {
  stream_call call;
  std::function<void()> work;
  std::vector<size_t> after;  // earlier steps
  uint32_t timeline = 0;      // of its branch; 0: has none yet
};
void run_graph(cudaStream_t stream, std::vector<graph_step>& steps);

}  // namespace simt::import
