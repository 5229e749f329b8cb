"""A softmax in NumPy behind `--python`: kernels/softmax.hpp is its contract.

    warpcheck verify softmax --python docs/bring_your_own/softmax_numpy.py:softmax

x and y are in memory that warpcheck shares: the result has to be written into y. NumPy before 2.1 makes arrays that
cannot be written of what speaks DLPack; there, say `numpy.asarray(y)`.
"""
import numpy


def softmax(x, y, index=None):
    x, y = numpy.from_dlpack(x), numpy.from_dlpack(y)
    if index is not None:
        largest = numpy.argmax(x, axis=1) if x.shape[1] else -1  # the first of equal ones; NaN counts as the largest
        numpy.from_dlpack(index)[...] = largest
    if x.shape[1] == 0:
        return
    with numpy.errstate(all="ignore"):
        terms = numpy.exp(x.astype("f8") - x.max(axis=1, keepdims=True))
        y[...] = terms / terms.sum(axis=1, keepdims=True)


softmax.dtypes = ["f32", "f16"]  # what it takes; f32 where nothing is said
