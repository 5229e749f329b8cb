// Prefix sums: see the contract in scan.hpp. Every element is read once and written once.
//
// Bits must not depend on addresses: which lane takes which element follows from its column alone, and only the width
// of a load or store from the address.
#include "kernels/scan/scan.hpp"

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "kernels/candidate_support.hpp"
#include "kernels/primitives/arguments.hpp"
#include "kernels/primitives/grid.hpp"
#include "kernels/primitives/scan.hpp"
#include "kernels/rows/row_access.hpp"
#include "kernels/scan/carry.hpp"
#include "kernels/scan/contract.hpp"
#include "kernels/scan/lane_values.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {
namespace {

template <class T>
struct scan_arguments {
  const T* x;
  T* y;
  int64_t rows;
  int64_t cols;
  bool exclusive;
};

// ---- a row, or a part of it, by some lanes of a warp ----

constexpr int k_lanes_threads = 256;  // of a block, at most

// `Lanes` lanes take a row. No barrier.
template <class T, int Lanes, int Vectors, bool Aligned>
__global__ void __launch_bounds__(k_lanes_threads) scan_lanes(scan_arguments<T> a) {
  const int64_t group = (static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) / Lanes;
  const int64_t groups = static_cast<int64_t>(gridDim.x) * blockDim.x / Lanes;
  // The loop runs for the warp's first group, so that all lanes stay together; rows after the last are empty.
  const int64_t first = threadIdx.x % k_warp_size / Lanes;
  for (int64_t base = group - first; base < a.rows; base += groups) {
    const int64_t r = base + first;
    const int cols = r < a.rows ? static_cast<int>(a.cols) : 0;
    const int64_t at = cols > 0 ? r * a.cols : 0;
    lane_values<T, Lanes, Vectors, Aligned> values;
    values.load(a.x + at, cols);
    values.scan();
    values.store(a.y + at, cols, a.exclusive, [](T local) { return local; });
  }
}

// ---- a row by a block ----

constexpr int k_row_vectors = 4;
template <class T, bool Aligned>
using row_values = lane_values<T, k_warp_size, k_row_vectors, Aligned>;

// Threads of the block that holds a row of k_scan_block_cols elements.
template <class T>
constexpr int k_row_threads = static_cast<int>(k_scan_block_cols / row_values<T, true>::elements() * k_warp_size);

// Returns the number of a warp's elements among the `left` ones.
template <class Values>
__device__ inline int warp_count(int64_t left) {
  return static_cast<int>(left <= 0 ? 0 : left < Values::elements() ? left : Values::elements());
}

// Each warp of the block takes a segment of the tile; a row of one tile stays in registers. One barrier per tile.
template <class T, bool Aligned>
__global__ void __launch_bounds__(k_row_threads<T>, 1024 / k_row_threads<T>) scan_rows(scan_arguments<T> a) {
  using carry = carry_of<T>;
  using values_type = row_values<T, Aligned>;
  SIMT_SHARED(totals, T[2][k_max_warps]);
  const int64_t tile = static_cast<int64_t>(blockDim.x) / k_warp_size * values_type::elements();
  const int64_t segment = static_cast<int64_t>(threadIdx.x) / k_warp_size * values_type::elements();
  int turn = 0;
  for (int64_t r = blockIdx.x; r < a.rows; r += gridDim.x) {
    auto before = plus_carry<T>::neutral();
    for (int64_t begin = 0; begin < a.cols; begin += tile, turn ^= 1) {
      const int count = warp_count<values_type>(a.cols - begin - segment);
      const int64_t at = count > 0 ? r * a.cols + begin + segment : 0;
      values_type values;
      values.load(a.x + at, count);
      post_warp_total(values.scan(), totals[turn]);
      __syncthreads();
      const warp_base<T> base = fetch_warp_base(plus_of<T>(), totals[turn]);
      if (begin == 0)
        values.store(a.y + at, count, a.exclusive, [&](T local) { return base.before + local; });
      else
        values.store(a.y + at, count, a.exclusive, [&](T local) { return carry::finish(before, base.before + local); });
      before = carry::add(before, carry::widen(base.all));
    }
  }
}

// ---- a row by several blocks ----

// One pass with a look-back in a fixed order. Tiles come in waves of as many tiles as a block has threads. A tile
// publishes its sum; the last tile of a wave publishes the wave's total when all sums of the wave have arrived. The
// carry of a tile is the sums before it in its wave and the totals before its wave, one for each thread: the tree that
// adds them is the same, whichever arrives first. Blocks take tiles by ticket and publish everything about a tile
// before they finish the one before: both wait only for tiles of lower numbers, and these have begun.
constexpr int k_tile_threads = 256;
constexpr int64_t k_tile_blocks_per_sm = 2;
constexpr int64_t k_wave = k_tile_threads;

// A tile of a row. Rows up to k_small_cols have small tiles, so that more blocks share the work.
constexpr int k_small_vectors = 2;
constexpr int k_large_vectors = 8;
constexpr int64_t k_small_cols = 65536;

struct tiling {
  int64_t tile;   // elements
  int64_t tiles;  // of a row
  int64_t waves;  // of a row
};

// Published values travel in words of 32 bits, each beside its own mark, so no order between words is needed.
using tile_status = unsigned long long;
constexpr tile_status k_mark = 1ull << 32;
template <class V>
constexpr int words_of = static_cast<int>(sizeof(V) / sizeof(unsigned));

template <class V>
__device__ inline void publish(tile_status* status, const V& value) {
  unsigned words[words_of<V>];
  memcpy(words, &value, sizeof value);
#pragma unroll
  for (int i = 0; i < words_of<V>; ++i) simt::store_relaxed(status + i, k_mark | words[i]);
}

// Reads a published value in two steps, so that several reads may be in flight at once.
template <class V>
class pending_read {
 public:
  pending_read() = default;
  __device__ explicit pending_read(const tile_status* status) : status_(status) {
#pragma unroll
    for (int i = 0; i < words_of<V>; ++i) word_[i] = simt::load_relaxed(status_ + i);
  }
  // Waits until the value has been published.
  __device__ V open() {
    unsigned words[words_of<V>];
#pragma unroll
    for (int i = 0; i < words_of<V>; ++i) {
      while ((word_[i] & k_mark) == 0) word_[i] = simt::load_relaxed(status_ + i);
      words[i] = static_cast<unsigned>(word_[i]);
    }
    V value;
    memcpy(&value, words, sizeof value);
    return value;
  }

