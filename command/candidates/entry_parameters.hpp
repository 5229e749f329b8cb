// Meaning of the parameters of an entry (`--source FILE.cu --entry NAME`), by their names and the operator's
// description: the names of tensors, "ld" with such a name for the distance of its rows, extents, scalars, "stream",
// and "reserve" with "reserve_bytes".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "command/translator/importer.hpp"
#include "properties/engine/cases/description.hpp"

namespace warpcheck::cli {

enum class entry_meaning : uint8_t { input, output, distance, extent, integer, number, stream, reserve, reserve_bytes };
struct entry_name {
  std::string name;
  entry_meaning meaning;
  std::string of;      // the tensor, extent or scalar
  uint32_t types = 0;  // of a tensor's elements, of warpcheck_dtype_bit
};

// Returns all names that the parameters of an entry for this operator can have: tensors with their distances in the
// order of a call, extents, scalars, the stream and the reserve (abi/candidate_reserve.h) of an operator of two passes.
// An extent with the name of a tensor is num_EXTENT.
std::vector<entry_name> entry_names(const engine::description& d);

// Returns the C++ types of a tensor's elements, such as "float".
std::vector<const char*> element_types_of(const entry_name& n);
// A parameter of that name in C++, of the first type that it can have: "const float* x".
std::string declaration_of(const entry_name& n);

// Returns the traits that a function without these optional tensors and scalars lacks: "bias, alpha!=1".
std::string lacked_text(const std::string& op, const std::vector<std::string>& names);
// The same for an entry with these parameters. It also lacks gaps between rows if it has no distance, more than one of
// an extent that it need not have, and with a reserve a backward pass alone.
std::string lacked_text(const engine::description& d, const std::vector<entry_name>& parameters);

// Returns the meaning of each parameter. Throws usage_error if one has no name or an unknown name, if there is no
// stream, or if no form of the operator fits: all mandatory tensors of a form need parameters, and so do their extents
// unless one of an extent is enough (extent_info::is_single).
// `arguments`: the meanings of the parameters, "in=x,out=y" or all in order; "": by their names.
std::vector<entry_name> entry_parameters(const engine::description& d, const imported_function& entry,
                                         const std::string& arguments = "");

}  // namespace warpcheck::cli
