// A softmax for device cpu in plain C++, right in variant "right" and wrong in one way in each of the others; or, with
// TEST_VARIANT, a library that has this variant only; or, with TEST_ACCEPTS, "right" and one that says what it accepts.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <limits>
#include <thread>
#include <vector>

#include "abi/candidate_table.hpp"

namespace {

#ifdef TEST_VARIANT
constexpr const char* k_default = TEST_VARIANT;
#else
constexpr const char* k_default = "right";
#endif

float& at(const DLTensor& t, int64_t row, int64_t col) { return static_cast<float*>(t.data)[row * t.strides[0] + col]; }

int64_t largest(const DLTensor& x, int64_t row) {
  int64_t best = 0;
  for (int64_t i = 0; i < x.shape[1]; ++i) {
    if (std::isnan(at(x, row, i))) return i;
    if (at(x, row, i) > at(x, row, best)) best = i;
  }
  return x.shape[1] ? best : -1;
}

void softmax_row(const DLTensor& x, const DLTensor& y, int64_t row) {
  const int64_t n = x.shape[1];
  if (n == 0) return;
  const float top = at(x, row, largest(x, row));
  std::vector<double> e(static_cast<size_t>(n));
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += e[static_cast<size_t>(i)] = std::exp(static_cast<double>(at(x, row, i) - top));
  for (int64_t i = 0; i < n; ++i) at(y, row, i) = static_cast<float>(e[static_cast<size_t>(i)] / sum);
}

// What a call is answered with instead of being computed.
struct answer {
  const char* variant;
  const char* message;
  warpcheck_status status;
};
constexpr answer k_answers[] = {
    {"refuses", "this candidate refuses everything", WARPCHECK_INTERNAL_ERROR},
    {"blames_the_device", "the process is unusable", WARPCHECK_INTERNAL_ERROR},
    {"colours_message", "a \x1b[31mred\x7f message", WARPCHECK_INTERNAL_ERROR},
    {"refuses_briefly", "n", WARPCHECK_INVALID_ARGUMENT},
    {"refuses_silently", "", WARPCHECK_INVALID_ARGUMENT},
    {"refuses_with_umlaut",
     "\xc3\xbc"
     "bersteigt die Grenze",
     WARPCHECK_INVALID_ARGUMENT},
    {"refuses_after_looking", "seen, and refused", WARPCHECK_INVALID_ARGUMENT},
};

// True if the ranges of addresses from the first to the last element have something in common, without being one.
bool share_a_range(const DLTensor& x, const DLTensor& y) {
  const auto end = [](const DLTensor& t) { return &at(t, t.shape[0] - 1, t.shape[1] - 1); };
  return x.data != y.data && x.shape[0] > 0 && &at(x, 0, 0) <= end(y) && &at(y, 0, 0) <= end(x);
}

// True if the call has its answer already.
bool answered(warpcheck_call* call, const char* variant, warpcheck_status& status) {
  const auto is = [&](const char* name) { return std::strcmp(variant, name) == 0; };
  const DLTensor& x = *call->inputs[0];
  if (is("even_columns") && x.shape[1] % 2 != 0) {
    std::snprintf(call->message, call->message_size, "asked for what it does not accept");
    status = WARPCHECK_INTERNAL_ERROR;
    return true;
  }
  if (is("fills_message")) {
    std::memset(call->message, 'x', call->message_size);
    status = WARPCHECK_INTERNAL_ERROR;
    return true;
  }
  // Nobody wrote the input of this call.
  if (is("refuses_after_looking") && x.data && std::isnan(static_cast<const float*>(x.data)[0])) {
    status = WARPCHECK_OK;
    return true;
  }
  if (is("refuses_ranges") && share_a_range(x, *call->outputs[0])) {
    std::snprintf(call->message, call->message_size, "the output overlaps the input");
    status = WARPCHECK_INVALID_ARGUMENT;
    return true;
  }
  const auto* const found =
      std::find_if(std::begin(k_answers), std::end(k_answers), [&](const answer& a) { return is(a.variant); });
  if (found == std::end(k_answers)) return false;
  if (*found->message) std::snprintf(call->message, call->message_size, "%s", found->message);
  status = found->status;
  return true;
}

// What the variant does to right outputs of at least one element.
void corrupt(const char* variant, const DLTensor& x, const DLTensor& y) {
  const auto is = [&](const char* name) { return std::strcmp(variant, name) == 0; };
  const int64_t rows = x.shape[0], cols = x.shape[1];
  if (is("off_by_little")) at(y, rows - 1, cols - 1) = std::nextafter(at(y, rows - 1, cols - 1) + 1e-3f, 2.0f);
  if (is("drops_tail_slowly")) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  if ((is("drops_tail") || is("drops_tail_slowly")) && cols > 32)
    for (int64_t r = 0; r < rows; ++r) at(y, r, cols - 1) = 0;
  if (is("less_accurate"))
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < cols; ++c)
        if (at(y, r, c) > 1e-30f && at(y, r, c) < 0.5f) at(y, r, c) *= 1 + 0x1p-20f;
  if (is("not_a_number")) at(y, 0, 0) = std::numeric_limits<float>::quiet_NaN();
  if (is("writes_past_end")) at(y, rows - 1, cols) = 0;
  if (is("writes_before_start")) at(y, 0, -1) = 0;
  if (is("writes_gap") && y.strides[0] > cols && rows > 1) at(y, 0, cols) = 0;
  if (is("writes_far_into_gap") && y.strides[0] > cols + 1000 && rows > 1) at(y, 0, cols + 1000) = 0;
  if (is("changes_input")) at(x, 0, 0) = 1234;
  // As a maximum that drops NaN sees it.
  if (is("looks_into_gap") && x.strides[0] > cols && rows > 1 && at(x, 0, cols) > 0) at(y, 0, 0) += 1e-7f;
}

