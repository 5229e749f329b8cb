#include "bench/row_bench.hpp"

#include <benchmark/benchmark.h>
#include <dlfcn.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <random>
#include <stdexcept>
#include <string>

#include "bench/peer_times.hpp"
#include "reference/argmax.hpp"
#include "reference/numerics/float_value.hpp"

#ifndef WARPCHECK_COMMIT
#error "define WARPCHECK_COMMIT: a number without its commit is not printed"
#endif

namespace warpcheck::bench {
namespace {

constexpr int k_repeats = 101;

// Elements of an operator of one dimension that are verified in one piece.
constexpr int64_t k_piece = 1 << 20;

dtype dtype_of(element type) {
  constexpr dtype k_types[] = {dtype::f32, dtype::f16, dtype::bf16};
  return k_types[static_cast<int>(type)];
}
size_t bytes_of(element type) { return size_of(dtype_of(type)); }
int64_t stride_of(const row_case& row) { return row.ld == 0 ? row.cols : row.ld; }
size_t bytes_in(const row_case& row) { return static_cast<size_t>(row.rows * row.cols) * bytes_of(row.type); }

bool is_matrix(const row_operator& op) {
  return op.result == row_operator::output::matrix || op.result == row_operator::output::index_matrix;
}

size_t bytes_out(const row_operator& op, const row_case& row) {
  switch (op.result) {
    case row_operator::output::matrix:
    case row_operator::output::index_matrix: return bytes_in(row);
    case row_operator::output::values: return static_cast<size_t>(row.rows) * bytes_of(row.type);
    default: return static_cast<size_t>(row.rows) * sizeof(int64_t);
  }
}

std::string name_of(const row_operator& op, const row_case& row) {
  std::string text = std::string(op.name) + "/" + std::string(warpcheck::name_of(dtype_of(row.type))) + "/" +
                     std::to_string(row.rows) + "x" + std::to_string(row.cols);
  if (row.ld != 0) text += "/ld:" + std::to_string(row.ld);
  if (row.offset != 0) text += "/offset:" + std::to_string(row.offset);
  if (row.argmax) text += "/argmax";
  if (row.variant != nullptr) text += std::string("/") + row.variant;
  return text;
}

// Of the results.
dtype result_type(const row_operator& op, const row_case& row) {
  if (op.result == row_operator::output::indices) return dtype::i64;
  return op.result == row_operator::output::index_matrix ? dtype::i32 : dtype_of(row.type);
}

// Element i of an array, exactly.
double value_of(const std::vector<char>& data, dtype type, size_t i) {
  uint64_t bits = 0;
  std::memcpy(&bits, data.data() + i * size_of(type), size_of(type));  // little endian, as the GPU is
  if (type == dtype::i64) return static_cast<double>(static_cast<int64_t>(bits));
  return type == dtype::i32 ? static_cast<int32_t>(bits) : reference::decode(type, bits);
}

void expect(const reference::judgement& j, const std::string& what, double actual) {
  if (j.accepted) return;
  char text[160];
  std::snprintf(text, sizeof text, " is %.9g, expected %.9g: the error is %.3g of at most %.3g", actual, j.expected,
                j.error, j.bound);
  throw std::runtime_error(what + text);
}

// A candidate library that is timed in turn with the builtin.
struct peer {
  std::string name;
  const warpcheck_candidate* table;

