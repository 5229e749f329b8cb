"""Triton kernels on the emulated device: Triton compiles to PTX, and `warpcheck run-emulated` runs that without a GPU.

    import warpcheck.triton
    warpcheck.triton.use_emulated_device()

    kernel[(4,)](x, y, n, BLOCK=128)  # tensors of the CPU, or warpcheck.triton.array(numpy_array)

A launch that shows a hazard under one of the schedules raises KernelHazard; one without writes its results. With
`verify --python` such a function is judged as any other.
"""

from __future__ import annotations

import contextlib
import ctypes
from typing import Any, Sequence

import numpy

from .command import WarpcheckError
from .memory_file import MemoryFile
from .programs import run_emulated


class KernelHazard(WarpcheckError):
    """What the detector saw in a launch."""


class array:  # noqa: N801, a function to its users
    """A NumPy array as Triton takes it: its elements are read and written in place."""

    def __init__(self, values: numpy.ndarray):
        self.values = values
        self.dtype = str(values.dtype)

    def data_ptr(self) -> int:
        return self.values.ctypes.data


MOST_BYTES = 256 << 20  # that a launch copies to the emulated device and back
_PAGE = 4096


def _memory(argument: Any) -> tuple[int, int]:
    """Begin and end of the memory that a pointer may reach: a tensor's storage, an array's bytes."""
    if isinstance(argument, array):
        return numpy.lib.array_utils.byte_bounds(argument.values)
    storage = argument.untyped_storage()
    return storage.data_ptr(), storage.data_ptr() + storage.nbytes()


