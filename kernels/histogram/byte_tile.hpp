// A tile of slots for bins of one byte. Lanes and columns are matched so that the updates of a warp at one time lie in
// different banks of shared memory, whatever the bins are. So no update waits for another one of its warp, and a bin
// that takes every row costs no more than any other.
//
// A tile has a bin row of 256 bytes for each bin: a word per bank of one limb, or of two. A lane takes a word of four
// bins of a row. A warp takes four rows at once, or a multiple if there are few columns, which then have several banks.
// In step k the lane of row j and word w adds column 4 w + (k + j) % 4, so the four rows of a word are at its four
// columns, one each. A rotation of the word makes the steps of all rows alike, and one byte permutation gives each
// address.
#pragma once

#include <cstdint>

#include "kernels/primitives/reduce.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

constexpr int k_banks = 32;
constexpr int k_byte_values = 256;
constexpr int k_byte_threads = 1024;
constexpr int k_bin_row_bytes = 256;
constexpr int k_bank_tile_bytes = k_byte_values * k_bin_row_bytes;

// A slot of the tile: its limbs lie in its bin row, then in the bin rows of the same bin in further bank tiles.
template <class Word>
struct byte_slot {
  static constexpr int k_limbs_of_bin_row = k_bin_row_bytes / k_banks / static_cast<int>(sizeof(Word));
  static constexpr int k_bank_tile_words = k_bank_tile_bytes / static_cast<int>(sizeof(Word));
  Word* first;
  __device__ Word* limb(int p) const {
    return first + p % k_limbs_of_bin_row * k_banks + p / k_limbs_of_bin_row * k_bank_tile_words;
  }
};

template <class Updates>
constexpr int k_byte_bank_tiles = (Updates::k_limbs + byte_slot<typename Updates::word>::k_limbs_of_bin_row - 1) /
                                  byte_slot<typename Updates::word>::k_limbs_of_bin_row;

// A lane's share of the rows of at most 32 columns.
struct byte_lane {
  int rows;  // that the warp takes at once
  int row;   // this lane's row among them; no row from `rows` on
  int word;
  int copies;        // of every column, in banks `columns` apart
  int columns;       // including those that only fill the last word
  unsigned turn;     // turned(bins) has the byte of step k at k
  unsigned bank[4];  // of step k, in bytes

  __device__ byte_lane(int num_columns, unsigned word_bytes) {
    const int words = (num_columns + 3) / 4, lane = static_cast<int>(threadIdx.x) % k_warp_size;
    copies = k_banks / 4 / words;
    columns = 4 * words;
    rows = 4 * copies;
    row = lane / words;
    word = lane % words;
    turn = 8 * static_cast<unsigned>(row % 4);
#pragma unroll
    for (int k = 0; k < 4; ++k) bank[k] = static_cast<unsigned>(row / 4 * columns + column(k)) * word_bytes;
  }
  __device__ unsigned turned(unsigned bins) const { return __funnelshift_r(bins, bins, turn); }
  // The place in a bank tile of the slot of step k.
  __device__ unsigned place(unsigned turned_bins, int k) const {
    return __byte_perm(turned_bins, bank[k], 0x5504u | static_cast<unsigned>(k) << 4);
  }
  __device__ int byte(int step) const { return (step + row) % 4; }
  __device__ int column(int step) const { return 4 * word + byte(step); }
};

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
