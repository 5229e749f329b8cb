#include "properties/engine/trials/property_list.hpp"

namespace warpcheck::engine {

property& property_list::add(std::string name, std::string sentence, generator generate,
                             std::function<void(trial&)> check, std::optional<int> share) {
  property& p = list_.emplace_back();
  p.op = op_;
  p.name = std::move(name);
  p.sentence = std::move(sentence);
  p.types = types_;
  p.generate = std::move(generate);
  p.check = std::move(check);
  p.may_break_contract = p.name.starts_with("rejects-invalid");
  p.share_percent = share.value_or(share_);
  return p;
}

}  // namespace warpcheck::engine
