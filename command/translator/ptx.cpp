#include "command/translator/ptx.hpp"

#include <fmt/format.h>

#include <cctype>
#include <map>

#include "command/translator/ptx_translator.hpp"

namespace warpcheck::cli {
namespace {

std::string trim(std::string_view s) {
  while (!s.empty() && std::isspace(static_cast<unsigned char>(s.front()))) s.remove_prefix(1);
  while (!s.empty() && std::isspace(static_cast<unsigned char>(s.back()))) s.remove_suffix(1);
  return std::string(s);
}

// As a string literal of C++.
std::string string_literal(std::string_view s) {
  std::string out = "\"";
  for (const char c : s) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

bool is_name(std::string_view s) {
  return !s.empty() && !std::isdigit(static_cast<unsigned char>(s[0])) && std::all_of(s.begin(), s.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$';
  });
}

}  // namespace

words split_ptx(std::string_view s, char separator) {
  words parts;
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i <= s.size(); ++i) {
    if (i == s.size() || (s[i] == separator && depth == 0)) {
      parts.push_back(trim(s.substr(begin, i - begin)));
      begin = i + 1;
      continue;
    }
    if (s[i] == '{' || s[i] == '[' || s[i] == '(') ++depth;
    if (s[i] == '}' || s[i] == ']' || s[i] == ')') --depth;
  }
  if (parts.size() == 1 && parts[0].empty()) parts.clear();
  return parts;
}

std::string type_of_ptx(std::string_view ptx) {
  static const std::map<std::string_view, std::string> types = {
      {"b8", "uint8_t"},     {"u8", "uint8_t"},       {"s8", "int8_t"},         {"b16", "uint16_t"},
      {"u16", "uint16_t"},   {"s16", "int16_t"},      {"b32", "uint32_t"},      {"u32", "uint32_t"},
      {"s32", "int32_t"},    {"b64", "uint64_t"},     {"u64", "uint64_t"},      {"s64", "int64_t"},
      {"f32", "float"},      {"f64", "double"},       {"pred", "bool"},         {"f16", "ptx::f16"},
      {"bf16", "ptx::bf16"}, {"f16x2", "ptx::f16x2"}, {"bf16x2", "ptx::bf16x2"}};
  const auto at = types.find(ptx);
  return at == types.end() ? "" : at->second;
}

std::string ptx_translator::run() {
  std::string text = without_comments();
  for (size_t at = text.find("%="); at != std::string::npos; at = text.find("%="))
    text.replace(at, 2, std::to_string(s_.number));
  // Scopes of PTX nest in the one of the statement: names are assumed to differ.
  int depth = 0;
  std::string line;
  for (const char c : text + ";") {
    if (c == '{' && trim(line).empty() && depth == 0) continue;
    if (c == '}' && trim(line).empty() && depth == 0) continue;
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    if (c == ':' && depth == 0 && is_name(without_percent(trim(line)))) {
      code_ += fmt::format(" {}:;", label(trim(line)));
      line.clear();
      continue;
    }
    if (c != ';') {
      line += c;
      continue;
    }
    const std::string one = trim(line);
    line.clear();
    if (one.empty()) continue;
    statement(one);
  }
  std::string head;
  for (size_t i = 0; i < s_.operands.size(); ++i) {
    const ptx_operand& o = s_.operands[i];
    const bool written = o.constraint.find_first_of("=+") != std::string::npos;
    head += fmt::format(" [[maybe_unused]] {} simt_o{} = ({});", written ? "auto&&" : "auto", i, o.expression);
  }
  // A label needs a statement after it; a jump must not pass a declaration.
  return fmt::format("do {{ namespace ptx = ::simt::import::ptx;{}{}{} }} while (false)", head, registers_, code_);
}

std::string ptx_translator::without_comments() const {
  std::string out;
  for (size_t i = 0; i < s_.text.size(); ++i) {
    const std::string_view two = std::string_view(s_.text).substr(i, 2);
    if (two == "//") {
      i = std::min(s_.text.find('\n', i), s_.text.size()) - 1;
    } else if (two == "/*") {
      const size_t close = s_.text.find("*/", i + 2);
      if (close == std::string::npos) break;
      i = close + 1;
    } else {
      out += std::isspace(static_cast<unsigned char>(s_.text[i])) ? ' ' : s_.text[i];
    }
  }
  return out;
}

std::string ptx_translator::without_percent(const std::string& s) {
  return s.substr(std::min(s.find_first_not_of('%'), s.size()));
}

std::string ptx_translator::label(const std::string& name) const {
  std::string plain = without_percent(name);
  std::replace(plain.begin(), plain.end(), '$', '_');
  return fmt::format("simt_l{}_{}", s_.number, plain);
}

std::string ptx_translator::variable(std::string name) const {
  std::replace(name.begin(), name.end(), '$', '_');
  return "simt_r_" + name;
}

