"""`warpcheck explain`: what it says of right kernels, of planted bugs, and its plot. Run by CTest."""

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
FLAWED = os.environ["WARPCHECK_FLAWED"]  # histograms and products with a mistake each, on the host
PYTHON = os.environ["WARPCHECK_PYTHON"]
DERIVED = "fill=derived()"
EMULATED = "device=emulated schedule=fair detect=off"


def histogram(property_name="exact-model", rows=40, knobs="", fill="integers(2,-9,9)", bins="integers(1,0,65535)"):
    return (
        f"v1 histogram/{property_name} bins=u8[{rows}x2] fill={bins} | cols=i64[2x2] {DERIVED} "
        f"| g=f32[{rows}] fill={fill} | h=f32[{rows}] fill=integers(3,1,9) | hist=f64[18x2] | widths=9 {knobs}".strip()
    )


def matmul(m, n, k, knobs, property_name="within-error-bound", bias=0, types=("f32", "f32"), fill="uniform(1,1,2)"):
    a, c = types
    return (
        f"v1 matmul/{property_name} a={a}[{m}x{k}] fill={fill} | b={a}[{k}x{n}] fill=uniform(2,1,2) "
        f"| c_in={c}[0x0] fill=constant(0) | bias=f32[{bias}] fill=uniform(3,-2,2) | c={c}[{m}x{n}] | work=u8[0] "
        f"| {knobs}"
    )


def best_split(property_name, slots, knobs, features=1, fill="dyadic(1,1024,6)"):
    counts = 0 if "exact=0" in knobs else slots
    return (
        f"v1 best_split/{property_name} hist=f64[{slots}x2] fill={fill} | count=i64[{counts}] {DERIVED} "
        f"| feature=i64[{features}x7] {DERIVED} | used=u8[0x0] {DERIVED} | leaf=f64[1x7] {DERIVED} "
        f"| value=f64[1x9] | field=i64[1x6] | cat=u32[1x32] | {knobs}"
    )


def gru(property_name, time, batch, inputs, hidden, directions, knobs):
    """All tensors of the contract, those that are left out without elements."""
    state, gates, wide = f"{directions}x{batch}x{hidden}", f"{directions}x{3 * hidden}", directions * hidden
    given = {
        "x": f"{time}x{batch}x{inputs}",
        "w_ih": f"{gates}x{inputs}",
        "w_hh": f"{gates}x{hidden}",
        "b_ih": gates,
        "b_hh": gates,
        "h0": state,
        "h_reset": state,
        "dy": f"{time}x{batch}x{wide}",
        "dhn": state,
    }
    made = {
        "y": f"{time}x{batch}x{wide}",
        "hn": state,
        "history": f"{directions}x{time}x{batch}x{4 * hidden}",
        "dx": given["x"],
        "dh0": state,
        "dh_reset": state,
        "dw_ih": given["w_ih"],
        "dw_hh": given["w_hh"],
        "db_ih": gates,
        "db_hh": gates,
        "trace_e": f"{directions}x{time}x{batch}x{hidden}",
    }
    zero = "fill=constant(0)"
    parts = [f"{name}=f32[{shape}] fill=uniform({i + 1},-1,1)" for i, (name, shape) in enumerate(given.items())]
    parts[7:7] = [f"lengths=i64[0] {zero}", f"reset=u8[0x0] {zero}"]
    parts += [f"y_in=f32[0x0x0] {zero}", f"history_in=f32[0x0x0x0] {zero}"]
    parts += [f"{name}=f32[{shape}]" for name, shape in made.items()] + ["work=u8[0]"]
    return f"v1 gru/{property_name} " + " | ".join(parts) + f" | {knobs}"


