/* Turns of a candidate whose calls cannot be timed from outside, because they run in a process of their own. */
#ifndef WARPCHECK_ABI_CANDIDATE_TURN_H_
#define WARPCHECK_ABI_CANDIDATE_TURN_H_

#include "abi/candidate.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A step is a call, or else writes `bytes` bytes to `to`, or else is a mark. */
typedef struct warpcheck_step {
  warpcheck_call* call; /* or NULL */
  void* to;             /* in the candidate's memory, or NULL */
  const void* from;     /* in the candidate's memory; NULL: each byte becomes `byte` */
  size_t bytes;
  unsigned char byte;
} warpcheck_step;

typedef struct warpcheck_turn {
  size_t struct_size; /* sizeof(warpcheck_turn) */
  const warpcheck_step* steps;
  int32_t num_steps;
  int32_t head_start; /* of the host: so many times 20 ms of other work of the device before the first mark */
  double* us;         /* out: the time of the device between each mark and the next one */
  double host_us;     /* out: between the first mark and the last one, by the clock of this process */
  int32_t was_late;   /* out: that other work was over before the host had sent all steps */
  char message[256];
} warpcheck_turn;

/* Makes the steps in order. If it fails, the message ends with a zero. Exporting this is optional. */
warpcheck_status warpcheck_candidate_turn(warpcheck_turn* turn);
typedef warpcheck_status (*warpcheck_candidate_turn_fn)(warpcheck_turn* turn);

#ifdef __cplusplus
}
#endif
#endif /* WARPCHECK_ABI_CANDIDATE_TURN_H_ */
