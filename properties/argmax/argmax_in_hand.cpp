// argmax on trial: indices that somebody has in hand.
#include "properties/engine/trials/in_hand.hpp"
#include "reference/argmax/argmax.hpp"

namespace warpcheck {
namespace {

using namespace engine;

// As elements: whoever asks for exact values gets the indices.
void judge_indices_in_hand(trial& t) {
  const host_tensor &x = t.input("x"), index = t.run().at("index");
  for (int64_t row = 0; row < x.spec.rows(); ++row) {
    const std::vector<double> values = x.row(row);
    const int64_t expected = reference::argmax(values);
    const auto actual = static_cast<double>(static_cast<int64_t>(index.bits(0, row)));
    t.judge("index", 0, row, expected < 0 ? 0 : values[static_cast<size_t>(expected)], actual,
            reference::judge_fixed(dtype::f64, actual, static_cast<double>(expected)));
  }
}

const in_hand_registration of_indices({"argmax", "within-error-bound", judge_indices_in_hand});

}  // namespace
}  // namespace warpcheck
