"""The command ci/nightly: plans a night, runs its shards, merges them into the history. docs/nightly.md."""

import argparse
import contextlib
import datetime
import fcntl
import json
import os
import pathlib
import platform
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading

from gating import timing
from gating.children import die_with_parent

from . import benchmarks, changes, corpora, scores
from .history import History, WrongSchema, moment, now, text_of
from .merge import merge, publish_summary, summary
from .shards import CannotRun, Interrupted, Shard, Superseded, run_shard, states_of, write_whole

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Their tables have a row for each shape, with median_us.
ROW_BENCHMARKS = [f"{op}_bench" for op in "softmax log_softmax logsumexp argmax sigmoid reduce scan argsort".split()]
SCHEMA = "warpcheck-night-1"
PARTS = ("mutants", "benchmarks", "changes")
UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
stopped = threading.Event()


class Usage(Exception):
    pass


class Busy(Usage):
    """Another ci/nightly writes into the folder."""


def seconds(text):
    match = re.fullmatch(r"(\d+)([smhd]?)", text)
    if not match or int(match[1]) == 0:
        raise argparse.ArgumentTypeError(f"'{text}' is not a time such as 90s, 10m, 8h or 1d")
    return int(match[1]) * UNITS[match[2]]


def at_least_one(text):
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not an integer of at least 1")
    return int(text)


def say(text):
    print(text, flush=True)


def shell(text):
    return subprocess.run(["bash", "-c", f"source ci/common.sh; {text}"], cwd=ROOT, capture_output=True, text=True)


def gpus():
    if shell("has_gpu").returncode:
        return []
    listed = subprocess.run(
        ["nvidia-smi", "--query-gpu=index", "--format=csv,noheader"], capture_output=True, text=True
    )
    return listed.stdout.split()


def warpcheck_of(options, devices):
    """The program: the one given, or a build of what is needed."""
    if options.warpcheck:
        if not os.access(options.warpcheck, os.X_OK):
            raise CannotRun(3, f"warpcheck: '{options.warpcheck}' is not there")
        return os.path.abspath(options.warpcheck)
    preset = "cuda" if "cuda" in devices else "emulated"
    steps = ["source ci/common.sh", "install_packages build", "change_points_environment"]
    targets = ["warpcheck_command_plain"]
    if preset == "cuda":
        steps += ["install_packages test", "python_environment"]  # for timings
        targets += ROW_BENCHMARKS
    built = subprocess.run(["bash", "-c", "; ".join([*steps, f"build {preset} {' '.join(targets)} >&2"])], cwd=ROOT)
    if stopped.is_set():
        raise Interrupted("interrupted while warpcheck was built; the same command resumes")
    if built.returncode:
        raise CannotRun(3, f"building warpcheck for preset {preset} failed")
    return str(ROOT / "build" / preset / "warpcheck")


# --- plan -------------------------------------------------------------------------------------------------------------


def devices_of(options, gpu_list):
    if options.device != "auto":
        return [options.device]
    return ["emulated", "cuda"] if gpu_list else ["emulated"]


def what_was_asked(options):
    return {
        "seconds": options.time,
        "cases": options.cases,
        "device": options.device,
        "shards": options.shards,
        "fuzz": options.fuzz,
        "elsewhere": options.elsewhere,
        "skip": sorted(options.skip),
    }


