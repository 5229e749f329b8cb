"""The page: what the files say, in one HTML text without a link to anywhere."""

import base64
import hashlib
import pathlib

import jinja2

from . import bugs, nights, speed, verdicts

Undefined = jinja2.UndefinedError
TEMPLATES = pathlib.Path(__file__).parent / "templates"
MOST_BYTES = 5_000_000
MOST_ROWS = 40  # counterexamples that are drawn
MOST_FURTHER = 40  # lines of further failures with the cause of one that is described
VERSION_KEY = "version"


def _hash(text):
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _count(value, one, many=None):
    return f"{value:,} {one if value == 1 else many or one + 's'}"


def _unique(values):
    return list(dict.fromkeys(v for v in values if v))


def _and(words):
    words = list(words)
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1] if words else ""


def _what_was_judged(read):
    runs = read.verify
    operators = _unique(j["operator"] for run in runs for j in run["jobs"])
    candidates = _unique(run["candidate"] for run in runs)
    names = [verdicts.short(c) if c != "builtin" else "the built-in kernels" for c in candidates]
    kernels = _and(names) if "builtin" in candidates else f"candidate{'s' * (len(names) > 1)} {_and(names)}"
    devices = _unique(run["device"] for run in runs)
    named = _and("the emulated device" if d == "emulated" else "a GPU" if d == "cuda" else "the host" for d in devices)
    of = operators[0] if len(operators) == 1 else f"{len(operators)} operators"
    return f"judged {kernels} of {of} on {named}", devices


def sentence(read):
    """The page's first: what was judged, on what, with which verdict, since when."""
    parts = []
    dates = sorted(_unique(run.get("timing", {}).get("begun", "")[:10] for run in read.verify + read.fuzz))
    versions = _unique(run.get(VERSION_KEY) for run in read.verify + read.fuzz + read.mutants)
    begin = (f"On {dates[-1]} " if dates else "") + f"warpcheck {_and(versions)}".strip()
    if read.verify:
        judged, devices = _what_was_judged(read)
        cases = sum(j["cases"] for run in read.verify for j in run["jobs"])
        failures = sum(len(run["failures"]) for run in read.verify)
        causes = len({(run["candidate"], run["device"], f["cause"]) for run in read.verify for f in run["failures"]})
        broken = {
            (j["operator"], j["property"])
            for run in read.verify
            for j in run["jobs"]
            if verdicts.kind(j["verdict"]) == "fail"
        }
        properties = {(j["operator"], j["property"]) for run in read.verify for j in run["jobs"] if j["cases"]}
        said = f"{begin} {judged}: {_count(cases, 'case')} of {_count(len(properties), 'property', 'properties')}, " + (
            f"{_count(failures, 'failure')} in {_count(len(broken), 'property', 'properties')}"
            + (f" with {_count(causes, 'cause')}" if causes < failures else "")
            if failures
            else "no failure"
        )
        unjudged = _unique(op for run in read.verify for op in run.get("nothing_judged", []))
        if unjudged:
            said += f", and nothing was judged of {_and(unjudged)}"
        if not failures and not unjudged and any(run["exit_code"] not in (0, 130) for run in read.verify):
            said += ", but the run did less than it must"
        if any(run.get("interrupted") for run in read.verify):
            said += ", interrupted"
        parts.append(said)
        if "cuda" not in devices:
            parts.append("nothing was run on a GPU")
        if "emulated" not in devices:
            parts.append("nothing was run on the emulated device, so no race was looked for")
    else:
        parts.append(f"{begin} was not asked to verify anything in this report")
    timed = _unique(operator for content in read.bench for operator, rows in speed.rows_of(content).items() if rows)
    if timed:
        machines = _unique(speed.gpu_of(content) for content in read.bench)
        was = "was" if len(timed) == 1 else "were"
        parts.append(f"{_count(len(timed), 'operator')} {was} timed on {_and(machines)}")
    if read.fuzz:
        cases = sum(run["cases"] for run in read.fuzz)
        found = sum(len(run["findings"]) for run in read.fuzz)
        parts.append(
            f"fuzzing tried {_count(cases, 'more case')} and kept "
            + (_count(found, "counterexample") if found else "no counterexample")
            + (", interrupted" if any(run.get("interrupted") for run in read.fuzz) else "")
        )
    rows = bugs.scores(read.mutants)
    if rows:
        cut = ", before the search was interrupted" if any(run.get("interrupted") for run in read.mutants) else ""
        parts.append(f"{rows[-1]['killed']:,} of {_count(rows[-1]['judged'], 'planted bug')} were found{cut}")
    since = nights.since(read.history) if read.history else None
    if since:
        parts.append(since)
    return "; ".join(parts) + "."


