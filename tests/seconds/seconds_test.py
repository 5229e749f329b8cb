"""`ci/seconds` on files as ctest writes them: what it adds up, and what it refuses."""

import os
import subprocess
import sys
import tempfile
import unittest

SOURCE = sys.argv[1]
CTEST = os.environ.get("CTEST", "ctest")
SECONDS = os.path.join(SOURCE, "ci", "seconds")


# Name, seconds, labels, whether it is serial, output.
RUN = [
    ("property.scan.emulated", 100, "property;emulated;scan", True,
     "500 cases, 9000 launches, 12 elements compared in 99 s"),
    ("mutant.scan", 60, "mutant;emulated;slow", True, "mutation score 100.0 % (6 of 6, 6 by the expected killer)"),
    ("golden.scan.emulated", 8, "golden;emulated;scan", False, "40 files agree, 0 do not, 0 skipped in 7.5 s"),
    ("golden.argmax.emulated", 4, "golden;emulated;argmax", False, "30 files agree, 0 do not, 0 skipped in 3.5 s"),
    ("unit.quotient", 2, "unit;emulated;softmax;sigmoid", False,
     "[==========] 7 tests from 2 test suites ran. (1000 ms total)"),
    ("unit.cli", 40, "unit;emulated;cli", False, "Ran 20 tests in 39.1s"),
    ("property.scan.cuda", None, "property;cuda;scan", False, ""),  # skipped
]


class Seconds(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w") as f:
            f.write(text)
        return path

    def run_it(self, shares, *options):
        tests, cases = "", ""
        for name, seconds, labels, serial, output in RUN:
            tests += f'add_test({name} "true")\nset_tests_properties({name} PROPERTIES LABELS "{labels}"'
            tests += " RUN_SERIAL ON)\n" if serial else ")\n"
            status = "run" if seconds is not None else "notrun"
            cases += f'<testcase name="{name}" time="{seconds or 0}" status="{status}">'
            cases += f"<system-out>{output}</system-out></testcase>"
        self.write("CTestTestfile.cmake", tests)
        junit = self.write("junit.xml", f'<testsuite name="ctest">{cases}</testsuite>')
        return subprocess.run([SECONDS, junit, "--shares", self.write("shares", shares), *options], capture_output=True,
                              text=True)

    def test_table_adds_up_by_operator_and_kind(self):
        r = self.run_it("10 all")
        self.assertEqual(r.returncode, 0, r.stderr)
        rows = [line.split("  ") for line in r.stdout.splitlines()]
        rows = {row[0]: [cell.strip() for cell in row[1:] if cell.strip()] for row in rows}
        # Kinds in their order: unit, property, golden, mutant, all; then seconds of the machine.
        self.assertEqual(rows["scan"], ["-", "100 (500)", "8 (40)", "60 (6)", "168 (546)", "164"])
        self.assertEqual(rows["argmax"], ["-", "-", "4 (30)", "-", "4 (30)", "2"])
        self.assertEqual(rows["engine"], ["42 (27)", "-", "-", "-", "42 (27)", "21"])
        self.assertEqual(rows["all"][-2:], ["214 (603)", "187"])
        self.assertNotIn("softmax", rows)
        self.assertIn("longest: property.scan.emulated 100 s, mutant.scan 60 s, unit.cli 40 s", r.stdout)

    def test_share_that_is_exceeded_fails(self):
        # scan spends 164 seconds of the machine, the others 23.
        for limits, code in (("1 rest\n2.8 trees scan\n", 0), ("1 rest\n2.7 trees scan\n", 1),
                             ("0.3 rest\n9 trees scan\n", 1)):
            self.assertEqual(self.run_it(limits, "--check").returncode, code, limits)
            self.assertEqual(self.run_it(limits).returncode, 0, limits)
        r = self.run_it("1 rest\n2.7 trees scan\n", "--check")
        self.assertIn("share rest: 0.4 of 1 minutes\n", r.stdout)
        self.assertIn("share trees: 2.7 of 2.7 minutes, which is too much\n", r.stdout)

    def test_build_is_added_up_once_for_each_command(self):
        # Two outputs of one command, and a command that ran again: 180 seconds of one core. A line that is cut is none.
        self.write(".ninja_log", "# ninja log v5\n0\t60000\t1\ta.o\taa\n0\t60000\t1\ta.d\taa\n5\t9005\t1\tb\tbb\n"
                   "7\t120007\t2\tb\tbb\n8\t9")
        r = self.run_it("4 rest\n1.6 build build\n", "--check")
        self.assertEqual(r.returncode, 0, r.stdout)
        self.assertIn("share build: 1.5 of 1.6 minutes\nbuild and tests: 4.6 of 5.6 minutes\n", r.stdout)
        r = self.run_it("4 rest\n1.4 build build\n", "--check")
        self.assertEqual(r.returncode, 1, r.stdout)
        self.assertIn("share build: 1.5 of 1.4 minutes, which is too much\n", r.stdout)

    def test_run_that_there_was_not_is_a_skip(self):
        r = subprocess.run([SECONDS, os.path.join(self.folder, "none.xml"), "--check"], capture_output=True, text=True)
        self.assertEqual((r.returncode, r.stdout[:15]), (0, "WARPCHECK_SKIP:"))
        r = subprocess.run([SECONDS, os.path.join(self.folder, "none.xml")], capture_output=True, text=True)
        self.assertEqual(r.returncode, 2)
        self.assertIn("none.xml", r.stderr)

    def test_malformed_files_are_refused(self):
        for shares, sentence in (("", "there is no share"), ("ten all", "shares:1: a line is minutes"),
                                 ("1 a\n5\n", "shares:2:")):
            r = self.run_it(shares)
            self.assertEqual(r.returncode, 2, shares)
            self.assertIn(sentence, r.stderr)
        r = subprocess.run([SECONDS, self.write("junit.xml", "<testsuite>")], capture_output=True, text=True)
        self.assertEqual(r.returncode, 2)
        self.assertIn("is no JUnit file", r.stderr)

    def test_file_that_ctest_writes_is_read(self):
        self.write("CTestTestfile.cmake", 'add_test(mutant.scan "true")\n'
                   'set_tests_properties(mutant.scan PROPERTIES LABELS "mutant")\n'
                   'add_test(unit.engine "echo" "Ran 3 tests in 1s")\n')
        junit = os.path.join(self.folder, "ctest.xml")
        subprocess.run([CTEST, "--test-dir", self.folder, "--output-junit", junit], check=True, capture_output=True)
        r = subprocess.run([SECONDS, junit], capture_output=True, text=True)
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertRegex(r.stdout, r"scan +- +0 \(0\) +0 \(0\) ")
        self.assertRegex(r.stdout, r"engine +0 \(3\) +- +0 \(3\)")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
