// Grows one tree of gradient boosting twice: on a device, from the operators of kernels/ (grow_tree_device.cu), and
// here by a plain learner that shares nothing with them but the data. The two must agree to the last bit.
//
// That can be asked because the data are dyadic: g and h are multiples of 1/64 of moderate size, so that no sum of them
// rounds, in whatever order. What follows the sums is a sequence of IEEE operations that
// kernels/best_split/best_split.hpp states.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <exception>
#include <map>
#include <random>
#include <string>

#include "grow_tree.hpp"
#include "simt/error.hpp"

namespace grow_tree {

// grow_tree_device.cu, compiled for either device.
namespace emulated {
tree grow_on_device(const dataset& data, const settings& s);
}
#ifdef GROW_TREE_CUDA
namespace cuda {
tree grow_on_device(const dataset& data, const settings& s);
}
#endif

namespace {

// ---- data ----

// Four kinds of features in turn: a real number, one of ten integers, a real number that is often missing, and an
// integer that is mostly 0. Labels follow them with some noise; the loss is weight (prediction - label)^2 / 2 at
// prediction 0, so g = -weight label and h = weight.
dataset make_data(int64_t rows, int64_t features, uint64_t seed) {
  std::mt19937_64 draw(seed);
  const auto below = [&](int64_t n) { return static_cast<int64_t>(draw() >> 11) % n; };
  const auto real = [&] { return static_cast<float>(below(1 << 20)) / (1 << 19) - 1; };  // [-1, 1)
  dataset data{rows, features, std::vector<float>(static_cast<size_t>(rows * features)), {}, {}};
  for (int64_t row = 0; row < rows; ++row) {
    int64_t label = below(33) - 16;  // in units of 1/32
    for (int64_t f = 0; f < features; ++f) {
      const int64_t strength = 64 >> std::min<int64_t>(f / 4, 5);
      float& x = data.x[static_cast<size_t>(f * rows + row)];
      switch (f % 4) {
        case 0:
          x = real();
          label += x > 0.25f ? strength : 0;
          break;
        case 1:
          x = static_cast<float>(below(10));
          label += strength * static_cast<int64_t>(x) / 8;
          break;
        case 2:
          x = below(8) == 0 ? std::nanf("") : real();
          label += std::isnan(x) ? -strength : x < -0.5f ? strength : 0;
          break;
        default:
          x = below(5) == 0 ? static_cast<float>(below(7) - 3) : 0;
          label += x == 0 ? 0 : x < 1 ? strength : -strength;
      }
    }
    const float weight = static_cast<float>(1 << below(3)) / 2;  // 1/2, 1 or 2
    data.g.push_back(-weight * static_cast<float>(label) / 32);
    data.h.push_back(weight);
  }
  return data;
}

bool has_missing_values(const dataset& data, int64_t feature) {
  const float* const x = &data.x[static_cast<size_t>(feature * data.rows)];
  return std::any_of(x, x + data.rows, [](float v) { return std::isnan(v); });
}

// ---- the plain learner ----

constexpr double k_eps = 1e-15f;  // of the contract of best_split

struct sums {
  int64_t g = 0, h = 0;  // in units of 1/64

  void add(const sums& other) { g += other.g, h += other.h; }
  double denominator(const settings& s) const { return (static_cast<double>(h) / 64 + k_eps) + s.lambda_l2; }
  double gain(const settings& s) const {
    const double exact_g = static_cast<double>(g) / 64;
    return (exact_g * exact_g) / denominator(s);
  }
  double value(const settings& s) const { return 0.0 - (static_cast<double>(g) / 64) / denominator(s); }
  bool may_be_leaf(const settings& s) const { return static_cast<double>(h) / 64 + k_eps >= s.min_sum_hessian; }
};

// Equal values stay together; a bin that has its share of the rows is closed.
std::vector<float> upper_ends(const float* x, int64_t rows, int bins) {
  std::map<float, int64_t> rows_of_value;
  int64_t present = 0, in_bin = 0;
  for (int64_t row = 0; row < rows; ++row) {
    if (std::isnan(x[row])) continue;
    ++rows_of_value[x[row]];
    ++present;
  }
  std::vector<float> ends;
  for (const auto& [value, count] : rows_of_value) {
    in_bin += count;
    if (in_bin * bins < present && value != rows_of_value.rbegin()->first) continue;
    ends.push_back(value);
    in_bin = 0;
  }
  return ends;
}

class plain_learner {
 public:
  plain_learner(const dataset& data, const settings& s) : data_(data), settings_(s) {
    for (int64_t f = 0; f < data.features; ++f) ends_.push_back(upper_ends(&data.x[at(f, 0)], data.rows, s.bins));
  }

