// Matrix product: see the contract in matmul.hpp. matmul_regions and matmul/plan.hpp choose the kernel. The kernels:
// matmul/tile.hpp and vector.hpp in f32, matmul/pack.hpp, warps.hpp and warpgroups.hpp on tensor cores, mapped.hpp
// without packing.
#include "kernels/matmul/matmul.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "kernels/matmul/arguments.hpp"
#include "kernels/matmul/mapped.hpp"
#include "kernels/matmul/pack.hpp"
#include "kernels/matmul/plan.hpp"
#include "kernels/matmul/tile.hpp"
#include "kernels/matmul/vector.hpp"
#include "kernels/matmul/warpgroups.hpp"
#include "kernels/matmul/warps.hpp"
#include "kernels/primitives/grid.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {
namespace {

template <class T>
void check_options(matmul_options options, int64_t m, int64_t n, int64_t k) {
  const int mode = static_cast<int>(options.mode);
  if (options.mode > matmul_mode::bf16x1)
    throw std::invalid_argument("mode is " + std::to_string(mode) +
                                ", must be 0 (ieee), 1 (tf32x3), 2 (bf16x6), 3 (tf32x1) or 4 (bf16x1)");
  if (!std::is_same_v<T, float> && options.mode != matmul_mode::ieee)
    throw std::invalid_argument("mode is " + std::to_string(mode) + ", must be 0 (ieee) for 16-bit inputs");
  const auto check_extent = [](const char* name, int64_t extent) {
    if (extent < 0) throw std::invalid_argument(std::string(name) + " is " + std::to_string(extent) + ", must be >= 0");
  };
  check_extent("m", m);
  check_extent("n", n);
  check_extent("k", k);
}

void check_trans(const char* name, trans t) {
  if (t > trans::yes)
    throw std::invalid_argument(std::string(name) + " is " + std::to_string(static_cast<int>(t)) + ", must be 0 or 1");
}

// True if a variant may be forced: it is one of the mode's, and `vector` needs a vector.
template <class T>
void check_variant(matmul_variant variant, matmul_options options, int64_t m, int64_t n) {
  if (variant == matmul_variant::automatic) return;
  const bool tensor_cores = matmul_on_tensor_cores<T>(options);
  const matmul_variant first = tensor_cores ? matmul_variant::warps : matmul_variant::vector;
  const matmul_variant last = tensor_cores ? matmul_variant::warpgroups : matmul_variant::square;
  const bool splits = options.mode == matmul_mode::tf32x3 || options.mode == matmul_mode::bf16x6;
  const bool is_thin = tensor_cores && (variant == matmul_variant::vector ? splits || !std::is_same_v<T, float>
                                                                          : splits && variant == matmul_variant::small);
  if ((variant < first || variant > last) && !is_thin)
    throw std::invalid_argument("variant is " + std::to_string(static_cast<int>(variant)) + ", must be 0 (automatic)" +
                                (splits                      ? ", 2, 3"
                                 : !std::is_same_v<T, float> ? ", 2"
                                                             : "") +
                                " or " + std::to_string(static_cast<int>(first)) + " to " +
                                std::to_string(static_cast<int>(last)) + " for these types and this mode");
  if (variant == matmul_variant::vector && m > 1 && n > 1)
    throw std::invalid_argument("variant is 2 (vector), must be another where m = " + std::to_string(m) +
                                " and n = " + std::to_string(n) + " are both above 1");
}

// True if rows of vectors of this many elements are aligned.
template <class T>
bool vectors_at(const T* data, int64_t ld, int64_t elements) {
  return reinterpret_cast<uintptr_t>(data) % (static_cast<size_t>(elements) * sizeof(T)) == 0 && ld % elements == 0;
}

// A call's operands and its epilogue, after all checks; m, n, k >= 1.
template <class T, class TC>
struct matmul_task {
  bool ta, tb;
  int64_t m, n, k;
  const T* a;
  int64_t lda;
  const T* b;
  int64_t ldb;
  matmul_epilogue<TC> epilogue;
  matmul_slices slices;
  unsigned char* work;
  matmul_space space;
  simt::stream_t stream;

