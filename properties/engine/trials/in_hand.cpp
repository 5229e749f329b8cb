#include "properties/engine/trials/in_hand.hpp"

#include <algorithm>
#include <vector>

#include "properties/engine/trials/property.hpp"

namespace warpcheck::engine {
namespace {

std::vector<in_hand_judge>& in_hand_judges() {
  static std::vector<in_hand_judge> all;
  return all;
}

}  // namespace

in_hand_registration::in_hand_registration(in_hand_judge judge) { in_hand_judges().push_back(std::move(judge)); }

const in_hand_judge* find_in_hand_judge(std::string_view op) {
  const std::vector<in_hand_judge>& all = in_hand_judges();
  const auto at = std::ranges::find_if(all, [&](const in_hand_judge& j) { return j.op == op; });
  return at == all.end() ? nullptr : &*at;
}

void check_call(trial& t) {
  const trial_case& c = t.the_case();
  const property& p = find_property(c.op, c.property);
  const in_hand_judge* const own = has_arrays_in_hand(c) && !p.for_input ? find_in_hand_judge(c.op) : nullptr;
  own && own->property == p.name ? own->check(t) : p.check(t);
}

tensor_map inputs_of(trial& t) {
  tensor_map inputs;
  for (const tensor_spec& s : t.the_case().tensors)
    if (s.is_input) inputs.emplace(s.name, t.input(s.name));
  return inputs;
}

}  // namespace warpcheck::engine
