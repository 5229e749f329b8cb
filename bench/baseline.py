#!/usr/bin/env python3
r"""Makes a baseline of bench/baselines/ from what a benchmark of rows wrote, or the tables of baselines.

    softmax_bench --peer-times torch.json --benchmark_out=softmax.json --benchmark_out_format=json
    softmax_bench --peer libwarpcheck_peer_cudnn.so --benchmark_filter=x256 --benchmark_out=cudnn.json ...
    bench/baseline.py make softmax.json cudnn.json --earlier bench/baselines/nvidia_h200/softmax.json \
        --driver 580.159.04 --out new.json
    bench/baseline.py update bench/baselines/nvidia_h200/softmax.json some_rows.json --driver 580.159.04
    bench/baseline.py table new.json
    bench/baseline.py page bench/baselines/nvidia_h200

Rows are those of the first file. Of further files, of the same operator, only peers count, each with its ratio to ours
in that run. A peer that no file has is taken from the earlier baseline and marked: of another run, perhaps of another
GPU. Rows of --later, an output of the benchmark at a commit that changed only these, replace those of the same name,
and keep their commit.

`update` puts the rows of outputs of one later run into a baseline, in place of those of the same name or behind the
others (--order: in the order of --benchmark_list_tests). They keep their commit, unless no row of another run is left.
"""
import argparse
import json
import os
import re
import sys


def load(path):
    try:
        with open(path) as file:
            return json.load(file)
    except (OSError, ValueError) as error:
        sys.exit(f"baseline: {path}: {error}")


def rows_of(path):
    """Name -> counters of each row of a benchmark's output, and its context."""
    output = load(path)
    if "benchmarks" not in output:
        sys.exit(f"baseline: {path} is not what --benchmark_out wrote")
    rows = {}
    for entry in output["benchmarks"]:
        if entry.get("error_occurred"):
            sys.exit(f"baseline: {path}: {entry['name']} failed: {entry.get('error_message')}")
        rows[re.sub(r"/iterations:.*", "", entry["name"])] = entry
    return rows, output["context"]


def peers_of(entry):
    """Peer -> its time, and for the fastest also ours over its and the 95 % interval."""
    peers = {}
    for name, us in entry.items():
        if name.startswith("us of "):
            peers[name[len("us of "):]] = {"us": round(us, 2)}
    if "peer_us" in entry:
        fastest = entry["label"].split(" peer:")[1]
        peers[fastest]["ratio"] = [round(entry[key], 4) for key in ("ratio_to_peer", "ratio_low", "ratio_high")]
    return peers


def measured(entry):
    """A row's rate, by the bytes that it moves, its operations or the steps of a sequence; its limit, and what it has
    of its own."""
    made = {}
    for key, digits in (("us_per_step", 3), ("tflops", 1), ("GBps", 1)):
        if key in entry:
            made = {key: round(entry[key], digits)}
            break
    made |= {key: round(entry[key], digits) for key, digits in (("limit_us", 2), ("fraction_of_limit", 4))
             if key in entry}
    made |= {of + "_interval": [round(entry[of + end], 4) for end in ("_low", "_high")]
             for of in ("median", "fraction") if of + "_low" in entry}
    return made | {key: round(entry[key], 4) for key in OWN if key in entry}


def baseline_row(name, entry, further, earlier):
    """A row: `further` are outputs of which only peers count, `earlier` is the row of the earlier baseline."""
    peers = peers_of(entry)
    for others in further:
        peers.update(peers_of(others[name]) if name in others else {})
    for peer, times in peers_in(earlier).items():
        peers.setdefault(peer, {"us": times["us"], "earlier": True})
    return {
        "name": name,
        "variant": entry.get("label", "").split(" peer:")[0],
        "median_us": round(entry["median_us"], 2),
    } | measured(entry) | {"peers": dict(sorted(peers.items()))}


def head_of(context, driver):
    """Of what run a baseline is."""
    return {key: context[key] for key in ("gpu", "commit", "launch_us") if key in context} | \
        {"driver": driver, "date": context["date"][:10]}


def write_baseline(path, head, rows):
    lines = ",\n".join("  " + json.dumps(row) for row in rows)
    with open(path, "w") as file:
        file.write(json.dumps(head)[:-1] + ', "rows": [\n' + lines + "\n]}\n")


