#include "properties/engine/isolation/isolated_library.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "properties/engine/error.hpp"
#include "properties/engine/isolation/arena.hpp"
#include "properties/engine/isolation/confine.hpp"
#include "properties/engine/isolation/runner.hpp"
#include "properties/engine/isolation/runner_process.hpp"
#include "properties/engine/isolation/tape.hpp"
#include "properties/engine/trials/device_tensor.hpp"
#include "properties/engine/trials/floating_point.hpp"

namespace warpcheck::engine {
namespace {

constexpr size_t k_block_alignment = 256;
constexpr size_t k_discarded = size_t{1} << 20;  // smaller blocks keep their pages for the next one
constexpr uint64_t k_no_block = UINT64_MAX;

bool g_is_isolating = false, g_isolates_cuda = true, g_outlives_runners = false;
std::vector<std::string> g_arguments;
warpcheck_device g_device = WARPCHECK_DEVICE_EMULATED;

// Ends this process in the same way as the runner ended.
[[noreturn]] void die_as_runner(int status) {
  if (WIFSIGNALED(status)) {
    signal(WTERMSIG(status), SIG_DFL);
    raise(WTERMSIG(status));
  }
  _exit(WEXITSTATUS(status));
}

// Runs between fork and exec.
[[noreturn]] void become_runner(const std::string& path, int descriptor, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(0);
  dup2(STDERR_FILENO, STDOUT_FILENO);  // what the candidate prints is no part of a command's results
  if (descriptor == k_arena_descriptor)
    fcntl(descriptor, F_SETFD, 0);
  else
    dup2(descriptor, k_arena_descriptor);
  const std::string device_name(name_of(g_device));
  std::vector<const char*> words = {"warpcheck", k_runner_word, device_name.c_str(), path.c_str()};
  for (const std::string& argument : g_arguments) words.push_back(argument.c_str());
  words.push_back(nullptr);
  execv("/proc/self/exe", const_cast<char* const*>(words.data()));
  std::fprintf(stderr, "the runner cannot be started: %s\n", std::strerror(errno));
  _exit(127);
}

}  // namespace

runner_process::~runner_process() {
  if (owner_ != getpid() || pid_ <= 0) return;
  kill(pid_, SIGKILL);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) continue;
}

// What follows the kind of an answer.
tape_reader runner_process::opened(const std::string& answer) {
  if (answer.empty()) throw malformed_message("it is empty");
  tape_reader rest(answer.substr(1));
  switch (static_cast<answer_kind>(answer[0])) {
    case answer_kind::done: return rest;
    case answer_kind::device_lost: throw device_lost(rest.take_text());
    case answer_kind::environment_error: throw environment_error(rest.take_text());
  }
  throw malformed_message(fmt::format("its kind is {}", static_cast<int>(answer[0])));
}

void runner_process::fail(const std::string& problem) {
  problem_ = "the candidate's process " + problem;
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) continue;
    pid_ = -1;
  }
  if (g_outlives_runners) throw runner_failed(problem_);
  std::fprintf(stderr, "%s\n", problem_.c_str());
  std::abort();
}

// Returns when the runner has stopped with its answer.
void runner_process::wait_for_answer() {
  for (bool is_answered = false; !is_answered;) {
    int status = 0;
    while (waitpid(pid_, &status, WUNTRACED) < 0 && errno == EINTR) continue;
    if (!WIFSTOPPED(status)) {
      pid_ = -1;
      if (!g_outlives_runners) die_as_runner(status);
      fail(WIFSIGNALED(status) ? fmt::format("was ended by signal {}", WTERMSIG(status))
                               : fmt::format("exited with status {} before it answered", WEXITSTATUS(status)));
    }
    is_answered = arena_->has_answer(message_);
    // A candidate has stopped itself, which a time limit ends, if there is one.
    if (!is_answered && g_outlives_runners && WSTOPSIG(status) == SIGSTOP) fail("stopped before it answered");
  }
}

template <class Read>
auto runner_process::read_answer(const Read& read) {
  try {
    tape_reader in = opened(arena_->read_answer(message_));
    auto values = read(in);
    if (!in.is_at_end()) throw malformed_message(fmt::format("it has {} bytes too many", in.left()));
    return values;
  } catch (const malformed_message& e) {
    fail(fmt::format("forged {}: {}", last_, e.what()));
  }
}

