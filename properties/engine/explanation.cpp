#include "properties/engine/explanation.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>

#include "properties/engine/contain.hpp"
#include "properties/engine/json_number.hpp"
#include "properties/engine/property.hpp"
#include "properties/engine/trial.hpp"
#include "reference/numerics/float_value.hpp"

namespace warpcheck::engine {
namespace {

using doubles = std::vector<double>;

std::map<std::string, tell_row, std::less<>>& stories() {
  static std::map<std::string, tell_row, std::less<>> all;
  return all;
}

const tensor_spec& first_output(const trial_case& c) {
  for (const tensor_spec& t : c.tensors)
    if (!t.is_input && !t.is_workspace()) return t;
  throw std::logic_error("a case without an output");
}

// An output with one element for each row of a matrix.
bool is_row_value(const trial_case& c) {
  return first_output(c).shape.size() == 1 && c.tensors.front().shape.size() == 2;
}

doubles row_of(const trial_case& c, const host_tensor& t, int64_t row) {
  return is_row_value(c) ? doubles{t.value(0, row)} : t.row(row);
}

// What the candidate's call gives, from a process of its own: the rows one after another, or nothing.
std::optional<host_tensor> outputs_of(const trial_case& c, double timeout_seconds) {
  const std::string name = first_output(c).name;
  const child_outcome ran = run_in_child(
      [&]() -> std::string {
        trial t(c);
        try {
          const run_result r = t.run();
          const std::vector<std::byte>& bytes = r.at(name).bytes;
          return "+" + std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
        } catch (const trial_over&) {
          return "-";
        }
      },
      time_limit(timeout_seconds, format(c)));
  if (!ran.finished || ran.text.empty() || ran.text[0] != '+') return std::nullopt;
  host_tensor t(first_output(c));
  if (ran.text.size() - 1 != t.bytes.size()) return std::nullopt;
  std::memcpy(t.bytes.data(), ran.text.data() + 1, t.bytes.size());
  return t;
}

double share(double actual, double exact, double bound) {
  if (std::isnan(exact)) return std::isnan(actual) ? 0 : HUGE_VAL;
  if (actual == exact) return 0;
  const double error = std::fabs(actual - exact);
  return error <= bound ? error / bound : bound > 0 && error < HUGE_VAL ? std::max(error / bound, 1 + 1e-15) : HUGE_VAL;
}

struct place {
  int64_t row = 0, element = 0;
};

// The report's worst element, else the element that lies furthest from its exact value, in shares of its bound.
place place_of(const trial_case& c, const case_report& r, const host_tensor& x, const std::optional<host_tensor>& y,
               const tell_row& tell) {
  if (r.worst && r.worst->tensor == first_output(c).name)
    return is_row_value(c) ? place{r.worst->col, 0} : place{r.worst->row, r.worst->col};
  constexpr int64_t k_most_rows = 64;
  place found;
  double worst = -1;
  for (int64_t row = 0; y && row < std::min(x.spec.rows(), k_most_rows); ++row) {
    const doubles values = x.row(row), actual = row_of(c, *y, row);
    if (actual.empty()) continue;
    const told_row told = tell({c, values, y->spec.type, 0, actual});
    for (size_t i = 0; i < actual.size(); ++i)
      if (const double s = share(actual[i], told.exact[i], told.bound[i]); s > worst) {
        worst = s;
        found = {row, static_cast<int64_t>(i)};
      }
  }
  return found;
}

std::string number(double v) { return std::isnan(v) ? "NaN" : fmt::format("{:.9g}", v + 0.0); }  // no -0

// "columns 3, 7 to 12 and 40"; at most eight ranges.
std::string columns_text(const std::vector<int64_t>& columns) {
  std::vector<std::string> parts;
  for (size_t i = 0; i < columns.size();) {
    size_t end = i + 1;
    while (end < columns.size() && columns[end] == columns[end - 1] + 1) ++end;
    if (parts.size() == 8) {
      parts.push_back("more");
      break;
    }
    parts.push_back(end - i == 1 ? fmt::format("{}", columns[i])
                                 : fmt::format("{} to {}", columns[i], columns[end - 1]));
    i = end;
  }
  return fmt::format("column{} {}", columns.size() == 1 ? "" : "s", fmt::join(parts, ", "));
}

story_section told_case(const trial_case& c, const explanation& e) {
  story_section s{"The case", {}, {}};
  s.sentences.push_back(fmt::format("{}/{} claims: {}.", c.op, c.property, find_property(c.op, c.property).sentence));
  for (const tensor_spec& t : c.tensors) {
    if (!t.is_input) continue;
    std::string text =
        fmt::format("Input {} is {}[{}], filled by {}", t.name, name_of(t.type), fmt::join(t.shape, " x "),
                    t.fill.distribution == "npy" ? t.fill.path : t.fill.distribution);
    if (t.fill.distribution != "npy" && !t.fill.arguments.empty())
      text += fmt::format("({:g})", fmt::join(t.fill.arguments, ", "));
    if (!t.fill.edits.empty()) text += fmt::format(", of which {} elements are set by hand", t.fill.edits.size());
    if (t.ld != t.cols()) text += fmt::format("; rows begin {} elements apart", t.ld);
    if (t.offset) text += fmt::format("; its base is {} elements off an alignment of 256 bytes", t.offset);
    s.sentences.push_back(text + ".");
  }
  if (!e.input.empty()) {
    double least = HUGE_VAL, most = -HUGE_VAL;
    int64_t nans = 0, infinite = 0;
    for (const double v : e.input) {
      nans += std::isnan(v);
      infinite += std::isinf(v);
      if (std::isfinite(v)) least = std::min(least, v), most = std::max(most, v);
    }
    std::string text = fmt::format("Row {} has {} element{}", e.row, e.input.size(), e.input.size() == 1 ? "" : "s");
    if (least <= most) text += fmt::format(", finite ones from {} to {}", number(least), number(most));
    if (infinite) text += fmt::format(", {} infinite", infinite);
    if (nans) text += fmt::format(", {} NaN", nans);
    s.sentences.push_back(text + ".");
  }
  std::vector<std::string> knobs;
  for (const auto& [name, value] : c.knobs) knobs.push_back(fmt::format("{}={}", name, value));
  if (!knobs.empty()) s.sentences.push_back(fmt::format("The call: {}.", fmt::join(knobs, ", ")));
  return s;
}

story_section demanded(const told_row& told, const explanation& e) {
  const auto i = static_cast<size_t>(e.element);
  story_section s{"What the contract demands", {told.formula, told.numbers}, {}};
  s.sentences.push_back(
      fmt::format("So {}[{}] is {} exactly, to nine digits.", e.output, e.element, number(told.exact[i])));
  if (told.terms.empty()) {
    s.sentences.emplace_back("Only this value passes.");
    return s;
  }
  s.sentences.push_back(fmt::format("It may err by {:.4g}: {}", told.bound[i], told.bound_formula));
  s.table.push_back({"part of the bound", "may err by", "share"});
  for (const reference::bound_term& t : told.terms)
    s.table.push_back({t.what, fmt::format("{:.4g}", t.value), fmt::format("{:.1f} %", 100 * t.value / told.bound[i])});
  return s;
}

story_section given(const told_row& told, const explanation& e, const case_report& r) {
  story_section s{"What the kernel gave", {}, {}};
  const auto i = static_cast<size_t>(e.element);
  const double actual = e.actual[i], exact = told.exact[i], bound = told.bound[i], error = std::fabs(actual - exact);
  s.sentences.push_back(fmt::format("{}[{}] is {} ({:a}).", e.output, e.element, number(actual), actual));
  if (std::isfinite(error))
    s.sentences.push_back(error == 0 ? "That is the exact value."
                                     : fmt::format("Its error is {:.4g}, {}", error,
                                                   bound > 0 ? fmt::format("{:.4g} of what it may be.", error / bound)
                                                             : "where none is allowed."));
  std::vector<int64_t> outside;
  for (size_t k = 0; k < e.actual.size(); ++k)
    if (share(e.actual[k], told.exact[k], told.bound[k]) > 1) outside.push_back(static_cast<int64_t>(k));
  s.sentences.push_back(outside.empty() ? "Every element of the row lies within its bound."
                                        : fmt::format("{} of {} elements of the row lie outside: {}.", outside.size(),
                                                      e.actual.size(), columns_text(outside)));
  // A property may compare several calls, of which this is the first.
  if (outside.empty() && r.result > verdict::skipped)
    s.sentences.push_back(fmt::format("The case fails all the same, with {}{}{}.", name_of(r.result),
                                      r.message.empty() ? "" : ": ", r.message));
  return s;
}

story_section departure(const told_row& told) {
  story_section s{
      "Where it departs from a plain implementation", {}, {{"step", "exact", "plain f32", "implied by the kernel"}}};
  for (const told_step& t : told.steps)
    s.table.push_back({t.what, number(t.exact), number(t.plain), std::isnan(t.implied) ? "-" : number(t.implied)});
  s.sentences.push_back(told.departs.empty() ? "No step departs by more than its rounding." : told.departs);
  return s;
}

}  // namespace

story_registration::story_registration(std::string op, tell_row tell) {
  stories().emplace(std::move(op), std::move(tell));
}

explanation explain(const trial_case& c, const case_report& r, double timeout_seconds) {
  explanation e;
  const auto found = stories().find(c.op);
  if (found == stories().end() || c.tensors.front().elements() == 0) {
    e.sections.push_back(told_case(c, e));
    if (found == stories().end())
      e.sections.back().sentences.push_back(fmt::format("{} does not tell the steps of its results.", c.op));
    return e;
  }
  const host_tensor x = materialize(c.tensors.front());
  // What hung or died once does so again.
  const bool may_run = r.result != verdict::timeout && r.result != verdict::crash;
  const std::optional<host_tensor> y = may_run ? outputs_of(c, timeout_seconds) : std::nullopt;
  const place at = place_of(c, r, x, y, found->second);
  e.output = first_output(c).name;
  e.row = at.row;
  e.element = at.element;
  e.input = x.row(at.row);
  if (y) e.actual = row_of(c, *y, at.row);
  const told_row told = found->second({c, e.input, first_output(c).type, at.element, e.actual});
  e.exact = told.exact;
  e.bound = told.bound;
  e.sections.push_back(told_case(c, e));
  e.sections.push_back(demanded(told, e));
  if (y)
    e.sections.push_back(given(told, e, r));
  else
    e.sections.push_back(
        {"What the kernel gave",
         {fmt::format("No result: {}{}.", name_of(r.result), r.message.empty() ? "" : ", " + r.message)},
         {}});
  if (!told.steps.empty()) e.sections.push_back(departure(told));
  return e;
}

nlohmann::json sections_json(const explanation& e) {
  nlohmann::json list = nlohmann::json::array();
  for (const story_section& s : e.sections)
    list.push_back({{"title", s.title}, {"sentences", s.sentences}, {"table", s.table}});
  return list;
}

}  // namespace warpcheck::engine
