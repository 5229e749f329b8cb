// CUDA arrays, texture and surface objects of one to three dimensions, in layers, and cube maps. A thread reads a texel
// by a plain load in inlined code, so the detector sees it and names the caller. Filtering is linear with weights of 8
// fractional bits, as in the CUDA C++ Programming Guide ("Texture Fetching"); the rounding in between is not modelled.
#pragma once

#include <cmath>

#include "simt/import/devices.hpp"

enum cudaChannelFormatKind {
  cudaChannelFormatKindSigned,
  cudaChannelFormatKindUnsigned,
  cudaChannelFormatKindFloat,
  cudaChannelFormatKindNone
};
struct cudaChannelFormatDesc {
  int x, y, z, w;  // bits
  cudaChannelFormatKind f;
};
inline cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, cudaChannelFormatKind f) {
  return {x, y, z, w, f};
}

namespace simt::import {

// The components of the elements that a texture may have.
template <class T>
struct texel {
  using scalar = T;
  static constexpr int components = 1;
};
#define SIMT_IMPORT_TEXEL(Scalar, name)  \
  template <>                            \
  struct texel<name##1> {                \
    using scalar = Scalar;               \
    static constexpr int components = 1; \
  };                                     \
  template <>                            \
  struct texel<name##2> {                \
    using scalar = Scalar;               \
    static constexpr int components = 2; \
  };                                     \
  template <>                            \
  struct texel<name##4> {                \
    using scalar = Scalar;               \
    static constexpr int components = 4; \
  };
SIMT_IMPORT_TEXEL(signed char, char)
SIMT_IMPORT_TEXEL(unsigned char, uchar)
SIMT_IMPORT_TEXEL(short, short)
SIMT_IMPORT_TEXEL(unsigned short, ushort)
SIMT_IMPORT_TEXEL(int, int)
SIMT_IMPORT_TEXEL(unsigned, uint)
SIMT_IMPORT_TEXEL(float, float)
#undef SIMT_IMPORT_TEXEL

inline int bytes_of(const cudaChannelFormatDesc& d) { return (d.x + d.y + d.z + d.w) / 8; }

}  // namespace simt::import

template <class T>
cudaChannelFormatDesc cudaCreateChannelDesc() {
  using info = ::simt::import::texel<T>;
  using scalar = typename info::scalar;
  constexpr int bits = 8 * sizeof(scalar), n = info::components;
  return {bits, n > 1 ? bits : 0, n > 2 ? bits : 0, n > 3 ? bits : 0,
          std::is_floating_point_v<scalar> ? cudaChannelFormatKindFloat
          : std::is_signed_v<scalar>       ? cudaChannelFormatKindSigned
                                           : cudaChannelFormatKindUnsigned};
}

// Rows one after the other. Programs cannot observe the layout of an array on a GPU.
struct cudaArray {
  cudaChannelFormatDesc desc;
  size_t width, height, depth;  // 0: not of that dimension
  char* data;

  size_t element() const { return static_cast<size_t>(::simt::import::bytes_of(desc)); }
  size_t row() const { return width * element(); }
  size_t rows() const { return height > 0 ? height : 1; }
  char* at(size_t x_bytes, size_t y, size_t z = 0) const { return data + (z * rows() + y) * row() + x_bytes; }
};
using cudaArray_t = cudaArray*;
using cudaArray_const_t = const cudaArray*;
#define cudaArrayDefault 0
#define cudaArrayLayered 1
#define cudaArraySurfaceLoadStore 2
#define cudaArrayCubemap 4
#define cudaArrayTextureGather 8

inline cudaError_t cudaMalloc3DArray(cudaArray_t* array, const cudaChannelFormatDesc* desc, cudaExtent e,
                                     unsigned flags = 0, SIMT_SITE) {
  if ((flags & cudaArrayCubemap) && (e.depth == 0 || e.depth % 6 != 0 || e.width != e.height))
    return ::simt::import::misuse("cudaMalloc3DArray", site,
                                  "a cube map of " + std::to_string(e.depth) + " faces of " + std::to_string(e.width) +
                                      " x " + std::to_string(e.height) + ", which are squares, 6 of each cube");
  auto* const made = new cudaArray{*desc, e.width, e.height, e.depth, nullptr};
  const size_t rows = made->rows() * (e.depth > 0 ? e.depth : 1);
  const cudaError_t error = cudaMalloc(&made->data, made->row() * rows, site);
  if (error != cudaSuccess) {
    delete made;
    return error;
  }
  *array = made;
  return cudaSuccess;
}
inline cudaError_t cudaMallocArray(cudaArray_t* array, const cudaChannelFormatDesc* desc, size_t width,
                                   size_t height = 0, unsigned flags = 0, SIMT_SITE) {
  return cudaMalloc3DArray(array, desc, {width, height, 0}, flags, site);
}
inline cudaError_t cudaFreeArray(cudaArray_t array, SIMT_SITE) {
  if (array == nullptr) return cudaSuccess;
  const cudaError_t error = cudaFree(array->data, site);
  delete array;
  return error;
}

