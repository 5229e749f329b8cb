"""Golden data of gated recurrent units by torch.nn.GRU in float64 on the CPU, with pack_padded_sequence where rows have
lengths: y, hn and all gradients. It needs Debian's python3-torch.
"""

import oracle
from oracle import Draw

TORCH, PACKAGE = "1.13", "Debian python3-torch 1.13.1+dfsg-4"
DIGITS = 12
# The tensors of a call (kernels/gru/contract.hpp): name, type, dimensions.
INPUTS = [("x", "f32", 3), ("w_ih", "f32", 3), ("w_hh", "f32", 3), ("b_ih", "f32", 2), ("b_hh", "f32", 2),
          ("h0", "f32", 3), ("h_reset", "f32", 3), ("lengths", "i64", 1), ("reset", "u8", 2), ("dy", "f32", 3),
          ("dhn", "f32", 3), ("y_in", "f32", 3), ("history_in", "f32", 4)]
OUTPUTS = [("y", "f32", 3), ("hn", "f32", 3), ("history", "f32", 4), ("dx", "f32", 3), ("dh0", "f32", 3),
           ("dh_reset", "f32", 3), ("dw_ih", "f32", 3), ("dw_hh", "f32", 3), ("db_ih", "f32", 2), ("db_hh", "f32", 2),
           ("trace_e", "f32", 4), ("work", "u8", 1)]
try:
    import torch

    found = torch.__version__
    oracle.PROBLEM = None if found.startswith(TORCH + ".") else f"PyTorch {TORCH} is needed, found {found}"
except ImportError as error:
    oracle.PROBLEM = f"PyTorch {TORCH} ({PACKAGE}) is needed: {error}"


def cases():
    """name, seed, (T, B, I, H, D), lengths, bias, scale of weights, scale of x; each with its reason."""
    yield "one-direction", 1, (5, 3, 4, 5, 1), None, True, 1, 1
    yield "two-directions", 2, (4, 2, 6, 3, 2), None, True, 1, 1
    yield "ragged", 3, (6, 4, 1, 7, 1), [2, 6, 1, 5], True, 1, 1
    yield "ragged-two-directions", 4, (7, 4, 3, 6, 2), [7, 1, 4, 6], True, 1, 1
    yield "no-bias", 5, (3, 2, 5, 4, 2), [3, 2], False, 1, 1
    yield "long", 6, (40, 2, 3, 4, 2), [40, 23], True, 1, 1  # steep enough for gradients to fade and to grow
    yield "steep", 7, (12, 2, 4, 5, 2), [12, 9], True, 3, 1
    yield "wide", 8, (5, 2, 3, 4, 2), None, True, 1, 4  # gates nearer 0 and 1; 1 - z and 1 - n^2 keep 12 digits


def digits(value):
    """12 digits; the exact 0 of padding as it is."""
    if value == 0:
        return "0"
    mantissa, exponent = f"{value:.{DIGITS - 1}e}".split("e")
    return f"{mantissa}e{int(exponent)}"


def drawn_tensors(draw, shape, bias, weight_scale, x_scale):
    """The inputs of the layer, and the gradients that reach its outputs, by name."""
    time, batch, inputs, hidden, directions = shape

    def drawn(scale, *extents):
        """Multiples of 2^-18, which f32 holds."""
        count = 1
        for e in extents:
            count *= e
        values = [round(draw.uniform(-scale, scale) * 2**18) / 2**18 for _ in range(count)]
        return torch.tensor(values, dtype=torch.float64).reshape(extents)

    scale = weight_scale / hidden**0.5
    named = {
        "x": drawn(x_scale, time, batch, inputs),
        "w_ih": drawn(scale, directions, 3 * hidden, inputs),
        "w_hh": drawn(scale, directions, 3 * hidden, hidden),
    }
    if bias:
        named["b_ih"] = drawn(0.5, directions, 3 * hidden)
        named["b_hh"] = drawn(0.5, directions, 3 * hidden)
    named["h0"] = drawn(1, directions, batch, hidden)
    upstream = {"dy": drawn(1, time, batch, directions * hidden), "dhn": drawn(1, directions, batch, hidden)}
    return named, upstream


def both_passes(shape, lengths, named, upstream):
    """The outputs of torch's layer, by name."""
    time, _, inputs, hidden, directions = shape
    gru = torch.nn.GRU(inputs, hidden, bias="b_ih" in named, bidirectional=directions == 2, dtype=torch.float64)
    parameters = {}
    for d in range(directions):
        for ours, theirs in (("w_ih", "weight_ih"), ("w_hh", "weight_hh"), ("b_ih", "bias_ih"), ("b_hh", "bias_hh")):
            if ours in named:
                parameter = getattr(gru, f"{theirs}_l0{'_reverse' if d else ''}")
                parameters[ours, d] = parameter
                with torch.no_grad():
                    parameter.copy_(named[ours][d])
    x, h0 = named["x"].clone().requires_grad_(), named["h0"].clone().requires_grad_()
    if lengths is None:
        y, hn = gru(x, h0)
    else:
        packed = torch.nn.utils.rnn.pack_padded_sequence(x, torch.tensor(lengths), enforce_sorted=False)
        y, hn = gru(packed, h0)
        y, _ = torch.nn.utils.rnn.pad_packed_sequence(y, total_length=time)
    ((upstream["dy"] * y).sum() + (upstream["dhn"] * hn).sum()).backward()

    outputs = {"y": y.detach(), "hn": hn.detach(), "dx": x.grad, "dh0": h0.grad}
    for ours in ("w_ih", "w_hh", "b_ih", "b_hh"):
        if ours in named:
            outputs["d" + ours] = torch.stack([parameters[ours, d].grad for d in range(directions)])
    return outputs


def shaped(name, dtype, value, rank):
    """A tensor of the call; one that is not there has no elements."""
    extents = [0] * rank if value is None else value.shape
    return f"{name}={dtype}[{'x'.join(str(e) for e in extents)}]"


def answer(name, seed, shape, lengths, bias, weight_scale, x_scale):
    named, upstream = drawn_tensors(Draw(seed), shape, bias, weight_scale, x_scale)
    outputs = both_passes(shape, lengths, named, upstream)
    given = {**named, **upstream, "lengths": None if lengths is None else torch.tensor(lengths)}
    listed = []
    for name_of_input, dtype, rank in INPUTS:
        value = given.get(name_of_input)
        listed.append((shaped(name_of_input, dtype, value, rank), None if value is None else value.flatten().tolist()))
    expected = []
    for name_of_output, dtype, rank in OUTPUTS:
        value = outputs.get(name_of_output)
        texts = [] if value is None else [digits(e) for e in value.flatten().tolist()]
        expected.append((shaped(name_of_output, dtype, value, rank), texts))
    source = f"PyTorch {torch.__version__} ({PACKAGE}), torch.nn.GRU in float64 on the CPU"
    # What torch keeps for its backward pass is its own.
    return oracle.golden_text("gru", "gru_oracle.py", name, source, DIGITS, seed, listed, expected,
                              "history_mode=recompute")


def golden_files():
    """(file name, text) of every file."""
    for name, *numbers in cases():
        yield f"torch-{name}.golden", answer(f"torch-{name}", *numbers)
