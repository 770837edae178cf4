"""Patterns for paths and for names of tools, and what they match: the only place that reads them.

`*` and `?` stay within one component, `**` spans any number of them, `{a,b}` is one or the other, `[a-z]` one character
of several, and `\\` stands before one that is meant itself. A policy's patterns fold case and mean a folder with
all below it (`path_matches`); those of a model's tools are taken by the letter and mean whole paths (`compile_globs`).
Names of tools are not paths: `*` is the only sign in their patterns (`matches`).

A path's pattern becomes one expression that never goes back: whatever follows a star is taken where it first fits, and
never looked for again. So no pattern can make a match take longer than its own length times that of the path.
"""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import takewhile

from rightcall.base.text import regex
from rightcall.errors import ToolFailure

Token = str
"""One character that is meant itself, `STAR`, `ANY`, or a class as an expression of two characters at least."""
Component = list[Token]
STAR: Token = "<star>"
ANY: Token = "<any>"

LONGEST_PATTERN = 1_000
_MOST_ALTERNATIVES = 256
_DEEPEST = 8
_NAMED = regex(r"\[([:=.])\w+\1\]")
_RANGE = regex(r"(?:-?\d+|[A-Za-z])\.\.(?:-?\d+|[A-Za-z])(?:\.\.-?\d+)?\}")
_PARSED = frozenset("[]{}\\")
"""What needs more than a look at each character."""
_SPECIAL = _PARSED | {"*", "?"}
_QUOTED = str.maketrans({sign: f"\\{sign}" for sign in _SPECIAL})
EXTENDED = regex(r"[@!+]\([^/]*\)|[*?]\([^/]*\|[^/]*\)")
"""`@(a|b)` as some shells and search tools know it, and nothing here does."""
_OF_A_SHELL = (
    (EXTENDED, "`@(a|b)` has no meaning here; write `{a,b}`"),
    (regex(r"\{\s|\{[^{}]*(?:,\s|\s,|\s\})"), "a blank in braces is part of a name; write `{a,b}`"),
)
"""Spellings that are names here and patterns elsewhere: whoever writes one in a policy means the pattern."""
_ANY_FOLDERS = "(?:[^/]+/)*"
_DEEP: list[Token] = [STAR, STAR]
_LONGEST_NAME = 255
_MOST_PATTERNS = 100
_MOST_TOKENS = 20_000
"""Of all the alternatives together."""


class GlobFault(ValueError):
    """What is wrong with a pattern, in words for whoever wrote it."""


# ── one path ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def path_matches(pattern: str, path: str) -> bool:
    """Whether a path below the root matches. Both are case-folded; a pattern that names a folder matches all below it.

    >>> path_matches("private/**", "private/a/b.txt"), path_matches("*.pem", "certs/site.pem")
    (True, False)
    >>> path_matches("**/*.{pem,key}", "certs/site.pem"), path_matches("[p]rivate", "private/a/b.txt")
    (True, True)
    """
    return _compiled(pattern).fullmatch("".join(f"{part}/" for part in folded(path).split("/") if part)) is not None


def expression(pattern: str) -> str:
    """The same as a regular expression, to be matched in full against a path that ends in `/`; case counts. Raises
    GlobFault.

    >>> bool(re.fullmatch(expression("private/**"), "private/a/b.txt/"))
    True
    """
    alternatives = ([part for part in _split(tokens) if part] for tokens in _tokens(pattern))
    made = dict.fromkeys(_written(components, below=True) for components in alternatives)
    return "|".join(made) if len(made) == 1 else f"(?:{'|'.join(made)})"


def check_pattern(pattern: str) -> None:
    """Raises GlobFault for a pattern that no path below a root can match, in one of its alternatives at least, or that
    means something else than in a shell."""
    for spelling, why in _OF_A_SHELL:
        if spelling.search(pattern):
            raise GlobFault(why)
    for tokens in _tokens(pattern):
        components = [part for part in _split(tokens) if part]
        if not components or tokens[0] == "/" or any(part in (["."], [".", "."]) for part in components):
            raise GlobFault("a path counts from the root, with `/`")
        if any(sum(token is not STAR for token in part) > _LONGEST_NAME for part in components):
            raise GlobFault(f"no name has more than {_LONGEST_NAME} characters")


