// Bulk copies of pixels (im2col): every result is compared with plain loops over images, rows and columns.
#include "tensor_copies.cuh"

#include <algorithm>
#include <cstdlib>

struct place {
  int at[5];
  unsigned short offset[3];
};

__device__ void load(void* to, const CUtensorMap* map, int rank, const place& p, uint64_t* barrier) {
  const uint32_t s = shared_address(to), b = shared_address(barrier);
#define PIXELS(N, COORDINATES, OFFSETS)                                                                \
  asm volatile("cp.async.bulk.tensor." N                                                               \
               ".shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%0], [%1, " COORDINATES   \
               "], [%7], " OFFSETS ";" ::"r"(s),                                                       \
               "l"(map), "r"(p.at[0]), "r"(p.at[1]), "r"(p.at[2]), "r"(p.at[3]), "r"(p.at[4]), "r"(b), \
               "h"(p.offset[0]), "h"(p.offset[1]), "h"(p.offset[2])                                    \
               : "memory")
  switch (rank) {
    case 3: PIXELS("3d", "{%2, %3, %4}", "{%8}"); break;
    case 4: PIXELS("4d", "{%2, %3, %4, %5}", "{%8, %9}"); break;
    default: PIXELS("5d", "{%2, %3, %4, %5, %6}", "{%8, %9, %10}"); break;
  }
}

// Brings the pixels twice, one after the other, and copies the second tile as it lies.
__global__ void fetch(const __grid_constant__ CUtensorMap map, int rank, place p, unsigned bytes, unsigned tile,
                      unsigned char* out) {
  extern __shared__ __align__(1024) unsigned char s[];
  __shared__ uint64_t full;
  for (unsigned i = threadIdx.x; i < tile; i += k_threads) s[i] = 0xee;
#ifndef NO_FENCE_BEFORE_LOAD
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
  if (threadIdx.x == 0) init_barrier(&full);
  __syncthreads();
  for (int turn = 0; turn < 2; ++turn) {
    if (threadIdx.x == 0) {
      if (rank == 4)
        asm volatile("cp.async.bulk.prefetch.tensor.4d.L2.global.im2col [%0, {%1, %2, %3, %4}], {%5, %6};" ::"l"(&map),
                     "r"(p.at[0]), "r"(p.at[1]), "r"(p.at[2]), "r"(p.at[3]), "h"(p.offset[0]), "h"(p.offset[1])
                     : "memory");
      asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(&full)), "r"(bytes)
                   : "memory");
      load(s, &map, rank, p, &full);
    }
#ifdef WRONG_PHASE
    wait_for(&full, 1);
#else
    wait_for(&full, turn);
#endif
    __syncthreads();
  }
  for (unsigned i = threadIdx.x; i < tile; i += k_threads) out[i] = s[i];
}

