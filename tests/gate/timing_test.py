"""ci/gating/timing.py on recorded data: medians of bench/baselines, resampled as processes differ. Run by CTest."""

import json
import math
import os
import pathlib
import random
import re
import sqlite3
import stat
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ["WARPCHECK_SOURCE"])
sys.dont_write_bytecode = True
sys.path.insert(0, str(SOURCE / "ci"))
from gating import timing  # noqa: E402

if not os.path.exists(timing.COMPARE):
    print("WARPCHECK_SKIP: libbenchmark-tools is not installed (ci/packages)")
    sys.exit(0)
try:
    import scipy.stats  # noqa: F401
except ImportError:
    print("WARPCHECK_SKIP: scipy is not installed (ci/requirements.txt)")
    sys.exit(0)
sys.path.insert(0, os.path.dirname(timing.COMPARE))
from gbench import report  # noqa: E402

RESAMPLES = 100
BYTES = {"f32": 4, "f16": 2, "bf16": 2}
BASELINE = json.loads((SOURCE / "bench/baselines/nvidia_h200/softmax.json").read_text())["rows"]
RECORDED = {row["name"]: row for row in BASELINE[::3]}


def spread_of(name):
    """How processes differ: 3 % where a row moves about 1 MB (docs/performance.md), which bootstrap intervals within
    one process (the baselines' ratios) do not show; large rows a fifth of that."""
    _, dtype, shape = name.split("/")[:3]
    rows, cols = map(int, re.match(r"(\d+)x(\d+)", shape).groups())
    return 0.03 if rows * cols * BYTES[dtype] <= 1 << 21 else 0.006


class Machine:
    """Processes of base and head on one GPU: each row's recorded median, times the process's luck (Student's t of 5
    degrees: some are far off), times a clock that drifts by 2 % over a round."""

    def __init__(self, seed, slower=()):
        self.draw, self.slower, self.processes = random.Random(seed), slower, 0

    def __call__(self, side, rows):
        self.processes += 1
        clock = 1 + 0.02 * (self.processes % 50) / 50
        times = {}
        for row in rows:
            t = self.draw.gauss(0, 1) / math.sqrt(self.draw.gammavariate(2.5, 2) / 5)
            factor = 1.1 if side == "head" and row in self.slower else 1.0
            times[row] = RECORDED[row]["median_us"] * factor * clock * math.exp(spread_of(row) * t / math.sqrt(5 / 3))
        return times


def in_process(samples):
    """The p of compare.py without a process for each call; test_p_values holds the two together."""
    return {
        row: report.calc_utest([both["base"], both["head"]], [both["base"], both["head"]])[2]
        for row, both in samples.items()
    }


