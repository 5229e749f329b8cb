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
from .children import die_with_parent
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


def judging_folder(folder, judge_build, tried_build):
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
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=cwd, preexec_fn=die_with_parent
    )
    try:
        output, _ = process.communicate(timeout=max(1.0, seconds))
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate()
    except KeyboardInterrupt:  # which a terminal sends to the child, too, and a caller with the process's id does not
        process.send_signal(signal.SIGINT)
        process.communicate()
        raise
    # It may have had no time even to ask for the signal.
    return 130 if process.returncode == -signal.SIGINT else process.returncode, output


def last_line(output):
    return (output.strip().splitlines() or ["it said nothing"])[-1]


class Trials:
    def __init__(self, program, tree, device, candidate, folder, cases=None, properties=(), judges=1):
        """`judges`: how many of them judge the same kernels, and share the time."""
        self.program, self.tree, self.device, self.candidate = str(program), pathlib.Path(tree), device, candidate
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        budget = GPU_BUDGET if device == "cuda" else BUDGET
        self.budget = {step: most / (1 if step == "mutants" else judges) for step, most in budget.items()}
        self.cases, self.only = cases, list(properties)
        self.steps, self.findings, self.cut = [], [], []
        self.unjudged = []  # operators of which no case was judged in its time

    def step(self, name, kinds, seconds, verdict, detail):
        self.steps.append({"name": name, "kinds": kinds, "seconds": seconds, "verdict": verdict, "detail": detail})

    def on(self):
        return ["--device", self.device] + (["--candidate", self.candidate] if self.candidate else [])

    def properties(self, operators, deep, regressions):
        """Regressions first, then fixed seeds. Each operator has its share of the time that is left."""
        begin, cases, before = time.monotonic(), 0, len(self.findings)
        deadline = begin + self.budget["properties"]
        for i, op in enumerate(operators):
            cases += self.verify(op, deep, regressions, (deadline - time.monotonic()) / (len(operators) - i))
        if not deep:
            self.cut.append(
                f"{len(operators)} operators are touched: cases of size quick, {self.cases or WIDE} of each property "
                f"and dtype instead of {DEEP} of size ci"
            )
        if self.only:
            self.cut.append(f"only the properties {', '.join(self.only)}, as asked")
        if deep and self.cases and self.cases < DEEP:
            self.cut.append(f"{self.cases} cases of each property and dtype instead of {DEEP}, as asked")
        verdict = "failed" if len(self.findings) > before else "pass"
        said = f"{cases} cases of {len(operators)} operators, seed {SEED}"
        self.step("properties", ["violation", "race", "coverage"], time.monotonic() - begin, verdict, said)

    def verify(self, op, deep, regressions, seconds):
        """Takes the verdicts of one operator's properties; returns how many cases were judged."""
        result = self.folder / f"verify_{op}.json"
        result.unlink(missing_ok=True)
        size = ["--cases", str(self.cases or (DEEP if deep else WIDE)), "--size", "ci" if deep else "quick"]
        only = [x for name in self.only for x in ("--property", name)]
        shown = ["verify", op, *self.on(), "--seed", str(SEED), *size, *only]
        command = [self.program, *shown, "--json", str(result)]
        if regressions.is_dir():
            command += ["--regressions", str(regressions)]
        code, output = run(command, seconds, self.tree)
        if code == 3 and self.candidate and f"offers no {op}" in output:
            self.cut.append(f"{op}: the candidate does not offer it")
            return 0
        if code not in (0, 1, 130) or not result.exists():
            raise CannotJudge(f"verify {op}: exit code {code}: {last_line(output)}")
        report = json.loads(result.read_text())
        self.take_verdicts(op, report, "warpcheck " + " ".join(shown))
        not_run = sorted({job["property"] for job in report["jobs"] if job["verdict"] == "not run"})
        if code == 130:
            self.cut.append(f"{op}: out of time; not run: {', '.join(not_run) or 'the last cases'}")
        if all(job["verdict"] == "not run" for job in report["jobs"]):
            self.unjudged.append(op)
        return sum(job["cases"] for job in report["jobs"])

    def take_verdicts(self, op, report, command):
        seen, causes = set(), {}
        for f in report["failures"]:
            if "case" not in f or not f["case"]:
                continue
            name = f["case"].split()[1]
            if (name, f["verdict"]) in seen:
                continue  # one report of each property and verdict
            seen.add((name, f["verdict"]))
            if f["cause"] in causes:
                causes[f["cause"]].also.append(name)
                continue
            kind = "race" if f["verdict"] in ("race", "divergence", "deadlock", "livelock") else "violation"
            causes[f["cause"]] = Finding(
                kind,
                op,
                name,
                f"kernels/{op}/{op}.cu",
                f"{name}: {f['verdict']}: {f['message']}",
                f"warpcheck replay '{f['case']}'",
            )
        for finding in causes.values():
            finding.say_also()
        self.findings += causes.values()
        for job in report["jobs"]:
            name = f"{op}/{job['property']}"
            if job["verdict"] not in ("pass", "skipped", "not run") and not any(n == name for n, _ in seen):
                self.findings.append(
                    Finding("violation", op, name, f"kernels/{op}/{op}.cu", f"{name}: {job['verdict']}", command)
                )
        if not report["interrupted"] and not self.only:
            for sentence in [*report["unreached_variants"], *report["unmet_classes"]]:
                text = sentence if isinstance(sentence, str) else json.dumps(sentence)
                self.findings.append(Finding("coverage", op, f"{op}/coverage", f"kernels/{op}/{op}.cu", f"{op}: {text}",
                                             command))

    def golden(self, operators, folder):
        """Known answers, oracles and the accuracy ratchet, by the judge's own data."""
        begin, before, checked = time.monotonic(), len(self.findings), 0
        deadline = begin + self.budget["golden"]
        for i, op in enumerate(operators):
            checked += self.golden_of(op, folder, (deadline - time.monotonic()) / (len(operators) - i))
        failed = len(self.findings) > before
        verdict = "failed" if failed else "pass" if checked else "not run"
        said, kinds = f"{checked} of {len(operators)} operators", ["golden", "less accurate"]
        self.step("golden data and accuracy", kinds, time.monotonic() - begin, verdict, said)

    def golden_of(self, op, folder, seconds):
        """Whether the golden data of one operator were checked."""
        command = [self.program, "golden", "check", op, "--folder", str(folder), *self.on(), "--ratchet"]
        code, output = run(command, seconds, self.tree) if seconds > 0 else (130, "")
        if code == 130:
            self.cut.append(f"{op}: out of time; its golden data were not checked")
            return False
        if code == 3 and self.candidate and f"offers no {op}" in output:
            return False
        if code not in (0, 1):
            raise CannotJudge(f"golden check {op}: exit code {code}: {last_line(output)}")
        again, kernel = " ".join(["warpcheck", *command[1:]]), f"kernels/{op}/{op}.cu"
        worse = re.findall(r"^less accurate: (.*)$", output, re.M)
        for sentence in worse:
            entry = sentence.split(":")[0].split(" ", 1)[-1]
            name = f"{op}/profile {self.profiled(op)} {entry}"
            self.findings.append(Finding("less accurate", op, name, kernel, sentence, again))
        files = re.findall(r"^(\S+\.golden): ?(.*)$", output, re.M) if code == 1 else []
        for path, text in files[:5]:
            self.findings.append(Finding("golden", op, path, kernel, f"{path}: {text}", again))
        if code == 1 and not worse and not files:
            self.findings.append(Finding("golden", op, f"{op}/golden", f"golden/{op}", last_line(output), again))
        return True

    def profiled(self, op):
        """Of a GPU the architecture is part of the profile's name: cuda_sm_90."""
        device = "emulated" if self.device == "cpu" else self.device
        names = sorted(path.stem for path in (self.tree / "golden" / op).glob(f"profile_{device}*.json"))
        return names[0].removeprefix("profile_") if names else device

    def mutants(self, program, operators, listed):
        """Listed mutants of these operators, at most MOST_MUTANTS, drawn by seed; `program` is of the tree on trial."""
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
            seconds = (deadline - time.monotonic()) / (len(touched) - i)
            tried += self.mutants_of(program, op, [name for o, name in chosen if o == op], seconds)
        failed = len(self.findings) > before
        verdict = "failed" if failed else "pass" if tried else "not run"
        said = f"{tried} of {len(everything)} listed"
        self.step("mutants", ["survivor"], time.monotonic() - begin, verdict, said)

    def mutants_of(self, program, op, names, seconds):
        """Takes these mutants of one operator into the findings; returns how many were tried."""
        result, file = self.folder / f"mutants_{op}.json", f"ci/mutate/{op}.mutants"
        result.unlink(missing_ok=True)
        only = [x for name in names for x in ("--only", name)]
        command = [program, "mutants", op, *only, "--json", str(result)]
        code, output = run(command, seconds, self.tree) if seconds > 0 else (130, "")
        if code == 2:
            # A kernel was changed where a mutant changes it, and the list still holds the old text.
            sentence = f"{op}: its list of mutants cannot be used: {last_line(output)}"
            self.findings.append(
                Finding("survivor", op, f"{op}/mutants", file, sentence, f"warpcheck mutants {op} {' '.join(only)}")
            )
            return 0
        if code not in (0, 1, 130):
            raise CannotJudge(f"mutants {op}: exit code {code}: {last_line(output)}")
        done = json.loads(result.read_text())["mutants"] if result.exists() else []
        if code == 130:
            self.cut.append(f"{op}: out of time after {len(done)} of {len(names)} mutants")
        for m in done:
            if m["outcome"] != "killed" or not m["as_expected"]:
                sentence = f"{op}/{m['id']}: {m['outcome']}, to be killed by {m['expected']}"
                again = f"warpcheck mutants {op} --only {m['id']}"
                self.findings.append(Finding("survivor", op, f"{op}/{m['id']}", file, sentence, again))
        return len(done)

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
                        f"kernels/{op}/{op}.cu",
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
