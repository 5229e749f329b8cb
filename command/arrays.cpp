#include "command/arrays.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "command/commands.hpp"
#include "properties/engine/cases/case_inputs.hpp"
#include "properties/engine/error.hpp"
#include "properties/engine/files/npy.hpp"

namespace warpcheck::cli {

int write_arrays(const engine::trial_case& c, const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error)
    throw engine::environment_error(fmt::format("arrays: cannot make the folder '{}': {}", folder, error.message()));
  engine::tensor_map inputs = engine::inputs_of(c);
  for (const engine::tensor_spec& t : c.tensors) {
    if (!t.is_input) continue;
    const std::string path = (std::filesystem::path(folder) / (t.name + ".npy")).string();
    engine::write_npy(path, {t.type, t.shape, t.rows(), t.cols(), std::move(inputs.at(t.name).bytes), ""});
    fmt::print("{}\n", path);
  }
  return k_pass;
}

}  // namespace warpcheck::cli
