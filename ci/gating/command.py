"""The command ci/gate: judges a tree against its base. docs/gate.md."""

import argparse
import json
import os
import pathlib
import signal
import sqlite3
import subprocess
import sys

from .build_map import NoBuild
from .findings import KINDS, explain, to_github, to_json, to_junit, to_sarif, to_text
from .judging import judge
from .trees import HERE, Usage, has_gpu
from .trials import DEEP, WIDE, CannotJudge

VERSION = "1"
OUTPUTS = ("gate.json", "gate.xml", "gate.md", "gate.sarif")


def report(options, result):
    out = options.out
    text = to_text(result)
    (out / "gate.json").write_text(to_json(result))
    (out / "gate.xml").write_text(to_junit(result["steps"], result["findings"]))
    (out / "gate.md").write_text(text)
    (out / "gate.sarif").write_text(to_sarif(result["findings"], VERSION))
    if "github" in options.format:
        if annotations := to_github(result["findings"]):
            print(annotations)
        if step := os.environ.get("GITHUB_STEP_SUMMARY"):
            with open(step, "a") as file:
                file.write(text)
    print(text, end="")


def explain_command(options):
    path = options.out / "gate.json"
    try:
        findings = json.loads(path.read_text())["findings"] if path.exists() else []
        of = [f for f in findings if options.explain in (f["kind"], f["name"])]
        kinds = [options.explain] if options.explain in KINDS else [k for k in KINDS if any(f["kind"] == k for f in of)]
        text = "\n\n".join(explain(kind, [f for f in of if f["kind"] == kind]) for kind in kinds)
    except (KeyError, TypeError, ValueError) as error:
        raise Usage(f"explain: '{path}' is not a gate.json of this gate ({said_of(error)}); another run writes it anew")
    if not kinds:
        raise Usage(f"explain: '{options.explain}' is neither a finding of {path} nor one of {', '.join(KINDS)}")
    print(text)
    return 0


def parser():
    p = argparse.ArgumentParser(
        prog="ci/gate",
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Judges a tree against its base: properties with fixed seeds, golden data, accuracy, mutants and,\n"
        "on a GPU, time, of the operators that it touches; and whether the suite demands less than the base's.",
        epilog="Exit codes: 0 pass, 1 findings, 2 usage, 3 could not judge (never green), 130 interrupted.",
    )
    p.add_argument("--base", default="origin/main", help="the revision to judge against (default: origin/main)")
    p.add_argument("--tree", type=pathlib.Path, default=HERE, help="the tree to judge (default: this one)")
    p.add_argument("--device", default="auto", choices=["auto", "emulated", "cuda", "cpu"])
    p.add_argument(
        "--format",
        action="append",
        choices=["text", "github", "sarif"],
        default=[],
        help="github: annotations and step summary; files of all formats are written always",
    )
    p.add_argument(
        "--out", type=pathlib.Path, help="folder of gate.json, .xml, .md, .sarif (default: build/gate of the tree)"
    )
    p.add_argument(
        "--text", type=pathlib.Path, help="a file with the pull request's text, for lines 'weakens: NAME: reason'"
    )
    p.add_argument("--history", type=pathlib.Path, help="nightly.db, for the spread of timings")
    p.add_argument(
        "--cases",
        type=int,
        help=f"of each property and dtype (default: {DEEP}, or {WIDE} where many operators are touched)",
    )
    p.add_argument("--property", action="append", default=[], help="only this property (may be repeated)")
    p.add_argument("--candidate", type=pathlib.Path, help="judge this candidate library instead of the tree's kernels")
    p.add_argument("--build", type=pathlib.Path, help="a finished build of the tree (default: it is built)")
    p.add_argument(
        "--base-build", type=pathlib.Path, help="a finished build of the base (default: it is built where needed)"
    )
    p.add_argument(
        "--explain", metavar="FINDING", help="explain a finding of the last run or a kind of finding"
    )
    return p


def said_of(error):
    return f"{type(error).__name__}: {error}" if isinstance(error, (KeyError, TypeError)) else str(error)


def missing_of(options):
    """What an option names and is not there, as a sentence; the paths of all others become absolute."""
    for name in ("tree", "candidate", "build", "base_build", "text", "history"):
        if path := getattr(options, name):
            if not path.exists():
                return f"{name.replace('_', '-')}: '{path}' is not there"
            setattr(options, name, path.absolute())


def judge_and_tell(options):
    if options.device == "auto":
        options.device = "cuda" if has_gpu() else "emulated"
    elif options.device == "cuda" and not has_gpu():
        raise CannotJudge("device cuda was asked for, and there is no GPU here (nvidia-smi lists none)")
    result = judge(options)
    report(options, result)
    return {"pass": 0, "findings": 1, "interrupted": 130}[result["verdict"]]


def main(arguments):
    options = parser().parse_args(arguments)
    if options.cases is not None and options.cases < 1:
        print(f"gate: cases: {options.cases} is not at least 1", file=sys.stderr)
        return 2
    options.out = (options.out or options.tree / "build/gate").absolute()
    if not options.explain:  # a run that cannot judge must not leave the verdict of another
        for name in OUTPUTS:
            (options.out / name).unlink(missing_ok=True)
    if missing := missing_of(options):
        print(f"gate: {missing}", file=sys.stderr)
        return 3
    if options.candidate:
        options.candidate = str(options.candidate)
    for name in (signal.SIGINT, signal.SIGTERM):  # a shell's background job ignores the first otherwise
        signal.signal(name, signal.default_int_handler)
    try:
        return explain_command(options) if options.explain else judge_and_tell(options)
    except Usage as error:
        print(f"gate: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("gate: interrupted before anything was judged", file=sys.stderr)
        return 130
    except (CannotJudge, NoBuild, OSError, subprocess.SubprocessError, sqlite3.Error, KeyError, ValueError) as error:
        print(f"gate: could not judge: {said_of(error)}", file=sys.stderr)
        return 3
