#include "command/translator/importer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "command/translator/conditionals.hpp"
#include "command/translator/cuda_declaration.hpp"
#include "command/translator/cuda_structure.hpp"
#include "command/translator/ptx.hpp"

namespace warpcheck::cli {
namespace {

using scope = cuda_structure::scope;

// Templates of features that the emulated device does not have, and what is allowed.
constexpr std::pair<std::string_view, std::string_view> k_refused[] = {
    {"texture", "plain loads instead of textures"}, {"surface", "plain loads and stores instead of surfaces"}};

class rewriter {
 public:
  rewriter(std::string_view text, std::string_view file) : s_(text, file), t_(s_.tokens()) {}

  imported_source run() {
    const bool is_whole = s_.errors().empty();
    const conditional_edits conditionals = is_whole ? note_conditionals(s_) : conditional_edits();
    edits_ = conditionals.before;
    for (size_t i = 0; i < t_.size() && is_whole; ++i) visit(i);
    edits_.insert(edits_.end(), conditionals.after.begin(), conditionals.after.end());
    result_.has_main = s_.has_main();
    result_.needs_elision = is_whole && (s_.destroys_what_copies_share() || s_.points_to_own_attributes());
    result_.kernels = s_.kernel_names();
    for (const std::string& name : result_.kernels)
      if (const auto& k = *s_.kernel(name); k.is_single) result_.single_kernels.push_back(k.scope + name);
    result_.functions = s_.functions();
    result_.errors = s_.errors();
    if (result_.errors.empty()) result_.text = apply_edits();
    return std::move(result_);
  }

 private:
  bool is(size_t i, std::string_view s) const { return t_.is(i, s); }
  bool opens(size_t i) const { return s_.opens(i); }
  bool closes(size_t i) const { return s_.closes(i); }
  size_t match(size_t i) const { return s_.match(i); }
  scope scope_of(size_t i) const { return s_.scope_of(i); }
  void fail(size_t i, std::string construct, std::string allowed) {
    s_.fail(i, std::move(construct), std::move(allowed));
  }

  void visit(size_t i) {
    if (is(i, "<") && is(i + 1, "<") && is(i + 2, "<") && !is(i - 1, "<")) return rewrite_launch(i);
    if (!t_.is_identifier(i)) return;
    const std::string_view word = t_.text(i);
    if (word == "__shared__") return rewrite_shared(i);
    if (word == "__device__" || word == "__constant__" || word == "__managed__") return rewrite_device_entity(i);
    if (word == "__global__") refuse_plain_calls(i);
    if (word == "__cluster_dims__" && is(i + 1, "(")) return rewrite_cluster(i);
    if (word == "__host__" || word == "__global__") return replace(i, i + 1, "");
    if (word == "__noinline__" && !is(i - 1, "(")) return replace(i, i + 1, "__attribute__((noinline))");
    if (word == "cudaLaunchCooperativeKernel" && is(i + 1, "(")) return drop_cast_to_void(i + 2);
    if (s_.kernel(word) != nullptr) {
      keep_type(i);
      keep_address(i);
    }
    if (s_.device_code(i) != nullptr && rewrite_math(i)) return;
    if (s_.is_member(i)) return;
    if (const size_t last = s_.end_of_clock(i); last != k_none)
      return s_.asm_operands(i) == k_none ? surround(i, last, "(::simt::import::host_reads_time(), ", ")")
                                          : surround(i, last, "({ ::simt::import::host_reads_time(); ", "; })");
    if (s_.device_code(i) != nullptr && (rewrite_variable_use(i) || rewrite_asm(i))) return;
    if (word == "atomicExch" && s_.device_code(i) != nullptr && is_statement(i))
      return replace(i, i + 1, "::simt::import::exchange_unused");
    if (word == "cudaDeviceSynchronize" && s_.device_code(i) != nullptr && !s_.device_code(i)->also_host)
      return fail(i, "cudaDeviceSynchronize in device code", "what CUDA 12 has: a kernel cannot wait for its launches");
    for (const auto& [name, allowed] : k_refused)
      if (word == name && is(i + 1, "<")) return fail(i, std::string(word), std::string(allowed));
  }

