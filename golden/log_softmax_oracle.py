#!/usr/bin/env python3
"""Writes the golden files of log_softmax whose truth comes from outside: mpmath and SciPy.

  pip install mpmath==1.4.1 scipy==1.17.1
  golden/log_softmax_oracle.py golden            writes golden/log_softmax/*.golden
  golden/log_softmax_oracle.py golden --check    compares them with what would be written; exit code 1 if they differ
  warpcheck golden regenerate log_softmax        then takes the new hashes into SHA256SUMS, if the reference agrees

The format of the files is described in golden/format.hpp.
"""

import math
import sys

import oracle
from oracle import F32_MAX, INF, MPMATH, SCIPY, decimal, masked, uniform

if not oracle.PROBLEM:
    import mpmath
    import scipy.special


def by_mpmath(row):
    """x - max - log(sum exp(x - max)) with 120 digits, rounded to 40."""
    with mpmath.workdps(120):
        top = max(mpmath.mpf(x) for x in row)
        log_sum = top + mpmath.log(mpmath.fsum(mpmath.exp(mpmath.mpf(x) - top) for x in row))
        return ["-inf" if math.isinf(x) else decimal(mpmath.mpf(x) - log_sum, 40) for x in row]


def by_scipy(row):
    """scipy.special.log_softmax in double precision, 12 digits; rows of which no element dominates, so that all of those digits are true."""
    with mpmath.workdps(60):
        return ["-inf" if math.isinf(y) else decimal(mpmath.mpf(float(y)), 12) for y in scipy.special.log_softmax(row)]


def cases():
    """name, oracle, seed, dtype, rows; each with the reason for its numbers."""

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
    yield "near-zero", mp, 8, "f32", [[oracle.to_f32(-math.log(n))] * n + [-INF] * (9 - n) for n in (2, 3, 5, 7, 9)]
    yield drawn("half", mp, 9, "f16", 2, 65, -12, 2)
    yield drawn("bfloat", mp, 10, "bf16", 2, 65, -12, 2)
    yield "masked", mp, 11, "f32", masked(uniform(11, "f32", 2, 96, -9, 9), 32, 64)  # a warp's slice
    yield "lowest-mixture", mp, 12, "f32", [[-F32_MAX, 0.5, -F32_MAX, 0.25, -1]]  # the usual mask value
    yield drawn("narrow", sp, 13, "f32", 2, 100, -1, 1)
    yield drawn("long", sp, 14, "f32", 1, 517, -9, 9)
    yield drawn("half", sp, 15, "f16", 3, 17, -8, 8)


def golden_files():
    """(file name, text) of every file."""
    oracles = {
        "mpmath": (by_mpmath, 40, f"mpmath {MPMATH}, x - max - log(sum exp(x - max)) with 120 digits"),
        "scipy": (by_scipy, 12, f"SciPy {SCIPY}, scipy.special.log_softmax in double precision"),
    }
    for stem, by, seed, dtype, rows in cases():
        compute, digits, source = oracles[by]
        name = f"{by}-{stem}"
        y = [text for row in rows for text in compute(row)]
        yield name + ".golden", oracle.golden_text(
            "log_softmax", "log_softmax_oracle.py", name, source, digits, seed,
            [(oracle.matrix_tensor("x", dtype, rows), [x for row in rows for x in row])],
            [(oracle.matrix_tensor("y", dtype, rows), y)])


if __name__ == "__main__":
    sys.exit(oracle.main("log_softmax", __doc__, golden_files))
