#include "ci/warpcheck/importer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "ci/warpcheck/cuda_tokens.hpp"

namespace warpcheck::cli {
namespace {

constexpr size_t k_none = ~size_t{0};

// What a brace opens.
enum class scope : uint8_t { file, type, code };

struct refused {
  std::string_view name;
  std::string_view allowed;
  bool is_template = false;  // another identifier of the name is anybody's
};
// Identifiers that mean something the emulated device does not have.
constexpr refused k_refused[] = {
    {"asm", "CUDA C++ intrinsics instead of inline PTX"},
    {"__asm__", "CUDA C++ intrinsics instead of inline PTX"},
    {"__asm", "CUDA C++ intrinsics instead of inline PTX"},
    {"texture", "plain loads instead of textures", true},
    {"surface", "plain loads and stores instead of surfaces", true},
    {"cudaTextureObject_t", "plain loads instead of textures"},
    {"cudaSurfaceObject_t", "plain loads and stores instead of surfaces"},
    {"nvcuda", "scalar arithmetic instead of wmma fragments"},
    {"cudaGraph_t", "launches on a stream instead of graphs"},
    {"cudaLaunchKernel", "the launch syntax kernel<<<grid, block, bytes, stream>>>(arguments)"},
    {"cudaLaunchKernelExC", "cudaLaunchKernelEx"},
    {"cuLaunchKernel", "the launch syntax kernel<<<grid, block, bytes, stream>>>(arguments)"},
    {"__cluster_dims__", "cudaLaunchKernelEx with cudaLaunchAttributeClusterDimension"},
};

struct edit {
  size_t begin, end;  // of the text
  std::string replacement;
};

struct kernel_info {
  bool is_template = false;
  bool overloaded = false;
  std::string parameters;
};

class rewriter {
 public:
  rewriter(std::string_view text, std::string_view file) : t_(tokenize_cuda(text, file)) {}

  imported_source run() {
    match_brackets();
    if (result_.errors.empty()) classify_braces();
    if (result_.errors.empty()) find_functions();
    for (size_t i = 0; i < t_.size() && result_.errors.empty(); ++i) visit(i);
    if (result_.errors.empty()) result_.text = apply_edits();
    return std::move(result_);
  }

 private:
  bool is(size_t i, std::string_view s) const { return t_.is(i, s); }
  bool opens(size_t i) const { return is(i, "(") || is(i, "[") || is(i, "{"); }
  bool closes(size_t i) const { return is(i, ")") || is(i, "]") || is(i, "}"); }

  void fail(size_t i, std::string construct, std::string allowed) {
    const cuda_token& at = t_.tokens[std::min(i, t_.size() - 1)];
    result_.errors.push_back(
        {t_.files[static_cast<size_t>(at.file)], at.line, std::move(construct), std::move(allowed)});
  }

  void match_brackets() {
    match_.assign(t_.size(), k_none);
    std::vector<size_t> open;
    for (size_t i = 0; i < t_.size(); ++i) {
      if (t_.tokens[i].kind != token_kind::punctuation) continue;
      if (opens(i)) open.push_back(i);
      if (!closes(i)) continue;
      const std::string_view wanted = is(i, ")") ? "(" : is(i, "]") ? "[" : "{";
      if (open.empty() || !is(open.back(), wanted))
        return fail(i, fmt::format("'{}' without its '{}'", t_.text(i), wanted), "balanced brackets");
      match_[i] = open.back();
      match_[open.back()] = i;
      open.pop_back();
    }
    if (!open.empty())
      fail(open.back(), fmt::format("'{}' that nothing closes", t_.text(open.back())), "balanced brackets");
  }

  // The first token of the statement or declaration that token i belongs to.
  size_t statement_start(size_t i) const {
    while (i > 0) {
      const size_t before = i - 1;
      if (is(before, ";") || is(before, "{") || is(before, "}")) break;
      i = is(before, ")") || is(before, "]") ? match_[before] : before;
    }
    return i;
  }

