// Findings that a launch outlives. Which races are harmless is known only after the access that shows the race.
#include <algorithm>
#include <cstring>
#include <functional>
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

// A race that may be harmless.
struct open_race {
  race_record race;
  // The thread whose next access to the place decides: it must be a compare and swap. 0: what is written there now, and
  // has just been written there before, decides.
  uint32_t reader;
  uint8_t before[4];
};

struct notice_state {
  tolerance tolerated = tolerance::none;
  std::vector<open_race> open_races;
  struct raw {
    const char* kind;
    uint32_t earlier, now;  // places in the code
    std::function<std::string()> describe;
  };
  std::vector<raw> of_launch;  // in words once it has ended, for a thread's stack is small
  std::vector<finding> notices;
  std::set<std::tuple<std::string, uint32_t, uint32_t>> noted;           // by kind and both places in the code
  std::set<std::tuple<std::string, std::string, std::string>> reported;  // the same by lines
};
notice_state& notice() {
  static notice_state state;
  return state;
}

const uint8_t* bytes_at(const race_record& r) { return reinterpret_cast<const uint8_t*>(shadow.base + r.offset); }

void note(const char* kind, uint32_t earlier, uint32_t now, std::function<std::string()> describe) {
  if (notice().noted.insert({kind, earlier, now}).second)
    notice().of_launch.push_back({kind, earlier, now, std::move(describe)});
}
void note(const char* kind, const char* why, const race_record& r) {
  note(kind, r.earlier.pc & k_code_offset, r.now.pc & k_code_offset, [=] { return describe_race(r) + why; });
}

// A race that is not harmless.
void settle_as_race(const race_record& r) {
  if (notice().tolerated == tolerance::all) return note("race", "", r);
  fail("race", [&] { return describe_race(r); });
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
  open_race d = {r, writes ? 0 : read_now ? r.now.thread : r.earlier.thread, {}};
  if (writes) std::memcpy(d.before, bytes_at(r), r.bytes);
  n.open_races.push_back(d);
  has_open_races = true;
}

void settle_open_races(size_t offset, size_t bytes, const access_record* now, access_use use) {
  std::vector<open_race> open;
  open.swap(notice().open_races);
  has_open_races = false;
  std::vector<open_race> left;
  for (const open_race& d : open) {
    const race_record& r = d.race;
    if (use == access_use::copies && d.reader == 0 && d.race.now.thread == now->thread) {
      left.push_back(d);
    } else if (d.reader == 0) {
      if (std::memcmp(d.before, bytes_at(r), r.bytes) == 0)
        note("benign", "; both write the same value", r);
      else
        settle_as_race(r);
    } else if (now != nullptr && now->thread == d.reader && offset < r.offset + r.bytes && r.offset < offset + bytes) {
      if (use == access_use::compares)
        note("benign", ", which is the first read of a compare-and-swap loop", r);
      else
        settle_as_race(r);
    } else {
      left.push_back(d);
    }
  }
  notice().open_races.insert(notice().open_races.end(), left.begin(), left.end());
  has_open_races = !notice().open_races.empty();
}

void settle_open_races_of(uint32_t thread) {
  settle_open_races(0, 0, nullptr, access_use::alone);
  std::vector<open_race>& open_races = notice().open_races;
  for (size_t i = 0; i < open_races.size();) {
    if (open_races[i].reader != thread) {
      ++i;
      continue;
    }
    const race_record r = open_races[i].race;
    open_races.erase(open_races.begin() + static_cast<long>(i));
    settle_as_race(r);
  }
  has_open_races = !open_races.empty();
}

void conclude_notices(emulation& stream) {
  notice_state& n = notice();
  for (const open_race& d : n.open_races) {
    if (d.reader == 0 && std::memcmp(d.before, bytes_at(d.race), d.race.bytes) == 0) {
      note("benign", "; both write the same value", d.race);
    } else if (n.tolerated == tolerance::all) {
      note("race", "", d.race);
    } else if (stream.ok()) {  // a reader that had left before has made no access that could excuse it
      stream.findings.push_back({"race", describe_race(d.race)});
      device.failed = true;
    }
  }
  n.open_races.clear();
  has_open_races = false;
  for (const notice_state::raw& r : n.of_launch)
    if (n.reported.insert({r.kind, r.earlier == 0 ? "" : source_line(r.earlier), source_line(r.now)}).second)
      n.notices.push_back({r.kind, r.describe()});
  n.of_launch.clear();
}

}  // namespace emu
}  // namespace simt
