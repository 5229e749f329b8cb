// cuBLAS beside plain loops: every function in small integers, where all roundings are exact.
#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <type_traits>
#include <vector>

#include "on_device.cuh"

int failures = 0;
void check(bool right, const char* what) {
  if (!right) std::printf("wrong: %s\n", what), ++failures;
}

template <class T>
std::vector<T> small(size_t count, int seed) {
  std::vector<T> all(count);
  for (size_t i = 0; i < count; ++i) all[i] = T(float(int((i * 7 + seed) % 9) - 4));
  return all;
}

constexpr int m = 5, n = 4, k = 3, pad = 2;

// The product by cuBLASLt.
cublasStatus_t by_layouts(cublasOperation_t ta, cublasOperation_t tb, const float* alpha, float* a, int lda, float* b,
                          int ldb, const float* beta, float* c, int ldc, cublasLtEpilogue_t epilogue, const float* bias,
                          cublasLtOrder_t order = CUBLASLT_ORDER_COL) {
  cublasLtHandle_t lt;
  cublasLtMatmulDesc_t how;
  cublasLtMatrixLayout_t of_a, of_b, of_c;
  cublasLtMatmulPreference_t preference;
  cublasLtMatmulHeuristicResult_t found;
  int count = 0;
  cublasLtCreate(&lt);
  cublasLtMatmulDescCreate(&how, CUBLAS_COMPUTE_32F, CUDA_R_32F);
  cublasLtMatmulDescSetAttribute(how, CUBLASLT_MATMUL_DESC_TRANSA, &ta, sizeof ta);
  cublasLtMatmulDescSetAttribute(how, CUBLASLT_MATMUL_DESC_TRANSB, &tb, sizeof tb);
  cublasLtMatmulDescSetAttribute(how, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue);
  cublasLtMatmulDescSetAttribute(how, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias);
  cublasLtMatrixLayoutCreate(&of_a, CUDA_R_32F, ta == CUBLAS_OP_N ? m : k, ta == CUBLAS_OP_N ? k : m, lda);
  cublasLtMatrixLayoutCreate(&of_b, CUDA_R_32F, tb == CUBLAS_OP_N ? k : n, tb == CUBLAS_OP_N ? n : k, ldb);
  cublasLtMatrixLayoutCreate(&of_c, CUDA_R_32F, m, n, ldc);
  for (cublasLtMatrixLayout_t l : {of_a, of_b, of_c})
    cublasLtMatrixLayoutSetAttribute(l, CUBLASLT_MATRIX_LAYOUT_ORDER, &order, sizeof order);
  cublasLtMatmulPreferenceCreate(&preference);
  cublasLtMatmulAlgoGetHeuristic(lt, how, of_a, of_b, of_c, of_c, preference, 1, &found, &count);
  const cublasStatus_t status =
      cublasLtMatmul(lt, how, alpha, a, of_a, b, of_b, beta, c, of_c, c, of_c, &found.algo, nullptr, 0, nullptr);
  for (cublasLtMatrixLayout_t l : {of_a, of_b, of_c}) cublasLtMatrixLayoutDestroy(l);
  cublasLtMatmulDescDestroy(how);
  cublasLtMatmulPreferenceDestroy(preference);
  cublasLtDestroy(lt);
  return count == 1 ? status : CUBLAS_STATUS_NOT_SUPPORTED;
}
// Bias and rectifier, of matrices by rows: C = relu(A B + bias of its row).
void epilogue() {
  const std::vector<float> x = small<float>(m * k, 3), y = small<float>(k * n, 5), z = small<float>(m, 1);
  on_device<float> a(x), b(y), bias(z), c(size_t{m * n});
  const float one = 1, none = 0;
  check(by_layouts(CUBLAS_OP_N, CUBLAS_OP_N, &one, a.p, k, b.p, n, &none, c.p, n, CUBLASLT_EPILOGUE_RELU_BIAS, bias.p,
                   CUBLASLT_ORDER_ROW) == CUBLAS_STATUS_SUCCESS,
        "a product by rows");
  const std::vector<float> found = c.host();
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) {
      float sum = z[i];
      for (int l = 0; l < k; ++l) sum += x[i * k + l] * y[l * n + j];
      check(found[i * n + j] == (sum > 0 ? sum : 0), "bias and rectifier");
    }
}

