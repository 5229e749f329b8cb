// Bulk copies of boxes of tensors: every result is compared with plain loops over the same numbers.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda/barrier>

#include "tensor_copies.cuh"

struct place {
  int at[5];
};

__device__ void load(void* to, const CUtensorMap* map, int rank, const place& p, uint64_t* barrier) {
  const uint32_t s = shared_address(to), b = shared_address(barrier);
#define BOX(N, COORDINATES, BARRIER)                                                                              \
  asm volatile("cp.async.bulk.tensor." N                                                                          \
               ".shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, " COORDINATES "], [" BARRIER \
               "];" ::"r"(s),                                                                                     \
               "l"(map), "r"(p.at[0]), "r"(p.at[1]), "r"(p.at[2]), "r"(p.at[3]), "r"(p.at[4]), "r"(b)             \
               : "memory")
  switch (rank) {
    case 1: BOX("1d", "{%2}", "%7"); break;
    case 2: BOX("2d", "{%2, %3}", "%7"); break;
    case 3: BOX("3d", "{%2, %3, %4}", "%7"); break;
    case 4: BOX("4d", "{%2, %3, %4, %5}", "%7"); break;
    default: BOX("5d", "{%2, %3, %4, %5, %6}", "%7"); break;
  }
}

// Brings a box of `bytes` bytes and copies `tile` bytes, the gaps of a swizzle with them, as they lie.
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
  if (threadIdx.x == 0) {
    asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
#ifdef SHORT
    bytes -= 16;
#endif
#ifdef LONG
    bytes += 16;
#endif
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(&full)), "r"(bytes)
                 : "memory");
    load(s, &map, rank, p, &full);
  }
  wait_for(&full, 0);
  for (unsigned i = threadIdx.x; i < tile; i += k_threads) out[i] = s[i];
}

struct shape {
  CUtensorMapDataType type = CU_TENSOR_MAP_DATA_TYPE_UINT32;
  int bytes = 4;  // of an element
  std::vector<cuuint64_t> size;
  std::vector<cuuint32_t> box;
  CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_NONE;
  CUtensorMapFloatOOBfill fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE;
  std::vector<cuuint32_t> steps = {1, 1, 1, 1, 1};
  // Not none: dimension 0 is of slices of 16 or 32 bytes of channels, and the last but one counts a pixel's slices.
  CUtensorMapInterleave interleave = CU_TENSOR_MAP_INTERLEAVE_NONE;

  int rank() const { return static_cast<int>(size.size()); }
  int unit() const { return interleave == CU_TENSOR_MAP_INTERLEAVE_NONE ? bytes : 16 * interleave; }
  int step(int dimension) const { return dimension > 0 || interleave != 0 ? steps[dimension] : 1; }
  int count(int dimension) const {  // how many a copy brings
    if (interleave != 0 && dimension == rank() - 2) return 1;
    return (box[dimension] + step(dimension) - 1) / step(dimension);
  }
  cuuint64_t pitch(int dimension) const {  // bytes
    cuuint64_t p = unit();
    for (int i = 0; i < dimension; ++i) p *= size[i];
    return p;
  }
  CUtensorMap map(void* data) const {
    CUtensorMap m;
    cuuint64_t strides[5];
    for (int i = 1; i < rank(); ++i) strides[i - 1] = pitch(i);
    if (cuTensorMapEncodeTiled(&m, type, rank(), data, size.data(), strides, box.data(), steps.data(), interleave,
                               swizzle, CU_TENSOR_MAP_L2_PROMOTION_L2_128B, fill) != CUDA_SUCCESS)
      std::exit(4);
    return m;
  }
};

