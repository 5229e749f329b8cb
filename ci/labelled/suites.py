"""The codes of public suites of labelled races. Each suite is a checkout of its repository, which the user makes."""

import dataclasses
import pathlib
import re

from . import litmus


@dataclasses.dataclass
class Code:
    """A program with its label: the kind of finding that some schedule of some input has, whether one leaves its
    buffers beside it, and whether one may run for ever. A litmus test has the answer of the memory model instead."""

    name: str
    text: str  # the source
    wanted: str = ""  # a kind of the reports, usually `race`; "": no race
    bounds: bool = False
    is_endless: bool = False
    inputs: list = dataclasses.field(default_factory=lambda: [[]])  # the arguments of each run
    includes: list = dataclasses.field(default_factory=list)
    options: list = dataclasses.field(default_factory=list)  # of run-emulated
    allowed: bool | None = None  # of a litmus test: true if the model allows the outcome that returns 1
    ends: bool | None = None  # of a litmus test: true if it ends under every fair schedule


# HiRace (Jacobson, Burtscher, Gopalakrishnan, SC 2024): Indigo's graph codes, whose names list the planted bugs.
HIRACE_RACES = re.compile(r"(?<!No)(atomicBug|guardBug|syncBug|raceBug)")
HIRACE_GRAPHS = ("DAG_100n_200e", "DAG_200n_400e", "counterDAG_200n_1000e", "power_law_200n_1000e")


def hirace(folder):
    base = folder / "indigo"
    inputs = [[str(base / "input" / f"{graph}.egr"), "256", "1024"] for graph in HIRACE_GRAPHS]
    for path in sorted((base / "indigo_sources").glob("*/*.cu")):
        wanted = "race" if HIRACE_RACES.search(path.stem) else ""
        yield Code(path.stem, path.read_text(), wanted, "boundsBug" in path.stem, inputs=inputs,
                   includes=[base / "indigo_include"])


def scor(folder):
    """ScoR (Kamath, George, Basu, ISCA 2020): scopes, fences and locks. Its `volatile` orders nothing: CUDA says that
    volatile is no synchronisation, and its labels say the same."""
    for path in sorted((folder / "microbenchmarks" / "src").glob("*.cu")):
        wanted = "race" if path.stem.startswith("race_") else ""
        yield Code(path.stem, path.read_text(), wanted, options=["--volatile", "plain"])


# Indigo3 (Liu, Azami, Vanausdal, Burtscher, ACM TOPC 2024): seven graph algorithms in all styles; names list the bugs.
INDIGO3_RACES = re.compile(r"_(RaceBug|SyncBug)")
# A block for each vertex has no excess threads.
INDIGO3_BOUNDS = re.compile(r"_(Nbr|Nbor)?BoundsBug|^(?!.*_Block(_|$)).*_ExcessThreadsBug")
INDIGO3_GRAPHS = ("undirected_graph_4n_12e_4095", "undirect2dim_rand_torus_100n_400e")


def indigo3(folder):
    inputs = [[str(folder / "inputs" / f"{graph}.egr"), "1", "0"] for graph in INDIGO3_GRAPHS]
    for path in sorted((folder / "generatedCodes" / "CUDA").glob("*/*.cu")):
        wanted = "race" if INDIGO3_RACES.search(path.stem) else ""
        yield Code(path.stem, path.read_text(), wanted, bool(INDIGO3_BOUNDS.search(path.stem)),
                   "_LivelockBug" in path.stem, inputs, [folder / "lib"])


# NVIDIA's samples of compute-sanitizer: what each of its tools must report, in the words of run-emulated.
SANITIZER = {"Racecheck/block_error": "race", "Racecheck/warp_error": "race", "Memcheck/memcheck_demo": "out_of_bounds",
             "Initcheck/memset_error": "uninitialized", "Synccheck/divergent_threads": "divergence",
             "Synccheck/illegal_syncwarp": "divergence", "Suppressions/suppressions_initcheck_demo": "uninitialized"}


def sanitizer(folder):
    for name, wanted in SANITIZER.items():
        path = folder / (name + ".cu")
        if path.is_file():
            yield Code(name, path.read_text(), wanted)


