#include "properties/engine/trials/two_passes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "properties/engine/cases/host_tensor.hpp"

namespace warpcheck::engine {
namespace {

const split_call& split_of(const trial_case& c) { return *find_description(c.op)->split; }

// A tensor without elements, which means absent.
void take_away(DLTensor& t) {
  static int64_t no_elements[4] = {};
  t.shape = no_elements;
}

bool is_of_forward(const split_call& split, const std::string& output) {
  return std::ranges::find(split.of_forward, output) != split.of_forward.end();
}

}  // namespace

trial_case two_passes::forward_case(trial_case c) {
  const split_call& split = split_of(c);
  set_knob(c, split.scalar, split.forward);
  for (tensor_spec& t : c.tensors) {
    if (t.is_input || t.is_workspace() || is_of_forward(split, t.name)) continue;
    t.shape.assign(t.shape.size(), 0);
    t.ld = 0;
  }
  return c;
}

bool two_passes::fits(const trial_case& c, const listed_operator& op) {
  if (!op.reserve) return false;
  const description* const d = find_description(c.op);
  return d && d->split && c.knob(d->split->scalar) == d->split->both;
}

two_passes::two_passes(const trial_case& c, const std::vector<DLTensor>& tensors, const launch_spec& how, void* stream)
    : how_(how), split_(split_of(c)) {
  place_cpu_buffers(how.placement);
  prepare_forward(c, tensors, stream);
  bytes_ = how.op->reserve->bytes(forward_->view());
  if (bytes_ < 0) return;
  tensor_spec spec;
  spec.is_input = false;
  spec.type = dtype::u8;
  spec.shape = {bytes_};
  spec.ld = bytes_;
  spec.name = "reserve";
  reserve_ = allocate(spec).data();
  spec.name = "reserve of another call";
  other_reserve_ = allocate(spec).data();
  prepare_backward(c, tensors, stream);
}

device_tensor& two_passes::allocate(tensor_spec spec) {
  spec.in_place.clear();
  spec.same.clear();
  spec.beside.clear();
  memory_.push_back(std::make_unique<device_tensor>(spec, *how_.api, how_.poison));
  if (spec.is_input)
    memory_.back()->write(host_tensor(spec));  // zeros
  else
    memory_.back()->forget();
  return *memory_.back();
}

// The first input of the other call is zeros, so its results are useless for the backward call.
void two_passes::prepare_forward(const trial_case& c, const std::vector<DLTensor>& tensors, void* stream) {
  const trial_case forward = forward_case(c);
  forward_tensors_ = tensors;
  for (size_t i = 0; i < tensors.size(); ++i)
    if (c.tensors[i].elements() > 0 && forward.tensors[i].elements() == 0) take_away(forward_tensors_[i]);
  other_tensors_ = forward_tensors_;
  for (size_t i = 0; i < tensors.size(); ++i)
    if (c.tensors[i].elements() > 0 && (i == 0 || is_of_forward(split_, c.tensors[i].name)))
      other_tensors_[i].data = allocate(c.tensors[i]).data();
  forward_ = std::make_unique<prepared_call>(forward, forward_tensors_, stream);
  other_ = std::make_unique<prepared_call>(forward, other_tensors_, stream);
}

void two_passes::prepare_backward(trial_case c, const std::vector<DLTensor>& tensors, void* stream) {
  set_knob(c, split_.scalar, split_.backward);
  backward_tensors_ = tensors;
  const auto place = [&](const std::string& name) { return static_cast<size_t>(c.find(name) - c.tensors.data()); };
  for (const auto& [output, input] : split_.handed) backward_tensors_[place(input)] = tensors[place(output)];
  for (const std::string& output : split_.of_forward) take_away(backward_tensors_[place(output)]);
  backward_ = std::make_unique<prepared_call>(c, backward_tensors_, stream);
}

warpcheck_status two_passes::run() {
  if (bytes_ < 0) {
    message_ = fmt::format("the reserve's bytes are {}, must be 0 or more", bytes_);
    return WARPCHECK_INTERNAL_ERROR;
  }
  for (auto& [call, memory] :
       {std::pair{forward_.get(), reserve_}, {other_.get(), other_reserve_}, {backward_.get(), reserve_}}) {
    const warpcheck_status status = call->run(*how_.op, memory, bytes_);
    message_ = call->message();
    if (status != WARPCHECK_OK) return status;
  }
  return WARPCHECK_OK;
}

}  // namespace warpcheck::engine
