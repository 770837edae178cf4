"""Reads the words of a shell: quotes, escapes, variables, substitutions. What stands in `$(…)` is read as commands by
`shell.py`, which builds on this.

Linear: every character is looked at once, apart from those that are read again as a command of their own, and those
count against one budget.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable

from rightcall.base.text import regex
from rightcall.policy.commands.words import CUT, HOLE, KEPT, MOST_WORDS, Pieces, UnreadableLine, as_pattern, as_text

LONGEST = 200_000
"""Characters of a command line; a longer one is not judged."""
DEEPEST = 40
"""Nested groups, substitutions and codes in quotes."""
_RUN = regex(r"[^\s'\"\\$`;&|<>()]+")
_IN_QUOTES = regex(r'[^"\\$`]+')
_NAME = regex(r"[A-Za-z_][A-Za-z0-9_]*")
_PARAMETER = regex(r"[A-Za-z_][A-Za-z0-9_]*|\d+|[@*](?=[}:])")
_LISTED = regex(r"([A-Za-z_][A-Za-z0-9_]*)(\+?)=")
_GAP = regex(r"(?:\s|\\\n|#[^\n]*)*")
_SPECIAL = "@*#?-$!0123456789"
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "v": "\v"}
_ANSI = regex(r"\\(x[0-9A-Fa-f]{1,2}|u[0-9A-Fa-f]{1,4}|U[0-9A-Fa-f]{1,8}|[0-7]{1,3}|c.|.)", re.DOTALL)

Values = tuple[str, ...]


class ReadingBudget:
    """What reading one command line may cost in all, with the codes in it that are read again."""

    __slots__ = ("characters", "commands")

    def __init__(self) -> None:
        self.characters = 2 * LONGEST
        self.commands = 2000

    def read(self, text: str) -> None:
        self.characters -= len(text) + 1
        if len(text) > LONGEST or self.characters < 0:
            raise UnreadableLine("it is too long")

    def command(self) -> None:
        self.commands -= 1
        if self.commands < 0:
            raise UnreadableLine("it has too many commands")


class WordScanner(ABC):
    """The text, a place in it, and what is known of variables there."""

    def __init__(
        self, text: str, home: str, variables: dict[str, Values | None], budget: ReadingBudget, depth: int
    ) -> None:
        budget.read(text)
        if "\0" in text:
            raise UnreadableLine("it has a NUL character in it")
        if depth > DEEPEST:
            raise UnreadableLine("it is nested too deeply")
        self.text = text
        self.at = 0
        self.end = len(text)
        self.home = home
        self.variables: dict[str, Values | None] = variables
        self.budget = budget
        self.depth: int = depth
        self.outward: list[int] = []
        """Commands that read what the one around them writes: `tee >(sh)`."""

    @abstractmethod
    def substitute(self, closing: str, pieces: Pieces) -> str | None:
        """Read what stands in a substitution up to its end; what it would print, where that is plain."""

    @abstractmethod
    def substitute_text(self, text: str, pieces: Pieces) -> str | None:
        """The same for a text whose end is known."""

    def peek(self, ahead: int = 0) -> str:
        at = self.at + ahead
        return self.text[at] if at < self.end else ""

    def starts(self, text: str) -> bool:
        return self.text.startswith(text, self.at)

    def word(self) -> Pieces | None:
        """The word at this place; None where none begins."""
        pieces = Pieces()
        begun = self.at
        while self.at < self.end:
            found = _RUN.match(self.text, self.at)
            if found is not None:
                self.at = found.end()
                pieces.bare(found.group())
            elif not self._take_special(pieces):
                break
        return pieces if self.at > begun else None

    def _take_special(self, pieces: Pieces) -> bool:
        """A character that means something; false where the word ends."""
        character = self.text[self.at]
        if character == "'":
            pieces.fixed(self._until("'"))
        elif character == '"':
            self.at += 1
            self.double(pieces)
        elif character == "\\":
            self._escape(pieces)
        elif character == "$":
            self.dollar(pieces, quoted=False)
        elif character == "`":
            self._backticks(pieces, quoted=False)
        elif character in "<>" and self.peek(1) == "(":
            self.at += 2
            before = len(pieces.inner)
            self.substitute(")", pieces)
            self.outward += pieces.inner[before:] if character == ">" else ()
            pieces.fixed(f"/dev/fd/{HOLE}")
        elif character == "(" and pieces.texts and pieces.texts[-1][0][-1:] in tuple("?*+@!="):
            self._take_extended(pieces)
        else:
            return False
        return True

    def _take_extended(self, pieces: Pieces) -> None:
        """`@(a|b)` of extended patterns, and `name=(…)`, a list that is assigned."""
        self.at += 1
        if pieces.texts[-1][0].endswith("="):
            self._list(pieces)
            return
        depth = 1
        while depth:
            character = self.peek()
            if not character:
                raise UnreadableLine("a parenthesis is not closed")
            depth += (character == "(") - (character == ")")
            inner = Pieces()
            if character in "'\"\\$`" and self._take_special(inner):
                pieces.inner += inner.inner
                pieces.names += inner.names
            else:
                self.at += 1
        pieces.texts[-1] = tuple(text[:-1] for text in pieces.texts[-1])  # the sign is no part of the name
        pieces.choice(("*",), quoted=False)

    def _list(self, pieces: Pieces) -> None:
        """The rest of `name=(a b)`. `name[]` has its items among the variables, and the name alone means the first."""
        assigned = _LISTED.fullmatch("".join(text[0] for text in pieces.texts))
        items: list[str] = []
        while True:
            gap = _GAP.match(self.text, self.at)
            self.at = gap.end() if gap is not None else self.at
            if not self.peek():
                raise UnreadableLine("a parenthesis is not closed")
            if self.peek() == ")":
                self.at += 1
                break
            one = self.word()
            if one is None:
                self.at += 1
                continue
            pieces.inner += one.inner
            pieces.names += one.names
            for word in one.words(self.home):
                key = re.match(r"\[[^\]]*\]=", word.value)  # `[1]=x`
                plain = word.value[key.end() :] if key is not None else word.value
                items += [plain] if word.glob is None or key is not None else [KEPT + word.glob]
                items += [HOLE] if key is not None else []
        if assigned is not None:
            before = self.variables.get(f"{assigned[1]}[]") if assigned[2] else ()
            self.variables[f"{assigned[1]}[]"] = (*((HOLE,) if before is None else before), *items)[:MOST_WORDS]
        pieces.choice((HOLE,) if not items or items[0].startswith(KEPT) else (items[0],), quoted=True)

    def _until(self, closing: str) -> str:
        end = self.text.find(closing, self.at + 1)
        if end < 0:
            raise UnreadableLine("a quote is not closed")
        inside = self.text[self.at + 1 : end]
        self.at = end + 1
        return inside

    def _escape(self, pieces: Pieces) -> None:
        following = self.peek(1)
        self.at += 2
        if following == "\n":
            return
        if not following:
            raise UnreadableLine("it ends in a backslash")
        pieces.fixed(following)

    def double(self, pieces: Pieces, closing: str = '"') -> None:
        """The rest of a text in double quotes; with an empty `closing` the rest of a here-document."""
        pieces.fixed("")
        while self.at < self.end:
            found = _IN_QUOTES.match(self.text, self.at)
            if found is not None:
                self.at = found.end()
                pieces.fixed(found.group())
                continue
            character = self.text[self.at]
            if character == closing:
                self.at += 1
                return
            if character == "\\":
                following = self.peek(1)
                self.at += 2
                if following != "\n":
                    pieces.fixed(following if following in '$`"\\' else "\\" + following)
            elif character == "$":
                self.dollar(pieces, quoted=True)
            elif character == "`":
                self._backticks(pieces, quoted=True)
            else:
                self.at += 1
                pieces.fixed(character)
        if closing:
            raise UnreadableLine("a quote is not closed")

    def dollar(self, pieces: Pieces, *, quoted: bool) -> None:
        following = self.peek(1)
        if following == "(":
            if self.peek(2) == "(" and self._arithmetic(pieces):
                return
            self.at += 2
            printed = self.substitute(")", pieces)
            pieces.choice((HOLE if printed is None else printed,), quoted=quoted)
        elif following == "{":
            self.at += 2
            self._take_braces(pieces, quoted=quoted)
        elif following == "'" and not quoted:
            self.at += 1
            pieces.fixed(decode_escapes(self._ansi_text()))
        elif following == '"' and not quoted:
            self.at += 2
            self.double(pieces)
        elif found := _NAME.match(self.text, self.at + 1):
            self.at = found.end()
            self._variable(found.group(), pieces, quoted=quoted)
        elif following and following in _SPECIAL:
            self.at += 2
            values = self.variables.get("@" if following == "*" else following) or (HOLE,)
            pieces.choice(values if quoted else self._fall_apart(values), quoted=quoted)
        else:
            self.at += 1
            pieces.fixed("$")

    def _ansi_text(self) -> str:
        start = self.at + 1
        at = start
        while at < self.end and self.text[at] != "'":
            at += 2 if self.text[at] == "\\" else 1
        if at >= self.end:
            raise UnreadableLine("a quote is not closed")
        self.at = at + 1
        return self.text[start:at]

    def _variable(self, name: str, pieces: Pieces, *, quoted: bool, given: Values = ()) -> None:
        pieces.names.append(name)
        if name == "IFS" and not quoted:
            pieces.bare(CUT)
            return
        known = self.variables.get(name)
        values = known if known is not None else (HOLE,)
        if not quoted:
            values = self._fall_apart(values)
        pieces.choice((*values, *given), quoted=quoted)

    def _fall_apart(self, values: Values) -> Values:
        """Where `IFS` has been changed, words fall apart at its characters; at which, is not always known."""
        cuts = self.variables.get("IFS")
        if cuts == (" ",):
            return values
        if cuts is None or any(HOLE in one for one in cuts):
            return tuple(HOLE if len(value) > 1 else value for value in values)
        blanks = str.maketrans(dict.fromkeys("".join(cuts), " "))
        return tuple(value.translate(blanks) for value in values)

    def _take_braces(self, pieces: Pieces, *, quoted: bool) -> None:
        """`${…}` after its brace: what it does to a value that is known, and what runs in it."""
        pointed = self.peek() == "!"
        self.at += pointed
        found = _PARAMETER.match(self.text, self.at)
        name = found.group() if found is not None else ""
        if found is not None:
            self.at = found.end()
        rest = Pieces()
        self._to_brace(rest)
        pieces.inner += rest.inner
        pieces.names += rest.names
        written = "".join(text[0] for text in rest.texts)
        if not name or pointed:
            pieces.names.append(name) if name else None
            known = self.variables.get(name) if not written else None
            pieces.choice(self._look_up(known or ()), quoted=quoted)
        elif not written:
            self._variable("@" if name == "*" else name, pieces, quoted=quoted)
        elif written[:2] in (":-", ":=", ":+") or written[:1] in ("-", "=", "+"):
            given = written.lstrip(":")[1:]
            self._variable(name, pieces, quoted=quoted, given=(given,))
            if "=" in written[:2]:  # and the variable has it from here on
                self.variables[name] = tuple(dict.fromkeys((*(self.variables.get(name) or ()), given)))
        else:
            pieces.names.append(name)
            self._alter(name, written, pieces, quoted=quoted)

    def _look_up(self, names: Values) -> Values:
        """`${!name}`: the value of the variable that is named there."""
        return tuple(value for name in names for value in self.variables.get(name) or (HOLE,)) or (HOLE,)

    def _alter(self, name: str, operation: str, pieces: Pieces, *, quoted: bool) -> None:
        self.budget.read(operation)
        known = self.variables.get(name) or ()
        items = self.variables.get(f"{name}[]")
        if operation[0] == "[":
            meant = items_of(items if items is not None else known, operation) if items or known else None
            values, every = meant if meant is not None else ((HOLE,), False)
            if every:
                pieces.add_items(values, quoted=quoted)
                return
            pieces.choice(values or ("",), quoted=quoted)
            return
        if name in ("@", "*"):
            given = self.variables.get("@")
            part = items_of(("", *given[0].split(CUT)), f"[@]{operation}") if given else None
            pieces.add_items(part[0] if part is not None else (HOLE,), quoted=quoted)
            return
        for value in known:
            self.budget.read(value)
        made = [alter(value, operation) for value in known]
        values = tuple(dict.fromkeys(HOLE if one is None else one for one in made)) or (HOLE,)
        pieces.choice(values if quoted else self._fall_apart(values), quoted=quoted)

    def _to_brace(self, pieces: Pieces) -> None:
        depth = 1
        start = self.at
        while self.at < self.end:
            character = self.text[self.at]
            if character == "}":
                depth -= 1
                if depth == 0:
                    self.at += 1
                    return
            if character in "'\"\\$`":
                if not self._take_special(pieces):
                    break
                continue
            depth += character == "{"
            self.at += 1
            pieces.bare(character)
            if self.at - start > LONGEST:
                break
        raise UnreadableLine("a brace is not closed")

    def _arithmetic(self, pieces: Pieces) -> bool:
        """`$((…))`; false where it is a substitution that begins with a group."""
        before = self.at
        self.at += 3
        if self.arithmetic(pieces):
            pieces.choice((HOLE,), quoted=True)
            return True
        self.budget.characters -= self.at - before  # what is read twice is paid for, so that nesting cannot double it
        if self.budget.characters < 0:
            raise UnreadableLine("it is nested too deeply")
        self.at = before
        return False

    def arithmetic(self, pieces: Pieces) -> bool:
        """The rest of `((…))`, with the commands that run in it; false where it does not end in `))`."""
        depth = 2
        while self.at < self.end:
            character = self.text[self.at]
            if character in "$`":
                self.dollar(pieces, quoted=True) if character == "$" else self._backticks(pieces, quoted=True)
                continue
            depth += (character == "(") - (character == ")")
            self.at += 1
            if depth == 0:
                return self.text[self.at - 2] == ")"
        return False

    def _backticks(self, pieces: Pieces, *, quoted: bool) -> None:
        start = self.at + 1
        at = start
        while at < self.end and self.text[at] != "`":
            at += 2 if self.text[at] == "\\" else 1
        if at >= self.end:
            raise UnreadableLine("a backtick is not closed")
        self.at = at + 1
        inside = re.sub(r"\\([\\$`])", r"\1", self.text[start:at])
        printed = self.substitute_text(inside, pieces)
        pieces.choice((HOLE if printed is None else printed,), quoted=quoted)


def decode_escapes(text: str) -> str:
    """What stands in `$'…'`, and what `printf` makes of its format."""
    return _ANSI.sub(lambda found: _ansi_one(found[1]), text)


def _ansi_one(code: str) -> str:
    try:
        if code[0] in "xuU" and len(code) > 1:
            return chr(int(code[1:], 16))
        if code[0] in "01234567":
            return chr(int(code, 8) & 0xFF)
    except (ValueError, OverflowError):
        return HOLE
    return _ESCAPES.get(code[0], code[-1] if code[0] != "c" else "")


# ── what a shell makes of ${name…} ──
# What a shell makes of `${name…}`: a part of a value, another case, a pattern cut off or replaced, an item of a list.
#
# Only what can be told without running anything. A value that is not known, or a pattern that would take long to match,
# gives None; the caller then takes it for text that nobody knows.

_LONGEST = 200
"""Characters of a value that is changed."""
_PART = regex(r":\s*(-?\d{1,6})(?:\s*:\s*(-?\d{1,6}))?\s*")
_ITEM = regex(r"\[([^\]]*)\]")
_NUMBER = regex(r"-?\d{1,6}")
_CASES: dict[str, Callable[[str], str]] = {
    "^^": str.upper, "^": lambda text: text[:1].upper() + text[1:], "@U": str.upper,
    ",,": str.lower, ",": lambda text: text[:1].lower() + text[1:], "@L": str.lower,
    "@u": lambda text: text[:1].upper() + text[1:], "@Q": str, "@E": str,
}  # fmt: skip


def alter(value: str, operation: str) -> str | None:
    """A value after what stands behind its name in the braces.

    >>> alter("a.tar.gz", "%.*"), alter("Xenv", "/X/."), alter("aaenv", ":2"), alter("ENV", ",,")
    ('a.tar', '.env', 'env', 'env')
    """
    if not operation:
        return value
    if len(value) > _LONGEST or HOLE in value or HOLE in operation or value.startswith(KEPT):
        return None
    if (case := _CASES.get(operation)) is not None:
        return case(value)
    if (found := _PART.fullmatch(operation)) is not None:
        return "".join(_part(list(value), found))
    if operation[0] in "#%":
        twice = operation[:2] in ("##", "%%")
        return _cut(value, operation[1 + twice :], at_end=operation[0] == "%", longest=twice)
    return _replace(value, operation[1:]) if operation[0] == "/" else None


def items_of(items: tuple[str, ...], operation: str) -> tuple[tuple[str, ...], bool] | None:
    """The items that `${list[…]…}` means, and whether it means all of them beside each other; None where nobody knows.

    >>> items_of(("a", ".env"), "[1]"), items_of(("a", "b", "c"), "[@]:1")
    ((('.env',), False), (('b', 'c'), True))
    """
    found = _ITEM.match(operation)
    if found is None:
        return None
    key, rest = found[1], operation[found.end() :]
    every = key in ("@", "*")
    exact = not any(HOLE in one or one.startswith(KEPT) for one in items)
    if every and (part := _PART.fullmatch(rest)) is not None:
        return (tuple(_part(list(items), part)) if exact else items), True
    if not every and exact and _NUMBER.fullmatch(key):
        items = items[int(key) :][:1]  # behind the last there is nothing
    made = [alter(one, rest) for one in items]
    return tuple(HOLE if one is None else one for one in made), every


def _part(whole: list[str], found: "re.Match[str]") -> list[str]:
    rest = whole[int(found[1]) :]
    return rest if found[2] is None else rest[: int(found[2])]


def _cut(value: str, pattern: str, *, at_end: bool, longest: bool) -> str | None:
    meant = _matcher(pattern)
    if meant is None:
        return None
    lengths = range(len(value) + 1)
    for length in reversed(lengths) if longest else lengths:
        piece = value[len(value) - length :] if at_end else value[:length]
        if meant.fullmatch(piece):
            return value[: len(value) - length] if at_end else value[length:]
    return value


def _replace(value: str, operation: str) -> str | None:
    """`/pattern/text`, `//…` for all of them, `/#…` and `/%…` at one end."""
    sign = operation[:1] if operation[:1] in ("/", "#", "%") else ""
    pattern, _, text = operation[len(sign) :].partition("/")
    meant = _matcher(pattern) if pattern else None
    if meant is None:
        return None
    text = as_text(text)
    if sign in ("#", "%"):
        rest = _cut(value, pattern, at_end=sign == "%", longest=True)
        if rest is None or rest == value:
            return rest
        return rest + text if sign == "%" else text + rest
    return meant.sub(lambda _found: text, value, count=0 if sign == "/" else 1)


def _matcher(pattern: str) -> re.Pattern[str] | None:
    """A pattern with one star at most, so that it is matched in the length of a value times itself."""
    glob = as_pattern(pattern)
    if len(glob) > _LONGEST or len(re.findall(r"(?<!\[)\*", glob)) > 1 or "(" in glob:
        return None
    pieces = re.findall(r"\[[!^]?\]?[^\]]*\]|.", glob, re.DOTALL)
    written = [_WILD.get(one) or (_class(one) if len(one) > 2 else re.escape(one)) for one in pieces]
    try:
        return re.compile("".join(written), re.DOTALL)
    except re.error:
        return None


_WILD = {"*": ".*", "?": "."}


def _class(written: str) -> str:
    inside = written[1:-1].replace("\\", "\\\\").replace("[", "\\[")
    return f"[^{inside[1:]}]" if inside[0] in "!^" else f"[{inside}]"
