#include "command/translator/ptx_module.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>
#include <utility>

#include "properties/engine/error.hpp"

namespace warpcheck::cli {
namespace {

using engine::usage_error;

// Sizes of fundamental types (PTX ISA 9.0, section 5.2).
const std::map<std::string_view, size_t> k_type_bytes = {
    {"b8", 1},  {"u8", 1},  {"s8", 1},  {"b16", 2},   {"u16", 2},    {"s16", 2}, {"f16", 2}, {"bf16", 2}, {"b32", 4},
    {"u32", 4}, {"s32", 4}, {"f32", 4}, {"f16x2", 4}, {"bf16x2", 4}, {"b64", 8}, {"u64", 8}, {"s64", 8},  {"f64", 8}};
// Larger variables and parameters than a GPU has room for are mistakes.
constexpr long k_most_elements = 1L << 31;

bool is_part_of_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$' || c == '%'; }
bool is_ptx_name(std::string_view s) {
  return !s.empty() && !std::isdigit(static_cast<unsigned char>(s[0])) && std::ranges::all_of(s, is_part_of_name);
}
bool is_blank(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

std::optional<long> number_in(std::string_view s) {
  long n = 0;
  const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), n);
  if (error != std::errc{} || end != s.data() + s.size() || n < 0) return std::nullopt;
  return n;
}

words split_at_blanks(std::string_view text) {
  words list;
  std::string one;
  for (const char c : text) {
    if (!is_blank(c)) {
      one += c;
    } else if (!one.empty()) {
      list.push_back(std::move(one));
      one.clear();
    }
  }
  if (!one.empty()) list.push_back(one);
  return list;
}

// FILE:LINE of ".loc 1 57 3", and of ".loc 3 107 10, function_name NAME, inlined_at 1 57 3" that of the call.
std::string origin_of(const std::string& location, const std::map<int, std::string>& sources) {
  const words list = split_at_blanks(location);
  const auto inlined = std::ranges::find(list, "inlined_at");
  const auto place = inlined == list.end() ? list.begin() + 1 : inlined + 1;
  if (list.end() - place < 2) return "";
  const auto at = sources.find(static_cast<int>(number_in(*place).value_or(-1)));
  return at == sources.end() ? "" : fmt::format("{}:{}", at->second.substr(at->second.rfind('/') + 1), *(place + 1));
}

class parser {
 public:
  parser(std::string_view text, const std::string& file) : text_(without_ptx_comments(text)) { module_.file = file; }

  ptx_module run() {
    for (skip_blanks(); at_ < text_.size(); skip_blanks()) directive();
    if (!has_version_) fail(1, "the module has no .version; a PTX module begins with .version, .target, .address_size");
    return std::move(module_);
  }

 private:
  [[noreturn]] void fail(int line, const std::string& problem) const {
    throw usage_error(fmt::format("{}:{}: {}", module_.file, line, problem));
  }

  void advance(size_t to) {
    to = std::min(to, text_.size());
    line_ += static_cast<int>(
        std::count(text_.begin() + static_cast<long>(at_), text_.begin() + static_cast<long>(to), '\n'));
    at_ = to;
  }
  void skip_blanks() {
    size_t to = at_;
    while (to < text_.size() && is_blank(text_[to])) ++to;
    advance(to);
  }
  // Takes text up to one of `ends`, which is not taken.
  std::string take_until(const char* ends, const char* what) {
    const size_t end = text_.find_first_of(ends, at_);
    if (end == std::string::npos) fail(line_, fmt::format("{} has no end", what));
    const std::string taken = text_.substr(at_, end - at_);
    advance(end);
    return taken;
  }
  std::string word() {
    skip_blanks();
    size_t to = at_;
    while (to < text_.size() && (is_part_of_name(text_[to]) || (text_[to] == '.' && to == at_))) ++to;
    const std::string taken = text_.substr(at_, to - at_);
    advance(to);
    return taken;
  }
  bool next_is(char c) {
    skip_blanks();
    return at_ < text_.size() && text_[at_] == c;
  }
  // Returns the position after the bracket that closes the one here.
  size_t closing(char open, char close, const char* what) {
    int depth = 0;
    bool is_quoted = false;
    for (size_t k = at_; k < text_.size(); ++k) {
      if (text_[k] == '"') is_quoted = !is_quoted;
      if (is_quoted) continue;
      if (text_[k] == open) ++depth;
      if (text_[k] == close && --depth == 0) return k + 1;
    }
    fail(line_, fmt::format("the '{}' of {} is not closed", open, what));
  }

