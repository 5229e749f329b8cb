#include "properties/histogram/histogram_problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "properties/engine/cases/description.hpp"
#include "properties/engine/error.hpp"
#include "properties/rows/equal_launches.hpp"
#include "properties/rows/row_inputs.hpp"

namespace warpcheck {

using namespace engine;

namespace {

host_tensor vector_of(std::string name, dtype type, const std::vector<int64_t>& values) {
  host_tensor t(input_vector(std::move(name), type, static_cast<int64_t>(values.size()), make_recipe("constant", {0})));
  for (size_t i = 0; i < values.size(); ++i) t.set_bits(0, static_cast<int64_t>(i), static_cast<uint64_t>(values[i]));
  return t;
}

// The case's call with other tensors and scalars.
trial_case related(const trial& t, histogram_stage stage, histogram_accum accum) {
  trial_case c = t.the_case();
  c.tensors.clear();
  set_knob(c, "stage", format_number(static_cast<int>(stage)));
  set_knob(c, "accum", format_number(static_cast<int>(accum)));
  return c;
}

void add_input(trial_case& c, tensor_map& given, const host_tensor& t, const std::string& name) {
  tensor_spec spec = t.spec;
  spec.name = name;
  spec.is_input = true;
  spec.in_place.clear();
  c.tensors.push_back(spec);
  given.insert_or_assign(name, t);
}

// Stages other than 0 and 3 have no variants.
host_tensor run_stage(trial& t, trial_case c, const tensor_map& given, const tensor_spec& output) {
  c.tensors.push_back(output);
  c.knobs.erase("variant");
  return t.run(c, given).at(output.name);
}

}  // namespace

host_tensor table_of(std::string name, const std::vector<histogram_column>& list) {
  host_tensor t(
      input_matrix(std::move(name), dtype::i64, static_cast<int64_t>(list.size()), 2, make_recipe("constant", {0})));
  for (size_t i = 0; i < list.size(); ++i) {
    t.set_bits(static_cast<int64_t>(i), 0, static_cast<uint64_t>(list[i].offset));
    t.set_bits(static_cast<int64_t>(i), 1, static_cast<uint64_t>(list[i].bins | list[i].skipped << 32));
  }
  return t;
}

histogram_columns columns_of(const host_tensor& cols, int64_t total_bins) {
  histogram_columns columns;
  columns.total_bins = total_bins;
  for (int64_t i = 0; i < cols.spec.rows(); ++i) {
    const auto packed = static_cast<int64_t>(cols.bits(i, 1));
    columns.list.push_back({static_cast<int64_t>(cols.bits(i, 0)), packed & 0xffffffff, packed >> 32});
  }
  return columns;
}

std::vector<fix_slots> entries_of(const host_tensor& entries) {
  std::vector<fix_slots> list;
  for (const histogram_column& e : columns_of(entries, 0).list) list.push_back({e.offset, e.bins, e.skipped});
  return list;
}

histogram_problem::histogram_problem(const trial_case& c, const tensor_map& inputs)
    : columns(columns_of(inputs.at("cols"), c.at("hist").rows())), bins(inputs.at("bins")), hist(c.at("hist")) {
  const auto find = [&](const char* name, std::optional<host_tensor>& into) {
    if (const auto found = inputs.find(name); found != inputs.end()) into = found->second;
  };
  find("rows", list);
  find("g", g);
  find("h", h);
  find("gh", gh);
}

std::vector<int64_t> histogram_problem::leaf() const {
  std::vector<int64_t> rows;
  for (int64_t i = 0; i < (list ? list->spec.cols() : num_rows()); ++i)
    rows.push_back(list ? static_cast<int64_t>(list->bits(0, i)) : i);
  return rows;
}

void histogram_problem::set_leaf(const std::vector<int64_t>& rows) {
  list = vector_of("rows", list ? list->spec.type : dtype::i32, rows);
}

void histogram_problem::set_columns(histogram_columns changed) {
  columns = std::move(changed);
  hist.shape = {columns.total_bins, 2};
  hist.ld = 2;
}

std::vector<reference::histogram_update> histogram_problem::updates() const {
  std::vector<reference::histogram_update> list_of_updates;
  for (const int64_t row : leaf())
    for (int64_t i = 0; i < num_cols(); ++i) {
      const histogram_column& column = columns.list[static_cast<size_t>(i)];
      if (bin(row, i) >= column.skipped) list_of_updates.push_back({column.offset + bin(row, i) - column.skipped, row});
    }
  return list_of_updates;
}

std::vector<int64_t> histogram_problem::quantised(int part) const {
  std::vector<int64_t> values;
  for (int64_t r = 0; r < num_rows(); ++r) values.push_back(static_cast<int16_t>(gh->bits(r, part)));
  return values;
}

bool is_offered(const trial& t, const histogram_call& call) {
  trial_case c = t.the_case();
  set_knob(c, "accum", fmt::format("{}", static_cast<int>(call.accum)));
  if (call.sparse) c.tensors.push_back({"slots", dtype::u16, {0}, 0, 0, true, {}, "", "", ""});
  return t.offers(c);
}

bool is_total_offered(const trial& t) {
  trial_case c = t.the_case();
  set_knob(c, "stage", fmt::format("{}", static_cast<int>(histogram_stage::totals)));
  c.tensors.push_back({"totals", dtype::i64, {0}, 0, 0, false, {}, "", "", ""});
  return t.offers(c);
}

host_tensor ask(trial& t, const histogram_problem& p, const histogram_call& call) {
  trial_case c = related(t, p.gh ? histogram_stage::quantised : histogram_stage::build, call.accum);
  if (!call.variant.empty()) set_knob(c, "variant", call.variant);
  if (call.accum != histogram_accum::fixed64 && !call.exact) set_knob(c, "agree", "free");
  tensor_map given;
  if (call.sparse) {
    std::vector<int64_t> slots, row_ptr = {0};
    for (int64_t r = 0; r < p.num_rows(); ++r) {
      for (int64_t i = 0; i < p.num_cols(); ++i) {
        const histogram_column& column = p.columns.list[static_cast<size_t>(i)];
        const int64_t bin = p.bin(r, i);
        if (bin >= column.skipped && (bin > 0 || !call.without_first_bin))
          slots.push_back(column.offset + bin - column.skipped);
      }
      row_ptr.push_back(static_cast<int64_t>(slots.size()));
    }
    // The bins' own type where it holds every slot.
    dtype type = p.bins.spec.type;
    if (type == dtype::u8 && p.columns.total_bins > 256) type = dtype::u16;
    if (type == dtype::u16 && p.columns.total_bins > 65536) type = dtype::u32;
    add_input(c, given, vector_of("slots", type, slots), "slots");
    add_input(c, given, vector_of("row_ptr", dtype::i64, row_ptr), "row_ptr");
  } else {
    add_input(c, given, p.bins, "bins");
    add_input(c, given, table_of("cols", p.columns.list), "cols");
  }
  if (p.gh) {
    add_input(c, given, *p.gh, "gh");
  } else {
    add_input(c, given, *p.g, "g");
    add_input(c, given, *p.h, "h");
  }
  if (p.list) add_input(c, given, *p.list, "rows");
  c.tensors.push_back(p.hist);
  return t.run(c, given).at("hist");
}

asked_totals ask_totals(trial& t, const histogram_problem& p, histogram_accum accum) {
  trial_case c = related(t, histogram_stage::totals, accum);
  tensor_map given;
  add_input(c, given, *p.g, "g");
  add_input(c, given, *p.h, "h");
  if (p.list) add_input(c, given, *p.list, "rows");
  return totals_of(run_stage(t, c, given, output_vector("totals", dtype::i64, 3)));
}

asked_totals totals_of(const host_tensor& out) {
  return {{std::bit_cast<double>(out.bits(0, 0)), std::bit_cast<double>(out.bits(0, 1))},
          static_cast<int64_t>(out.bits(0, 2))};
}

asked_scale ask_scale(trial& t, const histogram_problem& p) {
  trial_case c = related(t, histogram_stage::scale, histogram_accum::fixed64);
  tensor_map given;
  add_input(c, given, *p.g, "g");
  add_input(c, given, *p.h, "h");
  return scale_of(run_stage(t, c, given, output_vector("scale", dtype::i64, 3)));
}

asked_scale scale_of(const host_tensor& out) {
  const uint64_t exponents = out.bits(0, 0);
  return {{static_cast<int32_t>(exponents), static_cast<int32_t>(exponents >> 32)},
          static_cast<int64_t>(out.bits(0, 1)),
          out.bits(0, 2)};
}

host_tensor ask_subtract(trial& t, const host_tensor& parent, const host_tensor& smaller, bool in_place) {
  trial_case c = related(t, histogram_stage::subtract, histogram_accum::fixed64);
  tensor_map given;
  add_input(c, given, parent, "parent");
  add_input(c, given, smaller, "smaller");
  tensor_spec larger = output_matrix("larger", parent.spec.type, parent.spec.rows(), 2);
  if (in_place) {
    larger.in_place = "parent";
    larger.offset = parent.spec.offset;
  }
  return run_stage(t, c, given, larger);
}

host_tensor ask_fix(trial& t, const host_tensor& before, const std::vector<fix_slots>& entries, const host_tensor& leaf,
                    bool in_place) {
  trial_case c = related(t, histogram_stage::fix, histogram_accum::fixed64);
  tensor_map given;
  add_input(c, given, before, "before");
  std::vector<histogram_column> table;
  for (const fix_slots& e : entries) table.push_back({e.first, e.count, e.mfb});
  add_input(c, given, table_of("entries", table), "entries");
  add_input(c, given, leaf, "leaf");
  tensor_spec hist = output_matrix("hist", before.spec.type, before.spec.rows(), 2);
  if (in_place) {
    hist.in_place = "before";
    hist.offset = before.spec.offset;
  }
  return run_stage(t, c, given, hist);
}

host_tensor leaf_tensor(dtype type, double g, double h) {
  host_tensor leaf(input_vector("leaf", type, 2, make_recipe("constant", {0})));
  leaf.set_bits(0, 0, encode(type, g));
  leaf.set_bits(0, 1, encode(type, h));
  return leaf;
}

int64_t max_rows_of(const trial_case& c) { return static_cast<int64_t>(c.number("max_rows")); }

histogram_values expected_values(const trial_case& c, const histogram_problem& p) {
  histogram_values expected;
  const std::vector<reference::histogram_update> updates = p.updates();
  for (int part = 0; part < 2; ++part) {
    if (p.gh) {
      for (const int64_t v : reference::integer_histogram(updates, p.quantised(part), p.columns.total_bins))
        expected.part[part].push_back(static_cast<double>(v));
      continue;
    }
    const std::vector<double> x = (part == 0 ? *p.g : *p.h).row(0);
    const int e = reference::fixed_exponent(x, max_rows_of(c));
    expected.part[part] = reference::fixed_histogram(updates, x, p.columns.total_bins, e);
  }
  return expected;
}

void judge_values(trial& t, const host_tensor& hist, const histogram_values& expected) {
  for (int64_t slot = 0; slot < hist.spec.rows(); ++slot)
    for (int part = 0; part < 2; ++part) {
      const double actual = hist.value(slot, part), value = expected.part[part][static_cast<size_t>(slot)];
      t.judge("hist", slot, part, 0, actual, reference::judge_fixed(dtype::f64, actual, value));
    }
}

host_tensor ask_judged(trial& t, const histogram_problem& p, const histogram_call& call) {
  host_tensor hist = ask(t, p, call);
  judge_values(t, hist, expected_values(t.the_case(), p));
  return hist;
}

void judge_bound(trial& t, const histogram_problem& p, const host_tensor& hist, histogram_accum accum) {
  judge_sums(t, p.updates(), p.g->row(0), p.h->row(0), hist, accum);
}

void require_same(trial& t, const host_tensor& a, const host_tensor& b, const std::string& what) {
  need_equal_launches(t);
  t.require(a.spec.rows() == b.spec.rows(), "{}: the histograms differ in size", what);
  for (int64_t slot = 0; slot < a.spec.rows(); ++slot)
    for (int part = 0; part < 2; ++part)
      t.require(a.bits(slot, part) == b.bits(slot, part), "{}: hist[{},{}] is {:a} and {:a}", what, slot, part,
                a.value(slot, part), b.value(slot, part));
}

}  // namespace warpcheck
