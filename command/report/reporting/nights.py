"""The history of the nightly, as the page shows it."""

MOST_NIGHTS = 60
MOST_SERIES = 12


def _value(row):
    return row["max_error_ratio"] if row["kind"] == "property" else row["value"]


def _points(history, name):
    """[(night, value)] of a series of table `change` (ci/nights/changes.py names them), and its unit."""
    nights = {run["id"]: run for run in history["run"] if run["kind"] == "night"}
    if name in ("seconds", "cases_per_second"):
        return [(i, run[name]) for i, run in nights.items() if run[name] is not None], name.replace("_per_", "/")
    rows = [r for r in history["row"] if f"{r['kind']} {r['name']} {r['device']}" == name and r["run"] in nights]
    order = list(nights)
    rows.sort(key=lambda r: order.index(r["run"]))
    unit = "error / bound" if name.startswith("property") else next((r["unit"] for r in rows if r["unit"]), "")
    return [(r["run"], _value(r)) for r in rows if _value(r) is not None], unit


def changed_series(history):
    """The series with a change point: (name, unit, points, night -> (before, after))."""
    changes = {}
    for change in history["change"]:
        changes.setdefault(change["series"], {})[change["run"]] = (change["before"], change["after"])
    found = []
    for name, at in changes.items():
        points, unit = _points(history, name)
        found.append((name, unit, points[-400:], at))
    return found[:MOST_SERIES], found[MOST_SERIES:]


def since(history):
    """Words on how long the nights have been green: None where there is none."""
    runs = history["run"]
    if not runs:
        return None
    if runs[-1]["status"] != "green":
        missed = runs[-1]["kind"] == "missed"
        return f"the night of {runs[-1]['begun'][:10]} {'did not run' if missed else 'was red'}"
    first = runs[-1]
    for run in reversed(runs):
        if run["status"] != "green":
            break
        first = run
    return f"every night since {first['begun'][:10]} was green"


def findings(history):
    """Each finding with the nights that saw it first and its replay line."""
    begun = {run["id"]: run["begun"][:10] for run in history["run"]}
    return [{**f, "first": begun.get(f["first_run"], f["first_run"])} for f in history["finding"]]


def false_alarms(history):
    """A/A rows: how many of them, and how many lie further than 5 % from 1, where both sides were the same program."""
    rows = [r for r in history["row"] if r["kind"] == "a/a" and r["value"] is not None]
    return len(rows), sum(abs(r["value"] - 1) > 0.05 for r in rows)
