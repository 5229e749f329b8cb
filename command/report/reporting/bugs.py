"""Planted bugs: what was found, beside the usual practice."""


def _percent(part, whole):
    return 100 * part / whole if whole else None


def scores(runs):
    """One row for each subject, and their sum where there are several; mutants that do not count are left out."""
    subjects = {}
    for run in runs:
        for mutant in run["mutants"]:
            if mutant["outcome"] not in ("killed", "survived"):
                continue
            s = subjects.setdefault(
                mutant["operator"], {"killed": 0, "judged": 0, "kernels": 0, "coarse": 0, "fine": 0}
            )
            s["judged"] += 1
            s["killed"] += mutant["outcome"] == "killed"
            # Only of kernels is there a usual practice.
            if mutant.get("kernel", mutant.get("file", "").startswith("kernels/")):
                s["kernels"] += 1
                s["coarse"] += bool(mutant.get("coarse_rejects"))
                s["fine"] += bool(mutant.get("fine_rejects"))
    rows = [{"subject": name, **s} for name, s in sorted(subjects.items())]
    if len(rows) > 1:
        rows.append({"subject": "all", **{key: sum(r[key] for r in rows) for key in rows[0] if key != "subject"}})
    for row in rows:
        row["ours"] = _percent(row["killed"], row["judged"])
        row["at_coarse"] = _percent(row["coarse"], row["kernels"])
        row["at_fine"] = _percent(row["fine"], row["kernels"])
    return rows


def survivors(runs):
    return [m for run in runs for m in run["mutants"] if m["outcome"] == "survived"]
