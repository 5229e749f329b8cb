// Version 1 of kernels/abi/candidate.h, as far as version 2 differs: libraries that speak it are still read.
#pragma once

#include "kernels/abi/candidate.h"

namespace warpcheck::engine::abi1 {

constexpr uint32_t k_version = 1;

struct warpcheck_call {
  const DLTensor* const* inputs;
  DLTensor* const* outputs;
  const warpcheck_scalar* scalars;
  int32_t num_inputs, num_outputs, num_scalars;
  const char* variant;
  void* stream;
  const char* used_variant;
  char* message;
  size_t message_size;
};

struct warpcheck_variant {
  const char* name;
  int64_t min_extent, max_extent, dispatch_min, dispatch_max;
  uint32_t dtypes;
};

struct warpcheck_operator {
  const char* name;
  warpcheck_device device;
  uint32_t dtypes;
  const warpcheck_variant* variants;
  int32_t num_variants;
  const int64_t* boundaries;
  int32_t num_boundaries;
  warpcheck_status (*run)(warpcheck_call* call);
};

}  // namespace warpcheck::engine::abi1
