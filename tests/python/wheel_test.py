"""The wheel: made of this build, installed, and used as a stranger would. Run by CTest."""

import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import textwrap
import unittest
import zipfile

SOURCE = pathlib.Path(os.environ["WARPCHECK_SOURCE"])
BUILD = pathlib.Path(os.environ["WARPCHECK_BUILD"])
DROPS_TAIL = os.environ["WARPCHECK_TEST_DROPS_TAIL"]  # the last element of rows longer than 32 is 0
NEEDED = ("build", "scikit_build_core", "auditwheel", "numpy", "jinja2", "pytest", "xdist", "mcp", "twine",
          "pre_commit", "check_jsonschema")
MOST_BYTES = 30 << 20

KERNELS = """
import numpy

def softmax(x, y):
    x, y = numpy.asarray(x, "f8"), numpy.asarray(y)
    if x.size:
        e = numpy.exp(x - x.max(axis=1, keepdims=True))
        y[...] = e / e.sum(axis=1, keepdims=True)

def wrong(x, y):
    softmax(x, y)
    numpy.asarray(y)[:, 32:33] = 0
"""


def run(*arguments, **options):
    return subprocess.run(arguments, capture_output=True, text=True, timeout=120, **options)


def setUpModule():
    global scratch, folder, wheel, site, environment
    scratch = tempfile.TemporaryDirectory()
    unittest.addModuleCleanup(scratch.cleanup)
    folder = pathlib.Path(scratch.name)
    made = run(
        sys.executable, "-m", "build", "--wheel", "--no-isolation", f"-Ccmake.define.WARPCHECK_BUILD={BUILD}",
        f"-Cbuild-dir={folder / 'made'}", "--outdir", str(folder), str(SOURCE),
    )  # fmt: skip
    if made.returncode != 0:
        raise RuntimeError(made.stdout + made.stderr)
    (wheel,) = folder.glob("*.whl")
    site = folder / "site"
    said = run(sys.executable, "-m", "pip", "install", "--no-deps", "--no-index", "--target", str(site), str(wheel))
    if said.returncode != 0:
        raise RuntimeError(said.stdout + said.stderr)
    environment = {k: v for k, v in os.environ.items() if not k.startswith("WARPCHECK")}
    environment |= {"PYTHONPATH": str(site), "HOME": str(folder), "PATH": f"{site / 'bin'}:{os.environ['PATH']}"}
    (folder / "kernels.py").write_text(KERNELS)


def command(*arguments):
    return run("warpcheck", *arguments, env=environment, cwd=folder)


def python(text):
    """Runs a program in the folder of the kernels and returns what it printed as JSON."""
    file = folder / "program.py"
    file.write_text("import json, numpy, warpcheck\nfrom kernels import *\n" + textwrap.dedent(text))
    said = run(sys.executable, str(file), env=environment, cwd=folder)
    if said.returncode != 0:
        raise AssertionError(said.stdout + said.stderr)
    return json.loads(said.stdout.splitlines()[-1])


