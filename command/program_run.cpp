#include "command/program_run.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <new>
#include <regex>
#include <sstream>

#include "command/candidates/toolchain.hpp"
#include "properties/engine/error.hpp"
#include "properties/engine/trials/cpu_features.hpp"
#include "simt/import/run.h"

namespace warpcheck::cli {
namespace {

using engine::environment_error;
using engine::usage_error;
using engine::verdict;

// The reason why the finding is known, or "".
std::string reason_of(const hazard& h, const std::vector<suppression>& known) {
  for (const suppression& s : known) {
    if (s.kind != h.kind) continue;
    for (size_t at = 0; (at = h.text.find(s.place, at)) != std::string::npos; ++at) {
      const size_t end = at + s.place.size();
      const bool whole_name = at == 0 || h.text[at - 1] == ' ' || h.text[at - 1] == '/' || h.text[at - 1] == '(';
      if (whole_name && (end == h.text.size() || !std::isdigit(static_cast<unsigned char>(h.text[end]))))
        return s.reason;
    }
  }
  return "";
}

// Runs in the program's process: loads the library and calls main().
void run_main(const program_request& request, const run_emulated_options& o, shared_record& record) {
  const std::string& library = request.library;
  if (const std::string problem = engine::emulated_problem(); !problem.empty())
    throw environment_error("device emulated: " + problem);
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) throw environment_error(fmt::format("'{}' does not load: {}", library, dlerror()));
  const auto run = reinterpret_cast<simt_import_run_fn>(dlsym(handle, "simt_import_run"));
  if (!run) throw environment_error(fmt::format("'{}' does not export simt_import_run", library));
  // exit() from anywhere ends the run as a return from main() does.
  on_exit(
      [](int status, void* user) {
        static_cast<shared_record*>(user)->end(status);
        std::fflush(nullptr);
        _exit(0);
      },
      &record);
  simt_import_options options = {};
  options.schedule = request.schedule.c_str();
  options.trace = record.trace();
  options.launches = record.launches();
  options.disturbed = request.disturbed.empty() ? nullptr : request.disturbed.c_str();
  options.step_limit = o.step_limit;
  options.processes = request.processes;
  options.user = &record;
  options.plain_volatile = o.volatile_as == "plain";
  options.keep_going = o.keep_going || !o.suppress.empty();
  options.report = [](void* user, const char* kind, const char* text, int fatal) {
    auto& record = *static_cast<shared_record*>(user);
    record.add({{"kind", kind}, {"text", text}});
    if (!fatal) return;
    record.end(0);
    std::fflush(nullptr);
    _exit(0);
  };
  std::vector<std::string> words = {o.file};
  words.insert(words.end(), o.arguments.begin(), o.arguments.end());
  std::vector<char*> argv;
  for (std::string& w : words) argv.push_back(w.data());
  argv.push_back(nullptr);
  record.end(run(&options, static_cast<int>(words.size()), argv.data()));
}

// The same in a separate thread. Its heap is new and lies at the address of the last such run's heap, whatever this
// process has allocated in between, so that equal runs access equal addresses.
void run_main_in_new_heap(const program_request& request, const run_emulated_options& o, shared_record& record) {
  const std::function<void()> body = [&] { run_main(request, o, record); };
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, size_t{256} << 20);
  pthread_t thread;
  const auto start = [](void* f) -> void* { return (*static_cast<const std::function<void()>*>(f))(), nullptr; };
  if (pthread_create(&thread, &attributes, start, const_cast<std::function<void()>*>(&body)) == 0)
    pthread_join(thread, nullptr);
}

// "./a.cu:3" becomes the user's "a.cu:3". The line of its source follows a line of a PTX module.
std::string tidy(const std::string& text, const line_origins& origins) {
  static const std::regex here(R"((^|[ (])\./)"), line(R"([^ /(]+\.ptx:[0-9]+)");
  std::string plain = std::regex_replace(text, here, "$1"), all;
  if (origins.empty()) return plain;
  std::smatch match;
  for (; std::regex_search(plain, match, line); plain = match.suffix()) {
    all += match.prefix().str() + match.str();
    if (const auto at = origins.find(match.str()); at != origins.end()) all += fmt::format(" ({})", at->second);
  }
  return all + plain;
}

int kept_input = -1;

void give_input() {
  if (kept_input < 0) return;
  const int own = open(fmt::format("/proc/self/fd/{}", kept_input).c_str(), O_RDONLY);
  dup2(own, STDIN_FILENO);
  close(own);
}

// Runs the program in a process of its own. The last line of the record then tells how that ended.
void fill_record(const program_request& request, const run_emulated_options& o, shared_record& record) {
  record.clear();
  const engine::child_outcome outcome = engine::run_in_child(
      [&]() -> std::string {
        give_input();
        if (request.output >= 0) {
          dup2(request.output, STDOUT_FILENO);
          dup2(request.output, STDERR_FILENO);
        }
        request.traced ? run_main_in_new_heap(request, o, record) : run_main(request, o, record);
        return "";
      },
      o.timeout);
  record.add({{"kind", "outcome"},
              {"finished", outcome.finished},
              {"timed_out", outcome.timed_out},
              {"death", outcome.death}});
}

