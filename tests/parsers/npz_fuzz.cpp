// Fuzzes the reader of .npz archives: any bytes are arrays that lie within them, or a usage_error.
#include <cstdint>
#include <cstdlib>

#include "properties/engine/error.hpp"
#include "properties/engine/files/npz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace warpcheck;
  const auto file = std::as_bytes(std::span(data, size));
  try {
    for (const engine::npz_member& m : engine::parse_npz(file, "fuzz.npz"))
      if (m.npy.data() < file.data() || m.npy.data() + m.npy.size() > file.data() + size) std::abort();
  } catch (const engine::usage_error&) {
  }
  return 0;
}
