// A launch that takes long enough to run in parts; with -D BUG, its last block reads what its first one writes.
#include <unistd.h>
#include <cstdio>
#include <set>
#include <vector>
__global__ void turn(const int* in, int* out, int* processes, int rounds) {
  __shared__ int s[256];
  const int i = blockIdx.x * 256 + threadIdx.x;
  int sum = 0;
  for (int r = 0; r < rounds; ++r) {
    s[threadIdx.x] = in[i] + r;
    __syncthreads();
    sum += s[255 - threadIdx.x];
    __syncthreads();
  }
  out[i] = sum;  // written
#ifdef BUG
  if (blockIdx.x == gridDim.x - 1) out[i] += out[0];  // read
#endif
  if (threadIdx.x == 0) processes[blockIdx.x] = getpid();
}
int main() {
  const int blocks = 400, n = blocks * 256;
  std::vector<int> values(n), of_blocks(blocks);
  for (int i = 0; i < n; ++i) values[i] = i % 101;
  int *in, *out, *processes;
  cudaMalloc(&in, n * sizeof(int));
  cudaMalloc(&out, n * sizeof(int));
  cudaMalloc(&processes, blocks * sizeof(int));
  cudaMemcpy(in, values.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  turn<<<blocks, 256>>>(in, out, processes, 60);
  cudaMemcpy(values.data(), out, n * sizeof(int), cudaMemcpyDeviceToHost);
  cudaMemcpy(of_blocks.data(), processes, blocks * sizeof(int), cudaMemcpyDeviceToHost);
  int wrong = 0;
  for (int i = 0; i < n; ++i) wrong += values[i] != 60 * ((i / 256 * 256 + 255 - i % 256) % 101) + 59 * 30;
  const std::set<int> different(of_blocks.begin(), of_blocks.end());
  printf("%d wrong, in %s\n", wrong, different.size() > 1 ? "parts" : "one process");
  cudaFree(in), cudaFree(out), cudaFree(processes);
}
