"""Writes the golden files of best_split whose truth comes from outside: LightGBM and XGBoost, on the CPU.

  pip install mpmath==1.4.1 scipy==1.17.1 lightgbm==4.6.0 xgboost-cpu==3.2.0

Each program grows a tree of two leaves on small integers, which it bins one to one, with gradients and hessians whose
sums are exact. Its leaves must be one of the best splits that the contract (kernels/best_split/best_split.hpp) allows,
found here by trying all of them in rational numbers; of several with the same gain the file states the first in the
contract's order. Hessians, sums and gain of the program must be those of the file as far as it prints them, sums and
gain are then written exactly. Rows of the sides come from the program where it counts them.
"""

import json
import math
from fractions import Fraction

import oracle

LIGHTGBM, XGBOOST = "4.6.0", "3.2.0"
DIGITS = 10
NONE, ZERO, NAN = 0, 1, 2  # what is missing, as in the feature table of a case
if not oracle.PROBLEM:
    try:
        import lightgbm
        import numpy
        import xgboost

        if (lightgbm.__version__, xgboost.__version__) != (LIGHTGBM, XGBOOST):
            oracle.PROBLEM = (f"lightgbm {LIGHTGBM} and xgboost {XGBOOST} are needed, found {lightgbm.__version__} and "
                              f"{xgboost.__version__}")
    except ImportError as error:
        oracle.PROBLEM = f"lightgbm {LIGHTGBM} and xgboost {XGBOOST} are needed: {error}"


def lightgbm_cases():
    """name, seed, rows, lowest and highest value of each feature, one row of so many has no value, settings."""
    yield "plain", 1, 200, [(0, 6), (0, 11), (0, 2)], 0, {}
    yield "nan", 2, 200, [(0, 6), (0, 11), (0, 2)], 5, {}
    yield "nan-few-bins", 3, 120, [(0, 2), (0, 2), (0, 1)], 3, {}
    yield "zero", 4, 200, [(-3, 3), (0, 6), (-5, 0)], 0, {"zero_as_missing": True}
    yield "penalties", 5, 200, [(0, 9), (0, 4), (0, 30)], 4, {"lambda_l1": 4.0, "lambda_l2": 8.0}
    yield "gates", 6, 150, [(0, 40), (0, 20)], 0, {"min_data": 60}
    yield "many-bins", 7, 2000, [(0, 250), (0, 99)], 0, {}
    yield "many-nan", 8, 2000, [(0, 250), (0, 99)], 2, {}


def xgboost_cases():
    """The same. "hessians": they are multiples of 1/64 up to 1, not 1; "missing": what a missing value adds to a
    gradient, of an order of 1."""
    yield "plain", 11, 200, [(0, 6), (0, 11), (0, 2)], 0, {}
    yield "hessians", 12, 200, [(0, 6), (0, 11), (0, 2)], 0, {"hessians": True}
    yield "nan", 13, 200, [(0, 6), (0, 11), (0, 2)], 5, {"hessians": True}
    yield "nan-left", 25, 200, [(0, 6), (0, 11)], 4, {"hessians": True, "missing": -0.5}
    yield "nan-alone", 14, 120, [(0, 0), (0, 0)], 3, {}  # a value or none: two bins
    yield "nan-few-bins", 15, 120, [(0, 1), (0, 2), (0, 1)], 3, {"hessians": True}
    yield "zero", 16, 200, [(-3, 3), (0, 6), (-5, 0)], 0, {"hessians": True, "zero_as_missing": True}
    yield "l2", 17, 200, [(0, 9), (0, 4), (0, 30)], 4, {"hessians": True, "lambda_l2": 8.0}
    yield "penalties", 18, 200, [(0, 9), (0, 4), (0, 30)], 4, {"hessians": True, "lambda_l1": 4.0, "lambda_l2": 8.0}
    yield "gates", 19, 150, [(0, 40), (0, 20)], 0, {"hessians": True, "min_hessian": 27.5}
    yield "one-value", 20, 100, [(3, 3), (0, 8)], 0, {}  # XGBoost bins what cannot be split, too
    yield "equal-features", 21, 200, [(0, 9), (0, 9), (0, 9)], 6, {"hessians": True, "equal_features": True}
    yield "many-bins", 22, 2000, [(0, 250), (0, 99)], 0, {"hessians": True}
    yield "many-nan", 23, 2000, [(0, 250), (0, 99)], 2, {"hessians": True}
    yield "beyond-256-bins", 24, 3000, [(0, 599)], 7, {"hessians": True, "lambda_l2": 1.0}


