"""ci/nightly corpora: what a parser's fuzzer finds is merged into its corpus, and an input that fails is kept. Run by
CTest on the fuzzers of tests/parsers."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ["WARPCHECK_SOURCE"])
FUZZERS = pathlib.Path(os.environ["WARPCHECK_FUZZERS"])
# Fails on what the corpus does not hold, as libFuzzer does: the input is written below the prefix.
BROKEN = """#!/bin/bash
for word in "$@"; do case $word in -merge=1) exit 0 ;; -artifact_prefix=*) prefix=${word#*=} ;; esac; done
KEEPS
exit 77
"""


class Corpora(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.corpus = self.folder / "corpus/case"
        self.corpus.mkdir(parents=True)
        shutil.copy2(SOURCE / "tests/parsers/corpus/case/line-0", self.corpus)

    def command(self, *arguments, programs=FUZZERS, code=0):
        command = [SOURCE / "ci/nightly", "corpora", "case", "--time", "1s", "--programs", programs]
        command += ["--corpus", self.folder / "corpus", "--out", self.folder / "out", *arguments]
        r = subprocess.run(command, capture_output=True, text=True, timeout=120)
        self.assertEqual(r.returncode, code, r.stdout + r.stderr)
        return r.stdout + r.stderr

    def names(self):
        return {path.name for path in self.corpus.iterdir()}

    def test_what_covers_more_is_merged_and_what_was_there_stays(self):
        said = self.command("--seed", "1")
        self.assertRegex(said, "case: [1-9][0-9]* inputs are new beside the 1 of the corpus")
        self.assertEqual(self.names(), {"line-0"})  # nobody asked for more
        self.command("--seed", "1", "--write")
        grown = self.names()
        self.assertIn("line-0", grown)
        self.assertGreater(len(grown), 3)
        self.assertTrue(all(len(name) == 12 for name in grown - {"line-0"}), grown)
        # Merged again, the same inputs cover nothing new.
        shutil.rmtree(self.folder / "out/corpora/case/merged")
        sys.dont_write_bytecode = True
        sys.path.insert(0, str(SOURCE / "ci"))
        from nights import corpora

        found = self.folder / "out/corpora/case"
        self.assertEqual(corpora.merge(FUZZERS / "case_fuzz", self.corpus, found, lambda: False), [])

    def test_an_input_that_fails_is_kept_and_named(self):
        programs = self.folder / "programs"
        programs.mkdir()
        program = programs / "case_fuzz"
        program.write_text(BROKEN.replace("KEEPS", "true"))
        program.chmod(0o755)
        # A failure without an input is no verdict.
        self.assertIn("ended with exit code 77", self.command(programs=programs, code=3))
        program.write_text(BROKEN.replace("KEEPS", 'echo boom >"${prefix}crash-1"'))
        said = self.command(programs=programs, code=1)
        failed = self.folder / "out/corpora/case/failed/crash-1"
        self.assertEqual(failed.read_text(), "boom\n")
        self.assertIn(f"an input fails: {program} {failed}", said)
        self.assertIn(f"an input fails: {program} {failed}", self.command(programs=programs, code=1))

    def test_mistakes(self):
        self.assertIn("is not there", self.command(programs=self.folder / "none", code=3))
        for words, said in [
            ([], "how long to fuzz must be given"),
            (["cas"], "'cas' is not one of case, formula, npy, reader"),
        ]:
            r = subprocess.run([SOURCE / "ci/nightly", "corpora", *words], capture_output=True, text=True)
            self.assertEqual(r.returncode, 2)
            self.assertIn(said, r.stderr)


if __name__ == "__main__":
    if not os.access(FUZZERS / "case_fuzz", os.X_OK):
        print(f"WARPCHECK_SKIP: there is no {FUZZERS / 'case_fuzz'}; clang++ builds it")
        sys.exit(0)
    unittest.main()
