"""Operators in NumPy behind `--python`: templates, correct by the contracts in kernels/<op>/<op>.hpp, and slow.

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
    """The maximum of each row, the exponentials of the distances from it, and their sum without one maximal term."""
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
        largest[largest == numpy.inf] = numpy.nan  # an infinite logit makes its whole row NaN
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
    a, b, c = arrays(a, b, c)
    a, b = (a.T if ta else a).astype("f8"), (b.T if tb else b).astype("f8")
    result = alpha * (a @ b) if alpha else numpy.zeros(c.shape)  # with alpha = 0 a and b are not read
    if beta:
        result += beta * numpy.asarray(c_in).astype("f8")
    if bias is not None:
        result += numpy.asarray(bias)
    c[...] = 1 / (1 + numpy.exp(-(result - mu) * sigma)) if sigmoid else result


def histogram(hist=None, *, stage, accum, max_rows, bins=None, cols=None, g=None, h=None, gh=None, rows=None, **others):
    """Stage 0 of dense bins on the grid of fixed64, and stage 3, quantised: kernels/histogram/histogram.hpp."""
    if bins is None or stage not in (0, 3) or (stage == 0 and accum != 0):
        raise NotImplementedError("this template sums dense bins on a grid, or quantised")
    bins, cols, hist = arrays(bins, cols, hist)
    listed = numpy.arange(len(bins)) if rows is None else numpy.asarray(rows)
    if len(listed) > max_rows:
        raise ValueError(f"max_rows is {max_rows}, must be at least the {len(listed)} rows of the leaf")
    if stage == 3:
        gh = numpy.asarray(gh)
        parts = [gh[:, 0].astype("i2").astype("i8"), gh[:, 1].astype("i8")]
        exponents = [0, 0]
    else:
        broken = [~numpy.isfinite(v) for v in arrays(g, h)]
        values = [numpy.where(b, 0, v) for v, b in zip(arrays(g, h), broken)]
        exponents = [grid_exponent(v, max_rows) for v in values]
        parts = [numpy.rint(numpy.ldexp(v.astype("f8"), e)).astype("i8") for v, e in zip(values, exponents)]
    sums = numpy.zeros((len(hist), 2), "i8")
    for c in range(bins.shape[1]):
        skipped = cols[c, 1] >> 32
        of_rows = bins[listed, c].astype("i8")
        stored = of_rows >= skipped
        for k, part in enumerate(parts):
            numpy.add.at(sums[:, k], cols[c, 0] + of_rows[stored] - skipped, part[listed][stored])
    for k, e in enumerate(exponents):
        hist[:, k] = sums[:, k] if stage == 3 else numpy.ldexp(sums[:, k].astype("f8"), -e)
    for c in range(bins.shape[1] if stage == 0 else 0):  # what is not finite stays in its slots
        skipped = cols[c, 1] >> 32
        of_rows = bins[listed, c].astype("i8")
        for k, b in enumerate(broken):
            hist[cols[c, 0] + of_rows[(of_rows >= skipped) & b[listed]] - skipped, k] = numpy.nan


histogram.states = "lacks slots, accum!=0, stage=1, stage=2"


def grid_exponent(values, max_rows):
    largest = numpy.abs(values).max(initial=0)
    if largest == 0:
        return 0
    return 53 - int(numpy.ceil(numpy.log2(max(1, max_rows)))) - int(numpy.frexp(largest)[1])


@numpy.errstate(all="ignore")
def gru(x, w_ih, w_hh, **others):
    """Both passes; kernels/gru/gru.hpp has the formulas. What is optional is in `others`, and `pass`: 0 is the forward
    pass, 1 the backward one from y_in and history_in, 2 both."""
    given = {n: numpy.asarray(v) for n, v in others.items() if v is not None}
    refuse_gru(given, others["pass"], others["history_mode"])
    run = gru_pass(*(numpy.asarray(t).astype("f8") for t in (x, w_ih, w_hh)), given)
    for d in range(run.directions):
        if others["pass"] != 1:
            run.forward(d)
        if others["pass"] != 0:
            run.backward(d)
    if others["pass"] != 0 and "dx" in given:
        given["dx"][...] = run.dx


def refuse_gru(given, which, history_mode):
    if which != 0 and history_mode == 0:
        raise ValueError("history_mode is none, must be save or recompute for a backward pass")
    gradients = ("dx", "dh0", "dh_reset", "dw_ih", "dw_hh", "db_ih", "db_hh", "trace_e")
    unwanted = gradients if which == 0 else ("y", "hn", "history") if which == 1 else ()
    if history_mode != 1:
        unwanted += ("history",)
    for name in unwanted:
        if name in given:
            raise ValueError(f"{name} is there, must be null for this pass and history_mode")


class gru_pass:
    def __init__(self, x, w_ih, w_hh, given):
        self.x, self.w_ih, self.w_hh, self.given = x, w_ih, w_hh, given
        self.steps, batch = x.shape[:2]
        self.directions, self.width = w_hh.shape[0], w_hh.shape[2]
        shape = (self.directions, batch, self.width)
        self.h0, self.h_reset, self.dhn = (self.of(n, shape) for n in ("h0", "h_reset", "dhn"))
        self.b_ih, self.b_hh = (self.of(n, (self.directions, 3 * self.width)) for n in ("b_ih", "b_hh"))
        self.y, self.history = (given.get(n + "_in" if given["pass"] == 1 else n) for n in ("y", "history"))
        for name, there in (("y", self.y), ("history", self.history)):
            if there is None and (name == "y" or given["history_mode"] == 1):
                raise ValueError(f"{name} is null, must be there whatever else is wanted")
        for name in ("b_ih", "b_hh"):
            if "d" + name in given and name not in given:
                raise ValueError(f"d{name} is wanted without {name}")
        lengths = given.get("lengths", numpy.full(batch, self.steps))
        self.lengths = numpy.clip(lengths, 0, self.steps)
        self.marks = numpy.zeros((self.steps + 1, batch), bool)
        if "reset" in given:
            self.marks[: self.steps] = given["reset"] != 0
        self.marks &= numpy.arange(self.steps + 1)[:, None] < self.lengths
        self.dx = numpy.zeros(x.shape)

    def of(self, name, shape):
        return self.given[name].astype("f8") if name in self.given else numpy.zeros(shape)

    def order(self, d):
        return range(self.steps) if d == 0 else range(self.steps - 1, -1, -1)

    def columns(self, d):
        return slice(d * self.width, (d + 1) * self.width)

    def step(self, d, t):
        """Which rows have this step and which begin a segment in it, as columns, and the state that enters."""
        visited = (t < self.lengths)[:, None]
        begins = self.marks[t if d == 0 else t + 1][:, None]
        last = t - 1 if d == 0 else t + 1
        carried = self.h0[d]
        if 0 <= last < self.steps:
            comes = numpy.ones_like(visited) if d == 0 else (last < self.lengths)[:, None]
            carried = numpy.where(comes, self.y[last, :, self.columns(d)], carried)
        return visited, begins, numpy.where(begins, self.h_reset[d], carried).astype("f8")

    def gates(self, d, t, before):
        from_input = self.x[t] @ self.w_ih[d].T + self.b_ih[d]
        return gates_of(from_input, before @ self.w_hh[d].T + self.b_hh[d], self.width)

    def forward(self, d):
        final = self.h0[d]
        for t in self.order(d):
            visited, _, before = self.step(d, t)
            gates = self.gates(d, t, before)
            _, z, n, _ = gates
            state = (1 - z) * n + z * before
            self.y[t, :, self.columns(d)] = numpy.where(visited, state, 0)
            final = numpy.where(visited, self.y[t, :, self.columns(d)], final)
            if self.history is not None:
                self.history[d, t] = numpy.where(visited, numpy.concatenate(gates, axis=1), 0)
        if "hn" in self.given:
            self.given["hn"][d] = final

    def backward(self, d):
        sums = {n: 0.0 for n in ("dw_ih", "dw_hh", "db_ih", "db_hh", "dh_reset")}
        dh = self.dhn[d].astype("f4")
        for t in reversed(self.order(d)):
            visited, begins, before = self.step(d, t)
            if self.history is not None:
                r, z, n, hn = numpy.split(self.history[d, t].astype("f8"), 4, axis=1)
            else:  # as a forward pass stores them
                r, z, n, hn = (g.astype("f4").astype("f8") for g in self.gates(d, t, before))
            e = dh if "dy" not in self.given else self.given["dy"][t, :, self.columns(d)] + dh  # in f32, as dh is
            d_n = e * (1 - z) * (1 - n * n)
            d_r, d_z = d_n * hn * r * (1 - r), e * (before - n) * z * (1 - z)
            dgi = numpy.where(visited, numpy.concatenate([d_r, d_z, d_n], axis=1), 0)
            dgh = numpy.where(visited, numpy.concatenate([d_r, d_z, d_n * r], axis=1), 0)
            sums["dw_ih"] += dgi.T @ numpy.where(visited, self.x[t], 0)
            sums["dw_hh"] += dgh.T @ numpy.where(visited, before, 0)
            sums["db_ih"] += dgi.sum(axis=0)
            sums["db_hh"] += dgh.sum(axis=0)
            self.dx[t] += numpy.where(visited, dgi @ self.w_ih[d], 0)
            entered = e * z + dgh @ self.w_hh[d]
            sums["dh_reset"] += numpy.where(visited & begins, entered, 0)
            dh = numpy.where(visited, numpy.where(begins, 0, entered), dh).astype("f4")
            if "trace_e" in self.given:
                self.given["trace_e"][d, t] = numpy.where(visited, e, 0)
        for name, value in {**sums, "dh0": dh}.items():
            if name in self.given:
                self.given[name][d] = value


def gates_of(from_input, from_state, width):
    """r, z, n and the part of n that comes from the state."""
    r, z, n = (slice(k * width, (k + 1) * width) for k in range(3))
    reset = 1 / (1 + numpy.exp(-(from_input[:, r] + from_state[:, r])))
    keep = 1 / (1 + numpy.exp(-(from_input[:, z] + from_state[:, z])))
    return reset, keep, numpy.tanh(from_input[:, n] + reset * from_state[:, n]), from_state[:, n]


# ---- best_split: kernels/best_split/best_split.hpp has the contract; plain loops, for leaves of few bins

EPS = float(numpy.float32(1e-15))
NO_SPLIT = 0xFFFFFFFF


@numpy.errstate(all="ignore")
def best_split(value, field, cat, *, leaf=None, in_value=None, in_field=None, in_cat=None, per_leaf=1, **others):
    """Both stages but for LightGBM's conventions; the second has records as inputs."""
    value, field, cat = arrays(value, field, cat)
    if leaf is not None:
        if others["lightgbm_cuda"]:
            raise NotImplementedError("this template has the strict conventions alone")
        tables = {n: numpy.asarray(others[n]) for n in ("hist", "count", "feature", "used") if others[n] is not None}
        for name, v in others.items():
            if not hasattr(v, "shape") and v is not None and not 0 <= v < numpy.inf:
                raise ValueError(f"{name} is {v}, must be finite and >= 0")
        rows_of_slots = tables["count"].size
        if rows_of_slots not in (0, len(tables["hist"])):
            raise ValueError(f"count has {rows_of_slots} elements, must have one for each slot or none")
        for i, row in enumerate(numpy.asarray(leaf)):
            write_record(split_leaf(i, [float(v) for v in row], tables, others).best, value[i], field[i], cat[i])
        return
    records = arrays(in_value, in_field, in_cat)
    for i in range(len(value)):
        group = range(int(per_leaf) * i, int(per_leaf) * (i + 1))
        ranked = [k for k in group if records[1][k, 0] & 255 and not numpy.isnan(records[0][k, 0])]
        if not ranked:
            write_record(None, value[i], field[i], cat[i])
            continue
        best = min(ranked, key=lambda k: (-records[0][k, 0], records[1][k, 1], not records[1][k, 0] >> 8 & 255,
                                          records[1][k, 2]))
        value[i], field[i], cat[i] = (r[best] for r in records)
        cat[i, field[i, 3] :] = NO_SPLIT


