"""The merge of a night: shards, scores and benchmark rows into the history, findings into files, all into a text."""

import datetime
import os
import shutil

from .history import now, text_of
from .shards import Shard, write_whole


def number(value):
    return float(value) if isinstance(value, str) else value  # "+inf" and "nan" are text in JSON


def counted(count, noun):
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def property_of(case_line):
    return case_line.split()[1].split("/")


def sums(results):
    """(property, device) -> its totals over all shards; finding -> itself, failures added up."""
    rows, findings = {}, {}
    for shard, result in results:
        for p in result["fuzz"]["properties"]:
            row = rows.setdefault(
                (p["property"], shard["device"]),
                {"cases": 0, "skipped": 0, "failures": 0, "compared": 0, "max_error_ratio": 0.0},
            )
            for key in ("cases", "skipped", "failures", "compared"):
                row[key] += p[key]
            row["max_error_ratio"] = max(row["max_error_ratio"], number(p["max_error_ratio"]))
        for f in result["fuzz"]["findings"]:
            known = findings.setdefault(f["name"], f | {"failures": 0})
            known["failures"] += f["failures"]
    return rows, findings


def keep_files(out, night_folder, results, findings):
    """The regression and the issue of each finding that is not kept yet."""
    folder = out / "findings"
    folder.mkdir(parents=True, exist_ok=True)
    for shard, result in results:
        source = night_folder / "shards" / str(shard["id"]) / result["findings"]
        for f in result["fuzz"]["findings"]:
            for suffix in (".md", ".golden"):  # the regression last: where it is, both are
                if f["name"] in findings and not (folder / (f["name"] + suffix)).exists():
                    partial = folder / (f["name"] + suffix + ".partial")
                    shutil.copyfile(source / (f["name"] + suffix), partial)
                    os.replace(partial, folder / (f["name"] + suffix))


def operators_without_a_case(rows):
    """'gru on emulated' for each operator that a night was to try on a device and did not come to."""
    cases = {}
    for (name, device), row in rows.items():
        key = f"{name.split('/')[0]} on {device}"
        cases[key] = cases.get(key, 0) + row["cases"]
    return sorted(key for key, count in cases.items() if count == 0)


def judge(history, plan, results, rows, new, scores, survivors):
    """Why the night is red: a list of sentences."""
    reasons = []
    missing = [str(s["id"]) for s in plan["shards"] if s["id"] not in {shard["id"] for shard, _ in results}]
    if missing:
        reasons.append(f"{len(missing)} of {len(plan['shards'])} shards did not finish ({', '.join(missing)})")
    cases, failures = (sum(row[key] for row in rows.values()) for key in ("cases", "failures"))
    before = history.night_before(plan["begun"])
    if before and before["cases"] and cases * 2 < before["cases"]:
        reasons.append(f"{cases} cases are less than half of the {before['cases']} of the night before")
    if cases == 0:
        reasons.append("no case was judged")
    elif untried := operators_without_a_case(rows):
        reasons.append(f"no case of {', '.join(untried)}: give the night more time, or name fewer operators")
    if failures:
        verb = "is" if len(new) == 1 else "are"
        reasons.append(f"{counted(failures, 'case')} failed, {counted(len(new), 'finding')} {verb} new")
    elif any(result["exit_code"] for _, result in results):
        reasons.append("a known counterexample still fails, or a case was skipped")
    if survivors:
        reasons.append(f"mutants survived or were missed by their killer: {', '.join(survivors)}")
    return reasons


def insert_findings(history, run, findings, new):
    kept = {f["name"] for f in history.all("SELECT name FROM finding")}  # where a later night has seen it, too
    for f in (f for f in new if f["name"] not in kept):
        operator, name = property_of(f["case"])
        history.insert(
            "finding",
            name=f["name"],
            operator=operator,
            property=name,
            verdict=f["verdict"],
            shape_class=f["shape_class"],
            case_line=f["case"],
            message=f["message"],
            first_run=run,
        )
    for f in findings.values():
        history.insert("occurrence", run=run, finding=f["name"], failures=f["failures"])


def merge(history, out, night_folder, plan, scores=(), survivors=(), benchmarks=(), change_points=None):
    """Writes the night into the history, as often as it is called with the same result; returns its row."""
    results = [(s, r) for s in plan["shards"] if (r := Shard(night_folder / "shards" / str(s["id"])).result())]
    rows, findings = sums(results)
    keep_files(out, night_folder, results, findings)
    run, begun = plan["id"], plan["begun"]
    seconds = max((r["fuzz"]["timing"]["seconds"] for _, r in results), default=0.0)
    cases = sum(row["cases"] for row in rows.values())
    with history.transaction():
        history.forget(run)
        before = history.night_before(begun)
        if before and plan.get("every_seconds"):
            history.add_missed(before["begun"], begun, datetime.timedelta(seconds=plan["every_seconds"]))
        known = {f["name"] for f in history.all("SELECT name FROM finding WHERE first_run != ?", run)}
        new = [f for name, f in sorted(findings.items()) if name not in known]
        reasons = judge(history, plan, results, rows, new, scores, survivors)
        history.insert(
            "run",
            id=run,
            kind="night",
            begun=begun,
            ended=text_of(now()),
            machine=plan["machine"],
            version=results[0][1]["fuzz"]["version"] if results else "",
            revision=plan["revision"],
            seed=plan["seed"],
            shards=len(plan["shards"]),
            shards_done=len(results),
            cases=cases,
            seconds=seconds,
            cases_per_second=cases / seconds if seconds else 0.0,
            failures=sum(r["failures"] for r in rows.values()),
            new_findings=len(new),
            status="red" if reasons else "green",
            reason="; ".join(reasons),
        )
        for (name, device), row in sorted(rows.items()):
            history.insert("row", run=run, kind="property", name=name, device=device, **row)
        for row in benchmarks:
            history.insert("row", run=run, **row)
        insert_findings(history, run, findings, new)
        for subject, killed, judged in scores:
            history.insert("score", run=run, subject=subject, killed=killed, judged=judged)
        if change_points:
            for change in change_points(history):
                history.insert("change", **change)
    return history.all("SELECT * FROM run WHERE id = ?", run)[0]


