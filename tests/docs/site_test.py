"""The site of the documents builds, can be searched, and fails at a link that leads nowhere."""

import importlib.util
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(sys.argv.pop(1))


class Site(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.root = pathlib.Path(scratch.name) / "checkout"
        for name in ("README.md", "CONTRIBUTING.md", "LICENSE", "bench/README.md", "python/README.md", "ci/site",
                     "ci/common.sh", "ci/packages", "ci/requirements.txt"):
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, self.root / name)
        shutil.copytree(ROOT / "docs", self.root / "docs")
        # The packages of the tests are installed.
        (self.root / "build").mkdir()
        (self.root / "build/python").symlink_to(pathlib.Path(sys.executable).parents[1])

    def build(self, *options):
        return subprocess.run([self.root / "ci/site", *options], capture_output=True, text=True)

    def test_pages_are_built_and_indexed(self):
        report = self.root / "page.html"
        report.write_text("<p>a report</p>")
        built = self.build("--report", str(report), "--output", str(self.root / "html"))
        self.assertEqual(built.returncode, 0, built.stderr)
        html = self.root / "html"
        self.assertEqual(built.stdout.split()[-1], str(html / "index.html"))
        self.assertEqual((html / "report.html").read_text(), "<p>a report</p>")
        self.assertIn("report.html", (html / "results/index.html").read_text())
        places = {d["location"] for d in json.loads((html / "search/search_index.json").read_text())["docs"]}
        self.assertIn("docs/trials/scores/", places)
        self.assertIn("docs/numerics/", places)
        self.assertNotIn("fonts.googleapis.com", (html / "index.html").read_text())

    def test_a_link_that_leads_nowhere_fails(self):
        with open(self.root / "docs/quickstart.md", "a") as page:
            page.write("\n[nowhere](missing.md)\n")
        built = self.build()
        self.assertEqual(built.returncode, 1)
        self.assertIn("missing.md", built.stdout + built.stderr)

    def test_a_page_without_a_menu_fails(self):
        (self.root / "docs/lost.md").write_text("# Lost\n")
        built = self.build()
        self.assertEqual(built.returncode, 1)
        self.assertIn("docs/lost.md", built.stdout + built.stderr)

    def test_mistakes_are_one_sentence(self):
        self.assertEqual(self.build("--reprot").returncode, 2)
        built = self.build("--report", "missing.html")
        self.assertEqual(built.returncode, 2)
        self.assertIn("report: 'missing.html' cannot be read", built.stderr)


if __name__ == "__main__":
    if importlib.util.find_spec("material") is None:
        print(f"WARPCHECK_SKIP: mkdocs-material not installed in {sys.executable} (ci/requirements.txt)")
        sys.exit(0)
    unittest.main()
