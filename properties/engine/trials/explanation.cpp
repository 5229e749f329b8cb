#include "properties/engine/trials/explanation.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "properties/engine/cases/case_inputs.hpp"
#include "properties/engine/files/json_number.hpp"
#include "properties/engine/processes/contain.hpp"
#include "properties/engine/trials/call_observer.hpp"
#include "properties/engine/trials/in_hand.hpp"
#include "properties/engine/trials/property.hpp"
#include "properties/engine/trials/trial.hpp"

namespace warpcheck::engine {

double share_of_bound(double actual, double exact, double bound) {
  if (std::isnan(exact)) return std::isnan(actual) ? 0 : HUGE_VAL;
  if (actual == exact) return 0;
  const double error = std::fabs(actual - exact);
  return error <= bound ? error / bound : bound > 0 && error < HUGE_VAL ? std::max(error / bound, 1 + 1e-15) : HUGE_VAL;
}

namespace {

using doubles = std::vector<double>;

std::map<std::string, call_explainer, std::less<>>& explainers() {
  static std::map<std::string, call_explainer, std::less<>> all;
  return all;
}

std::string number(double v) { return std::isnan(v) ? "NaN" : fmt::format("{:.9g}", v + 0.0); }  // no -0

// "columns 3, 7 to 12 and 40"; at most eight ranges.
std::string columns_text(const std::string& item, const std::vector<int64_t>& columns) {
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
  return fmt::format("{}{} {}", item, columns.size() == 1 ? "" : "s", fmt::join(parts, ", "));
}

// A sentence on the tensor's place, if it has no memory of its own; "" otherwise.
std::string place_sentence(const tensor_spec& t) {
  if (!t.in_place.empty()) return fmt::format("Output {} lies in the memory of input {}.", t.name, t.in_place);
  if (!t.same.empty()) return fmt::format("Input {} is the same memory as input {}.", t.name, t.same);
  if (t.beside.empty()) return "";
  return fmt::format("The rows of {} lie in the gaps between those of {}, {} elements apart.", t.name, t.beside, t.ld);
}

std::string input_sentence(const tensor_spec& t) {
  const bool is_file = t.fill.distribution == "npy", is_derived = t.fill.distribution == "derived";
  std::string text = fmt::format(
      "Input {} is {}[{}], {}", t.name, name_of(t.type), fmt::join(t.shape, " x "),
      is_derived ? "which follows from the others" : "filled by " + (is_file ? t.fill.path : t.fill.distribution));
  if (!is_file && !t.fill.arguments.empty()) text += fmt::format("({:g})", fmt::join(t.fill.arguments, ", "));
  if (!t.fill.edits.empty()) text += fmt::format(", of which {} elements are set by hand", t.fill.edits.size());
  if (t.ld != t.cols()) text += fmt::format("; rows begin {} elements apart", t.ld);
  if (t.offset) text += fmt::format("; its base is {} elements off an alignment of 256 bytes", t.offset);
  return text + ".";
}

// Sentences on the call that the property makes for the case, if it differs from the case.
std::vector<std::string> related_sentences(const trial_case& c, const trial_case& call) {
  std::vector<std::string> changed;
  for (const auto& [name, value] : call.knobs)
    if (const auto found = c.knobs.find(name); found == c.knobs.end() || found->second != value)
      changed.push_back(fmt::format("{}={}", name, value));
  if (changed.empty()) return {};
  return {fmt::format("The property makes more than one call; the rest is about the one with {}.",
                      fmt::join(changed, ", "))};
}

// A sentence on the inputs that do not have the values of their fills.
std::vector<std::string> computed_sentences(const trial_case& c, const tensor_map& inputs) {
  std::vector<std::string> computed;
  const tensor_map own = inputs_of(c);
  for (const tensor_spec& t : c.tensors)
    if (const auto given = inputs.find(t.name); t.is_input && t.same.empty() && given != inputs.end())
      if (given->second.bytes != own.at(t.name).bytes) computed.push_back(t.name);
  if (computed.empty()) return {};
  return {fmt::format("The property changes the values of {} for this call.", fmt::join(computed, ", "))};
}

explanation_section case_section(const trial_case& c) {
  explanation_section s{"The case", {}, {}};
  s.sentences.push_back(
      fmt::format("The property {}/{}: {}.", c.op, c.property, find_property(c.op, c.property).sentence));
  std::vector<std::string> absent, knobs;
  for (const tensor_spec& t : c.tensors) {
    if (t.is_input && t.elements() == 0 && t.name != c.tensors.front().name)
      absent.push_back(t.name);
    else if (t.is_input && t.same.empty())
      s.sentences.push_back(input_sentence(t));
    if (std::string place = place_sentence(t); !place.empty()) s.sentences.push_back(std::move(place));
  }
  if (!absent.empty()) s.sentences.push_back(fmt::format("Without elements: {}.", fmt::join(absent, ", ")));
  for (const auto& [name, value] : c.knobs) knobs.push_back(fmt::format("{}={}", name, value));
  if (!knobs.empty()) s.sentences.push_back(fmt::format("The call: {}.", fmt::join(knobs, ", ")));
  return s;
}

explanation_section demanded(const explained_call& explained) {
  const explained_row& values = explained.values;
  const auto i = static_cast<size_t>(explained.element);
  explanation_section s{"What the contract demands", {values.formula, values.numbers}, {}};
  std::erase(s.sentences, "");
  s.sentences.push_back(
      fmt::format("So {} is {} exactly, to nine digits.", explained.element_name, number(values.exact[i])));
  if (values.terms.empty()) {
    s.sentences.push_back(values.bound_formula.empty() ? "Only this value passes." : values.bound_formula);
    return s;
  }
  s.sentences.push_back(fmt::format("It may err by {:.4g}: {}", values.bound[i], values.bound_formula));
  s.table.push_back({"part of the bound", "may err by", "share"});
  for (const reference::bound_term& t : values.terms)
    s.table.push_back(
        {t.what, fmt::format("{:.4g}", t.value), fmt::format("{:.1f} %", 100 * t.value / values.bound[i])});
  return s;
}

std::string error_sentence(double error, double bound) {
  if (error == 0) return "That is the exact value.";
  return fmt::format("Its error is {:.4g}, {}", error,
                     bound > 0 ? fmt::format("{:.4g} of what it may be.", error / bound) : "where none is allowed.");
}

std::string failure_sentence(const case_report& r) {
  return fmt::format("{}{}{}.", name_of(r.result), r.message.empty() ? "" : ": ", r.message);
}

explanation_section given(const explained_call& explained, const case_report& r) {
  explanation_section s{"What the kernel gave", {}, {}};
  const auto i = static_cast<size_t>(explained.element);
  const doubles &actual = explained.actual, &exact = explained.values.exact, &bound = explained.values.bound;
  s.sentences.push_back(fmt::format("{} is {} ({:a}).", explained.element_name, number(actual[i]), actual[i]));
  if (const double error = std::fabs(actual[i] - exact[i]); std::isfinite(error))
    s.sentences.push_back(error_sentence(error, bound[i]));
  std::vector<int64_t> outside;
  for (size_t k = 0; k < actual.size(); ++k)
    if (share_of_bound(actual[k], exact[k], bound[k]) > 1) outside.push_back(static_cast<int64_t>(k));
  s.sentences.push_back(outside.empty()
                            ? fmt::format("Every element of {} lies within its bound.", explained.row_name)
                            : fmt::format("{} of {} elements of {} lie outside: {}.", outside.size(), actual.size(),
                                          explained.row_name, columns_text(explained.item, outside)));
  // A property may compare several calls, of which this is one.
  if (outside.empty() && r.result > verdict::skipped)
    s.sentences.push_back("The case fails all the same, with " + failure_sentence(r));
  return s;
}

// The report's facts, for an operator that explains no calls.
explanation_section given(const case_report& r) {
  explanation_section s{"What the kernel gave", {}, {}};
  if (r.result > verdict::skipped) s.sentences.push_back("The verdict is " + failure_sentence(r));
  if (!r.worst) return s;
  const worst_element& w = *r.worst;
  s.sentences.push_back(
      fmt::format("The element that lies closest to its bound, or furthest beyond, is {}[{},{}]: {} "
                  "({:a}), where {} is due exactly.",
                  w.tensor, w.row, w.col, number(w.actual), w.actual,
                  w.expected_text.empty() ? number(w.expected) : w.expected_text));
  if (std::isfinite(w.error)) s.sentences.push_back(error_sentence(w.error, w.bound));
  if (w.bound > 0) s.sentences.push_back(fmt::format("It may err by {:.4g}.", w.bound));
  return s;
}

// The first step whose value, by the outputs, is off by more than rounding; "" if all elements are within bounds.
std::string departing_step(const explained_call& explained) {
  const explained_row& values = explained.values;
  bool is_outside = false;
  for (size_t k = 0; k < explained.actual.size(); ++k)
    is_outside = is_outside || share_of_bound(explained.actual[k], values.exact[k], values.bound[k]) > 1;
  if (!is_outside) return "";
  const auto i = static_cast<size_t>(explained.element);
  for (const reference::model_step& t : values.steps) {
    // A few times the rounding of plain arithmetic, or 2^-20, beside the element's own allowed error.
    const double rounding = std::max(8 * std::fabs(t.plain - t.exact), std::fabs(t.exact) * 0x1p-20);
    if (std::fabs(t.implied - t.exact) > rounding + values.bound[i])
      return fmt::format("The {} is the first wrong step: {} in place of {}.", t.what, number(t.implied),
                         number(t.exact));
  }
  return fmt::format("{} departs: {} in place of {}.", explained.element_name, number(explained.actual[i]),
                     number(values.exact[i]));
}

explanation_section departure(const explained_row& values) {
  explanation_section s{
      "Where it departs from a plain implementation", {}, {{"step", "exact", "plain", "implied by the kernel"}}};
  for (const reference::model_step& t : values.steps)
    s.table.push_back({t.what, number(t.exact), number(t.plain), std::isnan(t.implied) ? "-" : number(t.implied)});
  if (values.steps.empty()) s.table.clear();
  s.sentences.push_back(values.departs.empty() ? "No step departs by more than its rounding." : values.departs);
  return s;
}

// The calls that a property makes for a case, and which of them is explained.
struct observed {
  struct one {
    trial_case c;
    tensor_map inputs;
    std::optional<tensor_map> outputs;
  };
  std::optional<one> first, last, with_worst;

