"""Names of commits. What a name means, only git knows: it is asked, and given names as data, where no option can be.
What a name may be is decided before: nothing of the index, no path that may not be seen, no file that is no ref."""

import os
import re
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from time import time

from msgspec import Struct

from rightcall.base.files.sight import Sight, Unseen
from rightcall.base.text import escaped
from rightcall.errors import ToolFailure
from rightcall.tools.git.repository import Repository
from rightcall.tools.git.run import failure_of, output_of, run_git

# ── dates ──
# Points in time as people and git write them: a closed set, in UTC where no zone is named.
#
# @1700000000    2024-05-01    2024-05-01 13:45    2024-05-01T13:45:10+02:00    now    today    yesterday    noon
# midnight    3 days ago    2 days 3 hours ago    last week    last month    1 year 2 months ago

_DAY = 86_400
_UNITS = {
    "second": 1,
    "sec": 1,
    "minute": 60,
    "min": 60,
    "hour": 3_600,
    "day": _DAY,
    "week": 7 * _DAY,
    "fortnight": 14 * _DAY,
}
_MONTHS = {"month": 1, "year": 12}
_NUMBERS = {
    "a": 1, "an": 1, "last": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7,
    "eight": 8, "nine": 9, "ten": 10,
}  # fmt: skip
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_HOURS = {"midnight": 0, "noon": 12, "tea": 17}
_LONGEST_DATES = 100
_STAMP = re.compile(r"@?(\d{9,11})|@(\d{1,11})")
_ISO = re.compile(
    r"(\d{4})[-./](\d{1,2})[-./](\d{1,2})(?:[T ]\s*(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,]\d{1,9})?)?)?"
    r"\s*(?P<zone>Z|UTC|GMT|[+-]\d{2}:?\d{2}|[+-]\d{2})?",
    re.IGNORECASE,
)
_PART = re.compile(r"(\d{1,6}|[a-z]+)\s+([a-z]+?)s?")


def seconds_of(text: str, now: float, *, argument: str) -> int:
    """Seconds since 1970. Raises ToolFailure that names the argument and shows what would be right.

    >>> seconds_of("1970-01-02", 0, argument="since"), seconds_of("2 hours ago", 10_000, argument="since")
    (86400, 2800)
    """
    found = None
    if len(text) <= _LONGEST_DATES and text.isascii() and text.isprintable() and (plain := " ".join(text.split())):
        with suppress(ValueError, OverflowError):  # the 30th of February, a million years ago
            found = _absolute(plain)
            if found is None:
                found = _relative(" ".join(plain.lower().replace(".", " ").replace("_", " ").split()), now)
    if found is None:
        shown = escaped(text, _LONGEST_DATES) if text.strip() else "a blank text"
        raise ToolFailure(
            f"{argument}: {shown} is not a date. Use 2024-05-01, 2024-05-01T13:45:00Z, "
            "@1700000000, yesterday or 2 weeks ago"
        )
    return found


def _absolute(text: str) -> int | None:
    if stamp := _STAMP.fullmatch(text):
        return int(stamp[1] or stamp[2])
    found = _ISO.fullmatch(text)
    if found is None:
        return None
    year, month, day, hour, minute, second = (int(part or 0) for part in found.groups()[:6])
    at = datetime(year, month, day, hour, minute, min(second, 59), tzinfo=UTC)
    return int(at.timestamp()) - _offset(found["zone"] or "Z")


def _offset(zone: str) -> int:
    if zone[0] not in "+-":
        return 0
    digits = zone[1:].replace(":", "").ljust(4, "0")
    hours, minutes = int(digits[:2]), int(digits[2:])
    if hours > 14 or minutes > 59:
        raise ValueError(zone)
    return (hours * 3_600 + minutes * 60) * (-1 if zone[0] == "-" else 1)


def _relative(text: str, now: float) -> int | None:
    at = datetime.fromtimestamp(now, UTC)
    words = text.split()
    if not words or words == ["ago"]:
        return None
    if text == "now":
        return int(now)
    if text == "today":
        return _hour(at, 0)
    if words[0] == "yesterday" and len(words) <= 2:
        day_before = at - timedelta(days=1)
        if len(words) == 1:
            return int(day_before.timestamp())
        return _hour(day_before, _HOURS[words[1]]) if words[1] in _HOURS else None
    if text in _HOURS:
        noon = _hour(at, _HOURS[text])
        return noon if noon <= now else noon - _DAY
    if words[-1] in _WEEKDAYS and (len(words) == 1 or words[:-1] == ["last"]):
        back = (at.weekday() - _WEEKDAYS.index(words[-1])) % 7 or 7
        return int(now) - back * _DAY
    return _ago(text, at)


