// The description of histogram, and generation of its cases.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kernels/histogram/contract.hpp"
#include "properties/engine/cases/case_inputs.hpp"
#include "properties/engine/error.hpp"
#include "properties/histogram/histogram_problem.hpp"
#include "properties/rows/row_inputs.hpp"

namespace warpcheck {

using namespace engine;

namespace {

// "100,50" -> {100, 50}
std::vector<int64_t> integers_of(const trial_case& c, const std::string& name, int64_t least, int64_t most) {
  std::vector<int64_t> list;
  const std::string text = c.knob(name);
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const auto value = parse_number(std::string_view(text).substr(begin, end - begin));
    if (!value || *value != std::floor(*value) || *value < static_cast<double>(least) ||
        *value > static_cast<double>(most))
      throw usage_error(fmt::format("{}: '{}' is not a list of integers in [{}, {}]", name, text, least, most));
    list.push_back(static_cast<int64_t>(*value));
    begin = end + 1;
  }
  return list;
}

// The columns by the knobs.
histogram_columns columns_by_knobs(const trial_case& c, int64_t num_cols) {
  const std::vector<int64_t> widths = integers_of(c, "widths", 1, int64_t{1} << 24),
                             skipped = integers_of(c, "mfb", 0, 1);
  const int64_t gap = integers_of(c, "gap", 0, 1 << 20).front();
  histogram_columns columns;
  for (int64_t i = 0; i < num_cols; ++i) {
    const auto at = static_cast<size_t>(i);
    const histogram_column column{columns.total_bins, widths[at % widths.size()], skipped[at % skipped.size()]};
    columns.list.push_back(column);
    columns.total_bins += column.bins - column.skipped + gap;
  }
  return columns;
}

// The entries by the knobs: columns of a case of stage fix are runs of its slots, with the restored slot at (column
// number * 7) modulo the width.
std::vector<histogram_column> entries_by_knobs(const trial_case& c, int64_t slots) {
  std::vector<histogram_column> entries;
  for (const histogram_column& column : columns_by_knobs(c, 64).list) {
    if (column.offset + column.bins > slots) break;
    entries.push_back({column.offset, column.bins, static_cast<int64_t>(entries.size()) * 7 % column.bins});
  }
  return entries;
}

// Takes an integer tensor's element modulo count.
void reduce(host_tensor& t, int64_t row, int64_t col, int64_t count) {
  const uint64_t before = t.bits(row, col), limit = static_cast<uint64_t>(std::max<int64_t>(1, count));
  if (before >= limit) t.set_bits(row, col, before % limit);
}

void derive_histogram(const trial_case& c, tensor_map& inputs) {
  const auto find = [&](const char* name) {
    const auto found = inputs.find(name);
    return found == inputs.end() ? nullptr : &found->second;
  };
  host_tensor *const cols = find("cols"), *const bins = find("bins"), *const gh = find("gh");
  if (c.find("before")) set_derived(inputs, table_of("entries", entries_by_knobs(c, c.at("before").rows())));
  if (cols) set_derived(inputs, table_of("cols", columns_by_knobs(c, cols->spec.rows()).list));
  if (bins && cols) {
    const histogram_columns columns = columns_of(*cols, 0);
    for (int64_t r = 0; r < bins->spec.rows(); ++r)
      for (int64_t i = 0; i < bins->spec.cols(); ++i) reduce(*bins, r, i, columns.list[static_cast<size_t>(i)].bins);
  }
  if (host_tensor* const rows = find("rows"))
    for (int64_t i = 0; i < rows->spec.cols(); ++i)
      reduce(*rows, 0, i, gh ? gh->spec.rows() : inputs.at("g").spec.cols());
  if (find("slots") || (cols && cols->spec.fill.distribution == "constant"))  // by numbers
    check_indices(inputs, c.at("hist").rows());
  for (int64_t r = 0; gh && r < gh->spec.rows(); ++r) {
    if (gh->bits(r, 0) == 0x8000) gh->set_bits(r, 0, 0x8001);  // -32768 is no gradient
    gh->set_bits(r, 1, gh->bits(r, 1) & 0x7fff);               // hessians have no sign
  }
}

std::string what_is_illegal(const sizes& of, const trial_case& c) {
  if (!c.find("bins")) return "";
  const bool has_list = c.find("rows") != nullptr;
  const int64_t rows = size_in(of, "rows"), listed = has_list ? size_in(of, "listed") : rows;
  if (listed > max_rows_of(c))
    return fmt::format("max_rows: {} is below the {} rows of the leaf", max_rows_of(c), listed);
  return has_list && rows == 0 && listed > 0 ? "rows: it lists rows where there are none" : "";
}

// A leaf that loses its list has all rows, which may be more than the case allows.
void mend(trial_case& c) {
  if (!c.find("bins") || c.find("rows")) return;
  const int64_t rows = c.at("bins").rows();
  if (rows > max_rows_of(c)) set_knob(c, "max_rows", format_number(static_cast<double>(rows)));
}

const description_registration described([] {
  description d = description_of(histogram_contract());
  d.statements = {.sums = false, .batch_invariant = false};
  d.null_kernels = {{"empty-leaf", 100, "the sums of no rows are zeros, and that is what it is about"},
                    {"", 20, "an empty leaf and rows in bins that are not stored have sums of 0"}};
  find_extent(d, "total_bins").derived = [](const sizes& of, const trial_case& c) {
    return columns_by_knobs(c, size_in(of, "cols")).total_bins;
  };
  find_extent(d, "entries").derived = [](const sizes& of, const trial_case& c) {
    return static_cast<int64_t>(entries_by_knobs(c, size_in(of, "slots")).size());
  };
  for (call_form& form : d.forms) {
    form.derived = {"cols", "entries"};
    form.knobs = {{"widths", 255, "bins of the columns, a list taken in turn"},
                  {"mfb", 0, "bins that columns do not store, 0 or 1, a list taken in turn"},
                  {"gap", 0, "slots behind each column that belong to none"}};
  }
  d.illegal = what_is_illegal;
  d.mend = mend;
  d.derive = derive_histogram;
  d.bench = histogram_bench_list();
  return d;
}());

}  // namespace

