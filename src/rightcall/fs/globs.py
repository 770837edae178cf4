"""Patterns for paths: `*` and `?` stay within one component, `**` spans any number of them. Linear enough: a pattern
of p components against a path of n costs p times n steps, and the text within a component is matched without
backtracking into others."""

import re


def path_matches(pattern: str, path: str) -> bool:
    """Whether a path below the root matches. Both are case-folded; a pattern that names a folder matches all below it.

    >>> path_matches("private/**", "private/a/b.txt"), path_matches("*.pem", "certs/site.pem")
    (True, False)
    >>> path_matches("**/*.pem", "certs/site.pem"), path_matches("private", "private/a/b.txt")
    (True, True)
    """
    parts = [part for part in folded(path).split("/") if part]
    wanted = [part for part in folded(pattern).split("/") if part]
    reached = {0}  # how many components of the pattern are used up, every possibility at once
    for done, part in enumerate(parts):
        reached = _step(wanted, reached, part)
        if not reached:
            return False
        if _finished(wanted, reached) and done + 1 < len(parts) and wanted[-1] != "**":
            return True  # the pattern named a folder above
    return _finished(wanted, reached)


def _step(wanted: list[str], reached: set[int], part: str) -> set[int]:
    after: set[int] = set()
    for at in _through_stars(wanted, reached):
        if at < len(wanted):
            if wanted[at] == "**":
                after.add(at)
            elif component_matches(wanted[at], part):
                after.add(at + 1)
    return after


def _through_stars(wanted: list[str], reached: set[int]) -> set[int]:
    """`**` may also stand for nothing."""
    found = set(reached)
    for start in reached:
        at = start
        while at < len(wanted) and wanted[at] == "**":
            at += 1
            found.add(at)
    return found


def _finished(wanted: list[str], reached: set[int]) -> bool:
    return len(wanted) in _through_stars(wanted, reached)


def component_matches(pattern: str, name: str) -> bool:
    """One component against a pattern with `*` and `?`; the greedy way, which never goes back further than one star.

    >>> component_matches("*_secret.json", "my_secret.json"), component_matches(".env*", "env")
    (True, False)
    """
    at = star = mark = 0
    seen_star = False
    place = 0
    while place < len(name):
        if at < len(pattern) and pattern[at] == "*":
            seen_star, star, mark = True, at, place
            at += 1
        elif at < len(pattern) and pattern[at] in ("?", name[place]):
            at += 1
            place += 1
        elif seen_star:
            mark += 1
            at, place = star + 1, mark
        else:
            return False
    return all(character == "*" for character in pattern[at:])


def expression(pattern: str) -> str:
    """The same as a regular expression, to be matched in full against a path that ends in `/`; case counts. Whatever
    follows a `*` or `**` is taken where it first fits, and never looked for again: that is enough, and linear.

    >>> import re
    >>> bool(re.fullmatch(expression("private/**"), "private/a/b.txt/"))
    True
    """
    parts = [part for part in pattern.split("/") if part]
    if not parts:
        return ""  # the root itself, and nothing below it
    found = run = ""
    spanning = False
    for part in (*parts, "**"):
        if part != "**":
            run += _component(part)
            continue
        if run:
            found += f"(?>{_ANY}?{run})" if spanning else run
        run, spanning = "", True
    return found + _ANY


def folded(text: str) -> str:
    """Without the differences that some file systems do not make: case, and how an accent is put together."""
    if text.isascii():
        return text.lower()
    from unicodedata import normalize  # hardly ever needed

    return normalize("NFC", normalize("NFD", text).casefold())


_ANY = "(?:[^/]+/)*"


def _component(part: str) -> str:
    first, *others = [
        "".join("[^/]" if one == "?" else re.escape(one) for one in piece) for piece in re.split(r"\*+", part)
    ]
    if not others:
        return first + "/"
    return first + "".join(f"(?>[^/]*?{piece})" for piece in others[:-1]) + f"[^/]*{others[-1]}/"
