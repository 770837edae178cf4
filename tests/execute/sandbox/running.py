"""Programs in the sandbox, for tests: what they said and how they ended."""

import os
from collections.abc import Callable
from typing import Literal

from msgspec import Struct

from rightcall.tools.sandbox.conversation import Ended, Job, Limits, Scratch
from rightcall.tools.sandbox.sandbox import Sandbox

PLACE = "/tmp/rightcall-place"


class Said(Struct):
    ended: Ended
    out: str = ""
    err: str = ""


def write(scratch: Scratch, name: str, text: str) -> None:
    file = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644, dir_fd=scratch.fd)
    with open(file, "w") as opened:
        opened.write(text)


def run_job(
    sandbox: Sandbox, job: Job, *, stdin: bytes | None = None, fill: Callable[[Scratch], None] | None = None,
    collect: Callable[[Scratch, Ended], object] | None = None,
) -> Said:  # fmt: skip
    said: dict[Literal["stdout", "stderr"], bytes] = {"stdout": b"", "stderr": b""}

    def out(stream: Literal["stdout", "stderr"], part: bytes) -> None:
        said[stream] += part

    ended = sandbox.run(job, stdin=stdin, fill=fill, collect=collect, out=out)
    return Said(ended, said["stdout"].decode(), said["stderr"].decode())


def run_python(
    sandbox: Sandbox, code: str, *argv: str, limits: Limits | None = None, stdin: bytes | None = None,
    collect: Callable[[Scratch, Ended], object] | None = None, env: dict[str, str] | None = None,
) -> Said:  # fmt: skip
    job = Job(("main.py", *argv), PLACE, limits or Limits(), script=f"{PLACE}/main.py", env=env or {})
    return run_job(sandbox, job, stdin=stdin, fill=lambda scratch: write(scratch, "main.py", code), collect=collect)
