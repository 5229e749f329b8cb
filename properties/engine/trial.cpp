#include "properties/engine/trial.hpp"

#include <fmt/format.h>

#ifdef __SSE__
#include <xmmintrin.h>
#endif

#include <algorithm>
#include <cfenv>
#include <cmath>
#include <cstring>
#include <limits>

#include "properties/engine/classes.hpp"
#include "properties/engine/contain.hpp"
#include "properties/engine/error.hpp"
#include "properties/engine/npy.hpp"
#include "properties/engine/property.hpp"

namespace warpcheck::engine {
namespace {

using tensor_map = std::map<std::string, host_tensor, std::less<>>;

// Beyond this many bytes a tensor's gaps are sampled beside the rows instead of read whole (rows 2^31 elements apart).
constexpr int64_t k_whole_span = int64_t{256} << 20;

size_t span_bytes(const tensor_spec& s) {
  if (s.elements() == 0) return 0;
  return static_cast<size_t>((s.rows() - 1) * s.ld + s.cols()) * size_of(s.type);
}

// A tensor in a device's memory, laid out as its spec says, owned.
class device_tensor {
 public:
  device_tensor(const tensor_spec& spec, const warpcheck_device_api& api, unsigned char fill)
      : spec_(spec),
        api_(&api),
        bytes_(span_bytes(spec)),
        fill_(fill),
        shape_(spec.shape),
        strides_(spec.shape.size() == 2 ? std::vector<int64_t>{spec.ld, 1} : std::vector<int64_t>{1}) {
    const size_t element = size_of(spec.type);
    data_ = api.alloc(bytes_, static_cast<size_t>(spec.offset) * element % 256, element);
    if (!data_)
      throw environment_error(
          fmt::format("tensor {}: {} bytes do not fit the device's memory: {}", spec.name, bytes_, api.last_error()));
    if (bytes_ == 0) return;
    // A span too large to touch gets its poison where it will be looked at: rows and the start of the gaps behind them.
    const size_t row_bytes = static_cast<size_t>(spec.cols()) * element;
    const std::vector<unsigned char> poison(whole() ? bytes_ : row_bytes + seen_gap(), fill);
    if (whole())
      check(api.copy_in(data_, poison.data(), bytes_));
    else
      for (int64_t r = 0; r < spec.rows(); ++r)
        check(api.copy_in(static_cast<char*>(data_) + row_offset(r), poison.data(),
                          row_bytes + (r + 1 < spec.rows() ? seen_gap() : 0)));
  }
  ~device_tensor() { api_->release(data_); }
  device_tensor(const device_tensor&) = delete;
  device_tensor& operator=(const device_tensor&) = delete;

  void* data() const { return data_; }
  const tensor_spec& spec() const { return spec_; }
  bool is_contiguous() const { return spec_.rows() <= 1 || spec_.ld == spec_.cols(); }
  bool whole() const { return static_cast<int64_t>(bytes_) <= k_whole_span; }

  void write(const host_tensor& t) {
    const size_t row_bytes = static_cast<size_t>(spec_.cols()) * size_of(spec_.type);
    if (t.bytes.empty()) return;
    if (is_contiguous()) {
      check(api_->copy_in(data_, t.bytes.data(), t.bytes.size()));
    } else if (whole()) {
      std::vector<unsigned char> image(bytes_, fill_);
      for (int64_t r = 0; r < spec_.rows(); ++r)
        std::memcpy(image.data() + row_offset(r), t.bytes.data() + static_cast<size_t>(r) * row_bytes, row_bytes);
      check(api_->copy_in(data_, image.data(), bytes_));
    } else {
      for (int64_t r = 0; r < spec_.rows(); ++r)
        check(api_->copy_in(static_cast<char*>(data_) + row_offset(r),
                            t.bytes.data() + static_cast<size_t>(r) * row_bytes, row_bytes));
    }
  }