class Wheel(unittest.TestCase):
    def test_name_size_and_metadata(self):
        self.assertRegex(wheel.name, r"^warpcheck-[0-9.]+-py3-none-manylinux_2_\d+_x86_64\.whl$")
        self.assertLessEqual(wheel.stat().st_size, MOST_BYTES)
        with zipfile.ZipFile(wheel) as content:
            names = content.namelist()
            (metadata,) = [n for n in names if n.endswith("METADATA")]
            text = content.read(metadata).decode()
        version = re.search(r"project\(warpcheck VERSION ([0-9.]+)", (SOURCE / "CMakeLists.txt").read_text())[1]
        for line in (f"Version: {version}", "License-Expression: Apache-2.0", "Classifier: Typing :: Typed",
                     "Description-Content-Type: text/markdown"):
            self.assertIn(line, text)
        self.assertIn("warpcheck/py.typed", names)
        self.assertEqual([n for n in names if "cuda.so" in n], [])
        said = run(sys.executable, "-m", "twine", "check", "--strict", str(wheel))
        self.assertEqual(said.returncode, 0, said.stdout + said.stderr)

    def test_a_source_distribution_is_complete(self):
        """It has every file of the tree but .github, and configures as the build of the wheel does."""
        made = run(sys.executable, "-m", "build", "--sdist", "--no-isolation", "--outdir", str(folder), str(SOURCE))
        self.assertEqual(made.returncode, 0, made.stdout + made.stderr)
        (archive,) = folder.glob("*.tar.gz")
        said = run(sys.executable, "-m", "twine", "check", "--strict", str(archive))
        self.assertEqual(said.returncode, 0, said.stdout + said.stderr)
        self.assertEqual(run("tar", "xzf", str(archive), "-C", str(folder)).returncode, 0)
        tree = folder / archive.name.removesuffix(".tar.gz")
        self.assertFalse((tree / "build").exists())
        listed = run("git", "-C", str(SOURCE), "ls-files")
        if listed.returncode == 0:
            kept = [n for n in listed.stdout.splitlines() if not n.startswith(".github/") and (SOURCE / n).exists()]
            self.assertEqual([name for name in kept if not (tree / name).exists()], [])
        for step in (["-G", "Ninja", "-S", str(tree / "python"), "-B", str(folder / "wheel")],
                     ["--build", str(folder / "wheel"), "--target", "configured"]):  # fmt: skip
            said = run("cmake", *step)
            self.assertEqual(said.returncode, 0, said.stdout + said.stderr)

    def test_the_extra_for_gpus_is_a_wheel_beside_it(self):
        version = re.search(r"project\(warpcheck VERSION ([0-9.]+)", (SOURCE / "CMakeLists.txt").read_text())[1]
        with zipfile.ZipFile(wheel) as content:
            (metadata,) = [n for n in content.namelist() if n.endswith("METADATA")]
            self.assertIn(f'Requires-Dist: warpcheck-cuda=={version}; extra == "cuda"',
                          content.read(metadata).decode().replace("'", '"'))
        build = folder / "cuda_build"
        build.mkdir()
        for name in ("cuda", "bench"):  # what a build of the preset cuda has, or any library in its place
            library = BUILD / f"libwarpcheck_{name}.so"
            library = library if library.exists() else BUILD / "libwarpcheck_emulated.so"
            (build / f"libwarpcheck_{name}.so").write_bytes(library.read_bytes())
        made = run(
            sys.executable, "-m", "build", "--wheel", "--no-isolation", f"-Ccmake.define.WARPCHECK_BUILD={build}",
            f"-Cbuild-dir={folder / 'cuda_made'}", "--outdir", str(folder / "cuda"), str(SOURCE / "python/cuda"),
        )  # fmt: skip
        self.assertEqual(made.returncode, 0, made.stdout + made.stderr)
        (extra,) = (folder / "cuda").glob("*.whl")
        self.assertRegex(extra.name, rf"^warpcheck_cuda-{version}-py3-none-manylinux_2_\d+_x86_64\.whl$")
        said = run(sys.executable, "-m", "twine", "check", "--strict", str(extra))
        self.assertEqual(said.returncode, 0, said.stdout + said.stderr)
        both = folder / "both"
        said = run(sys.executable, "-m", "pip", "install", "--no-deps", "--no-index", "--ignore-installed", "--prefix",
                   str(both), str(wheel), str(extra))  # fmt: skip
        self.assertEqual(said.returncode, 0, said.stdout + said.stderr)
        (program,) = both.glob("lib*/python3*/site-packages/warpcheck/installed/bin/warpcheck")
        said = run(str(program), "doctor")
        self.assertEqual(said.returncode, 0, said.stdout + said.stderr)
        self.assertIn(f"library cuda     {program.parent.parent / 'lib/warpcheck/libwarpcheck_cuda.so'}", said.stdout)
        self.assertNotIn("is not part of this build", said.stdout)

    def test_commands_without_a_compiler(self):
        said = command("verify", "softmax", "--device", "emulated", "--property", "within-error-bound", "--cases", "3",
                       "--dtype", "f32", "--json", "v.json")
        self.assertEqual(said.returncode, 0, said.stdout + said.stderr)
        for arguments, code, text in (
            (["verify", "softmax", "--python", "kernels.py:wrong", "--property", "within-error-bound", "--cases", "9",
              "--json", "w.json"], 1, "worst element  y[0,32]"),
            (["report", "--verify", "w.json", "--out", "r.html"], 0, "r.html"),
            (["run-emulated", "absent.cu"], 2, "absent.cu"),
        ):  # fmt: skip
            said = command(*arguments)
            self.assertEqual(said.returncode, code, said.stdout + said.stderr)
            self.assertIn(text, said.stdout + said.stderr)
        line = json.loads((folder / "w.json").read_text())["failures"][0]["case"]
        self.assertEqual(command("replay", line).returncode, 1)
        self.assertIn("What the contract demands", command("explain", line).stdout)

    def test_a_missing_compiler_is_one_sentence_with_its_package(self):
        toolchain = site / "warpcheck/installed/lib/warpcheck/warpcheck_toolchain.json"
        before = toolchain.read_text()
        self.addCleanup(toolchain.write_text, before)
        toolchain.write_text(re.sub(r'"compiler": "[^"]+"', '"compiler": "/nowhere/no-such-c++"', before, count=1))
        (folder / "p.cu").write_text("int main() {}\n")
        said = command("run-emulated", "p.cu")
        self.assertEqual((said.returncode, said.stdout), (3, ""))
        self.assertIn("is missing; install the package g++", said.stderr)
        self.assertEqual(len(said.stderr.splitlines()), 1)


