"""What would change in a file, as a unified diff: for the previews of tools that write, and for the installers. And the
preview of any call, for dry runs and approvals.

Diffs hold what they are about as it is. Whoever shows one makes it safe, once: what is escaped twice looks like text
that was written so. Only a line feed begins a line, so nothing in a name or a line can pass for another one.
"""

import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from difflib import SequenceMatcher
from hashlib import sha256
from itertools import takewhile
from typing import Any

from msgspec.json import encode
from msgspec.structs import replace

from rightcall.base.json.strict import found_at
from rightcall.base.text import escaped, with_left_out
from rightcall.policy.types import Result
from rightcall.tools.functions import LocalTool
from rightcall.tools.state import own_copy

_CONTEXT = 3
_LARGEST = 10_000_000
_CLOSE_LOOK = 1_000
"""Changed lines up to which the shortest diff is looked for; beyond, the time for that grows with their square."""

_Op = tuple[str, int, int, int, int]


def file_diff(path: str | os.PathLike[str], new_text: str, *, root: str | os.PathLike[str] | None = None) -> str:
    """A unified diff of a file against the text it would have. With `root` the path counts from there, and a file
    outside is not looked at.

    Nothing raises: a file that is absent, binary, no file at all or unreadable is said to be so.
    """
    name = one_line(os.fspath(path))
    try:
        old = _content(os.fspath(path), None if root is None else os.fspath(root))
    except _NoFileError as error:
        return f"{name}: {error}"
    if old is None:
        created = f"{name}: would be created, empty"
        return unified_diff("/dev/null", f"b/{os.fspath(path)}", "", new_text) if new_text else created
    new_size = len(new_text.encode(errors="surrogatepass"))
    if max(len(old), new_size) > _LARGEST:
        return f"{name}: would be replaced by {new_size:,} bytes of text; too large to compare"
    old_text = _text(old)
    if old_text is None:
        return f"{name}: a binary file of {len(old):,} bytes would be replaced by {new_size:,} bytes of text"
    if old_text == new_text:
        return f"{name}: no change"
    return unified_diff(f"a/{os.fspath(path)}", f"b/{os.fspath(path)}", old_text, new_text)


def content_diff(path: str, old: bytes | None, new: bytes | None, *, is_past: bool = False) -> str:
    """The same between two contents, None where there is no file. `is_past`: it has happened."""
    name = one_line(path)
    if old == new:
        return f"{name}: no change"
    if not old and not new:
        told = "created, empty" if old is None else f"deleted; it {'was' if is_past else 'is'} empty"
        return f"{name}: {'' if is_past else 'would be '}{told}"
    old_text, new_text = (_text(content or b"") for content in (old, new))
    if old_text is None or new_text is None or max(len(old or b""), len(new or b"")) > _LARGEST:
        return f"{name}: {'went' if is_past else 'would go'} from {_sized(old, old_text)} to {_sized(new, new_text)}"
    below = path if path.startswith("/") else f"/{path}"
    old_name, new_name = "/dev/null" if old is None else f"a{below}", "/dev/null" if new is None else f"b{below}"
    return unified_diff(old_name, new_name, old_text, new_text)


def _sized(content: bytes | None, text: str | None) -> str:
    if content is None:
        return "no file"
    kind = "" if text is not None else " that are no text"
    return f"{len(content):,} bytes{kind} (sha256 {sha256(content).hexdigest()})"


def _text(content: bytes) -> str | None:
    """None for what is no text."""
    try:
        return content.decode()  # with a NUL in it, too: what can be read is shown
    except UnicodeDecodeError:
        return None


def one_line(text: str) -> str:
    """A name or a title within a line: as it is, unless it holds a line break; then in quotes, as git writes it.

    >>> one_line("a b.txt"), one_line("a\\nb")
    ('a b.txt', '"a\\\\nb"')
    """
    if "\n" not in text:
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def shown_line(line: str) -> str:
    """A line made safe to show; tabs stay, since they change nothing but the width."""
    return line if line.isprintable() else "\t".join(escaped(part) for part in line.split("\t"))