inline cudaError_t cudaMemcpy2DToArray(cudaArray_t to, size_t x, size_t y, const void* from, size_t pitch, size_t width,
                                       size_t height, cudaMemcpyKind kind, SIMT_SITE) {
  return cudaMemcpy2D(to->at(x, y), to->row(), from, pitch, width, height, kind, site);
}
inline cudaError_t cudaMemcpy2DToArrayAsync(cudaArray_t to, size_t x, size_t y, const void* from, size_t pitch,
                                            size_t width, size_t height, cudaMemcpyKind kind,
                                            cudaStream_t stream = nullptr, SIMT_SITE) {
  return cudaMemcpy2DAsync(to->at(x, y), to->row(), from, pitch, width, height, kind, stream, site);
}
inline cudaError_t cudaMemcpy2DFromArray(void* to, size_t pitch, cudaArray_const_t from, size_t x, size_t y,
                                         size_t width, size_t height, cudaMemcpyKind kind, SIMT_SITE) {
  return cudaMemcpy2D(to, pitch, from->at(x, y), from->row(), width, height, kind, site);
}
inline cudaError_t cudaMemcpyToArray(cudaArray_t to, size_t x, size_t y, const void* from, size_t bytes,
                                     cudaMemcpyKind kind, SIMT_SITE) {
  return ::simt::import::copy_in({"cudaMemcpyToArray", site, ::simt::import::on(nullptr)},
                                 {to->at(x, y), from, bytes, kind});
}
inline cudaError_t cudaMemcpyFromArray(void* to, cudaArray_const_t from, size_t x, size_t y, size_t bytes,
                                       cudaMemcpyKind kind, SIMT_SITE) {
  return ::simt::import::copy_in({"cudaMemcpyFromArray", site, ::simt::import::on(nullptr)},
                                 {to, from->at(x, y), bytes, kind});
}

struct cudaMemcpy3DParms {
  cudaArray_t srcArray;
  cudaPos srcPos;
  cudaPitchedPtr srcPtr;
  cudaArray_t dstArray;
  cudaPos dstPos;
  cudaPitchedPtr dstPtr;
  cudaExtent extent;
  cudaMemcpyKind kind;
};
namespace simt::import {

inline cudaError_t copy_volume(const char* function, const site& where, const cudaMemcpy3DParms& p, bool is_async) {
  // For an array the extent's width counts elements, otherwise bytes.
  const size_t element = p.srcArray ? p.srcArray->element() : p.dstArray ? p.dstArray->element() : 1;
  const auto side = [&](cudaArray_t array, const cudaPitchedPtr& ptr, const cudaPos& pos, size_t y, size_t z) {
    if (array) return array->at(pos.x * element, pos.y + y, pos.z + z);
    return static_cast<char*>(ptr.ptr) + ((pos.z + z) * ptr.ysize + pos.y + y) * ptr.pitch + pos.x;
  };
  for (size_t z = 0; z < p.extent.depth; ++z)
    for (size_t y = 0; y < p.extent.height; ++y) {
      const cudaError_t error =
          copy(function, where, side(p.dstArray, p.dstPtr, p.dstPos, y, z), side(p.srcArray, p.srcPtr, p.srcPos, y, z),
               p.extent.width * element, p.kind, is_async);
      if (error != cudaSuccess) return error;
    }
  return cudaSuccess;
}

}  // namespace simt::import

inline cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms* p, SIMT_SITE) {
  using namespace ::simt::import;
  const auto place = [](cudaArray_t array, const cudaPitchedPtr& ptr) { return array ? array->data : ptr.ptr; };
  return enqueue_copy({"cudaMemcpy3D", site, on(nullptr)},
                      path_of(place(p->dstArray, p->dstPtr), place(p->srcArray, p->srcPtr), p->kind),
                      [p = *p, site] { return copy_volume("cudaMemcpy3D", site, p, false); });
}
inline cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms* p, cudaStream_t stream = nullptr, SIMT_SITE) {
  ::simt::import::enqueue({"cudaMemcpy3DAsync", site, ::simt::import::on(stream)},
                          [p = *p, site] { ::simt::import::copy_volume("cudaMemcpy3DAsync", site, p, true); });
  return cudaPeekAtLastError();
}

