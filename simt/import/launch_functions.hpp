// Launches by functions of the CUDA runtime API instead of <<<>>>: cooperative launches, and launches with attributes.
#pragma once

#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "simt/import/runtime.hpp"

namespace simt::import {

// A launch for a kernel of these parameters; `arguments` points to the addresses of its arguments.
template <class... Parameters>
std::function<void()> work_of(void (*kernel)(Parameters...), const launch_config& c, void** arguments,
                              const site& where) {
  size_t next = 0;  // braces evaluate from left to right
  const std::tuple<std::decay_t<Parameters>...> values{*static_cast<std::decay_t<Parameters>*>(arguments[next++])...};
  (void)next;
  const kernel_launch<Parameters...> launch(kernel, c, nullptr, where);
  return std::apply([&](const auto&... v) { return launch.work(v...); }, values);
}

// The importer's replacement for `(void*)kernel`: its address, from which a launch finds the parameter types. No kernel
// of a source has the name of this parameter, so the importer does not rewrite the cast in here.
template <class... Parameters>
void* erased(void (*simt_erased)(Parameters...)) {
  void* const address = reinterpret_cast<void*>(simt_erased);
  the_program().kernels.try_emplace(address, [=](const launch_config& c, void** arguments, const site& where) {
    return work_of(simt_erased, c, arguments, where);
  });
  return address;
}
// The importer's replacement for `auto k = kernel`, after which a launch accepts `(void*)k`, too.
template <class... Parameters>
auto known(void (*kernel)(Parameters...)) {
  erased(kernel);
  return kernel;
}
// A variable with the name of a kernel.
template <class T>
void* erased(T* p) {
  return const_cast<std::remove_cv_t<T>*>(p);
}
inline void* erased(size_t address) { return reinterpret_cast<void*>(address); }

}  // namespace simt::import

// Overloads for a kernel's name, and for the address from `(void*)name`.
template <class... Parameters>
cudaError_t cudaLaunchKernel(void (*kernel)(Parameters...), dim3 grid, dim3 block, void** arguments, size_t bytes = 0,
                             cudaStream_t stream = nullptr, SIMT_SITE) {
  ::simt::import::enqueue({"cudaLaunchKernel", site, ::simt::import::on(stream)},
                          ::simt::import::work_of(kernel, {grid, block, bytes}, arguments, site));
  return cudaPeekAtLastError();
}
inline cudaError_t cudaLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** arguments, size_t bytes = 0,
                                    cudaStream_t stream = nullptr, SIMT_SITE) {
  const auto found = ::simt::import::the_program().kernels.find(kernel);
  if (found == ::simt::import::the_program().kernels.end())
    return ::simt::import::misuse("cudaLaunchKernel", site, "func is not a kernel whose name is written as (void*)name",
                                  cudaErrorInvalidDeviceFunction);
  ::simt::import::enqueue({"cudaLaunchKernel", site, ::simt::import::on(stream)},
                          found->second({grid, block, bytes}, arguments, site));
  return cudaPeekAtLastError();
}

// The kernel by its name instead of void*: its parameter types determine the types of `arguments`.
template <class... Parameters>
cudaError_t cudaLaunchCooperativeKernel(void (*kernel)(Parameters...), dim3 grid, dim3 block, void** arguments,
                                        size_t bytes = 0, cudaStream_t stream = nullptr, SIMT_SITE) {
  ::simt::launch_config c{grid, block, bytes};
  c.cooperative = true;
  ::simt::import::enqueue({"cudaLaunchCooperativeKernel", site, ::simt::import::on(stream)},
                          ::simt::import::work_of(kernel, c, arguments, site));
  return cudaPeekAtLastError();
}

// Launches with attributes. With programmaticStreamSerialization a launch may start before the previous one is
// complete, until it calls cudaGridDependencySynchronize().
enum cudaLaunchAttributeID {
  cudaLaunchAttributeIgnore = 0,
  cudaLaunchAttributeCooperative = 2,
  cudaLaunchAttributeClusterDimension = 4,
  cudaLaunchAttributeProgrammaticStreamSerialization = 6,
  cudaLaunchAttributePriority = 8,
  cudaLaunchAttributePreferredClusterDimension = 11
};
union cudaLaunchAttributeValue {
  struct {
    unsigned x, y, z;
  } clusterDim, preferredClusterDim;
  int cooperative;
  int programmaticStreamSerializationAllowed;
  int priority;
};
struct cudaLaunchAttribute {
  cudaLaunchAttributeID id;
  cudaLaunchAttributeValue val;
};
#undef gridDim
#undef blockDim
struct cudaLaunchConfig_t {
  dim3 gridDim, blockDim;
  size_t dynamicSmemBytes;
  cudaStream_t stream;
  cudaLaunchAttribute* attrs;
  unsigned numAttrs;
};

