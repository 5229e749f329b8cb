"""The command at a terminal: completion by shells, colours, progress, doctor, and the project file. Run by CTest."""

import json
import os
import pathlib
import pty
import select
import shutil
import subprocess
import tempfile
import textwrap
import time
import unittest

WARPCHECK = os.environ["WARPCHECK"]
BUILD = os.environ["WARPCHECK_BUILD"]
CMAKE = os.environ["WARPCHECK_CMAKE"]
DROPS_TAIL = os.environ["WARPCHECK_TEST_DROPS_TAIL"]  # the last element of rows longer than 32 is 0
QUICK = ["--property", "within-error-bound", "--dtype", "f32", "--cases", "9", "--device", "cpu"]
JUDGED = ["verify", "softmax", "--candidate", DROPS_TAIL, *QUICK]
RED, GREEN, PLAIN = "\x1b[1;31m", "\x1b[32m", "\x1b[0m"


def run(*arguments, **options):
    return subprocess.run([WARPCHECK, *arguments], capture_output=True, text=True, timeout=300, **options)


def read_all(descriptor, seconds=60, until=None):
    """What a terminal shows until it is closed, or shows the text `until`."""
    shown, end = b"", time.monotonic() + seconds
    while time.monotonic() < end and (until is None or until not in shown):
        if select.select([descriptor], [], [], 0.2)[0]:
            try:
                some = os.read(descriptor, 65536)
            except OSError:  # the other end is closed
                break
            if not some:
                break
            shown += some
    return shown.decode(errors="replace")


def at_terminal(*arguments, **variables):
    """Runs the command with standard output and error at a terminal. Returns the exit code and what it showed."""
    ours, its = pty.openpty()
    environment = {k: v for k, v in os.environ.items() if k != "NO_COLOR"} | {"TERM": "xterm"} | variables
    process = subprocess.Popen([WARPCHECK, *arguments], stdin=its, stdout=its, stderr=its, env=environment)
    os.close(its)
    shown = read_all(ours)
    os.close(ours)
    return process.wait(timeout=60), shown