// Writes the tile's bytes to the pixels, or adds its words.
template <bool Adds>
__global__ void put(const __grid_constant__ CUtensorMap map, int rank, place p, unsigned tile) {
  extern __shared__ __align__(1024) unsigned char s[];
  for (unsigned i = threadIdx.x; i < tile; i += k_threads) s[i] = static_cast<unsigned char>(i * 3 + i / 256);
#ifndef NO_FENCE_BEFORE_STORE
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
  __syncthreads();
  if (threadIdx.x != 0) return;
#define PUT(N, COORDINATES)                                                                                    \
  if (Adds)                                                                                                    \
    asm volatile("cp.reduce.async.bulk.tensor." N                                                              \
                 ".global.shared::cta.add.im2col_no_offs.bulk_group [%0, " COORDINATES "], [%1];" ::"l"(&map), \
                 "r"(shared_address(s)), "r"(p.at[0]), "r"(p.at[1]), "r"(p.at[2]), "r"(p.at[3]), "r"(p.at[4])  \
                 : "memory");                                                                                  \
  else                                                                                                         \
    asm volatile("cp.async.bulk.tensor." N ".global.shared::cta.im2col_no_offs.bulk_group [%0, " COORDINATES   \
                 "], [%1];" ::"l"(&map),                                                                       \
                 "r"(shared_address(s)), "r"(p.at[0]), "r"(p.at[1]), "r"(p.at[2]), "r"(p.at[3]), "r"(p.at[4])  \
                 : "memory")
  switch (rank) {
    case 3: PUT("3d", "{%2, %3, %4}"); break;
    case 4: PUT("4d", "{%2, %3, %4, %5}"); break;
    default: PUT("5d", "{%2, %3, %4, %5, %6}"); break;
  }
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
#ifdef WRITE_BEFORE_WAIT
  s[0] = 1;
#endif
  asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

// Arrays are in the order C, W, H, D, N, of which ranks below 5 lack D, or H and D. In an interleaved layout the order
// is W, H, D, slices of channels, N, and a copy brings one slice, of 16 or 32 bytes.
struct request {
  CUtensorMapDataType type = CU_TENSOR_MAP_DATA_TYPE_UINT32;
  int bytes = 4, rank = 4;
  cuuint64_t size[5] = {16, 6, 5, 3, 1}, stride[4] = {64, 384, 1920, 0};
  int lower[3] = {}, upper[3] = {};
  cuuint32_t channels = 8, pixels = 12, steps[5] = {1, 1, 1, 1, 1};
  CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_NONE;
  CUtensorMapInterleave interleave = CU_TENSOR_MAP_INTERLEAVE_NONE;
  bool fills_with_nan = false;
  place p = {};

  bool is_sliced() const { return interleave != CU_TENSOR_MAP_INTERLEAVE_NONE; }
  int w() const { return is_sliced() ? 0 : 1; }  // the dimension
  int channels_of_pixel() const { return is_sliced() ? 16 * interleave / bytes : static_cast<int>(channels); }
  unsigned copied() const { return pixels * channels_of_pixel() * bytes; }
  size_t tensor_bytes() const { return size[rank - 1] * stride[rank - 2]; }
  // In shared memory, whole rows of the swizzle.
  unsigned tile() const {
    const unsigned row = 16u << swizzle;
    return (pixels * pitch() + row - 1) / row * row;
  }
  int pitch() const { return swizzle == 0 || is_sliced() ? channels_of_pixel() * bytes : 16 << swizzle; }
  CUtensorMap map(void* data) const {
    CUtensorMap m;
    if (cuTensorMapEncodeIm2col(&m, type, rank, data, size, stride, lower, upper, channels, pixels, steps, interleave,
                                swizzle, CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
                                fills_with_nan ? CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA
                                               : CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) != CUDA_SUCCESS)
      std::exit(4);
    return m;
  }
  // The same with a box within the tensor and no negative coordinate, as stores need it.
  request within_tensor() const {
    request r = *this;
    for (int i = 0; i < rank - 2; ++i) {
      const int last = static_cast<int>(size[w() + i]) - 1;
      r.lower[i] = std::clamp(lower[i], 0, last);
      r.upper[i] = std::clamp(upper[i], r.lower[i] - last, 0);
      r.p.at[w() + i] = std::clamp(p.at[w() + i], r.lower[i], last + r.upper[i]);
    }
    for (int& at : r.p.at) at = std::max(at, 0);
    return r;
  }
  // Calls visit(byte of the tile, byte of the tensor or -1) for each element, in the order of the PTX ISA ("im2col
  // mode"): images, planes, rows and columns of the bounding box, from the filter's base on.
  template <class Visit>
  void each_element(bool has_offsets, const Visit& visit) const {
    const int spatial = rank - 2;
    int first[3] = {}, begin[3] = {}, end[3] = {1, 1, 1}, step[3] = {1, 1, 1};
    long long offset[3] = {}, pitches[3] = {}, sizes[3] = {1, 1, 1};
    for (int i = 0; i < spatial; ++i) {
      const int at = w() + i;
      first[i] = p.at[at];
      begin[i] = lower[i];
      end[i] = static_cast<int>(size[at]) + upper[i];
      step[i] = static_cast<int>(steps[at]);
      offset[i] = has_offsets ? p.offset[i] : 0;
      pitches[i] = at == 0 ? 16 * interleave : static_cast<long long>(stride[at - 1]);
      sizes[i] = static_cast<long long>(size[at]);
    }
    const int slice = is_sliced() ? p.at[rank - 2] : 0;
    const bool has_slice = !is_sliced() || (slice >= 0 && slice < static_cast<int>(size[rank - 2]));
    unsigned taken = 0;
    bool is_first = true;
    for (long long n = p.at[rank - 1];; ++n)
      for (int d = is_first ? first[2] : begin[2]; d < end[2]; d += step[2])
        for (int h = is_first ? first[1] : begin[1]; h < end[1]; h += step[1])
          for (int w = is_first ? first[0] : begin[0]; w < end[0]; w += step[0]) {
            is_first = false;
            const long long x[3] = {w + offset[0], h + offset[1], d + offset[2]};
            long long byte = n * static_cast<long long>(stride[rank - 2]);
            if (is_sliced()) byte += slice * static_cast<long long>(stride[rank - 3]);
            bool inside = has_slice && n >= 0 && n < static_cast<long long>(size[rank - 1]);
            for (int i = 0; i < spatial; ++i) {
              inside = inside && x[i] >= 0 && x[i] < sizes[i];
              byte += x[i] * pitches[i];
            }
            for (int c = 0; c < channels_of_pixel(); ++c) {
              const long long channel = is_sliced() ? c : p.at[0] + c;
              const bool is_there =
                  inside && (is_sliced() || (channel >= 0 && channel < static_cast<long long>(size[0])));
              int to = static_cast<int>(taken) * pitch() + c * bytes;
              if (swizzle != 0) to ^= to / 128 % (1 << swizzle) * 16;
              visit(to, is_there ? byte + channel * bytes : -1);
            }
            if (++taken == pixels) return;
          }
  }
};

struct generator {
  uint64_t state;
  int upto(int low, int high) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return low + static_cast<int>((state >> 33) % static_cast<unsigned>(high - low + 1));
  }
};

