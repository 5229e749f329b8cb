// The name that NVTX's header had before version 3.
#pragma once

#include <nvtx3/nvToolsExtCuda.h>
