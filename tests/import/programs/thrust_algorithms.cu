// What programs use of Thrust beside kernels of their own: each result is known.
#include <thrust/binary_search.h>
#include <thrust/complex.h>
#include <thrust/copy.h>
#include <thrust/count.h>
#include <thrust/device_ptr.h>
#include <thrust/device_vector.h>
#include <thrust/execution_policy.h>
#include <thrust/extrema.h>
#include <thrust/fill.h>
#include <thrust/find.h>
#include <thrust/for_each.h>
#include <thrust/functional.h>
#include <thrust/gather.h>
#include <thrust/host_vector.h>
#include <thrust/inner_product.h>
#include <thrust/iterator/constant_iterator.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/permutation_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <thrust/iterator/zip_iterator.h>
#include <thrust/reduce.h>
#include <thrust/remove.h>
#include <thrust/scan.h>
#include <thrust/scatter.h>
#include <thrust/sequence.h>
#include <thrust/sort.h>
#include <thrust/system/cuda/execution_policy.h>
#include <thrust/transform.h>
#include <thrust/transform_reduce.h>
#include <thrust/tuple.h>
#include <thrust/unique.h>

#include <cstdio>
#include <cstring>
#include <vector>

__global__ void twice(int* p, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] *= 2;
}

struct square {
  __host__ __device__ int operator()(int x) const { return x * x; }
};
struct is_odd {
  __host__ __device__ bool operator()(int x) const { return x % 2 != 0; }
};
struct add_both {
  template <class Tuple>
  __host__ __device__ void operator()(Tuple t) const {
    thrust::get<1>(t) = thrust::get<0>(t) + thrust::get<1>(t);
  }
};

