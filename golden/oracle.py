#!/usr/bin/env python3
"""Writes the golden files of an operator whose truth comes from other programs, by golden/OP/OP_oracle.py.

  pip install mpmath==1.4.1 scipy==1.17.1         of these versions, so that the same bytes come out everywhere
  golden/oracle.py OP golden                      writes golden/OP/*.golden
  golden/oracle.py OP golden --check              compares; exit code 1 if a file differs
  warpcheck golden regenerate OP                  then takes the new hashes into SHA256SUMS, if the reference agrees

The module of an operator makes its files by calls of `golden_text`; golden/format.hpp describes their format.
"""

import argparse
import importlib
import math
import pathlib
import struct
import sys

MPMATH, SCIPY, NUMPY = "1.4.1", "1.17.1", "2.4.6"
try:
    import mpmath
    import scipy

    PROBLEM = None
    if (mpmath.__version__, scipy.__version__) != (MPMATH, SCIPY):
        PROBLEM = f"mpmath {MPMATH} and scipy {SCIPY} are needed, found {mpmath.__version__} and {scipy.__version__}"
except ImportError as error:
    PROBLEM = f"mpmath {MPMATH} and scipy {SCIPY} are needed: {error}"


def need_numpy():
    """Of a script whose truth comes from NumPy: it must be of this version, too. SciPy has brought it."""
    global PROBLEM
    import numpy

    if numpy.__version__ != NUMPY:
        PROBLEM = f"numpy {NUMPY} is needed, found {numpy.__version__}"


INF = math.inf
F32_MAX = struct.unpack("<f", b"\xff\xff\x7f\x7f")[0]


def to_f32(value):
    return struct.unpack("<f", struct.pack("<f", value))[0]


def to_f16(value):
    return struct.unpack("<e", struct.pack("<e", value))[0]


def to_bf16(value):
    """The f32 nearest to the value, cut to bfloat16: for inputs any bfloat16 nearby will do."""
    if math.isinf(value):
        return value
    bits = struct.unpack("<I", struct.pack("<f", value))[0]
    return struct.unpack("<f", struct.pack("<I", bits & 0xFFFF0000))[0]


ROUND = {"f32": to_f32, "f16": to_f16, "bf16": to_bf16}


class Draw:
    """SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): the same numbers with every version of Python."""

    def __init__(self, seed):
        self.state = seed

    def unit(self):
        mask = (1 << 64) - 1
        self.state = (self.state + 0x9E3779B97F4A7C15) & mask
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        return ((z ^ (z >> 31)) >> 11) * 2.0**-53

    def uniform(self, low, high):
        return low + self.unit() * (high - low)


def element(value):
    """A canonical hexadecimal float; an integer as it is."""
    if isinstance(value, int):
        return str(value)
    if math.isinf(value):
        return "+inf" if value > 0 else "-inf"
    mantissa, exponent = value.hex().split("p")
    if "." in mantissa:
        mantissa = mantissa.rstrip("0").rstrip(".")
    return f"{mantissa}p{exponent}" if value != 0 else mantissa + "p+0"


def decimal(value, digits):
    """An mpmath number with `digits` significant digits, none cut; 0 below 1e-9999."""
    if value == 0:
        return "0"
    text = mpmath.nstr(value, digits, strip_zeros=False, min_fixed=0, max_fixed=0, show_zero_exponent=True)
    mantissa, exponent = text.split("e")
    if int(exponent) < -9999:
        return "0"
    return f"{mantissa}e{int(exponent)}"


def exact(value):
    """40 digits of an mpmath number, none cut; a value of fewer digits as it is."""
    text = mpmath.nstr(value, 40, strip_zeros=True, min_fixed=0, max_fixed=0, show_zero_exponent=True)
    if value != 0 and mpmath.mpf(text) == value:
        mantissa, exponent = text.split("e")
        mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
        return f"{mantissa}e{int(exponent)}"
    return decimal(value, 40)