 private:
  const tile_status* status_ = nullptr;
  tile_status word_[words_of<V>] = {};
};

// The workspace, cleared before: the ticket, then for each row the sums of its tiles and the totals of its waves.
template <class T>
struct tile_statuses {
  using carry_type = typename carry_of<T>::type;

  __host__ __device__ static int64_t words(int64_t rows, const tiling& t) {
    return t.tiles == 1 ? 1 : 1 + rows * row_words(t);
  }
  __device__ tile_status* sum(const tiling& t, int64_t row, int64_t tile) const {
    return ticket + 1 + row * row_words(t) + tile * words_of<T>;
  }
  __device__ tile_status* total(const tiling& t, int64_t row, int64_t wave) const {
    return sum(t, row, t.tiles) + wave * words_of<carry_type>;
  }

  tile_status* ticket;

 private:
  __host__ __device__ static int64_t row_words(const tiling& t) {
    return t.tiles * words_of<T> + t.waves * words_of<carry_type>;
  }
};

// A warp's part of a tile.
struct tile_part {
  int64_t number;  // of the tile, over all rows
  int64_t row;
  int64_t tile;  // of the row
  int64_t at;    // first element
  int count;
};

// The sum of everything before the tile in its wave and, with `WithTotals`, in its row. All threads get the result.
// `scratch` may be used again after another barrier.
template <bool WithTotals, class T>
__device__ inline typename carry_of<T>::type look_back(const tiling& t, const tile_statuses<T>& statuses,
                                                       const tile_part& mine, typename carry_of<T>::type* scratch) {
  using carry = carry_of<T>;
  using carry_type = typename carry::type;
  const int64_t wave = mine.tile / k_wave;
  const int64_t place = mine.tile % k_wave;
  const int64_t thread = threadIdx.x;
  const bool has_sum = thread < place;
  const bool has_total = WithTotals && thread < wave;
  pending_read<T> sum;
  pending_read<carry_type> total;
  if (has_sum) sum = pending_read<T>(statuses.sum(t, mine.row, wave * k_wave + thread));
  if (has_total) total = pending_read<carry_type>(statuses.total(t, mine.row, thread));
  auto before = plus_carry<T>::neutral();
  if (has_total) {
    before = total.open();
    for (int64_t w = thread + k_wave; w < wave; w += k_wave)
      before = carry::add(before, pending_read<carry_type>(statuses.total(t, mine.row, w)).open());
  }
  if (has_sum) before = carry::add(before, carry::widen(sum.open()));
  return block_exclusive_scan(before, plus_carry<T>(), scratch).all;
}

template <class T, int Vectors, bool Aligned>
__global__ void __launch_bounds__(k_tile_threads, k_tile_blocks_per_sm)
    scan_tiles(scan_arguments<T> a, tiling t, tile_statuses<T> statuses) {
  using carry = carry_of<T>;
  using values_type = lane_values<T, k_warp_size, Vectors, Aligned>;
  SIMT_SHARED(drawn, tile_status[2]);
  SIMT_SHARED(totals, T[2][k_max_warps]);
  SIMT_SHARED(scratch, typename carry_of<T>::type[2][k_max_warps]);
  SIMT_DYN_SHARED(row_vector<T>, slots);
  const int64_t segment = static_cast<int64_t>(threadIdx.x) / k_warp_size * values_type::elements();
  const int64_t end = a.rows * t.tiles;
  const auto part_of = [&](tile_status ticket) {
    const auto number = static_cast<int64_t>(ticket);
    const int64_t row = number / t.tiles, tile = number % t.tiles;
    const int count = number < end ? warp_count<values_type>(a.cols - tile * t.tile - segment) : 0;
    return tile_part{number, row, tile, count > 0 ? row * a.cols + tile * t.tile + segment : 0, count};
  };
  if (threadIdx.x == 0) drawn[1] = atomicAdd(statuses.ticket, tile_status{1});
  __syncthreads();
  tile_part next = part_of(drawn[1]);
  values_type::fetch(a.x + next.at, next.count, slots);
  tile_part mine{end, 0, 0, 0, 0}, summed = mine;
  values_type values, summed_values;
  warp_base<T> base{}, summed_base{};
  for (int turn = 0; mine.number < end || next.number < end; turn ^= 1) {
    summed = next;
    if (next.number < end) {
      tile_status ticket = 0;
      if (threadIdx.x == 0) ticket = atomicAdd(statuses.ticket, tile_status{1});
      summed_values.take(a.x + summed.at, summed.count, slots);
      post_warp_total(summed_values.scan(), totals[turn]);
      if (threadIdx.x == 0) drawn[turn] = ticket;
      __syncthreads();
      summed_base = fetch_warp_base(plus_of<T>(), totals[turn]);
      const bool is_last = summed.tile == t.tiles - 1;
      if (threadIdx.x == 0 && !is_last) publish(statuses.sum(t, summed.row, summed.tile), summed_base.all);
      next = part_of(drawn[turn]);
      values_type::fetch(a.x + next.at, next.count, slots);
      if (summed.tile % k_wave == k_wave - 1 && !is_last) {
        const auto others = look_back<false>(t, statuses, summed, scratch[0]);
        if (threadIdx.x == 0)
          publish(statuses.total(t, summed.row, summed.tile / k_wave),
                  carry::add(others, carry::widen(summed_base.all)));
      }
    } else {
      __syncthreads();  // the scratch of the tile before is free
    }
    if (mine.number < end) {
      auto before = plus_carry<T>::neutral();
      if (mine.tile > 0) before = look_back<true>(t, statuses, mine, scratch[1]);
      values.store(a.y + mine.at, mine.count, a.exclusive,
                   [&](T local) { return carry::finish(before, base.before + local); });
    }
    mine = summed;
    values = summed_values;
    base = summed_base;
  }
}

// ---- host ----

constexpr uint32_t k_dtypes = WARPCHECK_F32 | WARPCHECK_F64 | WARPCHECK_I64;
constexpr int64_t k_subwarp_cols = 32;
// Beyond 1024 columns warps take rows of f32 alone: there a block keeps few bytes in flight, but 18 vectors of a wider
// type leave few warps a multiprocessor.
constexpr int64_t k_warp_cols = 1152, k_wide_warp_cols = 1024;

// In the order of scan_variant, without `automatic`. Up to k_warp_cols the type decides, beyond k_scan_block_cols the
// number of rows.
constexpr warpcheck_variant k_variants[] = {
    row_variant("scan_subwarp", 1, k_subwarp_cols, 1, k_subwarp_cols, k_dtypes),
    row_variant("scan_warp", 1, k_warp_cols, k_subwarp_cols + 1, k_warp_cols, k_dtypes),
    row_variant("scan_block", 1, k_scan_block_cols, k_wide_warp_cols + 1, k_scan_block_cols, k_dtypes),
    row_variant("scan_loop", 1, -1, k_scan_block_cols + 1, -1, k_dtypes),
    row_variant("scan_multi_block", 1, -1, k_scan_block_cols + 1, -1, k_dtypes),
};

scan_variant choose(scan_path path, int64_t rows, int64_t cols, size_t element) {
  const int64_t warp_cols = element > sizeof(float) ? k_wide_warp_cols : k_warp_cols;
  switch (path) {
    case scan_path::multi_block: return scan_variant::multi_block;
    case scan_path::automatic:
      if (cols > k_scan_block_cols && rows < k_scan_few_rows) return scan_variant::multi_block;
      [[fallthrough]];
    case scan_path::block:
      return cols <= k_subwarp_cols      ? scan_variant::subwarp
             : cols <= warp_cols         ? scan_variant::warp
             : cols <= k_scan_block_cols ? scan_variant::block
                                         : scan_variant::loop;
  }
  throw std::invalid_argument("path is " + std::to_string(static_cast<int>(path)) +
                              ", must be 0 (automatic), 1 (block) or 2 (multi_block)");
}

template <class T>
tiling tiling_of(int64_t cols) {
  const int64_t vectors = k_tile_threads * (cols <= k_small_cols ? k_small_vectors : k_large_vectors);
  const int64_t tile = vectors * row_vector<T>::k_width;
  const int64_t tiles = ceil_div(cols, tile);
  return {tile, tiles, ceil_div(tiles, k_wave)};
}

template <class T>
size_t tile_status_bytes(int64_t rows, int64_t cols) {
  return static_cast<size_t>(tile_statuses<T>::words(rows, tiling_of<T>(cols))) * sizeof(tile_status);
}

// True if every row of both matrices begins on a 16-byte boundary.
template <class T>
bool is_aligned(const scan_arguments<T>& a) {
  return misalignment_of(a.x) == 0 && misalignment_of(a.y) == 0 && a.cols % row_vector<T>::k_width == 0;
}

template <class T, int Lanes, int Vectors>
void launch_lanes(const scan_arguments<T>& a, simt::stream_t stream) {
  // Blocks of few warps, whose places become free early; only 32 blocks fit on a multiprocessor.
  constexpr int k_threads = Lanes < k_warp_size ? k_lanes_threads : Vectors < 8 ? 64 : k_warp_size;
  simt::launch({grid_size(ceil_div(a.rows, k_threads / Lanes), stream), k_threads, 0, stream},
               is_aligned(a) ? scan_lanes<T, Lanes, Vectors, true> : scan_lanes<T, Lanes, Vectors, false>, a);
}

// The fewest lanes that hold a row with one vector each.
template <class T>
void scan_by_lanes(const scan_arguments<T>& a, simt::stream_t stream) {
  const int64_t vectors = ceil_div(a.cols, row_vector<T>::k_width);
  if (vectors <= 1) return launch_lanes<T, 1, 1>(a, stream);
  if (vectors <= 2) return launch_lanes<T, 2, 1>(a, stream);
  if (vectors <= 4) return launch_lanes<T, 4, 1>(a, stream);
  if (vectors <= 8) return launch_lanes<T, 8, 1>(a, stream);
  if constexpr (k_subwarp_cols > 8 * row_vector<T>::k_width) launch_lanes<T, 16, 1>(a, stream);
}

// A warp with the fewest vectors that hold a row.
template <class T>
void scan_by_warps(const scan_arguments<T>& a, simt::stream_t stream) {
  const int64_t vectors = ceil_div(a.cols, k_warp_size * row_vector<T>::k_width);
  if (vectors <= 1) return launch_lanes<T, k_warp_size, 1>(a, stream);
  if (vectors <= 2) return launch_lanes<T, k_warp_size, 2>(a, stream);
  if (vectors <= 4) return launch_lanes<T, k_warp_size, 4>(a, stream);
  if (vectors <= 8) return launch_lanes<T, k_warp_size, 8>(a, stream);
  if constexpr (k_warp_cols > 9 * k_warp_size * row_vector<T>::k_width) {
    if (vectors <= 16) return launch_lanes<T, k_warp_size, 16>(a, stream);
    launch_lanes<T, k_warp_size, 18>(a, stream);
  } else {
    launch_lanes<T, k_warp_size, 9>(a, stream);
  }
}

template <class T>
void scan_by_rows(const scan_arguments<T>& a, int threads, simt::stream_t stream) {
  simt::launch({resident_grid_size(a.rows, stream), static_cast<unsigned>(threads), 0, stream},
               is_aligned(a) ? scan_rows<T, true> : scan_rows<T, false>, a);
}

template <class T, int Vectors>
void launch_tiles(const scan_arguments<T>& a, const tiling& t, const tile_statuses<T>& statuses,
                  simt::stream_t stream) {
  const int64_t resident = k_tile_blocks_per_sm * simt::device_properties(stream).sm_count;
  const size_t slots = lane_values<T, k_warp_size, Vectors, false>::slots_of(k_tile_threads);
  simt::launch({static_cast<unsigned>(std::min(a.rows * t.tiles, resident)), k_tile_threads,
                slots * sizeof(row_vector<T>), stream},
               is_aligned(a) ? scan_tiles<T, Vectors, true> : scan_tiles<T, Vectors, false>, a, t, statuses);
}

template <class T>
void scan_by_tiles(const scan_arguments<T>& a, void* ws, simt::stream_t stream) {
  const tiling t = tiling_of<T>(a.cols);
  const tile_statuses<T> statuses{static_cast<tile_status*>(ws)};
  simt::memset_async(ws, 0, tile_status_bytes<T>(a.rows, a.cols), stream);
  if (a.cols > k_small_cols) return launch_tiles<T, k_large_vectors>(a, t, statuses, stream);
  launch_tiles<T, k_small_vectors>(a, t, statuses, stream);
}

template <class T>
void run_variant(scan_variant variant, const scan_arguments<T>& a, void* ws, simt::stream_t stream) {
  switch (variant) {
    case scan_variant::multi_block: return scan_by_tiles(a, ws, stream);
    case scan_variant::loop: return scan_by_rows(a, k_row_threads<float>, stream);
    case scan_variant::block:
      return scan_by_rows(a, static_cast<int>(ceil_div(a.cols, row_values<T, true>::elements())) * k_warp_size, stream);
    case scan_variant::warp: return scan_by_warps(a, stream);
    default: return scan_by_lanes(a, stream);
  }
}

// The type in which elements are added.
template <class T>
struct addend {
  using type = T;
};
template <>
struct addend<int64_t> {
  using type = uint64_t;
};

}  // namespace

