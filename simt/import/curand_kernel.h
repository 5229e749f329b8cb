// Includes the toolkit's header of this name: its generators are plain device code and compile as they are.
#pragma once

#include <curand.h>

#define __NV_SILENCE_DEPRECATION_BEGIN
#define __NV_SILENCE_DEPRECATION_END
#include_next <curand_kernel.h>
