// The calls of gated recurrent units (see the contract in gru.hpp) as data.
#pragma once

#include <string>
#include <vector>

#include "abi/contract.hpp"

namespace warpcheck {

// Every call may have all tensors. y_in and history_in are what a backward pass reads in place of its own forward pass.
inline const contract& gru_contract() {
  static const contract described = [] {
    const auto in = [](const char* name, const char* shape, bool is_optional = true) {
      return tensor_rule{name, true, shape, WARPCHECK_F32, is_optional};
    };
    const auto out = [](const char* name, const char* shape, std::vector<scalar_value> never_with,
                        const char* beside = "") {
      return tensor_rule{name, false, shape, WARPCHECK_F32, true, {}, {}, std::move(never_with), beside};
    };
    const char *const x = "time, batch, input", *const w_ih = "directions, 3*hidden, input",
                      *const w_hh = "directions, 3*hidden, hidden", *const bias = "directions, 3*hidden",
                      *const state = "directions, batch, hidden", *const sequence = "time, batch, directions*hidden",
                      *const history = "directions, time, batch, 4*hidden";
    const std::vector<scalar_value> forward = {{"pass", 0}}, backward = {{"pass", 1}};
    contract c;
    c.op = "gru";
    c.extents = {"time", "batch", "input", "hidden", "directions", "work_bytes"};
    c.forms = {{"call",
                {in("x", x, false),
                 in("w_ih", w_ih, false),
                 in("w_hh", w_hh, false),
                 in("b_ih", bias),
                 in("b_hh", bias),
                 in("h0", state),
                 in("h_reset", state),
                 {"lengths", true, "batch", WARPCHECK_I64, true},
                 {"reset", true, "time, batch", WARPCHECK_U8, true},
                 in("dy", sequence),
                 in("dhn", state),
                 in("y_in", sequence),
                 in("history_in", history),
                 out("y", sequence, backward),
                 out("hn", state, backward),
                 out("history", history, {{"pass", 1}, {"history_mode", 0}, {"history_mode", 2}}),
                 out("dx", x, forward),
                 out("dh0", state, forward),
                 out("dh_reset", state, forward),
                 out("dw_ih", w_ih, forward),
                 out("dw_hh", w_hh, forward),
                 out("db_ih", bias, forward, "b_ih"),
                 out("db_hh", bias, forward, "b_hh"),
                 out("trace_e", "directions, time, batch, hidden", forward),
                 {"work", false, "work_bytes", WARPCHECK_U8, true}},
                {enumeration("pass", {"forward", "backward", "both"}, 2, "what is computed"),
                 enumeration("history_mode", {"none", "save", "recompute"}, 1, "what a backward pass reads", "history"),
                 enumeration("precision", {"ieee", "tf32x3", "tf32", "bf16"}, 0, "of products"),
                 {"workspace_limit", 0, "bytes of workspace, 0: any", 0, 0x1p48, true}}}};
    return c;
  }();
  return described;
}

}  // namespace warpcheck
