// The products that matmul_bench measures on random data of the GPU, ours and cuBLAS', each verified by reference/.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace warpcheck::bench {

// Ours; the last two have inputs of 16 bits and results of f32.
enum class product_arithmetic { ieee, tf32x3, bf16x6, f16, bf16 };
constexpr product_arithmetic k_all_arithmetics[] = {product_arithmetic::ieee, product_arithmetic::tf32x3,
                                                    product_arithmetic::bf16x6, product_arithmetic::f16,
                                                    product_arithmetic::bf16};
const char* name_of(product_arithmetic arithmetic);

// cuBLAS, as its library is found at run time: in f32; with tensor cores on f32 inputs rounded to tf32; on bf16 inputs;
// its product of a matrix and a vector; f32 of nine products of bf16 (BF16x9). And CUTLASS' 3xTF32, where the build was
// given its headers.
enum class product_peer { f32, tf32, bf16, gemv, bf16x9, cutlass };
constexpr product_peer k_all_peers[] = {product_peer::f32,  product_peer::tf32,   product_peer::bf16,
                                        product_peer::gemv, product_peer::bf16x9, product_peer::cutlass};
const char* name_of(product_peer peer);
std::string cublas_text();   // name of the library and its version, or why there is none
std::string cutlass_text();  // the version of its headers, or that there are none

struct product_shape {
  int64_t m, n, k;
  bool ta = false, tb = false;  // A is stored k x m, B n x k
  std::string name() const;
  int64_t lda() const { return ta ? m : k; }
  int64_t ldb() const { return tb ? k : n; }
  double flops() const { return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k); }
};

// True if a peer is there, and takes products of this shape.
bool offers(product_peer peer, const product_shape& shape);

struct sampled_judge;  // matmul_verify.hpp

// Slots of operands and results, so that execution i finds nothing of execution i - 1 in the L2 cache.
class product_run {
 public:
  product_run(const product_shape& shape, cudaStream_t stream, size_t flush_bytes);
  ~product_run();
  product_run(const product_run&) = delete;
  product_run& operator=(const product_run&) = delete;

  void ours(product_arithmetic arithmetic, int i);
  void layer(product_arithmetic arithmetic, int i);  // with bias and sigmoid
  void peer(product_peer peer, int i);
  const char* variant(product_arithmetic arithmetic) const;  // that the dispatch picks

  // Computes into poisoned memory and judges elements of 48 rows and 48 columns, the ends among them, by
  // reference/matmul/matmul.hpp: the largest share of the bound that an error takes. Throws where one exceeds it.
  double verify_ours(product_arithmetic arithmetic);
  // The same of a peer, within the bound of one chain of its arithmetic (tf32: of operands rounded to it; 3xTF32: of
  // parts cut to it, without promotion).
  double verify_peer(product_peer peer);

 private:
  struct memory;
  double verify(const sampled_judge& judge, int bits, bool bfloat);
  product_shape shape_;
  cudaStream_t stream_;
  std::unique_ptr<memory> memory_;
};

// Operations a second of FMAs in f32 from registers, on all multiprocessors.
double fma_flops(int repeats, cudaStream_t stream);

}  // namespace warpcheck::bench
