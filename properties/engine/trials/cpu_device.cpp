#include "properties/engine/trials/cpu_device.hpp"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <unordered_map>

#include "abi/host_memory.hpp"

namespace warpcheck::engine {
namespace {

constexpr size_t k_page = 4096;
constexpr size_t k_guard = 4096;
constexpr size_t k_filled = size_t{256} << 20;
constexpr unsigned char k_guard_byte = 0xa5;

// [inaccessible page][guard][payload][guard][inaccessible page]. The guard on the side of the placement is as short as
// the alignment allows.
struct block {
  unsigned char *begin, *end;  // between the inaccessible pages
  size_t bytes;
};
std::unordered_map<const void*, block>& blocks() {
  static std::unordered_map<const void*, block> map;
  return map;
}

cpu_placement g_placement = cpu_placement::behind_page;
std::string g_error;

void* alloc(size_t bytes, size_t misalign, size_t) {
  const size_t open = (bytes + k_cpu_alignment + k_guard + k_page - 1) / k_page * k_page;
  // Pages are only taken when touched, so the gaps between rows that are many gigabytes apart cost no memory.
  void* const map = mmap(nullptr, open + 2 * k_page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (map == MAP_FAILED || mprotect(static_cast<unsigned char*>(map) + k_page, open, PROT_READ | PROT_WRITE)) {
    g_error = std::strerror(errno);
    if (map != MAP_FAILED) munmap(map, open + 2 * k_page);
    return nullptr;
  }
  auto* const begin = static_cast<unsigned char*>(map) + k_page;
  unsigned char* const end = begin + open;
  const size_t room = (k_cpu_alignment - (misalign + bytes) % k_cpu_alignment) % k_cpu_alignment;
  unsigned char* const p = g_placement == cpu_placement::behind_page   ? begin + misalign
                           : g_placement == cpu_placement::before_page ? end - room - bytes
                                                                       : end - bytes;
  std::memset(begin, k_guard_byte, static_cast<size_t>(p - begin));
  if (bytes <= k_filled) std::memset(p, 0xff, bytes);
  std::memset(p + bytes, k_guard_byte, static_cast<size_t>(end - p) - bytes);
  blocks()[p] = {begin, end, bytes};
  return p;
}

void release(void* p) {
  const auto found = blocks().find(p);
  if (found == blocks().end()) return;
  munmap(found->second.begin - k_page, static_cast<size_t>(found->second.end - found->second.begin) + 2 * k_page);
  blocks().erase(found);
}

int64_t check_guards(const void* p) {
  const auto found = blocks().find(p);
  if (found == blocks().end()) return INT64_MIN;
  const auto* payload = static_cast<const unsigned char*>(p);
  const auto [begin, end, bytes] = found->second;
  for (const unsigned char* q = begin; q < payload; ++q)
    if (*q != k_guard_byte) return q - payload;
  for (const unsigned char* q = payload + bytes; q < end; ++q)
    if (*q != k_guard_byte) return q - payload;
  return INT64_MIN;
}

const char* describe() { return "host processor"; }
const char* last_error() { return g_error.c_str(); }

// ---- touches of inaccessible pages ----

pthread_t g_watched;
sigjmp_buf g_back;
page_touch g_touch;
struct sigaction g_before = {};

void on_fault(int, siginfo_t* info, void*) {
  const auto* const at = static_cast<const unsigned char*>(info->si_addr);
  if (pthread_equal(pthread_self(), g_watched))
    for (const auto& [payload, b] : blocks())
      if ((at >= b.begin - k_page && at < b.begin) || (at >= b.end && at < b.end + k_page)) {
        g_touch = {payload, at - static_cast<const unsigned char*>(payload)};
        siglongjmp(g_back, 1);
      }
  sigaction(SIGSEGV, &g_before, nullptr);  // the instruction faults again, for the previous handler
}

}  // namespace

void place_cpu_buffers(cpu_placement where) { g_placement = where; }
cpu_placement cpu_buffers_place() { return g_placement; }

std::optional<page_touch> until_a_page_is_touched(const std::function<void()>& call) {
  struct sigaction action = {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  g_watched = pthread_self();
  volatile bool touched = true;
  sigaction(SIGSEGV, &action, &g_before);
  try {
    if (sigsetjmp(g_back, 1) == 0) {
      call();
      touched = false;
    }
  } catch (...) {
    sigaction(SIGSEGV, &g_before, nullptr);
    throw;
  }
  sigaction(SIGSEGV, &g_before, nullptr);
  return touched ? std::optional(g_touch) : std::nullopt;
}

const warpcheck_device_api& cpu_device_api() {
  static const warpcheck_device_api api =
      host_memory::api_of(WARPCHECK_DEVICE_CPU, describe, last_error, alloc, release, check_guards);
  return api;
}

}  // namespace warpcheck::engine
