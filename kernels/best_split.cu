// Best split: see the contract in best_split.hpp. A block or a cluster of blocks per (leaf, task) leaves a record in
// the workspace; a second launch takes the best of each leaf. The slots are read twice, the second time from L1 or L2.
#include "kernels/best_split.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>

#include "kernels/best_split/door.hpp"
#include "kernels/best_split/finders.hpp"
#include "kernels/best_split/tasks.hpp"
#include "kernels/candidate_support.hpp"
#include "kernels/primitives/arguments.hpp"
#include "kernels/primitives/grid.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {
namespace {

struct split_arguments {
  const double* hist;
  const int64_t* bin_count;
  const split_task* tasks;
  const split_leaf* leaves;
  const uint8_t* used;
  int64_t num_tasks;
  int64_t num_leaves;
  split_record* records;    // [num_leaves][num_tasks]
  uint32_t* categories;     // [num_leaves][num_tasks][list]
  uint32_t* from_high_end;  // the same
  int32_t list;
  split_config config;
};

__device__ void finish(const split_task& task, const split_terms& t, const split_candidate& best, int32_t num_cat,
                       split_record* out) {
  split_record r = no_split();
  if (best.is_valid && divide(t, best.left, task.reverse, r.left, r.right) && gain_of(t, r.left, r.right, r.gain)) {
    r.is_valid = true;
    r.default_left = task.default_left;
    r.feature = task.feature;
    r.threshold = best.threshold;
    r.num_cat = num_cat;
  }
  store_record(out, r);
}

template <bool Cluster>
__global__ void __launch_bounds__(k_split_threads) best_split_tasks(split_arguments a) {
  SIMT_SHARED(scratch, split_scratch);
  const int64_t groups = gridDim.x / task_blocks<Cluster>();
  for (int64_t i = blockIdx.x / task_blocks<Cluster>(); i < a.num_leaves * a.num_tasks; i += groups) {
    const split_task task = a.tasks[i % a.num_tasks];
    const split_leaf leaf = a.leaves[i / a.num_tasks];
    const bool is_sorted = task.categorical && !task.one_hot;
    const split_terms terms(leaf, a.config, a.bin_count != nullptr, is_sorted);
    const task_bins bins(a.hist, a.bin_count, leaf, task);
    const auto choices = static_cast<uint32_t>(task.num_bin - 1);
    const uint32_t drawn = drawn_threshold(leaf.seed, task.feature, choices);
    split_candidate best = split_candidate::none();
    int32_t num_cat = 0;
    if (a.used == nullptr || a.used[i] != 0) {
      if (!task.categorical) {
        best = find_numerical<Cluster>(bins, task, terms, a.config.extra_trees, choices < 2 ? 0 : drawn, scratch);
      } else if (task.one_hot) {
        best = find_one_hot<Cluster>(bins, terms, a.config.extra_trees, drawn, scratch);
        num_cat = 1;
      } else {
        best = find_sorted<Cluster>(bins, task, terms, a.config, leaf.seed, a.categories + i * a.list,
                                    a.from_high_end + i * a.list, num_cat, scratch);
      }
    }
    best = find_winner<Cluster>(best, scratch);
    if (threadIdx.x != 0 || task_rank<Cluster>() != 0) continue;
    if (task.categorical && task.one_hot && best.is_valid) a.categories[i * a.list] = best.threshold;
    finish(task, terms, best, num_cat, a.records + i);
  }
}

constexpr int k_reduce_threads = 128;
constexpr int k_reduce_warps = k_reduce_threads / k_warp_size;

// A record in the order of the contract.
struct ranked_record {
  double gain;
  int64_t index;   // -1: none
  uint64_t place;  // right before left, then the threshold
  int32_t feature;

