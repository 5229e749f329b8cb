"""The steps of the gate in their order, and what they come to."""

import os
import time

from . import registry as registries
from .build_map import ALL, BuildMap, compiled_judges, judges
from .findings import counted, place
from .trees import HERE, Usage, base_tree, build_of, changed_lines, git, shell
from .trials import MANY_OPERATORS, CannotJudge, Trials, judging_folder
from .weakened import excused, weakened

PROGRAM = "warpcheck_command_plain"


def touched_operators(build_map, changed):
    """(operators, whether each has a file of its own among the changed)."""
    touched = set()
    for path in changed:
        touched |= build_map.operators_of_file(path)
    if ALL in touched:
        return build_map.operators, False
    return [op for op in build_map.operators if op in touched], True


def demanded_by(tree, base):
    """What the base demands, or None where it has no registry."""
    text = git(tree, "show", f"{base}:golden/registry.json", check=False)
    try:
        return None if text is None else registries.with_files(registries.read(text), registries.Commit(tree, base))
    except ValueError as error:
        raise CannotJudge(f"golden/registry.json of the base {base[:12]}: {error}")


class Judging:
    """One run of the gate: the options, what changed, and all that its steps say."""

    def __init__(self, options, base):
        self.options, self.base = options, base
        self.demanded = demanded_by(options.tree, base)
        self.interrupted = False
        self.changed = changed_lines(options.tree, base)
        self.judged_by = judges(self.changed)
        options.out.mkdir(parents=True, exist_ok=True)
        self.apart = 0.0  # seconds of the base's build
        self.head_build = options.build or build_of(options.tree, options.device, PROGRAM)
        self.program = self.head_build / "warpcheck"
        if not self.program.exists():
            raise CannotJudge(f"build: {self.program} is not there")
        touched, own = touched_operators(BuildMap(self.head_build, options.tree), self.changed)
        self.operators, self.deep = touched, own and len(touched) <= MANY_OPERATORS
        self.every = self.trials(self.program, options.out)

    def trials(self, program, folder, judges=1):
        o = self.options
        return Trials(program, o.tree, o.device, o.candidate, folder, o.cases, o.property, judges)

    def base_build(self, preset_device, targets):
        if self.options.base_build:
            return self.options.base_build
        begin = time.monotonic()
        folder = build_of(base_tree(self.options, self.base), preset_device, targets)
        self.apart += time.monotonic() - begin
        return folder

    def judges(self):
        """(name, program, golden data) of each that judges the kernels. Where the pull request touches the judge, the
        base's judges its kernels; what it would say itself stands beside."""
        o = self.options
        if not self.judged_by:
            return [("", self.program, o.tree / "golden")]
        base_program = self.program
        if compiled_judges(self.judged_by):
            base_build = self.base_build(o.device, PROGRAM)
            base_program = judging_folder(o.out / "judging", base_build, self.head_build) / "warpcheck"
        golden = base_tree(o, self.base) / "golden"
        return [("base", base_program, golden), ("head", self.program, o.tree / "golden")]

    def kernels(self):
        """Properties and golden data of the touched operators, by each judge; they share the time."""
        every = self.every
        if not self.operators:
            every.step("properties, golden data", ["violation"], 0, "not run", "no operator is touched")
            return
        judges = self.judges()
        for name, program, golden in judges:
            t = self.trials(program, self.options.out / (name or "base"), len(judges))
            try:
                t.properties(self.operators, self.deep, golden / "regressions")
                t.golden(self.operators, golden)
            finally:  # what was found before an interrupt counts
                self.take(name, t)

    def take(self, judge, t):
        every, who = self.every, f" (the {judge}'s judge)" if judge else ""
        for f in t.findings:
            f.judge = judge
        every.steps += [s | {"name": s["name"] + who} for s in t.steps]
        every.findings += t.findings
        every.cut += [text for text in t.cut if text not in every.cut]
        every.unjudged += t.unjudged

    def registry(self):
        every, begin, before = self.every, time.monotonic(), len(self.every.findings)
        if self.demanded is None:
            every.step("registry", ["weakened"], 0, "not run", "the base has no golden/registry.json")
            every.cut.append("the base has no golden/registry.json: it is not known if the suite demands less")
            return
        head = registries.with_files(
            registries.make(self.head_build, self.options.tree, self.program), registries.Checkout(self.options.tree))
        try:
            every.findings += weakened(self.demanded, head)
        except (AttributeError, KeyError, TypeError) as error:
            raise CannotJudge(f"golden/registry.json of the base is not as ci/registry writes it ({error!r})")
        every.step(
            "registry",
            ["weakened"],
            time.monotonic() - begin,
            "failed" if len(every.findings) > before else "pass",
            "what the suite demands, against the base's golden/registry.json",
        )

    def mutants(self):
        every = self.every
        wrong = {f.operator for f in every.findings if f.kind in ("violation", "race", "golden")}
        why = None
        if not self.operators:
            why = "no operator is touched"
        elif self.options.candidate:
            why = "a candidate library has none"
        elif not self.deep:
            why = "no operator of its own is touched"
            every.cut.append("mutants: all operators are touched; the nightly tries them")
        elif wrong.issuperset(self.operators):
            why = "the kernels are wrong as they are"
        if why:
            every.step("mutants", ["survivor"], 0, "not run", why)
            return
        if wrong:
            every.cut.append(f"mutants of {', '.join(sorted(wrong))}: the kernels are wrong as they are")
        right = [op for op in self.operators if op not in wrong]
        files = registries.Checkout(self.options.tree)
        every.mutants(str(self.program), right, lambda op: registries.mutants_of(files, op))

    def timings(self):
        o = self.options
        if o.device != "cuda" or not self.operators or o.candidate:
            why = "timings are made on a GPU; here is no timing verdict"
            if o.device == "cuda":
                why = "a candidate library is judged, not its time" if o.candidate else "no operator is touched"
            self.every.step("timing", ["slower"], 0, "not run", why)
            return
        shell(HERE, "install_packages test; python_environment")  # compare.py and SciPy
        benches = " ".join(f"{op}_bench" for op in self.operators)
        base_build = self.base_build("cuda", benches)
        if not o.build:
            build_of(o.tree, "cuda", benches)
        self.every.timings(self.operators, base_build, self.head_build, o.history)


