// What the importer's rewriting refers to: launches, shared and global variables of a foreign source.
#pragma once

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "simt/emulated/host_memory.hpp"
#include "simt/emulated/notices.hpp"
#include "simt/emulation.hpp"
#include "simt/import/run.h"
#include "simt/simt.hpp"
#ifdef SIMT_IMPORT_TRACE
#include "simt/import/trace.hpp"
#endif

namespace simt::import {

using site = ::simt::emu::call_site;

inline const void* address_of(const volatile void* p) { return const_cast<const void*>(p); }

inline std::string describe(const site& s) {
  std::string file = s.file;
  return file.substr(file.rfind('/') + 1) + ":" + std::to_string(s.line);
}

struct allocation {
  size_t bytes = 0;
  site where;
  bool host_too = false;  // managed or pinned
  bool is_variable = false;
  bool of_graph = false;  // a graph's, which may run again: it stays
};

// What a stream would have done while it was captured.
using recorded_work = std::vector<std::function<void()>>;
// A kernel by its address alone: the work of a launch with the arguments' present values.
using kernel_by_address = std::function<std::function<void()>(const launch_config&, void** arguments, const site&)>;

// The program's view of the device. One per imported library.
struct program {
  emulation device;              // every stream: work runs in the order of the calls
  emulation* current = &device;  // where launches without a stream go
  int last_error = 0;
  std::map<const char*, allocation> memory;
  std::map<const void*, int> dynamic_limit;          // kernel: opted-in bytes of dynamic shared memory
  std::map<const void*, kernel_by_address> kernels;  // those whose names were taken as void*
  std::map<const char*, size_t> registered;          // host memory: bytes
  std::unique_ptr<recorded_work> capture;            // while a stream is captured
  recorded_work children;                            // what kernels have launched, behind the launch that runs
  std::vector<const char*> approximated;             // constructs that ran and whose results are not a GPU's to the bit
  size_t approximations_told = 0;
  simt_import_report_fn report = nullptr;
  void* user = nullptr;
  bool keep_going = false;
  bool has_launched = false;
  unsigned long long* launches = nullptr;  // counts those that have ended
};
inline program& the_program() {
  static program instance;
  return instance;
}

inline void report(const char* kind, const std::string& text, bool fatal) {
  program& p = the_program();
  if (p.report != nullptr) p.report(p.user, kind, text.c_str(), fatal);
}

// Error codes of the runtime API that this layer itself raises (CUDA Runtime API, cudaError_t).
inline constexpr int k_invalid_value = 1, k_out_of_memory = 2, k_invalid_configuration = 9, k_launch_failure = 719;

// Tells what is approximated and was not told of. Not in kernels, whose stacks are small.
inline void report_approximations() {
  program& p = the_program();
  for (; p.approximations_told < p.approximated.size(); ++p.approximations_told)
    report("approximated", p.approximated[p.approximations_told], false);
}
// A construct runs whose result is not a GPU's to the bit.
inline void approximated(const char* what) {
  std::vector<const char*>& list = the_program().approximated;
  for (const char* known : list)
    if (known == what) return;
  list.push_back(what);
  if (!in_kernel()) report_approximations();
}

template <class T, class = void>
constexpr bool is_pair = false;
template <class T>
constexpr bool is_pair<T, std::void_t<decltype(T::x), decltype(T::y)>> = true;

// The value of a construct that is not a GPU's to the bit: a number, one of 16 bits, or a pair of them.
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

// The same for what the host's code may call, too.
template <class T>
SIMT_INLINE T approximate_in_kernel(const char* what, T value) {
  return in_kernel() ? approximate(what, value) : value;
}
template <class T>
SIMT_INLINE void sine_and_cosine(T x, T* sine, T* cosine) {
  *sine = approximate_in_kernel("functions of math.h", std::sin(x));
  *cosine = approximate_in_kernel("functions of math.h", std::cos(x));
}

// Does what a stream is asked for, or records it: where the stream is being captured, and where a kernel asks.
template <class Work>
void enqueue(Work&& work) {
  program& p = the_program();
  if (in_kernel())
    p.children.emplace_back(std::forward<Work>(work));
  else if (p.capture)
    p.capture->emplace_back(std::forward<Work>(work));
  else
    work();
}

// The races that launches have outlived, and what they were the first to approximate.
inline void report_notices() {
  for (const finding& f : take_notices()) report(f.kind.c_str(), f.text, false);
  report_approximations();
}

// Runs a launch; a hazard becomes the last error, and a report. What its threads have launched follows in the order of
// the calls, each with its own such launches, so that a stream of a block has them one after the other.
template <class Launch>
void guarded_launch(emulation* stream, Launch&& launch) {
  program& p = the_program();
  p.has_launched = true;
  emulation& on = stream == nullptr ? *p.current : *stream;
  try {
    launch(&on);
    if (p.launches != nullptr) ++*p.launches;
    report_notices();
    for (const auto& child : std::exchange(p.children, {})) child();
  } catch (const device_error& e) {
    p.children.clear();
    const bool limit = !on.ok() && on.findings.back().kind == "launch_limit";
    p.last_error = limit ? k_invalid_configuration : k_launch_failure;
    if (&on != &p.device) return;  // a trial's own stream: the trial reads its findings
    report_notices();
    if (on.ok()) report("error_return", e.what(), !p.keep_going);
    for (const finding& f : on.findings) report(f.kind.c_str(), f.text, !p.keep_going);
    on.clear();  // only where the program goes on
  }
}

__attribute__((noinline, cold)) inline void report_plain_call(const char* kernel, const site& where) {
  report("error_return",
         std::string("kernel ") + kernel + " of " + describe(where) +
             " was called as a function: without <<<grid, block>>> a GPU runs nothing of it",
         false);
}
// Whether a kernel runs outside of a launch, as it does where its pointer is called.
SIMT_INLINE bool called_as_function(const char* kernel, SIMT_SITE) {
  if (in_kernel()) return false;
  report_plain_call(kernel, site);
  return true;
}

// A launch beyond 48 KiB of dynamic shared memory needs the kernel's consent on a GPU (cudaFuncSetAttribute).
inline bool dynamic_memory_refused(const void* kernel, size_t bytes, emulation* stream, const site& where) {
  constexpr size_t k_default_limit = 48 * 1024;
  program& p = the_program();
  if (bytes <= k_default_limit) return false;
  const auto found = p.dynamic_limit.find(kernel);
  if (found != p.dynamic_limit.end() && bytes <= static_cast<size_t>(found->second)) return false;
  const std::string text = "launch at " + describe(where) + ": dynamic shared memory is " + std::to_string(bytes) +
                           " bytes, allowed are " + std::to_string(k_default_limit) +
                           " unless cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes) "
                           "raised it";
  p.last_error = k_invalid_configuration;
  emulation& on = stream == nullptr ? *p.current : *stream;
  if (&on == &p.device)
    report("launch_limit", text, !p.keep_going);
  else
    on.findings.push_back({"launch_limit", text});
  return true;
}

// kernel(k).at(grid, block, bytes, stream)(arguments...), for a kernel that is one function.
template <class... Parameters>
class kernel_launch {
 public:
  kernel_launch(void (*k)(Parameters...), const launch_config& c, const site& where)
      : kernel_(k), config_(c), where_(where) {}
  void operator()(Parameters... arguments) const {
    enqueue([self = *this, values = std::tuple<std::decay_t<Parameters>...>(arguments...)] {
      std::apply([&](const auto&... a) { self.run(a...); }, values);
    });
  }

