"""`warpcheck report` from outside: what the page says of each file, bad input, a Python without libraries. By CTest."""

import html.parser
import json
import os
import pathlib
import re
import stat
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))
SOURCE = pathlib.Path(os.environ["WARPCHECK_SOURCE"])
sys.path.insert(0, str(SOURCE / "ci"))
import made  # noqa: E402
from nights import history  # noqa: E402

WARPCHECK = os.environ["WARPCHECK"]
PYTHON = os.environ["WARPCHECK_PYTHON"]

if subprocess.run([PYTHON, "-c", "import jinja2, matplotlib"], capture_output=True).returncode != 0:
    print(f"WARPCHECK_SKIP: Jinja2 or matplotlib is not installed in {PYTHON} (ci/requirements.txt, ci/packages)")
    sys.exit(0)


class Text(html.parser.HTMLParser):
    """The words of a page, and its sections' by their ids."""

    def __init__(self, page):
        super().__init__()
        self.section, self.hidden, self.words = "head", False, {}
        self.feed(page)
        self.sections = {name: re.sub(r"\s+", " ", "".join(text)) for name, text in self.words.items()}

    def handle_starttag(self, tag, attributes):
        if tag == "section":
            self.section = dict(attributes)["id"]
        self.hidden = tag in ("script", "style")
        self.handle_data(" ")

    def handle_endtag(self, tag):
        self.hidden = False
        self.handle_data(" ")

    def handle_data(self, data):
        if not self.hidden:
            self.words.setdefault(self.section, []).append(data)


class Report(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.scratch.name)
        self.addCleanup(self.scratch.cleanup)

    def report(self, *arguments, **environment):
        out = self.folder / "report.html"
        return subprocess.run(
            [WARPCHECK, "report", "--out", str(out), *arguments],
            capture_output=True,
            text=True,
            env={**os.environ, **environment},
        )

    def page(self, *arguments):
        said = self.report(*arguments)
        self.assertEqual(said.returncode, 0, said.stdout + said.stderr)
        self.assertIn("report.html", said.stdout)
        text = (self.folder / "report.html").read_text()
        return text, Text(text).sections

    def file(self, name, content):
        return made.write(self.folder, name, content)


