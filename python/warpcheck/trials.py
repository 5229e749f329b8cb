"""`verify`: the properties of an operator on generated cases, and what came of them."""

from __future__ import annotations

import dataclasses
import pathlib
import tempfile
from typing import Any, Optional, Sequence

import numpy

from . import command
from .kernels import Kernel, options


def number(value: Any) -> float:
    """A number of the command's JSON, where NaN and infinities are text."""
    return float({"+inf": "inf", "-inf": "-inf", "nan": "nan"}.get(value, value))


@dataclasses.dataclass(frozen=True)
class Element:
    """One element of an output: what was expected of it, what it is, and how far apart they may be."""

    tensor: str
    row: int
    column: int
    input: float
    expected: float
    actual: float
    error: float
    bound: float

    @classmethod
    def of(cls, worst: dict[str, Any]) -> Element:
        values = {name: number(worst[name]) for name in ("input", "expected", "actual", "error", "bound")}
        return cls(worst["tensor"], worst["row"], worst["col"], **values)

    def __str__(self) -> str:
        return (
            f"{self.tensor}[{self.row}, {self.column}]: expected {self.expected!r}, actual {self.actual!r}, "
            f"error {self.error:.4g}, bound {self.bound:.4g}"
        )


@dataclasses.dataclass(frozen=True)
class Failure:
    """A case that failed; the first of a property is shrunk."""

    case: str  # its line
    verdict: str
    message: str
    cause: str  # failures with equal text have the same cause
    worst: Optional[Element]  # the worst element, if values are wrong
    neighbour: str  # the nearest case that passes, in words
    findings: tuple[str, ...]  # of the race detector
    _explanation: tuple[dict[str, Any], ...] = dataclasses.field(repr=False, default=())

    @property
    def name(self) -> str:
        """Operator and property."""
        words = self.case.split(" ")
        return words[1] if len(words) > 1 else ""

    @property
    def replay(self) -> str:
        """The command line that runs the case again."""
        return f"warpcheck replay '{self.case}'"

    def explain(self) -> str:
        """The case in words: what the contract demands, what the kernel gave, which step first departs."""
        if self._explanation:
            sections = ("\n".join([s["title"], *("  " + text for text in s["sentences"])]) for s in self._explanation)
            return "\n\n".join(sections)
        return command.run(["explain", self.case]).stdout

    def arrays(self) -> dict[str, numpy.ndarray[Any, Any]]:
        """The inputs of the case by name. NumPy has no bfloat16: such an input is a uint16 array of its bits."""
        with tempfile.TemporaryDirectory(prefix="warpcheck-") as folder:
            command.run(["replay", "--arrays", folder, self.case])
            found = {file.stem: numpy.load(file) for file in sorted(pathlib.Path(folder).glob("*.npy"))}
        # The command writes bfloat16 as NumPy's two-byte void.
        return {name: array.view("u2") if array.dtype.kind == "V" else array for name, array in found.items()}

    def __str__(self) -> str:
        lines = [f"{self.name}: {self.verdict}: {self.message}"]
        lines += [f"  {self.worst}"] if self.worst else []
        lines += [f"  {text}" for text in self.findings]
        return "\n".join([*lines, f"  {self.replay}"])


@dataclasses.dataclass(frozen=True)
class Result:
    """What `verify` found. `json` is all that the command wrote (docs/command.md)."""

    passed: bool
    verdicts: dict[str, str]  # operator/property -> the worst verdict of its element types
    worst_error_ratio: float  # the largest error as a part of what the contract allows; at most 1 if all is well
    cases: int
    device: str
    failures: tuple[Failure, ...]
    output: str = dataclasses.field(repr=False)
    json: dict[str, Any] = dataclasses.field(repr=False)

    @property
    def causes(self) -> tuple[Failure, ...]:
        """The first failure of each cause."""
        return tuple({f.cause: f for f in reversed(self.failures)}.values())[::-1]

    def report(self, path: str, title: str = "") -> None:
        """Writes the page of `warpcheck report`."""
        import json

        with tempfile.TemporaryDirectory(prefix="warpcheck-") as folder:
            file = pathlib.Path(folder) / "verify.json"
            file.write_text(json.dumps(self.json), encoding="utf-8")
            command.run(["report", "--verify", str(file), "--out", str(path), *(["--title", title] if title else [])])


def failure_of(report: dict[str, Any]) -> Failure:
    worst = report.get("worst")
    wrong = worst and not number(worst["error"]) <= number(worst["bound"])
    return Failure(
        report["case"],
        report["verdict"],
        report.get("message", ""),
        report["cause"],
        Element.of(worst) if wrong else None,
        report.get("neighbour", ""),
        tuple(report.get("findings", ())),
        tuple(report.get("explanation", ())),
    )


def _worst_verdicts(jobs: Sequence[dict[str, Any]]) -> dict[str, str]:
    """By property, over element types: a failure before a pass, a pass before what was not run."""
    found: dict[str, str] = {}
    rank = {"not run": 0, "not tried": 0, "skipped": 0, "pass": 1}
    for job in jobs:
        name = f"{job['operator']}/{job['property']}"
        if name not in found or rank.get(job["verdict"], 2) > rank.get(found[name], 2):
            found[name] = job["verdict"]
    return found


def verify(
    operator: str,
    kernel: Kernel = None,
    *,
    entry: Optional[str] = None,
    cases: int = 100,
    device: str = "auto",
    seed: Optional[int] = None,
    properties: Sequence[str] = (),
    dtypes: Sequence[str] = (),
    size: Optional[str] = None,
    workers: int = 0,
    more: Sequence[str] = (),
) -> Result:
    """Judges a kernel (kernels.options lists the kinds) of an operator on generated cases.

    `cases` are those of each property and element type. `more` are further options of `warpcheck verify`.
    UsageError, Missing: the command could not judge. A wrong kernel is a result whose `passed` is false.
    """
    arguments = ["verify", operator, *options(kernel, entry), "--cases", str(cases), "--workers", str(workers)]
    arguments += ["--device", device]
    arguments += ["--seed", str(seed)] if seed is not None else []
    arguments += ["--size", size] if size is not None else []
    arguments += [word for name in properties for word in ("--property", name)]
    arguments += [word for name in dtypes for word in ("--dtype", name)]
    content, printed = command.run_json([*arguments, *more])
    jobs = content["jobs"]
    return Result(
        content["exit_code"] == command.PASS,
        _worst_verdicts(jobs),
        max((number(job["max_error_ratio"]) for job in jobs if job["compared"]), default=0.0),
        sum(job["cases"] for job in jobs),
        content["device"],
        tuple(failure_of(report) for report in content["failures"]),
        printed,
        content,
    )
