#include "command/candidates/contract.hpp"

#include <cstdio>
#include <iterator>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "abi/candidate_table.hpp"

namespace warpcheck {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(other_shape, scalar, value, shape)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(scalar_value, scalar, value)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(tensor_rule, name, is_input, shape, types, is_optional, others, may_be, never_with,
                                   beside, before)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(scalar_rule, name, usual, meaning, least, most, is_integer, names, of_tensor)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(form_rule, name, tensors, scalars, when)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(contract, op, extents, forms)

}  // namespace warpcheck

namespace warpcheck::cli {

std::string to_text(const contract& c) { return nlohmann::json(c).dump(); }
contract contract_of(const std::string& text) { return nlohmann::json::parse(text).get<contract>(); }

checked_call check_whole_call(const contract& c, const warpcheck_call& call) {
  checked_call checked = check_call(c, call);
  check_memory(checked);
  return checked;
}

warpcheck_status answer(warpcheck_call* call, warpcheck_status status, const std::string& message) {
  if (call->message && call->message_size > 0) std::snprintf(call->message, call->message_size, "%s", message.c_str());
  return status;
}

warpcheck_status answer_exception(warpcheck_call* call) {
  try {
    throw;
  } catch (const std::invalid_argument& e) {
    return answer(call, WARPCHECK_INVALID_ARGUMENT, e.what());
  } catch (const unsupported_call& e) {
    return answer(call, WARPCHECK_UNSUPPORTED, e.what());
  } catch (const std::exception& e) {
    return answer(call, WARPCHECK_INTERNAL_ERROR, e.what());
  }
}

warpcheck_operator operator_of(const contract& c, const char* op, warpcheck_device device, uint32_t dtypes,
                               warpcheck_status (*run)(warpcheck_call*), std::vector<const char*>& extents) {
  extents.clear();
  for (const std::string& name : c.extents) extents.push_back(name.c_str());
  warpcheck_operator made =
      operator_of_rows(op, device, dtypes, run, nullptr, 0, {nullptr, 0}, nullptr, extents.data());
  made.num_extents = static_cast<int32_t>(extents.size());
  return made;
}

const char* dtype_name(uint32_t bit) {
  constexpr const char* names[] = {"f32", "f16", "bf16", "f64", "i64", "i32", "u8", "u16", "u32", "i8", "e4m3", "e5m2"};
  for (size_t i = 0; i < std::size(names); ++i)
    if (bit == 1u << i) return names[i];
  return nullptr;
}

}  // namespace warpcheck::cli
