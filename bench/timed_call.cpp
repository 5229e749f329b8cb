#include "bench/timed_call.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>

#include "abi/candidate_table.hpp"
#include "properties/engine/cases/case_inputs.hpp"
#include "properties/engine/error.hpp"
#include "properties/engine/processes/contain.hpp"
#include "properties/engine/trials/floating_point.hpp"
#include "properties/engine/trials/property.hpp"
#include "properties/engine/trials/trial.hpp"

namespace warpcheck::bench {
namespace {

using namespace engine;

constexpr size_t k_alignment = 256;          // of a tensor in its slot
constexpr size_t k_chunk = size_t{1} << 24;  // bytes that are copied at a time
constexpr int64_t k_period = 4194301;        // of random values: a prime number, so that few slices are alike
constexpr double k_usual_elements = 0x1p24;  // of a call with the usual time limit
constexpr char k_poison = '\xff';

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

const property& judge_of(const description& d) { return find_property(d.op, d.bench.property); }

// Returns the row's case as its property judges it, with the candidate of the measured values.
trial_case judged_case(const description& d, const bench_row& row) {
  static std::map<std::string, listed_operator> measured;
  const warpcheck_operator table = operator_of_rows(d.op.c_str(), WARPCHECK_DEVICE_CPU, ~0u, answer);
  name_candidate(k_measured, measured.try_emplace(d.op, table).first->second);
  trial_case c = case_of(d, row);
  c.property = judge_of(d).name;
  c.knobs["device"] = "cpu";
  c.knobs["candidate"] = k_measured;
  return c;
}

// True if the first argument of the recipe is a seed.
bool is_drawn_by_seed(const recipe& fill) { return fill.distribution == "uniform" || fill.distribution == "integers"; }

// Returns a tensor of which only a prime number of values is drawn, so that few slices are alike.
host_tensor repeated(const tensor_spec& t) {
  tensor_spec first = t;
  first.shape = {k_period};
  const host_tensor drawn = materialize(first);
  host_tensor all(t);
  for (size_t done = 0; done < all.bytes.size(); done += drawn.bytes.size())
    std::memcpy(all.bytes.data() + done, drawn.bytes.data(), std::min(drawn.bytes.size(), all.bytes.size() - done));
  return all;
}

// Gives an element in 256, at random places, a size of 100 to 400: a callee is to be right not only for the usual
// values, and nobody finds such elements without reading all.
void add_peaks(host_tensor* values, uint64_t seed) {
  constexpr uint64_t k_apart = 256;
  const auto count = static_cast<uint64_t>(values->spec.elements());
  for (uint64_t begin = 0; begin < count; begin += k_apart) {
    const uint64_t drawn = hash64(seed, begin), place = begin + drawn % k_apart;
    const double size = 100 + static_cast<double>((drawn >> 8) % 301);
    if (place < count)
      values->set_bits(0, static_cast<int64_t>(place), encode(values->spec.type, drawn >> 63 ? size : -size));
  }
}

// Returns the values of a call's inputs, if some follow from others; of long inputs only a part is drawn.
tensor_map completed_inputs(const description& d, const trial_case& c) {
  tensor_map inputs;
  if (!d.derive) return inputs;
  for (const tensor_spec& x : c.tensors)
    if (x.is_input && x.name != d.bench.selection)
      inputs.emplace(x.name, x.elements() > k_period ? repeated(x) : materialize(x));
  complete_inputs(c, inputs);
  return inputs;
}

bool is_all(const char* x, size_t size, char byte) {
  return std::all_of(x, x + size, [=](char each) { return each == byte; });
}

// Returns the reason why a case did not pass, from its report.
std::string why(const case_report& r) {
  if (r.result == verdict::pass) return "nothing was compared";
  std::string text = r.message;
  if (r.worst)
    text +=
        fmt::format(": {}[{},{}] is {:.9g}, expected {:.9g}: the error is {:.3g} of at most {:.3g}", r.worst->tensor,
                    r.worst->row, r.worst->col, r.worst->actual, r.worst->expected, r.worst->error, r.worst->bound);
  return text;
}

std::string thrown_by_candidate(const candidate_exception& e) {
  try {
    std::rethrow_exception(e.what);
  } catch (const runner_failed& failed) {
    return failed.what();
  } catch (...) {
    return "the candidate threw " + thrown_text(e.what);
  }
}

}  // namespace

// A call on the tensors of a slot.
struct timed_call::prepared {
  prepared(const trial_case& c, const std::vector<char*>& places, DLDevice device, void* stream)
      : shapes(c.tensors.size()), strides(c.tensors.size()) {
    for (size_t i = 0; i < c.tensors.size(); ++i) {
      const tensor_spec& t = c.tensors[i];
      shapes[i] = t.shape;
      strides[i] = strides_of(t);
      tensors.push_back(tensor_of(t, places[i], device, shapes[i], strides[i]));
    }
    call = std::make_unique<prepared_call>(c, tensors, stream);
  }

