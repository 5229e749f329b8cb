"""ci/new_operator: its stubs keep the tree from compiling until they are filled, each with its own reason."""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ["WARPCHECK_SOURCE"])
OP = "cumulative"
FILES = [
    f"kernels/{OP}/{OP}.hpp",
    f"kernels/{OP}/contract.hpp",
    f"kernels/{OP}/{OP}.cu",
    f"reference/{OP}/{OP}.hpp",
    f"properties/{OP}/{OP}_properties.cpp",
    f"golden/{OP}/{OP}_golden.cpp",
    f"golden/{OP}/{OP}_oracle.py",
    f"ci/mutate/{OP}.mutants",
]


def run(*arguments, **options):
    r = subprocess.run(list(map(str, arguments)), capture_output=True, text=True, timeout=300, **options)
    r.said = r.stdout + r.stderr
    return r


class NewOperator(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.tree = pathlib.Path(cls.scratch.name) / "tree"

        def left_out(folder, names):
            of_root = pathlib.Path(folder) == SOURCE
            return [n for n in names if n.endswith(".golden") or (of_root and (n == "build" or n.startswith(".")))]

        shutil.copytree(SOURCE, cls.tree, ignore=left_out)
        cls.written = run(cls.tree / "ci/new_operator", OP)

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def configure(self, build):
        return run(
            os.environ["CMAKE"], "-S", self.tree, "-B", build, "-G", "Ninja",
            f"-DCMAKE_CXX_COMPILER={os.environ['CXX']}", f"-DWARPCHECK_ONLY={OP}", "-DWARPCHECK_FLAVOURS=plain",
            *[f"-DWARPCHECK_{part}=OFF" for part in ("TESTS", "BENCH", "EXAMPLES", "INSTALL")],
        )  # fmt: skip

    def syntax(self, text, language_version):
        path = self.tree / "tried.cpp"
        path.write_text(text)
        return run(
            os.environ["CXX"], f"-std=c++{language_version}", "-fsyntax-only", "-DFMT_HEADER_ONLY",
            "-DSIMT_FLAVOUR_PLAIN",
            "-I", self.tree, path,
        )  # fmt: skip

    def test_it_writes_every_file_of_the_slice(self):
        self.assertEqual(self.written.returncode, 0, self.written.said)
        for name in FILES:
            self.assertIn(name, self.written.stdout)
            self.assertNotIn("$", (self.tree / name).read_text(), name)
        self.assertRegex((self.tree / "cmake/operators.cmake").read_text(), rf"\n  \w+\n  {OP}\)")

    def test_a_wrong_name_is_one_sentence_and_writes_nothing(self):
        before = {p: p.stat().st_mtime_ns for p in self.tree.rglob("*") if p.is_file()}
        for name, text in [
            ("Softmax", "'Softmax' is not two or more small letters"),
            ("9lives", "'9lives' is not"),
            ("softmax", "there is an operator 'softmax'"),
            (OP, f"there is an operator '{OP}'"),
            ("rows", "kernels/rows exists"),
        ]:
            r = run(self.tree / "ci/new_operator", name)
            self.assertEqual(r.returncode, 2, name)
            self.assertIn(text, r.stderr)
            self.assertEqual(r.stderr.count("\n"), 1)
        self.assertEqual(run(self.tree / "ci/new_operator").returncode, 2)
        self.assertEqual(before, {p: p.stat().st_mtime_ns for p in self.tree.rglob("*") if p.is_file()})

    def test_stubs_do_not_compile_and_each_says_why(self):
        build = pathlib.Path(self.scratch.name) / "build"
        r = self.configure(build)
        self.assertEqual(r.returncode, 0, r.said)
        # The build knows what it has not: `warpcheck list` says so.
        self.assertRegex((build / "build.ninja").read_text(), r"WARPCHECK_LEFT_OUT=\S*softmax log_softmax [a-z_ ]* gru")
        objects = [
            f"kernels/CMakeFiles/warpcheck_kernels_plain.dir/warpcheck_kernels_plain.sources/{OP}.cu.cpp.o",
            f"properties/CMakeFiles/warpcheck_properties.dir/{OP}/{OP}_properties.cpp.o",
            f"golden/CMakeFiles/warpcheck_golden.dir/{OP}/{OP}_golden.cpp.o",
        ]
        r = run("ninja", "-C", build, "-k", "0", *objects)
        self.assertNotEqual(r.returncode, 0)
        for name in FILES[:6]:
            self.assertRegex(r.said, rf'#error "{re.escape(name)}: .*\(step \d\)"')
        # Neither is the oracle's data, or a mutant, there.
        r = run("python3", self.tree / "golden/oracle.py", OP, "golden", "--check")
        self.assertNotEqual(r.returncode, 0)
        self.assertIn("write golden files by another program", r.stderr)
        r = run(os.environ["WARPCHECK"], "mutants", OP, "--folder", self.tree / "ci/mutate")
        self.assertEqual(r.returncode, 2)
        self.assertIn(f"{OP}.mutants: it has no mutant", r.stderr)

    def test_a_missing_file_of_the_slice_does_not_configure(self):
        lost = self.tree / FILES[5]
        text = lost.read_text()
        lost.unlink()
        try:
            r = self.configure(pathlib.Path(self.scratch.name) / "incomplete")
            self.assertNotEqual(r.returncode, 0)
            self.assertIn(f"operator {OP}: {FILES[5]} is missing", r.said)
        finally:
            lost.write_text(text)

    def test_what_is_around_the_places_to_fill_compiles(self):
        for header in (FILES[0], FILES[1], FILES[3]):
            path = self.tree / header
            text = path.read_text()
            self.addCleanup(path.write_text, text)
            path.write_text(re.sub(r"#error.*\n", "", text))
        for name in (FILES[2], FILES[4], FILES[5]):
            text = re.sub(r"#error.*\n", "", (self.tree / name).read_text())
            r = self.syntax(text, 17 if name.endswith(".cu") else 20)
            self.assertEqual(r.returncode, 0, name + "\n" + r.said)


if __name__ == "__main__":
    unittest.main()
