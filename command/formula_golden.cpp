#include "command/formula_golden.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "golden/answers.hpp"
#include "golden/decimal.hpp"
#include "properties/engine/cases/generate.hpp"
#include "properties/engine/error.hpp"
#include "properties/formula/formula_cases.hpp"
#include "properties/formula/formula_properties.hpp"
#include "reference/formula/evaluate.hpp"

namespace warpcheck::cli {
namespace {

using formula_trial::named_formula;

constexpr const char* k_folder = "golden";
constexpr int k_digits = 40;

formula::call_data call_of_case(const named_formula& f, const engine::trial_case& c) {
  engine::tensor_map inputs;
  for (const engine::tensor_spec& s : c.tensors)
    if (s.is_input) inputs.emplace(s.name, engine::materialize(s));
  return formula_trial::call_of(f, c, inputs);
}

// Dense tensors, with only the scalars of the formula. An input that may have any value is listed; any other input
// keeps its recipe, because a list stands for a tensor of zeros, which may be illegal.
void record_inputs(const named_formula& f, golden::golden_file& file) {
  engine::trial_case& c = file.the_case;
  std::erase_if(c.knobs, [&](const auto& knob) {
    const std::vector<std::string> extents = f.op.free_extents();
    return !f.op.find_scalar(knob.first) && std::ranges::find(extents, knob.first) == extents.end();
  });
  for (engine::tensor_spec& s : c.tensors) {
    s.ld = s.cols();
    s.offset = 0;
    s.in_place.clear();
    if (!s.is_input || !formula_trial::is_free_input(*f.op.find_input(s.name))) continue;
    const engine::host_tensor values = engine::materialize(s);
    golden::listed_input listed{s.name, {}};
    for (int64_t i = 0; i < s.elements(); ++i) {
      const double v = values.value(i / s.cols(), i % s.cols());
      listed.bits.push_back(engine::encode(s.type, v));
    }
    s.fill = engine::make_recipe("constant", {0});
    file.inputs.push_back(std::move(listed));
  }
}

// Records the exact outputs; returns false if one of them has no certain digits.
bool record_outputs(const named_formula& f, const formula::call_data& call, golden::golden_file& file) {
  formula::evaluation reference(f.op, call);
  for (const formula::tensor& t : f.op.outputs) {
    golden::expected_output expected{t.name, {}};
    const dtype type = formula_trial::memory_type(t);
    const int64_t elements = file.the_case.at(t.name).elements();
    for (int64_t i = 0; i < elements; ++i) {
      std::string text = reference.long_text(t.name, i);
      const bool is_number = !text.empty() && text.find_first_of("nN") == std::string::npos;
      if (is_float(type) && is_number) text = golden::rounded(golden::real(text), k_digits);
      if (is_float(type) ? !golden::is_canonical_decimal(text, k_digits) : !golden::is_canonical_integer(type, text))
        return false;
      expected.values.push_back(std::move(text));
    }
    file.outputs.push_back(std::move(expected));
  }
  return true;
}

// The case as a golden file, or nothing if it is large or has outputs without certain digits.
std::optional<golden::golden_file> recorded(const named_formula& f, const engine::trial_case& c) {
  constexpr int64_t k_most_elements = 256;
  constexpr double k_most_operations = 0x1p14;
  for (const engine::tensor_spec& s : c.tensors)
    if (s.elements() == 0 || s.elements() > k_most_elements) return std::nullopt;
  const formula::call_data call = call_of_case(f, c);
  if (formula_trial::cost_of(f.op, call.sizes) > k_most_operations) return std::nullopt;
  golden::golden_file file;
  file.op = c.op;
  file.generator = "warpcheck golden regenerate";
  file.source = fmt::format("the formula {} in 100 digits", f.op.name);
  file.digits = k_digits;
  file.the_case = c;
  file.the_case.property = "golden";
  record_inputs(f, file);
  if (!record_outputs(f, call, file)) return std::nullopt;
  return file;
}

// Cases of usual and of special values, always the same.
std::vector<golden::golden_file> recorded_inputs(const named_formula& f) {
  constexpr int64_t k_most_draws = 200;
  engine::target t;
  t.op = f.engine_name();
  t.device = "cpu";
  t.type = formula_trial::memory_type(f.op.inputs.front());
  std::vector<golden::golden_file> files;
  for (const auto& [property, count] : {std::pair("within-error-bound", 6), {"special-values", 4}}) {
    const engine::property* const p = engine::registered_property(t.op, property);
    int taken = 0;
    for (int64_t i = 0; p && i < k_most_draws && taken < count; ++i) {
      std::optional<golden::golden_file> file = recorded(f, engine::generate_case(*p, t, 1, i));
      if (!file) continue;
      file->name = fmt::format("{}-{}", property, taken++);
      files.push_back(std::move(*file));
    }
  }
  if (files.empty())
    throw engine::usage_error(
        fmt::format("golden: none of the first {} cases of {} has at most 256 elements a tensor and exact outputs",
                    k_most_draws, t.op));
  return files;
}

std::vector<std::string> disagreements_of_formula(const golden::golden_file& file) {
  const named_formula& f = *formula_trial::formula_of(file.op);
  const formula::call_data call = call_of_case(f, golden::replay_case(file));
  formula::evaluation reference(f.op, call);
  return golden::disagreements_with(
      file, {[&](const std::string& tensor, int64_t i) { return reference.text(tensor, i); },
             [&](const std::string& tensor, int64_t i, double actual) { return reference.judge(tensor, i, actual); }});
}

std::string folder_of(const std::string& folder, const std::string& op) {
  return (std::filesystem::path(folder) / op).string();
}

using shared_files = std::shared_ptr<std::vector<golden::golden_file>>;

engine::property recorded_property(const formula_trial::shared_formula& f, const std::string& folder,
                                   const shared_files& files) {
  engine::property p;
  p.op = f->engine_name();
  p.name = "golden";
  p.sentence = "recorded inputs give the recorded outputs within the bound";
  p.types = {formula_trial::memory_type(f->op.inputs.front())};
  p.generate = [folder, files](const engine::target& t, engine::draw& d) {
    if (files->empty())
      throw engine::usage_error(fmt::format("golden: '{}' has no recorded inputs of {}", folder, t.op));
    return golden::candidate_case((*files)[static_cast<size_t>(d.index()) % files->size()], t.device, t.candidate);
  };
  p.check = [f](engine::trial& t) { formula_trial::judge_outputs(t, t.run(), *f); };
  p.share_percent = 10;
  return p;
}

}  // namespace

void add_formula_golden(const std::string& op, const std::string& folder) {
  if (engine::registered_property(op, "golden")) return;
  const formula_trial::shared_formula f = formula_trial::formula_of(op);
  golden::add_operator({op, [f] { return recorded_inputs(*f); }, disagreements_of_formula});
  // Registered first, because the case lines of its files name the property.
  const auto files = std::make_shared<std::vector<golden::golden_file>>();
  engine::property_registration{{recorded_property(f, folder, files)}};
  if (!std::filesystem::is_directory(folder_of(folder, op))) return;
  for (golden::loaded_file& loaded : golden::load(folder, {op}))
    if (loaded.file.what != golden::kind::regression) files->push_back(std::move(loaded.file));
}

void add_recorded_inputs(const std::string& op) {
  if (std::filesystem::is_directory(folder_of(k_folder, op))) add_formula_golden(op, k_folder);
}

}  // namespace warpcheck::cli