def quoted(path: str) -> str:
    """The pattern that means a path and nothing else.

    >>> quoted("a[1]/b.txt"), path_matches(quoted("a[1]/b.txt"), "a[1]/b.txt")
    ('a\\\\[1\\\\]/b.txt', True)
    """
    return path.translate(_QUOTED)


def plain_forms(pattern: str) -> list[str]:
    """A pattern as several with `*` and `?` alone, which match no less.

    >>> plain_forms("release/{1,2}.[0-9]*")
    ['release/1.?*', 'release/2.?*']
    """
    signs = {STAR: "*", ANY: "?"}
    return ["".join(signs.get(one) or (one if len(one) == 1 else "?") for one in tokens) for tokens in _tokens(pattern)]


def first_names(patterns: Iterable[str]) -> tuple[frozenset[str], tuple[str, ...]] | None:
    """The folded first components of patterns, and how those begin that hold a wildcard; None when one of them can
    begin with anything.

    >>> first_names(["private/**", "audit.db-*"]), first_names(["**/x"])
    ((frozenset({'private'}), ('audit.db-',)), None)
    """
    tops = [next((part for part in folded(pattern).split("/") if part), "") for pattern in patterns]
    plain = frozenset(top for top in tops if _SPECIAL.isdisjoint(top))
    begun = tuple("".join(takewhile(lambda one: one not in _SPECIAL, top)) for top in tops if top not in plain)
    return (plain, begun) if all(plain) and all(begun) else None


def shift_pattern(pattern: str, folder: str) -> list[str]:
    """What a pattern means below a folder that lies below where it counts from, as patterns that count from there. One
    with a class of characters matches more than it did: it is for what is denied.

    >>> [shift_pattern(pattern, "sub") for pattern in ("sub/private/**", "**/x", "sub", "a/b")]
    [['private/**'], ['**/x'], ['**'], []]
    """
    found: dict[str, None] = {}
    for tokens in _tokens(folded(pattern)):
        ways = [[part for part in _split(tokens) if part]]
        for name in folded(folder).split("/"):
            ways = [rest for way in ways for rest in _after(way, name)]
        found |= dict.fromkeys("/".join("".join(map(_sign, part)) for part in way) or "**" for way in ways)
    return list(found)


def _after(way: list[Component], name: str) -> list[list[Component]]:
    """What is left of a pattern in a folder of this name; nothing left of it means all that is there."""
    if not way:
        return [way]
    if way[0] == _DEEP:
        return [way, *(_after(way[1:], name) if way[1:] else ())]
    return [way[1:]] if re.fullmatch(_component(way[0]), f"{name}/") else []


def _sign(token: Token) -> str:
    return "*" if token is STAR else quoted(token) if len(token) == 1 else "?"


def folded(text: str) -> str:
    """Without the differences that some file systems do not make: case, and how an accent is put together."""
    if text.isascii():
        return text.lower()
    from unicodedata import normalize  # hardly ever needed

    return normalize("NFC", normalize("NFD", text).casefold())


@lru_cache(256)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(expression(folded(pattern)))


def _tokens(pattern: str) -> list[list[Token]]:
    if not _PARSED.isdisjoint(pattern):
        return parsed(pattern)
    return [[STAR if one == "*" else ANY if one == "?" else one for one in pattern]]


def _split(tokens: list[Token]) -> list[Component]:
    """The parts between slashes, empty ones among them."""
    parts: list[Component] = [[]]
    for token in tokens:
        if token == "/":
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


# ── many paths ────────────────────────────────────────────────────────────────────────────────────────────────────────


