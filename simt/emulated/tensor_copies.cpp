// Bulk copies of boxes of tensors, and bulk reductions.
#include <algorithm>
#include <cstring>

#include "simt/emulated/certificate.hpp"
#include "simt/emulated/flights.hpp"
#include "simt/emulated/happens_before.hpp"
#include "simt/emulated/parts.hpp"
#include "simt/emulated/tensor.hpp"

namespace simt {
inline namespace emu {
namespace {

constexpr uint32_t k_chunk = 16;  // bytes that a swizzle keeps together

[[noreturn]] void refuse_tensor(const std::string& what) {
  fail("launch_limit",
       [&] { return describe(*current) + " copies a box of a tensor at " + describe(current->site) + ": " + what; });
}

const tensor_map& checked_map(const tensor_map* map, const tensor_place& place, const void* pc) {
  need_alignment(map, alignof(tensor_map), "tensor map");
  hb_read(map, sizeof *map, pc);
  hb_uses_map(*current, map, pc);
  if (map->mark != k_tensor_map_mark && map->mark != k_replaced_mark)
    refuse_tensor("its tensor map is not one that the driver encoded");
  if (const std::string broken = map->mark == k_replaced_mark ? broken_rule_of(*map) : ""; !broken.empty())
    refuse_tensor("its tensor map was written by a kernel and breaks a rule: " + broken);
  if (map->is_im2col != place.is_im2col)
    refuse_tensor(place.is_im2col ? "it is of im2col, and its tensor map is tiled"
                                  : "it is tiled, and its tensor map is of im2col");
  if (map->rank != place.rank)
    refuse_tensor("it has " + std::to_string(place.rank) + " coordinates, and its tensor map " +
                  std::to_string(map->rank) + " dimensions");
  for (unsigned i = 0; place.is_im2col && i + 2 < map->rank; ++i) {
    const unsigned dimension = i + first_of_rows(*map);
    const int64_t base = place.at[dimension], end = int64_t{map->last[dimension]} + map->upper[i];
    if (base < map->lower[i] || base > end)
      refuse_tensor("the filter's base is " + std::to_string(base) + " in dimension " + std::to_string(dimension) +
                    ", outside of the box: " + std::to_string(map->lower[i]) + " to " + std::to_string(end));
    const unsigned most = map->rank == 3 ? 65535 : map->rank == 4 ? 255 : 31;
    if (place.offsets[i] > most)
      refuse_tensor("an offset is " + std::to_string(place.offsets[i]) + ", allowed are 0 to " + std::to_string(most));
  }
  const int64_t rest = int64_t{place.at[0]} * bytes_of(map->type) % k_chunk;
  if (rest == 0 || map->interleave != 0) return *map;
  fail("misaligned", [&] {
    return describe(*current) + " copies a box of a tensor at " + describe(current->site) + ": it begins at byte " +
           std::to_string(int64_t{place.at[0]} * bytes_of(map->type)) + " of a row, allowed are multiples of 16";
  });
}

// An H200 answers such stores with an illegal instruction: 221 of 450 random ones, and no other.
void refuse_pixels_outside(const tensor_map& map, const tensor_place& place) {
  for (unsigned i = 0; i + 2 < map.rank; ++i)
    if (map.lower[i] < 0 || map.upper[i] > 0)
      refuse_tensor("the box of its tensor map reaches beyond the tensor, where a GPU does not store");
  for (unsigned i = 0; i < map.rank; ++i)
    if (place.at[i] < 0)
      refuse_tensor("its coordinate " + std::to_string(i) + " is " + std::to_string(place.at[i]) +
                    ", a store of pixels needs at least 0");
}

local_shared_ptr<tensor_tile> tile_of(const tensor_map& map, const tensor_place& place, const void* tile) {
  auto t = make_local_shared<tensor_tile>();
  t->type = map.type;
  t->pattern = map.pattern;
  t->fills_with_nan = map.fills_with_nan;
  t->pieces = pieces_of_box(map, place);
  t->place = static_cast<size_t>(static_cast<const char*>(tile) - current->home->arena);
  return t;
}

// Calls visit(bytes from the tile's begin, bytes from the piece's begin, bytes) for each chunk of a piece.
template <class Visit>
void chunks(const tensor_tile& t, const tensor_piece& p, const Visit& visit) {
  const auto place = static_cast<uint32_t>(t.place);
  for (uint32_t done = 0; done < p.bytes;) {
    const uint32_t at = place + p.offset + done, bytes = std::min(p.bytes - done, k_chunk - at % k_chunk);
    visit(swizzled(t.pattern, at) - place, done, bytes);
    done += bytes;
  }
}

// Calls visit(offset, bytes) for the bytes of a tile in shared memory: all of them where its rows leave no gaps and end
// with one of the swizzle.
template <class Visit>
void places_of(const tensor_tile& t, const tensor_map& map, bool outside_too, const Visit& visit) {
  const uint32_t bytes = rows_of_box(map) * bytes_of_row(map);
  if (outside_too && bytes_of_row(map) == pitch_of_tile(map) && bytes % swizzle_bytes(map.pattern) == 0)
    return visit(0u, bytes);
  for (const tensor_piece& p : t.pieces)
    if (outside_too || p.global != nullptr)
      chunks(t, p, [&](uint32_t offset, uint32_t, uint32_t bytes) { visit(offset, bytes); });
}

void start_load(const local_shared_ptr<tensor_tile>& tile, const tensor_map& map, char* to, mbarrier* on,
                bool is_multicast, const void* pc) {
  thread& self = *current;
  places_of(*tile, map, true,
            [&](uint32_t offset, uint32_t bytes) { hb_enters_proxy(self, to + offset, bytes, proxy_use::writes, pc); });
  const uint32_t id = hb_name_agent(self, agent_kind::copy);
  for (const tensor_piece& p : tile->pieces)
    if (p.global != nullptr) hb_agent_access(id, 1, p.global, p.bytes, false, pc);
  places_of(*tile, map, true,
            [&](uint32_t offset, uint32_t bytes) { hb_agent_access(id, 1, to + offset, bytes, true, pc); });
  if (is_multicast) hb_flight_counts(id, on, sizeof *on, pc);
  start_flight({to, nullptr, 0, rows_of_box(map) * bytes_of_row(map), on, id, tile});
}

// A store or reduction: the names under which it reads shared and writes global memory.
void start_tile_store(local_shared_ptr<tensor_tile> tile, const void* source, uint32_t reader, const void* pc) {
  thread& self = *current;
  const uint32_t writer = hb_name_agent(self, agent_kind::copy);
  const bool reduces = tile->reduction != tensor_reduction::none;
  const pending_store s = {nullptr, source, 0, self.open_store_group, false, reader, writer, std::move(tile)};
  const bool repeats = !reduces && is_in_flight(s);
  for (const tensor_piece& p : s.tile->pieces) {
    if (p.global == nullptr || repeats) continue;
    if (reduces) {
      note_effect_of_order();
      hb_flight_counts(writer, p.global, p.bytes, pc);
      hb_bulk_reduces(p.global, p.bytes, s.tile->type, s.tile->reduction, pc);
    } else {
      hb_agent_access(writer, 1, p.global, p.bytes, true, pc);
    }
  }
  start_store(s);
}

}  // namespace

void load_tile(const tensor_tile& t, char* destination) {
  for (const tensor_piece& p : t.pieces)
    chunks(t, p, [&](uint32_t offset, uint32_t done, uint32_t bytes) {
      char* const to = destination + offset;
      if (p.global == nullptr) return fill_outside(t.fills_with_nan, to, bytes);
      std::memcpy(to, p.global + done, bytes);
      convert_loaded(t.type, to, bytes);
    });
}

void store_tile(const tensor_tile& t, const char* source) {
  for (const tensor_piece& p : t.pieces) {
    if (p.global == nullptr) continue;
    chunks(t, p, [&](uint32_t offset, uint32_t done, uint32_t bytes) {
      if (t.reduction == tensor_reduction::none)
        std::memcpy(p.global + done, source + offset, bytes);
      else
        reduce_elements(t.type, t.reduction, p.global + done, source + offset, bytes);
    });
  }
}

void tensor_load(void* destination, const tensor_map* map, const tensor_place& place, mbarrier* barrier, uint16_t ranks,
                 call_site site) {
  const void* const pc = SIMT_PC;
  current->site = site;
  access_point();
  const tensor_map& m = checked_map(map, place, pc);
  need_alignment(destination, 128, "destination");
  need_own_shared(destination);
  const auto tile = tile_of(m, place, destination);
  if (ranks == 0) {
    need_completion(barrier, site, pc);
    return start_load(tile, m, static_cast<char*>(destination), barrier, false, pc);
  }
  need_ranks(ranks);
  for (unsigned to = 0; to < device.cluster; ++to) {
    if ((ranks >> to & 1) == 0) continue;
    auto* const on = reinterpret_cast<mbarrier*>(in_rank(barrier, to));
    need_remote_completion(on, pc);
    start_load(tile, m, in_rank(destination, to), on, true, pc);
  }
}

tensor_map map_of_matrix(tensor_element type, const void* data, int64_t rows, int64_t cols, int64_t pitch,
                         unsigned box_rows, unsigned box_cols, swizzle s) {
  const uint64_t sizes[] = {static_cast<uint64_t>(cols), static_cast<uint64_t>(rows)};
  const uint64_t strides[] = {static_cast<uint64_t>(pitch)};
  const uint32_t box[] = {box_cols, box_rows}, steps[] = {1, 1};
  const int pattern = s == swizzle::none ? 0 : 4 - static_cast<int>(s);  // as the driver numbers them
  tensor_map map;
  const std::string broken =
      encode_tensor_map({static_cast<int>(type), 2, data, sizes, strides, box, steps, 0, pattern, 3, 0}, map);
  if (!broken.empty()) throw device_error("tensor map: " + broken);
  return map;
}

void tensor_store(const tensor_map* map, const tensor_place& place, const void* source, tensor_reduction how,
                  call_site site) {
  const void* const pc = SIMT_PC;
  thread& self = *current;
  self.site = site;
  access_point();
  const tensor_map& m = checked_map(map, place, pc);
  need_alignment(source, 128, "source");
  need_own_shared(source, "source");
  if (m.is_im2col) refuse_pixels_outside(m, place);
  if (!has_reduction(m.type, how)) refuse_tensor("elements of its type have no such reduction");
  const auto tile = tile_of(m, place, source);
  tile->reduction = how;
  const uint32_t reader = hb_name_agent(self, agent_kind::copy);
  places_of(*tile, m, false, [&](uint32_t offset, uint32_t bytes) {
    const char* const from = static_cast<const char*>(source) + offset;
    hb_enters_proxy(self, from, bytes, proxy_use::reads, pc);
    hb_agent_access(reader, 1, from, bytes, false, pc);
  });
  start_tile_store(tile, source, reader, pc);
}

void tensor_prefetch(const tensor_map* map, const tensor_place& place, call_site site) {
  current->site = site;
  checked_map(map, place, SIMT_PC);
}

void replace_in_map(tensor_map* map, tensor_field field, unsigned ordinal, uint64_t value, call_site site) {
  const void* const pc = SIMT_PC;
  current->site = site;
  access_point();
  need_alignment(map, alignof(tensor_map), "tensor map");
  hb_read(map, sizeof *map, pc);
  const std::string broken = replace_field(*map, field, ordinal, value);
  if (!broken.empty())
    fail("launch_limit",
         [&] { return describe(*current) + " replaces a field of a tensor map at " + describe(site) + ": " + broken; });
  hb_agent_access(current->id, current->clock, map, sizeof *map, true, pc);
}

void release_maps(memory_scope scope) {
  fence(scope, fence_order::acquire_release);
  hb_releases_maps(*current);
}

void acquire_map(const tensor_map* map, memory_scope scope) {
  fence(scope, fence_order::acquire_release);
  hb_acquires_map(*current, map);
}

void copy_map(tensor_map* to, const tensor_map* from, memory_scope scope, call_site site) {
  const void* const pc = SIMT_PC;
  warp_collective(warp_op::sync, ~0u, 0, 0, 32, site);
  if (current->lane == 0) {
    need_alignment(to, alignof(tensor_map), "tensor map");
    need_alignment(from, alignof(tensor_map), "tensor map");
    hb_read(from, sizeof *from, pc);
    hb_agent_access(current->id, current->clock, to, sizeof *to, true, pc);
    *to = *from;
    release_maps(scope);
  }
  warp_collective(warp_op::sync, ~0u, 0, 0, 32, site);
}

void bulk_reduce(void* destination, const void* source, unsigned bytes, tensor_element type, tensor_reduction how,
                 call_site site) {
  const void* const pc = SIMT_PC;
  thread& self = *current;
  self.site = site;
  access_point();
  need_alignment(destination, 16, "destination");
  need_alignment(source, 16, "source");
  need_own_shared(source, "source");
  if (bytes % 16 != 0) {
    fail("misaligned", [&] {
      return describe(self) + " starts a bulk reduction of " + std::to_string(bytes) +
             " bytes, allowed are multiples of 16, at " + describe(site);
    });
  }
  auto tile = make_local_shared<tensor_tile>();
  tile->type = type;
  tile->reduction = how;
  tile->pieces = {{0, static_cast<char*>(destination), bytes}};
  hb_enters_proxy(self, source, bytes, proxy_use::reads, pc);
  const uint32_t reader = hb_name_agent(self, agent_kind::copy);
  hb_agent_access(reader, 1, source, bytes, false, pc);
  start_tile_store(std::move(tile), source, reader, pc);
}

}  // namespace emu
}  // namespace simt
