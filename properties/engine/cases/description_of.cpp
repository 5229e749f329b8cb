#include "properties/engine/cases/description_of.hpp"

#include <algorithm>

#include "properties/engine/trials/library.hpp"

namespace warpcheck::engine {
namespace {

// In the order of their bits.
std::vector<dtype> types_of(uint32_t bits) {
  std::vector<dtype> types;
  for (const dtype type : {dtype::f32, dtype::f16, dtype::bf16, dtype::f64, dtype::i32, dtype::i64, dtype::u8,
                           dtype::u16, dtype::u32, dtype::i8, dtype::e4m3, dtype::e5m2})
    if (bits & dtype_bit(type)) types.push_back(type);
  return types;
}

tensor_info tensor_of(const tensor_rule& rule) {
  tensor_info info = {rule.name, rule.is_input, rule.shape, types_of(rule.types), rule.is_optional};
  for (const other_shape& o : rule.others) info.when.push_back({o.scalar, o.value, o.shape});
  info.may_be = rule.may_be;
  info.never_with = rule.never_with;
  info.beside = rule.beside;
  return info;
}

scalar_info scalar_of(const scalar_rule& rule) {
  return {
      rule.name,     rule.names.empty() ? format_number(rule.usual) : rule.names.at(static_cast<size_t>(rule.usual)),
      rule.meaning,  rule.least,
      rule.most,     rule.is_integer,
      rule.names,    true,
      rule.of_tensor};
}

}  // namespace

description description_of(const contract& c) {
  description d;
  d.op = c.op;
  for (const std::string& name : c.extents) d.extents.push_back({name});
  for (const form_rule& form : c.forms) {
    call_form& f = d.forms.emplace_back();
    f.name = form.name;
    f.when = form.when;
    for (const tensor_rule& rule : form.tensors) f.tensors.push_back(tensor_of(rule));
    for (const scalar_rule& rule : form.scalars) f.scalars.push_back(scalar_of(rule));
  }
  return d;
}

extent_info& find_extent(description& d, std::string_view name) {
  return *std::find_if(d.extents.begin(), d.extents.end(), [&](const extent_info& e) { return e.name == name; });
}

}  // namespace warpcheck::engine
