"""The languages in which code can run: how a file of each is called, and what runs it."""

import os
import re
import shutil
import subprocess
from functools import lru_cache
from typing import Literal

from rightcall.config_hands import SandboxSettings
from rightcall.errors import ToolFailure
from rightcall.execute.sandbox.inside.places import is_modest
from rightcall.execute.sandbox.types import Code, Job, Limits

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
