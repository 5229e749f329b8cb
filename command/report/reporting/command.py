"""Makes one self-contained HTML page of what commands of warpcheck wrote. Exit codes: 0 written, 2 usage, 3 missing."""

import argparse
import importlib.util
import pathlib
import sys

from . import drawing, inputs

def parse(arguments):
    parser = argparse.ArgumentParser(prog="report", description=__doc__)
    for kind in ("verify", "fuzz", "bench", "mutants"):
        parser.add_argument(f"--{kind}", action="append", default=[], metavar="F.json")
    parser.add_argument("--history", metavar="nightly.db")
    parser.add_argument("--row", metavar="F.json", help="instead: draw this row (warpcheck explain --plot) into --out")
    parser.add_argument("--title", default="")
    parser.add_argument("--out", required=True, metavar="report.html")
    return parser.parse_args(arguments)


def write(path, text):
    try:
        pathlib.Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        print(f"report: {path}: it cannot be written: {error.strerror}", file=sys.stderr)
        return 3
    print(f"report: {path} ({len(text.encode()) / 1e6:.1f} MB)")
    return 0


def row(options):
    try:
        return write(options.out, drawing.Drawing().svg("row_file", inputs.load(options.row)))
    except drawing.PlotError as error:
        print(
            f"report: the row cannot be drawn: {error}; install python3-matplotlib (3.6 or later), or name another "
            f"Python than {sys.executable} with --python",
            file=sys.stderr,
        )
        return 3


def report(options):
    if importlib.util.find_spec("jinja2") is None:
        print(
            f"report: Jinja2 is missing in {sys.executable}; install python3-jinja2 (and python3-matplotlib for the "
            "plots), or name another Python with --python",
            file=sys.stderr,
        )
        return 3
    from . import page  # needs Jinja2

    draw = drawing.Drawing()
    try:
        text = page.render(inputs.read(options), options.title, draw)
    except (KeyError, TypeError, ValueError, AttributeError, page.Undefined) as error:
        print(f"report: one of the files does not fit its schema: {type(error).__name__} {error}", file=sys.stderr)
        return 2
    for reason in draw.failures:
        print(f"report: the page lacks plots: {reason}; {sys.executable} drew them", file=sys.stderr)
    return write(options.out, text)


def main(arguments):
    options = parse(arguments)
    try:
        return row(options) if options.row else report(options)
    except inputs.Malformed as error:
        print(f"report: {error}", file=sys.stderr)
        return 2
