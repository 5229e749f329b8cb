#include "command/mutants/mutant_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string_view>

#include "command/candidates/toolchain.hpp"
#include "properties/engine/error.hpp"
#include "properties/engine/files/sha256.hpp"
#include "properties/engine/trials/property.hpp"
#include "properties/engine/trials/verdict.hpp"

namespace warpcheck::cli {
namespace {

using engine::usage_error;

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::string unescaped(std::string_view text, const std::string& place) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      result += text[i];
      continue;
    }
    const char next = ++i < text.size() ? text[i] : '\0';
    if (next != 'n' && next != 't' && next != '\\')
      throw usage_error(fmt::format("{}: a backslash is followed by '{}'; only \\n, \\t and \\\\ are known", place,
                                    next ? std::string(1, next) : "the end of the column"));
    result += next == 'n' ? '\n' : next == 't' ? '\t' : '\\';
  }
  return result;
}

// Splits "property" or "property:verdict"; "*" is any, "=" none.
void set_expected(mutant& m, std::string_view text) {
  if (text == "*") return;
  if (text == "=") {
    m.equivalent = true;
    return;
  }
  const size_t colon = text.find(':');
  m.property = text.substr(0, colon);
  if (colon != std::string_view::npos) m.verdict = text.substr(colon + 1);
  const auto properties = engine::all_properties();
  if (std::ranges::none_of(properties, [&](const engine::property& p) { return p.op == m.op && p.name == m.property; }))
    throw usage_error(fmt::format("{}: {}: '{}' is not a property of {}", m.place, m.id, m.property, m.op));
  if (!m.verdict.empty() && !engine::verdict_from_name(m.verdict))
    throw usage_error(fmt::format("{}: {}: '{}' is not a verdict", m.place, m.id, m.verdict));
}

}  // namespace

mutant_list read_mutants(const std::string& path) {
  const std::filesystem::path file(path);
  const std::string op = file.stem().string();
  const std::vector<std::string> operators = engine::operators_with_properties();
  const bool kernel = std::ranges::find(operators, op) != operators.end();
  const std::string text = read_text(path);
  mutant_list list;
  std::set<std::string> ids;
  std::map<std::string, std::string> needing;  // by id, the place of the line `lacks`
  int number = 0;
  for (const std::string_view line : split(text, '\n')) {
    const std::string place = fmt::format("{}:{}", file.filename().string(), ++number);
    if (line.empty() || line[0] == '#') continue;
    const std::vector<std::string_view> columns = split(line, '\t');
    if (columns[0] == "usual" && columns.size() == 2) {
      list.usual = columns[1];
      continue;
    }
    if (columns[0] == "lacks" && (columns.size() == 2 || columns.size() == 3)) {
      list.lacks = columns[1];
      if (columns.size() == 3)
        for (const std::string_view id : split(columns[2], ' '))
          if (!id.empty()) needing[std::string(id)] = place;
      continue;
    }
    if (columns.size() != 5)
      throw usage_error(fmt::format(
          "{}: the line has {} columns; id, file, old text, new text and expected killer are required, tab separated",
          place, columns.size()));
    mutant m;
    m.id = columns[0];
    m.op = op;
    m.kernel = kernel;
    m.file = columns[1];
    m.old_text = unescaped(columns[2], place);
    m.new_text = unescaped(columns[3], place);
    m.place = place;
    if (m.id.empty() || m.file.empty() || m.old_text.empty() || columns[4].empty())
      throw usage_error(fmt::format("{}: only the new text may be empty, not the other columns", place));
    if (m.id.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.") !=
        std::string::npos)
      throw usage_error(fmt::format("{}: id '{}' may hold letters, digits, '-', '_' and '.' only", place, m.id));
    if (!ids.insert(m.id).second) throw usage_error(fmt::format("{}: id '{}' occurs twice", place, m.id));
    set_expected(m, columns[4]);
    list.mutants.push_back(std::move(m));
  }
  if (list.mutants.empty()) throw usage_error(fmt::format("{}: it has no mutant", path));
  for (mutant& m : list.mutants) m.needs_lacked = needing.erase(m.id) > 0;
  for (const auto& [id, place] : needing) throw usage_error(fmt::format("{}: no mutant is called '{}'", place, id));
  return list;
}

std::vector<mutant> sample_of(std::vector<mutant> mutants, int one_in, uint64_t seed) {
  const size_t wanted = (mutants.size() + static_cast<size_t>(one_in) - 1) / static_cast<size_t>(one_in);
  const auto rank = [seed](const mutant& m) { return engine::sha256_hex(fmt::format("{} {} {}", seed, m.op, m.id)); };
  std::vector<std::string> ranks;
  for (const mutant& m : mutants) ranks.push_back(rank(m));
  std::ranges::sort(ranks);
  std::erase_if(mutants, [&](const mutant& m) { return rank(m) > ranks[wanted - 1]; });
  return mutants;
}

std::string mutated_text(const mutant& m, const std::string& root) {
  std::string text = read_text(root + "/" + m.file);
  int64_t found = 0;
  size_t place = 0;
  for (size_t at = 0; (at = text.find(m.old_text, at)) != std::string::npos; ++at) {
    ++found;
    place = at;
  }
  if (found != 1)
    throw usage_error(fmt::format("{}: {}: the old text occurs {} times in {}, it must occur exactly once", m.place,
                                  m.id, found, m.file));
  const size_t line = text.rfind('\n', place) + 1;
  if (text.substr(line, place - line).find("//") != std::string::npos)
    throw usage_error(fmt::format("{}: {}: the old text stands in a comment of {}", m.place, m.id, m.file));
  return text.replace(place, m.old_text.size(), m.new_text);
}

}  // namespace warpcheck::cli