enum cudaResourceType {
  cudaResourceTypeArray,
  cudaResourceTypeMipmappedArray,
  cudaResourceTypeLinear,
  cudaResourceTypePitch2D
};
struct cudaResourceDesc {
  cudaResourceType resType;
  struct {
    struct {
      cudaArray_t array;
    } array;
    struct {
      void* devPtr;
      cudaChannelFormatDesc desc;
      size_t sizeInBytes;
    } linear;
    struct {
      void* devPtr;
      cudaChannelFormatDesc desc;
      size_t width, height, pitchInBytes;
    } pitch2D;
  } res;
};
enum cudaTextureAddressMode { cudaAddressModeWrap, cudaAddressModeClamp, cudaAddressModeMirror, cudaAddressModeBorder };
enum cudaTextureFilterMode { cudaFilterModePoint, cudaFilterModeLinear };
enum cudaTextureReadMode { cudaReadModeElementType, cudaReadModeNormalizedFloat };
struct cudaTextureDesc {
  cudaTextureAddressMode addressMode[3];
  cudaTextureFilterMode filterMode;
  cudaTextureReadMode readMode;
  int sRGB;
  float borderColor[4];
  int normalizedCoords;
  unsigned maxAnisotropy;
};
struct cudaResourceViewDesc {};
using cudaTextureObject_t = unsigned long long;
using cudaSurfaceObject_t = unsigned long long;

