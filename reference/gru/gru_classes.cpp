// Products and sums of balls that may be an infinity or NaN, by the rules of IEEE 754.
#include <cmath>
#include <utility>

#include "reference/gru/gru_step.hpp"

namespace warpcheck::reference::gru_balls {

classes sum_of_classes(classes a, classes b) {
  classes sum = (a | b) & (k_nan | k_plus | k_minus);
  if (((a & k_plus) != 0 && (b & k_minus) != 0) || ((a & k_minus) != 0 && (b & k_plus) != 0)) sum |= k_nan;
  // Removes an infinity that can only meet its opposite.
  if ((a & k_finite) == 0 || (b & k_finite) == 0) {
    const auto stays = [&](classes infinity) {
      return ((a & infinity) != 0 && (b & (infinity | k_finite)) != 0) ||
             ((b & infinity) != 0 && (a & (infinity | k_finite)) != 0);
    };
    if (!stays(k_plus)) sum &= static_cast<classes>(~k_plus);
    if (!stays(k_minus)) sum &= static_cast<classes>(~k_minus);
  }
  if ((a & b & k_finite) != 0) sum |= k_finite;
  return sum;
}

ball special_sum(const ball& a, const ball& b) {
  const classes c = sum_of_classes(a.may_be, b.may_be);
  if ((c & k_finite) == 0) return nowhere(c);
  return {a.value + b.value, a.radius + b.radius, c};
}

ball special_product(const ball& a, const ball& b) {
  classes c = (a.may_be | b.may_be) & k_nan;
  const auto signs = [](const ball& x) {  // 1: some are positive, 2: some are negative
    const bool finite = (x.may_be & k_finite) != 0;
    const bool plus = (x.may_be & k_plus) != 0 || (finite && x.value + x.radius > 0);
    const bool minus = (x.may_be & k_minus) != 0 || (finite && x.value - x.radius < 0);
    return (plus ? 1 : 0) | (minus ? 2 : 0);
  };
  for (const auto& [infinite, other] : {std::pair{&a, &b}, std::pair{&b, &a}}) {
    if ((infinite->may_be & (k_plus | k_minus)) == 0) continue;
    if (other->may_be_zero()) c |= k_nan;
    const int of_infinity = ((infinite->may_be & k_plus) != 0 ? 1 : 0) | ((infinite->may_be & k_minus) != 0 ? 2 : 0);
    const int of_other = signs(*other);
    if ((of_infinity & of_other) != 0) c |= k_plus;
    if (((of_infinity & 1) != 0 && (of_other & 2) != 0) || ((of_infinity & 2) != 0 && (of_other & 1) != 0))
      c |= k_minus;
  }
  if ((a.may_be & b.may_be & k_finite) == 0) return nowhere(c);
  return {a.value * b.value, std::fabs(a.value) * b.radius + std::fabs(b.value) * a.radius + a.radius * b.radius,
          static_cast<classes>(c | k_finite)};
}

}  // namespace warpcheck::reference::gru_balls