RIGHT = {
    "softmax": "v1 softmax/within-error-bound x=f32[3x65] fill=randn(5) | y=f32[3x65] | device=emulated schedule=fair",
    "log_softmax": "v1 log_softmax/within-error-bound x=bf16[2x33] fill=randn(5) | y=bf16[2x33] | "
    "device=emulated schedule=fair",
    "logsumexp": "v1 logsumexp/within-error-bound x=f16[3x65] fill=randn(5) | y=f32[3] | device=emulated schedule=fair",
    "argmax": "v1 argmax/first-index x=f32[3x65] fill=randn(5) | index=i64[3] | device=emulated schedule=fair",
    "sigmoid": "v1 sigmoid/within-error-bound x=f32[65] fill=randn(5) | y=f32[65] | device=emulated schedule=fair",
    "reduce": "v1 reduce/within-error-bound x=f32[3x65] fill=randn(5) | y=f32[3] | device=emulated schedule=fair",
    "scan": "v1 scan/within-error-bound x=f32[3x65] fill=randn(5) | y=f32[3x65] | device=emulated schedule=fair",
    "argsort": "v1 argsort/within-error-bound x=f32[3x65] fill=randn(5) | index=i32[3x65] | "
    "device=emulated schedule=fair",
    "histogram": histogram(knobs=EMULATED, fill="randn(5)"),
    "histogram totals": histogram("column-sums", knobs=EMULATED),
    "best_split": best_split("split-is-maximal", 40, EMULATED),
    "matmul": matmul(5, 6, 17, EMULATED),
    "matmul tf32x3": matmul(5, 6, 17, "mode=tf32x3 " + EMULATED),
    "matmul bf16x6": matmul(5, 6, 17, "mode=bf16x6 " + EMULATED),
    "matmul f16": matmul(5, 6, 17, EMULATED, types=("f16", "f16")),
    "matmul layer": matmul(
        5, 6, 17, "alpha=0.5 sigmoid=1 mu=9 sigma=0.25 " + EMULATED, property_name="layer", bias=6
    ),
    "gru": gru("forward-matches-the-reference", 3, 2, 3, 4, 2, EMULATED),
}
BOUNDED = ("softmax", "log_softmax", "logsumexp", "sigmoid", "reduce", "scan", *(n for n in RIGHT if "matmul" in n),
           "gru")


def explain(*arguments, flaw=""):
    environment = {**os.environ, "EXPLAIN_FLAW": flaw}
    return subprocess.run(
        [WARPCHECK, "explain", *arguments], capture_output=True, text=True, timeout=300, env=environment
    )


