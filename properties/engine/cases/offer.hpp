// What a candidate offers of an operator's contract. Generators draw within it, and a call within it that the candidate
// answers with WARPCHECK_UNSUPPORTED is a failure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "properties/engine/cases/case.hpp"

namespace warpcheck::engine {

// How the sentence of a case begins that needs what the candidate lacks; it is skipped.
inline constexpr std::string_view k_needs = "needs ";

// Something that a call may have and a candidate may lack. Its text is in quotes.
struct trait {
  enum kind_type : uint8_t {
    present,      // "bias": the optional tensor is there
    equal,        // "ta=yes": the scalar has this value
    unequal,      // "alpha!=1": the scalar has any other value
    typed,        // "c:f16": the tensor has this element type
    apart,        // "ldx>cols": gaps between the tensor's rows
    among,        // "y beside x": rows of one tensor in the gaps of another
    same,         // "b same a": two inputs are one memory
    distant,      // "ldx>2147483647": rows further apart than this
    more,         // "cols>1024": the extent is larger
    fewer,        // "cols<1": the extent is smaller
    not_multiple  // "cols%4": the extent is no multiple
  };
  kind_type kind = present;
  std::string name;   // of the tensor, scalar or extent
  std::string value;  // equal, unequal, typed; among and same: the other tensor
  int64_t size = 0;   // distant, more, fewer, not_multiple

  bool operator==(const trait&) const = default;
};
// Traits that are not offered together: most often one.
using trait_set = std::vector<trait>;

std::string text_of(const trait_set& traits);  // "bias", "bias & c:f16"
// usage_error where the text is no trait of the operator, with what is allowed.
trait_set parse_traits(std::string_view op, std::string_view text);

bool has(const trial_case& c, const trait& t);
// What the case has that a candidate may lack: all optional tensors, all scalars of few values, numbers that are not as
// usual, element types of tensors that may have several, tensors in the memory of another, gaps between rows.
std::vector<trait> traits_of(const trial_case& c);
// The cases next to this one that do not have the trait, the plainest first; all are legal.
std::vector<trial_case> without(const trial_case& c, const trait& t);

struct offer {
  std::vector<trait_set> lacks;
  std::optional<int64_t> sum_depth;  // the longest chain of additions in a sum, where the candidate states one
  bool has_our_plan = false;         // sums, bits and workspaces are those of our own kernels
  bool is_batch_invariant = false;   // the bits of a row do not depend on the other rows' number, nor on its place

  bool is_everything() const { return lacks.empty(); }
  // The first set of traits that the case has and the candidate lacks; null where the case is offered.
  const trait_set* missing(const trial_case& c) const;
};
// "bias, ta=yes": what is lacked.
std::string text_of(const offer& o);
offer parse_offer(std::string_view op, std::string_view text);
// What a candidate states (abi/candidate_states.h). usage_error where a statement is none.
offer parse_statements(std::string_view op, std::string_view text);

// Takes from the case what the candidate lacks. `taken` gets the texts of it. False where no case is left.
bool bring_within(const offer& o, trial_case& c, std::vector<std::string>& taken);

// The offer of a candidate for element type `type` of the first tensor, in this process and those forked from it.
void remember_offer(std::string_view candidate, std::string_view op, std::string_view device, dtype type, offer o);
// The one that fits the case; null where the candidate was never asked.
const offer* known_offer(const trial_case& c);

}  // namespace warpcheck::engine
