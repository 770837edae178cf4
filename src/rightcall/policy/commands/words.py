"""Words of a command line as a shell would hand them to a program, and what of them is not known before it runs.

A word is collected in pieces. Braces are expanded, a variable with several possible values gives several words, and a
text that only the running shell knows stands in as `HOLE`.
"""

import os
import re
from collections.abc import Iterable
from fnmatch import fnmatchcase
from itertools import islice, pairwise, product

from msgspec import Struct

from rightcall.base.text import regex

HOLE = "\ue000"
"""Stands for text that is known only when it runs."""
CUT = "\ue001"
"""Where an unquoted variable falls apart into words."""
KEPT = "\ue002"
"""Before a value that a loop takes from a pattern: its wildcards stand for names, quoted or not."""
MOST_WORDS = 200
"""That one written word may turn into; with more the line is not judged."""
_MOST_NUMBERS = 10
"""Of a range that stand for all of them: what is protected has no number for a name."""
WILD = regex(r"[*?\[]")
_RANGE = regex(r"(-?\d{1,6})\.\.(-?\d{1,6})(?:\.\.-?\d+)?|([A-Za-z])\.\.([A-Za-z])")
_A_RANGE = regex(r"\{[^{},]*\.\.[^{},]*\}")
_MARKS = {
    "*": "\ue010",
    "?": "\ue011",
    "[": "\ue012",
    "]": "\ue013",
    "{": "\ue014",
    "}": "\ue015",
    ",": "\ue016",
    "~": "\ue017",
}
_QUOTED = str.maketrans(_MARKS)
_PLAIN = str.maketrans({mark: character for character, mark in _MARKS.items()})
_PATTERN = str.maketrans(
    {_MARKS["*"]: "[*]", _MARKS["?"]: "[?]", _MARKS["["]: "[[]"}
    | {_MARKS[one]: one for one in "]{},~"}
)  # fmt: skip


class UnreadableLine(Exception):
    """The line cannot be judged; the text says why."""


class Word(Struct, frozen=True):
    """One word after all expansions that can be done without running anything."""

    value: str
    glob: str | None = None
    """The same as a pattern, where unquoted wildcards stand in it."""
    quoted: bool = False
    names: tuple[str, ...] = ()
    """Variables that were used in it."""
    inner: tuple[int, ...] = ()
    """Commands whose output stands in it, or is read through it: positions in the list of all commands."""

    @property
    def known(self) -> bool:
        return HOLE not in self.value