  __device__ static ranked_record none() { return {-INFINITY, -1, 0, 0}; }
  __device__ static ranked_record of(const split_record& r, int64_t index) {
    if (!r.is_valid || r.gain != r.gain) return none();
    return {r.gain, index, (r.default_left ? 0ull : 1ull << 32) | r.threshold, r.feature};
  }
  __device__ bool is_better_than(const ranked_record& o) const {
    if (index < 0 || o.index < 0) return index >= 0;
    if (gain != o.gain) return gain > o.gain;
    if (feature != o.feature) return feature < o.feature;
    if (place != o.place) return place < o.place;
    return index < o.index;
  }
};

// A block per leaf. Two barriers.
__global__ void __launch_bounds__(k_reduce_threads)
    split_reduce_records(const split_record* in, const uint32_t* cat_in, int64_t per_leaf, int64_t num_leaves,
                         int32_t list, split_record* out, uint32_t* cat_out) {
  SIMT_SHARED(of_warp, ranked_record[k_reduce_warps]);
  for (int64_t leaf = blockIdx.x; leaf < num_leaves; leaf += gridDim.x) {
    const split_record* const records = in + leaf * per_leaf;
    ranked_record best = ranked_record::none();
    for (int64_t i = threadIdx.x; i < per_leaf; i += k_reduce_threads) {
      const ranked_record r = ranked_record::of(records[i], i);
      if (r.is_better_than(best)) best = r;
    }
#pragma unroll
    for (int offset = k_warp_size / 2; offset > 0; offset /= 2) {
      const ranked_record other{
          __shfl_xor_sync(k_all_lanes, best.gain, offset), __shfl_xor_sync(k_all_lanes, best.index, offset),
          __shfl_xor_sync(k_all_lanes, best.place, offset), __shfl_xor_sync(k_all_lanes, best.feature, offset)};
      if (other.is_better_than(best)) best = other;
    }
    if (threadIdx.x % k_warp_size == 0) of_warp[threadIdx.x / k_warp_size] = best;
    __syncthreads();
    best = of_warp[0];
    for (int w = 1; w < k_reduce_warps; ++w)
      if (of_warp[w].is_better_than(best)) best = of_warp[w];
    const split_record winner = best.index < 0 ? no_split() : records[best.index];
    if (threadIdx.x == 0) store_record(out + leaf, winner);
    if (cat_out != nullptr)
      for (int32_t k = static_cast<int32_t>(threadIdx.x); k < list; k += k_reduce_threads)
        cat_out[leaf * list + k] =
            k < winner.num_cat ? cat_in[(leaf * per_leaf + best.index) * list + k] : k_no_threshold;
    __syncthreads();
  }
}
}  // namespace

std::vector<split_task> make_split_tasks(const feature_meta* features, int64_t num_features,
                                         const split_config& config) {
  check_config(config);
  check_rows(vector_of("features", features, alignof(feature_meta), num_features));
  std::vector<split_task> tasks;
  for (int64_t i = 0; i < num_features; ++i) {
    const feature_meta& f = features[i];
    const auto refuse = [i](const char* field, int64_t value, const std::string& what) {
      throw std::invalid_argument("features[" + std::to_string(i) + "]." + field + " is " + std::to_string(value) +
                                  ", must be " + what);
    };
    if (f.num_bin < 1 || f.num_bin > 65536) refuse("num_bin", f.num_bin, "in 1..65536");
    if (f.default_bin < 0 || f.default_bin >= f.num_bin)
      refuse("default_bin", f.default_bin, "in 0.." + std::to_string(f.num_bin - 1));
    if (f.hist_offset < 0) refuse("hist_offset", f.hist_offset, ">= 0");
    if (f.mfb_offset > 1) refuse("mfb_offset", f.mfb_offset, "0 or 1");
    if (f.missing > missing_kind::nan) refuse("missing", static_cast<int>(f.missing), "0 (none), 1 (zero) or 2 (nan)");
    split_task of_feature[2];
    tasks.insert(tasks.end(), of_feature, of_feature + tasks_of_feature(f, config, of_feature));
  }
  return tasks;
}

size_t best_split_workspace_bytes(int64_t num_tasks, int64_t num_leaves, const split_config& config) {
  return split_workspace_bytes(num_tasks, num_leaves, config);
}

double leaf_gain(double g, double h, const split_config& config) {
  return unsmoothed_gain(g, h, config.lambda_l1, config.lambda_l2);
}

