#include "command/translator/ptx.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <span>

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

std::string without_percent(const std::string& s) { return s.substr(std::min(s.find_first_not_of('%'), s.size())); }

bool is_name(std::string_view s) {
  return !s.empty() && !std::isdigit(static_cast<unsigned char>(s[0])) && std::ranges::all_of(s, [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$';
  });
}

}  // namespace

const std::string* ptx_translator::label(const std::string& name) const {
  const std::string* found = find(&scope::labels, without_percent(name));
  return found == nullptr || found->empty() ? nullptr : found;
}

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

const ptx_statement ptx_translator::k_no_operands;

std::string without_ptx_comments(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const std::string_view two = text.substr(i, 2);
    if (text[i] == '"') {  // a text, to its end
      const size_t close = std::min(text.find_first_of("\"\n", i + 1), text.size() - 1);
      out += text.substr(i, close + 1 - i);
      i = close;
    } else if (two == "//") {
      i = std::min(text.find('\n', i), text.size()) - 1;
    } else if (two == "/*") {
      const size_t close = std::min(text.find("*/", i + 2), text.size());
      out.append(static_cast<size_t>(
                     std::count(text.begin() + static_cast<long>(i), text.begin() + static_cast<long>(close), '\n')),
                 '\n');
      i = close + 1;
    } else {
      out += text[i];
    }
  }
  return out;
}

std::vector<ptx_item> ptx_items(std::string_view text, int line) {
  using kinds = ptx_item::kinds;
  std::vector<ptx_item> items;
  std::string part;
  int depth = 0, first = line;
  bool is_quoted = false;
  const auto end = [&](kinds kind) {
    items.push_back({kind, trim(part), first});
    part.clear();
    depth = 0;
  };
  for (const char c : text) {
    const bool is_empty = part.empty();
    if (c == '\n') ++line;
    if (c == '\n' && part.starts_with(".loc ")) {
      end(kinds::location);
    } else if (std::isspace(static_cast<unsigned char>(c))) {
      if (!is_empty) part += ' ';
    } else if (c == ';' && !is_quoted) {
      if (!is_empty) end(kinds::statement);
    } else if (is_empty && (c == '{' || c == '}')) {
      items.push_back({c == '{' ? kinds::opens : kinds::closes, "", line});
    } else if (c == ':' && depth == 0 && is_name(without_percent(trim(part)))) {
      end(kinds::label);
    } else {
      if (is_empty) first = line;
      if (c == '"') is_quoted = !is_quoted;
      if (c == '{' || c == '[') ++depth;
      if (c == '}' || c == ']') --depth;
      part += c;
    }
  }
  if (!trim(part).empty()) end(kinds::statement);
  return items;
}

std::string ptx_translator::run() {
  std::string text = without_ptx_comments(s_.text);
  for (size_t at = text.find("%="); at != std::string::npos; at = text.find("%="))
    text.replace(at, 2, std::to_string(s_.number));
  scopes_ = {scope{}};
  body(ptx_items(text, 1));
  std::string head;
  for (size_t i = 0; i < s_.operands.size(); ++i) {
    const ptx_operand& o = s_.operands[i];
    const bool written = o.constraint.find_first_of("=+") != std::string::npos;
    head += fmt::format(" [[maybe_unused]] {} simt_o{} = ({});", written ? "auto&&" : "auto", i, o.expression);
  }
  // A label needs a statement after it; a jump must not pass a declaration.
  return fmt::format("do {{ namespace ptx = ::simt::import::ptx;{}{}{} }} while (false)", head, registers_, code_);
}

std::string ptx_translator::function_body(const std::vector<ptx_item>& items) {
  declare_accumulators(items);
  body(items);
  return registers_ + code_;
}

void ptx_translator::body(const std::vector<ptx_item>& items) {
  open_scope(items);
  for (size_t k = 0; k < items.size(); ++k) {
    const ptx_item& one = items[k];
    if (one.kind == ptx_item::kinds::opens)
      open_scope(std::span(items).subspan(k + 1));
    else if (one.kind == ptx_item::kinds::closes && scopes_.size() > 1)
      scopes_.pop_back();
    else
      item(one);
    if (const size_t length = waiting_loop(std::span(items).subspan(k)); length > 0) {
      only_waits_ = true;
      item(items[k + 1]);
      only_waits_ = false;
      k += length - 1;
    }
  }
}

