"""Operators in NumPy behind `--python`: a template for each, correct by the contract in kernels/<op>/<op>.hpp, and slow.

    warpcheck verify softmax --python docs/bring_your_own/operators_numpy.py:softmax

Tensors are in memory that warpcheck shares: a result has to be written into its output. NumPy before 2.1 makes arrays
that cannot be written of what speaks DLPack, hence `asarray` here.
"""
import numpy


def arrays(*tensors):
    return [numpy.asarray(t) for t in tensors]


def first_maximum(x):  # NaN counts as the largest; a row without elements has none
    return numpy.argmax(x, axis=1) if x.shape[1] else -1


def shifted_terms(x):
    """Of each row the maximum, the exponentials of the distances from it, and their sum but for one 1."""
    largest = x.max(axis=1, keepdims=True)
    terms = numpy.exp(x - largest)
    others = terms.copy()
    others[numpy.arange(len(x)), numpy.argmax(x, axis=1)] = 0
    return largest, terms, others.sum(axis=1, keepdims=True)


@numpy.errstate(all="ignore")
def softmax(x, y, index=None):
    x, y = arrays(x, y)
    if index is not None:
        numpy.asarray(index)[...] = first_maximum(x)
    if x.shape[1]:
        _, terms, _ = shifted_terms(x.astype("f8"))
        y[...] = terms / terms.sum(axis=1, keepdims=True)


@numpy.errstate(all="ignore")
def log_softmax(x, y):
    x, y = arrays(x, y)
    if x.size:
        x = x.astype("f8")
        largest, _, others = shifted_terms(x)
        y[...] = (x - largest) - numpy.log1p(others)


@numpy.errstate(all="ignore")
def logsumexp(x, y):
    x, y = arrays(x, y)
    if x.shape[1] == 0:
        y[...] = -numpy.inf
        return
    largest, _, others = shifted_terms(x.astype("f8"))
    sums = (largest + numpy.log1p(others))[:, 0]
    y[...] = numpy.where(numpy.isinf(largest[:, 0]), largest[:, 0], sums)


def argmax(x, index):
    x, index = arrays(x, index)
    index[...] = first_maximum(x)


@numpy.errstate(all="ignore")
def sigmoid(x, y, mu, sigma):
    x, y = arrays(x, y)
    shift, gain = numpy.float32(mu), numpy.float32(sigma)
    z = (x.astype("f4") - shift).astype("f8") * gain  # a difference beyond f32 counts as infinite
    y[...] = 1 / (1 + numpy.exp(-z))


@numpy.errstate(all="ignore")
def reduce(x, y, op):
    x, y = arrays(x, y)
    if op == 0:
        y[...] = x.sum(axis=1) + 0.0  # a sum starts from +0
        return
    keys = x if op == 1 else -x  # the maximum is the negated minimum of the negated
    least = keys.min(axis=1, initial=numpy.inf)
    has_negative_zero = ((keys == 0) & numpy.signbit(keys)).any(axis=1)
    least = numpy.where((least == 0) & has_negative_zero, -0.0, least)
    y[...] = least if op == 1 else -least


@numpy.errstate(all="ignore")
def scan(x, y, kind):
    x, y = arrays(x, y)
    if not x.size:
        return
    wide = x.astype(numpy.longdouble) if x.dtype.kind == "f" else x
    sums = numpy.cumsum(wide, axis=1)
    if kind == 1:
        sums = numpy.concatenate([numpy.zeros_like(sums[:, :1]), sums[:, :-1]], axis=1)
    y[...] = sums


def argsort(x, index, order):
    x, index = arrays(x, index)
    keys = numpy.where(numpy.isnan(x), numpy.nan, -x if order else x)  # NaN of either sign comes last
    index[...] = numpy.argsort(keys, axis=1, kind="stable")


@numpy.errstate(all="ignore")
def matmul(a, b, c, *, ta, tb, alpha, beta, sigmoid, mu, sigma, mode, rows_alone, c_in=None, bias=None):
    if (beta != 0) != (c_in is not None):
        raise ValueError(f"c_in is {c_in}, must have elements where beta is not 0 alone")
    if c_in is not None and (c_in.data, c_in.strides) != (c.data, c.strides):
        raise ValueError("c_in lies elsewhere than c, must be the same memory")
    a, b, c = arrays(a, b, c)
    a, b = (a.T if ta else a).astype("f8"), (b.T if tb else b).astype("f8")
    result = alpha * (a @ b) if alpha else numpy.zeros(c.shape)  # with alpha = 0 a and b are not read
    if beta:
        result += beta * numpy.asarray(c_in)
    if bias is not None:
        result += numpy.asarray(bias)
    c[...] = 1 / (1 + numpy.exp(-(result - mu) * sigma)) if sigmoid else result


