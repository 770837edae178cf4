"""Where a key stands in a TOML text. The standard parser forgets lines; an error without one is hard to act on.

The scanner trusts that `tomllib` has accepted the text. It reads no values: it only needs to know where each ends.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from math import isfinite
from typing import Any, Literal, Self, TypeGuard, cast, get_args

from msgspec import Struct

from rightcall.base.files.guarded import plain_file
from rightcall.base.text import escaped, regex, render_json
from rightcall.errors import ConfigError

KeyPath = tuple[str | int, ...]
"""A place in the parsed document: keys, and positions in lists."""

_BLANK = " \t"
_SPACE = " \t\r\n"
_ESCAPES = {"b": "\b", "t": "\t", "n": "\n", "f": "\f", "r": "\r", "e": "\x1b", '"': '"', "\\": "\\"}


def key_lines(text: str) -> dict[KeyPath, int]:
    """The line, counted from 1, on which each key, table and list element first appears."""
    return _Scanner(text).scan()


def line_of(lines: dict[KeyPath, int], path: KeyPath) -> int:
    """The line of `path`, or of the nearest thing around it that has one; 0 for an empty document."""
    for length in range(len(path), 0, -1):
        if line := lines.get(path[:length]):
            return line
    return min(lines.values(), default=0)


class _Open(Struct, frozen=True):
    """A bracket that is still open: `[` of a list or `{` of an inline table, and the place it holds."""

    bracket: str
    path: KeyPath
    counter: list[int]


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.line = 1
        self.lines: dict[KeyPath, int] = {}
        self.last: dict[KeyPath, int] = {}  # the newest element of each array of tables

    def scan(self) -> dict[KeyPath, int]:
        table: KeyPath = ()
        while self.skip(_SPACE):
            if self.text[self.at] == "[":
                table = self.header()
            else:
                self.value(self.key(table))
        return self.lines

    def skip(self, characters: str) -> bool:
        """Move past blanks and comments; false at the end of the text."""
        while self.at < len(self.text):
            character = self.text[self.at]
            if character == "#":
                end = self.text.find("\n", self.at)
                self.move(end if end >= 0 else len(self.text))
            elif character in characters:
                self.move(self.at + 1)
            else:
                return True
        return False

    def move(self, to: int) -> None:
        self.line += self.text.count("\n", self.at, to)
        self.at = to

    def note(self, path: KeyPath) -> KeyPath:
        self.lines.setdefault(path, self.line)
        return path

    def header(self) -> KeyPath:
        """`[a.b]` or `[[a.b]]`; a key that is an array of tables means its newest element."""
        many = self.text.startswith("[[", self.at)
        self.move(self.at + (2 if many else 1))
        parts = self.dotted()
        self.move(self.at + (2 if many else 1))
        path: KeyPath = ()
        for part in parts[:-1]:
            path = self.note(self.newest((*path, part)))
        path = self.note((*path, parts[-1]))
        if not many:
            return self.newest(path)
        self.last[path] = self.last.get(path, -1) + 1
        return self.note(self.newest(path))

    def newest(self, path: KeyPath) -> KeyPath:
        return (*path, self.last[path]) if path in self.last else path

    def key(self, table: KeyPath) -> KeyPath:
        """`a.b =` inside `table`: every part is noted, and the value's place returned."""
        path = table
        for part in self.dotted():
            path = self.note((*path, part))
        self.move(self.at + 1)  # the equals sign
        return path

    def dotted(self) -> list[str]:
        parts: list[str] = []
        while True:
            self.skip(_BLANK)
            parts.append(self.simple_key())
            self.skip(_BLANK)
            if not self.text.startswith(".", self.at):
                return parts
            self.move(self.at + 1)

    def simple_key(self) -> str:
        start = self.at
        if self.text[start] in "\"'":
            self.string()
            inner = self.text[start + 1 : self.at - 1]
            return _unescaped(inner) if self.text[start] == '"' else inner
        while self.at < len(self.text) and (self.text[self.at].isalnum() or self.text[self.at] in "_-"):
            self.at += 1
        self.at = max(self.at, start + 1)  # never stand still, whatever the text
        return self.text[start : self.at]

    def string(self) -> None:
        """Move past a string of any of the four kinds."""
        quote = self.text[self.at]
        mark = quote * 3 if self.text.startswith(quote * 3, self.at) else quote
        at = self.at + len(mark)
        while at < len(self.text) and not self.text.startswith(mark, at):
            at += 2 if quote == '"' and self.text[at] == "\\" else 1
        at += len(mark)
        while len(mark) == 3 and self.text.startswith(quote, at):
            at += 1  # a long string may end in one or two quotes of its own
        self.move(min(at, len(self.text)))

    def value(self, path: KeyPath) -> None:
        """Move past the value at `path`, noting what is inside; a stack, so that nesting costs no recursion."""
        stack: list[_Open] = []
        self.skip(_BLANK)
        while True:
            if not self.scalar_or_open(path, stack):
                return
            following = self.following(stack)
            if following is None:
                return
            path = following

    def scalar_or_open(self, path: KeyPath, stack: list[_Open]) -> bool:
        """One value, or the opening bracket of one; false at the end of the text."""
        if self.at >= len(self.text):
            return False
        character = self.text[self.at]
        if character in "[{":
            stack.append(_Open(character, path, [-1]))
            self.move(self.at + 1)
        elif character in "\"'":
            self.string()
        else:
            stops = ",]}#\n" if stack else "#\n"
            while self.at < len(self.text) and self.text[self.at] not in stops:
                self.at += 1
        return True

    def following(self, stack: list[_Open]) -> KeyPath | None:
        """Close what closes, then the place of the next value inside the innermost bracket; None when all is closed."""
        while stack and self.skip(_SPACE + ","):
            inner = stack[-1]
            if self.text[self.at] in "]}":
                stack.pop()
                self.move(self.at + 1)
            elif inner.bracket == "[":
                inner.counter[0] += 1
                return self.note((*inner.path, inner.counter[0]))
            else:
                path = self.key(inner.path)
                self.skip(_SPACE)
                return path
        return None


