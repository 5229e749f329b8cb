// Protection of the judging processes from a process that runs a candidate.
#pragma once

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <stdexcept>

namespace warpcheck::engine {

// From now on, no process without CAP_SYS_PTRACE reads or traces this one, nor those that it forks: /proc/PID/mem,
// /proc/PID/fd and ptrace are denied.
inline void hide_memory() { prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); }

// Gives up every capability of this process for good, root's too, and with them the right to read hidden memory.
// Descriptors from `first_descriptor` on do not outlive exec. Throws std::runtime_error if the system refuses.
inline void confine(unsigned first_descriptor) {
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  for (unsigned long c = 0; prctl(PR_CAPBSET_READ, c, 0, 0, 0) >= 0; ++c) prctl(PR_CAPBSET_DROP, c, 0, 0, 0);
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  const __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {};
  constexpr unsigned k_close_on_exec = 4;  // CLOSE_RANGE_CLOEXEC, which older headers lack
  if (syscall(SYS_capset, &header, none) != 0 ||
      syscall(SYS_close_range, first_descriptor, UINT_MAX, k_close_on_exec) != 0)
    throw std::runtime_error("this system does not let a process give up its capabilities or descriptors");
}

}  // namespace warpcheck::engine
