#!/usr/bin/env python3
"""Puts kernels on trial by formulas: those of docs/formulas.md pass, and each fault planted in them is found.

The environment has WARPCHECK, the command, and WARPCHECK_SOURCE, the source tree.
"""
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

from kernels import SCALE_BACKWARD

WARPCHECK = os.environ["WARPCHECK"]
SOURCE = pathlib.Path(os.environ["WARPCHECK_SOURCE"])
PAGE = (SOURCE / "docs/formulas.md").read_text()
FORMULA, EXAMPLES = re.findall(r"```op\n(.*?)```", PAGE, re.DOTALL)
(KERNEL,) = re.findall(r"```cpp\n(.*?)```", PAGE, re.DOTALL)
(COMMAND,) = re.findall(r"^warpcheck (verify rms_norm.op --source .*)$", PAGE, re.MULTILINE)
(CASES,) = re.findall(r"--cases (\d+)", COMMAND)

# Faults of the page's kernel: text, its replacement, and the verdict that the output must show.
FAULTS = {
    "eps is left out": ("/ cols + eps)", "/ cols)", "violation"),
    "the mean is of one column more": ("partial[0] / cols", "partial[0] / (cols + 1)", "violation"),
    "squares are rounded to 11 bits": (
        "sum += row[i] * row[i];",
        "{ float v = row[i]; v = __uint_as_float(__float_as_uint(v) & 0xffffe000u); sum += v * v; }",
        "violation",
    ),
    "the weight of the last column is left out": ("row[i] * w[i] * scale", "row[i] * (i + 1 < cols ? w[i] : 1) * scale",
                                                  "violation"),
    "the row is that of the first block": ("x + (size_t)blockIdx.x * cols", "x + 0 * (size_t)blockIdx.x * cols",
                                           "violation"),
    "a barrier is missing": ("    __syncthreads();\n  }\n  const float scale", "  }\n  const float scale", "race"),
    "the last column is not written": ("for (int i = threadIdx.x; i < cols; i += 256) y",
                                       "for (int i = threadIdx.x; i < cols - 1; i += 256) y", "violation"),
}

EMBEDDING = """
#include <cuda_runtime.h>
__global__ void rows(const float* table, const int* ids, float* y, int d) {
  for (int j = threadIdx.x; j < d; j += 64) y[(size_t)blockIdx.x * d + j] = table[(size_t)ids[blockIdx.x] * d + j];
}
extern "C" void embedding(const float* table, const int* ids, float* y, int words, int n, int d,
                          cudaStream_t stream) {
  if (n > 0) rows<<<n, 64, 0, stream>>>(table, ids, y, d);
}
"""

RELU = """
__global__ void each(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] > 0 || isnan(x[i]) ? x[i] : 0.0f;
}
extern "C" void relu(const float* x, float* y, int n, cudaStream_t stream) {
  each<<<(n + 63) / 64, 64, 0, stream>>>(x, y, n);
}
"""

# A warp a row.
SOFTMAX = """
__device__ float larger(float a, float b) { return isnan(a) ? a : isnan(b) ? b : fmaxf(a, b); }
__global__ void rows_of(const float* x, float* y, int cols) {
  const float* r = x + (size_t)blockIdx.x * cols;
  float m = -INFINITY, s = 0;
  for (int i = threadIdx.x; i < cols; i += 32) m = larger(m, r[i]);
  for (int o = 16; o > 0; o /= 2) m = larger(m, __shfl_xor_sync(~0u, m, o));
  for (int i = threadIdx.x; i < cols; i += 32) s += expf(r[i] - m);
  for (int o = 16; o > 0; o /= 2) s += __shfl_xor_sync(~0u, s, o);
  for (int i = threadIdx.x; i < cols; i += 32) y[(size_t)blockIdx.x * cols + i] = expf(r[i] - m) / s;
}
extern "C" void softmax(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  rows_of<<<rows, 32, 0, stream>>>(x, y, cols);
}
"""

