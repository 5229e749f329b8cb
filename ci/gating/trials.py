"""What the gate runs: properties with fixed seeds, golden data with the accuracy ratchet, mutants, timings."""

import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import time

from . import timing
from .findings import Finding

SEED = 1
DEEP, WIDE = 40, 20  # cases per (property, dtype)
MOST_MUTANTS = 40
MANY_OPERATORS = 3  # beyond, all are tried at quick size
BUDGET = {"properties": 360, "golden": 60, "mutants": 300}  # seconds, on two cores without a GPU
GPU_BUDGET = {"properties": 120, "golden": 30, "mutants": 90}
MOST_ROWS = 6  # of a benchmark: a pair of processes takes seconds, not minutes


class CannotJudge(Exception):
    pass


def court(folder, judge_build, tried_build):
    """A build folder of the judge's program and the kernels on trial; what it loads lies beside it."""
    judge_build, tried_build = pathlib.Path(judge_build), pathlib.Path(tried_build)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    shutil.copy2(judge_build / "warpcheck", folder / "warpcheck")  # a copy: it looks beside where it really lies
    for name in ("emulated", "race", "cuda"):
        library = tried_build / f"libwarpcheck_{name}.so"
        if library.exists():
            (folder / library.name).symlink_to(library.absolute())
    return folder


