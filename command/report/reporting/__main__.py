"""The program behind `warpcheck report`: docs/report.md."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from reporting.command import main  # noqa: E402

sys.exit(main(sys.argv[1:]))
