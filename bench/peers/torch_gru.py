#!/usr/bin/env python3
"""Measures torch.nn.GRU on the rows of gru_bench, for its column of PyTorch.

    gru_bench --benchmark_list_tests | bench/peers/torch_gru.py --out torch.json
    gru_bench --peer-times torch.json

A forward pass without a graph, or the gradients of x and all parameters of a pass that was recorded; random data,
copies of x and dy rotated over more than four times the L2 cache, 15 executions between CUDA events. Rows in ieee and
tf32x3 are measured with allow_tf32 off, those that round operands with it on: torch.nn.GRU has no other products.
"""
import torch_peer

REPEATS, WARMUP = 15, 3
ROW = (r"(?P<row>gru/(?P<sizes>\d+x\d+x\d+x\d+)/(?P<directions>uni|bi)/(?P<precision>ieee|tf32x3|tf32|bf16)/"
       r"(?P<pass>forward|backward))")


def times(torch, run):
    """Microseconds of REPEATS executions."""
    for i in range(WARMUP):
        run(i)
    events = [torch.cuda.Event(enable_timing=True) for _ in range(REPEATS + 1)]
    torch_peer.start(torch, events[0])
    for i in range(REPEATS):
        run(i)
        events[i + 1].record()
    return torch_peer.times_between(torch, events)


def layer_and_data(torch, match, l2_bytes):
    """A row's layer, and its inputs x and dy: more than four times the L2 cache together."""
    time, batch, width, hidden = map(int, match["sizes"].split("x"))
    both = match["directions"] == "bi"
    torch.manual_seed(1)
    net = torch.nn.GRU(width, hidden, bidirectional=both, device="cuda")
    columns = hidden * (2 if both else 1)
    copies = max(2, 4 * l2_bytes // (4 * time * batch * (width + columns)) + 1)
    return net, *([torch.rand(time, batch, size, device="cuda") * 2 - 1 for _ in range(copies)]
                  for size in (width, columns))


def measure(torch, match, l2_bytes):
    """Microseconds of a row."""
    torch.backends.cudnn.allow_tf32 = match["precision"] in ("tf32", "bf16")
    net, inputs, upstream = layer_and_data(torch, match, l2_bytes)
    copies = len(inputs)
    if match["pass"] == "forward":
        with torch.no_grad():
            return times(torch, lambda i: net(inputs[i % copies]))
    x = inputs[0].requires_grad_()
    y, _ = net(x)
    wanted = [x, *net.parameters()]
    return times(torch, lambda i: torch.autograd.grad(y, wanted, upstream[i % copies], retain_graph=True))


def main():
    program = torch_peer.Program("torch_gru", __doc__)
    for match in program.matches(ROW):
        program.write(match["row"], "torch.nn.GRU", measure(program.torch, match, program.l2_bytes))
    program.end()


if __name__ == "__main__":
    main()