  const warpcheck_operator* find(const char* name_of_operator) const {
    for (int32_t i = 0; i < table->num_operators; ++i)
      if (std::strcmp(table->operators[i]->name, name_of_operator) == 0 &&
          table->operators[i]->device == WARPCHECK_DEVICE_CUDA)
        return table->operators[i];
    return nullptr;
  }
};

peer load_peer(const std::string& file) {
  void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw std::runtime_error(std::string("peer: ") + dlerror());
  const auto get = reinterpret_cast<warpcheck_candidate_get_fn>(dlsym(library, "warpcheck_candidate_get"));
  const warpcheck_candidate* const table = get == nullptr ? nullptr : get(WARPCHECK_CANDIDATE_ABI);
  if (table == nullptr) throw std::runtime_error("peer: '" + file + "' is not a candidate of this ABI version");
  return {table->name, table};
}

// Of the library of built-in kernels that lies beside the program.
const warpcheck_operator* find_builtin(const char* name) {
  const std::string file = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "libwarpcheck_cuda.so";
  const warpcheck_operator* const found = load_peer(file).find(name);
  if (found == nullptr) throw std::runtime_error("'" + file + "' has no operator '" + name + "' for CUDA");
  return found;
}

// Median of a / median of b with the 95 % interval of a seeded bootstrap.
struct ratio {
  double value = 0;
  double low = 0;
  double high = 0;
};

ratio ratio_of_medians(const std::vector<double>& a, const std::vector<double>& b) {
  constexpr int k_resamples = 1000;
  std::mt19937 random(1);
  std::vector<double> ratios;
  const auto resample = [&](const std::vector<double>& from) {
    std::uniform_int_distribution<size_t> pick(0, from.size() - 1);
    std::vector<double> sample(from.size());
    for (double& value : sample) value = from[pick(random)];
    return median(sample);
  };
  for (int i = 0; i < k_resamples; ++i) ratios.push_back(resample(a) / resample(b));
  std::sort(ratios.begin(), ratios.end());
  return {median(a) / median(b), ratios[k_resamples / 40], ratios[k_resamples - 1 - k_resamples / 40]};
}

// The device memory of one row of the table and the calls on it.
class row_run {
 public:
  row_run(const row_operator& op, const row_case& row, size_t flush_bytes, cudaStream_t stream)
      : op_(op), row_(row), ring_(input_allocation(), output_allocation(), flush_bytes), stream_(stream) {
    ring_.fill_inputs(row.type, 8.0f, stream);
    ring_.poison_outputs(stream);
    if (row.argmax) check(cudaMalloc(&argmax_, static_cast<size_t>(row.rows) * sizeof(int64_t)), "argmax buffer");
    check(cudaStreamSynchronize(stream), "inputs");
  }
  ~row_run() { cudaFree(argmax_); }
  row_run(const row_run&) = delete;
  row_run& operator=(const row_run&) = delete;

  const buffer_ring& ring() const { return ring_; }

  // Enqueues execution i; returns what ran, "" if the callee does not say. Throws if the call fails.
  std::string run(const warpcheck_operator* callee, int i) {
    last_ = i;
    const size_t element_bytes = bytes_of(row_.type);
    const auto start = static_cast<uint64_t>(row_.offset) * element_bytes;
    const DLDataType type{static_cast<uint8_t>(row_.type == element::bf16 ? kDLBfloat : kDLFloat),
                          static_cast<uint8_t>(element_bytes * 8), 1};
    const DLDataType index_type{kDLInt, 64, 1}, narrow_index_type{kDLInt, 32, 1};
    const DLDataType result_type = op_.result == row_operator::output::indices        ? index_type
                                   : op_.result == row_operator::output::index_matrix ? narrow_index_type
                                                                                      : type;
    const bool matrix = is_matrix(op_);
    const int dimensions = op_.one_dimensional ? 1 : 2;
    int64_t shape[] = {op_.one_dimensional ? row_.rows * row_.cols : row_.rows, row_.cols};
    int64_t strides[] = {op_.one_dimensional ? 1 : stride_of(row_), 1};
    int64_t unit = 1;
    const DLDevice device{kDLCUDA, 0};
    DLTensor x{ring_.input(i), device, dimensions, type, shape, strides, start};
    DLTensor y{ring_.output(i),   device, matrix ? dimensions : 1, result_type, shape, matrix ? strides : &unit,
               matrix ? start : 0};
    DLTensor index{argmax_, device, 1, index_type, shape, &unit, 0};
    const DLTensor* inputs[] = {&x};
    DLTensor* outputs[] = {&y, row_.argmax ? &index : nullptr};
    char message[256] = "";
    warpcheck_call call{};
    call.struct_size = sizeof call;
    call.inputs = inputs;
    call.outputs = outputs;
    call.scalars = op_.scalars.data();
    call.num_inputs = 1;
    call.num_outputs = row_.argmax ? 2 : 1;
    call.num_scalars = static_cast<int32_t>(op_.scalars.size());
    call.variant = row_.variant;
    call.stream = stream_;
    call.message = message;
    call.message_size = sizeof message;
    if (callee->run(&call) != WARPCHECK_OK) throw std::runtime_error(name_of(op_, row_) + ": " + message);
    return call.used_variant == nullptr ? "" : call.used_variant;
  }

