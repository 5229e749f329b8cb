"""The Python half of `--python FILE.py:FUNCTION`: calls one function on tensors in memory shared with warpcheck.

    nursery FILE FUNCTION DEVICE  prints a line of JSON: which element types the function takes, or what is wrong; then
                                  forks a server for each process that connects to the socket of descriptor 3
    serve FILE FUNCTION DEVICE    answers calls, a line of JSON each, that come through descriptor 3; descriptor 4 is
                                  the shared memory

A library such as PyTorch takes seconds to load: the nursery loads it once for all processes of a run. warpcheck runs
this text with `-c`, in an interpreter of the user's choice; it needs Python 3.8 and nothing else.
"""
import array
import ctypes
import functools
import importlib.util
import inspect
import json
import mmap
import os
import re
import select
import signal
import socket
import sys
import threading
import traceback

from gpu import WHOLE, CudaError, Gpu, GpuClock, HostClock, HostMemory, Mirror

OK, INVALID_ARGUMENT, DEVICE_ERROR, UNSUPPORTED, INTERNAL_ERROR = range(5)
CPU, CUDA = 1, 2
NO_CALL = {"tensors": []}
RETURNED = "the function returned a value of type {}, which is ignored: it must write into its outputs"
DTYPES = ("f32", "f16", "bf16", "f64", "i64", "i32", "u8", "u16", "u32", "i8", "e4m3", "e5m2")
# Types that NumPy lacks, with their bits. Codes of DLPack: kDLInt, kDLUInt, kDLFloat, kDLBfloat and two of kDLFloat8.
FOREIGN = {"bf16": 16, "e4m3": 8, "e5m2": 8}
ML_DTYPES = {"bf16": "bfloat16", "e4m3": "float8_e4m3fn", "e5m2": "float8_e5m2"}
CODES = {"i": 0, "u": 1, "f": 2, "bf16": 4, "e4m3": 10, "e5m2": 12}


def bits_of(dtype):
    return FOREIGN.get(dtype) or int(dtype[1:])


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
    """What the function gets: `numpy.from_dlpack(t)`, `torch.from_dlpack(t)` and their like make an array of it without
    a copy; so does `numpy.asarray(t)`, and what knows `__cuda_array_interface__`. Strides are in elements."""

    def __init__(self, name, data, dtype, shape, strides, device):
        self.name, self.data, self.dtype, self.device = name, data, dtype, device
        self.shape, self.strides = tuple(shape), tuple(strides)
        self.bits = bits_of(dtype)

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
        t.dtype = DLDataType(CODES[self.dtype if self.dtype in FOREIGN else self.dtype[0]], self.bits, 1)
        shape, strides = (ctypes.c_int64 * n)(*self.shape), (ctypes.c_int64 * n)(*self.strides)
        t.shape, t.strides = shape, strides
        managed.deleter = give_back
        address = ctypes.addressof(managed)
        lent[address] = (managed, shape, strides)
        return new_capsule(address, VERSIONED if versioned else PLAIN, None)

    def _interface(self, device):
        if self.device != device or self.dtype in FOREIGN:
            raise AttributeError(f"{self!r} speaks DLPack only")
        size = self.bits // 8
        return {
            "version": 3,
            "typestr": f"{'|' if size == 1 else '<'}{self.dtype[0]}{size}",
            "shape": self.shape,
            "strides": tuple(s * size for s in self.strides),
            "data": (self.data, False),
        }

    def view(self, dtype):
        """The same memory as elements of another type of the same size: "u16" where NumPy has no bf16, "u8" where it
        has no e4m3 and e5m2."""
        if dtype not in DTYPES or bits_of(dtype) != self.bits:
            raise ValueError(f"{self!r} is no view of {dtype}, must be a type of {self.bits} bits")
        return Tensor(self.name, self.data, dtype, self.shape, self.strides, self.device)

    def __array__(self, *_, **__):
        # NumPy asks for this where there is no __array_interface__, and would else make an array of one object.
        if self.device != CPU:
            raise TypeError(f"{self!r} is on the GPU: use cupy.asarray or torch.from_dlpack")
        raise TypeError(
            f"{self!r}: NumPy has no {self.dtype}; use torch.from_dlpack({self.name}), or "
            f"numpy.asarray({self.name}.view('u{self.bits}')).view(ml_dtypes.{ML_DTYPES[self.dtype]}), or leave "
            f"{self.dtype} out of FUNCTION.dtypes"
        )

    @property
    def __array_interface__(self):
        return self._interface(CPU)

    @property
    def __cuda_array_interface__(self):
        return self._interface(CUDA)


