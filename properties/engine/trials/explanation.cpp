#include "properties/engine/trials/explanation.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "properties/engine/files/json_number.hpp"
#include "properties/engine/processes/contain.hpp"
#include "properties/engine/trials/call_observer.hpp"
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

std::map<std::string, tell_call, std::less<>>& stories() {
  static std::map<std::string, tell_call, std::less<>> all;
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

// Of a tensor that a property makes itself, the case says uniform(seed, 0, 0).
bool is_made_by_property(const recipe& fill) {
  return fill.distribution == "uniform" && fill.arguments.size() == 3 && fill.arguments[1] == 0 &&
         fill.arguments[2] == 0;
}

// Where the tensor lies, if not in memory of its own; "" else.
std::string told_place(const tensor_spec& t) {
  if (!t.in_place.empty()) return fmt::format("Output {} lies in the memory of input {}.", t.name, t.in_place);
  if (!t.same.empty()) return fmt::format("Input {} is the same memory as input {}.", t.name, t.same);
  if (t.beside.empty()) return "";
  return fmt::format("The rows of {} lie in the gaps between those of {}, {} elements apart.", t.name, t.beside, t.ld);
}

std::string told_input(const tensor_spec& t) {
  if (is_made_by_property(t.fill))
    return fmt::format("Input {} is {}[{}], which the property fills.", t.name, name_of(t.type),
                       fmt::join(t.shape, " x "));
  const bool is_file = t.fill.distribution == "npy";
  std::string text = fmt::format("Input {} is {}[{}], filled by {}", t.name, name_of(t.type), fmt::join(t.shape, " x "),
                                 is_file ? t.fill.path : t.fill.distribution);
  if (!is_file && !t.fill.arguments.empty()) text += fmt::format("({:g})", fmt::join(t.fill.arguments, ", "));
  if (!t.fill.edits.empty()) text += fmt::format(", of which {} elements are set by hand", t.fill.edits.size());
  if (t.ld != t.cols()) text += fmt::format("; rows begin {} elements apart", t.ld);
  if (t.offset) text += fmt::format("; its base is {} elements off an alignment of 256 bytes", t.offset);
  return text + ".";
}

// The call that the property makes of the case, where it is not the case itself.
std::vector<std::string> told_related(const trial_case& c, const trial_case& call) {
  std::vector<std::string> changed;
  for (const auto& [name, value] : call.knobs)
    if (const auto found = c.knobs.find(name); found == c.knobs.end() || found->second != value)
      changed.push_back(fmt::format("{}={}", name, value));
  if (changed.empty()) return {};
  return {fmt::format("The property makes more than one call; the rest is about the one with {}.",
                      fmt::join(changed, ", "))};
}

story_section told_case(const trial_case& c) {
  story_section s{"The case", {}, {}};
  s.sentences.push_back(fmt::format("{}/{} claims: {}.", c.op, c.property, find_property(c.op, c.property).sentence));
  std::vector<std::string> absent, knobs;
  for (const tensor_spec& t : c.tensors) {
    if (t.is_input && t.elements() == 0 && t.name != c.tensors.front().name)
      absent.push_back(t.name);
    else if (t.is_input && t.same.empty())
      s.sentences.push_back(told_input(t));
    if (std::string place = told_place(t); !place.empty()) s.sentences.push_back(std::move(place));
  }
  if (!absent.empty()) s.sentences.push_back(fmt::format("Without elements: {}.", fmt::join(absent, ", ")));
  for (const auto& [name, value] : c.knobs) knobs.push_back(fmt::format("{}={}", name, value));
  if (!knobs.empty()) s.sentences.push_back(fmt::format("The call: {}.", fmt::join(knobs, ", ")));
  return s;
}

story_section demanded(const told_story& story) {
  const told_row& told = story.told;
  const auto i = static_cast<size_t>(story.element);
  story_section s{"What the contract demands", {told.formula, told.numbers}, {}};
  std::erase(s.sentences, "");
  s.sentences.push_back(fmt::format("So {} is {} exactly, to nine digits.", story.element_name, number(told.exact[i])));
  if (told.terms.empty()) {
    s.sentences.push_back(told.bound_formula.empty() ? "Only this value passes." : told.bound_formula);
    return s;
  }
  s.sentences.push_back(fmt::format("It may err by {:.4g}: {}", told.bound[i], told.bound_formula));
  s.table.push_back({"part of the bound", "may err by", "share"});
  for (const reference::bound_term& t : told.terms)
    s.table.push_back({t.what, fmt::format("{:.4g}", t.value), fmt::format("{:.1f} %", 100 * t.value / told.bound[i])});
  return s;
}

std::string told_error(double error, double bound) {
  if (error == 0) return "That is the exact value.";
  return fmt::format("Its error is {:.4g}, {}", error,
                     bound > 0 ? fmt::format("{:.4g} of what it may be.", error / bound) : "where none is allowed.");
}

std::string told_failure(const case_report& r) {
  return fmt::format("{}{}{}.", name_of(r.result), r.message.empty() ? "" : ": ", r.message);
}

story_section given(const told_story& story, const case_report& r) {
  story_section s{"What the kernel gave", {}, {}};
  const auto i = static_cast<size_t>(story.element);
  const doubles &actual = story.actual, &exact = story.told.exact, &bound = story.told.bound;
  s.sentences.push_back(fmt::format("{} is {} ({:a}).", story.element_name, number(actual[i]), actual[i]));
  if (const double error = std::fabs(actual[i] - exact[i]); std::isfinite(error))
    s.sentences.push_back(told_error(error, bound[i]));
  std::vector<int64_t> outside;
  for (size_t k = 0; k < actual.size(); ++k)
    if (share_of_bound(actual[k], exact[k], bound[k]) > 1) outside.push_back(static_cast<int64_t>(k));
  s.sentences.push_back(outside.empty()
                            ? fmt::format("Every element of {} lies within its bound.", story.row_name)
                            : fmt::format("{} of {} elements of {} lie outside: {}.", outside.size(), actual.size(),
                                          story.row_name, columns_text(story.item, outside)));
  // A property may compare several calls, of which this is one.
  if (outside.empty() && r.result > verdict::skipped)
    s.sentences.push_back("The case fails all the same, with " + told_failure(r));
  return s;
}

// Of an operator without a story of the call: what the report has.
story_section given(const case_report& r) {
  story_section s{"What the kernel gave", {}, {}};
  if (r.result > verdict::skipped) s.sentences.push_back("The verdict is " + told_failure(r));
  if (!r.worst) return s;
  const worst_element& w = *r.worst;
  s.sentences.push_back(
      fmt::format("The element that lies closest to its bound, or furthest beyond, is {}[{},{}]: {} "
                  "({:a}), where {} is due exactly.",
                  w.tensor, w.row, w.col, number(w.actual), w.actual,
                  w.expected_text.empty() ? number(w.expected) : w.expected_text));
  if (std::isfinite(w.error)) s.sentences.push_back(told_error(w.error, w.bound));
  if (w.bound > 0) s.sentences.push_back(fmt::format("It may err by {:.4g}.", w.bound));
  return s;
}

story_section departure(const told_row& told) {
  story_section s{
      "Where it departs from a plain implementation", {}, {{"step", "exact", "plain", "implied by the kernel"}}};
  for (const told_step& t : told.steps)
    s.table.push_back({t.what, number(t.exact), number(t.plain), std::isnan(t.implied) ? "-" : number(t.implied)});
  if (told.steps.empty()) s.table.clear();
  s.sentences.push_back(told.departs.empty() ? "No step departs by more than its rounding." : told.departs);
  return s;
}

// The calls that a property makes of a case, and which of them is explained.
struct observed {
  struct one {
    trial_case c;
    tensor_map inputs;
    std::optional<tensor_map> outputs;
  };
  std::optional<one> first, last, with_worst;

  // The one that has the report's worst element; where the case fails for another reason, the last; where results
  // differ, or the case passes without one, the first.
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
  const int64_t cols = t.spec.cols(), at = w.row * cols + w.col;  // a place may be one in all of the tensor
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
    find_property(c.op, c.property).check(t);
  } catch (const trial_over&) {
    // The verdict is known.
  }
  observing = nullptr;
  return seen;
}

