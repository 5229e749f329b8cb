// The texts of traits, offers and statements.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <tuple>
#include <utility>

#include "properties/engine/cases/description.hpp"
#include "properties/engine/cases/offer.hpp"
#include "properties/engine/error.hpp"
#include "reference/numerics/stated_sums.hpp"

namespace warpcheck::engine {
namespace {

constexpr std::string_view k_beside = " beside ", k_same = " same ";  // between the names of two tensors
constexpr std::string_view k_misaligned = " misaligned ", k_absent = " absent";

std::string text_of(const trait& t) {
  switch (t.kind) {
    case trait::present: return t.name;
    case trait::absent: return fmt::format("{}{}", t.name, k_absent);
    case trait::equal: return fmt::format("{}={}", t.name, t.value);
    case trait::unequal: return fmt::format("{}{}{}", t.name, k_differs, t.value);
    case trait::typed: return fmt::format("{}:{}", t.name, t.value);
    case trait::apart: return fmt::format("ld{}>cols", t.name);
    case trait::distant: return fmt::format("ld{}>{}", t.name, t.size);
    case trait::among: return fmt::format("{}{}{}", t.name, k_beside, t.value);
    case trait::same: return fmt::format("{}{}{}", t.name, k_same, t.value);
    case trait::more: return fmt::format("{}>{}", t.name, t.size);
    case trait::fewer: return fmt::format("{}<{}", t.name, t.size);
    case trait::not_multiple: return fmt::format("{}%{}", t.name, t.size);
    case trait::misaligned: return fmt::format("{}{}{}", t.name, k_misaligned, t.size);
    case trait::uneven: return fmt::format("ld{}%{}", t.name, t.size);
    case trait::different: return t.name;
  }
  return "";
}

bool is_word(std::string_view text) {
  return !text.empty() &&
         std::ranges::all_of(text, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; });
}

bool is_number(std::string_view text, int64_t& value) {
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  return code == std::errc() && end == text.data() + text.size() && value > 0;
}

// Searches all forms of the operator.
const tensor_rule* find_tensor(const description& d, std::string_view name) {
  for (const call_form& form : d.forms)
    if (const tensor_rule* t = form.find(name)) return t;
  return nullptr;
}

const scalar_rule* find_value(const description& d, std::string_view name, const std::string& value) {
  for (const call_form& form : d.forms)
    for (const scalar_rule& s : form.scalars)
      if (s.name == name && !std::isnan(passed_value(s, value))) return &s;
  return nullptr;
}

bool are_extents(const description& d, const std::vector<std::string_view>& names) {
  return std::ranges::all_of(names, [&](std::string_view name) { return d.find(name); });
}

bool is_trait(const description& d, const trait& t) {
  const tensor_rule* const tensor = find_tensor(d, t.name);
  switch (t.kind) {
    case trait::present: return tensor;
    case trait::absent: return tensor && tensor->is_optional;
    case trait::equal:
    case trait::unequal: return find_value(d, t.name, t.value);
    case trait::typed: return tensor && dtype_from_name(t.value);
    case trait::apart:
    case trait::distant:
    case trait::misaligned:
    case trait::uneven: return tensor;
    case trait::among:
    case trait::same: return tensor && find_tensor(d, t.value);
    case trait::more:
    case trait::fewer: return d.find(t.name);
    case trait::not_multiple: return are_extents(d, trimmed_parts(t.name, "*"));
    case trait::different: return are_extents(d, trimmed_parts(t.name, k_differs));
  }
  return false;
}

trait parse_trait(const description& d, std::string_view text) {
  const auto split = [&](std::string_view sign) {
    const size_t at = text.find(sign);
    return std::pair{std::string(trimmed(text.substr(0, at))), std::string(trimmed(text.substr(at + sign.size())))};
  };
  trait t;
  if (is_word(text)) return {trait::present, std::string(text), "", 0};
  if (text.ends_with(k_absent))
    return {trait::absent, std::string(trimmed(text.substr(0, text.size() - k_absent.size()))), "", 0};
  if (text.find(k_beside) != std::string_view::npos) {
    t.kind = trait::among;
    std::tie(t.name, t.value) = split(k_beside);
  } else if (text.find(k_same) != std::string_view::npos) {
    t.kind = trait::same;
    std::tie(t.name, t.value) = split(k_same);
  } else if (text.find(k_misaligned) != std::string_view::npos) {
    const auto [tensor, bytes] = split(k_misaligned);
    t.kind = trait::misaligned;
    if (is_number(bytes, t.size)) t.name = tensor;
  } else if (const size_t at = text.find(k_differs); at != std::string_view::npos) {
    if (d.find(trimmed(text.substr(0, at)))) return {trait::different, std::string(text), "", 0};
    t.kind = trait::unequal;
    std::tie(t.name, t.value) = split(k_differs);
  } else if (text.find('=') != std::string_view::npos) {
    t.kind = trait::equal;
    std::tie(t.name, t.value) = split("=");
  } else if (text.find(':') != std::string_view::npos) {
    t.kind = trait::typed;
    std::tie(t.name, t.value) = split(":");
  } else if (const auto [of, modulus] = split("%"); is_number(modulus, t.size)) {
    t.kind = of.starts_with("ld") ? trait::uneven : trait::not_multiple;
    t.name = of.starts_with("ld") ? of.substr(2) : of;
  } else if (const auto [small, least] = split("<"); is_number(least, t.size)) {
    t.kind = trait::fewer;
    t.name = small;
  } else if (const auto [name, most] = split(">"); name.starts_with("ld") && most == "cols") {
    t.kind = trait::apart;
    t.name = name.substr(2);
  } else if (is_number(most, t.size)) {
    t.kind = name.starts_with("ld") ? trait::distant : trait::more;
    t.name = name.starts_with("ld") ? name.substr(2) : name;
  }
  return t;
}

}  // namespace