class Pieces:
    """A word while it is read: texts, each quoted or not, each with one or more possible values."""

    __slots__ = ("inner", "names", "quoted", "texts")

    def __init__(self) -> None:
        self.texts: list[tuple[str, ...]] = []
        self.names: list[str] = []
        self.inner: list[int] = []
        self.quoted = False

    def bare(self, text: str) -> None:
        self.texts.append((text,))

    def fixed(self, text: str) -> None:
        """Quoted: no wildcard, no brace in it means anything."""
        self.quoted = True
        self.texts.append((text.translate(_QUOTED),))

    def choice(self, values: Iterable[str], *, quoted: bool) -> None:
        """What a variable may hold. Unquoted it falls apart at blanks, and its wildcards count."""
        if quoted:
            self.quoted = True
            self.texts.append(
                tuple(value[1:] if value.startswith(KEPT) else value.translate(_QUOTED) for value in values)
            )
        else:
            values = [value.removeprefix(KEPT) for value in values]
            self.texts.append(tuple(CUT.join(value.split()) if " " in value or "\t" in value or "\n" in value else value
                                    for value in values))  # fmt: skip

    def listed(self, items: Iterable[str], *, quoted: bool) -> None:
        """The items of a list, each a word of its own."""
        self.quoted |= quoted
        texts = [
            one[1:] if one.startswith(KEPT) else one.translate(_QUOTED) if quoted else CUT.join(one.split())
            for one in items
        ]
        self.texts.append((CUT.join(texts),))

    def ways(self) -> list["Pieces"]:
        """One word for each value that its variables may have, where they have several."""
        most = max(map(len, self.texts), default=0)
        if most < 2:
            return [self]
        found: list[Pieces] = []
        for at in range(min(most, MOST_WORDS)):
            one = Pieces()
            one.texts = [(values[min(at, len(values) - 1)],) for values in self.texts]
            one.names, one.inner, one.quoted = self.names, self.inner, self.quoted
            found.append(one)
        return found

    def plain(self) -> str | None:
        """The word as it is written, where nothing in it was quoted or expanded."""
        if self.quoted or self.names or self.inner or len(self.texts) != 1:
            return None
        return self.texts[0][0]

    def words(self, home: str) -> list[Word]:
        """All words that this one turns into."""
        if len(self.texts) == 1 and not self.quoted and len(self.texts[0]) == 1:
            text = self.texts[0][0]
            if text.isalnum() and not self.names and not self.inner:
                return [Word(text)]
        names, inner = tuple(dict.fromkeys(self.names)), tuple(self.inner)
        found: list[Word] = []
        for count, choice in enumerate(product(*self.texts)):
            if count >= MOST_WORDS:
                raise UnreadableLine("a word of it may stand for too many")
            for braced in braces("".join(choice)):
                cuts = braced.split(CUT) if CUT in braced else (braced,)
                found += [_word(cut, home, self.quoted, names, inner) for cut in cuts if cut or self.quoted]
        return found or ([Word("", None, True, names, inner)] if self.quoted else [])


def _word(text: str, home: str, quoted: bool, names: tuple[str, ...], inner: tuple[int, ...]) -> Word:
    if text.startswith("~"):
        text = _at_home(text, home)
    glob = text.translate(_PATTERN) if WILD.search(text) else None
    return Word(text.translate(_PLAIN) if quoted else text, glob, quoted, names, inner)


def as_pattern(text: str) -> str:
    """A text in which quoted wildcards are marked, as a pattern."""
    return text.translate(_PATTERN)


def as_text(text: str) -> str:
    """The same as what it says."""
    return text.translate(_PLAIN)


def _at_home(text: str, home: str) -> str:
    user, slash, rest = text[1:].partition("/")
    if not user:
        return home + slash + rest
    if user == "+":  # the folder that one stands in
        return f".{slash}{rest}"
    if re.fullmatch(r"[-+]?\d+|-", user):  # one of those that one stood in
        return f"{HOLE}{slash}{rest}"
    return f"/home/{user}{slash}{rest}" if user.isalnum() else text


def braces(text: str) -> list[str]:
    """`a{b,c}` and `a{1..3}` expanded, without recursion. Of a range the first few stand for all. Raises UnreadableLine
    for more than `MOST_WORDS`.

    >>> braces("src/{a,b}.py"), braces("{x}")
    (['src/a.py', 'src/b.py'], ['{x}'])
    """
    if "{" not in text:
        return [text]
    done: list[str] = []
    todo = [text]
    while todo:
        if len(done) + len(todo) > MOST_WORDS:
            raise UnreadableLine("one of its words expands to too many")
        one = todo.pop()
        opened = _first_braces(one)
        if opened is None:
            done.append(one)
            continue
        start, end, choices = opened
        todo += [one[:start] + choice + one[end:] for choice in reversed(choices)]
    return done


def alternatives(pattern: str) -> list[str]:
    """What a pattern of the policy means by its braces. Raises ValueError with what is wrong.

    >>> alternatives("docker{,-compose}")
    ['docker', 'docker-compose']
    """
    if _A_RANGE.search(pattern):
        raise ValueError("has a range in its braces, of which there are none here; write {1,2,3}")
    try:
        found = braces(pattern)
    except UnreadableLine:
        raise ValueError("has braces that stand for too many; write a pattern for each") from None
    if any(re.search(r"[{}]", one.replace("{}", "")) for one in found):
        raise ValueError("has braces that are not closed, without a comma or with a blank in them; write {a,b}")
    return found


