"""The plots of the page. Colour alone carries no information: marks differ in shape, and rows are named."""

import math
import pathlib

from .inputs import number
from .svg import ACCENT, BAD, INK, LINE, MUTED, PAPER, alone, figure, inline, leave_room_above

WIDTH = 9.6
PEER_MARKS = "s^DvP<>X"


def _positions(bins, edges):
    """(position, count) of the bins of one histogram, by the list of all edges."""
    return [(edges.index(number(edge)), count) for edge, count in bins]


SHARE_EDGES = [i / 20 for i in range(21)] + [math.inf]
ULP_EDGES = [0.0] + [2.0**e for e in range(-8, 11)] + [math.inf]


def _edge_text(edge):
    if math.isinf(edge):
        return "more"
    return f"1/{round(1 / edge)}" if 0 < edge < 1 else f"{edge:g}"


def _ridges(axes, rows, edges, ticks, label):
    """One row of bars for each variant; heights are logarithmic, so that rare large errors are seen."""
    for y, (_, _, histogram) in enumerate(rows):
        most = max((count for _, count in histogram), default=1)
        for position, count in _positions(histogram, edges):
            height = 0.82 * math.log1p(count) / math.log1p(most)
            last = position == len(edges) - 1
            axes.bar(
                position,
                height,
                0.86,
                bottom=-y,
                color=BAD if last else ACCENT,
                hatch="////" if last else None,
                edgecolor=PAPER if last else ACCENT,
                linewidth=0.4,
            )
        axes.axhline(-y, color=LINE, linewidth=0.6, zorder=0)
    axes.set_xticks([edges.index(t) for t in ticks], [_edge_text(t) for t in ticks])
    axes.set_xlim(-0.8, len(edges) - 0.2)
    axes.set_ylim(-len(rows) + 0.9, 1.0)
    axes.set_xlabel(label)
    axes.tick_params(length=2)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)


def errors(key, subject, rows):
    """rows: (name, elements, ulps, shares), bins as the JSON has them."""
    drawn = figure(WIDTH, 0.75 + 0.3 * len(rows))
    left, right = drawn.subplots(1, 2, sharey=True)
    _ridges(
        left,
        [(n, e, u) for n, e, u, _ in rows],
        ULP_EDGES,
        [0.0, 2.0**-6, 2.0**-3, 1.0, 8.0, 64.0, math.inf],
        "error, ulp (upper edge)",
    )
    _ridges(
        right,
        [(n, e, s) for n, e, _, s in rows],
        SHARE_EDGES,
        [0.0, 0.2, 0.4, 0.6, 0.8, 1.0, math.inf],
        "error / bound",
    )
    right.set_xticks([0, 4, 8, 12, 16, 20, 21], ["0", "0.2", "0.4", "0.6", "0.8", "1", ""])
    right.axvline(20.5, color=INK, linewidth=1, linestyle="--")
    left.set_yticks([-y + 0.3 for y in range(len(rows))], [name for name, *_ in rows])
    beyond = sum(count for *_, shares in rows for edge, count in shares if number(edge) == math.inf)
    description = (
        f"Two histograms for each of {len(rows)} kinds of calls of {subject}: errors in ulp, and errors as shares of "
        f"the bound. Heights are logarithmic. {beyond:,} elements lie beyond their bound"
        + (", in the hatched bars right of the dashed line." if beyond else ".")
    )
    return inline(drawn, key, f"Errors of {subject}", description)


def _row_axes(count, label):
    drawn = figure(WIDTH, 0.95 + 0.19 * count)
    axes = drawn.subplots()
    axes.set_ylim(-count + 0.4, 0.6)
    axes.set_xlabel(label)
    axes.grid(axis="x", linewidth=0.5)
    axes.grid(axis="y", linewidth=0.3)
    axes.set_axisbelow(True)
    axes.tick_params(length=2)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    return drawn, axes


def _legend(drawn, used):
    """Above the axes: ours first, then the limits, then the others."""
    names = sorted(used, key=lambda n: (n != "warpcheck", not n.startswith("limit"), n))
    legend = drawn.legend([used[n] for n in names], names, loc="upper center", ncols=6, handlelength=1.2)
    leave_room_above(drawn, legend)


def _peer_marks(rows):
    names = sorted({name for row in rows for name in row["peers"]})
    return {name: PEER_MARKS[i % len(PEER_MARKS)] for i, name in enumerate(names)}