  // Past a template header `template <...>` at i; i itself where there is none.
  size_t skip_template_header(size_t i) const {
    while (is(i, "template") && is(i + 1, "<")) {
      int depth = 0;
      for (++i; i < t_.size(); ++i) {
        if (opens(i))
          i = match_[i];
        else if (is(i, "<"))
          ++depth;
        else if (is(i, ">") && --depth == 0)
          break;
      }
      ++i;
    }
    return i;
  }

  scope opened_by(size_t brace, scope outside) const {
    if (outside == scope::code) return scope::code;
    const size_t start = skip_template_header(statement_start(brace));
    bool names_type = false, names_space = false, literal = false, assigned = false;
    for (size_t i = start; i < brace; ++i) {
      if (is(i, "(")) i = match_[i];
      names_type |= is(i, "class") || is(i, "struct") || is(i, "union") || is(i, "enum");
      names_space |= is(i, "namespace");
      literal |= t_.tokens[i].kind == token_kind::literal;
      assigned |= is(i, "=");
    }
    if (names_space || (is(start, "extern") && literal && brace == start + 2)) return scope::file;
    const bool ends_like_function = brace > start && is(brace - 1, ")") && !is_attribute_group(brace - 1);
    if (names_type && !assigned && !ends_like_function) return scope::type;
    return scope::code;
  }

  // True for the ")" of alignas(...), __attribute__((...)) and the like.
  bool is_attribute_group(size_t close) const {
    const size_t open = match_[close];
    constexpr std::string_view names[] = {"alignas",  "__attribute__", "__align__",        "decltype",
                                          "declspec", "__declspec",    "__launch_bounds__"};
    return open > 0 && std::find(std::begin(names), std::end(names), t_.text(open - 1)) != std::end(names);
  }

  void classify_braces() {
    scope_.assign(t_.size(), scope::file);
    std::vector<scope> stack = {scope::file};
    for (size_t i = 0; i < t_.size(); ++i) {
      if (is(i, "}")) stack.pop_back();
      scope_[i] = stack.back();
      if (is(i, "{")) stack.push_back(opened_by(i, stack.back()));
    }
  }

  // The "(" of the parameter list of the function declared from `start`, or k_none for anything else.
  size_t parameter_list(size_t start) const {
    for (size_t i = start; i < t_.size(); ++i) {
      if (is(i, ";") || is(i, "{") || is(i, "=")) return k_none;
      if (is(i, "operator")) {
        while (!is(i, "(")) ++i;
        return is(i + 1, ")") && is(i + 2, "(") ? i + 2 : i;
      }
      if (is(i, "[")) i = match_[i];
      if (!is(i, "(")) continue;
      if (!is_attribute_group(match_[i])) return i;
      i = match_[i];
    }
    return k_none;
  }

  // Kernels, the bodies that run on the device, and main().
  void find_functions() {
    device_code_.assign(t_.size(), false);
    for (size_t i = 0; i < t_.size(); ++i) {
      if (scope_[i] == scope::file && t_.tokens[i].file == 0 && t_.is_identifier(i) && is(i + 1, "(") &&
          is(match_[i + 1] + 1, "{"))
        result_.functions.emplace_back(t_.text(i));
      if (is(i, "main") && is(i + 1, "(") && scope_[i] == scope::file && is(match_[i + 1] + 1, "{"))
        result_.has_main = true;
      if (!is(i, "__global__") && !is(i, "__device__")) continue;
      if (scope_[i] == scope::code) continue;
      const size_t start = statement_start(i), plain = skip_template_header(start);
      const size_t open = parameter_list(plain);
      if (open == k_none) continue;
      bool also_host = false;
      for (size_t k = plain; k < open; ++k) also_host |= is(k, "__host__");
      if (is(i, "__global__")) note_kernel(open, plain != start);
      size_t body = match_[open] + 1;
      while (body < t_.size() && !is(body, "{") && !is(body, ";")) ++body;
      if (!is(body, "{") || also_host) continue;
      std::fill(device_code_.begin() + static_cast<long>(body), device_code_.begin() + static_cast<long>(match_[body]),
                true);
    }
  }

