// Shared parts of candidates for matmul that call other libraries. One of our modes demands an accuracy, and an f32
// product has the accuracy of all of them.
#pragma once

#include <cstdint>
#include <string>

#include "abi/candidate_library.hpp"
#include "kernels/candidate_support.hpp"
#include "kernels/matmul/arguments.hpp"
#include "kernels/matmul/call.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

// `run(call, type of a, type of c, stream)` gets the calls that the contract allows and whose C has elements.
template <class Run>
warpcheck_status run_product(warpcheck_call* call, const std::string& library, Run&& run) {
  return candidate_call(call, [&] {
    const matmul_call c = read_matmul_call(call);
    with_matmul_types(c, [&](auto type, auto output) {
      using T = typename decltype(type)::type;
      using TC = typename decltype(output)::type;
      check_matmul_arguments<T, TC>(c.ta == trans::yes, c.tb == trans::yes, c.m, c.n, c.k, c.a.template as<T>(), c.a.ld,
                                    c.b.template as<T>(), c.b.ld, c.c.template as<TC>(), c.c.ld, c.epilogue.bias,
                                    c.work, c.work_bytes, 0);
      if (call->variant != nullptr) throw unsupported_call(library + " has no variants");
      if (c.options.rows_alone) throw unsupported_call(library + " promises nothing of a row alone");
      if (c.epilogue.bias != nullptr || c.epilogue.sigmoid)
        throw unsupported_call("a product of " + library + " has no bias, no sigmoid");
      if (c.m > 0 && c.n > 0) run(c, type, output, static_cast<cudaStream_t>(call->stream));
    });
  });
}

constexpr warpcheck_operator product_operator(uint32_t dtypes, warpcheck_status (*run)(warpcheck_call*)) {
  return operator_of_extents("matmul", WARPCHECK_DEVICE_CUDA, dtypes, k_matmul_extents, run);
}

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
