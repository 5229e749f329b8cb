// `warpcheck run-emulated` on whole programs: correct ones are clean, each typical bug gets its verdict and its line,
// and what lies outside the subset is refused by name.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/import/program.hpp"
#include "tests/scratch_folder.hpp"

namespace {

namespace fs = std::filesystem;

using namespace warpcheck::self;
using result = command_result;

std::string seeds() {
  const std::string n = environment("WARPCHECK_TEST_SEEDS");
  return " --seeds " + (n.empty() ? std::string("1") : n) + " ";
}

// Without --schedule and --seeds, a run that proves every schedule is the only one; others run side by side.
TEST(RunEmulated, RunsAsManySchedulesAsItNeeds) {
  const auto said = [](const std::string& seeds, const std::string& kernel) {
    const source_file source("__global__ void k(int* x) { " + kernel + " }\nint main() {\n  int *x, y;\n" +
                             "  cudaMalloc(&x, 4);\n  k<<<1, 2>>>(x);\n  cudaMemcpy(&y, x, 4, " +
                             "cudaMemcpyDeviceToHost);\n  cudaFree(x);\n  return y;\n}\n");
    return run_program("--no-trace " + seeds + source.path());
  };
  EXPECT_TRUE(said("", "if (threadIdx.x == 0) *x = 0;").has("clean under 1 schedule"));
  EXPECT_TRUE(said("--seeds 1 ", "if (threadIdx.x == 0) *x = 0;").has("clean under 6 schedules"));
  EXPECT_TRUE(said("--seeds 2 ", "atomicExch(x, threadIdx.x == 0);").has(" of 9 runs; schedules reverse"));
}

struct program {
  const char* file;
  const char* bug;
  const char* verdict;
};
void PrintTo(const program& p, std::ostream* out) { *out << p.file << " " << p.bug; }

class Program : public testing::TestWithParam<program> {};

TEST_P(Program, IsClean) {
  const result r = run_program(GetParam().file + seeds());
  EXPECT_TRUE(ended(r, 0, {std::string(GetParam().file) + ": clean under"}));
}

TEST_P(Program, WithItsBugIsCaughtAtItsLine) {
  const program& p = GetParam();
  const result r = run_program(std::string(p.file) + " -D " + p.bug + seeds());
  EXPECT_TRUE(ended(
      r, 1,
      {std::string(p.verdict) + ": ", place_of(p.file, p.verdict), std::string(p.file) + ": " + p.verdict + " under"}))
      << place_of(p.file, p.verdict);
}

INSTANTIATE_TEST_SUITE_P(
    Public, Program,
    testing::Values(program{"reduction.cu", "MISSING_BARRIER", "race"},
                    program{"transpose.cu", "NO_EDGE_CHECK", "out_of_bounds"},
                    program{"histogram.cu", "PLAIN_INCREMENT", "race"}, program{"scan.cu", "SINGLE_BUFFER", "race"},
                    program{"stencil.cu", "NO_RIGHT_HALO", "uninitialized"},
                    program{"smooth.cu", "BLOCK_BARRIER_ONLY", "race"}, program{"overlap.cu", "NO_WAIT", "race"},
                    program{"cluster.cu", "NO_FIRST_SYNC", "race"}, program{"softmax.cu", "REUSED_SLOT", "race"},
                    program{"last_block.cu", "NO_FENCE", "race"}, program{"matmul.cu", "NO_SECOND_BARRIER", "race"}));

struct mistake {
  const char* mode;
  int status;
  const char* verdict;  // "clean" where it is no mistake
  const char* marker;   // in misuse.cu, or nullptr
  const char* text;
};
void PrintTo(const mistake& m, std::ostream* out) { *out << m.mode; }

class Misuse : public testing::TestWithParam<mistake> {};

TEST_P(Misuse, GetsItsVerdict) {
  const mistake& m = GetParam();
  const result r = run_program(std::string("misuse.cu --schedule fair --timeout 20 -- ") + m.mode);
  EXPECT_TRUE(ended(r, m.status, {std::string("misuse.cu: ") + m.verdict + " under 1 schedule", m.text}));
  if (m.marker) {
    EXPECT_TRUE(r.has(place_of("misuse.cu", m.marker))) << r.output;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Of, Misuse,
    testing::Values(
        mistake{"none", 0, "clean", nullptr, "reached the end"}, mistake{"exit-0", 0, "clean", nullptr, ""},
        mistake{"opted-in-shared-memory", 0, "clean", nullptr, "reached the end"},
        mistake{"leak", 0, "clean", nullptr, "2 device allocations of 260 bytes together were never freed"},
        mistake{"copy-past-the-end", 1, "out_of_bounds", "copy-past-the-end", "260 bytes from byte 0"},
        mistake{"wrong-direction", 1, "error_return", "wrong-direction", "kind of the copy"},
        mistake{"copy-of-nothing", 1, "error_return", "copy-of-nothing", "the source is a null pointer"},
        mistake{"double-free", 1, "error_return", "double-free", "not the start of a live allocation"},
        mistake{"too-many-threads", 1, "launch_limit", nullptr, "block.x is 2048, allowed are 1 to 1024"},
        mistake{"too-much-shared-memory", 1, "launch_limit", "too-much-shared-memory", "65536 bytes"},
        mistake{"too-much-for-a-template", 1, "launch_limit", "too-much-for-a-template", "65536 bytes"},
        mistake{"configured-shared-memory", 1, "launch_limit", "attributes", "65536 bytes"},
        mistake{"cooperative-shared-memory", 1, "launch_limit", "cooperative-shared-memory", "65536 bytes"},
        mistake{"cluster", 0, "clean", nullptr, "reached the end"},
        mistake{"square-cluster", 1, "launch_limit", nullptr,
                "grid.y is 1, allowed are multiples of the cluster size 2"},
        mistake{"odd-cluster", 1, "launch_limit", nullptr, "cluster"},
        mistake{"unknown-attribute", 1, "error_return", "attributes", "attribute 3 is not one of 0"},
        mistake{"write-past-the-end", 1, "out_of_bounds", "kernel-write", "buffer of 256 bytes"},
        mistake{"nothing-allocated", 1, "out_of_bounds", "kernel-write", "off a null pointer"},
        mistake{"null-pointer", 1, "out_of_bounds", "kernel-write", "off a null pointer"},
        mistake{"host-pointer-to-the-stack", 1, "out_of_bounds", "host-read",
                "in the host's memory, where argument 1 of the launch points"},
        mistake{"host-pointer-to-the-heap", 1, "out_of_bounds", "kernel-write", "in the host's memory"},
        mistake{"host-pointer-of-a-template", 1, "out_of_bounds", "host-atomic", "in the host's memory"},
        mistake{"host-pointer-in-a-cooperative-launch", 1, "out_of_bounds", "kernel-write", "in the host's memory"},
        mistake{"host-pointer-after-an-error", 1, "out_of_bounds", "kernel-write", "in the host's memory"},
        mistake{"host-pointer-that-nobody-follows", 0, "clean", nullptr, "reached the end"},
        mistake{"pinned-memory", 0, "clean", nullptr, "reached the end"},
        mistake{"limited-block", 0, "clean", nullptr, "blocks of 64\n"}, mistake{"pitched", 0, "clean", nullptr, "9\n"},
        mistake{"pitched-past-the-end", 1, "out_of_bounds", "pitched", "5 bytes from byte 1534"},
        mistake{"wider-than-the-pitch", 1, "error_return", "pitched",
                "the width of 6 bytes is more than the pitch of 5"},
#ifndef __clang__  // see docs/emulated_device.md, "Not modelled"
        mistake{"misaligned-load", 1, "misaligned", "misaligned", "4 modulo 16"},
        mistake{"misaligned-store", 1, "misaligned", "misaligned-store", "4 modulo 16"},
#endif
        mistake{"never-written", 1, "uninitialized", "uninitialized", "nobody wrote"},
        mistake{"diverged-barrier", 1, "deadlock", "barrier", "waits for ever"},
        mistake{"mapped", 0, "clean", nullptr, "reached the end"},
        mistake{"mapped-copy", 1, "error_return", "mapped-copy", "not device memory"},
        mistake{"mapped-without-access", 1, "out_of_bounds", "kernel-write", "that is not allocated"},
        mistake{"mapped-past-the-end", 1, "out_of_bounds", "kernel-write", "that is not allocated"},
        mistake{"mapped-and-released-twice", 1, "error_return", "released-twice", "was released before"},
        mistake{"race-on-a-variable", 1, "race", "global-race", "buffer of 4 bytes"},
        mistake{"segfault", 1, "crash", nullptr, "host's code at misuse.cu:177"},
        mistake{"abort", 1, "crash", nullptr, "signal 6"},
        mistake{"double-free-then-segfault", 1, "crash", "before-the-crash", "host's code at misuse.cu:182"},
        mistake{"throw", 1, "crash", nullptr, "the program died"},
        mistake{"called-as-a-function", 1, "error_return", "the-kernel", "kernel fill of misuse.cu:"},
        mistake{"uncaught", 1, "crash", nullptr, "what():  too small"},
        mistake{"exit-7", 1, "error_return", nullptr, "the program returned 7"},
        mistake{"return-5", 1, "error_return", nullptr, "the program returned 5"}));

struct mode {
  const char* file;
  const char* name;  // "": all of them, one after the other
};
void PrintTo(const mode& m, std::ostream* out) { *out << m.file << " " << m.name; }

class Construct : public testing::TestWithParam<mode> {};

TEST_P(Construct, RunsCleanAndIsRight) {
  const mode& m = GetParam();
  const result r = run_program(std::string(m.file) + " --schedule fair -- " + m.name);
  EXPECT_TRUE(ended(r, 0, {std::string(m.file) + ": clean under 1 schedule"}));
}

INSTANTIATE_TEST_SUITE_P(
    Accepted, Construct,
    testing::Values(mode{"accepted.cu", ""}, mode{"newer.cu", ""}, mode{"groups.cu", ""}, mode{"ptx.cu", ""},
                    mode{"libraries.cu", ""}, mode{"pieces.cu", "textures"}, mode{"pieces.cu", "linear-textures"},
                    mode{"pieces.cu", "layers"}, mode{"pieces.cu", "surfaces"}, mode{"pieces.cu", "children"},
                    mode{"pieces.cu", "captured-graph"}, mode{"pieces.cu", "built-graph"},
                    mode{"pieces.cu", "graph-memory"}, mode{"pieces.cu", "launch-by-address"},
                    mode{"pieces.cu", "sixteen-bits"}, mode{"pieces.cu", "votes"}, mode{"pieces.cu", "cub"},
                    mode{"pieces.cu", "cub-differences"}, mode{"pieces.cu", "complex"},
                    mode{"pieces.cu", "atomic-loads"}, mode{"as_written.cu", "object"},
                    mode{"as_written.cu", "object-of-file"}, mode{"as_written.cu", "alignment"},
                    mode{"as_written.cu", "comparisons"}, mode{"as_written.cu", "unknown-ptx-unreached"},
                    mode{"ptx_arithmetic.cu", "bits"}, mode{"ptx_arithmetic.cu", "integers"},
                    mode{"ptx_arithmetic.cu", "reals"}, mode{"ptx_arithmetic.cu", "conversions"},
                    mode{"ptx_arithmetic.cu", "warps"}, mode{"ptx_arithmetic.cu", "bytes"},
                    mode{"ptx_arithmetic.cu", "sums-of-f16"}, mode{"cublas.cu", "all"}, mode{"waiting.cu", "latch"},
                    mode{"waiting.cu", "semaphore"}, mode{"waiting.cu", "flag"}, mode{"waiting.cu", "wait"},
                    mode{"waiting.cu", "barrier"}, mode{"waiting.cu", "shuffled"}));

TEST(RunEmulated, NamesAnInstructionThatIsNotModelledWhereItRuns) {
  EXPECT_TRUE(ended(run_program("as_written.cu -- unknown-ptx"), 2,
                    {"unsupported: " + place_of("as_written.cu", "unknown-ptx") + ": the PTX 'brkpt' is not modelled",
                     "as_written.cu: not run to its end under 1 schedule"}));
}

TEST(RunEmulated, TakesMacrosWhoseNamesItsOwnHeadersUse) {
  EXPECT_TRUE(
      ended(run_program("as_written.cu --schedule fair -D T=3 -D site=4 -D 'index(a)=5' -D G -- comparisons"), 0));
}

// Older libraries included <functional> in others; without -fopenmp nvcc ignores pragmas, not functions of OpenMP.
TEST(RunEmulated, TakesWhatOlderCompilersTook) {
  const source_file mine(
      "#include <omp.h>\n#include <vector>\n__global__ void k(int* x) { *x = 4; }\n"
      "int twice(int x) { return 2 * x; }\n"
      "int main() { int h = 0, *x; cudaMalloc(&x, 4); k<<<1, 1>>>(x); omp_set_num_threads(2);\n"
      "cudaMemcpy(&h, x, 4, cudaMemcpyDeviceToHost); cudaFree(x);\n"
      "return std::bind(twice, h)() != 8 || omp_get_num_threads() != 1; }\n");
  EXPECT_TRUE(ended(run_program(mine.path() + " --schedule fair"), 0));
}

TEST(RunEmulated, TakesTheStandardOfCpp) {
  const source_file mine(
      "template <class T> concept small = sizeof(T) <= 4;\n"
      "template <small T> __global__ void k(T* x) { x[threadIdx.x] = 1; }\n"
      "template <class T> requires(sizeof(T) < 8) && small<T> __global__ void l(T* x) { x[threadIdx.x] *= 2; }\n"
      "int main() { int h = 0, *x; cudaMalloc(&x, 4); k<<<1, 1>>>(x); l<<<1, 1>>>(x);\n"
      "cudaMemcpy(&h, x, 4, cudaMemcpyDeviceToHost); cudaFree(x); return h != 2; }\n");
  EXPECT_EQ(run_program(mine.path() + " --schedule fair -std=c++20").status, 0);
  EXPECT_EQ(run_program(mine.path() + " --schedule fair --std c++23").status, 0);
  EXPECT_EQ(run_program(mine.path() + " --schedule fair").status, 2);
  EXPECT_TRUE(ended(run_program(mine.path() + " --std c++98"), 2));
}

TEST(Cublas, JudgesItsInputs) {
  const result r = run_program("cublas.cu --schedule fair --no-trace -- unwritten");
  EXPECT_TRUE(
      ended(r, 1, {"uninitialized: cublasSgemm at " + place_of("cublas.cu", "unwritten") + " reads column 0 of A"}));
}

TEST(Cublas, RefusesMatricesOfTiles) {
  const result r = run_program("cublas.cu -D TILES --schedule fair --no-trace -- all");
  EXPECT_TRUE(ended(r, 2,
                    {"unsupported: " + place_of("cublas.cu", "tiles") +
                     ": a matrix of tiles in the function "
                     "'cublasLtMatrixTransform'"}));
}

TEST(Pieces, AreJudgedLikeKernels) {
  const result surface = run_program("pieces.cu --schedule fair -- surface-too-small");
  EXPECT_TRUE(surface.has("out_of_bounds: a surface access at pieces.cu:")) << surface.output;
  for (const char* mode : {"captured-unwritten", "built-unwritten"}) {
    const result r = run_program(std::string("pieces.cu --schedule fair -- ") + mode);
    EXPECT_TRUE(r.has("pieces.cu: uninitialized under")) << mode << "\n" << r.output;
  }
  const result cub = run_program("pieces.cu --schedule fair -D NO_BARRIER -- cub");
  EXPECT_TRUE(says(cub, {"pieces.cu: race under", place_of("pieces.cu", "no-barrier")}));
  const result load = run_program("pieces.cu --schedule fair -D PLAIN_LOAD -- atomic-loads");
  EXPECT_TRUE(load.has(place_of("pieces.cu", "plain-load"))) << load.output;
  EXPECT_TRUE(
      run_program("pieces.cu --schedule fair -- textures").has("fidelity: approximated are textures' linear filter"));
  EXPECT_TRUE(run_program("pieces.cu --schedule fair -- votes").has("fidelity: nothing that ran is approximated"));
}

struct way {
  const char* mode;
  const char* says;  // of what is approximated
};
void PrintTo(const way& w, std::ostream* out) { *out << w.mode; }

TEST(FidelityLine, IsToldWhereFilesHaveInitialisers) {
  const source_file mine(
      "#include <iostream>\n__global__ void k(float* x) { x[threadIdx.x] = expf(x[threadIdx.x]); }\n"
      "int main() { float h = 0, *x; cudaMalloc(&x, 4); cudaMemset(x, 0, 4); k<<<1, 1>>>(x);\n"
      "cudaMemcpy(&h, x, 4, cudaMemcpyDeviceToHost); cudaFree(x); std::cout << h << std::endl; return 0; }\n");
  const result r = run_program(mine.path() + " --schedule fair");
  EXPECT_TRUE(ended(r, 0, {"fidelity: approximated are functions of math.h (reached no branch and no address)"}));
}

class Fidelity : public testing::TestWithParam<way> {};

TEST_P(Fidelity, SaysWhereApproximatedValuesWent) {
  const way& w = GetParam();
  const result r = run_program(std::string("fidelity.cu --schedule fair -- ") + w.mode);
  EXPECT_TRUE(ended(r, 0, {std::string("fidelity: approximated are ") + w.says + "; all else is exact"}));
}

INSTANTIATE_TEST_SUITE_P(
    Of, Fidelity,
    testing::Values(way{"keep", "__expf (reached no branch and no address)"},
                    way{"keep-of-math", "functions of math.h (reached no branch and no address)"},
                    way{"branch", "__expf (reached a branch or an address of a kernel)"},
                    way{"branch-of-math", "functions of math.h (reached a branch or an address of a kernel)"},
                    way{"branch-of-halves", "functions of math.h (reached a branch or an address of a kernel)"},
                    way{"address", "__expf (reached a branch or an address of a kernel)"},
                    way{"address-of-ptx", "PTX's .approx (reached a branch or an address of a kernel)"},
                    way{"wait", "clocks (reached a branch or an address of a kernel)"},
                    way{"time", "the time between events (reached a branch of the host)"}));

TEST(RunEmulated, NamesWhatIsApproximatedWithoutATrace) {
  const result r = run_program("fidelity.cu --schedule fair --no-trace -- branch");
  EXPECT_TRUE(r.has("fidelity: approximated are __expf; all else is exact")) << r.output;
}

TEST(Benign, RacesEndNoLaunch) {
  EXPECT_TRUE(ended(run_program("pieces.cu --schedule fair --schedule preempt:1 -- same-value"), 0,
                    {"benign: write by block", place_of("pieces.cu", "same-value"), "; both write the same value",
                     "pieces.cu: clean under 2 schedules"}));
  const result loop = run_program("pieces.cu --seeds 2 -- first-read");
  EXPECT_TRUE(
      ended(loop, 0, {place_of("pieces.cu", "first-read"), ", which is the first read of a compare-and-swap loop"}));
}

TEST(Benign, RacesHideNoOther) {
  const result other = run_program("pieces.cu --schedule fair -- other-value");
  EXPECT_TRUE(
      ended(other, 1, {"benign: write by block", "race: write by block", place_of("pieces.cu", "other-value")}));
  const result read = run_program("pieces.cu --schedule fair -- read-beside-an-atomic");
  EXPECT_TRUE(ended(read, 1, {place_of("pieces.cu", "read-beside-an-atomic")}));
}

TEST(Children, AreJudgedLikeLaunches) {
  const result r = run_program("pieces.cu --schedule fair -D SAME_PLACE -- children");
  EXPECT_TRUE(ended(r, 1, {"pieces.cu: race under", place_of("pieces.cu", "same-place")}));
}

TEST(RunEmulated, SaysWhereNoKernelWasLaunched) {
  for (const char* text : {"int main() { return 0; }\n", "int main() { exit(0); }\n"}) {
    const source_file idle(text);
    EXPECT_TRUE(ended(run_program(idle.path() + " --schedule fair"), 0, {"note: no kernel was launched"})) << text;
  }
  EXPECT_FALSE(run_program("pieces.cu --schedule fair -- votes").has("no kernel was launched"));
}

TEST(KeepGoing, ShowsWhatAProgramThatCallsExitMayDependOn) {
  const source_file exits(
      "#include <cuda_runtime.h>\n"
      "__global__ void racy(int* y) {\n  y[0] = threadIdx.x;\n  y[1] = threadIdx.x;\n  y[2] = threadIdx.x;\n}\n"
      "__global__ void choose(int* y) {\n"
      "  y[4] = atomicAdd(y, 1);\n  y[5] = atomicExch(y + 1, 1);\n  y[6] = atomicCAS(y + 2, 0, 1);\n"
      "  y[7] = atomicOr(y + 3, 1);\n}\n"
      "int main() {\n  int* y;\n  cudaMalloc(&y, 64);\n  cudaMemset(y, 0, 64);\n  racy<<<1, 2>>>(y);\n"
      "  choose<<<1, 1>>>(y + 8);\n  cudaDeviceSynchronize();\n  exit(3);\n}\n");
  const result r = run_program(exits.path() + " --schedule fair --keep-going");
  EXPECT_TRUE(ended(r, 1, {"note: the program returned 3", "race under 1 schedule"}));
  EXPECT_FALSE(r.has("crash"));
}

TEST(KeepGoing, ShowsWhatComesAfter) {
  const result first = run_program("pieces.cu --schedule fair -- far-off");
  EXPECT_TRUE(says(first, {}, {place_of("pieces.cu", "far-off"), "reached the end"}));
  EXPECT_TRUE(ended(run_program("pieces.cu --schedule fair --keep-going -- far-off"), 1,
                    {place_of("pieces.cu", "other-value"), place_of("pieces.cu", "far-off"), "reached the end"}));
}

TEST(Suppress, KnowsFindingsByKindAndLine) {
  const std::string place = place_of("pieces.cu", "other-value");
  const source_file known("# of ours\n\nrace " + place + " the last one wins, whoever it is\n");
  const result r = run_program("pieces.cu --schedule fair --suppress " + known.path() + " -- other-value");
  EXPECT_TRUE(ended(r, 0, {"known (the last one wins, whoever it is): race: ", "pieces.cu: clean under"}));
  const source_file another("race " + place + "0 a line far behind\n");
  EXPECT_EQ(run_program("pieces.cu --schedule fair --suppress " + another.path() + " -- other-value").status, 1);
  const source_file malformed("race " + place + "\n");
  const result wrong = run_program("pieces.cu --suppress " + malformed.path() + " -- other-value");
  EXPECT_TRUE(ended(wrong, 2, {"suppress: line 1 of '", "must be KIND FILE:LINE REASON"}));
}

TEST(RunEmulated, TakesAProgramOfSeveralSources) {
  const scratch_folder folder;
  folder.write("kernel.cu",
               "__global__ void k(int* p) { p[threadIdx.x] = 1; }\nvoid start(int* p) { k<<<1, 4>>>(p); }\n");
  folder.write("plain.c", "int* no_cast(void* p) { return p; }\n");
  folder.write("main.cpp",
               "#include <cuda_runtime.h>\nvoid start(int*);\nextern \"C\" int* no_cast(void*);\n"
               "int main() { int* p; cudaMalloc(&p, 16); start(no_cast(p)); int h[4];\n"
               "cudaMemcpy(h, p, 16, cudaMemcpyDeviceToHost); cudaFree(p); return h[3] - 1; }\n");
  const std::string with = " --with " + folder.path("kernel.cu") + " --with " + folder.path("plain.c");
  EXPECT_TRUE(ended(run_program(folder.path("main.cpp") + with + " --schedule fair"), 0));
}

TEST(Groups, NeedTheirBarriers) {
  for (const auto& [name, line] :
       {std::pair{"pipeline-copy", "no-barrier"}, {"block-barrier", "no-wait"}, {"wide-scan", "no-tile-barrier"}}) {
    const result r = run_program(std::string("groups.cu -D NO_BARRIER --schedule fair -- ") + name);
    EXPECT_TRUE(says(r, {"groups.cu: race under", place_of("groups.cu", line)}));
  }
}

struct slip {
  const char* file;
  const char* mode;
  const char* macro;
  const char* verdict;
};

TEST(Ptx, AndTheLibrariesAreJudgedLikeOurOwnInstructions) {
  const slip slips[] = {
      {"ptx.cu", "cp-async", "NO_WAIT", "race"},  {"ptx.cu", "bulk", "NO_WAIT", "race"},
      {"ptx.cu", "bulk", "SHORT", "deadlock"},    {"ptx.cu", "wgmma", "NO_PROXY_FENCE", "race"},
      {"ptx.cu", "wgmma", "NO_WAIT", "race"},     {"libraries.cu", "barrier", "NO_WAIT", "race"},
      {"waiting.cu", "latch", "NO_WAIT", "race"}, {"libraries.cu", "pipeline-of-a-block", "NO_WAIT", "race"},
      {"ptx.cu", "barrier", "OTHER", "deadlock"}};
  for (const slip& s : slips) {
    const result r = run_program(std::string(s.file) + " --schedule fair -D " + s.macro + " -- " + s.mode);
    EXPECT_TRUE(says(r, {std::string(s.file) + ": " + s.verdict + " under", std::string(s.file) + ":"})) << s.mode;
  }
}

// The finding of each defect, by its number.
TEST(Idioms, EveryDefectIsFound) {
  const char* verdicts[] = {"race",          "race",          "out_of_bounds", "out_of_bounds",
#ifdef __clang__  // docs/emulated_device.md, "Not modelled": local arrays
                            "clean",
#else
                            "out_of_bounds",
#endif
                            "race",          "race",          "race",          "race",          "race",
                            "race",          "livelock",      "out_of_bounds", "out_of_bounds",
#ifdef __clang__
                            "clean",
#else
                            "misaligned",
#endif
                            "launch_limit",  "out_of_bounds", "divergence",    "divergence",    "out_of_bounds",
                            "uninitialized", "race",          "race",          "race",          "out_of_bounds",
                            "divergence",    "out_of_bounds", "uninitialized", "deadlock",      "race"};
  int number = 0;
  for (const std::string verdict : verdicts) {
    const std::string n = std::to_string(number++);
    const result r = run_program("idioms_bad.cu --schedule fair -- " + n);
    EXPECT_TRUE(r.has("idioms_bad.cu: " + verdict + " under 1 schedule")) << n << "\n" << r.output;
  }
  EXPECT_TRUE(run_program("idioms_bad.cu --schedule fair -- 16").has("another one of 4096 bytes"));
  EXPECT_TRUE(run_program("idioms_bad.cu --schedule fair -- 27").has("none of which anybody wrote"));
}

TEST(Idioms, CorrectOnesAreClean) {
  for (int number = 0; number < 18; ++number) {
    const result r = run_program("idioms_good.cu --schedule fair --schedule random:1 -- " + std::to_string(number));
    EXPECT_TRUE(r.has("idioms_good.cu: clean under 2 schedules")) << number << "\n" << r.output;
  }
}

TEST(Idioms, AStoreAtAnyDistanceIsOutOfBounds) {
  for (const char* distance : {"-70000", "-4294967296", "-6694043648", "-900000000000", "262144", "4294967296",
                               "130000000000", "800000000000"}) {
    const result r = run_program(std::string("idioms_bad.cu --schedule fair -- 30 ") + distance);
    EXPECT_TRUE(r.has("idioms_bad.cu: out_of_bounds under")) << distance << "\n" << r.output;
  }
}

TEST(Idioms, APartThatNobodyWroteIsNoted) {
  const result r = run_program("idioms_bad.cu --schedule fair -- 32");
  EXPECT_TRUE(ended(r, 0, {"copies back 64 bytes that nobody wrote, the first of them byte 64"}));
}

TEST(RunEmulated, GivesALaunchMoreStepsUnlessItsThreadsWait) {
  // 600 blocks of more than 1000 steps each, which ask no word.
  EXPECT_EQ(run_program("idioms_bad.cu --schedule fair --step-limit 200 -- 31").status, 0);
  // Meeting at a barrier, these do not count as threads that all wait.
  EXPECT_TRUE(run_program("idioms_bad.cu --schedule fair --step-limit 100000 -- 33").has("livelock under"));
  EXPECT_TRUE(run_program("idioms_bad.cu --schedule fair --step-limit 1000000 -- 34").has("livelock under"));
  EXPECT_TRUE(run_program("idioms_bad.cu --step-limit 0 -- 31").has("step-limit: 0 is not"));
}

TEST(RunEmulated, StopsAProgramThatHangs) {
  const result r = run_program("misuse.cu --schedule fair --timeout 11 -- hang");
  EXPECT_TRUE(ended(r, 1,
                    {"timeout: main() did not return within 11 s",
                     "note: launches that ended before the program was stopped: 2", "schedule 1 of 1, fair: 10 s\n"}));
}

TEST(RunEmulated, WritesItsResultAsJson) {
  const source_file json("");
  EXPECT_TRUE(ended(
      run_program("misuse.cu --schedule fair --schedule greedy --quiet --json " + json.path() + " -- return-5"), 1));
  std::ifstream file(json.path());
  const nlohmann::json j = nlohmann::json::parse(file);
  EXPECT_EQ(j["schema"], "warpcheck-run-emulated-1");
  EXPECT_EQ(j["verdict"], "error_return");
  EXPECT_EQ(j["exit_code"], 1);
  ASSERT_EQ(j["runs"].size(), 2u);
  EXPECT_EQ(j["runs"][1]["schedule"], "greedy");
  EXPECT_EQ(j["runs"][1]["exit_status"], 5);
}

#ifdef __clang__
constexpr const char* k_missing_header = "mine.cu:1:10: fatal error: 'nobody/sort.h'";
#else
constexpr const char* k_missing_header = "mine.cu:1:10: fatal error: nobody/sort.h";
#endif

struct outside {
  const char* source;
  const char* text;
};

TEST(RunEmulated, WritesTheThreadsAndTheMemoryOfAFindingAsJson) {
  const source_file json(""), mine(
                                  "__global__ void k(int* x) {\n  x[1] = threadIdx.x;\n}\n"
                                  "int main() { int* x; cudaMalloc(&x, 8); k<<<1, 2>>>(x); cudaFree(x); }\n");
  run_program(mine.path() + " --schedule fair --quiet --json " + json.path());
  std::ifstream file(json.path());
  const nlohmann::json found = nlohmann::json::parse(file)["runs"][0]["findings"][0];
  EXPECT_EQ(found["kind"], "race");
  EXPECT_EQ(found["memory"], nlohmann::json::parse(R"({"byte": 4, "of": "a buffer of 8 bytes"})"));
  ASSERT_EQ(found["threads"].size(), 2u) << found;
  for (const nlohmann::json& t : found["threads"]) {
    EXPECT_EQ(t["block"], nlohmann::json::parse("[0, 0, 0]"));
    EXPECT_LT(t["thread"], 2);
    EXPECT_EQ(t["line"], 2);
    EXPECT_TRUE(mine.path().ends_with(t["file"].get<std::string>())) << t;
  }
}

TEST(Subset, IsRefusedByNameAndLineOutside) {
  const outside table[] = {
      {"__global__ void k() {\n  asm volatile(\"nop;\");\n}\nint main() {\n  k<<<1, 1>>>();\n}\n",
       "mine.cu:2: the PTX 'nop' is not modelled on the emulated device"},
      {"int main() {}\ntexture<float, 1> t;\n", "mine.cu:2: texture is outside the subset"},
      {"__global__ void k() {\n\n  cudaDeviceSynchronize();\n}\nint main() {}\n",
       "mine.cu:3: cudaDeviceSynchronize in device code is outside the subset"},
      {"struct t {\n  __shared__ int s;\n};\nint main() {}\n",
       "mine.cu:2: __shared__ in a class is outside the subset"},
      {"#include <nobody/sort.h>\nint main() {}\n", k_missing_header},
      {"int main() {\n  return undeclared;\n}\n", "mine.cu:2:10: error: "},
      {"#define LAUNCH k<<<1, 32>>>(1)\n__global__ void k(float*) {}\n\nint main() { LAUNCH; }\n", "mine.cu:4:"},
      {"int not_main() {}\n", "mine.cu has no function main() to run"},
  };
  for (const outside& o : table) {
    const source_file source(o.source);
    const result r = run_program(source.path());
    EXPECT_TRUE(ended(r, 2, {o.text})) << o.source;
  }
}

TEST(Arguments, AreCheckedByOneSentence) {
  EXPECT_TRUE(run_program("none.cu").has("file: 'none.cu' not found"));
  EXPECT_EQ(run_program("none.cu").status, 2);
  EXPECT_EQ(run_program("misuse.cu --schedule sometimes").status, 2);
  EXPECT_TRUE(run_program("misuse.cu --schedule sometimes").has("schedule: "));
  EXPECT_EQ(run_program("misuse.cu --seeds -1").status, 2);
  EXPECT_EQ(run_program("misuse.cu --timeout 0").status, 2);
  EXPECT_EQ(run_program("").status, 2);
}

TEST(Toolchain, ThatIsMissingIsSaid) {
  const std::string command = environment("WARPCHECK_TEST_COMMAND");
  const fs::path folder = fs::path(command).parent_path() / "no-toolchain";
  fs::remove_all(folder);
  fs::create_directories(folder);
  fs::create_hard_link(command, folder / "warpcheck");
  const std::string moved = (folder / "warpcheck").string();
  const result program = run_program("misuse.cu", programs(), moved);
  const result candidate = run_command("'" + moved + "' verify softmax --device emulated --source '" + programs() +
                                       "/softmax.cu' --entry f");
  fs::remove_all(folder);
  for (const result& r : {program, candidate}) {
    EXPECT_TRUE(ended(r, 3, {"there is no warpcheck_toolchain.json in " + folder.string()}));
  }
}

TEST(Programs, ReadAFileOnStandardInputInEachRun) {
  const warpcheck::self::scratch_folder folder;
  folder.write("sum.cu", R"(#include <cstdio>
__global__ void add(int* sum, int n) { *sum += n; }
int main() {
  int* sum;
  cudaMallocManaged(&sum, sizeof *sum);
  *sum = 0;
  for (int n; std::scanf("%d", &n) == 1; cudaDeviceSynchronize()) add<<<1, 1>>>(sum, n);
  const int result = *sum;
  cudaFree(sum);
  return result == 42 ? 0 : 1;
}
)");
  folder.write("numbers.txt", "40 1\n1\n");
  const result r = run_program("sum.cu --seeds 1 < numbers.txt", folder.path());
  EXPECT_TRUE(ended(r, 0, {"sum.cu: clean under 6 schedules"}));
  EXPECT_TRUE(ended(run_program("sum.cu --schedule fair < /dev/null", folder.path()), 1, {"the program returned 1"}));
}

}  // namespace