# GPUVerify (Betts, Chong, Donaldson, Qadeer, Thomson, OOPSLA 2012): of the kernels that must fail, those with a race.
GPUVERIFY_RACES = set("""atomics/add_tid atomics/add_zero misc/fail/miscfail3 fail_tests/shared_int
fail_tests/race_on_shared pointertests/cast warpsync/bad_inter_group warpsync/broken_shuffle loop_unwind
pointeranalysistests/testbasicaliasing memset/unhandled_varlen memcpy/unhandled_varlen memcpy/notexactdiv
memcpy/fail_overstep memcpy/lentoobig memcpy/fail_arrayofstruct cooperative_groups/fail/race curand_tests/fail/init_race
curand_tests/fail/curand_race curand_tests/fail/curand_mtgp32_race
curand_tests/fail/curand_mtgp32_block_race""".split())
# Its language of contracts: a kernel that uses it is left out, as is one without a host that can be written for it.
GPUVERIFY_CONTRACT = re.compile(
    r"__(requires|ensures|invariant|assume|assert|global_|read|write|implies|enabled|axiom|at_most|distinct|uniform|"
    r"non_temporal|no_read|no_write|function_wide|thread_local|return_val|old|ite|add_noovfl|candidate|bool2bv|all)"
    r"\w* *\(")
GPUVERIFY_HOST = r"""
#include <cstdlib>
#include <cstring>
static int race_mode;
static void* race_buffer() {  // 4 MiB; mode 1 fills them with 0 to 7, the others with 0
  const size_t n = size_t{1} << 20;
  int* host = new int[n];
  for (size_t i = 0; i < n; ++i) host[i] = race_mode == 1 ? int(i % 8) : 0;
  void* p = nullptr;
  cudaMalloc(&p, n * sizeof(int));
  cudaMemcpy(p, host, n * sizeof(int), cudaMemcpyHostToDevice);
  delete[] host;
  return p;
}
template <class T> struct race_argument {  // a struct: of pointers
  static T make(int) {
    T t;
    memset((void*)&t, 0, sizeof t);
    for (size_t at = 0; sizeof t % 8 == 0 && at < sizeof t && at < 64; at += 8) {
      void* p = race_buffer();
      memcpy((char*)&t + at, &p, 8);
    }
    return t;
  }
};
template <class T> struct race_argument<T*> { static T* make(int) { return (T*)race_buffer(); } };
#define RACE_SCALAR(T) \
  template <> struct race_argument<T> { static T make(int n) { return (T)(race_mode == 2 ? 64 : race_mode ? 1 : n); } };
RACE_SCALAR(int) RACE_SCALAR(unsigned) RACE_SCALAR(size_t) RACE_SCALAR(long) RACE_SCALAR(float) RACE_SCALAR(double)
RACE_SCALAR(char) RACE_SCALAR(unsigned char) RACE_SCALAR(short) RACE_SCALAR(bool)
"""
# States of the generator MTGP32, which the host computes from tables.
GPUVERIFY_MTGP32 = r"""
#include <curand_mtgp32_host.h>
#include <curand_mtgp32dc_p_11213.h>
template <> struct race_argument<curandStateMtgp32_t*> {
  static curandStateMtgp32_t* make(int) {
    mtgp32_kernel_params* parameters;
    curandStateMtgp32_t* states;
    cudaMalloc(&parameters, sizeof *parameters);
    cudaMalloc(&states, 64 * sizeof *states);
    curandMakeMTGP32Constants(mtgp32dc_params_fast_11213, parameters);
    curandMakeMTGP32KernelState(states, mtgp32dc_params_fast_11213, parameters, 64, 1);
    return states;
  }
};
"""


def launch_of(text, index, kernel, parameters, grid, block):
    """The lines of main() that launch a kernel with arguments of its parameters' types."""
    lines, names = [], []
    for i, parameter in enumerate(p.strip() for p in parameters.split(",") if p.strip()):
        plain = parameter.replace("__restrict__", "").replace("const ", "")
        found = re.match(r"(.*?)(\w+)\s*(\[\s*\])?$", plain, re.S)
        kind = (found[1] + ("*" if found[3] else "")).strip()
        names.append(f"a{index}_{i}")
        lines.append(f"  static {kind} {names[-1]} = race_argument<{kind}>::make(total);")
    shared = 16384 if re.search(r"extern\s+__shared__", text) else 0
    sizes = f"dim3({grid[0]}, {grid[1]}), dim3({block[0]}, {block[1]})"
    if "this_grid" in text:
        words = ", ".join(f"(void*)&{n}" for n in names) or "nullptr"
        lines.append(f"  void* words{index}[] = {{{words}}};")
        lines.append(f"  cudaLaunchCooperativeKernel((void*){kernel}, {sizes}, words{index}, {shared}, 0);")
    else:
        lines.append(f"  {kernel}<<<{sizes}, {shared}>>>({', '.join(names)});")
    return lines + ["  cudaDeviceSynchronize();"]


def without_missing_bodies(text):
    """Gives a body to each device function that is only declared; it returns 0."""
    def with_body(found):
        declared, kind, name = found.groups()
        if re.search(rf"\b{name}\s*\([^;{{}}()]*\)\s*\{{", text):
            return found[0]
        return f"{declared} {{ {'' if kind == 'void' else 'return 0;'} }}"
    return re.sub(r"^((?:extern )?__device__ (\w+) (\w+)\s*\([^;{}]*\))\s*;", with_body, text, flags=re.M)


