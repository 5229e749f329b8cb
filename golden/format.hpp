// Golden files: one case per file, in text, with the exact outputs that a source of truth states for it.
//
//   warpcheck-golden 1
//   kind: known_answer
//   operator: softmax
//   name: tail-of-30
//   generator: golden/softmax/softmax_golden.cpp
//   source: closed form y = (1/(1 + e^-30), e^-30/(1 + e^-30))
//   digits: 40
//   seed: 0
//   case: v1 softmax/golden x=f32[1x2] fill=constant(0) | y=f32[1x2] |
//   input x
//   0x0p+0
//   -0x1.ep+4
//   expect y
//   9.999999999999064237703116070104616043735e-1
//   9.357622968839298953839562653284984111576e-14
//   end
//
// The text is canonical: the reader accepts exactly what the writer writes, so a file and its value are the same thing
// and regeneration is bit-identical. Lines end with one line feed; only printable ASCII occurs. `input` lists the
// elements of an input in row order as exact hexadecimal floats (nan, +inf, -inf; integers in decimal) in place of what
// its recipe makes, which is then constant(0); inputs without a list are made by the recipe. `expect` lists an output's
// exact values: decimals true to `digits` significant digits (within one unit of the last); a value with fewer digits
// is exact, so trailing zeros are cut only where nothing was rounded. What is below 1e-9999 in magnitude is written as
// 0. Bounds are not stored: the reference computes them from the data.
//
// A known answer or an oracle expects every output of its case and leaves variant, device and candidate to the check.
// A regression is a counterexample that fuzzing found: its case line with the property that failed, and nothing else
// is needed, because the property judges it.
//
// An operator by formula is named like `rms_norm.op`. Its known answers are recorded inputs: those that the generator
// drew, listed where they may have any value, with what the formula gave for them in 100 digits. Their case does not
// name the text of the formula, so a formula that means the same still agrees with them.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "properties/engine/cases/case.hpp"

namespace warpcheck::golden {

inline constexpr double k_inf = std::numeric_limits<double>::infinity();
inline constexpr double k_nan = std::numeric_limits<double>::quiet_NaN();

constexpr int k_format_version = 1;
constexpr std::string_view k_formula_suffix = ".op";  // of the name of an operator by formula
constexpr size_t k_max_file_bytes = 1 << 20;
constexpr int64_t k_max_elements = 1 << 16;  // of a tensor of a known answer or an oracle, leading dimension included
constexpr int k_min_digits = 10;
constexpr int k_max_digits = 80;
constexpr int k_max_exponent = 9999;  // of a decimal

enum class kind : uint8_t { known_answer, oracle, regression };

struct listed_input {
  std::string tensor;
  std::vector<uint64_t> bits;  // elements in row order, without gaps; NaN is the quiet NaN of `engine::encode`
  bool operator==(const listed_input&) const = default;
};

struct expected_output {
  std::string tensor;
  std::vector<std::string> values;  // canonical decimals, nan, +inf, -inf; integers for integer tensors
  bool operator==(const expected_output&) const = default;
};

struct golden_file {
  kind what = kind::known_answer;
  std::string op;
  std::string name;       // also the stem of the file's name
  std::string generator;  // what made the file: program and version, or the source file with its formulas
  std::string source;     // why its values are true
  int digits = 40;        // significant digits of rounded values
  uint64_t seed = 0;      // of the generator's own random choices; 0: none were made
  engine::trial_case the_case;
  std::vector<listed_input> inputs;      // in the order of the case's tensors
  std::vector<expected_output> outputs;  // in the order of the case's tensors
  bool operator==(const golden_file&) const = default;

  const listed_input* input(std::string_view tensor) const;
  const expected_output* output(std::string_view tensor) const;
};

std::string_view name_of(kind k);

// One element of a listed input: `0x1.8p-1`, `nan`, `+inf`, `-0x0p+0`; decimal for integer types.
std::string format_element(dtype type, uint64_t bits);
// Nothing if the text is not exactly what format_element writes for an element of the type.
std::optional<uint64_t> parse_element(dtype type, std::string_view text);

// True for `0`, `-d.ddde-12`, `nan`, `+inf`, `-inf`: scientific notation with at most `digits` significant digits, no
// leading or dangling zeros other than those of a value rounded to exactly `digits` digits.
bool is_canonical_decimal(std::string_view text, int digits);
// True for a decimal integer that fits the type.
bool is_canonical_integer(dtype type, std::string_view text);
// The double nearest to a canonical decimal; values beyond the range become +-0 or +-Inf.
double nearest_double(std::string_view decimal);

// The case with every listed input written into the case line itself, as constant(0) and edits: replayable anywhere
// without the file.
engine::trial_case replay_case(const golden_file& file);

}  // namespace warpcheck::golden
