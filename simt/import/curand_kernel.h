// The toolkit's own header of this name: its generators are plain device code, compiled as they are.
#pragma once

#include <curand.h>

#define __NV_SILENCE_DEPRECATION_BEGIN
#define __NV_SILENCE_DEPRECATION_END
#include_next <curand_kernel.h>
