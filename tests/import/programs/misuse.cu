// One mistake per mode, named by the first argument.
#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

template <int N>
__global__ void clear(int* p) {
  if (threadIdx.x < N) p[threadIdx.x] = 0;
}
__global__ void fill(int* p, int n) {  // the-kernel
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] = i;  // kernel-write
}

__global__ void read_one(const int* p, int* out) {
  *out = p[3];  // uninitialized
}

__global__ void add_up(const int* p, int n, int* out) {
  for (int i = 0; i < n; ++i) atomicAdd(out, p[i]);  // host-read
}

template <class T>
__global__ void add_one(T* p) {
  atomicAdd(p, T{1});  // host-atomic
}

__global__ void store_past(int* begin, const int* end, const void* opaque) {
  if (begin + 1 < end && opaque != nullptr) begin[1] = 1;
}

__global__ void half_a_barrier(int* p) {
  if (threadIdx.x < 16) {
    __syncthreads();  // barrier
    p[threadIdx.x] = 1;
  } else {
    __syncwarp();  // other
    p[threadIdx.x] = 2;
    __syncthreads();
    __syncthreads();
  }
}

__global__ void sum_of_four(const float* p, float* out) {
  const float4 v = *reinterpret_cast<const float4*>(p + 1);  // misaligned
  *out = v.x + v.y + v.z + v.w;
}

__global__ void four_zeros(float* p) {
  *reinterpret_cast<float4*>(p + 1) = make_float4(0, 0, 0, 0);  // misaligned-store
}

__device__ int global_counter;
__global__ void count() {
  global_counter++;  // global-race
}

// Ones in a pitched matrix, `width` bytes of three rows laid over them; prints the sum of a column.
void pitched(size_t width, size_t offset) {
  const char rows[3][5] = {{1, 2, 3, 4, 5}, {1, 2, 3, 4, 5}, {1, 2, 3, 4, 5}};
  char* device = nullptr;
  char column[3] = {};
  size_t pitch = 0;
  cudaMallocPitch(&device, &pitch, 5, 3);
  cudaMemset2DAsync(device, pitch, 1, 5, 3);
  cudaMemcpy2DAsync(device + offset, pitch, rows, 5, width, 3, cudaMemcpyHostToDevice);  // pitched
  cudaMemcpy2D(column, 1, device + 3, pitch, 1, 3, cudaMemcpyDeviceToHost);
  std::printf("%d\n", column[0] + column[1] + column[2]);
  cudaFree(device);
}

// Launches with one attribute.
void launch_with(cudaLaunchAttributeID id, dim3 cluster, size_t bytes, int* p) {
  cudaLaunchAttribute attribute;
  attribute.id = id;
  attribute.val.clusterDim = {cluster.x, cluster.y, cluster.z};
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(2);
  config.blockDim = dim3(64);
  config.dynamicSmemBytes = bytes;
  config.attrs = &attribute;
  config.numAttrs = 1;
  cudaLaunchKernelEx(&config, fill, p, 64);  // attributes
}

// The mode, and what all of them have.
struct world {
  const char* mode;
  int *p, *q, host[64];
  bool is(const char* name) const { return std::strcmp(mode, name) == 0; }
};

// Copies, frees and launches that the runtime refuses.
void misuse_the_runtime(world& w) {
  int *const p = w.p, *const host = w.host;
  if (w.is("copy-past-the-end")) cudaMemcpy(p, host, 65 * sizeof(int), cudaMemcpyHostToDevice);  // copy-past-the-end
  if (w.is("wrong-direction")) cudaMemcpy(p, host, sizeof w.host, cudaMemcpyDeviceToHost);       // wrong-direction
  if (w.is("copy-of-nothing")) cudaMemcpy(p, nullptr, sizeof w.host, cudaMemcpyHostToDevice);    // copy-of-nothing
  if (w.is("double-free")) {
    cudaFree(p);
    cudaFree(p);  // double-free
  }
  if (w.is("too-many-threads")) fill<<<1, 2048>>>(p, 64);
  if (w.is("too-much-shared-memory")) fill<<<1, 64, 64 * 1024>>>(p, 64);  // too-much-shared-memory
  if (w.is("too-much-for-a-template")) clear<4><<<1, 64, 64 * 1024>>>(p);  // too-much-for-a-template
  if (w.is("opted-in-shared-memory")) {
    cudaFuncSetAttribute(fill, cudaFuncAttributeMaxDynamicSharedMemorySize, 64 * 1024);
    fill<<<1, 64, 64 * 1024>>>(p, 64);
  }
  if (w.is("cluster")) launch_with(cudaLaunchAttributeClusterDimension, dim3(2, 1, 1), 0, p);
  if (w.is("square-cluster")) launch_with(cudaLaunchAttributeClusterDimension, dim3(2, 2, 1), 0, p);
  if (w.is("odd-cluster")) launch_with(cudaLaunchAttributeClusterDimension, dim3(3, 1, 1), 0, p);
  if (w.is("unknown-attribute")) launch_with(static_cast<cudaLaunchAttributeID>(3), dim3(1), 0, p);
  if (w.is("configured-shared-memory")) launch_with(cudaLaunchAttributeIgnore, dim3(1), 64 * 1024, p);
  if (w.is("cooperative-shared-memory")) {
    int n = 64;
    void* arguments[] = {&w.p, &n};
    cudaLaunchCooperativeKernel(fill, dim3(1), dim3(64), arguments, 64 * 1024);  // cooperative-shared-memory
  }
  if (w.is("limited-block")) {
    int grid = 0, block = 0;
    cudaOccupancyMaxPotentialBlockSize(&grid, &block, fill, 0, 80);
    std::printf("blocks of %d\n", block);
  }
  if (w.is("pitched")) pitched(5, 1);
  if (w.is("pitched-past-the-end")) pitched(5, 510);
  if (w.is("wider-than-the-pitch")) pitched(6, 0);
}