namespace simt::import {

// The launch configuration, and the line of the call.
struct located_config {
  const cudaLaunchConfig_t& config;
  site where;
  located_config(const cudaLaunchConfig_t* c, SIMT_SITE) : config(*c), where(site) {}
};

// Applies the attributes; returns an error for one that the emulated device does not support.
inline cudaError_t apply_attributes(const located_config& c, launch_config& to) {
  for (unsigned i = 0; i < c.config.numAttrs; ++i) {
    const cudaLaunchAttribute& a = c.config.attrs[i];
    switch (a.id) {
      case cudaLaunchAttributeIgnore:
      case cudaLaunchAttributePriority:
      case cudaLaunchAttributePreferredClusterDimension: break;  // a GPU may use larger clusters if it has room
      case cudaLaunchAttributeCooperative: to.cooperative = a.val.cooperative != 0; break;
      case cudaLaunchAttributeProgrammaticStreamSerialization:
        to.programmatic_launch = a.val.programmaticStreamSerializationAllowed != 0;
        break;
      case cudaLaunchAttributeClusterDimension:
        to.cluster = {a.val.clusterDim.x, a.val.clusterDim.y, a.val.clusterDim.z};
        break;
      default:
        return misuse("cudaLaunchKernelEx", c.where,
                      "attribute " + std::to_string(a.id) + " is not one of 0 (ignore), 2 (cooperative), 4 (cluster " +
                          "dimension), 6 (programmatic stream serialization), 8 (priority)",
                      cudaErrorNotSupported);
    }
  }
  return cudaSuccess;
}

}  // namespace simt::import

// Occupancy is not modelled: the answers are one cluster, of the most blocks that every device of this kind allows.
template <class Kernel>
cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, Kernel*, const cudaLaunchConfig_t*) {
  *clusters = 1;
  return cudaSuccess;
}
template <class Kernel>
cudaError_t cudaOccupancyMaxPotentialClusterSize(int* blocks, Kernel*, const cudaLaunchConfig_t*) {
  *blocks = 8;
  return cudaSuccess;
}

template <class... Parameters, class... Arguments>
cudaError_t cudaLaunchKernelEx(const ::simt::import::located_config& c, void (*kernel)(Parameters...),
                               Arguments&&... arguments) {
  const cudaLaunchConfig_t& config = c.config;
  ::simt::launch_config to{config.gridDim, config.blockDim, config.dynamicSmemBytes};
  const cudaError_t refused = ::simt::import::apply_attributes(c, to);
  if (refused != cudaSuccess) return refused;
  const cudaStream_t stream = ::simt::import::on(config.stream);
  ::simt::import::kernel_launch<Parameters...>(kernel, to, stream, c.where)(std::forward<Arguments>(arguments)...);
  return cudaPeekAtLastError();
}

// Overloads for a kernel's name, and for the address from `(void*)name`.
inline cudaError_t cudaLaunchKernelExC(const ::simt::import::located_config& c, const void* kernel, void** arguments) {
  const auto found = ::simt::import::the_program().kernels.find(kernel);
  if (found == ::simt::import::the_program().kernels.end())
    return ::simt::import::misuse("cudaLaunchKernelExC", c.where,
                                  "func is not a kernel whose name is written as (void*)name",
                                  cudaErrorInvalidDeviceFunction);
  ::simt::launch_config to{c.config.gridDim, c.config.blockDim, c.config.dynamicSmemBytes};
  const cudaError_t refused = ::simt::import::apply_attributes(c, to);
  if (refused != cudaSuccess) return refused;
  ::simt::import::enqueue({"cudaLaunchKernelExC", c.where, ::simt::import::on(c.config.stream)},
                          found->second(to, arguments, c.where));
  return cudaPeekAtLastError();
}
template <class... Parameters>
cudaError_t cudaLaunchKernelExC(const ::simt::import::located_config& c, void (*kernel)(Parameters...),
                                void** arguments) {
  return cudaLaunchKernelExC(c, ::simt::import::erased(kernel), arguments);
}

// Launches from kernels.
inline void cudaGridDependencySynchronize() { ::simt::grid_dependency_wait(); }
inline void cudaTriggerProgrammaticLaunchCompletion() { ::simt::trigger_dependents(); }
