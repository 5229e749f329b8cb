// Functions to which the importer rewrites launches and shared and global variables of a foreign source.
#pragma once

// std::function alone: <functional> and <algorithm> declare std::count and other names that programs with
// `using namespace std` give to their own functions and variables.
#include <bits/std_function.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "simt/emulated/conditionals.hpp"
#include "simt/emulated/host_memory.hpp"
#include "simt/emulated/notices.hpp"
#include "simt/emulation.hpp"
#include "simt/import/run.h"
#include "simt/import/streams.hpp"
#include "simt/simt.hpp"
#ifdef SIMT_IMPORT_TRACE
#include "simt/import/trace.hpp"
#endif

namespace simt::import {

inline const void* address_of(const volatile void* p) { return const_cast<const void*>(p); }

std::string describe(const site& s);  // FILE:LINE

struct allocation {
  size_t bytes = 0;
  site where;
  bool host_too = false;     // managed or pinned
  bool is_variable = false;  // or mapped: cudaFree cannot free it
  bool of_graph = false;     // memory of a graph, which may run again: never freed
};

// A kernel known only by its address. Makes the work of a launch with the present values of the arguments.
using kernel_by_address = std::function<std::function<void()>(const launch_config&, void** arguments, const site&)>;

// The program's view of the device. One per imported library.
struct program {
  emulation device;              // of every stream
  emulation* current = &device;  // stream of launches that name none
  int last_error = 0;
  int architecture = 800;  // __CUDA_ARCH__ of its sources
  std::map<const char*, allocation> memory;
  std::map<const void*, int> dynamic_limit;          // kernel: opted-in bytes of dynamic shared memory
  std::map<const void*, kernel_by_address> kernels;  // kernels whose names were converted to void*
  std::map<const char*, size_t> registered;          // host memory: bytes
  std::vector<std::function<void()>> children;       // launches made by kernels, which run after the present launch
  std::vector<std::function<void()>> tails;          // and after its children: those into cudaStreamTailLaunch
  // Constructs that ran and whose results differ from a GPU's bits. An array, because kernels add to it, and code of
  // a vector is instrumented.
  const char* approximated[256] = {};
  size_t approximations = 0, approximations_reported = 0;
  simt_import_report_fn report = nullptr;
  void* user = nullptr;
  bool keep_going = false;
  bool has_left_bounds = false;     // an access outside an allocation was reported and may have damaged its neighbour
  bool host_writes_unseen = false;  // host code writes device memory without an API call
  bool has_launched = false;
  bool has_ended = false;
  unsigned long long* launches = nullptr;  // counts completed launches
};
program& the_program();
void add_allocation(const void* p, const allocation& a);

void report(const char* kind, const std::string& text, bool fatal);

// Reports, once, a construct whose result differs from a GPU's bits; in a kernel, after the launch has ended.
void approximated(const char* what);

template <class T, class = void>
constexpr bool is_pair = false;
template <class T>
constexpr bool is_pair<T, std::void_t<decltype(T::x), decltype(T::y)>> = true;

// The value of a construct whose bits differ from a GPU's: a number, a 16-bit one, or a pair of them.
template <class T>
SIMT_INLINE T approximate(const char* what, T value) {
  approximated(what);
#ifdef SIMT_IMPORT_TRACE
  if constexpr (std::is_arithmetic_v<T>)
    return trace::disturbed(what, value);
  else if constexpr (is_pair<T>)
    return {approximate(what, value.x), approximate(what, value.y)};
  else if constexpr (std::is_convertible_v<T, float> && std::is_constructible_v<T, float>)
    return T(trace::disturbed(what, static_cast<float>(value)));
#endif
  return value;
}

// The same for constructs that host code may call, too.
template <class T>
SIMT_INLINE T approximate_in_kernel(const char* what, T value) {
  return in_kernel() ? approximate(what, value) : value;
}
template <class T>
SIMT_INLINE void sine_and_cosine(T x, T* sine, T* cosine) {
  *sine = approximate_in_kernel("functions of math.h", std::sin(x));
  *cosine = approximate_in_kernel("functions of math.h", std::cos(x));
}

// Ends the launch, or in host code the program, at a construct that is not modelled: `what` in the source
// at `where`. The report has the kind "unsupported"; a trial gets an error_return.
[[noreturn]] void not_modelled(const char* what, const char* name, const site& where);

// Runs a launch; a hazard becomes the last error and a report. Launches made by its threads follow in the order of the
// calls, each followed by its own children, so that a block's stream runs them one after the other.
void guarded_launch(void (*launch)(emulation* on, const void* what), const void* what);
template <class Launch>
void guarded_launch(const Launch& launch) {
  guarded_launch([](emulation* on, const void* what) { (*static_cast<const Launch*>(what))(on); }, &launch);
}

void report_plain_call(const char* kernel, const site& where);
// True if a kernel is called as an ordinary function, outside a launch.
SIMT_INLINE bool called_as_function(const char* kernel, SIMT_SITE) {
  if (in_kernel()) return false;
  report_plain_call(kernel, site);
  return true;
}

// True if the configuration has no error that the launch itself must return.
bool may_wait(const void* kernel, const launch_config& c);

// The importer puts this call in place of __cluster_dims__, as the first statement of the kernel.
inline void cluster_dims(unsigned x, unsigned y = 1, unsigned z = 1, SIMT_SITE) { ::simt::cluster_dims(x, y, z, site); }

// On a GPU, more than 48 KiB of dynamic shared memory need an opt-in of the kernel (cudaFuncSetAttribute).
bool dynamic_memory_refused(const void* kernel, size_t bytes, const site& where);

// An argument until its launch runs. It is only copied, as by a launch: its type may have no constructor that moves.
template <class T>
struct launch_argument {
  explicit launch_argument(const T& v) : value(v) {}
  launch_argument(const launch_argument& other) : value(other.value) {}
  T value;
};

// kernel(k).at(grid, block, bytes, stream)(arguments...), for a kernel that is one function.
template <class... Parameters>
class kernel_launch {
 public:
  kernel_launch(void (*k)(Parameters...), const launch_config& c, cudaStream_t stream, const site& where)
      : kernel_(k),
        config_(c),
        call_{"the launch", where, stream, may_wait(reinterpret_cast<const void*>(kernel_), c)} {}
  void operator()(Parameters... arguments) const { enqueue(call_, work(arguments...)); }
  // Returns the work for the stream, with the present values of the arguments.
  std::function<void()> work(const std::decay_t<Parameters>&... arguments) const {
    return [self = *this, values = std::tuple<launch_argument<std::decay_t<Parameters>>...>(arguments...)] {
      std::apply([&](const auto&... a) { self.run(a.value...); }, values);
    };
  }

