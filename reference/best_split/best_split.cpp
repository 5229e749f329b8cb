#include "reference/best_split/best_split.hpp"

#include <algorithm>
#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>

#include "reference/numerics/float_value.hpp"
#include "reference/numerics/two_sum.hpp"

namespace warpcheck::reference {
namespace {

double soft_threshold(double s, double l1) { return std::fabs(s) <= l1 ? 0.0 : s - std::copysign(l1, s); }

double l2_of(const split_settings& s, bool is_sorted) { return is_sorted ? s.lambda_l2 + s.cat_l2 : s.lambda_l2; }

double rows_of(const split_problem& p, double h) {
  return std::nearbyint(h * (static_cast<double>(p.leaf.n) / (p.leaf.h + 2 * k_split_eps)));
}

bool is_count(const split_problem& p, double rows) { return rows >= 0 && rows <= static_cast<double>(p.leaf.n); }

bool is_open(const split_problem& p) {
  const split_settings& s = p.settings;
  return std::isfinite(p.leaf.g) && std::isfinite(p.leaf.h) && std::isfinite(p.leaf.parent_gain) &&
         (s.path_smooth == 0 || std::isfinite(p.leaf.parent_output)) && p.leaf.n > least_rows(s) &&
         p.leaf.h > s.min_hessian;
}

// A feature with everything that its candidates are made of.
struct feature_view {
  size_t index;
  const split_feature& feature;
  std::vector<bin_mass> bins;
  double radius_g, radius_h;
};

// The radii are gamma_64 of the sizes. If every bin is stored, the difference between the total and the bins is added.
feature_view view_of(const split_problem& p, size_t index) {
  const split_feature& f = p.features[index];
  feature_view v{index, f, bins_of(p, f), 0, 0};
  precise_sum g, h;
  double size_g = std::fabs(p.leaf.g), size_h = std::fabs(p.leaf.h);
  for (int64_t b = f.mfb_offset; b < f.num_bin; ++b) {
    const bin_mass& m = v.bins[static_cast<size_t>(b)];
    g.add(m.g);
    h.add(m.h);
    size_g += std::fabs(m.g);
    size_h += std::fabs(m.h);
  }
  const double gamma = 64 * 0x1p-53 / (1 - 64 * 0x1p-53) * (1 + 0x1p-30);
  v.radius_g = gamma * size_g + (f.mfb_offset == 0 ? std::fabs(p.leaf.g - g.value()) * (1 + 0x1p-50) : 0);
  v.radius_h = gamma * size_h + (f.mfb_offset == 0 ? std::fabs(p.leaf.h - h.value()) * (1 + 0x1p-50) : 0);
  return v;
}

using candidate_sink = std::function<void(const split_candidate_sums&)>;

// One direction of a numerical feature.
void scan_direction(const split_problem& p, const feature_view& v, bool scans_right, bool default_left,
                    const candidate_sink& see) {
  const split_feature& f = v.feature;
  const bool has_missing = f.num_bin > 2 && f.missing != split_missing::none;
  const int64_t missing = !has_missing ? -1 : f.missing == split_missing::nan ? f.num_bin - 1 : f.default_bin;
  const auto drawn = f.num_bin <= 2 ? 0 : drawn_threshold(p.leaf.seed, f.id, static_cast<uint64_t>(f.num_bin - 1));
  precise_sum g, h;
  int64_t rows = 0;
  // LightGBM's learner leaves an unstored bin 0 out of the scan if another bin in the middle is the missing bin.
  const bool skips_0 =
      p.settings.lightgbm_cuda && !scans_right && f.mfb_offset > 0 && has_missing && f.missing == split_missing::zero;
  const auto step = [&](int64_t bin, int64_t threshold) {
    if (bin == missing || (bin == 0 && skips_0)) return;
    const bin_mass& m = v.bins[static_cast<size_t>(bin)];
    g.add(m.g);
    h.add(m.h);
    rows += m.n;
    if (p.settings.extra_trees && threshold != drawn) return;
    split_candidate_sums c{v.index, default_left, static_cast<uint32_t>(threshold), scans_right};
    c.scanned_g = g.value();
    c.scanned_h = h.value();
    c.has_unstored = !scans_right && f.mfb_offset > 0;
    c.g = scans_right ? p.leaf.g - g.value() : g.value();
    c.h = scans_right ? p.leaf.h - h.value() : h.value();
    c.radius_g = v.radius_g;
    c.radius_h = v.radius_h;
    c.scanned_rows = rows;
    see(c);
  };
  if (scans_right)
    for (int64_t bin = f.num_bin - 1; bin >= 1; --bin) step(bin, bin - 1);
  else
    for (int64_t bin = 0; bin <= f.num_bin - 2; ++bin) step(bin, bin);
}

void scan_numerical(const split_problem& p, const feature_view& v, const candidate_sink& see) {
  const split_feature& f = v.feature;
  if (f.missing == split_missing::none || f.num_bin <= 2) {
    const bool left = f.missing == split_missing::none ||
                      (f.missing == split_missing::zero && (f.default_bin == 0 || p.settings.lightgbm_cuda));
    return scan_direction(p, v, true, left, see);
  }
  scan_direction(p, v, false, false, see);
  scan_direction(p, v, true, true, see);
}

void scan_one_hot(const split_problem& p, const feature_view& v, const candidate_sink& see) {
  const split_feature& f = v.feature;
  const auto drawn = drawn_threshold(p.leaf.seed, f.id, static_cast<uint64_t>(f.num_bin - 1));
  for (int64_t b = 1; b < f.num_bin; ++b) {
    if (p.settings.extra_trees && b != 1 + static_cast<int64_t>(drawn)) continue;
    const bin_mass& m = v.bins[static_cast<size_t>(b)];
    split_candidate_sums c{v.index};
    c.threshold = static_cast<uint32_t>(b);
    c.g = c.scanned_g = m.g;
    c.h = c.scanned_h = m.h;
    c.scanned_rows = m.n;
    c.categories = {c.threshold};
    see(c);
  }
}

// One end of the sorted categories; `order` begins at that end.
void walk_prefixes(const split_problem& p, const feature_view& v, const std::vector<uint32_t>& order, int64_t longest,
                   bool from_high, const candidate_sink& see) {
  const split_settings& s = p.settings;
  const int64_t min_rows = least_rows(s);
  const auto drawn = drawn_threshold(p.leaf.seed, v.feature.id, static_cast<uint64_t>(longest));
  precise_sum g, h;
  int64_t exact_rows = 0, tested = 0;
  for (int64_t k = 1; k <= longest; ++k) {
    const bin_mass& m = v.bins[order[static_cast<size_t>(k - 1)]];
    g.add(m.g);
    h.add(m.h);
    exact_rows += m.n;
    const double rows = p.counts.empty() ? rows_of(p, h.value()) : static_cast<double>(exact_rows);
    split_candidate_sums c{v.index};
    c.is_sorted = true;
    c.threshold = static_cast<uint32_t>(from_high ? longest + k - 1 : k - 1);
    c.g = c.scanned_g = g.value();
    c.h = c.scanned_h = h.value();
    c.radius_g = v.radius_g;
    c.radius_h = v.radius_h;
    c.scanned_rows = exact_rows;
    c.categories.assign(order.begin(), order.begin() + k);
    if (from_high) std::ranges::reverse(c.categories);
    if (s.lightgbm_cuda) {  // every prefix is tried
      see(c);
      continue;
    }
    if (!(rows >= 0)) continue;
    if (rows > static_cast<double>(p.leaf.n)) break;
    const auto left = static_cast<int64_t>(rows);
    if (!(h.value() + k_split_eps >= s.min_hessian) || left < min_rows) continue;
    if (!((p.leaf.h - h.value()) + k_split_eps >= s.min_hessian) || p.leaf.n - left < std::max(min_rows, s.min_group))
      break;
    if (left - tested < s.min_group) continue;
    tested = left;
    if (s.extra_trees && k - 1 != static_cast<int64_t>(drawn)) continue;
    see(c);
  }
}

void scan_sorted(const split_problem& p, const feature_view& v, const candidate_sink& see) {
  const double smooth = p.settings.cat_smooth;
  std::vector<double> key(v.bins.size());
  std::vector<uint32_t> order;
  for (size_t b = 1; b < v.bins.size(); ++b) {
    const bin_mass& m = v.bins[b];
    key[b] = m.g / (m.h + smooth);
    const double rows = p.counts.empty() ? rows_of(p, m.h) : static_cast<double>(m.n);
    if (rows >= smooth && std::isfinite(key[b])) order.push_back(static_cast<uint32_t>(b));
  }
  std::ranges::stable_sort(order, [&](uint32_t a, uint32_t b) { return key[a] < key[b]; });
  const int64_t longest = std::min(p.settings.max_cat, static_cast<int64_t>(order.size() + 1) / 2);
  walk_prefixes(p, v, order, longest, false, see);
  std::ranges::reverse(order);
  walk_prefixes(p, v, order, longest, true, see);
}

// Gain and value of a side, with `h` in the divisor. Returns false if they are undefined or not finite.
bool weigh(const split_problem& p, bool is_sorted, double h, bool gain_of_value, split_part& s) {
  const double d = h + l2_of(p.settings, is_sorted);
  if (!(d > 0)) return false;
  const double t = soft_threshold(s.g, p.settings.lambda_l1);
  const double r = p.settings.path_smooth > 0 ? static_cast<double>(s.n) / p.settings.path_smooth : k_infinity;
  s.value = std::isinf(r) ? -t / d : ((-t / d) * r) / (r + 1) + p.leaf.parent_output / (r + 1);
  s.gain = std::isinf(r) && !gain_of_value ? (t * t) / d : -((2 * t) * s.value + (d * s.value) * s.value);
  return std::isfinite(s.g) && std::isfinite(s.h) && std::isfinite(s.gain) && std::isfinite(s.value);
}

void canonicalise(split_result& r) {
  for (double* v : {&r.gain, &r.left.g, &r.left.h, &r.left.gain, &r.left.value, &r.right.g, &r.right.h, &r.right.gain,
                    &r.right.value})
    *v += 0.0;
}

// ---- intervals, rounded outward ----

struct interval {
  double low, high;
};
double down(double v) { return std::nextafter(v, -k_infinity); }
double up(double v) { return std::nextafter(v, k_infinity); }
interval around(double v, double radius) { return {down(v - radius), up(v + radius)}; }
interval operator+(interval a, interval b) { return {down(a.low + b.low), up(a.high + b.high)}; }
interval operator-(interval a, interval b) { return {down(a.low - b.high), up(a.high - b.low)}; }
interval operator-(interval a) { return {-a.high, -a.low}; }
interval operator*(interval a, interval b) {
  const auto [low, high] = std::minmax({a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high});
  return {down(low), up(high)};
}
// b > 0.
interval operator/(interval a, interval b) {
  const auto [low, high] = std::minmax({a.low / b.low, a.low / b.high, a.high / b.low, a.high / b.high});
  return {down(low), up(high)};
}
interval square(interval a) {
  const double most = std::max(std::fabs(a.low), std::fabs(a.high));
  const double least = a.low <= 0 && a.high >= 0 ? 0 : std::min(std::fabs(a.low), std::fabs(a.high));
  return {std::max(0.0, down(least * least)), up(most * most)};
}

// Returns a lower bound of a side's gain, or nothing if there is none.
std::optional<double> least_gain(const split_problem& p, bool is_sorted, interval g, interval h, int64_t n) {
  const split_settings& s = p.settings;
  const interval eps{k_split_eps, k_split_eps}, l2{l2_of(s, is_sorted), l2_of(s, is_sorted)};
  const interval d = (h + eps) + l2;
  if (!(d.low > 0)) return std::nullopt;
  const interval t{down(soft_threshold(g.low, s.lambda_l1)), up(soft_threshold(g.high, s.lambda_l1))};
  const double r = s.path_smooth > 0 ? static_cast<double>(n) / s.path_smooth : k_infinity;
  const interval plain = square(t) / d;
  double least = plain.low;
  if (!std::isinf(r)) {
    const interval ratio{r, r}, one{1, 1}, parent{p.leaf.parent_output, p.leaf.parent_output};
    const interval w = ((-t / d) * ratio) / (ratio + one) + parent / (ratio + one);
    least = (-(interval{2, 2} * t * w + d * square(w))).low;
  }
  return std::isfinite(least) ? std::optional(least) : std::nullopt;
}

// Returns a lower bound of the net gain of a candidate that is certainly admissible, or nothing for other candidates.
std::optional<double> certain_gain(const split_problem& p, const split_candidate_sums& c) {
  const split_settings& s = p.settings;
  const interval lg = around(c.g, c.radius_g), lh = around(c.h, c.radius_h);
  const interval rg = interval{p.leaf.g, p.leaf.g} - lg, rh = interval{p.leaf.h, p.leaf.h} - lh;
  if (!(down(lh.low + k_split_eps) >= s.min_hessian && down(rh.low + k_split_eps) >= s.min_hessian))
    return std::nullopt;
  int64_t scanned = c.scanned_rows;
  if (p.counts.empty()) {
    const interval h = c.scans_right ? rh : lh;
    const double least = rows_of(p, h.low), most = rows_of(p, h.high);
    if (!(least == most) || !(least >= 0 && least <= static_cast<double>(p.leaf.n))) return std::nullopt;
    scanned = static_cast<int64_t>(least);
  }
  const int64_t left = c.scans_right ? p.leaf.n - scanned : scanned, right = p.leaf.n - left;
  if (left < least_rows(s) || right < least_rows(s)) return std::nullopt;
  const auto a = least_gain(p, c.is_sorted, lg, lh, left), b = least_gain(p, c.is_sorted, rg, rh, right);
  if (!a || !b) return std::nullopt;
  const double shift = p.leaf.parent_gain + s.min_gain, sum = down(*a + *b);
  return sum > shift ? std::optional(down(sum - shift)) : std::nullopt;
}

// The conventions of LightGBM's learner on CUDA: eps is in the sums that decide, and stays in some that are reported.
std::optional<split_result> evaluate_lightgbm(const split_problem& p, const split_candidate_sums& c) {
  const split_settings& s = p.settings;
  const split_feature& f = p.features[c.feature];
  const bool is_one_hot = f.categorical && !c.is_sorted;
  const double total = p.leaf.h + 2 * k_split_eps, bare = c.scanned_h;
  const double scanned = bare + (c.has_unstored ? 3 : 1) * k_split_eps;
  const double other = is_one_hot ? (total - bare) - k_split_eps : total - scanned;
  const double rows = rows_of(p, is_one_hot ? bare : scanned);
  if (!is_count(p, rows) || !((is_one_hot ? bare : scanned) >= s.min_hessian) || !(other >= s.min_hessian))
    return std::nullopt;
  split_part mine, rest;
  mine.g = c.scanned_g;
  rest.g = p.leaf.g - c.scanned_g;
  mine.n = static_cast<int64_t>(rows);
  rest.n = p.leaf.n - mine.n;
  if (mine.n < least_rows(s) || rest.n < least_rows(s)) return std::nullopt;
  mine.h = scanned;
  rest.h = other;
  if (!weigh(p, c.is_sorted, scanned, false, mine) || !weigh(p, c.is_sorted, other, false, rest)) return std::nullopt;
  split_result r;
  const double shift = p.leaf.parent_gain + s.min_gain, sum = mine.gain + rest.gain;
  r.gain = sum - shift;
  if (!(sum > shift) || !std::isfinite(r.gain)) return std::nullopt;
  // The numbers of the record.
  mine.h = is_one_hot ? bare : c.is_sorted ? scanned : scanned - k_split_eps;
  rest.h = f.categorical ? total - mine.h : (total - mine.h) - k_split_eps;
  const double mine_rows = rows_of(p, mine.h), rest_rows = rows_of(p, rest.h);
  if (!is_count(p, mine_rows) || (f.categorical && !is_count(p, rest_rows))) return std::nullopt;
  mine.n = static_cast<int64_t>(mine_rows);
  rest.n = f.categorical ? static_cast<int64_t>(rest_rows) : p.leaf.n - mine.n;
  if (!weigh(p, c.is_sorted, mine.h, true, mine) || !weigh(p, c.is_sorted, rest.h, true, rest)) return std::nullopt;
  r.is_valid = true;
  r.default_left = c.default_left;
  r.feature = f.id;
  r.threshold = c.threshold;
  r.categories = c.categories;
  r.left = c.scans_right ? rest : mine;
  r.right = c.scans_right ? mine : rest;
  canonicalise(r);
  return r;
}

bool equal_or_both_nan(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

}  // namespace

double leaf_gain(double g, double h, const split_settings& s) {
  const double t = soft_threshold(g, s.lambda_l1);
  return (t * t) / ((h + k_split_eps) + s.lambda_l2);
}

int64_t least_rows(const split_settings& s) {
  const int64_t least = s.min_data == 0 && s.min_hessian == 0 ? 1 : s.min_data;
  return s.path_smooth > 0 ? std::max<int64_t>(2, least) : least;
}

uint32_t drawn_threshold(uint64_t seed, int64_t feature, uint64_t size) {
  uint64_t z = seed + (static_cast<uint64_t>(feature) + 1) * 0x9e3779b97f4a7c15ull;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  z ^= z >> 31;
  return static_cast<uint32_t>(((z >> 32) * size) >> 32);
}

bool goes_left(const split_feature& f, const split_result& r, int64_t bin) {
  if (f.categorical) return std::ranges::find(r.categories, bin) != r.categories.end();
  const int64_t missing = f.missing == split_missing::nan    ? f.num_bin - 1
                          : f.missing == split_missing::zero ? f.default_bin
                                                             : -1;
  return bin == missing ? r.default_left : bin <= static_cast<int64_t>(r.threshold);
}

std::vector<bin_mass> bins_of(const split_problem& p, const split_feature& f) {
  std::vector<bin_mass> bins(static_cast<size_t>(f.num_bin));
  precise_sum g, h;
  int64_t n = 0;
  for (int64_t b = f.mfb_offset; b < f.num_bin; ++b) {
    const auto slot = static_cast<size_t>(p.leaf.hist_base + f.hist_offset + b - f.mfb_offset);
    bin_mass& m = bins[static_cast<size_t>(b)];
    m = {p.slots[2 * slot], p.slots[2 * slot + 1], p.counts.empty() ? 0 : p.counts[slot]};
    g.add(m.g);
    h.add(m.h);
    n += m.n;
  }
  if (f.mfb_offset > 0) bins[0] = {p.leaf.g - g.value(), p.leaf.h - h.value(), p.counts.empty() ? 0 : p.leaf.n - n};
  return bins;
}

void for_each_candidate(const split_problem& p, const candidate_sink& see) {
  if (!is_open(p)) return;
  for (size_t i = 0; i < p.features.size(); ++i) {
    const split_feature& f = p.features[i];
    if (f.num_bin < 2 || (!p.used.empty() && !p.used[i])) continue;
    const feature_view v = view_of(p, i);
    const bool is_finite = std::all_of(v.bins.begin() + f.mfb_offset, v.bins.end(),
                                       [](const bin_mass& m) { return std::isfinite(m.g) && std::isfinite(m.h); });
    if (!is_finite) continue;
    if (!f.categorical)
      scan_numerical(p, v, see);
    else if (f.num_bin <= p.settings.max_onehot)
      scan_one_hot(p, v, see);
    else
      scan_sorted(p, v, see);
  }
}

std::optional<split_result> evaluate(const split_problem& p, const split_candidate_sums& c) {
  const split_settings& s = p.settings;
  if (s.lightgbm_cuda) return evaluate_lightgbm(p, c);
  split_result r;
  r.is_valid = true;
  r.default_left = c.default_left;
  r.feature = p.features[c.feature].id;
  r.threshold = c.threshold;
  r.categories = c.categories;
  r.left.g = c.g;
  r.left.h = c.h;
  r.right.g = p.leaf.g - c.g;
  r.right.h = p.leaf.h - c.h;
  int64_t scanned = c.scanned_rows;
  if (p.counts.empty()) {
    const double rows = rows_of(p, c.scans_right ? r.right.h : r.left.h);
    if (!is_count(p, rows)) return std::nullopt;
    scanned = static_cast<int64_t>(rows);
  }
  if (scanned < 0 || scanned > p.leaf.n) return std::nullopt;
  r.left.n = c.scans_right ? p.leaf.n - scanned : scanned;
  r.right.n = p.leaf.n - r.left.n;
  for (split_part* side : {&r.left, &r.right}) {
    if (!(side->h + k_split_eps >= s.min_hessian) || side->n < least_rows(s)) return std::nullopt;
    if (!weigh(p, c.is_sorted, side->h + k_split_eps, false, *side)) return std::nullopt;
  }
  const double shift = p.leaf.parent_gain + s.min_gain, sum = r.left.gain + r.right.gain;
  r.gain = sum - shift;
  if (!(sum > shift) || !std::isfinite(r.gain)) return std::nullopt;
  canonicalise(r);
  return r;
}

bool is_better(const split_result& a, const split_result& b) {
  if (a.gain != b.gain) return a.gain > b.gain;
  if (a.feature != b.feature) return a.feature < b.feature;
  if (a.default_left != b.default_left) return a.default_left;
  return a.threshold < b.threshold;
}

split_result best_split(const split_problem& p) {
  split_result best;
  best.gain = -k_infinity;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  best.left = best.right = {nan, nan, nan, nan, -1};
  for_each_candidate(p, [&](const split_candidate_sums& c) {
    std::optional<split_result> r = evaluate(p, c);
    if (r && (!best.is_valid || is_better(*r, best))) best = std::move(*r);
  });
  return best;
}

std::string inconsistency(const split_problem& p, const split_result& r) {
  const auto f = std::ranges::find_if(p.features, [&](const auto& x) { return x.id == r.feature; });
  if (f == p.features.end()) return "no feature has the record's number";
  split_candidate_sums c{static_cast<size_t>(f - p.features.begin()), r.default_left, r.threshold, false,
                         f->categorical && f->num_bin > p.settings.max_onehot};
  c.g = r.left.g;
  c.h = r.left.h;
  c.scanned_rows = r.left.n;
  split_problem given = p;  // the counts are the record's own
  const int64_t any = 0;
  if (given.counts.empty()) given.counts = std::span(&any, 1);
  const std::optional<split_result> again = evaluate(given, c);
  if (!again) return "its own sums make it inadmissible";
  const std::pair<const char*, std::pair<double, double>> values[] = {
      {"gain", {r.gain, again->gain}},
      {"left gain", {r.left.gain, again->left.gain}},
      {"left value", {r.left.value, again->left.value}},
      {"right sum_g", {r.right.g, again->right.g}},
      {"right sum_h", {r.right.h, again->right.h}},
      {"right gain", {r.right.gain, again->right.gain}},
      {"right value", {r.right.value, again->right.value}}};
  for (const auto& [name, pair] : values)
    if (!equal_or_both_nan(pair.first, pair.second))
      return std::string(name) + " is not what the sums of the left side give";
  if (r.right.n != again->right.n) return "the rows of both sides do not add up";
  return {};
}

std::string refute(const split_problem& p, const split_result& r) {
  double best = -k_infinity;
  std::string complaint = r.is_valid ? "it is not a candidate" : "";
  for_each_candidate(p, [&](const split_candidate_sums& c) {
    if (const auto least = certain_gain(p, c)) best = std::max(best, *least);
    if (!r.is_valid || p.features[c.feature].id != r.feature || c.default_left != r.default_left ||
        c.threshold != r.threshold || c.categories != r.categories)
      return;
    if (std::fabs(r.left.g - c.g) <= c.radius_g && std::fabs(r.left.h - c.h) <= c.radius_h) {
      complaint.clear();
      if (p.counts.empty()) {
        const double h = c.scans_right ? r.right.h : r.left.h;
        const int64_t scanned = c.scans_right ? r.right.n : r.left.n;
        if (rows_of(p, h) != static_cast<double>(scanned)) complaint = "its rows are not those of its hessian";
      } else if ((c.scans_right ? r.right.n : r.left.n) != c.scanned_rows) {
        complaint = "its rows are not those of its bins";
      }
    } else {
      complaint = "its left sums lie outside their bound";
    }
  });
  if (!complaint.empty()) return complaint;
  if (!r.is_valid) return best > -k_infinity ? "a candidate is certainly admissible" : "";
  if (const std::string wrong = inconsistency(p, r); !wrong.empty()) return wrong;
  return r.gain >= best ? "" : "another candidate certainly has more gain";
}

namespace {

using boost::multiprecision::cpp_rational;

std::optional<cpp_rational> rational_gain_of(const split_problem& p, const cpp_rational& g, const cpp_rational& h,
                                             int64_t n) {
  const split_settings& s = p.settings;
  const cpp_rational l1(s.lambda_l1), d = h + cpp_rational(k_split_eps) + cpp_rational(s.lambda_l2);
  if (d <= 0) return std::nullopt;
  const cpp_rational t = abs(g) <= l1 ? cpp_rational(0) : g > 0 ? cpp_rational(g - l1) : cpp_rational(g + l1);
  if (s.path_smooth == 0) return cpp_rational(t * t / d);
  const cpp_rational r = cpp_rational(n) / cpp_rational(s.path_smooth);
  const cpp_rational w = (-t / d * r + cpp_rational(p.leaf.parent_output)) / (r + 1);
  return cpp_rational(-(2 * t * w + d * w * w));
}

bool is_threshold(const split_problem& p, const split_feature& f, bool has_missing, bool default_left,
                  int64_t threshold) {
  if (has_missing && f.missing == split_missing::nan && default_left && threshold == f.num_bin - 2) return false;
  if (has_missing && f.missing == split_missing::zero && threshold == f.default_bin - (default_left ? 1 : 0))
    return false;
  if (!p.settings.extra_trees) return true;
  return threshold == (f.num_bin <= 2 ? 0 : drawn_threshold(p.leaf.seed, f.id, static_cast<uint64_t>(f.num_bin - 1)));
}

// Returns the gain of both sides of a threshold by routing each bin, or nothing if a gate is closed.
std::optional<cpp_rational> rational_gain_at(const split_problem& p, const split_feature& f,
                                             const std::vector<bin_mass>& bins, bool has_missing, bool default_left,
                                             int64_t threshold) {
  const split_settings& s = p.settings;
  const cpp_rational eps(k_split_eps);
  split_result route;
  route.default_left = default_left;
  route.threshold = static_cast<uint32_t>(threshold);
  split_feature routed = f;
  if (!has_missing) routed.missing = split_missing::none;
  cpp_rational g(0), h(0);
  int64_t n = 0;
  for (int64_t b = 0; b < f.num_bin; ++b) {
    if (!goes_left(routed, route, b)) continue;
    const bin_mass& m = bins[static_cast<size_t>(b)];
    g += cpp_rational(m.g);
    h += cpp_rational(m.h);
    n += m.n;
  }
  const cpp_rational right_h = cpp_rational(p.leaf.h) - h;
  if (p.counts.empty()) {
    const bool scans_right = !has_missing || default_left;
    const double rows = rows_of(p, static_cast<double>(scans_right ? right_h : h));
    n = static_cast<int64_t>(scans_right ? static_cast<double>(p.leaf.n) - rows : rows);
  }
  const int64_t right_n = p.leaf.n - n;
  if (n < least_rows(s) || right_n < least_rows(s) || n > p.leaf.n || right_n > p.leaf.n) return std::nullopt;
  if (h + eps < cpp_rational(s.min_hessian) || right_h + eps < cpp_rational(s.min_hessian)) return std::nullopt;
  const auto left = rational_gain_of(p, g, h, n);
  const auto right = rational_gain_of(p, cpp_rational(p.leaf.g) - g, right_h, right_n);
  if (!left || !right) return std::nullopt;
  return cpp_rational(*left + *right);
}

}  // namespace

std::optional<double> rational_gain(const split_problem& p) {
  std::optional<cpp_rational> best;
  if (!is_open(p)) return std::nullopt;
  const cpp_rational shift = cpp_rational(p.leaf.parent_gain) + cpp_rational(p.settings.min_gain);
  for (size_t i = 0; i < p.features.size(); ++i) {
    const split_feature& f = p.features[i];
    if (f.categorical || f.num_bin < 2 || (!p.used.empty() && !p.used[i])) continue;
    const std::vector<bin_mass> bins = bins_of(p, f);
    const bool has_missing = f.num_bin > 2 && f.missing != split_missing::none;
    const bool is_finite = std::all_of(bins.begin() + f.mfb_offset, bins.end(),
                                       [](const bin_mass& m) { return std::isfinite(m.g) && std::isfinite(m.h); });
    if (!is_finite) continue;
    for (const bool default_left : {true, false}) {
      if (!has_missing && !default_left) continue;
      for (int64_t threshold = 0; threshold <= f.num_bin - 2; ++threshold) {
        if (!is_threshold(p, f, has_missing, default_left, threshold)) continue;
        const auto both = rational_gain_at(p, f, bins, has_missing, default_left, threshold);
        if (both && *both > shift && (!best || *both - shift > *best)) best = cpp_rational(*both - shift);
      }
    }
  }
  if (!best) return std::nullopt;
  return static_cast<double>(*best);
}

}  // namespace warpcheck::reference
