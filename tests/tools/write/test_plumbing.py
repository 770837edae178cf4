"""Commits, merges and refs: made in the repository's own store, and moved only from where they are expected."""

import os
from pathlib import Path

import pytest

from rightcall.base.files.sight import Sight
from rightcall.errors import ToolFailure
from rightcall.policy.settings import WriteSettings
from rightcall.tools.write.changes import Moved, RefStep
from rightcall.tools.write.plumbing import Writer, author_of, check_name, guard_name
from rightcall.tools.write.refs import in_the_way
from support.every import every
from support.repositories import Made, made

pytestmark = pytest.mark.promise("W-02")

ADA = author_of("ada")
SCRIPT = 0o100755


@pytest.fixture
def repository(tmp_path: Path) -> Made:
    found = made(tmp_path / "root")
    found.commit("one", a__py="1\n2\n3\n", b__py="b\n")
    return found


def writer(repository: Made) -> Writer:
    return Writer(Sight(repository.folder))


def test_a_commit_holds_the_parents_files_with_the_changes_and_is_whole(repository: Made) -> None:
    git = writer(repository)
    made_of = {"a.py": (0o644, b"x\r\n\0"), "b.py": None, "new/run.sh": (0o755, b"#!/bin/sh\n")}
    commit = git.commit_tree(
        git.tree(git.commit_of("HEAD"), made_of), [git.commit_of("HEAD")], "Say it\n\nwith a body", ADA
    )
    assert repository.git("ls-tree", "-r", "--name-only", commit).split() == ["a.py", "new/run.sh"]
    assert git.blob(commit, "a.py") == (b"x\r\n\0", 0o100644)
    assert git.blob(commit, "new/run.sh") == (b"#!/bin/sh\n", SCRIPT)
    assert git.blob(commit, "new") is None
    assert git.blob(commit, "b.py") is None
    assert repository.git("log", "-1", "--format=%an <%ae>|%B", commit) == (
        "ada <ada@rightcall.invalid>|Say it\n\nwith a body"
    )
    repository.git("fsck", "--strict", "--full")
    assert sorted(git.changed(git.commit_of("HEAD"), commit)) == [("a.py", "M"), ("b.py", "D"), ("new/run.sh", "A")]
    assert repository.git("status", "--porcelain") == ""


def test_refs_move_all_or_none_and_only_from_where_they_are_expected(repository: Made) -> None:
    git = writer(repository)
    old = git.commit_of("HEAD")
    new = git.commit_tree(git.tree(old, {"a.py": (0o644, b"2\n")}), [old], "two", ADA)
    git.set_refs([RefStep("refs/heads/x", None, old), RefStep("refs/heads/y/z", None, new)])
    assert (git.tip("x"), git.tip("y/z")) == (old, new)
    with pytest.raises(Moved, match=r"branch x is at .* \(there was none\)"):
        git.set_refs([RefStep("refs/heads/w", None, new), RefStep("refs/heads/x", None, new)])
    with pytest.raises(Moved, match="expected at"):
        git.set_refs([RefStep("refs/heads/x", new, old)])
    assert git.tip("w") is None
    git.set_refs([RefStep("refs/heads/x", old, new)])
    assert repository.git("rev-parse", "x") == new


def test_a_packed_ref_can_be_moved_and_removed(repository: Made) -> None:
    git = writer(repository)
    old = git.commit_of("HEAD")
    git.set_refs([RefStep("refs/heads/x", None, old), RefStep("refs/heads/y", None, old)])
    repository.git("pack-refs", "--all")
    new = git.commit_tree(git.tree(old, {"a.py": None}), [old], "two", ADA)
    git.set_refs([RefStep("refs/heads/x", old, None), RefStep("refs/heads/y", old, new)])
    assert (git.tip("x"), git.tip("y")) == (None, new)
    assert repository.git("for-each-ref", "--format=%(refname)").split() == ["refs/heads/main", "refs/heads/y"]


