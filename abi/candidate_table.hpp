// The entries of a candidate's table (candidate.h) for operators of one extent, such as the length of rows, and the
// bits that its element types are.
#pragma once

#include <cstddef>
#include <cstdint>

#include "abi/candidate.h"

namespace warpcheck {

// Returns the bit of warpcheck_dtype_bit for the type, or 0 if there is none.
constexpr uint32_t dtype_bit(const DLDataType& type) {
  if (type.lanes != 1) return 0;
  switch (type.code) {
    case kDLFloat:
      return type.bits == 32 ? WARPCHECK_F32 : type.bits == 16 ? WARPCHECK_F16 : type.bits == 64 ? WARPCHECK_F64 : 0;
    case kDLBfloat: return type.bits == 16 ? WARPCHECK_BF16 : 0;
    case kDLInt:
      return type.bits == 64 ? WARPCHECK_I64 : type.bits == 32 ? WARPCHECK_I32 : type.bits == 8 ? WARPCHECK_I8 : 0;
    case kDLUInt:
      return type.bits == 8 ? WARPCHECK_U8 : type.bits == 16 ? WARPCHECK_U16 : type.bits == 32 ? WARPCHECK_U32 : 0;
    case WARPCHECK_DLPACK_E4M3: return type.bits == 8 ? WARPCHECK_E4M3 : 0;
    case WARPCHECK_DLPACK_E5M2: return type.bits == 8 ? WARPCHECK_E5M2 : 0;
    default: return 0;
  }
}

using candidate_run = warpcheck_status (*)(warpcheck_call*);
using candidate_picks = const char* (*)(const warpcheck_call*);

// A variant of one extent: the sizes that it accepts (max -1: no limit), and those for which the dispatch may select
// it.
constexpr warpcheck_variant row_variant(const char* name, int64_t min, int64_t max, int64_t dispatch_min,
                                        int64_t dispatch_max, uint32_t dtypes) {
  return {sizeof(warpcheck_variant), name, dtypes, {{min, max, dispatch_min, dispatch_max}}, nullptr};
}

inline constexpr const char* k_row_extents[] = {"cols"};

constexpr warpcheck_operator operator_of_rows(const char* name, warpcheck_device device, uint32_t dtypes,
                                              candidate_run run, const warpcheck_variant* variants = nullptr,
                                              size_t num_variants = 0, warpcheck_boundaries boundaries = {nullptr, 0},
                                              candidate_picks picks = nullptr,
                                              const char* const* extent = k_row_extents) {
  return {sizeof(warpcheck_operator),         name,         device, dtypes, 1, extent, variants,
          static_cast<int32_t>(num_variants), {boundaries}, run,    picks};
}

}  // namespace warpcheck
