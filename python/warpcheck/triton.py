"""Triton kernels on the emulated device: Triton compiles to PTX, and `warpcheck run-emulated` runs that without a GPU.

    import warpcheck.triton
    warpcheck.triton.use_emulated_device()

    kernel[(4,)](x, y, n, BLOCK=128)  # tensors of the CPU, or warpcheck.triton.array(numpy_array)

A launch that shows a hazard under one of the schedules raises KernelHazard; one without writes its results. With
`verify --python` such a function is judged as any other.
"""

from __future__ import annotations

import ctypes
import tempfile
from typing import Any, Sequence

import numpy

from .command import WarpcheckError
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
        with tempfile.TemporaryDirectory(prefix="warpcheck") as folder:
            more = []
            for k, (begin, end) in enumerate(ranges):
                content = (ctypes.c_uint8 * (end - begin)).from_address(begin)
                numpy.save(f"{folder}/a{k}.npy", numpy.frombuffer(content, dtype=numpy.uint8))
                more += ["--array", f"a{k}={folder}/a{k}.npy", "--write", f"a{k}={folder}/out{k}.npy"]
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
            for k, (begin, end) in enumerate(ranges):
                out = numpy.load(f"{folder}/out{k}.npy")
                ctypes.memmove(begin, out.ctypes.data, end - begin)

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
