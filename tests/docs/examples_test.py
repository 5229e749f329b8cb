#!/usr/bin/env python3
"""Runs the examples of the documents: each fenced block is run, compared, or listed here with what runs it instead.

Usage: examples_test.py SOURCE_FOLDER WARPCHECK

Each page has a folder of its own, and its blocks are taken in order.
- `sh`: each command runs and ends with 0, or with the code that its comment names: `# exit code 1`.
- `text`: the output of the commands above has it; `...` stands for anything, and speeds and times differ.
- A block of another language whose line before names a file is written there, and a command of the page names the file.
- EXCERPTS are text of a file of the tree; ELSEWHERE are blocks that another test runs, or that nothing here can run.
"""
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import typing
import unittest

import numpy

ROOT = PROGRAM = None
BLOCK = re.compile(r"^ *```([^`\n]*)\n(.*?)^ *```", re.DOTALL | re.MULTILINE)
NAME = re.compile(r"`([\w/.-]+\.\w+)`[^`\n]*\n+$")
# Pages whose commands run in a copy of their own folder.
IN_PLACE = ("docs/bring_your_own/library.md",)
EXCERPTS = {"docs/adding_an_operator.md": "docs/examples/layer_norm/layer_norm.hpp"}
GPU = "needs a GPU and a CUDA build; unit.options checks options of warpcheck"
WHEEL = "python.wheel builds and installs the wheel"
# (page, how the block begins) -> the test that runs it, or why nothing here can; unit.options checks options of all.
ELSEWHERE = {
    ("README.md", "ci/verify softmax"): "builds the tree and installs packages",
    ("README.md", "operator silu"): "unit.readme",
    ("README.md", "#include <cuda_runtime.h>"): "unit.readme",
    ("README.md", "warpcheck verify silu.op"): "unit.readme",
    ("README.md", "silu.op/within-error-bound"): "unit.readme",
    ("README.md", "operator     property"): "unit.readme",
    ("README.md", "warpcheck verify softmax"): "unit.readme",
    ("bench/README.md", "cmake --preset cuda"): GPU,
    ("bench/README.md", "build/cuda/"): GPU,
    ("docs/agents.md", "pip install"): WHEEL,
    ("docs/agents.md", '{"mcpServers"'): "python.wheel starts this command",
    ("docs/architecture.md", "abi/ "): "test_the_folders_of_the_architecture_exist",
    ("docs/bring_your_own/source.md", "warpcheck verify softmax"): "self.inline",
    ("docs/command.md", "cases = 50"): "unit.readme",
    ("docs/containers.md", "podman build"): "downloads images; unit.containerfile checks the stages",
    ("docs/examples/adopt/README.md", "find_package"): "unit.install_adopt",
    ("docs/examples/adopt/README.md", "cmake -B build"): "unit.install_adopt",
    ("docs/examples/adopt/README.md", "git apply"): "unit.install_adopt",
    ("docs/examples/adopt/README.md", "cmake -S ."): "builds the tree; unit.install_adopt installs a build",
    ("docs/formulas.md", "operator    NAME"): "a grammar; the tests of formulas have its productions",
    ("docs/formulas.md", "operator silu_gate"): "unit.formula_trials",
    ("docs/gate.md", "ci/gate --base"): "builds a tree twice; unit.gate runs it on a small one",
    ("docs/gate.md", "git worktree add"): "builds a tree twice; unit.gate runs it on a small one",
    ("docs/gate.md", "   gh api"): "registers a runner with GitHub",
    ("docs/nightly.md", "ci/nightly --time"): "hours; unit.nightly runs it for seconds",
    ("docs/nightly.md", "ci/nightly corpora"): "an hour, and builds with clang's fuzzer",
    ("docs/nightly.md", "ci/slurm/submit"): "unit.slurm, with a stand-in for sbatch",
    ("docs/python.md", "pip install build"): WHEEL,
    ("docs/python.md", "exact, bound"): "test_the_calls_of_the_page_on_python",
    ("docs/python.md", "name: kernels"): "runs on GitHub",
    ("docs/python.md", "- repo:"): "pre-commit clones a repository",
    ("docs/quickstart.md", "ci/verify softmax"): "builds the tree and installs packages",
    ("docs/quickstart.md", "#include"): "unit.quickstart",
    ("docs/quickstart.md", "$ warpcheck verify"): "unit.quickstart",
    ("docs/quickstart.md", "  largest = partial"): "unit.quickstart",
    ("docs/quickstart.md", "softmax      within"): "unit.quickstart",
    ("docs/trials/kernelbench.md", "git clone"): "clones a repository, and needs PyTorch",
    ("docs/trials/programs.md", "ci/foreign"): "public programs; unit.foreign runs it on small ones",
    ("docs/trials/pytorch.md", "cd docs"): "needs PyTorch and a GPU",
    ("docs/trials/scores.md", "ci/nightly scores"): "downloads public suites; unit.foreign runs small ones",
    ("python/README.md", "pip install"): WHEEL,
    ("python/README.md", "import "): "python.wheel",
}
ARRAYS = """
import numpy, warpcheck
draw = lambda *shape: numpy.random.default_rng(1).uniform(-.5, .5, shape).astype("f4")
a, b = draw(3, 4), draw(4, 2)
x, w_ih, w_hh, b_ih, b_hh, dy, y, dx = (draw(*s) for s in ((2, 3, 4), (1, 15, 4), (1, 15, 5), (1, 15), (1, 15),
                                                          (2, 3, 5), (2, 3, 5), (2, 3, 4)))
bins, cols, g, h = numpy.zeros((6, 1), "u1"), numpy.array([[0, 4]]), draw(6), draw(6)
hist = numpy.ones((4, 2))
feature, leaf = numpy.array([[0, 4, 0, 0, 0, 0, 0]]), numpy.array([[0, 4., 4, 4, 4, 0, 0]])
count, used = numpy.ones(4, "i8"), numpy.zeros((0, 0), "u1")
value, field, cat = numpy.zeros((1, 9)), numpy.zeros((1, 6), "i8"), numpy.zeros((1, 32), "u4")
"""
QUICK = ["--property", "within-error-bound", "--size", "quick"]
SHORTER = {"5000": "2", "100": "2"}  # numbers of cases


