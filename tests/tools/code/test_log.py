"""`code/log` on real repositories."""

from pathlib import Path
from time import time
from typing import Any

import pytest

from rightcall.base.files.sight import Unseen
from rightcall.errors import ToolFailure
from rightcall.tools.code import history
from rightcall.tools.state import Untold
from support.repositories import MOMENT, Made, aged, applied, ask_diff, ask_log, made, state_of

pytestmark = pytest.mark.promise("C-05")


@pytest.fixture
def repository(tmp_path: Path) -> Made:
    return made(tmp_path / "repo")


def messages(result: dict[str, Any]) -> list[str]:
    return [commit["message"] for commit in result["commits"]]


def test_a_commit_has_all_that_git_knows_of_it(repository: Made) -> None:
    full = repository.commit("Begin\n\nWith a body.\n", a__txt="1\n2\n", b="x\n")
    assert ask_log(repository.folder) == {
        "success": True,
        "commits": [
            {
                "hash": full,
                "shortHash": repository.git("rev-parse", "--short=10", "HEAD"),
                "author": "Ada",
                "email": "ada@example.org",
                "date": "2023-11-14T22:13:20Z",
                "message": "Begin\n\nWith a body.",
                "filesChanged": ["a.txt", "b"],
                "stats": {"insertions": 3, "deletions": 0},
            }
        ],
        "totalCommits": 1,
        "truncated": False,
    }


def test_the_newest_come_first_and_more_than_the_limit_is_told(repository: Made) -> None:
    for number in range(5):
        repository.commit(f"commit {number}", a=f"{number}\n")
    result = ask_log(repository.folder, limit=3)
    assert messages(result) == ["commit 4", "commit 3", "commit 2"]
    assert (result["totalCommits"], result["truncated"]) == (4, True)
    result = ask_log(repository.folder, limit=5)
    assert (len(result["commits"]), result["totalCommits"], result["truncated"]) == (5, 5, False)


def test_the_default_is_twenty_and_never_more_than_a_hundred(repository: Made) -> None:
    stream = b"".join(
        b"commit refs/heads/main\ncommitter A <a@b> %d +0000\ndata 1\nx\n" % (MOMENT + number) for number in range(120)
    )
    repository.git("fast-import", "--quiet", input=stream)
    assert len(ask_log(repository.folder)["commits"]) == 20
    assert len(ask_log(repository.folder, limit=1000)["commits"]) == 100


def test_a_path_chooses_the_commits_that_changed_it(repository: Made) -> None:
    repository.commit("one", a="1\n", b="1\n")
    repository.commit("two", b="2\n")
    repository.write("src/x.py", "1\n")
    repository.commit("three", b="3\n")
    (repository.folder / "a").unlink()
    repository.commit("gone")
    assert messages(ask_log(repository.folder, path="b")) == ["three", "two", "one"]
    assert messages(ask_log(repository.folder, path="src")) == ["three"]
    assert messages(ask_log(repository.folder, path=str(repository.folder / "src" / "x.py"))) == ["three"]
    assert messages(ask_log(repository.folder, path="a")) == ["gone", "one"]
    assert ask_log(repository.folder, path="src")["commits"][0]["filesChanged"] == ["src/x.py"]
    with pytest.raises(Unseen):
        ask_log(repository.folder, path="*")


def test_times_choose_by_the_second(repository: Made) -> None:
    for number in range(4):
        repository.commit(f"{number}", a=f"{number}\n")
    second = "2023-11-14T22:14:20Z"
    assert messages(ask_log(repository.folder, since=second)) == ["3", "2", "1"]
    assert messages(ask_log(repository.folder, until=second)) == ["1", "0"]
    assert messages(ask_log(repository.folder, since=f"@{MOMENT + 61}", until=f"@{MOMENT + 120}")) == ["2"]
    assert messages(ask_log(repository.folder, since="1 week ago")) == []
    for wrong in ("--all", "last tuesday or so", "2024-13-01", "", " ", "\t", "soonish", "ago", "now or never"):
        with pytest.raises(ToolFailure, match="since"):
            ask_log(repository.folder, since=wrong)
        with pytest.raises(ToolFailure, match="until"):
            ask_log(repository.folder, until=wrong)
    assert len(messages(ask_log(repository.folder, author="", grep=" "))) == 4  # a blank word is one left out


