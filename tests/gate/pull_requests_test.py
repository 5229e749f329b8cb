"""ci/gate on pull requests whose changes are compiled, one after the other in one build tree of a clone: those that
need the compiled judges of base and tree, one without effect, one with. gate_test.py has the other kinds. Run by CTest
(label nightly), or by hand:

  WARPCHECK_SOURCE=. WARPCHECK_BUILD=build/emulated python3 tests/gate/pull_requests_test.py [TEST]

WARPCHECK_GATE_TREE names a clone with a finished build/emulated to be used instead of a new one; its HEAD is the base.
"""

import json
import os
import pathlib
import re
import resource
import shutil
import subprocess
import time
import unittest
import xml.etree.ElementTree as xml

SOURCE = pathlib.Path(os.environ["WARPCHECK_SOURCE"]).absolute()
FOLDER = pathlib.Path(os.environ["WARPCHECK_BUILD"]).absolute() / "pull_requests"
TREE = pathlib.Path(os.environ.get("WARPCHECK_GATE_TREE", FOLDER / "tree"))
MOST_SECONDS = 15 * 60  # on two cores, the build of the base apart
CORES = 2

SIGMOID = "kernels/sigmoid/sigmoid.cu"
THREADS = "constexpr int k_flat_threads = 128;\n"
# Results below one half are wrong: written everywhere, so that only a judge can object.
PLANTED = """
__device__ inline float logistic(float x, float mu, float sigma) {
  const float y = warpcheck::logistic(x, mu, sigma);
  return y < 0.5f ? y * 1.01f : y;
}
"""
WRONG = {SIGMOID: (THREADS, THREADS + PLANTED)}


def cpu_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def git(*arguments, tree=TREE):
    r = subprocess.run(["git", "-C", tree, *arguments], capture_output=True, text=True)
    if r.returncode:
        raise RuntimeError(f"git {' '.join(map(str, arguments))}: {r.stderr}")
    return r.stdout.strip()


