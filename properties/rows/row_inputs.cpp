#include "properties/rows/row_inputs.hpp"

#include <algorithm>
#include <limits>

namespace warpcheck {

using namespace engine;

int64_t max_elements(const target& t) {
  if (t.device == "cuda") return int64_t{1} << 20;
  return t.size == 0 ? 1 << 12 : t.size == 1 ? 1 << 13 : 1 << 16;
}

int64_t most_cols(const target& t) {
  const int64_t most = t.device == "cuda" ? (t.size == 2 ? (int64_t{1} << 22) + 3 : 131072)
                       : t.size == 0      ? 4200
                                          : 33000;
  return std::min(most, t.max_cols);
}

trial_case row_case(const target& t, std::vector<tensor_spec> tensors) {
  trial_case c;
  c.op = t.op;
  c.tensors = std::move(tensors);
  c.knobs["device"] = t.device;
  if (t.candidate != "builtin") c.knobs["candidate"] = t.candidate;
  return c;
}

int64_t draw_rows(draw& d, const target& t, int64_t cols) {
  const int64_t most =
      std::clamp<int64_t>(max_elements(t) / std::max<int64_t>(1, cols), 1, std::max<int64_t>(1, t.max_rows));
  if (d.chance(50)) return std::min<int64_t>(most, d.between(1, 4));
  return std::min<int64_t>(most, d.one_of({7, 8, 9, 31, 32, 33, 63, 64, 65, 131, 132, 133, 257}));
}

row_length draw_row_length(draw& d, const target& t, int64_t most) {
  if (d.index() % 4 == 3) return draw_forced_length(d, t, d.index() / 4, most);
  return {draw_extent_of_variant(d, t, d.index(), most)};
}

namespace {

// How long the rows of a candidate may be that publishes no variant, where others of the property are the longest they
// can be.
int64_t most_cols_of_stranger(const target& t) {
  constexpr int64_t k_by_size[] = {65537, 170001, (int64_t{1} << 24) + 2};
  constexpr int64_t k_emulated_by_size[] = {0, 65537, 170001};
  const auto size = static_cast<size_t>(t.size);
  return std::min(t.device == "emulated" ? k_emulated_by_size[size] : k_by_size[size], t.max_cols);
}

// Its boundaries in turn, with their neighbours; 0 where another length is due.
int64_t length_of_stranger(const target& t, int64_t i, int64_t most) {
  if (most < most_cols(t) || (t.device == "emulated" && i % 8 != 1)) return 0;
  std::vector<int64_t> lengths;
  const auto add = [&](int64_t n) {
    if (n > most && n <= most_cols_of_stranger(t)) lengths.push_back(n);
  };
  for (const int64_t b : t.boundaries.front())
    for (const int64_t n : {b + 1, b, b - 1}) add(n);
  if (t.size == 2) add((int64_t{1} << 24) + 2);
  // Every other time, so that what lies between is not left out.
  if (lengths.empty() || (t.device != "emulated" && i % 2 == 0)) return 0;
  return lengths[static_cast<size_t>(i / 2) % lengths.size()];
}

}  // namespace

row_length draw_forced_length(draw& d, const target& t, int64_t i, int64_t most) {
  if (t.variants.empty()) {
    const int64_t cols = length_of_stranger(t, i, most);
    return {cols > 0 ? cols : draw_extent(d, t, most, most)};
  }
  const target::variant& v = t.variants[static_cast<size_t>(i) % t.variants.size()];
  const int64_t least = std::max<int64_t>(1, cols_of(v).min);
  const int64_t greatest = std::max(least, cols_of(v).max < 0 ? most : std::min(cols_of(v).max, most));
  if (i < std::ssize(t.variants)) return {greatest, v.name, std::min<int64_t>(2, t.max_rows)};
  std::vector<int64_t> ends;
  for (const int64_t b : t.boundaries.front())
    if (b >= least && b <= greatest) ends.push_back(b);
  if (!ends.empty() && d.chance(60)) return {d.one_of(std::span<const int64_t>(ends)), v.name};
  return {d.between(least, greatest), v.name};
}

int64_t draw_rows(draw& d, const target& t, const row_length& length) {
  return length.variant == "auto" ? draw_rows(d, t, length.cols) : d.between(length.least_rows, 3);
}

void force_variant(trial_case& c, const row_length& length) {
  if (length.variant != "auto") c.knobs["variant"] = length.variant;
}

recipe draw_row_fill(draw& d, const target& t, int64_t cols) {
  const double infinity = std::numeric_limits<double>::infinity();
  const auto at = [&] { return static_cast<double>(d.one_of({int64_t{0}, cols - 1, d.between(0, cols - 1)})); };
  // f16 reaches 65504.
  const bool is_half = t.type == dtype::f16;
  const double largest = is_half ? 6e4 : 3e38;
  switch (d.between(0, 23)) {
    case 0: return make_recipe("randn", {d.seed()});  // the usual test
    case 1: {
      const double range = d.one_of({1.0, 60.0});  // all terms count, or most vanish
      return make_recipe("uniform", {d.seed(), -range, range});
    }
    case 2: return make_recipe("uniform", {d.seed(), -104, 0});               // results down to subnormal
    case 3: return make_recipe("uniform", {d.seed(), 100, 130});              // exp overflows without the shift
    case 4: return make_recipe("uniform", {d.seed(), -230, -200});            // the sum is 0 without the shift
    case 5: return make_recipe("uniform", {d.seed(), -52, -48});              // padding by 0 would be the maximum
    case 6: return make_recipe("uniform", {d.seed(), largest / 2, largest});  // differences of huge logits
    case 7: return make_recipe("near_overflow", {d.seed()});                  // the difference overflows
    case 8: {
      // All terms are 1; but for one in the first row, or the answer could be guessed.
      recipe r = make_recipe("near_underflow", {d.seed()});
      r.edits.push_back({0, d.between(0, cols - 1), 1});
      return r;
    }
    case 9: return make_recipe("ascending", {-20, 20});    // a rescale at every step
    case 10: return make_recipe("descending", {-20, 20});  // never a rescale
    case 11: return make_recipe("sawtooth", {static_cast<double>(d.one_of({4, 32, 128, 256, 1024})), -10, 10});
    case 12: return make_recipe("constant", {d.one_of({0.0, -50.0, 88.0})});  // the longest sum of equal terms
    case 13: return make_recipe("stagnation", {at(), -16.64});                // serial sums lose every term
    case 14: return make_recipe("spike", {at(), 0, d.one_of({-30.0, -17.0, -16.0, -100.0})});  // 1 + e^-d is 1
    case 15: return make_recipe("alternating", {3, -infinity});                                // masked neighbours
    case 16: return make_recipe("duplicates", {d.seed(), 3});                                  // ties
    case 17: return make_recipe("finite_bits", {d.seed()});          // every exponent of the type
    case 18: return make_recipe("log_uniform", {d.seed(), -12, 6});  // tiny and large logits side by side
    case 19: return make_recipe("cancellation", {d.seed(), 40});     // a sum of logits would lose its digits
    case 20: return make_recipe("uniform", {d.seed(), -largest, -largest / 2});
    case 21: {
      // Few digits of the logits remain.
      const double offset = is_half ? d.one_of({1e4, -1e4}) : d.one_of({1e4, -1e4, 1e7, -1e7});
      return make_recipe("uniform", {d.seed(), offset - 20, offset + 20});
    }
    case 22:  // a 0 first in what one thread adds up
      return make_recipe("stagnation", {0, -16.64, static_cast<double>(d.one_of({4, 8, 16, 32, 128, 1024, 4096}))});
    default: {
      // One 0 above results in the subnormal range.
      recipe r = make_recipe("uniform", {d.seed(), -104, -86});
      r.edits.push_back({0, d.between(0, cols - 1), 0});
      return r;
    }
  }
}

recipe draw_sum_fill(draw& d, const target& t, int64_t cols) {
  const bool f64 = t.type == dtype::f64;
  const double top = f64 ? 1000 : 120;
  const auto at = static_cast<double>(d.one_of({int64_t{0}, cols - 1, d.between(0, cols - 1)}));
  switch (d.between(0, 14)) {
    case 0: return make_recipe("randn", {d.seed()});                       // the usual test
    case 1: return make_recipe("uniform", {d.seed(), 0, 1});               // no cancellation
    case 2: return make_recipe("uniform", {d.seed(), 1e6, 1e6 + 1});       // large offset
    case 3: return make_recipe("cancellation", {d.seed(), 1e8});           // the sum is small, its terms are not
    case 4: return make_recipe("log_uniform", {d.seed(), -top, top});      // every exponent
    case 5: return make_recipe("near_overflow", {d.seed()});               // a running sum may overflow
    case 6: return make_recipe("near_underflow", {d.seed()});              // additions of subnormals are exact
    case 7: return make_recipe("finite_bits", {d.seed()});                 // anything finite
    case 8: return make_recipe("constant", {d.one_of({1.0, 0.1, -3.0})});  // the longest sum of equal terms
    case 9: return make_recipe("alternating", {16777216, -16777215});      // large partial sums of either sign
    case 10: return make_recipe("ascending", {-20, 20});
    case 11: return make_recipe("descending", {-20, 20});
    case 12: return make_recipe("spike", {at, 1, f64 ? 0x1.fp-54 : 0x1.fp-25});  // a serial sum loses every term
    case 13: return make_recipe("duplicates", {d.seed(), 3});                    // ties of the extremes
    default: return make_recipe("integers", {d.seed(), -1000, 1000});
  }
}

void draw_layout(draw& d, trial_case& c) {
  for (const char* name : {"x", "y"}) {
    tensor_spec* t = c.find(name);
    if (!t) continue;
    if (d.chance(50)) t->ld = t->cols() + d.one_of({1, 2, 3, 4, 32});
    if (d.chance(50)) t->offset = d.between(0, 7);
  }
}

}  // namespace warpcheck
