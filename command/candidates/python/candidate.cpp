// libwarpcheck_python.so: a Python function as a candidate (abi/candidate.h). The command names the function in the
// environment. This library refuses calls that break the operator's contract; the others go to an interpreter.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <vector>

#include "abi/candidate_reserve.h"
#include "abi/candidate_states.h"
#include "abi/candidate_table.hpp"
#include "abi/candidate_turn.h"
#include "command/candidates/contract.hpp"
#include "command/candidates/python/interpreter.hpp"
#include "command/candidates/python/shared_memory.hpp"

namespace warpcheck::python {
namespace {

using cli::answer;
using cli::check_whole_call;
using cli::dtype_name;

const settings& own_settings() {
  static const settings s = read_settings();
  return s;
}

nlohmann::json to_json(const tensor_view& v) {
  if (!v.tensor) return {{"name", v.rule->name}, {"optional", true}};
  const shared_memory& memory = shared_memory::own();
  const char* const data = v.data ? v.data : memory.base();
  const shared_block block = memory.block_of(data);
  if (!v.is_empty() && block.size == 0)
    throw std::runtime_error(fmt::format("{} does not lie in the memory that the interpreter shares", v.rule->name));
  const auto last = static_cast<size_t>(v.tensor->ndim) - 1;
  const std::vector<int64_t> shape(v.tensor->shape, v.tensor->shape + last + 1);
  std::vector<int64_t> strides(last + 1, 1);
  for (size_t k = last; k-- > 0;) strides[k] = k + 1 == last ? v.ld : strides[k + 1] * shape[k + 1];
  return {{"name", v.rule->name},
          {"optional", v.rule->is_optional},
          {"at", memory.offset_of(data)},
          {"dtype", dtype_name(dtype_bit(v.tensor->dtype))},
          {"shape", shape},
          {"strides", strides},
          {"block", block.begin},
          {"size", block.size}};
}

bool has_work(const std::vector<tensor_view>& tensors) {
  return std::ranges::any_of(tensors, [](const tensor_view& v) { return !v.rule->is_input && !v.is_empty(); });
}

// True if the function accepts the element type of the first input. It lists types of the operator's first form.
bool is_listed(const settings& s, const tensor_view& first) {
  const uint32_t own = dtype_bit(first.tensor->dtype);
  return (own & s.dtypes) || !(own & s.rules.dtypes());
}

constexpr int64_t k_reserve_bytes = 8;  // the number of an object that the interpreter keeps

// Returns the request for a call, or null if there is nothing to do.
nlohmann::json request_of(const settings& s, warpcheck_call* call, const void* reserve) {
  const checked_call checked = check_whole_call(s.rules, *call);
  nlohmann::json request = {{"tensors", nlohmann::json::array()},
                            {"scalars", nlohmann::json::object()},
                            {"unusual", nlohmann::json::array()},
                            {"reserve", nullptr}};
  if (reserve) request["reserve"] = shared_memory::own().offset_of(reserve);
  for (const auto& [rule, value] : checked.scalars) {
    if (rule->is_integer)
      request["scalars"][rule->name] = static_cast<int64_t>(value);
    else
      request["scalars"][rule->name] = fmt::format("{}", value);  // JSON has no NaN
    if (value != rule->usual) request["unusual"].push_back({{"name", rule->name}, {"of", rule->of_tensor}});
  }
  if (!is_listed(s, checked.tensors[0]))
    throw unsupported_call(
        fmt::format("the function does not list the element type of {}", checked.tensors[0].rule->name));
  if (call->variant) throw unsupported_call("a Python function has no variants");
  if (!has_work(checked.tensors) && !reserve) return nullptr;
  for (const tensor_view& v : checked.tensors) request["tensors"].push_back(to_json(v));
  return request;
}

warpcheck_status run_checked(const settings& s, warpcheck_call* call, const void* reserve) {
  const nlohmann::json request = request_of(s, call, reserve);
  if (request.is_null()) return WARPCHECK_OK;
  const auto reply = nlohmann::json::parse(ask_interpreter(s, shared_memory::own().descriptor(), request.dump()));
  return answer(call, static_cast<warpcheck_status>(reply.at("status").get<int>()), reply.at("message"));
}

// A place in the shared memory: its block, and its offset there.
nlohmann::json place_of(const void* p) {
  const shared_memory& memory = shared_memory::own();
  const shared_block block = memory.block_of(p);
  return {{"at", memory.offset_of(p)}, {"block", block.begin}, {"size", block.size}};
}

nlohmann::json to_json(const settings& s, const warpcheck_step& step) {
  if (step.call) return {{"call", request_of(s, step.call, nullptr)}};
  if (!step.to) return nlohmann::json::object();
  nlohmann::json j = {{"to", place_of(step.to)}, {"bytes", step.bytes}, {"byte", step.byte}};
  if (step.from) j["from"] = place_of(step.from);
  return j;
}

warpcheck_status run_turn(const settings& s, warpcheck_turn& turn) {
  nlohmann::json request = {{"steps", nlohmann::json::array()}, {"head_start", turn.head_start}};
  for (int32_t i = 0; i < turn.num_steps; ++i) request["steps"].push_back(to_json(s, turn.steps[i]));
  const timed_answer reply = ask_for_turn(s, shared_memory::own().descriptor(), request.dump());
  turn.host_us = reply.us;
  const auto j = nlohmann::json::parse(reply.line);
  const std::string message = j.at("message");
  turn.message[message.copy(turn.message, sizeof turn.message - 1)] = '\0';
  const auto status = static_cast<warpcheck_status>(j.at("status").get<int>());
  if (status != WARPCHECK_OK) return status;
  const auto is_mark = [](const warpcheck_step& step) { return !step.call && !step.to; };
  const std::vector<double> us = j.at("us");
  const auto marks = static_cast<size_t>(std::count_if(turn.steps, turn.steps + turn.num_steps, is_mark));
  if (us.size() + 1 != marks)
    throw std::runtime_error(
        fmt::format("the function's process forged its times: {} calls have {} times", marks - 1, us.size()));
  std::copy(us.begin(), us.end(), turn.us);
  turn.was_late = j.at("late").get<bool>();
  return status;
}

warpcheck_status run_with_reserve(warpcheck_call* call, void* reserve, int64_t) {
  call->used_variant = nullptr;
  try {
    return run_checked(own_settings(), call, reserve);
  } catch (...) {
    return cli::answer_exception(call);
  }
}

warpcheck_status run(warpcheck_call* call) { return run_with_reserve(call, nullptr, 0); }

const warpcheck_candidate* table() {
  const settings& s = own_settings();
  const warpcheck_device device = s.device == "cuda" ? WARPCHECK_DEVICE_CUDA : WARPCHECK_DEVICE_CPU;
  static std::vector<const char*> extents;
  static const warpcheck_operator op =
      cli::operator_of(s.rules, s.op.c_str(), device, s.dtypes & s.rules.dtypes(), run, extents);
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

extern "C" __attribute__((visibility("default"))) const warpcheck_reserve* warpcheck_candidate_reserve(const char*) {
  using namespace warpcheck::python;
  static const warpcheck_reserve reserve = {sizeof(warpcheck_reserve),
                                            [](const warpcheck_call*) { return k_reserve_bytes; }, run_with_reserve};
  try {
    return own_settings().has_reserve ? &reserve : nullptr;
  } catch (const std::exception&) {
    return nullptr;
  }
}

extern "C" __attribute__((visibility("default"))) const char* warpcheck_candidate_states(const char*) {
  try {
    return warpcheck::python::own_settings().states.c_str();
  } catch (const std::exception&) {
    return nullptr;
  }
}

extern "C" __attribute__((visibility("default"))) warpcheck_status warpcheck_candidate_turn(warpcheck_turn* turn) {
  std::string problem;
  try {
    return warpcheck::python::run_turn(warpcheck::python::own_settings(), *turn);
  } catch (const nlohmann::json::exception& e) {
    problem = std::string("the function's process forged an answer: ") + e.what();
  } catch (const std::exception& e) {
    problem = e.what();
  }
  turn->message[problem.copy(turn->message, sizeof turn->message - 1)] = '\0';
  return WARPCHECK_INTERNAL_ERROR;
}
