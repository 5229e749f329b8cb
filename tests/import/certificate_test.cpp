// What `warpcheck run-emulated` proves for every schedule, and what denies the proof.
#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "tests/import/program.hpp"

namespace {

using namespace warpcheck::self;
using result = command_result;

// A run of a kernel of 64 threads on 128 words.
result said(const std::string& kernel, const std::string& host = "") {
  const source_file source(
      "#include <cuda/atomic>\n#include <cuda/barrier>\n#include <ctime>\n#include <thread>\n#include "
      "<utility>\n#define NOW() clock()\n__device__ int t() { return threadIdx.x; }\n__global__ void k(int* x) { " +
      kernel + " }\nint main() {\n  int* x;\n" + "  cudaMalloc(&x, 512);\n  cudaMemset(x, 0, 512);\n" + host +
      "  k<<<1, 64>>>(x);\n  cudaDeviceSynchronize();\n  cudaFree(x);\n}\n");
  return run_program("--schedule fair --no-trace " + source.path());
}

// Proofs for every schedule: a barrier allows one, an atomic or a second stream prevents it.
TEST(Certificate, SaysWhatIsProvenForEverySchedule) {
  const std::string turns =
      "__shared__ int s[64]; s[threadIdx.x] = x[threadIdx.x]; __syncthreads(); "
      "x[threadIdx.x] = s[63 - threadIdx.x];";
  const result proven = said(turns);
  EXPECT_TRUE(proven.has("every schedule: proven for this input")) << proven.output;
  const source_file clusters(
      "__global__ void __cluster_dims__(2, 1, 1) k(int* x) { x[blockIdx.x] = 1; }\n"
      "int main() {\n  int* x;\n  cudaMalloc(&x, 8);\n  k<<<2, 1>>>(x);\n  cudaFree(x);\n}\n");
  const result in_clusters = run_program("--schedule fair --no-trace " + clusters.path());
  EXPECT_TRUE(in_clusters.has("every schedule: proven for this input")) << in_clusters.output;
  EXPECT_TRUE(says(said("x[1 + atomicAdd(x, 1)] = 1;"),
                   {"every schedule: not proven; it may depend on an atomic whose result or order may matter at "}));
  const result streams = said(turns, "  cudaStream_t s;\n  cudaStreamCreate(&s);\n  cudaStreamDestroy(s);\n");
  EXPECT_TRUE(streams.has("it may depend on the order of operations of several streams")) << streams.output;
}

// A number that another schedule changes denies the proof, wherever it comes from.
TEST(Certificate, ProvesNothingOfNumbersThatDependOnTheSchedule) {
  const auto depends = [](const std::string& kernel, const std::string& what, const std::string& host = "") {
    const result r = said(kernel, host);
    EXPECT_TRUE(r.has("every schedule: not proven; it may depend on " + what)) << kernel << r.output;
  };
  const std::string of_kernel = "an allocation by a kernel";
  depends("int* p = (int*)malloc(64); x[threadIdx.x] = (int)(size_t)p; free(p);", of_kernel);
  depends("int* p = new int; x[threadIdx.x] = (int)(size_t)p; delete p;", of_kernel);
  depends("int* p = new int[4 + threadIdx.x]; x[threadIdx.x] = (int)(size_t)p; delete[] p;", of_kernel);
  depends(
      "__shared__ int* p; int v = 1; if (threadIdx.x == 0) p = &v; __syncthreads(); x[threadIdx.x] = *p; "
      "if (threadIdx.x == 0) v = 5; __syncthreads();",
      "a local variable of another thread");
  for (const std::string clock : {"clock()", "std::clock()", "::clock()", "(clock)()", "clock64()", "NOW()"})
    depends("x[threadIdx.x] = (int)" + clock + ";", "a clock");
  depends("auto* now = std::clock; x[threadIdx.x] = (int)now();", "a clock");
  for (const std::string name : {"clock", "globaltimer"})
    depends("long long n; asm volatile(\"mov.u64 %0, %%" + name + ";\" : \"=l\"(n)); x[threadIdx.x] = n;", "a clock");
  for (const std::string name : {"smid", "warpid"})
    depends("unsigned n; asm volatile(\"mov.u32 %0, %%" + name + ";\" : \"=r\"(n)); x[threadIdx.x] = n;",
            "the number of an SM or of a warp on it");
}

// Atomics and barriers of libcu++ are those of CUDA.
TEST(Certificate, ProvesAtomicsAndBarriersOfLibcu) {
  const std::string of_int = "cuda::atomic_ref<int> r(*x); const int t = threadIdx.x; ";
  const std::string relaxed = ", cuda::memory_order_relaxed); ";
  const std::string barrier =
      "__shared__ cuda::barrier<cuda::thread_scope_block> b; __shared__ int s[64]; "
      "if (threadIdx.x == 0) init(&b, 64); __syncthreads(); s[threadIdx.x] = threadIdx.x; ";
  const std::string asks =
      "const unsigned at = __cvta_generic_to_shared(&b); const auto is_done = [](unsigned barrier) { unsigned done; "
      "asm volatile(\"{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], 0; selp.b32 %0, 1, 0, p; }\" : "
      "\"=r\"(done) : \"r\"(barrier) : \"memory\"); return done != 0; }; ";
  for (const std::string& kernel :
       {of_int + "r.fetch_add(t" + relaxed + "r.fetch_sub(3" + relaxed, of_int + "r.fetch_min(-t" + relaxed,
        of_int + "r.fetch_or(1 << t % 31" + relaxed,
        barrier + "b.arrive_and_wait(); x[threadIdx.x] = s[63 - threadIdx.x];",
        barrier + "auto k = b.arrive(); b.wait(std::move(k)); x[threadIdx.x] = s[63 - threadIdx.x];",
        barrier + "const unsigned at = __cvta_generic_to_shared(&b); "
                  "asm volatile(\"{ .reg .b64 k; .reg .pred p; mbarrier.arrive.shared.b64 k, [%0]; W: "
                  "mbarrier.try_wait.parity.shared.b64 p, [%0], 0; @p bra D; bra W; D: }\" :: \"r\"(at) : \"memory\"); "
                  "x[threadIdx.x] = s[63 - threadIdx.x];",
        barrier + "auto k = b.arrive(); while (!b.try_wait(std::move(k))); x[threadIdx.x] = s[63 - threadIdx.x];",
        barrier + asks + "(void)b.arrive(); while (!is_done(at)) {} x[threadIdx.x] = s[63 - threadIdx.x];",
        barrier + asks +
            "(void)b.arrive(); bool done; do { done = is_done(at); } while (!done); "
            "x[threadIdx.x] = s[63 - threadIdx.x];",
        barrier + "if (t() > 31) return b.arrive_and_drop(); b.arrive_and_wait(); int n = s[63 - t()]; "
                  "b.arrive_and_wait(); x[t()] = n;"}) {
    const result r = said(kernel);
    EXPECT_TRUE(r.has("every schedule: proven for this input")) << kernel << r.output;
  }
  const auto depends = [](const std::string& kernel, const std::string& what) {
    const result r = said(kernel);
    EXPECT_TRUE(r.has("it may depend on " + what)) << kernel << r.output;
  };
  depends(of_int + "r.fetch_add(t" + relaxed + "r.fetch_min(-t" + relaxed,
          "an atomic whose result or order may matter");
  depends(barrier + "if (t() == 0) return cuda::device::barrier_expect_tx(b, 0); (void)b.arrive(t() == 1 ? 2 : 1);",
          "a barrier whose phases others may complete");
  const result alone = said("cuda::atomic_ref<int, cuda::thread_scope_thread>(*x).fetch_add(1" + relaxed);
  EXPECT_TRUE(alone.has("atomics in the scope of one thread are not modelled")) << alone.output;
  depends(of_int + "x[1 + t] = r.fetch_add(1" + relaxed, "an atomic whose result or order may matter");
  depends(of_int + "r.fetch_add(1);", "a fence that acquires what an atomic has read");
  depends(barrier + asks +
              "(void)b.arrive(); int n = 0; while (!is_done(at) && n < 9) ++n; b.wait_parity(false); "
              "x[threadIdx.x] = s[63 - threadIdx.x] + n;",
          "a question for a barrier's phase");
  depends(barrier + "auto k = b.arrive(); int n = 0; while (!b.try_wait(std::move(k))) ++n; x[threadIdx.x] = n;",
          "a question for a barrier's phase");
}

// What the host does at a time of its own denies the proof; the same after a wait does not.
TEST(Certificate, ProvesNothingOfWhatTheHostDoesMeanwhile) {
  const std::string memory = "int* m;\n  cudaMallocManaged(&m, 512);\n  m[0] = 0;\n  k<<<1, 64>>>(m);\n  ";
  const auto depends = [](const std::string& host, const std::string& what) {
    const result r = said("atomicAdd_system(x, 1);", host);
    EXPECT_TRUE(r.has("every schedule: not proven; it may depend on " + what)) << host << r.output;
  };
  depends("k<<<1, 64>>>(x);\n  if (cudaStreamQuery(0) != cudaSuccess) return 1;\n", "a query of a stream or an event");
  depends("cudaEvent_t e;\n  cudaEventCreate(&e);\n  cudaEventRecord(e);\n  cudaEventQuery(e);\n",
          "a query of a stream or an event");
  depends("cudaLaunchHostFunc(0, [](void*) {}, nullptr);\n", "the time of a host function");
  depends("k<<<1, 64>>>(x);\n  std::thread([=] { k<<<1, 64>>>(x); }).join();\n", "the order of the host's threads");
  for (const std::string access :
       {"if (*(volatile int*)m == 64) return 0;", "__atomic_store_n(m, 5, __ATOMIC_RELAXED);",
        "if (__atomic_fetch_add(m, 5, __ATOMIC_RELAXED) == 64) return 0;"})
    depends(memory + access + "\n", "an atomic or volatile access of the host while kernels run");
  const result waits =
      said("atomicAdd_system(x, 1);", memory + "cudaDeviceSynchronize();\n  if (*(volatile int*)m != 64) return 1;\n");
  EXPECT_TRUE(waits.has("every schedule: proven for this input")) << waits.output;
  const result race = said("x[threadIdx.x] = 1;", memory + "__atomic_fetch_add(m, 5, __ATOMIC_RELAXED);\n");
  EXPECT_TRUE(race.has("race: atomic access by the host at ")) << race.output;
}

// A launch may depend on the times that the host read since the first launch. An earlier time is an input.
TEST(Certificate, NamesTheTimesThatTheHostReads) {
#ifdef __x86_64__
  const int clocks = 19;
#else
  const int clocks = 14;
#endif
  for (int clock = 0; clock < clocks; ++clock) {
    const std::string which = std::to_string(clock);
    const result between = run_program("--schedule fair --no-trace times.cu -- -1 " + which);
    EXPECT_TRUE(between.has("every schedule: proven for this input and the times that the host read, first at ") &&
                between.has(place_of("times.cu", "clock " + which)))
        << between.output;
    const result before = run_program("--schedule fair --no-trace times.cu -- " + which + " -1");
    EXPECT_TRUE(before.has("every schedule: proven for this input\n")) << before.output;
  }
}

// An entry may choose a kernel by a time, which other schedules change.
TEST(Certificate, ProvesNoCallOfAnEntryThatReadsATimeBetweenLaunches) {
  for (const std::string time : {"", "(int)std::chrono::steady_clock::now().time_since_epoch().count()"}) {
    const source_file source(
        "#include <chrono>\n__global__ void k(const float* x, float* y, int cols) {\n  float sum = 0;\n"
        "  for (int i = 0; i < cols; ++i) sum += x[blockIdx.x * cols + i];\n  y[blockIdx.x] = sum;\n}\n"
        "void f(const float* x, float* y, int rows, int cols, cudaStream_t stream) {\n"
        "  for (int i = 0; i < 2; ++i) {\n    k<<<rows, 1, 0, stream>>>(x, y, cols);\n    volatile int now = 0" +
        (time.empty() ? "" : " + " + time) + ";\n    (void)now;\n  }\n}\n");
    const result r = run_command("'" + environment("WARPCHECK_TEST_COMMAND") +
                                 "' replay 'v1 reduce/within-error-bound x=f32[2x3] fill=randn(7) | y=f32[2] | "
                                 "candidate=source:" +
                                 source.path() + ":f device=emulated'");
    EXPECT_EQ(r.status, 0) << r.output;
    EXPECT_EQ(r.has("every schedule: proven for this input"), time.empty()) << r.output;
  }
}

// A struct that is an argument or a result of a function which is not inlined is an access of the calling line.
TEST(Certificate, ProvesNothingIfCopiesOfAStructRace) {
  const std::string file = "copied_structs.cu";
  for (int mode = 0; mode < 7; ++mode) {
    const std::string number = std::to_string(mode);
    const result r = run_program("--schedule fair --no-trace " + file + " -- " + number);
    EXPECT_TRUE(r.has("race: read by block (0,0,0) thread 40 at " + place_of(file, "read " + number) +
                      " and write by block (0,0,0) thread 0 at " + place_of(file, "write " + number) +
                      " are not ordered"))
        << number << r.output;
  }
}

// A result of a class that owns memory, and that the compiler may copy, is not copied.
TEST(Certificate, ProvesAProgramWhoseOwnersOfMemoryMustNotBeCopied) {
  const source_file source(
      "struct owner {\n  int* p = nullptr;\n  ~owner() { cudaFree(p); }\n};\nstruct both {\n  owner o;\n};\n"
      "both make() {\n  both b;\n  cudaMalloc(&b.o.p, 256);\n  return b;\n}\n"
      "__global__ void k(int* x) { x[threadIdx.x] = 1; }\nint main() {\n  both b = make();\n  k<<<1, "
      "64>>>(b.o.p);\n}\n");
  const result r = run_program("--schedule fair --no-trace " + source.path());
  EXPECT_TRUE(ended(r, 0, {"every schedule: proven for this input\n"}));
}

// Functions of libm write by pointers, which the detector sees.
TEST(Certificate, ProvesNothingIfFunctionsOfTheMathLibraryRace) {
  for (const std::string call : {"frexp(1.5f, x)", "frexp(1.5, x)", "modf(1.5f, (float*)x)", "modf(1.5, (double*)x)",
                                 "remquo(5.0f, 3.0f, x)", "remquo(5.0, 3.0, x)"}) {
    const result r = said("((float*)x)[8 + t()] = " + call + ";");
    EXPECT_TRUE(r.has("write by block (0,0,0) thread 1 at ") && r.has("byte 0 of a buffer")) << call << r.output;
  }
}

TEST(Certificate, ProvesNothingIfALineIsDiscardedThatOthersAccess) {
  const std::string discard = "asm volatile(\"discard.global.L2 [%0], 128;\" ::\"l\"(x) : \"memory\"); ";
  const result race = said("x[t()] = 1; " + discard);
  EXPECT_TRUE(race.has("race: write by block (0,0,0) thread ")) << race.output;
  EXPECT_TRUE(says(said("if (t() == 0) { " + discard + "x[4] = 1; }"), {"every schedule: proven for this input"}));
}

// Bulk reductions by threads 0 and 32: those of one kind of whole numbers commute.
TEST(Certificate, ProvesBulkReductionsThatCommute) {
  const auto reduces = [](const std::string& first, const std::string& second, const std::string& also) {
    const auto bulk = [](const std::string& kind) {
      return "asm volatile(\"cp.reduce.async.bulk.global.shared::cta.bulk_group." + kind +
             " [%0], [%1], 128;\" :: \"l\"(x), \"r\"((unsigned)__cvta_generic_to_shared(s)) : \"memory\");";
    };
    return said(
        "__shared__ alignas(128) int s[32]; if (threadIdx.x < 32) s[threadIdx.x] = threadIdx.x; "
        "asm volatile(\"fence.proxy.async.shared::cta;\" ::: \"memory\"); __syncthreads(); " +
        also + " if (threadIdx.x == 0) {" + bulk(first) + "} if (threadIdx.x == 32) {" + bulk(second) +
        "} asm volatile(\"cp.async.bulk.commit_group;\"); "
        "asm volatile(\"cp.async.bulk.wait_group 0;\" ::: \"memory\");");
  };
  for (const std::string kind : {"add.u32", "min.s32", "max.u32", "xor.b32", "add.u64"}) {
    const result r = reduces(kind, kind, "");
    EXPECT_TRUE(r.has("every schedule: proven for this input")) << kind << r.output;
  }
  const result sums = reduces("add.u32", "add.u32", "atomicAdd(x + threadIdx.x % 8, 5);");
  EXPECT_TRUE(sums.has("every schedule: proven for this input")) << sums.output;
  const auto depends = [](const result& r) {
    EXPECT_TRUE(r.has("it may depend on a bulk reduction whose order may matter at ")) << r.output;
  };
  depends(reduces("add.f32", "add.f32", ""));
  depends(reduces("min.f16", "min.f16", ""));
  depends(reduces("inc.u32", "inc.u32", ""));
  depends(reduces("add.u32", "max.u32", ""));
  depends(reduces("max.s32", "max.u32", ""));
  depends(reduces("add.u32", "add.u64", ""));
  depends(reduces("add.u32", "add.u32", "if (threadIdx.x == 40) atomicMax(x + 3, 9);"));
}

// Parts of a launch leave its results and its proof, and a race between them is found as in one process.
TEST(Certificate, ProvesALongLaunchInParts) {
  const result clean = run_program("--no-trace long_launch.cu");
  const std::string expected =
      std::thread::hardware_concurrency() > 1 ? "0 wrong, in parts" : "0 wrong, in one process";
  EXPECT_TRUE(clean.has(expected) && clean.has("every schedule: proven for this input")) << clean.output;
  EXPECT_TRUE(run_program("--no-trace --schedule fair long_launch.cu").has("0 wrong, in one process"));
  const result race = run_program("--no-trace -D BUG long_launch.cu");
  EXPECT_TRUE(race.has("race: read by block (399,0,0) thread 136 at " + place_of("long_launch.cu", "read") +
                       " and write by block (0,0,0) thread 0 at " + place_of("long_launch.cu", "written") +
                       " are not ordered: byte 0 of a buffer of 409600 bytes"))
      << race.output;
}

}  // namespace