def write_record(best, value, field, cat):
    """A record is its gain, its rank, what it is, its sides (sums, gain, value, rows), and its categories."""
    cat[...] = NO_SPLIT
    if best is None:
        value[...], field[...] = numpy.nan, [0, -1, NO_SPLIT, 0, -1, -1]
        value[0] = -numpy.inf
        return
    _, (feature, default_left, threshold), left, right, categories = best
    value[...] = numpy.array([best[0], *left[:4], *right[:4]]) + 0.0  # no number is -0
    field[...] = [1 | default_left << 8, feature, threshold, len(categories), left[4], right[4]]
    cat[: len(categories)] = categories


def running_sums(values):
    """Compensated (Neumaier, ZAMM 54, 1974)."""
    total = lost = 0.0
    for v in values:
        new = total + v
        lost += (total - new) + v if abs(total) >= abs(v) else (v - new) + total
        total = new
        yield total + lost


def drawn(seed, feature, size):
    mask = (1 << 64) - 1
    z = (seed + (feature + 1) * 0x9E3779B97F4A7C15) & mask
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & mask
    z = (z ^ z >> 27) * 0x94D049BB133111EB & mask
    return ((z ^ z >> 31) >> 32) * size >> 32


class split_leaf:
    def __init__(self, number, row, tables, settings):
        self.s, self.tables, self.best = settings, tables, None
        self.base, self.g, self.h, self.n, self.parent_gain, self.parent_output, seed = row
        self.base, self.n, self.seed = int(self.base), int(self.n), int(seed)
        least = settings["min_data"] or (0 if settings["min_hessian"] else 1)
        self.least = int(max(2, least) if settings["path_smooth"] > 0 else least)
        smooth = self.parent_output if settings["path_smooth"] > 0 else 0.0
        is_finite = numpy.isfinite([self.g, self.h, self.parent_gain, smooth]).all()
        if not (is_finite and self.n > self.least and self.h > settings["min_hessian"]):
            return
        used = tables.get("used", numpy.zeros((0, 0)))
        for k, feature in enumerate(tables["feature"]):
            if feature[1] >= 2 and (used.size == 0 or used[number, k]):
                self.scan(*(int(v) for v in feature))

    def scan(self, feature, bins, default_bin, offset, unstored, missing, categorical):
        first = self.base + offset
        stored = self.tables["hist"][first : first + bins - unstored]
        if not numpy.isfinite(stored).all():
            return
        counts = self.tables.get("count", numpy.zeros(0))
        self.counted = counts.size > 0
        rows = [int(c) for c in counts[first : first + bins - unstored]] if self.counted else [0] * len(stored)
        masses = [(float(g), float(h), r) for (g, h), r in zip(stored, rows)]
        if unstored:
            sums = [([0.0] + list(running_sums(m[k] for m in masses)))[-1] for k in range(2)]
            masses.insert(0, (self.g - sums[0], self.h - sums[1], self.n - sum(rows) if self.counted else 0))
        if not categorical:
            self.scan_numbers(feature, masses, default_bin, missing)
        elif bins <= self.s["max_onehot"]:
            only = 1 + drawn(self.seed, feature, bins - 1) if self.s["extra_trees"] else None
            for b in range(1, bins):
                if only in (None, b):
                    self.see(feature, False, b, masses[b], False, [b], self.s["lambda_l2"])
        else:
            self.scan_categories(feature, masses)

    def scan_numbers(self, feature, masses, default_bin, missing):
        bins = len(masses)
        has_missing = bins > 2 and missing != 0
        skipped = None if not has_missing else bins - 1 if missing == 2 else default_bin
        only = None if not self.s["extra_trees"] else 0 if bins <= 2 else drawn(self.seed, feature, bins - 1)
        alone_left = missing == 0 or (missing == 1 and default_bin == 0)
        for right, default_left in ((False, False), (True, True)) if has_missing else ((True, alone_left),):
            order = [b for b in (range(bins - 1, 0, -1) if right else range(bins - 1)) if b != skipped]
            for b, mass in zip(order, self.prefixes([masses[b] for b in order])):
                threshold = b - 1 if right else b
                if only in (None, threshold):
                    self.see(feature, default_left, threshold, mass, right, [], self.s["lambda_l2"])

    def prefixes(self, masses):
        rows = numpy.cumsum([m[2] for m in masses], dtype="i8")
        return zip(running_sums(m[0] for m in masses), running_sums(m[1] for m in masses), (int(r) for r in rows))

    def scan_categories(self, feature, masses):
        smooth, keys = self.s["cat_smooth"], {}
        for b, (g, h, rows) in list(enumerate(masses))[1:]:
            key = float(numpy.divide(g, h + smooth))
            if (rows if self.counted else self.rows_of(h)) >= smooth and numpy.isfinite(key):
                keys[b] = key
        order = sorted(keys, key=lambda b: (keys[b], b))
        longest = int(min(self.s["max_cat"], (len(order) + 1) // 2))
        for from_high in (False, True):
            self.walk(feature, masses, order[::-1] if from_high else order, longest, from_high)

    def walk(self, feature, masses, order, longest, from_high):
        tested, least_h, l2 = 0, self.s["min_hessian"], self.s["lambda_l2"] + self.s["cat_l2"]
        for k, (g, h, rows) in enumerate(self.prefixes([masses[b] for b in order[:longest]])):
            left = rows if self.counted else self.rows_of(h)
            if not left >= 0:
                continue
            if left > self.n:
                break
            if not h + EPS >= least_h or left < self.least:
                continue
            if not (self.h - h) + EPS >= least_h or self.n - left < max(self.least, self.s["min_group"]):
                break
            if left - tested < self.s["min_group"]:
                continue
            tested = left
            if self.s["extra_trees"] and k != drawn(self.seed, feature, longest):
                continue
            listed = order[k::-1] if from_high else order[: k + 1]
            self.see(feature, False, longest + k if from_high else k, (g, h, rows), False, listed, l2)

    def rows_of(self, h):
        return float(numpy.rint(h * (self.n / (self.h + 2 * EPS))))

    def see(self, feature, default_left, threshold, mass, right, categories, l2):
        """Evaluates a candidate whose one side has this mass, and stores it if it is the best so far."""
        left = (self.g - mass[0], self.h - mass[1]) if right else mass[:2]
        right_sums = (self.g - left[0], self.h - left[1])
        rows = mass[2] if self.counted else self.rows_of(right_sums[1] if right else left[1])
        if not 0 <= rows <= self.n:
            return
        of_left = self.n - int(rows) if right else int(rows)
        sides = [self.side(*left, of_left, l2), self.side(*right_sums, self.n - of_left, l2)]
        if None in sides:
            return
        total, shift = sides[0][2] + sides[1][2], self.parent_gain + self.s["min_gain"]
        gain = total - shift
        rank = (feature, default_left, threshold)
        if not total > shift or not numpy.isfinite(gain):
            return
        key = (-gain, feature, not default_left, threshold)
        if self.best is None or key < (-self.best[0], self.best[1][0], not self.best[1][1], self.best[1][2]):
            self.best = (gain, rank, *sides, categories)

    def side(self, g, h, rows, l2):
        """Sums, gain, value and rows; None where a gate is closed."""
        d = (h + EPS) + l2
        if not h + EPS >= self.s["min_hessian"] or rows < self.least or not d > 0:
            return None
        l1, smooth = self.s["lambda_l1"], self.s["path_smooth"]
        t = 0.0 if abs(g) <= l1 else g - float(numpy.copysign(l1, g))
        r = float(numpy.divide(rows, smooth)) if smooth > 0 else numpy.inf
        if numpy.isinf(r):
            w, gain = -t / d, (t * t) / d
        else:
            w = ((-t / d) * r) / (r + 1) + self.parent_output / (r + 1)
            gain = -((2 * t) * w + (d * w) * w)
        return (g, h, gain, w, rows) if numpy.isfinite([g, h, gain, w]).all() else None


# The element types of the first input that a function takes. Default: f32, or all types if there is no f32.
softmax.dtypes = log_softmax.dtypes = logsumexp.dtypes = argmax.dtypes = sigmoid.dtypes = ["f32", "f16"]
reduce.dtypes = ["f32", "f64"]
scan.dtypes = ["f32", "f64", "i64"]