class Api(unittest.TestCase):
    def test_verify_judges_a_function(self):
        found = python(f"""
            options = dict(cases=9, seed=3, properties=["within-error-bound"], dtypes=["f32"])
            right, bad = warpcheck.verify("softmax", softmax, **options), warpcheck.verify("softmax", wrong, **options)
            library = warpcheck.verify("softmax", {DROPS_TAIL!r}, device="cpu", **options, more=["--max-cols", "99"])
            (first,) = library.causes[:1]
            arrays = first.arrays()
            print(json.dumps([right.passed, right.verdicts, right.worst_error_ratio, bad.passed, str(bad.causes[0]),
                              first.worst.column, arrays["x"].shape, str(arrays["x"].dtype), first.explain()]))
        """)
        self.assertEqual(found[:2], [True, {"softmax/within-error-bound": "pass"}])
        self.assertTrue(0 < found[2] <= 1)
        self.assertFalse(found[3])
        self.assertIn("y[0, 32]: expected 0.0303", found[4])
        self.assertIn("warpcheck replay 'v1 softmax/within-error-bound", found[4])
        self.assertEqual(found[5:8], [32, [1, 33], "float32"])
        self.assertIn("What the contract demands", found[8])

    def test_check_and_bound_judge_arrays(self):
        found = python("""
            x = numpy.linspace(-3, 5, 3 * 65).reshape(3, 65).astype("f4")
            exact, bound = warpcheck.bound("softmax", x)
            y = exact.astype("f4")
            right = warpcheck.check("softmax", y, x)
            y[1, 2] += 4 * numpy.float32(bound[1, 2])
            bad = warpcheck.check("softmax", y, x)
            index = warpcheck.check("argmax", x.argmax(axis=1), x)
            try:
                warpcheck.check("softmax", y[:2], x)
            except ValueError as error:
                refused = str(error)
            e = numpy.exp(x.astype("f8") - x.max(axis=1, keepdims=True))
            e /= e.sum(axis=1, keepdims=True)
            print(json.dumps([float(abs(exact - e).max()), float(bound.max()), right.passed, right.compared,
                              bad.passed, bad.worst.row, bad.worst.column, index.passed, refused]))
        """)
        self.assertLess(found[0], 1e-15)
        self.assertTrue(0 < found[1] < 1e-6)
        self.assertEqual(found[2:8], [True, 195, False, 1, 2, True])
        self.assertIn("dimension 0 is 2, must be rows = 3", found[8])

    def test_check_and_bound_take_formulas(self):
        found = python("""
            import os, pathlib, tempfile
            x, w = numpy.linspace(-3, 5, 3 * 65).reshape(3, 65).astype("f4"), numpy.linspace(1, 2, 65).astype("f4")
            exact, bound = warpcheck.bound("rms_norm.op", w=w, x=x, eps=1e-3)
            y = exact.astype("f4")
            right = warpcheck.check("rms_norm.op", y, x=x, w=w, eps=1e-3)
            bad = warpcheck.check("rms_norm.op", y, x, w)  # eps is 1e-6
            loss = warpcheck.check("gradient:relu.op", (x[0] > 0).astype("f4"), x=x[0], d_y=numpy.ones(65, "f4"))
            os.chdir(tempfile.mkdtemp())
            own, verdicts = pathlib.Path("own.op"), []
            for factor in (2, 3):  # edited between calls
                own.write_text(f"operator f(x[n]) -> y[n]\\n  y[i] = {factor} * x[i]\\n")
                verdicts.append(warpcheck.check("own.op", 3 * w, w).passed)
            try:
                warpcheck.check("rows.op", y, x)
            except ValueError as error:
                refused = str(error)
            print(json.dumps([float(bound.max()), right.passed, right.compared, bad.passed, loss.passed, verdicts,
                              refused]))
        """)
        self.assertTrue(0 < found[0] < 1e-4)
        self.assertEqual(found[1:6], [True, 195, False, True, [False, True]])
        self.assertIn("name one as rows.op:NAME", found[6])

    def test_check_and_bound_take_products_and_sequences(self):
        found = python("""
            draw = numpy.random.default_rng(1)
            a, b, c = (draw.uniform(-1, 1, shape).astype("f4") for shape in ((5, 7), (7, 3), (5, 3)))
            seen, exact, bound = [], *warpcheck.bound("matmul", a, b)
            seen.append(bool(abs(exact - a.astype("f8") @ b).max() < 1e-15 and 0 < bound.max() < 1e-5))
            y = exact.astype("f4")
            seen.append(warpcheck.check("matmul", y, a, b).passed)
            y[4, 2] += 2 * numpy.float32(bound[4, 2])
            bad = warpcheck.check("matmul", y, a, b)
            seen.append([bad.passed, bad.worst.row, bad.worst.column])
            exact, bound = warpcheck.bound("matmul", a.T.copy(), b, ta="yes", alpha=2, beta=1, c_in=c)
            seen.append(bool(abs(exact - (2 * a.astype("f8") @ b + c)).max() < 1e-15))
            seen.append(warpcheck.check("matmul", exact.astype("f4"), a.T.copy(), b, ta="yes", alpha=2, beta=1,
                                        c_in=c).passed)
            # A gated recurrent unit of two steps, by its definition (gates r, z, n).
            x, w, u = (draw.uniform(-.5, .5, shape).astype("f4") for shape in ((2, 3, 4), (1, 15, 4), (1, 15, 5)))
            h, states = numpy.zeros((3, 5)), []
            for step in x.astype("f8"):
                of_x, of_h = numpy.split(step @ w[0].T, 3, axis=1), numpy.split(h @ u[0].T.astype("f8"), 3, axis=1)
                r, z = (1 / (1 + numpy.exp(-of_x[k] - of_h[k])) for k in (0, 1))
                h = (1 - z) * numpy.tanh(of_x[2] + r * of_h[2]) + z * h
                states.append(h)
            exact, bound = warpcheck.bound("gru", x, w, u)
            seen.append([exact.shape, bool(abs(exact - numpy.array(states)).max() < 1e-12 and 0 < bound.max() < 1e-4)])
            y = exact.astype("f4")
            seen.append(warpcheck.check("gru", y, x, w, u).passed)
            y[1, 2, 4] += 2 * numpy.float32(bound[1, 2, 4])
            seen.append(warpcheck.check("gru", y, x, w, u).passed)
            print(json.dumps(seen))
        """)
        self.assertEqual(found, [True, True, [False, 4, 2], True, True, [[2, 3, 5], True], True, False])

    def test_check_and_bound_take_indices_histograms_and_splits(self):
        found = python("""
            draw, seen = numpy.random.default_rng(1), []
            bins = draw.integers(0, 4, (50, 2)).astype("u1")
            g, h = (draw.integers(-64, 64, 50).astype("f4") / 64 for _ in range(2))
            h = abs(h) + 1
            cols = numpy.array([[0, 4], [4, 4]])  # offset, bins
            sums = numpy.zeros((8, 2))
            for column in range(2):
                numpy.add.at(sums, (4 * column + bins[:, column], 0), g)
                numpy.add.at(sums, (4 * column + bins[:, column], 1), h)
            exact, bound = warpcheck.bound("histogram", bins, cols, g, h)
            seen.append(bool((exact == sums).all() and bound.shape == (8, 2)))
            seen.append(warpcheck.check("histogram", sums, bins, cols, g, h).passed)
            keys = draw.integers(0, 9, (3, 20)).astype("f4")
            seen.append(warpcheck.bound("argmax", keys).exact.tolist() == keys.argmax(axis=1).tolist())
            order = numpy.argsort(keys, axis=1, kind="stable")
            seen.append(bool((warpcheck.bound("argsort", keys).exact == order).all()))
            seen.append(warpcheck.check("histogram", sums + [0, 1], bins, cols, g, h, accum=2).passed)
            gh = draw.integers(1, 9, (50, 2)).astype("u2")
            whole = numpy.zeros((8, 2), "i8")
            for column in range(2):
                numpy.add.at(whole, 4 * column + bins[:, column], gh)
            seen.append(warpcheck.check("histogram", whole, bins, cols, gh).passed)
            # One leaf, the first column as its feature: no penalties, so a side gains g^2 / h.
            hist = sums[:4]
            feature = numpy.array([[0, 4, 0, 0, 0, 0, 0]])  # id, bins, default, offset, mfb, missing, categorical
            G, H = hist.sum(axis=0)
            leaf = numpy.array([[0, G, H, 50, G * G / H, 0, 0]])
            count = numpy.bincount(bins[:, 0], minlength=4)
            arrays = hist, count, feature, numpy.zeros((0, 0), "u1"), leaf
            exact, _ = warpcheck.bound("best_split", *arrays)
            left = [hist[:t + 1].sum(axis=0) for t in range(3)]
            gains = [l[0] ** 2 / l[1] + (G - l[0]) ** 2 / (H - l[1]) - G * G / H for l in left]
            best = int(numpy.argmax(gains))
            seen.append(bool(abs(exact[0, 0] - gains[best]) < 1e-12 and (exact[0, 1:3] == left[best]).all()))
            rows = int(count[:best + 1].sum())
            got = {"value": exact, "field": numpy.array([[0x101, 0, best, 0, rows, 50 - rows]]),
                   "cat": numpy.full((1, 32), 0xffffffff, "u4")}
            seen.append(warpcheck.check("best_split", got, *arrays).passed)
            got["field"][0, 2] += 1
            seen.append(warpcheck.check("best_split", got, *arrays).passed)
            print(json.dumps(seen))
        """)
        self.assertEqual(found, [True, True, True, True, False, True, True, True, False])

    def test_mistakes_are_exceptions(self):
        found = python("""
            seen, eye = [], numpy.eye(3, dtype="f4")
            for call in (lambda: warpcheck.verify("nosuch", softmax), lambda: warpcheck.verify("softmax", "x.txt"),
                         lambda: warpcheck.bench("softmax"), lambda: warpcheck.bound("matmul", eye, eye[:2]),
                         lambda: warpcheck.bound("sigmoid", eye)):
                try:
                    call()
                except warpcheck.WarpcheckError as error:
                    seen.append([type(error).__name__, str(error)])
            print(json.dumps(seen))
        """)
        names = [name for name, _ in found]
        self.assertEqual(names, ["UsageError", "UsageError", "Missing", "UsageError", "UsageError"])
        self.assertIn("x: it has 2 dimensions, must have 1", found[4][1])
        self.assertIn("matmul: tensor b: dimension 0 is 2, must be k = 3", found[3][1])
        self.assertIn("nosuch", found[0][1])


    def test_bench_times_a_kernel_that_passes(self):
        if not (BUILD / "libwarpcheck_bench.so").exists():
            self.skipTest("this build has no benchmarks")
        found = python(f"""
            import os
            os.environ["WARPCHECK_COMMAND"] = {str(BUILD / "warpcheck")!r}  # the wheel has no benchmarks
            options = dict(device="cpu", more=["--cases", "3", "--row", "rows=2,cols=64"])
            rows = warpcheck.bench("softmax", softmax, **options)
            try:
                warpcheck.bench("softmax", wrong, **options)
            except warpcheck.WarpcheckError as error:
                refused = str(error)
            print(json.dumps([rows[0].name, rows[0].us > 0, refused]))
        """)
        self.assertEqual(found[:2], ["softmax/f32/2x64/iterations:3/manual_time", True])
        self.assertIn("is not measured, since it failed verification", found[2])


