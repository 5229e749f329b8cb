#include "command/translator/line_words.hpp"

#include <fmt/format.h>

#include <cctype>
#include <charconv>

#include "properties/engine/error.hpp"

namespace warpcheck::cli {

std::string to_word(std::string_view text) {
  constexpr std::string_view k_plain = "_./+-~@=";
  std::string word;
  for (const char c : text)
    if (std::isalnum(static_cast<unsigned char>(c)) || k_plain.find(c) != std::string_view::npos)
      word += c;
    else
      word += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  return word;
}

std::string from_word(std::string_view word) {
  std::string text;
  for (size_t i = 0; i < word.size(); ++i) {
    if (word[i] != '%') {
      text += word[i];
      continue;
    }
    const std::string_view digits = word.substr(i + 1, 2);
    unsigned char code = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
    if (error != std::errc() || digits.size() != 2 || end != digits.data() + 2)
      throw engine::usage_error(fmt::format("candidate: '{}' has a '%' without two digits of base 16", word));
    text += static_cast<char>(code);
    i += 2;
  }
  return text;
}

}  // namespace warpcheck::cli
