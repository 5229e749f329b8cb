// Best split: see the contract in best_split.hpp. A block takes some tasks of a leaf, and each of its warps takes one
// of up to 256 bins; or a cluster of blocks takes one task. Each unit writes a record to the workspace. Then the best
// record of each leaf is selected: after a barrier of the grid, because no counter in the workspace could be relied on,
// or in a second launch.
#include "kernels/best_split/best_split.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>

#include "kernels/best_split/abi_adapter.hpp"
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
  int64_t first_task, end_task;  // tasks of this launch
  int64_t unit_tasks;            // of a block; a cluster's unit is one task
  int64_t units;                 // of a leaf, of this launch
  int64_t first_record;          // index of this launch's first record among those of a leaf
  int64_t per_leaf;              // records
  bool reduces;                  // this launch selects the best record of each leaf
  split_record* records;         // [num_leaves][per_leaf]
  uint32_t* lists;               // [num_leaves][per_leaf][list], or null
  uint32_t* categories;          // [num_leaves][num_tasks][list]
  uint32_t* from_high_end;       // the same
  int32_t list;
  split_config config;
};

__device__ inline uint64_t place_of(bool default_left, uint32_t threshold) {
  return (default_left ? 0ull : 1ull << 32) | threshold;
}

// A record in the order of the contract.
struct ranked_record {
  double gain;
  int64_t index;   // -1: none
  uint64_t place;  // right before left, then the threshold
  int32_t feature;

  __device__ static ranked_record none() { return {-INFINITY, -1, 0, 0}; }
  __device__ static ranked_record of(const split_record& r, int64_t index) {
    if (!r.is_valid || r.gain != r.gain) return none();
    return {r.gain, index, place_of(r.default_left, r.threshold), r.feature};
  }
  __device__ bool is_better_than(const ranked_record& o) const {
    if (index < 0 || o.index < 0) return index >= 0;
    if (gain != o.gain) return gain > o.gain;
    if (feature != o.feature) return feature < o.feature;
    if (place != o.place) return place < o.place;
    return index < o.index;
  }
};

// The best candidate of a task.
struct selected_split {
  ranked_record rank;
  split_mass sums;
  int32_t num_cat;

  __device__ static selected_split none() { return {ranked_record::none(), {0, 0, 0}, 0}; }
  __device__ selected_split(const ranked_record& r, const split_mass& s, int32_t n) : rank(r), sums(s), num_cat(n) {}
  __device__ selected_split(const split_task& task, int64_t index, const split_candidate& c, int32_t n)
      : rank(c.is_valid() ? ranked_record{c.gain, index, place_of(task.default_left, c.threshold), task.feature}
                          : ranked_record::none()),
        sums(c.sums),
        num_cat(n) {}
};

template <split_compat Compat>
__device__ inline split_terms<Compat> terms_of(const split_arguments& a, const split_leaf& leaf,
                                               const split_task& task) {
  return {leaf, a.config, a.bin_count != nullptr, task.categorical && !task.one_hot};
}

// The best candidate of a task that is not for one warp; valid in the first warp of the team.
template <split_team Team, split_compat Compat>
__device__ inline selected_split find_task(const split_arguments& a, int64_t leaf_index, const split_leaf& leaf,
                                           int64_t index, warp_slots* slots, split_scratch& s) {
  const split_task task = a.tasks[index];
  const auto terms = terms_of<Compat>(a, leaf, task);
  const task_bins bins(a.hist, a.bin_count, leaf, task);
  const auto choices = static_cast<uint32_t>(task.num_bin - 1);
  const uint32_t drawn = drawn_threshold(leaf.seed, task.feature, choices);
  split_candidate best = split_candidate::none();
  int32_t num_cat = 0;
  if (!task.categorical) {
    best =
        find_numerical<Team>(bins, task, terms, a.config.extra_trees, choices < 2 ? 0 : drawn, slots[warp_index()], s);
  } else if (task.one_hot) {
    best = find_one_hot<Team>(bins, terms, a.config.extra_trees, drawn, s);
    num_cat = 1;
  } else {
    const int64_t item = leaf_index * a.num_tasks + index;
    best = find_sorted<Team>(bins, task, terms, a.config, leaf.seed, a.categories + item * a.list,
                             a.from_high_end + item * a.list, num_cat, s);
  }
  best = select_in_team<Team>(best, s);
  return {task, index, best, num_cat};
}