 private:
  void run(const std::decay_t<Parameters>&... arguments) const {
    if (dynamic_memory_refused(reinterpret_cast<const void*>(kernel_), config_.smem_bytes, call_.where)) return;
    guarded_launch([&](emulation* on) {
      launch_config c = config_;
      c.stream = on;
      const host_pointers forbidden(arguments...);
      ::simt::launch(c, kernel_, arguments...);
    });
  }

  void (*kernel_)(Parameters...);
  launch_config config_;
  stream_call call_;
};
template <class... Parameters>
struct kernel_name {
  void (*function)(Parameters...);
  kernel_launch<Parameters...> at(dim3 grid, dim3 block, size_t bytes = 0, cudaStream_t stream = nullptr,
                                  SIMT_SITE) const {
    return {function, {grid, block, bytes}, on(stream), site};
  }
};
template <class... Parameters>
kernel_name<Parameters...> kernel(void (*function)(Parameters...)) {
  return {function};
}

// The same for a template or an overload set, which only the call expression can resolve.
template <class Call>
class callable_launch {
 public:
  callable_launch(Call c, const launch_config& l, const stream_call& s) : call(c), config(l), of_stream(s) {}

  template <class... Arguments>
  void operator()(Arguments... arguments) const {
    enqueue(of_stream, [self = *this, values = std::tuple<launch_argument<Arguments>...>(arguments...)] {
      std::apply([&](const auto&... a) { self.template run<Arguments...>(a.value...); }, values);
    });
  }

