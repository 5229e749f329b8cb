#include "command/request.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>

#include "command/support.hpp"
#include "properties/engine/error.hpp"
#include "properties/engine/trials/property.hpp"
#include "reference/formula/edit_distance.hpp"

namespace warpcheck::cli {

using namespace engine;

namespace {

int size_class(const std::string& text) {
  constexpr std::string_view names[] = {"quick", "ci", "full"};
  for (int i = 0; i < 3; ++i)
    if (names[i] == text) return i;
  throw usage_error(fmt::format("size: '{}' is not one of quick, ci, full", text));
}

void check_property_names(const verify_options& o, const std::vector<std::string>& ops) {
  for (const std::string& name : o.properties) {
    const auto has = [&](const property& p) { return p.name == name && std::ranges::find(ops, p.op) != ops.end(); };
    if (std::ranges::none_of(all_properties(), has)) find_property(ops.front(), name);  // throws, naming what exists
  }
}

std::vector<dtype> named_types(const std::vector<std::string>& names) {
  std::vector<dtype> types;
  for (const std::string& name : names) {
    const std::optional<dtype> type = dtype_from_name(name);
    if (!type)
      throw usage_error(fmt::format(
          "dtype: '{}' is unknown; known are f16, bf16, f32, f64, e4m3, e5m2, i8, i32, i64, u8, u16, u32", name));
    types.push_back(*type);
  }
  return types;
}

bool is_chosen(const property& p, const std::vector<std::string>& ops) {
  return std::ranges::find(ops, p.op) != ops.end();
}

// Names of properties that the user may have meant, the nearest first.
std::vector<std::string> near_names(const std::string& name, const std::vector<std::string>& ops) {
  constexpr size_t k_most = 3;
  std::vector<std::pair<size_t, std::string>> near;
  for (const property& p : all_properties()) {
    if (!is_chosen(p, ops)) continue;
    const bool has_part = name.size() > 2 && p.name.find(name) != std::string::npos;
    const size_t changes = has_part ? 1 : formula::edit_distance(name, p.name);
    if (changes <= std::max<size_t>(2, p.name.size() / 3)) near.emplace_back(changes, p.name);
  }
  std::ranges::sort(near);
  std::vector<std::string> names;
  for (const auto& [changes, known] : near)
    if (names.size() < k_most && std::ranges::find(names, known) == names.end()) names.push_back(known);
  return names;
}

// Parses the options --without-property NAME:REASON.
std::vector<unwanted_property> unwanted_properties(const verify_options& o, const std::vector<std::string>& ops) {
  std::vector<unwanted_property> unwanted;
  for (const std::string& text : o.without) {
    const size_t colon = text.find(':');
    const std::string name = text.substr(0, colon);
    const size_t begin = colon == std::string::npos ? colon : text.find_first_not_of(' ', colon + 1);
    if (begin == std::string::npos)
      throw usage_error(fmt::format(
          "without-property: '{}' has no reason, must be NAME:REASON, as in '{}:the vendor asks for aligned rows'",
          text, name));
    const auto& all = all_properties();
    if (std::ranges::none_of(all, [&](const auto& p) { return p.name == name && is_chosen(p, ops); })) {
      const std::vector<std::string> near = near_names(name, ops);
      throw usage_error(
          fmt::format("without-property: no property of {} is named '{}'{}; 'warpcheck list {}' "
                      "lists all",
                      fmt::join(ops, ", "), name,
                      near.empty() ? "" : fmt::format(", near ones are {}", fmt::join(near, ", ")), ops.front()));
    }
    unwanted.push_back({name, text.substr(begin)});
  }
  return unwanted;
}

int workers_for(const verify_options& o, const std::string& device) {
  // On a GPU most of a case's time is the reference's on the host, so several workers help. Each holds a CUDA context
  // of about half a gigabyte, so there is not one per core.
  constexpr int k_cuda_workers = 8;
  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  if (o.workers != 0 || device != "cuda") return o.workers;
  const int gpus = gpus_in_use(), per_gpu = std::clamp(cores / gpus, 1, k_cuda_workers);
  return gpus * per_gpu;
}

void check_limits(const verify_options& o) {
  check_cases(o.cases);
  check_shrink_seconds(o.shrink_seconds);
  if (o.max_rows < 1) throw usage_error(fmt::format("--max-rows: {} is too small, must be at least 1", o.max_rows));
  if (o.max_cols < 1) throw usage_error(fmt::format("--max-cols: {} is too small, must be at least 1", o.max_cols));
  if (o.workers < 0) throw usage_error(fmt::format("workers: {} is negative; 0 means one per core", o.workers));
}

}  // namespace

std::vector<std::string> chosen_operators(const std::vector<std::string>& named) {
  const std::vector<std::string> known = operators_with_properties();
  for (const std::string& op : named)
    if (std::ranges::find(known, op) == known.end()) throw usage_error(unknown_operator(op));
  std::vector<std::string> chosen;
  for (const std::string& op : named.empty() ? known : named)
    if (std::ranges::find(chosen, op) == chosen.end()) chosen.push_back(op);
  return chosen;
}

bool run_request::limits_shapes() const {
  const verify_options none;
  return given.max_rows != none.max_rows || given.max_cols != none.max_cols;
}

run_request request_of(const verify_options& given) {
  check_limits(given);
  run_request r;
  r.given = given;
  r.seed = parse_seed(given.seed);
  std::tie(r.shard, r.shards) = parse_shard(given.shard);
  r.size = size_class(given.size);
  r.operators = chosen_operators(given.operators);
  check_property_names(given, r.operators);
  r.dtypes = named_types(given.dtypes);
  r.unwanted = unwanted_properties(given, r.operators);
  r.device = resolve_device(given.device, r.device_note);
  r.timeout = timeout_of(given.timeout, r.device);
  r.workers = workers_for(given, r.device);
  return r;
}

}  // namespace warpcheck::cli