def make(options):
    rows, context = rows_of(options.files[0])
    further = [rows_of(path)[0] for path in options.files[1:]]
    later, later_context = rows_of(options.later) if options.later else ({}, {})
    earlier = {row["name"]: row for row in load(options.earlier)["rows"]} if options.earlier else {}
    made = []
    for name in rows:
        row = baseline_row(name, later.get(name, rows[name]), further if name not in later else [],
                           earlier.get(name, {}))
        made.append(row | ({"commit": later_context["commit"]} if name in later else {}))
    write_baseline(options.out, head_of(context, options.driver), made)


def listed_names(path):
    with open(path) as file:
        return [re.sub(r"/iterations:.*", "", line.strip()) for line in file if line.strip()]


def update(options):
    baseline = load(options.baseline)
    rows = {row["name"]: row for row in baseline.pop("rows")}
    outputs = [rows_of(path) for path in options.files]
    commits = {context["commit"] for _, context in outputs}
    if len(commits) > 1:
        sys.exit(f"baseline: outputs of one run have one commit, these have {', '.join(sorted(commits))}")
    new = {name: baseline_row(name, entry, [], rows.get(name, {}))
           for of_output, _ in outputs for name, entry in of_output.items()}
    head = head_of(outputs[0][1], options.driver)
    if not rows.keys() <= new.keys():
        new = {name: row | {"commit": head["commit"]} for name, row in new.items()}
        head = baseline
    rows |= new
    order = {name: place for place, name in enumerate(listed_names(options.order))} if options.order else {}
    write_baseline(options.baseline, head, sorted(rows.values(), key=lambda row: order.get(row["name"], len(order))))


# How peers that are candidate libraries write their names.
SPELLED = {"cublas": "cuBLAS", "cublas_bf16x9": "cuBLAS BF16x9", "cutlass": "CUTLASS", "cudnn": "cuDNN", "cub": "CUB"}


COLUMNS = {"GBps": ("GB/s", ".0f"), "GB/s": ("GB/s", ".1f"), "median_us": ("us", ".1f"), "read_us": ("read us", ".1f"),
           "updates_us": ("updates us", ".1f"), "updates_per_s": ("updates/s", ".3g"),
           "scale_us": ("scale us", ".1f"), "tables_us": ("tables us", ".1f"), "of_target": ("us / target", ".2f")}
# What operators have beside a limit that all have.
OWN = ("updates_us", "scale_us", "tables_us", "of_target")


def peers_in(row):
    """Peer -> its times, of a row with peers or, as of operators that have one peer, of a row with one."""
    if "peer" in row:
        return {row["peer"]: {"us": row["peer_us"], "ratio": row["ratio_to_peer"]}}
    return row.get("peers", {})


def compares(row, peer):
    """Whether a peer computes what the row does. Of these names are cuBLAS' products in each precision, which stand
    beside every row of an older baseline: cuBLAS f32 has that of f32 in parts, cuBLAS bf16 of 16 bits."""
    if not peer.startswith(("cuBLAS ", "CUTLASS ")):
        return True
    return "tf32" not in peer and ("bf16" in peer) == (row["name"].split("/")[1] in ("f16", "bf16"))


def compared_peers(row):
    """(name, times) of each peer of the row's precision that was timed in its run, the fastest first; of equally fast
    ones, within a thousandth, the one whose ratio has an interval."""
    peers = [p for p in peers_in(row).items() if "earlier" not in p[1] and compares(row, p[0])]
    most = max((peer_ratio(row, peer) for peer in peers), default=0)

    def rank(peer):
        ratio = peer_ratio(row, peer)
        return "ratio" in peer[1] and ratio > most - 1e-3, ratio

    return sorted(peers, key=rank, reverse=True)


def peer_ratio(row, peer):
    return peer[1].get("ratio", [row["median_us"] / peer[1]["us"]])[0]


def peer_cells(row):
    """The row's best peer of its precision, its time, ours over it, and the others. Earlier runs do not compare."""
    peers, now = peers_in(row), compared_peers(row)
    best = ["-", "-", "-"]
    if now:
        name, times = now[0]
        interval = "" if "ratio" not in times else " ({1:.3f}-{2:.3f})".format(*times["ratio"])
        best = [SPELLED.get(name, name), f"{times['us']:.1f}", f"{peer_ratio(row, now[0]):.3f}{interval}"]
    rest = now[1:] + [p for p in peers.items() if "earlier" not in p[1] and not compares(row, p[0])]
    others = [f"{SPELLED.get(name, name)} {times['us']:.1f}" for name, times in rest]
    others += [f"{SPELLED.get(name, name)} {times['us']:.1f}*" for name, times in peers.items() if "earlier" in times]
    return best + [", ".join(others) or "-"]


