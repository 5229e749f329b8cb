"""The commands that read formulas: what they print, and their exit codes. Run by CTest with WARPCHECK set."""

import hashlib
import json
import math
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

WARPCHECK = os.environ["WARPCHECK"]
SOURCE = pathlib.Path(os.environ["WARPCHECK_SOURCE"])
FORMULAS = SOURCE / "formulas"
sys.path.insert(0, str(SOURCE / "command/report"))

from reporting import inputs  # noqa: E402


def run(*arguments):
    return subprocess.run([WARPCHECK, *map(str, arguments)], capture_output=True, text=True, timeout=60)


class Commands(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = pathlib.Path(folder.name) / "own.op"

    def expect(self, code, text, *arguments):
        r = run(*arguments)
        self.assertEqual(r.returncode, code, r.stdout + r.stderr)
        self.assertIn(text, r.stdout if code == 0 else r.stderr)
        return r.stdout

    def test_format_prints_the_canonical_form(self):
        self.file.write_text("operator f ( x[n] )->y[n]\n  # twice\n  y[i]=(x[i])+1*x[i]\n")
        canonical = "operator f(x[n]) -> y[n]\n  # twice\n  y[i] = x[i] + 1 * x[i]\n"
        self.assertEqual(self.expect(0, "", "format", self.file), canonical)
        for file in sorted(FORMULAS.glob("*.op")):
            with self.subTest(file=file.name):
                self.file.write_text(self.expect(0, "operator", "format", file))
                self.assertEqual(self.expect(0, "operator", "format", self.file), self.file.read_text())

    def test_gradient_prints_a_formula(self):
        text = self.expect(0, "operator softmax_gradient(x[rows, cols], d_y[rows, cols]) -> d_x[rows, cols]\n",
                           "gradient", FORMULAS / "rows.op:softmax")
        self.file.write_text(text)
        self.assertEqual(self.expect(0, "d_x[r, c] = ", "format", self.file), text)
        self.expect(0, "operator log_softmax_gradient", "gradient", FORMULAS / "rows.op")

    def test_mistakes(self):
        self.file.write_text("operator f(x[n], w[n]) -> y[n]\n  y[i] = x[i + 1] outside w[i]\n")
        self.expect(2, "gradient of f: no rule for a variable value outside of a tensor", "gradient", self.file)
        self.expect(2, "has no operator 'g'; it has f", "format", f"{self.file}:g")
        self.expect(2, "nosuch.op' not found, nor in the library", "format", "nosuch.op")
        for command in (["verify", "rms_norm"], ["verify", "rms_norm", "--python", "x.py:f"],
                        ["verify", "rms_norm", "--source", "x.cu", "--entry", "f"], ["list", "rms_norm"]):
            self.expect(2, "operator: 'rms_norm' is unknown; the library has the formula rms_norm.op", *command)
        self.file.write_text("operator f(x[n]) -> y[n]\n  y[i] = x[k]\n")
        self.expect(2, f"{self.file}:2:12: 'k' is unknown", "format", self.file)

    def test_a_gradient_is_an_operator(self):
        gradient = self.expect(0, "", "gradient", "rms_norm.op")
        self.assertEqual(self.expect(0, "", "format", "gradient:rms_norm.op"), gradient)
        self.expect(0, "rms_norm_gradient.op on emulated", "list", "gradient:rms_norm.op")
        r = run("verify", "gradient:rms_norm.op", "--cases", "2", "--size", "quick", "--property", "within-error-bound")
        self.assertEqual(r.returncode, 0, r.stdout + r.stderr)
        self.assertRegex(r.stdout, "rms_norm_gradient.op/within-error-bound|within-error-bound +2 ")
        self.file.write_text("operator f(x[n], w[n]) -> y[n]\n  y[i] = x[i + 1] outside w[i]\n")
        self.expect(2, "gradient of f: no rule for", "verify", f"gradient:{self.file}")

    def test_explain_says_what_a_formula_demands(self):
        text = self.expect(0, "", "explain", "rms_norm.op")
        for part in ("The formula norms.op#", "y[rows, cols], f32: every element lies within its bound",
                     "(n - 1 + 1) u of the sum of the sizes of its n terms",
                     "A function such as exp errs by at most 2 ulp",
                     "y[r, c] reads x[= r, any]", "causality: no input that may hold NaN is read only up to"):
            self.assertIn(part, text)
        self.assertRegex(text, r"slice-isolation +NaN in one slice of rows changes no bit of another slice")
        self.assertRegex(text, r"cols +emulated +1 +\d+ +\d{3}")
        self.assertIn("eps", text)
        stated = "arithmetic f32: functions 7 ulp, sums of depth 64"
        stated = f"operator f(x[n]) -> y\n  {stated}\n  y = sum(i) exp(x[i])\n"
        self.file.write_text(stated)
        text = self.expect(0, "errs by at most 7 ulp", "explain", self.file)
        self.assertIn("A term of a sum of n goes through at most 64 additions.", text)
        self.expect(2, "--plot and --timeout are for a case line", "explain", self.file, "--plot", "a.svg")
        json_file = self.file.with_suffix(".json")
        self.expect(0, "", "explain", self.file, "--json", json_file)
        sections = json.loads(json_file.read_text())["operators"]["f.op"]
        self.assertIn("Properties that follow", [s["title"] for s in sections])


def write_npy(path, shape, values, code="f"):
    """Version 1.0 of NumPy's format."""
    descr = {"f": "<f4", "d": "<f8", "i": "<i4", "b": "|i1", "B": "|u1"}[code]
    head = repr({"descr": descr, "fortran_order": False, "shape": tuple(shape)})
    head += " " * (63 - (10 + len(head)) % 64) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode()
                     + struct.pack(f"<{len(values)}{code}", *values))


