"""warpcheck.triton: the launches that Triton asks of a driver, on the emulated device. Run by CTest.

Triton itself is played: its compiler's result is a PTX file, which it finds by the kernel's hash.
"""

import mmap
import os
import pathlib
import sys
import tempfile
import types
import unittest
import unittest.mock

import numpy

SOURCE = pathlib.Path(os.environ["WARPCHECK_SOURCE"])
sys.path.insert(0, str(SOURCE / "python"))
import warpcheck.triton  # noqa: E402

COPY = """.version 8.0
.target sm_90
.address_size 64
.visible .entry copy(.param .u64 to, .param .u64 from, .param .b32 scale, .param .u64 scratch, .param .u64 profile)
{
  .reg .b64 %rd<4>;
  .reg .b32 %r<4>;
  ld.param.b64 %rd0, [to];
  ld.param.b64 %rd1, [from];
  ld.param.b32 %r0, [scale];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %ctaid.x;
  mad.lo.u32 %r1, %r2, 32, %r1;
  mad.wide.u32 %rd0, %r1, 4, %rd0;
  mad.wide.u32 %rd1, %r1, 4, %rd1;
  ld.global.b32 %r3, [%rd1];
  mul.rn.f32 %r3, %r3, %r0;
  st.global.b32 [%rd0], %r3;
  ret;
}
"""


# Doubles the first 32 elements of each row; a row for each block.
ROWS = """.version 8.0
.target sm_90
.address_size 64
.visible .entry copy(.param .u64 rows, .param .u64 distance, .param .u64 scratch, .param .u64 profile)
{
  .reg .b64 %rd<4>;
  .reg .b32 %r<4>;
  ld.param.b64 %rd0, [rows];
  ld.param.b64 %rd1, [distance];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %ctaid.x;
  cvt.u64.u32 %rd2, %r2;
  mad.lo.u64 %rd0, %rd1, %rd2, %rd0;
  mad.wide.u32 %rd0, %r1, 4, %rd0;
  ld.global.b32 %r3, [%rd0];
  add.rn.f32 %r3, %r3, %r3;
  st.global.b32 [%rd0], %r3;
  ret;
}
"""


class Triton(unittest.TestCase):
    @classmethod
    def setUpClass(cls):  # a module is compiled once for each folder that it lies in
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.ptx = pathlib.Path(scratch.name) / "copy.ptx"
        cls.ptx.write_text(COPY)

    def setUp(self):
        driver = types.SimpleNamespace(set_active=lambda d: setattr(self, "driver", d))
        cache = types.SimpleNamespace(get_cache_manager=lambda key: types.SimpleNamespace(
            get_group=lambda name: {"copy.ttir": "none", "copy.ptx": str(self.ptx)} if key == "hash" else {}))
        runtime = types.SimpleNamespace(driver=driver)
        for name, module in (("triton", types.SimpleNamespace(runtime=runtime)), ("triton.runtime", runtime),
                             ("triton.runtime.driver", runtime), ("triton.runtime.cache", cache)):
            self.enterContext(unittest.mock.patch.dict(sys.modules, {name: module}))
        sys.modules["triton.runtime"].driver = driver
        warpcheck.triton.use_emulated_device(schedules=["fair"])

    def launch(self, blocks, to, source, scale):
        signature = {"to": "*fp32", "from": "*fp32", "scale": "fp32", "BLOCK": "constexpr"}
        metadata = types.SimpleNamespace(
            hash="hash", name="copy", num_warps=1, warp_size=32, num_ctas=1, shared=0, global_scratch_size=0,
            profile_scratch_size=0)
        launcher = self.driver.launcher_cls(types.SimpleNamespace(name="copy", signature=signature), metadata)
        launcher(blocks, 1, 1, 0, None, None, None, None, None, to, source, scale, 32)

    def test_a_launch_writes_its_results(self):
        x = numpy.arange(64, dtype="f4")
        y = numpy.zeros(64, "f4")
        self.launch(2, warpcheck.triton.array(y), warpcheck.triton.array(x), 2.5)
        numpy.testing.assert_array_equal(y, x * numpy.float32(2.5))

    def test_views_of_one_array_share_memory(self):
        x = numpy.arange(96, dtype="f4")
        # The second block reads what the first one writes.
        with self.assertRaisesRegex(warpcheck.triton.KernelHazard, "are not ordered"):
            self.launch(2, warpcheck.triton.array(x[32:]), warpcheck.triton.array(x[:64]), 1.0)

    def test_a_hazard_is_raised_and_writes_nothing(self):
        x = numpy.arange(64, dtype="f4")
        y = numpy.zeros(40, "f4")
        with self.assertRaisesRegex(warpcheck.triton.KernelHazard, r"write of 4 bytes .* at .*copy\.ptx:18"):
            self.launch(2, warpcheck.triton.array(y), warpcheck.triton.array(x), 1.0)
        self.assertFalse(y.any())

    def launch_rows(self, rows, distance):
        path = self.ptx.parent / "rows.ptx"
        path.write_text(ROWS)
        with unittest.mock.patch.object(Triton, "ptx", path):
            metadata = types.SimpleNamespace(hash="hash", name="copy", num_warps=1, warp_size=32, num_ctas=1, shared=0)
            signature = {"rows": "*fp32", "distance": "i64"}
            launcher = self.driver.launcher_cls(types.SimpleNamespace(name="copy", signature=signature), metadata)
        launcher(len(rows), 1, 1, 0, None, None, None, None, None, warpcheck.triton.array(rows), distance)

    # Only their pages are copied, not the 12 GiB between them; a killed process leaves no files.
    def test_rows_may_lie_far_apart(self):
        distance = (4 << 30) + 4
        file = os.memfd_create("rows")
        self.addCleanup(os.close, file)
        os.ftruncate(file, 4 * distance)
        with mmap.mmap(file, 4 * distance) as memory:
            rows = numpy.ndarray((4, 32), "f4", memory, 64, (distance, 4))
            gap = numpy.ndarray((1,), "f4", memory, 64 + 4 * 32)
            rows[...], gap[0] = numpy.arange(128).reshape(4, 32), 7
            self.launch_rows(rows, distance)
            numpy.testing.assert_array_equal(rows, 2 * numpy.arange(128).reshape(4, 32))
            self.assertEqual(gap[0], 7)
            # Nothing was copied to where the other rows are looked for.
            with self.assertRaisesRegex(warpcheck.triton.KernelHazard, "of a buffer of .* which nobody wrote"):
                self.launch_rows(rows, distance - (1 << 20))
            del rows, gap

    def test_an_array_beyond_the_limit_is_not_supported(self):
        with unittest.mock.patch.object(warpcheck.triton, "MOST_BYTES", 1 << 16):
            rows = numpy.zeros((4, 1 << 14), "f4")
            with self.assertRaisesRegex(NotImplementedError, r"would copy 262144 bytes .* at most 65536 are allowed"):
                self.launch_rows(rows, rows.strides[0])

    def test_its_target_is_an_h100(self):
        self.assertEqual(self.driver.utils.get_device_properties(0)["max_shared_mem"], 227 * 1024)


if __name__ == "__main__":
    unittest.main()