def run(command, seconds, cwd):
    """(exit code, output). At the end of its time it is interrupted, and keeps what is finished."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=cwd)
    try:
        output, _ = process.communicate(timeout=max(1.0, seconds))
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate()
    return process.returncode, output


class Trials:
    def __init__(self, program, tree, device, candidate, folder, cases=None, properties=()):
        self.program, self.tree, self.device, self.candidate = str(program), pathlib.Path(tree), device, candidate
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.budget = GPU_BUDGET if device == "cuda" else BUDGET
        self.cases, self.only = cases, list(properties)
        self.steps, self.findings, self.cut = [], [], []

    def step(self, name, kinds, seconds, verdict, detail):
        self.steps.append({"name": name, "kinds": kinds, "seconds": seconds, "verdict": verdict, "detail": detail})

    def on(self):
        return ["--device", self.device] + (["--candidate", self.candidate] if self.candidate else [])

    def properties(self, operators, deep):
        """Regressions first, then fixed seeds. Each operator has its share of the time that is left."""
        begin, cases, before = time.monotonic(), 0, len(self.findings)
        deadline = begin + self.budget["properties"]
        for i, op in enumerate(operators):
            result = self.folder / f"verify_{op}.json"
            shown = [
                "verify",
                op,
                *self.on(),
                "--seed",
                str(SEED),
                "--cases",
                str(self.cases or (DEEP if deep else WIDE)),
                "--size",
                "ci" if deep else "quick",
                *(x for name in self.only for x in ("--property", name)),
            ]
            command = [self.program, *shown, "--json", str(result)]
            if (self.tree / "golden/regressions").is_dir():
                command += ["--regressions", str(self.tree / "golden/regressions")]
            result.unlink(missing_ok=True)
            code, output = run(command, (deadline - time.monotonic()) / (len(operators) - i), self.tree)
            if code == 3 and self.candidate and f"offers no {op}" in output:
                self.cut.append(f"{op}: the candidate does not offer it")
                continue
            if code not in (0, 1, 130) or not result.exists():
                raise CannotJudge(f"verify {op}: exit code {code}: {output.strip().splitlines()[-1:]}")
            report = json.loads(result.read_text())
            cases += sum(job["cases"] for job in report["jobs"])
            self.take_verdicts(op, report, "warpcheck " + " ".join(shown))
            not_run = sorted({job["property"] for job in report["jobs"] if job["verdict"] == "not run"})
            if code == 130:
                self.cut.append(f"{op}: out of time; not run: {', '.join(not_run) or 'the last cases'}")
            if all(job["verdict"] == "not run" for job in report["jobs"]):
                raise CannotJudge(f"verify {op}: no case was judged in its time")
        if not deep:
            self.cut.append(
                f"{len(operators)} operators are touched: cases of size quick, {self.cases or WIDE} of each property "
                f"and dtype instead of {DEEP} of size ci"
            )
        if self.only:
            self.cut.append(f"only the properties {', '.join(self.only)}, as asked")
        if deep and self.cases and self.cases < DEEP:
            self.cut.append(f"{self.cases} cases of each property and dtype instead of {DEEP}, as asked")
        failed = len(self.findings) - before
        self.step(
            "properties",
            ["violation", "race", "quota"],
            time.monotonic() - begin,
            "failed" if failed else "pass",
            f"{cases} cases of {len(operators)} operators, seed {SEED}",
        )

    def take_verdicts(self, op, report, command):
        seen = set()
        for f in report["failures"]:
            if "case" not in f or not f["case"]:
                continue
            name = f["case"].split()[1]
            if (name, f["verdict"]) in seen:
                continue  # one report of each property and verdict
            seen.add((name, f["verdict"]))
            kind = "race" if f["verdict"] in ("race", "divergence", "deadlock", "livelock") else "violation"
            self.findings.append(
                Finding(
                    kind,
                    op,
                    name,
                    f"kernels/{op}.cu",
                    f"{name}: {f['verdict']}: {f['message']}",
                    f"warpcheck replay '{f['case']}'",
                )
            )
        for job in report["jobs"]:
            name = f"{op}/{job['property']}"
            if job["verdict"] not in ("pass", "skipped", "not run") and not any(n == name for n, _ in seen):
                self.findings.append(
                    Finding("violation", op, name, f"kernels/{op}.cu", f"{name}: {job['verdict']}", command)
                )
        if not report["interrupted"] and not self.only:
            for sentence in [*report["unreached_variants"], *report["unmet_classes"]]:
                text = sentence if isinstance(sentence, str) else json.dumps(sentence)
                self.findings.append(Finding("quota", op, f"{op}/quota", f"kernels/{op}.cu", f"{op}: {text}", command))

    def golden(self, operators, folder):
        """Known answers, oracles and the accuracy ratchet, by the judge's own data."""
        begin, before = time.monotonic(), len(self.findings)
        deadline = begin + self.budget["golden"]
        for i, op in enumerate(operators):
            command = [self.program, "golden", "check", op, "--folder", str(folder), *self.on(), "--ratchet"]
            code, output = run(command, (deadline - time.monotonic()) / (len(operators) - i), self.tree)
            if code == 130:
                self.cut.append(f"{op}: out of time; its golden data were not checked")
                continue
            if code == 3 and self.candidate and f"offers no {op}" in output:
                continue
            if code not in (0, 1):
                raise CannotJudge(f"golden check {op}: exit code {code}: {output.strip().splitlines()[-1:]}")
            again = " ".join(["warpcheck", *command[1:]])
            worse = re.findall(r"^less accurate: (.*)$", output, re.M)
            for sentence in worse:
                entry = sentence.split(":")[0].split(" ", 1)[-1]
                self.findings.append(
                    Finding(
                        "less accurate",
                        op,
                        f"{op}/profile {self.profiled(op)} {entry}",
                        f"kernels/{op}.cu",
                        sentence,
                        again,
                    )
                )
            if code == 1 and not worse:
                files = re.findall(r"^(\S+\.golden): ?(.*)$", output, re.M)
                for path, text in files[:5]:
                    self.findings.append(Finding("golden", op, path, f"kernels/{op}.cu", f"{path}: {text}", again))
                if not files:
                    self.findings.append(
                        Finding("golden", op, f"{op}/golden", f"golden/{op}", output.strip().splitlines()[-1], again)
                    )
        failed = len(self.findings) - before
        self.step(
            "golden data and accuracy",
            ["golden", "less accurate"],
            time.monotonic() - begin,
            "failed" if failed else "pass",
            f"{len(operators)} operators",
        )

    def profiled(self, op):
        """Of a GPU the architecture is part of the profile's name: cuda_sm_90."""
        device = "emulated" if self.device == "cpu" else self.device
        names = sorted(path.stem for path in (self.tree / "golden" / op).glob(f"profile_{device}*.json"))
        return names[0].removeprefix("profile_") if names else device

    def mutants(self, program, operators, listed):
        """Listed mutants of the touched operators, at most MOST_MUTANTS, drawn by seed; `program` is of the tree on trial."""
        begin, before = time.monotonic(), len(self.findings)
        everything = [(op, name) for op in operators for name in listed(op)]
        chosen = sorted(random.Random(SEED).sample(everything, min(MOST_MUTANTS, len(everything))))
        if len(chosen) < len(everything):
            self.cut.append(f"{len(chosen)} of {len(everything)} listed mutants, drawn with seed {SEED}")
        if not chosen:
            self.step("mutants", ["survivor"], 0, "not run", "the touched operators list none")
            return
        deadline, tried = begin + self.budget["mutants"], 0
        touched = sorted({op for op, _ in chosen})
        for i, op in enumerate(touched):
            result = self.folder / f"mutants_{op}.json"
            result.unlink(missing_ok=True)
            only = [x for o, name in chosen if o == op for x in ("--only", name)]
            code, output = run(
                [program, "mutants", op, *only, "--json", str(result)],
                (deadline - time.monotonic()) / (len(touched) - i),
                self.tree,
            )
            if code not in (0, 1, 130):
                raise CannotJudge(f"mutants {op}: exit code {code}: {output.strip().splitlines()[-1:]}")
            done = json.loads(result.read_text())["mutants"] if result.exists() else []
            tried += len(done)
            if code == 130:
                self.cut.append(f"{op}: out of time after {len(done)} of {len(only) // 2} mutants")
            for m in done:
                if m["outcome"] != "killed" or not m["as_expected"]:
                    self.findings.append(
                        Finding(
                            "survivor",
                            op,
                            f"{op}/{m['id']}",
                            f"ci/mutate/{op}.mutants",
                            f"{op}/{m['id']}: {m['outcome']}, to be killed by {m['expected']}",
                            f"warpcheck mutants {op} --only {m['id']}",
                        )
                    )
        failed = len(self.findings) - before
        self.step(
            "mutants",
            ["survivor"],
            time.monotonic() - begin,
            "failed" if failed else "pass" if tried else "not run",
            f"{tried} of {len(everything)} listed",
        )

    def timings(self, operators, base_build, head_build, history):
        begin, before, rows_timed = time.monotonic(), len(self.findings), 0
        spreads = timing.spreads_of(history)
        for op in operators:
            programs = {"base": f"{base_build}/{op}_bench", "head": f"{head_build}/{op}_bench"}
            if not all(os.access(path, os.X_OK) for path in programs.values()):
                self.cut.append(f"{op}: one of its builds has no benchmark; no timing")
                continue
            try:
                rows, all_rows = timing.rows_of(programs["base"], MOST_ROWS)
                if len(rows) < all_rows:
                    self.cut.append(f"{op}: {len(rows)} of {all_rows} rows of its benchmark")
                first, slower = timing.slower_rows(
                    lambda side, some: timing.medians(programs[side], some), rows, spreads
                )
            except timing.CannotTime as error:
                raise CannotJudge(f"timing of {op}: {error}")
            rows_timed += len(first)
            for row, verdict in slower.items():
                self.findings.append(
                    Finding(
                        "slower",
                        op,
                        f"{op}/{row}",
                        f"kernels/{op}.cu",
                        verdict.words(),
                        f"{programs['head']} --benchmark_filter='{row}'",
                    )
                )
        self.step(
            "timing",
            ["slower"],
            time.monotonic() - begin,
            "failed" if len(self.findings) > before else "pass" if rows_timed else "not run",
            f"{rows_timed} rows, base and head in turn",
        )
