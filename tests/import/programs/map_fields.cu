// Tensor maps that a kernel writes: as grouped products do, from a template, and as Triton does, from zeros.
#include "tensor_copies.cuh"

#define REPLACE(FIELD, TYPE, OPERANDS, ...)                                                                  \
  asm volatile("tensormap.replace.tile." FIELD ".shared::cta.b1024." TYPE " [%0], " OPERANDS ";" ::"r"(map), \
               __VA_ARGS__                                                                                   \
               : "memory")

constexpr int k_cols = 32, k_box_rows = 4, k_box_cols = 16;

__device__ void describe(uint32_t map, const uint32_t* data, int rows) {
  REPLACE("global_address", "b64", "%1", "l"(data));
  REPLACE("global_dim", "b32", "1, %1", "r"(rows));
#ifdef ODD_STRIDE
  REPLACE("global_stride", "b64", "0, %1", "l"(8ull));
#endif
}

__device__ void describe_all(uint32_t map, const uint32_t* data, int rows) {
  REPLACE("rank", "b32", "%1", "r"(1));
  REPLACE("box_dim", "b32", "0, %1", "r"(k_box_cols));
  REPLACE("box_dim", "b32", "1, %1", "r"(k_box_rows));
  REPLACE("global_dim", "b32", "0, %1", "r"(k_cols));
  REPLACE("global_stride", "b64", "0, %1", "l"(4ull * k_cols));
  REPLACE("element_stride", "b32", "0, %1", "r"(1));
  REPLACE("element_stride", "b32", "1, %1", "r"(1));
  REPLACE("elemtype", "b32", "0x2", "r"(0));
  REPLACE("interleave_layout", "b32", "0x0", "r"(0));
  REPLACE("swizzle_mode", "b32", "0x0", "r"(0));
  REPLACE("fill_mode", "b32", "0x0", "r"(0));
  describe(map, data, rows);
}

// Each block brings the last box of each group, of which the last row lies outside of the group's rows.
__global__ void gather(const __grid_constant__ CUtensorMap pattern, bool has_pattern, CUtensorMap* maps,
                       const uint32_t* data, const int* begins, int groups, uint32_t* out) {
  __shared__ alignas(128) CUtensorMap own;
  __shared__ alignas(128) uint32_t tile[k_box_rows][k_box_cols];
  __shared__ uint64_t full;
  CUtensorMap* const map = maps + blockIdx.x;
  if (threadIdx.x == 0) init_barrier(&full);
  __syncthreads();
  for (int g = 0; g < groups; ++g) {
    const int rows = begins[g + 1] - begins[g];
    if (threadIdx.x < 32) {
      reinterpret_cast<uint32_t*>(&own)[threadIdx.x] =
          has_pattern ? reinterpret_cast<const uint32_t*>(&pattern)[threadIdx.x] : 0;
      __syncwarp();
      if (threadIdx.x == 0) {
        const uint32_t at = shared_address(&own);
        if (has_pattern)
          describe(at, data + begins[g] * k_cols, rows);
        else
          describe_all(at, data + begins[g] * k_cols, rows);
      }
      __syncwarp();
#ifdef PLAIN_COPY
      reinterpret_cast<uint32_t*>(map)[threadIdx.x] = reinterpret_cast<const uint32_t*>(&own)[threadIdx.x];
#ifdef RELEASE
      asm volatile("fence.proxy.tensormap::generic.release.gpu;" ::: "memory");
#endif
      __syncwarp();
#else
      asm volatile(
          "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%0], [%1], 128;" ::
              "l"(map),
          "r"(shared_address(&own))
          : "memory");
#endif
#ifndef NO_ACQUIRE
      asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(map) : "memory");
#endif
      if (threadIdx.x == 0) {
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(&full)),
                     "r"(static_cast<int>(sizeof tile))
                     : "memory");
        asm volatile(
            "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], "
            "[%4];" ::"r"(shared_address(tile)),
            "l"(map), "r"(8), "r"(rows - k_box_rows + 1), "r"(shared_address(&full))
            : "memory");
      }
    }
    wait_for(&full, g & 1);
    out[(blockIdx.x * groups + g) * k_threads + threadIdx.x] = tile[threadIdx.x / k_box_cols][threadIdx.x % k_box_cols];
    __syncthreads();
  }
}

bool gathers(bool has_pattern) {
  const std::vector<int> begins = {0, 7, 12, 20};
  const int groups = 3, blocks = 2;
  std::vector<unsigned char> data(20 * k_cols * 4);
  for (int i = 0; i < 20 * k_cols; ++i) reinterpret_cast<uint32_t*>(data.data())[i] = 3 * i + 1;
  const device_bytes in(data), out(std::vector<unsigned char>(blocks * groups * k_threads * 4));
  const auto* b = reinterpret_cast<const unsigned char*>(begins.data());
  const device_bytes on(std::vector<unsigned char>(b, b + 4 * begins.size()));
  const cuuint64_t size[2] = {k_cols, 4}, stride[1] = {4 * k_cols};
  const cuuint32_t box[2] = {k_box_cols, k_box_rows}, steps[2] = {1, 1};
  CUtensorMap pattern;
  if (cuTensorMapEncodeTiled(&pattern, CU_TENSOR_MAP_DATA_TYPE_UINT32, 2, in.p, size, stride, box, steps,
                             CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                             CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) != CUDA_SUCCESS)
    return false;
  CUtensorMap* maps;
  cudaMalloc(&maps, blocks * sizeof *maps);
  gather<<<blocks, k_threads>>>(pattern, has_pattern, maps, reinterpret_cast<const uint32_t*>(in.p),
                                reinterpret_cast<const int*>(on.p), groups, reinterpret_cast<uint32_t*>(out.p));
  const std::vector<unsigned char> got = out.host();
  cudaFree(maps);
  for (int i = 0; i < blocks * groups * k_threads; ++i) {
    const int g = i / k_threads % groups, row = i % k_threads / k_box_cols, col = 8 + i % k_box_cols;
    const int last = begins[g + 1] - k_box_rows + 1 + row;
    const uint32_t right = last < begins[g + 1] ? 3 * (last * k_cols + col) + 1 : 0;
    if (reinterpret_cast<const uint32_t*>(got.data())[i] != right)
      return std::printf("word %d is %u, right is %u\n", i, reinterpret_cast<const uint32_t*>(got.data())[i], right),
             false;
  }
  return true;
}

int main(int argc, char**) { return !gathers(argc == 1); }
