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

// Loads the library into this process, and with it those forked from it, once a process of its own has shown that it
// can be loaded. environment_error: no such file, a library that does not load, is no plug-in, of another ABI, without
// a kernel for any device. usage_error: what it describes is none, or an operator that exists.
void load_plugin(const std::string& path);

const plugin* plugin_of(std::string_view op);  // null: the operator is not from a plug-in
std::vector<std::string> plugin_operators();   // in the order of loading

}  // namespace warpcheck::cli
