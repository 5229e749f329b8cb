// A stranger's program: runs a kernel of the emulated device, judges it with the reference, and prints a case line.
#include <cstdio>
#include <vector>

#include "kernels/softmax/softmax.hpp"
#include "properties/engine/cases/case.hpp"
#include "reference/softmax/softmax.hpp"

int main() {
  const std::vector<float> x = {1.0f, 2.0f, 3.0f, -1.0f};
  std::vector<float> y(x.size());
  warpcheck::softmax(x.data(), 4, y.data(), 4, 1, 4, nullptr, nullptr);
  const std::vector<double> exact_inputs(x.begin(), x.end());
  const warpcheck::reference::softmax_row model(exact_inputs, warpcheck::dtype::f32);
  for (int i = 0; i < 4; ++i)
    if (!model.judge(i, static_cast<double>(y[static_cast<size_t>(i)])).accepted) return 1;
  const auto c = warpcheck::engine::parse_case(
      "v1 softmax/within-error-bound x=f32[1x4] fill=randn(7) | y=f32[1x4] | device=emulated");
  std::printf("%s\n", warpcheck::engine::format(c).c_str());
}