def roofline(key, operator, rows, gpu):
    """Achieved, limit and peers of each row: in GB/s or TFLOP/s where those are known, else in microseconds."""
    rates = {"gbps": "GB/s, more is better", "tflops": "TFLOP/s, more is better"}
    rate = next((key for key in rates if all(row[key] for row in rows)), None)
    drawn, axes = _row_axes(len(rows), rates[rate] if rate else "us a call, less is better")
    scale = (lambda row, us: row[rate] * row["us"] / us) if rate else (lambda row, us: us)
    marks, used = _peer_marks(rows), {}
    for y, row in enumerate(rows):
        for (name, us), style in zip(row["limits"], ("-", ":", "--")):
            at = scale(row, us)
            used[f"limit: {name}"] = axes.plot(
                [at, at], [-y - 0.38, -y + 0.38], color=INK, linewidth=2, linestyle=style
            )[0]
        for name, peer in row["peers"].items():
            used[name] = axes.plot(
                scale(row, peer["us"]), -y, marks[name], color=MUTED, markerfacecolor="none", markersize=5
            )[0]
        used["warpcheck"] = axes.plot(scale(row, row["us"]), -y, "o", color=ACCENT, markersize=6)[0]
    axes.set_yticks([-y for y in range(len(rows))], [row["name"] for row in rows])
    if not rate:
        axes.set_xscale("log")
    elif axes.get_xlim()[0] > 0:
        axes.set_xlim(left=0)
    _legend(drawn, used)
    description = (
        f"For each of {len(rows)} calls on {gpu}: what {operator} reaches (filled circle), the limit measured in the "
        "same run (bar), and each peer (open marks)."
    )
    return inline(drawn, key, f"{operator}: achieved speed, limit and peers", description)


def ratios(key, operator, rows, gpu):
    """Our time over each peer's, with the interval where it was measured in turn."""
    rows = [row for row in rows if row["peers"]]
    drawn, axes = _row_axes(len(rows), "our time / the peer's: left of 1 ours is faster")
    marks, used = _peer_marks(rows), {}
    for y, row in enumerate(rows):
        for name, peer in row["peers"].items():
            ratio = peer["ratio"] or row["us"] / peer["us"]
            if peer["low"]:
                axes.plot([peer["low"], peer["high"]], [-y, -y], color=INK, linewidth=1.5)
            used[name] = axes.plot(
                ratio,
                -y,
                marks[name],
                color=ACCENT if peer["low"] else MUTED,
                markerfacecolor=ACCENT if peer["low"] else "none",
                markersize=5,
            )[0]
    axes.axvline(1, color=INK, linewidth=1, linestyle="--")
    axes.set_yticks([-y for y in range(len(rows))], [row["name"] for row in rows])
    axes.set_xscale("log")
    low, high = axes.get_xlim()
    ticks = [t for t in (0.001, 0.01, 0.03, 0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 5, 10) if low <= t <= high]
    axes.set_xticks(ticks, [f"{t:g}" for t in ticks])
    axes.minorticks_off()
    _legend(drawn, used)
    slower = sum((p["ratio"] or row["us"] / p["us"]) > 1 for row in rows for p in row["peers"].values())
    count = sum(len(row["peers"]) for row in rows)
    description = (
        f"For each of {len(rows)} calls on {gpu} the ratio of our time to each peer's; filled marks with a bar have a "
        f"95 % interval. {slower} of {count} ratios lie above 1."
    )
    return inline(drawn, key, f"{operator}: time against peers", description)


def mutants(key, rows):
    """rows: (subject, ours, coarse, fine), percent or None."""
    drawn, axes = _row_axes(len(rows), "planted bugs that are found, percent")
    used = {}
    for y, (_, ours, coarse, fine) in enumerate(rows):
        for name, value, mark, colour in (
            ("warpcheck", ours, "o", ACCENT),
            ("allclose 1e-4", fine, "^", MUTED),
            ("allclose 1e-2", coarse, "s", MUTED),
        ):
            if value is not None:
                used[name] = axes.plot(
                    value, -y, mark, color=colour, markerfacecolor=colour if mark == "o" else "none", markersize=6
                )[0]
    axes.set_yticks([-y for y in range(len(rows))], [name for name, *_ in rows])
    axes.set_xlim(-3, 103)
    _legend(drawn, used)
    description = (
        "For each subject the share of planted bugs that warpcheck finds (filled circle), beside what allclose on "
        "normal random data finds with tolerances 1e-4 (triangle) and 1e-2 (square)."
    )
    return inline(drawn, key, "Planted bugs found", description)


NIGHT_MARKS = {
    "green": ("o", ACCENT, "green night"),
    "red": ("X", BAD, "red night"),
    "missed": ("v", MUTED, "missed night"),
}


