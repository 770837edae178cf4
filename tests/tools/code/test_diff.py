"""`code/diff` on real repositories."""

import os
from pathlib import Path
from typing import Any

import pytest

from rightcall.base.files.sight import Unseen
from rightcall.errors import ToolFailure
from rightcall.tools.code import diff
from rightcall.tools.state import Untold
from support.repositories import Made, aged, applied, ask_diff, made, state_of

pytestmark = pytest.mark.promise("C-04")


@pytest.fixture
def repository(tmp_path: Path) -> Made:
    return made(tmp_path / "repo")


def only(result: dict[str, Any]) -> dict[str, Any]:
    (file,) = result["diffs"]
    return file


def test_a_changed_line_is_told_with_its_numbers_and_the_sums(repository: Made) -> None:
    repository.commit(a__txt="1\n2\n3\n4\n5\n")
    repository.commit(a__txt="1\n2\nthree\n4\n5\n6\n")
    assert ask_diff(repository.folder, base="HEAD~1", compare="HEAD", contextLines=1) == {
        "success": True,
        "base": "HEAD~1",
        "compare": "HEAD",
        "diffs": [
            {
                "path": "a.txt",
                "status": "modified",
                "hunks": [
                    {
                        "oldStart": 2,
                        "oldLines": 4,
                        "newStart": 2,
                        "newLines": 5,
                        "lines": [
                            {"type": "context", "lineNumber": 2, "content": "2"},
                            {"type": "deletion", "lineNumber": 3, "content": "3"},
                            {"type": "addition", "lineNumber": 3, "content": "three"},
                            {"type": "context", "lineNumber": 4, "content": "4"},
                            {"type": "context", "lineNumber": 5, "content": "5"},
                            {"type": "addition", "lineNumber": 6, "content": "6"},
                        ],
                    }
                ],
                "stats": {"insertions": 2, "deletions": 1},
            }
        ],
        "totalChanges": {"filesChanged": 1, "insertions": 2, "deletions": 1},
        "truncated": False,
    }


def test_without_arguments_the_working_directory_is_compared_with_the_last_commit(repository: Made) -> None:
    repository.commit(a__txt="old\n", b__txt="same\n")
    repository.write("a.txt", "new\n")
    repository.write("untracked.txt", "not in it\n")
    os.utime(repository.folder / "b.txt", (1, 1))  # looks changed, but is not
    result = ask_diff(repository.folder)
    assert (result["base"], result["compare"]) == ("HEAD", "working directory")
    assert only(result)["path"] == "a.txt"
    assert applied(b"old\n", only(result)) == b"new\n"


def test_comparing_with_the_working_directory_writes_nothing(repository: Made) -> None:
    repository.commit(a__txt="old\n")
    os.utime(repository.folder / "a.txt", (1, 1))
    before = {path: path.stat().st_mtime_ns for path in repository.git_dir.rglob("*")}
    ask_diff(repository.folder)
    assert {path: path.stat().st_mtime_ns for path in repository.git_dir.rglob("*")} == before


def test_what_is_staged_counts_as_what_the_file_is_now(repository: Made) -> None:
    repository.commit(a__txt="1\n")
    repository.write("new.txt", "n\n")
    repository.git("add", "new.txt")
    (repository.folder / "a.txt").unlink()
    result = ask_diff(repository.folder)
    assert [(file["path"], file["status"]) for file in result["diffs"]] == [("a.txt", "deleted"), ("new.txt", "added")]


def test_a_rename_has_both_names(repository: Made) -> None:
    repository.commit(old__txt="".join(f"{n}\n" for n in range(20)))
    repository.git("mv", "old.txt", "new.txt")
    repository.commit(new__txt="".join(f"{n}\n" for n in range(21)))
    file = only(ask_diff(repository.folder, base="HEAD~1", compare="HEAD"))
    assert (file["status"], file["oldPath"], file["path"]) == ("renamed", "old.txt", "new.txt")
    assert file["stats"] == {"insertions": 1, "deletions": 0}