def _ago(text: str, at: datetime) -> int | None:
    """`2 days 3 hours ago`, `last month`, `a week ago`; the `ago` may be left out, as git allows."""
    rest = text.removesuffix(" ago").replace(",", " ").replace(" and ", " ")
    for part in re.split(r"(?<=[a-z])\s+(?=\d|[a-z]+\s+[a-z]+)", rest) if rest else ():
        found = _PART.fullmatch(part.strip())
        if found is None:
            return None
        number = int(found[1]) if found[1].isdigit() else _NUMBERS.get(found[1])
        if number is None:
            return None
        if found[2] in _MONTHS:
            at = _months_before(at, number * _MONTHS[found[2]])
        elif found[2] in _UNITS:
            at -= timedelta(seconds=number * _UNITS[found[2]])
        else:
            return None
    return int(at.timestamp())


def _hour(at: datetime, hour: int) -> int:
    return int(at.replace(hour=hour, minute=0, second=0, microsecond=0).timestamp())


def _months_before(at: datetime, months: int) -> datetime:
    """The same day of an earlier month, or its last."""
    year, month = divmod(at.year * 12 + at.month - 1 - months, 12)
    for day in range(at.day, 0, -1):
        try:
            return at.replace(year=year, month=month + 1, day=day)
        except ValueError:
            if day <= 28:
                raise
    raise ValueError("no such month")


_SHOWN = 200
_SECONDS = 10.0
_COMMIT = re.compile(rb"([0-9a-f]{40}|[0-9a-f]{64}) commit")
_SHORT_ID = re.compile(r"[0-9a-fA-F]{4,63}")
_EMPTY_TREE = {
    40: "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    64: "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
}
_NO_REF = re.compile(r"(?:logs|objects|reftable)/|(?:config|packed-refs)(?![\w./-])")
"""Files of a git directory that git would take for refs of that name."""
_TEXT = re.compile(r"\^\{\s*[/!]")
"""`HEAD^{/word}`: whichever commit says so first."""
_AT = re.compile(r"@\{([^{}]*)\}")
_COUNTED = re.compile(r"-?\d{1,8}|u|upstream|push", re.IGNORECASE)
"""What stands in `@{}` and means no time."""


class Span(Struct, frozen=True):
    """What is compared: a commit (or the empty tree) with another, or with the working tree. `path`, as the repository
    names it, when only that is meant."""

    base: str
    compare: str | None
    path: str | None = None


def commit_of(repository: Repository, ref: str) -> str:
    """The full id of the commit that a name means. Raises ToolFailure when there is none."""
    return commits_of(repository, (ref,))[0]


def commits_of(repository: Repository, refs: Sequence[str]) -> list[str]:
    """The same for several names, in one go."""
    found = _looked_up(repository, [_question(ref) for ref in refs])
    return [_commit(repository, ref, answer) for ref, answer in zip(refs, found, strict=True)]


def split_path(sight: Sight, ref: str, repository: Repository | None = None) -> tuple[str, str | None]:
    """`rev:path` in its two parts, the path as the repository names it; None where there is none. Raises Unseen for a
    path that may not be seen."""
    at = _outside_braces(ref, ":")
    if at is None or ref.startswith(":"):
        return ref, None
    rev, path = ref[:at] or "HEAD", ref[at + 1 :]
    if not path:
        return rev, None
    parts = path.removeprefix("./").rstrip("/").split("/")
    if any(part in ("", ".", "..") for part in parts) or "\0" in path:
        raise Unseen(ref)
    inside = "/".join(parts)
    if not sight.sees(repository.outside(inside) if repository is not None else inside):
        raise Unseen(ref)
    return rev, inside


def span(sight: Sight, repository: Repository, base: str, compare: str | None) -> Span:
    """What `base` and `compare` mean together; `base` alone may be `a..b`, `a...b` (since their common ancestor) or
    `c^!` (what one commit changed). Raises ToolFailure."""
    both = _range(base)
    if both is None:
        return _two(sight, repository, base, compare)
    if compare is not None:
        raise ToolFailure(f'base names both sides already, with "{escaped(base, _SHOWN)}": leave compare out')
    left, dots, right = both
    if dots == "^!":
        return _one_commit(sight, repository, left)
    if not left and not right:
        raise _no_commit(base)
    found = _two(sight, repository, left or "HEAD", right or "HEAD")
    if dots == "..":
        return found
    assert found.compare is not None
    return Span(_common(repository, found.base, found.compare), found.compare, found.path)


def _two(sight: Sight, repository: Repository, base: str, compare: str | None) -> Span:
    sides = [
        split_path(sight, side.removesuffix("^{tree}"), repository) for side in (base, compare) if side is not None
    ]
    paths = {path for _, path in sides}
    if len(paths) > 1:
        raise ToolFailure("base and compare name different paths: name the commits, and the path in paths")
    path = paths.pop()
    commits = commits_of(repository, [rev for rev, _ in sides])
    if path is not None:
        must_exist(repository, commits, path, base)
    return Span(commits[0], commits[1] if compare is not None else None, path)


def _one_commit(sight: Sight, repository: Repository, written: str) -> Span:
    rev, path = split_path(sight, written, repository)
    commit = commit_of(repository, rev)
    parent = _looked_up(repository, [f"{commit}^1^{{commit}}"])[0]
    found = _COMMIT.fullmatch(parent)
    return Span(found[1].decode() if found else _EMPTY_TREE[len(commit)], commit, path)


