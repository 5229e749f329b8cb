// What of best_split no candidate's interface reaches: the tasks of features, the root's gain, the refusals of the C++
// API.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/best_split/best_split.hpp"
#include "reference/best_split/best_split.hpp"

namespace warpcheck {
namespace {

feature_meta numerical(int32_t bins, missing_kind missing, int32_t default_bin = 0) {
  return {7, bins, default_bin, 40, 1, missing, false};
}

std::vector<split_task> tasks_of(const feature_meta& f) { return make_split_tasks(&f, 1, {}); }

TEST(SplitTasks, MissingValuesTakeBothDirections) {
  for (const missing_kind missing : {missing_kind::zero, missing_kind::nan}) {
    const std::vector<split_task> tasks = tasks_of(numerical(3, missing, 1));
    ASSERT_EQ(tasks.size(), 2u);
    EXPECT_NE(tasks[0].reverse, tasks[1].reverse);
    for (const split_task& t : tasks) {
      EXPECT_EQ(t.default_left, t.reverse);
      EXPECT_EQ(t.skip_default_bin, missing == missing_kind::zero);
      EXPECT_EQ(t.na_as_missing, missing == missing_kind::nan);
      EXPECT_EQ(t.feature, 7);
      EXPECT_EQ(t.hist_offset, 40);
      EXPECT_EQ(t.mfb_offset, 1);
      EXPECT_EQ(t.default_bin, 1);
    }
  }
}

TEST(SplitTasks, OtherFeaturesTakeOneReverseTask) {
  const auto only = [](const feature_meta& f) {
    const std::vector<split_task> tasks = tasks_of(f);
    EXPECT_EQ(tasks.size(), 1u);
    EXPECT_FALSE(tasks[0].skip_default_bin || tasks[0].na_as_missing);
    EXPECT_TRUE(tasks[0].reverse);
    return tasks[0].default_left;
  };
  EXPECT_TRUE(only(numerical(255, missing_kind::none)));
  EXPECT_FALSE(only(numerical(2, missing_kind::nan)));
  EXPECT_TRUE(only(numerical(2, missing_kind::zero, 0)));
  EXPECT_FALSE(only(numerical(2, missing_kind::zero, 1)));
}

TEST(SplitTasks, CategoriesAreOneHotUpToALimit) {
  split_config config;
  config.max_cat_to_onehot = 4;
  for (const int32_t bins : {1, 4, 5}) {
    feature_meta f = numerical(bins, missing_kind::none);
    f.categorical = true;
    const std::vector<split_task> tasks = make_split_tasks(&f, 1, config);
    ASSERT_EQ(tasks.size(), 1u);
    EXPECT_TRUE(tasks[0].categorical);
    EXPECT_EQ(tasks[0].one_hot, bins <= 4);
  }
}

template <class F>
std::string refusal(F&& call) {
  try {
    call();
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
  return "accepted";
}

TEST(SplitTasks, RefusalsNameFieldAndValue) {
  EXPECT_EQ(refusal([] { tasks_of(numerical(0, missing_kind::none)); }),
            "features[0].num_bin is 0, must be in 1..65536");
  EXPECT_EQ(refusal([] { tasks_of(numerical(65537, missing_kind::none)); }),
            "features[0].num_bin is 65537, must be in 1..65536");
  EXPECT_EQ(refusal([] { tasks_of(numerical(3, missing_kind::zero, 3)); }),
            "features[0].default_bin is 3, must be in 0..2");
  EXPECT_NE(refusal([] { make_split_tasks(nullptr, 1, {}); }).find("features is null"), std::string::npos);
  EXPECT_EQ(make_split_tasks(nullptr, 0, {}).size(), 0u);
  EXPECT_EQ(tasks_of(numerical(65536, missing_kind::none)).size(), 1u);
}

TEST(SplitTasks, ConfigurationsMustBeFiniteAndNotNegative) {
  for (const double wrong : {-1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    split_config c;
    c.lambda_l1 = wrong;
    EXPECT_NE(refusal([&] { best_split_workspace_bytes(1, 1, c); }).find("lambda_l1 is"), std::string::npos);
    c = {};
    c.path_smooth = wrong;
    EXPECT_NE(refusal([&] { best_split_workspace_bytes(1, 1, c); }).find("path_smooth is"), std::string::npos);
  }
  split_config c;
  c.min_data_in_leaf = -1;
  EXPECT_NE(refusal([&] { best_split_workspace_bytes(1, 1, c); }).find("min_data_in_leaf is"), std::string::npos);
  c = {};
  c.path = static_cast<split_path>(4);
  EXPECT_NE(refusal([&] { best_split_workspace_bytes(1, 1, c); }).find("path is"), std::string::npos);
  c = {};
  c.known.most_bins = -1;
  EXPECT_NE(refusal([&] { best_split_workspace_bytes(1, 1, c); }).find("most_bins is -1"), std::string::npos);
  c = {};
  for (const int64_t wrong : {-1, 2}) {
    c.known.long_tasks = wrong;
    EXPECT_NE(refusal([&] { best_split_workspace_bytes(1, 1, c); }).find("long_tasks is"), std::string::npos);
  }
  c.known.long_tasks = 1;
  EXPECT_EQ(best_split_workspace_bytes(1, 1, c), best_split_workspace_bytes(1, 1, {}));
}

TEST(SplitTasks, LongOnesGoLast) {
  std::vector<split_task> tasks;
  const int32_t bins[] = {3, 2049, 2048, 65536, 257};
  for (const int32_t n : bins)
    for (int k = 0; k < 2; ++k) {
      split_task task{};
      task.feature = static_cast<int32_t>(2 * tasks.size());
      task.num_bin = n;
      tasks.push_back(task);
    }
  const split_knowledge known = long_tasks_last(tasks);
  EXPECT_EQ(known.most_bins, 65536);
  EXPECT_EQ(known.long_tasks, 4);
  std::vector<int32_t> order;
  for (const split_task& t : tasks) order.push_back(t.feature);
  EXPECT_EQ(order, (std::vector<int32_t>{0, 2, 8, 10, 16, 18, 4, 6, 12, 14}));
  std::vector<split_task> none;
  EXPECT_EQ(long_tasks_last(none).most_bins, 0);
}

// One leaf of features of `short_bins` bins and of one of `long_bins`.
struct leaf_of_features {
  std::vector<double> hist;
  std::vector<split_task> tasks;
  std::vector<split_leaf> leaves;

  leaf_of_features(int32_t features, int32_t short_bins, int32_t long_bins) {
    std::vector<feature_meta> metas;
    for (int32_t f = 0; f <= features; ++f) {
      const int32_t bins = f == features / 2 ? long_bins : short_bins;
      if (bins == 0) continue;
      metas.push_back({f, bins, 0, static_cast<int64_t>(hist.size() / 2), 0, missing_kind::nan, false});
      // All divide the same rows: the last bin makes up for the others.
      double g = 5, h = long_bins + short_bins;
      for (int32_t b = 0; b + 1 < bins; ++b) {
        const double of_bin = b % 7 - 3 + (f == features / 2 && b < bins / 3 ? 1 : 0);
        hist.insert(hist.end(), {of_bin, 1});
        g -= of_bin;
        h -= 1;
      }
      hist.insert(hist.end(), {g, h});
    }
    tasks = make_split_tasks(metas.data(), static_cast<int64_t>(metas.size()), {});
    leaves = {{0, 5, static_cast<double>(long_bins + short_bins), long_bins + short_bins, 0, 0, 0}};
  }
};

// What is known of the tasks picks the path and changes no byte of the record.
TEST(SplitTasks, KnowledgePicksThePath) {
  const auto run = [](const leaf_of_features& leaf, const split_knowledge& known, split_path expected) {
    split_config config;
    config.min_data_in_leaf = 1;
    config.known = known;
    const auto num_tasks = static_cast<int64_t>(leaf.tasks.size());
    std::vector<unsigned char> ws(best_split_workspace_bytes(num_tasks, 1, config) + 16);
    void* aligned = ws.data() + (16 - reinterpret_cast<uintptr_t>(ws.data()) % 16) % 16;
    std::vector<unsigned char> record(sizeof(split_record));
    EXPECT_EQ(
        best_split(leaf.hist.data(), nullptr, leaf.tasks.data(), num_tasks, leaf.leaves.data(), 1, nullptr, config,
                   reinterpret_cast<split_record*>(record.data()), nullptr, aligned, ws.size() - 16, nullptr),
        expected);
    return record;
  };
  const auto check = [&](leaf_of_features leaf, split_path unknown, split_path path) {
    const std::vector<unsigned char> record = run(leaf, {}, unknown);
    EXPECT_EQ(record[0], 1);  // is_valid
    const split_knowledge known = long_tasks_last(leaf.tasks);
    EXPECT_EQ(run(leaf, known, path), record);
  };
  check({0, 0, 256}, split_path::cluster, split_path::block);
  check({0, 0, 257}, split_path::cluster, split_path::cluster);
  check({20, 15, 256}, split_path::block, split_path::block);
  check({20, 15, 2049}, split_path::block, split_path::mixed);
}

TEST(SplitTasks, CallsWithoutRoomAreRefused) {
  split_record record;
  const split_leaf leaf{};
  const split_task task{};
  const double hist[2] = {};
  alignas(16) unsigned char ws[4096];
  const auto call = [&](int64_t tasks, int64_t leaves, split_record* out, size_t bytes) {
    return refusal(
        [&] { best_split(hist, nullptr, &task, tasks, &leaf, leaves, nullptr, {}, out, nullptr, ws, bytes, nullptr); });
  };
  EXPECT_NE(call(-1, 1, &record, sizeof ws).find("num_tasks is -1"), std::string::npos);
  EXPECT_NE(call(1, -1, &record, sizeof ws).find("num_leaves is -1"), std::string::npos);
  EXPECT_NE(call(1, 1, nullptr, sizeof ws).find("out is null"), std::string::npos);
  EXPECT_NE(call(1, 1, &record, 8).find("ws_bytes is 8"), std::string::npos);
  EXPECT_NE(call(1, 1, reinterpret_cast<split_record*>(ws), sizeof ws).find("overlaps"), std::string::npos);
  EXPECT_NE(refusal([&] { split_reduce(nullptr, nullptr, 1, 1, 4, &record, nullptr, nullptr); }).find("in is null"),
            std::string::npos);
  EXPECT_NE(
      refusal([&] { split_reduce(&record, nullptr, -1, 1, 4, &record, nullptr, nullptr); }).find("per_leaf is -1"),
      std::string::npos);
}

TEST(SplitTasks, GainOfTheRootIsThatOfTheReference) {
  split_config c;
  reference::split_settings s;
  for (const double l1 : {0.0, 2.0})
    for (const double l2 : {0.0, 3.0})
      for (const double g : {-5.0, 0.0, 1.0, 40.25})
        for (const double h : {0.0, 1e-15, 7.0}) {
          c.lambda_l1 = s.lambda_l1 = l1;
          c.lambda_l2 = s.lambda_l2 = l2;
          EXPECT_EQ(leaf_gain(g, h, c), reference::leaf_gain(g, h, s));
        }
  c.lambda_l1 = 2;
  c.lambda_l2 = 6;
  EXPECT_EQ(leaf_gain(-10, 26, c), 2.0);  // (10 - 2)^2 / 32
  EXPECT_EQ(leaf_value(-10, 26, c), 0.25);
  EXPECT_EQ(leaf_value(10, 26, c), -0.25);
  EXPECT_FALSE(std::signbit(leaf_value(1, 26, c)));  // 0 within the soft threshold
  c.lambda_l2 = 0;
  EXPECT_EQ(leaf_value(3, 0, c), -1 / static_cast<double>(1e-15f));
}

}  // namespace
}  // namespace warpcheck
