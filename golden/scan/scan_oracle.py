"""Writes the golden files of scan whose truth comes from outside: mpmath and NumPy."""

import oracle
from oracle import MPMATH, NUMPY, Draw, exact

if not oracle.PROBLEM:
    import mpmath
    import numpy

    oracle.need_numpy()


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
        for stem, seed, dtype, rows in oracle.sum_cases(257):
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
