// Structs that are arguments or results of functions which are not inlined. In each mode, thread 0 writes what thread
// 40 reads.
#include <cstdlib>

struct S {
  int a, b, c, d;
};
union U {
  int a;
  char bytes[64];
};
struct N {
  S lo, hi;
  __device__ __noinline__ int sum(N other) const { return lo.a + other.hi.d; }
};
template <class T>
__device__ __noinline__ int take(T s) {
  return s.a;
}
__device__ __noinline__ int take4(int4 s) { return s.w; }
template <class T>
__device__ __noinline__ T make() {
  T s;
  s.a = 1;
  return s;
}

__global__ void k(S* s, U* u, int4* v, N* n, int* out, int mode) {
  if (threadIdx.x == 0) {
    if (mode == 0) s[3].d = 1;           // write 0
    if (mode == 1) u[3].bytes[63] = 1;   // write 1
    if (mode == 2) v[3].y = 1;           // write 2
    if (mode == 3) n[3].hi.b = 1;        // write 3
    if (mode == 4) n[3].lo.b = 1;        // write 4
    if (mode == 5) n[3].lo = make<S>();  // write 5
    if (mode == 6) u[3] = make<U>();     // write 6
  } else if (threadIdx.x == 40) {
    if (mode == 0) *out = take(s[3]);                             // read 0
    if (mode == 1) *out = take(u[3]);                             // read 1
    if (mode == 2) *out = take4(v[3]);                            // read 2
    if (mode == 3) *out = n[2].sum(n[3]);                         // read 3
    if (mode == 4) *out = take(out[1] == 0 ? n[3].lo : n[3].hi);  // read 4
    if (mode == 5) *out = take(n[3].lo);                          // read 5
    if (mode == 6) *out = u[3].bytes[60];                         // read 6
  }
}

int main(int, char** argv) {
  char* x;
  cudaMalloc(&x, 4096);
  cudaMemset(x, 0, 4096);
  k<<<1, 64>>>((S*)x, (U*)x, (int4*)x, (N*)x, (int*)x + 1000, atoi(argv[1]));
  cudaFree(x);
}
