#include "command/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>

#include "properties/engine/processes/contain.hpp"

namespace warpcheck::cli {

void print_progress(const engine::progress& p) {
  constexpr double k_long = 5;    // seconds after which a case is named
  constexpr double k_often = 30;  // seconds between lines in a file
  constexpr size_t k_most = 120;
  static const bool terminal = isatty(STDERR_FILENO);
  static int64_t last = -1;
  static std::string named;
  if (p.done == p.total && last == p.total) return;
  last = p.done;
  const std::string text = fmt::format("{}/{} cases, {:.0f} cases/s, worst error/bound {:.3f}, {} failures{}", p.done,
                                       p.total, p.cases_per_second, p.worst_error_ratio, p.failures,
                                       p.done == p.total ? "" : fmt::format(", {:.0f} s left", p.eta_seconds));
  if (terminal) fmt::print(stderr, "\r\033[K");
  if (p.running_seconds > k_long && p.running != named) {
    named = p.running;
    fmt::print(stderr, "running for {:.0f} s: {}{}\n", p.running_seconds, named.substr(0, k_most),
               named.size() > k_most ? "..." : "");
  }
  static auto printed = std::chrono::steady_clock::now();
  const bool is_due = terminal || engine::seconds_since(printed) > k_often;
  if (is_due && p.done < p.total) {
    printed = std::chrono::steady_clock::now();
    fmt::print(stderr, "{}{}", text, terminal ? "" : "\n");
  }
  std::fflush(stderr);
}

}  // namespace warpcheck::cli