  // The rows, packed; `touched` gets where a gap between rows no longer holds what it held, as an element offset, or
  // -1.
  host_tensor read(int64_t& touched) const {
    host_tensor t(spec_);
    touched = -1;
    const size_t row_bytes = static_cast<size_t>(spec_.cols()) * size_of(spec_.type);
    if (t.bytes.empty()) return t;
    if (is_contiguous()) {
      check(api_->copy_out(t.bytes.data(), data_, t.bytes.size()));
      return t;
    }
    std::vector<unsigned char> image(whole() ? bytes_ : row_bytes + seen_gap());
    if (whole()) check(api_->copy_out(image.data(), data_, bytes_));
    for (int64_t r = 0; r < spec_.rows(); ++r) {
      const size_t gap = r + 1 < spec_.rows() ? seen_gap() : 0;
      if (!whole())
        check(api_->copy_out(image.data(), static_cast<const char*>(data_) + row_offset(r), row_bytes + gap));
      const unsigned char* row = image.data() + (whole() ? row_offset(r) : 0);
      std::memcpy(t.bytes.data() + static_cast<size_t>(r) * row_bytes, row, row_bytes);
      for (size_t i = 0; i < gap && touched < 0; ++i)
        if (row[row_bytes + i] != fill_)
          touched = r * spec_.ld + spec_.cols() + static_cast<int64_t>(i / size_of(spec_.type));
    }
    return t;
  }

  DLTensor view(DLDevice device) {
    const auto bits = static_cast<uint8_t>(8 * size_of(spec_.type));
    DLDataType type{static_cast<uint8_t>(kDLUInt), bits, 1};
    if (spec_.type == dtype::bf16)
      type.code = kDLBfloat;
    else if (is_float(spec_.type))
      type.code = kDLFloat;
    else if (spec_.type == dtype::i32 || spec_.type == dtype::i64)
      type.code = kDLInt;
    return {data_, device, static_cast<int32_t>(shape_.size()), type, shape_.data(), strides_.data(), 0};
  }

 private:
  // Bytes of a gap between rows that are checked.
  size_t seen_gap() const {
    const size_t gap = static_cast<size_t>(spec_.ld - spec_.cols()) * size_of(spec_.type);
    return whole() ? gap : std::min<size_t>(gap, 256);
  }
  size_t row_offset(int64_t row) const { return static_cast<size_t>(row * spec_.ld) * size_of(spec_.type); }
  void check(int status) const {
    if (status)
      throw environment_error(
          fmt::format("tensor {}: a copy to or from the device failed: {}", spec_.name, api_->last_error()));
  }

