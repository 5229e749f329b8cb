"""Verdicts, errors, counterexamples and hazards of the files of verify and fuzz, as the page shows them."""

import math
import re

from .inputs import number

# Of a case, by severity; the two of a job come last. The sign stands beside the word, so that no colour is needed.
ORDER = (
    "crash timeout error_return broken_offer out_of_bounds input_modified launch_limit livelock deadlock divergence "
    "race uninitialized nondeterministic violation suite_error"
).split()
HAZARDS = {"race", "uninitialized", "divergence", "deadlock", "livelock", "out_of_bounds", "launch_limit"}
NOT_JUDGED = ("not run", "not tried", "skipped")
DEVICES = {
    "emulated": "The emulated device runs the same kernel source on the CPU, thread by thread. It sees races, bounds, "
    "uninitialised reads and deadlocks; it says nothing of speed, of nvcc's code or of the GPU's own functions.",
    "cuda": "A GPU runs the code of nvcc. Values, determinism, guard zones and error codes are judged; a race shows "
    "only where it changes a value.",
    "cpu": "The candidate's own code on the host. Values, determinism and memory beside the tensors are judged.",
}
# What each verdict of a failure means, for whoever meets it first here.
MEANINGS = {
    "suite_error": "The suite itself failed on this case, so nothing is known of the kernel. The message says how.",
    "violation": "A result lies outside the bound that the contract allows it, or an invariant is broken.",
    "nondeterministic": "The same call gave different bits when it ran again, under another schedule or launched "
    "otherwise.",
    "uninitialized": "The kernel read memory that nobody had written.",
    "race": "Two threads touch the same byte, at least one of them writes, and nothing in the program orders the two.",
    "divergence": "Threads that must call a barrier or a warp function together did not.",
    "deadlock": "Every thread waits for another.",
    "livelock": "Threads ran on without an end of any of them.",
    "launch_limit": "The launch asks for more than the device has.",
    "input_modified": "The call changed its input.",
    "out_of_bounds": "The kernel touched memory outside its tensors.",
    "broken_offer": "A call was answered by 'unsupported', although nothing said that the candidate lacks it.",
    "error_return": "A legal call was refused, or an illegal one was accepted.",
    "timeout": "The call did not end in time.",
    "crash": "The process that made the call died.",
}
MOST_DETAILS = 150  # counterexamples with all that is known; the others have a line


def sign(verdict):
    return "✓" if verdict == "pass" else "–" if verdict in NOT_JUDGED else "✗"


def kind(verdict):
    return "pass" if verdict == "pass" else "none" if verdict in NOT_JUDGED else "fail"


def plain(value, digits=3):
    """A number for people."""
    value = number(value)
    if value is None:
        return "-"
    if math.isinf(value) or math.isnan(value):
        return {math.inf: "infinite", -math.inf: "-infinite"}.get(value, "NaN")
    return f"{value:.{digits}g}"


def short(candidate):
    """The name of a candidate without its folders."""
    return candidate.rpartition("/")[2] or candidate


def _worst(verdicts):
    known = [v for v in ORDER if v in verdicts] or (["pass"] if "pass" in verdicts else [])
    return known[0] if known else next((v for v in NOT_JUDGED if v in verdicts), "not run")


def _fold(jobs):
    """A cell of the table from the jobs of one property on one device, one for each element type."""
    cases = sum(j["cases"] for j in jobs)
    judged = [j for j in jobs if j["verdict"] not in NOT_JUDGED]
    ratios = [number(j["max_error_ratio"]) for j in judged if j["compared"]]
    ulps = [number(j["max_ulp"]) for j in judged if j["compared"]]
    notes = [f"{j['dtype']} {j['verdict']}" for j in jobs if j["verdict"] in NOT_JUDGED and len(judged) > 0]
    notes += [f"{j['skipped']} {j['dtype']} cases skipped" for j in judged if j["skipped"]]
    notes += [f"{j['dtype']} stopped after its fifth failure" for j in jobs if j["stopped"]]
    return {
        "verdict": _worst([j["verdict"] for j in jobs]),
        "cases": cases,
        "error_ratio": max(ratios, default=None),
        "ulp": max(ulps, default=None),
        "types": ", ".join(j["dtype"] for j in jobs),
        "note": "; ".join(notes),
    }


def _left(types, why):
    return {"verdict": "not run", "cases": 0, "error_ratio": None, "ulp": None, "types": types, "note": why}


