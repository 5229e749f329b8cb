#include "properties/engine/trial.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "properties/engine/classes.hpp"
#include "properties/engine/contain.hpp"
#include "properties/engine/cpu_device.hpp"
#include "properties/engine/description.hpp"
#include "properties/engine/device_tensor.hpp"
#include "properties/engine/error.hpp"
#include "properties/engine/floating_point.hpp"

namespace warpcheck::engine {
namespace {

using tensor_map = std::map<std::string, host_tensor, std::less<>>;

struct stream_handle {
  const warpcheck_device_api& api;
  void* stream;
  ~stream_handle() { api.stream_destroy(stream); }
};

// Payload and sign of a NaN are unspecified: all become one, so that comparing bits compares what the contract fixes.
void unify_nans(host_tensor& t) {
  if (!is_float(t.spec.type)) return;
  const uint64_t nan = encode(t.spec.type, std::numeric_limits<double>::quiet_NaN());
  for (int64_t r = 0; r < t.spec.rows(); ++r)
    for (int64_t c = 0; c < t.spec.cols(); ++c)
      if (std::isnan(t.value(r, c))) t.set_bits(r, c, nan);
}

std::string status_text(warpcheck_status status) {
  constexpr std::string_view names[] = {"ok", "invalid argument", "device error", "unsupported", "internal error"};
  const auto i = static_cast<size_t>(status);
  return i < std::size(names) ? std::string(names[i]) : fmt::format("status {}, which does not exist", i);
}

// What a workspace holds before a call, in turn: NaN, the largest f32, nothing.
constexpr uint32_t k_work_words[] = {0x7fc00000, 0x7f7fffff, 0};

host_tensor work_of(const tensor_spec& spec, uint32_t word) {
  host_tensor t(spec);
  for (size_t i = 0; i < t.bytes.size(); ++i) t.bytes[i] = static_cast<std::byte>(word >> (8 * (i % 4)));
  return t;
}

// The knob `launch`.
struct launch_way {
  enum kind_type { stream, legacy, again, graph };
  kind_type kind = stream;
  int times = 1;
};

launch_way launch_of(const trial_case& c) {
  const std::string text = c.knob("launch");
  if (text == "stream") return {};
  if (text == "legacy") return {launch_way::legacy, 1};
  for (const auto& [word, kind] : {std::pair{"again:", launch_way::again}, std::pair{"graph:", launch_way::graph}}) {
    if (!text.starts_with(word)) continue;
    const double times = parse_number(text.substr(6)).value_or(0);
    // In place the second call would get the first one's output.
    const bool in_place =
        std::any_of(c.tensors.begin(), c.tensors.end(), [](const auto& t) { return !t.in_place.empty(); });
    if (times >= 1 && times <= 100 && times == std::trunc(times)) return {kind, in_place ? 1 : static_cast<int>(times)};
  }
  throw usage_error(fmt::format("launch: '{}' is not one of stream, legacy, again:N, graph:N with N in 1..100", text));
}

// A candidate's text as a report shows it: control characters could move a terminal's cursor or change its colours.
std::string printable(std::string_view text) {
  std::string shown;
  for (const unsigned char c : text)
    if (c < 0x20 || c == 0x7f)
      shown += fmt::format("\\x{:02x}", c);
    else
      shown += static_cast<char>(c);
  return shown;
}

// A call over tensors of a device, and what it points to.
struct prepared_call {
  std::vector<const DLTensor*> inputs;
  std::vector<DLTensor*> outputs;
  std::vector<warpcheck_scalar> scalars;
  std::string variant;
  char message[512] = "";
  warpcheck_call call = {};