def require(condition, name, sentence):
    if not condition:
        raise SystemExit(f"{name}: {sentence}")


class Leaf:
    """The rows of a root: values of each feature (None: missing), gradients g and hessians h in units of 1/64; and its
    best splits."""

    def __init__(self, name, seed, rows, ranges, sparse, settings):
        """Gradients follow the features, as multiples of 1/4 where hessians are 1."""
        draw = oracle.Draw(seed)
        self.name = name
        self.settings = settings
        self.columns = [[] for _ in ranges]
        self.g, self.h = [], []
        for _ in range(rows):
            total = 0.0
            for number, (low, high) in enumerate(ranges):
                if settings.get("equal_features") and number > 0:
                    self.columns[number].append(self.columns[0][-1])
                    continue
                value = int(draw.uniform(low, high + 1))
                if draw.unit() < 0.3 and settings.get("zero_as_missing"):
                    value = 0
                is_missing = sparse > 0 and draw.unit() * sparse < 1
                self.columns[number].append(None if is_missing else value)
                share = settings.get("missing", 2.0) if is_missing else value / max(1, high - low)
                total += share * (1 if number == 0 else 0.5)
            gradient = total + draw.uniform(-1, 1) - 1
            hessian = int(draw.uniform(1, 65)) if settings.get("hessians") else 64
            self.g.append(round(gradient * hessian) if settings.get("hessians") else 16 * round(4 * gradient))
            self.h.append(hessian)
        self.l1, self.l2 = Fraction(settings.get("lambda_l1", 0.0)), Fraction(settings.get("lambda_l2", 0.0))
        self.values, self.features, self.bins = [], [], []
        slots = 0
        for number, column in enumerate(self.columns):
            values = sorted({v for v in column if v is not None})
            is_nan = None in column
            missing = ZERO if settings.get("zero_as_missing") else NAN if is_nan else NONE
            bins = len(values) + (1 if is_nan else 0)
            self.values.append(values)
            self.features.append([number, bins, values.index(0) if 0 in values else 0, slots, 0, missing, 0])
            index = {v: b for b, v in enumerate(values)}
            self.bins.append([index.get(v, len(values)) for v in column])
            slots += bins
        g, h = Fraction(sum(self.g), 64), Fraction(sum(self.h), 64)
        self.parent_gain = self.soft(g) ** 2 / (h + self.l2)
        self.best = self.find_best()

    def slots(self, number):
        """g, h, rows of each bin of a feature."""
        mass = [[0, 0, 0] for _ in range(self.features[number][1])]
        for b, g, h in zip(self.bins[number], self.g, self.h):
            mass[b] = [mass[b][0] + g, mass[b][1] + h, mass[b][2] + 1]
        return mass

    def soft(self, g):
        return Fraction(0) if abs(g) <= self.l1 else g - self.l1 if g > 0 else g + self.l1

    def side(self, mass, bins):
        """g, h, gain, value, rows of the bins."""
        g, h, n = (sum(mass[b][k] for b in bins) for k in range(3))
        g, h = Fraction(g, 64), Fraction(h, 64)
        t, d = self.soft(g), h + self.l2
        return (g, h, t * t / d, -t / d, n) if d > 0 else (g, h, Fraction(0), Fraction(0), n)

    def missing_bin(self, number):
        """Where missing rows are told apart."""
        _, bins, default, _, _, missing, _ = self.features[number]
        return None if bins <= 2 or missing == NONE else bins - 1 if missing == NAN else default

    def candidates(self, number):
        """default_left, threshold, bins on the left, in the contract's order of equal gains."""
        _, bins, default, _, _, missing, _ = self.features[number]
        apart = self.missing_bin(number)
        if apart is None:
            default_left = {NONE: True, NAN: False, ZERO: default == 0}[missing]
            return [(default_left, t, frozenset(range(t + 1))) for t in range(bins - 1)]
        left = [(True, t, frozenset(range(t + 1)) | {apart}) for t in range(bins - 1)
                if (t != bins - 2 if missing == NAN else t != apart - 1)]
        right = [(False, t, frozenset(range(t + 1)) - {apart}) for t in range(bins - 1) if missing == NAN or t != apart]
        return left + right

    def find_best(self):
        """gain, default_left, feature, threshold, bins of the left, sides: every split of the largest gain."""
        found = []
        least, rows = Fraction(self.settings.get("min_hessian", 0.001)), self.settings.get("min_data", 1)
        for number in range(len(self.features)):
            mass = self.slots(number)
            everything = frozenset(range(len(mass)))
            for default_left, threshold, bins in self.candidates(number):
                sides = self.side(mass, bins), self.side(mass, everything - bins)
                if min(s[1] for s in sides) < least or min(s[4] for s in sides) < rows:
                    continue
                found.append((sides[0][2] + sides[1][2] - self.parent_gain, default_left, number, threshold, bins,
                              sides))
        most = max(split[0] for split in found)
        best = [split for split in found if split[0] == most]
        # A program that rounds gains to f32 could not tell a second best that is closer.
        near = most - 2 * f32_error(*best[0][5], self.parent_gain)
        require(most > 0 and not any(near <= split[0] < most for split in found), self.name,
                "the data do not decide the split")
        return best

    def chosen(self, program, number, default_left, is_left):
        """The candidate that routes rows as a program's tree does, or the other way round: that has the same gain.
        is_left(value) speaks of values."""
        apart, values = self.missing_bin(number), self.values[number]
        bins = frozenset(b for b in range(self.features[number][1])
                         if (default_left if b == apart or b >= len(values) else is_left(values[b])))
        other = frozenset(range(self.features[number][1])) - bins
        equal = [split for split in self.best if split[2] == number and split[4] in (bins, other)]
        require(equal, self.name, f"{program} splits feature {number} into bins {sorted(bins)} and {sorted(other)}, "
                f"but bins {sorted(self.best[0][4])} of feature {self.best[0][2]} gain more")
        return equal[0], equal[0][4] == other


