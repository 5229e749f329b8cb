// Registration of matmul's properties by their files.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "properties/engine/trials/property.hpp"
#include "properties/engine/trials/trial.hpp"

namespace warpcheck {

inline engine::property matmul_property(std::string name, std::string sentence, std::vector<dtype> types,
                                        engine::trial_case (*generate)(const engine::target&, engine::draw&),
                                        void (*check)(engine::trial&), int share = 100) {
  engine::property p;
  p.op = "matmul";
  p.name = std::move(name);
  p.sentence = std::move(sentence);
  p.types = std::move(types);
  p.generate = generate;
  p.check = check;
  p.share_percent = share;
  return p;
}

// The property of calls without the logistic function.
inline engine::property without_sigmoid(engine::property p) {
  p.holds = [](const engine::trial_case& c) { return c.knob("sigmoid") != "1"; };
  return p;
}

}  // namespace warpcheck
