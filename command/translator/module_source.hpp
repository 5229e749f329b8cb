// Modules that a program loads at run time (simt/import/modules.hpp): texts of PTX, and sources for NVRTC. They become
// further sources of the program.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace warpcheck::cli {

struct module_source {
  std::string key;   // by which the program's library finds it
  std::string name;  // in reports
  std::string text;
  bool is_ptx = true;
  std::vector<std::string> options, expressions;             // of NVRTC: its options, names of kernels
  std::vector<std::pair<std::string, std::string>> headers;  // of NVRTC: names and texts
};
// Reads what module_text::record() reports.
module_source read_module_source(std::string_view fields);

// What NVRTC's options say: macros and folders of headers. Others have no effect here.
struct nvrtc_settings {
  std::vector<std::string> defines, includes;
};
nvrtc_settings settings_of(const module_source& m);

// Puts the module's own text into an unnamed namespace, because several modules may define equal names. `preprocessed`
// has line markers; those of `own_folder` and of the module's name are the module's.
std::string isolated(std::string_view preprocessed, const module_source& m, const std::string& own_folder);

// Returns the statement that registers the module with the program: names of its kernels and its variables.
std::string registration_of(const module_source& m, const std::vector<std::string>& kernels,
                            const std::vector<std::pair<std::string, std::string>>& variables);

}  // namespace warpcheck::cli
