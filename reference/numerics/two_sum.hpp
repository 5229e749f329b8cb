// Sums and differences without error (D. E. Knuth, The Art of Computer Programming 2, 4.2.2, theorem B).
#pragma once

namespace warpcheck::reference {

// a + b - sum, exactly, where sum = RN(a + b) is finite.
inline double sum_error(double a, double b, double sum) {
  const double part = sum - a;
  return (a - (sum - part)) + (b - part);
}

// high = RN(a - b), high + low = a - b, unless a - b overflows, which f32 values cannot make it do.
struct exact_difference {
  double high, low;
  exact_difference(double a, double b) : high(a - b), low(sum_error(a, -b, high)) {}
};

// A sum with the rounding errors of its additions beside it (Ogita, Rump, Oishi, SIAM J. Sci. Comput. 26, 2005,
// algorithm 4.4): its error does not grow with the number of terms.
struct precise_sum {
  double high = 0, low = 0;
  void add(double x) {
    const double sum = high + x;
    low += sum_error(high, x, sum);
    high = sum;
  }
  double value() const { return high + low; }
};

}  // namespace warpcheck::reference