def own_cells(columns, row):
    return [format(row[key], COLUMNS[key][1]) if key in row else "-" for key in columns]


def limited_row(operator, own, row):
    """A row that has a limit of its own run and peers."""
    commit = f" ({row['commit']})" if "commit" in row else ""
    rate = f"{row['us_per_step']:.3f}" if "us_per_step" in row else \
        f"{row['tflops']:.1f}" if "tflops" in row else f"{row['GBps']:.0f}"
    fraction = f"{row['fraction_of_limit']:.3f}" if "fraction_of_limit" in row else "-"
    return [row["name"].split("/", 1)[1] + commit, row["variant"].removeprefix(operator + "_") or "-",
            f"{row['median_us']:.1f}", rate, fraction] + own_cells(own, row) + peer_cells(row)


def own_row(columns, row):
    """A row of a benchmark with columns of its own."""
    cells = [row["name"].split("/", 1)[1]] + ([row["variant"]] if "variant" in row else [])
    return cells + own_cells(columns, row)


def table_lines(baseline):
    operator = baseline["rows"][0]["name"].split("/")[0]
    first = baseline["rows"][0]
    if "fraction_of_limit" in first or "us_per_step" in first:
        rate = "us a step" if "us_per_step" in first else "TFLOP/s" if "tflops" in first else "GB/s"
        own = [key for key in OWN if any(key in row for row in baseline["rows"])]
        head = ["row", "variant", "us", rate, "fraction"] + [COLUMNS[key][0] for key in own] + \
            ["best peer", "peer us", "us / peer us (95 %)", "other peers, us"]
        rows = [limited_row(operator, own, row) for row in baseline["rows"]]
    else:
        columns = [key for key in COLUMNS if any(key in row for row in baseline["rows"])]
        variant = ["variant"] if "variant" in baseline["rows"][0] else []
        head = ["row"] + variant + [COLUMNS[key][0] for key in columns]
        rows = [own_row(columns, row) for row in baseline["rows"]]
    body = ["| " + " | ".join(cells) + " |" for cells in [head] + rows]
    return [f"### {operator}", "", body[0], "|" + "---|" * len(head)] + body[1:]


def slower_lines(baselines):
    """A table of the rows that are slower than their best peer: the 95 % interval of the ratio lies above 1."""
    lines = ["## Rows slower than the best peer", "", "The 95 % interval of the ratio lies above 1.", "",
             "| row | us | best peer | peer us | us / peer us (95 %) |", "|---|---|---|---|---|"]
    for row in (row for baseline in baselines for row in baseline["rows"]):
        now = compared_peers(row)
        if now and now[0][1].get("ratio", [0, 0])[1] > 1:
            lines.append("| " + " | ".join([row["name"], f"{row['median_us']:.1f}", *peer_cells(row)[:3]]) + " |")
    return lines


def reached(row, of, bar):
    """What a row reaches of a bar, with its 95 % interval: of the rate of its best peer or its limit, or of `bar` us,
    by the whole call or by the C++ function, which gets scale and tables. None where its run did not tell."""
    interval = row.get("fraction_interval" if of == "limit" else "median_interval")
    if of == "peer":
        ratio = next((times.get("ratio") for _, times in compared_peers(row)), None)
        return ratio and [1 / ratio[0], 1 / ratio[2], 1 / ratio[1]]
    if of == "limit" or not interval:
        return interval and [row["fraction_of_limit"], *interval]
    beside = sum(row.get(key, 0) for key in ("scale_us", "tables_us")) if of == "function" else 0
    return [bar / (us - beside) for us in (row["median_us"], *reversed(interval))]


