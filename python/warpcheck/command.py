"""The command of this package: where it is, how it is run, and what its exit codes mean."""

from __future__ import annotations

import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
from importlib import metadata
from typing import Any, Mapping, Optional, Sequence

PASS, VERDICT, USAGE, MISSING, INTERRUPTED = 0, 1, 2, 3, 130


class WarpcheckError(Exception):
    """The command gave no result."""


class UsageError(WarpcheckError, ValueError):
    """An argument is wrong; the message names it and what is allowed."""


class Missing(WarpcheckError, RuntimeError):
    """A device, a compiler or a library that was asked for is not there."""


class Interrupted(WarpcheckError, KeyboardInterrupt):
    """The command was interrupted."""


LOADING = "WARPCHECK_PYTHON_KERNEL"  # set in a process that runs a script for the kernel in it (kernels.py)


class KernelLoaded(BaseException):
    """The module that is loaded for its kernel calls the command itself: the rest of it is of no interest there."""


def path() -> str:
    """The command that this package runs: the one in the variable WARPCHECK_COMMAND, else the package's own."""
    return os.environ.get("WARPCHECK_COMMAND") or str(pathlib.Path(__file__).parent / "installed" / "bin" / "warpcheck")


def version() -> str:
    try:
        return metadata.version("warpcheck")
    except metadata.PackageNotFoundError:  # a source tree
        return "0+source"


def environment() -> Mapping[str, str]:
    """This process's, with the folder of this Python first on PATH: `report` and Python candidates run with it."""
    folder = os.path.dirname(sys.executable or "")
    return {**os.environ, "PATH": os.pathsep.join(p for p in (folder, os.environ.get("PATH", "")) if p)}


def sentence(text: str) -> str:
    """The last line of what the command said, which names the mistake."""
    lines = [line for line in text.strip().splitlines() if line.strip()]
    return lines[-1].replace("warpcheck: ", "", 1) if lines else "the command printed nothing"


def run(arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Runs the command. Returns it where its exit code is 0 or 1; else UsageError, Missing or Interrupted.

    KernelLoaded: this process runs a script for the kernel in it.
    """
    if os.environ.get(LOADING):
        raise KernelLoaded
    try:
        done = subprocess.run([path(), *arguments], capture_output=True, text=True, errors="replace", env=environment())
    except OSError as error:
        raise Missing(f"the command '{path()}' cannot be started: {error.strerror}") from error
    judge_exit(done.returncode, done.stdout, done.stderr)
    return done


def judge_exit(code: Optional[int], printed: str, errors: str) -> None:
    """Returns where the exit code is 0 or 1; else raises UsageError, Missing, Interrupted or WarpcheckError."""
    text = sentence(errors or printed)
    if code == USAGE:
        raise UsageError(text)
    if code == MISSING:
        raise Missing(text)
    if code == INTERRUPTED:
        raise Interrupted(text)
    if code not in (PASS, VERDICT):
        raise WarpcheckError(f"exit code {code}: {text}")


def run_json(arguments: Sequence[str]) -> tuple[dict[str, Any], str]:
    """Runs the command with --json. Returns what it wrote, and what it printed."""
    with tempfile.TemporaryDirectory(prefix="warpcheck-") as folder:
        file = pathlib.Path(folder) / "result.json"
        done = run([*arguments[:1], "--json", str(file), *arguments[1:]])
        return json.loads(file.read_text(encoding="utf-8")), done.stdout


def main() -> None:
    """The program `warpcheck`: this process becomes the command, or serves agents."""
    if sys.argv[1:2] == ["mcp"]:
        serve_agents(sys.argv[2:])
        return
    os.environ.update(environment())
    try:
        os.execv(path(), ["warpcheck", *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"warpcheck: the command '{path()}' cannot be started: {error.strerror}")


def serve_agents(arguments: Sequence[str]) -> None:
    if importlib.util.find_spec("mcp") is None:
        print(
            "warpcheck: mcp: the package mcp is missing; install it with pip install 'mcp>=2.3,<3', "
            "with Python 3.10 or later",
            file=sys.stderr,
        )
        sys.exit(MISSING)
    from . import mcp

    mcp.main(arguments)
