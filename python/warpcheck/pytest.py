"""The pytest plug-in: functions marked with `warpcheck` are kernels, and each is a test.

    @pytest.mark.warpcheck("rms_norm.op", cases=200)
    def my_kernel(x, y): ...

Options of the mark are those of warpcheck.verify.
"""

from __future__ import annotations

from typing import Any, Iterator, Optional

import pytest

from . import kernels, trials

MOST_CAUSES = 3  # that a failing test prints in full


class KernelError(AssertionError):
    """A kernel failed; the text has the worst element and the line that replays it."""


def _text(operator: str, result: trials.Result) -> str:
    failed = [f"{name}: {verdict}" for name, verdict in result.verdicts.items() if verdict not in ("pass", "not run")]
    lines = [f"{operator}: {len(result.failures)} failures, {len(result.causes)} causes on device {result.device}"]
    for failure in result.causes[:MOST_CAUSES]:
        lines += ["", str(failure), *([f"  {failure.neighbour}"] if failure.neighbour else [])]
    if len(result.causes) > MOST_CAUSES:
        lines += ["", f"and {len(result.causes) - MOST_CAUSES} more causes"]
    return "\n".join([*lines, *([] if result.causes else [*failed, result.output])])


def assert_kernel(operator: str, kernel: kernels.Kernel, **options: Any) -> trials.Result:
    """Returns the result of warpcheck.verify, or raises KernelError if the kernel fails."""
    result = trials.verify(operator, kernel, **options)
    if not result.passed:
        raise KernelError(_text(operator, result))
    return result


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("warpcheck", "kernels on trial")
    group.addoption("--warpcheck-seed", type=int, metavar="N", help="seed of the generated cases of marked kernels")
    group.addoption("--warpcheck-device", metavar="D", help="device of marked kernels: cpu, emulated, cuda, cuda:N")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "warpcheck(operator, **options): the function is a kernel; options of warpcheck.verify"
    )


class KernelItem(pytest.Item):
    """The test of one marked function."""

    def __init__(self, *, function: Any, mark: pytest.Mark, **more: Any) -> None:
        super().__init__(**more)
        self.function, self.mark = function, mark
        self.add_marker(pytest.mark.warpcheck(*mark.args, **mark.kwargs))

    def runtest(self) -> None:
        if len(self.mark.args) != 1:
            raise pytest.UsageError(f"{self.nodeid}: the mark warpcheck takes the operator and named options")
        options = dict(self.mark.kwargs)
        for name in ("seed", "device"):
            given = self.config.getoption(f"--warpcheck-{name}")
            if given is not None:
                options[name] = given
        # xdist runs several tests at a time.
        if hasattr(self.config, "workerinput"):
            options.setdefault("workers", 1)
        assert_kernel(self.mark.args[0], self.function, **options)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, KernelError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> Any:
        return self.path, self.function.__code__.co_firstlineno - 1, f"{self.name} ({self.mark.args[0]})"


def _mark_of(function: Any) -> Optional[pytest.Mark]:
    marks = getattr(function, "pytestmark", ())
    return next((m for m in marks if isinstance(m, pytest.Mark) and m.name == "warpcheck"), None)


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(collector: Any, name: str, obj: Any) -> Optional[Iterator[pytest.Item]]:
    """Any marked function of a module is a test, whatever its name."""
    mark = _mark_of(obj)
    if mark is None or not callable(obj) or not isinstance(collector, pytest.Module):
        return None
    if getattr(obj, "__module__", None) != collector.obj.__name__:
        return None  # imported from the module that it is a test of
    return [KernelItem.from_parent(collector, name=name, function=obj, mark=mark)]  # type: ignore[return-value]
