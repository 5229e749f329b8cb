#include <utility>

#include "properties/rows/row_generators.hpp"

namespace warpcheck {

using namespace engine;

bool has_elements(const trial_case& c) { return c.at("x").elements() > 0; }

bool has_two_rows(const trial_case& c) { return c.at("x").rows() >= 2 && c.at("x").cols() >= 1; }

void close_gaps(trial_case& c) {
  for (tensor_spec& t : c.tensors) t.ld = t.cols();
}

trial_case row_operator::make_case(const target& t, int64_t rows, int64_t cols, recipe fill, int extra) const {
  const bool is_vector = described.extents.size() == 1;
  if (is_vector) {
    for (edit& e : fill.edits) e = {0, e.row * cols + e.col, e.value};
    cols *= rows;
  }
  trial_case c = engine::make_case(described, t, {{"rows", rows}, {"cols", cols}}, {{"x", std::move(fill)}});
  if (set_extra) set_extra(c, extra);
  return c;
}

}  // namespace warpcheck