def read_doubles(path):
    data = path.read_bytes()
    (length,) = struct.unpack_from("<H", data, 8)
    return struct.unpack(f"<{(len(data) - 10 - length) // 8}d", data[10 + length :])


class Run(unittest.TestCase):
    """`warpcheck run`: exact values and bounds as arrays."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.x, self.y, self.b = (self.folder / f"{name}.npy" for name in "xyb")

    def test_values_and_bounds(self):
        rows = [[0.5, -1.25, 3.0], [10.0, 10.0, -2.0]]
        write_npy(self.x, (2, 3), [v for row in rows for v in row])
        r = run("run", "softmax.op", "--input", f"x={self.x}", "--output", self.y, "--bound", f"y={self.b}")
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertRegex(r.stdout, r"y: f64\[2 x 3\], largest bound [0-9.]+e-0[67], exact values in ")
        exact = [math.exp(v) / sum(map(math.exp, row)) for row in rows for v in row]
        for value, due, bound in zip(read_doubles(self.y), exact, read_doubles(self.b)):
            self.assertAlmostEqual(value, due, delta=1e-14 * due)
            self.assertTrue(2**-24 * due < bound < 100 * 2**-24 * due, (bound, due))

    def test_arrays_of_8_bits(self):
        write_npy(self.x, (1, 3), [-127, 5, 127], "b")
        scale = self.folder / "scale.npy"
        write_npy(scale, (1,), [0.5])
        arguments = ["run", "dequantise_rows.op", "--input", f"q={self.x}", "--input", f"scale={scale}", "--output"]
        self.assertEqual(run(*arguments, self.y).returncode, 0)
        self.assertEqual(read_doubles(self.y), (-63.5, 2.5, 63.5))
        write_npy(self.x, (1, 3), [-127, 5, 127], "i")
        r = run(*arguments, self.y)
        self.assertEqual((r.returncode, "|i1 (i8) is allowed here" in r.stderr), (2, True), r.stderr)
        file = self.folder / "own.op"
        for kind, bits, values in (("e4m3", (0x38, 0x7E, 0x81), (2, 896, -(2**-8))),
                                   ("e5m2", (0x3C, 0x7B, 0x81), (2, 114688, -(2**-15)))):
            file.write_text(f"operator f(x: {kind}[n]) -> y[n]\n  y[i] = 2 * x[i]\n")
            write_npy(self.x, (3,), bits, "B")
            r = run("run", file, "--input", f"x={self.x}", "--output", self.y)
            self.assertEqual(r.returncode, 0, r.stderr)
            self.assertEqual(read_doubles(self.y), values)

    def test_scalars_gathers_and_bounds_that_are_free(self):
        file = self.folder / "own.op"
        file.write_text("operator f(x[n], at[m] of n, k = 2 in [0, 3]) -> y[m], z[n]\n"
                        "  y[i] = k * x[at[i]]\n  z[i] = x[i] * 1e38 * 1e38\n")
        write_npy(self.x, (3,), [1, 2, 4])
        at = self.folder / "at.npy"
        write_npy(at, (2,), [2, 0], "i")
        arguments = ["run", file, "--input", f"x={self.x}", "--input", f"at={at}"]
        r = run(*arguments, "--set", "k=3", "--output", f"y={self.y}", "--bound", f"z={self.b}")
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertEqual(read_doubles(self.y), (12, 3))
        for wrong, message in ((["--set", "k=4", "--output", f"y={self.y}"],
                                "--set: k is 4, must be a number in [0, 3]"),
                               (["--set", "q=4", "--output", f"y={self.y}"], "has no scalar or extent 'q'"),
                               (["--output", self.y], "is not of the form NAME=VALUE"),
                               ([], "run: nothing is written"),
                               (["--output", f"w={self.y}"], "--output: f has no output 'w'; it has y, z")):
            r = run(*arguments, *wrong)
            self.assertEqual(r.returncode, 2, r.stdout)
            self.assertIn(message, r.stderr)
        write_npy(at, (2,), [3, 0], "i")
        r = run(*arguments, "--output", f"y={self.y}")
        self.assertEqual((r.returncode, "element 0 of at is 3, must be in [0, 2]" in r.stderr), (2, True), r.stderr)
        r = run(*arguments[:4], "--output", f"y={self.y}")
        self.assertEqual((r.returncode, "--input: at is missing" in r.stderr), (2, True), r.stderr)
        write_npy(self.x, (3,), [1, 2, 4], "d")
        r = run(*arguments, "--output", f"y={self.y}")
        self.assertEqual(r.returncode, 2, r.stdout)


class Judged(unittest.TestCase):
    """`warpcheck judge`: given arrays are judged whole."""

    def compared(self, operator, inputs, output):
        """The elements that are compared; arrays are (name, shape, values)."""
        with tempfile.TemporaryDirectory() as folder:
            listed = []
            for name, shape, values in [*inputs, output]:
                path = pathlib.Path(folder, name)
                path.write_bytes(struct.pack(f"<{len(values)}f", *values))
                listed.append({"name": name, "dtype": "f32", "shape": shape, "file": str(path)})
            request = {"operator": operator, "inputs": listed[:-1], "outputs": listed[-1:], "scalars": {}}
            r = subprocess.run([WARPCHECK, "judge"], input=json.dumps(request) + "\n", capture_output=True, text=True)
        report = json.loads(r.stdout)["report"]
        self.assertEqual(report["verdict"], "pass", r.stdout)
        return report["compared"]

    def test_softmax(self):
        rows, cols = 300, 600
        x = [i * i % 13 / 4 for i in range(cols)]
        total = sum(map(math.exp, x))
        y = [math.exp(v) / total for v in x]
        self.assertEqual(self.compared("softmax.op", [("x", (rows, cols), x * rows)], ("y", (rows, cols), y * rows)),
                         rows * cols)

    def test_attention(self):
        heads, n, d = 2, 256, 32
        x = [1.0] * (heads * n * d)
        inputs = [(name, (heads, n, d), x) for name in "qkv"]
        self.assertEqual(self.compared("causal_attention.op", inputs, ("o", (heads, n, d), x)), heads * n * d)


class Mutants(unittest.TestCase):
    """`warpcheck mutants FILE.op`: changes of the formula that the trial has to find."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = pathlib.Path(folder.name) / "own.op"

    def mutants(self, *more):
        r = subprocess.run([WARPCHECK, "mutants", *map(str, more)], capture_output=True, text=True, timeout=600)
        return r.returncode, r.stdout + r.stderr

    def test_all_changes_of_a_formula_are_killed(self):
        result = self.file.with_suffix(".json")
        code, output = self.mutants("rms_norm.op", "--cases", "20", "--json", result)
        self.assertEqual(code, 0, output)
        self.assertRegex(output, r"rms_norm.op: mutation score 100.0 % \((\d+) of \1\)")
        found = inputs.of_schema(result, "warpcheck-mutants-1")  # as `warpcheck report` reads it
        self.assertGreater(found["killed"], 30)
        dropped = [m for m in found["mutants"] if m["change"].startswith("term dropped: y")]
        self.assertEqual([m["outcome"] for m in dropped], ["killed"])
        # The killer's case passes with the formula's own interpreter.
        r = run("replay", dropped[0]["case"])
        self.assertEqual(r.returncode, 0, r.stdout + r.stderr)

    def test_a_weak_trial_is_seen(self):
        # 1e-12 beside 1 is less than any bound, and a comparison whose branches agree changes nothing.
        self.file.write_text("operator f(x[n] in [1, 2]) -> y[n]\n  y[i] = x[i] + 1e-12\n")
        code, output = self.mutants(self.file, "--cases", "10")
        self.assertEqual(code, 1, output)
        self.assertIn("its exact values differ, but by less than the bound", output)
        self.file.write_text("operator f(x[n]) -> y[n]\n  y[i] = if x[i] > 0 then x[i] else 0.5 * x[i]\n")
        code, output = self.mutants(self.file, "--cases", "20")
        self.assertEqual(code, 0, output)
        self.assertRegex(output, r"f-\d+ equal: comparison: y")
        code, output = self.mutants(self.file, "--list")
        self.assertIn("f-1 ", output)
        code, output = self.mutants(self.file, "--only", "f-1", "--cases", "20")
        self.assertRegex(output, r"\(1 of 1\)")
        self.assertEqual(self.mutants(self.file, "--only", "g-1")[0], 2)
        self.assertEqual(self.mutants(self.file, "softmax")[0], 2)