// Writes the record of a leaf's unit and its list. By one warp; `selected` is valid in lane 0.
template <split_compat Compat>
__device__ inline void store_unit(const split_arguments& a, int64_t leaf_index, const split_leaf& leaf,
                                  int64_t unit_of_leaf, const selected_split& selected) {
  const int64_t unit = leaf_index * a.per_leaf + a.first_record + unit_of_leaf;
  const int64_t index = __shfl_sync(k_all_lanes, selected.rank.index, 0);
  const int32_t num_cat = __shfl_sync(k_all_lanes, index < 0 ? 0 : selected.num_cat, 0);
  const auto threshold = static_cast<uint32_t>(__shfl_sync(k_all_lanes, selected.rank.place, 0));
  if (lane_index() == 0) {
    split_record r = no_split();
    if (index >= 0) {
      const split_task task = a.tasks[index];
      const split_scan scan = !task.categorical ? numerical_scan(task, Compat).kind()
                              : task.one_hot    ? split_scan::category
                                                : split_scan::categories;
      split_half left{}, right{};
      judge<true>(terms_of<Compat>(a, leaf, task), selected.sums, scan, left, right, r.gain);
      r.left = side_of(left);
      r.right = side_of(right);
      r.is_valid = true;
      r.default_left = task.default_left;
      r.feature = task.feature;
      r.threshold = threshold;
      r.num_cat = num_cat;
    }
    store_record(a.records + unit, r);
  }
  if (a.lists == nullptr) return;
  const bool one_hot = index >= 0 && a.tasks[index].one_hot;
  const uint32_t* const from = a.categories + (leaf_index * a.num_tasks + index) * a.list;
  for (int32_t k = lane_index(); k < a.list; k += k_warp_size)
    a.lists[unit * a.list + k] = k >= num_cat ? k_no_threshold : one_hot ? threshold : from[k];
}

struct block_scratch {
  warp_slots slots[k_split_warps];
  split_scratch team;
  ranked_record rank[k_split_warps];
  split_mass sums[k_split_warps];
  int32_t num_cat[k_split_warps];
  bool is_long[k_split_warps];
};

__device__ inline void store_selected(block_scratch& s, int w, const selected_split& selected) {
  s.rank[w] = selected.rank;
  s.sums[w] = selected.sums;
  s.num_cat[w] = selected.num_cat;
}

__device__ inline ranked_record warp_best(ranked_record best) {
#pragma unroll
  for (int offset = k_warp_size / 2; offset > 0; offset /= 2) {
    const ranked_record other{
        __shfl_xor_sync(k_all_lanes, best.gain, offset), __shfl_xor_sync(k_all_lanes, best.index, offset),
        __shfl_xor_sync(k_all_lanes, best.place, offset), __shfl_xor_sync(k_all_lanes, best.feature, offset)};
    if (other.is_better_than(best)) best = other;
  }
  return best;
}

// The places of the records of a leaf's units, and of the best of them.
struct record_lists {
  const split_record* in;  // [leaves][per_leaf]
  const uint32_t* cat_in;  // [leaves][per_leaf][list], or null
  int64_t per_leaf;
  int64_t num_leaves;
  int32_t list;
  split_record* out;  // [leaves]
  uint32_t* cat_out;  // [leaves][list], or null
};