class Globs:
    """Compiled patterns. Called with a path (true names, `/` between them) it says whether one of them matches."""

    __slots__ = ("_ends", "_match", "_prefixes", "_suffixes")

    def __init__(self, alternatives: Sequence[list[Component]]) -> None:
        ends = [_ends(parts) for parts in alternatives]
        self._suffixes = tuple(end for start, end in filter(None, ends) if not start)
        self._ends = [both for both in ends if both is not None and both[0]]
        rest = [parts for parts, both in zip(alternatives, ends, strict=True) if both is None]
        whole = "|".join(_written(parts, below=False) for parts in rest)
        self._match = re.compile(whole).fullmatch if rest else None
        self._prefixes = [_prefix(parts) for parts in alternatives]

    def __call__(self, path: str) -> bool:
        top, slash, name = path.rpartition("/")
        return bool(self.among(top + slash, [name]))

    def among(self, top: str, names: list[str]) -> list[str]:
        """Those names that match in one folder; `top` is its path with a slash at the end, or nothing."""
        suffixes, ends, match = self._suffixes, self._ends, self._match
        if match is None and not ends:  # the common patterns, `**/*.py`, need neither the path nor an engine
            return [name for name in names if name.endswith(suffixes)]
        return [
            name
            for name in names
            if name.endswith(suffixes)
            or (ends and _between(ends, name))
            or (match is not None and match(_readable(f"{top}{name}/")) is not None)
        ]

    def reaches(self, folder: str) -> bool:
        """Whether anything below a folder can match, as far as fixed names and depths tell."""
        parts = folder.split("/") if folder else []
        return any(
            (deepest is None or len(parts) < deepest) and all(a == b for a, b in zip(fixed, parts, strict=False))
            for fixed, deepest in self._prefixes
        )


def compile_globs(patterns: Sequence[str], *, anywhere: bool, argument: str = "pattern") -> Globs:
    """One matcher for all the patterns. `anywhere`: one without a slash matches in any folder, as ripgrep's `--glob`
    has it, and a leading slash ties it to the top. A slash at the end means all below that folder. Raises ToolFailure,
    which says what is wrong in which argument.

    >>> match = compile_globs(["*.{py,pyi}", "docs/"], anywhere=True)
    >>> match("a/b.pyi"), match("docs/x/y.md"), match("a/b.js")
    (True, True, False)
    """
    if len(patterns) > _MOST_PATTERNS:
        raise ToolFailure(f"{argument}: at most {_MOST_PATTERNS} patterns, these are {len(patterns)}")
    alternatives: list[list[Component]] = []
    for pattern in patterns:
        try:
            alternatives += [_components(tokens, anywhere) for tokens in parsed(pattern)]
            if sum(len(part) + 1 for parts in alternatives for part in parts) > _MOST_TOKENS:
                raise GlobFault("it is too much at once; use fewer or shorter alternatives")
        except GlobFault as fault:
            from rightcall.base.text import escaped  # late: hooks and checks start without it

            raise ToolFailure(f'{argument} "{escaped(pattern, 200)}": {escaped(str(fault))}') from None
    return Globs(alternatives)


def _components(tokens: list[Token], anywhere: bool) -> list[Component]:
    """The parts that count; `.` is nothing, `..` leads out."""
    parts = _split(tokens)
    if len(parts) > 1 and not parts[0] and not anywhere:
        raise GlobFault("it must be relative, such as src/**/*.py")
    if ["."] * 2 in parts:
        raise GlobFault('it must not hold ".."')
    below = len(parts) > 1 and not parts[-1]
    tied = len(parts) > 1 + below
    found = [
        _DEEP if len(part) > 1 and all(token is STAR for token in part) else part
        for part in parts
        if part and part != ["."]
    ]
    if not found:
        raise GlobFault("it is empty; ** matches everything")
    if anywhere and not tied:
        found = [_DEEP, *found]
    if below:
        found = [*found, _DEEP]
    return [part for at, part in enumerate(found) if part is not _DEEP or at == 0 or found[at - 1] is not _DEEP]


def _ends(parts: list[Component]) -> tuple[str, str] | None:
    """What a name must begin and end with, where that is all a pattern asks for, in whatever folder: `**/test_*.py`."""
    if parts == [_DEEP]:
        return "", ""
    if len(parts) != 2 or parts[0] is not _DEEP or parts[1].count(STAR) != 1:
        return None
    at = parts[1].index(STAR)
    start, end = parts[1][:at], parts[1][at + 1 :]
    return ("".join(start), "".join(end)) if all(_fixed(token) for token in (*start, *end)) else None


def _between(ends: list[tuple[str, str]], name: str) -> bool:
    return any(
        name.startswith(start) and name.endswith(end) and len(name) >= len(start) + len(end) for start, end in ends
    )


def _prefix(parts: list[Component]) -> tuple[list[str], int | None]:
    """The names it begins with, and how deep at most it goes."""
    fixed: list[str] = []
    for part in parts[:-1]:
        if not all(_fixed(token) for token in part):
            break
        fixed.append("".join(part))
    return fixed, None if _DEEP in parts else len(parts)


def _fixed(token: Token) -> bool:
    return len(token) == 1


