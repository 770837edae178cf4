"""Limits and priorities: its own raised, those of other processes taken away."""

import resource
import struct

from attacking import attempt, forbidden, os, outside, syscall

for name in ("RLIMIT_NPROC", "RLIMIT_NOFILE", "RLIMIT_CPU", "RLIMIT_FSIZE", "RLIMIT_CORE", "RLIMIT_MEMLOCK"):
    hard = resource.getrlimit(getattr(resource, name))[1]
    if hard == resource.RLIM_INFINITY:
        print(f"ESCAPED {name} has no limit")
    else:
        forbidden(name, resource.prlimit, 0, getattr(resource, name), (hard + 1, hard + 1))
for pid in (outside["pid"], outside["holder"], outside["server"]):
    attempt("seconds", resource.prlimit, pid, resource.RLIMIT_CPU, (0, 0))
    attempt("files", resource.prlimit, pid, resource.RLIMIT_NOFILE, (3, 3))
    attempt("priority", os.setpriority, os.PRIO_PROCESS, pid, 19)
    attempt("cores", os.sched_setaffinity, pid, {min(os.sched_getaffinity(0))})
    attempt("scheduler", os.sched_setscheduler, pid, os.SCHED_IDLE, os.sched_param(0))
    attempt("attributes", syscall, "sched_setattr", pid, struct.pack("IIQiIQQQ", 48, 5, 0, 0, 0, 0, 0, 0), 0)
    attempt("disk", syscall, "ioprio_set", 1, pid, 3 << 13)
if outside["nobody"]:  # else it would be all of a person's programs
    attempt("everybody's priority", os.setpriority, os.PRIO_USER, outside["uid"], 19)
forbidden("real time", os.sched_setscheduler, 0, os.SCHED_FIFO, os.sched_param(1))
forbidden("nice", os.setpriority, os.PRIO_PROCESS, 0, -20)
forbidden("real-time disk", syscall, "ioprio_set", 1, 0, 1 << 13)
