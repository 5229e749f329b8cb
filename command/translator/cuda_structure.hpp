// The structure of a CUDA source as far as its tokens show it: brackets, scopes, functions, and which code runs on
// the device. This is not a C++ parser.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "command/translator/cuda_tokens.hpp"
#include "command/translator/importer.hpp"

namespace warpcheck::cli {

inline constexpr size_t k_none = ~size_t{0};  // the index of no token

class cuda_structure {
 public:
  // Kinds of scopes that a brace opens.
  enum class scope : uint8_t { file, type, code };

  struct kernel_info {
    bool is_template = false;
    bool overloaded = false;  // another kernel, a host function or a template of std has the same name
    bool is_single = false;   // no template, and no other kernel has the same name
    bool has_defaults = false;
    std::string parameters;
    std::string scope;          // its namespaces: "acme::"
    std::set<size_t> pointers;  // indices, from 0, of the parameters that are pointers
  };

  // A function or lambda that runs on the device, from its parameter list to the end of its body.
  struct device_function {
    size_t parameters = 0, body = 0;  // the brackets that open them
    bool also_host = false;
    std::set<std::string_view> pointers;  // names that denote pointers if they denote a variable
    std::set<std::string_view> declared;  // names of built-in variables that the function declares itself
  };

  // Finds no functions if brackets do not match.
  cuda_structure(std::string_view text, std::string_view file);

  const token_list& tokens() const { return t_; }
  const std::vector<import_error>& errors() const { return errors_; }
  bool has_main() const { return has_main_; }
  const std::vector<std::string>& kernel_names() const { return kernel_names_; }
  const std::vector<imported_function>& functions() const { return functions_; }

  bool is(size_t i, std::string_view s) const { return t_.is(i, s); }
  bool opens(size_t i) const { return is(i, "(") || is(i, "[") || is(i, "{"); }
  bool closes(size_t i) const { return is(i, ")") || is(i, "]") || is(i, "}"); }
  size_t match(size_t i) const { return match_[i]; }
  scope scope_of(size_t i) const { return scope_[i]; }
  // Returns nullptr if there is no such kernel.
  const kernel_info* kernel(std::string_view name) const;
  // Returns the innermost device function that contains token i, or nullptr.
  const device_function* device_code(size_t i) const {
    return owner_[i] == 0 ? nullptr : &device_functions_[owner_[i] - 1];
  }
  // True if token i names a member, or a name qualified by a namespace or class.
  bool is_member(size_t i) const;
  // Returns the first token of the statement or declaration that contains token i.
  size_t statement_start(size_t i) const;
  // Returns the ">" that closes the template arguments opened by the "<" at `open`; k_none if that "<" compares.
  size_t template_arguments_end(size_t open) const;
  // Returns the token after the template header `template <...> requires ...` at i, or i if there is none.
  size_t skip_template_header(size_t i) const;
  // Returns the "(" of the parameter list of the function declared at `start`, or k_none.
  size_t parameter_list(size_t start) const;
  // Returns "acme::detail::" for a name in these namespaces; unnamed ones add nothing.
  std::string namespaces_of(size_t token) const;
  // Returns the "(" of the asm statement at token i, or k_none.
  size_t asm_operands(size_t i) const;
  // Returns the last token of the call or asm statement at token i by which host code reads a cycle counter or the time
  // of OpenMP, or k_none.
  size_t end_of_clock(size_t i) const;
  // True if a class has a destructor with statements, but no copy or move constructor.
  bool destroys_what_copies_share() const;
  // True if a class holds a launch configuration and the attributes to which it points.
  bool points_to_own_attributes() const;

  void fail(size_t i, std::string construct, std::string allowed);

 private:
  bool destroys_what_copies_share(size_t destructor) const;
  // Returns the "{" that surrounds the token.
  size_t opening_of(size_t i) const;
  void match_brackets();
  void classify_braces();
  void find_functions();
  scope opened_by(size_t brace, scope outside) const;
  bool is_attribute_group(size_t close) const;
  // True for two characters of one operator.
  bool are_joined(size_t i, std::string_view first, std::string_view second) const;
  size_t skip_requires_clause(size_t i) const;
  size_t body_of(size_t open) const;
  void note_function(size_t name);
  void note_parameters(size_t open, imported_function& f) const;
  void note_kernel(size_t open, bool is_template);
  void note_device_function(size_t qualifier, size_t open);
  void note_names(device_function& f) const;

  token_list t_;
  std::vector<size_t> match_;
  std::vector<scope> scope_;     // that contains each token
  std::vector<uint32_t> owner_;  // number of the device function from 1; 0: none
  std::vector<device_function> device_functions_;
  std::map<std::string, kernel_info, std::less<>> kernels_;
  std::vector<std::string> kernel_names_;
  std::set<std::string, std::less<>> other_names_;  // names of host functions at file scope
  std::vector<imported_function> functions_;
  std::vector<import_error> errors_;
  bool has_main_ = false;
};

}  // namespace warpcheck::cli
