"""The clock of a Python function's calls on a GPU, with a driver that only notes what it is asked."""

import ctypes
import os
import sys
import types
import unittest

sys.dont_write_bytecode = True
sys.path.append(os.environ["WARPCHECK_ADAPTER"])
from gpu import HEAD_START_NS, GpuClock

NOT_READY = 600  # CUresult


class Gpu:
    def __init__(self, query):
        self.driver = types.SimpleNamespace(cuCtxSetLimit=lambda *_: 0, cuCtxResetPersistingL2Cache=lambda: 0,
                                            cuEventQuery=lambda event: query)
        self.asked = []

    def enter(self):
        pass

    def attribute(self, which):
        return 2048

    def ask(self, function, *arguments):
        self.asked.append(function)
        if function == "cuLaunchKernel":
            self.waits_ns = ctypes.cast(arguments[9][0], ctypes.POINTER(ctypes.c_uint64)).contents.value


class Clock(unittest.TestCase):
    def test_the_device_waits_before_the_first_mark_and_a_late_host_is_noticed(self):
        for head_start, query in ((1, NOT_READY), (4, 0)):
            gpu = Gpu(query)
            clock = GpuClock(gpu, head_start)
            clock.mark()
            clock.mark()
            self.assertEqual(clock.begin(), query == 0)
            self.assertEqual(gpu.waits_ns, head_start * HEAD_START_NS)
            self.assertEqual(gpu.asked.count("cuLaunchKernel"), 1)
            self.assertEqual(gpu.asked[-1], "cuEventSynchronize")


if __name__ == "__main__":
    unittest.main()