template <class Read>
auto runner_process::ask(const Read& read) {
  arena_->write_request(++message_, queued_.bytes());
  queued_.clear();
  kill(pid_, SIGCONT);
  wait_for_answer();
  return read_answer(read);
}

// Returns the candidate's description. Nothing of the process that was forked remains in the runner.
std::string runner_process::start() {
  arena_ = std::make_unique<arena>();
  blocks_.clear();
  queued_.clear();
  message_ = 0;
  owner_ = getpid();
  std::fflush(nullptr);
  pid_ = fork();
  if (pid_ < 0) throw environment_error(fmt::format("cannot start a runner: {}", std::strerror(errno)));
  if (pid_ == 0) become_runner(path_, arena_->descriptor(), owner_);
  ++message_;
  last_ = "its description";
  wait_for_answer();
  return read_answer([](tape_reader& in) { return in.take_text(); });
}

void runner_process::ask() {
  ask([](tape_reader&) { return 0; });
}

int runner_process::ask_status() {
  return ask([&](tape_reader& in) {
    const auto status = in.take<int32_t>();
    error_ = in.take_text();
    return status;
  });
}

tape_writer& runner_process::queue(request what) {
  if (!problem_.empty()) throw runner_failed(problem_);
  if (owner_ != getpid()) start();
  if (queued_.bytes().size() > arena::k_message / 2) ask();
  last_ = what == request::call ? "the answer to a call" : "an answer";
  queued_.put(what);
  return queued_;
}

runner_process::blocks::iterator runner_process::find(const void* p) {
  if (!arena_ || !arena_->has(p)) return blocks_.end();
  const size_t offset = arena_->offset_of(p);
  auto at = blocks_.upper_bound(offset);
  if (at == blocks_.begin()) return blocks_.end();
  --at;
  return offset < at->first + at->second.size ? at : blocks_.end();
}

size_t runner_process::free_place(size_t size) const {
  size_t at = 0;
  for (const auto& [begin, b] : blocks_) {
    if (begin - at >= size) break;
    at = begin + b.size;
  }
  return at;
}

void* runner_process::alloc(size_t bytes, size_t misalign, size_t element) {
  tape_writer& out = queue(request::alloc);
  // An address directly before or after the buffer still belongs to it.
  const size_t payload = k_block_alignment + misalign;
  const size_t size = (payload + bytes + 2 * k_block_alignment - 1) / k_block_alignment * k_block_alignment;
  const size_t begin = free_place(size);
  blocks_[begin] = {size, payload};
  out.put<uint64_t>(begin + payload);
  out.put<uint64_t>(bytes);
  out.put<uint64_t>(misalign);
  out.put<uint64_t>(element);
  out.put(cpu_buffers_place());
  return arena_->at(begin + payload);
}

void runner_process::release(void* p) {
  const auto b = find(p);
  if (b == blocks_.end() || owner_ != getpid()) return;
  const auto [begin, size] = std::pair(b->first, b->second.size);
  const uint64_t id = id_of(b);
  blocks_.erase(b);
  try {
    queue(request::release).put(id);
    if (size <= k_discarded) return;
    ask();  // the runner may be about to read the block
    arena_->discard(begin, size);
  } catch (const std::exception& e) {
    // Destructors call this function, so the next use of the runner throws.
    if (!g_outlives_runners) throw;
    if (problem_.empty()) problem_ = e.what();
  }
}

int64_t runner_process::check_guards(const void* p) {
  const auto b = find(p);
  return b == blocks_.end() ? INT64_MIN : b->second.damage;
}

void runner_process::queue_range(request what, const void* p, size_t bytes) {
  const auto b = find(p);
  if (b == blocks_.end()) return;
  tape_writer& out = queue(what);
  out.put(id_of(b));
  out.put<uint64_t>(arena_->offset_of(p) - id_of(b));
  out.put<uint64_t>(bytes);
}

int runner_process::copy_in(void* to, const void* from, size_t bytes) {
  if (bytes) std::memcpy(to, from, bytes);
  queue_range(request::copy_in, to, bytes);
  return 0;
}

void runner_process::queue_stream(request what, uint64_t number, const warpcheck_stream_options& options) {
  tape_writer& out = queue(what);
  out.put(number);
  out.put_text(options.schedule ? options.schedule : "");
  out.put(options);
}

void* runner_process::create_stream(const warpcheck_stream_options& options) {
  picked_.clear();
  queue_stream(request::create_stream, ++streams_, options);
  error_ = ask([](tape_reader& in) { return in.take_text(); });
  return error_.empty() ? reinterpret_cast<void*>(static_cast<uintptr_t>(streams_)) : nullptr;
}

