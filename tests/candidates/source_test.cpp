// `--source`: the templates pass, an entry gets what the names of its parameters say, faulty entries get their
// verdicts, and what is wrong with a source is said in a sentence.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <utility>

#include "tests/run_command.hpp"
#include "tests/scratch_folder.hpp"

namespace {

using warpcheck::self::environment;
using result = warpcheck::self::command_result;

std::string templates(const std::string& file) { return environment("WARPCHECK_TEST_DOCS") + "/" + file; }

// The text of a template with one change.
std::string changed(const std::string& file, const std::string& from, const std::string& to) {
  std::ifstream in(templates(file));
  std::string text{std::istreambuf_iterator<char>(in), {}};
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

result run(const std::string& arguments) {
  return warpcheck::self::run_command("'" + environment("WARPCHECK_TEST_COMMAND") + "' " + arguments);
}

result verify(const std::string& op, const std::string& source, const std::string& entry, const std::string& more) {
  return run("verify " + op + " --device emulated --size quick --shrink-seconds 0.5 --source " + source + " --entry " +
             entry + " " + more);
}

// One chain of additions for each row is not accurate enough; the verdict says so, and by how much.
TEST(Source, OfAPlainLoopIsToldThatItsSumDeparts) {
  const warpcheck::self::scratch_folder folder;
  folder.write("loop.cu", R"(#include <cuda_runtime.h>
__global__ void rows_one_by_one(const float* x, float* y, int rows, int cols) {
  if (threadIdx.x) return;
  const float* in = x + (size_t)blockIdx.x * cols;
  float m = -INFINITY, s = 0;
  for (int i = 0; i < cols; ++i) m = fmaxf(m, in[i]);
  for (int i = 0; i < cols; ++i) s += expf(in[i] - m);
  for (int i = 0; i < cols; ++i) y[(size_t)blockIdx.x * cols + i] = expf(in[i] - m) / s;
}
void plain(const float* x, float* y, int rows, int cols, cudaStream_t queue) {
  rows_one_by_one<<<rows, 32, 0, queue>>>(x, y, rows, cols);
}
)");
  const std::string source = folder.path("loop.cu");
  const result r = run("verify softmax --device emulated --size quick --shrink-seconds 20 --cases 40 --source " +
                       source + " --entry plain --property within-error-bound");
  EXPECT_TRUE(ended(r, 1,
                    {"The sum of the exponentials is the first wrong step", "a single chain of ",
                     " s in all, including the work before and after the cases"}));
}

TEST(SourceTemplate, OfSoftmaxPassesAndReplays) {
  const result r = verify("softmax", templates("softmax.cu"), "my_softmax",
                          "--cases 4 --property within-error-bound --property rejects-invalid-calls "
                          "--property no-hazard");
  EXPECT_EQ(r.status, 0) << r.output;
  const result again =
      run("replay 'v1 softmax/within-error-bound x=f32[2x33] fill=randn(7) | y=f32[2x33] | candidate=source:" +
          templates("softmax.cu") + ":my_softmax device=emulated'");
  EXPECT_EQ(again.status, 0) << again.output;
}

class SourceTemplate : public testing::TestWithParam<const char*> {};  // an operator of operators.cu

// What compares an operator with others is skipped, and what asks argsort for indices of 64 bits.
TEST_P(SourceTemplate, PassesEveryProperty) {
  const std::string op = GetParam();
  const result r =
      verify(op, templates("operators.cu"), "my_" + op, "--cases 6 --max-rows 40 --max-cols 300 --allow-skips");
  EXPECT_EQ(r.status, 0) << r.output;
}

INSTANTIATE_TEST_SUITE_P(Of, SourceTemplate, testing::Values("reduce", "argsort"));
INSTANTIATE_TEST_SUITE_P(LongTests, SourceTemplate, testing::Values("argmax", "logsumexp", "sigmoid", "scan"));

// All but what our order of additions and our size of a workspace are asked for.
TEST(SourceTemplate, OfMatmulPassesWhatAsksForNoOrder) {
  std::string properties;
  for (const char* name : {"within-error-bound", "integer-exact", "transpose-agreement", "layer", "beta-alpha-contract",
                           "shape-sweep", "rejects-invalid-calls", "no-hazard", "golden"})
    properties += std::string(" --property ") + name;
  const result r = verify("matmul", templates("operators.cu"), "my_matmul", "--cases 6 --max-cols 200" + properties);
  EXPECT_TRUE(ended(r, 0, {}, {"skipped"}));
  const result other =
      verify("matmul", templates("operators.cu"), "my_matmul",
             "--cases 2 --property ieee-bits --property rejects-invalid-workspaces --property low-part");
  EXPECT_EQ(other.status, 0) << other.output;
  for (const char* ours : {"ieee-bits", "rejects-invalid-workspaces"})
    EXPECT_TRUE(other.has(std::string("not asked: matmul/") + ours + ": needs the order of sums")) << other.output;
}

// C = alpha AB + beta C as textbooks write it. It reads C where beta is 0, too, and C may hold NaN then. An entry
// without c_in finds in c what beta multiplies.
TEST(Source, OfMatmulThatReadsCWhereBetaIsZeroIsToldSo) {
  const warpcheck::self::scratch_folder folder;
  const std::string source = folder.write("textbook.cu", R"(#include <cuda_runtime.h>
__global__ void elements(const float* a, const float* b, float* c, int m, int n, int k, float alpha, float beta) {
  const int j = blockIdx.x * 16 + threadIdx.x, i = blockIdx.y * 16 + threadIdx.y;
  if (i >= m || j >= n) return;
  float sum = 0;
  for (int l = 0; l < k; ++l) sum += a[i * k + l] * b[l * n + j];
  c[i * n + j] = alpha * sum + beta * c[i * n + j];
}
#define ENTRY(name, before, factor)                                                                            \
  void name(const float* a, const float* b, float* c, int m, int n, int k, float alpha, float beta,            \
            cudaStream_t stream) {                                                                             \
    before;                                                                                                    \
    elements<<<dim3((n + 15) / 16, (m + 15) / 16), dim3(16, 16), 0, stream>>>(a, b, c, m, n, k, alpha, factor); \
  }
ENTRY(textbook, , beta)
ENTRY(cleared, if (beta == 0) cudaMemsetAsync(c, 0, sizeof(float) * m * n, stream), beta)
ENTRY(forgets, cudaMemsetAsync(c, 0, sizeof(float) * m * n, stream), beta)
)");
  const std::string asked = " --max-cols 60 --property within-error-bound";
  EXPECT_TRUE(ended(verify("matmul", source, "textbook", "--cases 4" + asked), 1,
                    {"matmul/within-error-bound: uninitialized: c[0,0] depends on what the outputs held before the "
                     "call: nan for bytes of 0xff, ",
                     "the kernel reads an output that a call need not set"},
                    {"nondeterministic"}));
  EXPECT_TRUE(ended(verify("matmul", source, "cleared", "--cases 16" + asked), 0,
                    {"offers c_in, alpha, beta;", "alpha=0\n"}, {"skipped"}));
  EXPECT_TRUE(
      ended(verify("matmul", source, "forgets", "--cases 16" + asked), 1, {"matmul/within-error-bound: violation: "}));
}

constexpr const char* k_entries = R"(
#include <cuda_runtime.h>
#include <cstdint>
#include <cstdio>
#ifndef FACTOR
#define FACTOR 0
#endif

__global__ void sums(const float* x, int64_t ldx, float* y, int64_t rows, int64_t cols) {
  for (int64_t r = threadIdx.x; r < rows; r += blockDim.x) {
    double sum = 0;
    for (int64_t j = 0; j < cols; ++j) sum += x[r * ldx + j];
    y[r] = static_cast<float>(sum);
  }
}
// Names in an order of their own, a narrow size, and sums alone: other reductions are not offered.
extern "C" int only_sums(cudaStream_t stream, float* y, short cols, const float* x, int64_t rows, int64_t ldx)
    noexcept {
  sums<<<1, 32, 0, stream>>>(x, ldx, y, rows, cols);
  return 0;
}
void narrow_distance(const float* x, int ldx, float* y, int rows, int cols) { sums<<<1, 32>>>(x, ldx, y, rows, cols); }
extern "C" void takes_rows_for_dense(const float* x, float* y, int64_t rows, int64_t cols, cudaStream_t stream) {
  sums<<<1, 32, 0, stream>>>(x, cols, y, rows, cols);
}
extern "C" void ignores_the_distance(const float* x, int64_t ldx, float* y, int64_t rows, int64_t cols,
                                     cudaStream_t stream) {
  sums<<<1, 32, 0, stream>>>(x, cols, y, rows, cols);
}
#define ENTRY(name)                                                                                  \
  extern "C" void name(const float* x, int64_t ldx, float* y, int64_t rows, int64_t cols, int op, \
                       cudaStream_t stream)
ENTRY(ignores_the_scalar) { sums<<<1, 32, 0, stream>>>(x, ldx, y, rows, cols); }
extern "C" cudaError_t answers(const float* x, int64_t ldx, float* y, int64_t rows, int64_t cols, int op,
                               cudaStream_t stream) {
  return op == 0 ? cudaErrorInvalidValue : op == 1 ? cudaErrorNotSupported : static_cast<cudaError_t>(42);
}

namespace acme {
void total(const float* in, float* out, int N, int D) { sums<<<1, 32>>>(in, D, out, N, D); }
}
template <class T, int Threads>
void any_total(const T* x, T* y, int64_t rows, int64_t cols) { sums<<<1, Threads>>>(x, cols, y, rows, cols); }
__global__ void serial(const float* x, float* y, int rows, int cols) {
  for (int r = threadIdx.x; r < rows; r += 32) {
    y[r] = 0;
    for (int j = 0; j < cols; ++j) y[r] += x[r * (int64_t)cols + j];
  }
}
void loop(const float* x, float* y, int rows, int cols) { serial<<<1, 32>>>(x, y, rows, cols); }
// warpcheck stated_loop: sums chain
void stated_loop(const float* x, float* y, int rows, int cols) { serial<<<1, 32>>>(x, y, rows, cols); }
// warpcheck promised_tree: sums <= 64
void promised_tree(const float* x, float* y, int rows, int cols) { serial<<<1, 32>>>(x, y, rows, cols); }
// warpcheck misstated: sums whatever
void misstated(const float* x, float* y, int rows, int cols) {}
void defined(const float* x, float* y, int rows, int cols) {
  const int before = FACTOR;
  sums<<<1, 32>>>(x, cols, y, rows * before, cols);
}
__global__ void arrival(const float* x, float* y, int cols) {
  for (int j = blockIdx.x * 32 + threadIdx.x; j < cols; j += 32 * gridDim.x)
    atomicAdd(&y[blockIdx.y], x[blockIdx.y * (int64_t)cols + j]);
}
void atomic_total(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  cudaMemsetAsync(y, 0, rows * sizeof(float), stream);
  arrival<<<dim3(4, rows), 32, 0, stream>>>(x, y, cols);
}
void atomic_total_of_default_stream(const float* x, float* y, int rows, int cols) {
  atomic_total(x, y, rows, cols, nullptr);
}
// One vector; `all_but_one` leaves the last element of a long one out.
void vector_total(const float* x, float* y, int n) { sums<<<1, 32>>>(x, n, y, 1, n); }
void all_but_one(const float* x, float* y, int n) { sums<<<1, 32>>>(x, n, y, 1, n > 32 ? n - 1 : n); }
__global__ void talk(const float* x, float* y, int rows, int cols) {
  if (threadIdx.x == 0) printf("kernel of %d rows\n", rows);
  if (threadIdx.x < rows) y[threadIdx.x] = 0;
}
void talks(const float* x, float* y, int rows, int cols) {
  std::printf("host of %d rows\n", rows);
  talk<<<1, 32>>>(x, y, rows, cols);
}

extern "C" void unknown(const float* in, float* y, int64_t rows, int64_t cols, cudaStream_t stream) {}
extern "C" void unnamed(const float* x, float*, int64_t rows, int64_t cols, cudaStream_t stream) {}
extern "C" void without_cols(const float* x, float* y, int64_t rows, cudaStream_t stream) {}
extern "C" void nothing(void) {}
extern "C" void constant_output(const float* x, const float* y, int64_t rows, int64_t cols, cudaStream_t stream) {}
extern "C" void other_elements(const int* x, float* y, int64_t rows, int64_t cols, cudaStream_t stream) {}
extern "C" void rows_in_float(const float* x, float* y, float rows, int64_t cols, cudaStream_t stream) {}
extern "C" void stream_in_int(const float* x, float* y, int64_t rows, int64_t cols, int stream) {}
)";

// What it reads before it writes it is nobody's, whatever bytes lie there.
TEST(Source, ThatReadsItsOutputFirstIsUninitialized) {
  const warpcheck::self::scratch_folder folder;
  folder.write("first.cu", R"(
#include <cuda_runtime.h>
__global__ void fills(const float* x, float* y, int rows, int cols) {
  if (y[0] == 12345.0f) return;
  for (int r = 0; r < rows; ++r)
    for (int c = 0; c < cols; ++c) y[r * cols + c] = x[r * cols + c];
}
extern "C" void reads_first(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  fills<<<1, 1, 0, stream>>>(x, y, rows, cols);
}
)");
  const result r = verify("softmax", folder.path("first.cu"), "reads_first",
                          "--cases 6 --allow-skips --property within-error-bound");
  EXPECT_TRUE(ended(r, 1, {"softmax/within-error-bound: uninitialized: ", "first.cu:4 of byte 0 of a buffer"}));
}

class Entries : public testing::Test {
 protected:
  void SetUp() override { folder_.write("entries.cu", k_entries); }
  result judge(const std::string& entry, const std::string& more) const {
    return verify("reduce", folder_.path("entries.cu"), entry, "--cases 40 --max-rows 20 --max-cols 100 " + more);
  }
  warpcheck::self::scratch_folder folder_;
};

TEST_F(Entries, OfferWhatTheirParametersExpress) {
  const std::string sums = "--property integer-sum --property within-error-bound --property cross-operator";
  const result some = judge("only_sums", sums);
  EXPECT_TRUE(ended(some, 0, {"reduce f32: offers the plain call; does not offer "}));
  for (const char* lacked : {"op!=0", "cols>32767"}) EXPECT_TRUE(some.has(lacked)) << some.output;
  EXPECT_TRUE(says(some, {"not asked: reduce/cross-operator: needs op!=0"}, {"skipped"}));
  const result long_rows =
      run("replay 'v1 reduce/within-error-bound x=f32[1x32768] fill=randn(7) | y=f32[1] | candidate=source:" +
          folder_.path("entries.cu") + ":only_sums device=emulated'");
  EXPECT_TRUE(long_rows.has("and the entry's holds -32768 to 32767")) << long_rows.output;
  EXPECT_TRUE(ended(judge("takes_rows_for_dense", sums), 0, {"ldx>cols"}, {"skipped"}));
}

TEST_F(Entries, WithoutAParameterForRowsGetOneRow) {
  const std::string named = "--args n=cols --property within-error-bound --property row-isolation";
  EXPECT_TRUE(
      ended(judge("vector_total", named), 0, {"rows>1", "not asked: reduce/row-isolation: needs rows>1"}, {"skipped"}));
  EXPECT_TRUE(ended(judge("all_but_one", named), 1, {"reduce/within-error-bound: violation: "}));
}

// The distance between rows is an int: only rows further apart are not offered.
TEST_F(Entries, AreNotAskedForDistancesBeyondTheirType) {
  const result r = judge("narrow_distance", "--property large-offset --property within-error-bound");
  EXPECT_TRUE(ended(r, 0, {"does not offer op!=0, ldx>2147483647\n"}));
  EXPECT_TRUE(r.has("reduce       large-offset                         20 ")) << r.output;
}

TEST_F(Entries, AreNotBlamedForTheSizesOfARun) {
  const result r = verify("reduce", folder_.path("entries.cu"), "only_sums",
                          "--cases 4 --max-rows 20 --max-cols 300 --property rows-beyond-grid "
                          "--property within-error-bound");
  EXPECT_TRUE(ended(r, 0, {"left out: reduce/rows-beyond-grid: no case of at most 20 rows and 300 columns"}));
  const result rows = verify("reduce", folder_.path("entries.cu"), "only_sums",
                             "--cases 4 --max-rows 20 --property rows-beyond-grid --property within-error-bound");
  EXPECT_TRUE(ended(rows, 0, {"left out: reduce/rows-beyond-grid: no case of at most 20 rows\n"}));
}

TEST_F(Entries, AreNotBlamedForErrorsOfTheirSource) {
  folder_.write("picks.cu", R"(#include <cstdint>
void pick(int) {}
void pick(double) {}
template <class F> void take(F) {}
void total(const float* x, float* y, int64_t rows, int64_t cols) { take(pick); }
)");
  const result r = verify("reduce", folder_.path("picks.cu"), "total", "--cases 1");
  EXPECT_TRUE(ended(r, 2, {"picks.cu:5:"}));
}

TEST_F(Entries, MayLieInNamespacesAndBeTemplatesWithOtherNames) {
  const std::string bound = "--property within-error-bound ";
  const std::string named = judge("acme::total", bound + "--args in=x,out=y,N=rows,D=cols").output;
  EXPECT_NE(named.find("candidate source:" + folder_.path("entries.cu") + ":acme%3A%3Atotal:--args="),
            std::string::npos)
      << named;
  EXPECT_EQ(judge("acme::total", bound + "--args in=x,out=y,N=rows,D=cols").status, 0) << named;
  EXPECT_EQ(judge("total", bound + "--args x,y,rows,cols").status, 0);
  EXPECT_EQ(judge("'any_total<float, 32>'", bound).status, 0);
  const result no_arguments = judge("any_total", bound);
  EXPECT_EQ(no_arguments.status, 2);
  EXPECT_TRUE(no_arguments.has("entry: 'any_total' names no single function; write its template arguments"))
      << no_arguments.output;
  const result few = judge("total", bound + "--args x,y");
  EXPECT_TRUE(few.has("args: 2 names are given, 'acme::total' has 4 parameters: in, out, N, D")) << few.output;
  EXPECT_TRUE(says(judge("total", bound + "--args input=x"),
                   {"args: 'input=x' is not PARAMETER=NAME; the parameters of 'acme::total' are in, out, N, D"}));
}

TEST_F(Entries, AreCompiledWithTheUsersOptionsAndReplayWithThem) {
  EXPECT_TRUE(ended(judge("defined", "--property within-error-bound"), 1));
  EXPECT_TRUE(ended(judge("defined", "-D FACTOR=1 --std c++20 --property within-error-bound"), 0));
  folder_.write("headers/factor.hpp", "#define FACTOR 1\n");
  folder_.write("my entries.cu", std::string("#include <factor.hpp>\n") + k_entries);
  const std::string include = folder_.path("headers");
  const result blanks =
      run("verify reduce --device emulated --size quick --cases 4 --max-rows 20 --max-cols 100 "
          "--property within-error-bound --entry defined -I " +
          include + " --source '" + folder_.path("my entries.cu") + "'");
  EXPECT_EQ(blanks.status, 0) << blanks.output;
  EXPECT_TRUE(ended(run("replay 'v1 reduce/within-error-bound x=f32[2x3] fill=randn(7) | y=f32[2] | candidate=source:" +
                        folder_.path("my%20entries.cu") + ":defined:-I" + include + " device=emulated'"),
                    0));
}

TEST_F(Entries, AreJudgedAsTheChainsThatTheyState) {
  const auto chains = [&](const char* entry) {
    return verify("reduce", folder_.path("entries.cu"), entry,
                  "--cases 12 --max-rows 20 --max-cols 4000 --property long-accumulation");
  };
  EXPECT_TRUE(ended(chains("loop"), 0));
  EXPECT_TRUE(ended(chains("stated_loop"), 0));
  EXPECT_TRUE(ended(chains("promised_tree"), 1, {"reduce/long-accumulation: violation: "}));
  EXPECT_TRUE(ended(chains("misstated"), 2, {"states: 'sums whatever' is not a statement of a candidate"}));
}

TEST_F(Entries, MayAddInAnyOrderWhereThatIsAccepted) {
  const std::string options = "--property within-error-bound --property bit-repeatability";
  const result strict = judge("atomic_total", options),
               lenient = judge("atomic_total", options + " --accept nondeterministic");
  EXPECT_TRUE(ended(strict, 1, {"nondeterministic: "}));
  EXPECT_TRUE(says(judge("atomic_total_of_default_stream", options), {"nondeterministic: "}));
  EXPECT_TRUE(ended(lenient, 0,
                    {"accepted: nondeterministic: the launches of a case may differ",
                     "not asked: reduce/bit-repeatability: needs the same bits"}));
}

TEST_F(Entries, PrintWhereReplayShowsIt) {
  const result r =
      run("replay 'v1 reduce/within-error-bound x=f32[2x3] fill=constant(0) | y=f32[2] | candidate=source:" +
          folder_.path("entries.cu") + ":talks device=emulated'");
  EXPECT_EQ(r.status, 0) << r.output;
  EXPECT_TRUE(r.has("host of 2 rows") && r.has("kernel of 2 rows")) << r.output;
}

TEST_F(Entries, GetTheVerdictsOfWhatTheyDo) {
  const std::string bound = "--property within-error-bound";
  const result distance = judge("ignores_the_distance", bound);
  EXPECT_TRUE(ended(distance, 1, {"ld="}));  // the gaps differ from run to run
  EXPECT_TRUE(ended(judge("ignores_the_scalar", bound), 1, {"reduce/within-error-bound: violation: "}));
}

TEST_F(Entries, AnswerByWhatTheyReturn) {
  const auto answer = [&](const std::string& op) {
    return run("replay 'v1 reduce/within-error-bound x=f32[1x3] fill=randn(7) | y=f32[1] | op=" + op +
               " candidate=source:" + folder_.path("entries.cu") + ":answers device=emulated'");
  };
  const result refused = answer("0"), not_offered = answer("1"), failed = answer("2");
  EXPECT_TRUE(ended(refused, 1, {"the entry returned 1, cudaErrorInvalidValue"}));
  EXPECT_TRUE(not_offered.has("skipped") && not_offered.has("the entry returned 801, cudaErrorNotSupported"))
      << not_offered.output;
  EXPECT_EQ(failed.status, 1) << failed.output;
  EXPECT_TRUE(failed.has("error_return: ") && failed.has("the entry returned 42")) << failed.output;
}

TEST_F(Entries, OfOtherNamesOrTypesAreRefusedInASentence) {
  const std::string names = "; the parameters of an entry for reduce can be x, ldx, y, rows, cols, op, stream";
  const std::pair<const char*, std::string> mistakes[] = {
      {"unknown", "entry: parameter 1 of 'unknown' is 'in'" + names},
      {"unnamed", "entry: parameter 2 of 'unnamed' has no name" + names},
      {"without_cols", "entry: 'without_cols' has no parameter cols" + names},
      {"nothing", "entry: 'nothing' has no parameter x, cols, y" + names},
      {"constant_output", "parameter 2 of 'constant_output', y, must be a pointer to float or double, not const"},
      {"other_elements", "parameter 1 of 'other_elements', x, must be a pointer to float or double"},
      {"rows_in_float", "parameter 3 of 'rows_in_float', rows, must be an integer"},
      {"stream_in_int", "parameter 5 of 'stream_in_int', stream, must be a cudaStream_t"}};
  for (const auto& [entry, sentence] : mistakes) {
    EXPECT_TRUE(ended(judge(entry, ""), 2, {sentence}));
  }
}

// Forward alone, one direction, no history, lengths or marks.
constexpr const char* k_gru = R"(
#include <cuda_runtime.h>
#include <cstdint>
__device__ float logistic(float v) { return 1.f / (1.f + expf(-v)); }
__global__ void steps(const float* x, const float* w_ih, const float* w_hh, const float* h0, float* y, int time,
                      int batch, int input, int hidden) {
  const int b = blockIdx.x;
  for (int t = 0; t < time; ++t) {
    const float* before = t ? y + ((t - 1) * batch + b) * hidden : h0 ? h0 + b * hidden : nullptr;
    for (int j = threadIdx.x; j < hidden; j += blockDim.x) {
      float g[3] = {}, k[3] = {};
      for (int q = 0; q < 3; ++q) {
        for (int i = 0; i < input; ++i) g[q] += w_ih[(q * hidden + j) * input + i] * x[(t * batch + b) * input + i];
        for (int i = 0; i < hidden; ++i) k[q] += w_hh[(q * hidden + j) * hidden + i] * (before ? before[i] : 0);
      }
      const float z = logistic(g[1] + k[1]), n = tanhf(g[2] + logistic(g[0] + k[0]) * k[2]);
      y[(t * batch + b) * hidden + j] = STATE;
    }
    __syncthreads();
  }
}
extern "C" int forward(const float* x, const float* w_ih, const float* w_hh, const float* h0, float* y, int time,
                       int batch, int input, int hidden, int directions, int pass, cudaStream_t stream) {
  if (directions != 1 || pass != 0) return cudaErrorNotSupported;
  if (batch) steps<<<batch, 32, 0, stream>>>(x, w_ih, w_hh, h0, y, time, batch, input, hidden);
  return cudaGetLastError();
}
)";

