"""`warpcheck mcp`: the command for agents, by the Model Context Protocol on standard input and output (docs/agents.md).

Each tool runs the command and returns the JSON that it writes. Files are those below one folder, the root.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
from typing import Any, Optional, Sequence

import anyio
import numpy
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError

from . import command, judging, kernels

BEAT = 1.0  # seconds between two reports of progress
PATIENCE = 5.0  # seconds that a cancelled command has to end its workers
MOST_VALUES = 4096  # of `bound` in an answer

server = MCPServer("warpcheck", version=command.version())
root = pathlib.Path()


def inside(text: str) -> str:
    """The absolute path of a file below the root. ToolError: it lies elsewhere."""
    path = (root / text).resolve()
    if not path.is_relative_to(root):
        raise ToolError(f"path: '{text}' lies outside of the root {root}")
    return str(path)


def name(text: str, what: str) -> str:
    """A name, which can be no option of the command."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.:-]*", text):
        raise ToolError(f"{what}: '{text}' is not a name of letters, digits, '_', '-', '.' and ':'")
    return text


def operator_of(text: str) -> str:
    return inside(text) if text.endswith(".op") else name(text, "operator")


def case_of(line: str) -> str:
    """A case line whose candidate and arrays are built in, or lie below the root."""
    if not line.startswith("v1 "):
        raise ToolError("line: a case line begins with 'v1 '; failures of verify have it as 'case'")
    for file in re.findall(r"npy\(([^,)]*)", line):
        inside(file)
    for candidate in re.findall(r"candidate=(\S*)", line):
        kind, _, rest = candidate.partition(":")
        if kind not in ("python", "source"):
            if candidate != "builtin":
                inside(candidate)
            continue
        file, _, rest = rest.partition(":")
        inside(file)
        interpreter = rest.split(":")[1:2]
        if kind == "python" and interpreter not in ([], [sys.executable]):
            raise ToolError(f"line: its interpreter {interpreter[0]} is not that of this server, {sys.executable}")
    return line


async def finished(process: anyio.abc.Process) -> None:
    """Interrupts a command whose call was cancelled, with its workers, and waits for its end."""
    with anyio.CancelScope(shield=True):
        os.killpg(process.pid, signal.SIGINT)
        with anyio.move_on_after(PATIENCE):
            await process.wait()
            return
        os.killpg(process.pid, signal.SIGKILL)
        await process.wait()


async def run(context: Context, arguments: Sequence[str], written: str = "--json") -> dict[str, Any]:
    """Runs the command and returns the JSON that it wrote. Its last line on the terminal is the progress."""
    with tempfile.TemporaryDirectory(prefix="warpcheck-") as folder:
        file = pathlib.Path(folder) / "result.json"
        said, errors = (open(pathlib.Path(folder) / stem, "w+", errors="replace") for stem in ("out", "err"))
        with said, errors:
            try:
                process = await anyio.open_process(
                    [command.path(), *arguments[:1], f"{written}={file}", *arguments[1:]],
                    stdin=subprocess.DEVNULL,
                    stdout=said,
                    stderr=errors,
                    cwd=root,
                    env=command.environment(),
                    start_new_session=True,
                )
            except OSError as error:
                raise ToolError(f"the command '{command.path()}' cannot be started: {error.strerror}") from error
            began = anyio.current_time()
            try:
                while process.returncode is None:
                    with anyio.move_on_after(BEAT):
                        await process.wait()
                        break
                    await context.report_progress(anyio.current_time() - began, message=last_line(said, errors))
            except BaseException:
                await finished(process)
                raise
            texts = [pathlib.Path(stream.name).read_text(errors="replace") for stream in (said, errors)]
        try:
            command.judge_exit(process.returncode, *texts)
        except command.WarpcheckError as error:
            raise ToolError(str(error)) from error
        if not file.exists():  # `bench` measures no kernel that fails its verification
            raise ToolError("".join(texts))
        found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        return found


def last_line(*streams: Any) -> str:
    texts = [pathlib.Path(stream.name).read_text(errors="replace").strip() for stream in streams]
    return next((text.splitlines()[-1] for text in texts if text), "running")


def kernel_options(kernel: Optional[str], entry: Optional[str]) -> list[str]:
    if kernel is None:
        return []
    file, colon, function = kernel.partition(".py:")
    if colon:
        kernel = inside(file + ".py") + ":" + name(function, "kernel")
    else:
        kernel = inside(kernel)
    try:
        return kernels.options(kernel, name(entry, "entry") if entry else None)
    except command.UsageError as error:
        raise ToolError(str(error)) from error