def _unescaped(text: str) -> str:
    if "\\" not in text:
        return text
    out: list[str] = []
    at = 0
    while at < len(text):
        if text[at] != "\\":
            out.append(text[at])
            at += 1
            continue
        kind = text[at + 1 : at + 2]
        digits = {"x": 2, "u": 4, "U": 8}.get(kind, 0)
        out.append(chr(int(text[at + 2 : at + 2 + digits], 16)) if digits else _ESCAPES.get(kind, kind))
        at += 2 + digits
    return "".join(out)


# ── source ──
# A file a person wrote: parsed once, and able to say where in it something is wrong and what would be right.

Table = Mapping[str, Any]

_MOST_PARTS = 200
"""Of a dotted key; people write two or three."""
_BARE = regex(r"\s*([\w.-]{1,60})\s*=\s*([A-Za-z][\w./*-]{0,60})\s*(?:#.*)?")
"""A key, and a word without quotes for its value."""


_ON_ONE_LINE = regex(r"\s*(\[{1,2}[\w.\"' -]{1,200}\]{1,2})\s*([\w-]{1,80}\s*=.{1,200})")


def _suggest_form(text: str, line: int) -> str:
    """The right form of a line that people often write wrongly."""
    wrong = text.split("\n")[line - 1].rstrip("\r")
    if (both := _ON_ONE_LINE.fullmatch(wrong)) is not None:
        return f"; write {both[1]} on a line of its own, and {escaped(both[2].strip(), 100)} on the next"
    found = _BARE.fullmatch(wrong)
    if found is None:
        return ""
    if (word := found[2].lower()) in ("true", "false"):
        return f"; write {found[1]} = {word}"
    return f'; texts need quotes: {found[1]} = "{found[2]}"'


