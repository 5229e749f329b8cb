"""Shards of a night. A shard is a folder with a lock and numbered attempts; exactly one attempt of it is ever counted.

    shards/3/lock          held while an attempt is taken or published, never while it runs
    shards/3/attempt-1/    fuzz/ is what `warpcheck fuzz --out` keeps, fuzz.json its result
    shards/3/result.json   published by the newest attempt, once; the merge reads nothing else

A process that takes a shard adds an attempt, goes on from a copy of what the attempt before had kept, and is the newest
from then on. One that is not the newest any more (its node was given up and was alive after all) stops, and cannot
publish.
"""

import contextlib
import fcntl
import json
import os
import pathlib
import shutil
import signal
import subprocess
import time

from gating.children import die_with_parent

POLL_SECONDS = 0.1


class Superseded(Exception):
    """A newer attempt of this shard exists."""


class Interrupted(Exception):
    """The night was asked to stop; what is finished is kept."""


class CannotRun(Exception):
    """warpcheck ended without a verdict: usage, or something is missing."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


def write_whole(path, text):
    """A reader sees the old file or the new one, whenever the writer dies."""
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    partial.write_text(text)
    os.replace(partial, path)


class Shard:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)

    @contextlib.contextmanager
    def lock(self):
        self.folder.mkdir(parents=True, exist_ok=True)
        with open(self.folder / "lock", "w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    @property
    def result_path(self):
        return self.folder / "result.json"

    def result(self):
        """What the one attempt that counts has published, or None."""
        try:
            return json.loads(self.result_path.read_text())
        except FileNotFoundError:
            return None
        except ValueError as error:
            sentence = f"'{self.result_path}' is not a result of a shard ({error}); without the file the shard goes on"
            raise CannotRun(2, sentence) from error

    def attempts(self):
        names = self.folder.glob("attempt-*") if self.folder.exists() else []
        return sorted(int(path.name.split("-")[1]) for path in names)

    def attempt_folder(self, number):
        return self.folder / f"attempt-{number}"

    def take(self):
        """The number of a new attempt, which is now the newest; None where the shard is done."""
        with self.lock():
            if self.result_path.exists():
                return None
            number = max(self.attempts(), default=0) + 1
            self.attempt_folder(number).mkdir()
            return number

    def is_newest(self, number):
        return number == max(self.attempts(), default=0)

    def publish(self, number, result):
        with self.lock():
            if not self.is_newest(number) or self.result_path.exists():
                raise Superseded(f"attempt {number} of {self.folder} came too late")
            write_whole(self.result_path, json.dumps(result | {"attempt": number}, indent=1) + "\n")

    def inherit(self, number):
        """Copies what earlier attempts have kept; a writer that lives on there does no harm."""
        target = self.attempt_folder(number) / "fuzz"
        for earlier in reversed([n for n in self.attempts() if n < number]):
            source = self.attempt_folder(earlier) / "fuzz"
            if not source.exists():
                continue  # it died before it had copied
            partial = target.with_name("fuzz.partial")
            while True:
                shutil.rmtree(partial, ignore_errors=True)
                before = rounds_of(source)
                try:
                    shutil.copytree(source, partial, ignore=shutil.ignore_patterns("*.partial"))
                except (shutil.Error, OSError):
                    time.sleep(POLL_SECONDS)  # a round ended meanwhile and its journal is gone
                    continue
                # State and journals are of one moment if no round ended between.
                if before == rounds_of(source) == rounds_of(partial):
                    break
            os.replace(partial, target)
            return


def states_of(fuzz_folder):
    states = {}
    for path in pathlib.Path(fuzz_folder).glob("shard-*/state.json"):
        with contextlib.suppress(FileNotFoundError, json.JSONDecodeError):
            states[path.parent.name] = json.loads(path.read_text())
    return states


def rounds_of(fuzz_folder):
    return {name: state["rounds"] for name, state in states_of(fuzz_folder).items()}


def run_shard(shard, command, seconds, stop, environment=None, say=print):
    """Runs `command` (warpcheck fuzz with all but --out, --time and --json) as a new attempt and publishes its result.

    `seconds`: of all attempts together, None: without limit. `stop()`: whether the night was asked to stop. Returns
    False where the shard was done already. Raises Superseded, Interrupted or CannotRun.
    """
    number = shard.take()
    if number is None:
        return False
    folder = shard.attempt_folder(number)
    shard.inherit(number)
    if seconds is not None:
        done = sum(state["seconds"] for state in states_of(folder / "fuzz").values())
        command = [*command, "--time", f"{max(1, round(seconds - done))}s"]
    result = folder / "fuzz.json"
    with open(folder / "log", "w") as log:
        process = subprocess.Popen(
            [*command, "--out", str(folder / "fuzz"), "--json", str(result)],
            stdout=log,
            stderr=subprocess.STDOUT,
            env=environment,
            preexec_fn=die_with_parent,
        )
        try:
            while process.poll() is None:
                if stop():
                    process.send_signal(signal.SIGINT)
                    process.wait()
                    raise Interrupted(f"{shard.folder.name}: interrupted; the same command resumes")
                if not shard.is_newest(number):
                    raise Superseded(
                        f"shard {shard.folder.name}: attempt {number} was overtaken by "
                        f"attempt {max(shard.attempts())} and stops"
                    )
                time.sleep(POLL_SECONDS)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
    if process.returncode == 130:
        raise Interrupted(f"{shard.folder.name}: interrupted; the same command resumes")
    if process.returncode not in (0, 1):
        raise CannotRun(process.returncode, f"shard {shard.folder.name}: {last_line(folder / 'log')}")
    shard.publish(
        number,
        {
            "exit_code": process.returncode,
            "fuzz": json.loads(result.read_text()),
            "findings": str((folder / "fuzz" / "findings").relative_to(shard.folder)),
        },
    )
    say(f"shard {shard.folder.name}: done, attempt {number}")
    return True


def last_line(path):
    lines = [line for line in path.read_text(errors="replace").splitlines() if line.strip()]
    return lines[-1] if lines else "it ended without a word"
