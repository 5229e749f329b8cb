// Text that users write in lists: its parts, without the blanks around them.
#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

namespace warpcheck::engine {

inline std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

// Parts between separators, empty ones included: a text without a separator has one part.
inline std::vector<std::string_view> trimmed_parts(std::string_view text, std::string_view separator) {
  std::vector<std::string_view> parts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(separator, begin), text.size());
    parts.push_back(trimmed(text.substr(begin, end - begin)));
    begin = end + separator.size();
  }
  return parts;
}

}  // namespace warpcheck::engine
