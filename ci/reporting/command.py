"""Makes one self-contained HTML page of what commands of warpcheck wrote. Exit codes: 0 written, 2 usage, 3 missing."""

import argparse
import importlib.util
import pathlib
import sys

from . import inputs

NEEDED = {"jinja2": "Jinja2", "matplotlib": "matplotlib"}


def parse(arguments):
    parser = argparse.ArgumentParser(prog="report", description=__doc__)
    for kind in ("verify", "fuzz", "bench", "mutants"):
        parser.add_argument(f"--{kind}", action="append", default=[], metavar="F.json")
    parser.add_argument("--history", metavar="nightly.db")
    parser.add_argument("--row", metavar="F.json", help="instead: draw this row (warpcheck explain --plot) into --out")
    parser.add_argument("--title", default="")
    parser.add_argument("--out", required=True, metavar="report.html")
    return parser.parse_args(arguments)


def main(arguments):
    options = parse(arguments)
    missing = [name for module, name in NEEDED.items() if importlib.util.find_spec(module) is None]
    if missing:
        print(
            f"report: {' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing in {sys.executable}; "
            "install python3-jinja2 and python3-matplotlib, or name another Python with --python",
            file=sys.stderr,
        )
        return 3
    from . import page  # needs both

    try:
        text = (
            page.drawn_row(inputs.load(options.row))
            if options.row
            else page.render(inputs.read(options), options.title)
        )
    except inputs.Malformed as error:
        print(f"report: {error}", file=sys.stderr)
        return 2
    except (KeyError, TypeError, ValueError, AttributeError, page.Undefined) as error:
        print(f"report: one of the files does not fit its schema: {type(error).__name__} {error}", file=sys.stderr)
        return 2
    try:
        pathlib.Path(options.out).write_text(text, encoding="utf-8")
    except OSError as error:
        print(f"report: {options.out}: it cannot be written: {error.strerror}", file=sys.stderr)
        return 3
    print(f"report: {options.out} ({len(text.encode()) / 1e6:.1f} MB)")
    return 0
