// Histograms: see the contract in histogram.hpp. Cost: bins are read once, g and h once per group of columns. A row
// makes four 32-bit atomics per bin in shared memory (fixed64), two (quantised), or two atomics of a float (float
// modes).
#include "kernels/histogram/histogram.hpp"

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "kernels/candidate_support.hpp"
#include "kernels/histogram/after.hpp"
#include "kernels/histogram/arguments.hpp"
#include "kernels/histogram/bytes.hpp"
#include "kernels/histogram/contract.hpp"
#include "kernels/histogram/rows.hpp"
#include "kernels/histogram/totals.hpp"
#include "kernels/histogram/updates.hpp"
#include "kernels/primitives/grid.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {
namespace {

// ---- workspace ----

constexpr int64_t poison_words(int64_t total_bins) { return (total_bins + k_poison_slots - 1) / k_poison_slots; }

column_groups groups_in(void* ws, int64_t total_bins, int64_t num_cols) {
  int* const begin = static_cast<int*>(ws) + poison_words(total_bins);
  return {begin, begin + 1, begin + 2 + num_cols};
}

// ---- launches ----

// Bytes of a tile: half a multiprocessor's shared memory, minus a block's other data.
size_t tile_bytes(simt::stream_t stream) {
  constexpr size_t k_reserved = 1024;  // of a block, by the system
  constexpr size_t k_table = k_group_columns * sizeof(group_column);
  const size_t half = (simt::device_properties(stream).shared_per_block_optin + k_reserved) / 2;
  return (half - k_reserved - k_table) / 128 * 128;
}

template <class Updates>
int tile_capacity(simt::stream_t stream) {
  return static_cast<int>(tile_bytes(stream) / (Updates::k_limbs * sizeof(typename Updates::word)));
}

// As many items as blocks that fit on the device at once, or a multiple if a tile cannot take that many rows: each item
// ends with handing over its tile.
template <class RowId>
leaf_rows<RowId> cut_rows(const RowId* list, int64_t n_leaf, int64_t most, int64_t parts, int64_t blocks) {
  constexpr int64_t k_step = 512;
  const int64_t wanted = std::max<int64_t>(1, blocks / std::max<int64_t>(1, parts));
  const int64_t rounds = ceil_div(ceil_div(n_leaf, wanted), most);
  const int64_t per_item = std::min(most, ceil_div(ceil_div(n_leaf, wanted * rounds), k_step) * k_step);
  return {list, n_leaf, per_item, ceil_div(n_leaf, per_item)};
}

template <class F>
void with_bin_type(bin_type type, F&& f) {
  switch (type) {
    case bin_type::u8: return f(type_tag<uint8_t>());
    case bin_type::u16: return f(type_tag<uint16_t>());
    case bin_type::u32: return f(type_tag<uint32_t>());
  }
}

// No tile is used if handing it over takes more work than the leaf has updates.
template <class Updates>
hist_place choose_place(const dense_bins& d, int64_t n_leaf, int64_t total_bins, simt::stream_t) {
  return n_leaf >= ceil_div(total_bins, std::max<int64_t>(1, d.num_cols)) ? hist_place::shared : hist_place::global;
}

// Every range of slots costs another pass over the rows.
template <class Updates>
hist_place choose_place(const csr_bins&, int64_t, int64_t total_bins, simt::stream_t stream) {
  return total_bins <= tile_capacity<Updates>(stream) ? hist_place::shared : hist_place::global;
}

void prepare(void* sums, int64_t total_bins, int64_t num_poison_words, const dense_bins* dense, int64_t tile_slots,
             void* ws, simt::stream_t stream) {
  const int64_t num_cols = dense == nullptr ? 0 : dense->num_cols;
  const int64_t blocks = std::max<int64_t>(1, ceil_div(2 * total_bins, k_prepare_threads));
  simt::launch({grid_size(blocks, stream), k_prepare_threads, 0, stream}, prepare_histogram,
               static_cast<unsigned long long*>(sums), 2 * total_bins, static_cast<unsigned*>(ws), num_poison_words,
               dense == nullptr ? nullptr : dense->cols, num_cols, tile_slots, groups_in(ws, total_bins, num_cols));
}

template <class Updates, class RowId>
void add_bytes(const Updates& updates, const dense_bins& d, const RowId* list, int64_t n_leaf, simt::stream_t stream) {
  const auto* const bins = static_cast<const uint8_t*>(d.bins);
  const bool aligned = d.num_cols % 4 == 0 && d.row_stride % 4 == 0 && reinterpret_cast<uintptr_t>(bins) % 4 == 0;
  const int64_t words = ceil_div(d.num_cols, 4), count = ceil_div(words, k_banks / 4);
  const byte_groups groups{d.num_cols, count, static_cast<int>(ceil_div(words, count)), aligned};
  const int64_t blocks = simt::device_properties(stream).sm_count;
  const leaf_rows<RowId> rows = cut_rows(list, n_leaf, updates.most_rows(), count, blocks);
  const int64_t rows_of_warp = 4 * (k_banks / 4 / groups.words);
  const int64_t warps = std::clamp<int64_t>(ceil_div(rows.per_item, rows_of_warp), 4, k_byte_threads / k_warp_size);
  const simt::launch_config config{static_cast<unsigned>(std::min(blocks, count * rows.items)),
                                   static_cast<unsigned>(warps * k_warp_size),
                                   static_cast<size_t>(k_byte_bank_tiles<Updates>) * k_bank_tile_bytes, stream};
  const dense_view<uint8_t> view{bins, d.row_stride, d.cols};
  if (list == nullptr)
    simt::launch(config, histogram_bytes<Updates, int32_t, false>, updates, view, groups,
                 leaf_rows<int32_t>{nullptr, rows.count, rows.per_item, rows.items});
  else
    simt::launch(config, histogram_bytes<Updates, RowId, true>, updates, view, groups, rows);
}

template <class Updates, class RowId>
void add_rows(const Updates& updates, const dense_bins& d, const RowId* list, int64_t n_leaf, int64_t total_bins,
              bool shared, int64_t num_poison_words, void* ws, simt::stream_t stream) {
  if (shared && d.type == bin_type::u8 && updates.in_bytes()) {
    prepare(updates.sums, total_bins, num_poison_words, nullptr, 0, ws, stream);
    if (n_leaf > 0 && d.num_cols > 0) add_bytes(updates, d, list, n_leaf, stream);
    return;
  }
  const int64_t capacity = shared ? std::min<int64_t>(tile_capacity<Updates>(stream), total_bins) : 0;
  // A column without slots needs no tile, but counts as one that fits.
  prepare(updates.sums, total_bins, num_poison_words, &d, shared ? capacity : -1, ws, stream);
  if (n_leaf == 0 || d.num_cols == 0) return;
  const int64_t blocks = 2 * static_cast<int64_t>(simt::device_properties(stream).sm_count);
  const int64_t groups =
      std::max(ceil_div(d.num_cols, k_group_columns), ceil_div(total_bins, std::max<int64_t>(1, capacity)));
  const leaf_rows<RowId> rows = cut_rows(list, n_leaf, updates.most_rows(), shared ? groups : 1, blocks);
  const size_t bytes = static_cast<size_t>(capacity) * Updates::k_limbs * sizeof(typename Updates::word);
  with_bin_type(d.type, [&](auto type) {
    using Bin = typename decltype(type)::type;
    simt::launch({static_cast<unsigned>(std::min(blocks, d.num_cols * rows.items)), k_histogram_threads, bytes, stream},
                 histogram_dense<Updates, Bin, RowId>, updates,
                 dense_view<Bin>{static_cast<const Bin*>(d.bins), d.row_stride, d.cols},
                 groups_in(ws, total_bins, d.num_cols), rows);
  });
}

template <class Updates, class RowId>
void add_rows(const Updates& updates, const csr_bins& d, const RowId* list, int64_t n_leaf, int64_t total_bins,
              bool shared, int64_t num_poison_words, void* ws, simt::stream_t stream) {
  prepare(updates.sums, total_bins, num_poison_words, nullptr, 0, ws, stream);
  if (n_leaf == 0 || total_bins == 0) return;
  const int64_t tile_slots = shared ? std::min<int64_t>(tile_capacity<Updates>(stream), total_bins) : 0;
  const int64_t ranges = shared ? ceil_div(total_bins, tile_slots) : 1;
  const int64_t blocks = 2 * static_cast<int64_t>(simt::device_properties(stream).sm_count);
  const leaf_rows<RowId> rows = cut_rows(list, n_leaf, updates.most_rows(), ranges, blocks);
  const size_t bytes = static_cast<size_t>(tile_slots) * Updates::k_limbs * sizeof(typename Updates::word);
  with_bin_type(d.type, [&](auto type) {
    using Slot = typename decltype(type)::type;
    simt::launch({static_cast<unsigned>(std::min(blocks, ranges * rows.items)), k_histogram_threads, bytes, stream},
                 histogram_csr<Updates, Slot, RowId>, updates,
                 csr_view<Slot>{d.row_ptr, static_cast<const Slot*>(d.slots)}, total_bins, static_cast<int>(tile_slots),
                 ranges, rows);
  });
}

template <class Updates, class Bins, class RowId>
hist_place run_updates(const Updates& updates, const Bins& bins, const RowId* rows, int64_t n_leaf, int64_t total_bins,
                       hist_place place, int64_t num_poison_words, void* ws, simt::stream_t stream) {
  if (place == hist_place::automatic) place = choose_place<Updates>(bins, n_leaf, total_bins, stream);
  if (total_bins > 0)
    add_rows(updates, bins, rows, n_leaf, total_bins, place == hist_place::shared, num_poison_words, ws, stream);
  return place;
}

}  // namespace

