"""The sandbox: one fork server per Sandbox, started when the first program is run."""

from collections.abc import Callable
from typing import Literal

from rightcall.execute.sandbox.types import Ended, Job, NoSandbox, Scratch, Tier

Out = Callable[[Literal["stdout", "stderr"], bytes], None]


class Sandbox:
    """Runs programs in isolation. `python` is the interpreter for scripts ("" is the one we run on); `least` the tier
    that must be had; `only` the tier to use, for probing and tests."""

    def __init__(self, python: str = "", least: Tier = "landlock", *, only: Tier | None = None) -> None:
        self._python = python
        self._least: Tier = least
        self._only: Tier | None = only

    def tier(self) -> Tier:
        """The tier that is used here, found by trying, once. Raises NoSandbox."""
        raise NoSandbox("The sandbox is being built")

    def run(
        self,
        job: Job,
        *,
        stdin: bytes | None = None,
        fill: Callable[[Scratch], None] | None = None,
        collect: Callable[[Scratch, Ended], object] | None = None,
        out: Out,
    ) -> Ended:
        """Run a program to its end or a limit. Blocking, from any thread, many at once; whatever ends it, no process
        stays. `fill` is called before it starts, `collect` after all of its processes have ended."""
        raise NoSandbox("The sandbox is being built")

    def close(self) -> None:
        """End the fork server and whatever still runs."""
