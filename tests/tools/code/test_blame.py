"""`code/blame` on real repositories."""

import os
from pathlib import Path
from typing import Any

import pytest

from rightcall.base.files.sight import Unseen
from rightcall.errors import ToolFailure
from rightcall.tools.code import history
from support.repositories import Made, aged, ask_blame, made, state_of

pytestmark = pytest.mark.promise("C-06")


@pytest.fixture
def repository(tmp_path: Path) -> Made:
    return made(tmp_path / "repo")


def told(result: dict[str, Any]) -> list[tuple[int, str, str]]:
    return [(line["lineNumber"], line["commit"]["message"], line["content"]) for line in result["lines"]]


def test_each_line_has_the_commit_that_wrote_it(repository: Made) -> None:
    first = repository.commit("one\n\nbody", a__txt="1\n2\n3\n")
    repository.commit("two", author="Bob <b@c>", a__txt="1\nzwei\n3\n")
    result = ask_blame(repository.folder, path="a.txt")
    assert (result["success"], result["path"], result["totalLines"], result["truncated"]) == (True, "a.txt", 3, False)
    assert told(result) == [(1, "one", "1"), (2, "two", "zwei"), (3, "one", "3")]
    assert result["lines"][0]["commit"] == {
        "hash": first, "shortHash": first[:10], "author": "Ada", "date": "2023-11-14T22:13:20Z", "message": "one",
    }  # fmt: skip
    assert result["lines"][1]["commit"]["author"] == "Bob"


def test_lines_that_are_in_no_commit_yet_say_so(repository: Made) -> None:
    repository.commit("one", a="1\n2\n")
    repository.write("a", "1\nnew\n2\n")
    os.utime(repository.folder / "a", (1_700_000_000, 1_700_000_000))
    line = ask_blame(repository.folder, path="a")["lines"][1]
    assert line["commit"] == {
        "hash": "0" * 40, "shortHash": "0" * 10, "author": "Not committed yet", "date": "2023-11-14T22:13:20Z",
        "message": "Not committed yet",
    }  # fmt: skip
    assert line["content"] == "new"


def test_a_range_is_looked_at_alone(repository: Made) -> None:
    repository.commit("one", a="".join(f"{n}\n" for n in range(1, 11)))
    assert [number for number, _, _ in told(ask_blame(repository.folder, path="a", startLine=4, endLine=6))] == [
        4,
        5,
        6,
    ]
    assert [number for number, _, _ in told(ask_blame(repository.folder, path="a", startLine=9))] == [9, 10]
    assert [number for number, _, _ in told(ask_blame(repository.folder, path="a", endLine=2))] == [1, 2]
    result = ask_blame(repository.folder, path="a", startLine=10, endLine=99)
    assert (told(result), result["truncated"]) == ([(10, "one", "10")], False)
    wrongs: tuple[dict[str, Any], ...] = (
        {"startLine": 11},
        {"startLine": 5, "endLine": 4},
        {"startLine": 0},
        {"endLine": 0},
    )
    for wrong in wrongs:
        with pytest.raises(ToolFailure, match="startLine"):
            ask_blame(repository.folder, path="a", **wrong)


def test_without_a_range_five_hundred_lines_are_told(repository: Made) -> None:
    repository.commit("one", a="".join(f"{n}\n" for n in range(600)))
    result = ask_blame(repository.folder, path="a")
    assert (len(result["lines"]), result["totalLines"], result["truncated"]) == (500, 600, True)
    result = ask_blame(repository.folder, path="a", startLine=150)
    assert (len(result["lines"]), result["truncated"]) == (451, False)
    result = ask_blame(repository.folder, path="a", startLine=1, endLine=600)
    assert (len(result["lines"]), result["truncated"]) == (600, False)


def test_the_lines_themselves_can_be_left_out(repository: Made) -> None:
    repository.commit("one", a="1\n")
    (line,) = ask_blame(repository.folder, path="a", includeContent=False)["lines"]
    assert line.keys() == {"lineNumber", "commit"}


def test_content_that_looks_like_gits_own_answer_is_content(repository: Made) -> None:
    lines = [f"{'0' * 40} 1 1 1", "\tauthor Eve", "author Eve", "summary x", "", "\t", "filename a", "boundary", "x\r"]
    repository.commit("one", a="\n".join(lines))
    assert [content for _, _, content in told(ask_blame(repository.folder, path="a"))] == lines


