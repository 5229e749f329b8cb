// Tiled transpose. With NO_EDGE_CHECK the tiles at the edge read beyond the matrix.
#include <cstdio>
#include <cstdlib>

#define TILE 16
#ifdef NO_EDGE_CHECK
#define INSIDE(x, y) true
#else
#define INSIDE(x, y) ((x) < width && (y) < height)
#endif

__global__ void transpose(float* __restrict__ out, const float* __restrict__ in, int width, int height) {
  __shared__ float tile[TILE]
                       [TILE + 1];  // two lines, one declaration
  int x = blockIdx.x * TILE + threadIdx.x;
  int y = blockIdx.y * TILE + threadIdx.y;
  if (INSIDE(x, y))
    tile[threadIdx.y][threadIdx.x] = in[y * width + x];  // out_of_bounds
  __syncthreads();
  x = blockIdx.y * TILE + threadIdx.x;
  y = blockIdx.x * TILE + threadIdx.y;
  if (x < height && y < width) out[y * height + x] = tile[threadIdx.x][threadIdx.y];
}

int main() {
  const int width = 37, height = 21;
  const size_t bytes = width * height * sizeof(float);
  float* h_in = (float*)malloc(bytes);
  float* h_out = (float*)malloc(bytes);
  for (int i = 0; i < width * height; i++) h_in[i] = (float)i;
  float *d_in, *d_out;
  cudaMalloc((void**)&d_in, bytes);
  cudaMalloc((void**)&d_out, bytes);
  cudaMemcpy(d_in, h_in, bytes, cudaMemcpyHostToDevice);
  dim3 threads(TILE, TILE);
  dim3 blocks((width + TILE - 1) / TILE, (height + TILE - 1) / TILE);
  cudaEvent_t start, stop;
  cudaEventCreate(&start);
  cudaEventCreate(&stop);
  cudaEventRecord(start);
  transpose<<<blocks, threads>>>(d_out, d_in, width, height);
  cudaEventRecord(stop);
  cudaEventSynchronize(stop);
  float ms = 1;
  cudaEventElapsedTime(&ms, start, stop);
  cudaMemcpy(h_out, d_out, bytes, cudaMemcpyDeviceToHost);
  int wrong = 0;
  for (int y = 0; y < height; y++)
    for (int x = 0; x < width; x++) wrong += h_out[x * height + y] != h_in[y * width + x];
  printf("%d wrong, %g ms\n", wrong, ms);
  cudaEventDestroy(start);
  cudaEventDestroy(stop);
  cudaFree(d_in);
  cudaFree(d_out);
  free(h_in);
  free(h_out);
  return wrong != 0;
}
