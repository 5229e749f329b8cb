// What a source states, or shows when it is asked: alignment, logarithms of whole sums, exponentials that overflow.
#include <gtest/gtest.h>

#include <string>

#include "tests/run_command.hpp"
#include "tests/scratch_folder.hpp"

namespace {

using warpcheck::self::environment;
using result = warpcheck::self::command_result;

result verify(const std::string& op, const std::string& source, const std::string& entry, const std::string& more) {
  return warpcheck::self::run_command("'" + environment("WARPCHECK_TEST_COMMAND") + "' verify " + op +
                                      " --device emulated --size quick --shrink-seconds 0.5 --source " + source +
                                      " --entry " + entry + " " + more);
}

constexpr const char* k_vector_loads = R"(
#include <cuda_runtime.h>
#include <cstdint>

__global__ void sums(const float4* x, int64_t ld, float* y, int64_t rows, int64_t vectors, int64_t begin) {
  for (int64_t r = threadIdx.x; r < rows; r += blockDim.x) {
    double sum = 0;
    for (int64_t j = begin; j < vectors; ++j) {
      const float4 v = x[r * ld + j];
      sum += double(v.x) + v.y + v.z + v.w;
    }
    y[r] = static_cast<float>(sum);
  }
}
static cudaError_t sum(const float* x, int64_t ldx, float* y, int64_t rows, int64_t cols, int64_t begin,
                       cudaStream_t stream) {
  if (reinterpret_cast<uintptr_t>(x) % 16 || ldx % 4 || cols % 4) return cudaErrorNotSupported;
  sums<<<1, 32, 0, stream>>>(reinterpret_cast<const float4*>(x), ldx / 4, y, rows, cols / 4, begin);
  return cudaGetLastError();
}
extern "C" cudaError_t all(const float* x, int64_t ldx, float* y, int64_t rows, int64_t cols, cudaStream_t stream) {
  return sum(x, ldx, y, rows, cols, 0, stream);
}
extern "C" cudaError_t all_but_one(const float* x, int64_t ldx, float* y, int64_t rows, int64_t cols,
                                   cudaStream_t stream) {
  return sum(x, ldx, y, rows, cols, cols > 256, stream);
}
)";

TEST(Alignment, IsFoundByAskingAndCanBeStated) {
  warpcheck::self::scratch_folder folder;
  folder.write("vector.cu", k_vector_loads);
  const auto verify_vectors = [&](const std::string& entry, const std::string& more) {
    return verify("reduce", folder.path("vector.cu"), entry, "--cases 16 --max-rows 64 --max-cols 1000 " + more);
  };
  const result right = verify_vectors("all", "");
  EXPECT_EQ(right.status, 0) << right.output;
  for (const char* lacked : {"x misaligned 16", "ldx%4", "cols%4"}) EXPECT_TRUE(right.has(lacked)) << right.output;
  EXPECT_FALSE(right.has("skipped")) << right.output;
  EXPECT_EQ(verify_vectors("all_but_one", "--property within-error-bound").status, 1);
  folder.write("vector.cu",
               "// warpcheck all: lacks x misaligned 256, y misaligned 256\n" + std::string(k_vector_loads));
  const result stated = verify_vectors("all", "--property misalignment --property within-error-bound");
  EXPECT_TRUE(ended(stated, 0, {"not asked: reduce/misalignment: needs x misaligned 256"}));
}

// As textbooks have them, with 23 and fewer bits of the exponentials.
constexpr const char* k_textbook = R"(
#include <cuda_runtime.h>

__device__ float cut(float e, int bits) {
  return __int_as_float(__float_as_int(e) & ~((1 << (23 - bits)) - 1));
}
__global__ void logarithms(const float* x, float* y, int rows, int cols, bool of_elements, int bits) {
  const int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  const float* row = x + static_cast<size_t>(r) * cols;
  float largest = row[0], sum = 0;
  bool has_nan = false;
  for (int j = 0; j < cols; ++j) largest = fmaxf(largest, row[j]), has_nan |= isnan(row[j]);
  for (int j = 0; j < cols; ++j) sum += cut(expf(row[j] - largest), bits);
  if (!of_elements) y[r] = has_nan ? NAN : isinf(largest) ? largest : largest + logf(sum);
  for (int j = 0; of_elements && j < cols; ++j)
    y[static_cast<size_t>(r) * cols + j] = has_nan ? NAN : row[j] - largest - logf(sum);
}
template <bool of_elements, int bits>
cudaError_t run(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  if (cols == 0) return cudaErrorNotSupported;
  logarithms<<<(rows + 63) / 64, 64, 0, stream>>>(x, y, rows, cols, of_elements, bits);
  return cudaGetLastError();
}
#define ENTRY(name, of_elements, bits)                                                                     \
  extern "C" cudaError_t name(const float* x, float* y, int rows, int cols, cudaStream_t stream) { \
    return run<of_elements, bits>(x, y, rows, cols, stream);                                               \
  }
ENTRY(logsumexp, false, 23)
ENTRY(logsumexp_stated, false, 23)
ENTRY(logsumexp_cut, false, 10)
ENTRY(log_softmax, true, 23)
ENTRY(log_softmax_stated, true, 23)
ENTRY(log_softmax_cut, true, 10)

__global__ void logistic(const float* x, float* y, int cols, int bits) {
  const int j = blockIdx.x * blockDim.x + threadIdx.x;
  if (j < cols) y[j] = 1 / (1 + cut(expf(-x[j]), bits));
}
#define LOGISTIC(name, bits)                                                                \
  extern "C" void name(const float* x, float* y, int cols, cudaStream_t stream) {           \
    if (cols > 0) logistic<<<(cols + 63) / 64, 64, 0, stream>>>(x, y, cols, bits);  \
  }
LOGISTIC(sigmoid, 23)
LOGISTIC(sigmoid_stated, 23)
LOGISTIC(sigmoid_cut, 10)
)";

TEST(Textbook, KernelsPassByTheirStatement) {
  warpcheck::self::scratch_folder folder;
  for (const std::string op : {"logsumexp", "log_softmax", "sigmoid"}) {
    const std::string states = op == "sigmoid" ? "exp overflows" : "log of sum";
    std::string source = k_textbook;
    const std::string sums = op == "sigmoid" ? "" : "; sums chain";
    for (const char* end : {"_stated", "_cut"}) source += "// warpcheck " + op + end + ": " + states + sums + "\n";
    folder.write("textbook.cu", source);
    const auto verify_textbook = [&](const std::string& end, const std::string& more) {
      return verify(op, folder.path("textbook.cu"), op + end, "--cases 12 --max-rows 64 --max-cols 1000 " + more);
    };
    const result plain = verify_textbook("", op == "sigmoid" ? "" : "--property log1p-tail");
    EXPECT_TRUE(ended(plain, 1, {"state '" + states + "'"}));
    EXPECT_TRUE(ended(verify_textbook("_stated", ""), 0, {}, {"skipped"}));
    EXPECT_EQ(verify_textbook("_cut", "--property within-error-bound").status, 1) << op;
  }
}

}  // namespace
