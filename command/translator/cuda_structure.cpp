#include "command/translator/cuda_structure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace warpcheck::cli {
namespace {

constexpr std::string_view k_builtin_variables[] = {"threadIdx", "blockIdx", "blockDim", "gridDim"};

template <size_t N>
bool is_one_of(std::string_view word, const std::string_view (&words)[N]) {
  return std::find(std::begin(words), std::end(words), word) != std::end(words);
}

// Words before a name that show that it is not declared here.
bool is_statement_word(std::string_view word) {
  constexpr std::string_view words[] = {"return",    "else",   "case", "do",    "throw",
                                        "co_return", "sizeof", "new",  "delete"};
  return is_one_of(word, words);
}

// Templates of <algorithm>, <numeric> and <cmath>: with `using namespace std` they overload a kernel of their name.
bool is_template_of_std(const std::string& word) {
  constexpr std::string_view names =
      " accumulate adjacent_difference adjacent_find binary_search clamp copy copy_if count count_if equal "
      "exchange exclusive_scan fill find find_if for_each gcd generate hypot inclusive_scan inner_product iota "
      "lower_bound max max_element merge min min_element minmax mismatch move partial_sum partition pow reduce "
      "remove replace reverse rotate sample search shuffle sort swap transform transform_reduce unique "
      "upper_bound ";
  return names.find(" " + word + " ") != std::string_view::npos;
}

}  // namespace

cuda_structure::cuda_structure(std::string_view text, std::string_view file) : t_(tokenize_cuda(text, file)) {
  match_brackets();
  if (errors_.empty()) classify_braces();
  if (errors_.empty()) find_functions();
}

void cuda_structure::fail(size_t i, std::string construct, std::string allowed) {
  const cuda_token& at = t_.tokens[std::min(i, t_.size() - 1)];
  import_error e = {t_.files[static_cast<size_t>(at.file)], at.line, std::move(construct), std::move(allowed)};
  if (std::ranges::find(errors_, e) == errors_.end()) errors_.push_back(std::move(e));
}

const cuda_structure::kernel_info* cuda_structure::kernel(std::string_view name) const {
  const auto at = kernels_.find(name);
  return at == kernels_.end() ? nullptr : &at->second;
}

bool cuda_structure::is_member(size_t i) const {
  if (i == 0) return false;
  return is(i - 1, ".") || is(i - 1, "::") || (is(i - 1, ">") && i > 1 && is(i - 2, "-"));
}

