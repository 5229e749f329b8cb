// Host side of schedule_kernels.cu on the emulated device.
#pragma once

#ifndef __CUDACC__

namespace simt {
struct emulation;
}

namespace warpcheck::self {
inline namespace emulated {

void run_softmax(bool trailing_barrier, const float* in, float* out, int rows, int cols, simt::emulation* stream);
void run_read_then_exchange(int* counter, simt::emulation* stream);
void run_arrival_order(int* next, int* order, simt::emulation* stream);
void run_spin_for_ever(const int* flags, int count, int* out, simt::emulation* stream);
void run_ping_pong(int* token, simt::emulation* stream);
void run_wait_for_other_block(int* flags, int count, int* out, simt::emulation* stream);

}  // namespace emulated
}  // namespace warpcheck::self

#endif