def _gather(runs):
    """What ran and what did not, by (operator, property, device, candidate), and the sentences of all properties."""
    known, ran, left = {}, {}, {}
    for run in runs:
        sentences, where = run.get("sentences", {}), (run["device"], run["candidate"])
        for entry in run["jobs"] + run.get("not_run", []):
            at = (entry["operator"], entry["property"])
            known.setdefault(at, sentences.get("/".join(at), ""))
        for job in run["jobs"]:
            ran.setdefault((job["operator"], job["property"], *where), []).append(job)
        for entry in run.get("not_run", []):
            whys = left.setdefault((entry["operator"], entry["property"], *where), {})
            whys.update(dict.fromkeys(entry["dtypes"], entry["why"]))
    return known, ran, left


def _add_left(cells, ran, left):
    """Cells, or notes of cells, for what did not run though its file knows it."""
    tried = {(operator, device, candidate) for operator, _, device, candidate in ran}
    # First what a candidate left of operators that it was tried on; of others nobody's row is enough.
    for key, whys in sorted(left.items(), key=lambda entry: (entry[0][0], *entry[0][2:]) not in tried):
        missing = {t: why for t, why in whys.items() if t not in {j["dtype"] for j in ran.get(key, [])}}
        if not missing:
            continue
        types = ", ".join(missing)
        why = "; ".join(dict.fromkeys(missing.values()))
        if key in ran:
            cells[key]["note"] = "; ".join(n for n in (cells[key]["note"], f"{types} not run: {why}") if n)
        elif (key[0], *key[2:]) in tried:
            cells[key] = _left(types, why)
        elif not any(cell[:3] == key[:3] for cell in cells):
            cells[(*key[:3], "")] = _left(types, why)


def table(runs):
    """One row for each operator, property and candidate, of what was not run as well: `cells` has its entry by device.
    Then the devices that ran, and those of which no run is here."""
    known, ran, left = _gather(runs)
    cells = {key: _fold(jobs) for key, jobs in ran.items()}
    _add_left(cells, ran, left)
    devices = [d for d in DEVICES if d in {run["device"] for run in runs}]
    several = len({run["candidate"] for run in runs}) > 1
    rows = {}
    for (operator, name, device, candidate), cell in cells.items():
        row = rows.setdefault(
            (operator, name, candidate),
            {
                "operator": operator,
                "property": name,
                "sentence": known[operator, name],
                "candidate": short(candidate) if several else "",
                "cells": {},
            },
        )
        row["cells"][device] = cell
    for row in rows.values():
        kinds = {kind(cell["verdict"]) for cell in row["cells"].values()}
        row["kind"] = next(k for k in ("fail", "pass", "none") if k in kinds)
        types = [t for cell in row["cells"].values() for t in cell["types"].split(", ")]
        row["types"] = ", ".join(dict.fromkeys(t for t in types if t))
    # As registered where a file says so, operators as they first appear.
    operators, order = list(dict.fromkeys(operator for operator, _ in known)), list(known)

    def place(row):
        return (operators.index(row["operator"]), order.index((row["operator"], row["property"])))

    absent = [d for d in DEVICES if d not in devices and d != "cpu"] if runs else []
    return sorted(rows.values(), key=place), devices, absent


def overview(rows, devices):
    """operator -> device -> counts of verdicts, for the table that comes first."""
    operators = {}
    for row in rows:
        counts = operators.setdefault(
            row["operator"], {d: {"pass": 0, "fail": 0, "none": 0, "cases": 0} for d in devices}
        )
        for device, cell in row["cells"].items():
            counts[device][kind(cell["verdict"])] += 1
            counts[device]["cases"] += cell["cases"]
    return operators


def schedules(runs):
    """(operator, variant, candidate) -> [cases with every schedule proven, cases], of runs on the emulated device."""
    counts = {}
    for run in runs:
        for job in run["jobs"] if run["device"] == "emulated" else []:
            for variant, cases in job.get("variants", {}).items():
                both = counts.setdefault((job["operator"], variant, short(run["candidate"])), [0, 0])
                both[0] += job.get("proven_variants", {}).get(variant, 0)
                both[1] += cases
    return counts