request random_request(generator& g) {
  constexpr struct {
    CUtensorMapDataType type;
    int bytes;
    bool is_real;
  } types[] = {{CU_TENSOR_MAP_DATA_TYPE_UINT8, 1, false},     {CU_TENSOR_MAP_DATA_TYPE_UINT16, 2, false},
               {CU_TENSOR_MAP_DATA_TYPE_UINT32, 4, false},    {CU_TENSOR_MAP_DATA_TYPE_INT32, 4, false},
               {CU_TENSOR_MAP_DATA_TYPE_UINT64, 8, false},    {CU_TENSOR_MAP_DATA_TYPE_INT64, 8, false},
               {CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, true},    {CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4, true},
               {CU_TENSOR_MAP_DATA_TYPE_FLOAT64, 8, true},    {CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, true},
               {CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ, 4, true}};
  request r;
  const auto& t = types[g.upto(0, 10)];
  r.type = t.type;
  r.bytes = t.bytes;
  r.rank = g.upto(3, 5);
  const int piece = 16 / r.bytes;
  r.size[0] = g.upto(1, 8) * piece;
  cuuint64_t pitch = r.size[0] * r.bytes + 16 * g.upto(0, 1);
  for (int i = 1; i < r.rank; ++i) {
    r.size[i] = g.upto(1, 7);
    r.stride[i - 1] = pitch;
    pitch *= r.size[i];
    r.steps[i] = i + 1 < r.rank && g.upto(0, 1) == 0 ? g.upto(1, 3) : 1;
  }
  r.swizzle = static_cast<CUtensorMapSwizzle>(g.upto(0, 3));
  if (g.upto(0, 2) == 0) r.interleave = CU_TENSOR_MAP_INTERLEAVE_16B;
  if (g.upto(0, 3) == 0) r.interleave = CU_TENSOR_MAP_INTERLEAVE_32B, r.swizzle = CU_TENSOR_MAP_SWIZZLE_32B;
  if (r.is_sliced()) {
    pitch = 16 * r.interleave * g.upto(r.size[0] = g.upto(1, 7), 8);
    for (int i = 1; i < r.rank; ++i) r.stride[i - 1] = pitch, pitch *= r.size[i];
    r.steps[0] = g.upto(1, 3);
    r.steps[r.rank - 2] = 1;
  }
  r.channels = g.upto(1, r.swizzle == 0 ? 8 : 1 << r.swizzle) * piece;
  r.pixels = g.upto(1, 60);
  r.fills_with_nan = t.is_real && g.upto(0, 1) == 0;
  r.p.at[0] = g.upto(-1, 3) * piece;
  if (r.is_sliced()) r.p.at[r.rank - 2] = g.upto(-1, static_cast<int>(r.size[r.rank - 2]));
  for (int i = 0; i < r.rank - 2; ++i) {
    const int size = static_cast<int>(r.size[r.w() + i]);
    r.lower[i] = g.upto(-3, 2);
    r.upper[i] = r.lower[i] - size + 1 + g.upto(0, size + 2);
    r.p.at[r.w() + i] = g.upto(r.lower[i], size - 1 + r.upper[i]);
    r.p.offset[i] = static_cast<unsigned short>(g.upto(0, 4));
  }
  r.p.at[r.rank - 1] = g.upto(0, static_cast<int>(r.size[r.rank - 1]) - 1);
  return r;
}

