"""Names of tools in a policy: a name, or a name in which `*` stands for any characters, none and `/` among them.

Nothing else has a meaning in a pattern: `[`, `?` and `.` are themselves.
"""

import re
from collections.abc import Iterable
from functools import lru_cache

_SEPARATORS = re.compile(r"[/._:\s-]+")
_WORDS = re.compile(r"[^_*\0\1]+")
_GAPS = re.compile(r"_+")
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