# Tiles of 8 by 8.
MATMUL = """
__global__ void tiles(const float* a, const float* b, float* c, int m, int n, int l) {
  __shared__ float s[8][8], t[8][8];
  const int i = blockIdx.y * 8 + threadIdx.y, j = blockIdx.x * 8 + threadIdx.x;
  float sum = 0;
  for (int p = 0; p < l; p += 8) {
    s[threadIdx.y][threadIdx.x] = i < m && p + threadIdx.x < l ? a[(size_t)i * l + p + threadIdx.x] : 0;
    t[threadIdx.y][threadIdx.x] = j < n && p + threadIdx.y < l ? b[(size_t)(p + threadIdx.y) * n + j] : 0;
    __syncthreads();
    const int width = l - p < 8 ? l - p : 8;
    for (int q = 0; q < width; ++q) {
      const float left = s[threadIdx.y][q], right = t[q][threadIdx.x];
      sum = fmaf(left, right, sum);
    }
    __syncthreads();
  }
  if (i < m && j < n) c[(size_t)i * n + j] = sum;
}
extern "C" void matmul(const float* a, const float* b, float* c, int m, int k, int n, cudaStream_t stream) {
  tiles<<<dim3((n + 7) / 8, (m + 7) / 8), dim3(8, 8), 0, stream>>>(a, b, c, m, n, k);
}
"""

# A thread a query.
ATTENTION = """
__global__ void queries(const float* q, const float* k, const float* v, float* o, int n, int d) {
  const int h = blockIdx.y, i = blockIdx.x * 32 + threadIdx.x;
  if (i >= n) return;
  const float *qi = q + ((size_t)h * n + i) * d, *kh = k + (size_t)h * n * d, *vh = v + (size_t)h * n * d;
  float *oi = o + ((size_t)h * n + i) * d, m = -INFINITY, l = 0;
  const int last = i;
  const auto score = [&](int j) {
    float s = 0;
    for (int e = 0; e < d; ++e) s += qi[e] * kh[(size_t)j * d + e];
    return s / sqrtf(d);
  };
  for (int j = 0; j <= last; ++j) m = isnan(score(j)) || isnan(m) ? NAN : fmaxf(m, score(j));
  for (int e = 0; e < d; ++e) oi[e] = 0;
  for (int j = 0; j <= last; ++j) {
    const float p = expf(score(j) - m);
    l += p;
    for (int e = 0; e < d; ++e) oi[e] += p * vh[(size_t)j * d + e];
  }
  for (int e = 0; e < d; ++e) oi[e] /= l;
}
extern "C" void causal_attention(const float* q, const float* k, const float* v, float* o, int heads, int n, int d,
                                 cudaStream_t stream) {
  queries<<<dim3((n + 31) / 32, heads), 32, 0, stream>>>(q, k, v, o, n, d);
}
"""

# A thread an element of the output; products with what lies beyond the input are left out.
CONVOLUTION = """
__global__ void each(const float* x, const float* f, float* y, int groups, int cin, int l, int cout, int kl, int out,
                     int total, int stride, int pad, int dilation) {
  const int i = blockIdx.x * 64 + threadIdx.x;
  if (i >= total) return;
  const int p = i % out, o = i / out % cout, g = i / out / cout % groups, b = i / out / cout / groups;
  float sum = 0;
  for (int c = 0; c < cin; ++c)
    for (int k = 0; k < kl; ++k) {
      const int at = p * stride + k * dilation - pad;
      if (at < 0 || at >= l) continue;
      sum += x[((size_t)(b * groups + g) * cin + c) * l + at] * f[((size_t)(g * cout + o) * cin + c) * kl + k];
    }
  y[i] = sum;
}
extern "C" void conv1d(const float* x, const float* f, float* y, int n, int groups, int cin, int l, int cout, int kl,
                       int stride, int pad, int dilation, cudaStream_t stream) {
  const int out = (l + 2 * pad - dilation * (kl - 1) - 1) / stride + 1, total = n * groups * cout * out;
  if (total > 0) each<<<(total + 63) / 64, 64, 0, stream>>>(x, f, y, groups, cin, l, cout, kl, out, total, stride, pad,
                                                            dilation);
}
"""
TRANSPOSED_CONVOLUTION = """
__global__ void each(const float* x, const float* f, float* y, int cin, int l, int cout, int kl, int out, int total,
                     int stride, int pad, int dilation) {
  const int i = blockIdx.x * 64 + threadIdx.x;
  if (i >= total) return;
  const int p = i % out, o = i / out % cout, b = i / out / cout;
  float sum = 0;
  for (int c = 0; c < cin; ++c)
    for (int k = 0; k < kl; ++k) {
      const int at = p + pad - k * dilation;
      if (at < 0 || at % stride != 0 || at / stride >= l) continue;
      sum += x[((size_t)b * cin + c) * l + at / stride] * f[((size_t)c * cout + o) * kl + k];
    }
  y[i] = sum;
}
extern "C" void conv_transpose1d(const float* x, const float* f, float* y, int n, int cin, int l, int cout, int kl,
                                 int stride, int pad, int dilation, cudaStream_t stream) {
  const int out = (l - 1) * stride - 2 * pad + dilation * (kl - 1) + 1, total = n * cout * out;
  if (total > 0) each<<<(total + 63) / 64, 64, 0, stream>>>(x, f, y, cin, l, cout, kl, out, total, stride, pad,
                                                            dilation);
}
"""