def shown_text(text: str) -> str:
    """A text made safe to show, line by line: for messages and dry runs. What gets approved is shown by
    `visible` of `base/letters.py`."""
    return "\n".join(map(shown_line, text.split("\n")))


def unified_diff(old_name: str, new_name: str, old: str, new: str) -> str:
    """Of two texts that are not the same, whatever they are."""
    return "\n".join([f"--- {one_line(old_name)}", f"+++ {one_line(new_name)}", *_hunks(_lines(old), _lines(new))])


class _NoFileError(Exception):
    """What is in the place of the file."""


def _content(path: str, root: str | None) -> bytes | None:
    """The bytes of a regular file, None when there is nothing. Never waits for a pipe, never follows a last link that
    was not there when the path was resolved."""
    try:
        whole = os.path.realpath(path if root is None else os.path.join(root, path))
        if root is not None and not _beneath(whole, os.path.realpath(root)):
            raise _NoFileError("is outside the root and was not read")
        opened = os.open(whole, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
        try:
            if not stat.S_ISREG(os.fstat(opened).st_mode):
                raise _NoFileError("is not a regular file")
            with open(opened, "rb", closefd=False) as file:
                return file.read(_LARGEST + 1)
        finally:
            os.close(opened)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise _NoFileError(f"cannot be read: {getattr(error, 'strerror', None) or 'not a usable path'}") from error


def _beneath(whole: str, root: str) -> bool:
    return whole == root or whole.startswith(root.rstrip(os.sep) + os.sep)


def _lines(text: str) -> list[str]:
    """Only a line feed ends a line; a carriage return before it belongs to the line and shows."""
    lines = text.split("\n")
    last = lines.pop()
    return [f"{line}\n" for line in lines] + ([last] if last else [])


def _hunks(old: list[str], new: list[str]) -> Iterator[str]:
    for group in _groups(old, new):
        first, last = group[0], group[-1]
        yield f"@@ -{_range(first[1], last[2])} +{_range(first[3], last[4])} @@"
        for kind, old_from, old_to, new_from, new_to in group:
            if kind == "equal":
                yield from _render_lines(" ", old[old_from:old_to])
                continue
            yield from _render_lines("-", old[old_from:old_to])
            yield from _render_lines("+", new[new_from:new_to])


def _groups(old: list[str], new: list[str]) -> Iterable[list[_Op]]:
    """Changes with the lines around them. Equal lines at both ends are set aside first: files are long, edits short."""
    head = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False)))
    rest = min(len(old), len(new)) - head
    tail = sum(1 for _ in takewhile(lambda at: old[-at] == new[-at], range(1, rest + 1)))
    before, after = min(head, _CONTEXT), min(tail, _CONTEXT)
    start, old_end, new_end = head - before, len(old) - tail + after, len(new) - tail + after
    if max(len(old), len(new)) - head - tail > _CLOSE_LOOK:
        changed = ("replace", head, len(old) - tail, head, len(new) - tail)
        around = [("equal", start, head, start, head), ("equal", old_end - after, old_end, new_end - after, new_end)]
        return [[around[0], changed, around[1]]]
    matcher = SequenceMatcher(None, old[start:old_end], new[start:new_end], autojunk=False)
    return (
        [(kind, a + start, b + start, c + start, d + start) for kind, a, b, c, d in group]
        for group in matcher.get_grouped_opcodes(_CONTEXT)
    )


def _range(start: int, stop: int) -> str:
    """As `diff -u` counts: from 1, and from 0 where there are no lines."""
    count = stop - start
    first = start + 1 if count else start
    return f"{first}" if count == 1 else f"{first},{count}"


def _render_lines(sign: str, lines: list[str]) -> Iterator[str]:
    for line in lines:
        yield sign + line.removesuffix("\n")
        if not line.endswith("\n"):
            yield "\\ No newline at end of file"


DRY_RUN = "DRY RUN: nothing was changed."


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
    from rightcall.tools.run import run  # late: most who compare texts run no event loop

    said = await run(_asking(tool), {"arguments": own_copy(arguments)}, seconds=seconds, output=1_000_000)
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
