#include "command/bench.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <map>
#include <memory>
#include <new>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>

#include "command/candidates/source_candidate.hpp"
#include "command/terminal.hpp"
#include "properties/engine/error.hpp"
#include "properties/engine/isolation/confine.hpp"
#include "properties/engine/isolation/isolated_library.hpp"
#include "properties/engine/processes/contain.hpp"
#include "properties/engine/trials/library.hpp"
#include "properties/formula/formula_bench.hpp"
#include "properties/formula/formula_properties.hpp"

namespace warpcheck::cli {

namespace {

// Writes a line; the parent sees what the process sent before it ended.
bool send(int end, const nlohmann::json& message) {
  const std::string line = message.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  return write(end, line.data(), line.size()) == static_cast<ssize_t>(line.size());
}

// Sends the times of each row, and then the exit code, or the kind and text of the error that was thrown.
bool send_results(int end, const bench::operator_bench_fn run, bench::operator_bench_options options) {
  options.measured = [=](const std::string& row, const std::string& of, double us) {
    send(end, {{"row", row}, {"of", of}, {"us", us}});
  };
  try {
    return send(end, {{"code", run(options)}});
  } catch (const engine::usage_error& e) {
    return send(end, {{"usage", e.what()}});
  } catch (const std::exception& e) {
    return send(end, {{"environment", e.what()}});
  }
}

// Memory that this process shares with those that it forks.
std::shared_ptr<bench::awaited_calls> shared_calls() {
  void* const memory =
      mmap(nullptr, sizeof(bench::awaited_calls), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw engine::environment_error("bench: no memory: " + std::string(strerror(errno)));
  return {new (memory) bench::awaited_calls, [](void* p) { munmap(p, sizeof(bench::awaited_calls)); }};
}

struct ended_process {
  std::string text;  // that it sent
  int status = 0;
  bool is_late = false;  // a call took too long
};

// Reads what the child sends until it ends. A process that the candidate left may hold the other end of the pipe.
ended_process read_all(int end, pid_t child, const bench::awaited_calls& awaited) {
  constexpr int k_look_ms = 20;
  ended_process result;
  bench::call_watch watch(awaited);
  char some[256];
  pollfd channel = {end, POLLIN, 0};
  bool is_open = true, has_ended = false;
  while (is_open || !has_ended) {
    if (watch.is_late() && !std::exchange(result.is_late, true)) kill(child, SIGKILL);
    if (poll(&channel, is_open ? 1 : 0, k_look_ms) > 0) {
      const ssize_t count = read(end, some, sizeof some);
      if (count > 0) result.text.append(some, static_cast<size_t>(count));
      is_open = count > 0 || (count < 0 && errno == EINTR);
    } else if (has_ended) {
      break;
    } else {
      has_ended = waitpid(child, &result.status, WNOHANG) == child;
    }
  }
  return result;
}

// Reads times; returns the last line, or null if it has not come. Throws nlohmann::json::exception for other lines.
nlohmann::json read_results(const std::string& text, std::map<std::string, std::map<std::string, double>>* times) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    nlohmann::json j = nlohmann::json::parse(line);
    if (!j.contains("row")) return j;
    (*times)[j.at("row")][j.at("of")] = j.at("us");
  }
  return nullptr;
}

// Foreign code runs in a child process, which prints its measurements. If the code ends the process, the rows before
// keep their times.
int run_in_own_process(const bench::operator_bench_fn run, bench::operator_bench_options& options) {
  int ends[2];
  const std::shared_ptr<bench::awaited_calls> awaited = shared_calls();
  options.awaited = awaited.get();
  std::fflush(nullptr);
  if (pipe2(ends, O_CLOEXEC) != 0) throw engine::environment_error("bench: no pipe: " + std::string(strerror(errno)));
  const pid_t child = fork();
  if (child < 0) throw engine::environment_error("bench: no process: " + std::string(strerror(errno)));
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close(ends[0]);
    engine::give_up_capabilities(1u << CAP_DAC_OVERRIDE);  // of root's only that to write files; none to set clocks
    const bool is_sent = send_results(ends[1], run, options);
    std::fflush(nullptr);
    _exit(is_sent ? 0 : 1);
  }
  close(ends[1]);
  const auto [text, status, is_late] = read_all(ends[0], child, *awaited);
  close(ends[0]);
  nlohmann::json last;
  try {
    last = read_results(text, &options.claims);
    if (last.contains("usage")) throw engine::usage_error(last.at("usage"));
    if (last.contains("environment")) throw engine::environment_error(last.at("environment"));
    if (status == 0 && !last.is_null()) return last.at("code");
  } catch (const nlohmann::json::exception& e) {
    fmt::print(stderr, "bench: the candidate forged the results of the process that measures it: {}\n", e.what());
    return k_violation;
  }
  const std::string end = WIFSIGNALED(status) ? fmt::format("signal {}", WTERMSIG(status))
                                              : fmt::format("exit code {}", WEXITSTATUS(status));
  if (is_late)
    fmt::print(stderr, "bench: {} has not ended in its time limit (--timeout {:g})\n", awaited->what,
               options.call_seconds);
  else
    fmt::print(stderr, "bench: the candidate ended the process that measures it ({})\n", end);
  for (const auto& [row, times] : options.claims)
    for (const auto& [of, us] : times) fmt::print("{}: {} took {:.2f} us; then the process ended\n", row, of, us);
  return k_violation;
}

}  // namespace

int bench(bench::operator_bench_options options, const std::optional<verify_options>& verification) {
  const std::string path = engine::builtin_library("bench");
  if (path.empty())
    throw engine::environment_error(
        "bench: libwarpcheck_bench.so is not part of this build (configure WARPCHECK_BENCH)");
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) throw engine::environment_error(fmt::format("bench: '{}' does not load: {}", path, dlerror()));
  const auto run = reinterpret_cast<bench::operator_bench_fn>(dlsym(library, "warpcheck_operator_bench"));
  if (!run) throw engine::environment_error(fmt::format("bench: '{}' does not export warpcheck_operator_bench", path));
  if (const formula_trial::shared_formula f = formula_trial::formula_of(options.op))
    options.fills = [f](const engine::sizes& of) { return formula_trial::bench_fills_of(*f, of); };
  options.only_checks = true;  // before work that takes minutes
  run(options);
  options.only_checks = false;
  options.show = [](const std::string& text) { return std::make_shared<progress_line>(text); };
  for (const std::string& peer : options.peers) prepare_named_source(peer, options.op, options.device);
  if (verification) {
    if (const int code = verify(*verification); code != k_pass) {
      fmt::print("{} is not measured, since it failed verification; --unverified measures it all the same\n",
                 options.candidate);
      return code;
    }
    options.verdict = fmt::format("verified with {} cases of each property", verification->cases);
    if (!verification->without.empty())
      options.verdict += fmt::format(" but {}", fmt::join(verification->without, ", "));
  }
  const bool is_ours_alone = options.candidate == "builtin" && options.peers.empty();
  if (is_ours_alone) return run(options);
  const engine::orphan_collector orphans;
  const std::shared_ptr<void> end(nullptr, [](void*) { engine::end_children(); });
  const int code = run_in_own_process(run, options);
  if (code != k_pass || options.claims.empty() || options.device != "cuda" || !engine::is_isolating()) return code;
  return run_in_own_process(run, options);
}

}  // namespace warpcheck::cli
