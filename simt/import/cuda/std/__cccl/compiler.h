// The toolkit's own header of this name, which tells libcu++ and Thrust what compiles them: here the host's compiler.
// Thrust's algorithms then run on the host, when they are called, in memory that kernels see as the device's.
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
