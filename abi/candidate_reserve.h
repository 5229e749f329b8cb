/* Data that a candidate keeps from a forward pass for its backward pass, in its own layout, beside its tables
 * (candidate.h). A library may export this function. */
#ifndef WARPCHECK_KERNELS_CANDIDATE_RESERVE_H_
#define WARPCHECK_KERNELS_CANDIDATE_RESERVE_H_

#include "abi/candidate.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An operator with `bytes` and `run` gets a call of both passes as two calls: the forward pass writes the reserve, the
 * backward pass gets it back, and nothing else reads it. Between the two there may be another forward call with
 * another reserve. The backward call of gru has `pass` 1, and y as y_in. */
typedef struct warpcheck_reserve {
  size_t struct_size; /* sizeof(warpcheck_reserve) */
  /* The bytes that this forward call needs. A function of shapes and scalars. */
  int64_t (*bytes)(const warpcheck_call* call);
  /* Makes a call of either pass. `reserve` is device memory, aligned to 256 bytes, with any content at first. Calls
   * of a forward pass without a backward pass go to the table's own `run`. */
  warpcheck_status (*run)(warpcheck_call* call, void* reserve, int64_t bytes);
} warpcheck_reserve;

const warpcheck_reserve* warpcheck_candidate_reserve(const char* op); /* NULL: the operator has none */
typedef const warpcheck_reserve* (*warpcheck_candidate_reserve_fn)(const char* op);

#ifdef __cplusplus
}
#endif
#endif /* WARPCHECK_KERNELS_CANDIDATE_RESERVE_H_ */
