"""golden/registry.json: what the suite demands, in numbers that may not shrink unseen. docs/gate.md explains each."""

import hashlib
import json
import pathlib
import re
import subprocess
import tempfile

from .build_map import BuildMap, ctest_tests
from .findings import Finding

SCHEMA = "warpcheck-registry-1"
LANES = ("ci", "slow", "nightly")
SIZES = ("quick", "ci", "full")


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
        own = [names for names in files.objects.values() if names[0] == f"properties/{op}_properties.cpp"]
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
            "waivers": sorted(w["class"] for w in claim["waivers"]),
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


def text_of(registry):
    """JSON with one entry a line, so that a change is a line of a diff."""
    text = json.dumps(registry, indent=1, sort_keys=True)

    def in_a_line(match):
        line = match[1] + re.sub(r"\n\s*", " ", match[2]).strip() + match[3]
        return line if len(line) <= 100 else match[0]

    return re.sub(r"([\[{])([^\[\]{}]*)([\]}])", in_a_line, text) + "\n"


def weakened(base, head):
    """A finding for everything that shrank, widened or vanished from base to head."""
    found = []

    def add(op, name, file, sentence):
        found.append(Finding("weakened", op, f"{op}/{name}", file, f"{op}/{name}: {sentence}"))

    for op, was in base["operators"].items():
        now = head["operators"].get(op)
        if now is None:
            add(op, "operator", "cmake/operators.cmake", "the operator is gone")
            continue
        source = f"properties/{op}_properties.cpp"
        for name, p in was["properties"].items():
            q = now["properties"].get(name)
            if q is None:
                add(op, name, source, "the property is gone")
                continue
            if q["sentence"] != p["sentence"]:
                add(op, name, source, "its sentence changed: see that it claims no less")
            if lost := sorted(set(p["types"]) - set(q["types"])):
                add(op, name, source, f"it is no longer tried on {', '.join(lost)}")
            if q["share_percent"] < p["share_percent"]:
                add(
                    op, name, source, f"its share of the cases was {p['share_percent']} % and is {q['share_percent']} %"
                )
            if q["null_kernels_percent"] > p["null_kernels_percent"]:
                add(
                    op,
                    name,
                    "ci/warpcheck/null_kernels.cpp",
                    f"null kernels might pass {p['null_kernels_percent']} % of "
                    f"its cases and may now pass {q['null_kernels_percent']} %",
                )
        for name in sorted(set(now["waivers"]) - set(was["waivers"])):
            add(op, name, source, "the class is owed no case any more (a waiver)")
        for name, t in was["tests"].items():
            u = now["tests"].get(name)
            if u is None:
                add(op, name, "properties/CMakeLists.txt", "the test is gone")
                continue
            if u.get("cases", 0) < t.get("cases", 0):
                add(op, name, "properties/CMakeLists.txt", f"it ran {t['cases']} cases and runs {u.get('cases', 0)}")
            if SIZES.index(u["size"]) < SIZES.index(t["size"]):
                add(op, name, "properties/CMakeLists.txt", f"its size was {t['size']} and is {u['size']}")
            if LANES.index(u["lane"]) > LANES.index(t["lane"]):
                add(op, name, "properties/CMakeLists.txt", f"it ran in lane {t['lane']} and runs in lane {u['lane']}")
        for file, hash_was in was["bound"].items():
            hash_is = now["bound"].get(file)
            if hash_is != hash_was:
                add(
                    op,
                    "bound",
                    file,
                    f"{file}, a source of its bound, "
                    + ("changed: see that the bound is not wider" if hash_is else "is used no more"),
                )
        for name, killer in was["mutants"].items():
            file = f"ci/mutate/{op}.mutants"
            if name not in now["mutants"]:
                add(op, name, file, f"the mutant, to be killed by {killer}, is gone")
            elif now["mutants"][name] != killer:
                add(
                    op,
                    name,
                    file,
                    f"the mutant was to be killed by {killer} and is to be killed by {now['mutants'][name]}",
                )
        for name in sorted(set(was["golden"]) - set(now["golden"])):
            add(op, name, f"golden/{op}/{name}.golden", "the golden file is gone")
        for device, profile in was["profiles"].items():
            file = f"golden/{op}/profile_{device}.json"
            for name, limits in profile.items():
                is_now = now["profiles"].get(device, {}).get(name)
                if is_now is None:
                    add(op, f"profile {device} {name}", file, "the error profile is gone")
                elif not (is_now[0] <= limits[0] and is_now[1] <= limits[1]):
                    add(
                        op,
                        f"profile {device} {name}",
                        file,
                        f"error/bound may now be {is_now[0]:.4f} (99.9 %: {is_now[1]:.3f}); "
                        f"it was {limits[0]:.4f} ({limits[1]:.3f})",
                    )
    for subject, (killed, judged) in base["scores"].items():
        k, j = head["scores"].get(subject, (0, 0))
        if j == 0 or k * judged < killed * j:
            found.append(
                Finding(
                    "weakened",
                    subject,
                    f"{subject}/score",
                    "ci/mutate/generated.score",
                    f"{subject}/score: {killed} of {judged} generated mutants were killed, now {k} of {j}",
                )
            )
    return found


def excused(text):
    """name -> reason of the lines 'weakens: NAME: reason' in the text of a pull request."""
    lines = re.findall(r"^[ \t]*weakens:[ \t]*(.+?):[ \t]+(\S.*)$", text or "", re.M)
    return {name.strip(): reason.strip() for name, reason in lines}
