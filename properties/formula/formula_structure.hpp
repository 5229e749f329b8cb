// Conclusions from the subscripts of a formula, before any number is computed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reference/formula/tree.hpp"

namespace warpcheck::formula_trial {

// How a dimension of an input is read for an element of an output.
enum class reading : uint8_t {
  nothing,
  same,      // at an index of the element
  up_to,     // at all places up to that index, or before it
  from,      // at all places from that index on
  fixed,     // at a number
  window,    // at places that arithmetic of the element's indices gives
  gathered,  // at places that values of another input give
  all        // anywhere
};

struct dimension_reading {
  reading how = reading::nothing;
  std::string index;  // of the output: same, up_to and from
};

// How an output reads an input.
struct access_summary {
  std::string output, input;
  std::vector<dimension_reading> dimensions;  // of the input
};

// An output element depends on no element of `input` beyond its own place in a dimension.
struct causal_dimension {
  std::string output, input;
  size_t output_dimension = 0, input_dimension = 0;
};

struct formula_structure {
  std::vector<access_summary> accesses;
  std::vector<std::string> batch_extents;                     // their slices are independent of one another
  std::vector<causal_dimension> causal;                       // of inputs that are read causally in every access
  std::vector<std::pair<std::string, std::string>> in_place;  // output and input: it may lie in the input's memory
  // Places of these may be permuted in all tensors alike: the outputs are permuted where they have the extent, and else
  // stay.
  std::vector<std::string> permutable_extents;
  std::vector<std::string> emptying_extents;  // without their elements no output has any
  bool is_known = true;                       // false: the formula is too large to be inlined
};

formula_structure study(const formula::formula_operator& op);
// "y[r, c] reads x[= r, any]", for people.
std::string to_text(const formula::formula_operator& op, const access_summary& a);

}  // namespace warpcheck::formula_trial