def _readable(path: str) -> str:
    """What is no text stands as a question mark, here and in the pattern."""
    return path if path.isascii() else path.encode(errors="replace").decode()


# ── how a pattern is read ─────────────────────────────────────────────────────────────────────────────────────────────


def parsed(pattern: str) -> list[list[Token]]:
    """The alternatives of a pattern. Raises GlobFault.

    >>> parsed("a{b,}?")
    [['a', 'b', '<any>'], ['a', '<any>']]
    """
    if len(pattern) > LONGEST_PATTERN:
        raise GlobFault(f"at most {LONGEST_PATTERN} characters, these are {len(pattern)}")
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
    inside = "".join(f"\\U{low:08x}-\\U{high:08x}" for low, high in ranges)
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


# ── how it is written as an expression ────────────────────────────────────────────────────────────────────────────────


def _written(components: list[Component], *, below: bool) -> str:
    """To be matched in full against a path that ends in `/`, or, with `below`, against all below it too."""
    runs: list[list[Component]] = [[]]
    for part in components:
        if part == _DEEP:
            runs.append([])
        else:
            runs[-1].append(part)
    first, *spanned = ("".join(map(_component, run)) for run in runs)
    anywhere = spanned if below else spanned[:-1]
    found = first + "".join(f"(?>{_ANY_FOLDERS}?{run})" for run in anywhere if run)
    if below:
        return found + _ANY_FOLDERS if components else ""  # without any: the root itself, and nothing below it
    if not spanned:
        return found
    if not runs[-1]:
        return f"{found}(?:[^/]+/)+"
    return f"{found}(?>{_ANY_FOLDERS}?(?=(?:[^/]+/){{{len(runs[-1])}}}\\Z)){spanned[-1]}"


def _component(part: Component) -> str:
    pieces = [""]
    for before, token in zip((None, *part), part, strict=False):
        if token is not STAR:
            pieces[-1] += _one(token)
        elif before is not STAR:
            pieces.append("")
    first, *others = pieces
    if not others:
        return first + "/"
    return first + "".join(f"(?>[^/]*?{piece})" for piece in others[:-1]) + f"[^/]*{others[-1]}/"


def _one(token: Token) -> str:
    if token is ANY:
        return "[^/]"
    return token if len(token) > 1 else re.escape(token)


# ── names of tools ────────────────────────────────────────────────────────────────────────────────────────────────────
# `*` stands for any characters, none and `/` among them. Nothing else has a meaning: `[`, `?` and `.` are themselves.

_SEPARATORS = regex(r"[/._:\s-]+")
_WORDS = regex(r"[^_*\0\1]+")
_GAPS = regex(r"_+")
_LETTER = r"(?s:rn|vv|.)"  # compiled when first needed, which is hardly ever
_DRAWN = {"i": "[i\1]", "m": "(?:m|r\0?n)", "w": "(?:w|v\0?v)", "rn": "(?:r\0?n|m)", "vv": "(?:v\0?v|w)"}
_STROKES = ("|", "!")
"""Signs that can be taken for a letter."""
_LONGEST = 1000
"""Characters that a name has at most; whoever writes more wants it not to be known again."""


def is_pattern(name: str) -> bool:
    return "*" in name


def matches(pattern: str, name: str) -> bool:
    """Whether a name is, letter by letter, what the pattern says. Takes time in the length of both, whatever they are.

    >>> matches("code/*", "code/execute/python"), matches("code/*", "Code/read"), matches("a[b]", "a[b]")
    (True, False, True)
    """
    if pattern == "*" or pattern == name:  # the name itself fits whatever its stars stand for
        return True
    first, *others = pattern.split("*")
    if not others:
        return False
    last = others.pop()
    at, end = len(first), len(name) - len(last)
    if at > end or not name.startswith(first) or not name.endswith(last):
        return False
    for piece in others:
        at = name.find(piece, at, end)
        if at < 0:
            return False
        at += len(piece)
    return True


def loosely(name: str) -> str:
    """A name or pattern without its spelling: `File-Save`, `file.save` and `file/save` are one.

    >>> loosely("Code/Execute::Python")
    'code_execute_python'
    """
    return _SEPARATORS.sub("_", name.casefold())


