// Values and bounds of gru_bound.hpp taken apart, for explanations; no verdict uses them.
#pragma once

#include <functional>
#include <vector>

#include "reference/gru/gru_bound.hpp"
#include "reference/numerics/bound_term.hpp"
#include "reference/numerics/model_step.hpp"

namespace warpcheck::reference {

// Called with the parts of an element's bound, which add up to it; hn, dh0, dh_reset and trace_e have no parts.
using gru_parts_observer = std::function<void(const char* tensor, size_t i, const std::vector<bound_term>& parts)>;

gru_verdict judge_gru_steps(const gru_problem<double>& p, const gru_states<double>& actual,
                            const gru_accuracy& accuracy, gru_observer see, const gru_parts_observer& parts);
gru_verdict judge_gru_gradient_steps(const gru_problem<double>& p, const gru_states<double>& given,
                                     const std::vector<double>& dy, const std::vector<double>& dhn,
                                     const gru_gradients<double>& actual, const gru_accuracy& accuracy,
                                     gru_observer see, const gru_parts_observer& parts);

// The blocks of the history.
inline constexpr const char* k_gru_blocks[] = {"reset gate r", "update gate z", "new gate n",
                                               "W_hh h + b of the new gate"};
// Steps of unit k of a row's step in direction d, from the state before it that the kernel wrote.
std::vector<model_step> gru_steps(const gru_problem<double>& p, const gru_states<double>& actual,
                                  const gru_accuracy& accuracy, int d, int64_t b, int64_t step, int64_t k);

}  // namespace warpcheck::reference