namespace simt::import {

// A texture or surface object: texels in device memory, and how to read them.
struct texture {
  const char* data;
  cudaChannelFormatDesc desc;
  size_t size[3];  // texels; 0: not of that dimension
  size_t pitch;
  cudaTextureDesc how;
  cudaResourceDesc resource = {};  // as the program passed it
};

inline texture texture_of(const cudaResourceDesc& r, const cudaTextureDesc& how) {
  const auto& linear = r.res.linear;
  const auto& pitched = r.res.pitch2D;
  switch (r.resType) {
    case cudaResourceTypeLinear:
      return {static_cast<char*>(linear.devPtr),
              linear.desc,
              {linear.sizeInBytes / static_cast<size_t>(bytes_of(linear.desc)), 0, 0},
              0,
              how};
    case cudaResourceTypePitch2D:
      return {static_cast<char*>(pitched.devPtr),
              pitched.desc,
              {pitched.width, pitched.height, 0},
              pitched.pitchInBytes,
              how};
    default: break;
  }
  const cudaArray& a = *r.res.array.array;
  return {a.data, a.desc, {a.width, a.height, a.depth}, a.row(), how};
}

SIMT_INLINE double component(const char* p, int bits, cudaChannelFormatKind kind, bool normalized) {
  const auto read = [&](auto zero) __attribute__((always_inline)) {
    const auto v = *reinterpret_cast<const decltype(zero)*>(p);
    constexpr double most = std::is_floating_point_v<decltype(zero)>
                                ? 1.0
                                : static_cast<double>(std::numeric_limits<decltype(zero)>::max());
    if (!normalized) return static_cast<double>(v);
    return std::fmax(static_cast<double>(static_cast<float>(static_cast<double>(v) / most)), -1.0);
  };
  if (kind == cudaChannelFormatKindFloat) {
    if (bits == 32) return static_cast<double>(*reinterpret_cast<const float*>(p));
    return static_cast<double>(to_float(f16{*reinterpret_cast<const uint16_t*>(p)}));
  }
  const bool has_sign = kind == cudaChannelFormatKindSigned;
  switch (bits) {
    case 8: return has_sign ? read(static_cast<signed char>(0)) : read(static_cast<unsigned char>(0));
    case 16: return has_sign ? read(static_cast<short>(0)) : read(static_cast<unsigned short>(0));
    default: return has_sign ? read(0) : read(0u);
  }
}

struct fetched {
  double c[4];
};
SIMT_INLINE fetched load_texel(const texture& t, size_t x, size_t y, size_t z) {
  fetched f = {};
  const char* p =
      t.data + (z * (t.size[1] > 0 ? t.size[1] : 1) + y) * t.pitch + x * static_cast<size_t>(bytes_of(t.desc));
  const int bits[] = {t.desc.x, t.desc.y, t.desc.z, t.desc.w};
  for (int i = 0; i < 4 && bits[i] > 0; ++i) {
    f.c[i] = component(p, bits[i], t.desc.f, t.how.readMode == cudaReadModeNormalizedFloat);
    p += bits[i] / 8;
  }
  return f;
}

// Returns the texel's index along a dimension by the address mode, or -1 for the border. Wrap and mirror need
// normalized coordinates; for others they clamp.
inline long long addressed(const texture& t, int d, long long i) {
  const auto n = static_cast<long long>(t.size[d] > 0 ? t.size[d] : 1);
  if (i >= 0 && i < n) return i;
  const cudaTextureAddressMode mode = t.how.addressMode[d];
  if (mode == cudaAddressModeBorder) return -1;
  if (t.how.normalizedCoords && mode == cudaAddressModeWrap) return (i % n + n) % n;
  if (t.how.normalizedCoords && mode == cudaAddressModeMirror) {
    const long long m = (i % (2 * n) + 2 * n) % (2 * n);
    return m < n ? m : 2 * n - 1 - m;
  }
  return i < 0 ? 0 : n - 1;
}

SIMT_INLINE fetched texel_at(const texture& t, const long long (&i)[3]) {
  size_t at[3];
  for (int d = 0; d < 3; ++d) {
    const long long a = addressed(t, d, i[d]);
    if (a < 0) return {{t.how.borderColor[0], t.how.borderColor[1], t.how.borderColor[2], t.how.borderColor[3]}};
    at[d] = static_cast<size_t>(a);
  }
  return load_texel(t, at[0], at[1], at[2]);
}

SIMT_INLINE fetched sample(const texture& t, int dimensions, float x, float y = 0, float z = 0) {
  const float given[] = {x, y, z};
  long long first[3] = {};
  double weight[3] = {};
  for (int d = 0; d < dimensions; ++d) {
    float u = given[d];
    if (t.how.normalizedCoords) u *= static_cast<float>(t.size[d]);
    if (t.how.filterMode == cudaFilterModeLinear) u -= 0.5f;
    first[d] = static_cast<long long>(std::floor(u));
    if (t.how.filterMode == cudaFilterModeLinear) weight[d] = std::floor((u - std::floor(u)) * 256.0 + 0.5) / 256.0;
  }
  if (t.how.filterMode == cudaFilterModePoint) return texel_at(t, first);
  fetched sum = {};
  for (int corner = 0; corner < 1 << dimensions; ++corner) {
    long long i[3] = {};
    double w = 1;
    for (int d = 0; d < dimensions; ++d) {
      const bool upper = (corner >> d & 1) != 0;
      i[d] = first[d] + upper;
      w *= upper ? weight[d] : 1 - weight[d];
    }
    if (w == 0) continue;
    const fetched f = texel_at(t, i);
    for (int k = 0; k < 4; ++k) sum.c[k] += w * f.c[k];
  }
  for (double& c : sum.c) c = approximate("textures' linear filter", c);
  return sum;
}

inline const texture& named(cudaTextureObject_t object) { return *reinterpret_cast<const texture*>(object); }

// A layer, or a face of a cube, as a texture of its own; an index outside selects the first or last.
inline texture layer_of(const texture& t, int layer) {
  const int last = t.size[2] > 0 ? static_cast<int>(t.size[2]) - 1 : 0;
  const auto number = static_cast<size_t>(layer < 0 ? 0 : layer > last ? last : layer);
  texture one = t;
  one.data += number * (t.size[1] > 0 ? t.size[1] : 1) * t.pitch;
  one.size[2] = 0;
  return one;
}

// Returns the face that the direction meets, and the position on it (CUDA C++ Programming Guide, "Cubemap Textures").
// Filters stay within a face.
SIMT_INLINE fetched sample_cube(const texture& t, int layer, float x, float y, float z) {
  const float ax = std::fabs(x), ay = std::fabs(y), az = std::fabs(z);
  int face = z < 0 ? 5 : 4;
  float m = az, s = z < 0 ? -x : x, v = -y;
  if (ax >= ay && ax >= az) {
    face = x < 0 ? 1 : 0;
    m = ax, s = x < 0 ? z : -z;
  } else if (ay >= az) {
    face = y < 0 ? 3 : 2;
    m = ay, s = x, v = y < 0 ? -z : z;
  }
  texture one = layer_of(t, 6 * layer + face);
  one.how.normalizedCoords = 1;
  one.how.addressMode[0] = one.how.addressMode[1] = cudaAddressModeClamp;
  return sample(one, 2, (s / m + 1) / 2, (v / m + 1) / 2);
}

template <class T>
T as_texel(const fetched& f) {
  using info = texel<T>;
  typename info::scalar s[4] = {};
  for (int i = 0; i < info::components; ++i) s[i] = static_cast<typename info::scalar>(f.c[i]);
  T value;
  __builtin_memcpy(&value, s, sizeof value);
  return value;
}

}  // namespace simt::import