class Content(Report):
    def test_it_opens_with_one_sentence_that_says_what_on_what_verdict_and_since_when(self):
        made.history(self.folder / "nightly.db", history)
        _, s = self.page(
            "--verify",
            self.file("v.json", made.verify()),
            "--mutants",
            self.file("m.json", made.mutants()),
            "--fuzz",
            self.file("f.json", made.fuzz()),
            "--history",
            str(self.folder / "nightly.db"),
        )
        self.assertIn(
            "✗ On 2026-11-25 warpcheck 0.9.0 judged the built-in kernels of 2 operators on the emulated device: "
            "180 cases of 5 properties, "
            "2 failures in 1 property; nothing was run on a GPU; fuzzing tried 600 more cases and kept "
            "1 counterexample; 4 of 5 planted bugs were found; every night since 2026-11-09 was green.",
            s["head"],
        )

    def test_a_run_without_a_failure_says_so(self):
        _, s = self.page("--verify", self.file("v.json", made.verify(failures=())))
        self.assertIn("✓ On 2026-11-25", s["head"])
        self.assertIn("no failure", s["head"])
        self.assertIn("None: no case failed", s["counterexamples"])
        self.assertIn("saw no race", s["hazards"])

    def test_a_run_that_owes_a_quota_is_not_called_passed(self):
        content = made.verify(failures=())
        content.update(exit_code=1, unreached_variants=["softmax f32 softmax_cluster"])
        _, s = self.page("--verify", self.file("v.json", content))
        self.assertIn("✗ On", s["head"])
        self.assertIn("did less than it must", s["head"])
        self.assertIn("no case reached the variant softmax f32 softmax_cluster", s["verdicts"])

    def test_a_run_that_compared_nothing_is_no_success(self):
        content = made.verify(operators=("gru",), failures=())
        content.update(exit_code=1, nothing_judged=["gru"])
        _, s = self.page("--verify", self.file("v.json", content))
        self.assertIn("✗ On", s["head"])
        self.assertIn("nothing was judged of gru", s["head"])
        self.assertIn("✗ nothing judged gru", s["verdicts"])

    def test_the_depth_of_sums_and_what_was_left_out_are_said(self):
        content = made.verify(failures=())
        content.update(
            admitted=[{"operator": "softmax", "sum_depth": 96, "failing": 2},
                      {"operator": "gru", "gates": 106, "failing": 0}],
            asked={"properties": 1, "of": 2, "without": [{"property": "misalignment", "reason": "rows <are> aligned"}]},
        )
        _, s = self.page("--verify", self.file("v.json", content))
        self.assertIn("the smallest depth of sums that admits its results is 96, except 2 cases", s["verdicts"])
        self.assertIn("the smallest error of gates that admits its results is 106", s["verdicts"])
        self.assertIn("– left out misalignment: rows <are> aligned", s["verdicts"])

    def test_the_strength_of_exact_runs_is_printed(self):
        content = made.verify(failures=())
        content["jobs"][0]["wrong_polynomial"] = 4.56e-10
        _, s = self.page("--verify", self.file("v.json", content))
        sentence = "a wrong polynomial passes the exact runs of a shape with probability at most 4.6e-10"
        self.assertIn(sentence, s["verdicts"])

    def test_failures_of_one_cause_are_one_counterexample(self):
        names = ["within-error-bound", *(f"property-{i}" for i in range(16))]
        others = [made.RACE | {"case": made.LINE.replace("no-hazard", name)} for name in names]
        text, s = self.page("--verify", self.file("v.json", made.verify(failures=(*others, made.RACE))))
        self.assertIn("18 failures in 1 property with 1 cause", s["head"])
        self.assertEqual(len(re.findall(r'<details id="case-', text)), 1)
        # The one with a neighbour comes first; the fixture's race has one.
        self.assertIn("further properties fail with the same race: ", s["counterexamples"])
        self.assertIn("17 further cases in all", s["counterexamples"])
        self.assertEqual(s["hazards"].count("kernels/softmax/softmax.cu:58 58 slot[0]"), 1)
        self.assertEqual(len(re.findall(r'id="hazard-case-\d+"', text)), 1)
        for name in names:
            self.assertIn(f"softmax/{name}", s["hazards"])
            self.assertIn(f"warpcheck replay '{made.LINE.replace('no-hazard', name)}'", s["counterexamples"])

    def test_another_cause_candidate_or_device_is_another_counterexample(self):
        other = made.RACE | {"cause": "softmax race softmax.cu:77"}
        files = []
        for name, content in {
            "a.json": made.verify(failures=(made.RACE, other)),
            "b.json": made.verify(failures=(made.RACE,), candidate="build/theirs.so"),
            "c.json": made.verify(failures=(made.RACE,), device="cuda"),
        }.items():
            files += ["--verify", self.file(name, content)]
        text, _ = self.page(*files)
        self.assertEqual(len(re.findall(r'<details id="case-', text)), 4)

    def test_an_interrupted_search_says_that_it_was(self):
        content = made.mutants()
        content.update(interrupted=True, exit_code=130)
        _, s = self.page("--mutants", self.file("m.json", content))
        self.assertIn("4 of 5 planted bugs were found, before the search was interrupted", s["head"])
        content = made.fuzz()
        content.update(interrupted=True, exit_code=130)
        _, s = self.page("--fuzz", self.file("f.json", content))
        self.assertIn("counterexample, interrupted", s["head"].replace("counterexamples", "counterexample"))

    def test_what_was_not_run_is_in_the_table_with_its_reason(self):
        text, s = self.page("--verify", self.file("v.json", made.verify()))
        self.assertIn("scan misalignment – not run not asked for", s["verdicts"])
        # Each of the six properties that are known has one row; a device that was not run is one line.
        self.assertEqual(len(re.findall(r"<tr data-kind=", text)), 6)
        self.assertEqual(s["verdicts"].count("cuda : – not run"), 1)
        _, s = self.page("--verify", self.file("v.json", made.verify(device="cuda", failures=())))
        self.assertIn("nothing was run on the emulated device, so no race was looked for", s["head"])
        self.assertIn("which alone has a race detector", s["hazards"])

    def test_cases_with_every_schedule_proven_are_counted_by_kernel(self):
        _, s = self.page("--verify", self.file("v.json", made.verify(failures=())))
        self.assertIn("operator kernel cases proven softmax softmax_warp 85 85 softmax softmax_block 15 0 "
                      "argmax argmax_warp 68 68 argmax argmax_block 12 0", s["verdicts"])
        _, s = self.page("--verify", self.file("v.json", made.verify(failures=(), device="cuda")))
        self.assertNotIn("Every schedule", s["verdicts"])

    def test_devices_are_columns(self):
        files = []
        for device in ("cuda", "emulated"):
            files += ["--verify", self.file(device + ".json", made.verify(failures=(), device=device))]
        text, s = self.page(*files)
        self.assertEqual(re.findall(r'<th scope="colgroup" colspan="4">(\w+)</th>', text), ["emulated", "cuda"])
        self.assertEqual(len(re.findall(r"<tr data-kind=", text)), 6)
        self.assertIn("argmax misalignment ✓ pass 40 0.99 1.25 ✓ pass 40 0.99 1.25 f32, bf16", s["verdicts"])

    def test_types_of_a_property_that_were_not_run_are_named(self):
        content = made.verify()
        content["not_run"].append(
            {"operator": "softmax", "property": "misalignment", "dtypes": ["f16"],
             "why": "the candidate does not offer it"}
        )
        _, s = self.page("--verify", self.file("v.json", content))
        self.assertIn("✓ pass f16 not run: the candidate does not offer it", s["verdicts"])

    def test_two_candidates_share_the_rows_of_what_neither_was_tried_on(self):
        one, two = made.verify(failures=()), made.verify(failures=(), candidate="build/theirs.so")
        left = {"operator": "argmax", "property": "long-accumulation", "dtypes": ["f32"], "why": "too large"}
        one["not_run"].append(left)
        two["jobs"] = [j for j in two["jobs"] if j["operator"] == "softmax"]
        two["not_run"] += [left, {**left, "property": "misalignment", "why": "not asked for"}]
        text, s = self.page("--verify", self.file("1.json", one), "--verify", self.file("2.json", two))
        self.assertIn("judged the built-in kernels and theirs.so of 2 operators", s["head"])
        rows = re.findall(r"<tr data-kind=\"(\w+)\"><td>(\w+)(?:<small>[^<]*</small>)?</td>\s*<td>([\w-]+)", text)
        # Two rows where both were tried.
        self.assertEqual(rows.count(("none", "argmax", "long-accumulation")), 1)
        self.assertEqual(rows.count(("none", "scan", "misalignment")), 1)
        self.assertEqual(rows.count(("pass", "argmax", "misalignment")), 1)
        self.assertEqual(rows.count(("pass", "softmax", "misalignment")), 2)

    def test_files_of_one_candidate_add_up(self):
        """A test of its own for each property, as warpcheck_add_kernel_tests makes them."""
        files = []
        for name in ("within-error-bound", "misalignment"):
            content = made.verify(failures=(), operators=("softmax",), names=(name,))
            content["jobs"] = [j for j in content["jobs"] if j["property"] == name]
            content["not_run"] = [
                {"operator": "softmax", "property": other, "dtypes": ["f32", "bf16"], "why": "not asked for"}
                for other in ("within-error-bound", "misalignment", "long-accumulation")
                if other != name
            ]
            files += ["--verify", self.file(name + ".json", content)]
        text, s = self.page(*files)
        self.assertEqual(len(re.findall(r"<tr data-kind=\"pass\">", text)), 2)
        self.assertNotIn("f32, bf16 not run", s["verdicts"])
        self.assertIn("80 cases of 2 properties, no failure", s["head"])

    def test_a_counterexample_has_explanation_element_neighbour_and_line(self):
        _, s = self.page("--verify", self.file("v.json", made.verify()))
        shown = s["counterexamples"]
        for text in (
            "outside the bound",
            "What the contract demands",
            "y = e^x / sum.",
            "y[0, 64], input 0.5",
            "1 (0x1p+0)",
            "NaN (nan)",
            "infinite / 1e-07 = infinite",
            "fails at cols=65, passes at 64",
            "warpcheck replay '" + made.LINE + "' Copy",
        ):
            self.assertIn(text, shown)

    def test_a_race_quotes_both_lines(self):
        text, s = self.page("--verify", self.file("v.json", made.verify()))
        self.assertIn("kernels/softmax/softmax.cu:58 58 slot[0] = a < b ? a : b;", s["hazards"])
        self.assertIn("kernels/primitives/reduce.hpp:31 31 return slot[0];", s["hazards"])
        self.assertIn("slot[0] = a &lt; b", text)

    def test_every_part_of_the_files_is_there(self):
        made.history(self.folder / "nightly.db", history)
        _, s = self.page(
            "--fuzz",
            self.file("f.json", made.fuzz()),
            "--bench",
            self.file("b.json", made.benchmark()),
            "--mutants",
            self.file("m.json", made.mutants()),
            "--history",
            str(self.folder / "nightly.db"),
        )
        self.assertIn("softmax/misalignment ✓ pass 300 0 0.9 0.01", s["fuzz"])
        self.assertIn("fuzz, finding softmax-depth-1234abcd, 4 failures", s["counterexamples"])
        self.assertIn("softmax 3 2 66.7 % 3 66.7 % 33.3 %", s["mutants"])
        self.assertIn("comparator 1 1 100.0 % 0 - -", s["mutants"])
        self.assertIn("survived softmax sum-reuses-maximum-scratch", s["mutants"])
        self.assertIn("cudnn 226: 0.566 (0.56 to 0.57)", s["speed"])
        self.assertIn("torch 131: 0.977, no interval", s["speed"])
        # matmul's peers and limit, gru's time and peer.
        self.assertIn("tf32x3/512x512x512 10 26.8 the peer's tensor cores, for each product of parts 6 0.6", s["speed"])
        self.assertIn("cuBLAS f32 12.5: 0.8, no interval; cuBLAS tf32 2: 5, no interval", s["speed"])
        self.assertIn("8x64x256/forward cluster 500 3 - cudnn 400: 1.25, no interval", s["speed"])
        self.assertIn("no number softmax/f32/9x9: wrong at row 3", s["speed"])
        self.assertIn("NVIDIA H200, commit 72b979e, 2026-11-25", s["speed"])
        self.assertIn(
            "14 nights, of which 1 did not run. Of 13 comparisons of a benchmark with itself 1 differ", s["nights"]
        )
        self.assertIn("benchmark softmax/f32/65536x1024 cuda n09 128 140 1e-06", s["nights"])
        self.assertIn("– missed", s["nights"])
        self.assertIn("first seen on 2026-11-08", s["nights"])
        self.assertIn("verify --json", s["verdicts"])  # not in any file

    def test_benchmarks_alone_are_told_of_in_the_first_sentence(self):
        _, s = self.page("--bench", self.file("b.json", made.benchmark()))
        self.assertIn("was not asked to verify anything in this report; 3 operators were timed on NVIDIA H200.",
                      s["head"])

    def test_times_of_a_candidate_are_called_so_with_its_verdict(self):
        timed = made.benchmark()
        timed["context"] |= {"candidate": "source:mine.cu:f", "verdict": "not verified"}
        _, s = self.page("--bench", self.file("b.json", timed))
        self.assertIn("2026-11-25, times of source:mine.cu:f, not verified", s["speed"])

    def test_the_cost_of_batch_invariance_is_shown(self):
        timed = made.benchmark()
        timed["benchmarks"][0]["batch_invariance_cost"] = 1.25
        _, s = self.page("--bench", self.file("b.json", timed))
        shown = "the fastest batch-invariant kernel: 1.25 of the time of the fastest other"
        self.assertEqual(s["speed"].count(shown), 1)

    def test_what_is_missing_says_how_to_add_it(self):
        _, s = self.page("--mutants", self.file("m.json", made.mutants()))
        for section in ("verdicts", "counterexamples", "hazards", "errors", "fuzz", "speed", "nights"):
            self.assertIn("Not in this report", s[section], section)
        self.assertNotIn("Not in this report", s["mutants"])

    def test_foreign_text_stays_text(self):
        content = made.verify(failures=[made.failure(made.HOSTILE, message=made.HOSTILE, findings=[made.HOSTILE])])
        text, s = self.page("--verify", self.file("v.json", content), "--title", made.HOSTILE)
        self.assertNotIn("<script>alert", text)
        self.assertIn("alert('x')", s["counterexamples"])

    def test_all_histograms_count_what_the_file_counts(self):
        _, s = self.page("--verify", self.file("v.json", made.verify(names=("within-error-bound",))))
        self.assertIn("bf16 block 113, bf16 warp 1,203", s["errors"])
        self.assertIn("f32 block 226, f32 warp 2,406.", s["errors"])  # with no-hazard's

    def test_a_page_of_ten_thousand_failures_has_at_most_5_MB_and_says_what_it_leaves_out(self):
        lines = [
            made.failure(
                made.LINE.replace("[1x65]", f"[{i}x65]"), "violation", message="m" * 300, worst=made.VIOLATION["worst"]
            )
            for i in range(1, 10001)
        ]
        text, s = self.page("--verify", self.file("v.json", made.verify(failures=lines)))
        self.assertLessEqual(len(text.encode()), 5_000_000)
        self.assertIn("10,000 failures", s["head"])
        left = re.search(r"([\d,]+) more failures left out", s["counterexamples"])
        listed = len(re.findall(r"<td>softmax/no-hazard</td>", text)) + len(re.findall(r"<details id=\"case-", text))
        self.assertEqual(listed + (int(left[1].replace(",", "")) if left else 0), 10000)

    def test_the_same_files_give_the_same_page(self):
        path = self.file("v.json", made.verify())
        self.assertEqual(self.page("--verify", path)[0], self.page("--verify", path)[0])

    def test_no_style_attribute_and_no_address_of_another_place(self):
        text, _ = self.page(
            "--verify", self.file("v.json", made.verify()), "--bench", self.file("b.json", made.benchmark())
        )
        self.assertNotRegex(text, r"\sstyle=")
        self.assertEqual(
            set(re.findall(r"https?://[^\"' ]+", text)), {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}
        )
        ids = re.findall(r"\sid=\"([^\"]+)\"", text)
        self.assertEqual(len(ids), len(set(ids)))


