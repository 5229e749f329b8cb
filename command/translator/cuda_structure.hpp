// The structure of a CUDA source, as far as its tokens show it: brackets, scopes, functions, and which code runs on
// the device. Not a C++ parser.
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
    bool overloaded = false;  // by another kernel, or by a function of the host
    bool has_defaults = false;
    std::string parameters;
    std::set<size_t> pointers;  // numbers, from 0, of the parameters that are pointers
  };

  // A function or lambda that runs on the device, from its parameter list to the end of its body.
  struct device_function {
    size_t parameters = 0, body = 0;  // the brackets that open them
    bool also_host = false;
    std::set<std::string_view> pointers;  // names in it that stand for pointers where they stand for a variable
    std::set<std::string_view> declared;  // names of built-in variables that it gives to its own
  };

  // Finds no functions where brackets do not match.
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
  // nullptr: no such kernel.
  const kernel_info* kernel(std::string_view name) const;
  // The innermost one that token i belongs to, or nullptr.
  const device_function* device_code(size_t i) const {
    return owner_[i] == 0 ? nullptr : &device_functions_[owner_[i] - 1];
  }
  // True if token i names a member of something, or something of a namespace or class.
  bool is_member(size_t i) const;
  // The first token of the statement or declaration that token i belongs to.
  size_t statement_start(size_t i) const;
  // The ">" that closes the template arguments opened by the "<" at `open`; k_none where that "<" compares.
  size_t template_arguments_end(size_t open) const;
  // Returns the token behind the template header `template <...> requires ...` at i, or i where there is none.
  size_t skip_template_header(size_t i) const;
  // The "(" of the parameter list of the function declared from `start`, or k_none for anything else.
  size_t parameter_list(size_t start) const;

  void fail(size_t i, std::string construct, std::string allowed);

 private:
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
  std::string namespaces_of(size_t token) const;
  std::vector<std::string> parameter_names(size_t open) const;
  void note_kernel(size_t open, bool is_template);
  void note_device_function(size_t qualifier, size_t open);
  void note_names(device_function& f) const;

  token_list t_;
  std::vector<size_t> match_;
  std::vector<scope> scope_;     // in which each token lies
  std::vector<uint32_t> owner_;  // number of the device function from 1; 0: none
  std::vector<device_function> device_functions_;
  std::map<std::string, kernel_info, std::less<>> kernels_;
  std::vector<std::string> kernel_names_;
  std::set<std::string, std::less<>> other_names_;  // of functions of the host at file scope
  std::vector<imported_function> functions_;
  std::vector<import_error> errors_;
  bool has_main_ = false;
};

}  // namespace warpcheck::cli