def uniform(seed, dtype, rows, cols, low, high):
    draw = Draw(seed)
    return [[ROUND[dtype](draw.uniform(low, high)) for _ in range(cols)] for _ in range(rows)]


def doubles(seed, rows, cols, low, high):
    draw = Draw(seed)
    return [[draw.uniform(low, high) for _ in range(cols)] for _ in range(rows)]


def masked(matrix, begin, end):
    return [[-INF if begin <= i < end else x for i, x in enumerate(row)] for row in matrix]


def matrix_tensor(name, dtype, rows):
    return f"{name}={dtype}[{len(rows)}x{len(rows[0])}]"


def golden_text(op, script, name, source, digits, seed, inputs, outputs, knobs=""):
    """The text of a golden file. inputs: (tensor with its shape, values), or (tensor with shape and fill, None);
    outputs: (tensor with its shape, texts)."""
    groups = [tensor if "fill=" in tensor else f"{tensor} fill=constant(0)" for tensor, _ in inputs]
    groups += [tensor for tensor, _ in outputs]
    lines = [
        "warpcheck-golden 1",
        "kind: oracle",
        f"operator: {op}",
        f"name: {name}",
        f"generator: golden/{op}/{script}",
        f"source: {source}",
        f"digits: {digits}",
        f"seed: {seed}",
        f"case: v1 {op}/golden {' | '.join(groups)} |{' ' + knobs if knobs else ''}",
    ]
    for tensor, values in inputs:
        if values is None:  # as its recipe makes it
            continue
        lines.append("input " + tensor.split("=")[0])
        lines += [element(int(x) if tensor.split("=")[1][0] in "iu" else float(x)) for x in values]
    for tensor, texts in outputs:
        lines.append("expect " + tensor.split("=")[0])
        lines += texts
    lines.append("end")
    return "\n".join(lines) + "\n"


def log_sum(row):
    """max + log(sum exp(x - max)), an mpmath number of as many digits as are set."""
    top = max(mpmath.mpf(x) for x in row)
    return top + mpmath.log(mpmath.fsum(mpmath.exp(mpmath.mpf(x) - top) for x in row))


def sum_cases(cols):
    """name, seed, dtype, rows for operators that sum, of which one case has `cols`; each with its reason."""
    yield "narrow", 1, "f32", uniform(1, "f32", 3, 100, -1, 1)  # cancellation
    yield "positive", 2, "f32", uniform(2, "f32", 2, cols, 0, 1)
    yield "wide", 3, "f32", uniform(3, "f32", 2, 65, -1e30, 1e30)
    yield "subnormal", 4, "f32", [[x * 2.0**-145 for x in (1, -3, 5, 0, 2, 7)]]
    yield "largest", 5, "f32", [[F32_MAX / 2, -F32_MAX / 2, F32_MAX / 4, 1.0]]
    yield "double-narrow", 6, "f64", doubles(6, 3, 100, -1, 1)
    yield "double-offset", 7, "f64", doubles(7, 2, 129, 1e15, 1e15 + 8)
    yield "double-stagnation", 8, "f64", [[1.0] + [2.0**-54] * 64]  # one by one every term is lost


