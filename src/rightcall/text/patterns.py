"""Names of tools in a policy: a name, or a name in which `*` stands for any characters, none and `/` among them.

Nothing else has a meaning in a pattern: `[`, `?` and `.` are themselves.
"""

import re

_SEPARATORS = re.compile(r"[/._:\s-]+")


def is_pattern(name: str) -> bool:
    return "*" in name


def matches(pattern: str, name: str) -> bool:
    """Whether a name is, letter by letter, what the pattern says. Takes time in the length of both, whatever they are.

    >>> matches("code/*", "code/execute/python"), matches("code/*", "Code/read"), matches("a[b]", "a[b]")
    (True, False, True)
    """
    first, *others = pattern.split("*")
    if not others:
        return pattern == name
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
    """Whether a denial means this name: as it is written, or in any other spelling."""
    return matches(pattern, name) or matches(loosely(pattern), loosely(name))