  // Checks the last execution: every output written, and about a million elements of whole rows by the exact model.
  void verify() const {
    const size_t element_bytes = bytes_of(row_.type), result_bytes = size_of(result_type(op_, row_));
    const size_t start = static_cast<size_t>(row_.offset) * element_bytes;
    const bool matrix = is_matrix(op_);
    const char* const x = static_cast<const char*>(ring_.input(last_)) + start;
    const char* const y = static_cast<const char*>(ring_.output(last_)) + (matrix ? start : 0);
    if (!matrix || (stride_of(row_) == row_.cols && row_.offset == 0)) {
      const int64_t left = count_poison(y, bytes_out(op_, row_), element_bytes == 2 ? 2 : 4, stream_);
      if (left != 0)
        throw std::runtime_error(name_of(op_, row_) + ": " + std::to_string(left) + " outputs not written");
    }
    const int64_t elements = row_.rows * row_.cols;
    const int64_t length = op_.one_dimensional ? std::min(elements, k_piece) : row_.cols;
    const int64_t places = op_.one_dimensional ? elements - length + 1 : row_.rows;
    const int64_t samples =
        std::min(places, std::max<int64_t>(op_.one_dimensional ? 16 : 2, (int64_t{1} << 20) / length));
    std::vector<char> host_x(static_cast<size_t>(length) * element_bytes);
    std::vector<char> host_y(matrix ? static_cast<size_t>(length) * result_bytes : result_bytes);
    for (int64_t s = 0; s < samples; ++s) {
      const int64_t r = samples == 1 ? 0 : s * (places - 1) / (samples - 1);
      const int64_t from = r * (op_.one_dimensional ? 1 : stride_of(row_));
      const int64_t to = matrix ? from : r;
      check(cudaMemcpy(host_x.data(), x + static_cast<size_t>(from) * element_bytes, host_x.size(),
                       cudaMemcpyDeviceToHost),
            "verification");
      check(
          cudaMemcpy(host_y.data(), y + static_cast<size_t>(to) * result_bytes, host_y.size(), cudaMemcpyDeviceToHost),
          "verification");
      verify_row(r, host_x, host_y);
    }
  }

  void poison_outputs() { ring_.poison_outputs(stream_); }

 private:
  void verify_row(int64_t r, const std::vector<char>& host_x, const std::vector<char>& host_y) const {
    const dtype type = dtype_of(row_.type), type_of_result = result_type(op_, row_);
    std::vector<double> x(host_x.size() / size_of(type));
    for (size_t i = 0; i < x.size(); ++i) x[i] = value_of(host_x, type, i);
    const std::string place = name_of(op_, row_) + ": in row " + std::to_string(r) + " ";
    const result_judge judge = op_.judge(x, type);
    for (size_t i = 0; i < host_y.size() / size_of(type_of_result); ++i) {
      const double actual = value_of(host_y, type_of_result, i);
      const reference::judgement j = judge(static_cast<int64_t>(i), actual);
      if (!j.accepted) expect(j, place + "output " + std::to_string(i), actual);
    }
    if (!row_.argmax) return;
    int64_t index = -1;
    check(cudaMemcpy(&index, argmax_ + r, sizeof index, cudaMemcpyDeviceToHost), "verification");
    const auto actual = static_cast<double>(index);
    expect(judged_index(reference::argmax(x), actual), place + "argmax", actual);
  }

  size_t input_allocation() const {
    return static_cast<size_t>(row_.rows * stride_of(row_) + row_.offset) * bytes_of(row_.type);
  }
  size_t output_allocation() const { return is_matrix(op_) ? input_allocation() : bytes_out(op_, row_); }