def f32_error(left, right, parent):
    """How far XGBoost's gain may be off where sums are exact. T T and H + lambda of the two leaves and of the root, and
    their quotients, are f32: gamma_3; the sum of the two: gamma_4; less the root's: gamma_5 and gamma_4; u = 2^-24."""
    def gamma(k):
        return k * Fraction(1, 2**24) / (1 - k * Fraction(1, 2**24))
    return gamma(5) * (left[2] + right[2]) + gamma(4) * parent


def check_lightgbm(leaf):
    """Refuses the data unless LightGBM's tree is right."""
    settings = {"min_data_in_leaf": leaf.settings.get("min_data", 5), "lambda_l1": float(leaf.l1),
                "lambda_l2": float(leaf.l2), "zero_as_missing": leaf.settings.get("zero_as_missing", False)}
    data = numpy.array([[numpy.nan if v is None else float(v) for v in row] for row in zip(*leaf.columns)])
    parameters = dict(objective="regression", boost_from_average=False, num_leaves=2, learning_rate=1.0,
                      min_data_in_bin=1, max_bin=300, num_threads=1, force_col_wise=True, deterministic=True,
                      feature_pre_filter=False, verbose=-1, min_gain_to_split=0, **settings)
    labels = -numpy.array(leaf.g) / 64
    tree = lightgbm.train(parameters, lightgbm.Dataset(data, labels, params=parameters), 1)
    root = tree.dump_model()["tree_info"][0]["tree_structure"]
    split, is_mirrored = leaf.chosen("LightGBM", root["split_feature"], root["default_left"],
                                     lambda v: v <= root["threshold"])
    children = [root["left_child"], root["right_child"]][:: -1 if is_mirrored else 1]
    # A leaf's value is -T / (H + eps + l2) in f64, T and H exact: two roundings, and eps of at most 9 u of H >= 1.
    for side, child in zip(split[5], children):
        require(abs(side[3] - Fraction(child["leaf_value"])) <= abs(side[3]) * 12 / 2**53 and
                child["leaf_weight"] == float(side[1]) and child["leaf_count"] == side[4],
                leaf.name, f"LightGBM's leaf {child} is not {side}")
    # An f32, written with 6 significant digits into the text that training ends with, and read as an f32: half a digit
    # and two roundings, and less than a third by f64.
    gain, printed = split[0], root["split_gain"]
    digit = Fraction(10) ** (math.floor(math.log10(gain)) - 5)
    require(abs(gain - Fraction(printed)) <= digit / 2 + gain * Fraction(3, 2**24),
            leaf.name, f"LightGBM's gain {printed} is not {float(gain)}")


