#include "bench/asked_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>

#include "properties/engine/error.hpp"

namespace warpcheck::bench {
namespace {

using namespace engine;

// Names of the workspace; a candidate allocates its own if a call has none.
constexpr const char *k_workspace = "work", *k_workspace_extent = "work_bytes";

// Parses a row that a user wrote: a size for each extent that a call can choose, and optionally a type. Everything else
// is as in the first row of the description.
bench_row parse_row(const description& d, const std::string& text) {
  const bench_row& like = d.bench.rows.front();
  bench_row row;
  row.form = like.form;
  row.tensors = like.tensors;
  row.scalars = like.scalars;
  row.fills = like.fills;
  std::string extents;
  for (const extent_info& e : d.extents) {
    if (e.derived) continue;
    if (e.name == k_workspace_extent)
      row.tensors.erase(k_workspace);
    else
      extents += (extents.empty() ? "" : ", ") + e.name;
  }
  const auto refuse_row = [&](const std::string& problem) {
    throw usage_error(
        fmt::format("--row: '{}' {}; {} takes a size of each of {}, and type=f32, say", text, problem, d.op, extents));
  };
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size()), equals = text.find('=', begin);
    if (equals >= end) refuse_row("is not NAME=SIZE,NAME=SIZE");
    const std::string name = text.substr(begin, equals - begin), value = text.substr(equals + 1, end - equals - 1);
    begin = end + 1;
    int64_t size = -1;
    if (name == "type") {
      const std::optional<dtype> type = dtype_from_name(value);
      if (!type) refuse_row(fmt::format("names the type '{}'", value));
      const tensor_rule& first = d.forms[row.form].tensors.front();
      const std::vector<dtype> types = types_of(first);
      if (!types.empty() && std::ranges::find(types, *type) == types.end())
        refuse_row(fmt::format("names the type {}, which {} cannot have", value, first.name));
      row.type = *type;
      continue;
    }
    const auto parsed = std::from_chars(value.data(), value.data() + value.size(), size);
    if (parsed.ec != std::errc() || parsed.ptr != value.data() + value.size() || size < 1)
      refuse_row(fmt::format("has '{}', must be at least 1", value));
    const extent_info* const extent = d.find(name);
    if (extent == nullptr || extent->derived) refuse_row(fmt::format("names '{}'", name));
    row.of[name] = size;
  }
  for (const extent_info& e : d.extents)
    if (!e.derived && e.name != k_workspace_extent && !row.of.contains(e.name))
      refuse_row(fmt::format("has no size of {}", e.name));
  return row;
}

}  // namespace

std::vector<bench_row> rows_asked(const operator_bench_options& options, const description& d) {
  if (options.rows.empty()) return d.bench.rows;
  std::vector<bench_row> rows;
  for (const std::string& text : options.rows) {
    rows.push_back(parse_row(d, text));
    if (options.fills) rows.back().fills = options.fills(rows.back().of);
  }
  return rows;
}

}  // namespace warpcheck::bench
