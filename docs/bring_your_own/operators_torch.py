"""PyTorch's operators behind `--python`, on the CPU or the GPU, as they are.

    warpcheck verify softmax --python docs/bring_your_own/operators_torch.py:softmax --device cuda

Nothing here mends a result: what fails is PyTorch's answer against the contract of kernels/<op>/<op>.hpp, which is
stricter than PyTorch's documentation (docs/trials/pytorch.md). What PyTorch does not offer is answered with
NotImplementedError.
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
