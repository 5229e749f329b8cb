"""What can be a kernel, and the options by which the command takes it."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import pathlib
import sys
from typing import Any, Callable, Optional, Union

from .command import LOADING, UsageError

Kernel = Union[str, "os.PathLike[str]", Callable[..., Any], None]


def options(kernel: Kernel, entry: Optional[str] = None) -> list[str]:
    """Options of `verify` and `fuzz` for a kernel:

    - None: the built-in kernels;
    - a function, which gets the operator's tensors and writes its results into the outputs;
    - "FILE.py:FUNCTION", the same;
    - a .cu file, of which `entry` is the function;
    - a shared library (docs/bring_your_own).
    """
    if kernel is None:
        return []
    if callable(kernel):
        return ["--python", _place(kernel), "--interpreter", sys.executable]
    text = os.fspath(kernel)
    if ".py:" in text:
        return ["--python", text, "--interpreter", sys.executable]
    if pathlib.Path(text).suffix in (".cu", ".cpp", ".cc"):
        return ["--source", text, *(["--entry", entry] if entry else [])]
    if pathlib.Path(text).suffix == ".so":
        return ["--candidate", text if os.sep in text else os.path.join(".", text)]
    raise UsageError(f"kernel: {text!r} is not a function, FILE.py:FUNCTION, .cu file or shared library (.so)")


def _place(function: Callable[..., Any]) -> str:
    """FILE.py:FUNCTION of a function. Case lines name it, so the file stays."""
    module = sys.modules.get(getattr(function, "__module__", ""))
    name = getattr(function, "__qualname__", "")
    file = getattr(module, "__file__", None)
    if file and name.isidentifier() and getattr(module, name, None) is function:
        file = os.path.abspath(file)
        is_script = module.__name__ == "__main__"
        if not is_script and not module.__package__ and not set(file) & set(" \t,()|\"'\\:"):
            return f"{file}:{name}"
        # A module of a package has relative imports, a script calls `verify`, and a case line cannot carry every path.
        if not is_script and module.__package__:
            body = f"kernel = getattr(importlib.import_module({module.__name__!r}), {name!r})\n"
        else:
            body = (
                f"spec = importlib.util.spec_from_file_location('warpcheck_kernel', {file!r})\n"
                "module = importlib.util.module_from_spec(spec)\nsys.modules[spec.name] = module\n"
                f"import os\nos.environ[{LOADING!r}] = '1'\n"
                "try:\n    spec.loader.exec_module(module)\nexcept BaseException as error:\n"
                "    if type(error).__name__ != 'KernelLoaded':\n        raise\n"
                f"kernel = getattr(module, {name!r})\n"
            )
        return f"{_kept('.py', _HEAD.format(path=sys.path) + body)}:kernel"
    return f"{_pickled(function)}:kernel"


_HEAD = "import importlib, importlib.util, sys\nsys.path[:] = {path!r} + [p for p in sys.path if p not in {path!r}]\n"


def _pickled(function: Callable[..., Any]) -> str:
    """The file of a function that no module holds: one of a notebook, a closure, a lambda."""
    if importlib.util.find_spec("cloudpickle") is None:
        raise UsageError(
            f"kernel: {function!r} is not a function at the top of a module; move it there, or install cloudpickle"
        )
    import cloudpickle

    pickle = _kept(".pickle", cloudpickle.dumps(function))
    return _kept(
        ".py",
        _HEAD.format(path=sys.path)
        + f"import cloudpickle\nwith open({pickle!r}, 'rb') as file:\n    kernel = cloudpickle.load(file)\n",
    )


def _kept(suffix: str, content: Union[str, bytes]) -> str:
    """A file with this content in the user's cache, named by its hash: a replay line stays good."""
    data = content.encode() if isinstance(content, str) else content
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "warpcheck" / "python"
    cache.mkdir(parents=True, exist_ok=True)
    file = cache / (hashlib.sha256(data).hexdigest()[:24] + suffix)
    if not file.exists():
        partial = file.with_suffix(f"{suffix}.{os.getpid()}")
        partial.write_bytes(data)
        partial.replace(file)
    return str(file)