def _first_braces(text: str) -> tuple[int, int, list[str]] | None:
    """Where the first braces that mean something begin and end, and what can stand in their place."""
    start = text.find("{")
    for _ in range(MOST_WORDS):
        if start < 0:
            break
        depth, commas = 0, [start]
        for at in range(start, min(len(text), start + 4096)):
            character = text[at]
            if character == "{":
                depth += 1
            elif character == "," and depth == 1:
                commas.append(at)
            elif character == "}":
                depth -= 1
                if depth == 0:
                    choices = _choices(text[start + 1 : at], [comma - start - 1 for comma in commas[1:]])
                    if choices:
                        return start, at + 1, choices
                    break
        start = text.find("{", start + 1)
    return None


def _choices(inside: str, commas: list[int]) -> list[str]:
    if commas:
        bounds = [-1, *commas, len(inside)]
        return [inside[a + 1 : b] for a, b in pairwise(bounds)]
    found = _RANGE.fullmatch(inside)
    if found is None:
        return []
    if found[3]:
        low, high = sorted((ord(found[3]), ord(found[4])))
        return [chr(code) for code in range(low, high + 1)]
    low, high = sorted((int(found[1]), int(found[2])))
    return [str(number) for number in range(low, min(high, low + _MOST_NUMBERS) + 1)]


def joined(words: Iterable[Word]) -> str:
    """Words as one text, as `eval` and `ssh` put them together."""
    return " ".join(word.value for word in words)


def spelled(words: Iterable[Word], limit: int = 80) -> str:
    """Words as they are shown to a person: holes as `…`, cut to a length. Not escaped yet."""
    text = " ".join((f"'{word.value}'" if " " in word.value else word.value) for word in islice(words, 40))
    text = text.replace(HOLE, "…")
    return text if len(text) <= limit else text[: limit - 1] + "…"


def could_be(glob: str, name: str) -> bool:
    """Whether one component with wildcards can stand for a name. A leading dot is only met by a written one."""
    if name.startswith(".") and not glob.startswith((".", "[.]")):
        return False
    return fnmatchcase(name, glob)


def basename(program: str) -> str:
    """A program's name without its folder, its ending on Windows and its case.

    >>> basename("/usr/bin/Git.EXE"), basename("./run.sh")
    ('git', 'run.sh')
    """
    name = os.path.basename(program.replace("\\", "/").rstrip("/")).casefold()
    for ending in (".exe", ".cmd", ".bat", ".com"):
        if name.endswith(ending) and len(name) > len(ending):
            return name[: -len(ending)]
    return name


_VERSIONED = regex(r"(python|pypy|pip|ruby|gem|perl|php|lua|node|gcc|g\+\+|clang|java)[-\d.]+")


def unversioned(program: str) -> str:
    """A program without the version in its name, where it is known to have one.

    >>> unversioned("python3.11"), unversioned("base64")
    ('python', 'base64')
    """
    if program[-1:].isdigit() and (found := _VERSIONED.fullmatch(program)):
        return found[1]
    return program


# ── expansion ──
# Reads the words of a shell: quotes, escapes, variables, substitutions. What stands in `$(…)` is read as commands by
# `shell.py`, which builds on this.
#
# Linear: every character is looked at once, apart from those that are read again as a command of their own, and those
# count against one budget.

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


