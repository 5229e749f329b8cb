"""Writes the golden files of sigmoid whose truth comes from outside: mpmath and SciPy."""

import oracle
from oracle import MPMATH, SCIPY, decimal, uniform

if not oracle.PROBLEM:
    import mpmath
    import scipy.special


def by_mpmath(x, mu, sigma):
    """1/(1 + exp(-(x - mu) sigma)) with 60 digits, rounded to 40."""
    with mpmath.workdps(60):
        z = (mpmath.mpf(x) - mpmath.mpf(mu)) * mpmath.mpf(sigma)
        return decimal(1 / (1 + mpmath.exp(-z)), 40)


def by_scipy(x, mu, sigma):
    """scipy.special.expit in double precision, 12 digits; x, mu and sigma are such that z is exact in double."""
    z = (x - mu) * sigma
    with mpmath.workdps(60):
        assert mpmath.mpf(z) == (mpmath.mpf(x) - mpmath.mpf(mu)) * mpmath.mpf(sigma)
        return decimal(mpmath.mpf(float(scipy.special.expit(z))), 12)


def cases():
    """name, oracle, seed, dtype, x, mu, sigma; each with the reason for its numbers."""

    def row(seed, dtype, n, low, high):
        return uniform(seed, dtype, 1, n, low, high)[0]

    mp, sp = "mpmath", "scipy"
    yield "narrow", mp, 1, "f32", row(1, "f32", 65, -2, 2), 0, 1
    yield "wide", mp, 2, "f32", row(2, "f32", 65, -60, 60), 0, 1
    yield "to-subnormal", mp, 3, "f32", row(3, "f32", 129, -104, -80), 0, 1  # results down to the smallest subnormal
    yield "shifted", mp, 4, "f32", row(4, "f32", 33, -20, 20), 3, 0.5
    yield "falling", mp, 5, "f32", row(5, "f32", 33, -9, 9), 0.25, -1.5
    yield "near-mu", mp, 6, "f32", [1e4 + x for x in (-0.0009765625, 0.0009765625, 0.01171875)], 1e4, 7.5
    yield "half", mp, 7, "f16", row(7, "f16", 65, -17, 12), 0, 1
    yield "bfloat", mp, 8, "bf16", row(8, "bf16", 65, -95, 12), 0, 1
    yield "narrow", sp, 9, "f32", row(9, "f32", 65, -2, 2), 0, 1
    yield "tail", sp, 10, "f32", [-103.5, -95, -89, -88.75, -60, -20, -16.75, 16.75, 88.75], 0, 1


def golden_files():
    """(file name, text) of every file."""
    oracles = {
        "mpmath": (by_mpmath, 40, f"mpmath {MPMATH}, 1/(1 + exp(-z)) with 60 digits"),
        "scipy": (by_scipy, 12, f"SciPy {SCIPY}, scipy.special.expit in double precision"),
    }
    for stem, by, seed, dtype, x, mu, sigma in cases():
        compute, digits, source = oracles[by]
        name = f"{by}-{stem}"
        knobs = " ".join(f"{k}={v}" for k, v, d in (("mu", mu, 0), ("sigma", sigma, 1)) if v != d)
        yield name + ".golden", oracle.golden_text(
            "sigmoid", "sigmoid_oracle.py", name, source, digits, seed, [(f"x={dtype}[{len(x)}]", x)],
            [(f"y={dtype}[{len(x)}]", [compute(v, mu, sigma) for v in x])], knobs)
