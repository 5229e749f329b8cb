"""The command ci/gate: judges a tree against its base. docs/gate.md."""

import argparse
import json
import os
import pathlib
import subprocess
import sys

from .build_map import NoBuild
from .findings import KINDS, explain, to_github, to_json, to_junit, to_sarif, to_text
from .judging import judge
from .trees import HERE, Usage, has_gpu
from .trials import DEEP, WIDE, CannotJudge

VERSION = "1"


def tell(options, result):
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
    findings = json.loads(path.read_text())["findings"] if path.exists() else []
    of = [f for f in findings if options.explain in (f["kind"], f["name"])]
    kind = options.explain if options.explain in KINDS else of[0]["kind"] if of else None
    if kind is None:
        raise Usage(f"explain: '{options.explain}' is neither a finding of {path} nor one of {', '.join(KINDS)}")
    print(explain(kind, of))
    return 0


def parser():
    p = argparse.ArgumentParser(
        prog="ci/gate",
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Judges a tree against its base: properties with fixed seeds, golden data, accuracy, mutants and, on a\n"
        "GPU, time, of the operators that it touches; and whether the suite demands less than the base's.",
        epilog="Exit codes: 0 pass, 1 findings, 2 usage, 3 could not judge (never green).",
    )
    p.add_argument("--base", default="origin/main", help="the revision to judge against (default: origin/main)")
    p.add_argument("--tree", type=pathlib.Path, default=HERE, help="the tree on trial (default: this one)")
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
        "--explain", metavar="FINDING", help="what a finding of the last run, or a kind, means and how to reproduce it"
    )
    return p


def main(arguments):
    options = parser().parse_args(arguments)
    if options.cases is not None and options.cases < 1:
        print(f"gate: cases: {options.cases} is not at least 1", file=sys.stderr)
        return 2
    options.tree = options.tree.absolute()
    options.out = (options.out or options.tree / "build/gate").absolute()
    for name in ("candidate", "build", "base_build"):
        if path := getattr(options, name):
            if not path.exists():
                print(f"gate: {name.replace('_', '-')}: '{path}' is not there", file=sys.stderr)
                return 3
            setattr(options, name, path.absolute())
    if options.candidate:
        options.candidate = str(options.candidate)
    try:
        if options.explain:
            return explain_command(options)
        if options.device == "auto":
            options.device = "cuda" if has_gpu() else "emulated"
        elif options.device == "cuda" and not has_gpu():
            raise CannotJudge("device cuda was asked for, and there is no GPU here (nvidia-smi lists none)")
        result = judge(options)
        tell(options, result)
        return 1 if result["verdict"] == "findings" else 0
    except Usage as error:
        print(f"gate: {error}", file=sys.stderr)
        return 2
    except (CannotJudge, NoBuild, OSError, subprocess.SubprocessError, KeyError, ValueError) as error:
        print(f"gate: could not judge: {error}", file=sys.stderr)
        return 3
