// Accesses of whole operations: per word of followed memory the latest ones of up to four operations, beside a list of
// the ranges that copies and sets accessed.
#include "simt/emulated/stream_clocks.hpp"

#include <algorithm>
#include <memory>
#include <mutex>
#include <set>
#include <tuple>
#include <unordered_map>

#include "simt/emulated/detector.hpp"
#include "simt/emulated/parts.hpp"
#include "simt/emulated/region.hpp"
#include "simt/emulated/symbols.hpp"

namespace simt {
inline namespace emu {

bool follows_memory = false;
bool checks_host = false;

namespace {

// By whom (an index of `operations`, 0: nobody), which thread of its launch, and where in the code.
struct followed_access {
  uint32_t operation, block, pc;
  uint32_t bytes : 4;  // of the word
  uint32_t kind : 2;
  uint32_t is_host : 1;  // code of the host, in an operation or between them
  uint32_t thread : 10;
};
struct followed_cell {
  followed_access by[4];
};
constexpr size_t k_words_of_unit = k_unit_bytes / 4;
using followed_unit = std::unique_ptr<followed_cell[]>;

// The memory that a copy or a set accessed.
struct range_access {
  uintptr_t begin, end;
  uint32_t operation;
  access_kind kind;
};
struct stream_race {
  followed_access earlier, now;  // of a range: without a place in the code
  uintptr_t at;
};

struct follower {
  std::vector<stream_operation> operations{1};  // their `before` is kept while they run
  uint32_t current = 0;                         // 0: the host
  stream_clock current_before, host_known;
  uint32_t host_position = 1, host_operation = 0;  // of what the host does now; 0: not needed yet
  bool host_is_ahead = false;                      // of work that waits
  bool host_took_part = false;                     // by an atomic access, beside work that it had not waited for
  std::vector<uint32_t> latest;                    // position begun last, by timeline
  std::unordered_map<uint32_t, std::string> names;
  std::unordered_map<size_t, followed_unit> units;
  size_t last_unit = ~size_t{0};
  followed_cell* last_cells = nullptr;
  std::vector<range_access> ranges;
  std::vector<range_access> unordered_ranges;          // with the operation that runs
  uintptr_t host_begin = ~uintptr_t{0}, host_end = 0;  // all ranges of the host's memory lie between
  uint32_t asked = 0;                                  // the operation of the last question, and its answer
  bool answer = false;
  std::vector<stream_race> found;
  std::set<std::tuple<uint32_t, uint32_t, unsigned, uint32_t>> reported;
  stream_race_reporter report = nullptr;
  std::recursive_mutex lock;  // the host has threads
};
// Never destroyed: operations run at exit(), too.
follower& followed() {
  static follower& instance = *new follower;
  return instance;
}

const stream_clock& known(const follower& f) { return f.current == 0 ? f.host_known : f.current_before; }

bool is_before(follower& f, uint32_t operation) {
  if (operation == f.current) return true;
  if (f.current == 0 && f.operations[operation].timeline == 0) return true;
  if (operation != f.asked) {
    const stream_operation& o = f.operations[operation];
    f.asked = operation;
    f.answer = covers(known(f), o.timeline, o.position);
  }
  return f.answer;
}

bool is_behind(const follower& f, const stream_clock& clock, uint32_t own) {
  for (uint32_t t = 0; t < f.latest.size(); ++t)
    if (t != own && !covers(clock, t, f.latest[t])) return true;
  return false;
}

// The host's accesses matter where it has not waited for everything, and where it runs as an operation.
void settle_host(follower& f) { checks_host = f.current != 0 || f.host_is_ahead || is_behind(f, f.host_known, 0); }

bool conflict(access_kind a, access_kind b) {
  return a == access_kind::write || b == access_kind::write ||
         (a != b && (a == access_kind::atomic || b == access_kind::atomic));
}
access_kind kind_in(const followed_access& a) { return static_cast<access_kind>(a.kind); }

std::string access_of(access_kind kind) {
  return kind == access_kind::read ? "read" : kind == access_kind::write ? "write" : "atomic access";
}

std::string line_of(const call_site& where) {
  const std::string text = describe(where);
  return text.substr(text.rfind('/') + 1);
}

std::string describe(const follower& f, const followed_access& a) {
  const std::string access = access_of(kind_in(a)) + " by ";
  std::string line = a.pc == 0 ? "" : " at " + source_line(a.pc);
  if (line.find("+0x") != std::string::npos) line.clear();  // code of ours, for a library's
  const stream_operation& o = f.operations[a.operation];
  if (o.timeline == 0) return access + "the host" + line;
  const auto named = f.names.find(o.timeline);
  const std::string call =
      std::string(o.call) + " at " + line_of(o.where) + " in " + (named == f.names.end() ? "a stream" : named->second);
  if (a.pc == 0) return access + call;
  if (a.is_host) return access + "the host" + line + ", in " + call;
  return access + "block " + std::to_string(a.block) + " thread " + std::to_string(a.thread) + line + ", of " + call;
}

// The same two accesses in the same words, whichever came first: the host's before an operation's, then by timeline.
std::string describe(const follower& f, const stream_race& r) {
  const auto timeline = [&](const followed_access& a) { return f.operations[a.operation].timeline; };
  const bool is_swapped = timeline(r.earlier) < timeline(r.now);
  const followed_access &first = is_swapped ? r.earlier : r.now, &second = is_swapped ? r.now : r.earlier;
  return describe(f, first) + " and " + describe(f, second) + " are not ordered: ";
}

void pass_on(follower& f) {
  std::vector<stream_race> found;
  found.swap(f.found);
  for (const stream_race& r : found) {
    const std::string text = describe(f, r);
    // The toolkit's own algorithms run on the host here, and in a stream on a GPU.
    if (f.report == nullptr || text.find("/thrust/") != std::string::npos) continue;
    const bool is_of_host =
        f.operations[r.earlier.operation].timeline == 0 || f.operations[r.now.operation].timeline == 0;
    f.report(text, reinterpret_cast<const void*>(r.at),
             is_of_host ? "; the host does not wait for that stream" : "; neither stream waits for the other");
  }
}

void found_race(follower& f, const followed_access& earlier, const followed_access& now, uintptr_t at) {
  const auto place = [&](const followed_access& a) {
    return a.pc != 0 || a.operation == 0 ? a.pc : f.operations[a.operation].where.line;
  };
  const unsigned kinds = earlier.kind * 4 + now.kind;
  if (!f.reported.insert({f.operations[earlier.operation].where.line, place(earlier), kinds, place(now)}).second)
    return;
  f.found.push_back({earlier, now, at});
  if (current == nullptr) pass_on(f);
}

followed_access bare(uint32_t operation, access_kind kind) {
  followed_access a{};
  a.operation = operation;
  a.kind = static_cast<unsigned>(kind) & 3;
  a.bytes = 15;
  return a;
}

followed_cell* cells_of(follower& f, size_t unit, bool make) {
  if (unit == f.last_unit) return f.last_cells;
  const auto at = f.units.find(unit);
  if (at == f.units.end() && !make) return nullptr;
  followed_unit& cells = at == f.units.end() ? f.units[unit] : at->second;
  if (cells == nullptr) cells = std::make_unique<followed_cell[]>(k_words_of_unit);
  f.last_unit = unit;
  return f.last_cells = cells.get();
}

void check_followed(follower& f, const followed_cell& c, const followed_access& now, uintptr_t at) {
  for (const followed_access& a : c.by)
    if (a.operation != 0 && (a.bytes & now.bytes) != 0 && conflict(kind_in(a), kind_in(now)) &&
        !is_before(f, a.operation))
      found_race(f, a, now, at);
}

// Checks the access and keeps it. One that is known to be after another, and conflicts with whatever the other does,
// stands for it.
void keep(follower& f, followed_cell& c, const followed_access& now, uintptr_t at) {
  followed_access* free = nullptr;
  bool is_kept = false;
  for (followed_access& a : c.by) {
    if (a.operation == now.operation && a.kind == now.kind) {
      if ((now.bytes & ~a.bytes) == 0) return;
      a.bytes |= now.bytes;
      is_kept = true;
    }
  }
  check_followed(f, c, now, at);
  for (followed_access& a : c.by) {
    const bool stands_for = a.operation != now.operation && (a.bytes & ~now.bytes) == 0 &&
                            (kind_in(now) == access_kind::write || a.kind == now.kind) && is_before(f, a.operation);
    if (stands_for) a = {};
    if (a.operation == 0 && free == nullptr) free = &a;
  }
  if (is_kept) return;
  if (free == nullptr)
    free = std::find_if(std::begin(c.by), std::end(c.by) - 1,
                        [&](const followed_access& a) { return is_before(f, a.operation); });
  *free = now;
}

void check_ranges(follower& f, const std::vector<range_access>& ranges, uintptr_t begin, size_t bytes,
                  const followed_access& now) {
  for (const range_access& r : ranges)
    if (begin < r.end && r.begin < begin + bytes && conflict(r.kind, kind_in(now)) && !is_before(f, r.operation))
      found_race(f, bare(r.operation, r.kind), now, std::max(begin, r.begin));
}

// The range of the host's memory that copies access.
void add_to_hull(follower& f, const range_access& r) {
  if (r.begin - shadow.base < k_region_bytes) return;
  f.host_begin = std::min(f.host_begin, r.begin);
  f.host_end = std::max(f.host_end, r.end);
}

// Calls what(word, bytes of it) for each word of [offset, offset + bytes).
template <class What>
void each_word(size_t offset, size_t bytes, const What& what) {
  for (size_t at = offset, end = offset + bytes; at < end;) {
    const size_t next = std::min(at / 4 * 4 + 4, end);
    what(at / 4, ((1u << (next - at)) - 1) << at % 4);
    at = next;
  }
}

// The operation that stands for what the host does between two calls.
uint32_t present_of_host(follower& f) {
  if (f.host_operation == 0) {
    f.host_operation = static_cast<uint32_t>(f.operations.size());
    f.operations.push_back({"", {}, 0, f.host_position, {}});
    join(f.latest, 0, f.host_position);
  }
  return f.host_operation;
}

void check_followed_words(follower& f, size_t offset, size_t bytes, const followed_access& now) {
  for (size_t at = offset, end = offset + bytes; at < end;) {
    const size_t unit = at / k_unit_bytes, next = std::min((unit + 1) * k_unit_bytes, end);
    if (const followed_cell* cells = cells_of(f, unit, false))
      each_word(at, next - at, [&](size_t word, unsigned mask) {
        followed_access a = now;
        a.bytes = mask & 15;
        check_followed(f, cells[word % k_words_of_unit], a, shadow.base + word * 4);
      });
    at = next;
  }
}

}  // namespace

void hb_report_stream_races(stream_race_reporter report) { followed().report = report; }

void hb_name_timeline(uint32_t timeline, const std::string& name) { followed().names[timeline] = name; }

void hb_operation_begins(const stream_operation& operation) {
  follower& f = followed();
  f.current = static_cast<uint32_t>(f.operations.size());
  f.operations.push_back({operation.call, operation.where, operation.timeline, operation.position, {}});
  f.current_before = operation.before;
  f.asked = 0;
  if (f.latest.size() <= operation.timeline) f.latest.resize(operation.timeline + 1);
  f.latest[operation.timeline] = std::max(f.latest[operation.timeline], operation.position);
  f.unordered_ranges.clear();
  for (const range_access& r : f.ranges)
    if (!is_before(f, r.operation)) f.unordered_ranges.push_back(r);
  checks_host = true;
}

void hb_operation_ends() {
  follower& f = followed();
  pass_on(f);
  f.current = f.asked = 0;
  settle_host(f);
}

void hb_host_knows(const stream_clock& known_now) {
  follower& f = followed();
  f.host_known = known_now;
  f.asked = 0;
  // Whatever the host asks for from now on comes after what it has waited for.
  if (!f.host_is_ahead)
    f.ranges.erase(std::remove_if(f.ranges.begin(), f.ranges.end(),
                                  [&](const range_access& r) {
                                    const stream_operation& o = f.operations[r.operation];
                                    return covers(known_now, o.timeline, o.position);
                                  }),
                   f.ranges.end());
  f.host_begin = ~uintptr_t{0}, f.host_end = 0;
  for (const range_access& r : f.ranges) add_to_hull(f, r);
  settle_host(f);
}

void hb_host_asks(uint32_t position) {
  followed().host_position = position;
  followed().host_operation = 0;
}

void hb_host_goes_ahead(bool does) {
  followed().host_is_ahead = does;
  settle_host(followed());
}

void hb_follow(const void* p, bool is_shared_with_host) {
  const size_t offset = reinterpret_cast<uintptr_t>(p) - shadow.base;
  if (offset >= k_region_bytes) return;
  follows_memory = true;
  const unit_range& r = shadow.units[offset / k_unit_bytes];
  for (size_t unit = r.begin / k_unit_bytes; unit <= (r.begin + r.bytes) / k_unit_bytes; ++unit) {
    shadow.units[unit].is_followed = 1;
    if (is_shared_with_host) shadow.units[unit].is_shared_with_host = 1;
  }
}

void hb_operation_accesses(const void* p, size_t bytes, bool writes) {
  follower& f = followed();
  if (f.current == 0 || bytes == 0) return;
  const auto begin = reinterpret_cast<uintptr_t>(p);
  const size_t offset = begin - shadow.base;
  const access_kind kind = writes ? access_kind::write : access_kind::read;
  const followed_access now = bare(f.current, kind);
  if (offset < k_region_bytes && shadow.units[offset / k_unit_bytes].is_followed == 0) return;
  check_ranges(f, f.unordered_ranges, begin, bytes, now);
  if (offset < k_region_bytes && is_behind(f, f.current_before, f.operations[f.current].timeline))
    check_followed_words(f, offset, bytes, now);
  f.ranges.push_back({begin, begin + bytes, f.current, kind});
  add_to_hull(f, f.ranges.back());
}

void hb_host_atomic(const void* p, size_t bytes, bool reads, const void* pc) {
  if (!checks_host) return;
  follower& f = followed();
  const size_t offset = reinterpret_cast<uintptr_t>(p) - shadow.base;
  if (f.current == 0 && offset < k_region_bytes) {
    const std::lock_guard<std::recursive_mutex> guard(f.lock);
    if (shadow.units[offset / k_unit_bytes].is_shared_with_host != 0) f.host_took_part = true;
    const followed_cell* cells = reads ? cells_of(f, offset / k_unit_bytes, false) : nullptr;
    stream_clock now = f.host_known;
    for (size_t i = 0; cells != nullptr && i < 4; ++i)
      if (const followed_access& a = cells[offset / 4 % k_words_of_unit].by[i];
          a.operation != 0 && kind_in(a) == access_kind::atomic)
        join(now, f.operations[a.operation].timeline, f.operations[a.operation].position);
    if (now != f.host_known) hb_host_knows(now);
  }
  if (checks_host) check_host_access(p, bytes, access_kind::atomic, pc);
}

bool hb_host_took_part() { return followed().host_took_part; }

void follow_access(size_t offset, size_t bytes, access_kind kind, const access_record& now) {
  follower& f = followed();
  if (f.current == 0) return;
  note_effect_of_order();
  followed_access a = bare(f.current, kind);
  const uint3 b = detector.block_of_instance[instance_of(now.thread)];
  a.block = b.x + device.grid.x * (b.y + device.grid.y * b.z);
  a.thread = linear_of(now.thread) & 1023;
  a.pc = now.pc & k_code_offset;
  if (!f.unordered_ranges.empty()) check_ranges(f, f.unordered_ranges, shadow.base + offset, bytes, a);
  each_word(offset, bytes, [&](size_t word, unsigned mask) {
    a.bytes = mask & 15;
    keep(f, cells_of(f, word / k_words_of_unit, true)[word % k_words_of_unit], a, shadow.base + word * 4);
  });
}

void check_host_access(const void* p, size_t bytes, access_kind kind, const void* pc) {
  follower& f = followed();
  const auto begin = reinterpret_cast<uintptr_t>(p);
  const size_t offset = begin - shadow.base;
  if (offset >= k_region_bytes && (begin >= f.host_end || begin + bytes <= f.host_begin)) return;
  if (offset < k_region_bytes) {
    const unit_range& r = shadow.units[offset / k_unit_bytes];
    if (r.is_followed == 0 || (f.current == 0 && r.is_shared_with_host == 0)) return;
  }
  const std::lock_guard<std::recursive_mutex> guard(f.lock);
  followed_access a = bare(f.current, kind);
  a.is_host = 1;
  a.pc = code_offset(pc);
  check_ranges(f, f.current == 0 ? f.ranges : f.unordered_ranges, begin, bytes, a);
  if (offset >= k_region_bytes) return;
  if (f.current == 0 && !f.host_is_ahead) return check_followed_words(f, offset, bytes, a);
  if (f.current == 0) a.operation = present_of_host(f);
  each_word(offset, bytes, [&](size_t word, unsigned mask) {
    a.bytes = mask & 15;
    keep(f, cells_of(f, word / k_words_of_unit, true)[word % k_words_of_unit], a, shadow.base + word * 4);
  });
}

void forget_followed(size_t first_unit, size_t units) {
  follower& f = followed();
  if (f.units.empty() && f.ranges.empty()) return;
  const std::lock_guard<std::recursive_mutex> guard(f.lock);
  for (size_t unit = first_unit; unit < first_unit + units; ++unit) f.units.erase(unit);
  f.last_unit = ~size_t{0};
  const uintptr_t begin = shadow.base + first_unit * k_unit_bytes, end = begin + units * k_unit_bytes;
  const auto inside = [&](const range_access& r) { return r.begin >= begin && r.begin < end; };
  f.ranges.erase(std::remove_if(f.ranges.begin(), f.ranges.end(), inside), f.ranges.end());
}

}  // namespace emu
}  // namespace simt
