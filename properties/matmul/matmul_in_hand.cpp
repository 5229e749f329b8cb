// matmul on trial: a product that somebody has in hand.
#include "properties/engine/trials/in_hand.hpp"
#include "properties/matmul/matmul_call.hpp"

namespace warpcheck {
namespace {

using namespace engine;

void judge_product_in_hand(trial& t) {
  const matmul_problem p = problem_of(t.the_case(), inputs_of(t));
  judge_bound(t, p, t.run().at("c"));
}

// c lies in place of c_in, with its type.
void complete_product(trial_case& c, const tensor_map&, bool) {
  if (c.at("c_in").elements() > 0) c.find("c")->in_place = "c_in";
}

const in_hand_registration of_product({"matmul", "within-error-bound", judge_product_in_hand, complete_product});

}  // namespace
}  // namespace warpcheck
