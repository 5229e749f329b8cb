#!/usr/bin/env python3
"""Writes the golden files of softmax whose truth comes from outside: mpmath and SciPy.

  pip install mpmath==1.4.1 scipy==1.17.1
  golden/softmax_oracle.py golden            writes golden/softmax/{mpmath,scipy}-*.golden
  golden/softmax_oracle.py golden --check    compares them with what would be written; exit code 1 if they differ
  warpcheck golden regenerate softmax        then takes the new hashes into SHA256SUMS, if the reference agrees

The format of the files is described in golden/format.hpp.
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
    import scipy.special

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


def by_mpmath(row):
    """exp(x - m) / sum exp(x - m) with 60 digits, rounded to 40."""
    with mpmath.workdps(60):
        top = max(mpmath.mpf(x) for x in row)
        terms = [mpmath.exp(mpmath.mpf(x) - top) for x in row]
        total = mpmath.fsum(terms)
        return [decimal(term / total, 40) for term in terms]


def by_scipy(row):
    """scipy.special.softmax in double precision, 12 digits. Its relative error is at most (n + 2 + 2 (max - min)) 2^-53
    (Blanchard, Higham & Higham, IMA J. Numer. Anal. 41, 2021, Thm 4.3), which must leave those digits true."""
    finite = [x for x in row if not math.isinf(x)]
    assert (len(row) + 2 + 2 * (max(finite) - min(finite))) * 2.0**-53 < 5e-13
    with mpmath.workdps(60):
        return [decimal(mpmath.mpf(float(y)), 12) for y in scipy.special.softmax(row)]


def cases():
    """name, oracle, seed, dtype, rows; each with the reason for its numbers."""

    def uniform(seed, dtype, rows, cols, low, high):
        draw = Draw(seed)
        return [[ROUND[dtype](draw.uniform(low, high)) for _ in range(cols)] for _ in range(rows)]

    def masked(matrix, begin, end):
        return [[-INF if begin <= i < end else x for i, x in enumerate(row)] for row in matrix]

    def drawn(name, oracle, seed, dtype, rows, cols, low, high):
        return name, oracle, seed, dtype, uniform(seed, dtype, rows, cols, low, high)

    mp, sp = "mpmath", "scipy"
    yield drawn("narrow", mp, 1, "f32", 3, 33, -1, 1)  # flat rows: the sum carries the error
    yield drawn("wide", mp, 2, "f32", 3, 65, -60, 60)  # one element dominates
    yield drawn("to-subnormal", mp, 3, "f32", 1, 257, -104, 0)  # results in every binade down to 0
    yield drawn("near-subnormal", mp, 4, "f32", 2, 31, -104, -86)
    yield drawn("plus-100", mp, 5, "f32", 2, 17, 99, 101)  # e^x overflows f32
    yield drawn("minus-200", mp, 6, "f32", 2, 17, -201, -199)  # e^x underflows f32
    yield drawn("plus-1e4", mp, 7, "f32", 1, 64, 1e4 - 8, 1e4 + 8)
    yield drawn("minus-1e7", mp, 8, "f32", 1, 63, -1e7 - 6, -1e7 + 6)
    yield drawn("beyond-1e38", mp, 9, "f32", 2, 9, -3e38, 3e38)  # differences overflow
    yield drawn("half-narrow", mp, 10, "f16", 2, 65, -2, 2)
    yield drawn("half-wide", mp, 11, "f16", 2, 33, -17, 0)  # subnormal f16 results
    yield drawn("bfloat-narrow", mp, 12, "bf16", 2, 65, -2, 2)
    yield drawn("bfloat-wide", mp, 13, "bf16", 2, 33, -95, 0)  # subnormal bf16 results
    yield "masked", mp, 14, "f32", masked(uniform(14, "f32", 2, 96, -9, 9), 32, 64)  # a warp's slice
    yield "tiny-logits", mp, 15, "f32", [[x * 2.0**-140 for x in (1, -3, 5, 0, 2)]]  # subnormal inputs count as 0
    yield "lowest-mixture", mp, 16, "f32", [[-F32_MAX, 0.5, -F32_MAX, 0.25, -1]]  # the usual mask value
    yield drawn("narrow", sp, 17, "f32", 2, 100, -1, 1)
    yield drawn("wide", sp, 18, "f32", 2, 33, -60, 60)
    yield drawn("long", sp, 19, "f32", 1, 517, -9, 9)
    yield drawn("offset", sp, 20, "f32", 2, 64, 300, 320)
    yield drawn("half", sp, 21, "f16", 3, 17, -8, 8)
    yield drawn("bfloat", sp, 22, "bf16", 3, 17, -8, 8)
    yield "masked", sp, 23, "f32", masked(uniform(23, "f32", 2, 64, -9, 9), 0, 31)


def golden_files():
    """(file name, text) of every file."""
    oracles = {
        "mpmath": (by_mpmath, 40, f"mpmath {MPMATH}, exp(x - max)/sum with 60 digits"),
        "scipy": (by_scipy, 12, f"SciPy {SCIPY}, scipy.special.softmax in double precision"),
    }
    for stem, oracle, seed, dtype, rows in cases():
        compute, digits, source = oracles[oracle]
        shape = f"{len(rows)}x{len(rows[0])}"
        name = f"{oracle}-{stem}"
        lines = [
            "warpcheck-golden 1",
            "kind: oracle",
            "operator: softmax",
            f"name: {name}",
            "generator: golden/softmax_oracle.py",
            f"source: {source}",
            f"digits: {digits}",
            f"seed: {seed}",
            f"case: v1 softmax/golden x={dtype}[{shape}] fill=constant(0) | y={dtype}[{shape}] | index=i64[{len(rows)}] |",
            "input x",
        ]
        lines += [element(float(x)) for row in rows for x in row]
        lines.append("expect y")
        for row in rows:
            lines += ["0" if x == -INF else y for x, y in zip(row, compute(row))]
        lines.append("expect index")
        lines += [str(row.index(max(row))) for row in rows]
        lines.append("end")
        yield name + ".golden", "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, help="the golden folder")
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    arguments = parser.parse_args()
    if PROBLEM:
        print(f"{'WARPCHECK_SKIP: ' if arguments.check else ''}{PROBLEM}", file=sys.stderr)
        return 3
    folder = arguments.folder / "softmax"
    different = 0
    made = set()
    for name, text in golden_files():
        made.add(name)
        path = folder / name
        if not arguments.check:
            folder.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="ascii", newline="\n")
        elif not path.is_file() or path.read_bytes() != text.encode("ascii"):
            different += 1
            print(f"{path}: the oracle gives other bytes")
    for oracle in ("mpmath", "scipy"):
        for path in sorted(folder.glob(f"{oracle}-*.golden")):
            if path.name not in made:
                different += 1
                print(f"{path}: this script does not make it")
    print(f"{len(made)} files, {different} differ" if arguments.check else f"{len(made)} files written")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
