// Histograms and products on the host, each variant with one mistake, for what `warpcheck explain` says of it. Calls are
// those of the test: dense bins of u8, no list of rows, a and b as they are stored.
#include <cmath>
#include <cstring>

#include "kernels/abi/candidate.h"

namespace {

bool is(const warpcheck_call* call, const char* flaw) { return call->variant && std::strcmp(call->variant, flaw) == 0; }

double scalar(const warpcheck_call* call, const char* name) {
  for (int32_t i = 0; i < call->num_scalars; ++i)
    if (std::strcmp(call->scalars[i].name, name) == 0) return call->scalars[i].value;
  return 0;
}

template <class T>
T* data(const DLTensor& t) {
  return reinterpret_cast<T*>(static_cast<char*>(t.data) + t.byte_offset);
}
float at(const DLTensor& t, int64_t row, int64_t col) { return data<const float>(t)[row * t.strides[0] + col]; }

// Sums in double, which are exact for numbers of few bits.
warpcheck_status histogram(warpcheck_call* call) {
  const DLTensor &bins = *call->inputs[0], &cols = *call->inputs[1], &hist = *call->outputs[0];
  double* const sums = data<double>(hist);
  for (int64_t i = 0; i < 2 * hist.shape[0]; ++i) sums[i] = 0;
  const int64_t rows = bins.shape[0] - (is(call, "drops_last_row") ? 1 : 0);
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < bins.shape[1]; ++c) {
      const int64_t bin = data<const uint8_t>(bins)[r * bins.strides[0] + c];
      int64_t slot = data<const int64_t>(cols)[c * cols.strides[0]] + bin;
      if (is(call, "slot_behind")) slot = (slot + 1) % hist.shape[0];
      if (is(call, "wrong_slot") && r == 3) slot = data<const int64_t>(cols)[c * cols.strides[0]];
      for (int part = 0; part < 2; ++part) {
        const int from = is(call, "exchanges_parts") ? 1 - part : part;
        double& sum = sums[slot * hist.strides[0] + part];
        sum += static_cast<double>(data<const float>(*call->inputs[2 + from])[r]);
        if (is(call, "adds_in_f32")) sum = static_cast<double>(static_cast<float>(sum));
      }
    }
  call->used_variant = call->variant;
  return WARPCHECK_OK;
}

float as_bf16(float x) {
  uint32_t bits = 0;
  std::memcpy(&bits, &x, sizeof bits);
  bits = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

warpcheck_status matmul(warpcheck_call* call) {
  const DLTensor &a = *call->inputs[0], &b = *call->inputs[1], &bias = *call->inputs[3], &c = *call->outputs[0];
  const double alpha = is(call, "without_alpha") ? 1 : scalar(call, "alpha");
  const int64_t k = a.shape[1] - (is(call, "drops_last_product") ? 1 : 0);
  for (int64_t i = 0; i < c.shape[0]; ++i)
    for (int64_t j = 0; j < c.shape[1]; ++j) {
      double sum = 0;
      for (int64_t l = 0; l < k; ++l) {
        const float x = at(a, i, l), y = at(b, l, j);
        sum += is(call, "bf16_operands") ? double{as_bf16(x)} * double{as_bf16(y)} : double{x} * double{y};
      }
      double v = alpha * sum;
      if (bias.shape[0] > 0 && !is(call, "without_bias")) v += double{data<const float>(bias)[j]};
      const int64_t row = is(call, "exchanges_rows") ? c.shape[0] - 1 - i : i;
      data<float>(c)[row * c.strides[0] + j] = static_cast<float>(v);
    }
  call->used_variant = call->variant;
  return WARPCHECK_OK;
}

warpcheck_variant variant(const char* name, uint32_t types) {
  warpcheck_variant v = {};
  v.struct_size = sizeof v;
  v.name = name;
  v.dtypes = types;
  for (warpcheck_range& r : v.ranges) r = {0, -1, 1, 0};
  return v;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const warpcheck_candidate* warpcheck_candidate_get(
    uint32_t abi_version) {
  if (abi_version != WARPCHECK_CANDIDATE_ABI) return nullptr;
  static const char* const columns[] = {"cols"};
  static const char* const extents[] = {"m", "n", "k"};
  static const warpcheck_variant of_bins[] = {
      variant("right", WARPCHECK_U8),           variant("drops_last_row", WARPCHECK_U8),
      variant("exchanges_parts", WARPCHECK_U8), variant("adds_in_f32", WARPCHECK_U8),
      variant("slot_behind", WARPCHECK_U8),     variant("wrong_slot", WARPCHECK_U8)};
  static const warpcheck_variant of_products[] = {
      variant("right", WARPCHECK_F32),         variant("without_bias", WARPCHECK_F32),
      variant("without_alpha", WARPCHECK_F32), variant("drops_last_product", WARPCHECK_F32),
      variant("bf16_operands", WARPCHECK_F32), variant("exchanges_rows", WARPCHECK_F32)};
  static const warpcheck_operator bins = {sizeof(warpcheck_operator),
                                          "histogram",
                                          WARPCHECK_DEVICE_CPU,
                                          WARPCHECK_U8,
                                          1,
                                          columns,
                                          of_bins,
                                          6,
                                          {},
                                          histogram,
                                          nullptr};
  static const warpcheck_operator products = {sizeof(warpcheck_operator),
                                              "matmul",
                                              WARPCHECK_DEVICE_CPU,
                                              WARPCHECK_F32,
                                              3,
                                              extents,
                                              of_products,
                                              6,
                                              {},
                                              matmul,
                                              nullptr};
  static const warpcheck_operator* const operators[] = {&bins, &products};
  static const warpcheck_candidate table = {
      WARPCHECK_CANDIDATE_ABI, sizeof(warpcheck_candidate), "flawed", "plain C++", operators, 2, nullptr};
  return &table;
}