// C = 2 op(A) - op(B), each matrix by columns or by rows, in two types.
void transforms() {
  const std::vector<float> x = small<float>(2 * (m + n) * (m + n), 3);
  const std::vector<int8_t> y = small<int8_t>(2 * (m + n) * (m + n), 5);
  for (int kind = 0; kind < 32; ++kind) {
    const bool ta = kind & 1, tb = kind & 2;
    const cublasLtOrder_t orders[] = {cublasLtOrder_t(kind >> 2 & 1), cublasLtOrder_t(kind >> 3 & 1),
                                      cublasLtOrder_t(kind >> 4)};
    on_device<float> a(x), c(std::vector<float>(x.size(), 99));
    on_device<int8_t> b(y);
    cublasLtHandle_t lt;
    cublasLtMatrixTransformDesc_t how;
    cublasLtMatrixLayout_t of[3];
    const cublasOperation_t ops[] = {ta ? CUBLAS_OP_T : CUBLAS_OP_N, tb ? CUBLAS_OP_T : CUBLAS_OP_N};
    const int ld = m + n, batches = 2;
    const int64_t stride = ld * ld;
    cublasLtCreate(&lt);
    cublasLtMatrixTransformDescCreate(&how, CUDA_R_32F);
    cublasLtMatrixTransformDescSetAttribute(how, CUBLASLT_MATRIX_TRANSFORM_DESC_TRANSA, &ops[0], sizeof ops[0]);
    cublasLtMatrixTransformDescSetAttribute(how, CUBLASLT_MATRIX_TRANSFORM_DESC_TRANSB, &ops[1], sizeof ops[1]);
    for (int i = 0; i < 3; ++i) {
      const bool turned = i == 0 ? ta : i == 1 && tb;
      cublasLtMatrixLayoutCreate(&of[i], i == 1 ? CUDA_R_8I : CUDA_R_32F, turned ? n : m, turned ? m : n, ld);
      cublasLtMatrixLayoutSetAttribute(of[i], CUBLASLT_MATRIX_LAYOUT_ORDER, &orders[i], sizeof orders[i]);
      cublasLtMatrixLayoutSetAttribute(of[i], CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batches, sizeof batches);
      cublasLtMatrixLayoutSetAttribute(of[i], CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof stride);
    }
    const float two = 2, minus = -1;
    check(cublasLtMatrixTransform(lt, how, &two, a.p, of[0], &minus, b.p, of[1], c.p, of[2], nullptr) ==
              CUBLAS_STATUS_SUCCESS,
          "a transformation");
    const auto place = [&](int i, bool turned, int row, int col) {
      if (turned) std::swap(row, col);
      return orders[i] == CUBLASLT_ORDER_ROW ? row * ld + col : col * ld + row;
    };
    const std::vector<float> found = c.host();
    for (int batch = 0; batch < batches; ++batch)
      for (int row = 0; row < m; ++row)
        for (int col = 0; col < n; ++col)
          check(found[batch * stride + place(2, false, row, col)] ==
                    2 * x[batch * stride + place(0, ta, row, col)] - y[batch * stride + place(1, tb, row, col)],
                "a transformation");
    if (kind == 31) {
#ifdef TILES
      const cublasLtOrder_t tiles = CUBLASLT_ORDER_COL32;
      cublasLtMatrixLayoutSetAttribute(of[2], CUBLASLT_MATRIX_LAYOUT_ORDER, &tiles, sizeof tiles);
#endif
      cublasLtMatrixTransform(lt, how, &two, a.p, of[0], nullptr, nullptr, nullptr, c.p, of[2], nullptr);  // tiles
    }
    for (cublasLtMatrixLayout_t l : of) cublasLtMatrixLayoutDestroy(l);
    cublasLtMatrixTransformDescDestroy(how);
    cublasLtDestroy(lt);
  }
}

