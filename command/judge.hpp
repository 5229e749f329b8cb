// `warpcheck judge`: judges given arrays, call after call, for programs that have them (python/warpcheck/judging.py).
#pragma once

namespace warpcheck::cli {

// Reads requests from standard input, a line of JSON each, and answers each with a line of JSON, until the input ends.
//
// A request: {"operator": "softmax", "inputs": [ARRAY, ...], "outputs": [ARRAY, ...], "scalars": {"alpha": "2"},
// "exact": [FILE, ...]}. An ARRAY is {"dtype": "f32", "shape": [3, 65], "file": PATH}, with "name" if its place does
// not determine the tensor of the description. The file holds its elements, row after row. Without outputs, only exact
// values and bounds are asked for: for each output of the case in order, the file of "exact" gets the exact value of
// every element, then its bound, as doubles; NaN where the operator's property judges no such element.
//
// The answer: {"report": case report, "outputs": [{"name", "shape"}]}, or {"error": sentence} for a request that the
// description does not allow.
int judge();

}  // namespace warpcheck::cli