class Right(unittest.TestCase):
    def test_each_operator_tells_its_formula_its_bound_and_its_steps(self):
        for op, line in RIGHT.items():
            with self.subTest(op):
                said = explain(line)
                self.assertEqual(said.returncode, 0, said.stderr)
                for text in (
                    f"{op.split()[0]}/",
                    ": pass",
                    "The case",
                    "What the contract demands",
                    "What the kernel gave",
                    "Where it departs from a plain implementation",
                    "No step departs",
                ):
                    self.assertIn(text, said.stdout)
                self.assertRegex(said.stdout, r"Every element of .+ lies within its bound\.")

    def test_values_that_the_property_computes_are_named(self):
        for line, expected in (
            (histogram("constant-hessian-counts", knobs=EMULATED), "h"),
            (RIGHT["histogram"], None),
            (RIGHT["best_split"], None),
        ):
            with self.subTest(line):
                said = explain(line).stdout
                found = re.search(r"The property changes the values of (.+) for this call", said)
                self.assertEqual(found and found[1], expected)

    def test_the_parts_of_the_bound_add_up(self):
        for op in BOUNDED:
            with self.subTest(op):
                said = explain(RIGHT[op]).stdout
                bound = float(re.search(r"It may err by (\S+):", said)[1])
                parts = [float(v) for v in re.findall(r"  (\S+)\s+\d+\.\d %$", said, re.M)]
                self.assertTrue(parts)
                self.assertAlmostEqual(sum(parts) / bound, 1, 2)

    def test_the_numbers_are_those_of_the_formula(self):
        said = explain(
            "v1 softmax/within-error-bound x=f32[1x2] fill=constant(0) edit=0,1:1 | y=f32[1x2] | "
            "device=emulated schedule=fair"
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
    """A case of a kernel of properties/controls/known_bad."""
    return f"v1 {call} | candidate={KNOWN_BAD}/{kernel}.so device=emulated schedule=fair {knobs}".strip()


class Wrong(unittest.TestCase):
    def test_a_sum_without_its_last_element_is_named(self):
        said = explain(
            f"v1 softmax/within-error-bound x=f32[1x37] fill=constant(0) | y=f32[1x37] | "
            f"candidate={DROPS_TAIL} device=cpu"
        )
        self.assertEqual(said.returncode, 0, said.stderr)
        self.assertIn(": violation", said.stdout)
        self.assertIn("lie outside", said.stdout)
        self.assertRegex(said.stdout, r"first wrong step|NaN stands in")

    def test_a_naive_sigmoid_departs_at_its_exponential(self):
        line = flawed(
            "sigmoid_flaws", "sigmoid/within-error-bound x=f32[1] fill=constant(-90) | y=f32[1]", "variant=naive_tail"
        )
        said = explain(line).stdout
        self.assertIn(": violation", said)
        self.assertIn("The exponential is the first wrong step", said)

    def test_a_turned_sign_is_named(self):
        line = flawed(
            "sigmoid_flaws", "sigmoid/within-error-bound x=f32[1] fill=constant(2) | y=f32[1]", "variant=sign"
        )
        said = explain(line).stdout
        self.assertIn("The sign of z is turned.", said)

    def test_a_race_has_no_result_and_is_shown(self):
        line = flawed(
            "softmax_slot_reuse", "softmax/no-hazard x=f32[1x300] fill=randn(5) | y=f32[1x300]", "detect=only"
        )
        said = explain(line).stdout
        self.assertIn("No result: race", said)
        self.assertRegex(said, r"race: .* at \S+:\d+")


class WrongHistograms(unittest.TestCase):
    def explained(self, flaw, **case):
        said = explain(histogram(knobs=f"candidate={FLAWED} device=cpu variant={flaw}", **case))
        self.assertEqual(said.returncode, 0, said.stderr)
        self.assertIn(": violation", said.stdout)
        return said.stdout

    def test_the_variant_without_a_mistake_passes(self):
        said = explain(histogram(knobs=f"candidate={FLAWED} device=cpu variant=right")).stdout
        self.assertIn(": pass", said)
        self.assertIn("Only this value passes" if "Only this" in said else "only this value passes", said)

    def test_the_step_that_departs_is_named(self):
        for flaw in ("drops_last_row", "exchanges_parts", "slot_behind", "wrong_slot"):
            with self.subTest(flaw):
                self.assertRegex(self.explained(flaw),
                                 r"The sum on the grid is the first wrong step: \S+ in place of \S+\.")

    def test_additions_in_f32_are_those_of_the_plain_implementation(self):
        said = self.explained("adds_in_f32", fill="uniform(2,1,2)", bins="constant(4)")
        self.assertRegex(said, r"  sum on the grid +(?!(\S+)  +\1)\S+ +(\S+) +\2\n")


def sparse_histogram(knobs, rows=9):
    return (
        f"v1 histogram/dense-equals-sparse bins=u8[{rows}x2] fill=integers(1,0,65535) | cols=i64[2x2] {DERIVED} "
        f"| g=f32[{rows}] fill=integers(2,-9,9) | h=f32[{rows}] fill=integers(3,1,9) "
        f"| hist=f64[18x2] | widths=9 {knobs}"
    )


def fix(knobs, slots=27):
    return (
        f"v1 histogram/fix-restores-total before=f64[{slots}x2] fill=integers(4,-99,99) | entries=i64[3x2] {DERIVED} "
        f"| leaf=f64[2] fill=integers(5,500,900) | hist=f64[{slots}x2] | stage=4 widths=9 {knobs}"
    )


def subtract(knobs, slots=8):
    return (
        f"v1 histogram/subtract parent=f64[{slots}x2] fill=integers(4,10,99) "
        f"| smaller=f64[{slots}x2] fill=integers(5,1,9) | larger=f64[{slots}x2] | stage=5 {knobs}"
    )


def largest(knobs, edit="edit=0,4:7"):
    return f"v1 reduce/within-error-bound x=f32[1x5] fill=ascending(0,4) {edit} | y=f32[1] | op=2 {knobs}"


class WrongStages(unittest.TestCase):
    """Stages of the histogram beside the sums over dense bins, and largest elements."""

    def explained(self, line, flaw):
        said = explain(line(f"candidate={FLAWED} device=cpu"), flaw=flaw)
        self.assertEqual(said.returncode, 0, said.stderr)
        self.assertIn(": pass" if flaw == "right" else ": violation", said.stdout)
        return said.stdout

    def test_each_mistake_is_named_and_none_where_there_is_none(self):
        def scale(knobs):
            return histogram("scale", knobs=knobs, fill="constant(inf)")

        def totals(knobs):
            return histogram("column-sums", knobs=knobs)

        for line, flaw, expected in (
            (sparse_histogram, "drops_last_update", "The sum on the grid is the first wrong step"),
            (totals, "total_of_fewer", "departs"),
            (scale, "coarse_grid", "scale[0] departs: "),
            (scale, "hides_infinity", "scale[3] departs: "),
            (fix, "forgets_first_slot", "The value left for the slot is the first wrong step"),
            (fix, "restores_next_slot", "departs"),
            (subtract, "turns_sign", "The difference of parent and smaller is the first wrong step"),
            (subtract, "keeps_parent", "The difference of parent and smaller is the first wrong step"),
            (largest, "drops_last_element", "the element of column 3 was taken, so that of column 4 was not looked at"),
            (lambda knobs: largest(knobs, "edit=0,2:nan"), "skips_nan", "so that of column 2 was not looked at"),
            (largest, "adds_one", "8 is not an element of the row."),
            (subtract, "keeps_smaller", "The difference of parent and smaller is the first wrong step"),
        ):
            with self.subTest(flaw):
                self.assertIn(expected, self.explained(line, flaw))
                self.assertNotIn("departs:", self.explained(line, "right"))


class WrongProducts(unittest.TestCase):
    def explained(self, flaw, knobs="", **case):
        said = explain(matmul(4, 5, 17, f"candidate={FLAWED} device=cpu variant={flaw} {knobs}".strip(), **case))
        self.assertEqual(said.returncode, 0, said.stderr)
        self.assertIn(": violation", said.stdout)
        return said.stdout

    def test_each_step_is_named(self):
        for flaw, knobs, bias in (("without_bias", "", 5), ("without_alpha", "alpha=0.5", 0),
                                  ("drops_last_product", "", 0), ("bf16_operands", "", 0), ("exchanges_rows", "", 0)):
            with self.subTest(flaw):
                said = self.explained(flaw, knobs, **({"bias": bias} if bias else {}))
                self.assertRegex(said, r"The sum of the products is the first wrong step: \S+ in place of \S+\.")

    def known_bad(self, variant, m, n, k, knobs="", **case):
        candidate = f"candidate={KNOWN_BAD}/matmul_tile16.so variant={variant}"
        return explain(matmul(m, n, k, f"{candidate} {EMULATED} {knobs}".strip(), **case)).stdout

    def test_the_published_layer(self):
        layer = {"property_name": "layer", "bias": 3}
        knobs = "sigmoid=1 mu=9 sigma=0.25"
        for variant in ("layer_sigmoid", "layer_call"):
            self.assertIn("departs", self.known_bad(variant, 2, 3, 4, knobs, **layer))

    def test_the_published_product_without_padding(self):
        self.assertRegex(self.known_bad("layer_no_pad", 16, 16, 17), r"c\[\d+,\d+\] departs: NaN in place of")


class WrongSplits(unittest.TestCase):
    def test_the_published_kernel(self):
        base = f"candidate={KNOWN_BAD}/best_split_walkthrough256.so device=emulated detect=off"
        for variant, case, expected in (
            ("unordered_argmax", ("split-tie-matrix", 64, "at=1 to=2"), "departs"),
            ("no_stride", ("split-every-optimum", 600, "at=400 to=1 min_data=0"), "departs"),
            ("unsigned_wrap", ("no-stale-fields", 1, "parent=0 min_data=0 min_hessian=1e-16"), "departs"),
            ("epsilon_for_l2", ("record-self-consistent", 40, "lambda_l2=8"),
             "gain is not what the sums of the left side give"),
            ("partial_warp", ("routing-reproduces-sums", 79, "missing=2 encoding=1"), "departs"),
        ):
            with self.subTest(variant):
                name, slots, knobs = case
                said = explain(best_split(name, slots, f"{base} {knobs} variant={variant}")).stdout
                self.assertIn(": violation", said)
                self.assertIn(expected, said)
                self.assertNotIn("No step departs", said)


class WrongRecurrences(unittest.TestCase):
    def explained(self, variant, property_name, *shape):
        knobs = f"candidate={KNOWN_BAD}/gru_seed.so device=emulated variant={variant} detect=off"
        said = explain(gru(property_name, *shape, knobs))
        self.assertEqual(said.returncode, 0, said.stderr)
        self.assertIn(": violation", said.stdout)
        return said.stdout

    def test_the_published_kernel(self):
        slope = "each-gradient-of-the-kernel-is-a-difference-quotient"
        forward = ("forward-matches-the-reference", 2, 2, 3, 5, 1)
        for variant, case, expected in (
            ("w_ih_read_transposed", forward, "The reset gate r is the first wrong step"),
            ("seed_r_t_is_preactivation", (slope, 2, 2, 1, 3, 1), "is the first wrong step"),
            ("recursion_without_w_hh", forward, "The dh0 is the first wrong step"),
            ("seed_dy_one_address_for_all_units", forward, "The trace_e is the first wrong step"),
            ("dhn_ignored", forward, "The trace_e is the first wrong step"),
        ):
            with self.subTest(variant):
                said = self.explained(variant, *case)
                self.assertIn(expected, said)
                self.assertNotIn("No step departs", said)


class Output(unittest.TestCase):
    def test_json_and_plot(self):
        with tempfile.TemporaryDirectory() as folder:
            path, plot = pathlib.Path(folder) / "e.json", pathlib.Path(folder) / "row.svg"
            self.assertEqual(explain(RIGHT["softmax"], "--json", str(path)).returncode, 0)
            shown = json.loads(path.read_text())
            self.assertEqual([s["title"] for s in shown["explanation"]][0], "The case")
            self.assertEqual({len(shown["row"][name]) for name in ("input", "exact", "bound", "actual")}, {65})
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
        self.assertEqual(explain("v1 softmax/within-error-bound").returncode, 2)
        self.assertEqual(explain(RIGHT["softmax"], "--timeout", "0").returncode, 2)


if __name__ == "__main__":
    unittest.main(verbosity=2)