inline cudaError_t cudaCreateTextureObject(cudaTextureObject_t* object, const cudaResourceDesc* r,
                                           const cudaTextureDesc* how, const cudaResourceViewDesc* view, SIMT_SITE) {
  if (r->resType == cudaResourceTypeMipmappedArray || view != nullptr || how->sRGB || how->maxAnisotropy > 1)
    return ::simt::import::misuse(
        "cudaCreateTextureObject", site,
        "mipmaps, views, sRGB and anisotropic filters are not modelled on the emulated device", cudaErrorNotSupported);
  auto* const made = new ::simt::import::texture(::simt::import::texture_of(*r, *how));
  made->resource = *r;
  *object = reinterpret_cast<cudaTextureObject_t>(made);
  ++::simt::memory_layouts;  // another one may have had this address
  return cudaSuccess;
}
inline cudaError_t cudaGetTextureObjectResourceDesc(cudaResourceDesc* r, cudaTextureObject_t object) {
  *r = reinterpret_cast<const ::simt::import::texture*>(object)->resource;
  return cudaSuccess;
}
inline cudaError_t cudaGetTextureObjectTextureDesc(cudaTextureDesc* how, cudaTextureObject_t object) {
  *how = reinterpret_cast<const ::simt::import::texture*>(object)->how;
  return cudaSuccess;
}
inline cudaError_t cudaDestroyTextureObject(cudaTextureObject_t object) {
  delete reinterpret_cast<::simt::import::texture*>(object);
  return cudaSuccess;
}
inline cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t* object, const cudaResourceDesc* r) {
  *object = reinterpret_cast<cudaSurfaceObject_t>(r->res.array.array);
  return cudaSuccess;
}
inline cudaError_t cudaDestroySurfaceObject(cudaSurfaceObject_t) { return cudaSuccess; }

// Called in kernels. A read outside a linear texture returns 0.
template <class T>
SIMT_INLINE T tex1Dfetch(cudaTextureObject_t object, int i) {
  const auto& t = ::simt::import::named(object);
  if (i < 0 || static_cast<size_t>(i) >= t.size[0]) return T{};
  return ::simt::import::as_texel<T>(::simt::import::load_texel(t, static_cast<size_t>(i), 0, 0));
}
template <class T>
SIMT_INLINE T tex1D(cudaTextureObject_t object, float x) {
  return ::simt::import::as_texel<T>(::simt::import::sample(::simt::import::named(object), 1, x));
}
template <class T>
SIMT_INLINE T tex2D(cudaTextureObject_t object, float x, float y) {
  return ::simt::import::as_texel<T>(::simt::import::sample(::simt::import::named(object), 2, x, y));
}
template <class T>
SIMT_INLINE T tex3D(cudaTextureObject_t object, float x, float y, float z) {
  return ::simt::import::as_texel<T>(::simt::import::sample(::simt::import::named(object), 3, x, y, z));
}
template <class T>
SIMT_INLINE T tex1DLayered(cudaTextureObject_t object, float x, int layer) {
  const ::simt::import::texture one = ::simt::import::layer_of(::simt::import::named(object), layer);
  return ::simt::import::as_texel<T>(::simt::import::sample(one, 1, x));
}
template <class T>
SIMT_INLINE T tex2DLayered(cudaTextureObject_t object, float x, float y, int layer) {
  const ::simt::import::texture one = ::simt::import::layer_of(::simt::import::named(object), layer);
  return ::simt::import::as_texel<T>(::simt::import::sample(one, 2, x, y));
}
template <class T>
SIMT_INLINE T texCubemap(cudaTextureObject_t object, float x, float y, float z) {
  return ::simt::import::as_texel<T>(::simt::import::sample_cube(::simt::import::named(object), 0, x, y, z));
}
template <class T>
SIMT_INLINE T texCubemapLayered(cudaTextureObject_t object, float x, float y, float z, int layer) {
  return ::simt::import::as_texel<T>(::simt::import::sample_cube(::simt::import::named(object), layer, x, y, z));
}
template <class T>
SIMT_INLINE void tex1Dfetch(T* v, cudaTextureObject_t object, int i) {
  *v = tex1Dfetch<T>(object, i);
}
template <class T>
SIMT_INLINE void tex2D(T* v, cudaTextureObject_t object, float x, float y) {
  *v = tex2D<T>(object, x, y);
}

