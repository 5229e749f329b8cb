#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "command/candidates/entry_parameters.hpp"
#include "command/commands.hpp"
#include "command/null_kernels.hpp"
#include "command/support.hpp"
#include "properties/engine/cases/classes.hpp"
#include "properties/engine/cases/description.hpp"
#include "properties/engine/cases/recipe.hpp"
#include "properties/engine/error.hpp"
#include "properties/engine/trials/library.hpp"
#include "properties/engine/trials/property.hpp"
#include "properties/engine/trials/verdict.hpp"

namespace warpcheck::cli {
namespace {

std::string range_text(int64_t least, int64_t most) {
  return most < 0 ? fmt::format("{}...", least) : fmt::format("{}..{}", least, most);
}

void describe_calls(const engine::description& d) {
  for (const engine::call_form& form : d.forms) {
    fmt::print("call {}\n", form.name);
    for (const tensor_rule& t : form.tensors) {
      std::string types;
      for (const dtype type : engine::types_of(t))
        types += fmt::format("{}{}", types.empty() ? "" : ", ", name_of(type));
      for (const other_shape& o : t.others) types += fmt::format("; [{}] where {} = {}", o.shape, o.scalar, o.value);
      fmt::print("  {:<6} {:<10} [{}] {}{}{}\n", t.is_input ? "input" : "output", t.name, t.shape,
                 t.types == 0 ? "as the first" : "", types, t.is_optional ? ", optional" : "");
    }
    const auto print_scalars = [](const char* kind, const std::vector<scalar_rule>& scalars) {
      for (const scalar_rule& s : scalars)
        fmt::print("  {:<6} {:<10} {}; default {}\n", kind, s.name, s.meaning, engine::usual_text(s));
    };
    print_scalars("scalar", form.scalars);
    print_scalars("knob", form.knobs);
  }
  std::string parameters;
  for (const entry_name& n : entry_names(d)) parameters += (parameters.empty() ? "" : ", ") + declaration_of(n);
  fmt::print("parameters of an entry (--source), by name\n  {}\n", parameters);
}

void describe_operator(const std::string& op) {
  const auto properties = engine::all_properties();
  const auto known = engine::operators_with_properties();
  if (std::ranges::find(known, op) == known.end()) throw engine::usage_error(unknown_operator(op));
  for (const char* device : {"emulated", "cuda"}) {
    try {
      for (const engine::target& t : ask_targets("builtin", op, device)) {
        fmt::print("{} on {}, {}\n", op, device, name_of(t.type));
        for (const auto& v : t.variants) {
          std::string takes, picked;
          bool may_be_picked = true;
          for (size_t e = 0; e < t.extents.size(); ++e) {
            const warpcheck_range& r = v.ranges[e];
            takes += fmt::format("{}{} {}", e ? ", " : "", t.extents[e], range_text(r.min, r.max));
            picked += fmt::format("{}{}", e ? ", " : "", range_text(r.dispatch_min, r.dispatch_max));
            may_be_picked = may_be_picked && (r.dispatch_max < 0 || r.dispatch_min <= r.dispatch_max);
          }
          fmt::print("  variant {:<18} takes {}, {}\n", v.name, takes,
                     may_be_picked ? "may be picked for " + picked : "is never picked");
        }
      }
    } catch (const std::exception& e) {
      fmt::print("{} on {}: {}\n", op, device, e.what());
    }
  }
  if (const engine::description* d = engine::find_description(op)) describe_calls(*d);
  fmt::print("properties\n");
  for (const engine::property& p : properties)
    if (p.op == op) fmt::print("  {:<30} {}\n", p.name, p.sentence);
}

// Returns the properties of an operator and the requirements on a run, without a candidate: the same on every machine.
nlohmann::json demands_on(const std::string& op) {
  nlohmann::json properties = nlohmann::json::array(), coverage_exemptions = nlohmann::json::array();
  for (const engine::property& p : engine::all_properties()) {
    if (p.op != op) continue;
    std::vector<std::string> types;
    for (const dtype t : p.types) types.emplace_back(name_of(t));
    const engine::null_kernel_quota quota = null_kernel_quota_of(op, p.name);
    properties.push_back({{"name", p.name},
                          {"sentence", p.sentence},
                          {"types", types},
                          {"share_percent", p.share_percent},
                          {"null_kernels_percent", quota.percent}});
  }
  for (const engine::coverage_exemption& w : engine::coverage_exemptions_of(op))
    coverage_exemptions.push_back({{"class", w.name}, {"reason", w.reason}});
  return {{"properties", properties}, {"coverage_exemptions", coverage_exemptions}};
}

}  // namespace

int list(const list_options& options) {
  if (!options.json.empty()) {
    const auto known = engine::operators_with_properties();
    if (!options.op.empty() && std::ranges::find(known, options.op) == known.end())
      throw engine::usage_error(unknown_operator(options.op));
    nlohmann::json operators = nlohmann::json::object();
    for (const std::string& op : known)
      if (options.op.empty() || op == options.op) operators[op] = demands_on(op);
    const nlohmann::json document = {
        {"schema", "warpcheck-list-1"}, {"version", WARPCHECK_VERSION}, {"operators", operators}};
    write_file(options.json, document.dump(1) + "\n");
    return k_pass;
  }
  if (options.distributions) {
    for (const auto& d : engine::distributions())
      fmt::print("{:<34} {}\n", fmt::format("{}({})", d.name, d.parameters), d.purpose);
    return k_pass;
  }
  if (options.verdicts) {
    for (int v = 0; v <= static_cast<int>(engine::verdict::crash); ++v)
      fmt::print("{}\n", name_of(static_cast<engine::verdict>(v)));
    return k_pass;
  }
  if (!options.op.empty()) {
    describe_operator(options.op);
    return k_pass;
  }
  for (const std::string& op : engine::operators_with_properties()) {
    int properties = 0;
    for (const auto& p : engine::all_properties()) properties += p.op == op;
    fmt::print("{:<14} {} properties\n", op, properties);
  }
  fmt::print("{}", left_out_text(operators_left_out()));
  return k_pass;
}

}  // namespace warpcheck::cli
