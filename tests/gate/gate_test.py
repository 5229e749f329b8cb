"""ci/gate: weakened demands, owners of files, reports of findings, and pull requests of each kind.
Run by CTest with WARPCHECK set, on one finished build."""

import copy
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import xml.etree.ElementTree as xml

SOURCE = pathlib.Path(os.environ["WARPCHECK_SOURCE"])
BUILD = pathlib.Path(os.environ["WARPCHECK_BUILD"])
RIGHT = os.environ["WARPCHECK_RIGHT"]
WRONG = os.environ["WARPCHECK_WRONG"]  # the last element of rows longer than 32 is 0
LESS_ACCURATE = os.environ["WARPCHECK_LESS_ACCURATE"]  # some ulp more error in most elements
RACE = os.environ["WARPCHECK_RACE"]  # scratch is used again without a barrier between
sys.dont_write_bytecode = True
sys.path.insert(0, str(SOURCE / "ci"))
from gating import registry, trials, weakened  # noqa: E402
from gating.build_map import BuildMap, judges  # noqa: E402
from gating.findings import MOST_ANNOTATIONS, Finding, place, to_github, to_junit, to_sarif  # noqa: E402

REGISTRY = json.loads((SOURCE / "golden/registry.json").read_text())
COMMITTED = registry.with_files(REGISTRY, registry.Checkout(SOURCE))


