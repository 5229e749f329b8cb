"""What the oracle scripts of golden data share: draws, the format of golden files (golden/format.hpp), the command line.

An operator's script gives `main` its golden files as calls of `golden_text`. Needed: mpmath and SciPy of these versions,
`pip install mpmath==1.4.1 scipy==1.17.1`, so that the same bytes come out everywhere.
"""

import argparse
import math
import pathlib
import struct
import sys

MPMATH, SCIPY = "1.4.1", "1.17.1"
try:
    import mpmath
    import scipy

    PROBLEM = None
    if (mpmath.__version__, scipy.__version__) != (MPMATH, SCIPY):
        PROBLEM = f"mpmath {MPMATH} and scipy {SCIPY} are needed, found {mpmath.__version__} and {scipy.__version__}"
except ImportError as error:
    PROBLEM = f"mpmath {MPMATH} and scipy {SCIPY} are needed: {error}"

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
    """A canonical hexadecimal float."""
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




def uniform(seed, dtype, rows, cols, low, high):
    draw = Draw(seed)
    return [[ROUND[dtype](draw.uniform(low, high)) for _ in range(cols)] for _ in range(rows)]


def masked(matrix, begin, end):
    return [[-INF if begin <= i < end else x for i, x in enumerate(row)] for row in matrix]


def matrix_tensor(name, dtype, rows):
    return f"{name}={dtype}[{len(rows)}x{len(rows[0])}]"


def golden_text(op, script, name, source, digits, seed, inputs, outputs, knobs=""):
    """The text of a golden file. inputs: (tensor with its shape, values); outputs: (tensor with its shape, texts)."""
    groups = [f"{tensor} fill=constant(0)" for tensor, _ in inputs] + [tensor for tensor, _ in outputs]
    lines = [
        "warpcheck-golden 1",
        "kind: oracle",
        f"operator: {op}",
        f"name: {name}",
        f"generator: golden/{script}",
        f"source: {source}",
        f"digits: {digits}",
        f"seed: {seed}",
        f"case: v1 {op}/golden {' | '.join(groups)} |{' ' + knobs if knobs else ''}",
    ]
    for tensor, values in inputs:
        lines.append("input " + tensor.split("=")[0])
        lines += [element(float(x)) for x in values]
    for tensor, texts in outputs:
        lines.append("expect " + tensor.split("=")[0])
        lines += texts
    lines.append("end")
    return "\n".join(lines) + "\n"


def main(op, description, files):
    """files(): (file name, text) of every golden file of the operator, whose names begin with their oracle's."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, help="the golden folder")
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    arguments = parser.parse_args()
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
