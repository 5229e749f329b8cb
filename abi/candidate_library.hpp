// The tables of a library (candidate.h): of an operator with several extents, and of all of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "abi/candidate.h"

namespace warpcheck {

template <size_t Extents>
constexpr warpcheck_operator operator_of_extents(const char* name, warpcheck_device device, uint32_t dtypes,
                                                 const char* const (&extents)[Extents],
                                                 warpcheck_status (*run)(warpcheck_call*),
                                                 const warpcheck_variant* variants = nullptr, size_t num_variants = 0) {
  return {sizeof(warpcheck_operator),         name, device, dtypes, static_cast<int32_t>(Extents), extents, variants,
          static_cast<int32_t>(num_variants), {},   run,    nullptr};
}

// The table of a library with these operators; it keeps those of the first call.
template <size_t Count>
const warpcheck_candidate* candidate_library(uint32_t abi_version, const char* name, const std::string& build,
                                             const warpcheck_operator* const (&operators)[Count]) {
  if (abi_version != WARPCHECK_CANDIDATE_ABI) return nullptr;
  static const std::string kept = build;
  static const warpcheck_candidate table = {WARPCHECK_CANDIDATE_ABI,
                                            sizeof(warpcheck_candidate),
                                            name,
                                            kept.c_str(),
                                            operators,
                                            static_cast<int32_t>(Count),
                                            nullptr};
  return &table;
}

}  // namespace warpcheck
