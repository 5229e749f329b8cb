"""ci/nightly as people use it, on candidates with a planted bug and without. Run by CTest with WARPCHECK set."""

import json
import os
import pathlib
import random
import re
import signal
import sqlite3
import subprocess
import tempfile
import time
import unittest

SOURCE = pathlib.Path(os.environ["WARPCHECK_SOURCE"])
WARPCHECK = os.environ["WARPCHECK"]
RIGHT = os.environ["WARPCHECK_RIGHT"]
WRONG = os.environ["WARPCHECK_WRONG"]  # the last element of rows longer than 32 is 0
KILLS = int(os.environ.get("WARPCHECK_KILLS", "4"))


class Nights(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def command(self, out, *arguments, candidate=WRONG, properties=("within-error-bound", "long-accumulation"),
                program=True):
        command = [str(SOURCE / "ci/nightly"), *arguments, "--out", str(self.folder / out)]
        if program:
            command += ["--warpcheck", WARPCHECK]
        if not arguments or arguments[0] not in ("shard", "merge", "status", "export"):
            command += [
                "--device",
                "cpu",
                "--skip",
                "mutants",
                "softmax",
                "--",
                "--candidate",
                candidate,
                "--size",
                "quick",
                "--dtype",
                "f32",
                *(x for p in properties for x in ("--property", p)),
            ]
        return command

    def run_night(self, out, *arguments, code=None, **options):
        r = subprocess.run(self.command(out, *arguments, **options), capture_output=True, text=True, timeout=300)
        if code is not None:
            self.assertEqual(r.returncode, code, r.stdout + r.stderr)
        return r

    def table(self, out, query):
        with sqlite3.connect(self.folder / out / "nightly.db") as db:
            return db.execute(query).fetchall()

    def contents(self, out):
        """All that a night leaves, less times, its name and the machine."""
        findings = {path.name: path.read_text() for path in (self.folder / out / "findings").iterdir()}
        return (
            findings,
            self.table(out, "SELECT seed, shards, shards_done, cases, failures, new_findings, status, reason FROM run"),
            self.table(
                out,
                "SELECT kind, name, device, cases, skipped, failures, compared, max_error_ratio FROM row ORDER BY name",
            ),
            self.table(
                out,
                "SELECT name, operator, property, verdict, shape_class, case_line, message FROM finding ORDER BY name",
            ),
            self.table(out, "SELECT finding, failures FROM occurrence ORDER BY finding"),
        )


class Findings(Nights):
    def test_a_second_night_adds_no_duplicate_and_counts_up(self):
        self.run_night("a", "--time", "2s", code=1)
        files = sorted((self.folder / "a/findings").iterdir())
        first = self.table("a", "SELECT name FROM finding")
        self.assertEqual(len(first), 2, first)
        self.assertEqual(len(files), 4)
        texts = {path: path.read_text() for path in files}
        r = self.run_night("a", "--time", "2s", code=1)
        self.assertIn("0 findings are new", r.stdout)
        self.assertEqual(self.table("a", "SELECT name FROM finding"), first)
        self.assertEqual(sorted((self.folder / "a/findings").iterdir()), files)
        self.assertEqual({path: path.read_text() for path in files}, texts)
        self.assertEqual(self.table("a", "SELECT count(DISTINCT run), count(*) FROM occurrence"), [(2, 4)])
        seeds = self.table("a", "SELECT seed FROM run")
        self.assertNotEqual(seeds[0], seeds[1])

    def test_a_right_candidate_has_a_green_night(self):
        r = self.run_night("a", "--cases", "20", candidate=RIGHT, code=0)
        self.assertIn(": green", r.stdout)
        self.assertEqual(self.table("a", "SELECT status, reason, cases FROM run"), [("green", "", 40)])
        # A regression that is kept is replayed by its line.
        self.assertEqual(list((self.folder / "a/findings").iterdir()), [])

    def test_shards_share_no_case_and_miss_none(self):
        self.run_night("one", "--cases", "40", "--seed", "5", candidate=RIGHT, code=0)
        self.run_night("three", "--cases", "40", "--seed", "5", "--shards", "3", candidate=RIGHT, code=0)
        rows = "SELECT name, cases, compared, max_error_ratio FROM row ORDER BY name"
        self.assertEqual(self.table("one", rows), self.table("three", rows))


class Kills(Nights):
    def assert_attempts_went_on(self, out):
        """An attempt begins with the rounds and the judged failures of the one before: nothing is done twice."""
        for shard in (self.folder / out).glob("nights/*/shards/*"):
            kept = []
            for attempt in sorted(shard.glob("attempt-*"), key=lambda path: int(path.name.split("-")[1])):
                for path in attempt.glob("fuzz/shard-*/state.json"):
                    state = json.loads(path.read_text())
                    kept.append((state["rounds"], len(state["judged"])))
            self.assertEqual(kept, sorted(kept))
            self.assertEqual(kept[-1][0], 4)

    def test_kill_9_at_random_moments_loses_and_doubles_nothing(self):
        arguments = ("--cases", "80", "--seed", "7", "--shards", "2")  # four rounds
        begin = time.monotonic()
        self.run_night("whole", *arguments, code=1)
        whole = time.monotonic() - begin
        expected = self.contents("whole")
        self.assertEqual(len(expected[0]), 4)
        kills, number, draw = 0, 0, random.Random(KILLS)
        while kills < KILLS:
            number += 1
            out, ended = f"killed-{number}", False
            while not ended:
                process = subprocess.Popen(
                    self.command(out, *arguments), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
                )
                try:
                    process.wait(whole * draw.random() if kills < KILLS else 300)
                    ended = True
                    self.assertEqual(process.returncode, 1, process.stderr.read())
                except subprocess.TimeoutExpired:
                    process.send_signal(signal.SIGKILL)
                    process.wait()
                    kills += 1
                process.stderr.close()
            self.assertEqual(self.contents(out), expected)
            self.assert_attempts_went_on(out)
        print(f"{kills} kills in {number} nights of {whole:.1f} s")


class Leases(Nights):
    def test_of_two_copies_of_a_shard_the_late_one_stops(self):
        self.run_night("a", "plan", "--cases", "1000", "--seed", "3", candidate=RIGHT, program=False, code=0)
        first = subprocess.Popen(
            self.command("a", "shard", "0"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        shard = next((self.folder / "a/nights").glob("*")) / "shards/0"
        for _ in range(600):
            if list(shard.glob("attempt-1/fuzz/shard-*/state.json")):
                break
            time.sleep(0.05)
        second = self.run_night("a", "shard", "0", code=0)
        self.assertIn("attempt 2", second.stdout)
        _, said = first.communicate(timeout=60)
        self.assertEqual(first.returncode, 0, said)
        self.assertRegex(said, "attempt 1 was overtaken by attempt 2 and stops|attempt 1 of .* came too late")
        third = self.run_night("a", "shard", "0", code=0)
        self.assertIn("it was done before", third.stdout)
        self.run_night("a", "merge", code=0)
        self.run_night("b", "--cases", "1000", "--seed", "3", candidate=RIGHT, code=0)
        self.assertEqual(self.contents("a"), self.contents("b"))

    def test_an_interrupted_night_goes_on_and_one_of_other_options_is_closed(self):
        command = self.command("a", "--cases", "2000", "--seed", "3", candidate=RIGHT)
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        while not list((self.folder / "a").glob("nights/*/shards/0/attempt-1/fuzz/shard-*/round-*")):
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130)
        self.assertIn("the same command resumes", said)
        r = self.run_night("a", "--cases", "20", candidate=RIGHT, code=0)
        self.assertIn("did not end; it is closed", r.stdout)
        self.assertEqual(
            self.table("a", "SELECT status, shards_done FROM run ORDER BY begun"), [("red", 0), ("green", 1)]
        )


# $1: a folder, $2: how large a file system is mounted there; what follows is run twice, the second time with room.
FULL_DISK = """mount -t tmpfs -o size=$2 none "$1" || exit 99
folder=$1; shift 2
"$@"; echo "code $?"
mount -o remount,size=64m "$folder" || exit 99
"$@"; echo "code $?"
cp -r "$folder/a" "$folder.kept"
"""


class FullDisk(Nights):
    def test_a_full_disk_is_one_sentence_and_the_same_command_goes_on_with_room(self):
        unshare = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"])]
        if subprocess.run([*unshare, "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True).returncode:
            print("a full disk was not tried: this user may not mount a file system of its own")
            return
        arguments = ("--cases", "80", "--seed", "7")
        self.run_night("whole", *arguments, code=1)
        for size, going_on in (("12k", False), ("64k", True)):  # no room for a journal; some, but not for the history
            with self.subTest(size):
                disk = self.folder / f"disk-{size}"
                disk.mkdir()
                night = self.command(f"disk-{size}/a", *arguments)
                command = [*unshare, "bash", "-c", FULL_DISK, "-", disk, size, *night]
                r = subprocess.run(command, capture_output=True, text=True, timeout=300)
                self.assertEqual(re.findall("^code (.*)$", r.stdout, re.M), ["3", "1"], r.stdout + r.stderr)
                self.assertEqual(len(r.stderr.splitlines()), 1, r.stderr)
                self.assertRegex(r.stderr, f"^nightly: .*{disk}/a.*(No space left on device|disk is full)")
                self.assertEqual("going on with the night" in r.stdout, going_on, r.stdout)
                self.assertEqual(self.contents(f"disk-{size}.kept"), self.contents("whole"))


class Mistakes(Nights):
    def test_usage(self):
        for text, arguments in [
            ("time: how long the night is must be given", []),
            ("'8x' is not a time such as 90s", ["--time", "8x"]),
            ("'0' is not an integer of at least 1", ["--time", "1s", "--shards", "0"]),
        ]:
            r = self.run_night("a", *arguments, code=2)
            self.assertIn(text, r.stderr)
        r = self.run_night("a", "--cases", "20", properties=["nosuch"], code=2)
        self.assertIn("nosuch", r.stderr)
        self.assertEqual(list((self.folder / "a/nights").iterdir()), [])  # no night, so none that is red
        self.assertIn("no night that waits", self.run_night("a", "merge", code=2).stderr)
        self.assertIn("no nightly.db", self.run_night("a", "status", program=False, code=2).stderr)
        r = subprocess.run(
            [SOURCE / "ci/nightly", "--cases", "1", "--out", self.folder / "c", "--warpcheck", "/no/such"],
            capture_output=True,
            text=True,
        )
        self.assertEqual((r.returncode, r.stderr), (3, "nightly: warpcheck: '/no/such' is not there\n"))

    def test_two_commands_do_not_share_a_folder(self):
        self.run_night("a", "--cases", "1", candidate=RIGHT, code=0)
        process = subprocess.Popen(
            self.command("a", "--time", "60s", candidate=RIGHT), stdout=subprocess.PIPE, text=True
        )
        process.stdout.readline()  # it has begun
        r = self.run_night("a", "--time", "1s", code=2)
        self.assertIn("another ci/nightly is at work", r.stderr)
        # Its history can be read meanwhile.
        r = self.run_night("a", "status", program=False, code=0)
        self.assertRegex(r.stdout, "^a night is at work here; it has no row yet\n.* green +2  \n$")
        self.run_night("a", "export", str(self.folder / "csv"), program=False, code=0)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130)


if __name__ == "__main__":
    unittest.main()