# A thread an element of the output, of factors of 8 bits.
MATMUL_8_BITS = """
__global__ void each(const {a}* a, const {b}* b, const float* scale_a, const float* scale_b, float* c, int n, int k) {{
  const int i = blockIdx.y, j = blockIdx.x * 32 + threadIdx.x;
  if (j >= n) return;
  {sum} sum = 0;
  for (int l = 0; l < k; ++l) {{
    const {a} left = a[(size_t)i * k + l];
    const {b} right = b[(size_t)l * n + j];
    sum += {sum}(left) * {sum}(right);
  }}
  c[(size_t)i * n + j] = sum * scale_a[i] * scale_b[j];
}}
extern "C" void {name}(const {a}* a, const {b}* b, const float* scale_a, const float* scale_b, float* c, int m, int k,
                       int n, cudaStream_t stream) {{
  if (m > 0 && n > 0) each<<<dim3((n + 31) / 32, m), 32, 0, stream>>>(a, b, scale_a, scale_b, c, n, k);
}}
"""
MATMUL_E4M3 = MATMUL_8_BITS.format(a="__nv_fp8_e4m3", b="__nv_fp8_e4m3", sum="float", name="matmul_e4m3")
MATMUL_I8 = MATMUL_8_BITS.format(a="int8_t", b="int8_t", sum="int", name="matmul_i8")
MATMUL_E5M2 = """
__global__ void each(const __nv_fp8_e5m2* g, const __nv_fp8_e4m3* w, float scale, float* d, int n, int k) {
  const int i = blockIdx.y, j = blockIdx.x * 32 + threadIdx.x;
  if (j >= n) return;
  float sum = 0;
  for (int l = 0; l < k; ++l) sum += float(g[(size_t)i * k + l]) * float(w[(size_t)l * n + j]);
  d[(size_t)i * n + j] = sum * scale;
}
extern "C" void matmul_e5m2_e4m3(const __nv_fp8_e5m2* g, const __nv_fp8_e4m3* w, float scale_g, float scale_w,
                                 float* d, int m, int k, int n, cudaStream_t stream) {
  if (m > 0 && n > 0) each<<<dim3((n + 31) / 32, m), 32, 0, stream>>>(g, w, scale_g * scale_w, d, n, k);
}
"""
# Elements by their addresses, without NumPy. Half of a normal number of e4m3 has an exponent that is less by 1.
HALVE = "operator halve(x: e4m3[n] in [0.03125, 448]) -> y: e4m3[n]\n  y[i] = x[i] / 2\n"
PYTHON_8_BITS = """
import ctypes

def memory(t, kind):
    return ctypes.cast(t.data, ctypes.POINTER(kind))

def dequantise_rows(q, scale, y):
    rows, cols = q.shape
    whole, s, out = memory(q, ctypes.c_int8), memory(scale, ctypes.c_float), memory(y, ctypes.c_float)
    for i in range(rows):
        for j in range(cols):
            out[i * y.strides[0] + j] = whole[i * q.strides[0] + j] * s[i]

def halve(x, y):
    a, b = memory(x, ctypes.c_uint8), memory(y, ctypes.c_uint8)
    assert x.view("u8").dtype == "u8"
    for i in range(x.shape[0]):
        bits = a[i]
        b[i] = bits - 8
"""
# A block a row; `limit` is the largest number of the type.
QUANTISE = """
__global__ void rows_of(const float* x, {type}* q, float* scale, int cols) {{
  const float* r = x + (size_t)blockIdx.x * cols;
  float most = 1e-12f;
  for (int i = 0; i < cols; ++i) most = isnan(r[i]) || isnan(most) ? NAN : fmaxf(most, fabsf(r[i]));
  const float s = most / {limit};
  if (threadIdx.x == 0) scale[blockIdx.x] = s;
  for (int i = threadIdx.x; i < cols; i += 32) {{
    const float v = r[i] / s;
    q[(size_t)blockIdx.x * cols + i] = {store};
  }}
}}
extern "C" void {name}(const float* x, {type}* q, float* scale, int rows, int cols, cudaStream_t stream) {{
  if (rows > 0) rows_of<<<rows, 32, 0, stream>>>(x, q, scale, cols);
}}
"""
QUANTISE_I8 = QUANTISE.format(type="int8_t", limit="127", name="quantise_rows",
                              store="(int8_t)fmaxf(fminf(rintf(v), 127.0f), -127.0f)")