class Registry(unittest.TestCase):
    def weakened(self, change):
        head = copy.deepcopy(COMMITTED)
        change(head["operators"]["softmax"], head)
        return [(f.name, f.message) for f in weakened.weakened(COMMITTED, head)]

    def test_the_same_demands_are_no_finding_and_more_are_none(self):
        self.assertEqual(self.weakened(lambda op, _: None), [])

        def more(op, head):
            op["properties"]["new-one"] = {
                "sentence": "x",
                "types": ["f32"],
                "share_percent": 100,
                "null_kernels_percent": 15,
            }
            op["tests"]["property.softmax.emulated"]["cases"] += 1
            op["mutants"]["RO-99"] = "long-accumulation"
            op["profiles"]["emulated"]["f32 *"][0] /= 2
            op["coverage_exemptions"] = []
            head["operators"]["new"] = {}
            head["scores"]["softmax"] = [67, 67]

        self.assertEqual(self.weakened(more), [])

    def test_everything_that_shrinks_widens_or_vanishes_has_its_name(self):
        test = "property.softmax.emulated"
        mutant = next(iter(COMMITTED["operators"]["softmax"]["mutants"]))
        golden = COMMITTED["operators"]["softmax"]["golden"][0]
        for name, said, change in [
            ("softmax/operator", "is gone", lambda op, head: head["operators"].pop("softmax")),
            ("softmax/long-accumulation", "the property is gone",
             lambda op, _: op["properties"].pop("long-accumulation")),
            ("softmax/long-accumulation", "its sentence changed",
             lambda op, _: op["properties"]["long-accumulation"].update(sentence="0")),
            ("softmax/long-accumulation", "no longer tried on f32",
             lambda op, _: op["properties"]["long-accumulation"]["types"].remove("f32")),
            ("softmax/long-accumulation", "share of the cases was 100 % and is 50 %",
             lambda op, _: op["properties"]["long-accumulation"].update(share_percent=50)),
            ("softmax/long-accumulation", "may now pass 90 %",
             lambda op, _: op["properties"]["long-accumulation"].update(null_kernels_percent=90)),
            ("softmax/values:ties", "a coverage exemption",
             lambda op, _: op["coverage_exemptions"].append("values:ties")),
            (f"softmax/{test}", "the test is gone", lambda op, _: op["tests"].pop(test)),
            (f"softmax/{test}", "runs 6", lambda op, _: op["tests"][test].update(cases=6)),
            (f"softmax/{test}", "runs 0", lambda op, _: op["tests"][test].pop("cases")),
            (f"softmax/{test}", "its size was ci and is quick", lambda op, _: op["tests"][test].update(size="quick")),
            (f"softmax/{test}", "runs in lane nightly", lambda op, _: op["tests"][test].update(lane="nightly")),
            ("softmax/bound", "changed: see that",
             lambda op, _: op["bound"].update({"reference/softmax/softmax.hpp": "0"})),
            ("softmax/bound", "is used no more", lambda op, _: op["bound"].pop("reference/softmax/softmax.hpp")),
            (f"softmax/{mutant}", "is gone", lambda op, _: op["mutants"].pop(mutant)),
            (f"softmax/{mutant}", "is to be killed by golden", lambda op, _: op["mutants"].update({mutant: "golden"})),
            (f"softmax/{golden}", "golden file is gone", lambda op, _: op["golden"].remove(golden)),
            ("softmax/profile emulated f32 *", "is gone", lambda op, _: op["profiles"]["emulated"].pop("f32 *")),
            (
                "softmax/profile emulated f32 *",
                "may now be 0.9",
                lambda op, _: op["profiles"]["emulated"].update({"f32 *": [0.9, 0.1]}),
            ),
            ("softmax/score", "now 65 of 66", lambda op, head: head["scores"].update(softmax=[65, 66])),
            ("softmax/score", "now 0 of 0", lambda op, head: head["scores"].pop("softmax")),
        ]:
            with self.subTest(said):
                found = self.weakened(change)
                self.assertEqual([n for n, _ in found], [name])
                self.assertIn(said, found[0][1])

    def test_comments_and_layout_do_not_change_a_bound_and_numbers_do(self):
        hash_of = lambda text: registry.short_hash(registry.without_comments(text))
        self.assertEqual(hash_of('a = 2;  // why\n/* more\n */ b = "//";'), hash_of('a = 2;\nb = "//";'))
        self.assertNotEqual(hash_of("a = 2;"), hash_of("a = 3;"))
        self.assertNotEqual(hash_of('b = "//x";'), hash_of('b = "//y";'))

    def test_what_is_no_registry_is_said_in_a_sentence(self):
        self.assertEqual(registry.read(json.dumps(REGISTRY)), REGISTRY)
        self.assertEqual(json.loads(registry.text_of(REGISTRY)), REGISTRY)
        for text, said in [
            ("{", "it is no JSON: "),
            ("[1]", "its schema is None, and 'warpcheck-registry-2' is known"),
            ('{"schema": "warpcheck-registry-1"}', "its schema is 'warpcheck-registry-1'"),
            ('{"schema": "warpcheck-registry-2", "operators": []}', "it has no 'operators'"),
            ('{"schema": "warpcheck-registry-2", "operators": {}}', "it has no 'scores'"),
        ]:
            with self.assertRaisesRegex(ValueError, said):
                registry.read(text)

    def test_excuses_name_the_finding_and_give_a_reason(self):
        text = (
            "Title\n\n weakens: softmax/misalignment: row-isolation tries it\n"
            "weakens: softmax/profile emulated f32 *: faster exp\n"
            "weakens: softmax/long-accumulation:\nweakens nothing: x\nweakens: softmax/values:ties: no order"
        )
        self.assertEqual(
            weakened.excused(text),
            {
                "softmax/misalignment": "row-isolation tries it",
                "softmax/profile emulated f32 *": "faster exp",
                "softmax/values:ties": "no order",
            },
        )


class Touched(unittest.TestCase):
    def test_files_belong_to_the_operators_that_are_built_from_them(self):
        files = BuildMap(BUILD, SOURCE)
        everybody, of = {"*"}, files.operators_of_file
        for path, expected in [
            ("kernels/softmax/softmax.cu", {"softmax"}),
            ("reference/softmax/softmax.cpp", {"softmax", "log_softmax"}),
            ("properties/argsort/argsort_properties.cpp", {"argsort"}),
            ("golden/scan/scan_golden.cpp", {"scan"}),
            ("golden/scan/any.golden", {"scan"}),
            ("ci/mutate/log_softmax.mutants", {"log_softmax"}),
            ("kernels/softmax/warp_rows.hpp", {"softmax"}),
            ("kernels/rows/log_sum.hpp", {"log_softmax", "logsumexp"}),
            ("properties/engine/trials/trial.cpp", everybody),
            ("simt/simt.hpp", everybody),
            ("reference/numerics/compare.hpp", everybody),
            ("cmake/operators.cmake", everybody),
            ("CMakeLists.txt", everybody),
            ("command/verify.cpp", everybody),
            ("properties/deleted.cpp", everybody),
            ("kernels/primitives/deleted.hpp", everybody),
            ("README.md", set()),
            ("docs/softmax.md", set()),
            ("bench/operator_bench.cpp", set()),
            ("tests/engine/case_test.cpp", set()),
        ]:
            self.assertEqual(of(path), expected, path)
        # A header of one operator's name that many use belongs to all of them.
        self.assertLess({"softmax", "scan", "argsort"}, of("kernels/primitives/reduce.hpp"))
        self.assertIn("softmax", of("properties/rows/row_generators.cpp"))
        self.assertNotIn("best_split", of("properties/rows/row_generators.cpp"))

    def test_who_judges(self):
        judge = [
            "reference/softmax/softmax.hpp",
            "properties/engine/trials/verdict.cpp",
            "golden/registry.json",
            "ci/gate",
            "ci/gating/registry.py",
            "command/verify.cpp",
            "abi/candidate.h",
        ]
        self.assertEqual(
            judges([*judge, "kernels/softmax/softmax.cu", "docs/gate.md", "tests/cli/cli_test.py"]), judge
        )


