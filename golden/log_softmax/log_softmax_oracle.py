#!/usr/bin/env python3
"""Writes the golden files of log_softmax whose truth comes from outside: mpmath and SciPy.

  pip install mpmath==1.4.1 scipy==1.17.1
  golden/log_softmax/log_softmax_oracle.py golden            writes golden/log_softmax/*.golden
  golden/log_softmax/log_softmax_oracle.py golden --check    compares; exit code 1 if a file differs
  warpcheck golden regenerate log_softmax        then takes the new hashes into SHA256SUMS, if the reference agrees

The format of the files is described in golden/format.hpp.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
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


if __name__ == "__main__":
    sys.exit(oracle.main("log_softmax", __doc__, golden_files))
