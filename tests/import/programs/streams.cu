// Work of several streams and of the host, by mode: the first argument. With UNORDERED the call that orders two of them
// is left out, and the accesses that then race are marked.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

constexpr int k_items = 64;
constexpr size_t k_bytes = k_items * sizeof(int);

#ifdef UNORDERED
#define ORDERS(...)
#else
#define ORDERS(...) __VA_ARGS__
#endif

__global__ void fill(int* y) {
  y[threadIdx.x] = static_cast<int>(threadIdx.x);  // fill
}
__global__ void add(const int* x, int* y) {
  y[threadIdx.x] = x[threadIdx.x] + 1;  // add
}
__global__ void count(int* counts) {
  atomicAdd(counts + threadIdx.x % 4, 1);  // count
}
__global__ void fill_bytes(char* bytes, int first) { bytes[2 * threadIdx.x + first] = 1; }
// A copy of one byte more than the word before it.
__global__ void write_over_words(char* bytes) {
  const int one = 1;
  *reinterpret_cast<int*>(bytes) = one;
  std::memcpy(bytes + 1, &one, 4);
}
__global__ void read_byte(const char* bytes, int* y) {
  *y = bytes[4];  // unaligned-copy
}
__global__ void announce(int* data, volatile int* flag) {
  *data = 7;
  __threadfence_system();
  *flag = 1;
}

struct world {
  const char* mode;
  int *x = nullptr, *y = nullptr;  // of the device
  int host[k_items] = {};
  int expected = 0, actual = 0;
  bool is(const char* name) const { return std::strcmp(mode, name) == 0; }
};

cudaStream_t stream_of(unsigned flags) {
  cudaStream_t made = nullptr;
  cudaStreamCreateWithFlags(&made, flags);
  return made;
}

// The host and memory that it shares.
void share_memory(world& w) {
  int* shared = nullptr;
  if (w.is("managed-read")) {
    cudaMallocManaged(&shared, 16);
    for (int i = 0; i < 4; ++i) shared[i] = 0;
    count<<<1, k_items>>>(shared);  // managed-read-launch
    ORDERS(cudaDeviceSynchronize());
    w.actual = shared[1];  // managed-read
    w.expected = k_items / 4;
    cudaFree(shared);
  }
  if (w.is("managed-write")) {
    cudaMallocManaged(&shared, k_bytes);
    const cudaStream_t s = stream_of(cudaStreamDefault);
    fill<<<1, k_items, 0, s>>>(shared);  // managed-write-launch
    ORDERS(cudaStreamSynchronize(s));
    shared[3] = 9;  // managed-write
    cudaDeviceSynchronize();
    w.actual = shared[3];
    w.expected = 9;
    cudaFree(shared);
  }
  if (w.is("pinned-result") || w.is("pinned-source")) {
    cudaMallocHost(&shared, k_bytes);
    std::memset(shared, 1, k_bytes);
    const cudaStream_t s = stream_of(cudaStreamNonBlocking);
    if (w.is("pinned-result")) {
      cudaMemsetAsync(w.y, 0, k_bytes, s);
      cudaMemcpyAsync(shared, w.y, k_bytes, cudaMemcpyDeviceToHost, s);  // pinned-result-copy
      ORDERS(cudaStreamSynchronize(s));
      w.actual = shared[2];  // pinned-result
    } else {
      cudaMemcpyAsync(w.y, shared, k_bytes, cudaMemcpyHostToDevice, s);  // pinned-source-copy
      ORDERS(cudaStreamSynchronize(s));
      shared[2] = 5;  // pinned-source
    }
    cudaStreamSynchronize(s);
    cudaFreeHost(shared);
  }
  if (w.is("pageable-result") || w.is("pageable-source")) {
    shared = static_cast<int*>(std::malloc(k_bytes));
    std::memset(shared, 0, k_bytes);
    const cudaStream_t s = stream_of(cudaStreamDefault);
    cudaMemsetAsync(w.y, 0, k_bytes, s);
    if (w.is("pageable-result")) {
      cudaMemcpyAsync(shared, w.y, k_bytes, cudaMemcpyDeviceToHost, s);  // pageable-result-copy
      ORDERS(cudaStreamSynchronize(s));
      w.actual = shared[2];  // pageable-result
    } else {
      cudaMemcpyAsync(w.y, shared, k_bytes, cudaMemcpyHostToDevice, s);  // pageable-source-copy
      ORDERS(cudaStreamSynchronize(s));
      shared[2] = 5;  // pageable-source
    }
    cudaDeviceSynchronize();
    std::free(shared);
  }
}

