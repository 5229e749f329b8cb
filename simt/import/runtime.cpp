// Functions that host code of every foreign program calls, compiled once instead of with each program.
#include "simt/import/runtime.hpp"

#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/times.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <string>
#include <utility>

#include "simt/emulated/parts.hpp"
#include "simt/emulated/symbols.hpp"
#include "simt/import/faults.hpp"

namespace simt::import {
namespace {

// Reports approximated constructs that were not reported yet. Not called in kernels, whose stacks are small.
void report_approximations() {
  program& p = the_program();
  for (; p.approximations_reported < p.approximations; ++p.approximations_reported)
    report("approximated", p.approximated[p.approximations_reported], false);
}
// Reports races after which launches continued, and constructs that these launches were the first to approximate.
void report_notices() {
  for (const finding& f : take_notices()) report(f.kind.c_str(), f.text, false);
  report_approximations();
}

// Reports the result of exploring the program's launches.
void report_exploration(const exploration& shown) {
  const bool is_complete = shown.left == 0 && shown.obstacles.empty();
  const std::string classes = shown.classes == 1 ? " class of schedules" : " classes of schedules";
  std::string text = std::to_string(shown.classes);
  text += shown.left > 0 ? " of at least " + std::to_string(shown.classes + shown.left) + " classes of schedules"
          : is_complete  ? classes + (shown.classes == 1 ? ", which ran" : ", all run")
                         : classes;
  if (shown.outcomes > 1) text += "; device memory ends in " + std::to_string(shown.outcomes) + " ways";
  for (const std::string& what : shown.obstacles) text += "; not explored: " + what;
  if (shown.waits > 0) text += "; a thread that reads an unchanged word again is taken to wait in a loop";
  report("explored", text, false);
}

// Reports that the program has one outcome under every schedule, or what its outcome may depend on.
void report_choices() {
  const emulation& on = the_program().device;
  if (on.launches > 0 && on.schedule.strategy == strategy::explore) report_exploration(on.explored);
  for (const char* what : host_choices()) report("choice", what, false);
  if (host_choices().empty() && on.has_one_outcome()) report("every schedule", assumption_on_time(), false);
  if (on.explored.launches == on.launches) return;
  for (const schedule_choice& c : on.choices) {
    const std::string place = c.place == 0 ? "" : " at " + source_line(c.place);
    report("choice", c.what + place + " (" + std::to_string(c.count) + " times)", false);
  }
}

// The program launched no kernel, so there is nothing to judge.
void report_idleness() {
  run_waiting();
  if (!std::exchange(the_program().has_ended, true)) report_choices();
  if (!the_program().has_launched) report("note", "no kernel was launched", false);
  the_program().has_launched = true;  // once
}

// The program's memory is tracked. A trial's tensors are not, so there an unknown address may be device memory.
bool knows_all_memory() { return the_program().report != nullptr; }

// Memory copied to the host should have been written. If all of it is unwritten, that is a finding. A part may be data
// that the program copies but does not read, such as the rest of a list or the padding of a struct.
void check_written(const char* function, const site& where, const void* from, size_t bytes) {
  const auto* found = find_allocation(from);
  const unwritten_bytes none = count_unwritten(from, bytes);
  if (!knows_all_memory() || found == nullptr || none.count == 0) return;
  const std::string of = " of the buffer of " + std::to_string(found->second.bytes) + " bytes that was allocated at " +
                         describe(found->second.where);
  const std::string copies = std::string(function) + " at " + describe(where) + " copies back ";
  const size_t first = static_cast<size_t>(static_cast<const char*>(from) - found->first) + none.first;
  if (none.count == bytes)
    report("uninitialized",
           copies + std::to_string(bytes) + " bytes from byte " + std::to_string(first) + of +
               ", none of which anybody wrote",
           false);
  else
    report("note",
           copies + std::to_string(none.count) + " bytes that nobody wrote, the first of them byte " +
               std::to_string(first) + of,
           false);
}

}  // namespace

std::string describe(const site& s) {
  std::string file = s.file;
  return file.substr(file.rfind('/') + 1) + ":" + std::to_string(s.line);
}

program& the_program() {
  static program& instance = *new program;  // never destroyed: the program's own static objects use it at its end
  return instance;
}

void add_allocation(const void* p, const allocation& a) { the_program().memory[static_cast<const char*>(p)] = a; }

void report(const char* kind, const std::string& text, bool fatal) {
  note_effect_of_order();
  program& p = the_program();
  if (std::string(kind) == "out_of_bounds") p.has_left_bounds = true;
  if (p.report != nullptr) p.report(p.user, kind, text.c_str(), fatal);
}

// Not followed as a write of the kernel that calls it.
__attribute__((no_sanitize("thread"))) void approximated(const char* what) {
  program& p = the_program();
  for (size_t k = 0; k < p.approximations; ++k)
    if (p.approximated[k] == what) return;
  if (p.approximations == std::size(p.approximated)) return;
  note_effect_of_order();
  p.approximated[p.approximations++] = what;
  if (!in_kernel()) report_approximations();
}

clock_t host_clock(const void* pc) {
  host_reads_time(pc);
  return clock();
}

void guarded_launch(void (*launch)(emulation* on, const void* what), const void* what) {
  program& p = the_program();
  p.has_launched = true;
  emulation& on = *p.current;
  try {
    launch(&on, what);
    if (p.launches != nullptr) ++*p.launches;
    report_notices();
    const auto children = std::exchange(p.children, {}), tails = std::exchange(p.tails, {});
    for (const auto& child : children) child();
    for (const auto& tail : tails) tail();
  } catch (const device_error& e) {
    p.children.clear();
    p.tails.clear();
    const bool limit = !on.ok() && on.findings.back().kind == "launch_limit";
    p.last_error = limit ? cudaErrorInvalidConfiguration : cudaErrorLaunchFailure;
    if (&on != &p.device) return;  // the trial reads the findings of its own stream
    report_notices();
    if (on.ok()) report("error_return", e.what(), !p.keep_going);
    report_wait_for_host(on);
    for (const finding& f : on.findings) report(f.kind.c_str(), f.text, !p.keep_going);
    on.clear();  // the program continues
  }
}

void report_plain_call(const char* kernel, const site& where) {
  report("error_return",
         std::string("kernel ") + kernel + " of " + describe(where) +
             " was called as a function: without <<<grid, block>>> a GPU runs nothing of it",
         false);
}

constexpr size_t k_default_limit = 48 * 1024;

// `kernel` is nullptr if a call hides which one of several it is: then the limit of any kernel counts.
static bool is_within_dynamic_limit(const void* kernel, size_t bytes) {
  const auto& limits = the_program().dynamic_limit;
  return bytes <= k_default_limit || std::any_of(limits.begin(), limits.end(), [&](const auto& one) {
           return (kernel == nullptr || one.first == kernel) && bytes <= static_cast<size_t>(one.second);
         });
}

bool may_wait(const void* kernel, const launch_config& c) {
  return !c.cooperative && is_within_dynamic_limit(kernel, c.smem_bytes) &&
         broken_launch_limit({c.grid.x, c.grid.y, c.grid.z}, {c.block.x, c.block.y, c.block.z}, c.smem_bytes,
                             {c.cluster.x, c.cluster.y, c.cluster.z}, machine_limits{})
             .empty();
}

// Reports to the program's user, or in a trial to its stream.
static void report_here(const char* kind, const std::string& text, bool fatal) {
  program& p = the_program();
  if (p.current == &p.device)
    report(kind, text, fatal);
  else
    p.current->findings.push_back({kind, text});
}

bool dynamic_memory_refused(const void* kernel, size_t bytes, const site& where) {
  program& p = the_program();
  if (is_within_dynamic_limit(kernel, bytes)) return false;
  const std::string text = "launch at " + describe(where) + ": dynamic shared memory is " + std::to_string(bytes) +
                           " bytes, allowed are " + std::to_string(k_default_limit) +
                           " unless cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes) "
                           "raised it";
  p.last_error = cudaErrorInvalidConfiguration;
  report_here("launch_limit", text, !p.keep_going);
  return true;
}

static void report_stream_race(const std::string& accesses, const void* at, const char* reason) {
  const auto* found = find_allocation(at);
  const std::string place = found == nullptr ? "pageable memory of the host"
                                             : "byte " + std::to_string(static_cast<const char*>(at) - found->first) +
                                                   " of the buffer of " + std::to_string(found->second.bytes) +
                                                   " bytes that was allocated at " + describe(found->second.where);
  report_here("race", accesses + place + reason, false);
}

void report_races_of_streams() { hb_report_stream_races(report_stream_race); }

void begin_program(const simt_import_options& options) {
  program& p = the_program();
  p.report = options.report;
  p.user = options.user;
  p.keep_going = options.keep_going != 0;
  p.launches = options.launches;
  treat_volatile_as_plain(options.plain_volatile != 0);
  if (p.report != nullptr) catch_program_faults();
  tolerate(p.keep_going ? tolerance::all : tolerance::benign);
  p.device.schedule = schedule::parse(options.schedule);
  p.device.sm_count = machine_limits{}.cluster;  // programs size grids by this number, which must hold a cluster
  p.device.skips_repeats = true;
  report_races_of_streams();
  for (const auto& [address, a] : p.memory) follow_memory(address, a.host_too);
  if (options.processes > 0) p.device.processes = options.processes;
  if (options.step_limit > 0) p.device.step_limit = options.step_limit;
  std::atexit(report_idleness);  // also runs if the program calls exit()
}

void end_program() {
  report_idleness();
  std::fflush(nullptr);
  size_t leaked = 0, bytes = 0;
  site first;
  for (const auto& [address, a] : the_program().memory) {
    if (a.is_variable || a.of_graph) continue;
    if (leaked++ == 0) first = a.where;
    bytes += a.bytes;
  }
  if (leaked > 0)
    report("note",
           std::to_string(leaked) + " device allocations of " + std::to_string(bytes) +
               " bytes together were never freed; one was made at " + describe(first),
           false);
}

cudaError_t returned(cudaError_t e) {
  if (e != cudaSuccess) the_program().last_error = e;
  return e;
}

cudaError_t misuse(const char* function, const site& where, const std::string& text, cudaError_t code) {
  report("error_return", std::string(function) + " at " + describe(where) + ": " + text, false);
  return returned(code);
}

const std::pair<const char* const, allocation>* find_allocation(const void* p) {
  const auto& memory = the_program().memory;
  const auto* address = static_cast<const char*>(p);
  auto after = memory.upper_bound(address);
  if (after == memory.begin()) return nullptr;
  --after;
  return address < after->first + after->second.bytes || address == after->first ? &*after : nullptr;
}

bool check_side(const char* function, const site& where, const char* side, const void* p, size_t bytes,
                bool must_be_device, bool must_be_host) {
  if (!knows_all_memory() || bytes == 0) return true;
  if (p == nullptr) {
    misuse(function, where, std::string(side) + " is a null pointer");
    return false;
  }
  const auto* found = find_allocation(p);
  if (found == nullptr && must_be_device) {
    misuse(function, where, std::string(side) + " is not device memory, as the kind of the copy says",
           cudaErrorInvalidMemcpyDirection);
    return false;
  }
  if (found == nullptr) return true;
  if (must_be_host && !found->second.host_too) {
    misuse(function, where, std::string(side) + " is device memory, but the kind of the copy says host memory",
           cudaErrorInvalidMemcpyDirection);
    return false;
  }
  const size_t offset = static_cast<size_t>(static_cast<const char*>(p) - found->first);
  if (bytes > found->second.bytes - offset) {
    report("out_of_bounds",
           std::string(function) + " at " + describe(where) + ": " + std::to_string(bytes) + " bytes from byte " +
               std::to_string(offset) + " of " + side + " leave the " + std::to_string(found->second.bytes) +
               " bytes that were allocated at " + describe(found->second.where),
           false);
    returned(cudaErrorInvalidValue);
    return false;
  }
  return true;
}

// True if a copy has read host memory when the call returns. A GPU's driver stages pageable memory, and a variable on
// the stack often dies soon after the call.
static bool is_staged(const void* from) {
  static thread_local const char* end = nullptr;
  if (end == nullptr) {
    pthread_attr_t attributes;
    void* begin = nullptr;
    size_t bytes = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) return false;
    pthread_attr_getstack(&attributes, &begin, &bytes);
    pthread_attr_destroy(&attributes);
    end = static_cast<const char*>(begin) + bytes;
  }
  return from >= __builtin_frame_address(0) && from < end;
}

