// An algorithm of Thrust reads what a kernel wrote before. A GPU runs both in one stream.
#include <thrust/detail/config.h>

__global__ void fill(int* out) { out[threadIdx.x] = threadIdx.x; }

__global__ void add_one(int* p) { p[threadIdx.x] += 1; }

// So does what an algorithm wrote, and a kernel reads.
bool kernel_reads_what_the_host_filled() {
  int* numbers;
  cudaMalloc(&numbers, 64 * sizeof(int));
  fill_on_the_host(numbers, numbers + 64, 2);
  add_one<<<1, 64>>>(numbers);
  const int sum = reduce_on_the_host(numbers, numbers + 64);
  cudaFree(numbers);
  return sum == 192;
}

int main() {
  int* numbers;
  cudaMallocManaged(&numbers, 64 * sizeof(int));
  fill<<<1, 64>>>(numbers);
  const int sum = reduce_on_the_host(numbers, numbers + 64);
  cudaFree(numbers);
  return sum != 2016 || !kernel_reads_what_the_host_filled();
}
