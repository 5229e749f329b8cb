// The launches of a PTX module's kernels, as options of `warpcheck run-emulated` describe them: arrays from .npy files
// or without values, kernels with their shapes and arguments, and files for the final contents of arrays.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "command/run_emulated.hpp"
#include "command/support.hpp"
#include "command/translator/ptx_module.hpp"
#include "properties/engine/files/memory_file.hpp"
#include "properties/engine/files/npy.hpp"

namespace warpcheck::cli {

class ptx_launches {
 public:
  // Throws usage_error for options that do not fit the module.
  ptx_launches(const run_emulated_options& options, const ptx_module& module);

  // The arguments of the module's program (simt/import/ptx_program.hpp).
  const std::vector<std::string>& arguments() const { return arguments_; }
  // Returns a sentence on each array that a finished run left with other bits than expected.
  std::vector<std::string> differences() const;
  // Writes the requested arrays as the last run left them.
  void write_arrays() const;

 private:
  struct device_array {
    std::string name;
    engine::npy_array content;  // without bytes: not yet written
    std::unique_ptr<engine::memory_file> before, after;
    std::string raw_file;  // bytes without a header, written back as such; its holes are not yet written
    std::string written_to;
    std::optional<engine::npy_array> expected;
    std::string expected_name;
  };

  void add_array(const std::string& option);
  void add_launch(const std::string& option, const ptx_module& module);
  void add_argument(const ptx_function& kernel, const ptx_variable& parameter, const std::string& text);
  std::string array_argument(const ptx_function& kernel, const ptx_variable& parameter, const std::string& text) const;
  device_array& find(const std::string& option, const std::string& name);
  std::vector<std::byte> bytes_after(const device_array& a) const;

  std::vector<device_array> arrays_;
  std::vector<std::string> arguments_;
};

}  // namespace warpcheck::cli
