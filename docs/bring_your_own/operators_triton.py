"""Kernels in Triton behind `--python`: a program for each row.

    TRITON_INTERPRET=1 warpcheck verify softmax --python docs/bring_your_own/operators_triton.py:softmax
    warpcheck verify softmax --python docs/bring_your_own/operators_triton.py:softmax --device cuda

With TRITON_INTERPRET=1 Triton runs its programs by an interpreter, on tensors of the CPU.
"""
import torch
import triton
import triton.language as tl

LONGEST = 65536  # columns of a row that one program holds


# Compiled once for all addresses and distances: otherwise the order of additions, and the bits, depend on them.
@triton.jit(do_not_specialize=["ldx", "ldy", "cols"], do_not_specialize_on_alignment=["x", "y"])
def softmax_rows(x, y, ldx, ldy, cols, block: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    i = tl.arange(0, block)
    v = tl.load(x + row * ldx + i, mask=i < cols, other=-float("inf")).to(tl.float32)
    # tl.max may pass a NaN over: here it is added, and makes its row NaN.
    terms = tl.exp(v - tl.max(v, axis=0)) + tl.sum(tl.where(v != v, v, 0.0), axis=0)
    # A quotient by / would be approximate: k equal maxima have to give 1/k, rounded.
    quotients = tl.div_rn(terms, tl.zeros_like(terms) + tl.sum(terms, axis=0))
    tl.store(y + row * ldy + i, quotients.to(y.dtype.element_ty), mask=i < cols)


def softmax(x, y):
    x, y = torch.from_dlpack(x), torch.from_dlpack(y)
    rows, cols = x.shape
    if cols > LONGEST:
        raise NotImplementedError(f"rows of more than {LONGEST} columns")
    if rows and cols:
        block = triton.next_power_of_2(cols)
        warps = min(16, max(1, block // 1024))
        softmax_rows[(rows,)](x, y, x.stride(0), y.stride(0), cols, block=block, num_warps=warps)


softmax.dtypes = ["f32", "f16", "bf16"]
