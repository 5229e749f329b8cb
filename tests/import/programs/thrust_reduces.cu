// An algorithm of Thrust reads what a kernel wrote before. A GPU runs both in one stream.
#include <thrust/detail/config.h>

__global__ void fill(int* out) { out[threadIdx.x] = threadIdx.x; }

int main() {
  int* numbers;
  cudaMallocManaged(&numbers, 64 * sizeof(int));
  fill<<<1, 64>>>(numbers);
  const int sum = reduce_on_the_host(numbers, numbers + 64);
  cudaFree(numbers);
  return sum != 2016;
}
