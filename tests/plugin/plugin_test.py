"""`warpcheck --plugin`: libraries that are no plug-in, and what a plug-in may not describe. One sentence each."""

import os
import shutil
import subprocess
import tempfile
import unittest

WARPCHECK = os.environ["WARPCHECK"]
PLUGIN = os.environ["WARPCHECK_BAD_PLUGIN"]
CANDIDATE = os.environ["WARPCHECK_CANDIDATE"]  # a library with operators, and no plug-in


def run(*arguments, wrong="none", **options):
    environment = {**os.environ, "WARPCHECK_TEST_WRONG": wrong}
    return subprocess.run([WARPCHECK, *arguments], capture_output=True, text=True, timeout=300, env=environment,
                          **options)


class BadPlugins(unittest.TestCase):
    def expect(self, code, text, *arguments, wrong="none"):
        r = run(*arguments, wrong=wrong)
        self.assertEqual(r.returncode, code, r.stdout + r.stderr)
        self.assertIn(text, r.stderr)
        self.assertEqual(r.stderr.count("\n"), 1, r.stderr)
        self.assertEqual(r.stdout, "")

    def test_a_library_that_cannot_be_loaded(self):
        self.expect(3, "plugin: file '/nowhere/lib.so' not found", "--plugin", "/nowhere/lib.so", "list")
        self.expect(3, "plugin: file '/tmp' not found", "--plugin", "/tmp", "list")
        self.expect(3, "does not export warpcheck_plugin_get", "--plugin", CANDIDATE, "list")
        with tempfile.NamedTemporaryFile(suffix=".so") as text:
            text.write(b"no library\n")
            text.flush()
            self.expect(3, f"plugin: '{text.name}' does not load: ", "--plugin", text.name, "list")

    def test_a_plugin_of_another_version(self):
        for wrong in ("abi", "layout"):
            self.expect(3, "build it again with this warpcheck's headers", "--plugin", PLUGIN, "list", wrong=wrong)
        self.expect(3, "does not export warpcheck_plugin_get", "--plugin", PLUGIN, "list", wrong="null")

    def test_what_a_plugin_may_not_describe(self):
        for wrong, text in [
            ("extent",
             "operator described: tensor y [rows, columns] names 'columns', which is neither an extent nor a scalar"),
            ("name", "operator: the name 'Described' may hold small letters, digits and '_' only"),
            ("operator", "operator: 'softmax' is described twice"),
            ("property-twice", "property: described has two named 'one'"),
            ("property-of-another", "property one: it is of operator 'softmax', must be of described"),
            ("no-property", "operator described: it has no property"),
            ("golden", "operator described: its golden data needs its name, known_answers and disagreements"),
        ]:
            self.expect(2, text, "--plugin", PLUGIN, "verify", "described", wrong=wrong)

    def test_a_plugin_without_kernels_or_that_dies(self):
        self.expect(3, "there is neither libbad_plugin_emulated.so nor libbad_plugin_cuda.so", "--plugin", PLUGIN,
                    "list")
        self.expect(3, "killed by signal 6", "--plugin", PLUGIN, "list", wrong="crash")

    def test_two_operators_of_one_name(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("libfirst", "libsecond"):
                shutil.copy(PLUGIN, f"{folder}/{name}.so")
                shutil.copy(CANDIDATE, f"{folder}/{name}_emulated.so")
            plugins = ["--plugin", f"{folder}/libfirst.so", "--plugin", f"{folder}/libsecond.so"]
            self.expect(2, "operator: 'described' is described twice", *plugins, "list")
            r = run(*plugins[:2], "list")
            self.assertEqual(r.returncode, 0, r.stderr)
            self.assertRegex(r.stdout, r"described +2 properties")

    def test_nothing_that_is_finished_is_lost(self):
        with tempfile.TemporaryDirectory() as folder:
            result, found = f"{folder}/result.json", f"{folder}/found"
            verify = ["verify", "softmax", "--device", "emulated", "--property", "empty", "--cases", "2",
                      "--json", result]
            fuzz = ["fuzz", "softmax", "--device", "emulated", "--property", "empty", "--cases", "2", "--out", found]
            for command in (verify, fuzz):
                self.assertEqual(run(*command).returncode, 0)

            def kept():
                paths = [os.path.join(at, name) for at, _, names in os.walk(folder) for name in names]
                return {path: open(path, "rb").read() for path in paths}

            before = kept()
            self.assertIn(result, before)
            for command in (verify, fuzz):
                self.expect(3, "build it again", "--plugin", PLUGIN, *command, wrong="abi")
            self.assertEqual(before, kept())


if __name__ == "__main__":
    unittest.main()
