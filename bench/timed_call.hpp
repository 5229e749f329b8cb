// A row of an operator's bench list as calls: the case by its description, in a device's memory, launched as a trial
// launches it, and judged by the operator's own property.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "bench/bench_device.hpp"
#include "bench/row_case.hpp"
#include "properties/engine/cases/description.hpp"
#include "properties/engine/cases/host_tensor.hpp"
#include "properties/engine/isolation/isolated_library.hpp"
#include "properties/engine/trials/call.hpp"

namespace warpcheck::bench {

class timed_call {
 public:
  // Throws usage_error if the row's inputs have no values. All arguments outlive the object.
  timed_call(const engine::description& d, const engine::bench_row& row, const bench_device& on);
  ~timed_call();

  const slots& memory() const { return memory_; }
  // Returns the call of each slot.
  std::vector<const warpcheck_call*> calls() const;

  // Enqueues execution i; returns the variant that ran, "" if the callee reports none. Throws std::runtime_error if the
  // call fails.
  std::string run(const engine::listed_operator& callee, int i);
  // Makes an execution on a stream that counts; returns its counts. Throws as `run` and `wait`.
  std::string count(const engine::listed_operator& callee);
  // Makes one more execution, into outputs of 0xff bytes (a NaN in each float type), and judges it by the
  // operator's property: every element was written, and about a million elements, of whole slices, are right. Throws
  // std::runtime_error otherwise.
  void verify(const engine::listed_operator& callee);

  // New inputs for all executions of a turn, so that a callee cannot tell the judged one by its inputs: their values
  // follow from the seed and wait in separate memory; unless the row has recipes, some are large. give_inputs()
  // enqueues them for execution i, beginning with one that `from` picks. If some inputs follow from others, or slices
  // are selected, the inputs stay as they are.
  void draw_inputs(uint64_t seed);
  void give_inputs(int i, uint64_t from);
  // All outputs; those of execution i; the parts of its outputs that judge_kept() looks at with this seed.
  void poison_outputs();
  void poison_outputs(int i);
  void poison_parts(int i, uint64_t seed);
  // Enqueues a copy of the results of execution i, which is the judged one.
  void keep(int i);
  // Returns all that is read to judge these executions with this seed.
  std::vector<engine::peeked> judged_parts(const std::vector<int>& executions, uint64_t seed) const;
  // Returns a part of the first result in each slot, at a place that the seed picks.
  std::vector<engine::peeked> parts_of_results(uint64_t seed) const;
  // Judges stored slices that the seed picks, of about so many elements, and checks that no slot of `used` still holds
  // poisoned outputs and that new inputs are as they were. Throws std::runtime_error if one of these fails.
  void judge_kept(const std::set<int>& used, uint64_t seed, int64_t elements = int64_t{1} << 16);

 private:
  struct prepared;
  // The place of a tensor: one in each slot, or a single one if a selection determines the part that a slot's call
  // reads.
  enum class area { slot_inputs, slot_outputs, shared_inputs };
  area area_of(const engine::tensor_spec& t) const;
  size_t place(area where);
  void fill_inputs(const engine::tensor_map& completed) const;
  engine::host_tensor values_of(size_t i, const engine::tensor_map& completed) const;
  engine::host_tensor random_values(size_t i, uint64_t seed) const;
  // True if the inputs of a judged execution are new.
  bool has_new_inputs() const;
  // Returns what `work` makes on the host, while other processes may use the device.
  template <class Work>
  auto yielding(const Work& work) const {
    const auto others = device_.timing.yield();
    return work();
  }
  void write_over_and_over(char* to, size_t size, const std::vector<std::byte>& values, size_t from) const;
  bool is_random(const engine::tensor_spec& t) const;
  // Returns parts with about this many elements; drawn by the seed, or else spread evenly.
  std::vector<engine::bench_part> parts(int64_t elements, std::optional<uint64_t> seed) const;
  engine::bench_part slices_from(int64_t first, int64_t count) const;
  // Makes one more execution, into outputs of this byte.
  void run_into(const engine::listed_operator& callee, char byte);
  void check_all_written(const engine::listed_operator& callee);
  // Counts the elements of tensor i for which `counts(offset, bytes, size)` is true.
  template <class Counts>
  int64_t count_elements(size_t i, const Counts& counts) const;
  void verify_part(const engine::bench_part& part) const;
  void read_box(const engine::bench_part::box& box, engine::host_tensor* to) const;
  const char* judged_data(size_t i) const;
  // Returns a part of each output in a slot, at places that the seed picks for the slot.
  std::vector<engine::peeked> looked_at(int slot, uint64_t seed) const;
  bool is_poisoned(int slot, uint64_t seed) const;
  // The offset of a tensor's drawn values.
  size_t drawn_place(size_t i) const;
  // Enqueues copies of the drawn values to the inputs of a slot, or to their copy.
  void copy_drawn(char* inputs, uint64_t from) const;
  // Throws std::runtime_error if a call changed new inputs; of many bytes it compares a part that the seed picks.
  void check_inputs(uint64_t seed) const;
  // Returns tensor i in a slot.
  char* at(size_t i, int slot = 0) const;
  void write(char* to, const void* from, size_t bytes) const;
  void read(void* to, const char* from, size_t bytes) const;

  const engine::description& described_;
  const engine::bench_row& row_;
  const bench_device& device_;
  double limit_share_;  // time limit of a call, relative to the usual one
  engine::trial_case case_;
  std::vector<size_t> places_;  // offset of each tensor in its area
  slots memory_, shared_;
  // Inputs and outputs of a judged execution, laid out as in a slot; if the inputs are not new, they are those of
  // `judged_slot_`.
  std::shared_ptr<char> expected_inputs_, kept_outputs_;
  std::shared_ptr<char> drawn_;    // the values that inputs have over and over, one tensor's after the other's
  std::map<int, uint64_t> given_;  // `from`, by slot
  int judged_slot_ = 0;
  bool judges_kept_ = false;  // true: judged_data() returns these results; false: those of slot 0
  std::vector<std::unique_ptr<prepared>> prepared_;  // for each slot
};

}  // namespace warpcheck::bench