def _common(repository: Repository, one: str, other: str) -> str:
    finished = run_git(repository, ["merge-base", one, other], seconds=_SECONDS, most=1_000)
    if finished.code == 1:
        raise ToolFailure("The two commits have no common ancestor: compare them with two dots, a..b")
    return output_of(finished).split()[0].decode()


def must_exist(repository: Repository, commits: Sequence[str], path: str, written: str) -> None:
    """In one of the commits at least: a file may be new, or gone."""
    names = [f"{commit}:{path}" for commit in commits]
    if "\n" in path or "\r" in path:  # they would end the line of a question
        asked = (run_git(repository, ["cat-file", "-e", name], seconds=_SECONDS, most=1_000) for name in names)
        found = any(finished.code == 0 for finished in asked)
    else:
        answers = _looked_up(repository, names)
        found = any(re.fullmatch(rb"[0-9a-f]+ (blob|tree|commit)", answer) for answer in answers)
    if not found:
        raise Unseen(written)


def _question(ref: str) -> str:
    """A name as git is asked for it."""
    if not ref.strip() or len(ref) > 2_000 or ref.startswith("-") or not _is_plain(ref):
        raise _no_commit(ref)
    if ref.startswith(":/") or _TEXT.search(ref):
        raise ToolFailure(
            f"No such commit: {escaped(ref, _SHOWN)}. The text of a message names none: code/log with grep finds it"
        )
    if ref.startswith(":"):
        raise ToolFailure(f"{escaped(ref, _SHOWN)} is not a commit: name a commit, not staged changes")
    ref = _AT.sub(_at_a_time, ref)
    if _NO_REF.match(ref):
        ref = f"heads/{ref}"
    return f"{ref}^{{commit}}"


def _at_a_time(found: re.Match[str]) -> str:
    """`main@{yesterday}`: git takes every word that it does not know for now."""
    if _COUNTED.fullmatch(found[1]):
        return found[0]
    try:
        at = seconds_of(found[1], time(), argument=escaped(found[0], _SHOWN))
        return datetime.fromtimestamp(at, UTC).strftime("@{%Y-%m-%d %H:%M:%S +0000}")
    except (ValueError, OverflowError, OSError):
        raise _no_commit(found[0]) from None


def _looked_up(repository: Repository, names: Sequence[str]) -> list[bytes]:
    """What each name is, a line each: `<id> <kind>`, or something else."""
    try:
        asked = "".join(f"{name}\n" for name in names).encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise _no_commit(names[0]) from None
    finished = run_git(
        repository, ["cat-file", "--batch-check=%(objectname) %(objecttype)"],
        seconds=_SECONDS, most=len(asked) + 200 * len(names), stdin=asked,
    )  # fmt: skip
    lines = finished.out.split(b"\n")
    if finished.late or len(lines) != len(names) + 1:
        raise failure_of(finished)
    return lines[:-1]


def _commit(repository: Repository, ref: str, answer: bytes) -> str:
    if found := _COMMIT.fullmatch(answer):
        return found[1].decode()
    if _SHORT_ID.fullmatch(ref) and _looked_up(repository, [ref])[0].endswith(b" ambiguous"):
        raise ToolFailure(f"More than one commit begins with {escaped(ref, _SHOWN)}: write more digits")
    if os.path.lexists(os.path.join(repository.common_dir, "objects", "info", "alternates")):
        raise ToolFailure(
            f"No such commit: {escaped(ref, _SHOWN)}. This repository borrows objects from another one, which is not "
            "read; `git repack -a -d` copies them"
        )
    any_commit = run_git(repository, ["rev-list", "--max-count=1", "--all"], seconds=_SECONDS, most=1_000)
    if any_commit.code == 0 and not any_commit.out:
        raise ToolFailure("The repository has no commits yet")
    raise _no_commit(ref)


def _no_commit(ref: str) -> ToolFailure:
    return ToolFailure(
        f"No such commit: {escaped(ref, _SHOWN)}. A branch, a tag, a commit id, HEAD or HEAD~2 would be right"
    )


def _range(base: str) -> tuple[str, str, str] | None:
    """The two sides of a range and what stands between them."""
    for end in ("^!", "^-"):
        if base.endswith(end) and len(base) > 2:
            return base[:-2], "^!", ""
    at = _outside_braces(base, "..")
    if at is None:
        return None
    dots = "..." if base.startswith("...", at) else ".."
    left, right = base[:at], base[at + len(dots) :]
    if _outside_braces(left, ":") is not None and _outside_braces(right, ":") is None:
        return None  # two dots in the name of a file
    return left, dots, right


def _outside_braces(text: str, mark: str) -> int | None:
    depth = 0
    for at, character in enumerate(text):
        if character == "{":
            depth += 1
        elif character == "}" and depth:
            depth -= 1
        elif not depth and text.startswith(mark, at):
            return at
    return None


def _is_plain(text: str) -> bool:
    return not any(character < " " or character == "\x7f" for character in text)
