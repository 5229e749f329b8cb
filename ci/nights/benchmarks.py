"""Benchmark rows of a night: how fast each is, and what an A/A pair of it says, by the statistics of the gate."""

import json
import pathlib
import statistics

from gating import timing

from .shards import write_whole

ROWS = 4  # of each operator
PAIRS = 9


def measure(program, most=ROWS, pairs=PAIRS):
    """(rows for the history, names of rows that alarm although both sides are the same program)."""
    rows, _ = timing.rows_of(program, most)
    samples = {row: {"base": [], "head": []} for row in rows}
    for side in timing.turns(pairs):
        for row, median in timing.medians(program, rows).items():
            samples[row][side].append(median)
    verdicts = timing.judge(samples, {})
    kept = []
    for row, both in samples.items():
        median = statistics.median(both["base"] + both["head"])
        kept.append({"kind": "benchmark", "name": row, "device": "cuda", "value": median, "unit": "us"})
        kept.append({"kind": "a/a", "name": row, "device": "cuda", "value": verdicts[row].ratio, "unit": "ratio"})
    return kept, [row for row, verdict in verdicts.items() if verdict.slower]


def of_night(programs, folder):
    """(rows, note) of all programs; what a killed night has measured is not measured again."""
    kept, alarms = [], []
    for program in sorted(map(pathlib.Path, programs)):
        path = folder / f"{program.name}.json"
        if not path.exists():
            rows, alarming = measure(str(program))
            write_whole(path, json.dumps({"rows": rows, "alarms": alarming}) + "\n")
        of_program = json.loads(path.read_text())
        kept += of_program["rows"]
        alarms += of_program["alarms"]
    rows = sum(row["kind"] == "a/a" for row in kept)
    note = f"A/A: {len(alarms)} of {rows} rows alarm" + (f" ({', '.join(alarms)})" if alarms else "")
    return kept, note
