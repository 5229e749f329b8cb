// One case on one candidate: makes the tensors, runs the candidate under every schedule the case asks for, checks
// everything that surrounds a run (guards, inputs, gaps, hazards, repeated bits), and hands the outputs to the
// property.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "properties/engine/case.hpp"
#include "properties/engine/library.hpp"
#include "properties/engine/verdict.hpp"
#include "reference/numerics/compare.hpp"

namespace warpcheck::engine {

// A tensor on the host: rows packed without gaps, elements as raw bits.
struct host_tensor {
  tensor_spec spec;
  std::vector<std::byte> bytes;

  explicit host_tensor(const tensor_spec& s) : spec(s), bytes(static_cast<size_t>(s.elements()) * size_of(s.type)) {}
  uint64_t bits(int64_t row, int64_t col) const;
  void set_bits(int64_t row, int64_t col, uint64_t bits);
  double value(int64_t row, int64_t col) const { return decode(spec.type, bits(row, col)); }
  std::vector<double> row(int64_t row) const;  // the row's values, exactly
};
// The values of an input as its recipe makes them. `npy` files are read and their hash is checked.
host_tensor materialize(const tensor_spec& spec);

struct run_result {
  std::map<std::string, host_tensor, std::less<>> tensors;  // every output by name, but a workspace
  const host_tensor& at(std::string_view name) const;
  // Of the first launch: the variant that the candidate says it ran, and the one that its dispatch publishes for the
  // call; empty where it says nothing.
  std::string used_variant, picked_variant;
};

// Thrown by trial when the case's verdict is already decided; the property need not catch it.
struct trial_over {};

class trial {
 public:
  // `budgets`: whether the report keeps the histogram of budgets.
  explicit trial(trial_case c, bool budgets = false);

  const trial_case& the_case() const { return case_; }
  const listed_operator& op() const { return *candidate_.op; }
  const host_tensor& input(std::string_view name);

  // Runs the case's call and returns its outputs, identical under every schedule, launch and detector asked for.
  // The verdict is decided, and trial_over thrown, by a hazard, a guard, a changed input, unequal bits or an error
  // return.
  run_result run() { return run(case_); }
  // The same for a related call (another variant, other input values). Inputs given in `replace` take the place of the
  // recipe's.
  run_result run(const trial_case& c, const std::map<std::string, host_tensor, std::less<>>& replace = {});
  // A call that breaks the contract: `spoil` changes the DLTensors of the case's call (in the case's order), and the
  // candidate must answer WARPCHECK_INVALID_ARGUMENT with a message and write nothing. One that does not offer the
  // case's call at all may as well say so, with WARPCHECK_UNSUPPORTED.
  // `changed`: a case with other knobs and the same tensors, whose call it is.
  void expect_refusal(const std::string& what, const std::function<void(std::vector<DLTensor>&)>& spoil,
                      const trial_case* changed = nullptr);

  // Takes one judged output element into the report; an element that is not accepted is remembered as the violation's
  // worst.
  // `expected_text` is asked for only then: more digits of the exact value.
  void judge(const std::string& tensor, int64_t row, int64_t col, double input, double actual,
             const reference::judgement& j, const std::function<std::string()>& expected_text = nullptr);
  // A broken invariant, told of as fmt::format(text, values...), that is no single element's error. Most hold, element
  // after element, so nothing is formatted until one does not.
  template <class... Values>
  void require(bool holds, fmt::format_string<const Values&...> text, const Values&... values) {
    if (!holds) broken(fmt::format(text, values...));
  }
  void skip(const std::string& reason);
  // From now on outputs keep the sign and payload of their NaNs, for contracts by which a value is copied.
  void keep_nan_bits() { keeps_nan_bits_ = true; }
  // Whether the candidate answered a call with WARPCHECK_UNSUPPORTED.
  bool is_unsupported() const { return is_unsupported_; }

  case_report finish();  // the verdict of everything seen

 private:
  struct attempt;
  std::vector<attempt> attempts(const trial_case& c) const;
  static void place(const trial_case& c, std::vector<attempt>& list);
  struct flight;
  static size_t group_size(const trial_case& c, std::span<const attempt> list, size_t first);
  flight prepare(const trial_case& c, const attempt& a, const std::map<std::string, host_tensor, std::less<>>& replace);
  const host_tensor& related_input(const tensor_spec& spec);
  void launch(const trial_case& c, flight& f, void* stream, std::optional<std::string>& replay_error);
  // The results of attempts that one wait is enough for, in their order.
  std::vector<run_result> execute(const trial_case& c, std::span<const attempt> group,
                                  const std::map<std::string, host_tensor, std::less<>>& replace);
  run_result collect(const trial_case& c, const flight& f);
  void try_refusal(const std::string& what, const std::function<void(std::vector<DLTensor>&)>& spoil,
                   const trial_case& call);
  bool is_offered();
  // What `body` returns; a device that fails meanwhile is the case's verdict.
  template <class Body>
  auto on_device(const trial_case& c, Body&& body);
  [[noreturn]] void broken(std::string message);
  // Notes the verdict, narrows the report's case line to the attempt that showed it, and ends the trial.
  [[noreturn]] void decide(verdict v, std::string message, const trial_case& c, const attempt* a);

  trial_case case_;
  candidate candidate_;
  case_report report_;
  std::map<std::string, host_tensor, std::less<>> inputs_;
  std::vector<std::pair<tensor_spec, std::unique_ptr<host_tensor>>> related_;  // of the related call that ran last
  int64_t rejected_ = 0;
  bool is_unsupported_ = false;
  bool keeps_nan_bits_ = false;
  const bool keeps_budgets_;
};

}  // namespace warpcheck::engine
