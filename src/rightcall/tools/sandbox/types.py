"""What is asked of the sandbox, and what it answers."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from typing import Literal

from msgspec import Struct, field

from rightcall.errors import ToolFailure
from rightcall.policy.settings import SandboxSettings
from rightcall.tools.sandbox.inside import kernel
from rightcall.tools.sandbox.inside.wire import is_modest

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


# ── advice ──
# What somebody can do whose machine offers no isolation.

_SWITCHES = {
    "/proc/sys/kernel/unprivileged_userns_clone": ("0", "sysctl kernel.unprivileged_userns_clone=1"),
    "/proc/sys/user/max_user_namespaces": ("0", "sysctl user.max_user_namespaces=10000"),
    "/proc/sys/kernel/apparmor_restrict_unprivileged_userns": (
        "1",
        "sysctl kernel.apparmor_restrict_unprivileged_userns=0, or an AppArmor profile that allows userns",
    ),
}


def advice() -> tuple[str, ...]:
    lines: list[str] = []
    for path, (bad, line) in _SWITCHES.items():
        with suppress(OSError), open(path) as file:
            if file.read().strip() == bad:
                lines.append(f"For namespaces: {line}")
    if in_container():
        lines.append(
            "In a container: run it with a seccomp profile that allows unshare and mount (docker run --security-opt "
            "seccomp=unconfined --cap-add SYS_ADMIN), or on a host whose kernel has Landlock"
        )
    elif os.geteuid() != 0 and not lines:
        lines.append("For namespaces: a kernel with CONFIG_USER_NS, and user namespaces allowed for ordinary users")
    if kernel.landlock_version() == 0:
        lines.append(
            "For Landlock: Linux 5.13 or later with CONFIG_SECURITY_LANDLOCK, and landlock in the boot parameter lsm="
        )
    return tuple(lines)


def in_container() -> bool:
    return os.path.exists("/.dockerenv") or os.path.exists("/run/.containerenv") or "container" in os.environ


def is_linux() -> bool:
    return sys.platform == "linux"


# ── languages ──
# The languages in which code can run: how a file of each is called, and what runs it.

Language = Literal["python", "javascript"]
PLACE = "/scratch"
"""Where a program sees its scratch folder, if no folder of a person's is it; in the second tier it is elsewhere, and
the paths of a job below it are put right."""
CODE = "/program"
"""Where it sees its own file, if that is not in the scratch folder."""

_ENDINGS: dict[str, Language] = {
    ".py": "python", ".pyw": "python", ".js": "javascript", ".mjs": "javascript", ".cjs": "javascript",
}  # fmt: skip
_SYSTEM = ("/usr/", "/bin/", "/lib/", "/lib64/")
_HEAP = 0.75
"""The share of the memory that JavaScript's values may take: beyond it node says so itself, and is not just killed."""
_LIBRARY = re.compile(r"^\s*(?:\S+ => )?(/.*) \(0x[0-9a-f]+\)$", re.M)
_ASKING = 5.0
_MODULE = re.compile(r"^(?:import\s*(?:[\w*{\"']|\.meta)|export\s|await\s|(?:const|let|var)\s[^=]*=\s*await\s)", re.M)
"""What begins a line of code that is a module, and is an error elsewhere."""


def language_of(path: str) -> Language | None:
    """By the ending of a file's name."""
    return _ENDINGS.get(os.path.splitext(path)[1].lower())


def file_name(language: Language, code: str, taken: frozenset[str] = frozenset()) -> str:
    """What a file with this code is called, beside others. JavaScript that imports in the way of modules must be named
    as one."""
    ending = ".py"
    if language == "javascript":
        ending = ".mjs" if _MODULE.search(code) and not re.search(r"\brequire\s*\(", code) else ".js"
    name = "main"
    while f"{name}{ending}" in taken:
        name = f"_{name}"
    return f"{name}{ending}"


def code_for(name: str, content: bytes, *taken: str) -> Code:
    """A program's own file, in a folder that is none of those that are `taken`."""
    folder = CODE
    while any(f"{path}/".startswith(f"{folder}/") for path in taken):
        folder += "_"
    return Code(f"{folder}/{name}", content)


def limits_of(settings: SandboxSettings) -> Limits:
    return Limits(settings.seconds, settings.memory, settings.processes, settings.scratch, settings.output)


def job_for(
    language: Language, settings: SandboxSettings, place: str, script: str | Code, arguments: tuple[str, ...] = (),
) -> Job:  # fmt: skip
    """Run the file `script`, as it is seen inside, or a file that is there for this run alone. Raises ToolFailure where
    nothing is there to run it."""
    limits, seen = limits_of(settings), settings.visible
    code = script if isinstance(script, Code) else None
    path = script.path if isinstance(script, Code) else script
    if language == "python":
        return Job((path, *arguments), place, limits, visible=seen, script=path, code=code)
    node = node_program(settings)
    heap = f"--max-old-space-size={max(int(settings.memory * _HEAP), 16)}"
    return Job((node, heap, path, *arguments), place, limits, visible=(*_belongings(node), *seen), code=code)


def node_program(settings: SandboxSettings) -> str:
    """The program that runs JavaScript, by its whole path."""
    found = shutil.which(settings.node or "node")
    if found is None:
        named = f"`{settings.node}`, as [sandbox] node says" if settings.node else "`node` on the PATH"
        raise ToolFailure(f"JavaScript needs Node.js, and there is no {named}")
    return os.path.realpath(found)


@lru_cache(8)
def _belongings(program: str) -> tuple[str, ...]:
    """What must be seen for a program that is not the system's to run, and no more: what lies beside it may be
    somebody's home."""
    if program.startswith(_SYSTEM):
        return ()
    return (program, *_libraries(program), *_packages(os.path.dirname(os.path.dirname(program))))


def _packages(prefix: str) -> tuple[str, ...]:
    """Those of an installation of node, npm for one, where there is proof that it is one."""
    packages = os.path.join(prefix, "lib", "node_modules")
    proven = os.path.isdir(os.path.join(packages, "npm")) or os.path.isdir(os.path.join(prefix, "include", "node"))
    modest = is_modest(prefix) and os.path.realpath(prefix) != os.path.realpath(os.curdir)
    return (packages,) if proven and modest and os.path.isdir(packages) else ()


def _libraries(program: str) -> tuple[str, ...]:
    """The files with shared code that the system's loader finds for it; it is not started for that."""
    ldd = shutil.which("ldd", path="/usr/bin:/bin")
    if ldd is None:
        return ()
    try:
        listed = subprocess.run(
            [ldd, program], env={}, cwd="/", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, timeout=_ASKING, check=False,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return ()
    found = _LIBRARY.findall(listed.stdout.decode(errors="surrogateescape"))
    return tuple(path for path in found if not path.startswith(_SYSTEM) and os.path.isfile(path))
