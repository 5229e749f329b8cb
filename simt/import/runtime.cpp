// What host code of every foreign program calls: compiled here once, not with each program.
#include "simt/import/runtime.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

namespace simt::import {
namespace {

// Tells what is approximated and was not told of. Not in kernels, whose stacks are small.
void report_approximations() {
  program& p = the_program();
  for (; p.approximations_told < p.approximated.size(); ++p.approximations_told)
    report("approximated", p.approximated[p.approximations_told], false);
}
// The races that launches have outlived, and what they were the first to approximate.
void report_notices() {
  for (const finding& f : take_notices()) report(f.kind.c_str(), f.text, false);
  report_approximations();
}

// Of a program without a launch nothing was judged.
void report_idleness() {
  if (!the_program().has_launched) report("note", "no kernel was launched", false);
  the_program().has_launched = true;  // once
}

// The program's memory is tracked; a trial's tensors are not, so there an unknown address may be the device's.
bool knows_all_memory() { return the_program().report != nullptr; }

// What comes back to the host should have been written. All of it missing is a finding; a part may be what a program
// asks for and does not look at, such as the rest of a list or the padding of a struct.
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
  static program instance;
  return instance;
}

void add_allocation(const void* p, const allocation& a) { the_program().memory[static_cast<const char*>(p)] = a; }

void report(const char* kind, const std::string& text, bool fatal) {
  program& p = the_program();
  if (p.report != nullptr) p.report(p.user, kind, text.c_str(), fatal);
}

void approximated(const char* what) {
  std::vector<const char*>& list = the_program().approximated;
  for (const char* known : list)
    if (known == what) return;
  list.push_back(what);
  if (!in_kernel()) report_approximations();
}

bool is_recording() { return in_kernel() || the_program().capture != nullptr; }

void record(std::function<void()> work) {
  program& p = the_program();
  (in_kernel() ? p.children : *p.capture).push_back(std::move(work));
}

void guarded_launch(emulation* stream, void (*launch)(emulation* on, const void* what), const void* what) {
  program& p = the_program();
  p.has_launched = true;
  emulation& on = stream == nullptr ? *p.current : *stream;
  try {
    launch(&on, what);
    if (p.launches != nullptr) ++*p.launches;
    report_notices();
    for (const auto& child : std::exchange(p.children, {})) child();
  } catch (const device_error& e) {
    p.children.clear();
    const bool limit = !on.ok() && on.findings.back().kind == "launch_limit";
    p.last_error = limit ? cudaErrorInvalidConfiguration : cudaErrorLaunchFailure;
    if (&on != &p.device) return;  // a trial's own stream: the trial reads its findings
    report_notices();
    if (on.ok()) report("error_return", e.what(), !p.keep_going);
    for (const finding& f : on.findings) report(f.kind.c_str(), f.text, !p.keep_going);
    on.clear();  // only where the program goes on
  }
}

void report_plain_call(const char* kernel, const site& where) {
  report("error_return",
         std::string("kernel ") + kernel + " of " + describe(where) +
             " was called as a function: without <<<grid, block>>> a GPU runs nothing of it",
         false);
}

bool dynamic_memory_refused(const void* kernel, size_t bytes, emulation* stream, const site& where) {
  constexpr size_t k_default_limit = 48 * 1024;
  program& p = the_program();
  if (bytes <= k_default_limit) return false;
  const auto found = p.dynamic_limit.find(kernel);
  if (found != p.dynamic_limit.end() && bytes <= static_cast<size_t>(found->second)) return false;
  const std::string text = "launch at " + describe(where) + ": dynamic shared memory is " + std::to_string(bytes) +
                           " bytes, allowed are " + std::to_string(k_default_limit) +
                           " unless cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes) "
                           "raised it";
  p.last_error = cudaErrorInvalidConfiguration;
  emulation& on = stream == nullptr ? *p.current : *stream;
  if (&on == &p.device)
    report("launch_limit", text, !p.keep_going);
  else
    on.findings.push_back({"launch_limit", text});
  return true;
}

void begin_program(const simt_import_options& options) {
  program& p = the_program();
  p.report = options.report;
  p.user = options.user;
  p.keep_going = options.keep_going != 0;
  p.launches = options.launches;
  treat_volatile_as_plain(options.plain_volatile != 0);
  tolerate(p.keep_going ? tolerance::all : tolerance::benign);
  p.device.schedule = schedule::parse(options.schedule);
  if (options.step_budget > 0) p.device.step_budget = options.step_budget;
  std::atexit(report_idleness);  // for exit() anywhere
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

cudaError_t copy(const char* function, const site& where, void* to, const void* from, size_t bytes,
                 cudaMemcpyKind kind) {
  if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault)
    return misuse(function, where, "kind is " + std::to_string(kind) + ", allowed are 0 to 4",
                  cudaErrorInvalidMemcpyDirection);
  const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  const bool any = kind == cudaMemcpyDefault;
  if (!check_side(function, where, "the destination", to, bytes, to_device, !to_device && !any) ||
      !check_side(function, where, "the source", from, bytes, from_device, !from_device && !any))
    return static_cast<cudaError_t>(the_program().last_error);
  if (bytes > 0 && find_allocation(to) == nullptr) check_written(function, where, from, bytes);
  if (bytes > 0) memcpy_async(to, from, bytes, nullptr);
  return cudaSuccess;
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
  // Managed and pinned memory may be filled by the host, which nobody observes.
  if (!host_too) mark_uninitialized(*p, bytes);
  add_allocation(*p, {bytes, where, host_too});
  return cudaSuccess;
}

cudaError_t release(const char* function, void* p, const site& where) {
  if (p == nullptr) return cudaSuccess;
  auto& memory = the_program().memory;
  const auto found = memory.find(static_cast<char*>(p));
  if (found == memory.end() || found->second.is_variable)
    return misuse(function, where, "the pointer is not the start of a live allocation");
  const int64_t damage = device_check(p);
  if (damage != INT64_MIN)
    report("out_of_bounds",
           std::string(function) + " at " + describe(where) + ": byte " + std::to_string(damage) + " of a buffer of " +
               std::to_string(found->second.bytes) + " bytes was written",
           false);
  if (found->second.of_graph) return cudaSuccess;
  memory.erase(found);
  device_free(p);
  return cudaSuccess;
}

std::function<void()> give_to_graph(void* p, size_t bytes) {
  if (p != nullptr) the_program().memory[static_cast<char*>(p)].of_graph = true;
  return [=] { mark_uninitialized(p, bytes); };
}

}  // namespace simt::import

