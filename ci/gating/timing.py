"""Slower or not: base and head as whole processes in turn, a U test over their medians, Holm over the rows, and a
second round for what the first calls slower. docs/gate.md has the rule and its reasons.

One process is one sample: within a process timings share addresses, clocks and neighbours, so that their number says
nothing about the next process.
"""

import dataclasses
import json
import math
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

PAIRS = (9, 17, 25)  # 9 is what compare.py calls enough; more where a row is undecided
ALPHA = 0.05
LEAST_SLOWDOWN = 0.05
SPREADS = 3  # how many of a row's own spread a slowdown must exceed
ROOT = pathlib.Path(__file__).resolve().parents[2]
COMPARE = "/usr/share/benchmark/compare.py"  # Debian: libbenchmark-tools


class CannotTime(Exception):
    pass


@dataclasses.dataclass
class Verdict:
    row: str
    ratio: float  # head's median over base's
    p: float  # after Holm
    pairs: int
    threshold: float  # of ratio - 1
    slower: bool

    def words(self):
        change = "slower" if self.ratio > 1 else "faster"
        size = f"{abs(self.ratio - 1) * 100:.1f} % {change} (more than {self.threshold * 100:.1f} % counts)"
        sure = "significant" if self.p <= ALPHA else "not significant"
        return f"{self.row}: {size}, {sure} (p = {self.p:.2g} after Holm, {self.pairs} pairs of processes)"


def turns(pairs):
    """A B B A A B ...: what drifts evenly meets both alike."""
    return [side for i in range(pairs) for side in (("base", "head") if i % 2 == 0 else ("head", "base"))]


def google_benchmark_json(samples, side):
    rows = [
        {
            "name": row,
            "run_name": row,
            "run_type": "iteration",
            "repetitions": len(both[side]),
            "repetition_index": i,
            "threads": 1,
            "iterations": 1,
            "real_time": time,
            "cpu_time": time,
            "time_unit": "us",
        }
        for row, both in samples.items()
        for i, time in enumerate(both[side])
    ]
    return {"context": {}, "benchmarks": rows}


def python():
    """One that has SciPy, which compare.py needs."""
    installed = ROOT / "build/python/bin/python"
    return str(installed) if installed.exists() else sys.executable


def p_values(samples):
    """row -> p of the two-sided U test of Google Benchmark's compare.py."""
    if not os.path.exists(COMPARE):
        raise CannotTime(f"{COMPARE} is not there; install the package libbenchmark-tools")
    with tempfile.TemporaryDirectory() as folder:
        files = {}
        for side in ("base", "head"):
            files[side] = pathlib.Path(folder) / f"{side}.json"
            files[side].write_text(json.dumps(google_benchmark_json(samples, side)))
        out = pathlib.Path(folder) / "out.json"
        r = subprocess.run(
            [
                python(),
                COMPARE,
                "--no-color",
                "-d",
                str(out),
                "benchmarks",
                str(files["base"]),
                str(files["head"]),
            ],
            capture_output=True,
            text=True,
        )
        if r.returncode or not out.exists():
            raise CannotTime(f"compare.py failed: {(r.stderr.strip() or r.stdout.strip()).splitlines()[-1:]}")
        found = {
            entry["name"]: entry["utest"]["time_pvalue"] for entry in json.loads(out.read_text()) if entry.get("utest")
        }
    missing = set(samples) - set(found)
    if missing:
        raise CannotTime(f"compare.py gave no p for {sorted(missing)[0]}")
    return found


def holm(p_of):
    """Adjusted p: S. Holm, A simple sequentially rejective multiple test procedure, Scand. J. Statist. 6, 1979."""
    adjusted, largest = {}, 0.0
    for i, row in enumerate(sorted(p_of, key=p_of.get)):
        largest = max(largest, min(1.0, (len(p_of) - i) * p_of[row]))
        adjusted[row] = largest
    return adjusted


