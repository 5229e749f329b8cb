// The host reads a clock before, between and after two launches; the argument selects the clock.
#include <sys/time.h>

#include <chrono>
#include <cstdlib>
#include <ctime>

__global__ void k(int* x) { x[threadIdx.x] = 1; }

long now(int clock_number) {
  using namespace std::chrono;
  static cudaEvent_t event;
  if (event == nullptr) cudaEventCreate(&event);
  cudaEventRecord(event);
  timeval v;
  timespec s;
  float ms;
  switch (clock_number) {
    case 0: return steady_clock::now().time_since_epoch().count();           // clock 0
    case 1: return system_clock::now().time_since_epoch().count();           // clock 1
    case 2: return high_resolution_clock::now().time_since_epoch().count();  // clock 2
    case 3: return clock();                                                  // clock 3
    case 4: return std::clock();                                             // clock 4
    case 5: return time(nullptr);                                            // clock 5
    case 6: return gettimeofday(&v, nullptr) + v.tv_sec;                     // clock 6
    case 7: return clock_gettime(CLOCK_MONOTONIC, &s) + s.tv_sec;            // clock 7
    case 8: return timespec_get(&s, TIME_UTC) + s.tv_sec;                    // clock 8
    case 9: return cudaEventElapsedTime(&ms, event, event) + (long)ms;       // clock 9
  }
  return 0;
}

int main(int, char** argv) {
  int* x;
  cudaMalloc(&x, 256);
  now(atoi(argv[1]));
  k<<<1, 64>>>(x);
  cudaDeviceSynchronize();
  const bool is_late = now(atoi(argv[2])) == 1;
  k<<<1, 64 - is_late>>>(x);
  now(0);
  cudaFree(x);
}
