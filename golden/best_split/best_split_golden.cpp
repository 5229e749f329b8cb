// best_split: leaves whose best split can be found by hand, and the published field bugs that fit a small histogram.
#include <fmt/format.h>

#include <cmath>

#include "golden/answers.hpp"
#include "golden/check.hpp"
#include "golden/decimal.hpp"
#include "properties/best_split/best_split_cases.hpp"
#include "properties/engine/error.hpp"
#include "reference/best_split/best_split.hpp"
#include "reference/numerics/compare.hpp"

namespace warpcheck::golden {
namespace {

using engine::trial_case;
using reference::split_missing;
using reference::split_result;

// An exact answer: numbers are fractions.
struct ratio {
  int64_t p = 0, q = 1;
};
struct hand_side {
  ratio g, h, gain, value;
  int64_t rows;
};
struct hand_answer {
  bool is_valid;
  bool default_left;
  int64_t feature;
  uint32_t threshold;
  ratio gain;
  hand_side left, right;
  std::vector<uint32_t> categories;
};

// One leaf with a histogram of `bins` (g, h, rows), every bin stored.
struct hand_bin {
  double g, h;
  int64_t rows;
};
struct hand_leaf {
  std::vector<std::vector<hand_bin>> features;
  split_missing missing = split_missing::none;
  int64_t default_bin = 0;
  bool categorical = false;
  double parent_gain = 0;
};

std::string text_of(const ratio& r) { return fraction(r.p, r.q); }

engine::tensor_spec tensor(const char* name, dtype type, std::vector<int64_t> shape, bool is_input) {
  engine::tensor_spec t;
  t.name = name;
  t.type = type;
  t.shape = std::move(shape);
  t.ld = t.shape.back();
  t.is_input = is_input;
  if (is_input) t.fill = engine::make_recipe("constant", {0});
  return t;
}

class collection {
 public:
  void add(std::string name, std::string source, const hand_leaf& leaf, const hand_answer& a,
           std::map<std::string, std::string> knobs = {}) {
    golden_file f = answer_of("best_split", std::move(name), std::move(source), std::move(knobs));
    std::vector<double> hist;
    std::vector<int64_t> count, feature;
    double g = 0, h = 0, rows = 0;
    for (size_t i = 0; i < leaf.features.size(); ++i) {
      feature.insert(feature.end(),
                     {static_cast<int64_t>(i), static_cast<int64_t>(leaf.features[i].size()), leaf.default_bin,
                      static_cast<int64_t>(count.size()), 0, static_cast<int64_t>(leaf.missing), leaf.categorical});
      for (const hand_bin& b : leaf.features[i]) {
        hist.insert(hist.end(), {b.g, b.h});
        count.push_back(b.rows);
        if (i == 0) g += b.g, h += b.h, rows += static_cast<double>(b.rows);
      }
    }
    const auto slots = static_cast<int64_t>(count.size()), features = static_cast<int64_t>(leaf.features.size());
    const int64_t list = f.the_case.knobs.count("max_cat") ? std::stoll(f.the_case.knobs["max_cat"]) : 32;
    f.the_case.tensors = {
        tensor("hist", dtype::f64, {slots, 2}, true),       tensor("count", dtype::i64, {slots}, true),
        tensor("feature", dtype::i64, {features, 7}, true), tensor("used", dtype::u8, {1, features}, true),
        tensor("leaf", dtype::f64, {1, 7}, true),           tensor("value", dtype::f64, {1, 9}, false),
        tensor("field", dtype::i64, {1, 6}, false),         tensor("cat", dtype::u32, {1, list}, false)};
    list_values(f, "hist", dtype::f64, hist);
    list_values(f, "count", dtype::i64, count);
    list_values(f, "feature", dtype::i64, feature);
    list_values(f, "used", dtype::u8, std::vector<int>(static_cast<size_t>(features), 1));
    list_values(f, "leaf", dtype::f64, std::vector<double>{0, g, h, rows, leaf.parent_gain, 0, 1});
    std::vector<std::string> values = {text_of(a.gain)};
    for (const hand_side& s : {a.left, a.right})
      for (const ratio& r : {s.g, s.h, s.gain, s.value}) values.push_back(a.is_valid ? text_of(r) : "nan");
    if (!a.is_valid) values[0] = "-inf";
    std::vector<std::string> fields;
    for (const int64_t v :
         {static_cast<int64_t>(a.is_valid) + (a.default_left ? 0x100 : 0), a.feature, static_cast<int64_t>(a.threshold),
          static_cast<int64_t>(a.categories.size()), a.left.rows, a.right.rows})
      fields.push_back(std::to_string(v));
    std::vector<std::string> cats;
    for (size_t k = 0; k < static_cast<size_t>(list); ++k)
      cats.push_back(std::to_string(k < a.categories.size() ? a.categories[k] : reference::k_no_split_threshold));
    f.outputs = {{"value", std::move(values)}, {"field", std::move(fields)}, {"cat", std::move(cats)}};
    files_.push_back(std::move(f));
  }
  std::vector<golden_file> take() { return std::move(files_); }