cudaError_t copy(const char* function, const site& where, void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                 bool is_async) {
  if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault)
    return misuse(function, where, "kind is " + std::to_string(kind) + ", allowed are 0 to 4",
                  cudaErrorInvalidMemcpyDirection);
  const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  const bool any = kind == cudaMemcpyDefault;
  if (!check_side(function, where, "the destination", to, bytes, to_device, !to_device && !any) ||
      !check_side(function, where, "the source", from, bytes, from_device, !from_device && !any))
    return static_cast<cudaError_t>(the_program().last_error);
  if (bytes == 0) return cudaSuccess;
  if (find_allocation(to) == nullptr) check_written(function, where, from, bytes);
  if (find_allocation(from) != nullptr || (is_async && !is_staged(from))) hb_operation_accesses(from, bytes, false);
  if (find_allocation(to) != nullptr || is_async) hb_operation_accesses(to, bytes, true);
  memcpy_async(to, from, bytes, nullptr);
  return cudaSuccess;
}

static cudaError_t copy_rows(const stream_call& call, const copy_request& r, bool is_async) {
  if (r.rows > 1 && (r.bytes > r.to_pitch || r.bytes > r.from_pitch))
    return misuse(call.name, call.where,
                  "the width of " + std::to_string(r.bytes) + " bytes is more than the pitch of " +
                      std::to_string(r.to_pitch < r.from_pitch ? r.to_pitch : r.from_pitch),
                  cudaErrorInvalidPitchValue);
  for (size_t row = 0; row < r.rows; ++row) {
    const cudaError_t e = copy(call.name, call.where, static_cast<char*>(r.to) + row * r.to_pitch,
                               static_cast<const char*>(r.from) + row * r.from_pitch, r.bytes, r.kind, is_async);
    if (e != cudaSuccess) return e;
  }
  return cudaSuccess;
}

