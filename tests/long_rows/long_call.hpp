// A call of a built-in kernel on long arrays.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "abi/candidate.h"
#include "reference/numerics/float_value.hpp"
#include "tests/long_rows/long_device.hpp"

namespace warpcheck::self {

inline const warpcheck_candidate& candidate() { return *warpcheck_candidate_get(WARPCHECK_CANDIDATE_ABI); }

inline const warpcheck_operator& operator_of(const std::string& name) {
  for (const warpcheck_operator* op : std::span(candidate().operators, static_cast<size_t>(candidate().num_operators)))
    if (name == op->name) return *op;
  throw std::logic_error("no operator " + name);
}

inline DLDataType type_of(dtype t) {
  const auto bits = static_cast<uint8_t>(8 * size_of(t));
  return {static_cast<uint8_t>(t == dtype::bf16 ? kDLBfloat : is_float(t) ? kDLFloat : kDLInt), bits, 1};
}

struct tensor {
  DLTensor dl;
  int64_t shape[2], strides[2];

  tensor(void* data, dtype type, std::vector<int64_t> extents) {
    const auto dimensions = static_cast<int32_t>(extents.size());
    std::copy(extents.begin(), extents.end(), shape);
    strides[0] = dimensions == 2 ? extents[1] : 1;
    strides[1] = 1;
    const bool cuda = candidate().operators[0]->device == WARPCHECK_DEVICE_CUDA;
    dl = {data, {cuda ? kDLCUDA : kDLCPU, 0}, dimensions, type_of(type), shape, strides, 0};
  }
  tensor(const tensor&) = delete;
  tensor& operator=(const tensor&) = delete;
};

// Launches a call and waits for it: it succeeds without a finding, by the variant where one is forced.
inline void launch(const std::string& op, const std::string& variant, const std::vector<const DLTensor*>& inputs,
                   const std::vector<DLTensor*>& outputs, const std::vector<warpcheck_scalar>& scalars) {
  const warpcheck_device_api& device = *candidate().device_api;
  ASSERT_NE(device.describe(), nullptr) << device.last_error();
  warpcheck_stream_options options = {};
  void* const stream = device.stream_create(&options);
  ASSERT_NE(stream, nullptr) << device.last_error();
  prepare(stream);
  char message[256] = "";
  warpcheck_call call = {};
  call.struct_size = sizeof call;
  call.inputs = inputs.data();
  call.num_inputs = static_cast<int32_t>(inputs.size());
  call.outputs = outputs.data();
  call.num_outputs = static_cast<int32_t>(outputs.size());
  call.scalars = scalars.data();
  call.num_scalars = static_cast<int32_t>(scalars.size());
  call.variant = variant.empty() ? nullptr : variant.c_str();
  call.stream = stream;
  call.message = message;
  call.message_size = sizeof message;
  const warpcheck_status status = operator_of(op).run(&call);
  std::string findings;
  const int failed = device.stream_synchronize(
      stream,
      [](void* text, const char* kind, const char* said) {
        *static_cast<std::string*>(text) += std::string(kind) + ": " + said + "\n";
      },
      &findings);
  device.stream_destroy(stream);
  ASSERT_EQ(status, WARPCHECK_OK) << message << findings;
  ASSERT_EQ(failed, 0) << device.last_error();
  ASSERT_EQ(findings, "");
  if (call.variant != nullptr) {
    ASSERT_NE(call.used_variant, nullptr);
    EXPECT_STREQ(call.used_variant, call.variant);
  }
}

}  // namespace warpcheck::self
