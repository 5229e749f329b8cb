"""The corpora of the parser fuzzers (tests/parsers): fuzzed with a new seed, merged with what covers more.

    corpora/case/found/    what libFuzzer keeps between runs
    corpora/case/merged/   the committed corpus and those of the found inputs that cover what it does not
    corpora/case/failed/   inputs that crash, hang or use too much memory
"""

import hashlib
import os
import pathlib
import shutil
import subprocess

from gating.children import die_with_parent

from .shards import CannotRun, Interrupted

TARGETS = ("case", "formula", "npy", "reader")  # case lines, formulas, .npy arrays, golden files
LIMITS = ["-max_len=4096", "-rss_limit_mb=2048", "-timeout=25"]
NAME_DIGITS = 12  # of the hash of its content, as the names of the committed inputs


def run(command, log, stop):
    with open(log, "a") as file:
        process = subprocess.Popen(command, stdout=file, stderr=file, preexec_fn=die_with_parent)
        while True:
            try:
                return process.wait(0.2)
            except subprocess.TimeoutExpired:
                if stop():
                    process.kill()
                    process.wait()
                    raise Interrupted("corpora: interrupted; what was found is kept")


def contents(folder):
    """name of its content -> file"""
    files = (path for path in sorted(pathlib.Path(folder).iterdir()) if path.is_file())
    return {hashlib.sha1(path.read_bytes()).hexdigest()[:NAME_DIGITS]: path for path in files}


def fuzz(program, corpus, folder, seconds, seed, stop):
    """Fuzzes from the corpus and from what earlier runs found; returns the inputs that fail."""
    found, failed = folder / "found", folder / "failed"
    for path in (found, failed):
        path.mkdir(parents=True, exist_ok=True)
    command = [program, f"-max_total_time={seconds}", f"-seed={seed}", f"-artifact_prefix={failed}/", *LIMITS]
    code = run([*command, found, corpus], folder / "log", stop)
    if code == 0:
        return []
    if not (inputs := sorted(failed.iterdir())):
        raise CannotRun(3, f"corpora: {program} ended with exit code {code}; {folder / 'log'} has the reason")
    return inputs


def merge(program, corpus, folder, stop):
    """Adds to the corpus what covers more than it does, smallest inputs first; returns the names that are new.

    libFuzzer merges until that adds nothing: what a process does only once counts for the input that it reads first,
    and a corpus that has grown is read in another order.
    """
    merged = folder / "merged"
    shutil.rmtree(merged, ignore_errors=True)
    shutil.copytree(corpus, merged)
    had = before = contents(corpus)
    while True:
        code = run([program, "-merge=1", *LIMITS, merged, folder / "found"], folder / "log", stop)
        if code:
            raise CannotRun(3, f"corpora: merging ended with exit code {code}; {folder / 'log'} has the reason")
        after = contents(merged)
        for name in after.keys() - before.keys():
            os.replace(after[name], merged / name)
        if after.keys() == before.keys():
            return sorted(after.keys() - had.keys())
        before = after


def of_target(program, corpus, folder, seconds, seed, write, stop, say):
    """Fuzzes and merges one corpus; whether an input failed."""
    folder.mkdir(parents=True, exist_ok=True)
    failures = fuzz(program, corpus, folder, seconds, seed, stop)
    for path in failures:
        say(f"{folder.name}: an input fails: {program} {path}")
    new = merge(program, corpus, folder, stop)
    had = len(contents(corpus))
    if write:
        for name in new:
            shutil.copy2(folder / "merged" / name, corpus / name)
    say(
        f"{folder.name}: {len(new)} inputs are new beside the {had} of the corpus"
        + (f"; they are in {corpus if write else folder / 'merged'}" if new else "")
    )
    return bool(failures)
