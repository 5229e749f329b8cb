// Encodes a user's texts as words of a case line: characters that the line cannot contain are %XX, as in URLs.
#pragma once

#include <string>
#include <string_view>

namespace warpcheck::cli {

std::string to_word(std::string_view text);
// Throws usage_error if two hexadecimal digits do not follow a '%'.
std::string from_word(std::string_view word);

}  // namespace warpcheck::cli
