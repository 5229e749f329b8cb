#!/usr/bin/env python3
"""Times the tree learners of LightGBM and XGBoost on the GPU, as peers of `histogram` and `best_split`.

    bench/peers/boosting_trees.py                                # 10M rows x 28 features x 255 bins, as histogram_bench
    bench/peers/boosting_trees.py --rows 100000 --features 1000  # many small histograms, as best_split_bench

Neither has a call for a histogram or a split alone. What is timed is an iteration that grows a tree of two leaves on
data that are binned before: gradients, histogram of all rows, best split, partition, update of the predictions, and
what of these is done on the host or copied. So it is the most that histogram and split can take. (An iteration on one
feature is no measure of the rest: LightGBM's took twice as long on an H200 as one on 28.) A peer that is not installed,
was built without the device or finds a wrong split is 'peer absent' or an error, never a number.
"""
import argparse
import re
import shutil
import statistics
import subprocess
import sys
import time

WARMUP, REPEATS = 3, 15


class Absent(Exception):
    """Why a peer cannot be measured here."""


def has_gpu():
    command = shutil.which("nvidia-smi")
    return bool(command) and subprocess.run([command, "-L"], capture_output=True).stdout.startswith(b"GPU")


def make_data(numpy, rows, features, bins):
    """Values 0 .. bins-1, uniform, and labels whose best split is feature 0 in the middle."""
    draw = numpy.random.default_rng(1)
    x = draw.integers(0, bins, (rows, features), dtype=numpy.uint8)
    y = (x[:, 0] >= bins // 2).astype(numpy.float32) + draw.random(rows, dtype=numpy.float32)
    return x, y


def time_iterations(iterate):
    """us of each of REPEATS iterations; an iteration ends with its split on the host."""
    for _ in range(WARMUP):
        iterate()
    us = []
    for _ in range(REPEATS):
        begin = time.perf_counter()
        iterate()
        us.append((time.perf_counter() - begin) * 1e6)
    return us


class Log:
    """LightGBM's messages, which name the device."""

    def __init__(self):
        self.text = ""

    def info(self, text):
        self.text += text

    warning = info


def lightgbm_runs(device):
    """name, run(x, y, bins) -> us, feature of the split. The peer's builds for CUDA and OpenCL differ."""
    try:
        import lightgbm
    except ImportError as error:
        raise Absent(str(error)) from error

    def measure(kind, x, y, bins):
        parameters = dict(objective="regression", num_leaves=2, max_bin=bins, min_data_in_bin=1, device_type=kind,
                          verbose=1)
        log = Log()
        lightgbm.register_logger(log)
        try:
            booster = lightgbm.Booster(parameters, lightgbm.Dataset(x, y, params=parameters))
            us = time_iterations(booster.update)
        except lightgbm.basic.LightGBMError as error:
            raise Absent(" ".join(str(error).split())) from error
        if kind == "gpu" and not re.search("Using GPU Device: NVIDIA", log.text):  # any OpenCL device will do for it
            raise Absent("OpenCL offers it no NVIDIA GPU")
        return us, booster.dump_model()["tree_info"][0]["tree_structure"]["split_feature"]

    for kind in ("cuda", "gpu") if device == "gpu" else ("cpu",):
        name = f"LightGBM {lightgbm.__version__} ({'OpenCL' if kind == 'gpu' else kind})"
        yield name, lambda x, y, bins, kind=kind: measure(kind, x, y, bins)


def xgboost_runs(device):
    try:
        import xgboost
    except ImportError as error:
        raise Absent(str(error)) from error

    def measure(x, y, bins):
        if device == "gpu" and not xgboost.build_info()["USE_CUDA"]:
            raise Absent("this build of XGBoost has no CUDA")
        parameters = dict(tree_method="hist", device="cuda" if device == "gpu" else "cpu", max_depth=1, max_bin=bins,
                          verbosity=0)
        data = xgboost.QuantileDMatrix(x, y, max_bin=bins)
        booster = xgboost.Booster(parameters, [data])
        iteration = iter(range(WARMUP + REPEATS))
        us = time_iterations(lambda: booster.update(data, next(iteration)))
        return us, int(booster.get_dump()[0].split("[f")[1].split("<")[0])

    yield f"XGBoost {xgboost.__version__} ({'cuda' if device == 'gpu' else 'cpu'})", measure


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--features", type=int, default=28)
    parser.add_argument("--bins", type=int, default=255, help="2 to 255")
    parser.add_argument("--device", choices=("gpu", "cpu"), default="gpu", help="cpu: to try the script")
    options = parser.parse_args()
    if options.rows < 1000 or options.features < 1 or not 2 <= options.bins <= 255:
        parser.error("--rows: at least 1000, --features: at least 1, --bins: 2 to 255 are allowed")
    shape = f"{options.rows}x{options.features}x{options.bins}"
    data = None
    failed = False
    for peer, runs in (("LightGBM", lightgbm_runs), ("XGBoost", xgboost_runs)):
        try:
            if options.device == "gpu" and not has_gpu():
                raise Absent("there is no GPU")
            for name, run in runs(options.device):
                try:
                    if data is None:
                        import numpy

                        data = make_data(numpy, options.rows, options.features, options.bins)
                    x, y = data
                    us, feature = run(x, y, options.bins)
                    if feature == 0:
                        print(f"{shape} {name}: {statistics.median(us):.0f} us an iteration", flush=True)
                    else:
                        print(f"{shape} {name}: error: it splits feature {feature}, not 0")
                        failed = True
                except Absent as reason:
                    print(f"{shape} {name}: peer absent: {reason}")
        except Absent as reason:
            print(f"{shape} {peer}: peer absent: {reason}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