  const row_operator& op_;
  row_case row_;
  buffer_ring ring_;
  cudaStream_t stream_;
  int64_t* argmax_ = nullptr;
  int last_ = 0;
};

struct measurement {
  std::string name;
  std::string variant;
  double us = 0;
  double gbps = 0;
  double fraction = 0;  // of the limit
  double target = 0;
  limit best;
  std::vector<std::pair<std::string, double>> peers;      // each with its median in us
  std::vector<std::pair<std::string, double>> below_bar;  // who, with which fraction
  std::string peer;                                       // the fastest, or empty
  double peer_us = 0;
  ratio to_peer;
};

struct program {
  const row_operator& op;
  const warpcheck_operator* builtin;
  std::vector<peer> peers;
  foreign_times foreign;
  double bar = 0;  // fraction of the limit that ours and peers must have
  size_t flush_bytes = 0;
  cudaStream_t stream = nullptr;
  std::map<size_t, limit> limits;  // by bytes
  std::vector<measurement> results;
  std::vector<row_time> times;
  bool failed = false;
};

// Rows of so small a matrix that the blocks that must share a row to keep the device busy show.
bool has_exchange(const row_operator& op, const row_case& row) {
  constexpr int64_t k_of_block = 4096;  // 1024 threads with a vector each
  return !op.one_dimensional && row.type == element::f32 && row.rows * row.cols <= int64_t{1} << 18 &&
         row.cols > k_of_block;
}

// What the device needs for the bytes of the row at best. Operators of one result per row are bounded by reading.
limit limit_of(program& p, const row_case& row, const buffer_ring& ring) {
  const size_t in = bytes_in(row);
  if (has_exchange(p.op, row))
    return fastest_exchange(ring, in, in / static_cast<size_t>(row.rows), is_matrix(p.op), k_repeats / 2, p.stream);
  limit& known = p.limits[in];
  if (known.us == 0)
    known = is_matrix(p.op) ? fastest_copy(ring, in, k_repeats / 2, p.stream)
                            : fastest_read(ring, in, k_repeats / 2, p.stream);
  return known;
}

// All of the row's bytes over those that its limit moves: reading leaves out the results.
double limit_share(const row_operator& op, const row_case& row) {
  if (has_exchange(op, row) || is_matrix(op)) return 1.0;
  return static_cast<double>(bytes_in(row) + bytes_out(op, row)) / static_cast<double>(bytes_in(row));
}

measurement measure(program& p, const row_case& row, std::vector<double>* times) {
  row_run run(p.op, row, p.flush_bytes, p.stream);
  measurement result;
  result.name = name_of(p.op, row);
  result.target = row.target;
  result.best = limit_of(p, row, run.ring());
  run.poison_outputs();

  // Its limit takes turns with ours, too: it was chosen among many as the fastest, once.
  std::vector<std::string> names{"builtin", "limit"};
  std::vector<std::function<void(int)>> runs{[&](int i) { result.variant = run.run(p.builtin, i); },
                                             [&](int i) { result.best.run(run.ring(), i); }};
  for (const peer& other : p.peers) {
    const warpcheck_operator* const callee = other.find(p.op.name);
    if (callee == nullptr) continue;
    try {
      run.run(callee, 0);
      check(cudaStreamSynchronize(p.stream), "peer");
      run.verify();
    } catch (const std::exception& e) {
      std::fprintf(stderr, "peer %s has no part in this row: %s\n", other.name.c_str(), e.what());
      continue;
    }
    names.push_back(other.name);
    runs.push_back([&run, callee](int i) { run.run(callee, i); });
  }
  run.poison_outputs();
  const std::vector<std::vector<double>> all = time_in_turn(p.stream, k_repeats, runs);
  run.poison_outputs();  // the limit's copies may have written what ours left
  run.run(p.builtin, 0);
  check(cudaStreamSynchronize(p.stream), "last execution");
  run.verify();
  *times = all[0];
  result.us = median(*times);
  result.best.us = median(all[1]) * limit_share(p.op, row);
  result.gbps = static_cast<double>(bytes_in(row) + bytes_out(p.op, row)) / result.us * 1e-3;
  result.fraction = result.best.us / result.us;

  const auto offer = [&](const std::string& name, const std::vector<double>& us) {
    if (us.empty()) return;
    result.peers.emplace_back(name, median(us));
    if (result.peer_us != 0 && median(us) >= result.peer_us) return;
    result.peer = name;
    result.peer_us = median(us);
    result.to_peer = ratio_of_medians(*times, us);
  };
  const auto judge = [&](const std::string& name, double us) {
    if (result.best.us / us < p.bar) result.below_bar.emplace_back(name, result.best.us / us);
  };
  judge(names[0], result.us);
  for (size_t i = 2; i < all.size(); ++i) {
    offer(names[i], all[i]);
    judge(names[i], median(all[i]));
  }
  if (const auto known = p.foreign.find(result.name); known != p.foreign.end())
    for (const auto& [name, us] : known->second) offer(name, us);
  return result;
}

void run_benchmark(benchmark::State& state, program& p, const row_case& row) {
  std::vector<double> times;
  measurement result;
  try {
    result = measure(p, row, &times);
  } catch (const std::exception& e) {
    state.SkipWithError(e.what());
    p.failed = true;
    return;
  }
  size_t i = 0;
  for ([[maybe_unused]] auto _ : state) state.SetIterationTime(times[i++] * 1e-6);
  state.SetBytesProcessed(static_cast<int64_t>(times.size() * (bytes_in(row) + bytes_out(p.op, row))));
  state.counters["median_us"] = result.us;
  state.counters["GBps"] = result.gbps;
  state.counters["fraction_of_limit"] = result.fraction;
  state.counters["limit_us"] = result.best.us;
  for (const auto& [name, us] : result.peers) state.counters["us of " + name] = us;
  if (!result.peer.empty()) {
    state.counters["peer_us"] = result.peer_us;
    state.counters["ratio_to_peer"] = result.to_peer.value;
    state.counters["ratio_low"] = result.to_peer.low;
    state.counters["ratio_high"] = result.to_peer.high;
  }
  state.SetLabel(result.variant + (result.peer.empty() ? "" : " peer:" + result.peer));
  p.results.push_back(result);
  p.times.push_back({row, result.us});
}

void print_table(const std::vector<measurement>& results) {
  std::printf("%-42s %-18s %9s %8s %9s %9s %7s  %-20s %-16s %9s  %s\n", "row", "variant", "us", "GB/s", "limit us",
              "fraction", "target", "limit by", "best peer", "peer us", "us / peer us (95 %)");
  for (const measurement& m : results) {
    std::printf("%-42s %-18s %9.2f %8.1f %9.2f %9.3f %7.2f  %-20s", m.name.c_str(), m.variant.c_str(), m.us, m.gbps,
                m.best.us, m.fraction, m.target, m.best.by.c_str());
    if (m.peer.empty())
      std::printf(" -\n");
    else
      std::printf(" %-16s %9.2f  %.3f (%.3f-%.3f)\n", m.peer.c_str(), m.peer_us, m.to_peer.value, m.to_peer.low,
                  m.to_peer.high);
  }
}

// Whether anything is below the bar; says what.
bool print_below_bar(const std::vector<measurement>& results, double bar) {
  bool any = false;
  for (const measurement& m : results)
    for (const auto& [who, fraction] : m.below_bar) {
      std::fprintf(stderr, "%s: %s has %.3f of the limit, below the bar of %.3f\n", m.name.c_str(), who.c_str(),
                   fraction, bar);
      any = true;
    }
  return any;
}

void print_help() {
  std::printf(
      "Measures the operator next to what the GPU can do at best; bench/README.md says how.\n"
      "          [--peer=<candidate library>]    measured in turn with ours; may be repeated\n"
      "          [--peer-times=<file>]           times that bench/peers/torch_rows.py wrote; may be repeated\n"
      "          [--bar=<fraction>]              exit code 1 if ours or a --peer has less of the limit in any row\n"
      "Exit codes: 0 measured; 1 a row failed or is below the bar; 2 usage; 3 no GPU or library.\n\n");
  benchmark::PrintDefaultHelp();
}

double bar_of(const std::string& text) {
  char* end = nullptr;
  const double bar = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !(bar > 0 && bar <= 1))
    throw std::invalid_argument("--bar: '" + text + "' is not a fraction above 0 and at most 1");
  return bar;
}

}  // namespace

