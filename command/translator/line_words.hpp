// Texts of the user's as words that a case line can carry: what it cannot is %XX, as in URLs.
#pragma once

#include <string>
#include <string_view>

namespace warpcheck::cli {

std::string to_word(std::string_view text);
// usage_error where a '%' is not followed by two digits of base 16.
std::string from_word(std::string_view word);

}  // namespace warpcheck::cli