def test_a_branch_that_only_stands_for_another_is_not_moved(repository: Made) -> None:
    repository.git("symbolic-ref", "refs/heads/alias", "refs/heads/main")
    git = writer(repository)
    old = git.commit_of("HEAD")
    with pytest.raises(ToolFailure, match="only points to another branch"):
        git.set_refs([RefStep("refs/heads/alias", old, None)])
    assert git.tip("main") == old


@pytest.mark.parametrize("name", ["x/y", "x"])
def test_a_branch_cannot_be_a_file_and_a_folder(repository: Made, name: str) -> None:
    git = writer(repository)
    there = "x" if name == "x/y" else "x/y"
    git.set_refs([RefStep(f"refs/heads/{there}", None, git.commit_of("HEAD"))])
    assert in_the_way(git, name) == there
    with pytest.raises(ToolFailure, match="cannot be made: git keeps branches as files"):
        git.set_refs([RefStep(f"refs/heads/{name}", None, git.commit_of("HEAD"))])


def test_a_ref_that_another_git_has_locked_is_said_to_be(repository: Made) -> None:
    (repository.git_dir / "refs/heads/x.lock").touch()
    git = writer(repository)
    with pytest.raises(ToolFailure, match="is being changed by another git right now"):
        git.set_refs([RefStep("refs/heads/x", None, git.commit_of("HEAD"))])


def test_a_merge_is_kept_apart_until_it_is_committed(repository: Made) -> None:
    git = writer(repository)
    base = git.commit_of("HEAD")
    ours = git.commit_tree(git.tree(base, {"a.py": (0o644, b"0\n1\n2\n3\n")}), [base], "ours", ADA)
    theirs = git.commit_tree(git.tree(base, {"a.py": (0o644, b"1\n2\n3\n4\n")}), [base], "theirs", ADA)
    other = git.commit_tree(git.tree(base, {"a.py": (0o644, b"none\n")}), [base], "other", ADA)
    objects = sum(1 for path in (repository.git_dir / "objects").rglob("*") if path.is_file())
    merged = git.merged(ours, theirs)
    assert merged.conflicts == ()
    assert git.shown(theirs, merged.tree, 10_000).text.endswith("@@ -1,3 +1,4 @@\n+0\n 1\n 2\n 3\n")
    assert git.merged(ours, other).conflicts == ("a.py",)
    assert sum(1 for path in (repository.git_dir / "objects").rglob("*") if path.is_file()) == objects
    commit = git.commit_tree(merged.tree, [ours, theirs], "both", ADA)
    assert repository.git("show", f"{commit}:a.py") == "0\n1\n2\n3\n4"
    assert git.is_ancestor(theirs, commit)
    assert not git.is_ancestor(commit, theirs)


def test_a_checkout_is_byte_for_byte_what_was_committed(repository: Made, tmp_path: Path) -> None:
    repository.write("run", "#!/bin/sh\n").chmod(0o755)
    os.symlink("/etc/passwd", repository.folder / "link")
    repository.commit("two", crlf__txt=b"a\r\nb\n", __gitattributes="* text eol=crlf ident\n*.py filter=x\n")
    repository.git("update-index", "--add", "--cacheinfo", f"160000,{repository.git('rev-parse', 'HEAD')},sub")
    repository.git("commit", "-qm", "three")
    git = writer(repository)
    git.checkout(git.commit_of("HEAD"), str(tmp_path / "out"))
    found = tmp_path / "out"
    for path, (mode, _) in git.paths("HEAD").items():
        if mode == 0o160000:
            assert (found / path).is_dir()
            assert not list((found / path).iterdir())
        elif mode == 0o120000:
            assert os.readlink(found / path) == "/etc/passwd"
        else:
            assert (found / path).read_bytes() == (git.blob("HEAD", path) or (b"?", 0))[0]
            assert bool((found / path).stat().st_mode & 0o100) == (mode == SCRIPT)
    with pytest.raises(ToolFailure, match="something in the folder"):
        git.checkout(git.commit_of("HEAD"), str(found))


