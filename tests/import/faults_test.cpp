// `warpcheck run-emulated` on programs with arithmetic faults and faults of host code, and on programs that it refuses.
#include <gtest/gtest.h>

#include <string>

#include "tests/import/program.hpp"
#include "tests/scratch_folder.hpp"

namespace {

using result = warpcheck::self::command_result;

result run(const std::string& text, const std::string& schedules = "--schedule fair") {
  const warpcheck::self::scratch_folder folder;
  folder.write("mine.cu", text);
  return warpcheck::self::run_program("mine.cu --no-trace " + schedules, folder.path());
}

TEST(Division, ByZeroInAKernelGoesOnAndIsNoted) {
  const result r =
      run("#include <climits>\n"
          "template <class T>\n"
          "__global__ void k(T* y, const T* x) {\n"
          "  y[0] = x[0] / x[1];\n"
          "  y[1] = x[0] % x[1];\n"
          "  y[2] = x[2] / x[3];\n"
          "  y[3] = x[2] % x[3];\n"
          "  y[4] = x[0] / 2;\n"
          "}\n"
          "template <class T> bool right(T least, T ones) {\n"
          "  T h[5] = {7, 0, least, T(-1), 0}, *x, *y;\n"
          "  cudaMalloc(&x, sizeof h); cudaMalloc(&y, sizeof h);\n"
          "  cudaMemcpy(x, h, sizeof h, cudaMemcpyHostToDevice);\n"
          "  k<<<1, 1>>>(y, x);\n"
          "  cudaMemcpy(h, y, sizeof h, cudaMemcpyDeviceToHost);\n"
          "  cudaFree(x); cudaFree(y);\n"
          "  return h[0] == ones && h[1] == ones && (least > 0 || (h[2] == least && h[3] == 0)) && h[4] == 3;\n"
          "}\n"
          "int main() {\n"
          "  return !(right<int>(INT_MIN, -1) && right<long long>(LLONG_MIN, -1) && right<unsigned>(9, UINT_MAX) &&\n"
          "           right<unsigned long long>(9, ULLONG_MAX));\n"
          "}\n");
  EXPECT_TRUE(ended(r, 0,
                    {"note: integer division by zero by block (0,0,0) thread 0 at mine.cu:4: a GPU goes on with",
                     "at mine.cu:5: a GPU goes on with"},
                    {"at mine.cu:6: a GPU goes on with"}));
}

TEST(Division, ByZeroInTheHostsCodeIsACrashWithItsLine) {
  const result r =
      run("#include <cstdlib>\n"
          "int main(int argc, char**) {\n"
          "  return 7 / (argc - 1);\n"
          "}\n");
  EXPECT_TRUE(ended(r, 1, {"crash: integer division by zero in the host's code at mine.cu:3"}));
}

TEST(Access, ToNoAddressByTheHostIsACrashWithItsLine) {
  const std::string start =
      "#include <cstring>\nint main(int argc, char** argv) {\n  volatile int* p = argc > 5 ? &argc : nullptr;\n";
  const result own = run(start + "  *p = 3;\n  return 0;\n}\n");
  EXPECT_TRUE(ended(own, 1, {"crash: access to address 0, where nothing is, in the host's code at mine.cu:4"}));
  const result of_library =
      run(start + "  return std::strlen(const_cast<char*>(reinterpret_cast<volatile char*>(p))) > 3;\n}\n");
  EXPECT_TRUE(ended(of_library, 1, {"in the host's code at mine.cu:4"}));
}

TEST(Access, BeyondTheHostsStackIsACrashWithItsLine) {
  const result r =
      run("int sum(int n) {\n"
          "  volatile char room[100000];\n"
          "  room[n % 100000] = 1;\n"
          "  return n == 0 ? room[0] : sum(n - 1) + room[n % 100000];\n"
          "}\n"
          "int main() { return sum(1 << 20) == 0; }\n");
  EXPECT_TRUE(ended(r, 1, {"crash: access to address 0x", "in the host's code at mine.cu:"}));
}

// A pointer to no buffer has none that its index could leave.
TEST(Access, IndexedFromANullPointerIsThatOfItsAddress) {
  const result r = run(
      "__global__ void k(char* none, size_t at) { none[at + threadIdx.x] = 1; }\n"
      "int main() { char* p; cudaMalloc(&p, 32); k<<<1, 32>>>(nullptr, reinterpret_cast<size_t>(p)); cudaFree(p); }\n");
  EXPECT_EQ(r.status, 0) << r.output;
}

// The address behind another buffer is no access to that one.
TEST(Access, IndexedBehindAnotherBufferIsOneOnlyIfItIsMade) {
  const auto reads = [](const std::string& condition) {
    return run("__global__ void k(int* p, int* q) { const int* end = &p[q - p + 16]; if (" + condition +
               ") p[1] = *end; }\n"
               "int main() { int *p, *q; cudaMalloc(&p, 64); cudaMalloc(&q, 64); cudaMemset(p, 0, 64); "
               "k<<<1, 1>>>(p, q); cudaFree(p); cudaFree(q); }\n");
  };
  EXPECT_TRUE(ended(reads("p[0] == 1"), 0));
  EXPECT_TRUE(ended(reads("p[0] == 0"), 1, {"out_of_bounds: read of 4 bytes ", "at byte 64 of a buffer of 64 bytes"}));
}

// A kernel that waits for a flag, which the host sets before the launch and, optionally, after it.
std::string waiting(const std::string& allocate, const std::string& flag, const std::string& behind = "") {
  return "__global__ void k(volatile int* flag, int* y) { while (*flag == 0) {} *y = 1; }\n"
         "int main() { int *flag, *y; " +
         allocate + "(&flag, 4); cudaMalloc(&y, 4);\n" + flag + "k<<<1, 1>>>(flag, y); " + behind +
         " cudaDeviceSynchronize(); return 0; }\n";
}
constexpr const char* k_late = "--schedule fair --schedule reverse";
TEST(Livelock, OfAKernelThatWaitsForTheHostIsNoHazard) {
  const result host = run(waiting("cudaMallocManaged", "*flag = 0;", "*(volatile int*)flag = 1;"), k_late);
  EXPECT_TRUE(ended(host, 2,
                    {"unsupported: a kernel that waits for the host, at a word of the memory that was allocated at "
                     "mine.cu:2"},
                    {"livelock under"}));
  EXPECT_TRUE(ended(run(waiting("cudaMalloc", "cudaMemset(flag, 0, 4);")), 1, {"mine.cu: livelock under"}));
}

// The host waits for the launch, so nothing can set the flag.
TEST(Livelock, OfAKernelThatWaitsForAHostWhichWaitsForItIsAHazard) {
  for (const char* allocate : {"cudaMallocManaged", "cudaMallocHost"}) {
    EXPECT_TRUE(ended(run(waiting(allocate, "*flag = 0;"), k_late), 1, {"mine.cu: livelock under 2 schedules"}));
  }
}

TEST(Livelock, IsNoLoopThatStoresOneValueAllTheTime) {
  const result r =
      run("__global__ void k(float* y) {\n"
          "  __shared__ float s[256];\n"
          "  const auto place = static_cast<unsigned>(__cvta_generic_to_shared(s + threadIdx.x));\n"
          "  for (int i = 0; i < 100000; ++i) asm volatile(\"st.volatile.shared.f32 [%0], %1;\" ::\"r\"(place), "
          "\"f\"(1.f));\n"
          "  y[threadIdx.x] = s[threadIdx.x];\n"
          "}\n"
          "int main() { float* y; cudaMalloc(&y, 1024); k<<<1, 256>>>(y); cudaFree(y); }\n");
  EXPECT_EQ(r.status, 0) << r.output;
}

// More than a page of them: the name of the file is long.
TEST(KeepGoing, ListsEveryFindingOnce) {
  std::string lines = "#line 1 \"" + std::string(200, 'x') + ".cu\"\n";
  for (int i = 1; i <= 500; ++i) lines += "  p[" + std::to_string(2 * i) + "] = v;\n";
  const result r = run("__global__ void k(int* p, int v) {\n" + lines +
                           "  p[0] = v + threadIdx.x;\n}\n"
                           "int main() { int* p; cudaMalloc(&p, 4096); k<<<1, 64>>>(p, 1); cudaFree(p); }\n",
                       "--schedule fair --keep-going");
  EXPECT_TRUE(r.has("mine.cu: race under")) << r.output.substr(0, 2000);
  EXPECT_TRUE(r.has("xx.cu:500 ")) << r.output.substr(0, 2000);
  EXPECT_TRUE(r.has("xx.cu:501 ")) << r.output.substr(0, 2000);
}

// Reads outside return zeros, so a loop up to such a bound ends.
TEST(KeepGoing, AfterAnAccessOutsideShowsTheRaceBehindIt) {
  const std::string outside[] = {
#ifndef __clang__  // docs/emulated_device.md, "Not modelled": local arrays
      "int a[8]; for (int i = 0; i < (int)blockDim.x - 55; ++i) a[i] = i; int n = a[p[1]];",
#endif
      "int n = p[64 + threadIdx.x];",
      "int n = 0; p[64 + threadIdx.x] = 1;",
      "int n = 0; atomicAdd(p + 64, 1);",
      "int n = s[32 + threadIdx.x / 32];",
      "int n = p[q - p];"};
  for (const std::string& access : outside) {
    const result r =
        run("__global__ void k(int* p, int* q) {\n  __shared__ int s[32];\n  s[threadIdx.x % 32] = 0;\n  " + access +
                "\n  for (int i = 0; i < n; ++i) s[0] += p[i];\n  p[0] = threadIdx.x + s[1];\n}\n"
                "int main() { int *p, *q; cudaMalloc(&p, 256); cudaMalloc(&q, 256);\n"
                "  cudaMemset(p, 0, 256); cudaMemset(q, 0, 256); k<<<1, 64>>>(p, q);\n"
                "  cudaFree(p); cudaFree(q); }\n",
            "--schedule fair --keep-going --timeout 20");
    EXPECT_EQ(r.status, 1) << r.output;
    EXPECT_TRUE(r.has("out_of_bounds: ") && r.has(" at mine.cu:4 ")) << access << "\n" << r.output;
    EXPECT_TRUE(r.has("race: write by ") && r.has(" at mine.cu:6 ")) << access << "\n" << r.output;
    EXPECT_FALSE(r.has("cudaFree at")) << access << "\n" << r.output;
  }
}

// A read over the end of a shared array: its bytes inside keep their values, those outside are zeros.
TEST(KeepGoing, AfterAReadThatIsPartlyOutsideAnArrayHasItsBytesInside) {
  const result r =
      run("__global__ void fill() { __shared__ int s[64]; s[threadIdx.x] = -1; }\n"
          "__global__ void k(long long* p) {\n  __shared__ alignas(8) int s[3];\n  s[threadIdx.x] = 7;\n"
          "  __syncwarp();\n  if (threadIdx.x == 0) *p = *reinterpret_cast<long long*>(s + 2);\n}\n"
          "int main() { long long *p, h = 0; cudaMalloc(&p, 8); fill<<<1, 64>>>(); k<<<1, 3>>>(p);\n"
          "  cudaMemcpy(&h, p, 8, cudaMemcpyDeviceToHost); cudaFree(p); return h == 7 ? 0 : 5; }\n",
          "--schedule fair --keep-going");
  EXPECT_TRUE(ended(r, 1, {"read of 8 bytes by ", " at mine.cu:6 at byte 8 of a shared array of 12 bytes"},
                    {"the program returned"}));
}

// 64 reads of each of 1,023 threads stay open, each for an access that would excuse it, during a million others. A
// search through all of them at each access would not end.
TEST(KeepGoing, WithManyRacesThatMayYetProveHarmless) {
  const result r =
      run("__global__ void k(int* p) {\n  const int t = threadIdx.x;\n  int sum = 0;\n"
          "  for (int i = 0; i < 64; ++i)\n    if (t == 0) atomicAdd(p + i, 1);\n"
          "    else sum += p[i];\n  __syncthreads();\n"
          "  for (int i = 0; i < 1024; ++i) p[64 + 1024 * i + t] = sum;\n}\n"
          "int main() { int* p; cudaMalloc(&p, (1 << 22) + 256); cudaMemset(p, 0, 256);\n"
          "  k<<<1, 1024>>>(p); cudaFree(p); }\n",
          "--schedule fair --keep-going");
  EXPECT_TRUE(ended(r, 1, {" at mine.cu:6 and atomic access by block (0,0,0) thread 0 at mine.cu:5 "}));
  EXPECT_EQ(r.output.find("race: "), r.output.rfind("race: ")) << r.output;
}

TEST(Loops, ThatWaitAreNamedByTheirLine) {
  const result r =
      run("__global__ void k(int* x) {\n"
          "  if (threadIdx.x == 32) atomicExch(x, 1);\n"
          "  while (threadIdx.x == 0 && *(volatile int*)x == 0) {}\n}\n"
          "int main() { int* x; cudaMalloc(&x, 4); cudaMemset(x, 0, 4); k<<<1, 64>>>(x); cudaFree(x); }\n",
          "--schedule greedy");
  EXPECT_LT(r.output.find("mine.cu:3 (", r.output.find("a loop that waits for other threads at ")), r.output.size());
}

TEST(Output, IsShownFromItsBeginAndItsEnd) {
  const result r =
      run("#include <cstdio>\n__global__ void k() {}\n"
          "int main() { k<<<1, 1>>>(); for (int i = 0; i < 20000; ++i) std::printf(\"line %05d\\n\", i); }\n");
  EXPECT_TRUE(r.has("line 00000\n") && r.has("line 19999\n") && !r.has("line 10000\n"));
  EXPECT_TRUE(r.has("(154464 bytes of the output are not shown)"));  // of 220,000, but for 64 KiB
}

TEST(Refusals, NameEveryFeatureOfEverySourceFirst) {
  const warpcheck::self::scratch_folder folder;
  folder.write("a.cu",
               "int main() {\n  cudaNoSuchCall(1);\n  int own = missing;\n  cudaNoSuchCall(2);\n"
               "  return cudaErrorOfNoName;\n}\n");
  folder.write("b.cu", "__global__ void k(float* x) {\n  *x = __no_such_intrinsic(*x);\n}\n");
  const result r = warpcheck::self::run_program("a.cu --with b.cu --schedule fair", folder.path());
  EXPECT_TRUE(ended(r, 2,
                    {"not modelled on the emulated device: cudaNoSuchCall (a.cu:2), cudaErrorOfNoName (a.cu:5), "
                     "__no_such_intrinsic (b.cu:2)\n"}));
  EXPECT_LT(r.output.find("__no_such_intrinsic (b.cu:2)"), r.output.find("error:")) << r.output;
}

TEST(Refusals, NameFunctionsOfSourcesThatWereNotGiven) {
  const result r =
      run("void cudaOwnCheck(cudaError_t);\nstruct timer { timer(int); ~timer(); };\nint main() {\n"
          "  timer t(1);\n  cudaOwnCheck(cudaGetLastError());\n}\n",
          "--schedule fair");
  EXPECT_EQ(r.status, 2) << r.output;
  EXPECT_TRUE(r.has("not defined in any source that was given (--with FILE adds one): timer::timer (mine.cu:4)"))
      << r.output;
  EXPECT_TRUE(r.has("cudaOwnCheck (mine.cu:5)")) << r.output;
  EXPECT_FALSE(r.has("not modelled")) << r.output;
}

TEST(Refusals, AreThoseOfEverySource) {
  const warpcheck::self::scratch_folder folder;
  folder.write("a.cu", "#include <no_such_a.h>\nint main() { return 0; }\n");
  folder.write("b.cu", "struct s { __shared__ int x; };\n");
  const result r = warpcheck::self::run_program("a.cu --with b.cu --schedule fair", folder.path());
  EXPECT_TRUE(ended(r, 2, {"no_such_a.h", "b.cu:1: __shared__ in a class"}));
}

}  // namespace