  // The call with the report's worst element. If the case fails for another reason, the last call; if results differ,
  // or the case passes without such an element, the first.
  const one* chosen(const case_report& r) const {
    const bool is_worst_wrong = r.result == verdict::violation && r.worst && !(r.worst->error <= r.worst->bound);
    const bool is_last = r.result > verdict::skipped && r.result != verdict::nondeterministic;
    if (is_last && last && !(is_worst_wrong && with_worst)) return &*last;
    return with_worst ? &*with_worst : first ? &*first : nullptr;
  }
};

bool holds(const tensor_map& outputs, const worst_element& w) {
  const auto found = outputs.find(w.tensor);
  if (found == outputs.end() || found->second.spec.elements() == 0) return false;
  const host_tensor& t = found->second;
  const int64_t cols = t.spec.cols(), at = w.row * cols + w.col;  // all dimensions have this size or more
  if (at < 0 || at >= t.spec.elements()) return false;
  const double value = t.value(at / cols, at % cols);
  return value == w.actual || (std::isnan(value) && std::isnan(w.actual));
}

// Runs the property's check; without `launches` up to the first call only.
observed observe(const trial_case& c, const case_report& r, bool launches) {
  observed seen;
  call_observer observer;
  observer.begun = [&](const trial_case& call, tensor_map inputs) {
    seen.last = observed::one{call, std::move(inputs), std::nullopt};
    if (!seen.first) seen.first = seen.last;
    if (!launches) throw trial_over{};
  };
  observer.ended = [&](const tensor_map& outputs) {
    const bool is_first = !seen.first->outputs;
    seen.last->outputs = outputs;
    if (is_first) seen.first = seen.last;
    if (r.worst && holds(outputs, *r.worst)) seen.with_worst = seen.last;
  };
  observing = &observer;
  trial t(c);
  try {
    check_call(t);
  } catch (const trial_over&) {
    // The verdict is known.
  }
  observing = nullptr;
  return seen;
}

explanation explain_call(const trial_case& c, const case_report& r, const call_explainer& explainer, bool launches) {
  explanation e;
  e.sections.push_back(case_section(c));
  const observed seen = observe(c, r, launches);
  const observed::one* call = seen.chosen(r);
  explained_call explained;
  if (call) {
    const tensor_map* outputs = call->outputs ? &*call->outputs : nullptr;
    const bool has_worst = outputs && r.worst && holds(*outputs, *r.worst);
    explained = explainer({call->c, call->inputs, outputs, has_worst ? &*r.worst : nullptr});
    for (const auto& sentences : {explained.about, related_sentences(c, call->c), computed_sentences(c, call->inputs)})
      e.sections[0].sentences.insert(e.sections[0].sentences.end(), sentences.begin(), sentences.end());
  }
  if (explained.values.exact.empty()) {
    if (explanation_section s = given(r); !s.sentences.empty()) e.sections.push_back(std::move(s));
    return e;
  }
  if (explained.values.departs.empty()) explained.values.departs = departing_step(explained);
  e.sections.push_back(demanded(explained));
  e.sections.push_back(explained.actual.empty()
                           ? explanation_section{"What the kernel gave", {"No result: " + failure_sentence(r)}, {}}
                           : given(explained, r));
  if (!explained.values.steps.empty() || !explained.values.departs.empty())
    e.sections.push_back(departure(explained.values));
  e.departs = explained.values.departs;
  if (explained.output.empty()) return e;
  e.output = explained.output;
  e.row = explained.row;
  e.element = explained.element;
  e.input = explained.input;
  e.actual = explained.actual;
  e.exact = explained.values.exact;
  e.bound = explained.values.bound;
  return e;
}

const std::pair<const char*, doubles explanation::*> k_rows[] = {{"input", &explanation::input},
                                                                 {"exact", &explanation::exact},
                                                                 {"bound", &explanation::bound},
                                                                 {"actual", &explanation::actual}};

std::string text_of(const explanation& e) {
  nlohmann::json j = {{"sections", sections_json(e)},
                      {"departs", e.departs},
                      {"output", e.output},
                      {"row", e.row},
                      {"element", e.element}};
  for (const auto& [name, list] : k_rows)
    for (const double v : e.*list) j[name].push_back(json_number(v));
  // Text of a candidate may be no UTF-8.
  return j.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

explanation explanation_of(const std::string& text) {
  const nlohmann::json j = nlohmann::json::parse(text);
  explanation e;
  for (const nlohmann::json& s : j.at("sections"))
    e.sections.push_back({s.at("title"), s.at("sentences"), s.at("table")});
  e.departs = j.at("departs");
  e.output = j.at("output");
  e.row = j.at("row");
  e.element = j.at("element");
  for (const auto& [name, list] : k_rows)
    for (const nlohmann::json& v : j.value(name, nlohmann::json::array())) (e.*list).push_back(number_from_json(v));
  return e;
}

}  // namespace

explainer_registration::explainer_registration(std::string op, call_explainer explainer) {
  explainers().emplace(std::move(op), std::move(explainer));
}

explanation explain(const trial_case& c, const case_report& r, double timeout_seconds,
                    const std::function<bool()>& stop) {
  const auto found = explainers().find(c.op);
  explanation e;
  e.sections = {case_section(c), given(r)};
  if (found == explainers().end()) {
    e.sections.back().sentences.push_back(fmt::format("{} does not give the steps of its results.", c.op));
    return e;
  }
  // A case that hung or died once does so again.
  const bool may_launch = r.result != verdict::timeout && r.result != verdict::crash;
  std::string why_not;
  for (const bool launches : {true, false}) {
    if (launches && !may_launch) continue;
    try {
      const child_outcome ran = run_in_child([&] { return text_of(explain_call(c, r, found->second, launches)); },
                                             time_limit(timeout_seconds, format(c)), stop);
      if (ran.finished) return explanation_of(ran.text);
      if (ran.stopped) break;
    } catch (const std::exception& error) {
      why_not = error.what();
    }
  }
  if (!why_not.empty())
    e.sections.back().sentences.push_back(fmt::format("There is no further explanation: {}.", why_not));
  return e;
}

nlohmann::json sections_json(const explanation& e) {
  nlohmann::json list = nlohmann::json::array();
  for (const explanation_section& s : e.sections)
    list.push_back({{"title", s.title}, {"sentences", s.sentences}, {"table", s.table}});
  return list;
}

}  // namespace warpcheck::engine
