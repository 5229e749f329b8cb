"""Rows of benchmarks, from what --benchmark_out wrote or from a baseline of bench/baselines, in one form."""

import re

# The limits that a row may name: key -> words.
LIMITS = {"limit_us": "copy or read", "updates_us": "updates in shared memory", "read_us": "reading"}


def _peers(row):
    peers = {name.removeprefix("us of "): {"us": value} for name, value in row.items() if name.startswith("us of ")}
    for name, peer in row.get("peers", {}).items() if isinstance(row.get("peers"), dict) else []:
        peers[name] = {"us": peer["us"], "earlier": bool(peer.get("earlier"))}
        if "ratio" in peer:
            peers[name].update(zip(("ratio", "low", "high"), peer["ratio"]))
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


def rows_of(content):
    """operator -> rows in the file's order; what failed keeps its sentence and has no number."""
    operators = {}
    for row in content.get("benchmarks", content.get("rows")):
        name = re.sub(r"/iterations:.*", "", row["name"])
        operator, _, rest = name.partition("/")
        us = row.get("median_us", row.get("us"))
        if us is None and not row.get("error_occurred"):
            continue  # no row of an operator
        limits = [(words, row[key]) for key, words in LIMITS.items() if row.get(key)]
        if row.get("of_target"):
            limits.append(("target", us / row["of_target"]))
        operators.setdefault(operator, []).append(
            {
                "name": rest or name,
                "variant": row.get("variant") or str(row.get("label", "")).partition(" peer:")[0],
                "us": us,
                "gbps": row.get("GBps", row.get("GB/s")),
                "limits": limits,
                "fraction": max(at for _, at in limits) / us if us and limits else None,
                "peers": _peers(row),
                "error": row.get("error_message") if row.get("error_occurred") else None,
            }
        )
    return operators


def machine_of(content):
    """GPU, driver, commit and date, as far as the file says."""
    context = content.get("context", content)
    parts = [context.get("gpu"), f"driver {context['driver']}" if context.get("driver") else None]
    parts += [
        f"commit {context['commit']}" if context.get("commit") else None,
        str(context.get("date", ""))[:10] or None,
    ]
    return ", ".join(p for p in parts if p) or "an unnamed GPU"
