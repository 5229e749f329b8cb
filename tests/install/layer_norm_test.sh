#!/usr/bin/env bash
# layer_norm_test.sh CMAKE BUILD_FOLDER LAYER_NORM_SOURCE CXX: an operator outside the repository. Builds a copy of
# layer_norm against an installation in a scratch folder, and has the installed command verify, fuzz, replay, check and
# list it and kill each of its mutants; then says what is wrong with a case line.
set -euo pipefail
cmake=$1 build=$2 source=$3 cxx=$4
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export HOME=$scratch/home
unset XDG_CACHE_HOME
mkdir "$HOME"
cd "$scratch"

quietly() { "$@" >log 2>&1 || { cat log; exit 1; }; }
expect() {  # expect CODE TEXT COMMAND...
  local code=$1 text=$2 status=0
  shift 2
  "$@" >said 2>&1 || status=$?
  [ $status = "$code" ] && grep -qF -- "$text" said ||
    { echo "'$*' ended with $status, expected $code and '$text':"; cat said; exit 1; }
}

quietly "$cmake" --install "$build" --prefix "$scratch/prefix"
cp -r "$source" project
lines=$(find project -type f -print0 | xargs -0 cat | wc -l)
[ "$lines" -le 600 ] || { echo "layer_norm has $lines lines, of which 600 are allowed"; exit 1; }
quietly "$cmake" -S project -B made -G Ninja -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_PREFIX_PATH="$scratch/prefix"
quietly "$cmake" --build made
export PATH=$scratch/prefix/bin:$PATH
plugin=(warpcheck --plugin made/liblayer_norm.so)

expect 0 "variant layer_norm_warp" "${plugin[@]}" list layer_norm
grep -q "input  x          \[rows, cols\] f32" said
expect 0 "layer_norm     10 properties" "${plugin[@]}" list
expect 0 "within-error-bound" "${plugin[@]}" verify layer_norm --device emulated --cases 60
grep "layer_norm" said
expect 0 "" "${plugin[@]}" fuzz layer_norm --device emulated --cases 2 --out found --property within-error-bound
expect 0 " cases through null kernels" "${plugin[@]}" verify layer_norm --null-kernels --cases 20
expect 0 "2 files agree, 0 do not" "${plugin[@]}" golden check layer_norm --device emulated
expect 0 "0 files written, 2 unchanged" "${plugin[@]}" golden regenerate layer_norm --device emulated
diff -r "$source/golden" project/golden
expect 0 "layer_norm/f32/256x1024" "${plugin[@]}" bench layer_norm --device emulated

# Every mutant dies by its property, and the line that says so tries it again.
expect 0 "" "${plugin[@]}" mutants layer_norm --cases 60
cat said
[ "$(grep -c "as expected" said)" = "$(grep -vcE "^(#|usual)" project/layer_norm.mutants)" ]
replay=$(grep -m 1 -o "warpcheck --plugin .* replay .*" said)
expect 1 "$replay" bash -c "$replay"
expect 0 "lie outside their bound" bash -c "${replay/ replay / explain }"
sed -i 's/squares += (x\[i\] - mean) \* (x\[i\] - mean)/squares += 1/' project/layer_norm.cu
expect 2 "the old text occurs 0 times in layer_norm.cu" "${plugin[@]}" mutants layer_norm

# An entry of a stranger's file for the plug-in's operator.
cat >mine.cu <<'CUDA'
#include <cuda_runtime.h>
#include <cmath>
#include <cstdint>

__global__ void rows_alone(const float* x, int64_t ldx, const float* gamma, const float* beta, float* y, int64_t ldy,
                           float* mean, float* rstd, int64_t rows, int64_t cols, double eps) {
  for (int64_t r = threadIdx.x; r < rows; r += blockDim.x) {
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < cols; ++i) sum += x[r * ldx + i];
    const double center = sum / cols;
    for (int64_t i = 0; i < cols; ++i) squares += (x[r * ldx + i] - center) * (x[r * ldx + i] - center);
    const double scale = 1 / sqrt(squares / cols + eps);
    mean[r] = static_cast<float>(center);
    rstd[r] = static_cast<float>(scale);
    for (int64_t i = 0; i < cols; ++i)
      y[r * ldy + i] = static_cast<float>((x[r * ldx + i] - center) * scale * gamma[i] + beta[i]);
  }
}
extern "C" void mine(const float* x, int64_t ldx, const float* gamma, const float* beta, float* y, int64_t ldy,
                     float* mean, float* rstd, int64_t rows, int64_t cols, double eps, cudaStream_t stream) {
  rows_alone<<<1, 64, 0, stream>>>(x, ldx, gamma, beta, y, ldy, mean, rstd, rows, cols, eps);
}
extern "C" void without_eps(const float* x, int64_t ldx, const float* gamma, const float* beta, float* y, int64_t ldy,
                            float* mean, float* rstd, int64_t rows, int64_t cols, cudaStream_t stream) {
  rows_alone<<<1, 64, 0, stream>>>(x, ldx, gamma, beta, y, ldy, mean, rstd, rows, cols, 0);
}
CUDA
entry=(verify layer_norm --device emulated --source mine.cu --cases 8 --max-rows 20 --max-cols 200)
expect 0 "within-error-bound" "${plugin[@]}" "${entry[@]}" --entry mine
expect 1 "does not offer" "${plugin[@]}" "${entry[@]}" --entry without_eps
grep -q "layer_norm/within-error-bound: violation" said  # what is left out counts as eps = 1e-05

line='v1 layer_norm/within-error-bound x=f32[2x3] fill=randn(1) | gamma=f32[3] fill=constant(1) | '
line+='beta=f32[3] fill=constant(0) | y=f32[2x3] | mean=f32[2] | rstd=f32[2] | device=emulated'
expect 0 "pass" "${plugin[@]}" replay "$line"
expect 0 "Input gamma is f32" "${plugin[@]}" explain "$line"
expect 2 "eps: '2' is not a number in [1e-12, 1]" "${plugin[@]}" replay "$line eps=2"
expect 2 "tensor gamma: rank 2 is not 1, that of [cols]" "${plugin[@]}" replay "${line/gamma=f32\[3\]/gamma=f32[1x3]}"
expect 2 "tensor beta: dimension 0 is 4, must be cols = 3" "${plugin[@]}" replay "${line/beta=f32\[3\]/beta=f32[4]}"
expect 2 "operator: 'layer_norm' is unknown" warpcheck replay "$line"
expect 3 "device cpu: the plug-in of layer_norm has no library for it" "${plugin[@]}" verify layer_norm --device cpu
