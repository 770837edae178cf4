"""Writing into repositories that mean harm: nothing runs, and nothing is written but what the tools are for."""

import os
from contextlib import suppress
from hashlib import sha1
from pathlib import Path
from zlib import compress

import pytest

from rightcall.errors import ToolFailure
from support.desks import Place, delete, everything, insert, modify
from support.hostile_repositories import SECRET, TRAPS, Trap
from support.repositories import Made

pytestmark = pytest.mark.promise("W-02")

PROGRAMS = (
    "filter.x.clean=%c", "filter.x.smudge=%c", "filter.x.required=true", "filter.y.process=%c", "merge.x.driver=%c",
    "diff.x.command=%c", "diff.x.textconv=%c", "diff.external=%c", "core.pager=%c", "core.editor=%c",
    "core.askPass=%c", "core.sshCommand=%c", "core.gitProxy=%c", "credential.helper=!%c", "gpg.program=%c",
    "commit.gpgSign=true", "user.signingKey=x", "log.showSignature=true", "commit.template=%s",
    "core.attributesFile=%s", "core.excludesFile=%s", "trailer.x.command=%c", "gc.auto=1", "maintenance.auto=true",
    "merge.default=x", "merge.verifySignatures=true", "core.logAllRefUpdates=always", "core.autocrlf=true",
    *(f"alias.{name}=!%c" for name in ("update-ref", "hash-object", "read-tree", "write-tree", "merge-tree")),
)  # fmt: skip
POSSIBLE = (
    "alternates-of-a-neighbour", "common-folder-of-the-neighbour", "index-is-a-link-to-a-secret", "replaced-commit",
    "elsewhere-for-a-work-tree", "reflogs-are-the-neighbours", "merge-head-is-a-link-to-a-secret",
    "shallow-is-a-link-to-a-secret", "hostile-commit-graph",
)  # fmt: skip
"""In which one can work all the same; all of them at once."""
REFUSED = (
    "refs-are-the-neighbours", "heads-are-the-neighbours", "heads-are-the-whole-disk", "packed-refs-are-the-neighbours",
    "objects-are-the-neighbours", "head-is-a-link-to-a-secret", "head-that-climbs", "pipes-everywhere",
)  # fmt: skip
OURS = ("root/.git/objects", "root/.git/refs/heads", "root/.git/packed-refs", "root/.git/worktrees", "state")


def worked(it: Trap) -> bool:
    """The whole way, as far as it goes; whether it went to its end."""
    here = Place(it.folder, it.made)
    with suppress(ToolFailure):
        here.branch()
        here.edit(modify("a.py", "2\n"), insert("tests/x.py", "x\n"), delete("b.py"))
        done = here.call("code/commit", message="done")
        writer = here.writer()
        merged = writer.merged(str(done["commit"]), writer.commit_of("HEAD"))
        writer.commit_tree(merged.tree, [writer.commit_of("HEAD")], "merged", ("x", "y"))
        return True
    return False


def unharmed(it: Trap, before: dict[str, object]) -> None:
    assert not it.mark.exists(), it.mark.read_text()
    after = everything(it.folder, without=OURS)
    changed = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    assert changed <= {"root/.git"}  # it may have got another folder


def commit_of(root: Made, tree: bytes) -> str:
    """A commit of a tree that git itself would not make."""
    whole = b"tree %d\0" % len(tree) + tree
    oid = sha1(whole, usedforsecurity=False).hexdigest()
    path = root.git_dir / "objects" / oid[:2] / oid[2:]
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(compress(whole))
    return root.git("commit-tree", "-m", "crafted", oid)


@pytest.fixture
def it(tmp_path: Path) -> Trap:
    return Trap(tmp_path)


def test_no_program_of_a_repository_runs_while_it_is_written_to(it: Trap) -> None:
    it.made.write(".gitattributes", "* filter=x diff=x merge=x ident text eol=crlf\n*.py filter=y\n")
    it.made.commit("attributes")
    for name in ("hooks", "fsmonitor-in-worktree-config", "included-config"):
        TRAPS[name](it)
    it.config(*PROGRAMS)
    it.mark.unlink(missing_ok=True)  # making the traps may have sprung some
    before = everything(it.folder, without=OURS)
    assert worked(it)
    unharmed(it, before)
    assert it.made.git("cat-file", "blob", "fix:a.py") == "2"
    it.made.git("update-ref", "refs/heads/x", "HEAD")
    assert it.mark.exists()  # they do work, for whoever uses git as it is