RACE = """
#include <cstdio>
__global__ void sum(int* out) { {STATEMENT}; }
int main() {
  int* out;
  cudaMalloc(&out, sizeof(int));
  cudaMemset(out, 0, sizeof(int));
  sum<<<1, 64>>>(out);
  cudaDeviceSynchronize();
  cudaFree(out);
}
"""


class Agent(unittest.TestCase):
    """A client of the Model Context Protocol, the SDK's own."""

    def session(self, talk):
        """Runs `talk(client)` with a server whose root is the folder of the kernels."""
        import anyio
        from mcp import Client, StdioServerParameters

        server = StdioServerParameters(command="warpcheck", args=["mcp", "--root", str(folder)], env=environment)

        async def main():
            async with Client(server) as client:
                return await talk(client)

        return anyio.run(main)

    def test_a_wrong_kernel_is_found_explained_and_repaired(self):
        seen = []

        async def progress(seconds, total, message):
            seen.append((seconds, message))

        async def talk(client):
            async def call(tool, **arguments):
                said = await client.call_tool(tool, arguments, progress_callback=progress)
                self.assertFalse(said.is_error, said.content)
                return said.structured_content

            mine = folder / "mine.py"
            mine.write_text(KERNELS.replace("def wrong", "def broken").replace(", 32:33] = 0", ", 32:33] *= 2"))
            judged = dict(operator="softmax", cases=9, properties=["within-error-bound"], dtypes=["f32"])
            found = await call("verify", kernel="mine.py:broken", **judged)
            self.assertEqual(found["exit_code"], 1)
            line = found["failures"][0]["case"]
            self.assertEqual((await call("replay", line=line))["verdict"], "violation")
            self.assertIn("What the contract demands", json.dumps(await call("explain", line=line)))
            mine.write_text(mine.read_text().replace("*= 2", "*= 1"))
            self.assertEqual((await call("replay", line=line))["verdict"], "pass")
            self.assertEqual((await call("verify", kernel="mine.py:broken", **judged))["exit_code"], 0)

            program = folder / "sum.cu"
            program.write_text(RACE.replace("{STATEMENT}", "*out += 1"))
            found = await call("run_emulated", path="sum.cu")
            self.assertEqual((found["exit_code"], found["verdict"]), (1, "race"))
            program.write_text(RACE.replace("{STATEMENT}", "atomicAdd(out, 1)"))
            self.assertEqual((await call("run_emulated", path="sum.cu"))["exit_code"], 0)

            self.assertIn("softmax", (await call("list"))["operators"])
            import numpy

            numpy.save(folder / "x.npy", numpy.zeros((2, 4), "f4"))
            self.assertEqual((await call("bound", operator="softmax", inputs=["x.npy"]))["exact"], [0.25] * 8)

        self.session(talk)
        self.assertTrue(seen and all(seconds > 0 for seconds, _ in seen))

    def test_what_lies_outside_of_the_root_is_refused(self):
        line = "v1 softmax/within-error-bound x=f32[1x2] fill={} | y=f32[1x2] | candidate={} device=cpu"
        calls = (
            ("verify", dict(operator="softmax", kernel="../other.so"), "lies outside of the root"),
            ("verify", dict(operator="softmax", kernel="/etc/other.py:f"), "lies outside of the root"),
            ("verify", dict(operator="--version"), "is not a name"),
            ("run_emulated", dict(path="/etc/passwd"), "lies outside of the root"),
            ("run_emulated", dict(path="p.cu", includes=["/usr/include"]), "lies outside of the root"),
            ("replay", dict(line=line.format("constant(0)", "/lib/other.so")), "lies outside of the root"),
            ("replay", dict(line=line.format("constant(0)", "python:/etc/f.py:f:python3")), "lies outside of the root"),
            ("explain", dict(line=line.format("constant(0)", "source:/etc/f.cu:f")), "lies outside of the root"),
            ("replay", dict(line=line.format("constant(0)", "python:kernels.py:f:/bin/sh")), "its interpreter /bin/sh"),
            ("replay", dict(line=line.format("npy(/etc/passwd,00)", "builtin")), "lies outside of the root"),
            ("bound", dict(operator="softmax", inputs=["/etc/x.npy"]), "lies outside of the root"),
        )

        async def talk(client):
            for tool, arguments, text in calls:
                said = await client.call_tool(tool, arguments)
                self.assertTrue(said.is_error, arguments)
                self.assertIn(text, said.content[0].text)

        self.session(talk)

    def test_a_cancelled_call_ends_its_processes(self):
        import anyio

        program = str(site / "warpcheck/installed/bin/warpcheck")

        def running():
            found = []
            for link in pathlib.Path("/proc").glob("[0-9]*/exe"):
                try:
                    found += [link] if os.readlink(link) == program else []
                except OSError:
                    pass  # it has ended
            return found

        async def talk(client):
            started = anyio.Event()

            async def progress(*_):
                started.set()

            async with anyio.create_task_group() as tasks:
                arguments = dict(operator="softmax", cases=1000000, device="emulated")
                tasks.start_soon(lambda: client.call_tool("verify", arguments, progress_callback=progress))
                await started.wait()
                self.assertTrue(running())
                tasks.cancel_scope.cancel()
            with anyio.fail_after(60):
                while running():
                    await anyio.sleep(0.1)

        self.session(talk)

    def test_a_missing_sdk_is_one_sentence(self):
        said = run(
            sys.executable, "-c", "import importlib.util as u; found = u.find_spec; "
            "u.find_spec = lambda name, *more: None if name == 'mcp' else found(name, *more); "
            "import sys; sys.argv = ['warpcheck', 'mcp']; from warpcheck.command import main; main()", env=environment,
        )  # fmt: skip
        self.assertEqual((said.returncode, said.stdout), (3, ""))
        self.assertIn("pip install 'mcp>=2.3,<3'", said.stderr)


