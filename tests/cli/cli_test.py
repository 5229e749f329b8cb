"""The command `warpcheck` from outside: exit codes, sentences, reports, files. Run by CTest with WARPCHECK set."""

import json
import os
import pathlib
import re
import shutil
import signal
import stat
import struct
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree as xml

WARPCHECK = os.environ["WARPCHECK"]
SOURCE = os.environ["WARPCHECK_SOURCE"]
CANDIDATE = os.environ["WARPCHECK_TEST_CANDIDATE"]
NAN = os.environ["WARPCHECK_TEST_NAN"]  # its first element is NaN
DROPS_TAIL = os.environ["WARPCHECK_TEST_DROPS_TAIL"]  # the last element of rows longer than 32 is 0
DROPS_TAIL_SLOWLY = os.environ["WARPCHECK_TEST_DROPS_TAIL_SLOWLY"]  # the same, 20 ms a call
PRETENDED = os.environ["WARPCHECK_TEST_PRETENDED"]  # plays device cuda
LINE = "v1 softmax/within-error-bound x=f32[3x37] fill=randn(5) | y=f32[3x37] | index=i64[3] | device=emulated"


def run(*arguments, **options):
    return subprocess.run([WARPCHECK, *arguments], capture_output=True, text=True, timeout=600, **options)


def npy(path, descr, shape, data):
    header = ("{'descr': '%s', 'fortran_order': False, 'shape': %s, }" % (descr, shape)).encode()
    header += b" " * (63 - (10 + len(header)) % 64) + b"\n"
    with open(path, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data)


