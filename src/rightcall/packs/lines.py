"""Where a key stands in a TOML text. The standard parser forgets lines; an error without one is hard to act on.

The scanner trusts that `tomllib` has accepted the text. It reads no values: it only needs to know where each ends.
"""

from typing import NamedTuple

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


class _Open(NamedTuple):
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
