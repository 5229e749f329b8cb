// Row operators whose workspace cannot be had say so and write nothing. The emulated device takes the rows themselves
// from any memory of the process, so all of its own can be in use.
#include <gtest/gtest.h>

#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "abi/candidate.h"
#include "simt/emulated_memory.hpp"
#include "simt/emulation.hpp"
#include "simt/error.hpp"

namespace warpcheck {
namespace {

const warpcheck_operator& operator_of(const std::string& variant) {
  const warpcheck_candidate& all = *warpcheck_candidate_get(WARPCHECK_CANDIDATE_ABI);
  for (const warpcheck_operator* op : std::span(all.operators, static_cast<size_t>(all.num_operators)))
    for (const warpcheck_variant& v : std::span(op->variants, static_cast<size_t>(op->num_variants)))
      if (v.name == variant) return *op;
  throw std::logic_error("no variant " + variant);
}

class row_workspace : public testing::TestWithParam<const char*> {};

TEST_P(row_workspace, that_cannot_be_had_is_told_of) {
  const warpcheck_operator& op = operator_of(GetParam());
  const std::string name = op.name;
  int64_t shape[] = {1, 1 << 17}, strides[] = {shape[1], 1};
  std::vector<float> x(1 << 17, 1), y(1 << 17, -1);
  const std::vector<float> untouched = y;
  const DLTensor of_x = {x.data(), {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, strides, 0};
  DLTensor of_y = of_x;
  of_y.data = y.data();
  if (name == "argmax") of_y.dtype = {kDLInt, 64, 1};
  if (name == "argmax" || name == "logsumexp" || name == "reduce") of_y.ndim = 1;  // a value per row
  const DLTensor* const inputs[] = {&of_x};
  DLTensor* const outputs[] = {&of_y};
  const warpcheck_scalar scalars[] = {{"op", 0}, {"kind", 0}};  // of reduce and scan
  simt::emulation stream;
  char message[256] = "";
  warpcheck_call call = {
      sizeof(warpcheck_call), inputs, outputs, scalars, 1, 1, 2, GetParam(), &stream, nullptr, message, sizeof message};

  std::vector<void*> taken;  // to the last piece
  for (size_t bytes = simt::k_device_memory_bytes; bytes > 0;) try {
      taken.push_back(simt::device_alloc(bytes, 0, 1));
    } catch (const simt::device_error&) {
      bytes /= 2;
    }
  EXPECT_EQ(op.run(&call), WARPCHECK_DEVICE_ERROR);
  EXPECT_EQ(std::string(message).find("device memory is used up: "), 0u) << message;
  EXPECT_EQ(y, untouched);
  for (void* p : taken) simt::device_free(p);
  EXPECT_EQ(op.run(&call), WARPCHECK_OK) << message;
  EXPECT_NE(y, untouched);
}

INSTANTIATE_TEST_SUITE_P(of, row_workspace,
                         testing::Values("softmax_persistent", "log_softmax_persistent", "logsumexp_tiles",
                                         "logsumexp_large_tiles", "argmax_tiles", "argmax_large_tiles", "reduce_tiles",
                                         "reduce_large_tiles", "scan_multi_block"),
                         [](const auto& variant) { return std::string(variant.param); });

}  // namespace
}  // namespace warpcheck
