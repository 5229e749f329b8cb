// Implementation of cufft.h: discrete Fourier transforms in double, so results are not cuFFT's to the bit.
#pragma once

#include <complex>
#include <cstdint>
#include <vector>

#include "simt/emulated_memory.hpp"
#include "simt/import/launch.hpp"
#include "simt/import/runtime.hpp"

namespace simt::import::fft {

using number = std::complex<double>;

// Returns exp(sign 2 pi i k / n) for k from 0 to n - 1.
inline std::vector<number> roots_of(int64_t n, int sign) {
  std::vector<number> roots(static_cast<size_t>(n));
  for (int64_t k = 0; k < n; ++k)
    roots[static_cast<size_t>(k)] =
        std::polar(1.0, sign * 6.283185307179586477 * static_cast<double>(k) / static_cast<double>(n));
  return roots;
}

// Transforms `n` numbers at distance `step` (Cooley & Tukey, 1965); a prime length by the definition.
inline std::vector<number> transformed(const number* x, int64_t n, int64_t step, const std::vector<number>& roots) {
  const auto whole = static_cast<int64_t>(roots.size());
  const auto root = [&](int64_t power) { return roots[static_cast<size_t>(power * (whole / n) % whole)]; };
  int64_t factor = 2;
  while (factor < n && n % factor != 0) ++factor;
  std::vector<number> y(static_cast<size_t>(n));
  if (n == 1) return {x[0]};
  std::vector<std::vector<number>> parts;
  for (int64_t f = 0; f < factor; ++f)
    parts.push_back(factor == n ? std::vector<number>{x[f * step]}
                                : transformed(x + f * step, n / factor, step * factor, roots));
  for (int64_t k = 0; k < n; ++k)
    for (int64_t f = 0; f < factor; ++f)
      y[static_cast<size_t>(k)] +=
          root(f * k % n) * parts[static_cast<size_t>(f)][static_cast<size_t>(k % (n / factor))];
  return y;
}

// Transforms all dimensions of an array in row-major order.
inline void transform(std::vector<number>& x, const std::vector<int64_t>& sizes, int sign) {
  int64_t step = 1;
  for (size_t d = sizes.size(); d-- > 0; step *= sizes[d]) {
    const int64_t n = sizes[d];
    const std::vector<number> roots = roots_of(n, sign);
    for (int64_t line = 0; line < static_cast<int64_t>(x.size()) / n; ++line) {
      number* first = &x[static_cast<size_t>(line / step * step * n + line % step)];
      const std::vector<number> y = transformed(first, n, step, roots);
      for (int64_t i = 0; i < n; ++i) first[i * step] = y[static_cast<size_t>(i)];
    }
  }
}

// Layout of one side of a plan: the element at (i, j, k) of batch b has the index
// b distance + ((i embed[1] + j) embed[2] + k) stride.
struct layout {
  std::vector<int64_t> embed;
  int64_t stride = 1, distance = 0;
  int64_t place(const std::vector<int64_t>& at, int64_t batch) const {
    int64_t row = 0;
    for (size_t d = 0; d < at.size(); ++d) row = row * embed[d] + at[d];
    return batch * distance + row * stride;
  }
};

enum class kind { complex_to_complex, real_to_complex, complex_to_real };
struct plan {
  kind of;
  bool is_double;
  std::vector<int64_t> sizes;
  layout in, out;
  int64_t batches = 1;
  cudaStream_t stream = nullptr;
};

// Calls f(index) for each position in sizes; `last` is the extent of the last dimension.
template <class F>
void for_each(const std::vector<int64_t>& sizes, int64_t last, F f) {
  std::vector<int64_t> at(sizes.size());
  for (;;) {
    f(at);
    size_t d = sizes.size();
    while (d-- > 0) {
      if (++at[d] < (d + 1 == sizes.size() ? last : sizes[d])) break;
      at[d] = 0;
    }
    if (d == ~size_t{0}) return;
  }
}

// One side of the data, read and written by index.
class side {
 public:
  side(void* data, bool is_double, bool is_complex) : data_(data), is_double_(is_double), is_complex_(is_complex) {}
  size_t bytes() const { return (is_double_ ? 8u : 4u) * (is_complex_ ? 2u : 1u); }
  char* at(int64_t place) const { return static_cast<char*>(data_) + static_cast<size_t>(place) * bytes(); }
  number get(int64_t place) const { return is_double_ ? read<double>(at(place)) : read<float>(at(place)); }
  void put(int64_t place, number x) const { is_double_ ? write<double>(at(place), x) : write<float>(at(place), x); }

 private:
  template <class Real>
  number read(const char* p) const {
    const auto* x = reinterpret_cast<const Real*>(p);
    return {x[0], is_complex_ ? x[1] : 0};
  }
  template <class Real>
  void write(char* p, number value) const {
    auto* x = reinterpret_cast<Real*>(p);
    x[0] = static_cast<Real>(value.real());
    if (is_complex_) x[1] = static_cast<Real>(value.imag());
  }
  void* data_;
  bool is_double_, is_complex_;
};

// Reads a batch of the input. For a transform to reals, symmetry gives the elements that are not stored.
inline std::vector<number> gathered(const plan& p, const side& in, int64_t batch, size_t& unwritten) {
  int64_t count = 1;
  for (const int64_t n : p.sizes) count *= n;
  std::vector<number> x(static_cast<size_t>(count));
  const int64_t last = p.sizes.back();
  size_t next = 0;
  for_each(p.sizes, last, [&](std::vector<int64_t> at) {
    const bool mirrored = p.of == kind::complex_to_real && at.back() > last / 2;
    if (mirrored)
      for (size_t d = 0; d < at.size(); ++d) at[d] = (p.sizes[d] - at[d]) % p.sizes[d];
    const int64_t place = p.in.place(at, batch);
    unwritten += count_unwritten(in.at(place), in.bytes()).count;
    const number value = in.get(place);
    x[next++] = mirrored ? std::conj(value) : value;
  });
  return x;
}

template <class Result>
void execute(const char* function, const site& where, const plan& p, const side& in, const side& out, int sign,
             Result result) {
  size_t unwritten = 0;
  const int64_t last = p.sizes.back(), written = p.of == kind::real_to_complex ? last / 2 + 1 : last;
  for (int64_t batch = 0; batch < p.batches; ++batch) {
    std::vector<number> x = gathered(p, in, batch, unwritten);
    transform(x, p.sizes, sign);
    size_t row = 0;
    for_each(p.sizes, written, [&](const std::vector<int64_t>& at) {
      const number value = x[row * static_cast<size_t>(last) + static_cast<size_t>(at.back())];
      const int64_t place = p.out.place(at, batch);
      out.put(place, {result(value.real()), result(value.imag())});
      mark_initialized(out.at(place), out.bytes());
      row += at.back() + 1 == written;
    });
  }
  if (unwritten != 0)
    report("uninitialized",
           std::string(function) + " at " + describe(where) + " reads " + std::to_string(unwritten) +
               " bytes that nobody wrote",
           false);
}

}  // namespace simt::import::fft
