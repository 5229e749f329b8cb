// What of best_split no candidate's door reaches: the tasks of features, the root's gain, the refusals of the C++ API.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/best_split.hpp"
#include "reference/best_split.hpp"

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
  c.path = static_cast<split_path>(3);
  EXPECT_NE(refusal([&] { best_split_workspace_bytes(1, 1, c); }).find("path is"), std::string::npos);
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
}

}  // namespace
}  // namespace warpcheck
