// Histograms, products and largest elements on the host, each variant with one mistake, for what `warpcheck explain`
// says of it. Stages of the histogram beside the sums, and largest elements, have no variants: EXPLAIN_FLAW names their
// mistake. Calls are those of the test: bins of u8, no list of rows, stages in f64, a and b as they are stored.
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <iterator>

#include "abi/candidate_table.hpp"

namespace {

bool is(const warpcheck_call* call, const char* flaw) { return call->variant && std::strcmp(call->variant, flaw) == 0; }
bool has_flaw(const char* flaw) {
  const char* const named = std::getenv("EXPLAIN_FLAW");
  return named && std::strcmp(named, flaw) == 0;
}

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
void dense(warpcheck_call* call) {
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
        const float value = data<const float>(*call->inputs[2 + from])[r];
        sum += std::isfinite(value) ? static_cast<double>(value) : std::nan("");
        if (is(call, "adds_in_f32")) sum = static_cast<double>(static_cast<float>(sum));
      }
    }
}

// Slots of row r are those from row_ptr[r] to row_ptr[r + 1].
void sparse(warpcheck_call* call) {
  const DLTensor &slots = *call->inputs[0], &ends = *call->inputs[1], &hist = *call->outputs[0];
  double* const sums = data<double>(hist);
  for (int64_t i = 0; i < 2 * hist.shape[0]; ++i) sums[i] = 0;
  const auto end = [&](int64_t row) { return data<const int64_t>(ends)[row * ends.strides[0]]; };
  const int64_t rows = ends.shape[0] - 1;
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t i = end(r); i < end(r + 1) - (has_flaw("drops_last_update") && r == rows - 1 ? 1 : 0); ++i)
      for (int part = 0; part < 2; ++part)
        sums[data<const uint8_t>(slots)[i * slots.strides[0]] * hist.strides[0] + part] +=
            static_cast<double>(data<const float>(*call->inputs[2 + part])[r]);
}

void scale(warpcheck_call* call) {
  int32_t exponent[2] = {};
  int64_t not_finite = 0;
  for (int part = 0; part < 2; ++part) {
    const DLTensor& values = *call->inputs[part];
    double largest = 0;
    for (int64_t r = 0; r < values.shape[0]; ++r) {
      const auto v = std::fabs(static_cast<double>(data<const float>(values)[r]));
      if (!std::isfinite(v))
        not_finite |= 1 << part;
      else
        largest = std::fmax(largest, v);
    }
    if (largest > 0)
      exponent[part] =
          53 - static_cast<int>(std::ceil(std::log2(scalar(call, "max_rows")))) - (std::ilogb(largest) + 1);
    if (has_flaw("coarse_grid")) exponent[part] -= 2;
  }
  int64_t* const out = data<int64_t>(*call->outputs[0]);
  out[0] = static_cast<int64_t>(static_cast<uint64_t>(static_cast<uint32_t>(exponent[1])) << 32 |
                                static_cast<uint32_t>(exponent[0]));
  out[1] = static_cast<int64_t>(scalar(call, "max_rows"));
  out[2] = has_flaw("hides_infinity") ? 0 : not_finite;
}

void totals(warpcheck_call* call) {
  int64_t* const out = data<int64_t>(*call->outputs[0]);
  const int64_t all = call->inputs[0]->shape[0];
  for (int part = 0; part < 2; ++part) {
    double sum = 0;
    for (int64_t r = 0; r < all - (has_flaw("total_of_fewer") ? 1 : 0); ++r)
      sum += static_cast<double>(data<const float>(*call->inputs[part])[r]);
    std::memcpy(&out[part], &sum, sizeof sum);
  }
  out[2] = all;
}

