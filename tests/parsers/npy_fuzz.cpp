// Fuzzes the .npy reader: any bytes are an array whose shape fits its data, or a usage_error.
#include <cstdint>
#include <cstdlib>

#include "properties/engine/error.hpp"
#include "properties/engine/files/npy.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace warpcheck;
  try {
    const engine::npy_array a = engine::parse_npy(std::as_bytes(std::span(data, size)), "fuzz.npy");
    if (a.bytes.size() != static_cast<size_t>(a.rows) * static_cast<size_t>(a.cols) * size_of(a.type)) std::abort();
  } catch (const engine::usage_error&) {
  }
  return 0;
}
