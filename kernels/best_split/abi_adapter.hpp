// The ABI adapter (candidate.h) of best_split: a call (contract.hpp) as arguments of the C++ API. Forced variants
// choose the path. On the mixed one clusters take the tasks of the last "long_features" features, or where that is 0
// half of all.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>

#include "kernels/best_split/contract.hpp"
#include "kernels/best_split/tasks.hpp"
#include "kernels/candidate_support.hpp"
#include "kernels/primitives/grid.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

constexpr int64_t k_record_values = 9;
constexpr int64_t k_record_fields = 6;
constexpr int k_adapter_threads = 32;  // small blocks, because few items are to keep many multiprocessors busy

struct abi_tables {
  const int64_t* feature;
  const uint8_t* used;
  const double* leaf;
  int64_t features, leaves;
  int64_t ld_feature, ld_used, ld_leaf;
};

// A thread for each task. There are two tasks per feature; if the feature has only one, the other is left out.
inline __global__ void __launch_bounds__(k_adapter_threads)
    unpack_tables(abi_tables t, split_config config, split_task* tasks, split_leaf* leaves, uint8_t* used) {
  const int64_t first = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  const int64_t num_tasks = 2 * t.features;
  for (int64_t i = first; i < num_tasks; i += step) {
    const int64_t* const row = t.feature + i / 2 * t.ld_feature;
    const feature_meta f{static_cast<int32_t>(row[0]),
                         static_cast<int32_t>(row[1]),
                         static_cast<int32_t>(row[2]),
                         row[3],
                         static_cast<uint8_t>(row[4]),
                         static_cast<missing_kind>(row[5]),
                         row[6] != 0};
    split_task of_feature[2];
    const int64_t count = tasks_of_feature(f, config, of_feature);
    // With its padding, because a later copy reads it: clang's assignment leaves the padding unwritten.
    if (i % 2 == 0)
      memcpy(tasks + i, of_feature, sizeof(split_task));
    else
      memcpy(tasks + i, of_feature + 1, sizeof(split_task));
    for (int64_t leaf = 0; leaf < t.leaves; ++leaf)
      used[leaf * num_tasks + i] = i % 2 < count && (t.used == nullptr || t.used[leaf * t.ld_used + i / 2] != 0);
  }
  for (int64_t i = first; i < t.leaves; i += step) {
    const double* const row = t.leaf + i * t.ld_leaf;
    leaves[i] = {static_cast<int64_t>(row[0]), row[1], row[2], static_cast<int64_t>(row[3]), row[4], row[5],
                 static_cast<uint64_t>(row[6])};
  }
}

inline __global__ void __launch_bounds__(k_adapter_threads)
    pack_records(const split_record* in, int64_t count, double* value, int64_t ld_value, int64_t* field,
                 int64_t ld_field) {
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += static_cast<int64_t>(gridDim.x) * blockDim.x) {
    const split_record& r = in[i];
    const double values[k_record_values] = {r.gain,        r.left.sum_g,  r.left.sum_h, r.left.gain,  r.left.value,
                                            r.right.sum_g, r.right.sum_h, r.right.gain, r.right.value};
    const int64_t fields[k_record_fields] = {
        *reinterpret_cast<const uint32_t*>(in + i), r.feature, r.threshold, r.num_cat, r.left.count, r.right.count};
    for (int64_t k = 0; k < k_record_values; ++k) value[i * ld_value + k] = values[k];
    for (int64_t k = 0; k < k_record_fields; ++k) field[i * ld_field + k] = fields[k];
  }
}

inline __global__ void __launch_bounds__(k_adapter_threads)
    unpack_records(const double* value, int64_t ld_value, const int64_t* field, int64_t ld_field, int64_t count,
                   split_record* out) {
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += static_cast<int64_t>(gridDim.x) * blockDim.x) {
    const double* const v = value + i * ld_value;
    const int64_t* const f = field + i * ld_field;
    *reinterpret_cast<uint32_t*>(out + i) = static_cast<uint32_t>(f[0]);
    out[i].feature = static_cast<int32_t>(f[1]);
    out[i].threshold = static_cast<uint32_t>(f[2]);
    out[i].num_cat = static_cast<int32_t>(f[3]);
    out[i].gain = v[0];
    out[i].left = {v[1], v[2], v[3], v[4], f[4]};
    out[i].right = {v[5], v[6], v[7], v[8], f[5]};
  }
}

// CUDA refuses a buffer of no bytes.
inline size_t room_for(int64_t elements) { return static_cast<size_t>(elements > 0 ? elements : 1); }

inline unsigned adapter_grid(int64_t items, simt::stream_t stream) {
  return grid_size(ceil_div(items, k_adapter_threads), stream);
}

inline void expect_size(const tensor_view& v, int64_t size, int64_t expected) {
  if (size != expected)
    throw std::invalid_argument(v.rule->name + " has the extent " + std::to_string(size) + ", must have " +
                                std::to_string(expected));
}

