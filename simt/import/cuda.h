// Stands in for the driver API header of this name: devices, contexts, memory and tensor maps, on the emulated device.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cuda_runtime.h"
#include "simt/import/driver.hpp"
#include "simt/import/driver_memory.hpp"
#include "simt/import/driver_modules.hpp"