  // A call whose result is not used.
  bool is_statement(size_t i) const {
    if (!is(i + 1, "(") || !is(match(i + 1) + 1, ";")) return false;
    if (is(i - 1, ";") || is(i - 1, "{") || is(i - 1, "}") || is(i - 1, "else")) return true;
    if (!is(i - 1, ")")) return false;
    const size_t word = match(i - 1) - 1;
    return is(word, "if") || is(word, "for") || is(word, "while");
  }

  // A kernel that is called as an ordinary function returns at once; compilers accept such a call through a pointer.
  void refuse_plain_calls(size_t qualifier) {
    size_t k = qualifier + 1;
    while (k < t_.size() && s_.device_code(k) == nullptr && !is(k, ";") && !is(k, "{")) ++k;
    if (k == t_.size() || s_.device_code(k) == nullptr) return;
    const cuda_structure::device_function& f = *s_.device_code(k);
    const size_t at = t_.tokens[f.body].end;
    edits_.push_back({at, at, fmt::format(" if (::simt::import::called_as_function(\"{}\")) return;", name_before(f))});
  }
  // The body of a kernel sets its clusters, because they may depend on template arguments.
  void rewrite_cluster(size_t i) {
    const size_t close = match(i + 1);
    size_t k = close;
    while (k < t_.size() && s_.device_code(k) == nullptr && !is(k, ";") && !is(k, "{")) ++k;
    if (k < t_.size() && s_.device_code(k) != nullptr) {
      const size_t at = t_.tokens[s_.device_code(k)->body].end;
      const std::string sizes = t_.join(i + 2, close);
      edits_.push_back({at, at, fmt::format(" ::simt::import::cluster_dims({});", sizes)});
    }
    replace(i, close + 1, "");
  }
  std::string_view name_before(const cuda_structure::device_function& f) const {
    return t_.is_identifier(f.parameters - 1) ? t_.text(f.parameters - 1) : "of a template";
  }

  // Rewrites device code. A built-in variable becomes a call, since host code may use its name otherwise. An index of a
  // pointer is checked against the allocation that the pointer points into.
  bool rewrite_variable_use(size_t i) {
    constexpr std::array<std::pair<std::string_view, std::string_view>, 4> builtins = {
        {{"threadIdx", "(::simt::emu::thread_index())"},
         {"blockIdx", "(::simt::emu::block_index())"},
         {"blockDim", "(::simt::emu::block_dimensions())"},
         {"gridDim", "(::simt::emu::grid_dimensions())"}}};
    const cuda_structure::device_function& f = *s_.device_code(i);
    for (const auto& [name, call] : builtins)
      if (is(i, name) && !f.declared.contains(name)) {
        replace(i, i + 1, std::string(call));
        return true;
      }
    if (shared_of_file_.contains(t_.text(i)) && i > f.body) {
      edits_.push_back({t_.tokens[i].begin, t_.tokens[i].end, fmt::format("simt_shared_of_{}()", t_.text(i))});
      return true;
    }
    if (!is(i + 1, "[") || i < f.body || !f.pointers.contains(t_.text(i))) return false;
    const cuda_token &open = t_.tokens[i + 1], &close = t_.tokens[match(i + 1)];
    edits_.push_back({open.end, open.end, fmt::format("::simt::import::index({}, (", t_.text(i))});
    edits_.push_back({close.begin, close.begin, "))"});
    return true;
  }

  // A function of math.h in device code: its last bits are those of the host's library, not of a GPU.
  bool rewrite_math(size_t i) {
    if (!is(i + 1, "(") || !is_approximate(t_.text(i))) return false;
    const auto& own = s_.functions();
    size_t begin = i;
    if (is(i - 1, "::")) begin = is(i - 2, "std") ? i - 2 : i - 1;
    if (is(begin - 1, ".") || is(begin - 1, "::") || (is(begin - 1, ">") && is(begin - 2, "-"))) return false;
    if (t_.is_identifier(begin - 1) && !is(begin - 1, "return") && !is(begin - 1, "else")) return false;
    if (begin < i && t_.is_identifier(begin) && !is(begin, "std")) return false;
    const auto is_mine = [&](const auto& f) { return !f.is_included && f.name == t_.text(i); };
    if (std::ranges::any_of(own, is_mine)) return false;
    if (t_.text(i).starts_with("sincos")) {
      replace(begin, i + 1, "::simt::import::sine_and_cosine");
      return true;
    }
    surround(begin, match(i + 1), "::simt::import::approximate_in_kernel(\"functions of math.h\", ", ")");
    return true;
  }

