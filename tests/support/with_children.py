#!/usr/bin/env python3
"""Runs a test, and ends all processes that it has left: with_children.py COMMAND [ARGUMENT ...]

A test that is interrupted, killed or fails ends none of its brokers, browsers and roles. So this process adopts every
descendant of the test (PR_SET_CHILD_SUBREAPER), and kills those that are left when the test ends. A signal, also the one
that tells that ctest is gone (PR_SET_PDEATHSIG), is passed on to the test, which has five seconds to end. The exit code is
the test's. The last line says how much time of a processor all of them took, which scripts/slowest_tests.py reads.
"""
import ctypes
import os
import pathlib
import resource
import signal
import sys

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
PASSED_ON = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)
GRACE_S = 5


def children() -> list[int]:
    own = pathlib.Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children")
    return [int(pid) for pid in own.read_text().split()]


def end_all() -> None:
    """Kills the children until there are none: the children of a killed process become ours."""
    while left := children():
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
            except (ProcessLookupError, ChildProcessError):
                pass


def main() -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)

    test = os.fork()
    if test == 0:
        os.execvp(sys.argv[1], sys.argv[1:])

    def interrupted(number, _frame):
        signal.alarm(GRACE_S)
        os.kill(test, number)

    def too_late(_number, _frame):
        os.kill(test, signal.SIGKILL)

    signal.signal(signal.SIGALRM, too_late)
    for number in PASSED_ON:
        signal.signal(number, interrupted)
    while True:
        pid, status = os.wait()  # (an adopted process may end first)
        if pid == test:
            break
    signal.alarm(0)
    end_all()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"CPU: {used.ru_utime + used.ru_stime:.1f} s", flush=True)
    return os.waitstatus_to_exitcode(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status)


if __name__ == "__main__":
    sys.exit(main())
