#include "command/candidates/described_contract.hpp"

#include <algorithm>
#include <limits>

#include "properties/engine/trials/library.hpp"

namespace warpcheck::cli {
namespace {

tensor_rule rule_of(const engine::tensor_info& info) {
  tensor_rule rule;
  rule.name = info.name;
  rule.is_input = info.is_input;
  rule.is_optional = info.is_optional;
  for (const dtype type : info.types) rule.types |= engine::dtype_bit(type);
  rule.shape = info.shape;
  for (const engine::shape_when& w : info.when) rule.others.push_back({w.scalar, w.value, w.shape});
  rule.may_be = info.may_be;
  rule.never_with = info.never_with;
  rule.beside = info.beside;
  return rule;
}

}  // namespace

contract contract_of(const engine::description& d) {
  constexpr double k_most = std::numeric_limits<double>::max();
  contract c;
  c.op = d.op;
  // For row operators only the length, as candidate.h defines it.
  if (d.find("cols"))
    c.extents = {"cols"};
  else
    for (const engine::extent_info& e : d.extents)
      if (!e.derived && c.extents.size() < WARPCHECK_MAX_EXTENTS) c.extents.push_back(e.name);
  for (const engine::call_form& form : d.forms) {
    form_rule rule;
    rule.name = form.name;
    rule.when = form.when;
    for (const engine::tensor_info& t : form.tensors) rule.tensors.push_back(rule_of(t));
    for (const engine::scalar_info& s : form.scalars) {
      if (!s.is_passed) continue;
      const double usual = engine::passed_value(s, s.fallback);
      if (s.names.empty())  // JSON has no infinity
        rule.scalars.push_back({s.name,
                                usual,
                                s.meaning,
                                std::max(s.least, -k_most),
                                std::min(s.most, k_most),
                                s.is_integer,
                                {},
                                s.of_tensor});
      else
        rule.scalars.push_back(enumeration(s.name, s.names, usual, s.meaning, s.of_tensor));
    }
    c.forms.push_back(std::move(rule));
  }
  return c;
}

}  // namespace warpcheck::cli