class Golden(unittest.TestCase):
    """`warpcheck golden` with formulas: recorded inputs, and the exact outputs that a formula gave for them."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.formula = "operator own(x[n], w[n] in [1, 2], k = 3 in [1, 4]) -> y[n]\n  y[i] = x[i] * exp(w[i]) + k\n"
        (self.folder / "own.op").write_text(self.formula)

    def run_command(self, code, *arguments):
        r = subprocess.run([WARPCHECK, *arguments], cwd=self.folder, capture_output=True, text=True, timeout=60)
        self.assertEqual(r.returncode, code, r.stdout + r.stderr)
        return r.stdout + r.stderr

    def write_function(self, value):
        (self.folder / "own.py").write_text(
            "import ctypes, math\ndef own(x, w, k, y):\n    n = y.shape[0]\n"
            "    x, w, y = (ctypes.cast(t.data, ctypes.POINTER(ctypes.c_float)) for t in (x, w, y))\n"
            f"    for i in range(n):\n        y[i] = {value}\n")

    def record(self):
        output = self.run_command(0, "golden", "regenerate", "own.op")
        self.assertIn("own.op: 10 files written, 0 unchanged", output)
        return sorted((self.folder / "golden/own.op").glob("*.golden"))

    def write_checksums(self):
        golden = self.folder / "golden"
        sums = [f"{hashlib.sha256(f.read_bytes()).hexdigest()}  {f.relative_to(golden)}\n"
                for f in sorted(golden.rglob("*.golden"))]
        (golden / "SHA256SUMS").write_text("".join(sums))

    def test_recorded_inputs_are_checked(self):
        files = self.record()
        text = files[-1].read_text()
        self.assertIn("operator: own.op\n", text)
        self.assertIn("\ninput x\n", text)
        self.assertIn("own.op: 0 files written, 10 unchanged", self.run_command(0, "golden", "regenerate", "own.op"))
        self.assertIn("10 files agree, 0 do not", self.run_command(0, "golden", "check", "own.op"))
        output = self.run_command(0, "verify", "own.op", "--property", "golden", "--cases", "100")
        self.assertRegex(output, r"golden +10 .* pass")
        self.assertIn("recorded inputs give the recorded outputs", self.run_command(0, "explain", "own.op"))
        # The same in other words agrees.
        (self.folder / "own.op").write_text(self.formula.replace("x[i] * exp(w[i])", "exp(w[i]) * x[i]"))
        self.run_command(0, "golden", "check", "own.op")
        # Another formula does not.
        (self.folder / "own.op").write_text(self.formula.replace("+ k", "- k"))
        output = self.run_command(1, "golden", "check", "own.op")
        self.assertRegex(output, r"the reference disagrees: y\[0\]: the file has [-.e0-9]+, the reference [-.e0-9]+")

    def test_a_kernel_is_held_to_recorded_inputs(self):
        self.record()
        self.write_function("x[i] * math.exp(w[i]) + k * 1.001")
        output = self.run_command(1, "verify", "own.op", "--python", "own.py:own", "--property", "golden")
        line = re.search(r"warpcheck replay '(.*)'", output)[1]
        self.assertRegex(line, r"own.op/golden .* formula=own\.op#")
        self.run_command(1, "replay", line)

    def test_a_changed_file_is_an_error(self):
        file = self.record()[0]
        text = file.read_text()
        file.write_text(text.replace("\nend\n", "0\nend\n"))
        self.assertRegex(self.run_command(2, "golden", "check", "own.op"), "SHA256SUMS:1: .* has SHA-256")
        self.write_checksums()
        self.assertRegex(self.run_command(2, "golden", "check", "own.op"), r"\.golden:\d+: .* is not an element of")
        file.write_text(text.replace("operator: own.op", "operator: own.other"))
        self.write_checksums()
        self.assertIn("lower-case letters, digits and _ are allowed, and .op behind them for a formula",
                      self.run_command(2, "golden", "check", "own.op"))
        shutil.rmtree(self.folder / "golden")
        self.assertIn("golden/SHA256SUMS", self.run_command(2, "golden", "check", "own.op"))

    def test_a_finding_of_a_formula_is_kept_and_replayed(self):
        self.write_function("x[i] * math.exp(w[i])")
        arguments = ["own.op", "--python", "own.py:own", "--property", "within-error-bound"]
        output = self.run_command(1, "fuzz", *arguments, "--out", "found", "--cases", "20", "--shrink-seconds", "5")
        self.assertNotIn("cannot be kept", output)
        (finding,) = (self.folder / "found/findings").glob("*.golden")
        shutil.copytree(self.folder / "found/findings", self.folder / "golden/regressions")
        output = self.run_command(1, "verify", *arguments, "--cases", "1", "--shrink-seconds", "5")
        self.assertIn("1 regression", output)
        # A command that does not know the formula leaves its counterexample alone.
        self.run_command(0, "verify", "rms_norm.op", "--cases", "1", "--size", "quick")


if __name__ == "__main__":
    unittest.main()
