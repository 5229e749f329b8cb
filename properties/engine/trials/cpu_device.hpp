// The device interface of candidates that run on the host: memory between guard zones and pages that nobody may touch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

#include "abi/candidate.h"

namespace warpcheck::engine {

const warpcheck_device_api& cpu_device_api();

// Where buffers lie from now on: their first element right behind an inaccessible page, as far as their alignment
// allows; their last one right before one, likewise; or right before one, aligned to their element only.
enum class cpu_placement : uint8_t { behind_page, before_page, flush };
void place_cpu_buffers(cpu_placement where);
cpu_placement cpu_buffers_place();
inline constexpr size_t k_cpu_alignment = 256;

// A touch of an inaccessible page: `offset` bytes from the start of the buffer beside it.
struct page_touch {
  const void* buffer;
  int64_t offset;
};
// Runs `call`, which a touch on this thread ends where it is: the process must not go on for long after that. On
// another thread it is what it is without this, a crash.
std::optional<page_touch> until_a_page_is_touched(const std::function<void()>& call);

}  // namespace warpcheck::engine
