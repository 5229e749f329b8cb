// A library as it was built against version 1 of kernels/abi/candidate.h, whose structs it spells out: libraries of
// that version are still read. Its softmax is right, but for the variant that gives every element the same share.
#include <dlpack/dlpack.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>

namespace {

struct call_1 {
  const DLTensor* const* inputs;
  DLTensor* const* outputs;
  const void* scalars;
  int32_t num_inputs, num_outputs, num_scalars;
  const char* variant;
  void* stream;
  const char* used_variant;
  char* message;
  size_t message_size;
};
struct variant_1 {
  const char* name;
  int64_t min_extent, max_extent, dispatch_min, dispatch_max;
  uint32_t dtypes;
};
struct operator_1 {
  const char* name;
  int device;
  uint32_t dtypes;
  const variant_1* variants;
  int32_t num_variants;
  const int64_t* boundaries;
  int32_t num_boundaries;
  int (*run)(call_1*);
};
struct candidate_1 {
  uint32_t abi_version;
  size_t struct_size;
  const char *name, *build;
  const operator_1* const* operators;
  int32_t num_operators;
  const void* device_api;
};

int run(call_1* call) {
  const DLTensor &x = *call->inputs[0], &y = *call->outputs[0];
  if (call->num_outputs > 1 || x.ndim != 2) {
    std::snprintf(call->message, call->message_size, "this candidate offers no index");
    return 3;
  }
  const bool even = call->variant && std::strcmp(call->variant, "old_even") == 0;
  call->used_variant = even ? "old_even" : "old_softmax";
  const int64_t cols = x.shape[1];
  for (int64_t r = 0; r < x.shape[0]; ++r) {
    const auto* const in = static_cast<const float*>(x.data) + r * x.strides[0];
    auto* const out = static_cast<float*>(y.data) + r * y.strides[0];
    double top = -HUGE_VAL, sum = 0;
    for (int64_t c = 0; c < cols; ++c) top = std::fmax(top, static_cast<double>(in[c]));
    for (int64_t c = 0; c < cols; ++c) sum += std::exp(in[c] - top);
    for (int64_t c = 0; c < cols; ++c)
      out[c] = static_cast<float>(even ? 1.0 / static_cast<double>(cols) : std::exp(in[c] - top) / sum);
  }
  return 0;
}

constexpr uint32_t k_f32 = 1;
const variant_1 k_variants[] = {{"old_softmax", 1, -1, 1, -1, k_f32}, {"old_even", 1, 64, 1, 0, k_f32}};
const int64_t k_boundaries[] = {32, 1000};
const operator_1 k_softmax = {"softmax", 0, k_f32, k_variants, 2, k_boundaries, 2, run};
const operator_1* const k_operators[] = {&k_softmax};
const candidate_1 k_candidate = {1, sizeof(candidate_1), "old", "test", k_operators, 1, nullptr};

}  // namespace

extern "C" __attribute__((visibility("default"))) const candidate_1* warpcheck_candidate_get(uint32_t abi_version) {
  return abi_version == 1 ? &k_candidate : nullptr;
}