// The bytes of a box as the tile has them, by the definitions of the driver API and the PTX ISA.
std::vector<unsigned char> expected(const shape& t, const std::vector<unsigned char>& data, const place& p,
                                    uint64_t outside) {
  const int inner = t.count(0) * t.unit(), span = 16 << t.swizzle;
  const int pitch = t.swizzle == 0 || t.interleave != 0 ? inner : span;
  std::vector<unsigned char> tile;
  int rows = 1;
  for (int i = 1; i < t.rank(); ++i) rows *= t.count(i);
  tile.assign(rows * pitch, 0xee);
  for (int row = 0; row < rows; ++row)
    for (int x = 0; x < t.count(0); ++x) {
      long long at = p.at[0] + x * t.step(0), byte = at * t.unit(), rest = row;
      bool inside = at >= 0 && at < static_cast<long long>(t.size[0]);
      for (int i = 1; i < t.rank(); ++i) {
        at = p.at[i] + rest % t.count(i) * t.step(i);
        rest /= t.count(i);
        inside = inside && at >= 0 && at < static_cast<long long>(t.size[i]);
        byte += at * static_cast<long long>(t.pitch(i));
      }
      for (int part = 0; part < t.unit(); part += t.bytes) {
        int offset = row * pitch + x * t.unit() + part;
        if (t.swizzle != 0) offset ^= offset / 128 % (span / 16) * 16;
        std::memcpy(&tile[offset], inside ? static_cast<const void*>(&data[byte + part]) : &outside, t.bytes);
      }
    }
  return tile;
}

std::vector<unsigned char> numbers(const shape& t) {
  std::vector<unsigned char> data(t.pitch(t.rank()));
  for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<unsigned char>(i * 7 + i / 251);
  return data;
}

bool fetches(const shape& t, const place& p, uint64_t outside = 0, std::vector<unsigned char> data = {},
             std::vector<unsigned char> as = {}) {
  if (data.empty()) data = numbers(t);
  const std::vector<unsigned char> right = expected(t, as.empty() ? data : as, p, outside);
  unsigned bytes = t.unit();
  for (int i = 0; i < t.rank(); ++i) bytes *= t.count(i);
  const device_bytes in(data), out(std::vector<unsigned char>(right.size()));
  fetch<<<1, k_threads, right.size()>>>(t.map(in.p), t.rank(), p, bytes, right.size(), out.p);
  const std::vector<unsigned char> got = out.host();
  int wrong = 0;
  for (size_t i = 0; i < right.size(); ++i) {
    if (got[i] == right[i]) continue;
    if (++wrong <= 16) std::printf("byte %zu of the tile is %#x, right is %#x\n", i, got[i], right[i]);
  }
  return wrong == 0;
}

bool box() { return fetches({CU_TENSOR_MAP_DATA_TYPE_UINT32, 4, {64, 32}, {16, 8}}, {{16, 8}}); }

bool dimensions() {
  const CUtensorMapDataType u32 = CU_TENSOR_MAP_DATA_TYPE_UINT32;
  return fetches({u32, 4, {64}, {16}}, {{12}}) && fetches({u32, 4, {16, 5, 4}, {8, 2, 3}}, {{4, 2, 1}}) &&
         fetches({u32, 4, {8, 3, 4, 3}, {4, 2, 2, 3}}, {{0, 1, 2, 0}}) &&
         fetches({u32, 4, {8, 3, 2, 3, 4}, {4, 2, 2, 2, 3}}, {{4, 1, 0, 1, 1}});
}

bool swizzles() {
  const CUtensorMapDataType u16 = CU_TENSOR_MAP_DATA_TYPE_UINT16;
  return fetches({u16, 2, {64, 16}, {16, 16}, CU_TENSOR_MAP_SWIZZLE_32B}, {{16, 0}}) &&
         fetches({u16, 2, {64, 16}, {32, 16}, CU_TENSOR_MAP_SWIZZLE_64B}, {{32, 0}}) &&
         fetches({u16, 2, {64, 16}, {64, 16}, CU_TENSOR_MAP_SWIZZLE_128B}, {{0, 0}}) &&
         fetches({u16, 2, {64, 16}, {64, 16}, CU_TENSOR_MAP_SWIZZLE_128B}, {{-8, 9}});
}

// Rows that are shorter than the swizzle's span leave gaps.
bool gaps() {
  const CUtensorMapDataType u32 = CU_TENSOR_MAP_DATA_TYPE_UINT32;
  return fetches({u32, 4, {32, 16}, {4, 8}, CU_TENSOR_MAP_SWIZZLE_128B}, {{4, 1}}) &&
         fetches({u32, 4, {32, 16}, {8, 8}, CU_TENSOR_MAP_SWIZZLE_64B}, {{4, 1}});
}

