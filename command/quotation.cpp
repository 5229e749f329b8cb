#include "command/quotation.hpp"

namespace warpcheck::cli {

std::string with_short_quotations(std::string text) {
  constexpr size_t k_most = 120, k_half = 58;
  for (size_t open = text.find('\''); open != std::string::npos;) {
    const size_t close = text.find('\'', open + 1);
    if (close == std::string::npos) break;
    const size_t length = close - open - 1;
    const bool is_long = length > k_most;
    if (is_long) text.replace(open + 1 + k_half, length - 2 * k_half, "...");
    open = text.find('\'', is_long ? open + 2 * k_half + 5 : close + 1);
  }
  return text;
}

}  // namespace warpcheck::cli