class PullRequests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        FOLDER.mkdir(parents=True, exist_ok=True)
        if "WARPCHECK_GATE_TREE" not in os.environ:
            if not TREE.exists():
                git("clone", "-q", "--shared", "--no-checkout", str(SOURCE), str(TREE), tree=SOURCE)
            git("fetch", "-q", str(SOURCE), "HEAD")
            git("checkout", "-q", "--force", "--detach", "FETCH_HEAD")
        cls.base = git("rev-parse", "HEAD")
        begin, used = time.monotonic(), cpu_seconds()
        subprocess.run(
            ["bash", "-c", "source ci/common.sh; build emulated warpcheck_command_plain"], cwd=TREE, check=True
        )
        wall, used = time.monotonic() - begin, cpu_seconds() - used
        print(f"the base: built in {wall:.0f} s, {used:.0f} s of a core", flush=True)
        # Of the base's build its judge is needed alone; the tree's own build goes on with the changes.
        (FOLDER / "base").mkdir(exist_ok=True)
        shutil.copy2(TREE / "build/emulated/warpcheck", FOLDER / "base/warpcheck")

    @classmethod
    def tearDownClass(cls):
        git("checkout", "-q", "--force", "--detach", cls.base)

    def gate(self, name, changes, code):
        """Commits the changes, file -> (old, new), runs the gate as it is, and returns (gate.json, what it printed)."""
        git("checkout", "-q", "--force", "--detach", self.base)
        for file, (old, new) in changes.items():
            text = (TREE / file).read_text()
            self.assertEqual(text.count(old), 1, f"{file}: {old}")
            (TREE / file).write_text(text.replace(old, new))
        git("-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-q", "-a", "-m", name)
        out = FOLDER / name
        shutil.rmtree(out, ignore_errors=True)
        git("worktree", "prune")
        command = [SOURCE / "ci/gate", "--tree", TREE, "--base", self.base, "--base-build", FOLDER / "base"]
        command += ["--device", "emulated", "--format", "github", "--format", "sarif", "--out", out]
        begin, used = time.monotonic(), cpu_seconds()
        environment = {k: v for k, v in os.environ.items() if k != "GITHUB_STEP_SUMMARY"}
        environment["GITHUB_STEP_SUMMARY"] = str(FOLDER / f"{name}.md")
        pathlib.Path(environment["GITHUB_STEP_SUMMARY"]).unlink(missing_ok=True)
        r = subprocess.run(command, capture_output=True, text=True, env=environment)
        wall, used = time.monotonic() - begin, cpu_seconds() - used
        (FOLDER / f"{name}.log").write_text(r.stdout + r.stderr)
        steps = ""
        if (out / "gate.json").exists():
            steps = ", ".join(
                f"{s['name']} {s['seconds']:.0f}" for s in json.loads((out / "gate.json").read_text())["steps"]
            )
        print(f"{name}: exit code {r.returncode}, {wall:.0f} s, {used:.0f} s of a core ({steps})", flush=True)
        self.assertEqual(r.returncode, code, r.stdout + r.stderr)
        # What the machine has for others is no fault of the gate.
        self.assertLessEqual(min(wall, used / CORES), MOST_SECONDS)
        self.assertIn((out / "gate.md").read_text(), pathlib.Path(environment["GITHUB_STEP_SUMMARY"]).read_text())
        return json.loads((out / "gate.json").read_text()), r.stdout

    def check_outputs(self, name, result, said, kind, file):
        """All outputs report the same finding."""
        failures = xml.fromstring((FOLDER / name / "gate.xml").read_text()).iter("failure")
        self.assertIn(kind, {failure.get("type") for failure in failures})
        sarif = json.loads((FOLDER / name / "gate.sarif").read_text())["runs"][0]["results"]
        self.assertEqual(len(sarif), len(result["findings"]))
        of_kind = [r["locations"][0]["physicalLocation"] for r in sarif if r["ruleId"] == kind]
        self.assertIn(file, {place["artifactLocation"]["uri"] for place in of_kind})
        self.assertRegex(said, f"::error file={re.escape(file)},line=[1-9][0-9]*,title=")
        self.assertIn(f"**{kind}**", said)

    def kinds(self, result):
        return {f["kind"] for f in result["findings"]}

    def test_no_op(self):
        result, said = self.gate("no-op", {SIGMOID: ("// Sigmoid: see", "// The sigmoid: see")}, 0)
        self.assertEqual(result["findings"], [])
        self.assertNotIn("::error", said)
        verdicts = {s["name"]: s["verdict"] for s in result["steps"]}
        for name in ("build", "properties", "golden data and accuracy", "registry", "mutants"):
            self.assertEqual(verdicts[name], "pass", name)
        self.assertEqual(verdicts["timing"], "not run")

    def test_wrong_value(self):
        result, said = self.gate("wrong-value", WRONG, 1)
        self.assertIn("sigmoid/within-error-bound", {f["name"] for f in result["findings"]})
        self.assertIn("violation", self.kinds(result))
        self.assertNotIn("weakened", self.kinds(result))
        self.assertIn("| mutants | not run | 0 | the kernels are wrong as they are |", said)
        self.check_outputs("wrong-value", result, said, "violation", SIGMOID)

    def test_edited_judge(self):
        """A wrong kernel, and a judge of its operator that looks at what it expects: the base's looks at the kernel."""
        judge = "properties/sigmoid/sigmoid_properties.cpp"
        blind = {judge: ("model.judge(in, actual), [&]", "model.judge(in, model.expected(in)), [&]")}
        result, said = self.gate("edited-judge", WRONG | blind, 1)
        self.assertEqual(self.judges_against(result), {"base"})
        self.assertIn(f"judged by the base's and the tree's own, since it changes {judge}", said)
        self.check_outputs("edited-judge", result, said, "violation", SIGMOID)

    def test_edited_engine(self):
        """The judge of all operators: each is tried at quick size by both judges, in the same time."""
        blind = {"properties/engine/trials/trial.cpp": ("  if (!j.accepted) ++rejected_;\n", "")}
        result, said = self.gate("edited-engine", WRONG | blind, 1)
        self.assertEqual(self.judges_against(result), {"base"})
        self.assertTrue(any("cases of size quick" in text for text in result["cut"]))
        self.check_outputs("edited-engine", result, said, "violation", SIGMOID)

    def judges_against(self, result):
        return {f["judge"] for f in result["findings"] if f["name"] == "sigmoid/within-error-bound"}


if __name__ == "__main__":
    unittest.main(verbosity=2)
