// Layer normalisation of a matrix' rows: Ba, Kiros, Hinton, "Layer Normalization", 2016, equations 3 and 4, plus eps.
//
//   mean[r] = sum_i x[r,i] / cols            rstd[r] = 1 / sqrt(sum_i (x[r,i] - mean[r])^2 / cols + eps)
//   y[r,i] = (x[r,i] - mean[r]) rstd[r] gamma[i] + beta[i]
//
// Arguments: f32 in device memory, aligned to one element. x, y: rows x cols, rows ldx (ldy) >= cols elements apart;
// gamma, beta: cols elements, finite; mean, rstd: rows elements; eps in [1e-12, 1]; rows, cols >= 0. y, mean and rstd
// overlap nothing else. The work is ordered on the stream; the call does not wait. The same input gives the same bits.
//
// Special values. A row with a NaN, or infinities of both signs, has mean NaN; one with infinities of one sign has that
// infinity. Either has rstd and y NaN. With cols = 0, mean and rstd are NaN. Error: README.md, "The bound".
// Throws std::invalid_argument (an argument that the above does not allow) and simt::device_error (failed launch).
#pragma once
#include "simt/simt.hpp"

namespace layer_norm {
inline namespace SIMT_DEVICE_NS {

struct arguments {
  const float *x, *gamma, *beta;
  float *y, *mean, *rstd;
  int64_t ldx, ldy, rows, cols;
  double eps;
};

// `warp` takes rows of up to 1024 columns.
enum class variant { automatic, warp, block };

// Returns the variant that ran.
variant run(const arguments& a, variant v, simt::stream_t stream);

}  // namespace SIMT_DEVICE_NS
}  // namespace layer_norm