// L: try_wait P, ...; @!P bra L;   or   L: try_wait P, ...; @P bra M; bra L; M:
size_t ptx_translator::waiting_loop(std::span<const ptx_item> items) {
  using kinds = ptx_item::kinds;
  const auto text = [&](size_t k) {
    words parts = k < items.size() && items[k].kind == kinds::statement ? split_ptx(items[k].text, ' ') : words{};
    std::erase_if(parts, [](const std::string& part) { return part.empty(); });
    return fmt::format("{}", fmt::join(parts, " "));
  };
  const auto jumps = [&](size_t k, const std::string& when, const std::string& to) {
    return text(k) == fmt::format("{}bra {}", when, to) || text(k) == fmt::format("{}bra.uni {}", when, to);
  };
  const std::string wait = text(1);
  if (items[0].kind != kinds::label ||
      !(wait.starts_with("mbarrier.try_wait") || wait.starts_with("mbarrier.test_wait")))
    return 0;
  const size_t blank = wait.find(' '), comma = wait.find(',');
  if (comma == std::string::npos || blank > comma) return 0;
  const std::string result = trim(wait.substr(blank, comma - blank));
  if (jumps(2, fmt::format("@!{} ", result), items[0].text)) return 3;
  const bool leaves = items.size() > 4 && items[4].kind == kinds::label &&
                      jumps(2, fmt::format("@{} ", result), items[4].text) && jumps(3, "", items[0].text);
  return leaves ? 4 : 0;
}

bool ptx_translator::is_unread(const std::string& name) const {
  if (module_ != nullptr || find(&scope::names, without_percent(name)) == nullptr) return false;
  const std::string word = without_percent(name), text = without_ptx_comments(s_.text);
  const auto is_part = [&](size_t at) { return at < text.size() && is_name(std::string("a") + text[at]); };
  int times = 0;
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1))
    times += !is_part(at - 1) && !is_part(at + word.size());
  return times == 2;
}

// The labels of a scope are known from its start. `rest` begins after its bracket.
void ptx_translator::open_scope(std::span<const ptx_item> rest) {
  using kinds = ptx_item::kinds;
  scope& s = scopes_.emplace_back();
  int depth = 0;
  for (size_t k = 0; k < rest.size() && depth >= 0; ++k) {
    depth += rest[k].kind == kinds::opens ? 1 : rest[k].kind == kinds::closes ? -1 : 0;
    if (depth != 0 || rest[k].kind != kinds::label) continue;
    const std::string name = without_percent(rest[k].text);
    const bool is_list = k + 1 < rest.size() && rest[k + 1].text.starts_with(".branchtargets");
    if (is_list) targets_[name] = split_ptx(rest[k + 1].text.substr(14), ',');
    s.labels.try_emplace(name, is_list ? "" : unique(fmt::format("simt_l{}", s_.number), name));
  }
}

void ptx_translator::item(const ptx_item& one) {
  if (one.kind == ptx_item::kinds::location) return;
  if (module_ != nullptr) code_ += fmt::format("\n# {} \"{}\"\n", one.line, module_->file);
  if (one.kind == ptx_item::kinds::label) {
    if (const std::string* name = label(one.text)) code_ += fmt::format(" {}:;", *name);
  } else if (one.kind == ptx_item::kinds::statement) {
    statement(one.text);
  }
}

std::string ptx_translator::unique(const std::string& prefix, std::string name) {
  std::replace(name.begin(), name.end(), '$', '_');
  const int before = uses_[prefix + name]++;
  return before == 0 ? fmt::format("{}_{}", prefix, name) : fmt::format("{}x{}_{}", prefix, before + 1, name);
}

const std::string* ptx_translator::find(std::map<std::string, std::string> scope::*kind,
                                        const std::string& name) const {
  for (auto s = scopes_.rbegin(); s != scopes_.rend(); ++s)
    if (const auto at = ((*s).*kind).find(name); at != ((*s).*kind).end()) return &at->second;
  return nullptr;
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
    const std::string* known = find(&scope::names, name);
    return known != nullptr ? *known : special(name);
  }
  if (const std::string* known = find(&scope::names, text)) return *known;
  if (text == "WARP_SZ") return "32u";
  if (text.starts_with("0f") || text.starts_with("0F")) return fmt::format("ptx::get<float>(0x{}u)", text.substr(2));
  if (text.starts_with("0d") || text.starts_with("0D")) return fmt::format("ptx::get<double>(0x{}ull)", text.substr(2));
  const bool number = std::isdigit(static_cast<unsigned char>(text[0])) ||
                      (text[0] == '-' && text.size() > 1 && std::isdigit(static_cast<unsigned char>(text[1])));
  if (!number) return "";
  const bool valid = std::ranges::all_of(
      text, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '-' || c == '+'; });
  if (!valid) return "";
  const bool real = text.find('.') != std::string::npos;
  return real || text.back() == 'U' ? "(" + text + ")" : "(" + text + "ll)";
}

