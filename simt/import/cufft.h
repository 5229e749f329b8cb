// Stands in for cuFFT's header of this name: plans and transforms as plain host code (fft.hpp).
#pragma once

#include <map>

#include "cuComplex.h"
#include "cuda_runtime.h"
#include "library_types.h"
#include "simt/import/fft.hpp"

#define CUFFT_FORWARD (-1)
#define CUFFT_INVERSE 1
#define CUFFT_VERSION 11300
enum cufftResult_t {
  CUFFT_SUCCESS = 0,
  CUFFT_INVALID_PLAN = 1,
  CUFFT_ALLOC_FAILED = 2,
  CUFFT_INVALID_TYPE = 3,
  CUFFT_INVALID_VALUE = 4,
  CUFFT_INTERNAL_ERROR = 5,
  CUFFT_EXEC_FAILED = 6,
  CUFFT_SETUP_FAILED = 7,
  CUFFT_INVALID_SIZE = 8,
  CUFFT_UNALIGNED_DATA = 9,
  CUFFT_INVALID_DEVICE = 11,
  CUFFT_NO_WORKSPACE = 13,
  CUFFT_NOT_IMPLEMENTED = 14,
  CUFFT_NOT_SUPPORTED = 16
};
using cufftResult = cufftResult_t;
enum cufftType_t {
  CUFFT_R2C = 0x2a,
  CUFFT_C2R = 0x2c,
  CUFFT_C2C = 0x29,
  CUFFT_D2Z = 0x6a,
  CUFFT_Z2D = 0x6c,
  CUFFT_Z2Z = 0x69
};
using cufftType = cufftType_t;
using cufftHandle = int;
using cufftReal = float;
using cufftDoubleReal = double;
using cufftComplex = cuComplex;
using cufftDoubleComplex = cuDoubleComplex;

namespace simt::import::fft {

inline std::map<cufftHandle, plan>& plans() {
  static auto& all = *new std::map<cufftHandle, plan>;
  return all;
}
inline cufftHandle new_handle() {
  static cufftHandle last = 0;
  return ++last;
}

// The default layout of a side: rows without gaps, of as many real or complex numbers as that side has.
inline layout plain(const std::vector<int64_t>& sizes, bool is_half) {
  layout l;
  l.embed = sizes;
  if (is_half) l.embed.back() = sizes.back() / 2 + 1;
  l.distance = 1;
  for (const int64_t n : l.embed) l.distance *= n;
  return l;
}

inline cufftResult make(cufftHandle handle, int rank, const int* sizes, const int* in_embed, int in_stride,
                        int in_distance, const int* out_embed, int out_stride, int out_distance, cufftType type,
                        int batches) {
  if (plans().count(handle) == 0) return CUFFT_INVALID_PLAN;
  if (rank < 1 || rank > 3 || batches < 1) return CUFFT_INVALID_VALUE;
  plan p;
  p.stream = plans()[handle].stream;
  p.of = type == CUFFT_R2C || type == CUFFT_D2Z   ? kind::real_to_complex
         : type == CUFFT_C2R || type == CUFFT_Z2D ? kind::complex_to_real
                                                  : kind::complex_to_complex;
  p.is_double = type == CUFFT_D2Z || type == CUFFT_Z2D || type == CUFFT_Z2Z;
  for (int d = 0; d < rank; ++d) {
    if (sizes[d] < 1) return CUFFT_INVALID_SIZE;
    p.sizes.push_back(sizes[d]);
  }
  p.in = plain(p.sizes, p.of == kind::complex_to_real);
  p.out = plain(p.sizes, p.of == kind::real_to_complex);
  if (in_embed != nullptr && out_embed != nullptr) {
    p.in = {{in_embed, in_embed + rank}, in_stride, in_distance};
    p.out = {{out_embed, out_embed + rank}, out_stride, out_distance};
  }
  p.batches = batches;
  plans()[handle] = p;
  return CUFFT_SUCCESS;
}

inline cufftResult run(const char* function, const site& where, cufftHandle handle, kind of, bool is_double, void* in,
                       void* out, int sign) {
  const auto found = plans().find(handle);
  if (found == plans().end() || found->second.sizes.empty()) return CUFFT_INVALID_PLAN;
  plan p = found->second;
  if (p.of != of || p.is_double != is_double) return CUFFT_INVALID_TYPE;
  // In place, a row of reals has the length of its row of complex numbers.
  if (in == out && of == kind::real_to_complex && p.in.embed == p.sizes && p.in.stride == 1) {
    p.in.embed.back() = 2 * (p.sizes.back() / 2 + 1);
    p.in.distance = 2 * p.out.distance;
  } else if (in == out && of == kind::complex_to_real && p.out.embed == p.sizes && p.out.stride == 1) {
    p.out.embed.back() = 2 * (p.sizes.back() / 2 + 1);
    p.out.distance = 2 * p.in.distance;
  }
  const side from(in, is_double, of != kind::real_to_complex), to(out, is_double, of != kind::complex_to_real);
  const auto reach = [&](const layout& l, bool is_half) {
    std::vector<int64_t> last = p.sizes;
    if (is_half) last.back() = last.back() / 2 + 1;
    for (int64_t& n : last) --n;
    return static_cast<size_t>(l.place(last, p.batches - 1) + 1);
  };
  if (!check_side(function, where, "the input", in, reach(p.in, of == kind::complex_to_real) * from.bytes(), true,
                  false) ||
      !check_side(function, where, "the output", out, reach(p.out, of == kind::real_to_complex) * to.bytes(), true,
                  false))
    return CUFFT_EXEC_FAILED;
  enqueue({"a call of cuFFT", where, on(p.stream)}, [=] {
    ::simt::synchronize();
    execute(function, where, p, from, to, sign, [](double x) { return approximate("cuFFT", x); });
  });
  return CUFFT_SUCCESS;
}

}  // namespace simt::import::fft

