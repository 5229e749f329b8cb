"""The command ci/gate: judges a tree against its base. docs/gate.md."""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import time

from . import registry as registries
from .build_map import ALL, BuildMap, NoBuild, compiled_judges, judges
from .findings import KINDS, counted, explain, place, to_github, to_json, to_junit, to_sarif, to_text
from .trials import DEEP, MANY_OPERATORS, WIDE, CannotJudge, Trials, court

HERE = pathlib.Path(__file__).resolve().parents[2]  # the judge's tree
VERSION = "1"


class Usage(Exception):
    pass


def git(tree, *arguments, check=True):
    r = subprocess.run(["git", "-C", str(tree), *arguments], capture_output=True, text=True)
    if check and r.returncode:
        raise Usage(f"git {' '.join(arguments)}: {r.stderr.strip()}")
    return r.stdout if r.returncode == 0 else None


def changed_lines(tree, base):
    """file -> first line of each hunk in the tree; a deleted file has line 1."""
    changed, current = {}, None
    for line in git(tree, "diff", "-U0", "--no-color", "--no-renames", base, "--").splitlines():
        if match := re.match(r"diff --git a/(.*) b/\1$", line):
            current = changed.setdefault(match[1], [])
        elif match := re.match(r"@@ -\S+ \+(\d+)", line):
            current.append(max(1, int(match[1])))
    for path in git(tree, "ls-files", "--others", "--exclude-standard").splitlines():
        changed.setdefault(path, [1])
    return changed


def shell(tree, text):
    return subprocess.run(["bash", "-c", f"source ci/common.sh; {text}"], cwd=tree)


def build_of(tree, device, targets):
    preset = "cuda" if device == "cuda" else "emulated"
    if shell(tree, f"install_packages build; build {preset} {targets} >&2").returncode:
        raise CannotJudge(f"building {tree} failed")
    return tree / "build" / preset


def base_tree(options, base):
    """A worktree of the base, where the judge itself is not one."""
    if git(HERE, "rev-parse", "HEAD", check=False) == git(options.tree, "rev-parse", base) and not git(
        HERE, "status", "--porcelain"
    ):
        return HERE
    folder = options.out / "base-tree"
    if not folder.exists():
        git(options.tree, "worktree", "prune")
        git(options.tree, "worktree", "add", "--detach", str(folder), base)
    git(folder, "checkout", "--quiet", "--detach", base)
    return folder


def has_gpu():
    return shell(HERE, "has_gpu").returncode == 0


def touched_operators(build_map, changed):
    touched = set()
    for path in changed:
        touched |= build_map.operators_of_file(path)
    return (
        (build_map.operators, False) if ALL in touched else ([op for op in build_map.operators if op in touched], True)
    )


def registry_step(options, base, head_build, program, trials):
    begin, before = time.monotonic(), len(trials.findings)
    text = git(options.tree, "show", f"{base}:golden/registry.json", check=False)
    if text is None:
        trials.step("registry", ["weakened"], 0, "not run", "the base has no golden/registry.json")
        trials.cut.append("the base has no golden/registry.json: nothing says whether the suite demands less")
        return
    head = registries.make(head_build, options.tree, program)
    trials.findings += registries.weakened(json.loads(text), head)
    failed = len(trials.findings) - before
    trials.step(
        "registry",
        ["weakened"],
        time.monotonic() - begin,
        "failed" if failed else "pass",
        "what the suite demands, against the base's golden/registry.json",
    )


def judge_once(options, name, program, golden_folder, operators, deep):
    t = Trials(
        program, options.tree, options.device, options.candidate, options.out / name, options.cases, options.property
    )
    t.properties(operators, deep)
    t.golden(operators, golden_folder)
    for f in t.findings:
        f.judge = name
    return t