size_t histogram_workspace_bytes(const dense_bins& bins, int64_t total_bins) {
  const int64_t words = poison_words(std::max<int64_t>(0, total_bins)) + 2 + 2 * std::max<int64_t>(0, bins.num_cols);
  return static_cast<size_t>(words) * sizeof(int);
}

size_t histogram_workspace_bytes(const csr_bins&, int64_t total_bins) {
  return static_cast<size_t>(poison_words(std::max<int64_t>(0, total_bins)) + 2) * sizeof(int);
}

void histogram_scale(const float* g, const float* h, int64_t num_rows, int64_t max_rows, fixed_scale* out,
                     simt::stream_t stream) {
  if (max_rows < 0) throw std::invalid_argument("max_rows is " + std::to_string(max_rows) + ", must be >= 0");
  const row_block scale = checked_array("scale", out, 8, sizeof(fixed_scale) / 8, "scale");
  check_gradients(g, h, num_rows, scale);
  simt::memset_async(out, 0, sizeof(fixed_scale), stream);
  if (num_rows > 0)
    simt::launch(
        {grid_size(std::min<int64_t>(ceil_div(num_rows, k_totals_threads), 4096), stream), k_totals_threads, 0, stream},
        find_scale, g, h, num_rows, out);
  simt::launch({1, k_warp_size, 0, stream}, finish_scale, out, max_rows);
}

