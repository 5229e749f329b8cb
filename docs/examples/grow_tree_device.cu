// A histogram tree learner on the device, from the operators of kernels/.
//
//   argsort      the values of every feature in order, from which the bins are cut
//   histogram    sums of g and h of each bin, over the rows of a leaf: dense columns, and sparse ones as CSR, whose
//                most frequent bin histogram_totals and histogram_fix restore; of two siblings only the smaller is
//                summed, the other is parent - smaller (histogram_subtract)
//   best_split   the best split of every leaf of a level, in one call
//   scan         where each row of a split leaf goes, from how many before it go left
//
// Everything here but the two small kernels is host code that any CUDA program could hold; `simt` stands for the CUDA
// runtime, so that the file also compiles for the emulated device. One stream, and simt::memcpy_async with
// std::vector's memory, which is pageable: a copy to the host has arrived when the call returns.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "grow_tree.hpp"
#include "kernels/argsort/argsort.hpp"
#include "kernels/best_split/best_split.hpp"
#include "kernels/histogram/histogram.hpp"
#include "kernels/scan/scan.hpp"

namespace grow_tree {
inline namespace SIMT_DEVICE_NS {  // cuda or emulated: both fit into one program
namespace {

using namespace warpcheck;

constexpr unsigned k_threads = 256;
const simt::stream_t k_stream = nullptr;  // the default one

template <class T>
simt::buffer<T> device_array(size_t n) {
  return simt::buffer<T>(std::max<size_t>(n, 1), k_stream);
}
template <class T>
std::vector<T> to_host(const T* from, size_t n) {
  std::vector<T> to(n);
  if (n > 0) simt::memcpy_async(to.data(), from, n * sizeof(T), k_stream);
  return to;
}
simt::launch_config threads_for(int64_t n) {
  return {dim3(static_cast<unsigned>((n + k_threads - 1) / k_threads)), dim3(k_threads), 0, k_stream};
}

// A vector's copy on the device.
template <class T>
class device_copy : public simt::buffer<T> {
 public:
  explicit device_copy(const std::vector<T>& from) : simt::buffer<T>(std::max<size_t>(from.size(), 1), k_stream) {
    if (!from.empty()) simt::memcpy_async(this->data(), from.data(), from.size() * sizeof(T), k_stream);
  }
};

// A feature cut into bins. Bin b holds the values up to upper[b] that no bin before it holds; missing values have a bin
// of their own behind these.
struct binned_feature {
  std::vector<float> upper;
  std::vector<uint8_t> bin;  // of each row
  std::vector<int64_t> rows_of_bin;
  int32_t most_frequent = 0;
  bool has_missing = false;

  int32_t num_bin() const { return static_cast<int32_t>(rows_of_bin.size()); }
  bool is_sparse() const {
    return 2 * rows_of_bin[static_cast<size_t>(most_frequent)] > static_cast<int64_t>(bin.size());
  }
};

// A bin takes equal values together, and is closed once it has its share of the rows.
binned_feature cut(const float* x, const int32_t* order, int64_t rows, int bins) {
  binned_feature f;
  f.bin.resize(static_cast<size_t>(rows));
  const auto is_missing = [&](int64_t i) { return std::isnan(x[order[i]]); };
  int64_t present = rows;  // argsort puts NaN last
  while (present > 0 && is_missing(present - 1)) --present;
  for (int64_t i = 0; i < present; ++i) {
    const float value = x[order[i]];
    if (i == 0 || (value != f.upper.back() && f.rows_of_bin.back() * bins >= present)) {
      f.upper.push_back(value);
      f.rows_of_bin.push_back(0);
    }
    f.upper.back() = value;
    ++f.rows_of_bin.back();
    f.bin[static_cast<size_t>(order[i])] = static_cast<uint8_t>(f.rows_of_bin.size() - 1);
  }
  f.has_missing = present < rows;
  if (f.has_missing) f.rows_of_bin.push_back(rows - present);
  for (int64_t i = present; i < rows; ++i)
    f.bin[static_cast<size_t>(order[i])] = static_cast<uint8_t>(f.rows_of_bin.size() - 1);
  f.most_frequent =
      static_cast<int32_t>(std::max_element(f.rows_of_bin.begin(), f.rows_of_bin.end()) - f.rows_of_bin.begin());
  return f;
}

std::vector<binned_feature> cut_features(const dataset& data, int bins) {
  const device_copy<float> keys(data.x);
  const auto index = device_array<int32_t>(data.x.size());
  const size_t ws_bytes = argsort_workspace_bytes(data.features, data.rows, sizeof(int32_t));
  const auto ws = device_array<unsigned char>(ws_bytes);
  argsort(keys.data(), index.data(), data.features, data.rows, sort_order::ascending, ws.data(), ws_bytes, k_stream);
  const std::vector<int32_t> order = to_host(index.data(), data.x.size());
  std::vector<binned_feature> features;
  for (int64_t f = 0; f < data.features; ++f)
    features.push_back(cut(data.x.data() + f * data.rows, order.data() + f * data.rows, data.rows, bins));
  return features;
}

// The binned rows as `histogram` takes them: dense columns first, then sparse ones, whose rows in the most frequent bin
// have no entry.
struct layout {
  std::vector<hist_column> columns;
  std::vector<uint8_t> dense;  // [rows][columns]
  std::vector<int64_t> row_ptr;
  std::vector<uint32_t> sparse;     // slots, counted from the first sparse one
  std::vector<fix_entry> fixes;     // of the sparse columns, counted likewise
  std::vector<int64_t> first_slot;  // of each feature, counted from the first of all
  int64_t dense_slots = 0, sparse_slots = 0;

  layout(const std::vector<binned_feature>& features, int64_t rows) : first_slot(features.size()) {
    for (size_t f = 0; f < features.size(); ++f) {
      if (features[f].is_sparse()) continue;
      first_slot[f] = dense_slots;
      columns.push_back({dense_slots, features[f].num_bin(), 0});
      dense_slots += features[f].num_bin();
    }
    for (size_t f = 0; f < features.size(); ++f) {
      if (!features[f].is_sparse()) continue;
      first_slot[f] = dense_slots + sparse_slots;
      fixes.push_back({sparse_slots, features[f].num_bin(), features[f].most_frequent});
      sparse_slots += features[f].num_bin();
    }
    row_ptr.push_back(0);
    for (size_t row = 0; row < static_cast<size_t>(rows); ++row) {
      for (size_t f = 0; f < features.size(); ++f) {
        const uint8_t b = features[f].bin[row];
        if (!features[f].is_sparse())
          dense.push_back(b);
        else if (b != features[f].most_frequent)
          sparse.push_back(static_cast<uint32_t>(first_slot[f] - dense_slots + b));
      }
      row_ptr.push_back(static_cast<int64_t>(sparse.size()));
    }
  }
  int64_t slots() const { return dense_slots + sparse_slots; }
};

// ---- where the rows of a split leaf go ----

// goes_left[i] is 1 if row rows[i] goes left, else 0. missing_bin: -1 if the feature has none.
__global__ void route_rows(const int32_t* rows, int64_t n, const uint8_t* bin_of_row, int threshold, int missing_bin,
                           bool default_left, int64_t* goes_left) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const int b = bin_of_row[rows[i]];
  goes_left[i] = b == missing_bin ? default_left : b <= threshold;
}

// Rows that go left first, each side in its old order. left_up_to[i]: how many of rows 0 to i go left.
__global__ void move_rows(const int32_t* rows, int64_t n, const int64_t* goes_left, const int64_t* left_up_to,
                          int32_t* moved) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= n) return;
  moved[goes_left[i] ? left_up_to[i] - 1 : left_up_to[n - 1] + i - left_up_to[i]] = rows[i];
}