def test_author_and_grep_look_for_the_text_itself_in_any_case(repository: Made) -> None:
    repository.commit("Fix [a-z]* in (parser", author="Bob .* <bob+x@example.org>", a="1\n")
    repository.commit("fix abc", author="Bobby <b@example.org>", a="2\n")
    assert messages(ask_log(repository.folder, grep="[A-Z]* IN (")) == ["Fix [a-z]* in (parser"]
    assert messages(ask_log(repository.folder, grep="fix.*")) == []
    assert messages(ask_log(repository.folder, author="bob .*")) == ["Fix [a-z]* in (parser"]
    assert messages(ask_log(repository.folder, author="bob+x@")) == ["Fix [a-z]* in (parser"]
    assert messages(ask_log(repository.folder, author="^Bob")) == []
    assert len(messages(ask_log(repository.folder, author="BOB", grep="FIX"))) == 2
    assert messages(ask_log(repository.folder, author="bobby", grep="parser")) == []
    assert messages(ask_log(repository.folder, grep="--output=x")) == []
    for wrong in ("a\nb", "a\0", "\ud800", "x" * 1001):
        with pytest.raises(ToolFailure, match="grep"):
            ask_log(repository.folder, grep=wrong)


@pytest.mark.promise("C-09")
def test_an_explosive_expression_is_only_a_text(repository: Made) -> None:
    repository.commit("a" * 5_000, a="1\n")
    began = time()
    assert messages(ask_log(repository.folder, grep="(a*)*(a*)*(a*)*b")) == []
    assert time() - began < 5


def test_changes_come_when_asked_for_and_share_their_room(repository: Made) -> None:
    repository.commit("small", small="1\n")
    repository.commit("large", large="".join(f"{n}\n" for n in range(20_000)))
    repository.commit("last", small="2\n")
    result = ask_log(repository.folder, includeDiff=True)
    last, large, small = result["commits"]
    assert applied(b"1\n", last["diff"][0]) == b"2\n"
    kept = [line["content"] for hunk in large["diff"][0]["hunks"] for line in hunk["lines"]]
    assert kept == [str(number) for number in range(len(kept))]
    assert 5_000 < len(kept) < 20_000
    assert (large["diff"][0]["truncated"], large["stats"]) == (True, {"insertions": 20_000, "deletions": 0})
    assert (small["diff"][0]["hunks"], small["stats"]) == ([], {"insertions": 1, "deletions": 0})
    assert (result["truncated"], result["totalCommits"]) == (True, 3)
    assert "diff" not in ask_log(repository.folder)["commits"][0]


def test_commits_without_changes_have_empty_lists(repository: Made) -> None:
    repository.commit("nothing")
    repository.commit("something", a="1\n")
    repository.commit("nothing again")
    for with_diff in (False, True):
        commits = ask_log(repository.folder, includeDiff=with_diff)["commits"]
        assert [commit["filesChanged"] for commit in commits] == [[], ["a"], []]
        assert [len(commit.get("diff", [])) for commit in commits] == [0, with_diff, 0]


def test_a_merge_is_compared_with_its_first_parent(repository: Made) -> None:
    repository.commit("base", a="1\n")
    repository.git("checkout", "-q", "-b", "side")
    repository.commit("side", b="1\n")
    repository.git("checkout", "-q", "main")
    repository.commit("main", c="1\n")
    repository.git("merge", "-q", "--no-ff", "-m", "merge", "side")
    (merge,) = ask_log(repository.folder, limit=1, includeDiff=True)["commits"]
    assert (merge["message"], merge["filesChanged"]) == ("merge", ["b"])
    assert merge["diff"][0]["status"] == "added"


