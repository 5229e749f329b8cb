"""Processes that a command of ci/ starts, and that must not outlive it."""

import ctypes
import signal

PR_SET_PDEATHSIG = 1


def die_with_parent():
    """For `preexec_fn`: the child is killed with its parent, however the parent ends. So are the child's workers."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
