// Packed shadow cells lose no access: what does not fit is kept elsewhere, and its races are found.
#include <gtest/gtest.h>

#include <random>

#include "simt/emulated/packed_cells.hpp"
#include "tests/simt/cells_kernels.hpp"
#include "tests/simt/device_array.hpp"

namespace warpcheck::self {
namespace {

simt::emulation run(void (*kernel)(int*, int, simt::emulation*), int flaw, const char* schedule) {
  simt::emulation stream;
  stream.schedule = simt::schedule::parse(schedule);
  device_array<int> words(128);
  try {
    kernel(words.data(), flaw, &stream);
  } catch (const simt::device_error&) {  // the stream has the finding
  }
  return stream;
}

void judge(void (*kernel)(int*, int, simt::emulation*), int flaws) {
  for (const char* schedule : {"fair", "greedy", "reverse"}) {
    const simt::emulation clean = run(kernel, 0, schedule);
    EXPECT_TRUE(clean.ok()) << clean.findings.front().text;
    EXPECT_EQ(clean.certified, 1u);
    for (int flaw = 1; flaw <= flaws; ++flaw) {
      const simt::emulation guilty = run(kernel, flaw, schedule);
      ASSERT_FALSE(guilty.ok()) << "flaw " << flaw << " under " << schedule;
      EXPECT_EQ(guilty.findings.front().kind, "race");
    }
  }
}

TEST(cells, keep_epochs_that_do_not_fit) { judge(run_late_epochs, 1); }
TEST(cells, keep_more_accesses_than_two) { judge(run_many_accesses, 2); }
TEST(cells, keep_an_atomic_for_a_later_read) { judge(run_read_after_atomic, 1); }
TEST(cells, keep_the_parts_of_a_word) { judge(run_parts_of_words, 3); }

bool are_equal(const simt::access_record& a, const simt::access_record& b) {
  return a.thread == b.thread && a.clock == b.clock && a.pc == b.pc;
}

// Cells of random accesses: of 13 places in the code, or of more than there are numbers for.
TEST(cells, are_packed_without_loss_or_not_at_all) {
  std::mt19937 engine(1);
  const auto random = [&engine] { return static_cast<uint32_t>(engine()); };
  unsigned packed_cells = 0, large_cells = 0;
  for (int i = 0; i < 40000; ++i) {
    simt::shadow_cell c = {};
    unsigned accesses = 0;
    const auto fill = [&](simt::access_record& a, uint32_t marks) {
      if (random() % 2 == 0) return false;
      a = {random() | 1, random() % (simt::k_packed_clocks / 8 * 9), random() % (i < 1000 ? 13u : 1u << 20) | marks};
      ++accesses;
      return true;
    };
    fill(c.write, 0);
    if (fill(c.atomics[0], random() % 8 << 29)) fill(c.atomics[1], 0);
    if (fill(c.reads[0], random() % 2 << 31)) fill(c.reads[1], 0);
    if (accesses > 0 && random() % 2 == 0) c.write.pc |= simt::k_dropped_reads;
    if (accesses > 0 && random() % 2 == 0) c.write.pc |= simt::k_dropped_atomics;
    simt::packed_cell packed = {};
    if (!simt::pack(c, packed)) {
      ++large_cells;
      packed = simt::new_link(c);
    } else {
      ++packed_cells;
      EXPECT_LE(accesses, 2u);
    }
    const simt::shadow_cell after = simt::unpack(packed);
    EXPECT_TRUE(are_equal(c.write, after.write) && are_equal(c.atomics[0], after.atomics[0]) &&
                are_equal(c.atomics[1], after.atomics[1]) && are_equal(c.reads[0], after.reads[0]) &&
                are_equal(c.reads[1], after.reads[1]));
  }
  EXPECT_GT(packed_cells, 1000u);
  EXPECT_GT(large_cells, 1000u);
}

}  // namespace
}  // namespace warpcheck::self
