// The ABI adapter (candidate.h) of matmul. Where a call has no work, or work of no bytes, it allocates its own.
//
// Variants are the techniques of matmul_variant; those that serve modes of split operands once for each, whose name
// they bear; those on tensor cores once for 16-bit inputs. matmul_regions and nothing else of them is published.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <exception>
#include <iterator>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernels/candidate_support.hpp"
#include "kernels/matmul/call.hpp"
#include "kernels/matmul/matmul.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

struct matmul_technique {
  const char* name;
  matmul_variant variant;
  matmul_mode mode;
  uint32_t dtypes;
};
constexpr matmul_technique k_matmul_techniques[] = {
    {"matmul_epilogue", matmul_variant::epilogue, matmul_mode::ieee, k_matmul_dtypes},
    {"matmul_vector", matmul_variant::vector, matmul_mode::ieee, k_matmul_dtypes},
    {"matmul_vector_tf32x3", matmul_variant::vector, matmul_mode::tf32x3, WARPCHECK_F32},
    {"matmul_vector_bf16x6", matmul_variant::vector, matmul_mode::bf16x6, WARPCHECK_F32},
    {"matmul_small", matmul_variant::small, matmul_mode::ieee, WARPCHECK_F32},
    {"matmul_small_tf32x3", matmul_variant::small, matmul_mode::tf32x3, WARPCHECK_F32},
    {"matmul_small_bf16x6", matmul_variant::small, matmul_mode::bf16x6, WARPCHECK_F32},
    {"matmul_wide", matmul_variant::wide, matmul_mode::ieee, WARPCHECK_F32},
    {"matmul_square", matmul_variant::square, matmul_mode::ieee, WARPCHECK_F32},
    {"matmul_warps", matmul_variant::warps, matmul_mode::ieee, WARPCHECK_F16 | WARPCHECK_BF16},
    {"matmul_warps_tf32x3", matmul_variant::warps, matmul_mode::tf32x3, WARPCHECK_F32},
    {"matmul_warps_bf16x6", matmul_variant::warps, matmul_mode::bf16x6, WARPCHECK_F32},
    {"matmul_warpgroup", matmul_variant::warpgroup, matmul_mode::ieee, WARPCHECK_F16 | WARPCHECK_BF16},
    {"matmul_warpgroup_tf32x3", matmul_variant::warpgroup, matmul_mode::tf32x3, WARPCHECK_F32},
    {"matmul_warpgroup_bf16x6", matmul_variant::warpgroup, matmul_mode::bf16x6, WARPCHECK_F32},
    {"matmul_warpgroups", matmul_variant::warpgroups, matmul_mode::ieee, WARPCHECK_F16 | WARPCHECK_BF16},
    {"matmul_warpgroups_tf32x3", matmul_variant::warpgroups, matmul_mode::tf32x3, WARPCHECK_F32},
    {"matmul_warpgroups_bf16x6", matmul_variant::warpgroups, matmul_mode::bf16x6, WARPCHECK_F32},
};

// The technique of a variant that serves calls of this mode and type; -1: none.
inline int matmul_technique_of(matmul_variant variant, matmul_mode mode, uint32_t dtype) {
  for (size_t i = 0; i < std::size(k_matmul_techniques); ++i) {
    const matmul_technique& t = k_matmul_techniques[i];
    const bool of_mode = t.mode == mode || variant == matmul_variant::epilogue;
    if (t.variant == variant && of_mode && (t.dtypes & dtype) != 0) return static_cast<int>(i);
  }
  return -1;
}

// True if nothing is multiplied, so that there is no choice of techniques.
inline bool is_without_product(const matmul_call& c) { return c.m <= 0 || c.n <= 0 || c.k <= 0 || c.alpha == 0.0f; }

