"""nightly.db: red rows, merges that are repeated, schema, CSV, change points. Run by CTest."""

import csv
import datetime
import os
import pathlib
import random
import sqlite3
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ["WARPCHECK_SOURCE"])
sys.dont_write_bytecode = True
sys.path.insert(0, str(SOURCE / "ci"))
from gating import timing  # noqa: E402
from nights import benchmarks, changes  # noqa: E402
from nights.history import TABLES, VERSION, History, WrongSchema, text_of  # noqa: E402
from nights.merge import merge, summary  # noqa: E402
from nights.shards import CannotRun, Shard, Superseded  # noqa: E402

PYTHON = os.environ["WARPCHECK_CHANGE_POINTS"]
FIRST = datetime.datetime(2026, 3, 1, 2, tzinfo=datetime.timezone.utc)
LINE = "v1 softmax/long-accumulation x=f32[1x33] fill=constant(0) | y=f32[1x33] | device=cpu"


def finding(failures):
    return {
        "name": "softmax-depth-1",
        "verdict": "violation",
        "shape_class": "x[1x2^5+1]",
        "case": LINE,
        "message": "m",
        "failures": failures,
    }


class Made(unittest.TestCase):
    """Nights whose shards were never run: their results are written here."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.out = pathlib.Path(folder.name)
        self.history = History(self.out / "nightly.db")
        self.others = []  # (property, cases of each shard) beside softmax/long-accumulation

    def night(self, day, cases=1000, seconds=10.0, failures=0, shards=2, finished=None, **options):
        begun = FIRST + datetime.timedelta(days=day)
        folder = self.out / "nights" / f"{day:03}"
        plan = {
            "id": f"night-{day:03}",
            "begun": text_of(begun),
            "machine": "m",
            "revision": "r",
            "seed": day,
            "every_seconds": 86400,
            "shards": [{"id": i, "device": "emulated"} for i in range(shards)],
        }
        for i in range(shards if finished is None else finished):
            found = [finding(failures)] if failures else []
            shard = Shard(folder / "shards" / str(i))
            number = shard.take()
            if number is None:
                continue  # of an earlier call
            kept = shard.attempt_folder(number) / "fuzz/findings"
            kept.mkdir(parents=True)
            for f in found:
                (kept / (f["name"] + ".golden")).write_text("golden")
                (kept / (f["name"] + ".md")).write_text("text")
            shard.publish(
                number,
                {
                    "exit_code": int(failures > 0),
                    "findings": f"attempt-{number}/fuzz/findings",
                    "fuzz": {
                        "version": "1",
                        "timing": {"seconds": seconds},
                        "findings": found,
                        "properties": [
                            {
                                "property": "softmax/long-accumulation",
                                "cases": cases // shards,
                                "skipped": 0,
                                "failures": failures,
                                "compared": 7,
                                "max_error_ratio": "+inf" if failures else 0.5,
                            },
                            *(
                                dict(property=p, cases=n, skipped=0, failures=0, compared=n, max_error_ratio=0.0)
                                for p, n in self.others
                            ),
                        ],
                    },
                },
            )
        return merge(self.history, self.out, folder, plan, **options)

    def runs(self):
        return [tuple(r) for r in self.history.all("SELECT id, status, reason FROM run ORDER BY begun")]


class RedRows(Made):
    def test_nights_that_did_not_run_are_red_rows(self):
        self.night(0)
        self.night(1)
        self.night(4)
        self.assertEqual(
            self.runs(),
            [
                ("night-000", "green", ""),
                ("night-001", "green", ""),
                ("missed-2026-03-03-0200", "red", "the night did not run"),
                ("missed-2026-03-04-0200", "red", "the night did not run"),
                ("night-004", "green", ""),
            ],
        )
        self.night(4)
        self.assertEqual(len(self.runs()), 5)

    def test_less_than_half_of_the_cases_is_red_and_half_is_not(self):
        self.night(0, cases=1000)
        self.assertEqual(self.night(1, cases=500)["status"], "green")
        run = self.night(2, cases=248)
        self.assertEqual(run["status"], "red")
        self.assertEqual(run["reason"], "248 cases are less than half of the 500 of the night before")

    def test_shards_that_did_not_finish_and_nights_without_cases_are_red(self):
        run = self.night(0, shards=3, finished=2)
        self.assertIn("1 of 3 shards did not finish (2)", run["reason"])
        self.assertIn("no case was judged", self.night(1, cases=0)["reason"])

    def test_an_operator_that_the_time_did_not_reach_is_red_and_a_property_is_reported(self):
        self.others = [("gru/golden", 0), ("softmax/golden", 0)]
        run = self.night(0)
        self.assertEqual(run["status"], "red")
        self.assertIn("no case of gru on emulated: give the night more time", run["reason"])
        text = summary(self.history, run)
        self.assertIn("- 2 of 3 properties had no case in this time", text)
        self.assertIn("| gru/golden | emulated | **not run** | 0 | - | - |", text)
        self.assertIn("| softmax/long-accumulation | emulated | 1000 | 0 | 0.500 | < 0.003 |", text)
        self.others = [("gru/golden", 2), ("softmax/golden", 0)]  # by each of two shards
        self.assertEqual(self.night(1)["status"], "green")
        self.others = [("gru/golden", 1), ("softmax/golden", 3)]
        text = summary(self.history, self.night(2))
        self.assertNotIn("had no case", text)
        self.assertIn("| gru/golden | emulated | 2 | 0 | 0.000 | - |", text)  # 3/2 is no probability
        self.assertIn("| softmax/golden | emulated | 6 | 0 | 0.000 | < 0.5 |", text)

    def test_survivors_are_red(self):
        run = self.night(0, scores=[("softmax", 3, 4)], survivors=["reduce-drops-last-warp"])
        self.assertIn("reduce-drops-last-warp", run["reason"])
        self.assertEqual(tuple(self.history.all("SELECT * FROM score")[0]), ("night-000", "softmax", 3, 4))


class Merges(Made):
    def dump(self):
        return {
            t: [tuple(r)[:3] for r in self.history.all(f'SELECT * FROM "{t}"')]
            for t in ("row", "finding", "occurrence", "score")
        }

    def test_a_repeated_merge_changes_nothing(self):
        self.night(0, failures=2)
        self.night(1, failures=3)
        before = self.dump()
        self.assertEqual(
            before["occurrence"], [("night-000", "softmax-depth-1", 4), ("night-001", "softmax-depth-1", 6)]
        )
        self.assertEqual(len(before["finding"]), 1)
        self.assertEqual(self.night(1, failures=3)["new_findings"], 0)
        self.assertEqual(self.night(0, failures=2)["new_findings"], 1)
        after = self.dump()
        self.assertEqual({k: sorted(v) for k, v in after.items()}, {k: sorted(v) for k, v in before.items()})
        text = summary(self.history, self.history.all("SELECT * FROM run WHERE id = 'night-001'")[0])
        self.assertIn("known since night-000", text)
        self.assertIn("6 cases this night, 2 nights", text)

    def test_a_merge_that_dies_leaves_the_history_as_it_was(self):
        self.night(0, failures=2)
        before = self.dump(), self.runs()

        def dies(history):
            raise KeyboardInterrupt

        with self.assertRaises(KeyboardInterrupt):
            self.night(1, failures=3, change_points=dies)
        self.assertEqual((self.dump(), self.runs()), before)

    def test_only_the_newest_attempt_publishes_and_only_once(self):
        shard = Shard(self.out / "s")
        first, second = shard.take(), shard.take()
        with self.assertRaises(Superseded):
            shard.publish(first, {"exit_code": 0})
        shard.publish(second, {"exit_code": 0})
        self.assertEqual(shard.result()["attempt"], 2)
        self.assertIsNone(shard.take())
        with self.assertRaises(Superseded):
            shard.publish(second, {"exit_code": 1})


class Files(Made):
    def test_csv_holds_every_table(self):
        self.night(0, failures=2)
        self.history.export(self.out / "csv")
        for table in ("run", "row", "finding", "occurrence", "score", "change"):
            with open(self.out / "csv" / f"{table}.csv", newline="") as file:
                rows = list(csv.reader(file))
            self.assertEqual(len(rows) - 1, self.history.all(f'SELECT count(*) FROM "{table}"')[0][0], table)
        with open(self.out / "csv/finding.csv", newline="") as file:
            self.assertEqual(next(csv.DictReader(file))["case_line"], LINE)

    def test_a_history_of_another_schema_is_refused(self):
        with sqlite3.connect(self.out / "nightly.db") as db:
            self.assertEqual(db.execute("PRAGMA user_version").fetchone(), (VERSION,))
            db.execute(f"PRAGMA user_version = {VERSION + 1}")
        with self.assertRaisesRegex(WrongSchema, f"its schema is {VERSION + 1}"):
            History(self.out / "nightly.db")
        (self.out / "text.db").write_text("no database, and long enough to be read as one\n" * 40)
        with self.assertRaisesRegex(WrongSchema, "not a history of nights"):
            History(self.out / "text.db")
        nightly = [SOURCE / "ci/nightly", "--out", self.out]
        r = subprocess.run([nightly[0], "status", *nightly[1:]], capture_output=True, text=True)
        self.assertEqual(r.returncode, 2)
        # Before a night, and not after its hours.
        r = subprocess.run([*nightly, "--cases", "1", "--warpcheck", "/bin/false"], capture_output=True, text=True)
        self.assertEqual(r.returncode, 2)
        said = f"its schema is {VERSION + 1}; this ci/nightly reads {VERSION}\n"
        self.assertEqual((r.stdout, r.stderr), ("", f"nightly: {self.out}/nightly.db: {said}"))
        self.assertEqual(list(self.out.glob("nights/*")), [])

    def test_a_history_that_is_damaged_or_cannot_be_written_is_one_sentence(self):
        path = self.out / "nightly.db"
        self.history.db.close()
        whole = path.read_bytes()
        path.write_bytes(whole[:4096] + b"x" * (len(whole) - 4096))
        r = subprocess.run([SOURCE / "ci/nightly", "status", "--out", self.out], capture_output=True, text=True)
        self.assertEqual((r.returncode, r.stdout), (3, ""), r.stderr)
        self.assertRegex(r.stderr, rf"^nightly: {self.out}/nightly.db: .*; the history is as it was before\n$")
        (self.out / "file").write_text("")
        r = subprocess.run(
            [SOURCE / "ci/nightly", "--cases", "1", "--out", self.out / "file/below"], capture_output=True, text=True
        )
        self.assertEqual(r.returncode, 3)
        said = "Not a directory; what was finished before is kept"
        self.assertEqual(r.stderr, f"nightly: {self.out}/file/below: {said}\n")

    def test_a_plan_that_is_none_is_named(self):
        folder = self.out / "nights/2026-03-01T02-00-00"
        folder.mkdir(parents=True)
        for text, why in [
            ('{"schema": "warp', "Unterminated"),
            ("[]", "list"),
            ('{"schema": "other-2"}', "its schema is 'other-2'"),
        ]:
            (folder / "night.json").write_text(text)
            r = subprocess.run([SOURCE / "ci/nightly", "merge", "--out", self.out], capture_output=True, text=True)
            self.assertEqual((r.returncode, r.stdout), (2, ""), r.stderr)
            said = rf"is not a plan of a night \(.*{why}.*\); move its folder away[^\n]*\n$"
            self.assertRegex(r.stderr, f"^nightly: out: '{folder}/night.json' {said}")

    def test_a_result_of_a_shard_that_is_none_is_named(self):
        shard = Shard(self.out / "s")
        shard.publish(shard.take(), {"exit_code": 0})
        shard.result_path.write_text('{"exit_code": 0, "fu')
        with self.assertRaisesRegex(CannotRun, f"'{shard.result_path}' is not a result of a shard .*; without"):
            shard.result()

    def test_status_tells_of_a_night_that_is_overdue(self):
        self.night(0)  # months ago
        r = subprocess.run(
            [SOURCE / "ci/nightly", "status", "--out", self.out, "--every", "30d"], capture_output=True, text=True
        )
        self.assertEqual(r.returncode, 1)
        self.assertIn("the night did not run", r.stdout)


BENCHMARK = """#!/usr/bin/env python3
import json, random, re, sys
names = ["softmax/f32/%dx32" % rows for rows in range(8)]
if "--benchmark_list_tests" in sys.argv:
    print("\\n".join(names))