QUANTISE_E4M3 = QUANTISE.format(type="__nv_fp8_e4m3", limit="448", name="quantise_e4m3_rows",
                                store="__nv_fp8_e4m3(isnan(v) ? v : fmaxf(fminf(v, 448.0f), -448.0f))")

ELEVEN_BITS = "__uint_as_float(__float_as_uint({}) & 0xffffe000u)"
# Kernels of the library's formulas, each with faults.
KERNELS = {
    "relu": (RELU, [("x[i] > 0 || isnan(x[i])", "x[i] > 0"), ("i < n", "i < n - 1")]),
    "softmax": (SOFTMAX, [("expf(r[i] - m)", "expf(r[i])"), ("/ s;", "* __half2float(__float2half(1 / s));")]),
    "matmul": (MATMUL, [("s[threadIdx.y][q], right = t[q][threadIdx.x]",
                         ELEVEN_BITS.format("s[threadIdx.y][q]") + ", right = t[q][threadIdx.x]"),
                        ("q < width", "q < 8 && p + q < l - 1")]),
    "conv1d": (CONVOLUTION, [("at >= l", "at >= l - 1")]),
    "conv_transpose1d": (TRANSPOSED_CONVOLUTION, [
        ("at < 0 || at % stride != 0", "at < stride || at % stride != 0"),
        # A term beyond the input is not left out.
        ("if (at < 0 || at % stride != 0 || at / stride >= l) continue;",
         "if (at % stride != 0) continue;\n      if (at < 0 || at / stride >= l) {\n        "
         "sum += 0 * f[((size_t)c * cout + o) * kl + k];\n        continue;\n      }")]),
    "causal_attention": (ATTENTION, [("last = i;", "last = i + 1 < n ? i + 1 : i;"), ("/ sqrtf(d)", "")]),
    "matmul_e4m3": (MATMUL_E4M3, [("sum += float(left)", "sum = (float)__half(sum) + float(left)"),
                                  ("l < k", "l < k - 1")]),
    "matmul_i8": (MATMUL_I8, [("int sum = 0", "short sum = 0"), ("int(left)", "int((uint8_t)left)")]),
    "matmul_e5m2_e4m3": (MATMUL_E5M2, [("float(w[", "float(((const __nv_fp8_e5m2*)w)["),
                                       ("scale_g * scale_w", "scale_g")]),
    "quantise_rows": (QUANTISE_I8, [("rintf(v)", "truncf(v)"), ("r[i] / s", "(float)__half(r[i]) / s")]),
    "quantise_e4m3_rows": (QUANTISE_E4M3, [("r[i] / s", "(float)__half(r[i] / s)"), ("448;", "240;")]),
}


