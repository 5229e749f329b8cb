#include "tests/simt/tensor_kernels.hpp"

#include <stdexcept>

#include "simt/simt.hpp"
#ifndef __CUDACC__
#include "simt/emulation.hpp"
#endif

namespace warpcheck::self {
namespace SIMT_DEVICE_NS {
namespace {

template <class T>
constexpr bool is_tf32 = std::is_same_v<T, simt::tf32>;

template <class T>
__global__ void mma_once(const uint32_t* a, const uint32_t* b, const float* c, float* d) {
  const unsigned lane = blockIdx.x * 32 + threadIdx.x;
  uint32_t fragment_a[4], fragment_b[2];
  float fragment_c[4], fragment_d[4];
  for (unsigned i = 0; i < 4; ++i) fragment_a[i] = a[4 * lane + i];
  for (unsigned i = 0; i < 2; ++i) fragment_b[i] = b[2 * lane + i];
  for (unsigned i = 0; i < 4; ++i) fragment_c[i] = c[4 * lane + i];
  simt::mma<16, 8, is_tf32<T> ? 8 : 16, T, T>(fragment_d, fragment_a, fragment_b, fragment_c);
  for (unsigned i = 0; i < 4; ++i) d[4 * lane + i] = fragment_d[i];
}

template <int Count, bool Transposed>
__global__ void ldmatrix_once(const uint32_t* bytes, const uint32_t* row, uint32_t* d) {
  SIMT_DYN_SHARED(uint32_t, tile);
  const unsigned lane = threadIdx.x;
  for (unsigned i = lane; i < 128; i += 32) tile[i] = bytes[i];
  __syncwarp();
  uint32_t loaded[Count];
  simt::ldmatrix<Count, Transposed>(loaded, tile + 4 * row[lane]);
  for (int i = 0; i < Count; ++i) d[Count * static_cast<int>(lane) + i] = loaded[i];
}

struct placed_tile {
  const uint32_t* bytes;
  unsigned leading, stride, start;
  simt::swizzle pattern;
};

template <int N, class T, simt::major A, simt::major B, bool Registers>
__global__ void wgmma_once(placed_tile a, placed_tile b, const uint32_t* a_registers, const float* c, bool accumulate,
                           float* d) {
  SIMT_DYN_SHARED(unsigned char, memory);
  const auto address = reinterpret_cast<uintptr_t>(memory);
  unsigned char* const tile_a = memory + ((address + 1023) / 1024 * 1024 - address);
  unsigned char* const tile_b = tile_a + k_tile_a_bytes;
  const unsigned t = threadIdx.x, block = blockIdx.x;
  if (!Registers)
    for (unsigned i = t; i < k_tile_a_bytes / 4; i += 128)
      reinterpret_cast<uint32_t*>(tile_a)[i] = a.bytes[block * (k_tile_a_bytes / 4) + i];
  for (unsigned i = t; i < k_tile_b_bytes / 4; i += 128)
    reinterpret_cast<uint32_t*>(tile_b)[i] = b.bytes[block * (k_tile_b_bytes / 4) + i];
  float sum[N / 2];
  for (int i = 0; i < N / 2; ++i) sum[i] = c[(block * 128 + t) * (N / 2) + static_cast<unsigned>(i)];
  uint32_t fragment[4] = {};
  if (Registers)
    for (unsigned i = 0; i < 4; ++i) fragment[i] = a_registers[(block * 128 + t) * 4 + i];
  simt::fence_proxy_async();
  __syncthreads();
  const auto descriptor_b = simt::make_matrix_descriptor(tile_b + b.start, b.leading, b.stride, b.pattern);
  simt::wgmma_fence(sum);
  if constexpr (Registers) {
    simt::wgmma<N, T, B>(sum, fragment, descriptor_b, accumulate);
  } else {
    const auto descriptor_a = simt::make_matrix_descriptor(tile_a + a.start, a.leading, a.stride, a.pattern);
    simt::wgmma<N, T, A, B>(sum, descriptor_a, descriptor_b, accumulate);
  }
  simt::wgmma_commit();
  simt::wgmma_wait<0>(sum);
  for (int i = 0; i < N / 2; ++i) d[(block * 128 + t) * (N / 2) + static_cast<unsigned>(i)] = sum[i];
}

__global__ void round_all(const float* x, float* y, unsigned n) {
  const unsigned i = blockIdx.x * 128 + threadIdx.x;
  if (i < n) y[i] = simt::round_tf32(x[i]);
}

// Where the launches run; on the host with the detector's default schedule.
struct place {
#ifdef __CUDACC__
  simt::stream_t stream() { return nullptr; }
  explicit place(unsigned) {}
#else
  simt::emulation emulation;
  simt::stream_t stream() { return &emulation; }
  explicit place(unsigned sm_arch) { emulation.sm_arch = sm_arch; }
#endif
};

template <class T>
class uploaded {
 public:
  uploaded(const std::vector<T>& from, simt::stream_t stream) : buffer_(from.empty() ? 1 : from.size(), stream) {
    if (!from.empty()) simt::memcpy_async(buffer_.data(), from.data(), from.size() * sizeof(T), stream);
  }
  T* data() const { return buffer_.data(); }

