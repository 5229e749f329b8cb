// Shared memory: one arena per resident block. Declarations lie apart, between red zones, at the same offsets in every
// block; a block finds them filled with the stream's pattern.
#include <algorithm>
#include <cstring>

#include "simt/emulated/executor.hpp"
#include "simt/emulated/region.hpp"

namespace simt {
inline namespace emu {
namespace {

constexpr size_t k_red_zone = 64;
constexpr unsigned char k_red_byte = 0xa5;
constexpr size_t k_canary_bytes = 8;  // at the red zone's start (plain flavour)

void fill_pattern(char* p, size_t bytes) {
  const uint32_t pattern = device.stream->shared_pattern;
  size_t i = 0;
  for (; i + 4 <= bytes; i += 4) std::memcpy(p + i, &pattern, 4);
  std::memcpy(p + i, &pattern, bytes - i);
}

void open_declaration(const block_state& b, const shared_declaration& d) {
  char* p = b.arena + d.offset;
  region_open(p, d.bytes);
  fill_pattern(p, d.bytes);
  if (k_plain_flavour) std::memset(p + d.bytes, k_red_byte, k_canary_bytes);
}

}  // namespace

void open_shared(block_state& b) {
  b.arena = region_arena(b.slot);
  for (const shared_declaration& d : device.declarations) open_declaration(b, d);
}

void close_shared(const block_state& b) {
  for (const shared_declaration& d : device.declarations) {
    // The other flavours see an access that comes too late; here it finds the pattern instead of the values.
    if (k_plain_flavour) fill_pattern(b.arena + d.offset, d.bytes);
    region_close(b.arena + d.offset, d.bytes);
  }
}

void check_shared_canaries(const block_state& b) {
  for (const shared_declaration& d : device.declarations) {
    for (size_t i = 0; i < k_canary_bytes; ++i) {
      if (static_cast<unsigned char>(b.arena[d.offset + d.bytes + i]) == k_red_byte) continue;
      fail("out_of_bounds", [&] {
        return "block (" + std::to_string(b.index.x) + "," + std::to_string(b.index.y) + "," +
               std::to_string(b.index.z) + ") wrote " + std::to_string(i) +
               " bytes past the end of a shared array of " + std::to_string(d.bytes) +
               " bytes (the race and asan flavours name the line)";
      });
    }
  }
}

void* shared_slot(const void* declaration, size_t bytes, size_t align) {
  block_state& b = *current->home;
  for (const shared_declaration& d : device.declarations)
    if (d.id == declaration) return b.arena + d.offset;
  device.static_bytes = (device.static_bytes + align - 1) / align * align + bytes;
  const machine_limits limits;
  if (device.static_bytes > limits.static_shared_bytes ||
      device.static_bytes + device.dynamic_bytes > limits.shared_bytes) {
    fail("launch_limit", [&] {
      return "shared memory of a block is " + std::to_string(device.static_bytes) + " bytes static and " +
             std::to_string(device.dynamic_bytes) + " bytes dynamic, allowed are at most " +
             std::to_string(limits.static_shared_bytes) + " static and " + std::to_string(limits.shared_bytes) +
             " together";
    });
  }
  const size_t apart = std::max<size_t>(align, 16);
  const size_t offset = (std::max<size_t>(device.static_end, first_static_address()) + apart - 1) / apart * apart;
  device.static_end = offset + bytes + k_red_zone;
  const shared_declaration added = {declaration, offset, bytes};
  device.declarations.push_back(added);
  for (const auto& other : device.blocks)
    if (other->active) open_declaration(*other, added);
  return b.arena + offset;
}

bool is_shared(const void* p) noexcept {
  return reinterpret_cast<uintptr_t>(p) - reinterpret_cast<uintptr_t>(region_base()) < k_arenas_bytes;
}

bool in_kernel() noexcept { return current != nullptr; }

uint32_t first_static_address() {
  return k_first_shared + static_cast<uint32_t>((device.dynamic_bytes + k_red_zone + 1023) / 1024 * 1024);
}

void* dynamic_shared() noexcept { return current->home->arena + k_arena_dynamic; }

}  // namespace emu
}  // namespace simt