std::string ptx_translator::special(const std::string& name) {
  static const std::map<std::string_view, std::string_view> registers = {
      {"laneid", "::simt::emu::lane_index()"},
      {"warpid", "ptx::warp_slot()"},
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
      {"smid", "ptx::sm()"},
      {"nsmid", "ptx::sms()"},
      {"clock", "::clock64()"},
      {"clock64", "::clock64()"},
      {"globaltimer", "::clock64()"},
      {"globaltimer_lo", "static_cast<uint32_t>(::clock64())"},
      {"globaltimer_hi", "static_cast<uint32_t>(::clock64() >> 32)"},
      {"clock_hi", "static_cast<uint32_t>(::clock64() >> 32)"},
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
  if (v.empty() || std::string_view("(!:~").find(v[0]) != std::string_view::npos || v.starts_with("ptx")) ok_ = false;
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

std::string ptx_translator::box(const std::string& operand, size_t dimensions, bool is_im2col,
                                const std::string& offsets) {
  if (operand.size() < 3 || operand[0] != '[' || operand.back() != ']') return ok_ = false, "";
  const words parts = split_ptx(std::string_view(operand).substr(1, operand.size() - 2), ',');
  if (parts.size() != 2 || vector(parts[1]).size() != dimensions) return ok_ = false, "";
  if (!offsets.empty() && vector(offsets).size() != dimensions - 2) return ok_ = false, "";
  return fmt::format("reinterpret_cast<const ::simt::tensor_map*>({}), ::simt::tensor_place{{{}, {}, {}, {}}}",
                     as("uint64_t", parts[0]), dimensions, array("int32_t", parts[1]), is_im2col,
                     offsets.empty() ? "{}" : array("uint16_t", offsets));
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
  if (text.starts_with(".pragma") || text.starts_with(".branchtargets")) return;
  if (module_ != nullptr && text[0] == '.' && declare_variable(text)) return;
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
    if (!is_name(name) || count > 65536) return false;
    if (count < 0) declare_register(type, name);
    for (int n = 0; n < count; ++n) declare_register(type, name + std::to_string(n));
  }
  return true;
}

void ptx_translator::declare_register(const std::string& type, const std::string& name) {
  if (scopes_.back().names.contains(name)) return;
  if (const auto at = accumulators_.find(name); at != accumulators_.end()) {
    scopes_.back().names[name] = at->second;
    return;
  }
  const std::string variable = unique("simt_r", name);
  scopes_.back().names[name] = variable;
  registers_ += fmt::format(" {} {}{{}};", type, variable);
}

void ptx_translator::declare_accumulators(const std::vector<ptx_item>& items) {
  int arrays = 0;
  for (const ptx_item& one : items) {
    const size_t at = one.text.find("wgmma.mma_async"), open = one.text.find('{', at), close = one.text.find('}', at);
    if (at == std::string::npos || open == std::string::npos || close == std::string::npos) continue;
    const words list = split_ptx(std::string_view(one.text).substr(open + 1, close - open - 1), ',');
    if (accumulators_.contains(without_percent(list[0]))) continue;
    for (size_t k = 0; k < list.size(); ++k)
      accumulators_.try_emplace(without_percent(list[k]), fmt::format("simt_w{}[{}]", arrays, k));
    registers_ += fmt::format(" uint32_t simt_w{}[{}]{{}};", arrays++, list.size());
  }
}

bool ptx_translator::declare_variable(const std::string& text) {
  const ptx_variable v = parse_ptx_variable(text);
  if (v.name.empty() || v.count < 0 || !v.values.empty()) return false;
  const std::string name = unique("simt_v", v.name);
  const std::string array = fmt::format("alignas({}) unsigned char {}[{}];", v.align, name, v.bytes());
  if (v.space == "shared") {
    registers_ += fmt::format(" __shared__ {}", array);
    scopes_.back().names[v.name] = fmt::format("ptx::window_address(reinterpret_cast<uint64_t>(&{}[0]))", name);
  } else if (v.space == "local" || v.space == "param") {
    registers_ += " " + array;
    scopes_.back().names[v.name] = fmt::format("(&{}[0])", name);
  } else {
    return false;
  }
  return true;
}

// call (results), function, (parameters): each operand is the place of a parameter's bytes.
std::string ptx_translator::call(const instruction& i) {
  const auto& o = i.operands;
  const bool has_results = !o.empty() && o[0][0] == '(';
  const size_t at = has_results ? 1 : 0;
  if (o.size() <= at || o.size() > at + 2) return "";
  const auto places = [&](const std::string& list) {
    std::string all;
    for (const std::string& one : split_ptx(std::string_view(list).substr(1, list.size() - 2), ','))
      all += as("uintptr_t", one) + ", ";
    return all;
  };
  const std::string function = module_->function(o[at]);
  if (function.empty() || (o.size() == at + 2 && o[at + 1][0] != '(')) return "";
  return fmt::format("const uintptr_t simt_out[] = {{{}0}}, simt_in[] = {{{}0}}; {}(simt_out, simt_in);",
                     has_results ? places(o[0]) : "", o.size() == at + 2 ? places(o[at + 1]) : "", function);
}

// brx.idx index, list
std::string ptx_translator::indexed_branch(const instruction& i) {
  const auto list = i.operands.size() == 2 ? targets_.find(without_percent(i.operands[1])) : targets_.end();
  if (list == targets_.end()) return "";
  std::string code = fmt::format("switch ({}) {{", as("uint32_t", i.operands[0]));
  for (size_t k = 0; k < list->second.size(); ++k) {
    const std::string* name = label(list->second[k]);
    if (name == nullptr) return "";
    code += fmt::format(" case {}: goto {};", k, *name);
  }
  return code + " }";
}

std::string translate_ptx(const ptx_statement& statement) { return ptx_translator(statement).run(); }

}  // namespace warpcheck::cli