def test_nothing_of_a_neighbour_is_written_or_taken(it: Trap) -> None:
    for name in POSSIBLE:
        TRAPS[name](it)
    before, victim = everything(it.folder, without=OURS), everything(it.victim.folder)
    assert worked(it)
    unharmed(it, before)
    assert everything(it.victim.folder) == victim
    state = everything(it.folder / "state")
    assert not any(SECRET.encode() in repr(found).encode() for found in state.values())


@pytest.mark.parametrize("name", REFUSED)
def test_a_repository_whose_parts_are_somebody_elses_is_not_written_to(it: Trap, name: str) -> None:
    TRAPS[name](it)
    it.mark.unlink(missing_ok=True)
    victim = everything(it.victim.folder)
    before = everything(it.root) if name != "pipes-everywhere" else {}
    assert not worked(it)
    assert not it.mark.exists()
    assert everything(it.victim.folder) == victim
    assert not before or everything(it.root) == before


def test_a_fan_out_folder_that_is_a_link_gets_no_object(it: Trap) -> None:
    victim = it.victim.git_dir / "objects"
    for fan in (f"{number:02x}" for number in range(256)):
        (victim / fan).mkdir(exist_ok=True)
        if not (it.git_dir / "objects" / fan).exists():
            (it.git_dir / "objects" / fan).symlink_to(victim / fan)
    before = everything(it.victim.folder)
    assert not worked(it)
    assert everything(it.victim.folder) == before
    assert it.made.git("rev-parse", "fix") == it.made.git("rev-parse", "main")


NAMES: tuple[bytes, ...] = (b".git", b"..", b".GIT", b"git~1", b".git\xe2\x80\x8c", b".", b".git ", b".git::$DATA")


def test_no_tree_with_a_name_that_leads_elsewhere_is_checked_out_or_built_on(it: Trap) -> None:
    blob = bytes.fromhex(it.made.git("hash-object", "-w", "--stdin", input=b"#!/bin/sh\n"))
    folder = bytes.fromhex(_stored(it.made, b"100755 hook\0" + blob))
    before = everything(it.folder, without=OURS)
    git = Place(it.folder, it.made).writer()
    for name in NAMES:
        for kind, content in ((b"100755 ", blob), (b"40000 ", folder), (b"120000 ", blob)):
            commit = commit_of(it.made, kind + name + b"\0" + content)
            with pytest.raises(ToolFailure, match="git itself refuses"):
                git.checkout(commit, str(it.folder / "state" / "out"))
        with pytest.raises(ToolFailure, match="git itself refuses"):
            git.tree(commit, {"x.py": (0o644, b"x")})
    unharmed(it, before)
    assert not (it.folder / "state").exists()


def _stored(root: Made, tree: bytes) -> str:
    return root.git("rev-parse", f"{commit_of(root, tree)}^{{tree}}")


def test_a_link_in_a_tree_is_never_written_through(it: Trap) -> None:
    outside = it.folder / "outside"
    outside.mkdir()
    link = it.made.git("hash-object", "-w", "--stdin", input=os.fsencode(outside))
    blob = it.made.git("hash-object", "-w", "--stdin", input=b"harm\n")
    inner = _stored(it.made, b"100644 file\0" + bytes.fromhex(blob))
    crafted = b"120000 a\0" + bytes.fromhex(link) + b"40000 a\0" + bytes.fromhex(inner)
    commit = commit_of(it.made, crafted)
    here = Place(it.folder, it.made)
    here.branch(base=commit)
    with pytest.raises(ToolFailure):
        here.edit(insert("x.py", "x\n"))
    assert not list(outside.iterdir())


def test_a_worktree_that_was_tampered_with_harms_nobody(it: Trap) -> None:
    it.config("filter.x.clean=%c", "filter.x.smudge=%c")
    here = Place(it.folder, it.made)
    here.branch()
    here.edit(modify("a.py", "2\n"))
    (here.tree() / ".git").write_text(f"gitdir: {it.victim.git_dir}\n")
    (here.tree() / ".gitattributes").write_text("* filter=x\n")
    before = everything(it.folder, without=OURS)
    here.edit(modify("b.py", "2\n"))
    here.call("code/commit", message="done")
    unharmed(it, before)
    assert it.made.git("show", "fix:b.py") == "2"