def bar_lines(baselines, path):
    """A table of what rows reach of the bars in a file, whose lines are: row, what the bar is of, the bar."""
    rows = {row["name"]: {"commit": baseline["commit"]} | row for baseline in baselines for row in baseline["rows"]}
    with open(path) as file:
        bars = [line.split() for line in file if not line.startswith("#")]
    lines = ["## Rows with a bar", "",
             "`reached` is the time of the best peer or of the limit (column `of`) over our time, with the 95 %",
            "interval. If `of` is `call` or `function`, the bar is a time, and `reached` is the bar over our time:",
            "`call` stands for the time of a whole call, `function` for that of the C++ function alone, which gets",
            "scale and tables from its caller. A row is `short` if the interval lies below the bar; `profiles.md`",
            "states its floor and what limits it.", "",
            "| row | us | of | bar | reached (95 %) | | commit |", "|---|---|---|---|---|---|---|"]
    for name, of, bar in bars:
        row = rows.get(name)
        now = reached(row, of, float(bar)) if row else None
        least, unit = (1, " us") if of in ("call", "function") else (float(bar), "")
        cells = ["{:.3f} ({:.3f}-{:.3f})".format(*now), "short" if now[2] < least else "holds"] if now else ["-", "-"]
        lines.append("| " + " | ".join([
            name, f"{row['median_us']:.1f}" if row else "-", peer_cells(row)[0] if now and of == "peer" else of,
            bar + unit, *cells, row["commit"] if row else "-"]) + " |")
    return lines + [""]


def table(options):
    for path in options.files:
        print("\n" + "\n".join(table_lines(load(path))))


PAGE = """# Measured on one {gpu}

`bench/baseline.py page` made this page from the files beside it. `bench/README.md` describes how a row is measured, and
its limit. `fraction` is the time of the limit over our time; of products in f32, our rate over that of FMAs from
registers. `us / peer us` is our time over that of the best peer: below 1 ours is faster. The best peer is the fastest
one, of products the fastest of the same precision. Peers took turns with ours in one run, except PyTorch (`torch`) and
peers marked `*`. These were timed in another run, so differences of 1 % mean nothing.
"""


def page_text(folder):
    files = sorted(name for name in os.listdir(folder) if name.endswith(".json"))
    if not files:
        sys.exit(f"baseline: {folder} holds no baseline")
    baselines = [load(os.path.join(folder, name)) for name in files]
    bars = os.path.join(folder, "bars")
    lines = (bar_lines(baselines, bars) if os.path.exists(bars) else []) + slower_lines(baselines)
    text = PAGE.format(gpu=baselines[0]["gpu"].split(",")[0]) + "\n" + "\n".join(lines) + "\n"
    for baseline in baselines:
        lines = table_lines(baseline)
        lines.insert(2, f"Driver {baseline['driver']}, {baseline['date']}, commit {baseline['commit']}.\n")
        text += "\n" + "\n".join(lines).replace("### ", "## ", 1) + "\n"
    return text


def page(options):
    path = os.path.join(options.folder, "README.md")
    text = page_text(options.folder)
    if options.check:
        with open(path) as file:
            if file.read() != text:
                sys.exit(f"baseline: {path} is not what its files say; "
                         f"bench/baseline.py page {options.folder} writes it")
        return
    with open(path, "w") as file:
        file.write(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    making = commands.add_parser("make", help="a baseline from outputs of one benchmark")
    making.add_argument("files", nargs="+", help="what --benchmark_out wrote; rows are those of the first")
    making.add_argument("--earlier", help="the baseline whose peers stand in where no file has them")
    making.add_argument("--later", help="what --benchmark_out wrote at a later commit, of rows that it changed")
    making.add_argument("--driver", required=True, help="the version of the GPU's driver, as nvidia-smi prints it")
    making.add_argument("--out", required=True, help="the baseline to write")
    making.set_defaults(run=make)
    updating = commands.add_parser("update", help="rows of a later run in place of a baseline's")
    updating.add_argument("baseline", help="the baseline to change")
    updating.add_argument("files", nargs="+", help="what --benchmark_out wrote, in one run")
    updating.add_argument("--driver", required=True, help="the version of the GPU's driver, as nvidia-smi prints it")
    updating.add_argument("--order", help="what --benchmark_list_tests prints, for the order of rows")
    updating.set_defaults(run=update)
    showing = commands.add_parser("table", help="tables of baselines, in Markdown")
    showing.add_argument("files", nargs="+", help="baselines")
    showing.set_defaults(run=table)
    paging = commands.add_parser("page", help="all tables of a folder of baselines, as its README.md")
    paging.add_argument("folder", help="bench/baselines/<gpu>")
    paging.add_argument("--check", action="store_true",
                        help="write nothing; exit 1 where the page is not what the files say")
    paging.set_defaults(run=page)
    options = parser.parse_args()
    options.run(options)


if __name__ == "__main__":
    main()
