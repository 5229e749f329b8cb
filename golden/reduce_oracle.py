#!/usr/bin/env python3
"""Writes the golden files of reduce whose truth comes from outside: mpmath and NumPy.

  pip install mpmath==1.4.1 scipy==1.17.1
  golden/reduce_oracle.py golden            writes golden/reduce/*.golden
  golden/reduce_oracle.py golden --check    compares them with what would be written; exit code 1 if they differ
  warpcheck golden regenerate reduce        then takes the new hashes into SHA256SUMS, if the reference agrees

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
    yield "positive", 2, "f32", uniform(2, "f32", 2, 517, 0, 1)
    yield "wide", 3, "f32", uniform(3, "f32", 2, 65, -1e30, 1e30)
    yield "subnormal", 4, "f32", [[x * 2.0**-145 for x in (1, -3, 5, 0, 2, 7)]]
    yield "largest", 5, "f32", [[F32_MAX / 2, -F32_MAX / 2, F32_MAX / 4, 1.0]]
    yield "double-narrow", 6, "f64", doubles(6, 3, 100, -1, 1)
    yield "double-offset", 7, "f64", doubles(7, 2, 129, 1e15, 1e15 + 8)
    yield "double-stagnation", 8, "f64", [[1.0] + [2.0**-54] * 64]  # one by one every term is lost


def golden_files():
    """(file name, text) of every file."""
    with mpmath.workdps(800):  # every sum below is exact
        for stem, seed, dtype, rows in cases():
            answers = {
                0: ("mpmath-sum", f"mpmath {MPMATH}, fsum with 800 digits",
                    [exact(mpmath.fsum(mpmath.mpf(float(x)) for x in row)) for row in rows]),
                1: ("numpy-min", f"NumPy {NUMPY}, numpy.min", [exact(mpmath.mpf(float(numpy.min(row)))) for row in rows]),
                2: ("numpy-max", f"NumPy {NUMPY}, numpy.max", [exact(mpmath.mpf(float(numpy.max(row)))) for row in rows]),
            }
            for code, (stem_of_op, source, y) in answers.items():
                if code > 0 and stem not in ("narrow", "double-narrow", "subnormal"):
                    continue
                name = f"{stem_of_op}-{stem}"
                yield name + ".golden", oracle.golden_text(
                    "reduce", "reduce_oracle.py", name, source, 40, seed,
                    [(oracle.matrix_tensor("x", dtype, rows), [x for row in rows for x in row])],
                    [(f"y={dtype}[{len(rows)}]", y)], f"op={code}" if code else "")


if __name__ == "__main__":
    sys.exit(oracle.main("reduce", __doc__, golden_files))
