// The published scheme of a numerical split kernel: one block of 256 threads, a bin per thread, shuffle reductions over
// a scratch of 32 entries. Variant `repaired` is right for up to 256 bins; each other variant has one of the published
// flaws.

#include "kernels/best_split/abi_adapter.hpp"
#include "kernels/best_split/gain.hpp"
#include "kernels/primitives/reduce.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {
namespace {

enum flaw : int {
  repaired,
  shared_scratch,      // N1
  bins_257,            // N2
  unwritten_draw,      // N3
  shifted_draw,        // N4
  unordered_argmax,    // N5
  doubled_epsilon,     // N6
  gate_with_epsilon,   // N7
  nan_is_zero,         // N8
  unsigned_wrap,       // N9
  stale_record,        // N10
  partial_warp,        // N11
  zero_without_bin_0,  // N12
  no_stride,           // N13
  unchecked_leaf,      // N14
  epsilon_for_l2,      // N15
  missing_is_bin_0,    // N16
};
constexpr warpcheck_variant k_variants[] = {
    row_variant("repaired", 1, -1, 1, -1, WARPCHECK_F64),
    row_variant("shared_scratch", 1, -1, 1, 0, WARPCHECK_F64),
    row_variant("bins_257", 1, -1, 1, 0, WARPCHECK_F64),
    row_variant("unwritten_draw", 1, -1, 1, 0, WARPCHECK_F64),
    row_variant("shifted_draw", 1, -1, 1, 0, WARPCHECK_F64),
    row_variant("unordered_argmax", 1, -1, 1, 0, WARPCHECK_F64),
    row_variant("doubled_epsilon", 1, -1, 1, 0, WARPCHECK_F64),
    row_variant("gate_with_epsilon", 1, -1, 1, 0, WARPCHECK_F64),
    row_variant("nan_is_zero", 1, -1, 1, 0, WARPCHECK_F64),
    row_variant("unsigned_wrap", 1, -1, 1, 0, WARPCHECK_F64),
    row_variant("stale_record", 1, -1, 1, 0, WARPCHECK_F64),
    row_variant("partial_warp", 1, -1, 1, 0, WARPCHECK_F64),
    row_variant("zero_without_bin_0", 1, -1, 1, 0, WARPCHECK_F64),
    row_variant("no_stride", 1, -1, 1, 0, WARPCHECK_F64),
    row_variant("unchecked_leaf", 1, -1, 1, 0, WARPCHECK_F64),
    row_variant("epsilon_for_l2", 1, -1, 1, 0, WARPCHECK_F64),
    row_variant("missing_is_bin_0", 1, -1, 1, 0, WARPCHECK_F64),
};

constexpr int k_threads = 256;
constexpr int k_entries = 32;

struct scratch_entries {
  double g[k_entries], h[k_entries], n[k_entries];
};

using strict_terms = split_terms<split_compat::strict>;

struct walk_arguments {
  const double* hist;
  const int64_t* bin_count;
  const split_task* tasks;
  const split_leaf* leaves;
  const uint8_t* used;
  int64_t num_tasks;
  split_record* records;
  split_config config;
  int kind;
};

__device__ inline split_mass shuffled_down(const split_mass& m, int offset) {
  return {__shfl_down_sync(k_all_lanes, m.g, offset), __shfl_down_sync(k_all_lanes, m.h, offset),
          __shfl_down_sync(k_all_lanes, m.n, offset)};
}
__device__ inline split_mass shuffled_up(const split_mass& m, int offset) {
  return {__shfl_up_sync(k_all_lanes, m.g, offset), __shfl_up_sync(k_all_lanes, m.h, offset),
          __shfl_up_sync(k_all_lanes, m.n, offset)};
}
__device__ inline split_mass joined(const split_mass& a, const split_mass& b) {
  return {a.g + b.g, a.h + b.h, a.n + b.n};
}
__device__ inline void put(scratch_entries& s, int i, const split_mass& m) { s.g[i] = m.g, s.h[i] = m.h, s.n[i] = m.n; }
__device__ inline split_mass entry(const scratch_entries& s, int i) { return {s.g[i], s.h[i], s.n[i]}; }

// The sum of all threads, read by every one of them.
__device__ split_mass block_sum(split_mass m, scratch_entries& s, int warps) {
  for (int offset = k_warp_size / 2; offset > 0; offset /= 2) m = joined(m, shuffled_down(m, offset));
  if (threadIdx.x % k_warp_size == 0) put(s, static_cast<int>(threadIdx.x) / k_warp_size, m);
  __syncthreads();
  split_mass total{0, 0, 0};
  for (int w = 0; w < warps; ++w) total = joined(total, entry(s, w));  // @read
  return total;
}

__device__ split_mass inclusive_scan(split_mass m, scratch_entries& s) {
  const int lane = static_cast<int>(threadIdx.x) % k_warp_size;
  const int warp = static_cast<int>(threadIdx.x) / k_warp_size;
  for (int offset = 1; offset < k_warp_size; offset *= 2) {
    const split_mass other = shuffled_up(m, offset);
    if (lane >= offset) m = joined(other, m);
  }
  if (lane == k_warp_size - 1) put(s, warp, m);  // @write
  __syncthreads();
  for (int w = warp - 1; w >= 0; --w) m = joined(entry(s, w), m);
  return m;
}

// A candidate by the rules of the flaw; `r` gets its gain and both sides.
__device__ bool judge_flawed(const walk_arguments& a, const strict_terms& t, const split_mass& scanned, split_scan scan,
                             split_record& r) {
  strict_terms used = t;
  split_mass sums = scanned;
  if (a.kind == nan_is_zero) {
    // fmax(0, NaN) is 0.
    used.sum_g = t.sum_g != t.sum_g ? 0.0 : t.sum_g;
    sums.g = sums.g != sums.g ? 0.0 : sums.g;
  }
  if (a.kind == epsilon_for_l2) used.l2 = k_split_epsilon;
  split_half left{}, right{};
  if (a.kind == gate_with_epsilon && !t.exact_counts) {
    divide(used, sums, scan, left, right);
    const split_half& counted = scan == split_scan::right ? right : left;
    const double rows = rint((counted.h + 4 * k_split_epsilon) * t.rows_per_hessian);
    if (rows < t.least_rows || t.total_rows - counted.rows < t.least_rows) return false;
    used.least_rows = 0;  // that was the gate
  }
  if (!judge<true>(used, sums, scan, left, right, r.gain)) return false;
  r.left = side_of(left);
  r.right = side_of(right);
  if (a.kind == doubled_epsilon) r.right.sum_h = (t.sum_h + 2 * k_split_epsilon) - (r.left.sum_h + k_split_epsilon);
  return true;
}

// The bins of one feature; threads are bins, of the reverse scan from the last one down.
struct walked_bins {
  const walk_arguments& a;
  const split_task& task;
  int64_t base;
  int bin;
  bool exists;

