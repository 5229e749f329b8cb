#!/usr/bin/env python3
"""Runs every n-th test of a file of unittest, by the variables that GoogleTest reads for the same purpose:
shard.py FILE, with GTEST_TOTAL_SHARDS=n and GTEST_SHARD_INDEX=i, 0 <= i < n."""

import importlib.util
import os
import pathlib
import sys
import unittest


def tests_of(suite):
    for each in suite:
        if isinstance(each, unittest.TestSuite):
            yield from tests_of(each)
        else:
            yield each


def main():
    path = pathlib.Path(sys.argv.pop(1))
    sys.path.insert(0, str(path.parent))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    total, index = int(os.environ["GTEST_TOTAL_SHARDS"]), int(os.environ["GTEST_SHARD_INDEX"])
    chosen = list(tests_of(unittest.defaultTestLoader.loadTestsFromModule(module)))[index::total]
    if not chosen:
        sys.exit(f"shard: {path} has fewer than {index + 1} tests; its PARTS in CMakeLists.txt must be fewer")
    result = unittest.TextTestRunner(verbosity=1).run(unittest.TestSuite(chosen))
    sys.exit(not result.wasSuccessful())


main()