BAD_NAMES = (
    "", "-x", "--help", "a b", "HEAD", "@", "@{-1}", "a..b", "x.lock", "refs/heads/a", "a\n", "/a", "a//b", "a~1", "a^",
    "a:b", ".a", "a/", "a" * 201, "\ud800", "b" * 40, "a\u202eb",
    "main\u3164", "fix\ufe0f", "fix\u034f", "fix\u0378", "fix\u2800", "FETCH_HEAD", "orig_head", "Heads/x",
    "deadbee", "v1-2-gdeadbee",
)  # fmt: skip


def test_no_bad_name_becomes_a_branch(repository: Made) -> None:
    git = writer(repository)
    for name in BAD_NAMES:
        with pytest.raises(ToolFailure, match=r"^name: "):
            check_name(git, name)


@every(
    "name",
    [
        "main",
        "MAIN",
        "Main",
        "main/x",
        "release/1.0",
        "Release/1/x",
        "old",
        "m\u0430in",
        "ｍain",
        "rnain",
        "ma-in",
        "re1ease/2",
        "release∕2",
        "оld",
        "mаster/x",
    ],
)
def test_protected_and_frozen_branches_are_known_in_any_case(name: str) -> None:
    with pytest.raises(ToolFailure, match=r"is (protected|frozen)"):
        guard_name(WriteSettings(frozen=("Old",)), name)
    for fine in ("fix-main", "mainly", "release-2", "хорошо", "🦊"):
        guard_name(WriteSettings(frozen=("🐻",)), fine)


def test_what_cannot_be_written_is_refused_with_a_reason(tmp_path: Path) -> None:
    (tmp_path / "none").mkdir()
    with pytest.raises(ToolFailure, match=r"No git repository at the root\. Branches, edits on branches and commits"):
        Writer(Sight(tmp_path / "none"))
    made(tmp_path / "bare", "--bare")
    with pytest.raises(ToolFailure, match="bare git repository"):
        Writer(Sight(tmp_path / "bare"))
    empty = made(tmp_path / "empty")
    git = writer(empty)
    assert git.branch() == "main"
    assert git.tip("main") is None
    with pytest.raises(ToolFailure, match="no commits yet"):
        git.commit_of("HEAD")
    linked = made(tmp_path / "linked")
    linked.commit("one", a__py="1\n")
    (linked.git_dir / "refs/heads/evil").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ToolFailure, match="refs are not all plain files"):
        writer(linked)


def test_a_repository_with_longer_ids_can_be_written_to(tmp_path: Path) -> None:
    repository = made(tmp_path / "root", "--object-format=sha256")
    repository.commit("one", a__py="1\n")
    git = writer(repository)
    commit = git.commit_tree(
        git.tree(git.commit_of("HEAD"), {"a.py": (0o644, b"2\n")}), [git.commit_of("HEAD")], "two", ADA
    )
    git.set_refs([RefStep("refs/heads/x", None, commit)])
    assert len(commit) == 64
    assert repository.git("show", "x:a.py") == "2"


def test_a_linked_worktree_and_a_shallow_clone_can_be_roots(repository: Made, tmp_path: Path) -> None:
    repository.commit("two", a__py="2\n")
    repository.git("worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    side = writer(Made(tmp_path / "side"))
    assert side.branch() == "side"
    side.set_refs(
        [
            RefStep(
                "refs/heads/x",
                None,
                side.commit_tree(
                    side.tree(side.commit_of("HEAD"), {"a.py": None}), [side.commit_of("HEAD")], "three", ADA
                ),
            )
        ]
    )
    assert repository.git("ls-tree", "--name-only", "x") == "b.py"
    repository.git("clone", "-q", "--depth=1", f"file://{repository.folder}", str(tmp_path / "shallow"))
    shallow = writer(Made(tmp_path / "shallow"))
    commit = shallow.commit_tree(
        shallow.tree(shallow.commit_of("HEAD"), {"a.py": (0o644, b"3\n")}), [shallow.commit_of("HEAD")], "three", ADA
    )
    shallow.set_refs([RefStep("refs/heads/x", None, commit)])
    assert Made(tmp_path / "shallow").git("log", "--format=%s", "x") == "three\ntwo"