bool has_entries(const trial_case& c) { return !entries_by_knobs(c, c.at("before").rows()).empty(); }

namespace {

std::string draw_widths(draw& d, const target& t, int64_t cols) {
  const bool narrow = t.type == dtype::u8;
  // Slots are zeroed, filled and compared one by one.
  const int64_t most = t.device == "cuda" ? 200000 : t.size == 2 ? 70000 : 1200;
  std::vector<std::string> texts = {"1", "2", "3", "16", "17,2,1,9"};
  if (cols * 255 <= most) texts.insert(texts.end(), {"255", "256", "100,3,1,256", "255,256"});
  if (!narrow && cols * 257 <= most) texts.insert(texts.end(), {"257", "300,20,257"});
  if (!narrow && cols * 1025 <= most) texts.insert(texts.end(), {"1025", "1024,512"});
  if (!narrow && cols * 6145 <= most) texts.insert(texts.end(), {"3072", "6145"});
  if (!narrow && cols * 65536 <= most) texts.insert(texts.end(), {"65535", "65536"});
  return texts[static_cast<size_t>(d.between(0, static_cast<int64_t>(texts.size()) - 1))];
}

recipe draw_bins(draw& d, int64_t cols) {
  switch (d.between(0, 9)) {
    case 0: return make_recipe("constant", {d.one_of({1.0, 5.0, 255.0})});  // one bin takes every row
    case 1: return make_recipe("duplicates", {d.seed(), 3});                // a few do
    case 2: return make_recipe("alternating", {0, 1});                      // the most frequent bin beside another
    case 3: return make_recipe("ascending", {0, static_cast<double>(cols - 1)});  // the bin is the column's number
    case 4: return make_recipe("one_hot", {d.seed(), 7, 0});                      // nearly all in bin 0
    case 5: return make_recipe("sawtooth", {5, 0, 250});
    default: return make_recipe("integers", {d.seed(), 0, 65535});
  }
}

recipe draw_gradients(draw& d, gradients kind, int64_t rows) {
  if (kind == gradients::dyadic) return make_recipe("dyadic", {d.seed(), 1024, 6});
  const double at = static_cast<double>(d.between(0, std::max<int64_t>(0, rows - 1)));
  switch (d.between(0, kind == gradients::any ? 17 : 14)) {
    case 0: return make_recipe("randn", {d.seed()});                   // the usual test
    case 1: return make_recipe("uniform", {d.seed(), 0, 1});           // hessians
    case 2: return make_recipe("uniform", {d.seed(), -1e-3, 1e-3});    // late gradients
    case 3: return make_recipe("log_uniform", {d.seed(), -100, 100});  // 1e-30 to 1e30
    case 4: return make_recipe("cancellation", {d.seed(), 1e6});       // sums far below their terms
    case 5: return make_recipe("near_overflow", {d.seed()});           // a sum in f32 overflows
    case 6:                                                            // the scale of subnormals
      if (d.chance(50)) return make_recipe("log_uniform", {d.seed(), -149, -127});
      return make_recipe("near_underflow", {d.seed()});
    case 7: return make_recipe("finite_bits", {d.seed()});
    case 8: return make_recipe("constant", {d.one_of({1.0, 0.1, -2.5})});
    case 9: return make_recipe("alternating", {16777216, -16777215});
    case 10: return make_recipe("ascending", {-20, 20});
    case 11: return make_recipe("spike", {at, 1, 0x1.fp-25});  // lost one by one in f32
    case 12: return make_recipe("duplicates", {d.seed(), 3});
    case 13: return make_recipe("integers", {d.seed(), -1000, 1000});
    case 14: return make_recipe("dyadic", {d.seed(), 1024, 6});
    case 15: return make_recipe("special", {d.seed()});
    case 16: return make_recipe("masked", {at, at + 3, d.seed()});
    default: return make_recipe("bits", {d.seed()});
  }
}

void draw_list(draw& d, trial_case& c, int64_t rows) {
  if (d.chance(35)) return;
  // An empty leaf has an answer that can be guessed: seldom.
  const int64_t length = rows == 0 || d.chance(2) ? 0 : d.one_of({rows, rows, (rows + 1) / 2, int64_t{1}, 2 * rows});
  const auto last = static_cast<double>(std::max<int64_t>(0, rows - 1)), count = static_cast<double>(rows);
  recipe fill = make_recipe("integers", {d.seed(), 0, last});  // some twice, some not
  if (length <= rows && d.chance(60)) fill = make_recipe("permutation", {d.seed(), std::max(1.0, count)});
  if (length == rows && d.chance(30)) fill = make_recipe(d.chance(50) ? "ascending" : "descending", {0, last});
  if (d.chance(10)) fill = make_recipe("constant", {last});
  tensor_spec list = input_vector("rows", d.chance(50) ? dtype::i32 : dtype::i64, length, std::move(fill));
  c.tensors.insert(c.tensors.end() - 1, std::move(list));
}

void draw_histogram_layout(draw& d, trial_case& c) {
  if (d.chance(50)) return;
  for (tensor_spec& t : c.tensors)
    if (t.name != "cols" && d.chance(50)) t.offset = d.between(1, 7);
  tensor_spec& bins = *c.find("bins");
  if (d.chance(70)) bins.ld += d.one_of({1, 2, 4, 5});
}

void draw_columns(draw& d, const target& t, trial_case& c) {
  set_knob(c, "widths", draw_widths(d, t, c.at("bins").cols()));
  // A column of one bin that is not stored has no slot.
  set_knob(c, "mfb", c.knobs.count("widths") && c.knobs.at("widths") == "1" ? "0" : d.one_of({"0", "0", "1", "0,1"}));
  set_knob(c, "gap", d.one_of({"0", "0", "1", "3"}));
  if (d.index() % 2) c.knobs["variant"] = d.index() % 4 == 1 ? "histogram_shared" : "histogram_global";
}

struct extents {
  int64_t rows, cols;
};

extents draw_extents(draw& d, const target& t) {
  const bool gpu = t.device == "cuda";
  const int64_t most = gpu ? int64_t{1} << 20 : t.size == 2 ? 1 << 14 : 1 << 11;
  // One of every class of columns by turns.
  constexpr int64_t k_classes[] = {1, 5, 32, 64, 63, 33, 96, 70, 0};
  if (d.index() % 4 == 2) return {d.between(1, 20), k_classes[d.index() / 4 % 9]};
  const int64_t cols = draw_extent(d, t, 12, gpu ? 2000 : t.size == 2 ? 600 : 130);
  const int64_t rows = d.index() % 40 == 9 ? 0
                       : d.chance(40)      ? d.between(1, 40)
                       : gpu               ? d.one_of({1023, 1025, 16383, 16385, 32769, 70001})
                                           : d.one_of({63, 64, 257, 511, 512, 513, 700, 1025});
  return {std::min(rows, std::max<int64_t>(1, most / std::max<int64_t>(1, cols))), cols};
}

}  // namespace

