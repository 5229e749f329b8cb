// Dynamic partial-order reduction over the choices of a launch: source sets (Abdulla et al., "Optimal dynamic partial
// order reduction", POPL 2014, algorithm 1) with sleep sets (Godefroid, LNCS 1032). A thread runs until its next choice
// and waits there for its turn. A state is the sequence of choices that leads to it. So the launch starts again, from
// its memory, for each class.
#include "simt/emulated/explore.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "simt/emulated/certificate_state.hpp"
#include "simt/emulated/own_vector.hpp"
#include "simt/emulated/region.hpp"
#include "simt/emulated/symbols.hpp"

namespace simt {
inline namespace emu {
namespace {

constexpr uint64_t k_most_blocks = 64, k_most_threads = 8192;
constexpr size_t k_most_events = 20000;                   // of a run
constexpr size_t k_most_saved_bytes = size_t{256} << 20;  // of device memory
constexpr uint64_t k_runs_a_class = 50;                   // of which all but one are given up
constexpr uint32_t k_no_actor = ~0u;

// By the number of an actor (a thread that makes choices), how many of its events happened before.
using event_counts = own_vector<uint32_t>;

void join_counts(event_counts& to, const event_counts& from) {
  if (to.size() < from.size()) to.resize(from.size());
  for (size_t i = 0; i < from.size(); ++i) to[i] = std::max(to[i], from[i]);
}

struct choice_operation {
  uintptr_t p = 0;
  uint32_t bytes = 0, place = 0;
  bool writes = false;
  commuting commutes = commuting::no;
};

struct choice_event {
  uint32_t thread = 0, actor = 0, number = 0;  // the actor's events begin with 1
  choice_operation what;
  event_counts before;  // and itself
};

// A word that a thread has asked since it last changed memory, and how often the word had changed then.
struct asked_word {
  choice_operation what;
  uint64_t version;
};

struct exploring_thread {
  bool is_at_choice = false;
  choice_operation next;
  event_counts before;
  own_vector<asked_word> asked;
  size_t latest = 0;  // its last event in this run, counted from 1
};

// A state before a choice.
struct choice_node {
  std::map<uint32_t, choice_operation> enabled;
  std::set<uint32_t> waiting;                     // threads that would ask again for words that have not changed
  std::set<uint32_t> wanted;                      // threads whose choice must come first in some run
  std::map<uint32_t, choice_operation> sleeping;  // whose choice, taken first here, leads to classes that have run
  uint32_t chosen = 0;
};

struct saved_memory {
  struct range {
    char* p;
    own_vector<char> bytes;
    own_vector<uint8_t> flags;
  };
  own_vector<range> ranges;
};

struct exploration_state {
  bool is_active = false, gave_up = false;
  bool assumes_waits = false;      // in some run, of a thread that asked in vain
  const char* obstacle = nullptr;  // why this run says nothing
  own_vector<choice_node> nodes;
  size_t depth = 0;  // choices of this run
  own_vector<choice_event> events;
  own_vector<exploring_thread> threads;                         // by resident index
  std::unordered_map<uintptr_t, own_vector<size_t>> events_of;  // by word
  std::unordered_map<uintptr_t, uint64_t> changes_of;           // by word
  size_t idle = 0;                                              // choices since memory last changed
  own_vector<uint32_t> actor_of;                                // by resident index, for all runs
  uint32_t actors = 0;
  std::set<uint32_t> used_results;  // places of atomics whose result somebody uses
};
exploration_state exploring;

template <class Each>
void each_word(const choice_operation& o, const Each& each) {
  for (uintptr_t word = o.p / 4; word <= (o.p + o.bytes - 1) / 4; ++word) each(word);
}

bool are_independent(const choice_operation& a, const choice_operation& b) {
  if (a.p + a.bytes <= b.p || b.p + b.bytes <= a.p) return true;
  if (!a.writes && !b.writes) return true;
  const auto is_unused = [](const choice_operation& o) { return exploring.used_results.count(o.place) == 0; };
  return a.commutes != commuting::no && a.commutes == b.commutes && a.p == b.p && a.bytes == b.bytes && is_unused(a) &&
         is_unused(b);
}

uint64_t version_of(const choice_operation& o) {
  uint64_t version = 0;
  each_word(o, [&](uintptr_t word) {
    const auto found = exploring.changes_of.find(word);
    if (found != exploring.changes_of.end()) version += found->second;
  });
  return version;
}

bool has_happened(const choice_event& e, const event_counts& before) {
  return e.actor < before.size() && before[e.actor] >= e.number;
}

// True if the thread is in a loop that waits: it asks what it has asked before, and nothing of that has changed.
bool are_unchanged(const own_vector<asked_word>& words) {
  return std::all_of(words.begin(), words.end(), [](const asked_word& a) { return a.version == version_of(a.what); });
}
bool asks_in_vain(const exploring_thread& t) {
  const bool asks_again = std::any_of(t.asked.begin(), t.asked.end(), [&](const asked_word& a) {
    return a.what.p == t.next.p && a.what.place == t.next.place;
  });
  return asks_again && are_unchanged(t.asked);
}

// The run shows nothing more: it ends where it is.
void give_up(const char* obstacle) {
  exploring.gave_up = true;
  exploring.obstacle = obstacle;
}

choice_node new_node() {
  choice_node n;
  std::map<uint32_t, choice_operation> in_vain;
  for (uint32_t i = 0; i < exploring.threads.size(); ++i) {
    const exploring_thread& t = exploring.threads[i];
    if (!t.is_at_choice) continue;
    if (asks_in_vain(t))
      in_vain.emplace(i, t.next);
    else
      n.enabled.emplace(i, t.next);
  }
  exploring.assumes_waits = exploring.assumes_waits || !in_vain.empty();
  // A loop of several threads goes on only when each of them has its answer, be it the old one.
  if (n.enabled.empty()) n.enabled = std::move(in_vain);
  for (const auto& [thread, what] : in_vain) n.waiting.insert(thread);
  if (exploring.depth == 0) return n;
  const choice_node& parent = exploring.nodes[exploring.depth - 1];
  const choice_operation& done = exploring.events.back().what;
  for (const auto& [thread, what] : parent.sleeping)
    if (thread != parent.chosen && are_independent(what, done)) n.sleeping.emplace(thread, what);
  return n;
}

// Puts a new state on the stack; false if each of its choices leads to a class that has run.
bool push_node() {
  choice_node n = new_node();
  const exploring_thread* first = nullptr;
  for (const auto& [thread, what] : n.enabled) {
    if (n.sleeping.count(thread) != 0) continue;
    const exploring_thread& t = exploring.threads[thread];
    if (first != nullptr && first->latest <= t.latest) continue;
    first = &t;
    n.chosen = thread;
  }
  if (first == nullptr) return false;
  n.wanted.insert(n.chosen);
  exploring.nodes.push_back(std::move(n));
  return true;
}

// The threads that can be the first of these events and lead to the same state (the initials of the sequence).
std::set<uint32_t> initials_of(const own_vector<const choice_event*>& events) {
  std::set<uint32_t> seen, initials;
  for (size_t i = 0; i < events.size(); ++i) {
    if (!seen.insert(events[i]->thread).second) continue;
    const bool is_first = std::none_of(events.begin(), events.begin() + static_cast<std::ptrdiff_t>(i),
                                       [&](const choice_event* e) { return has_happened(*e, events[i]->before); });
    if (is_first) initials.insert(events[i]->thread);
  }
  return initials;
}

// The event number `first` and the latest one could be exchanged: another run must try that.
void reverse_later(size_t first) {
  const choice_event& earlier = exploring.events[first];
  own_vector<const choice_event*> others;
  for (size_t i = first + 1; i + 1 < exploring.events.size(); ++i)
    if (!has_happened(earlier, exploring.events[i].before)) others.push_back(&exploring.events[i]);
  others.push_back(&exploring.events.back());
  const std::set<uint32_t> initials = initials_of(others);
  choice_node& n = exploring.nodes[first];
  const auto is_any_in = [&](const auto& threads) {
    return std::any_of(initials.begin(), initials.end(), [&](uint32_t t) { return threads.count(t) != 0; });
  };
  if (is_any_in(n.wanted)) return;
  for (const uint32_t t : initials)
    if (n.enabled.count(t) != 0) {
      n.wanted.insert(t);
      return;
    }
  // Asking in vain once more changes nothing. Otherwise something that is not followed here orders the two.
  if (!is_any_in(n.waiting))
    for (const auto& [t, what] : n.enabled) n.wanted.insert(t);
}

saved_memory save_memory() {
  saved_memory saved;
  each_allocation([&](char* p, size_t bytes) {
    saved_memory::range r{p, {p, p + bytes}, {}};
    const auto offset = static_cast<size_t>(p - region_base());
    if (shadow.units[offset / k_unit_bytes].tracks_writes)
      r.flags.assign(shadow.flags + offset, shadow.flags + offset + bytes);
    saved.ranges.push_back(std::move(r));
  });
  return saved;
}

void restore_memory(const saved_memory& saved) {
  for (const saved_memory::range& r : saved.ranges) {
    if (!r.bytes.empty()) std::memcpy(r.p, r.bytes.data(), r.bytes.size());
    if (!r.flags.empty()) std::memcpy(shadow.flags + (r.p - region_base()), r.flags.data(), r.flags.size());
  }
}

// FNV-1a.
uint64_t hash_of_memory() {
  uint64_t hash = 0xcbf29ce484222325ull;
  each_allocation([&](char* p, size_t bytes) {
    for (size_t i = 0; i < bytes; ++i) hash = (hash ^ static_cast<unsigned char>(p[i])) * 0x100000001b3ull;
  });
  return hash;
}

// The next run's prefix: the latest state in which a choice is still wanted. False if there is none.
bool take_next() {
  own_vector<choice_node>& nodes = exploring.nodes;
  for (; !nodes.empty(); nodes.pop_back()) {
    choice_node& n = nodes.back();
    n.sleeping.emplace(n.chosen, n.enabled.at(n.chosen));
    for (const uint32_t t : n.wanted) {
      if (n.sleeping.count(t) != 0) continue;
      n.chosen = t;
      return true;
    }
  }
  return false;
}

uint64_t count_wanted() {
  uint64_t count = 0;
  for (const choice_node& n : exploring.nodes)
    for (const uint32_t t : n.wanted) count += t != n.chosen && n.sleeping.count(t) == 0;
  return count;
}

void begin_run() {
  exploring.gave_up = false;
  exploring.obstacle = nullptr;
  exploring.depth = exploring.idle = 0;
  exploring.events.clear();
  exploring.threads.clear();
  exploring.events_of.clear();
  exploring.changes_of.clear();
}

// A result that turns out to be used only now: the runs so far have left out the orders that it tells apart.
bool learns_of_used_results() {
  const size_t before = exploring.used_results.size();
  each_used_result([](uint32_t place) { exploring.used_results.insert(place); });
  return exploring.used_results.size() > before;
}

void note_obstacle(emulation& stream, const char* what) {
  std::vector<std::string>& all = stream.explored.obstacles;
  if (std::find(all.begin(), all.end(), what) == all.end()) all.emplace_back(what);
}

const char* obstacle_before(const launch_config& config) {
  size_t bytes = 0;
  each_allocation([&](char*, size_t n) { bytes += n; });
  const uint64_t blocks = uint64_t{config.grid.x} * config.grid.y * config.grid.z;
  const uint64_t threads = uint64_t{config.block.x} * config.block.y * config.block.z;
  if (config.programmatic_launch) return "a launch that may overlap an earlier one";
  if (blocks > k_most_blocks || blocks * threads > k_most_threads)
    return "a grid of more than 64 blocks or 8192 threads";
  return bytes > k_most_saved_bytes ? "more than 256 MiB of device memory" : nullptr;
}

struct exploring_scope {
  exploring_scope() { exploring = {}, exploring.is_active = true; }
  ~exploring_scope() { exploring = {}; }
};

// Data that all runs of a launch share.
struct launch_runs {
  saved_memory before, after;
  uint64_t classes = 0, runs = 0, left = 0;
  std::set<uint64_t> outcomes;
  bool is_complete = false;
};

void run_classes(emulation& stream, launch_runs& all, void (*run)(const void*), const void* with) {
  const emulation at_start = stream;
  const uint64_t most = std::max<uint64_t>(1, stream.schedule.seed);
  for (;;) {
    begin_run();
    stream.launches = at_start.launches;
    stream.certified = at_start.certified;
    stream.choices = at_start.choices;
    ++all.runs;
    run(with);
    if (device.wanted_cluster) return;
    for (const char* what : unexplored_choices()) note_obstacle(stream, what);
    if (exploring.obstacle != nullptr) return note_obstacle(stream, exploring.obstacle);
    if (learns_of_used_results()) {
      exploring.nodes.clear();
      all.classes = 0;
      all.outcomes.clear();
    } else {
      if (!exploring.gave_up) {
        ++all.classes;
        all.outcomes.insert(hash_of_memory());
        if (all.classes == 1) all.after = save_memory();
      }
      all.is_complete = !take_next();
      if (all.is_complete) return;
      if (all.classes >= most || all.runs >= most * k_runs_a_class) {
        all.left = 1 + count_wanted();
        return;
      }
    }
    restore_memory(all.before);
  }
}

}  // namespace

bool explores() { return exploring.is_active; }
bool explore_gave_up() { return exploring.gave_up; }

void explore_launch(emulation& stream, const launch_config& config, void (*run)(const void*), const void* with) {
  if (stream.schedule.strategy != strategy::explore || !stream.detect) return run(with);
  if (const char* obstacle = obstacle_before(config)) {
    note_obstacle(stream, obstacle);
    ++stream.explored.classes;
    ++stream.explored.left;
    return run(with);
  }
  const exploring_scope scope;
  launch_runs all;
  all.before = save_memory();
  const uint64_t classes_before = stream.explored.classes;
  const size_t obstacles = stream.explored.obstacles.size();
  try {
    run_classes(stream, all, run, with);
  } catch (const device_error&) {
    stream.explored.classes = classes_before + all.classes + 1;
    if (!stream.ok() && all.classes > 0)
      stream.findings.back().text += "; in class " + std::to_string(all.classes + 1) + " of the explored schedules";
    throw;
  }
  if (device.wanted_cluster) return;
  if (all.classes > 0) restore_memory(all.after);
  stream.explored.classes += std::max<uint64_t>(all.classes, 1);
  stream.explored.left += all.left + (all.is_complete || all.left > 0 ? 0 : 1);
  stream.explored.waits += exploring.assumes_waits;
  stream.explored.outcomes = std::max<uint64_t>(stream.explored.outcomes, all.outcomes.size());
  stream.explored.launches += all.is_complete && stream.explored.obstacles.size() == obstacles;
}

void explore_point(const void* p, size_t bytes, atomic_kind kind, commuting operation, const void* pc) {
  thread& self = *current;
  if (exploring.threads.size() <= self.resident) exploring.threads.resize(device.by_resident.size());
  exploring_thread& t = exploring.threads[self.resident];
  t.is_at_choice = true;
  t.next = {reinterpret_cast<uintptr_t>(p), static_cast<uint32_t>(bytes), code_offset(pc), kind != atomic_kind::load,
            operation};
  self.state = thread_state::at_choice;
  wait_here();
}

void explore_executed(atomic_kind kind, bool changed) {
  const uint32_t resident = current->resident;
  exploring_thread& t = exploring.threads[resident];
  t.is_at_choice = false;
  t.next.writes = kind != atomic_kind::load;
  if (exploring.actor_of.size() <= resident) exploring.actor_of.resize(exploring.threads.size(), k_no_actor);
  uint32_t& actor = exploring.actor_of[resident];
  if (actor == k_no_actor) actor = exploring.actors++;
  if (t.before.size() <= actor) t.before.resize(actor + 1);
  std::set<size_t, std::greater<>> earlier;
  each_word(t.next, [&](uintptr_t word) {
    const own_vector<size_t>& list = exploring.events_of[word];
    earlier.insert(list.begin(), list.end());
  });
  choice_event now = {resident, actor, t.before[actor] + 1, t.next, t.before};
  own_vector<size_t> races;
  for (const size_t i : earlier) {
    const choice_event& e = exploring.events[i];
    if (has_happened(e, now.before) || are_independent(e.what, now.what)) continue;
    if (e.thread != resident) races.push_back(i);
    join_counts(now.before, e.before);
  }
  now.before[actor] = now.number;
  t.before = now.before;
  const size_t index = exploring.events.size();
  each_word(t.next, [&](uintptr_t word) {
    exploring.events_of[word].push_back(index);
    exploring.changes_of[word] += changed;
  });
  exploring.events.push_back(std::move(now));
  t.latest = index + 1;
  if (changed || kind == atomic_kind::store || !are_unchanged(t.asked)) t.asked.clear();
  if (!changed && kind != atomic_kind::store) t.asked.push_back({t.next, version_of(t.next)});
  exploring.idle = changed ? 0 : exploring.idle + 1;
  for (const size_t i : races) reverse_later(i);
}

void explore_choose() {
  if (exploring.gave_up) return;
  own_vector<exploring_thread>& threads = exploring.threads;
  const auto waiting = std::count_if(threads.begin(), threads.end(), [](const auto& t) { return t.is_at_choice; });
  if (waiting == 0) return;
  if (exploring.idle > 64 + 8 * static_cast<size_t>(waiting))
    fail("livelock", [] { return std::string("every runnable thread spins and memory does not change"); });
  if (exploring.depth >= k_most_events) return give_up("a run of more than 20000 choices");
  if (exploring.depth == exploring.nodes.size() && !push_node()) return give_up(nullptr);
  const uint32_t chosen = exploring.nodes[exploring.depth].chosen;
  if (chosen >= threads.size() || !threads[chosen].is_at_choice)
    return give_up("a kernel whose runs differ by themselves");
  ++exploring.depth;
  make_runnable(thread_of(chosen));
}

void explore_meet(uint32_t first_slot, uint32_t slots) {
  if (!exploring.is_active || exploring.events.empty()) return;
  event_counts all;
  const auto each = [&](const auto& f) {
    for (uint32_t i = first_slot * device.padded; i < (first_slot + slots) * device.padded; ++i)
      if (i < exploring.threads.size()) f(exploring.threads[i]);
  };
  each([&](const exploring_thread& t) { join_counts(all, t.before); });
  if (!all.empty()) each([&](exploring_thread& t) { t.before = all; });
}

void explore_meet(const thread* warp, uint32_t lanes) {
  if (!exploring.is_active || exploring.events.empty()) return;
  event_counts all;
  const auto each = [&](const auto& f) {
    for (uint32_t m = lanes; m != 0; m &= m - 1)
      if (const uint32_t i = warp[__builtin_ctz(m)].resident; i < exploring.threads.size()) f(exploring.threads[i]);
  };
  each([&](const exploring_thread& t) { join_counts(all, t.before); });
  if (!all.empty()) each([&](exploring_thread& t) { t.before = all; });
}

}  // namespace emu
}  // namespace simt