class Action(unittest.TestCase):
    """action.yml and the hook of pre-commit, without GitHub."""

    def steps(self, arguments):
        """Runs the action's commands in a folder of their own. Returns the folder of results and the exit codes."""
        from ruamel.yaml import YAML  # a need of check-jsonschema

        action = YAML(typ="safe").load((SOURCE / "action.yml").read_text())
        inputs = {name: given.get("default", "") for name, given in action["inputs"].items()}
        inputs |= {"arguments": arguments, "package": str(wheel)}
        place = pathlib.Path(tempfile.mkdtemp(dir=folder))
        (place / "kernels.py").write_text(KERNELS)
        target = place / "installed"  # where `pip install` of the first step puts the wheel
        here = environment | {
            "PIP_TARGET": str(target), "PIP_NO_DEPS": "1", "PIP_NO_INDEX": "1", "PYTHONPATH": str(target),
            "PATH": f"{target / 'bin'}:{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}",
        }  # fmt: skip
        codes = {}
        for step in action["runs"]["steps"]:
            if "gate != ''" in step.get("if", "") or (any(codes.values()) and "!cancelled()" not in step["if"]):
                continue
            if "run" in step:
                words = {k: re.fullmatch(r"\$\{\{ inputs\.(\w+) \}\}", v)[1] for k, v in step.get("env", {}).items()}
                given = {k: inputs[word] for k, word in words.items()}
                said = run("bash", "-eo", "pipefail", "-c", step["run"], env=here | given, cwd=place)
                codes[step["name"]] = said.returncode
            else:
                for name in step["with"].values():
                    self.assertTrue(name == "warpcheck" or (place / name).exists(), name)
        return place / "warpcheck-result", codes

    def test_files_follow_their_schemas(self):
        for program in (
            ("check_jsonschema", "--builtin-schema", "vendor.github-actions", str(SOURCE / "action.yml")),
            ("pre_commit", "validate-manifest", str(SOURCE / ".pre-commit-hooks.yaml")),
        ):
            said = run(sys.executable, "-m", *program)
            self.assertEqual(said.returncode, 0, said.stdout + said.stderr)

    def test_steps_judge_annotate_and_report(self):
        options = "--property within-error-bound --dtype f32 --cases 9"
        made, codes = self.steps(f"softmax --python kernels.py:softmax {options}")
        self.assertEqual(codes, {"install": 0, "verify": 0, "report": 0})
        self.assertEqual(json.loads((made / "verify.sarif").read_text())["runs"][0]["results"], [])
        made, codes = self.steps(f"softmax --python kernels.py:wrong {options}")
        self.assertEqual(codes, {"install": 0, "verify": 1, "report": 0})
        (result,) = json.loads((made / "verify.sarif").read_text())["runs"][0]["results"][:1]
        place = result["locations"][0]["physicalLocation"]
        line = 1 + KERNELS.splitlines().index("def wrong(x, y):")
        self.assertEqual(place, {"artifactLocation": {"uri": "kernels.py"}, "region": {"startLine": line}})
        self.assertEqual(result["ruleId"], "softmax/within-error-bound")
        self.assertIn("warpcheck replay 'v1 softmax", result["message"]["text"])
        self.assertIn("softmax", (made / "report.html").read_text())