TEST(Gru, OfOnePassAndOneDirectionIsJudgedOnThem) {
  const warpcheck::self::scratch_folder folder;
  const std::string source = folder.write("gru.cu", k_gru);
  const result right =
      verify("gru", source, "forward", "--cases 8 -D 'STATE=(1 - z) * n + z * (before ? before[j] : 0)'");
  EXPECT_EQ(right.status, 0) << right.output;
  for (const char* lacked : {"lengths", "history", "hn", "pass=both", "directions>1"})
    EXPECT_TRUE(right.has(lacked)) << right.output;
  EXPECT_TRUE(says(right, {}, {"skipped", "not tried"}));
  EXPECT_TRUE(ended(verify("gru", source, "forward", "--cases 4 --property forward-matches-the-reference -D STATE=42"),
                    1, {"gru/forward-matches-the-reference: violation: "}));
}

// One thread for each unit, forward only: most properties judge it, and none of their cases is skipped.
TEST(SourceTemplate, OfGruIsJudgedByThirtyProperties) {
  const std::string gru = templates("gru.cu");
  const result r = verify("gru", gru, "my_gru", "--cases 2");
  EXPECT_TRUE(ended(r, 0, {}, {"skipped", "not tried"}));
  const size_t at = r.output.find("asked ");
  ASSERT_NE(at, std::string::npos) << r.output;
  EXPECT_GE(std::stoi(r.output.substr(at + 6)), 30) << r.output;
  for (const char* name :
       {"an-open-update-gate-copies-h0", "bias-only-networks-have-a-closed-form", "splitting-time-chains-hn-and-dh0",
        "both-directions-equal-each-alone", "the-reverse-direction-is-the-flipped-forward-one"})
    EXPECT_TRUE(r.has(std::string("gru          ") + name)) << name << "\n" << r.output;
}