// ---- growing ----

// A node that may be split: its rows are `rows` entries of the list from `first` on.
struct open_leaf {
  int node;
  int64_t first, rows;
  double sum_g, sum_h, gain;  // of the leaf as it is
};

class learner {
 public:
  learner(const dataset& data, const settings& s)
      : data_(data),
        settings_(s),
        features_(cut_features(data, s.bins)),
        layout_(features_, data.rows),
        columns_(layout_.columns),
        dense_(layout_.dense),
        row_ptr_(layout_.row_ptr),
        sparse_(layout_.sparse),
        fixes_(layout_.fixes),
        bin_of_row_(bins_by_column(features_)),
        g_(data.g),
        h_(data.h),
        rows_(row_numbers(data.rows)),
        scale_(1, k_stream),
        totals_(1, k_stream),
        goes_left_(static_cast<size_t>(data.rows), k_stream),
        left_up_to_(static_cast<size_t>(data.rows), k_stream),
        moved_(static_cast<size_t>(data.rows), k_stream),
        dense_bins_{dense_.data(),
                    bin_type::u8,
                    data.rows,
                    static_cast<int64_t>(layout_.columns.size()),
                    static_cast<int64_t>(layout_.columns.size()),
                    columns_.data()},
        sparse_bins_{row_ptr_.data(), sparse_.data(), bin_type::u32, data.rows},
        hist_ws_bytes_(std::max(histogram_workspace_bytes(dense_bins_, layout_.dense_slots),
                                histogram_workspace_bytes(sparse_bins_, layout_.sparse_slots))),
        hist_ws_(std::max<size_t>(hist_ws_bytes_, 1), k_stream) {
    config_.lambda_l2 = s.lambda_l2;
    config_.min_sum_hessian_in_leaf = s.min_sum_hessian;
    config_.min_gain_to_split = s.min_gain_to_split;
    config_.min_data_in_leaf = 0;
    std::vector<feature_meta> meta;
    for (size_t f = 0; f < features_.size(); ++f)
      meta.push_back({static_cast<int32_t>(f), features_[f].num_bin(), 0, layout_.first_slot[f], 0,
                      features_[f].has_missing ? missing_kind::nan : missing_kind::none, false});
    tasks_ = make_split_tasks(meta.data(), data.features, config_);
    config_.known = long_tasks_last(tasks_);
  }