  void directive() {
    const int line = line_;
    const size_t begin = at_;
    const std::string name = word();
    if (name == ".version" || name == ".target" || name == ".address_size") return setting(name, line);
    if (!has_version_)
      fail(line, fmt::format("'{}' comes before .version, with which a PTX module begins", shown(begin)));
    if (name == ".file") return source_file(line);
    if (name == ".section") return section();
    if (name == ".visible" || name == ".weak" || name == ".common") return;  // of the next directive
    if (name == ".extern") return void(is_extern_ = true);
    if (name == ".pragma" || name == ".alias") {
      take_until(";", "the directive");
      return advance(at_ + 1);
    }
    if (name == ".entry" || name == ".func") return function(name == ".entry", line);
    if (name == ".global" || name == ".const" || name == ".shared") return variable(begin, line);
    fail(line, fmt::format("'{}' is no directive of a module that is modelled; these are .entry, .func, .global, "
                           ".const, .shared, .file and .section",
                           shown(begin)));
  }
  std::string shown(size_t begin) const {
    return text_.substr(begin, std::min(text_.find_first_of(" \t\n", begin + 1), begin + 40) - begin);
  }

  void setting(const std::string& name, int line) {
    const size_t end = std::min(text_.find('\n', at_), text_.size());
    const words values = split_ptx(std::string_view(text_).substr(at_, end - at_), ',');
    advance(end);
    if (values.empty()) fail(line, fmt::format("{} has no value", name));
    if (name == ".version") has_version_ = true;
    if (name == ".address_size" && values[0] != "64")
      fail(line, fmt::format(".address_size is '{}', must be 64", values[0]));
  }

  // .file 1 "path"[, time, size]
  void source_file(int line) {
    const size_t end = std::min(text_.find('\n', at_), text_.size());
    const std::string rest = text_.substr(at_, end - at_);
    advance(end);
    const size_t open = rest.find('"'), close = rest.find('"', open + 1);
    const words before = split_at_blanks(std::string_view(rest).substr(0, std::min(open, rest.size())));
    if (close == std::string::npos || before.size() != 1 || !number_in(before[0]))
      fail(line, ".file is not a number and a name in quotes");
    module_.sources[static_cast<int>(*number_in(before[0]))] = rest.substr(open + 1, close - open - 1);
  }

  void section() {
    take_until("{", "the section");
    advance(closing('{', '}', "the section"));
  }

  void variable(size_t begin, int line) {
    at_ = begin;
    line_ = line;
    ptx_variable v = parse_ptx_variable(take_until(";", "the variable"));
    advance(at_ + 1);
    if (v.name.empty()) fail(line, "the variable is not .SPACE [.align N] .TYPE NAME[SIZE] [= VALUES]");
    v.is_extern = std::exchange(is_extern_, false);
    v.line = line;
    if (v.count < 0 && v.space != "shared") fail(line, fmt::format("'{}' has no size", v.name));
    module_.variables.push_back(v);
  }

  std::vector<ptx_variable> parameters(const char* what) {
    const int line = line_;
    const size_t end = closing('(', ')', what);
    std::vector<ptx_variable> list;
    size_t offset = 0;
    for (const std::string& one : split_ptx(std::string_view(text_).substr(at_ + 1, end - at_ - 2), ',')) {
      ptx_variable v = parse_ptx_variable(one);
      if (v.name.empty() || v.space != "param" || v.count < 0 || !v.values.empty())
        fail(line, fmt::format("{} '{}' is not .param [.align N] .TYPE NAME", what, one));
      v.offset = (offset + v.align - 1) / v.align * v.align;
      offset = v.offset + v.bytes();
      list.push_back(v);
    }
    advance(end);
    return list;
  }

  void function(bool is_kernel, int line) {
    ptx_function f;
    f.is_kernel = is_kernel;
    f.line = line;
    if (next_is('(')) f.results = parameters("a result");
    f.name = word();
    if (!is_ptx_name(f.name)) fail(line, "the function has no name");
    if (next_is('(')) f.parameters = parameters("a parameter");
    const bool is_declared_only = is_extern_;
    is_extern_ = false;
    while (!next_is('{') && !next_is(';')) attribute(f);
    if (text_[at_] == ';' || is_declared_only) return advance(at_ + 1);
    const size_t end = closing('{', '}', "the function");
    f.body = ptx_items(std::string_view(text_).substr(at_ + 1, end - at_ - 2), line_);
    advance(end);
    module_.functions.push_back(std::move(f));
  }

