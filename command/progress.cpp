#include "command/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <string>

namespace warpcheck::cli {

void print_progress(const engine::progress& p) {
  constexpr double k_long = 5;  // seconds after which a case is named
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
  if (terminal && p.done < p.total) fmt::print(stderr, "{}", text);
  std::fflush(stderr);
}

}  // namespace warpcheck::cli