MOST_RESERVES = 4  # of forward passes that no backward pass has followed yet
MARGIN = 8192  # bytes that are copied beside rows which lie far apart: at least a guard


def pieces_of(block, size, tensors):
    """The bytes of a block, (begin, end), that hold what the tensors in it do, with what lies beside; None: all."""
    if size <= WHOLE or tensors is None:
        return [(0, size)]
    list_ = [(0, MARGIN), (size - MARGIN, size)]
    for t in tensors:
        element = bits_of(t["dtype"]) // 8
        rows, length, step = 1, t["shape"][-1] * element, t["strides"][-2] * element if len(t["shape"]) > 1 else 0
        for n in t["shape"][:-1]:
            rows *= n
        first = t["at"] - block
        if step - length <= MARGIN:
            rows, length = 1, (rows - 1) * step + length
        list_ += [(first + i * step - MARGIN, first + i * step + length + MARGIN) for i in range(rows)]
    pieces = []
    for begin, end in sorted(list_):
        begin, end = max(begin, 0), min(end, size)
        if pieces and begin <= pieces[-1][1]:
            pieces[-1] = (pieces[-1][0], max(end, pieces[-1][1]))
        else:
            pieces.append((begin, end))
    return pieces


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
    """The exception in one line of at most 150 characters, with the line of the user's file that it comes from."""
    text = "".join(traceback.format_exception_only(type(error), error)).strip().splitlines()[-1]
    text = text if len(text) <= 150 else text[:147] + "..."
    file = os.path.realpath(path)
    lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if os.path.realpath(f.filename) == file]
    return text + (f" ({path}:{lines[-1]})" if lines else "")


# Words of an error of PyTorch, cuBLAS or Triton for a call that the library does not offer.
REFUSAL = re.compile(r"not[ _](yet )?(supported|implemented)|unsupported|less than (or equal to )?\d|exceeds|"
                     r"too (large|big|long)|out of resource:", re.IGNORECASE)


def is_refusal(error):
    """True for an exception that says that a call is not offered. Other types may have such words by a mistake in the
    function, such as the TypeError 'unsupported operand type'."""
    if isinstance(error, (NotImplementedError, OverflowError)):
        return True
    return isinstance(error, RuntimeError) and REFUSAL.search(str(error)) is not None


def may_fork():
    """Whether a fork of this process is as good as a new one: what the GPU's driver and threads hold is lost."""
    for number in os.listdir("/proc/self/fd"):
        try:
            if os.readlink(f"/proc/self/fd/{number}").startswith("/dev/nvidia"):
                return False
        except OSError:  # that of the listing itself
            pass
    return threading.active_count() == 1


def describe(path, name):
    """Says what the function is, and returns it where it can be served by forks of this process."""
    function = None
    try:
        function = load(path, name)
        dtypes = list(getattr(function, "dtypes", []))  # none: what warpcheck thinks usual
        unknown = [t for t in dtypes if t not in DTYPES]
        if unknown or (hasattr(function, "dtypes") and not dtypes):
            raise Wrong(f"python: {name}.dtypes of {path} is {dtypes}, allowed are names among {', '.join(DTYPES)}")
        states = getattr(function, "states", "")
        if not isinstance(states, str):
            raise Wrong(f"python: {name}.states of {path} is {states!r}, must be a text such as 'sums chain'")
        left_out = fits(function)
        answer = {"dtypes": dtypes, "left_out": left_out, "states": states, "forks": may_fork()}
        answer["reserve"] = has_own_parameter(function, "reserve")
        answer["version"] = sys.version.split()[0]
    except Wrong as e:
        answer = {"error": str(e)}
    print("\n" + json.dumps(answer), flush=True)
    return function if answer.get("forks") else None