// A statement so weak that one property can judge none of its cases, although the kernel offers what it needs.
TEST(SourceTemplate, OfGruWithAPropertyThatJudgesNothingFails) {
  const warpcheck::self::scratch_folder folder;
  std::ifstream gru(templates("gru.cu"));
  const std::string source = {std::istreambuf_iterator<char>(gru), {}};
  folder.write("coarse.cu", "// warpcheck my_gru: gates <= 100000000\n" + source);
  const result r = verify("gru", folder.path("coarse.cu"), "my_gru",
                          "--cases 6 --allow-skips --property the-reverse-direction-is-the-flipped-forward-one "
                          "--property every-step-follows-from-the-step-before");
  EXPECT_EQ(r.status, 1) << r.output;
  EXPECT_TRUE(r.has("gru/the-reverse-direction-is-the-flipped-forward-one: nothing was judged: there was no case"))
      << r.output;
  EXPECT_FALSE(r.has("gru/every-step-follows-from-the-step-before: nothing was judged")) << r.output;
}

TEST(SourceTemplate, OfGruMayRoundAStateThatAnOpenGateKeeps) {
  const warpcheck::self::scratch_folder folder;
  const std::string rounds = changed("gru.cu", "fmaf(z, before ? before[j] : 0.f, fmaf(-z, n, n))",
                                     "n + z * ((before ? before[j] : 0.f) - n)");
  const result r =
      verify("gru", folder.write("gru.cu", rounds), "my_gru", "--cases 40 --property an-open-update-gate-copies-h0");
  EXPECT_EQ(r.status, 0) << r.output;
}