  matmul_partials partials() const {
    float* const data = slices.count > 1 ? reinterpret_cast<float*>(work + space.partials) : nullptr;
    return {data, m, matmul_partial_pitch(n)};
  }
};

matmul_operand operand(const float* data, int64_t ld, bool k_contiguous) {
  if (k_contiguous) return {data, ld, 1, matmul_layout::along_k};
  return {data, 1, ld, vectors_at(data, ld, 4) ? matmul_layout::vectors : matmul_layout::along_outer};
}

unsigned checked_blocks(int64_t tiles_m, int64_t tiles_n, int64_t slices) {
  constexpr int64_t k_most_blocks = std::numeric_limits<int32_t>::max();
  if (tiles_m > k_most_blocks / slices / tiles_n)
    throw simt::device_error("launch_limit: tiles are " + std::to_string(tiles_m) + " x " + std::to_string(tiles_n) +
                             " of " + std::to_string(slices) + " slices, allowed are together at most " +
                             std::to_string(k_most_blocks));
  return static_cast<unsigned>(tiles_m * tiles_n * slices);
}

// The product of tiles in f32; Flagged: only of flagged rows and columns, uncut.
template <class Shape, bool Flagged = false>
void launch_tiles(const matmul_task<float, float>& t) {
  const bool cut = !Flagged && t.slices.count > 1;
  const int64_t tiles_m = ceil_div(t.m, Shape::k_m), tiles_n = ceil_div(t.n, Shape::k_n);
  const matmul_partials none{nullptr, t.m, 0};
  const matmul_product product{operand(t.a, t.lda, !t.ta),
                               operand(t.b, t.ldb, t.tb),
                               t.m,
                               t.n,
                               t.k,
                               cut ? t.slices.length : t.k,
                               tiles_m,
                               tiles_n,
                               cut ? t.partials() : none,
                               t.epilogue};
  const simt::launch_config config{checked_blocks(tiles_m, tiles_n, cut ? t.slices.count : 1), Shape::k_threads,
                                   Shape::k_shared_bytes, t.stream};
  simt::launch(config, matmul_tile<Shape, Flagged>, product);
}

// The product of a matrix and a vector; n = 1, or m = 1. Returns true if the slices are added already: one block has
// all slices of an element if shared memory has room for them.
template <class T, class TC>
bool launch_vector(const matmul_task<T, TC>& t, bool promotes) {
  using shape = matmul_vector_shape<T>;
  const bool is_row = t.n > 1, along_k = is_row ? t.tb : !t.ta, vector_is_dense = is_row ? !t.ta : t.tb;
  const T *const matrix = is_row ? t.b : t.a, *const vector = is_row ? t.a : t.b;
  const int64_t ld = is_row ? t.ldb : t.lda, vector_ld = is_row ? t.lda : t.ldb;
  const auto room =
      static_cast<int64_t>(simt::device_properties(t.stream).shared_per_block_optin / shape::shared_bytes(1));
  const int64_t warps = std::min<int64_t>({t.slices.count, shape::k_warps, room});
  const int64_t groups = ceil_div(t.slices.count, warps);
  const int64_t outer = is_row ? t.n : t.m, stride = vector_is_dense ? 1 : vector_ld;
  const matmul_partials none{nullptr, t.m, 0};
  const matmul_vector_product<T, TC> product{matrix,         ld,
                                             along_k,        vectors_at(matrix, ld, shape::k_vector),
                                             vector,         stride,
                                             outer,          t.k,
                                             t.slices.count, t.slices.length,
                                             is_row,         stride == 1 && vectors_at(vector, 0, 4 / sizeof(T)),
                                             promotes,       groups > 1 ? t.partials() : none,
                                             t.epilogue};
  const simt::launch_config config{checked_blocks(ceil_div(outer, shape::k_outer), groups, 1),
                                   static_cast<unsigned>(32 * warps), shape::shared_bytes(static_cast<int>(warps)),
                                   t.stream};
  simt::launch(config, matmul_vector<T, TC>, product);
  return groups == 1;
}

template <class TC>
void launch_finish(const matmul_partials& partials, int64_t slices, int64_t m, int64_t n,
                   const matmul_epilogue<TC>& epilogue, simt::stream_t stream) {
  const int64_t vectors = m * (matmul_partial_pitch(n) / 4);
  simt::launch_config config{resident_grid_size(ceil_div(vectors, k_finish_threads), stream), k_finish_threads, 0,
                             stream};
  config.programmatic_launch = slices > 0;
  simt::launch(config, matmul_finish<TC>, partials, slices, m, n, epilogue);
}

// Packs the operands into panels, and flags elements that are not finite.
template <class Arithmetic, class TC>
void launch_pack(const matmul_task<typename Arithmetic::input, TC>& t) {
  using panel = matmul_panel<Arithmetic>;
  using T = typename Arithmetic::input;
  const auto source = [&](const T* data, int64_t ld, bool k_contiguous, int64_t outer, int64_t space, unsigned* flags) {
    constexpr auto k_vector = static_cast<int64_t>(16 / sizeof(T));
    return matmul_source<T>{data,
                            k_contiguous ? ld : 1,
                            k_contiguous ? 1 : ld,
                            k_contiguous && vectors_at(data, ld, k_vector),
                            outer,
                            t.work + space,
                            flags};
  };
  const matmul_flags& flags = t.epilogue.flags;
  if (t.space.flag_words > 0)
    simt::memset_async(flags.any, 0, static_cast<size_t>(t.space.flag_words) * sizeof(unsigned), t.stream);
  const int64_t along_k = matmul_pack_blocks_along_k<Arithmetic>(ceil_div(t.k, Arithmetic::k_depth));
  const int64_t a_tiles = ceil_div(t.m, panel::k_outer), b_tiles = ceil_div(t.n, panel::k_outer);
  const simt::launch_config config{checked_blocks(a_tiles + b_tiles, along_k, 1), k_pack_threads, 0, t.stream};
  simt::launch(config, matmul_pack<Arithmetic>, source(t.a, t.lda, !t.ta, t.m, t.space.a, flags.rows),
               source(t.b, t.ldb, t.tb, t.n, t.space.b, flags.columns), t.k, a_tiles * along_k, flags.any);
}

template <class Arithmetic, class Shape, class TC>
matmul_panel_product<TC> panel_product(const matmul_task<typename Arithmetic::input, TC>& t) {
  using panel = matmul_panel<Arithmetic>;
  return {{t.work + t.space.a, ceil_div(t.m, panel::k_outer)},
          {t.work + t.space.b, ceil_div(t.n, panel::k_outer)},
          t.m,
          t.n,
          ceil_div(t.k, Arithmetic::k_depth),
          ceil_div(t.slices.length, Arithmetic::k_depth),
          ceil_div(t.m, Shape::k_m),
          ceil_div(t.n, Shape::k_n),
          t.partials(),
          t.epilogue};
}

template <class Arithmetic, class Shape, class TC>
void launch_panels(const matmul_task<typename Arithmetic::input, TC>& t, void (*kernel)(matmul_panel_product<TC>)) {
  const matmul_panel_product<TC> product = panel_product<Arithmetic, Shape>(t);
  const simt::launch_config config{checked_blocks(product.tiles_m, product.tiles_n, t.slices.count), Shape::k_threads,
                                   Shape::k_shared_bytes, t.stream};
  simt::launch(config, kernel, product);
}

// An operand as tensor maps read it: rows of `ld` elements, along k or along the outer index.
template <class T>
struct matmul_mapped_operand {
  const T* data;
  int64_t ld;
  bool along_k;
  int64_t outer, k;

