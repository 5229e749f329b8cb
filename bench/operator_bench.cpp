#include "bench/operator_bench.hpp"

#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <sstream>
#include <stdexcept>

#include "bench/asked_rows.hpp"
#include "bench/confirmation.hpp"
#include "bench/judged_turns.hpp"
#include "bench/measured_rows.hpp"
#include "properties/engine/cases/offer.hpp"
#include "properties/engine/error.hpp"
#include "properties/engine/isolation/isolated_library.hpp"

#ifndef WARPCHECK_COMMIT
#error "define WARPCHECK_COMMIT: a number without its commit is not printed"
#endif

namespace warpcheck::bench {
namespace {

using namespace engine;

// The emulated device would take minutes for more elements.
constexpr int64_t k_emulated_elements = 1 << 18;

void offer_peer(measurement& m, const std::string& name, const std::vector<double>& us) {
  if (us.empty()) return;
  m.peers.emplace_back(name, median(us));
  if (m.peer_us != 0 && median(us) >= m.peer_us) return;
  m.peer = name;
  m.peer_us = median(us);
  m.to_peer = ratio_of_medians(m.times, us);
}

// Prints the reason why a peer is left out of a row.
void refuse(const peer& other, const std::string& why) {
  fmt::print(stderr, "peer {} has no part in this row: {}\n", other.name, why);
}

// The calls of a row on each device.
class calls_of_row {
 public:
  calls_of_row(const program& p, const bench_row& row) {
    for (const bench_device& device : p.devices)
      calls_.emplace(&device, std::make_unique<timed_call>(p.described, row, device));
  }
  timed_call& on(const bench_device& device) const { return *calls_.at(&device); }

 private:
  std::map<const bench_device*, std::unique_ptr<timed_call>> calls_;
};

// Returns the peers whose result is right.
std::vector<peer> peers_of(const program& p, const calls_of_row& calls) {
  std::vector<peer> able;
  for (const peer& other : p.peers) {
    if (other.op == nullptr) continue;
    try {
      calls.on(*other.device).verify(*other.op);
      able.push_back(other);
    } catch (const std::exception& e) {
      refuse(other, e.what());
    }
  }
  return able;
}

// The limit of matrix products; for a matrix times a vector it is reading the matrix.
std::optional<device_limit> limit_of(const program& p, const bench_row& row, const timed_call& call,
                                     const traffic& moved) {
  if (p.described.bench.work)
    if (const product_work work = p.described.bench.work(row); work.m > 1 && work.n > 1)
      return p.device().timing.product_limit(work);
  return p.device().timing.limit(call.memory(), moved);
}

// All runs that take turns in a row: the subject, its limit, the operator's own runs, and the peers.
struct row_runs {
  row_runs(const program& p, const bench_row& row, const calls_of_row& calls, const traffic& moved)
      : reset(p.device().timing.reset),
        limit(limit_of(p, row, calls.on(p.device()), moved)),
        own(p.device().timing.own(p.described.op, calls.on(p.device()).calls())),
        subject(calls.on(p.device()), p.device(), *p.subject),
        peers(peers_of(p, calls)) {
    all.push_back(subject.as_run());
    // This limit was chosen once as the fastest of many.
    if (limit) all.push_back(trusted(limit->run));
    for (const own_run& each : own) all.push_back(trusted(each.run));
    for (const peer& other : peers) {
      turns_of_peers.push_back(std::make_unique<judged_turns>(calls.on(*other.device), *other.device, *other.op));
      all.push_back(turns_of_peers.back()->as_run());
    }
  }
  row_runs(const row_runs&) = delete;

