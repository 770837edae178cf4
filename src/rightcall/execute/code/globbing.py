"""Globs that a model writes: `*`, `?`, `[a-z]`, `[!a-z]`, `{a,b}`, `**`, and `\\` before a character that is meant
itself. Case counts. Whatever was written, a path is matched in time linear in its length: the patterns become one
expression of an engine that never goes back (re2)."""

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from rightcall.errors import ToolFailure
from rightcall.fs.globs_parsing import ANY, STAR, GlobFault, Token, parsed
from rightcall.text.escape import escaped

_MOST_PATTERNS = 100
_MOST_TOKENS = 20_000
"""Of all the alternatives together."""
_NOT_SLASH = "[^/]"
_FOLDERS = f"(?:{_NOT_SLASH}+/)*"
_DEEP: list[Token] = [STAR, STAR]

Component = list[Token]


class Globs:
    """Compiled patterns. Called with a path (true names, `/` between them) it says whether one of them matches."""

    __slots__ = ("_ends", "_match", "_prefixes", "_suffixes")

    def __init__(self, alternatives: Sequence[list[Component]]) -> None:
        ends = [_ends(parts) for parts in alternatives]
        self._suffixes = tuple(end for start, end in filter(None, ends) if not start)
        self._ends = [both for both in ends if both is not None and both[0]]
        rest = [parts for parts, both in zip(alternatives, ends, strict=True) if both is None]
        self._match = _engine("|".join(_expression(parts) for parts in rest)) if rest else None
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
            if name.endswith(suffixes) or (ends and _between(ends, name)) or (match is not None and match(top + name))
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
            raise ToolFailure(f'{argument} "{escaped(pattern, 200)}": {escaped(str(fault))}') from None
    try:
        return Globs(alternatives)
    except GlobFault as fault:
        raise ToolFailure(f"{argument}: {fault}") from None


def _components(tokens: list[Token], anywhere: bool) -> list[Component]:
    """The parts between slashes; `.` is nothing, `..` leads out."""
    parts: list[Component] = [[]]
    for token in tokens:
        if token == "/":
            parts.append([])
        else:
            parts[-1].append(token)
    if len(parts) > 1 and not parts[0] and not anywhere:
        raise GlobFault("it must be relative, such as src/**/*.py")
    if ["."] * 2 in parts:
        raise GlobFault('it must not hold ".."')
    below = len(parts) > 1 and not parts[-1]
    tied = len(parts) > 1 + below
    found = [_DEEP if _deep(part) else part for part in parts if part and part != ["."]]
    if not found:
        raise GlobFault("it is empty; ** stands for everything")
    if anywhere and not tied:
        found = [_DEEP, *found]
    if below:
        found = [*found, _DEEP]
    return [part for at, part in enumerate(found) if part is not _DEEP or at == 0 or found[at - 1] is not _DEEP]


def _deep(part: Component) -> bool:
    return len(part) > 1 and all(token is STAR for token in part)


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


def _expression(parts: list[Component]) -> str:
    found = "".join(
        (_FOLDERS if part is _DEEP else "".join(_written(token) for token in part) + "/") for part in parts[:-1]
    )
    last = parts[-1]
    return found + ("(?s:.+)" if last is _DEEP else "".join(_written(token) for token in last))


def _written(token: Token) -> str:
    if token is STAR:
        return f"{_NOT_SLASH}*"
    if token is ANY:
        return _NOT_SLASH
    return token if len(token) > 1 else f"\\x{{{ord(token):x}}}"


def _engine(expression: str) -> Callable[[str], bool]:
    re2: Any = import_module("re2")  # late: only who matches needs it; and it tells no types

    options: Any = re2.Options()
    options.log_errors = False
    options.max_mem = 64 << 20
    one: Any = re2.Set.FullMatchSet(options)  # half the cost of a compiled pattern, which makes a match object
    try:
        one.Add(expression)
        one.Compile()
    except re2.error as fault:
        raise GlobFault("it is too much at once; use fewer or shorter alternatives") from fault

    def match(path: str) -> bool:  # what is no text stands as a question mark, here and in the pattern
        return one.Match(path.encode(errors="replace")) is not None

    return match
