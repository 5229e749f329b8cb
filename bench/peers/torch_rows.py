#!/usr/bin/env python3
"""Measures PyTorch, eager and torch.compile, on the rows of a benchmark, for its column of peers.

    softmax_bench --benchmark_list_tests | bench/peers/torch_rows.py --out torch.json
    softmax_bench --peer-times torch.json

Each row is measured as the benchmark measures it: random data, inputs and outputs rotated over more than four times the
L2 cache, 101 executions between CUDA events, in five turns of some twenty back to back. Rows that PyTorch has no call
for are left out, with a message.
"""
import collections

import torch_peer

REPEATS = 101
TURNS = 5
WARMUP = 8


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


ROW = (rf"(?P<row>(?P<op>{'|'.join(calls(None))})/(?P<dtype>f32|f16|bf16|f64)/(?P<rows>\d+)x(?P<cols>\d+)"
       r"(?:/ld:(?P<ld>\d+)|/offset:(?P<offset>\d+))*)")


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
            torch_peer.start(torch, events[0])
            for i in range(of_turn):
                kept.append(run(inputs[execution % len(inputs)]))
                execution += 1
                events[i + 1].record()
            us[k] += torch_peer.times_between(torch, events)
    return [of_run[:REPEATS] for of_run in us]


def inputs_of(program, match):
    """Matrices of the row's type, sizes, distance of rows and offset: more than four times the L2 cache together."""
    torch = program.torch
    dtype = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16, "f64": torch.float64}[match["dtype"]]
    rows, cols = int(match["rows"]), int(match["cols"])
    ld, offset = int(match["ld"] or cols), int(match["offset"] or 0)
    slots = max(2, 4 * program.l2_bytes // max(1, rows * ld * dtype.itemsize) + 1)
    inputs = []
    for seed in range(slots):
        generator = torch.Generator(device="cuda").manual_seed(seed)
        flat = torch.rand(rows * ld + offset, device="cuda", generator=generator).mul_(16).sub_(8).to(dtype)
        inputs.append(flat[offset:].view(rows, ld)[:, :cols])
    return inputs


def variants_of(program, match, x):
    """Peer -> its function of the input; what fails on `x` is reported, not hidden."""
    torch = program.torch
    call = calls(torch)[match["op"]]
    variants = {"torch eager": call}
    if not program.options.no_compile:
        torch._dynamo.reset()
        variants["torch compiled"] = torch.compile(call, dynamic=False)
    for peer, run in list(variants.items()):
        try:
            run(x)
        except Exception as error:
            program.warn(f"{peer} fails on {match['row']}: {str(error).splitlines()[0]}")
            del variants[peer]
    return variants


def main():
    program = torch_peer.Program("torch_rows", __doc__, ("--no-compile", "eager only"))
    for match in program.matches(ROW):
        inputs = inputs_of(program, match)
        variants = variants_of(program, match, inputs[0])
        for peer, us in zip(variants, measure(program.torch, list(variants.values()), inputs)):
            program.write(match["row"], peer, us)
    program.end()


if __name__ == "__main__":
    main()
