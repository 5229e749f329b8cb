// A row of an operator's bench list as calls: the case by its description, in a device's memory, launched as a trial
// launches it, and judged by the operator's own property.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "bench/device_timing.hpp"
#include "properties/engine/cases/description.hpp"
#include "properties/engine/cases/host_tensor.hpp"
#include "properties/engine/trials/call.hpp"

namespace warpcheck::bench {

// operator/type/ROWSxCOLS, then what is special, unless the row has a name; a vector is one row.
std::string name_of(const engine::description& d, const engine::bench_row& row);

// Bytes of one call's tensors, where their rows lie without gaps; of what a selection leaves out, none.
traffic traffic_of(const engine::description& d, const engine::bench_row& row);

// Of the row's largest tensor.
int64_t elements_of(const engine::description& d, const engine::bench_row& row);

// What calls are made of and on.
struct bench_device {
  const warpcheck_device_api& api;
  DLDevice place;
  void* stream;
  device_timing timing;

  // For all that was enqueued. Throws std::runtime_error after an error of the device, or a hazard.
  void wait() const { wait_for(api, stream); }
  static void wait_for(const warpcheck_device_api& api, void* stream);
};

class timed_call {
 public:
  // usage_error where the row's inputs have no values. All arguments outlive it.
  timed_call(const engine::description& d, const engine::bench_row& row, const bench_device& on);
  ~timed_call();

  const slots& memory() const { return memory_; }
  // Of each slot.
  std::vector<const warpcheck_call*> calls() const;

  // Enqueues execution i; returns what ran, "" if the callee reports none. Throws std::runtime_error if the call fails.
  std::string run(const engine::listed_operator& callee, int i);
  // One more execution, into outputs of 0xff bytes (a NaN in each float type), judged by the row's property: nothing is
  // left unwritten, and about a million elements, of whole slices, are right. Throws std::runtime_error where they are
  // not.
  void verify(const engine::listed_operator& callee);

  // The steps of a judged execution (timed_run.hpp). New inputs, whose values follow from the seed, wait in memory of
  // their own; the inputs stay where the row's property made them, or slices are selected: then outputs are poisoned.
  void poison_outputs();
  void draw_inputs(uint64_t seed);
  void prepare(int i);
  void keep(int i);
  // Judges slices of what was kept that the seed picks, and that no slot of `used` holds outputs as poisoned. Throws
  // std::runtime_error where not.
  void judge_kept(const std::set<int>& used, uint64_t seed);

 private:
  struct prepared;
  // Where a tensor lies: in each slot, or once, where a selection determines the part that a slot's call reads.
  enum class area { slot_inputs, slot_outputs, shared_inputs };
  area area_of(const engine::tensor_spec& t) const;
  size_t place(area where);
  void fill_inputs(const engine::tensor_map& asked) const;
  engine::host_tensor values_of(size_t i, const engine::tensor_map& asked) const;
  engine::host_tensor random_values(size_t i, uint64_t seed) const;
  // True if the inputs of a judged execution are new.
  bool has_new_inputs() const;
  void write_over_and_over(char* to, size_t size, const std::vector<std::byte>& values, size_t from) const;
  bool is_random(const engine::tensor_spec& t) const;
  // Of about so many elements; the seed draws which, else they are spread evenly.
  std::vector<engine::bench_part> parts(int64_t elements, std::optional<uint64_t> seed) const;
  engine::bench_part slices_from(int64_t first, int64_t count) const;
  // One more execution, into outputs of this byte.
  void run_into(const engine::listed_operator& callee, char byte);
  void check_all_written(const engine::listed_operator& callee);
  // Of tensor i those that `counts` says, of where one begins, its bytes, and how many.
  template <class Counts>
  int64_t count_elements(size_t i, const Counts& counts) const;
  void verify_part(const engine::bench_part& part) const;
  void read_box(const engine::bench_part::box& box, engine::host_tensor* to) const;
  void read_lines(std::byte* to, const char* from, size_t own, size_t apart, size_t lines) const;
  const char* judged_data(size_t i) const;
  bool is_poisoned(int slot, uint64_t seed) const;
  // Tensor i in a slot.
  char* at(size_t i, int slot = 0) const;
  void write(char* to, const void* from, size_t bytes) const;
  void read(void* to, const char* from, size_t bytes) const;

  const engine::description& described_;
  const engine::bench_row& row_;
  const bench_device& device_;
  engine::trial_case case_;
  std::vector<size_t> places_;  // of each tensor, from its area's start
  slots memory_, shared_;
  // Of a judged execution, as in a slot; its inputs are those of `judged_slot_` where they are not new.
  std::shared_ptr<char> new_inputs_, kept_outputs_;
  int judged_slot_ = 0;
  bool judges_kept_ = false;                         // which results verify_pieces() reads: these, or those of slot 0
  std::vector<std::unique_ptr<prepared>> prepared_;  // for each slot
};

}  // namespace warpcheck::bench
