// Calls that a candidate's process gets all at once, as `bench` times them on a GPU; here they are on the CPU.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <stdexcept>
#include <string>
#include <string_view>

#include "properties/engine/isolation/isolated_library.hpp"
#include "properties/engine/isolation/runner.hpp"
#include "properties/engine/trials/library.hpp"
#include "tests/run_command.hpp"

namespace {

using namespace warpcheck::engine;

constexpr size_t k_cols = 3;
using row = std::array<float, k_cols>;

// A softmax of one row, and its memory in the arena of the candidate's process.
class one_row {
 public:
  explicit one_row(const std::string& library)
      : library_(load_isolated(warpcheck::self::environment("WARPCHECK_TEST_CANDIDATES") + "/" + library,
                               WARPCHECK_DEVICE_CPU)),
        api_(*library_.api) {
    for (DLTensor* t : {&x_, &y_})
      *t = {api_.alloc(sizeof(row), 0, sizeof(float)), {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape_, nullptr, 0};
    call_.struct_size = sizeof call_;
    call_.inputs = inputs_;
    call_.outputs = outputs_;
    call_.num_inputs = call_.num_outputs = 1;
    call_.message = message_;
    call_.message_size = sizeof message_;
    const row x = {0, 0, std::log(2.0f)};
    EXPECT_EQ(api_.copy_in(x_.data, x.data(), sizeof x), 0);
  }

  // Returns the us of `times` calls at once.
  double at_once(int times) {
    const auto calls = [&] {
      for (int i = 0; i < times; ++i) EXPECT_EQ(library_.operators.at(0).run(call_), WARPCHECK_OK);
    };
    return time_batch(api_, calls, [&] { return std::vector<peeked>{{y_.data, sizeof(float)}}; });
  }
  void read_back() { warpcheck::engine::read_back(api_, {{y_.data, sizeof(row)}}); }
  row result() const {
    row y = {};
    EXPECT_EQ(api_.copy_out(y.data(), y_.data, sizeof y), 0);
    return y;
  }

 private:
  isolated_library library_;
  const warpcheck_device_api& api_;
  int64_t shape_[2] = {1, k_cols};
  DLTensor x_, y_;
  const DLTensor* inputs_[1] = {&x_};
  DLTensor* outputs_[1] = {&y_};
  char message_[512] = "";
  warpcheck_call call_ = {};
};

TEST(IsolatedBatch, IsTimedAndItsResultIsRead) {
  one_row softmax("libtemplate_softmax.so");
  for (const int times : {1, 5, 2}) {
    EXPECT_GT(softmax.at_once(times), 0);
    EXPECT_NEAR(softmax.result()[0], 0.25f, 1e-6f);
    EXPECT_EQ(softmax.result()[2] == 0, times == 1);  // only one element has been read
    softmax.read_back();
    EXPECT_NEAR(softmax.result()[2], 0.5f, 1e-6f);
  }
}

TEST(IsolatedBatch, ThrowsWhatACallAnswers) {
  one_row softmax("libhostile_unsupported.so");
  EXPECT_THROW(softmax.at_once(3), std::runtime_error);
}

}  // namespace

// This program is also the candidate's process, as the command is.
int main(int argc, char** argv) {
  if (argc >= 4 && std::string_view(argv[1]) == k_runner_word) serve_candidate(argv[2], argv[3]);
  testing::InitGoogleTest(&argc, argv);
  isolate_candidates({});
  return RUN_ALL_TESTS();
}