def test_modes_links_binaries_and_empty_files_have_no_lines_of_their_own(repository: Made) -> None:
    repository.commit(bin=b"a\0b", mode="x\n", link="file\n")
    (repository.folder / "mode").chmod(0o755)
    (repository.folder / "link").unlink()
    (repository.folder / "link").symlink_to("mode")
    repository.commit(bin=b"a\0c", empty="")
    files = {file["path"]: file for file in ask_diff(repository.folder, base="HEAD~1", compare="HEAD")["diffs"]}
    assert files["bin"] == {
        "path": "bin", "status": "modified", "hunks": [], "stats": {"insertions": 0, "deletions": 0}, "binary": True,
    }  # fmt: skip
    assert (files["mode"]["status"], files["mode"]["hunks"]) == ("modified", [])
    assert (files["empty"]["status"], files["empty"]["hunks"]) == ("added", [])
    lines = [(line["type"], line["content"]) for hunk in files["link"]["hunks"] for line in hunk["lines"]]
    assert lines == [("deletion", "file"), ("addition", "mode")]


def test_line_ends_and_missing_ones_are_as_git_holds_them(repository: Made) -> None:
    repository.commit(a__txt=b"one\r\ntwo")
    repository.commit(a__txt=b"one\ntwo\n")
    (hunk,) = only(ask_diff(repository.folder, base="HEAD~1", compare="HEAD"))["hunks"]
    assert [line["content"] for line in hunk["lines"]] == ["one\r", "two", "one", "two"]
    assert [line.get("noNewline", False) for line in hunk["lines"]] == [False, True, False, False]


def test_bytes_that_are_no_text_are_spelled_out(repository: Made) -> None:
    repository.commit(a__txt=b"caf\xe9\n")
    (repository.folder / os.fsdecode(b"n\xffme")).write_bytes(b"x\n")
    repository.commit()
    paths = [file["path"] for file in ask_diff(repository.folder, base="HEAD~1", compare="HEAD")["diffs"]]
    assert paths == ["n\\xffme"]
    shown = only(ask_diff(repository.folder, base="HEAD~1^!"))
    assert shown["hunks"][0]["lines"][0]["content"] == "caf\\xe9"


@pytest.mark.parametrize(
    ("base", "compare"), [("HEAD~2..HEAD", "HEAD"), ("HEAD~1^!", "HEAD~1"), ("side...HEAD", "HEAD"), ("side..", "HEAD")]
)
def test_a_range_in_base_names_both_sides(repository: Made, base: str, compare: str) -> None:
    repository.commit(a="1\n")
    repository.git("branch", "side")
    repository.commit(a="2\n")
    repository.commit(a="3\n")
    result = ask_diff(repository.folder, base=base)
    assert (result["base"], result["compare"]) == (base, compare)
    assert applied(b"1\n", only(result)) == (b"2\n" if "!" in base else b"3\n")


def test_paths_are_taken_as_they_are_written(repository: Made) -> None:
    repository.commit(**{"a*": "1\n", "ab": "1\n"})
    repository.write("src/x.py", "1\n")
    repository.commit(**{"a*": "2\n", "ab": "2\n"})
    asked = {"base": "HEAD~1", "compare": "HEAD"}
    assert [f["path"] for f in ask_diff(repository.folder, paths=["a*"], **asked)["diffs"]] == ["a*"]
    assert [f["path"] for f in ask_diff(repository.folder, paths=["src/", "ab"], **asked)["diffs"]] == [
        "ab",
        "src/x.py",
    ]
    with pytest.raises(Unseen):
        ask_diff(repository.folder, paths=["b*"], **asked)
    assert len(ask_diff(repository.folder, paths=["."], **asked)["diffs"]) == 3


def test_a_file_that_is_gone_can_still_be_asked_for(repository: Made) -> None:
    repository.commit(gone__txt="1\n")
    (repository.folder / "gone.txt").unlink()
    repository.commit()
    file = only(ask_diff(repository.folder, base="HEAD~1", compare="HEAD", paths=["gone.txt"]))
    assert file["status"] == "deleted"


def test_blanks_can_be_ignored(repository: Made) -> None:
    repository.commit(a="x = 1\n", b="y\n", c="z\n")
    repository.commit(a="x  =  1\n", b="y\n\n", c="zz\n")
    asked = {"base": "HEAD~1", "compare": "HEAD"}
    assert len(ask_diff(repository.folder, **asked)["diffs"]) == 3
    result = ask_diff(repository.folder, ignoreWhitespace=True, **asked)
    assert [file["path"] for file in result["diffs"]] == ["b", "c"]
    assert result["totalChanges"] == {"filesChanged": 2, "insertions": 2, "deletions": 1}
    assert ask_diff(repository.folder, ignoreWhitespace=True, paths=["a"], **asked)["diffs"] == []