// C = alpha op(A) op(B) + beta C, both transposed or not, with padded columns.
template <class T, class Gemm>
void product(const char* name, const Gemm& gemm) {
  for (int turns = 0; turns < 4; ++turns) {
    const bool ta = turns & 1, tb = turns & 2;
    const int lda = (ta ? k : m) + pad, ldb = (tb ? n : k) + pad, ldc = m + pad;
    const std::vector<T> a = small<T>(lda * (ta ? m : k), 1), b = small<T>(ldb * (tb ? k : n), 2),
                         c = small<T>(ldc * n, 3);
    on_device<T> da(a), db(b), dc(c);
    const T alpha(2.0f), beta(-1.0f);
    check(gemm(ta ? CUBLAS_OP_T : CUBLAS_OP_N, tb ? CUBLAS_OP_T : CUBLAS_OP_N, &alpha, da.p, lda, db.p, ldb, &beta,
               dc.p, ldc) == CUBLAS_STATUS_SUCCESS,
          name);
    const std::vector<T> got = dc.host();
    for (int col = 0; col < n; ++col)
      for (int row = 0; row < ldc; ++row) {
        float sum = 0;
        for (int i = 0; i < k; ++i)
          if (row < m)
            sum += float(a[ta ? i + row * lda : row + i * lda]) * float(b[tb ? col + i * ldb : i + col * ldb]);
        const float before = float(c[row + col * ldc]);
        check(float(got[row + col * ldc]) == (row < m ? 2 * sum - before : before), name);
      }
  }
}

template <class T>
void vectors(cublasHandle_t handle) {
  constexpr bool is_float = std::is_same_v<T, float>;
  const std::vector<T> x = small<T>(2 * n, 4), y = small<T>(m, 5), a = small<T>(m * n, 6);
  on_device<T> dx(x), dy(y), da(a), result(size_t{1});
  const T two = 2, one = 1;
  T dot = 0, norm = 0, sum = 0;
  int place = 0;
  if constexpr (is_float) {
    cublasSgemv(handle, CUBLAS_OP_N, m, n, &two, da.p, m, dx.p, 2, &one, dy.p, 1);
    cublasSdot(handle, n, dx.p, 2, dx.p, 2, &dot), cublasSnrm2(handle, n, dx.p, 2, &norm);
    cublasSasum(handle, n, dx.p, 2, &sum), cublasIsamax(handle, n, dx.p, 2, &place);
  } else {
    cublasDgemv(handle, CUBLAS_OP_N, m, n, &two, da.p, m, dx.p, 2, &one, dy.p, 1);
    cublasDdot(handle, n, dx.p, 2, dx.p, 2, &dot), cublasDnrm2(handle, n, dx.p, 2, &norm);
    cublasDasum(handle, n, dx.p, 2, &sum), cublasIdamax(handle, n, dx.p, 2, &place);
  }
  T squares = 0, magnitudes = 0;
  int largest = 0;
  for (int i = 0; i < n; ++i) {
    squares += x[2 * i] * x[2 * i], magnitudes += std::fabs(x[2 * i]);
    if (std::fabs(x[2 * i]) > std::fabs(x[2 * largest])) largest = i;
  }
  check(dot == squares && norm == std::sqrt(squares) && sum == magnitudes && place == largest + 1, "sums of a vector");
  const std::vector<T> got = dy.host();
  for (int row = 0; row < m; ++row) {
    T expected = y[row];
    for (int i = 0; i < n; ++i) expected += 2 * a[row + i * m] * x[2 * i];
    check(got[row] == expected, "gemv");
  }
}

// What only one type stands for here.
void others(cublasHandle_t handle) {
  const std::vector<float> x = small<float>(m, 7), y = small<float>(m, 8), a = small<float>(m * n, 9);
  on_device<float> dx(x), dy(y), da(a), turned(size_t{m * n}), result(size_t{1});
  const float two = 2, none = 0;
  cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_DEVICE);
  cublasSdot(handle, m, dx.p, 1, dy.p, 1, result.p);
  cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_HOST);
  cublasSaxpy(handle, m, &two, dx.p, 1, dy.p, 1);
  cublasSscal(handle, m, &two, dx.p, 1);
  cublasSgeam(handle, CUBLAS_OP_T, CUBLAS_OP_N, n, m, &two, da.p, m, &none, da.p, n, turned.p, n);
  cublasSger(handle, m, n, &two, dx.p, 1, dy.p, 1, da.p, m);
  float dot = 0;
  for (int i = 0; i < m; ++i) {
    dot += x[i] * y[i];
    check(dy.host()[i] == 2 * x[i] + y[i] && dx.host()[i] == 2 * x[i], "axpy and scal");
    for (int col = 0; col < n; ++col) {
      check(turned.host()[col + i * n] == 2 * a[i + col * m], "geam");
      if (col < m) check(da.host()[i + col * m] == a[i + col * m] + 4 * x[i] * (2 * x[col] + y[col]), "ger");
    }
  }
  check(result.host()[0] == dot, "a result in device memory");
}

