// A peer for the tests of `warpcheck bench`: the emulated device's own kernels, called with wrong arguments.
#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <string_view>
#include <utility>
#include <vector>

#include "abi/candidate.h"

namespace {

const warpcheck_candidate& emulated() {
  static void* const library = dlopen(WARPCHECK_EMULATED, RTLD_NOW | RTLD_LOCAL);
  static const auto get = reinterpret_cast<warpcheck_candidate_get_fn>(dlsym(library, "warpcheck_candidate_get"));
  return *get(WARPCHECK_CANDIDATE_ABI);
}

const warpcheck_operator& find(std::string_view name) {
  const warpcheck_candidate& table = emulated();
  return **std::find_if(table.operators, table.operators + table.num_operators,
                        [&](const warpcheck_operator* op) { return op->name == name; });
}

warpcheck_status run_with_scalar(const char* op, const char* name, double value, warpcheck_call* call) {
  std::vector<warpcheck_scalar> scalars(call->scalars, call->scalars + call->num_scalars);
  for (warpcheck_scalar& s : scalars)
    if (std::strcmp(s.name, name) == 0) s.value = value;
  warpcheck_call changed = *call;
  changed.scalars = scalars.data();
  return find(op).run(&changed);
}

warpcheck_status run_with_swapped(const char* op, std::initializer_list<std::pair<size_t, size_t>> pairs,
                                  warpcheck_call* call) {
  std::vector<const DLTensor*> inputs(call->inputs, call->inputs + call->num_inputs);
  for (const auto& [one, other] : pairs) std::swap(inputs[one], inputs[other]);
  warpcheck_call swapped = *call;
  swapped.inputs = inputs.data();
  return find(op).run(&swapped);
}

// Swaps gradients and hessians.
warpcheck_status run_histogram(warpcheck_call* call) { return run_with_swapped("histogram", {{2, 3}}, call); }
warpcheck_status run_best_split(warpcheck_call* call) { return run_with_scalar("best_split", "lambda_l2", 7, call); }
warpcheck_status run_matmul(warpcheck_call* call) { return run_with_scalar("matmul", "alpha", 1.0001, call); }
// Swaps b_ih and b_hh, and dy and y.
warpcheck_status run_gru(warpcheck_call* call) { return run_with_swapped("gru", {{3, 4}, {9, 11}}, call); }

warpcheck_operator called_by(const char* name, warpcheck_status (*run)(warpcheck_call*)) {
  warpcheck_operator op = find(name);
  op.run = run;
  return op;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const warpcheck_candidate* warpcheck_candidate_get(uint32_t version) {
  if (version != WARPCHECK_CANDIDATE_ABI) return nullptr;
  static const warpcheck_operator histogram = called_by("histogram", run_histogram),
                                  best_split = called_by("best_split", run_best_split),
                                  matmul = called_by("matmul", run_matmul), gru = called_by("gru", run_gru);
  static const warpcheck_operator* const operators[] = {&histogram, &best_split, &matmul, &gru};
  static warpcheck_candidate table = emulated();
  table.name = "wrong";
  table.operators = operators;
  table.num_operators = 4;
  return &table;
}
