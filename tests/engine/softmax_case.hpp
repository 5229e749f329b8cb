// Cases of softmax for the candidate of these tests (test_candidate.cpp).
#pragma once

#include <fmt/format.h>

#include <string>

#include "properties/engine/trials/property.hpp"
#include "properties/engine/trials/run_case.hpp"

namespace warpcheck::engine {

// `tensors` are those of the line, without a bar behind the last.
inline trial_case softmax_case(const std::string& tensors, const std::string& variant, const std::string& knobs = "",
                               const char* property = "within-error-bound") {
  return parse_case_line(fmt::format("v1 softmax/{} {} | candidate={} device=cpu variant={} {}", property, tensors,
                                     TEST_CANDIDATE, variant, knobs));
}
inline case_report run_softmax(const std::string& tensors, const std::string& variant, const std::string& knobs = "",
                               const char* property = "within-error-bound") {
  return run_case(softmax_case(tensors, variant, knobs, property));
}
inline case_report run_variant(const std::string& variant, const std::string& layout = "",
                               const std::string& knobs = "") {
  return run_softmax("x=f32[3x37] fill=randn(5) | y=f32[3x37] " + layout, variant, knobs);
}

}  // namespace warpcheck::engine
