#include "command/judge.hpp"

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
#include "command/support.hpp"
#include "properties/engine/cases/description.hpp"
#include "properties/engine/cases/recipe.hpp"
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
constexpr const char* k_judge = "within-error-bound";

// The outputs of the request that is judged, in the order of its case.
std::vector<host_tensor>& outputs_in_hand() {
  static std::vector<host_tensor> outputs;
  return outputs;
}

// The candidate that answers with them.
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

void read_bytes(const nlohmann::json& array, host_tensor& into) {
  const std::string path = array.at("file");
  std::ifstream file(path, std::ios::binary);
  if (!file.read(reinterpret_cast<char*>(into.bytes.data()), static_cast<std::streamsize>(into.bytes.size())))
    throw usage_error(fmt::format("{}: '{}' has fewer than {} bytes", into.spec.name, path, into.bytes.size()));
}

// The names of the request's arrays: their own, else those of the form's tensors in its order.
std::vector<std::string> names_of(const nlohmann::json& arrays, const call_form& form, bool inputs) {
  std::vector<std::string> names, free;
  for (const tensor_info& t : form.tensors)
    if (t.is_input == inputs && t.name != "work") free.push_back(t.name);
  for (const nlohmann::json& a : arrays) {
    std::string name = a.value("name", "");
    if (name.empty()) {
      if (free.empty())
        throw usage_error(
            fmt::format("{}: the operator has fewer than {}", inputs ? "inputs" : "outputs", arrays.size()));
      name = free.front();
    }
    std::erase(free, name);
    const tensor_info* const known = form.find(name);
    if (!known || known->is_input != inputs)
      throw usage_error(fmt::format("'{}' is no {} of the operator", name, inputs ? "input" : "output"));
    names.push_back(name);
  }
  return names;
}

// True if the form has these arrays and no further required input.
bool fits(const nlohmann::json& request, const call_form& form) {
  const auto count = [&](bool is_input, bool optional) {
    return static_cast<size_t>(std::count_if(form.tensors.begin(), form.tensors.end(), [&](const tensor_info& t) {
      return t.is_input == is_input && t.name != "work" && (optional || !t.is_optional);
    }));
  };
  const size_t inputs = request.at("inputs").size(), outputs = request.value("outputs", nlohmann::json::array()).size();
  for (const char* list : {"inputs", "outputs"})
    for (const nlohmann::json& a : request.value(list, nlohmann::json::array()))
      if (a.contains("name") && !form.find(a.at("name").get<std::string>())) return false;
  return inputs >= count(true, false) && inputs <= count(true, true) && outputs <= count(false, true);
}

void set_tensor(trial_case& c, const std::string& name, const nlohmann::json& array) {
  tensor_spec* t = c.find(name);
  if (!t) t = &add_tensor(c, name, dtype_of(array));
  t->type = dtype_of(array);
  const size_t dimensions = t->shape.size();
  t->shape = array.at("shape").get<std::vector<int64_t>>();
  if (t->shape.size() != dimensions)
    throw usage_error(fmt::format("{}: it has {} dimensions, must have {}", name, t->shape.size(), dimensions));
  t->ld = t->cols();
}

struct request_case {
  trial_case c;
  std::vector<std::string> inputs, outputs;  // names of the request's arrays
  tensor_map values;                         // of the inputs
};

// A recipe for every tensor of the form, where its cases list all of them.
std::map<std::string, recipe> all_tensors_of(const description& d, const call_form& form) {
  std::map<std::string, recipe> fills;
  for (const tensor_info& t : form.tensors)
    if (d.lists_all_tensors) fills[t.name] = {};
  return fills;
}

// Takes the elements from every tensor that may be left out and was not given.
void leave_out_others(trial_case& c, const call_form& form, const std::vector<std::string>& inputs,
                      const std::vector<std::string>& outputs) {
  for (tensor_spec& t : c.tensors) {
    const std::vector<std::string>& given = t.is_input ? inputs : outputs;
    if (!form.find(t.name)->is_optional || std::find(given.begin(), given.end(), t.name) != given.end()) continue;
    t.shape.assign(t.shape.size(), 0);
    t.ld = 0;
  }
}

// The operator that the request names. usage_error for one whose calls nobody can judge.
const description& operator_of_request(const std::string& asked) {
  const std::vector<std::string> named = use_formulas({asked});
  require_one_operator(asked, named.size());
  const std::string& op = named.front();
  const description* const d = find_description(op);
  if (!d) throw usage_error(unknown_operator(op));
  // As a benchmark has its results judged (bench/timed_call.cpp); other properties draw inputs of their own.
  if (!find_in_hand_judge(op) && d->formula.empty() &&
      std::none_of(d->bench.rows.begin(), d->bench.rows.end(), [](const bench_row& r) { return r.property.empty(); }))
    throw usage_error(fmt::format("{}: its properties judge calls of their own making only; use verify", op));
  return *d;
}