def made(count, kind="violation", **fields):
    return [
        Finding(
            **{
                "kind": kind,
                "operator": "softmax",
                "name": f"softmax/p{i}",
                "file": f"kernels/f{i}.cu",
                "message": "50 % wrong,\nsee: there",
            }
            | fields
        )
        for i in range(count)
    ]


class Told(unittest.TestCase):
    def test_github_gets_one_annotation_a_line_and_ten_in_all(self):
        text = to_github(made(10))
        self.assertEqual(len(text.splitlines()), 10)
        self.assertNotIn("more, see the summary", text)
        lines = to_github(
            [*made(1, "slower", name="last"), *made(12), *made(3, file="kernels/f0.cu", name="same")]
        ).splitlines()
        self.assertEqual(len(lines), MOST_ANNOTATIONS)
        self.assertEqual(
            lines[0],
            "::error file=kernels/f0.cu,line=0,title=violation%3A softmax/p0 and 4 more"
            "::50 %25 wrong,%0Asee: there%0A50 %25 wrong,%0Asee: there%0A50 %25 wrong,%0Asee: there"
            "%0A50 %25 wrong,%0Asee: there%0A50 %25 wrong,%0Asee: there",
        )
        self.assertEqual(lines[-1], "::error title=gate::and 3 more, see the summary")
        self.assertEqual(to_github(made(2, note="allowed")), "")

    def test_findings_stand_on_changed_lines(self):
        found = made(1, file="golden/softmax/x") + made(1, file="kernels/softmax/softmax.cu") + made(1, operator="scan")
        place(found, {"docs/a.md": [3], "kernels/softmax/softmax.cu": [7, 90]})
        self.assertEqual(
            [(f.file, f.line) for f in found],
            [("kernels/softmax/softmax.cu", 7), ("kernels/softmax/softmax.cu", 7), ("docs/a.md", 3)],
        )

    def test_sarif_and_junit(self):
        sarif = json.loads(to_sarif(made(1) + made(1, "weakened", note="reason"), "1"))
        self.assertEqual(
            [(r["ruleId"], r["level"]) for r in sarif["runs"][0]["results"]],
            [("violation", "error"), ("weakened", "note")],
        )
        rules = {rule["id"] for rule in sarif["runs"][0]["tool"]["driver"]["rules"]}
        self.assertLessEqual({"violation", "weakened"}, rules)
        steps = [
            {"name": "properties", "kinds": ["violation"], "seconds": 1, "verdict": "failed", "detail": ""},
            {"name": "timing", "kinds": ["slower"], "seconds": 0, "verdict": "not run", "detail": "no GPU"},
        ]
        suite = xml.fromstring(to_junit(steps, made(2)))[0]
        self.assertEqual([[child.tag for child in case] for case in suite], [["failure"], ["skipped"]])


