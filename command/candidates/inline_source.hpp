// A CUDA source inside a Python file, as PyTorch's load_inline compiles it; KernelBench files and submissions to GPU
// MODE contain such sources. It becomes a `.cu` file with one function that `--source` takes.
#pragma once

#include <string>

#include "properties/engine/cases/description.hpp"

namespace warpcheck::cli {

inline constexpr const char* k_inline_entry = "warpcheck_inline";  // the function of the file that is made

bool has_inline_source(const std::string& file);  // by its name
const char* inline_source_program();              // the text of inline_source.py, which reads the file

// Returns the text of that file, which will lie at `path`. `entry` is the class or function of the Python file that
// calls the kernel (inline_source.py). Its inputs are the mandatory inputs of the operator, in their order. Nothing of
// the Python file runs. usage_error: the file does more than one call on these inputs. environment_error: there is no
// python3.
std::string inline_source(const std::string& file, const std::string& entry, const engine::description& d,
                          const std::string& path);

}  // namespace warpcheck::cli
