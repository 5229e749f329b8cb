#include "bench/operator_bench.hpp"

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <random>
#include <set>
#include <stdexcept>

#include "bench/peer_times.hpp"
#include "bench/statistics.hpp"
#include "bench/timed_call.hpp"
#include "properties/engine/error.hpp"

#ifndef WARPCHECK_COMMIT
#error "define WARPCHECK_COMMIT: a number without its commit is not printed"
#endif

namespace warpcheck::bench {
namespace {

using namespace engine;

// More elements take the emulated device minutes.
constexpr int64_t k_emulated_elements = 1 << 18;

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

struct peer {
  std::string name;
  const listed_operator* op;  // null where it does not offer the operator
};

struct measurement {
  const bench_row* row = nullptr;
  std::string name, variant;
  std::vector<double> times;  // us
  double us = 0;
  double gbps = 0;
  double limit_us = 0;  // 0: the device has none
  std::string limit_by;
  std::vector<std::pair<std::string, double>> own;    // what the operator has of its own, each with its median in us
  double of_target = 0;                               // of the row's target in us; 0: it has none
  std::vector<std::pair<std::string, double>> peers;  // each with its median in us
  std::vector<std::pair<std::string, double>> below_bar;  // who, with which fraction
  std::string peer;                                       // the fastest, or empty
  double peer_us = 0;
  ratio to_peer;

  double fraction() const { return limit_us / us; }
};

struct program {
  const operator_bench_options& options;
  const description& described;
  const listed_operator* builtin = nullptr;
  std::vector<peer> peers = {};
  foreign_times foreign = {};
  std::optional<bench_device> device = {};
  std::vector<measurement> results = {};
  bool failed = false;
};

void offer_peer(measurement& m, const std::string& name, const std::vector<double>& us) {
  if (us.empty()) return;
  m.peers.emplace_back(name, median(us));
  if (m.peer_us != 0 && median(us) >= m.peer_us) return;
  m.peer = name;
  m.peer_us = median(us);
  m.to_peer = ratio_of_medians(m.times, us);
}

// Those whose result is right.
std::vector<peer> peers_of(const program& p, timed_call& call) {
  std::vector<peer> able;
  for (const peer& other : p.peers) {
    if (other.op == nullptr) continue;
    try {
      call.verify(*other.op);
      able.push_back(other);
    } catch (const std::exception& e) {
      fmt::print(stderr, "peer {} has no part in this row: {}\n", other.name, e.what());
    }
  }
  return able;
}

// All that takes turns in a row: ours, then its limit, what the operator has of its own, and peers.
struct row_runs {
  row_runs(program& p, timed_call& call, const traffic& moved, std::string* variant)
      : limit(p.device->timing.limit(call.memory(), moved)),
        own(p.device->timing.own(p.described.op, call.calls())),
        peers(peers_of(p, call)) {
    all.emplace_back([&p, &call, variant](int i) { *variant = call.run(*p.builtin, i); });
    // The limit was chosen among many as the fastest, once.
    if (limit) all.push_back(limit->run);
    for (const own_run& each : own) all.push_back(each.run);
    for (const peer& other : peers) all.emplace_back([&call, other](int i) { call.run(*other.op, i); });
  }

