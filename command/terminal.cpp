#include "command/terminal.hpp"

#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <utility>

namespace warpcheck::cli {
namespace {

using namespace std::chrono_literals;

constexpr auto k_silent = 2s, k_silent_in_log = 10s;  // before a command prints what it waits for
constexpr std::string_view k_green = "\x1b[32m", k_red = "\x1b[1;31m", k_plain = "\x1b[0m", k_erase = "\r\x1b[K";

bool g_has_color = false, g_logs_progress = false;
std::atomic<bool> g_is_waiting = false;  // true while a progress_line has the terminal
std::atomic<bool> g_is_shown = false;    // true while its text is visible

std::string painted(std::string_view text, std::string_view color) {
  return g_has_color && !text.empty() ? fmt::format("{}{}{}", color, text, k_plain) : std::string(text);
}

bool is_failure(std::string_view verdict) {
  return verdict != "pass" && verdict != "skipped" && verdict != "unsupported" && !verdict.starts_with("not ");
}

// Uses write(2), which has no lock that a forked child could miss.
void write_to_terminal(std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = write(STDERR_FILENO, text.data(), text.size());
    if (n <= 0) return;
    text.remove_prefix(static_cast<size_t>(n));
  }
}

}  // namespace

bool wants_color(std::string_view when, bool is_terminal, const char* term, const char* no_color) {
  if (when != "auto") return when == "always";
  return is_terminal && term && std::string_view(term) != "dumb" && !(no_color && *no_color);
}

void use_color(std::string_view when) {
  g_has_color = wants_color(when, isatty(STDOUT_FILENO), std::getenv("TERM"), std::getenv("NO_COLOR"));
}

std::string in_green(std::string_view text) { return painted(text, k_green); }
std::string in_red(std::string_view text) { return painted(text, k_red); }

std::string colored_verdict(std::string_view verdict) {
  if (verdict == "pass" || verdict == "clean") return in_green(verdict);
  return is_failure(verdict) ? in_red(verdict) : std::string(verdict);
}

std::string colored_failure(std::string_view report) {
  const size_t line = report.find('\n'), name = report.find(": ");
  if (name >= line) return std::string(report);
  const size_t end = report.find_first_of(":\n", name + 2);
  const std::string_view head = report.substr(0, end);
  if (!is_failure(head.substr(name + 2))) return std::string(report);
  return in_red(head) + std::string(report.substr(head.size()));
}

progress_line::progress_line(std::string text) : text_(std::move(text)) {
  if ((!isatty(STDERR_FILENO) && !g_logs_progress) || g_is_waiting.exchange(true)) return;
  // Blocks signals, which are for the waiting thread.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { show(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

progress_line::~progress_line() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  changed_.notify_one();
  thread_.join();
  erase_progress_line();
  g_is_waiting = false;
}

void progress_line::say(std::string text) {
  const std::lock_guard lock(mutex_);
  text_ = std::move(text);
}

void progress_line::show() {
  const auto begin = std::chrono::steady_clock::now();
  const bool is_terminal = isatty(STDERR_FILENO);
  std::unique_lock lock(mutex_);
  auto next = begin + (is_terminal ? k_silent : k_silent_in_log);
  while (!changed_.wait_until(lock, next, [this] { return is_over_; })) {
    const std::chrono::duration<double> waited = next - begin;
    write_to_terminal(
        fmt::format("{}{}: {:.0f} s{}", is_terminal ? k_erase : "", text_, waited.count(), is_terminal ? "" : "\n"));
    g_is_shown = is_terminal;
    next = is_terminal ? next + 1s : begin + 1min * (1 + (next - begin) / 1min);
  }
}

void log_progress() { g_logs_progress = true; }

void erase_progress_line() {
  if (g_is_shown.exchange(false)) write_to_terminal(k_erase);
}

}  // namespace warpcheck::cli