// What these properties see of a forward pass: a state that an open gate loses, a direction that is visited wrongly.
TEST(SourceTemplate, OfGruIsRejectedForItsFaults) {
  const warpcheck::self::scratch_folder folder;
  const std::pair<const char*, const char*> faults[][2] = {
      {{"fmaf(z, before ? before[j] : 0.f, fmaf(-z, n, n))", "fmaf(z, n, 1.f - z)"},
       {"an-open-update-gate-copies-h0", "y"}},
      {{"d == 0 ? s : length - 1 - s", "d == 0 ? s : g.time - 1 - s"},
       {"the-reverse-direction-is-the-flipped-forward-one", "y"}}};
  for (const auto& [change, killer] : faults) {
    const std::string wrong = changed("gru.cu", change.first, change.second);
    const result r = verify("gru", folder.write("gru.cu", wrong), "my_gru",
                            std::string("--cases 40 --fail-fast --property ") + killer.first);
    EXPECT_TRUE(ended(r, 1, {std::string("gru/") + killer.first + ": "}));
  }
}

TEST(SourceTemplate, OfGruTrainingKeepsAReserveBetweenItsPasses) {
  const result r = verify("gru", templates("gru_training.cu"), "my_gru", "--cases 1");
  EXPECT_TRUE(ended(r, 0, {}, {"skipped"}));
  for (const char* name : {"forward-matches-the-reference", "the-adjoint-identity-holds", "no-hazard"})
    EXPECT_TRUE(r.has(std::string("gru          ") + name)) << name << "\n" << r.output;
  EXPECT_TRUE(r.has("not asked: gru/gate-functions-are-within-c-u: needs history")) << r.output;
  // A backward pass alone is not asked, however many cases there are.
  const result more = verify("gru", templates("gru_training.cu"), "my_gru",
                             "--cases 40 --max-cols 40 --property the-state-never-leaves-max-of-one-and-h0");
  EXPECT_EQ(more.status, 0) << more.output;
  EXPECT_TRUE(more.has("does not offer") && more.has("pass=backward")) << more.output;
}

