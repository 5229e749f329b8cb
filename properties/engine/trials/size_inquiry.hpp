// Questions to a candidate about sizes: which extents, multiples and relations of extents it answers.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "properties/engine/cases/description.hpp"
#include "properties/engine/cases/host_tensor.hpp"
#include "properties/engine/cases/offer.hpp"
#include "properties/engine/shrinking/shrink_steps.hpp"
#include "properties/engine/trials/library.hpp"
#include "properties/engine/trials/property.hpp"
#include "properties/engine/trials/trial_launch.hpp"

namespace warpcheck::engine {

// True if the call has an output with elements. A candidate may answer any other call, which is therefore not made.
bool has_results(const trial_case& c);
// True if the first tensor has elements, too: otherwise a candidate may have nothing to do.
bool has_work(const trial_case& c);
// False if the sizes, or other values, of the case do not fit its tables.
bool has_inputs(const trial_case& c);
// False for a case that takes too long or too many addresses for a question.
bool can_be_asked(const trial_case& c);
// True for a trait that a call has by default: a scalar's usual value.
bool is_usual(const trial_case& c, const trait& t);
trait different_extents(const axis& extents);

// What the answers of a candidate have shown, and the questions about sizes.
class size_inquiry {
 public:
  // `calls` is called before each call.
  size_inquiry(const target& t, offer known, const std::function<void()>& calls);

  // True if a call with all of these traits was answered: the reason of a refusal must then be the call's contents.
  // A large distance of a single row shows nothing of several rows.
  bool is_answered(const trait_set& traits) const;

 protected:
  // Makes the call once; `results` takes its outputs.
  warpcheck_status status_of(const trial_case& c, const tensor_map& inputs, tensor_map* results = nullptr) const;
  bool is_refused(const trial_case& c) const;
  void keep_plainest(const trial_case& c);
  static std::string form_name(const trial_case& c);

  // A candidate may answer only sizes that all are multiples of its tiles, so that no change of one size of a refused
  // call makes it an answered one. Tries the plain call at powers of two.
  void find_tiles(const trial_case& refused);
  // True if the plainest case is refused, too, once it has an extent like this; otherwise the call's contents may be
  // the reason.
  bool is_confirmed(const trait& t) const;
  // Returns the relation of extents that the candidate requires and the refused case lacks, as far as the answers to
  // sizes of `base` show one.
  trait_set refused_relation(const trial_case& base, const trial_case& refused);
  // Returns the extent of a refused case that is no multiple, too small or too large. Nothing if the sizes beside it
  // show no such rule: the refusal then stands alone, and nothing follows for other calls.
  trait_set refused_extent(const trial_case& c);

  offer known_;
  trial_case plainest_;               // of the cases that were answered
  std::vector<trial_case> answered_;  // that had something to do
  std::set<std::string> answered_forms_, refused_forms_;

 private:
  bool must_be_equal(const trial_case& base, const axis& extents);
  int64_t multiple_of_product(const trial_case& base, const axis& pair);
  trait_set rule_of_extent(const trial_case& c, const std::string& extent, int64_t size);
  int64_t known_multiple(const std::string& extent) const;
  std::optional<bool> answer_of_size(const trial_case& c, const std::string& extent, int64_t size);
  std::optional<bool> answer_of_sizes(trial_case c, const sizes& of);

  candidate candidate_;
  const std::function<void()>& calls_;
  int tries_of_tiles_ = 0;
  std::map<std::string, bool> answers_;  // to questions about sizes, by the case's line
};

}  // namespace warpcheck::engine
