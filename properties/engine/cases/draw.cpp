#include "properties/engine/cases/draw.hpp"

#include <algorithm>

#include "properties/engine/cases/description.hpp"
#include "properties/engine/trials/property.hpp"

namespace warpcheck::engine {

uint64_t draw::bits() { return random_.next(); }

int64_t draw::between(int64_t least, int64_t most) {
  // Multiply-shift instead of modulo: unbiased enough for choices, and the same on every platform.
  const auto width = static_cast<unsigned __int128>(most - least) + 1;
  return least + static_cast<int64_t>((static_cast<unsigned __int128>(random_.next()) * width) >> 64);
}

std::vector<int64_t> critical_extents(const target& t, int64_t most, size_t extent) {
  std::vector<int64_t> centres = {1,   2,   3,    4,    8,    16,   32,    64,    96,    128,
                                  256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 128256};
  centres.insert(centres.end(), {5, 7, 31, 61, 127, 257, 509, 517, 1000, 1021, 2039, 4093, 8191, 16381, 32749});
  // A target made by hand may publish nothing of this extent.
  if (extent < t.boundaries.size())
    centres.insert(centres.end(), t.boundaries[extent].begin(), t.boundaries[extent].end());
  for (const target::variant& v : t.variants) {
    if (extent >= v.ranges.size()) continue;
    const warpcheck_range& r = v.ranges[extent];
    centres.insert(centres.end(), {r.min, r.max, r.dispatch_min, r.dispatch_max});
  }
  std::vector<int64_t> all;
  for (int64_t c : centres)
    for (int64_t e : {c - 1, c, c + 1})
      if (e >= 1 && e <= most) all.push_back(e);
  std::ranges::sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

int64_t draw_extent(draw& d, const target& t, int64_t usual, int64_t most, size_t extent) {
  const int64_t kind = d.between(0, 9);
  if (kind < 2) return d.between(1, std::min<int64_t>(usual, 40));
  if (kind < 5) return d.between(1, usual);
  const std::vector<int64_t> critical = critical_extents(t, kind < 9 ? std::min(usual, most) : most, extent);
  return d.one_of(std::span<const int64_t>(critical));
}

int64_t draw_extent_of_variant(draw& d, const target& t, int64_t i, int64_t most, size_t extent) {
  if (t.variants.empty()) return draw_extent(d, t, most, most, extent);
  const std::vector<warpcheck_range>& ranges = t.variants[static_cast<size_t>(i) % t.variants.size()].ranges;
  if (extent >= ranges.size()) return draw_extent(d, t, most, most, extent);
  const warpcheck_range& r = ranges[extent];
  const int64_t least = std::max<int64_t>(1, r.dispatch_min);
  const int64_t greatest = r.dispatch_max < 0 ? most : std::min(r.dispatch_max, most);
  if (least > greatest) return draw_extent(d, t, most, most, extent);
  switch (d.between(0, 3)) {
    case 0: return least;
    case 1: return greatest;
    default: return d.between(least, greatest);
  }
}

sizes draw_sizes(draw& d, const target& t, const description& of, const sizes& most) {
  sizes drawn;
  for (const extent_info& e : of.extents) {
    if (e.derived) continue;
    const auto limit = most.find(e.name);
    const int64_t greatest = limit == most.end() ? 33 : limit->second;
    const auto published = std::ranges::find(t.extents, e.name);
    const int64_t kind = d.between(0, 19);
    if (kind == 0)
      drawn[e.name] = d.between(0, 1);
    else if (published == t.extents.end())
      drawn[e.name] = kind < 12
                          ? d.between(1, std::min<int64_t>(greatest, 8))
                          : std::min<int64_t>(greatest, d.one_of({7, 8, 9, 13, 31, 32, 33, 61, 64, 65, 127, 128, 129}));
    else
      drawn[e.name] = draw_extent(d, t, std::min<int64_t>(greatest, 300), greatest,
                                  static_cast<size_t>(published - t.extents.begin()));
  }
  return drawn;
}

}  // namespace warpcheck::engine
