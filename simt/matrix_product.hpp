// The product of two matrices on the host, for libraries that foreign programs check themselves against. Compiled
// without the detector's hooks.
#pragma once

#include <cstddef>

namespace simt {

// c = a b for m x k and k x n, all by columns without gaps; each sum in the order of k.
void multiply_matrices(size_t m, size_t n, size_t k, const double* a, const double* b, double* c);

}  // namespace simt
