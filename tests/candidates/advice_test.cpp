// The advice in the message of a failure names the statement that admits the kernel, and none that does not.
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "tests/run_command.hpp"
#include "tests/scratch_folder.hpp"

namespace {

using result = warpcheck::self::command_result;

result verify(const std::string& op, const std::string& source, const std::string& entry, const std::string& property,
              const std::string& size = "quick", int cases = 12) {
  return warpcheck::self::run_command("'" + warpcheck::self::environment("WARPCHECK_TEST_COMMAND") + "' verify " + op +
                                      " --device emulated --size " + size + " --cases " + std::to_string(cases) +
                                      " --property " + property + " --source " + source + " --entry " + entry);
}

TEST(Advice, OfAKernelOfVectorsNamesItsAlignment) {
  const warpcheck::self::scratch_folder folder;
  const std::string source = folder.write("fours.cu", R"(#include <cuda_runtime.h>
__device__ float of(float x) { return x >= 0 ? 1 / (1 + expf(-x)) : expf(x) / (1 + expf(x)); }
__global__ void elements(const float4* x, float4* y, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= n) return;
  float4 v = x[i];
  y[i] = make_float4(of(v.x), of(v.y), of(v.z), of(v.w));
}
cudaError_t fours(const float* x, float* y, int cols, cudaStream_t stream) {
  if (cols % 4 != 0) return cudaErrorNotSupported;
  if (cols > 0) elements<<<(cols / 4 + 255) / 256, 256, 0, stream>>>((const float4*)x, (float4*)y, cols / 4);
  return cudaSuccess;
}
__global__ void sum(const float4* x, float* y, int fours) {
  float all = 0;
  for (int i = 0; i < fours; ++i) {
    const float4 v = x[blockIdx.x * fours + i];
    all += v.x + v.y + v.z + v.w;
  }
  y[blockIdx.x] = all;
}
cudaError_t sums(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  if (cols % 4 != 0) return cudaErrorNotSupported;
  if (rows > 0) sum<<<rows, 1, 0, stream>>>((const float4*)x, y, cols / 4);
  return cudaSuccess;
}
)");
  EXPECT_TRUE(ended(verify("reduce", source, "sums", "within-error-bound"), 1,
                    {"it passes with aligned tensors: state 'lacks x misaligned 16' "}));
  // One statement is enough, whichever tensor the smallest case has misaligned.
  EXPECT_TRUE(ended(verify("sigmoid", source, "fours", "within-error-bound"), 1,
                    {"within-error-bound: out_of_bounds: ",
                     "it passes with aligned tensors: state 'lacks x misaligned 16, y misaligned 16' "}));
  const std::string stated = "\n// warpcheck fours: lacks x misaligned 16, y misaligned 16\n";
  std::ofstream(source, std::ios::app) << stated;
  EXPECT_TRUE(ended(verify("sigmoid", source, "fours", "within-error-bound"), 0, {}, {"skipped"}));
}

// Kernels that are right for whole tiles or rows with columns alone, one with a wrong distance between rows, and one
// for square matrices. A statement may leave out the namespace.
TEST(Advice, OfAKernelOfWholeTilesNamesItsSizes) {
  const warpcheck::self::scratch_folder folder;
  const std::string source = folder.write("tiles.cu", R"(#include <cuda_runtime.h>
__global__ void elements(const float* a, const float* b, float* c, int m, int n, int k) {
  const int j = blockIdx.x * 16 + threadIdx.x, i = blockIdx.y * 8 + threadIdx.y;
  if (j >= n || i >= m) return;
  float sum = 0;
  for (int l = 0; l < k; ++l) sum += a[i * k + l] * b[l * n + j];
  c[i * n + j] = sum;
}
void tiles(const float* a, const float* b, float* c, int m, int n, int k, cudaStream_t stream) {
  if (m < 8 || n < 16) return;
  elements<<<dim3(n / 16, m / 8), dim3(16, 8), 0, stream>>>(a, b, c, m, n, k / 4 * 4);
}
void squares(const float* a, const float* b, float* c, int m, int n, int k, cudaStream_t stream) {
  elements<<<dim3((m + 15) / 16, (n + 7) / 8), dim3(16, 8), 0, stream>>>(a, b, c, m, m, k);
}
__global__ void minimum(const float* x, long ldx, float* y, long ldy, int rows, int cols, long ld) {
  for (int i = threadIdx.x; i < rows * cols; i += 32) y[i / cols * ld + i % cols] = x[i / cols * ldx + i % cols];
}
void wrong_distance(const float* x, long ldx, float* y, long ldy, int rows, int cols, cudaStream_t stream) {
  minimum<<<1, 32, 0, stream>>>(x, ldx, y, ldy, rows, cols, ldx);
}
__global__ void some(const float* x, long* index, int cols) {
  int first = 0;
  for (int i = 1; i < cols; ++i)
    if (x[blockIdx.x * cols + i] > x[blockIdx.x * cols + first]) first = i;
  index[blockIdx.x] = first;
}
void of_some(const float* x, long* index, int rows, int cols, cudaStream_t stream) {
  if (rows > 0) some<<<rows, 1, 0, stream>>>(x, index, cols);
}
__global__ void quarters(const float4* x, float4* y, int n) {
  for (int i = threadIdx.x; i < n; i += 32) y[i] = x[i];
}
namespace shapes {
void flat(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  quarters<<<1, 32, 0, stream>>>((const float4*)x, (float4*)y, rows * cols / 4);
}
}
// warpcheck flat: lacks x misaligned 16, y misaligned 16
)");
  EXPECT_TRUE(ended(verify("matmul", source, "tiles", "within-error-bound"), 1,
                    {"it passes with other sizes: state 'lacks m%8, n%16, k%4' if callers have only those"}));
  EXPECT_TRUE(
      ended(verify("matmul", source, "squares", "within-error-bound"), 1, {"matmul/within-error-bound: "}, {"lacks"}));
  EXPECT_TRUE(ended(verify("argmax", source, "of_some", "empty"), 1, {"state 'lacks cols<1' if"}, {"rows<1"}));
  const std::string copy =
      folder.write("copy.op", "operator copy(x[rows, cols]) -> y[rows, cols]\n  y[r,c] = x[r,c]\n");
  EXPECT_TRUE(ended(verify(copy, source, "wrong_distance", "layout"), 1,
                    {"the gap between rows of tensor y was written"}, {"lacks", "the detector reports"}));
  EXPECT_TRUE(ended(verify(copy, source, "shapes::flat", "within-error-bound"), 1, {"state 'lacks rows*cols%4' if"}));
  std::ofstream(source, std::ios::app) << "\n// warpcheck tiles: lacks m%8, n%16, k%4\n";
  EXPECT_TRUE(ended(verify("matmul", source, "tiles", "within-error-bound"), 0, {}, {"skipped"}));
}

