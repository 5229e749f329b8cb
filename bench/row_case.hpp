// A row of an operator's bench list as a case.
#pragma once

#include <cstdint>
#include <string>

#include "bench/device_timing.hpp"
#include "properties/engine/cases/description.hpp"

namespace warpcheck::bench {

engine::trial_case case_of(const engine::description& d, const engine::bench_row& row);

inline size_t bytes_of(const engine::tensor_spec& t) { return static_cast<size_t>(t.elements()) * size_of(t.type); }

// Returns operator/type/ROWSxCOLS and then the row's special features, unless the row has a name; a vector is one row.
std::string name_of(const engine::description& d, const engine::bench_row& row);

// Returns the bytes of one call's tensors, with dense rows, without the parts that a selection leaves out.
traffic traffic_of(const engine::description& d, const engine::bench_row& row);

// Returns the elements of the row's largest tensor.
int64_t elements_of(const engine::description& d, const engine::bench_row& row);

}  // namespace warpcheck::bench
