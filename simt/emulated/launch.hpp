// Launches, workspaces and device properties on the emulated device.
#pragma once

#include <tuple>
#include <type_traits>
#include <utility>

#include "simt/emulated/kernel_api.hpp"
#include "simt/emulated_memory.hpp"

namespace simt {

struct emulation;

inline namespace emu {

using stream_t = ::simt::emulation*;  // nullptr: a default emulation of the calling thread
using device_properties_t = ::simt::device_properties_t;

struct launch_config {
  dim3 grid, block;
  size_t smem_bytes = 0;  // dynamic shared memory of a block
  stream_t stream = nullptr;
  dim3 cluster = 1;          // blocks of a cluster
  bool cooperative = false;  // grid_sync is allowed: all blocks are resident
  // may start while the launch before it runs: its threads call grid_dependency_wait first
  bool programmatic_launch = false;
};

// Bytes on which the work of a launch depends beside its configuration, run_thread and memory; none if not all are
// known.
struct launch_values {
  const void* p = nullptr;
  size_t bytes = 0;
};
// Runs the grid to its end. `run_thread(arguments)` is one thread's kernel call.
void run_grid(const launch_config& config, void (*run_thread)(void*), void* arguments, const launch_values& values);

// Throws device_error: a limit of the machine is exceeded (named with value and allowed range), the launch produced a
// finding (its kind and text), or an earlier launch on this stream did and the stream was not cleared.
template <class... Parameters, class... Arguments>
void launch(const launch_config& config, void (*kernel)(Parameters...), Arguments&&... arguments) {
  struct call {
    void (*kernel)(Parameters...);
    std::tuple<std::decay_t<Parameters>...> parameters;
  } c{kernel, {static_cast<Parameters>(std::forward<Arguments>(arguments))...}};
  run_grid(config,
           [](void* p) {
             const call& self = *static_cast<const call*>(p);
             std::apply(self.kernel, self.parameters);
           },
           &c, {&c, (std::is_trivially_copyable_v<std::decay_t<Parameters>> && ...) ? sizeof c : 0});
}

// No later launch overlaps one before: the host has waited, or the stream has had something else in between.
void synchronize();

device_properties_t device_properties(stream_t stream);
emulation& default_emulation();

// Sets, copies between device addresses or to and from the host; in stream order.
void memset_async(void* destination, int byte, size_t bytes, stream_t stream);
void memcpy_async(void* destination, const void* source, size_t bytes, stream_t stream);

// Exact-size workspace of n elements; reading an element before a kernel wrote it is a finding in the race flavour.
template <class T>
class buffer {
 public:
  buffer(size_t n, stream_t) : data_(static_cast<T*>(device_alloc(n * sizeof(T), 0, sizeof(T)))), size_(n) {
    mark_uninitialized(data_, n * sizeof(T));
  }
  ~buffer() { device_free(data_); }
  buffer(const buffer&) = delete;
  buffer& operator=(const buffer&) = delete;
  T* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  T* data_;
  size_t size_;
};

// For a few words, which a GPU has faster (cuda.hpp).
template <class T>
using stream_workspace = buffer<T>;

}  // namespace emu
}  // namespace simt
