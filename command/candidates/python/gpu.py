"""Memory and clocks of the adapter, whose text begins with this one's: blocks of shared memory on the GPU by the CUDA
driver, and the time of calls there and on the host."""
import ctypes
import time


class CudaError(Exception):
    pass


class Location(ctypes.Structure):  # CUmemLocation
    _fields_ = [("type", ctypes.c_int), ("id", ctypes.c_int)]


class Allocation(ctypes.Structure):  # CUmemAllocationProp
    _fields_ = [
        ("type", ctypes.c_int),
        ("handles", ctypes.c_int),
        ("location", Location),
        ("security", ctypes.c_void_p),
        ("flags", ctypes.c_uint8 * 8),
    ]


class Access(ctypes.Structure):  # CUmemAccessDesc
    _fields_ = [("location", Location), ("flags", ctypes.c_int)]


ON_DEVICE_0 = Location(1, 0)
PINNED = Allocation(type=1, location=ON_DEVICE_0)
READ_AND_WRITE = Access(ON_DEVICE_0, 3)


class Gpu:
    """Copies of shared memory on the GPU, in the primary context, which PyTorch, CuPy and Triton use, too."""

    def __init__(self):
        try:
            self.driver = ctypes.CDLL("libcuda.so.1")
        except OSError as e:
            raise CudaError(f"the CUDA driver does not load: {e}") from None
        device, self.context, granule = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_size_t()
        self.ask("cuInit", ctypes.c_uint(0))
        self.ask("cuDeviceGet", ctypes.byref(device), ctypes.c_int(0))
        self.ask("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), device)
        self.ask("cuMemGetAllocationGranularity", ctypes.byref(granule), ctypes.byref(PINNED), ctypes.c_int(0))
        self.granule = granule.value

    def ask(self, function, *arguments):
        code = getattr(self.driver, function)(*arguments)
        if code != 0:
            raise CudaError(f"{function} returned {code}")

    def attribute(self, which):
        value = ctypes.c_int()
        self.ask("cuDeviceGetAttribute", ctypes.byref(value), ctypes.c_int(which), ctypes.c_int(0))
        return value.value

    def enter(self):
        self.ask("cuCtxSetCurrent", self.context)

    def wait(self):
        self.ask("cuCtxSynchronize")

    def copy(self, to, start, count):
        self.ask("cuMemcpyDtoDAsync_v2", ctypes.c_uint64(to), ctypes.c_uint64(start), ctypes.c_size_t(count), None)

    def fill(self, to, byte, count):
        self.ask("cuMemsetD8Async", ctypes.c_uint64(to), ctypes.c_ubyte(byte), ctypes.c_size_t(count), None)


# Each thread waits until this many nanoseconds are over. So many threads as the GPU holds leave no room for a kernel of
# another stream.
WAIT = b"""
.version 6.3
.target sm_70
.address_size 64
.visible .entry wait(.param .u64 nanoseconds)
{
  .reg .u64 %most, %begin, %now;
  .reg .pred %again;
  ld.param.u64 %most, [nanoseconds];
  mov.u64 %begin, %globaltimer;
more:
  nanosleep.u32 1000;
  mov.u64 %now, %globaltimer;
  sub.u64 %now, %now, %begin;
  setp.lt.u64 %again, %now, %most;
  @%again bra more;
  ret;
}
"""
WAITING_THREADS = 512  # of a block
MULTIPROCESSORS, THREADS_OF_MULTIPROCESSOR = 16, 39  # CUdevice_attribute
HEAD_START_NS = 20_000_000  # of the host, as for other candidates


class GpuClock:
    """Marks in the default stream, in which PyTorch, CuPy and Triton work. Before the first one the device waits while
    the host sends all calls."""

    def __init__(self, gpu, head_start):
        self.gpu, self.head_start_ns, self.events = gpu, head_start * HEAD_START_NS, []
        self.module, self.wait = ctypes.c_void_p(), ctypes.c_void_p()
        gpu.ask("cuModuleLoadData", ctypes.byref(self.module), ctypes.c_char_p(WAIT))
        gpu.ask("cuModuleGetFunction", ctypes.byref(self.wait), self.module, ctypes.c_char_p(b"wait"))
        # No line of a cache persists from a call to another. A GPU without this feature refuses.
        gpu.driver.cuCtxSetLimit(ctypes.c_int(6), ctypes.c_size_t(0))  # CU_LIMIT_PERSISTING_L2_CACHE_SIZE
        gpu.driver.cuCtxResetPersistingL2Cache()

    def mark(self):
        self.gpu.enter()
        if not self.events:
            most = ctypes.c_uint64(self.head_start_ns)
            parameters = (ctypes.c_void_p * 1)(ctypes.addressof(most))
            threads = self.gpu.attribute(MULTIPROCESSORS) * self.gpu.attribute(THREADS_OF_MULTIPROCESSOR)
            grid = [ctypes.c_uint(n) for n in (threads // WAITING_THREADS, 1, 1, WAITING_THREADS, 1, 1)]
            self.gpu.ask("cuLaunchKernel", self.wait, *grid, ctypes.c_uint(0), None, parameters, None)
        event = ctypes.c_void_p()
        self.gpu.ask("cuEventCreate", ctypes.byref(event), ctypes.c_uint(0))
        self.gpu.ask("cuEventRecord", event, None)
        self.events.append(event)

    def begin(self):
        """True if the device did not wait long enough."""
        is_late = self.gpu.driver.cuEventQuery(self.events[0]) == 0
        self.gpu.ask("cuEventSynchronize", self.events[0])
        return is_late

    def end(self):
        self.gpu.wait()

    def times(self):
        us, ms = [], ctypes.c_float()
        for first, second in zip(self.events, self.events[1:]):
            self.gpu.ask("cuEventElapsedTime", ctypes.byref(ms), first, second)
            us.append(1e3 * ms.value)
        for event in self.events:
            self.gpu.ask("cuEventDestroy_v2", event)
        self.gpu.ask("cuModuleUnload", self.module)
        return us


class HostClock:
    """The same of calls that end before they return."""

    def __init__(self):
        self.marks = []

    def mark(self):
        self.marks.append(time.perf_counter_ns())

    def begin(self):
        return False

    def end(self):
        pass

    def times(self):
        return [1e-3 * (b - a) for a, b in zip(self.marks, self.marks[1:])]


class HostMemory:
    def copy(self, to, start, count):
        ctypes.memmove(to, start, count)

    def fill(self, to, byte, count):
        ctypes.memset(to, byte, count)


WHOLE = 256 << 20  # bytes of a block up to which all of it is copied


class Mirror:
    """A block of shared memory on the GPU. Only the pieces of it have memory there, so that an access elsewhere in a
    block whose rows lie far apart is a fault."""

    def __init__(self, gpu, address, size, pieces):
        self.gpu, self.address, self.pieces, self.handles = gpu, address, pieces, []
        self.size, at = -(-size // gpu.granule) * gpu.granule, ctypes.c_uint64()
        if size <= WHOLE:
            gpu.ask("cuMemAlloc_v2", ctypes.byref(at), ctypes.c_size_t(size))
        else:
            gpu.ask("cuMemAddressReserve", ctypes.byref(at), ctypes.c_size_t(self.size), *[ctypes.c_uint64(0)] * 3)
            for i in sorted({i for b, e in pieces for i in range(b // gpu.granule, -(-e // gpu.granule))}):
                self.map(at.value + i * gpu.granule)
        self.at = at.value
        for begin, end in pieces:
            gpu.ask("cuMemcpyHtoD_v2", *self.ends(begin)[::-1], ctypes.c_size_t(end - begin))

    def ends(self, begin):
        return ctypes.c_void_p(self.address + begin), ctypes.c_uint64(self.at + begin)

    def map(self, at):
        handle, granule = ctypes.c_uint64(), ctypes.c_size_t(self.gpu.granule)
        self.gpu.ask("cuMemCreate", ctypes.byref(handle), granule, ctypes.byref(PINNED), ctypes.c_uint64(0))
        self.gpu.ask("cuMemMap", ctypes.c_uint64(at), granule, ctypes.c_size_t(0), handle, ctypes.c_uint64(0))
        self.gpu.ask("cuMemSetAccess", ctypes.c_uint64(at), granule, ctypes.byref(READ_AND_WRITE), ctypes.c_size_t(1))
        self.handles.append((at, handle))

    def copy_back(self):
        for begin, end in self.pieces:
            host, device = self.ends(begin)
            self.gpu.ask("cuMemcpyDtoH_v2", host, device, ctypes.c_size_t(end - begin))

    def release(self):
        if not self.handles:
            self.gpu.ask("cuMemFree_v2", ctypes.c_uint64(self.at))
            return
        for at, handle in self.handles:
            self.gpu.ask("cuMemUnmap", ctypes.c_uint64(at), ctypes.c_size_t(self.gpu.granule))
            self.gpu.ask("cuMemRelease", handle)
        self.gpu.ask("cuMemAddressFree", ctypes.c_uint64(self.at), ctypes.c_size_t(self.size))
