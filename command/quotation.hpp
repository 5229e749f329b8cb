// Quotations of a user's text in messages.
#pragma once

#include <string>

namespace warpcheck::cli {

// Cuts quotations of more than 120 characters, such as parts of a case line, in the middle.
std::string with_short_quotations(std::string text);

}  // namespace warpcheck::cli