class WordScanner:
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

    # `shell.py` reads what stands in a substitution, and says what it would print where that is plain
    def substituted(self, closing: str, pieces: Pieces) -> str | None:
        raise NotImplementedError

    def substituted_text(self, text: str, pieces: Pieces) -> str | None:
        raise NotImplementedError

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
            elif not self._odd(pieces):
                break
        return pieces if self.at > begun else None

    def _odd(self, pieces: Pieces) -> bool:
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
            self.substituted(")", pieces)
            self.outward += pieces.inner[before:] if character == ">" else ()
            pieces.fixed(f"/dev/fd/{HOLE}")
        elif character == "(" and pieces.texts and pieces.texts[-1][0][-1:] in tuple("?*+@!="):
            self._extended(pieces)
        else:
            return False
        return True

    def _extended(self, pieces: Pieces) -> None:
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
            if character in "'\"\\$`" and self._odd(inner):
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
            printed = self.substituted(")", pieces)
            pieces.choice((HOLE if printed is None else printed,), quoted=quoted)
        elif following == "{":
            self.at += 2
            self._braced(pieces, quoted=quoted)
        elif following == "'" and not quoted:
            self.at += 1
            pieces.fixed(decoded(self._ansi_text()))
        elif following == '"' and not quoted:
            self.at += 2
            self.double(pieces)
        elif found := _NAME.match(self.text, self.at + 1):
            self.at = found.end()
            self._variable(found.group(), pieces, quoted=quoted)
        elif following and following in _SPECIAL:
            self.at += 2
            values = self.variables.get("@" if following == "*" else following) or (HOLE,)
            pieces.choice(values if quoted else self._fallen_apart(values), quoted=quoted)
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
            values = self._fallen_apart(values)
        pieces.choice((*values, *given), quoted=quoted)

    def _fallen_apart(self, values: Values) -> Values:
        """Where `IFS` has been changed, words fall apart at its characters; at which, is not always known."""
        cuts = self.variables.get("IFS")
        if cuts == (" ",):
            return values
        if cuts is None or any(HOLE in one for one in cuts):
            return tuple(HOLE if len(value) > 1 else value for value in values)
        blanks = str.maketrans(dict.fromkeys("".join(cuts), " "))
        return tuple(value.translate(blanks) for value in values)

    def _braced(self, pieces: Pieces, *, quoted: bool) -> None:
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
            pieces.choice(self._pointed_to(known or ()), quoted=quoted)
        elif not written:
            self._variable("@" if name == "*" else name, pieces, quoted=quoted)
        elif written[:2] in (":-", ":=", ":+") or written[:1] in ("-", "=", "+"):
            self._variable(name, pieces, quoted=quoted, given=(written.lstrip(":")[1:],))
        else:
            pieces.names.append(name)
            self._altered(name, written, pieces, quoted=quoted)

    def _pointed_to(self, names: Values) -> Values:
        """`${!name}`: the value of the variable that is named there."""
        return tuple(value for name in names for value in self.variables.get(name) or (HOLE,)) or (HOLE,)

    def _altered(self, name: str, operation: str, pieces: Pieces, *, quoted: bool) -> None:
        from rightcall.policy.commands.parameters import altered, items_of  # late: few lines have them

        self.budget.read(operation)
        known = self.variables.get(name) or ()
        items = self.variables.get(f"{name}[]")
        if operation[0] == "[":
            meant = items_of(items if items is not None else known, operation) if items or known else None
            values, every = meant if meant is not None else ((HOLE,), False)
            if every:
                pieces.listed(values, quoted=quoted)
                return
            pieces.choice(values or ("",), quoted=quoted)
            return
        if name in ("@", "*"):
            pieces.choice((HOLE,), quoted=quoted)
            return
        for value in known:
            self.budget.read(value)
        made = [altered(value, operation) for value in known]
        values = tuple(dict.fromkeys(HOLE if one is None else one for one in made)) or (HOLE,)
        pieces.choice(values if quoted else self._fallen_apart(values), quoted=quoted)

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
                if not self._odd(pieces):
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
        printed = self.substituted_text(inside, pieces)
        pieces.choice((HOLE if printed is None else printed,), quoted=quoted)


def decoded(text: str) -> str:
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