bool outside() {
  const auto nan = CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA;
  const auto none = CU_TENSOR_MAP_SWIZZLE_NONE;
  return fetches({CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4, {8, 6}, {12, 9}}, {{-4, -2}}) &&
         fetches({CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4, {8, 6}, {4, 4}}, {{8, 0}}) &&
         fetches({CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4, {8, 6}, {12, 9}, none, nan}, {{-4, 4}}, 0x7ff77ff7) &&
         fetches({CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, {16, 6}, {16, 3}, none, nan}, {{8, 4}}, 0x7ff7);
}

bool steps() {
  return fetches({CU_TENSOR_MAP_DATA_TYPE_UINT32,
                  4,
                  {16, 12, 6},
                  {4, 7, 5},
                  CU_TENSOR_MAP_SWIZZLE_NONE,
                  CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
                  {2, 2, 3}},
                 {{4, 1, 0}});
}

// Layouts NC/8DHWC8 and their like.
bool interleaved() {
  const auto of = [](int rank, CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle) {
    const bool is_half = rank == 4;
    shape t = {is_half ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16 : CU_TENSOR_MAP_DATA_TYPE_UINT32, is_half ? 2 : 4};
    const cuuint64_t size[5] = {9, 6, 5, 4, 3};
    const cuuint32_t box[5] = {8, 3, 4, 2, 2};
    t.size.assign(size, size + rank);
    t.box.assign(box, box + rank);
    t.swizzle = swizzle;
    t.interleave = interleave;
    return t;
  };
  for (int rank = 3; rank <= 5; ++rank) {
    for (const auto swizzle :
         {CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_SWIZZLE_32B, CU_TENSOR_MAP_SWIZZLE_64B, CU_TENSOR_MAP_SWIZZLE_128B})
      if (!fetches(of(rank, CU_TENSOR_MAP_INTERLEAVE_16B, swizzle), {{3, 1, 1, 1, 1}})) return false;
    shape wide = of(rank, CU_TENSOR_MAP_INTERLEAVE_32B, CU_TENSOR_MAP_SWIZZLE_32B);
    if (!fetches(wide, {{-1, 2, 1, 0, 1}})) return false;
    wide.steps = {2, 2, 3, 1, 1};
    if (!fetches(wide, {{1, 0, 1, 0, 0}})) return false;
  }
  return true;
}

// What a load makes of reals that the type has not.
bool converts(CUtensorMapDataType type, const std::vector<uint32_t>& from, const std::vector<uint32_t>& to) {
  const auto bytes_of = [](const std::vector<uint32_t>& w) {
    const auto* p = reinterpret_cast<const unsigned char*>(w.data());
    return std::vector<unsigned char>(p, p + 4 * w.size());
  };
  const cuuint32_t n = from.size();
  return fetches({type, 4, {n}, {n}}, {{0}}, 0, bytes_of(from), bytes_of(to));
}

// A load keeps subnormals, whatever the type's name says.
bool kept() {
  const std::vector<uint32_t> all = {0x00000123, 0x807fffff, 0x3f801000, 0xbf803fff,
                                     0x7fc01234, 0xff800000, 0x00800000, 0x80000000};
  return converts(CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ, all, all);
}

// To the nearest tf32, ties to even; a NaN becomes the one of all ones.
bool rounded() {
  return converts(CU_TENSOR_MAP_DATA_TYPE_TFLOAT32,
                  {0x3f801000, 0x3f803000, 0x3f801001, 0x3f800fff, 0xbf801000, 0xbf803fff, 0x7f7fffff, 0xff800000,
                   0x7fc01234, 0x00001000, 0x807fffff, 0x00000fff},
                  {0x3f800000, 0x3f804000, 0x3f802000, 0x3f800000, 0xbf800000, 0xbf804000, 0x7f800000, 0xff800000,
                   0x7fffe000, 0x00000000, 0x80800000, 0x00000000});
}

