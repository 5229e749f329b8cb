#!/usr/bin/env python3
"""Writes the golden files of logsumexp whose truth comes from outside: mpmath and SciPy.

  pip install mpmath==1.4.1 scipy==1.17.1
  golden/logsumexp/logsumexp_oracle.py golden            writes golden/logsumexp/*.golden
  golden/logsumexp/logsumexp_oracle.py golden --check    compares; exit code 1 if a file differs
  warpcheck golden regenerate logsumexp        then takes the new hashes into SHA256SUMS, if the reference agrees

The format of the files is described in golden/format.hpp.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
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


if __name__ == "__main__":
    sys.exit(oracle.main("logsumexp", __doc__, golden_files))
