"""The modules of KernelBench level 1 as candidates for formulas, and the table of docs/trials/kernelbench.md.

    git clone https://github.com/ScalingIntelligence/KernelBench
    python3 docs/trials/kernelbench.py KernelBench > table.md

`problem_N` is a candidate for `--python`: it calls the module of problem N with the tensors of a case. A module of
fixed sizes gets the weights, strides and paddings of the case in place of its own. The variable KERNELBENCH names the
clone. What PyTorch refuses, such as a padding of more than half a window, is answered with NotImplementedError.
"""
import argparse
import functools
import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import torch

FOLDER = pathlib.Path(os.environ.get("KERNELBENCH", ".")) / "KernelBench" / "level1"
OUTPUTS = ("y", "c", "o", "loss")


@functools.lru_cache(maxsize=None)
def module_of(number):
    (file,) = FOLDER.glob(f"{number}_*.py")
    spec = importlib.util.spec_from_file_location(f"problem_{number}", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@functools.lru_cache(maxsize=None)
def own_model(number):
    """The module with its own sizes, which the call of a case replaces."""
    module = module_of(number)
    return module.Model(*module.get_init_inputs())


def parameter(values):
    return torch.nn.Parameter(values, requires_grad=False)


def model(number, *arguments):
    return module_of(number).Model(*arguments)


def whole(number, *tensors):
    return model(number)(*tensors)


def convolution(number, dimensions, x, f, bias=None, transposed=False, stride=1, pad=0, dilation=1, more=0):
    """x[n, groups, cin, ...] and f[groups, cout, cin, ...], or without groups."""
    made = own_model(number)
    (layer,) = made.children()
    has_groups = x.dim() == dimensions + 3
    groups = x.shape[1] if has_groups else 1
    if has_groups:
        x, f = x.flatten(1, 2), f.flatten(0, 1)
    layer.weight = parameter(f)
    layer.bias = None if bias is None else parameter(bias.flatten())
    layer.groups = groups
    layer.stride, layer.padding = (stride,) * dimensions, (pad,) * dimensions
    layer.dilation = (dilation,) * dimensions
    if transposed:
        layer.output_padding = (more,) * dimensions
    return made(x)


def separable(number, x, f, g, stride=1, pad=1):
    made = own_model(number)
    made.depthwise.weight, made.pointwise.weight = parameter(f.unsqueeze(1)), parameter(g[:, :, None, None])
    made.depthwise.groups = f.shape[0]
    made.depthwise.stride, made.depthwise.padding = (stride, stride), (pad, pad)
    made.depthwise.dilation = (1, 1)
    return made(x)


def norm(number, layer_name, arguments, x, gamma=None, beta=None, eps=1e-5):
    made = model(number, *arguments)
    layer = getattr(made, layer_name)
    layer.eps = eps
    if gamma is not None:
        layer.weight, layer.bias = parameter(gamma), parameter(beta)
    return made(x)


def pooling(number, x, *settings):
    return model(number, *settings)(x)


def attention(number, q, k, v):
    functional = torch.nn.functional
    if not hasattr(functional, "scaled_dot_product_attention"):  # PyTorch 1.13 has it under another name
        functional.scaled_dot_product_attention = lambda *qkv: functional._scaled_dot_product_attention(*qkv)[0]
    return whole(number, q, k, v)


def in_order(*names):
    return lambda number, a: whole(number, *(a[n] for n in names))


def along_rows(number, a):
    return model(number, 1)(a["x"])


def convolves(dimensions, transposed=False):
    return lambda number, a: convolution(number, dimensions, transposed=transposed, **a)


AB, X = in_order("a", "b"), in_order("x")
# Problems of each operator of formulas/, and how a case becomes a call.
CALLS = {
    "matmul": AB,
    "matmul_ta": AB,
    "matmul_tb": AB,
    "matmul_tab": AB,
    "batched_matmul": AB,
    "matvec": AB,
    "tensor_matmul": lambda number, a: whole(number, a["a"][None], a["b"])[0] if number == 11 else AB(number, a),
    "diagonal_matmul": AB,
    "upper_matmul": AB,
    "lower_matmul": AB,
    "scaled": in_order("a", "s"),
    "leaky_relu": lambda number, a: model(number, a["slope"])(a["x"]),
    "elu": lambda number, a: model(number, a["alpha"])(a["x"]),
    "log_softmax": along_rows,
    "batch_norm_training": lambda number, a: norm(number, "bn", [a["x"].shape[1]], **a),
    "instance_norm": lambda number, a: norm(number, "inorm", [a["x"].shape[1]], **a),
    "group_norm": lambda number, a: norm(
        number,
        "gn",
        [a["x"].shape[1] * a["x"].shape[2], a["x"].shape[1]],
        a["x"].flatten(1, 2),
        a["gamma"].flatten(),
        a["beta"].flatten(),
        a["eps"],
    ),
    "rms_norm_channels": lambda number, a: model(number, a["x"].shape[1], a["eps"])(a["x"]),
    "layer_norm_images": lambda number, a: norm(number, "ln", [tuple(a["x"].shape[1:])], **a),
    "max_pool1d": lambda number, a: pooling(number, a["x"], a["size"], a["stride"], a["pad"], a["dilation"]),
    "max_pool2d": lambda number, a: pooling(number, a["x"], a["size"], a["stride"], a["pad"], a["dilation"]),
    "max_pool3d": lambda number, a: pooling(number, a["x"], a["size"], a["stride"], a["pad"]),
    "avg_pool1d": lambda number, a: pooling(number, a["x"], a["size"], a["stride"], a["pad"]),
    "avg_pool2d": lambda number, a: pooling(number, a["x"], a["size"], a["stride"], a["pad"]),
    "avg_pool3d": lambda number, a: pooling(number, a["x"], a["size"], a["stride"], a["pad"]),
    "reduce_sum": along_rows,
    "reduce_mean": along_rows,
    "reduce_max": along_rows,
    "reduce_min": along_rows,
    "arg_max": along_rows,
    "arg_min": along_rows,
    "cumsum": along_rows,
    "cumprod": along_rows,
    "cumsum_reverse": along_rows,
    "cumsum_exclusive": along_rows,
    "masked_cumsum": lambda number, a: model(number, 1)(a["x"], a["mask"].bool()),
    "mse": AB,
    "huber": AB,
    "cross_entropy": lambda number, a: whole(number, a["x"], a["target"].long()),
    "kl_div": in_order("predicted", "target"),
    "hinge": in_order("predicted", "target"),
    "triplet": lambda number, a: model(number, a["margin"])(a["anchor"], a["positive"], a["negative"]),
    "attention": lambda number, a: attention(number, a["q"], a["k"], a["v"]),
    "conv1d": convolves(1),
    "conv2d": convolves(2),
    "conv3d": convolves(3),
    "conv_separable": lambda number, a: separable(number, **a),
    "conv_transpose1d": convolves(1, transposed=True),
    "conv_transpose2d": convolves(2, transposed=True),
    "conv_transpose3d": convolves(3, transposed=True),
}


def formulas():
    """The operator of each problem, from the comments of the library: {number: "FILE.op:NAME"}."""
    found = {}
    for file in sorted((pathlib.Path(__file__).parents[2] / "formulas").glob("*.op")):
        for numbers, name in re.findall(r"^# KernelBench ([\d ]+)\.\noperator (\w+)", file.read_text(), re.MULTILINE):
            found.update({int(number): f"{file}:{name}" for number in numbers.split()})
    return dict(sorted(found.items()))


def candidate(number, name):
    def problem(**arguments):
        torch.set_grad_enabled(False)
        values = {n: torch.from_dlpack(v) if hasattr(v, "shape") else v for n, v in arguments.items()}
        (output,) = (values.pop(n) for n in OUTPUTS if n in values)
        try:
            result = CALLS.get(name, X)(number, values)
        except (RuntimeError, ValueError) as error:
            raise NotImplementedError(str(error)) from error
        output.copy_(result.reshape(output.shape))

    return problem


for _number, _formula in formulas().items():
    globals()[f"problem_{_number}"] = candidate(_number, _formula.rpartition(":")[2])


def verify(options, number, formula):
    with tempfile.TemporaryDirectory() as folder:
        words = [options.warpcheck, "verify", formula, "--python", f"{__file__}:problem_{number}", "--device", "cpu"]
        words += ["--interpreter", sys.executable, "--cases", str(options.cases), "--json", f"{folder}/v.json"]
        words += ["--allow-skips", "--shrink-seconds", "3"]
        done = subprocess.run(words, capture_output=True, text=True, env={**os.environ, "KERNELBENCH": options.folder})
        if not pathlib.Path(folder, "v.json").exists():
            sys.exit(f"problem {number}: {done.stdout}{done.stderr}")
        return json.loads(pathlib.Path(folder, "v.json").read_text())


def row(number, formula, verdict):
    jobs = verdict["jobs"]
    cases = sum(j["cases"] for j in jobs)
    ratios = [float(str(j["max_error_ratio"]).replace("+", "")) for j in jobs]
    failed = {}
    for failure in verdict["failures"]:
        is_refusal = "NotImplementedError" in failure["message"]
        kind = "refuses calls" if is_refusal else failure["verdict"]
        failed.setdefault(kind, []).append(re.search(r"/([\w-]+) ", failure["case"])[1])
    found = "; ".join(f"{kind}: {', '.join(sorted(set(names)))}" for kind, names in failed.items())
    return f"| {number} | {formula.rpartition(':')[2]} | {cases} | {max(ratios):.3g} | {found or 'pass'} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("folder", help="a clone of KernelBench")
    parser.add_argument("--warpcheck", default="warpcheck", help="the command")
    parser.add_argument("--cases", type=int, default=20)
    parser.add_argument("--only", type=int, nargs="*", help="numbers of problems")
    options = parser.parse_args()
    options.folder = os.path.abspath(options.folder)
    print("| problem | operator | cases | worst error/bound | result |\n|---|---|---|---|---|")
    for number, formula in formulas().items():
        if not options.only or number in options.only:
            verdict = verify(options, number, formula)
            print(row(number, formula, verdict), flush=True)
            for failure in verdict["failures"]:
                print(f"{number}: {failure['message']}\n  {failure['case']}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
