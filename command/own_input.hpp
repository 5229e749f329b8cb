// The arrays and scalars of `verify --input`, and the cases that judge them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "command/commands.hpp"
#include "properties/engine/trials/property.hpp"

namespace warpcheck::cli {

class own_input {
 public:
  // Reads the files that `o.inputs` names. Throws usage_error if they are no call of the operators.
  own_input(const verify_options& o, const std::vector<std::string>& ops);
  explicit operator bool() const { return rows_ || call_; }
  // True if the property judges these arrays for a candidate of this element type.
  bool is_judged_by(const engine::property& p, dtype type) const;
  // Returns the cases of such a property within the candidate's offer. Throws usage_error if the candidate does not
  // offer a given array or value.
  std::vector<engine::trial_case> cases(const engine::property& p, const engine::target& t) const;
  std::string type_name() const;

 private:
  std::optional<engine::tensor_spec> rows_;  // one matrix; properties judge all calls of it
  std::optional<engine::trial_case> call_;   // several arrays, of one call
  std::map<std::string, std::string> scalars_;
};

}  // namespace warpcheck::cli