std::string ptx_translator::value(const std::string& text) const {
  if (text.empty()) return "";
  if (text[0] == '!') {
    const std::string inner = value(text.substr(1));
    return inner.empty() ? "" : "!ptx::get<bool>(" + inner + ")";
  }
  if (text[0] == '%') {
    if (text.size() > 1 && std::isdigit(static_cast<unsigned char>(text[1])) && s_.has_operands) {
      const size_t i = std::stoul(text.substr(1));
      return i < s_.operands.size() ? fmt::format("simt_o{}", i) : "";
    }
    if (text.starts_with("%[") && text.back() == ']') {
      for (size_t i = 0; i < s_.operands.size(); ++i)
        if (s_.operands[i].name == text.substr(2, text.size() - 3)) return fmt::format("simt_o{}", i);
      return "";
    }
    const std::string name = without_percent(text);
    return declared_.contains(name) ? variable(name) : special(name);
  }
  if (declared_.contains(text)) return variable(text);
  if (text == "WARP_SZ") return "32u";
  if (text.starts_with("0f") || text.starts_with("0F")) return fmt::format("ptx::get<float>(0x{}u)", text.substr(2));
  if (text.starts_with("0d") || text.starts_with("0D")) return fmt::format("ptx::get<double>(0x{}ull)", text.substr(2));
  const bool number = std::isdigit(static_cast<unsigned char>(text[0])) ||
                      (text[0] == '-' && text.size() > 1 && std::isdigit(static_cast<unsigned char>(text[1])));
  if (!number) return "";
  const bool valid = std::all_of(text.begin(), text.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '-' || c == '+';
  });
  if (!valid) return "";
  const bool real = text.find('.') != std::string::npos;
  return real || text.back() == 'U' ? "(" + text + ")" : "(" + text + "ll)";
}

std::string ptx_translator::special(const std::string& name) {
  static const std::map<std::string_view, std::string_view> registers = {
      {"laneid", "::simt::emu::lane_index()"},
      {"warpid", "ptx::warp()"},
      {"nwarpid", "ptx::warps()"},
      {"tid.x", "::simt::emu::thread_index().x"},
      {"tid.y", "::simt::emu::thread_index().y"},
      {"tid.z", "::simt::emu::thread_index().z"},
      {"ntid.x", "::simt::emu::block_dimensions().x"},
      {"ntid.y", "::simt::emu::block_dimensions().y"},
      {"ntid.z", "::simt::emu::block_dimensions().z"},
      {"ctaid.x", "::simt::emu::block_index().x"},
      {"ctaid.y", "::simt::emu::block_index().y"},
      {"ctaid.z", "::simt::emu::block_index().z"},
      {"nctaid.x", "::simt::emu::grid_dimensions().x"},
      {"nctaid.y", "::simt::emu::grid_dimensions().y"},
      {"nctaid.z", "::simt::emu::grid_dimensions().z"},
      {"smid", "0u"},
      {"nsmid", "1u"},
      {"clock", "::clock64()"},
      {"clock64", "::clock64()"},
      {"globaltimer", "::clock64()"},
      {"cluster_ctarank", "::simt::cluster_rank()"},
      {"cluster_nctarank", "::simt::cluster_size()"},
      {"cluster_ctaid.x", "(::simt::emu::block_index().x % ::simt::cluster_shape().x)"},
      {"cluster_nctaid.x", "::simt::cluster_shape().x"},
      {"cluster_ctaid.y", "(::simt::emu::block_index().y % ::simt::cluster_shape().y)"},
      {"cluster_ctaid.z", "(::simt::emu::block_index().z % ::simt::cluster_shape().z)"},
      {"cluster_nctaid.y", "::simt::cluster_shape().y"},
      {"cluster_nctaid.z", "::simt::cluster_shape().z"},
      {"clusterid.x", "(::simt::emu::block_index().x / ::simt::cluster_shape().x)"},
      {"clusterid.y", "(::simt::emu::block_index().y / ::simt::cluster_shape().y)"},
      {"clusterid.z", "(::simt::emu::block_index().z / ::simt::cluster_shape().z)"},
      {"nclusterid.x", "(::simt::emu::grid_dimensions().x / ::simt::cluster_shape().x)"},
      {"nclusterid.y", "(::simt::emu::grid_dimensions().y / ::simt::cluster_shape().y)"},
      {"nclusterid.z", "(::simt::emu::grid_dimensions().z / ::simt::cluster_shape().z)"},
      {"lanemask_eq", "(1u << ::simt::emu::lane_index())"},
      {"lanemask_lt", "((1u << ::simt::emu::lane_index()) - 1u)"},
      {"lanemask_le", "((2u << ::simt::emu::lane_index()) - 1u)"},
      {"lanemask_gt", "~((2u << ::simt::emu::lane_index()) - 1u)"},
      {"lanemask_ge", "~((1u << ::simt::emu::lane_index()) - 1u)"}};
  const auto at = registers.find(name);
  return at == registers.end() ? "" : std::string(at->second);
}

std::string ptx_translator::as(const std::string& type, const std::string& operand) {
  const std::string v = value(operand);
  if (v.empty()) ok_ = false;
  return fmt::format("ptx::get<{}>({})", type, v);
}

