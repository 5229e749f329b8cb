#include "properties/engine/trials/checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "properties/engine/cases/description.hpp"
#include "properties/engine/shrinking/shrink_steps.hpp"

namespace warpcheck::engine {

void draw_gaps_and_offsets(draw& d, trial_case& c) {
  for (tensor_spec& t : c.tensors) {
    t.offset = d.chance(50) ? d.between(0, 7) : 0;
    if (t.shape.size() > 1 && d.chance(50)) t.ld = t.cols() + d.one_of({1, 2, 3, 4, 32});
  }
}

void misalign(trial_case& c, int64_t index) {
  for (tensor_spec& s : c.tensors) s.offset = (s.is_input ? index : index / 4) % 4;
  if (!is_misaligned(c)) c.tensors.front().offset = 4;
}

bool is_misaligned(const trial_case& c) {
  return std::ranges::any_of(c.tensors, [](const tensor_spec& t) { return t.offset != 0; });
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

namespace {

// The dimension of the tensor that is the extent, or -1.
int dimension_of(const description& d, const trial_case& c, const tensor_spec& t, std::string_view extent) {
  for (size_t k = 0; k < t.shape.size(); ++k)
    if (extent_of(d, c, t, k) == extent) return static_cast<int>(k);
  return -1;
}

// The layout of elements around one dimension of a tensor.
struct sliced {
  int64_t outer = 1, inner = 1;

  sliced(const tensor_spec& t, int dimension) {
    for (size_t k = 0; k < t.shape.size(); ++k)
      if (k != static_cast<size_t>(dimension)) (k < static_cast<size_t>(dimension) ? outer : inner) *= t.shape[k];
  }
  // Returns the element at a place of a slice, in a tensor of this many slices.
  int64_t element(int64_t at, int64_t slice, int64_t slices) const {
    return (at / inner * slices + slice) * inner + at % inner;
  }
};

uint64_t bits_at(const host_tensor& t, int64_t element) {
  return t.bits(element / t.spec.cols(), element % t.spec.cols());
}

// The input's slices in the order of the list.
host_tensor slices_of(const host_tensor& x, const tensor_spec& like, int dimension, const std::vector<int64_t>& list) {
  host_tensor taken(like);
  const sliced by(like, dimension);
  const int64_t n = x.spec.shape[static_cast<size_t>(dimension)], m = static_cast<int64_t>(list.size());
  for (int64_t at = 0; at < by.outer * by.inner; ++at)
    for (int64_t i = 0; i < m; ++i) {
      const int64_t to = by.element(at, i, m), from = by.element(at, list[static_cast<size_t>(i)], n);
      taken.set_bits(to / like.cols(), to % like.cols(), bits_at(x, from));
    }
  return taken;
}

void require_same_slices(trial& t, const host_tensor& before, const host_tensor& after, int dimension,
                         const std::vector<int64_t>& list) {
  const sliced by(before.spec, dimension);
  const int64_t n = before.spec.shape[static_cast<size_t>(dimension)], m = static_cast<int64_t>(list.size());
  const auto value = [](const host_tensor& y, int64_t e) { return y.value(e / y.spec.cols(), e % y.spec.cols()); };
  for (int64_t at = 0; at < by.outer * by.inner; ++at)
    for (int64_t i = 0; i < m; ++i) {
      const int64_t from = list[static_cast<size_t>(i)], a = by.element(at, from, n), b = by.element(at, i, m);
      t.require(bits_at(before, a) == bits_at(after, b),
                "{}: slice {} of {} has {:a} at element {}, and {:a} as slice {} of {}", before.spec.name, from, n,
                value(before, a), at, value(after, b), i, m);
    }
}

// Runs the case with as many slices as the list has, and with their inputs.
run_result run_slices(trial& t, const description& d, std::string_view extent, const std::vector<int64_t>& list) {
  const trial_case& c = t.the_case();
  const trial_case other = resized(c, {std::string(extent)}, static_cast<int64_t>(list.size()));
  tensor_map inputs;
  for (size_t i = 0; i < c.tensors.size(); ++i) {
    const tensor_spec& s = c.tensors[i];
    const int dimension = dimension_of(d, c, s, extent);
    if (!s.is_input || s.elements() == 0) continue;  // one that is absent has no slices
    if (dimension >= 0)
      inputs.insert_or_assign(s.name, slices_of(t.input(s.name), other.tensors[i], dimension, list));
    else if (s.shape != other.tensors[i].shape)
      t.skip(fmt::format("{} has no slices of {}, but its shape changes with their number", s.name, extent));
  }
  return t.run(other, inputs);
}

}  // namespace

void check_batch_invariance(trial& t, std::string_view extent, const judge_outputs& judge) {
  const trial_case& c = t.the_case();
  const description& d = *find_description(c.op);
  const run_result whole = t.run();
  judge(t, whole);
  const int64_t n = sizes_of(d, c).find(extent)->second;
  if (n < 2) t.skip(fmt::format("there are {} slices of {}, and it takes two", n, extent));
  std::vector<int64_t> reverse, more;
  for (int64_t i = 0; i < n; ++i) reverse.push_back(n - 1 - i);
  for (int64_t i = 0; i < 2 * n + 1; ++i) more.push_back((n / 2 + i) % n);
  for (const std::vector<int64_t>& list : {std::vector<int64_t>{n - 1}, reverse, more}) {
    const run_result r = run_slices(t, d, extent, list);
    for (const auto& [name, y] : whole.tensors)
      if (const int dimension = dimension_of(d, c, y.spec, extent); dimension >= 0 && y.spec.elements() > 0)
        require_same_slices(t, y, r.at(name), dimension, list);
  }
}

property batch_invariance(std::string op, std::vector<dtype> types, std::string extent,
                          std::function<trial_case(const target&, draw&)> generate, judge_outputs judge) {
  property p;
  p.op = std::move(op);
  p.name = "batch-invariance";
  p.sentence =
      fmt::format("the bits of a slice of {0} depend neither on the number of {0} nor on the slice's place", extent);
  p.types = std::move(types);
  p.share_percent = 10;
  p.needs_batch_invariance = true;
  p.generate = [generate = std::move(generate)](const target& t, draw& d) {
    trial_case c = generate(t, d);
    c.knobs.erase("variant");  // the variant may depend on the number of slices
    c.knobs.erase("repeat");
    c.knobs["schedule"] = "fair";
    // With one multiprocessor, a few slices already exceed the device.
    if (t.device == "emulated") c.knobs["sm"] = format_number(static_cast<double>(d.one_of({1, 2, 132})));
    if (t.device == "emulated") c.knobs["detect"] = "off";
    return c;
  };
  p.holds = [extent](const trial_case& c) { return size_in(sizes_of(*find_description(c.op), c), extent) >= 2; };
  p.check = [extent, judge = std::move(judge)](trial& t) { check_batch_invariance(t, extent, judge); };
  return p;
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