class Time(unittest.TestCase):
    def test_an_operator_without_time_is_remembered_and_the_others_are_judged(self):
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder) / "warpcheck"
            job = {"property": "p", "cases": 2, "verdict": "VERDICT"}
            report = json.dumps({"jobs": [job], "failures": [], "interrupted": True})
            program.write_text(
                "#!/bin/bash\nverdict=pass code=0\n[ $2 = slow ] && verdict='not run' code=130\n"
                f"sed \"s/VERDICT/$verdict/\" >\"${{@: -1}}\" <<<'{report}'\nexit $code\n"
            )
            program.chmod(0o755)
            t = trials.Trials(program, folder, "emulated", None, folder, judges=2)
            self.assertEqual(t.budget["properties"], trials.BUDGET["properties"] / 2)
            t.properties(["slow", "quick"], True, pathlib.Path(folder) / "none")
            self.assertEqual((t.unjudged, t.findings), (["slow"], []))
            self.assertIn("slow: out of time; not run: p", t.cut)
            # So short that the program does not live to ask for the signal.
            program.write_text(
                "#!/usr/bin/env python3\nimport signal\nsignal.signal(signal.SIGINT, signal.SIG_DFL)\n"
                "signal.raise_signal(signal.SIGINT)\n"
            )
            self.assertFalse(t.golden_of("softmax", folder, 5))
            self.assertIn("softmax: out of time; its golden data were not checked", t.cut)

    def test_after_the_time_nothing_is_begun(self):
        with tempfile.TemporaryDirectory() as folder:
            t = trials.Trials("/no/such", folder, "emulated", None, folder)
            self.assertFalse(t.golden_of("scan", folder, -1.0))
            self.assertEqual(t.mutants_of("/no/such", "scan", ["a", "b"], 0.0), 0)
            cut = ["scan: out of time; its golden data were not checked", "scan: out of time after 0 of 2 mutants"]
            self.assertEqual((t.cut, t.findings), (cut, []))


class Mutants(unittest.TestCase):
    def tried(self, said):
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder) / "warpcheck"
            program.write_text(f"#!/bin/bash\n{said}\n")
            program.chmod(0o755)
            t = trials.Trials(program, folder, "emulated", None, folder)
            t.mutants(program, ["softmax"], lambda op: ["A-1", "A-2"])
            return t

    def test_a_list_that_no_longer_fits_the_kernels_is_a_finding(self):
        t = self.tried("echo 'A-1: the old text occurs 0 times'; exit 2")
        self.assertEqual([(f.kind, f.name) for f in t.findings], [("survivor", "softmax/mutants")])
        self.assertIn("A-1: the old text occurs 0 times", t.findings[0].message)
        self.assertEqual(t.steps[0]["verdict"], "failed")

    def test_at_most_forty_are_tried_drawn_by_seed_and_the_rest_is_cut(self):
        program = (
            "#!/usr/bin/env python3\nimport json, sys\n"
            "names = [word for option, word in zip(sys.argv, sys.argv[1:]) if option == '--only']\n"
            "done = [{'id': n, 'outcome': 'killed', 'as_expected': True, 'expected': 'p'} for n in names]\n"
            "json.dump({'mutants': done}, open(sys.argv[-1], 'w'))\nsys.exit(CODE)\n"
        )
        listed = lambda op: [f"{op}-{i}" for i in range(50)]

        def tried(code):
            with tempfile.TemporaryDirectory() as folder:
                path = pathlib.Path(folder) / "warpcheck"
                path.write_text(program.replace("CODE", str(code)))
                path.chmod(0o755)
                t = trials.Trials(path, folder, "emulated", None, folder)
                t.mutants(path, ["scan", "softmax"], listed)
                files = sorted(pathlib.Path(folder).glob("mutants_*.json"))
                return t, [m["id"] for file in files for m in json.loads(file.read_text())["mutants"]]

        first, names = tried(0)
        self.assertEqual(len(set(names)), 40)
        self.assertEqual(first.cut, ["40 of 100 listed mutants, drawn with seed 1"])
        self.assertEqual((first.steps[0]["detail"], first.steps[0]["verdict"]), ("40 of 100 listed", "pass"))
        again, same = tried(130)  # the end of the time is reported, too
        self.assertEqual(same, names)
        of = {op: sum(name.startswith(op) for name in names) for op in ("scan", "softmax")}
        self.assertEqual(
            again.cut[1:], [f"{op}: out of time after {n} of {n} mutants" for op, n in of.items()]
        )

    def test_what_cannot_run_is_no_verdict(self):
        with self.assertRaisesRegex(trials.CannotJudge, "mutants softmax: exit code 3: no compiler"):
            self.tried("echo no compiler; exit 3")


