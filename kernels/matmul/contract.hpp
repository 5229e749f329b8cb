// The calls of matmul (see the contract in matmul.hpp) as data.
#pragma once

#include "abi/contract.hpp"

namespace warpcheck {

// c_in is c as it was before, where beta is not 0.
inline const contract& matmul_contract() {
  static const contract described = [] {
    const uint32_t any = WARPCHECK_F32 | WARPCHECK_F16 | WARPCHECK_BF16;
    contract c;
    c.op = "matmul";
    c.extents = {"m", "n", "k", "work_bytes"};
    c.forms = {{"call",
                {{"a", true, "m, k", any, false, {{"ta", 1, "k, m"}}},
                 {"b", true, "k, n", 0, false, {{"tb", 1, "n, k"}}, {"a"}},
                 {"c_in", true, "m, n", any, true, {}, {}, {{"beta", 0}}, {}, "c"},
                 {"bias", true, "n", WARPCHECK_F32, true},
                 {"c", false, "m, n", any},
                 {"work", false, "work_bytes", WARPCHECK_U8, true}},
                {enumeration("ta", {"none", "yes"}, 0, "whether a is stored transposed"),
                 enumeration("tb", {"none", "yes"}, 0, "whether b is stored transposed"),
                 {"alpha", 1, "factor of the product, an f32"},
                 {"beta", 0, "factor of c as it is before, an f32"},
                 {"sigmoid", 0, "1: the logistic function of the result", 0, 1, true},
                 {"mu", 0, "its shift, an f32"},
                 {"sigma", 1, "its gain, an f32"},
                 enumeration("mode", {"ieee", "tf32x3", "bf16x6"}, 0, "arithmetic of f32 inputs"),
                 {"rows_alone", 0, "1: a row's bits depend on it and on b alone", 0, 1, true}}}};
    return c;
  }();
  return described;
}

}  // namespace warpcheck
