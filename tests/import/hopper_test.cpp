// `warpcheck run-emulated` on programs for Hopper: correct results, each hazard found, each broken rule named.
#include <gtest/gtest.h>

#include <string>

#include "tests/import/program.hpp"

namespace {

using warpcheck::self::expect_slips, warpcheck::self::is_right, warpcheck::self::run_program;
using result = warpcheck::self::command_result;

class TensorMap : public testing::TestWithParam<const char*> {};

TEST_P(TensorMap, CopiesAsTheirDefinitionSays) {
  const result r = run_program(std::string("tensor_maps.cu --no-trace --seeds 1 -- ") + GetParam());
  EXPECT_TRUE(ended(r, 0, {"tensor_maps.cu: clean under 6 schedules"}));
}

INSTANTIATE_TEST_SUITE_P(Boxes, TensorMap,
                         testing::Values("box", "dimensions", "swizzles", "gaps", "outside", "steps", "types", "store",
                                         "add", "reductions", "multicast", "libcu", "interleaved"));

TEST(TensorMaps, AreJudgedLikeOtherBulkCopies) {
  expect_slips("tensor_maps.cu",
               {{"box", "NO_WAIT", "race: write by an asynchronous copy of block (0,0,0) thread 0"},
                {"box", "NO_FENCE_BEFORE_LOAD", "is not ordered before the async proxy's write"},
                {"box", "SHORT", "deadlock: "},
                {"box", "LONG", "deadlock: "},
                {"store", "NO_FENCE_BEFORE_STORE", "is not visible to the async proxy, which reads"},
                {"store", "NO_WAIT_BEFORE_REUSE", "and read by an asynchronous copy of block (0,0,0) thread 0"},
                {"add", "NO_FENCE_BEFORE_STORE", "is not visible to the async proxy, which reads"},
                {"multicast", "NO_WAIT", "race: write by an asynchronous copy of block (1,0,0) thread 0"}});
}

// Random shapes, types, corners and steps, loads and stores.
class Im2col : public testing::TestWithParam<int> {};

TEST_P(Im2col, CopiesAsItsDefinitionSays) {
  const result r = run_program("im2col.cu --no-trace --schedule fair -- random " + std::to_string(GetParam()) + " 40");
  EXPECT_TRUE(ended(r, 0, {"im2col.cu: clean under"}));
}

INSTANTIATE_TEST_SUITE_P(Seeds, Im2col, testing::Range(1, 5));

TEST(Im2cols, AreJudgedLikeOtherBulkCopies) {
  for (const char* mode : {"load", "store", "add", "multicast"}) {
    const result r = run_program(std::string("im2col.cu --no-trace --seeds 1 -- ") + mode);
    EXPECT_TRUE(ended(r, 0, {"im2col.cu: clean under 6 schedules"})) << mode;
  }
  expect_slips("im2col.cu",
               {{"load", "NO_WAIT", "arrives at an mbarrier more often than its 1 times a phase"},
                {"load", "WRONG_PHASE", "arrives at an mbarrier more often than its 1 times a phase"},
                {"load", "NO_FENCE_BEFORE_LOAD", "is not ordered before the async proxy's write"},
                {"store", "NO_FENCE_BEFORE_STORE", "is not visible to the async proxy, which reads"},
                {"add", "NO_FENCE_BEFORE_STORE", "is not visible to the async proxy, which reads"},
                {"store", "WRITE_BEFORE_WAIT", "and read by an asynchronous copy of block (0,0,0) thread 0"},
                {"multicast", "NO_WAIT", "race: write by an asynchronous copy of block (1,0,0) thread 0"}});
}

TEST(TensorMaps, MayBeWrittenByKernels) {
  for (const char* from : {"", " -- zeros"}) {
    const result r = run_program(std::string("map_fields.cu --no-trace --seeds 1") + from);
    EXPECT_TRUE(ended(r, 0, {"map_fields.cu: clean under 6 schedules"})) << from;
  }
  const result fenced = run_program("map_fields.cu --no-trace --seeds 1 -D PLAIN_COPY -D RELEASE");
  EXPECT_TRUE(ended(fenced, 0, {"map_fields.cu: clean under 6 schedules"}));
  expect_slips("map_fields.cu",
               {{"", "PLAIN_COPY", "no fence.proxy.tensormap::generic.release follows it"},
                {"", "NO_ACQUIRE", "no fence.proxy.tensormap::generic.acquire of the map lies before the copy"},
                {"", "ODD_STRIDE", "globalStrides[0]: 8, allowed are multiples of 16"}});
}

// Types of operands and accumulators, A in memory and in registers, negated operands, saturation.
TEST(Wgmma, MultipliesInEveryForm) {
  const result r = run_program("wgmma.cu --no-trace --seeds 1");
  EXPECT_TRUE(ended(r, 0, {"wgmma.cu: clean under 6 schedules"}));
}

TEST(Wgmma, MultipliesFragmentsInRegistersOneAfterAnother) {
  const result r = run_program("wgmma_registers.cu --no-trace --schedule fair");
  EXPECT_TRUE(ended(r, 0, {"every schedule: proven for this input"}));
}

TEST(Wgmma, IsJudgedInEveryForm) {
  for (const char* form : {"f16_f16", "s8_u8"})
    expect_slips("wgmma.cu",
                 {{form, "NO_WAIT", "of an accumulator"},
                  {form, "NO_REGISTER_FENCE", "are used for the first time without a wgmma_fence before it"},
                  {form, "NO_PROXY_FENCE", "is not visible to the async proxy, which reads"},
                  {form, "EARLY_WRITE", "race: "}});
}

TEST(TensorMaps, NameTheRuleThatARequestBreaks) {
  expect_slips("tensor_maps.cu",
               {{"broken map", "", "tensorMap: it is 32 modulo 64, allowed is 0"},
                {"broken rank", "", "tensorRank: 6, allowed are 1 to 5"},
                {"broken address", "", "globalAddress: it is 8 modulo 16, allowed is 0"},
                {"broken size", "", "globalDim[1]: 0, allowed are 1 to 2^32"},
                {"broken stride", "", "globalStrides[1]: 1032, allowed are multiples of 16"},
                {"broken far", "", "globalStrides[1]: 1099511627776, allowed is less than 2^40"},
                {"broken box", "", "boxDim[1]: 257, allowed are 1 to 256"},
                {"broken row", "", "boxDim[0]: a row of 24 bytes, allowed are multiples of 16"},
                {"broken step", "", "elementStrides[2]: 9, allowed are 1 to 8"},
                {"broken tile", "", "boxDim: 262144 bytes in all, allowed are 233472"},
                {"broken span", "", "boxDim[0]: a row of 64 bytes, and the swizzle's span is 32"},
                {"broken interleave", "", "interleave: 3, allowed are 0 to 2"},
                {"broken slices", "", "tensorRank: 2, allowed are 3 to 5 if the layout is interleaved"},
                {"broken slice", "", "swizzle: 0, allowed is 1 (32 bytes) if the layout is interleaved by 32 bytes"},
                {"broken aligned", "", "globalAddress: it is 16 modulo 32, allowed is 0"},
                {"broken strided", "", "globalStrides[0]: 144, allowed are multiples of 32"},
                {"broken nan", "", "oobFill: NaN is for types of reals"}},
               "error_return: cuTensorMapEncodeTiled at tensor_maps.cu:");
}

TEST(TensorMaps, NameTheRuleThatACopyBreaks) {
  expect_slips("tensor_maps.cu",
               {{"wrong no-map", "", "its tensor map is not one that the driver encoded"},
                {"wrong begin", "", "it begins at byte 12 of a row, allowed are multiples of 16"},
                {"wrong coordinates", "", "it has 3 coordinates, and its tensor map 2 dimensions"},
                {"wrong place", "",
                 "misaligned: block (0,0,0) thread 0 starts an asynchronous copy whose destination is 64 "
                 "modulo 128"}});
}

TEST(Arrivals, AreOfCopiesAndStoresToo) {
  EXPECT_TRUE(ended(run_program("arrivals.cu --no-trace --seeds 1"), 0, {"arrivals.cu: clean under 6 schedules"}));
  expect_slips("arrivals.cu",
               {{"", "NO_ARRIVAL_OF_COPIES", "and write by an asynchronous copy of block (0,0,0) thread 63 at"},
                {"", "OWN_BEFORE_WAIT", "and write by an asynchronous copy of block (0,0,0) thread 63 at"},
                {"", "NO_WAIT", "by an asynchronous copy of block (0,0,0) thread "},
                {"", "NO_EXPECTATION", "race: "}});
}

TEST(PtxForms, GiveWhatPlainLoopsGive) {
  const result r = run_program("ptx_forms.cu --no-trace --seeds 1");
  EXPECT_TRUE(ended(r, 0, {"approximated are mma of 8-bit reals, mma of double", "ptx_forms.cu: clean under 6"}));
}

TEST(SparseProducts, GiveWhatPlainLoopsGive) {
  const result r = run_program("sparse.cu --no-trace --schedule fair");
  EXPECT_TRUE(ended(r, 0, {"approximated are mma of sparse reals", "sparse.cu: clean under 1"}));
}

TEST(Im2cols, NameTheRuleThatARequestBreaks) {
  expect_slips("im2col.cu",
               {{"broken rank", "", "tensorRank: 2, allowed are 3 to 5"},
                {"broken lower", "", "pixelBoxLowerCorner[1]: -129, allowed are -128 to 127 in this rank"},
                {"broken upper", "", "pixelBoxUpperCorner[0]: 128, allowed are -128 to 127 in this rank"},
                {"broken deep", "", "pixelBoxLowerCorner[2]: -17, allowed are -16 to 15 in this rank"},
                {"broken empty", "", "pixelBoxUpperCorner[1]: -5, the box is empty"},
                {"broken channels", "", "channelsPerPixel: 257, allowed are 1 to 256"},
                {"broken piece", "", "channelsPerPixel: a row of 24 bytes, allowed are multiples of 16"},
                {"broken pixels", "", "pixelsPerColumn: 1025, allowed are 1 to 1024"},
                {"broken step", "", "elementStrides[2]: 9, allowed are 1 to 8"},
                {"broken tile", "", "pixelsPerColumn: 262144 bytes in all, allowed are 233472"},
                {"broken slices", "", "pixelBoxUpperCorner[0]: -16, the box is empty"},
                {"broken span", "", "channelsPerPixel: a row of 64 bytes, and the swizzle's span is 32"},
                {"broken null", "", "an array of dimensions is a null pointer"}},
               "error_return: cuTensorMapEncodeIm2col at im2col.cu:");
}

TEST(Im2cols, NameTheRuleThatACopyBreaks) {
  expect_slips("im2col.cu",
               {{"wrong tiled", "", "it is tiled, and its tensor map is of im2col"},
                {"wrong base", "", "the filter's base is 6 in dimension 1, outside of the box: 0 to 5"},
                {"wrong offset", "", "an offset is 256, allowed are 0 to 255"},
                {"wrong corner", "", "the box of its tensor map reaches beyond the tensor, where a GPU does not store"},
                {"wrong channel", "", "its coordinate 0 is -4, a store of pixels needs at least 0"},
                {"wrong sum", "", "elements of its type have no such reduction"}});
}

TEST(Clusters, AreThoseOfTheKernelsAttribute) {
  EXPECT_TRUE(is_right("hopper.cu --no-trace --seeds 1 -- clusters"));
  const result slip = run_program("hopper.cu --no-trace --schedule greedy -D NO_SYNC -- clusters");
  EXPECT_EQ(slip.status, 1) << slip.output;
  EXPECT_TRUE(slip.has("race: ") || slip.has("uninitialized: ")) << slip.output;
  const result other = run_program("hopper.cu --no-trace --schedule fair -- other-cluster");
  EXPECT_TRUE(ended(other, 1, {"is of clusters of 4 x 1 x 1 blocks, the launch of 8 x 1 x 1; allowed are"}));
}

TEST(Clusters, ExtendInThreeDimensions) {
  EXPECT_TRUE(is_right("hopper.cu --no-trace --seeds 1 -- boxes"));
  const result slip = run_program("hopper.cu --no-trace --schedule greedy -D NO_SYNC -- boxes");
  EXPECT_EQ(slip.status, 1) << slip.output;
  EXPECT_TRUE(slip.has("race: ") || slip.has("uninitialized: ")) << slip.output;
}

TEST(Hints, OfStoresConvertWhatTheyStore) { EXPECT_TRUE(is_right("hopper.cu --no-trace --schedule fair -- hints")); }

// Hardware merges the stores of a warp; different bytes to one address have no order.
TEST(BulkStores, OfOneTileByAllLanesAreOne) {
  EXPECT_TRUE(is_right("hopper.cu --no-trace --seeds 1 -- stores"));
  const result slip = run_program("hopper.cu --no-trace --schedule fair -D TWO_SOURCES -- stores");
  EXPECT_TRUE(ended(slip, 1, {"race: write by an asynchronous copy of block (0,0,0) thread "}));
}

TEST(Products, TakeDescriptorsOfGenericAddresses) {
  EXPECT_TRUE(is_right("hopper.cu --no-trace --schedule fair -D GENERIC_ADDRESS -- products"));
}

TEST(Products, AreDoneForAWarpgroupWhenOneOfItsThreadsHasWaited) {
  EXPECT_TRUE(is_right("hopper.cu --no-trace --seeds 1 -- products"));
  const result slip = run_program("hopper.cu --no-trace --schedule fair -D NO_PRODUCT_WAIT -- products");
  EXPECT_TRUE(ended(slip, 1, {"race: "}));
}

TEST(Products, AddToAccumulatorsThatSomebodyWrote) {
  const result slip = run_program("hopper.cu --no-trace --schedule fair -D NO_ZERO -- products");
  EXPECT_TRUE(ended(slip, 1, {"uninitialized: accumulators of wgmma of block (0,0,0) thread "}));
}

}  // namespace