  __device__ walked_bins(const walk_arguments& arguments, const split_task& of, const split_leaf& leaf)
      : a(arguments), task(of), base(leaf.hist_base + of.hist_offset) {
    const int t = static_cast<int>(threadIdx.x);
    const int top = task.num_bin < k_threads || a.kind != no_stride ? task.num_bin : k_threads;
    bin = task.reverse ? top - 1 - t : t;
    exists = a.used[blockIdx.x] != 0 && t < top && t < k_threads && bin < task.num_bin;
  }
  __device__ split_mass stored() const {
    if (!exists || bin < task.mfb_offset) return {0, 0, 0};
    const int64_t i = base + bin - task.mfb_offset;
    return {a.hist[2 * i], a.hist[2 * i + 1], a.bin_count == nullptr ? 0 : static_cast<double>(a.bin_count[i])};
  }
  // True if the scan has the bin; none of it where missing values go the other way.
  __device__ bool takes_part() const {
    const int missing = task.na_as_missing ? (a.kind == missing_is_bin_0 && task.mfb_offset > 0 ? 0 : task.num_bin - 1)
                        : task.skip_default_bin ? task.default_bin
                                                : -1;
    if (!exists || bin == missing) return false;
    const bool wraps = a.kind == unsigned_wrap && task.num_bin <= 2;
    return wraps || (task.reverse ? bin >= 1 : bin <= task.num_bin - 2);
  }
  __device__ bool loses_zero() const {
    return a.kind == zero_without_bin_0 && task.skip_default_bin && !task.reverse && task.mfb_offset > 0 && bin == 0;
  }
};

// True if the threshold is the drawn one, of those that are drawn among; `shared_draw` is a number of the block.
__device__ bool is_drawn(const walk_arguments& a, const split_task& task, const split_leaf& leaf, uint32_t threshold,
                         uint32_t& shared_draw) {
  const auto choices = static_cast<uint32_t>(task.num_bin - 1);
  const bool is_shifted = a.kind == shifted_draw && task.na_as_missing && !task.reverse && task.mfb_offset > 0;
  if (threadIdx.x == 0 && (a.kind != unwritten_draw || task.num_bin > 2))
    shared_draw = task.num_bin <= 2 ? 0 : drawn_threshold(leaf.seed, task.feature, is_shifted ? choices - 1 : choices);
  __syncthreads();
  return !a.config.extra_trees || threshold + (is_shifted ? 1 : 0) == shared_draw;
}

// Leaves the best of the block in the first entries.
__device__ void reduce_gains(double* best_gain, uint32_t* best_threshold, int kind) {
  const int t = static_cast<int>(threadIdx.x);
  for (int half = k_threads / 2; half > 0; half /= 2) {
    if (t < half) {
      const double other = best_gain[t + half];
      const bool ties = other == best_gain[t] && best_threshold[t + half] < best_threshold[t];
      // Without an order the partner that happens to come first stays.
      if (other > best_gain[t] || (ties && kind != unordered_argmax)) {
        best_gain[t] = other;
        best_threshold[t] = best_threshold[t + half];
      }
    }
    __syncthreads();
  }
}

__global__ void __launch_bounds__(k_threads) walkthrough(walk_arguments a) {
  SIMT_SHARED(first, scratch_entries);
  SIMT_SHARED(second, scratch_entries);
  SIMT_SHARED(best_gain, double[k_threads]);
  SIMT_SHARED(best_threshold, uint32_t[k_threads]);
  SIMT_SHARED(bad, int);
  SIMT_SHARED(shared_draw, uint32_t);
  const int t = static_cast<int>(threadIdx.x);
  const split_task task = a.tasks[blockIdx.x % a.num_tasks];
  const split_leaf leaf = a.leaves[blockIdx.x / a.num_tasks];
  split_record* const out = a.records + blockIdx.x;
  strict_terms terms(leaf, a.config, a.bin_count != nullptr, false);
  if (a.kind == unchecked_leaf || a.kind == nan_is_zero) terms.is_open = true;
  const walked_bins bins(a, task, leaf);
  split_mass own = bins.stored();
  if (t == 0) bad = 0;
  __syncthreads();
  if (!(std::isfinite(own.g) && std::isfinite(own.h)) && a.kind != nan_is_zero) atomicOr(&bad, 1);
  const int warps = a.kind == partial_warp ? task.num_bin / k_warp_size : k_threads / k_warp_size;
  const split_mass stored = block_sum(own, first, warps);
  if (a.kind != shared_scratch) __syncthreads();
  const split_mass unstored{terms.sum_g - stored.g, terms.sum_h - stored.h, terms.total_rows - stored.n};
  if (bins.exists && bins.bin < task.mfb_offset) own = unstored;
  if (bins.loses_zero() || !bins.takes_part()) own = {0, 0, 0};
  const split_mass scanned = inclusive_scan(own, a.kind == shared_scratch ? first : second);
  const auto threshold = static_cast<uint32_t>(task.reverse ? bins.bin - 1 : bins.bin);
  const bool is_tried = is_drawn(a, task, leaf, threshold, shared_draw) && bins.takes_part();

  split_record mine = no_split();
  bool is_candidate = is_tried && terms.is_open && bad == 0;
  if (is_candidate)
    is_candidate = judge_flawed(a, terms, scanned, task.reverse ? split_scan::right : split_scan::left, mine);
  best_gain[t] = is_candidate ? mine.gain : -INFINITY;
  best_threshold[t] = is_candidate ? threshold : k_no_threshold;
  __syncthreads();
  reduce_gains(best_gain, best_threshold, a.kind);
  const bool found = best_gain[0] > -INFINITY;
  if (!found && t == 0) {
    if (a.kind == stale_record)
      out->is_valid = false;
    else
      store_record(out, no_split());
  }
  if (found && is_candidate && best_threshold[0] == threshold) {
    mine.is_valid = true;
    mine.default_left = task.default_left;
    mine.feature = task.feature;
    mine.threshold = threshold;
    store_record(out, mine);
  }
}

// The best of the leaf, one after the other. A stale record is handed on as it is.
__global__ void pick_best(const split_record* records, int64_t num_tasks, split_record* out, int kind) {
  const split_record* const in = records + blockIdx.x * num_tasks;
  split_record best = no_split();
  for (int64_t i = 0; i < num_tasks; ++i) {
    const split_record& r = in[i];
    if (!r.is_valid) continue;
    const bool is_first = r.gain != best.gain                   ? r.gain > best.gain
                          : r.feature != best.feature           ? r.feature < best.feature
                          : r.default_left != best.default_left ? r.default_left
                                                                : r.threshold < best.threshold;
    if (!best.is_valid || is_first) best = r;
  }
  if (kind == stale_record && !best.is_valid)
    out[blockIdx.x] = in[0];
  else
    store_record(out + blockIdx.x, best);
}

warpcheck_status run(warpcheck_call* call) {
  return candidate_call(call, [&] {
    const checked_call checked = check_best_split(*call);
    if (checked.form->name != "split") throw unsupported_call("only whole splits are offered");
    const int variant = find_variant(call, k_variants, 1);
    const auto stream = static_cast<simt::stream_t>(call->stream);
    with_split_call(checked, stream, split_path::block, [&](const split_call& c) {
      const int64_t items = c.num_tasks * c.num_leaves;
      auto* const records = static_cast<split_record*>(c.ws);
      const walk_arguments a{
          c.hist, c.bin_count, c.tasks, c.leaves, c.used, c.num_tasks, records, c.config, variant < 0 ? 0 : variant};
      if (items > 0) simt::launch({static_cast<unsigned>(items), k_threads, 0, stream}, walkthrough, a);
      if (c.num_leaves > 0)
        simt::launch({static_cast<unsigned>(c.num_leaves), 1, 0, stream}, pick_best, records, c.num_tasks, c.out,
                     a.kind);
      simt::memset_async(c.cat_bins, 0xff,
                         static_cast<size_t>(c.num_leaves) *
                             static_cast<size_t>(list_length(c.config.max_cat_threshold)) * sizeof(uint32_t),
                         stream);
    });
  });
}

}  // namespace
}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck

WARPCHECK_OPERATOR(best_split) {
  static constexpr warpcheck_operator table =
      warpcheck::operator_of_rows("best_split", warpcheck::k_candidate_device, WARPCHECK_F64, warpcheck::run,
                                  warpcheck::k_variants, std::size(warpcheck::k_variants));
  return &table;
}
