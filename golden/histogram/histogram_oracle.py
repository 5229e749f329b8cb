"""Writes the golden files of histogram whose truth comes from outside: numpy.bincount on sums that are exact in f64."""

import oracle
from oracle import NUMPY, Draw, exact

if not oracle.PROBLEM:
    import mpmath
    import numpy

    oracle.need_numpy()


def cases():
    """name, seed, type of bins, rows, bins of the columns, first bins not stored, share of bin 0; each has a reason."""
    yield "narrow", 1, "u8", 200, [3, 5, 2, 16], [0, 0, 0, 0], 0
    yield "full-bytes", 2, "u8", 300, [256], [0], 0
    yield "first-bins-left-out", 3, "u8", 150, [17, 4, 9], [1, 0, 1], 0.7
    yield "wide", 4, "u16", 120, [300, 7], [0, 1], 0.2
    yield "heavy-bin", 5, "u32", 400, [20, 20], [0, 0], 0.95


def golden_files():
    """(file name, text) of every file. Gradients are k/64 with |k| <= 1024, so that every sum is exact."""
    for stem, seed, dtype, rows, widths, skipped, share in cases():
        draw = Draw(seed)
        bins = [[0 if draw.unit() < share else int(draw.unit() * w) for w in widths] for _ in range(rows)]
        g = [(int(draw.unit() * 2049) - 1024) / 64 for _ in range(rows)]
        h = [int(draw.unit() * 1025) / 64 for _ in range(rows)]
        leaf = [i for i in range(rows) if draw.unit() < 0.6]
        slots = []
        for c, (width, o) in enumerate(zip(widths, skipped)):
            column = numpy.array([bins[i][c] for i in leaf])
            sums = [numpy.bincount(column, weights=numpy.array([x[i] for i in leaf], dtype=numpy.float64),
                                   minlength=width)
                    for x in (g, h)]
            slots += [(float(sums[0][b]), float(sums[1][b])) for b in range(o, width)]
        name = f"numpy-{stem}"
        knobs = [f"mfb={','.join(map(str, skipped))}"] if any(skipped) else []
        yield name + ".golden", oracle.golden_text(
            "histogram", "histogram_oracle.py", name, f"NumPy {NUMPY}, numpy.bincount of sums that are exact", 40, seed,
            [(f"bins={dtype}[{rows}x{len(widths)}]", [b for row in bins for b in row]),
             (f"cols=i64[{len(widths)}x2] fill=derived()", None),
             (f"g=f32[{rows}]", g), (f"h=f32[{rows}]", h), (f"rows=i32[{len(leaf)}]", leaf)],
            [(f"hist=f64[{len(slots)}x2]", [exact(mpmath.mpf(x)) for slot in slots for x in slot])],
            " ".join(knobs + [f"widths={','.join(map(str, widths))}"]))