void cuda_structure::match_brackets() {
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

size_t cuda_structure::statement_start(size_t i) const {
  while (i > 0) {
    const size_t before = i - 1;
    if (is(before, ";") || is(before, "{") || is(before, "}")) break;
    i = is(before, ")") || is(before, "]") ? match_[before] : before;
  }
  return i;
}

bool cuda_structure::are_joined(size_t i, std::string_view first, std::string_view second) const {
  return is(i, first) && is(i + 1, second) && t_.tokens[i].end == t_.tokens[i + 1].begin;
}

size_t cuda_structure::template_arguments_end(size_t open) const {
  int depth = 0;
  for (size_t i = open; i < t_.size() && !is(i, ";") && !closes(i); ++i) {
    if (is(i, "{") && match_[i] != i + 1) return k_none;
    if (opens(i))
      i = match_[i];
    else if (are_joined(i, "<", "<") || are_joined(i, "<", "=") || are_joined(i, ">", "=") || are_joined(i, "-", ">"))
      ++i;
    else if (is(i, "<"))
      ++depth;
    else if (is(i, ">") && --depth == 0)
      return i;
  }
  return k_none;
}

size_t cuda_structure::skip_template_header(size_t i) const {
  while (is(i, "template") && is(i + 1, "<")) {
    const size_t end = template_arguments_end(i + 1);
    if (end == k_none) return i;
    i = skip_requires_clause(end + 1);
  }
  return i;
}

// A conjunction or disjunction of names with template arguments, brackets and requires-expressions (C++20).
size_t cuda_structure::skip_requires_clause(size_t i) const {
  if (!is(i, "requires")) return i;
  for (;;) {
    do ++i;
    while (is(i, "!"));
    if (is(i, "requires")) {
      if (is(++i, "(")) i = match_[i] + 1;
      if (is(i, "{")) i = match_[i] + 1;
    } else if (is(i, "(")) {
      i = match_[i] + 1;
    } else {
      while (t_.is_identifier(i) || is(i, "::")) {
        const bool ends = t_.is_identifier(i++);
        const size_t close = ends && is(i, "<") ? template_arguments_end(i) : k_none;
        if (close != k_none) i = close + 1;
        if (ends && !is(i, "::")) break;
      }
    }
    if (!are_joined(i, "&", "&") && !are_joined(i, "|", "|")) return i;
    ++i;
  }
}

cuda_structure::scope cuda_structure::opened_by(size_t brace, scope outside) const {
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
bool cuda_structure::is_attribute_group(size_t close) const {
  const size_t open = match_[close];
  constexpr std::string_view names[] = {"alignas",  "__attribute__", "__align__",         "decltype",
                                        "declspec", "__declspec",    "__launch_bounds__", "__cluster_dims__"};
  return open > 0 && is_one_of(t_.text(open - 1), names);
}

void cuda_structure::classify_braces() {
  scope_.assign(t_.size(), scope::file);
  std::vector<scope> stack = {scope::file};
  for (size_t i = 0; i < t_.size(); ++i) {
    if (is(i, "}")) stack.pop_back();
    scope_[i] = stack.back();
    if (is(i, "{")) stack.push_back(opened_by(i, stack.back()));
  }
}

size_t cuda_structure::parameter_list(size_t start) const {
  for (size_t i = start; i < t_.size(); ++i) {
    if (is(i, ";") || is(i, "{") || is(i, "=")) return k_none;
    if (is(i, "operator")) {
      while (!is(i, "(")) ++i;
      return is(i + 1, ")") && is(i + 2, "(") ? i + 2 : i;
    }
    if (is(i, "<"))
      if (const size_t close = template_arguments_end(i); close != k_none) i = close;
    if (is(i, "[")) i = match_[i];
    if (!is(i, "(")) continue;
    if (!is_attribute_group(match_[i])) return i;
    i = match_[i];
  }
  return k_none;
}

// Returns the "{" of the body after the parameter list at `open` and a constructor's initialisers, or k_none.
size_t cuda_structure::body_of(size_t open) const {
  size_t i = match_[open] + 1;
  while (i < t_.size() && !is(i, "{") && !is(i, ";") && !is(i, ":") && !is(i, "="))
    i = opens(i) ? match_[i] + 1 : i + 1;
  if (is(i, ":")) {
    for (;;) {
      while (i < t_.size() && !is(i, "(") && !is(i, "{") && !is(i, ";")) ++i;
      if (!opens(i)) return k_none;
      i = match_[i] + 1;
      while (is(i, ".")) ++i;
      if (!is(i, ",")) break;
    }
  }
  return is(i, "{") ? i : k_none;
}

// Finds kernels, device code, and main().
void cuda_structure::find_functions() {
  owner_.assign(t_.size(), 0);
  for (size_t i = 0; i < t_.size(); ++i) {
    if (scope_[i] == scope::file && t_.is_identifier(i) && is(i + 1, "(")) note_function(i);
    if (!is(i, "__global__") && !is(i, "__device__")) continue;
    const size_t start = statement_start(i), plain = skip_template_header(start);
    size_t open = scope_[i] == scope::code ? k_none : parameter_list(plain);
    if (open != k_none && is(i, "__global__")) note_kernel(open, plain != start);
    if (open == k_none) {  // a lambda, or a member of a local class
      open = i + 1;
      while (t_.is_identifier(open)) ++open;
      if (!is(open, "(")) continue;
    }
    note_device_function(i, open);
  }
  for (auto& [name, info] : kernels_) {
    info.is_single = !info.is_template && !info.overloaded;
    info.overloaded |= other_names_.contains(name) || is_template_of_std(name);
  }
}

void cuda_structure::note_function(size_t name) {
  size_t after = match_[name + 1] + 1;
  if (is(after, "noexcept")) after = is(after + 1, "(") ? match_[after + 1] + 1 : after + 1;
  if (are_joined(after, "-", ">"))  // the type of the result
    while (after < t_.size() && !is(after, "{") && !is(after, ";") && !is(after, "try")) ++after;
  if (is(after, "try")) ++after;
  bool is_kernel = false;
  for (size_t i = statement_start(name); i < name; ++i) is_kernel |= is(i, "__global__");
  if (is(after, "{")) {
    imported_function f;
    f.is_kernel = is_kernel;
    f.name = namespaces_of(name) + std::string(t_.text(name));
    f.is_included = t_.tokens[name].file != 0;
    note_parameters(name + 1, f);
    functions_.push_back(std::move(f));
    has_main_ |= is(name, "main");
  }
  // "f(1);" at file scope is a declaration, too.
  if ((is(after, "{") || is(after, ";")) && !is_kernel) other_names_.emplace(t_.text(name));
}

size_t cuda_structure::asm_operands(size_t i) const {
  if (!is(i, "asm") && !is(i, "__asm__") && !is(i, "__asm")) return k_none;
  size_t open = i + 1;
  while (is(open, "volatile") || is(open, "__volatile__") || is(open, "__volatile")) ++open;
  return is(open, "(") ? open : k_none;
}

size_t cuda_structure::end_of_clock(size_t i) const {
  if (device_code(i) != nullptr) return k_none;
  if (const size_t open = asm_operands(i); open != k_none)
    return t_.text(open + 1).find("rdtsc") == std::string_view::npos ? k_none : match(open);
  const bool is_declared = is(i + 2, "void") || is(i + 2, "unsigned");
  for (const char* name : {"__rdtsc", "__rdtscp", "__builtin_ia32_rdtsc", "__builtin_ia32_rdtscp", "omp_get_wtime"})
    if (is(i, name) && is(i + 1, "(") && !is_declared) return match(i + 1);
  return k_none;
}

size_t cuda_structure::opening_of(size_t i) const {
  while (!is(i, "{")) i = closes(i - 1) ? match(i - 1) - 1 : i - 1;
  return i;
}

bool cuda_structure::points_to_own_attributes() const {
  for (size_t i = 0; i < t_.size(); ++i) {
    if (!is(i, "cudaLaunchConfig_t") || scope_of(i) != scope::type) continue;
    const size_t open = opening_of(i);
    for (size_t k = open; k < match(open); ++k)
      if (is(k, "cudaLaunchAttribute")) return true;
  }
  return false;
}

bool cuda_structure::destroys_what_copies_share() const {
  for (size_t i = 0; i < t_.size(); ++i)
    if (destroys_what_copies_share(i)) return true;
  return false;
}

bool cuda_structure::destroys_what_copies_share(size_t i) const {
  if (!is(i, "~") || !t_.is_identifier(i + 1) || !is(i + 2, "(") || scope_of(i) != scope::type) return false;
  size_t after = match(i + 2) + 1;
  while (t_.is_identifier(after)) ++after;  // noexcept, override
  if (is(after, "=") || (is(after, "{") && match(after) == after + 1)) return false;
  const size_t open = opening_of(i);
  const std::string_view name = t_.text(i + 1);
  for (size_t k = open + 1; k < match(open); ++k) {
    if (t_.text(k) != name || !is(k + 1, "(") || is(k - 1, "~")) continue;
    size_t type = k + 2 + is(k + 2, "const");
    if (t_.text(type) != name) continue;
    if (is(++type, "<")) type = template_arguments_end(type) + 1;
    if (is(type + is(type, "const"), "&")) return false;
  }
  return true;
}

std::string cuda_structure::namespaces_of(size_t token) const {
  std::string names;
  for (size_t i = token; i-- > 0;) {
    if (closes(i)) i = match_[i];
    if (!is(i, "{") || match_[i] < token) continue;
    std::string own;
    bool in_name = false;
    for (size_t k = statement_start(i); k < i; ++k) {
      if (in_name) own += t_.text(k);
      in_name |= is(k, "namespace");
    }
    if (!own.empty()) names.insert(0, own + "::");
  }
  return names;
}

// A parameter's name is its last identifier before its default value and array brackets.
void cuda_structure::note_parameters(size_t open, imported_function& f) const {
  const size_t close = match_[open];
  if (close == open + 1 || (close == open + 2 && is(open + 1, "void"))) return;
  for (size_t begin = open + 1; begin <= close; ++begin) {
    size_t end = begin;
    bool ends = false;  // the name's part
    bool is_stream = false;
    std::string_view name;
    for (int depth = 0; end < close && (depth > 0 || !is(end, ",")); end = opens(end) ? match_[end] + 1 : end + 1) {
      depth += is(end, "<") ? 1 : is(end, ">") ? -1 : 0;
      ends |= is(end, "=") || is(end, "[");
      is_stream |= is(end, "cudaStream_t");
      if (!ends && depth == 0 && end > begin && t_.is_identifier(end)) name = t_.text(end);
    }
    if (is_stream) f.stream = f.parameters.size();
    f.parameters.emplace_back(name);
    begin = end;
  }
}

void cuda_structure::note_kernel(size_t open, bool is_template) {
  std::string parameters;
  bool has_defaults = false;
  std::set<size_t> pointers;
  size_t number = 0;
  for (size_t k = open + 1; k < match_[open]; k = opens(k) ? match_[k] + 1 : k + 1) {
    number += is(k, ",") ? 1 : 0;
    if (is(k, "*")) pointers.insert(number);
    is_template |= is(k, "auto");
  }
  // Parameter names may differ between declarations; the number of commas and the types' first words may not.
  for (size_t k = open + 1; k < match_[open]; ++k) {
    if (is(k, "=")) {
      has_defaults = true;
      while (k < match_[open] && !is(k, ",")) k = opens(k) ? match_[k] + 1 : k + 1;
      if (k >= match_[open]) break;
    }
    if (t_.is_identifier(k) && (is(k + 1, ",") || is(k + 1, ")") || is(k + 1, "=")) && k > open + 1) continue;
    parameters += t_.text(k);
    parameters += ' ';
  }
  const std::string name(t_.text(open - 1));
  const auto [at, added] = kernels_.try_emplace(name);
  if (added) {
    at->second = {is_template, false, false, has_defaults, parameters, namespaces_of(open - 1), pointers};
    kernel_names_.push_back(name);
  } else {
    at->second.pointers.insert(pointers.begin(), pointers.end());
    at->second.overloaded |= at->second.parameters != parameters;
    at->second.is_template |= is_template;
    at->second.has_defaults |= has_defaults;
  }
}

void cuda_structure::note_device_function(size_t qualifier, size_t open) {
  device_function f;
  f.parameters = open;
  f.body = body_of(open);
  if (f.body == k_none) return;
  if (owner_[open] != 0 && device_functions_[owner_[open] - 1].parameters == open) return;  // its second qualifier
  for (size_t k = statement_start(qualifier); k < open; ++k) f.also_host |= is(k, "__host__");
  note_names(f);
  device_functions_.push_back(std::move(f));
  std::fill(owner_.begin() + static_cast<long>(open), owner_.begin() + static_cast<long>(match_[f.body]),
            static_cast<uint32_t>(device_functions_.size()));
}

void cuda_structure::note_names(device_function& f) const {
  std::set<std::string_view> arrays;
  for (size_t i = f.parameters + 1; i < match_[f.body]; ++i) {
    if (!t_.is_identifier(i) || is_member(i)) continue;
    const bool after_type = t_.is_identifier(i - 1) && !is_statement_word(t_.text(i - 1));
    const bool after_reference =
        is(i - 1, "&") && (is(i - 2, "dim3") || is(i - 2, "uint3") || is(i - 2, "int3") || is(i - 2, "auto"));
    const std::string_view word = t_.text(i);
    if ((after_type || after_reference) && is_one_of(word, k_builtin_variables)) f.declared.insert(word);
    if (is(i + 1, "[") && after_type && i > f.body) arrays.insert(word);
    // A parameter `T* p`, `T* const p` or `T* __restrict p`, and `T* p = ...` or `*p = ...` in the body.
    size_t before = i - 1;
    while (is(before, "const") || is(before, "__restrict") || is(before, "__restrict__") || is(before, "volatile"))
      --before;
    const bool ends = is(i + 1, ",") || is(i + 1, "=") || (is(i + 1, ")") && i < f.body);
    if (is(before, "*") && ends) f.pointers.insert(word);
  }
  for (const std::string_view name : arrays) f.pointers.erase(name);
}

}  // namespace warpcheck::cli
