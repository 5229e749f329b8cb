// One case on one candidate: runs it in every way that the case asks for (trial_plan.hpp, trial_launch.hpp), judges
// everything that surrounds a run (guards, inputs, gaps, hazards, repeated bits), hands the outputs to the property,
// and records the verdict.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "properties/engine/cases/case.hpp"
#include "properties/engine/cases/host_tensor.hpp"
#include "properties/engine/cases/offer.hpp"
#include "properties/engine/trials/call.hpp"
#include "properties/engine/trials/library.hpp"
#include "properties/engine/trials/trial_launch.hpp"
#include "properties/engine/trials/trial_plan.hpp"
#include "properties/engine/trials/verdict.hpp"
#include "reference/numerics/compare.hpp"
#include "reference/numerics/stated_sums.hpp"

namespace warpcheck::engine {

class reused_memory;

struct run_result {
  tensor_map tensors;  // every output by name, except a workspace
  const host_tensor& at(std::string_view name) const;
  // In the first launch: the variant that the candidate reports as run, and the one that its dispatch publishes for the
  // call; empty if it reports none.
  std::string used_variant, picked_variant;
};

// Returns the statements of the case's candidate.
offer stated_by(const trial_case& c);

// Makes one more launch of a call that was launched.
using launch_again = std::function<run_result(const launch_spec&)>;

// Thrown by trial when the case's verdict is already decided; the property need not catch it.
struct trial_over {};

class trial {
 public:
  // A case that forces a technique which does not take the call runs with the candidate's own dispatch instead.
  // `with_ratios`: the report keeps the histogram of error ratios. `stated`: in place of the statements of the
  // candidate.
  explicit trial(trial_case c, bool with_ratios = false, std::optional<offer> stated = {});

  const trial_case& the_case() const { return case_; }
  const listed_operator& op() const { return *candidate_.op; }
  // Returns the statements of the candidate.
  const offer& stated() const { return stated_; }
  const host_tensor& input(std::string_view name);
  // Before anything runs: the values of an input, in place of its recipe's.
  void give(host_tensor values);
  // True if the technique that a related case forces accepts its call.
  bool is_accepted(const trial_case& c) const { return engine::is_accepted(*candidate_.op, c); }

  // Runs the case's call and returns its outputs, identical under every schedule, launch and detector asked for.
  // The verdict is decided, and trial_over thrown, by a hazard, a guard, a changed input, unequal bits or an error
  // return.
  run_result run() { return run(case_); }
  // The same for a related call (another variant, other input values). Inputs given in `replace` take the place of the
  // recipe's.
  run_result run(const trial_case& c, const tensor_map& replace = {});
  // Checks calls of the case's kind in turn. Skips calls beyond the candidate's offer, and, after the first, calls in
  // which the check has nothing to judge. A message names the call, followed by `where`.
  void run_calls(const std::vector<trial_case>& calls, const std::function<void(trial&)>& check,
                 std::string_view where = "");
  // The same, with the tensors of all calls in the same memory.
  void run_on_same_storage(const std::vector<trial_case>& calls, const std::function<void(trial&)>& check);
  // A call that breaks the contract: `change` changes the DLTensors of the case's call (in the case's order), and the
  // candidate must answer WARPCHECK_INVALID_ARGUMENT with a message and write nothing. A candidate that does not offer
  // the case's call may answer WARPCHECK_UNSUPPORTED instead. `changed`: a case with other knobs and the same tensors,
  // whose call it is.
  void expect_refusal(const std::string& what, const change_tensors& change, const trial_case* changed = nullptr);

  // Takes one judged output element into the report; an element that is not accepted is remembered as the violation's
  // worst.
  // `expected_text` is asked for only then: more digits of the exact value.
  void judge(const std::string& tensor, int64_t row, int64_t col, double input, double actual,
             const reference::judgement& j, const std::function<std::string()>& expected_text = nullptr);
  // A broken invariant, reported as fmt::format(text, values...), that is no single element's error. Most hold, element
  // after element, so nothing is formatted until one does not.
  template <class... Values>
  void require(bool holds, fmt::format_string<const Values&...> text, const Values&... values) {
    if (!holds) broken(fmt::format(text, values...));
  }
  void skip(const std::string& reason);
  // From now on outputs keep the sign and payload of their NaNs, for contracts by which a value is copied.
  void keep_nan_bits() { keeps_nan_bits_ = true; }
  // True if a related call lies within the candidate's offer.
  bool offers(const trial_case& c) const;
  // Ends a case that needs a trait which the candidate lacks.
  [[noreturn]] void need(const std::string& what);
  // True if the candidate answered a call with WARPCHECK_UNSUPPORTED.
  bool is_unsupported() const { return is_unsupported_; }

  case_report finish();  // the verdict of everything seen

 private:
  const host_tensor& related_input(const trial_case& c, const tensor_spec& spec);
  // Starts launches that share one wait.
  std::unique_ptr<launch_group> launch(const trial_case& c, std::span<const launch_spec> group, int32_t sm_count,
                                       const tensor_map& replace);
  // Judges the memory after the launches; returns their results in order.
  std::vector<run_result> results_of(const trial_case& c, std::span<const launch_spec> group,
                                     const launch_group& launched);
  // Adds the results of launches: the first of all is kept, and the others must equal it in their bits.
  void add_results(const trial_case& c, std::span<const launch_spec> group, const launch_group& launched,
                   const launch_spec& first_spec, std::optional<run_result>& first, const launch_again& again);
  void judge_hazards(const trial_case& c, const launch_spec& how, const device_facts& device);
  void judge_call(const trial_case& c, const launch_spec& how, const call_facts& call, const device_facts& device);
  void judge_touch(const trial_case& c, const launch_spec* how, const touched_page& touch);
  void judge_memory(const trial_case& c, const launch_spec* how, const memory_facts& memory, const std::string& during);
  void judge_bits(const trial_case& c, const launch_spec& how, const run_result& r, const launch_spec& first_spec,
                  const run_result& first, const launch_again& again);
  void keep_departing(const worst_element& w);
  void try_refusal(const std::string& what, const change_tensors& change, const trial_case& call);
  bool is_offered();
  // Returns the result of `body`; a failure of the device is the case's verdict.
  template <class Body>
  auto on_device(const trial_case& c, Body&& body);
  [[noreturn]] void broken(std::string message);
  // Notes the verdict, narrows the report's case line to the launch that showed it, and ends the trial.
  [[noreturn]] void decide(verdict v, std::string message, const trial_case& c, const launch_spec* how);

  trial_case case_;
  candidate candidate_;
  offer stated_;
  reference::stated_sums sums_;  // the order of sums for which bounds are computed while this trial lives
  case_report report_;
  tensor_map inputs_;
  tensor_map related_;  // inputs of the last related call
  int64_t rejected_ = 0;
  bool is_unsupported_ = false;
  bool keeps_nan_bits_ = false;
  bool agrees_in_bits_ = true;                 // required of the current call
  int proven_calls_ = 0, unproven_calls_ = 0;  // calls of which every schedule is proven, or is not
  reused_memory* memory_ = nullptr;            // shared by calls
  std::string which_call_;                     // the call that shares memory, for the message of a failure
  const bool keeps_ratios_;
  const bool keeps_departing_;
};

}  // namespace warpcheck::engine
