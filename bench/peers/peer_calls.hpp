// Shared parts of candidates that call other libraries: they refuse what the contract refuses, before the call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "abi/candidate.h"
#include "kernels/candidate_support.hpp"
#include "kernels/reduce/contract.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

// For NVIDIA's libraries whose calls return a `Status`; `text_of` converts it to text.
template <class Status>
void check_status(Status status, Status success, Status not_supported, const char* (*text_of)(Status),
                  const char* what) {
  if (status == success) return;
  const std::string text = std::string(what) + ": " + text_of(status);
  if (status == not_supported) throw unsupported_call(text);
  throw simt::device_error(text);
}

// The `op` of a reduction.
enum class reduction { sum, min, max };

// A call of "reduce". `run(x, y, op, stream)`, with y a pointer to x's element type, gets the calls that the contract
// allows and that have a result.
template <class Run>
warpcheck_status run_reduction(warpcheck_call* call, const char* library, Run&& run) {
  return candidate_call(call, [&] {
    const checked_call checked = check_call(reduce_contract(), *call);
    check_memory(checked);
    if (call->variant != nullptr) throw unsupported_call(std::string(library) + " has no variants");
    const tensor_view& x = checked.at("x");
    if (x.rows == 0) return;
    const auto op = static_cast<reduction>(static_cast<int>(checked.scalar("op")));
    with_type<float, double>(x.type, [&](auto type) {
      run(x, checked.data<typename decltype(type)::type>("y"), op, static_cast<cudaStream_t>(call->stream));
    });
  });
}

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
