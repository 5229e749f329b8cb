// A tensor's values as a recipe: a distribution with its arguments and a short list of edits. Values are a
// counter-based function of (seed, row, column), so any element can be regenerated alone, and shards, threads and
// devices never change data.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reference/numerics/dtype.hpp"

namespace warpcheck::engine {

// SplitMix64's finaliser over a combination of its arguments (Steele, Lea, Flood, OOPSLA 2014): the one source of
// randomness of values.
uint64_t hash64(uint64_t seed, uint64_t a, uint64_t b = 0);

// Element type conversions that the suite uses for data: exact from element to double, round-to-nearest-even back.
double decode(dtype type, uint64_t bits);
uint64_t encode(dtype type, double value);  // integers saturate; NaN becomes a quiet NaN
uint64_t load_bits(dtype type, const void* element);
void store_bits(dtype type, void* element, uint64_t bits);

struct edit {
  int64_t row = 0;
  int64_t col = 0;
  double value = 0;
  bool operator==(const edit&) const = default;
};

struct distribution_info {
  std::string_view name;
  std::string_view parameters;  // "seed,lo,hi": names for help texts; a trailing '?' marks what may be left out
  std::string_view purpose;     // the fault that it is meant to find
};
std::span<const distribution_info> distributions();

struct recipe {
  std::string distribution = "constant";
  std::vector<double> arguments;  // seeds are integers up to 2^53; npy: none, or the first element's place
  std::string path;               // npy only: the file and the SHA-256 of its bytes
  std::string sha256;
  std::vector<edit> edits;
  bool operator==(const recipe&) const;
};

recipe make_recipe(std::string distribution, std::vector<double> arguments);

// `randn(7,0,1)`; exact round trip with parse_recipe. Edits are not part of this text (they are keys of their own).
std::string format(const recipe& r);
// Throws usage_error if the text is not a recipe.
recipe parse_recipe(std::string_view text);

// Shortest text that reads back as the same double: "+inf", "-inf", "nan", "-nan", "-0", decimal, or hexadecimal where
// shorter.
std::string format_number(double value);
std::optional<double> parse_number(std::string_view text);

// The bits of element (row, col) of a tensor [*, cols] of `type`, edits included. `npy` recipes are not handled here.
class value_source {
 public:
  value_source(const recipe& r, dtype type, int64_t cols);
  uint64_t bits(int64_t row, int64_t col) const;

 private:
  double value(int64_t row, int64_t col) const;
  std::optional<double> drawn_value(int64_t row, int64_t col) const;
  std::optional<double> placed_value(int64_t row, int64_t col) const;

  recipe recipe_;
  dtype type_;
  int64_t cols_;
  size_t kind_;
};

}  // namespace warpcheck::engine
