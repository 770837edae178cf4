"""Running git: what it sees, what becomes of its complaints, and that it ends."""

import os
import time
from pathlib import Path

import pytest

from rightcall.base.files.sight import Sight
from rightcall.errors import ToolFailure
from rightcall.tools.git.repository import Repository, repository_for
from rightcall.tools.git.run import failure_of, history_state, output_of, run_git
from rightcall.tools.process import Finished
from support.every import every
from support.repositories import Made, files_compared, made

pytestmark = pytest.mark.promise("C-08")


@pytest.fixture
def it(tmp_path: Path) -> Made:
    repository = made(tmp_path / "r")
    repository.commit("one", a__py="1\n2\n", __mailmap="Eve <eve@example.org> <ada@example.org>\n")
    return repository


def of(it: Made) -> Repository:
    return repository_for(Sight(it.folder))


def test_a_mailmap_changes_no_names(it: Made) -> None:
    assert output_of(run_git(of(it), ["log", "--format=%aN %an", "--use-mailmap"], seconds=10, most=99)) == b"Ada Ada\n"


def test_attributes_of_the_repository_are_not_read_where_no_work_tree_is_asked_for(it: Made) -> None:
    it.commit("two", a__py="1\n3\n", __gitattributes="*.py -diff\n")
    assert b"-2\n+3\n" in output_of(run_git(of(it), ["show", "HEAD", "--", "a.py"], seconds=10, most=9_999))


def test_paths_are_names_and_no_patterns(it: Made) -> None:
    it.commit("two", **{"[a]__py": "odd\n", ":(top)a__py": "magic\n"})
    for path in ("[a].py", ":(top)a.py", "a.py"):
        found = output_of(
            run_git(of(it), ["log", "--format=", "--name-only", "-z", "--", path], seconds=10, most=9_999)
        )
        assert found.strip(b"\0").decode() == path


def test_output_is_cut_at_the_limit(it: Made) -> None:
    it.commit("big", a__py="x" * 1_000_000)
    finished = run_git(of(it), ["cat-file", "-p", "HEAD:a.py"], seconds=10, most=1_000)
    assert (len(finished.out), finished.full) == (1_000, True)
    assert output_of(finished) == b"x" * 1_000


def test_a_deadline_is_a_sentence(it: Made) -> None:
    with pytest.raises(ToolFailure, match="git took too long: ask for less"):
        output_of(run_git(of(it), ["cat-file", "--batch"], seconds=0.0, most=10, stdin=b"HEAD\n"))


def test_a_pattern_without_end_is_stopped_by_the_deadline(it: Made) -> None:
    it.commit("a" * 5_000 + "b")
    looked = run_git(
        of(it), ["cat-file", "--batch-check"], seconds=0.3, most=99_999, stdin=b"HEAD^{/(a*)*(a*)*\\1\\2c}\n"
    )
    assert looked.late or looked.out.endswith(b" missing\n")


@every(
    ("said", "means"),
    [
        (b"fatal: bad revision 'TOP-SECRET'", "No such commit"),
        (b"fatal: Needed a single revision", "No such commit"),
        (b"fatal: your current branch 'main' does not have any commits yet", "The repository has no commits yet"),
        (b"error: short object ID ab is ambiguous", "A name is ambiguous: write more of it"),
        (b"fatal: no such path 'x' in HEAD", "No such file in that commit"),
        (b"fatal: file a.py has only 2 lines", "The file has fewer lines than that"),
        (b"error: inflate: data stream error", "The git repository is damaged, or a part of its history is not here"),
        (b"fatal: unexpected line in .git/packed-refs: TOP-SECRET", "The git repository is damaged"),
        (b"error: attempting to allocate 999 over limit 5\nfatal: unable to read 4fce", "too large to be compared"),
        (b"error: unable to write loose object file: No space left on device", "The disk is full"),
        (b"fatal: cannot lock ref 'TOP-SECRET': Unable to create 'x.lock': Permission denied", "has no permission"),
        (b"error: insufficient permission for adding an object to repository database", "has no permission"),
        (b"fatal: cannot update ref 'TOP-SECRET': couldn't write 'x.lock'", "git could not write: mostly, the disk is"),
        (b"fatal: Unable to create 'x.lock': Read-only file system", "is read-only"),
        (b"fatal: TOP-SECRET", "git could not do this: a file cannot be read, or the repository is damaged"),
        (b"", "git could not do this: a file cannot be read, or the repository is damaged"),
    ],
)
def test_what_git_complains_about_is_said_in_our_own_words(said: bytes, means: str) -> None:
    sentence = str(failure_of(Finished(b"", said, 128)))
    assert means in sentence
    assert "TOP-SECRET" not in sentence


def test_where_git_is_not_installed_it_says_so(it: Made, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    repository = of(it)
    monkeypatch.setenv("PATH", f"{tmp_path}:relative:.:")
    with pytest.raises(ToolFailure, match=r"git is not installed on this machine: .* works on branches"):
        run_git(repository, ["log"], seconds=10, most=10)


@pytest.mark.parametrize("text", ["a\0b", "\ud800"])
def test_what_no_program_can_be_given_is_refused(it: Made, text: str) -> None:
    with pytest.raises(ToolFailure, match="holds a character that no name or text in a history can have"):
        run_git(of(it), ["log", f"--author={text}"], seconds=10, most=99)


def settled(it: Made) -> object:
    """The state, once the last change is old enough to be told from another; time is moved instead of waited for."""
    for where, folders, files in os.walk(it.git_dir):
        for name in (*folders, *files, "."):
            path = os.path.join(where, name)
            seen = os.lstat(path)
            os.utime(path, ns=(seen.st_atime_ns, seen.st_mtime_ns - 10**9), follow_symlinks=False)
    return history_state(Sight(it.folder), of(it))


def test_the_state_of_a_history_changes_with_every_ref(it: Made) -> None:
    states = [settled(it)]
    for arguments in (
        ("commit", "-q", "--allow-empty", "-m", "two"),
        ("tag", "v1"),
        ("branch", "feature/x"),
        ("update-ref", "refs/heads/feature/x", "HEAD~1"),
        ("checkout", "-q", "-b", "other"),
        ("pack-refs", "--all"),
        ("branch", "-D", "feature/x"),
        ("checkout", "-q", "--detach"),
    ):
        it.git(*arguments)
        states.append(settled(it))
    assert len(set(map(str, states))) == len(states)


def test_the_state_of_a_history_stays_as_long_as_nothing_happens(it: Made) -> None:
    sight, repository = Sight(it.folder), of(it)
    first = settled(it)
    assert output_of(run_git(repository, ["log", "-p"], seconds=10, most=9_999))
    assert files_compared(repository, "HEAD") == b""
    assert history_state(sight, repository) == first


def test_a_state_that_cannot_be_told_is_no_state(it: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    sight, repository = Sight(it.folder), of(it)
    settled(it)
    just_now = time.time_ns() + 5_000_000_000
    os.utime(it.git_dir / "refs/heads/main", ns=(just_now, just_now))
    monkeypatch.setattr("rightcall.tools.git.run.time_ns", lambda: just_now + 10_000_000)
    with pytest.raises(OSError, match="changed a moment ago"):
        history_state(sight, repository)
    monkeypatch.setattr("rightcall.tools.git.run.time_ns", lambda: just_now + 30_000_000)
    assert history_state(sight, repository)
    monkeypatch.setattr("rightcall.tools.git.run._MOST_STATE", 8)
    with pytest.raises(OSError, match="too many refs"):
        history_state(sight, repository)
