// Programs that use the CUDA toolkit and NVIDIA's samples run; missing headers are found or named.
#include <gtest/gtest.h>

#include "tests/run_command.hpp"
#include "tests/scratch_folder.hpp"

namespace {

using warpcheck::self::environment;
using result = warpcheck::self::command_result;

result run(const std::string& arguments, const std::string& variables = "") {
  return warpcheck::self::run_command("cd " + environment("WARPCHECK_TEST_PROGRAMS") + " && " + variables + " '" +
                                      environment("WARPCHECK_TEST_COMMAND") +
                                      "' run-emulated --schedule fair --no-trace " + arguments);
}

TEST(Toolkit, IsThere) { EXPECT_TRUE(ended(run("toolkit.cu"), 0)); }

// Graphs have vectors, which are instrumented. The device's own must not be: the detector would follow them.
TEST(Toolkit, LeavesKernelsTheirCertificate) {
  EXPECT_TRUE(ended(run("toolkit.cu -- lanes"), 0, {"every schedule: proven for this input"}));
}

TEST(Fragments, AreOfEveryTypeAndShape) { EXPECT_TRUE(ended(run("fragments.cu"), 0)); }

TEST(ToolkitLibraries, AreThere) { EXPECT_TRUE(ended(run("toolkit_libraries.cu"), 0)); }

TEST(Fragments, AreOfFourBitsAndOfSingleBits) { EXPECT_TRUE(ended(run("narrow_wmma.cu"), 0)); }

TEST(Fragments, AreOfPtx) {
  EXPECT_TRUE(ended(run("ptx_wmma.cu"), 0));
  EXPECT_TRUE(run("ptx_wmma.cu -D NO_BARRIER").has("ptx_wmma.cu: race under"));
}

TEST(Libcuxx, HasPtxFunctionsCompletionsAndAnnotatedPointers) {
  EXPECT_TRUE(ended(run("cuda_headers.cu"), 0, {"cuda_headers.cu: clean under 1 schedule"}));
  const result unfenced = run("cuda_headers.cu -D NO_FENCE -- ring");
  EXPECT_TRUE(ended(unfenced, 1, {"race: generic read by block", "async proxy's write at cuda_headers.cu:"}));
}

TEST(ToolkitLibraries, JudgeWhatTheyRead) {
  const result r = run("toolkit_libraries.cu -- unwritten");
  EXPECT_TRUE(ended(r, 1,
                    {"uninitialized: cufftExecC2C at toolkit_libraries.cu:", "reads 64 bytes that nobody wrote",
                     "fidelity: approximated are cuFFT; all else is exact"}));
}

// Without a toolkit the stand-ins of Thrust run: results, and order with kernels and streams.
TEST(Thrust, StandsInWhereThereIsNoToolkit) {
  const warpcheck::self::scratch_folder folder;
  folder.write("home/include/cuda_runtime_api.h", "#error these are not the emulated device's\n");
  const result r = run("thrust_algorithms.cu", "CUDA_HOME=" + folder.path("home"));
  EXPECT_TRUE(ended(r, 0, {"thrust_algorithms.cu: clean under 1 schedule"}));
  const result unwritten = run("-D UNWRITTEN thrust_algorithms.cu", "CUDA_HOME=" + folder.path("home"));
  EXPECT_TRUE(ended(unwritten, 1, {"uninitialized: read by block (0,0,0) thread 0 at thrust_algorithms.cu:"}));
}

// CUDA's header of device_vector brings the execution policies.
TEST(Thrust, PoliciesComeWithItsContainers) {
  const warpcheck::self::scratch_folder folder;
  folder.write("mine.cu",
               "#include <thrust/binary_search.h>\n#include <thrust/device_vector.h>\n#include <vector>\n"
               "int main() { const std::vector<int> v = {1, 3, 5}; thrust::device_vector<int> d(v.begin(), v.end());\n"
               "return thrust::binary_search(thrust::seq, v.begin(), v.end(), 3) ? 0 : 1; }\n");
  EXPECT_TRUE(ended(run(folder.path("mine.cu")), 0));
}

TEST(ToolkitHeaders, OfTheRuntimeHaveTheirNames) { EXPECT_TRUE(ended(run("header_names.cu"), 0)); }

TEST(StdNames, AreFreeAndTypesOf16BitsOverload) {
  const result r = run("std_names.cu");
  EXPECT_TRUE(ended(r, 0, {"std_names.cu: clean under 1 schedule"}));
}

// 64 threads spin: each must get its turn soon, whatever turns the others take.
TEST(Waiting, EverySpinningThreadHasItsTurnUnderGreedy) {
  for (const char* name : {"latch", "semaphore", "shuffled"}) {
    const result r = run(std::string("--schedule greedy waiting.cu -- ") + name);
    EXPECT_TRUE(r.has("waiting.cu: clean under 2 schedules")) << r.output;
  }
}

TEST(DriverNames, MayStandInASource) {
  EXPECT_TRUE(ended(run("driver_names.cu"), 0));
  const std::pair<const char*, const char*> ends[] = {{"share", ":33: the function 'cuMulticastCreate'"},
                                                      {"open", ":45: the function 'cudaIpcGetMemHandle'"}};
  for (const auto& [mode, says] : ends) {
    const result r = run(std::string("driver_names.cu -- ") + mode);
    EXPECT_TRUE(ended(r, 2, {std::string("driver_names.cu") + says + " is not modelled"}));
  }
}

// A macro for a word of our headers makes them come first; they still include the toolkit's header of their name.
TEST(ToolkitHeaders, AreFoundBehindOursWhereASourceDefinesOneOfTheirWords) {
  const warpcheck::self::scratch_folder folder;
  folder.write(
      "mine.cu",
      "#define kernel random\n#include <curand_kernel.h>\n"
      "__global__ void kernel(float* y) { curandState_t s; curand_init(1, 2, 0, &s); *y = curand_uniform(&s); }\n"
      "int main() { float *y; cudaMalloc(&y, 4); kernel<<<1, 1>>>(y); cudaFree(y); }\n");
  EXPECT_TRUE(ended(run(folder.path("mine.cu")), 0));
}

TEST(ToolkitHeaders, AreFoundInTheToolkitThatIsInstalled) {
  const warpcheck::self::scratch_folder folder;
  folder.write("home/include/cuda_runtime_api.h", "#error these are not the emulated device's\n");
  folder.write("home/include/cccl/thrust/of_a_test.h", "#define VALUE 7\n");
  folder.write("mine.cu",
               "#include <thrust/of_a_test.h>\n__global__ void k(int* p) { *p = VALUE; }\n"
               "int main() { int h = 0, *p; cudaMalloc(&p, 4); k<<<1, 1>>>(p);\n"
               "cudaMemcpy(&h, p, 4, cudaMemcpyDeviceToHost); cudaFree(p); return h != 7; }\n");
  EXPECT_TRUE(ended(run(folder.path("mine.cu"), "CUDA_HOME=" + folder.path("home")), 0));
  const result missing = run(folder.path("mine.cu"), "CUDA_HOME=" + folder.path("no-such-folder"));
  EXPECT_TRUE(ended(missing, 2, {"<thrust/of_a_test.h>", "CUDA toolkit"}));
}

}  // namespace