class Statistics(unittest.TestCase):
    def setUp(self):
        self.of_compare, timing.p_values = timing.p_values, in_process
        self.addCleanup(setattr, timing, "p_values", self.of_compare)

    def test_p_values_are_those_of_compare_py(self):
        machine, rows = Machine(1, {"softmax/f32/65536x1024"}), list(RECORDED)[:6]
        samples = {row: {"base": [], "head": []} for row in rows}
        for side in timing.turns(9):
            for row, time in machine(side, rows).items():
                samples[row][side].append(time)
        by_command, here = self.of_compare(samples), in_process(samples)
        self.assertEqual(sorted(by_command), sorted(rows))
        for row in rows:
            self.assertAlmostEqual(by_command[row], here[row], places=12)
        self.assertLess(by_command["softmax/f32/65536x1024"], 0.001)

    def test_ten_percent_slower_is_found_in_95_of_100_resamples(self):
        rows = list(RECORDED)
        found, others = 0, 0
        for seed in range(RESAMPLES):
            row = rows[seed % len(rows)]
            # The ratio of the medians of 25 processes is this uncertain; that is what A/A rows of the nights show.
            spreads = {r: 1.25 * spread_of(r) * math.sqrt(2 / 25) for r in rows}
            _, slower = timing.slower_rows(Machine(seed, {row}), rows, spreads)
            found += row in slower
            others += len(slower.keys() - {row})
        print(f"10 % slower: {found} of {RESAMPLES} found, {others} of {RESAMPLES * (len(rows) - 1)} other rows alarm")
        self.assertGreaterEqual(found, 95)
        self.assertLessEqual(others, RESAMPLES * (len(rows) - 1) // 100)

    def test_equal_builds_alarm_in_at_most_1_of_100_rows(self):
        rows, alarms = list(RECORDED), 0
        for seed in range(RESAMPLES):
            _, slower = timing.slower_rows(Machine(1000 + seed), rows, {})
            alarms += len(slower)
        print(f"A/A: {alarms} of {RESAMPLES * len(rows)} rows alarm")
        self.assertLessEqual(alarms, RESAMPLES * len(rows) // 100)

    def test_slower_needs_size_significance_and_a_second_round(self):
        rows, row = list(RECORDED), "softmax/f32/65536x1024"
        noisy = {row: 0.05}
        self.assertEqual(list(timing.slower_rows(Machine(3, {row}), rows, {})[1]), [row])
        first, slower = timing.slower_rows(Machine(3, {row}), rows, noisy)  # 10 % is not 3 times 5 %
        self.assertEqual(slower, {})
        self.assertAlmostEqual(first[row].threshold, 0.15)
        self.assertIn("slower (more than 15.0 % counts), significant (p = ", first[row].words())
        once, flaky = [0], Machine(3, {row})

        def only_in_the_first_round(side, asked):
            once[0] += len(asked) == len(rows)
            if len(asked) < len(rows):
                flaky.slower = ()
            return flaky(side, asked)

        self.assertTrue(timing.one_round(Machine(3, {row}), rows, {})[row].slower)
        self.assertEqual(timing.slower_rows(only_in_the_first_round, rows, {})[1], {})
        faster = {
            r: {"base": [2.0 + i / 100 for i in range(9)], "head": [1.0 + i / 100 for i in range(9)]} for r in rows
        }
        self.assertFalse(any(v.slower for v in timing.judge(faster, {}).values()))

    def test_undecided_rows_get_more_pairs(self):
        row = "softmax/f32/65536x1024"

        def exactly(percent):
            count = {"base": 0, "head": 0}

            def measure(side, rows):
                count[side] += 1
                return {row: 100.0 * (1 + percent / 100 if side == "head" else 1) + count[side] / 1000}

            return measure, count

        for percent, pairs in ((0, 9), (4, 25), (10, 9)):
            measure, count = exactly(percent)
            self.assertEqual(timing.one_round(measure, [row], {})[row].pairs, pairs, percent)
            self.assertEqual(count, {"base": pairs, "head": pairs})

    def test_turns_alternate(self):
        self.assertEqual("".join(side[0] for side in timing.turns(4)), "bhhbbhhb")

    def test_holm(self):
        self.assertEqual(
            timing.holm({"a": 0.01, "b": 0.04, "c": 0.03, "d": 0.005}), {"d": 0.02, "a": 0.03, "c": 0.06, "b": 0.06}
        )


class Programs(unittest.TestCase):
    def program(self, folder, text):
        path = pathlib.Path(folder) / "bench"
        path.write_text("#!/usr/bin/env python3\nimport json, re, sys\n" + text)
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return str(path)

    def test_a_benchmark_is_run_as_one_process_and_its_mistakes_are_no_numbers(self):
        works = """
options = ("--benchmark_filter=", "--benchmark_out=")
pattern, out = (next(a.split("=", 1)[1] for a in sys.argv if a.startswith(o)) for o in options)
names = [n for n in ("s/f32/2x32", "s/f32/2x320") if re.search(pattern, n + "/iterations:1/manual_time")]
rows = [{"name": n + "/iterations:1/manual_time", "median_us": 5.0} | %s for n in names]
json.dump({"benchmarks": rows}, open(out, "w"))
"""
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(timing.medians(self.program(folder, works % {}), ["s/f32/2x32"]), {"s/f32/2x32": 5.0})
            with self.assertRaisesRegex(timing.CannotTime, "it has no row"):
                timing.medians(self.program(folder, works % {}), ["s/f32/4x32"])
            wrong = {"error_occurred": True, "error_message": "wrong sum"}
            with self.assertRaisesRegex(timing.CannotTime, "wrong sum"):
                timing.medians(self.program(folder, works % wrong), ["s/f32/2x32"])
            with self.assertRaisesRegex(timing.CannotTime, "exit code 3"):
                timing.medians(self.program(folder, "sys.exit(3)"), ["s/f32/2x32"])
            listing = self.program(folder, "print('\\n'.join(f's/{i}/iterations:1/manual_time' for i in range(20)))")
            self.assertEqual(timing.rows_of(listing, 4), (["s/0", "s/5", "s/10", "s/15"], 20))

    def test_spreads_come_from_the_history(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "nightly.db"
            with sqlite3.connect(path) as db:
                db.execute("CREATE TABLE row (kind, name, value)")
                db.executemany(
                    "INSERT INTO row VALUES ('a/a', ?, ?)",
                    [("r", value) for value in (0.97, 1.03, 0.97, 1.03, 1.0)] + [("few", 1.0)] * 4,
                )
            spreads = timing.spreads_of(path)
            self.assertEqual(list(spreads), ["r"])
            self.assertAlmostEqual(spreads["r"], 0.03, delta=0.001)
            self.assertEqual(timing.spreads_of(pathlib.Path(folder) / "none.db"), {})


if __name__ == "__main__":
    unittest.main()