class Usage(unittest.TestCase):
    """Bad input: one sentence that names it, and exit code 2 (usage) or 3 (something is missing)."""

    def expect(self, code, text, *arguments):
        r = run(*arguments)
        self.assertEqual(r.returncode, code, r.stdout + r.stderr)
        self.assertIn(text, r.stdout + r.stderr)
        return r

    def test_every_command_has_help(self):
        for command in ["verify", "fuzz", "replay", "list", "doctor", "golden"]:
            r = run(command, "--help")
            self.assertEqual(r.returncode, 0)
            self.assertIn("--help", r.stdout)
        self.assertIn("Exit codes", run("--help").stdout)

    def test_help_names_the_exit_codes_that_a_command_has(self):
        for command in (["verify"], ["fuzz"], ["mutants"], ["golden", "check"]):
            self.assertIn("130 interrupted", run(*command, "--help").stdout, command)
        for command in (["replay"], ["run-emulated"], ["list"], ["doctor"], ["golden", "regenerate"]):
            text = run(*command, "--help").stdout
            self.assertIn("Exit codes: 0 ", text, command)
            self.assertNotIn("130", text, command)

    def test_no_option_sets_a_tolerance_and_every_bound_names_its_derivation(self):
        for command in ["verify", "fuzz", "replay"]:
            self.assertNotRegex(run(command, "--help").stdout.lower(), r"toleran|--[ar]tol|epsilon")
        folder = os.path.join(SOURCE, "reference")
        for name in sorted(os.listdir(folder)):
            if not name.endswith(".hpp"):
                continue
            with open(os.path.join(folder, name)) as f:
                text = f.read()
            if "error bound" in text:
                self.assertIn("Derivation: docs/numerics.md", " ".join(text.replace("//", " ").split()), name)

    def test_version(self):
        self.assertRegex(run("--version").stdout, r"warpcheck \d+\.\d+\.\d+")

    def test_mistakes(self):
        for code, text, arguments in [
            (2, "subcommand", []),
            (2, "unknown command 'nosuch'; commands are verify", ["nosuch"]),
            (2, "'nosuch' is unknown; known are ", ["verify", "nosuch"]),
            (2, "cases: 0", ["verify", "softmax", "--cases", "0", "--device", "emulated"]),
            (2, "cases", ["verify", "softmax", "--cases", "many"]),
            *[(2, "is not an integer in [1, 10000000]", [*command, "--cases", cases])
              for command in (["verify", "softmax", "--device", "emulated"], ["verify", "softmax", "--null-kernels"],
                              ["mutants", "softmax"])
              for cases in ("-1", "10000001", "100000000000", "99999999999999999999")],
            (2, "'nosuch'", ["verify", "softmax", "--property", "nosuch", "--device", "cuda"]),
            (2, "f33", ["verify", "softmax", "--dtype", "f33", "--device", "cuda"]),
            (2, "nothing to run", ["verify", "softmax", "--dtype", "i32", "--device", "emulated"]),
            (2, "'gpu' is not one of", ["verify", "softmax", "--device", "gpu"]),
            (2, "cuda:x", ["verify", "softmax", "--device", "cuda:x"]),
            (2, "seed: 'x'", ["verify", "softmax", "--seed", "x"]),
            (2, "shard: '4/4'", ["verify", "softmax", "--shard", "4/4"]),
            (2, "max-cols: 0 is", ["verify", "softmax", "--max-cols", "0", "--device", "emulated"]),
            (2, "no case of softmax/index-beyond-2-to-24 has at most", ["verify", "softmax", "--max-cols", "9",
             "--property", "index-beyond-2-to-24", "--device", "emulated"]),
            (2, "size: 'huge'", ["verify", "softmax", "--size", "huge", "--device", "cuda"]),
            (2, "--journal", ["verify", "softmax", "--resume"]),
            (2, "mps: it shares a GPU, but this run is on device emulated",
             ["verify", "softmax", "--mps", "--device", "emulated"]),
            (2, "mps: it shares a GPU", ["fuzz", "softmax", "--mps", "--device", "emulated",
                                         "--out", "/tmp/never-made"]),
            (2, "timeout", ["verify", "softmax", "--timeout", "0"]),
            (3, "not found", ["verify", "softmax", "--device", "emulated", "--candidate", "/nonexistent.so"]),
            (3, "device cpu", ["verify", "softmax", "--device", "cpu"]),
            (2, "grammar version", ["replay", "nonsense"]),
            *[(2, f"timeout: {seconds} is not a positive", ["replay", LINE, "--timeout", seconds])
              for seconds in ("0", "-1", "nan")],
            (2, "speed", ["replay", LINE + " speed=fast"]),
            (2, "unknown; known are ", ["replay", LINE.replace("softmax", "hardmax")]),
            (2, "tensor x: rank 3 is not 2, that of [rows, cols]", ["replay", LINE.replace("3x37", "3x3x37")]),
            (2, "op: '9' is not an integer in [0, 2]",
             ["replay", "v1 reduce/within-error-bound x=f32[3x7] fill=randn(1) | y=f32[3] | op=9 device=emulated"]),
            (2, "'null:nothing' is none; of kernels that compute nothing there are zeros,",
             ["verify", "softmax", "--device", "cpu", "--candidate", "null:nothing"]),
            (3, "'null:zeros' is of device cpu, not emulated",
             ["verify", "softmax", "--device", "emulated", "--candidate", "null:zeros"]),
            (2, "'nosuch' is unknown", ["list", "nosuch"]),
            (2, "the path of the folder is empty", ["fuzz", "softmax", "--device", "emulated", "--out", ""]),
            (2, "--json excludes --list", ["mutants", "softmax", "--list", "--json", "/tmp/never-made"]),
            (2, "--candidate excludes --null-kernels", ["verify", "softmax", "--null-kernels",
                                                        "--candidate", CANDIDATE]),
            (2, "--device excludes --null-kernels", ["verify", "softmax", "--null-kernels", "--device", "cpu"]),
            (2, "--one-in: 0 is too small, must be at least 1", ["mutants", "softmax", "--one-in", "0"]),
            (2, "--only excludes --one-in", ["mutants", "softmax", "--one-in", "8", "--only", "no-maximum-subtracted"]),
            (2, "'comparator' has no list", ["mutants", "comparator"]),
            (2, "--generated", ["mutants", "comparator"]),
            (2, "nosuch", ["golden", "check", "--folder", "/nosuch"]),
        ]:
            with self.subTest(arguments=arguments):
                self.expect(code, text, *arguments)

    def test_a_case_that_memory_cannot_hold_is_skipped(self):
        line = "v1 scan/rows-beyond-grid x=f32[4295667000x1000] fill=uniform(1,-8,8) | y=f32[4295667000x1000] |"
        r = run("replay", line + " device=cpu candidate=null:zeros")
        self.assertRegex(r.stdout, r"skipped.*\bit takes 80013 GiB of memory, of which \d+ are free")

    def test_missing_gpu_is_an_error_only_where_it_was_asked_for(self):
        hidden = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}  # so that the test holds on a machine that has one
        r = run("verify", "softmax", "--device", "cuda", env=hidden)
        self.assertEqual(r.returncode, 3, r.stdout + r.stderr)
        self.assertIn("device cuda", r.stdout + r.stderr)
        r = run("verify", "softmax", "--device", "auto", "--cases", "1", "--property", "empty", env=hidden)
        self.assertEqual(r.returncode, 0, r.stdout + r.stderr)
        self.assertIn("device emulated (no GPU is used:", r.stdout.splitlines()[0])

    def test_all_gpus_of_a_host_share_the_cases(self):
        """The command beside a library that plays device cuda (tests/engine/pretend_device.cpp)."""
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            command = shutil.copy2(WARPCHECK, folder / "warpcheck")
            shutil.copy2(PRETENDED, folder / "libwarpcheck_cuda.so")
            tools = folder / "tools"
            tools.mkdir()
            smi = tools / "nvidia-smi"
            smi.write_text("#!/bin/sh\necho GPU-a; echo GPU-b; echo GPU-c; echo GPU-d\n")
            smi.chmod(0o755)
            used = folder / "used"
            arguments = [command, "verify", "softmax", "--property", "within-error-bound", "--dtype", "f32",
                         "--cases", "16", "--max-rows", "4", "--max-cols", "2", "--device"]

            def gpus(device, **environment):
                used.unlink(missing_ok=True)
                r = subprocess.run([*arguments, device], capture_output=True, text=True,
                                   env={**os.environ, "PRETENDED_DEVICE_GPUS": str(used), **environment})
                self.assertIn(r.returncode, (0, 1), r.stdout + r.stderr)
                self.assertIn("device cuda: a pretended device", r.stdout)
                return set(used.read_text().split()), r.stdout

            on_path = f"{tools}:{os.environ['PATH']}"
            found, said = gpus("cuda:all", PATH=on_path)
            self.assertEqual(found, {"GPU-a", "GPU-b", "GPU-c", "GPU-d"})
            self.assertIn("with workers on 4 GPUs", said)
            # Those that the environment leaves, and no others.
            self.assertEqual(gpus("cuda:all", PATH=on_path, CUDA_VISIBLE_DEVICES="3,5")[0], {"3", "5"})
            self.assertEqual(gpus("cuda:2")[0], {"2"})
            smi.write_text("#!/bin/sh\necho no driver; exit 9\n")
            r = subprocess.run([*arguments, "cuda:all"], capture_output=True, text=True,
                               env={**os.environ, "PATH": on_path})
            self.assertEqual(r.returncode, 3, r.stdout + r.stderr)
            self.assertIn("nvidia-smi, which lists the GPUs, ended with status 9: no driver", r.stderr)

    def test_cpu_without_fma3_is_refused_by_name(self):
        # The C library hides the instruction from whoever asks it.
        without = {**os.environ, "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-FMA", "CUDA_VISIBLE_DEVICES": ""}
        built_for_it = os.environ["WARPCHECK_TEST_FMA"] == "1"
        with tempfile.TemporaryDirectory() as folder:
            program = os.path.join(folder, "a.cu")
            with open(program, "w") as f:
                f.write("int main() { return 0; }\n")
            for device in "emulated", "auto":
                r = run("verify", "softmax", "--device", device, "--cases", "1", "--property", "empty", env=without)
                self.assertEqual(r.returncode, 3 if built_for_it else 0, r.stdout + r.stderr)
                self.assertEqual("has no FMA3" in r.stderr, built_for_it, r.stderr)
            r = run("run-emulated", program, env=without)
            self.assertEqual(r.returncode, 3 if built_for_it else 0, r.stdout + r.stderr)
            self.assertEqual("has no FMA3" in r.stderr, built_for_it, r.stderr)
        line = next(l for l in run("doctor", env=without).stdout.splitlines() if l.startswith("device emulated"))
        self.assertEqual("unusable: the CPU '" in line, built_for_it, line)
        # A kernel that runs on neither needs it not.
        r = run("verify", "softmax", "--device", "cpu", "--candidate", os.environ["WARPCHECK_TEST_CANDIDATE"],
                "--cases", "1", "--property", "empty", env=without)
        self.assertNotIn("FMA3", r.stdout + r.stderr)

    def test_missing_folder_for_temporary_files_is_named(self):
        r = run("verify", "softmax", "--device", "emulated", "--cases", "1", "--property", "empty",
                env={**os.environ, "TMPDIR": "/nonexistent"})
        self.assertEqual(r.returncode, 3, r.stdout + r.stderr)
        self.assertIn("TMPDIR: '/nonexistent' is not a folder", r.stderr)

    def test_full_disk_is_an_error(self):
        self.expect(3, "/dev/full", "verify", "softmax", "--device", "emulated", "--cases", "1", "--property", "empty",
                    "--json", "/dev/full/x.json")