def is_there(tensor):
    return tensor is not None and 0 not in tensor.shape


def arguments(function, tensors, optional, scalars):
    """What the function is called with, and which optional tensors and scalars it does not take: tensors by name where
    it has parameters of these names, else in their order; or None for a function that takes neither."""
    mandatory = {n: t for n, t in tensors.items() if n not in optional}
    named_scalars = {n: v for n, v in scalars.items() if has_parameter(function, n)}
    left_scalars = [n for n in scalars if n not in named_scalars]
    for known in ({n: t for n, t in tensors.items() if n in mandatory or has_parameter(function, n)}, mandatory):
        if takes(function, [], {**known, **named_scalars}):
            return [], {**known, **named_scalars}, [n for n in tensors if n not in known] + left_scalars
    there = {n: t for n, t in tensors.items() if n in mandatory or t is not None}
    for known in (tensors, there, mandatory):
        if may_be_in_order(function, known) and takes(function, known.values(), named_scalars):
            return list(known.values()), named_scalars, [n for n in tensors if n not in known] + left_scalars
    return None, None, []


@functools.lru_cache(None)
def forms():  # of the operator's contract
    return json.loads(json.loads(os.environ["WARPCHECK_PYTHON"])["rules"])["forms"]


@functools.lru_cache(None)
def reached_by_others():  # tensors that need no parameter: workspaces, and inputs that are an output as it was before
    return {t["name"] for form in forms() for t in form["tensors"] if t["before"] or t["name"] == "work"}


def may_be_in_order(function, tensors):
    """False if a parameter has the name of one tensor of the operator and the place of another one."""
    try:
        places = zip(inspect.signature(function).parameters, tensors)
    except ValueError:
        return True
    known = {t["name"] for form in forms() for t in form["tensors"]}
    return all(own == name or own not in known for own, name in places)


def has_parameter(function, name):
    try:
        parameters = inspect.signature(function).parameters
    except ValueError:  # of a builtin, which has no signature
        return True
    return name in parameters or any(p.kind == p.VAR_KEYWORD for p in parameters.values())


def has_own_parameter(function, name):
    try:
        return name in inspect.signature(function).parameters
    except ValueError:
        return False


def takes(function, tensors, named):
    try:
        inspect.signature(function).bind(*tensors, **named)
        return True
    except TypeError:
        return False
    except ValueError:
        return not named or not tensors


def is_rest(parameter):
    return parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)


def misfit(function, mandatory):
    lacking = [n for n in mandatory if not has_parameter(function, n)]
    parameters = inspect.signature(function).parameters.values()
    own = ", ".join(str(p.replace(annotation=p.empty)) for p in parameters)
    demanded = [p.name for p in parameters if p.default is p.empty and p.name not in mandatory and not is_rest(p)]
    why = f"has no parameter {', '.join(lacking)}" if lacking else f"demands {', '.join(demanded)}"
    return f"{function.__name__}({own}) {why}; it is called with {', '.join(mandatory)} by name or in this order"[:200]


def fits(function):
    """The optional tensors and the scalars that it does not take, and mandatory tensors of forms that do not fit it.
    Raises Wrong where none does."""
    left, others, taken = None, [], set()
    for form in forms():
        tensors = {t["name"]: None for t in form["tensors"]}
        optional = [t["name"] for t in form["tensors"] if t["is_optional"]]
        positional, _, left_out = arguments(function, tensors, optional, {s["name"]: 0 for s in form["scalars"]})
        if positional is None:
            others += [n for n in tensors if n not in optional and not has_own_parameter(function, n)]
            continue
        taken.update(tensors)
        left = [n for n in left_out if n not in reached_by_others()] if left is None else left
    if left is None:
        raise Wrong(f"python: {misfit(function, [t['name'] for t in forms()[0]['tensors'] if not t['is_optional']])}")
    return left + [n for n in others if n not in taken]


class Unsupported(Exception):
    """The function does not take a tensor or a scalar of a call, or cannot be called with its form."""


