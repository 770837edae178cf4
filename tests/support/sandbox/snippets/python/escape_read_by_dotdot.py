"""Up and out, from places that can be seen."""

from attacking import attempt, os, outside, read, sys

secret = outside["secret"]
for start in (
    ".",
    os.getcwd(),
    "/usr/lib",
    "/proc/self/cwd",
    "/dev/shm",
    sys.prefix,
    "/tmp",
    os.path.dirname(os.__file__),
):
    attempt(start, read, start + "/.." * 24 + secret)
os.makedirs("a/b", exist_ok=True)
os.chdir("a/b")
os.rename("../../a", "../../moved")
attempt("moved away", read, "../" * 24 + secret[1:])
