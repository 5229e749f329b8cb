"""What `verify --json` wrote, as SARIF 2.1.0 for annotations: `python -m warpcheck.sarif VERIFY.json`."""

from __future__ import annotations

import json
import os
import pathlib
import re
import sys
from typing import Any

from .command import version
from .trials import Failure, failure_of


def kernel_of(candidate: str) -> tuple[str, int]:
    """File and line of the kernel on trial, from the name that the command gave the candidate."""
    kind, _, rest = candidate.partition(":")
    file, _, rest = rest.partition(":") if kind in ("python", "source") else (candidate, "", "")
    function = rest.split(":")[0]
    path = pathlib.Path(file)
    if kind in ("python", "source") and path.is_file():
        for number, text in enumerate(path.read_text(errors="replace").splitlines(), 1):
            if re.search(rf"\b{re.escape(function)}\s*\(", text):
                return os.path.relpath(path), number
    return os.path.relpath(path) if path.is_absolute() else file, 1


def result_of(failure: Failure, file: str, line: int) -> dict[str, Any]:
    place = {"artifactLocation": {"uri": file}, "region": {"startLine": line}}
    return {
        "ruleId": failure.name,
        "level": "error",
        "message": {"text": str(failure)},
        "locations": [{"physicalLocation": place}],
    }


def to_sarif(content: dict[str, Any]) -> dict[str, Any]:
    """One result for each cause of failures."""
    file, line = kernel_of(content["candidate"])
    failures = {report["cause"]: failure_of(report) for report in reversed(content["failures"])}
    rules = sorted({failure.name for failure in failures.values()})
    driver = {"name": "warpcheck", "version": version(), "rules": [{"id": name} for name in rules]}
    results = [result_of(failure, file, line) for failure in reversed(failures.values())]
    schema = "https://json.schemastore.org/sarif-2.1.0.json"
    return {"$schema": schema, "version": "2.1.0", "runs": [{"tool": {"driver": driver}, "results": results}]}


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m warpcheck.sarif VERIFY.json")
    print(json.dumps(to_sarif(json.loads(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"))), indent=1))
