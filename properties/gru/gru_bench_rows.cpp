// The timed rows of gru: both passes of cells, in each precision.
#include <fmt/format.h>

#include <cmath>

#include "kernels/gru/contract.hpp"
#include "properties/gru/gru_cases.hpp"

namespace warpcheck {

using namespace engine;
using reference::gru_shape;

namespace {

product_work work_of(const bench_row& row) {
  const std::string& precision = row.scalars.at("precision");
  const product_rate rate = precision == "ieee"   ? product_rate::f32
                            : precision == "bf16" ? product_rate::bf16
                                                  : product_rate::tf32;
  return {rate,
          row.of.at("time") * row.of.at("batch"),
          3 * row.of.at("hidden") * row.of.at("directions"),
          row.of.at("input") + row.of.at("hidden"),
          row.scalars.at("pass") == "forward" ? 1.0 : 2.0,
          precision == "tf32x3" ? 3.0 : 1.0};
}

// History saved; backwards gradients of x and all parameters, and e, by which steps are judged.
bench_row timed(const gru_shape& s, const std::string& precision, bool forward) {
  bench_row row;
  row.name = fmt::format("{}x{}x{}x{}/{}/{}/{}", s.time, s.batch, s.input, s.hidden, s.directions == 1 ? "uni" : "bi",
                         precision, forward ? "forward" : "backward");
  row.of = {
      {"time", s.time},     {"batch", s.batch},           {"input", s.input},
      {"hidden", s.hidden}, {"directions", s.directions}, {"work_bytes", gru_work_bytes(s, 0, precision == "ieee")}};
  row.scalars = {{"pass", forward ? "forward" : "backward"}, {"precision", precision}};
  row.tensors = {{"work", dtype::u8}};
  const auto add = [&](std::initializer_list<const char*> names) {
    for (const char* name : names) row.tensors[name] = dtype::f32;
  };
  add({"b_ih", "b_hh", "h0"});
  if (forward)
    add({"y", "hn", "history"});
  else
    add({"dy", "y_in", "history_in", "dx", "dw_ih", "dw_hh", "db_ih", "db_hh", "trace_e"});
  const double weight = 1 / std::sqrt(static_cast<double>(s.hidden));
  for (const char* parameter : {"w_ih", "w_hh", "b_ih", "b_hh"})
    row.fills[parameter] = make_recipe("uniform", {1, -weight, weight});
  for (const char* sequence : {"x", "h0"}) row.fills[sequence] = make_recipe("uniform", {1, -1, 1});
  if (!forward) {  // gradients are right for any history
    for (const char* sequence : {"dy", "y_in"}) row.fills[sequence] = make_recipe("uniform", {1, -1, 1});
    row.fills["history_in"] = make_recipe("uniform", {1, 0, 1});
  }
  return row;
}

// A tensor's elements of step t and row b. `of`: sizes of the part.
bench_part::box slice_of(const tensor_rule& rule, const sizes& of, int64_t t, int64_t b) {
  bench_part::box slice{rule.name, rule.name, {}, {}};
  for (const std::string_view dimension : trimmed_parts(rule.shape, ",")) {
    slice.begin.push_back(dimension == "time" ? t : dimension == "batch" ? b : 0);
    int64_t size = 1;
    for (const std::string_view factor : trimmed_parts(dimension, "*")) {
      const auto extent = of.find(factor);
      size *= extent == of.end() ? factor[0] - '0' : extent->second;
    }
    slice.shape.push_back(size);
  }
  return slice;
}

// Step t of row b, which begins at the state before it; backwards from the e that the call wrote.
bench_part step_of(const bench_row& row, int64_t t, int64_t b) {
  const bool forward = row.scalars.at("pass") == "forward";
  const int64_t hidden = row.of.at("hidden"), directions = row.of.at("directions");
  bench_part part{fmt::format("step {} of row {}", t, b), row, {}};
  part.row.of["time"] = part.row.of["batch"] = 1;
  part.row.of["work_bytes"] = 0;
  const char* const y = forward ? "y" : "y_in";
  for (int64_t d = 0; d < directions; ++d) {
    const std::vector<int64_t> state = {1, 1, hidden};
    const bool is_first = d == 0 ? t == 0 : t + 1 == row.of.at("time");
    if (is_first)
      part.boxes.push_back({"h0", "h0", {d, b, 0}, state, d * hidden});
    else
      part.boxes.push_back({"h0", y, {d == 0 ? t - 1 : t + 1, b, d * hidden}, state, d * hidden});
    if (forward) part.boxes.push_back({"hn", y, {t, b, d * hidden}, state, d * hidden});
  }
  for (const char* of_all_steps : {"dy", "dw_ih", "dw_hh", "db_ih", "db_hh"}) {
    part.row.tensors.erase(of_all_steps);
    part.row.fills.erase(of_all_steps);
  }
  for (const tensor_rule& rule : gru_contract().forms[0].tensors)
    if (rule.name != "h0" && rule.name != "hn" && rule.name != "work" &&
        (!rule.is_optional || part.row.tensors.contains(rule.name)))
      part.boxes.push_back(slice_of(rule, part.row.of, t, b));
  if (forward) return part;
  part.row.tensors["dhn"] = dtype::f32;
  part.boxes.push_back({"dhn", "trace_e", {0, t, b, 0}, {directions, 1, 1, hidden}});
  return part;
}

std::vector<bench_part> steps_of(const bench_row& row, uint64_t seed, int count) {
  std::vector<bench_part> parts;
  for (int p = 0; p < count; ++p) {
    const auto drawn = [&](const char* extent) {
      return place_of_part(p, count, row.of.at(extent) - 1, seed, static_cast<uint64_t>(extent[0]));
    };
    parts.push_back(step_of(row, drawn("time"), drawn("batch")));
  }
  return parts;
}

}  // namespace

bench_list gru_bench_list() {
  constexpr gru_shape k_cells[] = {{1000, 8, 64, 64},   {100, 16, 128, 128}, {128, 64, 256, 256},
                                   {1024, 1, 256, 256}, {512, 32, 512, 512}, {256, 128, 1024, 1024},
                                   {20, 3, 8, 16}};  // small enough for the emulated device
  bench_list list;
  list.property = "every-step-follows-from-the-step-before";
  list.steps = "time";
  list.parts = steps_of;
  list.work = work_of;
  for (gru_shape s : k_cells)
    for (const int directions : {1, 2})
      for (const char* precision : {"ieee", "tf32x3", "tf32", "bf16"})
        for (const bool forward : {true, false}) {
          s.directions = directions;
          list.rows.push_back(timed(s, precision, forward));
        }
  return list;
}

}  // namespace warpcheck