  static bool is_approximate(std::string_view name) {
    constexpr std::string_view names[] = {
        "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "cos", "cosh", "cospi", "erf", "erfc",
        "exp", "exp2", "exp10", "expm1", "hypot", "cyl_bessel_i0", "cyl_bessel_i1", "erfcinv", "erfcx", "erfinv", "j0",
        "j1", "jn", "norm", "norm3d", "norm4d", "normcdfinv", "rcbrt", "rnorm", "rnorm3d", "rnorm4d", "y0", "y1", "yn",
        "lgamma", "log", "log2", "log10", "log1p", "normcdf", "pow", "rhypot", "rsqrt", "sin", "sincos", "sinh",
        "sinpi", "tan", "tanh", "tgamma",
        // for 16-bit types and their pairs
        "hexp", "hexp2", "hexp10", "hlog", "hlog2", "hlog10", "hsin", "hcos", "htanh", "hrcp", "hrsqrt", "h2exp",
        "h2exp2", "h2log", "h2log2", "h2rcp", "h2rsqrt"};
    if (name.ends_with('f') && name != "erf") name.remove_suffix(1);
    return std::find(std::begin(names), std::end(names), name) != std::end(names);
  }

  // Translates inline PTX in device code; inline assembly of host code is left to the compiler.
  bool rewrite_asm(size_t i) {
    const size_t open = s_.asm_operands(i);
    if (open == k_none) return false;
    ptx_statement s;
    s.number = ++asm_statements_;
    size_t k = open + 1;
    for (; t_.tokens[k].kind == token_kind::literal; ++k) s.text += unescaped(t_.text(k));
    s.has_operands = !is(k, ")");
    for (int colons = 0; k < match(open);) {
      if (is(k, ":") || is(k, "::")) {
        colons += is(k, ":") ? 1 : 2;
        ++k;
      } else if (is(k, ",") || colons > 2) {
        ++k;  // clobbers have no effect here
      } else {
        ptx_operand o;
        if (is(k, "[")) o.name = t_.text(k + 1), k = match(k) + 1;
        for (; t_.tokens[k].kind == token_kind::literal; ++k) o.constraint += unescaped(t_.text(k));
        if (!is(k, "(")) break;
        o.expression = rewritten(k + 1, match(k));
        s.operands.push_back(o);
        k = match(k) + 1;
      }
    }
    if (k != match(open)) {
      fail(i, "this asm statement", "asm(\"instructions\" : outputs : inputs : clobbers)");
      return true;
    }
    replace(i, match(open) + 1, translate_ptx(s));
    return true;
  }

  // Returns tokens [first, last) with everything rewritten, on one line.
  std::string rewritten(size_t first, size_t last) {
    const size_t before = edits_.size();
    for (size_t k = first; k < last; ++k) visit(k);
    std::vector<edit> inside(edits_.begin() + static_cast<long>(before), edits_.end());
    edits_.resize(before);
    std::string out;
    for (const char c : apply(inside, t_.tokens[first].begin, t_.tokens[last - 1].end)) out += c == '\n' ? ' ' : c;
    return out;
  }

  static std::string unescaped(std::string_view literal) {
    std::string out;
    if (literal.size() >= 2 && literal.front() == 'R') {
      const size_t open = literal.find('('), close = literal.rfind(')');
      return std::string(literal.substr(open + 1, close - open - 1));
    }
    for (size_t i = 1; i + 1 < literal.size(); ++i) {
      if (literal[i] != '\\') {
        out += literal[i];
        continue;
      }
      ++i;
      out += literal[i] == 'n' || literal[i] == 't' || literal[i] == 'r' ? ' ' : literal[i];
      if (literal[i] == 'n') out.back() = '\n';
    }
    return out;
  }