@server.tool(name="list")
async def list_operators(context: Context, operator: Optional[str] = None) -> dict[str, Any]:
    """Operators with their properties and element types; of all, or of one."""
    return await run(context, ["list", *([operator_of(operator)] if operator else [])])


@server.tool()
async def verify(
    context: Context,
    operator: str,
    kernel: Optional[str] = None,
    entry: Optional[str] = None,
    cases: int = 20,
    device: str = "auto",
    seed: int = 1,
    properties: Sequence[str] = (),
    dtypes: Sequence[str] = (),
) -> dict[str, Any]:
    """Judges a kernel of an operator on generated cases: FILE.py:FUNCTION, a .cu file with its function as `entry`, a
    shared library, or nothing for the built-in kernels. `failures` has shrunk cases, `exit_code` 0 is a pass.
    """
    options = [f"--cases={cases}", f"--seed={seed}", f"--device={name(device, 'device')}"]
    options += [f"--property={name(text, 'property')}" for text in properties]
    options += [f"--dtype={name(text, 'dtype')}" for text in dtypes]
    return await run(context, ["verify", operator_of(operator), *kernel_options(kernel, entry), *options])


@server.tool()
async def replay(context: Context, line: str) -> dict[str, Any]:
    """Runs one case again, by the line that a failure has as `case`."""
    return await run(context, ["replay", case_of(line)])


@server.tool()
async def explain(context: Context, line: str) -> dict[str, Any]:
    """One case in words: what the contract demands, what the kernel gave, which step first departs."""
    return await run(context, ["explain", case_of(line)])


@server.tool()
async def run_emulated(
    context: Context,
    path: str,
    arguments: Sequence[str] = (),
    defines: Sequence[str] = (),
    includes: Sequence[str] = (),
    timeout: float = 60,
) -> dict[str, Any]:
    """Runs a CUDA program (one .cu file with main) on the emulated device and reports its races, accesses out of bounds
    and reads of uninitialised memory. `exit_code` 0 is a pass.
    """
    options = [f"--timeout={timeout}", *(f"--define={text}" for text in defines)]
    options += [f"--include={inside(text)}" for text in includes]
    return await run(context, ["run-emulated", *options, inside(path), *(["--", *arguments] if arguments else [])])


@server.tool()
async def bench(
    context: Context,
    operator: str,
    kernel: Optional[str] = None,
    entry: Optional[str] = None,
    device: str = "cuda",
    rows: Sequence[str] = (),
) -> dict[str, Any]:
    """Times a kernel beside the limits of the device, after it was verified: one like those of verify, or nothing for
    the built-in kernels. `rows` are sizes, such as rows=4096,cols=64,type=f16, in place of the operator's own.
    """
    options = [f"--device={name(device, 'device')}", *(f"--row={text}" for text in rows)]
    words = ["bench", operator_of(operator), *kernel_options(kernel, entry), *options, "--benchmark_out_format=json"]
    return await run(context, words, "--benchmark_out")


@server.tool()
async def bound(operator: str, inputs: Sequence[str], out: Optional[str] = None) -> dict[str, Any]:
    """Of each element of an operator's first output the exact value and the largest error that the contract allows.
    `inputs` are .npy files; `out` is an .npz file for arrays of more than 4096 elements.
    """
    files, target = [inside(text) for text in inputs], inside(out) if out else None

    def compute() -> judging.Bound:
        return judging.bound(operator_of(operator), *(numpy.load(file) for file in files))

    try:
        found = await anyio.to_thread.run_sync(compute)
    except (command.WarpcheckError, OSError, ValueError) as error:
        raise ToolError(str(error)) from error
    if target:
        numpy.savez(target, exact=found.exact, bound=found.bound)
        return {"shape": list(found.exact.shape), "out": target}
    if found.exact.size > MOST_VALUES:
        raise ToolError(f"out: the output has {found.exact.size} elements, an answer has at most {MOST_VALUES}")
    return {"shape": list(found.exact.shape), "exact": texts_of(found.exact), "bound": texts_of(found.bound)}


def texts_of(array: Any) -> list[Any]:
    """Elements row after row; a number that JSON does not have is text, as in every file of the command."""
    words = {"nan": "nan", "inf": "+inf", "-inf": "-inf"}
    return [words.get(repr(value), value) for value in array.reshape(-1).tolist()]


def main(arguments: Sequence[str]) -> None:
    global root
    parser = argparse.ArgumentParser(prog="warpcheck mcp", description="Serve the Model Context Protocol on stdio.")
    parser.add_argument("--root", default=".", help="the folder whose files may be read, run and written (default: .)")
    root = pathlib.Path(parser.parse_args(arguments).root).resolve()
    if not root.is_dir():
        parser.error(f"--root: folder '{root}' not found")
    server.run("stdio")
