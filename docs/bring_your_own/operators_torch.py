"""PyTorch's operators behind `--python`, on the CPU or the GPU, as they are.

    warpcheck verify softmax --python docs/bring_your_own/operators_torch.py:softmax --device cuda

Nothing here mends a result: a failure is a result of PyTorch outside the contract of kernels/<op>/<op>.hpp, which is
stricter than PyTorch's documentation (docs/trials/pytorch.md). Calls that PyTorch does not offer end with
NotImplementedError, or with an error in which PyTorch says so, such as "not implemented for 'Half'".
"""
import torch


def arrays(*tensors):
    return [torch.from_dlpack(t) for t in tensors]


def softmax(x, y):  # the index of the maximum is torch.argmax's
    x, y = arrays(x, y)
    y.copy_(torch.softmax(x, dim=1))


def log_softmax(x, y):
    x, y = arrays(x, y)
    y.copy_(torch.log_softmax(x, dim=1))


def logsumexp(x, y):
    x, y = arrays(x, y)
    y.copy_(torch.logsumexp(x.to(y.dtype), dim=1))


def argmax(x, index):
    x, index = arrays(x, index)
    if x.shape[1] == 0:
        raise NotImplementedError("torch.argmax takes no row without elements")
    index.copy_(torch.argmax(x, dim=1))


def sigmoid(x, y, mu, sigma):
    if (mu, sigma) != (0, 1):
        raise NotImplementedError("torch.sigmoid has no shift and no gain")
    x, y = arrays(x, y)
    y.copy_(torch.sigmoid(x))


def reduce(x, y, op):
    x, y = arrays(x, y)
    if op > 0 and x.shape[1] == 0:
        raise NotImplementedError("torch.amin and torch.amax take no row without elements")
    y.copy_([torch.sum, torch.amin, torch.amax][op](x, dim=1))


def scan(x, y, kind):
    if kind == 1:
        raise NotImplementedError("torch.cumsum is inclusive")
    x, y = arrays(x, y)
    y.copy_(torch.cumsum(x, dim=1))


def argsort(x, index, order):
    x, index = arrays(x, index)
    index.copy_(torch.sort(x, dim=1, descending=order == 1, stable=True).indices)


softmax.dtypes = log_softmax.dtypes = logsumexp.dtypes = argmax.dtypes = sigmoid.dtypes = ["f32", "f16", "bf16"]
reduce.dtypes = ["f32", "f64"]
scan.dtypes = ["f32", "f64", "i64"]


def product(a, b, c, ta, tb, allow_tf32):
    torch.backends.cuda.matmul.allow_tf32 = allow_tf32
    a, b, c = arrays(a, b, c)
    if c.dtype != a.dtype:
        raise NotImplementedError("torch.matmul returns the type of its operands")
    c.copy_(torch.matmul(a.mT if ta else a, b.mT if tb else b))


def matmul(a, b, c, ta, tb):
    product(a, b, c, ta, tb, allow_tf32=False)


def matmul_tf32(a, b, c, ta, tb):
    """On a GPU, torch may then round the operands of an f32 product to tf32: less precise than the contract allows."""
    product(a, b, c, ta, tb, allow_tf32=True)


matmul.dtypes = ["f32", "f16", "bf16"]


GRU_LACKS = ("lengths", "reset", "h_reset", "dh_reset", "history", "history_in", "y_in", "trace_e")
GRU_INPUTS = ("x", "w_ih", "w_hh", "b_ih", "b_hh", "h0")


def recurrent(x, w_ih, w_hh, others, allow_tf32):
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = allow_tf32
    given = {n: torch.from_dlpack(v) for n, v in others.items() if hasattr(v, "__dlpack__")}
    for name in GRU_LACKS:
        if name in given:
            raise NotImplementedError(f"torch.nn.GRU has no {name}")
    if others["pass"] == 1 or others["history_mode"] == 1:
        raise NotImplementedError("torch.nn.GRU hands over no history")
    x, w_ih, w_hh = arrays(x, w_ih, w_hh)
    directions, width = w_hh.shape[0], w_hh.shape[2]
    if 0 in x.shape or width == 0:
        raise NotImplementedError("torch.nn.GRU takes no empty extents")
    values = {"x": x, "w_ih": w_ih, "w_hh": w_hh, **given}
    values.setdefault("h0", x.new_zeros(directions, x.shape[1], width))
    for bias in ("b_ih", "b_hh"):
        values.setdefault(bias, x.new_zeros(directions, 3 * width))
    both = others["pass"] == 2
    leaves = {n: values[n].detach().clone().requires_grad_(both) for n in GRU_INPUTS}
    weights = [leaves[n][d] for d in range(directions) for n in GRU_INPUTS[1:5]]
    y, hn = torch._VF.gru(leaves["x"], leaves["h0"], weights, True, 1, 0.0, both, directions == 2, False)
    for name, value in (("y", y), ("hn", hn)):
        if name in given:
            given[name].copy_(value.detach())
    if both:
        torch.autograd.backward([y, hn], [given.get(n, torch.zeros_like(v)) for n, v in (("dy", y), ("dhn", hn))])
        for name, leaf in leaves.items():
            if "d" + name in given:
                given["d" + name].copy_(leaf.grad)


def gru(x, w_ih, w_hh, **others):
    """torch.nn.GRU's function: the forward pass, or both passes in one call through autograd (`pass` 0 or 2). What the
    backward pass needs, PyTorch keeps itself."""
    recurrent(x, w_ih, w_hh, others, allow_tf32=False)


def gru_tf32(x, w_ih, w_hh, **others):
    """The same as PyTorch is by default: on a GPU products may then round their operands to tf32."""
    recurrent(x, w_ih, w_hh, others, allow_tf32=True)


def gru_forward(x, w_ih, w_hh, **others):
    """torch.nn.GRU's function without gradients."""
    if others["pass"] != 0:
        raise NotImplementedError("only the forward pass is offered")
    gru(x, w_ih, w_hh, **others)

