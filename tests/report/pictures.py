#!/usr/bin/python3
"""The pictures of README.md: the top of a page of `warpcheck report` in both schemes.

tests/report/pictures.py report.html docs/images      # report_light.png, report_dark.png
"""

import pathlib
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))
import browser  # noqa: E402

WIDTH, HEIGHT = 1100, 1290


def take(page, folder):
    """Paths of both pictures."""
    browser.skip_where_it_is_missing()
    window = browser.Browser(WIDTH, HEIGHT)
    paths = []
    try:
        for scheme in ("light", "dark"):
            window.media(scheme)
            window.open(page)
            paths.append(pathlib.Path(folder) / f"report_{scheme}.png")
            window.driver.save_screenshot(str(paths[-1]))
    finally:
        window.close()
    return paths


if __name__ == "__main__":
    if len(sys.argv) != 3 or not pathlib.Path(sys.argv[1]).is_file():
        sys.exit(__doc__)
    print(*take(*sys.argv[1:]), sep="\n")