static bool is_pinned(const void* p) {
  const auto* found = find_allocation(p);
  if (found != nullptr) return found->second.host_too;
  const auto& registered = the_program().registered;
  auto after = registered.upper_bound(static_cast<char*>(const_cast<void*>(p)));
  if (after == registered.begin()) return false;
  --after;
  return static_cast<const char*>(p) < after->first + after->second;
}

copy_path path_of(const void* to, const void* from, cudaMemcpyKind kind) {
  const auto is_of_device = [](const void* p) {
    const auto* found = find_allocation(p);
    return found != nullptr && !found->second.host_too;
  };
  if (kind == cudaMemcpyDeviceToDevice || (is_of_device(to) && is_of_device(from))) return copy_path::within_device;
  if (is_of_device(to) && find_allocation(from) == nullptr && !is_pinned(from)) return copy_path::pageable_to_device;
  return copy_path::other;
}

cudaError_t enqueue_copy(const stream_call& call, copy_path path, std::function<cudaError_t()> work) {
  const auto result = std::make_shared<cudaError_t>(cudaSuccess);  // a graph may keep the work
  const auto to_result = [result, work = std::move(work)] { *result = work(); };
  if (path == copy_path::within_device)
    enqueue(call, to_result);
  else if (path == copy_path::pageable_to_device)
    wait_and_enqueue(call, to_result);
  else
    enqueue_and_wait(call, to_result);
  return *result;
}