// Graphs, memory that belongs to a stream, and an access to parts of two words.
void share_longer(world& w, cudaStream_t a, cudaStream_t b, cudaEvent_t event) {
  if (w.is("graph-branches")) {
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaStreamBeginCapture(a, cudaStreamCaptureModeThreadLocal);
    cudaEventRecord(event, a);
    cudaStreamWaitEvent(b, event);
    fill<<<1, k_items, 0, a>>>(w.x);  // graph-branches-launch
    ORDERS(cudaEventRecord(event, a));
    ORDERS(cudaStreamWaitEvent(b, event));
    add<<<1, k_items, 0, b>>>(w.x, w.y);  // graph-branches
    cudaEventRecord(event, b);
    cudaStreamWaitEvent(a, event);
    cudaStreamEndCapture(a, &graph);
    cudaGraphInstantiate(&exec, graph, 0);
    cudaGraphLaunch(exec, a);
    cudaGraphLaunch(exec, a);
    cudaStreamSynchronize(a);
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
  }
  if (w.is("freed-in-a-stream")) {
    int* of_stream = nullptr;
    cudaMallocAsync(&of_stream, k_bytes, a);
    fill<<<1, k_items, 0, a>>>(of_stream);  // freed-in-a-stream-launch
    ORDERS(cudaEventRecord(event, a));
    ORDERS(cudaStreamWaitEvent(b, event));
    cudaFreeAsync(of_stream, b);  // freed-in-a-stream
    cudaDeviceSynchronize();
  }
  if (w.is("waited-for-one")) {  // and not for the other stream
    int* shared = nullptr;
    cudaMallocManaged(&shared, 2 * k_bytes);
    fill<<<1, k_items, 0, a>>>(shared);  // waited-for-one-launch
    fill<<<1, k_items, 0, b>>>(shared + k_items);
    ORDERS(cudaStreamSynchronize(a));
    w.actual = shared[5], w.expected = 5;  // waited-for-one
    cudaDeviceSynchronize();
    cudaFree(shared);
  }
  if (w.is("unaligned-copy")) {
    write_over_words<<<1, 1, 0, a>>>(reinterpret_cast<char*>(w.x));  // unaligned-copy-launch
    ORDERS(cudaStreamSynchronize(a));
    read_byte<<<1, 1, 0, b>>>(reinterpret_cast<char*>(w.x), w.y);
    cudaDeviceSynchronize();
  }
}

// Two streams.
void share_work(world& w) {
  const bool is_blocking = w.is("blocking-streams") || w.is("legacy-joins");
  const unsigned flags = is_blocking ? cudaStreamDefault : cudaStreamNonBlocking;
  const cudaStream_t a = stream_of(flags), b = stream_of(flags);
  cudaEvent_t event;
  cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
  if (w.is("stream-and-default")) {
    fill<<<1, k_items, 0, a>>>(w.y);  // stream-and-default-launch
    ORDERS(cudaStreamSynchronize(a));
    cudaMemcpy(w.host, w.y, k_bytes, cudaMemcpyDeviceToHost);  // stream-and-default
    w.actual = w.host[5], w.expected = 5;
  }
  if (w.is("blocking-streams")) {
    fill<<<1, k_items, 0, a>>>(w.x);  // blocking-streams-launch
    ORDERS(cudaStreamSynchronize(a));
    add<<<1, k_items, 0, b>>>(w.x, w.y);  // blocking-streams
    cudaDeviceSynchronize();
  }
  if (w.is("event")) {
    fill<<<1, k_items, 0, a>>>(w.x);  // event-launch
    ORDERS(cudaEventRecord(event, a));
    ORDERS(cudaStreamWaitEvent(b, event));
    add<<<1, k_items, 0, b>>>(w.x, w.y);  // event
    cudaStreamSynchronize(b);
    cudaMemcpyAsync(w.host, w.y, k_bytes, cudaMemcpyDeviceToHost, b);
    cudaStreamSynchronize(b);
    w.actual = w.host[5], w.expected = 6;
  }
  if (w.is("late-event")) {  // recorded before what it is to wait for
    ORDERS(fill<<<1, k_items, 0, a>>>(w.x));
    cudaEventRecord(event, a);
#ifdef UNORDERED
    fill<<<1, k_items, 0, a>>>(w.x);  // late-event-launch
#endif
    cudaEventSynchronize(event);
    add<<<1, k_items, 0, b>>>(w.x, w.y);  // late-event
    cudaDeviceSynchronize();
  }
  if (w.is("legacy-joins")) {  // a launch in the legacy default stream lies between
    fill<<<1, k_items, 0, a>>>(w.x);  // legacy-joins-launch
    ORDERS(fill<<<1, k_items>>>(w.y));
    add<<<1, k_items, 0, b>>>(w.x, w.y);  // legacy-joins
    cudaDeviceSynchronize();
  }
  if (w.is("pageable-upload")) {  // the copy may not be there when the call returns
    int* const source = static_cast<int*>(std::calloc(k_items, sizeof(int)));
    cudaMemcpy(w.x, source, k_bytes, cudaMemcpyHostToDevice);  // pageable-upload-copy
    ORDERS(cudaDeviceSynchronize());
    add<<<1, k_items, 0, b>>>(w.x, w.y);  // pageable-upload
    cudaDeviceSynchronize();
    std::free(source);
  }
  share_longer(w, a, b, event);
  cudaEventDestroy(event);
  cudaStreamDestroy(a);
  cudaStreamDestroy(b);
}