// A kernel that fails for some values alone is told nothing of sizes.
TEST(Advice, OfAKernelThatFailsForSomeValuesNamesNoSizes) {
  const warpcheck::self::scratch_folder folder;
  const std::string source = folder.write("entropy.cu", R"(#include <cuda_runtime.h>
// Subtracts 0 from a row of small values, whose exponentials are then inaccurate.
__global__ void entropy(const float* x, const long* label, float* loss, int n, int cols) {
  const int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= n) return;
  float largest = 0, sum = 0;
  for (int i = 0; i < cols; ++i) largest = fmaxf(largest, x[r * cols + i]);
  for (int i = 0; i < cols; ++i) sum += expf(x[r * cols + i] - largest);
  loss[r] = logf(sum) - (x[r * cols + label[r]] - largest);
}
void from_zero(const float* logits, const long* labels, float* loss, int n, int classes, cudaStream_t stream) {
  if (n > 0) entropy<<<(n + 31) / 32, 32, 0, stream>>>(logits, labels, loss, n, classes);
}
)");
  const std::string entropy = folder.write(
      "xent.op",
      "operator xent(logits[n, classes], labels: i64[n] of classes) -> loss[n]\n  top[r] = max(c) logits[r,c]\n"
      "  loss[r] = log(sum(c) exp(logits[r,c] - top[r])) - (logits[r,labels[r]] - top[r])\n");
  EXPECT_TRUE(ended(verify(entropy, source, "from_zero --fail-fast", "within-error-bound", "ci", 100), 1,
                    {": violation: "}, {"lacks"}));
}

// The emulated device adds in CUB's order, so a correct kernel needs no statement.
TEST(Advice, IsNotNeededForSumsOfABlockByCub) {
  const warpcheck::self::scratch_folder folder;
  const std::string source = folder.write("cub.cu", R"(#include <cub/cub.cuh>
__global__ void rows(const float* x, float* y, int cols) {
  using reduce = cub::BlockReduce<float, 256>;
  __shared__ reduce::TempStorage storage;
  __shared__ float shared;
  const float* row = x + static_cast<size_t>(blockIdx.x) * cols;
  float largest = -INFINITY, sum = 0;
  for (int i = threadIdx.x; i < cols; i += 256) largest = fmaxf(largest, row[i]);
  largest = reduce(storage).Reduce(largest, [](float a, float b) { return fmaxf(a, b); });
  if (threadIdx.x == 0) shared = largest;
  __syncthreads();
  largest = shared;
  for (int i = threadIdx.x; i < cols; i += 256) sum += expf(row[i] - largest);
  sum = reduce(storage).Sum(sum);
  __syncthreads();
  if (threadIdx.x == 0) shared = sum;
  __syncthreads();
  for (int i = threadIdx.x; i < cols; i += 256)
    y[static_cast<size_t>(blockIdx.x) * cols + i] = expf(row[i] - largest) / shared;
}
void by_cub(const float* x, float* y, int rows_, int cols, cudaStream_t stream) {
  if (rows_ > 0) rows<<<rows_, 256, 0, stream>>>(x, y, cols);
}
)");
  EXPECT_TRUE(ended(verify("softmax", source, "by_cub --args rows_=rows", "long-accumulation"), 0, {}, {"skipped"}));
}

}  // namespace
