"""`ci/foreign` on a folder of programs, with a command that answers as run-emulated does: what is a program, what it is
run with, and what the table says."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import unittest

FOREIGN = os.path.join(sys.argv[1], "ci", "foreign")

# Answers by the name of the program's folder, and repeats its arguments.
COMMAND = """#!/usr/bin/env python3
import json, os, sys
name = os.path.basename(os.getcwd())
answers = {"clean": (0, "pass"), "idle": (0, "pass"), "lost": (0, "pass"), "racy": (1, "race"),
           "slow": (1, "timeout"), "hungry": (1, "error_return"), "elsewhere": (1, "error_return"),
           "choosy": (1, "error_return"), "failing": (1, "error_return"), "hollow": (1, "crash"),
           "asserting": (1, "crash")}
code, worst = answers.get(name, (2, ""))
print(" ".join(sys.argv[1:]))
if name == "hungry":
    print("Please supply src file name")
if name == "lost":
    print("cannot open file graph.txt")
if name == "elsewhere":
    print("Waiving execution as there is one device")
if name == "hollow":
    print("Could not open the parameter file")
if name == "asserting":
    print("a.cu:4: int main(): Assertion `rows > 8' failed.")
if name == "choosy":
    print("Invalid kernel number")
if name == "failing":
    print("CUDA error at file a.cu:3")
if name == "torn":
    print("ld: a.o: undefined reference to `start(int*)'")
if name == "thrusting":
    print("warpcheck: a.cu: the CUDA toolkit's header <cufft.h> is not modelled on the emulated device")
if name == "beyond":
    print("fidelity: nothing that ran is approximated")
    print("unsupported: a.cu:1: the PTX 'bmsk.b32' is not modelled on the emulated device; docs/run_emulated.md lists "
          "what is\\na.cu: not run to its end under 1 schedule on the emulated device")
if name == "odd":
    print("warpcheck: odd/a.cu:7: __cluster_dims__ is outside the subset that runs on the emulated device; allowed: "
          "...")
if code < 2:
    finding = [] if code == 0 else [{"kind": worst, "text": "a.cu:3"}]
    notes = ["no kernel was launched"] if name in ("idle", "lost") else []
    if name == "slow":
        notes = ["launches that ended before the program was stopped: 7"]
    path = sys.argv[sys.argv.index("--json") + 1]
    with open(path + ".partial", "w") as f:
        json.dump({"verdict": worst, "runs": [{"findings": finding, "notes": notes}]}, f)
    os.replace(path + ".partial", path)
sys.exit(code)
"""
# A command that answers for the code that its source names.
FINDINGS = {"race_seen": ["race"], "race_behind_bounds": ["out_of_bounds", "race"], "race_unseen": ["crash"],
            "norace_quiet": ["benign", "uninitialized"], "norace_alarm": ["race"], "norace_slow": ["timeout"],
            "norace_beyond": ["unsupported"], "norace_broken": None, "norace_proven": []}
LABELLED = f"""#!/usr/bin/env python3
import json, sys
kinds = {FINDINGS!r}[open(sys.argv[2]).read()[3:].strip()]
if kinds is None:
    print("a.cu:1:2: error: 'x' was not declared")
    sys.exit(2)
texts = [("the PTX 'bmsk.b32' is not modelled" if k == "unsupported" else "c.cu:1") for k in kinds]
runs = [{{"findings": [{{"kind": k, "text": t}}]}} for k, t in zip(kinds, texts)]
if not kinds:  # with a certificate, so that no further schedule may run
    runs = [{{"findings": [{{"kind": "race", "text": ""}}] * ("greedy" in sys.argv), "every_schedule": True}}]
with open(sys.argv[sys.argv.index("--json") + 1], "w") as f:
    json.dump({{"runs": runs}}, f)
