// The rows that a run of the benchmark has measured, and their tables and sentences.
#pragma once

#include <list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/operator_bench.hpp"
#include "bench/peer_times.hpp"
#include "bench/recorded_turn.hpp"
#include "bench/statistics.hpp"
#include "bench/timed_call.hpp"

namespace warpcheck::bench {

inline constexpr const char* k_ours = "ours";  // our kernel as a peer
inline constexpr const char* k_own_clock = "timed by the interpreter of the function, which no other process confirms";

struct peer {
  std::string name;
  const engine::listed_operator* op;  // null if it does not offer the operator
  const bench_device* device;         // the device whose memory the calls use
};

struct measurement {
  const engine::bench_row* row = nullptr;
  std::string name, variant;
  std::vector<double> times;  // us
  double us = 0;
  ratio interval;  // of us
  double gbps = 0;
  double limit_us = 0;  // 0: the device has none
  ratio of_limit;
  std::string limit_by;
  std::vector<std::pair<std::string, double>> own;        // the operator's own runs, each with its median in us
  double of_target = 0;                                   // fraction of the row's target in us; 0: it has none
  std::vector<std::pair<std::string, double>> peers;      // each with its median in us
  std::vector<std::pair<std::string, double>> below_bar;  // name, and its fraction
  std::string peer;                                       // the fastest, or empty
  double peer_us = 0;
  ratio to_peer;
  std::vector<std::pair<std::string, int64_t>> counts;  // of a call on the emulated device: "barriers", ...
  std::vector<std::pair<std::string, double>> claims;   // of foreign code, each with its median in us

  double fraction() const { return of_limit.value; }
};

// A build whose calls are counted.
struct counting_build {
  const engine::listed_operator* op;
  bench_device device;
};

struct program {
  const operator_bench_options& options;
  const engine::description& described;
  std::vector<engine::bench_row> rows;
  const engine::listed_operator* subject = nullptr;  // the candidate that is measured
  std::vector<peer> peers = {};                      // includes our kernel if that is not the subject
  call_limit limit{options.awaited, options.call_seconds};
  foreign_times foreign = {};
  std::unique_ptr<recorded_turn> turn = {};  // of a subject that times itself
  std::list<bench_device> devices = {};      // the subject's first, then those of isolated peers, or of our kernel
  std::list<counting_build> counting = {};   // of the subject, on the emulated device; the last sees most
  std::vector<measurement> results = {};
  bool failed = false;

  const bench_device& device() const { return devices.front(); }
  bool measures_ours() const { return options.candidate == "builtin"; }
};

// The fastest kernel of a row among those that state batch invariance, or among those that do not, and its time in us.
std::optional<std::pair<std::string, double>> fastest(const program& p, const measurement& m, bool is_batch_invariant);

// Prints all measured rows: the table, the fitted times, what times of this device mean, and a sentence for each row.
void print_results(const program& p);
// Prints everything below the bar; returns true if there is any.
bool print_below_bar(const program& p);

}  // namespace warpcheck::bench