  timed_run trusted(const std::function<void(int)>& run) {
    timed_run each{run};
    each.begin = [this](int, int) { reset(); };  // what the callee of the turn before has set
    each.end = [this](const turn_times& us) { of_trusted.add(us); };
    return each;
  }
  // The most that turns of kernels that hide nothing, our own ones and the limit, seem to hide.
  double usually_hidden_us(const program& p) const {
    double most = of_trusted.usual_us();
    if (p.measures_ours()) most = std::max(most, subject.hidden().usual_us());
    for (size_t i = 0; i < peers.size(); ++i)
      if (peers[i].name == k_ours) most = std::max(most, turns_of_peers[i]->hidden().usual_us());
    return most;
  }
  // Returns whether a callee seems to hide work. `times` has one entry for each of `all`.
  bool seems_to_hide(const program& p, const std::vector<std::vector<double>>& times) const {
    const auto hides = [usual = usually_hidden_us(p)](const judged_turns& of, const std::vector<double>& us) {
      return !of.hidden().problem(median(us), usual).empty();
    };
    bool seems = hides(subject, times[0]);
    for (size_t i = 0, first = times.size() - peers.size(); i < peers.size() && !seems; ++i)
      seems = hides(*turns_of_peers[i], times[first + i]);
    return seems;
  }

