// Host side of simt_bench_kernels.cu on the emulated device.
#pragma once

#ifndef __CUDACC__

namespace simt {
struct emulation;
}

namespace warpcheck::bench {
inline namespace emulated {

void run_softmax(const float* in, float* out, unsigned rows, int cols, simt::emulation* stream);
// n: a multiple of 16.
void run_tiled_product(const float* a, const float* b, float* c, int n, simt::emulation* stream);
// n: a multiple of 256.
void run_stencil(const float* in, float* out, int n, simt::emulation* stream);
// Of 256 bins; n: a multiple of 4096.
void run_count_bins(const int* in, int* bins, int n, simt::emulation* stream);
void run_barriers(unsigned blocks, unsigned threads, int count, simt::emulation* stream);
void run_warp_barriers(unsigned blocks, unsigned threads, int count, simt::emulation* stream);
void run_nothing(unsigned blocks, unsigned threads, simt::emulation* stream);
void run_rotate(const int* in, int* out, simt::emulation* stream);
// `steps` (a multiple of 4) products of a warpgroup: m64n64k16 of bf16, m64n128k8 of tf32. Operands are 4096 or 6144
// bytes, results 64 x 64 or 64 x 128.
void run_bf16_products(const float* in, float* out, int steps, simt::emulation* stream);
void run_tf32_products(const float* in, float* out, int steps, simt::emulation* stream);

}  // namespace emulated
}  // namespace warpcheck::bench

#endif