def ended(group):
    """Whether all processes of a group are gone; those that are killed need a moment."""
    for _ in range(200):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False


class PullRequests(unittest.TestCase):
    """A clone with a commit of each kind; what it would have built is chosen among libraries that are built already."""

    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.tree = pathlib.Path(cls.scratch.name) / "tree"
        subprocess.run(["git", "clone", "-q", "--shared", SOURCE, cls.tree], check=True)
        # The profile is that of our kernels; the errors of another right kernel may be a little larger.
        profile = cls.tree / "golden/softmax/profile_emulated.json"
        entries = json.loads(profile.read_text())
        for number in ("max", "p99.9"):
            entries["error_over_bound"]["f32 *"][number] *= 1.05
        profile.write_text(json.dumps(entries))
        cls.git("config", "user.name", "t")
        cls.git("config", "user.email", "t@example.org")
        cls.git("add", "-A")
        cls.git("commit", "-q", "--allow-empty", "-m", "base")
        cls.git("branch", "base")

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    @classmethod
    def git(cls, *arguments):
        return subprocess.run(["git", "-C", cls.tree, *arguments], check=True, capture_output=True, text=True).stdout

    def command(
        self,
        out,
        change,
        message="change",
        candidate=RIGHT,
        device="cpu",
        properties=("within-error-bound",),
        judge=SOURCE,
    ):
        """Commits `change`, if there is one, and returns the command that judges it."""
        if change:
            self.git("checkout", "-q", "--detach", "base")
            for file, (old, new) in change.items():
                text = (self.tree / file).read_text()
                self.assertIn(old, text)
                (self.tree / file).write_text(text.replace(old, new, 1))
            self.git("commit", "-q", "-a", "-m", message)
        command = [judge / "ci/gate", "--tree", self.tree, "--base", "base", "--build", BUILD, "--base-build", BUILD]
        command += ["--device", device, "--cases", "2", *(x for name in properties for x in ("--property", name))]
        return command + (["--candidate", candidate] if candidate else []) + ["--out", out]

    def gate(
        self,
        change,
        message="change",
        *,
        candidate=RIGHT,
        device="cpu",
        options=(),
        code=None,
        properties=("within-error-bound",),
        judge=SOURCE,
    ):
        """Commits `change`: file -> (old, new); returns the findings and what was printed."""
        out = pathlib.Path(self.scratch.name) / "out"
        command = self.command(out, change, message, candidate, device, properties, judge)
        r = subprocess.run([*command, *options], capture_output=True, text=True)
        self.assertEqual(r.returncode, code, r.stdout + r.stderr)
        if code == 3:
            return [], r.stderr
        result = json.loads((out / "gate.json").read_text())
        for suffix in ("md", "xml", "sarif"):
            self.assertTrue((out / f"gate.{suffix}").exists())
        return result["findings"], r.stdout

    KERNEL = {"kernels/softmax/softmax.cu": ("#include", "// A remark.\n#include")}

    def test_one_that_changes_nothing_passes(self):
        found, said = self.gate(self.KERNEL, candidate=RIGHT, code=0)
        self.assertEqual(found, [])
        self.assertIn("## Gate: pass", said)
        self.assertIn("2 cases of each property and dtype instead of 40, as asked", said)
        self.assertIn("here is no timing verdict", said)

    def test_a_wrong_value(self):
        found, said = self.gate(self.KERNEL, candidate=WRONG, code=1, options=["--format", "github"])
        self.assertIn("violation", {f["kind"] for f in found})
        self.assertIn("x=f32[1x33]", said)  # shrunk, with its line
        self.assertRegex(said, "::error file=kernels/softmax/softmax.cu,line=[0-9]+,title=violation%3A softmax/")
        self.assertNotIn("weakened", {f["kind"] for f in found})

    def test_less_accurate(self):
        found, said = self.gate(self.KERNEL, candidate=LESS_ACCURATE, code=1)
        self.assertEqual({f["kind"] for f in found}, {"less accurate"})
        self.assertRegex(said, "the largest error / bound was|of the elements were within .* and are within")

    def test_a_run_that_is_interrupted_says_what_it_has_and_leaves_no_process(self):
        """Whoever cancels a job may know this process only, and not those that it has started."""
        for name in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(name):
                out = pathlib.Path(self.scratch.name) / f"out-{name}"
                command = [*self.command(out, self.KERNEL, candidate=RIGHT), "--cases", "5000"]
                process = subprocess.Popen(
                    command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
                )
                while process.poll() is None and not (out / "base").exists():
                    time.sleep(0.05)
                process.send_signal(name)
                said, error = process.communicate(timeout=120)
                self.assertEqual(process.returncode, 130, said + error)
                self.assertTrue(ended(process.pid), "a process that it started lives on")
                self.assertIn("## Gate: interrupted", said)
                self.assertIn("- interrupted during kernels: what has no row in the table was not judged", said)
                result = json.loads((out / "gate.json").read_text())
                self.assertEqual(result["verdict"], "interrupted")
                self.assertEqual([s["name"] for s in result["steps"]], ["build"])

    def test_a_base_whose_registry_is_damaged_cannot_be_judged(self):
        self.git("checkout", "-q", "--detach", "base")
        (self.tree / "golden/registry.json").write_text('{"schema": "warpcheck-registry-2", "oper')
        self.git("commit", "-q", "-a", "-m", "damaged")
        damaged = self.git("rev-parse", "HEAD").strip()
        out = pathlib.Path(self.scratch.name) / "out-damaged"
        out.mkdir()
        (out / "gate.json").write_text("that of another run")
        r = subprocess.run(
            self.command(out, None) + ["--base", damaged], capture_output=True, text=True
        )
        said = f"gate: could not judge: golden/registry.json of the base {damaged[:12]}: it is no JSON: "
        self.assertEqual((r.returncode, r.stdout, r.stderr[: len(said)]), (3, "", said))
        self.assertEqual(list(out.iterdir()), [])  # nor does the verdict of that run stand any more

    def test_a_path_that_is_missing_leaves_no_verdict_of_another_run(self):
        out = pathlib.Path(self.scratch.name) / "out-missing"
        out.mkdir()
        (out / "gate.json").write_text("that of another run")
        r = subprocess.run([*self.command(out, None), "--text", "absent"], capture_output=True, text=True)
        self.assertEqual((r.returncode, r.stderr), (3, "gate: text: 'absent' is not there\n"))
        self.assertEqual(list(out.iterdir()), [])

    def test_a_race(self):
        found, _ = self.gate(self.KERNEL, candidate=RACE, device="emulated", code=1, properties=["no-hazard"])
        self.assertIn("race", {f["kind"] for f in found})

    def test_a_removed_mutant_and_the_text_that_allows_it(self):
        line = next(
            l
            for l in (SOURCE / "ci/mutate/softmax.mutants").read_text().splitlines(True)
            if l.startswith("reduce-drops-last-warp\t")
        )
        removed = {"ci/mutate/softmax.mutants": (line, "")}
        found, said = self.gate(removed, code=1)
        self.assertEqual(
            [(f["kind"], f["name"], f["file"]) for f in found],
            [("weakened", "softmax/reduce-drops-last-warp", "ci/mutate/softmax.mutants")],
        )
        self.assertIn("the mutant, to be killed by every-element-used, is gone", said)
        message = "x\n\nweakens: softmax/reduce-drops-last-warp: the last warp is read by all now"
        found, said = self.gate(removed, message, code=0)
        self.assertEqual([f["note"] for f in found], ["the last warp is read by all now"])
        self.assertIn("### Notes", said)
        out = pathlib.Path(self.scratch.name) / "out"
        r = subprocess.run(
            [SOURCE / "ci/gate", "--tree", self.tree, "--out", out, "--explain", "softmax/reduce-drops-last-warp"],
            capture_output=True,
            text=True,
        )
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertIn("put it back, or write 'weakens: NAME: reason'", r.stdout)

    def test_a_wider_bound_is_weakened_and_judged_by_the_base_too(self):
        found, said = self.gate({"reference/softmax/softmax.cpp": ("return ", "return 2 * ")}, code=1)
        # Whose reference uses it is touched, too.
        self.assertEqual(
            [(f["kind"], f["name"], f["file"]) for f in found],
            [("weakened", f"{op}/bound", "reference/softmax/softmax.cpp") for op in ("log_softmax", "softmax")],
        )
        self.assertIn("log_softmax: the candidate does not offer it", said)
        self.assertIn("judged by the base's and the tree's own, since it changes reference/softmax/softmax.cpp", said)
        self.assertIn("properties (the base's judge)", said)
        self.assertIn("properties (the head's judge)", said)

    def test_the_gate_of_the_base_judges_a_tree_that_edits_the_gate(self):
        judge = pathlib.Path(self.scratch.name) / "judge"
        self.git("worktree", "add", "-q", "--detach", judge, "base")
        blind = {"ci/gate": ("sys.exit(main(sys.argv[1:]))", "sys.exit(0)")}
        base_tree = pathlib.Path(self.scratch.name) / "out/base-tree"
        shutil.rmtree(base_tree, ignore_errors=True)  # of another test
        found, said = self.gate(self.KERNEL | blind, candidate=WRONG, code=1, judge=judge)
        self.assertEqual({f["judge"] for f in found}, {"base", "head"})  # one program: no compiled judge is edited
        self.assertIn("since it changes ci/gate", said)
        self.assertFalse(base_tree.exists())  # it stands in the base's tree

    def test_docs_touch_no_operator(self):
        found, said = self.gate({"README.md": ("warpcheck", "Warpcheck")}, code=0)
        self.assertIn("no operator is touched", said)

    def test_an_unknown_base_cannot_be_judged(self):
        _, said = self.gate(self.KERNEL, options=["--base", "no-such"], code=3)
        self.assertIn("could not judge: base: 'no-such' has no common ancestor", said)
        r = subprocess.run(
            [SOURCE / "ci/gate", "--device", "cuda", "--base", "HEAD"],
            capture_output=True,
            text=True,
            env=os.environ | {"PATH": "/usr/bin:/bin"},
        )
        self.assertEqual(r.returncode, 3, r.stdout + r.stderr)


