// Host side of simt_bench_kernels.cu on the emulated device.
#pragma once

#ifndef __CUDACC__

namespace simt {
struct emulation;
}

namespace warpcheck::bench {
inline namespace emulated {

void run_softmax(const float* in, float* out, unsigned rows, int cols, simt::emulation* stream);
void run_barriers(unsigned blocks, unsigned threads, int count, simt::emulation* stream);
void run_warp_barriers(unsigned blocks, unsigned threads, int count, simt::emulation* stream);
void run_nothing(unsigned blocks, unsigned threads, simt::emulation* stream);
void run_rotate(const int* in, int* out, simt::emulation* stream);

}  // namespace emulated
}  // namespace warpcheck::bench

#endif
