// The command's half of simt/import/entry_call.hpp.
#include "simt/import/entry_call.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "abi/candidate_table.hpp"
#include "command/candidates/described_contract.hpp"
#include "command/candidates/entry_parameters.hpp"

namespace warpcheck::cli {
namespace {

const contract& known(const std::string& op) {
  static std::map<std::string, contract> cache;
  const auto found = cache.find(op);
  return found != cache.end() ? found->second
                              : cache.emplace(op, contract_of(*engine::find_description(op))).first->second;
}

// The data made from an entry when its library was loaded.
struct loaded_entry {
  std::vector<entry_name> names;  // of its parameters
  std::vector<const char*> extents;
  warpcheck_operator op;
  const warpcheck_operator* operators[1];
  warpcheck_candidate candidate;
};
std::map<const warpcheck_entry*, loaded_entry>& loaded() {
  static std::map<const warpcheck_entry*, loaded_entry> entries;
  return entries;
}

// Fills the values of an entry's parameters for one call.
class argument_list {
 public:
  argument_list(const warpcheck_entry& entry, warpcheck_entry_value* values)
      : entry_(entry), names_(loaded().at(&entry).names), values_(values) {
    for (int32_t i = 0; i < entry.num_parameters; ++i) values[i] = {};
  }

  void set_tensor(const tensor_view& v, const std::vector<tensor_view>& all) {
    const int32_t at = find(entry_meaning::input, v.rule->name);
    const bool is_there = v.tensor && !v.is_empty();
    if (at < 0) {
      const std::string& output = v.rule->before;  // whose parameter then points to this tensor, too
      if (is_there && !is_workspace(v) && (output.empty() || find(entry_meaning::input, output) < 0))
        throw unsupported_call(fmt::format("the entry has no parameter {}", v.rule->name));
      return;
    }
    if (is_there && !(entry_.parameters[at].types & dtype_bit(v.tensor->dtype))) {
      const char* const type = dtype_name(dtype_bit(v.tensor->dtype));
      throw unsupported_call(fmt::format("the entry takes no {} for {}", type ? type : "such type", v.rule->name));
    }
    values_[at].pointer = is_there ? v.data : nullptr;
    if (const int32_t distance = find(entry_meaning::distance, v.rule->name); distance >= 0)
      set_integer(distance, v.tensor ? v.ld : 0);
    else if (is_there && v.rows > 1 && v.ld != v.cols && !is_described(v, all))
      throw unsupported_call(
          fmt::format("the entry has no parameter ld{0}, and the rows of {0} are {1} apart", v.rule->name, v.ld));
  }

  // An optional list of slices of the extent of its own name, such as histogram's rows: without the list a call takes
  // all slices, with an empty one none. So an empty list has an address, at which there is nothing to read.
  void set_list(const tensor_view& v, const std::map<std::string, int64_t, std::less<>>& extents) {
    const auto all = extents.find(v.rule->name);
    if (!v.rule->is_optional || all == extents.end()) return;
    if (!v.tensor) return set_extent(v.rule->shape, all->second);
    if (const int32_t at = find(entry_meaning::input, v.rule->name); at >= 0 && v.is_empty())
      values_[at].pointer = reinterpret_cast<void*>(static_cast<uintptr_t>(alignof(std::max_align_t)));
  }

  void set_extent(const std::string& extent, int64_t size) {
    if (const int32_t at = find(entry_meaning::extent, extent); at >= 0) set_integer(at, size);
  }

  void set_scalar(const scalar_rule& rule, double value) {
    const int32_t at = find(rule.is_integer ? entry_meaning::integer : entry_meaning::number, rule.name);
    if (at < 0) {
      const bool is_of_nothing = !rule.of_tensor.empty() && find(entry_meaning::input, rule.of_tensor) < 0;
      if (value != rule.usual && !is_of_nothing)
        throw unsupported_call(fmt::format("the entry has no parameter {}, which is {}", rule.name, value));
    } else if (rule.is_integer) {
      set_integer(at, static_cast<int64_t>(value));
    } else {
      values_[at].number = value;
    }
  }

  void set_stream(void* stream) {
    if (const int32_t at = find(entry_meaning::stream, "stream"); at >= 0) values_[at].pointer = stream;
  }

