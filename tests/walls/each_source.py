"""Compiles each source of the libraries that CI builds several at a time by itself, without making code: what a source
forgets to include, its neighbours may have included, so that only a build without WARPCHECK_UNITY would fail.
each_source.py COMPILE_COMMANDS; GTEST_TOTAL_SHARDS and GTEST_SHARD_INDEX choose a part."""
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys


def commands(database):
    """Returns (source, arguments, folder) of all sources that a unity includes."""
    for entry in json.loads(pathlib.Path(database).read_text()):
        unity = pathlib.Path(entry["directory"], entry["file"])
        if unity.parent.name != "Unity":
            continue
        given = shlex.split(entry["command"])
        for source in re.findall(r'^#include "(.*)"', unity.read_text(), re.M):
            arguments = given[:given.index("-o")] + ["-O0", "-fsyntax-only", source]
            yield source, arguments, entry["directory"]


def failure(command):
    source, arguments, folder = command
    run = subprocess.run(arguments, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return f"{source} does not compile by itself:\n{run.stdout}" if run.returncode else ""


def main():
    parts = int(os.environ.get("GTEST_TOTAL_SHARDS", 1))
    part = int(os.environ.get("GTEST_SHARD_INDEX", 0))
    found = sorted(commands(sys.argv[1]))[part::parts]
    if not found:
        sys.exit(f"{sys.argv[1]} has no unity")
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        failures = [text for text in pool.map(failure, found) if text]
    sys.exit("\n".join(failures) if failures else 0)


main()