def test_endings_encodings_and_empty_files(repository: Made) -> None:
    repository.commit("one", crlf=b"a\r\nb", latin=b"caf\xe9\n", empty=b"", blank=b"\n", bin=b"a\0b")
    assert [content for _, _, content in told(ask_blame(repository.folder, path="crlf"))] == ["a\r", "b"]
    assert [content for _, _, content in told(ask_blame(repository.folder, path="latin"))] == ["caf\\xe9"]
    assert ask_blame(repository.folder, path="empty")["lines"] == []
    assert told(ask_blame(repository.folder, path="blank")) == [(1, "one", "")]
    with pytest.raises(ToolFailure, match="binary"):
        ask_blame(repository.folder, path="bin")
    with pytest.raises(ToolFailure, match="0 lines"):
        ask_blame(repository.folder, path="empty", startLine=1)


@pytest.mark.parametrize("name", ["-L1", "--contents", "a b", "ü", "new\nline", 'q"', "*", ":(top)a", "HEAD"])
def test_any_name_is_a_name(repository: Made, name: str) -> None:
    repository.commit("one", **{name: "1\n"})
    result = ask_blame(repository.folder, path=name)
    assert (result["path"], told(result)) == (name, [(1, "one", "1")])


def test_a_renamed_file_keeps_its_writers_and_a_link_leads_to_its_file(repository: Made) -> None:
    repository.commit("one", old="".join(f"{n}\n" for n in range(20)))
    repository.git("mv", "old", "new")
    (repository.folder / "link").symlink_to("new")
    repository.commit("two")
    result = ask_blame(repository.folder, path="link", endLine=1)
    assert (result["path"], told(result)) == ("new", [(1, "one", "0")])


def test_a_file_that_git_does_not_know_is_told_so(repository: Made) -> None:
    repository.commit("one", a="1\n")
    repository.write("new", "1\n")
    with pytest.raises(ToolFailure, match="new is in no commit yet"):
        ask_blame(repository.folder, path="new")


@pytest.mark.promise("P-03")
def test_refused_absent_and_strange_files_answer_alike(repository: Made) -> None:
    repository.commit("one", **{".env": "KEY\n"})
    repository.write("private/p", "1\n")
    os.mkfifo(repository.folder / "pipe")
    for path in (".env", "private/p", "nope", "../x", "/etc/passwd", "pipe", ".git/config", "a\0", "\ud800"):
        with pytest.raises(Unseen):
            ask_blame(repository.folder, deny=["private/**"], path=path)


def test_a_file_that_is_too_large_is_refused(repository: Made) -> None:
    with (repository.folder / "large").open("wb") as file:
        file.truncate((5 << 20) + 1)
    with pytest.raises(ToolFailure, match="5 MB"):
        ask_blame(repository.folder, path="large")


def test_bare_worktree_shallow_nested_and_sha256_repositories_work(repository: Made, tmp_path: Path) -> None:
    repository.commit("one", a="1\n", **{"k.pem": "x\n"})
    repository.commit("two", a="1\n2\n")
    repository.git("clone", "-q", "--bare", str(repository.folder), str(tmp_path / "bare"))
    repository.git("clone", "-q", "--depth=1", f"file://{repository.folder}", str(tmp_path / "shallow"))
    repository.git("worktree", "add", "-q", str(tmp_path / "tree"))
    both = [(1, "one", "1"), (2, "two", "2")]
    assert told(ask_blame(tmp_path / "bare", path="a")) == both
    for path in ("nope", "k.pem"):
        with pytest.raises(Unseen):
            ask_blame(tmp_path / "bare", path=path)
    assert told(ask_blame(tmp_path / "tree", path="a")) == both
    assert told(ask_blame(tmp_path / "shallow", path="a")) == [(1, "two", "1"), (2, "two", "2")]
    result = ask_blame(tmp_path, path="repo/a")
    assert (result["path"], told(result)) == ("repo/a", both)
    other = made(tmp_path / "sha256", "--object-format=sha256")
    full = other.commit("long", a="1\n")
    assert ask_blame(other.folder, path="a")["lines"][0]["commit"]["hash"] == full


def test_without_a_commit_or_a_repository_that_is_what_is_said(repository: Made, tmp_path: Path) -> None:
    repository.write("a", "1\n")
    (tmp_path / "b").write_text("1\n")
    with pytest.raises(ToolFailure, match="no commit"):
        ask_blame(repository.folder, path="a")
    with pytest.raises(ToolFailure, match="No git repository"):
        ask_blame(tmp_path, path="b")


@pytest.mark.promise("C-09")
def test_the_state_is_that_of_the_history_and_of_the_file(repository: Made) -> None:
    repository.commit("one", a="1\n")
    aged(repository.git_dir)
    before = state_of(history.BLAME, repository.folder, path="a")
    assert state_of(history.BLAME, repository.folder, path="a") == before
    repository.write("a", "2\n2\n")
    changed = state_of(history.BLAME, repository.folder, path="a")
    repository.commit("two")
    aged(repository.git_dir)
    assert len({repr(state) for state in (before, changed, state_of(history.BLAME, repository.folder, path="a"))}) == 3
