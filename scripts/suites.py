"""pytest for `.ci/run`: what fails beside other tests is tried once more, alone.

    python scripts/suites.py tests -n 2        any arguments of pytest

A test that then passes is named, and does not fail the run; one that fails twice does. Nothing is tried again where the
tests cannot be collected, where pytest itself fails, or where more than five fail: then something is broken.
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SOME_FAILED = 1  # pytest's status; 2 and above: interrupted, broken, wrongly called, or nothing to run
MOST = 5


def run(arguments: list[str]) -> int:
    with tempfile.TemporaryDirectory(prefix="rightcall-suite-") as cache:  # holds the failures of this run only
        status = try_with(cache, *arguments)
        failed = failures(cache)
        if status != SOME_FAILED or not all("::" in name for name in failed):  # else a file that cannot be loaded
            return status
        if len(failed) > MOST:
            print(f"{len(failed)} tests failed: too many to try them again")
            return status
        print(f"== once more, alone: {', '.join(failed)}", flush=True)
        alone = ["-n", "0"] if "-n" in arguments else []  # where it is asked for, there is xdist
        again = try_with(cache, *arguments, *alone, "--last-failed", "--last-failed-no-failures", "none")
        twice = failures(cache) if again in (0, SOME_FAILED) else failed
    if once := [name for name in failed if name not in twice]:
        print(f"failed beside others, passed alone: {', '.join(once)}")
    if twice:
        print(f"failed twice: {', '.join(twice)}")
    return SOME_FAILED if twice else 0


def try_with(cache: str, *arguments: str) -> int:
    began = time.monotonic()
    command = [sys.executable, "-m", "pytest", *arguments, "-o", f"cache_dir={cache}"]
    status = subprocess.run(command, check=False).returncode
    print(f"-- pytest took {time.monotonic() - began:.0f} s", flush=True)
    return status


def failures(cache: str) -> list[str]:
    """By name, as pytest keeps them for `--last-failed`. It keeps no file where there are none."""
    kept = Path(cache, "v", "cache", "lastfailed")
    return sorted(json.loads(kept.read_text(encoding="utf-8"))) if kept.exists() else []


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
