"""Which operators a file belongs to, from the build's own dependencies (ninja -t deps)."""

import pathlib
import posixpath
import re
import subprocess

ALL = "*"  # every operator, at quick size


class NoBuild(Exception):
    pass


def operators_of(root):
    text = (root / "cmake/operators.cmake").read_text()
    return re.search(r"set\(WARPCHECK_OPERATORS\s+([^)]*)\)", text)[1].split()


def included(root, file, found):
    """The file and what it includes of the project, added to `found`."""
    if file not in found and (root / file).exists():
        found.append(file)
        for name in re.findall(r'^\s*#\s*include\s*"([^"]+)"', (root / file).read_text(), re.M):
            included(root, name, found)
    return found


def dependencies(build, root):
    """Object -> the project's files that it is made from, its own source first. Several sources that were compiled as
    one (WARPCHECK_UNITY) are as many objects, each with what it includes."""
    r = subprocess.run(["ninja", "-C", str(build), "-t", "deps"], capture_output=True, text=True)
    if r.returncode:
        raise NoBuild(f"{build}: ninja knows no dependencies; build it first")
    # A build tree may be looked at under another path than the one that it was configured in.
    cache = pathlib.Path(build, "CMakeCache.txt").read_text()
    source = re.search(r"^CMAKE_HOME_DIRECTORY:INTERNAL=(.*)$", cache, re.M)[1] + "/"
    # A compiler cache may write paths relative to the build tree as it was configured.
    configured = re.search(r"^CMAKE_CACHEFILE_DIR:INTERNAL=(.*)$", cache, re.M)[1]
    objects, current = {}, None
    for line in r.stdout.splitlines():
        if line.startswith(" "):
            path = posixpath.normpath(posixpath.join(configured, line.strip()))
            if path.startswith(source) and not path.startswith(source + "build/"):
                current.append(path[len(source) :])
        elif ": #deps" in line:
            current = objects.setdefault(line.split(": #deps")[0], [])
    apart = {}
    for name, files in objects.items():
        if "/Unity/" not in name:
            apart[name] = files
            continue
        for source in (file for file in files if file.endswith((".cpp", ".cu"))):
            apart[f"{name}:{source}"] = included(pathlib.Path(root), source, [])
    return {name: files for name, files in apart.items() if files}


def stem_operator(path, operators):
    """The operator that a path names: softmax of kernels/softmax/softmax.cu and of kernels/softmax/x.hpp, scan of
    golden/scan/a.golden and of ci/mutate/scan.mutants."""
    parts = pathlib.PurePosixPath(path).parts
    for part in parts[-1:] + parts[-2:-1]:
        for op in sorted(operators, key=len, reverse=True):
            if part == op or re.match(
                re.escape(op) + r"(_(properties|golden|bench|oracle|calls|runs|peer)\b|\.|_algebra|_cases|_categories|"
                r"_compat|_generators|_problem|_after_properties)",
                part,
            ):
                return op
    return None


class BuildMap:
    """Product objects only: those of kernels, reference, properties (not the suite's own tests) and golden."""

    def __init__(self, build, root):
        self.operators = operators_of(root)
        self.of_file = {}
        self.objects = {
            name: files
            for name, files in dependencies(build, root).items()
            if re.match(r"(kernels|simt|reference|properties|golden)/", name)
            and not re.match(r"tests/|properties/controls", name)
        }
        owners = {name: stem_operator(files[0], self.operators) for name, files in self.objects.items()}
        users = {}  # file -> operators whose own objects include it
        for name, files in self.objects.items():
            for file in files:
                if owners[name]:
                    users.setdefault(file, set()).add(owners[name])
        self.of_file = {file: set(ops) for file, ops in users.items()}
        for name, files in self.objects.items():
            # An object works for those that include its header; one of no operator (row_generators.cpp) for no other.
            header = re.sub(r"\.(cpp|cu)$", ".hpp", files[0])
            if owners[name]:
                self.of_file[files[0]] |= users.get(header, set())
                continue
            ops = users.get(header, {ALL})
            for file in files:
                if file == files[0] or file not in users:
                    self.of_file.setdefault(file, set()).update(ops)

    def operators_of_file(self, path):
        """Operators, {ALL}, or nothing for a file that judges and computes nothing."""
        if re.match(r"(docs|bench|tests)/", path):
            return set()
        if re.match(
            r"(properties/engine|simt|reference/numerics|cmake|command)/|.*CMakeLists\.txt$|CMakePresets\.json$",
            path,
        ):
            return {ALL}
        if path in self.of_file:
            ops = self.of_file[path]
            return {ALL} if ALL in ops or ops >= set(self.operators) else set(ops)
        if op := stem_operator(path, self.operators):
            return {op}
        if re.match(r"(kernels|reference|properties)/", path):
            return {ALL}  # deleted, or of no object: nobody knows whose it was
        return set()


JUDGES = (
    r"(reference|properties|golden)/|ci/(gate|gating/|common\.sh|registry)|command/|abi/|simt/|cmake/"
    "|CMakeLists"
)


def judges(paths):
    """The changed files that take part in the verdict."""
    return [path for path in paths if re.match(JUDGES, path) and not path.startswith("tests/")]


def compiled_judges(paths):
    """Those of them that are part of the program: data and scripts of the base need no build of it."""
    return [
        path
        for path in paths
        if not re.match(r"golden/.*(\.golden|\.json|SHA256SUMS)$|ci/(gate|gating/|common\.sh|registry)", path)
    ]


TEST = re.compile(r'^(add_test|set_tests_properties)\((?:\[=\[(.*?)\]=\]|"?([^\s")]+)"?)\s+(.*)\)$', re.M)


def ctest_tests(build):
    """Name, labels and command of each test, from CMake's own files: ctest leaves out commands not built yet."""
    tests = {}
    for path in sorted(pathlib.Path(build).rglob("CTestTestfile.cmake")):
        for what, bracketed, plain, rest in TEST.findall(path.read_text()):
            entry = tests.setdefault(bracketed or plain, [set(), []])
            if what == "add_test":
                entry[1] = re.findall(r'"((?:[^"\\]|\\.)*)"', rest)
            elif labels := re.search(r'\bLABELS "([^"]*)"', rest):
                entry[0] = set(labels[1].split(";"))
    if not tests:
        raise NoBuild(f"{build}: it has no tests; configure it with WARPCHECK_TESTS")
    return [(name, labels, command) for name, (labels, command) in tests.items()]
