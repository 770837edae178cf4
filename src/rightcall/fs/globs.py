"""Patterns for paths: `*` and `?` stay within one component, `**` spans any number of them, `{a,b}` is one or the other
and `[a-z]` one character of several. Each becomes one expression that never goes back: whatever follows a star is taken
where it first fits, and never looked for again."""

import re
from collections.abc import Iterable
from functools import lru_cache

from rightcall.fs.globs_parsing import ANY, STAR, GlobFault, Token, parsed
from rightcall.parse.late import Late

__all__ = [
    "EXTENDED",
    "GlobFault",
    "check_pattern",
    "expression",
    "first_names",
    "folded",
    "path_matches",
    "plain_forms",
    "quoted",
]

_PARSED = re.compile(r"[\[\]{}\\]")
"""What needs more than a look at each character."""
_SPECIAL = re.compile(r"[][{}*?\\]")
EXTENDED = Late(r"[@!+]\([^/]*\)|[*?]\([^/]*\|[^/]*\)")
"""`@(a|b)` as some shells and search tools know it, and nothing here does."""
_OF_A_SHELL = (
    (EXTENDED, "`@(a|b)` has no meaning here; write `{a,b}`"),
    (Late(r"\{\s|\{[^{}]*(?:,\s|\s,|\s\})"), "a blank in braces is part of a name; write `{a,b}`"),
)
"""Spellings that are names here and patterns elsewhere: whoever writes one in a policy means the pattern."""
_ANY_FOLDERS = "(?:[^/]+/)*"
_DEEP: list[Token] = [STAR, STAR]
_CODE = Late(r"\\x\{([0-9a-f]+)\}")
_LONGEST_NAME = 255

Component = list[Token]


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
    made = dict.fromkeys(_written(components) for components in _alternatives(pattern))
    return "|".join(made) if len(made) == 1 else f"(?:{'|'.join(made)})"


def check_pattern(pattern: str) -> None:
    """Raises GlobFault for a pattern that no path below a root can match, in one of its alternatives at least, or that
    means something else than in a shell."""
    for spelling, why in _OF_A_SHELL:
        if spelling.search(pattern):
            raise GlobFault(why)
    for tokens in _tokens(pattern):
        components = _components(tokens)
        if not components or tokens[0] == "/" or any(part in (["."], [".", "."]) for part in components):
            raise GlobFault("a path counts from the root, with `/`")
        if any(sum(token is not STAR for token in part) > _LONGEST_NAME for part in components):
            raise GlobFault(f"no name has more than {_LONGEST_NAME} characters")


def quoted(path: str) -> str:
    """The pattern that means a path and nothing else.

    >>> quoted("a[1]/b.txt"), path_matches(quoted("a[1]/b.txt"), "a[1]/b.txt")
    ('a\\\\[1\\\\]/b.txt', True)
    """
    return _SPECIAL.sub(lambda found: f"\\{found[0]}", path)


def plain_forms(pattern: str) -> list[str]:
    """A pattern as several with `*` and `?` alone, which match no less.

    >>> plain_forms("release/{1,2}.[0-9]*")
    ['release/1.?*', 'release/2.?*']
    """
    signs = {STAR: "*", ANY: "?"}
    return ["".join(signs.get(one) or (one if len(one) == 1 else "?") for one in tokens) for tokens in _tokens(pattern)]


def first_names(patterns: Iterable[str]) -> frozenset[str] | None:
    """The folded first components of patterns, None when one of them can begin with more than one."""
    tops = [next((part for part in folded(pattern).split("/") if part), "") for pattern in patterns]
    return None if any(not top or _SPECIAL.search(top) for top in tops) else frozenset(tops)


def folded(text: str) -> str:
    """Without the differences that some file systems do not make: case, and how an accent is put together."""
    if text.isascii():
        return text.lower()
    from unicodedata import normalize  # hardly ever needed

    return normalize("NFC", normalize("NFD", text).casefold())


@lru_cache(256)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(expression(folded(pattern)))


def _alternatives(pattern: str) -> list[list[Component]]:
    return [_components(tokens) for tokens in _tokens(pattern)]


def _tokens(pattern: str) -> list[list[Token]]:
    if _PARSED.search(pattern):
        return parsed(pattern)
    return [[STAR if one == "*" else ANY if one == "?" else one for one in pattern]]


def _components(tokens: list[Token]) -> list[Component]:
    parts: list[Component] = [[]]
    for token in tokens:
        if token == "/":
            parts.append([])
        else:
            parts[-1].append(token)
    return [part for part in parts if part]


def _written(components: list[Component]) -> str:
    if not components:
        return ""  # the root itself, and nothing below it
    found = run = ""
    spanning = False
    for part in (*components, _DEEP):
        if part != _DEEP:
            run += _component(part)
            continue
        if run:
            found += f"(?>{_ANY_FOLDERS}?{run})" if spanning else run
        run, spanning = "", True
    return found + _ANY_FOLDERS


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
    if len(token) > 1:  # a class, as another engine writes it
        return _CODE.sub(lambda found: f"\\U{int(found[1], 16):08x}", token)
    return re.escape(token)