void runner_process::destroy_stream(void* stream) {
  if (problem_.empty()) queue(request::destroy_stream).put(number_of(stream));
}

int runner_process::renew_stream(void* stream, const warpcheck_stream_options& options) {
  queue_stream(request::renew_stream, number_of(stream), options);
  return ask_status();
}

int runner_process::capture_begin(void* stream) {
  queue(request::capture_begin).put(number_of(stream));
  return ask_status();
}

int runner_process::capture_replay(void* stream, int32_t times) {
  queue(request::capture_replay).put(number_of(stream));
  queued_.put(times);
  return ask_status();
}

int32_t runner_process::is_usable() {
  queue(request::is_usable);
  return ask([](tape_reader& in) { return in.take<int32_t>(); });
}

int runner_process::synchronize(void* stream, warpcheck_finding_fn report, void* user) {
  queue(request::synchronize).put(number_of(stream));
  for (auto& [begin, b] : blocks_) b.damage = INT64_MIN;
  return ask([&](tape_reader& answer) {
    const auto status = answer.take<int32_t>();
    error_ = answer.take_text();
    for (auto left = answer.take<uint32_t>(); left > 0; --left) {
      const std::string kind = answer.take_text(), text = answer.take_text();
      report(user, kind.c_str(), text.c_str());
    }
    for (auto left = answer.take<uint32_t>(); left > 0; --left) {
      const auto id = answer.take<uint64_t>();
      const auto offset = answer.take<int64_t>();
      const auto b = find(arena_->at(0) + id);
      if (b != blocks_.end()) b->second.damage = offset;
    }
    return status;
  });
}

void runner_process::queue_tensor(const DLTensor& t) {
  DLTensor sent = t;
  const auto b = find(t.data);
  if (b != blocks_.end())
    sent.data =
        reinterpret_cast<void*>(static_cast<intptr_t>(arena_->offset_of(t.data)) - static_cast<intptr_t>(id_of(b)));
  queued_.put(sent);
  queued_.put(b == blocks_.end() ? k_no_block : id_of(b));
  for (const int64_t* const numbers : {t.shape, t.strides}) {
    const int32_t count = numbers ? std::max(t.ndim, 0) : -1;
    queued_.put(count);
    for (int32_t i = 0; i < count; ++i) queued_.put(numbers[i]);
  }
}

void runner_process::queue_call(const warpcheck_call& call) {
  queued_.put(call.num_inputs);
  queued_.put(call.num_outputs);
  queued_.put(call.num_scalars);
  for (int32_t i = 0; i < call.num_inputs; ++i) queue_tensor(*call.inputs[i]);
  for (int32_t i = 0; i < call.num_outputs; ++i) queue_tensor(*call.outputs[i]);
  for (int32_t i = 0; i < call.num_scalars; ++i) {
    queued_.put_text(call.scalars[i].name);
    queued_.put(call.scalars[i].value);
  }
  queued_.put<char>(call.variant != nullptr);
  queued_.put_text(call.variant ? call.variant : "");
}

int32_t runner_process::accepts(uint32_t op, uint32_t variant, const warpcheck_call& call) {
  queue(request::accepts).put(op);
  queued_.put(variant);
  queue_call(call);
  return ask([](tape_reader& in) { return in.take<int32_t>(); });
}

int64_t runner_process::reserve_bytes(uint32_t op, const warpcheck_call& call) {
  queue(request::reserve_bytes).put(op);
  queue_call(call);
  return ask([](tape_reader& in) { return in.take<int64_t>(); });
}

warpcheck_status runner_process::run(uint32_t op, warpcheck_call& call, void* reserve, int64_t reserve_bytes) {
  queue(request::call).put(op);
  queued_.put(number_of(call.stream));
  queue_call(call);
  const auto kept = find(reserve);
  queued_.put(kept == blocks_.end() ? k_no_block : id_of(kept));
  queued_.put(reserve_bytes);
  if (is_batch_) {
    ++batched_;
    return WARPCHECK_OK;
  }
  const auto answer = ask([](tape_reader& in) { return call_answer(in); });
  std::snprintf(call.message, call.message_size, "%s", answer.message.c_str());
  call.used_variant = answer.has_used ? variants_.insert(answer.used).first->c_str() : nullptr;
  picked_[&call] = answer.picked;
  // As if the call had changed the controls in this process.
  restore_floating_point_controls(answer.controls & k_floating_point_controls);
  if (answer.touched != k_no_block) touch_ = page_touch{arena_->at(0) + answer.touched, answer.offset};
  if (!answer.thrown.empty()) throw thrown_elsewhere(answer.thrown);
  return answer.status;
}

