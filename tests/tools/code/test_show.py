"""`code/show` on real repositories."""

from pathlib import Path

import pytest

from rightcall.base.files.sight import Unseen
from rightcall.errors import ToolFailure
from rightcall.tools.code import history
from rightcall.tools.state import Untold
from support.repositories import Made, aged, applied, ask_diff, ask_show, made, state_of

pytestmark = pytest.mark.promise("C-07")


@pytest.fixture
def repository(tmp_path: Path) -> Made:
    return made(tmp_path / "repo")


def test_a_commit_comes_with_its_changes(repository: Made) -> None:
    repository.commit("one", a="1\n")
    full = repository.commit("two\n\nbody", a="2\n", b="x\n")
    result = ask_show(repository.folder, commit="HEAD")
    commit = result["commit"]
    assert (result["success"], result["truncated"], commit["hash"], commit["message"]) == (
        True,
        False,
        full,
        "two\n\nbody",
    )
    assert (commit["author"], commit["email"], commit["date"]) == ("Ada", "ada@example.org", "2023-11-14T22:14:20Z")
    assert (commit["filesChanged"], commit["stats"]) == (["a", "b"], {"insertions": 2, "deletions": 1})
    assert [applied(old, file) for old, file in zip((b"1\n", b""), commit["diff"], strict=True)] == [b"2\n", b"x\n"]


def test_changes_can_be_left_out(repository: Made) -> None:
    repository.commit("one", a="1\n")
    commit = ask_show(repository.folder, commit="HEAD", includeDiff=False)["commit"]
    assert "diff" not in commit
    assert commit["filesChanged"] == ["a"]


def test_the_first_commit_is_compared_with_nothing_and_a_merge_with_its_first_parent(repository: Made) -> None:
    repository.commit("base", a="1\n")
    repository.git("checkout", "-q", "-b", "side")
    repository.commit("side", b="1\n")
    repository.git("checkout", "-q", "main")
    repository.commit("main", c="1\n")
    repository.git("merge", "-q", "--no-ff", "-m", "merge", "side")
    assert [f["path"] for f in ask_show(repository.folder, commit="HEAD")["commit"]["diff"]] == ["b"]
    assert [f["status"] for f in ask_show(repository.folder, commit="HEAD~2")["commit"]["diff"]] == ["added"]


@pytest.mark.parametrize("ref", ["v1", "main", "HEAD~0", "v1^{}", "HEAD@{0}"])
def test_a_commit_has_many_names(repository: Made, ref: str) -> None:
    full = repository.commit("one", a="1\n")
    repository.git("tag", "-a", "-m", "a tag", "v1")
    assert ask_show(repository.folder, commit=ref)["commit"]["hash"] == full
    assert ask_show(repository.folder, commit=full[:8])["commit"]["hash"] == full


def test_a_commit_without_changes_has_none(repository: Made) -> None:
    repository.commit("nothing")
    commit = ask_show(repository.folder, commit="HEAD")["commit"]
    assert (commit["filesChanged"], commit["diff"], commit["stats"]) == ([], [], {"insertions": 0, "deletions": 0})


def test_large_changes_are_cut_and_all_are_counted(repository: Made) -> None:
    repository.commit("large", a="".join(f"{n}\n" for n in range(50_000)), b="1\n")
    result = ask_show(repository.folder, commit="HEAD")
    assert result["truncated"] is True
    assert result["commit"]["stats"] == {"insertions": 50_001, "deletions": 0}
    assert result["commit"]["filesChanged"] == ["a", "b"]
    assert [file["truncated"] for file in result["commit"]["diff"]] == [True, True]


def test_of_very_many_files_a_thousand_are_named_and_the_rest_counted(repository: Made) -> None:
    stream = b"commit refs/heads/main\ncommitter A <a@b> 1700000000 +0000\ndata 1\nx\n"
    stream += b"".join(b"M 100644 inline f%04d\ndata 2\nx\n\n" % number for number in range(1_234))
    repository.git("fast-import", "--quiet", input=stream)
    for with_diff in (True, False):
        result = ask_show(repository.folder, commit="main", includeDiff=with_diff)
        commit = result["commit"]
        assert (len(commit["filesChanged"]), commit["moreFiles"], result["truncated"]) == (1_000, 234, True)
        assert commit["stats"]["insertions"] == 1_234


def test_a_file_at_a_commit_comes_with_its_content(repository: Made) -> None:
    repository.write("src/ü b.txt", b"caf\xe9\r\n")
    repository.commit("one")
    repository.write("src/ü b.txt", "now\n")
    full = repository.commit("two")
    result = ask_show(repository.folder, commit="HEAD~1:src/ü b.txt")
    assert (result["path"], result["content"], result["encoding"]) == ("src/ü b.txt", "café\r\n", "windows-1252")
    assert "diff" not in result["commit"]
    result = ask_show(repository.folder, commit=f"{full}:src/ü b.txt", includeDiff=True)
    assert (result["content"], len(result["commit"]["diff"])) == ("now\n", 1)