inline cufftResult cufftCreate(cufftHandle* handle) {
  *handle = ::simt::import::fft::new_handle();
  ::simt::import::fft::plans()[*handle] = {};
  return CUFFT_SUCCESS;
}
inline cufftResult cufftDestroy(cufftHandle handle) {
  return ::simt::import::fft::plans().erase(handle) == 1 ? CUFFT_SUCCESS : CUFFT_INVALID_PLAN;
}
inline cufftResult cufftSetStream(cufftHandle handle, cudaStream_t stream) {
  if (::simt::import::fft::plans().count(handle) == 0) return CUFFT_INVALID_PLAN;
  ::simt::import::fft::plans()[handle].stream = stream;
  return CUFFT_SUCCESS;
}
inline cufftResult cufftGetVersion(int* version) { return *version = CUFFT_VERSION, CUFFT_SUCCESS; }
// The host needs no work area on the device.
inline cufftResult cufftSetAutoAllocation(cufftHandle, int) { return CUFFT_SUCCESS; }
inline cufftResult cufftSetWorkArea(cufftHandle, void*) { return CUFFT_SUCCESS; }
inline cufftResult cufftGetSize(cufftHandle, size_t* bytes) { return *bytes = 0, CUFFT_SUCCESS; }

inline cufftResult cufftMakePlanMany(cufftHandle handle, int rank, int* sizes, int* in_embed, int in_stride,
                                     int in_distance, int* out_embed, int out_stride, int out_distance, cufftType type,
                                     int batches, size_t* bytes) {
  if (bytes != nullptr) *bytes = 0;
  return ::simt::import::fft::make(handle, rank, sizes, in_embed, in_stride, in_distance, out_embed, out_stride,
                                   out_distance, type, batches);
}
inline cufftResult cufftMakePlan1d(cufftHandle handle, int n, cufftType type, int batches, size_t* bytes) {
  return cufftMakePlanMany(handle, 1, &n, nullptr, 1, 0, nullptr, 1, 0, type, batches, bytes);
}
inline cufftResult cufftMakePlan2d(cufftHandle handle, int nx, int ny, cufftType type, size_t* bytes) {
  int n[] = {nx, ny};
  return cufftMakePlanMany(handle, 2, n, nullptr, 1, 0, nullptr, 1, 0, type, 1, bytes);
}
inline cufftResult cufftMakePlan3d(cufftHandle handle, int nx, int ny, int nz, cufftType type, size_t* bytes) {
  int n[] = {nx, ny, nz};
  return cufftMakePlanMany(handle, 3, n, nullptr, 1, 0, nullptr, 1, 0, type, 1, bytes);
}
inline cufftResult cufftPlanMany(cufftHandle* handle, int rank, int* sizes, int* in_embed, int in_stride,
                                 int in_distance, int* out_embed, int out_stride, int out_distance, cufftType type,
                                 int batches) {
  cufftCreate(handle);
  return cufftMakePlanMany(*handle, rank, sizes, in_embed, in_stride, in_distance, out_embed, out_stride, out_distance,
                           type, batches, nullptr);
}
inline cufftResult cufftPlan1d(cufftHandle* handle, int n, cufftType type, int batches) {
  cufftCreate(handle);
  return cufftMakePlan1d(*handle, n, type, batches, nullptr);
}
inline cufftResult cufftPlan2d(cufftHandle* handle, int nx, int ny, cufftType type) {
  cufftCreate(handle);
  return cufftMakePlan2d(*handle, nx, ny, type, nullptr);
}
inline cufftResult cufftPlan3d(cufftHandle* handle, int nx, int ny, int nz, cufftType type) {
  cufftCreate(handle);
  return cufftMakePlan3d(*handle, nx, ny, nz, type, nullptr);
}

// A transform of reals is a forward one, a transform to reals a backward one.
#define SIMT_IMPORT_CUFFT_BOTH(name, T, is_double)                                                                  \
  inline cufftResult cufftExec##name(cufftHandle handle, T* in, T* out, int direction, SIMT_SITE) {                 \
    return ::simt::import::fft::run("cufftExec" #name, site, handle, ::simt::import::fft::kind::complex_to_complex, \
                                    is_double, in, out, direction == CUFFT_FORWARD ? -1 : 1);                       \
  }
#define SIMT_IMPORT_CUFFT(name, In, Out, of, is_double, sign)                                                      \
  inline cufftResult cufftExec##name(cufftHandle handle, In* in, Out* out, SIMT_SITE) {                            \
    return ::simt::import::fft::run("cufftExec" #name, site, handle, ::simt::import::fft::kind::of, is_double, in, \
                                    out, sign);                                                                    \
  }
SIMT_IMPORT_CUFFT_BOTH(C2C, cufftComplex, false)
SIMT_IMPORT_CUFFT_BOTH(Z2Z, cufftDoubleComplex, true)
SIMT_IMPORT_CUFFT(R2C, cufftReal, cufftComplex, real_to_complex, false, -1)
SIMT_IMPORT_CUFFT(D2Z, cufftDoubleReal, cufftDoubleComplex, real_to_complex, true, -1)
SIMT_IMPORT_CUFFT(C2R, cufftComplex, cufftReal, complex_to_real, false, 1)
SIMT_IMPORT_CUFFT(Z2D, cufftDoubleComplex, cufftDoubleReal, complex_to_real, true, 1)
#undef SIMT_IMPORT_CUFFT
#undef SIMT_IMPORT_CUFFT_BOTH
