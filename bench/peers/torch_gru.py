#!/usr/bin/env python3
"""Measures torch.nn.GRU on the rows of gru_bench, for its column of PyTorch.

    gru_bench --benchmark_list_tests | bench/peers/torch_gru.py --out torch.json
    gru_bench --peer-times torch.json

A forward pass without a graph, or the gradients of x and all parameters of a pass that was recorded; random data,
copies of x and dy rotated over more than four times the L2 cache, 15 executions between CUDA events. Rows in ieee and
tf32x3 are measured with allow_tf32 off, those that round operands with it on: torch.nn.GRU has no other products.
"""
import argparse
import json
import re
import statistics
import sys

REPEATS, WARMUP = 15, 3
HEAD_START_CYCLES = 40_000_000  # the device waits until the host has sent the calls
ROW = re.compile(
    r"(?P<row>gru/(?P<sizes>\d+x\d+x\d+x\d+)/(?P<directions>uni|bi)/(?P<precision>ieee|tf32x3|tf32|bf16)/"
    r"(?P<pass>forward|backward))(?:/iterations:\d+)?(?:/manual_time)?$")


def times(torch, run):
    """Microseconds of REPEATS executions."""
    for i in range(WARMUP):
        run(i)
    events = [torch.cuda.Event(enable_timing=True) for _ in range(REPEATS + 1)]
    torch.cuda._sleep(HEAD_START_CYCLES)
    events[0].record()
    for i in range(REPEATS):
        run(i)
        events[i + 1].record()
    torch.cuda.synchronize()
    return [events[i].elapsed_time(events[i + 1]) * 1e3 for i in range(REPEATS)]


def measure(torch, match, l2_bytes):
    """Microseconds of a row."""
    time, batch, width, hidden = map(int, match["sizes"].split("x"))
    both = match["directions"] == "bi"
    torch.backends.cudnn.allow_tf32 = match["precision"] in ("tf32", "bf16")
    torch.manual_seed(1)
    net = torch.nn.GRU(width, hidden, bidirectional=both, device="cuda")
    columns = hidden * (2 if both else 1)
    copies = max(2, 4 * l2_bytes // (4 * time * batch * (width + columns)) + 1)
    inputs = [torch.rand(time, batch, width, device="cuda") * 2 - 1 for _ in range(copies)]
    if match["pass"] == "forward":
        with torch.no_grad():
            return times(torch, lambda i: net(inputs[i % copies]))
    upstream = [torch.rand(time, batch, columns, device="cuda") * 2 - 1 for _ in range(copies)]
    x = inputs[0].requires_grad_()
    y, _ = net(x)
    wanted = [x, *net.parameters()]
    return times(torch, lambda i: torch.autograd.grad(y, wanted, upstream[i % copies], retain_graph=True))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True, help="the JSON file to write")
    parser.add_argument("names", nargs="*", help="rows; default: one per line from standard input")
    options = parser.parse_args()
    try:
        import torch
    except ImportError:
        sys.exit("torch_gru: PyTorch is not installed; pip install torch")
    if not torch.cuda.is_available():
        sys.exit("torch_gru: PyTorch sees no GPU")
    l2_bytes = torch.cuda.get_device_properties(0).L2_cache_size
    rows = []
    for name in options.names or [line.strip() for line in sys.stdin]:
        match = ROW.match(name)
        if not match:
            if name:
                print(f"torch_gru: no PyTorch call for {name}", file=sys.stderr)
            continue
        us = measure(torch, match, l2_bytes)
        rows.append({"row": match["row"], "peer": "torch.nn.GRU", "us": us})
        print(f"{match['row']:50} {statistics.median(us):10.1f} us", flush=True)
        with open(options.out, "w") as file:  # after each row: an interruption loses nothing
            json.dump({"torch": torch.__version__, "gpu": torch.cuda.get_device_name(0), "rows": rows}, file)
    if not rows:
        sys.exit("torch_gru: no row was measured")


if __name__ == "__main__":
    main()
