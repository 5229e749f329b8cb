#include "bench/timed_call.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "kernels/abi/candidate_table.hpp"
#include "properties/engine/error.hpp"
#include "properties/engine/host_tensor.hpp"
#include "properties/engine/property.hpp"
#include "properties/engine/trial.hpp"

namespace warpcheck::bench {
namespace {

using namespace engine;

constexpr size_t k_alignment = 256;          // of a tensor in its slot
constexpr size_t k_chunk = size_t{1} << 24;  // bytes that are copied at a time
constexpr char k_poison = '\xff', k_ones[] = {k_poison, k_poison, k_poison, k_poison};

// The candidate that answers a case of the measured values with the measured results.
constexpr const char* k_measured = "measured";
const std::vector<host_tensor>* g_measured = nullptr;

warpcheck_status answer(warpcheck_call* call) {
  for (int32_t i = 0; i < call->num_outputs; ++i) {
    const host_tensor& y = (*g_measured)[static_cast<size_t>(i)];
    if (!y.bytes.empty())
      std::memcpy(static_cast<char*>(call->outputs[i]->data) + call->outputs[i]->byte_offset, y.bytes.data(),
                  y.bytes.size());
  }
  return WARPCHECK_OK;
}

trial_case case_of(const description& d, const bench_row& row, const sizes& of) {
  target t;
  t.op = d.op;
  t.device = "cuda";
  t.type = row.type;
  trial_case c = make_case(d, t, of, row.fills);
  for (const auto& [name, type] : row.tensors) {
    if (tensor_spec* const there = c.find(name))
      there->type = type;
    else
      add_tensor(c, name, type);
  }
  for (const auto& [name, value] : row.scalars) set_knob(c, name, value);
  return c;
}

// Of the tensor's elements those of a slice; all, where it has no slices.
int64_t elements_of_slice(const description& d, const bench_row& row, const trial_case& c, const tensor_spec& t) {
  const std::string& slices = d.bench.slices;
  if (slices.empty() || extent_of(d, c, t, 0) != slices) return t.elements();
  return t.elements() / std::max<int64_t>(1, row.of.at(slices));
}

size_t bytes_of(const tensor_spec& t) { return static_cast<size_t>(t.elements()) * size_of(t.type); }

// What the report of a case that did not pass says of it.
std::string why(const case_report& r) {
  if (r.result == verdict::pass) return "nothing was compared";
  std::string text = r.message;
  if (r.worst)
    text +=
        fmt::format(": {}[{},{}] is {:.9g}, expected {:.9g}: the error is {:.3g} of at most {:.3g}", r.worst->tensor,
                    r.worst->row, r.worst->col, r.worst->actual, r.worst->expected, r.worst->error, r.worst->bound);
  return text;
}

}  // namespace

std::string name_of(const description& d, const bench_row& row) {
  std::string text = fmt::format("{}/{}/{}", d.op, warpcheck::name_of(row.type), row.of.size() == 1 ? "1x" : "");
  bool first = true;
  for (const extent_info& e : d.extents) {
    if (e.derived) continue;
    text += fmt::format("{}{}", first ? "" : "x", row.of.at(e.name));
    first = false;
  }
  if (row.offset != 0) text += fmt::format("/offset:{}", row.offset);
  for (const std::string& special : {row.note, row.variant})
    if (!special.empty()) text += "/" + special;
  return text;
}

traffic traffic_of(const description& d, const bench_row& row) {
  const trial_case c = case_of(d, row, row.of);
  traffic t;
  for (const tensor_spec& s : c.tensors) (s.is_input ? t.in : t.out) += bytes_of(s);
  const tensor_spec& x = c.tensors.front();
  if (!d.bench.slices.empty()) t.slice = static_cast<size_t>(elements_of_slice(d, row, c, x)) * size_of(x.type);
  return t;
}

// The call on the tensors of a slot.
struct timed_call::prepared {
  prepared(const trial_case& c, const std::vector<size_t>& places, const slots& memory, int slot, DLDevice device,
           void* stream)
      : shapes(c.tensors.size()), strides(c.tensors.size()) {
    for (size_t i = 0; i < c.tensors.size(); ++i) {
      const tensor_spec& t = c.tensors[i];
      shapes[i] = t.shape;
      strides[i] = strides_of(t);
      char* const data = (t.is_input ? memory.input(slot) : memory.output(slot)) + places[i];
      tensors.push_back(tensor_of(t, data, device, shapes[i], strides[i]));
    }
    call = std::make_unique<prepared_call>(c, tensors, stream);
  }