row_case& row_list::add(element type, int64_t rows, int64_t cols) {
  row_case& row = rows_.emplace_back();
  row.type = type;
  row.rows = rows;
  row.cols = cols;
  row.target = target_;
  return row;
}

void row_list::add_listed() {
  constexpr int64_t k_listed[][2] = {{2097152, 32}, {262144, 256}, {65536, 1000}, {65536, 1024}, {65536, 1025},
                                     {16384, 4096}, {8192, 8192},  {4096, 16384}, {2048, 32768}, {1024, 65536},
                                     {512, 131072}, {512, 128256}, {64, 1048576}};
  for (const auto& shape : k_listed) add(element::f32, shape[0], shape[1]);
}

void row_list::add_small() {
  for (const int64_t cols : {32, 1024, 16384, 262144}) add(element::f32, (int64_t{1} << 18) / cols, cols);
}

void row_list::add_misaligned() {
  for (const int64_t cols : {256, 1024, 4096, 32768, 4194304, 16777216})
    add(element::f32, (int64_t{1} << 26) / cols, cols).offset = 1;
}

void row_list::add_half_types() {
  for (const element type : {element::f16, element::bf16})
    for (const int64_t cols : {32, 1024, 4096, 32768}) add(type, (int64_t{1} << 27) / cols, cols);
}