void batches(cublasHandle_t handle) {
  const std::vector<float> a = small<float>(2 * m * k, 10), b = small<float>(2 * k * n, 11);
  on_device<float> da(a), db(b), dc(size_t{2 * m * n}), dd(size_t{2 * m * n});
  on_device<float*> pa({da.p, da.p + m * k}), pb({db.p, db.p + k * n}), pd({dd.p, dd.p + m * n});
  const float one = 1, none = 0;
  cublasSgemmStridedBatched(handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &one, da.p, m, m * k, db.p, k, k * n, &none,
                            dc.p, m, m * n, 2);
  cublasSgemmBatched(handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &one, pa.p, m, pb.p, k, &none, pd.p, m, 2);
  for (int i = 0; i < 2 * m * n; ++i) {
    const int matrix = i / (m * n), row = i % m, col = i / m % n;
    float sum = 0;
    for (int j = 0; j < k; ++j) sum += a[matrix * m * k + row + j * m] * b[matrix * k * n + j + col * k];
    check(dc.host()[i] == sum && dd.host()[i] == sum, "batches");
  }
}

__global__ void twice(float* x) { x[threadIdx.x] *= 2; }  // what cuBLAS wrote, kernels may read

int main(int count, char** words) {
  cublasHandle_t handle;
  cublasCreate(&handle);
  product<float>("Sgemm", [&](auto... arguments) {
    return [&](cublasOperation_t ta, cublasOperation_t tb, auto... rest) {
      return cublasSgemm(handle, ta, tb, m, n, k, rest...);
    }(arguments...);
  });
  product<double>("Dgemm", [&](cublasOperation_t ta, cublasOperation_t tb, auto... rest) {
    return cublasDgemm(handle, ta, tb, m, n, k, rest...);
  });
  constexpr decltype(cublasHgemm)* multiply = &cublasHgemm;
  product<__half>("Hgemm", [&](cublasOperation_t ta, cublasOperation_t tb, auto... rest) {
    return multiply(handle, ta, tb, m, n, k, rest...);
  });
  product<float>("GemmEx", [&](cublasOperation_t ta, cublasOperation_t tb, const float* alpha, float* a, int lda,
                               float* b, int ldb, const float* beta, float* c, int ldc) {
    return cublasGemmEx(handle, ta, tb, m, n, k, alpha, a, CUDA_R_32F, lda, b, CUDA_R_32F, ldb, beta, c, CUDA_R_32F,
                        ldc, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT_TENSOR_OP);
  });
  product<__half>("GemmEx of half", [&](cublasOperation_t ta, cublasOperation_t tb, const __half* alpha, __half* a,
                                        int lda, __half* b, int ldb, const __half* beta, __half* c, int ldc) {
    const float wide_alpha = *alpha, wide_beta = *beta;
    return cublasGemmEx(handle, ta, tb, m, n, k, &wide_alpha, a, CUDA_R_16F, lda, b, CUDA_R_16F, ldb, &wide_beta, c,
                        CUDA_R_16F, ldc, CUDA_R_32F, CUBLAS_GEMM_DFALT);
  });
  product<float>("LtMatmul", [&](cublasOperation_t ta, cublasOperation_t tb, const float* alpha, float* a, int lda,
                                 float* b, int ldb, const float* beta, float* c, int ldc) {
    return by_layouts(ta, tb, alpha, a, lda, b, ldb, beta, c, ldc, CUBLASLT_EPILOGUE_DEFAULT, nullptr);
  });
  epilogue();
  transforms();
  vectors<float>(handle);
  vectors<double>(handle);
  others(handle);
  batches(handle);
  const on_device<float> a(small<float>(m * m, 12)), c(size_t{m * m});
  float* fresh;
  cudaMalloc(&fresh, m * m * sizeof(float));
  const float one = 1, none = 0;
  check(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, m, m, m, &one, a.p, m - 1, a.p, m, &none, c.p, m) ==
            CUBLAS_STATUS_INVALID_VALUE,
        "a leading dimension below the rows");
  const bool unwritten = count == 2 && std::strcmp(words[1], "unwritten") == 0;
  const float* const left = unwritten ? fresh : a.p;
  cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, m, m, m, &one, left, m, a.p, m, &none, c.p, m);  // unwritten
  twice<<<1, m * m>>>(c.p);
  check(cudaDeviceSynchronize() == cudaSuccess && cublasDestroy(handle) == CUBLAS_STATUS_SUCCESS, "the end");
  return failures;
}
