// Stands in for CUDA's header of this name when a foreign source is compiled for the emulated device. The importer
// includes it first, as nvcc does.
#pragma once

// Must precede the standard library's headers.
#include "simt/import/instrumented_copies.hpp"

#include <assert.h>
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <utility>

#include "simt/import/dpx.hpp"
#include "simt/import/graph_conditions.hpp"
#include "simt/import/intrinsics.hpp"
#include "simt/import/launch_functions.hpp"
#include "simt/import/math_functions.hpp"
#include "simt/import/ptx.hpp"
#include "simt/import/runtime.hpp"

// The importer reads these words itself (command/translator/importer.hpp).
#undef __global__
#undef __device__
#undef __host__
#undef __constant__
#undef __shared__
#undef __managed__
#undef __cluster_dims__
// The importer replaces these in device code only, so host code may use their names for variables and members.
#undef threadIdx
#undef blockIdx
#undef blockDim
#undef gridDim

// One compilation serves host and device. `__CUDA_ARCH__` is that of compute capability 8.0,
// or what -D __CUDA_ARCH__ names.
#define __CUDACC__ 1
#define __NVCC__ 1
#define SIMT_IMPORT_HEADERS 1  // distinguishes these headers from nvcc's
#define __CUDACC_VER_MAJOR__ 12
#define __CUDACC_VER_MINOR__ 8
#define __CUDACC_VER_BUILD__ 93
// Features that nvcc enables by --extended-lambda and --expt-relaxed-constexpr are always on.
#define __CUDACC_EXTENDED_LAMBDA__ 1
#define __CUDACC_RELAXED_CONSTEXPR__ 1
#ifndef __CUDA_ARCH__
#define __CUDA_ARCH__ 800
#endif
#if __CUDA_ARCH__ >= 900  // -D __CUDA_ARCH__=900 asks for sm_90a
#define __CUDA_ARCH_FEAT_SM90_ALL 1
#endif
#define CUDART_VERSION 12080
#define CUDA_VERSION 12080
// CUDA's own include guards: other headers test them before they use what is declared here.
#define __CUDA_RUNTIME_H__
#define __DRIVER_TYPES_H__

namespace simt::import {

inline const int architecture_of_sources = the_program().architecture = __CUDA_ARCH__;

}  // namespace simt::import