sys.exit(int("race" not in kinds))  # which nothing may depend on
"""
MAIN = "int main() { return 0; }\n"


class Foreign(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.write_program("command", COMMAND)
        names = ["clean", "idle", "lost", "racy", "slow", "hungry", "thrusting", "odd", "torn", "elsewhere"]
        for name in [*names, "choosy", "failing", "hollow", "asserting", "beyond"]:
            self.write(f"programs/{name}/a.cu", MAIN)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "w") as f:
            f.write(text)

    def write_program(self, name, text):
        self.write(name, text)
        os.chmod(self.path(name), 0o755)

    def foreign(self, *arguments, **options):
        return subprocess.run([sys.executable, FOREIGN, *arguments], capture_output=True, text=True, **options)

    def score(self, suite, folder, *arguments, by="labelled", **options):
        """Runs the codes of a suite by the program `by`, whose scores go to scores.json."""
        return self.foreign("--suite", suite, self.path(folder), "--warpcheck", self.path(by), "--out",
                            self.path("scores"), *arguments, **options)

    def scores(self):
        with open(self.path("scores.json")) as f:
            return {r["code"]: r for r in json.load(f)}

    def run_it(self, *options):
        out = self.path("table")
        done = self.foreign(self.path("programs"), "--warpcheck", self.path("command"), "--out", out, *options)
        rows = []
        if os.path.exists(out + ".json"):
            with open(out + ".json") as f:
                rows = json.load(f)
        return done, {os.path.dirname(r["program"]): r for r in rows}

    def test_verdicts_are_counted(self):
        done, rows = self.run_it()
        self.assertEqual(done.returncode, 0, done.stderr)
        verdicts = {name: (r["verdict"], r["about"]) for name, r in rows.items()}
        self.assertEqual(verdicts["clean"], ("clean", "pass"))
        self.assertEqual(verdicts["idle"], ("idle", "it launched no kernel"))
        self.assertEqual(verdicts["lost"][0], "input")
        self.assertEqual(verdicts["elsewhere"], ("input", "it wants another device"))
        self.assertEqual(verdicts["torn"], ("refused", "start(int*)"))
        self.assertEqual(verdicts["racy"], ("hazard", "race"))
        self.assertEqual(verdicts["slow"], ("time", "launches had ended"))
        self.assertEqual(rows["slow"]["launches"], 7)
        self.assertEqual(verdicts["hungry"][0], "input")
        self.assertEqual(verdicts["thrusting"], ("refused", "<cufft.h>"))
        self.assertEqual(verdicts["odd"], ("refused", "__cluster_dims__"))
        self.assertEqual(verdicts["beyond"], ("refused", "the PTX 'bmsk.b32'"))
        self.assertEqual(verdicts["choosy"][0], "input")
        self.assertEqual(verdicts["failing"], ("hazard", "error_return"))
        self.assertEqual(verdicts["hollow"][0], "input")
        self.assertEqual(verdicts["asserting"], ("hazard", "crash"))
        self.assertIn("| programs | 15 | 1 | 1 | 3 | 4 | 1 | 5 | 0 |", done.stdout)
        self.assertEqual(rows["racy"]["findings"], ["race: a.cu:3"])

    def test_sources_of_a_folder_belong_together(self):
        self.write("programs/clean/a.cu", '#include "part.cu"\nvoid f();\n' + MAIN)
        self.write("programs/clean/part.cu", "")
        self.write("programs/clean/rest.cpp", "void f() {}\n")
        makefile = "CFLAGS = -I../racy -DSHORT -DVALUE=3 -I$(CUDA)/include\nrun: main\n\t$(LAUNCHER) ./main 100 7\n"
        self.write("programs/clean/Makefile", makefile)
        said = self.run_it("--only", "clean")[1]["clean"]["said"]
        self.assertIn("--with", said)
        self.assertIn("rest.cpp", said)
        self.assertNotIn("part.cu", said)
        self.assertIn("clean/../racy -D SHORT -D VALUE=3 --", said)
        self.assertTrue(said.strip().endswith("-- 100 7"), said)

    def test_lines_and_variables_of_a_makefile_are_read_as_make_does(self):
        self.write("programs/clean/Makefile", "PARTS = ../racy\nCFLAGS = -O3 \\\n  -I$(PARTS) -I$(CUDA)\nrun: main\n"
                                              "\t$(LAUNCHER) ./main \\\n\t  100 \\\n\t  7\n")
        said = self.run_it("--only", "clean")[1]["clean"]["said"]
        self.assertIn("clean/../racy --", said)
        self.assertTrue(said.strip().endswith("-- 100 7"), said)

    def test_sources_of_other_folders_are_those_of_the_makefile(self):
        for name in ("far/one.cu", "far/two.c", "far/three.cu"):
            self.write("programs/clean/" + name, "")
        self.write("programs/clean/a.cu", '#include "far/three.cu"\n' + MAIN)
        self.write("programs/clean/Makefile", "source = a.cu ./far/one.cu far/three.cu $(X)/none.cu\nobj = far/two.o\n")
        said = self.run_it("--only", "clean/a.cu")[1]["clean"]["said"]
        self.assertIn("far/one.cu", said)
        self.assertIn("far/two.c", said)
        self.assertNotIn("three", said)

    def test_arguments_of_a_script_and_of_the_usage(self):
        self.write("programs/clean/run", "There are data\n./other 9\n./a 5000 100 out.txt > log\n")
        self.write("programs/odd/cuda/a.cu", MAIN)
        self.write("programs/odd/run", "cuda/a -v\n")
        self.assertEqual(self.run_it("--only", "odd/cuda")[1]["odd/cuda"]["arguments"], ["-v"])
        self.write("programs/racy/Makefile", "run: main\n\trm -f log;\n\t./main 5000 100\n")
        self.write("programs/racy/a.cu", 'char u[] = "Usage: %s <rows> <repeat>\\n";\n' + MAIN)
        self.assertTrue(self.run_it("--only", "clean")[1]["clean"]["said"].strip().endswith("-- 5000 100 out.txt"))
        self.assertTrue(self.run_it("--only", "racy")[1]["racy"]["said"].strip().endswith("-- 5000 1"))
        row = self.run_it("--only", "racy", "--halve", "64")[1]["racy"]
        self.assertEqual(row["arguments"], ["39", "1"])
        self.assertTrue(row["said"].strip().endswith("-- 39 1"), row["said"])

    def test_a_switch_over_the_first_argument_names_the_runs(self):
        switch = "void f(int kind) {\n  switch (kind) {\n    case 1:\n    case 12: g();\n    default: ;\n  }\n}\n"
        main = "int main(int argc, char** argv) { int kind = 1; if (argc > 1) kind = atoi(argv[1]); f(kind); }\n"
        self.write("programs/clean/a.cu", switch + "void h(int o) {\n  switch (o) { case 3: ; }\n}\n" + main)
        row = self.run_it("--only", "clean")[1]["clean"]
        self.assertEqual([r["arguments"] for r in row["runs"]], [["1"], ["12"]])
        self.write("programs/clean/Makefile", "run: main\n\t./main 5\n")
        self.assertEqual([r["arguments"] for r in self.run_it("--only", "clean")[1]["clean"]["runs"]], [["5"]])
        self.write("programs/racy/a.cu", switch.replace("1", "ONE").replace("ONE2", "TWO") + main)
        self.assertEqual([r["arguments"] for r in self.run_it("--only", "racy")[1]["racy"]["runs"]], [[]])

    def test_sizes_that_main_declares_are_halved(self):
        body = "int rows = 768;\n  size_t all = 50257, few = 64;\n  int mask = 0xffff;\n  int more = rows * 1024;\n"
        body += "  const unsigned bytes = 3 << 20;\n  int many = 16 * 1000;\n"
        self.write("programs/clean/a.cu", "int k = 999;\nint main() {\n  " + body + "}\n")
        self.write("command", COMMAND.replace("sys.exit(code)", "print(open(sys.argv[2]).read())\nsys.exit(code)"))
        row = self.run_it("--only", "clean", "--halve", "64")[1]["clean"]
        sizes = ("rows = 48;", "all = 49,", "mask = 0xffff;", "rows * 1024", "= 48;\n  int many", "many = 64;")
        for text in ("k = 999;", *sizes):
            self.assertIn(text, row["said"])
        self.assertIn("rows = 768;", self.run_it("--only", "clean")[1]["clean"]["said"])

    def test_a_file_that_is_not_there_is_a_need(self):
        makefile = "run: main\n\t./main ../data/graph.txt result.txt\n"
        self.write("programs/clean/Makefile", makefile)
        self.assertEqual(self.run_it("--only", "clean")[1]["clean"]["needs"], ["a data file"])
        self.write("programs/data/graph.txt", "1")
        self.assertEqual(self.run_it("--only", "clean")[1]["clean"]["needs"], [])

    def test_needs_are_told_by_headers(self):
        self.write("programs/clean/near.h", "#include <cudnn.h>\n")
        self.write("programs/clean/a.cu", '#include "near.h"\n' + MAIN)
        self.assertEqual(self.run_it("--only", "clean")[1]["clean"]["needs"], ["a library"])
        self.assertEqual(self.run_it("--only", "clean", "--alone")[1], {})

    def test_needs_are_told_by_what_a_makefile_links(self):
        links = {"-lm -lcublas": [], "-lm -llapack": ["a library"], "parts/libParts.a -lm": ["a library"]}
        for flags, needs in links.items():
            self.write("programs/clean/Makefile", f"LDFLAGS = {flags}\n")
            self.assertEqual(self.run_it("--only", "clean")[1]["clean"]["needs"], needs, flags)

    def test_needs_are_told_by_calls(self):
        calls = {"cublasCreate(&h)": [], "cublasSgemm(h)": [], "cublasGemmEx(h)": [], "cublasIsamax(h)": [],
                 "cublasStrsm(h)": ["a library"], "cublasLtMatmul(h)": ["a library"],
                 "cublasCgemm(h)": ["a library"], "cuLaunchKernel(f)": [],
                 "cuLinkCreate(n)": ["the driver API"]}
        for call, needs in calls.items():
            self.write("programs/clean/near.cuh", f"void f() {{ {call}; }}\n")
            self.write("programs/clean/a.cu", '#include "near.cuh"\n' + MAIN)
            self.assertEqual(self.run_it("--only", "clean")[1]["clean"]["needs"], needs, call)
        self.write("programs/clean/near.cuh", "texture<float, 1> t;\n")
        self.assertEqual(self.run_it("--only", "clean")[1]["clean"]["needs"], ["an older CUDA"])

    def test_an_interrupted_run_is_resumed(self):
        self.write("table.json", "[]")
        os.link(self.path("table.json"), self.path("before"))
        for stop, code in ((signal.SIGKILL, -9), (signal.SIGINT, 130)):
            self.write("command", COMMAND.replace("code, worst =", f"""
