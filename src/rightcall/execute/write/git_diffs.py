"""What differs between two commits or trees: which files, in how many lines, and the lines themselves.

Git calls a file binary for one NUL near its beginning, and shows nothing of it. Here everything that reads as text is
shown as text, and of the rest its size and number in git, before and after: whoever approves a diff has seen it.
"""

import os
from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from rightcall.errors import ToolFailure
from rightcall.execute.code.diff_reading import DiffReader
from rightcall.execute.code.git.run import checked
from rightcall.execute.diff import one_line
from rightcall.execute.write.git_objects import Bench

_MOST_LISTED: Final = 64 << 20
_LARGEST: Final = 8 << 20
"""Bytes of a file that is read to find out whether it is text."""
_MOST_READ: Final = 64 << 20
_MOST_PATHS: Final = 200
"""Names in one command line."""
_CONTROLS: Final = bytes(code for code in range(32) if code not in b"\t\n\r\f\b\x1b")
_FEW: Final = 10
"""One in so many bytes may be odd in what is still taken for text."""


class Altered(Struct, frozen=True):
    """One file that differs. Ids are empty where there is no file; counts are None for what git calls binary."""

    path: str
    status: str
    """A, M, D or T, as git says it."""
    before: str
    after: str
    lines: tuple[int, int] | None = None

    @property
    def told(self) -> str:
        counts = "binary" if self.lines is None else f"+{self.lines[0]:,} -{self.lines[1]:,}"
        return f"  {self.status} {self.name}  {counts}"

    @property
    def name(self) -> str:
        return one_line(os.fsencode(self.path).decode(errors="backslashreplace"))


class Diff(Struct, frozen=True):
    text: str
    """As git writes it: escaped by whoever shows it."""
    files: tuple[str, ...]
    """A line for each file, all of them."""
    left_out: str = ""
    """What is missing in the text, as a sentence."""


def diff_of(bench: Bench, old: str, new: str, most: int) -> Diff:
    """All that differs, up to so many bytes."""
    files = altered(bench, old, new)
    binary = [one for one in files if one.lines is None]
    if not binary:
        text, full = patch(bench, old, new, most=most)
        return Diff(text, _describe_files(files), _too_long(most) if full else "")
    unread, opaque = _sorted_out(bench, binary)
    readable = [one for one in files if one.path not in unread and one.path not in opaque]
    text, full = _patches(bench, old, new, [one.path for one in readable], most)
    if full:
        counted = {one.path: _counted(bench, old, new, one) for one in readable if one.lines is None}
        files = [counted.get(one.path, one) for one in files]
    rest = [*opaque.values(), *(f"{line}; too large to be looked at" for line in unread.values())]
    missing = [_too_long(most)] if full else []
    if unread:
        missing.append(f"{len(unread)} file(s) are too large to be looked at.")
    return Diff("\n".join([*([text.rstrip("\n")] if text else []), *rest]), _describe_files(files), " ".join(missing))


def altered(bench: Bench, old: str, new: str) -> list[Altered]:
    """Every file that differs."""
    command = ["diff-tree", "-r", "-z", "--raw", "--numstat", "--no-abbrev", "--no-renames", "--end-of-options"]
    finished = bench.git(*command, old, new, most=_MOST_LISTED)
    if finished.full:
        raise ToolFailure("The two differ in too many files to be shown")
    reader = DiffReader(checked(finished))
    files = reader.raw()
    counts = {one.new: None if one.binary else (one.insertions, one.deletions) for one in reader.counts()}
    return [
        Altered(os.fsdecode(file.new), file.letter, _id(file.ids[0]), _id(file.ids[1]), counts.get(file.new, (0, 0)))
        for file in files
    ]


def patch(
    bench: Bench, old: str, new: str, paths: Sequence[str] = (), *, most: int, as_text: bool = False
) -> tuple[str, bool]:
    """The diff as text, and whether it is cut."""
    finished = bench.git(
        "diff-tree", "-r", "-p", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames", "--full-index",
        *(["--text"] * as_text), "--end-of-options", old, new, "--", *paths, most=most,
    )  # fmt: skip
    return checked(finished).decode(errors="backslashreplace"), finished.full


def _patches(bench: Bench, old: str, new: str, paths: Sequence[str], most: int) -> tuple[str, bool]:
    text = ""
    for start in range(0, len(paths), _MOST_PATHS):
        some, full = patch(bench, old, new, paths[start : start + _MOST_PATHS], most=most - len(text), as_text=True)
        text += some
        if full or len(text) >= most:
            return text, True
    return text, False


def _counted(bench: Bench, old: str, new: str, file: Altered) -> Altered:
    """With the lines of what git does not count since it calls it binary."""
    text, _ = patch(bench, old, new, [file.path], most=_MOST_READ, as_text=True)
    lines = text.partition("\n@@")[2].split("\n")
    plus, minus = (sum(line.startswith(sign) for line in lines) for sign in "+-")
    return replace(file, lines=(plus, minus))


def _sorted_out(bench: Bench, files: Iterable[Altered]) -> tuple[dict[str, str], dict[str, str]]:
    """Of what git calls binary: what is too large to be looked at, and what is no text. A line for each."""
    files = list(files)
    sizes = _sizes(bench, [one for file in files for one in (file.before, file.after) if one])
    unread, opaque, room = dict[str, str](), dict[str, str](), _MOST_READ
    for file in files:
        ids = [one for one in (file.before, file.after) if one]
        line = f"{file.name}: binary, {_side(file.before, sizes)} before, {_side(file.after, sizes)} afterwards"
        size = sum(sizes[one] for one in ids)
        if max(sizes[one] for one in ids) > _LARGEST or size > room:
            unread[file.path] = line
            continue
        room -= size
        # what will be there is what matters: text that takes the place of something else is shown
        if not _is_text(checked(bench.git("cat-file", "blob", file.after or file.before, most=_LARGEST + 1))):
            opaque[file.path] = line
    return unread, opaque


def _is_text(content: bytes) -> bool:
    """Whether somebody can read it: it is UTF-8, or nearly all of it is."""
    try:
        content.decode()
    except UnicodeDecodeError:
        odd = content.decode(errors="replace").count("\ufffd") + len(content) - len(content.translate(None, _CONTROLS))
        return odd * _FEW <= len(content)
    return True


def _sizes(bench: Bench, ids: Sequence[str]) -> dict[str, int]:
    told = "".join(f"{one}\n" for one in ids).encode()
    command = ["cat-file", "--batch-check=%(objectsize)"]
    said = checked(bench.git(*command, stdin=told, most=_MOST_LISTED)).split(b"\n")
    if not all(size.isdigit() for size in said[: len(ids)]):
        raise ToolFailure("The git repository is damaged, or a part of it is not here")
    return {one: int(size) for one, size in zip(ids, said, strict=False)}


def _side(id: str, sizes: dict[str, int]) -> str:
    return f"{sizes[id]:,} bytes ({id})" if id else "no file"


def _id(id: str) -> str:
    return id if id.strip("0") else ""


def _describe_files(files: Iterable[Altered]) -> tuple[str, ...]:
    return tuple(one.told for one in files)


def _too_long(most: int) -> str:
    return f"the diff has more than {most:,} bytes, and only these are below."