  void note_kernel(size_t open, bool is_template) {
    const std::string name(t_.text(open - 1));
    std::string parameters;
    // Names of parameters may differ between declarations; their number of commas and types' first words may not.
    for (size_t k = open + 1; k < match_[open]; ++k)
      if (!(t_.is_identifier(k) && (is(k + 1, ",") || is(k + 1, ")")) && k > open + 1)) {
        parameters += t_.text(k);
        parameters += ' ';
      }
    const auto [at, added] = kernels_.try_emplace(name);
    if (added) {
      at->second = {is_template, false, parameters};
      result_.kernels.push_back(name);
    } else {
      at->second.overloaded |= at->second.parameters != parameters;
      at->second.is_template |= is_template;
    }
  }

  void visit(size_t i) {
    if (is(i, "<") && is(i + 1, "<") && is(i + 2, "<") && !is(i - 1, "<")) return rewrite_launch(i);
    if (!t_.is_identifier(i)) return;
    const std::string_view word = t_.text(i);
    if (word == "__shared__") return rewrite_shared(i);
    if (word == "__device__" || word == "__constant__" || word == "__managed__") return rewrite_device_entity(i);
    if (word == "__host__" || word == "__global__") return replace(i, i + 1, "");
    if (word == "__noinline__" && !is(i - 1, "(")) return replace(i, i + 1, "__attribute__((noinline))");
    if (word == "cudaLaunchCooperativeKernel" && is(i + 1, "(")) return drop_cast_to_void(i + 2);
    if (is(i - 1, ".") || is(i - 1, "::")) return;
    const bool is_asm_label = word.find("asm") != std::string_view::npos && scope_[i] == scope::file;
    for (const refused& r : k_refused)
      if (word == r.name && !is_asm_label && (!r.is_template || is(i + 1, "<")))
        return fail(i, std::string(word), std::string(r.allowed));
  }

  // `(void*)kernel` and `reinterpret_cast<void*>(kernel)` become the kernel's name: its type says what the launch's
  // arguments are.
  void drop_cast_to_void(size_t i) {
    const bool c_style = is(i, "(");
    if (!c_style && !(is(i, "reinterpret_cast") && is(i + 1, "<"))) return;
    size_t k = c_style ? i + 1 : i + 2;
    if (is(k, "const")) ++k;
    if (!is(k++, "void")) return;
    if (is(k, "const")) ++k;
    if (is(k, "*") && is(k + 1, c_style ? ")" : ">")) replace(i, k + 2, "");
  }

  // Replaces tokens [first, last); where lines go with them, a marker restores the count.
  void replace(size_t first, size_t last, std::string replacement) {
    const size_t begin = t_.tokens[first].begin, end = t_.tokens[last - 1].end;
    if (t_.source.substr(begin, end - begin).find('\n') != std::string_view::npos) {
      const cuda_token& end_token = t_.tokens[last - 1];
      replacement += fmt::format("\n# {} \"{}\"\n", end_token.line, t_.files[static_cast<size_t>(end_token.file)]);
    }
    edits_.push_back({begin, end, std::move(replacement)});
  }

  // ---- launches