template <class Bins, class RowId>
hist_place histogram(const Bins& bins, const RowId* rows, int64_t n_leaf, const float* g, const float* h,
                     const fixed_scale* scale, int64_t max_rows, double* hist, int64_t total_bins,
                     const hist_options& options, void* ws, size_t ws_bytes, simt::stream_t stream) {
  const row_block output = checked_slots("hist", hist, total_bins);
  check_inputs(bins, output);
  check_list(rows, n_leaf, bins.num_rows, output);
  check_gradients(g, h, bins.num_rows, output);
  check_place(options.place);
  check_disjoint(check_workspace(ws, ws_bytes, histogram_workspace_bytes(bins, total_bins), sizeof(int)), output);
  switch (options.accum) {
    case hist_accum::fixed64: {
      check_disjoint(checked_array("scale", scale, 8, sizeof(fixed_scale) / 8, "scale"), output);
      if (max_rows < n_leaf)
        throw std::invalid_argument("n_leaf is " + std::to_string(n_leaf) +
                                    ", must be at most max_rows = " + std::to_string(max_rows));
      unsigned* const poison = static_cast<unsigned*>(ws);
      const fixed64_updates updates{
          g, h, scale, reinterpret_cast<unsigned long long*>(hist), poison, fixed64_updates::low_bits_for(max_rows)};
      const hist_place used =
          run_updates(updates, bins, rows, n_leaf, total_bins, options.place, poison_words(total_bins), ws, stream);
      if (total_bins > 0)
        simt::launch({grid_size(ceil_div(2 * total_bins, k_prepare_threads), stream), k_prepare_threads, 0, stream},
                     finish_fixed64, hist, total_bins, poison, scale);
      return used;
    }
    case hist_accum::float32:
      return run_updates(float_updates<float>{g, h, hist}, bins, rows, n_leaf, total_bins, options.place, 0, ws,
                         stream);
    case hist_accum::float64:
      return run_updates(float_updates<double>{g, h, hist}, bins, rows, n_leaf, total_bins, options.place, 0, ws,
                         stream);
  }
  throw std::invalid_argument("accum is " + std::to_string(static_cast<int>(options.accum)) +
                              ", must be 0 (fixed64), 1 (float32) or 2 (float64)");
}