def test_a_file_that_is_binary_or_too_large_is_not_shown(repository: Made) -> None:
    repository.commit("one", bin=b"a\0b", large=b"x" * (1 << 20) + b"y", fits=b"x" * (1 << 20), whole=b"x" * 900_000)
    with pytest.raises(ToolFailure, match="binary"):
        ask_show(repository.folder, commit="HEAD:bin")
    with pytest.raises(ToolFailure, match="more than 1,048,576 bytes"):
        ask_show(repository.folder, commit="HEAD:large")
    assert ask_show(repository.folder, commit="HEAD:fits")["truncated"] is True
    assert ask_show(repository.folder, commit="HEAD:whole")["content"] == "x" * 900_000


@pytest.mark.promise("P-03")
def test_refused_and_absent_files_answer_alike(repository: Made) -> None:
    repository.commit("one", a="1\n", **{".env": "KEY\n", "k.pem": "k\n"})
    repository.write("private/p", "1\n")
    repository.commit("two", a="2\n")
    for path in (".env", "k.pem", "private/p", "nope", "../x", "private", "a/../.env", "/etc/passwd"):
        with pytest.raises(Unseen) as refused:
            ask_show(repository.folder, deny=["private/**"], commit=f"HEAD:{path}")
        assert str(refused.value) == f"No such file or folder: HEAD:{path}"
    commit = ask_show(repository.folder, deny=["private/**"], commit="HEAD")["commit"]
    assert (commit["filesChanged"], [file["path"] for file in commit["diff"]]) == (["a"], ["a"])
    assert commit["stats"] == {"insertions": 1, "deletions": 1}


@pytest.mark.parametrize(
    "ref", ["--all", "-p", "", "nope", "HEAD^{tree}", "HEAD..HEAD", "\0", "\ud800", ":0:a", "HEAD\n"]
)
def test_what_is_no_commit_is_refused(repository: Made, ref: str) -> None:
    repository.commit("one", a="1\n")
    with pytest.raises(ToolFailure):
        ask_show(repository.folder, commit=ref)


def test_bare_shallow_and_sha256_repositories_work(repository: Made, tmp_path: Path) -> None:
    repository.commit("one", a="1\n")
    full = repository.commit("two", a="2\n")
    repository.git("clone", "-q", "--bare", str(repository.folder), str(tmp_path / "bare"))
    repository.git("clone", "-q", "--depth=1", f"file://{repository.folder}", str(tmp_path / "shallow"))
    assert ask_show(tmp_path / "bare", commit="HEAD")["commit"]["hash"] == full
    assert ask_show(tmp_path / "bare", commit="HEAD~1:a")["content"] == "1\n"
    assert ask_show(tmp_path / "shallow", commit="HEAD")["commit"]["diff"][0]["status"] == "added"
    with pytest.raises(ToolFailure):
        ask_show(tmp_path / "shallow", commit="HEAD~1")
    other = made(tmp_path / "sha256", "--object-format=sha256")
    assert ask_show(other.folder, commit=other.commit("long", a="1\n"))["commit"]["filesChanged"] == ["a"]


def test_without_a_commit_or_a_repository_that_is_what_is_said(repository: Made, tmp_path: Path) -> None:
    with pytest.raises(ToolFailure, match="no commits yet"):
        ask_show(repository.folder, commit="HEAD")
    with pytest.raises(ToolFailure, match="No git repository"):
        ask_show(tmp_path, commit="HEAD")


@pytest.mark.promise("C-09")
def test_a_name_has_a_state_unless_it_means_a_time(repository: Made) -> None:
    repository.commit("one", a="1\n")
    aged(repository.git_dir)
    before = state_of(history.SHOW, repository.folder, commit="HEAD")
    assert state_of(history.SHOW, repository.folder, commit="HEAD") == before
    repository.commit("two", a="2\n")
    aged(repository.git_dir)
    assert state_of(history.SHOW, repository.folder, commit="HEAD") != before
    with pytest.raises(Untold):
        state_of(history.SHOW, repository.folder, commit="HEAD@{yesterday}")


@pytest.mark.promise("P-03")
@pytest.mark.parametrize(("old", "new"), [(".env", "notes.txt"), ("notes.txt", ".env")])
def test_a_rename_to_or_from_a_refused_name_shows_nothing_of_it(repository: Made, old: str, new: str) -> None:
    repository.write(old, "TREASURE one\nTREASURE two\nTREASURE three\n")
    repository.commit("before")
    repository.git("mv", old, new)
    repository.write(new, "TREASURE one\nTREASURE two\nTREASURE three\nTREASURE four\n")
    repository.commit("after")
    assert "TREASURE" not in str(ask_show(repository.folder, commit="HEAD"))
    assert "TREASURE" not in str(ask_diff(repository.folder, base="HEAD~1", compare="HEAD"))


@pytest.mark.parametrize("name", ["tab\tx", "cr\r", "\x1b[31mred", "two\nlines", "end\n", "del\x7f", "- \x01"])
def test_a_file_can_have_any_character_in_its_name(repository: Made, name: str) -> None:
    repository.write(name, "odd\n")
    repository.commit("one")
    found = ask_show(repository.folder, commit=f"HEAD:{name}")
    assert found["content"] == "odd\n"
    assert found["path"] == name
    assert ask_diff(repository.folder, base=f"HEAD:{name}")["diffs"] == []
    for refused in (f"HEAD:{name}\0", f"HEAD:.{name}", f"HEAD:{name}x"):
        with pytest.raises(Unseen):
            ask_show(repository.folder, commit=refused)