bool types() {
  const struct {
    CUtensorMapDataType type;
    int bytes;
  } plain[] = {{CU_TENSOR_MAP_DATA_TYPE_UINT8, 1},   {CU_TENSOR_MAP_DATA_TYPE_UINT16, 2},
               {CU_TENSOR_MAP_DATA_TYPE_UINT32, 4},  {CU_TENSOR_MAP_DATA_TYPE_INT32, 4},
               {CU_TENSOR_MAP_DATA_TYPE_UINT64, 8},  {CU_TENSOR_MAP_DATA_TYPE_INT64, 8},
               {CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2}, {CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4},
               {CU_TENSOR_MAP_DATA_TYPE_FLOAT64, 8}, {CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2}};
  for (const auto& t : plain)
    if (!fetches({t.type, t.bytes, {32, 8}, {16, 4}}, {{16, 2}})) return false;
  return kept() && rounded();
}

// Writes a tile of 8 rows of 16 numbers from shared memory, of which the last rows lie outside of the tensor.
template <bool Adds>
__global__ void put(const __grid_constant__ CUtensorMap map) {
  __shared__ alignas(128) uint32_t s[8][16];
  for (int turn = 0; turn < 2; ++turn) {
    for (int i = threadIdx.x; i < 128; i += k_threads) s[i / 16][i % 16] = i + 1000 * turn;
#ifndef NO_FENCE_BEFORE_STORE
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
    __syncthreads();
    if (threadIdx.x == 0) {
      const int x = turn * 16, y = 4;
      if (Adds)
        asm volatile(
            "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&map),
            "r"(x), "r"(y), "r"(shared_address(s))
            : "memory");
      else
        asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&map), "r"(x),
                     "r"(y), "r"(shared_address(s))
                     : "memory");
      asm volatile("cp.async.bulk.commit_group;" ::: "memory");
#ifndef NO_WAIT_BEFORE_REUSE
      asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
#endif
    }
    __syncthreads();
  }
}

bool stores(bool adds) {
  const shape t = {CU_TENSOR_MAP_DATA_TYPE_UINT32, 4, {32, 8}, {16, 8}};
  std::vector<unsigned char> data(t.pitch(2));
  for (int i = 0; i < 256; ++i) reinterpret_cast<uint32_t*>(data.data())[i] = 5 * i;
  const device_bytes d(data);
  const int blocks = adds ? 3 : 1;
  if (adds)
    put<true><<<blocks, k_threads>>>(t.map(d.p));
  else
    put<false><<<blocks, k_threads>>>(t.map(d.p));
  const std::vector<unsigned char> got = d.host();
  for (int i = 0; i < 256; ++i) {
    const int x = i % 32, y = i / 32;
    const uint32_t before = 5 * i, value = (y - 4) * 16 + x % 16 + 1000 * (x / 16);
    const uint32_t right = y < 4 ? before : adds ? before + blocks * value : value;
    if (reinterpret_cast<const uint32_t*>(got.data())[i] != right) return false;
  }
  return true;
}
bool store() { return stores(false); }
bool add() { return stores(true); }

// Every block adds the same half-precision and integer numbers to one place, without a map.
__global__ void reduce(__half* halves, int* largest) {
  __shared__ alignas(16) __half h[32];
  __shared__ alignas(16) int n[4];
  if (threadIdx.x < 32) h[threadIdx.x] = __float2half(threadIdx.x);
  if (threadIdx.x < 4) n[threadIdx.x] = static_cast<int>(threadIdx.x * blockIdx.x) - 3;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (threadIdx.x != 0) return;
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.f16 [%0], [%1], %2;" ::"l"(halves),
               "r"(shared_address(h)), "r"(64)
               : "memory");
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.max.s32 [%0], [%1], %2;" ::"l"(largest),
               "r"(shared_address(n)), "r"(16)
               : "memory");
  asm volatile("cp.async.bulk.commit_group;\n cp.async.bulk.wait_group 0;" ::: "memory");
}

