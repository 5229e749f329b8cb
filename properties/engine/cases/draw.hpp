// Random choices of a generator, from RapidCheck's splittable generator. The same seed draws the same case everywhere,
// provided no statement draws twice: the compiler chooses the order in which the arguments of a call are evaluated.
#pragma once

#include <rapidcheck/Random.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace warpcheck::engine {

struct target;

class draw {
 public:
  // `index` is the case's number within its job: generators stratify by it, so that few cases already cover every
  // variant.
  draw(const rc::Random& random, int64_t index) : random_(random), index_(index) {}

  int64_t index() const { return index_; }
  uint64_t bits();
  int64_t between(int64_t least, int64_t most);  // inclusive
  bool chance(int percent) { return between(1, 100) <= percent; }
  double seed() { return static_cast<double>(between(0, 999999)); }
  template <class T>
  const T& one_of(std::span<const T> choices) {
    return choices[static_cast<size_t>(between(0, static_cast<int64_t>(choices.size()) - 1))];
  }
  template <class T>
  T one_of(std::initializer_list<T> choices) {
    return choices.begin()[between(0, static_cast<int64_t>(choices.size()) - 1)];
  }

 private:
  rc::Random random_;
  int64_t index_;
};

// Returns extents that break kernels, at most `most`: the target's dispatch boundaries and tiles, warp and block sizes,
// powers of two, the neighbours of all of these, primes, 1, and small numbers. `extent` is the number of one of the
// target's extents.
std::vector<int64_t> critical_extents(const target& t, int64_t most, size_t extent = 0);
// Draws one of them, or any number up to `usual` (small numbers often).
int64_t draw_extent(draw& d, const target& t, int64_t usual, int64_t most, size_t extent = 0);
// Draws an extent within the range that the target's dispatch gives to variant `i % variants` (its edges often), at
// most `most`; falls back to draw_extent if that range starts beyond `most`.
int64_t draw_extent_of_variant(draw& d, const target& t, int64_t i, int64_t most, size_t extent = 0);

}  // namespace warpcheck::engine