  bool can_be_mapped() const {
    constexpr int64_t k_most_coordinate = int64_t{1} << 30, k_most_pitch = int64_t{1} << 38;
    return vectors_at(data, ld, k_vector) && ld < k_most_pitch && std::max(outer, k) <= k_most_coordinate;
  }
  simt::tensor_map map() const {
    return simt::make_tensor_map(data, along_k ? outer : k, along_k ? k : outer, ld * static_cast<int64_t>(sizeof(T)),
                                 64, 64, simt::swizzle::b128);
  }
  // A dense vector is one row along k, with any leading dimension.
  static matmul_mapped_operand of(const T* data, int64_t ld, bool along_k, int64_t outer, int64_t k) {
    if (outer == 1 && (along_k || ld == 1)) return {data, ceil_div(k, k_vector) * k_vector, true, outer, k};
    return {data, ld, along_k, outer, k};
  }

 private:
  static constexpr auto k_vector = static_cast<int64_t>(16 / sizeof(T));
};

template <simt::major MajorA, simt::major MajorB, class T, class TC>
void launch_mapped(const matmul_mapped_operand<T>& a, const matmul_mapped_operand<T>& b, const matmul_task<T, TC>& t) {
  using shape = matmul_mapped_shape<T, MajorA, MajorB>;
  const matmul_panel_product<TC> product = panel_product<matmul_16_bit<T>, shape>(t);
  const unsigned blocks = checked_blocks(product.tiles_m, product.tiles_n, t.slices.count);
  const auto sms = static_cast<unsigned>(simt::device_properties(t.stream).sm_count);
  const simt::launch_config config{std::min(blocks, sms), shape::k_threads, shape::k_shared_bytes, t.stream};
  simt::launch(config, matmul_mapped<shape, TC>, a.map(), b.map(), product, blocks);
}

// Multiplies 16-bit operands without packing them, if their alignment allows it. Returns true if it did.
template <class T, class TC>
bool multiply_mapped(const matmul_task<T, TC>& t) {
  using simt::major;
  const auto a = matmul_mapped_operand<T>::of(t.a, t.lda, !t.ta, t.m, t.k);
  const auto b = matmul_mapped_operand<T>::of(t.b, t.ldb, t.tb, t.n, t.k);
  if (!a.can_be_mapped() || !b.can_be_mapped()) return false;
  if (a.along_k)
    b.along_k ? launch_mapped<major::k, major::k>(a, b, t) : launch_mapped<major::k, major::mn>(a, b, t);
  else
    b.along_k ? launch_mapped<major::mn, major::k>(a, b, t) : launch_mapped<major::mn, major::mn>(a, b, t);
  return true;
}

// wgmma needs compute capability 9.0, like clusters.
bool has_warpgroups(simt::stream_t stream) { return simt::device_properties(stream).max_cluster > 1; }

// The product on tensor cores, without elements that split parts cannot represent. Returns the variant that ran.
template <class Arithmetic, class TC>
matmul_variant multiply_panels(matmul_variant variant, const matmul_task<typename Arithmetic::input, TC>& t) {
  using one = matmul_one_warpgroup_shape<Arithmetic>;
  using two = matmul_two_warpgroups_shape<Arithmetic>;
  if (!has_warpgroups(t.stream)) variant = matmul_variant::warps;
  if constexpr (!matmul_panel<Arithmetic>::k_splits)
    if (variant == matmul_variant::warpgroups && multiply_mapped(t)) return variant;
  launch_pack<Arithmetic>(t);
  switch (variant) {
    case matmul_variant::warpgroup: launch_panels<Arithmetic, one>(t, matmul_warpgroups<Arithmetic, one, TC>); break;
    case matmul_variant::warpgroups: launch_panels<Arithmetic, two>(t, matmul_warpgroups<Arithmetic, two, TC>); break;
    default: launch_panels<Arithmetic, matmul_warps_shape<Arithmetic>>(t, matmul_warps<Arithmetic, TC>); break;
  }
  return variant;
}

// The whole product, for m, n, k >= 1 and alpha other than 0.
template <class T, class TC>
matmul_variant multiply(matmul_variant variant, matmul_mode mode, matmul_task<T, TC>& t) {
  bool is_added = t.slices.count == 1;
  if (!matmul_multiplies_in_f32(variant)) {
    if (t.space.flag_words > 0) {
      auto* const words = reinterpret_cast<unsigned*>(t.work + t.space.flags);
      t.epilogue.flags = {words, words + 1, words + 1 + t.m};
    }
    variant = matmul_with_arithmetic<T>(
        mode, [&](auto arithmetic) { return multiply_panels<decltype(arithmetic)>(variant, t); });
  } else if (variant == matmul_variant::vector) {
    is_added = launch_vector(t, matmul_on_tensor_cores<T>({mode}));
  } else if constexpr (std::is_same_v<T, float>) {
    matmul_with_shape(variant, mode, [&](auto shape) { launch_tiles<decltype(shape)>(t); });
  }
  if (!is_added) launch_finish(t.partials(), t.slices.count, t.m, t.n, t.epilogue, t.stream);
  if constexpr (std::is_same_v<T, float>)
    if (t.epilogue.flags.any != nullptr) launch_tiles<matmul_small_shape, true>(t);
  return variant;
}

}  // namespace