  // The first token of the expression that ends at `last` and names what is launched, or k_none.
  size_t callee_start(size_t last) const {
    size_t i = last;
    if (is(i, ")")) return match_[i];
    if (is(i, ">")) {
      int depth = 0;
      for (;; --i) {
        if (closes(i))
          i = match_[i];
        else if (is(i, ">") && !is(i - 1, "-"))
          ++depth;
        else if (is(i, "<") && --depth == 0)
          break;
        else if (is(i, ";") || i == 0)
          return k_none;
      }
      --i;
    }
    if (!t_.is_identifier(i)) return k_none;
    while (i >= 2 && is(i - 1, "::")) {
      if (is(i - 2, ">")) {
        const size_t owner = callee_start(i - 2);
        return owner == k_none ? k_none : owner;
      }
      if (!t_.is_identifier(i - 2) || is(i - 2, "return")) return i - 1;
      i -= 2;
    }
    return i >= 1 && is(i - 1, "::") ? i - 1 : i;
  }

  void rewrite_launch(size_t i) {
    const size_t begin = i == 0 ? k_none : callee_start(i - 1);
    if (begin == k_none) return fail(i, "<<<", "a kernel's name before the launch: kernel<<<grid, block>>>(arguments)");
    const std::string name(t_.text(i - 1));
    if (device_code_[i])
      return fail(i, fmt::format("launch of {} from device code", name), "launches from host code only");
    size_t close = i + 3, commas = 0;
    for (; close < t_.size() && !is(close, ";"); ++close) {
      if (opens(close))
        close = match_[close];
      else if (is(close, ","))
        ++commas;
      else if (is(close, ">") && is(close + 1, ">") && is(close + 2, ">"))
        break;
    }
    if (!is(close, ">") || !is(close + 3, "("))
      return fail(i, "<<< without >>>(", "the whole launch in one statement: kernel<<<grid, block>>>(arguments)");
    if (commas < 1 || commas > 3)
      return fail(i, fmt::format("a launch configuration of {} values", commas + 1),
                  "2 to 4 values: grid, block, bytes of dynamic shared memory, stream");
    const auto known = kernels_.find(name);
    const bool simple =
        !is(i - 1, ">") && (known == kernels_.end() || (!known->second.is_template && !known->second.overloaded));
    edits_.push_back({t_.tokens[begin].begin, t_.tokens[begin].begin,
                      simple ? "::simt::import::kernel(" : "::simt::import::callable([&](auto... simt_a) { "});
    edits_.push_back({t_.tokens[i].begin, t_.tokens[i + 2].end, simple ? ").at(" : "(simt_a...); }).at("});
    edits_.push_back({t_.tokens[close].begin, t_.tokens[close + 2].end, ")"});
    // A generic call cannot turn the old null constant into a pointer; a keyword can.
    const size_t open = close + 3;
    for (size_t k = open + 1; k < match_[open]; k = opens(k) ? match_[k] : k + 1)
      if (is(k, "__null") && (is(k - 1, "(") || is(k - 1, ",")) && (is(k + 1, ")") || is(k + 1, ",")))
        replace(k, k + 1, "nullptr");
  }

  // ---- variables

  struct declarator {
    std::string type;  // without the declarator's own brackets
    std::string name;
    std::string extents;  // "[32][33]" or empty
    size_t name_token = 0;
    bool initialised = false;
  };
  struct declaration {
    std::string alignment = "1";
    bool is_extern = false, is_const = false;
    std::vector<declarator> declarators;
    size_t end = 0;  // the ";"
  };

  std::string join(size_t first, size_t last) const {
    std::string text;
    for (size_t i = first; i < last; ++i) {
      if (!text.empty()) text += ' ';
      text += t_.text(i);
    }
    return text;
  }