  // Also says what each row is predicted, by the leaf in which it ended.
  tree grow(std::vector<double>& predictions) {
    std::vector<int64_t> all(static_cast<size_t>(data_.rows));
    for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int64_t>(i);
    predictions.assign(all.size(), 0);
    tree t(1);
    t[0].rows = data_.rows;
    struct leaf {
      size_t node;
      int depth;
      std::vector<int64_t> rows;
    };
    std::vector<leaf> queue = {{0, 0, std::move(all)}};
    for (size_t i = 0; i < queue.size(); ++i) {
      const leaf l = std::move(queue[i]);
      split best;
      if (l.depth < settings_.depth) best = best_split(l.rows);
      if (best.feature < 0) {
        for (const int64_t row : l.rows) predictions[static_cast<size_t>(row)] = t[l.node].value;
        continue;
      }
      std::vector<int64_t> sides[2];
      for (const int64_t row : l.rows) sides[goes_left(best, row) ? 0 : 1].push_back(row);
      tree_node& node = t[l.node];
      node.feature = best.feature;
      node.threshold = ends_[static_cast<size_t>(best.feature)][static_cast<size_t>(best.threshold)];
      node.default_left = best.default_left;
      node.gain = best.gain;
      node.left = static_cast<int>(t.size());
      node.right = node.left + 1;
      for (int side = 0; side < 2; ++side) {
        tree_node child;
        child.value = (side == 0 ? best.left : best.right).value(settings_);
        child.rows = static_cast<int64_t>(sides[side].size());
        queue.push_back({t.size(), l.depth + 1, std::move(sides[side])});
        t.push_back(child);
      }
    }
    return t;
  }

 private:
  struct split {
    int32_t feature = -1;
    int threshold = 0;  // the last bin that goes left
    bool default_left = false;
    double gain = 0;
    sums left, right;
  };

  size_t at(int64_t feature, int64_t row) const { return static_cast<size_t>(feature * data_.rows + row); }
  // Missing values have the bin behind the others.
  int bin(int64_t feature, int64_t row) const {
    const std::vector<float>& ends = ends_[static_cast<size_t>(feature)];
    const float x = data_.x[at(feature, row)];
    return static_cast<int>(std::isnan(x) ? ends.end() - ends.begin()
                                          : std::lower_bound(ends.begin(), ends.end(), x) - ends.begin());
  }
  bool goes_left(const split& s, int64_t row) const {
    const bool is_missing = std::isnan(data_.x[at(s.feature, row)]);
    return is_missing ? s.default_left : bin(s.feature, row) <= s.threshold;
  }

  // Every threshold of every feature in both directions. Of equal gains the first wins: the lower feature, missing
  // values to the left, the lower threshold.
  split best_split(const std::vector<int64_t>& rows) const {
    split best;
    for (int32_t f = 0; f < data_.features; ++f) {
      const int present = static_cast<int>(ends_[static_cast<size_t>(f)].size());
      std::vector<sums> of_bin(static_cast<size_t>(present) + 1);
      sums total;
      for (const int64_t row : rows) {
        const sums one{static_cast<int64_t>(data_.g[static_cast<size_t>(row)] * 64),
                       static_cast<int64_t>(data_.h[static_cast<size_t>(row)] * 64)};
        of_bin[static_cast<size_t>(bin(f, row))].add(one);
        total.add(one);
      }
      if (static_cast<double>(total.h) / 64 <= settings_.min_sum_hessian) return best;
      const bool has_missing = has_missing_values(data_, f);
      // Nothing but missing values on the right is a split, nothing but missing values on the left is the same one.
      // Without missing values, and of two bins, there is one direction.
      const int bins = present + has_missing;
      for (const bool default_left : {true, false}) {
        if (default_left ? has_missing && bins <= 2 : !has_missing) continue;
        const int thresholds = default_left || !has_missing ? present - 1 : present;
        sums left;
        if (default_left) left.add(of_bin[static_cast<size_t>(present)]);
        for (int t = 0; t < thresholds; ++t) {
          left.add(of_bin[static_cast<size_t>(t)]);
          const sums right{total.g - left.g, total.h - left.h};
          if (!left.may_be_leaf(settings_) || !right.may_be_leaf(settings_)) continue;
          const double both = left.gain(settings_) + right.gain(settings_);
          const double shift = total.gain(settings_) + settings_.min_gain_to_split;
          if (both > shift && (best.feature < 0 || both - shift > best.gain))
            best = {f, t, default_left, both - shift, left, right};
        }
      }
    }
    return best;
  }

