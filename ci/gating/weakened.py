"""What a pull request demands less than its base: two registries side by side (registry.py). docs/gate.md."""

import re

from .findings import Finding
from .registry import LANES

SIZES = ("quick", "ci", "full")


def of_properties(was, now, source):
    """(name, file, sentence) of each property that demands less."""
    for name, p in was.items():
        q = now.get(name)
        if q is None:
            yield name, source, "the property is gone"
            continue
        if q["sentence"] != p["sentence"]:
            yield name, source, "its sentence changed: see that it demands no less"
        if lost := sorted(set(p["types"]) - set(q["types"])):
            yield name, source, f"it is no longer tried on {', '.join(lost)}"
        share, share_was = q["share_percent"], p["share_percent"]
        if share < share_was:
            yield name, source, f"its share of the cases was {share_was} % and is {share} %"
        passed, passed_was = q["null_kernels_percent"], p["null_kernels_percent"]
        if passed > passed_was:
            sentence = f"null kernels might pass {passed_was} % of its cases and may now pass {passed} %"
            yield name, "command/null_kernels.cpp", sentence


def of_tests(was, now):
    file = "properties/CMakeLists.txt"
    for name, t in was.items():
        u = now.get(name)
        if u is None:
            yield name, file, "the test is gone"
            continue
        if u.get("cases", 0) < t.get("cases", 0):
            yield name, file, f"it ran {t['cases']} cases and runs {u.get('cases', 0)}"
        if SIZES.index(u["size"]) < SIZES.index(t["size"]):
            yield name, file, f"its size was {t['size']} and is {u['size']}"
        if LANES.index(u["lane"]) > LANES.index(t["lane"]):
            yield name, file, f"it ran in lane {t['lane']} and runs in lane {u['lane']}"


def of_bound(was, now):
    for file, hash_was in was.items():
        if file not in now:
            yield "bound", file, f"{file}, a source of its bound, is used no more"
        elif now[file] != hash_was:
            yield "bound", file, f"{file}, a source of its bound, changed: see that the bound is not wider"


def of_mutants(was, now, file):
    for name, killer in was.items():
        if name not in now:
            yield name, file, f"the mutant, to be killed by {killer}, is gone"
        elif now[name] != killer:
            yield name, file, f"the mutant was to be killed by {killer} and is to be killed by {now[name]}"


def of_profiles(was, now, op):
    for device, profile in was.items():
        file = f"golden/{op}/profile_{device}.json"
        for name, (most, usual) in profile.items():
            is_now = now.get(device, {}).get(name)
            if is_now is None:
                yield f"profile {device} {name}", file, "the error profile is gone"
            elif not (is_now[0] <= most and is_now[1] <= usual):
                now_and_was = f"{is_now[0]:.4f} (99.9 %: {is_now[1]:.3f}); it was {most:.4f} ({usual:.3f})"
                yield f"profile {device} {name}", file, f"error/bound may now be {now_and_was}"


def of_operator(op, was, now):
    if now is None:
        yield "operator", "cmake/operators.cmake", "the operator is gone"
        return
    source = f"properties/{op}/{op}_properties.cpp"
    yield from of_properties(was["properties"], now["properties"], source)
    for name in sorted(set(now["coverage_exemptions"]) - set(was["coverage_exemptions"])):
        yield name, source, "no case of the class is demanded any more (a coverage exemption)"
    yield from of_tests(was["tests"], now["tests"])
    yield from of_bound(was["bound"], now["bound"])
    yield from of_mutants(was["mutants"], now["mutants"], f"ci/mutate/{op}.mutants")
    for name in sorted(set(was["golden"]) - set(now["golden"])):
        yield name, f"golden/{op}/{name}.golden", "the golden file is gone"
    yield from of_profiles(was["profiles"], now["profiles"], op)


def of_scores(was, now):
    for subject, (killed, judged) in was.items():
        k, j = now.get(subject, (0, 0))
        if j == 0 or k * judged < killed * j:
            yield subject, f"{killed} of {judged} generated mutants were killed, now {k} of {j}"


def weakened(base, head):
    """A finding for everything that shrank, widened or vanished from base to head."""
    found = []
    for op, was in base["operators"].items():
        for name, file, sentence in of_operator(op, was, head["operators"].get(op)):
            found.append(Finding("weakened", op, f"{op}/{name}", file, f"{op}/{name}: {sentence}"))
    for subject, sentence in of_scores(base["scores"], head["scores"]):
        name = f"{subject}/score"
        found.append(Finding("weakened", subject, name, "ci/mutate/generated.score", f"{name}: {sentence}"))
    return found


def excused(text):
    """name -> reason of the lines 'weakens: NAME: reason' in the text of a pull request."""
    lines = re.findall(r"^[ \t]*weakens:[ \t]*(.+?):[ \t]+(\S.*)$", text or "", re.M)
    return {name.strip(): reason.strip() for name, reason in lines}
