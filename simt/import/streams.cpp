#include "simt/import/streams.hpp"

#include <algorithm>
#include <string>
#include <thread>
#include <tuple>
#include <unordered_map>

#include "simt/emulated/parts.hpp"
#include "simt/emulated/symbols.hpp"
#include "simt/import/launch.hpp"

namespace simt::import {
namespace {

// An operation enqueued in a stream, and the operations that happen before it.
struct stream_task {
  stream_call call;
  std::function<void()> work;
  uint32_t timeline, position;
  stream_clock before;
};

// If more operations wait, the oldest runs.
constexpr size_t k_most_waiting = 64;

struct stream_set {
  CUstream_st legacy, per_thread, of_call;
  std::vector<std::unique_ptr<CUstream_st>> created;
  stream_clock host{1};                              // what the host has waited for, and its number of requests
  stream_clock destroyed;                            // the clocks of destroyed blocking streams
  uint32_t timelines = 4;                            // in use from the start: the host, the first three streams
  std::vector<std::pair<uint32_t, uint32_t>> free;   // timelines and their positions, of streams that were waited for
  std::unordered_map<uint32_t, uint32_t> positions;  // of branches of graphs
  std::vector<std::unique_ptr<captured_graph>> captures;
  std::vector<stream_task> waiting;  // in the order of the calls
  uint64_t decisions = 0;            // number of choices that the schedule made
  uint32_t last = 0;                 // the timeline that ran last
  bool follows_all = false;          // two streams may run concurrently
  bool work_may_wait = true;
  bool host_waits = false;            // the host waits for the operation that runs
  bool is_in_call = false;            // of a candidate, in a trial
  std::vector<const char*> choices;   // of the host (host_chooses)
  uint64_t launches_before_time = 0;  // when the host first read a time after a launch; 0: it did not
  uint32_t time_read_at = 0;          // place of that

