// Fuzzes the case line's parser: any text is a usage_error or a case whose own text reads back as the same case, and
// whose data can be made.
#include <cstdint>
#include <cstdlib>

#include "properties/engine/cases/case.hpp"
#include "properties/engine/error.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace warpcheck::engine;
  try {
    const trial_case c = parse_case({reinterpret_cast<const char*>(data), size});
    const std::string canonical = format(c);
    if (parse_case(canonical) != c || format(parse_case(canonical)) != canonical) std::abort();
    for (const tensor_spec& t : c.tensors)
      if (t.is_input && t.fill.distribution != "npy") value_source(t.fill, t.type, t.cols()).bits(0, 0);
  } catch (const usage_error&) {
  }
  return 0;
}