std::vector<unsigned char> numbers(size_t bytes) {
  std::vector<unsigned char> data(bytes);
  for (size_t i = 0; i < bytes; ++i) data[i] = static_cast<unsigned char>(i * 7 + i / 251);
  return data;
}

bool is_same(const char* what, const std::vector<unsigned char>& got, const std::vector<unsigned char>& right) {
  for (size_t i = 0; i < right.size(); ++i)
    if (got[i] != right[i]) return std::printf("%s: byte %zu is %#x, right is %#x\n", what, i, got[i], right[i]), false;
  return true;
}

bool fetches(const request& r) {
  const std::vector<unsigned char> data = numbers(r.tensor_bytes());
  std::vector<unsigned char> right(r.tile(), 0xee);
  r.each_element(true, [&](int to, long long from) {
    const uint64_t outside = r.fills_with_nan ? 0x7ff77ff77ff77ff7u : 0;
    std::memcpy(&right[to], from >= 0 ? static_cast<const void*>(&data[from]) : &outside, r.bytes);
  });
  const device_bytes in(data), out(std::vector<unsigned char>(right.size()));
  fetch<<<1, k_threads, right.size()>>>(r.map(in.p), r.rank, r.p, r.copied(), right.size(), out.p);
  return is_same("tile", out.host(), right);
}

bool puts(const request& r, bool adds) {
  std::vector<unsigned char> data = numbers(r.tensor_bytes());
  const device_bytes d(data);
  const unsigned tile = r.tile();
  r.each_element(false, [&](int from, long long to) {
    if (to < 0) return;
    uint64_t value = 0, before = 0;
    for (int i = 0; i < r.bytes; ++i)
      value |= uint64_t{static_cast<unsigned char>((from + i) * 3 + (from + i) / 256)} << 8 * i;
    std::memcpy(&before, &data[to], r.bytes);
    if (adds) value += before;
    std::memcpy(&data[to], &value, r.bytes);
  });
  if (adds)
    put<true><<<1, k_threads, tile>>>(r.map(d.p), r.rank, r.p, tile);
  else
    put<false><<<1, k_threads, tile>>>(r.map(d.p), r.rank, r.p, tile);
  return is_same("tensor", d.host(), data);
}

// Loads and stores of `count` random shapes.
bool random(uint64_t seed, int count) {
  generator g = {seed};
  for (int i = 0; i < count; ++i) {
    const request r = random_request(g);
    if (!fetches(r)) return std::printf("load %d of seed %d\n", i, static_cast<int>(seed)), false;
    if (!puts(r.within_tensor(), false)) return std::printf("store %d of seed %d\n", i, static_cast<int>(seed)), false;
    const bool has_sum = r.type >= CU_TENSOR_MAP_DATA_TYPE_UINT32 && r.type <= CU_TENSOR_MAP_DATA_TYPE_UINT64;
    if (has_sum && !puts(r.within_tensor(), true))
      return std::printf("sum %d of seed %d\n", i, static_cast<int>(seed)), false;
  }
  return true;
}

// The second block of a cluster brings pixels for both.
__global__ void share(const __grid_constant__ CUtensorMap map, uint32_t* out) {
  __shared__ alignas(128) uint32_t s[64];
  __shared__ uint64_t full;
  uint32_t rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  if (threadIdx.x == 0) {
    init_barrier(&full);
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 256;" ::"r"(shared_address(&full)) : "memory");
  }
  asm volatile("barrier.cluster.arrive.aligned;\n barrier.cluster.wait.aligned;" ::: "memory");
  if (threadIdx.x == 0 && rank == 1)
    asm volatile(
        "cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes.multicast::cluster"
        " [%0], [%1, {%2, %3, %3, %3}], [%4], {%5, %6}, %7;" ::"r"(shared_address(s)),
        "l"(&map), "r"(8), "r"(0), "r"(shared_address(&full)), "h"(static_cast<unsigned short>(2)),
        "h"(static_cast<unsigned short>(1)), "h"(static_cast<unsigned short>(3))
        : "memory");
  wait_for(&full, 0);
  out[blockIdx.x * k_threads + threadIdx.x] = s[threadIdx.x];
  asm volatile("barrier.cluster.arrive.aligned;\n barrier.cluster.wait.aligned;" ::: "memory");
}

