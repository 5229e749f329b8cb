"""Change points of the history, by Apache Otava in an environment of its own (its numpy is not that of the tests)."""

import json
import pathlib
import subprocess
import sys

MOST_NIGHTS = 400
LEAST_NIGHTS = 8  # of fewer, nothing is significant
LEAST_CHANGE = 0.05


def series_of(history):
    """name -> [(run, value)] in the order of nights."""
    series = {}
    for r in history.all("SELECT * FROM run WHERE kind = 'night' ORDER BY begun"):
        for name in ("seconds", "cases_per_second"):
            series.setdefault(name, []).append((r["id"], r[name]))
    for r in history.all("SELECT row.*, run.begun FROM row JOIN run ON run.id = row.run ORDER BY run.begun"):
        value = r["max_error_ratio"] if r["kind"] == "property" else r["value"]
        if value is not None:
            series.setdefault(f"{r['kind']} {r['name']} {r['device']}", []).append((r["run"], value))
    return {name: points[-MOST_NIGHTS:] for name, points in series.items() if len(points) >= LEAST_NIGHTS}


def change_points(history, python):
    """Rows of table `change`; raises OSError or CalledProcessError where Otava cannot be run."""
    series = series_of(history)
    if not series:
        return []
    said = subprocess.run(
        [python, __file__], input=json.dumps(series), capture_output=True, text=True, check=True
    ).stdout
    return json.loads(said)


def main():
    from otava.series import AnalysisOptions, Metric, Series  # only this process has it

    options = AnalysisOptions()
    options.min_magnitude = LEAST_CHANGE
    found = []
    for name, points in json.load(sys.stdin).items():
        values = [value for _, value in points]
        one = Series(name, None, list(range(len(values))), {"value": Metric()}, {"value": values}, {})
        for change in one.analyze(options).change_points["value"]:
            found.append(
                {
                    "series": name,
                    "run": points[change.index][0],
                    "before": float(change.mean_before()),
                    "after": float(change.mean_after()),
                    "p": float(change.pvalue()),
                }
            )
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    sys.path.remove(str(pathlib.Path(__file__).parent))
    main()