  // Reads .reqntid 128, 1, 1 and similar attributes, between the parameters and the body.
  void attribute(ptx_function& f) {
    const int line = line_;
    const std::string name = word();
    if (name.empty() || name[0] != '.')
      fail(line,
           fmt::format("'{}' follows the head of function '{}', where only directives, '{{' and ';' may",
                       at_ < text_.size() ? text_.substr(at_ - name.size(), name.size() + 1) : "the end of the file",
                       f.name));
    std::array<unsigned, 3> values = {1, 1, 1};
    for (size_t k = 0; k < 3; ++k) {
      skip_blanks();
      size_t to = at_;
      while (to < text_.size() && std::isdigit(static_cast<unsigned char>(text_[to]))) ++to;
      if (to == at_) break;
      values[k] = static_cast<unsigned>(number_in(text_.substr(at_, to - at_)).value_or(0));
      advance(to);
      if (!next_is(',')) break;
      advance(at_ + 1);
    }
    if (name == ".reqntid") f.required_block = values;
    if (name == ".maxntid") f.largest_block = values;
    if (name == ".reqnctapercluster") f.cluster = values;
  }

  const std::string text_;
  size_t at_ = 0;
  int line_ = 1;
  bool has_version_ = false, is_extern_ = false;
  ptx_module module_;
};

}  // namespace

size_t ptx_variable::element_bytes() const { return k_type_bytes.at(type); }

ptx_variable parse_ptx_variable(std::string_view text) {
  ptx_variable v;
  const size_t equals = text.find('=');
  if (equals != std::string_view::npos) {
    v.values = std::string(text.substr(equals + 1));
    text = text.substr(0, equals);
  }
  const words list = split_at_blanks(text);
  if (list.size() < 3 || list[0][0] != '.') return {};
  v.space = list[0].substr(1);
  size_t k = 1;
  size_t align = 0;
  for (; k < list.size() && list[k][0] == '.'; ++k) {
    const std::string part = list[k].substr(1);
    if (part == "align" && k + 1 < list.size()) {
      const std::optional<long> n = number_in(list[++k]);
      if (!n || *n < 1 || *n > 4096 || (*n & (*n - 1)) != 0) return {};
      if (v.type.empty() || align == 0) align = static_cast<size_t>(*n);
    } else if (k_type_bytes.contains(part)) {
      v.type = part;
    } else if (part == "ptr") {  // of the memory that a pointer points to: its space and alignment
      for (; k + 1 < list.size() && list[k + 1][0] == '.'; ++k)
        if (list[k + 1] == ".align") ++k;
    } else if (part != "attribute" && part != "managed") {
      return {};
    }
  }
  if (v.type.empty() || k + 1 != list.size()) return {};
  std::string name = list[k];
  for (size_t open = name.find('['); open != std::string::npos; open = name.find('[')) {
    const size_t close = name.find(']', open);
    if (close == std::string::npos) return {};
    const std::string size = name.substr(open + 1, close - open - 1);
    const std::optional<long> n = size.empty() ? std::optional<long>(-1) : number_in(size);
    if (!n || *n == 0 || *n > k_most_elements || v.count > k_most_elements) return {};
    v.count = v.count == 0 ? *n : v.count * *n;
    name.erase(open, close + 1 - open);
  }
  if (!is_ptx_name(name)) return {};
  v.align = std::max(align, v.element_bytes());
  v.name = name;
  return v;
}

size_t ptx_function::parameter_bytes() const {
  return parameters.empty() ? 0 : parameters.back().offset + parameters.back().bytes();
}

std::map<int, std::string> ptx_module::origins() const {
  std::map<int, std::string> lines;
  for (const ptx_function& f : functions) {
    std::string origin;
    for (const ptx_item& item : f.body) {
      if (item.kind == ptx_item::kinds::location) {
        origin = origin_of(item.text, sources);
      } else if (!origin.empty()) {
        lines[item.line] = origin;
      }
    }
  }
  return lines;
}

bool is_ptx_source(std::string_view file) { return file.ends_with(".ptx"); }

ptx_module parse_ptx(std::string_view text, const std::string& file) { return parser(text, file).run(); }

}  // namespace warpcheck::cli
