// Replaces the toolkit's header of this name, by which libcu++ and Thrust recognise the compiler: here the host's.
// Thrust's algorithms then run on the host at their call, in the emulated device's memory.
#pragma once

#define CCCL_DISABLE_FP16_SUPPORT
#define CCCL_DISABLE_BF16_SUPPORT
#ifndef THRUST_DEVICE_SYSTEM
#define THRUST_DEVICE_SYSTEM THRUST_DEVICE_SYSTEM_CPP
#endif
#include_next <cuda/std/__cccl/compiler.h>
#undef _CCCL_CUDA_COMPILATION
#define _CCCL_CUDA_COMPILATION() 0
#undef _CCCL_HOST_COMPILATION
#define _CCCL_HOST_COMPILATION() 1
#undef _CCCL_DEVICE_COMPILATION
#define _CCCL_DEVICE_COMPILATION() 0
