// Host side of host_kernels.cu on the emulated device.
#pragma once

#ifndef __CUDACC__

#include <cstddef>
#include <cstdint>

namespace simt {
struct emulation;
}

namespace warpcheck::self {
inline namespace emulated {

void run_meet_first_and_last(int* data, int* flag, int* counter, int* out, unsigned blocks, bool acquires,
                             simt::emulation* stream);
void run_count(int* counter, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
               unsigned block_z, simt::emulation* stream);
void run_set(unsigned char* p, int64_t at, unsigned char value, simt::emulation* stream);
void run_touch_dynamic(int* out, size_t bytes, simt::emulation* stream);
void run_static_and_dynamic(int* out, size_t bytes, simt::emulation* stream);
void run_local_array(int* out, int index, simt::emulation* stream);
void run_deep(int* out, int depth, simt::emulation* stream);
void run_shared_pattern(unsigned* out, simt::emulation* stream);
void run_shared_at(int* out, int at, simt::emulation* stream);
void run_keep_own(int* changed, unsigned blocks, unsigned threads, int per_thread, simt::emulation* stream);
void run_shuffle_xor(int* out, int mask, bool last_leaves, simt::emulation* stream);
void run_two_write(int* out, simt::emulation* stream);
void run_fetch_three(const float* in, float* out, simt::emulation* stream);
void run_barriers(unsigned blocks, unsigned threads, int n, simt::emulation* stream);
void run_sum_and_share(const int* in, int* out, simt::emulation* stream);
int buffer_size(simt::emulation* stream);

}  // namespace emulated
}  // namespace warpcheck::self

#endif