def gpuverify_program(text):
    """A kernel file with a main() that launches its kernels as the file's second line says; None: left out."""
    options = text.splitlines()[1]
    kernels = re.findall(r"__global__\s+void\s+(\w+)\s*\(([^)]*)\)\s*\{", text)
    sizes = {name: [int(x) for x in re.findall(r"\d+", value)]
             for name, value in re.findall(r"--(blockDim|gridDim)=(\[[^\]]*\]|\d+)", options)}
    is_indirect = "funcType f" in text.replace("funcType f;", "") or re.search(r"\bchar *\*\*", text)
    has_no_host = is_indirect or "template" in text
    if GPUVERIFY_CONTRACT.search(text) or not kernels or has_no_host or len(sizes) != 2:
        return None
    block = (sizes["blockDim"] + [1])[:2]
    block[0] = min(block[0], 1024)
    grid = [min(g, 16) for g in (sizes["gridDim"] + [1])[:2]]
    lines = [line for i, (kernel, parameters) in enumerate(kernels)
             for line in launch_of(text, i, kernel, parameters, grid, block)]
    # What GPUVerify's own cuda.h declares, and its name for what CUDA calls sync.
    if "cooperative_groups" in text:
        text = "#include <cooperative_groups.h>\n" + re.sub(r"\bsynchronize\(", "cooperative_groups::sync(", text)
    if "curand" in text:
        text = "#include <curand_kernel.h>\n" + text
    text = re.sub(r"#define (memset|memcpy)\(", r"#define own_\1(", text)
    text = re.sub(r"(?<![\w_])(memset|memcpy)\(", r"__builtin_\1(", text)
    text = without_missing_bodies(text)
    begin = f"int main(int, char** argv) {{\n  race_mode = atoi(argv[1]);\n  [[maybe_unused]] const int total = " \
            f"{grid[0] * grid[1] * block[0] * block[1]};\n"
    host = GPUVERIFY_HOST + (GPUVERIFY_MTGP32 if "Mtgp32" in text else "")
    return text + host + begin + "\n".join(lines) + "\n}\n"


def gpuverify(folder):
    base = folder / "testsuite" / "CUDA"
    for path in sorted(base.rglob("kernel.cu")):
        text = path.read_text(errors="replace")
        program = gpuverify_program(text)
        name = str(path.parent.relative_to(base))
        if program is not None:
            wanted = "race" if name.lower() in GPUVERIFY_RACES else ""
            yield Code(name, program, wanted, inputs=[["0"], ["1"], ["2"]])


def cusan(folder):
    """CuSan (Hück, Ziegler, Schwitanski, Jenke, Bischof, SC-W 2024): races of streams and the host. Most tests are two
    codes: a macro inserts what synchronises. Left out are those that need MPI."""
    base = folder / "test"
    for path in sorted((base / "runtime").glob("*.c")):
        text = path.read_text()
        if "mpi.h" in text:
            continue
        includes = [base / "runtime", base / "support"]
        yield Code(path.stem, text, "race" if "CHECK-DAG: data race" in text else "", includes=includes)
        if "CUSAN_SYNC" in text:
            yield Code(path.stem + " sync", text, includes=includes, options=["-D", "CUSAN_SYNC"])


def dat3m(folder):
    """Dat3M (Ponce de Leon, Furbach, Heljanko, Meyer): litmus tests of PTX. Left out are those of proxies, several GPUs
    and progress, which the emulated device or the labels do not cover."""
    if not (folder / "litmus" / "PTX").is_dir():
        return
    for name, program, allowed in litmus.tests_of(folder):
        yield Code(name, program, allowed=allowed)
    for name, program, ends in litmus.endings_of(folder):
        yield Code(name + " ends", program, ends=ends)