class Outputs(unittest.TestCase):
    """Files that a command writes when it is over."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def replay(self, path, **options):
        return run("replay", LINE, "--json", path, **options)

    def expect_report(self, text):
        self.assertIn("v1 softmax/within-error-bound", json.loads(text)["case"])

    def test_a_link_stays_and_its_target_is_written(self):
        os.symlink("target.json", self.path("link.json"))
        for there in (False, True):
            with self.subTest(there=there):
                self.assertEqual(self.replay(self.path("link.json")).returncode, 0)
                self.assertEqual(os.readlink(self.path("link.json")), "target.json")
                with open(self.path("target.json")) as f:
                    self.expect_report(f.read())
        self.assertEqual(sorted(os.listdir(self.folder)), ["link.json", "target.json"])

    def test_a_fifo_gets_the_text(self):
        os.mkfifo(self.path("fifo"))
        reader = os.open(self.path("fifo"), os.O_RDONLY | os.O_NONBLOCK)
        self.addCleanup(os.close, reader)
        r = self.replay(self.path("fifo"))
        self.assertEqual(r.returncode, 0, r.stdout + r.stderr)
        self.assertTrue(stat.S_ISFIFO(os.lstat(self.path("fifo")).st_mode))
        self.expect_report(os.read(reader, 1 << 16))

    def test_a_full_device_stays_and_is_an_error(self):
        try:
            os.mknod(self.path("full"), 0o666 | stat.S_IFCHR, os.makedev(1, 7))
            with open(self.path("full"), "w"):
                pass
        except PermissionError:
            self.skipTest("no device can be made here")
        r = self.replay(self.path("full"))
        self.assertTrue(stat.S_ISCHR(os.lstat(self.path("full")).st_mode))
        self.assertEqual(r.returncode, 3, r.stdout + r.stderr)
        self.assertIn("No space left on device", r.stderr)

    def test_a_descriptor_is_written_where_it_is(self):
        os.symlink("/proc/self/fd/1", self.path("stdout"))
        with open(self.path("out"), "w+") as out:
            self.assertEqual(subprocess.run([WARPCHECK, "replay", LINE, "--json", self.path("stdout")], stdout=out,
                                            timeout=600).returncode, 0)
            out.seek(0)
            lines = out.read().splitlines()
        self.assertIn("within-error-bound: pass", lines[-3])
        self.expect_report(lines[-1])

    def test_what_cannot_be_written_is_refused_before_the_run(self):
        program = self.path("p.cu")
        with open(program, "w") as f:
            f.write("int main() {}\n")
        verify = ["verify", "softmax", "--device", "emulated"]
        for command in (verify, ["fuzz", "softmax", "--device", "emulated", "--out", self.path("fuzz")],
                        ["replay", LINE],
                        ["mutants", "softmax"], ["run-emulated", program]):
            for path, code, text in ((self.path("none/x"), 3, "No such file"), (self.folder, 3, "Is a directory"),
                                     ("", 2, "empty")):
                with self.subTest(command=command[0], path=path):
                    r = run(*command, "--json", path)
                    self.assertEqual(r.returncode, code, r.stdout + r.stderr)
                    self.assertIn(text, r.stderr)
                    self.assertEqual(r.stdout, "")
        self.assertEqual(run(*verify, "--junit", self.folder).returncode, 3)
        self.assertEqual(os.listdir(self.folder), ["p.cu"])


    def test_standard_output_that_cannot_be_written_is_an_error(self):
        with open(self.path("none"), "w"), open(self.path("none")) as read_only:
            for command in (["list"], ["--version"], ["verify", "softmax", "--device", "emulated",
                                                      "--property", "empty", "--cases", "1"]):
                with self.subTest(command=command[0]):
                    r = subprocess.run([WARPCHECK, *command], stdout=read_only, stderr=subprocess.PIPE, text=True,
                                       timeout=600)
                    self.assertEqual(r.returncode, 3, r.stderr)
                    self.assertIn("standard output cannot be written", r.stderr)


class Input(unittest.TestCase):
    """A user's NumPy array."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def test_good_array_passes_and_reports_the_worst_element(self):
        npy(self.path("x.npy"), "<f4", "(2, 3)", struct.pack("<6f", 1, 2, 3, -1, 0, 88))
        r = run("verify", "softmax", "--device", "emulated", "--input", self.path("x.npy"),
                "--json", self.path("out.json"))
        self.assertEqual(r.returncode, 0, r.stdout + r.stderr)
        with open(self.path("out.json")) as f:
            jobs = json.load(f)["jobs"]
        judged = {j["property"] for j in jobs}
        self.assertTrue({"within-error-bound", "equal-logits-equal-bits", "row-isolation"} <= judged)
        self.assertIn("worst", next(j for j in jobs if j["property"] == "within-error-bound"))

    def test_bad_arrays(self):
        npy(self.path("i.npy"), "<i4", "(2, 3)", bytes(24))
        npy(self.path("r3.npy"), "<f4", "(1, 2, 3)", bytes(24))
        npy(self.path("short.npy"), "<f4", "(2, 3)", bytes(20))
        with open(self.path("text.npy"), "w") as f:
            f.write("not an array")
        for name, text in [("i.npy", "i4"), ("r3.npy", "dimensions"), ("short.npy", "short.npy"),
                           ("text.npy", "text.npy"), ("none.npy", "none.npy")]:
            with self.subTest(name=name):
                r = run("verify", "softmax", "--device", "emulated", "--input", self.path(name))
                self.assertEqual(r.returncode, 2, r.stdout + r.stderr)
                self.assertIn(text, r.stderr)

    def test_example_of_the_repository(self):
        arrays = [f for f in os.listdir(os.path.join(SOURCE, "docs/examples")) if f.endswith(".npy")]
        self.assertTrue(arrays)
        for name in arrays:
            r = run("verify", "softmax", "--device", "emulated", "--input", os.path.join(SOURCE, "docs/examples", name))
            self.assertEqual(r.returncode, 0, r.stdout + r.stderr)


