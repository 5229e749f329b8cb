#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iostream>
#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "abi/candidate_table.hpp"
#include "command/commands.hpp"
#include "command/formula_arguments.hpp"
#include "command/given_call.hpp"
#include "command/support.hpp"
#include "properties/engine/cases/description.hpp"
#include "properties/engine/error.hpp"
#include "properties/engine/trials/call_observer.hpp"
#include "properties/engine/trials/in_hand.hpp"
#include "properties/engine/trials/library.hpp"
#include "properties/engine/trials/property.hpp"
#include "properties/engine/trials/trial.hpp"

namespace warpcheck::cli {
namespace {

using namespace engine;

constexpr const char* k_in_hand = "in-hand";

// The outputs of the current request, in the order of its case.
std::vector<host_tensor>& outputs_in_hand() {
  static std::vector<host_tensor> outputs;
  return outputs;
}

// The candidate that answers with these outputs.
warpcheck_status give_outputs(warpcheck_call* call) {
  for (int32_t i = 0; i < call->num_outputs; ++i) {
    const host_tensor& y = outputs_in_hand()[static_cast<size_t>(i)];
    if (!y.bytes.empty())
      std::memcpy(static_cast<char*>(call->outputs[i]->data) + call->outputs[i]->byte_offset, y.bytes.data(),
                  y.bytes.size());
  }
  return WARPCHECK_OK;
}

void name_outputs_in_hand(const std::string& op) {
  static std::map<std::string, std::unique_ptr<listed_operator>> listed;
  const auto at = listed.try_emplace(op).first;
  if (!at->second)
    at->second = std::make_unique<listed_operator>(
        warpcheck::operator_of_rows(at->first.c_str(), WARPCHECK_DEVICE_CPU, ~0u, give_outputs));
  name_candidate(k_in_hand, *at->second);
}

dtype dtype_of(const nlohmann::json& array) {
  const std::string text = array.at("dtype");
  const auto type = dtype_from_name(text);
  if (!type) throw usage_error(fmt::format("dtype: '{}' is not an element type", text));
  return *type;
}

given_array array_of_request(const nlohmann::json& array) {
  given_array a{dtype_of(array), array.at("shape").get<std::vector<int64_t>>(), {}};
  int64_t n = 1;
  for (const int64_t size : a.shape) n *= size;
  a.bytes.resize(static_cast<size_t>(n) * size_of(a.type));
  const std::string path = array.at("file");
  std::ifstream file(path, std::ios::binary);
  if (!file.read(reinterpret_cast<char*>(a.bytes.data()), static_cast<std::streamsize>(a.bytes.size())))
    throw usage_error(fmt::format("'{}' has fewer than {} bytes", path, a.bytes.size()));
  return a;
}

// The operator that the request names. Throws usage_error if its calls cannot be judged.
const description& operator_of_request(const std::string& asked) {
  const std::vector<std::string> named = use_formulas({asked});
  require_one_operator(asked, named.size());
  const std::string& op = named.front();
  const description* const d = find_description(op);
  if (!d) throw usage_error(unknown_operator(op));
  if (!find_in_hand_judge(op) && !registered_property(op, "within-error-bound"))
    throw usage_error(fmt::format("{}: its properties judge calls of their own making only; use verify", op));
  return *d;
}

struct request_case : given_call {
  std::vector<std::string> outputs;  // names of the given ones
  std::vector<given_array> results;  // their values
};

request_case case_of_request(const nlohmann::json& request) {
  const description& d = operator_of_request(request.at("operator"));
  request_case r;
  std::vector<std::string> inputs, outputs;
  std::vector<given_array> values;
  for (const nlohmann::json& a : request.at("inputs")) {
    inputs.push_back(a.value("name", ""));
    values.push_back(array_of_request(a));
  }
  for (const nlohmann::json& a : request.value("outputs", nlohmann::json::array())) {
    outputs.push_back(a.value("name", ""));
    r.results.push_back(array_of_request(a));
  }
  const auto scalars = request.value("scalars", std::map<std::string, std::string>());
  const given_names names = names_of_call(d, inputs, outputs, scalars);
  r.outputs = names.outputs;
  static_cast<given_call&>(r) = call_of_arrays(d, names, values, r.results, scalars, "cpu", k_in_hand);
  return r;
}

// The exact value and the bound of every element of an output that the property judges.
struct judged_output {
  std::vector<double> exact, bound;
};

case_report judge_case_of(const request_case& r, trial& t, std::map<std::string, judged_output>* judged) {
  call_observer observer;
  if (judged)
    observer.judged = [&](const std::string& tensor, int64_t row, int64_t col, const reference::judgement& j) {
      const auto at = judged->find(tensor);
      const tensor_spec* const spec = r.c.find(tensor);
      if (at == judged->end() || !spec) return;
      // A vector's elements are judged as a row or as a column.
      const int64_t i = spec->cols() == 1 && col == 0   ? row
                        : spec->rows() == 1 && row == 0 ? col
                                                        : row * spec->cols() + col;
      if (i < 0 || i >= spec->elements()) return;
      at->second.exact[static_cast<size_t>(i)] = j.expected;
      at->second.bound[static_cast<size_t>(i)] = j.bound;
    };
  observing = judged ? &observer : nullptr;
  const std::shared_ptr<void> looks(nullptr, [](void*) { observing = nullptr; });
  try {
    const in_hand_judge* const own = find_in_hand_judge(r.c.op);
    own ? own->check(t) : find_property(r.c.op, r.c.property).check(t);
  } catch (const trial_over&) {
    // The verdict is in the report.
  }
  return t.finish();
}

nlohmann::json answer_to(const nlohmann::json& request) {
  const request_case r = case_of_request(request);
  name_outputs_in_hand(r.c.op);
  trial t(r.c);
  for (const auto& [name, values] : r.values) t.give(values);
  outputs_in_hand().clear();
  std::map<std::string, judged_output> judged;
  nlohmann::json outputs = nlohmann::json::array();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const tensor_spec& s : r.c.tensors) {
    if (s.is_input) continue;
    outputs_in_hand().emplace_back(s);
    const auto given = std::ranges::find(r.outputs, s.name) - r.outputs.begin();
    if (given < static_cast<std::ptrdiff_t>(r.outputs.size()))
      outputs_in_hand().back().bytes = r.results[static_cast<size_t>(given)].bytes;
    const auto n = static_cast<size_t>(s.elements());
    judged[s.name] = {std::vector<double>(n, nan), std::vector<double>(n, nan)};
    outputs.push_back({{"name", s.name}, {"shape", s.shape}});
  }
  const nlohmann::json files = request.value("exact", nlohmann::json::array());
  const case_report report = judge_case_of(r, t, files.empty() ? nullptr : &judged);
  for (size_t i = 0; i < std::min(files.size(), outputs.size()); ++i) {
    const judged_output& o = judged.at(outputs[i].at("name"));
    std::ofstream file(files[i].get<std::string>(), std::ios::binary);
    for (const std::vector<double>* values : {&o.exact, &o.bound})
      file.write(reinterpret_cast<const char*>(values->data()),
                 static_cast<std::streamsize>(values->size() * sizeof(double)));
    if (!file.flush()) throw environment_error(fmt::format("exact: cannot write '{}'", files[i].get<std::string>()));
  }
  return {{"report", nlohmann::json::parse(to_json(report))}, {"outputs", outputs}};
}

}  // namespace

int judge() {
  for (std::string line; std::getline(std::cin, line);) {
    nlohmann::json answer;
    try {
      answer = answer_to(nlohmann::json::parse(line));
    } catch (const nlohmann::json::exception& e) {
      answer = {{"error", fmt::format("request: {}", e.what())}};
    } catch (const std::exception& e) {
      answer = {{"error", e.what()}};
    }
    fmt::print("{}\n", answer.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace));
    std::fflush(stdout);
  }
  return k_pass;
}

}  // namespace warpcheck::cli
