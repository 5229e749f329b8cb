#include "command/support.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "command/candidates/toolchain.hpp"
#include "properties/engine/cases/generate.hpp"
#include "properties/engine/error.hpp"
#include "properties/engine/processes/contain.hpp"
#include "properties/engine/trials/library.hpp"

namespace warpcheck::cli {

using engine::environment_error;
using engine::usage_error;

namespace {

namespace fs = std::filesystem;

// The file behind an output's path, with links resolved.
struct destination {
  fs::path path;             // without links; may not exist yet
  int descriptor = -1;       // of this process, if the path is /dev/stdout or in /dev/fd
  bool replaceable = false;  // a regular file or nothing: not a device, a FIFO or a descriptor
};

fs::path folder_of(const fs::path& path) { return path.has_parent_path() ? path.parent_path() : "."; }

destination destination_of(const std::string& path) {
  constexpr int k_most_links = 40;  // as many as the kernel follows
  std::error_code error;
  const fs::path descriptors = fs::canonical("/proc/self/fd", error);
  destination d{path};
  for (int links = 0; links < k_most_links; ++links) {
    const std::string name = d.path.filename().string();
    if (fs::canonical(folder_of(d.path), error) == descriptors && !error &&
        std::from_chars(name.data(), name.data() + name.size(), d.descriptor).ec == std::errc())
      return d;
    if (!fs::is_symlink(d.path, error)) break;
    d.path = folder_of(d.path) / fs::read_symlink(d.path, error);
  }
  const fs::file_status status = fs::status(path, error);
  d.replaceable = !fs::exists(status) || fs::is_regular_file(status);
  return d;
}

// Opens a file that is not regular; returns nullptr and sets errno on failure.
FILE* open_in_place(const std::string& path, const destination& to) {
  std::fflush(stdout);  // earlier text must come first if the descriptor is stdout
  const int fd = to.descriptor >= 0 ? dup(to.descriptor) : open(path.c_str(), O_WRONLY | O_CLOEXEC);
  return fd < 0 ? nullptr : fdopen(fd, "wb");
}

volatile sig_atomic_t g_interrupted = 0;

// The GPUs that CUDA_VISIBLE_DEVICES leaves to this process, or all that the driver lists.
std::vector<std::string> visible_gpus() {
  std::vector<std::string> names;
  if (const char* chosen = std::getenv("CUDA_VISIBLE_DEVICES"); chosen && *chosen) {
    std::istringstream list(chosen);
    for (std::string name; std::getline(list, name, ',');) names.push_back(name);
    return names;
  }
  const command_result listed = run_command({"nvidia-smi", "--query-gpu=uuid", "--format=csv,noheader"});
  if (listed.status != 0)
    throw environment_error(fmt::format("device cuda:all: nvidia-smi, which lists the GPUs, ended with status {}: {}",
                                        listed.status, listed.output.substr(0, listed.output.find('\n'))));
  std::istringstream list(listed.output);
  for (std::string name; std::getline(list, name);)
    if (!name.empty()) names.push_back(name);
  if (names.empty()) throw environment_error("device cuda:all: nvidia-smi lists no GPU");
  return names;
}

std::vector<std::string>& spread_gpus() {
  static std::vector<std::string> names;  // as in CUDA_VISIBLE_DEVICES; empty unless `cuda:all` was requested
  return names;
}

}  // namespace

signal_handler::signal_handler(void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  sigaction(SIGINT, &action, &interrupt_);
  sigaction(SIGTERM, &action, &terminate_);
}

signal_handler::~signal_handler() {
  sigaction(SIGINT, &interrupt_, nullptr);
  sigaction(SIGTERM, &terminate_, nullptr);
}

interrupt_watch::interrupt_watch() : handler_([](int) { g_interrupted = 1; }) {}

interrupt_watch::~interrupt_watch() { g_interrupted = 0; }

bool interrupt_watch::seen() { return g_interrupted != 0; }

std::string ask_child(const std::function<std::string()>& question, std::string_view what, double patience_seconds) {
  const engine::child_outcome outcome = engine::run_in_child(
      [&]() -> std::string {
        try {
          return "+" + question();
        } catch (const usage_error& e) {
          return std::string("u") + e.what();
        } catch (const std::exception& e) {
          return std::string("e") + e.what();
        }
      },
      patience_seconds);
  if (outcome.timed_out)
    throw environment_error(
        fmt::format("{}: no answer from the process that loads the candidate after {:g} s", what, patience_seconds));
  if (!outcome.finished || outcome.text.empty())
    throw environment_error(fmt::format("{}: the process that loaded the candidate died: {}", what, outcome.death));
  const std::string text = outcome.text.substr(1);
  if (outcome.text[0] == 'u') throw usage_error(text);
  if (outcome.text[0] == 'e') throw environment_error(text);
  return text;
}

std::string resolve_device(const std::string& asked, std::string& note) {
  std::string device = asked;
  if (device == "cuda:all") {
    if (spread_gpus().empty()) spread_gpus() = visible_gpus();
    // A process that sees one GPU starts faster than one that sees all.
    choose_gpu(0);
    device = "cuda";
  }
  if (device.starts_with("cuda:")) {
    const std::string number = device.substr(5);
    if (number.empty() || number.find_first_not_of("0123456789") != std::string::npos)
      throw usage_error(fmt::format("device: '{}' does not name a GPU; write cuda:0, cuda:1, ... or cuda:all", asked));
    // The children see one GPU, which has number 0 for them.
    setenv("CUDA_VISIBLE_DEVICES", number.c_str(), 1);
    device = "cuda";
  }
  if (device != "auto" && device != "emulated" && device != "cuda" && device != "cpu")
    throw usage_error(fmt::format("device: '{}' is not one of auto, emulated, cuda, cuda:N, cuda:all, cpu", asked));
  const auto describe = [&](const std::string& d) {
    return ask_child([&] { return engine::describe_device(d); }, "device " + d);
  };
  if (device == "auto" || device == "cuda") {
    const std::string problem = ask_child([] { return engine::cuda_problem(); }, "device cuda");
    if (problem.empty()) {
      note = fmt::format("device cuda: {}", describe("cuda"));
      if (gpus_in_use() > 1) note += fmt::format(", with workers on {} GPUs", gpus_in_use());
      return "cuda";
    }
    if (device == "cuda") throw environment_error("device cuda: " + problem);
    note = fmt::format("device emulated (no GPU is used: {})", problem);
    return "emulated";
  }
  note = fmt::format("device {}", device);
  return device;
}

int gpus_in_use() { return std::max(1, static_cast<int>(spread_gpus().size())); }

void choose_gpu(int worker) {
  if (spread_gpus().empty()) return;
  const std::string& name = spread_gpus()[static_cast<size_t>(worker) % spread_gpus().size()];
  setenv("CUDA_VISIBLE_DEVICES", name.c_str(), 1);
}

std::vector<engine::target> ask_targets(const std::string& candidate, const std::string& op,
                                        const std::string& device) {
  const double patience_seconds = device == "cuda" ? 60 : 20;  // without a GPU's context it takes moments
  const std::string answer = ask_child(
      [&] {
        nlohmann::json list = nlohmann::json::array();
        for (const engine::target& t : engine::find_targets(candidate, op, device)) {
          nlohmann::json variants = nlohmann::json::array();
          for (const auto& v : t.variants) {
            variants.push_back({{"name", v.name}, {"ranges", nlohmann::json::array()}});
            for (const warpcheck_range& r : v.ranges)
              variants.back()["ranges"].push_back({r.min, r.max, r.dispatch_min, r.dispatch_max});
          }
          list.push_back({{"type", name_of(t.type)},
                          {"extents", t.extents},
                          {"lacks", text_of(t.offered)},
                          {"has_our_plan", t.offered.has_our_plan},
                          {"is_batch_invariant", t.offered.is_batch_invariant},
                          {"sum_depth", t.offered.sum_depth.value_or(-1)},
                          {"takes_log_of_sum", t.offered.takes_log_of_sum},
                          {"lets_exp_overflow", t.offered.lets_exp_overflow},
                          {"is_unstable", t.offered.is_unstable},
                          {"gates", t.offered.gates.value_or(-1)},
                          {"variants", variants},
                          {"boundaries", t.boundaries}});
        }
        return list.dump();
      },
      "candidate " + candidate, patience_seconds);
  std::vector<engine::target> targets;
  for (const nlohmann::json& j : nlohmann::json::parse(answer)) {
    engine::target t;
    t.op = op;
    t.device = device;
    t.candidate = candidate;
    t.type = *dtype_from_name(j.at("type").get<std::string>());
    t.extents = j.at("extents").get<std::vector<std::string>>();
    t.offered = engine::parse_offer(op, j.at("lacks").get<std::string>());
    t.offered.has_our_plan = j.at("has_our_plan");
    t.offered.takes_log_of_sum = j.at("takes_log_of_sum");
    t.offered.lets_exp_overflow = j.at("lets_exp_overflow");
    t.offered.is_unstable = j.at("is_unstable");
    t.offered.is_batch_invariant = j.at("is_batch_invariant");
    if (const int64_t depth = j.at("sum_depth"); depth >= 0) t.offered.sum_depth = depth;
    if (const int64_t gates = j.at("gates"); gates >= 0) t.offered.gates = gates;
    for (const auto& v : j.at("variants")) {
      t.variants.push_back({v.at("name"), {}});
      for (const auto& r : v.at("ranges")) t.variants.back().ranges.push_back({r[0], r[1], r[2], r[3]});
    }
    t.boundaries = j.at("boundaries").get<std::vector<std::vector<int64_t>>>();
    targets.push_back(std::move(t));
  }
  return targets;
}

void check_writable(const std::string& path) {
  if (path.empty()) throw usage_error("file: the path of an output is empty");
  const destination to = destination_of(path);
  const auto fail = [&](int error) {
    throw environment_error(fmt::format("file '{}': it cannot be written: {}", path, std::strerror(error)));
  };
  if (to.descriptor >= 0) {
    const int flags = fcntl(to.descriptor, F_GETFL);
    if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY) fail(EBADF);
  } else if (fs::is_directory(to.path)) {
    fail(EISDIR);
  } else if (access(to.replaceable ? (folder_of(to.path) / "").c_str() : path.c_str(), W_OK) != 0) {
    fail(errno);
  }
}

