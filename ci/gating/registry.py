"""golden/registry.json: what the suite demands, in numbers that may not shrink unseen. docs/gate.md explains each."""

import hashlib
import json
import pathlib
import re
import subprocess
import tempfile

from .build_map import BuildMap, ctest_tests

SCHEMA = "warpcheck-registry-1"
LANES = ("ci", "slow", "nightly")


def short_hash(text):
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def without_comments(text):
    """A source as the compiler means it: neither comments nor layout change a bound."""
    text = re.sub(r'("(?:\\.|[^"\\\n])*")|//[^\n]*|/\*.*?\*/', lambda m: m[1] or " ", text, flags=re.S)
    return " ".join(text.split())


def mutants_of(root, op):
    path = root / f"ci/mutate/{op}.mutants"
    lines = path.read_text().splitlines() if path.exists() else []
    fields = [line.split("\t") for line in lines if line and not line.startswith("#")]
    return {f[0]: f[4] for f in fields if len(f) == 5}


def option_of(command, name, default):
    return command[command.index(name) + 1] if name in command else default


def tests_of(build, operators):
    tests = {op: {} for op in operators}
    for name, labels, command in ctest_tests(build):
        if "cuda" in labels:
            continue  # the same on a machine without CUDA
        lane = next((lane for lane in reversed(LANES[1:]) if lane in labels), "ci")
        entry = {"lane": lane, "size": option_of(command, "--size", "ci")}
        cases = option_of(command, "--cases", None)
        if cases:
            entry["cases"] = int(cases)
        for op in labels & set(operators):
            tests[op][name] = entry
    return tests


def make(build, root, warpcheck):
    """The registry of a tree that is built."""
    build, root = pathlib.Path(build), pathlib.Path(root)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "list.json"
        subprocess.run([warpcheck, "list", "--json", str(path)], check=True, stdout=subprocess.DEVNULL)
        claims = json.loads(path.read_text())["operators"]
    files = BuildMap(build, root)
    tests = tests_of(build, claims)
    registry = {"schema": SCHEMA, "operators": {}, "scores": {}}
    for op, claim in claims.items():
        own = [names for names in files.objects.values() if names[0] == f"properties/{op}/{op}_properties.cpp"]
        headers = {name for names in own for name in names if name.startswith("reference/")}
        sources = {name.replace(".hpp", ".cpp") for name in headers}
        bound = sorted(headers | {name for name in sources if (root / name).exists()})
        profiles = {}
        for path in sorted((root / "golden" / op).glob("profile_*.json")):
            profile = json.loads(path.read_text())
            profiles[path.stem.removeprefix("profile_")] = {
                name: [entry["max"], entry["p99.9"]] for name, entry in profile["error_over_bound"].items()
            }
        registry["operators"][op] = {
            "properties": {
                p["name"]: {
                    "sentence": short_hash(p["sentence"]),
                    "types": p["types"],
                    "share_percent": p["share_percent"],
                    "null_kernels_percent": p["null_kernels_percent"],
                }
                for p in claim["properties"]
            },
            "coverage_exemptions": sorted(w["class"] for w in claim["coverage_exemptions"]),
            "tests": tests[op],
            "bound": {name: short_hash(without_comments((root / name).read_text())) for name in bound},
            "mutants": mutants_of(root, op),
            "golden": sorted(path.stem for path in (root / "golden" / op).glob("*.golden")),
            "profiles": profiles,
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
    text = json.dumps(registry, indent=1, sort_keys=True)

    def in_a_line(match):
        line = match[1] + re.sub(r"\n\s*", " ", match[2]).strip() + match[3]
        return line if len(line) <= 100 else match[0]

    return re.sub(r"([\[{])([^\[\]{}]*)([\]}])", in_a_line, text) + "\n"