class Trials(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "rms_norm.op").write_text(FORMULA)

    def run_command(self, *arguments):
        done = subprocess.run([WARPCHECK, *arguments], cwd=self.folder, capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr

    def verify(self, kernel):
        (self.folder / "rms_norm.cu").write_text(kernel)
        return self.run_command(*COMMAND.split(), "--shrink-seconds", "0.5")

    def test_the_kernel_of_the_page_passes(self):
        code, output = self.verify(KERNEL)
        self.assertEqual(code, 0, output)
        self.assertRegex(output, rf"within-error-bound +{CASES} .* pass")
        self.assertRegex(output, "(left out|not asked): rms_norm.op/large-offset")  # it has no leading dimensions

    def test_the_ten_examples_of_the_page_are_operators(self):
        (self.folder / "examples.op").write_text(EXAMPLES)
        code, output = self.run_command("verify", "examples.op", "--cases", "4", "--size", "quick", "--property",
                                        "within-error-bound", "--property", "every-element-used")
        self.assertEqual(code, 0, output)
        self.assertEqual(len(re.findall(r"\.op: control: one precision lower is rejected", output)), 10, output)

    def test_each_fault_is_found(self):
        for name, (old, new, verdict) in FAULTS.items():
            with self.subTest(name):
                self.assertEqual(KERNEL.count(old), 1)
                code, output = self.verify(KERNEL.replace(old, new))
                self.assertEqual(code, 1, output)
                self.assertIn(verdict, output)
                line = re.search(r"warpcheck replay '(.*)'", output)[1]
                self.assertRegex(line, r"formula=rms_norm\.op#[0-9a-f]+")
                self.assertEqual(self.run_command("replay", line)[0], 1)

    def test_explain_names_the_change_that_a_kernel_makes(self):
        (self.folder / "rms_norm.cu").write_text(KERNEL.replace("/ cols + eps)", "/ cols)"))
        inputs = "x=f32[3x40] fill=randn(1,0,0.001) | w=f32[40] fill=randn(2) | y=f32[3x40]"
        _, listed = self.run_command("explain", "rms_norm.op")
        identity = re.search(r"rms_norm\.op#[0-9a-f]+", listed)[0]
        line = (f"v1 rms_norm.op/within-error-bound {inputs} | candidate=source:rms_norm.cu:rms_norm device=emulated "
                f"formula={identity} schedule=fair")
        code, output = self.run_command("explain", line)
        self.assertEqual(code, 0, output)
        self.assertIn("with one change, term dropped: y = x[r, c] * w[c] / sqrt(mean_square[r]).", output)
        for part in ("the order of sums", "mean_square[r] + eps", "120 of 120 compared elements lie outside"):
            self.assertIn(part, output)
        # A kernel of a lower precision makes no change of the formula.
        (self.folder / "rms_norm.cu").write_text(KERNEL.replace(*FAULTS["squares are rounded to 11 bits"][:2]))
        code, output = self.run_command("explain", line.replace("randn(1,0,0.001)", "half_ulp(1,11)"))
        self.assertIn("No formula with one change gives these results", output)

    def test_a_backward_kernel_is_on_trial_by_the_gradient(self):
        (self.folder / "b.cu").write_text(SCALE_BACKWARD)
        (self.folder / "scale.op").write_text("operator scale(x[n], w[n]) -> y[n]\n  y[i] = x[i] * exp(w[i])\n")
        arguments = ["verify", "gradient:scale.op", "--source", "b.cu", "--entry", "scale_backward", "--device",
                     "emulated", "--cases", "10", "--shrink-seconds", "0.5"]
        code, output = self.run_command(*arguments)
        self.assertEqual(code, 0, output)
        (self.folder / "b.cu").write_text(SCALE_BACKWARD.replace("d_y[i] * x[i]", "x[i]"))
        code, output = self.run_command(*arguments)
        self.assertEqual(code, 1, output)
        line = re.search(r"warpcheck replay '(.*)'", output)[1]
        self.assertRegex(line, r"scale_gradient\.op/.* formula=gradient:scale\.op#[0-9a-f]+")
        self.assertEqual(self.run_command("replay", line)[0], 1)
        self.assertIn("with one change", self.run_command("explain", line)[1])

    def test_bench_measures_a_kernel_of_a_formula(self):
        (self.folder / "rms_norm.cu").write_text(KERNEL)
        arguments = ["bench", "rms_norm.op", "--source", "rms_norm.cu", "--entry", "rms_norm", "--device", "emulated",
                     "--cases", "2", "--row", "rows=8,cols=64"]
        code, output = self.run_command(*arguments)
        self.assertEqual(code, 0, output)
        self.assertRegex(output, r"rms_norm\.op/f32/8x64: 2304 in, 2048 out")
        self.assertIn("rms_norm.op/f32/8x64: verified with 2 cases of each property", output)
        _, output = self.run_command(*arguments[:-2], "--unverified", "--benchmark_list_tests")
        self.assertIn("rms_norm.op/f32/64x64", output)
        (self.folder / "rms_norm.cu").write_text(KERNEL.replace("i < cols; i += 256) y", "i < cols - 1; i += 256) y"))
        code, output = self.run_command(*arguments, "--unverified")
        self.assertEqual(code, 1, output)
        (self.folder / "e.cu").write_text(EMBEDDING)
        code, output = self.run_command("bench", "embedding.op", "--source", "e.cu", "--entry", "embedding", "--device",
                                        "emulated", "--unverified", "--row", "words=50,n=20,d=30")
        self.assertEqual(code, 0, output)
        code, output = self.run_command("bench", "rows.op", "--device", "emulated")
        self.assertEqual(code, 2, output)

    def test_a_line_of_another_formula_is_refused(self):
        _, output = self.verify(KERNEL.replace("/ cols + eps)", "/ cols)"))
        line = re.search(r"warpcheck replay '(.*)'", output)[1]
        (self.folder / "rms_norm.op").write_text(FORMULA.replace("1e-6", "1e-5"))
        code, output = self.run_command("replay", line)
        self.assertEqual(code, 2, output)

    def test_the_interpreter_passes(self):
        for name in ("rms_norm.op", "softmax.op", "causal_attention.op", "cumsum.op", "embedding.op", "max_pool1d.op"):
            code, output = self.run_command("verify", name, "--cases", "4", "--size", "quick")
            self.assertEqual(code, 0, output)
            self.assertNotRegex(output, r"\b0 elements compared")

    def test_an_output_like_a_vector_may_lie_in_it(self):
        for name in ("relu.op", "rms_norm_backward.op"):
            code, output = self.run_command("verify", name, "--cases", "4", "--size", "quick")
            self.assertEqual(code, 0, output)
            self.assertRegex(output, r"rejects-invalid-calls +1 .* pass")

    def test_slices_without_an_input_that_may_hold_nan_are_not_asked_for(self):
        for name in ("acceptance.op", "dequantise_rows.op"):
            code, output = self.run_command("verify", name, "--cases", "4", "--size", "quick")
            self.assertEqual(code, 0, output)
            self.assertNotIn("slice-isolation", output)

    def test_windows_fit_their_images(self):
        for name in ("conv2d.op", "conv_transpose3d.op"):
            code, output = self.run_command("verify", name, "--cases", "60", "--property", "slice-isolation")
            self.assertEqual(code, 0, output)
            largest = max(int(n) for n in re.findall(r"(\d+) elements compared", output))
            self.assertLess(largest, 10**6, output)

    def test_exact_runs_of_polynomials(self):
        def exact(formula, kernel):
            (self.folder / "k.cu").write_text(kernel)
            return self.run_command("verify", formula, "--source", "k.cu", "--entry", formula.removesuffix(".op"),
                                    "--device", "emulated", "--property", "polynomial-identity", "--cases", "20")

        code, said = exact("conv1d.op", CONVOLUTION)
        self.assertEqual(code, 0, said)
        self.assertRegex(said, r"exact runs of conv1d.op: a wrong polynomial passes .* at most \d\.\de-1\d")
        # A coefficient that is wrong by one rounding, which the bound admits.
        code, said = exact("conv1d.op", CONVOLUTION.replace("y[i] = sum;", "y[i] = sum * 1.0000001f;"))
        self.assertEqual(code, 1, said)
        self.assertIn("and the sum of whole numbers is", said)
        # A polynomial of the same degree: one product of the last element takes another factor.
        one = "cin + c) * kl + (i == total - 1 && c == cin - 1 && k == kl - 1 ? 0 : k)]"
        code, said = exact("conv1d.op", CONVOLUTION.replace("cin + c) * kl + k]", one))
        self.assertEqual(code, 1, said)
        self.assertIn("and the sum of whole numbers is", said)
        (self.folder / "total.op").write_text("operator total(x[n]) -> y\n  arithmetic f32: sums of depth 64\n"
                                              "  y = sum(i) x[i]\n")
        for formula, why in {"rms_norm.op": "no polynomials with whole coefficients in f32 are the outputs",
                             "total.op": "the contract may admit rounding where f32 needs none"}.items():
            self.assertIn(why, self.run_command("explain", formula)[1])

    def test_a_gather_of_the_library(self):
        (self.folder / "e.cu").write_text(EMBEDDING)
        arguments = ["verify", "embedding.op", "--source", "e.cu", "--entry", "embedding", "--device", "emulated",
                     "--cases", "10", "--shrink-seconds", "0.5"]
        code, output = self.run_command(*arguments)
        self.assertEqual(code, 0, output)
        (self.folder / "e.cu").write_text(EMBEDDING.replace("ids[blockIdx.x] * d", "(ids[blockIdx.x] ^ 1) * d"))
        self.assertEqual(self.run_command(*arguments)[0], 1)

    def test_kernels_of_library_formulas(self):
        for name, (kernel, faults) in KERNELS.items():
            arguments = ["verify", f"{name}.op", "--source", f"{name}.cu", "--entry", name, "--device", "emulated",
                         "--cases", "30", "--shrink-seconds", "0.5"]
            headers = "#include <cstdint>\n#include <cuda_fp16.h>\n#include <cuda_fp8.h>\n"
            (self.folder / f"{name}.cu").write_text(headers + kernel)
            with self.subTest(name):
                code, output = self.run_command(*arguments)
                self.assertEqual(code, 0, output)
                self.assertNotIn("not always rejected", output)
            for old, new in faults:
                self.assertIn(old, kernel)
                (self.folder / f"{name}.cu").write_text(headers + kernel.replace(old, new))
                with self.subTest(name, fault=new):
                    code, output = self.run_command(*arguments, "--fail-fast")
                    self.assertEqual(code, 1, output)
                    self.assertRegex(output, "violation|input_modified|nondeterministic")

    def test_a_library_is_a_candidate_for_a_formula(self):
        source = (SOURCE / "docs/bring_your_own/log_softmax.cpp").read_text()
        self.assertEqual(source.count('"log_softmax"'), 1)
        source = source.replace('"log_softmax"', '"log_softmax.op"')
        for term, code in (("std::log1p(rest)", 0), ("std::log1p(rest) + 1e-5", 1)):
            (self.folder / "mine.cpp").write_text(source.replace("std::log1p(rest)", term))
            subprocess.run(["c++", "-std=c++17", "-O2", "-ffp-contract=off", "-shared", "-fPIC", f"-I{SOURCE}",
                            f"-I{SOURCE / 'docs/bring_your_own'}", "mine.cpp", "-o", "libmine.so"],
                           cwd=self.folder, check=True)
            found, output = self.run_command("verify", "log_softmax.op", "--candidate", "./libmine.so", "--device",
                                             "cpu", "--cases", "10", "--shrink-seconds", "0.5")
            self.assertEqual(found, code, output)

    def test_a_python_function_gets_elements_of_8_bits(self):
        for name, wrong in (("dequantise_rows", ("c_int8", "c_uint8")),
                            ("halve", ("bits - 8", "bits - 7"))):
            (self.folder / f"{name}.py").write_text(PYTHON_8_BITS)
            (self.folder / "halve.op").write_text(HALVE)
            arguments = ["verify", f"{name}.op", "--python", f"{name}.py:{name}", "--cases", "10", "--property",
                         "within-error-bound", "--shrink-seconds", "0.5"]
            code, output = self.run_command(*arguments)
            self.assertEqual(code, 0, output)
            self.assertIn(wrong[0], PYTHON_8_BITS)
            (self.folder / f"{name}.py").write_text(PYTHON_8_BITS.replace(*wrong))
            self.assertEqual(self.run_command(*arguments)[0], 1)


if __name__ == "__main__":
    unittest.main()
