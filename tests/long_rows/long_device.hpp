// Device memory for more than 2^31 elements, which hold one value but for a few.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

namespace warpcheck::self {

// Encodings of elements, by their index.
using elements = std::map<int64_t, uint64_t>;

class long_array {
 public:
  long_array() = default;
  virtual ~long_array() = default;
  long_array(const long_array&) = delete;
  long_array& operator=(const long_array&) = delete;

  // Of the first element, on the device.
  virtual void* data() const = 0;
  // Gives the elements that can be looked at, in their order, to visit(index of the first, their number, their bytes).
  virtual void visit(const std::function<void(int64_t, int64_t, const char*)>& visit) const = 0;
};

// `count` elements of `size` bytes, of the value `background` but for those listed. The first lies `offset` elements
// behind a boundary of 256 bytes.
std::unique_ptr<long_array> make_input(size_t size, int64_t count, int64_t offset, uint64_t background,
                                       const elements& listed);
// `count` elements of `size` bytes, all bits of them set. At least those near `places` can be looked at.
std::unique_ptr<long_array> make_output(size_t size, int64_t count, const std::vector<int64_t>& places);

// Makes a stream ready for a launch that long.
void prepare(void* stream);

}  // namespace warpcheck::self