  std::vector<std::vector<int64_t>> shapes, strides;
  std::vector<DLTensor> tensors;
  std::unique_ptr<prepared_call> call;
};

timed_call::timed_call(const description& d, const bench_row& row, const bench_device& on)
    : described_(d),
      row_(row),
      device_(on),
      limit_share_(std::max(1.0, static_cast<double>(elements_of(d, row)) / k_usual_elements)),
      case_(case_of(d, row)) {
  places_.resize(case_.tensors.size());
  if (!row.variant.empty()) case_.knobs["variant"] = row.variant;
  const std::vector<int64_t> shape = case_.tensors.front().shape;
  for (tensor_spec& t : case_.tensors)
    if (t.shape == shape) t.offset = row.offset;
  const size_t in_bytes = place(area::slot_inputs), out_bytes = place(area::slot_outputs);
  memory_ = on.timing.allocate(in_bytes, out_bytes);
  if (const size_t shared_bytes = place(area::shared_inputs)) shared_ = on.timing.allocate(shared_bytes, 0);
  fill_inputs(yielding([&] { return completed_inputs(d, case_); }));
  for (int slot = 0; slot < memory_.count; ++slot) {
    std::vector<char*> places;
    for (size_t i = 0; i < places_.size(); ++i) places.push_back(at(i, slot));
    prepared_.push_back(std::make_unique<prepared>(case_, places, on.place, on.stream));
  }
}

timed_call::~timed_call() = default;

std::vector<const warpcheck_call*> timed_call::calls() const {
  std::vector<const warpcheck_call*> all;
  for (const auto& each : prepared_) all.push_back(&each->call->view());
  return all;
}

timed_call::area timed_call::area_of(const tensor_spec& t) const {
  if (!t.is_input) return area::slot_outputs;
  const std::string& selection = described_.bench.selection;
  return case_.find(selection) && t.name != selection ? area::shared_inputs : area::slot_inputs;
}

// Assigns the tensors of an area their places in it; returns their total bytes.
size_t timed_call::place(area where) {
  size_t end = 0;
  for (size_t i = 0; i < places_.size(); ++i) {
    const tensor_spec& t = case_.tensors[i];
    if (area_of(t) != where) continue;
    places_[i] = (end + k_alignment - 1) / k_alignment * k_alignment + static_cast<size_t>(t.offset) * size_of(t.type);
    end = places_[i] + bytes_of(t);
  }
  return end;
}

char* timed_call::at(size_t i, int slot) const {
  switch (area_of(case_.tensors[i])) {
    case area::slot_inputs: return memory_.input(slot) + places_[i];
    case area::slot_outputs: return memory_.output(slot) + places_[i];
    case area::shared_inputs: return shared_.input(0) + places_[i];
  }
  return nullptr;
}

void timed_call::write(char* to, const void* from, size_t bytes) const {
  if (device_.api.copy_in(to, from, bytes)) throw std::runtime_error(device_.api.last_error());
}

void timed_call::read(void* to, const char* from, size_t bytes) const {
  if (device_.api.copy_out(to, from, bytes)) throw std::runtime_error(device_.api.last_error());
}

// Returns the values that fill tensor i, repeated as often as needed: random values in [-8, 8), the values of the row's
// recipe, or completed ones. For a selection it is one of all slices.
host_tensor timed_call::values_of(size_t i, const tensor_map& completed) const {
  tensor_spec t = case_.tensors[i];
  if (t.name == described_.bench.selection) {
    t.shape = {row_.of.at(t.name)};
    return materialize(t);
  }
  if (const auto made = completed.find(t.name); made != completed.end()) return made->second;
  if (is_random(t)) return random_values(i, i);
  if (row_.fills.contains(t.name)) return materialize(t);
  throw usage_error(fmt::format("bench row {}: input {} of type {} needs a fill", bench::name_of(described_, row_),
                                t.name, warpcheck::name_of(t.type)));
}

// True if the values are uniform in [-8, 8), or drawn by the row's recipe.
bool timed_call::is_random(const tensor_spec& t) const {
  const auto own = row_.fills.find(t.name);
  return own == row_.fills.end() ? is_float(t.type) : is_drawn_by_seed(own->second);
}

host_tensor timed_call::random_values(size_t i, uint64_t seed) const {
  tensor_spec t = case_.tensors[i];
  t.shape = {std::min(t.elements(), k_period)};
  t.fill = make_recipe("uniform", {static_cast<double>(seed), -8, 8});
  // The row's own recipe with another seed.
  if (const auto own = row_.fills.find(t.name); own != row_.fills.end()) {
    t.fill = own->second;
    t.fill.arguments.front() = static_cast<double>(seed);
  }
  return materialize(t);
}

// The host writes the values once; the device repeats them.
void timed_call::write_over_and_over(char* to, size_t size, const std::vector<std::byte>& values, size_t from) const {
  const size_t rest = std::min(values.size() - from, size), once = std::min(values.size(), size);
  write(to, values.data() + from, rest);
  if (once > rest) write(to + rest, values.data(), once - rest);
  for (size_t done = once; done < size; done *= 2) device_.timing.copy(to + done, to, std::min(done, size - done));
}

// In each slot random values begin elsewhere, and a selection continues where that of the last slot ended.
void timed_call::fill_inputs(const tensor_map& completed) const {
  for (size_t i = 0; i < places_.size(); ++i) {
    const tensor_spec& t = case_.tensors[i];
    if (!t.is_input || t.elements() == 0) continue;
    const host_tensor made = yielding([&] { return values_of(i, completed); });
    const size_t all = made.bytes.size(), own = bytes_of(t);
    const int copies = area_of(t) == area::shared_inputs ? 1 : memory_.count;
    for (int slot = 0; slot < copies; ++slot) {
      size_t from = 0;
      if (t.name == described_.bench.selection)
        from = static_cast<size_t>(slot) % (all / own) * own;
      else if (!completed.contains(t.name) && is_random(t))
        from = static_cast<size_t>(slot * (k_period / 7)) * size_of(t.type) % all;
      write_over_and_over(at(i, slot), own, made.bytes, from);
    }
  }
}

std::string timed_call::run(const listed_operator& callee, int i) {
  prepared_call& call = *prepared_[static_cast<size_t>(i % memory_.count)]->call;
  const auto fail = [&](const std::string& problem) {
    try {
      device_.wait();  // for the calls before it
    } catch (const std::exception&) {
      // The first problem counts.
    }
    throw std::runtime_error(fmt::format("{}: {}", bench::name_of(described_, row_), problem));
  };
  device_.limit->begin(&callee, "a call of " + bench::name_of(described_, row_), limit_share_);
  const unsigned controls = floating_point_controls();
  try {
    if (call.run(callee) != WARPCHECK_OK) fail(call.message());
  } catch (const candidate_exception& e) {
    fail(thrown_by_candidate(e));
  }
  if (floating_point_controls() != controls) {
    restore_floating_point_controls(controls);  // the judge computes with them, too
    fail("the call changed the floating-point controls");
  }
  return call.view().used_variant == nullptr ? "" : call.view().used_variant;
}

std::string timed_call::count(const listed_operator& callee) {
  device_.wait();
  run(callee, 0);
  return device_.wait();
}

void timed_call::run_into(const listed_operator& callee, char byte) {
  device_.wait();
  device_.timing.fill(memory_.output(0), byte, memory_.output_stride);
  run(callee, 0);
  device_.wait();
}

template <class Counts>
int64_t timed_call::count_elements(size_t i, const Counts& counts) const {
  const size_t all = bytes_of(case_.tensors[i]), size = size_of(case_.tensors[i].type);
  std::vector<char> chunk(std::min(k_chunk, all));
  int64_t count = 0;
  for (size_t done = 0; done < all; done += k_chunk) {
    const size_t bytes = std::min(k_chunk, all - done);
    read(chunk.data(), at(i) + done, bytes);
    for (size_t k = 0; k < bytes; k += size) count += counts(done + k, chunk.data() + k, size);
  }
  return count;
}

// A result may consist of one bits. If it consists of zeros after another execution into zeros, nobody wrote it.
void timed_call::check_all_written(const listed_operator& callee) {
  run_into(callee, k_poison);
  std::map<size_t, std::vector<char>> suspects;  // by tensor
  for (size_t i = 0; i < places_.size(); ++i) {
    const tensor_spec& t = case_.tensors[i];
    if (!t.is_input && !t.is_workspace() &&
        count_elements(i, [](size_t, const char* x, size_t size) { return is_all(x, size, k_poison); }))
      read(suspects.try_emplace(i, bytes_of(t)).first->second.data(), at(i), bytes_of(t));
  }
  if (suspects.empty()) return;
  run_into(callee, 0);
  for (const auto& [i, before] : suspects) {
    const int64_t left = count_elements(i, [&, &first = before](size_t begin, const char* x, size_t size) {
      return is_all(x, size, 0) && is_all(first.data() + begin, size, k_poison);
    });
    if (left > 0)
      throw std::runtime_error(fmt::format("{}: {} elements of {} not written", bench::name_of(described_, row_), left,
                                           case_.tensors[i].name));
  }
}

void timed_call::verify(const listed_operator& callee) {
  check_all_written(callee);
  for (const bench_part& part : parts(1 << 20, std::nullopt)) verify_part(part);
}

std::vector<bench_part> timed_call::parts(int64_t elements, std::optional<uint64_t> seed) const {
  constexpr int64_t k_pieces = 16;
  if (described_.bench.parts)
    return described_.bench.parts(row_, seed.value_or(0),
                                  static_cast<int>(std::clamp<int64_t>(elements >> 14, 1, k_pieces)));
  int64_t largest = 1;
  for (const tensor_spec& t : case_.tensors) largest = std::max(largest, t.elements());
  // A few pieces of consecutive slices: the first and the last among them, or at places drawn by the seed.
  const int64_t slices = described_.bench.slices.empty() ? 1 : row_.of.at(described_.bench.slices);
  if (slices == 0) return {};
  const int64_t length = std::max<int64_t>(1, largest / slices);
  const int64_t wanted = std::min(slices, length == 1 ? k_pieces * elements : std::max<int64_t>(2, elements / length));
  const int64_t pieces = std::min(wanted, k_pieces), of_piece = (wanted + pieces - 1) / pieces;
  std::vector<bench_part> list;
  for (int64_t p = 0; p < pieces; ++p) {
    const int64_t last = slices - of_piece;
    list.push_back(slices_from(seed ? static_cast<int64_t>(hash64(*seed, static_cast<uint64_t>(p)) % (last + 1))
                               : pieces == 1 ? 0
                                             : p * last / (pieces - 1),
                               of_piece));
  }
  return list;
}

bench_part timed_call::slices_from(int64_t first, int64_t count) const {
  bench_part part{"", row_, {}};
  if (const std::string& slices = described_.bench.slices; !slices.empty()) {
    part.name = fmt::format("{} {} to {}", slices, first, first + count - 1);
    part.row.of[slices] = count;
  }
  for (const tensor_spec& t : judged_case(described_, part.row).tensors) {
    bench_part::box box{t.name, t.name, std::vector<int64_t>(t.shape.size()), t.shape};
    for (size_t d = 0; d < t.shape.size(); ++d)
      if (t.shape[d] != case_.at(t.name).shape[d]) box.begin[d] = first * (t.shape[d] / count);
    part.boxes.push_back(std::move(box));
  }
  return part;
}

// Tensor i of the judged results.
const char* timed_call::judged_data(size_t i) const {
  if (!judges_kept_) return at(i);
  if (!case_.tensors[i].is_input) return kept_outputs_.get() + places_[i];
  return has_new_inputs() ? expected_inputs_.get() + places_[i] : at(i, judged_slot_);
}

// Reads a box from the device's memory.
void timed_call::read_box(const bench_part::box& box, host_tensor* to) const {
  const tensor_spec& whole = case_.at(box.from);
  const size_t size = size_of(whole.type), rank = whole.shape.size();
  const auto bytes_from = [&](const std::vector<int64_t>& shape, size_t dimension) {
    return std::accumulate(shape.begin() + static_cast<std::ptrdiff_t>(dimension), shape.end(), size,
                           [](size_t bytes, int64_t extent) { return bytes * static_cast<size_t>(extent); });
  };
  // A run has all dimensions after d.
  size_t d = std::max<size_t>(1, rank) - 1;
  while (d > 0 && box.shape[d] == whole.shape[d]) --d;
  const size_t own = bytes_from(box.shape, d), lines = d == 0 ? 1 : static_cast<size_t>(box.shape[d - 1]),
               apart = lines == 1 ? own : bytes_from(whole.shape, d), all = bytes_from(box.shape, 0);
  std::byte* const out = to->bytes.data() + static_cast<size_t>(box.at) * size;
  for (size_t done = 0; done < all; done += own * lines) {
    size_t group = done / (own * lines), offset = 0;
    for (size_t k = rank; k-- > 0;) {
      auto at = static_cast<size_t>(box.begin[k]);
      if (k + 1 < d) {
        at += group % static_cast<size_t>(box.shape[k]);
        group /= static_cast<size_t>(box.shape[k]);
      }
      offset += at * bytes_from(whole.shape, k + 1);
    }
    device_.timing.read_lines(out + done, judged_data(static_cast<size_t>(&whole - case_.tensors.data())) + offset, own,
                              apart, lines);
  }
}

bool timed_call::has_new_inputs() const { return !described_.derive && described_.bench.selection.empty(); }

void timed_call::poison_outputs() {
  device_.timing.fill(memory_.output(0), k_poison, memory_.output_stride * static_cast<size_t>(memory_.count));
}

void timed_call::draw_inputs(uint64_t seed) {
  if (!kept_outputs_) kept_outputs_ = device_.timing.reserve(memory_.output_stride);
  if (!has_new_inputs()) return;
  if (!expected_inputs_) {
    expected_inputs_ = device_.timing.reserve(memory_.input_stride);
    drawn_ = device_.timing.reserve(drawn_place(places_.size()));
  }
  const auto drawn = yielding([&] {
    std::map<size_t, host_tensor> all;
    for (size_t i = 0; i < places_.size(); ++i) {
      const tensor_spec& t = case_.tensors[i];
      if (!t.is_input || t.elements() == 0) continue;
      host_tensor& values = all.emplace(i, random_values(i, hash64(seed, i) >> 11)).first->second;
      if (!row_.fills.contains(t.name)) add_peaks(&values, hash64(seed, i, 1));
    }
    return all;
  });
  for (const auto& [i, values] : drawn) write(drawn_.get() + drawn_place(i), values.bytes.data(), values.bytes.size());
}

size_t timed_call::drawn_place(size_t i) const {
  size_t bytes = 0;
  for (const tensor_spec& t : std::span(case_.tensors).first(i))
    if (t.is_input) bytes += static_cast<size_t>(std::min(t.elements(), k_period)) * size_of(t.type) + k_alignment;
  return bytes;
}

void timed_call::copy_drawn(char* inputs, uint64_t from) const {
  for (size_t i = 0; i < places_.size(); ++i) {
    const tensor_spec& t = case_.tensors[i];
    if (!t.is_input || t.elements() == 0) continue;
    const size_t count = static_cast<size_t>(std::min(t.elements(), k_period));
    const size_t begin = is_random(t) ? hash64(from, i) % count * size_of(t.type) : 0;
    const size_t all = bytes_of(t), once = count * size_of(t.type), rest = once - begin;
    const char* const values = drawn_.get() + drawn_place(i);
    char* const to = inputs + places_[i];
    device_.timing.copy(to, values + begin, rest);
    if (begin > 0) device_.timing.copy(to + rest, values, begin);
    for (size_t done = once; done < all; done *= 2) device_.timing.copy(to + done, to, std::min(done, all - done));
  }
}

void timed_call::give_inputs(int i, uint64_t from) {
  if (!has_new_inputs()) return;
  given_[i % memory_.count] = from;
  copy_drawn(memory_.input(i), from);
}

void timed_call::poison_outputs(int i) { device_.timing.fill(memory_.output(i), k_poison, memory_.output_stride); }

void timed_call::poison_parts(int i, uint64_t seed) {
  for (const peeked& p : looked_at(i % memory_.count, seed))
    device_.timing.fill(static_cast<char*>(const_cast<void*>(p.place)), k_poison, p.bytes);
}

std::vector<peeked> timed_call::judged_parts(const std::vector<int>& executions, uint64_t seed) const {
  std::vector<peeked> parts;
  for (const int i : executions) {
    parts.push_back({memory_.input(i), memory_.input_stride});
    parts.push_back({memory_.output(i), memory_.output_stride});
  }
  for (int slot = 0; slot < memory_.count; ++slot)
    for (const peeked& p : looked_at(slot, seed)) parts.push_back(p);
  return parts;
}

void timed_call::keep(int i) {
  judged_slot_ = i % memory_.count;
  if (has_new_inputs()) copy_drawn(expected_inputs_.get(), given_.at(judged_slot_));
  device_.timing.copy(kept_outputs_.get(), memory_.output(i), memory_.output_stride);
}

std::vector<peeked> timed_call::looked_at(int slot, uint64_t seed) const {
  constexpr size_t k_piece = 4096;  // bytes
  std::vector<peeked> parts;
  for (size_t i = 0; i < places_.size(); ++i) {
    const size_t all = bytes_of(case_.tensors[i]), some = std::min(all, k_piece);
    if (case_.tensors[i].is_input || case_.tensors[i].is_workspace() || all == 0) continue;
    const uint64_t drawn = hash64(hash64(seed, static_cast<uint64_t>(slot)), i);
    parts.push_back({at(i, slot) + drawn % (all - some + 1), some});
  }
  return parts;
}

// One result may consist of one bits, but not all outputs at once.
bool timed_call::is_poisoned(int slot, uint64_t seed) const {
  const std::vector<peeked> parts = looked_at(slot, seed);
  return !parts.empty() && std::ranges::all_of(parts, [&](const peeked& p) {
    std::vector<char> now(p.bytes);
    read(now.data(), static_cast<const char*>(p.place), p.bytes);
    return is_all(now.data(), now.size(), k_poison);
  });
}

std::vector<peeked> timed_call::parts_of_results(uint64_t seed) const {
  constexpr size_t k_part = 64;  // bytes
  std::vector<peeked> parts;
  const auto result = std::ranges::find_if(
      case_.tensors, [](const tensor_spec& t) { return !t.is_input && !t.is_workspace() && t.elements() > 0; });
  if (result == case_.tensors.end()) return parts;
  const size_t all = bytes_of(*result), some = std::min(all, k_part);
  for (int slot = 0; slot < memory_.count; ++slot)
    parts.push_back({at(static_cast<size_t>(result - case_.tensors.begin()), slot) +
                         hash64(seed, static_cast<uint64_t>(slot)) % (all - some + 1),
                     some});
  return parts;
}

void timed_call::check_inputs(uint64_t seed) const {
  if (!has_new_inputs()) return;
  for (size_t i = 0; i < places_.size(); ++i) {
    const size_t all = bytes_of(case_.tensors[i]);
    if (!case_.tensors[i].is_input || all == 0) continue;
    std::vector<char> now(std::min(all, k_chunk)), before(now.size());
    const size_t from = hash64(seed, i) % (all - now.size() + 1);
    read(now.data(), at(i, judged_slot_) + from, now.size());
    read(before.data(), expected_inputs_.get() + places_[i] + from, before.size());
    if (now != before)
      throw std::runtime_error(fmt::format("{}: a call changed its inputs", bench::name_of(described_, row_)));
  }
}

void timed_call::judge_kept(const std::set<int>& used, uint64_t seed, int64_t elements) {
  for (const int slot : used)
    if (is_poisoned(slot, seed))
      throw std::runtime_error(
          fmt::format("{}: a timed call wrote nothing into slot {}", bench::name_of(described_, row_), slot));
  check_inputs(seed);
  judges_kept_ = true;
  const std::shared_ptr<void> back(nullptr, [this](void*) { judges_kept_ = false; });
  // There are many turns, and the callee does not know which slices are examined.
  for (const bench_part& part : parts(elements, hash64(seed, ~uint64_t{0}))) verify_part(part);
}

// Judges the part as a case of its own, whose inputs and results are the contents of the device's memory.
void timed_call::verify_part(const bench_part& part) const {
  const trial_case c = judged_case(described_, part.row);
  std::vector<host_tensor> inputs, outputs;
  for (const tensor_spec& t : c.tensors) {
    host_tensor& x = (t.is_input ? inputs : outputs).emplace_back(t);
    for (const bench_part::box& box : part.boxes)
      if (box.tensor == t.name) read_box(box, &x);
  }
  const auto others = device_.timing.yield();
  g_measured = &outputs;
  trial t(c);
  for (host_tensor& x : inputs) {
    // A slice has tables of its own.
    const bool is_of_slice = x.spec.fill.distribution == "derived" && x.spec.shape != case_.at(x.spec.name).shape;
    if (!is_of_slice) t.give(std::move(x));
  }
  try {
    judge_of(described_).check(t);
  } catch (const trial_over&) {
    // The verdict is in the report.
  }
  const case_report report = t.finish();
  if (report.result == verdict::pass && report.compared > 0) return;
  throw std::runtime_error(fmt::format("{}: {}{}{}", bench::name_of(described_, row_), part.name,
                                       part.name.empty() ? "" : ": ", why(report)));
}

}  // namespace warpcheck::bench