size_t scan_workspace_bytes(int64_t rows, int64_t cols, scan_variant variant) {
  check_extents(rows, cols, sizeof(double));
  if (variant == scan_variant::automatic) variant = choose(scan_path::automatic, rows, cols, sizeof(double));
  if (variant != scan_variant::multi_block || rows == 0 || cols == 0) return 0;
  return std::max(tile_status_bytes<float>(rows, cols), tile_status_bytes<double>(rows, cols));
}

size_t scan_workspace_bytes(int64_t rows, int64_t cols, scan_path path) {
  return scan_workspace_bytes(rows, cols, choose(path, rows, cols, sizeof(double)));
}

template <class T>
scan_variant scan_with(scan_variant variant, const T* x, T* y, int64_t rows, int64_t cols, scan_kind kind, void* ws,
                       size_t ws_bytes, simt::stream_t stream) {
  check_extents(rows, cols, sizeof(T));
  const row_block x_rows{"x", x, sizeof(T), rows, cols, cols, nullptr};
  const row_block y_rows{"y", y, sizeof(T), rows, cols, cols, nullptr};
  check_rows(x_rows);
  check_rows(y_rows);
  if (x != y) check_disjoint(x_rows, y_rows);
  if (kind != scan_kind::inclusive && kind != scan_kind::exclusive)
    throw std::invalid_argument("kind is " + std::to_string(static_cast<int>(kind)) +
                                ", must be 0 (inclusive) or 1 (exclusive)");
  if (variant == scan_variant::automatic) variant = choose(scan_path::automatic, rows, cols, sizeof(T));
  const size_t needed = scan_workspace_bytes(rows, cols, variant);
  const row_block ws_rows = check_workspace(ws, ws_bytes, needed);
  check_disjoint(x_rows, ws_rows);
  check_disjoint(y_rows, ws_rows);
  if (rows == 0 || cols == 0) return variant;
  check_extent(k_variants[static_cast<int>(variant) - 1], cols);
  using U = typename addend<T>::type;
  run_variant<U>(variant,
                 {reinterpret_cast<const U*>(x), reinterpret_cast<U*>(y), rows, cols, kind == scan_kind::exclusive}, ws,
                 stream);
  return variant;
}