  tensor_spec spec_;
  const warpcheck_device_api* api_;
  size_t bytes_;
  unsigned char fill_;
  void* data_;
  std::vector<int64_t> shape_, strides_;  // what views point to
};

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

// Rounding, flush-to-zero, denormals-are-zero and exception masks of this thread: a call that leaves them changed
// spoils every later computation in its process, the reference's too.
#ifdef __SSE__
unsigned floating_point_controls() { return _mm_getcsr() & 0xffc0u; }
void restore_floating_point_controls(unsigned controls) { _mm_setcsr((_mm_getcsr() & ~0xffc0u) | controls); }
#else
unsigned floating_point_controls() { return static_cast<unsigned>(std::fegetround()); }
void restore_floating_point_controls(unsigned controls) { std::fesetround(static_cast<int>(controls)); }
#endif

// The plain arguments of a case's call.
std::vector<warpcheck_scalar> scalars_of(const trial_case& c) {
  std::vector<warpcheck_scalar> scalars;
  for (const knob_info& k : find_property(c.op, c.property).knobs)
    if (k.is_scalar)
      scalars.push_back(
          {k.name.c_str(), parse_number(c.knobs.count(k.name) ? c.knobs.at(k.name) : k.fallback).value_or(NAN)});
  return scalars;
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

// A call over tensors of a device, and what it points to.
struct prepared_call {
  std::vector<const DLTensor*> inputs;
  std::vector<DLTensor*> outputs;
  std::vector<warpcheck_scalar> scalars;
  std::string variant;
  char message[512] = "";
  warpcheck_call call = {};

  // `tensors`: one per tensor of the case, in its order; they outlive the call.
  prepared_call(const trial_case& c, std::vector<DLTensor>& tensors, void* stream)
      : scalars(scalars_of(c)), variant(c.knob("variant")) {
    for (size_t i = 0; i < tensors.size(); ++i) {
      if (c.tensors[i].is_input)
        inputs.push_back(&tensors[i]);
      else
        outputs.push_back(&tensors[i]);
    }
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

  warpcheck_status run(const warpcheck_operator& op) {
    const warpcheck_status status = op.run(&call);
    message[sizeof message - 1] = '\0';
    return status;
  }
};

DLDevice dl_device(const warpcheck_operator& op) {
  return op.device == WARPCHECK_DEVICE_CUDA ? DLDevice{kDLCUDA, 0} : DLDevice{kDLCPU, 0};
}

}  // namespace

uint64_t host_tensor::bits(int64_t row, int64_t col) const {
  return load_bits(spec.type, bytes.data() + static_cast<size_t>(row * spec.cols() + col) * size_of(spec.type));
}

void host_tensor::set_bits(int64_t row, int64_t col, uint64_t bits) {
  store_bits(spec.type, bytes.data() + static_cast<size_t>(row * spec.cols() + col) * size_of(spec.type), bits);
}

std::vector<double> host_tensor::row(int64_t row) const {
  std::vector<double> values(static_cast<size_t>(spec.cols()));
  for (int64_t c = 0; c < spec.cols(); ++c) values[static_cast<size_t>(c)] = value(row, c);
  return values;
}

host_tensor materialize(const tensor_spec& spec) {
  host_tensor t(spec);
  if (spec.fill.distribution == "npy") {
    npy_array array = read_npy(spec.fill.path, std::span(&spec.type, 1));
    if (array.sha256 != spec.fill.sha256)
      throw usage_error(fmt::format("fill: '{}' has SHA-256 {}, the case was made with {}", spec.fill.path,
                                    array.sha256, spec.fill.sha256));
    if (array.type != spec.type || array.rows != spec.rows() || array.cols != spec.cols())
      throw usage_error(fmt::format("fill: '{}' is {}[{}x{}], the case says {}[{}x{}]", spec.fill.path,
                                    name_of(array.type), array.rows, array.cols, name_of(spec.type), spec.rows(),
                                    spec.cols()));
    t.bytes = std::move(array.bytes);
    for (const edit& e : spec.fill.edits) t.set_bits(e.row, e.col, encode(spec.type, e.value));
    return t;
  }
  recipe without_edits = spec.fill;
  without_edits.edits.clear();
  const value_source source(without_edits, spec.type, spec.cols());
  for (int64_t r = 0; r < spec.rows(); ++r)
    for (int64_t c = 0; c < spec.cols(); ++c) t.set_bits(r, c, source.bits(r, c));
  for (const edit& e : spec.fill.edits) t.set_bits(e.row, e.col, encode(spec.type, e.value));
  return t;
}

const host_tensor& run_result::at(std::string_view name) const {
  const auto found = tensors.find(name);
  if (found == tensors.end()) throw usage_error(fmt::format("case line: no output tensor is named {}", name));
  return found->second;
}

// One launch of a case: which build of the candidate, under which schedule, over which poison.
struct trial::attempt {
  const warpcheck_operator* op;
  const warpcheck_device_api* api;
  std::string schedule;  // emulated only
  bool instrumented;
  unsigned char poison;  // outputs start as bytes of this value
  launch_way launch = {};
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

std::vector<trial::attempt> trial::attempts(const trial_case& c) const {
  // The poison alternates between a NaN and a finite pattern, so that an element nobody wrote differs between launches.
  const auto poison = [](size_t i) { return static_cast<unsigned char>(i % 2 ? 0x5c : 0xff); };
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
    for (size_t i = 0; i < static_cast<size_t>(std::max(2, repeat)); ++i)
      list.push_back({candidate_.op, candidate_.api, is_known && i > 0 ? schedule : "", false, poison(i)});
  } else {
    std::vector<std::string> schedules = {schedule, schedule};
    if (schedule == "default") {
      // Seeds follow from the case, so that the same line means the same schedules everywhere.
      uint64_t seed = 0;
      for (unsigned char ch : format(c)) seed = hash64(seed, ch);
      seed %= 1000000;
      schedules = {"fair",
                   "greedy",
                   "reverse",
                   fmt::format("random:{}", seed),
                   fmt::format("pct_warp:{}", seed),
                   fmt::format("preempt:{}", seed)};
    }
    if (detect != "only")
      for (int k = 0; k < repeat; ++k)
        for (const std::string& s : schedules)
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
  for (size_t i = 1; i < list.size(); ++i) list[i].launch = launch;
  return list;
}

run_result trial::run(const trial_case& c, const tensor_map& replace) {
  run_result first;
  std::string first_schedule;
  bool have_first = false;
  const std::vector<attempt> list = attempts(c);
  const std::string agree = c.knob("agree");
  if (agree != "bits" && agree != "free") throw usage_error(fmt::format("agree: '{}' is not one of bits, free", agree));
  if (list.empty()) decide(verdict::skipped, "detect=only: the candidate has no instrumented build", c, nullptr);
  for (const attempt& a : list) {
    run_result r = execute(c, a, replace);
    if (!have_first) {
      first = std::move(r);
      first_schedule = a.schedule;
      have_first = true;
      continue;
    }
    if (agree == "free") continue;
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

run_result trial::execute(const trial_case& c, const attempt& a, const tensor_map& replace) {
  const warpcheck_device_api& api = *a.api;
  std::vector<std::unique_ptr<device_tensor>> memory;
  std::map<std::string, device_tensor*> by_name;
  std::map<std::string, const host_tensor*> written;
  for (const tensor_spec& spec : c.tensors) {
    if (!spec.in_place.empty()) {
      by_name[spec.name] = by_name.at(spec.in_place);
      continue;
    }
    memory.push_back(std::make_unique<device_tensor>(spec, api, spec.is_input ? 0xff : a.poison));
    by_name[spec.name] = memory.back().get();
    if (!spec.is_input) continue;
    const auto given = replace.find(spec.name);
    const host_tensor& values = given != replace.end() ? given->second
                                : c.at(spec.name) == case_.at(spec.name)
                                    ? input(spec.name)
                                    : inputs_.insert_or_assign("related " + spec.name, materialize(spec)).first->second;
    memory.back()->write(values);
    written[spec.name] = &values;
  }

  std::vector<DLTensor> tensors;
  for (const tensor_spec& spec : c.tensors) tensors.push_back(by_name.at(spec.name)->view(dl_device(*a.op)));

  warpcheck_stream_options options = {};
  options.schedule = a.schedule.c_str();
  options.sm_count = static_cast<int32_t>(c.number("sm"));
  options.shared_fill = a.poison == 0xff ? 0xffffffffu : 0x5c5c5c5cu;
  void* raw_stream = api.stream_create(&options);
  if (!raw_stream) throw usage_error(fmt::format("stream: {}", api.last_error()));
  const stream_handle stream{api, raw_stream};

  const bool on_default_stream = a.launch.kind == launch_way::legacy && a.op->device == WARPCHECK_DEVICE_CUDA;
  prepared_call prepared(c, tensors, on_default_stream ? nullptr : raw_stream);
  const warpcheck_call& call = prepared.call;
  const char* message = prepared.message;
  const bool captured = a.launch.kind == launch_way::graph && api.capture_begin;
  const unsigned before = floating_point_controls();
  if (captured && api.capture_begin(raw_stream)) throw environment_error(fmt::format("stream: {}", api.last_error()));
  warpcheck_status status = WARPCHECK_OK;
  for (int i = 0; i < (captured ? 1 : a.launch.times) && status == WARPCHECK_OK; ++i) status = prepared.run(*a.op);
  // A capture is ended, whatever the call said.
  const int replayed = captured ? api.capture_replay(raw_stream, status == WARPCHECK_OK ? a.launch.times : 0) : 0;
  const std::string replay_error = replayed ? api.last_error() : "";
  const unsigned after = floating_point_controls();
  restore_floating_point_controls(before);
  report_.launches += a.launch.times;
  if (before != after)
    decide(verdict::error_return,
           fmt::format("the call changed the floating-point environment (MXCSR controls {:#x} became {:#x})", before,
                       after),
           c, &a);

  struct collected {
    std::vector<std::pair<std::string, std::string>> list;
  } found;
  const int sync = api.stream_synchronize(
      call.stream,
      [](void* user, const char* kind, const char* text) {
        static_cast<collected*>(user)->list.emplace_back(kind, text);
      },
      &found);
  const std::string sync_error = sync ? api.last_error() : "";
  // Most errors of a CUDA device stay with the process.
  const std::string unusable = sync ? fmt::format("; the {}", k_process_unusable) : "";
  if (!found.list.empty()) {
    verdict worst = verdict::pass;
    for (const auto& [kind, text] : found.list) {
      // A misaligned vector access touches bytes beyond the element it was made for.
      const verdict v =
          kind == "misaligned" ? verdict::out_of_bounds : verdict_from_name(kind).value_or(verdict::crash);
      if (v > worst) worst = v;
      report_.findings.push_back(kind + ": " + text);
    }
    decide(worst, a.schedule.empty() ? "" : "under schedule " + a.schedule, c, &a);
  }
  // A candidate need not offer everything (argmax, say); a run in which it offers nothing proves nothing and fails.
  if (status == WARPCHECK_UNSUPPORTED) decide(verdict::skipped, message, c, nullptr);
  if (status != WARPCHECK_OK)
    decide(verdict::error_return, fmt::format("{}: {}{}", status_text(status), message, unusable), c, &a);
  if (replayed) decide(verdict::error_return, fmt::format("as a graph: {}{}", replay_error, unusable), c, &a);
  if (sync)
    decide(verdict::error_return, fmt::format("the device reports an error after the call: {}{}", sync_error, unusable),
           c, &a);
  if (call.used_variant) {
    const std::vector<std::string> listed = variant_names(*a.op);
    if (std::find(listed.begin(), listed.end(), call.used_variant) == listed.end())
      decide(verdict::error_return,
             fmt::format("the candidate says that it ran variant '{}', which it does not list", call.used_variant), c,
             &a);
  }
  if (call.used_variant &&
      std::find(report_.variants.begin(), report_.variants.end(), call.used_variant) == report_.variants.end())
    report_.variants.emplace_back(call.used_variant);

  for (const auto& t : memory)
    if (const int64_t offset = api.check_guards(t->data()); offset != INT64_MIN)
      decide(verdict::out_of_bounds,
             fmt::format("the guard zone of tensor {} was written at byte {} of a buffer of {} bytes", t->spec().name,
                         offset, span_bytes(t->spec())),
             c, &a);
  run_result result;
  for (const tensor_spec& spec : c.tensors) {
    const bool overwritten =
        std::any_of(c.tensors.begin(), c.tensors.end(), [&](const tensor_spec& o) { return o.in_place == spec.name; });
    if (spec.is_input && overwritten) continue;
    int64_t touched = -1;
    host_tensor t = by_name.at(spec.name)->read(touched);
    if (touched >= 0)
      decide(verdict::out_of_bounds,
             fmt::format("the gap between rows of tensor {} was written at element {}", spec.name, touched), c, &a);
    if (spec.is_input) {
      if (t.bytes != written.at(spec.name)->bytes)
        decide(verdict::input_modified, fmt::format("input {} changed during the call", spec.name), c, &a);
    } else {
      t.spec = spec;
      unify_nans(t);
      result.tensors.emplace(spec.name, std::move(t));
    }
  }
  return result;
}

void trial::expect_refusal(const std::string& what, const std::function<void(std::vector<DLTensor>&)>& spoil) {
  const warpcheck_device_api& api = *candidate_.api;
  std::vector<std::unique_ptr<device_tensor>> memory;
  std::vector<DLTensor> tensors;
  for (const tensor_spec& spec : case_.tensors) {
    memory.push_back(std::make_unique<device_tensor>(spec, api, 0xff));
    if (spec.is_input) memory.back()->write(input(spec.name));
    tensors.push_back(memory.back()->view(dl_device(*candidate_.op)));
  }
  spoil(tensors);
  const warpcheck_stream_options options = {};
  const stream_handle stream{api, api.stream_create(&options)};
  prepared_call prepared(case_, tensors, stream.stream);
  const warpcheck_status status = prepared.run(*candidate_.op);
  const char* message = prepared.message;
  ++report_.launches;
  if (api.stream_synchronize(
          stream.stream, [](void*, const char*, const char*) {}, nullptr))
    decide(verdict::error_return,
           fmt::format("{}: the device reports an error after the call: {}; the {}", what, api.last_error(),
                       k_process_unusable),
           case_, nullptr);
  if (status != WARPCHECK_INVALID_ARGUMENT)
    decide(verdict::error_return,
           fmt::format("{}: expected 'invalid argument', got '{}' {}", what, status_text(status), message), case_,
           nullptr);
  if (message[0] == '\0')
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

void trial::require(bool holds, const std::string& message) {
  if (!holds) decide(verdict::violation, message, case_, nullptr);
}

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
