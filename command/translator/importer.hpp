// Foreign CUDA sources on the emulated device: constructs beyond plain C++ are rewritten in place, line by line, so
// that every line of the result is the line of the user's file.
//
//   k<T, 3><<<grid, block, bytes, stream>>>(args)  ->  a call through simt/import/launch.hpp
//   __shared__ T a[N], b;                          ->  SIMT_IMPORT_SHARED for each declarator
//   extern __shared__ T a[];                       ->  the block's dynamic shared memory
//   asm("...")                                     ->  calls of simt/import/ptx.hpp; an unknown one fails where it runs
//   __global__ void k(...) {                       ->  it returns at once outside of a launch, and that is reported
//   __device__ / __constant__ T v[N] = {...};      ->  the same object in the emulated device's checked memory
//
// The text that comes in is preprocessed, with CUDA's qualifiers left in it, so that macros, conditions and included
// files are already resolved; line markers ("# 12 \"file\" flags") give the origin of each line. Not a C++ parser: it
// recognises tokens and brackets, and distinguishes braces of namespaces, classes and code.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "command/candidates/toolchain.hpp"

namespace warpcheck::cli {

// A construct outside the documented subset (docs/run_emulated.md). It leads to a usage_error, exit code 2.
struct import_error {
  std::string file;
  int line = 0;
  std::string construct;  // as the source has it
  std::string allowed;    // what to write instead
  bool operator==(const import_error&) const = default;
};
std::string describe(const import_error& e);

struct imported_function {
  std::string name;                     // with its namespaces: "acme::softmax"
  std::vector<std::string> parameters;  // their names; "" of one that has none
};

struct imported_source {
  std::string text;
  bool has_main = false;
  std::vector<std::string> kernels;          // names of the __global__ functions, in order of appearance
  std::vector<imported_function> functions;  // that the file itself defines outside classes
  std::vector<import_error> errors;          // all of them; not empty: text is of no use
};
imported_source rewrite_cuda(std::string_view preprocessed, std::string_view file);

// The function of that name, "softmax<128>" or "acme::softmax" among others; namespaces may be left out where that
// leaves one. usage_error where the file defines none, or several.
const imported_function& find_entry(const std::vector<imported_function>& defined, const std::string& name,
                                    const std::string& file);

// The folder where compiled sources are kept: in the build folder, or one of this user alone if that cannot be written.
std::string import_folder(const toolchain& tools);

// Compiles a foreign source for the emulated device into a shared library and returns its path, cached by content.
struct import_request {
  std::string file;                 // as the user names it
  std::vector<std::string> others;  // further sources of the program, .cu, .cpp or .c
  std::string epilogue;             // C++ text after the file; with an entry in place of this:
  std::function<std::string(const imported_function& entry)> epilogue_of;
  std::vector<std::string> defines;   // NAME or NAME=VALUE, for the user's sources
  std::vector<std::string> includes;  // folders of their headers
  std::vector<std::string> options;   // of the compiler, for them
  std::string standard;               // of C++, such as "c++20"; empty: the toolchain's
  std::string flavour = "race";
  bool needs_main = false;
  bool traced = false;  // follows its control (simt/import/trace.hpp); of flavour plain
  std::string entry;    // the function that epilogue_of is asked for; empty: none
};
// usage_error: outside the subset, or what the compiler said about the user's lines. environment_error: no toolchain,
// or no such file.
std::string import_library(const toolchain& tools, const import_request& request);

}  // namespace warpcheck::cli
