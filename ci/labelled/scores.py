"""Runs labelled codes on the emulated device and compares the findings of its reports with the labels. Exit codes do
not count, and a finding of one kind hides none of another."""

import collections
import concurrent.futures
import dataclasses
import itertools
import json
import pathlib
import re
import subprocess
import tempfile
import time

from nights.shards import write_whole

from . import beside

# Most defects show under the first schedule, so that the others run only where it leaves something open.
SCHEDULES = (("fair",), ("greedy", "reverse", "random:1", "preempt:1"))


def run_code(code, options):
    """The row of a code: the kinds of findings over all inputs and schedules, and why it was refused, if it was."""
    row = {"code": code.name, "wanted": code.wanted, "bounds": code.bounds, "is_endless": code.is_endless, "found": [],
           "findings": [], "refused": "", "allowed": code.allowed, "ends": code.ends, "is_proven": False,
           "is_reached": False}
    with tempfile.TemporaryDirectory() as scratch:
        result = pathlib.Path(scratch) / "result.json"
        (result.parent / "code.cu").write_text(code.text)
        command = [options.warpcheck, "run-emulated", "code.cu", "--keep-going", "--no-trace", "--quiet"]
        command += ["--timeout", str(options.timeout), "--json", str(result), *code.options]
        command += [w for i in code.includes for w in ("-I", str(i))]
        done = []  # inputs that a certificate covers, or that do not end
        for schedules, arguments in itertools.product(SCHEDULES, code.inputs):
            if arguments in done or is_settled(row):
                continue
            words = [w for s in schedules for w in ("--schedule", s)]
            result.unlink(missing_ok=True)
            ended = subprocess.run([*command, *words, "--", *arguments], cwd=scratch, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            if not result.is_file():  # it did not compile
                row["refused"] = construct_of(ended.stdout.decode(errors="replace"))
                break
            report = json.loads(result.read_text())
            if "timeout" in add_report(row, report) or all(r.get("every_schedule") for r in report["runs"]):
                done.append(arguments)
    return row


def run_both(code, options):
    """The row of a code on the last of its inputs, without its bounds bug, with compute-sanitizer's answer."""
    code = dataclasses.replace(code, inputs=code.inputs[-1:], bounds=False)
    theirs = beside.run_beside(code)
    begin = time.time()
    row = run_code(code, options)
    return {**row, "seconds": round(time.time() - begin, 2), "beside": theirs}


def is_settled(row):
    """True if further runs cannot change what the code counts as."""
    if row["allowed"] is not None:
        return row["is_proven"]
    return (row["wanted"] or "race") in row["found"] and (not row["bounds"] or "out_of_bounds" in row["found"])


def construct_of(said):
    reasons = ("undefined reference", "error: ", " is outside the subset")
    lines = [line for reason in reasons for line in said.splitlines() if reason in line]
    return (lines or said.strip().splitlines() or ["nothing was said"])[0][:200]


def add_report(row, report):
    """Adds the findings of a report to the row; returns their kinds."""
    kinds = {finding["kind"] for run in report["runs"] for finding in run["findings"]}
    for run in report["runs"]:
        row["is_proven"] |= run.get("every_schedule", False)
        ended = {finding["kind"] for finding in run["findings"]} <= {"race", "error_return"}
        row["is_reached"] |= ended and run.get("exit_status") == 1
        for finding in run["findings"]:
            if finding["kind"] == "unsupported":
                row["refused"] = finding["text"][:200]
            if finding["kind"] not in row["found"]:
                row["found"].append(finding["kind"])
                row["findings"].append(f"{finding['kind']}: {finding['text']}"[:400])
    return kinds


def outcome(row):
    """What a code counts as."""
    is_late = "timeout" in row["found"] and not row["is_endless"]
    if row["refused"]:
        return "refused"
    if row.get("allowed") is not None:
        return outcome_of_litmus(row)
    if row.get("ends") is not None:
        return outcome_of_ending(row)
    if row["wanted"]:
        return "found" if row["wanted"] in row["found"] else "late" if is_late else "missed"
    return "false" if "race" in row["found"] else "late" if is_late else "clean"


def outcome_of_litmus(row):
    """A reported hazard (found) claims nothing. Without one, the outcome of a certificate is the model's (clean) or is
    not (missed); no certificate leaves it open whether there are more (open). A forbidden outcome is false."""
    if row["is_reached"] and not row["allowed"]:
        return "false"
    if set(row["found"]) - {"error_return"}:
        return "found"
    if not row["is_proven"]:
        return "open"
    return "clean" if row["is_reached"] or not row["allowed"] else "missed"


def outcome_of_ending(row):
    """A test that ends (clean) may not be stopped (false). One that need not end has a hazard (found)."""
    if row["ends"]:
        return "false" if {"timeout", "deadlock", "divergence", "livelock"} & set(row["found"]) else "clean"
    return "found" if set(row["found"]) - {"error_return"} else "missed"


def judged(row, known):
    """The reason of a disagreement that was judged by reading (`JUDGED` of suites.py); "": a new one."""
    of_code = (reason for pattern, reason in known.items() if re.search(pattern, row["code"]))
    return next((why for kind, why in of_code if kind == outcome(row)), "")


def table(suite, rows, known):
    count = collections.Counter(outcome(r) for r in rows)
    bounds = [("out_of_bounds" in r["found"]) for r in rows if r["bounds"] and not r["refused"]]
    lines = ["| suite | codes | found | missed | race-free clean | false | bounds found | missed | refused | "
             "late |", "|---" * 10 + "|",
             f"| {suite} | {len(rows)} | {count['found']} | {count['missed']} | {count['clean']} | {count['false']} | "
             f"{sum(bounds)} | {len(bounds) - sum(bounds)} | {count['refused']} | {count['late']} |"]
    for kind in ("missed", "false", "late", "refused"):
        for r in (r for r in rows if outcome(r) == kind):
            about = judged(r, known) or "new: " + (r["refused"] if kind == "refused" else "; ".join(r["findings"]))
            lines.append(f"\n{kind}: {r['code']}: {about}")
    text = "\n".join(lines) + "\n"
    return text + "\n" + beside.table(rows, outcome) if any("beside" in r for r in rows) else text


def is_new(row, known):
    return outcome(row) not in ("found", "clean", "open") and not judged(row, known)


def rows_of(items, run, key_of, path, options, say):
    """Runs the items, a dictionary by key, and returns their rows in its order. `path` always has the finished rows,
    which --resume keeps. key_of(row) is the key of the row's item."""
    before = json.loads(path.read_text()) if options.resume and path.is_file() else []
    rows = {key: row for row in before if (key := key_of(row)) in items}
    pool = concurrent.futures.ThreadPoolExecutor(options.jobs)
    try:
        started = [pool.submit(run, item, options) for key, item in items.items() if key not in rows]
        for ended in concurrent.futures.as_completed(started):
            row = ended.result()
            rows[key_of(row)] = row
            say(f"{len(rows)}/{len(items)} ", row)
            write_whole(path, json.dumps(list(rows.values()), indent=1) + "\n")
    finally:
        pool.shutdown(cancel_futures=True)
    rows = [rows[key] for key in items]
    write_whole(path, json.dumps(rows, indent=1) + "\n")
    return rows


def score(codes, options, say):
    """The rows of the codes."""
    return rows_of({c.name: c for c in codes}, run_both if options.beside else run_code, lambda row: row["code"],
                   pathlib.Path(options.out + ".json"), options,
                   lambda count, row: say(f"{count}{row['code']}: {outcome(row)}"))
