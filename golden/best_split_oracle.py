#!/usr/bin/env python3
"""Writes the golden files of best_split whose truth comes from outside: LightGBM, on the CPU.

  pip install mpmath==1.4.1 scipy==1.17.1 lightgbm==4.6.0
  golden/best_split_oracle.py golden            writes golden/best_split/*.golden
  golden/best_split_oracle.py golden --check    compares them with what would be written; exit code 1 if they differ
  warpcheck golden regenerate best_split        then takes the new hashes into SHA256SUMS, if the reference agrees

LightGBM grows a tree of two leaves on small integers, which it bins one to one. Its feature, threshold, missing
direction, rows, hessians and outputs of both leaves must be those that the file states, its gain too, as far as the f32
that it prints goes; sums and gains are then written exactly. The format of the files is described in golden/format.hpp.
"""

import sys
from fractions import Fraction

import oracle

LIGHTGBM = "4.6.0"
DIGITS = 10
MISSING = {"None": 0, "Zero": 1, "NaN": 2}
if not oracle.PROBLEM:
    try:
        import lightgbm
        import numpy

        if lightgbm.__version__ != LIGHTGBM:
            oracle.PROBLEM = f"lightgbm {LIGHTGBM} is needed, found {lightgbm.__version__}"
    except ImportError as error:
        oracle.PROBLEM = f"lightgbm {LIGHTGBM} is needed: {error}"


def cases():
    """name, seed, rows, lowest and highest value of each feature, share of rows without a value, settings."""
    yield "plain", 1, 200, [(0, 6), (0, 11), (0, 2)], 0, {}
    yield "nan", 2, 200, [(0, 6), (0, 11), (0, 2)], 5, {}
    yield "nan-few-bins", 3, 120, [(0, 2), (0, 2), (0, 1)], 3, {}
    yield "zero", 4, 200, [(-3, 3), (0, 6), (-5, 0)], 0, {"zero_as_missing": True}
    yield "penalties", 5, 200, [(0, 9), (0, 4), (0, 30)], 4, {"lambda_l1": 4.0, "lambda_l2": 8.0}
    yield "gates", 6, 150, [(0, 40), (0, 20)], 0, {"min_data_in_leaf": 60}
    yield "many-bins", 7, 2000, [(0, 250), (0, 99)], 0, {}
    yield "many-nan", 8, 2000, [(0, 250), (0, 99)], 2, {}


def draw_data(seed, rows, ranges, sparse, settings):
    """Values (None: missing) of each feature and the gradients, multiples of 1/4 that follow the features."""
    draw = oracle.Draw(seed)
    columns = [[] for _ in ranges]
    gradients = []
    for _ in range(rows):
        total = 0.0
        for column, (low, high) in zip(columns, ranges):
            value = int(draw.uniform(low, high + 1))
            if draw.unit() < 0.3 and settings.get("zero_as_missing"):
                value = 0
            is_missing = sparse > 0 and draw.unit() * sparse < 1
            column.append(None if is_missing else value)
            total += (2.0 if is_missing else value / max(1, high - low)) * (1 if column is columns[0] else 0.5)
        gradients.append(round(4 * (total + draw.uniform(-1, 1) - 1)) / 4)
    return columns, gradients


def grow(columns, gradients, settings):
    """The two leaves of LightGBM's tree."""
    data = numpy.array([[numpy.nan if v is None else float(v) for v in row] for row in zip(*columns)])
    parameters = dict(objective="regression", boost_from_average=False, num_leaves=2, min_data_in_leaf=5, learning_rate=1.0,
                      min_data_in_bin=1, max_bin=300, num_threads=1, force_col_wise=True, deterministic=True,
                      feature_pre_filter=False, verbose=-1, min_gain_to_split=0)
    parameters.update(settings)
    labels = -numpy.array(gradients)
    tree = lightgbm.train(parameters, lightgbm.Dataset(data, labels, params=parameters), 1)
    return tree.dump_model()["tree_info"][0]["tree_structure"]


def soft(g, l1):
    return Fraction(0) if abs(g) <= l1 else g - l1 if g > 0 else g + l1


def fits(ours, theirs, relative):
    return abs(float(ours) - theirs) <= relative * max(1.0, abs(theirs))