const char* cudaGetErrorName(cudaError_t e) {
  switch (e) {
    case cudaSuccess: return "cudaSuccess";
    case cudaErrorInvalidValue: return "cudaErrorInvalidValue";
    case cudaErrorMemoryAllocation: return "cudaErrorMemoryAllocation";
    case cudaErrorInvalidConfiguration: return "cudaErrorInvalidConfiguration";
    case cudaErrorInvalidPitchValue: return "cudaErrorInvalidPitchValue";
    case cudaErrorInvalidSymbol: return "cudaErrorInvalidSymbol";
    case cudaErrorInvalidMemcpyDirection: return "cudaErrorInvalidMemcpyDirection";
    case cudaErrorInvalidDeviceFunction: return "cudaErrorInvalidDeviceFunction";
    case cudaErrorNoDevice: return "cudaErrorNoDevice";
    case cudaErrorInvalidDevice: return "cudaErrorInvalidDevice";
    case cudaErrorInvalidResourceHandle: return "cudaErrorInvalidResourceHandle";
    case cudaErrorSymbolNotFound: return "cudaErrorSymbolNotFound";
    case cudaErrorNotReady: return "cudaErrorNotReady";
    case cudaErrorIllegalAddress: return "cudaErrorIllegalAddress";
    case cudaErrorPeerAccessAlreadyEnabled: return "cudaErrorPeerAccessAlreadyEnabled";
    case cudaErrorAssert: return "cudaErrorAssert";
    case cudaErrorLaunchFailure: return "cudaErrorLaunchFailure";
    case cudaErrorNotSupported: return "cudaErrorNotSupported";
    case cudaErrorGraphExecUpdateFailure: return "cudaErrorGraphExecUpdateFailure";
    case cudaErrorUnknown: break;
  }
  return "cudaErrorUnknown";
}
const char* cudaGetErrorString(cudaError_t e) {
  switch (e) {
    case cudaSuccess: return "no error";
    case cudaErrorInvalidValue: return "invalid argument";
    case cudaErrorMemoryAllocation: return "out of memory";
    case cudaErrorInvalidConfiguration: return "invalid configuration argument";
    case cudaErrorInvalidDevice: return "invalid device ordinal";
    case cudaErrorInvalidMemcpyDirection: return "invalid copy direction for memcpy";
    case cudaErrorLaunchFailure: return "unspecified launch failure";
    default: return cudaGetErrorName(e);
  }
}

cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
                         cudaMemcpyKind kind, ::simt::import::site site) {
  if (width > to_pitch || width > from_pitch)
    return ::simt::import::misuse("cudaMemcpy2D", site,
                                  "the width of " + std::to_string(width) + " bytes is more than the pitch of " +
                                      std::to_string(to_pitch < from_pitch ? to_pitch : from_pitch),
                                  cudaErrorInvalidPitchValue);
  for (size_t row = 0; row < height; ++row) {
    const cudaError_t e = ::simt::import::copy("cudaMemcpy2D", site, static_cast<char*>(to) + row * to_pitch,
                                               static_cast<const char*>(from) + row * from_pitch, width, kind);
    if (e != cudaSuccess) return e;
  }
  return cudaSuccess;
}