class Mistakes(Report):
    def expect(self, code, text, *arguments, **environment):
        said = self.report(*arguments, **environment)
        self.assertEqual(said.returncode, code, said.stdout + said.stderr)
        self.assertIn(text, said.stdout + said.stderr)
        self.assertNotIn("Traceback", said.stderr)

    def test_bad_files_are_one_sentence(self):
        good = self.file("v.json", made.verify())
        self.expect(2, "there is nothing to report")
        self.expect(2, "it cannot be read", "--verify", str(self.folder / "absent.json"))
        (self.folder / "broken.json").write_text("{")
        self.expect(2, "it is not JSON", "--verify", str(self.folder / "broken.json"))
        self.expect(2, "'warpcheck-fuzz-1' is allowed", "--fuzz", good)
        self.expect(
            2,
            "'jobs' is not a list of objects",
            "--verify",
            self.file("j.json", {**made.verify(), "jobs": [1]}),
        )
        self.expect(2, "neither what --benchmark_out wrote nor a baseline", "--bench", good)
        self.expect(
            2,
            "it does not fit its schema",
            "--verify",
            self.file("k.json", {**made.verify(), "jobs": [{"operator": "softmax"}]}),
        )
        self.expect(
            2,
            "it does not fit its schema",
            "--bench",
            self.file("l.json", {"rows": [{"name": "a/b", "median_us": "many"}]}),
        )
        self.expect(2, "it is not a history of nights", "--history", good)
        self.expect(2, "there is no such file", "--history", str(self.folder / "absent.db"))
        self.expect(3, "it cannot be written", "--verify", good, "--out", str(self.folder / "no" / "where.html"))

    def test_a_python_without_the_libraries_is_said_by_their_names(self):
        bare = self.folder / "python"
        bare.write_text(f'#!/bin/sh\nexec "{PYTHON}" -S "$@"\n')
        bare.chmod(bare.stat().st_mode | stat.S_IXUSR)
        path = self.file("v.json", made.verify())
        self.expect(3, "Jinja2 is missing in", "--verify", path, "--python", str(bare))
        self.expect(3, "install python3-jinja2", "--verify", path, WARPCHECK_PYTHON=str(bare))
        self.expect(3, "'/nowhere/python' cannot be started", "--verify", path, "--python", "/nowhere/python")
        looked_for = "the first of --python, the variable WARPCHECK_PYTHON, build/python/bin/python of the source tree"
        self.expect(3, looked_for, "--verify", path, WARPCHECK_PYTHON="/nowhere/python")