trial_case histogram_of(const target& t, draw& d, int64_t rows, int64_t cols, gradients kind) {
  trial_case c = row_case(
      t, {input_matrix("bins", t.type, rows, cols, draw_bins(d, cols)),
          input_matrix("cols", dtype::i64, cols, 2, make_recipe("derived", {})),
          input_vector("g", dtype::f32, rows, draw_gradients(d, kind, rows)),
          input_vector("h", dtype::f32, rows, draw_gradients(d, kind, rows)), output_matrix("hist", dtype::f64, 0, 2)});
  draw_columns(d, t, c);
  draw_list(d, c, rows);
  draw_histogram_layout(d, c);
  if (d.chance(20)) {
    // The scale follows the bound on rows, not the rows.
    const int64_t listed = c.find("rows") ? c.at("rows").cols() : rows;
    set_knob(c, "max_rows",
             format_number(static_cast<double>(d.one_of({listed, listed + 1, 2 * listed + 3, int64_t{1} << 40}))));
  }
  follow(c);
  return c;
}

namespace {

// Sizes beyond usual counters and tables, for a candidate that publishes nothing: more rows of one bin than two times
// 16 bits count, more rows, slots or bins than our own are cut at. Returns false if no such case is due.
bool is_of_stranger(const target& t, draw& d, trial_case& c) {
  if (!t.variants.empty() || d.index() % 8 != 7 || (t.device == "emulated" && t.size == 0)) return false;
  const int64_t turn = d.index() / 8 % 3;
  if (turn == 0) {
    c.find("bins")->shape = {131078, 1};
    c.find("bins")->fill = make_recipe("constant", {1});
  } else {
    c.find("bins")->shape = turn == 1 ? std::vector<int64_t>{2500, 5} : std::vector<int64_t>{300, 1};
    c.find("bins")->fill = make_recipe("integers", {d.seed(), 0, 65535});
  }
  tensor_spec& bins = *c.find("bins");
  bins.ld = bins.cols();
  std::erase_if(c.tensors, [](const tensor_spec& s) { return s.name == "rows"; });
  set_knob(c, "widths", turn == 0 || t.type == dtype::u8 ? "255" : turn == 1 ? "1025" : "65536");
  set_knob(c, "mfb", "0");
  set_knob(c, "max_rows", "1048576");
  run_once(c);
  follow(c);
  return true;
}

}  // namespace

