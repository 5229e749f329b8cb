#include "properties/engine/cases/classes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

namespace warpcheck::engine {
namespace {

constexpr int64_t k_warp = 32;

constexpr std::string_view k_vector = "rows:vector";
constexpr std::string_view k_row_classes[] = {"none", "one", "few", "many"};
constexpr std::string_view k_column_classes[] = {"none",    "one",     "below-warp", "warp", "power",
                                                 "power-1", "power+1", "multiple",   "tail"};
// From the usual to the unusual; of several inputs the most unusual one decides.
constexpr std::string_view k_value_classes[] = {"array", "range",      "exact",  "equal", "ties",   "ordered", "wide",
                                                "tiny",  "cancelling", "peaked", "huge",  "masked", "special"};

struct value_kind {
  std::string_view distribution, name;
};
constexpr value_kind k_value_kinds[] = {
    {"constant", "equal"},    {"integers", "exact"},     {"dyadic", "exact"},        {"randn", "range"},
    {"uniform", "range"},     {"half_ulp", "range"},     {"bits", "special"},        {"finite_bits", "wide"},
    {"log_uniform", "wide"},  {"near_overflow", "huge"}, {"near_underflow", "tiny"}, {"cancellation", "cancelling"},
    {"ascending", "ordered"}, {"descending", "ordered"}, {"alternating", "ordered"}, {"sawtooth", "ordered"},
    {"spike", "peaked"},      {"diagonal", "peaked"},    {"one_hot", "peaked"},      {"stagnation", "peaked"},
    {"late_rise", "ordered"}, {"levels", "wide"},        {"masked", "masked"},       {"unmasked", "masked"},
    {"duplicates", "ties"},   {"special", "special"},    {"nan_bits", "special"},    {"permutation", "exact"},
    {"npy", "array"},         {"derived", "range"},
};

size_t rank_of(std::string_view values) {
  return static_cast<size_t>(std::find(std::begin(k_value_classes), std::end(k_value_classes), values) -
                             std::begin(k_value_classes));
}

std::string_view row_class(int64_t rows) {
  return k_row_classes[rows == 0 ? 0 : rows == 1 ? 1 : rows < k_warp ? 2 : 3];
}

bool is_power(int64_t n) { return n > 0 && std::has_single_bit(static_cast<uint64_t>(n)); }

std::string_view column_class(int64_t cols) {
  if (cols == 0) return "none";
  if (cols == 1) return "one";
  if (cols < k_warp) return "below-warp";
  if (cols == k_warp) return "warp";
  if (is_power(cols)) return "power";
  if (is_power(cols + 1)) return "power-1";
  if (is_power(cols - 1)) return "power+1";
  return cols % k_warp == 0 ? "multiple" : "tail";
}

std::string_view value_class(const recipe& r) {
  std::string_view name = "range";
  for (const value_kind& k : k_value_kinds)
    if (k.distribution == r.distribution) name = k.name;
  size_t rank = rank_of(name);
  const auto see = [&](double v) {
    if (std::isnan(v) || v == HUGE_VAL) rank = std::max(rank, rank_of("special"));
    if (v == -HUGE_VAL) rank = std::max(rank, rank_of("masked"));
  };
  for (const double a : r.arguments) see(a);
  for (const edit& e : r.edits) see(e.value);
  return k_value_classes[rank];
}

std::vector<coverage_exemption>& coverage_exemptions() {
  static std::vector<coverage_exemption> list;  // constructed on first use: registrations run before main in any order
  return list;
}

// True if a column class has a size in [least, most].
bool meets(std::string_view name, const extent_range& range) {
  const int64_t most = range.most < 0 ? int64_t{1} << 20 : range.most;
  // Every class of a range occurs within two powers of two of its ends.
  for (int64_t n = std::max<int64_t>(1, range.least); n <= most && n <= 4 * std::max<int64_t>(k_warp, range.least); ++n)
    if (column_class(n) == name) return true;
  return false;
}

std::string extent_text(int64_t n) {
  if (n <= 4) return fmt::format("{}", n);
  const int k = std::bit_width(static_cast<uint64_t>(n)) - 1;
  if (is_power(n)) return fmt::format("2^{}", k);
  if (is_power(n - 1)) return fmt::format("2^{}+1", k);
  if (is_power(n + 1)) return fmt::format("2^{}-1", k + 1);
  return fmt::format("2^{}..", k);
}

}  // namespace

std::vector<std::string> classes_of(const trial_case& c) {
  const auto first = std::ranges::find_if(c.tensors, [](const tensor_spec& t) { return t.is_input; });
  if (first == c.tensors.end()) return {};
  size_t rank = 0;
  for (const tensor_spec& t : c.tensors)
    if (t.is_input && (t.elements() > 0 || &t == &*first)) rank = std::max(rank, rank_of(value_class(t.fill)));
  return {first->shape.size() == 1 ? std::string(k_vector) : fmt::format("rows:{}", row_class(first->rows())),
          fmt::format("columns:{}", column_class(first->cols())), fmt::format("values:{}", k_value_classes[rank])};
}

std::string combination_of(const std::vector<std::string>& classes, std::string_view variant) {
  std::string text;
  for (const std::string& name : classes) text += name.substr(name.find(':') + 1) + " x ";
  return text + std::string(variant);
}

const std::vector<std::string>& required_classes() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list;
    for (const auto name : k_row_classes) list.push_back(fmt::format("rows:{}", name));
    for (const auto name : k_column_classes) list.push_back(fmt::format("columns:{}", name));
    for (const auto name : k_value_classes)
      if (name != "array") list.push_back(fmt::format("values:{}", name));
    return list;
  }();
  return names;
}

