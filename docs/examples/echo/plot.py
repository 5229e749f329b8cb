#!/usr/bin/env python3
"""Draws the loss curve that `echo --curve FILE` writes.

    docs/examples/echo/plot.py CURVE.csv PICTURE.svg "NVIDIA ..., commit ..."

The horizontal line is what a net that always answers 1 loses: the variance of the sum of two uniform numbers, 1/6.
"""

import argparse
import csv
import sys

import matplotlib

matplotlib.use("Agg")
matplotlib.rcParams["svg.hashsalt"] = "echo"  # the same bytes for the same curve
import matplotlib.pyplot as plt  # noqa: E402

WINDOW = 20


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("curve", help="step,loss with a header line")
    parser.add_argument("picture", help="an .svg or .png to write")
    parser.add_argument("caption", help="where the curve was measured")
    arguments = parser.parse_args()
    with open(arguments.curve, encoding="ascii", newline="") as file:
        losses = [float(row["loss"]) for row in csv.DictReader(file)]
    if not losses:
        print(f"{arguments.curve}: it holds no loss", file=sys.stderr)
        return 2
    means = [sum(losses[max(0, i + 1 - WINDOW):i + 1]) / min(i + 1, WINDOW) for i in range(len(losses))]
    figure, axes = plt.subplots(figsize=(7, 4))
    axes.semilogy(losses, color="0.75", linewidth=0.6, label="a batch")
    axes.semilogy(means, color="tab:blue", linewidth=1.5, label=f"mean of {WINDOW}")
    axes.axhline(1 / 6, color="tab:orange", linestyle="--", linewidth=1, label="always answering 1")
    axes.set_xlabel("step")
    axes.set_ylabel("mean squared error")
    axes.set_title(f"The sum of two marked numbers\n{arguments.caption}", fontsize=9)
    axes.legend()
    figure.tight_layout()
    figure.savefig(arguments.picture, metadata={"Date": None} if arguments.picture.endswith(".svg") else None)
    print(f"{len(losses)} steps: {means[0]:.4f} to {means[-1]:.6f}, least {min(means):.6f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
