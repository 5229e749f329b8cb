// matmul on trial: a product that somebody has in hand.
#include "properties/engine/trials/in_hand.hpp"
#include "properties/matmul/matmul_problem.hpp"

namespace warpcheck {
namespace {

using namespace engine;

// c lies in place of c_in, with its type.
void complete_product(trial_case& c, const tensor_map&, bool) {
  if (c.at("c_in").elements() > 0) c.find("c")->in_place = "c_in";
}

const in_hand_registration of_product({"matmul", "within-error-bound", check_product, complete_product});

}  // namespace
}  // namespace warpcheck