void split_reduce(const split_record* in, const uint32_t* cat_in, int64_t per_leaf, int64_t num_leaves, int32_t max_cat,
                  split_record* out, uint32_t* cat_out, simt::stream_t stream) {
  const int64_t items = checked_product("per_leaf", per_leaf, checked_product("num_leaves", num_leaves, 1));
  check_not_negative("max_cat", max_cat);
  const int32_t list = list_length(max_cat);
  if ((cat_in == nullptr) != (cat_out == nullptr) && items > 0)
    throw std::invalid_argument(std::string(cat_in == nullptr ? "cat_in" : "cat_out") +
                                " is null, must be given where the other is");
  const row_block from = vector_of("in", in, sizeof(split_record), items);
  const row_block to = vector_of("out", out, sizeof(split_record), num_leaves);
  const row_block from_list = vector_of("cat_in", cat_in, sizeof(uint32_t), cat_in == nullptr ? 0 : items * list);
  const row_block to_list = vector_of("cat_out", cat_out, sizeof(uint32_t), cat_out == nullptr ? 0 : num_leaves * list);
  const auto records_aligned = [](row_block b) {
    b.element_bytes = alignof(split_record);
    check_rows(b);
  };
  records_aligned(from);
  records_aligned(to);
  check_rows(from_list);
  check_rows(to_list);
  check_disjoint(from, to);
  check_disjoint(from_list, to_list);
  if (num_leaves == 0) return;
  simt::launch({grid_size(num_leaves, stream), k_reduce_threads, 0, stream}, split_reduce_records, in, cat_in, per_leaf,
               num_leaves, list, out, cat_out);
}

namespace {

// Up to so many pairs of a leaf and a task leave multiprocessors idle that a cluster puts to use.
constexpr int64_t k_cluster_items = 16;

template <bool Cluster>
void launch_tasks(const split_arguments& a, simt::stream_t stream) {
  constexpr unsigned k_blocks = Cluster ? k_split_cluster : 1;
  simt::launch_config config{grid_size(a.num_leaves * a.num_tasks, stream) * k_blocks, k_split_threads, 0, stream};
  config.cluster = k_blocks;
  simt::launch(config, best_split_tasks<Cluster>, a);
}

}  // namespace

split_path best_split(const double* hist, const int64_t* bin_count, const split_task* tasks, int64_t num_tasks,
                      const split_leaf* leaves, int64_t num_leaves, const uint8_t* used, const split_config& config,
                      split_record* out, uint32_t* cat_bins, void* ws, size_t ws_bytes, simt::stream_t stream) {
  const size_t need = best_split_workspace_bytes(num_tasks, num_leaves, config);
  const int64_t items = num_tasks * num_leaves;
  const int32_t list = list_length(config.max_cat_threshold);
  check_rows(vector_of("tasks", tasks, alignof(split_task), num_leaves == 0 ? 0 : num_tasks));
  check_rows(vector_of("leaves", leaves, alignof(split_leaf), num_leaves));
  const row_block out_block =
      vector_of("out", out, alignof(split_record), num_leaves * (sizeof(split_record) / alignof(split_record)));
  const row_block cat_block =
      vector_of("cat_bins", cat_bins, sizeof(uint32_t), cat_bins == nullptr ? 0 : num_leaves * list);
  const row_block ws_block = vector_of("ws", ws, 16, static_cast<int64_t>(need / 16));
  check_rows(out_block);
  check_rows(cat_block);
  if (ws_bytes < need)
    throw std::invalid_argument("ws_bytes is " + std::to_string(ws_bytes) + ", must be at least " +
                                std::to_string(need));
  check_rows(ws_block);
  check_disjoint(out_block, cat_block);
  check_disjoint(out_block, ws_block);
  check_disjoint(cat_block, ws_block);
  if (num_leaves == 0) return config.path;
  auto* const records = static_cast<split_record*>(ws);
  auto* const categories = reinterpret_cast<uint32_t*>(records + items);
  split_path path = config.path;
  if (items > 0) {
    const bool has_clusters = simt::device_properties(stream).max_cluster >= k_split_cluster;
    if (path == split_path::automatic)
      path = has_clusters && items <= k_cluster_items ? split_path::cluster : split_path::block;
    const split_arguments a{hist,      bin_count,  tasks,   leaves,     used,
                            num_tasks, num_leaves, records, categories, categories + items * list,
                            list,      config};
    if (path == split_path::block)
      launch_tasks<false>(a, stream);
    else
      launch_tasks<true>(a, stream);
  }
  split_reduce(records, cat_bins == nullptr ? nullptr : categories, num_tasks, num_leaves, config.max_cat_threshold,
               out, cat_bins, stream);
  return path;
}

