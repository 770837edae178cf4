"""What other processes were started with: their arguments and environment."""

from attacking import attempt, forbidden, os, outside, read

everybody = attempt("processes", os.listdir, "/proc") or []
for pid in {*filter(str.isdigit, everybody), "1", str(os.getppid()), str(outside["pid"]), str(outside["holder"])}:
    for name in ("cmdline", "environ", "auxv", "stack", "syscall", "maps"):
        attempt(f"{name} of {pid}", read, f"/proc/{pid}/{name}")
forbidden("seen", os.stat, f"/proc/{outside['pid']}/exe")
forbidden("seen by signal 0", os.kill, outside["pid"], 0)
