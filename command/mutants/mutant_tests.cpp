#include "command/mutants/mutant_tests.hpp"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "command/mutants/mutant_build.hpp"
#include "command/support.hpp"
#include "properties/engine/error.hpp"
#include "properties/engine/files/sha256.hpp"
#include "properties/engine/processes/contain.hpp"

namespace warpcheck::cli {
namespace {

namespace fs = std::filesystem;
using engine::environment_error;
using engine::usage_error;

// Limits memory, because a mutant may allocate without end. The emulated device and AddressSanitizer reserve far more.
constexpr const char* k_most_memory = "--data=8589934592";

double seconds(const timeval& t) { return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec); }

// CPU time of all ended children.
double cpu_of_children() {
  rusage use{};
  getrusage(RUSAGE_CHILDREN, &use);
  return seconds(use.ru_utime) + seconds(use.ru_stime);
}

// Runs the test with `program` in place of the original, with its own folder for temporary files. Each process gets
// `cpu_seconds`, the whole test `wall_seconds`.
command_result run_test(const test_program& test, const std::string& original, const std::string& program,
                        const std::string& folder, double cpu_seconds, double wall_seconds) {
  const std::string temporary = folder + "/tmp";
  fs::create_directories(temporary);
  std::vector<std::string> command = {"env", "-C", test.directory, "TMPDIR=" + temporary, "GTEST_FAIL_FAST=1"};
  for (const std::string& e : test.environment) command.push_back(replaced(e, original, program));
  command.insert(command.end(), {"timeout", "-k", "1", fmt::format("{:.0f}", wall_seconds), "prlimit",
                                 fmt::format("--cpu={:.0f}", cpu_seconds), "--core=0"});
  if (test.bounded_memory) command.push_back(k_most_memory);
  for (const std::string& word : test.command) command.push_back(word == original ? program : word);
  command_result result = run_command(command);
  std::error_code ignored;
  fs::remove_all(temporary, ignored);
  return result;
}

// Text of a failed test: GoogleTest's first failed test, or else the end of the output.
std::string first_failure(const std::string& output) {
  std::istringstream lines(output);
  std::string last;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("[  FAILED  ]")) return line.substr(0, line.find(" ("));
    if (!line.empty()) last = line;
  }
  return last.substr(0, 300);
}

// Measures the test on the original, which must pass: with limited memory if possible.
nlohmann::json measured(test_program test, const std::string& folder) {
  nlohmann::json j;
  for (const bool bounded : {true, false}) {
    test.bounded_memory = bounded;
    const double cpu = cpu_of_children();
    const auto begin = std::chrono::steady_clock::now();
    const command_result r = run_test(test, "", "", folder, 1800, 1800);
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
    j = {{"cpu", cpu_of_children() - cpu}, {"wall", wall.count()}, {"bounded_memory", bounded}};
    if (r.status == 0) break;
    j["failure"] = first_failure(r.output);
  }
  std::error_code ignored;
  fs::remove_all(folder, ignored);
  return j;
}

}  // namespace

test_judges::test_judges(const std::string& path, const toolchain& t) : path_(path), build_folder_(t.build_folder()) {
  const command_result listed = run_command({t.ctest(), "--test-dir", t.build_folder(), "--show-only=json-v1"});
  if (listed.status != 0) throw environment_error(fmt::format("ctest cannot list the tests: {}", listed.output));
  const nlohmann::json all = nlohmann::json::parse(listed.output).at("tests");

  std::istringstream lines(read_text(path));
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    const std::string place = fmt::format("{}:{}", fs::path(path).filename().string(), ++number);
    if (line.empty() || line[0] == '#') continue;
    const size_t tab = line.find('\t');
    std::istringstream words(tab == std::string::npos ? "" : line.substr(tab + 1));
    rule r;
    r.prefix = line.substr(0, tab);
    for (std::string word; words >> word;) {
      r.tests.push_back(word);
      if (std::ranges::any_of(tests_, [&](const test_program& p) { return p.name == word; })) continue;
      const size_t at = word.find('@');
      const auto found =
          std::ranges::find_if(all, [&](const nlohmann::json& j) { return j.at("name") == word.substr(0, at); });
      if (found == all.end()) throw usage_error(fmt::format("{}: '{}' is not a test of this build", place, word));
      if (!found->contains("command"))
        throw environment_error(fmt::format("{}: the program of test '{}' is not built", place, word));
      test_program p;
      p.name = word;
      p.command = found->at("command").get<std::vector<std::string>>();
      const std::string program = at == std::string::npos ? p.command[0] : t.build_folder() + "/" + word.substr(at + 1);
      p.program = fs::path(program).lexically_relative(t.build_folder()).string();
      for (const auto& j : found->at("properties")) {
        if (j.at("name") == "ENVIRONMENT") p.environment = j.at("value").get<std::vector<std::string>>();
        if (j.at("name") == "WORKING_DIRECTORY") p.directory = j.at("value");
      }
      tests_.push_back(std::move(p));
    }
    if (r.tests.empty())
      throw usage_error(fmt::format("{}: a path prefix, a tab and at least one test are required", place));
    rules_.push_back(std::move(r));
  }
}

