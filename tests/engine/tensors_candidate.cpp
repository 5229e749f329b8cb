// An operator over tensors of three and four dimensions, with one that may be absent and a workspace, for device cpu:
// sum[d,r,c] = a[d,r,c] + b[d,r,c] where b is there, and last[d] = a[d,rows-1,cols-1] as a tensor of four dimensions.
// Variant `right` is right, each of the others wrong in one way.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <string_view>

#include "abi/candidate.h"

namespace {

int64_t elements(const DLTensor& t) {
  int64_t n = 1;
  for (int i = 0; i < t.ndim; ++i) n *= t.shape[i];
  return n;
}

float& at(const DLTensor& t, int64_t d, int64_t r, int64_t c) {
  return static_cast<float*>(t.data)[d * t.strides[0] + r * t.strides[1] + c];
}

warpcheck_status run(warpcheck_call* call) {
  const std::string_view variant = call->variant ? call->variant : "right";
  const DLTensor &a = *call->inputs[0], &b = *call->inputs[1], &sum = *call->outputs[0], &last = *call->outputs[1],
                 &work = *call->outputs[2];
  if (a.ndim != 3 || sum.ndim != 3 || last.ndim != 4 || work.ndim != 1) return WARPCHECK_INVALID_ARGUMENT;
  auto* const room = static_cast<unsigned char*>(work.data);
  // 64 bytes, aligned to 16.
  const bool is_short = work.shape[0] < (variant == "needs_half_the_work" ? 32 : 64);
  const bool is_taken_anyway = variant == "takes_one_byte" && work.shape[0] == 1;
  const bool is_askew = reinterpret_cast<uintptr_t>(room) % 16 != 0 && variant != "takes_any_address";
  if (variant != "takes_any_work" && elements(work) > 0 && (is_askew || (is_short && !is_taken_anyway))) {
    if (variant == "writes_work_first") room[0] = 1;
    std::snprintf(call->message, call->message_size, "work must have 64 bytes and be aligned to 16");
    return WARPCHECK_INVALID_ARGUMENT;
  }
  if (variant == "refuses_one_memory" && elements(b) > 0 && a.data == b.data) {
    std::snprintf(call->message, call->message_size, "a and b must not be one array");
    return WARPCHECK_INVALID_ARGUMENT;
  }
  if (variant == "writes_past_work") room[work.shape[0]] = 1;
  float known = 0;
  // What a workspace holds is nobody's promise.
  if (variant == "reads_work_first") std::memcpy(&known, room, sizeof known);
  if (variant == "uses_work") {
    std::memset(room, 0, static_cast<size_t>(work.shape[0]));
    std::memcpy(&known, room, sizeof known);
  }
  const bool with_b = elements(b) > 0;
  if (variant == "reads_absent") known = static_cast<const volatile float*>(b.data)[0];
  const int64_t rows = a.shape[1], cols = a.shape[2];
  for (int64_t d = 0; d < a.shape[0]; ++d) {
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < cols; ++c)
        at(sum, d, r, c) = at(a, d, r, c) + (with_b ? at(b, d, r, c) : 0) + (known == 0 ? 0.0f : 1.0f);
    static_cast<float*>(last.data)[d * last.strides[0]] = at(a, d, rows - 1, cols - 1);
  }
  if (variant == "writes_row_gap") at(sum, 0, 0, cols) = 0;
  if (variant == "swaps_dimensions" && a.shape[0] > 1) at(sum, 1, 0, 0) = at(sum, 0, 1, 0);
  call->used_variant = call->variant;
  return WARPCHECK_OK;
}

constexpr warpcheck_variant variant(const char* name) {
  return {sizeof(warpcheck_variant), name, WARPCHECK_F32, {{0, -1, 0, -1}, {0, -1, 0, -1}, {0, -1, 0, -1}}, nullptr};
}
const warpcheck_variant k_variants[] = {variant("right"),
                                        variant("uses_work"),
                                        variant("reads_work_first"),
                                        variant("writes_past_work"),
                                        variant("reads_absent"),
                                        variant("writes_row_gap"),
                                        variant("swaps_dimensions"),
                                        variant("refuses_one_memory"),
                                        variant("needs_work"),
                                        variant("takes_any_work"),
                                        variant("needs_half_the_work"),
                                        variant("takes_one_byte"),
                                        variant("takes_any_address"),
                                        variant("writes_work_first")};
const char* const k_extents[] = {"depth", "rows", "cols"};
const int64_t k_rows[] = {32};
const warpcheck_operator k_operator = {sizeof(warpcheck_operator),
                                       "tensors_test",
                                       WARPCHECK_DEVICE_CPU,
                                       WARPCHECK_F32,
                                       3,
                                       k_extents,
                                       k_variants,
                                       static_cast<int32_t>(std::size(k_variants)),
                                       {{nullptr, 0}, {k_rows, 1}},
                                       run,
                                       nullptr};
const warpcheck_operator* const k_operators[] = {&k_operator};
const warpcheck_candidate k_candidate = {
    WARPCHECK_CANDIDATE_ABI, sizeof(warpcheck_candidate), "tensors", "test", k_operators, 1, nullptr};

}  // namespace

extern "C" __attribute__((visibility("default"))) const warpcheck_candidate* warpcheck_candidate_get(
    uint32_t abi_version) {
  return abi_version == WARPCHECK_CANDIDATE_ABI ? &k_candidate : nullptr;
}
