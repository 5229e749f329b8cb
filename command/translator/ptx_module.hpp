// A whole PTX module, as nvcc, NVRTC and Triton write it (PTX ISA 9.0, chapters 4, 5 and 11), and the program that runs
// its kernels: C++ for the emulated device, each instruction on its own line of the module.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace warpcheck::cli {

using words = std::vector<std::string>;

// Parts between separators outside of brackets, without blanks around them.
words split_ptx(std::string_view text, char separator);
// Returns the same text with comments blanked out, line by line.
std::string without_ptx_comments(std::string_view text);

// A bracket of a scope, a label, a .loc, or a statement without its ';'.
struct ptx_item {
  enum class kinds { opens, closes, label, location, statement };
  kinds kind;
  std::string text;
  int line;
};
// `line` is that of the first character.
std::vector<ptx_item> ptx_items(std::string_view text, int line);

// A variable or a parameter. count: -1 for an array without a size, 0 if it is no array.
struct ptx_variable {
  std::string space, type, name, values;
  size_t align = 1;
  long count = 0;
  size_t offset = 0;  // for a parameter of a kernel
  int line = 0;
  bool is_extern = false;

  size_t element_bytes() const;
  size_t bytes() const { return element_bytes() * static_cast<size_t>(count == 0 ? 1 : count); }
};
// Parses ".shared .align 4 .b8 name[128] = {...}"; the result has no name if the text is no declaration.
ptx_variable parse_ptx_variable(std::string_view text);

struct ptx_function {
  std::string name;
  bool is_kernel = false;
  std::vector<ptx_variable> parameters, results;
  std::vector<ptx_item> body;
  int line = 0;
  std::array<unsigned, 3> required_block = {}, largest_block = {}, cluster = {};  // zeros: not given

  size_t parameter_bytes() const;
};

struct ptx_module {
  std::string file;
  std::map<int, std::string> sources;  // numbers of .loc: files
  std::vector<ptx_variable> variables;
  std::vector<ptx_function> functions;

  // Returns the C++ function for a call of this name, or "".
  std::string function(const std::string& name) const;
  // Lines of the module: FILE:LINE of the source that they were compiled from, as .loc says.
  std::map<int, std::string> origins() const;
};

bool is_ptx_source(std::string_view file);
// Throws usage_error with FILE:LINE if the text is no module.
ptx_module parse_ptx(std::string_view text, const std::string& file);
// A CUDA program that runs the launches in its arguments (simt/import/ptx_program.hpp).
std::string program_of(const ptx_module& module);
// The same functions as a source of the program that loads the module (simt/import/modules.hpp).
std::string source_of(const ptx_module& module, const std::string& key);

}  // namespace warpcheck::cli