explanation told_of(const trial_case& c, const case_report& r, const tell_call& tell, bool launches) {
  explanation e;
  e.sections.push_back(told_case(c));
  const observed seen = observe(c, r, launches);
  const observed::one* call = seen.chosen(r);
  told_story story;
  if (call) {
    const tensor_map* outputs = call->outputs ? &*call->outputs : nullptr;
    const bool has_worst = outputs && r.worst && holds(*outputs, *r.worst);
    story = tell({call->c, call->inputs, outputs, has_worst ? &*r.worst : nullptr});
    for (const auto& sentences : {story.about, told_related(c, call->c)})
      e.sections[0].sentences.insert(e.sections[0].sentences.end(), sentences.begin(), sentences.end());
  }
  if (story.told.exact.empty()) {
    if (story_section s = given(r); !s.sentences.empty()) e.sections.push_back(std::move(s));
    return e;
  }
  e.sections.push_back(demanded(story));
  e.sections.push_back(story.actual.empty()
                           ? story_section{"What the kernel gave", {"No result: " + told_failure(r)}, {}}
                           : given(story, r));
  if (!story.told.steps.empty() || !story.told.departs.empty()) e.sections.push_back(departure(story.told));
  e.departs = story.told.departs;
  if (story.output.empty()) return e;
  e.output = story.output;
  e.row = story.row;
  e.element = story.element;
  e.input = story.input;
  e.actual = story.actual;
  e.exact = story.told.exact;
  e.bound = story.told.bound;
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
  // What a candidate says may be no UTF-8.
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

story_registration::story_registration(std::string op, tell_call tell) {
  stories().emplace(std::move(op), std::move(tell));
}

explanation explain(const trial_case& c, const case_report& r, double timeout_seconds,
                    const std::function<bool()>& stop) {
  const auto found = stories().find(c.op);
  explanation e;
  e.sections = {told_case(c), given(r)};
  if (found == stories().end()) {
    e.sections.back().sentences.push_back(fmt::format("{} does not give the steps of its results.", c.op));
    return e;
  }
  // What hung or died once does so again.
  const bool may_launch = r.result != verdict::timeout && r.result != verdict::crash;
  std::string why_not;
  for (const bool launches : {true, false}) {
    if (launches && !may_launch) continue;
    try {
      const child_outcome ran = run_in_child([&] { return text_of(told_of(c, r, found->second, launches)); },
                                             time_limit(timeout_seconds, format(c)), stop);
      if (ran.finished) return explanation_of(ran.text);
      if (ran.stopped) break;
    } catch (const std::exception& error) {
      why_not = error.what();
    }
  }
  if (!why_not.empty()) e.sections.back().sentences.push_back(fmt::format("The suite cannot say more: {}.", why_not));
  return e;
}

nlohmann::json sections_json(const explanation& e) {
  nlohmann::json list = nlohmann::json::array();
  for (const story_section& s : e.sections)
    list.push_back({{"title", s.title}, {"sentences", s.sentences}, {"table", s.table}});
  return list;
}

}  // namespace warpcheck::engine