program_run read_run(const std::string& schedule, const run_emulated_options& o, const std::vector<suppression>& known,
                     const shared_record& record, const line_origins& origins) {
  program_run r;
  r.schedule = schedule;
  r.trace = {record.trace()[0], record.trace()[1]};
  nlohmann::json outcome;
  std::istringstream lines(record.text());
  for (std::string line; std::getline(lines, line);) {
    const nlohmann::json j = nlohmann::json::parse(line);
    if (j["kind"] == "note") {
      r.notes.push_back(tidy(j["text"], origins));
    } else if (j["kind"] == "approximated") {
      r.approximated.push_back(j["text"]);
    } else if (j["kind"] == "every schedule") {
      r.is_every_schedule = true;
      r.assumed = tidy(j["text"], origins);
    } else if (j["kind"] == "explored") {
      r.explored = j["text"];
    } else if (j["kind"] == "choice") {
      r.choices.push_back(tidy(j["text"], origins));
    } else if (j["kind"] == "unsupported") {
      r.unsupported.push_back(tidy(j["text"], origins));
    } else if (j["kind"] == "module") {
      r.modules.push_back(read_module_source(j["text"].get<std::string>()));
    } else if (j["kind"] == "module needed") {
      r.needs_module = true;
    } else if (j["kind"] == "outcome") {
      outcome = j;
    } else {
      r.hazards.push_back({j["kind"], tidy(j["text"], origins), ""});
      r.hazards.back().known = reason_of(r.hazards.back(), known);
    }
  }
  const std::optional<int> ended = record.exit_status();
  r.exit_status = ended.value_or(0);
  if (outcome["timed_out"]) {
    r.hazards.push_back({"timeout", fmt::format("main() did not return within {:g} s", o.timeout), ""});
    r.notes.push_back(fmt::format("launches that ended before the program was stopped: {}", *record.launches()));
  } else if (!outcome["finished"] && !ended)
    r.hazards.push_back({"crash", "the program died: " + outcome["death"].get<std::string>(), ""});
  else if (r.exit_status != 0 && std::ranges::none_of(r.hazards, [](auto& h) { return h.counts(); }))
    r.hazards.push_back({"error_return", fmt::format("the program returned {}", r.exit_status), ""});
  else if (r.exit_status != 0)  // a hazard explains it
    r.notes.push_back(fmt::format("the program returned {}", r.exit_status));
  for (const hazard& h : r.hazards)
    if (h.counts() && (r.result == "pass" || severity(h.kind) > severity(r.result))) r.result = h.kind;
  return r;
}

}  // namespace

shared_record::shared_record() {
  void* p = mmap(nullptr, sizeof(page), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) throw environment_error(fmt::format("no memory for a record: {}", std::strerror(errno)));
  page_ = new (p) page;
}

shared_record::~shared_record() { munmap(page_, sizeof(page)); }

void shared_record::clear() {
  page_->written = 0;
  page_->exit_status.reset();
  page_->trace[0] = page_->trace[1] = page_->launches = 0;
}

void shared_record::add(const nlohmann::json& j) {
  const std::string line = j.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  if (pwrite(lines_.descriptor(), line.data(), line.size(), page_->written) != static_cast<ssize_t>(line.size()))
    std::abort();
  page_->written += static_cast<off_t>(line.size());
}

std::string shared_record::text() const {
  std::string text(static_cast<size_t>(page_->written), '\0');
  return pread(lines_.descriptor(), text.data(), text.size(), 0) == page_->written ? text : "";
}

std::vector<suppression> read_suppressions(const std::string& path) {
  std::vector<suppression> list;
  if (path.empty()) return list;
  std::istringstream text(read_text(path));
  int number = 0;
  for (std::string line; std::getline(text, line);) {
    ++number;
    std::istringstream words(line);
    suppression s;
    if (!(words >> s.kind) || s.kind[0] == '#') continue;
    words >> s.place >> std::ws;
    std::getline(words, s.reason);
    const size_t colon = s.place.rfind(':');
    if (s.reason.empty() || colon == std::string::npos || colon + 1 == s.place.size() ||
        s.place.find_first_not_of("0123456789", colon + 1) != std::string::npos)
      throw usage_error(
          fmt::format("suppress: line {} of '{}' is '{}', must be KIND FILE:LINE REASON", number, path, line));
    list.push_back(s);
  }
  return list;
}

verdict severity(const std::string& kind) { return engine::verdict_from_name(kind).value_or(verdict::out_of_bounds); }

void keep_input() {
  struct stat facts;
  if (fstat(STDIN_FILENO, &facts) == 0 && S_ISREG(facts.st_mode)) kept_input = dup(STDIN_FILENO);
}

program_run run_once(const program_request& request, const run_emulated_options& o,
                     const std::vector<suppression>& known, shared_record& record, const line_origins& origins) {
  fill_record(request, o, record);
  return read_run(request.schedule, o, known, record, origins);
}

parallel_run::parallel_run(const program_request& request, const run_emulated_options& o)
    : schedule_(request.schedule), process_([&] { fill_record(request, o, record_); }) {}

program_run parallel_run::result(const run_emulated_options& o, const std::vector<suppression>& known,
                                 const line_origins& origins) {
  while (!process_.reap()) {
    pollfd ends = {process_.output(), 0, 0};
    poll(&ends, 1, 10);
  }
  if (process_.status() != 0) throw environment_error(fmt::format("schedule {}: {}", schedule_, process_.death()));
  return read_run(schedule_, o, known, record_, origins);
}

}  // namespace warpcheck::cli