  std::function<void()> reset;
  hidden_work of_trusted;  // of the limit and the operator's own runs
  std::optional<device_limit> limit;
  std::vector<own_run> own;
  judged_turns subject;
  std::vector<peer> peers;
  std::vector<std::unique_ptr<judged_turns>> turns_of_peers;
  std::vector<timed_run> all;
};

// Subtracts the part of a call that its target leaves out. Without a GPU nothing is compared.
void compare_with_target(measurement& m, const std::vector<own_run>& own) {
  if (m.row->target_us == 0 || m.limit_us == 0) return;
  double us = m.us;
  for (size_t i = 0; i < own.size(); ++i)
    if (own[i].is_interface) us -= m.own[i].second;
  m.of_target = us / m.row->target_us;
}

// Returns the numbers of a text "barriers=4 wavefronts=8".
std::vector<std::pair<std::string, int64_t>> counts_in(const std::string& text) {
  std::vector<std::pair<std::string, int64_t>> all;
  std::istringstream words(text);
  for (std::string word; words >> word;)
    if (const size_t is = word.find('='); is != std::string::npos)
      all.emplace_back(word.substr(0, is), std::stoll(word.substr(is + 1)));
  return all;
}

// The build with the race detector sees accesses, but would take minutes for more elements.
std::vector<std::pair<std::string, int64_t>> counts_of(const program& p, const bench_row& row) {
  const bool is_small = elements_of(p.described, row) <= k_emulated_elements;
  const counting_build& by = is_small ? p.counting.back() : p.counting.front();
  return counts_in(timed_call(p.described, row, by.device).count(*by.op));
}

measurement measure(program& p, const bench_row& row) {
  const calls_of_row calls(p, row);
  const traffic moved = traffic_of(p.described, row);
  measurement result;
  result.row = &row;
  result.name = name_of(p.described, row);
  if (!p.counting.empty()) result.counts = counts_of(p, row);
  calls.on(p.device()).verify(*p.subject);
  const row_runs runs(p, row, calls, moved);
  const std::vector<std::vector<double>> all =
      turns_of_calm_host([&] { return p.device().timing.in_turn(runs.all); },
                         [&](const std::vector<std::vector<double>>& times) { return runs.seems_to_hide(p, times); });

  result.times = all[0];
  result.us = median(all[0]);
  result.interval = ratio_of_medians(all[0], {1.0});
  if (!p.measures_ours()) result.claims.emplace_back(p.options.candidate, result.us);
  const double usual = runs.usually_hidden_us(p);
  if (const std::string problem = runs.subject.problem(result.us, moved, usual); !problem.empty())
    throw std::runtime_error(problem);
  result.variant = runs.subject.variant();
  result.gbps = static_cast<double>(moved.in + moved.out) / result.us * 1e-3;
  size_t next = 1;
  if (runs.limit) {
    const std::vector<double>& limit = all[next++];
    result.limit_us = median(limit) * runs.limit->times;
    result.limit_by = runs.limit->by;
    const ratio single = ratio_of_medians(limit, result.times);
    result.of_limit = {single.value * runs.limit->times, single.low * runs.limit->times,
                       single.high * runs.limit->times};
  }
  for (const own_run& each : runs.own) result.own.emplace_back(each.name, median(all[next++]));
  if (p.measures_ours()) compare_with_target(result, runs.own);
  const auto judge = [&](const std::string& name, double us) {
    if (result.limit_us / us < p.options.bar) result.below_bar.emplace_back(name, result.limit_us / us);
  };
  judge(p.options.candidate, result.us);
  for (size_t i = 0; i < runs.peers.size(); ++i) {
    const std::vector<double>& us = all[next++];
    if (const std::string problem = runs.turns_of_peers[i]->problem(median(us), moved, usual); !problem.empty()) {
      refuse(runs.peers[i], problem);
      continue;
    }
    offer_peer(result, runs.peers[i].name, us);
    if (runs.peers[i].name != k_ours) result.claims.emplace_back(runs.peers[i].name, median(us));
    judge(runs.peers[i].name, median(us));
  }
  if (const auto known = p.foreign.find(result.name); known != p.foreign.end())
    for (const auto& [name, us] : known->second) offer_peer(result, name, us);
  return result;
}

// `place`: "row 2 of 5".
void run_benchmark(benchmark::State& state, program& p, const bench_row& row, const std::string& place) {
  measurement m;
  try {
    const auto shown = p.options.show ? p.options.show("bench, " + place + ", " + name_of(p.described, row)) : nullptr;
    m = measure(p, row);
  } catch (const std::exception& e) {
    state.SkipWithError(e.what());
    p.failed = true;
    return;
  }
  size_t i = 0;
  for ([[maybe_unused]] auto _ : state) state.SetIterationTime(m.times[i++] * 1e-6);
  const traffic moved = traffic_of(p.described, row);
  state.SetBytesProcessed(static_cast<int64_t>(m.times.size() * (moved.in + moved.out)));
  state.counters["median_us"] = m.us;
  state.counters["median_low"] = m.interval.low;
  state.counters["median_high"] = m.interval.high;
  state.counters["GBps"] = m.gbps;
  const bench_list& listed = p.described.bench;
  if (listed.work) state.counters["tflops"] = listed.work(row).flop() / m.us * 1e-6;
  if (const std::string& steps = listed.steps; !steps.empty())
    state.counters["us_per_step"] = m.us / static_cast<double>(row.of.at(steps));
  if (m.limit_us > 0) {
    state.counters["fraction_of_limit"] = m.fraction();
    state.counters["fraction_low"] = m.of_limit.low;
    state.counters["fraction_high"] = m.of_limit.high;
    state.counters["limit_us"] = m.limit_us;
  }
  for (const auto& [name, us] : m.own) state.counters[name + "_us"] = us;
  for (const auto& [name, count] : m.counts) state.counters[name] = static_cast<double>(count);
  if (m.of_target > 0) state.counters["of_target"] = m.of_target;
  for (const auto& [name, us] : m.peers) state.counters["us of " + name] = us;
  if (!m.peer.empty()) {
    state.counters["peer_us"] = m.peer_us;
    state.counters["ratio_to_peer"] = m.to_peer.value;
    state.counters["ratio_low"] = m.to_peer.low;
    state.counters["ratio_high"] = m.to_peer.high;
  }
  if (const auto with = fastest(p, m, true), without = fastest(p, m, false); with && without)
    state.counters["batch_invariance_cost"] = with->second / without->second;
  state.SetLabel(m.variant + (m.peer.empty() ? "" : " peer:" + m.peer));
  for (const auto& [of, us] : m.claims)
    if (p.options.measured) p.options.measured(m.name, of, us);
  p.results.push_back(std::move(m));
}

// The rows of a description suit our kernel; for another candidate only those that it offers are measured.
bool is_offered(const program& p, const bench_row& row) {
  return p.measures_ours() || p.subject == nullptr ||
         ((p.subject->dtypes & dtype_bit(row.type)) && (row.variant.empty() || p.subject->lists(row.variant)));
}

std::vector<const bench_row*> rows_of(const program& p) {
  std::vector<const bench_row*> rows;
  size_t large = 0, others = 0;
  for (const bench_row& row : p.rows) {
    if (p.options.device != "cuda" && p.options.rows.empty() && elements_of(p.described, row) > k_emulated_elements)
      ++large;
    else if (!is_offered(p, row))
      ++others;
    else
      rows.push_back(&row);
  }
  if (large > 0)
    fmt::print(stderr, "{} rows of more than {} elements are left out on the {} device\n", large, k_emulated_elements,
               p.options.device);
  if (others > 0)
    fmt::print(stderr, "{} rows of types or variants that {} does not list are left out\n", others,
               p.options.candidate);
  return rows;
}

// Returns a stream that lives as long as the process.
void* new_stream(const program& p, const warpcheck_device_api& api, const char* schedule) {
  warpcheck_stream_options options = {};
  options.schedule = schedule;
  void* const stream = api.stream_create(&options);
  if (!stream) throw environment_error(fmt::format("device {}: {}", p.options.device, api.last_error()));
  return stream;
}

// Returns the device of a candidate: one for all candidates in this process, and one for each in a process of its own.
const bench_device& device_of(program& p, const listed_operator& op, const warpcheck_device_api& api) {
  for (const bench_device& known : p.devices)
    if (&known.api == &api) return known;
  void* const stream = new_stream(p, api, op.device == WARPCHECK_DEVICE_EMULATED ? "fair" : nullptr);
#ifdef WARPCHECK_HAS_CUDA
  if (op.device == WARPCHECK_DEVICE_CUDA)
    return p.devices.emplace_back(bench_device{api, dl_device(op), stream, cuda_timing(stream), &p.limit});
#endif
  return p.devices.emplace_back(bench_device{api, dl_device(op), stream, host_timing(api), &p.limit});
}

void open_counting(program& p, const listed_operator& op, const warpcheck_device_api& api) {
  p.limit.name(&op, p.options.candidate);
  p.counting.push_back({&op, {api, dl_device(op), new_stream(p, api, "fair counts"), host_timing(api), &p.limit}});
}

peer make_peer(program& p, const std::string& name, const candidate& c) {
  return {name, c.op, c.op ? &device_of(p, *c.op, *c.api) : nullptr};
}

// Limits the time of loading a candidate while the result lives.
std::shared_ptr<void> limited_loading(program& p, const std::string& name) {
  p.limit.begin(nullptr, "loading " + name, 1);
  return {nullptr, [&p](void*) { p.limit.end(); }};
}

candidate open_subject(program& p) {
  const std::shared_ptr<void> end = limited_loading(p, p.options.candidate);
  return open_candidate(p.options.candidate, p.described.op, p.options.device);
}

// Opens a library, which may lack the operator, or another candidate by its name. Returns the name that tables show.
std::pair<std::string, candidate> open_peer(program& p, const std::string& name) {
  const std::shared_ptr<void> end = limited_loading(p, name);
  std::string shown = name;
  if (name.find(':') == std::string::npos) {
    const warpcheck_device device = device_from_name(p.options.device);
    const candidate_library& library = candidate_library::load_for(name, device);
    shown = library.name();
    if (library.find(p.described.op, device) == nullptr) return {shown, {}};
  }
  return {shown, open_candidate(name, p.described.op, p.options.device)};
}

// A Python function's calls run in its interpreter; on a GPU everything else runs in this process, on another device.
void open_recorded(program& p, const candidate& subject) {
  p.turn = recorded_turn::of(builtin_library("python"), *subject.op, *subject.api);
  device_timing others = host_timing(*subject.api);
  if (subject.op->device == WARPCHECK_DEVICE_CUDA) {
    const candidate ours = open_candidate("builtin", k_known_operator, p.options.device);
    others = device_of(p, *ours.op, *ours.api).timing;
  }
  p.subject = &p.turn->op();
  p.devices.push_front({*subject.api, dl_device(*subject.op), nullptr, p.turn->timing(others), &p.limit});
}

void open(program& p) {
  const warpcheck_device kind = device_from_name(p.options.device);
  keep_cuda_in_process();  // where the events are that time it
#ifdef WARPCHECK_HAS_CUDA
  if (kind == WARPCHECK_DEVICE_CUDA) note_settings();
#endif
  const candidate subject = open_subject(p);
  p.subject = subject.op;
  if (p.options.candidate.starts_with("python:"))
    open_recorded(p, subject);
  else
    device_of(p, *subject.op, *subject.api);
  // There is no built-in kernel for a formula.
  if (!p.measures_ours() && kind != WARPCHECK_DEVICE_CPU && p.described.formula.empty())
    p.peers.push_back(make_peer(p, k_ours, open_candidate("builtin", p.described.op, p.options.device)));
  for (const std::string& name : p.options.peers) {
    const auto [shown, c] = open_peer(p, name);
    p.peers.push_back(make_peer(p, shown, c));
  }
  if (kind == WARPCHECK_DEVICE_EMULATED) open_counting(p, *subject.op, *subject.api);
  if (subject.instrumented_op) open_counting(p, *subject.instrumented_op, *subject.instrumented_api);
  p.limit.name(p.subject, p.options.candidate);
  for (const peer& other : p.peers) p.limit.name(other.op, other.name);
  for (const std::string& file : p.options.peer_times) read_foreign(file, &p.foreign);
}

// Registers, measures and prints; returns the exit code.
int run_all(program& p, bool only_lists) {
  if (!only_lists) {
    open(p);
    benchmark::AddCustomContext(p.options.device == "cuda" ? "gpu" : "device", describe_device(p.options.device));
    benchmark::AddCustomContext("commit", WARPCHECK_COMMIT);
    if (!p.measures_ours()) {
      benchmark::AddCustomContext("candidate", p.options.candidate);
      benchmark::AddCustomContext("verdict", p.options.verdict.empty() ? "not verified" : p.options.verdict);
      if (p.turn && p.options.device == "cuda") benchmark::AddCustomContext("clock", k_own_clock);
    }
  }
  const std::vector<const bench_row*> rows = rows_of(p);
  for (size_t i = 0; i < rows.size(); ++i)
    benchmark::RegisterBenchmark(name_of(p.described, *rows[i]).c_str(),
                                 [&p, row = rows[i], place = fmt::format("row {} of {}", i + 1, rows.size())](
                                     benchmark::State& state) { run_benchmark(state, p, *row, place); })
        ->UseManualTime()
        ->Iterations(p.options.device == "cuda" ? k_cuda_repeats : k_host_repeats)
        ->Unit(benchmark::kMicrosecond);
  const std::optional<double> launch = only_lists ? std::nullopt : p.device().timing.launch_us();
  if (launch) benchmark::AddCustomContext("launch_us", std::to_string(*launch));
  benchmark::RunSpecifiedBenchmarks();
  if (!p.results.empty()) {
    fmt::print("\n{}, commit {}{}\n", describe_device(p.options.device), WARPCHECK_COMMIT,
               launch ? fmt::format(", empty launch {:.2f} us", *launch) : "");
    print_results(p);
  }
  const bool below = print_below_bar(p);
  return p.failed || below ? 1 : 0;
}

distant_kernel distant(program& p, const std::string& name, const candidate& c) {
  p.limit.name(c.op, name);
  return {name, c.op, c.api, new_stream(p, *c.api, nullptr), &p.limit};
}

// Opens our kernel in this process and in a runner.
known_kernel open_known(program& p) {
  const candidate here = open_candidate("builtin", k_known_operator, p.options.device);
  const warpcheck_device device = device_from_name(p.options.device);
  const candidate_library& elsewhere = candidate_library::load_for(builtin_library(p.options.device), device);
  const candidate c = {elsewhere.find(k_known_operator, device), elsewhere.api_for(device)};
  return {here.op, &device_of(p, *here.op, *here.api), distant(p, k_ours, c)};
}

// Confirms the claims, or not. This process never loads foreign code. Returns 0 if each claim can be true.
int confirm_all(program& p) {
  std::vector<std::pair<std::string, candidate>> foreign;
  if (!p.measures_ours()) foreign.emplace_back(p.options.candidate, open_subject(p));
  p.subject = p.measures_ours() ? nullptr : foreign.front().second.op;
  for (const std::string& name : p.options.peers) foreign.push_back(open_peer(p, name));
  std::vector<distant_kernel> kernels;
  for (const auto& [name, c] : foreign)
    if (c.op != nullptr && has_runner(*c.api)) kernels.push_back(distant(p, name, c));
  if (kernels.empty()) return 0;  // a Python function has its interpreter
  const known_kernel known = open_known(p);
  bool are_confirmed = true;
  for (const bench_row* const row : rows_of(p)) {
    const auto claims = p.options.claims.find(name_of(p.described, *row));
    if (claims != p.options.claims.end())
      are_confirmed = confirm_row(p.described, *row, claims->second, kernels, known) && are_confirmed;
  }
  return are_confirmed ? 0 : 1;
}

// A runner that fails outside a row, for example while it loads the candidate, is a verdict against the candidate.
int unless_runner_fails(const std::function<int()>& work) {
  try {
    return work();
  } catch (const runner_failed& e) {
    fmt::print(stderr, "bench: {}\n", e.what());
    return 1;
  }
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int warpcheck_operator_bench(const operator_bench_options& options) {
  const description* const d = find_description(options.op);
  if (d == nullptr) throw usage_error(fmt::format("operator: '{}' is unknown", options.op));
  if (d->bench.rows.empty())
    throw usage_error(fmt::format("operator {}: its description lists no bench rows", options.op));
  const bool has_cpu = options.candidate != "builtin";
  if (options.device != "cuda" && options.device != "emulated" && !(has_cpu && options.device == "cpu"))
    throw usage_error(fmt::format("device: '{}' is not one of cuda, emulated{}", options.device,
                                  has_cpu ? ", cpu" : "; cpu is for a candidate of your own"));
  if (options.bar > 0 && options.device != "cuda")
    throw usage_error(fmt::format("--bar: the {} device has no limit to have a fraction of; cuda has", options.device));
  std::vector<bench_row> rows = rows_asked(options, *d);
  if (options.only_checks) return 0;
  outlive_runners();
  if (!options.claims.empty()) {
    program p{options, *d, std::move(rows)};
    return unless_runner_fails([&] { return confirm_all(p); });
  }
  static std::vector<std::string> texts = options.google_benchmark;  // Google Benchmark keeps pointers into it
  std::vector<char*> arguments{const_cast<char*>("warpcheck bench")};
  for (std::string& text : texts) arguments.push_back(text.data());
  int count = static_cast<int>(arguments.size());
  arguments.push_back(nullptr);
  const bool only_lists = std::ranges::any_of(texts, [](const std::string& text) {
    return text == "--benchmark_list_tests" || text == "--benchmark_list_tests=true";
  });
  benchmark::Initialize(&count, arguments.data());
  if (count > 1) throw usage_error(fmt::format("'{}' is not an option of bench or of Google Benchmark", arguments[1]));
  program p{options, *d, std::move(rows)};
  try {
    return unless_runner_fails([&] { return run_all(p, only_lists); });
  } catch (const usage_error&) {
    throw;
  } catch (const environment_error&) {
    throw;
  } catch (const std::exception& e) {
    throw environment_error(e.what());
  }
}

}  // namespace warpcheck::bench