  // `tensors`: one per tensor of the case, in its order; they outlive the call.
  prepared_call(const trial_case& c, std::vector<DLTensor>& tensors, void* stream) : variant(c.knob("variant")) {
    for (const auto& [name, value] : scalars_of(c)) scalars.push_back({name, value});
    for (size_t i = 0; i < tensors.size(); ++i) {
      if (c.tensors[i].is_input)
        inputs.push_back(&tensors[i]);
      else
        outputs.push_back(&tensors[i]);
    }
    call.struct_size = sizeof call;
    call.inputs = inputs.data();
    call.outputs = outputs.data();
    call.scalars = scalars.data();
    call.num_inputs = static_cast<int32_t>(inputs.size());
    call.num_outputs = static_cast<int32_t>(outputs.size());
    call.num_scalars = static_cast<int32_t>(scalars.size());
    call.variant = variant == "auto" ? nullptr : variant.c_str();
    call.stream = stream;
    call.message = message;
    call.message_size = sizeof message;
  }
  prepared_call(const prepared_call&) = delete;
  prepared_call& operator=(const prepared_call&) = delete;

  warpcheck_status run(const listed_operator& op) {
    const warpcheck_status status = op.run(call);
    message[sizeof message - 1] = '\0';
    return status;
  }
};

DLDevice dl_device(const listed_operator& op) {
  return op.device == WARPCHECK_DEVICE_CUDA ? DLDevice{kDLCUDA, 0} : DLDevice{kDLCPU, 0};
}

}  // namespace

const host_tensor& run_result::at(std::string_view name) const {
  const auto found = tensors.find(name);
  if (found == tensors.end()) throw usage_error(fmt::format("case line: no output tensor is named {}", name));
  return found->second;
}

// One launch of a case: which build of the candidate, under which schedule, over which poison.
struct trial::attempt {
  const listed_operator* op;
  const warpcheck_device_api* api;
  std::string schedule;  // emulated only
  bool instrumented;
  unsigned char poison;  // outputs start as bytes of this value
  launch_way launch = {};
  uint32_t work = 0;  // and a workspace as words of this one
  cpu_placement placement = cpu_placement::behind_page;
};

trial::trial(trial_case c, bool budgets)
    : case_(std::move(c)),
      candidate_(open_candidate(case_.knob("candidate"), case_.op, case_.knob("device"))),
      keeps_budgets_(budgets) {
  report_.line = format(case_);
  report_.classes = classes_of(case_);
}

const host_tensor& trial::input(std::string_view name) {
  const auto found = inputs_.find(name);
  if (found != inputs_.end()) return found->second;
  return inputs_.emplace(std::string(name), materialize(case_.at(name))).first->second;
}

// The values of a related call's input, made once for all attempts of the call.
const host_tensor& trial::related_input(const tensor_spec& spec) {
  for (const auto& [known, values] : related_)
    if (known == spec) return *values;
  related_.emplace_back(spec, std::make_unique<host_tensor>(materialize(spec)));
  return *related_.back().second;
}

// Buffers of the host begin behind an inaccessible page and end before one, in turn; where their alignment leaves room
// between their end and the page, they end there once more without that alignment.
void trial::place(const trial_case& c, std::vector<attempt>& list) {
  for (size_t i = 1; i < list.size(); i += 2) list[i].placement = cpu_placement::before_page;
  if (std::none_of(c.tensors.begin(), c.tensors.end(), leaves_room)) return;
  list.push_back(list.back());
  list.back().placement = cpu_placement::flush;
}

std::vector<trial::attempt> trial::attempts(const trial_case& c) const {
  // The poison alternates between a NaN and a finite pattern, so that an element nobody wrote differs between launches.
  const auto poison = [](size_t i) { return static_cast<unsigned char>(i % 2 ? 0x5c : 0xff); };
  const bool has_work =
      std::any_of(c.tensors.begin(), c.tensors.end(), [](const tensor_spec& t) { return t.is_workspace(); });
  std::vector<attempt> list;
  const auto repeat = static_cast<int>(c.number("repeat"));
  if (repeat < 1 || repeat > 1000000)
    throw usage_error(fmt::format("repeat: '{}' is not an integer in [1, 1000000]", c.knob("repeat")));
  const std::string detect = c.knob("detect"), schedule = c.knob("schedule");
  if (detect != "on" && detect != "off" && detect != "only")
    throw usage_error(fmt::format("detect: '{}' is not one of on, off, only", detect));
  if (candidate_.op->device != WARPCHECK_DEVICE_EMULATED) {
    // A schedule of the emulated device says nothing here.
    const bool is_known = schedule == "nonblocking" || schedule == "noise";
    for (size_t i = 0; i < static_cast<size_t>(std::max(has_work ? 3 : 2, repeat)); ++i)
      list.push_back({candidate_.op, candidate_.api, is_known && i > 0 ? schedule : "", false, poison(i)});
    if (candidate_.api == &cpu_device_api()) place(c, list);
  } else {
    std::vector<std::string> schedules(has_work ? 3 : 2, schedule);
    uint64_t seed = 0;
    const auto seeded = [&](int round) {
      const uint64_t s = (seed + static_cast<uint64_t>(round)) % 1000000;
      return std::vector<std::string>{fmt::format("random:{}", s), fmt::format("pct_warp:{}", s),
                                      fmt::format("preempt:{}", s)};
    };
    if (schedule == "default") {
      // Seeds follow from the case, so that the same line means the same schedules everywhere.
      for (unsigned char ch : format(c)) seed = hash64(seed, ch);
      seed %= 1000000;
      schedules = {"fair", "greedy", "reverse"};
      for (std::string& s : seeded(0)) schedules.push_back(std::move(s));
    }
    if (detect != "only")
      for (int k = 0; k < repeat; ++k)
        // The same order again would tell little.
        for (const std::string& s : k > 0 && schedule == "default" ? seeded(k) : schedules)
          list.push_back({candidate_.op, candidate_.api, s, false, poison(list.size())});
    if (detect != "off" && candidate_.instrumented_op)
      list.push_back(
          {candidate_.instrumented_op, candidate_.instrumented_api, schedules[0], true, poison(list.size())});
    if (detect == "only" && !list.empty()) {
      list.push_back(list[0]);
      list.back().poison = poison(1);
    }
  }
  // The first launch is plain: what the others get must be what it got.
  const launch_way launch = launch_of(c);
  for (size_t i = 1; i < list.size(); ++i)
    if (list[i].placement != cpu_placement::flush) list[i].launch = launch;
  for (size_t i = 0; i < list.size(); ++i) list[i].work = k_work_words[i % std::size(k_work_words)];
  return list;
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

run_result trial::run(const trial_case& c, const tensor_map& replace) {
  run_result first;
  std::string first_schedule;
  bool have_first = false;
  const std::vector<attempt> list = attempts(c);
  const std::string agree = c.knob("agree");
  if (agree != "bits" && agree != "free") throw usage_error(fmt::format("agree: '{}' is not one of bits, free", agree));
  if (list.empty()) decide(verdict::skipped, "detect=only: the candidate has no instrumented build", c, nullptr);
  related_.clear();
  std::vector<run_result> group;
  for (size_t i = 0, begin = 0; i < list.size(); ++i) {
    const attempt& a = list[i];
    if (i == begin + group.size()) {
      begin = i;
      const std::span<const attempt> members = std::span(list).subspan(i, group_size(c, list, i));
      group = on_device(c, [&] { return execute(c, members, replace); });
    }
    run_result r = std::move(group[i - begin]);
    if (!have_first) {
      first = std::move(r);
      first_schedule = a.schedule;
      have_first = true;
      continue;
    }
    // Bits may depend on the alignment.
    if (agree == "free" || a.placement == cpu_placement::flush) continue;
    for (const auto& [name, t] : r.tensors) {
      const host_tensor& expected = first.at(name);
      if (t.bytes == expected.bytes) continue;
      const auto differ = std::mismatch(t.bytes.begin(), t.bytes.end(), expected.bytes.begin()).first - t.bytes.begin();
      const int64_t element = static_cast<int64_t>(differ) / static_cast<int64_t>(size_of(t.spec.type));
      const int64_t row = element / t.spec.cols(), col = element % t.spec.cols();
      std::string under =
          a.schedule.empty() ? "two launches" : fmt::format("schedules {} and {}", first_schedule, a.schedule);
      if (a.launch.kind != launch_way::stream) under += fmt::format(", the second with launch={}", c.knob("launch"));
      const bool unwritten = std::all_of(t.bytes.begin() + differ / static_cast<int64_t>(size_of(t.spec.type)) *
                                                               static_cast<int64_t>(size_of(t.spec.type)),
                                         t.bytes.begin() + (element + 1) * static_cast<int64_t>(size_of(t.spec.type)),
                                         [&](std::byte b) { return b == static_cast<std::byte>(a.poison); });
      if (unwritten) decide(verdict::violation, fmt::format("{}[{},{}] was not written", name, row, col), c, nullptr);
      decide(
          verdict::nondeterministic,
          fmt::format("{}[{},{}] is {:.9g} ({:a}) and {:.9g} ({:a}) under {}", name, row, col, expected.value(row, col),
                      expected.value(row, col), t.value(row, col), t.value(row, col), under),
          c, nullptr);
    }
  }
  return first;
}

// How many attempts, from the one at `first` on, are made on one stream and waited for together: a wait takes a GPU
// longer than a small call.
size_t trial::group_size(const trial_case& c, std::span<const attempt> list, size_t first) {
  constexpr size_t k_most = 16;
  constexpr size_t k_most_bytes = size_t{128} << 10;  // of an attempt's tensors
  const auto joins = [](const attempt& a) {
    return a.launch.kind == launch_way::stream || a.launch.kind == launch_way::again;
  };
  size_t bytes = 0;
  for (const tensor_spec& t : c.tensors) bytes += span_bytes(t);
  if (bytes > k_most_bytes || !can_renew_streams(*list[first].api) || !joins(list[first])) return 1;
  size_t count = 1;
  while (count < k_most && first + count < list.size() && joins(list[first + count]) &&
         list[first + count].schedule == list[first].schedule)
    ++count;
  return count;
}

// An attempt from its tensors to its outputs.
struct trial::flight {
  const attempt* a;
  std::vector<std::unique_ptr<device_tensor>> memory;
  std::map<std::string, device_tensor*> by_name;
  std::map<std::string, const host_tensor*> written;
  std::vector<DLTensor> tensors;
  std::unique_ptr<prepared_call> prepared;
  warpcheck_status status = WARPCHECK_OK;
  std::string environment;  // what the call changed of the floating-point environment
  std::optional<page_touch> touch;
};

trial::flight trial::prepare(const trial_case& c, const attempt& a, const tensor_map& replace) {
  flight f = {&a, {}, {}, {}, {}, nullptr, WARPCHECK_OK, "", {}};
  place_cpu_buffers(a.placement);
  for (const tensor_spec& spec : c.tensors) {
    if (!spec.in_place.empty()) {
      f.by_name[spec.name] = f.by_name.at(spec.in_place);
      continue;
    }
    f.memory.push_back(std::make_unique<device_tensor>(spec, *a.api, a.poison));
    f.by_name[spec.name] = f.memory.back().get();
    if (spec.is_workspace()) {
      f.memory.back()->write(work_of(spec, a.work));
      a.api->forget(f.memory.back()->data(), span_bytes(spec));
    }
    if (!spec.is_input) continue;
    const auto given = replace.find(spec.name);
    const host_tensor& values = given != replace.end()                   ? given->second
                                : c.at(spec.name) == case_.at(spec.name) ? input(spec.name)
                                                                         : related_input(spec);
    f.memory.back()->write(values);
    f.written[spec.name] = &values;
  }
  for (const tensor_spec& spec : c.tensors) f.tensors.push_back(f.by_name.at(spec.name)->view(dl_device(*a.op)));
  return f;
}

// Makes the call; a candidate that is captured is replayed, and `replay_error` gets what that said.
void trial::launch(const trial_case& c, flight& f, void* stream, std::optional<std::string>& replay_error) {
  const attempt& a = *f.a;
  const bool on_default_stream = a.launch.kind == launch_way::legacy && a.op->device == WARPCHECK_DEVICE_CUDA;
  f.prepared = std::make_unique<prepared_call>(c, f.tensors, on_default_stream ? nullptr : stream);
  const bool captured = a.launch.kind == launch_way::graph && a.api->capture_begin;
  const unsigned before = floating_point_controls();
  if (captured && a.api->capture_begin(stream)) device_failed(*a.api, fmt::format("stream: {}", a.api->last_error()));
  const auto call = [&] {
    for (int i = 0; i < (captured ? 1 : a.launch.times) && f.status == WARPCHECK_OK; ++i)
      f.status = f.prepared->run(*a.op);
  };
  if (a.api == &cpu_device_api())
    f.touch = until_a_page_is_touched(call);
  else
    call();
  // A capture is ended, whatever the call said.
  if (captured && a.api->capture_replay(stream, f.status == WARPCHECK_OK ? a.launch.times : 0))
    replay_error = a.api->last_error();
  const unsigned after = floating_point_controls();
  restore_floating_point_controls(before);
  if (before != after) f.environment = fmt::format("{:#x} became {:#x}", before, after);
  report_.launches += a.launch.times;
}

std::vector<run_result> trial::execute(const trial_case& c, std::span<const attempt> group, const tensor_map& replace) {
  const warpcheck_device_api& api = *group[0].api;
  std::vector<flight> flights;
  for (const attempt& a : group) flights.push_back(prepare(c, a, replace));

  warpcheck_stream_options options = {};
  options.schedule = group[0].schedule.c_str();
  options.sm_count = static_cast<int32_t>(c.number("sm"));
  const auto fill_for = [](const attempt& a) { return a.poison == 0xff ? 0xffffffffu : 0x5c5c5c5cu; };
  options.shared_fill = fill_for(group[0]);
  void* raw_stream = api.stream_create(&options);
  if (!raw_stream) {
    const std::string why = fmt::format("stream: {}", api.last_error());
    if (!is_usable(api)) throw device_lost(why);
    throw usage_error(why);
  }
  const stream_handle stream{api, raw_stream};

  std::optional<std::string> replay_error;
  for (size_t i = 0; i < flights.size() && (i == 0 || (flights[i - 1].status == WARPCHECK_OK && !flights[i - 1].touch));
       ++i) {
    options.shared_fill = fill_for(group[i]);
    if (i > 0 && api.stream_renew(raw_stream, &options))
      device_failed(api, fmt::format("stream: {}", api.last_error()));
    launch(c, flights[i], raw_stream, replay_error);
  }

  std::vector<std::pair<std::string, std::string>> found;
  const int sync = api.stream_synchronize(
      flights[0].prepared->call.stream,
      [](void* user, const char* kind, const char* text) {
        static_cast<decltype(found)*>(user)->emplace_back(kind, text);
      },
      &found);
  const std::string sync_error = sync ? api.last_error() : "";
  // Most errors of a CUDA device stay with the process.
  const std::string unusable = sync ? fmt::format("; the {}", k_process_unusable) : "";
  std::vector<run_result> results;
  for (const flight& f : flights) {
    const attempt& a = *f.a;
    if (f.touch) {
      const auto hit = std::find_if(f.by_name.begin(), f.by_name.end(),
                                    [&](const auto& named) { return named.second->data() == f.touch->buffer; });
      const std::string tensor =
          hit == f.by_name.end() ? ""
                                 : fmt::format(" of {} bytes, tensor {}", span_bytes(hit->second->spec()), hit->first);
      decide(verdict::out_of_bounds,
             fmt::format("the call touches memory at byte {} of a buffer{}", f.touch->offset, tensor), c, &a);
    }
    if (!f.environment.empty())
      decide(verdict::error_return,
             fmt::format("the call changed the floating-point environment (MXCSR controls {})", f.environment), c, &a);
    if (!found.empty()) {
      verdict worst = verdict::pass;
      for (const auto& [kind, text] : found) {
        // A misaligned vector access touches bytes beyond the element it was made for.
        const verdict v =
            kind == "misaligned" ? verdict::out_of_bounds : verdict_from_name(kind).value_or(verdict::crash);
        if (v > worst) worst = v;
        report_.findings.push_back(kind + ": " + text);
      }
      decide(worst, a.schedule.empty() ? "" : "under schedule " + a.schedule, c, &a);
    }
    const std::string message = printable(f.prepared->message);
    // It took the call from memory of another alignment.
    if (f.status == WARPCHECK_UNSUPPORTED && a.placement == cpu_placement::flush) {
      results.emplace_back();
      continue;
    }
    // A candidate need not offer everything (argmax, say); a run in which it offers nothing proves nothing and fails.
    if (f.status == WARPCHECK_UNSUPPORTED) {
      is_unsupported_ = true;
      decide(verdict::skipped, message, c, nullptr);
    }
    report_.device_failed = sync != 0;
    if (f.status != WARPCHECK_OK)
      decide(verdict::error_return, fmt::format("{}: {}{}", status_text(f.status), message, unusable), c, &a);
    if (replay_error) decide(verdict::error_return, fmt::format("as a graph: {}{}", *replay_error, unusable), c, &a);
    if (sync)
      decide(verdict::error_return,
             fmt::format("the device reports an error after the call: {}{}", sync_error, unusable), c, &a);
    if (const char* used = f.prepared->call.used_variant) {
      if (!a.op->lists(used))
        decide(verdict::error_return,
               fmt::format("the candidate says that it ran variant '{}', which it does not list", printable(used)), c,
               &a);
      if (std::find(report_.variants.begin(), report_.variants.end(), used) == report_.variants.end())
        report_.variants.emplace_back(used);
    }
    results.push_back(collect(c, f));
    if (f.prepared->call.used_variant) results.back().used_variant = f.prepared->call.used_variant;
    if (!f.prepared->call.variant) results.back().picked_variant = a.op->picks(f.prepared->call);
  }
  return results;
}

// The outputs, once nothing beside them has changed.
run_result trial::collect(const trial_case& c, const flight& f) {
  for (const auto& t : f.memory)
    if (const int64_t offset = f.a->api->check_guards(t->data()); offset != INT64_MIN)
      decide(verdict::out_of_bounds,
             fmt::format("the guard zone of tensor {} was written at byte {} of a buffer of {} bytes", t->spec().name,
                         offset, span_bytes(t->spec())),
             c, f.a);
  run_result result;
  for (const tensor_spec& spec : c.tensors) {
    const bool overwritten =
        std::any_of(c.tensors.begin(), c.tensors.end(), [&](const tensor_spec& o) { return o.in_place == spec.name; });
    if ((spec.is_input && overwritten) || spec.is_workspace()) continue;
    int64_t touched = -1;
    host_tensor t = f.by_name.at(spec.name)->read(touched);
    if (touched >= 0)
      decide(verdict::out_of_bounds,
             fmt::format("the gap between rows of tensor {} was written at element {}", spec.name, touched), c, f.a);
    if (spec.is_input) {
      if (t.bytes != f.written.at(spec.name)->bytes)
        decide(verdict::input_modified, fmt::format("input {} changed during the call", spec.name), c, f.a);
    } else {
      t.spec = spec;
      if (!keeps_nan_bits_) unify_nans(t);
      result.tensors.emplace(spec.name, std::move(t));
    }
  }
  return result;
}

void trial::expect_refusal(const std::string& what, const std::function<void(std::vector<DLTensor>&)>& spoil,
                           const trial_case* changed) {
  on_device(case_, [&] { try_refusal(what, spoil, changed ? *changed : case_); });
}

// Whether the candidate takes the case's call as it is. The verdict is left as it was.
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

void trial::try_refusal(const std::string& what, const std::function<void(std::vector<DLTensor>&)>& spoil,
                        const trial_case& call) {
  const warpcheck_device_api& api = *candidate_.api;
  place_cpu_buffers(cpu_placement::before_page);
  std::vector<std::unique_ptr<device_tensor>> memory;
  std::vector<DLTensor> tensors;
  for (const tensor_spec& spec : case_.tensors) {
    memory.push_back(std::make_unique<device_tensor>(spec, api, 0xff));
    if (spec.is_input) memory.back()->write(input(spec.name));
    tensors.push_back(memory.back()->view(dl_device(*candidate_.op)));
  }
  spoil(tensors);
  const warpcheck_stream_options options = {};
  void* const raw_stream = api.stream_create(&options);
  if (!raw_stream) device_failed(api, fmt::format("stream: {}", api.last_error()));
  const stream_handle stream{api, raw_stream};
  prepared_call prepared(call, tensors, stream.stream);
  const warpcheck_status status = prepared.run(*candidate_.op);
  const std::string message = printable(prepared.message);
  ++report_.launches;
  if (api.stream_synchronize(
          stream.stream, [](void*, const char*, const char*) {}, nullptr)) {
    report_.device_failed = true;
    decide(verdict::error_return,
           fmt::format("{}: the device reports an error after the call: {}; the {}", what, api.last_error(),
                       k_process_unusable),
           case_, nullptr);
  }
  if (status != WARPCHECK_INVALID_ARGUMENT && (status != WARPCHECK_UNSUPPORTED || is_offered()))
    decide(verdict::error_return,
           fmt::format("{}: expected 'invalid argument', got '{}' {}", what, status_text(status), message), case_,
           nullptr);
  if (message.empty())
    decide(verdict::error_return, fmt::format("{}: refused without a message", what), case_, nullptr);
  for (size_t i = 0; i < memory.size(); ++i) {
    if (case_.tensors[i].is_input) continue;
    int64_t touched = -1;
    const host_tensor t = memory[i]->read(touched);
    if (std::any_of(t.bytes.begin(), t.bytes.end(), [](std::byte b) { return b != std::byte{0xff}; }))
      decide(verdict::violation, fmt::format("{}: refused, yet output {} was written", what, case_.tensors[i].name),
             case_, nullptr);
  }
}

void trial::judge(const std::string& tensor, int64_t row, int64_t col, double input, double actual,
                  const reference::judgement& j, const std::function<std::string()>& expected_text) {
  ++report_.compared;
  if (j.digits > 0) ++report_.escalated;
  const double budget = j.budget();
  if (keeps_budgets_) report_.budgets.add(budget);
  if (std::isfinite(j.error_ulp)) {
    report_.max_ulp = std::max(report_.max_ulp, j.error_ulp);
    report_.sum_squared_ulp += j.error_ulp * j.error_ulp;
  }
  // An unaccepted element outranks every accepted one; among equals the larger share of the bound; a NaN budget is the
  // worst.
  const bool first_rejection = !j.accepted && rejected_ == 0;
  if (!j.accepted) ++rejected_;
  const bool worse =
      first_rejection || !report_.worst || (j.accepted == (rejected_ == 0) && !(budget <= report_.max_budget));
  if (!worse) return;
  report_.max_budget = std::isnan(budget) ? HUGE_VAL : budget;
  report_.worst = worst_element{
      tensor,  row,     col,        input, actual, j.expected, !j.accepted && expected_text ? expected_text() : "",
      j.error, j.bound, j.error_ulp};
}

void trial::broken(std::string message) { decide(verdict::violation, std::move(message), case_, nullptr); }

void trial::skip(const std::string& reason) { decide(verdict::skipped, reason, case_, nullptr); }

void trial::decide(verdict v, std::string message, const trial_case& c, const attempt* a) {
  report_.result = v;
  report_.message = std::move(message);
  // A related call (another variant or layout) has its own line only in the message: the case is what replays.
  if (!(c == case_)) report_.message += fmt::format(" (in the related call '{}')", format(c));
  if (a && a->op->device == WARPCHECK_DEVICE_EMULATED) {
    trial_case narrowed = case_;
    narrowed.knobs["schedule"] = a->schedule;
    narrowed.knobs["detect"] = a->instrumented ? "only" : "off";
    report_.line = format(narrowed);
  }
  throw trial_over{};
}

case_report trial::finish() {
  if (report_.result == verdict::pass && rejected_ > 0) {
    report_.result = verdict::violation;
    report_.message = fmt::format("{} of {} compared elements lie outside their bound", rejected_, report_.compared);
  }
  return report_;
}

}  // namespace warpcheck::engine
