// Known answers of any described operator, their check against its reference, and the property `golden`. Row operators
// have shorter words for the same (row_golden.hpp).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "golden/check.hpp"
#include "properties/engine/cases/description.hpp"
#include "properties/engine/trials/property.hpp"
#include "reference/numerics/compare.hpp"

namespace warpcheck::golden {

// The beginning of an answer of golden/<op>/<op>_golden.cpp, whose case has no tensors yet.
golden_file answer_of(const std::string& op, std::string name, std::string source,
                      std::map<std::string, std::string> knobs = {});

// Lists the values of an input, in row order.
template <class Values>
void list_values(golden_file& f, const std::string& tensor, dtype type, const Values& values) {
  listed_input& listed = f.inputs.emplace_back(listed_input{tensor, {}});
  for (const auto v : values) listed.bits.push_back(engine::encode(type, static_cast<double>(v)));
}

// A case of the operator's first form whose inputs have these values, in row order, listed unless all are equal.
// Every output needs its values. usage_error where a number of values is not that of the tensor's elements.
golden_file known_answer(const std::string& op, std::string name, std::string generator, std::string source,
                         const engine::sizes& of, const std::map<std::string, std::vector<double>>& inputs,
                         std::map<std::string, std::string> knobs, std::vector<expected_output> outputs);

// Returns the reference's result for element i, in row order, of an output: its value with 20 significant digits, or
// exact, and a judgement of a value.
struct output_model {
  std::function<std::string(const std::string& tensor, int64_t i)> text;
  std::function<reference::judgement(const std::string& tensor, int64_t i, double actual)> judge;
};
// One sentence per output element in which the reference and the file differ (check.hpp).
std::vector<std::string> disagreements_with(const golden_file& f, const output_model& model);

// The known answers as cases, in turn, with the operator's own check.
engine::property golden_property(std::string op, std::vector<dtype> types, std::vector<golden_file> (*known_answers)(),
                                 std::function<void(engine::trial&)> check);
// True if the case has the tensors of a known answer; for golden properties whose checks know no other values.
bool is_known_answer(const engine::trial_case& c, std::vector<golden_file> (*known_answers)());

}  // namespace warpcheck::golden
