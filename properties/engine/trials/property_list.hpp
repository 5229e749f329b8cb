// The properties of an operator in the order in which its file registers them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "properties/engine/trials/property.hpp"
#include "properties/engine/trials/trial.hpp"

namespace warpcheck::engine {

class property_list {
 public:
  using generator = std::function<trial_case(const target&, draw&)>;

  // `share`: the share_percent of properties that are added without one.
  property_list(std::string op, std::vector<dtype> types, int share = 100)
      : op_(std::move(op)), types_(std::move(types)), share_(share) {}

  // The reference is valid until the next one is added.
  property& add(std::string name, std::string sentence, generator generate, std::function<void(trial&)> check,
                std::optional<int> share = std::nullopt);
  property& append(property p) { return list_.emplace_back(std::move(p)); }

  std::vector<property> take() { return std::move(list_); }

 private:
  std::string op_;
  std::vector<dtype> types_;
  int share_;
  std::vector<property> list_;
};

}  // namespace warpcheck::engine
