"""A glob as tokens: braces become alternatives, everything else one token per character or class."""

from rightcall.parse.late import Late

_MOST_CHARACTERS = 1_000
_MOST_ALTERNATIVES = 256
_DEEPEST = 8
_NAMED = Late(r"\[([:=.])\w+\1\]")
_RANGE = Late(r"(?:-?\d+|[A-Za-z])\.\.(?:-?\d+|[A-Za-z])(?:\.\.-?\d+)?\}")

Token = str
"""One character that is meant itself, `STAR`, `ANY`, or a class as an expression of two characters at least."""
STAR: Token = "<star>"
ANY: Token = "<any>"


class GlobFault(ValueError):
    """What is wrong with a pattern, in words for whoever wrote it."""


def parsed(pattern: str) -> list[list[Token]]:
    """The alternatives of a pattern. Raises GlobFault.

    >>> parsed("a{b,}?")
    [['a', 'b', '<any>'], ['a', '<any>']]
    """
    if len(pattern) > _MOST_CHARACTERS:
        raise GlobFault(f"at most {_MOST_CHARACTERS} characters, these are {len(pattern)}")
    return _Parser(pattern.encode(errors="replace").decode()).alternatives(0)


class _Parser:
    def __init__(self, pattern: str) -> None:
        self._text = pattern
        self._at = 0

    def alternatives(self, depth: int) -> list[list[Token]]:
        """Up to the end, or to the brace that closes a group."""
        done: list[list[Token]] = []
        now: list[list[Token]] = [[]]
        while self._at < len(self._text):
            character = self._text[self._at]
            self._at += 1
            if character == "{":
                now = _product(now, self._group(depth))
            elif character == "}" and depth:
                return _bounded(done + now)
            elif character == "," and depth:
                done, now = _bounded(done + now), [[]]
            else:
                token = self._token(character)
                for tokens in now:
                    tokens.append(token)
        if depth:
            raise GlobFault("a { is not closed; for the character itself write \\{")
        return now

    def _group(self, depth: int) -> list[list[Token]]:
        if depth == _DEEPEST:
            raise GlobFault(f"braces stand at most {_DEEPEST} deep in each other")
        if _RANGE.match(self._text, self._at):
            raise GlobFault("braces hold no range such as {1..3}; write {1,2,3}, or a class such as [1-3]")
        return self.alternatives(depth + 1)

    def _token(self, character: str) -> Token:
        if character == "*":
            return STAR
        if character == "?":
            return ANY
        if character == "[":
            return self._class()
        if character == "}":
            raise GlobFault("a } closes nothing; for the character itself write \\}")
        if character == "\\":
            return self._next("a backslash at the end; for the character itself write \\\\")
        return character

    def _next(self, otherwise: str) -> str:
        if self._at == len(self._text):
            raise GlobFault(otherwise)
        self._at += 1
        return self._text[self._at - 1]

    def _class(self) -> Token:
        """As an expression. No class holds the slash."""
        negated = self._text[self._at : self._at + 1] in ("!", "^")
        self._at += negated
        ranges: list[tuple[int, int]] = []
        first = True
        while (low := self._member(first)) is not None:
            first = False
            high = low
            if self._text[self._at : self._at + 1] == "-" and self._text[self._at + 1 : self._at + 2] not in ("]", ""):
                self._at += 1
                high = self._member(True) or 0
            if high < low:
                raise GlobFault(f"the range {chr(low)}-{chr(high)} runs backwards")
            ranges.append((low, high))
        return _class_of(ranges, negated)

    def _member(self, first: bool) -> int | None:
        """The next character of a class, None at its end; the first one may be a bracket."""
        unclosed = "a [ is not closed; for the character itself write \\["
        if _NAMED.match(self._text, self._at):
            raise GlobFault("a class has no names such as [:alpha:]; write its characters, such as [a-z] or [0-9]")
        character = self._next(unclosed)
        if character == "]" and not first:
            return None
        return ord(self._next(unclosed) if character == "\\" else character)


def _class_of(ranges: list[tuple[int, int]], negated: bool) -> Token:
    slash = ord("/")
    if negated:
        ranges = [*ranges, (slash, slash)]
    else:
        ranges = [part for low, high in ranges for part in _around(low, high, slash)]
        if not ranges:
            raise GlobFault("a class of nothing but / matches no name")
    inside = "".join(f"\\x{{{low:x}}}-\\x{{{high:x}}}" for low, high in ranges)
    return f"[{'^' if negated else ''}{inside}]"


def _around(low: int, high: int, hole: int) -> list[tuple[int, int]]:
    if not low <= hole <= high:
        return [(low, high)]
    return [part for part in ((low, hole - 1), (hole + 1, high)) if part[0] <= part[1]]


def _product(befores: list[list[Token]], afters: list[list[Token]]) -> list[list[Token]]:
    if len(befores) * len(afters) > _MOST_ALTERNATIVES:
        raise GlobFault(f"its braces stand for more than {_MOST_ALTERNATIVES} patterns")
    return [[*before, *after] for before in befores for after in afters]


def _bounded(alternatives: list[list[Token]]) -> list[list[Token]]:
    if len(alternatives) > _MOST_ALTERNATIVES:
        raise GlobFault(f"its braces stand for more than {_MOST_ALTERNATIVES} patterns")
    return alternatives