def _merged(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for begin, end in sorted(ranges):
        if merged and begin < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        elif begin < end:
            merged.append((begin, end))
    return merged


def _runs_of_elements(argument: Any) -> tuple[numpy.ndarray, int]:
    """Addresses at which contiguous elements of an argument begin, and how many bytes each run of them has."""
    view = argument.values if isinstance(argument, array) else argument
    size = view.itemsize
    strides = view.strides if isinstance(view, numpy.ndarray) else [size * s for s in view.stride()]
    places, run = numpy.array([argument.data_ptr()]), size
    for extent, stride in sorted(zip(view.shape, strides), key=lambda d: abs(d[1])):
        if stride == run and len(places) == 1:
            run *= extent
        elif places.size * extent > MOST_BYTES // size:
            raise NotImplementedError(f"an array of {view.shape}: more than {MOST_BYTES} bytes on the emulated device")
        else:
            places = numpy.add.outer(places, numpy.arange(extent) * stride).reshape(-1)
    return places, run


def _parts(begin: int, end: int, arguments: list[Any]) -> list[tuple[int, int]]:
    """What of a memory is copied, as offsets: all, or of a large one the pages that have elements of an argument."""
    if end - begin <= MOST_BYTES:
        return [(0, end - begin)]
    pages: set[tuple[int, int]] = set()
    for argument in arguments:
        places, run = _runs_of_elements(argument)
        inside = places[(begin <= places) & (places < end)] - begin
        first, last = inside // _PAGE * _PAGE, numpy.minimum(-(-(inside + run) // _PAGE) * _PAGE, end - begin)
        pages |= set(map(tuple, numpy.unique(numpy.stack([first, last], axis=1), axis=0).tolist()))
    return _merged(list(pages))


def _bytes(address: int, count: int) -> memoryview:
    return memoryview((ctypes.c_uint8 * count).from_address(address)).cast("B")


class _Launcher:
    """Triton's interface of what runs a compiled kernel."""

    options: Sequence[str] = ()

    def __init__(self, src: Any, metadata: Any):
        from triton.runtime.cache import get_cache_manager

        files = get_cache_manager(metadata.hash).get_group(f"{src.name[:150]}.json")
        self.ptx = next(path for name, path in files.items() if name.endswith(".ptx"))
        self.metadata = metadata
        self.types = list(src.signature.values())
        strange = [t for t in self.types if not isinstance(t, str) or t.startswith("tensordesc")]
        if strange:
            raise NotImplementedError(f"parameters of type {strange[0]} on the emulated device")

    def __call__(self, x: int, y: int, z: int, stream: Any, function: Any, packed: Any, launch: Any, enter: Any,
                 leave: Any, *arguments: Any) -> None:
        given = [(t, a) for t, a in zip(self.types, arguments) if t != "constexpr"]
        pointers = [a for t, a in given if t.startswith("*") and a is not None]
        ranges = _merged([_memory(a) for a in pointers])
        blocks = x * self.metadata.num_ctas, y, z
        if 0 in blocks:
            return
        parts = [_parts(begin, end, pointers) for begin, end in ranges]
        total = sum(b - a for one in parts for a, b in one)
        if total > MOST_BYTES:
            raise NotImplementedError(
                f"arrays: a launch of {self.metadata.name} would copy {total} bytes to the emulated device, at most "
                f"{MOST_BYTES} are allowed")
        with contextlib.ExitStack() as files:
            more = []
            after = []
            for k, (begin, end) in enumerate(ranges):
                before = files.enter_context(contextlib.closing(MemoryFile("before")))
                after.append(files.enter_context(contextlib.closing(MemoryFile("after"))))
                before.resize(end - begin)
                for a, b in parts[k]:
                    before.write(a, _bytes(begin + a, b - a))
                more += ["--array", f"a{k}=u8[{end - begin}]@{before.path}", "--write", f"a{k}={after[k].path}"]
            words = [self._word(t, a, ranges) for t, a in given]
            for name in ("global_scratch", "profile_scratch"):
                size = getattr(self.metadata, f"{name}_size", 0) * blocks[0] * y * z
                more += ["--array", f"{name}=u8[{size}]"] if size else []
                words.append(name if size else "0")
            threads = self.metadata.num_warps * self.metadata.warp_size
            shape = f"{'x'.join(map(str, blocks))}, {threads}, {self.metadata.shared}"
            more += ["--launch", f"{self.metadata.name}<<<{shape}>>>({', '.join(words)})", *self.options]
            report = run_emulated(self.ptx, more=more)
            if not report.passed:
                raise KernelHazard("\n".join(h.text for h in report.hazards) or report.output)
            for (begin, _), written, copied in zip(ranges, after, parts):
                for a, b in copied:
                    if not written.read(a, _bytes(begin + a, b - a)):
                        raise WarpcheckError("the emulated device returned fewer bytes than it was given")

    @staticmethod
    def _word(kind: str, argument: Any, ranges: list[tuple[int, int]]) -> str:
        if not kind.startswith("*"):
            return repr(float(argument)) if kind.startswith(("fp", "bf")) else str(int(argument))
        at = argument.data_ptr() if argument is not None else 0
        for k, (begin, end) in enumerate(ranges):
            if begin <= at < end:
                return f"a{k}+{at - begin}"
        return "0"


class _Utils:
    """Triton's interface of a device's limits and modules: an H100's."""

    @staticmethod
    def get_device_properties(device: int) -> dict[str, int]:
        return {"max_shared_mem": 232448, "max_num_regs": 65536, "multiprocessor_count": 16, "warpSize": 32,
                "sm_clock_rate": 1, "mem_clock_rate": 1, "mem_bus_width": 1}

    @staticmethod
    def load_binary(name: str, kernel: bytes, shared: int, device: int) -> tuple[object, object, int, int, int]:
        return object(), object(), 0, 0, 1024

    @staticmethod
    def unload_module(module: object) -> None:
        pass


class _Driver:
    """Triton's interface of a device."""

    utils = _Utils()
    launcher_cls = _Launcher

    @staticmethod
    def is_active() -> bool:
        return True

    @staticmethod
    def get_current_target() -> Any:
        from triton.backends.compiler import GPUTarget

        return GPUTarget("cuda", 90, 32)

    @staticmethod
    def get_current_device() -> int:
        return 0

    @staticmethod
    def set_current_device(device: int) -> None:
        pass

    @staticmethod
    def get_current_stream(device: int) -> int:
        return 0

    @staticmethod
    def get_active_torch_device() -> Any:
        import torch

        return torch.device("cpu")

    @staticmethod
    def get_benchmarker() -> Any:
        def once(function: Any, quantiles: Any = None, **_: Any) -> Any:
            function()
            return [0.0] * len(quantiles) if quantiles else 0.0

        return once


def use_emulated_device(
    *, schedules: Sequence[str] = ("fair", "reverse", "random:1"), more: Sequence[str] = ()
) -> None:
    """From here on launches of Triton's kernels run on the emulated device, under these schedules; `more` are options
    of `warpcheck run-emulated`. Triton needs neither a GPU nor a driver for this."""

    import triton.runtime.driver

    _Launcher.options = [word for s in schedules for word in ("--schedule", s)] + ["--no-trace", "--quiet", *more]
    triton.runtime.driver.set_active(_Driver())