def histogram(hist=None, *, stage, accum, max_rows, bins=None, cols=None, g=None, h=None, gh=None, rows=None, **others):
    """Stage 0 of dense bins on the grid of fixed64, and stage 3, quantised; kernels/histogram/histogram.hpp says the rest."""
    if bins is None or stage not in (0, 3) or (stage == 0 and accum != 0):
        raise NotImplementedError("this template sums dense bins on a grid, or quantised")
    bins, cols, hist = arrays(bins, cols, hist)
    if stage == 3:
        gh = numpy.asarray(gh)
        parts = [gh[:, 0].astype("i2").astype("i8"), gh[:, 1].astype("i8")]
        exponents = [0, 0]
    else:
        values = arrays(g, h)
        exponents = [grid_exponent(v, max_rows) for v in values]
        if not all(numpy.isfinite(v).all() for v in values):
            raise NotImplementedError("this template takes finite gradients")
        parts = [numpy.rint(numpy.ldexp(v.astype("f8"), e)).astype("i8") for v, e in zip(values, exponents)]
    listed = numpy.arange(len(bins)) if rows is None else numpy.asarray(rows)
    sums = numpy.zeros((len(hist), 2), "i8")
    for c in range(bins.shape[1]):
        skipped = cols[c, 1] >> 32
        of_rows = bins[listed, c].astype("i8")
        stored = of_rows >= skipped
        for k, part in enumerate(parts):
            numpy.add.at(sums[:, k], cols[c, 0] + of_rows[stored] - skipped, part[listed][stored])
    for k, e in enumerate(exponents):
        hist[:, k] = sums[:, k] if stage == 3 else numpy.ldexp(sums[:, k].astype("f8"), -e)


def grid_exponent(values, max_rows):
    largest = numpy.abs(values).max(initial=0)
    if largest == 0:
        return 0
    return 53 - int(numpy.ceil(numpy.log2(max(1, max_rows)))) - int(numpy.frexp(largest)[1])


@numpy.errstate(all="ignore")
def gru(x, w_ih, w_hh, *, y=None, b_ih=None, b_hh=None, h0=None, lengths=None, h_reset=None, reset=None, hn=None,
        history=None, **others):
    """The forward pass; kernels/gru/gru.hpp has the formulas. What is wanted besides is in `others`, `pass` among it."""
    if others["pass"] != 0:
        raise NotImplementedError("this template is a forward pass")
    x, w_ih, w_hh = (numpy.asarray(t).astype("f8") for t in (x, w_ih, w_hh))
    steps, batch = x.shape[:2]
    directions, width = w_hh.shape[0], w_hh.shape[2]
    nothing = numpy.zeros((directions, 3 * width))
    b_ih, b_hh = (nothing if t is None else numpy.asarray(t) for t in (b_ih, b_hh))
    no_state = numpy.zeros((directions, batch, width))
    h0, h_reset = (no_state if t is None else numpy.asarray(t).astype("f8") for t in (h0, h_reset))
    lengths = numpy.full(batch, steps) if lengths is None else numpy.clip(numpy.asarray(lengths), 0, steps)
    marks = numpy.zeros((steps + 1, batch), bool)
    if reset is not None:
        marks[:steps] = numpy.asarray(reset) != 0
    marks &= numpy.arange(steps + 1)[:, None] < lengths
    for d in range(directions):
        state = h0[d]
        for t in range(steps) if d == 0 else reversed(range(steps)):
            begins = marks[t if d == 0 else t + 1]
            before = numpy.where(begins[:, None], h_reset[d], state)
            gates = gates_of(x[t] @ w_ih[d].T + b_ih[d], before @ w_hh[d].T + b_hh[d], width)
            _, z, n, _ = gates
            visited = (t < lengths)[:, None]
            state = numpy.where(visited, (1 - z) * n + z * before, state)
            if y is not None:
                numpy.asarray(y)[t, :, d * width : (d + 1) * width] = numpy.where(visited, state, 0)
            if history is not None:
                numpy.asarray(history)[d, t] = numpy.where(visited, numpy.concatenate(gates, axis=1), 0)
        if hn is not None:
            numpy.asarray(hn)[d] = state


def gates_of(from_input, from_state, width):
    """r, z, n and what the state adds to n."""
    r, z, n = (slice(k * width, (k + 1) * width) for k in range(3))
    reset = 1 / (1 + numpy.exp(-(from_input[:, r] + from_state[:, r])))
    keep = 1 / (1 + numpy.exp(-(from_input[:, z] + from_state[:, z])))
    return reset, keep, numpy.tanh(from_input[:, n] + reset * from_state[:, n]), from_state[:, n]


# The element types of the first input that a function takes; where nothing is said f32, or all where that is none.
softmax.dtypes = log_softmax.dtypes = logsumexp.dtypes = argmax.dtypes = sigmoid.dtypes = ["f32", "f16"]
reduce.dtypes = ["f32", "f64"]
scan.dtypes = ["f32", "f64", "i64"]