STRANGE = ["\x1b[31mred", "1\t2\tfake", ":100644 100644 1 2 M", "diff --git a/x b/x", "\u202eright to left", "\r\x0c"]


@pytest.mark.parametrize("message", STRANGE)
def test_a_message_cannot_pass_for_anything_else(repository: Made, message: str) -> None:
    repository.commit("first", a="1\n")
    repository.commit(message, author=f"x{message.strip()} <x@y>", a="2\n")
    for with_diff in (False, True):
        result = ask_log(repository.folder, includeDiff=with_diff)
        assert messages(result) == [message, "first"]
        assert [commit["filesChanged"] for commit in result["commits"]] == [["a"], ["a"]]


def test_texts_in_other_encodings_come_as_utf_8_and_broken_ones_spelled_out(repository: Made) -> None:
    repository.git("config", "i18n.commitEncoding", "ISO-8859-1")
    commit = b"tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\nauthor %s <x@y> 1700000000 +0000\n"
    commit += b"committer C <c@d> 1700000000 +0000\n%s\n%s"
    for raw in (
        commit % (b"J\xf6rg", b"encoding ISO-8859-1\n", b"gr\xfc\xdfe\n"),
        commit % (b"J\xf6rg", b"", b"broken \xff\n"),
    ):
        full = repository.git("hash-object", "-t", "commit", "-w", "--stdin", "--literally", input=raw)
        repository.git("update-ref", "refs/heads/main", full)
        (found,) = ask_log(repository.folder)["commits"]
        if b"encoding" in raw:
            assert (found["author"], found["message"]) == ("Jörg", "grüße")
        else:
            assert (found["author"], found["message"]) == ("J\\xf6rg", "broken \\xff")


def test_broken_dates_and_authors_are_no_reason_to_fail(repository: Made) -> None:
    for author in (b"X <x@y> 99999999999999 +0000", b"X <x@y>", b"nothing at all"):
        raw = b"tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\nauthor " + author
        raw += b"\ncommitter C <c@d> 1700000000 +0000\n\nmsg\n"
        full = repository.git("hash-object", "-t", "commit", "-w", "--stdin", "--literally", input=raw)
        repository.git("update-ref", "refs/heads/main", full)
        (found,) = ask_log(repository.folder)["commits"]
        assert found["message"] == "msg"
        assert found["date"] in ("9999-12-31T23:59:59Z", "1970-01-01T00:00:00Z")


def test_a_very_long_message_is_cut(repository: Made) -> None:
    message = repository.folder / "message"
    message.write_text("x" * 100_000)
    repository.git("commit", "-q", "--allow-empty", "-F", "message")
    (found,) = ask_log(repository.folder)["commits"]
    assert (len(found["message"]), found["message"][-1]) == (20_000, "…")


@pytest.mark.promise("P-03")
def test_refused_files_are_not_named_and_not_counted(repository: Made) -> None:
    repository.commit("one", a="1\n", **{".env": "KEY\n", "k.pem": "1\n2\n"})
    repository.write("private/p", "1\n")
    repository.commit("two")
    for with_diff in (False, True):
        two, one = ask_log(repository.folder, deny=["private/**"], includeDiff=with_diff)["commits"]
        assert (one["filesChanged"], one["stats"]) == (["a"], {"insertions": 1, "deletions": 0})
        assert (two["filesChanged"], two["stats"]) == ([], {"insertions": 0, "deletions": 0})
        assert two.get("diff", []) == []
    for path in (".env", "private", "private/p", ".git", "..", "/etc/passwd", "x\0", "\ud800"):
        with pytest.raises(Unseen):
            ask_log(repository.folder, deny=["private/**"], path=path)