@pytest.mark.promise("P-03")
def test_refused_files_are_in_no_list_and_no_sum(repository: Made) -> None:
    repository.commit(a="1\n", secret__env="KEY=1\n", was__txt="".join(f"{n}\n" for n in range(9)))
    repository.write("private/x", "1\n")
    repository.git("mv", "was.txt", "now.pem")
    repository.commit(**{".env": "KEY=2\n"})
    repository.commit(a="2\n")
    result = ask_diff(repository.folder, deny=["private/**"], base="HEAD~2", compare="HEAD")
    assert [file["path"] for file in result["diffs"]] == ["a"]
    assert result["totalChanges"] == {"filesChanged": 1, "insertions": 1, "deletions": 1}
    assert result["truncated"] is False
    for path in (".env", "private/x", "now.pem", "../outside", ".git/config", "a\0b", "\ud800"):
        with pytest.raises(Unseen):
            ask_diff(repository.folder, deny=["private/**"], paths=[path])


@pytest.mark.promise("P-03")
def test_a_huge_refused_file_takes_no_room_from_the_others(repository: Made) -> None:
    repository.write("z.txt", "1\n")
    repository.commit(**{"a.pem": "".join(f"{n}\n" for n in range(300_000))})
    repository.git("rm", "-q", "--cached", "a.pem")
    (repository.folder / "a.pem").unlink()
    repository.commit(**{"z.txt": "2\n"})
    result = ask_diff(repository.folder, base="HEAD~1", compare="HEAD", maxDiffSize=100)
    assert result["truncated"] is False
    assert applied(b"1\n", only(result)) == b"2\n"


def test_a_large_diff_is_cut_at_a_line_with_the_sums_of_all(repository: Made) -> None:
    repository.commit(a="", b="")
    for name in "abc":
        repository.write(name, "".join(f"line {n} of {name}\n" for n in range(40_000)))
    repository.commit()
    result = ask_diff(repository.folder, base="HEAD~1", compare="HEAD")
    assert result["truncated"] is True
    assert result["totalChanges"] == {"filesChanged": 3, "insertions": 120_000, "deletions": 0}
    kept = {
        file["path"]: [line["content"] for hunk in file["hunks"] for line in hunk["lines"]] for file in result["diffs"]
    }
    assert kept["a"] == [f"line {n} of a" for n in range(len(kept["a"]))]
    assert 40_000 < sum(len(line) + 2 for line in kept["a"]) <= 51_200
    assert kept["b"] == kept["c"] == []
    assert all(file["truncated"] for file in result["diffs"])


def test_of_very_many_files_a_thousand_are_named_and_all_are_counted(repository: Made) -> None:
    repository.commit()
    for number in range(1_050):
        repository.write(f"f{number}", f"{number}\n")
    repository.commit()
    result = ask_diff(repository.folder, base="HEAD~1", compare="HEAD")
    assert (len(result["diffs"]), result["truncated"]) == (1_000, True)
    assert result["totalChanges"] == {"filesChanged": 1_050, "insertions": 1_050, "deletions": 0}


def test_a_conflict_is_told_as_the_file_that_it_is(repository: Made) -> None:
    repository.commit(a="1\n")
    repository.git("checkout", "-q", "-b", "side")
    repository.commit(a="2\n")
    repository.git("checkout", "-q", "main")
    repository.commit(a="3\n")
    with pytest.raises(AssertionError):
        repository.git("merge", "-q", "side")
    file = only(ask_diff(repository.folder))
    assert applied(b"3\n", file) == (repository.folder / "a").read_bytes()


def test_a_repository_in_a_folder_is_told_by_its_paths_below_the_root(tmp_path: Path) -> None:
    inner = made(tmp_path / "libs" / "inner")
    inner.commit(a="1\n", **{"b.pem": "1\n"})
    inner.commit(a="2\n", **{"b.pem": "2\n"})
    file = only(ask_diff(tmp_path, base="HEAD~1", compare="HEAD", paths=["libs/inner"]))
    assert file["path"] == "libs/inner/a"


