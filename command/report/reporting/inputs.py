"""The files that a report is made of, read and checked. Files are foreign: what does not fit is one sentence."""

import dataclasses
import json
import math
import pathlib
import sqlite3

MOST_BYTES = 256 << 20
HISTORY_VERSION = 2  # docs/nightly.md


class Malformed(Exception):
    pass


@dataclasses.dataclass
class Read:
    verify: list
    fuzz: list
    bench: list
    mutants: list
    history: dict | None  # table -> rows


def number(value):
    """A number of our JSON, where an infinity or NaN is text; None where it is neither."""
    if isinstance(value, str):
        return {"+inf": math.inf, "-inf": -math.inf, "nan": math.nan}.get(value)
    return float(value) if isinstance(value, (int, float)) else None


def load(path):
    path = pathlib.Path(path)
    try:
        if path.stat().st_size > MOST_BYTES:
            raise Malformed(f"{path}: it has more than {MOST_BYTES >> 20} MiB")
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise Malformed(f"{path}: it cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise Malformed(f"{path}: it is not JSON: {error}") from error
    if not isinstance(content, dict):
        raise Malformed(f"{path}: it is not an object of JSON")
    content["path"] = str(path)
    return content


# What the page cannot do without, by schema: of the file (""), and of each entry of its lists.
TEXT, COUNT, NUMBER = "text", "a whole number", "a number"
SHAPES = {
    "warpcheck-verify-1": {
        "": {"version": TEXT, "candidate": TEXT, "device": TEXT, "exit_code": COUNT},
        "jobs": {
            **dict.fromkeys(("operator", "property", "dtype", "device", "verdict"), TEXT),
            **dict.fromkeys(("cases", "skipped", "compared"), COUNT),
            "max_error_ratio": NUMBER,
            "max_ulp": NUMBER,
        },
        "failures": {"case": TEXT, "verdict": TEXT, "cause": TEXT},
    },
    "warpcheck-fuzz-1": {
        "": {"version": TEXT, "cases": COUNT, "exit_code": COUNT},
        "properties": {"property": TEXT, "cases": COUNT, "skipped": COUNT, "failures": COUNT,
                       "max_error_ratio": NUMBER},
        "findings": {"name": TEXT, "verdict": TEXT, "case": TEXT, "message": TEXT, "failures": COUNT},
    },
    "warpcheck-mutants-1": {
        "": {"version": TEXT, "exit_code": COUNT},
        "mutants": {"id": TEXT, "operator": TEXT, "file": TEXT, "expected": TEXT, "outcome": TEXT},
    },
}
MATCHES = {
    TEXT: lambda v: isinstance(v, str),
    COUNT: lambda v: isinstance(v, int) and not isinstance(v, bool),
    NUMBER: lambda v: number(v) is not None,
}


def require(path, where, entry, keys):
    for key, what in keys.items():
        if not MATCHES[what](entry.get(key)):
            raise Malformed(f"{path}: it does not fit its schema: '{key}' of {where} is {entry.get(key)!r}, not {what}")


def of_schema(path, schema):
    content = load(path)
    found = content.get("schema")
    if found != schema:
        raise Malformed(f"{path}: its schema is {found!r}; {schema!r} is allowed")
    for name, keys in SHAPES[schema].items():
        entries = [content] if not name else content.get(name)
        if not isinstance(entries, list) or not all(isinstance(e, dict) for e in entries):
            raise Malformed(f"{path}: it does not fit its schema: '{name}' is not a list of objects")
        for index, entry in enumerate(entries):
            require(path, f"{name}[{index}]" if name else "the file", entry, keys)
    return content


def benchmark(path):
    content = load(path)
    rows = content.get("benchmarks", content.get("rows"))
    if not isinstance(rows, list) or not all(isinstance(e, dict) and isinstance(e.get("name"), str) for e in rows):
        raise Malformed(f"{path}: it is neither what --benchmark_out wrote nor a baseline of bench/baselines")
    for row in rows:
        require(
            path, row["name"], row, {key: NUMBER for key in ("median_us", "GBps", "limit_us", "peer_us") if key in row}
        )
    return content


def history(path):
    if not pathlib.Path(path).is_file():
        raise Malformed(f"{path}: there is no such file")
    try:
        db = sqlite3.connect(f"file:{pathlib.Path(path).resolve()}?mode=ro", uri=True)
        db.row_factory = sqlite3.Row
        version = db.execute("PRAGMA user_version").fetchone()[0]
        if version != HISTORY_VERSION:
            raise Malformed(f"{path}: its schema is {version}; {HISTORY_VERSION} is known")
        orders = {"run": "begun", "row": "rowid", "finding": "rowid", "change": "rowid", "score": "rowid"}
        return {
            table: [dict(row) for row in db.execute(f'SELECT * FROM "{table}" ORDER BY {order}')]
            for table, order in orders.items()
        }
    except sqlite3.DatabaseError as error:
        raise Malformed(f"{path}: it is not a history of nights: {error}") from error


def read(options):
    return Read(
        [of_schema(p, "warpcheck-verify-1") for p in options.verify],
        [of_schema(p, "warpcheck-fuzz-1") for p in options.fuzz],
        [benchmark(p) for p in options.bench],
        [of_schema(p, "warpcheck-mutants-1") for p in options.mutants],
        history(options.history) if options.history else None,
    )
