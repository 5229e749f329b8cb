// A call of abi/candidate.h for a case.
#pragma once

#include <string>
#include <vector>

#include "abi/candidate.h"
#include "properties/engine/cases/case.hpp"
#include "properties/engine/trials/library.hpp"

namespace warpcheck::engine {

// A call and the memory that it points to.
class prepared_call {
 public:
  // `tensors`: one per tensor of the case, in its order; they outlive the call.
  prepared_call(const trial_case& c, std::vector<DLTensor>& tensors, void* stream);
  prepared_call(const prepared_call&) = delete;
  prepared_call& operator=(const prepared_call&) = delete;

  // With a reserve where there is one.
  warpcheck_status run(const listed_operator& op, void* reserve = nullptr, int64_t reserve_bytes = 0);
  const warpcheck_call& view() const { return call_; }
  // The candidate's sentence as a report shows it: control characters could move a terminal's cursor or change its
  // colours.
  std::string message() const;

 private:
  std::vector<const DLTensor*> inputs_;
  std::vector<DLTensor*> outputs_;
  std::vector<warpcheck_scalar> scalars_;
  std::string variant_;
  char message_[512] = "";
  warpcheck_call call_ = {};
};

// Returns the text, cut to 200 characters if it is longer: skips and refusals may quote whole case lines.
std::string shortened(const std::string& text);
// Returns a candidate's text with its control characters as \x1b.
std::string printable(std::string_view text);

// Returns the device of the operator's tensors.
DLDevice dl_device(const listed_operator& op);
// Returns the distance, in elements, between neighbours in each dimension.
std::vector<int64_t> strides_of(const tensor_spec& spec);
// `shape` and `strides` must outlive the result.
DLTensor tensor_of(const tensor_spec& spec, void* data, DLDevice device, std::vector<int64_t>& shape,
                   std::vector<int64_t>& strides);

// True if the technique that the case forces, if any, accepts the call. It is asked without memory: the tensors point
// to addresses of the right alignment that must not be read.
bool is_accepted(const listed_operator& op, const trial_case& c);

}  // namespace warpcheck::engine