def threshold_of(spread):
    return max(LEAST_SLOWDOWN, SPREADS * spread)


def judge(samples, spreads, p_of=None):
    """Verdicts of one round. `samples`: row -> {"base": medians of processes, "head": ...}; all of one operator.
    `spreads`: row -> standard deviation of the row's ratio between equal builds, in the history."""
    p_of = p_values(samples) if p_of is None else p_of
    adjusted = holm(p_of)
    verdicts = {}
    for row, both in samples.items():
        ratio = statistics.median(both["head"]) / statistics.median(both["base"])
        threshold = threshold_of(spreads.get(row, 0.0))
        verdicts[row] = Verdict(
            row, ratio, adjusted[row], len(both["base"]), threshold, adjusted[row] <= ALPHA and ratio - 1 > threshold
        )
    return verdicts


def undecided(verdict):
    """Whether more pairs could change the verdict: it is slower by half of what counts, and not yet surely so."""
    return not verdict.slower and verdict.ratio - 1 > verdict.threshold / 2


def one_round(measure, rows, spreads):
    samples = {row: {"base": [], "head": []} for row in rows}
    done = 0
    for pairs in PAIRS:
        for side in turns(pairs)[2 * done :]:
            for row, median in measure(side, rows).items():
                samples[row][side].append(median)
        done = pairs
        verdicts = judge(samples, spreads)
        if not any(undecided(v) for v in verdicts.values()):
            break
    return verdicts


def slower_rows(measure, rows, spreads):
    """(verdicts of the first round, those of rows that are slower in both). `measure(side, rows)` runs a process and
    gives row -> median."""
    first = one_round(measure, rows, spreads)
    suspects = [row for row, verdict in first.items() if verdict.slower]
    second = one_round(measure, suspects, spreads) if suspects else {}
    return first, {row: verdict for row, verdict in second.items() if verdict.slower}


def medians(program, rows):
    """Runs a benchmark of bench/ as one process: row -> median_us."""
    pattern = "^(" + "|".join(re.escape(row) for row in rows) + ")(/iterations:.*)?$"
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        r = subprocess.run(
            [program, f"--benchmark_filter={pattern}", f"--benchmark_out={file.name}", "--benchmark_out_format=json"],
            capture_output=True,
            text=True,
        )
        if r.returncode:
            raise CannotTime(f"{program}: exit code {r.returncode}: {r.stderr.strip()[-300:]}")
        entries = json.load(file)["benchmarks"]
    found = {}
    for entry in entries:
        if entry.get("error_occurred"):
            raise CannotTime(f"{entry['name']}: {entry.get('error_message')}")
        found[re.sub(r"/iterations:.*", "", entry["name"])] = entry["median_us"]
    if set(found) != set(rows):
        raise CannotTime(f"{program}: it has no row {sorted(set(rows) - set(found))[:1]}")
    return found


def rows_of(program, most):
    """At most so many rows of a benchmark, evenly spaced, and how many there are."""
    r = subprocess.run([program, "--benchmark_list_tests"], capture_output=True, text=True)
    rows = [re.sub(r"/iterations:.*", "", line) for line in r.stdout.split()]
    if r.returncode or not rows:
        raise CannotTime(f"{program}: it lists no rows: {r.stderr.strip()[-300:]}")
    chosen = [rows[i * len(rows) // most] for i in range(most)] if len(rows) > most else rows
    return chosen, len(rows)


def spreads_of(history_path):
    """row -> standard deviation of ln(ratio) over the A/A rows of the nights; {} where there is no history."""
    import sqlite3

    if not history_path or not os.path.exists(history_path):
        return {}
    with sqlite3.connect(history_path) as db:
        ratios = {}
        for name, value in db.execute("SELECT name, value FROM row WHERE kind = 'a/a'"):
            ratios.setdefault(name, []).append(math.log(value))
    return {name: statistics.stdev(values) for name, values in ratios.items() if len(values) >= 5}