  // `(void*)kernel` and `reinterpret_cast<void*>(kernel)` become the kernel's name: its type determines the types
  // of the launch's arguments.
  void drop_cast_to_void(size_t i) {
    const bool c_style = is(i, "(");
    if (!c_style && !(is(i, "reinterpret_cast") && is(i + 1, "<"))) return;
    size_t k = c_style ? i + 1 : i + 2;
    if (is(k, "const")) ++k;
    if (!is(k++, "void")) return;
    if (is(k, "const")) ++k;
    if (!is(k, "*") || !is(k + 1, c_style ? ")" : ">")) return;
    dropped_cast_ = i;
    replace(i, k + 2, "");
  }

  // For any other cast of a kernel's name to `void*`, the type is stored where launches find it.
  void keep_type(size_t name) {
    size_t k = name;
    while (k >= 2 && is(k - 1, "::")) k -= t_.is_identifier(k - 2) ? 2 : 1;
    if (is(k - 1, "&")) --k;
    const bool c_style = !is(k - 1, "(");
    size_t end = c_style ? k - 1 : k - 2;  // the ")" or ">" of the cast
    if (!is(end, c_style ? ")" : ">") || !is(end - 1, "*")) return;
    size_t begin = end - 2;
    if (is(begin, "const")) --begin;
    if (!is(begin, "void")) return;
    if (is(begin - 1, "const")) --begin;
    --begin;
    if (!is(begin, c_style ? "(" : "<")) return;
    if (!c_style && !is(--begin, "reinterpret_cast")) return;
    if (begin == dropped_cast_) return;
    replace(begin, k, c_style ? "::simt::import::erased(" : "(::simt::import::erased(");
    size_t last = name;
    if (is(name + 1, "<") && !is(name + 2, "<")) last = template_end(name + 1);
    edits_.push_back({t_.tokens[last].end, t_.tokens[last].end, ")"});
  }

  // `auto k = &kernel<float>;`: a launch may later get `k` as `void*`.
  void keep_address(size_t name) {
    size_t k = name;
    while (k >= 2 && is(k - 1, "::")) k -= t_.is_identifier(k - 2) ? 2 : 1;
    if (is(k - 1, "&")) --k;
    if (k < 3 || !is(k - 1, "=")) return;
    size_t type = k - 3;
    while (type > 0 && (is(type, "*") || is(type, "&") || is(type, "const"))) --type;
    const size_t last = is(name + 1, "<") && !is(name + 2, "<") ? template_end(name + 1) : name;
    if (!is(type, "auto") || !is(last + 1, ";")) return;
    surround(k, last, "::simt::import::known(", ")");
  }

  // Returns the ">" that closes the template arguments at `open`; the token before `open` if "<" compares.
  size_t template_end(size_t open) const {
    const size_t close = s_.template_arguments_end(open);
    return close == k_none ? open - 1 : close;
  }

  void surround(size_t first, size_t last, const char* before, const char* after) {
    edits_.push_back({t_.tokens[first].begin, t_.tokens[first].begin, before});
    edits_.push_back({t_.tokens[last].end, t_.tokens[last].end, after});
  }
  // Replaces tokens [first, last); if this removes lines, a line marker restores the count.
  void replace(size_t first, size_t last, std::string replacement) {
    const size_t begin = t_.tokens[first].begin, end = t_.tokens[last - 1].end;
    if (t_.source.substr(begin, end - begin).find('\n') != std::string_view::npos) {
      const cuda_token& end_token = t_.tokens[last - 1];
      replacement += fmt::format("\n# {} \"{}\"\n", end_token.line, t_.files[static_cast<size_t>(end_token.file)]);
    }
    edits_.push_back({begin, end, std::move(replacement)});
  }

  // ---- launches

  // Returns the token before the template arguments that end at `last`; `last` if there are none, k_none if none begin.
  size_t before_template_arguments(size_t last) const {
    if (!is(last, ">")) return last;
    int depth = 0;
    for (size_t i = last;; --i) {
      if (closes(i))
        i = match(i);
      else if (is(i, ">") && !is(i - 1, "-"))
        ++depth;
      else if (is(i, "<") && --depth == 0)
        return i - 1;
      else if (is(i, ";") || i == 0)
        return k_none;
    }
  }