// Surfaces: x counts bytes. Outside the array: trap, clamp to the last element, or no access.
enum cudaSurfaceBoundaryMode { cudaBoundaryModeZero, cudaBoundaryModeClamp, cudaBoundaryModeTrap };

namespace simt::import {

// Returns the address of an element, or nullptr if there is none.
inline char* surface_place(cudaSurfaceObject_t object, size_t bytes, int x, int y, int z, cudaSurfaceBoundaryMode mode,
                           const site& where) {
  const auto& a = *reinterpret_cast<const cudaArray*>(object);
  const auto row = static_cast<int>(a.row() - bytes), last_y = static_cast<int>(a.rows()) - 1;
  const int last_z = a.depth > 0 ? static_cast<int>(a.depth) - 1 : 0;
  const bool inside = x >= 0 && x <= row && y >= 0 && y <= last_y && z >= 0 && z <= last_z;
  if (!inside && mode == cudaBoundaryModeZero) return nullptr;
  if (!inside && mode == cudaBoundaryModeTrap) {
    report("out_of_bounds",
           "a surface access at " + describe(where) + " at byte " + std::to_string(x) + " of row " + std::to_string(y) +
               " of slice " + std::to_string(z) + ", off an array of " + std::to_string(a.row()) + " bytes a row, " +
               std::to_string(a.rows()) + " rows and " + std::to_string(last_z + 1) + " slices",
           true);
    __builtin_trap();
  }
  const auto clamp = [](int v, int most) { return static_cast<size_t>(v < 0 ? 0 : v > most ? most : v); };
  return a.at(clamp(x, row), clamp(y, last_y), clamp(z, last_z));
}
template <class T>
SIMT_INLINE T surface_read(cudaSurfaceObject_t o, int x, int y, int z, cudaSurfaceBoundaryMode mode,
                           const site& where) {
  const char* const p = surface_place(o, sizeof(T), x, y, z, mode, where);
  return p == nullptr ? T{} : *reinterpret_cast<const T*>(p);
}
template <class T>
SIMT_INLINE void surface_write(const T& v, cudaSurfaceObject_t o, int x, int y, int z, cudaSurfaceBoundaryMode mode,
                               const site& where) {
  if (char* const p = surface_place(o, sizeof(T), x, y, z, mode, where)) *reinterpret_cast<T*>(p) = v;
}

}  // namespace simt::import

#define SIMT_IMPORT_SURFACE(name, parameters, x, y, z)                                                             \
  template <class T>                                                                                               \
  SIMT_INLINE T name##read(cudaSurfaceObject_t o, parameters, cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap, \
                           SIMT_SITE) {                                                                            \
    return ::simt::import::surface_read<T>(o, x, y, z, mode, site);                                                \
  }                                                                                                                \
  template <class T>                                                                                               \
  SIMT_INLINE void name##read(T* v, cudaSurfaceObject_t o, parameters,                                             \
                              cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap, SIMT_SITE) {                    \
    *v = ::simt::import::surface_read<T>(o, x, y, z, mode, site);                                                  \
  }                                                                                                                \
  template <class T>                                                                                               \
  SIMT_INLINE void name##write(T v, cudaSurfaceObject_t o, parameters,                                             \
                               cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap, SIMT_SITE) {                   \
    ::simt::import::surface_write(v, o, x, y, z, mode, site);                                                      \
  }
#define SIMT_IMPORT_COMMA ,
SIMT_IMPORT_SURFACE(surf1D, int i, i, 0, 0)
SIMT_IMPORT_SURFACE(surf2D, int i SIMT_IMPORT_COMMA int j, i, j, 0)
SIMT_IMPORT_SURFACE(surf3D, int i SIMT_IMPORT_COMMA int j SIMT_IMPORT_COMMA int k, i, j, k)
#undef SIMT_IMPORT_COMMA
#undef SIMT_IMPORT_SURFACE
