// libwarpcheck_python.so: a Python function as a candidate (kernels/candidate.h). Which one, the command says in the
// environment. Calls that break the operator's contract are refused here; the others go to an interpreter.
#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "ci/warpcheck/python/contract.hpp"
#include "ci/warpcheck/python/interpreter.hpp"
#include "ci/warpcheck/python/shared_memory.hpp"
#include "kernels/candidate_table.hpp"

namespace warpcheck::python {
namespace {

const settings& own_settings() {
  static const settings s = read_settings();
  return s;
}

nlohmann::json to_json(const tensor_view& v) {
  if (!v.tensor) return nullptr;
  const shared_memory& memory = shared_memory::own();
  const char* const data = v.data ? v.data : memory.base();
  const shared_block block = memory.block_of(data);
  if (!v.empty() && block.size == 0)
    throw std::runtime_error(fmt::format("{} does not lie in the memory that the interpreter shares", v.name));
  nlohmann::json shape = nlohmann::json::array(), strides = nlohmann::json::array();
  if (v.tensor->ndim == 2) {
    shape.push_back(v.rows);
    strides.push_back(v.ld);
  }
  shape.push_back(v.cols);
  strides.push_back(1);
  return {{"name", v.name},    {"at", memory.offset_of(data)}, {"dtype", dtype_name(dtype_bit(v.tensor->dtype))},
          {"shape", shape},    {"strides", strides},           {"block", block.begin},
          {"size", block.size}};
}

warpcheck_status answer(warpcheck_call* call, warpcheck_status status, const std::string& message) {
  if (call->message && call->message_size > 0) std::snprintf(call->message, call->message_size, "%s", message.c_str());
  return status;
}

bool has_work(const std::vector<tensor_view>& tensors) {
  for (size_t i = 1; i < tensors.size(); ++i)
    if (!tensors[i].empty()) return true;
  return false;
}

warpcheck_status run_checked(const operator_rule& rule, warpcheck_call* call) {
  const std::vector<tensor_view> tensors = checked_tensors(rule, *call);
  nlohmann::json request = {{"tensors", nlohmann::json::array()},
                            {"scalars", nlohmann::json::object()},
                            {"optional", rule.second != nullptr}};
  for (int i = 0; i < rule.num_scalars; ++i) {
    const double value = checked_scalar(rule.scalars[i], *call);
    nlohmann::json& to = request["scalars"][rule.scalars[i].name];
    if (rule.scalars[i].codes > 0)
      to = static_cast<int>(value);
    else
      to = fmt::format("{}", value);  // JSON has no NaN
  }
  const settings& s = own_settings();
  if (!(dtype_bit(tensors[0].tensor->dtype) & s.dtypes))
    return answer(call, WARPCHECK_UNSUPPORTED, "the function does not list the element type of x");
  if (call->variant) return answer(call, WARPCHECK_UNSUPPORTED, "a Python function has no variants");
  if (!has_work(tensors)) return WARPCHECK_OK;
  for (const tensor_view& v : tensors) request["tensors"].push_back(to_json(v));
  const auto reply = nlohmann::json::parse(ask_interpreter(s, shared_memory::own().descriptor(), request.dump()));
  return answer(call, static_cast<warpcheck_status>(reply.at("status").get<int>()), reply.at("message"));
}

warpcheck_status run(warpcheck_call* call) {
  call->used_variant = nullptr;
  try {
    return run_checked(*find_rule(own_settings().op), call);
  } catch (const std::invalid_argument& e) {
    return answer(call, WARPCHECK_INVALID_ARGUMENT, e.what());
  } catch (const std::exception& e) {
    return answer(call, WARPCHECK_INTERNAL_ERROR, e.what());
  }
}

const warpcheck_candidate* table() {
  const settings& s = own_settings();
  const operator_rule* const rule = find_rule(s.op);
  if (!rule) return nullptr;
  const warpcheck_device device = s.device == "cuda" ? WARPCHECK_DEVICE_CUDA : WARPCHECK_DEVICE_CPU;
  static const warpcheck_operator op = operator_of_rows(rule->name, device, s.dtypes & rule->dtypes, run);
  static const warpcheck_operator* const operators[] = {&op};
  static const warpcheck_candidate candidate = {
      WARPCHECK_CANDIDATE_ABI,  sizeof(warpcheck_candidate), "python", "Python", operators, 1,
      shared_memory_api(device)};
  return &candidate;
}

}  // namespace
}  // namespace warpcheck::python

extern "C" __attribute__((visibility("default"))) const warpcheck_candidate* warpcheck_candidate_get(
    uint32_t abi_version) {
  try {
    return abi_version == WARPCHECK_CANDIDATE_ABI ? warpcheck::python::table() : nullptr;
  } catch (const std::exception&) {
    return nullptr;
  }
}
