"""CUDA sources inside Python files, as KernelBench and GPU MODE have them: --kernelbench and --gpumode on the emulated
device. The files raise an error where they are run: the command only reads them."""

import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
SOURCE = pathlib.Path(__file__).resolve().parents[2] / "command/candidates/inline_source.py"
spec = importlib.util.spec_from_file_location("inline_source", SOURCE)
inline_source = importlib.util.module_from_spec(spec)
spec.loader.exec_module(inline_source)

KERNEL = r"""
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>

constexpr int threads = 128;

__global__ void rows(const float* x, float* y, int cols) {
  __shared__ float part[threads];
  const float* row = x + (size_t)blockIdx.x * cols;
  float most = -INFINITY;
  for (int i = threadIdx.x; i < cols; i += threads) most = fmaxf(most, row[i]);
  part[threadIdx.x] = most;
  __syncthreads();
  for (int w = threads / 2; w > 0; w /= 2) {
    if (threadIdx.x < w) part[threadIdx.x] = fmaxf(part[threadIdx.x], part[threadIdx.x + w]);
    __syncthreads();
  }
  most = part[0];
  __syncthreads();
  float sum = 0.0f;
  for (int i = threadIdx.x; i < cols; i += threads) sum += expf(row[i] - most);
  part[threadIdx.x] = sum;
  __syncthreads();
  for (int w = threads / 2; w > 0; w /= 2) {
    if (threadIdx.x < w) part[threadIdx.x] += part[threadIdx.x + w];
    __syncthreads();
  }
  for (int i = threadIdx.x; i < cols; i += threads) y[blockIdx.x * (size_t)cols + i] = expf(row[i] - most) / part[0];
}
"""
RETURNS = KERNEL + r"""
torch::Tensor softmax_cuda(torch::Tensor x) {
  TORCH_CHECK(x.is_cuda() && x.dim() == 2, "x must be a matrix on the GPU, has sizes ", x.sizes());
  auto y = torch::empty_like(x);
  auto stream = at::cuda::getCurrentCUDAStream();
  rows<<<x.size(0), threads, 0, stream>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return y;
}
"""
WRITES = KERNEL + r"""
void softmax_into(torch::Tensor x, torch::Tensor y, int64_t n, int cols) {
  rows<<<n, threads>>>(x.data_ptr<float>(), y.data_ptr<float>(), cols);
}
"""
KERNELBENCH = '''raise RuntimeError("the file is run")
import torch
from torch.utils.cpp_extension import load_inline

source = """{source}"""
softmax = load_inline(
    name="softmax",
    cpp_sources="torch::Tensor softmax_cuda(torch::Tensor x);",
    cuda_sources=source,
    functions=["softmax_cuda"],
)


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.softmax = softmax

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Softmax of each row."""
        x = x.contiguous()
        {body}


def get_inputs():
    return [torch.rand(16, 1024)]
'''
GPUMODE = '''raise RuntimeError("the file is run")
import torch
from task import input_t, output_t

module = torch.utils.cpp_extension.load_inline(
    name="softmax", cpp_sources=["void softmax_into(torch::Tensor, torch::Tensor, int64_t, int);"],
    cuda_sources=[r"""{source}"""], functions=["softmax_into"])


def custom_kernel(data: input_t) -> output_t:
    x, y = data
    n, cols = x.shape
    module.softmax_into(x, y, n, cols)
    return y
'''
HELPER = """SIZE = 4 * 2

def softmax(a, b, n):
    if not a.is_cuda:
        raise ValueError("no")
    if n == 0:
        return 0
    cols = a.size(1)
    module.softmax_into(a, b, n, cols)
    return b


"""
CALL = "return self.softmax.softmax_cuda(x)"


def kernelbench(body=CALL, source=RETURNS):
    return KERNELBENCH.format(source=source, body=body)


