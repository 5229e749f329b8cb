// Gradient histograms of binned data: for each slot (a bin of a column) the sums of g and h over the rows of a leaf.
//
// Contract (the reference, properties and golden data refer to this comment)
//   hist[t] = (Sum g_i, Sum h_i) over the entries of the row list whose row i lies in slot t. Every slot is written; a
//   slot without rows becomes +0. g and h have the units of the loss and include the sample weights.
//
//   dense    row i, column c, bin b adds to slot hist_offset[c] + b - o if b >= o, o = mfb_offset[c]. With o = 1, bin 0
//            is the most frequent one and has no slot. The slots of different columns are disjoint.
//   CSR      the entries row_ptr[i] .. row_ptr[i+1] of row i are slots; a row names a slot at most once, and may leave
//            out the most frequent bin of a column, which histogram_fix then restores.
//   rows     nullptr: rows 0 .. n_leaf-1. Rows that are listed twice count twice. n_leaf = 0 gives zeros.
//   scale    with M the largest finite |g_i| of all rows, e_g = 53 - ceil(log2(max(1, max_rows))) - (ilogb(M) + 1),
//            0 if M = 0; e_h likewise. nonfinite: bit 0 if some g_i is not finite, bit 1 if some h_i.
//   fixed64  q_i = rint(g_i 2^e), half to even; hist = (Sum q_i) 2^-e. Every sum is at most 2^53 in magnitude, so this
//            is exact, and so are histogram_fix and histogram_subtract after it. A row whose g (h) is not finite makes
//            the g (h) of exactly its slots NaN. Same bits on every launch, stream, schedule and order of rows.
//   float32, float64  sums in a tile of that type, tiles added in f64. The order of additions is not fixed, so neither
//            are the bits. A float32 tile takes at most 16384 rows. A value that is not finite affects only its own
//            slots and component.
//   quantised  gh[i] = (g, h), g in [-32767, 32767], h in [0, 32767]. Exact.
//   fix      hist[m] := leaf - Sum_{b != m} hist[b] over an entry's slots, per component; hist[m] is not read.
//   subtract larger := parent - smaller per component; nothing is clamped.
//   totals   the sums over all rows of the list on the same grid (scale), or in f64 in a fixed order (scale null).
//
// Error against the exact sum S, with A = Sum |g_i| and m entries in the slot (docs/numerics.md): fixed64 m 2^(-e-1);
// float64 gamma(m, 2^-53) A; float32 (gamma(min(m, 16384), 2^-24) + gamma(m, 2^-53)) A, and slots with A > FLT_MAX may
// be infinite or NaN; fix gamma(48, 2^-53)(|leaf| + Sum |hist_b|); subtract one rounding.
//
// Arguments. Device memory: bins, slots, row_ptr, cols, rows, g, h, scale, hist, ws, leaf_gh, entries, totals; each
// aligned to its element, ws to 4 bytes. Bins, slots and row numbers out of range break the contract (the emulated
// device ends the process). Outputs overlap no input, but larger may be parent. ws may have any contents.
// Extents are >= 0 and offsets 64-bit; columns are fewer than 2^31. Work is ordered on the stream; no call waits.
//
// Through candidate.h it is one operator, "histogram", whose stages are calls of their own (contract.hpp). Stage 0
// computes the scale from g and h, and so does stage 2 if accum is 0. A missing list means all rows; gh has the bits of
// int16. Stage 4 works in place or on a copy. Variants force the place.
//
// Throws std::invalid_argument (negative extent, null or misaligned pointer with a non-zero size, overlap, n_leaf >
// max_rows, n_leaf > num_rows without a list, workspace too small, a value that no enumerator has) and
// simt::device_error (failed launch or allocation).
//
// Sources: Ke et al., LightGBM, NIPS 2017 (histograms of most-frequent-bin encoded features); Shi et al., Quantized
// training of gradient boosting decision trees, NeurIPS 2022 (integer gradients).
#pragma once

