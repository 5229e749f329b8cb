#!/usr/bin/env python3
r"""Makes a baseline of bench/baselines/ from what a benchmark of rows wrote, or the table of a baseline.

    softmax_bench --peer-times torch.json --benchmark_out=softmax.json --benchmark_out_format=json
    softmax_bench --peer libwarpcheck_peer_cudnn.so --benchmark_filter=x256 --benchmark_out=cudnn.json ...
    bench/baseline.py make softmax.json cudnn.json --earlier bench/baselines/nvidia_h200/softmax.json \
        --driver 580.159.04 --out new.json
    bench/baseline.py table new.json

Rows are those of the first file. Of further files, of the same operator, only peers count, each with its ratio to ours in
that run. A peer that no file has is taken from the earlier baseline and marked: of another run, perhaps of another GPU.
Rows of --later, an output of the benchmark at a commit that changed only these, replace those of the same name, and keep
their commit.
"""
import argparse
import json
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


def make(options):
    rows, context = rows_of(options.files[0])
    further = [rows_of(path)[0] for path in options.files[1:]]
    later, later_context = rows_of(options.later) if options.later else ({}, {})
    earlier = {row["name"]: row for row in load(options.earlier)["rows"]} if options.earlier else {}
    made = []
    for name in rows:
        entry = later.get(name, rows[name])
        peers = peers_of(entry)
        for others in further if name not in later else []:
            peers.update(peers_of(others[name]) if name in others else {})
        for peer, times in earlier.get(name, {}).get("peers", {}).items():
            peers.setdefault(peer, {"us": times["us"], "earlier": True})
        made.append({
            "name": name,
            "variant": entry["label"].split(" peer:")[0],
            "median_us": round(entry["median_us"], 2),
            "GBps": round(entry["GBps"], 1),
            "limit_us": round(entry["limit_us"], 2),
            "fraction_of_limit": round(entry["fraction_of_limit"], 4),
            "peers": dict(sorted(peers.items())),
        } | ({"commit": later_context["commit"]} if name in later else {}))
    baseline = {key: context[key] for key in ("gpu", "commit", "launch_us")}
    baseline["driver"] = options.driver
    baseline["date"] = context["date"][:10]
    lines = ",\n".join("  " + json.dumps(row) for row in made)
    text = json.dumps(baseline)[:-1] + ', "rows": [\n' + lines + "\n]}\n"
    with open(options.out, "w") as file:
        file.write(text)


# How peers that are candidate libraries write their names.
SPELLED = {"cublas": "cuBLAS", "cudnn": "cuDNN", "cub": "CUB"}


def table(options):
    for path in options.files:
        baseline = load(path)
        operator = baseline["rows"][0]["name"].split("/")[0]
        print(f"\n### {operator}\n")
        print("| row | variant | us | GB/s | fraction | best peer | peer us | us / peer us (95 %) | other peers, us |")
        print("|---|---|---|---|---|---|---|---|---|")
        for row in baseline["rows"]:
            # The peer that is fastest beside ours, in its run; those of earlier runs do not compare.
            ratio = lambda peer: peer[1].get("ratio", [row["median_us"] / peer[1]["us"]])[0]
            now = sorted((p for p in row["peers"].items() if "earlier" not in p[1]), key=ratio, reverse=True)
            best = "- | - | -"
            if now:
                name, times = now[0]
                interval = "" if "ratio" not in times else " ({1:.3f}-{2:.3f})".format(*times["ratio"])
                best = f"{SPELLED.get(name, name)} | {times['us']:.1f} | {ratio(now[0]):.3f}{interval}"
            others = [f"{SPELLED.get(name, name)} {times['us']:.1f}" for name, times in now[1:]]
            others += [f"{SPELLED.get(name, name)} {times['us']:.1f}*"
                       for name, times in row["peers"].items() if "earlier" in times]
            commit = f" ({row['commit']})" if "commit" in row else ""
            print(f"| {row['name'].split('/', 1)[1]}{commit} | {row['variant'].removeprefix(operator + '_')} "
                  f"| {row['median_us']:.1f} | {row['GBps']:.0f} | {row['fraction_of_limit']:.3f} | {best} "
                  f"| {', '.join(others) or '-'} |")


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
    showing = commands.add_parser("table", help="tables of baselines, in Markdown")
    showing.add_argument("files", nargs="+", help="baselines")
    showing.set_defaults(run=table)
    options = parser.parse_args()
    options.run(options)


if __name__ == "__main__":
    main()