coverage_exemption_registration::coverage_exemption_registration(std::vector<coverage_exemption> list) {
  for (coverage_exemption& w : list) coverage_exemptions().push_back(std::move(w));
}

std::vector<coverage_exemption> coverage_exemptions_of(std::string_view op) {
  std::vector<coverage_exemption> list = coverage_exemptions();
  std::erase_if(list, [&](const coverage_exemption& w) { return w.op != op; });
  return list;
}

int64_t coverage_minimum(int64_t cases) { return std::max<int64_t>(1, cases / 1000); }

std::vector<std::string> unmet_coverage_minimums(std::string_view op, const std::map<std::string, int64_t>& reached,
                                                 int64_t cases) {
  std::vector<std::string> sentences;
  const auto is_matrix = [](const auto& r) { return r.first.starts_with("rows:") && r.first != k_vector; };
  const bool has_rows = std::ranges::any_of(reached, is_matrix);
  for (const std::string& name : required_classes()) {
    if (name.starts_with("rows:") && !has_rows && reached.count(std::string(k_vector))) continue;
    const auto is_this = [&](const coverage_exemption& w) { return w.op == op && w.name == name; };
    if (std::ranges::any_of(coverage_exemptions(), is_this)) continue;
    const auto found = reached.find(name);
    const int64_t have = found == reached.end() ? 0 : found->second;
    if (have < coverage_minimum(cases))
      sentences.push_back(fmt::format("{} of {} cases are of the class {}; the coverage minimum is {}", have, cases,
                                      name, coverage_minimum(cases)));
  }
  return sentences;
}

int64_t combinations(const std::vector<extent_range>& variants) {
  constexpr int64_t rows = std::size(k_row_classes) - 1, values = std::size(k_value_classes) - 1;
  int64_t columns = 0;
  for (const extent_range& v : variants)
    for (const auto name : k_column_classes) columns += meets(name, v);
  return rows * values * columns;
}

std::string shape_class(const trial_case& c) {
  std::string text;
  for (const tensor_spec& t : c.tensors) {
    if (!t.is_input) continue;
    text += (text.empty() ? "" : " ") + t.name + "[";
    for (size_t i = 0; i < t.shape.size(); ++i) text += (i ? "x" : "") + extent_text(t.shape[i]);
    text += "]";
  }
  return text;
}

}  // namespace warpcheck::engine
