#!/usr/bin/env python3
"""Measures cuDNN's gated recurrent units on the rows of gru_bench, each with every algorithm that takes the shape.

    gru_bench --benchmark_list_tests | bench/peers/cudnn_gru.py --out cudnn.json
    gru_bench --peer-times cudnn.json

torch.nn.GRU picks one algorithm of cuDNN by itself, here all are called: in f32 without tensor cores, and for rows that
round operands in tf32, too. A forward pass for training, or the gradients of x and all parameters. An algorithm whose y
or dx differs from that of torch.nn.GRU in f32 by more than 2e-5 (in tf32 4e-3) of the largest element is left out with
a message.
"""
import ctypes

import torch_gru
import torch_peer

FLOAT, GRU, DOUBLE_BIAS, LINEAR_INPUT, PADDED_IO, TRAINING, SEQUENCE_MAJOR, ADD = 0, 3, 2, 0, 1, 1, 0, 0
FMA, ANY_MATH = 3, 0
ALGORITHMS = {"standard": 0, "persistent": 1, "persistent, small hidden": 3}
MOST_ERROR = {FMA: 2e-5, ANY_MATH: 4e-3}


class Refused(Exception):
    """cuDNN does not take a shape."""


class Library:
    """cuDNN as PyTorch has loaded it."""

    def __init__(self, torch):
        torch.backends.cudnn.version()
        self.library = ctypes.CDLL("libcudnn.so.9")
        self.library.cudnnGetErrorString.restype = ctypes.c_char_p
        self.handle = self.made("cudnnCreate")
        self.call("cudnnSetStream", self.handle, ctypes.c_void_p(torch.cuda.current_stream().cuda_stream))

    def call(self, name, *arguments):
        status = getattr(self.library, name)(*arguments)
        if status != 0:
            raise Refused(f"{name}: {self.library.cudnnGetErrorString(status).decode()}")

    def made(self, name, *arguments):
        """What a function writes through its first pointer."""
        made = ctypes.c_void_p()
        self.call(name, ctypes.byref(made), *arguments)
        return made


