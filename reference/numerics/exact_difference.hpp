// a - b without error, as the unevaluated sum of two doubles (Knuth's TwoSum). Exact unless a - b overflows, which f32
// values cannot make it do.
#pragma once

namespace warpcheck::reference {

struct exact_difference {
  double high, low;  // high = RN(a - b), high + low = a - b
  exact_difference(double a, double b) : high(a - b) {
    const double shadow = high - a;
    low = (a - (high - shadow)) - (b + shadow);
  }
};

}  // namespace warpcheck::reference
