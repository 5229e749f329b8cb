#include "command/bench.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "command/candidates/source_candidate.hpp"
#include "command/terminal.hpp"
#include "properties/engine/error.hpp"
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

std::string read_all(int end) {
  std::string text;
  char some[256];
  ssize_t count = 0;
  while ((count = read(end, some, sizeof some)) > 0 || (count < 0 && errno == EINTR))
    if (count > 0) text.append(some, static_cast<size_t>(count));
  return text;
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
  std::fflush(nullptr);
  if (pipe2(ends, O_CLOEXEC) != 0) throw engine::environment_error("bench: no pipe: " + std::string(strerror(errno)));
  const pid_t child = fork();
  if (child < 0) throw engine::environment_error("bench: no process: " + std::string(strerror(errno)));
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close(ends[0]);
    const bool is_sent = send_results(ends[1], run, options);
    std::fflush(nullptr);
    _exit(is_sent ? 0 : 1);
  }
  close(ends[1]);
  const std::string text = read_all(ends[0]);
  close(ends[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
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
  fmt::print(stderr, "bench: the candidate ended the process that measures it ({})\n",
             WIFSIGNALED(status) ? fmt::format("signal {}", WTERMSIG(status))
                                 : fmt::format("exit code {}", WEXITSTATUS(status)));
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
  return run(options);
}

}  // namespace warpcheck::cli