if name == "clean":
    os.kill(os.getppid(), {stop:d})
    sys.exit(2)
code, worst ="""))
            done, rows = self.run_it("--jobs", "1")
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertEqual(sorted(rows), ["asserting", "beyond", "choosy"])
            with open(self.path("before")) as f:
                self.assertEqual(f.read(), "[]")  # a new file takes its place
        self.assertIn("with --resume the same command goes on", done.stderr)
        self.write("command", COMMAND.replace("code, worst =", "print('again')\ncode, worst ="))
        rows = self.run_it("--resume")[1]
        self.assertEqual(len(rows), 15)
        self.assertEqual(list(rows)[0], "asserting")
        self.assertEqual({n for n, r in rows.items() if "again" not in r["said"]}, {"asserting", "beyond", "choosy"})

    def test_a_sample_is_drawn_by_its_seed(self):
        first = self.run_it("--sample", "3", "--seed", "5")[1]
        self.assertEqual(len(first), 3)
        self.assertEqual(sorted(first), sorted(self.run_it("--sample", "3", "--seed", "5")[1]))

    def test_a_folder_that_is_not_there_is_refused(self):
        done = self.foreign(self.path("none"))
        self.assertEqual(done.returncode, 2)
        self.assertIn("is not a folder", done.stderr)

    def test_a_suite_is_scored_by_its_reports(self):
        self.write_program("labelled", LABELLED)
        for name in FINDINGS:
            self.write(f"scor/microbenchmarks/src/{name}.cu", f"// {name}\n")
        done = self.score("scor", "scor")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("| scor | 9 | 2 | 1 | 2 | 1 | 0 | 0 | 2 | 1 |", done.stdout)
        self.assertEqual(self.scores()["race_behind_bounds"]["found"], ["out_of_bounds", "race"])
        self.assertIn("missed: race_unseen: new: crash: c.cu:1", done.stdout)
        self.assertIn("false: norace_alarm: new: race: c.cu:1", done.stdout)
        self.assertIn("refused: norace_beyond: new: the PTX", done.stdout)
        self.assertIn("refused: norace_broken: new: a.cu:1:2: error: 'x' was not declared", done.stdout)

    def test_codes_run_beside_compute_sanitizer(self):
        self.write_program("bin/nvcc", "#!/bin/sh\ngrep -q norace_broken code.cu && exit 1\n"
                           "(echo '#!/bin/sh'; sed 's,//,#,' code.cu) > code; chmod +x code\n")
        self.write_program("bin/compute-sanitizer", "#!/bin/sh\necho $* > last\n"
                           "case $(cat code) in *race_unseen*) exit 255;; *race_seen*) n=3;;"
                           " *alarm*) n=1;; *) n=0;; esac\n"
                           f"cp last {self.path('last')}\necho \"========= RACECHECK SUMMARY: $n hazards displayed\"\n")
        self.write_program("labelled", LABELLED)
        names = [n for n in FINDINGS if n != "norace_slow"]
        for name in names:
            self.write(f"scor/microbenchmarks/src/{name}.cu", f"// {name}\n")
        path = self.path("bin") + ":" + os.environ["PATH"]
        done = self.score("scor", "scor", "--beside", env={**os.environ, "PATH": path})
        self.assertIn("| warpcheck | 8 | 2 | 1 | 2 | 1 | 2 | ", done.stdout, done.stderr)
        self.assertIn("| compute-sanitizer | 8 | 1 | 1 | 3 | 1 | 2 | ", done.stdout)  # one crashes, one is not compiled
        with open(self.path("last")) as f:
            self.assertEqual(f.read(), "--tool racecheck --print-limit 1 ./code\n")
        none = self.score("scor", "scor", "--beside", env={**os.environ, "PATH": "/usr/bin:/bin"})
        self.assertEqual(none.returncode, 2)
        self.assertIn("--beside: 'nvcc' is not in PATH", none.stderr)

    def test_shards_of_a_suite_make_one_table(self):
        self.write_program("labelled", LABELLED.replace("norace_alarm", "norace_interblock_fence_raw"))
        for name in ("race_seen", "norace_quiet", "norace_interblock_fence_raw"):
            self.write(f"scor/microbenchmarks/src/{name}.cu", f"// {name}\n")
        for shard in range(2):
            done = self.score("scor", "scor", "--shard", f"{shard}/2", "--out", self.path(f"part{shard}"))
            self.assertEqual(done.returncode, 0, done.stderr)  # its only disagreement was judged by reading
        done = self.foreign("--suite", "scor", self.path("part0.json"), self.path("part1.json"), "--out",
                            self.path("all"))
        self.assertEqual(done.returncode, 0)
        self.assertIn("| scor | 3 | 1 | 0 | 1 | 1 |", done.stdout)
        self.assertIn("false: norace_interblock_fence_raw: the readers spin on a relaxed atomic", done.stdout)

    def test_a_tenth_of_a_suite_is_drawn_by_its_seed(self):
        for i in range(20):
            self.write(f"scor/microbenchmarks/src/race_{i}.cu", "// race_seen\n")
        self.write_program("labelled", LABELLED)
        self.score("scor", "scor", "--sample", "10%", "--seed", "3")
        self.assertEqual(len(self.scores()), 2)
        done = self.foreign(self.path("programs"), "--sample", "x")
        self.assertEqual(done.returncode, 2)
        self.assertIn("'x' is not a number of programs, or 10%", done.stderr)

    def test_a_suite_without_codes_is_refused(self):
        done = self.foreign("--suite", "hirace", self.path("programs"))
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, "has no code of hirace; to fetch it: git clone .* checkout [0-9a-f]{7}")

    def test_labels_of_indigo3_are_in_the_names(self):
        labels = {"CC_NoRaceBug_NoNbrBoundsBug": ("", False), "CC_RaceBug_Block_ExcessThreadsBug": ("race", False),
                  "PR_NoRaceBug_SyncBug_NonPersist_Warp_BlockAdd_ExcessThreadsBug": ("race", True),
                  "PR_NoRaceBug_NoSyncBug_NbrBoundsBug": ("", True), "MST_Atomic_NborBoundsBug": ("", True),
                  "TC_Atomic_FieldBug_BoundsBug": ("", True), "MIS_NoExcessThreadsBug_NoBoundsBug": ("", False)}
        for name in labels:
            self.write(f"indigo/generatedCodes/CUDA/CODES/{name}.cu", "")
        self.write("command", "#!/bin/sh\necho 'error: no'; exit 2\n")
        done = self.score("indigo3", "indigo", by="command")
        self.assertEqual(done.returncode, 1, done.stderr)  # all are refused
        self.assertEqual({code: (r["wanted"], r["bounds"]) for code, r in self.scores().items()}, labels)

    def test_codes_of_indigo3_are_generated_after_the_fetch(self):
        done = self.foreign("--suite", "indigo3", self.path("programs"))
        self.assertEqual(done.returncode, 2)
        self.assertIn("sed -i 's/{nobug}/{all}/' codeGen/configure.txt && python3 generate_all_codes.py cuda",
                      done.stderr)

    def test_codes_of_gpuverify_get_a_host(self):
        kernel = "//xfail:BOOGIE_ERROR\n//--blockDim=64 --gridDim=[2,3]\n__global__ void k(int* p, float x) {}\n"
        self.write("suite/testsuite/CUDA/fail_tests/race_on_shared/kernel.cu", kernel)
        self.write("suite/testsuite/CUDA/contract/kernel.cu", kernel + "void f() { __requires(true); }\n")
        self.write("suite/testsuite/CUDA/tables/kernel.cu", kernel + "void f(curandStateMtgp32_t*);\n")
        self.write("suite/testsuite/CUDA/groups/kernel.cu", kernel + "using namespace cooperative_groups;"
                   " void f(grid_group g) { synchronize(g); }\n")
        self.write("command", "#!/usr/bin/env python3\nimport sys\nprint('error: ' + open(sys.argv[2]).read()"
                   ".replace('\\n', ' ')[-160:])\nsys.exit(2)\n")
        done = self.score("gpuverify", "suite", by="command")
        self.assertEqual(done.returncode, 1, done.stderr)  # all are refused
        self.assertIn("| gpuverify | 3 |", done.stdout)
        self.assertIn("k<<<dim3(2, 3), dim3(64, 1), 0>>>(a0_0, a0_1);", done.stdout)
        self.write("command", "#!/usr/bin/env python3\nimport re, sys\n"
                   "text = open(sys.argv[2]).read()\n"
                   "made = re.findall('MTGP32KernelState.states', text)\n"
                   "print('error:', *made, text.partition('void f')[2][:60])\nsys.exit(2)\n")
        done = self.score("gpuverify", "suite", by="command")
        self.assertIn("cooperative_groups::sync(g)", done.stdout)
        self.assertEqual(done.stdout.count("MTGP32KernelState(states"), 1, done.stdout)

    def test_litmus_tests_are_compared_with_the_model(self):
        test = ("PTX t\n{\nx=0;\nP0:r0=0;\n}\n P0@cta 0,gpu 0 | P1@cta 0,gpu 0 | P2@cta 1,gpu 0 ;\n"
                " ld.acquire.cta r0, x | atom.relaxed.gpu.sub r1, x, 2 | ;\n LC0: | | ;\n bne r0, 1, LC0 | | ;\n"
                " bar.cta.sync 1 | bar.cta.sync 0, 1 | ;\n"
                " bar.cta.arrive 2 | bar.cta.arrive 2 | bar.cta.arrive 3 ;\n"
                "exists (P0:r0 = 1 /\\ x == 2)\n")
        # As the command below answers to x = 0, 1, ...
        names = ["same", "lacks", "forbidden", "open", "racy", "hung", "spins"]
        for i, name in enumerate(names):
            self.write(f"dat3m/litmus/PTX/{name}.litmus", test.replace("x=0;", f"x={i};"))
        self.write("dat3m/litmus/PTX/proxies.litmus", test.replace("x=0;", "s @ texture aliases x;"))
        labels = [f"litmus/PTX/{n}.litmus,{int(n in ('lacks', 'open'))}\n" for n in [*names, "proxies"]]
        answers = "dat3m/dartagnan/src/test/resources/PTXv7_5"
        self.write(answers + "-expected.csv", "".join(labels))
        ends = {"same": 1, "lacks": 0, "racy": 0, "hung": 1, "spins": 1}
        self.write(answers + "-Liveness-expected.csv", "".join(f"litmus/PTX/{n}.litmus,{e}\n" for n, e in ends.items()))
        self.write("command", "#!/usr/bin/env python3\nimport json, re, shutil, sys\n"
                   "number = int(re.search(r'words.0. = (.)', open('code.cu').read())[1])\n"
                   f"shutil.copy('code.cu', {self.path('last.cu')!r})\n"
                   "kinds = {2: ['error_return'], 4: ['race'], 5: ['deadlock'], 6: ['livelock']}.get(number, [])\n"
                   "run = {'findings': [{'kind': k, 'text': ''} for k in kinds], 'every_schedule': number < 2,\n"
                   "       'exit_status': int(number in (2, 5))}\n"
                   "json.dump({'runs': [run]}, open(sys.argv[sys.argv.index('--json') + 1], 'w'))\n")
        done = self.score("dat3m", "dat3m", by="command")
        self.assertEqual(done.returncode, 1)
        self.assertIn("| dat3m | 12 | 4 | 2 | 2 | 3 |", done.stdout)
        for disagreement in ("missed: lacks", "missed: lacks ends", "false: forbidden", "false: hung ends",
                             "false: spins ends"):
            self.assertIn(disagreement + ": new", done.stdout)
        with open(self.path("last.cu")) as f:
            program = f.read()
        self.assertIn('asm volatile("ld.acquire.cta.global.s32 %0, [%1];" : "=r"(r0) : "l"(m + 0)', program)
        self.assertIn('atom.relaxed.gpu.global.add.s32 %0, [%1], %2;" : "=r"(r1) : "l"(m + 0), "r"(-(2))', program)
        self.assertIn('LC0_0:;\nif (of_lane_0(r0 != 1)) goto LC0_0;', program)
        self.assertEqual(program.count('\nasm volatile("bar.sync %0, %1;" :  : "r"(of_lane_0(1))'), 2)
        self.assertIn('asm volatile("bar.arrive %0, %1;" :  : "r"(of_lane_0(2)), "r"(32 * 2)', program)
        self.assertIn('"r"(of_lane_0(3)), "r"(32 * 1)', program)
        self.assertIn("return ((words[32] == 1 && words[0] == 2));", program)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
