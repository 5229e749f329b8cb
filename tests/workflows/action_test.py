"""action.yml: what of it runs for a gate, without GitHub. tests/python tries the steps of `verify`. Run by CTest."""

import importlib.util
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ["WARPCHECK_SOURCE"])


def steps(gate):
    """The steps that run for this input, by their conditions."""
    from ruamel.yaml import YAML  # a need of check-jsonschema

    for step in YAML(typ="safe").load((SOURCE / "action.yml").read_text())["runs"]["steps"]:
        condition = step.get("if", "true").removeprefix("${{ ").removesuffix(" }}")
        condition = condition.replace("!cancelled()", "True").replace("&&", "and").replace("inputs.gate", repr(gate))
        if eval(condition, {"true": True}):  # of this repository's own file
            yield step


def names(gate):
    return [step.get("name") or step["uses"].split("@")[0] for step in steps(gate)]


class Action(unittest.TestCase):
    def test_a_revision_takes_the_place_of_arguments(self):
        kept = ["actions/upload-artifact", "github/codeql-action/upload-sarif"]
        self.assertEqual(names(""), ["install", "verify", "report", *kept])
        self.assertEqual(names("origin/main"), ["gate", *kept])

    def test_the_step_runs_the_gate_of_the_action(self):
        (step,) = [step for step in steps("no-such-revision") if step.get("name") == "gate"]
        inputs = {name: re.fullmatch(r"\$\{\{ inputs\.(\w+) \}\}", text)[1] for name, text in step["env"].items()}
        self.assertEqual(inputs, {"GATE": "gate"})
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(["git", "init", "--quiet", folder], check=True)
            somebody = ["-c", "user.name=test", "-c", "user.email=test@example.org"]
            commit = ["git", "-C", folder, *somebody, "commit", "--quiet", "--allow-empty", "--message", "a tree"]
            subprocess.run(commit, check=True)
            environment = {**os.environ, "GITHUB_ACTION_PATH": str(SOURCE), "GATE": "no-such-revision"}
            program = ["bash", "-eo", "pipefail", "-c", step["run"]]
            said = subprocess.run(program, cwd=folder, env=environment, capture_output=True, text=True, timeout=60)
        self.assertEqual(said.returncode, 3, said.stdout + said.stderr)  # it could not judge
        self.assertIn("no-such-revision", said.stderr)


if __name__ == "__main__":
    if importlib.util.find_spec("ruamel") is None:
        print("WARPCHECK_SKIP: ruamel.yaml is not installed (ci/requirements.txt)")
        sys.exit(0)
    unittest.main()