removed_file::~removed_file() {
  std::error_code ignored;
  fs::remove(path, ignored);
}

void write_file(const std::string& path, const std::string& text) {
  const destination to = destination_of(path);
  const std::string temporary = to.path.string() + ".partial";
  const auto fail = [&](const char* step) {
    const int error = errno;
    if (to.replaceable) std::remove(temporary.c_str());
    throw environment_error(fmt::format("file '{}': {} failed: {}", path, step, std::strerror(error)));
  };
  FILE* file = to.replaceable ? std::fopen(temporary.c_str(), "wb") : open_in_place(path, to);
  if (!file) fail("opening it");
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const bool closed = std::fclose(file) == 0;
  if (!written || !closed) fail("writing it");
  if (to.replaceable && std::rename(temporary.c_str(), to.path.c_str()) != 0) fail("renaming it into place");
}

std::vector<std::string> operators_left_out() {
  std::istringstream list(WARPCHECK_LEFT_OUT);
  return {std::istream_iterator<std::string>(list), {}};
}

std::string left_out_text(const std::vector<std::string>& left_out) {
  if (left_out.empty()) return "";
  return fmt::format("left out of this build: {}; 'ci/check OPERATOR' adds one to build/dev\n",
                     fmt::join(left_out, ", "));
}

std::string unknown_operator(const std::string& op, const std::vector<std::string>& left_out) {
  if (std::ranges::find(left_out, op) != left_out.end())
    return fmt::format("operator: '{}' is not part of this build, which has {}; 'ci/check {}' adds it to build/dev", op,
                       fmt::join(engine::operators_with_properties(), ", "), op);
  return fmt::format("operator: '{}' is unknown; known are {}", op,
                     fmt::join(engine::operators_with_properties(), ", "));
}

