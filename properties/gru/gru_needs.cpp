// Requirements of checks of gated recurrent units on a candidate's offer.

#include "properties/engine/cases/offer.hpp"
#include "properties/gru/gru_cases.hpp"

namespace warpcheck {

using namespace engine;

namespace {

bool lacks(const trial_case& c, const char* tensor) {
  const tensor_spec* const t = c.find(tensor);
  return !t || t->elements() == 0;
}

}  // namespace

void need_outputs(trial& t, std::initializer_list<const char*> outputs) {
  const offer* const offered = known_offer(t.the_case());
  if (!offered || offered->is_everything()) return;
  for (const char* name : outputs)
    if (lacks(t.the_case(), name) && t.the_case().at("x").elements() > 0) t.need(name);
}

void need_gradients(trial& t, const gru_data& d) {
  for (const auto& tensor : gru_tensors<double>())
    if (!(d.problem.*tensor.value).empty()) need_outputs(t, {tensor.gradient_name});
}

}  // namespace warpcheck
