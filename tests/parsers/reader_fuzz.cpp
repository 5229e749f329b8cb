// Fuzzes the golden reader: any bytes are an answer that is written back as it was, or a usage_error.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "golden/reader.hpp"
#include "golden/writer.hpp"
#include "properties/engine/error.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const warpcheck::golden::golden_file file = warpcheck::golden::parse_golden(text, "fuzz.golden");
    if (warpcheck::golden::format(file) != text) std::abort();
    warpcheck::golden::replay_case(file);
  } catch (const warpcheck::engine::usage_error&) {
  }
  try {
    const auto sums = warpcheck::golden::parse_checksums(text, "SHA256SUMS");
    if (warpcheck::golden::format(sums) != text) std::abort();
  } catch (const warpcheck::engine::usage_error&) {
  }
  return 0;
}
