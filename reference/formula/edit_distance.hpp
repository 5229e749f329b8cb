// The edit distance of two words.
#pragma once

#include <cstddef>
#include <string_view>

namespace warpcheck::formula {

// Returns the number of insertions, deletions and changes that make one word of the other.
size_t edit_distance(std::string_view a, std::string_view b);

}  // namespace warpcheck::formula