  // The variable declaration that starts at `start`. Fails, naming `what`, where it is no plain one.
  std::optional<declaration> parse_declaration(size_t start, const std::string& what, const std::string& allowed) {
    declaration d;
    size_t i = start;
    std::string base;
    const auto refuse = [&](size_t at) {
      fail(at, what, allowed);
      return std::nullopt;
    };
    for (;;) {  // one declarator each
      int angle = 0;
      std::vector<size_t> words;
      size_t after = k_none;
      for (; i < t_.size(); ++i) {
        if (is(i, "__shared__") || is(i, "__device__") || is(i, "__constant__") || is(i, "__managed__") ||
            is(i, "static") || is(i, "inline"))
          continue;
        if (is(i, "extern")) {
          d.is_extern = true;
          continue;
        }
        if ((is(i, "__attribute__") || is(i, "alignas") || is(i, "__align__")) && is(i + 1, "(")) {
          const size_t close = match_[i + 1];
          size_t from = i + 1;
          while (from < close && is(i, "__attribute__") && !is(from - 1, "aligned")) ++from;
          if (from < close) d.alignment = join(from, match_[from] + 1);
          i = close;
          continue;
        }
        if (angle == 0 && (is(i, "[") || is(i, "=") || is(i, ",") || is(i, ";"))) {
          after = i;
          break;
        }
        if (is(i, "{") || (angle == 0 && is(i, "("))) {
          if (words.empty() || !t_.is_identifier(words.back()) || is(i, "(")) return refuse(i);
          const size_t first = words.front();
          if (is(first, "struct") || is(first, "union") || is(first, "class") || is(first, "enum"))
            return refuse(first);
          after = i;
          break;
        }
        if (is(i, "<")) ++angle;
        if (is(i, ">")) --angle;
        if (opens(i)) {
          for (const size_t close = match_[i]; i < close; ++i) words.push_back(i);
        }
        words.push_back(i);
      }
      if (after == k_none || words.empty() || !t_.is_identifier(words.back()))
        return refuse(std::min(i, t_.size() - 1));
      declarator one;
      one.name_token = words.back();
      one.name = t_.text(words.back());
      words.pop_back();
      for (const size_t w : words) {
        d.is_const |= is(w, "const") || is(w, "constexpr") || is(w, "__constexpr");
        one.type += (one.type.empty() ? "" : " ") + std::string(t_.text(w));
      }
      if (d.declarators.empty()) {
        if (one.type.empty()) return refuse(one.name_token);
        base = one.type;
        while (!base.empty() && (base.back() == '*' || base.back() == ' ' || base.back() == '&')) base.pop_back();
      } else {
        one.type = base + " " + one.type;
      }
      i = after;
      while (is(i, "[")) {
        one.extents += join(i, match_[i] + 1);
        i = match_[i] + 1;
      }
      if (is(i, "=") || is(i, "{")) {
        one.initialised = true;
        while (i < t_.size() && !is(i, ",") && !is(i, ";")) i = opens(i) ? match_[i] + 1 : i + 1;
      }
      d.declarators.push_back(one);
      if (is(i, ";")) break;
      if (!is(i, ",")) return refuse(std::min(i, t_.size() - 1));
      ++i;
    }
    d.end = i;
    return d;
  }

  void rewrite_shared(size_t i) {
    const size_t start = statement_start(i);
    if (start < done_until_) return;
    const std::string allowed =
        "__shared__ variables inside functions, as 'T name;' or 'T name[N]', without initialiser";
    const bool is_extern_somewhere = [&] {
      for (size_t k = start; k < i + 4; ++k)
        if (is(k, "extern")) return true;
      return false;
    }();
    if (scope_[i] == scope::type || (scope_[i] == scope::file && !is_extern_somewhere))
      return fail(i, "__shared__ outside a function", allowed + "; 'extern __shared__ T name[];' also at file scope");
    const std::optional<declaration> d = parse_declaration(start, "this __shared__ declaration", allowed);
    if (!d) return;
    std::string out;
    for (const declarator& v : d->declarators) {
      if (v.initialised) return fail(v.name_token, "__shared__ " + v.name + " with an initialiser", allowed);
      if (d->is_extern) {
        if (v.extents.substr(0, 3) != "[ ]")
          return fail(v.name_token, "extern __shared__ " + v.name, "'extern __shared__ T name[];', without an extent");
        const std::string type = "::simt::identity_t<" + v.type + " " + v.extents.substr(3) + ">";
        out += scope_[i] == scope::code
                   ? fmt::format("auto* const {} = static_cast<{}*>(::simt::emu::dynamic_shared()); (void){};", v.name,
                                 type, v.name)
                   : fmt::format("static constexpr ::simt::import::dynamic_array<{}> {}{{}};", type, v.name);
      } else {
        const std::string type = "::simt::identity_t<" + v.type + " " + v.extents + ">";
        out += fmt::format(
            "static char simt_shared_{0}; auto& {0} = *static_cast<{1}*>(::simt::emu::shared_slot(&simt_shared_{0}, "
            "sizeof({1}), ::simt::import::greater_of(alignof({1}), {2}))); ",
            v.name, type, d->alignment);
      }
    }
    done_until_ = d->end + 1;
    replace(start, d->end + 1, out);
  }

