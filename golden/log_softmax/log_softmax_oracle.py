"""Writes the golden files of log_softmax whose truth comes from outside: mpmath and SciPy."""

import oracle

if not oracle.PROBLEM:
    import mpmath
    import scipy.special


def by_mpmath(row):
    """x - max - log(sum exp(x - max))"""
    log_sum = oracle.log_sum(row)
    return [mpmath.mpf(x) - log_sum for x in row]


def golden_files():
    """(file name, text) of every file."""
    return oracle.log_sum_files(
        "log_softmax", "x - max - log(sum exp(x - max))", by_mpmath,
        by_scipy=lambda row: [float(y) for y in scipy.special.log_softmax(row)],
        result=lambda dtype, rows: oracle.matrix_tensor("y", dtype, rows))