// A table whose rows are side by side.
template <class T>
T* dense(const tensor_view& v) {
  require_dense(v);
  return v.as<T>();
}

inline split_config config_of(const checked_call& call) {
  split_config c;
  c.lambda_l1 = call.scalar("lambda_l1");
  c.lambda_l2 = call.scalar("lambda_l2");
  c.path_smooth = call.scalar("path_smooth");
  c.min_sum_hessian_in_leaf = call.scalar("min_hessian");
  c.min_gain_to_split = call.scalar("min_gain");
  c.min_data_in_leaf = static_cast<int64_t>(call.scalar("min_data"));
  c.min_data_per_group = static_cast<int64_t>(call.scalar("min_group"));
  c.extra_trees = call.scalar("extra_trees") != 0;
  c.cat_smooth = call.scalar("cat_smooth");
  c.cat_l2 = call.scalar("cat_l2");
  c.max_cat_threshold = static_cast<int32_t>(call.scalar("max_cat"));
  c.max_cat_to_onehot = static_cast<int32_t>(call.scalar("max_onehot"));
  c.compat = call.scalar("lightgbm_cuda") != 0 ? split_compat::lightgbm_cuda : split_compat::strict;
  return c;
}

struct record_tables {
  double* value;
  int64_t* field;
  uint32_t* cat;
  int64_t ld_value, ld_field;
};

inline record_tables output_tables(const checked_call& call, int32_t list) {
  const tensor_view &value = call.at("value"), &field = call.at("field"), &cat = call.at("cat");
  expect_size(cat, cat.cols, list);
  return {value.as<double>(), field.as<int64_t>(), dense<uint32_t>(cat), value.ld, field.ld};
}

inline void pack(const split_record* records, int64_t count, const record_tables& out, simt::stream_t stream) {
  if (count > 0)
    simt::launch({adapter_grid(count, stream), k_adapter_threads, 0, stream}, pack_records, records, count, out.value,
                 out.ld_value, out.field, out.ld_field);
}

// The arguments of best_split (best_split.hpp), in device memory.
struct split_call {
  const double* hist;
  const int64_t* bin_count;
  const split_task* tasks;
  int64_t num_tasks;
  const split_leaf* leaves;
  int64_t num_leaves;
  const uint8_t* used;
  split_config config;
  split_record* out;
  uint32_t* cat_bins;
  void* ws;
  size_t ws_bytes;
};

inline checked_call check_best_split(const warpcheck_call& call) {
  checked_call checked = check_call(best_split_contract(), call);
  check_memory(checked);
  return checked;
}

// Calls run(split_call) with the call's tables in device memory; `path` is in its configuration. Records and lists of
// categories become the outputs.
template <class Run>
void with_split_call(const checked_call& call, simt::stream_t stream, split_path path, Run&& run) {
  split_config config = config_of(call);
  const tensor_view &hist = call.at("hist"), &count = call.at("count"), &feature = call.at("feature"),
                    &used = call.at("used"), &leaf = call.at("leaf");
  if (count.cols > 0) expect_size(count, count.cols, hist.rows);
  if (used.rows > 0) {
    expect_size(used, used.rows, leaf.rows);
    expect_size(used, used.cols, feature.rows);
  }
  const int64_t num_tasks = 2 * feature.rows, num_leaves = leaf.rows;
  const record_tables out = output_tables(call, list_length(config.max_cat_threshold));
  config.path = path;
  if (path == split_path::mixed) {
    const int64_t given = 2 * static_cast<int64_t>(call.scalar("long_features"));
    config.known.long_tasks = given > 0 ? given : num_tasks / 2;  // a feature's tasks, or one of them
  }
  const size_t ws_bytes = split_workspace_bytes(num_tasks, num_leaves, config);
  const simt::buffer<split_task> tasks(room_for(num_tasks), stream);
  const simt::buffer<split_leaf> leaves(room_for(num_leaves), stream);
  const simt::buffer<uint8_t> mask(room_for(num_tasks * num_leaves), stream);
  const simt::buffer<double2> ws(ws_bytes / sizeof(double2) + 1, stream);
  const simt::buffer<split_record> records(room_for(num_leaves), stream);
  if (num_tasks + num_leaves > 0)
    simt::launch({adapter_grid(std::max(num_tasks, num_leaves), stream), k_adapter_threads, 0, stream}, unpack_tables,
                 abi_tables{feature.as<int64_t>(), used.as<uint8_t>(), leaf.as<double>(), feature.rows, num_leaves,
                            feature.ld, used.ld, leaf.ld},
                 config, tasks.data(), leaves.data(), mask.data());
  run(split_call{dense<double>(hist), count.as<int64_t>(), tasks.data(), num_tasks, leaves.data(), num_leaves,
                 mask.data(), config, records.data(), out.cat, ws.data(), ws_bytes});
  pack(records.data(), num_leaves, out, stream);
}

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
