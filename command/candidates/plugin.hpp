// `--plugin libNAME.so`: operators from outside the repository (golden/plugin.hpp).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace warpcheck::cli {

struct plugin {
  std::string op;
  std::string path;    // of the library
  std::string source;  // folder of the project
  std::string kernel;  // the kernel's file below it
};

// Loads the library into this process, and therefore into those forked from it, after a separate process has shown that
// it can be loaded. Throws environment_error: no such file, or the library does not load, is no plug-in, has another
// ABI version, or has no kernel for any device. Throws usage_error: its description is invalid, or the operator exists
// already.
void load_plugin(const std::string& path);

const plugin* plugin_of(std::string_view op);  // null: the operator is not from a plug-in
std::vector<std::string> plugin_operators();   // in the order of loading

}  // namespace warpcheck::cli