template <class T, class TC>
matmul_slices matmul_plan(matmul_options options, int64_t m, int64_t n, int64_t k) {
  check_options<T>(options, m, n, k);
  if (k == 0) return {0, 0};
  if (m == 0 || n == 0) return {1, k};
  return matmul_slices_of<T>(options, m, n, k);
}

template <class T, class TC>
int64_t matmul_work_bytes(matmul_options options, int64_t m, int64_t n, int64_t k) {
  check_options<T>(options, m, n, k);
  return matmul_space_of<T>(options, m, n, k).bytes;
}

template <class T, class TC>
std::vector<matmul_region> matmul_regions(matmul_options options) {
  check_options<T>(options, 0, 0, 0);
  return matmul_regions_of<T>(options);
}

template <class T, class TC>
matmul_variant matmul_with(matmul_variant variant, trans ta, trans tb, int64_t m, int64_t n, int64_t k, float alpha,
                           const T* a, int64_t lda, const T* b, int64_t ldb, float beta, TC* c, int64_t ldc,
                           perceptron epilogue, matmul_options options, void* work, int64_t work_bytes,
                           simt::stream_t stream) {
  check_options<T>(options, m, n, k);
  check_trans("ta", ta);
  check_trans("tb", tb);
  check_variant<T>(variant, options, m, n);
  const matmul_space space = matmul_space_of<T>(options, m, n, k);
  check_matmul_arguments<T, TC>(ta == trans::yes, tb == trans::yes, m, n, k, a, lda, b, ldb, c, ldc, epilogue.bias,
                                work, work_bytes, space.bytes);
  if (m == 0 || n == 0) return matmul_variant::automatic;

  const matmul_epilogue<TC> finish{alpha,
                                   beta,
                                   c,
                                   ldc,
                                   vectors_at(c, ldc, 4),
                                   epilogue.bias,
                                   epilogue.sigmoid,
                                   epilogue.mu,
                                   epilogue.sigma,
                                   {nullptr, nullptr, nullptr}};
  if (k == 0 || alpha == 0.0f) {
    launch_finish({nullptr, m, 0}, 0, m, n, finish, stream);
    return matmul_variant::epilogue;
  }
  if (variant == matmul_variant::automatic) variant = matmul_variant_of<T>(options, m, n, k);
  matmul_task<T, TC> task{ta == trans::yes,
                          tb == trans::yes,
                          m,
                          n,
                          k,
                          a,
                          lda,
                          b,
                          ldb,
                          finish,
                          matmul_slices_of<T>(options, m, n, k),
                          static_cast<unsigned char*>(work),
                          space,
                          stream};
  return multiply(variant, options.mode, task);
}

