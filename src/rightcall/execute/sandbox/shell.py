"""`ai.execute` of the pack `gaia`: a shell command, in the sandbox and nowhere else. It sees the system's own programs
and an empty folder; nothing of the machine's files, no network."""

from functools import partial

from msgspec import Struct
from msgspec.json import encode
from msgspec.structs import replace

from rightcall.config_hands import SandboxSettings
from rightcall.errors import ToolFailure
from rightcall.execute.functions import LocalTool
from rightcall.execute.packed import packed_tool
from rightcall.execute.sandbox.languages import PLACE, limits_of
from rightcall.execute.sandbox.running import Ran, run_program
from rightcall.execute.sandbox.tools import AROUND, Lender, isolation, limits_told
from rightcall.execute.sandbox.types import Job
from rightcall.packs import load_pack

_SHELL = "/bin/sh"
_LONGEST = 100_000
"""Bytes of a command: the system takes no more than a little beyond this."""


class Arguments(Struct, frozen=True):
    command: str


def shell_tool(settings: SandboxSettings, sandbox: Lender) -> LocalTool:
    """The tool. `sandbox` lends the one it shares with others, when it is first needed."""
    about = next(one for one in load_pack("gaia").tools if one.name == "ai.execute")
    made = packed_tool(about, Arguments, partial(_run, settings, sandbox), preview=partial(_preview, settings, sandbox))
    return replace(made, timeout=settings.seconds + AROUND, lasting=True)


def _run(settings: SandboxSettings, sandbox: Lender, given: Arguments) -> Ran:
    command = given.command.encode(errors="backslashreplace").decode()
    if "\0" in command or len(command.encode()) > _LONGEST:
        raise ToolFailure(f"`command` must be text without NUL of at most {_LONGEST:,} bytes")
    job = Job(argv=(_SHELL, "-c", command), place=PLACE, limits=limits_of(settings), visible=settings.visible)
    return run_program(sandbox(), job, {})


def _preview(settings: SandboxSettings, sandbox: Lender, given: Arguments) -> str:
    """As JSON, in which every text has one spelling: a line break in it cannot pass for a second command."""
    command = encode(given.command.encode(errors="backslashreplace").decode()).decode()
    return f"Would run: {command}\nin the sandbox ({isolation(sandbox)}), {limits_told(settings)}"