bool reductions() {
  const device_bytes halves(std::vector<unsigned char>(64)), largest(std::vector<unsigned char>(16, 0xff));
  reduce<<<4, k_threads>>>(reinterpret_cast<__half*>(halves.p), reinterpret_cast<int*>(largest.p));
  const auto h = halves.host(), n = largest.host();
  for (int i = 0; i < 32; ++i)
    if (__half2float(reinterpret_cast<const __half*>(h.data())[i]) != 4.0f * i) return false;
  for (int i = 0; i < 4; ++i) {
    const int right = 3 * i - 3 > -1 ? 3 * i - 3 : -1;
    if (reinterpret_cast<const int*>(n.data())[i] != right) return false;
  }
  return true;
}

// The second block of a cluster brings a box for both.
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
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster"
        " [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(shared_address(s)),
        "l"(&map), "r"(8), "r"(2), "r"(shared_address(&full)), "h"(static_cast<unsigned short>(3))
        : "memory");
  wait_for(&full, 0);
  out[blockIdx.x * k_threads + threadIdx.x] = s[threadIdx.x];
  asm volatile("barrier.cluster.arrive.aligned;\n barrier.cluster.wait.aligned;" ::: "memory");
}

bool multicast() {
  const shape t = {CU_TENSOR_MAP_DATA_TYPE_UINT32, 4, {32, 16}, {8, 8}};
  const std::vector<unsigned char> data = numbers(t), right = expected(t, data, {{8, 2}}, 0);
  const device_bytes in(data), out(std::vector<unsigned char>(2 * right.size()));
  launch_pair(share, t.map(in.p), reinterpret_cast<uint32_t*>(out.p));
  const std::vector<unsigned char> got = out.host();
  return std::memcmp(got.data(), right.data(), right.size()) == 0 &&
         std::memcmp(got.data() + right.size(), right.data(), right.size()) == 0;
}

// The same through libcu++, a map in device memory, and the driver's function by its name.
__global__ void library(const CUtensorMap* map, const CUtensorMap* to) {
  using barrier = cuda::barrier<cuda::thread_scope_block>;
  namespace cde = cuda::device::experimental;
  __shared__ alignas(128) uint32_t s[8][16];
  __shared__ barrier full;
  if (threadIdx.x == 0) {
    init(&full, blockDim.x);
    cde::fence_proxy_async_shared_cta();
  }
  __syncthreads();
  barrier::arrival_token token;
  if (threadIdx.x == 0) {
    cde::cp_async_bulk_tensor_2d_global_to_shared(s, map, 16, 8, full);
    token = cuda::device::barrier_arrive_tx(full, 1, sizeof s);
  } else {
    token = full.arrive();
  }
  full.wait(std::move(token));
  for (int i = threadIdx.x; i < 128; i += k_threads) s[i / 16][i % 16] += 1;
  cde::fence_proxy_async_shared_cta();
  __syncthreads();
  if (threadIdx.x != 0) return;
  cde::cp_async_bulk_tensor_2d_shared_to_global(to, 0, 0, s);
  cde::cp_async_bulk_commit_group();
  cde::cp_async_bulk_wait_group_read<0>();
}

bool libcu() {
  shape t = {CU_TENSOR_MAP_DATA_TYPE_UINT32, 4, {64, 32}, {16, 8}};
  const std::vector<unsigned char> data = numbers(t), right = expected(t, data, {{16, 8}}, 0);
  const device_bytes in(data), out(std::vector<unsigned char>(right.size()));
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result;
  cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", &found, cudaEnableDefault, &result);
  if (result != cudaDriverEntryPointSuccess) return false;
  const auto encode = reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(found);
  CUtensorMap maps[2] = {t.map(in.p)};
  t.size = {16, 8};
  const cuuint64_t pitch[1] = {64};
  if (encode(&maps[1], t.type, 2, out.p, t.size.data(), pitch, t.box.data(), t.steps.data(),
             CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE,
             CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) != CUDA_SUCCESS)
    return false;
  CUtensorMap* on_device;
  cudaMalloc(&on_device, sizeof maps);
  cudaMemcpy(on_device, maps, sizeof maps, cudaMemcpyHostToDevice);
  library<<<1, k_threads>>>(on_device, on_device + 1);
  const std::vector<unsigned char> got = out.host();
  cudaFree(on_device);
  for (int i = 0; i < 128; ++i)
    if (reinterpret_cast<const uint32_t*>(got.data())[i] != reinterpret_cast<const uint32_t*>(right.data())[i] + 1)
      return false;
  return true;
}