def test_worktrees_shallow_clones_bare_and_sha256_repositories_have_a_log(repository: Made, tmp_path: Path) -> None:
    repository.commit("one", a="1\n")
    repository.commit("two", a="2\n")
    repository.git("worktree", "add", "-q", "-b", "tree", str(tmp_path / "tree"), "HEAD~1")
    repository.git("clone", "-q", "--bare", str(repository.folder), str(tmp_path / "bare"))
    repository.git("clone", "-q", "--depth=1", f"file://{repository.folder}", str(tmp_path / "shallow"))
    other = made(tmp_path / "sha256", "--object-format=sha256")
    full = other.commit("long", a="1\n")
    assert messages(ask_log(tmp_path / "tree")) == ["one"]
    assert messages(ask_log(tmp_path / "bare")) == ["two", "one"]
    assert messages(ask_log(tmp_path / "shallow")) == ["two"]
    assert ask_log(tmp_path / "shallow")["commits"][0]["filesChanged"] == ["a"]
    assert ask_log(other.folder, includeDiff=True)["commits"][0]["hash"] == full


def test_without_a_commit_or_a_repository_that_is_what_is_said(repository: Made, tmp_path: Path) -> None:
    with pytest.raises(ToolFailure, match="no commits yet"):
        ask_log(repository.folder)
    with pytest.raises(ToolFailure, match="No git repository"):
        ask_log(tmp_path)


@pytest.mark.promise("C-09")
def test_the_state_changes_with_the_history_and_with_the_clock(repository: Made) -> None:
    repository.commit(a="1\n")
    aged(repository.git_dir)
    before = state_of(history.LOG, repository.folder, since="2020-01-01")
    assert state_of(history.LOG, repository.folder, since="2020-01-01") == before
    repository.commit(a="2\n")
    aged(repository.git_dir)
    assert state_of(history.LOG, repository.folder, since="2020-01-01") != before
    with pytest.raises(Untold):
        state_of(history.LOG, repository.folder, since="1 week ago")


@pytest.mark.promise("C-05", "P-03")
def test_a_path_that_is_nowhere_is_said_to_be_absent_as_a_refused_one_is(repository: Made) -> None:
    root = repository.folder
    repository.commit("first", a="a\n", gone="b\n")
    repository.git("rm", "-q", "gone")
    repository.commit("second", b="b\n")
    repository.write("new.txt", "not committed\n")
    for path in ("nope.txt", ".env", "src/nope"):
        for ask, arguments in (
            (ask_log, {"path": path}),
            (ask_diff, {"base": "HEAD~1", "compare": "HEAD", "paths": [path]}),
            (ask_diff, {"paths": [path]}),
        ):
            with pytest.raises(Unseen, match=f"No such file or folder: {path}"):
                ask(root, **arguments)
    assert messages(ask_log(root, path="gone")) == ["second", "first"]
    assert messages(ask_log(root, path="new.txt")) == []
    assert messages(ask_log(root, path="nope.txt", author="Nobody")) == []
    assert ask_diff(root, paths=["a", "new.txt"])["diffs"] == []


def test_a_merge_that_has_not_changed_a_path_is_not_in_its_history(repository: Made) -> None:
    repository.commit("first", a="1\n", b="1\n")
    repository.git("checkout", "-q", "-b", "side")
    repository.commit("on the side", b="2\n")
    repository.git("checkout", "-q", "-")
    repository.commit("meanwhile", a="2\n")
    repository.git("merge", "-q", "--no-ff", "-m", "merged", "side")
    assert messages(ask_log(repository.folder, path="a")) == ["meanwhile", "first"]
    assert sorted(messages(ask_log(repository.folder, path="b"))) == ["first", "on the side"]
    assert ask_log(repository.folder)["commits"][0]["filesChanged"] == ["b"]


def test_borrowed_objects_are_said_to_be_missing(repository: Made, tmp_path: Path) -> None:
    repository.commit("first", a="1\n")
    repository.git("clone", "-q", "--shared", str(repository.folder), str(tmp_path / "shared"))
    with pytest.raises(ToolFailure, match="borrows objects from another one"):
        ask_log(tmp_path / "shared")
