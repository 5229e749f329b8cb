"""`warpcheck bench` on the emulated device: rows by the description, results judged, mistakes as one sentence."""

import json
import os
import pathlib
import pty
import subprocess
import sys
import tempfile
import unittest

WARPCHECK = os.environ["WARPCHECK"]
KNOWN_BAD = pathlib.Path(os.environ.get("WARPCHECK_KNOWN_BAD", ""))
BASELINES = pathlib.Path(__file__).resolve().parent / "baselines"
NUMPY = BASELINES.parents[1] / "docs" / "bring_your_own" / "operators_numpy.py"
WRONG_PEER = os.environ["WARPCHECK_WRONG_PEER"]
# Works for the first call with a pointer, or for the calls before the turns.
FUNCTIONS = f"""
import os
import pathlib
import stat
import sys
import time

sys.path.append({str(NUMPY.parent)!r})
from operators_numpy import softmax

seen, calls = set(), []

def cached(x, y):
    if y.data not in seen: softmax(x, y)
    seen.add(y.data)

def tires(x, y):
    calls.append(1)
    if len(calls) > 3: raise RuntimeError("call four")
    softmax(x, y)

def prints(x, y):
    print('{{"benchmarks": []}}', flush=True)
    softmax(x, y)

def leaves_a_child(x, y):
    softmax(x, y)
    calls.append(1)
    if len(calls) == 1 and os.fork() == 0:
        os.setsid()
        pathlib.Path(os.environ["LEFT"]).write_text(str(os.getpid()))
        time.sleep(60)

def forges_times(x, y):
    calls.append(1)
    clock = sys.modules["__main__"].HostClock
    if len(calls) == 3: clock.times = lambda self: [1.0] * 100000
    softmax(x, y)

def is_socket(fd):
    return os.path.exists(f"/proc/self/fd/{{fd}}") and stat.S_ISSOCK(os.fstat(fd).st_mode)

def forges_an_answer(x, y):
    calls.append(1)
    if len(calls) == 3: [os.write(fd, b"{{}}\\n") for fd in range(3, 64) if is_socket(fd)]
    softmax(x, y)

def hangs(x, y):
    calls.append(1)
    if x.shape[0] == 65 and len(calls) > 5: time.sleep(3600)
    softmax(x, y)

def leaves(x, y):
    calls.append(1)
    if len(calls) > 3: sys.exit(3)
    softmax(x, y)
"""
OPERATORS = "softmax log_softmax logsumexp argmax sigmoid reduce scan argsort histogram best_split matmul gru".split()
SMALL = "--benchmark_filter=f32/8192x32/i"  # 1 MB


def bench(*arguments, **environment):
    return subprocess.run([WARPCHECK, "bench", *arguments], env={**os.environ, **environment}, capture_output=True,
                          text=True, timeout=300)


def rows(op):
    lines = bench(op, "--benchmark_list_tests").stdout.split()
    return [line.split("/iterations:")[0] for line in lines]