 private:
  void set_integer(int32_t at, int64_t value) {
    const warpcheck_entry_parameter& p = entry_.parameters[at];
    if (value < p.least || value > p.most)
      throw unsupported_call(fmt::format("{} is {}, and the entry's holds {} to {}", p.name, value, p.least, p.most));
    values_[at].integer = value;
  }

  // True if the distance of its rows is known from another tensor in the same memory.
  bool is_described(const tensor_view& v, const std::vector<tensor_view>& all) const {
    return std::ranges::any_of(all, [&](const tensor_view& other) {
      return other.tensor && other.data == v.data && other.ld == v.ld &&
             find(entry_meaning::distance, other.rule->name) >= 0;
    });
  }

  // Returns the parameter of this meaning, for a tensor whether input or output; -1 if there is none.
  int32_t find(entry_meaning meaning, const std::string& of) const {
    for (size_t i = 0; i < names_.size(); ++i) {
      const entry_meaning own = names_[i].meaning == entry_meaning::output ? entry_meaning::input : names_[i].meaning;
      if (own == meaning && names_[i].of == of) return static_cast<int32_t>(i);
    }
    return -1;
  }

  const warpcheck_entry& entry_;
  const std::vector<entry_name>& names_;
  warpcheck_entry_value* values_;
};

bool has_work(const std::vector<tensor_view>& tensors) {
  return std::ranges::any_of(
      tensors, [](const tensor_view& v) { return !v.rule->is_input && !is_workspace(v) && !v.is_empty(); });
}

// Fills the values; returns true if the entry must be called.
bool fill(const warpcheck_entry& entry, const warpcheck_call& call, warpcheck_entry_value* values) {
  const checked_call checked = check_whole_call(known(entry.op), call);
  argument_list arguments(entry, values);
  for (const auto& [rule, value] : checked.scalars) arguments.set_scalar(*rule, value);
  for (const tensor_view& v : checked.tensors) arguments.set_tensor(v, checked.tensors);
  for (const auto& [extent, size] : checked.extents) arguments.set_extent(extent, size);
  for (const tensor_view& v : checked.tensors) arguments.set_list(v, checked.extents);
  arguments.set_stream(call.stream);
  if (call.variant) throw unsupported_call("an entry has no variants");
  return has_work(checked.tensors);
}

// Element types of the operator's first tensor that the entry accepts; all of them if it only has another form.
uint32_t listed_types(const warpcheck_entry& entry, const tensor_rule& first) {
  for (int32_t i = 0; i < entry.num_parameters; ++i)
    if (first.name == entry.parameters[i].name) return entry.parameters[i].types & first.types;
  return first.types;
}

std::vector<entry_name> names_of(const warpcheck_entry& entry) {
  const std::vector<entry_name> all = entry_names(*engine::find_description(entry.op));
  std::vector<entry_name> names;
  for (int32_t i = 0; i < entry.num_parameters; ++i)
    names.push_back(
        *std::ranges::find_if(all, [&](const entry_name& n) { return n.name == entry.parameters[i].name; }));
  return names;
}

}  // namespace
}  // namespace warpcheck::cli

extern "C" const warpcheck_candidate* warpcheck_entry_table(const warpcheck_entry* entry) {
  using namespace warpcheck;
  if (!engine::find_description(entry->op)) return nullptr;
  const contract& rules = cli::known(entry->op);
  cli::loaded_entry& t = cli::loaded()[entry];
  t.names = cli::names_of(*entry);
  t.op = cli::operator_of(rules, entry->op, entry->device, cli::listed_types(*entry, rules.forms.at(0).tensors.at(0)),
                          entry->run, t.extents);
  t.operators[0] = &t.op;
  t.candidate = {WARPCHECK_CANDIDATE_ABI, sizeof(warpcheck_candidate), entry->name, entry->build, t.operators, 1,
                 entry->device_api};
  return &t.candidate;
}

extern "C" warpcheck_status warpcheck_entry_values(const warpcheck_entry* entry, warpcheck_call* call,
                                                   warpcheck_entry_value* values, int32_t* is_called) {
  using namespace warpcheck;
  call->used_variant = nullptr;
  *is_called = 0;
  try {
    *is_called = cli::fill(*entry, *call, values) ? 1 : 0;
    return WARPCHECK_OK;
  } catch (...) {
    return cli::answer_exception(call);
  }
}
