"""Branches: where they are, and moving them, only from where they are expected to be."""

import os
import re
from collections.abc import Sequence
from stat import S_ISREG

from rightcall.errors import ToolFailure
from rightcall.execute.code.git.layout import Layout
from rightcall.execute.code.git.pointers import small_file
from rightcall.execute.code.git.run import checked, failure_of
from rightcall.execute.write.changes import Moved, RefStep
from rightcall.execute.write.git_objects import Bench
from rightcall.text.escape import escaped

HEADS = "refs/heads/"
_SHOWN = 200
_AN_ID = re.compile(rb"(?:[0-9a-f]{40}|[0-9a-f]{64})\n")
_LONGEST_ID = 64
_BRANCH = re.compile(rb"ref:\s*refs/heads/([^\0-\x20\x7f]+)\s*")


def unwritable(layout: Layout) -> str | None:
    """Why the refs of a repository cannot be written, None when they can: git would follow a link in them."""
    if layout.reftable:
        return "The repository keeps its refs as a reftable, which the tools that write cannot change yet"
    if "refs" not in layout.links or "packed-refs" not in layout.links:
        return "The repository's refs are not all plain files and folders: nothing is written to it"
    return None


def current_branch(git_dir: str) -> str | None:
    """The branch that HEAD names."""
    found = _BRANCH.fullmatch(small_file(os.path.join(git_dir, "HEAD")) or b"")
    return os.fsdecode(found[1]) if found else None


def checked_out(common_dir: str) -> dict[str, str]:
    """Every branch that is checked out somewhere, and the git directory of that checkout."""
    found: dict[str, str] = {}
    folder = os.path.join(common_dir, "worktrees")
    try:
        linked = sorted(os.path.join(folder, name) for name in os.listdir(folder))
    except OSError:
        linked = []
    for git_dir in (*linked, common_dir):
        if (branch := current_branch(git_dir)) is not None:
            found[branch] = git_dir
    return found


def tips(bench: Bench, names: Sequence[str]) -> list[str | None]:
    """The commit that each ref is at. Raises ToolFailure for one that only stands for another, or is no commit."""
    loose = [_loose(bench, name) for name in names]
    asked = [name for name, at in zip(names, loose, strict=True) if at is None]
    others = iter(_look_up_refs(bench, asked) if asked else ())
    return [next(others) if at is None else at for at in loose]


def _loose(bench: Bench, name: str) -> str | None:
    """The commit in the file of a ref: what git would find first. None: git has to be asked."""
    if any(part in ("", ".", "..") or "\0" in part for part in name.split("/")):
        return None
    content = small_file(os.path.join(bench.private.path, name), _LONGEST_ID + 1) or b""
    return content[:-1].decode() if _AN_ID.fullmatch(content) else None


def _look_up_refs(bench: Bench, names: Sequence[str]) -> list[str | None]:
    wanted = [os.fsencode(name) for name in names]
    listed = checked(
        bench.git(
            "for-each-ref", "--format=%(objectname) %(objecttype) %(symref)%00%(refname)", *names, most=64 << 20
        )  # it lists also what lies below a name
    )
    found: dict[bytes, str] = {}
    for line in listed.split(b"\n")[:-1]:
        about, _, name = line.partition(b"\0")
        if name not in wanted:
            continue
        oid, kind, stands_for = about.split(b" ", 2)
        if stands_for:
            raise ToolFailure(f"{_short(os.fsdecode(name))} only stands for another branch: tools do not touch it")
        if kind != b"commit":
            raise ToolFailure(f"{_short(os.fsdecode(name))} is at no commit: the repository is damaged")
        found[name] = oid.decode()
    missing = [name for name, as_bytes in zip(names, wanted, strict=True) if as_bytes not in found]
    for name in missing:
        if _is_file(bench, name):
            raise ToolFailure(f"{_short(name)} cannot be read: its ref is damaged, or its commit is not here")
    return [found.get(name) for name in wanted]


def in_the_way(bench: Bench, name: str) -> str | None:
    """See `Writer.in_the_way`."""
    parts = name.split("/")
    above = [HEADS + "/".join(parts[:length]) for length in range(1, len(parts))]
    for pattern in (*above, f"{HEADS}{name}/"):
        first = checked(bench.git("for-each-ref", "--count=1", "--format=%(refname)", pattern)).rstrip(b"\n")
        found = os.fsdecode(first)
        if found and (found == pattern or pattern.endswith("/")):
            return found.removeprefix(HEADS)
    return None


def set_refs(bench: Bench, steps: Sequence[RefStep], by: tuple[str, str], holding: Sequence[int] = ()) -> None:
    """See `Writer.set_refs`."""
    if not steps:
        return
    now = tips(bench, [step.name for step in steps])
    for step, at in zip(steps, now, strict=True):
        if at != step.before:
            raise _moved(step, at)
    told = b"".join(_line(step) for step in steps)
    settings = [f"user.name={by[0]}", f"user.email={by[1]}"]
    finished = bench.git(
        "update-ref", "--no-deref", "-m", "rightcall", "-z", "--stdin", stdin=told, settings=settings, holding=holding,
        unless=unwritable,
    )  # fmt: skip
    if finished.code == 0:
        return
    said = finished.err
    if b"but expected" in said or b"reference already exists" in said or b"unable to resolve reference" in said:
        now = tips(bench, [step.name for step in steps])
        at = next((at for step, at in zip(steps, now, strict=True) if at != step.before), None)
        raise _moved(steps[0], at)
    if b"; cannot create" in said:
        raise ToolFailure(
            f"{_short(steps[0].name)} cannot be made: git keeps branches as files, and a branch whose name is a part "
            "of it, or begins with it, is in the way"
        )
    if b".lock'" in said and b"File exists" in said:
        raise ToolFailure(
            f"{_short(steps[0].name)} is being changed by another git right now; if none is running, one that was "
            "killed has left a .lock file beside the ref in the git directory, which has to be removed"
        )
    raise failure_of(finished)


def _line(step: RefStep) -> bytes:
    """One command of `update-ref --stdin -z`; an old value of zeros means that there must be no such ref."""
    length = len(step.before or step.after or "")
    before = (step.before or "0" * length).encode()
    name = os.fsencode(step.name)
    if step.after is None:
        return b"delete %s\0%s\0" % (name, before)
    return b"update %s\0%s\0%s\0" % (name, step.after.encode(), before)


def _moved(step: RefStep, at: str | None) -> Moved:
    now = "is gone" if at is None else f"is at {at[:12]} now"
    was = "there was none" if step.before is None else f"expected at {step.before[:12]}"
    return Moved(f"{_short(step.name)} {now} ({was}): somebody else has changed it; nothing was done")


def _short(name: str) -> str:
    return f"The branch {escaped(name.removeprefix(HEADS), _SHOWN)}"


def _is_file(bench: Bench, name: str) -> bool:
    try:
        return S_ISREG(os.lstat(os.path.join(bench.private.path, name)).st_mode)
    except (OSError, ValueError):
        return False