TEST(SourceTemplate, OfGruTrainingIsRejectedForFaultsOfItsReserve) {
  const warpcheck::self::scratch_folder folder;
  const auto judge = [&](const char* from, const char* to) {
    return verify("gru", folder.write("gru.cu", changed("gru_training.cu", from, to)), "my_gru",
                  "--cases 8 --fail-fast --property forward-matches-the-reference");
  };
  const result small = judge("*reserve_bytes = g.bytes();", "*reserve_bytes = g.bytes() - 8;");
  EXPECT_EQ(small.status, 1) << small.output;
  EXPECT_TRUE(small.has("out_of_bounds") && small.has("reserve")) << small.output;
  const result negative = judge("*reserve_bytes = g.bytes();", "*reserve_bytes = -1;");
  EXPECT_TRUE(ended(negative, 1, {"the reserve's bytes are -1, must be 0 or more"}));
  const result wrong = judge("{r, z, n, gh[2]}", "{r, z, n, gi[2]}");
  EXPECT_TRUE(ended(wrong, 1, {"gru/forward-matches-the-reference: violation: "}));
  EXPECT_TRUE(
      ended(verify("gru", folder.write("gru.cu", changed("gru_training.cu", "const float* y_in,", "")), "my_gru", ""),
            2, {"has no parameter y_in; an entry with a reserve has reserve, reserve_bytes, pass, y_in"}));
}

TEST(Source, MistakesAreOneSentence) {
  const std::string source = templates("softmax.cu");
  EXPECT_EQ(run("verify softmax --device emulated --source " + source).status, 2);
  const result no_file = verify("softmax", "none.cu", "f", "");
  EXPECT_TRUE(ended(no_file, 2, {"file 'none.cu' not found"}));
  EXPECT_TRUE(says(verify("softmax", source, "nope", ""), {"defines no function 'nope'; it defines larger"}));
  EXPECT_EQ(run("verify softmax --device cpu --source " + source + " --entry my_softmax").status, 2);
  const warpcheck::self::scratch_folder folder;
  const std::string odd = folder.write("odd.cu", R"(#include <cuda_runtime.h>
__global__ void kernel(const float* x, float* y, int cols) {}
bool succeeds(const float* x, float* y, int cols) { return true; }
)");
  EXPECT_TRUE(ended(verify("sigmoid", odd, "kernel", ""), 2,
                    {"entry: 'kernel' is a kernel; name a function of the host that launches it, such as succeeds"}));
  EXPECT_TRUE(ended(verify("sigmoid", odd, "succeeds", ""), 2,
                    {"entry: the result of 'succeeds' must be a cudaError_t, an int or nothing"}));
}

}  // namespace
