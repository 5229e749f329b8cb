"""Tests GPU kernels against high-precision reference models: the command `warpcheck`, from Python.

    import numpy, warpcheck

    def softmax(x, y):  # inputs, then outputs to be written
        x, y = numpy.asarray(x), numpy.asarray(y)
        ...

    result = warpcheck.verify("softmax", softmax, cases=20)
    print(result.verdicts, result.worst_error_ratio)
    for failure in result.failures:
        print(failure.replay)

Every function runs the command and reads the JSON that it writes; docs/python.md describes them.
"""

from .command import Interrupted, Missing, UsageError, WarpcheckError, version
from .judging import Bound, Judgement, bound, check
from .programs import Hazard, Report, Row, bench, run_emulated
from .trials import Element, Failure, Result, verify

__version__ = version()
__all__ = [
    "Bound",
    "Element",
    "Failure",
    "Hazard",
    "Interrupted",
    "Judgement",
    "Missing",
    "Report",
    "Result",
    "Row",
    "UsageError",
    "WarpcheckError",
    "bench",
    "bound",
    "check",
    "run_emulated",
    "verify",
]
