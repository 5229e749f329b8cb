#include "golden/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <filesystem>

#include "golden/reader.hpp"
#include "golden/writer.hpp"
#include "properties/engine/cases/description.hpp"
#include "properties/engine/error.hpp"
#include "properties/engine/files/sha256.hpp"
#include "properties/engine/trials/property.hpp"

namespace warpcheck::golden {
namespace {

namespace fs = std::filesystem;

std::string join(const std::string& folder, const std::string& path) { return (fs::path(folder) / path).string(); }

std::deque<operator_golden>& operators() {
  static std::deque<operator_golden> list = [] {
    const std::vector<operator_golden> ours = all_operators();
    return std::deque<operator_golden>(ours.begin(), ours.end());
  }();
  return list;
}

// The operator of a file by its path, <op>/x.golden; regressions/ holds those of every operator.
bool may_belong(const std::string& path, const std::vector<std::string>& ops) {
  const std::string first = fs::path(path).begin()->string();
  return ops.empty() || first == "regressions" || std::ranges::find(ops, first) != ops.end();
}

void check_place(const std::string& path, const golden_file& file) {
  const std::string folder = file.what == kind::regression ? "regressions" : file.op;
  if (fs::path(path).parent_path() != folder)
    throw engine::usage_error(fmt::format("{}:2: a {} of {} lies in the folder '{}'; '{}' is allowed", path,
                                          name_of(file.what), file.op, fs::path(path).parent_path().string(), folder));
}

// True for a regression of a formula that is not registered: nobody can parse its case.
bool is_of_unknown_formula(const std::string& path) {
  const std::string text = read_text(path, k_max_file_bytes);
  constexpr std::string_view k_key = "\noperator: ";
  const size_t begin = text.find(k_key);
  if (begin == std::string::npos) return false;
  const size_t name = begin + k_key.size();
  const std::string op = text.substr(name, text.find('\n', name) - name);
  return op.ends_with(k_formula_suffix) && !engine::find_description(op);
}

golden_file read_placed(const std::string& folder, const std::string& path) {
  golden_file file = read_golden(join(folder, path), engine::parse_case_line);
  check_place(path, file);
  return file;
}

}  // namespace

void add_operator(operator_golden of_plugin) { operators().push_back(std::move(of_plugin)); }

const operator_golden& find_operator(std::string_view op) {
  std::string known;
  for (const operator_golden& o : operators()) {
    if (o.op == op) return o;
    known += (known.empty() ? "" : ", ") + o.op;
  }
  throw engine::usage_error(fmt::format("operator: '{}' has no golden data; known are {}", op, known));
}

std::vector<loaded_file> load(const std::string& folder, const std::vector<std::string>& ops) {
  const std::string sums_path = join(folder, "SHA256SUMS");
  const std::vector<checksum> sums = parse_checksums(read_text(sums_path, k_max_file_bytes), sums_path);
  const std::vector<std::string> present = golden_paths(folder);
  for (const std::string& path : present)
    if (std::ranges::none_of(sums, [&](const checksum& s) { return s.path == path; }))
      throw engine::usage_error(fmt::format("{}: it is not listed in SHA256SUMS", join(folder, path)));
  std::vector<loaded_file> files;
  for (size_t i = 0; i < sums.size(); ++i) {
    const std::string path = join(folder, sums[i].path);
    const std::string hash = engine::sha256_hex(read_text(path, k_max_file_bytes));
    if (hash != sums[i].sha256)
      throw engine::usage_error(
          fmt::format("{}:{}: {} has SHA-256 {}; {} is allowed", sums_path, i + 1, sums[i].path, hash, sums[i].sha256));
    if (!may_belong(sums[i].path, ops) || is_of_unknown_formula(path)) continue;
    golden_file file = read_placed(folder, sums[i].path);
    if (ops.empty() || std::ranges::find(ops, file.op) != ops.end()) files.push_back({sums[i].path, std::move(file)});
  }
  for (const std::string& op : ops)
    if (std::ranges::none_of(files, [&](const loaded_file& f) { return f.file.op == op; }))
      throw engine::usage_error(fmt::format("{}: there is no golden file of {}", folder, op));
  return files;
}

std::vector<golden_file> load_regressions(const std::string& folder) {
  std::vector<golden_file> files;
  for (const std::string& path : golden_paths(folder)) {
    if (is_of_unknown_formula(join(folder, path))) continue;
    golden_file file = read_golden(join(folder, path), engine::parse_case_line);
    if (file.what != kind::regression)
      throw engine::usage_error(
          fmt::format("{}:2: a {} lies among the regressions", join(folder, path), name_of(file.what)));
    files.push_back(std::move(file));
  }
  return files;
}

engine::trial_case candidate_case(const golden_file& file, std::string_view device, std::string_view candidate) {
  engine::trial_case c = replay_case(file);
  if (c.knob("device") != device)
    for (const char* knob : {"schedule", "detect", "sm"}) c.knobs.erase(knob);
  const auto set = [&](const std::string& name, std::string_view value) {
    c.knobs.erase(name);
    if (c.knob(name) != value) c.knobs[name] = value;
  };
  set("device", device);
  set("candidate", candidate);
  if (const engine::description* const d = engine::find_description(c.op)) set("formula", d->formula);
  return c;
}

bool file_result::passed() const {
  return disagreements.empty() && (!report || report->result == engine::verdict::pass);
}

std::vector<file_result> check(const check_options& options) {
  std::vector<file_result> results;
  std::vector<engine::trial_case> cases;
  std::vector<size_t> places;  // of the cases' files in the results
  for (const loaded_file& f : load(options.folder, options.ops)) {
    file_result r{f.path, {}, {}, false};
    if (f.file.what != kind::regression) r.disagreements = find_operator(f.file.op).disagreements(f.file);
    const dtype type = f.file.the_case.tensors.front().type;
    r.skipped = !options.types.empty() && std::ranges::find(options.types, type) == options.types.end();
    if (options.run && !r.skipped) {
      cases.push_back(candidate_case(f.file, options.device, options.candidate));
      places.push_back(results.size());
    }
    results.push_back(std::move(r));
  }
  if (cases.empty()) return results;
  const std::vector<engine::case_report> reports = options.run(cases);
  for (size_t i = 0; i < cases.size(); ++i) results[places[i]].report = reports.at(i);
  return results;
}

regenerated regenerate(const std::string& folder, const std::string& op) {
  const operator_golden& o = find_operator(op);
  std::vector<golden_file> answers = o.known_answers();
  std::vector<std::string> made;
  for (const golden_file& answer : answers) {
    const std::string path = op + "/" + answer.name + ".golden";
    if (std::ranges::find(made, path) != made.end())
      throw engine::usage_error(fmt::format("{}: two known answers have this name", path));
    made.push_back(path);
  }
  regenerated result;
  std::error_code code;
  fs::create_directories(folder, code);
  std::vector<std::string> outdated;
  for (const std::string& path : golden_paths(folder)) {
    if (std::ranges::find(made, path) != made.end()) continue;
    if (is_of_unknown_formula(join(folder, path))) {
      ++result.kept;
      continue;
    }
    const golden_file file = read_placed(folder, path);
    if (file.op == op && file.what == kind::known_answer) {
      outdated.push_back(path);
      continue;
    }
    if (file.what != kind::regression)
      if (const auto differences = find_operator(file.op).disagreements(file); !differences.empty())
        throw engine::usage_error(fmt::format("{}: {}", join(folder, path), differences.front()));
    ++result.kept;
  }
  // Nothing was written so far: a refusal leaves the folder as it was.
  for (const golden_file& answer : answers) {
    const std::string path = join(folder, op + "/" + answer.name + ".golden");
    if (fs::is_regular_file(path, code) && read_text(path, k_max_file_bytes) == format(answer)) {
      ++result.unchanged;
      continue;
    }
    write_golden(join(folder, op), answer, engine::parse_case_line);
    ++result.written;
  }
  for (const std::string& path : outdated) result.removed += fs::remove(join(folder, path), code);
  write_checksums(folder);
  return result;
}

}  // namespace warpcheck::golden
