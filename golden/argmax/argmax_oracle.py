"""Writes the golden files of argmax whose truth comes from outside: NumPy."""

import oracle
from oracle import F32_MAX, INF, NUMPY, masked, uniform

if not oracle.PROBLEM:
    import numpy

    oracle.need_numpy()


def cases():
    """name, seed, dtype, rows; each with the reason for its numbers."""
    yield "narrow", 1, "f32", uniform(1, "f32", 3, 100, -1, 1)
    yield "wide", 2, "f32", uniform(2, "f32", 2, 517, -3e38, 3e38)
    yield "half", 3, "f16", uniform(3, "f16", 4, 65, -2, 2)
    yield "bfloat-ties", 4, "bf16", uniform(4, "bf16", 4, 129, -2, 2)  # 8 bits: the largest comes more than once
    yield "integers", 5, "f32", [[float(round(x)) for x in row] for row in uniform(5, "f32", 4, 64, -4, 4)]
    yield "masked", 6, "f32", masked(uniform(6, "f32", 2, 96, -9, -8), 0, 64)
    yield "lowest-mixture", 7, "f32", [[-F32_MAX, -INF, -F32_MAX, -F32_MAX], [-INF, -INF, -INF, -F32_MAX]]


def golden_files():
    """(file name, text) of every file."""
    for stem, seed, dtype, rows in cases():
        name = f"numpy-{stem}"
        index = [str(int(numpy.argmax(numpy.array(row)))) for row in rows]
        yield name + ".golden", oracle.golden_text(
            "argmax", "argmax_oracle.py", name, f"NumPy {NUMPY}, numpy.argmax", 10, seed,
            [(oracle.matrix_tensor("x", dtype, rows), [x for row in rows for x in row])],
            [(f"index=i64[{len(rows)}]", index)])
