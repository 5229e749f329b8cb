// Contracts (abi/contract.hpp) as text, and the answers and tables of candidates that are called by a contract alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "abi/contract.hpp"

namespace warpcheck::cli {

std::string to_text(const contract& c);
contract contract_of(const std::string& text);

// Checks tensors, scalars and memory. Python functions, entries of CUDA sources and interpreted formulas check nothing,
// so calls that break the contract are refused before they reach them.
checked_call check_whole_call(const contract& c, const warpcheck_call& call);

// Answers a call with a status and its sentence.
warpcheck_status answer(warpcheck_call* call, warpcheck_status status, const std::string& message);
// Answers a call by the exception that is being handled.
warpcheck_status answer_exception(warpcheck_call* call);
// An operator without variants that is called by its contract, as an entry of a candidate's table. `extents` gets the
// names that it points to, which belong to the contract.
warpcheck_operator operator_of(const contract& c, const char* op, warpcheck_device device, uint32_t dtypes,
                               warpcheck_status (*run)(warpcheck_call*), std::vector<const char*>& extents);

// Returns "f32" for WARPCHECK_F32; nullptr for anything but a single type.
const char* dtype_name(uint32_t bit);

}  // namespace warpcheck::cli