trial_case histogram_case(const target& t, draw& d, gradients kind) {
  const extents e = draw_extents(d, t);
  trial_case c = histogram_of(t, d, e.rows, e.cols, kind);
  if (is_of_stranger(t, d, c)) return c;
  // Values of one class in all tensors are seldom drawn, so some cases have them by turns.
  const auto fill_all = [&](const recipe& fill) {
    for (const char* name : {"bins", "g", "h"}) c.find(name)->fill = fill;
    std::erase_if(c.tensors, [](const tensor_spec& s) { return s.name == "rows"; });
    set_knob(c, "max_rows", "1048576");
    follow(c);
  };
  if (kind == gradients::dyadic) return c;
  if (d.index() % 16 == 4) fill_all(make_recipe("constant", {d.one_of({1.0, 3.0})}));
  if (d.index() % 16 == 5) fill_all(make_recipe("uniform", {d.seed(), 0, 300}));
  if (d.index() % 16 == 6) fill_all(make_recipe("integers", {d.seed(), 0, 300}));
  return c;
}

trial_case quantised_case(const target& t, draw& d) {
  const extents e = draw_extents(d, t);
  recipe fill = make_recipe("bits", {d.seed()});
  switch (d.between(0, 5)) {
    case 0: fill = make_recipe("constant", {32769}); break;           // g = -32767, h = 1: every sum stays negative
    case 1: fill = make_recipe("constant", {32767}); break;           // the largest of both
    case 2: fill = make_recipe("alternating", {65535, 2}); break;     // g = -1, h = 2
    case 3: fill = make_recipe("integers", {d.seed(), 0, 4}); break;  // few gradients, as learners use
    case 4: fill = make_recipe("duplicates", {d.seed(), 65536}); break;
    default: break;
  }
  trial_case c = row_case(
      t, {input_matrix("bins", t.type, e.rows, e.cols, draw_bins(d, e.cols)),
          input_matrix("cols", dtype::i64, e.cols, 2, make_recipe("derived", {})),
          input_matrix("gh", dtype::u16, e.rows, 2, std::move(fill)), output_matrix("hist", dtype::i64, 0, 2)});
  set_knob(c, "stage", format_number(static_cast<int>(histogram_stage::quantised)));
  draw_columns(d, t, c);
  draw_list(d, c, e.rows);
  draw_histogram_layout(d, c);
  follow(c);
  is_of_stranger(t, d, c);
  return c;
}

}  // namespace warpcheck