#define CHECK(condition) \
  if (!(condition)) return std::printf("line %d: %s\n", __LINE__, #condition), 1

// Kernels and algorithms in one stream, on vectors and on plain memory.
int kernels() {
  thrust::device_vector<int> v(100);
  thrust::sequence(v.begin(), v.end());
  twice<<<1, 128>>>(thrust::raw_pointer_cast(v.data()), 100);
  CHECK(thrust::reduce(v.begin(), v.end()) == 9900);
  CHECK(v[7] == 14);
  v[7] = 15;
  twice<<<1, 128>>>(thrust::raw_pointer_cast(&v[0]), 100);
  const thrust::host_vector<int> h = v;
  CHECK(h.size() == 100 && h[7] == 30 && h[99] == 396);
  int* raw;
  cudaMalloc(&raw, 64 * sizeof(int));
  thrust::device_ptr<int> p(raw);
#ifndef UNWRITTEN
  thrust::fill(p, p + 64, 3);
#endif
  twice<<<1, 64>>>(raw, 64);
  CHECK(thrust::count(p, p + 64, 6) == 64);
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  twice<<<1, 64, 0, stream>>>(raw, 64);
  CHECK(thrust::reduce(thrust::cuda::par.on(stream), p, p + 64, 0, thrust::maximum<int>()) == 12);
  thrust::transform(thrust::device, raw, raw + 64, raw, square());
  CHECK(p[63] == 144);
  cudaStreamDestroy(stream);
  cudaFree(raw);
  return 0;
}

int sorting() {
  const int keys[] = {5, 3, 9, 3, 1, 7}, values[] = {0, 1, 2, 3, 4, 5};
  thrust::device_vector<int> k(keys, keys + 6), v(values, values + 6);
  thrust::sort_by_key(k.begin(), k.end(), v.begin());
  CHECK(k[0] == 1 && v[0] == 4 && v[1] == 1 && v[2] == 3 && k[5] == 9);
  thrust::sort(k.begin(), k.end(), thrust::greater<int>());
  CHECK(k[0] == 9 && k[5] == 1);
  std::vector<float> host = {2.5f, -1, 4};
  thrust::sort(host.begin(), host.end());
  CHECK(host[0] == -1 && host[2] == 4);
  thrust::sort(k.begin(), k.end());
  CHECK(thrust::lower_bound(k.begin(), k.end(), 4) - k.begin() == 3);
  k.erase(thrust::unique(k.begin(), k.end()), k.end());
  CHECK(k.size() == 5 && k[1] == 3 && k[2] == 5);
  k.resize(thrust::remove_if(k.begin(), k.end(), is_odd()) - k.begin());
  CHECK(k.empty());
  return 0;
}

int sums() {
  thrust::device_vector<int> v(10), w(10, 2), out(10);
  thrust::sequence(v.begin(), v.end(), 1);
  thrust::inclusive_scan(v.begin(), v.end(), out.begin());
  CHECK(out[9] == 55);
  thrust::exclusive_scan(v.begin(), v.end(), v.begin(), 100);
  CHECK(v[0] == 100 && v[9] == 145);
  CHECK(thrust::inner_product(out.begin(), out.end(), w.begin(), 0) == 440);
  CHECK(thrust::transform_reduce(w.begin(), w.end(), square(), 0, thrust::plus<int>()) == 40);
  CHECK(*thrust::max_element(v.begin(), v.end()) == 145);
  CHECK(thrust::min_element(v.begin(), v.end()) == v.begin());
  CHECK(thrust::count_if(out.begin(), out.end(), is_odd()) == 6);
  CHECK(thrust::find(out.begin(), out.end(), 6) - out.begin() == 2);
  const int keys[] = {1, 1, 2, 2, 2, 9};
  thrust::device_vector<int> k(keys, keys + 6), kinds(6), counts(6);
  const auto ends =
      thrust::reduce_by_key(k.begin(), k.end(), thrust::make_constant_iterator(1), kinds.begin(), counts.begin());
  CHECK(ends.first - kinds.begin() == 3 && kinds[2] == 9 && counts[1] == 3);
  return 0;
}

int iterators() {
  thrust::device_vector<int> v(8), w(8, 10), picked(3);
  thrust::copy(thrust::make_counting_iterator(0), thrust::make_counting_iterator(8), v.begin());
  thrust::for_each(thrust::make_zip_iterator(thrust::make_tuple(v.begin(), w.begin())),
                   thrust::make_zip_iterator(thrust::make_tuple(v.end(), w.end())), add_both());
  CHECK(w[0] == 10 && w[7] == 17);
  const auto squares = thrust::make_transform_iterator(thrust::counting_iterator<int>(1), square());
  CHECK(thrust::reduce(squares, squares + 4) == 30);
  const int places[] = {6, 0, 2};
  thrust::device_vector<int> at(places, places + 3);
  thrust::gather(at.begin(), at.end(), w.begin(), picked.begin());
  CHECK(picked[0] == 16 && picked[1] == 10 && picked[2] == 12);
  thrust::scatter(at.begin(), at.end(), at.begin(), v.begin());
  CHECK(v[6] == 6 && v[0] == 0 && v[2] == 2);
  const auto chosen = thrust::make_permutation_iterator(w.begin(), at.begin());
  CHECK(thrust::reduce(chosen, chosen + 3) == 38);
  const auto end = thrust::copy_if(w.begin(), w.end(), v.begin(), is_odd());
  CHECK(end - v.begin() == 4 && v[0] == 11);
  thrust::transform(v.begin(), v.end(), w.begin(), v.begin(), thrust::minus<int>());
  CHECK(v[0] == 1);
  return 0;
}

__global__ void turn(thrust::complex<float>* x) { x[threadIdx.x] *= thrust::conj(x[threadIdx.x]); }

int complex_numbers() {
  thrust::device_vector<thrust::complex<float>> x(4, thrust::complex<float>(3, 4));
  turn<<<1, 4>>>(thrust::raw_pointer_cast(x.data()));
  const thrust::complex<float> sum = thrust::reduce(x.begin(), x.end());
  CHECK(sum.real() == 100 && sum.imag() == 0 && thrust::abs(thrust::complex<float>(3, 4)) == 5);
  return 0;
}

int main() { return kernels() + sorting() + sums() + iterators() + complex_numbers(); }
