"""The picture of the folders is that of the tree, and another include changes it."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(sys.argv.pop(1))


def picture(*arguments):
    return subprocess.run([sys.executable, ROOT / "ci/picture", *arguments], capture_output=True, text=True)


class Picture(unittest.TestCase):
    def test_it_is_that_of_the_tree(self):
        checked = picture("--check")
        self.assertEqual(checked.returncode, 0, checked.stderr)

    def test_an_include_that_it_lacks_or_a_circle_is_an_error(self):
        with tempfile.TemporaryDirectory() as scratch:
            root = pathlib.Path(scratch)
            (root / "docs/images").mkdir(parents=True)
            (root / "simt").mkdir()
            (root / "abi").mkdir()
            (root / "simt/a.hpp").write_text("#pragma once\n")
            self.assertEqual(picture("--root", scratch).returncode, 0)
            self.assertEqual(picture("--root", scratch, "--check").returncode, 0)
            (root / "simt/a.hpp").write_text('#include "abi/candidate.h"\n')
            checked = picture("--root", scratch, "--check")
            self.assertEqual(checked.returncode, 1)
            self.assertIn("ci/picture draws it again", checked.stderr)
            (root / "abi/candidate.h").write_text('#include "simt/a.hpp"\n')
            self.assertIn("includes itself", picture("--root", scratch).stderr)


if __name__ == "__main__":
    unittest.main()