inline bool serves(const matmul_technique& t, const matmul_call& c) {
  if (t.variant == matmul_variant::epilogue) return c.k == 0 || c.alpha == 0.0f;
  if (t.variant == matmul_variant::vector && c.m > 1 && c.n > 1) return false;
  return t.mode == c.options.mode && (t.dtypes & c.a.type) != 0;
}

inline matmul_variant forced_matmul_variant(const warpcheck_call* call, const matmul_call& c) {
  if (call->variant == nullptr) return matmul_variant::automatic;
  for (const matmul_technique& t : k_matmul_techniques) {
    if (std::strcmp(t.name, call->variant) != 0) continue;
    if (is_without_product(c)) return matmul_variant::automatic;
    if (!serves(t, c)) throw unsupported_call("variant " + std::string(call->variant) + " does not take this call");
    return t.variant;
  }
  throw unsupported_call("variant " + std::string(call->variant) + " does not exist");
}

inline warpcheck_status run_matmul_call(warpcheck_call* call) {
  return candidate_call(call, [&] {
    matmul_call c = read_matmul_call(call);
    const auto stream = static_cast<simt::stream_t>(call->stream);
    with_matmul_types(c, [&](auto type, auto output) {
      using T = typename decltype(type)::type;
      using TC = typename decltype(output)::type;
      const matmul_variant forced = forced_matmul_variant(call, c);
      // The API checks extents that are not valid.
      const bool needs_own = c.work_bytes == 0 && c.m > 0 && c.n > 0 && c.k > 0;
      const int64_t own = needs_own ? matmul_work_bytes<T, TC>(c.options, c.m, c.n, c.k) : 0;
      const simt::buffer<float4> space(static_cast<size_t>(std::max<int64_t>(1, own / 16)), stream);
      if (needs_own) c.work = space.data(), c.work_bytes = own;
      const matmul_variant used = matmul_with<T, TC>(
          forced, c.ta, c.tb, c.m, c.n, c.k, c.alpha, c.a.template as<T>(), c.a.ld, c.b.template as<T>(), c.b.ld,
          c.beta, c.c.template as<TC>(), c.c.ld, c.epilogue, c.options, c.work, c.work_bytes, stream);
      const int technique = matmul_technique_of(used, c.options.mode, c.a.type);
      if (technique >= 0) call->used_variant = k_matmul_techniques[technique].name;
    });
  });
}

// The variant of the box that the call lies in.
inline matmul_variant picked_matmul_variant(const matmul_call& c, simt::stream_t stream) {
  auto picked = matmul_variant::automatic;
  if (c.m <= 0 || c.n <= 0) return picked;
  if (c.k == 0 || c.alpha == 0.0f) return matmul_variant::epilogue;
  const auto within = [](const int64_t(&range)[2], int64_t x) {
    return range[0] <= x && (x <= range[1] || range[1] < 0);
  };
  with_matmul_types(c, [&](auto type, auto output) {
    using T = typename decltype(type)::type;
    using TC = typename decltype(output)::type;
    for (const matmul_region& r : matmul_regions<T, TC>(c.options))
      if (within(r.m, c.m) && within(r.n, c.n) && within(r.k, c.k)) picked = r.variant;
  });
  const bool on_warpgroups = picked == matmul_variant::warpgroup || picked == matmul_variant::warpgroups;
  // Without wgmma (and clusters, which came with it), warps take its place.
  if (on_warpgroups && simt::device_properties(stream).max_cluster <= 1) return matmul_variant::warps;
  return picked;
}

inline const char* pick_matmul_variant(const warpcheck_call* call) {
  try {
    const matmul_call c = read_matmul_call(call);
    const matmul_variant picked = picked_matmul_variant(c, static_cast<simt::stream_t>(call->stream));
    const int technique = matmul_technique_of(picked, c.options.mode, c.a.type);
    return technique < 0 ? nullptr : k_matmul_techniques[technique].name;
  } catch (const std::exception&) {  // not a legal call, or none that is offered
    return nullptr;
  }
}

