// Layer normalisation of a matrix' rows: Ba, Kiros, Hinton, "Layer Normalization", 2016, equations 3 and 4, plus eps.
//
//   mean[r] = sum_i x[r,i] / cols            rstd[r] = 1 / sqrt(sum_i (x[r,i] - mean[r])^2 / cols + eps)
//   y[r,i] = (x[r,i] - mean[r]) rstd[r] gamma[i] + beta[i]
//
// Arguments: f32 in device memory, aligned to one element. x, y: rows x cols, rows ldx (ldy) >= cols elements apart;
// gamma, beta: cols elements, finite; mean, rstd: rows elements; eps in [1e-12, 1]; rows, cols >= 0. y may be x, with
// ldy = ldx; otherwise outputs overlap nothing. The work is ordered on the stream; the call does not wait. The same
// input gives the same bits.
//
// Special values. A row with a NaN, or infinities of both signs, has mean NaN; one with infinities of one sign has that
// infinity. Either has rstd and y NaN. With cols = 0, mean and rstd are NaN. Error: README.md, "The bound".
// A call that the above does not allow is refused with a sentence.
#pragma once
#include "abi/contract.hpp"

namespace layer_norm {

// The same as data: calls are checked against it, and cases, shrinking and lists follow from it.
inline const warpcheck::contract& the_contract() {
  static const warpcheck::contract c = {
      "layer_norm",
      {"rows", "cols"},
      {{"call",
        {{"x", true, "rows, cols", WARPCHECK_F32}, {"gamma", true, "cols"}, {"beta", true, "cols"},
         {"y", false, "rows, cols"}, {"mean", false, "rows"}, {"rstd", false, "rows"}},
        {{"eps", 1e-05, "is added to the variance", 1e-12, 1}}}}};
  return c;
}

}  // namespace layer_norm