class Mistakes(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.out = pathlib.Path(folder.name)

    def said(self, *arguments, code):
        r = subprocess.run([SOURCE / "ci/gate", "--out", self.out, *arguments], capture_output=True, text=True)
        self.assertEqual((r.returncode, r.stdout), (code, ""), r.stderr)
        self.assertEqual(len(r.stderr.splitlines()), 1, r.stderr)
        return r.stderr

    def explained(self, name):
        r = subprocess.run([SOURCE / "ci/gate", "--out", self.out, "--explain", name], capture_output=True, text=True)
        self.assertEqual(r.returncode, 0, r.stderr)
        return r.stdout

    def test_what_an_option_names_is_looked_for_before_anything_is_judged(self):
        for option in ("--tree", "--candidate", "--build", "--base-build", "--text", "--history"):
            self.assertEqual(self.said(option, "/no/such", code=3), f"gate: {option[2:]}: '/no/such' is not there\n")
        self.assertIn("gate: cases: 0 is not at least 1", self.said("--cases", "0", code=2))
        self.assertIn(f"gate: tree: '{self.out}' is not a git repository", self.said("--tree", self.out, code=2))

    def test_explain_of_a_file_that_is_no_gate_json(self):
        for text in ("{", '{"verdict": "pass"}', "[]", '{"findings": [1]}', '{"findings": [{"kind": "race"}]}'):
            (self.out / "gate.json").write_text(text)
            said = self.said("--explain", "race", code=2)
            self.assertIn(f"gate: explain: '{self.out}/gate.json' is not a gate.json", said)
        (self.out / "gate.json").unlink()
        self.assertIn("'no such' is neither a finding of", self.said("--explain", "no such", code=2))
        self.assertIn("race: Two threads touch the same memory", self.explained("race"))

    def test_explain_of_a_name_with_findings_of_two_kinds_tells_both(self):
        two = [vars(made(1, kind, name="softmax/p")[0]) for kind in ("race", "violation")]
        (self.out / "gate.json").write_text(json.dumps({"findings": two}))
        said = self.explained("softmax/p")
        self.assertEqual(said.count("What to do:"), 2)
        self.assertEqual(said.count("softmax/p: 50 % wrong"), 2)


if __name__ == "__main__":
    unittest.main()
