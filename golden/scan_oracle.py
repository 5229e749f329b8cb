#!/usr/bin/env python3
"""Writes the golden files of scan whose truth comes from outside: mpmath and NumPy.

  pip install mpmath==1.4.1 scipy==1.17.1
  golden/scan_oracle.py golden            writes golden/scan/*.golden
  golden/scan_oracle.py golden --check    compares them with what would be written; exit code 1 if they differ
  warpcheck golden regenerate scan        then takes the new hashes into SHA256SUMS, if the reference agrees

The format of the files is described in golden/format.hpp.
"""

import sys

import oracle
from oracle import F32_MAX, MPMATH, Draw, exact, uniform

NUMPY = "2.4.6"
if not oracle.PROBLEM:
    import mpmath
    import numpy

    if numpy.__version__ != NUMPY:
        oracle.PROBLEM = f"numpy {NUMPY} is needed, found {numpy.__version__}"


def doubles(seed, rows, cols, low, high):
    draw = Draw(seed)
    return [[draw.uniform(low, high) for _ in range(cols)] for _ in range(rows)]


def cases():
    """name, seed, dtype, rows; each with the reason for its numbers."""
    yield "narrow", 1, "f32", uniform(1, "f32", 3, 100, -1, 1)  # cancellation
    yield "positive", 2, "f32", uniform(2, "f32", 2, 257, 0, 1)
    yield "wide", 3, "f32", uniform(3, "f32", 2, 65, -1e30, 1e30)
    yield "subnormal", 4, "f32", [[x * 2.0**-145 for x in (1, -3, 5, 0, 2, 7)]]
    yield "largest", 5, "f32", [[F32_MAX / 2, -F32_MAX / 2, F32_MAX / 4, 1.0]]
    yield "double-narrow", 6, "f64", doubles(6, 3, 100, -1, 1)
    yield "double-offset", 7, "f64", doubles(7, 2, 129, 1e15, 1e15 + 8)
    yield "double-stagnation", 8, "f64", [[1.0] + [2.0**-54] * 64]  # one by one every term is lost


def integers(seed, rows, cols):
    """Multiples of 2^11, which doubles hold, of every size: sums wrap."""
    draw = Draw(seed)
    return [[int(draw.uniform(-(2**52), 2**52)) * 2048 for _ in range(cols)] for _ in range(rows)]


def prefixes(row):
    sums, total = [], mpmath.mpf(0)
    for x in row:
        total += mpmath.mpf(float(x))
        sums.append(total)
    return sums


def golden_files():
    """(file name, text) of every file."""
    with mpmath.workdps(800):  # every sum below is exact
        for stem, seed, dtype, rows in cases():
            for kind, word in ((0, "inclusive"), (1, "exclusive")):
                y = []
                for row in rows:
                    sums = prefixes(row)
                    y += [exact(v) for v in (sums if kind == 0 else [mpmath.mpf(0)] + sums[:-1])]
                name = f"mpmath-{word}-{stem}"
                yield name + ".golden", oracle.golden_text(
                    "scan", "scan_oracle.py", name, f"mpmath {MPMATH}, sums with 800 digits", 40, seed,
                    [(oracle.matrix_tensor("x", dtype, rows), [x for row in rows for x in row])],
                    [(oracle.matrix_tensor("y", dtype, rows), y)], "kind=1" if kind else "")
        rows = integers(9, 2, 70)
        with numpy.errstate(over="ignore"):
            y = [str(int(v)) for row in rows for v in numpy.cumsum(numpy.array(row, dtype=numpy.int64))]
        name = "numpy-inclusive-integers"
        yield name + ".golden", oracle.golden_text(
            "scan", "scan_oracle.py", name, f"NumPy {NUMPY}, numpy.cumsum of int64", 40, 9,
            [(oracle.matrix_tensor("x", "i64", rows), [x for row in rows for x in row])],
            [(oracle.matrix_tensor("y", "i64", rows), y)])


if __name__ == "__main__":
    sys.exit(oracle.main("scan", __doc__, golden_files))