runner_process::call_answer::call_answer(tape_reader& in) {
  status = static_cast<warpcheck_status>(in.take<int32_t>());
  message = in.take_text();
  thrown = in.take_text();
  has_used = in.take<char>() != 0;
  used = in.take_text();
  picked = in.take_text();
  controls = in.take<unsigned>();
  touched = in.take<uint64_t>();
  offset = in.take<int64_t>();
}

double runner_process::time_batch(const std::function<void()>& calls,
                                  const std::function<std::vector<peeked>()>& peeks) {
  is_usable();  // inputs that are queued have arrived
  batched_ = 0;
  is_batch_ = true;
  calls();
  is_batch_ = false;
  const auto begin = std::chrono::steady_clock::now();
  const std::string failure = ask([&](tape_reader& in) {
    std::string first;
    for (; batched_ > 0; --batched_)
      if (const call_answer answer(in); first.empty() && (answer.status != WARPCHECK_OK || !answer.thrown.empty()))
        first = answer.thrown.empty() ? answer.message : answer.thrown;
    return first;
  });
  if (!failure.empty()) throw std::runtime_error(failure);
  read_back(peeks());
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
}

void runner_process::read_back(const std::vector<peeked>& parts) {
  queue(request::is_usable);  // waits
  for (const peeked& p : parts) queue_range(request::peek, p.place, p.bytes);
  if (!ask([](tape_reader& in) { return in.take<int32_t>(); })) throw std::runtime_error("the device has failed");
}

namespace {

// ---- functions of a device, which know their runner only by a number ----

constexpr size_t k_most_runners = 16;
std::unique_ptr<runner_process> g_runners[k_most_runners];
bool g_has_guard_pages[k_most_runners];
const warpcheck_device_api* g_apis[k_most_runners];

// Features of the device of a runner.
struct runner_features {
  warpcheck_device device;
  bool renews, captures;
};

template <size_t N>
const warpcheck_device_api& api_of_runner(const runner_features& has) {
  static const warpcheck_device_api api = {
      sizeof(warpcheck_device_api),
      has.device,
      [] { return "a process of the candidate's own"; },
      [] { return g_runners[N]->last_error(); },
      [](size_t bytes, size_t misalign, size_t element) { return g_runners[N]->alloc(bytes, misalign, element); },
      [](void* p) { g_runners[N]->release(p); },
      [](const void* p) { return g_runners[N]->check_guards(p); },
      [](void* p, size_t bytes) { g_runners[N]->forget(p, bytes); },
      [](void* to, const void* from, size_t bytes) { return g_runners[N]->copy_in(to, from, bytes); },
      [](void* to, const void* from, size_t bytes) {
        if (bytes) std::memcpy(to, from, bytes);
        return 0;
      },
      [](const warpcheck_stream_options* options) { return g_runners[N]->create_stream(*options); },
      [](void* stream) { g_runners[N]->destroy_stream(stream); },
      [](void* stream, warpcheck_finding_fn report, void* user) {
        return g_runners[N]->synchronize(stream, report, user);
      },
      has.captures ? +[](void* stream) { return g_runners[N]->capture_begin(stream); } : nullptr,
      has.captures ? +[](void* stream, int32_t times) { return g_runners[N]->capture_replay(stream, times); } : nullptr,
      [] { return static_cast<int>(g_runners[N]->is_usable()); },
      has.renews ? +[](void* stream,
                       const warpcheck_stream_options* options) { return g_runners[N]->renew_stream(stream, *options); }
                 : nullptr};
  return api;
}

template <size_t... N>
const warpcheck_device_api& api_of_runner(size_t number, const runner_features& has, std::index_sequence<N...>) {
  using make = const warpcheck_device_api& (*)(const runner_features&);
  static constexpr make k_makers[] = {api_of_runner<N>...};
  return k_makers[number](has);
}

size_t runner_of(const warpcheck_device_api& api) {
  size_t n = 0;
  while (n < k_most_runners && g_apis[n] != &api) ++n;
  return n;
}

listed_operator operator_of(const nlohmann::json& j, size_t number, uint32_t index) {
  runner_process* const process = g_runners[number].get();
  listed_operator op(j.at("name"), static_cast<warpcheck_device>(j.at("device").get<int>()), j.at("dtypes"),
                     j.at("extents").get<std::vector<std::string>>(),
                     [=](warpcheck_call& call) { return process->run(index, call); });
  if (j.at("picks")) op.publish_picks([=](const warpcheck_call* call) { return process->picks(*call); });
  if (j.at("reserve"))
    op.reserve = {
        [=](const warpcheck_call& call) { return process->reserve_bytes(index, call); },
        [=](warpcheck_call& call, void* reserve, int64_t bytes) { return process->run(index, call, reserve, bytes); }};
  op.states = j.at("states");
  op.boundaries = j.at("boundaries").get<std::vector<std::vector<int64_t>>>();
  if (op.boundaries.size() != op.extents.size()) throw std::runtime_error("boundaries of other extents");
  uint32_t place = 0;
  for (const nlohmann::json& v : j.at("variants")) {
    listed_variant variant = {v.at("name"), v.at("dtypes"), {}, nullptr};
    for (const auto& r : v.at("ranges").get<std::vector<std::array<int64_t, 4>>>())
      variant.ranges.push_back({r[0], r[1], r[2], r[3]});
    if (variant.ranges.size() != op.extents.size()) throw std::runtime_error("ranges of other extents");
    if (v.at("accepts"))
      variant.accepts = [=](const warpcheck_call* call) { return process->accepts(index, place, *call); };
    op.variants.push_back(std::move(variant));
    ++place;
  }
  return op;
}

}  // namespace

