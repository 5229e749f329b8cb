// The calls of histogram (see the contract in histogram.hpp) as data.
#pragma once

#include "abi/contract.hpp"

namespace warpcheck {

// The six stages are calls of their own; those of bins are dense or CSR. Structures are their 8-byte words.
inline const contract& histogram_contract() {
  static const contract described = [] {
    const uint32_t bin = WARPCHECK_U8 | WARPCHECK_U16 | WARPCHECK_U32, sums = WARPCHECK_F64 | WARPCHECK_I64;
    const tensor_rule bins = {"bins", true, "rows, cols", bin}, cols = {"cols", true, "cols, 2", WARPCHECK_I64},
                      slots = {"slots", true, "updates", bin}, row_ptr = {"row_ptr", true, "row_ends", WARPCHECK_I64},
                      g = {"g", true, "rows", WARPCHECK_F32}, h = {"h", true, "rows", WARPCHECK_F32},
                      gh = {"gh", true, "rows, 2", WARPCHECK_U16},
                      rows = {"rows", true, "listed", WARPCHECK_I32 | WARPCHECK_I64, true},
                      hist = {"hist", false, "total_bins, 2", WARPCHECK_F64},
                      whole_hist = {"hist", false, "total_bins, 2", WARPCHECK_I64};
    const std::vector<scalar_rule> scalars = {
        {"stage", 0, "0 histogram, 1 scale, 2 totals, 3 quantised, 4 fix, 5 subtract", 0, 5, true},
        {"accum", 0, "sums of the histogram: 0 fixed64, 1 float32, 2 float64", 0, 2, true},
        {"max_rows", 1048576, "the most rows that a leaf may list", 0, 0x1p53, true}};
    const auto form = [&](const char* name, double stage, std::vector<tensor_rule> tensors) {
      return form_rule{name, std::move(tensors), scalars, {"stage", stage}};
    };
    contract c;
    c.op = "histogram";
    c.extents = {"rows", "cols", "listed", "slots", "updates", "row_ends", "total_bins", "entries"};
    c.forms = {
        form("build", 0, {bins, cols, g, h, rows, hist}),
        form("quantised", 3, {bins, cols, gh, rows, whole_hist}),
        form("build, CSR", 0, {slots, row_ptr, g, h, rows, hist}),
        form("quantised, CSR", 3, {slots, row_ptr, gh, rows, whole_hist}),
        form("scale", 1, {g, h, {"scale", false, "3", WARPCHECK_I64}}),
        form("totals", 2, {g, h, rows, {"totals", false, "3", WARPCHECK_I64}}),
        form("fix", 4,
             {{"before", true, "slots, 2", sums},
              {"entries", true, "entries, 2", WARPCHECK_I64},
              {"leaf", true, "2"},
              {"hist", false, "slots, 2"}}),
        form("subtract", 5,
             {{"parent", true, "slots, 2", sums}, {"smaller", true, "slots, 2"}, {"larger", false, "slots, 2"}})};
    return c;
  }();
  return described;
}

}  // namespace warpcheck