// Another NaN in each call, of either sign.
void vary_nans(const DLTensor& y, int calls) {
  const uint32_t bits = (calls % 2 ? 0x7fc00000u : 0xffc00000u) + static_cast<uint32_t>(calls);
  for (int64_t r = 0; r < y.shape[0]; ++r)
    for (int64_t c = 0; c < y.shape[1]; ++c)
      if (std::isnan(at(y, r, c))) std::memcpy(&at(y, r, c), &bits, sizeof bits);
}

warpcheck_status run(warpcheck_call* call) {
  const DLTensor& x = *call->inputs[0];
  const DLTensor& y = *call->outputs[0];
  const char* variant = call->variant ? call->variant : k_default;
  const auto is = [&](const char* name) { return std::strcmp(variant, name) == 0; };
  static int calls = 0;
  ++calls;
  call->used_variant = is("colours_variant") ? "\x1b[2J" : variant;
  warpcheck_status status = WARPCHECK_OK;
  if (answered(call, variant, status)) return status;
  static uint32_t last_found = 0;
  uint32_t found = 0;
  if (is("wants_other_bytes") && x.shape[0] > 0 && x.shape[1] > 0) std::memcpy(&found, y.data, sizeof found);
  const bool found_again = found == last_found;
  last_found = found;
  const bool was_there = x.shape[0] > 0 && x.shape[1] > 0 && at(y, 0, 0) >= 0 && at(y, 0, 0) <= 1;
  for (int64_t r = 0; r < x.shape[0]; ++r) softmax_row(x, y, r);
  if (call->num_outputs > 1)
    for (int64_t r = 0; r < x.shape[0]; ++r)
      static_cast<int64_t*>(call->outputs[1]->data)[r * call->outputs[1]->strides[0]] = largest(x, r);
  if (is("writes_into_nothing")) *static_cast<char*>(y.data) = 0;
  if (x.shape[0] == 0 || x.shape[1] == 0) return WARPCHECK_OK;
  corrupt(variant, x, y);
  if (is("wants_other_bytes") && found_again) at(y, 0, 0) += 1;
  if (is("trusts_old_output") && was_there) at(y, 0, 0) += 1e-7f;
  if (is("another_nan_each_time")) vary_nans(y, calls);
  float& last = at(y, x.shape[0] - 1, x.shape[1] - 1);
  if (is("different_at_the_end")) last += static_cast<float>(calls % 2) * 1e-7f;
  if (is("different_each_time")) at(y, 0, 0) += static_cast<float>(calls % 2) * 1e-7f;
  return WARPCHECK_OK;
}

// One variant leaves an element as it found it.
warpcheck_status run_unwritten(warpcheck_call* call) {
  if (call->variant == nullptr || std::strcmp(call->variant, "leaves_one_unwritten") != 0) return run(call);
  float& first = at(*call->outputs[0], 0, 0);
  const float before = first;
  const warpcheck_status status = run(call);
  first = before;
  return status;
}