def make_plan(options):
    gpu_list = gpus()
    shards = []
    for device in devices_of(options, gpu_list):
        count = options.shards or (max(1, len(gpu_list)) if device == "cuda" else 1)
        if device == "cuda" and not gpu_list and not options.elsewhere:
            raise CannotRun(3, "device cuda was asked for, and there is no GPU here (nvidia-smi lists none)")
        for index in range(count):
            gpu = gpu_list[index % len(gpu_list)] if device == "cuda" and not options.elsewhere else None
            shards.append({"id": len(shards), "device": device, "index": index, "count": count, "gpu": gpu})
    begun = now()
    name = f"{begun:%Y-%m-%dT%H-%M-%S}"
    for suffix in ["", *(f"-{n}" for n in range(2, 1000))]:
        with contextlib.suppress(FileExistsError):
            folder = options.out / "nights" / (name + suffix)
            folder.mkdir(parents=True)
            break
    revision = subprocess.run(
        ["git", "-C", str(ROOT), "rev-parse", "HEAD"], capture_output=True, text=True
    ).stdout.strip()
    plan = {
        "schema": SCHEMA,
        "id": folder.name,
        "begun": text_of(begun),
        "machine": platform.node(),
        "revision": revision,
        "every_seconds": options.every,
        "shards": shards,
        "asked": what_was_asked(options),
        # What every shard must share; of 53 bits, which a golden header can carry.
        "seed": options.seed if options.seed is not None else random.SystemRandom().getrandbits(53),
    }
    write_whole(folder / "night.json", json.dumps(plan, indent=1) + "\n")
    return folder, plan


def plan_of(path):
    try:
        plan = json.loads(path.read_text())
        if plan["schema"] != SCHEMA:
            raise ValueError(f"its schema is {plan['schema']!r}, and {SCHEMA!r} is known")
        return plan
    except (KeyError, TypeError, ValueError) as error:
        raise Usage(
            f"out: '{path}' is not a plan of a night ({error}); move its folder away: nightly.db has what was merged"
        )


def nights(out):
    """Folders of nights with their plans, the oldest first. A folder without a plan died before it was one."""
    for folder in sorted((out / "nights").glob("*")):
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            yield folder, plan_of(folder / "night.json")


def unmerged(out):
    return [(folder, plan) for folder, plan in nights(out) if not (folder / "merged").exists()]


def newest_plan(options):
    waiting = unmerged(options.out)
    if not waiting:
        raise Usage(f"out: '{options.out}' holds no night that waits for its shards; 'ci/nightly plan' makes one")
    return waiting[-1]


# --- run --------------------------------------------------------------------------------------------------------------