def log_sum_cases():
    """name, oracle, seed, dtype, rows for operators about the logarithm of a sum; each with its reason."""

    def drawn(name, by, seed, dtype, rows, cols, low, high):
        return name, by, seed, dtype, uniform(seed, dtype, rows, cols, low, high)

    mp, sp = "mpmath", "scipy"
    yield drawn("narrow", mp, 1, "f32", 3, 33, -1, 1)  # flat rows: the sum carries the error
    yield drawn("wide", mp, 2, "f32", 3, 65, -60, 60)  # one element dominates
    yield drawn("to-subnormal", mp, 3, "f32", 1, 257, -104, 0)
    yield drawn("plus-100", mp, 4, "f32", 2, 17, 99, 101)  # e^x overflows f32
    yield drawn("minus-200", mp, 5, "f32", 2, 17, -201, -199)  # e^x underflows f32
    yield drawn("minus-1e7", mp, 6, "f32", 1, 63, -1e7 - 6, -1e7 + 6)
    yield "tails", mp, 7, "f32", [[0.0, -t] for t in (1.0, 2.5, 8.0, 16.5, 17.0, 30.0, 60.0, 87.0, 100.0, 103.0)]
    yield "near-zero", mp, 8, "f32", [[to_f32(-math.log(n))] * n + [-INF] * (9 - n) for n in (2, 3, 5, 7, 9)]
    yield drawn("half", mp, 9, "f16", 2, 65, -12, 2)
    yield drawn("bfloat", mp, 10, "bf16", 2, 65, -12, 2)
    yield "masked", mp, 11, "f32", masked(uniform(11, "f32", 2, 96, -9, 9), 32, 64)  # a warp's slice
    yield "lowest-mixture", mp, 12, "f32", [[-F32_MAX, 0.5, -F32_MAX, 0.25, -1]]  # the usual mask value
    # Of no row does one element dominate, nor is a sum near 1: all of double's first 12 digits are true.
    yield drawn("narrow", sp, 13, "f32", 2, 100, -1, 1)
    yield drawn("long", sp, 14, "f32", 1, 517, -9, 9)
    yield drawn("half", sp, 15, "f16", 3, 17, -8, 8)


def log_sum_files(op, formula, by_mpmath, by_scipy, result):
    """(file name, text) of every file of `op`. by_mpmath (the formula), by_scipy (scipy.special.<op>): the numbers that
    answer a row; result(dtype, rows): the tensor that takes them."""
    oracles = {
        "mpmath": (by_mpmath, 40, f"mpmath {MPMATH}, {formula} with 120 digits"),
        "scipy": (by_scipy, 12, f"SciPy {SCIPY}, scipy.special.{op} in double precision"),
    }
    for stem, by, seed, dtype, rows in log_sum_cases():
        compute, digits, source = oracles[by]
        name = f"{by}-{stem}"
        with mpmath.workdps(120):
            answers = [mpmath.mpf(y) for row in rows for y in compute(row)]
            y = ["-inf" if mpmath.isinf(y) else decimal(y, digits) for y in answers]
        yield name + ".golden", golden_text(
            op, f"{op}_oracle.py", name, source, digits, seed,
            [(matrix_tensor("x", dtype, rows), [x for row in rows for x in row])], [(result(dtype, rows), y)])


def main():
    """Takes `golden_files` of the operator's module: (file name, text) of every file, whose names begin with their
    oracle's."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("operator")
    parser.add_argument("folder", type=pathlib.Path, help="the golden folder")
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    arguments = parser.parse_args()
    op = arguments.operator
    sys.path.append(str(pathlib.Path(__file__).parent / op))
    files = importlib.import_module(f"{op}_oracle").golden_files
    if PROBLEM:
        print(f"{'WARPCHECK_SKIP: ' if arguments.check else ''}{PROBLEM}", file=sys.stderr)
        return 3
    folder = arguments.folder / op
    different = 0
    made = set()
    for name, text in files():
        made.add(name)
        path = folder / name
        if not arguments.check:
            folder.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="ascii", newline="\n")
        elif not path.is_file() or path.read_bytes() != text.encode("ascii"):
            different += 1
            print(f"{path}: the oracle gives other bytes")
    for path in sorted(folder.glob("*.golden")):
        if "\nkind: oracle\n" in path.read_text(encoding="ascii") and path.name not in made:
            different += 1
            print(f"{path}: this script does not make it")
    print(f"{len(made)} files, {different} differ" if arguments.check else f"{len(made)} files written")
    return 1 if different else 0


if __name__ == "__main__":
    import oracle  # the instance that the operators' modules import, too

    sys.exit(oracle.main())
