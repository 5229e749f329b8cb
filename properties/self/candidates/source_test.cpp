// `--source`: the templates pass, an entry gets what the names of its parameters say, faulty entries get their
// verdicts, and what is wrong with a source is said in a sentence.
#include <gtest/gtest.h>

#include <string>

#include "properties/self/run_command.hpp"
#include "properties/self/scratch_folder.hpp"

namespace {

using warpcheck::self::environment;
using result = warpcheck::self::command_result;

std::string templates(const std::string& file) { return environment("WARPCHECK_TEST_DOCS") + "/" + file; }

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
void plain(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  rows_one_by_one<<<rows, 32, 0, stream>>>(x, y, rows, cols);
}
)");
  const std::string source = folder.path("loop.cu");
  const result r = run("verify softmax --device emulated --size quick --shrink-seconds 20 --cases 40 --source " +
                       source + " --entry plain --property within-error-bound");
  EXPECT_EQ(r.status, 1) << r.output;
  EXPECT_TRUE(r.has("The sum of the exponentials departs first")) << r.output;
  EXPECT_TRUE(r.has("a single chain of ")) << r.output;
  EXPECT_TRUE(r.has(" s in all, with what came before and after the cases")) << r.output;
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
  EXPECT_EQ(r.status, 0) << r.output;
  EXPECT_FALSE(r.has("skipped")) << r.output;
  const result other = verify("matmul", templates("operators.cu"), "my_matmul", "--cases 20 --property ieee-bits");
  EXPECT_EQ(other.status, 1) << other.output;
  EXPECT_TRUE(other.has("matmul/ieee-bits: violation: ")) << other.output;
}

constexpr const char* k_entries = R"(
#include <cuda_runtime.h>
#include <cstdint>

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

extern "C" void unknown(const float* in, float* y, int64_t rows, int64_t cols, cudaStream_t stream) {}
extern "C" void unnamed(const float* x, float*, int64_t rows, int64_t cols, cudaStream_t stream) {}
extern "C" void without_stream(const float* x, float* y, int64_t rows, int64_t cols) {}
extern "C" void without_rows(const float* x, float* y, int64_t cols, cudaStream_t stream) {}
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
  EXPECT_EQ(r.status, 1) << r.output;
  EXPECT_TRUE(r.has("softmax/within-error-bound: uninitialized: ")) << r.output;
  EXPECT_TRUE(r.has("first.cu:4 of byte 0 of a buffer")) << r.output;
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
  const std::string sums = "--property integer-sum --property within-error-bound --allow-skips";
  const result some = judge("only_sums", sums);
  EXPECT_EQ(some.status, 0) << some.output;
  EXPECT_TRUE(some.has("the entry has no parameter op, which is ")) << some.output;
  const result long_rows =
      run("replay 'v1 reduce/within-error-bound x=f32[1x32768] fill=randn(7) | y=f32[1] | candidate=source:" +
          folder_.path("entries.cu") + ":only_sums device=emulated'");
  EXPECT_TRUE(long_rows.has("and the entry's holds -32768 to 32767")) << long_rows.output;
  EXPECT_EQ(judge("takes_rows_for_dense", sums).status, 0);
  const result dense =
      run("replay 'v1 reduce/within-error-bound x=f32[3x5] ld=8 fill=randn(7) | y=f32[3] | candidate=source:" +
          folder_.path("entries.cu") + ":takes_rows_for_dense device=emulated'");
  EXPECT_TRUE(dense.has("the entry has no parameter ldx, and the rows of x are ")) << dense.output;
}

TEST_F(Entries, GetTheVerdictsOfWhatTheyDo) {
  const std::string bound = "--property within-error-bound";
  const result distance = judge("ignores_the_distance", bound);
  EXPECT_EQ(distance.status, 1) << distance.output;
  EXPECT_TRUE(distance.has("ld=")) << distance.output;  // the gaps differ from run to run
  const result scalar = judge("ignores_the_scalar", bound);
  EXPECT_EQ(scalar.status, 1) << scalar.output;
  EXPECT_TRUE(scalar.has("reduce/within-error-bound: violation: ")) << scalar.output;
}

TEST_F(Entries, AnswerByWhatTheyReturn) {
  const auto answer = [&](const std::string& op) {
    return run("replay 'v1 reduce/within-error-bound x=f32[1x3] fill=randn(7) | y=f32[1] | op=" + op +
               " candidate=source:" + folder_.path("entries.cu") + ":answers device=emulated'");
  };
  const result refused = answer("0"), not_offered = answer("1"), failed = answer("2");
  EXPECT_EQ(refused.status, 1) << refused.output;
  EXPECT_TRUE(refused.has("the entry returned 1, cudaErrorInvalidValue")) << refused.output;
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
      {"without_stream", "entry: 'without_stream' has no parameter stream" + names},
      {"without_rows", "entry: 'without_rows' has no parameter rows" + names},
      {"nothing", "entry: 'nothing' has no parameter x, rows, cols, y, stream" + names},
      {"constant_output", "parameter 2 of 'constant_output', y, must be a pointer to float or double, not const"},
      {"other_elements", "parameter 1 of 'other_elements', x, must be a pointer to float or double"},
      {"rows_in_float", "parameter 3 of 'rows_in_float', rows, must be an integer"},
      {"stream_in_int", "parameter 5 of 'stream_in_int', stream, must be a cudaStream_t"}};
  for (const auto& [entry, sentence] : mistakes) {
    const result r = judge(entry, "");
    EXPECT_EQ(r.status, 2) << r.output;
    EXPECT_TRUE(r.has(sentence)) << r.output;
  }
}

TEST(Source, MistakesAreOneSentence) {
  const std::string source = templates("softmax.cu");
  EXPECT_EQ(run("verify softmax --device emulated --source " + source).status, 2);
  const result no_file = verify("softmax", "none.cu", "f", "");
  EXPECT_EQ(no_file.status, 2);
  EXPECT_TRUE(no_file.has("there is no file 'none.cu'")) << no_file.output;
  const result no_entry = verify("softmax", source, "nope", "");
  EXPECT_TRUE(no_entry.has("defines no function 'nope'; it defines larger")) << no_entry.output;
  EXPECT_EQ(run("verify softmax --device cpu --source " + source + " --entry my_softmax").status, 2);
}

}  // namespace
