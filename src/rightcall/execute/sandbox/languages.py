"""The languages in which code can run: how a file of each is called, and what runs it."""

import os
import re
import shutil
from typing import Literal

from rightcall.config_hands import SandboxSettings
from rightcall.errors import ToolFailure
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
    return Job((node, heap, path, *arguments), place, limits, visible=(*_prefix_of(node), *seen), code=code)


def node_program(settings: SandboxSettings) -> str:
    """The program that runs JavaScript, by its whole path."""
    found = shutil.which(settings.node or "node")
    if found is None:
        named = f"`{settings.node}`, as [sandbox] node says" if settings.node else "`node` on the PATH"
        raise ToolFailure(f"JavaScript needs Node.js, and there is no {named}")
    return os.path.realpath(found)


def _prefix_of(program: str) -> tuple[str, ...]:
    """The folder of an installation that is not the system's: what is beside a program belongs to it."""
    if program.startswith(_SYSTEM):
        return ()
    return (os.path.dirname(os.path.dirname(program)),)