void isolate_candidates(std::vector<std::string> arguments) {
  g_is_isolating = true;
  g_arguments = std::move(arguments);
  hide_memory();
}

void outlive_runners() { g_outlives_runners = true; }

void keep_cuda_in_process() { g_isolates_cuda = false; }

bool is_isolating() { return g_is_isolating; }

bool is_isolating(warpcheck_device device) {
  return g_is_isolating && (g_isolates_cuda || device != WARPCHECK_DEVICE_CUDA);
}

isolated_library load_isolated(const std::string& path, warpcheck_device device) {
  g_device = device;
  size_t number = 0;
  while (number < k_most_runners && g_runners[number]) ++number;
  if (number == k_most_runners) throw environment_error("isolate: a process has 16 candidates at most");
  g_runners[number] = std::make_unique<runner_process>(std::filesystem::absolute(path).string());
  try {
    const auto j = nlohmann::json::parse(g_runners[number]->start());
    isolated_library library = {j.at("name"), nullptr, {}};
    for (const nlohmann::json& op : j.at("operators"))
      library.operators.push_back(operator_of(op, number, static_cast<uint32_t>(library.operators.size())));
    g_has_guard_pages[number] = j.at("guard_pages");
    const runner_features has = {static_cast<warpcheck_device>(j.at("api").get<int>()), j.at("renews"),
                                 j.at("captures")};
    library.api = g_apis[number] = &api_of_runner(number, has, std::make_index_sequence<k_most_runners>());
    return library;
  } catch (const environment_error&) {
    g_runners[number].reset();
    throw;
  } catch (const runner_failed&) {
    g_runners[number].reset();
    throw;
  } catch (const std::exception& e) {
    g_runners[number].reset();
    throw environment_error(fmt::format("candidate: the description of '{}' is malformed: {}", path, e.what()));
  }
}

bool has_runner(const warpcheck_device_api& api) { return runner_of(api) < k_most_runners; }

double time_batch(const warpcheck_device_api& api, const std::function<void()>& calls,
                  const std::function<std::vector<peeked>()>& peeks) {
  return g_runners[runner_of(api)]->time_batch(calls, peeks);
}

void read_back(const warpcheck_device_api& api, const std::vector<peeked>& parts) {
  g_runners[runner_of(api)]->read_back(parts);
}

bool has_guard_pages(const warpcheck_device_api& api) {
  const size_t number = runner_of(api);
  return &api == &cpu_device_api() || (number < k_most_runners && g_has_guard_pages[number]);
}

std::optional<page_touch> take_touch(const warpcheck_device_api& api) {
  const size_t number = runner_of(api);
  return number < k_most_runners ? g_runners[number]->take_touch() : std::nullopt;
}

}  // namespace warpcheck::engine