 private:
  template <class... Arguments>
  void run(const Arguments&... arguments) const {
    struct closure {
      const Call& call;
      std::tuple<Arguments...> values;
    } c{call, {arguments...}};
    if (dynamic_memory_refused(nullptr, config.smem_bytes, of_stream.where)) return;
    constexpr bool is_known =
        sizeof...(Arguments) > 0 && std::is_empty_v<Call> && (std::is_trivially_copyable_v<Arguments> && ...);
    guarded_launch([&](emulation* on) {
      launch_config here = config;
      here.stream = on;
      const auto forbidden = std::make_from_tuple<host_pointers>(c.values);
      run_grid(here,
               [](void* p) {
                 const closure& self = *static_cast<const closure*>(p);
                 std::apply(self.call, self.values);
               },
               &c, {&c.values, is_known ? sizeof c.values : 0});
    });
  }
  Call call;
  launch_config config;
  stream_call of_stream;
};
template <class Call>
struct callable {
  Call call;
  explicit callable(Call c) : call(c) {}
  callable_launch<Call> at(dim3 grid, dim3 block, size_t bytes = 0, cudaStream_t stream = nullptr, SIMT_SITE) const {
    const launch_config c{grid, block, bytes};
    return {call, c, {"the launch", site, on(stream), may_wait(nullptr, c)}};
  }
};

// Returns the index i of p. If p points into an allocation, p + i must stay in it.
template <class Indexed, class Index>
SIMT_INLINE Index index(const Indexed& p, Index i) {
  if constexpr (std::is_pointer_v<Indexed> && (std::is_integral_v<Index> || std::is_enum_v<Index>)) {
    using element = std::remove_pointer_t<Indexed>;
    if constexpr (!std::is_void_v<element> && !std::is_function_v<element>) {
      check_index(address_of(p), address_of(p + i));
#ifdef SIMT_IMPORT_TRACE  // atomics are library functions of the device, which are not traced
      trace::note_address(reinterpret_cast<uint64_t>(address_of(p + i)));
#endif
    }
  }
  return i;
}

constexpr size_t greater_of(size_t a, size_t b) { return a > b ? a : b; }

// `extern __shared__ T name[];` at file scope.
template <class T>
struct dynamic_array {
  operator T*() const { return static_cast<T*>(dynamic_shared()); }
  template <class U>
  explicit operator U*() const {
    return static_cast<U*>(dynamic_shared());
  }
};

// A file-scope __device__, __constant__ or __managed__ variable: a copy of its initial value in device memory.
template <class T>
T& variable(const T& initial, bool host_too, const site& where) {
  static_assert(std::is_trivially_copyable_v<std::remove_cv_t<std::remove_all_extents_t<T>>>,
                "device variables are copied byte by byte");
  void* p = device_alloc(sizeof(T), 0, 1);
  __builtin_memcpy(p, const_cast<const void*>(static_cast<const volatile void*>(&initial)), sizeof(T));
  add_allocation(p, {sizeof(T), where, host_too, true});
  return *static_cast<T*>(p);
}
template <class T>
T& device_variable(T& initial, SIMT_SITE) {
  return variable(initial, false, site);
}
template <class T>
T& constant_variable(T& initial, SIMT_SITE) {
  return variable(initial, false, site);
}
template <class T>
T& managed_variable(T& initial, SIMT_SITE) {
  return variable(initial, true, site);
}

void begin_program(const simt_import_options& options);
// Reports at the program's end: no launch at all, or memory that was never freed.
void end_program();
template <class Main>
int run_program(Main&& entry, const simt_import_options& options) {
  begin_program(options);
#ifdef SIMT_IMPORT_TRACE
  trace::begin(options);
#endif
  const int status = entry();
  end_program();
  return status;
}

}  // namespace simt::import
