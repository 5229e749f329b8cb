// Host side of basic_kernels.cu on the emulated device.
#pragma once

#ifndef __CUDACC__
namespace simt {
struct emulation;
}
namespace warpcheck::self {
inline namespace emulated {
void run_block_sums(const float* in, float* out, int n, unsigned blocks, simt::emulation* stream);
void run_reverse(const float* in, float* out, int n, simt::emulation* stream);
void run_histogram(const unsigned char* in, unsigned* bins, int n, simt::emulation* stream);
void run_vote(unsigned* out, simt::emulation* stream);
void run_permute_and_convert(const unsigned* selectors, const float* values, unsigned* bytes, int* integers, unsigned n,
                             simt::emulation* stream);
template <class T>
void run_min_and_max(const int* a, const int* b, double* least, double* most, unsigned n, simt::emulation* stream);
void run_wait_in_vain(simt::emulation* stream);
void run_meet(unsigned threads, bool all, simt::emulation* stream);
void run_round_trip_f16(const float* in, float* out, int n, simt::emulation* stream);
void run_round_trip_bf16(const float* in, float* out, int n, simt::emulation* stream);
void run_copy_vectors(const float* in, float* out, int n, simt::emulation* stream);
}  // namespace emulated
}  // namespace warpcheck::self
#endif