cudaError_t copy_in(const stream_call& call, const copy_request& r) {
  return enqueue_copy(call, path_of(r.to, r.from, r.kind), [=] { return copy_rows(call, r, false); });
}

cudaError_t copy_async_in(const stream_call& call, const copy_request& r) {
  const auto is_known = [](const void* p) {
    return find_allocation(p) != nullptr;
  };  // other memory may be freed by then
  enqueue({call.name, call.where, call.stream, is_known(r.to) && is_known(r.from)}, [=] { copy_rows(call, r, true); });
  return cudaPeekAtLastError();
}

cudaError_t set(const char* function, const site& where, void* p, int byte, size_t bytes) {
  if (!check_side(function, where, "the buffer", p, bytes, true, false)) return cudaErrorInvalidValue;
  if (bytes == 0) return cudaSuccess;
  hb_operation_accesses(p, bytes, true);
  memset_async(p, byte, bytes, nullptr);
  return cudaSuccess;
}

cudaError_t set_in(const stream_call& call, bool is_async, void* p, int byte, size_t bytes, size_t rows, size_t pitch) {
  const auto result = std::make_shared<cudaError_t>(cudaSuccess);
  const auto work = [=] {
    for (size_t row = 0; row < rows && *result == cudaSuccess; ++row)
      *result = set(call.name, call.where, static_cast<char*>(p) + row * pitch, byte, bytes);
  };
  const auto* found = find_allocation(p);
  if (!is_async && found != nullptr && found->second.host_too)
    enqueue_and_wait(call, work);
  else
    enqueue({call.name, call.where, call.stream, found != nullptr}, work);
  return *result;
}

