// Happens-before among the operations of a program's streams and its host (race flavour): launches, copies, sets, host
// functions. Within a launch the detector orders threads; here an operation is one step of its stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "simt/emulated/kernel_api.hpp"

namespace simt {
inline namespace emu {

// For each timeline (0: the host; others: a stream, a branch of a graph) the number of operations that happened before.
using stream_clock = std::vector<uint32_t>;

inline bool covers(const stream_clock& clock, uint32_t timeline, uint32_t position) {
  return timeline < clock.size() && position <= clock[timeline];
}
inline void join(stream_clock& to, uint32_t timeline, uint32_t position) {
  if (to.size() <= timeline) to.resize(timeline + 1);
  if (to[timeline] < position) to[timeline] = position;
}
inline void join(stream_clock& to, const stream_clock& other) {
  for (uint32_t t = 0; t < other.size(); ++t) join(to, t, other[t]);
}

// An operation: the call that asked for it, and its place among the others.
struct stream_operation {
  const char* call = "";  // as the report names it
  call_site where;
  uint32_t timeline = 0, position = 0;
  stream_clock before;  // what happened before it
};

// Gets the two accesses in words, the first byte that both access, and why they are not ordered.
using stream_race_reporter = void (*)(const std::string& accesses, const void* at, const char* reason);

#ifdef SIMT_FLAVOUR_RACE
// Each pair of places is reported once.
void hb_report_stream_races(stream_race_reporter report);
// Sets the name of a timeline in reports: "the stream that was created at a.cu:7".
void hb_name_timeline(uint32_t timeline, const std::string& name);
// From here on, work on the device and on the host belongs to the operation, until it ends.
void hb_operation_begins(const stream_operation& operation);
void hb_operation_ends();
// Sets the operations that the host has waited for; its accesses race with those of all others.
void hb_host_knows(const stream_clock& known);
// Sets the number of the host's calls so far: its accesses before a call happen before the work of the call.
void hb_host_asks(uint32_t position);
// Sets whether work is pending while the host goes on: then the host's accesses are kept.
void hb_host_goes_ahead(bool does);
// Accesses of operations to this memory are followed; those of the host, too, where it may access it.
void hb_follow(const void* p, bool is_shared_with_host);
// The operation copies or sets these bytes, of the device or of the host.
void hb_operation_accesses(const void* p, size_t bytes, bool writes);
// The host accesses by an atomic or a volatile access. A read acquires what the operation did that wrote there so.
void hb_host_atomic(const void* p, size_t bytes, bool reads, const void* pc);
// True once such an access met, or may have met, an operation that the host had not waited for.
bool hb_host_took_part();

// For the detector: an access of the running thread to followed memory, at an offset of the region.
enum class access_kind : uint8_t;
struct access_record;
void follow_access(size_t offset, size_t bytes, access_kind kind, const access_record& now);
extern bool follows_memory;  // some of it, from operation to operation
// True if the host's accesses must be checked: operations run that it has not waited for, or one is the host's.
extern bool checks_host;
void check_host_access(const void* p, size_t bytes, access_kind kind, const void* pc);
void forget_followed(size_t first_unit, size_t units);
#else
inline void hb_report_stream_races(stream_race_reporter) {}
inline void hb_name_timeline(uint32_t, const std::string&) {}
inline void hb_operation_begins(const stream_operation&) {}
inline void hb_operation_ends() {}
inline void hb_host_knows(const stream_clock&) {}
inline void hb_host_asks(uint32_t) {}
inline void hb_host_goes_ahead(bool) {}
inline void hb_follow(const void*, bool) {}
inline void hb_operation_accesses(const void*, size_t, bool) {}
inline bool hb_host_took_part() { return false; }
#endif

}  // namespace emu
}  // namespace simt