def table(title, head, rows):
    """A section of Markdown with one table; nothing where there is no row."""
    if not rows:
        return []
    lines = ["", f"## {title}", ""] if title else [""]
    line = lambda cells: f"| {' | '.join(str(cell) for cell in cells)} |"
    return [*lines, line(head), f"|{'---|' * len(head)}", *map(line, rows)]


def nights_before(history, run):
    dash = lambda value, form="{}": "-" if value is None else form.format(value)
    for r in history.all("SELECT * FROM run WHERE begun <= ? ORDER BY begun DESC LIMIT 14", run["begun"]):
        mark = "**red**" if r["status"] == "red" else "green"
        rate = dash(r["cases_per_second"], "{:.0f}")
        yield r["id"], mark, dash(r["cases"]), rate, dash(r["failures"]), dash(r["new_findings"]), r["reason"]


def findings_of(history, run):
    found = history.all(
        "SELECT f.*, o.failures, (SELECT count(*) FROM occurrence WHERE finding = f.name) AS nights "
        "FROM finding f JOIN occurrence o ON o.finding = f.name WHERE o.run = ? ORDER BY f.name",
        run["id"],
    )
    for f in found:
        since = "new" if f["first_run"] == run["id"] else f"known since {f['first_run']}"
        yield (
            f"- {f['name']} ({since}): {f['operator']}/{f['property']} {f['verdict']} at {f['shape_class']}, "
            f"{counted(f['failures'], 'case')} this night, {counted(f['nights'], 'night')}; "
            f"text findings/{f['name']}.md\n"
            f"  `warpcheck replay '{f['case_line']}'`"
        )


def properties_of(history, run):
    for r in history.all("SELECT * FROM row WHERE run = ? AND kind = 'property' ORDER BY name, device", run["id"]):
        judged = r["cases"] - r["skipped"]
        chance = f"< {3 / judged:.2g}" if judged > 3 and not r["failures"] else "-"
        ratio = f"{r['max_error_ratio']:.3f}" if judged else "-"
        yield r["name"], r["device"], r["cases"] or "**not run**", r["failures"], ratio, chance


def summary(history, run, notes=()):
    """Markdown for people: the night, the nights before, its findings, its properties, change points."""
    lines = [f"# Night {run['id']}: {run['status']}", ""]
    lines += [f"- {reason}" for reason in run["reason"].split("; ") if reason]
    lines += [
        f"- {run['cases']} cases in {run['seconds']:.0f} s ({run['cases_per_second']:.0f} cases/s) on "
        f"{run['machine']}, seed {run['seed']}, {run['shards_done']} of {run['shards']} shards, "
        f"revision {run['revision'] or 'unknown'}"
    ]
    properties = history.all(
        "SELECT name, sum(cases) AS cases FROM row WHERE run = ? AND kind = 'property' GROUP BY name", run["id"]
    )
    if not_run := sum(p["cases"] == 0 for p in properties):
        lines += [f"- {not_run} of {len(properties)} properties had no case in this time; summary.md names them"]
    lines += [f"- {note}" for note in notes]
    head = ("night", "status", "cases", "cases/s", "failures", "new findings", "why")
    lines += table("", head, list(nights_before(history, run)))
    if found := list(findings_of(history, run)):
        lines += ["", "## Findings", "", *found]
    head = ("property", "device", "cases", "failures", "worst error/bound", "p of failure (95 %)")
    lines += table("Properties", head, list(properties_of(history, run)))
    scores = history.all("SELECT subject, killed, judged FROM score WHERE run = ? ORDER BY subject", run["id"])
    lines += table("Mutants", ("subject", "killed", "judged"), scores)
    timed = history.all("SELECT * FROM row WHERE run = ? AND kind != 'property' ORDER BY kind, name", run["id"])
    rows = [(b["kind"], b["name"], f"{b['value']:.4g}", b["unit"]) for b in timed]
    lines += table("Benchmarks", ("kind", "row", "value", "unit"), rows)
    changes = history.all('SELECT * FROM "change" ORDER BY run DESC, series')
    rows = [(c["series"], c["run"], f"{c['before']:.4g}", f"{c['after']:.4g}", f"{c['p']:.2g}") for c in changes]
    lines += table("Change points", ("series", "since night", "before", "after", "p"), rows)
    return "\n".join(lines) + "\n"


def publish_summary(out, text):
    write_whole(out / "summary.md", text)
    if step := os.environ.get("GITHUB_STEP_SUMMARY"):
        with open(step, "a") as file:
            file.write(text)
