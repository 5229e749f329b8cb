#include "properties/engine/trials/checks.hpp"

#include <algorithm>
#include <limits>

#include "properties/engine/cases/description.hpp"

namespace warpcheck::engine {

void draw_gaps_and_offsets(draw& d, trial_case& c) {
  for (tensor_spec& t : c.tensors) {
    t.offset = d.chance(50) ? d.between(0, 7) : 0;
    if (t.shape.size() > 1 && d.chance(50)) t.ld = t.cols() + d.one_of({1, 2, 3, 4, 32});
  }
}

void require_same_bits(trial& t, const run_result& before, const run_result& after, std::string_view why,
                       int64_t but_row) {
  for (const auto& [name, a] : before.tensors) {
    const host_tensor& b = after.at(name);
    const int64_t lines = a.spec.shape.size() > 1 ? a.spec.rows() / std::max<int64_t>(1, a.spec.shape[0]) : 1;
    for (int64_t line = 0; line < a.spec.rows(); ++line)
      for (int64_t i = 0; i < a.spec.cols(); ++i) {
        if ((a.spec.shape.size() > 1 ? line / lines : i) == but_row) continue;
        t.require(a.bits(line, i) == b.bits(line, i), "{}[{},{}] changes from {:a} to {:a} {}", name, line, i,
                  a.value(line, i), b.value(line, i), why);
      }
  }
}

void check_layout(trial& t, const judge_outputs& judge) {
  const run_result as_asked = t.run();
  judge(t, as_asked);
  trial_case dense = t.the_case();
  for (tensor_spec& s : dense.tensors) {
    s.ld = s.cols();
    s.offset = 0;
  }
  require_same_bits(t, as_asked, t.run(dense), "without gaps and offsets");
}

void check_isolation(trial& t, std::string_view input, const judge_outputs& judge) {
  const run_result before = t.run();
  judge(t, before);
  host_tensor changed = t.input(input);
  const int64_t rows = changed.spec.shape.front(), victim = rows / 2;
  if (rows < 2) t.skip("there is no other row");
  const int64_t lines = changed.spec.rows() / rows;
  const uint64_t nan = encode(changed.spec.type, std::numeric_limits<double>::quiet_NaN());
  for (int64_t line = victim * lines; line < (victim + 1) * lines; ++line)
    for (int64_t i = 0; i < changed.spec.cols(); ++i) changed.set_bits(line, i, nan);
  require_same_bits(t, before, t.run(t.the_case(), {{std::string(input), changed}}), "when another row becomes NaN",
                    victim);
}

void check_dispatch(trial& t, const judge_outputs& judge) {
  const trial_case& c = t.the_case();
  const listed_operator& table = t.op();
  const sizes of = sizes_of(*find_description(c.op), c);
  const auto all = [&](const auto& holds) {
    for (size_t e = 0; e < table.extents.size(); ++e)
      if (const auto size = of.find(table.extents[e]); size != of.end() && !holds(size->second, e)) return false;
    return true;
  };
  const run_result own = t.run();
  judge(t, own);
  if (table.publishes_picks())
    t.require(own.used_variant == own.picked_variant, "'{}' is published as picked for this call, but '{}' ran",
              own.picked_variant, own.used_variant);
  for (const listed_variant& v : table.variants) {
    t.require(v.name != own.used_variant || all([&](int64_t n, size_t e) { return v.may_be_picked(n, e); }),
              "'{}' ran, but is not published as picked for these sizes", v.name);
    if (!(v.dtypes & dtype_bit(c.tensors.front().type)) || !all([&](int64_t n, size_t e) { return v.takes(n, e); }))
      continue;
    trial_case forced = c;
    forced.knobs["variant"] = v.name;
    judge(t, t.run(forced));
  }
}

}  // namespace warpcheck::engine