cudaError_t allocate(void** p, size_t bytes, bool host_too, const site& where) {
  if (p == nullptr) return returned(cudaErrorInvalidValue);
  *p = nullptr;
  if (bytes == 0) return cudaSuccess;
  try {
    *p = device_alloc(bytes, 0, 1);
  } catch (const device_error&) {
    return returned(cudaErrorMemoryAllocation);
  }
  // The host may write managed and pinned memory unobserved.
  if (!host_too && !the_program().host_writes_unseen) mark_uninitialized(*p, bytes);
  add_allocation(*p, {bytes, where, host_too});
  follow_memory(*p, host_too);
  return cudaSuccess;
}

cudaError_t release(const char* function, void* p, const site& where) {
  if (p == nullptr) return cudaSuccess;
  auto& memory = the_program().memory;
  const auto found = memory.find(static_cast<char*>(p));
  if (found == memory.end() || found->second.is_variable)
    return misuse(function, where, "the pointer is not the start of a live allocation");
  const int64_t damage = device_check(p);
  if (damage != INT64_MIN && !the_program().has_left_bounds)
    report("out_of_bounds",
           std::string(function) + " at " + describe(where) + ": byte " + std::to_string(damage) + " of a buffer of " +
               std::to_string(found->second.bytes) + " bytes was written",
           false);
  if (found->second.of_graph) return cudaSuccess;
  memory.erase(found);
  device_free(p);
  return cudaSuccess;
}

cudaError_t allocate_in(const stream_call& call, void** p, size_t bytes) {
  const cudaError_t e = allocate(p, bytes, false, call.where);
  if (e != cudaSuccess || *p == nullptr) return e;
  void* const memory = *p;
  if (is_captured(call.stream))
    enqueue(call, give_to_graph(memory, bytes));
  else
    enqueue(call, [=] { hb_operation_accesses(memory, bytes, true); });
  return cudaSuccess;
}

cudaError_t release_in(const stream_call& call, void* p) {
  const auto result = std::make_shared<cudaError_t>(cudaSuccess);
  enqueue(call, [=] {
    const auto* found = find_allocation(p);
    if (found != nullptr) hb_operation_accesses(p, found->second.bytes, true);
    *result = release(call.name, p, call.where);
  });
  return *result;
}