template <int Technique>
int32_t accepts_matmul_call(const warpcheck_call* call) {
  try {
    return serves(k_matmul_techniques[Technique], read_matmul_call(call)) ? 1 : 0;
  } catch (const std::exception&) {
    return 0;
  }
}

// The table of the boxes of every option: a variant's ranges span its boxes, boundaries are the ends of boxes.
class matmul_table {
 public:
  matmul_table() {
    add_variants(std::make_integer_sequence<int, static_cast<int>(std::size(k_matmul_techniques))>());
    for (const matmul_mode mode : {matmul_mode::ieee, matmul_mode::tf32x3, matmul_mode::bf16x6})
      add_boxes<float>(mode, WARPCHECK_F32);
    add_boxes<simt::f16>(matmul_mode::ieee, WARPCHECK_F16);
    add_boxes<simt::bf16>(matmul_mode::ieee, WARPCHECK_BF16);
    operator_ = {sizeof(warpcheck_operator),
                 "matmul",
                 k_candidate_device,
                 k_matmul_dtypes,
                 3,
                 k_matmul_extents,
                 variants_,
                 static_cast<int32_t>(std::size(variants_)),
                 {},
                 run_matmul_call,
                 pick_matmul_variant};
    for (int e = 0; e < 3; ++e) {
      // Boundaries of tiles and of steps along k, within the boxes.
      boundaries_[e].insert(boundaries_[e].end(), {4, 8, 16, 32, 64, 128, 256});
      std::sort(boundaries_[e].begin(), boundaries_[e].end());
      boundaries_[e].erase(std::unique(boundaries_[e].begin(), boundaries_[e].end()), boundaries_[e].end());
      operator_.boundaries[e] = {boundaries_[e].data(), static_cast<int32_t>(boundaries_[e].size())};
    }
  }
  const warpcheck_operator* get() const { return &operator_; }

 private:
  template <int... Index>
  void add_variants(std::integer_sequence<int, Index...>) {
    // Nothing is selected (1 to 0) until a box changes it.
    ((variants_[Index] = {sizeof(warpcheck_variant),
                          k_matmul_techniques[Index].name,
                          k_matmul_techniques[Index].dtypes,
                          {{1, -1, 1, 0}, {1, -1, 1, 0}, {1, -1, 1, 0}},
                          accepts_matmul_call<Index>}),
     ...);
    variants_[0].ranges[2].min = 0;  // matmul_epilogue
  }

  template <class T>
  void add_boxes(matmul_mode mode, uint32_t dtype) {
    if constexpr (k_is_built<T>)
      for (const bool rows_alone : {false, true})
        for (const matmul_region& r : matmul_regions<T, float>({mode, rows_alone}))
          add_box(r, variants_[matmul_technique_of(r.variant, mode, dtype)]);
  }

  void add_box(const matmul_region& r, warpcheck_variant& variant) {
    const int64_t* const of_extent[] = {r.m, r.n, r.k};
    for (int e = 0; e < 3; ++e) {
      const int64_t least = of_extent[e][0], most = of_extent[e][1];
      warpcheck_range& range = variant.ranges[e];
      if (range.dispatch_min > range.dispatch_max && range.dispatch_max >= 0) {
        range.dispatch_min = least;
        range.dispatch_max = most;
      } else {
        range.dispatch_min = std::min(range.dispatch_min, least);
        range.dispatch_max = most < 0 || range.dispatch_max < 0 ? -1 : std::max(range.dispatch_max, most);
      }
      for (const int64_t edge : {least, most})
        if (edge > 0) boundaries_[e].push_back(edge);
    }
  }

  warpcheck_variant variants_[std::size(k_matmul_techniques)] = {};
  std::vector<int64_t> boundaries_[3];
  warpcheck_operator operator_ = {};
};

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck

WARPCHECK_OPERATOR(matmul) {
  static const warpcheck::matmul_table table;
  return table.get();
}