  // Returns the first token of the expression that ends at `last` and names the kernel, or k_none.
  size_t callee_start(size_t last) const {
    // An element of a table of kernels, or the result of a call, begins at the name of the table or function.
    while (is(last, "]") || (is(last, ")") && t_.is_identifier(match(last) - 1) && !is(match(last) - 1, "return")))
      last = match(last) - 1;
    if (is(last, ")")) return match(last);
    size_t i = before_template_arguments(last);
    if (i == k_none || !t_.is_identifier(i)) return k_none;
    while (i >= 2 && is(i - 1, "::")) {
      if (is(i - 2, ">")) {
        const size_t owner = callee_start(i - 2);
        return owner == k_none ? k_none : owner;
      }
      if (!t_.is_identifier(i - 2) || is(i - 2, "return")) return i - 1;
      i -= 2;
    }
    if (i >= 1 && is(i - 1, "::")) return i - 1;
    // A pointer to a kernel that is a class member.
    while (is(i - 1, ".") || (is(i - 1, ">") && is(i - 2, "-"))) {
      i -= is(i - 1, ".") ? 2 : 3;
      while (closes(i)) i = match(i) - 1;
    }
    return i;
  }

  void rewrite_launch(size_t i) {
    const size_t begin = i == 0 ? k_none : callee_start(i - 1);
    if (begin == k_none) return fail(i, "<<<", "a kernel's name before the launch: kernel<<<grid, block>>>(arguments)");
    const std::string name(t_.text(before_template_arguments(i - 1)));
    // A launch made by a kernel runs after that kernel, when its variables no longer exist.
    const char* const capture = s_.device_code(i) != nullptr ? "=" : "&";
    size_t close = i + 3, commas = 0;
    for (; close < t_.size() && !is(close, ";"); ++close) {
      if (opens(close))
        close = match(close);
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
    const cuda_structure::kernel_info* known = s_.kernel(name);
    const bool simple =
        !is(i - 1, ">") && (known == nullptr || !(known->is_template || known->overloaded || known->has_defaults));
    edits_.push_back({t_.tokens[begin].begin, t_.tokens[begin].begin,
                      simple ? "::simt::import::kernel("
                             : fmt::format("::simt::import::callable([{}](auto... simt_a) {{ ", capture)});
    edits_.push_back({t_.tokens[i].begin, t_.tokens[i + 2].end, simple ? ").at(" : "(simt_a...); }).at("});
    edits_.push_back({t_.tokens[close].begin, t_.tokens[close + 2].end, ")"});
    rewrite_null_arguments(close + 3, known);
  }

  // A generic call cannot convert the old null constants to a pointer; a keyword can.
  void rewrite_null_arguments(size_t open, const cuda_structure::kernel_info* known) {
    size_t position = 0;
    for (size_t k = open + 1; k < match(open); k = opens(k) ? match(k) + 1 : k + 1) {
      if (is(k, ",")) ++position;
      const bool alone = (is(k - 1, "(") || is(k - 1, ",")) && (is(k + 1, ")") || is(k + 1, ","));
      const bool zero = is(k, "0") && known != nullptr && known->pointers.contains(position);
      if (alone && (zero || is(k, "__null"))) replace(k, k + 1, "nullptr");
    }
  }

  // ---- variables

  // Returns the declaration of variables that starts at `start`. Fails, naming `what`, if it is not a plain one.
  std::optional<cuda_declaration> parse_declaration(size_t start, const std::string& what, const std::string& allowed) {
    size_t refused = 0;
    std::optional<cuda_declaration> d = parse_variables(s_, start, refused);
    if (!d) fail(refused, what, allowed);
    return d;
  }

  // A variable that is not an array keeps its type's own name, so that a template in its class finds its members.
  static std::string shared_variable(const std::string& name, const std::string& type, const std::string& extents,
                                     const std::string& alignment) {
    return fmt::format(
        "static char simt_shared_{0}; {3}& {0} = *static_cast<::simt::identity_t<{1}>*>(::simt::emu::shared_slot("
        "&simt_shared_{0}, sizeof(::simt::identity_t<{1}>), "
        "::simt::import::greater_of(alignof(::simt::identity_t<{1}>), {2}))); ",
        name, type + " " + extents, alignment, extents.empty() ? type : "auto");
  }

  // `extern __shared__ T a[];` is a pointer to the block's dynamic memory, `extern __shared__ T a;` a reference.
  static std::string dynamic_variable(const cuda_declarator& v) {
    const bool is_open = v.extents.starts_with("[ ]");
    const std::string type = fmt::format("::simt::identity_t<{} {}>", v.type, v.extents.substr(is_open ? 3 : 0));
    if (is_open)
      return fmt::format("auto* const {0} = static_cast<{1}*>(::simt::emu::dynamic_shared()); (void){0};", v.name,
                         type);
    return fmt::format("{2}& {0} = *static_cast<{1}*>(::simt::emu::dynamic_shared()); (void){0};", v.name, type,
                       v.extents.empty() ? v.type : "auto");
  }
  std::string dynamic_variable_of_file(const cuda_declarator& v) {
    if (v.extents.starts_with("[ ]"))
      return fmt::format("static constexpr ::simt::import::dynamic_array<::simt::identity_t<{} {}>> {}{{}};", v.type,
                         v.extents.substr(3), v.name);
    shared_of_file_.insert(v.name);
    return fmt::format("static inline auto& simt_shared_of_{0}() {{ {1} return {0}; }} ", v.name, dynamic_variable(v));
  }

  // `__shared__ union { ... } a, b[2];`: first the type, which may have no name, then the variables.
  bool rewrite_shared_type(size_t shared) {
    size_t k = shared + 1;
    if (!is(k, "union") && !is(k, "struct")) return false;
    const bool named = t_.is_identifier(k + 1);
    const size_t open = k + (named ? 2 : 1);
    if (!is(open, "{")) return false;
    const std::string type = named ? std::string(t_.text(k + 1)) : fmt::format("simt_shared_type_{}", shared);
    std::string out = "; ";
    for (k = match(open) + 1; t_.is_identifier(k); ++k) {
      const std::string name(t_.text(k++));
      std::string extents;
      for (; is(k, "["); k = match(k) + 1) extents += t_.join(k, match(k) + 1);
      out += shared_variable(name, type, extents, "1");
      if (!is(k, ",")) break;
    }
    if (!is(k, ";")) return false;
    replace(shared, shared + 1, "");
    if (!named) edits_.push_back({t_.tokens[open].begin, t_.tokens[open].begin, type + " "});
    replace(match(open) + 1, k + 1, out);
    done_until_ = k + 1;
    return true;
  }

  void rewrite_shared(size_t i) {
    const size_t start = s_.statement_start(i);
    if (start < done_until_) return;
    const std::string allowed = "__shared__ variables as 'T name;' or 'T name[N]', without initialiser";
    const bool is_extern_somewhere = [&] {
      for (size_t k = start; k < i + 4; ++k)
        if (is(k, "extern")) return true;
      return false;
    }();
    if (scope_of(i) == scope::type) return fail(i, "__shared__ in a class", allowed);
    const bool of_file = scope_of(i) == scope::file && !is_extern_somewhere;
    if (rewrite_shared_type(i)) return;
    const std::optional<cuda_declaration> d = parse_declaration(start, "this __shared__ declaration", allowed);
    if (!d) return;
    std::string out;
    for (const cuda_declarator& v : d->declarators) {
      if (v.initialised) return fail(v.name_token, "__shared__ " + v.name + " with an initialiser", allowed);
      if (d->is_extern) {
        out += scope_of(i) == scope::code ? dynamic_variable(v) : dynamic_variable_of_file(v);
      } else if (of_file) {
        out += fmt::format("static inline auto& simt_shared_of_{0}() {{ {1}return {0}; }} ", v.name,
                           shared_variable(v.name, v.type, v.extents, d->alignment));
        shared_of_file_.insert(v.name);
      } else {
        out += shared_variable(v.name, v.type, v.extents, d->alignment);
      }
    }
    done_until_ = d->end + 1;
    replace(start, d->end + 1, out);
  }

  void rewrite_device_entity(size_t i) {
    const size_t start = s_.statement_start(i), plain = s_.skip_template_header(start);
    if (scope_of(i) == scope::file && start >= done_until_ && !is(i, "__host__") && is_variable(plain)) {
      const std::string kind = is_any(start, i + 3, "__managed__")    ? "managed"
                               : is_any(start, i + 3, "__constant__") ? "constant"
                                                                      : "device";
      if (!rewrite_variable(start, plain, kind)) return;
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
    return s_.parameter_list(start) == k_none;
  }

  // The variable's declaration, under another name, becomes the initial value; its own name becomes a reference into
  // device memory. Constants are unchanged: they cannot race, and constant expressions may need them.
  bool rewrite_variable(size_t start, size_t plain, const std::string& kind) {
    const std::optional<cuda_declaration> d =
        parse_declaration(plain, fmt::format("this __{}__ declaration", kind),
                          "variables of a named type, as 'T name;', 'T name[N];' or with '= value'");
    if (!d) return false;
    done_until_ = d->end + 1;
    if (d->is_extern || d->is_const) return true;
    std::string header, arguments;  // for a variable template
    if (plain != start) {
      const std::optional<std::string> names = template_arguments(start, plain);
      if (!names) {
        fail(start, fmt::format("this template of a __{}__ variable", kind), "one list of named template parameters");
        return false;
      }
      header = t_.join(start, plain) + " ";
      arguments = "<" + *names + ">";
    }
    // As with nvcc, each source has its own copy: a header may define the variable.
    const size_t at = d->type_token > plain ? t_.tokens[d->type_token - 1].end : t_.tokens[plain].begin;
    if (plain == start && !d->is_local) edits_.push_back({at, at, " static "});
    std::string references;
    for (const cuda_declarator& v : d->declarators) {
      const cuda_token& name = t_.tokens[v.name_token];
      edits_.push_back({name.begin, name.end, "simt_initial_" + v.name});
      if (plain == start && scope_of(start) == scope::file)
        result_.variables.emplace_back(s_.namespaces_of(start), v.name);
      references += fmt::format(" {0}static auto& {1} = ::simt::import::{2}_variable(simt_initial_{1}{3});", header,
                                v.name, kind, arguments);
    }
    edits_.push_back({t_.tokens[d->end].end, t_.tokens[d->end].end, references});
    return true;
  }

  // Returns "T, N" for `template <class T, int N>` in [start, end); nothing if a parameter has no name or another form.
  std::optional<std::string> template_arguments(size_t start, size_t end) const {
    std::string names;
    int depth = 0;
    for (size_t i = start + 1; i < end; i = opens(i) ? match(i) + 1 : i + 1) {
      if (is(i, "<") && ++depth > 1) return std::nullopt;
      const bool last = is(i, ">") && --depth == 0;
      if (!last && !is(i, ",")) continue;
      size_t name = i - 1;
      for (size_t k = name; k > start && !is(k, ",") && !is(k, "<"); --k)
        if (is(k, "=")) name = k - 1;
      if (!t_.is_identifier(name) || !t_.is_identifier(name - 1)) return std::nullopt;
      names += (names.empty() ? "" : ", ") + std::string(t_.text(name));
      if (last) return i + 1 == end ? std::optional(names) : std::nullopt;
    }
    return std::nullopt;
  }

  std::string apply_edits() { return apply(edits_, 0, t_.source.size()); }

  // Returns the text [at, end) with these edits.
  std::string apply(std::vector<edit>& edits, size_t at, size_t end) const {
    std::ranges::stable_sort(edits, [](const edit& a, const edit& b) { return a.begin < b.begin; });
    std::string out;
    for (const edit& e : edits) {
      if (e.begin < at) continue;  // inside a replaced declaration
      out += t_.source.substr(at, e.begin - at);
      out += e.replacement;
      at = e.end;
    }
    out += t_.source.substr(at, end - at);
    return out;
  }

  cuda_structure s_;
  const token_list& t_;
  std::vector<edit> edits_;
  std::set<std::string, std::less<>> shared_of_file_;  // names of __shared__ variables outside functions
  int asm_statements_ = 0;
  size_t dropped_cast_ = k_none;  // the last cast to void* that was removed
  size_t done_until_ = 0;         // declarations before this token are rewritten
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
