#include "simt/emulated/bank_counts.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "simt/emulated/own_vector.hpp"

namespace simt {
inline namespace emu {
namespace {

constexpr unsigned k_banks = 32;
constexpr size_t k_word = 4, k_most_bytes = 16;

struct bank_access {
  uint32_t place;  // in the code
  uint32_t turn;   // how often the lane has been there before, since the lanes met
  uint32_t first_word;
  uint8_t lane, words, lanes_at_once;
};

own_vector<own_vector<bank_access>> g_of_warps;  // by resident warp, since its lanes met

// Accesses of lanes that are served at once.
void add(const bank_access* from, const bank_access* to, launch_counts& counts) {
  uint32_t words[k_lanes * k_most_bytes / k_word];
  uint32_t* end = words;
  for (; from != to; ++from)
    for (uint32_t w = 0; w < from->words; ++w) *end++ = from->first_word + w;
  std::sort(words, end);
  end = std::unique(words, end);
  uint64_t in_bank[k_banks] = {}, most = 0;
  for (const uint32_t* w = words; w != end; ++w) most = std::max(most, ++in_bank[*w % k_banks]);
  counts.wavefronts += most;
  counts.least_wavefronts += (static_cast<uint64_t>(end - words) + k_banks - 1) / k_banks;
}

// The lanes of a part that are served at once have one key.
auto key(const bank_access& a) { return std::tuple(a.place, a.turn, a.lanes_at_once, a.lane / a.lanes_at_once); }

void flush(own_vector<bank_access>& all, launch_counts& counts) {
  std::stable_sort(all.begin(), all.end(), [](const bank_access& a, const bank_access& b) {
    return std::tuple(a.place, a.lane) < std::tuple(b.place, b.lane);
  });
  for (size_t i = 1; i < all.size(); ++i)
    if (all[i].place == all[i - 1].place && all[i].lane == all[i - 1].lane) all[i].turn = all[i - 1].turn + 1;
  std::sort(all.begin(), all.end(), [](const bank_access& a, const bank_access& b) { return key(a) < key(b); });
  const bank_access* from = all.data();
  for (const bank_access *at = from, *end = from + all.size(); at != end; ++at)
    if (at + 1 == end || key(at[1]) != key(*at)) add(std::exchange(from, at + 1), at + 1, counts);
  all.clear();
}

}  // namespace

void count_bank_access(const thread& t, size_t offset, size_t bytes, uint32_t place) {
  if (bytes == 0 || bytes > k_most_bytes) return;
  const size_t warp = t.resident / k_lanes;
  if (g_of_warps.size() <= warp) g_of_warps.resize(warp + 1);
  const auto first = static_cast<uint32_t>(offset / k_word),
             last = static_cast<uint32_t>((offset + bytes - 1) / k_word);
  const auto at_once = static_cast<uint8_t>(bytes > 8 ? 8 : bytes > 4 ? 16 : 32);
  g_of_warps[warp].push_back({place, 0, first, t.lane, static_cast<uint8_t>(last - first + 1), at_once});
}

void count_banks_of_warp(const block_state& b, unsigned warp, launch_counts& counts) {
  const size_t resident = size_t{b.slot} * device.warps + warp;
  if (resident < g_of_warps.size()) flush(g_of_warps[resident], counts);
}

void count_banks_of_block(const block_state& b, launch_counts& counts) {
  for (unsigned w = 0; w < device.warps; ++w) count_banks_of_warp(b, w, counts);
}

}  // namespace emu
}  // namespace simt