# Disagreements with labels, judged by reading: a pattern of codes -> the outcome (scores.py), and why.
NO_ACQUIRE = "the readers spin on a relaxed atomic, and a release needs an acquire: the label is wrong"
ONE_BLOCK = "its race is between blocks, and each graph fits into one"
ONE_REDUCTION = "a block reduces once, so the missing barrier orders nothing: the label is wrong"
SAME_VALUE = "threads write the same value, which is reported as benign"
JUDGED = {
    "hirace": {
        r"neighbors_boundsBug": ("false", "threads past the graph read a loop's end in another buffer: a real race"),
    },
    "scor": {r"^norace_inter(warp|block|warp-block)_(blk)?fence": ("false", NO_ACQUIRE)},
    "gpuverify": {
        r"^(loop_unwind|memcpy/|curand_tests/fail/init_race)": ("missed", SAME_VALUE),
        r"^memset/unhandled_varlen": ("missed", "it writes a local variable and places that no threads share"),
        r"^warpsync/": ("false", "it is right for warps in lockstep only, which CUDA does not promise"),
        r"^(argument_promotion|memcpy_simplification/global_passed_to_call)":
            ("refused", "a texture reference, which CUDA 12 no longer has"),
        r"^misc/fail/miscfail1": ("refused", "it must not compile"),
    },
    "indigo3": {
        r"^PR_CUDA_Pull_.*_RaceBug_.*_Thread_": ("missed", ONE_BLOCK),
        r"^TC_CUDA_E_Thread_NonPersist_.*_RaceBug_": ("missed", ONE_BLOCK),
        r"^PR_CUDA_Pull_.*_SyncBug_.*_Persist_Warp_Determ_Reduction":
            ("missed", "its race is between two turns of a loop, and one turn covers each graph"),
        r"^PR_CUDA_Pull_.*_SyncBug_.*_NonPersist_(Block_Determ_GlobalAdd|Warp_Determ_Reduction)":
            ("missed", ONE_REDUCTION),
        r"^PR_CUDA_Push_.*_SyncBug_(Non)?Persist_Thread_.*_Reduction": ("missed", ONE_REDUCTION),
        r"^PR_CUDA_Pull_.*_SyncBug_.*_Warp_Determ_GlobalAdd":
            ("missed", "its warps exchange values by shuffles alone, which need no barrier: the label is wrong"),
        r"^PR_CUDA_Pull_.*_NonDeterm_":
            ("false", "threads read scores that others overwrite in place: the label is wrong"),
        r"^PR_CUDA_Push_.*_(Warp|Block)_":
            ("false", "all threads of a warp or block read a score and overwrite it: the label is wrong"),
        r"^PR_CUDA_Pull_.*_(Thread|Warp|Block)_Determ_BlockAdd":
            ("false", "threads read the block's sum while others add to it: the label is wrong"),
        r"^PR_CUDA_Pull_.*_Block_Determ_Reduction":
            ("false", "threads read the first sum while others store parts of the second: the label is wrong"),
        r"_Block_":
            ("late", "51,200 threads, a block for each vertex, and each joins the vector clocks of those before it"),
        r"^(BFS|CC|SSSP)_CUDA_V_Data_Pull_.*_Persist_(Cuda)?Atomic_Block_":
            ("false", "a thread resets the block's flag for the next vertex while others read it: the label is wrong"),
    },
    "cusan": {
        r"^16_cuda_(hostalloc|malloc)_implicit_sync sync":
            ("false", "an allocation is no operation of the null stream and orders no others: the label is wrong"),
    },
    "dat3m": {
        r"^Barrier/quorum.* ends$":
            ("false", "three threads come to a barrier of two, and the third waits for ever: the label is wrong"),
        r"^Manual/(SB\+twice-bars-diff|barrier-(instance|logical)-id-).* ends$":
            ("false", "a barrier without a count waits for all threads, and half wait in another: the label is wrong"),
    },
}
SUITES = {"hirace": hirace, "scor": scor, "gpuverify": gpuverify, "sanitizer": sanitizer, "indigo3": indigo3,
          "cusan": cusan, "dat3m": dat3m}
# Where each is on GitHub, and the commit that was scored.
SOURCES = {
    "hirace": ("JohnJacobsonIII/HiRace-Artifact-SC24", "44a935f"),
    "scor": ("csl-iisc/ScoR", "6dc3507"),
    "gpuverify": ("mc-imperial/gpuverify", "4921977"),
    "sanitizer": ("NVIDIA/compute-sanitizer-samples", "1e1fab8"),
    "indigo3": ("burtscher/Indigo3Suite", "f351177"),
    "cusan": ("tudasc/cusan", "2e2a503"),
    "dat3m": ("hernanponcedeleon/Dat3M", "3064012"),
}
# What a suite of templates needs next: Indigo3 generates 13,400 CUDA codes with all bugs. They print clock rates, which
# CUDA 13 no longer has in cudaDeviceProp.
GENERATE = {
    "indigo3": " && cd {folder} && sed -i 's/{{nobug}}/{{all}}/' codeGen/configure.txt && "
               "python3 generate_all_codes.py cuda && sed -Ei 's/deviceProp.(memoryC|c)lockRate/0/g' lib/*.h",
}


def how_to_fetch(suite, folder):
    repository, commit = SOURCES[suite]
    fetch = f"git clone https://github.com/{repository} {folder} && git -C {folder} checkout {commit}"
    return fetch + GENERATE.get(suite, "").format(folder=folder)


def codes_of(suite, folder):
    return list(SUITES[suite](pathlib.Path(folder)))
