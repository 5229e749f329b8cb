// Stands in for CUB's header of this name: the most used operations of warps, blocks and whole arrays. For any other
// operation the compiler reports an unknown name.
#pragma once

#include <chrono>    // programs rely on CUB's header to include this,
#include <iostream>  // this, and the 16-bit types

#include "block.hpp"
#include "device.hpp"
#include "segments.hpp"
#include "simt/import/cuda_bf16.h"
#include "simt/import/cuda_fp16.h"
#include "utilities.hpp"
#include "warp.hpp"
