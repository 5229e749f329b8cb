// Protection of the judging processes from a process that runs a candidate.
#pragma once

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <cstdint>
#include <stdexcept>

namespace warpcheck::engine {

// From now on, no process without CAP_SYS_PTRACE reads or traces this one, nor those that it forks: /proc/PID/mem,
// /proc/PID/fd and ptrace are denied.
inline void hide_memory() { prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); }

// Gives up the capabilities of this process for good, root's too, except for `kept`, a set of bits. Throws
// std::runtime_error if the system refuses.
inline void give_up_capabilities(uint32_t kept = 0) {
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {};
  if (syscall(SYS_capget, &header, sets) == 0) {
    for (unsigned long c = 0; prctl(PR_CAPBSET_READ, c, 0, 0, 0) >= 0; ++c)
      if (c >= 32 || !(kept >> c & 1)) prctl(PR_CAPBSET_DROP, c, 0, 0, 0);
    kept &= sets[0].permitted;
    sets[0] = {kept, kept, 0};
    sets[1] = {};
    if (syscall(SYS_capset, &header, sets) == 0) return;
  }
  throw std::runtime_error("this system does not let a process give up its capabilities");
}

// Gives up all, and with them the right to read hidden memory. Descriptors from `first_descriptor` on do not outlive
// exec.
inline void confine(unsigned first_descriptor) {
  give_up_capabilities();
  constexpr unsigned k_close_on_exec = 4;  // CLOSE_RANGE_CLOEXEC, which older headers lack
  if (syscall(SYS_close_range, first_descriptor, UINT_MAX, k_close_on_exec) != 0)
    throw std::runtime_error("this system does not let a process give up its descriptors");
}

}  // namespace warpcheck::engine
