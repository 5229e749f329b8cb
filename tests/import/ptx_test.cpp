// `warpcheck run-emulated FILE.ptx`: kernels of whole PTX modules, as nvcc writes them and by hand.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <regex>
#include <string>
#include <vector>

#include "tests/import/program.hpp"
#include "tests/scratch_folder.hpp"

namespace {

using warpcheck::self::environment;
using result = warpcheck::self::command_result;
namespace fs = std::filesystem;

// An array in NumPy's format 1.0.
template <class T>
std::string npy(const std::string& type, const std::string& shape, const std::vector<T>& values) {
  std::string header = "{'descr': '" + type + "', 'fortran_order': False, 'shape': (" + shape + "), }";
  while ((10 + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  std::string text("\x93NUMPY\x01\x00", 8);
  text += static_cast<char>(header.size() & 255);
  text += static_cast<char>(header.size() >> 8);
  return text + header + std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

std::string text_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

class Ptx : public testing::Test {
 protected:
  void SetUp() override {
    folder().write("kernels.ptx", text_of(environment("WARPCHECK_TEST_PROGRAMS") + "/ptx/kernels.ptx"));
  }
  result run(const std::string& arguments) const { return warpcheck::self::run_program(arguments, folder().path()); }
  // The module without its barriers of blocks.
  void drop_barriers() const {
    folder().write("racy.ptx",
                   std::regex_replace(text_of(folder().path("kernels.ptx")), std::regex("bar\\.sync[^\n]*"), ""));
  }
  void write_floats(const char* name, const std::string& shape, const std::vector<float>& values) const {
    folder().write(name, npy("<f4", shape, values));
  }

  // One for all tests: a module is compiled once for each folder that it lies in.
  static const warpcheck::self::scratch_folder& folder() {
    static const warpcheck::self::scratch_folder one;
    return one;
  }
};

class Sums : public Ptx {
 protected:
  void SetUp() override {
    Ptx::SetUp();
    std::vector<float> x(3 * 128), sums(3, 0), total(1, 0);
    for (int i = 0; i < 3 * 128; ++i) {
      x[i] = static_cast<float>(i * 37 % 101);  // sums of small integers are exact in any order
      sums[i / 128] += x[i];
      total[0] += x[i];
    }
    write_floats("x.npy", "3, 128", x);
    write_floats("zero.npy", "1,", {0});
    write_floats("sums.npy", "3,", sums);
    write_floats("total.npy", "1,", total);
  }
  const std::string launch_ =
      " --array x=x.npy --array 's=f32[3]' --array t=zero.npy --launch 'sum_rows<<<3, 128>>>(x, s, t)'";
};

TEST_F(Sums, OfRowsByShufflesSharedMemoryAndAtomicsAreRight) {
  const result r = run("kernels.ptx" + launch_ + " --expect s=sums.npy --expect t=total.npy");
  EXPECT_TRUE(ended(r, 0, {"kernels.ptx: clean under 12 schedules"}));
}

TEST_F(Sums, AreWritten) {
  EXPECT_TRUE(ended(run("kernels.ptx" + launch_ + " --schedule fair --write t=out.npy"), 0));
  EXPECT_EQ(text_of(folder().path("out.npy")).substr(128), text_of(folder().path("total.npy")).substr(128));
}

TEST_F(Sums, WithoutTheBarrierAreARaceByLineAndSource) {
  drop_barriers();
  const result r = run("racy.ptx" + launch_ + " --schedule fair");
  EXPECT_EQ(r.status, 1) << r.output;
  EXPECT_TRUE(std::regex_search(
      r.output,
      std::regex(R"(race: .*write by block \(0,0,0\) thread (32|64|96) at racy\.ptx:\d+ \(kernels\.cu:14\))")))
      << r.output;
  EXPECT_TRUE(std::regex_search(r.output, std::regex(R"(read by .* at racy\.ptx:\d+ \(kernels\.cu:17\))"))) << r.output;
}

TEST_F(Sums, OtherThanExpectedAreAViolation) {
  const result r = run("kernels.ptx" + launch_ + " --schedule fair --expect s=s0.npy --expect t=zero.npy");
  EXPECT_TRUE(ended(r, 2, {"s0.npy"}));
  EXPECT_TRUE(
      ended(run("kernels.ptx" + launch_ + " --schedule fair --expect t=zero.npy"), 1,
            {"violation: array 't' differs from 'zero.npy' in 1 of 1 elements; element 0 is ", "expected 0 (0x0)"}));
}

TEST_F(Sums, BeyondAnArrayAreOutOfBounds) {
  const result r =
      run("kernels.ptx --array x=x.npy --array 's=f32[2]' --array t=zero.npy"
          " --launch 'sum_rows<<<3, 128>>>(x, s, t)' --schedule fair");
  EXPECT_TRUE(ended(r, 1,
                    {"out_of_bounds: write of 4 bytes by block (2,0,0) thread 0 at kernels.ptx:",
                     "at byte 8 of a buffer of 8 bytes"}));
}

TEST_F(Ptx, TransposesThroughDynamicSharedMemory) {
  std::vector<float> in(40 * 72), out(40 * 72);
  for (int r = 0; r < 40; ++r)
    for (int c = 0; c < 72; ++c) in[r * 72 + c] = out[c * 40 + r] = static_cast<float>(r * 100 + c);
  write_floats("in.npy", "40, 72", in);
  write_floats("out.npy", "72, 40", out);
  const std::string launch =
      " --array in=in.npy --array 'out=f32[72,40]'"
      " --launch 'transpose<<<3x2, 32x8, 4224>>>(in, out, 40, 72)' --expect out=out.npy";
  EXPECT_TRUE(ended(run("kernels.ptx" + launch + " --seeds 1"), 0, {"every schedule: proven for this input"}));
  drop_barriers();
  EXPECT_TRUE(ended(run("racy.ptx" + launch + " --schedule fair"), 1, {"race: ", "(kernels.cu:28)"}));
  EXPECT_TRUE(ended(run("kernels.ptx --array in=in.npy --array 'out=f32[72,40]'"
                        " --launch 'transpose<<<3x2, 32x8, 4096>>>(in, out, 40, 72)' --schedule fair"),
                    1, {"out_of_bounds: "}));
}

TEST_F(Ptx, MultipliesByMma) {
  std::vector<uint16_t> a(16 * 16), b(8 * 16);
  std::vector<float> d(16 * 8);
  const auto half = [](int n) {  // of 0 to 3
    constexpr uint16_t bits[] = {0, 0x3c00, 0x4000, 0x4200};
    return bits[n];
  };
  for (int i = 0; i < 16; ++i)
    for (int k = 0; k < 16; ++k) a[i * 16 + k] = half((i * 3 + k) % 4);
  for (int j = 0; j < 8; ++j)
    for (int k = 0; k < 16; ++k) b[j * 16 + k] = half((j + 2 * k * k) % 4);
  for (int i = 0; i < 16; ++i)
    for (int j = 0; j < 8; ++j)
      for (int k = 0; k < 16; ++k) d[i * 8 + j] += static_cast<float>((i * 3 + k) % 4 * ((j + 2 * k * k) % 4));
  folder().write("a.npy", npy("<f2", "16, 16", a));
  folder().write("b.npy", npy("<f2", "8, 16", b));
  write_floats("d.npy", "16, 8", d);
  const result r =
      run("kernels.ptx --array a=a.npy --array b=b.npy --array 'd=f32[16,8]'"
          " --launch 'product<<<1, 32>>>(a, b, d)' --expect d=d.npy --seeds 1");
  EXPECT_TRUE(ended(r, 0, {"kernels.ptx: clean under 6 schedules"}));
}

// A struct by value, a function's call, a constant array, a local array, printf.
TEST_F(Ptx, PassesStructsAndCallsFunctions) {
  std::string c(32, '\0');
  const int which = 2;
  const double scale = 0.5;
  const float offsets[] = {1, 2, 3};
  std::memcpy(c.data(), &which, 4);
  std::memcpy(c.data() + 8, &scale, 8);
  std::memcpy(c.data() + 16, offsets, 12);
  folder().write("c.npy", npy("|u1", "32,", std::vector<char>(c.begin(), c.end())));
  std::vector<float> out(32);
  for (int t = 0; t < 32; ++t) {
    const int k = (t + which) & 7;
    out[t] = offsets[k % 3] * static_cast<float>(k) * static_cast<float>(1 << (t & 3)) * 0.5f;
  }
  write_floats("out.npy", "32,", out);
  const result r =
      run("kernels.ptx --array c=c.npy --array 'o=f32[32]' --launch 'choose<<<1, 32>>>(c, o)'"
          " --expect o=out.npy --seeds 1");
  EXPECT_TRUE(ended(r, 0, {"choice 2 of six: 16.000, 100%\n"}));
}

const std::string k_head = ".version 8.0\n.target sm_90a\n.address_size 64\n";

// Registers and labels of equal names in scopes side by side, a jump table, a variable with values, a function with a
// result, two launches in their order.
TEST_F(Ptx, ByHandHasScopesTablesAndFunctions) {
  folder().write("hand.ptx", k_head + R"(
.global .align 4 .u32 steps[3] = {10, 0x14, 30};
.func (.param .b32 result) twice(.param .b32 n)
{
  .reg .b32 r;
  ld.param.u32 r, [n];
  add.u32 r, r, r;
  st.param.b32 [result], r;
  ret;
}
.visible .entry fill(.param .u64 to)
{
  .reg .b64 %p, %at;
  .reg .b32 %r<4>;
  ld.param.u64 %p, [to];
  mov.u32 %r0, %tid.x;
  { .reg .pred q; setp.eq.u32 q, %r0, 9; @q bra DONE; mov.u32 %r1, 100; DONE: }
  { .reg .pred q; .reg .b32 t; setp.ne.u32 q, %r0, 1; mov.u32 t, 1; @q bra DONE; add.u32 %r1, %r1, t; DONE: }
  brx.idx %r0, TABLE;
  TABLE: .branchtargets A, B, C;
A: mov.u32 %r2, 7; bra.uni END;
B: ld.global.u32 %r2, [steps+4]; bra.uni END;
C: mov.u64 %at, steps; ld.global.u32 %r2, [%at+8];
END:
  add.u32 %r2, %r2, %r1;
  {
    .param .b32 argument;
    .param .b32 value;
    st.param.b32 [argument], %r2;
    call.uni (value), twice, (argument);
    ld.param.b32 %r3, [value];
  }
  mad.wide.u32 %at, %r0, 4, %p;
  st.global.u32 [%at], %r3;
  ret;
}
.visible .entry next(.param .u64 to, .param .s32 by)
{
  .reg .b64 %p;
  .reg .b32 %r<4>;
  ld.param.u64 %p, [to];
  ld.param.s32 %r0, [by];
  mov.u32 %r1, %tid.x;
  mad.wide.u32 %p, %r1, 4, %p;
  ld.global.s32 %r2, [%p];
  add.s32 %r2, %r2, %r0;
  st.global.s32 [%p], %r2;
  exit;
}
)");
  folder().write("expected.npy", npy<int>("<i4", "3,", {2 * 107 - 5, 2 * 121 - 5, 2 * 130 - 5}));
  const result r =
      run("hand.ptx --array 'o=i32[3]' --launch 'fill<<<1, 3>>>(o)' --launch 'next<<<1, 3>>>(o, -5)'"
          " --expect o=expected.npy --seeds 1");
  EXPECT_TRUE(ended(r, 0, {"every schedule: proven for this input"}));
}

TEST_F(Ptx, MultipliesByWmma) {
  folder().write("wmma.ptx", k_head + R"(
.visible .entry product(.param .u64 a, .param .u64 b, .param .u64 d)
{
  .reg .b64 %p<3>;
  .reg .b32 %r<14>;
  ld.param.u64 %p0, [a];
  ld.param.u64 %p1, [b];
  ld.param.u64 %p2, [d];
  mov.u32 %r0, 16;
  mov.u32 %r1, 0;
  wmma.load.a.sync.aligned.row.m16n16k16.global.s8 {%r2, %r3}, [%p0], %r0;
  wmma.load.b.sync.aligned.col.m16n16k16.s8 {%r4, %r5}, [%p1];
  wmma.mma.sync.aligned.row.col.m16n16k16.s32.s8.s8.s32 {%r6, %r7, %r8, %r9, %r10, %r11, %r12, %r13}, {%r2, %r3},
      {%r4, %r5}, {%r1, %r1, %r1, %r1, %r1, %r1, %r1, %r1};
  wmma.store.d.sync.aligned.row.m16n16k16.s32 [%p2], {%r6, %r7, %r8, %r9, %r10, %r11, %r12, %r13}, %r0;
  ret;
}
)");
  std::vector<char> a(16 * 16), b(16 * 16);
  std::vector<int> d(16 * 16);
  for (int i = 0; i < 16 * 16; ++i) a[i] = static_cast<char>(7 * i % 19 - 9), b[i] = static_cast<char>(5 * i % 23 - 11);
  for (int i = 0; i < 16 * 16; ++i)
    for (int k = 0; k < 16; ++k) d[i] += a[i / 16 * 16 + k] * b[i % 16 * 16 + k];
  folder().write("bytes_a.npy", npy("|i1", "16, 16", a));
  folder().write("bytes_b.npy", npy("|i1", "16, 16", b));
  folder().write("sums.npy", npy("<i4", "16, 16", d));
  const result r =
      run("wmma.ptx --array a=bytes_a.npy --array b=bytes_b.npy --array 'd=i32[16,16]'"
          " --launch 'product<<<1, 32>>>(a, b, d)' --expect d=sums.npy --seeds 1");
  EXPECT_TRUE(ended(r, 0, {"wmma.ptx: clean under 6 schedules"}));
}

TEST_F(Ptx, AnUnknownInstructionFailsWhereItRuns) {
  folder().write("unknown.ptx", k_head + R"(
.visible .entry k(.param .u32 runs)
{
  .reg .b32 %r<2>;
  .reg .pred p;
  ld.param.u32 %r0, [runs];
  setp.eq.u32 p, %r0, 0;
  @p bra END;
  frobnicate.b32 %r1, %r0;
END:
  ret;
}
)");
  EXPECT_TRUE(ended(run("unknown.ptx --launch 'k<<<1, 1>>>(0)' --schedule fair"), 0));
  const result r = run("unknown.ptx --launch 'k<<<1, 1>>>(1)' --schedule fair");
  EXPECT_TRUE(ended(r, 2, {"unsupported: unknown.ptx:12: the PTX 'frobnicate.b32 %r1, %r0' is not modelled"}));
}

struct refusal {
  const char* arguments;
  const char* says;
};

TEST_F(Sums, AreRefusedWithTheArgumentsName) {
  const refusal refusals[] = {
      {"kernels.ptx", "launch: none is given; kernels.ptx runs with --launch"},
      {"kernels.ptx --launch 'sum<<<1, 128>>>(1)'",
       "launch: kernels.ptx has no kernel 'sum'; it has sum_rows, transpose, product, choose"},
      {"kernels.ptx --launch 'sum_rows<<<1, 128>>>(0, 0)'",
       "launch: kernel 'sum_rows' has 3 parameters, but 2 arguments are given"},
      {"kernels.ptx --launch 'sum_rows<<<1>>>(0, 0, 0)'", "launch: the shape of 'sum_rows<<<1>>>(0, 0, 0)'"},
      {"kernels.ptx --launch 'sum_rows(0)'",
       "launch: 'sum_rows(0)' is not of the form KERNEL<<<GRID, BLOCK, SHARED>>>"},
      {"kernels.ptx --array x=x.npy --launch 'transpose<<<1, 1>>>(x, x, 1.5, 2)'",
       "launch: argument '1.5' of kernel 'transpose' is no --array and no number for .u32 transpose_param_2"},
      {"kernels.ptx --array x=x.npy --launch 'transpose<<<1, 1>>>(x, x, x, 2)'",
       "launch: array 'x' does not fit parameter transpose_param_2 of kernel 'transpose', which has 4 bytes"},
      {"kernels.ptx --array x --launch 'k<<<1, 1>>>()'", "array: 'x' is not of the form NAME=FILE.npy"},
      {"kernels.ptx --array x=none.npy --launch 'k<<<1, 1>>>()'", "none.npy"},
      {"kernels.ptx --launch 'sum_rows<<<1, 1>>>(0, 0, 0)' --expect t=x.npy", "expect: 't' is no array of --array"},
      {"kernels.ptx --launch 'sum_rows<<<1, 1>>>(0, 0, 0)' -- 5", "arguments: a PTX module has no main()"},
      {"kernels.cu --launch 'sum_rows<<<1, 1>>>(0, 0, 0)'", "launch: 'kernels.cu' is no .ptx file"}};
  folder().write("kernels.cu", "int main() {}");
  for (const refusal& one : refusals) {
    EXPECT_TRUE(ended(run(one.arguments), 2, {one.says})) << one.arguments;
  }
}

TEST_F(Ptx, GarbageIsNamedByItsLine) {
  const refusal texts[] = {
      {"", "garbage.ptx:1: the module has no .version"},
      {"hello\n", "garbage.ptx:1: 'hello' comes before .version"},
      {".version 8.0\n.target sm_90\n.entri k() { ret; }\n", "garbage.ptx:3: '.entri' is no directive of a module"},
      {".version 8.0\n.address_size 32\n", "garbage.ptx:2: .address_size is '32', must be 64"},
      {".version 8.0\n\n.visible .entry k(.param .u32 n)\n{\n ret;\n",
       "garbage.ptx:4: the '{' of the function is not closed"},
      {".version 8.0\n.entry k(.reg .u32 n) { ret; }", "garbage.ptx:2: a parameter '.reg .u32 n' is not .param"},
      {".version 8.0\n.global .align 3 .u32 n;", "garbage.ptx:2: the variable is not .SPACE"},
      {".version 8.0\n.global .u32 n[];", "garbage.ptx:2: 'n' has no size"},
      {".version 8.0\n/* a\nb */ .file x\n", "garbage.ptx:3: .file is not a number and a name"},
      {".version 8.0\n.entry k() ret; {}", "garbage.ptx:2: 'ret;' follows the head of function 'k'"},
      {".version 8.0\n.global .u64 p = q;\n.entry k() { ret; }",
       "garbage.ptx:2: the variable 'p' begins as 'q', which is not modelled"}};
  for (const refusal& one : texts) {
    folder().write("garbage.ptx", one.arguments);
    EXPECT_TRUE(ended(run("garbage.ptx --launch 'k<<<1, 1>>>()'"), 2, {one.says})) << one.arguments;
  }
}

// Block sizes that the module demands.
TEST_F(Ptx, DemandsItsBlock) {
  folder().write("block.ptx", k_head + ".entry k()\n.reqntid 64\n{ ret; }\n.entry l()\n.maxntid 32, 2\n{ ret; }\n");
  const result r = run("block.ptx --launch 'k<<<1, 32>>>()'");
  EXPECT_TRUE(ended(r, 2, {"launch: the block of 'k' is 32x1x1, must be 64x1x1 (.reqntid)"}));
  EXPECT_TRUE(says(run("block.ptx --launch 'l<<<1, 128>>>()'"),
                   {"launch: the block of 'l' has 128 threads, at most 64 are allowed (.maxntid)"}));
  EXPECT_TRUE(ended(run("block.ptx --launch 'k<<<1, 64>>>()' --launch 'l<<<2, 16x4>>>()' --schedule fair"), 0));
}

}  // namespace