#include <cstddef>
#include <cstdint>

#include "simt/simt.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

enum class bin_type : uint8_t { u8, u16, u32 };
enum class hist_place : uint8_t { automatic, shared, global };
enum class hist_accum : uint8_t { fixed64, float32, float64 };

// A column of dense bins. It has num_bin - mfb_offset slots, from hist_offset on.
struct hist_column {
  int64_t hist_offset;
  int32_t num_bin;
  uint8_t mfb_offset;  // 0 or 1
};
// bins: [num_rows, num_cols], rows row_stride >= num_cols elements apart. cols: [num_cols].
struct dense_bins {
  const void* bins;
  bin_type type;
  int64_t num_rows, num_cols, row_stride;
  const hist_column* cols;
};
// row_ptr: [num_rows + 1], ascending. slots: [row_ptr[num_rows]].
struct csr_bins {
  const int64_t* row_ptr;
  const void* slots;
  bin_type type;
  int64_t num_rows;
};
struct fixed_scale {
  int32_t e_g, e_h;
  int64_t max_rows;
  uint32_t nonfinite;
};
struct hist_options {
  hist_accum accum = hist_accum::fixed64;
  hist_place place = hist_place::automatic;
};
struct leaf_totals {
  double sum_g, sum_h;
  int64_t count;
};
// A column whose slot first_slot + mfb_slot is restored from the leaf's sums.
struct fix_entry {
  int64_t first_slot;
  int32_t num_slots, mfb_slot;  // mfb_slot < num_slots, relative to first_slot
};

// g, h: [num_rows]. max_rows: the most rows that a leaf may list.
void histogram_scale(const float* g, const float* h, int64_t num_rows, int64_t max_rows, fixed_scale* out,
                     simt::stream_t stream);

// Returns the bytes of ws that `histogram` and `histogram_quantised` need for any place and list of rows.
size_t histogram_workspace_bytes(const dense_bins& bins, int64_t total_bins);
size_t histogram_workspace_bytes(const csr_bins& bins, int64_t total_bins);

// Bins: dense_bins, csr_bins; RowId: int32_t, int64_t. rows: [n_leaf] or nullptr; g, h: [num_rows]; hist:
// [total_bins][2]. scale may be nullptr in the float modes, which do not read max_rows either; in fixed64 it is what
// histogram_scale made with this max_rows. Returns the place that was used.
template <class Bins, class RowId>
hist_place histogram(const Bins& bins, const RowId* rows, int64_t n_leaf, const float* g, const float* h,
                     const fixed_scale* scale, int64_t max_rows, double* hist, int64_t total_bins,
                     const hist_options& options, void* ws, size_t ws_bytes, simt::stream_t stream);

// n_leaf is at most the max_rows of the scale.
template <class RowId>
void histogram_totals(const RowId* rows, int64_t n_leaf, int64_t num_rows, const float* g, const float* h,
                      const fixed_scale* scale, leaf_totals* out, simt::stream_t stream);

// gh: [num_rows][2]; hist: [total_bins][2].
template <class Bins, class RowId>
hist_place histogram_quantised(const Bins& bins, const RowId* rows, int64_t n_leaf, const int16_t* gh, int64_t* hist,
                               int64_t total_bins, hist_place place, void* ws, size_t ws_bytes, simt::stream_t stream);

// V: double, int64_t. entries: [num], of disjoint slots; leaf_gh: [2], such as &totals->sum_g of histogram_totals (an
// address in device memory); hist: [total_bins][2], of which the entries' slots are used.
template <class V>
void histogram_fix(V* hist, int64_t total_bins, const fix_entry* entries, int64_t num, const V* leaf_gh,
                   simt::stream_t stream);

template <class V>
void histogram_subtract(const V* parent, const V* smaller, V* larger, int64_t total_bins, simt::stream_t stream);

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