bool multicast() {
  request r;
  r.pixels = 8;
  r.upper[0] = r.upper[1] = -2;
  r.p = {{8, 0, 0, 0}, {2, 1}};
  const std::vector<unsigned char> data = numbers(r.tensor_bytes());
  std::vector<unsigned char> right(2 * 256);
  r.each_element(true, [&](int to, long long from) {
    std::memcpy(&right[to], &data[from], 4);
    std::memcpy(&right[256 + to], &data[from], 4);
  });
  const device_bytes in(data), out(std::vector<unsigned char>(right.size()));
  launch_pair(share, r.map(in.p), reinterpret_cast<uint32_t*>(out.p));
  return is_same("tiles", out.host(), right);
}

// Requests that break a rule each.
bool broken(const char* rule) {
  static unsigned char* d = nullptr;
  cudaMalloc(&d, 4096);
  request r;
  const auto is = [&](const char* name) { return std::strcmp(rule, name) == 0; };
  if (is("rank")) r.rank = 2;
  if (is("lower")) r.lower[1] = -129;
  if (is("upper")) r.upper[0] = 128;
  if (is("deep")) r.rank = 5, r.lower[2] = -17, r.stride[3] = r.stride[2] * 3;
  if (is("empty")) r.upper[1] = -5;
  if (is("slices")) r.interleave = CU_TENSOR_MAP_INTERLEAVE_16B, r.upper[0] = -16;
  if (is("channels")) r.channels = 257;
  if (is("piece")) r.channels = 6;
  if (is("pixels")) r.pixels = 1025;
  if (is("tile")) r.channels = 256, r.pixels = 256;
  if (is("step")) r.steps[2] = 9;
  if (is("span")) r.swizzle = CU_TENSOR_MAP_SWIZZLE_32B, r.channels = 16;
  alignas(64) static CUtensorMap m;
  const CUresult e = cuTensorMapEncodeIm2col(
      &m, r.type, r.rank, d, r.size, r.stride, r.lower, is("null") ? nullptr : r.upper, r.channels, r.pixels, r.steps,
      r.interleave, r.swizzle, CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  cudaFree(d);
  return e == CUDA_ERROR_INVALID_VALUE;
}

__global__ void tile_of_pixels(const __grid_constant__ CUtensorMap map) {
  __shared__ alignas(128) unsigned char s[1024];
  asm volatile("cp.async.bulk.tensor.4d.global.shared::cta.bulk_group [%0, {%2, %2, %2, %2}], [%1];" ::"l"(&map),
               "r"(shared_address(s)), "r"(0)
               : "memory");
}

// What a copy itself may have wrong.
bool wrong(const char* what) {
  request r;
  const auto is = [&](const char* name) { return std::strcmp(what, name) == 0; };
  if (is("base")) r.p.at[1] = 6;
  if (is("offset")) r.p.offset[0] = 256;
  if (is("corner")) r.lower[0] = -1;
  if (is("channel")) r.p.at[0] = -4;
  if (is("sum")) r.type = CU_TENSOR_MAP_DATA_TYPE_INT64, r.bytes = 8, r.channels = 4;
  const device_bytes d(numbers(r.tensor_bytes()));
  if (is("tiled"))
    tile_of_pixels<<<1, 1>>>(r.map(d.p));
  else if (is("sum"))
    put<true><<<1, k_threads, 384>>>(r.map(d.p), r.rank, r.p, 384);
  else if (is("corner") || is("channel"))
    put<false><<<1, k_threads, 384>>>(r.map(d.p), r.rank, r.p, 384);
  else
    fetch<<<1, k_threads, 384>>>(r.map(d.p), r.rank, r.p, 384, 384, d.p);
  return cudaDeviceSynchronize() == cudaSuccess;
}

int main(int argc, char** argv) {
  if (argc < 2) return 3;
  const auto is = [&](const char* name) { return std::strcmp(argv[1], name) == 0; };
  if (argc > 2 && is("broken")) return !broken(argv[2]);
  if (argc > 2 && is("wrong")) return !wrong(argv[2]);
  if (argc > 3 && is("random")) return !random(std::strtoull(argv[2], nullptr, 10), std::atoi(argv[3]));
  if (is("load")) return !fetches(request{});
  if (is("store")) return !puts(request{}, false);
  if (is("add")) return !puts(request{}, true);
  if (is("multicast")) return !multicast();
  return 3;
}