def blocks_of(request):
    """The blocks of shared memory that a request names, each with its size and the tensors in it, of which it then
    needs nothing else; a block of a turn is needed as a whole."""
    if "steps" not in request:
        there = [t for t in request["tensors"] if "at" in t and t["size"] > 0]
        sizes = {t["block"]: t["size"] for t in there}
        return [(block, size, [t for t in there if t["block"] == block]) for block, size in sizes.items()]
    places = [p for s in request["steps"] for p in (s.get("to"), s.get("from"), *(s.get("call") or NO_CALL)["tensors"])]
    sizes = {p["block"]: p["size"] for p in places if p and "at" in p and p["size"] > 0}
    return [(block, size, None) for block, size in sizes.items()]


class Server:
    def __init__(self, path, function, device, channel, memory):
        self.path, self.function, self.channel = path, function, channel
        self.memory = mmap.mmap(memory, 0)
        self.base = ctypes.addressof(ctypes.c_char.from_buffer(self.memory))
        self.device = CUDA if device == "cuda" else CPU
        self.gpu = None
        self.reserves = {}  # what forward passes returned, by number, in their order

    def run(self):
        with self.channel.makefile("rb") as lines:
            for line in lines:
                self.say(self.answer(json.loads(line)))

    def say(self, what):
        self.channel.sendall(json.dumps(what).encode() + b"\n")

    def answer(self, request):
        if self.device == CPU:
            return self.perform(request, {})
        mirrors = {}
        try:
            self.gpu = self.gpu or Gpu()
            self.gpu.enter()
            for block, size, inside in blocks_of(request):
                mirrors[block] = Mirror(self.gpu, self.base + block, size, pieces_of(block, size, inside))
            result = self.perform(request, mirrors)
            self.gpu.enter()
            self.gpu.wait()
            for mirror in mirrors.values():
                mirror.copy_back()
            for mirror in mirrors.values():
                mirror.release()
            return result
        except CudaError as e:
            return {"status": DEVICE_ERROR, "message": str(e), "us": []}

    def perform(self, request, mirrors):
        if "steps" in request:
            return self.turn(request["steps"], request["head_start"], mirrors)
        status, message = self.call(request, mirrors)
        return {"status": status, "message": message}

    def call(self, call, mirrors):
        try:
            result = self.prepared(call, mirrors)()
        except Unsupported as e:
            return UNSUPPORTED, str(e)
        except ValueError as e:
            return INVALID_ARGUMENT, sentence(e, self.path)
        except CudaError:
            raise
        except Exception as e:
            return UNSUPPORTED if is_refusal(e) else INTERNAL_ERROR, sentence(e, self.path)
        return OK, "" if result is None else RETURNED.format(type(result).__name__)

    def address(self, place, mirrors):
        """A place in the shared memory, or its copy on the GPU, which a tensor without elements has not."""
        mirror = mirrors.get(place["block"])
        return mirror.at + place["at"] - place["block"] if mirror else self.base + place["at"]

    def prepared(self, call, mirrors):
        """A function without parameters that makes the call."""

        def tensor(t):
            if "at" not in t:  # not there
                return None
            return Tensor(t["name"], self.address(t, mirrors), t["dtype"], t["shape"], t["strides"], self.device)

        tensors = {t["name"]: tensor(t) for t in call["tensors"]}
        optional = [t["name"] for t in call["tensors"] if t["optional"]]
        # An integer is a number, anything else the text of one, which may be NaN or infinite.
        scalars = {n: float(v) if isinstance(v, str) else v for n, v in call["scalars"].items()}
        positional, named, left_out = arguments(self.function, tensors, optional, scalars)
        if positional is None:
            raise Unsupported(misfit(self.function, [n for n in tensors if n not in optional]))
        missed = [n for n in left_out if n in tensors and is_there(tensors[n]) and n not in reached_by_others()]
        for scalar in call["unusual"]:
            if scalar["name"] in left_out and scalar["of"] not in left_out:
                missed.append(f"{scalar['name']}, which is {scalars[scalar['name']]}")
        if missed:
            raise Unsupported(f"the function takes no {'; no '.join(missed)}")
        if call["reserve"] is None:
            return lambda: self.function(*positional, **named)
        return lambda: self.call_with_reserve(call["reserve"], positional, named)

    def turn(self, steps, head_start, mirrors):
        """Makes the steps of abi/candidate_turn.h: calls, writes, and marks (neither), between which time is taken. Two
        lines say when the timed calls begin and end, for another clock."""
        clock = GpuClock(self.gpu, head_start) if self.device == CUDA else HostClock()
        memory = self.gpu or HostMemory()
        try:
            made = [self.prepared(s["call"], mirrors) if s.get("call") else None for s in steps]
            for step, call in zip(steps, made):
                if call:
                    call()
                elif "to" in step:
                    to, count = self.address(step["to"], mirrors), step["bytes"]
                    if "from" in step:
                        memory.copy(to, self.address(step["from"], mirrors), count)
                    else:
                        memory.fill(to, step["byte"], count)
                elif "call" not in step:
                    clock.mark()
            is_late = clock.begin()
            self.say("begun")
            clock.end()
            self.say("ended")
            return {"status": OK, "message": "", "us": clock.times(), "late": is_late}
        except CudaError:
            raise
        except Exception as e:
            return {"status": INTERNAL_ERROR, "message": sentence(e, self.path), "us": []}

    def call_with_reserve(self, at, positional, named):
        """Eight bytes of the shared memory, at `at`, are the number of the object that the forward pass returned."""
        place = ctypes.c_int64.from_address(self.base + at)
        if named["pass"] != 0:
            self.function(*positional, **named, reserve=self.reserves.pop(place.value))
            return
        place.value = max(self.reserves, default=0) + 1
        self.reserves[place.value] = self.function(*positional, **named)
        if self.reserves[place.value] is None:
            raise TypeError("the forward pass returned None, must return what the backward pass gets as reserve")
        while len(self.reserves) > MOST_RESERVES:
            del self.reserves[min(self.reserves)]


