// The device interface of candidates that run on the host: memory between guard zones and inaccessible pages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

#include "abi/candidate.h"

namespace warpcheck::engine {

const warpcheck_device_api& cpu_device_api();

// The place of new buffers: the first element directly after an inaccessible page, as far as alignment allows; the last
// element directly before one, likewise; or directly before one, with the alignment of one element only.
enum class cpu_placement : uint8_t { behind_page, before_page, flush };
void place_cpu_buffers(cpu_placement where);
cpu_placement cpu_buffers_place();
inline constexpr size_t k_cpu_alignment = 256;

// A touch of an inaccessible page: `offset` bytes from the start of the buffer beside it.
struct page_touch {
  const void* buffer;
  int64_t offset;
};
// Runs `call`. An access to an inaccessible page on this thread ends the call at that point, and the process should end
// soon after. On another thread such an access is a crash.
std::optional<page_touch> until_a_page_is_touched(const std::function<void()>& call);

}  // namespace warpcheck::engine
