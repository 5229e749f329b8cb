"""The commands that read formulas: what they print, and their exit codes. Run by CTest with WARPCHECK set."""

import os
import pathlib
import subprocess
import tempfile
import unittest

WARPCHECK = os.environ["WARPCHECK"]
FORMULAS = pathlib.Path(os.environ["WARPCHECK_SOURCE"]) / "formulas"


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
        self.file.write_text("operator f(x[n]) -> y[n]\n  y[i] = x[k]\n")
        self.expect(2, f"{self.file}:2:12: 'k' is unknown", "format", self.file)


if __name__ == "__main__":
    unittest.main()