void set_to_three(void* p) {
  *static_cast<int*>(p) = 3;  // host-function
}

// What orders nothing wrong: clean with UNORDERED, too.
void be_right(world& w) {
  const cudaStream_t a = stream_of(cudaStreamNonBlocking), b = stream_of(cudaStreamNonBlocking);
  if (w.is("disjoint-bytes")) {
    fill_bytes<<<1, 32, 0, a>>>(reinterpret_cast<char*>(w.x), 0);
    fill_bytes<<<1, 32, 0, b>>>(reinterpret_cast<char*>(w.x), 1);
  }
  if (w.is("common-atomics")) {
    cudaMemsetAsync(w.x, 0, k_bytes, a);
    cudaStreamSynchronize(a);
    count<<<1, k_items, 0, a>>>(w.x);
    count<<<1, k_items, 0, b>>>(w.x);
  }
  if (w.is("polled-flag")) {
    int* pinned = nullptr;
    cudaMallocHost(&pinned, 2 * sizeof(int));
    pinned[1] = 0;
    announce<<<1, 1, 0, a>>>(pinned, pinned + 1);
    while (static_cast<volatile int*>(pinned)[1] == 0) {
    }
    w.actual = pinned[0], w.expected = 7;
    cudaFreeHost(pinned);
  }
  if (w.is("free-waits")) {
    int *managed = nullptr, *other = nullptr;
    cudaMallocManaged(&managed, k_bytes);
    cudaMalloc(&other, 4);
    fill<<<1, k_items, 0, a>>>(managed);
    cudaFree(other);
    w.actual = managed[4], w.expected = 4;
    cudaFree(managed);
  }
  if (w.is("query-knows")) {
    int* managed = nullptr;
    cudaMallocManaged(&managed, k_bytes);
    fill<<<1, k_items, 0, a>>>(managed);
    while (cudaStreamQuery(a) == cudaErrorNotReady) {
    }
    w.actual = managed[4], w.expected = 4;
    cudaFree(managed);
  }
  if (w.is("stack-source")) {
    for (int i = 0; i < 3; ++i) {
      int value = i;
      cudaMemcpyAsync(w.x + i, &value, sizeof value, cudaMemcpyHostToDevice, a);
    }
  }
  cudaDeviceSynchronize();
  cudaStreamDestroy(a);
  cudaStreamDestroy(b);
}

void call_back(world& w) {
  if (!w.is("host-function")) return;
  int* managed = nullptr;
  cudaMallocManaged(&managed, sizeof(int));
  const cudaStream_t a = stream_of(cudaStreamNonBlocking);
  cudaLaunchHostFunc(a, set_to_three, managed);  // host-function-call
  ORDERS(cudaStreamSynchronize(a));
  w.actual = *managed, w.expected = 3;  // host-function-read
  cudaFree(managed);
  cudaStreamDestroy(a);
}

int main(int, char** argv) {
  world w{argv[1]};
  cudaMalloc(&w.x, k_bytes);
  cudaMalloc(&w.y, k_bytes);
  share_memory(w);
  share_work(w);
  be_right(w);
  call_back(w);
  cudaFree(w.x);
  cudaFree(w.y);
  return w.actual == w.expected || w.expected == 0 ? 0 : 3;
}
