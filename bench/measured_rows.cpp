#include "bench/measured_rows.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <set>

#include "properties/engine/cases/offer.hpp"

namespace warpcheck::bench {

using namespace engine;

std::optional<std::pair<std::string, double>> fastest(const program& p, const measurement& m, bool is_batch_invariant) {
  std::optional<std::pair<std::string, double>> best;
  const auto offer = [&](const std::string& name, const listed_operator& op, double us) {
    const bool states_it = parse_statements(p.described.op, op.states).is_batch_invariant;
    if (states_it == is_batch_invariant && (!best || us < best->second)) best.emplace(name, us);
  };
  offer(p.measures_ours() ? k_ours : p.options.candidate, *p.subject, m.us);
  for (const auto& [name, us] : m.peers)
    for (const peer& other : p.peers)
      if (other.name == name) offer(name, *other.op, us);
  return best;
}

namespace {

void print_table(const std::vector<measurement>& results) {
  std::vector<std::string> own;  // columns that some rows have
  for (const measurement& m : results)
    for (const auto& [name, us] : m.own)
      if (std::ranges::find(own, name) == own.end()) own.push_back(name);
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
      const auto found = std::ranges::find_if(m.own, [&](const auto& each) { return each.first == name; });
      fmt::print(" {:>12}", found == m.own.end() ? "-" : fmt::format("{:.2f}", found->second));
    }
    if (m.peer.empty())
      fmt::print(" -\n");
    else
      fmt::print(" {:<16} {:>9.2f}  {:.3f} ({:.3f}-{:.3f})\n", m.peer, m.peer_us, m.to_peer.value, m.to_peer.low,
                 m.to_peer.high);
  }
}

// Prints how the time grows.
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

std::string times_text(double ratio) {
  if (ratio > 0.95 && ratio < 1.05) return fmt::format("{:.2f} of the speed of", ratio);
  return ratio >= 1 ? fmt::format("{:.2g} times faster than", ratio)
                    : fmt::format("{:.2g} times slower than", 1 / ratio);
}

// "softmax/f32/4096x4096: 0.93 of the limit (read); 1.4 times faster than ours; verified, 20 cases of each property".
void print_sentences(const program& p) {
  if (p.measures_ours()) return;
  for (const measurement& m : p.results) {
    std::vector<std::string> parts;
    if (m.limit_us > 0) parts.push_back(fmt::format("{:.2f} of the limit ({})", m.fraction(), m.limit_by));
    if (p.options.device == "cuda")
      for (const auto& [name, us] : m.peers) parts.push_back(fmt::format("{} {}", times_text(us / m.us), name));
    parts.push_back(p.options.verdict.empty() ? "not verified" : p.options.verdict);
    if (p.turn && p.options.device == "cuda") parts.push_back(k_own_clock);
    fmt::print("{}: {}\n", m.name, fmt::join(parts, "; "));
  }
}

// Prints what batch invariance costs in the rows in which some kernels have it and some do not.
void print_batch_invariance(const program& p) {
  if (p.options.device != "cuda") return;
  for (const measurement& m : p.results) {
    const auto with = fastest(p, m, true), without = fastest(p, m, false);
    if (with && without)
      fmt::print("{}: {}, which is batch-invariant, takes {:.2f} of the time of {}, which does not state that\n",
                 m.name, with->first, with->second / without->second, without->first);
  }
}

// "; barriers 4, wavefronts 8, bank conflicts 0", and what is not known.
std::string text_of(const std::vector<std::pair<std::string, int64_t>>& counts) {
  std::string text;
  for (const auto& [name, count] : counts) text += fmt::format("{} {} {}", text.empty() ? ";" : ",", name, count);
  std::replace(text.begin(), text.end(), '_', ' ');
  if (counts.size() == 1) text += ", bank conflicts not known (the race detector has not run)";
  return text;
}

void print_what_times_mean(const program& p) {
  if (p.options.device == "cuda") return;
  fmt::print("device {}: times are the host's and mean nothing for a GPU; bytes that a call moves at least{}:\n",
             p.options.device, !p.counting.empty() ? ", and its barriers and bank conflicts" : "");
  for (const measurement& m : p.results) {
    const traffic moved = traffic_of(p.described, *m.row);
    fmt::print("  {}: {} in, {} out{}\n", m.name, moved.in, moved.out, text_of(m.counts));
  }
}

}  // namespace

void print_results(const program& p) {
  print_table(p.results);
  print_lines(p);
  print_what_times_mean(p);
  print_sentences(p);
  print_batch_invariance(p);
  std::fflush(stdout);
}

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

}  // namespace warpcheck::bench
