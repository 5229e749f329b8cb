#!/usr/bin/env python3
"""Measures PyTorch, eager and torch.compile, on the rows of a benchmark, for its column of peers.

    softmax_bench --benchmark_list_tests | bench/peers/torch_rows.py --out torch.json
    softmax_bench --peer-times torch.json

Each row is measured as the benchmark measures it: random data, inputs and outputs rotated over more than four times the
L2 cache, 101 executions between CUDA events, in five turns of some twenty back to back. Rows that PyTorch has no call for are left out, with a message.
"""
import argparse
import collections
import json
import re
import statistics
import sys

REPEATS = 101
TURNS = 5
WARMUP = 8
# The device sleeps for about 20 ms while the host sends what is measured: a call of PyTorch takes the host up to 70 us,
# longer than many rows take the device.
HEAD_START_CYCLES = 40_000_000
ROW = re.compile(
    r"(?P<row>(?P<op>\w+)/(?P<dtype>f32|f16|bf16|f64)/(?P<rows>\d+)x(?P<cols>\d+)(?:/(?:ld:\d+|offset:\d+))*)"
    r"(?:/iterations:\d+)?(?:/manual_time)?$")


def calls(torch):
    """Operator -> function of the input, as the benchmark calls it: reduce sums."""
    return {
        "softmax": lambda x: torch.softmax(x, -1),
        "log_softmax": lambda x: torch.log_softmax(x, -1),
        "logsumexp": lambda x: torch.logsumexp(x, -1),
        "argmax": lambda x: torch.argmax(x, -1),
        "sigmoid": lambda x: torch.sigmoid(x),
        "reduce": lambda x: torch.sum(x, -1),
        "scan": lambda x: torch.cumsum(x, -1),
        "argsort": lambda x: torch.argsort(x, -1, stable=True),
    }


def measure(torch, runs, inputs):
    """Microseconds of REPEATS executions of each of `runs`, which take turns of some twenty."""
    # As many results are kept as there are inputs: the allocator gives out the memory of the oldest.
    kept = collections.deque(maxlen=len(inputs))
    for i in range(len(inputs)):
        for run in runs:
            kept.append(run(inputs[i]))
    of_turn = -(-REPEATS // TURNS)
    events = [torch.cuda.Event(enable_timing=True) for _ in range(of_turn + 1)]
    us = [[] for _ in runs]
    execution = 0
    for _ in range(TURNS):
        for k, run in enumerate(runs):
            for _ in range(WARMUP):
                kept.append(run(inputs[execution % len(inputs)]))
                execution += 1
            torch.cuda._sleep(HEAD_START_CYCLES)
            events[0].record()
            for i in range(of_turn):
                kept.append(run(inputs[execution % len(inputs)]))
                execution += 1
                events[i + 1].record()
            torch.cuda.synchronize()
            us[k] += [events[i].elapsed_time(events[i + 1]) * 1e3 for i in range(of_turn)]
    return [of_run[:REPEATS] for of_run in us]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True, help="the JSON file to write")
    parser.add_argument("--no-compile", action="store_true", help="eager only")
    parser.add_argument("names", nargs="*", help="rows; default: one per line from standard input")
    options = parser.parse_args()
    try:
        import torch
    except ImportError:
        sys.exit("torch_rows: PyTorch is not installed; pip install torch")
    if not torch.cuda.is_available():
        sys.exit("torch_rows: PyTorch sees no GPU")

    dtypes = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16, "f64": torch.float64}
    l2_bytes = torch.cuda.get_device_properties(0).L2_cache_size
    rows = []
    for name in options.names or [line.strip() for line in sys.stdin]:
        if not name:
            continue
        match = ROW.match(name)
        if not match or match["op"] not in calls(torch):
            print(f"torch_rows: no PyTorch call for {name}", file=sys.stderr)
            continue
        r, c = int(match["rows"]), int(match["cols"])
        ld = int((re.search(r"ld:(\d+)", name) or [0, c])[1])
        offset = int((re.search(r"offset:(\d+)", name) or [0, 0])[1])
        dtype = dtypes[match["dtype"]]
        slots = max(2, 4 * l2_bytes // max(1, r * ld * dtype.itemsize) + 1)
        inputs = []
        for seed in range(slots):
            generator = torch.Generator(device="cuda").manual_seed(seed)
            flat = torch.rand(r * ld + offset, device="cuda", generator=generator).mul_(16).sub_(8).to(dtype)
            inputs.append(flat[offset:].view(r, ld)[:, :c])
        variants = {"torch eager": calls(torch)[match["op"]]}
        if not options.no_compile:
            torch._dynamo.reset()
            variants["torch compiled"] = torch.compile(calls(torch)[match["op"]], dynamic=False)
        for peer, run in list(variants.items()):
            try:
                run(inputs[0])
            except Exception as error:  # a row that PyTorch cannot do is reported, not hidden
                print(f"torch_rows: {peer} fails on {match['row']}: {str(error).splitlines()[0]}", file=sys.stderr)
                del variants[peer]
        for peer, us in zip(variants, measure(torch, list(variants.values()), inputs)):
            rows.append({"row": match["row"], "peer": peer, "us": us})
            print(f"{match['row']:44} {peer:16} {statistics.median(us):9.2f} us", flush=True)
            with open(options.out, "w") as file:  # after each row: an interruption loses nothing
                json.dump({"torch": torch.__version__, "gpu": torch.cuda.get_device_name(0), "rows": rows}, file)
    if not rows:
        sys.exit("torch_rows: no row was measured")


if __name__ == "__main__":
    main()