template <class T, class TC>
void matmul(trans ta, trans tb, int64_t m, int64_t n, int64_t k, float alpha, const T* a, int64_t lda, const T* b,
            int64_t ldb, float beta, TC* c, int64_t ldc, perceptron epilogue, matmul_options options, void* work,
            int64_t work_bytes, simt::stream_t stream) {
  matmul_with<T, TC>(matmul_variant::automatic, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, epilogue, options,
                     work, work_bytes, stream);
}

#define WARPCHECK_MATMUL(T, TC)                                                                                        \
  template void matmul<T, TC>(trans, trans, int64_t, int64_t, int64_t, float, const T*, int64_t, const T*, int64_t,    \
                              float, TC*, int64_t, perceptron, matmul_options, void*, int64_t, simt::stream_t);        \
  template matmul_variant matmul_with<T, TC>(matmul_variant, trans, trans, int64_t, int64_t, int64_t, float, const T*, \
                                             int64_t, const T*, int64_t, float, TC*, int64_t, perceptron,              \
                                             matmul_options, void*, int64_t, simt::stream_t);                          \
  template int64_t matmul_work_bytes<T, TC>(matmul_options, int64_t, int64_t, int64_t);                                \
  template matmul_slices matmul_plan<T, TC>(matmul_options, int64_t, int64_t, int64_t);                                \
  template std::vector<matmul_region> matmul_regions<T, TC>(matmul_options);
#ifndef WARPCHECK_ONLY_TYPE
WARPCHECK_MATMUL(float, float)
WARPCHECK_MATMUL(simt::f16, float)
WARPCHECK_MATMUL(simt::f16, simt::f16)
WARPCHECK_MATMUL(simt::bf16, float)
WARPCHECK_MATMUL(simt::bf16, simt::bf16)
#endif
#undef WARPCHECK_MATMUL

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck

#include "kernels/matmul/abi_adapter.hpp"
