"""Writes the golden files of argsort whose truth comes from outside: NumPy."""

import oracle
from oracle import F32_MAX, INF, NUMPY, masked, uniform

if not oracle.PROBLEM:
    import numpy

    oracle.need_numpy()


def cases():
    """name, seed, rows; each with the reason for its numbers."""
    yield "narrow", 1, uniform(1, "f32", 3, 100, -1, 1)
    yield "wide", 2, uniform(2, "f32", 2, 517, -3e38, 3e38)
    yield "integers", 3, [[float(round(x)) for x in row] for row in uniform(3, "f32", 4, 64, -4, 4)]  # ties
    yield "masked", 4, masked(uniform(4, "f32", 2, 96, -9, -8), 0, 64)
    yield "lowest-mixture", 5, [[-F32_MAX, -INF, -F32_MAX, -F32_MAX], [-INF, -INF, -INF, -F32_MAX]]
    yield "block", 6, uniform(6, "f32", 1, 1500, -2, 2)


def golden_files():
    """(file name, text) of every file."""
    for stem, seed, rows in cases():
        keys = numpy.array(rows)
        # A stable sort of the negated keys is descending with ties by ascending column.
        for order, word, sign in ((0, "ascending", 1), (1, "descending", -1)):
            name = f"numpy-{word}-{stem}"
            index = [str(int(c)) for row in numpy.argsort(sign * keys, axis=-1, kind="stable") for c in row]
            yield name + ".golden", oracle.golden_text(
                "argsort", "argsort_oracle.py", name, f"NumPy {NUMPY}, numpy.argsort, stable", 10, seed,
                [(oracle.matrix_tensor("x", "f32", rows), [x for row in rows for x in row])],
                [(oracle.matrix_tensor("index", "i32", rows), index)], f"order={order}" if order else "")
