// The host reads a clock before, between and after two launches; the argument selects the clock.
#include <omp.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/times.h>
#include <unistd.h>
#ifdef __x86_64__
#include <x86intrin.h>
#endif

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
  tms of_process;
  rusage use;
  unsigned low, high;
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
    case 10: return times(&of_process);                                      // clock 10
    case 11: return getrusage(RUSAGE_SELF, &use);                            // clock 11
    case 12: return syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &s);         // clock 12
    case 13: return omp_get_wtime() < 0;                                     // clock 13
#ifdef __x86_64__
    case 14: return __rdtsc();                                           // clock 14
    case 15: return _rdtsc();                                            // clock 15
    case 16: return __builtin_ia32_rdtsc();                              // clock 16
    case 17: return __rdtscp(&low);                                      // clock 17
    case 18: asm volatile("rdtsc" : "=a"(low), "=d"(high)); return low;  // clock 18
#endif
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