class Runs(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def verify(self, *arguments):
        return run("verify", "softmax", "--device", "emulated", "--cases", "4", "--property", "within-error-bound",
                   "--property", "misalignment", *arguments)

    def result(self, name):
        with open(self.path(name)) as f:
            j = json.load(f)
        del j["timing"]
        return j

    def test_two_runs_agree_in_everything_but_time(self):
        self.assertEqual(self.verify("--json", self.path("a.json"), "--workers", "1").returncode, 0)
        self.assertEqual(self.verify("--json", self.path("b.json"), "--workers", "2").returncode, 0)
        self.assertEqual(self.result("a.json"), self.result("b.json"))
        self.assertEqual(self.result("a.json")["schema"], "warpcheck-verify-1")

    def test_junit_has_a_case_per_property_and_dtype(self):
        self.assertEqual(self.verify("--junit", self.path("a.xml")).returncode, 0)
        suites = xml.parse(self.path("a.xml")).getroot()
        self.assertEqual([s.get("name") for s in suites], ["softmax"])
        self.assertEqual(sorted(c.get("name") for c in suites.iter("testcase")),
                         sorted(f"{p} {t} emulated" for p in ("within-error-bound", "misalignment")
                                for t in ("f32", "f16", "bf16")))
        self.assertEqual((suites.get("tests"), suites.get("failures"), suites.get("skipped")), ("6", "0", "0"))
        r = run("verify", "softmax", "--device", "cpu", "--candidate", CANDIDATE, "--cases", "2",
                "--property", "dispatch-boundaries", "--property", "empty", "--junit", self.path("b.xml"))
        self.assertEqual(r.returncode, 1, r.stdout + r.stderr)
        suites = xml.parse(self.path("b.xml")).getroot()
        failures = {c.get("name"): c.find("failure") for c in suites.iter("testcase")}
        self.assertIsNone(failures["empty f32 cpu"])
        self.assertIn("warpcheck replay '", failures["dispatch-boundaries f32 cpu"].text)
        self.assertEqual((suites.get("tests"), suites.get("failures")), ("2", "1"))

    def test_the_result_says_which_classes_the_cases_were_of(self):
        self.verify("--json", self.path("a.json"), "--dtype", "f32")
        (group,) = self.result("a.json")["coverage"]
        self.assertEqual(group["name"], "softmax f32")
        for kind in ("rows:", "columns:", "values:"):
            self.assertEqual(sum(n for name, n in group["classes"].items() if name.startswith(kind)), 8)
        self.assertLessEqual(1, group["reached"])
        self.assertLess(group["reached"], group["possible"])

    def test_an_operator_that_is_named_twice_runs_once(self):
        arguments = ["--device", "emulated", "--cases", "2", "--property", "misalignment", "--json"]
        self.assertEqual(run("verify", "softmax", *arguments, self.path("a.json")).returncode, 0)
        self.assertEqual(run("verify", "softmax", "softmax", *arguments, self.path("b.json")).returncode, 0)
        self.assertEqual(self.result("a.json"), self.result("b.json"))

    def test_another_seed_gives_other_cases(self):
        self.verify("--json", self.path("a.json"))
        self.verify("--json", self.path("b.json"), "--seed", "2")
        worst = [[job.get("worst", {}).get("case") for job in self.result(n)["jobs"]] for n in ("a.json", "b.json")]
        self.assertNotEqual(*worst)

    def test_replay_passes_and_fails_as_the_verify_did(self):
        r = run("replay", LINE)
        self.assertEqual(r.returncode, 0, r.stdout + r.stderr)
        self.assertIn("pass", r.stdout)
        r = run("replay", LINE.replace("device=emulated", f"candidate={CANDIDATE} device=cpu variant=off_by_little"))
        self.assertEqual(r.returncode, 1, r.stdout + r.stderr)
        self.assertIn("worst element  y[2,36]", r.stdout)
        self.assertIn("warpcheck replay 'v1 softmax/within-error-bound", r.stdout)

    def test_violations_are_reported_shrunk_with_a_line_that_reproduces(self):
        r = run("verify", "softmax", "--device", "cpu", "--candidate", CANDIDATE, "--cases", "4",
                "--property", "within-error-bound", "--json", self.path("out.json"))
        self.assertEqual(r.returncode, 0, r.stdout + r.stderr)  # its own dispatch is the right variant
        r = run("verify", "softmax", "--device", "cpu", "--candidate", CANDIDATE, "--cases", "2",
                "--property", "dispatch-boundaries", "--json", self.path("out.json"))
        self.assertEqual(r.returncode, 1, r.stdout + r.stderr)
        lines = re.findall(r"warpcheck replay '([^']+)'", r.stdout)
        self.assertTrue(lines)
        for line in lines:
            self.assertEqual(run("replay", line).returncode, 1, line)
        self.assertTrue(self.result("out.json")["failures"])

    def test_failures_of_one_cause_are_described_once(self):
        names = ["within-error-bound", "misalignment", "sums-to-one", "rejects-invalid-calls"]
        r = run("verify", "softmax", "--device", "cpu", "--candidate", DROPS_TAIL, "--cases", "3",
                "--max-cols", "200", "--json", self.path("out.json"), "--junit", self.path("out.xml"),
                *(word for name in names for word in ("--property", name)))
        self.assertEqual(r.returncode, 1, r.stdout + r.stderr)
        self.assertEqual(r.stdout.count("worst element  y[0,32]"), 1, r.stdout)
        self.assertIn("softmax/within-error-bound: 2 further properties fail with the same violation: "
                      "softmax/sums-to-one, softmax/misalignment\n", r.stdout)
        self.assertIn("softmax/rejects-invalid-calls: error_return: ", r.stdout)
        shrunk = [f["cause"] for f in self.result("out.json")["failures"] if "explanation" in f]
        self.assertEqual((len(shrunk), len(set(shrunk))), (4, 2))
        text = {c.get("name"): c.find("failure").text for c in xml.parse(self.path("out.xml")).iter("testcase")
                if c.find("failure") is not None}
        self.assertEqual(sum(t.count("y[0,32]") for t in text.values()), 1)
        self.assertIn("the same violation as of softmax/within-error-bound f32 cpu\n  warpcheck replay '",
                      text["misalignment f32 cpu"])

    def test_numbers_that_json_does_not_have_are_text(self):
        r = run("verify", "softmax", "--device", "cpu", "--candidate", NAN, "--cases", "2",
                "--property", "within-error-bound", "--json", self.path("out.json"))
        self.assertEqual(r.returncode, 1, r.stdout + r.stderr)
        (job,) = self.result("out.json")["jobs"]
        self.assertEqual(job["max_error_ratio"], "+inf")
        self.assertNotIn(None, [job["max_ulp"], *job["worst"].values(), *job["worst"]["worst"].values()])

    def test_a_job_that_stops_after_five_failures_says_so(self):
        arguments = ["verify", "softmax", "--device", "cpu", "--candidate", CANDIDATE,
                     "--property", "dispatch-boundaries", "--json", self.path("out.json")]
        for cases, stopped in (("2", False), ("200", True)):
            with self.subTest(cases=cases):
                r = run(*arguments, "--cases", cases)
                self.assertEqual(r.returncode, 1, r.stdout + r.stderr)
                self.assertEqual("(stopped after 5 failures)" in r.stdout, stopped)
                self.assertEqual([j["stopped"] for j in self.result("out.json")["jobs"]], [stopped])

    def test_keep_going_judges_every_case(self):
        r = run("verify", "softmax", "--device", "cpu", "--candidate", CANDIDATE, "--property", "dispatch-boundaries",
                "--json", self.path("out.json"), "--cases", "200", "--keep-going")
        self.assertEqual(r.returncode, 1, r.stdout + r.stderr)
        result = self.result("out.json")
        (job,) = result["jobs"]
        self.assertEqual((job["cases"], job["stopped"]), (200, False))
        self.assertGreater(len(result["failures"]), 5)
        self.assertIn(f" ({len(result['failures'])} failures)", r.stdout)
        r = run("verify", "softmax", "--keep-going", "--fail-fast")
        self.assertEqual((r.returncode, "excludes" in r.stderr), (2, True), r.stdout + r.stderr)

    def test_interrupt_keeps_partial_results(self):
        process = subprocess.Popen([WARPCHECK, "verify", "softmax", "--device", "emulated", "--cases", "100000",
                                    "--json", self.path("out.json"), "--junit", self.path("out.xml"),
                                    "--journal", self.path("journal")],
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        while not self.journalled_cases():  # until the run has finished its first case
            self.assertIsNone(process.poll())
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 130, output)
        self.assertIn("interrupted", output)
        self.assertTrue(self.result("out.json")["interrupted"])
        jobs = self.result("out.json")["jobs"]
        self.assertGreater(sum(j["cases"] for j in jobs), 0)
        # What the run did not come to is no pass.
        not_run = [j for j in jobs if j["cases"] == 0]
        self.assertTrue(not_run)
        self.assertEqual({j["verdict"] for j in not_run}, {"not run"})
        self.assertNotIn("not run", {j["verdict"] for j in jobs if j["cases"] > 0})
        self.assertRegex(output, r"(?m)^softmax +\S+ +0 .* not run$")
        cases = xml.parse(self.path("out.xml")).getroot().iter("testcase")
        skipped = [c for c in cases if c.find("skipped") is not None]
        self.assertEqual(len(skipped), len(not_run))

    def test_interrupt_while_a_failure_is_shrunk_keeps_what_is_finished(self):
        # The sequence of runs that makes the case smaller takes many seconds.
        process = subprocess.Popen([WARPCHECK, "verify", "softmax", "--device", "cpu", "--candidate", DROPS_TAIL_SLOWLY,
                                    "--cases", "6", "--property", "within-error-bound", "--property", "misalignment",
                                    "--shrink-seconds", "600", "--json", self.path("out.json")],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for line in process.stderr:
            if "shrinking the failing case" in line:
                break
        process.send_signal(signal.SIGINT)
        output, further = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 130, output + further)
        self.assertNotIn("shrinking", further)  # of the other property
        self.assertIn("interrupted: the finished cases are in this table", output)
        for name in ("within-error-bound", "misalignment"):
            self.assertRegex(output, rf"(?m)^softmax +{name} +6 .* violation")
        result = self.result("out.json")
        self.assertEqual((result["interrupted"], result["exit_code"]), (True, 130))
        self.assertEqual([(j["cases"], j["verdict"]) for j in result["jobs"]], [(6, "violation")] * 2)
        self.assertEqual({f["verdict"] for f in result["failures"]}, {"violation"})

    def test_interrupted_mutants_end_their_children_and_leave_no_folders(self):
        # A mutant that no earlier run has compiled.
        line = '#include "kernels/softmax/softmax.hpp"'
        with open(self.path("softmax.mutants"), "w") as f:
            f.write(f"cut-short\tkernels/softmax/softmax.cu\t{line}\t{line}  // {self.folder.name}\t*\n")
        name = "softmax.cut-short-"

        def compilers():
            found = []
            for pid in filter(str.isdigit, os.listdir("/proc")):
                try:
                    with open(f"/proc/{pid}/cmdline", errors="replace") as f:
                        found += [pid] if name in f.read() else []
                except OSError:
                    pass  # it has ended
            return found

        process = subprocess.Popen([WARPCHECK, "mutants", "softmax", "--folder", self.folder.name,
                                    "--json", self.path("out.json")],
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        while not compilers():
            self.assertIsNone(process.poll())
        process.send_signal(signal.SIGTERM)
        output, _ = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 130, output)
        self.assertIn("interrupted: 0 of 1 mutants", output)
        self.assertEqual(compilers(), [])
        folder = os.path.join(os.path.dirname(os.path.realpath(WARPCHECK)), "mutants")
        self.assertEqual([f for f in os.listdir(folder) if f.startswith(name)], [])
        with open(self.path("out.json")) as f:
            result = json.load(f)
        self.assertEqual((result["interrupted"], result["exit_code"], result["mutants"]), (True, 130, []))

    def journalled_cases(self):
        folder = self.path("journal")
        texts = []
        for name in os.listdir(folder) if os.path.isdir(folder) else []:
            with open(os.path.join(folder, name), errors="replace") as f:
                texts.append(f.read())
        return sum(text.count("\nF ") for text in texts)

    def test_list_names_properties_and_variants(self):
        self.assertIn("softmax", run("list").stdout)
        text = run("list", "softmax").stdout
        for part in ["within-error-bound", "variant softmax_", "emulated"]:
            self.assertIn(part, text)
        self.assertIn("randn(", run("list", "--distributions").stdout)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "list.json")
            self.assertEqual(run("list", "sigmoid", "--json", path).returncode, 0)
            with open(path) as f:
                listed = json.load(f)
            self.assertEqual((listed["schema"], list(listed["operators"])), ("warpcheck-list-1", ["sigmoid"]))
            special = next(p for p in listed["operators"]["sigmoid"]["properties"] if p["name"] == "special-values")
            self.assertEqual((special["types"], special["null_kernels_percent"]), (["f32", "f16", "bf16"], 40))
            self.assertEqual(run("list", "--json", path).returncode, 0)
            with open(path) as f:
                coverage_exemptions = json.load(f)["operators"]["best_split"]["coverage_exemptions"]
        self.assertIn("columns:multiple", [w["class"] for w in coverage_exemptions])
        self.assertIn("deadlock", run("list", "--verdicts").stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2)
