#include "properties/engine/trials/run_case.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "properties/engine/cases/description.hpp"
#include "properties/engine/cases/offer.hpp"
#include "properties/engine/error.hpp"
#include "properties/engine/processes/contain.hpp"
#include "properties/engine/trials/call.hpp"
#include "properties/engine/trials/case_notes.hpp"
#include "properties/engine/trials/in_hand.hpp"
#include "properties/engine/trials/property.hpp"
#include "properties/engine/trials/trial.hpp"

namespace warpcheck::engine {
namespace {

// Bytes of memory that the host has left.
double free_memory() {
  std::ifstream file("/proc/meminfo");
  for (std::string name, unit; file >> name;) {
    double kib = 0;
    if (!(file >> kib)) break;
    if (name == "MemAvailable:") return kib * 1024;
    std::getline(file, unit);
  }
  return std::numeric_limits<double>::infinity();
}

// The system promises memory to everybody and takes it when touched, so too large a case would end this and other
// processes. The host has a copy of the inputs beside the device's, and the outputs of two launches.
void skip_what_does_not_fit(trial& t, const trial_case& c) {
  constexpr double k_gib = 0x1p30;
  const bool on_host = c.knob("device") != "cuda";
  double bytes = 0;
  for (const tensor_spec& s : c.tensors)
    bytes += static_cast<double>(s.elements()) * static_cast<double>(size_of(s.type)) *
             ((s.is_input ? 1 : 2) + (on_host ? 1 : 0));
  if (bytes <= k_gib) return;
  if (const double free = free_memory(); bytes > 0.9 * free)
    t.skip(fmt::format("it takes {:.0f} GiB of memory, of which {:.0f} are free", bytes / k_gib, free / k_gib));
}

// True if the case passes for a candidate that states this, or is not asked of it.
bool passes_for(const trial_case& c, const offer& stated) {
  try {
    return run_case_stating(c, stated).result <= verdict::skipped;
  } catch (const std::exception&) {
    return false;
  }
}

// Returns the end of the message for a case that passes if the candidate states more, or "".
std::string helpful_statement(const trial_case& c, const offer& stated, double error_ratio) {
  const statement_rules allowed = statements_of(c.op);
  const bool has_logistic = allowed.logistic && allowed.logistic(c);
  offer more = stated;
  // A chain of n terms errs by at most n times the bound of a chain of at least one addition, up to second order, so a
  // larger error needs no second trial.
  const bool may_be_a_chain =
      !stated.has_our_plan && !stated.sum_depth && error_ratio <= 2 * static_cast<double>(c.tensors.front().cols());
  more.sum_depth = reference::k_longest_stated_chain;
  if (may_be_a_chain && passes_for(c, more))
    return fmt::format(
        "; it passes where sums may be added in any order: a single f32 chain of {} additions is not accurate enough "
        "for this contract: state 'sums chain' to be judged as a chain (docs/bring_your_own)",
        std::max<int64_t>(0, c.tensors.front().cols() - 1));
  if (!may_be_a_chain) more.sum_depth = stated.sum_depth;
  more.takes_log_of_sum = allowed.log_of_sum;
  more.lets_exp_overflow = has_logistic;
  if (allowed.log_of_sum && !stated.has_our_plan && !stated.takes_log_of_sum && passes_for(c, more))
    return fmt::format(
        "; it passes for the logarithm of the whole sum, which loses the digits of results near the maximum: state "
        "'{}'{} to be judged so (docs/bring_your_own)",
        k_log_of_sum, more.sum_depth == stated.sum_depth ? "" : " and, for long rows, 'sums chain'");
  if (has_logistic && !stated.has_our_plan && !stated.lets_exp_overflow && passes_for(c, more))
    return fmt::format(
        "; it passes for 1 / (1 + exp(-z)), whose exponential overflows below z = -88.72, where the result is below "
        "2^-128: state '{}' to be judged so (docs/bring_your_own)",
        k_exp_overflows);
  more.is_unstable = true;
  if (allowed.ties && !stated.is_unstable && passes_for(c, more))
    return fmt::format(
        "; the keys are in order, but equal ones are not in that of their columns, which the contract demands: state "
        "'{}' if the sort need not be stable (docs/bring_your_own)",
        k_unstable);
  return "";
}

// Returns the case with none of these traits but one, as far as it can lose them within the offer.
trial_case with_only(trial_case c, const std::vector<trait>& all, const trait* kept) {
  const offer* const o = known_offer(c);
  for (const trait& t : all) {
    if (&t == kept || !has(c, t)) continue;
    std::vector<trial_case> others = without(c, t);
    if (o) std::erase_if(others, [&](const trial_case& other) { return o->missing(other) != nullptr; });
    if (!others.empty()) c = std::move(others.front());
  }
  return c;
}

// Returns the end of the message for a case that passes with aligned tensors, as vector loads need them, or "".
std::string helpful_alignment(const trial_case& c, const offer& stated) {
  const std::vector<trait> all = alignments_of(c);
  const auto passes = [&](const trial_case& other) { return passes_for(other, stated); };
  if (all.empty() || stated.has_our_plan || !passes(with_only(c, all, nullptr))) return "";
  std::vector<std::string> needed;
  for (const trait& t : all) {
    const trial_case one = with_only(c, all, &t);
    if (!has(one, t) || passes(one)) continue;
    trait least = t;
    least.size = least_alignment(one, t, passes);
    needed.push_back(text_of(trait_set{least}));
  }
  if (needed.empty()) return "";
  return fmt::format("; it passes with aligned tensors: state 'lacks {}' if callers align them (docs/bring_your_own)",
                     fmt::join(needed, ", "));
}

case_report judge_case(const trial_case& c, bool with_ratios) {
  const property& p = find_property(c.op, c.property);
  trial t(c, with_ratios);
  std::string suite_error;
  bool fits = false;
  const case_notes notes;
  try {
    skip_what_does_not_fit(t, c);
    fits = true;
    check_call(t);
  } catch (const trial_over&) {
    // The verdict is in the report.
  } catch (const usage_error&) {
    throw;
  } catch (const environment_error&) {
    throw;
  } catch (const std::exception&) {
    suite_error = thrown_text(std::current_exception());
  }
  case_report report = t.finish();
  for (std::string& note : notes.as_classes()) report.classes.push_back(std::move(note));
  if (!suite_error.empty()) {
    report.result = verdict::suite_error;
    report.message = "the property threw " + suite_error;
    return report;
  }
  if (report.result == verdict::skipped) {
    report.message = shortened(report.message);
    report.is_drawn_in_vain = fits && !t.is_unsupported();
  }
  if (report.result == verdict::out_of_bounds && !report.device_failed)
    report.message += helpful_alignment(c, t.stated());
  if (report.result == verdict::violation) report.message += helpful_statement(c, t.stated(), report.max_error_ratio);
  if (!t.is_unsupported() || report.result > verdict::skipped) return report;
  // The rest of the case is judged although the candidate does not offer all of it.
  trial_case rest = c;
  std::erase_if(rest.tensors, [&](const tensor_spec& s) {
    return std::ranges::find(p.optional_outputs, s.name) != p.optional_outputs.end();
  });
  return rest.tensors.size() < c.tensors.size() ? judge_case(rest, with_ratios) : report;
}

}  // namespace

case_report run_case_stating(const trial_case& c, const offer& stated) {
  trial t(c, false, stated);
  try {
    check_call(t);
  } catch (const trial_over&) {
    // The verdict is in the report.
  }
  return t.finish();
}

case_report run_case(const trial_case& c) { return judge_case(c, false); }

case_report run_case_with_ratios(const trial_case& c) { return judge_case(c, true); }

}  // namespace warpcheck::engine
