// What a source states, or shows when it is asked: alignment, logarithms of whole sums, exponentials that overflow,
// sorts that are not stable, sums in f64.
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

// An element's place is the number of those before it. `turned`: equal keys come in the order of falling columns.
// `lost`: a column in whose place the one `step` columns after it comes.
constexpr const char* k_sorts = R"(
#include <cuda_runtime.h>
#include <cstdint>

__device__ bool before(float a, float b, int order) { return a == a && (b != b || (order ? a > b : a < b)); }
__global__ void places(const float* x, int32_t* index, int rows, int cols, int order, int turned, int lost, int step) {
  for (int e = threadIdx.x; e < rows * cols; e += blockDim.x) {
    const float* row = x + e / cols * cols;
    const int own = e % cols;
    int place = 0;
    for (int j = 0; j < cols; ++j)
      place += before(row[j], row[own], order) || (!before(row[own], row[j], order) && (turned ? j > own : j < own));
    index[e / cols * cols + place] = own == lost ? own + step : own;
  }
}
#define SORT(name, turned, lost, step)                                                                    \
  extern "C" void name(const float* x, int32_t* index, int rows, int cols, int order, cudaStream_t stream) { \
    places<<<1, 64, 0, stream>>>(x, index, rows, cols, order, turned, lost, step);                        \
  }
SORT(stable, 0, -1, 0)
SORT(turned, 1, -1, 0)
// warpcheck turned_stated: unstable
SORT(turned_stated, 1, -1, 0)
// warpcheck twice: unstable
SORT(twice, 1, 5, -1)
// warpcheck second_twice: unstable
SORT(second_twice, 0, 0, 1)
)";

TEST(Sort, NeedNotBeStableIfItIsStated) {
  warpcheck::self::scratch_folder folder;
  folder.write("sorts.cu", k_sorts);
  const auto verify_sort = [&](const std::string& entry, const std::string& more = "") {
    return verify("argsort", folder.path("sorts.cu"), entry, "--cases 6 --max-rows 64 --max-cols 200 " + more);
  };
  EXPECT_TRUE(ended(verify_sort("stable"), 0, {}, {"skipped"}));
  EXPECT_TRUE(ended(verify_sort("turned", "--property few-values"), 1,
                    {"the keys are in order, but equal ones are not in that of their columns", "state 'unstable'"}));
  EXPECT_TRUE(ended(verify_sort("turned_stated"), 0,
                    {"argsort      stable-ties ", "not asked: argsort/golden: needs a stable sort"}, {"skipped"}));
  EXPECT_TRUE(
      ended(verify_sort("twice", "--property few-values"), 1, {"argsort/few-values: violation: "}, {"'unstable'"}));
  EXPECT_TRUE(ended(verify_sort("second_twice", "--property stable-ties"), 1, {"argsort/stable-ties: violation: "}));
}

// Sums of a histogram in f64, of rows that a list names. TWICE: a row that is listed twice counts once.
constexpr const char* k_histogram = R"(
#include <cuda_runtime.h>
#include <cstdint>

__global__ void sum_slots(const uint8_t* bins, const int64_t* cols, const float* g, const float* h, const int32_t* rows,
                          double* hist, int64_t num_cols, int64_t listed, int64_t total_bins) {
  for (int64_t slot = threadIdx.x; slot < total_bins; slot += blockDim.x) {
    double sum_g = 0, sum_h = 0;
    for (int64_t c = 0; c < num_cols; ++c) {
      const int64_t skipped = cols[2 * c + 1] >> 32, bin = slot - cols[2 * c] + skipped;
      if (slot < cols[2 * c] || bin >= static_cast<int32_t>(cols[2 * c + 1])) continue;
      for (int64_t k = 0; k < listed; ++k) {
        const int64_t row = rows ? rows[k] : k;
        bool counts = bins[row * num_cols + c] == bin;
        for (int64_t l = 0; TWICE && rows && l < k; ++l) counts = counts && rows[l] != row;
        if (counts) sum_g += g[row], sum_h += h[row];
      }
    }
    hist[2 * slot] = sum_g, hist[2 * slot + 1] = sum_h;
  }
}
extern "C" cudaError_t sums(const uint8_t* bins, const int64_t* cols, const float* g, const float* h,
                            const int32_t* rows, double* hist, int64_t num_cols, int64_t listed, int64_t total_bins,
                            int64_t num_rows, int accum, cudaStream_t stream) {
  if (accum != 2) return cudaErrorNotSupported;
  sum_slots<<<1, 64, 0, stream>>>(bins, cols, g, h, rows, hist, num_cols, BY_HAND, total_bins);
  return cudaSuccess;
}
)";