// The restored slot is the leaf's sum less the other slots of the entry.
void fix(warpcheck_call* call) {
  const DLTensor &before = *call->inputs[0], &entries = *call->inputs[1], &leaf = *call->inputs[2],
                 &hist = *call->outputs[0];
  double* const out = data<double>(hist);
  for (int64_t i = 0; i < before.shape[0]; ++i)
    for (int part = 0; part < 2; ++part)
      out[i * hist.strides[0] + part] = data<const double>(before)[i * before.strides[0] + part];
  for (int64_t e = 0; e < entries.shape[0]; ++e) {
    const int64_t* const entry = data<const int64_t>(entries) + e * entries.strides[0];
    const int64_t count = entry[1] & 0xffffffff, restored = entry[0] + (entry[1] >> 32);
    for (int part = 0; part < 2; ++part) {
      double left = data<const double>(leaf)[part];
      for (int64_t slot = entry[0] + (has_flaw("forgets_first_slot") ? 1 : 0); slot < entry[0] + count; ++slot)
        if (slot != restored) left -= out[slot * hist.strides[0] + part];
      out[restored * hist.strides[0] + part] = left;
      if (has_flaw("restores_next_slot") && restored + 1 < entry[0] + count)
        out[(restored + 1) * hist.strides[0] + part] = left;
    }
  }
}

void subtract(warpcheck_call* call) {
  const DLTensor &parent = *call->inputs[0], &smaller = *call->inputs[1], &larger = *call->outputs[0];
  for (int64_t i = 0; i < parent.shape[0]; ++i)
    for (int part = 0; part < 2; ++part) {
      const double a = data<const double>(parent)[i * parent.strides[0] + part];
      const double b = data<const double>(smaller)[i * smaller.strides[0] + part];
      double& out = data<double>(larger)[i * larger.strides[0] + part];
      out = has_flaw("turns_sign") ? b - a : has_flaw("keeps_parent") ? a : has_flaw("keeps_smaller") ? b : a - b;
    }
}

warpcheck_status histogram(warpcheck_call* call) {
  switch (static_cast<int>(scalar(call, "stage"))) {
    case 1: scale(call); break;
    case 2: totals(call); break;
    case 4: fix(call); break;
    case 5: subtract(call); break;
    default: call->inputs[0]->ndim == 2 ? dense(call) : sparse(call);
  }
  call->used_variant = call->variant;
  return WARPCHECK_OK;
}

// The largest element of each row, whatever the operation.
warpcheck_status largest(warpcheck_call* call) {
  const DLTensor &x = *call->inputs[0], &y = *call->outputs[0];
  for (int64_t r = 0; r < x.shape[0]; ++r) {
    float found = at(x, r, 0);
    for (int64_t c = 1; c < x.shape[1] - (has_flaw("drops_last_element") ? 1 : 0); ++c) {
      const float v = at(x, r, c);
      if (v > found || (std::isnan(v) && !has_flaw("skips_nan"))) found = v;
    }
    data<float>(y)[r * y.strides[0]] = has_flaw("adds_one") ? found + 1 : found;
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
  static const char* const extents[] = {"m", "n", "k"};
  static const warpcheck_variant of_bins[] = {
      variant("right", WARPCHECK_U8),           variant("drops_last_row", WARPCHECK_U8),
      variant("exchanges_parts", WARPCHECK_U8), variant("adds_in_f32", WARPCHECK_U8),
      variant("slot_behind", WARPCHECK_U8),     variant("wrong_slot", WARPCHECK_U8)};
  static const warpcheck_variant of_products[] = {
      variant("right", WARPCHECK_F32),         variant("without_bias", WARPCHECK_F32),
      variant("without_alpha", WARPCHECK_F32), variant("drops_last_product", WARPCHECK_F32),
      variant("bf16_operands", WARPCHECK_F32), variant("exchanges_rows", WARPCHECK_F32)};
  static const warpcheck_operator bins = warpcheck::operator_of_rows("histogram", WARPCHECK_DEVICE_CPU, WARPCHECK_U8,
                                                                     histogram, of_bins, std::size(of_bins));
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
  static constexpr warpcheck_operator maxima =
      warpcheck::operator_of_rows("reduce", WARPCHECK_DEVICE_CPU, WARPCHECK_F32, largest);
  static const warpcheck_operator* const operators[] = {&bins, &products, &maxima};
  static const warpcheck_candidate table = {
      WARPCHECK_CANDIDATE_ABI, sizeof(warpcheck_candidate), "flawed", "plain C++", operators, 3, nullptr};
  return &table;
}
