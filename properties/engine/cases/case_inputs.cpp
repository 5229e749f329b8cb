#include "properties/engine/cases/case_inputs.hpp"

#include <fmt/format.h>

#include <utility>

#include "properties/engine/cases/description.hpp"
#include "properties/engine/error.hpp"

namespace warpcheck::engine {

bool completes_inputs(const trial_case& c) {
  const description* const d = find_description(c.op);
  return d && d->derive;
}

void complete_inputs(const trial_case& c, tensor_map& inputs) {
  if (!completes_inputs(c)) return;
  tensor_map in_hand;
  for (const auto& [name, x] : inputs)
    if (c.at(name).fill.distribution == "npy") in_hand.emplace(name, x);
  find_description(c.op)->derive(c, inputs);
  for (auto& [name, x] : in_hand) inputs.insert_or_assign(name, std::move(x));
  for (const tensor_spec& t : c.tensors)
    if (t.fill.distribution == "derived")
      for (const edit& e : t.fill.edits) inputs.at(t.name).set_bits(e.row, e.col, encode(t.type, e.value));
}

void set_derived(tensor_map& inputs, host_tensor made) {
  const auto found = inputs.find(made.spec.name);
  if (found == inputs.end() || found->second.spec.fill.distribution != "derived") return;
  const tensor_spec& spec = found->second.spec;
  if (spec.elements() != made.spec.elements())
    throw usage_error(fmt::format("tensor {}: fill=derived() makes [{}], the case has [{}]", spec.name,
                                  fmt::join(made.spec.shape, "x"), fmt::join(spec.shape, "x")));
  found->second.bytes = std::move(made.bytes);
}

tensor_map inputs_of(const trial_case& c) {
  tensor_map inputs;
  for (const tensor_spec& t : c.tensors)
    if (t.is_input) inputs.emplace(t.name, materialize(t));
  complete_inputs(c, inputs);
  return inputs;
}

}  // namespace warpcheck::engine