def passed(read):
    """Whether nothing in the files is a failure; None where nothing was judged."""
    if not (read.verify or read.fuzz or read.mutants or read.history):
        return None
    codes = [run["exit_code"] for run in read.verify + read.fuzz + read.mutants]
    red = bool(read.history and read.history["run"] and read.history["run"][-1]["status"] != "green")
    return not red and all(code == 0 for code in codes)


def _errors(read, draw):
    """The histograms; of results that are exact throughout a number is enough."""
    drawn = []
    for index, ((operator, device, candidate), rows) in enumerate(sorted(verdicts.histograms(read.verify).items())):
        subject = f"{operator} on {device}" + (f", {verdicts.short(candidate)}" if candidate != "builtin" else "")
        exact = all(edge == 0 for _, _, *both in rows for bins in both for edge, _ in bins)
        svg = "" if exact else draw("errors", f"errors-{index}", subject, rows)
        drawn.append({"subject": subject, "svg": svg, "rows": rows})
    return drawn


def _speed(read, draw):
    drawn, failed = [], []
    for content in read.bench:
        gpu = speed.machine_of(content)
        for operator, rows in speed.rows_of(content).items():
            failed += [f"{operator}/{r['name']}: {r['error']}" for r in rows if r["error"]]
            rows = [r for r in rows if r["us"]]
            if not rows:
                continue
            key = f"speed-{len(drawn)}"
            peers = any(r["peers"] for r in rows)
            drawn.append(
                {
                    "operator": operator,
                    "gpu": gpu,
                    "rows": rows,
                    "roofline": draw("roofline", key, operator, rows, gpu),
                    "ratios": draw("ratios", key + "-peers", operator, rows, gpu) if peers else "",
                }
            )
    return drawn, failed


def _history(read, draw):
    if read.history is None:
        return None
    runs = read.history["run"]
    series, more = nights.changed_series(read.history)
    return {
        "runs": list(reversed(runs[-nights.MOST_NIGHTS :])),
        "all": len(runs),
        "missed": sum(r["kind"] == "missed" for r in runs),
        "plot": draw("nights", "nights", runs[-nights.MOST_NIGHTS :]) if runs else "",
        "series": [{"name": s[0], "svg": draw("series", f"series-{i}", *s)} for i, s in enumerate(series)],
        "more": [s[0] for s in more],
        "changes": read.history["change"],
        "findings": nights.findings(read.history),
        "alarms": nights.false_alarms(read.history),
    }


def render(read, title, draw):
    """The text of the page; `draw` is a drawing.Drawing."""
    rows, devices, absent = verdicts.table(read.verify)
    detailed, others = verdicts.counterexamples(read)
    for one in detailed[:MOST_ROWS]:
        # A result that is a point, or none at all, is described in words.
        if one["row"] and len(one["row"]["actual"]) > 1:
            one["plot"] = draw("row", f"row-{one['id']}", one["row"])
    scores = bugs.scores(read.mutants)
    drawn, failed = _speed(read, draw)
    style, script = ((TEMPLATES / name).read_text(encoding="utf-8") for name in ("page.css", "page.js"))
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters.update(
        plain=verdicts.plain, sign=verdicts.sign, kind=verdicts.kind, short=verdicts.short, count=_count
    )
    values = {
        "title": title,
        "sentence": sentence(read),
        "passed": passed(read),
        "read": read,
        "rows": rows,
        "devices": devices,
        "absent_devices": absent,
        "device_words": verdicts.DEVICES,
        "overview": verdicts.overview(rows, devices),
        "schedules": verdicts.schedules(read.verify),
        "errors": _errors(read, draw),
        "detailed": detailed,
        "hazards": [one for one in detailed if one["hazards"]],
        "meanings": verdicts.MEANINGS,
        "most_further": MOST_FURTHER,
        "scores": scores,
        "scores_plot": (
            draw("mutants", "mutants", [(s["subject"], s["ours"], s["at_coarse"], s["at_fine"]) for s in scores])
            if scores
            else ""
        ),
        "survivors": bugs.survivors(read.mutants),
        "speed": drawn,
        "speed_failed": failed,
        "history": _history(read, draw),
        "style": style,
        "script": script,
        "style_hash": _hash(style),
        "script_hash": _hash(script),
    }
    template = environment.get_template("page.html")
    text = template.render(values, others=others, left_out=0)
    # Lines of further counterexamples go, the last first, until the page has its size; how many is said.
    kept = len(others)
    while len(text.encode()) > MOST_BYTES and kept:
        kept = kept // 2
        text = template.render(values, others=others[:kept], left_out=len(others) - kept)
    return text
