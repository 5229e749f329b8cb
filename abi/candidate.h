/* The only interface between a kernel and the suite: properties, golden data, benchmarks and the command call our
 * kernels and a user's kernels through it.
 *
 * A candidate is a shared library that exports one C function, `warpcheck_candidate_get`, which returns a table: one
 * `warpcheck_operator` per (operator, device). Tensors are DLPack DLTensors; scalars are plain doubles by name. Nothing
 * here throws, allocates for the other side, or keeps a pointer beyond the call.
 *
 * Compatibility: within one version fields are only appended, and `struct_size` is the size of a struct as its writer
 * was compiled. A reader ignores fields that it does not know and treats missing fields as NULL. The stride of an array
 * of structs is the `struct_size` of its first element.
 */
#ifndef WARPCHECK_ABI_CANDIDATE_H_
#define WARPCHECK_ABI_CANDIDATE_H_

#include <dlpack/dlpack.h>
#include <stddef.h>
#include <stdint.h>

#define WARPCHECK_CANDIDATE_ABI 2u
#define WARPCHECK_MAX_EXTENTS 8

#ifdef __cplusplus
extern "C" {
#endif

/* Where the tensors of a call live and who executes it. `emulated` is simt: device code run on the host. */
typedef enum warpcheck_device {
  WARPCHECK_DEVICE_CPU = 0,
  WARPCHECK_DEVICE_CUDA = 1,
  WARPCHECK_DEVICE_EMULATED = 2
} warpcheck_device;

typedef enum warpcheck_status {
  WARPCHECK_OK = 0,
  WARPCHECK_INVALID_ARGUMENT = 1, /* the call breaks the operator's contract (std::invalid_argument of the C++ API) */
  WARPCHECK_DEVICE_ERROR = 2,     /* a launch or a copy failed, or a resource is missing */
  WARPCHECK_UNSUPPORTED = 3,      /* a legal call that this candidate does not offer (dtype, shape, layout, variant) */
  WARPCHECK_INTERNAL_ERROR = 4    /* any other error, described in message */
} warpcheck_status;

/* An element type as a bit, for the `dtypes` masks below. */
typedef enum warpcheck_dtype_bit {
  WARPCHECK_F32 = 1u << 0,
  WARPCHECK_F16 = 1u << 1,
  WARPCHECK_BF16 = 1u << 2,
  WARPCHECK_F64 = 1u << 3,
  WARPCHECK_I64 = 1u << 4,
  WARPCHECK_I32 = 1u << 5,
  WARPCHECK_U8 = 1u << 6,
  WARPCHECK_U16 = 1u << 7,
  WARPCHECK_U32 = 1u << 8,
  WARPCHECK_I8 = 1u << 9,
  WARPCHECK_E4M3 = 1u << 10, /* OCP FP8, kDLFloat8_e4m3fn */
  WARPCHECK_E5M2 = 1u << 11  /* OCP FP8, kDLFloat8_e5m2 */
} warpcheck_dtype_bit;

/* Type codes of DLPack 1.1, which older headers of it lack. */
typedef enum warpcheck_dlpack_code {
  WARPCHECK_DLPACK_E4M3 = 10, /* kDLFloat8_e4m3fn */
  WARPCHECK_DLPACK_E5M2 = 12  /* kDLFloat8_e5m2 */
} warpcheck_dlpack_code;

/* A named plain argument of an operator (sigmoid: "mu", "sigma"); integers up to 2^53 are exact. */
typedef struct warpcheck_scalar {
  const char* name;
  double value;
} warpcheck_scalar;

/* One call. Tensors have the order of the operator's contract (kernels/<op>/<op>.hpp), and none is left out: a tensor
 * of zero elements represents a null pointer. Candidates also accept NULL, or a tensor that is missing at the end, as
 * such. Tensors have one to four dimensions. Strides count elements and are always given: the last is 1, the last but
 * one is `ld`, and each earlier one is the product of the next stride and the next extent. If the data pointer and the
 * strides of an output equal those of an input, the call is in place. A last output `work` of bytes is memory for the
 * candidate's own use, aligned to 16 bytes, with any content; if it has zero elements, the candidate allocates its
 * own. */
typedef struct warpcheck_call {
  size_t struct_size; /* sizeof(warpcheck_call), as the caller knows it */
  const DLTensor* const* inputs;
  DLTensor* const* outputs;
  const warpcheck_scalar* scalars;
  int32_t num_inputs;
  int32_t num_outputs;
  int32_t num_scalars;
  const char* variant;      /* NULL: the candidate's own dispatch; else the name of a variant to force */
  void* stream;             /* cuda: cudaStream_t; emulated: simt::emulation*; cpu: NULL. Work is ordered on it */
  const char* used_variant; /* out: the variant that ran, a string that outlives the call, or NULL */
  char* message;            /* out: one sentence when the status is not WARPCHECK_OK */
  size_t message_size;
} warpcheck_call;

/* The sizes of one extent (inclusive; -1: no upper limit) that a variant accepts, and those among which the operator's
 * own dispatch may pick it; it never does where dispatch_min > dispatch_max. */
typedef struct warpcheck_range {
  int64_t min;
  int64_t max;
  int64_t dispatch_min;
  int64_t dispatch_max;
} warpcheck_range;

/* One implementation technique of an operator. Calls that it does not accept, with the variant forced, return
 * WARPCHECK_UNSUPPORTED. */
typedef struct warpcheck_variant {
  size_t struct_size; /* sizeof(warpcheck_variant) */
  const char* name;
  uint32_t dtypes;
  warpcheck_range ranges[WARPCHECK_MAX_EXTENTS]; /* by extent, num_extents of them */
  /* True if it accepts a call whose extents lie in its ranges; NULL: always. Pure, like `picks`. */
  int32_t (*accepts)(const warpcheck_call* call);
} warpcheck_variant;

/* Sizes of an extent at which the code path changes besides the variants' own (tiles, vector widths). */
typedef struct warpcheck_boundaries {
  const int64_t* values;
  int32_t count;
} warpcheck_boundaries;

typedef struct warpcheck_operator {
  size_t struct_size; /* sizeof(warpcheck_operator) */
  const char* name;   /* "softmax" */
  warpcheck_device device;
  uint32_t dtypes;                 /* element types of the first input */
  int32_t num_extents;             /* 1 to WARPCHECK_MAX_EXTENTS */
  const char* const* extent_names; /* as the operator's contract calls them; a row operator has `cols` alone */
  const warpcheck_variant* variants;
  int32_t num_variants;
  warpcheck_boundaries boundaries[WARPCHECK_MAX_EXTENTS]; /* by extent, num_extents of them */
  warpcheck_status (*run)(warpcheck_call* call);
  /* Returns the name of the variant that the dispatch of `run` selects for this call, or NULL if it runs none. A host
   * function of shapes, layouts (of addresses only the alignment), scalars and the stream's device. `run` also calls
   * it, so the published variant is the one that runs. NULL: only the dispatch ranges are published. */
  const char* (*picks)(const warpcheck_call* call);
} warpcheck_operator;

/* How to make a stream. Zero-initialise, then set what matters. cuda reads shared_fill and two schedules. */
typedef struct warpcheck_stream_options {
  const char* schedule; /* emulated: token of emulation.hpp, "fair", "pct:4"; cuda: "nonblocking", "noise", or NULL */
  int32_t resident_blocks; /* co-resident blocks; 0: the device's default */
  int32_t sm_count;        /* multiprocessors the kernel sees; 0: the device's default */
  uint32_t shared_fill;    /* pattern that shared memory holds when a block starts */
} warpcheck_stream_options;

/* Receives a hazard (`kind`: a verdict's name or `misaligned`), or `every schedule`: proven of the launches. */
typedef void (*warpcheck_finding_fn)(void* user, const char* kind, const char* text);

/* Memory and streams of a device. All functions return 0 for success or non-zero with the reason in last_error(). */
typedef struct warpcheck_device_api {
  size_t struct_size;
  warpcheck_device device;
  const char* (*describe)(void); /* "NVIDIA H200, driver 13.0, ..." ; NULL: no such device present, see last_error() */
  const char* (*last_error)(void);
  /* A buffer of exactly `bytes` bytes at an address p with p % 256 == misalign, between guard zones. `element` is the
   * size of the elements it will hold. Memory is filled with 0xff bytes (a NaN in every float type). Above
   * 256 MiB only the guard zones are filled, and the rest need not be backed by memory until copy_in touches it.
   * NULL: out of memory. */
  void* (*alloc)(size_t bytes, size_t misalign, size_t element);
  void (*release)(void* p);
  /* The offset, relative to p, of the first guard byte that changed (negative or >= bytes), or INT64_MIN if none has.
   */
  int64_t (*check_guards)(const void* p);
  /* Marks the range as unwritten for the hazard detectors: reading it before a write is `uninitialized`. The bytes stay
   * as they are. */
  void (*forget)(void* p, size_t bytes);
  int (*copy_in)(void* device_destination, const void* host_source, size_t bytes);
  /* Returns the results of all work that stream_synchronize has waited for. */
  int (*copy_out)(void* host_destination, const void* device_source, size_t bytes);
  void* (*stream_create)(const warpcheck_stream_options* options);
  void (*stream_destroy)(void* stream);
  /* Waits for the stream, passes on every hazard found since the last call, and returns non-zero after a device error.
   */
  int (*stream_synchronize)(void* stream, warpcheck_finding_fn report, void* user);
  /* Captures work on the stream until `capture_replay`, which executes it `times` times. NULL: not supported. */
  int (*capture_begin)(void* stream);
  int (*capture_replay)(void* stream, int32_t times);
  /* Returns 0 once this process can no longer use the device, because an error persists. NULL: it always can. */
  int (*usable)(void);
  /* Prepares a stream for another call, which starts as on a new stream with these options (the schedule stays),
   * without waiting for the last call. NULL: not supported. */
  int (*stream_renew)(void* stream, const warpcheck_stream_options* options);
} warpcheck_device_api;

typedef struct warpcheck_candidate {
  uint32_t abi_version; /* WARPCHECK_CANDIDATE_ABI */
  size_t struct_size;   /* sizeof(warpcheck_candidate) */
  const char* name;
  const char* build; /* compiler, flavour ("plain", "race", "asan", "cuda") and version, for reports */
  const warpcheck_operator* const* operators;
  int32_t num_operators;
  const warpcheck_device_api* device_api; /* NULL: the suite's own for `cpu` and `cuda`; required for `emulated` */
} warpcheck_candidate;

/* The one exported symbol of a candidate library. `abi_version` is the version of the caller; a library of another
 * version returns NULL. */
typedef const warpcheck_candidate* (*warpcheck_candidate_get_fn)(uint32_t abi_version);
const warpcheck_candidate* warpcheck_candidate_get(uint32_t abi_version);

#ifdef __cplusplus
}
#endif
#endif /* WARPCHECK_ABI_CANDIDATE_H_ */
