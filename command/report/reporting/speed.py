"""Rows of benchmarks, from what --benchmark_out wrote or from a baseline of bench/baselines, in one form."""

import re

# The limits that a row may name: key -> words.
LIMITS = {"limit_us": "copy or read", "updates_us": "updates in shared memory", "read_us": "reading"}
# Products of split operands: what a row's first part is, the peer that does its products alone, and how many they are.
SPLIT_PRODUCTS = {
    "tf32x3": ("cuBLAS tf32", 3),
    "bf16x6": ("cuBLAS bf16", 6),
    "f16": ("cuBLAS bf16", 1),
    "bf16": ("cuBLAS bf16", 1),
}
MICROSECONDS = {"ns": 1e-3, "us": 1, "ms": 1e3, "s": 1e6}


def _peers(row):
    peers = {name.removeprefix("us of "): {"us": value} for name, value in row.items() if name.startswith("us of ")}
    for name, peer in row.get("peers", {}).items() if isinstance(row.get("peers"), dict) else []:
        peers[name] = {"us": peer["us"], "earlier": bool(peer.get("earlier"))}
        if "ratio" in peer:
            peers[name].update(zip(("ratio", "low", "high"), peer["ratio"]))
    # matmul, whose peers are timed in turn with ours, and gru.
    peers.update({name.removesuffix(" us"): {"us": us} for name, us in row.items() if name.endswith(" us") and us})
    if row.get("of_cudnn"):
        peers["cudnn"] = {"us": _us(row) / row["of_cudnn"]}
    fastest = row.get("peer") or str(row.get("label", "")).partition(" peer:")[2]
    if fastest and "peer_us" in row:
        ratio = (
            row["ratio_to_peer"]
            if isinstance(row["ratio_to_peer"], list)
            else [row[key] for key in ("ratio_to_peer", "ratio_low", "ratio_high")]
        )
        peers[fastest] = {"us": row["peer_us"], **dict(zip(("ratio", "low", "high"), ratio))}
    for peer in peers.values():
        for key in ("ratio", "low", "high", "earlier"):
            peer.setdefault(key, None)
    return peers


def _us(row):
    """Of a call; None where the row is of something else."""
    us = row.get("median_us", row.get("us"))
    if us is None and "TFLOP/s" in row:
        us = row["real_time"] * MICROSECONDS[row["time_unit"]]
    return us


def _limits(row, rest, us, peers):
    limits = [(words, row[key]) for key, words in LIMITS.items() if row.get(key)]
    if row.get("of_target"):
        limits.append(("target", us / row["of_target"]))
    mode = rest.partition("/")[0]
    if row.get("fma_limit_tflops") and mode == "ieee":
        limits.append(("FMAs from registers", us * row["tflops"] / row["fma_limit_tflops"]))
    peer, parts = SPLIT_PRODUCTS.get(mode, ("", 0))
    if "fma_limit_tflops" in row and peer in peers:
        limits.append(("the peer's tensor cores, for each product of parts", peers[peer]["us"] * parts))
    return limits


def rows_of(content):
    """operator -> rows in the file's order; what failed keeps its sentence and has no number."""
    operators = {}
    for row in content.get("benchmarks", content.get("rows")):
        name = re.sub(r"/iterations:.*", "", row["name"])
        operator, _, rest = name.partition("/")
        us = _us(row)
        if us is None and not row.get("error_occurred"):
            continue  # no row of an operator
        peers = _peers(row) if us else {}
        limits = _limits(row, rest, us, peers) if us else []
        operators.setdefault(operator, []).append(
            {
                "name": rest or name,
                "variant": row.get("variant") or str(row.get("label", "")).partition(" peer:")[0],
                "us": us,
                "gbps": row.get("GBps", row.get("GB/s")),
                "tflops": row.get("tflops", row.get("TFLOP/s")),
                "limits": limits,
                "fraction": max(at for _, at in limits) / us if us and limits else None,
                "peers": peers,
                "batch_invariance_cost": row.get("batch_invariance_cost"),
                "error": row.get("error_message") if row.get("error_occurred") else None,
            }
        )
    return operators


def gpu_of(content):
    """The GPU's name alone."""
    return str(content.get("context", content).get("gpu") or "an unnamed GPU").partition(",")[0]


def machine_of(content):
    """GPU, driver, commit and date, and a candidate that is not ours with its verdict, as far as the file says."""
    context = content.get("context", content)
    # The benchmarks call the version of CUDA that the driver takes "driver".
    gpu = str(context.get("gpu") or "")
    gpu = gpu.replace(", driver ", ", CUDA of the driver ").replace(", runtime ", ", of the runtime ")
    parts = [gpu or None, f"driver {context['driver']}" if context.get("driver") else None]
    parts += [
        f"commit {context['commit']}" if context.get("commit") else None,
        str(context.get("date", ""))[:10] or None,
        f"times of {context['candidate']}, {context.get('verdict')}" if context.get("candidate") else None,
    ]
    return ", ".join(p for p in parts if p) or "an unnamed GPU"
