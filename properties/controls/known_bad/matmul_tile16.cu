// The tiled product of a published tutorial on matrix products and perceptron layers: a block of 16 x 16 threads makes
// a tile of C, an element a thread, from tiles of A and B in shared memory, and is given two widths. The kernel that
// guards its edges is right, and slow: two reads of shared memory for an FMA (mm_tile16_rate). Each other variant has
// one flaw:
//   mm_tile16_k_a     k is no multiple of 16: tiles of A reach into the next row
//   mm_tile16_k_b     the same: tiles of B reach below the last row
//   mm_tile16_n       n is no multiple of 16: stores run into the next row
//   mm_tile16_m       m is no argument: stores reach below C; _read: loads reach below A; _down: the grid is too small
//   mm_int_offset     offsets are int
//   layer_no_pad      the wrapper promises padding and does none: all of the above
//   layer_sigmoid     the sigmoid has the wrong sign
//   layer_call        the layer is only ever called with mu = 1 and sigma = 0
#include <algorithm>
#include <cstring>
#include <iterator>
#include <type_traits>

#include "abi/candidate_library.hpp"
#include "kernels/matmul/contract.hpp"
#include "properties/controls/known_bad/known_bad.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {
namespace {

constexpr int k_side = 16;

struct product {
  const float* a;
  const float* b;
  float* c;
  const float* bias;  // or nullptr
  int64_t m, n, k, lda, ldb, ldc;
  float mu, sigma;
  bool sigmoid;
};

enum guards : int {
  k_none = 0,
  k_load_m = 1,
  k_load_n = 2,
  k_load_k_of_a = 4,
  k_load_k_of_b = 8,
  k_store_m = 16,
  k_store_n = 32,
  k_all = 63
};

// Offset: the type of offsets. Sign: that of the sigmoid's argument, -1 where it is right.
template <int Guards, class Offset, int Sign>
__global__ void tile16(product p) {
  SIMT_SHARED(a_tile, float[k_side][k_side]);
  SIMT_SHARED(b_tile, float[k_side][k_side]);
  const int x = static_cast<int>(threadIdx.x), y = static_cast<int>(threadIdx.y);
  const int64_t row = static_cast<int64_t>(blockIdx.y) * k_side + y,
                col = static_cast<int64_t>(blockIdx.x) * k_side + x;
  const auto within = [](int guard, bool condition) { return (Guards & guard) == 0 || condition; };
  float sum = 0.0f;
  for (int64_t begin = 0; begin < p.k; begin += k_side) {
    const bool a_in = within(k_load_m, row < p.m) && within(k_load_k_of_a, begin + x < p.k);
    const bool b_in = within(k_load_n, col < p.n) && within(k_load_k_of_b, begin + y < p.k);
    a_tile[y][x] = a_in ? p.a[static_cast<Offset>(row * p.lda + begin + x)] : 0.0f;    // @read-a
    b_tile[y][x] = b_in ? p.b[static_cast<Offset>((begin + y) * p.ldb + col)] : 0.0f;  // @read-b
    __syncthreads();
    for (int l = 0; l < k_side; ++l) sum = fmaf(a_tile[y][l], b_tile[l][x], sum);
    __syncthreads();
  }
  if (!within(k_store_m, row < p.m) || !within(k_store_n, col < p.n)) return;
  if (p.bias != nullptr) sum = __fadd_rn(sum, col < p.n ? p.bias[col] : 0.0f);
  if (p.sigmoid) sum = 1.0f / (1.0f + expf(static_cast<float>(Sign) * (sum - p.mu) * p.sigma));
  p.c[static_cast<Offset>(row * p.ldc + col)] = sum;  // @write-c
}

// Down: the grid has no block for the last rows of C.
template <int Guards, class Offset = int64_t, int Sign = -1, bool Down = false>
void launch(const product& p, simt::stream_t stream) {
  const auto tiles = [](int64_t n, bool down) { return static_cast<unsigned>((n + (down ? 0 : k_side - 1)) / k_side); };
  const dim3 grid(tiles(p.n, false), tiles(p.m, Down));
  if (grid.y == 0) return;
  simt::launch({grid, dim3(k_side, k_side), 0, stream}, tile16<Guards, Offset, Sign>, p);
}

void launch_own_call(const product& p, simt::stream_t stream) {
  product own = p;
  own.mu = 1.0f, own.sigma = 0.0f;
  launch<k_all>(own, stream);
}

struct tile16_variant {
  const char* name;
  void (*launch)(const product& p, simt::stream_t stream);
};
constexpr tile16_variant k_tiles[] = {{"mm_tile16_rate", launch<k_all>},
                                      {"mm_tile16_k_a", launch<k_all & ~k_load_k_of_a>},
                                      {"mm_tile16_k_b", launch<k_all & ~k_load_k_of_b>},
                                      {"mm_tile16_n", launch<k_all & ~k_store_n>},
                                      {"mm_tile16_m", launch<k_all & ~k_store_m>},
                                      {"mm_tile16_m_read", launch<k_all & ~k_load_m>},
                                      {"mm_tile16_m_down", launch<k_all & ~k_store_m, int64_t, -1, true>},
                                      {"mm_int_offset", launch<k_all, int>},
                                      {"layer_no_pad", launch<k_none>},
                                      {"layer_sigmoid", launch<k_all, int64_t, 1>},
                                      {"layer_call", launch_own_call}};

// The tutorial's call: C = A B, with bias and sigmoid at most.
warpcheck_status run(warpcheck_call* call) {
  return candidate_call(call, [&] {
    const checked_call checked = check_call(matmul_contract(), *call);
    for (const char* name : {"ta", "tb", "beta", "mode"})
      if (checked.scalar(name) != 0) throw unsupported_call(std::string(name) + " must be 0");
    if (checked.scalar("alpha") != 1) throw unsupported_call("alpha must be 1");
    const tensor_view &a = checked.at("a"), &b = checked.at("b"), &c = checked.at("c");
    if (a.type != WARPCHECK_F32 || c.type != WARPCHECK_F32) throw unsupported_call("a and c must be f32");
    const product p{a.as<float>(),
                    b.as<float>(),
                    c.as<float>(),
                    checked.data<float>("bias"),
                    a.rows,
                    b.cols,
                    a.cols,
                    a.ld,
                    b.ld,
                    c.ld,
                    static_cast<float>(checked.scalar("mu")),
                    static_cast<float>(checked.scalar("sigma")),
                    checked.scalar("sigmoid") == 1};
    if (p.m == 0 || p.n == 0) return;
    const auto* which = std::find_if(std::begin(k_tiles), std::end(k_tiles), [&](const tile16_variant& v) {
      return call->variant != nullptr && std::strcmp(call->variant, v.name) == 0;
    });
    if (which == std::end(k_tiles)) which = k_tiles;
    which->launch(p, static_cast<simt::stream_t>(call->stream));
    call->used_variant = which->name;
  });
}

const warpcheck_operator* table() {
  static warpcheck_variant variants[std::size(k_tiles)];
  for (size_t i = 0; i < std::size(k_tiles); ++i)
    variants[i] = {sizeof(warpcheck_variant),
                   k_tiles[i].name,
                   WARPCHECK_F32,
                   {{0, -1, 0, -1}, {0, -1, 0, -1}, {0, -1, 0, -1}},
                   nullptr};
  static const char* const extents[] = {"m", "n", "k"};
  static const warpcheck_operator made =
      operator_of_extents("matmul", k_candidate_device, WARPCHECK_F32, extents, run, variants, std::size(variants));
  return &made;
}

}  // namespace
}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck

WARPCHECK_OPERATOR(matmul) { return warpcheck::table(); }
