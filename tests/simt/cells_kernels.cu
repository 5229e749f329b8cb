// Accesses to device memory that its packed cells have no place for.
#include "tests/simt/cells_kernels.hpp"

#include "simt/simt.hpp"

namespace warpcheck::self {
inline namespace SIMT_DEVICE_NS {
namespace {

__device__ int thread_number() { return static_cast<int>(threadIdx.x); }

// More epochs than 16 bits count.
__global__ void late_epochs(int* words, int flaw) {
  const int t = thread_number();
  for (int i = 0; i < 70000; ++i) {
    __syncwarp();
    if (i == 60000) __syncthreads();  // which comes after the epoch that the later ones would be taken for
  }
  if (t == 3) words[0] = 1;
  if (flaw != 1) __syncthreads();
  if (t == 35) words[1] = words[0];
}

// A write and two reads that are not ordered, then a write, and a read.
__global__ void many_accesses(int* words, int flaw) {
  const int t = thread_number();
  if (t == 0) words[0] = 1;
  __syncthreads();
  if (t == 40 || t == 80) words[t] = words[0];
  if (flaw != 1) __syncthreads();
  if (t == 120) words[0] = 2;
  if (flaw != 2) __syncthreads();
  if (t == 125) words[t] = words[0];
}

__global__ void read_after_atomic(int* words, int flaw) {
  const int t = thread_number();
  if (t == 0) atomicAdd(words, 1);
  if (flaw != 1) __syncthreads();
  if (t == 40) words[t] = words[0];
}

// Bytes of a word have different writers and readers; other words are written as a whole.
__global__ void parts_of_words(int* words, int flaw) {
  const int t = thread_number();
  auto* bytes = reinterpret_cast<unsigned char*>(words);
  if (t >= 96) words[t] = t;
  if (flaw != 3) __syncthreads();
  const int last = bytes[(96 + t / 4) * 4 + 3];
  bytes[t * 4 % 128 + t / 32] = 1;
  if (flaw != 1) __syncthreads();
  const int sum = words[t / 4];
  if (flaw != 2) __syncthreads();
  bytes[t] = static_cast<unsigned char>(sum + last);
}

}  // namespace

void run_late_epochs(int* words, int flaw, simt::stream_t stream) {
  simt::launch({dim3(1), dim3(64), 0, stream}, late_epochs, words, flaw);
}
void run_many_accesses(int* words, int flaw, simt::stream_t stream) {
  simt::launch({dim3(1), dim3(128), 0, stream}, many_accesses, words, flaw);
}
void run_read_after_atomic(int* words, int flaw, simt::stream_t stream) {
  simt::launch({dim3(1), dim3(64), 0, stream}, read_after_atomic, words, flaw);
}
void run_parts_of_words(int* words, int flaw, simt::stream_t stream) {
  simt::launch({dim3(1), dim3(128), 0, stream}, parts_of_words, words, flaw);
}

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck::self
