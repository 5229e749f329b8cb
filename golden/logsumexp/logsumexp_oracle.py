"""Writes the golden files of logsumexp whose truth comes from outside: mpmath and SciPy."""

import oracle

if not oracle.PROBLEM:
    import scipy.special


def golden_files():
    """(file name, text) of every file."""
    return oracle.log_sum_files(
        "logsumexp", "max + log(sum exp(x - max))",
        by_mpmath=lambda row: [oracle.log_sum(row)],
        by_scipy=lambda row: [float(scipy.special.logsumexp(row))],
        result=lambda dtype, rows: f"y={dtype}[{len(rows)}]")
