// The declarations of variables that the importer rewrites.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "command/translator/cuda_structure.hpp"

namespace warpcheck::cli {

struct cuda_declarator {
  std::string type;  // without the brackets of the declarator
  std::string name;
  std::string extents;  // "[32][33]" or empty
  size_t name_token = 0;
  bool initialised = false;
};
struct cuda_declaration {
  std::string alignment = "1";
  bool is_extern = false, is_const = false, is_local = false;  // local: static or inline
  std::vector<cuda_declarator> declarators;
  size_t type_token = 0;  // the first word of the type
  size_t end = 0;         // the ";"
};

// Returns the declaration of variables that starts at token `start`, or nothing if it is not a plain one; `refused` is
// then the token that shows it.
std::optional<cuda_declaration> parse_variables(const cuda_structure& s, size_t start, size_t& refused);

}  // namespace warpcheck::cli
