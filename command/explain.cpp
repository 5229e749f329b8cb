// `warpcheck explain`: one case in words, and as a plot.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>

#include "command/candidates/brought_candidate.hpp"
#include "command/candidates/toolchain.hpp"
#include "command/commands.hpp"
#include "command/formula_arguments.hpp"
#include "command/report/failure_json.hpp"
#include "command/report/reporting.hpp"
#include "command/support.hpp"
#include "command/terminal.hpp"
#include "properties/engine/error.hpp"
#include "properties/engine/processes/contain.hpp"
#include "properties/engine/processes/run_folder.hpp"
#include "properties/engine/trials/explanation.hpp"
#include "properties/engine/trials/property.hpp"
#include "properties/engine/trials/run_case.hpp"
#include "properties/formula/formula_contract.hpp"
#include "properties/formula/formula_properties.hpp"

namespace warpcheck::cli {
namespace {

using namespace engine;

// True if every cell below the head is a number, NaN, or empty: such a column is right-aligned.
bool is_numeric(const std::vector<std::vector<std::string>>& table, size_t column) {
  return std::all_of(table.begin() + 1, table.end(), [&](const std::vector<std::string>& line) {
    const char first = line[column].empty() ? '-' : line[column][0];
    return (first >= '0' && first <= '9') || first == '-' || first == '+' || line[column] == "NaN" ||
           line[column] == "inf";
  });
}

void print_table(const std::vector<std::vector<std::string>>& table) {
  std::vector<size_t> widths;
  for (const auto& line : table) {
    widths.resize(std::max(widths.size(), line.size()));
    for (size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
  }
  for (const auto& line : table) {
    std::string text = " ";
    for (size_t i = 0; i < line.size(); ++i)
      text += i == 0                 ? fmt::format(" {:<{}}", line[i], widths[i])
              : is_numeric(table, i) ? fmt::format("  {:>{}}", line[i], widths[i])
                                     : fmt::format("  {:<{}}", line[i], widths[i]);
    fmt::print("{}\n", text.substr(0, text.find_last_not_of(' ') + 1));
  }
}

void print_sections(const explanation& e) {
  for (const explanation_section& s : e.sections) {
    fmt::print("{}\n", s.title);
    for (const std::string& sentence : s.sentences) fmt::print("  {}\n", sentence);
    print_table(s.table);
    fmt::print("\n");
  }
}

void draw(const explain_options& o, const nlohmann::json& row) {
  const std::string path = fmt::format("{}/warpcheck-row-{}.json", temporary_folder(), getpid());
  write_file(path, row.dump());
  const command_result drawn = run_reporting(o.python, {"--row", path, "--out", o.plot});
  std::remove(path.c_str());
  if (drawn.status == 0) return fmt::print("{}", drawn.output);
  if (drawn.status == k_usage) throw usage_error(drawn.output);
  throw environment_error(drawn.output);
}

int explain_contracts(const explain_options& o) {
  if (!o.device.empty() || !o.candidate.empty() || !o.plot.empty() || o.timeout)
    throw usage_error("explain: --device, --candidate, --plot and --timeout are for a case line, not for a formula");
  nlohmann::json formulas = nlohmann::json::object();
  bool is_first = true;
  for (const std::string& op : use_formulas({o.line})) {
    explanation e;
    e.sections = formula_trial::contract_in_words(formula_trial::formula_of(op));
    fmt::print("{}{}\n\n", is_first ? "" : "\n", op);
    print_sections(e);
    formulas[op] = sections_json(e);
    is_first = false;
  }
  if (!o.json.empty())
    write_file(o.json, nlohmann::json{{"schema", "warpcheck-contract-1"}, {"operators", formulas}}.dump(1) + "\n");
  return k_pass;
}

}  // namespace

int explain(const explain_options& o) {
  if (o.line.find(' ') == std::string::npos && is_formula_argument(o.line)) return explain_contracts(o);
  use_formula_of_line(o.line);
  trial_case c = parse_case_line(o.line);
  if (!o.candidate.empty()) c.knobs["candidate"] = o.candidate;
  std::string note;
  c.knobs["device"] = resolve_device(o.device.empty() ? c.knob("device") : o.device, note);
  prepare_named(c, o.is_isolated);
  const double timeout = timeout_of(o.timeout, c.knob("device"));
  std::optional<progress_line> waiting("explain");
  const case_report r = run_contained(run_case, c, timeout);
  const explanation e = explain(c, r, timeout);
  waiting.reset();
  fmt::print("{}/{}: {}{}{}\n{}\n\n", c.op, c.property, name_of(r.result), r.message.empty() ? "" : ": ", r.message,
             note);
  print_sections(e);
  for (const std::string& f : r.findings) fmt::print("{}\n", f);
  if (!o.json.empty()) {
    nlohmann::json j = failure_json(r);
    add_explanation(j, e);
    write_file(o.json, j.dump(1) + "\n");
  }
  if (!o.plot.empty()) {
    if (e.exact.empty()) throw usage_error(fmt::format("plot: {} has no row that could be drawn", c.op));
    draw(o, row_json(e));
  }
  return k_pass;
}

}  // namespace warpcheck::cli