cudaError_t cudaMemset(void* p, int byte, size_t bytes, ::simt::import::site site) {
  if (!::simt::import::check_side("cudaMemset", site, "the buffer", p, bytes, true, false))
    return cudaErrorInvalidValue;
  if (bytes > 0) ::simt::memset_async(p, byte, bytes, nullptr);
  return cudaSuccess;
}

cudaError_t cudaMemset2D(void* p, size_t pitch, int byte, size_t width, size_t height, ::simt::import::site site) {
  for (size_t row = 0; row < height; ++row) {
    const cudaError_t e = cudaMemset(static_cast<char*>(p) + row * pitch, byte, width, site);
    if (e != cudaSuccess) return e;
  }
  return cudaSuccess;
}

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
  p->major = 8;
  p->multiProcessorCount = own.sm_count;
  p->maxThreadsPerMultiProcessor = 2048;
  p->concurrentKernels = p->cooperativeLaunch = p->managedMemory = p->unifiedAddressing = p->canMapHostMemory = 1;
  p->asyncEngineCount = p->deviceOverlap = p->streamPrioritiesSupported = 1;
  p->textureAlignment = p->surfaceAlignment = 512;
  p->texturePitchAlignment = 32;
  p->regsPerMultiprocessor = 65536;
  p->maxBlocksPerMultiProcessor = 32;
  p->l2CacheSize = static_cast<int>(own.l2_bytes);
  p->persistingL2CacheMaxSize = p->l2CacheSize / 4 * 3;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  cudaDeviceProp p;
  if (const cudaError_t e = cudaGetDeviceProperties(&p, device); e != cudaSuccess) return e;
  switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock: *value = p.maxThreadsPerBlock; break;
    case cudaDevAttrMaxBlockDimX:
    case cudaDevAttrMaxBlockDimY:
    case cudaDevAttrMaxBlockDimZ: *value = p.maxThreadsDim[attribute - cudaDevAttrMaxBlockDimX]; break;
    case cudaDevAttrMaxGridDimX:
    case cudaDevAttrMaxGridDimY:
    case cudaDevAttrMaxGridDimZ: *value = p.maxGridSize[attribute - cudaDevAttrMaxGridDimX]; break;
    case cudaDevAttrTotalConstantMemory: *value = static_cast<int>(p.totalConstMem); break;
    case cudaDevAttrMaxRegistersPerBlock: *value = p.regsPerBlock; break;
    case cudaDevAttrGpuOverlap: *value = p.deviceOverlap; break;
    case cudaDevAttrKernelExecTimeout: *value = p.kernelExecTimeoutEnabled; break;
    case cudaDevAttrIntegrated: *value = p.integrated; break;
    case cudaDevAttrCanMapHostMemory: *value = p.canMapHostMemory; break;
    case cudaDevAttrComputeMode: *value = p.computeMode; break;
    case cudaDevAttrConcurrentKernels: *value = p.concurrentKernels; break;
    case cudaDevAttrMemoryClockRate: *value = p.memoryClockRate; break;
    case cudaDevAttrGlobalMemoryBusWidth: *value = p.memoryBusWidth; break;
    case cudaDevAttrUnifiedAddressing: *value = p.unifiedAddressing; break;
    case cudaDevAttrStreamPrioritiesSupported: *value = p.streamPrioritiesSupported; break;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor: *value = static_cast<int>(p.sharedMemPerMultiprocessor); break;
    case cudaDevAttrMaxRegistersPerMultiprocessor: *value = p.regsPerMultiprocessor; break;
    case cudaDevAttrManagedMemory: *value = p.managedMemory; break;
    case cudaDevAttrHostNativeAtomicSupported: *value = p.hostNativeAtomicSupported; break;
    case cudaDevAttrConcurrentManagedAccess: *value = p.concurrentManagedAccess; break;
    case cudaDevAttrMaxSharedMemoryPerBlock: *value = static_cast<int>(p.sharedMemPerBlock); break;
    case cudaDevAttrWarpSize: *value = p.warpSize; break;
    case cudaDevAttrClockRate: *value = p.clockRate; break;
    case cudaDevAttrMultiProcessorCount: *value = p.multiProcessorCount; break;
    case cudaDevAttrL2CacheSize: *value = p.l2CacheSize; break;
    case cudaDevAttrMaxThreadsPerMultiProcessor: *value = p.maxThreadsPerMultiProcessor; break;
    case cudaDevAttrComputeCapabilityMajor: *value = p.major; break;
    case cudaDevAttrComputeCapabilityMinor: *value = p.minor; break;
    case cudaDevAttrMemoryPoolsSupported: *value = 1; break;
    case cudaDevAttrCooperativeLaunch: *value = p.cooperativeLaunch; break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: *value = static_cast<int>(p.sharedMemPerBlockOptin); break;
    default: return ::simt::import::returned(cudaErrorInvalidValue);
  }
  return cudaSuccess;
}
