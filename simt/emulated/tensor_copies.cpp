// Bulk copies of boxes of tensors, and bulk reductions.
#include <algorithm>
#include <cstring>

#include "simt/emulated/certificate.hpp"
#include "simt/emulated/flights.hpp"
#include "simt/emulated/happens_before.hpp"
#include "simt/emulated/tensor.hpp"

namespace simt {
inline namespace emu {
namespace {

constexpr uint32_t k_chunk = 16;  // bytes that a swizzle keeps together

[[noreturn]] void refuse_tensor(const std::string& what) {
  fail("launch_limit",
       [&] { return describe(*current) + " copies a box of a tensor at " + describe(current->site) + ": " + what; });
}

const tensor_map& checked_map(const tensor_map* map, unsigned rank, const tensor_coordinates& at, const void* pc) {
  need_alignment(map, alignof(tensor_map), "tensor map");
  hb_read(map, sizeof *map, pc);
  if (map->mark != k_tensor_map_mark) refuse_tensor("its tensor map is not one that cuTensorMapEncodeTiled encoded");
  if (map->rank != rank)
    refuse_tensor("it has " + std::to_string(rank) + " coordinates, and its tensor map " + std::to_string(map->rank) +
                  " dimensions");
  const int64_t rest = int64_t{at[0]} * bytes_of(map->type) % k_chunk;
  if (rest == 0) return *map;
  fail("misaligned", [&] {
    return describe(*current) + " copies a box of a tensor at " + describe(current->site) + ": it begins at byte " +
           std::to_string(int64_t{at[0]} * bytes_of(map->type)) + " of a row, allowed are multiples of 16";
  });
}

local_shared_ptr<tensor_tile> tile_of(const tensor_map& map, const tensor_coordinates& at, const void* tile) {
  auto t = make_local_shared<tensor_tile>();
  t->type = map.type;
  t->pattern = map.pattern;
  t->fills_with_nan = map.fills_with_nan;
  t->pieces = pieces_of_box(map, at);
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

// Calls visit(offset, bytes) for the bytes of a tile in shared memory: all of them where its rows leave no gaps.
template <class Visit>
void places_of(const tensor_tile& t, const tensor_map& map, bool outside_too, const Visit& visit) {
  if (outside_too && bytes_of_row(map) == pitch_of_tile(map)) return visit(0u, rows_of_box(map) * bytes_of_row(map));
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

void tensor_load(void* destination, const tensor_map* map, unsigned rank, const tensor_coordinates& at,
                 mbarrier* barrier, uint16_t ranks, call_site site) {
  const void* const pc = SIMT_PC;
  current->site = site;
  access_point();
  const tensor_map& m = checked_map(map, rank, at, pc);
  need_alignment(destination, 128, "destination");
  need_own_shared(destination);
  const auto tile = tile_of(m, at, destination);
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

void tensor_store(const tensor_map* map, unsigned rank, const tensor_coordinates& at, const void* source,
                  tensor_reduction how, call_site site) {
  const void* const pc = SIMT_PC;
  thread& self = *current;
  self.site = site;
  access_point();
  const tensor_map& m = checked_map(map, rank, at, pc);
  need_alignment(source, 128, "source");
  need_own_shared(source, "source");
  if (!has_reduction(m.type, how)) refuse_tensor("elements of its type have no such reduction");
  const auto tile = tile_of(m, at, source);
  tile->reduction = how;
  const uint32_t reader = hb_name_agent(self, agent_kind::copy);
  places_of(*tile, m, false, [&](uint32_t offset, uint32_t bytes) {
    const char* const from = static_cast<const char*>(source) + offset;
    hb_enters_proxy(self, from, bytes, proxy_use::reads, pc);
    hb_agent_access(reader, 1, from, bytes, false, pc);
  });
  start_tile_store(tile, source, reader, pc);
}

void tensor_prefetch(const tensor_map* map, unsigned rank, const tensor_coordinates& at, call_site site) {
  current->site = site;
  checked_map(map, rank, at, SIMT_PC);
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