def judge(options):
    begin = time.monotonic()
    if git(options.tree, "rev-parse", "HEAD", check=False) is None:
        raise Usage(f"tree: '{options.tree}' is not a git repository with a commit")
    base = git(options.tree, "merge-base", options.base, "HEAD", check=False)
    if base is None:
        raise CannotJudge(f"base: '{options.base}' has no common ancestor with HEAD here; fetch it (fetch-depth: 0)")
    j = Judging(options, base.strip())
    j.every.step("build", [], time.monotonic() - begin, "pass", "of the tree" if not options.build else "was given")
    try:
        for step in (j.kernels, j.registry, j.mutants, j.timings):
            step()
    except KeyboardInterrupt:
        j.interrupted = True
        j.every.cut.append(f"interrupted during {step.__name__}: what has no row in the table was not judged")
    if j.apart:
        j.every.step("build of the base", [], j.apart, "pass", "apart: it is no part of the gate's time")
    return summarise(j, time.monotonic() - begin - j.apart)


def summarise(j, seconds):
    options, every = j.options, j.every
    text = os.environ.get("WARPCHECK_PULL_REQUEST_TEXT", "") + "\n" + (options.text.read_text() if options.text else "")
    text += "\n" + git(options.tree, "log", "--format=%B", f"{j.base}..HEAD")
    excuses = excused(text)
    for f in every.findings:
        if f.kind in ("weakened", "less accurate"):
            f.note = excuses.get(f.name, "")
    if every.unjudged and not counted(every.findings) and not j.interrupted:
        raise CannotJudge(f"verify {', '.join(sorted(set(every.unjudged)))}: no case was judged in its time")
    place(every.findings, j.changed)
    for step in every.steps:
        if step["verdict"] == "failed" and not any(f.kind in step["kinds"] for f in counted(every.findings)):
            step["verdict"] = "allowed"
    short = lambda revision: git(options.tree, "rev-parse", "--short", revision).strip()
    more = f" and {len(j.judged_by) - 3} more" if len(j.judged_by) > 3 else ""
    two = f"the base's and the tree's own, since it changes {', '.join(j.judged_by[:3])}{more}"
    return {
        "schema": "warpcheck-gate-1",
        "verdict": "interrupted" if j.interrupted else "findings" if counted(every.findings) else "pass",
        "base": short(j.base),
        "head": short("HEAD"),
        "device": options.device,
        "seconds": seconds,
        "steps": every.steps,
        "cut": every.cut,
        "judge": two if j.judged_by else "the base's",
        "findings": every.findings,
    }