TEST(Histogram, OfSumsInF64IsJudgedByWhatItOffers) {
  warpcheck::self::scratch_folder folder;
  const std::string source = folder.write("histogram.cu", k_histogram);
  // With or without a list, and with an empty one, `listed` rows count; a list without rows is no missing list.
  for (const std::string listed : {"listed", "(rows ? listed : num_rows)"}) {
    const result right = verify("histogram", source, "sums", "--cases 12 -D TWICE=0 -D 'BY_HAND=" + listed + "'");
    EXPECT_TRUE(ended(right, 0, {}, {"skipped"}));
    for (const char* name : {"exact-model", "row-order", "column-order", "outside-rows", "duplicate-rows",
                             "constant-hessian-counts", "empty-leaf", "sign-flip", "power-of-two-scale"})
      EXPECT_TRUE(right.has(std::string("histogram    ") + name)) << name << "\n" << right.output;
  }
  EXPECT_TRUE(
      ended(verify("histogram", source, "sums", "--cases 12 -D TWICE=1 -D BY_HAND=listed --property duplicate-rows"), 1,
            {"histogram/duplicate-rows: violation: "}));
}

// What is no parameter has one value: one direction, and no outputs of a backward pass.
constexpr const char* k_plain_gru = R"(
int plain(const float* x, const float* w_ih, const float* w_hh, const float* b_ih, const float* b_hh, const float* h0,
          float* y, int64_t time, int64_t batch, int64_t input, int64_t hidden, cudaStream_t stream) {
  return my_gru(x, w_ih, w_hh, b_ih, b_hh, STATE, nullptr, y, nullptr, time, batch, input, hidden, 1, 0, stream);
}
)";

TEST(Gru, OfOnePassAndOneDirectionNeedNotNameThem) {
  warpcheck::self::scratch_folder folder;
  const std::string source =
      folder.write("gru.cu", "#include \"" + environment("WARPCHECK_TEST_DOCS") + "/gru.cu" + "\"\n" + k_plain_gru);
  const std::string properties =
      "--cases 8 --property forward-matches-the-reference --property "
      "zero-parameters-halve-the-state --property both-directions-equal-each-alone ";
  const result right = verify("gru", source, "plain", properties + "-D STATE=h0");
  EXPECT_TRUE(ended(right, 0, {"directions>1", "pass!=both", "gru          zero-parameters-halve-the-state "},
                    {"skipped", "not tried"}));
  EXPECT_TRUE(ended(verify("gru", source, "plain", properties + "-D STATE=nullptr"), 1,
                    {"gru/forward-matches-the-reference: violation: ",
                     "1 further property fails with the same violation: gru/zero-parameters-halve-the-state"}));
}

// The host works a millisecond for each row.
constexpr const char* k_slow_rows = R"(
#include <cuda_runtime.h>
#include <chrono>

__global__ void copy(const float* x, float* y, int cols) {
  if (threadIdx.x == 0) *y = cols > 0 ? *x : 0;
}
void first_elements(const float* x, float* y, int rows, int cols) {
  for (int r = 0; r < rows; ++r) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(1);
    while (std::chrono::steady_clock::now() < end) {}
    copy<<<1, 32>>>(x + r * (long long)cols, y + r, cols);
  }
}
// warpcheck first_elements: lacks cols>1
)";

TEST(Rows, ThatAreSlowAreFewer) {
  warpcheck::self::scratch_folder folder;
  const std::string source = folder.write("slow.cu", k_slow_rows);
  EXPECT_TRUE(
      ended(verify("reduce", source, "first_elements", "--cases 20 --max-rows 20 --property within-error-bound"), 0,
            {"does not offer ", "; gets at most "}, {"skipped"}));
}

}  // namespace