  std::optional<device_limit> limit;
  std::vector<own_run> own;
  std::vector<peer> peers;
  std::vector<std::function<void(int)>> all;
};

// The part of a call that its target leaves out is taken off; where there is no GPU, nothing is compared.
void compare_with_target(measurement& m, const std::vector<own_run>& own) {
  if (m.row->target_us == 0 || m.limit_us == 0) return;
  double us = m.us;
  for (size_t i = 0; i < own.size(); ++i)
    if (own[i].is_interface) us -= m.own[i].second;
  m.of_target = us / m.row->target_us;
}

measurement measure(program& p, const bench_row& row) {
  timed_call call(p.described, row, *p.device);
  const traffic moved = traffic_of(p.described, row);
  measurement result;
  result.row = &row;
  result.name = name_of(p.described, row);
  const row_runs runs(p, call, moved, &result.variant);
  const std::vector<std::vector<double>> all = p.device->timing.in_turn(runs.all);
  call.verify(*p.builtin);

  result.times = all[0];
  result.us = median(all[0]);
  result.gbps = static_cast<double>(moved.in + moved.out) / result.us * 1e-3;
  size_t next = 1;
  if (runs.limit) {
    result.limit_us = median(all[next++]) * moved.share();
    result.limit_by = runs.limit->by;
  }
  for (const own_run& each : runs.own) result.own.emplace_back(each.name, median(all[next++]));
  compare_with_target(result, runs.own);
  const auto judge = [&](const std::string& name, double us) {
    if (result.limit_us / us < p.options.bar) result.below_bar.emplace_back(name, result.limit_us / us);
  };
  judge("builtin", result.us);
  for (const peer& other : runs.peers) {
    const std::vector<double>& us = all[next++];
    offer_peer(result, other.name, us);
    judge(other.name, median(us));
  }
  if (const auto known = p.foreign.find(result.name); known != p.foreign.end())
    for (const auto& [name, us] : known->second) offer_peer(result, name, us);
  return result;
}

void run_benchmark(benchmark::State& state, program& p, const bench_row& row) {
  measurement m;
  try {
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
  state.counters["GBps"] = m.gbps;
  if (m.limit_us > 0) {
    state.counters["fraction_of_limit"] = m.fraction();
    state.counters["limit_us"] = m.limit_us;
  }
  for (const auto& [name, us] : m.own) state.counters[name + "_us"] = us;
  if (m.of_target > 0) state.counters["of_target"] = m.of_target;
  for (const auto& [name, us] : m.peers) state.counters["us of " + name] = us;
  if (!m.peer.empty()) {
    state.counters["peer_us"] = m.peer_us;
    state.counters["ratio_to_peer"] = m.to_peer.value;
    state.counters["ratio_low"] = m.to_peer.low;
    state.counters["ratio_high"] = m.to_peer.high;
  }
  state.SetLabel(m.variant + (m.peer.empty() ? "" : " peer:" + m.peer));
  p.results.push_back(std::move(m));
}

void print_table(const std::vector<measurement>& results) {
  std::vector<std::string> own;  // columns that some rows have
  for (const measurement& m : results)
    for (const auto& [name, us] : m.own)
      if (std::find(own.begin(), own.end(), name) == own.end()) own.push_back(name);
  fmt::print("{:<48} {:<18} {:>9} {:>8} {:>9} {:>9} {:>7}  {:<20}", "row", "variant", "us", "GB/s", "limit us",
             "fraction", "target", "limit by");
  for (const std::string& name : own) fmt::print(" {:>12}", name + " us");
  fmt::print(" {:<16} {:>9}  {}\n", "best peer", "peer us", "us / peer us (95 %)");
  for (const measurement& m : results) {
    const auto of_limit = [&](double value, int digits) {
      return m.limit_us > 0 ? fmt::format("{:.{}f}", value, digits) : "-";
    };
    const std::string target = m.row->target_us > 0 ? fmt::format("{} us", m.row->target_us)
                               : m.row->target > 0  ? fmt::format("{:.2f}", m.row->target)
                                                    : "-";
    fmt::print("{:<48} {:<18} {:>9.2f} {:>8.1f} {:>9} {:>9} {:>7}  {:<20}", m.name, m.variant, m.us, m.gbps,
               of_limit(m.limit_us, 2), of_limit(m.fraction(), 3), target, m.limit_by);
    for (const std::string& name : own) {
      const auto found = std::find_if(m.own.begin(), m.own.end(), [&](const auto& each) { return each.first == name; });
      fmt::print(" {:>12}", found == m.own.end() ? "-" : fmt::format("{:.2f}", found->second));
    }
    if (m.peer.empty())
      fmt::print(" -\n");
    else
      fmt::print(" {:<16} {:>9.2f}  {:.3f} ({:.3f}-{:.3f})\n", m.peer, m.peer_us, m.to_peer.value, m.to_peer.low,
                 m.to_peer.high);
  }
}

// How the time grows.
void print_lines(const program& p) {
  for (const bench_line& l : p.described.bench.lines) {
    std::vector<std::pair<double, double>> points;
    std::set<double> places;
    for (const measurement& m : p.results)
      if (const std::optional<double> x = l.at(*m.row)) {
        points.emplace_back(*x, m.us);
        places.insert(*x);
      }
    if (places.size() < 2) continue;
    const line fit = fit_line(points);
    fmt::print("{}: {:.2f} us + {:.4f} us per {}, within {:.0f} %\n", l.name, fit.at_zero, fit.slope, l.per,
               100 * fit.worst);
  }
}

// Whether anything is below the bar; says what.
bool print_below_bar(const program& p) {
  bool any = false;
  for (const measurement& m : p.results)
    for (const auto& [who, fraction] : m.below_bar) {
      fmt::print(stderr, "{}: {} has {:.3f} of the limit, below the bar of {:.3f}\n", m.name, who, fraction,
                 p.options.bar);
      any = true;
    }
  return any;
}

std::vector<const bench_row*> rows_of(const program& p) {
  std::vector<const bench_row*> rows;
  for (const bench_row& row : p.described.bench.rows)
    if (p.options.device != "emulated" || elements_of(p.described, row) <= k_emulated_elements) rows.push_back(&row);
  if (const size_t left = p.described.bench.rows.size() - rows.size())
    fmt::print(stderr, "{} rows of more than {} elements are left out on the emulated device\n", left,
               k_emulated_elements);
  return rows;
}

void open(program& p) {
  const candidate builtin = open_candidate("builtin", p.described.op, p.options.device);
  p.builtin = builtin.op;
  const warpcheck_device kind = device_from_name(p.options.device);
  for (const std::string& file : p.options.peers) {
    const candidate_library& library = candidate_library::load(file);
    p.peers.push_back({library.table().name, library.find(p.described.op, kind)});
  }
  for (const std::string& file : p.options.peer_times) read_foreign(file, &p.foreign);
  const warpcheck_device_api& api = *builtin.api;
  warpcheck_stream_options stream_options = {};
  stream_options.schedule = kind == WARPCHECK_DEVICE_EMULATED ? "fair" : nullptr;
  void* const stream = api.stream_create(&stream_options);  // as long as the process
  if (!stream) throw environment_error(fmt::format("device {}: {}", p.options.device, api.last_error()));
#ifdef WARPCHECK_HAS_CUDA
  if (kind == WARPCHECK_DEVICE_CUDA) {
    p.device.emplace(bench_device{api, dl_device(*p.builtin), stream, cuda_timing(stream)});
    return;
  }
#endif
  p.device.emplace(bench_device{api, dl_device(*p.builtin), stream,
                                host_timing(api, [&api, stream] { bench_device::wait_for(api, stream); })});
}

// Registers, measures and prints; the exit code.
int run_all(program& p, bool only_lists) {
  if (!only_lists) {
    open(p);
    benchmark::AddCustomContext(p.options.device == "cuda" ? "gpu" : "device", p.device->api.describe());
    benchmark::AddCustomContext("commit", WARPCHECK_COMMIT);
  }
  for (const bench_row* row : rows_of(p))
    benchmark::RegisterBenchmark(name_of(p.described, *row).c_str(),
                                 [&p, row](benchmark::State& state) { run_benchmark(state, p, *row); })
        ->UseManualTime()
        ->Iterations(p.options.device == "cuda" ? k_cuda_repeats : k_host_repeats)
        ->Unit(benchmark::kMicrosecond);
  const std::optional<double> launch = only_lists ? std::nullopt : p.device->timing.launch_us();
  if (launch) benchmark::AddCustomContext("launch_us", std::to_string(*launch));
  benchmark::RunSpecifiedBenchmarks();
  if (!p.results.empty()) {
    fmt::print("\n{}, commit {}{}\n", p.device->api.describe(), WARPCHECK_COMMIT,
               launch ? fmt::format(", empty launch {:.2f} us", *launch) : "");
    print_table(p.results);
    print_lines(p);
    std::fflush(stdout);
  }
  const bool below = print_below_bar(p);
  return p.failed || below ? 1 : 0;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int warpcheck_operator_bench(const operator_bench_options& options) {
  const description* const d = find_description(options.op);
  if (d == nullptr) throw usage_error(fmt::format("operator: '{}' is unknown", options.op));
  if (d->bench.rows.empty())
    throw usage_error(fmt::format("operator {}: its description lists no bench rows", options.op));
  if (options.device != "cuda" && options.device != "emulated")
    throw usage_error(fmt::format("device: '{}' is not one of cuda, emulated", options.device));
  if (options.bar > 0 && options.device == "emulated")
    throw usage_error("--bar: the emulated device has no limit to have a fraction of; cuda has");
  static std::vector<std::string> texts = options.google_benchmark;  // which keeps pointers into it
  std::vector<char*> arguments{const_cast<char*>("warpcheck bench")};
  for (std::string& text : texts) arguments.push_back(text.data());
  int count = static_cast<int>(arguments.size());
  arguments.push_back(nullptr);
  const bool only_lists = std::any_of(texts.begin(), texts.end(), [](const std::string& text) {
    return text == "--benchmark_list_tests" || text == "--benchmark_list_tests=true";
  });
  benchmark::Initialize(&count, arguments.data());
  if (count > 1) throw usage_error(fmt::format("'{}' is no option of bench or of Google Benchmark", arguments[1]));
  program p{options, *d};
  try {
    return run_all(p, only_lists);
  } catch (const usage_error&) {
    throw;
  } catch (const environment_error&) {
    throw;
  } catch (const std::exception& e) {
    throw environment_error(e.what());
  }
}

}  // namespace warpcheck::bench