def nights(key, runs):
    """Cases of each night; a night that did not run stands on the axis."""
    drawn = figure(WIDTH, 2.4)
    axes = drawn.subplots()
    used = {}
    for x, run in enumerate(runs):
        kind = "missed" if run["kind"] == "missed" else run["status"]
        mark, colour, name = NIGHT_MARKS[kind]
        used[name] = axes.plot(
            x,
            run["cases"] or 0,
            mark,
            color=colour,
            markersize=6,
            markerfacecolor="none" if kind == "missed" else colour,
        )[0]
    step = max(1, -(-len(runs) // 8))
    axes.set_xticks(range(0, len(runs), step), [runs[i]["begun"][:10] for i in range(0, len(runs), step)])
    axes.set_ylim(bottom=-0.06 * max([1] + [run["cases"] or 0 for run in runs]))
    axes.set_ylabel("cases")
    axes.grid(axis="y", linewidth=0.5)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    _legend(drawn, used)
    missed = sum(run["kind"] == "missed" for run in runs)
    red = sum(run["status"] == "red" for run in runs) - missed
    return inline(drawn, key, "Nights", f"Cases of {len(runs)} nights: {red} ran and were red, {missed} did not run.")


def series(key, name, unit, points, changes):
    """points: (night, value) in order; changes: night -> (before, after)."""
    drawn = figure(WIDTH, 1.7)
    axes = drawn.subplots()
    axes.plot(range(len(points)), [value for _, value in points], "-", color=ACCENT, marker=".", linewidth=1)
    for x, (night, _) in enumerate(points):
        if night in changes:
            before, after = changes[night]
            axes.axvline(x - 0.5, color=INK, linestyle="--", linewidth=1)
            axes.annotate(f"{before:.4g} to {after:.4g}", (x - 0.5, 1), xycoords=("data", "axes fraction"), va="bottom")
    axes.set_xticks([])
    axes.set_xlabel(f"{len(points)} nights, oldest first")
    axes.set_ylabel(unit)
    axes.grid(axis="y", linewidth=0.5)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    steps = "; ".join(f"from {before:.4g} to {after:.4g} at {night}" for night, (before, after) in changes.items())
    return inline(drawn, key, f"{name} over {len(points)} nights", f"It changed {steps}.")


def _finite(columns, values):
    pairs = [(c, v) for c, v in zip(columns, values) if math.isfinite(v)]
    return [c for c, _ in pairs], [v for _, v in pairs]


def row(key, data):
    """A row of `row_json` (command/report/failure_json.hpp): values above, errors against their bounds below."""
    named = {name: [number(v) for v in data[name]] for name in ("input", "exact", "bound", "actual")}
    columns = range(data["first"], data["first"] + len(named["exact"]))
    errors_of = [abs(a - e) if a != e else 0.0 for a, e in zip(named["actual"], named["exact"])]
    outside = [
        not (math.isnan(e) and math.isnan(a) or error <= b)
        for a, e, b, error in zip(named["actual"], named["exact"], named["bound"], errors_of)
    ]
    drawn = figure(WIDTH, 4.2)
    upper, lower = drawn.subplots(2, 1, sharex=True)
    used = {"exact": upper.plot(*_finite(columns, named["exact"]), "-", color=MUTED, linewidth=1.2, marker="_")[0]}
    if named["input"]:
        used["input"] = upper.plot(*_finite(columns, named["input"]), ":", color=MUTED, linewidth=1)[0]
    for inside, name, mark, colour in ((True, "kernel", "o", ACCENT), (False, "kernel, outside its bound", "X", BAD)):
        chosen = [(c, a) for c, a, o in zip(columns, named["actual"], outside) if o != inside]
        for c in [c for c, a in chosen if not math.isfinite(a)]:
            used[name] = upper.plot(c, 0.03, mark, color=colour, markersize=5, transform=upper.get_xaxis_transform())[0]
            (
                upper.annotate("not finite", (c, 0.06), xycoords=upper.get_xaxis_transform(), fontsize=8)
                if c == data["element"]
                else None
            )
        xs, ys = _finite([c for c, _ in chosen], [a for _, a in chosen])
        if xs:
            used[name] = upper.plot(xs, ys, mark, color=colour, markersize=4, linestyle="none")[0]
    upper.set_ylabel("value")
    positive = [v for v in named["bound"] + errors_of if v and math.isfinite(v)]
    if any(named["bound"]):
        used["bound"] = lower.plot(
            columns, named["bound"], "-", color=INK, linewidth=1.2, drawstyle="steps-mid", marker="_"
        )[0]
    for c, error, o in zip(columns, errors_of, outside):
        if math.isfinite(error) and error > 0:
            lower.plot(c, error, "X" if o else "o", color=BAD if o else ACCENT, markersize=5 if o else 3)
    if positive:
        lower.set_yscale("log")
    lower.xaxis.get_major_locator().set_params(integer=True)
    lower.set_ylabel("error, bound")
    lower.set_xlabel(f"element of {data['output']}, row {data['row']}")
    for axes in (upper, lower):
        axes.axvline(data["element"], color=LINE, linewidth=4, zorder=0)
        axes.grid(axis="y", linewidth=0.5)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
    _legend(drawn, used)
    summary = (
        f"{sum(outside)} of {len(outside)} elements lie outside their bound" if outside else "the kernel gave no result"
    )
    return inline(
        drawn,
        key,
        f"Row {data['row']} of {data['output']}",
        f"Values of the kernel beside the exact ones, and their errors beside the bounds; {summary}. The explained "
        f"element, {data['element']}, is marked.",
    )


def row_file(data):
    """The row of `warpcheck explain --plot` as the text of a file."""
    style = pathlib.Path(__file__).parent / "templates" / "page.css"
    return alone(row("row", data), style.read_text(encoding="utf-8"))
