// What properties and variants were called before: the one table of old names.
#include "properties/engine/old_names.hpp"

namespace warpcheck {
namespace {

const engine::old_names names(
    {{"component-bound", "within-error-bound"},
     {"regime-seam", "dispatch-boundaries"},
     {"spike-coverage", "every-element-used"},
     {"depth", "long-accumulation"},
     {"tail-of-one", "log1p-tail"},
     {"special-table", "special-values"},
     {"refusals", "rejects-invalid-calls"},
     {"probability-row", "sums-to-one"},
     {"wide-index", "index-beyond-2-to-24"},
     {"full-grid", "many-rows-per-block"},
     {"phase", "misalignment"},
     {"workspace-refusals", "rejects-invalid-workspaces"},
     {"subtract-refusals", "rejects-invalid-subtractions"}},
    {{"softmax_few", "softmax_small_matrix"},
     {"softmax_stream", "softmax_persistent"},
     {"log_softmax_few", "log_softmax_small_matrix"},
     {"log_softmax_lanes", "log_softmax_warp"},
     {"log_softmax_stream", "log_softmax_persistent"},
     {"logsumexp_few", "logsumexp_small_matrix"},
     {"logsumexp_lanes", "logsumexp_warp"},
     {"logsumexp_wide", "logsumexp_large_tiles"},
     {"argmax_few", "argmax_small_matrix"},
     {"argmax_lanes", "argmax_warp"},
     {"argmax_wide", "argmax_large_tiles"},
     {"reduce_few", "reduce_small_matrix"},
     {"reduce_lanes", "reduce_warp"},
     {"reduce_wide", "reduce_large_tiles"}});

}  // namespace
}  // namespace warpcheck
