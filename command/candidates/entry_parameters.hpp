// Meaning of the parameters of an entry (`--source FILE.cu --entry NAME`), by their names and the operator's
// description: those of its tensors, "ld" and such a name for the distance of its rows, extents, scalars, and "stream".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "command/translator/importer.hpp"
#include "properties/engine/cases/description.hpp"

namespace warpcheck::cli {

enum class entry_meaning : uint8_t { input, output, distance, extent, integer, number, stream };
struct entry_name {
  std::string name;
  entry_meaning meaning;
  std::string of;      // the tensor, extent or scalar
  uint32_t types = 0;  // of a tensor's elements, of warpcheck_dtype_bit
};

// All that the parameters of an entry for this operator can be called: tensors with their distances in the order of a
// call, extents, scalars, the stream. An extent that bears the name of a tensor is num_EXTENT.
std::vector<entry_name> entry_names(const engine::description& d);

// What a tensor's elements can be in C++: "float".
std::vector<const char*> element_types_of(const entry_name& n);
// A parameter of that name in C++, of the first type that it can have: "const float* x".
std::string declaration_of(const entry_name& n);

// What a function lacks that takes none of these optional tensors and scalars: "bias, alpha!=1".
std::string lacked_text(const std::string& op, const std::vector<std::string>& names);
// The same of an entry with these parameters, which lacks gaps between rows, too, where it has no distance for them.
std::string lacked_text(const engine::description& d, const std::vector<entry_name>& parameters);

// What each parameter is. usage_error where one has no name or an unknown one, where there is no stream, or where no
// form of the operator can be called so: one that all its mandatory tensors and their extents have parameters for.
// `arguments`: what the parameters stand for, "in=x,out=y" or all in their order; "": their names say it.
std::vector<entry_name> entry_parameters(const engine::description& d, const imported_function& entry,
                                         const std::string& arguments = "");

}  // namespace warpcheck::cli