class Inline(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, text):
        path = self.folder / "kernel.py"
        path.write_text(text)
        return path

    def command(self, *arguments):
        r = subprocess.run([os.environ["WARPCHECK"], *arguments], capture_output=True, text=True)
        return r.returncode, r.stdout + r.stderr

    def verify(self, option, text, *others):
        path = self.write(text)
        usual = ("--cases", "6", "--dtype", "f32", "--shrink-seconds", "1")
        if "--property" not in others:
            usual += ("--property", "within-error-bound")
        return self.command("verify", "softmax", option, str(path), *usual, *others)

    def find(self, text, entry="ModelNew", ranks=(2,), **scalars):
        operator = {"ranks": list(ranks), "scalars": scalars, "dim": len(ranks)}
        return inline_source.find(self.write(text), entry, operator)

    def refused(self, text, entry="ModelNew", ranks=(2,)):
        with self.assertRaises(inline_source.Refused) as caught:
            self.find(text, entry, ranks)
        return str(caught.exception)

    def test_a_right_kernel_of_either_kind_passes(self):
        for option, text in (("--kernelbench", kernelbench()), ("--gpumode", GPUMODE.format(source=WRITES))):
            code, output = self.verify(option, text)
            self.assertEqual(code, 0, output)
            self.assertRegex(output, r"within-error-bound +6 ")

    def test_helpers_guards_and_constants_of_the_file_are_read(self):
        helper = GPUMODE.format(source=WRITES).replace("def custom_kernel", HELPER + "def custom_kernel")
        calls = helper.replace("    module.softmax_into(x, y, n, cols)\n    return y", "    return softmax(x, y, n)")
        for text, call in (
            (calls, "softmax_into(in0, out0, in0.size(0), in0.size(1))"),
            (helper.replace("x, y, n, cols)\n    return y", "x, y, triton.cdiv(n, SIZE), cols)\n    return y[0]"),
             "softmax_into(in0, out0, ((in0.size(0) + (4 * 2) - 1) / (4 * 2)), in0.size(1))"),
            (helper.replace("x, y = data", "x = data[0]\n    y = data[-1]").replace("(x, y, n", "(x, y.data_ptr(), n"),
             "softmax_into(in0, reinterpret_cast<uintptr_t>(out0.data_ptr()), in0.size(0), in0.size(1))"),
        ):
            found = self.find(text, "custom_kernel")
            self.assertEqual((found["call"], found["returns"]), (call, False))
        code, output = self.verify("--gpumode", calls)
        self.assertEqual(code, 0, output)
        found = self.find(calls, "custom_kernel")
        self.assertEqual(found["empty"], ["in0.size(0) == 0"])
        local = kernelbench("mine = load_inline(name='a', cuda_sources=source, functions=['softmax_cuda'])\n"
                            "        y = mine.softmax_cuda(x)\n        return y.squeeze()")
        local = local.replace('functions=["softmax_cuda"]', 'functions=["other"]')
        found = self.find(local)
        self.assertEqual((found["call"], found["returns"]), ("softmax_cuda(in0)", True))
        for wrong, why in (
            (calls.replace("    module.softmax_into", "    x += 1\n    module.softmax_into"), "is not understood"),
            (calls.replace("    module.softmax_into(a, b, n, cols)\n", ""), "returns something else"),
            (calls.replace("return 0", "return 1"), "is not understood"),
        ):
            with self.assertRaisesRegex(inline_source.Refused, why):
                self.find(wrong, "custom_kernel")

    def test_a_model_passes_its_tensors_and_what_init_got(self):
        """The forms in which generated files write one call."""
        made = "super().__init__()\n        "
        for init, body, call, scalars in (
            ("f = softmax.softmax_cuda", "return self.f(x)", "softmax_cuda(in0)", {}),
            ("f = softmax", "return self.f.softmax_cuda(x.to(x.device))", "softmax_cuda(in0)", {}),
            ("dim = dim", "return softmax.softmax_cuda(x, self.dim)", "softmax_cuda(in0, 1)", {}),
            ("eps = eps", "return softmax.softmax_cuda(x, self.eps)", "softmax_cuda(in0, eps)", {"eps": 1e-5}),
            ("eps = eps", "return softmax.softmax_cuda(x, self.eps)", "softmax_cuda(in0, small)", {"small": 1e-5}),
            ("eps = eps", "return softmax.softmax_cuda(x, float(self.eps))", "softmax_cuda(in0, 1e-05)", {"big": 1}),
            ("f = softmax", "torch.backends.cudnn.allow_tf32 = False\n        return self.f.softmax_cuda(x)",
             "softmax_cuda(in0)", {}),
            ("n = 3", "if self.n == 3 and x.dim() == 2 and x.is_cuda and x.dtype == torch.float32:\n"
             "            return softmax.softmax_cuda(x)\n        return torch.softmax(x, 1)", "softmax_cuda(in0)", {}),
            ("n = 3", "if x.ndim > 2 or not x.is_contiguous():\n            return torch.softmax(x, 1)\n"
             "        shape = x.shape\n        return softmax.softmax_cuda(x.view(-1, shape[-1])).view(shape)",
             "softmax_cuda(in0.view({-1, in0.size(-1)}))", {}),
        ):
            text = kernelbench(body).replace("def __init__(self)", "def __init__(self, dim, eps: float = 1e-5)")
            found = self.find(text.replace(made + "self.softmax = softmax", f"{made}self.{init}"), **scalars)
            taken = [s for s in scalars if s in call]
            self.assertEqual((found["call"], found["scalars"]), (call, taken))
        own = kernelbench("return softmax.softmax_cuda(x, self.weight, self.last.bias.data)").replace(
            "self.softmax = softmax", "self.last = nn.Linear(4, 4)\n        self.weight = nn.Parameter(torch.ones(4))")
        self.assertEqual(self.find(own, ranks=(2, 1, 1))["call"], "softmax_cuda(in0, in2, in1)")
        self.assertIn("(x, self.last.bias, self.weight), the operator has 2", self.refused(own, ranks=(2, 1)))
        function = kernelbench("return Softmax.apply(x)").replace(
            "class ModelNew", "class Softmax(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, a):\n"
            "        y = softmax.softmax_cuda(a)\n        ctx.save_for_backward(y)\n        return y\n\n\n"
            "class ModelNew")
        self.assertEqual(self.find(function)["call"], "softmax_cuda(in0)")
        unknown = kernelbench("return softmax.softmax_cuda(x, self.n)").replace("(self):", "(self, n):")
        unknown = unknown.replace("self.softmax = softmax", "self.n = n")
        self.assertIn("whose value get_init_inputs() must return", self.refused(unknown))
        known = unknown + "\n\ndef get_init_inputs():\n    return [7]\n"
        self.assertEqual(self.find(known)["call"], "softmax_cuda(in0, 7)")

    def test_a_scalar_of_the_model_is_the_operator_s_and_results_are_summed_by_pytorch(self):
        formula = self.folder / "total.op"
        formula.write_text("operator total(x[n], factor = 0.5 in [0, 1]) -> y\n  y = factor * (sum(i) x[i]) / n\n")
        source = r"""
#include <ATen/cuda/Atomic.cuh>
__global__ void copy(const float* x, float* y, int64_t n, float factor) {
  const int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i < n) gpuAtomicAdd(y + i, factor * x[i]);
}
torch::Tensor total_cuda(torch::Tensor x, float factor) {
  if (x.numel() == 0) return torch::tensor(NAN, x.options());
  auto part = torch::full_like(x, 0);
  copy<<<(x.numel() + 63) / 64, 64>>>(x.data_ptr<float>(), part.data_ptr<float>(), x.numel(), factor);
  return RESULT;
}
"""
        text = kernelbench("return self.f(x, self.factor)", "SOURCE").replace("softmax_cuda", "total_cuda")
        text = text.replace("def __init__(self)", "def __init__(self, share=0.5)").replace(
            "self.softmax = softmax", "self.f = softmax.total_cuda\n        self.factor = share")
        for result, code in (("part.sum() / x.numel()", 0), ("part.to(torch::kFloat64).mean().to(x.scalar_type())", 0),
                             ("part.sum() * (1.01 / x.numel())", 1)):
            path = self.write(text.replace("SOURCE", source.replace("RESULT", result)))
            got, output = self.command("verify", str(formula), "--kernelbench", str(path), "--cases", "6", "--property",
                                       "within-error-bound", "--shrink-seconds", "1")
            self.assertEqual(got, code, output)
            self.assertIn("offers factor", output)
        for result in ("part.to(torch::kInt32).mean()", "part.to(torch::kInt64) * 2"):
            path = self.write(text.replace("SOURCE", source.replace("RESULT", result)))
            got, output = self.command("verify", str(formula), "--kernelbench", str(path), "--cases", "6", "--property",
                                       "within-error-bound", "--shrink-seconds", "1")
            self.assertEqual(got, 1, output)
            self.assertIn("of a tensor of integers is not modelled", output)

    def test_a_race_is_named_by_the_line_of_the_python_file_and_replays(self):
        before, after = KERNEL.split("  most = part[0];\n  __syncthreads();\n")
        racy = before + "  most = part[0];\n" + after
        for option, text in (("--kernelbench", kernelbench(source=RETURNS.replace(KERNEL, racy))),
                             ("--gpumode", GPUMODE.format(source=WRITES.replace(KERNEL, racy)))):
            line = text.splitlines().index("  most = part[0];") + 1
            code, output = self.verify(option, text, "--property", "no-hazard")
            self.assertEqual(code, 1, output)
            self.assertIn("no-hazard: race:", output)
            self.assertIn(f"kernel.py:{line}", output)
            case = output.split("warpcheck replay '")[1].split("'")[0]
            self.assertIn("candidate=source:", case)
            code, output = self.command("replay", case)
            self.assertEqual(code, 1, output)
            self.assertIn("race", output)

    def test_what_the_kernel_does_not_write_is_found(self):
        few = RETURNS.replace("< cols; i += threads) y", "< 7; i += threads) y")
        code, output = self.verify("--kernelbench", kernelbench(source=few))
        self.assertEqual(code, 1, output)

    def test_slices_and_sizes_are_those_of_pytorch(self):
        flat = RETURNS.replace("empty_like(x)", "empty(x.numel(), x.options()).view(x.sizes())")
        code, output = self.verify("--kernelbench", kernelbench(source=flat))
        self.assertEqual(code, 0, output)
        filled = flat.replace("  return y;", "  if (y.numel() > 0) y[-1].fill_(2);\n  return y;")
        code, output = self.verify("--kernelbench", kernelbench(source=filled))
        self.assertEqual(code, 1, output)
        self.assertRegex(output, r"actual +2 ")

    def test_a_result_of_other_sizes_is_refused_in_the_words_of_the_call(self):
        reshaped = RETURNS.replace("return y;", "return y.view({-1, 1}).unsqueeze(0);")
        code, output = self.verify("--kernelbench", kernelbench(source=reshaped))
        self.assertEqual(code, 0, output)
        small = RETURNS.replace("return y;", "return torch::zeros({1});")
        code, output = self.verify("--kernelbench", kernelbench(source=small))
        self.assertEqual(code, 1, output)
        self.assertRegex(output, r"the entry threw: a tensor \[1\] of Float is copied into one \[\d+, \d+\] of Float")

    def test_what_does_not_compile_is_shown_with_the_line_of_the_python_file(self):
        text = kernelbench(source=RETURNS.replace("part[0];\n", "parts[0];\n", 1))
        code, output = self.verify("--kernelbench", text)
        self.assertEqual(code, 2, output)
        self.assertIn(f"kernel.py:{text.splitlines().index('  most = parts[0];') + 1}", output)
        self.assertRegex(output, ".parts. was not declared")

    def test_what_is_done_beside_the_call_is_refused(self):
        for body, why in (
            ("return 2 * self.softmax.softmax_cuda(x)", "returns something else than the call's result"),
            ("y = self.softmax.softmax_cuda(x)\n        return y / y.sum()", "returns something else"),
            ("return self.softmax.softmax_cuda(x + 1)", "is neither a tensor of the call nor a size of one"),
            ("if x.size(1) == 1024:\n            return x\n        " + CALL, "is not understood"),
            ("y = self.softmax.softmax_cuda(x)\n        return self.softmax.softmax_cuda(x)", "is a second call"),
            ("return torch.softmax(x, 1)", "returns something else"),
            ("return x", "returns something else"),
            ("x = x.half()\n        " + CALL, "is neither"),
        ):
            self.assertIn(why, self.refused(kernelbench(body)), body)
        self.assertIn("it defines no 'Model'", self.refused(kernelbench(), "Model"))
        two = kernelbench().replace("self, x:", "self, x, y:")
        self.assertIn("takes 2 inputs (x, y), the operator has 3", self.refused(two, ranks=(2, 2, 2)))
        plain = "def custom_kernel(data):\n    return data\n"
        self.assertIn("calls no load_inline", self.refused(plain, "custom_kernel"))

    def test_a_refusal_is_a_usage_error_with_the_line(self):
        code, output = self.verify("--kernelbench", kernelbench("return 2 * self.softmax.softmax_cuda(x)"))
        self.assertEqual(code, 2, output)
        self.assertRegex(output, r"source: .*kernel\.py: line \d+: 'return 2 \* self\.softmax\.softmax_cuda\(x\)' ")

    def test_sizes_are_passed_as_the_file_computes_them(self):
        found = self.find(GPUMODE.format(source=WRITES), "custom_kernel")
        self.assertEqual(found["call"], "softmax_into(in0, out0, in0.size(0), in0.size(1))")
        self.assertEqual((found["returns"], found["zeroed"]), (False, False))
        body = "y = torch.zeros_like(x)\n        self.softmax.softmax_cuda(x, y, x.numel() // 2, -1)\n        return y"
        found = self.find(kernelbench(body))
        self.assertEqual(found["call"], "softmax_cuda(in0, out0, (in0.numel() / 2), -1)")
        self.assertEqual((found["returns"], found["zeroed"]), (False, True))

    def test_other_devices_are_refused(self):
        code, output = self.verify("--kernelbench", kernelbench(), "--device", "cpu")
        self.assertEqual(code, 2, output)
        self.assertIn("--device emulated", output)


if __name__ == "__main__":
    unittest.main()
