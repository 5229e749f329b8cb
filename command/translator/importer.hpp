// Foreign CUDA sources on the emulated device: constructs beyond plain C++ are rewritten in place, line by line, so
// that every line of the result is the line of the user's file.
//
//   k<T, 3><<<grid, block, bytes, stream>>>(args)  ->  a call through simt/import/launch.hpp
//   __shared__ T a[N], b;                          ->  SIMT_IMPORT_SHARED for each declarator
//   extern __shared__ T a[];                       ->  the block's dynamic shared memory
//   asm("...")                                     ->  calls of simt/import/ptx.hpp; an unknown one fails where it runs
// __global__ void k(...) {                       ->  returns at once if called outside a launch, which is reported
//   __device__ / __constant__ T v[N] = {...};      ->  the same object in the emulated device's checked memory
//
// The input is preprocessed, but still has CUDA's qualifiers, so macros, conditions and included files are already
// resolved; line markers ("# 12 \"file\" flags") give the origin of each line. The importer is not a C++ parser: it
// recognises tokens and brackets, and distinguishes braces of namespaces, classes and code.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "command/candidates/toolchain.hpp"
#include "command/translator/module_source.hpp"

namespace warpcheck::cli {

// A construct outside the documented subset (docs/run_emulated.md). It leads to a usage_error, exit code 2.
struct import_error {
  std::string file;
  int line = 0;
  std::string construct;  // as written in the source
  std::string allowed;    // what to write instead
  bool operator==(const import_error&) const = default;
};
std::string describe(const import_error& e);

struct imported_function {
  std::string name;                     // with its namespaces: "acme::softmax"
  std::vector<std::string> parameters;  // their names; "" if unnamed
  std::optional<size_t> stream;         // the index of the parameter of type cudaStream_t
  bool is_included = false;             // defined in a file that the source includes
  bool is_kernel = false;               // __global__
};

struct imported_source {
  std::string text;
  bool has_main = false;
  // Results of a class must not be copied: it has a destructor that does something, and no copy constructor, or points
  // into itself.
  bool needs_elision = false;
  std::vector<std::string> kernels;  // names of the __global__ functions, in order of appearance
  // Those that are one function, with their namespaces; and the rewritten variables: their namespaces, their names.
  std::vector<std::string> single_kernels;
  std::vector<std::pair<std::string, std::string>> variables;
  std::vector<imported_function> functions;  // defined outside classes, in the file or in one that it includes
  std::vector<import_error> errors;          // if there are any, `text` must not be used
};
imported_source rewrite_cuda(std::string_view preprocessed, std::string_view file);

// Returns the function of that name, such as "softmax<128>" or "acme::softmax"; namespaces may be omitted if only one
// function matches. The file's own functions come before included ones. Throws usage_error if no function, or several,
// match, or if it is a kernel.
const imported_function& find_entry(const std::vector<imported_function>& defined, const std::string& name,
                                    const std::string& file);

// Returns the folder of compiled sources: in the build folder, or a folder of this user if that is not writable.
std::string import_folder(const toolchain& tools);

// Compiles a foreign source for the emulated device into a shared library and returns its path, cached by content.
struct import_request {
  std::string file;                    // as the user names it
  std::vector<std::string> others;     // further sources of the program, .cu, .cpp or .c
  std::vector<module_source> modules;  // that it loads
  std::string epilogue;                // C++ text after the file; if there is an entry, instead:
  std::function<std::string(const imported_function& entry)> epilogue_of;
  std::vector<std::string> defines;   // NAME or NAME=VALUE, for the user's sources
  std::vector<std::string> includes;  // folders of their headers
  std::vector<std::string> options;   // of the compiler, for them
  std::vector<std::string> headers;   // included before them
  std::string standard;               // of C++, such as "c++20"; empty: the toolchain's
  std::string flavour = "race";
  bool needs_main = false;
  bool traced = false;  // traces its control flow (trace.hpp); flavour plain only
  std::string entry;    // the function that epilogue_of is called with; empty: none
};
// Throws usage_error outside the subset, or with the compiler's message on the user's lines; environment_error without
// a toolchain or the file.
std::string import_library(const toolchain& tools, const import_request& request);

}  // namespace warpcheck::cli
