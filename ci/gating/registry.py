"""What the suite demands, in numbers that may not shrink unseen. golden/registry.json holds what only a build knows;
mutants, golden files and error profiles are files of the tree. docs/gate.md explains each."""

import hashlib
import json
import pathlib
import re
import subprocess
import tempfile

from .build_map import BuildMap, ctest_tests
from .trees import git

SCHEMA = "warpcheck-registry-2"
LANES = ("ci", "slow", "part", "nightly")


def short_hash(text):
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def without_comments(text):
    """A source as the compiler means it: neither comments nor layout change a bound."""
    text = re.sub(r'("(?:\\.|[^"\\\n])*")|//[^\n]*|/\*.*?\*/', lambda m: m[1] or " ", text, flags=re.S)
    return " ".join(text.split())


class Checkout:
    """The files of a tree as they lie in a folder."""

    def __init__(self, root):
        self.root = pathlib.Path(root)

    def text(self, path):
        return (self.root / path).read_text()

    def names(self, folder):
        return [p.name for p in (self.root / folder).iterdir()] if (self.root / folder).is_dir() else []


class Commit:
    """The files of a commit."""

    def __init__(self, tree, commit):
        self.tree, self.commit = tree, commit

    def text(self, path):
        return git(self.tree, "show", f"{self.commit}:{path}")

    def names(self, folder):
        listed = git(self.tree, "ls-tree", "--name-only", f"{self.commit}:{folder}", check=False)
        return (listed or "").splitlines()


def mutants_of(files, op):
    path = f"{op}.mutants"
    lines = files.text(f"ci/mutate/{path}").splitlines() if path in files.names("ci/mutate") else []
    fields = [line.split("\t") for line in lines if line and not line.startswith("#")]
    return {f[0]: f[4] for f in fields if len(f) == 5}


def profiles_of(files, op, names):
    profiles = {}
    for name in names:
        if name.startswith("profile_") and name.endswith(".json"):
            entries = json.loads(files.text(f"golden/{op}/{name}"))["error_over_bound"]
            profiles[name.removeprefix("profile_").removesuffix(".json")] = {
                key: [entry["max"], entry["p99.9"]] for key, entry in entries.items()
            }
    return profiles


def with_files(registry, files):
    """The registry, and of each operator what the files of the tree demand."""
    operators = {}
    for op, entry in registry["operators"].items():
        names = sorted(files.names(f"golden/{op}"))
        operators[op] = entry | {
            "mutants": mutants_of(files, op),
            "golden": [name.removesuffix(".golden") for name in names if name.endswith(".golden")],
            "profiles": profiles_of(files, op, names),
        }
    return registry | {"operators": operators}


def option_of(command, name, default):
    return command[command.index(name) + 1] if name in command else default


def tests_of(build, operators):
    tests = {op: {} for op in operators}
    for name, labels, command in ctest_tests(build):
        if "cuda" in labels:
            continue  # the same on a machine without CUDA
        lanes = {label.partition(".")[0] for label in labels}  # part.3 is one of sixteen
        lane = next((lane for lane in reversed(LANES[1:]) if lane in lanes), "ci")
        entry = {"lane": lane, "size": option_of(command, "--size", "ci")}
        cases = option_of(command, "--cases", None)
        if cases:
            entry["cases"] = int(cases)
        for op in labels & set(operators):
            tests[op][name] = entry
    return tests


def make(build, root, warpcheck):
    """What is committed of a tree that is built."""
    build, root = pathlib.Path(build), pathlib.Path(root)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "list.json"
        subprocess.run([warpcheck, "list", "--json", str(path)], check=True, stdout=subprocess.DEVNULL)
        listed = json.loads(path.read_text())["operators"]
    files = BuildMap(build, root)
    tests = tests_of(build, listed)
    registry = {"schema": SCHEMA, "operators": {}, "scores": {}}
    for op, entry in listed.items():
        own = [names for names in files.objects.values() if names[0] == f"properties/{op}/{op}_properties.cpp"]
        headers = {name for names in own for name in names if name.startswith("reference/")}
        sources = {name.replace(".hpp", ".cpp") for name in headers}
        bound = sorted(headers | {name for name in sources if (root / name).exists()})
        registry["operators"][op] = {
            "properties": {
                p["name"]: {
                    "sentence": short_hash(p["sentence"]),
                    "types": p["types"],
                    "share_percent": p["share_percent"],
                    "null_kernels_percent": p["null_kernels_percent"],
                }
                for p in entry["properties"]
            },
            "coverage_exemptions": sorted(w["class"] for w in entry["coverage_exemptions"]),
            "tests": tests[op],
            "bound": {name: short_hash(without_comments((root / name).read_text())) for name in bound},
        }
    for line in (root / "ci/mutate/generated.score").read_text().splitlines():
        if line and not line.startswith("#"):
            subject, killed, judged = line.split()
            registry["scores"][subject] = [int(killed), int(judged)]
    return registry


def read(text):
    """A committed registry; raises ValueError with a sentence where it is none of this schema."""
    try:
        registry = json.loads(text)
    except ValueError as error:
        raise ValueError(f"it is no JSON: {error}")
    schema = registry.get("schema") if isinstance(registry, dict) else None
    if schema != SCHEMA:
        raise ValueError(f"its schema is {schema!r}, and {SCHEMA!r} is known")
    for part in ("operators", "scores"):
        if not isinstance(registry.get(part), dict):
            raise ValueError(f"it has no '{part}'")
    return registry


def text_of(registry):
    """JSON with one entry a line, so that a change is a line of a diff."""
    entry_depth = {"operators": 4, "scores": 2}

    def lines(value, depth, most):
        if depth == most or not isinstance(value, dict) or not value:
            return json.dumps(value, sort_keys=True)
        inner = [f"{json.dumps(k)}: {lines(v, depth + 1, entry_depth.get(k, most))}" for k, v in sorted(value.items())]
        indent = " " * (depth + 1)
        return "{\n" + ",\n".join(indent + text for text in inner) + "\n" + " " * depth + "}"

    return lines(registry, 0, 1) + "\n"
