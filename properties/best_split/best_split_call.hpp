// Instances and records of best_split from a call whose tensors are known (best_split_cases.cpp).
#pragma once

#include "properties/best_split/best_split_cases.hpp"
#include "properties/engine/cases/host_tensor.hpp"

namespace warpcheck {

split_instance instance_of(const engine::trial_case& c, const engine::tensor_map& inputs);
reference::split_settings settings_of(const engine::trial_case& c);
// Gives the case the shapes of the call on this instance, and returns its inputs.
engine::tensor_map tensors_of(engine::trial_case& c, const split_instance& s);
// Throws usage_error if the tables break the contract: a kernel would read beside the histogram.
void check_tables(const split_instance& s);
// Makes the records of a case of the reduction.
void derive_records(const engine::trial_case& c, engine::tensor_map& inputs);
// The record of a leaf, whatever the outputs hold.
reference::split_result record_of(const engine::tensor_map& outputs, int64_t leaf);

// The records of a call of the reduction, by the names of the outputs.
engine::tensor_map records_in(const engine::tensor_map& inputs);
// The place of the record that the reduction copies among `per_leaf` records of a leaf; -1 if none of them is valid.
int64_t best_record(const engine::tensor_map& records, int64_t leaf, int64_t per_leaf);
// Requires that the outputs are the best record of each leaf, and the initial record for a leaf without one.
void judge_best_records(engine::trial& t, const engine::tensor_map& inputs, int64_t per_leaf,
                        const engine::run_result& r);

}  // namespace warpcheck
