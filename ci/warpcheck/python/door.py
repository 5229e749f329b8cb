"""The Python half of `--python FILE.py:FUNCTION`: calls one function on tensors in memory that it shares with warpcheck.

    describe FILE FUNCTION        prints a line of JSON: which element types the function takes, or what is wrong
    serve FILE FUNCTION DEVICE    answers calls, a line of JSON each, that come through descriptor 3; descriptor 4 is the
                                  shared memory

warpcheck runs this text with `-c`, in an interpreter of the user's choice; it needs Python 3.8 and nothing else.
"""
import ctypes
import importlib.util
import inspect
import json
import mmap
import os
import socket
import sys
import traceback

OK, INVALID_ARGUMENT, DEVICE_ERROR, UNSUPPORTED, INTERNAL_ERROR = range(5)
DTYPES = ("f32", "f16", "bf16", "f64", "i64", "i32", "u8", "u16", "u32")
# Of DLPack: kDLInt, kDLUInt, kDLFloat, kDLBfloat.
CODES = {"i": 0, "u": 1, "f": 2, "b": 4}
CPU, CUDA = 1, 2


class DLDevice(ctypes.Structure):
    _fields_ = [("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32)]


class DLDataType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", DLDevice),
        ("ndim", ctypes.c_int32),
        ("dtype", DLDataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class DLManagedTensor(ctypes.Structure):
    _fields_ = [("dl_tensor", DLTensor), ("manager_ctx", ctypes.c_void_p), ("deleter", DELETER)]


class DLManagedTensorVersioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("manager_ctx", ctypes.c_void_p),
        ("deleter", DELETER),
        ("flags", ctypes.c_uint64),
        ("dl_tensor", DLTensor),
    ]


# What a consumer holds, by address, until it gives it back.
lent = {}
give_back = DELETER(lambda address: lent.pop(address, None))
new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype = ctypes.py_object
new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
PLAIN, VERSIONED = b"dltensor", b"dltensor_versioned"  # capsules keep the pointer to their name


class Tensor:
    """What the function gets: `numpy.from_dlpack(t)`, `torch.from_dlpack(t)` and their like make an array of it, without
    a copy; so does `numpy.asarray(t)`, and what knows `__cuda_array_interface__`. Strides are in elements."""

    def __init__(self, name, data, dtype, shape, strides, device):
        self.name, self.data, self.dtype, self.device = name, data, dtype, device
        self.shape, self.strides = tuple(shape), tuple(strides)
        self.bits = 16 if dtype == "bf16" else int(dtype[1:])

    def __repr__(self):
        return f"{self.name}: {self.dtype}{list(self.shape)}"

    def __dlpack_device__(self):
        return self.device, 0

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        if copy:
            raise BufferError("the result has to be written to this memory, not to a copy")
        if dl_device is not None and dl_device != self.__dlpack_device__():
            raise BufferError(f"the tensor is on the device {self.__dlpack_device__()}")
        n = len(self.shape)
        versioned = max_version is not None and max_version[0] >= 1
        managed = DLManagedTensorVersioned(major=1) if versioned else DLManagedTensor()
        t = managed.dl_tensor
        t.data, t.device, t.ndim = self.data, DLDevice(self.device, 0), n
        t.dtype = DLDataType(CODES[self.dtype[0]], self.bits, 1)
        shape, strides = (ctypes.c_int64 * n)(*self.shape), (ctypes.c_int64 * n)(*self.strides)
        t.shape, t.strides = shape, strides
        managed.deleter = give_back
        address = ctypes.addressof(managed)
        lent[address] = (managed, shape, strides)
        return new_capsule(address, VERSIONED if versioned else PLAIN, None)

    def _interface(self, device):
        if self.device != device or self.dtype == "bf16":
            raise AttributeError(f"{self!r} speaks DLPack only")
        size = self.bits // 8
        return {
            "version": 3,
            "typestr": f"{'|' if size == 1 else '<'}{self.dtype[0]}{size}",
            "shape": self.shape,
            "strides": tuple(s * size for s in self.strides),
            "data": (self.data, False),
        }

    @property
    def __array_interface__(self):
        return self._interface(CPU)

    @property
    def __cuda_array_interface__(self):
        return self._interface(CUDA)


class CudaError(Exception):
    pass


class Gpu:
    """Copies of shared memory on the GPU, in the primary context, which PyTorch, CuPy and Triton use, too."""

    def __init__(self):
        try:
            self.driver = ctypes.CDLL("libcuda.so.1")
        except OSError as e:
            raise CudaError(f"the CUDA driver does not load: {e}") from None
        device, self.context = ctypes.c_int(), ctypes.c_void_p()
        self.ask("cuInit", ctypes.c_uint(0))
        self.ask("cuDeviceGet", ctypes.byref(device), ctypes.c_int(0))
        self.ask("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), device)

    def ask(self, function, *arguments):
        code = getattr(self.driver, function)(*arguments)
        if code != 0:
            raise CudaError(f"{function} returned {code}")

    def copy_in(self, address, size):
        self.ask("cuCtxSetCurrent", self.context)
        at = ctypes.c_uint64()
        self.ask("cuMemAlloc_v2", ctypes.byref(at), ctypes.c_size_t(size))
        self.ask("cuMemcpyHtoD_v2", at, ctypes.c_void_p(address), ctypes.c_size_t(size))
        return at.value

    def copy_out(self, at, address, size):
        self.ask("cuCtxSynchronize")
        self.ask("cuMemcpyDtoH_v2", ctypes.c_void_p(address), ctypes.c_uint64(at), ctypes.c_size_t(size))
        self.ask("cuMemFree_v2", ctypes.c_uint64(at))


class Wrong(Exception):
    """What is wrong with the file or the function, for whoever named them."""


def load(path, name):
    folder, file = os.path.split(os.path.abspath(path))
    sys.path.insert(0, folder)
    sys.dont_write_bytecode = True
    spec = importlib.util.spec_from_file_location(os.path.splitext(file)[0], path)
    if spec is None:
        raise Wrong(f"python: '{path}' is not the name of a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # what the functions of the module look up there
    try:
        spec.loader.exec_module(module)
    except BaseException as e:
        raise Wrong(f"python: {path} does not load: {sentence(e, path)}") from None
    function = getattr(module, name, None)
    if not callable(function):
        known = [n for n, f in vars(module).items() if inspect.isfunction(f) and f.__module__ == spec.name]
        raise Wrong(f"python: {path} defines no function '{name}'; it defines {', '.join(known) or 'none'}")
    return function


def sentence(error, path):
    """The exception in one line, with the line of the user's file that it comes from."""
    text = "".join(traceback.format_exception_only(type(error), error)).strip().splitlines()[-1]
    lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if os.path.realpath(f.filename) == os.path.realpath(path)]
    return text + (f" ({path}:{lines[-1]})" if lines else "")


def describe(path, name):
    try:
        function = load(path, name)
        dtypes = list(getattr(function, "dtypes", ["f32"]))
        unknown = [t for t in dtypes if t not in DTYPES]
        if unknown or not dtypes:
            raise Wrong(f"python: {name}.dtypes of {path} is {dtypes}, allowed are names among {', '.join(DTYPES)}")
        answer = {"dtypes": dtypes, "version": sys.version.split()[0]}
    except Wrong as e:
        answer = {"error": str(e)}
    print("\n" + json.dumps(answer), flush=True)


class Server:
    def __init__(self, path, name, device):
        self.path = path
        self.function = load(path, name)
        self.channel = socket.socket(fileno=3)
        self.memory = mmap.mmap(4, 0)
        self.base = ctypes.addressof(ctypes.c_char.from_buffer(self.memory))
        self.device = CUDA if device == "cuda" else CPU
        self.gpu = None

    def run(self):
        with self.channel.makefile("rwb") as lines:
            for line in lines:
                status, message = self.answer(json.loads(line))
                lines.write(json.dumps({"status": status, "message": message}).encode() + b"\n")
                lines.flush()

    def answer(self, call):
        mirrors = {}
        try:
            if self.device == CUDA:
                self.gpu = self.gpu or Gpu()
                for t in call["tensors"]:
                    if t and t["block"] not in mirrors:
                        mirrors[t["block"]] = (self.gpu.copy_in(self.base + t["block"], t["size"]), t["size"])
            result = self.call(call, mirrors)
            for block, (at, size) in mirrors.items():
                self.gpu.copy_out(at, self.base + block, size)
            return result
        except CudaError as e:
            return DEVICE_ERROR, str(e)

    def call(self, call, mirrors):
        def tensor(t):
            if t is None:
                return None
            data = self.base + t["at"] if self.device == CPU else mirrors[t["block"]][0] + t["at"] - t["block"]
            return Tensor(t["name"], data, t["dtype"], t["shape"], t["strides"], self.device)

        tensors = [tensor(t) for t in call["tensors"]]
        absent = tensors[-1] is None  # the optional one is the last
        # An enumeration's code is a number, anything else the text of one, which may be NaN or infinite.
        scalars = {n: float(v) if isinstance(v, str) else v for n, v in call["scalars"].items()}
        if absent and self.takes(tensors[:-1], scalars):
            tensors = tensors[:-1]
        elif not self.takes(tensors, scalars):
            if call["optional"] and not absent and self.takes(tensors[:-1], scalars):
                return UNSUPPORTED, f"the function takes no {tensors[-1].name}"
            wanted = ", ".join([t.name if t else "None" for t in tensors] + list(scalars))
            return INTERNAL_ERROR, f"the function cannot be called as FUNCTION({wanted})"
        try:
            self.function(*tensors, **scalars)
        except NotImplementedError as e:
            return UNSUPPORTED, sentence(e, self.path)
        except Exception as e:
            return INTERNAL_ERROR, sentence(e, self.path)
        return OK, ""

    def takes(self, tensors, scalars):
        try:
            inspect.signature(self.function).bind(*tensors, **scalars)
            return True
        except TypeError:
            return False
        except ValueError:  # of a builtin, which tells no signature
            return True


if __name__ == "__main__":
    if sys.argv[1] == "describe":
        describe(*sys.argv[2:4])
    else:
        Server(*sys.argv[2:5]).run()
