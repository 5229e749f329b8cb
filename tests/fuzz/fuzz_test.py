"""The command `warpcheck fuzz`: what it finds, keeps, resumes and reports. Run by CTest with WARPCHECK set."""

import json
import os
import resource
import shutil
import signal
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree as xml

WARPCHECK = os.environ["WARPCHECK"]
RIGHT = os.environ["WARPCHECK_RIGHT"]
WRONG = os.environ["WARPCHECK_WRONG"]  # the last element of rows longer than 32 is 0
NAN = os.environ["WARPCHECK_NAN"]  # the first element is NaN
TEMPLATE = os.path.join(os.environ["WARPCHECK_SOURCE"], "docs", "bring_your_own", "softmax.cu")
PROPERTIES = ["--property", "within-error-bound", "--property", "long-accumulation", "--property", "misalignment"]


def run(*arguments):
    return subprocess.run([WARPCHECK, *arguments], capture_output=True, text=True, timeout=600)


class Fuzz(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, *names):
        return os.path.join(self.folder.name, *names)

    def regressions_that_fail(self, junit):
        suite = xml.parse(self.path(junit)).getroot().find(".//testsuite[@name='regressions']")
        return suite.get("failures")

    def command(self, out, *arguments, candidate=RIGHT):
        return ["fuzz", "softmax", "--device", "cpu", "--candidate", candidate, "--size", "quick", "--dtype", "f32",
                "--out", self.path(out), "--json", self.path(out + ".json"), *PROPERTIES, *arguments]

    def fuzz(self, out, *arguments, candidate=RIGHT, code=0):
        r = run(*self.command(out, *arguments, candidate=candidate))
        self.assertEqual(r.returncode, code, r.stdout + r.stderr)
        return r

    def result(self, out):
        with open(self.path(out + ".json")) as f:
            j = json.load(f)
        del j["timing"]
        return j

    def state(self, out):
        with open(self.path(out, "shard-0-of-1", "state.json")) as f:
            return json.load(f)

    def journalled(self, out, of=""):
        """Cases that the journals of the current round list as finished, and those of them with a verdict."""
        # Not those of the round before: they are removed after the state counts it.
        folder = self.path(out, "shard-0-of-1", f"round-{self.state(out)['rounds']}")
        texts = []
        for root, _, names in os.walk(folder):
            for name in names:
                if not name.endswith(".journal"):
                    continue
                try:
                    with open(os.path.join(root, name), errors="replace") as f:
                        texts.append(f.read())
                except FileNotFoundError:
                    pass  # the round has ended meanwhile
        return sum(line.startswith("F ") and of in line for text in texts for line in text.split("\n"))

    def test_a_planted_bug_is_found_minimised_and_kept_once(self):
        r = self.fuzz("a", "--seed", "5", "--cases", "60", "--junit", self.path("a.xml"), candidate=WRONG, code=1)
        findings = self.result("a")["findings"]
        of = {}
        for f in findings:
            of.setdefault(f["case"].split("/")[1].split(" ")[0], []).append(f)
        for property in ("within-error-bound", "long-accumulation"):
            tails = [f for f in of[property] if f["shape_class"] == "x[1x2^5+1]"]
            self.assertEqual(len(tails), 1, findings)
            self.assertIn("x=f32[1x33] fill=constant(0)", tails[0]["case"])
            self.assertGreater(tails[0]["failures"], 1)
            self.assertRegex(r.stdout, f"softmax/{property} f32.*: left in this round after 3 failures")
        # Each in a regression and an issue, named in the output.
        for f in findings:
            self.assertIn(f"finding {f['name']}: ", r.stdout)
            with open(self.path("a", "findings", f["name"] + ".md")) as file:
                self.assertIn(f"warpcheck replay '{f['case']}'", file.read())
            with open(self.path("a", "findings", f["name"] + ".golden")) as file:
                self.assertIn("kind: regression", file.read())
        self.assertEqual(len(os.listdir(self.path("a", "findings"))), 2 * len(findings))
        suites = xml.parse(self.path("a.xml")).getroot()
        self.assertGreaterEqual(int(suites.get("failures")), 2)
        self.assertIn("1x33", suites.find(".//failure").text)

        # Going on in the folder replays them first; nothing new is found by the same cases.
        r = self.fuzz("a", "--cases", "60", candidate=WRONG, code=1)
        self.assertIn(f"{len(findings)} findings of this folder replayed first: {len(findings)} still fail", r.stdout)
        self.assertEqual(self.result("a")["findings"], findings)

        # As regressions they come before every run of every candidate.
        folder = self.path("a", "findings")
        verify = ["verify", "softmax", "--device", "cpu", "--cases", "1", "--property", "within-error-bound",
                  "--property", "long-accumulation", "--regressions", folder, "--junit", self.path("v.xml")]
        r = run(*verify, "--candidate", WRONG)
        self.assertEqual(r.returncode, 1, r.stdout + r.stderr)
        self.assertRegex(r.stdout, r"regressions replayed first: violation")
        self.assertEqual(self.regressions_that_fail("v.xml"), "1")
        # The repair is seen, too.
        r = run(*verify, "--candidate", RIGHT)
        self.assertEqual(r.returncode, 0, r.stdout + r.stderr)
        self.assertRegex(r.stdout, r"[1-9]\d* regressions replayed first: pass")
        self.assertEqual(self.regressions_that_fail("v.xml"), "0")

    def test_a_resumed_run_is_the_run_that_was_never_interrupted(self):
        self.fuzz("a", "--seed", "7", "--cases", "20", candidate=WRONG, code=1)
        self.assertEqual(self.state("a")["rounds"], 1)
        self.fuzz("a", "--cases", "60", candidate=WRONG, code=1)
        self.fuzz("b", "--seed", "7", "--cases", "60", candidate=WRONG, code=1)
        self.assertEqual(self.result("a"), self.result("b"))
        self.assertEqual(sorted(os.listdir(self.path("a", "findings"))), sorted(os.listdir(self.path("b", "findings"))))

    def test_an_infinite_error_is_resumed_from(self):
        self.fuzz("a", "--seed", "5", "--cases", "20", candidate=NAN, code=1)
        self.fuzz("a", "--cases", "40", candidate=NAN, code=1)
        worst = {p["property"]: p["max_error_ratio"] for p in self.result("a")["properties"]}
        self.assertEqual(worst["softmax/within-error-bound"], "+inf")

    def start(self, out, candidate=WRONG):
        process = subprocess.Popen([WARPCHECK, *self.command(out, "--seed", "9", "--cases", "1000000",
                                                             candidate=candidate)],
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        # Into the second round.
        while not (os.path.exists(self.path(out, "shard-0-of-1", "state.json")) and
                   self.state(out)["rounds"] >= 1 and self.journalled(out) > 0):
            self.assertIsNone(process.poll())
        return process

    def goes_on(self, out):
        rounds = self.state(out)["rounds"]
        cases = str(20 * (rounds + 2))
        self.fuzz(out, "--cases", cases, candidate=WRONG, code=1)
        self.fuzz("whole", "--seed", "9", "--cases", cases, candidate=WRONG, code=1)
        self.assertEqual(self.result(out), self.result("whole"))

    def test_kill_9_loses_nothing(self):
        process = self.start("a")
        process.kill()
        process.communicate(timeout=120)
        self.goes_on("a")

    def test_ctrl_c_loses_nothing(self):
        process = self.start("a")
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 130, output)
        self.assertIn("interrupted", output)
        self.goes_on("a")

    def test_a_full_disk_is_one_clear_error_and_loses_nothing(self):
        def small_files():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # a write beyond the limit then fails like one to a full disk
            resource.setrlimit(resource.RLIMIT_FSIZE, (9000, 9000))

        # The memory that is shared with an isolated candidate counts as a file.
        r = subprocess.run([WARPCHECK, *self.command("a", "--seed", "9", "--cases", "40", "--workers", "1",
                                                     "--no-isolate", candidate=WRONG)],
                           capture_output=True, text=True, timeout=600, preexec_fn=small_files, restore_signals=False)
        self.assertEqual(r.returncode, 3, r.stdout + r.stderr)
        self.assertRegex(r.stderr,
                         r"warpcheck: (journal: cannot write to|file ').*: (No space left on device|File too large)")
        self.fuzz("a", "--cases", "40", candidate=WRONG, code=1)
        self.fuzz("b", "--seed", "9", "--cases", "40", candidate=WRONG, code=1)
        self.assertEqual(self.result("a"), self.result("b"))

    def test_shards_share_the_cases_out(self):
        totals = []
        for shard in ("0/1", "0/3", "1/3", "2/3"):
            out = shard.replace("/", "of")
            self.fuzz(out, "--seed", "5", "--cases", "40", "--shard", shard, "--property", "empty")
            totals.append({p["property"]: p["cases"] for p in self.result(out)["properties"]})
        for name, cases in totals[0].items():
            self.assertEqual(cases, sum(t[name] for t in totals[1:]), name)

    def test_the_end_of_the_time_is_no_interruption(self):
        self.fuzz("a", "--time", "1s", "--property", "empty")
        j = self.result("a")
        self.assertFalse(j["interrupted"])
        self.assertGreater(j["cases"], 0)

    def test_a_run_without_failures_says_how_sure_that_makes(self):
        r = self.fuzz("a", "--seed", "5", "--cases", "40", "--property", "empty")
        self.assertRegex(r.stdout, r"coverage softmax f32: \d+ of \d+ combinations")
        empty = next(p for p in self.result("a")["properties"] if p["property"] == "softmax/empty")
        self.assertAlmostEqual(empty["failure_probability_below"], 3 / empty["cases"])
        self.assertEqual(empty["failures"], 0)
        self.assertIn("rows:none", self.result("a")["coverage"][0]["classes"])

    def test_a_new_run_has_a_new_seed(self):
        for out in ("a", "b"):
            self.fuzz(out, "--cases", "1", "--property", "empty")
        self.assertNotEqual(self.result("a")["seed"], self.result("b")["seed"])

    def fuzz_source(self, out, source, *arguments):
        return run("fuzz", "softmax", "--device", "emulated", "--source", source, "--entry", "my_softmax",
                   "--size", "quick", "--property", "within-error-bound", "--max-cols", "257", "--out", self.path(out),
                   "--json", self.path(out + ".json"), *arguments)

    def test_a_source_is_fuzzed_like_a_library_and_its_findings_name_it(self):
        with open(TEMPLATE) as f:
            right = f.read()
        wrong = right.replace("out[i] = static_cast<float>(expf(in[i] - m) / sum)",
                              "if (i < 200) out[i] = expf(in[i] - m) / sum")
        self.assertNotEqual(wrong, right)
        source = self.path("mine.cu")
        with open(source, "w") as f:
            f.write(wrong)
        r = self.fuzz_source("a", source, "--seed", "5", "--cases", "20")
        self.assertEqual(r.returncode, 1, r.stdout + r.stderr)
        findings = self.result("a")["findings"]
        self.assertTrue(findings)
        for f in findings:
            self.assertIn("x=f32[1x201] fill=constant(0)", f["case"])
            self.assertIn(f"candidate=source:{source}:my_softmax", f["case"])
        self.assertEqual(run("replay", findings[0]["case"]).returncode, 1)

        # The repair, in the same file, in the same folder.
        with open(source, "w") as f:
            f.write(right)
        self.assertEqual(run("replay", findings[0]["case"]).returncode, 0)
        r = self.fuzz_source("a", source, "--cases", "40")
        self.assertEqual(r.returncode, 0, r.stdout + r.stderr)
        self.assertIn(f"{len(findings)} findings of this folder replayed first: 0 still fail", r.stdout)

    def source_without_columns_from(self, column):
        with open(TEMPLATE) as f:
            right = f.read()
        with open(self.path("mine.cu"), "w") as f:
            f.write(right.replace("out[i] = static_cast", f"if (i < {column}) out[i] = static_cast"))
        return self.path("mine.cu")

    def fails_without_a_finding(self, rounds):
        """The findings of the first rounds pass afterwards, and cases fail of which no finding becomes."""
        r = self.fuzz_source("a", self.source_without_columns_from(200), "--seed", "5", "--cases", str(20 * rounds))
        self.assertEqual(r.returncode, 1, r.stdout + r.stderr)
        before = self.result("a")["findings"]
        minimised = self.state("a")["minimised"]["softmax/within-error-bound violation"]
        r = self.fuzz_source("a", self.source_without_columns_from(201), "--cases", str(20 * rounds + 20))
        after = self.result("a")["findings"]
        self.assertIn(f"{len(before)} findings of this folder replayed first: 0 still fail", r.stdout)
        self.assertEqual([f["name"] for f in after], [f["name"] for f in before])
        self.assertEqual(r.returncode, 1, r.stdout + r.stderr)
        self.assertRegex(r.stdout, r"[1-9]\d* cases failed in the rounds of this run")
        self.assertEqual(self.result("a")["exit_code"], 1)
        return minimised, sum(f["failures"] for f in after) - sum(f["failures"] for f in before)

    def test_a_failure_of_a_known_class_fails_the_run(self):
        minimised, of_known_classes = self.fails_without_a_finding(rounds=1)
        self.assertLess(minimised, 8)
        self.assertGreater(of_known_classes, 0)

    def test_a_failure_that_is_only_counted_fails_the_run(self):
        self.assertEqual(self.fails_without_a_finding(rounds=6), (8, 0))

    def test_failures_of_an_unfinished_round_fail_the_run_that_goes_on(self):
        candidate = self.path("candidate.so")
        shutil.copy(WRONG, candidate)
        process = self.start("a", candidate)
        # A stopped run ends no round: its journals are as the next run finds them.
        while True:
            process.send_signal(signal.SIGSTOP)
            os.waitid(os.P_PID, process.pid, os.WSTOPPED)
            if self.journalled("a", of="violation") > 0:
                break
            process.send_signal(signal.SIGCONT)
        process.kill()
        process.communicate(timeout=120)
        shutil.copy(RIGHT, candidate)
        cases = 20 * (self.state("a")["rounds"] + 1)
        r = self.fuzz("a", "--cases", str(cases), candidate=candidate, code=1)
        self.assertRegex(r.stdout, r"[1-9]\d* findings of this folder replayed first: 0 still fail")
        self.fuzz("a", "--cases", str(cases + 20), candidate=candidate, code=0)

    def test_mistakes_about_a_source_are_one_sentence(self):
        out = self.path("a")
        for text, *arguments in (("--source requires --entry", "softmax", "--source", TEMPLATE),
                                 ("name the one operator", "softmax", "argmax", "--source", TEMPLATE, "--entry", "f"),
                                 ("parameter 3 of 'my_softmax' is 'y'", "argmax", "--source", TEMPLATE,
                                  "--entry", "my_softmax"),
                                 ("not found", "softmax", "--source", self.path("none.cu"), "--entry", "f"),
                                 ("together with --candidate", "softmax", "--source", TEMPLATE, "--entry", "f",
                                  "--candidate", RIGHT)):
            r = run("fuzz", "--out", out, "--device", "emulated", *arguments)
            self.assertEqual(r.returncode, 2, r.stdout + r.stderr)
            self.assertIn(text, r.stderr)

    def expect(self, code, text, *arguments):
        r = run("fuzz", "softmax", "--device", "cpu", "--candidate", RIGHT, *arguments)
        self.assertEqual(r.returncode, code, r.stdout + r.stderr)
        self.assertIn(text, r.stdout + r.stderr)

    def test_mistakes_are_one_sentence(self):
        out = self.path("a")
        self.expect(2, "--out")
        self.expect(2, "time: 'soon'", "--out", out, "--time", "soon")
        self.expect(2, "time: '0'", "--out", out, "--time", "0")
        self.expect(2, "cases: -1", "--out", out, "--cases", "-1")
        self.expect(2, "--max-rows: 0 is too small, must be at least 1", "--out", out, "--max-rows", "0")
        self.expect(2, "shard: the parts of '0/2'", "--out", out, "--shard", "0/2")
        self.expect(2, "/nowhere: it is not a folder that can be read", "--out", out, "--cases", "1",
                    "--regressions", "/nowhere")
        self.expect(3, "cannot make the folder '/proc/a/", "--out", "/proc/a")
        self.expect(3, "cannot make the folder '/dev/null/a/", "--out", "/dev/null/a")
        self.fuzz("b", "--cases", "1", "--seed", "5")
        self.expect(2, "this one has 'properties '; choose another folder", "--out", self.path("b"))
        r = run(*["ci" if word == "quick" else word for word in self.command("b")])
        self.assertEqual(r.returncode, 2)
        self.assertIn("holds a run with 'size quick', this one has 'size ci'; choose another folder", r.stderr)
        r = run(*self.command("b", "--seed", "6"))
        self.assertEqual(r.returncode, 2)
        self.assertIn("holds a run of seed 5, 6 was given", r.stderr)
        with open(self.path("b", "shard-0-of-1", "state.json"), "w") as f:
            f.write("{}")
        r = run(*self.command("b"))
        self.assertEqual(r.returncode, 2)
        self.assertIn("state.json: it is not the state of a fuzzing run", r.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
