// The part of an operator's contract that a candidate offers. Generators draw within it. If the candidate answers a
// call within it with WARPCHECK_UNSUPPORTED, that is a failure.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "properties/engine/cases/case.hpp"

namespace warpcheck::engine {

// Start of the message of a skipped case that needs a trait which the candidate lacks.
inline constexpr std::string_view k_needs = "needs ";
// Statements of a candidate about its logarithm, its exponential and its sort (abi/candidate_states.h).
inline constexpr std::string_view k_log_of_sum = "log of sum", k_exp_overflows = "exp overflows",
                                  k_unstable = "unstable";

// Between a scalar and its value, and between the names of extents.
inline constexpr std::string_view k_differs = "!=";

// Something that a call may have and a candidate may lack. Its text is in quotes.
struct trait {
  enum kind_type : uint8_t {
    present,       // "bias": the optional tensor is there
    absent,        // "bias absent": it is not, though this call could have it
    equal,         // "ta=yes": the scalar has this value
    unequal,       // "alpha!=1": the scalar has any other value
    typed,         // "c:f16": the tensor has this element type
    apart,         // "ldx>cols": gaps between the tensor's rows
    among,         // "y beside x": rows of one tensor in the gaps of another
    same,          // "b same a": two inputs are one memory
    distant,       // "ldx>2147483647": rows further apart than this
    more,          // "cols>1024": the extent is larger
    fewer,         // "cols<1": the extent is smaller
    not_multiple,  // "cols%4", "rows*cols%4": the extent, or the product of extents, is no multiple
    misaligned,    // "x misaligned 16": the tensor's address is no multiple of so many bytes
    uneven,        // "ldx%4": the distance between the tensor's rows is no multiple of so many elements
    different      // "m!=n!=k": not all of these extents are equal
  };
  kind_type kind = present;
  std::string name;   // of the tensor or scalar, of the extent or extents
  std::string value;  // equal, unequal, typed; among and same: the other tensor
  int64_t size = 0;   // distant and the kinds after it but different

  bool operator==(const trait&) const = default;
};
// Traits that are not offered together: most often one.
using trait_set = std::vector<trait>;

std::string text_of(const trait_set& traits);  // "bias", "bias & c:f16"
// Throws usage_error if the text is no trait of the operator; the message lists the allowed ones.
trait_set parse_traits(std::string_view op, std::string_view text);

bool has(const trial_case& c, const trait& t);
// Returns the traits of a case that a candidate may lack: optional tensors, scalars of few values, numbers other than
// the default, element types of tensors that may have several, tensors in the memory of another one, gaps between rows.
std::vector<trait> traits_of(const trial_case& c);
// Returns the legal neighbours with another value of one scalar of few values, with the trait of each.
std::vector<std::pair<trait, trial_case>> of_other_values(const trial_case& c);
// Returns the misaligned tensors and the uneven distances between rows, each with the largest alignment that it misses.
std::vector<trait> alignments_of(const trial_case& c);
// Returns the smallest power of two for which the case with exactly this alignment is answered, of a trait of
// alignments_of(); the trait's own size if there is none below.
int64_t least_alignment(const trial_case& c, const trait& t, const std::function<bool(const trial_case&)>& is_answered);
// Returns the neighbouring legal cases without the trait, the simplest first.
std::vector<trial_case> without(const trial_case& c, const trait& t);

struct offer {
  std::vector<trait_set> lacks;
  std::optional<int64_t> sum_depth;  // the longest chain of additions in a sum, where the candidate states one
  std::optional<int64_t> gates;      // the error of gru's gate functions in units of 2^-24, where it states one
  bool takes_log_of_sum = false;     // of log_softmax and logsumexp: the logarithm is that of the whole sum
  bool lets_exp_overflow = false;    // of sigmoid and matmul: the logistic function is 1 / (1 + exp(-z)) of every z
  bool is_unstable = false;          // of argsort: equal keys may come in any order
  bool has_our_plan = false;         // sums, bits and workspaces are those of our own kernels
  bool is_batch_invariant = false;   // the bits of a row do not depend on the other rows' number, nor on its place

  bool is_everything() const { return lacks.empty(); }
  // Returns the first set of traits that the case has and the candidate lacks; null if the case is offered.
  const trait_set* missing(const trial_case& c) const;
};
// Returns the lacked traits, such as "bias, ta=yes".
std::string text_of(const offer& o);
offer parse_offer(std::string_view op, std::string_view text);
// Parses the statements of a candidate (abi/candidate_states.h). Throws usage_error for an unknown statement.
offer parse_statements(std::string_view op, std::string_view text);

// Removes the traits that the candidate lacks from the case, and adds their texts to `taken`. Returns false if no case
// is left.
bool bring_within(const offer& o, trial_case& c, std::vector<std::string>& taken);

// Stores the offer of a candidate for element type `type` of the first tensor, for this process and those forked from
// it.
void remember_offer(std::string_view candidate, std::string_view op, std::string_view device, dtype type, offer o);
// Returns the stored offer for the case; null if the candidate was never asked.
const offer* known_offer(const trial_case& c);

}  // namespace warpcheck::engine