class Nursery:
    """Forks a server for each process that connects, reports to that process how its server ended, and ends the server
    when the process does."""

    def __init__(self, path, function, device):
        self.served = path, function, device
        self.listener = socket.socket(fileno=3)
        self.connections = {}  # by the server's process

    def run(self):
        ended, self.wake = os.pipe()
        os.set_blocking(self.wake, False)
        signal.set_wakeup_fd(self.wake)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # warpcheck ends the run
        while True:
            poll = select.poll()
            poll.register(self.listener, select.POLLIN)
            poll.register(ended, select.POLLIN)
            for connection in self.connections.values():
                if connection:
                    poll.register(connection, 0)
            for number, _ in poll.poll():
                if number == ended:
                    os.read(ended, 4096)
                    self.bury()
                elif number != self.listener.fileno():
                    self.end(number)
                elif self.bear():
                    return

    def bear(self):
        """True in the server, once it has served."""
        connection = self.listener.accept()[0]
        _, extra, _, _ = connection.recvmsg(1, socket.CMSG_SPACE(3 * 4))
        if not extra:  # the process is gone already
            connection.close()
            return False
        memory, out, err = array.array("i", extra[0][2][:12])
        pid = os.fork()
        if pid == 0:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
            self.listener.close()
            for other in self.connections.values():
                if other:
                    other.close()
            os.dup2(out, 1)
            os.dup2(err, 2)
            Server(*self.served, connection, memory).run()
            return True
        self.connections[pid] = connection
        for number in (memory, out, err):
            os.close(number)
        return False

    def end(self, number):
        for pid, connection in self.connections.items():
            if connection and connection.fileno() == number:
                os.kill(pid, signal.SIGKILL)
                connection.close()
                self.connections[pid] = None

    def bury(self):
        while self.connections:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            connection = self.connections.pop(pid)
            if connection:
                try:
                    connection.sendall(json.dumps({"died": status}).encode() + b"\n")
                except OSError:  # so is the process
                    pass
                connection.close()


def main(what, path, name, device):
    if what == "serve":
        Server(path, load(path, name), device, socket.socket(fileno=3), 4).run()
        return
    function = describe(path, name)
    if function:
        nowhere = os.open(os.devnull, os.O_RDWR)
        for number in range(3):
            os.dup2(nowhere, number)
        Nursery(path, function, device).run()


if __name__ == "__main__":
    main(*sys.argv[1:5])