template <class Bins, class RowId>
hist_place histogram_quantised(const Bins& bins, const RowId* rows, int64_t n_leaf, const int16_t* gh, int64_t* hist,
                               int64_t total_bins, hist_place place, void* ws, size_t ws_bytes, simt::stream_t stream) {
  const row_block output = checked_slots("hist", hist, total_bins);
  check_inputs(bins, output);
  check_list(rows, n_leaf, bins.num_rows, output);
  check_disjoint(checked_array("gh", gh, sizeof(int16_t), 2 * bins.num_rows, "num_rows"), output);
  check_place(place);
  check_disjoint(check_workspace(ws, ws_bytes, histogram_workspace_bytes(bins, total_bins), sizeof(int)), output);
  const quantised_updates updates{gh, reinterpret_cast<unsigned long long*>(hist),
                                  reinterpret_cast<uintptr_t>(gh) % sizeof(unsigned) == 0};
  return run_updates(updates, bins, rows, n_leaf, total_bins, place, 0, ws, stream);
}

template <class RowId>
void histogram_totals(const RowId* rows, int64_t n_leaf, int64_t num_rows, const float* g, const float* h,
                      const fixed_scale* scale, leaf_totals* out, simt::stream_t stream) {
  const row_block output = checked_array("totals", out, 8, sizeof(leaf_totals) / 8, "totals");
  check_list(rows, n_leaf, num_rows, output);
  check_gradients(g, h, num_rows, output);
  if (scale != nullptr) check_disjoint(checked_array("scale", scale, 8, sizeof(fixed_scale) / 8, "scale"), output);
  const auto run = [&](auto type) {
    using Sum = typename decltype(type)::type;
    // Depends on the leaf's size only, so that the order of additions does, too.
    const auto blocks = static_cast<unsigned>(std::min(ceil_div(n_leaf, k_totals_rows), k_totals_blocks));
    const simt::buffer<leaf_sums<Sum>> partial(std::max(1u, blocks), stream);
    const leaf_source<Sum> source{g, h, scale};
    if (blocks > 0)
      simt::launch({blocks, k_totals_threads, 0, stream}, sum_leaf<Sum, RowId>, source, rows, n_leaf, partial.data());
    simt::launch({1, k_totals_threads, 0, stream}, finish_totals<Sum>, source, partial.data(), static_cast<int>(blocks),
                 n_leaf, out);
  };
  if (scale != nullptr)
    run(type_tag<long long>());
  else
    run(type_tag<double>());
}

template <class V>
void histogram_fix(V* hist, int64_t total_bins, const fix_entry* entries, int64_t num, const V* leaf_gh,
                   simt::stream_t stream) {
  const row_block output = checked_slots("hist", hist, total_bins);
  if (num < 0 || num > INT64_MAX / 16)
    throw std::invalid_argument("num is " + std::to_string(num) + ", must be >= 0 and below 2^59");
  check_disjoint(checked_array("entries", entries, alignof(fix_entry), 2 * num, "num"), output);
  check_disjoint(checked_array("leaf_gh", leaf_gh, sizeof(V), 2, "leaf_gh"), output);
  if (num > 0)
    simt::launch({grid_size(num, stream), k_fix_threads, 0, stream}, fix_entries<V>, hist, entries, num, leaf_gh);
}

