"""Writes the golden files of reduce whose truth comes from outside: mpmath and NumPy."""

import oracle
from oracle import MPMATH, NUMPY, exact

if not oracle.PROBLEM:
    import mpmath
    import numpy

    oracle.need_numpy()


def golden_files():
    """(file name, text) of every file."""
    with mpmath.workdps(800):  # every sum below is exact
        for stem, seed, dtype, rows in oracle.sum_cases(517):
            answers = {
                0: ("mpmath-sum", f"mpmath {MPMATH}, fsum with 800 digits",
                    [exact(mpmath.fsum(mpmath.mpf(float(x)) for x in row)) for row in rows]),
                1: ("numpy-min", f"NumPy {NUMPY}, numpy.min",
                    [exact(mpmath.mpf(float(numpy.min(row)))) for row in rows]),
                2: ("numpy-max", f"NumPy {NUMPY}, numpy.max",
                    [exact(mpmath.mpf(float(numpy.max(row)))) for row in rows]),
            }
            for code, (stem_of_op, source, y) in answers.items():
                if code > 0 and stem not in ("narrow", "double-narrow", "subnormal"):
                    continue
                name = f"{stem_of_op}-{stem}"
                yield name + ".golden", oracle.golden_text(
                    "reduce", "reduce_oracle.py", name, source, 40, seed,
                    [(oracle.matrix_tensor("x", dtype, rows), [x for row in rows for x in row])],
                    [(f"y={dtype}[{len(rows)}]", y)], f"op={code}" if code else "")
