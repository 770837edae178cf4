"""What a pattern for paths asks for: `.en?`, `**/*.pem` and `private/**` mean protected files, `**/*.py` does not.

A pattern is refused by the examples that it gives: each wildcard is filled, and where a component fits a protected name
and none of the ordinary ones, with that name. A broad pattern (`*`, `**/*.json`, `src/**`) fits ordinary names as well
and passes, whatever else it may match: what it finds there nobody can say from the pattern alone.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import islice, product

from rightcall.base.globs import EXTENDED, GlobFault, folded, path_matches, plain_forms
from rightcall.fs.refused import SECRET_FILES, SECRET_FOLDERS
from rightcall.fs.rules import UNJUDGED, PathRules, path_rules

_OWN = ("rightcall.toml", ".rightcall")
_LONGEST = 4096
_MOST_PIECES = 200
_MOST_EXAMPLES = 64
_APART = re.compile(r"[\s,]+(?![^{}]*\})")
"""Between several patterns in one text, as some search tools take them."""
_WILD = re.compile(r"[*?]+")
_ANYTHING = re.compile(r"\?*\*[*?]*|\?+")
_FILLED = "0zq"
"""Stands for whatever a wildcard may match; no policy names it."""
_ENDINGS = (_FILLED, "txt", "json", "yaml", "yml", "toml")
_ORDINARY = (
    "main.py", "index.ts", "index.js", "app.tsx", "main.go", "main.rs", "main.c", "main.h", "main.kt", "main.java",
    "readme.md", "notes.txt", "package.json", "config.yaml", "config.yml", "pyproject.toml", "makefile", "dockerfile",
    "style.css", "index.html", "data.csv", "test_main.py", "main_test.go", "keyboard.ts", "image.png", "schema.sql",
    "pom.xml", "cargo.lock", "src", "docs", "tests", "lib", "app", "packages", "public", "scripts", "build",
    ".gitignore", ".github",
)  # fmt: skip
"""Names that patterns are written for; one that fits any of these says nothing of a protected name."""


def glob_rule(
    pattern: str, deny: tuple[str, ...], allow: tuple[str, ...], dotfiles: tuple[str, ...], *,
    root: str = "", starts: Iterable[str] = (".",),
) -> str | None:  # fmt: skip
    """The rule that refuses a pattern, None when it may be searched for. `starts` are the folders, as seen from the
    root, from which it may count.

    >>> [glob_rule(one, ("private/**",), (), ()) for one in (".en?", "priv*/*.md", "**/*.py", "*")]
    ['path:secret', 'path:deny', None, None]
    """
    pieces = dict.fromkeys((pattern, *_APART.split(pattern, _MOST_PIECES)))
    if len(pattern) > _LONGEST or len(pieces) > _MOST_PIECES or EXTENDED.search(pattern):
        return UNJUDGED
    judge = _judge(deny, allow, dotfiles)
    for piece in pieces:
        if not piece or piece.startswith("!"):  # what is left out is not read
            continue
        try:
            forms = plain_forms(folded(piece).removeprefix(f"{folded(root).rstrip('/')}/" if root else ""))
        except GlobFault:
            return UNJUDGED
        for form in forms:
            rule = judge.rule(form, starts)
            if rule is not None:
                return rule
    return None


@lru_cache(64)
def _judge(deny: tuple[str, ...], allow: tuple[str, ...], dotfiles: tuple[str, ...]) -> "_Judge":
    return _Judge(path_rules(deny, allow, dotfiles), deny)


class _Judge:
    def __init__(self, rules: PathRules, deny: tuple[str, ...]) -> None:
        self._rules = rules
        denied = [_parts(form) for pattern in deny for form in _forms(folded(pattern))]
        self._denied = [[_WILD.sub(_FILLED, part) for part in parts if part != "**"] for parts in denied]
        names = (*_secrets(), *_OWN, *(name for parts in self._denied for name in parts))
        self._protected = tuple(dict.fromkeys(name for name in names if not _ANYTHING.fullmatch(name)))
        self._ordinary = tuple(
            name for name in _ORDINARY if not self._refuses(name) and not self._refuses(f"{name}/{_FILLED}")
        )

    def rule(self, form: str, starts: Iterable[str]) -> str | None:
        parts = _parts(form)
        if len(parts) == 1:
            parts = ["**", *parts]
        for chosen in islice(product(*self._choices(parts)), _MOST_EXAMPLES):
            example = "/".join(part for part in chosen if part)
            for start in starts:
                whole = example if start == "." else f"{start.rstrip('/')}/{example}"
                if "\0" not in whole and (rule := self._refuses(whole)) is not None:
                    return rule
        return None

    def _refuses(self, path: str) -> str | None:
        names = path.split("/")
        if names[-1] == _OWN[0] or _OWN[1] in names:
            return "path:deny"
        return self._rules.named(path)

    def _choices(self, parts: list[str]) -> Iterator[tuple[str, ...]]:
        for part, after in zip(parts, (*parts[1:], ""), strict=True):
            if part == "**":
                yield ("", *self._above(after)) if after else (_FILLED,)
            elif not _WILD.search(part):
                yield (part,)
            else:
                yield (_WILD.sub(_FILLED, part), *self._meant(part))

    def _above(self, name: str) -> tuple[str, ...]:
        """The folders in which something denied is called so."""
        found = ("/".join(parts[: parts.index(name)]) for parts in self._denied if name in parts[1:])
        return tuple(dict.fromkeys(found))[:4]

    def _meant(self, part: str) -> tuple[str, ...]:
        if _ANYTHING.fullmatch(part) or any(path_matches(part, name) for name in self._ordinary):
            return ()
        return tuple(name for name in self._protected if path_matches(part, name))[:8]


def _secrets() -> Iterator[str]:
    yield from SECRET_FOLDERS
    for name in SECRET_FILES:
        if name.endswith(".*"):
            yield from (name[:-1] + ending for ending in _ENDINGS)
        else:
            yield from (name.replace("*", ""), name.replace("*", _FILLED))
    yield from (".env.local", ".envrc", "id_ed25519_sk")


def _forms(pattern: str) -> list[str]:
    try:
        return plain_forms(pattern)
    except GlobFault:  # the policy was checked, so this is one that only looks strange when folded
        return []


def _parts(form: str) -> list[str]:
    found: list[str] = []
    for part in form.split("/"):
        if part == ".." and found:
            found.pop()
        elif part not in ("", ".", ".."):
            found.append(part)
    return found