def test_a_moved_submodule_is_two_lines(tmp_path: Path) -> None:
    library = made(tmp_path / "library")
    first = library.commit(a="1\n")
    repository = made(tmp_path / "repo")
    repository.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(library.folder), "sub")
    repository.commit()
    second = library.commit(a="2\n")
    repository.git("update-index", "--cacheinfo", f"160000,{second},sub")
    repository.git("commit", "-q", "-m", "moved")
    file = only(ask_diff(repository.folder, base="HEAD~1", compare="HEAD"))
    lines = [line["content"] for hunk in file["hunks"] for line in hunk["lines"]]
    assert lines == [f"Subproject commit {first}", f"Subproject commit {second}"]


def test_a_linked_worktree_compares_its_own_files(repository: Made, tmp_path: Path) -> None:
    repository.commit(a="1\n")
    repository.git("worktree", "add", "-q", str(tmp_path / "tree"))
    (tmp_path / "tree" / "a").write_text("2\n")
    assert applied(b"1\n", only(ask_diff(tmp_path / "tree"))) == b"2\n"
    assert ask_diff(repository.folder)["diffs"] == []


def test_a_bare_repository_compares_commits_and_says_that_it_has_no_files(repository: Made, tmp_path: Path) -> None:
    repository.commit(a="1\n")
    repository.commit(a="2\n")
    repository.git("clone", "-q", "--bare", str(repository.folder), str(tmp_path / "bare"))
    assert applied(b"1\n", only(ask_diff(tmp_path / "bare", base="HEAD~1", compare="HEAD"))) == b"2\n"
    with pytest.raises(ToolFailure, match="bare"):
        ask_diff(tmp_path / "bare")


def test_sha256_repositories_work(tmp_path: Path) -> None:
    repository = made(tmp_path, "--object-format=sha256")
    repository.commit(a="1\n")
    repository.commit(a="2\n")
    assert applied(b"1\n", only(ask_diff(tmp_path, base="HEAD~1", compare="HEAD"))) == b"2\n"
    assert only(ask_diff(tmp_path, base="HEAD~1^!"))["status"] == "added"


def test_without_a_commit_or_a_repository_that_is_what_is_said(repository: Made, tmp_path: Path) -> None:
    with pytest.raises(ToolFailure, match="no commits yet"):
        ask_diff(repository.folder)
    with pytest.raises(ToolFailure, match="No git repository"):
        ask_diff(tmp_path)


@pytest.mark.parametrize("ref", ["--output=/tmp/x", "-p", "nope", "", "HEAD:.git/config", "\0", "\ud800", "HEAD\nHEAD"])
def test_what_is_no_commit_is_refused(repository: Made, ref: str) -> None:
    repository.commit(a="1\n")
    with pytest.raises(ToolFailure):
        ask_diff(repository.folder, base=ref)
    with pytest.raises(ToolFailure):
        ask_diff(repository.folder, base="HEAD", compare=ref)


@pytest.mark.promise("C-09")
def test_two_commits_have_a_state_and_the_working_directory_has_none(repository: Made) -> None:
    repository.commit(a="1\n")
    aged(repository.git_dir)
    before = state_of(diff.TOOL, repository.folder, base="HEAD", compare="main")
    assert state_of(diff.TOOL, repository.folder, base="HEAD..main") == before
    repository.commit(a="2\n")
    aged(repository.git_dir)
    assert state_of(diff.TOOL, repository.folder, base="HEAD", compare="main") != before
    for arguments in (
        {},
        {"base": "HEAD"},
        {"base": "HEAD:a..b"},
        {"base": "HEAD^{/a..b}"},
        {"base": "HEAD@{1 hour ago}", "compare": "HEAD"},
    ):
        with pytest.raises(Untold):
            state_of(diff.TOOL, repository.folder, **arguments)


@pytest.mark.promise("P-03")
def test_a_folder_or_file_that_became_a_link_shows_nothing_of_where_it_leads(repository: Made, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "x").write_text("treasure\n")
    repository.write("src/x", "1\n")
    repository.commit("one", a="1\n")
    (repository.folder / "src" / "x").unlink()
    (repository.folder / "src").rmdir()
    (repository.folder / "src").symlink_to(tmp_path / "outside")
    (repository.folder / "a").unlink()
    (repository.folder / "a").symlink_to(tmp_path / "outside" / "x")
    result = ask_diff(repository.folder)
    assert {file["path"]: file["status"] for file in result["diffs"]} == {"a": "modified", "src/x": "deleted"}
    assert "treasure" not in repr(result)
