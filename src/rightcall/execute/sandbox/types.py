"""What is asked of the sandbox, and what it answers."""

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct, field

from rightcall.errors import ToolFailure

Tier = Literal["namespaces", "landlock"]
"""How a program is kept in, the better one first."""
LimitName = Literal["seconds", "memory", "processes", "scratch", "output"]


class Limits(Struct, frozen=True):
    """What a program may use: `memory` and `scratch` in megabytes, `output` in bytes, all of them for all of its
    processes together."""

    seconds: float = 4.0
    memory: int = 512
    processes: int = 64
    scratch: int = 128
    output: int = 1_000_000


class Code(Struct, frozen=True):
    """A file that can be read inside, at `path`, and is nowhere else: it goes with the run, whatever ends that. The
    folder of `path` is its own; where nothing can be mounted it is elsewhere, and paths below it are put right."""

    path: str
    content: bytes


class Job(Struct, frozen=True):
    """A program to run. `argv` is the program by its whole path and its arguments, as seen inside. `place` is the path
    at which the scratch folder is seen inside: its working folder and HOME. `visible` are further paths that can be
    read inside, besides the system's own and the interpreter's; `packages` are those among them that a script can
    import, by name. `env` is laid over the few variables of our own. `script` is a Python file inside that the warm
    interpreter runs itself; argv is then what sys.argv shall be. `code` is the program's own file, in a folder beside
    the scratch folder that is there for this run alone. `bind` makes the folder at `place` itself the scratch, instead
    of a sized one in memory."""

    argv: tuple[str, ...]
    place: str
    limits: Limits = Limits()
    visible: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    script: str | None = None
    code: Code | None = None
    bind: bool = False
    packages: Mapping[str, str] = field(default_factory=dict[str, str])


class Ended(Struct, frozen=True):
    """How a program has ended: its exit `code`, or None and the `signal` that ended it. `limits` are those that ended
    it or were hit."""

    code: int | None
    signal: int | None
    limits: tuple[LimitName, ...]
    tier: Tier
    seconds: float


class Scratch(Struct, frozen=True):
    """The scratch folder, open as `fd`, and whose the files in it shall be. Valid only within the call it is given to.
    `place` is where it is seen inside: Job.place, except where nothing can be mounted and it was not to be bound."""

    fd: int
    uid: int
    gid: int
    place: str = ""


class NoSandbox(ToolFailure):
    """There is no isolation here that will do: `why`, and `advice` on what would help, a line each."""

    def __init__(self, why: str, advice: tuple[str, ...] = ()) -> None:
        super().__init__("\n".join([why, *advice]))
        self.why = why
        self.advice = advice