def judge(options):
    begin = time.monotonic()
    base = git(options.tree, "merge-base", options.base, "HEAD", check=False)
    if base is None:
        raise CannotJudge(f"base: '{options.base}' has no common ancestor with HEAD here; fetch it (fetch-depth: 0)")
    base = base.strip()
    changed = changed_lines(options.tree, base)
    head_build = options.build or build_of(options.tree, options.device, "warpcheck_command_plain")
    program = head_build / "warpcheck"
    if not program.exists():
        raise CannotJudge(f"build: {program} is not there")
    operators, deep = touched_operators(BuildMap(head_build, options.tree), changed)
    deep = deep and len(operators) <= MANY_OPERATORS
    judged_by = judges(changed)
    options.out.mkdir(parents=True, exist_ok=True)
    every = Trials(
        program, options.tree, options.device, options.candidate, options.out, options.cases, options.property
    )
    if operators:
        # Where the pull request touches the judge, the base's judges its kernels; what it would say itself stands beside.
        if judged_by:
            tree = base_tree(options, base)
            base_program, golden_folder = program, tree / "golden"
            if compiled_judges(judged_by):
                judge_build = options.base_build or build_of(tree, options.device, "warpcheck_command_plain")
                base_program = court(options.out / "court", judge_build, head_build) / "warpcheck"
            said = [
                judge_once(options, "base", base_program, golden_folder, operators, deep),
                judge_once(options, "head", program, options.tree / "golden", operators, deep),
            ]
        else:
            said = [judge_once(options, "base", program, options.tree / "golden", operators, deep)]
        for t in said:
            who = (
                f" (the {t.findings[0].judge if t.findings else ('base', 'head')[said.index(t)]}'s judge)"
                if len(said) > 1
                else ""
            )
            every.steps += [s | {"name": s["name"] + who} for s in t.steps]
            every.findings += t.findings
            every.cut += [text for text in t.cut if text not in every.cut]
        if len(said) == 1:
            for f in every.findings:
                f.judge = ""
    else:
        every.step("properties, golden data", ["violation"], 0, "not run", "no operator is touched")
    registry_step(options, base, head_build, program, every)
    mutated = [op for op in operators if deep] if not options.candidate else []
    if mutated:
        every.mutants(str(program), mutated, lambda op: registries.mutants_of(options.tree, op))
    else:
        every.step(
            "mutants",
            ["survivor"],
            0,
            "not run",
            (
                "no operator of its own is touched"
                if not deep
                else "a candidate library has none" if options.candidate else "no operator is touched"
            ),
        )
        if operators and not deep and not options.candidate:
            every.cut.append("mutants: all operators are touched; the nightly tries them")
    if options.device == "cuda" and operators and not options.candidate:
        shell(HERE, "install_packages test; python_environment")  # compare.py and SciPy
        benches = " ".join(f"{op}_bench" for op in operators)
        base_build = options.base_build or build_of(base_tree(options, base), "cuda", benches)
        if not options.build:
            build_of(options.tree, "cuda", benches)
        every.timings(operators, base_build, head_build, options.history)
    else:
        every.step(
            "timing",
            ["slower"],
            0,
            "not run",
            (
                "no operator of its own is touched"
                if options.device == "cuda"
                else "timings are made on a GPU; here is no timing verdict"
            ),
        )
    return summarise(options, base, changed, every, judged_by, time.monotonic() - begin)


def summarise(options, base, changed, every, judged_by, seconds):
    text = os.environ.get("WARPCHECK_PULL_REQUEST_TEXT", "") + "\n" + (options.text.read_text() if options.text else "")
    text += "\n" + git(options.tree, "log", "--format=%B", f"{base}..HEAD")
    excuses = registries.excused(text)
    for f in every.findings:
        if f.kind in ("weakened", "less accurate"):
            f.note = excuses.get(f.name, "")
    place(every.findings, changed)
    for step in every.steps:
        if step["verdict"] == "failed" and not any(f.kind in step["kinds"] for f in counted(every.findings)):
            step["verdict"] = "allowed"
    short = lambda revision: git(options.tree, "rev-parse", "--short", revision).strip()
    return {
        "schema": "warpcheck-gate-1",
        "verdict": "findings" if counted(every.findings) else "pass",
        "base": short(base),
        "head": short("HEAD"),
        "device": options.device,
        "seconds": seconds,
        "steps": every.steps,
        "cut": every.cut,
        "judge": (
            "the base's and the tree's own, since it changes "
            + ", ".join(judged_by[:3])
            + (f" and {len(judged_by) - 3} more" if len(judged_by) > 3 else "")
            if judged_by
            else "the base's"
        ),
        "findings": every.findings,
    }


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