  tree grow() {
    histogram_scale(g_.data(), h_.data(), data_.rows, data_.rows, scale_.data(), k_stream);
    histograms hist = make_histograms(1);
    const leaf_totals total = sum_rows(0, data_.rows, hist->data());
    tree result(1);
    result[0].rows = data_.rows;
    std::vector<open_leaf> level = {
        {0, 0, data_.rows, total.sum_g, total.sum_h, leaf_gain(total.sum_g, total.sum_h, config_)}};
    for (int depth = 1; depth <= settings_.depth && !level.empty(); ++depth) {
      const std::vector<split_record> splits = split_level(level, hist->data());
      std::vector<open_leaf> next;
      std::vector<const double*> parents;  // histograms, of each pair of `next`
      for (size_t i = 0; i < level.size(); ++i) {
        if (!splits[i].is_valid) continue;
        const int64_t left_rows = part_rows(level[i], splits[i]);
        const int left = add_split(result, level[i], splits[i], left_rows);
        const auto open = [&](int node, const split_side& side, int64_t first, int64_t rows) {
          next.push_back({node, first, rows, side.sum_g, side.sum_h, side.gain});
        };
        open(left, splits[i].left, level[i].first, left_rows);
        open(left + 1, splits[i].right, level[i].first + left_rows, level[i].rows - left_rows);
        parents.push_back(histogram_of(hist, i));
      }
      if (depth == settings_.depth) break;
      histograms next_hist = make_histograms(next.size());
      for (size_t pair = 0; pair < parents.size(); ++pair) {
        const size_t left = 2 * pair, right = left + 1;
        const size_t smaller = next[left].rows <= next[right].rows ? left : right, larger = left + right - smaller;
        sum_rows(next[smaller].first, next[smaller].rows, histogram_of(next_hist, smaller));
        histogram_subtract<double>(parents[pair], histogram_of(next_hist, smaller), histogram_of(next_hist, larger),
                                   layout_.slots(), k_stream);
      }
      level = std::move(next);
      hist = std::move(next_hist);
    }
    return result;
  }

 private:
  static std::vector<uint8_t> bins_by_column(const std::vector<binned_feature>& features) {
    std::vector<uint8_t> all;
    for (const binned_feature& f : features) all.insert(all.end(), f.bin.begin(), f.bin.end());
    return all;
  }
  static std::vector<int32_t> row_numbers(int64_t rows) {
    std::vector<int32_t> list(static_cast<size_t>(rows));
    for (size_t i = 0; i < list.size(); ++i) list[i] = static_cast<int32_t>(i);
    return list;
  }

  // Histograms of the leaves of a level, one behind the other.
  using histograms = std::unique_ptr<simt::buffer<double>>;
  histograms make_histograms(size_t leaves) const {
    const size_t doubles = leaves * 2 * static_cast<size_t>(layout_.slots());
    return std::make_unique<simt::buffer<double>>(std::max<size_t>(doubles, 1), k_stream);
  }
  double* histogram_of(const histograms& all, size_t leaf) const {
    return all->data() + leaf * 2 * static_cast<size_t>(layout_.slots());
  }

  // Writes the split into the leaf's node and adds its children; returns the left one's number.
  int add_split(tree& t, const open_leaf& leaf, const split_record& split, int64_t left_rows) const {
    const int left = static_cast<int>(t.size());
    tree_node& node = t[static_cast<size_t>(leaf.node)];
    node.feature = split.feature;
    node.threshold = features_[static_cast<size_t>(split.feature)].upper[split.threshold];
    node.default_left = split.default_left;
    node.gain = split.gain;
    node.left = left;
    node.right = left + 1;
    t.resize(t.size() + 2);
    t[static_cast<size_t>(left)].value = split.left.value;
    t[static_cast<size_t>(left)].rows = left_rows;
    t[static_cast<size_t>(left) + 1].value = split.right.value;
    t[static_cast<size_t>(left) + 1].rows = leaf.rows - left_rows;
    return left;
  }