int row_bench_main(int argc, char** argv, const row_operator& op, const std::vector<row_case>& cases) try {
  program p{op, find_builtin(op.name), {}, {}, 0, 0, nullptr, {}, {}, {}, false};
  for (const std::string& file : take_option(&argc, argv, "--peer")) p.peers.push_back(load_peer(file));
  for (const std::string& file : take_option(&argc, argv, "--peer-times")) read_foreign(file, &p.foreign);
  for (const std::string& fraction : take_option(&argc, argv, "--bar")) p.bar = bar_of(fraction);
  benchmark::Initialize(&argc, argv, print_help);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  const std::string gpu = describe_gpu();
  benchmark::AddCustomContext("gpu", gpu);
  benchmark::AddCustomContext("commit", WARPCHECK_COMMIT);
  check(cudaStreamCreate(&p.stream), "cudaStreamCreate");
  int l2_bytes = 0;
  check(cudaDeviceGetAttribute(&l2_bytes, cudaDevAttrL2CacheSize, 0), "cudaDeviceGetAttribute");
  p.flush_bytes = 4 * static_cast<size_t>(l2_bytes);
  for (const row_case& row : cases)
    benchmark::RegisterBenchmark(name_of(op, row).c_str(),
                                 [&p, row](benchmark::State& state) { run_benchmark(state, p, row); })
        ->UseManualTime()
        ->Iterations(k_repeats)
        ->Unit(benchmark::kMicrosecond);
  const double launch = launch_us(11, p.stream);
  benchmark::AddCustomContext("launch_us", std::to_string(launch));
  benchmark::RunSpecifiedBenchmarks();
  if (!p.results.empty()) {  // --benchmark_list_tests prints names alone, for scripts
    std::printf("\n%s, commit %s, empty launch %.2f us\n", gpu.c_str(), WARPCHECK_COMMIT, launch);
    print_table(p.results);
    if (op.print_growth) op.print_growth(p.times);
  }
  check(cudaStreamDestroy(p.stream), "cudaStreamDestroy");
  const bool below = print_below_bar(p.results, p.bar);
  return p.failed || below ? 1 : 0;
} catch (const std::invalid_argument& e) {
  std::fprintf(stderr, "%s_bench: %s\n", op.name, e.what());
  return 2;
} catch (const std::exception& e) {
  std::fprintf(stderr, "%s_bench: %s\n", op.name, e.what());
  return 3;
}

}  // namespace warpcheck::bench