class Pytest(unittest.TestCase):
    def run_tests(self, text, *arguments):
        tests = folder / "tests"
        tests.mkdir(exist_ok=True)
        (tests / "kernels.py").write_text(KERNELS)
        (tests / "test_kernels.py").write_text(textwrap.dedent(text))
        program = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        return run(*program, *arguments, env=environment, cwd=tests)

    def test_marked_kernels_are_tests(self):
        text = """
            import pytest, kernels
            from warpcheck.pytest import assert_kernel

            OPTIONS = dict(cases=9, properties=["within-error-bound"], dtypes=["f32"])

            @pytest.mark.warpcheck("softmax", **OPTIONS)
            def right(x, y):
                kernels.softmax(x, y)

            @pytest.mark.warpcheck("softmax", **OPTIONS)
            def bad(x, y):
                kernels.wrong(x, y)

            def test_assert_kernel():
                assert assert_kernel("softmax", kernels.softmax, **OPTIONS).passed
                with pytest.raises(AssertionError, match="warpcheck replay"):
                    assert_kernel("softmax", kernels.wrong, **OPTIONS)
        """
        for arguments in ([], ["-n", "2"]):
            said = self.run_tests(text, *arguments)
            self.assertEqual(said.returncode, 1, said.stdout + said.stderr)
            self.assertIn("1 failed, 2 passed", said.stdout)
            self.assertIn("y[0, 32]: expected 0.0303", said.stdout)
            self.assertIn("warpcheck replay 'v1 softmax/within-error-bound", said.stdout)
        said = self.run_tests(text, "--warpcheck-seed", "5", "--warpcheck-device", "emulated", "-k", "right")
        self.assertIn("device emulated runs no Python function", said.stdout)

    def test_the_examples_of_the_readme_run_as_printed(self):
        blocks = re.findall(r"```python\n(.*?)```", (SOURCE / "python/README.md").read_text(), re.S)
        self.assertEqual(len(blocks), 2)
        (folder / "example.py").write_text(blocks[0])
        said = run(sys.executable, "example.py", env=environment, cwd=folder)
        self.assertEqual(said.returncode, 0, said.stdout + said.stderr)
        self.assertIn("'softmax/within-error-bound': '", said.stdout)
        said = self.run_tests(blocks[1])
        self.assertIn("1 passed", said.stdout, said.stdout + said.stderr)


if __name__ == "__main__":
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        print(f"WARPCHECK_SKIP: {', '.join(missing)} not installed in {sys.executable} (ci/requirements.txt)")
        sys.exit(0)
    unittest.main(verbosity=2)