class Net:
    """A layer of one algorithm, with the parameters and the results of a torch.nn.GRU."""

    def __init__(self, torch, cudnn, net, algorithm, math, x, dy):
        self.cudnn = cudnn
        time, batch, width = x.shape
        hidden, directions = net.hidden_size, 2 if net.bidirectional else 1
        dropout = cudnn.made("cudnnCreateDropoutDescriptor")
        cudnn.call("cudnnSetDropoutDescriptor", dropout, cudnn.handle, ctypes.c_float(0), None, ctypes.c_size_t(0),
                   ctypes.c_ulonglong(0))
        self.rnn = cudnn.made("cudnnCreateRNNDescriptor")
        cudnn.call("cudnnSetRNNDescriptor_v8", self.rnn, algorithm, GRU, DOUBLE_BIAS, directions - 1, LINEAR_INPUT,
                   FLOAT, FLOAT, math, width, hidden, hidden, 1, dropout, ctypes.c_uint(PADDED_IO))
        lengths = (ctypes.c_int * batch)(*[time] * batch)
        self.of_x, self.of_y = (cudnn.made("cudnnCreateRNNDataDescriptor") for _ in range(2))
        for descriptor, columns in ((self.of_x, width), (self.of_y, hidden * directions)):
            cudnn.call("cudnnSetRNNDataDescriptor", descriptor, FLOAT, SEQUENCE_MAJOR, time, batch, columns, lengths,
                       ctypes.byref(ctypes.c_float(0)))
        self.of_h = cudnn.made("cudnnCreateTensorDescriptor")
        cudnn.call("cudnnSetTensorNdDescriptor", self.of_h, FLOAT, 3, (ctypes.c_int * 3)(directions, batch, hidden),
                   (ctypes.c_int * 3)(batch * hidden, hidden, 1))
        weights, work, reserve = (ctypes.c_size_t() for _ in range(3))
        cudnn.call("cudnnGetRNNWeightSpaceSize", cudnn.handle, self.rnn, ctypes.byref(weights))
        cudnn.call("cudnnGetRNNTempSpaceSizes", cudnn.handle, self.rnn, TRAINING, self.of_x, ctypes.byref(work),
                   ctypes.byref(reserve))
        # PyTorch keeps all parameters in one storage, as cuDNN wants them.
        storage = net.weight_ih_l0.untyped_storage()
        if storage.nbytes() < weights.value:
            raise Refused("its parameters lie otherwise")
        self.weights = torch.empty(0, device="cuda").set_(storage)
        self.gradients = torch.empty_like(self.weights)
        self.bytes = weights
        self.work, self.reserve = (torch.empty(max(1, size.value), dtype=torch.uint8, device="cuda")
                                   for size in (work, reserve))
        self.y, self.dx, self.dy = torch.empty_like(dy), torch.empty_like(x), dy

    def forward(self, x):
        self.cudnn.call("cudnnRNNForward", self.cudnn.handle, self.rnn, TRAINING, None, self.of_x, at(x), self.of_y,
                        at(self.y), self.of_h, None, None, None, None, None, self.bytes, at(self.weights),
                        *self.spaces())

    def backward(self, x, dy):
        self.cudnn.call("cudnnRNNBackwardData_v8", self.cudnn.handle, self.rnn, None, self.of_y, at(self.y), at(dy),
                        self.of_x, at(self.dx), self.of_h, None, None, None, None, None, None, None, self.bytes,
                        at(self.weights), *self.spaces())
        self.gradients.zero_()
        self.cudnn.call("cudnnRNNBackwardWeights_v8", self.cudnn.handle, self.rnn, ADD, None, self.of_x, at(x),
                        self.of_h, None, self.of_y, at(self.y), self.bytes, at(self.gradients), *self.spaces())

    def spaces(self):
        return (ctypes.c_size_t(self.work.numel()), at(self.work), ctypes.c_size_t(self.reserve.numel()),
                at(self.reserve))


def at(tensor):
    return ctypes.c_void_p(tensor.data_ptr())


def times_of(program, cudnn, net, match, ways, xs, dys):
    """Peer -> microseconds, of the algorithms that take the row."""
    torch, is_forward = program.torch, match["pass"] == "forward"
    x = xs[0].clone().requires_grad_()
    torch.backends.cudnn.allow_tf32 = False
    y, _ = net(x)
    due = y.detach() if is_forward else torch.autograd.grad(y, x, dys[0])[0]
    us = {}
    for name, (algorithm, math) in ways.items():
        try:
            layer = Net(torch, cudnn, net, algorithm, math, xs[0], dys[0])
            layer.forward(xs[0])
            if not is_forward:
                layer.backward(xs[0], dys[0])
            error = ((layer.y if is_forward else layer.dx) - due).abs().max().item() / due.abs().max().item()
            if not error <= MOST_ERROR[math]:
                raise Refused(f"it is off by {error:.2g}")
            us[name] = torch_gru.times(torch, lambda i: layer.forward(xs[i % len(xs)]) if is_forward else
                                       layer.backward(xs[i % len(xs)], dys[i % len(xs)]))
        except Refused as reason:
            program.warn(f"{name} has no part in {match['row']}: {reason}")
    return us


def main():
    program = torch_peer.Program("cudnn_gru", __doc__)
    cudnn = Library(program.torch)
    for match in program.matches(torch_gru.ROW):
        net, xs, dys = torch_gru.layer_and_data(program.torch, match, program.l2_bytes)
        maths = {"": FMA} | ({", tf32": ANY_MATH} if match["precision"] in ("tf32", "bf16") else {})
        ways = {f"cuDNN {by}{suffix}": (algorithm, math) for suffix, math in maths.items()
                for by, algorithm in ALGORITHMS.items()}
        for peer, us in times_of(program, cudnn, net, match, ways, xs, dys).items():
            program.write(match["row"], peer, us)
    program.end()


if __name__ == "__main__":
    main()
