// Host side of parts_kernels.cu on the emulated device.
#pragma once

#ifndef __CUDACC__

namespace simt {
struct emulation;
}

namespace warpcheck::self {
inline namespace emulated {

// What a late block of a launch does beside the work of all.
enum class extra : int {
  nothing,
  reads_first,    // the output of the first block
  writes_first,   // the same
  leaves_bounds,  // by a write far behind the buffers
  diverges,       // at barriers
  asks,           // one warp for a word of the other, again and again
  counts,         // by an atomic on device memory
  swaps,          // by another one, whose result depends on the order
  prints,
  writes_host,
};

inline constexpr int k_part_threads = 64;

// Each block exchanges its part of `in` through shared memory, and writes 64 words.
void run_exchange(const int* in, int* out, unsigned blocks, extra what, int* host, simt::emulation* stream);
// Byte i of `out` becomes the block i % blocks, which writes it.
void run_scatter(unsigned char* out, unsigned blocks, simt::emulation* stream);
// The same as run_exchange, of clusters of two blocks, each of which exchanges with the other.
void run_clusters(const int* in, int* out, unsigned blocks, simt::emulation* stream);
// Each block updates 4 words by each operation that commutes, and both words of `sums`. `of_block`: the first block and
// a late one also update words[32], one of them in the scope of its block.
void run_updates(unsigned* words, unsigned long long* sums, unsigned blocks, bool of_block, simt::emulation* stream);
// out[i] = in[i] + 1, in a launch that may overlap the one before.
void run_overlapping(const int* in, int* out, unsigned blocks, simt::emulation* stream);

}  // namespace emulated
}  // namespace warpcheck::self

#endif
