#include "simt/emulated/parts.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio_ext.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <new>
#include <vector>

#include "simt/emulated/certificate.hpp"
#include "simt/emulated/executor.hpp"
#include "simt/emulated/happens_before.hpp"
#include "simt/emulated/region.hpp"

#ifdef SIMT_FLAVOUR_RACE
#include "simt/emulated/certificate_state.hpp"
#include "simt/emulated/detector.hpp"
#include "simt/emulated/packed_cells.hpp"
#endif

namespace simt {
inline namespace emu {

bool has_one_thread() {
  DIR* const threads = opendir("/proc/self/task");
  if (threads == nullptr) return false;
  size_t entries = 0;
  while (readdir(threads) != nullptr) ++entries;
  closedir(threads);
  return entries == 3;  // one, beside . and ..
}

void note_effect_of_order() {
  if (is_part) leave_part();
  device.parts_are_over = device.had_effect = true;
}

#ifndef SIMT_FLAVOUR_ASAN

bool is_part = false;

namespace {

double least_milliseconds = 100;
constexpr unsigned k_most_in_vain = 3;  // launches, after which a stream has no more parts

// What a part has done to neighbouring bytes of the region: it has read them, or written all of them, or else updated
// all of them, and nothing else, by atomics of an operation that commutes, of 4 or 8 bytes each.
struct span {
  size_t offset, bytes;
  enum : uint8_t { reads, writes, updates } use;
  commuting operation = commuting::no;
  uint8_t size = 0;

  bool continues(const span& s) const {
    return s.offset + s.bytes == offset && s.use == use && s.operation == operation && s.size == size;
  }
};

// The beginning of a part's result. Its spans follow in ascending order, then the bytes of those that it did not only
// read.
struct part_result {
  uint64_t accesses, steps, switches, spans, bytes;
};

// Shared by the parts of a launch.
struct parts_state {
  std::atomic<uint64_t> next;  // cluster
  std::atomic<bool> stop;
  uint64_t parts;
};
parts_state* shared = nullptr;
struct {
  uint64_t next = 0, end = 0;
} own_clusters;  // of this part

char* address_of(size_t offset) { return region_base() + offset; }

// A process of a part, and what it sent.
struct part {
  int file = -1;
  pid_t process = -1;
  part_result* result = nullptr;
  size_t sent = 0;  // bytes

  span* spans() const { return reinterpret_cast<span*>(result + 1); }
  char* bytes() const { return reinterpret_cast<char*>(spans() + result->spans); }

  bool has_ended_well() const {
    int status = 0;
    while (waitpid(process, &status, 0) < 0)
      if (errno != EINTR) return false;
    return status == 0;
  }
  bool read_result() {
    const off_t end = lseek(file, 0, SEEK_END);
    if (end < static_cast<off_t>(sizeof *result)) return false;
    sent = static_cast<size_t>(end);
    void* const p = mmap(nullptr, sent, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_POPULATE, file, 0);
    if (p == MAP_FAILED) return false;
    result = static_cast<part_result*>(p);
    return sent == sizeof *result + result->spans * sizeof(span) + result->bytes;
  }
  // Calls f(span, its bytes) for each span; the bytes are none where the part has only read.
  template <class F>
  void each_span(const F& f) const {
    char* own = bytes();
    for (const span* s = spans(); s != spans() + result->spans; ++s) {
      f(*s, own);
      if (s->use != span::reads) own += s->bytes;
    }
  }
  void close_all() {
    if (result != nullptr) munmap(result, sent);
    if (file >= 0) close(file);
  }
};

// What a part has done to neighbouring bytes, and its bytes there afterwards; of updates, what they have brought.
struct change {
  span what;
  const char* by;
};

#ifdef SIMT_FLAVOUR_RACE

void add_span(std::vector<span>& spans, const span& s) {
  if (!spans.empty() && s.continues(spans.back()))
    spans.back().bytes += s.bytes;
  else
    spans.push_back(s);
}

// What the cell of these bytes says. Its atomics commute, as the launch has no choice.
span span_of(const packed_cell& packed, size_t offset, size_t bytes) {
  if (!is_link(packed) && kind_of_packed(packed.first) != packed_kind::atomic)
    return {offset, bytes, kind_of_packed(packed.first) == packed_kind::write ? span::writes : span::reads};
  const shadow_cell c = unpack(packed);
  if (c.write.thread == 0 && c.atomics[0].thread == 0) return {offset, bytes, span::reads};
  const word_operation o = operation_at(address_of(offset));
  const bool updates_only = c.write.thread == 0 && c.reads[0].thread == 0 && bytes == 4;
  const bool is_of_block = ((c.atomics[0].pc | c.atomics[1].pc) & k_block_scope) != 0;
  if (!updates_only || is_of_block || o.operation == commuting::no) return {offset, bytes, span::writes};
  return {offset, bytes, span::updates, o.operation, o.size};
}

// The accesses to device memory since the launch began in this process.
std::vector<span> accessed_spans() {
  std::vector<span> spans;
  each_allocation([&](char* p, size_t bytes) {
    const auto begin = static_cast<size_t>(p - region_base()), end = begin + bytes;
    constexpr size_t k_group_bytes = 4 * k_group_words;
    for (size_t group = begin / k_group_bytes; group <= (end - 1) / k_group_bytes && bytes > 0; ++group) {
      const size_t first_word = group * k_group_words - k_arenas_bytes / 4;
      if (shadow.stamps[first_word / k_group_words] != detector.generation) continue;
      for (size_t i = 0; i < k_group_words; ++i) {
        const packed_cell& c = shadow.packed[first_word + i];
        const size_t offset = group * k_group_bytes + 4 * i;
        if (c.first == 0) continue;
        if (!is_split(c)) {
          add_span(spans, span_of(c, offset, 4));
          continue;
        }
        const split_word& parts = linked_bytes(c);
        for (size_t k = 0; k < 4; ++k)
          if (parts.bytes[k].first != 0) add_span(spans, span_of(parts.bytes[k], offset + k, 1));
      }
    }
  });
  return spans;
}

// What an update, of a word that became `after`, has brought; and the word that it leaves of `before`.
template <class Unsigned>
Unsigned contribution(commuting operation, Unsigned before, Unsigned after) {
  return operation == commuting::add ? after - before : operation == commuting::bit_xor ? before ^ after : after;
}
template <class Unsigned, class Signed>
Unsigned updated(commuting operation, Unsigned before, Unsigned by) {
  const auto is_less = static_cast<Signed>(before) < static_cast<Signed>(by);
  switch (operation) {
    case commuting::add: return before + by;
    case commuting::min: return is_less ? before : by;
    case commuting::max: return is_less ? by : before;
    case commuting::unsigned_min: return std::min(before, by);
    case commuting::unsigned_max: return std::max(before, by);
    case commuting::bit_and: return before & by;
    case commuting::bit_or: return before | by;
    case commuting::bit_xor: return before ^ by;
    case commuting::no: break;
  }
  return by;
}

// Makes each word at `to` one(operation, the word at `before`, the word at `by`).
template <class Word, class One>
void each_word(const span& s, char* to, const char* before, const char* by, const One& one) {
  for (size_t i = 0; i < s.bytes; i += sizeof(Word)) {
    Word a, b;
    std::memcpy(&a, before + i, sizeof a);
    std::memcpy(&b, by + i, sizeof b);
    a = one(s.operation, a, b);
    std::memcpy(to + i, &a, sizeof a);
  }
}

// True if parts have only read the same bytes, or updated them by the same operation. Spans of one part do not overlap.
bool are_apart(const std::vector<part>& parts) {
  std::vector<span> all;
  for (const part& p : parts) all.insert(all.end(), p.spans(), p.spans() + p.result->spans);
  std::sort(all.begin(), all.end(), [](const span& a, const span& b) { return a.offset < b.offset; });
  span last = {0, 0, span::reads};  // the union of those before, as far as it matters
  for (const span& s : all) {
    const size_t end = last.offset + last.bytes;
    const bool is_alike =
        s.use != span::writes && s.use == last.use && s.operation == last.operation && s.size == last.size;
    if (s.offset < end && !is_alike) return false;
    last = s;
    last.bytes = std::max(end, s.offset + s.bytes) - s.offset;
  }
  return true;
}

// Gathers what the parts have changed. False if a byte that one has changed was accessed by another.
bool gather_changes(const std::vector<part>& parts, std::vector<change>& changes) {
  if (!are_apart(parts)) return false;
  for (const part& p : parts)
    p.each_span([&](const span& s, char* own) {
      if (s.use == span::updates && s.size == 4)
        each_word<uint32_t>(s, own, address_of(s.offset), own, contribution<uint32_t>);
      if (s.use == span::updates && s.size == 8)
        each_word<uint64_t>(s, own, address_of(s.offset), own, contribution<uint64_t>);
      if (s.use != span::reads) changes.push_back({s, own});
    });
  return true;
}

void apply(const change& c) {
  const span& s = c.what;
  const char* const by = c.by;
  char* const to = address_of(s.offset);
  if (s.use == span::writes) std::memcpy(to, by, s.bytes);
  if (s.use == span::updates && s.size == 4) each_word<uint32_t>(s, to, to, by, updated<uint32_t, int32_t>);
  if (s.use == span::updates && s.size == 8) each_word<uint64_t>(s, to, to, by, updated<uint64_t, int64_t>);
}

#else

constexpr uint64_t k_present = uint64_t{1} << 63, k_swapped = uint64_t{1} << 62, k_exclusive = uint64_t{1} << 56;

// The pages that this process does not share with that of the launch, whose copy it is (Linux,
// admin-guide/mm/pagemap.rst), one by one.
std::vector<span> accessed_spans() {
  const int map = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  const auto entries = [map](const char* begin, std::vector<uint64_t>& of_pages) {
    const auto bytes = of_pages.size() * sizeof(uint64_t);
    const auto at = reinterpret_cast<uintptr_t>(begin) / k_page_bytes * sizeof(uint64_t);
    if (pread(map, of_pages.data(), bytes, static_cast<off_t>(at)) != static_cast<ssize_t>(bytes)) leave_part();
  };
  static char written_here[2 * k_page_bytes];
  char* const whole = written_here + -reinterpret_cast<uintptr_t>(written_here) % k_page_bytes;
  *static_cast<volatile char*>(whole) = 1;
  std::vector<uint64_t> of_pages(1);
  entries(whole, of_pages);
  if ((of_pages[0] & k_exclusive) == 0) leave_part();  // the system does not tell
  std::vector<span> spans;
  each_allocation([&](char* p, size_t bytes) {
    if (bytes == 0) return;
    char* const first = p - reinterpret_cast<uintptr_t>(p) % k_page_bytes;
    of_pages.assign((static_cast<size_t>(p - first) + bytes + k_page_bytes - 1) / k_page_bytes, 0);
    entries(first, of_pages);
    for (size_t i = 0; i < of_pages.size(); ++i) {
      const uint64_t e = of_pages[i];
      if ((e & k_swapped) == 0 && (e & (k_present | k_exclusive)) != (k_present | k_exclusive)) continue;
      char* const begin = std::max(p, first + i * k_page_bytes);
      char* const end = std::min(p + bytes, first + (i + 1) * k_page_bytes);
      spans.push_back({static_cast<size_t>(begin - region_base()), static_cast<size_t>(end - begin), span::writes});
    }
  });
  return spans;
}

// Gathers what the parts have changed: pages that one of them has written, and the bytes of others that differ from
// those before the parts. False if several have changed a byte.
bool gather_changes(const std::vector<part>& parts, std::vector<change>& changes) {
  std::vector<change> pages;
  for (const part& p : parts) p.each_span([&](const span& s, const char* own) { pages.push_back({s, own}); });
  std::stable_sort(pages.begin(), pages.end(),
                   [](const change& a, const change& b) { return a.what.offset < b.what.offset; });
  for (auto page = pages.begin(), next = page; page != pages.end(); page = next) {
    while (next != pages.end() && next->what.offset == page->what.offset) ++next;
    if (next - page == 1) {
      changes.push_back(*page);
      continue;
    }
    for (size_t i = 0; i < page->what.bytes; ++i) {
      const size_t offset = page->what.offset + i;
      const auto has_changed = [&](const change& c) { return c.by[i] != *address_of(offset); };
      const auto by = std::find_if(page, next, has_changed);
      if (by == next) continue;
      if (std::find_if(by + 1, next, has_changed) != next) return false;
      const span s = {offset, 1, span::writes};
      if (!changes.empty() && s.continues(changes.back().what) &&
          changes.back().by + changes.back().what.bytes == by->by + i)
        ++changes.back().what.bytes;
      else
        changes.push_back({s, by->by + i});
    }
  }
  return true;
}

void apply(const change& c) { std::memcpy(address_of(c.what.offset), c.by, c.what.bytes); }

#endif

int new_file() { return memfd_create("part of a launch", MFD_CLOEXEC); }

bool send_result(int file, part_result r) {
  const std::vector<span> spans = accessed_spans();
  r.spans = spans.size();
  for (const span& s : spans) r.bytes += s.use == span::reads ? 0 : s.bytes;
  FILE* const to = fdopen(file, "w");
  if (to == nullptr) return false;
  std::fwrite(&r, sizeof r, 1, to);
  std::fwrite(spans.data(), sizeof(span), spans.size(), to);
  for (const span& s : spans)
    if (s.use != span::reads) std::fwrite(address_of(s.offset), 1, s.bytes, to);
  return std::ferror(to) == 0 && std::fflush(to) == 0;
}

[[noreturn]] void run_part(bool keeps_blocks, int result) {
  is_part = true;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // What the kernel prints would come twice, or not at all.
  const int printed = new_file();
  if (dup2(printed, STDOUT_FILENO) < 0 || dup2(printed, STDERR_FILENO) < 0) leave_part();
  const size_t pending = __fpending(stdout);
  const emulation& stream = *device.stream;
  const part_result before = {device.accesses, stream.steps, stream.switches, 0, 0};
  try {
    if (!keeps_blocks) {
      end_blocks();
      begin_blocks(false);
    }
    run_blocks();
  } catch (...) {
    leave_part();
  }
  const bool is_silent = __fpending(stdout) == pending && lseek(printed, 0, SEEK_END) == 0;
  if (device.failed || !is_silent || !hb_has_one_outcome_so_far()) leave_part();
  if (!send_result(result, {device.accesses - before.accesses, stream.steps - before.steps,
                            stream.switches - before.switches, 0, 0}))
    leave_part();
  _exit(0);
}

uint64_t first_cluster_left() { return device.window.empty() ? device.next_cluster : device.window.front(); }

double resident_mebibytes() {
  char text[64] = {};
  const int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  const ssize_t bytes = read(file, text, sizeof text - 1);
  close(file);
  unsigned long long all = 0, resident = 0;
  return bytes > 0 && std::sscanf(text, "%llu %llu", &all, &resident) == 2
             ? static_cast<double>(resident * k_page_bytes) / (1 << 20)
             : 0;
}

// A part costs milliseconds, and more in a process that has much memory.
bool pays_off() {
  constexpr double k_milliseconds_per_mebibyte = 0.1;
  const uint64_t left = device.total_clusters - first_cluster_left(), started = device.total_clusters - left;
  if (left == 0 || started == 0) return false;
  const std::chrono::duration<double, std::milli> so_far = std::chrono::steady_clock::now() - device.begun;
  const double expected = so_far.count() / static_cast<double>(started) * static_cast<double>(left);
  if (so_far.count() < least_milliseconds / 10 || expected < least_milliseconds) return false;
  return least_milliseconds == 0 || expected > least_milliseconds + k_milliseconds_per_mebibyte * resident_mebibytes();
}

// A copy of this process has one thread, and the locks of others would stay locked.
bool may_fork() {
  struct sigaction of_children = {};
  return sigaction(SIGCHLD, nullptr, &of_children) == 0 && of_children.sa_handler == SIG_DFL && has_one_thread();
}

}  // namespace

void set_least_time_for_parts(double milliseconds) { least_milliseconds = milliseconds; }

void leave_part() {
  shared->stop = true;
  _exit(1);
}

// The parts take ever fewer neighbouring clusters, so that they end at about the same time.
uint64_t next_cluster_of_part() {
  if (shared->stop) leave_part();
  if (own_clusters.next < own_clusters.end) return own_clusters.next++;
  uint64_t next = shared->next, taken = 0;
  do {
    taken = (device.total_clusters - next + 2 * shared->parts - 1) / (2 * shared->parts);
    if (taken == 0) return device.total_clusters;
  } while (!shared->next.compare_exchange_weak(next, next + taken));
  own_clusters = {next + 1, next + taken};
  return next;
}

bool ran_in_parts() {
  emulation& stream = *device.stream;
  if (stream.processes < 2 || device.parts_are_over || is_part || stream.schedule.strategy != strategy::fair ||
      device.cooperative || device.counting != nullptr || !pays_off())
    return false;
  device.parts_are_over = true;
  if (!hb_has_one_outcome_so_far() || !may_fork()) return false;
  void* const p = mmap(nullptr, sizeof(parts_state), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) return false;
  shared = new (p) parts_state{{first_cluster_left()}, {false}, stream.processes};
  std::vector<part> parts(stream.processes);
  for (part& one : parts) {
    one.file = new_file();
    one.process = one.file < 0 ? -1 : fork();
    if (one.process == 0) run_part(&one == &parts.front(), one.file);
    if (one.process < 0) shared->stop = true;
  }
  bool is_good = true;
  for (const part& one : parts)
    if (one.process < 0 || !one.has_ended_well()) is_good = false;
  for (part& one : parts)
    if (is_good && !one.read_result()) is_good = false;
  std::vector<change> changes;
  is_good = is_good && gather_changes(parts, changes);
  for (const change& c : changes) {
    if (!is_good) break;
    apply(c);
    mark_initialized(address_of(c.what.offset), c.what.bytes);
  }
  for (part& one : parts) {
    if (is_good) {
      device.accesses += one.result->accesses;
      stream.steps += one.result->steps;
      stream.switches += one.result->switches;
    }
    one.close_all();
  }
  munmap(shared, sizeof *shared);
  device.had_parts = device.had_parts || is_good;
  if (is_good)
    ++stream.launches_in_parts;
  else if (++stream.parts_in_vain == k_most_in_vain)
    stream.processes = 1;
  return is_good;
}

#endif

}  // namespace emu
}  // namespace simt