 private:
  std::vector<golden_file> files_;
};

const hand_answer k_no_split = {
    false, false, -1, reference::k_no_split_threshold, {}, {{}, {}, {}, {}, -1}, {{}, {}, {}, {}, -1}, {}};

// Bins of 16 and more of hessian, where eps changes nothing.
std::vector<golden_file> known_answers() {
  collection c;
  const std::string source = "by hand: gain = G_L^2/H_L + G_R^2/H_R - parent, value = -G/H";
  // Two bins: 8^2/32 + 8^2/32 = 4.
  const hand_side plus{{8}, {32}, {2}, {-1, 4}, 32}, minus{{-8}, {32}, {2}, {1, 4}, 32};
  c.add("two-bins", source, {{{{8, 32, 32}, {-8, 32, 32}}}}, {true, true, 0, 0, {4}, plus, minus, {}});
  c.add("one-bin", "contract: a feature of one bin cannot be split", {{{{8, 32, 32}}}}, k_no_split);
  c.add("gate-closed", "contract: both sides must have min_data rows, of bin_count (LightGBM#3634, LightGBM#3690)",
        {{{{8, 32, 3}, {-8, 32, 32}}}}, k_no_split, {{"min_data", "4"}});
  c.add("gate-met", "contract: a gate that is equal is passed", {{{{8, 32, 3}, {-8, 32, 32}}}},
        {true, true, 0, 0, {4}, {{8}, {32}, {2}, {-1, 4}, 3}, minus, {}}, {{"min_data", "3"}});
  c.add("first-of-equal-thresholds", "contract: of equal gains the lower threshold",
        {{{{8, 32, 32}, {0, 0, 0}, {0, 0, 0}, {-8, 32, 32}}}}, {true, true, 0, 0, {4}, plus, minus, {}});
  c.add("first-of-equal-features", "contract: of equal gains the lower feature",
        {{{{8, 32, 32}, {-8, 32, 32}}, {{8, 32, 32}, {-8, 32, 32}}}}, {true, true, 0, 0, {4}, plus, minus, {}});
  // The rows of the NaN bin belong with bin 0: they go left.
  c.add("nan-goes-left", source, {{{{4, 16, 16}, {-8, 32, 32}, {4, 16, 16}}}, split_missing::nan},
        {true, true, 0, 0, {4}, plus, minus, {}});
  c.add("nan-goes-right", source, {{{{8, 32, 32}, {-4, 16, 16}, {-4, 16, 16}}}, split_missing::nan},
        {true, false, 0, 0, {4}, plus, minus, {}});
  c.add("nothing-is-missing", "xgboost#10637: without rows in the missing bin default_left",
        {{{{8, 32, 32}, {-8, 32, 32}, {0, 0, 0}}}, split_missing::nan}, {true, true, 0, 0, {4}, plus, minus, {}});
  c.add("zero-goes-left", source, {{{{4, 16, 16}, {-8, 32, 32}, {4, 16, 16}}}, split_missing::zero, 2},
        {true, true, 0, 0, {4}, plus, minus, {}});
  c.add("both-gates-zero", "LightGBM#3489, LightGBM#3492 (both gates zero); contract: at least one row",
        {{{{0, 0, 0}, {8, 32, 32}, {8, 32, 32}}}, split_missing::none, 0, false, 3},
        {true, true, 0, 1, {1}, plus, plus, {}}, {{"min_data", "0"}, {"min_hessian", "0"}});
  c.add("soft-threshold", "by hand: T = 8 - 4, gain = 4^2/32 of each side, value = -4/32",
        {{{{8, 32, 32}, {-8, 32, 32}}}},
        {true, true, 0, 0, {1}, {{8}, {32}, {1, 2}, {-1, 8}, 32}, {{-8}, {32}, {1, 2}, {1, 8}, 32}, {}},
        {{"lambda_l1", "4"}});
  c.add("smoothing", "by hand: r = 32/32, w = (-8/32) 1/2, gain = -(2 8 w + 32 w^2)", {{{{8, 32, 32}, {-8, 32, 32}}}},
        {true, true, 0, 0, {3}, {{8}, {32}, {3, 2}, {-1, 8}, 32}, {{-8}, {32}, {3, 2}, {1, 8}, 32}, {}},
        {{"path_smooth", "32"}});
  c.add("smoothing-needs-two-rows", "contract: with smoothing at least two rows", {{{{8, 32, 1}, {-8, 32, 32}}}},
        k_no_split, {{"path_smooth", "32"}});
  c.add("one-hot", "by hand: category 2 alone",
        {{{{-4, 16, 16}, {-4, 16, 16}, {8, 32, 32}}}, split_missing::none, 0, true},
        {true, false, 0, 2, {4}, plus, minus, {2}});
  c.add("unbalanced-weights", "LightGBM#5935; by hand: 8192^2/32768 + 8^2/32 = 2050",
        {{{{8192, 32768, 32}, {-8, 32, 32}}}},
        {true, true, 0, 0, {2050}, {{8192}, {32768}, {2048}, {-1, 4}, 32}, minus, {}});
  std::vector<hand_bin> many(258);
  many[0] = many[256] = {4, 16, 16};
  many[257] = {-8, 32, 32};
  c.add("more-than-256-bins", "LightGBM#7439, the best threshold is bin 256; by hand as two-bins", {{many}},
        {true, true, 0, 256, {4}, plus, minus, {}});
  std::vector<hand_bin> categories(257);
  categories[128] = {8, 32, 32};
  categories[256] = {-8, 32, 32};
  c.add("more-than-256-categories", "LightGBM#7417; by hand: the lower of two keys is category 256",
        {{categories}, split_missing::none, 0, true}, {true, false, 0, 0, {4}, minus, plus, {256}}, {{"cat_l2", "0"}});
  return c.take();
}

std::vector<std::string> disagreements(const golden_file& f) {
  const split_instance s = instance_of(replay_case(f));
  std::vector<std::string> found;
  for (size_t l = 0; l < s.leaves.size(); ++l) {
    const split_result r = reference::best_split(s.problem(l));
    const double values[] = {r.gain,    r.left.g,  r.left.h,     r.left.gain,  r.left.value,
                             r.right.g, r.right.h, r.right.gain, r.right.value};
    const std::vector<std::string>& golden = f.output("value")->values;
    for (size_t k = 0; k < std::size(values); ++k) {
      // Within a unit of the last digit of the file, or of the 15 digits that a double is sure to have.
      const std::string text = std::isnan(values[k])   ? "nan"
                               : std::isinf(values[k]) ? (values[k] > 0 ? "+inf" : "-inf")
                               : values[k] == 0        ? "0"
                                                       : fmt::format("{:.15e}", values[k]);
      const double exact = nearest_double(golden[9 * l + k]);
      const bool is_near =
          std::isnan(values[k])
              ? golden[9 * l + k] == "nan"
              : values[k] == exact ||
                    std::fabs(values[k] - exact) <= std::pow(10.0, 1 - std::min(f.digits, 15)) * std::fabs(exact);
      if (!is_near)
        found.push_back(fmt::format("value[{},{}]: the file has {}, the reference {}", l, k, golden[9 * l + k], text));
    }
    const int64_t fields[] = {
        (r.is_valid ? 1 : 0) + (r.default_left ? 0x100 : 0), r.feature, static_cast<int64_t>(r.threshold),
        static_cast<int64_t>(r.categories.size()),           r.left.n,  r.right.n};
    for (size_t k = 0; k < std::size(fields); ++k)
      if (f.output("field")->values[6 * l + k] != std::to_string(fields[k]))
        found.push_back(fmt::format("field[{},{}]: the file has {}, the reference {}", l, k,
                                    f.output("field")->values[6 * l + k], fields[k]));
  }
  return found;
}

const engine::property_registration registration([] {
  const auto check = [](engine::trial& t) {
    const split_instance s = instance_of(t);
    const engine::run_result r = t.run();
    for (size_t l = 0; l < s.leaves.size(); ++l)
      require_record(t, record_of(t, r, static_cast<int64_t>(l)), reference::best_split(s.problem(l)),
                     fmt::format("leaf {}", l));
  };
  engine::property p = golden_property("best_split", {dtype::f64}, known_answers, check);
  p.sentence = "leaves whose split is known by hand, and published field bugs, come out right";
  p.holds = [](const trial_case& c) { return is_known_answer(c, known_answers); };
  p.share_percent = 100;
  return std::vector<engine::property>{p};
}());

}  // namespace

operator_golden best_split_golden() { return {"best_split", known_answers, disagreements}; }

}  // namespace warpcheck::golden