bool test_judges::judge(const mutant& m) const {
  return std::ranges::any_of(rules_, [&](const rule& r) { return m.file.starts_with(r.prefix); });
}

std::vector<test_program*> test_judges::of(const mutant& m) {
  for (const rule& r : rules_) {
    if (!m.file.starts_with(r.prefix)) continue;
    std::vector<test_program*> result;
    for (const std::string& name : r.tests) {
      result.push_back(&*std::ranges::find_if(tests_, [&](const test_program& p) { return p.name == name; }));
      std::string& key = result.back()->key;
      if (!key.empty()) continue;  // programs are large, so only those that judge are read
      key = file_sha256(build_folder_ + "/" + result.back()->program);
      for (const std::string& argument : result.back()->command) key += argument;
    }
    return result;
  }
  throw usage_error(fmt::format("{}: no test judges '{}'; {} needs a line for it", m.place, m.file, path_));
}

void test_judges::measure(const std::vector<const mutant*>& mutants, const std::string& folder) {
  const auto record = [&](const test_program& test) {
    return fmt::format("{}/original-{}-{}.json", folder, test.name, engine::sha256_hex(test.key).substr(0, 12));
  };
  std::vector<test_program*> needed;
  for (const mutant* m : mutants)
    for (test_program* test : of(*m))
      if (std::ranges::find(needed, test) == needed.end()) needed.push_back(test);
  std::vector<engine::child_process> running;
  for (const test_program* test : needed) {
    if (fs::exists(record(*test))) continue;
    running.emplace_back([&record, test] {
      const std::string path = record(*test);
      write_file(path, measured(*test, path + ".run").dump() + "\n");
    });
  }
  for (engine::child_process& one : running)
    while (!one.reap()) {
      if (interrupt_watch::seen()) {
        running.clear();
        for (const test_program* test : needed) fs::remove_all(record(*test) + ".run");
        throw interrupted("mutants: interrupted before the tests were tried on the original");
      }
      one.drain();
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  for (test_program* test : needed) {
    if (!fs::exists(record(*test)))
      throw environment_error(fmt::format("test {} could not be tried on the original", test->name));
    const nlohmann::json j = nlohmann::json::parse(read_text(record(*test)));
    if (j.contains("failure")) {
      fs::remove(record(*test));
      throw environment_error(fmt::format("test {} fails on the original, so it judges nothing: {}", test->name,
                                          j.at("failure").get<std::string>()));
    }
    test->cpu_seconds = j.at("cpu");
    test->wall_seconds = j.at("wall");
    test->bounded_memory = j.at("bounded_memory");
  }
}

std::string tests_key(const mutant& m, const std::vector<test_program*>& tests, const toolchain& t) {
  std::string text =
      t.fingerprint() + m.file + '\t' + m.old_text + '\t' + m.new_text + file_sha256(t.root() + "/" + m.file);
  for (const test_program* test : tests) text += '\t' + test->name + test->key;
  return engine::sha256_hex(text).substr(0, 12);
}

mutant_result try_by_tests(const mutant& m, const std::vector<test_program*>& tests, const toolchain& t,
                           const std::string& folder) {
  mutant_result result;
  mutant_build build(t, m, folder);
  for (const test_program* test : tests) {
    std::string program;
    result.compile_error = build.link(test->program, program);
    if (!result.compile_error.empty()) return result;
    if (program.empty()) continue;
    ++result.cases;
    // A generous limit, because the machine is busy; an endless loop still ends soon.
    const command_result r = run_test(*test, t.build_folder() + "/" + test->program, program, folder,
                                      10 + 5 * test->cpu_seconds, 120 + 20 * test->wall_seconds);
    if (r.status == 0) continue;
    if (r.status >= 125 && r.status <= 127)
      throw environment_error(fmt::format("test {} cannot be started: {}", test->name, r.output));
    mutant_kill kill;
    kill.property = test->name;
    const bool stopped = r.status == 124 || r.status == 137 || r.status == 128 + SIGXCPU;
    kill.verdict = stopped ? "timeout" : r.status > 128 ? "crash" : "failed";
    kill.message = first_failure(r.output);
    result.kill = kill;
    result.as_expected = true;
    return result;
  }
  return result;
}

}  // namespace warpcheck::cli
