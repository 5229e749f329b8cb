// Stands in for NVML's header of this name: the emulated device has the name, memory and clocks that
// cudaGetDeviceProperties states, uses no power and is idle.
#pragma once

#include <cstring>

#include "simt/import/cuda_runtime.h"

enum nvmlReturn_t {
  NVML_SUCCESS,
  NVML_ERROR_UNINITIALIZED,
  NVML_ERROR_INVALID_ARGUMENT,
  NVML_ERROR_NOT_SUPPORTED,
  NVML_ERROR_NOT_FOUND = 6,
  NVML_ERROR_INSUFFICIENT_SIZE,
  NVML_ERROR_UNKNOWN = 999
};
enum nvmlClockType_t { NVML_CLOCK_GRAPHICS, NVML_CLOCK_SM, NVML_CLOCK_MEM, NVML_CLOCK_VIDEO };
enum nvmlTemperatureSensors_t { NVML_TEMPERATURE_GPU };
struct simt_nvml_device {};
using nvmlDevice_t = simt_nvml_device*;
struct nvmlMemory_t {
  unsigned long long total, free, used;
};
struct nvmlUtilization_t {
  unsigned gpu, memory;
};
#define NVML_DEVICE_NAME_BUFFER_SIZE 64
#define NVML_DEVICE_NAME_V2_BUFFER_SIZE 96

inline nvmlReturn_t nvmlInit() { return NVML_SUCCESS; }
inline nvmlReturn_t nvmlInit_v2() { return NVML_SUCCESS; }
inline nvmlReturn_t nvmlShutdown() { return NVML_SUCCESS; }
inline const char* nvmlErrorString(nvmlReturn_t e) { return e == NVML_SUCCESS ? "Success" : "Not Supported"; }
inline nvmlReturn_t nvmlDeviceGetCount(unsigned* count) {
  *count = 1;
  return NVML_SUCCESS;
}
inline nvmlReturn_t nvmlDeviceGetHandleByIndex(unsigned index, nvmlDevice_t* device) {
  static simt_nvml_device only;
  *device = &only;
  return index == 0 ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}
inline nvmlReturn_t nvmlDeviceGetHandleByPciBusId(const char*, nvmlDevice_t* device) {
  return nvmlDeviceGetHandleByIndex(0, device);
}
inline nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t, char* name, unsigned length) {
  cudaDeviceProp p;
  cudaGetDeviceProperties(&p, 0);
  if (std::strlen(p.name) >= length) return NVML_ERROR_INSUFFICIENT_SIZE;
  std::strcpy(name, p.name);
  return NVML_SUCCESS;
}
inline nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t, nvmlMemory_t* memory) {
  size_t free = 0, total = 0;
  cudaMemGetInfo(&free, &total);
  *memory = {total, free, total - free};
  return NVML_SUCCESS;
}
inline nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t, nvmlClockType_t type, unsigned* megahertz) {
  cudaDeviceProp p;
  cudaGetDeviceProperties(&p, 0);
  *megahertz = static_cast<unsigned>((type == NVML_CLOCK_MEM ? p.memoryClockRate : p.clockRate) / 1000);
  return NVML_SUCCESS;
}
inline nvmlReturn_t nvmlDeviceGetMaxClockInfo(nvmlDevice_t device, nvmlClockType_t type, unsigned* megahertz) {
  return nvmlDeviceGetClockInfo(device, type, megahertz);
}
inline nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t, unsigned* milliwatts) {
  *milliwatts = 0;
  return NVML_SUCCESS;
}
inline nvmlReturn_t nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_t, unsigned long long* millijoules) {
  *millijoules = 0;
  return NVML_SUCCESS;
}
inline nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t, nvmlTemperatureSensors_t, unsigned* celsius) {
  *celsius = 0;
  return NVML_SUCCESS;
}
inline nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t, nvmlUtilization_t* used) {
  *used = {};
  return NVML_SUCCESS;
}
