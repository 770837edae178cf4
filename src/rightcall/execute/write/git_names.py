"""Names of branches that tools make: each means this branch and nothing else, to git and to whoever reads it.

A name that git also knows in another way (a tag, a branch of a remote, a commit's number) would let a person merge what
nobody has reviewed; so would one that only looks like a protected name.
"""

import os
import re
from collections.abc import Iterable
from typing import Final

from rightcall.base.globs import path_matches, plain_forms
from rightcall.config_hands import WriteSettings
from rightcall.errors import ToolFailure
from rightcall.execute.code.git.pointers import small_file
from rightcall.execute.code.git.run import checked
from rightcall.execute.write.git_objects import Bench
from rightcall.text.alike import has_unseen, skeleton, with_plain_signs
from rightcall.text.escape import escaped

_LONGEST: Final = 200
_SHOWN: Final = 200
_MOST_REFS: Final = 64 << 20
_LARGEST_CONFIG: Final = 1_000_000
_LIKE_A_REF: Final = ("refs/", "heads/", "remotes/", "tags/", "worktrees/", "main-worktree/")
_LIKE_A_COMMIT: Final = re.compile(r"(?:.*-g)?[0-9a-f]{7,64}", re.IGNORECASE)
"""Or the number of one, which git takes at any length, also behind the name of a tag."""
_MAYBE_A_COMMIT: Final = re.compile(r"(?:.*-g)?([0-9a-f]{4,6})", re.IGNORECASE)
_LIKE_A_HEAD: Final = re.compile(r"@|(?:[A-Z_]+_)?HEAD|AUTO_MERGE|BISECT_EXPECTED_REV", re.IGNORECASE)
_USUAL_REMOTES: Final = ("origin", "upstream")
_REMOTE: Final = re.compile(rb'^[ \t]*\[[ \t]*remote[ \t]+"((?:[^"\\\n]|\\.)+)"', re.IGNORECASE | re.MULTILINE)
_RIGHT: Final = "A name such as fix-login would be right"


def check_name(bench: Bench, name: str, argument: str = "name") -> None:
    """Raises ToolFailure for what is no good name of a new branch."""
    shown = escaped(name, _SHOWN)
    if not name or len(name) > _LONGEST:
        raise ToolFailure(f"{argument}: the name of a branch has 1 to {_LONGEST} characters, this one {len(name)}")
    if name.startswith("-") or not _sayable(name):
        raise ToolFailure(f"{argument}: {shown} is no name that a branch can have. {_RIGHT}")
    if has_unseen(name):
        raise ToolFailure(f"{argument}: {name!a} holds a character that cannot be seen. {_RIGHT}")
    if _LIKE_A_HEAD.fullmatch(name) or name.casefold().startswith(_LIKE_A_REF) or _LIKE_A_COMMIT.fullmatch(name):
        raise ToolFailure(f"{argument}: {shown} would be taken for something else than a branch. {_RIGHT}")
    finished = bench.git("check-ref-format", "--branch", name)
    if finished.code != 0 or finished.out.rstrip(b"\n") != name.encode():
        raise ToolFailure(f"{argument}: git does not allow a branch to be called {shown}. {_RIGHT}")


def guard_name(settings: WriteSettings, name: str, argument: str = "branch") -> None:
    """Raises ToolFailure for a branch that no tool creates, commits to, moves or deletes, or one that looks like it."""
    for patterns, why in (
        (settings.frozen, "is frozen: nothing changes it"),
        (settings.protected, "is protected: it changes by a reviewed merge only, code/pull-request asks for one"),
    ):
        for pattern in patterns:
            if path_matches(pattern, name):
                raise ToolFailure(f"{argument}: the branch {escaped(name, _SHOWN)} {why}")
            if _looks_like(name, pattern):
                raise ToolFailure(
                    f"{argument}: the branch {escaped(name, _SHOWN)} looks like {escaped(pattern, _SHOWN)}, which {why}"
                )


def check_only_meaning(bench: Bench, name: str, argument: str = "branch") -> None:
    """Raises ToolFailure where git takes the name of a branch for something else as well, now or after a fetch."""
    first = name.partition("/")[0]
    known = _refs(bench, f"refs/{name}", f"refs/tags/{name}", "refs/remotes")
    for other in (f"refs/{name}", f"refs/tags/{name}", f"refs/remotes/{name}", f"refs/remotes/{name}/HEAD"):
        if other in known:
            raise _ambiguous(argument, name, f"git knows {escaped(other, _SHOWN)} by the same name")
    remotes = {ref.split("/")[2] for ref in known if ref.startswith("refs/remotes/")} | set(_remotes(bench))
    if any(skeleton(first) == skeleton(one) for one in remotes if skeleton(one)) or first in remotes:
        raise _ambiguous(argument, name, f"{escaped(first, _SHOWN)} is, or looks like, the name of a remote")
    number = _MAYBE_A_COMMIT.fullmatch(name)
    if number is not None and checked(bench.git("rev-parse", f"--disambiguate={number[1]}")):
        raise _ambiguous(argument, name, "a commit or file has a number that begins so")


def _refs(bench: Bench, *names: str) -> set[str]:
    """The refs with these names, and below them."""
    listed = checked(bench.git("for-each-ref", "--format=%(refname)", *names, most=_MOST_REFS))
    return {os.fsdecode(line) for line in listed.split(b"\n") if line}


def _remotes(bench: Bench) -> Iterable[str]:
    """Those that are set up, whether or not something was fetched from them."""
    settings = small_file(os.path.join(bench.repository.common_dir, "config"), _LARGEST_CONFIG) or b""
    return (*_USUAL_REMOTES, *(os.fsdecode(found[1]) for found in _REMOTE.finditer(settings)))


def _ambiguous(argument: str, name: str, why: str) -> ToolFailure:
    return ToolFailure(
        f"{argument}: {escaped(name, _SHOWN)} would be taken for something else than this branch: {why}. {_RIGHT}"
    )


def _looks_like(name: str, pattern: str) -> bool:
    """The same rule as for names, on what is left of both when look-alikes count as one."""
    looks = map(_bare, plain_forms(pattern))
    return any(bool(one.strip("*?/")) and path_matches(one, _bare(name)) for one in looks)


def _bare(text: str) -> str:
    """Part by part, the signs of patterns kept."""
    pieces = re.split(r"([*?/])", with_plain_signs(text))
    return "".join(piece if piece in ("*", "?", "/") else skeleton(piece) for piece in pieces)


def _sayable(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return name.isprintable()