  // The histogram of a part of the list of rows, into `hist`, and its totals.
  leaf_totals sum_rows(int64_t first, int64_t n, double* hist) {
    const int32_t* const rows = rows_.data() + first;
    const hist_options options;  // fixed64: the same bits in whatever order
    histogram(dense_bins_, rows, n, g_.data(), h_.data(), scale_.data(), data_.rows, hist, layout_.dense_slots, options,
              hist_ws_.data(), hist_ws_bytes_, k_stream);
    double* const sparse_hist = hist + 2 * layout_.dense_slots;
    histogram(sparse_bins_, rows, n, g_.data(), h_.data(), scale_.data(), data_.rows, sparse_hist, layout_.sparse_slots,
              options, hist_ws_.data(), hist_ws_bytes_, k_stream);
    histogram_totals(rows, n, data_.rows, g_.data(), h_.data(), scale_.data(), totals_.data(), k_stream);
    histogram_fix<double>(sparse_hist, layout_.sparse_slots, fixes_.data(), static_cast<int64_t>(layout_.fixes.size()),
                          &totals_.data()->sum_g, k_stream);
    return to_host(totals_.data(), 1)[0];
  }

  std::vector<split_record> split_level(const std::vector<open_leaf>& level, const double* hist) {
    std::vector<split_leaf> leaves;
    for (size_t i = 0; i < level.size(); ++i)
      leaves.push_back({static_cast<int64_t>(i) * layout_.slots(), level[i].sum_g, level[i].sum_h, level[i].rows,
                        level[i].gain, 0, 0});
    const auto num_leaves = static_cast<int64_t>(leaves.size()), num_tasks = static_cast<int64_t>(tasks_.size());
    const device_copy<split_leaf> device_leaves(leaves);
    const device_copy<split_task> device_tasks(tasks_);
    const auto records = device_array<split_record>(leaves.size());
    const size_t ws_bytes = best_split_workspace_bytes(num_tasks, num_leaves, config_);
    const auto ws = device_array<unsigned char>(ws_bytes);
    best_split(hist, nullptr, device_tasks.data(), num_tasks, device_leaves.data(), num_leaves, nullptr, config_,
               records.data(), nullptr, ws.data(), ws_bytes, k_stream);
    return to_host(records.data(), leaves.size());
  }

  // Sorts the leaf's part of the list into rows that go left, then the others; returns how many go left.
  int64_t part_rows(const open_leaf& leaf, const split_record& split) {
    const binned_feature& f = features_[static_cast<size_t>(split.feature)];
    int32_t* const rows = rows_.data() + leaf.first;
    // Two bins, of which one is that of missing values: the threshold separates them.
    const int missing_bin = f.has_missing && f.num_bin() > 2 ? f.num_bin() - 1 : -1;
    simt::launch(threads_for(leaf.rows), route_rows, rows, leaf.rows, bin_of_row_.data() + split.feature * data_.rows,
                 static_cast<int>(split.threshold), missing_bin, split.default_left, goes_left_.data());
    const size_t ws_bytes = scan_workspace_bytes(1, leaf.rows, scan_path::automatic);
    const auto ws = device_array<unsigned char>(ws_bytes);
    scan(goes_left_.data(), left_up_to_.data(), 1, leaf.rows, scan_kind::inclusive, scan_path::automatic, ws.data(),
         ws_bytes, k_stream);
    simt::launch(threads_for(leaf.rows), move_rows, rows, leaf.rows, goes_left_.data(), left_up_to_.data(),
                 moved_.data());
    simt::memcpy_async(rows, moved_.data(), static_cast<size_t>(leaf.rows) * sizeof(int32_t), k_stream);
    return to_host(left_up_to_.data() + leaf.rows - 1, 1)[0];
  }

  const dataset& data_;
  const settings settings_;
  const std::vector<binned_feature> features_;
  const layout layout_;
  const device_copy<hist_column> columns_;
  const device_copy<uint8_t> dense_;
  const device_copy<int64_t> row_ptr_;
  const device_copy<uint32_t> sparse_;
  const device_copy<fix_entry> fixes_;
  const device_copy<uint8_t> bin_of_row_;  // [features][rows]
  const device_copy<float> g_, h_;
  const device_copy<int32_t> rows_;  // the rows of each leaf side by side
  const simt::buffer<fixed_scale> scale_;
  const simt::buffer<leaf_totals> totals_;
  const simt::buffer<int64_t> goes_left_, left_up_to_;
  const simt::buffer<int32_t> moved_;
  const dense_bins dense_bins_;
  const csr_bins sparse_bins_;
  const size_t hist_ws_bytes_;
  const simt::buffer<unsigned char> hist_ws_;
  split_config config_;
  std::vector<split_task> tasks_;
};

}  // namespace

// Throws std::invalid_argument and simt::device_error.
tree grow_on_device(const dataset& data, const settings& s);
tree grow_on_device(const dataset& data, const settings& s) { return learner(data, s).grow(); }

}  // namespace SIMT_DEVICE_NS
}  // namespace grow_tree
