// Findings that a launch outlives. Which races are harmless is known only after the access that shows the race.
#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "simt/emulated/certificate_state.hpp"
#include "simt/emulated/detector.hpp"
#include "simt/emulated/happens_before.hpp"
#include "simt/emulated/notices.hpp"
#include "simt/emulated/symbols.hpp"

namespace simt {
inline namespace emu {
namespace {

// A race of two writes: what the second one writes decides whether it is harmless, so the next access finds out.
struct open_write {
  race_record race;
  uint8_t before[4];
};

struct notice_state {
  tolerance tolerated = tolerance::none;
  std::vector<open_write> open_writes, settling;
  // Races of a plain read, by its thread and place. The thread's next access there decides: it must be a compare and
  // swap. Any number of them may be open until their threads end.
  std::map<uint32_t, std::multimap<size_t, race_record>> open_reads;
  struct raw {
    const char* kind;
    uint32_t earlier, now;  // places in the code
    std::function<std::string()> describe;
  };
  std::vector<raw> of_launch;  // in words once it has ended, for a thread's stack is small
  std::vector<finding> notices;
  std::set<std::tuple<std::string, uint32_t, uint32_t>> noted;  // by kind and both places in the code
  struct {
    const char* kind;
    uint32_t earlier, now;
  } recent[64] = {};  // some of them, by a hash of the places: a loop makes millions of such races
  std::set<std::tuple<std::string, std::string, std::string>> reported;  // the same by lines
};
notice_state& notice() {
  static notice_state& state = *new notice_state;
  return state;
}

const uint8_t* bytes_at(const race_record& r) { return reinterpret_cast<const uint8_t*>(shadow.base + r.offset); }

template <class Describe>
void note(const char* kind, uint32_t earlier, uint32_t now, const Describe& describe) {
  auto& recent = notice().recent[(earlier * 0x9e3779b1u ^ now * 0x85ebca6bu) >> 26];
  if (recent.kind == kind && recent.earlier == earlier && recent.now == now) return;
  recent = {kind, earlier, now};
  if (notice().noted.insert({kind, earlier, now}).second) notice().of_launch.push_back({kind, earlier, now, describe});
}
void note(const char* kind, const char* why, const race_record& r) {
  note(kind, r.earlier.pc & k_code_offset, r.now.pc & k_code_offset, [=] { return describe_race(r) + why; });
}

// A race that is not harmless.
void settle_as_race(const race_record& r) {
  if (notice().tolerated == tolerance::all) return note("race", "", r);
  fail("race", [&] { return describe_race(r); });
}

bool writes_the_same(const open_write& d) { return std::memcmp(d.before, bytes_at(d.race), d.race.bytes) == 0; }
void note_same_value(const race_record& r) { note("benign", "; both write the same value", r); }
void settle_write(const open_write& d) { writes_the_same(d) ? note_same_value(d.race) : settle_as_race(d.race); }

// Of races of the same lines at the same place, which have one verdict, one is kept.
void open_read(const race_record& r, uint32_t reader) {
  std::multimap<size_t, race_record>& races = notice().open_reads[reader];
  const auto [begin, end] = races.equal_range(r.offset);
  for (auto at = begin; at != end; ++at) {
    const race_record& other = at->second;
    if (other.bytes == r.bytes && other.earlier.pc == r.earlier.pc && other.now.pc == r.now.pc) return;
  }
  races.emplace(r.offset, r);
}

void settle_reads_of(uint32_t thread, size_t offset, size_t bytes, access_use use) {
  const auto own = notice().open_reads.find(thread);
  if (own == notice().open_reads.end()) return;
  std::multimap<size_t, race_record>& races = own->second;
  for (auto at = races.lower_bound(offset / 4 * 4); at != races.end() && at->first < offset + bytes;) {
    const race_record r = at->second;
    if (offset >= r.offset + r.bytes) {  // another byte of the word
      ++at;
      continue;
    }
    at = races.erase(at);
    if (use == access_use::compares)
      note("benign", ", which is the first read of a compare-and-swap loop", r);
    else
      settle_as_race(r);
  }
  if (races.empty()) notice().open_reads.erase(own);
}

}  // namespace

const char* name_of(access_kind kind) {
  return kind == access_kind::read ? "read" : kind == access_kind::write ? "write" : "atomic access";
}

std::string describe_race(const race_record& r) {
  return std::string(name_of(r.kind)) + " by " + describe_thread_id(r.now.thread) + " at " +
         source_line(r.now.pc & k_code_offset) + " and " + name_of(r.earlier_kind) + " by " +
         describe_thread_id(r.earlier.thread) + " at " + source_line(r.earlier.pc & k_code_offset) +
         " are not ordered: " + describe_place(r.offset);
}

std::string describe_place(size_t offset) {
  if (offset < k_arenas_bytes) {
    const size_t within = offset % k_arena_bytes;
    for (const shared_declaration& d : device.declarations)
      if (within >= d.offset && within < d.offset + d.bytes)
        return "byte " + std::to_string(within - d.offset) + " of " +
               (d.id == nullptr ? "dynamic shared memory" : "a shared array of " + std::to_string(d.bytes) + " bytes");
    return "shared memory";
  }
  const unit_range& r = shadow.units[offset / k_unit_bytes];
  if (r.bytes == 0) return "a buffer that was freed since";
  return "byte " + std::to_string(offset - r.begin) + " of a buffer of " + std::to_string(r.bytes) + " bytes";
}

bool has_open_races = false;

void tolerate(tolerance t) { notice().tolerated = t; }
void treat_volatile_as_plain(bool plain) { detector.plain_volatile = plain; }

std::vector<finding> take_notices() {
  std::vector<finding> taken = std::move(notice().notices);
  notice().notices.clear();
  return taken;
}

bool outlives(const char* kind, uint32_t pc, const std::function<std::string()>& describe) {
  if (notice().tolerated != tolerance::all) return false;
  count_choice(choice::unseen_memory, pc);
  note(kind, 0, pc, describe);
  return true;
}

void outlive_race(const race_record& r) {
  notice_state& n = notice();
  count_choice(choice::race, r.now.pc & k_code_offset);
  if (n.tolerated == tolerance::none) fail("race", [&] { return describe_race(r); });
  // An agent that runs beside its thread has written at an unknown moment.
  if (((r.earlier.thread | r.now.thread) & k_agent) != 0) return settle_as_race(r);
  const bool writes = r.earlier_kind == access_kind::write && r.kind == access_kind::write;
  const bool read_now = r.kind == access_kind::read && r.earlier_kind == access_kind::atomic;
  const bool read_before = r.kind == access_kind::atomic && r.earlier_kind == access_kind::read;
  if (read_before && (r.earlier.pc & k_first_read) != 0)
    return note("benign", ", which is the first read of a compare-and-swap loop", r);
  if (!writes && !read_now && !read_before) return settle_as_race(r);
  has_open_races = true;
  if (writes) {
    n.open_writes.push_back({r, {}});
    std::memcpy(n.open_writes.back().before, bytes_at(r), r.bytes);
  } else {
    open_read(r, read_now ? r.now.thread : r.earlier.thread);
  }
}

void settle_open_races(size_t offset, size_t bytes, const access_record* now, access_use use) {
  notice_state& n = notice();
  n.settling.clear();
  n.settling.swap(n.open_writes);
  for (const open_write& d : n.settling) {
    if (use == access_use::copies && d.race.now.thread == now->thread)
      n.open_writes.push_back(d);
    else
      settle_write(d);
  }
  if (now != nullptr) settle_reads_of(now->thread, offset, bytes, use);
  has_open_races = !n.open_writes.empty() || !n.open_reads.empty();
}

void settle_open_races_of(uint32_t thread) {
  settle_open_races(0, 0, nullptr, access_use::alone);
  notice_state& n = notice();
  const auto ended = n.open_reads.extract(thread);
  has_open_races = !n.open_writes.empty() || !n.open_reads.empty();
  if (ended.empty()) return;
  for (const auto& [offset, race] : ended.mapped()) settle_as_race(race);
}

void conclude_notices(emulation& stream) {
  notice_state& n = notice();
  const auto conclude = [&](const race_record& r) {
    if (n.tolerated == tolerance::all) return note("race", "", r);
    if (!stream.ok()) return;
    stream.findings.push_back({"race", describe_race(r)});
    device.failed = true;
  };
  for (const open_write& d : n.open_writes) writes_the_same(d) ? note_same_value(d.race) : conclude(d.race);
  for (const auto& [reader, races] : n.open_reads)  // who left before has made no access that could excuse it
    for (const auto& [offset, race] : races) conclude(race);
  n.open_writes.clear();
  n.open_reads.clear();
  has_open_races = false;
  for (const notice_state::raw& r : n.of_launch)
    if (n.reported.insert({r.kind, r.earlier == 0 ? "" : source_line(r.earlier), source_line(r.now)}).second)
      n.notices.push_back({r.kind, r.describe()});
  n.of_launch.clear();
}

}  // namespace emu
}  // namespace simt
