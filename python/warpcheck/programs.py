"""`run_emulated` and `bench`: whole CUDA programs on the emulated device, and timings."""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import tempfile
from typing import Any, Optional, Sequence, Union

from . import command
from .kernels import Kernel, options


@dataclasses.dataclass(frozen=True)
class Hazard:
    """What the detector saw under one schedule."""

    kind: str  # race, out_of_bounds, uninitialized, ...
    text: str
    schedule: str


@dataclasses.dataclass(frozen=True)
class Report:
    """What `run_emulated` found. `json` is all that the command wrote (docs/run_emulated.md)."""

    passed: bool
    verdict: str  # pass, or the worst kind of hazard
    hazards: tuple[Hazard, ...]  # each text once
    output: str = dataclasses.field(repr=False)  # of the program and the command
    json: dict[str, Any] = dataclasses.field(repr=False)


def run_emulated(
    path: Union[str, "os.PathLike[str]"],
    args: Sequence[str] = (),
    *,
    defines: Sequence[str] = (),
    includes: Sequence[str] = (),
    schedules: Sequence[str] = (),
    more: Sequence[str] = (),
) -> Report:
    """Runs a CUDA program (one .cu file with main) on the emulated device under several schedules.

    Missing: there is no compiler; the message names its package.
    """
    arguments = ["run-emulated", os.fspath(path)]
    for option, values in (("-D", defines), ("-I", includes), ("--schedule", schedules)):
        arguments += [word for value in values for word in (option, value)]
    content, printed = command.run_json([*arguments, *more, *(["--", *args] if args else [])])
    seen: dict[str, Hazard] = {}
    for run in content["runs"]:
        for found in run["findings"]:
            seen.setdefault(found["text"], Hazard(found["kind"], found["text"], run["schedule"]))
    return Report(content["exit_code"] == 0, content["verdict"], tuple(seen.values()), printed, content)


@dataclasses.dataclass(frozen=True)
class Row:
    """A timed call; `values` has all that was measured of it (bench/README.md)."""

    name: str
    us: float  # of the median call
    fraction_of_limit: Optional[float]
    values: dict[str, Any] = dataclasses.field(repr=False)


def bench(
    operator: str,
    kernel: Kernel = None,
    *,
    entry: Optional[str] = None,
    device: str = "cuda",
    filter: Optional[str] = None,
    more: Sequence[str] = (),
) -> tuple[Row, ...]:
    """Times a kernel (kernels.options lists the kinds) beside the limits of the device.

    A kernel that is not built in is verified first. Missing: there is no GPU. WarpcheckError: the kernel failed its
    verification, or a row could not be measured.
    """
    with tempfile.TemporaryDirectory(prefix="warpcheck-") as folder:
        out = pathlib.Path(folder) / "bench.json"
        arguments = ["bench", operator, *options(kernel, entry), "--device", device]
        arguments += [f"--benchmark_out={out}", "--benchmark_out_format=json"]
        done = command.run([*arguments, *([f"--benchmark_filter={filter}"] if filter else []), *more])
        if done.returncode != command.PASS:
            raise command.WarpcheckError(done.stdout + done.stderr)
        rows = json.loads(out.read_text(encoding="utf-8"))["benchmarks"]
    return tuple(Row(r["name"], float(r["median_us"]), r.get("fraction_of_limit"), r) for r in rows if "median_us" in r)