template <class T>
void scan(const T* x, T* y, int64_t rows, int64_t cols, scan_kind kind, scan_path path, void* ws, size_t ws_bytes,
          simt::stream_t stream) {
  check_extents(rows, cols, sizeof(T));
  scan_with(choose(path, rows, cols, sizeof(T)), x, y, rows, cols, kind, ws, ws_bytes, stream);
}

#ifndef WARPCHECK_ONLY_TYPE
#define WARPCHECK_INSTANTIATE_SCAN(T)                                                                         \
  template void scan<T>(const T*, T*, int64_t, int64_t, scan_kind, scan_path, void*, size_t, simt::stream_t); \
  template scan_variant scan_with<T>(scan_variant, const T*, T*, int64_t, int64_t, scan_kind, void*, size_t,  \
                                     simt::stream_t);
WARPCHECK_INSTANTIATE_SCAN(float)
WARPCHECK_INSTANTIATE_SCAN(double)
WARPCHECK_INSTANTIATE_SCAN(int64_t)
#undef WARPCHECK_INSTANTIATE_SCAN
#endif

namespace {

warpcheck_status run_scan(warpcheck_call* call) {
  return candidate_call(call, [&] {
    const checked_call checked = check_call(scan_contract(), *call);
    check_memory(checked);
    const tensor_view &x = checked.at("x"), &y = checked.at("y");
    require_dense(x);
    require_dense(y);
    const auto kind = static_cast<scan_kind>(static_cast<int>(checked.scalar("kind")));
    const auto variant = static_cast<scan_variant>(find_variant(call, k_variants, x.cols) + 1);
    scan_variant used = variant;
    with_type<float, double, int64_t>(x.type, [&](auto type) {
      using T = typename decltype(type)::type;
      const auto stream = static_cast<simt::stream_t>(call->stream);
      const size_t bytes = scan_workspace_bytes(x.rows, x.cols, variant);
      const auto run_in = [&](void* ws) {
        used = scan_with(variant, x.as<T>(), y.as<T>(), x.rows, x.cols, kind, ws, bytes, stream);
      };
      if (bytes == 0) return run_in(nullptr);
      const simt::buffer<tile_status> ws(bytes / sizeof(tile_status), stream);
      run_in(ws.data());
    });
    if (x.rows > 0 && x.cols > 0) call->used_variant = k_variants[static_cast<int>(used) - 1].name;
  });
}

const char* pick_scan(const warpcheck_call* call) {
  return candidate_pick(call, k_variants, [&](simt::stream_t) {
    const checked_call checked = check_call(scan_contract(), *call);
    const tensor_view& x = checked.at("x");
    const auto element = static_cast<size_t>(x.element);
    return x.is_empty() ? scan_variant::automatic : choose(scan_path::automatic, x.rows, x.cols, element);
  });
}

// Row lengths at which lanes, vectors, warps and tiles change.
constexpr int64_t k_boundaries[] = {1,   2,    4,    8,    16,   32,    64,    128,   256,
                                    512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072};

constexpr warpcheck_operator k_operator = own_operator("scan", k_dtypes, k_variants, k_boundaries, run_scan, pick_scan);

}  // namespace
}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck

WARPCHECK_OPERATOR(scan) { return &warpcheck::k_operator; }
