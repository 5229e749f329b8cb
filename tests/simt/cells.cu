// Packed shadow cells lose no access: what does not fit is kept elsewhere, and its races are found.
#include <gtest/gtest.h>

#include <random>

#include "simt/emulated/packed_cells.hpp"
#include "simt/emulation.hpp"
#include "simt/simt.hpp"
#include "tests/simt/device_array.hpp"

namespace warpcheck::self {
inline namespace SIMT_DEVICE_NS {
namespace {

__device__ int thread_number() { return static_cast<int>(threadIdx.x); }

// More epochs than 16 bits count.
__global__ void late_epochs(int* words, int flaw) {
  const int t = thread_number();
  for (int i = 0; i < 70000; ++i) {
    __syncwarp();
    if (i == 60000) __syncthreads();  // which comes after the epoch that the later ones would be taken for
  }
  if (t == 3) words[0] = 1;
  if (flaw != 1) __syncthreads();
  if (t == 35) words[1] = words[0];
}

// A write and two reads that are not ordered, then a write, and a read.
__global__ void many_accesses(int* words, int flaw) {
  const int t = thread_number();
  if (t == 0) words[0] = 1;
  __syncthreads();
  if (t == 40 || t == 80) words[t] = words[0];
  if (flaw != 1) __syncthreads();
  if (t == 120) words[0] = 2;
  if (flaw != 2) __syncthreads();
  if (t == 125) words[t] = words[0];
}

__global__ void read_after_atomic(int* words, int flaw) {
  const int t = thread_number();
  if (t == 0) atomicAdd(words, 1);
  if (flaw != 1) __syncthreads();
  if (t == 40) words[t] = words[0];
}

// Bytes of a word have different writers and readers; other words are written as a whole.
__global__ void parts_of_words(int* words, int flaw) {
  const int t = thread_number();
  auto* bytes = reinterpret_cast<unsigned char*>(words);
  if (t >= 96) words[t] = t;
  if (flaw != 3) __syncthreads();
  const int last = bytes[(96 + t / 4) * 4 + 3];
  bytes[t * 4 % 128 + t / 32] = 1;
  if (flaw != 1) __syncthreads();
  const int sum = words[t / 4];
  if (flaw != 2) __syncthreads();
  bytes[t] = static_cast<unsigned char>(sum + last);
}

// Each kernel gets 128 words of device memory. Flaw 0: none; others leave out a barrier.
simt::emulation run(void (*kernel)(int*, int), unsigned threads, int flaw, const char* schedule) {
  simt::emulation stream;
  stream.schedule = simt::schedule::parse(schedule);
  device_array<int> words(128);
  try {
    simt::launch({1, threads, 0, &stream}, kernel, words.data(), flaw);
  } catch (const simt::device_error&) {  // the stream has the finding
  }
  return stream;
}

void judge(void (*kernel)(int*, int), unsigned threads, int flaws) {
  for (const char* schedule : {"fair", "greedy", "reverse"}) {
    const simt::emulation clean = run(kernel, threads, 0, schedule);
    EXPECT_TRUE(clean.ok()) << clean.findings.front().text;
    EXPECT_EQ(clean.certified, 1u);
    for (int flaw = 1; flaw <= flaws; ++flaw) {
      const simt::emulation guilty = run(kernel, threads, flaw, schedule);
      ASSERT_FALSE(guilty.ok()) << "flaw " << flaw << " under " << schedule;
      EXPECT_EQ(guilty.findings.front().kind, "race");
    }
  }
}

TEST(cells, keep_epochs_that_do_not_fit) { judge(late_epochs, 64, 1); }
TEST(cells, keep_more_accesses_than_two) { judge(many_accesses, 128, 2); }
TEST(cells, keep_an_atomic_for_a_later_read) { judge(read_after_atomic, 64, 1); }
TEST(cells, keep_the_parts_of_a_word) { judge(parts_of_words, 128, 3); }

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
}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck::self