class Plots(Report):
    """A plot that fails costs no page, and no explanation."""

    def files(self):
        made.history(self.folder / "nightly.db", history)
        return [
            *("--verify", self.file("v.json", made.verify())),
            *("--fuzz", self.file("f.json", made.fuzz())),
            *("--bench", self.file("b.json", made.benchmark())),
            *("--mutants", self.file("m.json", made.mutants())),
            *("--history", str(self.folder / "nightly.db")),
        ]

    def broken(self, text):
        """The environment of a Python that runs `text` first."""
        (self.folder / "sitecustomize.py").write_text(text)
        return {"PYTHONPATH": str(self.folder)}

    def test_this_version_of_matplotlib_draws_every_plot(self):
        text, _ = self.page(*self.files())
        self.assertNotIn("was not drawn", text)
        for key in ("row-case-2", "errors-0", "errors-1", "speed-0", "speed-0-peers", "mutants", "nights", "series-0"):
            self.assertIn(f'id="{key}-title"', text)

    def test_a_failing_plot_is_a_sentence_in_its_place(self):
        fails = "import matplotlib.figure\ndef f(*a, **k): raise ValueError('no such <loc>')\n"
        said = self.report(*self.files(), **self.broken(fails + "matplotlib.figure.Figure.legend = f\n"))
        self.assertEqual(said.returncode, 0, said.stdout + said.stderr)
        self.assertEqual((said.stdout + said.stderr).count("the page lacks plots: ValueError: no such <loc>"), 1)
        text = (self.folder / "report.html").read_text()
        self.assertIn("This plot was not drawn: ValueError: no such &lt;loc&gt; (matplotlib", text)
        self.assertIn('id="errors-0-title"', text)  # which has no legend
        self.assertIn("kernels/softmax/softmax.cu:58", Text(text).sections["hazards"])

    def test_a_page_without_matplotlib_has_all_but_the_plots(self):
        hidden = "import sys\nsys.modules['matplotlib'] = None\n"
        said = self.report(*self.files(), **self.broken(hidden))
        self.assertEqual(said.returncode, 0, said.stdout + said.stderr)
        self.assertIn("the page lacks plots: matplotlib is missing", said.stdout + said.stderr)
        text = (self.folder / "report.html").read_text()
        self.assertNotIn("<svg", text)
        self.assertIn("y = e^x / sum.", Text(text).sections["counterexamples"])

    def test_a_row_that_cannot_be_drawn_blames_the_library_and_not_the_case(self):
        line = "v1 softmax/within-error-bound x=f32[1x3] fill=constant(0) | y=f32[1x3] | device=emulated"
        plot = self.folder / "row.svg"
        explain = [WARPCHECK, "explain", line, "--plot", str(plot)]
        self.assertEqual(subprocess.run(explain, capture_output=True).returncode, 0)
        self.assertIn("<svg", plot.read_text())
        fails = "import matplotlib.figure\ndef f(*a, **k): raise ValueError('no such loc')\n"
        environment = {**os.environ, **self.broken(fails + "matplotlib.figure.Figure.legend = f\n")}
        said = subprocess.run(explain, capture_output=True, text=True, env=environment)
        self.assertEqual(said.returncode, 3, said.stdout + said.stderr)
        self.assertIn("What the contract demands", said.stdout)
        self.assertIn("the row cannot be drawn: ValueError: no such loc (matplotlib", said.stderr)
        self.assertNotIn("schema", said.stderr)