template <class V>
void histogram_subtract(const V* parent, const V* smaller, V* larger, int64_t total_bins, simt::stream_t stream) {
  const row_block output = checked_slots("larger", larger, total_bins);
  const row_block whole = checked_slots("parent", parent, total_bins);
  if (larger != parent) check_disjoint(whole, output);
  check_disjoint(checked_slots("smaller", smaller, total_bins), output);
  if (total_bins > 0)
    simt::launch({grid_size(ceil_div(2 * total_bins, k_subtract_threads), stream), k_subtract_threads, 0, stream},
                 subtract_values<V>, parent, smaller, larger, 2 * total_bins);
}

#define WARPCHECK_INSTANTIATE_HISTOGRAM_OF(Bins, RowId)                                                              \
  template hist_place histogram<Bins, RowId>(const Bins&, const RowId*, int64_t, const float*, const float*,         \
                                             const fixed_scale*, int64_t, double*, int64_t, const hist_options&,     \
                                             void*, size_t, simt::stream_t);                                         \
  template hist_place histogram_quantised<Bins, RowId>(const Bins&, const RowId*, int64_t, const int16_t*, int64_t*, \
                                                       int64_t, hist_place, void*, size_t, simt::stream_t);
#define WARPCHECK_INSTANTIATE_HISTOGRAM(RowId)                                                      \
  WARPCHECK_INSTANTIATE_HISTOGRAM_OF(dense_bins, RowId)                                             \
  WARPCHECK_INSTANTIATE_HISTOGRAM_OF(csr_bins, RowId)                                               \
  template void histogram_totals<RowId>(const RowId*, int64_t, int64_t, const float*, const float*, \
                                        const fixed_scale*, leaf_totals*, simt::stream_t);
WARPCHECK_INSTANTIATE_HISTOGRAM(int32_t)
WARPCHECK_INSTANTIATE_HISTOGRAM(int64_t)
#undef WARPCHECK_INSTANTIATE_HISTOGRAM
#undef WARPCHECK_INSTANTIATE_HISTOGRAM_OF
template void histogram_fix<double>(double*, int64_t, const fix_entry*, int64_t, const double*, simt::stream_t);
template void histogram_fix<int64_t>(int64_t*, int64_t, const fix_entry*, int64_t, const int64_t*, simt::stream_t);
template void histogram_subtract<double>(const double*, const double*, double*, int64_t, simt::stream_t);
template void histogram_subtract<int64_t>(const int64_t*, const int64_t*, int64_t*, int64_t, simt::stream_t);