else:
    options = ("--benchmark_filter=", "--benchmark_out=")
    pattern, out = (next(a.split("=", 1)[1] for a in sys.argv if a.startswith(o)) for o in options)
    rows = [{"name": n, "median_us": random.gauss(100, 1)} for n in names if re.search(pattern, n)]
    json.dump({"benchmarks": rows}, open(out, "w"))
"""


@unittest.skipUnless(os.path.exists(timing.COMPARE), "libbenchmark-tools is not installed")
class Benchmarks(Made):
    def test_rows_of_a_night_and_the_spread_that_the_gate_takes_from_them(self):
        program = self.out / "softmax_bench"
        program.write_text(BENCHMARK)
        program.chmod(0o755)
        rows, note = benchmarks.of_night([program], self.out)
        self.assertEqual(note, "A/A: 0 of 4 rows alarm")
        again, _ = benchmarks.of_night([program], self.out)
        self.assertEqual(again, rows)  # not measured twice
        for day in range(5):
            for row in rows:
                row["value"] = 100.0 if row["kind"] == "benchmark" else (1.01, 0.99)[day % 2]
            self.night(day, benchmarks=rows)
        self.assertEqual(self.history.all("SELECT count(*) FROM row WHERE kind != 'property'")[0][0], 40)
        spreads = timing.spreads_of(self.out / "nightly.db")
        self.assertEqual(
            sorted(spreads), ["softmax/f32/0x32", "softmax/f32/2x32", "softmax/f32/4x32", "softmax/f32/6x32"]
        )
        self.assertAlmostEqual(spreads["softmax/f32/0x32"], 0.011, delta=0.001)


@unittest.skipUnless(os.path.exists(PYTHON), "build/change_points is not installed")
class ChangePoints(Made):
    def test_a_step_is_found_where_it_is_and_a_level_series_has_none(self):
        noise = random.Random(1)
        for day in range(24):
            rate = 1000 * (0.8 if day >= 15 else 1.0) * (1 + noise.gauss(0, 0.01))
            self.night(day, cases=1000, seconds=1000 / rate, change_points=None)
        found = {c["series"]: c for c in changes.change_points(self.history, PYTHON)}
        self.assertEqual(found["cases_per_second"]["run"], "night-015")
        self.assertAlmostEqual(found["cases_per_second"]["before"], 1000, delta=15)
        self.assertAlmostEqual(found["cases_per_second"]["after"], 800, delta=15)
        self.assertNotIn("property softmax/long-accumulation emulated", found)
        run = self.night(24, seconds=1.25, change_points=lambda history: changes.change_points(history, PYTHON))
        self.assertIn("| cases_per_second | night-015 |", summary(self.history, run))


if __name__ == "__main__":
    if not os.path.exists(PYTHON):
        print("change points were not tried: build/change_points is not installed (ci/requirements-change-points.txt)")
    unittest.main()
