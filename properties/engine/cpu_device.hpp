// The device interface of candidates that run on the host: plain memory between guard zones.
#pragma once

#include "kernels/candidate.h"

namespace warpcheck::engine {

const warpcheck_device_api& cpu_device_api();

}  // namespace warpcheck::engine