  const dataset& data_;
  const settings settings_;
  std::vector<std::vector<float>> ends_;  // of each feature's bins
};

// ---- trees ----

double predict(const tree& t, const dataset& data, int64_t row) {
  int node = 0;
  while (t[static_cast<size_t>(node)].left >= 0) {
    const tree_node& n = t[static_cast<size_t>(node)];
    const float x = data.x[static_cast<size_t>(n.feature * data.rows + row)];
    node = (std::isnan(x) ? n.default_left : x <= n.threshold) ? n.left : n.right;
  }
  return t[static_cast<size_t>(node)].value;
}

void print(const tree& t, const dataset& data, int node, int indent) {
  const tree_node& n = t[static_cast<size_t>(node)];
  std::printf("%*s", 2 * indent, "");
  if (n.left < 0) {
    std::printf("%g (%lld rows)\n", n.value, static_cast<long long>(n.rows));
    return;
  }
  const bool asks = n.default_left && has_missing_values(data, n.feature);
  std::printf("x%d <= %g%s? (%lld rows, gain %g)\n", n.feature, static_cast<double>(n.threshold),
              asks ? " or missing" : "", static_cast<long long>(n.rows), n.gain);
  print(t, data, n.left, indent + 1);
  print(t, data, n.right, indent + 1);
}

bool same_bits(double a, double b) { return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b); }

// Empty, or where the trees differ.
std::string difference(const tree& device, const tree& plain) {
  if (device.size() != plain.size())
    return "the device's tree has " + std::to_string(device.size()) + " nodes, the plain one " +
           std::to_string(plain.size());
  for (size_t i = 0; i < device.size(); ++i) {
    const tree_node &a = device[i], &b = plain[i];
    if (a.left != b.left || a.right != b.right || a.feature != b.feature || a.threshold != b.threshold ||
        a.default_left != b.default_left || a.rows != b.rows || !same_bits(a.gain, b.gain) ||
        !same_bits(a.value, b.value))
      return "the trees differ at node " + std::to_string(i);
  }
  return "";
}

// Sum of weight (prediction - label)^2, as far as it depends on the predictions, which are 0 at first.
double loss(const dataset& data, const std::vector<double>& predictions) {
  double sum = 0;
  for (size_t i = 0; i < predictions.size(); ++i) {
    const double label = -static_cast<double>(data.g[i]) / static_cast<double>(data.h[i]);
    sum += static_cast<double>(data.h[i]) * (predictions[i] - label) * (predictions[i] - label);
  }
  return sum;
}

int run(const dataset& data, const settings& s, const std::string& device, bool quiet) {
  tree (*grow_on_device)(const dataset&, const settings&) = emulated::grow_on_device;
  if (device == "cuda") {
#ifdef GROW_TREE_CUDA
    grow_on_device = cuda::grow_on_device;
#else
    std::fprintf(stderr, "grow_tree: device cuda was not built in; emulated is\n");
    return 3;
#endif
  }
  const tree grown = grow_on_device(data, s);
  std::vector<double> expected;
  const tree plain = plain_learner(data, s).grow(expected);
  if (!quiet) print(grown, data, 0, 0);
  if (const std::string found = difference(grown, plain); !found.empty()) {
    std::fprintf(stderr, "grow_tree: %s\n", found.c_str());
    return 1;
  }
  for (int64_t row = 0; row < data.rows; ++row) {
    const double actual = predict(grown, data, row);
    if (same_bits(actual, expected[static_cast<size_t>(row)])) continue;
    std::fprintf(stderr, "grow_tree: row %lld: the device's tree predicts %a, the plain one %a\n",
                 static_cast<long long>(row), actual, expected[static_cast<size_t>(row)]);
    return 1;
  }
  const auto leaves = std::count_if(grown.begin(), grown.end(), [](const tree_node& n) { return n.left < 0; });
  std::printf("%s: %lld leaves, loss %g instead of %g; tree and predictions of %lld rows equal the plain learner's\n",
              device.c_str(), static_cast<long long>(leaves), loss(data, expected),
              loss(data, std::vector<double>(expected.size())), static_cast<long long>(data.rows));
  return 0;
}

}  // namespace
}  // namespace grow_tree

int main(int argc, char** argv) {
  CLI::App app{"Grows a tree on a device from the operators of warpcheck, and compares it with a plain learner's.",
               "grow_tree"};
  int64_t rows = 3000, features = 8;
  uint64_t seed = 1;
  std::string device = "emulated";
  bool quiet = false;
  grow_tree::settings s{6, 32, 1, 8, 0};
  app.add_option("--device", device, "emulated or cuda")
      ->check(CLI::IsMember({"emulated", "cuda"}))
      ->capture_default_str();
  app.add_option("--rows", rows, "Rows")->check(CLI::Range(int64_t{1}, int64_t{1} << 22))->capture_default_str();
  app.add_option("--features", features, "Features")
      ->check(CLI::Range(int64_t{1}, int64_t{1000}))
      ->capture_default_str();
  app.add_option("--depth", s.depth, "Depth of the tree")->check(CLI::Range(1, 12))->capture_default_str();
  app.add_option("--bins", s.bins, "Most bins of a feature")->check(CLI::Range(1, 255))->capture_default_str();
  app.add_option("--seed", seed, "Of the data")->capture_default_str();
  app.add_flag("--quiet", quiet, "Do not print the tree");
  app.footer("Exit codes: 0 both trees agree, 1 they differ, 2 usage, 3 the device is missing or fails.");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  try {
    return grow_tree::run(grow_tree::make_data(rows, features, seed), s, device, quiet);
  } catch (const simt::device_error& e) {
    std::fprintf(stderr, "grow_tree: device %s: %s\n", device.c_str(), e.what());
    return 3;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "grow_tree: %s\n", e.what());
    return 3;
  }
}