  void rewrite_device_entity(size_t i) {
    const size_t start = statement_start(i), plain = skip_template_header(start);
    if (scope_[i] == scope::file && start >= done_until_ && plain == start && !is(i, "__host__") &&
        is_variable(start)) {
      const std::string kind = is_any(start, i + 3, "__managed__")    ? "managed"
                               : is_any(start, i + 3, "__constant__") ? "constant"
                                                                      : "device";
      if (!rewrite_variable(start, kind)) return;
    }
    edits_.push_back({t_.tokens[i].begin, t_.tokens[i].end, ""});
  }

  bool is_any(size_t first, size_t last, std::string_view word) const {
    for (size_t k = first; k < last; ++k)
      if (is(k, word)) return true;
    return false;
  }

  bool is_variable(size_t start) const {
    if (is(start, "using") || is(start, "typedef")) return false;
    return parameter_list(start) == k_none;
  }

  // The variable keeps its declaration under another name, as the initial value; its own name becomes a reference into
  // device memory. Constants stay as they are: nothing can race on them, and constant expressions may need them.
  bool rewrite_variable(size_t start, const std::string& kind) {
    const std::optional<declaration> d =
        parse_declaration(start, fmt::format("this __{}__ declaration", kind),
                          "variables of a named type, as 'T name;', 'T name[N];' or with '= value'");
    if (!d) return false;
    done_until_ = d->end + 1;
    if (d->is_extern || d->is_const) return true;
    std::string references;
    for (const declarator& v : d->declarators) {
      const cuda_token& name = t_.tokens[v.name_token];
      edits_.push_back({name.begin, name.end, "simt_initial_" + v.name});
      references +=
          fmt::format(" static auto& {} = ::simt::import::{}_variable(simt_initial_{});", v.name, kind, v.name);
    }
    edits_.push_back({t_.tokens[d->end].end, t_.tokens[d->end].end, references});
    return true;
  }

  std::string apply_edits() {
    std::stable_sort(edits_.begin(), edits_.end(), [](const edit& a, const edit& b) { return a.begin < b.begin; });
    std::string out;
    size_t at = 0;
    for (const edit& e : edits_) {
      if (e.begin < at) continue;  // inside a replaced declaration
      out += t_.source.substr(at, e.begin - at);
      out += e.replacement;
      at = e.end;
    }
    out += t_.source.substr(at);
    return out;
  }

  token_list t_;
  std::vector<size_t> match_;
  std::vector<scope> scope_;       // in which each token lies
  std::vector<bool> device_code_;  // bodies that run on the device only
  std::map<std::string, kernel_info> kernels_;
  std::vector<edit> edits_;
  size_t done_until_ = 0;  // declarations before this token are rewritten
  imported_source result_;
};

}  // namespace

std::string describe(const import_error& e) {
  return fmt::format("{}:{}: {} is outside the subset that runs on the emulated device; allowed: {}", e.file, e.line,
                     e.construct, e.allowed);
}

imported_source rewrite_cuda(std::string_view preprocessed, std::string_view file) {
  return rewriter(preprocessed, file).run();
}

}  // namespace warpcheck::cli
