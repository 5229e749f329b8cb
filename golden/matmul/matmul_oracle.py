"""Writes the golden files of matmul whose truth comes from outside: mpmath, with 120 digits."""

import oracle
from oracle import uniform

if not oracle.PROBLEM:
    import mpmath


def transposed(rows):
    return [list(column) for column in zip(*rows)]


def cases():
    """name, seed, dtype of a and b, dtype of c, m, n, k, range of a and b, scalars; each with its reason."""
    yield "narrow", 1, "f32", "f32", 3, 5, 33, 1, {}
    yield "wide", 2, "f32", "f32", 2, 3, 65, 1e15, {}
    yield "long", 3, "f32", "f32", 2, 2, 517, 2, {}  # sums of slices
    yield "both-transposed", 4, "f32", "f32", 5, 3, 17, 2, {"ta": 1, "tb": 1}
    yield "scaled", 5, "f32", "f32", 3, 4, 20, 2, {"alpha": oracle.to_f32(0.3)}
    yield "accumulated", 6, "f32", "f32", 3, 4, 20, 2, {"alpha": -1.25, "beta": oracle.to_f32(0.7), "bias": 1}
    yield "layer", 7, "f32", "f32", 4, 6, 12, 1, {"bias": 1, "sigmoid": 1, "mu": 0.5, "sigma": -1.5}
    yield "layer-transposed", 8, "f32", "f32", 3, 3, 9, 1, {"tb": 1, "bias": 1, "sigmoid": 1}
    yield "half", 9, "f16", "f32", 3, 4, 40, 2, {}
    yield "half-rounded", 10, "f16", "f16", 3, 4, 40, 2, {"alpha": 0.5}
    yield "bfloat", 11, "bf16", "f32", 3, 4, 40, 2, {}
    yield "bfloat-layer", 12, "bf16", "bf16", 3, 4, 40, 1, {"bias": 1, "sigmoid": 1}


def product(a, b, before, bias, scalars):
    """Rows of exact values, mpmath numbers of as many digits as are set."""
    number = lambda name, usual: mpmath.mpf(scalars.get(name, usual))
    result = []
    for i, row in enumerate(a):
        for j in range(len(b[0])):
            total = mpmath.fsum(mpmath.mpf(x) * mpmath.mpf(b[l][j]) for l, x in enumerate(row))
            v = number("alpha", 1) * total
            if before:
                v += number("beta", 0) * mpmath.mpf(before[i][j])
            if bias:
                v += mpmath.mpf(bias[0][j])
            if scalars.get("sigmoid"):
                v = 1 / (1 + mpmath.exp(-(v - number("mu", 0)) * number("sigma", 1)))
            result.append(v)
    return result


def knobs_of(scalars):
    """The scalars of a case line, in the order of its writer: by name."""
    words = []
    for name in sorted(scalars):
        value = scalars[name]
        if name in ("ta", "tb"):
            words.append(f"{name}=yes")
        elif name == "sigmoid":
            words.append("sigmoid=1")
        elif name != "bias":
            words.append(f"{name}={KNOB_TEXT.get(value, value)}")
    return " ".join(words)


# What the case's writer makes of an f32 that is no short decimal (engine::format_number).
KNOB_TEXT = {oracle.to_f32(0.3): "0x1.333334p-2", oracle.to_f32(0.7): "0x1.666666p-1"}


def golden_files():
    """(file name, text) of every file."""
    for stem, seed, dtype, output, m, n, k, size, scalars in cases():
        a = uniform(seed, dtype, m, k, -size, size)
        b = uniform(seed + 100, dtype, k, n, -size, size)
        before = uniform(seed + 200, output, m, n, -2, 2) if "beta" in scalars else []
        bias = uniform(seed + 300, "f32", 1, n, -1, 1) if "bias" in scalars else []
        with mpmath.workdps(120):
            values = product(a, b, before, bias, scalars)
            c = [oracle.decimal(v, 40) if scalars.get("sigmoid") else oracle.exact(v) for v in values]
        stored_a = transposed(a) if scalars.get("ta") else a
        stored_b = transposed(b) if scalars.get("tb") else b
        flat = lambda rows: [x for row in rows for x in row]
        inputs = [(oracle.matrix_tensor("a", dtype, stored_a), flat(stored_a)),
                  (oracle.matrix_tensor("b", dtype, stored_b), flat(stored_b)),
                  (oracle.matrix_tensor("c_in", output, before), flat(before)) if before
                  else (f"c_in={output}[0x0]", None),
                  (f"bias=f32[{n}]", bias[0]) if bias else ("bias=f32[0]", None)]
        place = " in_place=c_in" if before else ""
        name = f"mpmath-{stem}"
        yield name + ".golden", oracle.golden_text(
            "matmul", "matmul_oracle.py", name, f"mpmath {oracle.MPMATH}, the exact sum of products with 120 digits",
            40, seed, inputs, [(f"c={output}[{m}x{n}]{place}", c)], knobs_of(scalars))