namespace {

constexpr uint32_t k_dtypes = WARPCHECK_F64;

// In the order of split_path, without `automatic`. The extent is the number of tasks of all leaves.
constexpr warpcheck_variant k_variants[] = {
    {"best_split_block", 1, -1, k_cluster_items + 1, -1, k_dtypes},
    {"best_split_cluster", 1, -1, 1, k_cluster_items, k_dtypes},
};
constexpr int k_num_variants = static_cast<int>(sizeof k_variants / sizeof k_variants[0]);
constexpr int64_t k_boundaries[] = {1, 2, 32, 64, 128, 256, 512, 1024, 4096, 65536};
constexpr int32_t k_num_boundaries = static_cast<int32_t>(sizeof k_boundaries / sizeof k_boundaries[0]);

void run_reduction(warpcheck_call* call, simt::stream_t stream) {
  const tensor_arguments tensors(call, 3, 3, 3);
  const int64_t per_leaf = whole_argument(call, "per_leaf");
  const int32_t max_cat = small_argument(call, "max_cat");
  const int32_t list = list_length(max_cat);
  const int64_t leaves = tensors.output_matrix(0, "value").rows;
  const record_tables out = output_tables(tensors, leaves, list);
  const int64_t count = checked_product("per_leaf", per_leaf, leaves);
  const matrix_view value = table<double>(tensors.input_matrix(0, "value"), "value", count, k_record_values);
  const matrix_view field = table<int64_t>(tensors.input_matrix(1, "field"), "field", count, k_record_fields);
  const matrix_view cat = tensors.input_matrix(2, "cat");
  if (cat.dtype != WARPCHECK_U32 || cat.rows != count || cat.cols != list)
    throw std::invalid_argument("cat must be u32 of " + std::to_string(count) + " x " + std::to_string(list));
  const simt::buffer<split_record> in(room_for(count), stream), best(room_for(leaves), stream);
  if (count > 0)
    simt::launch({door_grid(count, stream), k_door_threads, 0, stream}, unpack_records, value.data<double>(), value.ld,
                 field.data<int64_t>(), field.ld, count, in.data());
  split_reduce(in.data(), dense<uint32_t>(cat, "cat"), per_leaf, leaves, max_cat, best.data(), out.cat, stream);
  pack(best.data(), leaves, out, stream);
}

void run_split(warpcheck_call* call, simt::stream_t stream) {
  const int64_t items = call->num_inputs == 5 && call->inputs[2] != nullptr && call->inputs[4] != nullptr
                            ? 2 * call->inputs[2]->shape[0] * call->inputs[4]->shape[0]
                            : 0;
  const auto forced = static_cast<split_path>(find_variant(call, k_variants, k_num_variants, items) + 1);
  if (forced == split_path::cluster && simt::device_properties(stream).max_cluster < k_split_cluster)
    throw unsupported_call("variant best_split_cluster needs a device with clusters");
  split_path used = split_path::automatic;
  with_split_call(call, stream, forced, [&](const split_call& c) {
    used = best_split(c.hist, c.bin_count, c.tasks, c.num_tasks, c.leaves, c.num_leaves, c.used, c.config, c.out,
                      c.cat_bins, c.ws, c.ws_bytes, stream);
  });
  if (used != split_path::automatic) call->used_variant = k_variants[static_cast<int>(used) - 1].name;
}

warpcheck_status run_best_split(warpcheck_call* call) {
  return candidate_call(call, [&] {
    const auto stream = static_cast<simt::stream_t>(call->stream);
    if (call->num_inputs == 3)
      run_reduction(call, stream);
    else
      run_split(call, stream);
  });
}

constexpr warpcheck_operator k_operator = {"best_split",   k_candidate_device, k_dtypes,         k_variants,
                                           k_num_variants, k_boundaries,       k_num_boundaries, run_best_split};

}  // namespace
}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck

WARPCHECK_OPERATOR(best_split) { return &warpcheck::k_operator; }