class Source:
    """A document and its name. Every complaint about it is built here, with its line where there is a text."""

    def __init__(self, name: str, error: type[ConfigError], text: str | None = None) -> None:
        self.name = name
        self.error = error
        self.text = text

    @classmethod
    def read(cls, file: str, error: type[ConfigError], what: str) -> Self:
        """The file at a path; `what` is the word for it in an error."""
        try:
            with open(file, "rb", opener=plain_file) as opened:
                raw = opened.read()
        except (OSError, ValueError) as fault:  # ValueError: a NUL in the path
            reason = getattr(fault, "strerror", None) or fault
            raise error(f"the {what} cannot be read: {reason}", source=file) from None
        return cls.of_bytes(file, error, raw)

    @classmethod
    def of_bytes(cls, file: str, error: type[ConfigError], raw: bytes) -> Self:
        """The same for what was read already."""
        try:
            return cls(file, error, raw.decode("utf-8-sig"))
        except UnicodeDecodeError as fault:
            line = raw.count(b"\n", 0, fault.start) + 1
            raise error("not UTF-8 text, which TOML must be", source=file, line=line) from None

    @cached_property
    def lines(self) -> dict[KeyPath, int]:
        return key_lines(self.text) if self.text is not None else {}

    def wrong(self, path: KeyPath, message: str) -> ConfigError:
        """The error to raise: `raise source.wrong(("gate", "mode"), "…")`."""
        place = f"{dotted(path)}: " if path else ""
        return self.error(f"{place}{message}", source=self.name, line=line_of(self.lines, path))

    def parse(self) -> dict[str, Any]:
        """The text as TOML."""
        import tomllib  # late: importing the package must not pay for it

        text = self.text or ""
        # the standard parser takes a key of many parts apart in time that grows with their square
        if text.count(".") > _MOST_PARTS and any(one.count(".") > _MOST_PARTS for one in re.split(r"[=,{\[\n]", text)):
            raise self.error("nested too deeply to be read", source=self.name)
        try:
            return tomllib.loads(text)
        except tomllib.TOMLDecodeError as fault:
            found = re.search(r" \(at line (\d+), column \d+\)$", str(fault))
            line = int(found[1]) if found else (self.text or "").count("\n") + 1
            reason = str(fault)[: found.start()] if found else str(fault).removesuffix(" (at end of document)")
            advice = _suggest_form(text, line)
            raise self.error(f"not valid TOML: {reason}{advice}", source=self.name, line=line) from None
        except ValueError as fault:  # a number of thousands of digits
            raise self.error(f"not valid TOML: {fault}", source=self.name) from None
        except RecursionError:
            raise self.error("nested too deeply to be read", source=self.name) from None

    def table(self, path: KeyPath, value: Any) -> Table:
        if not is_table(value):
            raise self.wrong(path, f"must be a table, not {kind(value)}")
        for key in cast("Mapping[Any, Any]", value):
            if not isinstance(key, str):  # possible in a dict, never in TOML
                raise self.wrong(path, f"must have texts for keys, not {key!r:.60}")
        return value

    def keys(self, path: KeyPath, table: Table, known: Iterable[str]) -> None:
        """Refuse the first key that nobody knows."""
        known = tuple(known)
        for key in self.table(path, table):
            if key not in known:
                raise self.wrong((*path, key), f"unknown key; {instead(key, known)}")

    def text_of(self, path: KeyPath, value: Any) -> str:
        if not isinstance(value, str):
            raise self.wrong(path, f"must be a text, not {kind(value)}")
        return value

    def flag(self, path: KeyPath, value: Any) -> bool:
        if not isinstance(value, bool):
            raise self.wrong(path, f"must be true or false, not {kind(value)}")
        return value

    def count(self, path: KeyPath, value: Any, least: int, most: int) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            found = (
                render_json(value) if isinstance(value, int) else repr(value)
            )  # Python writes out no integer of 5,000 digits
            raise self.wrong(path, f"must be a whole number from {least} to {most}, not {found}")
        return value

    def word(self, path: KeyPath, value: Any, allowed: tuple[str, ...]) -> Any:
        """One of the allowed words, such as those of a Literal."""
        if not isinstance(value, str):
            raise self.wrong(path, f"must be one of {', '.join(allowed)}, not {kind(value)}")
        if value not in allowed:
            raise self.wrong(path, f"{value!r} is not a valid choice; {instead(value, allowed)}")
        return value

    def texts(self, path: KeyPath, value: Any) -> tuple[str, ...]:
        if not isinstance(value, list | tuple):
            right = f": write [{render_json(value, 60)}]" if isinstance(value, str) else ""
            raise self.wrong(path, f"must be a list of texts, not {kind(value)}{right}")
        items = cast("list[Any]", value)
        return tuple(self.text_of((*path, at), item) for at, item in enumerate(items))

    def plain(self, path: KeyPath, value: Any) -> Any:
        """A value that JSON can carry, as plain dicts and lists of our own."""
        if is_table(value):
            return {self.text_of(path, key): self.plain((*path, key), item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.plain((*path, at), item) for at, item in enumerate(cast("list[Any]", value))]
        if value is None or isinstance(value, str | bool | int):
            return value
        if isinstance(value, float) and isfinite(value):
            return value
        raise self.wrong(path, f"must be something JSON can carry; {value!r} is not (put dates in quotes)")

    def text_map(self, path: KeyPath, value: Any) -> dict[str, str]:
        return {key: self.text_of((*path, key), item) for key, item in self.table(path, value).items()}


Reader = Callable[[Source, KeyPath, Any], Any]
"""Reads the value at a place, or raises what is wrong with it."""


def word(words: Any) -> Reader:
    """One of the words of a Literal."""
    return lambda source, path, value: source.word(path, value, get_args(words))


def is_table(value: Any) -> TypeGuard[Table]:
    return isinstance(value, Mapping)


def dotted(path: KeyPath) -> str:
    """A path as TOML writes it: `tools."code/read".aliases`."""
    out = ""
    for part in path:
        if isinstance(part, int):
            out += f"[{part}]"
        else:
            out += ("." if out else "") + (part if re.fullmatch(r"[A-Za-z0-9_-]+", part) else render_json(part))
    return out


def instead(word: str, known: Iterable[str]) -> str:
    """What would have been right: the nearest known word, and the others as long as they are few."""
    from difflib import get_close_matches  # late: only a mistake pays for it

    known = sorted(known)
    near = get_close_matches(word, known, n=1) or [name for name in known if name.casefold() == word.casefold()]
    choice = f"expected one of: {', '.join(map(escaped, known))}" if known else "nothing is known here"
    if near:
        return f"did you mean {near[0]!r}?" + (f" ({choice})" if len(known) <= 20 else "")
    return choice


Kind = Literal["a table", "a list", "a text", "true or false", "a number", "a date or time", "nothing"]


def kind(value: Any) -> Kind:
    """The sort of a value in a person's words."""
    if value is None:
        return "nothing"
    for types, name in _KINDS:
        if isinstance(value, types):
            return name
    return "a date or time"


_KINDS: tuple[tuple[Any, Kind], ...] = (
    (Mapping, "a table"),
    ((list, tuple), "a list"),
    (str, "a text"),
    (bool, "true or false"),
    ((int, float), "a number"),
)