class Block(typing.NamedTuple):
    language: str
    text: str
    file: str  # the name in the line before, or empty


def pages():
    found = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True)
    return found.stdout.split()


def blocks(text):
    found = [(b, NAME.search(text[: b.start()])) for b in BLOCK.finditer(text)]
    return [Block(b[1], b[2], name[1] if name else "") for b, name in found]


def commands(text):
    """Returns each command line of a block with the exit code that its comment names."""
    found = []
    for line in text.replace("\\\n", " ").splitlines():
        code = re.search(r"#.*exit code (\d+)", line)
        if words := shlex.split(line, comments=True):
            found.append((words, int(code[1]) if code else 0))
    return found


def shortened(words):
    """Returns the command with few cases, or without verification, and with the interpreter of the tests for NumPy."""
    more = ["--interpreter", sys.executable] if "--python" in words else []
    if words[1] == "fuzz":
        more += QUICK + (["--cases", "2"] if "--time" in words else [])
    if words[1] == "verify" and not {"--cases", "--input"} & set(words):
        more += [*QUICK, "--cases", "2"]
    if words[1] == "bench":
        more.append("--unverified")
    return [PROGRAM if words[0] == "warpcheck" else words[0], *(SHORTER.get(word, word) for word in words[1:]), *more]


def role(page, block, words):
    """Returns how the block is tested; None if it is not. `words` are those of all commands of the page."""
    if block.language in ("sh", "text"):
        return block.language
    if any(page == other and block.text.startswith(start) for other, start in ELSEWHERE):
        return "elsewhere"
    if page in EXCERPTS:
        return "excerpt"
    if block.text.startswith("v1 "):
        return "lines"
    return "file" if block.language and block.file and any(block.file in word for word in words) else None


def shown(text):
    """Returns a pattern for output that a page shows: lines may be broken elsewhere, and times differ."""
    varying = r" ?\.\.\. ?|\d+(?:\.\d+)? s \(\d+ cases/s\)"
    return ".*".join([re.escape(piece) for piece in re.split(varying, " ".join(text.split()))])


