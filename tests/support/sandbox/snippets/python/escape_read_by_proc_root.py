"""The roots and working folders of processes, as /proc shows them."""

from attacking import attempt, os, outside, read

secret = outside["secret"]
for pid in ("self", "thread-self", "1", "2", str(os.getppid()), str(outside["pid"]), str(outside["holder"])):
    attempt(f"root of {pid}", read, f"/proc/{pid}/root{secret}")
    attempt(f"folder of {pid}", read, f"/proc/{pid}/cwd{'/..' * 24}{secret}")
    attempt(f"task of {pid}", read, f"/proc/{pid}/task/{pid}/root{secret}")
    attempt(f"files of {pid}", os.listdir, f"/proc/{pid}/map_files")
