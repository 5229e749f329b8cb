// Bounds of gru_bound.hpp taken apart, for explanations; no verdict uses them.
#pragma once

#include <functional>
#include <vector>

#include "reference/gru/gru_bound.hpp"
#include "reference/numerics/bound_term.hpp"

namespace warpcheck::reference {

// Called with the parts of an element's bound, which add up to it; hn, dh0, dh_reset and trace_e have no parts.
using gru_parts_observer = std::function<void(const char* tensor, size_t i, const std::vector<bound_term>& parts)>;

gru_verdict judge_gru_steps(const gru_problem<double>& p, const gru_states<double>& actual,
                            const gru_accuracy& accuracy, gru_observer see, const gru_parts_observer& parts);
gru_verdict judge_gru_gradient_steps(const gru_problem<double>& p, const gru_states<double>& given,
                                     const std::vector<double>& dy, const std::vector<double>& dhn,
                                     const gru_gradients<double>& actual, const gru_accuracy& accuracy,
                                     gru_observer see, const gru_parts_observer& parts);

}  // namespace warpcheck::reference
