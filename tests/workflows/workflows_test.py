"""The workflows of .github/workflows: linters find nothing, and find what is planted; the command lines of ci/ in them
are ones that these commands take. Run by CTest."""

import contextlib
import io
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ["WARPCHECK_SOURCE"])
WORKFLOWS = SOURCE / ".github" / "workflows"
BIN = pathlib.Path(sys.executable).parent


def tool(name):
    beside = BIN / name
    return str(beside) if beside.exists() else shutil.which(name)


for needed in ("zizmor", "check-jsonschema", "jactionlint", "shellcheck"):
    if not tool(needed):
        print(f"WARPCHECK_SKIP: {needed} is not installed (ci/requirements.txt, ci/packages)")
        sys.exit(0)

from ruamel.yaml import YAML  # noqa: E402  (a need of check-jsonschema)

sys.dont_write_bytecode = True
sys.path.insert(0, str(SOURCE / "ci"))
from gating import command as gate  # noqa: E402
from nights import command as nightly  # noqa: E402

ALLOWED_PROGRAMS = {"ci/test", "ci/nightly", "ci/foreign", "../judge/ci/gate", "git", "gh", "for", "if", "done"}


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def load(path):
    return YAML(typ="safe").load(path.read_text())


def steps_of(workflow):
    for name, job in workflow["jobs"].items():
        for step in job["steps"]:
            yield name, step


def project_rules(folder):
    """What no linter knows: one sentence for each breach."""
    breaches = []
    for path in sorted(folder.glob("*.yml")):
        workflow = load(path)
        events = workflow.get("on", workflow.get(True))  # YAML 1.1 reads a bare 'on' as true
        if workflow.get("permissions") != {}:
            breaches.append(f"{path.name}: its permissions are not empty by default")
        if "pull_request_target" in events:
            breaches.append(f"{path.name}: it runs on pull_request_target")
        for name, job in workflow["jobs"].items():
            hosted = str(job["runs-on"]).startswith("ubuntu-")
            if "timeout-minutes" not in job:
                breaches.append(f"{path.name}: job {name} has no time limit")
            if hosted:
                continue
            if "environment" not in job:
                breaches.append(
                    f"{path.name}: job {name} is on a runner of ours without an environment that asks a reviewer"
                )
            if "pull_request" in events and "head.repo.full_name == github.repository" not in job.get("if", ""):
                breaches.append(f"{path.name}: job {name} is on a runner of ours and takes pull requests of forks")
            if any(value == "write" for value in job.get("permissions", {}).values()):
                breaches.append(f"{path.name}: job {name} is on a runner of ours and may write")
        for name, step in steps_of(workflow):
            if "uses" in step and not re.search(r"@[0-9a-f]{40}$", step["uses"]):
                breaches.append(f"{path.name}: job {name} uses {step['uses']}, which is not pinned by its hash")
            for line in step.get("run", "").splitlines():
                if line.split() and line.split()[0] not in ALLOWED_PROGRAMS:
                    breaches.append(f"{path.name}: job {name} runs '{line.strip()}', which is no command of ci/")
    return breaches


def shell_breaches(folder):
    for path in sorted(folder.glob("*.yml")):
        for name, step in steps_of(load(path)):
            if "run" not in step:
                continue
            script = "#!/bin/bash -e\n" + re.sub(r"\$\{\{.*?\}\}", "expression", step["run"])
            with tempfile.NamedTemporaryFile("w", suffix=".sh") as file:
                file.write(script)
                file.flush()
                r = run(tool("shellcheck"), file.name)
            if r.returncode:
                yield f"{path.name}: job {name}: {r.stdout}"


def values_of(workflow, job, step):
    """What the variables of a step hold; of an expression, the first value of the matrix, or some text."""
    values = {}
    for scope in (workflow, job, step):
        values |= {name: str(value) for name, value in scope.get("env", {}).items()}
    matrix = job.get("strategy", {}).get("matrix", {})
    of_matrix = lambda match: str(matrix[match[1]][0]) if match[1] in matrix else "text"
    return {
        name: re.sub(r"\$\{\{.*?\}\}", "text", re.sub(r"\$\{\{ matrix\.(\w+) \}\}", of_matrix, value))
        for name, value in values.items()
    }


def refused(program, arguments):
    """What a command of ci/ says against these arguments, by the parser that it uses itself; '' where it takes them."""
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            if program == "ci/gate":
                gate.parser().parse_args(arguments)
            elif program == "ci/nightly":
                nightly.parse(arguments)
            else:  # a script that reads its options in turn, and --help last; what follows -- is another's
                own = arguments[: arguments.index("--")] if "--" in arguments else arguments
                r = run(SOURCE / program, *own, "--help")
                said.write(r.stderr if r.returncode else "")
    except SystemExit:
        pass
    return said.getvalue()


def command_breaches(folder):
    for path in sorted(folder.glob("*.yml")):
        workflow = load(path)
        for name, job in workflow["jobs"].items():
            for step in job["steps"]:
                values = values_of(workflow, job, step)
                for line in step.get("run", "").splitlines():
                    words = shlex.split(re.sub(r"\$(\w+)", lambda m: values.get(m[1], m[0]), line))
                    if not words or not re.match(r"(\.\./judge/)?ci/", words[0]):
                        continue
                    program = words[0].removeprefix("../judge/")
                    if not os.access(SOURCE / program, os.X_OK):
                        yield f"{path.name}: job {name}: there is no command {program}"
                    elif said := refused(program, words[1:]):
                        yield f"{path.name}: job {name}: '{line.strip()}': {said}"


