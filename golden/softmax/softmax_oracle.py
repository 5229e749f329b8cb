"""Writes the golden files of softmax whose truth comes from outside: mpmath and SciPy."""

import math

import oracle
from oracle import F32_MAX, INF, MPMATH, SCIPY, decimal, masked, uniform

if not oracle.PROBLEM:
    import mpmath
    import scipy.special


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
    for stem, by, seed, dtype, rows in cases():
        compute, digits, source = oracles[by]
        name = f"{by}-{stem}"
        y = ["0" if x == -INF else y for row in rows for x, y in zip(row, compute(row))]
        yield name + ".golden", oracle.golden_text(
            "softmax", "softmax_oracle.py", name, source, digits, seed,
            [(oracle.matrix_tensor("x", dtype, rows), [x for row in rows for x in row])],
            [(oracle.matrix_tensor("y", dtype, rows), y),
             (f"index=i64[{len(rows)}]", [str(row.index(max(row))) for row in rows])])