def histograms(runs):
    """(operator, device) -> [(name, elements, ulps, shares)], the name being element type and variant."""
    sums = {}
    for run in runs:
        for job in run["jobs"]:
            for variant, bins in job.get("errors", {}).items():
                name = f"{job['dtype']} {variant.removeprefix(job['operator'] + '_')}".strip()
                both = sums.setdefault((job["operator"], job["device"], run["candidate"]), {}).setdefault(
                    name, ({}, {})
                )
                for total, part in zip(both, (bins["ulps"], bins["shares"])):
                    for edge, count in part:
                        total[edge] = total.get(edge, 0) + count
    return {
        at: [
            (
                name,
                sum(u.values()),
                sorted(u.items(), key=lambda b: number(b[0])),
                sorted(s.items(), key=lambda b: number(b[0])),
            )
            for name, (u, s) in sorted(names.items())
        ]
        for at, names in sums.items()
    }


def _case_parts(line):
    """operator, property, element type, device and sizes of a case line, as far as it says."""
    words = re.match(r"v\d+ ([^/ ]+)/(\S+) ?(.*)", line or "")
    if not words:
        return {"operator": "?", "property": "?", "dtype": "", "device": ""}
    first = re.search(r"\b\w+=(\w+)\[([\dx]*)\]", words[3])
    device = re.search(r"\bdevice=(\S+)", words[3])
    return {
        "operator": words[1],
        "property": words[2],
        "dtype": first[1] if first else "",
        "sizes": first[2].replace("x", " x ") if first else "",
        "device": device[1] if device else "",
    }


def _worst_element(report):
    """None where there is none, or what failed is something else than an element."""
    worst = report.get("worst")
    if not worst:
        return None
    bound, error = number(worst["bound"]), number(worst["error"])
    if error <= bound:
        return None
    return {
        "place": f"{worst['tensor']}[{worst['row']}, {worst['col']}]",
        "input": plain(worst["input"], 9),
        "expected": worst.get("expected_text") or plain(worst["expected"], 17),
        "expected_hex": worst.get("expected_hex", ""),
        "actual": plain(worst["actual"], 9),
        "actual_hex": worst.get("actual_hex", ""),
        "error": plain(error, 6),
        "bound": plain(bound, 6),
        "ratio": plain(error / bound if bound else (0 if error == 0 else math.inf), 4),
        "ulp": plain(worst["error_ulp"], 4),
    }


def _counterexample(report, origin, group):
    return {
        "group": (*group, report.get("cause") or report.get("case")),
        "further": [],
        **_case_parts(report.get("case")),
        "verdict": report["verdict"],
        "message": report.get("message", ""),
        "worst": _worst_element(report),
        "neighbour": report.get("neighbour", ""),
        "findings": report.get("findings", []),
        "sources": [{"file": s["place"].rpartition(":")[0], "text": "", **s} for s in report.get("sources", [])],
        "explanation": [{"table": [], **section} for section in report.get("explanation", [])],
        "line": report.get("case", ""),
        "origin": origin,
        "row": report.get("row"),
        "plot": "",
    }


def _place(report):
    """The most severe first; a shrunk one of a property, which has a neighbour or an explanation, before the others."""
    severity = ORDER.index(report["verdict"]) if report["verdict"] in ORDER else len(ORDER)
    return severity, not (report["neighbour"] or report["explanation"])


def counterexamples(read):
    """The first failure of each cause, with the others of that cause in `further`; then those without room for details.
    Failures of two candidates or devices are never of one cause."""
    found = []
    for run in read.verify:
        found += [_counterexample(r, "verify", (run["candidate"], run["device"])) for r in run["failures"]]
    for run in read.fuzz:
        for finding in run["findings"]:
            report = finding.get("report") or {
                "verdict": finding["verdict"],
                "message": finding["message"],
                "case": finding["case"],
            }
            origin = f"fuzz, finding {finding['name']}, {finding['failures']} failures"
            found.append(_counterexample(report, origin, (run.get("candidate"), run.get("device"))))
    groups = {}
    for one in sorted(found, key=_place):
        first = groups.setdefault(one["group"], one)
        if first is not one:
            first["further"].append(one)
    firsts = list(groups.values())
    for index, one in enumerate(firsts, 1):
        one["id"] = f"case-{index}"
        own = (one["operator"], one["property"])
        one["names"] = [n for n in dict.fromkeys((f["operator"], f["property"]) for f in one["further"]) if n != own]
        quoted = {s["place"]: s for s in one["sources"]}
        one["hazards"] = (
            [{"text": text, "lines": [s for place, s in quoted.items() if place in text]} for text in one["findings"]]
            if one["verdict"] in HAZARDS or one["findings"]
            else []
        )
    return firsts[:MOST_DETAILS], firsts[MOST_DETAILS:]
