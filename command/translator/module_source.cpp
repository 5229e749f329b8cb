#include "command/translator/module_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>

namespace warpcheck::cli {
namespace {

// The value of an option that is written as "-DX", "-D X", "--define-macro=X" or "--define-macro X".
std::optional<std::string> value_of(const std::vector<std::string>& options, size_t& at, const char* brief,
                                    const char* whole) {
  const std::string& o = options[at];
  const std::string with_sign = std::string(whole) + "=";
  if (o.starts_with(with_sign)) return o.substr(with_sign.size());
  if ((o == brief || o == whole) && at + 1 < options.size()) return options[++at];
  if (o.starts_with(brief) && o[1] != '-' && o.size() > std::string_view(brief).size())
    return o.substr(std::string_view(brief).size());
  return std::nullopt;
}

// Follows the braces of code without comments.
class brace_depth {
 public:
  void add(std::string_view line) {
    for (size_t i = 0; i < line.size(); ++i) {
      const char c = line[i];
      if (quote_ != 0) {
        if (c == '\\')
          ++i;
        else if (c == quote_)
          quote_ = 0;
        continue;
      }
      const bool separates_digits = c == '\'' && i > 0 && std::isalnum(static_cast<unsigned char>(line[i - 1]));
      if (c == '"' || (c == '\'' && !separates_digits)) quote_ = c;
      depth_ += c == '{' ? 1 : c == '}' ? -1 : 0;
    }
    quote_ = 0;  // a literal ends on its line
  }
  bool is_zero() const { return depth_ == 0; }

 private:
  int depth_ = 0;
  char quote_ = 0;
};

// The file that a line marker `# 12 "name" flags` names; nothing for other lines.
std::optional<std::string> marked_file(std::string_view line) {
  if (!line.starts_with("# ") || line.size() < 3 || !std::isdigit(static_cast<unsigned char>(line[2])))
    return std::nullopt;
  const size_t open = line.find('"'), close = line.find('"', open + 1);
  return close == std::string_view::npos ? std::nullopt
                                         : std::optional(std::string(line.substr(open + 1, close - open - 1)));
}

// `extern "C"` has no meaning in an unnamed namespace, but would give the name to all modules.
std::string without_c_linkage(std::string_view line) {
  std::string text(line);
  for (size_t at = 0; (at = text.find("extern \"C\"", at)) != std::string::npos;) {
    const size_t after = text.find_first_not_of(' ', at + 10);
    text.replace(at, 10, after != std::string::npos && text[after] == '{' ? "inline namespace simt_c" : "");
  }
  return text;
}

}  // namespace

module_source read_module_source(std::string_view fields) {
  module_source m;
  for (size_t at = fields.find('\x1f'); at < fields.size();) {
    const size_t end = std::min(fields.find('\x1f', at + 1), fields.size());
    const char kind = fields[at + 1];
    const std::string value(fields.substr(at + 2, end - at - 2));
    switch (kind) {
      case 'p':
      case 'c':
        m.is_ptx = kind == 'p';
        m.text = value;
        break;
      case 'n':
        m.name = value;
        std::replace_if(
            m.name.begin(), m.name.end(), [](char c) { return c == '"' || c == '\\' || c == '\n'; }, '_');
        break;
      case 'k': m.key = value; break;
      case 'o': m.options.push_back(value); break;
      case 'e': m.expressions.push_back(value); break;
      case 'h': m.headers.emplace_back(value, ""); break;
      default: m.headers.back().second = value;
    }
    at = end;
  }
  return m;
}

nvrtc_settings settings_of(const module_source& m) {
  nvrtc_settings s;
  s.defines.push_back("__CUDACC_RTC__");
  for (size_t i = 0; i < m.options.size(); ++i) {
    if (const auto d = value_of(m.options, i, "-D", "--define-macro")) {
      s.defines.push_back(*d);
    } else if (const auto folder = value_of(m.options, i, "-I", "--include-path")) {
      s.includes.push_back(*folder);
    } else if (const auto gpu = value_of(m.options, i, "-arch", "--gpu-architecture")) {
      if (gpu->find("_9") != std::string::npos) s.defines.push_back("__CUDA_ARCH__=900");
    }
  }
  return s;
}

std::string isolated(std::string_view preprocessed, const module_source& m, const std::string& own_folder) {
  std::string out;
  brace_depth braces;
  bool is_open = false, is_own = false;
  for (size_t at = 0; at < preprocessed.size();) {
    const size_t end = std::min(preprocessed.find('\n', at), preprocessed.size());
    const std::string_view line = preprocessed.substr(at, end - at);
    at = end + 1;
    if (const auto file = marked_file(line)) {
      is_own = *file == m.name || file->starts_with(own_folder);
      if (is_own != is_open && braces.is_zero()) {
        out += is_own ? "namespace {\n" : "}\n";
        is_open = is_own;
      }
      out += line;
    } else if (is_own) {
      braces.add(line);
      out += without_c_linkage(line);
    } else {
      out += line;
    }
    out += '\n';
  }
  return out + (is_open ? "}\n" : "");
}

std::string registration_of(const module_source& m, const std::vector<std::string>& kernels,
                            const std::vector<std::pair<std::string, std::string>>& variables) {
  std::vector<std::string> names = kernels;
  for (const std::string& e : m.expressions)
    if (std::ranges::find(names, e) == names.end()) names.push_back(e);
  std::string list, more;
  for (const std::string& name : names) list += fmt::format("::simt::import::kernel_of_module(\"{0}\", &{0}), ", name);
  for (const auto& [scope, name] : variables)
    more += fmt::format("::simt::import::variable_of_module(\"{0}{1}\", {0}{1}, {0}simt_initial_{1}), ", scope, name);
  return fmt::format(
      "\n# 1 \"warpcheck\"\nstatic const ::simt::import::module_registration simt_this_module({{\"{}\", {{{}}}, "
      "{{{}}}}});\n",
      m.key, list, more);
}

}  // namespace warpcheck::cli