 private:
  simt::buffer<T> buffer_;
};

template <class T>
std::vector<T> download(const simt::buffer<T>& from, simt::stream_t stream) {
  std::vector<T> to(from.size());
  simt::memcpy_async(to.data(), from.data(), to.size() * sizeof(T), stream);
#ifdef __CUDACC__
  simt::detail::check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
#endif
  return to;
}

std::vector<float> run_mma(simt::tensor_type type, const std::vector<uint32_t>& a, const std::vector<uint32_t>& b,
                           const std::vector<float>& c, unsigned sm_arch) {
  place at(sm_arch);
  const uploaded<uint32_t> on_a(a, at.stream()), on_b(b, at.stream());
  const uploaded<float> on_c(c, at.stream());
  simt::buffer<float> d(c.size(), at.stream());
  const auto kernel = type == simt::tensor_type::f16    ? mma_once<simt::f16>
                      : type == simt::tensor_type::bf16 ? mma_once<simt::bf16>
                                                        : mma_once<simt::tf32>;
  simt::launch({static_cast<unsigned>(c.size() / 128), 32, 0, at.stream()}, kernel, on_a.data(), on_b.data(),
               on_c.data(), d.data());
  return download(d, at.stream());
}

std::vector<uint32_t> run_ldmatrix(int count, bool transposed, const std::vector<uint8_t>& bytes,
                                   const std::vector<uint32_t>& row) {
  place at(90);
  const uploaded<uint8_t> on_bytes(bytes, at.stream());
  const uploaded<uint32_t> on_row(row, at.stream());
  simt::buffer<uint32_t> d(static_cast<size_t>(32 * count), at.stream());
  using kernel_type = void (*)(const uint32_t*, const uint32_t*, uint32_t*);
  const kernel_type kernels[6] = {ldmatrix_once<1, false>, ldmatrix_once<1, true>,  ldmatrix_once<2, false>,
                                  ldmatrix_once<2, true>,  ldmatrix_once<4, false>, ldmatrix_once<4, true>};
  simt::launch({1, 32, 512, at.stream()}, kernels[(count == 4 ? 2 : count - 1) * 2 + transposed],
               reinterpret_cast<const uint32_t*>(on_bytes.data()), on_row.data(), d.data());
  return download(d, at.stream());
}

using wgmma_kernel = void (*)(placed_tile, placed_tile, const uint32_t*, const float*, bool, float*);

template <int N, class T>
wgmma_kernel kernel_of(const warpgroup_run& run) {
  constexpr auto k = simt::major::k, mn = simt::major::mn;
  const bool a_mn = run.a.mn_major, b_mn = run.b.mn_major, registers = !run.a_registers.empty();
  if (!a_mn && !b_mn) return registers ? wgmma_once<N, T, k, k, true> : wgmma_once<N, T, k, k, false>;
  if constexpr (!is_tf32<T> && (N == 64 || N == 256)) {
    if (registers) return wgmma_once<N, T, k, mn, true>;
    if (a_mn) return b_mn ? wgmma_once<N, T, mn, mn, false> : wgmma_once<N, T, mn, k, false>;
    return wgmma_once<N, T, k, mn, false>;
  }
  throw std::invalid_argument("no kernel of this shape");
}

template <class T>
wgmma_kernel kernel_of_type(const warpgroup_run& run) {
  switch (run.n) {
    case 8: return kernel_of<8, T>(run);
    case 16: return kernel_of<16, T>(run);
    case 32: return kernel_of<32, T>(run);
    case 64: return kernel_of<64, T>(run);
    case 96: return kernel_of<96, T>(run);
    case 128: return kernel_of<128, T>(run);
    case 192: return kernel_of<192, T>(run);
    case 256: return kernel_of<256, T>(run);
    default: throw std::invalid_argument("no kernel of this n");
  }
}

std::vector<float> run_wgmma(const warpgroup_run& run) {
  place at(90);
  const uploaded<uint8_t> on_a(run.a.bytes, at.stream()), on_b(run.b.bytes, at.stream());
  const uploaded<uint32_t> registers(run.a_registers, at.stream());
  const uploaded<float> on_c(run.c, at.stream());
  simt::buffer<float> d(run.c.size(), at.stream());
  const auto placed = [](const tile& t, const uint8_t* bytes) {
    return placed_tile{reinterpret_cast<const uint32_t*>(bytes), t.leading, t.stride, t.start,
                       static_cast<simt::swizzle>(t.pattern)};
  };
  const wgmma_kernel kernel = run.type == simt::tensor_type::f16    ? kernel_of_type<simt::f16>(run)
                              : run.type == simt::tensor_type::bf16 ? kernel_of_type<simt::bf16>(run)
                                                                    : kernel_of_type<simt::tf32>(run);
  simt::launch({static_cast<unsigned>(run.count), 128, k_tile_a_bytes + k_tile_b_bytes + 1024, at.stream()}, kernel,
               placed(run.a, on_a.data()), placed(run.b, on_b.data()), registers.data(), on_c.data(), run.accumulate,
               d.data());
  return download(d, at.stream());
}

std::vector<float> run_round_tf32(const std::vector<float>& x) {
  place at(90);
  const uploaded<float> on_x(x, at.stream());
  simt::buffer<float> y(x.size(), at.stream());
  const auto n = static_cast<unsigned>(x.size());
  simt::launch({(n + 127) / 128, 128, 0, at.stream()}, round_all, on_x.data(), y.data(), n);
  return download(y, at.stream());
}

}  // namespace

tensor_functions tensor_core() { return {run_mma, run_ldmatrix, run_wgmma, run_round_tf32}; }

#ifdef __CUDACC__
unsigned sm_arch() {
  return static_cast<unsigned>(10 * simt::detail::attribute(cudaDevAttrComputeCapabilityMajor) +
                               simt::detail::attribute(cudaDevAttrComputeCapabilityMinor));
}
#endif

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck::self
