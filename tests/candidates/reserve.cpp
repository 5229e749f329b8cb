// gru for the CPU by the exact model. What the backward pass needs lies in a reserve of its own layout
// (abi/candidate_reserve.h); WARPCHECK_FLAW names the one flaw.
#include "abi/candidate_reserve.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <string_view>
#include <vector>

#include "abi/candidate_table.hpp"
#include "docs/bring_your_own/call.hpp"
#include "reference/gru/gru.hpp"
#include "reference/gru/gru_backward.hpp"

namespace {

namespace reference = warpcheck::reference;

constexpr bool flaw(std::string_view name) { return name == WARPCHECK_FLAW; }

// Calls f(index, value) for the elements of a tensor in their order.
template <class T, class F>
void each(const DLTensor& t, F&& f) {
  const int64_t count = std::accumulate(t.shape, t.shape + t.ndim, int64_t{1}, std::multiplies<>());
  for (int64_t i = 0; i < count; ++i) {
    int64_t at = 0, left = i;
    for (int32_t d = t.ndim; d-- > 0; left /= t.shape[d]) at += left % t.shape[d] * t.strides[d];
    f(static_cast<size_t>(i), static_cast<T*>(t.data)[at]);
  }
}

template <class T, class V>
void read(const warpcheck_call* call, int32_t i, std::vector<V>& values) {
  values.clear();
  each<T>(*call->inputs[i], [&](size_t, T v) { values.push_back(static_cast<V>(v)); });
}
void write(const warpcheck_call* call, int32_t i, const std::vector<double>& values) {
  each<float>(*call->outputs[i], [&](size_t k, float& v) { v = static_cast<float>(values[k]); });
}

struct problem : reference::gru_problem<double> {
  std::vector<double> dy, dhn;

  explicit problem(const warpcheck_call* call) {
    const int64_t *const xs = call->inputs[0]->shape, *const ws = call->inputs[2]->shape;
    shape = {xs[0], xs[1], xs[2], ws[2], static_cast<int>(ws[0])};
    std::vector<double>* const tensors[] = {&x, &w_ih, &w_hh, &b_ih, &b_hh, &h0, &h_reset};
    for (int32_t i = 0; i < 7; ++i) read<float>(call, i, *tensors[i]);
    read<int64_t>(call, 7, lengths);
    read<uint8_t>(call, 8, reset);
    read<float>(call, 9, dy);
    read<float>(call, 10, dhn);
  }
};

// The states in f64, and the sum of their bytes.
struct kept {
  reference::gru_states<double> states;

  static int64_t bytes(const reference::gru_shape& s) { return 8 * (s.y_size() + s.history_size()) + 8; }
  std::vector<char> pack() const {
    std::vector<char> all(8 * (states.y.size() + states.history.size()));
    std::memcpy(all.data(), states.y.data(), 8 * states.y.size());
    std::memcpy(all.data() + 8 * states.y.size(), states.history.data(), 8 * states.history.size());
    const int64_t sum = std::accumulate(all.begin(), all.end(), int64_t{1});
    all.insert(all.end(), reinterpret_cast<const char*>(&sum), reinterpret_cast<const char*>(&sum + 1));
    return all;
  }
  static kept unpack(const char* bytes, const reference::gru_shape& s) {
    kept k;
    k.states.y.resize(static_cast<size_t>(s.y_size()));
    k.states.history.resize(static_cast<size_t>(s.history_size()));
    std::memcpy(k.states.y.data(), bytes, 8 * k.states.y.size());
    std::memcpy(k.states.history.data(), bytes + 8 * k.states.y.size(), 8 * k.states.history.size());
    return k;
  }
};

kept g_last;  // what no candidate can rely on: another call may have come

void forward(const warpcheck_call* call, char* reserve, int64_t bytes) {
  const problem p(call);
  kept k{reference::gru_forward(p)};
  write(call, 0, k.states.y);
  write(call, 1, k.states.hn);
  if (!reserve) return;
  if (bytes != kept::bytes(p.shape)) throw candidate::refusal{WARPCHECK_DEVICE_ERROR, "the reserve has another size"};
  const std::vector<char> all = k.pack();
  std::memcpy(reserve, all.data(), all.size());
  if (flaw("writes-past")) reserve[bytes] = 0;
  g_last = std::move(k);
}

void backward(const warpcheck_call* call, const char* reserve) {
  const problem p(call);
  kept k = kept::unpack(reserve, p.shape);
  const std::vector<char> all = k.pack();
  if (!std::equal(all.begin(), all.end(), reserve))
    throw candidate::refusal{WARPCHECK_DEVICE_ERROR, "the reserve is not what the forward pass left"};
  if (flaw("loses-reserve")) k = g_last;
  const auto g = reference::gru_backward(p, k.states, p.dy, p.dhn);
  const std::vector<double>* const gradients[] = {&g.dx,    &g.dh0,   &g.dh_reset, &g.dw_ih,
                                                  &g.dw_hh, &g.db_ih, &g.db_hh,    &g.trace_e};
  for (int32_t i = 0; i < 8; ++i) write(call, 3 + i, *gradients[i]);
}

void offer_no_more(const warpcheck_call* call) {
  candidate::offer(call->inputs[12]->shape[0] == 0 && call->outputs[2]->shape[0] == 0 &&
                       candidate::scalar(call, "history_mode") != 1 && candidate::scalar(call, "precision") == 0,
                   "this candidate keeps a history of its own");
}

warpcheck_status run(warpcheck_call* call) {
  return candidate::answer(call, [&] {
    offer_no_more(call);
    candidate::offer(candidate::scalar(call, "pass") == 0, "a backward pass needs a reserve");
    forward(call, nullptr, 0);
  });
}

warpcheck_status run_with_reserve(warpcheck_call* call, void* reserve, int64_t bytes) {
  return candidate::answer(call, [&] {
    offer_no_more(call);
    if (candidate::scalar(call, "pass") == 0)
      forward(call, static_cast<char*>(reserve), bytes);
    else
      backward(call, static_cast<const char*>(reserve));
  });
}

int64_t reserve_bytes(const warpcheck_call* call) {
  const int64_t *const xs = call->inputs[0]->shape, *const ws = call->inputs[2]->shape;
  return flaw("negative-size") ? -1 : kept::bytes({xs[0], xs[1], xs[2], ws[2], static_cast<int>(ws[0])});
}

}  // namespace

extern "C" const warpcheck_candidate* warpcheck_candidate_get(uint32_t abi_version) {
  if (abi_version != WARPCHECK_CANDIDATE_ABI) return nullptr;
  static constexpr warpcheck_operator op = warpcheck::operator_of_rows("gru", WARPCHECK_DEVICE_CPU, WARPCHECK_F32, run);
  static const warpcheck_operator* const operators[] = {&op};
  static const warpcheck_candidate table = {
      WARPCHECK_CANDIDATE_ABI, sizeof(warpcheck_candidate), "reserve", "plain C++", operators, 1, nullptr};
  return &table;
}

extern "C" const warpcheck_reserve* warpcheck_candidate_reserve(const char*) {
  static constexpr warpcheck_reserve reserve = {sizeof(warpcheck_reserve), reserve_bytes, run_with_reserve};
  return &reserve;
}
