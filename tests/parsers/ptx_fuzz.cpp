// Fuzzes the parser of PTX modules: any text is a usage_error that names its line, or a module with a program.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "command/translator/ptx_module.hpp"
#include "properties/engine/error.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const warpcheck::cli::ptx_module module =
        warpcheck::cli::parse_ptx({reinterpret_cast<const char*>(data), size}, "m.ptx");
    module.origins();
    if (program_of(module).find("int main(") == std::string::npos) std::abort();
  } catch (const warpcheck::engine::usage_error& e) {
    const std::string_view says = e.what();
    if (!says.starts_with("m.ptx:") || std::atoi(e.what() + 6) < 1) std::abort();
  }
  return 0;
}
