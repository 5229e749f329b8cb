"""`check` and `bound`: given arrays, judged by one process of the command that stays for all calls."""

from __future__ import annotations

import atexit
import dataclasses
import json
import os
import subprocess
import threading
from typing import Any, Mapping, NamedTuple, Optional, Sequence, Union

import numpy

from . import command
from .memory_file import MemoryFile
from .trials import Element, number

Arrays = Union[Any, Mapping[str, Any]]
NAMES = {
    "f4": "f32",
    "f2": "f16",
    "f8": "f64",
    "i8": "i64",
    "i4": "i32",
    "i1": "i8",
    "u1": "u8",
    "u2": "u16",
    "u4": "u32",
}
# Types that NumPy lacks: by their names in PyTorch and ml_dtypes.
FOREIGN = {"bfloat16": ("bf16", "u2"), "float8_e4m3fn": ("e4m3", "u1"), "float8_e5m2": ("e5m2", "u1")}


@dataclasses.dataclass(frozen=True)
class Judgement:
    """What `check` found of one call."""

    passed: bool
    verdict: str
    message: str
    worst_error_ratio: float  # the largest error as a part of what the contract allows
    compared: int  # elements
    worst: Optional[Element]


class Bound(NamedTuple):
    """Of every element the exact value, to the nearest double, and the largest error that the contract allows; NaN
    where the operator's property judges none."""

    exact: numpy.ndarray[Any, Any]
    bound: numpy.ndarray[Any, Any]


def _host_array(value: Any) -> tuple[numpy.ndarray[Any, Any], str]:
    """The array on the host, row after row, and its element type. A tensor of a GPU is copied once."""
    if hasattr(value, "detach"):  # PyTorch
        value = value.detach().cpu().contiguous()
        known = FOREIGN.get(str(value.dtype).removeprefix("torch."))
        if known:
            whole = "int16" if known[1] == "u2" else "uint8"
            return value.view(dtype=getattr(__import__("torch"), whole)).numpy().view(known[1]), known[0]
        value = value.numpy()
    elif hasattr(value, "__dlpack__") and not isinstance(value, numpy.ndarray):
        value = numpy.from_dlpack(value)
    array = numpy.ascontiguousarray(value)
    if array.dtype.name in FOREIGN:  # of ml_dtypes
        name, whole = FOREIGN[array.dtype.name]
        return array.view(whole), name
    name = NAMES.get(array.dtype.str[1:]) if array.dtype.byteorder in "<=|" else None
    if name is None:
        allowed = ", ".join([*NAMES.values(), *(name for name, _ in FOREIGN.values())])
        raise command.UsageError(f"array: its type {array.dtype} is not one of {allowed}")
    return array, name


class _Memory(MemoryFile):
    """The memory of one tensor, used again for the next call."""

    def write_array(self, array: numpy.ndarray[Any, Any]) -> None:
        self.resize(array.nbytes)
        if array.size:
            self.write(0, array.reshape(-1).view("u1"))

    def read_array(self, count: int) -> numpy.ndarray[Any, Any]:
        values = numpy.empty(count, "f8")
        if not self.read(0, values.view("u1")):
            raise command.WarpcheckError("the command wrote fewer values than the output has")
        return values


def _is_array(value: Any) -> bool:
    """True for what has a shape, which a scalar has not."""
    return bool(getattr(value, "shape", ()))