// The best record of each leaf, a block per leaf. Two barriers each; `of_warp` has an element for each warp.
__device__ inline void reduce_leaves(const record_lists& r, ranked_record* of_warp) {
  const int warps = static_cast<int>(blockDim.x) / k_warp_size;
  for (int64_t leaf = blockIdx.x; leaf < r.num_leaves; leaf += gridDim.x) {
    const split_record* const records = r.in + leaf * r.per_leaf;
    ranked_record best = ranked_record::none();
    for (int64_t i = threadIdx.x; i < r.per_leaf; i += blockDim.x) {
      const ranked_record other = ranked_record::of(records[i], i);
      if (other.is_better_than(best)) best = other;
    }
    best = warp_best(best);
    if (lane_index() == 0) of_warp[warp_index()] = best;
    __syncthreads();
    best = warp_best(lane_index() < warps ? of_warp[lane_index()] : ranked_record::none());
    if (threadIdx.x == 0) {
      if (best.index < 0)
        store_record(r.out + leaf, no_split());
      else
        copy_record(r.out + leaf, records[best.index]);
    }
    if (r.cat_out != nullptr) {
      const int32_t num_cat = best.index < 0 ? 0 : records[best.index].num_cat;
      const uint32_t* const from = best.index < 0 ? r.cat_in : r.cat_in + (leaf * r.per_leaf + best.index) * r.list;
      for (int32_t k = static_cast<int32_t>(threadIdx.x); k < r.list; k += static_cast<int32_t>(blockDim.x))
        r.cat_out[leaf * r.list + k] = k < num_cat ? from[k] : k_no_threshold;
    }
    __syncthreads();
  }
}

__global__ void __launch_bounds__(k_split_threads) split_reduce_records(record_lists r) {
  SIMT_SHARED(of_warp, ranked_record[k_split_warps]);
  reduce_leaves(r, of_warp);
}

// Blocks of a multiprocessor, which bound the registers of a thread. With two, an H200 holds all of a leaf of 1000
// features at once.
constexpr int k_resident_blocks = 2;

// A warp takes a task of up to a tile of bins; the whole block takes each of the other tasks. If a leaf has several
// units, the best record is selected when all blocks have arrived (a cooperative launch).
template <split_compat Compat>
__global__ void __launch_bounds__(k_split_threads, k_resident_blocks)
    best_split_block(split_arguments a, split_record* out, uint32_t* cat_out) {
  SIMT_SHARED(s, block_scratch);
  for (int64_t unit = blockIdx.x; unit < a.num_leaves * a.units; unit += gridDim.x) {
    const int64_t leaf_index = unit / a.units, unit_of_leaf = unit % a.units;
    const int64_t first = a.first_task + unit_of_leaf * a.unit_tasks, index = first + warp_index();
    const split_leaf leaf = a.leaves[leaf_index];
    const bool is_mine = warp_index() < a.unit_tasks && index < a.end_task &&
                         (a.used == nullptr || a.used[leaf_index * a.num_tasks + index] != 0);
    selected_split selected = selected_split::none();
    bool is_long = false;
    if (is_mine) {
      const split_task task = a.tasks[index];
      is_long = task.categorical || task.num_bin > k_warp_tile;
      if (!is_long) {
        const auto terms = terms_of<Compat>(a, leaf, task);
        const task_bins bins(a.hist, a.bin_count, leaf, task);
        const auto choices = static_cast<uint32_t>(task.num_bin - 1);
        const uint32_t drawn = choices < 2 ? 0 : drawn_threshold(leaf.seed, task.feature, choices);
        const split_candidate best = find_numerical<split_team::warp>(bins, task, terms, a.config.extra_trees, drawn,
                                                                      s.slots[warp_index()], s.team);
        selected = {task, index, select_in_warp(best), 0};
      }
    }
    if (lane_index() == 0) {
      store_selected(s, warp_index(), selected);
      s.is_long[warp_index()] = is_long;
    }
    __syncthreads();
    for (int w = 0; w < k_split_warps; ++w) {
      if (!s.is_long[w]) continue;
      const selected_split found =
          find_task<split_team::block, Compat>(a, leaf_index, leaf, first + w, s.slots, s.team);
      if (threadIdx.x == 0) store_selected(s, w, found);
    }
    if (warp_index() == 0) {
      __syncwarp();
      const ranked_record best = warp_best(lane_index() < k_split_warps ? s.rank[lane_index()] : ranked_record::none());
      const int w = best.index < 0 ? 0 : static_cast<int>(best.index - first);
      store_unit<Compat>(a, leaf_index, leaf, unit_of_leaf, {best, s.sums[w], s.num_cat[w]});
    }
    __syncthreads();
  }
  if (!a.reduces) return;
  simt::grid_sync();
  reduce_leaves({a.records, a.lists, a.per_leaf, a.num_leaves, a.list, out, cat_out}, s.rank);
}