// Requests that break a rule each; the first argument after the mode says which.
bool broken(const char* rule) {
  alignas(64) static CUtensorMap m;
  static unsigned char* d = nullptr;
  cudaMalloc(&d, 4096);
  shape t = {CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4, {32, 8, 2}, {16, 4, 2}};
  cuuint64_t strides[2] = {128, 1024};
  int offset = 0, rank = 3, interleave = 0;
  const auto is = [&](const char* name) { return std::strcmp(rule, name) == 0; };
  if (is("rank")) rank = 6;
  if (is("address")) offset = 8;
  if (is("size")) t.size[1] = 0;
  if (is("stride")) strides[1] = 1032;
  if (is("far")) strides[1] = cuuint64_t{1} << 40;
  if (is("box")) t.box[1] = 257;
  if (is("row")) t.box[0] = 6;
  if (is("tile")) t.box = {64, 256, 4};
  if (is("step")) t.steps[2] = 9;
  if (is("span")) t.swizzle = CU_TENSOR_MAP_SWIZZLE_32B;
  if (is("interleave")) interleave = 3;
  if (is("slices")) interleave = 1, rank = 2;
  if (is("slice") || is("aligned") || is("strided")) interleave = 2;
  if (is("aligned") || is("strided")) t.swizzle = CU_TENSOR_MAP_SWIZZLE_32B;
  if (is("aligned")) offset = 16;
  if (is("strided")) strides[0] = 144;
  if (is("nan")) t.type = CU_TENSOR_MAP_DATA_TYPE_INT32, t.fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA;
  CUtensorMap* const map = is("map") ? reinterpret_cast<CUtensorMap*>(reinterpret_cast<char*>(&m) + 32) : &m;
  const CUresult r = cuTensorMapEncodeTiled(map, t.type, rank, d + offset, t.size.data(), strides, t.box.data(),
                                            t.steps.data(), static_cast<CUtensorMapInterleave>(interleave), t.swizzle,
                                            CU_TENSOR_MAP_L2_PROMOTION_NONE, t.fill);  // broken
  cudaFree(d);
  return r == CUDA_ERROR_INVALID_VALUE;
}

// What a copy itself may have wrong.
__global__ void wrong(const __grid_constant__ CUtensorMap map, int rank, int offset, place p) {
  __shared__ alignas(128) unsigned char s[1024];
  __shared__ uint64_t full;
  if (threadIdx.x != 0) return;
  init_barrier(&full);
  load(s + offset, &map, rank, p, &full);
}

bool wrong_copy(const char* what) {
  const shape t = {CU_TENSOR_MAP_DATA_TYPE_UINT32, 4, {64, 32}, {16, 8}};
  const device_bytes d(numbers(t));
  CUtensorMap m = t.map(d.p);
  if (std::strcmp(what, "no-map") == 0) m = {};
  wrong<<<1, 32>>>(m, std::strcmp(what, "coordinates") == 0 ? 3 : 2, std::strcmp(what, "place") == 0 ? 64 : 0,
                   {{std::strcmp(what, "begin") == 0 ? 3 : 0}});
  return cudaDeviceSynchronize() == cudaSuccess;
}

int main(int argc, char** argv) {
  if (argc > 2 && std::strcmp(argv[1], "broken") == 0) return !broken(argv[2]);
  if (argc > 2 && std::strcmp(argv[1], "wrong") == 0) return !wrong_copy(argv[2]);
  const mode modes[] = {{"box", box},
                        {"dimensions", dimensions},
                        {"swizzles", swizzles},
                        {"gaps", gaps},
                        {"outside", outside},
                        {"steps", steps},
                        {"types", types},
                        {"store", store},
                        {"add", add},
                        {"reductions", reductions},
                        {"multicast", multicast},
                        {"libcu", libcu},
                        {"interleaved", interleaved}};
  return run_modes(argc, argv, modes);
}