 private:
  void run(const std::decay_t<Parameters>&... arguments) const {
    if (dynamic_memory_refused(reinterpret_cast<const void*>(kernel_), config_.smem_bytes, config_.stream, where_))
      return;
    guarded_launch(config_.stream, [&](emulation* on) {
      launch_config c = config_;
      c.stream = on;
      const host_pointers forbidden(arguments...);
      ::simt::launch(c, kernel_, arguments...);
    });
  }

  void (*kernel_)(Parameters...);
  launch_config config_;
  site where_;
};
template <class... Parameters>
struct kernel_name {
  void (*function)(Parameters...);
  kernel_launch<Parameters...> at(dim3 grid, dim3 block, size_t bytes = 0, emulation* stream = nullptr,
                                  SIMT_SITE) const {
    return {function, {grid, block, bytes, stream}, site};
  }
};
template <class... Parameters>
kernel_name<Parameters...> kernel(void (*function)(Parameters...)) {
  return {function};
}

// The same for a template or an overload set, which only the call itself can resolve.
template <class Call>
class callable_launch {
 public:
  callable_launch(Call c, const launch_config& l) : call(c), config(l) {}

  template <class... Arguments>
  void operator()(Arguments... arguments) const {
    enqueue([self = *this, values = std::tuple<Arguments...>(arguments...)] {
      std::apply([&](const auto&... a) { self.template run<Arguments...>(a...); }, values);
    });
  }