class _Judge:
    """The process `warpcheck judge`, started with the first call."""

    def __init__(self) -> None:
        self.formulas: dict[str, bytes] = {}
        self.lock = threading.Lock()
        self.process: Optional[subprocess.Popen[str]] = None
        self.owner = 0
        self.memories: list[_Memory] = []

    def memory(self, index: int) -> _Memory:
        while len(self.memories) <= index:
            self.memories.append(_Memory("warpcheck"))
        return self.memories[index]

    def operator(self, name: str) -> str:
        """The operator as the judge finds it: a formula's file by its whole path. A formula that was edited since it
        was last read needs another process."""
        file, suffix, rest = name.rpartition(".op:")
        file, rest = (file + ".op", ":" + rest) if suffix else (name, "")
        prefix, path = "", file
        while path.startswith("gradient:"):
            prefix, path = prefix + "gradient:", path[len("gradient:") :]
        if not path.endswith(".op") or not os.path.isfile(path):
            return name
        path = os.path.abspath(path)
        with open(path, "rb") as text:
            now = text.read()
        if self.formulas.get(path, now) != now:
            self.close()
            self.process = None
            self.formulas.clear()
        self.formulas[path] = now
        return prefix + path + rest

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        if os.environ.get(command.LOADING):
            raise command.KernelLoaded
        if self.process is None or self.process.poll() is not None:
            try:
                self.process = subprocess.Popen(
                    [command.path(), "judge"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
                )
            except OSError as error:
                raise command.Missing(f"the command '{command.path()}' cannot be started: {error.strerror}") from error
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise command.WarpcheckError(f"the judge ended with status {self.process.wait()}")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise command.UsageError(answer["error"])
        return answer

    def close(self) -> None:
        if self.process is not None and self.owner == os.getpid():
            assert self.process.stdin
            self.process.stdin.close()
            self.process.wait()


_judge = _Judge()
atexit.register(lambda: _judge.close())


def _current() -> _Judge:
    """The judge of this process: a forked child starts its own."""
    global _judge
    if _judge.owner != os.getpid():
        _judge = _Judge()
        _judge.owner = os.getpid()
    return _judge


def _listed(judge: _Judge, arrays: Sequence[tuple[str, Any]], first: int) -> list[dict[str, Any]]:
    listed = []
    for index, (name, value) in enumerate(arrays):
        array, dtype = _host_array(value)
        memory = judge.memory(first + index)
        memory.write_array(array)
        entry = {"dtype": dtype, "shape": list(array.shape), "file": memory.path}
        listed.append({**entry, "name": name} if name else entry)
    return listed


def _named(arrays: Sequence[Any]) -> list[tuple[str, Any]]:
    """Arrays by their place, and those of a mapping by name."""
    found: list[tuple[str, Any]] = []
    for value in arrays:
        found += list(value.items()) if isinstance(value, Mapping) else [("", value)]
    return found


def _sorted_keywords(keywords: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """Keywords that are arrays, and the scalars as text."""
    arrays = {name: value for name, value in keywords.items() if _is_array(value)}
    return arrays, {name: str(value) for name, value in keywords.items() if name not in arrays}


def check(operator: str, got: Arrays, *inputs: Arrays, **keywords: Any) -> Judgement:
    """Judges the output `got` of a call of an operator on `inputs`, in the order of `warpcheck list OPERATOR`.

    The operator is one of the suite or a formula: FILE.op, FILE.op:NAME, NAME.op of the library, or `gradient:` before
    one of these. Keywords give scalars, and inputs by name, as a mapping does; `got` is a mapping if there are several
    outputs. Arrays are those of NumPy, PyTorch, or whatever speaks DLPack. UsageError: the operator has no such call.
    """
    judge = _current()
    with judge.lock:
        arrays, scalars = _sorted_keywords(keywords)
        listed = _listed(judge, _named([*inputs, arrays]), 0)
        outputs = _listed(judge, _named([got]), len(listed))
        name = judge.operator(operator)
        answer = judge.ask({"operator": name, "inputs": listed, "outputs": outputs, "scalars": scalars})
    report = answer["report"]
    worst = report.get("worst")
    wrong = worst and not number(worst["error"]) <= number(worst["bound"])
    return Judgement(
        report["verdict"] == "pass" and report["compared"] > 0,
        report["verdict"],
        report.get("message", ""),
        number(report["max_error_ratio"]),
        report["compared"],
        Element.of(worst) if wrong else None,
    )


def bound(operator: str, *inputs: Arrays, **keywords: Any) -> Bound:
    """Returns the exact value and the bound of every element of an operator's first output on these inputs.

    Operator, inputs and scalars are given as to `check`.
    """
    judge = _current()
    with judge.lock:
        arrays, scalars = _sorted_keywords(keywords)
        listed = _listed(judge, _named([*inputs, arrays]), 0)
        file = judge.memory(len(listed))
        file.resize(0)
        name = judge.operator(operator)
        request = {"operator": name, "inputs": listed, "scalars": scalars, "exact": [file.path]}
        answer = judge.ask(request)
        if answer["report"]["verdict"] == "skipped":
            raise command.UsageError(f"{operator}: {answer['report']['message']}")
        shape = answer["outputs"][0]["shape"]
        count = int(numpy.prod(shape))
        values = file.read_array(2 * count)
    return Bound(values[:count].reshape(shape), values[count:].reshape(shape))
