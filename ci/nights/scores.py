"""Fetches the public suites of labelled races that are not there yet, and scores a part of each by ci/foreign. The exit
code is 1 if findings and labels disagree in a way that nobody judged before (ci/labelled)."""

import os
import pathlib
import subprocess
import sys

from gating.children import die_with_parent
from labelled.suites import SUITES, codes_of, how_to_fetch

from .shards import CannotRun, Interrupted

__all__ = ["SUITES", "fetched", "scored"]
FOREIGN = pathlib.Path(__file__).resolve().parents[1] / "foreign"


def fetched(folder, say):
    """The folder, which is named like its suite and fetched if it has no code."""
    suite = folder.name
    if not folder.is_dir() or not codes_of(suite, folder):
        say(f"{suite}: fetching it")
        folder.parent.mkdir(parents=True, exist_ok=True)
        done = subprocess.run(["bash", "-c", how_to_fetch(suite, suite)], cwd=folder.parent,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, preexec_fn=die_with_parent)
        if done.returncode:
            raise CannotRun(3, f"scores: {suite} cannot be fetched: {done.stderr.strip()[-300:]}")
    return folder


def scored(folder, program, words, stop):
    """Whether all disagreements with the labels of the suite are known. Writes SUITE.md and SUITE.json beside it."""
    suite = ["--suite", folder.name, folder, "--out", folder, "--warpcheck", program]
    command = [sys.executable, FOREIGN, *suite, "--jobs", str(os.cpu_count()), *words]
    process = subprocess.Popen(command, preexec_fn=die_with_parent)
    while True:
        try:
            code = process.wait(0.2)
            break
        except subprocess.TimeoutExpired:
            if stop():
                process.kill()
                process.wait()
                raise Interrupted(f"scores: interrupted; with --resume the same command goes on") from None
    if code not in (0, 1):
        raise CannotRun(3, f"scores: ci/foreign --suite {folder.name} {folder} ended with exit code {code}")
    return code == 0