def check_xgboost(leaf):
    """Refuses the data unless XGBoost's trees, by sorted values and by histograms, are right."""
    data = numpy.array([[numpy.nan if v is None else float(v) for v in row] for row in zip(*leaf.columns)])
    data = xgboost.DMatrix(data, label=numpy.zeros(len(leaf.g)),
                           missing=0.0 if leaf.settings.get("zero_as_missing") else numpy.nan)
    g, h = (numpy.array(values, dtype=numpy.float32) / 64 for values in (leaf.g, leaf.h))

    def number(values, at):
        return Fraction(float(numpy.float32(values[at])))  # an f32, printed with as many digits as tell it from others

    for method in ("exact", "hist"):
        booster = xgboost.Booster(dict(
            tree_method=method, max_depth=1, eta=1, reg_alpha=float(leaf.l1), reg_lambda=float(leaf.l2), max_bin=1024,
            min_child_weight=leaf.settings.get("min_hessian", 0.001), base_score=0.0, nthread=1, verbosity=0), [data])
        booster.boost(data, 0, grad=g, hess=h)
        tree = json.loads(booster.save_raw("json"))["learner"]["gradient_booster"]["model"]["trees"][0]
        program = f"XGBoost ({method})"
        require(tree["left_children"] == [1, -1, -1], leaf.name, f"{program} finds no split")
        split, is_mirrored = leaf.chosen(program, tree["split_indices"][0], bool(tree["default_left"][0]),
                                         lambda v: v < tree["split_conditions"][0])
        for side, child in zip(split[5], (2, 1) if is_mirrored else (1, 2)):
            # A leaf's value is the f32 of -T/(H + lambda), so that a T on the grid of 1/64 below 2^16 follows from it.
            value, hessian = number(tree["base_weights"], child), number(tree["sum_hessian"], child)
            t = Fraction(round(-value * (hessian + leaf.l2) * 64), 64)
            require(hessian == side[1] and t == leaf.soft(side[0]) and abs(t) < 2**16,
                    leaf.name, f"{program}'s leaf of hessian {float(hessian)} and gradient {float(t)} is not {side}")
        gain = number(tree["loss_changes"], 0)
        require(abs(gain - split[0]) <= f32_error(*split[5], leaf.parent_gain),
                leaf.name, f"{program}'s gain {float(gain)} is not {float(split[0])}")


def split_file(program, source, check, name, seed, *data):
    leaf = Leaf(f"{program}-{name}", seed, *data)
    check(leaf)
    gain, default_left, number, threshold, _, sides = leaf.best[0]

    def text(value):
        return oracle.decimal(oracle.mpmath.mpf(value.numerator) / value.denominator, DIGITS)

    oracle.mpmath.mp.dps = 50
    value = [text(v) for v in (gain, *sides[0][:4], *sides[1][:4])]
    field = [0x101 if default_left else 1, number, threshold, 0, sides[0][4], sides[1][4]]
    names = ("lambda_l1", "lambda_l2", "min_data", "min_hessian")
    knobs = {key: leaf.settings[key] for key in names if key in leaf.settings}
    if program == "lightgbm":
        knobs.setdefault("min_data", 5)
    knobs = " ".join(f"{key}={knobs[key]:g}" for key in sorted(knobs))
    mass = [slot for i in range(len(leaf.features)) for slot in leaf.slots(i)]
    rows = len(leaf.g)
    listed = [(f"hist=f64[{len(mass)}x2]", [v / 64 for slot in mass for v in slot[:2]]),
              (f"count=i64[{len(mass)}]", [slot[2] for slot in mass]),
              (f"feature=i64[{len(leaf.features)}x7]", [v for row in leaf.features for v in row]),
              (f"used=u8[1x{len(leaf.features)}]", [1] * len(leaf.features)),
              ("leaf=f64[1x7]", [0, sum(leaf.g) / 64, sum(leaf.h) / 64, rows, float(leaf.parent_gain), 0, 1])]
    return leaf.name + ".golden", oracle.golden_text(
        "best_split", "best_split_oracle.py", leaf.name, source, DIGITS, seed, listed,
        [("value=f64[1x9]", value), ("field=i64[1x6]", [str(v) for v in field]),
         ("cat=u32[1x32]", ["4294967295"] * 32)], knobs)


def golden_files():
    """(file name, text) of every file."""
    for case in lightgbm_cases():
        yield split_file("lightgbm", f"LightGBM {LIGHTGBM}, CPU, tree of two leaves, objective regression",
                         check_lightgbm, *case)
    for case in xgboost_cases():
        yield split_file("xgboost", f"XGBoost {XGBOOST}, CPU, tree of two leaves, tree_method exact and hist",
                         check_xgboost, *case)
