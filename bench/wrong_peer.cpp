// A peer for the tests of `warpcheck bench`: the emulated device's own kernels, called with wrong arguments.
#include <dlfcn.h>

#include <algorithm>
#include <cstring>
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

// Gradients for hessians.
warpcheck_status run_histogram(warpcheck_call* call) {
  std::vector<const DLTensor*> inputs(call->inputs, call->inputs + call->num_inputs);
  std::swap(inputs[2], inputs[3]);
  warpcheck_call swapped = *call;
  swapped.inputs = inputs.data();
  return find("histogram").run(&swapped);
}

// Another penalty.
warpcheck_status run_best_split(warpcheck_call* call) {
  std::vector<warpcheck_scalar> scalars(call->scalars, call->scalars + call->num_scalars);
  for (warpcheck_scalar& s : scalars)
    if (std::strcmp(s.name, "lambda_l2") == 0) s.value = 7;
  warpcheck_call penalised = *call;
  penalised.scalars = scalars.data();
  return find("best_split").run(&penalised);
}

warpcheck_operator called_by(const char* name, warpcheck_status (*run)(warpcheck_call*)) {
  warpcheck_operator op = find(name);
  op.run = run;
  return op;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const warpcheck_candidate* warpcheck_candidate_get(uint32_t version) {
  if (version != WARPCHECK_CANDIDATE_ABI) return nullptr;
  static const warpcheck_operator histogram = called_by("histogram", run_histogram),
                                  best_split = called_by("best_split", run_best_split);
  static const warpcheck_operator* const operators[] = {&histogram, &best_split};
  static warpcheck_candidate table = emulated();
  table.name = "wrong";
  table.operators = operators;
  table.num_operators = 2;
  return &table;
}
