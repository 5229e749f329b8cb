// Stands in for CUB's header of this name: the operations of warps, blocks and whole arrays that are used most. What is
// not here is unknown to the compiler, which names it.
#pragma once

#include <chrono>  // CUB's own brings it and the 16-bit types, and there are programs that rely on that

#include "../cuda_bf16.h"
#include "../cuda_fp16.h"
#include "block.hpp"
#include "device.hpp"
#include "warp.hpp"
