"""Words of a command line as a shell would hand them to a program, and what of them is not known before it runs.

A word is collected in pieces. Braces are expanded, a variable with several possible values gives several words, and a
text that only the running shell knows stands in as `HOLE`.
"""

import os
import re
from collections.abc import Iterable
from functools import lru_cache
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
_MARKS = {sign: chr(0xE010 + at) for at, sign in enumerate("*?[]{},~")}
_QUOTED = str.maketrans(_MARKS)
_PLAIN = str.maketrans({mark: character for character, mark in _MARKS.items()})
_PATTERN = str.maketrans(
    {_MARKS["*"]: "[*]", _MARKS["?"]: "[?]", _MARKS["["]: "[[]"}
    | {_MARKS[one]: one for one in "]{},~"}
)  # fmt: skip


@lru_cache(2)
def read_lists(file: str) -> dict[str, list[str]]:
    """The lines of a list that lies beside this module, by the heading in brackets under which they stand."""
    found: dict[str, list[str]] = {}
    heading = ""
    with open(os.path.join(os.path.dirname(__file__), file), encoding="utf-8") as stream:
        for line in filter(None, stream.read().splitlines()):
            if line[0] == "[" and line[-1] == "]":
                heading = line[1:-1]
            elif line[0] != "#":
                found.setdefault(heading, []).append(line)
    return found


@lru_cache(16)
def known_names(heading: str) -> frozenset[str]:
    """Those that stand under a heading of `names.txt`."""
    return frozenset(" ".join(read_lists("names.txt")[heading]).split())


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

    def add_items(self, items: Iterable[str], *, quoted: bool) -> None:
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
    from fnmatch import fnmatchcase  # late: as in `places`

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
