#include "properties/engine/trials/run_case.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "properties/engine/cases/description.hpp"
#include "properties/engine/error.hpp"
#include "properties/engine/processes/contain.hpp"
#include "properties/engine/trials/advice.hpp"
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
    report.message += advice_on_alignment(c, t.stated());
  if (report.result == verdict::violation) report.message += advice_on_accuracy(c, t.stated(), report.max_error_ratio);
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