def linters(folder):
    """What the linters say of a folder, '' where all are content."""
    said = ""
    files = [str(path) for path in sorted(folder.glob("*.yml"))]
    for command in (
        [tool("zizmor"), "--offline", "--no-progress", *files],
        [tool("check-jsonschema"), "--builtin-schema", "vendor.github-workflows", *files],
        [tool("jactionlint"), "--config-file", str(WORKFLOWS.parent / "actionlint.yaml"), "--oneline", *files],
    ):
        r = run(*command)
        if r.returncode:
            said += r.stdout + r.stderr
    return said + "\n".join([*project_rules(folder), *shell_breaches(folder), *command_breaches(folder)])


# A defect in each: file, text, its replacement, and what must be said.
PLANTED = [
    ("gate.yml", "  pull_request:\n", "  pull_request_target:\n", "dangerous-triggers"),
    (
        "ci.yml",
        "actions/checkout@11bd71901bbe5b1630ceea73d27597364c9af683 # v4.2.2",
        "actions/checkout@v4",
        "unpinned-uses",
    ),
    (
        "ci.yml",
        "- run: ci/test\n",
        '- run: ci/test -- -R "${{ github.event.pull_request.title }}"\n',
        "template-injection",
    ),
    ("ci.yml", "permissions: {}\n", "permissions: write-all\n", "not empty by default"),
    ("ci.yml", "          persist-credentials: false\n", "", "artipacked"),
    ("nightly.yml", "runs-on: ubuntu-24.04\n", "run-on: ubuntu-24.04\n", "runs-on"),
    ("nightly.yml", '--shards "$SHARDS"', "--shards $SHARDS", "SC2086"),
    ("gate.yml", "    environment: gpu\n", "", "without an environment"),
    (
        "gate.yml",
        " || github.event.pull_request.head.repo.full_name == github.repository",
        "",
        "takes pull requests of forks",
    ),
    ("gate.yml", "    timeout-minutes: 60\n", "", "no time limit"),
    ("gate.yml", "needs.gate.result", "needs.gates.result", "undefined-property"),
    ("nightly.yml", "needs: plan\n", "needs: plans\n", "undefined-job-needs"),
    ("gate.yml", "--format sarif", "--format sarf", "invalid choice: 'sarf'"),
    ("nightly.yml", "--time 3h", "--time 3x", "'3x' is not a time"),
    ("ci.yml", "merge_group", "merge_groups", "merge_groups"),
    ("weekly.yml", "--write", "--rewrite", "unrecognized arguments: --rewrite"),
    ("ci.yml", "- run: ci/test\n", "- run: ci/test --fast\n", "'--fast' is not an option"),
    ("ci.yml", "- run: ci/test\n", "- run: curl -s https://example.org | sh\n", "no command of ci/"),
]


class Workflows(unittest.TestCase):
    def test_linters_and_rules_find_nothing(self):
        names = sorted(path.name for path in WORKFLOWS.iterdir())
        self.assertEqual(names, ["ci.yml", "gate.yml", "nightly.yml", "weekly.yml"])
        self.assertEqual(linters(WORKFLOWS), "")

    def test_planted_defects_are_found(self):
        for name, old, new, expected in PLANTED:
            with self.subTest(expected), tempfile.TemporaryDirectory() as folder:
                text = (WORKFLOWS / name).read_text()
                self.assertIn(old, text)
                (pathlib.Path(folder) / name).write_text(text.replace(old, new, 1))
                try:
                    said = linters(pathlib.Path(folder))
                except KeyError as key:  # the rules read a key that is gone
                    said = run(
                        tool("check-jsonschema"), "--builtin-schema", "vendor.github-workflows", f"{folder}/{name}"
                    ).stdout
                    self.assertIn(str(key).strip("'"), said)
                self.assertIn(expected, said)

    def test_the_matrix_has_a_job_for_each_shard(self):
        nightly = load(WORKFLOWS / "nightly.yml")
        self.assertEqual(nightly["jobs"]["shard"]["strategy"]["matrix"]["shard"], list(range(nightly["env"]["SHARDS"])))
        plan = " ".join(step.get("run", "") for step in nightly["jobs"]["plan"]["steps"])
        self.assertIn(" --elsewhere ", plan)  # each shard has a machine of its own, and all of its cores

    def test_what_a_merge_queue_waits_for_runs_in_it(self):
        """docs/gate.md tells to require these; a required check that does not run blocks the queue."""
        for name in ("ci.yml", "gate.yml"):
            workflow = load(WORKFLOWS / name)
            self.assertIn("merge_group", workflow.get("on", workflow.get(True)), name)
        jobs = {job["name"] for path in WORKFLOWS.glob("*.yml") for job in load(path)["jobs"].values()}
        text = (SOURCE / "docs/gate.md").read_text()
        required = re.findall(r"\*([^*]+)\*", re.search(r"require the checks (.*?)\.\s", text, re.S)[1])
        self.assertEqual(len(required), 3)
        self.assertLessEqual({" ".join(name.split()) for name in required}, jobs)


if __name__ == "__main__":
    unittest.main()