constexpr uint32_t k_types = WARPCHECK_F32;
#ifdef TEST_ACCEPTS
// Even numbers of columns, in rows that begin at multiples of 8 bytes.
int32_t accepts_even_columns(const warpcheck_call* call) {
  const DLTensor& x = *call->inputs[0];
  return x.shape[1] % 2 == 0 && x.strides[0] % 2 == 0 && reinterpret_cast<uintptr_t>(x.data) % 8 == 0;
}
constexpr warpcheck_variant even_columns() {
  warpcheck_variant v = warpcheck::row_variant("even_columns", 0, -1, 1, 0, k_types);
  v.accepts = accepts_even_columns;
  return v;
}
#endif
const warpcheck_variant k_variants[] = {
    warpcheck::row_variant(k_default, 0, -1, 0, -1, k_types),
#ifdef TEST_ACCEPTS
    even_columns(),
#elif !defined(TEST_VARIANT)
    warpcheck::row_variant("refuses", 0, -1, 1, 0, k_types),
    warpcheck::row_variant("refuses_ranges", 0, -1, 1, 0, k_types),
    warpcheck::row_variant("refuses_briefly", 0, -1, 1, 0, k_types),
    warpcheck::row_variant("refuses_silently", 0, -1, 1, 0, k_types),
    warpcheck::row_variant("blames_the_device", 0, -1, 1, 0, k_types),
    warpcheck::row_variant("refuses_with_umlaut", 0, -1, 1, 0, k_types),
    warpcheck::row_variant("refuses_after_looking", 0, -1, 1, 0, k_types),
    warpcheck::row_variant("wants_other_bytes", 0, -1, 1, 0, k_types),
    warpcheck::row_variant("off_by_little", 0, -1, 1, 0, k_types),
    warpcheck::row_variant("drops_tail", 0, -1, 1, 0, k_types),
    warpcheck::row_variant("less_accurate", 0, -1, 1, 0, k_types),
    warpcheck::row_variant("not_a_number", 0, -1, 1, 0, k_types),
    warpcheck::row_variant("writes_past_end", 0, -1, 1, 0, k_types),
    warpcheck::row_variant("writes_before_start", 0, -1, 1, 0, k_types),
    warpcheck::row_variant("writes_gap", 0, -1, 1, 0, k_types),
    warpcheck::row_variant("writes_far_into_gap", 0, -1, 1, 0, k_types),
    warpcheck::row_variant("changes_input", 0, -1, 1, 0, k_types),
    warpcheck::row_variant("looks_into_gap", 0, -1, 1, 0, k_types),
    warpcheck::row_variant("different_each_time", 0, -1, 1, 0, k_types),
    warpcheck::row_variant("different_at_the_end", 0, -1, 1, 0, k_types),
    warpcheck::row_variant("another_nan_each_time", 0, -1, 1, 0, k_types),
    warpcheck::row_variant("writes_into_nothing", 0, -1, 1, 0, k_types),
    warpcheck::row_variant("fills_message", 0, -1, 1, 0, k_types),
    warpcheck::row_variant("colours_message", 0, -1, 1, 0, k_types),
    warpcheck::row_variant("colours_variant", 0, -1, 1, 0, k_types),
    warpcheck::row_variant("leaves_one_unwritten", 0, -1, 1, 0, k_types),
    warpcheck::row_variant("trusts_old_output", 0, -1, 1, 0, k_types),
#endif
};
const warpcheck_operator k_softmax = warpcheck::operator_of_rows("softmax", WARPCHECK_DEVICE_CPU, k_types,
                                                                 run_unwritten, k_variants, std::size(k_variants));
const warpcheck_operator* const k_operators[] = {&k_softmax};
const warpcheck_candidate k_candidate = {
    WARPCHECK_CANDIDATE_ABI, sizeof(warpcheck_candidate), "test", "test", k_operators, 1, nullptr};

}  // namespace

extern "C" __attribute__((visibility("default"))) const warpcheck_candidate* warpcheck_candidate_get(
    uint32_t abi_version) {
  return abi_version == WARPCHECK_CANDIDATE_ABI ? &k_candidate : nullptr;
}
