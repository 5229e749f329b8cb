#include "properties/engine/trials/trial.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "properties/engine/cases/case_inputs.hpp"
#include "properties/engine/cases/classes.hpp"
#include "properties/engine/error.hpp"
#include "properties/engine/processes/contain.hpp"
#include "properties/engine/trials/call_observer.hpp"
#include "properties/engine/trials/device_tensor.hpp"
#include "properties/engine/trials/null_kernels.hpp"
#include "properties/engine/trials/reused_storage.hpp"
#include "properties/engine/trials/two_passes.hpp"

namespace warpcheck::engine {

const call_observer* observing = nullptr;

namespace {

template <class Word>
void unify_nans(std::vector<std::byte>& bytes, Word infinity, Word nan) {
  constexpr Word k_magnitude = static_cast<Word>(~Word{0}) >> 1;
  for (size_t at = 0; at < bytes.size(); at += sizeof(Word)) {
    Word word;
    std::memcpy(&word, bytes.data() + at, sizeof word);
    if ((word & k_magnitude) > infinity) std::memcpy(bytes.data() + at, &nan, sizeof nan);
  }
}

// Payload and sign of a NaN are unspecified: all become one, so that comparing bits compares what the contract fixes.
void unify_nans(host_tensor& t) {
  const dtype type = t.spec.type;
  if (!is_float(type)) return;
  // Beyond this size all encodings are NaN; e4m3 has no infinity, and its largest number stands for it.
  const uint64_t infinity = encode(type, std::numeric_limits<double>::infinity());
  const uint64_t nan = encode(type, std::numeric_limits<double>::quiet_NaN());
  if (size_of(type) == 1) unify_nans(t.bytes, static_cast<uint8_t>(infinity), static_cast<uint8_t>(nan));
  if (size_of(type) == 2) unify_nans(t.bytes, static_cast<uint16_t>(infinity), static_cast<uint16_t>(nan));
  if (size_of(type) == 4) unify_nans(t.bytes, static_cast<uint32_t>(infinity), static_cast<uint32_t>(nan));
  if (size_of(type) == 8) unify_nans(t.bytes, infinity, nan);
}

std::string status_text(warpcheck_status status) {
  constexpr std::string_view names[] = {"ok", "invalid argument", "device error", "unsupported", "internal error"};
  const auto i = static_cast<size_t>(status);
  return i < std::size(names) ? std::string(names[i]) : fmt::format("status {}, which does not exist", i);
}

}  // namespace

const host_tensor& run_result::at(std::string_view name) const {
  const auto found = tensors.find(name);
  if (found == tensors.end()) throw usage_error(fmt::format("case line: no output tensor is named {}", name));
  return found->second;
}

offer stated_by(const trial_case& c) {
  return parse_statements(c.op, open_candidate(c.knob("candidate"), c.op, c.knob("device")).op->states);
}

trial::trial(trial_case c, bool with_ratios, std::optional<offer> stated)
    : case_(std::move(c)),
      candidate_(open_candidate(case_.knob("candidate"), case_.op, case_.knob("device"))),
      stated_(stated ? *std::move(stated) : stated_by(case_)),
      sums_(reference::sum_statement{stated_.sum_depth, !stated_.has_our_plan, stated_.takes_log_of_sum,
                                     stated_.lets_exp_overflow}),
      keeps_ratios_(with_ratios),
      keeps_departing_(has_arrays_in_hand(case_)) {
  if (!is_accepted(case_)) case_.knobs.erase("variant");
  report_.line = format(case_);
  report_.classes = classes_of(case_);
}

const host_tensor& trial::input(std::string_view name) {
  const auto found = inputs_.find(name);
  if (found != inputs_.end()) return found->second;
  const tensor_spec& spec = case_.at(name);
  if (!completes_inputs(case_)) return inputs_.emplace(spec.name, materialize(spec)).first->second;
  tensor_map all = inputs_;
  for (const tensor_spec& t : case_.tensors)
    if (t.is_input && !all.contains(t.name)) all.emplace(t.name, materialize(t));
  complete_inputs(case_, all);
  inputs_.merge(all);  // what was given stays as it is
  return inputs_.at(spec.name);
}

void trial::give(host_tensor values) {
  std::string name = values.spec.name;
  inputs_.insert_or_assign(std::move(name), std::move(values));
}

// Returns the values of a related call's input, made once for all launches of the call.
const host_tensor& trial::related_input(const trial_case& c, const tensor_spec& spec) {
  if (const auto known = related_.find(spec.name); known != related_.end()) return known->second;
  if (!completes_inputs(c)) return related_.emplace(spec.name, materialize(spec)).first->second;
  related_ = inputs_of(c);
  return related_.at(spec.name);
}

template <class Body>
auto trial::on_device(const trial_case& c, Body&& body) {
  try {
    return body();
  } catch (const device_lost& e) {
    report_.device_failed = true;
    decide(verdict::error_return, fmt::format("the device has failed: {}; the {}", e.what(), k_process_unusable), c,
           nullptr);
  }
}

run_result trial::run(const trial_case& asked, const tensor_map& replace) {
  trial_case c = asked;
  settle_memory(c);  // a property may have changed the layout of one of two tensors in one memory
  if (const offer* const o = known_offer(c))
    if (const trait_set* const lacked = o->missing(c)) need(text_of(*lacked));
  const launch_knobs knobs = launch_knobs_of(c);
  const std::vector<launch_spec> list = launch_specs_of(c, knobs, candidate_);
  if (list.empty()) need("a build with the race detector");
  related_.clear();
  agrees_in_bits_ = knobs.agree_in_bits;
  std::optional<run_result> first;
  // The launch of the race detector. It is judged last, so that a wrong value is reported before a hazard, unless the
  // next launch uses the same memory.
  struct {
    std::span<const launch_spec> members;
    std::unique_ptr<launch_group> launched;
  } instrumented;
  const launch_again again = [&](const launch_spec& how) {
    return results_of(c, {&how, 1}, *launch(c, {&how, 1}, knobs.sm_count, replace)).front();
  };
  bool is_proven = false, is_complete = false;
  for (size_t begin = 0; begin < list.size() && !is_complete;) {
    const std::span<const launch_spec> members = std::span(list).subspan(begin, group_size(c, list, begin));
    begin += members.size();
    auto launched = on_device(c, [&] { return launch(c, members, knobs.sm_count, replace); });
    is_proven = is_proven || launched->device().is_every_schedule;
    is_complete = is_proven && members.front().may_be_last;
    if (members.front().may_be_last && memory_ == nullptr)
      instrumented = {members, std::move(launched)};
    else
      on_device(c, [&] { add_results(c, members, *launched, list.front(), first, again); });
  }
  if (instrumented.launched)
    on_device(c, [&] { add_results(c, instrumented.members, *instrumented.launched, list.front(), first, again); });
  ++(is_proven ? proven_calls_ : unproven_calls_);
  return std::move(*first);
}

void trial::add_results(const trial_case& c, std::span<const launch_spec> group, const launch_group& launched,
                        const launch_spec& first_spec, std::optional<run_result>& first, const launch_again& again) {
  std::vector<run_result> results = results_of(c, group, launched);
  for (size_t i = 0; i < results.size(); ++i) {
    // Bits may depend on the alignment.
    if (!first)
      first = std::move(results[i]);
    else if (agrees_in_bits_ && group[i].placement != cpu_placement::flush)
      judge_bits(c, group[i], results[i], first_spec, *first, again);
  }
}

namespace {

// True if the outputs' earlier contents alone make the difference between the results of two launches: with those of
// the first launch, the second one returns the first result.
bool reads_outputs(const std::string& tensor, const launch_spec& how, const run_result& r,
                   const launch_spec& first_spec, const run_result& first, const launch_again& again) {
  if (how.poison == first_spec.poison) return false;
  const auto returns = [&](unsigned char contents, const run_result& expected) {
    launch_spec other = how;
    other.old_outputs = contents;
    const run_result result = again(other);
    const auto found = result.tensors.find(tensor);
    return found != result.tensors.end() && found->second.bytes == expected.at(tensor).bytes;
  };
  // Each twice, in an order that results which merely take turns do not have.
  return returns(first_spec.poison, first) && returns(how.poison, r) && returns(how.poison, r) &&
         returns(first_spec.poison, first);
}

}  // namespace

void trial::judge_bits(const trial_case& c, const launch_spec& how, const run_result& r, const launch_spec& first_spec,
                       const run_result& first, const launch_again& again) {
  for (const auto& [name, t] : r.tensors) {
    const host_tensor& expected = first.at(name);
    if (t.bytes == expected.bytes) continue;
    const auto size = static_cast<int64_t>(size_of(t.spec.type));
    const auto differ = std::mismatch(t.bytes.begin(), t.bytes.end(), expected.bytes.begin()).first - t.bytes.begin();
    const int64_t element = static_cast<int64_t>(differ) / size;
    const int64_t row = element / t.spec.cols(), col = element % t.spec.cols();
    std::string under =
        how.schedule.empty() ? "two launches" : fmt::format("schedules {} and {}", first_spec.schedule, how.schedule);
    if (how.launch.kind != launch_way::stream) under += fmt::format(", the second with launch={}", c.knob("launch"));
    const bool unwritten = std::all_of(t.bytes.begin() + element * size, t.bytes.begin() + (element + 1) * size,
                                       [&](std::byte b) { return b == static_cast<std::byte>(how.poison); });
    if (unwritten) decide(verdict::violation, fmt::format("{}[{},{}] was not written", name, row, col), c, nullptr);
    if (memory_ == nullptr && reads_outputs(name, how, r, first_spec, first, again))
      decide(verdict::uninitialized,
             fmt::format("{0}[{1},{2}] depends on what the outputs held before the call: {3:.9g} for bytes of "
                         "{4:#04x}, {5:.9g} for bytes of {6:#04x}; the kernel reads an output that a call need not set",
                         name, row, col, expected.value(row, col), first_spec.poison, t.value(row, col), how.poison),
             c, nullptr);
    decide(verdict::nondeterministic,
           fmt::format("{}[{},{}] is {:.9g} ({:a}) and {:.9g} ({:a}) under {}", name, row, col,
                       expected.value(row, col), expected.value(row, col), t.value(row, col), t.value(row, col), under),
           c, nullptr);
  }
}

std::unique_ptr<launch_group> trial::launch(const trial_case& c, std::span<const launch_spec> group, int32_t sm_count,
                                            const tensor_map& replace) {
  const auto values = [&](const tensor_spec& spec) -> const host_tensor& {
    const auto given = replace.find(spec.name);
    if (given != replace.end()) return given->second;
    return spec == case_.at(spec.name) ? input(spec.name) : related_input(c, spec);
  };
  if (observing) {
    tensor_map inputs;
    for (const tensor_spec& spec : c.tensors)
      if (spec.is_input) inputs.emplace(spec.name, values(spec));
    observing->begun(c, std::move(inputs));
  }
  auto launched = std::make_unique<launch_group>(c, group, sm_count, values, nullptr, memory_);
  report_.launches += launched->launches();
  return launched;
}

namespace {

bool is_filled_with(const host_tensor& t, unsigned char byte) {
  return !t.bytes.empty() &&
         std::ranges::all_of(t.bytes, [&](std::byte b) { return b == static_cast<std::byte>(byte); });
}

}  // namespace

std::vector<run_result> trial::results_of(const trial_case& c, std::span<const launch_spec> group,
                                          const launch_group& launched) {
  std::vector<run_result> results;
  for (size_t i = 0; i < group.size(); ++i) {
    const launch_spec& how = group[i];
    const call_facts& call = launched.call(i);
    judge_call(c, how, call, launched.device());
    run_result& r = results.emplace_back();
    // The candidate accepted the call with memory of another alignment.
    if (call.status == WARPCHECK_UNSUPPORTED) continue;
    memory_facts memory = launched.memory(i);
    judge_memory(c, &how, memory, "during the call");
    r.tensors = std::move(memory.outputs);
    // Bytes of 0xff may be an index of -1.
    for (const auto& [name, t] : r.tensors)
      if (!call.message.empty() && how.poison != 0xff && is_filled_with(t, how.poison))
        decide(verdict::violation, fmt::format("{} was not written; {}", name, shortened(call.message)), c, nullptr);
    if (!keeps_nan_bits_)
      for (auto& [name, t] : r.tensors) unify_nans(t);
    r.used_variant = call.used_variant.value_or("");
    r.picked_variant = call.picked_variant;
  }
  if (observing && !results.empty()) observing->ended(results.front().tensors);
  return results;
}

void trial::judge_hazards(const trial_case& c, const launch_spec& how, const device_facts& device) {
  if (device.hazards.empty()) return;
  verdict worst = verdict::pass;
  for (const auto& [kind, text] : device.hazards) {
    // A misaligned vector access touches bytes beyond the element it was made for.
    const verdict v = kind == "misaligned" ? verdict::out_of_bounds : verdict_from_name(kind).value_or(verdict::crash);
    if (v > worst) worst = v;
    report_.findings.push_back(kind + ": " + text);
  }
  decide(worst, how.schedule.empty() ? "" : "under schedule " + how.schedule, c, &how);
}

// Returns if the call was answered, or is not offered for memory of this placement.
void trial::judge_call(const trial_case& c, const launch_spec& how, const call_facts& call,
                       const device_facts& device) {
  if (call.touched) judge_touch(c, &how, *call.touched);
  if (!call.environment.empty())
    decide(verdict::error_return,
           fmt::format("the call changed the floating-point environment (MXCSR controls {})", call.environment), c,
           &how);
  judge_hazards(c, how, device);
  if (call.status == WARPCHECK_UNSUPPORTED && how.placement == cpu_placement::flush) return;
  // A candidate need not offer everything, such as argmax; but a run in which it offers nothing proves nothing and
  // fails.
  if (call.status == WARPCHECK_UNSUPPORTED) {
    is_unsupported_ = true;
    if (c == case_ && known_offer(c))
      decide(verdict::broken_offer,
             fmt::format("a call within the offer was answered by unsupported: {}", shortened(call.message)), c, &how);
    const offer* const of_related = known_offer(c);
    const offer* const offered = of_related ? of_related : known_offer(case_);
    if (const trait_set* const lacking = offered ? offered->missing(c) : nullptr) need(text_of(*lacking));
    decide(verdict::skipped, call.message, c, nullptr);
  }
  report_.device_failed = device.error.has_value();
  // Most errors of a CUDA device persist in the process.
  const std::string unusable = device.error ? fmt::format("; the {}", k_process_unusable) : "";
  if (call.status != WARPCHECK_OK)
    decide(verdict::error_return, fmt::format("{}: {}{}", status_text(call.status), shortened(call.message), unusable),
           c, &how);
  if (call.replay_error)
    decide(verdict::error_return, fmt::format("as a graph: {}{}", *call.replay_error, unusable), c, &how);
  if (device.error)
    decide(verdict::error_return,
           fmt::format("the device reports an error after the call: {}{}", *device.error, unusable), c, &how);
  if (!call.used_variant) return;
  if (!how.op->lists(*call.used_variant))
    decide(verdict::error_return,
           fmt::format("the candidate reports that it ran variant '{}', which it does not list",
                       printable(*call.used_variant)),
           c, &how);
  if (std::ranges::find(report_.variants, *call.used_variant) == report_.variants.end())
    report_.variants.push_back(*call.used_variant);
}

void trial::judge_touch(const trial_case& c, const launch_spec* how, const touched_page& touch) {
  const std::string tensor =
      touch.tensor.empty() ? "" : fmt::format(" of {} bytes, tensor {}", touch.bytes, touch.tensor);
  decide(verdict::out_of_bounds, fmt::format("the call touches memory at byte {} of a buffer{}", touch.offset, tensor),
         c, how);
}

void trial::judge_memory(const trial_case& c, const launch_spec* how, const memory_facts& memory,
                         const std::string& during) {
  switch (memory.damage) {
    case memory_facts::none: return;
    case memory_facts::guard_zone:
      decide(verdict::out_of_bounds,
             fmt::format("the guard zone of tensor {} was written at byte {} of a buffer of {} bytes", memory.tensor,
                         memory.at, memory.bytes),
             c, how);
    case memory_facts::row_gap:
      decide(verdict::out_of_bounds,
             fmt::format("the gap between rows of tensor {} was written at element {}", memory.tensor, memory.at), c,
             how);
    case memory_facts::input:
      decide(verdict::input_modified, fmt::format("input {} changed {}", memory.tensor, during), c, how);
  }
}

void trial::run_on_same_storage(const std::vector<trial_case>& calls, const std::function<void(trial&)>& check) {
  reused_memory memory(calls);
  const std::shared_ptr<void> forget(nullptr, [this](void*) { memory_ = nullptr; });
  memory_ = &memory;
  run_calls(calls, check, " on the same memory");
}

void trial::run_calls(const std::vector<trial_case>& calls, const std::function<void(trial&)>& check,
                      std::string_view where) {
  const trial_case own = case_;
  for (size_t i = 0; i < calls.size(); ++i) {
    if (i > 0 && !offers(calls[i])) continue;
    case_ = calls[i];
    if (!is_accepted(case_)) case_.knobs.erase("variant");
    inputs_.clear();
    which_call_ = fmt::format("; call {} of {}{}: '{}'", i + 1, calls.size(), where, shortened(format(case_)));
    try {
      check(*this);
    } catch (const trial_over&) {
      const bool is_passed_over = report_.result == verdict::skipped && i > 0;
      if (!is_passed_over) {
        case_ = own;
        report_.line = format(case_);
        throw;
      }
      report_.result = verdict::pass;
      report_.message.clear();
    } catch (...) {
      case_ = own;
      throw;
    }
    if (rejected_ > 0) break;
  }
  case_ = own;
}

void trial::expect_refusal(const std::string& what, const change_tensors& change, const trial_case* changed) {
  on_device(case_, [&] { try_refusal(what, change, changed ? *changed : case_); });
}

// True if the candidate accepts the case's call unchanged. Does not change the verdict.
bool trial::is_offered() {
  if (is_unsupported_) return false;
  const case_report before = report_;
  try {
    run();
  } catch (const trial_over&) {
    report_ = before;
  }
  return !is_unsupported_;
}

namespace {

// The text of each tensor of a call.
std::vector<std::string> texts_of(const std::vector<DLTensor>& tensors) {
  std::vector<std::string> texts;
  for (const DLTensor& t : tensors)
    texts.push_back(
        fmt::format("{} {} {} {} {} {}", fmt::ptr(t.data), t.byte_offset, int{t.dtype.code}, int{t.dtype.bits},
                    fmt::join(t.shape, t.shape + std::max(t.ndim, 0), ","),
                    t.strides ? fmt::format("{}", fmt::join(t.strides, t.strides + std::max(t.ndim, 0), ",")) : ""));
  return texts;
}

// True if the call has a trait of a set that the candidate lacks; an illegal call need not have the others.
bool lacks_a_part_of(const trial_case& c) {
  const offer* const o = known_offer(c);
  return o && std::ranges::any_of(o->lacks, [&](const trait_set& traits) {
           return std::ranges::any_of(traits, [&](const trait& t) { return has(c, t); });
         });
}

}  // namespace

void trial::try_refusal(const std::string& what, const change_tensors& change, const trial_case& call) {
  const std::vector<launch_spec> once = {refused_launch_spec(candidate_)};
  trial_case apart = call;
  for (tensor_spec& t : apart.tensors) {
    t.in_place.clear();
    t.same.clear();
    t.beside.clear();
  }
  // For a candidate with a reserve only the forward call, if the change concerns it.
  const bool is_forward = two_passes::fits(apart, *candidate_.op);
  if (is_forward && &call != &case_) return;
  if (is_forward) apart = two_passes::forward_case(apart);
  bool is_of_other_pass = false;
  const auto change_of_pass = [&](std::vector<DLTensor>& tensors) {
    const std::vector<std::string> before = texts_of(tensors);
    change(tensors);
    const std::vector<std::string> after = texts_of(tensors);
    for (size_t i = 0; i < after.size(); ++i)
      is_of_other_pass |= is_forward && before[i] != after[i] && apart.tensors[i].elements() == 0;
  };
  const launch_group launched(
      apart, once, 0, [&](const tensor_spec& spec) -> const host_tensor& { return input(spec.name); }, change_of_pass);
  report_.launches += launched.launches();
  if (is_of_other_pass) return;
  const call_facts& facts = launched.call(0);
  if (facts.touched) judge_touch(case_, nullptr, *facts.touched);
  if (launched.device().error) {
    report_.device_failed = true;
    decide(verdict::error_return,
           fmt::format("{}: the device reports an error after the call: {}; the {}", what, *launched.device().error,
                       k_process_unusable),
           case_, nullptr);
  }
  if (facts.status != WARPCHECK_INVALID_ARGUMENT &&
      (facts.status != WARPCHECK_UNSUPPORTED || (!lacks_a_part_of(call) && is_offered())))
    decide(verdict::error_return,
           fmt::format("{}: expected 'invalid argument', got '{}' {}", what, status_text(facts.status),
                       shortened(facts.message)),
           case_, nullptr);
  if (facts.message.empty())
    decide(verdict::error_return, fmt::format("{}: refused without a message", what), case_, nullptr);
  const memory_facts memory = launched.memory(0, true);
  judge_memory(case_, nullptr, memory, fmt::format("although the call was refused ({})", what));
  for (const auto& [name, t] : memory.outputs)
    if (std::ranges::any_of(t.bytes, [](std::byte b) { return b != std::byte{0xff}; }))
      decide(verdict::violation, fmt::format("{}: refused, yet output {} was written", what, name), case_, nullptr);
}

void trial::judge(const std::string& tensor, int64_t row, int64_t col, double input, double actual,
                  const reference::judgement& j, const std::function<std::string()>& expected_text) {
  if (observing) observing->judged(tensor, row, col, j);
  ++report_.compared;
  if (j.digits > 0) ++report_.needed_multiprecision;
  const double ratio = j.error_ratio();
  report_.errors.add(ratio, j.error_ulp);
  if (keeps_ratios_) report_.error_ratios.add(ratio);
  if (std::isfinite(j.error_ulp)) {
    report_.max_ulp = std::max(report_.max_ulp, j.error_ulp);
    report_.sum_squared_ulp += j.error_ulp * j.error_ulp;
  }
  // An unaccepted element outranks every accepted one; among equals the larger share of the bound; a NaN ratio is the
  // worst.
  const bool first_rejection = !j.accepted && rejected_ == 0;
  if (!j.accepted) ++rejected_;
  const bool worse =
      first_rejection || !report_.worst || (j.accepted == (rejected_ == 0) && !(ratio <= report_.max_error_ratio));
  const bool departs = !j.accepted && keeps_departing_;
  if (worse || departs) {
    const worst_element w{
        tensor,  row,     col,        input, actual, j.expected, !j.accepted && expected_text ? expected_text() : "",
        j.error, j.bound, j.error_ulp};
    if (departs) keep_departing(w);
    if (worse) {
      report_.max_error_ratio = std::isnan(ratio) ? HUGE_VAL : ratio;
      report_.worst = w;
    }
  }
  // One wrong element proves enough about a kernel that computes nothing.
  if (!j.accepted && case_.knob("candidate").starts_with(k_null_prefix)) throw trial_over{};
}

void trial::keep_departing(const worst_element& w) {
  constexpr size_t k_most = 10;
  std::vector<worst_element>& all = report_.departing;
  const auto behind =
      std::ranges::find_if(all, [&](const worst_element& e) { return error_ratio_of(e) < error_ratio_of(w); });
  all.insert(behind, w);
  if (all.size() > k_most) all.pop_back();
}

void trial::broken(std::string message) { decide(verdict::violation, std::move(message), case_, nullptr); }

bool trial::offers(const trial_case& c) const {
  const offer* const o = known_offer(c);
  return !o || !o->missing(c);
}

void trial::need(const std::string& what) { decide(verdict::skipped, std::string(k_needs) + what, case_, nullptr); }

void trial::skip(const std::string& reason) { decide(verdict::skipped, reason, case_, nullptr); }

void trial::decide(verdict v, std::string message, const trial_case& c, const launch_spec* how) {
  report_.result = v;
  report_.message = std::move(message);
  // A related call (another variant or layout) has its own line only in the message: the case is what replays.
  if (v != verdict::skipped && !(c == case_))
    report_.message += fmt::format(" (in the related call '{}')", shortened(format(c)));
  if (how && how->op->device == WARPCHECK_DEVICE_EMULATED) {
    trial_case narrowed = case_;
    narrowed.knobs["schedule"] = how->schedule;
    narrowed.knobs["detect"] = how->instrumented ? "only" : "off";
    report_.line = format(narrowed);
  }
  throw trial_over{};
}

case_report trial::finish() {
  report_.is_every_schedule = proven_calls_ > 0 && unproven_calls_ == 0;
  // A finding before a call that the candidate does not offer counts.
  if (report_.result <= verdict::skipped && rejected_ > 0) {
    report_.result = verdict::violation;
    report_.message = fmt::format("{} of {} compared elements lie outside their bound", rejected_, report_.compared);
  }
  if (report_.result > verdict::skipped) report_.message += which_call_;
  return report_;
}

}  // namespace warpcheck::engine