std::function<void()> give_to_graph(void* p, size_t bytes) {
  if (p != nullptr) the_program().memory[static_cast<char*>(p)].of_graph = true;
  return [=] { mark_uninitialized(p, bytes); };
}

}  // namespace simt::import

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int device) {
  if (device != 0) return ::simt::import::returned(cudaErrorInvalidDevice);
  const ::simt::machine_limits limits;
  const auto own = ::simt::device_properties(::simt::import::the_program().current);
  *p = {};
  std::strncpy(p->name, "emulated device", sizeof p->name - 1);
  p->totalGlobalMem = size_t{16} << 30;
  p->sharedMemPerBlock = limits.static_shared_bytes;
  p->sharedMemPerBlockOptin = own.shared_per_block_optin;
  p->sharedMemPerMultiprocessor = limits.shared_bytes + 1024;
  p->totalConstMem = 64 * 1024;
  p->memPitch = (size_t{1} << 31) - 1;
  p->regsPerBlock = 65536;
  p->warpSize = 32;
  p->maxThreadsPerBlock = static_cast<int>(limits.threads_per_block);
  for (int i = 0; i < 3; ++i) {
    p->maxThreadsDim[i] = static_cast<int>(limits.block_dim[i]);
    p->maxGridSize[i] = static_cast<int>(limits.grid_dim[i]);
  }
  p->clockRate = p->memoryClockRate = 1;
  p->memoryBusWidth = 8;
  p->major = ::simt::import::the_program().architecture / 100;
  p->minor = ::simt::import::the_program().architecture / 10 % 10;
  p->multiProcessorCount = own.sm_count;
  p->maxThreadsPerMultiProcessor = 2048;
  p->concurrentKernels = p->cooperativeLaunch = p->managedMemory = p->unifiedAddressing = p->canMapHostMemory = 1;
  p->asyncEngineCount = p->deviceOverlap = p->streamPrioritiesSupported = 1;
  p->textureAlignment = p->surfaceAlignment = 512;
  p->texturePitchAlignment = 32;
  p->regsPerMultiprocessor = 65536;
  p->maxBlocksPerMultiProcessor = 32;
  p->maxTexture1D = p->maxTexture2D[0] = p->maxSurface1D = 131072;
  p->maxTexture2D[1] = p->maxSurface2D[1] = 65536;
  p->maxSurface2D[0] = 131072;
  for (int i = 0; i < 3; ++i) p->maxTexture3D[i] = p->maxSurface3D[i] = 16384;
  p->maxTexture1DLayered[0] = p->maxTexture2DLayered[0] = p->maxTexture2DLayered[1] = 32768;
  p->maxTexture1DLayered[1] = p->maxTexture2DLayered[2] = 2048;
  p->maxTexture1DLinear = 268435456;
  p->globalL1CacheSupported = p->localL1CacheSupported = p->hostRegisterSupported = p->memoryPoolsSupported = 1;
  p->computePreemptionSupported = p->clusterLaunch = 1;
  p->singleToDoublePrecisionPerfRatio = 2;
  p->reservedSharedMemPerBlock = 1024;
  p->l2CacheSize = static_cast<int>(own.l2_bytes);
  p->persistingL2CacheMaxSize = p->l2CacheSize / 4 * 3;
  return cudaSuccess;
}

// What objcopy makes of the clocks that a program's host code reads. Weak, because the program may have a variable
// `time`, which objcopy renames, too.
#define SIMT_HOST_CLOCK(Type, name, parameters, call)      \
  __attribute__((weak)) Type simt_host_##name parameters { \
    simt::import::host_reads_time(SIMT_CALLER);            \
    return call;                                           \
  }
extern "C" {
// A time_point is returned as its count is, and a class has no place in C.
SIMT_HOST_CLOCK(int64_t, steady_now, (), std::chrono::steady_clock::now().time_since_epoch().count())
SIMT_HOST_CLOCK(int64_t, system_now, (), std::chrono::system_clock::now().time_since_epoch().count())
SIMT_HOST_CLOCK(time_t, time, (time_t * to), time(to))
SIMT_HOST_CLOCK(int, gettimeofday, (timeval * to, void* zone), gettimeofday(to, zone))
SIMT_HOST_CLOCK(int, clock_gettime, (clockid_t clock, timespec* to), clock_gettime(clock, to))
SIMT_HOST_CLOCK(int, timespec_get, (timespec * to, int base), timespec_get(to, base))
SIMT_HOST_CLOCK(clock_t, times, (tms * to), times(to))
SIMT_HOST_CLOCK(int, getrusage, (__rusage_who_t who, rusage* to), getrusage(who, to))
__attribute__((weak)) long simt_host_syscall(long number, long a, long b, long c, long d, long e, long f) {
  if (number == SYS_clock_gettime || number == SYS_gettimeofday || number == SYS_getrusage)
    simt::import::host_reads_time(SIMT_CALLER);
  return syscall(number, a, b, c, d, e, f);
}
}
