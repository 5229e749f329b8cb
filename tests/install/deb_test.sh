#!/usr/bin/env bash
# deb_test.sh CPACK BUILD_FOLDER: makes the Debian package, unpacks it in a scratch root, and has the command in it
# compile and run sources: a program that races, one that does not, a candidate; and without a compiler.
set -euo pipefail
cpack=$1 build=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export HOME=$scratch/home
unset XDG_CACHE_HOME
mkdir "$HOME"
(cd "$scratch" && "$cpack" -G DEB --config "$build/CPackConfig.cmake" -B "$scratch/made") >"$scratch/log" 2>&1 ||
  { cat "$scratch/log"; exit 1; }
package=("$scratch"/made/*.deb)
dpkg-deb --field "${package[0]}" Package Version Depends
dpkg-deb --extract "${package[0]}" "$scratch/root"
warpcheck=$scratch/root/usr/bin/warpcheck
cd "$scratch"

expect() {  # expect CODE TEXT COMMAND...
  local code=$1 text=$2 status=0
  shift 2
  "$@" >said 2>&1 || status=$?
  [ $status = "$code" ] && grep -qF -- "$text" said ||
    { echo "'$*' ended with $status, expected $code and '$text':"; cat said; exit 1; }
}

cat >sum.cu <<'CU'
#include <cstdio>
__global__ void sum(const int* x, int* y) {
  __shared__ int all[64];
  all[threadIdx.x] = x[threadIdx.x];
#ifndef RACE
  __syncthreads();
#endif
  if (threadIdx.x == 0) {
    int s = 0;
    for (int i = 0; i < 64; ++i) s += all[i];
    *y = s;
  }
}
int main() {
  int *x, *y, result, ones[64];
  for (int& one : ones) one = 1;
  cudaMalloc(&x, sizeof ones);
  cudaMalloc(&y, sizeof *y);
  cudaMemcpy(x, ones, sizeof ones, cudaMemcpyHostToDevice);
  sum<<<1, 64>>>(x, y);
  cudaMemcpy(&result, y, sizeof result, cudaMemcpyDeviceToHost);
  std::printf("sum %d\n", result);
}
CU
expect 0 "sum 64" "$warpcheck" run-emulated sum.cu
expect 1 "race" "$warpcheck" run-emulated sum.cu -D RACE
grep -q "sum.cu:" said  # by the name that the user gave
[ ! -e "$scratch/root/usr/bin/imported" ]

cat >mine.cu <<'CU'
__global__ void rows_softmax(const float* x, int64_t ldx, float* y, int64_t ldy, int64_t cols) {
  if (threadIdx.x != 0) return;
  const float* in = x + blockIdx.x * ldx;
  float* out = y + blockIdx.x * ldy;
  float sum = 0;
  for (int64_t i = 0; i < cols; ++i) sum += expf(in[i]);
  for (int64_t i = 0; i < cols; ++i) out[i] = expf(in[i]) / sum;
}
extern "C" void mine(const float* x, int64_t ldx, float* y, int64_t ldy, int64_t rows, int64_t cols,
                     cudaStream_t stream) {
  if (rows > 0 && cols > 0) rows_softmax<<<rows, 32, 0, stream>>>(x, ldx, y, ldy, cols);
}
CU
expect 1 "within-error-bound" "$warpcheck" verify softmax --source mine.cu --entry mine --device emulated \
  --property within-error-bound --cases 5 --dtype f32 --size quick

expect 3 "of a build folder" "$warpcheck" mutants softmax

json=$scratch/root/usr/lib/warpcheck/warpcheck_toolchain.json
sed -i 's,"compiler": "[^"]*/\([^/"]*\)"\,$,"compiler": "/nowhere/no-such-compiler"\,,' "$json"
grep -q no-such-compiler "$json"
expect 3 "the compiler '/nowhere/no-such-compiler'" "$warpcheck" run-emulated sum.cu