def split_file(name, seed, rows, ranges, sparse, settings):
    columns, gradients = draw_data(seed, rows, ranges, sparse, settings)
    root = grow(columns, gradients, settings)
    l1, l2 = Fraction(settings.get("lambda_l1", 0.0)), Fraction(settings.get("lambda_l2", 0.0))
    hist, count, features = [], [], []
    for number, column in enumerate(columns):
        values = sorted({v for v in column if v is not None})
        has_missing = None in column
        missing = MISSING["Zero"] if settings.get("zero_as_missing") else MISSING["NaN" if has_missing else "None"]
        bins = len(values) + (1 if has_missing else 0)
        features.append([number, bins, values.index(0) if 0 in values else 0, len(count), 0, missing, 0])
        for b in range(bins):
            value = values[b] if b < len(values) else None
            here = [g for g, v in zip(gradients, column) if v == value]
            hist += [sum(here), float(len(here))]
            count.append(len(here))
    column = columns[root["split_feature"]]
    values = sorted({v for v in column if v is not None})
    threshold = sum(1 for v in values if v <= root["threshold"]) - 1
    feature = features[root["split_feature"]]

    def goes_left(v):
        is_missing = v is None or (feature[5] == MISSING["Zero"] and v == 0)
        return root["default_left"] if is_missing else v <= root["threshold"]

    sides = []
    for left in (True, False):
        mine = [Fraction(g) for g, v in zip(gradients, column) if goes_left(v) == left]
        g, h = sum(mine), Fraction(len(mine))
        t = soft(g, l1)
        sides.append((g, h, t * t / (h + l2), -t / (h + l2), len(mine)))
    total = Fraction(sum(Fraction(g) for g in gradients))
    parent = soft(total, l1) ** 2 / (rows + l2)
    gain = sides[0][2] + sides[1][2] - parent
    for side, leaf in zip(sides, (root["left_child"], root["right_child"])):
        if not (fits(side[3], leaf["leaf_value"], 1e-12) and leaf["leaf_weight"] == float(side[1]) and leaf["leaf_count"] == side[4]):
            raise SystemExit(f"{name}: LightGBM's leaf {leaf} is not {side}")
    # What it prints of a gain has lost the digits of an f32 of gain + parent's gain.
    if abs(float(gain) - root["split_gain"]) > 2.0**-18 * float(gain + parent):
        raise SystemExit(f"{name}: LightGBM's gain {root['split_gain']} is not {float(gain)}")
    default_left = root["default_left"] if feature[5] != MISSING["None"] else True

    def text(value):
        return oracle.decimal(oracle.mpmath.mpf(value.numerator) / value.denominator, DIGITS)

    oracle.mpmath.mp.dps = 50
    value = [text(v) for v in (gain, *sides[0][:4], *sides[1][:4])]
    field = [0x101 if default_left else 1, root["split_feature"], threshold, 0, sides[0][4], sides[1][4]]
    knobs = {"min_data": settings.get("min_data_in_leaf", 5)}
    knobs.update((key, settings[key]) for key in ("lambda_l1", "lambda_l2") if key in settings)
    knobs = " ".join(f"{key}={knobs[key]:g}" for key in sorted(knobs))
    leaf = [0, float(total), rows, rows, float(parent), 0, 1]
    listed = [(f"hist=f64[{len(count)}x2]", hist), (f"count=i64[{len(count)}]", count),
              (f"feature=i64[{len(features)}x7]", [v for row in features for v in row]),
              (f"used=u8[1x{len(features)}]", [1] * len(features)), ("leaf=f64[1x7]", leaf)]
    return oracle.golden_text("best_split", "best_split_oracle.py", f"lightgbm-{name}",
                              f"LightGBM {LIGHTGBM}, CPU, tree of two leaves, objective regression", DIGITS, seed, listed,
                              [("value=f64[1x9]", value), ("field=i64[1x6]", [str(v) for v in field]),
                               ("cat=u32[1x32]", ["4294967295"] * 32)], knobs)


def golden_files():
    """(file name, text) of every file."""
    for name, *rest in cases():
        yield f"lightgbm-{name}.golden", split_file(name, *rest)


if __name__ == "__main__":
    sys.exit(oracle.main("best_split", __doc__, golden_files))
