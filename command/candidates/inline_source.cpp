#include "command/candidates/inline_source.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

#include "command/candidates/described_contract.hpp"
#include "command/candidates/entry_parameters.hpp"
#include "command/candidates/toolchain.hpp"
#include "properties/engine/error.hpp"

namespace warpcheck::cli {
namespace {

using engine::environment_error;
using engine::usage_error;

// The tensors of a call on the mandatory inputs, and the parameters of the function that makes it.
struct inline_call {
  std::vector<const tensor_rule*> inputs, outputs;
  std::vector<size_t> ranks;  // of the inputs
  std::vector<entry_name> parameters;

  inline_call(const engine::description& d, const form_rule& form) {
    for (const tensor_rule& t : form.tensors)
      if (!t.is_optional) (t.is_input ? inputs : outputs).push_back(&t);
    if (inputs.empty() || outputs.empty()) refuse(d);
    const std::vector<entry_name> names = entry_names(d);
    const auto add = [&](const auto& is_wanted) {
      const auto found = std::ranges::find_if(names, is_wanted);
      if (found == names.end()) refuse(d);
      const auto is_known = [&](const entry_name& p) { return p.name == found->name; };
      if (std::ranges::none_of(parameters, is_known)) parameters.push_back(*found);
      return found->name;
    };
    for (const std::vector<const tensor_rule*>* list : {&inputs, &outputs})
      for (const tensor_rule* t : *list) {
        add([&](const entry_name& n) { return n.name == t->name; });
        std::vector<std::string> shape;
        for (const std::string_view factors : trimmed_parts(t->shape, ",")) {
          std::vector<std::string> product;
          for (const std::string_view f : trimmed_parts(factors, "*"))
            product.push_back(std::ranges::all_of(f, ::isdigit) ? std::string(f) : add([&](const entry_name& n) {
              return n.meaning == entry_meaning::extent && n.of == f;
            }));
          shape.push_back(fmt::format("{}", fmt::join(product, " * ")));
        }
        if (t->is_input) ranks.push_back(shape.size());
        shapes_.push_back(fmt::format("{{{}}}", fmt::join(shape, ", ")));
      }
  }

  // The dimension of the first input that the first result lacks, or the last one.
  size_t dim() const {
    const auto lengths = trimmed_parts(inputs.front()->shape, ","), kept = trimmed_parts(outputs.front()->shape, ",");
    for (size_t i = 0; i < lengths.size(); ++i)
      if (std::ranges::find(kept, lengths[i]) == kept.end()) return i;
    return lengths.size() - 1;
  }

  // Tensors in0, in1, ..., out0, ... in the memory of the call.
  std::string tensors() const {
    std::string text;
    for (size_t i = 0; i < shapes_.size(); ++i) {
      const bool is_input = i < inputs.size();
      const size_t number = is_input ? i : i - inputs.size();
      text += fmt::format("  at::Tensor {}{} = ::simt::import::tensor_at({}, {});\n", is_input ? "in" : "out", number,
                          (is_input ? inputs : outputs)[number]->name, shapes_[i]);
    }
    return text;
  }

 private:
  [[noreturn]] static void refuse(const engine::description& d) {
    throw usage_error(fmt::format(
        "source: a call of {} is more than inputs and one result each, so no Python file of this kind makes "
        "it; --source FILE.cu takes a function of all its tensors",
        d.op));
  }

  std::vector<std::string> shapes_;
};

nlohmann::json read_python(const std::string& file, const std::string& entry, const nlohmann::json& called) {
  const command_result r = run_command({"python3", "-c", inline_source_program(), file, entry, called.dump()});
  const auto answer = nlohmann::json::parse(r.output, nullptr, false);
  if (r.status != 0 || !answer.is_object())
    throw environment_error(fmt::format("source: python3 cannot read '{}': {}", file, r.output));
  if (answer.contains("error"))
    throw usage_error(
        fmt::format("source: {}: {}; docs/bring_your_own lists what is read", file, std::string(answer["error"])));
  return answer;
}

}  // namespace

bool has_inline_source(const std::string& file) { return std::filesystem::path(file).extension() == ".py"; }

std::string inline_source(const std::string& file, const std::string& entry, const engine::description& d,
                          const std::string& path) {
  const contract rules = contract_of(d);
  const inline_call call(d, rules.forms.front());
  nlohmann::json scalars = nlohmann::json::object();
  for (const scalar_rule& s : rules.forms.front().scalars) scalars[s.name] = s.usual;
  const nlohmann::json called = {{"ranks", call.ranks}, {"scalars", scalars}, {"dim", call.dim()}};
  const nlohmann::json answer = read_python(file, entry, called);
  const std::string shown = replaced(replaced(file, "\\", "\\\\"), "\"", "\\\"");
  std::string text = "#include \"simt/import/torch/entry.hpp\"\n";
  for (const auto& part : answer["source"])
    text += fmt::format("#line {} \"{}\"\n{}\n", part[0].get<int>(), shown, part[1].get<std::string>());
  std::vector<std::string> parameters, outputs;
  for (const entry_name& n : call.parameters) parameters.push_back(declaration_of(n));
  for (const entry_name& n : entry_names(d))
    for (const std::string scalar : answer["scalars"])
      if (n.name == scalar) parameters.push_back(declaration_of(n));
  for (size_t i = 0; i < call.outputs.size(); ++i) outputs.push_back(fmt::format("out{}", i));
  text += fmt::format("#line 2 \"{}\"\nvoid {}({}) {{\n{}", path, k_inline_entry, fmt::join(parameters, ", "),
                      call.tensors());
  for (const std::string condition : answer["empty"])
    text += fmt::format("  if ({}) {{\n    out0.zero_();\n    return;\n  }}\n", condition);
  if (answer["zeroed"]) text += "  out0.zero_();\n";
  const std::string made = answer["call"];
  text += answer["returns"] ? fmt::format("  ::simt::import::take({{{}}}, {});\n}}\n", fmt::join(outputs, ", "), made)
                            : fmt::format("  {};\n}}\n", made);
  return text;
}

}  // namespace warpcheck::cli