std::string ptx_translator::store(const std::string& operand, const std::string& expression) {
  if (operand == "_") return expression + ";";
  const std::string v = value(operand);
  if (v.empty() || v[0] == '(' || v[0] == '!' || v.starts_with("ptx")) ok_ = false;
  return fmt::format("ptx::put({}, {});", v, expression);
}

std::string ptx_translator::place(const std::string& operand) {
  if (operand.size() < 3 || operand[0] != '[' || operand.back() != ']') return ok_ = false, "";
  std::string base = trim(operand.substr(1, operand.size() - 2)), offset = "0";
  if (base.starts_with("%[")) {
    const size_t close = base.find(']');
    const size_t plus = base.find('+', close);
    if (plus != std::string::npos) offset = trim(base.substr(plus + 1)), base = trim(base.substr(0, plus));
  } else if (const size_t sign = base.find_first_of("+-", 1); sign != std::string::npos) {
    offset = trim(base.substr(sign + (base[sign] == '+' ? 1 : 0)));
    base = trim(base.substr(0, sign));
  }
  const std::string v = value(base), by = value(offset);
  if (v.empty() || by.empty()) ok_ = false;
  return fmt::format("{}, {}", v, by);
}

std::string ptx_translator::box(const std::string& operand, size_t dimensions) {
  if (operand.size() < 3 || operand[0] != '[' || operand.back() != ']') return ok_ = false, "";
  const words parts = split_ptx(std::string_view(operand).substr(1, operand.size() - 2), ',');
  if (parts.size() != 2 || vector(parts[1]).size() != dimensions) return ok_ = false, "";
  return fmt::format("reinterpret_cast<const ::simt::tensor_map*>({}), {}, ::simt::tensor_coordinates{}",
                     as("uint64_t", parts[0]), dimensions, array("int32_t", parts[1]));
}

std::string ptx_translator::address(const std::string& operand, address_space space) {
  constexpr const char* functions[] = {"place", "own_place", "shared_place"};
  return fmt::format("ptx::{}({})", functions[space], place(operand));
}

address_space ptx_translator::space_of(const instruction& i) {
  return i.has("shared::cluster") ? k_cluster : i.has("shared") || i.has("shared::cta") ? k_own : k_generic;
}

words ptx_translator::vector(const std::string& operand) {
  if (operand.size() < 2 || operand[0] != '{') return {operand};
  return split_ptx(std::string_view(operand).substr(1, operand.size() - 2), ',');
}

std::string ptx_translator::array(const char* type, const std::string& operand) {
  words list;
  for (const std::string& one : vector(operand)) list.push_back(as(type, one));
  return fmt::format("{{{}}}", fmt::join(list, ", "));
}

void ptx_translator::statement(const std::string& text) {
  if (text.starts_with(".reg") && declare(text.substr(4))) return;
  if (text.starts_with(".pragma")) return;
  instruction i;
  std::string code = instruction_code(i, text);
  if (code.empty()) code = fmt::format("ptx::not_modelled({});", string_literal(text));
  code_ += i.predicate.empty() ? fmt::format(" {{ {} }}", code) : fmt::format(" if ({}) {{ {} }}", i.predicate, code);
}

std::string ptx_translator::instruction_code(instruction& i, const std::string& text) {
  if (text[0] == '.') return "";
  i.text = text;
  std::string rest = text;
  if (rest[0] == '@') {
    const size_t blank = rest.find(' ');
    if (blank == std::string::npos) return "";
    const std::string p = value(trim(rest.substr(1, blank - 1)));
    if (p.empty()) return "";
    i.predicate = "ptx::get<bool>(" + p + ")";
    rest = trim(rest.substr(blank));
  }
  const size_t end = std::min(rest.find_first_of(" \t"), rest.size());
  i.opcode = parts_of(rest.substr(0, end));
  i.operands = split_ptx(rest.substr(end), ',');
  if (i.opcode.empty()) return "";
  ok_ = true;
  const std::string code = translate(i);
  return ok_ ? code : "";
}

bool ptx_translator::declare(const std::string& text) {
  const words list = split_ptx(text, ',');
  if (list.empty()) return false;
  const size_t dot = list[0].find('.'), blank = list[0].find(' ', dot);
  if (dot == std::string::npos || blank == std::string::npos) return false;
  const std::string type = type_of_ptx(trim(list[0].substr(dot + 1, blank - dot - 1)));
  if (type.empty()) return false;
  for (size_t k = 0; k < list.size(); ++k) {
    std::string name = without_percent(trim(k == 0 ? list[0].substr(blank) : list[k]));
    int count = -1;
    if (const size_t open = name.find('<'); open != std::string::npos) {
      count = std::atoi(name.c_str() + open + 1);
      name.erase(open);
    }
    if (!is_name(name) || count > 1024) return false;
    for (int n = count < 0 ? -1 : 0; n < count || n < 0; ++n) {
      const std::string one = n < 0 ? name : name + std::to_string(n);
      if (declared_.insert(one).second) registers_ += fmt::format(" {} {}{{}};", type, variable(one));
      if (n < 0) break;
    }
  }
  return true;
}

std::string translate_ptx(const ptx_statement& statement) { return ptx_translator(statement).run(); }

}  // namespace warpcheck::cli