// A cluster takes a task; its first block alone takes a task of up to a tile of bins.
template <split_compat Compat>
__global__ void __launch_bounds__(k_split_threads) best_split_cluster(split_arguments a) {
  SIMT_SHARED(slots, warp_slots[k_split_warps]);
  SIMT_SHARED(scratch, split_scratch);
  const int64_t clusters = gridDim.x / simt::cluster_size();
  for (int64_t unit = blockIdx.x / simt::cluster_size(); unit < a.num_leaves * a.units; unit += clusters) {
    const int64_t leaf_index = unit / a.units, unit_of_leaf = unit % a.units, index = a.first_task + unit_of_leaf;
    const split_leaf leaf = a.leaves[leaf_index];
    selected_split selected = selected_split::none();
    if (a.used == nullptr || a.used[leaf_index * a.num_tasks + index] != 0) {
      if (a.tasks[index].num_bin > k_split_tile)
        selected = find_task<split_team::cluster, Compat>(a, leaf_index, leaf, index, slots, scratch);
      else if (simt::cluster_rank() == 0)
        selected = find_task<split_team::block, Compat>(a, leaf_index, leaf, index, slots, scratch);
    }
    if (warp_index() == 0 && simt::cluster_rank() == 0) {
      __syncwarp();
      store_unit<Compat>(a, leaf_index, leaf, unit_of_leaf, selected);
    }
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

double leaf_value(double g, double h, const split_config& config) {
  return 0.0 - soft_threshold(g, config.lambda_l1) / ((h + k_split_epsilon) + config.lambda_l2);
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
  simt::launch({grid_size(num_leaves, stream), k_split_threads, 0, stream}, split_reduce_records,
               record_lists{in, cat_in, per_leaf, num_leaves, list, out, cat_out});
}

split_knowledge long_tasks_last(std::vector<split_task>& tasks) {
  split_knowledge known;
  for (const split_task& t : tasks) known.most_bins = std::max(known.most_bins, t.num_bin);
  const auto is_short = [](const split_task& t) { return t.num_bin <= k_split_tile; };
  known.long_tasks = tasks.end() - std::stable_partition(tasks.begin(), tasks.end(), is_short);
  return known;
}

namespace {

// Up to this many pairs of a leaf and a task leave multiprocessors idle that clusters can use.
constexpr int64_t k_cluster_items = 32;

// Returns the fewest tasks that keep every multiprocessor busy, because a block takes long tasks one after another. If
// one block takes all tasks of a leaf and no other block must be waited for, returns all.
int64_t tasks_of_block(int64_t num_tasks, int64_t num_leaves, int64_t resident) {
  if (num_tasks <= k_split_warps) return k_split_warps;
  const int64_t each = ceil_div(num_tasks * num_leaves, resident);
  return each < k_split_warps ? each : k_split_warps;
}

split_path choose_path(const split_config& c, int64_t num_tasks, int64_t num_leaves, simt::stream_t stream) {
  if (c.path != split_path::automatic) return c.path;
  if (c.known.most_bins > 0 && c.known.most_bins <= k_warp_tile) return split_path::block;
  if (simt::device_properties(stream).max_cluster < k_split_cluster) return split_path::block;
  if (num_tasks * num_leaves <= k_cluster_items) return split_path::cluster;
  return c.known.long_tasks > 0 ? split_path::mixed : split_path::block;
}

// Blocks for the tasks of [a.first_task, a.end_task).
void launch_blocks(split_arguments a, split_record* out, uint32_t* cat_out, int64_t resident, simt::stream_t stream) {
  const int64_t blocks = a.num_leaves * a.units;
  simt::launch_config launch{grid_size(a.reduces && blocks > resident ? resident : blocks, stream), k_split_threads, 0,
                             stream};
  launch.cooperative = a.reduces;
  simt::launch(launch,
               a.config.compat == split_compat::strict ? best_split_block<split_compat::strict>
                                                       : best_split_block<split_compat::lightgbm_cuda>,
               a, out, cat_out);
}

// Launches a cluster for each of these tasks.
void launch_clusters(const split_arguments& a, simt::stream_t stream) {
  simt::launch_config launch{grid_size(a.num_leaves * a.units, stream) * k_split_cluster, k_split_threads, 0, stream};
  launch.cluster = k_split_cluster;
  simt::launch(launch,
               a.config.compat == split_compat::strict ? best_split_cluster<split_compat::strict>
                                                       : best_split_cluster<split_compat::lightgbm_cuda>,
               a);
}

// Throws if an array of the call is null, misaligned, or overlaps another one.
void check_arrays(const split_task* tasks, int64_t num_tasks, const split_leaf* leaves, int64_t num_leaves,
                  split_record* out, uint32_t* cat_bins, int32_t list, void* ws, size_t ws_bytes, size_t need) {
  check_rows(vector_of("tasks", tasks, alignof(split_task), num_leaves == 0 ? 0 : num_tasks));
  check_rows(vector_of("leaves", leaves, alignof(split_leaf), num_leaves));
  const row_block out_block =
      vector_of("out", out, alignof(split_record), num_leaves * (sizeof(split_record) / alignof(split_record)));
  const row_block cat_block =
      vector_of("cat_bins", cat_bins, sizeof(uint32_t), cat_bins == nullptr ? 0 : num_leaves * list);
  check_rows(out_block);
  check_rows(cat_block);
  const row_block ws_block = check_workspace(ws, ws_bytes, need, 16);
  check_disjoint(out_block, cat_block);
  check_disjoint(out_block, ws_block);
  check_disjoint(cat_block, ws_block);
}

}  // namespace

split_path best_split(const double* hist, const int64_t* bin_count, const split_task* tasks, int64_t num_tasks,
                      const split_leaf* leaves, int64_t num_leaves, const uint8_t* used, const split_config& config,
                      split_record* out, uint32_t* cat_bins, void* ws, size_t ws_bytes, simt::stream_t stream) {
  const size_t need = best_split_workspace_bytes(num_tasks, num_leaves, config);
  if (config.compat == split_compat::lightgbm_cuda && bin_count != nullptr)
    throw std::invalid_argument("bin_count is given, must be null where compat is lightgbm_cuda");
  const int64_t items = num_tasks * num_leaves;
  const int32_t list = list_length(config.max_cat_threshold);
  check_arrays(tasks, num_tasks, leaves, num_leaves, out, cat_bins, list, ws, ws_bytes, need);
  if (num_leaves == 0) return config.path;
  const split_path path = choose_path(config, num_tasks, num_leaves, stream);
  const int64_t by_clusters = path == split_path::cluster ? num_tasks
                              : path == split_path::mixed ? config.known.long_tasks
                                                          : 0;
  const int64_t by_blocks = num_tasks - by_clusters;
  const int64_t resident = int64_t{k_resident_blocks} * simt::device_properties(stream).sm_count;
  const int64_t unit_tasks = tasks_of_block(by_blocks, num_leaves, resident);
  const int64_t units = ceil_div(by_blocks, unit_tasks), per_leaf = units + by_clusters;
  if (per_leaf == 0) {
    split_reduce(nullptr, nullptr, 0, num_leaves, config.max_cat_threshold, out, cat_bins, stream);
    return path;
  }
  // If a leaf is one unit, its record is the result.
  const bool is_final = per_leaf == 1;
  auto* const records = static_cast<split_record*>(ws);
  auto* const lists = reinterpret_cast<uint32_t*>(records + num_leaves * per_leaf);
  uint32_t* const out_lists = cat_bins == nullptr ? nullptr : is_final ? cat_bins : lists;
  split_arguments a{hist,
                    bin_count,
                    tasks,
                    leaves,
                    used,
                    num_tasks,
                    num_leaves,
                    by_blocks,
                    num_tasks,
                    1,
                    by_clusters,
                    units,
                    per_leaf,
                    false,
                    is_final ? out : records,
                    out_lists,
                    lists + num_leaves * per_leaf * list,
                    lists + num_leaves * per_leaf * list + items * list,
                    list,
                    config};
  if (by_clusters > 0) launch_clusters(a, stream);
  if (units > 0) {
    a.first_task = a.first_record = 0;
    a.end_task = by_blocks;
    a.unit_tasks = unit_tasks;
    a.units = units;
    a.reduces = !is_final;
    launch_blocks(a, out, cat_bins, resident, stream);
  } else if (!is_final) {
    split_reduce(records, a.lists, per_leaf, num_leaves, config.max_cat_threshold, out, cat_bins, stream);
  }
  return path;
}

namespace {

constexpr uint32_t k_dtypes = WARPCHECK_F64;

// In the order of split_path, without `automatic`. The extent is the number of tasks of all leaves. The tasks are
// unknown here, so `mixed` only runs if it is forced.
constexpr warpcheck_variant k_variants[] = {
    row_variant("best_split_block", 1, -1, k_cluster_items + 1, -1, k_dtypes),
    row_variant("best_split_cluster", 1, -1, 1, k_cluster_items, k_dtypes),
    row_variant("best_split_mixed", 1, -1, 1, 0, k_dtypes),
};
constexpr int64_t k_boundaries[] = {1, 2, 32, 64, 128, 256, 512, 1024, 4096, 65536};

void run_reduction(const checked_call& call, simt::stream_t stream) {
  const auto max_cat = static_cast<int32_t>(call.scalar("max_cat"));
  const int32_t list = list_length(max_cat);
  const record_tables out = output_tables(call, list);
  const tensor_view &value = call.at("in_value"), &field = call.at("in_field"), &cat = call.at("in_cat");
  expect_size(cat, cat.cols, list);
  const int64_t count = value.rows, leaves = call.at("value").rows;
  const simt::buffer<split_record> in(room_for(count), stream), best(room_for(leaves), stream);
  if (count > 0)
    simt::launch({adapter_grid(count, stream), k_adapter_threads, 0, stream}, unpack_records, value.as<double>(),
                 value.ld, field.as<int64_t>(), field.ld, count, in.data());
  split_reduce(in.data(), dense<uint32_t>(cat), static_cast<int64_t>(call.scalar("per_leaf")), leaves, max_cat,
               best.data(), out.cat, stream);
  pack(best.data(), leaves, out, stream);
}

bool is_reduction(const checked_call& call) { return call.form->name == "reduction"; }

const char* run_split(const checked_call& checked, const warpcheck_call* call, simt::stream_t stream) {
  const int64_t items = 2 * checked.at("feature").rows * checked.at("leaf").rows;
  const auto forced = static_cast<split_path>(find_variant(call, k_variants, items) + 1);
  if (forced >= split_path::cluster && simt::device_properties(stream).max_cluster < k_split_cluster)
    throw unsupported_call("variant " + std::string(call->variant) + " needs a device with clusters");
  split_path used = split_path::automatic;
  with_split_call(checked, stream, forced, [&](const split_call& c) {
    used = best_split(c.hist, c.bin_count, c.tasks, c.num_tasks, c.leaves, c.num_leaves, c.used, c.config, c.out,
                      c.cat_bins, c.ws, c.ws_bytes, stream);
  });
  return used == split_path::automatic ? nullptr : k_variants[static_cast<int>(used) - 1].name;
}

warpcheck_status run_best_split(warpcheck_call* call) {
  return candidate_call(call, [&] {
    const auto stream = static_cast<simt::stream_t>(call->stream);
    const checked_call checked = check_best_split(*call);
    if (is_reduction(checked))
      run_reduction(checked, stream);
    else
      call->used_variant = run_split(checked, call, stream);
  });
}

const char* pick_best_split(const warpcheck_call* call) {
  return candidate_pick(call, k_variants, [&](simt::stream_t stream) {
    const checked_call checked = check_best_split(*call);
    if (is_reduction(checked) || checked.at("leaf").rows == 0) return split_path::automatic;
    return choose_path(split_config(), 2 * checked.at("feature").rows, checked.at("leaf").rows, stream);
  });
}

constexpr const char* k_extents[] = {"tasks"};
constexpr warpcheck_operator k_operator =
    own_operator("best_split", k_dtypes, k_variants, k_boundaries, run_best_split, pick_best_split, k_extents);

}  // namespace
}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck

WARPCHECK_OPERATOR(best_split) { return &warpcheck::k_operator; }