@unittest.skipUnless("WARPCHECK_RACE" in os.environ, "no race flavour")
class Real(Report):
    """What the commands of this build write."""

    def run_to(self, name, *arguments):
        path = self.folder / name
        said = subprocess.run([WARPCHECK, *arguments, "--json", str(path)], capture_output=True, text=True)
        self.assertIn(said.returncode, (0, 1), said.stdout + said.stderr)
        return str(path), json.loads(path.read_text())

    def test_a_race_of_a_real_kernel_quotes_its_source(self):
        path, content = self.run_to(
            "v.json",
            "verify",
            "softmax",
            "--device",
            "emulated",
            "--candidate",
            os.environ["WARPCHECK_RACE"],
            "--property",
            "no-hazard",
            "--dtype",
            "f32",
            "--cases",
            "5",
            "--size",
            "quick",
        )
        self.assertEqual(content["failures"][0]["verdict"], "race")
        quoted = [s for s in content["failures"][0]["sources"] if s.get("text")]
        self.assertGreaterEqual(len(quoted), 2)
        for s in quoted:
            self.assertEqual((SOURCE / s["file"]).read_text().splitlines()[s["line"] - 1], s["text"])
        _, sections = self.page("--verify", path)
        for s in quoted:
            self.assertIn(re.sub(r"\s+", " ", s["text"]).strip(), sections["hazards"])

    def test_the_table_of_a_narrow_run_has_everything_that_is_registered(self):
        listing = self.folder / "list.json"
        subprocess.run([WARPCHECK, "list", "--json", str(listing)], check=True, stdout=subprocess.DEVNULL)
        operators = json.loads(listing.read_text())["operators"]
        path, content = self.run_to(
            "v.json", "verify", "argmax", "--device", "emulated", "--property", "empty", "--cases", "5"
        )
        self.assertEqual(len(content["sentences"]), sum(len(o["properties"]) for o in operators.values()))
        text, sections = self.page("--verify", path)
        self.assertEqual(len(re.findall(r"<tr data-kind=", text)), len(content["sentences"]))
        self.assertIn("argmax empty", sections["verdicts"])

    def test_errors_are_counted_for_each_variant(self):
        _, content = self.run_to(
            "v.json",
            "verify",
            "softmax",
            "--device",
            "emulated",
            "--property",
            "within-error-bound",
            "--cases",
            "10",
            "--size",
            "quick",
        )
        for job in content["jobs"]:
            for bins in ("ulps", "shares"):
                counted = sum(n for h in job["errors"].values() for _, n in h[bins])
                self.assertEqual(counted, job["compared"])
            self.assertTrue(all(v.startswith("softmax_") or v == "several" for v in job["errors"]))


if __name__ == "__main__":
    unittest.main(verbosity=2)