class Examples(unittest.TestCase):
    def place(self, page, text):
        """Returns a folder that has the files which the commands of the page read."""
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        folder = pathlib.Path(scratch.name)
        if page in IN_PLACE:
            folder = folder / pathlib.Path(page).parent
            shutil.copytree((ROOT / page).parent, folder)
            (pathlib.Path(scratch.name) / "abi").symlink_to(ROOT / "abi")
        own = ROOT / "docs/bring_your_own"
        shutil.copy(own / ("operators.cu" if "my_matmul" in text else "softmax.cu"), folder / "mine.cu")
        shutil.copy(ROOT / "tests/import/programs/ptx/kernels.ptx", folder / "k.ptx")
        random = numpy.random.default_rng(1)
        shapes = {"rows": (3, 128), "total": (1,), "x": (3, 5), "logits": (3, 5), "a": (3, 4), "b": (4, 2)}
        for name, shape in shapes.items():
            numpy.save(folder / f"{name}.npy", random.normal(size=shape).astype("f4"))
        return folder

    def run_command(self, words, code, folder):
        done = subprocess.run(shortened(words), cwd=folder, capture_output=True, text=True)
        self.assertEqual(done.returncode, code, done.stdout[-3000:] + done.stderr[-3000:])
        return done.stdout + done.stderr

    def run_page(self, page, text):
        found = blocks(text)
        words = [word for block in found if block.language == "sh" for line, _ in commands(block.text) for word in line]
        folder = self.place(page, text) if words else None
        output = ""
        for block in found:
            with self.subTest(page=page, block=block.text[:200]):
                kind = role(page, block, words)
                self.assertIsNotNone(kind, "no test runs this block: mark it `sh` or `text`, or list it in ELSEWHERE")
                if kind == "file":
                    (folder / block.file).write_text(block.text)
                elif kind == "excerpt":
                    self.assertIn(block.text.rstrip("}; \n"), (ROOT / EXCERPTS[page]).read_text())
                elif kind == "text":
                    self.assertRegex(" ".join(output.split()), shown(block.text))
                elif kind == "lines":
                    self.check_lines(block.text)
                elif kind == "sh":
                    output += "".join([self.run_command(*line, folder) for line in commands(block.text)])

    def check_lines(self, text):
        """Case lines of candidates that are not here: the command reads them, and no more is missing than a GPU."""
        for line in text.splitlines():
            own = re.sub(r" candidate=\S+", "", line)
            if "formula=" not in own:
                own = own.replace("device=cpu", "device=emulated")
            done = subprocess.run([PROGRAM, "explain", own], cwd=ROOT, capture_output=True, text=True)
            no_gpu = "device=cuda" in line and re.search("no CUDA (kernels|device)", done.stderr)
            self.assertEqual(done.returncode, 3 if no_gpu else 0, line + done.stderr)

    def test_every_block_of_the_pages(self):
        ran = set()
        for page in pages():
            text = (ROOT / page).read_text()
            ran |= {(page, start) for block in blocks(text) for other, start in ELSEWHERE
                    if other == page and block.text.startswith(start)}
            self.run_page(page, text)
        self.assertEqual(ran, set(ELSEWHERE), "ELSEWHERE lists blocks that no page has")

    def test_the_folders_of_the_architecture_exist(self):
        page = (ROOT / "docs/architecture.md").read_text()
        named = re.findall(r"(?<![\w<>/])([\w/]+)/(?=[\s:;,)]|$)", blocks(page)[0].text)
        self.assertGreater(len(named), 30)
        for name in named:
            with self.subTest(name):
                self.assertTrue((ROOT / name).is_dir() or any(ROOT.glob(f"[a-z]*/{name}/")) or
                                any(ROOT.glob(f"properties/*/{name}/")))

    def test_the_calls_of_the_page_on_python(self):
        calls = next(b.text for b in blocks((ROOT / "docs/python.md").read_text()) if b.text.startswith("exact, bound"))
        done = subprocess.run([sys.executable, "-c", ARRAYS + calls], capture_output=True, text=True, env={
            **os.environ, "PYTHONPATH": str(ROOT / "python"), "WARPCHECK_COMMAND": str(PROGRAM)})
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_configuration_is_well_formed(self):
        json.loads(next(block.text for block in blocks((ROOT / "docs/agents.md").read_text())
                        if block.language == "json"))

    def test_how_a_block_is_tested(self):
        page = "`a.cu`:\n\n```cpp\nint a;\n```\n" \
               "```sh\nwarpcheck a.cu \\\n  b  # exit code 1: wrong\n# why\nc 'd e'\n```\n" \
               "```text\nx ... y\n```\n```\nwarpcheck f\n```\n`b.cu`:\n\n```cpp\nint b;\n```\n"
        found = blocks(page)
        self.assertEqual(commands(found[1].text), [(["warpcheck", "a.cu", "b"], 1), (["c", "d e"], 0)])
        self.assertEqual([role("p.md", block, ["a.cu"]) for block in found], ["file", "sh", "text", None, None])
        self.assertRegex("x 1 2 y in 0.3 s (17 cases/s)", shown("x ...\ny in 1.2 s (9 cases/s)"))
        self.assertNotRegex("x 1 2 z", shown("x ... y"))


if __name__ == "__main__":
    PROGRAM = pathlib.Path(sys.argv.pop(2)).resolve()
    ROOT = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