// Pointers of the host in kernels.
void misuse_pointers(world& w) {
  int *const p = w.p, *const host = w.host;
  if (w.is("null-pointer")) fill<<<1, 1>>>(nullptr, 1);
  if (w.is("host-pointer-to-the-stack")) add_up<<<1, 1>>>(host, 64, w.q);
  if (w.is("host-pointer-to-the-heap")) {
    int* const heap = static_cast<int*>(std::calloc(64, sizeof(int)));
    fill<<<2, 32>>>(heap, 64);
    std::free(heap);
  }
  if (w.is("host-pointer-of-a-template")) add_one<<<1, 1>>>(host);
  if (w.is("host-pointer-in-a-cooperative-launch")) {
    int n = 64, *of_host = host;
    void* arguments[] = {&of_host, &n};
    cudaLaunchCooperativeKernel(fill, dim3(1), dim3(64), arguments);
  }
  // The end of a buffer, and an address that the kernel only compares.
  if (w.is("host-pointer-that-nobody-follows")) store_past<<<1, 1>>>(p, p + 64, host);
  if (w.is("host-pointer-after-an-error")) {
    fill<<<1, 64>>>(host, 64);
    fill<<<1, 64>>>(p, 64);
  }
  if (w.is("pinned-memory")) {
    int* pinned = nullptr;
    cudaMallocHost(&pinned, sizeof w.host);
    fill<<<1, 64>>>(pinned, 64);
    cudaFreeHost(pinned);
  }
}

// What kernels do to memory that is theirs.
void misuse_memory(world& w) {
  auto* const floats = reinterpret_cast<float*>(w.p);
  if (w.is("write-past-the-end")) fill<<<2, 64>>>(w.p, 65);
  if (w.is("misaligned-load")) sum_of_four<<<1, 1>>>(floats, reinterpret_cast<float*>(w.q));
  if (w.is("misaligned-store")) four_zeros<<<1, 1>>>(floats);
  if (w.is("never-written")) read_one<<<1, 1>>>(w.p, w.q);
  if (w.is("diverged-barrier")) half_a_barrier<<<1, 32>>>(w.p);
  if (w.is("race-on-a-variable")) count<<<2, 32>>>();
}

// Ways for the program to end early.
void end(const world& w) {
  if (w.is("segfault")) *static_cast<volatile int*>(nullptr) = 1;
  if (w.is("abort")) std::abort();
  if (w.is("double-free-then-segfault")) {
    cudaFree(w.p);
    cudaFree(w.p);  // before-the-crash
    *static_cast<volatile int*>(nullptr) = 1;
  }
  if (w.is("called-as-a-function")) {
    void (*const function)(int*, int) = fill;
    function(w.p, 1);
  }
  if (w.is("hang")) {
    fill<<<1, 1>>>(w.p, 1);
    fill<<<1, 1>>>(w.p, 1);
    for (volatile int spin = 0;; spin = spin + 1) {
    }
  }
  if (w.is("throw")) throw 3;
  if (w.is("uncaught")) throw std::invalid_argument("too small");
  if (w.is("exit-7")) std::exit(7);
  if (w.is("exit-0")) std::exit(0);
}

// Memory that is mapped by hand to the first half of a range, of which a kernel writes 64 numbers.
void misuse_mapped_memory(const world& w) {
  const size_t bytes = size_t{2} << 20;
  CUmemAllocationProp of = {};
  of.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  of.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  const CUmemAccessDesc access = {of.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  CUmemGenericAllocationHandle handle;
  CUdeviceptr p;
  cuMemAddressReserve(&p, 2 * bytes, 0, 0, 0);
  cuMemCreate(&handle, bytes, &of, 0);
  cuMemMap(p, bytes, 0, handle, 0);
  if (w.is("mapped-copy")) cuMemcpyHtoD(p, w.host, sizeof w.host);  // mapped-copy
  if (!w.is("mapped-without-access")) cuMemSetAccess(p, bytes, &access, 1);
  fill<<<1, 64>>>(reinterpret_cast<int*>(p + (w.is("mapped-past-the-end") ? bytes : 0)), 64);
  cuMemUnmap(p, bytes);
  cuMemRelease(handle);
  if (w.is("mapped-and-released-twice")) cuMemRelease(handle);  // released-twice
  cuMemAddressFree(p, 2 * bytes);
}

int main(int argc, char** argv) {
  world w{argc > 1 ? argv[1] : "none", nullptr, nullptr, {}};
  if (w.is("nothing-allocated")) fill<<<1, 1>>>(w.p, 1);
  cudaMalloc(&w.p, 64 * sizeof(int));
  cudaMalloc(&w.q, sizeof(int));
  misuse_the_runtime(w);
  misuse_pointers(w);
  misuse_memory(w);
  if (std::strncmp(w.mode, "mapped", 6) == 0) misuse_mapped_memory(w);
  end(w);
  if (w.is("return-5")) return 5;
  if (w.is("leak")) return 0;
  cudaFree(w.q);
  cudaFree(w.p);
  printf("reached the end\n");
}