  stream_set() {
    legacy.timeline = 1;
    per_thread.timeline = 2;
    of_call.timeline = 3;
    hb_name_timeline(1, "the legacy default stream");
    hb_name_timeline(2, "the per-thread default stream");
    hb_name_timeline(3, "the stream of the call");
  }
};
// Never destroyed, because waiting operations run at exit().
stream_set& streams() {
  static stream_set& instance = *new stream_set;
  return instance;
}

constexpr const char* k_several_streams = "the order of operations of several streams";

// From this call on, two streams may use the same memory concurrently.
void follow_all_memory() {
  if ((!follows_streams() && !streams().is_in_call) || std::exchange(streams().follows_all, true)) return;
  host_chooses(k_several_streams);
  report_races_of_streams();
  for (const auto& [address, a] : the_program().memory) hb_follow(address, a.host_too);
}

CUstream_st& named(cudaStream_t stream) {
  if (stream == nullptr || stream == cudaStreamLegacy) return streams().legacy;
  if (stream != cudaStreamPerThread) return *stream;
  follow_all_memory();
  return streams().per_thread;
}

bool takes_turns(const CUstream_st& s) { return &s != &streams().legacy && s.is_blocking; }

// Returns the clock of a new operation of the stream. An operation of the legacy default stream follows all earlier
// ones of blocking streams, and their next operations follow it.
stream_clock before_next(const CUstream_st& s) {
  stream_set& all = streams();
  stream_clock before = s.known;
  join(before, all.host);
  if (takes_turns(s)) join(before, all.legacy.known);
  if (&s != &all.legacy) return before;
  join(before, all.destroyed);
  join(before, all.per_thread.known);
  join(before, all.of_call.known);
  for (const auto& other : all.created)
    if (other->is_blocking) join(before, other->known);
  return before;
}

// Returns the schedule's choice among `options`: `fair` takes the first, `reverse` the last.
size_t choose(size_t options) {
  const schedule& order = the_program().current->schedule;
  const strategy base = order.strategy >= strategy::replay ? order.base : order.strategy;
  if (base == strategy::fair || base == strategy::greedy) return 0;
  if (base == strategy::reverse) return options - 1;
  uint64_t z = order.seed * 0x9e3779b97f4a7c15u + ++streams().decisions;  // splitmix64's mixture
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return static_cast<size_t>((z ^ (z >> 31)) >> 32) % options;
}

void run(const stream_task& task) {
  // A launch may overlap only the previous one in its own stream.
  if (std::exchange(streams().last, task.timeline) != task.timeline) ::simt::synchronize();
  hb_operation_begins({task.call.name, task.call.where, task.timeline, task.position, task.before});
  task.work();
  hb_operation_ends();
}

// Runs all waiting operations that the clock covers, in an order that the schedule chooses.
void run_before(const stream_clock& clock) {
  auto& waiting = streams().waiting;
  for (;;) {
    std::vector<size_t> ready;
    for (size_t i = 0; i < waiting.size(); ++i) {
      const stream_task& t = waiting[i];
      const auto is_earlier = [&](const stream_task& other) {
        return &other != &t && covers(t.before, other.timeline, other.position);
      };
      if (covers(clock, t.timeline, t.position) && std::none_of(waiting.begin(), waiting.end(), is_earlier))
        ready.push_back(i);
    }
    if (ready.empty()) return;
    const auto chosen = waiting.begin() + static_cast<std::ptrdiff_t>(ready[choose(ready.size())]);
    const stream_task task = std::move(*chosen);
    waiting.erase(chosen);
    hb_host_goes_ahead(!waiting.empty());
    run(task);
  }
}

void host_has_waited_for(const stream_clock& clock) {
  streams().host_waits = true;
  run_before(clock);
  streams().host_waits = false;
  join(streams().host, clock);
  hb_host_knows(streams().host);
}

void submit(stream_task task) {
  stream_set& all = streams();
  hb_host_asks(++all.host[0]);  // later actions of the host do not happen before the operation
  const bool is_own = all.is_in_call && task.timeline != all.of_call.timeline;
  const bool waits = all.work_may_wait && task.call.may_wait && (is_own || choose(2) == 1);
  if (!waits) run_before(task.before);
  if (!waits) return run(task);
  all.waiting.push_back(std::move(task));
  hb_host_goes_ahead(true);
  if (all.waiting.size() <= k_most_waiting) return;
  stream_clock oldest;
  join(oldest, all.waiting.front().timeline, all.waiting.front().position);
  run_before(oldest);
}

// True in a trial's call of a candidate that has made streams.
bool has_own_streams() { return streams().is_in_call && !streams().created.empty(); }

void run_in(const stream_call& call, std::function<void()> work) {
  static const std::thread::id first = std::this_thread::get_id();
  if (std::this_thread::get_id() != first) host_chooses("the order of the host's threads");
  if (!follows_streams() && !has_own_streams()) return work();
  CUstream_st& s = named(call.stream);
  const stream_clock before = before_next(s);
  s.known = before;
  join(s.known, s.timeline, ++s.position);
  submit({call, std::move(work), s.timeline, s.position, before});
}

bool is_open(const captured_graph* capture) {
  const auto& open = streams().captures;
  return std::any_of(open.begin(), open.end(), [&](const auto& c) { return c.get() == capture; });
}

bool record(const stream_call& call, std::function<void()>& work) {
  if (in_kernel()) {
    note_effect_of_order();
    program& p = the_program();
    (call.stream == cudaStreamTailLaunch ? p.tails : p.children).push_back(std::move(work));
    return true;
  }
  CUstream_st& s = named(call.stream);
  if (s.capture == nullptr) return false;
  s.capture->nodes.push_back({call, std::move(work), s.after});
  s.after = {s.capture->nodes.size() - 1};
  return true;
}

}  // namespace

bool follows_streams() { return the_program().report != nullptr; }

void begin_call() {
  streams().is_in_call = true;
  streams().choices.clear();
  streams().launches_before_time = 0;
  if (has_own_streams()) follow_all_memory();  // made while the library was loaded
}
cudaStream_t stream_of_call() { return &streams().of_call; }

void end_call(bool waits_for_all) {
  stream_set& all = streams();
  if (has_own_streams()) {
    waits_for_all ? wait_for_all() : wait_for_stream(&all.of_call);
    host_chooses(k_several_streams);
  }
  for (const char* what : host_choices()) {
    the_program().current->certified = 0;
    the_program().current->choices.push_back({what, 0, 1});
  }
  if (!all.waiting.empty()) before_device_free = run_waiting;  // its tensors' memory still exists then
  all.is_in_call = false;
}

void follow_memory(const void* p, bool is_shared_with_host) {
  if (streams().follows_all || (follows_streams() && is_shared_with_host)) hb_follow(p, is_shared_with_host);
}

void enqueue(const stream_call& call, std::function<void()> work) {
  if (!record(call, work)) run_in(call, std::move(work));
}
void enqueue_and_wait(const stream_call& call, std::function<void()> work) {
  if (record(call, work)) return;
  run_in(call, std::move(work));
  host_has_waited_for(named(call.stream).known);
}
void wait_and_enqueue(const stream_call& call, std::function<void()> work) {
  if (record(call, work)) return;
  host_has_waited_for(before_next(named(call.stream)));
  run_in(call, std::move(work));
}
void work_never_waits() { streams().work_may_wait = false; }
bool host_waits_for_the_last_work() { return streams().host_waits && streams().waiting.empty(); }
void host_chooses(const char* what) {
  std::vector<const char*>& all = streams().choices;
  if (std::find(all.begin(), all.end(), what) == all.end()) all.push_back(what);
}
// A time before the first launch is an input like any other.
void host_reads_time(const void* pc) {
  stream_set& all = streams();
  if (all.launches_before_time > 0 || the_program().current->launches == 0) return;
  all.launches_before_time = the_program().current->launches;
  all.time_read_at = code_offset(pc);
}
void host_reads_time() { host_reads_time(SIMT_CALLER); }
bool may_depend_on_time() {
  const uint64_t before = streams().launches_before_time;
  return before > 0 && the_program().current->launches > before;
}
std::string assumption_on_time() {
  return may_depend_on_time() ? "the times that the host read, first at " + source_line(streams().time_read_at) : "";
}
const std::vector<const char*>& host_choices() {
  if (streams().is_in_call && may_depend_on_time()) host_chooses("the times that the host read before a launch");
  if (hb_host_took_part()) host_chooses("an atomic or volatile access of the host while kernels run");
  return streams().choices;
}
void run_waiting() { wait_for_all(); }

cudaStream_t create_stream(unsigned flags, int priority, const site& where) {
  stream_set& all = streams();
  follow_all_memory();
  all.created.push_back(std::make_unique<CUstream_st>());
  CUstream_st& made = *all.created.back();
  if (all.free.empty()) {
    made.timeline = all.timelines++;
  } else {
    std::tie(made.timeline, made.position) = all.free.back();
    all.free.pop_back();
  }
  made.is_blocking = (flags & 1) == 0;
  made.flags = flags;
  made.priority = priority;
  hb_name_timeline(made.timeline, std::string("the ") + (made.is_blocking ? "" : "non-blocking ") +
                                      "stream that was created at " + describe(where));
  return &made;
}

void destroy_stream(cudaStream_t stream) {
  stream_set& all = streams();
  const auto at =
      std::find_if(all.created.begin(), all.created.end(), [&](const auto& s) { return s.get() == stream; });
  if (at == all.created.end()) return;
  if (stream->is_blocking) join(all.destroyed, stream->known);
  if (stream->position == 0 || covers(all.host, stream->timeline, stream->position))
    all.free.emplace_back(stream->timeline, stream->position);
  all.created.erase(at);
}

unsigned flags_of(cudaStream_t stream) { return named(stream).flags; }
int priority_of(cudaStream_t stream) { return named(stream).priority; }

void wait_for_stream(cudaStream_t stream) {
  ::simt::synchronize();
  host_has_waited_for(before_next(named(stream)));
}

void wait_for_all() {
  ::simt::synchronize();
  stream_set& all = streams();
  stream_clock everything = before_next(all.legacy);
  for (const auto& s : all.created) join(everything, s->known);
  host_has_waited_for(everything);
}

void record_event(CUevent_st& event, cudaStream_t stream) {
  ::simt::synchronize();  // programmatic launches overlap the previous one, other operations do not
  CUstream_st& s = named(stream);
  event.recorded = true;
  event.capture = s.capture;
  event.after = s.after;
  if (s.capture != nullptr) return;
  s.known = before_next(s);
  event.at = s.known;
}

void wait_for_event(const CUevent_st& event) {
  ::simt::synchronize();
  host_has_waited_for(event.at);
}

void make_wait(cudaStream_t stream, const CUevent_st& event) {
  ::simt::synchronize();
  CUstream_st& s = named(stream);
  if (is_open(event.capture)) {  // the stream joins the event's capture
    if (s.capture == nullptr) event.capture->streams.push_back(stream);
    s.capture = event.capture;
    s.after.insert(s.after.end(), event.after.begin(), event.after.end());
    return;
  }
  s.known = before_next(s);
  join(s.known, event.at);
}

captured_graph* begin_capture(cudaStream_t stream) {
  CUstream_st& s = named(stream);
  if (s.capture != nullptr) return nullptr;
  streams().captures.push_back(std::make_unique<captured_graph>());
  s.capture = streams().captures.back().get();
  s.capture->streams = {stream};
  s.after.clear();
  return s.capture;
}

std::unique_ptr<captured_graph> end_capture(cudaStream_t stream) {
  captured_graph* const graph = named(stream).capture;
  if (graph == nullptr) return nullptr;
  for (const cudaStream_t s : graph->streams) {
    named(s).capture = nullptr;
    named(s).after.clear();
  }
  auto& list = streams().captures;
  const auto at = std::find_if(list.begin(), list.end(), [&](const auto& c) { return c.get() == graph; });
  std::unique_ptr<captured_graph> taken = std::move(*at);
  list.erase(at);
  return taken;
}

bool is_captured(cudaStream_t stream) { return named(stream).capture != nullptr; }

// A branch of a graph is a timeline: a step continues that of a predecessor, unless another step already does.
static void name_branches(std::vector<graph_step>& steps) {
  std::vector<bool> is_continued(steps.size());
  for (graph_step& step : steps) {
    for (const size_t before : step.after) {
      if (is_continued[before]) continue;
      is_continued[before] = true;
      step.timeline = steps[before].timeline;
      break;
    }
    if (step.timeline != 0) continue;
    step.timeline = streams().timelines++;
    hb_name_timeline(step.timeline, "a graph");
  }
}

void run_graph(cudaStream_t stream, std::vector<graph_step>& steps) {
  if (is_captured(stream) || (!follows_streams() && !has_own_streams())) {
    for (const graph_step& step : steps) enqueue({step.call.name, step.call.where, stream}, step.work);
    return;
  }
  if (!steps.empty() && steps.front().timeline == 0) name_branches(steps);
  follow_all_memory();
  CUstream_st& s = named(stream);
  s.known = before_next(s);
  std::vector<stream_clock> known;
  for (const graph_step& step : steps) {
    stream_clock before = s.known;
    for (const size_t earlier : step.after) join(before, known[earlier]);
    const uint32_t position = ++streams().positions[step.timeline];
    known.push_back(before);
    join(known.back(), step.timeline, position);
    submit({step.call, step.work, step.timeline, position, before});
  }
  for (const stream_clock& k : known) join(s.known, k);
}

struct graph_condition {
  unsigned value, initial;
  bool resets;
};
static graph_condition& condition_of(unsigned long long handle) { return *reinterpret_cast<graph_condition*>(handle); }

unsigned long long new_condition(unsigned initial, bool resets) {
  return reinterpret_cast<uintptr_t>(new graph_condition{initial, initial, resets});
}
unsigned condition(unsigned long long handle) { return condition_of(handle).value; }
void set_condition(unsigned long long handle, unsigned value) {
  ::simt::emu::note_effect_of_order();
  condition_of(handle).value = value;
}
void end_condition(unsigned long long handle) {
  graph_condition& c = condition_of(handle);
  if (c.resets) c.value = c.initial;
}

}  // namespace simt::import