std::string text_of(const trait_set& traits) {
  std::vector<std::string> texts;
  for (const trait& t : traits) texts.push_back(text_of(t));
  return fmt::format("{}", fmt::join(texts, " & "));
}

std::string text_of(const offer& o) {
  std::vector<std::string> texts;
  for (const trait_set& traits : o.lacks) texts.push_back(text_of(traits));
  return fmt::format("{}", fmt::join(texts, ", "));
}

trait_set parse_traits(std::string_view op, std::string_view text) {
  const description* const d = find_description(op);
  trait_set traits;
  for (const std::string_view part : trimmed_parts(text, "&")) {
    if (d) traits.push_back(parse_trait(*d, part));
    if (!d || !is_trait(*d, traits.back()))
      throw usage_error(fmt::format(
          "offer: '{}' is nothing that a candidate of {} can lack; examples are TENSOR, SCALAR=VALUE, EXTENT>SIZE, "
          "by the names of 'warpcheck list {}' (all: docs/bring_your_own/README.md)",
          part, op, op));
  }
  return traits;
}

offer parse_offer(std::string_view op, std::string_view text) {
  offer o;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    o.lacks.push_back(parse_traits(op, text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return o;
}

namespace {

// Returns the statements that a candidate of the operator may make, such as "'lacks ...' and 'plan'".
std::string allowed_text(const statement_rules& allowed) {
  std::string all = "'lacks ...'";
  const auto add = [&](bool is_allowed, std::string_view name) {
    if (is_allowed) all += fmt::format(", '{}'", name);
  };
  add(allowed.sums, "sums chain"), add(allowed.sums, "sums <= N"), add(allowed.gates, "gates <= N");
  add(allowed.log_of_sum, k_log_of_sum), add(allowed.logistic != nullptr, k_exp_overflows);
  add(allowed.ties, k_unstable), add(allowed.plan, "plan"), add(allowed.batch_invariant, "batch-invariant");
  const size_t last = all.rfind(", ");
  return last == std::string::npos ? all : all.replace(last, 2, " and ");
}

}  // namespace

offer parse_statements(std::string_view op, std::string_view text) {
  offer o;
  const statement_rules allowed = statements_of(op);
  for (const std::string_view part : trimmed_parts(text, ";")) {
    int64_t number = 0;
    if (part.empty()) continue;
    if (allowed.plan && part == "plan")
      o.has_our_plan = true;
    else if (allowed.batch_invariant && part == "batch-invariant")
      o.is_batch_invariant = true;
    else if (allowed.log_of_sum && part == k_log_of_sum)
      o.takes_log_of_sum = true;
    else if (allowed.logistic && part == k_exp_overflows)
      o.lets_exp_overflow = true;
    else if (allowed.ties && part == k_unstable)
      o.is_unstable = true;
    else if (allowed.sums && part == "sums chain")
      o.sum_depth = reference::k_longest_stated_chain;
    else if (allowed.sums && part.starts_with("sums <=") && is_number(trimmed(part.substr(7)), number))
      o.sum_depth = number;
    else if (allowed.gates && part.starts_with("gates <=") && is_number(trimmed(part.substr(8)), number))
      o.gates = number;
    else if (part == "lacks" || part.starts_with("lacks "))
      for (trait_set& traits : parse_offer(op, part.substr(5)).lacks) o.lacks.push_back(std::move(traits));
    else
      throw usage_error(fmt::format("states: '{}' is not a statement of a candidate of {}; allowed are {}", part, op,
                                    allowed_text(allowed)));
  }
  return o;
}

}  // namespace warpcheck::engine
