"""`warpcheck explain`: what it tells of right kernels, of planted bugs, and its plot. Run by CTest."""

import json
import math
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

WARPCHECK = os.environ["WARPCHECK"]
KNOWN_BAD = pathlib.Path(os.environ["WARPCHECK_KNOWN_BAD"])
DROPS_TAIL = os.environ["WARPCHECK_WRONG"]  # softmax without the last element, on the host
PYTHON = os.environ["WARPCHECK_PYTHON"]
RIGHT = {
    "softmax": "v1 softmax/component-bound x=f32[3x65] fill=randn(5) | y=f32[3x65] | device=emulated schedule=fair",
    "log_softmax": "v1 log_softmax/component-bound x=bf16[2x33] fill=randn(5) | y=bf16[2x33] | device=emulated schedule=fair",
    "logsumexp": "v1 logsumexp/component-bound x=f16[3x65] fill=randn(5) | y=f32[3] | device=emulated schedule=fair",
    "argmax": "v1 argmax/first-index x=f32[3x65] fill=randn(5) | index=i64[3] | device=emulated schedule=fair",
    "sigmoid": "v1 sigmoid/component-bound x=f32[65] fill=randn(5) | y=f32[65] | device=emulated schedule=fair",
    "reduce": "v1 reduce/component-bound x=f32[3x65] fill=randn(5) | y=f32[3] | device=emulated schedule=fair",
    "scan": "v1 scan/component-bound x=f32[3x65] fill=randn(5) | y=f32[3x65] | device=emulated schedule=fair",
    "argsort": "v1 argsort/component-bound x=f32[3x65] fill=randn(5) | index=i32[3x65] | device=emulated schedule=fair",
}


def explain(*arguments):
    return subprocess.run([WARPCHECK, "explain", *arguments], capture_output=True, text=True, timeout=300)


class Right(unittest.TestCase):
    def test_each_operator_tells_its_formula_its_bound_and_its_steps(self):
        for op, line in RIGHT.items():
            with self.subTest(op):
                said = explain(line)
                self.assertEqual(said.returncode, 0, said.stderr)
                for text in (
                    f"{op}/",
                    ": pass",
                    "The case",
                    "What the contract demands",
                    "What the kernel gave",
                    "Every element of the row lies within its bound.",
                    "Where it departs from a plain implementation",
                    "No step departs",
                ):
                    self.assertIn(text, said.stdout)

    def test_the_parts_of_the_bound_add_up(self):
        for op in ("softmax", "log_softmax", "logsumexp", "sigmoid", "reduce", "scan"):
            with self.subTest(op):
                said = explain(RIGHT[op]).stdout
                bound = float(re.search(r"It may err by (\S+):", said)[1])
                parts = [float(v) for v in re.findall(r"  (\S+)\s+\d+\.\d %$", said, re.M)]
                self.assertTrue(parts)
                self.assertAlmostEqual(sum(parts) / bound, 1, 2)

    def test_the_numbers_are_those_of_the_formula(self):
        said = explain(
            "v1 softmax/component-bound x=f32[1x2] fill=constant(0) edit=0,1:1 | y=f32[1x2] | device=emulated schedule=fair"
        ).stdout
        self.assertIn(
            f"{math.exp(1) / (1 + math.exp(1)):.6f}"[:7] if "y[1]" in said else f"{1 / (1 + math.exp(1)):.6f}"[:7], said
        )
        self.assertIn("/ 1.36787944", said)  # 1 + e^-1

    def test_a_case_without_elements_has_no_row(self):
        said = explain("v1 softmax/empty x=f32[0x5] fill=constant(0) | y=f32[0x5] | device=emulated")
        self.assertEqual(said.returncode, 0, said.stderr)
        self.assertIn("The case", said.stdout)
        self.assertNotIn("What the contract demands", said.stdout)


def flawed(kernel, call, knobs=""):
    """A case of a kernel of properties/known_bad."""
    return f"v1 {call} | candidate={KNOWN_BAD}/{kernel}.so device=emulated schedule=fair {knobs}".strip()


class Wrong(unittest.TestCase):
    def test_a_sum_without_its_last_element_is_named(self):
        said = explain(
            f"v1 softmax/component-bound x=f32[1x37] fill=constant(0) | y=f32[1x37] | candidate={DROPS_TAIL} device=cpu"
        )
        self.assertEqual(said.returncode, 0, said.stderr)
        self.assertIn(": violation", said.stdout)
        self.assertIn("lie outside", said.stdout)
        self.assertRegex(said.stdout, r"departs? first|NaN stands in")

    def test_a_naive_sigmoid_departs_at_its_exponential(self):
        line = flawed("sigmoid_naive_tail", "sigmoid/component-bound x=f32[1] fill=constant(-90) | y=f32[1]")
        said = explain(line).stdout
        self.assertIn(": violation", said)
        self.assertIn("The exponential departs first", said)

    def test_a_turned_sign_is_named(self):
        line = flawed("sigmoid_sign", "sigmoid/component-bound x=f32[1] fill=constant(2) | y=f32[1]")
        said = explain(line).stdout
        self.assertIn("The sign of z is turned.", said)

    def test_a_race_has_no_result_and_is_shown(self):
        line = flawed(
            "softmax_slot_reuse", "softmax/no-hazard x=f32[1x300] fill=randn(5) | y=f32[1x300]", "detect=only"
        )
        said = explain(line).stdout
        self.assertIn("No result: race", said)
        self.assertRegex(said, r"race: .* at \S+:\d+")


class Output(unittest.TestCase):
    def test_json_and_plot(self):
        with tempfile.TemporaryDirectory() as folder:
            path, plot = pathlib.Path(folder) / "e.json", pathlib.Path(folder) / "row.svg"
            self.assertEqual(explain(RIGHT["softmax"], "--json", str(path)).returncode, 0)
            told = json.loads(path.read_text())
            self.assertEqual([s["title"] for s in told["explanation"]][0], "The case")
            self.assertEqual({len(told["row"][name]) for name in ("input", "exact", "bound", "actual")}, {65})
            if subprocess.run([PYTHON, "-c", "import jinja2, matplotlib"], capture_output=True).returncode != 0:
                return
            said = explain(RIGHT["softmax"], "--plot", str(plot))
            self.assertEqual(said.returncode, 0, said.stderr)
            drawn = plot.read_text()
            self.assertIn('<title id="row-title">Row', drawn)
            self.assertIn("0 of 65 elements lie outside their bound", drawn)
            self.assertIn("prefers-color-scheme: dark", drawn)
            self.assertEqual(
                explain(RIGHT["softmax"], "--plot", str(plot), "--python", "/nowhere/python").returncode, 3
            )

    def test_mistakes(self):
        self.assertEqual(explain("v1 softmax/component-bound").returncode, 2)
        self.assertEqual(explain(RIGHT["softmax"], "--timeout", "0").returncode, 2)


if __name__ == "__main__":
    unittest.main(verbosity=2)