namespace {

// ---- candidate.h ----

static_assert(sizeof(hist_column) == 16 && sizeof(fix_entry) == 16 && sizeof(fixed_scale) == 24 &&
                  sizeof(leaf_totals) == 24,
              "structs cross candidate.h as their 8-byte words");

// The types of the bins. Stages without bins have first inputs of other types.
constexpr uint32_t k_dtypes = WARPCHECK_U8 | WARPCHECK_U16 | WARPCHECK_U32;

// In the order of hist_place, without `automatic`. The choice does not depend on a number of columns.
constexpr warpcheck_variant k_variants[] = {
    row_variant("histogram_shared", 0, -1, 1, -1, k_dtypes),
    row_variant("histogram_global", 0, -1, 1, -1, k_dtypes),
};
constexpr int64_t k_boundaries[] = {4, k_group_columns, k_group_columns + 1};

// A call, of which only the rows of bins may have gaps.
checked_call check_histogram(const warpcheck_call& call) {
  checked_call checked = check_call(histogram_contract(), call);
  for (const tensor_view& v : checked.tensors)
    if (v.rule->name != "bins") require_dense(v);
  return checked;
}

int64_t integer(const checked_call& call, const char* name) { return static_cast<int64_t>(call.scalar(name)); }

// Calls f(rows, n_leaf) with the call's typed list, or with a null list of all rows if there is none.
template <class F>
void with_list(const checked_call& call, int64_t num_rows, F&& f) {
  const tensor_view& rows = call.at("rows");
  if (!rows.tensor) return f(static_cast<const int32_t*>(nullptr), num_rows);
  // A list of no rows differs from a missing list; it is never read.
  static const int32_t nothing = 0;
  if (rows.cols == 0) return f(&nothing, rows.cols);
  if (!rows.data) throw std::invalid_argument("rows is null, must point to the list's rows");
  if (rows.type == WARPCHECK_I64) return f(static_cast<const int64_t*>(rows.as<int64_t>()), rows.cols);
  f(static_cast<const int32_t*>(rows.as<int32_t>()), rows.cols);
}

bin_type bin_type_of(const tensor_view& v) {
  return v.type == WARPCHECK_U8 ? bin_type::u8 : v.type == WARPCHECK_U16 ? bin_type::u16 : bin_type::u32;
}

template <class F>
void with_bins(const checked_call& call, int64_t num_rows, F&& f) {
  const tensor_view& first = call.tensors.front();
  if (first.rule->name == "slots") {
    const tensor_view& row_ptr = call.at("row_ptr");
    if (row_ptr.cols != num_rows + 1)
      throw std::invalid_argument("row_ptr has " + std::to_string(row_ptr.cols) + " elements, must have " +
                                  std::to_string(num_rows + 1));
    return f(csr_bins{row_ptr.as<int64_t>(), first.data, bin_type_of(first), num_rows});
  }
  f(dense_bins{first.data, bin_type_of(first), first.rows, first.cols, first.ld, call.data<hist_column>("cols")});
}

hist_place forced_place(const warpcheck_call* call) {
  return static_cast<hist_place>(find_variant(call, k_variants, 0) + 1);
}

const char* name_of(hist_place place) { return k_variants[static_cast<int>(place) - 1].name; }

const char* run_histogram(const checked_call& call, hist_place place, simt::stream_t stream) {
  const auto *const g = call.data<float>("g"), *const h = call.data<float>("h");
  const int64_t num_rows = call.at("g").cols, max_rows = integer(call, "max_rows");
  const tensor_view& hist = call.at("hist");
  const hist_options options{static_cast<hist_accum>(integer(call, "accum")), place};
  const simt::buffer<fixed_scale> scale(1, stream);
  const bool fixed = options.accum == hist_accum::fixed64;
  auto used = hist_place::automatic;
  with_list(call, num_rows, [&](const auto* rows, int64_t n_leaf) {
    with_bins(call, num_rows, [&](const auto& bins) {
      const simt::buffer<int> ws(histogram_workspace_bytes(bins, hist.rows) / sizeof(int), stream);
      if (fixed) histogram_scale(g, h, num_rows, max_rows, scale.data(), stream);
      used = histogram(bins, rows, n_leaf, g, h, fixed ? scale.data() : nullptr, max_rows, hist.as<double>(), hist.rows,
                       options, ws.data(), ws.size() * sizeof(int), stream);
    });
  });
  return name_of(used);
}

const char* run_quantised(const checked_call& call, hist_place place, simt::stream_t stream) {
  const tensor_view &gh = call.at("gh"), &hist = call.at("hist");
  auto used = hist_place::automatic;
  with_list(call, gh.rows, [&](const auto* rows, int64_t n_leaf) {
    with_bins(call, gh.rows, [&](const auto& bins) {
      const simt::buffer<int> ws(histogram_workspace_bytes(bins, hist.rows) / sizeof(int), stream);
      used = histogram_quantised(bins, rows, n_leaf, gh.as<int16_t>(), hist.as<int64_t>(), hist.rows, place, ws.data(),
                                 ws.size() * sizeof(int), stream);
    });
  });
  return name_of(used);
}

void run_scale(const checked_call& call, simt::stream_t stream) {
  histogram_scale(call.data<float>("g"), call.data<float>("h"), call.at("g").cols, integer(call, "max_rows"),
                  call.data<fixed_scale>("scale"), stream);
}

void run_totals(const checked_call& call, simt::stream_t stream) {
  const auto *const g = call.data<float>("g"), *const h = call.data<float>("h");
  const int64_t num_rows = call.at("g").cols;
  const bool fixed = integer(call, "accum") == 0;
  const simt::buffer<fixed_scale> scale(1, stream);
  with_list(call, num_rows, [&](const auto* rows, int64_t n_leaf) {
    if (fixed) histogram_scale(g, h, num_rows, integer(call, "max_rows"), scale.data(), stream);
    histogram_totals(rows, n_leaf, num_rows, g, h, fixed ? scale.data() : nullptr, call.data<leaf_totals>("totals"),
                     stream);
  });
}

// Calls f(type_tag<V>()) for the element type of histograms.
template <class F>
void with_sums(const tensor_view& hist, F&& f) {
  if (hist.type == WARPCHECK_F64) return f(type_tag<double>());
  f(type_tag<int64_t>());
}

void run_fix(const checked_call& call, simt::stream_t stream) {
  const tensor_view &before = call.at("before"), &entries = call.at("entries"), &hist = call.at("hist");
  with_sums(before, [&](auto type) {
    using V = typename decltype(type)::type;
    if (hist.data != before.data && hist.rows > 0) {
      check_disjoint(checked_slots("before", before.data, hist.rows), checked_slots("hist", hist.data, hist.rows));
      simt::memcpy_async(hist.data, before.data, static_cast<size_t>(hist.rows) * 2 * sizeof(V), stream);
    }
    histogram_fix(hist.as<V>(), hist.rows, entries.as<fix_entry>(), entries.rows, call.data<V>("leaf"), stream);
  });
}

void run_subtract(const checked_call& call, simt::stream_t stream) {
  const tensor_view& parent = call.at("parent");
  with_sums(parent, [&](auto type) {
    using V = typename decltype(type)::type;
    histogram_subtract(parent.as<V>(), call.data<V>("smaller"), call.data<V>("larger"), parent.rows, stream);
  });
}

warpcheck_status run_stage(warpcheck_call* call) {
  return candidate_call(call, [&] {
    const checked_call checked = check_histogram(*call);
    const auto stream = static_cast<simt::stream_t>(call->stream);
    switch (integer(checked, "stage")) {
      case 0: call->used_variant = run_histogram(checked, forced_place(call), stream); break;
      case 1: return run_scale(checked, stream);
      case 2: return run_totals(checked, stream);
      case 3: call->used_variant = run_quantised(checked, forced_place(call), stream); break;
      case 4: return run_fix(checked, stream);
      case 5: return run_subtract(checked, stream);
    }
  });
}

const char* pick_place(const warpcheck_call* call) {
  return candidate_pick(call, k_variants, [&](simt::stream_t stream) {
    const checked_call checked = check_histogram(*call);
    const int64_t stage = integer(checked, "stage"), accum = integer(checked, "accum");
    const bool quantised = stage == 3;
    auto picked = hist_place::automatic;
    if (stage != 0 && !quantised) return picked;
    const int64_t num_rows = quantised ? checked.at("gh").rows : checked.at("g").cols;
    const int64_t total_bins = checked.at("hist").rows;
    with_list(checked, num_rows, [&](const auto*, int64_t n_leaf) {
      with_bins(checked, num_rows, [&](const auto& bins) {
        picked = quantised    ? choose_place<quantised_updates>(bins, n_leaf, total_bins, stream)
                 : accum == 0 ? choose_place<fixed64_updates>(bins, n_leaf, total_bins, stream)
                 : accum == 1 ? choose_place<float_updates<float>>(bins, n_leaf, total_bins, stream)
                              : choose_place<float_updates<double>>(bins, n_leaf, total_bins, stream);
      });
    });
    return picked;
  });
}

constexpr warpcheck_operator k_operator =
    own_operator("histogram", k_dtypes, k_variants, k_boundaries, run_stage, pick_place);

}  // namespace
}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck

WARPCHECK_OPERATOR(histogram) { return &warpcheck::k_operator; }
