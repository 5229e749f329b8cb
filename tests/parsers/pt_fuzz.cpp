// Fuzzes the reader of PyTorch's files: any bytes are tensors within their storages, or a usage_error.
#include <cstdint>
#include <cstdlib>

#include "properties/engine/error.hpp"
#include "properties/engine/files/pt.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace warpcheck;
  try {
    for (const engine::pt_tensor& t : engine::parse_pt(std::as_bytes(std::span(data, size)), "fuzz.pt")) {
      size_t bytes = size_of(t.type);
      for (const int64_t extent : t.shape) bytes *= static_cast<size_t>(extent);
      if (bytes <= size_t{1} << 20 && engine::dense_bytes(t).size() != bytes) std::abort();  // expanded ones are larger
    }
  } catch (const engine::usage_error&) {
  }
  return 0;
}