// A case of the form whose tensors have one element or, where they may be left out, none.
trial_case smallest_case(const description& d, size_t form, dtype type) {
  sizes of;
  for (const extent_info& e : d.extents)
    if (!e.derived) of[e.name] = 1;
  target t;
  t.op = d.op;
  t.device = "cpu";
  t.candidate = k_in_hand;
  t.type = type;
  trial_case c = make_case(d, t, of, all_tensors_of(d, d.forms[form]), form);
  for (tensor_spec& s : c.tensors)
    if (const std::vector<dtype>& types = d.forms[form].find(s.name)->types;
        !types.empty() && std::find(types.begin(), types.end(), s.type) == types.end())
      s.type = types.front();
  const in_hand_judge* const own = find_in_hand_judge(d.op);
  c.property = own ? own->property : find_property(d.op, k_judge).name;
  return c;
}

// Gives the case the shapes and element types of the request's arrays.
void set_tensors(request_case& r, const nlohmann::json& request, const description& d, const call_form& form) {
  const nlohmann::json inputs = request.at("inputs"), outputs = request.value("outputs", nlohmann::json::array());
  const auto set_inputs = [&] {
    for (size_t i = 0; i < r.inputs.size(); ++i) set_tensor(r.c, r.inputs[i], inputs[i]);
  };
  set_inputs();
  if (d.lists_all_tensors) leave_out_others(r.c, form, r.inputs, r.outputs);
  follow(r.c);
  set_inputs();  // what is derived is one way to make a case: tables of the caller's own keep their sizes
  for (size_t i = 0; i < r.outputs.size(); ++i) set_tensor(r.c, r.outputs[i], outputs[i]);
  for (tensor_spec& t : r.c.tensors)
    if (t.is_input) t.fill = make_recipe("constant", {0});  // the values are given
  // The candidate has the outputs that were given, and no others; without any, all that the call must have.
  if (!r.outputs.empty() && !d.lists_all_tensors)
    std::erase_if(r.c.tensors, [&](const tensor_spec& s) {
      return !s.is_input && std::find(r.outputs.begin(), r.outputs.end(), s.name) == r.outputs.end();
    });
}

request_case case_of_request(const nlohmann::json& request) {
  const description& d = operator_of_request(request.at("operator"));
  const nlohmann::json inputs = request.at("inputs"), outputs = request.value("outputs", nlohmann::json::array());
  const auto form = std::find_if(d.forms.begin(), d.forms.end(), [&](const call_form& f) { return fits(request, f); });
  if (form == d.forms.end())
    throw usage_error(fmt::format("{}: no call of it has {} inputs and {} outputs; see 'warpcheck list {}'", d.op,
                                  inputs.size(), outputs.size(), d.op));
  request_case r;
  r.inputs = names_of(inputs, *form, true);
  r.outputs = names_of(outputs, *form, false);
  r.c = smallest_case(d, static_cast<size_t>(form - d.forms.begin()), dtype_of(inputs.at(0)));
  const nlohmann::json scalars = request.value("scalars", nlohmann::json::object());
  for (const auto& [name, value] : scalars.items()) set_knob(r.c, name, value.get<std::string>());
  set_tensors(r, request, d, *form);
  for (size_t i = 0; i < r.inputs.size(); ++i) {
    host_tensor x(r.c.at(r.inputs[i]));
    read_bytes(inputs[i], x);
    r.values.insert_or_assign(r.inputs[i], std::move(x));
  }
  if (const in_hand_judge* const own = find_in_hand_judge(d.op); own && own->complete)
    own->complete(r.c, r.values, !r.outputs.empty());
  r.c.knobs["device"] = "cpu";
  r.c.knobs["candidate"] = k_in_hand;
  if (const std::string wrong = what_is_wrong(d, r.c, false); !wrong.empty())
    throw usage_error(fmt::format("{}: {}", d.op, wrong));
  return r;
}

// The exact value and the bound of every element of an output, as far as the property judges it.
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
      // A vector's elements are judged as a row or as a column of it.
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
    const auto given = std::find(r.outputs.begin(), r.outputs.end(), s.name) - r.outputs.begin();
    if (given < static_cast<std::ptrdiff_t>(r.outputs.size()))
      read_bytes(request.at("outputs")[static_cast<size_t>(given)], outputs_in_hand().back());
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