class Scratch(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def write(self, name, text):
        (self.folder / name).write_text(textwrap.dedent(text))
        return str(self.folder / name)


class Completion(Scratch):
    def script(self, shell):
        said = run("completion", shell)
        self.assertEqual((said.returncode, said.stderr), (0, ""))
        return self.write(f"script.{shell}", said.stdout)

    def test_bash(self):
        script = self.script("bash")

        def completed(*words):
            line = f'source {script}; COMP_WORDS=(warpcheck "$@"); COMP_CWORD=$#; _warpcheck; echo "${{COMPREPLY[@]}}"'
            said = subprocess.run(["bash", "-ec", line, "bash", *words], capture_output=True, text=True)
            self.assertEqual((said.returncode, said.stderr), (0, ""))
            return said.stdout.split()

        self.assertEqual(completed("ver"), ["verify"])
        self.assertEqual(completed("verify", "soft"), ["softmax"])
        self.assertEqual(completed("verify", "softmax", "--cas"), ["--cases"])
        self.assertEqual(completed("verify", "--device", "e"), ["emulated"])
        self.assertEqual(completed("run-emulated", "--volatile", ""), ["relaxed", "plain"])
        self.assertEqual(completed("golden", ""), ["check", "regenerate", "--help", "--color"])
        self.assertIn("--ratchet", completed("golden", "check", "--r"))
        self.assertEqual(completed("completion", "f"), ["fish"])
        # A file: the shell completes it.
        self.assertEqual(completed("verify", "--source", ""), [])

    @unittest.skipUnless(shutil.which("fish"), "fish is not installed (ci/packages)")
    def test_fish(self):
        script = self.script("fish")

        def completed(line):
            said = subprocess.run(
                ["fish", "--no-config", "-c", f"source {script}; complete -C '{line}'"],
                capture_output=True, text=True, env={**os.environ, "HOME": str(self.folder)},
            )  # fmt: skip
            self.assertEqual((said.returncode, said.stderr), (0, ""))
            return [text.split("\t")[0] for text in said.stdout.splitlines()]

        self.assertEqual(completed("warpcheck ver"), ["verify"])
        self.assertEqual(completed("warpcheck verify --device e"), ["emulated"])
        self.assertEqual(completed("warpcheck verify softm"), ["softmax"])
        self.assertEqual(completed("warpcheck golden reg"), ["regenerate"])
        self.assertEqual(completed("warpcheck golden check --rat"), ["--ratchet"])

    @unittest.skipUnless(shutil.which("zsh"), "zsh is not installed (ci/packages)")
    def test_zsh(self):
        script = self.script("zsh")
        ours, its = pty.openpty()
        environment = {**os.environ, "HOME": str(self.folder), "TERM": "dumb", "PS1": "> "}
        shell = subprocess.Popen(["zsh", "-f", "-i"], stdin=its, stdout=its, stderr=its, env=environment)
        os.close(its)
        self.addCleanup(os.close, ours)
        self.addCleanup(shell.wait)
        self.addCleanup(shell.kill)
        os.write(ours, f"autoload -U compinit; compinit -D -u; source {script}; print -r -- rea''dy\n".encode())
        self.assertIn("ready", read_all(ours, until=b"\nready"))
        for line, completed in (("ver", "verify"), ("verify --device emu", "emulated"), ("golden reg", "regenerate"),
                                ("golden check --rat", "--ratchet"), ("verify softm", "softmax")):  # fmt: skip
            os.write(ours, f"print -r -- warpcheck {line}".encode())  # the first words are not those to be completed
            os.write(ours, b"\x15")
            os.write(ours, f": ; warpcheck {line}\t".encode())
            word = completed.encode()
            self.assertIn(completed, read_all(ours, 20, until=word), line)
            os.write(ours, b"\x15")

    def test_another_shell_is_refused(self):
        said = run("completion", "csh")
        self.assertEqual(said.returncode, 2)
        self.assertIn("csh", said.stdout + said.stderr)


class Installed(Scratch):
    def test_completions_and_manual_pages_lie_where_shells_and_man_look(self):
        install = [CMAKE, "--install", BUILD, "--component", "command", "--prefix", str(self.folder)]
        said = subprocess.run(install, capture_output=True, text=True)
        self.assertEqual(said.returncode, 0, said.stdout + said.stderr)
        share = self.folder / "share"
        for shell, path in (("bash", "bash-completion/completions/warpcheck"),
                            ("zsh", "zsh/site-functions/_warpcheck"),
                            ("fish", "fish/vendor_completions.d/warpcheck.fish")):  # fmt: skip
            self.assertEqual((share / path).read_text(), run("completion", shell).stdout)
        if "no manual pages" in said.stdout:
            self.skipTest("help2man is not installed (ci/packages)")
        pages = {path.name: path.read_text() for path in (share / "man/man1").iterdir()}
        self.assertLessEqual({"warpcheck.1", "warpcheck-verify.1", "warpcheck-golden-check.1"}, set(pages))
        self.assertIn(".SH SYNOPSIS\n.B warpcheck\n", pages["warpcheck.1"])
        self.assertIn("Generated cases per (property, dtype, device)", pages["warpcheck-verify.1"])
        self.assertIn(r"warpcheck verify \- Run the properties of operators", pages["warpcheck-verify.1"])


class Colours(unittest.TestCase):
    def test_a_terminal_has_them_and_a_pipe_has_not(self):
        code, shown = at_terminal(*JUDGED)
        self.assertEqual(code, 1, shown)
        self.assertIn(f"{RED}softmax/within-error-bound: violation{PLAIN}", shown)
        self.assertIn(f"{RED}violation{PLAIN}", shown)
        self.assertNotIn("\x1b", run(*JUDGED).stdout)

    def test_no_color_a_dumb_terminal_and_never_have_none(self):
        after, before = [*JUDGED, "--color", "never"], ["--color=never", *JUDGED]
        plain = (JUDGED, {"NO_COLOR": "1"}), (JUDGED, {"TERM": "dumb"}), (after, {}), (before, {})
        for arguments, variables in plain:
            self.assertNotIn(RED, at_terminal(*arguments, **variables)[1])
        self.assertIn(RED, at_terminal(*JUDGED, NO_COLOR="")[1])

    def test_always_has_them_in_a_pipe(self):
        for arguments in ([*JUDGED, "--color", "always"], ["--color", "always", *JUDGED]):
            self.assertIn(RED, run(*arguments, env={**os.environ, "NO_COLOR": "1"}).stdout)
        line = "v1 softmax/within-error-bound x=f32[1x4] fill=randn(1) | y=f32[1x4] | device=emulated"
        self.assertIn(f"softmax/within-error-bound: {GREEN}pass{PLAIN} (4 elements",
                      run("replay", line, "--color=always").stdout)
        self.assertEqual(run("list", "--color", "red").returncode, 2)


class Progress(Scratch):
    def test_a_command_says_what_it_waits_for(self):
        """After two seconds, and not in a pipe."""
        program = self.write("slow.cu", "#include <unistd.h>\nint main() { sleep(4); }\n")
        arguments = ["run-emulated", program, "--schedule", "fair"]
        code, shown = at_terminal(*arguments)
        self.assertEqual(code, 0, shown)
        self.assertIn("schedule 1 of 1, fair: 2 s", shown)
        self.assertIn("schedule 1 of 1, fair: 3 s\r\x1b[K", shown)
        self.assertNotIn("schedule 1 of 1, fair: 1 s", shown)
        self.assertEqual(run(*arguments).stderr, "")

    def test_verify_is_quiet_in_a_pipe(self):
        self.assertEqual(run("verify", "softmax", "--device", "emulated", "--property", "empty").stderr, "")


class Doctor(Scratch):
    def doors(self, *arguments, **options):
        file = self.folder / "doctor.json"
        said = run("doctor", "--json", str(file), *arguments, **options)
        return said, json.loads(file.read_text())

    def test_names_each_door_and_what_it_lacks(self):
        empty = {**os.environ, "PATH": str(self.folder), "WARPCHECK_PYTHON": "python3", "CUDA_VISIBLE_DEVICES": ""}
        said, found = self.doors(env=empty)
        lacks = {door["door"]: door["lacks"] for door in found["doors"]}
        self.assertEqual(found["exit_code"], said.returncode)
        self.assertEqual(list(found["devices"]), ["cpu", "cuda", "emulated"])
        for door in ("verify --python", "report", "explain --plot", "mcp"):
            self.assertEqual(lacks[door], "'python3' cannot be started; install the package python3")
        self.assertNotEqual(lacks["verify --device cuda"], "")
        self.assertIn("compute-sanitizer is missing", lacks["ci/test with compute-sanitizer"])
        for door, lacked in lacks.items():
            (line,) = [text for text in said.stdout.splitlines() if text[:35].rstrip() == door]
            self.assertTrue(line.endswith(lacked or "works"), line)

    def test_the_emulated_device_decides_the_exit_code(self):
        said, found = self.doors()
        works = {door["door"]: door["works"] for door in found["doors"]}
        self.assertEqual((said.returncode, works["verify --device emulated"]), (0, True), said.stdout)
        self.assertTrue(works["run-emulated"])
        self.assertTrue(works["mutants"])

    def test_a_python_without_a_module_is_named_with_the_package(self):
        python = self.folder / "python3"
        python.write_text("#!/bin/sh\necho 'numpy matplotlib '\n")
        python.chmod(0o755)
        _, found = self.doors(env={**os.environ, "PATH": str(self.folder), "WARPCHECK_PYTHON": "python3"})
        lacks = {door["door"]: door["lacks"] for door in found["doors"]}
        self.assertEqual(lacks["verify --python"], "python3 has no numpy; install the package python3-numpy")
        self.assertEqual(lacks["report"], "")
        self.assertEqual(lacks["report, with plots"],
                         "python3 has no matplotlib; install the package python3-matplotlib")


class Project(Scratch):
    def project(self, text, *arguments, place=".", **options):
        self.write("warpcheck.toml", text)
        (self.folder / place).mkdir(exist_ok=True)
        return run(*arguments, cwd=self.folder / place, **options)

    def test_without_a_command_its_kernels_are_judged(self):
        self.write("half.op", "operator half(x[n]) -> y[n]\n  y[i] = x[i] / 2\n")
        text = f"""
            cases = 9
            property = ["within-error-bound"]
            [[kernel]]
            operator = "softmax"
            candidate = "{DROPS_TAIL}"
            device = "cpu"
            dtype = "f32"
            json = "wrong.json"
            [[kernel]]
            operator = "softmax"
            device = "emulated"
            seed = [3, 4]
            size = "quick"
            property = ["within-error-bound", "empty"]
            allow-skips = true
        """
        for place in (".", "below"):
            said = self.project(text, place=place)
            self.assertEqual(said.returncode, 1, said.stdout + said.stderr)
            self.assertIn("3 of 3 trials of ", said.stdout)
            wrong = (f"warpcheck verify softmax --cases=9 --property=within-error-bound --candidate={DROPS_TAIL} "
                     "--device=cpu --dtype=f32 --json=wrong.json")  # fmt: skip
            lines = said.stdout.splitlines()
            self.assertEqual(lines.count(wrong), 1, said.stdout)
            self.assertEqual(lines[-3], wrong + ": a verdict other than pass")
            self.assertIn("--seed=3", lines[-2])
            self.assertTrue(lines[-2].endswith(": pass") and lines[-1].endswith(": pass"))
            self.assertEqual(json.loads((self.folder / "wrong.json").read_text())["exit_code"], 1)

    def test_colours_reach_the_trials(self):
        text = f'[[kernel]]\noperator = "softmax"\ncandidate = "{DROPS_TAIL}"\ndevice = "cpu"\ncases = 9\n'
        said = self.project(text + 'property = "within-error-bound"\n', "--color=always")
        self.assertIn(f"{RED}softmax/within-error-bound: violation{PLAIN}", said.stdout)
        self.assertIn(f": {RED}a verdict other than pass{PLAIN}", said.stdout)

    def test_mistakes_are_one_sentence_with_the_line(self):
        kernel = '[[kernel]]\noperator = "softmax"\n'
        for text, sentence in (
            ("cases = \n", "warpcheck.toml:1: "),
            ("cases = 3\n", "warpcheck.toml: it names no kernel; each is a table [[kernel]] with an operator"),
            ("[[kernel]]\ncases = 3\n", "warpcheck.toml:1: kernel: it has no operator"),
            (kernel + "case = 3\n", "warpcheck.toml:3: case: no option of 'warpcheck verify' has this name"),
            (kernel + "allow-skips = 3\n", "warpcheck.toml:3: allow-skips: its value must be true or false"),
            (kernel + "seed = []\n", "warpcheck.toml:3: seed: its array is empty"),
            (kernel + "seed = [[1]]\n", "warpcheck.toml:3: seed: its value must be text, a number, or an array"),
            (kernel + 'json = "a"\nseed = [1, 2]\n', "two trials have '--json=a'"),
        ):
            said = self.project(text)
            self.assertEqual((said.returncode, said.stdout), (2, ""), text)
            self.assertTrue(said.stderr.startswith("warpcheck: ") and sentence in said.stderr, said.stderr)
            self.assertEqual(len(said.stderr.splitlines()), 1, said.stderr)

    def test_the_largest_exit_code_counts(self):
        text = '[[kernel]]\noperator = "softmax"\nproperty = "nosuch"\n[[kernel]]\noperator = "softmax"\n'
        said = self.project(text + 'candidate = "/nowhere.so"\ndevice = "cpu"\n')
        self.assertEqual(said.returncode, 3, said.stdout + said.stderr)
        self.assertTrue(said.stdout.splitlines()[-2].endswith(": usage"))
        self.assertTrue(said.stdout.splitlines()[-1].endswith(": something is missing"))

    def test_without_a_project_a_command_is_asked_for(self):
        said = run(cwd=self.folder)
        self.assertEqual(said.returncode, 2)
        self.assertIn("a subcommand is missing, and no warpcheck.toml is here", said.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
