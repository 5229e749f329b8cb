// Fuzzes the reader of archives: any bytes are members that lie within them or are inflated, or a usage_error.
#include <cstdint>
#include <cstdlib>

#include "properties/engine/error.hpp"
#include "properties/engine/files/zip.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace warpcheck;
  const auto file = std::as_bytes(std::span(data, size));
  try {
    for (const engine::zip_member& m : engine::parse_zip(file, "fuzz.zip"))
      if (m.inflated ? m.bytes.data() != m.inflated->data() || m.bytes.size() != m.inflated->size()
                     : m.bytes.data() < file.data() || m.bytes.data() + m.bytes.size() > file.data() + size)
        std::abort();
  } catch (const engine::usage_error&) {
  }
  return 0;
}