class OperatorBench(unittest.TestCase):
    def expect(self, code, text, *arguments):
        r = bench(*arguments)
        self.assertEqual(r.returncode, code, r.stdout + r.stderr)
        self.assertIn(text, r.stdout + r.stderr)
        return r

    def test_rows_are_those_of_the_baselines_and_need_no_device_to_be_listed(self):
        for op in OPERATORS:
            listed = rows(op)
            self.assertEqual(len(listed), len(set(listed)), op)
            self.assertTrue(all(row.startswith(f"{op}/") for row in listed) and listed, op)
            for baseline in BASELINES.glob(f"*/{op}.json"):
                names = [row["name"] for row in json.loads(baseline.read_text())["rows"]]
                self.assertEqual([name for name in names if name not in listed], [], baseline)
        self.assertEqual(rows("sigmoid")[0], "sigmoid/f32/1x65536")
        self.assertIn("softmax/f32/2097152x32/argmax", rows("softmax"))
        self.assertIn("argsort/f32/65536x256/argsort_block", rows("argsort"))

    def test_a_row_is_measured_and_judged(self):
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder) / "out.json"
            options = [SMALL, f"--benchmark_out={out}", "--benchmark_out_format=json"]
            r = self.expect(0, "softmax_small_matrix", "softmax", "--device", "emulated", *options)
            self.assertIn("rows of more than 262144 elements are left out on the emulated device", r.stderr)
            row = json.loads(out.read_text())["benchmarks"][0]
        self.assertGreater(row["median_low"], 0)
        self.assertTrue(row["median_low"] <= row["median_us"] <= row["median_high"])
        self.assertAlmostEqual(row["GBps"], 2 * 2**20 / row["median_us"] * 1e-3, places=6)
        self.assertNotIn("fraction_of_limit", row)
        self.expect(0, "argmax", "argmax", "--device", "emulated", SMALL)

    def test_barriers_and_bank_conflicts_of_a_call_are_counted(self):
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder) / "out.json"
            self.expect(0, "softmax/f32/4x5000: 80000 in, 80000 out; barriers 16, wavefronts 384, bank conflicts 0\n",
                        "softmax", "--device", "emulated", "--row", "rows=4,cols=5000", f"--benchmark_out={out}",
                        "--benchmark_out_format=json")
            row = json.loads(out.read_text())["benchmarks"][0]
        self.assertEqual([row[name] for name in ("barriers", "wavefronts", "bank_conflicts")], [16, 384, 0])

    def test_a_terminal_shows_which_row_is_measured(self):
        ours, its = pty.openpty()
        self.addCleanup(os.close, ours)
        row = ["--row", "rows=40000,cols=1000"]
        r = subprocess.run([WARPCHECK, "bench", "softmax", "--device", "emulated", *row], stdout=subprocess.PIPE,
                           stderr=its, timeout=300)
        os.close(its)
        self.assertEqual(r.returncode, 0, r.stdout)
        self.assertRegex(os.read(ours, 65536).decode(), r"bench, row 1 of 1, softmax/f32/40000x1000: \d+ s")

    def test_a_row_whose_property_makes_the_call_is_measured_and_judged(self):
        histogram = ["histogram", "--device", "emulated", "--benchmark_filter=x255"]
        best_split = ["best_split", "--device", "emulated", "--benchmark_filter=/(1x256/|24x255_and_4096/)"]
        r = self.expect(0, "histogram/quantised/8192x16x255/leaf:1:8", *histogram)
        for mode in ("quantised", "fixed64", "float32", "float64"):
            self.assertRegex(r.stdout, rf"\nhistogram/{mode}/8192x16x255 +histogram_shared ")
        r = self.expect(0, "best_split/24x255_and_4096/known", *best_split)
        for row, variant in (("1x256/block", "block"), ("1x256/cluster", "cluster"),
                             ("24x255_and_4096/known", "mixed")):
            self.assertRegex(r.stdout, rf"\nbest_split/{row} +best_split_{variant} ")

    def test_parts_of_a_row_are_judged_where_it_has_no_slices(self):
        r = self.expect(0, "matmul/tf32x3/64x64x64/layer ", "matmul", "--device", "emulated",
                        "--benchmark_filter=/64x64x64")
        for arithmetic in ("ieee", "bf16x6", "f16", "bf16"):
            self.assertRegex(r.stdout, rf"\nmatmul/{arithmetic}/64x64x64 +matmul_")
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder) / "out.json"
            self.expect(0, "gru/20x3x8x16/uni/ieee/forward ", "gru", "--device", "emulated",
                        "--benchmark_filter=20x3x8x16", f"--benchmark_out={out}", "--benchmark_out_format=json")
            entries = json.loads(out.read_text())["benchmarks"]
        self.assertEqual(len(entries), 16)
        for row in entries:
            self.assertAlmostEqual(row["us_per_step"] * 20, row["median_us"], places=6)
            products = 2 if "/backward" in row["name"] else 1
            directions = 2 if "/bi/" in row["name"] else 1
            flop = products * 2 * (20 * 3) * (3 * 16 * directions) * (8 + 16)
            self.assertAlmostEqual(row["tflops"], flop / row["median_us"] * 1e-6, places=9)

    def test_a_row_as_a_user_writes_it_has_the_tensors_of_the_first(self):
        self.expect(0, "matmul/f32/5x4x3 ", "matmul", "--device", "emulated", "--row", "m=5,n=4,k=3")
        self.expect(0, "gru/f32/3x2x4x5x1 ", "gru", "--device", "emulated", "--row",
                    "time=3,batch=2,input=4,hidden=5,directions=1")
        self.expect(2, "--row: 'rows=2,cols=64,type=f16' names the type f16, which x cannot have", "argsort", "--row",
                    "rows=2,cols=64,type=f16")
        self.expect(2, "--row: 'm=5,n=4' has no size of k; matmul takes a size of each of m, n, k", "matmul", "--row",
                    "m=5,n=4")

    def test_a_peer_that_gets_the_call_wrong_has_no_part(self):
        for op, row in (("histogram", "fixed64/8192x16x255"), ("histogram", "float64/8192x16x255"),
                        ("best_split", "28x255/automatic"), ("matmul", "ieee/64x64x64"),
                        ("gru", "20x3x8x16/bi/ieee/forward"), ("gru", "20x3x8x16/uni/ieee/backward")):
            r = self.expect(0, f"peer wrong has no part in this row: {op}/{row}: ", op, "--device", "emulated",
                            f"--benchmark_filter={row}/i", "--peer", WRONG_PEER)
            self.assertRegex(r.stderr, "expected ")

    @unittest.skipUnless(KNOWN_BAD.is_dir(), "no known-bad candidates were built")
    def test_a_peer_that_is_wrong_has_no_part(self):
        wrong, right = KNOWN_BAD / "softmax_axis_mix.so", KNOWN_BAD / "softmax_five_transfers.so"
        peers = ["--peer", str(wrong), "--peer", str(right)]
        r = self.expect(0, "has no part in this row: softmax/f32/8192x32: rows ", "softmax", "--device", "emulated",
                        SMALL, *peers)
        self.assertRegex(r.stderr, r"expected .*: the error is .* of at most ")
        self.assertEqual(r.stderr.count("has no part"), 1, r.stderr)

    def test_a_python_function_takes_turns_with_nobody_on_the_cpu(self):
        function = ["--python", f"{NUMPY}:softmax", "--interpreter", sys.executable, "--device", "cpu"]
        r = self.expect(0, "softmax/f32/64x32: not verified", "softmax", *function, "--unverified", "--row",
                        "rows=64,cols=32")
        self.assertNotIn("peer:", r.stdout)

    def test_rows_of_few_bytes_are_measured(self):
        function = ["--python", f"{NUMPY}:softmax", "--interpreter", sys.executable, "--unverified", "--device", "cpu"]
        for row in ("rows=1,cols=1", "rows=3,cols=1"):
            self.expect(0, "softmax/f32/", "softmax", "--device", "emulated", "--row", row)
            self.expect(0, "not verified", "softmax", *function, "--row", row)
        self.expect(0, "softmax/f16/1x1", "softmax", "--device", "emulated", "--row", "rows=1,cols=1,type=f16")
        self.expect(0, "reduce/f32/1x1", "reduce", "--device", "emulated", "--row", "rows=1,cols=1")

    def python_function(self, name):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        file = pathlib.Path(folder.name) / "functions.py"
        file.write_text(FUNCTIONS)
        return ["softmax", "--python", f"{file}:{name}", "--interpreter", sys.executable, "--device", "cpu",
                "--unverified", "--row", "rows=64,cols=32"]

    def test_what_a_candidate_prints_is_no_part_of_the_results(self):
        r = bench(*self.python_function("prints"), "--benchmark_format=json")
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertNotIn('{"benchmarks": []}', r.stdout)
        self.assertIn('{"benchmarks": []}', r.stderr)

    def test_a_child_of_a_candidate_ends_with_the_command(self):
        with tempfile.TemporaryDirectory() as folder:
            left = pathlib.Path(folder) / "left"
            r = bench(*self.python_function("leaves_a_child"), LEFT=str(left))
            self.assertEqual(r.returncode, 0, r.stdout + r.stderr)
            self.assertRaises(ProcessLookupError, os.kill, int(left.read_text()), 0)

    def test_calls_of_a_python_function_are_judged(self):
        for name, reason in (
            ("cached", "a timed call wrote nothing into slot"),
            ("tires", "RuntimeError: call four"),
            ("forges_times", "the function's process forged its times: 1 calls have 100000 times"),
            ("forges_an_answer", "the function's process forged an answer: "),
            ("leaves", "the candidate ended the process that measures it (exit code 3)"),
        ):
            self.expect(1, reason, *self.python_function(name))

    def test_a_call_that_hangs_ends_the_command_and_rows_before_it_are_kept(self):
        function = self.python_function("hangs")
        rows = ["--row", "rows=65,cols=32", "--row", "rows=66,cols=32", "--timeout", "2"]
        r = self.expect(1, "bench: a call of softmax/f32/65x32 by python:", *function, *rows)
        self.assertIn("has not ended in its time limit (--timeout 2)", r.stderr)
        self.assertRegex(r.stdout, r"softmax/f32/64x32: python:.* took \S+ us; then the process ended")
        self.assertNotIn("66x32: python", r.stdout)
        self.expect(2, "timeout: 0 is not a positive number of seconds", *function, "--timeout", "0")

    def test_mistakes_are_one_sentence(self):
        self.expect(2, "operator: 'nothing' is unknown", "nothing")
        self.expect(2, "device: 'cpu' is not one of cuda, emulated; cpu is for a candidate of your own", "softmax",
                    "--device", "cpu")
        self.expect(2, "'--unheard_of' is not an option of bench or of Google Benchmark", "softmax", "--unheard_of")
        self.expect(2, "--bar: the emulated device has no limit", "softmax", "--device", "emulated", "--bar", "0.5")
        self.expect(3, "file 'missing.so' not found", "softmax", "--device", "emulated", "--peer", "missing.so")
        r = bench("softmax", SMALL)
        if r.returncode != 0:  # where there is no GPU
            self.assertEqual(r.returncode, 3)
            self.assertIn("device cuda", r.stderr)


if __name__ == "__main__":
    unittest.main()
