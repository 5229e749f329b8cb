// The importer's rewriting: what changes, what must not, and that no line moves.
#include <gtest/gtest.h>

#include <algorithm>

#include "command/translator/cuda_tokens.hpp"
#include "command/translator/importer.hpp"

namespace warpcheck::cli {
namespace {

std::string rewritten(std::string_view text) {
  const imported_source s = rewrite_cuda(text, "a.cu");
  EXPECT_TRUE(s.errors.empty()) << describe(s.errors.front());
  return s.text;
}

std::string refused(std::string_view text) {
  const imported_source s = rewrite_cuda(text, "a.cu");
  return s.errors.empty() ? "" : describe(s.errors.front());
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

// A kernel k and a template kernel t to launch, on one line.
const std::string k_kernels = "__global__ void k(int* p) {} template <class T, int N> __global__ void t(T* p) {} ";

TEST(Entry, MayLieInAnIncludedFile) {
  const auto entry_of = [](const std::string& header, const std::string& own) {
    return find_entry(
        rewrite_cuda("# 1 \"a.cu\"\n# 1 \"k.cuh\" 1\n" + header + "\n# 2 \"a.cu\" 2\n" + own, "a.cu").functions, "f",
        "a.cu");
  };
  EXPECT_EQ(entry_of("void f(int* in) {}", "void g(int* out) {}").parameters.front(), "in");
  EXPECT_EQ(entry_of("namespace n { void f(int* in) {} }", "").name, "n::f");
  EXPECT_EQ(entry_of("void f(int* in) {}", "void f(int* own, int) {}").parameters.front(), "own");
  EXPECT_THROW(entry_of("void f(int* in) {} void f(int*, int) {}", ""), std::exception);
  EXPECT_THROW(entry_of("void g() {}", ""), std::exception);
  EXPECT_THROW(entry_of("", "template <int N> __global__ void f(int* in) {} void g() {}"), std::exception);
}

TEST(Launch, OfAFunctionKeepsItsArgumentsAndOrder) {
  EXPECT_EQ(rewritten(k_kernels + "void f() { k<<<dim3(2, n >> 5), 64>>>(p); }"),
            " void k(int* p) { if (::simt::import::called_as_function(\"k\")) return;} "
            "template <class T, int N>  void t(T* p) { if (::simt::import::called_as_function(\"t\")) return;} "
            "void f() { ::simt::import::kernel(k).at(dim3(2, n >> 5), 64)(p); }");
}

TEST(Launch, OfATemplateIsResolvedByItsCall) {
  const std::string s =
      rewritten(k_kernels + "void f() { ns::t<float, (3 > 2)><<<1, 2, 0, s>>>(p, q); t<<<1, 2>>>(p); }");
  EXPECT_TRUE(has(s,
                  "::simt::import::callable([&](auto... simt_a) { ns::t<float, (3 > 2)>(simt_a...); })"
                  ".at(1, 2, 0, s)(p, q);"));
  EXPECT_TRUE(has(s, "callable([&](auto... simt_a) { t(simt_a...); }).at(1, 2)(p);"));
}

TEST(Launch, OfOverloadsIsResolvedByItsCall) {
  EXPECT_TRUE(has(rewritten("__global__ void k(int* p) {} __global__ void k(float* p) {} void f() { k<<<1, 1>>>(p); }"),
                  "{ k(simt_a...); })"));
}

TEST(Launch, OfAForwardDeclaredKernelIsAFunction) {
  EXPECT_TRUE(has(rewritten("__global__ void k(int*); __global__ void k(int* p) {} void f() { k<<<1, 1>>>(p); }"),
                  "kernel(k).at"));
}

TEST(Launch, OfNestedTemplateArgumentsClosesInTheRightPlace) {
  EXPECT_TRUE(has(rewritten(k_kernels + "void f() { t<std::vector<std::pair<int, 3>>, 4><<<g, b>>>(p); }"),
                  "{ t<std::vector<std::pair<int, 3>>, 4>(simt_a...); }).at(g, b)(p)"));
}

TEST(Launch, OverSeveralLinesKeepsEveryLine) {
  const std::string text = k_kernels + "void f() {\n  k<<<\n    dim3(1,\n 2),\n  32\n  >>>(\n p);\n}\nint last;\n";
  const std::string s = rewritten(text);
  EXPECT_EQ(std::ranges::count(s, '\n'), std::ranges::count(text, '\n'));
  EXPECT_TRUE(has(s, "kernel(k).at("));
}

TEST(Launch, CooperativeTakesTheKernelWithItsType) {
  for (const char* kernel : {"k", "(void*)k", "(const void *)k", "reinterpret_cast<void*>(k)"})
    EXPECT_TRUE(has(rewritten(k_kernels + "void f() { cudaLaunchCooperativeKernel(" + kernel + ", 2, 32, a); }"),
                    kernel[0] == 'r' ? "Kernel((k), 2, 32, a)" : "Kernel(k, 2, 32, a)"))
        << kernel;
  EXPECT_TRUE(has(rewritten(k_kernels + "void f() { g((void*)k); }"), "g(::simt::import::erased(k))"));
  EXPECT_TRUE(has(rewritten(k_kernels + "void f() { g((const void*)&k); }"), "g(::simt::import::erased(&k))"));
  EXPECT_TRUE(
      has(rewritten(k_kernels + "void f() { g(reinterpret_cast<void*>(k)); }"), "g((::simt::import::erased(k)))"));
}

TEST(Launch, OfAMemberIsOfTheWholeExpression) {
  EXPECT_TRUE(has(rewritten("void f() { all[i].of->k<<<1, 1>>>(p); }"), "kernel(all[i].of->k).at(1, 1)(p);"));
}

TEST(Launch, WithADefaultOrBesideAHostFunctionIsResolvedByItsCall) {
  for (const char* kernels : {"__global__ void k(int* p, int n = f(1, 2)) {} ", "__global__ void k(int* p, int n); ",
                              "__global__ void k(int* p) {} void k(int* p, int n) {} "})
    EXPECT_EQ(has(rewritten(std::string(kernels) + "void g() { k<<<1, 1>>>(p); }"), "{ k(simt_a...); })"),
              !has(kernels, "int n);"))
        << kernels;
}

TEST(Launch, ShiftsAndStreamsAreNone) {
  const std::string text = "int f() { std::cout << x << y; return 1 << 2 >> 1; }";
  EXPECT_EQ(rewritten(text), text);
}

TEST(Launch, InCommentsStringsAndDirectivesIsNone) {
  const std::string text =
      "// k<<<1, 2>>>(p)\n/* k<<<1,\n 2>>>(p) __shared__ */ const char* a = \"k<<<1, 2>>>(p)\\\" __shared__\";\n"
      "const char* b = R\"x(\" k<<<1, 2>>>(p) )\" )x\"; char c = '<';\n#pragma k<<<1, 2>>>(p)\n";
  EXPECT_EQ(rewritten(text), text);
}

TEST(Launch, NullBecomesAKeyword) {
  EXPECT_TRUE(has(rewritten(k_kernels + "void f() { t<int, 1><<<1, 1>>>(__null, f(__null), __null); }"),
                  "(nullptr, f(__null), nullptr)"));
}

TEST(Launch, NullMayComeFromASystemHeader) {
  EXPECT_TRUE(
      has(rewritten(k_kernels + "void f() { t<int, 1><<<1, 1>>>(p,\n# 1 \"a.cu\" 3 4\n __null\n# 1 \"a.cu\"\n); }"),
          " nullptr"));
}

TEST(Launch, WithoutACloseOrANameIsRefusedWithItsLine) {
  EXPECT_EQ(
      refused("\n\nvoid f() { k<<<1, 2; }"),
      "a.cu:3: <<< without >>>( is outside the subset that runs on the emulated device; allowed: the whole launch "
      "in one statement: kernel<<<grid, block>>>(arguments)");
  EXPECT_TRUE(has(refused("void f() { 3 <<<1, 2>>>(p); }"), "a.cu:1: <<<"));
  EXPECT_TRUE(has(refused("void f() { k<<<1>>>(p); }"), "a launch configuration of 1 values"));
}

// It runs when the kernel's variables no longer exist, and the kernel cannot wait for it.
TEST(Launch, FromAKernelRefersToNothingOfIt) {
  EXPECT_TRUE(has(rewritten(k_kernels + "__global__ void f(int* p) { t<int, 3><<<1, 2>>>(p); }"),
                  "callable([=](auto... simt_a) { t<int, 3>(simt_a...); }).at(1, 2)(p);"));
  EXPECT_TRUE(has(refused("__global__ void k() {\n  cudaDeviceSynchronize();\n}"),
                  "a.cu:2: cudaDeviceSynchronize in device code"));
  EXPECT_EQ(refused("__host__ __device__ void f() { cudaDeviceSynchronize(); }"), "");
}

TEST(Shared, ArraysAndScalarsGetASlotEach) {
  const std::string s = rewritten("__global__ void k() { __shared__ float a[32][33], *p, b; }");
  EXPECT_TRUE(has(s, "auto& a = *static_cast<::simt::identity_t<float [ 32 ][ 33 ]>*>"));
  EXPECT_TRUE(has(s, "float *& p = *static_cast<::simt::identity_t<float * >*>"));
  EXPECT_TRUE(has(s, "float & b = *static_cast<::simt::identity_t<float  >*>"));
}

TEST(Shared, OperatorsInAnExtentStayWhole) {
  EXPECT_TRUE(has(rewritten("void f() { __shared__ T s[(W + 2) << 1]; }"), "identity_t<T [ ( W + 2 ) << 1 ]>"));
  EXPECT_TRUE(has(rewritten("void f() { __shared__ A<(1 << 3)> s; }"), "A < ( 1 << 3 ) >"));
}

TEST(Shared, QualifiersAndAlignmentAreKept) {
  const std::string s = rewritten(
      "__global__ void k() { static volatile __shared__ __attribute__((aligned(16))) unsigned char a[N * 2]; }");
  EXPECT_TRUE(has(s, "::simt::identity_t<volatile unsigned char [ N * 2 ]>"));
  EXPECT_TRUE(has(s, "( 16 )")) << s;
  EXPECT_TRUE(has(rewritten("void f() { __shared__ typename A<int, 3>::B storage; }"),
                  "& storage = *static_cast<::simt::identity_t<typename A < int , 3 > :: B "));
}

TEST(Shared, DynamicMemoryInAndOutsideFunctions) {
  EXPECT_TRUE(has(rewritten("void f() { extern __shared__ float s[]; }"),
                  "auto* const s = static_cast<::simt::identity_t<float >*>(::simt::emu::dynamic_shared());"));
  EXPECT_TRUE(has(rewritten("void f() { extern __shared__ int s[][4]; }"), "::simt::identity_t<int [ 4 ]>*"));
  EXPECT_TRUE(has(rewritten("namespace n { extern __shared__ double s[]; }"),
                  "static constexpr ::simt::import::dynamic_array<::simt::identity_t<double >> s{};"));
}

TEST(Shared, DynamicMemoryMayBeAnObject) {
  EXPECT_TRUE(
      has(rewritten("void f() { extern __shared__ tile<3> s; }"),
          "tile < 3 >& s = *static_cast<::simt::identity_t<tile < 3 > >*>(::simt::emu::dynamic_shared()); (void)s;"));
  EXPECT_TRUE(has(rewritten("void f() { extern __shared__ int s[3]; }"), "auto& s = *static_cast<"));
  const std::string s = rewritten("extern __shared__ tile<3> s;\n__global__ void k() { s.a = 1; }");
  EXPECT_TRUE(has(s, "static inline auto& simt_shared_of_s() {")) << s;
  EXPECT_TRUE(has(s, "return; simt_shared_of_s().a = 1; }")) << s;
}

TEST(Shared, AlignmentMayBeOfAType) {
  EXPECT_TRUE(has(rewritten("void f() { __shared__ alignas(double) char a[3]; }"),
                  "[] { struct alignas( double ) simt_alignment {}; return alignof(simt_alignment); }()"));
}

TEST(Function, ReturnTypesMayCompare) {
  const std::string text = "template <int A> __host__ __device__ constexpr t<A == 3 && A >= 0> f(n<A>) { return {}; }";
  EXPECT_EQ(rewritten(text), "template <int A>   constexpr t<A == 3 && A >= 0> f(n<A>) { return {}; }");
  EXPECT_TRUE(has(rewritten("template <int A> __device__ enable_if_t<(A > 2), dim3> f() { return threadIdx; }"),
                  "{ return (::simt::emu::thread_index()); }"));
  EXPECT_TRUE(has(rewritten("template <class T> requires (sizeof(T) < 4) && small<T> __global__ void k(T* p) {}\n"
                            "void f() { k<<<1, 2>>>(p); }"),
                  "{ k(simt_a...); })"));
}

TEST(Shared, ADeclarationOverTwoLinesKeepsTheLinesAfterIt) {
  const std::string s = rewritten("void f() {\n__shared__ float a[3]\n[4];\nuse();\n}");
  EXPECT_TRUE(has(s, "\n# 3 \"a.cu\"\n\nuse();")) << s;
}

TEST(Shared, ATypeWithoutANameGetsOne) {
  const std::string s = rewritten("void f() {\n__shared__ union { int a; float b; } u, v[2];\nu.a = 1;\n}");
  EXPECT_TRUE(has(s, " union simt_shared_type_")) << s;
  EXPECT_TRUE(has(s, " { int a; float b; } ; static char simt_shared_u; ")) << s;
  EXPECT_TRUE(has(s, "& u = *static_cast<")) << s;
  EXPECT_TRUE(has(s, "auto& v = *static_cast<")) << s;
  EXPECT_TRUE(has(s, "\nu.a = 1;")) << s;
}

TEST(Shared, OfAFileIsAFunctionOfTheBlock) {
  const std::string s =
      rewritten("__shared__ int s[3];\n__global__ void k() { s[0] = 1; }\nint f(int s) { return s; }");
  EXPECT_TRUE(has(s, "static inline auto& simt_shared_of_s() {")) << s;
  EXPECT_TRUE(has(s, "return; simt_shared_of_s()[0] = 1; }")) << s;
  EXPECT_TRUE(has(s, "int f(int s) { return s; }")) << s;
}

TEST(Math, OfTheDeviceIsApproximate) {
  EXPECT_TRUE(has(rewritten("__device__ float f(float x) { return 2 * std::exp(x); }"),
                  "2 * ::simt::import::approximate_in_kernel(\"functions of math.h\", std::exp(x))"));
  EXPECT_TRUE(has(rewritten("__device__ void f(float x, float* s) { sincosf(x, s, s); }"),
                  "{ ::simt::import::sine_and_cosine(x, s, s); }"));
  for (const char* same : {"float f(float x) { return expf(x); }", "__device__ float f(t x) { return x.exp(1); }",
                           "__device__ float f(float x) { return mine::exp(x); }",
                           "float exp(float x) { return x; }\n__device__ float f(float x) { return exp(x); }"})
    EXPECT_FALSE(has(rewritten(same), "approximate")) << same;
}

TEST(Launch, ALoneZeroForAPointerOfATemplateIsNull) {
  const std::string s =
      rewritten("template <int N> __global__ void k(int* p, int n) {}\nvoid f() { k<1><<<1, 1>>>(0, 0); }");
  EXPECT_TRUE(has(s, "(nullptr, 0)")) << s;
}

TEST(Shared, OutsideTheSubsetIsRefusedWithItsLine) {
  EXPECT_TRUE(has(refused("struct t {\n__shared__ float s[3];\n};"), "a.cu:2: __shared__ in a class"));
  EXPECT_TRUE(has(refused("void f() {\n\n__shared__ int s = 3;\n}"), "a.cu:3: __shared__ s with an initialiser"));
  EXPECT_TRUE(has(refused("void f() {\n__shared__ enum { a } s;\n}"), "a.cu:2: this __shared__ declaration"));
}

TEST(Variable, OfTheDeviceIsACopyInDeviceMemory) {
  EXPECT_EQ(rewritten("static __device__ int a[2] = {1, 2}, b;\nint host = 3;"),
            "static  int simt_initial_a[2] = {1, 2}, simt_initial_b; static auto& a = "
            "::simt::import::device_variable(simt_initial_a); static auto& b = "
            "::simt::import::device_variable(simt_initial_b);\nint host = 3;");
  EXPECT_TRUE(has(rewritten("__constant__ float c[] = {1};"), "static  float simt_initial_c[] = {1}"));
  EXPECT_TRUE(
      has(rewritten("alignas(8) __device__ n::t v;"), "alignas(8)  static  n::t simt_initial_v; static auto& v"));
  EXPECT_TRUE(has(rewritten("__constant__ float c[] = {1};"), "constant_variable(simt_initial_c)"));
  EXPECT_TRUE(has(rewritten("namespace n { __device__ __managed__ int m; }"), "managed_variable(simt_initial_m)"));
}

TEST(Variable, OfATemplateIsATemplate) {
  EXPECT_EQ(
      rewritten("template <typename T, int N = 3> __constant__ T w[N];"),
      "template <typename T, int N = 3>  T simt_initial_w[N]; template < typename T , int N = 3 > static auto& w = "
      "::simt::import::constant_variable(simt_initial_w<T, N>);");
  EXPECT_TRUE(
      has(refused("\ntemplate <typename, int N> __device__ int v[N];"), "a.cu:2: this template of a __device__"));
}

TEST(BuiltIn, VariablesAreCallsInDeviceCodeAlone) {
  EXPECT_TRUE(
      has(rewritten("__device__ int f() { return blockDim.x; }"), "{ return (::simt::emu::block_dimensions()).x; }"));
  EXPECT_TRUE(has(rewritten("void f() { auto l = [=] __device__ (int i) { return threadIdx.x; }; }"),
                  "{ return (::simt::emu::thread_index()).x; }"));
  EXPECT_TRUE(has(rewritten("struct s { int i; __device__ s() : i{(int)threadIdx.x} {} };"), "i{(int)(::simt"));
  for (const char* untouched : {"int main() { dim3 gridDim(2), blockDim(3); f(gridDim, c->blockDim); }",
                                "void f(dim3 blockDim) { g(blockDim.x); }"})
    EXPECT_EQ(rewritten(untouched), untouched);
  EXPECT_TRUE(has(rewritten("__device__ int f(dim3 blockDim) { return blockDim.x + c.gridDim.x + gridDim.x; }"),
                  "{ return blockDim.x + c.gridDim.x + (::simt::emu::grid_dimensions()).x; }"));
}

TEST(Index, OfAPointerIsCheckedInDeviceCode) {
  EXPECT_TRUE(has(rewritten("__global__ void k(const int* __restrict__ a, int n) { a[a[n]] = n; }"),
                  " a[::simt::import::index(a, (a[::simt::import::index(a, (n))]))] = n; }"));
  EXPECT_TRUE(has(rewritten("__device__ void f(S s) { float* row = s.p; row[1] = s.row[2]; }"),
                  "row[::simt::import::index(row, (1))] = s.row[2];"));
  for (const char* untouched : {"void f(int* a) { a[1] = 2; }", "void f() { int a[3]; a[1] = 2; }"})
    EXPECT_EQ(rewritten(untouched), untouched);
  EXPECT_TRUE(has(rewritten("__device__ void f(int* a) { { int a[3]; a[1] = 2; } }"), "{ int a[3]; a[1] = 2; }"));
}

TEST(Variable, ThatIsConstantStays) {
  EXPECT_EQ(rewritten("__device__ const int n = 3;"), " const int n = 3;");
  EXPECT_EQ(rewritten("__device__ constexpr float c[2] = {1, 2};"), " constexpr float c[2] = {1, 2};");
}

TEST(Variable, FunctionsAndLambdasAreNone) {
  EXPECT_EQ(rewritten("__host__ __device__ inline int f(int a = 3) { return a; }"),
            "  inline int f(int a = 3) { return a; }");
  EXPECT_EQ(rewritten("struct s { __device__ int operator()(int a) const; __device__ s() : x(1) {} int x; };"),
            "struct s {  int operator()(int a) const;  s() : x(1) {} int x; };");
  EXPECT_EQ(rewritten("void f() { auto l = [=] __device__ (int i) { return i; }; }"),
            "void f() { auto l = [=]  (int i) { return i; }; }");
}

// Returns the translation of an asm statement in device code, without its frame.
std::string ptx(const std::string& statement) {
  const std::string s = rewritten("__device__ void f() { " + statement + "; }");
  const size_t begin = s.find("ptx; "), end = s.rfind(" } while (false)");
  return begin == std::string::npos || end == std::string::npos ? s : s.substr(begin + 5, end - begin - 5);
}

TEST(Ptx, OperandsAreBoundOnceAndRegistersComeFirst) {
  EXPECT_EQ(ptx(R"(asm volatile("{ .reg .b32 t<2>; mov.u32 t1, %%laneid; add.s32 %0, t1, %1; }" )"
                R"(: "=r"(x) : "r"(y + 1) : "memory"))"),
            "[[maybe_unused]] auto&& simt_o0 = (x); [[maybe_unused]] auto simt_o1 = (y + 1); "
            "uint32_t simt_r_t0{}; uint32_t simt_r_t1{}; "
            "{ ptx::put(simt_r_t1, ptx::move<uint32_t>(ptx::get<uint32_t>(::simt::emu::lane_index()))); } "
            "{ ptx::put(simt_o0, ptx::add<int32_t>(ptx::get<int32_t>(simt_r_t1), ptx::get<int32_t>(simt_o1))); }");
}

TEST(Ptx, LabelsPredicatesAndAddresses) {
  const std::string s = ptx(R"(asm volatile("{\n.reg .pred P;\nAGAIN:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 P, [%[bar] + 8], %1;\n"
      "nanosleep.u32 9;\n@!P bra AGAIN;\n}" :: [bar] "r"(a), "r"(b)))");
  EXPECT_TRUE(has(s, "bool simt_r_P{}; simt_l1_AGAIN:;")) << s;
  EXPECT_TRUE(has(s,
                  "ptx::barrier_at(ptx::own_place(simt_o0, (8ll))).try_wait(ptx::get<unsigned>(simt_o1) & 1u, "
                  "{false, false})"))
      << s;
  EXPECT_TRUE(has(s, "if (ptx::get<bool>(!ptx::get<bool>(simt_r_P))) { goto simt_l1_AGAIN; }")) << s;
}

TEST(Ptx, KeepsTheLinesAndWhatIsInTheOperands) {
  const std::string s = rewritten(
      "__device__ void f(int* p) {\nasm(\"mov.u32 %0, %1;\"\n: \"=r\"(p[0]) : \"r\"(threadIdx.x));\nuse();\n}");
  EXPECT_TRUE(has(s, "(p[::simt::import::index(p, (0))])")) << s;
  EXPECT_TRUE(has(s, "((::simt::emu::thread_index()).x)")) << s;
  EXPECT_TRUE(has(s, "\n# 3 \"a.cu\"\n;\nuse();")) << s;
}

TEST(Ptx, UnknownInstructionsFailWhereTheyRun) {
  const std::string s =
      ptx(R"(asm volatile("{ .reg .pred p; membar.gl; @p madc.hi.u32 %0, %1, 3, 4; }" : "=r"(x) : "r"(y)))");
  EXPECT_TRUE(has(s, "{ ::__threadfence(); }")) << s;
  EXPECT_TRUE(has(s,
                  "if (ptx::get<bool>(simt_r_p)) { "
                  "ptx::not_modelled(\"@p madc.hi.u32 %0, %1, 3, 4\"); }"))
      << s;
  EXPECT_EQ(refused("__global__ void f() { asm(\"cp.async.bulk.unheard_of [a], [b];\"); }"), "");
  EXPECT_EQ(rewritten("void host() { asm(\"nop\"); }"), "void host() { asm(\"nop\"); }");
}

TEST(Ptx, AConstraintMayBeOfSeveralLiterals) {
  EXPECT_TRUE(has(ptx(R"(asm("mov.u32 %0, %1;" : "=" "r"(x) : "r"(y)))"), "auto&& simt_o0 = (x);"));
}

// A loop of try_wait is a wait, which the schedule does not decide; so is an arrival whose state nobody reads.
TEST(Ptx, ALoopThatOnlyWaitsForAPhaseIsAWait) {
  const auto of = [](const std::string& loop) {
    return ptx("asm volatile(\"{ .reg .pred p; .reg .b64 s; .reg .b64 ss; " + loop +
               " }\" :: \"r\"(a), \"r\"(b) : \"memory\")");
  };
  const std::string tries = "W: mbarrier.try_wait.parity.shared::cta.b64  p, [%0], %1; ";
  for (const char* loop : {"@p bra D; bra W; D:", "@p bra.uni D; bra.uni W; D:", "@!p bra W;"}) {
    const std::string code = of(tries + loop);
    EXPECT_TRUE(has(code,
                    "ptx::wait(ptx::own_place(simt_o0, (0ll)), ptx::get<unsigned>(simt_o1) & 1u, {false, false}); "
                    "ptx::put(simt_r_p, true);"))
        << code;
    EXPECT_FALSE(has(code, "goto")) << code;
  }
  for (const char* other :
       {"@p bra W;", "@!p bra D; bra W; D:", "@p bra D; bra D; D:", "@p bra D; nanosleep.u32 8; bra W; D:"})
    EXPECT_TRUE(has(of(tries + other), ".try_wait(")) << other;
  EXPECT_TRUE(has(of("mbarrier.arrive.shared::cta.b64 s, [%0];"), "ptx::arrive(ptx::own_place("));
  EXPECT_TRUE(has(of("mbarrier.arrive.expect_tx.shared::cta.b64 s, [%0], %1;"), ".arrive(ptx::get<unsigned>(simt_o1)"));
  EXPECT_TRUE(has(of("mbarrier.arrive.shared::cta.b64 s, [%0]; mov.b64 ss, s;"), "ptx::arrive_for_state("));
}

TEST(Refused, ConstructsAreNamedAllAtOnce) {
  const imported_source s = rewrite_cuda("void f() {\n__shared__ int s = 3;\n}\ntexture<int> t;\n", "a.cu");
  ASSERT_EQ(s.errors.size(), 2u);
  EXPECT_TRUE(has(describe(s.errors[0]), "a.cu:2: __shared__ s with an initialiser"));
  EXPECT_TRUE(has(describe(s.errors[1]), "a.cu:4: texture"));
  EXPECT_EQ(refused("cuLaunchKernel;"), "");
  EXPECT_TRUE(has(refused("void f() { int x[3; }"), "balanced brackets"));
}

TEST(Refused, TexturesAreByTheirTypeNotByTheirName) {
  EXPECT_TRUE(has(refused("texture<float, 2> t;"), "a.cu:1: texture"));
  EXPECT_EQ(refused("void f(float* texture, int surface) { texture[surface] = 1; }"), "");
}

TEST(Refused, NotInSystemHeadersNorAsMembers) {
  EXPECT_EQ(refused("# 1 \"/usr/include/x.h\" 1 3\nvoid g() { asm(\"nop\"); }\n# 2 \"a.cu\" 2\nint x = a.texture;\n"),
            "");
}

TEST(Lines, ComeFromTheMarkers) {
  EXPECT_TRUE(has(refused("# 40 \"dir/b.cuh\" 1\n\n__shared__ int s = 1;\n"), "dir/b.cuh:41:"));
  const token_list t = tokenize_cuda("a\n# 7 \"b.cu\"\nb /* \n */ c 1'000 u8\"x\" .5e-3f", "a.cu");
  ASSERT_EQ(t.size(), 6u);
  EXPECT_EQ(t.tokens[0].line, 1);
  EXPECT_EQ(t.tokens[1].line, 7);
  EXPECT_EQ(t.tokens[2].line, 8);
  EXPECT_EQ(t.files[static_cast<size_t>(t.tokens[2].file)], "b.cu");
  EXPECT_EQ(t.text(3), "1'000");
  EXPECT_EQ(t.text(4), "u8\"x\"");
  EXPECT_EQ(t.text(5), ".5e-3f");
}

// Without elision, a class whose copies share what its destructor frees would free it twice.
TEST(Program, NeedsElisionIfCopiesOfAClassShareWhatItsDestructorFrees) {
  const auto needs = [](const std::string& members) {
    return rewrite_cuda("template <class T> struct s {\n  int f() { return g({1}); }\n" + members + "\n};\n", "a.cu")
        .needs_elision;
  };
  EXPECT_TRUE(needs("~s() { cudaFree(p); }"));
  EXPECT_TRUE(needs("s(int n);\n  virtual ~s() noexcept(false) override { cudaFree(p); }"));
  EXPECT_TRUE(needs("~s();\n  void f(const s& other);"));
  EXPECT_FALSE(needs(""));
  EXPECT_FALSE(needs("~s() {}"));
  EXPECT_FALSE(needs("virtual ~s() = default;"));
  for (const std::string copy :
       {"s(const s& o);", "s(s&& o) : p(o.p) { o.p = nullptr; }", "s(s const&) = delete;", "s(const s<T>& o);"})
    EXPECT_FALSE(needs(copy + " ~s() { cudaFree(p); }")) << copy;
}

// CUTLASS returns such a configuration, which points to the attributes beside it.
TEST(Program, NeedsElisionIfALaunchConfigurationHoldsItsAttributes) {
  const auto needs = [](const std::string& members) {
    return rewrite_cuda("struct launch { void f() {} " + members + " };\n", "a.cu").needs_elision;
  };
  EXPECT_TRUE(needs("cudaLaunchConfig_t config; cudaLaunchAttribute attributes[3];"));
  EXPECT_TRUE(needs("cudaLaunchAttribute attributes[3]; void g() { f(); } cudaLaunchConfig_t config;"));
  EXPECT_FALSE(needs("cudaLaunchConfig_t config;"));
  EXPECT_FALSE(needs("void g() { cudaLaunchConfig_t config; cudaLaunchAttribute attributes[3]; }"));
}

// The device learns how the conditions of branches and loops with a barrier evaluate.
TEST(Conditional, IsNotedIfItContainsABarrier) {
  const auto of = [](const std::string& body) {
    const std::string s = rewritten("__device__ void meet() { __syncthreads(); } __device__ void f(int n) { " + body);
    return s.substr(s.find(") { ", s.find(" f(")) + 4);
  };
  EXPECT_EQ(
      of("if (n) k(); else if (n ==\n2) meet(); }"),
      "if (::simt::emu::conditional simt_conditional_19(19, 0); simt_conditional_19.evaluates((n) ? true : false))"
      " k(); else if (::simt::emu::conditional simt_conditional_28(28, 0); simt_conditional_28.evaluates((n ==\n"
      "2) ? true : false)) meet(); }");
  EXPECT_EQ(
      of("if (n) return; else while (n) __syncthreads(); }"),
      "if (::simt::emu::conditional simt_conditional_19(19, 2); simt_conditional_19.evaluates((n) ? true : false))"
      " return; else for (::simt::emu::conditional simt_conditional_26(26); simt_conditional_26.begins();) while ("
      "simt_conditional_26.evaluates((n) ? true : false)) __syncthreads(); }");
  for (const std::string body :
       {"if (n) return; __syncthreads(); }", "if constexpr (n) meet(); }", "if (int k = n) meet(); }",
        "if (n = 1) meet(); }", "if (int k; n) meet(); }", "if (n) { l: meet(); } goto l; }",
        "switch (n) { case 0: if (n) { case 1: meet(); } } }", "do { meet(); } while (0); }", "for (;;) meet(); }",
        "for (int k : n) meet(); }", "if (n) tile.sync(); }", "if (n) asm(\"\"); }"})
    EXPECT_FALSE(has(of(body), "conditional")) << body;
  EXPECT_FALSE(has(rewritten("void f() { if (n) __syncthreads(); }"), "conditional"));
}

TEST(Program, MainAndKernelsAreFound) {
  const imported_source s = rewrite_cuda(k_kernels + "int main(int argc, char** argv) { return 0; }", "a.cu");
  EXPECT_TRUE(s.has_main);
  EXPECT_EQ(s.kernels, (std::vector<std::string>{"k", "t"}));
  for (const char* form : {"int main() try { return 0; } catch (...) { return 1; }", "auto main() -> int { return 0; }",
                           "int main() noexcept(true) { return 0; }"})
    EXPECT_TRUE(rewrite_cuda(form, "a.cu").has_main) << form;
  EXPECT_FALSE(rewrite_cuda("namespace n { struct s { int main(); }; } void f() { main(); }", "a.cu").has_main);
}

}  // namespace
}  // namespace warpcheck::cli