def hits(pattern: str, name: str) -> bool:
    """Whether a denial means this name: as it is written, or in any other spelling. Case, separators, capitals in the
    middle (`gitReset`), letters that look like others and what cannot be seen make no difference; a name too long to be
    compared is meant by every denial.

    >>> hits("git_reset", "GitReset"), hits("git_*", "git\u200b-reset"), hits("git_*", "github_search")
    (True, True, False)
    """
    if matches(pattern, name):
        return True
    return len(name) > _LONGEST or _in_another_spelling(pattern, name)


@lru_cache(4096)
def _in_another_spelling(pattern: str, name: str) -> bool:
    if not is_pattern(pattern):
        bare = _bare(pattern)
        return bool(bare) and bare == _bare(name)
    wanted, given = _in_words(pattern), _in_words(name)
    if not wanted.strip("*_"):
        return False  # signs alone say nothing in another spelling
    if matches(wanted, given) or ("_" not in given and matches(wanted.replace("_", ""), given)):
        return True
    return _may_play(wanted, given, name) and _fits(wanted, _marked(name))


def _may_play(wanted: str, given: str, name: str) -> bool:
    """A quick look before a name is compared letter by letter: without its gaps it is what the pattern says."""
    return any(sign in name for sign in _STROKES) or matches(_closed(wanted), _closed(given))


def _closed(words: str) -> str:
    return words.replace("_", "").replace("rn", "m").replace("vv", "w")


def _fits(wanted: str, marked: str) -> bool:
    """Whether a name is meant that plays with its letters: a capital in it may begin a word or not (`fiIe`), a stroke
    may be a letter or a separator (`g|t`), and two letters may be drawn like one (`rn`)."""
    first, *others = _pieces(wanted)
    begin = first.match(marked)
    if begin is None or not others:
        return begin is not None and begin.end() == len(marked)
    at = begin.end()
    for piece in others[:-1]:
        found = piece.search(marked, at)
        if found is None:
            return False
        at = found.end()
    return any(others[-1].fullmatch(marked, start) for start in range(at, len(marked) + 1))


@lru_cache(256)
def _pieces(wanted: str) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(re.sub(_LETTER, _ways_to_write, piece)) for piece in wanted.split("*"))


def _ways_to_write(found: re.Match[str]) -> str:
    letter = found[0]
    if letter == "_":
        return "[_\0\1]+"
    return f"\0?{_DRAWN.get(letter) or re.escape(letter)}"


def twins(names: Iterable[str]) -> frozenset[str]:
    """Those of some names that can be taken for another one among them by their letters. Of a plain name and one that
    only looks like it the plain one is meant; other spellings in the same letters (`readFile`) are told apart.

    >>> sorted(twins(["read_file", "readFile", "r\u0435ad_file", "write"])) == ["r\u0435ad_file"]
    True
    """
    found: dict[str, list[str]] = {}
    given = list(names)
    if all(name.isascii() for name in given):
        return frozenset()
    for name in given:
        found.setdefault(_bare(name), []).append(name)
    alike = (some for bare, some in found.items() if bare and len(set(map(loosely, some))) > 1)
    return frozenset(name for some in alike for name in some if not name.isascii())


@lru_cache(4096)
def _bare(name: str) -> str:
    from rightcall.base.letters import skeleton  # late, as below: whoever denies nothing needs none of it

    return skeleton(name)


@lru_cache(4096)
def _in_words(name: str) -> str:
    """A name or pattern as words in one spelling, `_` between them.

    >>> _in_words("Code/executePython"), _in_words("HTTPServer*")
    ('code_execute_python', 'http_server*')
    """
    return _GAPS.sub("_", _marked(name).replace("\0", "_").replace("\1", "_")).strip("_")


def _marked(name: str) -> str:
    """The same with its doubts: a NUL before a capital that may begin a word, and `\\1` for a stroke."""
    from unicodedata import category

    from rightcall.base.letters import as_signs, letters

    text = name if name.isascii() else as_signs(name)
    found: list[str] = []
    for before, one, after in zip(f" {text}", text, f"{text[1:]} ", strict=False):
        if one.isupper() and (before.islower() or before.isdigit() or (before.isupper() and after.islower())):
            found.append("\0")
        kept = one.isalnum() or one == "*" or category(one)[0] == "M"
        found.append(one if kept else "\1" if one in _STROKES else "_")
    return _GAPS.sub("_", _WORDS.sub(lambda word: letters(word[0]), "".join(found))).strip("_")
