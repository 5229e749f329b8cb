// The one check of a call against its contract: what it finds, and the sentences of its refusals.
#include "abi/contract.hpp"

#include <gtest/gtest.h>

#include <functional>

namespace {

using namespace warpcheck;

const contract k_scaled = {
    "scaled",
    {"rows", "cols"},
    {{"rows",
      {{"x", true, "rows, cols", WARPCHECK_F32 | WARPCHECK_F64},
       {"lists", true, "rows, 2*cols", WARPCHECK_I64, true},
       {"y", false, "rows, cols", 0, false, {{"turned", 1, "cols, rows"}}}},
      {{"scale", 1, "the factor", 0.5, 2}, enumeration("turned", {"no", "yes"}, 0, "whether y is transposed")}}}};

// A legal call: x and y are 2 x 3 with rows of 4, y is the copy of x's shape, and there are no lists.
struct example {
  float data[2][8] = {};
  int64_t shape[3][2] = {{2, 3}, {0, 6}, {2, 3}}, strides[3][2] = {{4, 1}, {6, 1}, {4, 1}};
  DLTensor x = tensor(0, data[0], {kDLFloat, 32, 1}), lists = tensor(1, nullptr, {kDLInt, 64, 1}),
           y = tensor(2, data[1], {kDLFloat, 32, 1});
  const DLTensor* inputs[3] = {&x, &lists, &lists};
  DLTensor* outputs[1] = {&y};
  warpcheck_scalar scalars[2] = {{"scale", 1.5}, {"turned", 0}};
  warpcheck_call call = {};

  example() {
    call.inputs = inputs;
    call.outputs = outputs;
    call.scalars = scalars;
    call.num_inputs = 2;
    call.num_outputs = 1;
    call.num_scalars = 2;
  }
  DLTensor tensor(int i, void* memory, DLDataType type) {
    return {memory, {kDLCPU, 0}, 2, type, shape[i], strides[i], 0};
  }
};

// The sentence with which the changed call is refused.
std::string refused(const std::function<void(example&)>& change) {
  example e;
  change(e);
  try {
    check_memory(check_call(k_scaled, e.call));
  } catch (const std::invalid_argument& wrong) {
    return wrong.what();
  } catch (const unsupported_call& wrong) {
    return std::string("unsupported: ") + wrong.what();
  }
  return "";
}

TEST(contract, finds_tensors_scalars_and_extents) {
  const example e;
  const checked_call c = check_call(k_scaled, e.call);
  EXPECT_EQ(c.extent("cols"), 3);
  EXPECT_EQ(c.scalar("scale"), 1.5);
  EXPECT_EQ(c.data<float>("y"), e.data[1]);
  EXPECT_EQ(c.at("x").ld, 4);
  EXPECT_EQ(c.at("lists").tensor, nullptr) << "two rows would have elements";
  EXPECT_THROW(c.at("z"), std::logic_error);
  EXPECT_EQ(refused([](example&) {}), "");
}

TEST(contract, refuses_in_one_sentence) {
  EXPECT_EQ(refused([](auto& e) { e.inputs[0] = nullptr; }), "x is missing");
  EXPECT_EQ(refused([](auto& e) { e.x.ndim = 1; }), "x has 1 dimensions, must have 2");
  EXPECT_EQ(refused([](auto& e) { e.shape[2][1] = 4; }), "y has the extent 4 in dimension 1, must have 3 = cols");
  EXPECT_EQ(refused([](auto& e) { e.shape[0][0] = -1; }), "x has the extent -1, must be >= 0");
  EXPECT_EQ(refused([](auto& e) { e.y.dtype.bits = 64; }), "y has the wrong element type");
  EXPECT_EQ(refused([](auto& e) { e.scalars[0].value = 2.5; }), "scale is 2.5, must be a number from 0.5 to 2");
  EXPECT_EQ(refused([](auto& e) { e.scalars[1].value = 2; }), "turned is 2, must be 0 (no) or 1 (yes)");
  EXPECT_EQ(refused([](auto& e) { e.call.num_scalars = 1; }), "turned is missing");
  EXPECT_EQ(refused([](auto& e) { e.call.num_inputs = 3; }), "the call has 3 inputs, must have 2");
}

TEST(contract, shape_follows_a_scalar) {
  EXPECT_EQ(refused([](auto& e) { e.scalars[1].value = 1; }), "y has the extent 2 in dimension 0, must have 3 = cols");
}

// Two forms of the same tensors: z is the sum, or the product, which does not offer the rest.
TEST(contract, scalars_tell_forms_apart_and_exclude_tensors) {
  const scalar_rule what = {"what", 0, "", 0, 2, true};
  const tensor_rule x = {"x", true, "n", WARPCHECK_F32}, y = {"y", true, "n", 0, true}, z = {"z", false, "n"},
                    rest = {"rest", false, "n", 0, true, {}, {}, {{"what", 2}}, "y"};
  const contract c = {"staged", {"n"}, {{"sum", {x, y, z, rest}, {what}}, {"product", {x, y, z}, {what}, {"what", 1}}}};
  float data[4] = {};
  int64_t shape[1] = {1};
  const auto of = [&](float* memory) { return DLTensor{memory, {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, shape, nullptr, 0}; };
  DLTensor first = of(data), second = of(data + 1), result = of(data + 2), left = of(data + 3);
  const DLTensor* inputs[] = {&first, &second};
  DLTensor* outputs[] = {&result, &left};
  warpcheck_scalar scalars[] = {{"what", 0}};
  warpcheck_call call = {};
  call.inputs = inputs;
  call.outputs = outputs;
  call.scalars = scalars;
  call.num_inputs = call.num_outputs = 2;
  call.num_scalars = 1;
  const auto answer = [&] {
    try {
      return check_call(c, call).form->name;
    } catch (const std::invalid_argument& wrong) {
      return std::string(wrong.what());
    }
  };
  EXPECT_EQ(answer(), "sum");
  scalars[0].value = 2;
  EXPECT_EQ(answer(), "rest is given, must be absent where what is 2");
  scalars[0].value = 1;
  EXPECT_EQ(answer(), "the call has 2 outputs, must have 1");
  call.num_outputs = 1;
  EXPECT_EQ(answer(), "product");
  scalars[0].value = 0;
  call.num_outputs = 2;
  inputs[1] = nullptr;
  EXPECT_EQ(answer(), "rest is given, must be absent where y is");
}

TEST(contract, elements_of_a_row_are_side_by_side) {
  EXPECT_EQ(refused([](auto& e) { e.strides[0][1] = 2; }), "unsupported: x has column stride 2, must be 1");
}

TEST(contract, refuses_memory_in_one_sentence) {
  EXPECT_EQ(refused([](auto& e) { e.strides[0][0] = 2; }), "ldx is 2, must be >= cols = 3");
  EXPECT_EQ(refused([](auto& e) { e.x.data = nullptr; }), "x is null");
  EXPECT_EQ(refused([](auto& e) { e.x.byte_offset = 1; }), "x is not aligned to its element");
  EXPECT_EQ(refused([](auto& e) { e.y.data = e.x.data; }), "") << "in place";
  EXPECT_EQ(refused([](auto& e) { e.y.data = e.data[0] + 1; }), "y overlaps x");
}

}  // namespace
