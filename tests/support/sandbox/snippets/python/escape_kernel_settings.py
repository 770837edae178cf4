"""Files by which the kernel is told what to do."""

import glob

from attacking import forbidden, os

for path in (
    "/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe", "/proc/sys/kernel/hostname", "/proc/sys/vm/drop_caches",
    "/proc/sys/fs/binfmt_misc/register", "/proc/sysrq-trigger", "/sys/kernel/uevent_helper", "/sys/power/state",
    "/sys/fs/cgroup/cgroup.procs", "/sys/fs/cgroup/memory/release_agent", "/sys/fs/cgroup/memory/tasks", "/proc/kcore",
    "/sys/fs/cgroup/unified/cgroup.procs", "/sys/fs/cgroup/release_agent", "/proc/self/uid_map", "/proc/1/oom_score_adj",
    "/sys/kernel/debug/tracing/trace_on", "/sys/fs/cgroup/pids/cgroup.procs", "/proc/sys/kernel/randomize_va_space",
):  # fmt: skip
    forbidden(path, os.open, path, os.O_WRONLY)
forbidden("oom score", lambda: open("/proc/self/oom_score_adj", "w").write("-1000"))
for path in glob.glob("/sys/fs/cgroup/**/cgroup.procs", recursive=True):
    forbidden(path, lambda path: open(path, "w").write("0"), path)
for path in ("/sys/kernel", "/sys/class", "/sys/fs/cgroup", "/proc/sys/kernel"):
    forbidden(f"list {path}", os.listdir, path) if path.startswith("/sys") else None
