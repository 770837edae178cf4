"""What a call would change, shown before it runs and without changing anything."""

from collections.abc import Mapping
from typing import Any

from msgspec.json import encode
from msgspec.structs import replace

from rightcall.base.cut import with_left_out
from rightcall.policy.types import Result
from rightcall.tools.diff import one_line, shown_text
from rightcall.tools.functions import LocalTool
from rightcall.tools.places import found_at
from rightcall.tools.run import run
from rightcall.tools.state import own_copy

DRY_RUN = "DRY RUN: nothing was changed."
_OUTPUT = 1_000_000


async def preview(tool: LocalTool, arguments: Mapping[str, Any], canonical: bytes, *, seconds: float) -> Result:
    """The result of a dry run: what would happen, escaped. Raises nothing but the caller's own CancelledError."""
    told = await rehearsal(tool, arguments, canonical, seconds=seconds)
    return replace(told, value=f"{DRY_RUN}\n{shown_text(told.value)}") if told.ok else told


async def rehearsal(tool: LocalTool, arguments: Mapping[str, Any], canonical: bytes, *, seconds: float) -> Result:
    """What the tool's own preview says; else the command lines that would run; else the call itself. As it is: whoever
    shows it makes it safe, and nobody before. Only half a character, which no record can hold, is spelled out.

    A preview that fails is no reason to run anything: the call is shown instead, and why; of a tool that writes only
    onto what was shown it is an error. Raises nothing but the caller's own CancelledError.
    """
    if tool.preview is None:
        return Result(ok=True, value=_would_do(tool, arguments, canonical))
    said = await run(_asking(tool), {"arguments": own_copy(arguments)}, seconds=seconds, output=_OUTPUT)
    if said.ok:
        text = _whole_characters(said.value if isinstance(said.value, str) else encode(said.value).decode())
        return replace(said, value=with_left_out(f"of the preview {said.cut}.", text) if said.cut else text)
    if tool.expected is not None:  # what it would do is not known, so nobody can say yes to it
        return said
    note = f"The tool's own preview failed: {said.error}"
    told = _whole_characters(f"{_would_do(tool, arguments, canonical)}\n{note}")
    return Result(ok=True, value=told, seconds=said.seconds)


def _whole_characters(text: str) -> str:
    return text.encode(errors="backslashreplace").decode()


def _asking(tool: LocalTool) -> LocalTool:
    """The preview function, as a tool: so it has the same time limit and protection."""
    ask: Any = tool.preview

    def previewed(arguments: dict[str, Any]) -> Any:
        return ask(arguments)

    return replace(tool, function=previewed, convert=None)


def _would_do(tool: LocalTool, arguments: Mapping[str, Any], canonical: bytes) -> str:
    commands = [value for place in tool.commands for value in found_at(arguments, place)]
    if commands:
        return "\n".join(f"Would run: {_exactly(command)}" for command in commands)
    return f"Would call {one_line(tool.name)} with {one_line(canonical.decode(errors='backslashreplace'))}"


def _exactly(command: Any) -> str:
    """As JSON, in which every text has one spelling: a line break in it cannot pass for a second command."""
    try:
        return encode(command).decode()
    except (TypeError, ValueError, OverflowError, RecursionError):  # a lone surrogate, which no gate lets through
        return ascii(command)