def fuzz_command(program, plan, shard):
    asked = plan["asked"]
    command = [
        program,
        "fuzz",
        "--seed",
        str(plan["seed"]),
        "--shard",
        f"{shard['index']}/{shard['count']}",
        "--device",
        shard["device"],
    ]
    if asked["cases"]:
        command += ["--cases", str(asked["cases"])]
    together = 1 if asked["elsewhere"] else sum(s["device"] == shard["device"] for s in plan["shards"])
    if shard["device"] != "cuda" and together > 1 and "--workers" not in asked["fuzz"]:
        command += ["--workers", str(max(1, len(os.sched_getaffinity(0)) // together))]
    return command + asked["fuzz"]


def run_one(program, folder, plan, shard):
    environment = os.environ | ({"CUDA_VISIBLE_DEVICES": shard["gpu"]} if shard["gpu"] else {})
    return run_shard(
        Shard(folder / "shards" / str(shard["id"])),
        fuzz_command(program, plan, shard),
        plan["asked"]["seconds"],
        stopped.is_set,
        environment,
        say,
    )


def run_all(program, folder, plan):
    failures = []

    def one(shard):
        try:
            run_one(program, folder, plan, shard)
        except Exception as error:  # reported below, by the main thread
            failures.append(error)

    threads = [threading.Thread(target=one, args=(shard,)) for shard in plan["shards"]]
    for thread in threads:
        thread.start()
    for thread in threads:
        while thread.is_alive():
            thread.join(0.2)  # a signal is handled between
    for error in failures:
        if not isinstance(error, Superseded):
            raise error


def mutants(program, folder, plan):
    """(scores, survivors, note): all listed mutants, once a night; what was judged before is not judged again."""
    if "mutants" in plan["asked"]["skip"]:
        return [], [], "mutants were left out, as asked"
    path = folder / "mutants.json"
    if not path.exists():
        partial = folder / "mutants.json.partial"
        log = open(folder / "mutants.log", "w")
        process = subprocess.Popen(
            [program, "mutants", "--json", str(partial)], stdout=log, stderr=log, preexec_fn=die_with_parent
        )
        while process.poll() is None:
            if stopped.wait(0.2):
                process.send_signal(signal.SIGINT)
                process.wait()
                raise Interrupted("mutants: interrupted; the same command resumes")
        if process.returncode not in (0, 1):
            raise CannotRun(
                process.returncode, f"mutants: exit code {process.returncode}; {folder / 'mutants.log'} has the reason"
            )
        os.replace(partial, path)
    scores, survivors = {}, []
    for m in json.loads(path.read_text())["mutants"]:
        if m["outcome"] in ("killed", "survived"):
            killed, judged = scores.get(m["operator"], (0, 0))
            scores[m["operator"]] = (killed + (m["outcome"] == "killed"), judged + 1)
            if m["outcome"] == "survived" or not m.get("as_expected", True):
                survivors.append(m["id"])
    return [(subject, *score) for subject, score in sorted(scores.items())], survivors, None


def benchmark_rows(program, folder, plan):
    """(rows, note): speed and A/A pairs of the row operators, on a GPU."""
    if "benchmarks" in plan["asked"]["skip"]:
        return [], "benchmarks were left out, as asked"
    if program is None or not gpus():
        return [], "no benchmark row: timings are made on a GPU, and there is none here"
    programs = [path for path in pathlib.Path(program).parent.glob("*_bench") if path.name in ROW_BENCHMARKS]
    if not programs:
        return [], f"no benchmark row: there is no benchmark beside {program}"
    try:
        return benchmarks.of_night(programs, folder)
    except timing.CannotTime as error:
        return [], f"no benchmark row: {error}"


def finish(options, program, folder, plan):
    """Merges a night; 0 green, 1 red, 3 where shards are missing."""
    scores, survivors, note = mutants(program, folder, plan)
    rows, said_of_rows = benchmark_rows(program, folder, plan)
    notes = [n for n in (note, said_of_rows) if n]
    python = os.environ.get("WARPCHECK_CHANGE_POINTS", str(ROOT / "build" / "change_points" / "bin" / "python"))

    def look(history):
        if "changes" in plan["asked"]["skip"]:
            notes.append("change points were left out, as asked")
            return []
        try:
            return changes.change_points(history, python)
        except (OSError, subprocess.CalledProcessError) as error:
            notes.append(f"change points could not be looked for: {error}")
            return []

    history = History(options.out / "nightly.db")
    run = merge(history, options.out, folder, plan, scores, survivors, rows, look)
    text = summary(history, run, notes)
    publish_summary(options.out, text)
    (folder / "merged").touch()
    say(text.split("\n## Properties")[0])
    say(f"summary: {options.out / 'summary.md'}; history: {options.out / 'nightly.db'}")
    if run["shards_done"] < run["shards"]:
        return 3
    return 1 if run["status"] == "red" else 0


@contextlib.contextmanager
def only_writer(out):
    out.mkdir(parents=True, exist_ok=True)
    with open(out / "lock", "w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Busy(f"out: another ci/nightly is at work in '{out}'; wait for it, or choose another folder")
        yield


def anything_kept(folder):
    """Whether an attempt finished a round, or a case of its first: that is in a journal."""
    states = [s for path in folder.glob("shards/*/attempt-*/fuzz") for s in states_of(path).values()]
    journals = folder.glob("shards/*/attempt-*/fuzz/shard-*/round-*/*.journal")
    begun_and_ended = lambda path: path.read_bytes().count(b"\n") > 2  # after the line that says whose journal it is
    return any(state["rounds"] for state in states) or any(map(begun_and_ended, journals))


def whole_night(options):
    if not options.time and not options.cases:
        raise Usage("time: how long the night is must be given, such as --time 8h (or --cases N)")
    with only_writer(options.out):
        if (options.out / "nightly.db").exists():
            History(options.out / "nightly.db")  # one of another schema is refused before the night, not after it
        going_on, age = None, datetime.timedelta(seconds=options.every)
        for folder, plan in unmerged(options.out):
            same = plan["asked"] == what_was_asked(options) and options.seed in (None, plan["seed"])
            if same and now() - moment(plan["begun"]) < age:
                going_on = folder, plan
                continue
            say(f"the night {plan['id']} did not end; it is closed with what is finished")
            plan["asked"]["skip"] = sorted({*plan["asked"]["skip"], "mutants", "benchmarks"})
            finish(options, None, folder, plan)
        folder, plan = going_on or make_plan(options)
        program = warpcheck_of(options, {shard["device"] for shard in plan["shards"]})
        say(
            f"{'going on with' if going_on else 'beginning'} the night {plan['id']}: seed {plan['seed']}, "
            f"{len(plan['shards'])} shards on {', '.join(sorted({s['device'] for s in plan['shards']}))}"
        )
        try:
            run_all(program, folder, plan)
        except CannotRun:
            if not anything_kept(folder):
                shutil.rmtree(folder)  # nothing was judged: no night
            raise
        return finish(options, program, folder, plan)


def plan_only(options):
    if not options.time and not options.cases:
        raise Usage("time: how long the night is must be given, such as --time 8h (or --cases N)")
    with only_writer(options.out):
        folder, plan = make_plan(options)
    say(f"{folder}: {len(plan['shards'])} shards, seed {plan['seed']}")
    return 0


def one_shard(options):
    folder, plan = newest_plan(options)
    if options.shard >= len(plan["shards"]):
        raise Usage(f"shard: {options.shard} is not one of the {len(plan['shards'])} of the night {plan['id']}")
    shard = plan["shards"][options.shard]
    done = run_one(warpcheck_of(options, {shard["device"]}), folder, plan, shard)
    if not done:
        say(f"shard {shard['id']}: it was done before")
    return 0


def merge_only(options):
    with only_writer(options.out):
        folder, plan = newest_plan(options)
        program = None if "mutants" in plan["asked"]["skip"] else warpcheck_of(options, {"emulated"})
        return finish(options, program, folder, plan)


@contextlib.contextmanager
def history_of(options):
    """(the history, whether it may be written): a night that is at work does not hinder who wants to read."""
    path = options.out / "nightly.db"
    if not path.exists():
        raise Usage(f"out: '{options.out}' holds no nightly.db")
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(only_writer(options.out))
            writable = True
        except Busy:
            writable = False
        yield History(path, read_only=not writable), writable


def status(options):
    """The last nights; 1 where the newest is red or the next is overdue."""
    with history_of(options) as (history, writable):
        last = history.all("SELECT * FROM run WHERE kind = 'night' ORDER BY begun DESC LIMIT 1")
        if last and writable:
            with history.transaction():
                history.add_missed(last[0]["begun"], text_of(now()), datetime.timedelta(seconds=options.every))
        if not writable:
            say("a night is at work here; it has no row yet")
        rows = history.all("SELECT * FROM run ORDER BY begun DESC LIMIT 14")
    for r in rows:
        say(f"{r['id']:<24} {r['status']:<6} {r['cases'] if r['cases'] is not None else '-':>12}  {r['reason']}")
    return 0 if rows and rows[0]["status"] == "green" else 1


def export(options):
    with history_of(options) as (history, _):
        history.export(options.folder)
        say(f"{options.folder}: one CSV file for each table of {history.path}")
    return 0


def merge_corpora(options):
    """Fuzzes each parser and merges what covers more into its corpus."""
    if not options.time:
        raise Usage("time: how long to fuzz must be given, such as --time 30m")
    targets = options.targets or corpora.TARGETS
    programs = options.programs
    if programs is None:
        built = shell(f"install_packages test; build emulated {' '.join(f'warpcheck_fuzz_{t}' for t in targets)}")
        if built.returncode:
            end = built.stderr.strip()[-300:]
            raise CannotRun(3, f"corpora: building the fuzzers of tests/parsers failed: {end}")
        programs = ROOT / "build/emulated/tests/parsers"
    seed = options.seed if options.seed is not None else random.SystemRandom().getrandbits(31)
    say(f"corpora: {', '.join(targets)}, seed {seed}")
    failed = False
    with only_writer(options.out):
        for target in targets:
            program, corpus = programs / f"{target}_fuzz", options.corpus / target
            if not os.access(program, os.X_OK) or not corpus.is_dir():
                raise CannotRun(3, f"corpora: '{program}' or its corpus '{corpus}' is not there")
            folder, each = options.out / "corpora" / target, max(1, options.time // len(targets))
            failed |= corpora.of_target(program, corpus, folder, each, seed, options.write, stopped.is_set, say)
    return 1 if failed else 0


def score_suites(options):
    """Runs a part of each suite of labelled races."""
    program = warpcheck_of(options, {"emulated"})
    seed = options.seed if options.seed is not None else random.SystemRandom().getrandbits(31)
    words = ["--sample", options.sample, "--seed", str(seed), "--shard", options.shard, *["--resume"] * options.resume]
    say(f"scores: {' '.join(words)}")
    with only_writer(options.out):
        paths = [options.out / "scores" / suite for suite in options.suites or sorted(scores.SUITES)]
        known = [scores.scored(scores.fetched(path, say), program, words, stopped.is_set) for path in paths]
    return 0 if all(known) else 1


# --- command line -----------------------------------------------------------------------------------------------------

COMMANDS = {
    "plan": plan_only,
    "shard": one_shard,
    "merge": merge_only,
    "status": status,
    "export": export,
    "corpora": merge_corpora,
    "scores": score_suites,
}
DESCRIPTIONS = {
    "plan": "Makes the plan of a night; shards and merge are run by others (Slurm, a matrix of jobs).",
    "shard": "Runs one shard of the newest planned night.",
    "merge": "Merges the newest planned night into the history.",
    "status": "Prints the last nights; adds a red row for each that did not run.",
    "export": "Writes each table of the history as a CSV file.",
    "corpora": "Fuzzes the parsers of case lines, formulas, .npy arrays and golden files, and adds inputs that cover\n"
    "more to their corpora; for every week. A failing input is stored and named, with exit code 1.",
    "scores": scores.__doc__,
    None: "Fuzzes for a night on all GPUs and cores with a new seed, and keeps findings and history.\n"
    "The same command resumes an interrupted or killed night. Other commands:\n"
    "  ci/nightly plan | shard I | merge | status | export FOLDER | corpora | scores   (each with --help)",
}
EXIT_CODES = """Exit codes: 0 green, 1 red (the summary has the reason, docs/nightly.md lists all), 2 usage, 3
something is missing, cannot be written, or shards did not finish, 130 interrupted; the same command resumes."""


def add_corpora_options(p):
    p.add_argument("targets", nargs="*", metavar="parser", help=f"one of {', '.join(corpora.TARGETS)} (default: all)")
    p.add_argument("--time", type=seconds, help="how long, all parsers together")
    p.add_argument("--seed", type=int, help="default: a new one")
    p.add_argument("--write", action="store_true", help="add new inputs to the corpus (default: they stay in --out)")
    p.add_argument(
        "--corpus", type=pathlib.Path, default=ROOT / "tests/parsers/corpus",
        help="(default: tests/parsers/corpus)"
    )
    p.add_argument("--programs", type=pathlib.Path, help="the folder of the fuzzers (default: they are built)")


def add_scores_options(p):
    p.add_argument("suites", nargs="*", metavar="suite", help=f"default: all of {', '.join(sorted(scores.SUITES))}")
    p.add_argument("--sample", default="10%", help="of each suite: a number of codes, or a part (default: 10%%)")
    p.add_argument("--shard", default="0/1", help="I/N: of the sample each N-th code from number I on")
    p.add_argument("--seed", type=int, help="of the sample (default: a new one)")
    p.add_argument("--resume", action="store_true", help="keep the results of an interrupted run, and run the rest")


def parser_of(command):
    p = argparse.ArgumentParser(
        prog="ci/nightly" + (f" {command}" if command else ""),
        allow_abbrev=False,
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description=DESCRIPTIONS[command],
    )
    p.add_argument(
        "--out",
        type=pathlib.Path,
        default=ROOT / "build" / "nightly",
        help="folder of the history, the findings and the nights (default: build/nightly)",
    )
    if command == "shard":
        p.add_argument("shard", type=lambda t: int(t) if t.isdigit() else at_least_one(t), help="its number, from 0")
    if command == "export":
        p.add_argument("folder", type=pathlib.Path)
    if command == "corpora":
        add_corpora_options(p)
    if command == "scores":
        add_scores_options(p)
    if command in (None, "plan", "status"):
        p.add_argument("--every", type=seconds, default=86400, help="time between nights (default: 1d)")
    if command in (None, "plan"):
        p.add_argument("--time", type=seconds, help="how long: 90s, 10m, 8h")
        p.add_argument("--cases", type=at_least_one, help="at most this many cases per (property, dtype)")
        p.add_argument(
            "--shards", type=at_least_one, help="number per device (default: one for each GPU; one for all cores)"
        )
        p.add_argument(
            "--device",
            default="auto",
            choices=["auto", "emulated", "cuda", "cpu"],
            help="auto: emulated, and cuda if there is a GPU",
        )
        p.add_argument("--seed", type=int, help="default: a new one")
        p.add_argument("--skip", action="append", default=[], choices=PARTS, help="may be repeated")
        p.add_argument(
            "fuzz", nargs="*", metavar="operator", help="default: all; after '--' any option of 'warpcheck fuzz'"
        )
    if command == "plan":
        p.add_argument(
            "--elsewhere", action="store_true", help="other machines run the shards, each on what it finds there"
        )
    if command in (None, "shard", "merge", "scores"):
        p.add_argument("--warpcheck", help="the program (default: it is built)")
    return p


def parse(arguments):
    """(command or None, options)."""
    command = arguments[0] if arguments and arguments[0] in COMMANDS else None
    further = []
    if "--" in arguments:
        at = arguments.index("--")
        arguments, further = arguments[:at], arguments[at + 1 :]
    options = parser_of(command).parse_args(arguments[1:] if command else arguments)
    if command in (None, "plan"):
        options.fuzz = [*options.fuzz, *further]
    elif further:
        parser_of(command).error("options of 'warpcheck fuzz' belong to the plan")
    if unknown := set(getattr(options, "targets", ())) - set(corpora.TARGETS):
        parser_of(command).error(f"parser: '{min(unknown)}' is not one of {', '.join(corpora.TARGETS)}")
    if unknown := set(getattr(options, "suites", ())) - set(scores.SUITES):
        parser_of(command).error(f"suite: '{min(unknown)}' is not one of {', '.join(sorted(scores.SUITES))}")
    options.elsewhere = getattr(options, "elsewhere", False)
    return command, options


def main(arguments):
    command, options = parse(arguments)
    options.out = options.out.absolute()
    for name in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1):
        signal.signal(name, lambda *_: stopped.set())
    try:
        return COMMANDS.get(command, whole_night)(options)
    except (Usage, WrongSchema) as e:
        error, code = e, 2
    except CannotRun as e:
        error, code = e, e.code if e.code in (2, 3) else 3
    except Interrupted as e:
        error, code = e, 130
    except Superseded as e:
        error, code = e, 0  # the newest attempt has the result
    except OSError as e:  # a full disk, a folder that cannot be written
        error, code = f"{e.filename or options.out}: {e.strerror or e}; what was finished before is kept", 3
    except sqlite3.Error as e:
        error, code = f"{options.out / 'nightly.db'}: {e}; the history is as it was before", 3
    print(f"nightly: {error}", file=sys.stderr)
    return code