uint64_t parse_seed(const std::string& text) {
  if (text == "random") return (static_cast<uint64_t>(std::random_device{}()) << 20) ^ std::random_device{}();
  uint64_t seed = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), seed);
  if (code != std::errc() || end != text.data() + text.size())
    throw usage_error(fmt::format("seed: '{}' is neither an integer in [0, 2^64) nor 'random'", text));
  return seed;
}

void check_cases(int64_t cases) {
  constexpr int64_t k_most_cases = 10'000'000;
  if (cases < 1 || cases > k_most_cases)
    throw usage_error(fmt::format("cases: {} is not an integer in [1, {}]", cases, k_most_cases));
}

void check_timeout(std::optional<double> seconds) {
  if (seconds && !(*seconds > 0))
    throw usage_error(fmt::format("timeout: {} is not a positive number of seconds", *seconds));
}

double timeout_of(std::optional<double> asked, std::string_view device) {
  check_timeout(asked);
  return asked.value_or(device == "emulated" ? 300 : 60);
}

void check_shrink_seconds(double seconds) {
  if (!(seconds > 0)) throw usage_error(fmt::format("shrink-seconds: {} is not a positive number of seconds", seconds));
}

std::pair<int, int> parse_shard(const std::string& text) {
  int i = 0, n = 0, used = 0;
  if (std::sscanf(text.c_str(), "%d/%d%n", &i, &n, &used) != 2 || static_cast<size_t>(used) != text.size() || n < 1 ||
      i < 0 || i >= n)
    throw usage_error(fmt::format("shard: '{}' is not of the form i/n with 0 <= i < n", text));
  return {i, n};
}

std::string with_short_quotations(std::string text) {
  constexpr size_t k_most = 120, k_half = 58;
  for (size_t open = text.find('\''); open != std::string::npos;) {
    const size_t close = text.find('\'', open + 1);
    if (close == std::string::npos) break;
    const size_t length = close - open - 1;
    const bool is_long = length > k_most;
    if (is_long) text.replace(open + 1 + k_half, length - 2 * k_half, "...");
    open = text.find('\'', is_long ? open + 2 * k_half + 5 : close + 1);
  }
  return text;
}

}  // namespace warpcheck::cli