  std::vector<std::vector<int64_t>> shapes, strides;
  std::vector<DLTensor> tensors;
  std::unique_ptr<prepared_call> call;
};

void bench_device::wait_for(const warpcheck_device_api& api, void* stream) {
  std::string hazards;
  const auto report = [](void* all, const char* kind, const char* text) {
    *static_cast<std::string*>(all) += fmt::format("{}: {}; ", kind, text);
  };
  if (api.stream_synchronize(stream, report, &hazards)) throw std::runtime_error(api.last_error());
  if (!hazards.empty()) throw std::runtime_error(hazards);
}

timed_call::timed_call(const description& d, const bench_row& row, const bench_device& on)
    : described_(d), row_(row), device_(on), case_(case_of(d, row, row.of)), places_(case_.tensors.size()) {
  if (!row.variant.empty()) case_.knobs["variant"] = row.variant;
  const std::vector<int64_t> shape = case_.tensors.front().shape;
  for (tensor_spec& t : case_.tensors)
    if (t.shape == shape) t.offset = row.offset;
  const size_t in_bytes = place(true), out_bytes = place(false);
  memory_ = on.timing.allocate(in_bytes, out_bytes);
  fill_inputs();
  for (int slot = 0; slot < memory_.count; ++slot)
    prepared_.push_back(std::make_unique<prepared>(case_, places_, memory_, slot, on.place, on.stream));
}

timed_call::~timed_call() = default;

// Gives the inputs, or the outputs, their places in a slot; returns how many bytes they take.
size_t timed_call::place(bool inputs) {
  size_t end = 0;
  for (size_t i = 0; i < places_.size(); ++i) {
    const tensor_spec& t = case_.tensors[i];
    if (t.is_input != inputs) continue;
    places_[i] = (end + k_alignment - 1) / k_alignment * k_alignment + static_cast<size_t>(t.offset) * size_of(t.type);
    end = places_[i] + bytes_of(t);
  }
  return end;
}

char* timed_call::at(size_t i) const {
  return (case_.tensors[i].is_input ? memory_.input(0) : memory_.output(0)) + places_[i];
}

void timed_call::write(char* to, const void* from, size_t bytes) const {
  if (device_.api.copy_in(to, from, bytes)) throw std::runtime_error(device_.api.last_error());
}

void timed_call::read(void* to, const char* from, size_t bytes) const {
  if (device_.api.copy_out(to, from, bytes)) throw std::runtime_error(device_.api.last_error());
}

// Random values in [-8, 8) over and over, a prime number of them, so that few slices are alike, in each slot from
// another on; or the row's recipes.
void timed_call::fill_inputs() const {
  constexpr int64_t k_period = 4194301;
  for (size_t i = 0; i < places_.size(); ++i) {
    const tensor_spec& t = case_.tensors[i];
    if (!t.is_input || t.elements() == 0) continue;
    const bool has_recipe = row_.fills.contains(t.name);
    if (!has_recipe && !is_float(t.type))
      throw usage_error(fmt::format("bench row {}: input {} of type {} needs a fill", bench::name_of(described_, row_),
                                    t.name, warpcheck::name_of(t.type)));
    tensor_spec values = t;
    if (!has_recipe) {
      values.shape = {std::min(t.elements(), k_period)};
      values.fill = make_recipe("uniform", {static_cast<double>(i), -8, 8});
    }
    const host_tensor made = materialize(values);
    for (int slot = 0; slot < memory_.count; ++slot) {
      size_t from = has_recipe ? 0 : static_cast<size_t>(slot * (k_period / 7)) * size_of(t.type) % made.bytes.size();
      for (size_t done = 0; done < bytes_of(t); from = 0) {
        const size_t bytes = std::min(made.bytes.size() - from, bytes_of(t) - done);
        write(memory_.input(slot) + places_[i] + done, made.bytes.data() + from, bytes);
        done += bytes;
      }
    }
  }
}

std::string timed_call::run(const listed_operator& callee, int i) {
  prepared_call& call = *prepared_[static_cast<size_t>(i % memory_.count)]->call;
  if (call.run(callee) != WARPCHECK_OK)
    throw std::runtime_error(fmt::format("{}: {}", bench::name_of(described_, row_), call.message()));
  return call.view().used_variant == nullptr ? "" : call.view().used_variant;
}

void timed_call::verify(const listed_operator& callee) {
  device_.wait();
  const std::vector<char> poison(k_chunk, k_poison);
  for (size_t done = 0; done < memory_.output_stride; done += k_chunk)
    write(memory_.output(0) + done, poison.data(), std::min(k_chunk, memory_.output_stride - done));
  run(callee, 0);
  device_.wait();
  count_unwritten();
  int64_t largest = 1;
  for (const tensor_spec& t : case_.tensors) largest = std::max(largest, t.elements());
  // A few pieces of slices one after another, the first and the last among them.
  constexpr int64_t k_pieces = 16, k_elements = 1 << 20;
  const int64_t slices = described_.bench.slices.empty() ? 1 : row_.of.at(described_.bench.slices);
  if (slices == 0) return;
  const int64_t length = std::max<int64_t>(1, largest / slices);
  const int64_t wanted =
      std::min(slices, length == 1 ? k_pieces * k_elements : std::max<int64_t>(2, k_elements / length));
  const int64_t pieces = std::min(wanted, k_pieces), of_piece = (wanted + pieces - 1) / pieces;
  for (int64_t p = 0; p < pieces; ++p)
    verify_slices(pieces == 1 ? 0 : p * (slices - of_piece) / (pieces - 1), of_piece);
}

// Words of two or four bytes that nobody wrote; a byte of ones may be meant.
void timed_call::count_unwritten() const {
  std::vector<char> chunk(k_chunk);
  for (size_t i = 0; i < places_.size(); ++i) {
    const tensor_spec& t = case_.tensors[i];
    if (t.is_input || size_of(t.type) == 1) continue;
    const size_t word = size_of(t.type) == 2 ? 2 : 4;
    int64_t left = 0;
    for (size_t done = 0; done < bytes_of(t); done += k_chunk) {
      const size_t bytes = std::min(k_chunk, bytes_of(t) - done);
      read(chunk.data(), at(i) + done, bytes);
      for (size_t k = 0; k < bytes; k += word) left += std::memcmp(chunk.data() + k, k_ones, word) == 0;
    }
    if (left > 0)
      throw std::runtime_error(
          fmt::format("{}: {} words of {} not written", bench::name_of(described_, row_), left, t.name));
  }
}

// As a case of its own, whose inputs and results are what the device's memory holds.
void timed_call::verify_slices(int64_t first, int64_t count) const {
  sizes of = row_.of;
  if (!described_.bench.slices.empty()) of[described_.bench.slices] = count;
  const property& judged = find_property(described_.op, "within-error-bound");
  trial_case part = case_of(described_, row_, of);
  part.property = judged.name;
  part.knobs["device"] = "cpu";
  part.knobs["candidate"] = k_measured;
  std::vector<host_tensor> inputs, outputs;
  for (size_t i = 0; i < places_.size(); ++i) {
    const tensor_spec& whole = case_.tensors[i];
    host_tensor& t = (whole.is_input ? inputs : outputs).emplace_back(part.tensors[i]);
    const size_t skipped = part.tensors[i].shape == whole.shape
                               ? 0
                               : static_cast<size_t>(first * elements_of_slice(described_, row_, case_, whole));
    read(t.bytes.data(), at(i) + skipped * size_of(whole.type), t.bytes.size());
  }
  // A process measures one operator.
  static const listed_operator measured(operator_of_rows(described_.op.c_str(), WARPCHECK_DEVICE_CPU, ~0u, answer));
  name_candidate(k_measured, measured);
  g_measured = &outputs;
  trial t(part);
  for (host_tensor& x : inputs) t.give(std::move(x));
  try {
    judged.check(t);
  } catch (const trial_over&) {
    // The verdict is in the report.
  }
  const case_report report = t.finish();
  if (report.result == verdict::pass && report.compared > 0) return;
  const std::string where = described_.bench.slices.empty()
                                ? ""
                                : fmt::format("{} {} to {}: ", described_.bench.slices, first, first + count - 1);
  throw std::runtime_error(fmt::format("{}: {}{}", bench::name_of(described_, row_), where, why(report)));
}

}  // namespace warpcheck::bench
