"""Runs labelled codes on a GPU under NVIDIA's compute-sanitizer, on the last of their inputs. The tool is the one whose
findings the label names. The seconds of a tool do not contain those of nvcc."""

import collections
import os
import re
import shutil
import signal
import statistics
import subprocess
import tempfile
import threading
import time

TOOLS = {"out_of_bounds": "memcheck", "uninitialized": "initcheck", "divergence": "synccheck"}  # others: racecheck
SUMMARY = re.compile(r"^=+ (?:RACECHECK|ERROR) SUMMARY: (\d+)", re.M)
LIMIT = 10  # seconds of a run on the GPU
gpu = threading.Semaphore(4)  # so many runs at a time, so that a code that hangs does not hold up the others


def missing_tool():
    return next((tool for tool in ("nvcc", "compute-sanitizer") if not shutil.which(tool)), None)


def ended(command, folder, limit):
    """The exit code (None: stopped), the output and the seconds of a command, which gets a process group of its own."""
    begin = time.time()
    process = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, start_new_session=True)
    try:
        said, code = process.communicate(timeout=limit)[0], process.returncode
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        said, code = process.communicate()[0], None
    return code, said.decode(errors="replace"), round(time.time() - begin, 2)


def run_beside(code):
    """What compute-sanitizer says about a code: found, clean, late, crash, or refused (by nvcc)."""
    tool = TOOLS.get(code.wanted, "racecheck")
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "code.cu"), "w") as file:
            file.write(code.text)
        options = [w for i in code.includes for w in ("-I", str(i))]
        options += [w for w, value in zip(code.options, code.options[1:]) if w == "-D" for w in (w, value)]
        status, said, seconds = ended(["nvcc", "-O3", "-lineinfo", "-arch=native", *options, "code.cu", "-o", "code"],
                                      folder, 120)
        row = {"tool": tool, "compile_seconds": seconds}
        if status != 0:
            return {**row, "result": "refused", "said": said[-300:]}
        program = ["./code", *code.inputs[-1]]
        with gpu:
            row["plain_status"], _, row["plain_seconds"] = ended(program, folder, LIMIT)
        with gpu:
            status, said, row["seconds"] = ended(
                ["compute-sanitizer", "--tool", tool, "--print-limit", "1", *program], folder, LIMIT)
    counts = SUMMARY.findall(said)
    result = "late" if status is None else "found" if any(map(int, counts)) else "clean" if counts else "crash"
    lines = [line for line in said.splitlines() if line.startswith("=====")]
    return {**row, "result": result, "said": "\n".join(lines)[-600:]}


def sides(row, outcome):
    """The outcomes of both for a row, ours first, as found, missed, clean, false or none."""
    theirs = row["beside"]["result"]
    as_label = {"found": "found" if row["wanted"] else "false", "clean": "missed" if row["wanted"] else "clean"}
    ours = outcome if outcome in ("found", "missed", "clean", "false") else "none"
    return ours, as_label.get(theirs, "none")


def table(rows, outcome):
    """Counts and median seconds of both sides, for the rows of --beside."""
    rows = [r for r in rows if "beside" in r]
    lines = ["| on one input | codes | found | missed | race-free clean | false | none | median seconds |",
             "|---" * 8 + "|"]
    for side, name in ((0, "warpcheck"), (1, "compute-sanitizer")):
        count = collections.Counter(sides(r, outcome(r))[side] for r in rows)
        seconds = [s for r in rows if (s := r["beside"].get("seconds") if side else r["seconds"]) is not None]
        median = f"{statistics.median(seconds):.1f}" if seconds else "-"
        lines.append(f"| {name} | {len(rows)} | {count['found']} | {count['missed']} | {count['clean']} | "
                     f"{count['false']} | {count['none']} | {median} |")
    return "\n".join(lines) + "\n"