 private:
  template <class... Arguments>
  void run(const Arguments&... arguments) const {
    struct closure {
      const Call& call;
      std::tuple<Arguments...> values;
    } c{call, {arguments...}};
    guarded_launch(config.stream, [&](emulation* on) {
      launch_config here = config;
      here.stream = on;
      const auto forbidden = std::make_from_tuple<host_pointers>(c.values);
      run_grid(
          here,
          [](void* p) {
            const closure& self = *static_cast<const closure*>(p);
            std::apply(self.call, self.values);
          },
          &c);
    });
  }
  Call call;
  launch_config config;
};
template <class Call>
struct callable {
  Call call;
  explicit callable(Call c) : call(c) {}
  callable_launch<Call> at(dim3 grid, dim3 block, size_t bytes = 0, emulation* stream = nullptr) const {
    return {call, {grid, block, bytes, stream}};
  }
};

// The index i of p, which must stay in the allocation of a pointer p that lies in one.
template <class Indexed, class Index>
SIMT_INLINE Index index(const Indexed& p, Index i) {
  if constexpr (std::is_pointer_v<Indexed> && (std::is_integral_v<Index> || std::is_enum_v<Index>)) {
    using element = std::remove_pointer_t<Indexed>;
    if constexpr (!std::is_void_v<element> && !std::is_function_v<element>) {
      check_index(address_of(p), address_of(p + i));
#ifdef SIMT_IMPORT_TRACE  // atomics are functions of the device's library, which is not traced
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
  the_program().memory[static_cast<char*>(p)] = {sizeof(T), where, host_too, true};
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

// Of a program without a launch nothing was judged.
inline void report_idleness() {
  if (!the_program().has_launched) report("note", "no kernel was launched", false);
  the_program().has_launched = true;  // once
}

template <class Main>
int run_program(Main&& entry, const simt_import_options& options) {
  program& p = the_program();
  p.report = options.report;
  p.user = options.user;
  p.keep_going = options.keep_going != 0;
  p.launches = options.launches;
#ifdef SIMT_IMPORT_TRACE
  trace::begin(options);
#endif
  tolerate(p.keep_going ? tolerance::all : tolerance::benign);
  p.device.schedule = schedule::parse(options.schedule);
  if (options.step_budget > 0) p.device.step_budget = options.step_budget;
  std::atexit(report_idleness);  // for exit() anywhere
  const int status = entry();
  report_idleness();
  std::fflush(nullptr);
  size_t leaked = 0, bytes = 0;
  site first;
  for (const auto& [address, a] : p.memory) {
    if (a.is_variable || a.of_graph) continue;
    if (leaked++ == 0) first = a.where;
    bytes += a.bytes;
  }
  if (leaked > 0)
    report("note",
           std::to_string(leaked) + " device allocations of " + std::to_string(bytes) +
               " bytes together were never freed; one was made at " + describe(first),
           false);
  return status;
}

}  // namespace simt::import
